"""Which session a command takes, and that it says so: names' beginnings, last, @-1; the time zone of what is shown."""
import json
import shutil
import shlex
import subprocess
import unittest

from driver import SEEN, Case


class Words(Case):
    def setUp(self):
        super().setUp()
        for name in ("alpha", "beta-1", "beta-2"):
            self.seen("run", "--session", name, "--", "sh", "-c", f"echo {name} > {name}", code=0)

    def said(self, *words, code=0):
        """The name that a command takes, and what it reports."""
        done = self.seen(*words, code=code)
        return done.stderr.decode()

    # What each command that takes --session needs beside it; None: it chooses none by itself.
    COMMANDS = {"status": "", "files": "", "check": "beta-2", "changed": "", "edited": "", "mention": "beta-2", "story": "", "diff": "", "blame": "beta-2", "undo": "--dry-run",
                "redo": "--dry-run", "context": "x", "log": "-n2", "export": "--format csv", "top": "", "history": "", "report": "", "forget": "beta-2", "verify": "",
                "attest": "--key key --output statement", "run": None, "versions": None, "restore": None, "replay": None}

    def test_every_command_says_which_of_several(self):
        line = "seen: session beta-2, the newest of 3 of this workspace\n"
        commands = json.loads(self.seen("help", "--json", code=0).stdout)["commands"]
        self.assertEqual({one["name"] for one in commands if "--session" in {option["name"] for option in one["options"]}}, self.COMMANDS.keys())
        has_key = bool(shutil.which("openssl"))
        if has_key:
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.work / "key"], check=True)
        for command, words in self.COMMANDS.items():
            if words is not None and (command != "attest" or has_key):
                said = self.said(command, *words.split(), code=None)
                self.assertEqual((said.count(line), said.count("the newest of")), (1, 1), (command, said))

    def test_one_alone_is_not_worth_a_word(self):
        other = self.top / "other"
        other.mkdir()
        self.seen("run", "--", "true", cwd=other, code=0)
        self.assertEqual(self.seen("status", cwd=other, code=0).stderr, b"")

    def test_one_that_is_named_is_not_either(self):
        self.assertEqual(self.said("status", "--session", "alpha"), "")
        self.assertEqual(self.seen("status", code=0, env={"SEEN_SESSION": "alpha"}).stderr, b"")

    def name_of(self, word, code=0):
        return self.json("status", "--session", word, code=code)["session"]["name"]

    def test_words(self):
        for word, name in (("last", "beta-2"), ("@-0", "beta-2"), ("@-1", "beta-1"), ("@-2", "alpha"), ("al", "alpha"), ("beta-1", "beta-1")):
            self.assertEqual(self.name_of(word), name)
        self.assertEqual(self.said("log", "--session", "al"), "seen: session alpha (al)\n")
        for command in ("story", "log", "report", "verify", "files", "versions", "history"):
            self.assertIn("seen: session beta-1 (@-1)\n", self.said(command, "--session", "@-1", code=None), command)

    def test_words_that_are_none(self):
        self.assertIn("session @-3: the workspace %s has 3 sessions" % self.work, self.said("log", "--session", "@-3", code=3))
        self.assertIn("session beta: 2 begin so: beta-2, beta-1", self.said("log", "--session", "beta", code=2))
        for word, code in (("gamma", 3), ("@", 2), ("@-x", 2), ("@1", 2), ("", 0)):
            self.said("status", "--session", word, code=code)

    def test_a_session_of_that_name_comes_first(self):
        self.seen("run", "--session", "al", "--", "true", code=0)
        self.assertEqual(self.name_of("al"), "al")

    def test_a_session_that_lost_its_segment(self):
        for path in self.top.rglob("beta-2/segment"):
            path.unlink()
        self.assertIn("seen: session beta-2 (beta-2)\n".replace("(beta-2)", "(last)"), self.said("log", "--session", "last"))
        self.assertIn("seen: session beta-2 (beta-2)\n".replace("(beta-2)", "(@-0)"), self.said("story", "--session", "@-0"))

    def test_run_goes_on_with_the_last(self):
        self.seen("run", "--session", "@-1", "--", "sh", "-c", "echo more > more", code=0)
        self.assertIn(b"more", self.seen("story", "--session", "beta-1", code=0).stdout)
        self.seen("run", "--session", "be", "--", "true", code=0)  # a name of its own: it may begin as others do
        self.assertEqual(self.name_of("be"), "be")
        self.assertEqual(self.seen("run", "--session", "@-9", "--", "true", code=125).stdout, b"")


class Times(Case):
    ZONE = {"TZ": "XXX-05:30"}

    def setUp(self):
        super().setUp()
        self.seen("run", "--session", "s", "--", "sh", "-c", "echo x > x", code=0)

    def test_local_unless_utc_is_asked_for(self):
        stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}"
        for words in (("log",), ("status",), ("report",), ("gain",)):
            local = self.seen(*words, env=self.ZONE, code=0).stdout.decode()
            self.assertRegex(local, stamp + r"\+05:30")
            self.assertNotRegex(local, stamp + "Z")
            self.assertRegex(self.seen(*words, "--utc", env=self.ZONE, code=0).stdout.decode(), stamp + "Z")
        self.assertRegex(self.seen("story", env=self.ZONE, code=0).stdout, rb"\A\d{4}-\d\d-\d\d, \+05:30\n")
        self.assertRegex(self.seen("story", "--utc", env=self.ZONE, code=0).stdout, rb"\A\d{4}-\d\d-\d\d, UTC\n")

    def test_days_are_local_too(self):
        first = json.loads(self.seen("gain", "--json", code=0).stdout)["first"]
        zone = {"TZ": "XXX-14" if int(first[11:13]) >= 10 else "XXX+12"}  # where it is another day
        days = [self.seen("gain", "--by", "day", *words, env=zone, code=0).stdout.decode().splitlines()[1].split()[-1] for words in ((), ("--utc",))]
        self.assertEqual((days[0] != days[1], days[1]), (True, first[:10]))
        self.assertEqual(json.loads(self.seen("gain", "--by", "day", "--json", env=zone, code=0).stdout)["rows"][0]["name"], first[:10])

    def test_json_is_utc(self):
        for words in (("log", "--json"), ("status", "--json"), ("story", "--json")):
            self.assertNotIn(b"+05:30", self.seen(*words, env=self.ZONE, code=0).stdout)

    def test_a_time_of_day_is_of_the_zone_that_is_shown(self):
        row = self.seen("story", env=self.ZONE, code=0).stdout.decode().splitlines()[2].split()
        minute = row[1][:5]
        later = "%02d:%s" % ((int(minute[:2]) + 23) % 24, minute[3:])  # yesterday's or an hour ago: before the step
        self.assertIn(b"x", self.seen("log", "--since", minute, env=self.ZONE, code=0).stdout)
        self.assertIn(b"x", self.seen("log", "--since", later, env=self.ZONE, code=0).stdout)
        stamp = self.seen("log", env=self.ZONE, code=0).stdout.decode().splitlines()[1].split("+")[0]
        self.assertEqual(self.seen("log", "--until", stamp.replace("T", " ")[:19], env=self.ZONE, code=1).stdout, b"")
        self.assertGreater(self.seen("log", "--since", stamp[:19], env=self.ZONE, code=0).stdout.decode().count("\n"), 3)
        self.assertEqual(self.seen("log", "--utc", "--since", stamp[:19], env=self.ZONE, code=1).stdout, b"")


class Messages(Case):
    def test_a_number_behind_its_letter(self):
        self.seen("run", "--", "true", code=0)
        for words in (("-n2",), ("-n", "2"), ("-n=2",), ("--tail=2",)):
            self.assertEqual(self.seen("log", *words, code=0).stdout.count(b"\n"), 3, words)

    def test_help_help(self):
        self.assertIn(b"usage: seen help [COMMAND]\n", self.seen("help", "help", code=0).stdout)

    def test_no_session_names_the_directory(self):
        self.assertEqual(self.seen("run", "--state-dir=/proc/x", "--runtime-dir=/proc/x", "--", "true", code=0).stderr,
                         b"seen: no session could be made in /proc/x: No such file or directory; the command runs unobserved\n")
        self.assertEqual(self.seen("run", "--state-dir=/proc/x", "--runtime-dir=/proc/x", "--session", "s", "--", "true", code=0).stderr,
                         b"seen: s in /proc/x: No such file or directory; the command runs unobserved\n")

    def test_replay_of_nothing_is_one_line(self):
        (self.work / "empty.jsonl").write_text("")
        done = self.seen("replay", "empty.jsonl")
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        done = self.seen("replay", "--session", "nothing")
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        done = self.seen("replay")
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.seen("run", "--session", "s", "--", "true", code=0)
        done = self.seen("replay", "--session", "s")
        self.assertEqual((done.stdout + done.stderr).count(b"\n"), 1, done)

    def test_one_process(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.assertIn(b"1 process observed, 0 not", self.seen("report", code=0).stdout)
        self.assertNotIn(b"1 processes", self.seen("status", code=0).stdout)

    def test_without_proc(self):
        """What is missing is /proc, not the library."""
        wrapper = "unshare --mount --map-root-user sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh"
        done = self.run_in(wrapper, SEEN, "run", "--", "echo", "it runs")
        self.assertEqual(done.stdout, b"it runs\n", done.stderr)
        self.assertIn(b"/proc is not mounted", done.stderr)
        self.assertNotIn(b"is not beside this program", done.stderr)
        self.assertRegex(self.run_in(wrapper, SEEN, "doctor").stdout, rb"(?m)^fail  library: /proc is not mounted .*\n +remedy: mount procfs")

    def run_in(self, wrapper, *words):
        command = [*shlex.split(wrapper), *map(str, words)]
        if subprocess.run([*shlex.split(wrapper), "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no namespaces")
        return subprocess.run(command, cwd=self.work, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


if __name__ == "__main__":
    unittest.main()

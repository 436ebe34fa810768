"""Ready-made rules, and what a run ends with when one is hit; by each mechanism.  What they speak of: tests/unit/config/test_rule_sets.c."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from harness import SEEN, VIA, Session, wait_until

RULE, INCOMPLETE = 14, 16
BUSYBOX = shutil.which("busybox")
SUPERVISED = json.loads(subprocess.run([SEEN, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False).stdout)["supervisor"]["possible"]


class Case(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.session.write(".env", b"PASSWORD=1\n")
        self.session.write("plain", b"text\n")

    def run_it(self, script, *options):
        """(status, standard output, lines of seen itself)"""
        done = self.session.seen("run", "--session", "test", *options, "--", "bash", "-c", script, check=False)
        return done.returncode, done.stdout.decode(), [line for line in done.stderr.decode().splitlines() if line.startswith("seen: status")]

    def hits(self):
        log = self.session.seen("log", "--session", "test", "--op", "ruled", "--json", check=False).stdout
        return [(event["rule"], event["access"], event["action"], os.path.basename(event["resolved"]), event.get("error"))
                for event in map(json.loads, log.splitlines())]

    def counters(self):
        return {name: count for name, count in self.session.status()["counters"].items() if name.startswith("rules_") and count}


class Actions(Case):
    def test_warn_unless_said(self):
        self.assertEqual(self.run_it("cat .env plain; exit 3", "--rules", "secrets"), (3, "PASSWORD=1\ntext\n", []))
        self.assertEqual(self.hits(), [("secrets-env", "read", "warn", ".env", None)])
        self.assertEqual(self.counters(), {"rules_warned": 1})

    def test_deny(self):
        code, output, lines = self.run_it("cat .env; cat plain; exit 3", "--rules=secrets:deny")
        self.assertEqual((code, output, lines), (3, "text\n", []))
        self.assertEqual(self.hits(), [("secrets-env", "read", "deny", ".env", "EACCES")])
        self.assertEqual(self.counters(), {"rules_denied": 1})

    def test_deny_of_changes(self):
        self.session.write(".gitlab-ci.yml", b"old\n")
        script = ("echo new > .gitlab-ci.yml; rm .gitlab-ci.yml; mv plain .gitlab-ci.yml; ln plain .travis.yml; ln -s plain .drone.yml;"
                  "truncate -s 0 .gitlab-ci.yml; mkdir -p .github/workflows; mv .gitlab-ci.yml gone; cp plain .cirrus.yml; true")
        self.assertEqual(self.run_it(script, "--rules=ci:deny")[0], 0)
        self.assertEqual(self.session.read(".gitlab-ci.yml"), b"old\n")
        self.assertEqual(sorted(set(os.listdir(self.session.workspace)) - {".github"}), [".env", ".gitlab-ci.yml", "plain"])
        self.assertEqual({hit[4] for hit in self.hits()}, {"EACCES"})
        self.assertEqual({hit[0] for hit in self.hits()}, {"ci-pipelines"})

    def test_what_is_not_there_is_no_hit(self):
        code, _, lines = self.run_it("cat nosuch/.env; rm -f nosuch/.gitlab-ci.yml; [ -e .env ]", "--rules=secrets:deny,ci:deny", "--fail-on=rule")
        self.assertEqual((code, lines, self.hits(), self.counters()), (0, [], [], {}))

    def test_what_is_there_already_is_not_made(self):
        """Many programs make a directory that is there, and take EEXIST for success, but not EACCES."""
        script = ("import os\nfor call in ('mkdir', 'mkfifo', 'link', 'symlink', 'exclusive'):\n try:\n"
                  "  os.mkdir('d') if call == 'mkdir' else os.mkfifo('d') if call == 'mkfifo' else os.link('plain', 'd') if call == 'link' else "
                  "os.symlink('plain', 'd') if call == 'symlink' else os.open('d', os.O_CREAT | os.O_EXCL | os.O_WRONLY)\n"
                  " except OSError as error: print(error.errno)\n")
        self.session.write("call.py", script.encode())
        rule = ("-c", "rule r.op=write create", "-c", "rule r.path=d", "-c", "rule r.action=deny", "--fail-on=rule")
        code, output, _ = self.run_it("python3 call.py", *rule)
        self.assertEqual((code, output), (RULE, "13\n" * 5))
        os.symlink("nowhere", os.path.join(self.session.workspace, "d"))  # also what leads nowhere is there
        self.assertEqual(self.run_it("python3 call.py", *rule), (0, "17\n" * 5, []))

    def test_refused_opens_do_not_count(self):
        counts = []
        for script in ("for i in 1 2 3; do :; done", "for i in 1 2 3; do echo x > .env; done"):
            before = self.session.status()["counters"]["opens_write"] if counts else 0
            self.run_it(script, "-c", "rule r.op=write", "-c", "rule r.path=.env", "-c", "rule r.action=deny")
            counts.append(self.session.status()["counters"]["opens_write"] - before)
        self.assertEqual(self.counters(), {"rules_denied": 3})
        self.assertEqual(counts[0], counts[1])

    def test_fail_lets_it_run(self):
        code, output, lines = self.run_it("cat .env", "--rules=secrets:fail")
        self.assertEqual((code, output), (RULE, "PASSWORD=1\n"))
        self.assertEqual(lines, ["seen: status 14, the command's own was 0: 1 access against rules: secrets-env (1); see "
                                 "`seen log --session test --op ruled`"])
        # what was refused is none of it, unless --fail-on=rule asks
        _, _, lines = self.run_it("cat .env; echo x > .gitmodules", "--rules=secrets:fail,ci:deny")
        self.assertIn(": 1 access against rules: secrets-env (1); see", lines[0])
        # the run before does not count
        self.assertEqual(self.run_it("cat plain", "--rules=secrets:fail"), (0, "text\n", []))

    def test_programs(self):
        rule = ("-c", "rule no-true.op=exec", "-c", "rule no-true.path=/usr/bin/true", "-c", "rule no-true.action=deny",
                "-c", "rule env.op=exec", "-c", "rule env.path=env", "-c", "rule env.action=log")
        code, _, _ = self.run_it("/usr/bin/true; echo $? > plain; env true; true", *rule)
        self.assertEqual((code, self.session.read("plain")), (0, b"126\n"))
        self.assertEqual(self.counters(), {"rules_denied": 2, "rules_logged": 1})

    def test_own_program(self):
        """Hooks have to work: seen may be started, and does what it has to do, whatever the rules refuse to others."""
        rule = ("-c", "rule no-seen.op=exec", "-c", "rule no-seen.path=%s" % SEEN, "-c", "rule no-seen.action=deny",
                "-c", "rule out.op=read write create list", "-c", "rule out.where=outside", "-c", "rule out.except=/dev /proc /usr /lib /lib64 /bin /etc",
                "-c", "rule out.exe=seen", "-c", "rule out.action=deny")
        script = "'%s' forget --all > /dev/null && '%s' status --json > /dev/null; echo $?" % (SEEN, SEEN)
        self.assertEqual(self.run_it(script, *rule)[:2], (0, "0\n"))
        if VIA != "preload" and BUSYBOX:
            self.assertEqual(self.run_it('%s sh -c "%s"' % (BUSYBOX, script.replace("$", "\\$")), *rule)[:2], (0, "0\n"))
        self.assertEqual((self.hits(), self.counters()), ([], {}))

    def test_two_names_at_once(self):
        self.assertEqual(self.run_it("mv plain .env.new; mv .env other; mv .env.new third", "--rules=", "-c", "rule env.op=rename", "-c",
                                     "rule env.path=.env .env.*", "-c", "rule env.action=warn")[0], 0)
        self.assertEqual(self.counters(), {"rules_warned": 3})

    def test_beyond(self):
        directory = os.path.join(self.session.directory, "elsewhere")
        os.mkdir(directory)
        options = ("--rules=outside:deny", "-c", "rule outside.except=", "-c", "rule outside.except=/dev /proc")
        code, _, _ = self.run_it("echo x > %s/f; mkdir %s/d; echo x > inside; echo x > /dev/null; ls %s" % (directory, directory, directory), *options)
        self.assertEqual((code, os.listdir(directory), self.session.read("inside")), (0, [], b"x\n"))
        self.assertEqual([(hit[0], hit[3]) for hit in self.hits()], [("outside", "f"), ("outside", "d")])

    def test_own_programs_of_a_credential(self):
        for name in ("npm", "other"):
            shutil.copy("/bin/cat", os.path.join(self.session.directory, name))
        with open(os.path.join(self.session.directory, ".npmrc"), "w") as file:
            file.write("token\n")
        self.run_it("cd ..; ./npm .npmrc; ./other .npmrc", "--rules=secrets")
        self.assertEqual([hit[:2] for hit in self.hits()], [("secrets-registry", "read")])


@unittest.skipIf(VIA == "supervise", "says itself which mechanism it is about")
class Holds(Case):
    """A rule that denies or fails holds, or a line reports that it does not."""

    def start(self, *words, env=None):
        done = subprocess.run([SEEN, "run", "--session", "test", *words], cwd=self.session.workspace, env={**self.session.environment, **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        return done.returncode, done.stdout.decode(), [line for line in done.stderr.decode().splitlines() if line.startswith("seen: ")]

    def via(self, *options, **more):
        """The mechanism that is chosen for a plain program."""
        done = subprocess.run([SEEN, "doctor", "--json", *options, "--", "/bin/true"], cwd=self.session.workspace,
                              env={**self.session.environment, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=False)
        return json.loads(done.stdout)["program"]["via"]

    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_by_programs_without_the_library(self):
        if SUPERVISED:
            self.assertEqual(self.start("--rules", "secrets:deny", "--", "sh", "-c", "busybox cat .env; true")[:2], (0, ""))
        code, output, lines = self.start("--via", "preload", "--rules", "secrets:deny", "--quiet", "--", "sh", "-c", "busybox cat .env; exit 3")
        self.assertEqual((code, output, len(lines)), (125, "", 1))
        self.assertIn("would not hold: the command is not started", lines[0])
        code, output, lines = self.start("--via", "preload", "--best-effort", "--rules", "secrets:deny", "--quiet", "--", "sh", "-c", "busybox cat .env; exit 3")
        self.assertEqual((code, output), (3, "PASSWORD=1\n"))
        self.assertIn("may not hold", lines[0])
        self.assertEqual(lines[1:], ["seen: 1 program was not observed (cat: static), so rules did not hold for it: [rule secrets-env] ..."])
        code, _, lines = self.start("--via", "preload", "--rules", "secrets", "--fail-on=rule", "--", "sh", "-c", "busybox cat .env; exit 3")
        self.assertEqual((code, len(lines)), (INCOMPLETE, 1))
        self.assertIn("1 not observed: cat: static", lines[0])

    @unittest.skipUnless(SUPERVISED, "no supervisor")
    def test_who_brings_the_supervisor(self):
        for options, via in (((), "preload"), (("--rules", "secrets"), "preload"), (("--rules", "secrets:deny"), "both"), (("--rules", "ci:fail"), "both"),
                             (("--rules", "ci:deny", "--via", "preload"), "preload")):
            self.assertEqual(self.via(*options), via, options)
        self.session.write(".seen.ini", b"[rules]\nuse = secrets:deny\n[rule own]\nop = read\npath = x\naction = fail\n")
        self.assertEqual(self.via(), "preload")
        for use in ("secrets:deny", "secrets:fail"):  # nor takes it anything from the user's
            self.assertEqual(self.via(SEEN_RULES_USE=use), "both")
        self.assertEqual(self.via(SEEN_RULES_USE="secrets"), "preload")

    def test_a_session_in_use_has_other_rules(self):
        with subprocess.Popen([SEEN, "run", "--session", "test", "--", "sh", "-c", "echo; read line"], cwd=self.session.workspace,
                              env=self.session.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
            first.stdout.readline()
            _, _, lines = self.start("--rules", "secrets:deny", "--", "true")
            first.stdin.close()
        self.assertIn("it keeps the settings it has", lines[0])
        self.assertEqual(lines[1], "seen: the session is in use, with rules of its own: [rule secrets-env] (deny), set by --rules, would not hold: "
                                   "the command is not started (--best-effort starts it)")

    def test_no_session_no_command(self):
        blind = {"SEEN_SESSION_STATE_DIR": "/proc/none", "SEEN_SESSION_RUNTIME_DIR": "/proc/none"}
        for rules in ("secrets:deny", "ci:fail"):
            code, output, lines = self.start("--rules", rules, "--", "cat", ".env", env=blind)
            self.assertEqual((code, output, len(lines)), (125, "", 1))
            self.assertIn("would not hold: the command is not started", lines[0])
            self.assertIn("set by --rules", lines[0])
            self.assertNotIn("there is no such session", lines[0])
        self.assertEqual(self.start("--rules", "secrets", "--", "cat", ".env", env=blind)[:2], (0, "PASSWORD=1\n"))
        self.session.write(".seen.ini", b"[rules]\nuse = secrets:deny\n")  # which could stop every run
        self.assertEqual(self.start("--", "cat", ".env", env=blind)[:2], (0, "PASSWORD=1\n"))


class FailOn(Case):
    def test_warned_and_denied(self):
        code, _, lines = self.run_it("cat .env; echo x > .gitmodules; kill -TERM $$", "--rules=secrets:deny,ci", "--fail-on=rule")
        self.assertEqual(code, RULE)
        self.assertEqual(lines, ["seen: status 14, the command's own was 143: 2 accesses against rules, 1 refused: secrets-env (1), ci-vcs (1); "
                                 "see `seen log --session test --op ruled`"])

    def test_log_is_no_more_than_a_record(self):
        self.assertEqual(self.run_it("cat .env", "--rules=secrets:log", "--fail-on=rule"), (0, "PASSWORD=1\n", []))
        self.assertEqual(self.counters(), {"rules_logged": 1})

    def test_a_session_in_use_keeps_its_rules(self):
        directory = self.session.directory
        first = subprocess.Popen([SEEN, "run", "--via", VIA, "--session", "test", "--", "bash", "-c",
                                  "echo > %s/up; until [ -e %s/go ]; do sleep 0.05; done" % (directory, directory)],
                                 cwd=self.session.workspace, env=self.session.environment)
        wait_until(lambda: os.path.exists(directory + "/up"), 60)
        code, output, lines = self.run_it("cat .env", "--rules=secrets:fail")
        with open(directory + "/go", "w"):
            pass
        self.assertEqual(first.wait(60), 0)
        self.assertEqual((code, output), (INCOMPLETE, "PASSWORD=1\n"))
        self.assertIn("session test was in use, with rules of its own", lines[0])

    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_a_static_program(self):
        code, output, _ = self.run_it("busybox cat .env; true", "--rules=secrets:deny", "--fail-on=rule,unobserved")
        if VIA == "preload":
            self.assertEqual((code, output), (INCOMPLETE, "PASSWORD=1\n"))
        else:
            self.assertEqual((code, output), (RULE, ""))

    @unittest.skipIf(VIA == "preload", "there is no supervisor")
    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_supervisor_dies(self):
        directory = self.session.directory
        process = subprocess.Popen([SEEN, "run", "--via", VIA, "--session", "test", "--rules=secrets:deny", "--fail-on=rule,unobserved", "--",
                                    "bash", "-c", "busybox cat .env; echo > %s/up; until [ -e %s/go ]; do sleep 0.05; done; busybox cat .env"
                                    % (directory, directory)], cwd=self.session.workspace, env=self.session.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: os.path.exists(directory + "/up"), 60)
        for pid, name in self.session.helpers():
            if name == "seen-supervisor":
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: "seen-supervisor" not in [name for _, name in self.session.helpers()], 60)
        with open(directory + "/go", "w"):
            pass
        output, errors = process.communicate(timeout=60)
        # what it refused is refused, and known; from then on it goes on
        self.assertEqual((process.returncode, output), (RULE, b"PASSWORD=1\n"), errors)
        self.assertIn(b"1 access against rules, 1 refused: secrets-env (1)", errors)
        self.assertIn(b"observed in part", errors)


if __name__ == "__main__":
    unittest.main()

"""changed, edited, mention: what is to be reported, once."""
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

from driver import DEADLINE, LIBRARY, SEEN, Case, text_of


class Reported(Case):
    # no watcher: what is found here, is found by the commands alone
    options = ("--watch", "off")

    def given(self, *names):
        for name in names:
            if not os.path.exists(self.work / name):
                self.file(name)
            self.external(f"cat {name}", options=self.options)

    def run_it(self, command):
        return self.external(command, options=self.options)

    def changed(self, *words):
        return {file["path"]: file["state"] for file in self.json("changed", *words)["files"]}

    def edited(self, *words):
        return {file["path"]: file["source"] for file in self.json("edited", *words)["files"]}

    def events(self, op):
        return [json.loads(line) for line in self.seen("log", "--json", "--op", op).stdout.splitlines()]


class Removed(Reported):
    """What is removed, or comes and goes, whether anybody had read it or not."""

    def setUp(self):
        super().setUp()
        for directory in ("dir/sub", "other"):
            (self.work / directory).mkdir(parents=True)
        for name in ("dir/a", "dir/sub/b", "c", "d", "e", "f", "other/g"):
            self.file(name, name.encode() + b"\n")

    def reported(self):
        edited = {file["path"]: (file["source"], file["removed"]) for file in self.json("edited", "--tools")["files"]}
        fates = {file["path"]: file["fate"] for file in self.json("files")["files"]}
        return edited, fates

    def test_everybody_says_removed(self):
        summary = self.seen("run", "--session", "s", "--counts", "--agent-is", "outside", "--", "bash", "-c", "rm -r dir; rm c d", code=0).stderr.decode()
        edited, fates = self.reported()
        names = ("c", "d", "dir/a", "dir/sub/b")
        self.assertEqual(edited, {name: ("tool_edited", True) for name in names})
        self.assertEqual(fates, {name: "removed" for name in names})
        self.assertIn("0 files changed by the agent, 4 by its tools; 4 of them removed", summary)
        status = self.json("status")
        self.assertEqual((status["files"]["removed"], status["files"]["edited_by_tool"], status["lost"]["changes"]), (4, 4, 0))
        self.assertIn(b"tool_edited   dir/sub/b  (removed)\n", self.seen("edited", "--tools", code=0).stdout)
        rows = self.seen("files", code=0).stdout.decode().splitlines()[1:]
        self.assertEqual([row.split()[-3:] for row in rows], [["removed", "tool", name] for name in names])

    def test_what_came_and_went(self):
        self.run_it("sed -i s/e/E/ e; echo x > tmp; cat tmp; rm tmp; mktemp ./tmp.XXXX | xargs rm; echo y > new; mv new newer; echo z >> f")
        edited, fates = self.reported()
        self.assertEqual(edited, {"e": ("tool_edited", False), "newer": ("tool_edited", False), "f": ("agent_edited", False)})
        self.assertEqual({path: fate for path, fate in fates.items() if path != "tmp"}, {"e": "changed", "newer": "made", "f": "changed"})

    def test_made_by_a_call_that_is_not_observed(self):
        """open(2) with O_CREAT and without O_EXCL: a new file is made, an old one changed; what is removed again came and went."""
        self.run_it("tee new < f > /dev/null; tee e < f > /dev/null; tee tmp < f > /dev/null; rm tmp; tee -a d < f > /dev/null")
        edited, fates = self.reported()
        self.assertEqual(set(edited), {"new", "e", "d"})
        self.assertEqual((fates["new"], fates["e"], fates["d"]), ("made", "changed", "changed"))

    def test_an_empty_file_that_was_there(self):
        """Its times are those of its making, as a new file's are."""
        for name in ("blank", "lock"):
            self.file(name, b"")
        time.sleep(1.1)
        self.run_it("tee -a blank < f > /dev/null; tee -a lock < f > /dev/null; rm lock; echo x >> c")
        edited, fates = self.reported()
        self.assertEqual(edited["lock"], ("tool_edited", True))
        self.assertEqual((fates["blank"], fates["lock"]), ("changed", "removed"))

    def test_moved_away_and_made_again(self):
        self.run_it("mv c moved; rm d; echo x > d; rm e; mv other/g e")
        edited, fates = self.reported()
        self.assertEqual(fates, {"c": "removed", "moved": "made", "d": "changed", "e": "changed", "other/g": "removed"})
        self.assertEqual({path for path, row in edited.items() if row[1]}, {"c", "other/g"})

    def test_in_directories_by_descriptor(self):
        """unlinkat(2) and renameat(2), relative to what a descriptor is open for."""
        self.run_it("python3 -c \"import os; d = os.open('dir/sub', os.O_RDONLY); os.unlink('b', dir_fd=d); o = os.open('other', os.O_RDONLY); "
                    "os.rename('g', 'b', src_dir_fd=o, dst_dir_fd=d)\"")
        self.assertEqual(self.reported()[1], {"dir/sub/b": "changed", "other/g": "removed"})
        self.assertEqual(self.json("status")["lost"]["changes"], 0)


class Changed(Reported):
    def test_nothing(self):
        self.given("a", "b")
        self.file("c")
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.seen("changed", code=0).stdout, b"")

    def test_changed_and_deleted(self):
        self.given("a", "b", "c")
        self.file("b", b"other\n")
        os.unlink(self.work / "c")
        self.assertEqual(self.changed(), {"b": "changed", "c": "deleted"})
        self.assertEqual(self.seen("changed", code=0).stdout, b"changed  b\ndeleted  c\n")
        document = self.json("changed")
        self.assertEqual((document["schema"], document["session"], document["workspace"]),
                         ("seen/changed/1", "s", str(self.work)))
        b, c = document["files"]
        self.assertEqual((b["source"], c["version"]), ("user_edited", None))
        self.assertRegex(b["time"], r"^20\d\d-")
        self.assertRegex(b["version"], r"^[0-9a-f]{12}$")
        # asking does not tell it anew
        self.assertEqual(sorted((os.path.basename(event["path"]), event["source"]) for event in self.events("changed")),
                         [("b", "user_edited"), ("c", "user_edited")])

    def test_only_the_content_counts(self):
        self.given("a", "b")
        os.utime(self.work / "a", (1, 1))
        os.chmod(self.work / "b", 0o600)
        self.assertEqual(self.changed(), {})
        self.file("a", b"other\n")
        self.file("a")
        self.assertEqual(self.changed(), {}, "changed back")

    def test_an_old_time_of_modification(self):
        self.given("a")
        self.file("a", b"other\n")
        os.utime(self.work / "a", (1, 1))
        self.assertEqual(self.changed(), {"a": "changed"})
        os.utime(self.work / "a", (1 << 32, 1 << 32))
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.assertEqual(self.changed(), {})

    def test_each_once(self):
        self.given("a", "b")
        self.file("a", b"other\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.assertEqual(self.changed("--clear"), {})
        self.file("b", b"other\n")
        self.assertEqual(self.changed("--clear"), {"b": "changed"})
        self.file("a", b"once more\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"}, "it changed again")
        os.unlink(self.work / "a")
        self.assertEqual(self.changed("--clear"), {"a": "deleted"})
        self.assertEqual(self.changed(), {})
        # read, and changed to what was reported before
        self.file("a", b"third\n")
        self.given("a")
        self.file("a", b"once more\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})

    def test_until_read_again(self):
        self.given("a")
        self.file("a", b"other\n" * 100)
        self.assertEqual(self.changed(), {"a": "changed"})
        self.given("a")
        self.assertEqual(self.changed(), {})
        self.file("a")
        self.assertEqual(self.changed(), {"a": "changed"})

    def test_what_could_not_be_printed_was_not_reported(self):
        self.given("a")
        self.file("a", b"other\n")
        with open("/dev/full", "wb") as full:
            self.seen("changed", "--clear", stdout=full, code=6)
        self.assertEqual(self.changed("--clear"), {"a": "changed"})

    def test_not_what_the_session_did(self):
        self.given("a", "b", "c", "d")
        self.run_it("sed -i s/line/LINE/ a; echo x >> b; rm c; cp a d")
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.events("changed"), [])

    def test_an_append_over_a_change_is_not_a_change_of_the_users(self):
        self.given("a")
        self.file("a", b"other\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.run_it("echo x >> a")
        self.assertEqual(self.changed(), {})
        self.assertEqual(len(self.events("changed")), 1)
        self.file("a", b"more\n")
        self.assertEqual(self.changed(), {"a": "changed"})

    def test_overwritten_and_changed_to_the_same_again(self):
        self.given("a")
        self.file("a", b"other\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.run_it("cp ../agent.py a")
        self.assertEqual(self.changed(), {})
        self.file("a", b"other\n")
        self.assertEqual(self.changed(), {"a": "changed"})

    def test_changed_back_edited_and_changed_to_the_same_again(self):
        self.given("a")
        self.file("a", b"other\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.file("a")
        self.run_it("echo x >> a")
        self.assertEqual(self.changed(), {})
        self.file("a", b"other\n")
        self.assertEqual(self.changed(), {"a": "changed"})

    def test_only_what_a_scope_knows(self):
        self.run_it("echo made > a; cat ../agent.py > b")
        self.file("a", b"other\n")
        self.assertEqual(self.changed(), {})

    def test_unreadable_is_not_reported(self):
        self.given("a", "b")
        os.unlink(self.work / "a")
        os.mkdir(self.work / "a")
        os.unlink(self.work / "b")
        os.mkfifo(self.work / "b")
        self.assertEqual(self.changed(), {})

    def test_without_run(self):
        """The library alone: no process watches."""
        self.file("a")
        directory = self.seen("session", "s", code=0).stdout.decode().strip()
        env = {**self.env, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": directory, "SEEN_AGENT_IS": "outside"}
        done = subprocess.run(["bash", "-c", "cat a"], cwd=self.work, env=env, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.stdout, text_of())
        self.assertEqual(self.changed(), {})
        self.file("a", b"other\n")
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.assertEqual(self.changed(), {})

    def test_with_a_watcher(self):
        """What the watcher noted is named once, and is on record once."""
        self.file("a")
        self.file("b")

        def change():
            begin = time.monotonic()
            while not (self.top / "go").exists() and time.monotonic() < begin + DEADLINE:
                time.sleep(0.02)
            self.file("a", b"other\n")
            time.sleep(1)
            (self.top / "gone").write_text("")

        external = threading.Thread(target=change)
        external.start()
        results = self.agent("cat a", "cat b; echo x >> b", f"touch {self.top}/go; while [ ! -e {self.top}/gone ]; do sleep 0.05; done",
                             f"{SEEN} changed --clear", f"{SEEN} changed --clear", "cat a", f"{SEEN} changed")
        external.join()
        self.assertEqual(results[3:5] + results[6:], [b"changed  a\n", b"", b""])
        self.assertEqual([os.path.basename(event["path"]) for event in self.events("changed")], ["a"])
        self.assertEqual(self.changed(), {})

    def test_wrong_words(self):
        self.given("a")
        self.seen("changed", "a", code=2)
        self.seen("edited", "a", code=2)
        for command in ("changed", "edited"):
            self.seen(command, "--session", "nosuch", code=3)
        for words in (("--clear",), ("--tools",), ("--changed", "--edited"), ("--mention",), ("--mention", "--json", "a")):
            self.seen("files", *words, code=2)

    def test_short_forms(self):
        """Each is `files` with a filter."""
        self.given("a", "b", "c")
        self.run_it("echo x >> b; cp b d")
        self.file("a", b"other\n")
        for short, words in (("changed", ("--changed",)), ("edited", ("--edited",)), ("edited --tools", ("--edited", "--tools"))):
            reported = self.json(*short.split())
            self.assertTrue(reported["files"], short)
            self.assertEqual(self.json("files", *words), reported)
        self.assertEqual([file["path"] for file in self.json("files", "--edited", "--tools", "d", "a")["files"]], ["d"])
        self.seen("files", "--mention", "a", code=0)
        self.assertEqual(self.changed(), {})


class Edited(Reported):
    def test_agent_and_tools(self):
        self.given("a", "b")
        self.assertEqual(self.edited(), {})
        self.run_it("echo x >> a; /usr/bin/touch c; rm b; cp a d")
        self.assertEqual(self.edited(), {"a": "agent_edited"})
        everything = self.edited("--tools")
        self.assertEqual(everything["a"], "agent_edited")
        self.assertEqual((everything["b"], everything["d"]), ("tool_edited", "tool_edited"))
        self.assertIn(b"agent_edited  a\n", self.seen("edited", "--tools", code=0).stdout)
        document = self.json("edited")
        self.assertEqual((document["schema"], document["session"]), ("seen/edited/1", "s"))
        self.assertRegex(document["files"][0]["time"], r"^20\d\d-")

    def test_clear(self):
        self.run_it("echo x > a; cp a b")
        self.assertEqual(self.edited("--clear"), {"a": "agent_edited"})
        self.assertEqual(self.edited(), {})
        self.assertEqual(self.edited("--tools", "--clear"), {"b": "tool_edited"})
        self.assertEqual(self.edited("--tools"), {})
        self.run_it("echo y >> a; echo z > c")
        self.assertEqual(set(self.edited("--clear")), {"a", "c"})
        self.assertEqual(self.edited("--tools"), {})

    def test_clear_while_a_tool_writes(self):
        """What it writes after that is another edit."""
        self.given("a")
        self.run_it(f"sed -n 'w a' <(echo 1; {SEEN} edited --tools --clear --session s >/dev/null; echo 2)")
        self.assertEqual(self.edited("--tools"), {"a": "tool_edited"})

    def test_what_could_not_be_printed_was_not_reported(self):
        self.run_it("echo x > a")
        with open("/dev/full", "wb") as full:
            self.seen("edited", "--clear", stdout=full, code=6)
        self.assertEqual(self.edited(), {"a": "agent_edited"})

    def test_external_edits_are_none(self):
        self.given("a")
        self.file("a", b"other\n")
        self.assertEqual(self.changed(), {"a": "changed"})
        self.assertEqual(self.edited("--tools"), {})


class Mention(Reported):
    def test_mention(self):
        self.run_it("true")
        self.file("a")
        self.seen("check", "a", code=11)
        done = self.seen("mention", "a", code=0)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))
        self.seen("check", "a", code=0)
        self.assertEqual(self.changed(), {})
        self.file("a", b"other\n")
        self.seen("check", "a", code=9)
        self.assertEqual(self.changed("--clear"), {"a": "changed"})
        self.seen("mention", "a", code=0)
        self.assertEqual(self.changed(), {})
        self.file("a", b"third\n")
        self.assertEqual(self.changed(), {"a": "changed"})
        mentioned = self.events("mentioned")
        self.assertEqual([event["path"] for event in mentioned], [str(self.work / "a")] * 2)
        self.assertEqual(mentioned[0]["source"], "file_mentioned")
        self.assertEqual(mentioned[0]["file"]["bytes"], len(text_of()), "what it was then")

    def test_what_cannot_be_mentioned(self):
        self.run_it("true")
        self.file("a")
        (self.work / "sub").mkdir()
        os.mkfifo(self.work / "fifo")
        (self.top / "elsewhere").write_text("x")
        (self.work / ".git").write_text("gitdir: elsewhere\n")
        for words, said in ((["nosuch"], b"nosuch: No such file"), (["sub"], b"sub: not a regular file"),
                            (["fifo"], b"fifo: not a regular file"), (["../elsewhere"], b"not in the session's workspace")):
            done = self.seen("mention", *words, code=1)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.seen("mention", "nosuch", "a", code=1)
        self.seen("check", "a", code=0)  # the one that can be, is
        self.assertIn(b"mention what?", self.seen("mention", code=2).stderr)
        self.external("true", session="excluding", options=("--exclude", "a"))
        self.assertIn(b"a: excluded", self.seen("mention", "a", code=1).stderr)

    def test_to_whom(self):
        self.given("a")
        self.file("a", b"second\n" * 100)
        self.seen("check", "--scope", "session", "a", code=9)
        self.seen("mention", "a", code=0)
        self.seen("check", "--scope", "session", "a", code=0)  # there is no other
        self.external("cat a", env={"SEEN_SCOPE": "two"}, options=self.options)
        self.file("a", b"third\n" * 100)
        self.seen("mention", "a", code=0)
        for scope in ("session", "two"):
            self.seen("check", "--scope", scope, "a", code=9)  # it may have been to either
        self.seen("mention", "--scope", "two", "a", code=0)
        self.seen("check", "--scope", "two", "a", code=0)
        self.seen("check", "--scope", "session", "a", code=9)
        self.seen("mention", "--scope", "nosuch", "a", code=1)

    def test_to_the_one_that_lives(self):
        """The agent that runs is meant, whatever others knew before it."""
        second = text_of(word="second")

        def change():
            begin = time.monotonic()
            while not (self.top / "go").exists() and time.monotonic() < begin + DEADLINE:
                time.sleep(0.02)
            self.file("a", second)
            (self.top / "gone").write_text("")

        self.given("a")
        self.agent("cat a")
        before = {scope["id"] for scope in self.json("status")["scopes"]}
        external = threading.Thread(target=change)
        external.start()
        self.agent("cat a", f"touch {self.top}/go; while [ ! -e {self.top}/gone ]; do sleep 0.05; done", f"{SEEN} mention a")
        external.join()
        mine, = {scope["id"] for scope in self.json("status")["scopes"]} - before
        self.seen("check", "--scope", mine, "a", code=0)
        for scope in before:
            self.seen("check", "--scope", scope, "a", code=9)

    def test_without_a_journal(self):
        self.external("true", options=("--journal-level", "off"))
        self.file("a")
        self.seen("mention", "a", code=0)
        self.seen("check", "a", code=0)

    def test_what_has_no_name_is_counted(self):
        """A file below a directory whose name is longer than any path, changed below the supervisor: where no journal has it, it counts as lost."""
        script = "import os\nfor _ in range(18): os.mkdir('d' * 250); os.chdir('d' * 250)\nopen('f', 'w').close()\nos.remove('f')"
        for level in "off", "all":
            self.seen("run", "--session", level, "--quiet", "--via", "supervise", "--journal-level", level, "--", sys.executable, "-c", script, code=0)
            self.assertEqual(self.json("status", "--session", level)["lost"]["changes"] > 0, level == "off")
            shutil.rmtree(self.work / ("d" * 250))


if __name__ == "__main__":
    unittest.main()

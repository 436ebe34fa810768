"""status, files, forget: what they report about a session, and what forgetting does."""
import json
import os
import re
import unittest

from driver import SANITIZED, Case, Terminal, SEEN, text_of

TIME = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")


class Finding(Case):
    def test_unknown_name_is_refused(self):
        for command in (("status",), ("files",), ("forget", "--all"), ("forget", "x")):
            done = self.seen(*command, "--session", "nosuch", code=3)
            self.assertIn(b"nosuch", done.stderr)
            self.assertEqual(done.stdout, b"")
            self.seen(*command, code=3)
            self.seen(*command, code=3, env={"SEEN_SESSION": "nosuch"})

    def test_run_makes_it(self):
        self.seen("run", "--session", "made", "--", "true", code=0)
        for command in (("status",), ("files",), ("forget", "--all")):
            self.seen(*command, "--session", "made", code=0)

    def test_invalid_name(self):
        for name in ("../s", "a b", ".hidden", "x" * 65, "-x"):
            self.seen("status", f"--session={name}", code=2)

    def test_default_is_variable_then_newest_of_workspace(self):
        self.seen("run", "--session", "old", "--", "true", code=0)
        self.seen("run", "--session", "new", "--", "true", code=0)
        elsewhere = self.top / "elsewhere"
        elsewhere.mkdir()
        self.seen("run", "--session", "other", "--", "true", code=0, cwd=elsewhere)
        self.assertEqual(self.json("status")["session"]["name"], "new")
        self.assertEqual(self.json("status", env={"SEEN_SESSION": "old"})["session"]["name"], "old")
        self.assertEqual(self.json("status", "--session", "old", env={"SEEN_SESSION": "new"})["session"]["name"], "old")
        self.assertEqual(self.json("status", cwd=elsewhere)["session"]["name"], "other")
        directory = str(self.session_directory("old"))
        self.assertEqual(self.json("status", "--session", directory)["session"]["name"], "old")

    def test_below_a_workspace(self):
        """Where no git says what the workspace is, a directory below one belongs to it."""
        below = self.work / "a" / "b"
        below.mkdir(parents=True)
        self.seen("run", "--session", "top", "--", "true", code=0)
        self.seen("run", "--session", "root", "--", "true", code=0, cwd="/")
        for command in (("status",), ("files",), ("forget", "--all")):
            self.seen(*command, code=0, cwd=below)
        self.assertEqual(self.json("status", cwd=below)["session"]["name"], "top")
        self.assertEqual(self.json("status", cwd=self.top)["session"]["name"], "root")
        self.seen("status", "--workspace", str(below), code=3)  # this one alone
        self.seen("run", "--session", "nearer", "--", "true", code=0, cwd=below.parent)
        self.assertEqual(self.json("status", cwd=below)["session"]["name"], "nearer")
        self.assertEqual(self.json("status")["session"]["name"], "top")
        beside = self.top / (self.work.name + "x")
        beside.mkdir()
        self.assertEqual(self.json("status", cwd=beside)["session"]["name"], "root")


class Status(Case):
    def test_counts(self):
        self.file("a.txt")
        first, second, third = self.agent("cat a.txt", "cat a.txt", "cat a.txt")
        self.assert_content(first)
        self.assert_notice(second)
        self.assert_content(third)  # the model asks again
        status = self.json("status")
        self.assertEqual(status["schema"], "seen/status/1")
        counters = status["counters"]
        self.assertEqual({name: counters[name] for name in ("requests", "repeats", "notices", "yields")},
                         {"requests": 3, "repeats": 2, "notices": 1, "yields": 1})
        self.assertEqual(counters["bytes_saved"], len(text_of()) - len(second))
        self.assertEqual(status["tokens_saved_estimate"], (counters["bytes_saved"] * 2 + 6) // 7)
        self.assertEqual(status["session"]["workspace"], str(self.work))
        self.assertEqual(status["session"]["folder"], str(self.session_directory()))
        self.assertEqual(status["session"]["mode"], "substitute")
        self.assertRegex(status["session"]["created"], TIME)
        self.assertEqual(status["files"], {"on_record": 1, "edited_by_agent": 0, "edited_by_tool": 0, "removed": 0})
        self.assertEqual(status["processes"]["unobserved"], 0)
        self.assertGreaterEqual(status["processes"]["observed"], 4)
        self.assertTrue(all(count == 0 for count in status["lost"].values()))
        memory = status["memory"]
        self.assertEqual(memory["bytes"], os.stat(self.session_directory() / "segment").st_size)
        self.assertEqual(memory["tables"]["files"]["used"], 1)
        self.assertIn(memory["tables"]["files"]["capacity"], (131072, 16384))  # the latter where a file system gives all blocks at once
        self.assertIn("kept", memory["tables"])
        self.assertNotIn(b"null", self.seen("status").stdout)
        self.assertLess(memory["arena_bytes_used"], memory["arena_bytes"])
        (scope,) = status["scopes"]
        self.assertRegex(scope["id"], r"\A[0-9a-f]{16}\Z")
        self.assertEqual((scope["name"], scope["requests"]), ("agent", 3))
        self.assertRegex(scope["since"], TIME)
        table = self.seen("status", code=0).stdout
        self.assert_plain(table)
        for text in (scope["id"], "substitute", str(self.work)):
            self.assertIn(text.encode(), table)

    def test_edits_and_unobserved(self):
        if not os.access("/bin/busybox", os.X_OK) and not os.access("/usr/bin/busybox", os.X_OK):
            self.skipTest("no busybox, which would be a static program")
        self.agent("echo hello > new.txt", "busybox true", options=("--via", "preload"))
        status = self.json("status")
        self.assertEqual(status["files"]["edited_by_agent"], 1)
        program, = status["processes"]["unobserved_programs"]
        self.assertIn(program["name"], ("true", "busybox"))
        self.assertEqual((program["reason"], program["count"]), ("static", 1))
        self.assertIn(b"unobserved", self.seen("status", code=0).stdout)

    def test_full_tables_show(self):
        for i in range(200):
            self.file(f"f{i}", b"x" * 600)
        self.agent("for i in f*; do cat $i >/dev/null; cat $i; done", options=("-c", "session.files=128"))
        self.assertEqual(self.json("status")["memory"]["tables"]["files"]["capacity"], 128)


class Files(Case):
    def test_counts_and_version(self):
        self.file("b.txt")
        self.file("a.txt")
        _, notice, _ = self.agent("cat a.txt", "cat a.txt", "cat b.txt")
        files = self.json("files")
        self.assertEqual(files["schema"], "seen/files/1")
        self.assertEqual([file["path"] for file in files["files"]], ["a.txt", "b.txt"])
        a = files["files"][0]
        self.assertEqual((a["full_reads"], a["repeats"], a["notices"], a["yields"]), (1, 1, 1, 0))
        self.assertEqual((a["state"], a["bytes"], a["edited_by"]), ("fresh", len(text_of()), []))
        self.assertRegex(a["last_read"], TIME)
        self.assertIn(f"version {a['version']},".encode(), notice)
        self.assertRegex(a["version"], r"\A[0-9a-f]{12}\Z")
        table = self.seen("files", code=0).stdout
        self.assertIn(a["version"].encode(), table)
        self.assertEqual(len(table.splitlines()), 3)

    def test_states(self):
        for name in ("fresh", "touched", "changed", "deleted"):
            self.file(name)
        self.agent("cat fresh", "cat touched", "cat changed", "cat deleted", "echo x > written")
        os.utime(self.work / "touched")
        self.file("changed", text_of(word="LINE"))
        os.unlink(self.work / "deleted")
        states = {file["path"]: file["state"] for file in self.json("files")["files"]}
        self.assertEqual(states, {"fresh": "fresh", "touched": "fresh", "changed": "changed", "deleted": "deleted",
                                  "written": "untracked"})
        written = [file for file in self.json("files")["files"] if file["path"] == "written"][0]
        self.assertEqual((written["edited_by"], written["version"], written["last_read"]), (["agent"], None, None))
        self.assertRegex(written["last_edit"], TIME)

    def test_scope(self):
        self.file("a")
        self.agent("cat a")
        self.agent("true")
        self.agent("cat a 2>/dev/null | cat >/dev/null; cat a")
        scopes = self.json("status")["scopes"]
        given = [self.json("files", "--scope", scope["id"])["files"][0]["state"] for scope in scopes]
        self.assertIn("fresh", given)
        self.assertEqual(self.json("files", "--scope", scopes[0]["id"])["scope"], scopes[0]["id"])
        self.seen("files", "--scope", "agent", code=2 if len(scopes) > 1 else 0)
        self.seen("files", "--scope", "nosuch", code=1)

    def test_paths(self):
        (self.work / "sub").mkdir()
        for name in ("a", "sub/b", "sub/c"):
            self.file(name)
        self.agent("cat a", "cat sub/b", "cat sub/c")
        names = lambda *words, **more: [file["path"] for file in self.json("files", *words, **more)["files"]]
        self.assertEqual(names("sub"), ["sub/b", "sub/c"])
        self.assertEqual(names("b", "../a", cwd=self.work / "sub", env={"SEEN_SESSION": "s"}), ["a", "sub/b"])
        self.assertEqual(names(str(self.work / "a")), ["a"])
        os.symlink(self.work, self.top / "way")
        os.symlink(self.work / "a", self.top / "link")
        self.assertEqual(names("../link"), ["a"])
        self.assertEqual(names(str(self.top / "way/sub/b")), ["sub/b"])
        os.unlink(self.work / "sub/b")
        self.assertEqual(names(str(self.top / "way/sub/b")), ["sub/b"])
        done = self.seen("files", "a", "su", code=1)
        self.assertIn(b"su: not on record", done.stderr)
        self.assertIn(b" a\n", done.stdout)

    def test_unusual_names(self):
        names = [b"bad\xff.txt", b"new\nline.txt", b"esc\x1b[31m.txt", b"back\\slash.txt", "ümlaut.txt".encode(), b" sp ace"]
        for name in names:
            self.file(name)
        self.agent(*["cat " + "'%s'" % name.decode("latin-1") for name in names if max(name) < 128])
        # JSON of a command cannot hold them all: the others by a glob
        self.agent("for f in *; do cat \"$f\"; done", session="odd")
        table = self.seen("files", "--session", "odd", code=0).stdout
        self.assert_plain(table)
        for shown in (b"bad\\xff.txt", b"new\\nline.txt", b"esc\\x1b[31m.txt", b"back\\\\slash.txt", "ümlaut.txt".encode()):
            self.assertIn(shown, table)
        output = self.seen("files", "--session", "odd", "--json", code=0).stdout
        paths = {file["path"] for file in json.loads(output.decode("utf-8", "strict"))["files"]}
        self.assertEqual(paths, {"bad\\xff.txt", "new\nline.txt", "esc\x1b[31m.txt", "back\\\\slash.txt", "ümlaut.txt",
                                 " sp ace"})
        self.assertNotIn(b"\x1b", output)
        self.seen("forget", "--session", "odd", b"bad\xff.txt", code=0)

    def test_colours(self):
        self.file("a")
        self.agent("cat a")
        self.assertNotIn(b"\x1b", self.seen("files", code=0).stdout)

        def at_terminal(**more):
            terminal = Terminal([SEEN, "files"], self.work, {**self.env, **more})
            self.assertEqual(terminal.wait(), 0)
            return terminal.output

        self.assertIn(b"\x1b[", at_terminal())
        self.assertNotIn(b"\x1b", at_terminal(NO_COLOR="1"))
        self.assertIn(b"\x1b[", at_terminal(NO_COLOR=""))
        self.assertNotIn(b"\x1b", at_terminal(TERM="dumb"))


class Forget(Case):
    def known(self, *names):
        """A session outside in which the files were given, so that the next cat gets a notice."""
        for name in names:
            if not os.path.exists(self.work / name):
                self.file(name)
            self.assert_content(self.external(f"cat {name}"))

    def test_path(self):
        self.known("a", "b")
        self.assertEqual(self.seen("forget", "a", code=0).stdout, b"")
        self.assert_content(self.external("cat a"))
        self.assert_notice(self.external("cat b"))
        self.assertEqual(self.json("files", "a")["files"][0]["full_reads"], 2)  # the counts stay

    def test_not_on_record(self):
        self.known("a")
        done = self.seen("forget", "nosuch", "a", "../elsewhere", code=1)
        self.assertIn(b"nosuch: not on record", done.stderr)
        self.assertIn(b"../elsewhere: not on record", done.stderr)
        self.assert_content(self.external("cat a"))  # the one that is on record was forgotten all the same

    def test_all(self):
        self.known("a", "b")
        self.seen("forget", "--all", code=0)
        self.assert_content(self.external("cat a"))
        self.assert_content(self.external("cat b"))
        self.assert_notice(self.external("cat b"))

    def test_relative_symlink_deleted_directory(self):
        (self.work / "sub").mkdir()
        self.known("a", "sub/b", "sub/c")
        os.symlink(self.work / "a", self.top / "link")
        self.seen("forget", "../link", cwd=self.work, code=0)
        self.assert_content(self.external("cat a"))
        self.seen("forget", "./../sub//b", cwd=self.work / "sub", env={"SEEN_SESSION": "s"}, code=0)
        self.assert_content(self.external("cat sub/b"))
        self.assert_notice(self.external("cat sub/c"))
        self.seen("forget", "sub", code=0)
        self.assert_content(self.external("cat sub/c"))
        os.symlink(self.work, self.top / "way")
        os.unlink(self.work / "a")
        self.seen("forget", str(self.top / "way" / "a"), code=0)

    def test_scope(self):
        self.known("a")
        self.assert_content(self.external("cat a", env={"SEEN_SCOPE": "two"}))
        scopes = {scope["name"]: scope["id"] for scope in self.json("status")["scopes"]}
        self.assertEqual(set(scopes), {"session", "two"})
        self.seen("forget", "--scope", "two", "a", code=0)
        self.assert_content(self.external("cat a", env={"SEEN_SCOPE": "two"}))
        self.assert_notice(self.external("cat a"))
        self.assert_notice(self.external("cat a", env={"SEEN_SCOPE": "two"}))
        self.seen("forget", "--scope", scopes["session"], "--all", code=0)
        self.assert_content(self.external("cat a"))
        self.file("b")
        self.known("b")
        self.assert_content(self.external("cat b", env={"SEEN_SCOPE": "two"}))
        self.seen("forget", "--scope", scopes["session"], "--all", code=0)
        self.assert_content(self.external("cat b"))
        self.assert_notice(self.external("cat b", env={"SEEN_SCOPE": "two"}))
        self.assertIn(b"nosuch", self.seen("forget", "--scope", "nosuch", "--all", code=1).stderr)

    def test_during_a_run(self):
        self.file("a")
        first, again, _, last = self.agent("cat a", "cat a", f"{SEEN} forget a", "cat a")
        self.assert_content(first)
        self.assert_notice(again)
        self.assert_content(last)

    def test_is_quick(self):
        if SANITIZED:
            self.skipTest("a sanitized program is no measure")
        self.known("a")
        best = min(self.timed("forget", "a") for _ in range(40))
        self.assertLess(best, 0.005, "one process start, under 5 ms of processor time")

    def timed(self, *words):
        pid = os.posix_spawn(SEEN, [SEEN, *words], {**self.env, "SEEN_SESSION": "s", "PWD": str(self.work)},
                             file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
        usage = os.wait4(pid, 0)[2]
        return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    unittest.main()

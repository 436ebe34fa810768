"""The last lines of a run: one where nothing happened, else three at most; which files, what to know, what brings it back."""
import os
import unittest

from driver import SEEN, Case, Terminal


class Lines(Case):
    def run_it(self, *words, options=("--summary",), code=0):
        done = self.seen("run", *options, "--", *words, code=code)
        return done.stderr.decode().splitlines()

    def test_one_where_nothing_happened(self):
        self.assertEqual(len(self.run_it("true")), 1)
        self.assertRegex(self.run_it("cat", "/dev/null")[0], r"\Aseen: no file of the workspace was written; 1 process observed; session \d{8}-\d{6}-[0-9a-f]{6}\Z")

    def test_files_and_what_takes_it_back(self):
        lines = self.run_it("sh", "-c", "echo a > a; echo b > b; rm b; mkdir d; echo c > d/c")
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"\Aseen: 2 files changed: (a, d/c|d/c, a)\Z")
        self.assertRegex(lines[1], r"\Aseen: `seen undo` takes it back; `seen story` lists the steps; session \S+\Z")
        self.seen("undo", "--all", code=0)
        self.assertEqual(os.listdir(self.work), [])

    def test_more_files_than_are_named(self):
        line = self.run_it("sh", "-c", "for i in 1 2 3 4 5; do echo $i > $i; done; rm 1")[0]
        self.assertRegex(line, r"\Aseen: 4 files changed: \d, \d, \d and 1 more\Z")

    def test_the_agent_s_file_takes_no_name_of_its_tools(self):
        for script in ("echo a > made; rm gone", "rm gone; echo a > made"):
            (self.work / "gone").write_text("g")
            with self.subTest(script):
                self.assertEqual(self.run_it("sh", "-c", script)[0], "seen: 2 files changed, 1 of them removed: made, gone")
            (self.work / "made").unlink()

    def test_a_session_that_was_there_is_named_in_the_command(self):
        self.run_it("true", options=("--session", "s"))
        self.run_it("true", options=("--session", "t"))
        line = self.run_it("sh", "-c", "echo a > a", options=("--summary", "--session", "s"))[-1]
        self.assertEqual(line, "seen: `seen undo --session s` takes it back; `seen story --session s` lists the steps")
        self.seen("undo", "--all", "--session", "s", code=0)
        self.assertFalse((self.work / "a").exists())

    def test_a_session_with_another_at_the_same_time_is_named_in_the_command(self):
        """The one that ends last is not the newest, which a command takes by itself."""
        script = f"echo a > a; env -u SEEN_SESSION -u LD_PRELOAD {SEEN} run --quiet --session t -- sh -c 'echo b > b'"
        self.assertIn("`seen undo --session s` takes it back; ", self.run_it("sh", "-c", script, options=("--summary", "--session", "s"))[-1])

    def test_all_tables_have_a_name(self):
        self.run_it("true", options=("--session", "s"))
        self.assertNotIn(b"null", self.seen("status", "--session", "s", code=0).stdout)

    def test_no_undo_is_not_promised(self):
        line = self.run_it("sh", "-c", "echo a > a", options=("--summary", "--undo", "no"))[-1]
        self.assertNotIn("undo", line)

    def test_no_digest_unless_asked(self):
        self.assertNotRegex("\n".join(self.run_it("true")), "[0-9a-f]{64}")
        self.assertRegex("\n".join(self.run_it("true", options=("--counts",))), "[0-9a-f]{64}")

    def test_three_at_most_and_the_worst_is_named(self):
        """An overwritten change of another program: its file and the command that brings its content back."""
        file = self.work / "notes.txt"
        file.write_text("".join(f"Line {i} of a file that is long enough.\n" for i in range(30)))
        harness = ("--session", "s", "--agent-is", "outside")
        self.seen("run", "--quiet", *harness, "--", "cat", "notes.txt", code=0)
        file.write_text(file.read_text() + "A person's line.\n")
        lines = self.run_it("sh", "-c", "exec 2> /dev/null; echo new > notes.txt; busybox true || :; for i in 1 2 3 4 5; do echo > $i; done",
                            options=("--summary", *harness))
        self.assertLessEqual(len(lines), 3, lines)
        self.assertRegex(lines[1], r"\Aseen: careful: notes\.txt: .*seen restore notes\.txt [0-9a-f]{12}")
        version = lines[1].split("seen restore notes.txt ")[1][:12]
        self.seen("restore", "notes.txt", version, code=0)
        self.assertIn("A person's line.", file.read_text())

    def test_rules_and_what_was_not_observed(self):
        (self.work / ".env").write_text("x\n")
        lines = self.run_it("sh", "-c", "cat .env > /dev/null; env -i busybox true", options=("--summary", "--rules", "secrets", "--via", "preload"))
        self.assertEqual(len(lines), 3, lines)
        self.assertIn("rules: 1 warned of", lines[1])
        self.assertIn("not observed: true: static", lines[1])


class When(Case):
    def terminal(self, *words):
        terminal = Terminal([SEEN, "run", *words], self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        return terminal.output

    def test_always_findings_never(self):
        self.assertIn(b"no file of the workspace was written", self.terminal("--", "true"))
        self.assertEqual(self.terminal("-c", "summary.when=findings", "--", "true"), b"")
        self.assertEqual(self.terminal("-c", "summary.when=findings", "--", "sh", "-c", "echo a > a"), b"")
        self.assertIn(b"careful: rules: ", self.terminal("-c", "summary.when=findings", "--rules", "ci", "--", "sh", "-c",
                                                         "mkdir -p .github/workflows; echo > .github/workflows/a.yml"))
        self.assertNotIn(b"careful", self.terminal("-c", "summary.when=never", "--rules", "ci", "--", "sh", "-c", "echo > .github/workflows/a.yml"))
        self.assertIn(b"no file of the workspace was written", self.terminal("-c", "summary.when=never", "--summary", "--", "true"))

    def test_not_elsewhere(self):
        self.assertEqual(self.seen("run", "--", "sh", "-c", "echo a > a", code=0).stderr, b"")


if __name__ == "__main__":
    unittest.main()

"""context: which instruction files apply, in which order, and that each is given once per scope, version and epoch."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from driver import SEEN, Case, Terminal

NOTHING, NO_SESSION = 1, 3


class Workspace(Case):
    def setUp(self):
        super().setUp()
        for directory in ("src/deep", "other"):
            (self.work / directory).mkdir(parents=True)
        self.file("AGENTS.md", b"root rules\n")
        self.file("src/AGENTS.md", b"src rules\n")
        self.file("src/deep/f.c")


class Context(Workspace):
    def make(self, session="s"):
        self.seen("run", "--session", session, "--agent-is", "outside", "--", "true", code=0)

    def context(self, *words, code=0, session="s", **more):
        return self.seen("context", "--session", session, *words, code=code, **more).stdout.decode()

    def files(self, *words, code=0, **more):
        document = self.json("context", "--session", "s", *words, code=code, **more)
        return [file["path"] for file in document["files"]]

    def test_root_first_then_down_and_once(self):
        self.make()
        self.assertEqual(self.context("src/deep/f.c"), "[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n")
        self.assertEqual(self.context("src/deep/f.c"), "")
        self.assertEqual(self.context("src"), "")
        self.file("src/deep/AGENTS.md", b"deep rules")  # without a newline at its end
        self.assertEqual(self.context("src/deep/f.c"), "[Loaded from src/deep/AGENTS.md]\ndeep rules\n")
        self.assertEqual(self.json("status", "--session", "s")["counters"]["instructions_given"], 3)

    @unittest.skipUnless(shutil.which("strace"), "no strace: what is read is not seen")
    def test_a_second_call_reads_no_file_again(self):
        """What the first one read is in the session; also for the hook that begins a conversation."""
        if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("strace may not trace here")
        self.make()
        time.sleep(2.1)  # younger files are not kept: a change might not be seen

        def reads(*words):
            trace = self.top / "trace"
            subprocess.run(["strace", "-y", "-f", "-e", "trace=pread64", "-o", str(trace), SEEN, "context", "--session", "s", "--all", *words], cwd=self.work,
                           env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
            return sorted({name for name in re.findall(r"pread64\(\d+<([^>]*)>", trace.read_text()) if name.endswith(".md")})

        both = [str(self.work / "AGENTS.md"), str(self.work / "src/AGENTS.md")]
        self.assertEqual(reads("src/x"), both)
        self.assertEqual(reads("src/x"), [])
        self.file("src/AGENTS.md", b"other rules\n")
        self.assertEqual(reads("src/x"), both[1:])
        self.assertIn("other rules", self.context("--all", "src/x"))
        (kept,) = self.top.rglob("instructions")
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.seen("gc", "--all", code=0)
        self.assertFalse(kept.exists())

    def test_names_in_the_configured_order(self):
        for name in ("GEMINI.md", "CLAUDE.md", "agents.md", "README.md"):
            self.file(name, name.encode() + b"\n")
        self.make()
        self.assertEqual(self.files("x"), ["AGENTS.md", "CLAUDE.md", "GEMINI.md"])
        self.seen("run", "--session", "t", "--agent-is", "outside", "-c", "context.files=", "-c", "context.files=README.md AGENTS.md",
                  "--", "true", code=0)
        document = self.json("context", "--session", "t", "x")
        self.assertEqual([file["path"] for file in document["files"]], ["README.md", "AGENTS.md"])

    def test_paths_that_are_not_there_directories_and_several(self):
        self.make()
        self.assertEqual(self.files("--peek", "src/new/sub/x.c"), ["AGENTS.md", "src/AGENTS.md"])
        self.assertEqual(self.files("--peek", "src/new/"), ["AGENTS.md", "src/AGENTS.md"])
        self.assertEqual(self.files("--peek", "src/deep"), ["AGENTS.md", "src/AGENTS.md"])
        self.assertEqual(self.files("--peek", "."), ["AGENTS.md"])
        self.assertEqual(self.files("--peek", "f.c", cwd=self.work / "src"), ["AGENTS.md", "src/AGENTS.md"])
        self.assertEqual(self.files("other", "src/x", "src/y"), ["AGENTS.md", "src/AGENTS.md"])

    def test_beyond_the_workspace(self):
        self.make()
        done = self.seen("context", "--session", "s", "/etc/passwd", "src/x", code=NOTHING)
        self.assertEqual(done.stderr, b"seen: /etc/passwd: not in the session's workspace\n")
        self.assertIn(b"[Loaded from src/AGENTS.md]\n", done.stdout)
        self.seen("context", "--session", "none", "x", code=NO_SESSION)
        self.seen("context", "--session", "s", code=2)

    def test_each_version_once(self):
        self.make()
        self.context("src/x")
        self.file("src/AGENTS.md", b"new rules\n")
        self.assertEqual(self.context("src/x"), "[Loaded from src/AGENTS.md]\nnew rules\n")
        self.assertEqual(self.context("src/x"), "")
        os.utime(self.work / "src/AGENTS.md")
        self.assertEqual(self.context("src/x"), "")
        self.file("src/AGENTS.md", b"src rules\n")  # that version was given
        self.assertEqual(self.context("src/x"), "")

    def test_forget(self):
        self.make()
        both = self.context("src/x")
        self.seen("forget", "--session", "s", "--all", code=0)
        self.assertEqual(self.context("src/x"), both)
        self.seen("forget", "--session", "s", "src/AGENTS.md", code=0)
        self.assertEqual(self.context("src/x"), "[Loaded from src/AGENTS.md]\nsrc rules\n")
        self.seen("forget", "--session", "s", "other/none", code=NOTHING)

    def test_all_and_peek(self):
        self.make()
        self.assertEqual(self.files("--peek", "src/x"), ["AGENTS.md", "src/AGENTS.md"])
        both = self.context("src/x")
        self.assertEqual(self.context("--all", "src/x"), both)
        self.assertEqual(self.context("--peek", "src/x"), "")
        self.assertEqual(self.files("--all", "--peek", "src/x"), ["AGENTS.md", "src/AGENTS.md"])

    def test_json(self):
        self.make()
        document = self.json("context", "--session", "s", "src/x")
        self.assertEqual(set(document), {"schema", "session", "workspace", "scope", "marked", "files", "left_out"})
        self.assertEqual((document["schema"], document["session"], document["workspace"], document["marked"], document["left_out"]),
                         ("seen/context/1", "s", str(self.work), True, []))
        self.assertRegex(document["scope"], "^[0-9a-f]{16}$")
        src = document["files"][1]
        self.assertEqual(set(src), {"path", "bytes", "version", "given", "content"})
        self.assertEqual((src["path"], src["bytes"], src["given"], src["content"]), ("src/AGENTS.md", 10, False, "src rules\n"))
        self.assertRegex(src["version"], "^[0-9a-f]{12}$")
        document = self.json("context", "--session", "s", "--all", "--peek", "src/x")
        self.assertEqual([file["given"] for file in document["files"]], [True, True])
        self.assertFalse(document["marked"])

    def test_what_is_excluded(self):
        for directory in ("node_modules/m", ".git/x", "dist/d", "mine/m"):
            (self.work / directory).mkdir(parents=True)
            self.file(directory + "/AGENTS.md", b"not me\n")
        self.seen("run", "--session", "s", "--agent-is", "outside", "--exclude", "mine", "--", "true", code=0)
        for directory in ("node_modules/m", ".git/x", "dist/d", "mine/m"):
            self.assertEqual(self.files("--peek", directory), ["AGENTS.md"])

    def test_one_file_by_two_names(self):
        os.link(self.work / "AGENTS.md", self.work / "GEMINI.md")
        os.symlink("AGENTS.md", self.work / "CLAUDE.md")
        os.symlink("../AGENTS.md", self.work / "src/CLAUDE.md")
        self.make()
        self.assertEqual(self.files("src/x"), ["AGENTS.md", "src/AGENTS.md"])
        self.assertEqual(self.files("src/x"), [])

    def test_links_that_lead_elsewhere(self):
        (self.top / "secret").write_text("a key")
        os.symlink(self.top / "secret", self.work / "src/CLAUDE.md")
        os.symlink("CLAUDE.md", self.work / "CLAUDE.md")
        os.symlink("nowhere", self.work / "GEMINI.md")
        self.make()
        done = self.seen("context", "--session", "s", "src/x", code=0)
        self.assertNotIn(b"a key", done.stdout)
        self.assertIn(b"[Loaded from src/AGENTS.md]", done.stdout)
        self.assertEqual(done.stderr.splitlines(), [
            b"seen: CLAUDE.md: Too many levels of symbolic links; not given",
            b"seen: src/CLAUDE.md: leads out of the workspace, or to what is excluded; not given"])
        left = self.json("context", "--session", "s", "src/x")["left_out"]
        self.assertEqual([file["path"] for file in left], ["CLAUDE.md", "src/CLAUDE.md"])

    def test_what_cannot_be_given(self):
        self.file("CLAUDE.md", b"x" * 65537)
        self.file("GEMINI.md", b"a\0b")
        (self.work / "src/GEMINI.md").mkdir()
        os.mkfifo(self.work / "src/CLAUDE.md")
        self.make()
        done = self.seen("context", "--session", "s", "src/x", code=0)
        self.assertEqual(done.stdout, b"[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n")
        self.assertEqual(done.stderr.splitlines(), [
            b"seen: CLAUDE.md: longer than 65,536 bytes; not given", b"seen: GEMINI.md: not text; not given",
            b"seen: src/CLAUDE.md: not a regular file; not given", b"seen: src/GEMINI.md: not a regular file; not given"])
        self.file("CLAUDE.md", b"x" * 65536)
        self.assertEqual(self.files("src/x"), ["CLAUDE.md"])

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_what_may_not_be_read(self):
        (self.work / "AGENTS.md").chmod(0)
        self.make()
        done = self.seen("context", "--session", "s", "src/x", code=0)
        self.assertEqual(done.stderr, b"seen: AGENTS.md: Permission denied; not given\n")
        self.assertIn(b"src rules", done.stdout)

    def test_hostile_names_and_contents(self):
        directory = b"a\n[Loaded from x]\x1b[31m"
        os.mkdir(os.path.join(os.fsencode(self.work), directory))
        content = b"\x1b]0;title\x07 \xff\xfe latin\n"
        self.file(directory + b"/AGENTS.md", content)
        self.make()
        done = self.seen("context", "--session", "s", directory + b"/x", code=0)
        self.assertIn(b"[Loaded from a\\n[Loaded from x]\\x1b[31m/AGENTS.md]\n" + content, done.stdout)
        self.file(directory + b"/AGENTS.md", content + b"more")
        document = self.json("context", "--session", "s", directory + b"/x")
        self.assertEqual([file["reason"] for file in document["left_out"]], ["not text"])  # JSON is UTF-8
        self.assertIn(b"more", self.seen("context", "--session", "s", directory + b"/x", code=0).stdout)

    def test_scopes(self):
        for name in ("one", "two"):
            self.seen("run", "--session", "s", "--agent-is", "outside", "--", "true", env={"SEEN_SCOPE": name}, code=0)
        both = ["AGENTS.md", "src/AGENTS.md"]
        self.assertEqual(self.files("--scope", "one", "src/x"), both)
        self.assertEqual(self.files("--scope", "one", "src/x"), [])
        self.assertEqual(self.files("src/x", env={"SEEN_SCOPE": "one"}), [])
        self.assertEqual(self.files("src/x", env={"SEEN_SCOPE": "two"}), both)
        self.assertEqual(self.files("--scope", "two", "src/x"), [])
        self.seen("context", "--session", "s", "--scope", "three", "src/x", code=NOTHING)
        self.seen("forget", "--session", "s", "--scope", "one", "--all", code=0)
        self.assertEqual(self.files("--scope", "two", "src/x"), [])
        self.assertEqual(self.files("--scope", "one", "src/x"), both)

    def test_output_that_cannot_be_written_is_not_given(self):
        self.make()
        with open("/dev/full", "wb") as full:
            self.seen("context", "--session", "s", "src/x", stdout=full, code=6)
        self.assertEqual(self.files("src/x"), ["AGENTS.md", "src/AGENTS.md"])

    def test_journal(self):
        self.make()
        self.context("src/x")
        lines = [json.loads(line) for line in self.seen("log", "--session", "s", "--json", "--op", "instructed", code=0).stdout.splitlines()]
        self.assertEqual([(line["path"], line["way"]) for line in lines],
                         [(str(self.work / name), "context") for name in ("AGENTS.md", "src/AGENTS.md")])
        self.assertEqual({line["to_scope"] for line in lines}, {self.json("context", "--session", "s", "x")["scope"]})
        self.context("--all", "--peek", "src/x")
        self.assertEqual(len(self.seen("log", "--session", "s", "--json", "--op", "instructed").stdout.splitlines()), 2)


class OfAnAgent(Workspace):
    """What an agent's own commands print is given to that agent's scope."""

    def test_two_agents_one_session(self):
        first = self.agent(f"{SEEN} context src/x", f"{SEEN} context src/x", f"{SEEN} context src/deep/f.c")
        self.assertEqual(first, [b"[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n", b"", b""])
        self.assertEqual(self.agent(f"{SEEN} context src/x"), first[:1])

    def test_where_the_output_goes_elsewhere_nothing_is_noted(self):
        both = self.agent(f"{SEEN} context src/x > ../elsewhere", f"{SEEN} context src/x | wc -l", f"{SEEN} context src/x",
                          f"{SEEN} context src/x")
        self.assertEqual(both[:2], [b"", b"4\n"])
        self.assertEqual(both[2:], [(self.top / "elsewhere").read_bytes(), b""])

    def test_what_the_agent_cuts_was_not_given(self):
        much = "seq 1 20000"
        both = self.agent(f"{SEEN} context src/x; {much}", f"{SEEN} context src/x", f"{SEEN} context src/x")
        self.assertTrue(both[0].startswith(both[1]) and both[1])
        self.assertEqual(both[2], b"")

    def test_reading_one_gives_it(self):
        self.assertEqual(self.agent("cat AGENTS.md", f"{SEEN} context src/x", "cat src/AGENTS.md | cat", f"{SEEN} forget --all; cat src/AGENTS.md | cat",
                                    f"{SEEN} context src"),
                         [b"root rules\n", b"[Loaded from src/AGENTS.md]\nsrc rules\n", b"src rules\n", b"src rules\n",
                          b"[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n"])

    def test_hook_of_an_agent(self):
        """A hook is a child of the agent, with a pipe of its own."""
        (self.top / "hooked.py").write_text(
            "import subprocess, sys\n"
            "for _ in range(2): sys.stdout.buffer.write(subprocess.run([sys.argv[1], 'context', 'src/x'],\n"
            "    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout + b'--\\n'); sys.stdout.flush()\n")
        done = self.seen("run", "--session", "s", "--agent", "hooked", "--", sys.executable, str(self.top / "hooked.py"), SEEN, code=0)
        self.assertEqual(done.stdout, b"[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n--\n--\n")

    def test_below_a_person_at_a_terminal(self):
        terminal = Terminal([SEEN, "run", "--session", "s", "--", "bash", "-c", f"{SEEN} context src/x; echo -; {SEEN} context src/x; echo -"],
                            self.work, self.env)
        terminal.wait()
        text = terminal.output.replace(b"\r\n", b"\n")
        self.assertIn(b"[Loaded from ./AGENTS.md]\nroot rules\n[Loaded from src/AGENTS.md]\nsrc rules\n-\n-\n", text)


if __name__ == "__main__":
    unittest.main()

"""report: instruction files that apply to what was touched, and that no scope was given."""
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

from driver import SEEN, Case, text_of


class Report(Case):
    def setUp(self):
        super().setUp()
        for directory in ("a/deep", "b", "c", "node_modules/m"):
            (self.work / directory).mkdir(parents=True)
            self.file(directory + "/f")
        self.file("a/f")
        for directory in (".", "a", "b", "c", "node_modules/m"):
            self.file(directory + "/AGENTS.md", directory.encode() + b" rules\n")

    def rows(self):
        instructions = self.json("report", "--session", "s")["instructions"]
        return instructions["applied"], {row["path"]: (row["touches"], row["first"], row["read_by_agent"]) for row in instructions["never_given"]}

    def instructions(self):
        """The lines of that section."""
        text = self.seen("report", "--session", "s", code=0).stdout.decode()
        return text.split("\nInstruction files\n")[1].split("\n\n")[0].splitlines()

    def test_never_given(self):
        self.agent("head -1 a/deep/f", "head -1 a/f; cat b/f", "ls c", "head -1 node_modules/m/f")
        self.assertEqual(self.rows(), (3, {"AGENTS.md": (3, "a/deep/f", False), "a/AGENTS.md": (2, "a/deep/f", False),
                                           "b/AGENTS.md": (1, "b/f", False)}))
        text = self.instructions()
        self.assertEqual([line.split() for line in text[1:-1]],
                         [["3", "AGENTS.md", "a/deep/f"], ["2", "a/AGENTS.md", "a/deep/f"], ["1", "b/AGENTS.md", "b/f"]])
        self.assertEqual(text[-1], "3 of 3 instruction files that apply to what was touched were never given")

    def test_given_by_each_way(self):
        self.agent(f"{SEEN} context a/x", "head -1 a/f b/f c/f", "cat c/AGENTS.md")
        self.assertEqual(self.rows(), (4, {"b/AGENTS.md": (1, "b/f", False)}))
        self.assertTrue(self.instructions()[-1].startswith("1 of 4 instruction files"))
        self.agent("cat b/f", options=("--inject", "viewers"))
        self.assertEqual(self.rows(), (4, {}))
        self.assertEqual(self.instructions(), ["0 of 4 instruction files that apply to what was touched were never given"])

    def test_half_is_not_given(self):
        self.agent("head -1 a/AGENTS.md a/f; cat a/AGENTS.md | cat")
        self.assertIn("a/AGENTS.md", self.rows()[1])

    def test_what_tools_change(self):
        self.agent("touch a/new; mv b/f c/g", "python3 -c \"open('a/f').read()\"")
        self.assertEqual({path: row[:2] for path, row in self.rows()[1].items()},
                         {"AGENTS.md": (3, "a/new"), "a/AGENTS.md": (1, "a/new"), "b/AGENTS.md": (1, "b/f"), "c/AGENTS.md": (1, "c/g")})

    def test_what_the_agent_reads_itself(self):
        (self.top / "reads.py").write_text("open('AGENTS.md').read(); open('a/f').read()")
        self.seen("run", "--session", "s", "--agent", "reads", "--", sys.executable, str(self.top / "reads.py"), code=0)
        self.assertEqual(self.rows(), (2, {"a/AGENTS.md": (1, "a/f", False)}))

    def test_names_differ_by_case(self):
        self.file("a/agents.md", b"a page about agents\n")
        self.agent("head -1 a/f")
        self.assertEqual(set(self.rows()[1]), {"AGENTS.md", "a/AGENTS.md"})

    def test_by_another_name(self):
        os.link(self.work / "a/AGENTS.md", self.work / "a/CLAUDE.md")
        os.symlink("AGENTS.md", self.work / "b/CLAUDE.md")
        self.agent("head -1 a/f b/f", "cat a/CLAUDE.md")
        self.assertEqual(set(self.rows()[1]), {"AGENTS.md", "b/AGENTS.md"})

    def test_nothing_and_no_journal(self):
        self.agent("true")
        self.assertEqual(self.rows(), (0, {}))
        self.seen("report", "word", code=2)
        self.seen("run", "--session", "t", "--journal-level", "off", "--", "true", code=0)
        self.assertIn(b"session t has no journal", self.seen("report", "--session", "t", code=1).stderr)

    def test_hostile_names(self):
        directory = b"x\x1b[31m\n"
        os.mkdir(os.path.join(os.fsencode(self.work), directory))
        self.file(directory + b"/AGENTS.md", b"rules\n")
        self.file(directory + b"/f", text_of())
        self.agent("head -1 x*/f")
        output = self.seen("report", "--session", "s", code=0).stdout
        self.assertIn(b"x\\x1b[31m\\n/AGENTS.md", output)
        self.assert_plain(output)
        self.assertIn("x\x1b[31m\n/AGENTS.md", self.rows()[1])


if __name__ == "__main__":
    unittest.main()


class Changes(Case):
    """What a report answers first: what was done to files, by which command, and what was run."""

    def setUp(self):
        super().setUp()
        for directory in ("dir/sub", ".git"):
            (self.work / directory).mkdir(parents=True)
        for name in ("dir/a", "dir/sub/b", "c", "e", "f"):
            self.file(name, name.encode() + b"\n")

    COMMANDS = ("rm -r dir; rm c", "echo x >> e", "sed -i s/f/F/ f", "echo y > new; echo t > tmp; rm tmp", "mv new newer",
                "cat f | sh; true", "echo 1 > .git/x; mkdir -p ~/.claude; echo 2 > ~/.claude/state; echo 3 > ~/.profile")

    def test_files_and_commands(self):
        self.agent(*self.COMMANDS)
        report = self.json("report", "--session", "s")
        changes = {row["path"]: (row["fate"], row["command"]) for row in report["changes"]["rows"]}
        removes, appends, edits, _, moves, _, others = self.COMMANDS
        own = {str(self.top / "tmp" / "results")}
        self.assertEqual({path: row for path, row in changes.items() if path not in own}, {
            "dir/a": ("removed", removes), "dir/sub/b": ("removed", removes), "c": ("removed", removes), "e": ("changed", appends),
            "f": ("changed", edits), "newer": ("made", moves), str(self.home / ".profile"): ("made", others)})
        self.assertEqual((report["changes"]["git"], report["changes"]["agent_state"]), (1, 1))
        self.assertEqual([row["command"] for row in report["commands"]["rows"]], list(self.COMMANDS))
        text = self.seen("report", "--session", "s", code=0).stdout.decode()
        self.assertLess(text.index("What it did to files"), text.index("What it ran"))
        self.assertLess(text.index("What it ran"), text.index("Files by bytes written"))
        for line in ("1 file of .git", "1 file of the agent's own state"):
            self.assertIn(line, text)
        self.assertIn("cat f \\| sh; true", self.seen("report", "--session", "s", "--format", "md", code=0).stdout.decode())
        numbers = [line.split()[:3] for line in text.split("Files by bytes written")[1].split("\n\n")[0].splitlines()[2:]]
        self.assertNotIn(["0", "0", "0"], numbers)
        self.assertIn(str(report["commands"]["rows"][0]["command"]), self.seen("report", "--session", "s", "--format", "html", code=0).stdout.decode())

    def test_behind_a_launcher(self):
        """What starts the agent (timeout, npx, a version manager's script) is one command, and the agent's are others."""
        launcher = ("bash", "-c", '"$@"; true', "launcher")
        self.agent("echo x >> e", "rm c", launcher=launcher)
        report = self.json("report", "--session", "s")
        self.assertEqual([row["command"] for row in report["commands"]["rows"]], [launcher[2], "echo x >> e", "rm c"])
        changes = {row["path"]: row["command"] for row in report["changes"]["rows"]}
        self.assertEqual((changes["e"], changes["c"], changes[str(self.top / "tmp" / "results")]), ("echo x >> e", "rm c", None))

    # As each agent's own process, or what its launcher starts, wrote them in a run of its own; XDG and other
    # variables in the second part.
    STATE = ("~/.claude/projects/-w/c.jsonl ~/.claude.json.tmp.1.2 $TMPDIR/claude-0/-w/s/tasks/b.output $TMPDIR/claude-35ba-cwd "
             "~/.codex/sessions/2026/01/01/r.jsonl ~/.codex/state_5.sqlite-wal ~/.gemini/tmp/w/chats/s.json "
             "$TMPDIR/gemini-shell-Dl4dSy/bgpids.tmp ~/.pi/agent/sessions/--w--/s.jsonl $TMPDIR/pi-bash-1f.log "
             "~/.config/opencode/.gitignore ~/.local/share/opencode/opencode.db-wal ~/.local/state/opencode/locks/l "
             "~/.cache/opencode/models.json ~/.npm/_cacache/content-v2/sha512/a $TMPDIR/.bcfbef1ebcb5fa3e-00000000.so "
             "~/.cline/data/db/teams.db ~/.config/kilo/kilo.json ~/.local/share/kilo/kilo.db ~/.local/state/kilo-sandbox-policy/p "
             "$TMPDIR/kilo/s").split()
    MOVED = {"CODEX_HOME": "auth.json", "CLAUDE_CONFIG_DIR": ".claude.json", "PI_CODING_AGENT_DIR": "auth.json",
             "XDG_DATA_HOME": "opencode/opencode.db", "XDG_CACHE_HOME": "kilo/models.json", "CLINE_DIR": "data/db/tasks.db"}

    def state(self, paths, env):
        words = " ".join(paths)
        self.seen("run", "--session", "s", "--", "bash", "-c",
                  f"for f in {words}; do mkdir -p ${{f%/*}}; echo 1 > $f; done; echo 1 > own", code=0, env=env)
        report = self.json("report", "--session", "s", env=env)
        self.assertEqual([row["path"] for row in report["changes"]["rows"]], ["own"])
        self.assertEqual(report["changes"]["agent_state"], len(paths))
        self.assertEqual((report["outside_workspace"]["bytes_written"], report["outside_workspace"]["changes"]), (0, 0))
        self.assertEqual(report["agent_state"]["bytes_written"], 2 * len(paths))
        text = " ".join(self.seen("report", "--session", "s", code=0, env=env).stdout.decode().split())
        self.assertIn(f"written 1 file, 2 bytes; of the agent's own state {len(paths)} opens", text)

    def test_state_of_agents(self):
        self.state(self.STATE, {})

    def test_state_that_a_variable_moves(self):
        env = {name: str(self.top / "moved" / name) for name in self.MOVED}
        self.state([f"{env[name]}/{path}" for name, path in self.MOVED.items()], env)

    def test_a_sandbox_in_the_making(self):
        """What bubblewrap makes of a new root is no file of this machine's."""
        bwrap = shutil.which("bwrap")
        if not bwrap or subprocess.run([bwrap, "--dev-bind", "/", "/", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no bubblewrap")
        self.seen("run", "--session", "s", "--", bwrap, "--bind", "/", "/", "--dev", "/dev", "bash", "-c", "echo 1 > own", code=0)
        report = self.json("report", "--session", "s")
        self.assertEqual([row["path"] for row in report["changes"]["rows"] if "newroot" in row["path"]], [])
        self.assertEqual(report["outside_workspace"]["changes"], 0)

    def test_what_hooks_keep_beside_the_session(self):
        """seen's own records are no change of the session's; what another program writes there is."""
        runtime = self.top / "seen-run"  # begins as the directory below it is called
        runtime.mkdir(mode=0o700)
        env = {"XDG_RUNTIME_DIR": str(runtime)}
        (self.work / "AGENTS.md").write_text("Use tabs.\n")
        time.sleep(2.1)  # what changed less than two seconds ago is not kept
        start = json.dumps({"session_id": "one", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(self.work)})
        self.seen("run", "--session", "s", "--agent", "bash", "--", "bash", "-c",
                  f"echo '{start}' | '{SEEN}' answer hook claude; echo x > $(dirname $SEEN_SESSION)/stranger; echo 1 > own;"
                  f"'{SEEN}' context own", code=0, env=env)
        log = [json.loads(line) for line in self.seen("log", "--session", "s", "--json", code=0, env=env).stdout.splitlines()]
        kept = [row["path"] for row in log if row["op"] == "write" and row["executable"] == SEEN]
        for place in ("/.local/state/seen/.conversations/", "/seen-run/seen/s/"):
            self.assertEqual([place for path in kept if place in path][:1], [place], kept)
        changed = [row["path"] for row in self.json("report", "--session", "s", env=env)["changes"]["rows"]]
        self.assertEqual(sorted(path.rsplit("/", 1)[-1] for path in changed), ["own", "stranger"])

    def test_without_an_agent(self):
        self.seen("run", "--session", "s", "--", "bash", "-c", "rm c; echo x > new", code=0)
        report = self.json("report", "--session", "s")
        self.assertEqual([row["command"] for row in report["commands"]["rows"]], ["rm c; echo x > new"])
        self.assertEqual({row["path"]: row["fate"] for row in report["changes"]["rows"]}, {"c": "removed", "new": "made"})

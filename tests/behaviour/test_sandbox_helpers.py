"""Commands that an agent starts in a sandbox by a helper, not by a shell: its own program, started once more, or another.

What is printed there is the agent's as long as it reads it: it is answered, and the guard knows what the model was given.  Each way is played
bare first."""
import json
import os
import shutil
import subprocess
import sys
import threading
import unittest

import sandboxes
from driver import NOTICE, SEEN, Case, text_of

LONG = bool(os.environ.get("SEEN_LONG"))
# box.py MODE ...: run by a program that is no interpreter by its name (a copy of Python's), as agents' own programs are.
PROGRAM = sandboxes.WAIT_FOR_OUTSIDER + r'''
import ctypes, json, os, subprocess, sys, time

def agent(words, results):
    outputs = []
    for command in json.load(open(words)):
        if command == "outsider":
            wait_for_outsider()
            continue
        if command == "own read":
            open("g").read()
            continue
        if isinstance(command, float):
            time.sleep(command)
            continue
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CMD": command[-1]})
        outputs.append((done.returncode, done.stdout.decode()))
    json.dump(outputs, open(results, "w"))

def become(*words):
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
    os.execvp(words[0], words)

def start(*words):
    sys.exit(subprocess.run(words).returncode)

def hide(*words):
    """As claude's filter of system calls: it is not dumpable while it starts the command."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    start(*words)

def mounts(*words):
    """As codex's helper and as Claude Code: it removes what its sandbox made to mount something at."""
    status = subprocess.run(words).returncode
    os.rmdir(".mounted")
    if os.path.exists(".filled"): os.remove(".filled")
    sys.exit(status)

def write(name, late_s="0"):
    time.sleep(float(late_s))
    try:
        open(name, "w").write("by the helper\n")
    except OSError as error:
        sys.exit(str(error))

def edit(name, late_s="0.6"):
    open(name).read()
    write(name, late_s)

def stays(name):
    for reads, late_s in ((True, 0.6), (False, 0.6), (True, 0), (True, 0.6)):
        if reads:
            open(name).read()
        time.sleep(late_s)
        try:
            open(name, "w").write("by the helper\n")
            print("written")
        except OSError:
            print("refused")

globals()[sys.argv[1]](*sys.argv[2:])
'''
# Other programs: the command is not among their words.
BY_VARIABLE = r'''
import ctypes, os, subprocess, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000 | 0x20000) != 0:
    sys.exit(77)
sys.exit(subprocess.run(["bash", "-c", os.environ["CMD"]]).returncode)
'''
KEEPS = r'''
import os, subprocess, sys
done = subprocess.run(["bash", "-c", sys.argv[1]], stdout=subprocess.PIPE)
sys.stdout.buffer.write(done.stdout[::-1])
sys.exit(done.returncode)
'''
OTHER_WORDS = r'''
import subprocess, sys
sys.exit(subprocess.run(["bash", "-c", sys.argv[1]]).returncode)
'''


class Helpers(Case):
    def setUp(self):
        super().setUp()
        self.workspace = self.top / "ws"
        self.program = self.top / "boxagent"
        shutil.copy(os.path.realpath(sys.executable), self.program)
        (self.top / "box.py").write_text(PROGRAM)
        self.env["PYTHONHOME"] = sys.base_prefix
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"
        self.env["SEEN_PATHS_WORKSPACE"] = str(self.workspace)
        self.own = [str(self.program), str(self.top / "box.py")]

    def fill(self):
        shutil.rmtree(self.workspace, ignore_errors=True)
        self.workspace.mkdir()
        for name in ("f", "g"):
            (self.workspace / name).write_bytes(text_of(word=name))

    def sandbox(self, name):
        """Words before a command; where they do not work the test is skipped."""
        self.fill()
        words = sandboxes.prefix(name, self.workspace, self.top / "new")
        if not words:
            self.skipTest(f"{name} does not work here")
        return words.split()

    def play(self, chain, words=(), scripted=False, commands=None, launcher=()):
        ended = threading.Event()

        def outsider():
            while not (self.workspace / "go").exists():
                if ended.wait(0.02):
                    return
            (self.workspace / "g").write_text("an outsider's\n")
            (self.workspace / "go").unlink()

        self.fill()
        commands = commands or [[*chain, command] for command in ("cat f", "cat f", "cat g")] + ["outsider", [*chain, "echo new > g; echo done"]]
        (self.top / "commands").write_text(json.dumps(commands))
        agent = [sys.executable, *self.own[1:]] if scripted else [*launcher, *self.own]
        thread = threading.Thread(target=outsider)
        thread.start()
        try:
            done = subprocess.run([*words, *agent, "agent", self.top / "commands", self.top / "results"], cwd=self.workspace, env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        finally:
            ended.set()
            thread.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        return [tuple(result) for result in json.loads((self.top / "results").read_text())]

    def both(self, chain, via, name="boxagent", scripted=False):
        bare = self.play(chain, scripted=scripted)
        if bare[0][0] == 77:
            self.skipTest("this sandbox does not work here: %r" % (bare[0],))
        self.assertEqual([status for status, _ in bare], [0] * len(bare), bare)
        return bare, self.play(chain, (SEEN, "run", "--session", "s", "--via", via, "--agent", name, "--stale-write", "deny", "--"), scripted)

    def answered(self, chain, via="auto"):
        bare, seen = self.both(chain, via)
        self.assertEqual((seen[0], seen[2]), (bare[0], bare[2]))
        self.assertTrue(seen[1][1].startswith(NOTICE.decode()), seen[1])
        self.assertEqual((self.workspace / "g").read_text(), "an outsider's\n")
        scopes = self.json("status", "--session", "s")["scopes"]
        self.assertEqual(len([scope for scope in scopes if scope["requests"]]), 1, scopes)

    def as_bare(self, chain, via="auto", **more):
        bare, seen = self.both(chain, via, **more)
        self.assertEqual(seen, bare)

    def way(self, name):
        own = " ".join(self.own)
        if name == "by_variable":
            return [sys.executable, "-c", BY_VARIABLE]
        if name == "landlock":
            return [sys.executable, "-c", sandboxes.LANDLOCK, str(self.workspace), "/nonexistent", "bash", "-c"]
        if name == "timeout":
            return ["timeout", "60", "bash", "-c"]
        if name == "firejail":
            return [*self.sandbox("firejail"), "bash", "-c"]
        box = self.sandbox("bwrap_all")
        quoted = " ".join(box)
        return {
            "becomes": [*self.own, "become", *box, *self.own, "become", "bash", "-c"],
            "starts": [*self.own, "start", *box, *self.own, "start", "bash", "-c"],
            "in_shell_becomes": ["sh", "-c", f"{quoted} bash -c '{own} become bash -c \"$1\"; exit $?' x \"$1\"", "x"],
            "in_shell_starts": ["sh", "-c", f"{quoted} bash -c '{own} start bash -c \"$1\"; exit $?' x \"$1\"", "x"],
            "in_shell_hides": ["sh", "-c", f"{quoted} bash -c '{own} hide bash -c \"$1\"; exit $?' x \"$1\"", "x"],
            "other": [*box, "bash", "-c"],
        }[name]

    def test_own_write(self):
        """The agent's own program, started once more in the sandbox, writes a file that the agent was given (codex's apply_patch)."""
        chain = self.way("starts")
        commands = [[*chain, "cat g"], "outsider", [*chain[:-2], *self.own, "write", "g"]]
        self.play(chain, commands=commands)
        self.assertEqual((self.workspace / "g").read_text(), "by the helper\n")
        for via in ("auto", "supervise"):
            for launcher in ((), (*self.own, "start")):  # by a launcher of its name, too
                results = self.play(chain, (SEEN, "run", "--via", via, "--agent", "boxagent", "--stale-write", "deny", "--"), commands=commands, launcher=launcher)
                self.assertEqual((self.workspace / "g").read_text(), "an outsider's\n", results)

    def test_own_write_late(self):
        """The agent itself reads the file once more right before it starts the helper, which takes longer than [notice] burst_ms."""
        chain = self.way("starts")
        late = [*chain[:-2], *self.own, "write", "g", "0.6"]
        for first, name in (([*chain, "cat g"], "given"), ("own read", "read by itself")):
            commands = [first, "outsider", "own read", late]
            for via in ("auto", "supervise"):
                with self.subTest(name, via=via):
                    self.play(chain, (SEEN, "run", "--via", via, "--agent", "boxagent", "--stale-write", "deny", "--"), commands=commands)
                    self.assertEqual((self.workspace / "g").read_text(), "an outsider's\n")
        # It knows what it read long before.
        self.play(chain, (SEEN, "run", "--agent", "boxagent", "--stale-write", "deny", "--"),
                  commands=[[*chain, "cat g"], "outsider", "own read", 0.5, late])
        self.assertEqual((self.workspace / "g").read_text(), "by the helper\n")

    def test_own_edit_late(self):
        """The helper reads the file itself, and writes it later than [notice] burst_ms: no model asked for that read."""
        chain = self.way("starts")
        late = [*chain[:-2], *self.own, "edit", "g"]
        for via in ("auto", "supervise"):
            with self.subTest(via=via):
                run = (SEEN, "run", "--via", via, "--agent", "boxagent", "--stale-write", "deny", "--")
                self.play(chain, run, commands=[[*chain, "cat g"], "outsider", late])
                self.assertEqual((self.workspace / "g").read_text(), "an outsider's\n")
        # The model was given what is there; or no other process has read it.
        for commands in ([[*chain, "cat g"], "outsider", [*chain, "cat g"], late], ["outsider", late]):
            self.play(chain, (*run[:2], *run[4:]), commands=commands)
            self.assertEqual((self.workspace / "g").read_text(), "by the helper\n", commands)

    def test_stays(self):
        """A helper that was refused by what its agent knew, and goes on, has a conversation of its own: what it reads then counts, not at once."""
        chain = self.way("starts")
        for via in ("auto", "supervise") if LONG else ("supervise",):
            with self.subTest(via=via):
                results = self.play(chain, (SEEN, "run", "--via", via, "--agent", "boxagent", "--stale-write", "deny", "--"),
                                    commands=[[*chain, "cat g"], "outsider", [*chain[:-2], *self.own, "stays", "g"]])
                self.assertEqual(results[-1][1].split(), ["refused", "refused", "refused", "written"])

    def test_mount_points(self):
        """Removing the mount points of its own sandbox is no change that `seen undo --last` takes back; what was there before it was started is one."""
        box = self.sandbox("bwrap_all")
        mounted = ["--tmpfs", str(self.workspace / ".mounted"), "bash", "-c"]
        for via in ("auto", "supervise"):
            with self.subTest(via=via):
                self.play((), (SEEN, "run", "--session", via, "--via", via, "--agent", "boxagent", "--"),
                          commands=[["mkdir", ".mounted"], [*self.own, "mounts", *box, *mounted, "true"],
                                    *([*self.own, "mounts", *box, *mounted, f"echo {name} > {name}"] for name in ("f", "g"))])
                self.assertFalse((self.workspace / ".mounted").exists())
                for name in ("g", "f"):
                    self.seen("undo", "--last", "--session", via)
                    self.assertEqual((self.workspace / name).read_bytes(), text_of(word=name))
                    self.assertFalse((self.workspace / ".mounted").exists())
                self.seen("undo", "--last", "--session", via)
                self.assertTrue((self.workspace / ".mounted").exists())

    def test_mount_points_that_are_files(self):
        """... nor what `seen undo --all` and --since take back: an empty file of the workspace is."""
        box = self.sandbox("bwrap_all")
        mounted = ["--ro-bind", "/dev/null", str(self.workspace / ".filled"), "--tmpfs", str(self.workspace / ".mounted"), "bash", "-c"]
        fill = self.fill
        self.fill = lambda: (fill(), (self.workspace / "empty").touch())
        for number, undo in enumerate((["--all"], ["--since", "1"], ["--last"])):
            with self.subTest(undo=undo):
                session = f"s{number}"
                self.play((), (SEEN, "run", "--session", session, "--agent", "boxagent", "--"),
                          commands=[["rm", "empty"], [*self.own, "mounts", *box, *mounted, "echo f > f"], [*self.own, "mounts", *box, *mounted, "true"]])
                self.assertFalse((self.workspace / ".filled").exists())
                self.seen("undo", *undo, "--session", session)
                self.assertEqual((self.workspace / "f").read_bytes(), text_of(word="f"))
                self.assertEqual([name for name in (".filled", ".mounted") if (self.workspace / name).exists()], [])
                self.assertEqual((self.workspace / "empty").exists(), undo != ["--last"])

    @unittest.skipUnless(LONG, "takes half a minute; SEEN_LONG=1")
    def test_late_by_seconds(self):
        """However long the helper takes, and its agent is there, below a launcher of its name too."""
        chain = self.way("starts")
        edit = [*chain[:-2], *self.own, "edit", "g"]
        for launcher, commands in (((), [[*edit, "11"]]), ((*self.own, "start"), [11.0, edit])):
            self.play(chain, (SEEN, "run", "--agent", "boxagent", "--stale-write", "deny", "--"), commands=[[*chain, "cat g"], "outsider", *commands], launcher=launcher)
            self.assertEqual((self.workspace / "g").read_text(), "an outsider's\n", commands)

    def test_what_is_no_helper(self):
        """A tool that keeps what its shell prints, and one whose shell runs something else than what the agent asked for."""
        for chain in ([sys.executable, "-c", KEEPS], [sys.executable, "-c", OTHER_WORDS]):
            self.as_bare(chain)
            # ... also where the tool runs in the agent's own interpreter.
            self.as_bare(chain, name="box.py", scripted=True)


def add_tests():
    for name in ("becomes", "starts", "in_shell_becomes", "in_shell_starts", "in_shell_hides", "other", "by_variable", "landlock", "timeout", "firejail"):
        for via in ("auto", "supervise", "both"):
            if LONG or (name, via) in SHORT:
                setattr(Helpers, f"test_{name}_{via}", lambda self, name=name, via=via: self.answered(self.way(name), via))


SHORT = {("becomes", "auto"), ("starts", "supervise"), ("in_shell_becomes", "supervise"), ("in_shell_starts", "auto"), ("in_shell_hides", "auto"), ("other", "both"), ("by_variable", "auto"), ("by_variable", "supervise"),
         ("landlock", "auto"), ("timeout", "auto")}
add_tests()

if __name__ == "__main__":
    unittest.main()

"""kill -9 at random instants, and garbage in the session's files: no reader crashes, no program but the killed one ends by it, nothing torn is believed.

SEEN_KILLS sets how many kills, SEEN_RUNS beside how many runs garbage is written, SEEN_SEED the sequence; SEEN_READER is the program that reads (one with
sanitizers, say).
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

import deaths
from harness import LONG, NOTICE, SEEN, Session, wait_until

KILLS = int(os.environ.get("SEEN_KILLS") or (2000 if LONG else 8))
RUNS = int(os.environ.get("SEEN_RUNS") or (200 if LONG else 2))
SEED = int(os.environ.get("SEEN_SEED") or 20261127)
READER = os.environ.get("SEEN_READER") or SEEN
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(deaths.__file__)), "deaths.py")
WAYS = ("both", "supervise", "auto", "preload")
COMMANDS = 12  # of an agent
MAPPED = ("segment", "journal")  # cut short they end the programs that map them (docs/limits.md)
HOOK_INPUT = b'{"session_id":"x","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"f0"},"cwd":"."}'


def descendants(pid):
    found = []
    try:
        for child in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split():
            found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


class Deaths(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.random = random.Random(SEED)
        self.pool = os.path.join(self.session.directory, "pool")
        self.report = os.path.join(self.session.directory, "report")
        os.mkdir(self.pool)
        for i in range(deaths.POOL):
            pathlib.Path(self.pool, str(i)).write_bytes(deaths.sealed(i))
        self.fill()

    def fill(self):
        for i in range(deaths.FILES):
            self.session.write("f%d" % i, deaths.sealed(1000 + i))

    def start(self, via):
        return subprocess.Popen([SEEN, "run", "--quiet", "--via", via, "--session", "test", "--agent", "deaths.py", "--", sys.executable, SCRIPT,
                                 str(self.random.randrange(1 << 30)), str(COMMANDS), self.pool, NOTICE.decode(), self.report],
                                cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def call(self, words, **more):
        return subprocess.run(words, cwd=self.session.workspace, env=self.session.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                              **({"input": b""} | more))

    def other(self):
        """A command of seen beside the run, to be killed too."""
        words = self.random.choice((("undo", "--all"), ("redo",), ("status",), ("report",), ("answer", "hook", "claude"), ("gc",), ("story",)))
        more = () if words[0] in ("answer", "gc") else ("--session", "test")
        process = subprocess.Popen([SEEN, *words, *more], cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.stdin.write(HOOK_INPUT)
            process.stdin.close()
        except BrokenPipeError:
            pass
        return process

    def kill_some(self, root, count):
        """kill -9 of processes below a run, of the run's helpers, and of commands beside it.  Returns how many were."""
        killed, beside = 0, []
        for _ in range(count):
            time.sleep(self.random.random() * 0.06)
            if self.random.random() < 0.3:
                beside.append(self.other())
                time.sleep(self.random.random() * 0.02)
            below = descendants(root.pid)
            spared = below[:1] if self.random.random() < 0.9 else []  # the agent: all ends with it
            targets = [pid for pid in below if pid not in spared] + [pid for pid, _ in self.session.helpers()] + [one.pid for one in beside if one.poll() is None]
            if self.random.random() < 0.03:
                targets = [root.pid]
            if root.poll() is not None:
                break
            if not targets:
                continue
            try:
                os.kill(self.random.choice(targets), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        for one in beside:
            self.assertFalse(deaths.died_by_fault(one.wait(60)), one.args)
        return killed

    def finish(self, root):
        """Waits until nothing of a run lives."""
        held = []  # a PID is another process's soon
        for pid in descendants(root.pid) if root.returncode is None else ():
            try:
                held.append(os.pidfd_open(pid))
            except ProcessLookupError:
                pass
        root.wait(60)
        for process in held:
            try:
                signal.pidfd_send_signal(process, signal.SIGKILL)  # what had lost its run
            except ProcessLookupError:
                pass
            os.close(process)
        self.assertFalse(deaths.died_by_fault(root.returncode), root.returncode)
        wait_until(lambda: not self.session.helpers())

    def check(self, about):
        """Nothing torn in the workspace, no reader that crashes, and an undo that brings back whole contents alone."""
        wrong = pathlib.Path(self.report).read_text() if os.path.exists(self.report) else ""
        self.assertEqual((wrong, deaths.read_all(READER, self.call, ("--session", "test"))), ("", []), about)
        self.assertEqual(deaths.torn_files(self.session.workspace), [], about)
        for words in (("undo", "--continue"), ("undo", "--all"), ("redo",)):
            done = self.call([SEEN, *words, "--session", "test"])
            self.assertTrue(0 <= done.returncode < 125 and not deaths.died_by_fault(done.returncode), (about, words, done))
            self.assertEqual(deaths.torn_files(self.session.workspace), [], (about, words, done))

    def test_killed(self):
        kills = runs = 0
        while kills < KILLS or runs < len(WAYS):
            via = WAYS[runs % len(WAYS)]
            root = self.start(via)
            runs += 1
            self.assertLess(runs, 4 * KILLS + 20, "runs end before they can be killed")
            kills += self.kill_some(root, self.random.randrange(4, 20) if LONG else 3)
            self.finish(root)
            if runs % 4 == 0:
                self.check("seed %d, run %d, %s" % (SEED, runs, via))
                self.fill()
        self.check("the end")
        print("seed %d: %d kills in %d runs" % (SEED, kills, runs))

    # ---- garbage ----

    def write_garbage(self):
        """A few random bytes in a random file of the session, or a file cut short that no program maps."""
        files = [path for name in (".local", "run") for path in pathlib.Path(self.session.directory, name).rglob("*") if path.is_file()]
        path = self.random.choice(files) if files else None
        try:
            size = path.stat().st_size if path and path.stat().st_nlink == 1 else 0  # else it may be a file of the workspace
            at = self.random.randrange(min(size, 1 << self.random.randrange(8, 24))) if size else 0
            if size and path.name not in MAPPED and self.random.random() < 0.1:
                os.truncate(path, at)
            elif size:
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(self.random.choice((self.random.randbytes(self.random.randrange(1, 65)), bytes(8), b"\xff" * 8))[:size - at])
        except OSError:
            return 0
        return int(size > 0)

    def test_garbage(self):
        """A hostile process of the user writes into the session's files while all else runs."""
        written = 0
        for at in range(RUNS):
            root = self.start(WAYS[at % len(WAYS)])
            while root.poll() is None:
                time.sleep(self.random.random() * 0.004)
                written += self.write_garbage()
            self.finish(root)
            self.check("seed %d, run %d beside garbage" % (SEED, at))
            self.fill()
            for name in (".local", "run"):
                shutil.rmtree(os.path.join(self.session.directory, name), ignore_errors=True)
            os.mkdir(os.path.join(self.session.directory, "run"), 0o700)
        print("seed %d: %d writes of garbage in %d runs" % (SEED, written, RUNS))


if __name__ == "__main__":
    unittest.main()

"""A session whose files prove their content (deaths.py): a run of an agent on them, commands of seen beside it, and what must hold when all has ended."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import unittest

import deaths
from harness import NOTICE, SEEN, Session, wait_until

SEED = int(os.environ.get("SEEN_SEED") or 20261127)
READER = os.environ.get("SEEN_READER") or SEEN
SCRIPT = os.path.abspath(deaths.__file__)
WAYS = ("both", "supervise", "auto", "preload")
COMMANDS = 12  # of an agent
PATIENCE_S = 300  # a busy machine is no fault
HOOK_INPUT = b'{"session_id":"x","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"f0"},"cwd":"."}'


def descendants(pid):
    found = []
    try:
        for child in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split():
            found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


class SealedTest(unittest.TestCase):
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

    def start(self, via, commands=COMMANDS):
        return subprocess.Popen([SEEN, "run", "--quiet", "--via", via, "--session", "test", "--agent", "deaths.py", "--", sys.executable, SCRIPT,
                                 str(self.random.randrange(1 << 30)), str(commands), self.pool, NOTICE.decode(), self.report],
                                cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def call(self, words, **more):
        return subprocess.run(words, cwd=self.session.workspace, env=self.session.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
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

    def finish(self, root):
        """Waits until nothing of a run lives."""
        held = []  # a PID is another process's soon
        for pid in descendants(root.pid) if root.returncode is None else ():
            try:
                held.append(os.pidfd_open(pid))
            except ProcessLookupError:
                pass
        root.wait(PATIENCE_S)
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

"""undo while something of the session runs: what runs is known, and is waited for or refused."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BUILD, SEEN, wait_until
from undo_case import Undone

BEGINS_LATE = os.path.join(BUILD, "tests", "programs", "helpers", "begins_late")


class Running(Undone):
    def test_by_the_agent_itself_and_while_a_step_runs(self):
        agent = self.session.agent()
        agent.shell("rm -r src")
        seen = " ".join(("env", "HOME=" + self.session.directory, SEEN))
        output = agent.shell(seen + " undo --last 2>&1")
        self.assertIn(b"undone", output)
        self.assertTree(self.before)
        agent.shell("rm top; (sleep 60 & echo $! > pid) > /dev/null 2>&1 < /dev/null")
        with open(self.session.path("pid")) as file:
            pid = int(file.read())
        # the shell's copy goes on record as soon as it runs itself: on a busy machine, behind the shell's end
        wait_until(lambda: os.path.basename(os.readlink("/proc/%d/exe" % pid)) == "sleep")
        try:
            self.assertIn(b"still runs", self.undo("--last", "top", code=12).stderr)
            self.undo("--last", "--force", "top")
            self.assertIn(b"top", self.tree())
        finally:
            os.kill(pid, signal.SIGKILL)
        agent.close()

    def test_what_begins_at_this_moment_runs(self):
        """A copy that has not run yet is not on record; the shell that made it has ended."""
        agent = self.session.agent()
        agent.shell("echo x > top; exec %s 300 sleep 1 < /dev/null > /dev/null 2>&1" % BEGINS_LATE)
        refused = self.undo("--all", code=12)
        self.assertIn(b"step 1 still runs", refused.stderr)
        wait_until(lambda: not self.session.seen("undo", "--all", "--session", self.session.name, check=False).returncode)
        self.assertTree(self.before)
        agent.close()

    def test_a_program_that_is_long_in_being_loaded_runs(self):
        """When a program began the kernel does not tell: only when its process did."""
        agent = self.session.agent()
        static = BEGINS_LATE + "_static"  # not observed: what it starts is, once it is loaded
        agent.shell("echo x > top; exec %s 0 %s then 500 sleep 2 < /dev/null > /dev/null 2>&1" % (static, static))
        refused = self.undo("--all", code=12)
        self.assertIn(b" still runs: ", refused.stderr)
        agent.close()

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_what_begins_while_the_journal_is_read_runs(self):
        agent = self.session.agent()
        agent.shell("echo x > top")
        journal = os.path.join(os.path.dirname(self.records), "journal")
        undo = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-P", journal, "-e", "trace=close", "-e", "inject=close:delay_exit=2500000:when=1",
                                 SEEN, "undo", "--all", "--session", self.session.name], cwd=self.session.workspace, env=self.session.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.7)
        agent.shell("sleep 6 < /dev/null > /dev/null 2>&1 &")
        said = undo.communicate(timeout=60)
        self.assertEqual((undo.returncode, b"step 2 still runs" in said[1]), (12, True), said)
        agent.close()

    def test_programs_that_begin_all_the_time_are_waited_for_a_second(self):
        """None of them is ever on record."""
        agent = self.session.agent()
        agent.shell('printf %s "$SEEN_SESSION" > named')
        environment = {**os.environ, "SEEN_SESSION": self.read("named").decode(), "LD_PRELOAD": ""}
        others = subprocess.Popen(["sh", "-c", "while sleep 0.3 & do sleep 0.05; done"], env=environment)
        try:
            self.assertLess(min(self.seconds() for _ in range(3)), 2)
        finally:
            others.kill()
            others.wait()
            agent.close()

    def seconds(self):
        begin = time.monotonic()
        result = self.session.seen("undo", "--all", "--session", self.session.name, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return time.monotonic() - begin


if __name__ == "__main__":
    unittest.main()

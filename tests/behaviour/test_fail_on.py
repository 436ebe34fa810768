"""What `seen run` ends with: --fail-on, and by what each mechanism finds."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BUILD, SEEN, VIA, SessionTest, lines, wait_until

STALE, UNOBSERVED = 15, 16
BURST_S = 0.3  # longer than [notice] burst_ms


class Stale(SessionTest):
    options = ("--fail-on=stale",)

    def conflict(self):
        """The agent writes over a change that it has not seen."""
        self.session.write("f", lines("old"))
        self.agent.ask(do="read", path=self.session.path("f"))
        time.sleep(BURST_S)
        self.session.write("f", lines("theirs"))
        self.agent.shell("echo new > f")

    def test_warned(self):
        self.conflict()
        self.assertEqual(self.agent.close(), STALE)

    def test_denied(self):
        self.options = ("--fail-on", "stale", "--stale-write", "deny")
        self.conflict()
        self.assertEqual(self.agent.close(), STALE)

    def test_not_asked_for(self):
        self.options = ("--fail-on=unobserved",) if VIA != "supervise" else ()
        self.conflict()
        self.assertEqual(self.agent.close(), 0)

    def test_none(self):
        self.session.write("f", lines("old"))
        self.agent.shell("cat f; echo new > f")
        self.assertEqual(self.agent.close(), 0)

    def test_the_run_before_does_not_count(self):
        self.conflict()
        self.assertEqual(self.agent.close(), STALE)
        self.assertEqual(self.session.seen("run", "--session", "test", "--fail-on=stale", "--", "true").stderr, b"")


class Unobserved(SessionTest):
    def run_it(self, *words, fail_on="unobserved"):
        done = self.session.seen("run", "--session", "test", "--fail-on", fail_on, "--", *words, check=False)
        return done.returncode, done.stderr.decode()

    def test_nothing_is_missing(self):
        for status in (0, 3):
            self.assertEqual(self.run_it("bash", "-c", "ls / | cat > /dev/null; exit %d" % status), (status, ""))

    def test_killed(self):
        self.assertEqual(self.run_it("bash", "-c", "kill -TERM $$"), (-signal.SIGTERM, ""))

    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_static(self):
        code, line = self.run_it("bash", "-c", "busybox cat /dev/null; exit 7")
        if VIA != "preload":
            self.assertEqual((code, line), (7, ""))
            return
        self.assertEqual(code, UNOBSERVED)
        self.assertIn("the command's own was 7: 1 not observed: cat: static; see `seen status --session test`", line)
        # that was the run before
        self.assertEqual(self.run_it("true"), (0, ""))

    def test_rings(self):
        """io_uring(7): a ring that carries what libuv sends by one, epoll_ctl(2), hides nothing; one for files does."""
        maker = os.path.join(BUILD, "tests", "programs", "helpers", "ring_maker")
        if subprocess.run([maker, "nothing"]).returncode == 77:
            self.skipTest("no io_uring")
        self.session.write("f", b"x")
        for how, hides in (("nothing", False), ("epoll", False), ("open", True), ("polls", True)):
            code, line = self.run_it(maker, how)
            if VIA != "preload":  # the line reports that there is none
                self.assertEqual((code, line), (77, ""), how)
            elif hides:
                self.assertEqual(code, UNOBSERVED, how)
                self.assertIn("ring_maker: io_uring", line, how)
            else:
                self.assertEqual((code, line), (0, ""), how)

    def test_one_that_has_only_just_begun(self):
        for _ in range(10):
            self.assertEqual(self.run_it("bash", "-c", "sleep 0.4 & sleep 0.3 & exit 2"), (2, ""))

    @unittest.skipUnless(shutil.which("busybox") and VIA == "preload", "no busybox, or it is observed")
    def test_static_that_lives_on(self):
        code, line = self.run_it("bash", "-c", "busybox sleep 2 & while [ $(cat /proc/$!/comm) = bash ]; do sleep 0.02; done; exit 2")
        self.assertEqual(code, UNOBSERVED)
        self.assertIn("1 not observed: sleep: static", line)

    def test_lost_records(self):
        env = {**self.session.environment, "SEEN_JOURNAL_MAX_BYTES": "1048576"}
        done = subprocess.run([SEEN, "run", "--via", VIA, "--session", "test", "--fail-on=unobserved", "--", "bash", "-c",
                               "for ((i = 0; i < 30000; i++)); do : < /dev/null; done"], cwd=self.session.workspace,
                              env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.assertEqual(done.returncode, UNOBSERVED, done.stderr)
        self.assertIn(b" records lost", done.stderr)

    @unittest.skipIf(VIA == "preload", "there is no supervisor")
    def test_supervisor_dies(self):
        directory = self.session.directory
        process = subprocess.Popen([SEEN, "run", "--via", VIA, "--session", "test", "--fail-on=unobserved", "--", "bash", "-c",
                                    "echo > %s/up; until [ -e %s/go ]; do sleep 0.05; done; exit 5" % (directory, directory)],
                                   cwd=self.session.workspace, env=self.session.environment, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        wait_until(lambda: os.path.exists(directory + "/up"), 60)
        for pid, name in self.session.helpers():
            if name == "seen-supervisor":
                os.kill(pid, signal.SIGKILL)
        self.assertIn(b"has died", process.stderr.readline())
        with open(directory + "/go", "w"):
            pass
        lines = process.stderr.read()  # a program that starts just then may say that it opens nothing any more
        self.assertEqual(process.wait(60), UNOBSERVED)
        # what it was about to see at that moment may be among it, too
        self.assertRegex(lines, b"the command's own was 5: .*observed in part: ")


if __name__ == "__main__":
    unittest.main()

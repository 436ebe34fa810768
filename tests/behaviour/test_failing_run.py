"""`seen run` with one call of libc failing in it: the command ends as bare, or is refused with a line.  The next run does both, too, and nothing of it stays.

Of the places in the program that call a sample is tried (SEEN_SEED); in the long form each.  What is forked fails at the same number of calls, so the supervisor is among them.
"""
import signal
import subprocess
import sys
import unittest

from failing_case import FailingCase, can_fail
from failing_functions import FUNCTIONS, MEMORY, run_failing, sites_of
from harness import LONG, SEEN, lines, needs_library, short_form_by

# A failed answer to the kernel has errors of its own (faults.calls); what cannot be written is for other tests.
COUNTED = tuple(name for name in FUNCTIONS if name not in ("ioctl", "fflush"))
PLACES = 12  # of each kind and mechanism
REFUSED = (2, 4, 6, 8, 125, 126, 127)
STATUS = 5
AGENT = """
import subprocess, sys
for command in ("cat a", "cat a", "sed -i s/1/one/ a; echo x >> n", "grep -n line a", "mkdir -p m; mv n m/n; rm -f b"):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.returncode, len(done.stdout) > 0)
sys.exit(%d)
""" % STATUS


@can_fail
@needs_library("each test chooses its mechanism")
@short_form_by("preload")
class Runs(FailingCase):
    def setUp(self):
        super().setUp()
        self.agent = self.session.directory + "/agent.py"
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT)
        self.bare = subprocess.run([sys.executable, self.agent], cwd=self.session.workspace, stdout=subprocess.PIPE, check=False).stdout
        self.worked = self.tree()

    def again(self):
        """The workspace as before."""
        subprocess.run(["rm", "-rf", "m", "n"], cwd=self.session.workspace, check=True)
        for name in ("a", "b"):
            self.session.write(name, lines(name))

    def words_by(self, via):
        return [SEEN, "run", "--quiet", "--via", via, "--session", "t", "--agent", "agent.py", "--", sys.executable, self.agent]

    def fault(self, done):
        as_bare = (done.returncode, done.stdout) == (STATUS, self.bare) and self.tree() == self.worked
        is_refused = done.returncode in REFUSED and done.stderr and not done.stdout and self.tree() == self.before
        return None if as_bare or is_refused else done

    def check_run(self, via):
        words, wrong = self.words_by(via), []
        for functions in (MEMORY, COUNTED):
            self.again()
            _, places = self.places(words, functions)
            for site, error in places if LONG else self.random.sample(places, PLACES):
                self.again()
                fault = self.fault(run_failing(words, functions, site.number, error, **self.more))
                if fault:
                    wrong.append((site, error, fault))
        self.assertEqual(wrong, [])
        self.again()
        self.assertIsNone(self.fault(subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **self.more)))
        for command in ("report", "verify"):
            self.session.seen(command, "--session", "t")

    def test_by_preload(self):
        self.check_run("preload")

    def test_by_both(self):
        self.check_run("both")

    def test_each_copy_of_a_descriptor(self):
        """A guardian that could not take its place stayed for ever."""
        words = self.words_by("both")
        for number in range(1, len(sites_of(words, ("dup2",), self.session.directory + "/sites", **self.more)[1]) + 4):
            self.again()
            self.assertIsNone(self.fault(run_failing(words, ("dup2",), number, 24, **self.more)))

    def test_who_ignores_the_ends_of_children(self):
        """The kernel then tells no process how a child ended: there was no supervisor."""
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        said = []
        for before in (None, ignore):
            self.again()
            done = subprocess.run(self.words_by("both"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, preexec_fn=before, **self.more)
            self.assertIsNone(self.fault(done))
            said.append(done.stderr)
        self.assertEqual(said[0], said[1])


if __name__ == "__main__":
    unittest.main()

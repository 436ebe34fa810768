"""Programs that gain privileges, and programs below the filters of firejail and Docker, start as without seen."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import bare
from driver import SEEN
from harness import BUILD, LONG

NOBODY = 65534
MECHANISMS = ("preload", "auto") if LONG else ("auto",)
BELOW_DOCKER = os.path.join(BUILD, "tests", "programs", "helpers", "below_docker")
BUSYBOX = shutil.which("busybox")

# An agent's shell: what sudo does, before and behind a program that becomes supervised and in its own subtree.
AGENT = r"""
import subprocess, sys
own, static = sys.argv[1:]
def show(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(words[-1], done.returncode, done.stdout, flush=True)
for script in (own + " -u", "cat f; busybox grep line f; " + own + " -u", "sudo -n id -u", "busybox cat f; sudo -n true", "env -i " + own + " -u",
               "timeout 9 sudo -n id -u", static + " show"):
    show("bash", "-c", script)
show(own, "-u")
"""


def can_run(*words):
    return bool(shutil.which(words[0])) and subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                           check=False).returncode == 0


class Confined(bare.Case):
    def supervised(self, user=None):
        """How many programs the runs have supervised."""
        done = subprocess.run([SEEN, "status", "--json", "--session", "test"], env=self.environment(), stdout=subprocess.PIPE, check=True, user=user)
        return json.loads(done.stdout)["processes"]["supervised"]

    def environment(self):
        return {**super().environment(), "XDG_RUNTIME_DIR": str(self.top / "home")}

    def copy_with_privileges(self, program, name):
        path = self.top / name
        shutil.copy(program, path)
        os.chown(path, 0, 0)
        os.chmod(path, 0o4755)
        return str(path)

    @unittest.skipUnless(os.geteuid() == 0, "for root only: a setuid program is made")
    def test_privileges(self):
        """sudo, and setuid programs by every way to start one, below an agent of an ordinary user."""
        own = self.copy_with_privileges(shutil.which("id"), "own-id")
        if subprocess.run([own, "-u"], user=NOBODY, group=NOBODY, stdout=subprocess.PIPE, check=True).stdout != b"0\n":
            self.skipTest("setuid programs have no effect here")
        static = self.copy_with_privileges(self.static, "own-static")
        files = {"by_agent.py": AGENT, "f": "a line\n"}
        python = next(path for path in ("/usr/bin/python3", shutil.which("python3")) if path and os.path.exists(path))
        for user, privileges in ((NOBODY, "keep"), (NOBODY, "drop"), (None, "keep")):
            with self.subTest(user=user, privileges=privileges):
                options = ("--session", "test", "--agent", "by_agent*", "--privileges", privileges)
                output = self.compare(python, "by_agent.py", own, static, user=user, files=files, mechanisms=MECHANISMS, options=options)
                self.assertIn("own-id -u 0 b'0", output)
                self.assertIn("secure %d" % (user is not None), output)
                if BUSYBOX:
                    self.assertEqual(self.supervised(user), 2)
                if privileges == "drop":
                    self.compare(self.plain, "ways", static, own, user=user, mechanisms=("auto",), options=options)
                shutil.rmtree(self.top / "home", ignore_errors=True)

    def test_landlock(self):
        """A static viewer that becomes supervised in a sandbox is not given what the sandbox hides: the supervisor is in none."""
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run([sys.executable, os.path.join(here, "../support/run-unittest"), os.path.join(here, "test_environments.py"),
                               "Confined.test_landlock_hides_a_file"], env={**os.environ, "SEEN_TEST_VIA": "auto"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 77:
            self.skipTest("no Landlock here")
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace"))

    def below(self, above):
        """Programs below a filter that was there before the run, and below one that came later; supervised in the first case."""
        shutil.rmtree(self.top / "home", ignore_errors=True)
        options = ("--session", "test", "--privileges", "drop")
        words = (self.plain, "ways", self.static, self.plain)
        self.compare(*words, above=above, options=options, mechanisms=("auto",))
        self.assertGreater(self.supervised(), 20)
        self.compare(*above, *words, options=options, mechanisms=("auto",))
        self.compare(*above, self.static, "show", options=options, mechanisms=("auto", "both") if LONG else ("auto",))

    def test_docker(self):
        self.below((BELOW_DOCKER,))

    @unittest.skipUnless(can_run("firejail", "--quiet", "--noprofile", "--seccomp", "true"), "no firejail, or it may not be used here")
    def test_firejail(self):
        self.below(("firejail", "--quiet", "--noprofile", "--seccomp", "--"))


if __name__ == "__main__":
    unittest.main()

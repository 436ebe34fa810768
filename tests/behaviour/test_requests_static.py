"""Static readers, such as the rg that some agents bring: the supervisor observes them, and they are run each time."""

import glob
import os
import shutil
import tempfile
import unittest

import npm_packages
from harness import BUILD, RUN, lines  # RUN: by each mechanism
from test_requests import RequestsTest


def static_rg():
    """The rg that codex brings, which no library gets into; None: tests/agents/run has installed no codex."""
    for cache in (npm_packages.CACHE, npm_packages.USERS_CACHE):
        for path in glob.glob(os.path.join(glob.escape(str(cache)), "codex/node_modules/@openai/codex-*/vendor/*/codex-path/rg")):
            if os.access(path, os.X_OK):
                return path
    return None


class StaticTest(RequestsTest):
    def copy(self, program, name):
        """A copy of the program under a reader's name, outside of the workspace."""
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        return shutil.copy(program, os.path.join(directory, name))


class Fold(StaticTest):
    def test_run(self):
        command = self.copy(os.path.join(BUILD, "tests/programs/helpers/reads_by_static"), "fold") + " open f"
        self.assertNotRemembered(command)
        self.assertRun(command)
        self.session.write("f", lines("other"))
        self.assertRun(command)


class Rg(StaticTest):
    """Which directories it lists and what it asks by stat(2) is not known."""

    def setUp(self):
        super().setUp()
        rg = static_rg()
        if not rg:
            self.skipTest(f"no static rg: codex is not installed in {npm_packages.USERS_CACHE}")
        self.rg = self.copy(rg, "rg")

    def test_run(self):
        for words in ("--sort path -n pat src", "-j1 pat src", "-n line f", "-n 'pat7 .*' src", "--files --sort path"):
            with self.subTest(words=words):
                self.assertNotRemembered("%s %s" % (self.rg, words))
                self.assertRun("%s %s" % (self.rg, words))
                self.session.write("src/.ignore", b"*\n")
                self.assertRun("%s %s; true" % (self.rg, words))
                os.remove(self.session.path("src/.ignore"))
                self.assertRun("%s %s" % (self.rg, words))

    def test_by_its_name(self):
        """As agents start it: by a PATH of their own."""
        for _ in range(3):
            self.assertRun("PATH=%s:$PATH; rg --sort path -n pat src" % os.path.dirname(self.rg))


if __name__ == "__main__":
    unittest.main()

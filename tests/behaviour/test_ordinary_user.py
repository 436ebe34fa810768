"""What holds for root holds for an ordinary user: some tests of guard, reports and kept versions, run once more as one; all of those files in the long form."""

import os
import subprocess
import sys
import tempfile
import unittest

NOBODY = 65534
LONG = bool(os.environ.get("SEEN_LONG"))
HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "../support")
BUILD = os.environ["SEEN_BUILD"]

# Of each file what the short form runs.
TESTS = {
    "unreported": ("NextOutput.test_once",),
    "guard": ("Warn.test_own", "Deny.test_own"),
    "report": ("Changes.test_files_and_commands",),
    "changed": ("Removed.test_everybody_says_removed",),
    "versions": (),
    "versions_store": (),
    "sandbox_helpers": ("Helpers.test_in_shell_hides_auto", "Helpers.test_by_variable_auto"),
    "exec_supervised": ("OrdinaryUser.test_privileges",),
    "exec_killed": ("Killed.test_viewer",),
    "exec_confined": (),
    "undo_kept": ("Unreadable",),
    "undo_harm": ("Failures.test_read_only_directories",),
    "damaged": (),
    "fail_on": (),
    "limits": (),
    "terminal": (),
}
SHORT = ("unreported", "guard", "report", "changed", "sandbox_helpers", "exec_supervised", "exec_killed", "undo_kept", "undo_harm")
BY_SUPERVISE = ("unreported", "guard", "fail_on", "limits", "terminal")  # too


@unittest.skipIf(os.geteuid() != 0, "an ordinary user runs the tests themselves")
class OrdinaryUser(unittest.TestCase):
    def run_as_nobody(self, words, **environment):
        with tempfile.TemporaryDirectory(prefix="seen-user.") as directory:
            os.chown(directory, NOBODY, NOBODY)
            kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
            return subprocess.run(words, cwd=directory, env={**kept, "HOME": directory, "TMPDIR": directory, **environment}, user=NOBODY, group=NOBODY,
                                  extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def may_read(self, path):
        return self.run_as_nobody(["test", "-r", path]).returncode == 0

    def setUp(self):
        # A Python in root's home is root's alone.
        self.python = next((path for path in (sys.executable, "/usr/bin/python3") if self.may_read(path)), None)
        if not self.python or not all(map(self.may_read, (os.path.join(BUILD, "bin", "seen"), __file__))):
            self.skipTest("an ordinary user may not read the build, or Python")

    def test_as_one(self):
        for name in TESTS if LONG else SHORT:
            tests = () if LONG else TESTS[name]
            for via in ("preload", "supervise") if name in BY_SUPERVISE else ("preload",):
                with self.subTest(name, via=via):
                    done = self.run_as_nobody([self.python, os.path.join(SUPPORT, "run-unittest"), os.path.join(HERE, "test_%s.py" % name), *tests],
                                              SEEN_TEST_VIA=via)
                    self.assertIn(done.returncode, (0, 77), done.stdout.decode(errors="replace"))

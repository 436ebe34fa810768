"""Programs of other projects do the same bare and under seen: every suite (see suites)."""

import os
import subprocess
import unittest

SUITES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suites")


class Suites(unittest.TestCase):
    def test_all(self):
        done = subprocess.run([SUITES], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print("\n" + done.stdout, end="")
        self.assertEqual(done.returncode, 0, "there are differences: see above")

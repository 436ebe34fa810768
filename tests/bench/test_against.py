"""against: what it reports of a build that is the same, of one that does more, and of what is none."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

AGAINST = os.path.join(os.environ["SEEN_SOURCE"], "tests/bench/against")
BUILD = os.path.realpath(os.environ["SEEN_BUILD"])


def setUpModule():
    for tool in ("valgrind", "strace", "setarch", "git"):
        if not shutil.which(tool):
            raise unittest.SkipTest("%s is not installed" % tool)
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        if re.search(r"^SEEN_SANITIZE:\w+=.", cache.read(), re.M):
            raise unittest.SkipTest("valgrind runs no program with a sanitizer")


def against(*words):
    done = subprocess.run([sys.executable, AGAINST, *words], env={**os.environ, "SEEN_BUILD": BUILD}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


class Against(unittest.TestCase):
    def test_same(self):
        self.assertEqual(against(BUILD, BUILD, "--only", "^seen --version$")[:2], (0, "1 paths, 0 changed\n"))

    def test_more(self):
        """What one makes more by system calls is a row of the table."""
        with tempfile.TemporaryDirectory() as top:
            os.mkdir(os.path.join(top, "bin"))
            with open(os.path.join(top, "bin/seen"), "w", encoding="ascii") as file:
                file.write('#!/bin/sh\n[ "$1" != --version ] || cat /dev/null\nexec %s/bin/seen "$@"\n' % BUILD)
            os.chmod(file.name, 0o755)
            status, text, _ = against(BUILD, top, "--only", "^seen --version$", "--fail-above", "5")
        self.assertEqual(status, 3)
        self.assertRegex(text, r"\| path +\| instructions +\| system calls +\| faults +\|\n\|[-|]+\|\n\| seen --version +\|.* -> .*\(\+.* %\).*\n\n1 paths, 1 changed\n")

    def test_none(self):
        status, _, text = against("/nonexistent", BUILD, "--only", "^seen --version$")
        self.assertEqual((status, text), (1, "against: /nonexistent: there is no bin/seen\n"))
        self.assertEqual(against(BUILD, BUILD, "--only", "no such path")[0], 2)


if __name__ == "__main__":
    unittest.main()

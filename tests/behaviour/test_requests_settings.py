"""Requests by settings, modes and mechanisms: the rest of test_requests.py."""

import os
import shutil
import tempfile
import unittest

from harness import BUILD, SEEN, lines, needs_library
from test_requests import RequestsTest


HELPER = os.path.join(BUILD, "tests/programs/helpers/reader_of_a_kind")


@needs_library("what a reader reads is inspected inside it")
class Kinds(RequestsTest):
    """A program of a reader's name that does one thing more: each of them is seen."""

    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        shutil.copy(HELPER, os.path.join(self.directory, "fold"))

    def test_plain(self):
        self.remember("%s/fold plain f" % self.directory)
        self.assertAnswered("%s/fold plain f" % self.directory)

    def test_changed_while_it_runs(self):
        """What was changed after it was opened was perhaps not what was printed."""
        before = self.counters()["requests_remembered"]
        self.assertRun("%s/fold late f" % self.directory)
        self.assertEqual(self.counters()["requests_remembered"], before + 1)
        output = self.shell("(sleep 0.2; echo more >> g) > /dev/null & exec %s/fold late g" % self.directory)
        self.assertEqual(output, lines("g"))
        self.assertEqual(self.counters()["requests_remembered"], before + 1)

    def test_unusual(self):
        for how in ("error", "perror", "fprintf", "fputs", "putc", "warn", "psignal", "buffered", "closed", "write", "writev", "syscall", "copy",
                    "stream", "getc", "read", "read_copy", "fork", "system", "thread", "makes", "chdir", "renames", "fails", "unflushed", "_exit"):
            with self.subTest(how=how):
                self.assertNotRemembered("%s/fold %s f < g" % (self.directory, how))


@needs_library("what a reader reads is inspected inside it")
class Windows(RequestsTest):
    options = ("-c", "window.requests=5")

    def test_requests(self):
        self.remember("grep -rn pat src")
        for number in range(4):
            self.shell("head -n %d f" % (number + 1))
        self.assertAnswered("grep -rn pat src")
        self.session.seen("forget", "--all", "--session", "test")
        self.remember("grep -rn pat src")
        for number in range(5):
            self.shell("head -n %d f" % (number + 1))
        self.run_once("grep -rn pat src")


@needs_library("what a reader reads is inspected inside it")
class Off(RequestsTest):
    options = ("-c", "requests.enable=no")

    def test_off(self):
        self.run_once("grep -rn pat src")
        self.run_once("grep -rn pat src")
        self.assertEqual(self.counters()["requests_remembered"], 0)


@needs_library("what a reader reads is inspected inside it")
class Observe(RequestsTest):
    options = ("--mode", "observe")

    def test_observe(self):
        for _ in range(3):
            self.run_once("grep -rn pat src")
        counters = self.counters()
        self.assertEqual((counters["requests_repeated"], counters["requests_answered"], counters["bytes_saved"]), (2, 0, 0))


@needs_library("what a reader reads is inspected inside it")
class NoStore(RequestsTest):
    options = ("-c", "content.max_bytes=0")

    def test_no_content_store(self):
        self.run_once("grep -rn pat src")
        self.run_once("grep -rn pat src")
        self.assertEqual(self.counters()["requests_remembered"], 0)


@needs_library("what a reader reads is inspected inside it")
class Never(RequestsTest):
    options = ("-c", "requests.never=sed** grep?-rn*")

    def test_never(self):
        self.assertNotRemembered("sed -n 1,60p f")
        self.assertNotRemembered("sed -n 1,60p src/../f")
        self.assertNotRemembered("grep -rn pat src")
        self.remember("grep -nr pat src")

    def test_shipped(self):
        for command in ("find src -mmin -1000", "find src -mtime -2", "find src -newermt 2000-01-01", "find src -atime -3", "find src -printf '%p %a\\n'",
                        "sort -R f", "du -a --time=atime src"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)


@needs_library("what a reader reads is inspected inside it")
class Failing(RequestsTest):
    """The program that would answer is not there: the reader runs, and nothing of an answer stands."""

    def test_no_program(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            os.makedirs(os.path.join(directory, "lib/seen"))
            os.makedirs(os.path.join(directory, "bin"))
            for name in ("lib/seen/libseen.so", "bin/seen"):
                shutil.copy(os.path.join(os.path.dirname(os.path.dirname(SEEN)), name), os.path.join(directory, name))
            import harness
            run = harness.RUN[:]
            harness.RUN[0] = os.path.join(directory, "bin/seen")
            try:
                self._agent = self.session.agent()
            finally:
                harness.RUN[:] = run
            self.addCleanup(self._agent.close)
            self.remember("grep -rn pat src")
            os.rename(os.path.join(directory, "bin/seen"), os.path.join(directory, "bin/gone"))
            before = self.counters()
            self.assertRun("grep -rn pat src")
            with open(os.path.join(directory, "bin/seen"), "wb") as file:
                file.write(b"\x7fELF no program")
            os.chmod(os.path.join(directory, "bin/seen"), 0o755)
            self.assertRun("grep -rn pat src")
            self.assertEqual(self.counters()["requests_answered"], before["requests_answered"])
            self.assertEqual(self.counters()["bytes_saved"], before["bytes_saved"])
            os.rename(os.path.join(directory, "bin/gone"), os.path.join(directory, "bin/seen"))
            self.assertAnswered("grep -rn pat src")


class BelowTheSupervisorAlone(RequestsTest):
    def test_not_answered(self):
        if os.environ.get("SEEN_TEST_VIA") != "supervise":
            self.skipTest("of supervise alone")
        for _ in range(3):
            self.run_once("grep -rn pat src")


if __name__ == "__main__":
    unittest.main()

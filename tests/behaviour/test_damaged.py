"""A session's files that are damaged or cut short: the program says so, and no command of a run ends with it."""
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest

from driver import DEADLINE, SEEN, Case, Terminal

INCOMPLETE, BAD_SESSION = 16, 4
UNIT_BYTES, NEXT_AT = 64, 128  # of a journal; where its head has its end (struct journal_header)


class Base(Case):
    def setUp(self):
        super().setUp()
        self.file("f")
        self.segment = self.session_directory() / "segment"
        self.journal = self.session_directory() / "journal"


class Damaged(Base):
    def test_a_segment_that_has_lost_its_paths(self):
        self.agent("cat f", "echo more >> f")
        data = self.segment.read_bytes()
        at = data.index(os.fsencode(self.journal) + b"\0")
        with open(self.segment, "r+b") as file:
            file.seek(at)
            file.write(b"x")
        for words in (("changed",), ("changed", "--json"), ("mention", "f"), ("context", "f"), ("forget", "f"), ("status",), ("versions",),
                      ("restore", "f", "1234"), ("log",), ("report",), ("verify",), ("files",)):
            done = self.seen(words[0], "--session", "s", *words[1:])
            self.assertGreaterEqual(done.returncode, 0, (words, done.stderr))
        done = self.seen("run", "--session", "s", "--", "echo", "ran", code=0)
        self.assertEqual((done.stdout, done.stderr),
                         (b"ran\n", b"seen: no journal: this session has none; what is accessed is not recorded\n"))

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_a_journal_whose_end_is_far_behind_its_records(self):
        """Nothing but undone records, thousands of them: each is read a few times, not as often as there are others."""
        self.agent("cat f")
        with open(self.journal, "r+b") as file:
            allocated = os.fstat(file.fileno()).st_size // UNIT_BYTES + 3000
            file.truncate(allocated * UNIT_BYTES)
            file.seek(NEXT_AT)
            file.write(struct.pack("<Q56xQ", allocated, allocated))
        calls = self.top / "calls"
        done = subprocess.run(["strace", "-f", "-o", calls, "-e", "trace=pread64", SEEN, "export", "--session", "s", "--format", "jsonl"], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
        self.assertTrue(0 <= done.returncode < 125, done)
        self.assertGreater(len(calls.read_text().splitlines()), 3000)
        self.assertLess(len(calls.read_text().splitlines()), 20 * allocated)

    def test_the_journal_is_cut_while_it_is_followed(self):
        self.agent("cat f")
        process = subprocess.Popen([SEEN, "log", "--session", "s", "-f"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdout.readline()
        time.sleep(0.2)
        os.truncate(self.journal, 0)
        _, errors = process.communicate(timeout=DEADLINE)
        self.assertEqual((process.returncode, errors.count(b"\n")), (BAD_SESSION, 1), errors)
        self.assertIn(b"a file of the session was cut short", errors)


    def test_the_journal_is_cut_below_top(self):
        self.agent("cat f")
        terminal = Terminal([SEEN, "top", "--session", "s"], self.work, {**self.env, "LINES": "24", "COLUMNS": "80"})
        terminal.read(b"LAST EVENTS")
        before = len(terminal.output)
        os.truncate(self.journal, 0)
        self.assertEqual(terminal.wait(), BAD_SESSION)
        self.assertRegex(terminal.output[before:], rb"\x1b\[\?1049l.*seen: a file of the session was cut short")


class WhileItRuns(Base):
    SLEEPS = "echo $$ > pid; exec sleep 100"

    @staticmethod
    def sleeps(pid):
        """(clock_)nanosleep(2), by the numbers of either architecture."""
        return (pathlib.Path(f"/proc/{pid}/comm").read_text(), pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]) in [
            ("sleep\n", number) for number in ("35", "230", "101", "115")]

    def run_it(self, damage, *options, script=SLEEPS):
        """A run whose files are damaged before its command is killed.  The library must not be in that, or dies itself."""
        process = subprocess.Popen([SEEN, "run", "--counts", "--session", "s", "--fail-on=rule,unobserved", *options, "--", "sh", "-c", script],
                                   cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        end = time.monotonic() + DEADLINE
        while not (self.work / "pid").exists() or not (self.work / "pid").read_text().endswith("\n"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        pid = int((self.work / "pid").read_text())
        (self.work / "pid").unlink()
        if script == self.SLEEPS:
            self.wait_until(lambda: self.sleeps(pid))
        damage()
        time.sleep(0.25)  # a turn of its loop, which is as long as 200 ms
        self.assertIsNone(process.poll(), "it goes on")
        return process, pid

    def ends(self, process, code):
        _, errors = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, code, errors)
        self.assertNotRegex(errors, rb"\d,\d{3},\d{3},\d{3}", "no counter of a session that is so short")
        return errors

    def overwrite(self, at, data):
        with open(self.journal, "r+b") as file:
            file.seek(at)
            file.write(data)

    def test_the_journal(self):
        size = []

        def zeroes():
            size.append(self.journal.stat().st_size)
            self.overwrite(0, bytes(size[0]))

        for damage in (lambda: os.truncate(self.journal, 0), lambda: os.truncate(self.journal, 8192), zeroes,
                       lambda: self.overwrite(0, b"\xff" * 8192)):
            self.journal.unlink(missing_ok=True)
            self.segment.unlink(missing_ok=True)
            process, pid = self.run_it(damage)
            os.kill(pid, signal.SIGKILL)
            errors = self.ends(process, INCOMPLETE)
            self.assertIn(b"the journal %s: it is damaged" % os.fsencode(self.journal), errors)
            self.assertIn(b"the command's own was 137", errors)

    def test_the_segment(self):
        process, pid = self.run_it(lambda: os.truncate(self.segment, 0))
        os.kill(pid, signal.SIGKILL)
        self.assertIn(b"(session): a file of it was cut short in this run", self.ends(process, INCOMPLETE))

    def test_the_segment_below_a_supervisor(self):
        """Damage to what every run needs: the command goes on."""
        process, _ = self.run_it(lambda: os.truncate(self.segment, 0), "--via", "supervise",
                                 script="echo $$ > pid; until [ -e go ]; do sleep 0.05; done; cat f > copy; exit 5")
        (self.work / "go").touch()
        self.assertIn(b"the command's own was 5", self.ends(process, INCOMPLETE))
        self.assertEqual((self.work / "copy").read_bytes(), (self.work / "f").read_bytes())


if __name__ == "__main__":
    unittest.main()

"""log --follow, and the log of real sessions: the rest of test_log.py."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
import unittest

from driver import DEADLINE, SEEN
from test_log import HOSTILE, Journal, LogCase, bytes_of


class Following(LogCase):
    def follow(self, *words):
        process = subprocess.Popen([SEEN, "log", "--journal", self.path, "--json", "-f", *words], cwd=self.work, env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.pending = b""
        return process

    def line(self, process, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = end - time.monotonic()
            self.assertTrue(left > 0 and select.select([process.stdout], [], [], left)[0], "no line")
            got = os.read(process.stdout.fileno(), 65536)
            self.assertTrue(got, "it ended")
            self.pending += got
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def test_what_comes_later(self):
        journal = Journal(self.path)
        number = journal.start()
        process = self.follow()
        self.assertEqual(self.line(process)["op"], "start")
        journal.record("delete", process=number, path=b"later")
        self.assertEqual(self.line(process)["resolved"], "/w/later")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_growth(self):
        journal = Journal(self.path)
        number = journal.start()
        process = self.follow("--op", "delete")
        for i in range(3):
            journal.grow(1)
            journal.next = journal.allocated - 10
            journal.publish()
            journal.record("delete", process=number, path=b"name %d" % i)
            # The gap before it is what a writer leaves that died; it is waited for once, not for each of its units.
            self.assertEqual(self.line(process)["path"], "name %d" % i)

    def test_an_unfinished_record_is_passed_over(self):
        journal = Journal(self.path)
        journal.start()
        process = self.follow()
        self.line(process)
        journal.undone()
        journal.record("delete", path=b"behind")
        self.assertEqual(self.line(process)["path"], "behind")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertIn(b"1 records were not finished", process.stderr.read())

    def test_tail(self):
        journal = Journal(self.path)
        for i in range(5):
            journal.record("delete", path=b"%d" % i)
        process = self.follow("--tail", "2")
        self.assertEqual([self.line(process)["path"] for _ in range(2)], ["3", "4"])
        journal.record("delete", path=b"5")
        self.assertEqual(self.line(process)["path"], "5")


class Sessions(LogCase):
    """With what the shim writes."""

    def run_in(self, command, *options, session="s", **more):
        return self.seen("run", "--session", session, *options, "--", "sh", "-c", command, code=0, **more)

    def session_lines(self, *words, **more):
        return [json.loads(line) for line in self.seen("log", "--json", *words, code=0, **more).stdout.splitlines()]

    def test_a_run(self):
        self.file("a", b"content\n")
        self.run_in("cat a > b; mv b c; rm c; cat nosuch; true")
        lines = self.session_lines()
        self.validate(lines)
        done = {(line["op"], line.get("resolved"), line["error"]) for line in lines}
        for op, name, error in (("open", "a", None), ("read", "a", None), ("open", "b", None), ("rename", "b", None), ("delete", "c", None), ("open", "nosuch", "ENOENT")):
            self.assertIn((op, str(self.work / name), error), done)
        rename = next(line for line in lines if line["op"] == "rename")
        self.assertEqual(rename["new_resolved"], str(self.work / "c"))
        starts = {line["executable"]: line for line in lines if line["op"] == "start"}
        moved = next(line for name, line in starts.items() if name.endswith("/mv"))
        self.assertEqual(moved["arguments"], ["mv", "b", "c"])
        self.assertEqual(rename["process"], moved["number"])
        execs = {line["number"]: line for line in lines if line["op"] == "exec"}
        self.assertEqual(execs[moved["exec"]]["serial"], moved["serial"])
        self.assertEqual([line["op"] for line in self.session_lines("--session", "s", "--failed")], ["open"])

    def test_hostile_names(self):
        names = [name for name in HOSTILE if len(name) < 256]
        for name in names:
            self.file(name, b"x")
        self.run_in("cat -- * > /dev/null")
        lines = self.session_lines("--op", "open", "--exe", "cat")
        self.assertEqual({bytes_of(line["path"]) for line in lines} & set(names), set(names))
        self.assert_plain(self.seen("log", code=0).stdout)

    def test_directories(self):
        (self.work / "sub").mkdir()
        self.run_in("cd sub && : > x && (cd .. && : > y) && : > z")
        paths = {line["resolved"] for line in self.session_lines("--op", "open")}
        for name in ("sub/x", "y", "sub/z"):
            self.assertIn(str(self.work / name), paths)

    def test_no_journal(self):
        self.run_in("true", "-c", "journal.level=off")
        done = self.seen("log", code=1)
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.assertIn(b"no journal", done.stderr)

    def test_which_session(self):
        self.seen("log", code=3)
        self.seen("log", "--session", "nosuch", code=3)
        self.seen("log", "--session", "../x", code=2)
        self.run_in("true")
        self.seen("log", code=0)
        self.seen("log", code=0, env={"SEEN_SESSION": "s"})
        self.seen("log", code=3, env={"SEEN_SESSION": "nosuch"})

    def test_a_session_of_an_earlier_boot(self):
        run = self.top / "run"
        run.mkdir(mode=0o700)
        env = {"XDG_RUNTIME_DIR": str(run)}
        self.run_in("true", env=env)
        self.session_directory().chmod(0o720)
        self.assertIn(b"others may write to it", self.seen("log", "--session", "s", code=4, env=env).stderr)
        self.session_directory().chmod(0o700)
        shutil.rmtree(run / "seen")
        self.assertIn("start", [line["op"] for line in self.session_lines("--session", "s", env=env)])
        self.seen("status", "--session", "s", code=3, env=env)

    def test_a_journal_that_others_may_write_to(self):
        self.run_in("true")
        journal = self.session_directory() / "journal"
        for segment in (True, False):
            if not segment:
                os.unlink(self.session_directory() / "segment")
            journal.chmod(0o660)
            self.assertIn(b"others may write to it", self.seen("log", "--session", "s", code=4).stderr)
            self.seen("log", "--journal", str(journal), code=0)
            journal.chmod(0o600)
            self.seen("log", "--session", "s", code=0)

    def test_descriptors_of_directories(self):
        """What the library tells is what is resolved: a tree removed through duplicated descriptors."""
        (self.work / "top/a/b").mkdir(parents=True)
        self.file("top/a/b/x", b"")
        self.run_in("rm -r top; mkdir t; touch o; mv o t")
        lines = self.session_lines("--op", "delete")
        self.assertEqual({line["resolved"] for line in lines},
                         {str(self.work / name) for name in ("top", "top/a", "top/a/b", "top/a/b/x")})
        self.assertIn(str(self.work / "t/o"), {line["new_resolved"] for line in self.session_lines("--op", "rename")})

    def test_guarded_writes(self):
        """A file is given, another program changes it, and a command overwrites it: warned of, refused."""
        for choice, command, verdict, left in (("warn", "echo mine > f", "warned", b"mine\n"), ("deny", "echo mine > f || :", "denied", b"theirs\n")):
            with self.subTest(choice):
                options = ("--stale-write", choice, "--counts", "--agent-is", "outside")
                path = self.work / "f"
                path.write_bytes(b"content\n")
                self.run_in("cat f", *options, session=choice)
                path.write_bytes(b"theirs\n")
                done = self.run_in(command, *options, session=choice)
                self.assertEqual(path.read_bytes(), left)
                lines = self.session_lines("--session", choice)
                self.validate(lines)
                guarded, = [line for line in lines if line["op"] == "guarded"]
                self.assertEqual((guarded["verdict"], guarded["reason"], guarded["resolved"]), (verdict, "stale", str(path)))
                self.assertEqual((guarded["kept"], guarded["error"]), (True, None) if choice == "warn" else (False, "ESTALE"))
                given, = [line for line in lines if line["op"] == "given"]
                self.assertEqual((guarded["baseline"], given["source"]), (given["file"]["after"], "read_tool"))
                counts = self.json("status", "--session", choice)["counters"]
                self.assertEqual(counts["stale_" + verdict], 1)
                words = b"writes: 1 warned of" if choice == "warn" else b"writes: 1 denied"
                self.assertIn(words, done.stderr)
                self.assertIn(words.replace(b"writes: ", b""), self.seen("status", "--session", choice, code=0).stdout)
                denied = self.seen("log", "--session", choice, "--denied", "--op", "guarded").stdout
                self.assertEqual(b"f  denied stale" in denied, choice == "deny")

    def test_sources(self):
        """By whom, as their roles say; what is not guarded needs no journal of the guard."""
        self.external(": > mine; touch theirs; : > /dev/null; : > ../beside")
        for source, name in (("agent_edited", "mine"), ("tool_edited", "theirs")):
            lines = self.session_lines("--source", source)
            self.assertEqual({line["resolved"] for line in lines if line["op"] == "open"}, {str(self.work / name)})
        (self.top / "beside").unlink()

    def test_unobserved(self):
        if not os.path.exists("/bin/busybox"):
            self.skipTest("no static busybox")
        self.run_in("busybox true; busybox true", "--via", "preload")
        self.assertIn(b"true  static (2 times)", self.seen("log", "--op", "unobserved", code=0).stdout)

    def test_full_disk(self):
        self.run_in("true")
        with open("/dev/full", "wb") as full:
            self.seen("log", "--json", stdout=full, code=6)


if __name__ == "__main__":
    unittest.main()

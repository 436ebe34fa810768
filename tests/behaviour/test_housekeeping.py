"""What an ended session takes on disk; that all commands read it as before; what goes by itself, and in which order."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import packs
from driver import DEADLINE, SEEN, Case
from harness import wait_until

DAY = 86400
MEBIBYTE = 1 << 20


class Housekeeping(Case):
    def setUp(self):
        super().setUp()
        self.env.pop("XDG_RUNTIME_DIR", None)
        self.state = self.home / ".local/state/seen"

    def bytes_of(self, name):
        return sum(path.stat().st_blocks * 512 for path in (self.state / name).rglob("*"))

    def make(self, name, script="true", *options):
        self.seen("run", "--session", name, *options, "--", "sh", "-c", script, code=0)
        self.wait_for_aside()

    def age(self, name, days):
        then = time.time() - days * DAY
        for path in [*(self.state / name).rglob("*"), self.state / name]:
            os.utime(path, (then, then), follow_symlinks=False)

    def due(self):
        """The sessions were inspected last long ago."""
        os.utime(self.state / ".tidied", (0, 0))

    def not_due(self):
        """The sessions were inspected just now: a run's begin leaves no process that has them open."""
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / ".tidied").touch()

    def names(self):
        return sorted(path.name for path in self.state.iterdir() if not path.name.startswith("."))

    def start(self, name):
        ready, ready_write = os.pipe()
        run = subprocess.Popen([SEEN, "run", "--session", name, "--", "bash", "-c", f"echo x > x; echo >&{ready_write}; exec sleep 600"],
                               cwd=self.work, env=self.env, pass_fds=(ready_write,), start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ready_write)
        self.addCleanup(self.kill, run)
        os.read(ready, 1)
        os.close(ready)
        return run

    def kill(self, run):
        """The run, and what is below it."""
        if run.returncode is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            time.sleep(0.3)


class Room(Housekeeping):
    def test_an_idle_session(self):
        for via in ("preload", "both"):
            self.make(via, "true", "--via", via)
            self.assertLess(self.bytes_of(via), 200_000, via)

    READERS = (("status",), ("log",), ("files",), ("story",), ("diff",), ("history",), ("report",), ("verify",), ("versions",),
               ("changed",), ("edited",), ("export", "--format", "csv"), ("log", "--json"), ("status", "--json"), ("undo", "--dry-run"))

    def test_all_commands_read_it_as_before(self):
        """A copy of it with all its blocks is read the same."""
        self.make("s", "echo c > c; echo d > d; rm d; ls; cat c > e")
        whole = {words: self.seen(*words, "--session", "s").stdout for words in self.READERS}
        directory = self.state / "s"
        self.assertLess(self.bytes_of("s"), 300_000)
        size = (directory / "segment").stat().st_size
        with open(directory / "segment", "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        with open(directory / "segment", "r+b") as file:  # holes and zeroes are the same bytes
            data = file.read()
            file.seek(0)
            file.write(data)
        self.assertGreater(self.bytes_of("s"), 3 * MEBIBYTE)
        hidden = re.compile(rb"\d+ bytes; paths|memory.*")
        for words, before in whole.items():
            self.assertEqual(hidden.sub(b"", self.seen(*words, "--session", "s").stdout), hidden.sub(b"", before), words)

    def test_it_is_used_again(self):
        self.make("s", "echo a > a")
        self.make("s", "echo b > b")
        self.assertEqual(self.seen("verify", "--session", "s").returncode, 0)
        story = self.seen("story", "--session", "s", code=0).stdout
        self.assertIn(b"echo a > a", story)
        self.assertIn(b"echo b > b", story)
        self.assertGreater(self.bytes_of("s"), 3 * MEBIBYTE, "the blocks of all that is in use are there while it may be used")
        self.due()
        self.make("t")
        self.assertLess(self.bytes_of("s"), 200_000)
        self.seen("undo", "--all", "--session", "s", code=0)
        self.assertEqual([path.name for path in self.work.iterdir()], [])

    def test_the_library_alone_has_all_blocks(self):
        """LD_PRELOAD and the directory of an ended session: no store of a stranger's program lacks a block."""
        self.make("s")
        segment = self.state / "s/segment"
        self.assertLess(segment.stat().st_blocks * 512, segment.stat().st_size)
        library = pathlib.Path(SEEN).resolve().parent.parent / "lib/seen/libseen.so"
        subprocess.run(["sh", "-c", "echo a > a; cat a"], cwd=self.work, stdout=subprocess.PIPE, check=True,
                       env={**self.env, "LD_PRELOAD": str(library), "SEEN_SESSION": str(self.state / "s")})
        self.assertGreater(segment.stat().st_blocks * 512, 3 * MEBIBYTE)
        self.assertIn(b"a", self.seen("log", "--session", "s", code=0).stdout)

    def test_a_live_one_is_not_cut(self):
        self.make("first")
        run = self.start("live")
        self.due()
        self.make("other")
        segment = self.state / "live/segment"
        self.assertGreater(segment.stat().st_blocks * 512, 3 * MEBIBYTE)
        self.seen("gc", code=0)
        self.assertGreater(segment.stat().st_blocks * 512, 3 * MEBIBYTE)
        self.kill(run)

    def test_a_killed_run_is_readable_and_cut_later(self):
        self.make("first")
        run = self.start("killed")
        self.kill(run)
        self.assertGreater(self.bytes_of("killed"), 3 * MEBIBYTE)
        self.assertIn(b"x", self.seen("log", "--session", "killed", code=0).stdout)
        used = self.json("sessions")["sessions"]
        self.seen("gc", code=0)
        self.assertLess(self.bytes_of("killed"), 200_000)
        self.assertEqual({row["name"]: row["last_used"] for row in self.json("sessions")["sessions"]},
                         {row["name"]: row["last_used"] for row in used})
        self.assertIn(b"x", self.seen("log", "--session", "killed", code=0).stdout)
        self.seen("undo", "--all", "--session", "killed", code=0)
        self.assertFalse((self.work / "x").exists())

    def test_processes_of_another_pid_namespace(self):
        """A session whose run was killed, and whose processes live where they cannot be looked for, is in use: from there, too, with or without a /proc of its own."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
        apart = ["unshare", *user, "--pid", "--fork"]
        if not shutil.which("unshare") or subprocess.run([*apart, "--mount-proc", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no PID namespaces")
        for own_proc in ["--mount-proc"], []:
            run = subprocess.Popen([SEEN, "run", "--session", "apart", "--", *apart, *own_proc, "sh", "-c", "echo x > x; echo > ready; sleep 600"], cwd=self.work,
                                   env=self.env, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_until((self.work / "ready").exists, DEADLINE)
                os.kill(run.pid, signal.SIGKILL)
                run.wait()
                for seen in [SEEN], [*apart, SEEN], [*apart, "--mount-proc", SEEN]:
                    subprocess.run([*seen, "gc", "--all"], cwd=self.work, env=self.env, stdout=subprocess.DEVNULL, check=True)
                    listed = subprocess.run([*seen, "sessions", "--json"], cwd=self.work, env=self.env, stdout=subprocess.PIPE, check=True).stdout
                    self.assertEqual([(row["name"], row["state"]) for row in json.loads(listed)["sessions"]], [("apart", "live")], seen)
            finally:
                os.killpg(run.pid, signal.SIGKILL)  # what is left of it
            wait_until(lambda: self.seen("gc", "apart").returncode == 0, DEADLINE)
            self.assertEqual(self.names(), [])
            os.unlink(self.work / "ready")

    def test_packs_end_behind_their_last_record(self):
        """Room for the next records is given back at a run's end, of a session that is used again, too."""
        for number in range(2):
            self.make("s", "for i in $(seq 20); do echo $i > %d-$i; done; rm *" % number)
            part = self.state / "s/undo/00000000.part"
            self.assertLess(len(part.read_bytes()) - len(part.read_bytes().rstrip(b"\0")), 8)
            records = packs.read(part.parent)
            self.assertEqual(sum(record.kind == "removed" for record in records), 20 * (number + 1))
        with open(part, "ab") as file:  # what nothing recorded: it is not known what it is
            file.write(b"\0" * 4096 + b"x")
        size = part.stat().st_size
        self.seen("run", "--quiet", "--session", "s", "--", "true", code=0)
        self.assertEqual(part.stat().st_size, size)

    def test_one_that_a_process_has_open_stays_whole(self):
        self.make("s")
        self.make("s")  # as it was used again, it has its blocks
        segment = self.state / "s/segment"
        with open(segment, "rb"):
            self.seen("gc", code=0)
            self.assertGreater(segment.stat().st_blocks * 512, 3 * MEBIBYTE)
        self.seen("gc", code=0)
        self.assertLess(segment.stat().st_blocks * 512, segment.stat().st_size)

    def test_readers_while_it_is_cut(self):
        """They wait for it: none fails."""
        self.make("s")
        for _ in range(15):
            self.make("s")
            readers = [subprocess.Popen([SEEN, "status", "--session", "s"], cwd=self.work, env=self.env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE) for _ in range(3)]
            self.seen("gc", code=0)
            for reader in readers:
                self.assertEqual((reader.communicate()[1], reader.returncode), (b"", 0))

    def test_growth_of_many_runs(self):
        for _ in range(20):
            self.seen("run", "--", "true", code=0)
        self.wait_for_aside()
        total = sum(self.bytes_of(name) for name in self.names())
        self.assertEqual(len(self.names()), 20)
        self.assertLess(total, 20 * 200_000)


class Aside(Housekeeping):
    """What is done behind a run, in a process that none waits for."""

    def test_a_command_waits_for_what_is_being_cut(self):
        """On a busy machine that takes longer."""
        self.make("s")
        segment = os.open(self.state / "s/segment", os.O_RDWR)
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGIO, before)
        fcntl.fcntl(segment, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        timer = threading.Timer(0.8, os.close, (segment,))
        timer.start()
        self.addCleanup(timer.join)
        self.seen("status", "--session", "s", code=0)

    def held(self):
        """A run whose segment another process has open: who is to cut it waits aside.  Its pid, and how long the run took."""
        self.not_due()
        run = self.start("s")
        segment = os.open(self.state / "s/segment", os.O_RDONLY)
        self.addCleanup(os.close, segment)
        begun = time.monotonic()
        os.kill(run.pid, signal.SIGTERM)
        run.wait()
        seconds = time.monotonic() - begun
        waiting = []
        self.wait_until(lambda: waiting.extend(pid for pid in self.aside() if self.stands_alone(pid)) or waiting)
        return waiting[0], seconds

    @staticmethod
    def stands_alone(pid):
        """Is it one that works aside?  The run's helpers, and the process that made this one, end by themselves, and have another directory or lead a session."""
        try:
            return os.readlink(f"/proc/{pid}/cwd") == "/" and os.getsid(pid) != pid
        except OSError:
            return False

    def test_the_run_does_not_wait(self):
        pid, seconds = self.held()
        self.assertLess(seconds, 1.5)
        self.wait_until(lambda: {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)} == {"/dev/null"})
        self.wait_until(lambda: os.readlink(f"/proc/{pid}/cwd") == "/")
        self.assertEqual(os.getsid(pid) == os.getsid(0), False)
        self.assertNotIn(str(self.state), pathlib.Path(f"/proc/{pid}/maps").read_text())

    def test_its_output_ends_with_the_run(self):
        run = self.start("s")
        segment = os.open(self.state / "s/segment", os.O_RDONLY)
        begun = time.monotonic()
        self.seen("run", "--session", "s", "--", "true", code=0)  # reads both pipes to their ends
        self.assertLess(time.monotonic() - begun, 1.5)
        os.close(segment)
        self.kill(run)

    def test_killed(self):
        """Nothing is lost: it is read, and cut the next time."""
        pid, _ = self.held()
        os.kill(pid, signal.SIGKILL)
        self.assertIn(b"x", self.seen("log", "--session", "s", code=0).stdout)
        self.assertGreater(self.bytes_of("s"), 3 * MEBIBYTE)
        self.doCleanups()

    def test_killed_at_any_moment(self):
        for delay in range(12):
            self.seen("run", "--session", f"s{delay}", "--", "sh", "-c", "echo a > a; rm a", code=0)
            time.sleep(delay / 3000)
            for pid in self.aside():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.assertEqual(self.seen("verify", "--session", f"s{delay}").returncode, 0)
            self.assertIn(b"echo a", self.seen("story", "--session", f"s{delay}", code=0).stdout)
        self.seen("gc", code=0)
        for delay in range(12):
            self.assertLess(self.bytes_of(f"s{delay}"), 200_000)

    def test_opened_again_and_again(self):
        """Who opens the segment while it is cut waits, and the process that cuts it begins anew: it is cut in the end."""
        self.make("first")
        for number in range(5):
            ended = threading.Event()
            segment = self.state / f"s{number}/segment"

            def open_it():
                left = 60  # behind the run: on a busy machine these take a second, and who cuts has patience for three
                while left and time.sleep(0.003) is None:
                    left -= ended.is_set()
                    with contextlib.suppress(OSError):
                        os.close(os.open(segment, os.O_RDONLY | os.O_NONBLOCK))

            opener = threading.Thread(target=open_it)
            opener.start()
            try:
                self.seen("run", "--session", f"s{number}", "--", "sh", "-c", "echo x > x; rm x", code=0)
            finally:
                ended.set()
                opener.join()
            self.wait_for_aside()
            self.assertLess(self.bytes_of(f"s{number}"), 200_000)

    def test_below_another_run(self):
        """It would be taken for a process that goes on: it is done before the inner run ends, where nothing else has the session open."""
        self.not_due()
        script = f"{SEEN} run --session inner -- true; stat -c %b {self.state}/inner/segment"
        done = self.seen("run", "--summary", "--session", "outer", "--", "sh", "-c", script, code=0)
        self.assertLess(int(done.stdout) * 512, 200_000)
        self.assertNotIn(b"goes on", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_as_the_first_process(self):
        """Of a container: all others end with it."""
        subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", SEEN, "run", "--session", "s", "--", "true"], cwd=self.work, env=self.env,
                       check=True)
        self.assertLess(self.bytes_of("s"), 200_000)

    def test_used_at_once(self):
        """What comes right behind a run meets no session that is in use."""
        for i in range(15):
            self.seen("run", "--session", "again", "--", "true", code=0)
            self.seen("run", "--session", "again", "--", "true", code=0)
            self.seen("run", "--session", f"s{i}", "--", "true", code=0)
            self.assertEqual({row["state"] for row in self.json("sessions")["sessions"]}, {"ended"})
            self.assertIn(b"removed 1 session", self.seen("gc", f"s{i}", code=0).stdout)


class Expiry(Housekeeping):
    def test_by_age(self):
        self.make("old")
        self.make("young")
        self.age("old", 31)
        self.due()
        until = f"until [ -s {self.state}/.tidied ]; do sleep 0.01; done"
        done = self.seen("run", "--summary", "--session", "now", "--", "sh", "-c", until, code=0)
        self.assertEqual(self.names(), ["now", "young"])
        self.assertRegex(done.stderr.decode(), self.LINE)
        self.assertNotRegex(self.seen("run", "--summary", "--", "true", code=0).stderr.decode(), self.LINE, "it is said once")

    LINE = r"seen: 1 old session removed, [\d,]+ bytes: \[session\] keep_days and max_bytes say which\n"

    def test_said_by_the_next_run(self):
        """A run that is over before, or prints nothing, leaves the line to the next one; what several removed is summed up."""
        for name in ("one", "two"):
            self.make(name)
            self.age(name, 31)
            self.due()
            self.make("quiet", "true", "--quiet")
            self.assertEqual(self.names(), ["quiet"])
        inspected = (self.state / ".tidied").stat().st_mtime
        self.assertRegex(self.seen("run", "--summary", "--", "true", code=0).stderr.decode(), self.LINE.replace("1 old session", "2 old sessions"))
        self.assertEqual((self.state / ".tidied").stat().st_mtime, inspected)

    def test_nothing_went_nothing_said(self):
        self.make("a")
        self.due()
        self.assertEqual(self.seen("run", "--summary", "--", "true", code=0).stderr.count(b"\n"), 1)

    def test_not_at_every_run(self):
        self.make("old")
        self.age("old", 31)
        self.make("now")
        self.assertEqual(self.names(), ["now", "old"])

    def test_by_size_those_that_can_be_undone_last(self):
        self.make("undo", "head -c 3000000 /dev/urandom > f; : > f", "-c", "undo.max_file_bytes=10000000")
        self.make("none1", "true", "--undo", "no")
        self.make("none2", "true", "--undo", "no")
        self.age("undo", 3)
        self.age("none1", 1)
        self.age("none2", 2)
        self.assertGreater(self.bytes_of("undo"), 100_000)
        total = sum(self.bytes_of(name) for name in self.names())
        self.seen("gc", "--max-bytes", str(total - 1), code=0)
        self.assertEqual(self.names(), ["none1", "undo"])
        self.age("undo", 8)  # a week is over
        self.seen("gc", "--max-bytes", str(self.bytes_of("undo")), code=0)
        self.assertEqual(self.names(), ["none1"])

    def test_the_run_s_own_stays(self):
        self.make("first", "true", "-c", "session.max_bytes=1")
        self.due()
        self.make("now", "true", "-c", "session.max_bytes=1")
        self.assertEqual(self.names(), ["now"])

    def test_default_limit(self):
        self.assertTrue(b"max_bytes   = 2147483648" in self.seen("config", code=0).stdout)


if __name__ == "__main__":
    unittest.main()

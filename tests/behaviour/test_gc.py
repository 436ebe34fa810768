"""sessions, gc: which are listed, which go, and that nothing else does."""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from driver import LIBRARY, SEEN, Case, Terminal

ROOT = os.geteuid() == 0
DAY = 86400
# struct segment_header, struct journal_header: a magic number of 8 bytes, then the version
VERSION_OFFSET = 8


class Store(Case):
    """Sessions in a runtime directory and a state directory of their own."""

    def setUp(self):
        super().setUp()
        self.runtime = self.top / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.env["XDG_RUNTIME_DIR"] = str(self.runtime)
        self.state = self.home / ".local/state/seen"

    def directory(self, name):
        return self.runtime / "seen" / name

    def make(self, *names, **more):
        for name in names:
            self.seen("run", "--session", name, "--", "true", code=0, **more)

    def age(self, name, days):
        """As if it had been used so many days ago."""
        then = time.time() - days * DAY
        for place in (self.directory(name), self.state / name):
            for path in [*place.glob("*"), place] if place.exists() else []:
                os.utime(path, (then, then), follow_symlinks=False)

    def reboot(self):
        """XDG_RUNTIME_DIR is emptied."""
        subprocess.run(["rm", "-rf", str(self.runtime / "seen")], check=True)

    def sessions(self, **more):
        document = json.loads(self.seen("sessions", "--json", **more).stdout)
        return {session["name"]: session for session in document["sessions"]}

    def states(self, **more):
        return {name: session["state"] for name, session in self.sessions(**more).items()}

    def gc(self, *words, code=0, **more):
        """Names of what was removed."""
        return [session["name"] for session in self.json("gc", *words, code=code, **more)["sessions"]]

    def start(self, *words, **more):
        """A run that goes on until it is killed; returns when it is under way."""
        ready, ready_write = os.pipe()
        run = subprocess.Popen([SEEN, "run", *words, "--", "bash", "-c", f"echo >&{ready_write}; exec sleep 600"],
                               cwd=self.work, env={**self.env, **more}, pass_fds=(ready_write,))
        os.close(ready_write)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        os.read(ready, 1)
        os.close(ready)
        return run

    def stop(self, *runs):
        for run in runs:
            run.kill()
            run.wait()

    def goes(self, name, **more):
        """It is removed as soon as what was killed has ended."""
        deadline = time.monotonic() + 20
        while self.gc(name, code=None, **more) != [name]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def everything(self):
        """All names below the directories of sessions."""
        return {os.path.join(directory, name) for top in (self.runtime, self.state) for directory, directories, files in os.walk(top)
                for name in directories + files}


class Listing(Store):
    def test_none(self):
        done = self.seen("sessions", code=1)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual(self.sessions(), {})

    def test_newest_first(self):
        self.make("a", "b", "c")
        self.age("b", 3)
        self.age("c", 40)
        done = self.seen("sessions", code=0)
        self.assert_plain(done.stdout)
        rows = done.stdout.decode().splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["SESSION", "a", "b", "c"])
        self.assertIn("  3 d  ", rows[2])
        self.assertTrue(all(row.endswith(str(self.work)) for row in rows[1:]))
        document = self.json("sessions")
        self.assertEqual(document["schema"], "seen/sessions/1")
        self.assertEqual([session["name"] for session in document["sessions"]], ["a", "b", "c"])

    def test_members(self):
        self.make("a")
        session = self.sessions()["a"]
        files = [self.directory("a") / "segment", *(self.state / "a").iterdir()]
        self.assertEqual(session["bytes"], sum(file.stat().st_blocks for file in files) * 512)
        self.assertEqual((session["state"], session["problem"], session["workspace"]), ("ended", None, str(self.work)))
        self.assertEqual((session["runtime_folder"], session["state_folder"]), (str(self.directory("a")), str(self.state / "a")))
        self.assertEqual(self.json("status", "--session", "a")["session"]["created"], session["created"])

    def test_one_directory_for_both(self):
        del self.env["XDG_RUNTIME_DIR"]
        self.make("a")
        self.assertEqual(self.states(), {"a": "ended"})
        self.assertEqual(self.states(env={"XDG_RUNTIME_DIR": str(self.home / ".local/state")}), {"a": "ended"})

    def test_journal_only(self):
        self.make("a", "b")
        self.reboot()
        self.make("b")
        sessions = self.sessions()
        self.assertEqual((sessions["a"]["state"], sessions["a"]["workspace"]), ("journal only", str(self.work)))
        self.assertRegex(sessions["a"]["created"], "Z$")
        self.assertEqual(sessions["b"]["state"], "ended")

    def test_unusual_workspace(self):
        unusual = os.fsencode(self.top) + b"/w\xff\x1b[31m\n"
        os.mkdir(unusual)
        self.make("a", cwd=unusual)
        self.assert_plain(self.seen("sessions", code=0).stdout)
        self.assertTrue(self.sessions()["a"]["workspace"].endswith("/w\\xff\x1b[31m\n"))
        self.reboot()
        self.assertTrue(self.sessions()["a"]["workspace"].endswith("/w\\xff\x1b[31m\n"))

    def test_names_that_are_none(self):
        self.make("a")
        for name in (".hidden", "-x", "a b", "new\nline", "esc\x1b[31m", "x" * 65):
            os.mkdir(self.directory(name))
            (self.directory(name) / "segment").write_bytes((self.directory("a") / "segment").read_bytes())
        os.mkdir(self.directory("empty"))
        os.mkdir(self.directory("files"))
        (self.directory("files") / "text").write_text("")
        self.directory("file").write_text("")
        before = self.everything()
        self.assertEqual(self.states(), {"a": "ended"})
        self.assertEqual(self.gc("--all"), ["a"])
        gone = {str(self.directory("a")), str(self.state / "a")}
        self.assertEqual({path for path in before if os.path.dirname(path) not in gone} - gone, self.everything())

    def test_colours(self):
        self.make("a")

        def at_terminal(**more):
            terminal = Terminal([SEEN, "sessions"], self.work, {**self.env, **more})
            self.assertEqual(terminal.wait(), 0)
            return terminal.output

        self.assertIn(b"\x1b[", at_terminal())
        self.assertNotIn(b"\x1b", at_terminal(NO_COLOR="1"))

    def test_output_that_cannot_be_written(self):
        self.make("a")
        for words in (("sessions",), ("sessions", "--json"), ("gc", "--dry-run"), ("gc", "--json")):
            with open("/dev/full", "wb") as full:
                self.assertEqual(self.seen(*words, stdout=full).returncode, 6, words)

    def test_usage(self):
        self.seen("sessions", "word", code=2)
        self.seen("gc", "--all", "a", code=2)
        for name in ("../a", "", "/tmp", ".gone.a.1", "a/b"):
            self.seen("gc", "--", name, code=2)

    def test_looking_changes_nothing(self):
        self.make("a")
        self.age("a", 3)
        before = self.sessions()
        self.seen("sessions", code=0)
        self.seen("status", "--session", "a", code=0)
        self.seen("gc", "--dry-run", code=0)
        self.assertEqual(self.sessions(), before)


class Choosing(Store):
    def test_by_age(self):
        self.make("new", "old", "older")
        self.age("old", 29)
        self.age("older", 31)
        self.assertEqual(self.gc(), ["older"])
        self.assertEqual(set(self.states()), {"new", "old"})
        self.assertEqual(self.gc("--keep-days", "0"), [])
        self.assertEqual(self.gc("--keep-days=28"), ["old"])
        self.assertEqual(self.gc("--keep-days=1"), [])
        self.assertEqual(self.everything(), {str(path) for path in (
            self.runtime / "seen", self.directory("new"), self.directory("new") / "segment", self.state / "new",
            *(self.state / "new").iterdir())})

    def test_using_it_makes_it_new(self):
        self.make("a")
        self.age("a", 40)
        self.make("a")
        self.assertEqual(self.gc(), [])

    def test_it_was_used_until_a_run_ended(self):
        """Not until it began: a run may go on for longer than --keep-days."""
        files = [self.directory("a") / "segment", self.state / "a" / "journal"]
        self.seen("run", "--session", "a", "--", "touch", "-d", "40 days ago", *map(str, files), code=0)
        self.assertEqual(self.gc(), [])

    def test_a_killed_run_used_it_too(self):
        """On tmpfs too, which has no write-back that would move the file's times."""
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no tmpfs at /dev/shm")
        place = tempfile.mkdtemp(dir="/dev/shm")
        self.addCleanup(shutil.rmtree, place)
        self.env.update(XDG_RUNTIME_DIR=place, SEEN_JOURNAL_LEVEL="off")
        self.runtime = pathlib.Path(place)
        self.make("s")
        self.age("s", 40)
        self.stop(self.start("--session", "s"))
        deadline = time.monotonic() + 20
        while self.states() != {"s": "ended"}:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(self.gc(), [])

    def test_by_size_the_oldest_first(self):
        self.make("a", "b", "c", "d")
        for name, days in (("a", 2), ("b", 4), ("c", 1), ("d", 3)):
            self.age(name, days)
        sizes = {name: session["bytes"] for name, session in self.sessions().items()}
        self.assertEqual(self.gc("--max-bytes", "0"), [])
        self.assertEqual(self.gc("--max-bytes", str(sum(sizes.values()))), [])
        self.assertEqual(self.gc("--max-bytes", str(sum(sizes.values()) - 1)), ["b"])
        self.assertEqual(self.gc("--max-bytes", str(sizes["c"])), ["d", "a"])
        self.assertEqual(set(self.states()), {"c"})

    def test_age_comes_first_and_counts(self):
        self.make("a", "b", "c")
        self.age("a", 40)
        self.age("b", 20)
        sizes = {name: session["bytes"] for name, session in self.sessions().items()}
        document = self.json("gc", "--max-bytes", str(sizes["b"] + sizes["c"]))
        self.assertEqual([(session["name"], session["reason"]) for session in document["sessions"]], [("a", "age")])
        self.assertEqual((document["schema"], document["dry_run"], document["bytes_removed"], document["bytes_left"]),
                         ("seen/gc/1", False, sizes["a"], sizes["b"] + sizes["c"]))

    def test_size_with_one_in_use(self):
        self.make("a")
        self.start("--session", "live")
        self.age("live", 50)
        done = self.seen("gc", "--max-bytes", "1", code=0)
        self.assertIn(b"removed a ", done.stdout)
        self.assertIn(b"in use", done.stderr)
        self.assertEqual(self.states(), {"live": "live"})

    def test_dry_run_removes_nothing(self):
        self.make("a", "b")
        self.age("a", 40)
        before = self.everything()
        for words in ((), ("--all",), ("b",), ("--max-bytes", "1")):
            done = self.seen("gc", "--dry-run", *words, code=0)
            self.assertIn(b"would remove", done.stdout)
            self.assertEqual(self.everything(), before)
            self.assertEqual(self.states(), {"a": "ended", "b": "ended"})
        self.assertEqual(self.gc("--dry-run", "--all"), ["a", "b"])

    def test_all_and_named(self):
        self.make("a", "b", "c")
        done = self.seen("gc", "b", code=0)
        self.assertRegex(done.stdout.decode(), r"\Aremoved b .*\nremoved 1 session, [\d,]+ bytes; [\d,]+ bytes are left\n\Z")
        done = self.seen("gc", "nosuch", code=3)
        self.assertIn(b"nosuch", done.stderr)
        self.assertEqual(self.gc("nosuch", "a", code=3), ["a"])
        self.assertEqual(self.gc("--all"), ["c"])
        self.assertEqual(self.gc("--all"), [])

    def test_journal_only(self):
        self.make("a", "b")
        self.reboot()
        self.age("a", 40)
        self.assertEqual(self.gc(), ["a"])
        self.assertEqual(self.gc("b"), ["b"])
        self.assertEqual(list(self.state.iterdir()), [])

    def test_no_other_command_removes(self):
        self.make("a")
        self.age("a", 4000)
        for words in (("run", "--", "true"), ("sessions",), ("status",), ("files",), ("doctor",), ("config",)):
            self.seen(*words)
        self.assertIn("a", self.states())

    def test_no_directories_yet(self):
        done = self.seen("gc", code=0)
        self.assertEqual(done.stdout, b"removed 0 sessions, 0 bytes; 0 bytes are left\n")
        self.assertEqual(self.everything(), set())


class InUse(Store):
    def kept(self, name="s", **more):
        self.age(name, 400)
        self.assertEqual(self.gc(**more), [])
        self.assertEqual(self.gc("--all", **more), [])
        self.assertEqual(self.gc("--max-bytes=1", **more), [])
        done = self.seen("gc", name, code=8, **more)
        self.assertIn(b"in use", done.stderr)

    def test_a_run(self):
        run = self.start("--session", "s")
        self.assertEqual(self.states(), {"s": "live"})
        self.kept()
        self.seen("run", "--session", "s", "--", "true", code=0)  # others may use it meanwhile
        self.kept()
        self.stop(run)
        self.goes("s")

    def test_a_run_that_cannot_be_observed(self):
        """None of its processes is in the table of processes, and its segment is not where gc searches."""
        self.make("s")
        run = self.start("--session", "s")
        for directory in (self.directory("s"), self.state / "s"):
            fd = os.open(directory, os.O_RDONLY)
            with self.assertRaises(BlockingIOError, msg=directory):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(fd)
        self.kept(env={"XDG_RUNTIME_DIR": str(self.top / "elsewhere")})
        self.stop(run)
        self.goes("s", env={"XDG_RUNTIME_DIR": str(self.top / "elsewhere")})

    def test_held_directory(self):
        """What `seen run` does from the start, before there is a process."""
        self.make("s")
        for directory in (self.directory("s"), self.state / "s"):
            fd = os.open(directory, os.O_RDONLY)
            fcntl.flock(fd, fcntl.LOCK_SH)
            self.assertEqual(self.states(), {"s": "live"})
            self.kept()
            os.close(fd)
        self.assertEqual(self.states(), {"s": "ended"})

    def test_open_to_write(self):
        """A process of another container that cannot be inspected: what it has mapped tells."""
        self.make("s")
        for path in (self.directory("s") / "segment", self.state / "s" / "journal"):
            with open(path, "r+b"):
                self.kept()
        self.assertEqual(self.gc("s"), ["s"])

    def test_process_in_the_background(self):
        pid = int(self.seen("run", "--session", "s", "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!", code=0).stdout)
        try:
            self.assertEqual(self.states(), {"s": "live"})
            self.kept()
        finally:
            os.kill(pid, signal.SIGKILL)
        self.goes("s")

    def test_unobserved_process_in_the_background(self):
        """It has nothing mapped, and may start others that do."""
        self.make("s")
        environment = {**self.env, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": str(self.directory("s"))}
        program = self.top / "static"
        source = self.top / "static.c"
        source.write_text("#include <unistd.h>\nint main(void) { return sleep(600); }\n")
        if subprocess.run(["cc", "-static", "-o", str(program), str(source)], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no static libc to link with")
        child = subprocess.run(["bash", "-c", f"{program} >/dev/null 2>&1 & echo $!"], env=environment, cwd=self.work,
                               check=True, stdout=subprocess.PIPE).stdout
        try:
            self.kept()
        finally:
            os.kill(int(child), signal.SIGKILL)

    def test_the_library_alone(self):
        child = subprocess.Popen(["sleep", "600"], cwd=self.work, env={**self.env, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": "s"})
        try:
            deadline = time.monotonic() + 20
            while self.states() != {"s": "live"}:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.kept()
        finally:
            child.kill()
            child.wait()
        self.assertEqual(self.gc("s"), ["s"])

    def test_process_of_an_earlier_boot(self):
        run = self.start("--session", "s")
        segment = self.directory("s") / "segment"
        data = segment.read_bytes()
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot_id = file.read().strip()
        self.assertEqual(data.count(boot_id), 1)
        with open(segment, "r+b") as file:
            file.seek(data.index(boot_id))
            file.write(b"0" * len(boot_id))
        os.rename(self.directory("s"), self.directory("moved"))  # from where the run holds it
        os.mkdir(self.directory("s"), 0o700)
        os.link(self.directory("moved") / "segment", self.directory("s") / "segment")
        self.assertEqual(self.states(), {"s": "live", "moved": "live"})  # the journal's directory is held too
        os.rename(self.state / "s", self.state / "elsewhere")
        self.assertEqual(self.states()["s"], "ended")
        self.stop(run)

    def test_run_begins_while_gc_is_at_it(self):
        """Whichever comes first: the run is observed, in the old session or a new one, and is not removed."""
        for round_number in range(20):
            self.make("s")
            gc = subprocess.Popen([SEEN, "gc", "--all"], cwd=self.work, env=self.env, stdout=subprocess.DEVNULL)
            done = self.seen("run", "--session", "s", "--", "sh", "-c", f"test -e {self.directory('s')}/segment", code=0)
            self.assertEqual(done.stderr, b"", round_number)
            self.assertEqual(gc.wait(), 0)

    def test_run_waits_for_gc(self):
        self.make("s")
        fd = os.open(self.directory("s"), os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        run = subprocess.Popen([SEEN, "run", "--session", "s", "--", "true"], cwd=self.work, env=self.env,
                               stderr=subprocess.PIPE)
        time.sleep(0.1)
        os.rename(self.directory("s"), self.directory(".gone.s.1"))
        os.close(fd)
        self.assertEqual(run.communicate()[1], b"")
        self.assertTrue((self.directory("s") / "segment").exists())

    def test_run_does_not_wait_for_ever(self):
        self.make("s")
        fd = os.open(self.directory("s"), os.O_RDONLY)
        self.addCleanup(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX)
        done = self.seen("run", "--session", "s", "--", "echo", "ran", code=0)
        self.assertEqual(done.stdout, b"ran\n")
        self.assertIn(b"seen gc", done.stderr)

    def test_no_descriptor_in_the_command(self):
        bare = subprocess.run(["ls", "/proc/self/fd"], cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              check=True).stdout
        self.assertEqual(self.seen("run", "--", "ls", "/proc/self/fd", code=0).stdout, bare)

    def test_two_at_once(self):
        for _ in range(5):
            self.make(*"abcdef")
            both = [subprocess.Popen([SEEN, "gc", "--all", "--json"], cwd=self.work, env=self.env, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE) for _ in range(2)]
            removed = []
            for gc in both:
                stdout, stderr = gc.communicate()
                self.assertEqual((gc.returncode, stderr), (0, b""))
                removed += [session["name"] for session in json.loads(stdout)["sessions"]]
            self.assertEqual(len(removed), len(set(removed)), removed)
            removed += self.gc("--all")  # one that both wanted at the same moment may be left
            self.assertEqual(set(removed), set("abcdef"))
            self.assertEqual(os.listdir(self.runtime / "seen"), [])


class Strangers(Store):
    def setUp(self):
        super().setUp()
        self.make("s", "other")
        self.target = self.top / "target"
        self.target.mkdir()
        for name in ("segment", "journal", "kept"):
            (self.target / name).write_text("precious")

    def untouched(self):
        self.assertEqual(sorted(path.name for path in self.target.iterdir()), ["journal", "kept", "segment"])
        self.assertTrue(all(path.read_text() == "precious" for path in self.target.iterdir()))

    def refused(self, text, *commands):
        for words in commands or (("status",), ("files",), ("forget", "--all")):
            done = self.seen(*words, "--session", "s", code=4)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)

    def left(self, text, *words):
        """gc says in a line what it leaves, and removes the others."""
        done = self.seen("gc", "--json", *(words or ("--all",)), code=8)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual([session["name"] for session in json.loads(done.stdout)["sessions"]], [] if words else ["other"])

    def test_linked_directory(self):
        subprocess.run(["rm", "-r", str(self.directory("s")), str(self.state / "s")], check=True)
        os.symlink(self.target, self.directory("s"))
        self.assertEqual(self.states()["s"], "unsafe")
        self.refused(b"symbolic link")
        self.left(b"symbolic link", "s")
        self.left(b"symbolic link")
        done = self.seen("run", "--session", "s", "--", "echo", "ran", code=0)
        self.assertEqual(done.stdout, b"ran\n")
        self.assertIn(b"symbolic link", done.stderr)
        self.untouched()

    def test_linked_segment(self):
        os.unlink(self.directory("s") / "segment")
        os.symlink(self.target / "segment", self.directory("s") / "segment")
        self.assertEqual(self.states()["s"], "unsafe")
        self.refused(b"symbolic link")
        self.left(b"symbolic link")
        self.untouched()

    def test_linked_journal(self):
        self.reboot()
        os.unlink(self.state / "s" / "journal")
        os.symlink(self.target / "journal", self.state / "s" / "journal")
        self.assertEqual(self.states()["s"], "unsafe")
        self.left(b"symbolic link")
        self.untouched()

    def test_linked_directory_of_sessions(self):
        os.rename(self.runtime / "seen", self.top / "moved")
        os.symlink(self.top / "moved", self.runtime / "seen")
        for words in (("sessions",), ("gc", "--all")):
            done = self.seen(*words, code=8)
            self.assertIn(b"symbolic link", done.stderr)
            self.assertIn(os.fsencode(self.runtime / "seen"), done.stderr)
        self.assertEqual(sorted(os.listdir(self.top / "moved")), ["other", "s"])

    def test_foreign_things_are_left(self):
        things = self.directory("s")
        (things / "notes.txt").write_text("mine")
        (things / "sub").mkdir()
        (things / "sub" / "segment").write_text("mine")
        os.symlink(self.target, things / "journal.link")
        self.left(b"is no file of a session")
        self.assertEqual(sorted(os.listdir(things)), ["journal.link", "notes.txt", "sub"])
        self.assertEqual((things / "sub" / "segment").read_text(), "mine")
        self.untouched()
        self.assertEqual(os.listdir(self.runtime / "seen"), ["s"])
        self.assertEqual(self.states(), {})
        self.assertFalse((self.state / "s").exists())

    def test_hostile_names_are_escaped(self):
        (self.directory("s") / "esc\x1b[31m\n").write_text("")
        done = self.seen("gc", "s", code=8)
        self.assert_plain(done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_directory_in_place_of_a_file(self):
        os.unlink(self.directory("s") / "segment")
        os.mkdir(self.directory("s") / "segment")
        (self.directory("s") / "segment" / "mine").write_text("")
        self.left(b"'segment' in it is no file of a session")
        self.assertTrue((self.directory("s") / "segment" / "mine").exists())

    def test_another_users(self):
        if not ROOT:
            self.skipTest("giving a file to another user needs root")
        for place, name in ((self.directory("s"), "segment"), (self.directory("s"), ""), (self.state / "s", ""),
                            (self.state / "s", "journal")):
            os.chown(place / name, 12345, 12345)
            self.assertEqual(self.states()["s"], "other user", (place, name))
            done = self.seen("gc", "s", code=8)
            self.assertIn(b"another user", done.stderr)
            self.assertIn(b"/s: ", done.stderr)
            self.assertEqual(self.gc("--dry-run", "--all"), ["other"])
            os.chown(place / name, 0, 0)
        os.chown(self.directory("s"), 12345, 12345)
        self.refused(b"another user")
        os.chown(self.directory("s"), 0, 0)
        # a file among ours
        (self.directory("s") / ".segment.1.2").write_text("")
        os.chown(self.directory("s") / ".segment.1.2", 12345, 12345)
        self.left(b"'.segment.1.2' in it is no file of a session of yours")

    def test_directory_of_another_user(self):
        if not ROOT:
            self.skipTest("giving a file to another user needs root")
        os.chown(self.runtime / "seen", 12345, 12345)
        for words in (("sessions",), ("gc", "--all")):
            self.assertIn(b"another user", self.seen(*words, code=8).stderr)
        self.assertTrue((self.directory("s") / "segment").exists())

    def test_wrong_modes(self):
        os.chmod(self.directory("s") / "segment", 0o666)
        self.assertEqual(self.states()["s"], "unsafe")
        self.refused(b"others may write")
        self.left(b"others may write", "s")
        os.chmod(self.directory("s") / "segment", 0o600)
        os.chmod(self.directory("s"), 0o777)
        self.refused(b"others may write")
        self.left(b"others may write", "s")
        self.make("s")  # a run makes it private again
        self.assertEqual(self.directory("s").stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.gc("s"), ["s"])

    def test_leftovers_of_a_killed_gc(self):
        os.rename(self.directory("s"), self.directory(".gone.s.1"))
        held = self.directory(".gone.s.2")
        held.mkdir()
        (held / "segment").write_text("")
        fd = os.open(held, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)  # one that is at work
        self.assertEqual(self.gc("--dry-run"), [])
        self.assertTrue(self.directory(".gone.s.1").exists())
        self.assertEqual(self.gc(), [])
        self.assertEqual(sorted(os.listdir(self.runtime / "seen")), [".gone.s.2", "other"])
        os.close(fd)
        self.assertEqual(self.gc(), [])
        self.assertEqual(os.listdir(self.runtime / "seen"), ["other"])

    def test_leftovers_of_a_killed_maker(self):
        begun = self.directory("begun")
        begun.mkdir(mode=0o700)
        (begun / ".segment.12.abc").write_text("x" * 5000)
        self.assertEqual(self.states()["begun"], "unfinished")
        self.assertEqual(self.gc("begun"), ["begun"])

    def test_killed_gc_leaves_nothing_half(self):
        """Killed anywhere: what is listed is whole, or goes next time."""
        for delay in range(12):
            self.make(*"abc")
            gc = subprocess.Popen([SEEN, "gc", "--all"], cwd=self.work, env=self.env, stdout=subprocess.DEVNULL)
            time.sleep(delay / 2000)
            gc.kill()
            gc.wait()
            self.assertLessEqual(set(self.states().values()), {"ended", "journal only"})
        self.gc("--all")
        self.assertEqual(os.listdir(self.runtime / "seen"), [])
        self.assertEqual(os.listdir(self.state), [])


class Places(Store):
    def mount(self, *words):
        if not ROOT:
            self.skipTest("mounting needs root")
        done = subprocess.run(["mount", *words], check=False, stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest(f"cannot be mounted here: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", words[-1]], check=False)

    def test_read_only(self):
        self.make("a", "b")
        os.rename(self.state / "b", self.top / "b")
        self.mount("-t", "tmpfs", "none", str(self.state))
        os.mkdir(self.state / "a", 0o700)
        (self.state / "a" / "journal").write_text("")
        os.chmod(self.state / "a" / "journal", 0o600)
        subprocess.run(["mount", "-o", "remount,ro", str(self.state)], check=True)
        done = self.seen("gc", "--all", "--json", code=8)
        self.assertIn(os.fsencode(self.state / "a"), done.stderr)
        self.assertIn(b"writable", done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual([session["name"] for session in json.loads(done.stdout)["sessions"]], ["b"])

    def test_directory_without_permission(self):
        if ROOT:
            self.skipTest("root may write anywhere; the read-only mount stands for it")
        self.make("a")
        os.chmod(self.runtime / "seen", 0o500)
        self.addCleanup(os.chmod, self.runtime / "seen", 0o700)
        self.assertIn(b"chmod u+w", self.seen("gc", "--all", code=8).stderr)

    def test_full_disk(self):
        """Removing works where nothing else does."""
        self.mount("-t", "tmpfs", "-o", "size=40m,mode=700", "none", str(self.runtime))
        self.make("a")
        with open(self.runtime / "fill", "wb", buffering=0) as fill:
            try:
                while fill.write(b"x" * 65536):
                    pass
            except OSError:
                pass
        self.assertEqual(self.gc("--all"), ["a"])

    def test_given_directory_keeps_its_mode(self):
        for name, mode in (("shared", 0o755), ("team", 0o2775)):
            shared = self.top / name
            shared.mkdir()
            os.chmod(shared, mode)
            (shared / "file").write_text("")
            self.make("s", env={"SEEN_SESSION_RUNTIME_DIR": str(shared), "SEEN_SESSION_STATE_DIR": str(shared)})
            self.assertEqual(shared.stat().st_mode & 0o7777, mode)
            self.assertEqual((shared / "s").stat().st_mode & 0o777, 0o700)
            self.assertEqual((shared / "s" / "segment").stat().st_mode & 0o777, 0o600)
            self.assertEqual(self.gc("--all", "--runtime-dir", str(shared), "--state-dir", str(shared)), ["s"])
            self.assertEqual(os.listdir(shared), ["file"])


    def test_directory_that_is_no_session_keeps_its_mode(self):
        os.chmod(self.work, 0o755)
        self.seen("run", "--session", str(self.work), "--", "true", code=0)
        self.assertEqual(self.work.stat().st_mode & 0o777, 0o755)
        self.make("s")
        os.chmod(self.directory("s"), 0o755)
        self.seen("run", "--session", str(self.directory("s")), "--", "true", code=0)
        self.assertEqual(self.directory("s").stat().st_mode & 0o777, 0o700)


class Versions(Store):
    def setUp(self):
        super().setUp()
        self.make("s")
        self.segment = self.directory("s") / "segment"
        self.journal = self.state / "s" / "journal"

    def flip(self, path):
        with open(path, "r+b") as file:
            file.seek(VERSION_OFFSET)
            (version,) = struct.unpack("I", file.read(4))
            file.seek(VERSION_OFFSET)
            file.write(struct.pack("I", version + 1))

    def test_segment_of_another_version(self):
        self.flip(self.segment)
        data = self.segment.read_bytes()
        for words in (("status",), ("files",), ("forget", "--all"), ("status", "--json")):
            done = self.seen(*words, "--session", "s", code=4)
            self.assertIn(b"session s: it was made by another version of seen", done.stderr)
            self.assertEqual(done.stdout, b"")
        done = self.seen("run", "--session", "s", "--", "echo", "ran", code=0)
        self.assertEqual(done.stdout, b"ran\n")
        self.assertIn(b"another version", done.stderr)
        self.assertEqual(self.segment.read_bytes(), data)
        session = self.sessions()["s"]
        self.assertEqual(session["state"], "other version")
        self.assertIn("another version", session["problem"])
        self.assertEqual(self.gc(), [])
        self.assertEqual(self.gc("--all"), ["s"])

    def test_one_in_use_of_another_version(self):
        run = self.start("--session", "live")
        self.flip(self.directory("live") / "segment")
        self.assertEqual(self.gc("live", code=8), [])
        self.stop(run)
        self.goes("live")

    def test_journal_of_another_version(self):
        self.flip(self.journal)
        self.assertEqual(self.states(), {"s": "other version"})
        self.reboot()
        self.assertEqual(self.states(), {"s": "other version"})
        data = self.journal.read_bytes()
        done = self.seen("run", "--session", "s", "--", "true", code=0)  # observed, without a journal
        self.assertIn(b"another version", done.stderr)
        self.assertEqual(self.json("status", "--session", "s")["session"]["name"], "s")
        self.assertEqual(self.journal.read_bytes(), data)
        self.assertEqual(self.gc("s"), ["s"])

    def test_damaged(self):
        self.segment.write_bytes(b"noise" * 10000)
        self.assertEqual(self.states(), {"s": "damaged"})
        self.age("s", 40)
        self.assertEqual(self.gc(), ["s"])

    def test_damaged_journal(self):
        for content in (b"", b"x", b"noise" * 10000):
            self.journal.write_bytes(content)
            self.assertEqual(self.states(), {"s": "damaged"})
        self.reboot()
        self.assertEqual(self.states(), {"s": "damaged"})
        self.assertEqual(self.gc("s"), ["s"])


if __name__ == "__main__":
    unittest.main()

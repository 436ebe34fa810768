"""sessions, gc: which are listed, which go, and that nothing else does."""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from driver import LIBRARY, SEEN, Case, Terminal

DAY = 86400
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
        self.wait_for_aside()

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
                for name in directories + files if name != ".tidied"}


class Conversations(Store):
    """Records of conversations (cli/hooks/hook_record.h) go by their own age, or with the last of their sessions."""

    def record(self, name, session, days=0):
        place = self.state / ".conversations"
        place.mkdir(mode=0o700, exist_ok=True)
        path = place / name
        path.write_text('{"event":"conversation"}\n' + json.dumps({"event": "cut", "session": str(self.state / session)}) + "\n")
        path.chmod(0o600)
        os.utime(path, (time.time() - days * DAY,) * 2)
        return path

    def test_by_age(self):
        self.make("a")
        young, old = self.record("0" * 32, "gone", 29), self.record("1" * 32, "a", 31)
        self.assertIn(b"would remove 1 record of conversations", self.seen("gc", "--dry-run", code=0).stdout)
        self.assertTrue(old.exists())
        self.seen("gc", "--keep-days", "0", code=0)
        self.assertTrue(old.exists())
        self.gc()
        self.assertEqual((young.exists(), old.exists()), (True, False))

    def test_all(self):
        """One whose session is in use, or cannot be removed, stays."""
        self.make("a", "b")
        of_a, of_gone, other = self.record("0" * 32, "a"), self.record("1" * 32, "gone"), self.record("2" * 32, "b")
        (self.state / "b" / "strange").write_text("x")
        link = of_a.parent / "link"
        link.symlink_to("/etc/passwd")
        self.assertIn(b"removed 2 records of conversations", self.seen("gc", "--all").stdout)
        self.assertEqual((of_a.exists(), of_gone.exists(), other.exists(), link.is_symlink()), (False, False, True, True))


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
        self.assertEqual([path for path in self.state.iterdir() if path.name != ".tidied"], [])
        self.gc("--all")
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


if __name__ == "__main__":
    unittest.main()

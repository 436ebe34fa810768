"""gc: files that are not of seen, places of sessions, and kept versions: the rest of test_gc.py."""

import fcntl
import json
import os
import struct
import subprocess
import time
import unittest

from driver import SEEN
from test_gc import Store


ROOT = os.geteuid() == 0


# struct segment_header, struct journal_header: a magic number of 8 bytes, then the version
VERSION_OFFSET = 8


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
        before = sorted(os.listdir(things)), sorted(os.listdir(self.state / "s"))
        self.assertIn(b"is no file of a session of yours: all was left", self.seen("gc", "--dry-run", "s", code=8).stderr)
        self.left(b"is no file of a session")
        self.assertEqual((sorted(os.listdir(things)), sorted(os.listdir(self.state / "s"))), before)
        self.assertEqual((things / "sub" / "segment").read_text(), "mine")
        self.untouched()
        self.assertEqual(self.states(), {"s": "ended"})
        for name in ("notes.txt", "journal.link", "sub"):
            os.rename(things / name, self.top / name)
        self.assertEqual(self.gc("s"), ["s"])
        self.assertEqual(os.listdir(self.runtime / "seen"), [])
        self.assertFalse((self.state / "s").exists())

    def files_of_undo(self):
        """(its directory, the session's record in it with a directory of an operation)"""
        place = self.state / "s" / "undo"
        (place / "op-00000001").mkdir(parents=True, mode=0o700, exist_ok=True)
        return place

    def test_the_locks_of_an_undo_go(self):
        """An undo that wrote to a reflog leaves their list."""
        (self.files_of_undo() / "locks").write_bytes(b"/w/.git/HEAD.lock\0x\0")
        self.assertEqual(self.gc("s"), ["s"])
        self.assertFalse((self.state / "s").exists())

    def test_what_an_operation_merged_goes(self):
        (self.files_of_undo() / "op-00000001" / "merged-0000000a").write_bytes(b"1\n")
        self.assertEqual(self.gc("s"), ["s"])
        self.assertFalse((self.state / "s").exists())

    def test_a_plan_of_an_operation_that_was_killed_goes(self):
        (self.files_of_undo() / "op-00000001" / "plan.new").write_bytes(b"1\n")
        self.assertEqual(self.gc("s"), ["s"])
        self.assertFalse((self.state / "s").exists())

    def test_what_has_nearly_such_a_name_is_left(self):
        for name in "merged-0000000", "merged-000000000", "merged-0000000A", "locks", "plan.new.new":
            path = self.files_of_undo() / "op-00000001" / name
            path.write_bytes(b"mine\n")
            self.assertIn(b"is no file of a session of yours", self.seen("gc", "s", code=8).stderr)
            self.assertEqual(path.read_bytes(), b"mine\n")
            self.assertTrue((self.directory("s") / "segment").exists())
            subprocess.run(["rm", "-r", str(self.state / "s")], check=True)
            self.make("s")

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
            self.assertEqual(sorted(os.listdir(shared)), ["file"])


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

    def test_without_its_name(self):
        """What another version's session, and one that lost its segment, kept is taken back without its name."""
        self.gc("--all")
        for take in (lambda: self.flip(self.directory("u") / "segment"), self.reboot):
            (self.work / "kept").write_text("kept\n")
            self.seen("run", "--session", "u", "--", "rm", "kept", code=0)
            take()
            self.assertEqual(self.sessions()["u"]["workspace"], str(self.work))
            done = self.seen("status", code=3)
            self.assertIn(f"no session of the workspace {self.work} can be opened: u ".encode(), done.stderr)
            self.assertIn(b"rm kept", self.seen("story", code=0).stdout)
            self.assertIn(b"u", self.seen("log", code=0).stdout)
            self.seen("undo", "--all", code=0)
            self.assertEqual((self.work / "kept").read_text(), "kept\n")
            self.gc("--all")

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

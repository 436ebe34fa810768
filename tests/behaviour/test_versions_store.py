"""Kept versions by mode, and their directory: the rest of test_versions.py."""

import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

import packs
from driver import SEEN, Terminal, text_of
from test_versions import Kept


class Mode(Kept):
    """A file that is gone comes back with the permissions that it had."""

    def test_it_comes_back(self):
        for mode in (0o600, 0o751):
            self.file("f", text_of(word="mode %o" % mode))
            os.chmod(self.work / "f", mode)
            self.agent("cat f", "rm -f f")
            row = self.rows("f")[0]
            self.assertEqual(row["mode"], "%04o" % mode)
            self.restore("f", row["version"])
            self.assertEqual(stat.S_IMODE((self.work / "f").stat().st_mode), mode)
            os.remove(self.work / "f")

    def test_no_other_scope_gets_what_none_knows(self):
        """A line of before modes were kept, and no set-user-ID bit."""
        self.without_undo()
        os.chmod(self.work / "f", 0o4755)
        self.keep("rm f")
        version = self.version(self.one)
        self.restore("f", version)
        self.assertEqual(stat.S_IMODE((self.work / "f").stat().st_mode), 0o755)
        index = self.contents / "index"
        text = index.read_text()
        self.assertIn(" 4755 /", text)
        index.write_text(text.replace(" 4755 /", " /").replace(" 0755 /", " /"))
        os.remove(self.work / "f")
        self.assertIsNone(self.rows("f")[0]["mode"])
        self.restore("f", version)
        self.assertEqual(stat.S_IMODE((self.work / "f").stat().st_mode), 0o600)


class Directory(Kept):
    """Where the store lies, and what becomes of it."""

    def setUp(self):
        super().setUp()
        self.runtime = self.top / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.env["XDG_RUNTIME_DIR"] = str(self.runtime)

    def test_without_a_journal(self):
        self.keep(options=("--journal-level", "off"))
        self.assertEqual({path.name for path in self.session_directory().iterdir()} - {"task_metadata.json"}, {"content", "undo"})
        self.assertEqual(stat.S_IMODE(self.contents.stat().st_mode), 0o700)
        self.assertEqual(len(self.rows()), 2)
        shutil.rmtree(self.runtime / "seen")
        session, = self.json("sessions")["sessions"]
        self.assertEqual((session["name"], session["state"]), ("s", "contents only"))
        # the next run goes on with it
        self.file("f", self.one)
        self.keep("rm f", options=("--journal-level", "off"))
        self.assertEqual(len(self.rows("f")), 2)
        self.assertEqual(self.json("versions", "--session", "s")["bytes_kept"], 2 * len(self.one))
        shutil.rmtree(self.runtime / "seen")
        self.seen("gc", "--all", code=0)
        self.assertFalse(self.session_directory().exists())

    def test_it_goes_with_the_session(self):
        self.keep()
        self.wait_for_aside()  # it cuts the session
        size = sum(path.stat().st_blocks for path in [self.contents, *self.contents.iterdir()]) * 512
        session, = self.json("sessions")["sessions"]
        rest = [self.runtime / "seen/s/segment", *(path for path in self.session_directory().rglob("*") if path != self.contents and path.parent != self.contents)]
        self.assertEqual(session["bytes"], size + sum(path.stat().st_blocks for path in rest) * 512)
        (self.contents / ".123456789.5").write_text("rest of a killed one")
        self.seen("gc", "s", code=0)
        self.assertFalse(self.session_directory().exists())

    def test_strangers_in_it_stay(self):
        self.keep()
        beyond = self.top / "outside"
        beyond.write_text("precious")
        (self.contents / "notes").write_text("mine")
        done = self.seen("gc", "s", code=8)
        self.assertIn(b"'content/notes'", done.stderr)
        self.assertEqual((self.contents / "notes").read_text(), "mine")
        (self.contents / "notes").unlink()
        (self.contents / ("0" * 32 + "-8")).symlink_to(beyond)
        self.seen("gc", code=None)
        self.seen("gc", "s", code=None)
        self.assertEqual(beyond.read_text(), "precious")

    def test_a_link_in_its_place(self):
        self.without_undo()
        self.keep()
        elsewhere = self.top / "elsewhere"
        self.contents.rename(elsewhere)
        self.contents.symlink_to(elsewhere)
        names = sorted(os.listdir(elsewhere))
        self.file("f", self.one)
        done = self.seen("run", "--session", "s", "--", "rm", "f", code=0)
        self.assertEqual([line for line in done.stderr.splitlines() if b"brought back" in line],
                         [b"seen: nothing can be brought back: no content store: it is a symbolic link, which is not followed"])
        self.seen("versions", "--session", "s", code=4)
        self.seen("gc", "s", code=8)
        self.assertEqual(sorted(os.listdir(elsewhere)), names)

    def test_no_directory_can_be_made(self):
        (self.session_directory()).mkdir(parents=True)
        (self.session_directory() / "content").write_text("")
        done = self.seen("run", "--session", "s", "--", "cat", "f", code=0)
        self.assertEqual(done.stdout, self.one)
        self.assertEqual(done.stderr.count(b"nothing can be brought back"), 1)
        self.assertIn(b"keeps no versions", self.seen("versions", "--session", "s", code=1).stderr)

    def test_what_killed_ones_left_is_cleared_away(self):
        self.keep()
        child = subprocess.Popen(["true"])
        child.wait()
        dead = self.contents / (".%d.1" % child.pid)
        live = self.contents / (".%d.2" % os.getpid())
        old = self.contents / (".%d.3" % os.getpid())
        directory = self.contents / (".%d.4" % child.pid)
        for path in (dead, live, old):
            path.write_text("half of a ")
        directory.mkdir()
        os.utime(old, (0, 0))
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.assertEqual([path.exists() for path in (dead, live, old, directory)], [False, True, False, True])

    def test_killed_while_restoring(self):
        """The file is the one or the other, and what is kept is whole."""
        large = [bytes([65 + i]) * 3000000 for i in range(2)]
        self.keep()
        self.file("f", large[0])
        self.restore("--force", "f", self.version(self.one))
        version = self.version(large[0])
        self.file("f", large[1])
        for i in range(24):
            run = subprocess.Popen([SEEN, "restore", "--force", "--session", "s", "f", version], cwd=self.work, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.0005 * i)
            run.send_signal(signal.SIGKILL)
            run.wait()
            self.assertIn(self.read(), large)
            self.file("f", large[1])
        kept = dict(packs.versions(self.session_directory()))
        for row in self.rows():
            self.assertIn(kept[row["hash"]], (*large, self.one, self.two))

    def test_colours(self):
        self.keep()
        terminal = Terminal([SEEN, "versions", "--session", "s"], self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\x1b[", terminal.output)


if __name__ == "__main__":
    unittest.main()

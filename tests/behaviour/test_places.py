"""Directories that are missing, full, unwritable or another's; damaged segments; the library alone."""
import os
import pathlib
import random
import subprocess
import sys
import unittest

from driver import DEADLINE, LIBRARY, NOTICE, Case, text_of

ROOT = os.geteuid() == 0


class Places(Case):
    def unharmed(self, *options, env=None):
        """A command under the program does what it does without it."""
        self.file("a")
        done = self.seen("run", *options, "--agent-is", "outside", "--", "bash", "-c", "cat a; cat a | wc -c; exit 7",
                         code=7, env=env or {})
        self.assertIn(text_of(), done.stdout)
        self.assertTrue(done.stdout.endswith(b"%d\n" % len(text_of())), done.stdout[-80:])
        return done

    def test_no_home(self):
        del self.env["HOME"]
        name = f"seen-test-{os.getpid()}"
        directory = pathlib.Path(f"/var/tmp/seen-{os.geteuid()}")
        there = directory.exists()
        try:
            self.unharmed("--session", name)
            status = self.json("status", "--session", name)
            self.assertEqual(status["session"]["folder"], str(directory / name))
            self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
        finally:
            subprocess.run(["rm", "-rf", str(directory / name)], check=False)
            if not there and directory.exists():
                subprocess.run(["rm", "-rf", str(directory)], check=False)

    def test_runtime_directory_in_XDG(self):
        runtime = self.top / "runtime"
        runtime.mkdir(mode=0o700)
        self.unharmed("--session", "s", env={"XDG_RUNTIME_DIR": str(runtime)})
        self.assertTrue((runtime / "seen/s/segment").exists())

    def test_directory_that_cannot_be_made(self):
        (self.top / "file").write_text("")
        done = self.unharmed("--runtime-dir", str(self.top / "file/x"), "--state-dir", str(self.top / "file/y"))
        self.assertIn(b"unobserved", done.stderr)
        self.assertNotIn(NOTICE, done.stdout)

    def test_runtime_directory_that_cannot_be_made_falls_back(self):
        (self.top / "file").write_text("")
        self.unharmed("--session", "s", "--runtime-dir", str(self.top / "file/x"))
        self.assertTrue((self.session_directory() / "segment").exists())

    def test_unwritable_directories(self):
        if ROOT:
            self.skipTest("root may write anywhere; the read-only mount below stands for it")
        (self.top / "closed").mkdir(mode=0o500)
        done = self.unharmed("--runtime-dir", str(self.top / "closed/x"), "--state-dir", str(self.top / "closed/y"))
        self.assertIn(b"unobserved", done.stderr)

    def mount(self, options):
        if not ROOT:
            self.skipTest("mounting needs root")
        place = self.top / "mount"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=False,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest(f"tmpfs cannot be mounted here: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=False)
        return place

    def test_read_only_directories(self):
        place = self.mount("size=1m,ro")
        done = self.unharmed("--runtime-dir", str(place / "x"), "--state-dir", str(place / "y"))
        self.assertIn(b"unobserved", done.stderr)
        self.seen("doctor", "--runtime-dir", str(place / "x"), "--state-dir", str(place / "y"), code=5)

    def test_one_mebibyte(self):
        place = self.mount("size=1m,mode=700")
        done = self.unharmed("--session", "small", "--runtime-dir", str(place), "--state-dir", str(place))
        self.assertRegex(done.stderr, rb"^seen: no journal: [^\n]*\n$")  # the segment comes first
        status = self.json("status", "--session", "small", "--runtime-dir", str(place), "--state-dir", str(place))
        self.assertLess(status["memory"]["bytes"], 1 << 20)
        self.assertEqual(status["counters"]["deliveries"], 1)

    def test_full(self):
        place = self.mount("size=1m,mode=700")
        with open(place / "fill", "wb", buffering=0) as fill:
            try:
                while fill.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        done = self.unharmed("--session", "s", "--runtime-dir", str(place), "--state-dir", str(place))
        self.assertIn(b"no space left", done.stderr)
        self.assertEqual([entry.name for entry in place.iterdir()], ["fill"])
        # the state directory takes over where it has room
        self.unharmed("--session", "s", "--runtime-dir", str(place))
        self.assertTrue((self.session_directory() / "segment").exists())

    def test_memory_that_becomes_full_while_a_run_goes_on(self):
        """A segment in memory gets room as it is used. Where there is none any more, what is read is given in full, and no program is killed."""
        place = self.mount("size=40m,mode=700")
        for number in range(40):
            self.file("f%d" % number)
        names = " ".join("f%d" % number for number in range(40))
        read = "for f in %s; do cat $f | wc -c; done" % names
        script = "cat a; %s; dd if=/dev/zero of=%s/fill bs=64k 2> /dev/null; dd if=/dev/zero of=%s/rest bs=1k 2> /dev/null; %s; cat a" % (
            read.replace(names, "f0 f1"), place, place, read)
        self.file("a")
        done = self.seen("run", "--session", "s", "--runtime-dir", str(place), "--summary", "--agent-is", "outside", "--", "bash", "-c", script, code=0)
        self.assertEqual(done.stdout.count(b"%d\n" % len(text_of())), 42, done.stdout[-300:])
        self.assertNotIn(b"Bus error", done.stderr)
        self.assertRegex(done.stderr, rb"no room in the session's tables: \d+ files forgotten")


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.file("a")
        self.external("cat a")
        self.segment = self.session_directory() / "segment"
        self.whole = self.segment.read_bytes()

    def refused_but_unharmed(self):
        for words in (("status",), ("files",), ("forget", "--all"), ("status", "--json")):
            self.assertIn(b"damaged", self.seen(*words, "--session", "s", code=4).stderr)
        done = self.seen("run", "--session", "s", "--agent-is", "outside", "--", "bash", "-c", "cat a", code=0)
        self.assertEqual(done.stdout, text_of())
        self.assertIn(b"damaged", done.stderr)
        # without --session, another one is looked for
        self.seen("status", code=3)
        # the library alone: silently
        bare = subprocess.run(["cat", "a"], cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                              env={**self.env, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": str(self.session_directory())})
        self.assertEqual((bare.stdout, bare.stderr), (text_of(), b""))

    def test_truncated(self):
        for size in (0, 1, 100, 4096, len(self.whole) - 1):
            self.segment.write_bytes(self.whole[:size])
            self.refused_but_unharmed()

    def test_random_header(self):
        self.segment.write_bytes(random.Random(1).randbytes(4096) + self.whole[4096:])
        self.refused_but_unharmed()

    def test_random_body(self):
        """The header is fine; what lies behind it is noise.  Nothing crashes, no program is harmed."""
        generator = random.Random(2)
        for round_number in range(6):
            damaged = bytearray(self.whole)
            for _ in range(1 if round_number < 3 else 200):
                at = generator.randrange(2048, len(damaged) - 65536)
                damaged[at:at + 65536] = generator.randbytes(65536)
            self.segment.write_bytes(damaged)
            for words in (("status",), ("status", "--json"), ("files",), ("files", "--json"), ("forget", "--all"),
                          ("forget", "a")):
                done = self.seen(*words, "--session", "s")
                self.assertIn(done.returncode, (0, 1, 4), (words, done.stderr))
                self.assert_plain(done.stdout)
            done = self.seen("run", "--session", "s", "--agent-is", "outside", "--", "bash", "-c", "cat a; exit 9", code=9)
            self.assertTrue(done.stdout == text_of() or done.stdout.startswith(NOTICE), done.stdout[:100])

    def test_not_a_file(self):
        self.segment.unlink()
        self.segment.mkdir()
        self.assertEqual(self.seen("status", "--session", "s").returncode, 4)
        self.segment.rmdir()
        os.symlink("/etc/passwd", self.segment)
        self.assertEqual(self.seen("status", "--session", "s").returncode, 4)

    def test_another_users(self):
        if not ROOT:
            self.skipTest("giving a file to another user needs root")
        os.chown(self.segment, 12345, 12345)
        self.assertIn(b"another user", self.seen("status", "--session", "s", code=4).stderr)
        os.chown(self.segment, 0, 0)
        os.chown(self.session_directory(), 12345, 12345)
        done = self.seen("run", "--session", "s", "--", "echo", "ran", code=0)
        self.assertEqual(done.stdout, b"ran\n")
        self.assertIn(b"another user", done.stderr)
        self.seen("files", "--session", "s", code=4)

    def test_writable_by_others(self):
        os.chmod(self.segment, 0o666)
        self.seen("status", "--session", "s", code=4)


class LibraryAlone(Case):
    def run_alone(self, *words, **variables):
        return subprocess.run(words, cwd=self.work, env={**self.env, "LD_PRELOAD": LIBRARY, **variables}, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE)

    def test_makes_the_session(self):
        self.file("a")
        for expect_notice in (False, True):
            done = self.run_alone("bash", "-c", "cat a", SEEN_SESSION="alone", SEEN_AGENT_IS="outside")
            self.assertEqual(done.stderr, b"")
            self.assertEqual(done.stdout.startswith(NOTICE), expect_notice)
        status = self.json("status", "--session", "alone")
        self.assertEqual((status["counters"]["requests"], status["counters"]["notices"]), (2, 1))

    def test_an_agent(self):
        self.file("a")
        (self.work / "pi.py").write_text("import subprocess\nfor i in range(2):\n    print(subprocess.run(['sh', '-c', "
                                         "'cat a'], stdout=subprocess.PIPE).stdout[:30])\n")
        done = self.run_alone(sys.executable, "pi.py", SEEN_SESSION="alone")
        self.assertEqual(done.stdout.count(NOTICE), 1, done.stdout)

    def test_without_session_nothing_happens(self):
        self.file("a")
        for variables in ({}, {"SEEN_SESSION": ""}, {"SEEN_SESSION": "alone", "SEEN_SESSION_MODE": "off"}):
            done = self.run_alone("bash", "-c", "cat a; cat a", SEEN_AGENT_IS="outside", **variables)
            self.assertEqual((done.stdout, done.stderr), (text_of() * 2, b""))
        self.assertFalse((self.home / ".local").exists())

    def test_invalid_name(self):
        self.file("a")
        for name in ("../x", "a b", "/nonexistent/folder"):
            self.assertEqual(self.run_alone("cat", "a", SEEN_SESSION=name).stdout, text_of())


if __name__ == "__main__":
    unittest.main()

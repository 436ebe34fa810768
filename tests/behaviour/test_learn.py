"""`seen learn`: what sessions did, as a policy.  The same work passes under it, and what is new is a finding."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from driver import Case

WORKS = shutil.which("bwrap") and subprocess.run(["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"], stderr=subprocess.DEVNULL).returncode == 0
WORK = ("for i in 1 2 3; do echo $i > out.$i; done; mkdir -p ~/.cache/tool; echo x > ~/.cache/tool/$$; cat in > /dev/null; ls /usr > /dev/null; "
        "echo t > $TMPDIR/t.$$; cp in ~/.tool.1234; rm out.1; mv out.2 out.4; cat $OTHER/a/b/file > /dev/null")


class Learn(Case):
    def setUp(self):
        super().setUp()
        other = self.top / "other"
        (other / "a/b").mkdir(parents=True)
        (other / "a/b/file").write_text("content\n")
        (self.work / "in").write_text("in\n")
        self.env["OTHER"] = str(other)
        (self.home / ".cache").mkdir()

    def learned(self, *options, work=WORK):
        self.seen("run", "--session", "first", "--", "bash", "-c", work, code=0)
        path = self.top / "policy"
        path.write_bytes(self.seen("learn", *options, "first", code=0).stdout)
        return path

    def test_same_work_passes(self):
        policy = self.learned()
        for via in ("auto", "both", "supervise"):
            done = self.seen("run", "--config", str(policy), "--fail-on=rule", "--via", via, "--", "bash", "-c", WORK, code=0)
            self.assertEqual(done.stderr, b"")

    def test_cache_is_read_later(self):
        """What the first run wrote to a cache, the next one may find there and read."""
        policy = self.learned()
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", "cat ~/.cache/tool/* > /dev/null", code=0)

    def test_new_is_refused(self):
        """A read, a write and a program that are new are refused, and are findings."""
        policy = self.learned()
        tool = self.home / "tool"
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        (self.home / "notes").write_text("n\n")
        for command in ("cat ~/notes", "echo x > ~/.bashrc", "~/tool", "rm ~/notes", "mkdir ~/new", "cat $OTHER/../home/notes"):
            with self.subTest(command):
                done = self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", command, code=14)
                self.assertIn(b"learned-", done.stderr)
        self.assertFalse((self.home / ".bashrc").exists())
        self.assertTrue((self.home / "notes").exists())

    def test_complain(self):
        policy = self.learned("--complain")
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", "echo x > ~/.bashrc", code=14)
        self.assertEqual((self.home / ".bashrc").read_text(), "x\n")
        self.assertIn(b"--complain is for rules", self.seen("learn", "--complain", "--format", "bwrap", code=2).stderr)

    def test_places(self):
        """Few places, those to decide about first; sessions are added up."""
        policy = self.learned().read_text()
        self.assertIn("except = ~/.cache/tool\n", policy)
        self.assertIn("except = $TMPDIR\n", policy)
        self.assertIn(" ~/.tool.*", policy)
        write = policy.split("[rule learned-write]")[1].split("[rule")[0]
        self.assertLess(write.index("; the home directory"), write.index("; caches"))
        self.assertLess(write.index("; temporary files"), write.index("; the workspace"))
        self.seen("run", "--session", "second", "--", "bash", "-c", "echo x > ~/.second", code=0)
        both = self.seen("learn", "first", "second", code=0).stdout.decode()
        self.assertIn("Learned from 2 sessions", both)
        self.assertIn("~/.second", both)

    def test_strange_names(self):
        """Names with blanks and with what globs are made of."""
        names = ("a b", "star*", "q?x", "br[a]", "semi;colon", "back\\slash", "#hash", "$HOME")
        for name in names:
            (self.home / name).mkdir()
        work = "".join(f"echo x > ~/'{name}'/f\n" for name in names)
        policy = self.learned(work=work)
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", work, code=0)

    def test_names_that_no_file_holds(self):
        """A seen.ini holds neither control characters nor bytes that are no UTF-8: the policy is one all the same."""
        names = (b"line\nbreak", b"esc\x1b[31m", b"lat\xe9", b"c1\xc2\x85", b"quo'te\"", b"-dash", b" first", b"\xc3\xbc", b"long" * 60)
        for name in names:
            os.mkdir(os.path.join(os.fsencode(self.home), name))
        work = b"".join(b"echo x > ~/$'" + b"".join(b"\\x%02x" % byte for byte in name) + b"'/f\n" for name in names).decode()
        policy = self.learned(work=work)
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", work, code=0)
        self.assertIn("ü", policy.read_text())

    def test_several_left_out(self):
        """The policy says how many, each counted once."""
        policy = self.learned(work="chmod 755 ~; chmod 755 ~/..; chmod 700 ~; cat in > /dev/null")
        self.assertIn(f"; Left out: {self.home.resolve()} and 1 other were themselves opened or changed, which as places", policy.read_text())

    def test_home_itself(self):
        """Names in the home directory, and in those above it, are learned as that: no file there may be read for it."""
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/id_rsa").write_text("KEY")
        work = "ls ~ ~/.. / > /dev/null; chmod 755 ~; cat in > /dev/null"
        policy = self.learned(work=work)
        self.assertIn(f"; Left out: {self.home.resolve()} itself was opened or changed, which as a place", policy.read_text())
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", "ls ~ ~/.. / > /dev/null; cat in > /dev/null", code=0)
        for command in ("cat ~/.ssh/id_rsa", "echo x > ~/new", "chmod 700 ~/.ssh", f"cat {self.top}/other/a/b/file"):
            with self.subTest(command):
                done = self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", command, code=14)
                self.assertNotIn(b"KEY", done.stdout)
        rules = json.loads(self.seen("learn", "--format", "landlock", "first", code=0).stdout)
        (home,) = [rule["allowed_access"] for rule in rules["path_beneath"] if rule["parent"] == str(self.home.resolve())]
        self.assertEqual(home, ["READ_DIR"])
        script = self.seen("learn", "--format", "bwrap", "first", code=0).stdout.decode()
        self.assertNotIn(f"'{self.home.resolve()}'", script)

    def test_home_below_the_temporary_directory(self):
        """$TMPDIR is no place then: it would allow all of the home directory."""
        env = {"TMPDIR": str(self.top)}
        self.seen("run", "--session", "first", "--", "bash", "-c", "echo x > $TMPDIR/t", env=env, code=0)
        policy = self.top / "policy"
        policy.write_bytes(self.seen("learn", "first", env=env, code=0).stdout)
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", "echo x > $TMPDIR/t", env=env, code=0)
        self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", "echo x > ~/.bashrc", env=env, code=14)

    def test_many_places(self):
        """Many directories elsewhere are a directory above them; what lies below a place is none of its own."""
        out = self.top / "other/out"
        for made in (True, False):  # by the session, so that the directory above is a place; before it
            shutil.rmtree(out, ignore_errors=True)
            for i in range(60):
                (out / f"{'x' * 200}/{i}/in").mkdir(parents=True)
            if made:
                shutil.rmtree(out)
            work = f"for i in $(seq 0 59); do {'mkdir -p $OUT/$i/in;' if made else ''} echo x > $OUT/$i/in/f; done"
            self.env["OUT"] = str(out / ("x" * 200))
            session = f"made-{made}"
            self.seen("run", "--session", session, "--", "bash", "-c", work, code=0)
            policy = self.top / "policy"
            policy.write_bytes(self.seen("learn", session, code=0).stdout)
            with self.subTest(made=made):
                self.assertLess(len(policy.read_text().splitlines()), 30)
                self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", work, code=0)
                for command in (f"echo x > {self.top}/new", "echo x > ~/.bashrc"):
                    self.seen("run", "--config", str(policy), "--fail-on=rule", "--", "bash", "-c", command, code=14)

    def test_too_long(self):
        """In the home directory they stay, and a line reports a policy that no session has room for."""
        work = f"mkdir ~/.{'x' * 150}-{{a..t}}{{a..t}}"
        policy = self.learned(work=work)
        self.assertIn(b"`seen run --config` does not start with it", self.seen("learn", "first", code=0).stderr)
        done = self.seen("run", "--config", str(policy), "--", "true", code=125)
        self.assertRegex(done.stderr.decode(), r"the texts of all options need \d+ bytes, a session holds 65536; the largest is \[rule learned-write\] except with \d+, set by ")

    def test_damaged(self):
        """Records that cannot be read are counted in the policy's first lines."""
        self.learned()
        self.assertNotIn(b"damaged", self.seen("learn", "first", code=0).stdout)
        (journal,) = self.home.glob(".local/state/seen/first/journal")
        with open(journal, "r+b") as file:
            file.seek(192)  # how many units of 64 bytes there are; the room behind them is cut off some time after the run
            file.seek(struct.unpack("<Q", file.read(8))[0] * 64 - 4096)
            file.write(b"\xff" * 4096)
        done = self.seen("learn", "first")
        self.assertRegex(done.stdout.decode(), r"(?m)^; \d+ records? (is|are) damaged, or could not be written: what these were about is not here\.$")

    @unittest.skipUnless(WORKS, "bubblewrap does not work here")
    def test_bwrap(self):
        """The same work passes below bubblewrap; what was not touched is not there."""
        script = self.learned("--format", "bwrap", work=WORK.replace("cp in ~/.tool.1234; ", ""))
        (self.home / "notes").write_text("n\n")
        run = lambda command: subprocess.run(["sh", str(script), "bash", "-c", command], env=self.env, cwd=self.work, capture_output=True, check=False)
        done = run("set -e; " + WORK.replace("cp in ~/.tool.1234; ", ""))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertNotEqual(run("cat ~/notes").returncode, 0)
        self.assertNotEqual(run("echo x > /usr/new").returncode, 0)

    @unittest.skipUnless(WORKS, "bubblewrap does not work here")
    def test_bwrap_workspace(self):
        """It is there where nothing in it was touched, and in a directory that the sandbox has one of its own in the place of."""
        with tempfile.TemporaryDirectory(prefix="seen-test.", dir="/dev/shm") as shared:
            for name, workspace, work, names in (("untouched", self.work, "pwd", ""), ("shared", pathlib.Path(shared), "echo x > f; pwd", "f\ng\n")):
                with self.subTest(name):
                    (workspace / "g").write_text("g\n")
                    self.seen("run", "--session", name, "--", "bash", "-c", work, cwd=workspace, code=0)
                    script = self.seen("learn", "--format", "bwrap", name, code=0).stdout
                    done = subprocess.run(["sh", "-c", script, "sh", "bash", "-c", work + "; ls"], env=self.env, cwd="/", capture_output=True, check=False)
                    self.assertEqual((done.returncode, done.stdout.decode(), done.stderr), (0, f"{workspace}\n{names}", b""))

    def test_landlock(self):
        rules = json.loads(self.learned("--format", "landlock").read_text())
        self.assertEqual(rules["schema"], "seen/landlock/1")
        by_path = {rule["parent"]: rule["allowed_access"] for rule in rules["path_beneath"]}
        self.assertIn("WRITE_FILE", by_path[str(self.work.resolve())])
        self.assertNotIn("WRITE_FILE", by_path["/usr"])
        self.assertLessEqual({right for rights in by_path.values() for right in rights}, set(rules["handled_access_fs"]))

    def test_wrong(self):
        self.learned()
        self.assertIn(b"none of: rules, bwrap, landlock", self.seen("learn", "--format", "x", code=2).stderr)
        self.assertNotEqual(self.seen("learn", "nosuch").returncode, 0)
        (self.top / "elsewhere").mkdir()
        self.seen("run", "--session", "third", "--", "bash", "-c", "echo x > f", cwd=self.top / "elsewhere", code=0)
        self.assertIn(b"another workspace", self.seen("learn", "first", "third", code=2).stderr)


if __name__ == "__main__":
    unittest.main()

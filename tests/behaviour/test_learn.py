"""`seen learn`: what sessions did, as a policy.  The same work passes under it, and what is new is a finding."""
import json
import os
import shutil
import subprocess
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

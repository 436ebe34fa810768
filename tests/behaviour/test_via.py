"""`--via` and what `seen status` reports about it: what is zero is a field, and no text."""
import shutil
import subprocess
import unittest

from driver import SEEN, Case


class Via(Case):
    def test_status(self):
        self.seen("run", "--via", "preload", "--", "true", code=0)
        processes = self.json("status")["processes"]
        self.assertEqual((processes["supervised"], processes["calls_unjudged"]), (0, 0))
        self.assertGreaterEqual(processes["observed"], 1)
        text = self.seen("status", code=0).stdout
        self.assertNotIn(b"supervisor", text)
        self.assertNotIn(b"unjudged", text)

    def test_refused(self):
        done = self.seen("run", "--via", "ptrace", "--", "true", code=125)
        self.assertIn(b"none of: auto, preload, supervise, both", done.stderr)
        (self.work / ".seen.ini").write_text("[session]\nvia = preload\n")
        self.assertIn(b"may not set it", self.seen("run", "--workspace", str(self.work), "--", "true", code=125).stderr)

    def test_without_the_library(self):
        """As in a static build: the supervisor alone observes, and a line says so."""
        if not self.json("doctor")["supervisor"]["possible"]:
            self.skipTest("there can be no supervisor here")
        (self.top / "alone/bin").mkdir(parents=True)
        shutil.copy(SEEN, self.top / "alone/bin/seen")
        self.file("f")
        words = [str(self.top / "alone/bin/seen"), "run", "--session", "s"]
        done = subprocess.run([*words, "--", "rm", "f"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        self.assertTrue(done.stderr.startswith(b"seen: lib/seen/libseen.so is not beside this program: the supervisor alone observes"), done.stderr)
        self.assertFalse((self.work / "f").exists())
        self.assertEqual(self.json("status", "--session", "s")["processes"]["unobserved"], 0)
        self.seen("undo", "--session", "s", "--all", code=0)
        self.assertTrue((self.work / "f").exists())
        done = subprocess.run([*words, "--via", "supervise", "--", "true"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              check=True)
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main()

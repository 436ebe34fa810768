"""`--via` and what `seen status` reports about it: what is zero is a field, and no text."""
import unittest

from driver import Case


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


if __name__ == "__main__":
    unittest.main()

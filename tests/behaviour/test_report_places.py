"""report: where it is written: the rest of test_report_sums.py."""

import json
import os
import resource
import signal
import unittest

from test_log import UNIT, Journal
from test_report_sums import ReportCase


class Places(ReportCase):
    def setUp(self):
        super().setUp()
        self.journal = Journal(self.path)
        process = self.journal.start(100)
        self.journal.record("open", process=process, path=b"a", fd=3)
        self.summary = self.top / "summary"
        self.github = {"env": {"GITHUB_STEP_SUMMARY": str(self.summary)}}

    def test_empty_and_damaged(self):
        Journal(self.top / "empty")
        for form in ("text", "md"):
            self.assertIn(b"nothing was recorded", self.report("--format", form, path=str(self.top / "empty")))
        document = self.document(path=str(self.top / "empty"))
        self.validate_by("report.schema.json", [document])
        self.assertEqual((document["events"]["count"], document["start"], document["seal"]["verdict"]), (0, None, "no_seal"))
        self.journal.undone()
        broken = self.journal.record("open", path=b"b", fd=3)
        self.journal.file.seek(broken * UNIT + 20)
        self.journal.file.write(b"!")
        document = self.document()
        self.assertEqual([document["coverage"][name] for name in ("undone", "damaged")], [1, 1])
        self.assertIn(b"missing    1 record not finished, 1 record damaged\n", self.report())
        (self.top / "short").write_bytes(b"seenjrnl" + b"\0" * 4000)
        self.assertIn(b"it is damaged", self.seen("report", "--journal", str(self.top / "short"), code=4).stderr)
        self.seen("report", "--journal", str(self.top / "none"), code=1)

    def test_output(self):
        target = self.top / "report.md"
        self.assertEqual(self.report("--format", "md", "--output", str(target)), b"")
        self.assertEqual(target.read_bytes(), self.report("--format", "md"))
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        self.assertIn(b"\nread       1 file, 0 bytes\nwritten    0 files, 0 bytes\n", self.report())
        self.assertIn(b"is the journal", self.seen("report", "--journal", self.path, "--output", self.path, code=2).stderr)
        self.assertIn(b"No such file", self.seen("report", "--journal", self.path, "--output", str(self.top / "no/x"), code=6).stderr)

    def test_a_full_disk(self):
        """What was there stays, nothing is left beside it, and one line says why."""
        directory = self.top / "out"
        directory.mkdir()
        target = directory / "report.json"
        target.write_bytes(b"older")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for words in (("--json",), ("--format", "md", "--top", "5"), ("--format", "html",)):
            done = self.seen("report", "--journal", self.path, *words, "--output", str(target), code=6, preexec_fn=limit)
            self.assertRegex(done.stderr, rb"\Aseen: /.*report.json: File too large\n\Z")
            self.assertEqual((target.read_bytes(), os.listdir(directory)), (b"older", ["report.json"]))
        large = self.made_journal(1500)
        for path, words in ((self.path, ("--json",)), (self.path, ()), (large, ("--json",)), (large, ("--format", "html"))):
            with open("/dev/full", "wb") as full:
                done = self.seen("report", "--journal", path, *words, code=6, stdout=full)
            self.assertEqual(done.stderr, b"seen: cannot write the output: No space left on device\n")

    def test_github(self):
        self.assertEqual(self.report("--github", **self.github), b"")
        first = self.summary.read_bytes()
        self.assertEqual(first, self.report("--format", "md"))
        self.summary.write_bytes(b"# Tests")  # a line without an end, of another
        self.assertEqual(json.loads(self.report("--github", "--json", **self.github))["session"], "test")
        self.assertEqual(self.summary.read_bytes(), b"# Tests\n" + first)
        done = self.seen("report", "--journal", self.path, "--github", code=2)
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.assertIn(b"$GITHUB_STEP_SUMMARY is not set", done.stderr)

    def test_github_limit(self):
        first = self.report("--format", "md")
        limit = 1 << 20
        for there, fits in ((limit - len(first) - 1, True), (limit - len(first), False), (limit - 300, False)):
            self.summary.write_bytes(b"x" * (there - 1) + b"\n")
            done = self.seen("report", "--journal", self.path, "--github", code=0, **self.github)
            added = self.summary.read_bytes()[there:]
            self.assertLessEqual(there + len(added), limit)
            if fits:
                self.assertEqual((added, done.stderr), (first, b""))
                continue
            head, cut = added.split(b"\n**Cut here: ")
            self.assertTrue(first.startswith(head) and head.endswith(b"\n"))
            self.assertTrue(cut.endswith(b"**\n"))
            self.assertIn(b"was cut", done.stderr)
        for there in (limit - 50, limit, limit + 5):
            self.summary.write_bytes(b"x" * there)
            done = self.seen("report", "--journal", self.path, "--github", code=6, **self.github)
            self.assertIn(b"nothing was added", done.stderr)
            self.assertEqual(self.summary.stat().st_size, there)

    def test_github_that_cannot_be_written(self):
        for place, words in ((self.top, b"Is a directory"), ("/dev/full", b"No space left"), (self.top / "no/x", b"No such file")):
            done = self.seen("report", "--journal", self.path, "--github", "--json", code=6, env={"GITHUB_STEP_SUMMARY": str(place)})
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, b"")

    def test_a_session(self):
        self.file("f")
        self.agent("cat f", "cat f", "echo x > g", "cat f | wc -l")
        report = self.json("report", "--session", "s")
        counters = self.json("status", "--session", "s")["counters"]
        self.validate_by("report.schema.json", [report])
        self.assertEqual((report["session"], report["workspace"]), ("s", str(self.work)))
        self.assertEqual((report["saved"]["notices"], report["saved"]["bytes"]), (1, counters["bytes_saved"]))
        self.assertEqual(report["counters"]["notices"], 1)
        self.assertEqual(report["seal"]["verdict"], "intact")
        [run] = report["runs"]
        self.assertIn("agent.py", run["command"])
        self.assertLessEqual(run["start"], run["end"])
        row = next(row for row in report["files"]["by_repeats"] if row["path"] == "f")
        self.assertEqual((row["repeats"], row["work"]["notices"], row["given"]), (2, 1, 1))
        self.assertIn("g", {row["path"] for row in report["files"]["by_written"]})
        self.assertIn("cat", {os.path.basename(row["executable"]) for row in report["programs"]["rows"]})
        starts, forks = (report["events"]["by_op"][op]["count"] for op in ("start", "fork"))
        self.assertEqual((report["coverage"]["observed"], report["processes"]["count"]), (starts, starts + forks))
        self.assertIn(b"Programs that were started: %d, as coverage counts them; copies of them (fork): %d." % (starts, forks),
                      self.seen("report", "--session", "s", code=0).stdout.replace(b"\n", b" "))
        # Its journal outlives its segment, and reports the same of all that it holds.
        (self.session_directory() / "segment").unlink()
        alone = self.json("report", "--session", "s")
        self.assertEqual((alone["counters"], alone["instructions"]), (None, None))
        self.assertEqual({**alone, "counters": 0, "instructions": 0}, {**report, "counters": 0, "instructions": 0})
        with open(self.session_directory() / "journal", "r+b") as journal:
            journal.seek(200 * UNIT + 30)
            journal.write(b"!")
        self.assertEqual(self.json("report", "--session", "s")["seal"]["verdict"], "tampered")
        self.assertIn(b"NOT what was sealed", self.seen("report", "--session", "s", code=0).stdout)


if __name__ == "__main__":
    unittest.main()

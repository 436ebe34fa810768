"""gain: what all sessions on disk saved, and which it reports that it cannot count."""
import json
import os
import shutil
import struct
import time
import unittest

from driver import Case, text_of

DAY_NS = 86400 * 10**9
VERSION_AT, CREATED_AT, SEGMENT_VERSION_AT = 8, 16, 8  # tracker/journal/journal.h, tracker/segment/segment.h


class Gain(Case):
    def setUp(self):
        super().setUp()
        self.state = self.home / ".local/state/seen"

    def sessions_made(self):
        """Two sessions of one agent, one of another in another workspace: their sums by `seen status`."""
        self.file("a.txt")
        self.agent("cat a.txt", "cat a.txt", "cat a.txt", "sed -n 1,50p a.txt", "sed -n 1,50p a.txt", session="one")
        self.agent("cat a.txt", "cat a.txt", session="two")
        other = self.top / "other"
        other.mkdir()
        (other / "b.txt").write_bytes(text_of(90))
        self.agent("cat b.txt", "cat b.txt", session="three", cwd=other)
        sums = {}
        for name in ("one", "two", "three"):
            counters = self.json("status", "--session", name)["counters"]
            sums[name] = {"sessions": 1, "notices": counters["notices"], "diffs": counters["diffs"], "commands": counters["requests_answered"],
                          "given_again": counters["yields"], "bytes_saved": counters["bytes_saved"]}
        return sums

    def add(self, *parts):
        return {key: sum(part[key] for part in parts) for key in parts[0]}

    def figures(self, sums):
        return {key: sums[key] for key in ("sessions", "notices", "diffs", "commands", "given_again", "bytes_saved")}

    def gain(self, *words, **more):
        document = self.json("gain", *words, **more)
        self.validate_by("gain.schema.json", [document])
        return document

    def patch(self, path, at, form, value):
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(struct.pack(form, value))

    def test_none(self):
        done = self.seen("gain", code=1)
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.assertIn(b"no sessions yet", done.stderr)
        self.assertEqual(self.gain(code=1)["total"]["sessions"], 0)

    def test_sums_are_those_of_status(self):
        sums = self.sessions_made()
        self.assertGreater(sums["one"]["bytes_saved"], 0)
        self.assertEqual((sums["one"]["commands"], sums["one"]["given_again"]), (1, 1))
        document = self.gain()
        total = document["total"]
        self.assertEqual(self.figures(total), self.add(*sums.values()))
        self.assertEqual(total["tokens_saved_estimate"], (total["bytes_saved"] * 2 + 6) // 7)
        self.assertEqual((document["rows"], document["by"], document["days"], total["cost"], document["not_counted"]), ([], None, None, None, {}))
        agent, = self.gain("--by", "agent")["rows"]
        self.assertEqual((agent["name"], self.figures(agent)), ("agent", self.add(*sums.values())))
        programs = {row["name"]: self.figures(row) for row in self.gain("--by", "program")["rows"]}
        self.assertEqual({name: row["sessions"] for name, row in programs.items()}, {"cat": 3, "sed": 1})
        self.assertEqual({**self.add(*programs.values()), "sessions": 3}, self.add(*sums.values()))
        self.assertEqual((programs["sed"]["commands"], programs["cat"]["commands"]), (1, 0))
        of_one = {row["name"]: row for row in self.json("status", "--session", "one")["programs"]}
        self.assertEqual({name: (row["notices"], row["commands"], row["given_again"]) for name, row in of_one.items()},
                         {"cat": (sums["one"]["notices"], 0, 1), "sed": (0, 1, 0)})
        self.assertEqual(sum(row["bytes_saved"] for row in of_one.values()), sums["one"]["bytes_saved"])
        self.assertEqual(of_one["sed"]["remembered"], 1)
        lines = [line for line in self.seen("status", "--session", "one").stdout.decode().splitlines() if " given again, " in line]
        self.assertEqual([line.split()[0] for line in lines], ["answered", lines[1].split()[0]])
        day, = self.gain("--by", "day", "--days", "1")["rows"]
        self.assertEqual((day["name"], self.figures(day)), (document["first"][:10], self.add(*sums.values())))
        projects = {row["name"]: self.figures(row) for row in self.gain("--by", "project")["rows"]}
        self.assertEqual(projects, {str(self.work): self.add(sums["one"], sums["two"]), str(self.top / "other"): sums["three"]})

    def test_price(self):
        self.sessions_made()
        document = self.gain("--price", "2.5", "--by", "project")
        for sums in (document["total"], *document["rows"]):
            self.assertAlmostEqual(sums["cost"], sums["tokens_saved_estimate"] * 2.5 / 1e6)
        shown = self.seen("gain", "--price", "1000", code=0).stdout.decode()
        self.assertIn(" %.4f " % (document["total"]["tokens_saved_estimate"] / 1000), shown)
        for price in ("", "-1", "1e3", "1,5", "nan", "3.", ".5", "0x10", "9" * 40):
            self.seen("gain", f"--price={price}", code=2)

    def test_only_a_journal_is_left(self):
        """The segment is gone, as after a boot: the same figures, but of the journal."""
        sums = self.sessions_made()
        for name in sums:
            (self.state / name / "segment").unlink()
        document = self.gain("--by", "agent")
        self.assertEqual(self.figures(document["total"]), self.add(*sums.values()))
        self.assertEqual((document["by_journal"], document["incomplete"]), (3, 0))
        self.assertEqual([row["name"] for row in document["rows"]], ["agent"])
        shown = self.seen("gain", code=0).stdout
        self.assert_plain(shown)
        self.assertIn(b"3 counted by the journal", shown)
        # A record that does not hold is none, and that is reported.
        journal = self.state / "one" / "journal"
        bytes_ = bytearray(journal.read_bytes())
        for at in range(128 * 64, len(bytes_), 64):
            if bytes_[at + 4] == NOTICE_OP:
                bytes_[at + 40] ^= 0xff
        journal.write_bytes(bytes_)
        document = self.gain()
        self.assertEqual(document["incomplete"], 1)
        self.assertLess(document["total"]["bytes_saved"], self.add(*sums.values())["bytes_saved"])
        self.assertIn(b"1 of these lack records", self.seen("gain", code=0).stdout)

    def test_what_cannot_be_read_is_said(self):
        sums = self.sessions_made()
        (self.state / "two" / "segment").write_bytes(b"x" * 4096)
        self.patch(self.state / "three" / "segment", SEGMENT_VERSION_AT, "<I", 77)
        self.patch(self.state / "three" / "journal", VERSION_AT, "<I", 77)
        states = {session["name"]: session["state"] for session in self.json("sessions")["sessions"]}
        self.assertEqual(states, {"one": "ended", "two": "damaged", "three": "other version"})
        document = self.gain()
        self.assertEqual(document["not_counted"], {"damaged": 1, "other version": 1})
        self.assertEqual(self.figures(document["total"]), sums["one"])
        shown = self.seen("gain", code=0).stdout.decode()
        self.assertIn("1 of state `damaged`", shown)
        self.assertIn("1 of state `other version`", shown)
        shutil.rmtree(self.state / "one")
        done = self.seen("gain", code=1)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"of 2 sessions nothing can be read", done.stderr)

    def test_another_versions_segment_with_a_journal_that_is_read(self):
        sums = self.sessions_made()
        self.patch(self.state / "three" / "segment", SEGMENT_VERSION_AT, "<I", 77)
        document = self.gain()
        self.assertEqual((self.figures(document["total"]), document["by_journal"]), (self.add(*sums.values()), 1))

    def test_days(self):
        self.sessions_made()
        now = time.time_ns()
        for name, age in (("one", 0.5), ("two", 1.5), ("three", 40)):
            (self.state / name / "segment").unlink()
            self.patch(self.state / name / "journal", CREATED_AT, "<Q", now - int(age * DAY_NS))
        for days, count in ((1, 1), (2, 2), (39, 2), (41, 3), (36500, 3)):
            self.assertEqual(self.gain("--days", str(days))["total"]["sessions"], count, days)
        rows = self.gain("--by", "day")["rows"]
        self.assertEqual([row["name"] for row in rows],
                         [time.strftime("%Y-%m-%d", time.gmtime(now / 1e9 - age * 86400)) for age in (40, 1.5, 0.5)])
        shutil.rmtree(self.state / "one")
        self.assertIn(b"in these days", self.seen("gain", "--days", "1", code=1).stderr)
        for days in ("0", "-1", "x", "", "36501", "1.5"):
            self.seen("gain", f"--days={days}", code=2)

    def test_usage(self):
        for words in (("--by", "week"), ("--by", "all"), ("--by", ""), ("word",), ("--session", "s")):
            self.assertEqual(self.seen("gain", *words, code=2).stderr.count(b"\n"), 1)

    def test_names_of_others(self):
        """A workspace whose name would draw on the terminal."""
        strange = self.top / "a\x1b[31mb\nc"
        strange.mkdir()
        self.agent("true", session="one", cwd=strange)
        self.assert_plain(self.seen("gain", "--by", "project", code=0).stdout)
        self.assertEqual(self.gain("--by", "project")["rows"][0]["name"], str(strange))

    def test_a_session_that_runs(self):
        """One in use counts as far as it has come."""
        self.file("a.txt")
        self.agent("cat a.txt", "cat a.txt", f"LD_PRELOAD= {shutil.which('env')} -i HOME={self.home} {os.environ['SEEN_BUILD']}/bin/seen gain --json "
                   "> ../gain.json", session="live", options=("--via", "preload"))
        self.assertEqual(json.loads((self.top / "gain.json").read_text())["total"]["notices"], 1)

    def test_a_thousand_sessions(self):
        """Quickly, where the journal is all that is left, and half of them have 2,000 events."""
        self.sessions_made()
        journal = (self.state / "one" / "journal").read_bytes()
        (self.state / "one" / "segment").unlink()
        for name in ("two", "three"):
            shutil.rmtree(self.state / name)
        one = self.figures(self.gain()["total"])
        self.assertGreater(one["notices"], 0)
        many = open(self.made_journal(2000), "rb").read()  # as long as a day's, perhaps
        shutil.rmtree(self.top / "made")
        for i in range(1000):
            directory = self.state / f"s{i}"
            directory.mkdir(mode=0o700)
            (directory / "journal").write_bytes(many if i % 2 else journal)
            (directory / "journal").chmod(0o600)
        begin = os.times()
        document = self.gain("--by", "agent")
        end = os.times()
        self.assertLess(end.children_user + end.children_system - begin.children_user - begin.children_system, 20)
        self.assertEqual(document["total"]["sessions"], 1001)
        agent, = (row for row in document["rows"] if row["name"] == "agent")
        self.assertEqual(self.figures(agent), {key: value * 501 for key, value in one.items()})


def notice_op():
    """The number of the op in the journal, by the order of tracker/journal/ops.def."""
    import re
    text = open(os.path.join(os.environ["SEEN_SOURCE"], "tracker/journal/ops.def")).read()
    return re.findall(r"^OP\((\w+),", text, re.M).index("NOTICE") + 1


NOTICE_OP = notice_op()

if __name__ == "__main__":
    unittest.main()

"""export: each table against `seen log --json`, read by others; resumed at any record; live sessions; refusals; memory."""
import csv
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
import unittest

from driver import BUILD, DEADLINE, SANITIZED, SEEN, SOURCE
from ops import columns
from test_log import HOSTILE, OPS, VFORKED, AT_FDCWD, Journal, LogCase, bytes_of, unescaped

PEAK = str(BUILD / "tests" / "bench" / "peak")
LONG = os.environ.get("SEEN_LONG")
FORMATS = re.findall(r"FORMAT\((\w+)\)", re.search(r"#define EXPORT_FORMATS\(FORMAT\)(.*?[^\\])\n", (SOURCE / "cli/export/export.h").read_text(), re.S)[1])


def is_of_kind(kind, name):
    return f".kind = {kind}," in (SOURCE / f"cli/export/export_{name}.c").read_text()


LINES = [name for name in FORMATS if is_of_kind("EXPORT_ROWS", name)]  # what can be added to
COLUMNS = columns()


def plain(text):
    """The bytes of a cell: words of text for people."""
    return unescaped(text.encode())


def flat(line):
    """An event of seen/log/1 by columns."""
    cells = {}
    for name, value in line.items():
        if name == "file":
            cells.update({f"file_{key}": part for key, part in (value or {}).items()})
        elif name == "flags" and value is not None:
            cells[name] = "|".join(value)
        elif name == "partial" and line["op"] == "coverage":
            cells["partial_processes"] = value
        else:
            cells[name] = value
    return cells


class ExportCase(LogCase):
    def export(self, kind, *words, code=0, **more):
        return self.seen("export", "--format", kind, "--journal", self.path, *words, code=code, **more)

    def out(self, *words, **more):
        return self.export(*words, **more).stdout

    def made(self, events, *words):
        self.path = self.made_journal(events, *words)


class Tables(ExportCase):
    def hostile(self):
        journal = self.every_op()
        process = journal.start(pid=7, executable=b"/bin/=x", arguments=(b"=cmd", b"new\nline", b"\xc2\x9b\x7f", b"\xff", b""))
        for name in [*HOSTILE, b"=cmd|' /C calc'!A0", b"+1", b"-1", b"@SUM(1)", "＝1".encode(), b"a,b", b"\"", b"\x09=1"]:
            journal.record("open", path=name, process=process)
            journal.record("rename", path=name, other=b"/t/" + name, process=process, fd=AT_FDCWD)
        journal.record("delete", path=b"a", process=process, marks=VFORKED, tid=8)

    def rows(self, text):
        return list(csv.DictReader(text.decode().splitlines(), strict=True))

    def compare(self, cells, line, truth, names):
        """Do the cells of a row say what the event does?  truth: of booleans."""
        expected = flat(line)
        for name in names:
            value, cell = expected.get(name), cells.get(name)
            if value is None:
                self.assertIn(cell, (None, ""), (name, line))
            elif name == "arguments":
                self.assertEqual(json.loads(cell), value)
            elif isinstance(value, bool):
                self.assertIn(cell, truth[value], (name, line))
            elif isinstance(value, int):
                self.assertEqual(int(cell), value, (name, line))
            else:
                self.assertEqual(plain(cell), bytes_of(value), (name, line))

    def check_csv(self):
        text = self.out("csv")
        rows, lines = self.rows(text), self.lines()
        self.assertEqual(len(rows), len(lines))
        self.assertNotRegex(text, rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
        for row, line in zip(rows, lines):
            self.assertEqual(row["more"], "", "a member without a column")
            self.compare(row, line, {True: ["true"], False: ["false"]}, [name for name, _ in COLUMNS])
            for cell in row.values():
                self.assertNotRegex(cell, "^[=+@\t\r＝＋－＠-]", line)
        return rows

    def check_sqlite(self, name="db"):
        self.out("sqlite", "--output", name)
        database = sqlite3.connect(self.work / name)
        self.addCleanup(database.close)
        database.row_factory = sqlite3.Row
        rows, lines = list(database.execute("SELECT * FROM log ORDER BY number")), self.lines()
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, lines):
            more = json.loads(row["more"] or "{}")
            cells = {key: row[key] for key in row.keys() if key != "more"}
            self.assertFalse(set(more) & set(cells))
            self.compare({**cells, **more}, line, {True: [1], False: [0, None]}, [column for column, _ in COLUMNS])
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        self.assertEqual(list(database.execute("PRAGMA foreign_key_check")), [])
        return database

    def test_made_by_hand(self):
        self.hostile()
        self.check_csv()
        self.check_sqlite()

    def test_of_a_session(self):
        self.made(3000, "--hostile")
        rows = self.check_csv()
        database = self.check_sqlite()
        self.assertEqual(rows[0]["journal"], database.execute("SELECT journal FROM sessions").fetchone()[0])
        for view, in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            self.assertIsNotNone(database.execute(f"SELECT * FROM {view}").fetchone(), view)

    def test_lines_are_the_logs(self):
        self.made(3000, "--hostile")
        lines = [json.loads(line) for line in self.out("jsonl").splitlines()]
        self.validate(lines)
        self.assertEqual({line.pop("journal") for line in lines}, {"e220a8397b1dcdaf"})
        self.assertEqual(lines, self.lines())

    def test_an_empty_text_is_not_none(self):
        journal = Journal(self.path)
        journal.record("open", path=b"")
        text = self.out("csv").decode()
        row, = self.rows(text.encode())
        self.assertEqual((row["path"], row["resolved"]), ("", ""))
        at = text.splitlines()[0].split(",").index("path")
        self.assertEqual(text.splitlines()[1].split(",")[at:at + 3], ['""', "", ""])

    def test_what_went_through_a_descriptor_counts_once(self):
        journal = Journal(self.path)
        process = journal.start(pid=5)
        for path, totals in ((b"a", (30,)), (b"b", ())):
            journal.record("read", path=path, process=process, fd=3, amount=10)
            for total in totals:
                journal.record("read_total", path=path, process=process, fd=3, amount=total, count=3)
        journal.record("write", path=b"b", process=process, fd=3, amount=7)
        database = self.check_sqlite()
        self.assertEqual(list(map(tuple, database.execute("SELECT path, reads, bytes_read, bytes_written FROM files ORDER BY path"))),
                         [("/w/a", 1, 30, 0), ("/w/b", 1, 10, 7)])

    def test_filters(self):
        self.made(3000)
        for words in (["--op", "open,rename"], ["--path", "src/**"], ["--role", "agent"], ["--denied"], ["--exe", "git"]):
            wanted = [line["number"] for line in self.lines(*words)]
            self.assertGreater(len(wanted), 0, words)
            self.assertEqual([int(row["number"]) for row in self.rows(self.out("csv", *words))], wanted)
        self.assertEqual(self.out("csv", "--op", "damaged").count(b"\n"), 1)  # none is no error
        self.export("jsonl", "--op", "opne", code=2)


class Resumed(ExportCase):
    def numbers(self):
        return [line["number"] for line in self.lines()]

    def test_from_any_record(self):
        """What comes before is known all the same: processes, directories, epochs."""
        self.made(2000, "--hostile")
        whole = {kind: self.records(kind, self.out(kind)) for kind in LINES}
        numbers = self.numbers()
        chance = random.Random(8)
        for kind in LINES:
            head = 1 if kind == "csv" else 0
            self.assertEqual(len(whole[kind]), len(numbers) + head, kind)
            for at in chance.sample(range(1, len(numbers)), 12 if LONG else 3):
                tail = self.records(kind, self.out(kind, "--from-record", str(numbers[at])))
                self.assertEqual(tail, whole[kind][:head] + whole[kind][head + at:], (kind, at))
        self.assertEqual(self.out("jsonl", "--from-record", str(numbers[-1] + 1)), b"")

    def records(self, kind, output):
        """What can be compared: lines, but of otlp, where many records share one."""
        lines = output.splitlines(True)
        if kind != "otlp":
            return lines
        return [record for line in lines for resource_logs in json.loads(line)["resourceLogs"]
                for scope in resource_logs["scopeLogs"] for record in scope["logRecords"]]

    def cut(self, number):
        """The journal as it was before this record was begun."""
        path = self.top / "cut"
        shutil.copy(self.path, path)
        with open(path, "r+b") as file:
            file.seek(192)
            file.write(number.to_bytes(8, "little"))
        return str(path)

    def test_step_by_step(self):
        """A journal that grows, exported now and then: the same as at once."""
        self.made(2000, "--hostile")
        whole, numbers = self.path, self.numbers()
        cuts = [(number, shutil.move(self.cut(number), self.top / str(number)))
                for number in sorted(random.Random(9).sample(numbers[1:], 4))]
        for kind in LINES:
            expected = self.out(kind)
            for cut, self.path in [*cuts, (None, whole), (None, whole)]:
                done = self.export(kind, "--output", f"{kind}.out", "--state", f"{kind}.state")
                state = json.loads((self.work / f"{kind}.state").read_text())
                self.assertEqual(state["format"], kind)
                self.assertIn(b"record %d\n" % state["next"], done.stderr)
                if cut:
                    self.assertEqual(state["next"], cut)
            self.assertEqual(self.records(kind, (self.work / f"{kind}.out").read_bytes()), self.records(kind, expected), kind)
        for _, self.path in [*cuts, (None, whole), (None, whole)]:
            self.export("sqlite", "--output", "grown")
        self.export("sqlite", "--output", "whole")
        grown, once = (sqlite3.connect(self.work / name).execute("SELECT * FROM log ORDER BY number").fetchall()
                       for name in ("grown", "whole"))
        self.assertEqual(grown, once)

    def test_a_state_of_something_else(self):
        self.made(100)
        other = self.made_journal(100, "--seed", "2", name="other")
        self.export("jsonl", "--state", "st", "--output", "o")
        before = (self.work / "st").read_bytes(), (self.work / "o").read_bytes()
        for words, said in ((["csv", "--journal", self.path], b"an export as jsonl"), (["jsonl", "--journal", other], b"another journal"),
                            (["jsonl", "--journal", self.cut(140)], b"older copy")):
            done = self.seen("export", "--format", *words, "--state", "st", "--output", "o", code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual(before, ((self.work / "st").read_bytes(), (self.work / "o").read_bytes()))
        for text in ("", "{}", "[]", '{"schema":"seen/export_state/1","journal":"x","format":"jsonl","next":-1}', "x" * 5000):
            (self.work / "bad").write_text(text)
            self.assertIn(b"no state of an export", self.export("jsonl", "--state", "bad", code=2).stderr)
            self.assertEqual((self.work / "bad").read_text(), text)

    def test_between_output_and_state(self):
        """Whatever ended a run before its state was written: nothing is lost, a number tells what is there twice."""
        self.made(500)
        whole = self.out("jsonl")
        self.path, path = self.cut(self.numbers()[100]), self.path
        self.export("jsonl", "--state", "st", "--output", "o")
        self.path = path
        before = (self.work / "st").read_bytes()
        self.export("jsonl", "--state", "st", "--output", "o")
        (self.work / "st").write_bytes(before)
        with open(self.work / "o", "ab") as file:
            file.write(b'{"schema":"seen/log/1","num')  # a line that was not finished
        self.export("jsonl", "--state", "st", "--output", "o")
        lines = (self.work / "o").read_bytes().splitlines(True)
        self.assertEqual(len(lines), 900)
        once = {json.loads(line)["number"]: line for line in lines}
        self.assertEqual(b"".join(once[number] for number in sorted(once)), whole)

    def test_a_file_that_was_moved_away_has_a_head_again(self):
        self.made(200)
        head = self.out("csv").splitlines(True)[0]
        self.path, path = self.cut(self.numbers()[100]), self.path
        self.export("csv", "--state", "st", "--output", "o")
        (self.work / "o").rename(self.work / "o.1")
        self.path = path
        self.export("csv", "--state", "st", "--output", "o")
        self.assertEqual((self.work / "o.1").read_bytes() + (self.work / "o").read_bytes()[len(head):], self.out("csv"))
        self.assertTrue((self.work / "o").read_bytes().startswith(head))

    def test_a_strangers_file_is_not_cut(self):
        self.made(100)
        (self.work / "o").write_bytes(b"not finished")
        self.assertIn(b"not finished", self.export("jsonl", "--state", "st", "--output", "o", code=6).stderr)
        self.assertEqual((self.work / "o").read_bytes(), b"not finished")
        self.assertFalse((self.work / "st").exists())

    def reported(self, name):
        """How far a database is, by its own answer; 0: it does not know yet."""
        try:
            database = sqlite3.connect(f"file:{self.work / name}?mode=ro", uri=True, timeout=0)
            try:
                return database.execute("SELECT max(next) FROM sessions").fetchone()[0] or 0
            finally:
                database.close()
        except sqlite3.Error:
            return 0

    def test_a_killed_database_goes_on(self):
        """Killed in its first rows, and behind those that it has written for good."""
        self.made(45000)
        for is_there in (lambda: (self.work / "db").exists() and os.path.getsize(self.work / "db") > 1 << 18, lambda: self.reported("db")):
            process = subprocess.Popen([SEEN, "export", "--format", "sqlite", "--journal", self.path, "--output", "db"], cwd=self.work,
                                       env=self.env, stderr=subprocess.DEVNULL)
            end = time.monotonic() + DEADLINE
            while process.poll() is None and not is_there() and time.monotonic() < end:
                pass
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.export("sqlite", "--output", "db")
        database = sqlite3.connect(self.work / "db")
        self.assertEqual(database.execute("SELECT count(*), count(DISTINCT number) FROM events").fetchone(), (45000, 45000))
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def test_several_journals_in_one_database(self):
        self.made(500)
        other = self.made_journal(400, "--seed", "2", name="other")
        for path in (self.path, other, self.path, other):
            self.seen("export", "--format", "sqlite", "--journal", path, "--output", "db", code=0)
        database = sqlite3.connect(self.work / "db")
        self.assertEqual(sorted(count for count, in database.execute("SELECT count(*) FROM log GROUP BY journal")), [400, 500])

    def test_a_record_that_is_being_written(self):
        journal = Journal(self.path)
        journal.record("open", path=b"a", when=time.time_ns())
        undone = journal.next
        journal.undone()
        journal.record("open", path=b"b", when=time.time_ns())

        done = self.export("jsonl", "--state", "st", "--output", "o")
        self.assertIn(b"it ends before record %d" % undone, done.stderr)
        self.assertEqual(json.loads((self.work / "st").read_text())["next"], undone)
        self.assertEqual((self.work / "o").read_bytes().count(b"\n"), 1)
        self.export("sqlite", "--output", "db")
        self.assertEqual(sqlite3.connect(self.work / "db").execute("SELECT next FROM sessions").fetchone()[0], undone)
        done = self.export("jsonl")  # at once: as `seen log`, and it reports where to go on
        self.assertEqual(done.stdout.count(b"\n"), 2)
        self.assertIn(b"--from-record %d goes on" % undone, done.stderr)

        end, journal.next = journal.next, undone
        journal.append(OPS.index("abandoned") + 1, 1, 0, b"")
        journal.next = end
        journal.publish()
        self.export("jsonl", "--state", "st", "--output", "o")
        self.assertEqual((self.work / "o").read_bytes().count(b"\n"), 2)

    def test_one_that_its_writer_died_at(self):
        journal = Journal(self.path)
        journal.record("open", path=b"a")
        journal.undone()
        journal.record("open", path=b"b", when=time.time_ns() - 61 * 10**9)
        done = self.export("jsonl", "--state", "st", "--output", "o")
        self.assertEqual((self.work / "o").read_bytes().count(b"\n"), 2)
        self.assertIn(b"1 records were not finished", done.stderr)
        self.assertEqual(json.loads((self.work / "st").read_text())["next"], journal.next)

    def test_a_live_session(self):
        (self.work / "go").touch()
        command = "while [ -e go ]; do cat agent.txt > copy; done"
        self.file("agent.txt")
        process = subprocess.Popen([SEEN, "run", "--session", "s", "--", "sh", "-c", command], cwd=self.work, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end, seen = time.monotonic() + DEADLINE, -1
            for _ in range(3):
                while time.monotonic() < end:
                    self.seen("export", "--session", "s", "--format", "jsonl", "--output", "o", "--state", "st")
                    lines = (self.work / "o").read_bytes().count(b"\n") if (self.work / "o").exists() else -1
                    if lines > seen + 5:
                        break
                seen = lines
        finally:
            (self.work / "go").unlink()
            process.wait(DEADLINE)
        self.seen("export", "--session", "s", "--format", "jsonl", "--output", "o", "--state", "st", code=0)
        whole = self.seen("export", "--session", "s", "--format", "jsonl", code=0).stdout
        self.assertGreater(seen, 0)
        self.assertEqual((self.work / "o").read_bytes(), whole)


class Places(ExportCase):
    def setUp(self):
        super().setUp()
        self.made(300)

    def refused(self, *words, code, said=b""):
        done = self.export(*words, code=code)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(said, done.stderr)

    def test_a_file_is_replaced_whole(self):
        whole = self.out("jsonl")
        self.export("jsonl", "--output", "new")
        self.assertEqual(stat.S_IMODE(os.stat(self.work / "new").st_mode), 0o600)
        (self.work / "old").write_text("old")
        (self.work / "old").chmod(0o644)
        (self.work / "link").symlink_to("old")
        self.export("jsonl", "--output", "link")
        self.assertEqual((self.work / "old").read_bytes(), whole)
        self.assertTrue((self.work / "link").is_symlink())
        self.assertEqual(stat.S_IMODE(os.stat(self.work / "old").st_mode), 0o644)
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["link", "new", "old"])
        self.assertEqual(self.out("jsonl", "--output", "-"), whole)

    def test_where_nothing_can_be_written(self):
        self.refused("jsonl", "--output", "/nonexistent/o", code=6, said=b"/nonexistent/o: No such file")
        self.refused("jsonl", "--output", ".", code=6, said=b"directory")
        self.refused("csv", "--output", "/dev/full", code=6, said=b"No space left")
        self.refused("sqlite", "--output", "/dev/full", code=6, said=b"regular file")
        self.refused("sqlite", "--output", "/nonexistent/o", code=6, said=b"No such file")
        with open("/dev/full", "wb") as full:
            self.assertIn(b"No space left", self.seen("export", "--format", "jsonl", "--journal", self.path, stdout=full, code=6).stderr)

    def test_too_large_a_file(self):
        """As on a full disk: what was there stays."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        (self.work / "o").write_text("old")
        for kind in ("jsonl", "sqlite"):
            done = self.export(kind, "--output", "o" if kind == "jsonl" else "db", code=6, preexec_fn=limit)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual((self.work / "o").read_text(), "old")
        self.assertEqual({path.name for path in self.work.iterdir()}, {"o", "db"})
        self.export("sqlite", "--output", "db")
        self.assertEqual(sqlite3.connect(self.work / "db").execute("SELECT count(*) FROM events").fetchone()[0], 300)

    def test_a_closed_pipe(self):
        process = subprocess.Popen([SEEN, "export", "--format", "jsonl", "--journal", self.path], cwd=self.work, env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(
                                       signal.SIGPIPE, signal.SIG_DFL))
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", -signal.SIGPIPE))
        process.stderr.close()

    def test_what_is_no_database_of_seen(self):
        (self.work / "text").write_text("a text, longer than a header of a database is, so that it is not too short for one\n" * 3)
        (self.work / "short").write_text("x")
        foreign = sqlite3.connect(self.work / "foreign")
        foreign.execute("CREATE TABLE t (a)")
        foreign.close()
        self.out("sqlite", "--output", "later")
        later = sqlite3.connect(self.work / "later")
        later.execute("PRAGMA user_version = 2")
        later.close()
        os.mkfifo(self.work / "pipe")
        (self.work / "empty").touch()
        for name, said in (("text", b"no SQLite"), ("short", b"no SQLite"), ("foreign", b"another program's"),
                           ("later", b"another version"), ("pipe", b"regular file"), (self.path, b"no SQLite")):
            path = self.work / name
            before = path.read_bytes() if path.is_file() else None
            self.refused("sqlite", "--output", name, code=2 if name == self.path else 6, said=b"" if name == self.path else said)
            self.assertEqual(path.read_bytes() if path.is_file() else None, before, name)
        self.out("sqlite", "--output", "empty")

    def test_the_journal_itself(self):
        before = pathlib.Path(self.path).read_bytes()
        for words in (["jsonl", "--output", self.path], ["sqlite", "--output", self.path], ["csv", "--output", "o", "--state", self.path],
                      ["jsonl", "--output", "same", "--state", "same"]):
            self.refused(*words, code=2)
        self.assertEqual(pathlib.Path(self.path).read_bytes(), before)

    def test_wrong_words(self):
        self.seen("export", "--journal", self.path, code=2)
        self.assertIn(b"did you mean 'jsonl'", self.export("json", code=2).stderr)
        self.refused("sqlite", code=2, said=b"--output is missing")
        self.refused("sqlite", "--output", "o", "--state", "s", code=2, said=b"itself keeps")
        self.refused("sqlite", "--output", "o", "--from-record", "200", code=2, said=b"itself keeps")
        self.refused("jsonl", "--state", "s", "--from-record", "200", code=2, said=b"one of them")
        self.refused("sarif", "--state", "s", "--output", "o", code=2, said=b"nothing can be added")
        self.refused("jsonl", "--from-record", "x", code=2, said=b"is no number")
        self.refused("csv", "--from-record", "4000000", code=2, said=b"ends before")
        self.refused("jsonl", "word", code=2, said=b"is no option")
        self.seen("export", "--format", "jsonl", "--journal", "/nonexistent", code=1)
        self.assertEqual(list(self.work.iterdir()), [])


@unittest.skipIf(SANITIZED, "a sanitizer's own memory")
class Memory(ExportCase):
    def peak(self, kind, path):
        """KiB that the export had in memory at most."""
        (self.work / f"{kind}.out").unlink(missing_ok=True)
        subprocess.run([PEAK, "peak", SEEN, "export", "--format", kind, "--journal", path, "--output", f"{kind}.out"], cwd=self.work,
                       env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return int((self.work / "peak").read_text())

    def test_does_not_grow_with_the_journal(self):
        small = self.made_journal(10000, "--hostile", name="small")
        large = self.made_journal(1000000 if LONG else 100000, "--hostile", name="large")
        for kind in FORMATS:
            few, many = self.peak(kind, small), self.peak(kind, large)
            self.assertLess(many, 1.2 * few, (kind, few, many))



if __name__ == "__main__":
    unittest.main()

"""Who reads exports: SQLite always, PostgreSQL and ClickHouse with SEEN_LONG.  The tables and the questions are those of docs/fleet.md;
the answers are held against each other, and against what this file reads out of `seen log --json` by itself."""
import collections
import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
import urllib.parse

from driver import MAKER, SEEN, SOURCE, Case
from engines import ClickHouse, PostgreSQL, SQLite
from test_log import OPS, bytes_of, unescaped

LONG = bool(os.environ.get("SEEN_LONG"))
EVENTS = 1_000_000 if LONG else 10_000
PAGE = (SOURCE / "docs/fleet.md").read_text()
WORKSPACE = "/home/user/project/"


def statements(title):
    """The SQL of the page's block that begins with a comment of this title."""
    block = re.search(rf"```sql\n-- {re.escape(title)}\n(.*?)```", PAGE, re.S)[1]
    return [statement for statement in re.split(r";\n", block) if statement.strip()]


def questions(engine):
    """By their numbers.  Where there is one for that engine alone, it is that."""
    told = {}
    for number, whose, text in re.findall(r"^-- (\d+)(?:, (\w+))?\.[^\n]*\n(.*?);$", PAGE, re.S | re.M):
        if not whose or whose.lower() == engine.name:
            told[int(number)] = text
    return told


class Answers:
    """The same questions, answered by going through the events once."""

    def __init__(self, journal):
        self.outside, self.bytes, self.again = (collections.Counter() for _ in range(3))
        self.conflicts, self.denied, self.secrets, self.rules = (collections.Counter() for _ in range(4))
        self.unobserved = collections.Counter()
        self.hours = collections.defaultdict(lambda: [0, 0])
        self.changer = self.nonce = self.write = None
        self.lives, self.callers = {}, {}
        reads = {}
        with subprocess.Popen([SEEN, "log", "--json", "--journal", journal], stdout=subprocess.PIPE) as log:
            for line in log.stdout:
                self.take(json.loads(line), reads)
        if log.returncode:
            raise AssertionError("seen log failed")

    def take(self, event, reads):
        op, name, error, program = event["op"], event.get("resolved"), event["error"], event["executable"]
        if op in ("write", "create", "delete", "rename", "truncate", "link", "symlink", "metadata") and not error:
            if name is not None and not name.startswith(WORKSPACE):
                self.outside[program, op, name] += 1
            if op == "write":
                self.write = event["number"], event["process"]
        if op in ("read", "read_total") and name is not None:
            stream = event["process"], event["fd"], name
            if op == "read_total" and stream in reads:
                self.bytes[name,] -= reads.pop(stream)
            self.bytes[name,] += event["bytes"]
            if op == "read":
                reads[stream] = event["bytes"]
            if op == "read" and event["role"] in ("agent", "viewer", "reader") and name.startswith(WORKSPACE):
                self.again[event["scope"], name] += 1
        if op in ("edited", "changed") and name == WORKSPACE + ".env" and event["time"] < "2025-11-17T12:00:00":
            self.changer = [event["number"], op, event["source"], program]
        if op == "guarded":
            self.conflicts[name, event["verdict"], event["reason"]] += 1
        if event.get("bytes_saved") is not None:
            hour = self.hours[event["time"][:13]]
            hour[0] += 1
            hour[1] += event["bytes_saved"]
        if op == "unobserved":
            self.unobserved[event["program"], event["reason"]] += event["count"]
        if error in ("EACCES", "EPERM", "EROFS", "ESTALE"):
            self.denied[program, op, error, name] += 1
        if op in ("read", "ruled") and not error and name and re.search(r"/\.env$|/\.env\.|/\.ssh/|/\.aws/credentials$|/\.npmrc$|/id_rsa$",
                                                                        name):
            self.secrets[name, program, op, event.get("rule"), event.get("action")] += 1
        if op == "ruled":
            self.rules[event["rule"], event["action"], event["access"], name, program] += 1
        if op in ("start", "fork"):
            self.lives[event["number"]] = event
        if op == "exec":
            self.callers[event["number"]] = event["process"]

    def above(self):
        """The processes from which the last write came."""
        number, rows = self.write[1], []
        while number:
            life = self.lives[number]
            rows.append([len(rows), life["pid"], life["role"], life["executable"]])
            number = life["starter"] if life["op"] == "fork" else self.callers.get(life["exec"])
        return rows

    def all(self, nonce):
        def most(counter, order, limit=20):
            rows = [[*key, count] for key, count in counter.items()]
            rows.sort(key=lambda row: (-row[-1], *(row[i] or "" for i in order)))
            return rows[:limit]
        return {1: most(self.outside, (2, 0, 1)), 2: most(self.bytes, (0,), 10),
                3: [[nonce, *row] for row in most(collections.Counter({key: n for key, n in self.again.items() if n > 1}), (0, 1))],
                4: [[nonce, *self.changer]] if self.changer else [], 5: most(self.conflicts, (0, 1, 2)),
                6: [[hour, *row] for hour, row in sorted(self.hours.items())], 7: most(self.unobserved, (0, 1), None),
                8: most(self.denied, (3, 0, 1, 2)), 9: most(self.secrets, (0, 1, 2, 3, 4), None), 10: self.above(),
                11: most(self.rules, (0, 1, 2, 3, 4))}


class Questions(Case):
    """A journal of a session that never was, in each engine that is here."""

    journal = answers = None

    def setUp(self):
        super().setUp()
        if not Questions.journal:
            folder = tempfile.mkdtemp(prefix="seen-consumers-")
            self.addClassCleanup(shutil.rmtree, folder)
            Questions.journal = os.path.join(folder, "journal")
            subprocess.run([MAKER, self.journal, str(EVENTS)], check=True)
            Questions.answers = Answers(self.journal)

    def export(self, kind):
        path = self.top / f"seen.{kind}"
        done = subprocess.run([SEEN, "export", "--format", kind, "--journal", self.journal, "--output", str(path)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.env, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def compare(self, engine, nonce="e220a8397b1dcdaf"):
        """Asks an engine all questions."""
        expected = self.answers.all(nonce)
        asked = questions(engine)
        self.assertEqual(sorted(asked), sorted(expected))
        number = self.answers.write[0]
        for index, text in asked.items():
            text = text.replace("JOURNAL", nonce)
            with self.subTest(engine=engine.name, question=index):
                self.assertTrue(expected[index], "the journal has nothing to tell of that")
                if index == 10 and engine.name == "clickhouse":
                    rows = self.climb(engine, text)
                else:
                    rows = engine.rows(text.replace("4711", str(number)))
                self.assertEqual(rows, expected[index])

    def climb(self, engine, text):
        rows, number = [], self.answers.write[1]
        while number:
            (row,) = engine.rows(text.replace("4711", str(number)))
            number = row.pop()
            rows.append([len(rows), *row])
        return rows

    def test_sqlite_from_csv(self):
        shell = shutil.which("sqlite3")
        if not shell:
            self.skipTest("no sqlite3")
        path = self.export("csv")
        command = re.search(r"^sqlite3 seen.db '(.import --csv) seen.csv rows'$", PAGE, re.M)[1]
        database = self.top / "seen.db"
        done = subprocess.run([shell, str(database), f"{command} '{path}' rows", *statements("SQLite: the table, from CSV")],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with contextlib.closing(SQLite(database)) as engine:
            self.assertEqual(engine.rows("SELECT count(*) FROM events"), [[EVENTS]])
            self.compare(engine)

    @unittest.skipUnless(LONG, "with SEEN_LONG: needs PostgreSQL")
    def test_postgresql(self):
        lines, table = self.export("jsonl"), self.export("csv")
        copy = re.search(r'^psql -c "(COPY incoming .*)" < seen.jsonl$', PAGE, re.M)[1]
        with PostgreSQL() as engine:
            for statement in statements("PostgreSQL: the table, from JSON lines"):
                engine.psql(statement)
            for _ in range(2):  # a shipper delivers twice
                engine.copy(copy, lines)
                for statement in statements("PostgreSQL: what came is stored once"):
                    engine.psql(statement)
            engine.psql("ANALYZE")
            self.assertEqual(engine.rows("SELECT count(*) FROM events"), [[EVENTS]])
            self.compare(engine)
            engine.psql("DROP TABLE lines, incoming CASCADE")
            create = subprocess.run(["sh", "-c", re.search(r"^(\{ printf 'CREATE TABLE rows.*\}) \| psql$", PAGE, re.M)[1]],
                                    cwd=self.top, stdout=subprocess.PIPE, check=True).stdout.decode()
            engine.psql(create)
            engine.copy(re.search(r"^psql -c '(COPY rows .*)' < seen.csv$", PAGE, re.M)[1], table)
            for statement in statements("PostgreSQL: the table, from CSV"):
                engine.psql(statement)
            self.assertEqual(engine.rows("SELECT count(*) FROM events"), [[EVENTS]])
            self.compare(engine)

    @unittest.skipUnless(LONG, "with SEEN_LONG: needs ClickHouse")
    def test_clickhouse(self):
        lines = self.export("jsonl")
        insert = urllib.parse.urlsplit(re.search(r"^curl --data-binary @seen.jsonl '(.*)'$", PAGE, re.M)[1])
        settings = dict(urllib.parse.parse_qsl(insert.query))
        with ClickHouse() as engine:
            for statement in statements("ClickHouse: the table"):
                engine.ask(statement)
            for _ in range(2):  # a shipper delivers twice
                with open(lines, "rb") as file:
                    engine.ask(settings["query"], file, **{name: value for name, value in settings.items() if name != "query"})
            self.assertEqual(engine.rows("SELECT count(*) FROM events FINAL"), [[EVENTS]])
            engine.ask("OPTIMIZE TABLE events FINAL")
            self.assertEqual(engine.rows("SELECT count(*) FROM events"), [[EVENTS]])
            self.compare(engine)


if __name__ == "__main__":
    unittest.main()

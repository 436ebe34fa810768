"""Who reads exports: SQLite always, PostgreSQL and ClickHouse with SEEN_LONG.  The tables and the questions are those of docs/fleet.md;
the answers are held against each other, and against what this file reads out of `seen log --json` by itself."""
import collections
import contextlib
import csv
import http.server
import json
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from driver import MAKER, SEEN, SOURCE, Case
from engines import ClickHouse, PostgreSQL, SQLite
from test_log import OPS, bytes_of, unescaped

try:
    import yaml
except ImportError:
    yaml = None

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
    exported = {}
    for number, whose, text in re.findall(r"^-- (\d+)(?:, (\w+))?\.[^\n]*\n(.*?);$", PAGE, re.S | re.M):
        if not whose or whose.lower() == engine.name:
            exported[int(number)] = text
    return exported


class Answers:
    """The same questions, answered by going through the events once."""

    def __init__(self, journal):
        self.external, self.bytes, self.again = (collections.Counter() for _ in range(3))
        self.conflicts, self.denied, self.secrets, self.rules = (collections.Counter() for _ in range(4))
        self.unobserved = collections.Counter()
        self.hours = collections.defaultdict(lambda: [0, 0])
        self.changer = self.nonce = self.write = None
        self.lives, self.callers = {}, {}
        reads = {}
        with subprocess.Popen([SEEN, "log", "--json", "--journal", journal], stdout=subprocess.PIPE) as log:
            for line in log.stdout:
                self.add(json.loads(line), reads)
        if log.returncode:
            raise AssertionError("seen log failed")

    def add(self, event, reads):
        op, name, error, program = event["op"], event.get("resolved"), event["error"], event["executable"]
        if op in ("write", "create", "delete", "rename", "truncate", "link", "symlink", "metadata") and not error:
            if name is not None and not name.startswith(WORKSPACE):
                self.external[program, op, name] += 1
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
        return {1: most(self.external, (2, 0, 1)), 2: most(self.bytes, (0,), 10),
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
            directory = tempfile.mkdtemp(prefix="seen-consumers-")
            self.addClassCleanup(shutil.rmtree, directory)
            Questions.journal = os.path.join(directory, "journal")
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

    def test_sqlite(self):
        with contextlib.closing(SQLite(self.export("sqlite"))) as engine:
            for statement in statements("SQLite: the table"):
                engine.rows(statement)
            self.assertEqual(engine.rows("SELECT count(*) FROM events"), [[EVENTS]])
            self.compare(engine)
            # Its own view of files says the same.
            self.assertEqual(engine.rows("SELECT path, bytes_read FROM files ORDER BY bytes_read DESC, path LIMIT 10"),
                             self.answers.all("")[2])

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


def raw_paths(journal):
    """What the file itself says, without `seen`: path and arguments of each record, as bytes (docs/journal.md)."""
    data = pathlib.Path(journal).read_bytes()
    end = struct.unpack_from("<Q", data, 192)[0]
    paths, arguments, number = {}, {}, 128

    def text(of):
        return data[of * 64 + 8:of * 64 + 8 + struct.unpack_from("<H", data, of * 64 + 6)[0]]
    while number < end:
        op, units = data[number * 64 + 4], data[number * 64 + 5]
        name = OPS[op - 1]
        path, other = (struct.unpack_from("<I", data, number * 64 + at)[0] for at in (24, 36))
        if name not in ("text", "abandoned", "unobserved") and path:
            paths[number] = text(path)
        if name in ("start", "exec") and other:
            arguments[number] = text(other)
        number += units
    return paths, arguments


class Hostile(Case):
    """Names that were chosen to deceive, through each format, into a consumer, and back to their bytes."""

    def setUp(self):
        super().setUp()
        self.journal = self.made_journal(10_000, "--hostile")
        self.paths, self.arguments = raw_paths(self.journal)
        self.assertGreater(sum(len(path) > 3800 for path in self.paths.values()), 10)
        self.assertGreater(sum(not path.isascii() for path in self.paths.values()), 100)

    def export(self, kind):
        path = self.top / f"seen.{kind}"
        self.seen("export", "--format", kind, "--journal", self.journal, "--output", str(path), code=0)
        return path

    def compare(self, rows, back):
        """rows: number and path, as a consumer had them."""
        exported = {int(number): back(path) for number, path in rows if path not in (None, "") and int(number) in self.paths}
        self.assertEqual(len(exported), len(self.paths))
        for number, path in self.paths.items():
            self.assertEqual(exported[number], path)

    def ask_lines(self, path, number, name):
        """What SQLite finds in each line of JSON."""
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE TABLE lines (line)")
            with open(path, encoding="utf-8", newline="\n") as file:
                database.executemany("INSERT INTO lines VALUES (?)", ((line,) for line in file))
            return database.execute(f"SELECT json_extract(line, '{number}'), json_extract(line, '{name}') FROM lines").fetchall()

    def test_lines_of_json(self):
        for kind, number, name in (("jsonl", "$.number", "$.path"), ("ecs", "$.event.sequence", "$.seen.path"),
                                   ("ocsf", "$.metadata.sequence", "$.unmapped.path")):
            with self.subTest(kind):
                self.compare(self.ask_lines(self.export(kind), number, name), bytes_of)
        exported = self.ask_lines(self.top / "seen.jsonl", "$.number", "$.arguments")
        exported = {number: b"".join(bytes_of(word) + b"\0" for word in json.loads(words)) for number, words in exported if words}
        self.assertEqual(exported, self.arguments)

    def test_otlp(self):
        with open(self.export("otlp"), encoding="utf-8", newline="\n") as file:
            exported = []
            for line in file:
                for resource in json.loads(line)["resourceLogs"]:
                    for scope in resource["scopeLogs"]:
                        for record in scope["logRecords"]:
                            values = {pair["key"]: next(iter(pair["value"].values())) for pair in record["attributes"]}
                            exported.append((values["seen.number"], values.get("seen.path")))
        self.assertEqual(len(exported), 10_000)
        self.compare(exported, bytes_of)

    def test_sarif(self):
        found = 0
        for result in json.loads(self.export("sarif").read_text())["runs"][0]["results"]:
            if result["properties"]["number"] not in self.paths:
                continue  # what was not observed
            path = self.paths[result["properties"]["number"]]
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            self.assertRegex(uri, r"^[!-~]*$")
            name = urllib.parse.unquote_to_bytes(re.sub("^file://", "", uri))
            self.assertTrue(name and os.path.join(b"/home/user/project", path).endswith(name), (name, path))
            found += not uri.startswith("file:") and urllib.parse.unquote(uri) != uri
        self.assertGreater(found, 0)

    def test_csv(self):
        path = self.export("csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 10_000)
        self.compare([(row["number"], row["path"]) for row in rows], lambda text: unescaped(text.encode()))
        # No line, no cell that a spreadsheet takes for a formula, no control character.
        self.assertEqual(path.read_bytes().count(b"\n"), 10_001)
        self.assertIsNone(re.search(rb"[\0-\x09\x0b-\x1f\x7f]", path.read_bytes()))
        self.assertFalse([cell for row in rows for cell in row.values() if re.match("[=+@]|-[^0-9]", cell or "")])
        if shutil.which("sqlite3"):
            done = subprocess.run(["sqlite3", "-json", ":memory:", f".import --csv '{path}' rows", "SELECT number, path FROM rows"],
                                  capture_output=True, check=True, stdin=subprocess.DEVNULL)
            self.compare([tuple(row.values()) for row in json.loads(done.stdout)], lambda text: unescaped(text.encode()))

    def test_sqlite(self):
        with contextlib.closing(SQLite(self.export("sqlite"))) as engine:
            self.assertEqual(engine.rows("PRAGMA integrity_check"), [["ok"]])
            self.compare(engine.rows("SELECT number, path FROM log"), lambda text: unescaped(text.encode()))

    @unittest.skipUnless(LONG, "with SEEN_LONG: needs PostgreSQL and ClickHouse")
    def test_engines(self):
        with PostgreSQL() as engine:
            engine.psql("CREATE TABLE incoming (line jsonb)")
            for kind, number, name in (("jsonl", "{number}", "{path}"), ("ecs", "{event,sequence}", "{seen,path}"),
                                       ("ocsf", "{metadata,sequence}", "{unmapped,path}")):
                engine.copy(re.search(r'^psql -c "(COPY incoming .*)" < seen.jsonl$', PAGE, re.M)[1], self.export(kind))
                self.compare(engine.rows(f"SELECT line #>> '{number}' AS number, line #>> '{name}' AS path FROM incoming"), bytes_of)
                engine.psql("TRUNCATE incoming")
        with ClickHouse() as engine:
            engine.ask("CREATE TABLE events (number UInt64, path Nullable(String)) ENGINE = MergeTree ORDER BY number")
            with open(self.top / "seen.jsonl", "rb") as file:
                engine.ask("INSERT INTO events FORMAT JSONEachRow", file, input_format_skip_unknown_fields=1)
            self.compare(engine.rows("SELECT number, path FROM events"), bytes_of)


AGENT = """#!/usr/bin/python3
import subprocess
for _ in range(2):
    subprocess.run(["bash", "-c", "cat f.txt"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
"""


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes requests of OTLP over HTTP, as a Collector does."""
    protocol_version = "HTTP/1.1"
    taken, refuse = [], False

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        right = (self.path, self.headers["Content-Type"]) == ("/v1/logs", "application/json") and not self.refuse
        if right:
            self.taken.extend(record for resource in json.loads(body)["resourceLogs"] for scope in resource["scopeLogs"]
                              for record in scope["logRecords"])
        self.send_response(200 if right else 400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class Page(Case):
    """What docs/fleet.md tells runners to do is done."""

    def test_commands_are_there(self):
        commands = re.findall(r"\bseen (\w+)([^\n`|#]*)", PAGE)
        self.assertGreater(len(commands), 10)
        for command, rest in commands:
            if command in ("verify", "run", "report", "export", "gc", "log"):
                exported = self.seen("help", command, code=0).stdout.decode() + self.seen("help", "options", code=0).stdout.decode()
                for option in re.findall(r"(?<= )--[a-z][a-z-]*", rest.split(" -- ")[0]):
                    self.assertRegex(exported, rf"(?m)^  {option}\b", (command, rest))

    def blocks(self, title):
        """The YAML of a section."""
        if yaml is None:
            self.skipTest("no python3-yaml")
        section = re.search(rf"^##+ {title}\n(.*?)(?=^##)", PAGE, re.S | re.M)[1]
        return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", section, re.S)]

    def run_steps(self, lines, **more):
        """As a runner does: each in a shell of its own, with an agent of ours."""
        (self.top / "bin").mkdir()
        (self.top / "bin/claude").write_text(AGENT)
        (self.top / "bin/claude").chmod(0o755)
        self.file("f.txt")
        env = {**self.env, "PATH": f"{self.top}/bin:{os.path.dirname(SEEN)}:{self.env['PATH']}", "PROMPT": "do it", **more}
        for line in lines:
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", line], cwd=self.work, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
        exported = [json.loads(line) for line in (self.work / "seen.jsonl").read_text().splitlines()]
        self.assertEqual([event["op"] for event in exported if event["op"] in ("given", "notice")], ["given", "notice"])

    def attest_key(self):
        """Path of a key that the job has as a secret."""
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        for words in ("genpkey -algorithm ed25519 -out secret.pem", "pkey -in secret.pem -pubout -out public.pem"):
            subprocess.run(["openssl", *words.split()], cwd=self.top, check=True)
        return self.top / "secret.pem"

    def assert_attested(self):
        """By a stranger who has the artifact, the public key and the checkout."""
        stranger = {**self.env, "HOME": str(self.top)}
        self.seen("verify", "--attestation", "seen.dsse.json", "--key", str(self.top / "public.pem"), "--checkout", ".", env=stranger, code=0)

    def test_github(self):
        _, flow = self.blocks("GitHub Actions") # the first uses the action: test_ci.py
        steps = flow["jobs"]["agent"]["steps"]
        summary = self.top / "summary"
        self.run_steps([step["run"] for step in steps if "run" in step], GITHUB_STEP_SUMMARY=str(summary), RUNNER_TEMP=str(self.top / "tmp"),
                       ATTEST_KEY=self.attest_key().read_text().strip())
        self.assert_attested()
        self.assertEqual(os.listdir(self.top / "tmp"), [])
        self.assertIn("f.txt", summary.read_text())
        self.assertEqual(json.loads((self.work / "seen.sarif").read_text())["version"], "2.1.0")
        self.assertFalse([step for step in steps if "${{" in step.get("run", "")])

    def test_gitlab(self):
        (flow,) = self.blocks("GitLab CI")
        self.run_steps(flow["agent"]["script"] + flow["agent"]["after_script"], ATTEST_KEY=str(self.attest_key()))
        self.assert_attested()
        self.assertTrue(all((self.work / path).exists() for path in flow["agent"]["artifacts"]["paths"]))

    def test_shippers(self):
        """Read by a parser alone: the shippers are no packages of Debian."""
        (vector,), (fluent,), (otel,) = (self.blocks(title) for title in ("Vector", "Fluent Bit", "OpenTelemetry Collector"))
        parts = {**vector["sources"], **vector["transforms"]}
        for part in (*vector["transforms"].values(), *vector["sinks"].values()):
            self.assertTrue(set(part["inputs"]) <= set(parts))
        tags = {part["tag"] for part in fluent["pipeline"]["inputs"]}
        self.assertEqual({part["match"] for part in fluent["pipeline"]["outputs"]}, tags)
        for part, names in otel["service"]["pipelines"]["logs"].items():
            self.assertTrue(set(names) <= set(otel[part]))

    def test_otlp(self):
        if not shutil.which("curl"):
            self.skipTest("no curl")
        journal = self.made_journal(2000, "--hostile")
        script = re.search(r"```sh\n(set -o pipefail\n.*?)```", PAGE, re.S)[1]
        Collector.taken = []
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            script = script.replace("http://collector:4318", f"http://127.0.0.1:{server.server_address[1]}")
            script = script.replace("--state next.state", f"--state next.state --journal '{journal}'").replace("--retry 5", "")
            self.assertEqual((script.count("127.0.0.1"), script.count("--journal")), (1, 1))
            env = {**self.env, "PATH": f"{os.path.dirname(SEEN)}:{self.env['PATH']}"}
            for refuse in (True, False, False):
                Collector.refuse = refuse
                done = subprocess.run(["bash", "-c", script], cwd=self.work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                      check=False)
                self.assertEqual(done.returncode != 0, refuse, done.stderr)
                self.assertEqual((self.work / "seen.state").exists(), not refuse)
                self.assertEqual(len(Collector.taken), 0 if refuse else 2000)
            server.shutdown()


if __name__ == "__main__":
    unittest.main()

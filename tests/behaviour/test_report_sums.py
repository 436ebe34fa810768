"""report: its numbers against a count of our own from `seen log --json`, its forms, and what is left out."""
import collections
import html
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import test_log
from driver import Case, Terminal, jsonschema
from test_log import HOSTILE, NO_VERSION, Journal, bytes_of, details, unescaped, version

LOOKING = ("agent", "shell", "viewer", "reader")
MEANT = HOSTILE + [b"a|b||c", b"``` `x` ```", b"<script>alert(1)</script>", b"</code><img src=x onerror=alert(1)>", b"[x](javascript:alert(1))",
                   b"![x](https://evil.example/x.png)", b"@everyone", b"#1", b"GH-1", b"::error file=a::pwned", b"x\n::set-output name=a::b",
                   b"##[error]pwned", b"x ##[command]y", b"www.evil.example", b"https://evil.example/", b"_a_ **b** ~~c~~", b"&lt;b&gt; &#60;",
                   b"$x$ $$y$$", b":tada:", b"<!-- ", b"\xe2\x80\xaegpj.exe", b"- [ ] x", b"{{x}}", b"\\|", b"=1+1", b"a@b.example"]


def relative(path, root="/w"):
    return path[len(root) + 1:] if path.startswith(root + "/") else path


# Who made a change that no process of the session was observed to make; null: unknown.
EXTERNAL = ("user_edited", "unattributed")


class Count:
    """What a report is to say, from the events alone: written anew, by the documents and not by its code."""

    WORK = ("opens_read", "opens_write", "bytes_read", "bytes_written", "listings", "changes", "maps", "notices", "bytes_saved", "failed")

    def __init__(self, events, root):
        self.root = root
        self.all, self.external = collections.Counter(), collections.Counter()
        self.by_role = collections.defaultdict(collections.Counter)
        self.by_process = collections.defaultdict(collections.Counter)
        self.by_program = collections.defaultdict(collections.Counter)
        self.files = collections.defaultdict(collections.Counter)
        self.ops, self.failed_ops = collections.Counter(), collections.Counter()
        self.saved, self.guarded, self.kept = collections.Counter(), collections.Counter(), collections.Counter()
        self.conflicts, self.rules = [], collections.Counter()
        self.first, self.sights, self.generations = {}, {}, collections.Counter()
        self.programs = collections.Counter()
        self.unresolved = 0
        for event in events:
            self.add(event)

    def add(self, event):
        op = event["op"]
        self.ops[op] += 1
        if op == "damaged":
            return
        self.failed_ops[op] += event["error"] is not None
        if op in ("start", "fork"):
            self.programs[event["executable"]] += 1
        if op == "ruled":
            if event["action"]:
                self.rules[(event["rule"], event["action"])] += 1
            return
        if op == "guarded":
            if event["verdict"] in ("warned", "denied") and event["reason"]:
                self.guarded[(event["reason"], event["verdict"])] += 1
                self.conflicts.append(event["number"])
            return
        if op == "changed" and event["source"] in EXTERNAL:
            self.conflicts.append(event["number"])
        if op == "kept" and event["reason"]:
            self.kept[event["reason"]] += 1
        work, access, sees, changes = self.work_of(event)
        for sums in (self.all, self.by_role[event["role"] or "unknown"], self.by_process[event["process"]], self.by_program[event["executable"]]):
            sums.update(work)
        if event["error"] is None:
            self.note_saved(event)
        if not access:
            return
        if event["resolved"] is None:
            self.unresolved += 1
            return
        if not (event["resolved"] + "/").startswith(self.root + "/") and event["resolved"] != "/dev/null":
            self.external.update(work)
        for path in [event["resolved"]] + ([event["new_resolved"]] if event.get("new_resolved") else []):
            self.add_file(event, path, work, sees, changes)

    def work_of(self, event):
        op, work = event["op"], collections.Counter()
        if event["error"] is not None:
            return {"failed": 1}, False, False, False
        if op == "open":
            flags = set(event["flags"])
            if "O_TMPFILE" in flags:
                return {"opens_write": 1}, False, False, False
            if flags & {"O_DIRECTORY", "O_PATH"}:
                return {}, False, False, False
            sees = bool(flags & {"O_RDONLY", "O_RDWR"})
            changes = bool(flags & {"O_WRONLY", "O_RDWR", "O_TRUNC"})
            return {"opens_read": int(sees), "opens_write": int(changes)}, True, sees, changes
        if op in ("read", "read_total", "write", "write_total"):
            kind = op.split("_")[0]
            key, number = (event["process"], event["fd"], kind), event["bytes"] or 0
            if op == kind:
                self.first[key] = number
                number = number
            else:
                number = max(0, number - self.first.pop(key, 0))
            work["bytes_read" if kind == "read" else "bytes_written"] = number
            return work, True, False, kind == "write"
        if op == "create":
            return {"changes": 1}, event["kind"] == "file", False, False
        if op == "delete":
            return {"changes": 1}, not event["is_folder"], False, True
        if op in ("rename", "link", "symlink", "truncate"):
            return {"changes": 1}, True, False, True
        if op == "metadata":
            return {"changes": 1}, True, False, False
        if op in ("notice", "diffed"):
            return {"notices": 1, "bytes_saved": event["bytes_saved"]}, True, False, False
        if op == "request" and event["decision"] == "notice":
            return {"notices": 1, "bytes_saved": event["bytes_saved"]}, False, False, False
        simple = {"list": ({"listings": 1}, False), "map": ({"maps": 1}, True), "edited": ({}, True), "changed": ({}, True),
                  "yielded": ({}, True), "given": ({}, True)}
        work, access = simple.get(op, ({}, False))
        return work, access, False, op in ("edited", "changed")

    def note_saved(self, event):
        op = event["op"]
        if op in ("notice", "diffed"):
            name = "notice" if op == "notice" else "diff"
            self.saved.update({name + "s": 1, name + "_bytes": event["bytes_saved"], "bytes": event["bytes_saved"]})
        elif op == "request" and event["decision"] == "notice":
            self.saved.update({"commands": 1, "command_bytes": event["bytes_saved"], "bytes": event["bytes_saved"]})
        elif op == "yielded" or op == "request" and event["decision"] == "yielded":
            self.saved["yielded"] += 1
        elif op == "given":
            self.saved.update({"given": 1, "given_bytes": event["bytes"]})

    def add_file(self, event, path, work, sees, changes):
        row = self.files[path]
        row.update(work)
        if sees and event["role"] in LOOKING:
            key = (path, event["scope"])
            row["repeats"] += self.sights.get(key) == self.generations[path]
            self.sights[key] = self.generations[path]
        self.generations[path] += changes
        row["edits"] += event["op"] == "edited"
        row["changed"] += event["op"] == "changed" and event["source"] in EXTERNAL
        row["yielded"] += event["op"] == "yielded"
        row["given"] += event["op"] == "given"
        row["bytes_given"] += event["bytes"] if event["op"] == "given" else 0


class ReportCase(Case):
    def setUp(self):
        super().setUp()
        self.path = str(self.top / "journal")

    def report(self, *words, path=None, code=0, **more):
        return self.seen("report", "--journal", path or self.path, *words, code=code, **more).stdout

    def document(self, *words, **more):
        return json.loads(self.report("--json", *words, **more))

    def events(self, path=None):
        return [json.loads(line) for line in self.seen("log", "--journal", path or self.path, "--json", code=0).stdout.splitlines()]


class Sums(ReportCase):
    def check_work(self, reported, counted):
        self.assertEqual({name: reported[name] for name in Count.WORK}, {name: counted[name] for name in Count.WORK})

    def check(self, path):
        report = self.document("--top", "65536", path=path)
        events = self.events(path)
        count = Count(events, report["workspace"])
        self.assertEqual(report["events"]["count"], len(events))
        self.assertEqual({op: (row["count"], row["failed"]) for op, row in report["events"]["by_op"].items()},
                         {op: (number, count.failed_ops[op]) for op, number in count.ops.items()})
        self.assertEqual(report["events"]["unresolved"], count.unresolved)
        self.check_work(report["work"], count.all)
        self.check_work(report["outside_workspace"], count.external)
        for role, work in report["by_role"].items():
            self.check_work(work, count.by_role[role])
        times = sorted(event["time"] for event in events if event["time"])
        self.assertEqual([report["start"][:23], report["end"][:23]], [times[0][:23], times[-1][:23]])
        self.check_processes(report, events, count)
        self.check_files(report["files"], count)
        self.assertEqual({name: report["saved"].get(name, 0) for name in count.saved}, dict(count.saved))
        conflicts = report["conflicts"]
        self.assertEqual({(row["reason"], row["verdict"]): row["count"] for row in conflicts["guarded"]}, dict(count.guarded))
        self.assertEqual([row["number"] for row in conflicts["rows"]], count.conflicts)
        self.assertEqual({name: number for name, number in conflicts["kept"].items() if number}, dict(count.kept))
        self.assertEqual({(row["rule"], row["action"]): row["count"] for row in report["rules"]["rows"]}, dict(count.rules))
        return report

    def check_processes(self, report, events, count):
        begun = {event["number"]: event for event in events if event["op"] in ("start", "fork")}
        rows = report["processes"]["rows"]
        self.assertEqual({row["process"] for row in rows}, set(begun))
        statuses = {event["process"]: event["status"] for event in events if event["op"] == "exit" and not event["vforked"]}
        for row in rows:
            event = begun[row["process"]]
            self.assertEqual([row[name] for name in ("pid", "parent_pid", "role", "executable")],
                             [event[name] for name in ("pid", "parent_pid", "role", "executable")])
            self.assertEqual((row["forked"], row["status"]), (event["op"] == "fork", statuses.get(row["process"])))
            self.check_work(row["work"], count.by_process[row["process"]])
        heaviest = [row["work"]["bytes_read"] + row["work"]["bytes_written"] for row in rows]
        self.assertEqual(heaviest, sorted(heaviest, reverse=True))
        programs = {row["executable"]: row for row in report["programs"]["rows"]}
        self.assertEqual({path: row["processes"] for path, row in programs.items()}, {path: n for path, n in count.programs.items() if path})
        for path, row in programs.items():
            self.check_work(row["work"], count.by_program[path])

    def check_files(self, files, count):
        self.assertEqual((files["count"], files["left_out"]), (len(count.files), 0))
        expected = {relative(path, count.root): row for path, row in count.files.items()}
        for table, order in (("by_read", ("bytes_read", "opens_read")), ("outside_by_read", ("bytes_read", "opens_read")),
                             ("by_written", ("bytes_written", "touched")), ("outside_by_written", ("bytes_written", "touched")),
                             ("by_repeats", ("repeats", "opens_read"))):
            rows = files[table]
            keys = []
            for row in rows:
                counted = expected[row["path"]]
                self.check_work(row["work"], counted)
                for name in ("repeats", "edits", "changed", "yielded", "given", "bytes_given"):
                    self.assertEqual(row[name], counted[name], (row["path"], name))
                values = {**row["work"], **row, "touched": row["work"]["opens_write"] + row["work"]["changes"]}
                self.assertEqual(row["in_workspace"], not table.startswith("outside"))
                keys.append((-values[order[0]], -values[order[1]]))
            self.assertEqual(keys, sorted(keys), table)
            for row in expected.values():
                row["touched"] = row["opens_write"] + row["changes"]
            wanted = {path for path, row in expected.items()
                      if path != "/dev/null" and (path.startswith("/") == table.startswith("outside")) and (row[order[0]] or row[order[1]] and order[0] != "repeats")}
            self.assertEqual({row["path"] for row in rows}, wanted, table)

    def test_sums_of_a_made_session(self):
        for seed in range(12 if "SEEN_LONG" in os.environ else 2):
            with self.subTest(seed=seed):
                hostile = ("--hostile",) if seed % 2 else ()
                path = self.made_journal(3000, "--seed", str(seed), "--seal", *hostile, name=f"made{seed}")
                report = self.check(path)
                self.assertEqual(report["seal"]["verdict"], "intact")
                self.validate_by("report.schema.json", [report])

    def test_sums_of_every_op(self):
        test_log.Forms.every_op(self)
        report = self.check(self.path)
        self.validate_by("report.schema.json", [report])
        self.assertEqual(report["coverage"]["damaged"], 1)
        self.assertEqual(report["coverage"]["programs"], [{"name": "node", "reason": "io_uring", "partly": True, "count": 1},
                                                          {"name": "busybox", "reason": "static", "partly": False, "count": 2}])
        self.assertEqual([report["coverage"][name] for name in ("runs", "observed", "unobserved", "partial", "unattached", "opens", "without_journal")],
                         [1, 0, 1, 2, 3, 4, 6])
        self.assertGreater(report["events"]["unknown"], 0)
        self.assertEqual(report["rules"]["rows"][0]["paths"], ["r"])
        self.assertEqual((report["instructions"], report["counters"]), (None, None))
        for form in ("text", "md"):
            self.assertIn(b"1 record damaged", self.report("--format", form))

    def test_totals_have_the_first_call(self):
        journal = Journal(self.path)
        one, two = journal.start(100), journal.start(101)
        for process in (one, two):
            journal.record("read", process=process, path=b"a", fd=3, amount=10)
            journal.record("write", process=process, path=b"a", fd=3, amount=7)
        journal.record("read_total", process=two, path=b"a", fd=3, amount=100, count=4)
        journal.record("write_total", process=one, path=b"a", fd=3, amount=20, count=2)
        journal.record("read", process=two, path=b"b", fd=3, amount=5)
        journal.record("read_total", process=two, path=b"b", fd=3, amount=6, count=2)
        journal.record("read_total", process=one, path=b"c", fd=9, amount=3, count=2)  # the first was not written down
        report = self.check(self.path)
        self.assertEqual((report["work"]["bytes_read"], report["work"]["bytes_written"]), (10 + 100 + 6 + 3, 20 + 7))
        self.assertEqual(report["events"]["uncertain"], 1)

    def test_repeats(self):
        journal = Journal(self.path)
        cat, cc = journal.start(100, role=3), journal.start(101, role=0)

        def opened(process, flags=0, path=b"a"):
            journal.record("open", process=process, path=path, fd=3, flags=flags)
        opened(cat)
        opened(cat)
        opened(cc)  # a tool's do not count, nor do they change anything
        opened(cat)
        opened(cc, os.O_WRONLY)
        opened(cat)  # it may be another file now
        opened(cat)
        journal.record("rename", process=cc, path=b"b", other=b"a", fd=test_log.AT_FDCWD, amount=journal.text(b"/w"))
        opened(cat)
        opened(cat, os.O_PATH)
        row = self.check(self.path)["files"]["by_repeats"][0]
        self.assertEqual((row["path"], row["repeats"], row["work"]["opens_read"]), ("a", 3, 7))

    def test_an_answer_that_could_not_be_given(self):
        journal = Journal(self.path)
        process = journal.start(100, role=4)
        for failed in (False, True, True):
            journal.record("request", process=process, decision=2, amount=500, count=1)
            if failed:
                journal.record("exec_failed", process=process, error=2)
        journal.record("exec_failed", process=process, error=2)
        report = self.document()
        self.assertEqual([report["saved"][name] for name in ("commands", "command_bytes", "bytes")], [1, 500, 500])
        for work in (report["work"], report["by_role"]["reader"], report["processes"]["rows"][0]["work"], report["programs"]["rows"][0]["work"]):
            self.assertEqual((work["notices"], work["bytes_saved"]), (1, 500))

    def test_numbers_that_none_can_be(self):
        journal = Journal(self.path)
        process = journal.start(100)
        for _ in range(3):
            journal.record("read", process=process, path=b"a", fd=3, amount=2**63 - 1)
            journal.record("read_total", process=process, path=b"b", fd=4, amount=2**63 + 5, count=2)
            journal.record("given", process=process, path=b"/w/a", amount=2**64 - 1)
        report = self.document()
        self.assertEqual((report["work"]["bytes_read"], report["saved"]["given_bytes"]), (2**63 - 1, 0))
        self.validate_by("report.schema.json", [report])

    def test_runs(self):
        journal = Journal(self.path)
        coverage = struct.pack("<16Q", *range(16))

        def when(second):
            return (1_700_000_000 + second) * 10**9
        journal.record("exec", path=b"claude", other=b"claude\0-p\0do it\0", when=when(0))
        process = journal.start(100, when=when(1))
        journal.record("exec", process=process, path=b"x", other=b"x\0", when=when(2))  # of a process: no run
        journal.record("coverage", details=coverage, when=when(60))
        journal.record("exec", path=b"codex", other=b"codex\0", when=when(100))
        journal.record("exec", path=b"pi", when=when(101))
        journal.record("coverage", details=coverage, when=when(102))  # of which one?
        runs = self.document()["runs"]
        self.assertEqual([run["command"] for run in runs], ["claude -p do it", "codex", "pi"])
        self.assertEqual([run["end"] for run in runs], ["2023-11-14T22:14:20.000Z", None, None])
        text = self.report().decode()
        self.assertIn("runs       22:13:20 1 min 0 s  claude -p do it\n           22:15:00 (no end recorded)  codex\n", text)

    def test_ends(self):
        journal = Journal(self.path)
        one, two = journal.start(100, when=10**9), journal.start(101, when=10**9)
        journal.record("exit", process=one, amount=3, when=5 * 10**9)
        journal.start(101, executable=b"/bin/sh", when=7 * 10**9)  # the same process, another program
        rows = {row["process"]: row for row in self.document()["processes"]["rows"]}
        self.assertEqual((rows[one]["end"][17:19], rows[one]["status"]), ("05", 3))
        self.assertEqual((rows[two]["end"][17:19], rows[two]["status"]), ("07", None))
        self.assertEqual(sum(row["end"] is None for row in rows.values()), 1)


class Forms(ReportCase):
    def hostile(self):
        journal = Journal(self.path, workspace=b"/w")
        process = journal.start(100, role=3, executable=b"/bin/" + MEANT[12])
        journal.record("exec", path=b"a", other=b"\0".join((b"::error::x", MEANT[5], MEANT[11], b"")))
        more = {"process": process, "tid": 100}
        for number, name in enumerate(MEANT):
            journal.record("open", path=name, fd=3, **more)
            journal.record("open", path=name, fd=3, **more)
            journal.record("read", path=name, fd=3, amount=1000 + number, **more)
            journal.record("write", path=b"/tmp/" + name, fd=4, amount=1000 + number, **more)
            journal.record("guarded", path=name, decision=1, reason=4, flags=2, marks=8, details=details(version(0xabc), NO_VERSION), **more)
            journal.record("ruled", path=name, other=name[:200], decision=2, flags=1, **more)
            journal.record("unobserved", path=name[:30].replace(b"/", b"_"), other=name, count=1)
        return journal

    def test_text(self):
        self.hostile()
        output = self.report("--top", "100")
        self.assert_plain(output)
        for line in output.decode().splitlines():
            self.assertFalse(line.strip().startswith("::"), line)
            self.assertNotIn("##[", line)
            self.assertNotIn("\u202e", line)
        # A name stands in its row, last, and its bytes can be restored.
        section = output.split(b"\nFiles by bytes read\n")[1].split(b"\n\n")[0].splitlines()[1:]
        reported = {unescaped(line.split(None, 3)[3] if len(line.split(None, 3)) > 3 else b" ") for line in section}
        self.assertEqual(reported, {os.path.normpath(name) if b"/" in name else name for name in MEANT})

    def test_json(self):
        self.hostile()
        document = self.document()
        self.validate_by("report.schema.json", [document])
        reported = {bytes_of(row["path"]) for row in document["files"]["by_read"]}
        self.assertEqual(reported, {os.path.normpath(name) if b"/" in name else name for name in MEANT})
        self.assertEqual([bytes_of(row["name"]) for row in document["coverage"]["programs"]], [name[:30].replace(b"/", b"_") for name in MEANT])

    CODE = re.compile(r"(?<!`)` +`(?!`)|(?<!`)(`+)(?!`) (.*?) (?<!`)\1(?!`)")

    def check_markdown(self, text):
        """No character of others outside of code; every table has its columns."""
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
        columns = None
        for line in text.splitlines():
            self.assertNotIn("##[", line)
            shown = self.CODE.sub("", line)
            self.assertRegex(re.sub("`seen [a-zA-Z -]*`", "", shown), r"^[A-Za-z0-9 ,.:;#*+|?()'-]*$", line)
            pipes = len(re.findall(r"(?<!\\)\|", line.replace("\\\\", "")))
            if not line.startswith("|"):
                columns = None
            elif columns is None:
                columns = pipes
            else:
                self.assertEqual(pipes, columns, line)

    def test_markdown(self):
        self.hostile()
        text = self.report("--format", "md", "--top", "100").decode()
        self.check_markdown(text)
        rows = text.split("### Files by bytes read\n")[1].strip().split("\n\n")[0].splitlines()[2:]
        reported = [self.CODE.search(row) for row in rows]
        reported = {unescaped((found[2] or found[0][1:-1]).replace("\\|", "|").encode()) for found in reported}
        for name in MEANT:
            if len(name) < 100 and b"/" not in name:
                self.assertIn(name, reported)

    @unittest.skipUnless(shutil.which("cmark-gfm"), "no cmark-gfm")
    def test_markdown_rendered(self):
        """As GitHub's renderer sees it, with all its extensions: nothing but our own elements."""
        self.hostile()
        page = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist", "-e", "footnotes"],
                              input=self.report("--format", "md", "--top", "100"), stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertEqual({name for name in re.findall(r"<([a-z0-9!]+)", page)},
                         {"h2", "h3", "ul", "li", "strong", "code", "p", "table", "thead", "tbody", "tr", "th", "td"})
        for name in re.findall(r"<code>(.*?)</code>", page, re.S):
            self.assertNotIn("<", name)
        shown = {unescaped(html.unescape(name).encode()) for name in re.findall(r"<code>(.*?)</code>", page)}
        self.assertLessEqual({name for name in MEANT if len(name) < 100 and b"/" not in name}, shown)

    def test_schema_refuses(self):
        self.hostile()
        document = self.document()
        self.validate_by("report.schema.json", [document])
        for change in (lambda d: d.pop("seal"), lambda d: d["work"].update(failed=-1), lambda d: d["files"]["by_read"][0].pop("repeats"),
                       lambda d: d["conflicts"]["rows"][0].update(kind="other"), lambda d: d["seal"].update(verdict="fine")):
            broken = json.loads(json.dumps(document))
            change(broken)
            with self.assertRaises(jsonschema.ValidationError):
                self.validate_by("report.schema.json", [broken])

    def test_a_terminal(self):
        path = self.made_journal(2000, "--seal")
        terminal = Terminal([test_log.SEEN, "report", "--journal", path], self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\x1b[1m", terminal.output)
        plain = re.sub(rb"\x1b\[\d*m", b"", terminal.output)
        for line in plain.decode().splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertNotIn(b"\x1b", self.report(path=path))
        quiet = Terminal([test_log.SEEN, "report", "--journal", path], self.work, {**self.env, "NO_COLOR": "1"})
        self.assertEqual(quiet.wait(), 0)
        self.assertEqual(quiet.output, plain)

    def test_long_names_at_a_terminal(self):
        self.hostile()
        terminal = Terminal([test_log.SEEN, "report", "--journal", self.path, "--top", "100"], self.work, {**self.env, "NO_COLOR": "1"})
        self.assertEqual(terminal.wait(), 0)
        self.assertNotRegex(terminal.output.replace(b"\r\n", b"\n"), rb"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertLessEqual(max(len(line) for line in terminal.output.decode().splitlines()), 80)
        self.assertIn(b"..." + b"n" * 20, terminal.output)

    def test_top(self):
        path = self.made_journal(2000)
        document = self.document("--top", "3", path=path)
        self.assertEqual([len(document[name]["rows"]) for name in ("programs", "processes", "conflicts")], [3, 3, 3])
        self.assertEqual(len(document["files"]["by_read"]), 3)
        self.assertGreater(document["processes"]["count"], 3)
        text = self.report("--top", "3", path=path).decode()
        more = re.search(r"and ([\d,]+) more processes", text)
        self.assertEqual(int(more[1].replace(",", "")), document["processes"]["count"] - 3)
        for words in (("--top", "0"), ("--top", "x"), ("--top", "65537"), ("--format", "markdown"), ("--format", "md", "--json"),
                      ("--session", "x"), ("word",)):
            self.report(*words, path=path, code=2)
        self.assertIn(b"did you mean", self.seen("report", "--journal", path, "--format", "jso", code=2).stderr)


if __name__ == "__main__":
    unittest.main()

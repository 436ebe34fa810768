"""export --format ocsf, ecs, otlp, sarif: each against what its standard asks of a document, and against `seen log --json`.

What a standard asks is written down here as far as we use it.  With SEEN_LONG the official schemas are asked too, and programs that
read such documents: SARIF's schema and Microsoft's validator with GitHub's rules, OpenTelemetry's protocol by its own parser and names,
ECS's list of fields.  OCSF's schema is in no package of npm.
"""
import collections
import json
import os
import re
import urllib.parse

import test_log
from driver import Case

LONG = bool(os.environ.get("SEEN_LONG"))
UNKNOWN, SUCCESS, FAILURE = 0, 1, 2
INT, TEXT, BOOL, TEXTS, ANY = "int", "text", "bool", "texts", "any"
bytes_of = test_log.bytes_of


def is_of(value, kind):
    """Is a value of such a type, or, of a table of members, an object with no other members?  Returns what is wrong."""
    if kind == ANY:
        return None
    if isinstance(kind, list):
        if not isinstance(value, list) or not value:
            return f"{value!r} is no list"
        return next(filter(None, (is_of(item, kind[0]) for item in value)), None)
    if isinstance(kind, dict):
        return is_object(value, kind)
    if isinstance(kind, (set, range)):
        return None if value in kind and not isinstance(value, bool) else f"{value!r} is none of {kind}"
    fits = {INT: isinstance(value, int) and not isinstance(value, bool), TEXT: isinstance(value, str), BOOL: isinstance(value, bool),
            TEXTS: isinstance(value, list) and all(isinstance(item, str) for item in value)}
    return None if fits[kind] else f"{value!r} is no {kind}"


def is_object(value, members):
    """members: "name" may be there, "name!" must, "a|b" are names of which one must be."""
    if not isinstance(value, dict):
        return f"{value!r} is no object"
    kinds = {name.rstrip("!"): kind for name, kind in members.items() if "|" not in name}
    for name in members:
        if name.endswith("!") and name[:-1] not in value:
            return f"no {name[:-1]} in {value}"
        if "|" in name and not set(name.split("|")) & set(value):
            return f"none of {name} in {value}"
    for name, member in value.items():
        if name not in kinds:
            return f"{name} is no member"
        wrong = is_of(member, kinds[name])
        if wrong:
            return f"{name}: {wrong}"
    return None


# ---- what the standards ask ----

OCSF_FILE = {"name!": TEXT, "type_id!": range(9), "path": TEXT, "ext": TEXT, "size": INT,
             "hashes": [{"algorithm_id!": {17}, "value!": TEXT}]}
OCSF_PROCESS = {"pid|uid": None, "pid": INT, "uid": TEXT, "ptid": INT, "name": TEXT, "file": OCSF_FILE, "cmd_line": TEXT,
                "working_directory": TEXT, "parent_process": {"pid!": INT}}
OCSF_ACTOR = {"process|app_name": None, "process": OCSF_PROCESS, "app_name": TEXT}
OCSF_ALL = {"class_uid!": {0, 1001, 1007, 2004}, "category_uid!": {0, 1, 2}, "activity_id!": INT, "activity_name": TEXT,
            "type_uid!": INT, "severity_id!": range(7), "time!": INT, "status_id": INT, "status_code": TEXT, "message": TEXT,
            "metadata!": {"version!": {"1.8.0"}, "product!": {"name!": TEXT, "vendor_name": TEXT, "version": TEXT},
                          "profiles": TEXTS, "uid": TEXT, "sequence": INT, "event_code": TEXT, "log_name": TEXT,
                          "original_time": TEXT, "correlation_uid": TEXT, "is_truncated": BOOL},
            "device": {"type_id!": {0}, "hostname|name": None, "hostname": TEXT, "name": TEXT}, "actor": OCSF_ACTOR, "unmapped": ANY}
OCSF = {
    0: (OCSF_ALL, {0, 99}, range(3)),
    1001: ({**OCSF_ALL, "actor!": OCSF_ACTOR, "device!": OCSF_ALL["device"], "file!": OCSF_FILE, "file_result": OCSF_FILE},
           {*range(15), 99}, range(3)),
    1007: ({**OCSF_ALL, "actor!": OCSF_ACTOR, "device!": OCSF_ALL["device"], "process!": OCSF_PROCESS, "exit_code": INT,
            "launch_type_id": range(4)}, {*range(6), 99}, range(3)),
    2004: ({**OCSF_ALL, "finding_info!": {"uid!": TEXT, "title": TEXT, "desc": TEXT,
                                         "analytic": {"type_id!": {1}, "uid": TEXT, "name": TEXT}},
            "evidences": [{"process": OCSF_PROCESS, "file": OCSF_FILE, "data": ANY}], "action_id": range(5),
            "disposition_id": range(28), "is_alert": BOOL, "policy": {"name!": TEXT}}, range(4), range(7)),
}
OCSF_CATEGORIES = {0: 0, 1001: 1, 1007: 1, 2004: 2}

ECS_PROCESS = {"pid": INT, "entity_id": TEXT, "executable": TEXT, "name": TEXT, "thread": {"id!": INT}, "args": TEXTS,
               "args_count": INT, "working_directory": TEXT, "exit_code": INT}
ECS_CATEGORIES = {"file", "process", "host", "intrusion_detection"}
ECS_TYPES = {"access", "change", "creation", "deletion", "info", "start", "end", "denied"}
ECS = {"@timestamp!": TEXT, "message": TEXT, "ecs!": {"version!": {"8.17.0"}},
       "event!": {"kind!": {"event", "alert"}, "category!": [ECS_CATEGORIES], "type!": [ECS_TYPES], "action!": TEXT,
                  "outcome!": {"success", "failure", "unknown"}, "id!": TEXT, "sequence!": INT, "severity!": INT, "provider": TEXT,
                  "module": TEXT, "dataset": TEXT},
       "log": {"level!": {"info", "notice", "warning", "error"}}, "error": {"code!": TEXT},
       "file": {"path": TEXT, "name!": TEXT, "extension": TEXT, "directory": TEXT, "type": {"file", "dir", "symlink"},
                "target_path": TEXT, "size": INT, "inode": TEXT},
       "process": {**ECS_PROCESS, "parent": ECS_PROCESS}, "rule": {"id!": TEXT, "name!": TEXT, "description": TEXT},
       "agent": {"type!": TEXT, "version": TEXT, "ephemeral_id": TEXT, "name": TEXT},
       "host": {"name": TEXT, "hostname": TEXT, "os": {"type!": {"linux"}}}, "seen!": ANY}

LONG_TEXT = re.compile(r"0|-?[1-9][0-9]{0,19}")  # a number of 64 bits in JSON of protobuf
OTLP_NAMES = {"service.name", "service.version", "service.instance.id", "host.name", "os.type", "log.record.uid", "error.type",
              "file.path", "file.name", "file.extension", "file.directory", "file.symbolic_link.target_path", "file.size",
              "file.inode", "process.pid", "process.parent_pid", "thread.id", "process.executable.path",
              "process.executable.name", "process.exit.code", "process.working_directory", "process.command_args"}

SARIF_TEXT = {"text!": TEXT}
SARIF_LEVELS = {"none", "note", "warning", "error"}
SARIF = {"$schema": TEXT, "version!": {"2.1.0"}, "runs!": [{
    "results!": ANY,
    "tool!": {"driver!": {"name!": TEXT, "version": TEXT, "semanticVersion": TEXT, "rules": ANY}},
    "invocations": [{"executionSuccessful!": BOOL, "startTimeUtc": TEXT, "endTimeUtc": TEXT, "processId": INT, "exitCode": INT,
                     "toolExecutionNotifications": [{"level": SARIF_LEVELS, "message!": SARIF_TEXT}]}],
    "originalUriBaseIds": ANY, "automationDetails": {"id": TEXT}, "properties": ANY}]}
SARIF_RULE = {"id!": TEXT, "name": TEXT, "shortDescription": SARIF_TEXT, "fullDescription": SARIF_TEXT, "help": SARIF_TEXT,
              "defaultConfiguration": {"level": SARIF_LEVELS}, "properties": {"tags": TEXTS}}
SARIF_RESULT = {"ruleId!": TEXT, "ruleIndex!": INT, "level!": SARIF_LEVELS, "message!": SARIF_TEXT,
                "locations!": [{"physicalLocation!": {
                    "artifactLocation!": {"uri!": TEXT, "uriBaseId": {"%SRCROOT%", "SESSION", "FOLDER"}},
                    "region!": {"startLine|byteOffset": None, "startLine": INT, "byteOffset": INT, "byteLength": INT}}}],
                "partialFingerprints": {"seenFinding/v1!": TEXT}, "properties": ANY}


class Formats(Case):
    def setUp(self):
        super().setUp()
        self.path = str(self.top / "journal")

    # ---- documents, and whether they are such ----

    def export(self, form, *words, **more):
        return self.seen("export", "--journal", self.path, "--format", form, *words, code=0, **more).stdout

    def rows(self, form, *words):
        output = self.export(form, *words)
        self.assertTrue(not output or output.endswith(b"\n"))
        return [json.loads(line, parse_constant=self.fail) for line in output.decode("utf-8").split("\n")[:-1]]

    def log(self):
        output = self.seen("log", "--journal", self.path, "--json", code=0).stdout
        return [json.loads(line) for line in output.splitlines()]

    def good(self, value, kind):
        wrong = is_of(value, kind)
        if wrong:
            self.fail(f"{wrong}: {json.dumps(value)[:2000]}")

    def ocsf(self, *words):
        rows = self.rows("ocsf", *words)
        for row in rows:
            members, activities, states = OCSF[row["class_uid"]]
            self.good(row, members)
            self.assertEqual(row["category_uid"], OCSF_CATEGORIES[row["class_uid"]])
            self.assertIn(row["activity_id"], activities)
            self.assertEqual("activity_name" in row, row["activity_id"] == 99, row)
            self.assertEqual(row["type_uid"], row["class_uid"] * 100 + row["activity_id"])
            self.assertIn(row["status_id"], states)
            profiles = row["metadata"]["profiles"]
            self.assertEqual("security_control" in profiles, bool({"action_id", "disposition_id", "policy"} & set(row)))
            self.assertIn("host", profiles)
        return rows

    def ecs(self, *words):
        rows = self.rows("ecs", *words)
        for row in rows:
            self.good(row, ECS)
            self.assertRegex(row["@timestamp"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z")
            self.assertEqual("rule" in row, row["event"]["kind"] == "alert")
        return rows

    def any_value(self, value):
        """What an AnyValue of OTLP stands for."""
        self.assertEqual(len(value), 1, value)
        (kind, inner), = value.items()
        if kind == "stringValue":
            self.assertIsInstance(inner, str)
            return inner
        if kind == "boolValue":
            self.assertIsInstance(inner, bool)
            return inner
        if kind == "intValue":
            self.assertRegex(inner, LONG_TEXT)
            self.assertLess(abs(int(inner)), 2**63)
            return int(inner)
        self.assertEqual(kind, "arrayValue")
        self.good(inner, {"values!": ANY})
        return [self.any_value(item) for item in inner["values"]]

    def attributes(self, pairs):
        found = {}
        for pair in pairs:
            self.good(pair, {"key!": TEXT, "value!": ANY})
            self.assertNotIn(pair["key"], found)
            found[pair["key"]] = self.any_value(pair["value"])
            self.assertTrue(pair["key"] in OTLP_NAMES or pair["key"].startswith("seen."), pair)
        return found

    def otlp(self, *words):
        """The records, with "attributes" as a table."""
        records = []
        requests = self.rows("otlp", *words)
        for request in requests:
            self.good(request, {"resourceLogs!": [{
                "resource!": {"attributes!": ANY},
                "scopeLogs!": [{"scope!": {"name!": TEXT, "version": TEXT}, "logRecords!": ANY}]}]})
            (resource,) = request["resourceLogs"]
            self.assertEqual(self.attributes(resource["resource"]["attributes"])["service.name"], "seen")
            (scope,) = resource["scopeLogs"]
            self.assertTrue(0 < len(scope["logRecords"]) <= 256)
            records += scope["logRecords"]
        for record in records:
            self.good(record, {"timeUnixNano": TEXT, "observedTimeUnixNano!": TEXT, "severityNumber!": range(1, 25),
                               "severityText": TEXT, "eventName!": TEXT, "body!": ANY, "attributes!": ANY})
            for name in ("timeUnixNano", "observedTimeUnixNano"):
                self.assertRegex(record.get(name, "0"), LONG_TEXT)
            record["body"] = self.any_value(record["body"])
            record["attributes"] = self.attributes(record["attributes"])
        return records

    def sarif(self, *words):
        """The one run."""
        document, = self.rows("sarif", *words)
        self.good(document, SARIF)
        run, = document["runs"]
        rules = run["tool"]["driver"]["rules"]
        for rule in rules:
            self.good(rule, SARIF_RULE)
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for result in run["results"]:
            self.good(result, SARIF_RESULT)
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            self.assertNotEqual(result["level"], "none")
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            self.assertRegex(uri, r"\A(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+\Z")
        for name, base in run["originalUriBaseIds"].items():
            self.assertTrue(base.get("uri", "/").endswith("/"), name)
        return run

    def every_op(self):
        journal = test_log.Forms.every_op(self)
        journal.record("open", path=b"a", flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        journal.record("open", path=b"a", flags=os.O_WRONLY | os.O_TRUNC)
        journal.record("open", path=b"tried", flags=os.O_WRONLY, marks=128)
        journal.record("rename", error=30, path=b"a", other=b"b", fd=-100)
        journal.record("read", fd=3, amount=5)
        return journal


class Documents(Formats):
    def test_every_op_in_every_form(self):
        """Each is as its standard asks, tells the same events as `seen log`, and the same bytes."""
        self.every_op()
        lines = {line["number"]: line for line in self.log()}
        exported = {
            "ocsf": {row["metadata"]["sequence"]: (row["unmapped"], row["metadata"]["uid"], row["message"]) for row in self.ocsf()},
            "ecs": {row["event"]["sequence"]: (row["seen"], row["event"]["id"], row["message"]) for row in self.ecs()},
            "otlp": {record["attributes"]["seen.number"]: (
                {name[5:]: value for name, value in record["attributes"].items() if name.startswith("seen.")},
                record["attributes"]["log.record.uid"], record["body"]) for record in self.otlp()},
        }
        self.assertEqual({line["op"] for line in lines.values()}, set(test_log.OPS) - {"text", "abandoned"} | {"damaged"})
        for form, rows in exported.items():
            self.assertEqual(list(rows), list(lines), form)
            for number, (rest, uid, message) in rows.items():
                line = lines[number]
                self.assertEqual(uid, f"0011223344556677-{number}")
                self.assertTrue(message.startswith(line["op"]), message)
                self.same_rest(form, line, rest)

    def same_rest(self, form, line, rest):
        left_out = {"schema", "number", "time", "error", "pid", "tid", "parent_pid", "executable"}
        for name, value in line.items():
            if name in left_out or value is None or (name in ("vforked", "cut", "attempted") and not value):
                continue
            if form == "otlp" and isinstance(value, dict):
                for inner, item in value.items():
                    self.assertEqual(rest.get(f"{name}.{inner}"), item, (form, line, name))
            else:
                self.assertEqual(rest[name], value, (form, line, name))

    def test_what_an_event_is(self):
        """The one table, in the words of three standards."""
        self.every_op()
        lines = {line["number"]: line for line in self.log()}
        ocsf = {row["metadata"]["sequence"]: row for row in self.ocsf()}
        ecs = {row["event"]["sequence"]: row for row in self.ecs()}
        otlp = {record["attributes"]["seen.number"]: record for record in self.otlp()}
        found = collections.defaultdict(list)
        for number, line in lines.items():
            event = ecs[number]["event"]
            found[line["op"]].append((
                ocsf[number]["type_uid"], "/".join(event["category"]), "/".join(event["type"]), event["outcome"],
                ocsf[number]["severity_id"], otlp[number]["severityNumber"], ecs[number].get("rule", {}).get("id")))
            self.assertEqual(event["severity"], ocsf[number]["severity_id"])
            self.assertEqual(ecs[number].get("error", {}).get("code"), line["error"])
            self.assertEqual(ocsf[number].get("status_code"), line["error"])
            self.assertEqual(otlp[number]["attributes"].get("error.type"), line["error"])
        plain = (1, 9, None)

        def file(activity, kind, outcome="success", rest=plain):
            return (100100 + activity, "file", kind, outcome, *rest)

        def process(activity, kind, outcome="success"):
            return (100700 + activity, "process", kind, outcome, *plain)

        def finding(rule, severity, about="file", kind="change", outcome="unknown"):
            return (200401, f"{about}/intrusion_detection", kind, outcome, severity, {2: 10, 3: 13, 4: 17}[severity], rule)
        denied = (2, 10, None)
        expected = {
            "start": [process(1, "start")], "fork": [process(1, "start")], "exec": [process(1, "start", "unknown")],
            "exec_failed": [process(1, "start", "failure")], "exit": [process(2, "end")],
            "unobserved": [finding("partly-observed-program", 2, "process", "info"),
                           finding("unobserved-program", 3, "process", "info")],
            "open": [file(14, "access"), file(14, "access", "failure", denied), file(1, "creation"), file(3, "change"),
                     file(14, "access", "unknown")],
            "list": [file(14, "access")] * 2, "read": [file(2, "access")] * 2, "read_total": [file(2, "access")],
            "write": [file(3, "change")], "write_total": [file(3, "change")], "map": [file(3, "change")],
            "create": [file(1, "creation")], "delete": [file(4, "deletion")] * 2,
            "rename": [file(5, "change")] * 2 + [file(5, "change", "failure", denied)], "link": [file(1, "creation")],
            "symlink": [file(1, "creation")], "truncate": [file(3, "change")],
            "metadata": [file(7, "change")] * 2 + [file(6, "change")] * 4, "chdir": [file(99, "info")],
            "notice": [file(99, "info")], "diffed": [file(99, "info")], "yielded": [file(99, "info")], "given": [file(99, "info")],
            "changed": [file(3, "change"), file(3, "change"), file(1, "creation"), file(4, "deletion"), file(3, "change")],
            "edited": [file(3, "change"), file(4, "deletion")],
            "guarded": [finding("stale-write", 4), finding("stale-write", 4, kind="change/denied", outcome="failure"),
                        finding("notice-write", 4, kind="change/denied", outcome="failure"), file(3, "change", "unknown"),
                        finding("unread-write", 3)],
            "ruled": [finding("rule-hit", 2, kind="access"), finding("rule-hit", 3), finding("rule-hit", 4),
                      finding("rule-hit", 4, kind="info/denied", outcome="failure"), finding("rule-hit", 2, kind="info")],
            "kept": [file(99, "info")] * 4, "mentioned": [file(99, "info")] * 2, "instructed": [file(99, "info")] * 3,
            "request": [process(99, "info")] * 4, "forgotten": [(99, "host", "info", "success", *plain)] * 2,
            "reported": [(99, "host", "info", "success", *plain)],
            "fact": [(99, "host", "info", "success", *plain)],
            "coverage": [finding("lost-records", 3, "host", "info", "success")],
            "damaged": [finding("damaged-record", 4, "host", "info")],
        }
        self.assertEqual(dict(found), expected)

    def test_processes_and_files(self):
        """Who did what to which file, in the words of each."""
        self.every_op()
        ocsf = {row["metadata"]["event_code"]: row for row in reversed(self.ocsf())}
        ecs = {row["event"]["action"]: row for row in reversed(self.ecs())}
        otlp = {record["eventName"]: record["attributes"] for record in reversed(self.otlp())}
        start, exec_number = ocsf["start"], ocsf["exec"]["metadata"]["sequence"]
        uid = f"0011223344556677-{start['metadata']['sequence']}"
        self.assertEqual((start["process"]["uid"], start["process"]["pid"], start["process"]["cmd_line"]), (uid, 100, "cat a b  \\xff"))
        self.assertEqual(ocsf["write"]["actor"]["process"]["uid"], uid)
        self.assertEqual(start["actor"], {"process": {"pid": 1}})
        self.assertEqual((ocsf["exit"]["exit_code"], ecs["exit"]["process"]["exit_code"], otlp["seen.exit"]["process.exit.code"]),
                         (1, 1, 1))
        for name in ("exec", "exec_failed"):
            self.assertEqual(ocsf[name]["metadata"]["correlation_uid"], f"0011223344556677-{exec_number}")
            self.assertEqual(ocsf[name]["process"]["uid"], f"0011223344556677-{exec_number}")
        self.assertEqual(ecs["exec"]["process"]["parent"]["entity_id"], uid)
        self.assertEqual(ecs["exec"]["process"]["args"], ["x"])
        self.assertEqual((ecs["start"]["process"]["entity_id"], ecs["start"]["process"]["args"]), (uid, ["cat", "a b", "", "\\xff"]))
        self.assertEqual(otlp["seen.start"]["process.command_args"], ["cat", "a b", "", "\\xff"])
        self.assertEqual(ecs["write"]["file"], {"path": "/w/a", "name": "a", "directory": "/w"})
        self.assertEqual(ecs["edited"]["file"]["inode"], "2")
        self.assertEqual(ocsf["rename"]["file_result"]["path"], "/w/b")
        self.assertEqual(ecs["symlink"]["file"]["target_path"], "../t")
        self.assertEqual((ocsf["ruled"]["finding_info"]["analytic"]["name"], ocsf["ruled"]["policy"]["name"]), ("secrets", "secrets"))
        self.assertEqual(ecs["ruled"]["rule"]["name"], "secrets")
        guarded = [row for row in self.ocsf() if row["metadata"]["event_code"] == "guarded"]
        self.assertEqual([(row.get("action_id"), row.get("disposition_id")) for row in guarded],
                         [(3, 15), (2, 2), (2, 2), (None, None), (3, 15)])
        rows = self.ocsf()
        damaged = [row["metadata"]["event_code"] for row in rows].index("damaged")
        self.assertEqual(rows[damaged]["time"], rows[damaged - 1]["time"])

    def test_hashes_are_whole(self):
        journal = test_log.Journal(self.path)
        journal.record("edited", path=b"/w/a", marks=8, details=test_log.details(
            test_log.NO_VERSION, test_log.struct.pack("<QQQ", 0x0123456789abcdef, 0xfedcba9876543210, 77)))
        row, = self.ocsf()
        self.assertEqual(row["file"]["hashes"], [{"algorithm_id": 17, "value": "fedcba98765432100123456789abcdef"}])
        self.assertEqual(row["file"]["size"], 77)

    def test_numbers_that_none_can_be(self):
        """A reader of integers of 64 bits would refuse the line, or the request with all that is in it."""
        journal = test_log.Journal(self.path)
        journal.record("exec", path=b"/bin/a")
        process = journal.start(100, marks=0)
        sized = test_log.details(test_log.NO_VERSION, test_log.struct.pack("<QQQ", 1, 2, 2**64 - 1))
        journal.record("edited", process=process, path=b"/w/a", marks=8, details=sized)
        journal.record("read", process=process, path=b"/w/a", fd=3, amount=2**64 - 1)
        journal.record("exit", process=process, amount=2**63)

        def numbers(value):
            if isinstance(value, dict):
                for name, inner in value.items():
                    yield from [int(inner)] if name == "intValue" else numbers(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from numbers(inner)
            elif isinstance(value, int):
                yield value
        self.ocsf()
        self.ecs()
        self.otlp()
        for form in ("jsonl", "ocsf", "ecs", "otlp", "sarif"):
            self.assertLess(max(numbers(self.rows(form))), 2**63, form)

    def test_times_are_exact(self):
        journal = test_log.Journal(self.path)
        journal.record("open", path=b"a", when=1_700_000_000_123_456_789)
        journal.record("open", path=b"b", when=0)
        self.assertEqual([row["time"] for row in self.ocsf()], [1_700_000_000_123] * 2)
        self.assertEqual([row["metadata"].get("original_time") for row in self.ocsf()], ["2023-11-14T22:13:20.123456789Z", None])
        self.assertEqual([row["@timestamp"] for row in self.ecs()], ["2023-11-14T22:13:20.123456789Z"] * 2)
        self.assertEqual([(record.get("timeUnixNano"), record["observedTimeUnixNano"]) for record in self.otlp()],
                         [("1700000000123456789",) * 2, (None, "1700000000123456789")])

    def test_no_events(self):
        test_log.Journal(self.path)
        for form in ("ocsf", "ecs", "otlp"):
            self.assertEqual(self.export(form), b"")
        run = self.sarif()
        self.assertEqual((run["results"], run["tool"]["driver"]["rules"]), ([], []))


class Bytes(Formats):
    PATHS = [*test_log.HOSTILE, b"<script>alert(1)</script>", b"a?b#c%41&d", b"a:b", b"]}'\",{[", b"..a/ b/c.d.e", bytes(range(1, 47)) +
             bytes(range(48, 256)), b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "\u2028\u2029\ufeff".encode()]

    def test_hostile_paths(self):
        """Whatever a name is made of, its bytes follow from each form, and each document is one."""
        journal = test_log.Journal(self.path)
        process = journal.start(executable=b"/bin/\xff\"\n", arguments=self.PATHS[:6])
        for path in self.PATHS:
            journal.record("open", error=13, path=path, process=process)
        expected = [b"/w/" + path for path in self.PATHS]
        ocsf, ecs, otlp, sarif = self.ocsf()[1:], self.ecs()[1:], self.otlp()[1:], self.sarif()
        self.assertEqual([bytes_of(row["file"]["path"]) for row in ocsf], expected)
        self.assertEqual([bytes_of(row["file"]["path"]) for row in ecs], expected)
        self.assertEqual([bytes_of(record["attributes"]["file.path"]) for record in otlp], expected)
        self.assertEqual([bytes_of(row["file"]["name"]) for row in ecs], [os.path.basename(path) for path in expected])
        self.assertEqual([bytes_of(row["file"]["directory"]) for row in ecs], [os.path.dirname(path) for path in expected])
        self.assertEqual({bytes_of(row["process"]["executable"]) for row in ecs}, {b"/bin/\xff\"\n"})
        self.assertEqual([bytes_of(word) for word in self.ecs()[0]["process"]["args"]], self.PATHS[:6])
        uris = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in sarif["results"]]
        self.assertEqual([urllib.parse.unquote_to_bytes(place["uri"]) for place in uris], self.PATHS)
        self.assertEqual({place["uriBaseId"] for place in uris}, {"%SRCROOT%"})
        self.assertEqual(bytes_of(sarif["results"][4]["message"]["text"]),
                         b"\xff\"\n: an access that was denied: " + expected[4] + b" (EACCES)")

    def test_hostile_rules_and_programs(self):
        journal = test_log.Journal(self.path, workspace=b"/w \xff%")
        for name in (b"<b>\"\xff", b"n" * 200, b"", None):
            journal.record("ruled", path=b"/x y", other=name, decision=2, flags=1)
        journal.record("unobserved", path=b"\x1b[31m", other=b"r")
        run = self.sarif()
        self.assertEqual([rule["id"] for rule in run["tool"]["driver"]["rules"]], ["rule-hit/<b>\"\\xff", "rule-hit", "unobserved-program"])
        self.assertEqual(run["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///w%20%FF%25/")
        self.assertEqual([row["rule"]["name"] for row in self.ecs()], ["<b>\"\\xff", "n" * 200, "", "RuleHit", "UnobservedProgram"])

    def test_many_rules(self):
        """Rules of a journal that was made to deceive: their number is bounded."""
        journal = test_log.Journal(self.path)
        for i in range(300):
            journal.record("ruled", path=b"/x%d" % i, other=b"r%d" % i, decision=2, flags=1)
        run = self.sarif()
        self.assertEqual(len(run["results"]), 300)
        self.assertEqual(len(run["tool"]["driver"]["rules"]), 129)
        self.assertEqual(run["results"][-1]["ruleId"], "rule-hit")

    def test_requests_are_bounded(self):
        """The Collector takes a line of 1 MiB; the longest that paths can make stays below, and what is exported is whole."""
        journal = test_log.Journal(self.path)
        for i in range(300):
            journal.record("rename", path=b"%03d" % i + b"\xff" * 4000, other=b"\xfe" * 4000, fd=-100, amount=journal.text(b"/w"))
            if journal.next > journal.allocated - 400:
                journal.grow(1)
        lines = self.export("otlp").split(b"\n")[:-1]
        self.assertLess(max(map(len, lines)), 1 << 20)
        self.assertGreater(len(lines), 10)
        self.assertEqual(len(self.otlp()), 300)

    def test_a_made_session(self):
        """All that a long session holds, hostile names too: counts and paths by op are those of `seen log`."""
        self.path = self.made_journal(40000 if LONG else 3000, "--hostile")
        log = collections.Counter((line["op"], line.get("resolved")) for line in self.log())
        self.assertEqual(collections.Counter((row["unmapped"]["op"], row["unmapped"].get("resolved")) for row in self.ocsf()), log)
        self.assertEqual(collections.Counter((row["seen"]["op"], row["seen"].get("resolved")) for row in self.ecs()), log)
        self.assertEqual(collections.Counter((record["attributes"]["seen.op"], record["attributes"].get("seen.resolved"))
                                             for record in self.otlp()), log)

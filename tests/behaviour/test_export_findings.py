"""Exports of findings (SARIF), those that go on, and what the standards' own tools make of them: the rest of test_export_formats.py."""

import collections
import json
import os
import subprocess
import unittest
import npm_packages

import test_log
from driver import jsonschema
from test_export_formats import Formats, LONG, OTLP_NAMES


class Findings(Formats):
    def test_results_are_the_findings(self):
        """One result for each finding, however often it came; the first record of it."""
        self.every_op()
        expected = {}
        for row in self.ecs():
            rule = row.get("rule", {}).get("id")
            if rule is None and row.get("error", {}).get("code") in ("EACCES", "EPERM", "EROFS"):
                rule = "access-denied"
            if rule == "rule-hit":
                rule += "/" + row["rule"]["name"]
            if rule:
                what = row["seen"].get("resolved") or row["seen"].get("program") or ""
                who = row.get("process", {}).get("name") if row["event"]["category"][0] == "file" else None
                key = (rule, what, who, row["event"]["outcome"], "denied" in row["event"]["type"],
                       row["event"]["sequence"] if rule == "damaged-record" else 0)
                expected.setdefault(key, row["event"]["sequence"])
        run = self.sarif()
        self.assertEqual([result["properties"]["number"] for result in run["results"]], sorted(expected.values()))
        self.assertEqual([result["ruleId"] for result in run["results"]], [key[0] for key in sorted(expected, key=expected.get)])
        levels = {result["ruleId"]: result["level"] for result in run["results"]}
        self.assertEqual((levels["stale-write"], levels["unobserved-program"], levels["access-denied"]), ("error", "warning", "note"))
        places = {result["ruleId"]: result["locations"][0]["physicalLocation"] for result in run["results"]}
        self.assertEqual(places["stale-write"]["artifactLocation"], {"uri": "g", "uriBaseId": "%SRCROOT%"})
        damaged, = (result for result in run["results"] if result["ruleId"] == "damaged-record")
        self.assertEqual(damaged["locations"][0]["physicalLocation"]["region"]["byteOffset"], damaged["properties"]["number"] * 64)
        self.assertEqual(len({result["partialFingerprints"]["seenFinding/v1"] for result in run["results"]}), len(run["results"]))

    def test_places(self):
        journal = test_log.Journal(self.path)
        for path in (b"/w", b"/w/in/side", b"/wide", b"/etc/a b"):
            journal.record("open", error=13, path=path)
        journal.record("open", error=13, path=b"far", directory_fd=7)
        self.assertEqual([result["locations"][0]["physicalLocation"]["artifactLocation"] for result in self.sarif()["results"]], [
            {"uri": "./", "uriBaseId": "%SRCROOT%"}, {"uri": "in/side", "uriBaseId": "%SRCROOT%"}, {"uri": "file:///wide"},
            {"uri": "file:///etc/a%20b"}, {"uri": "far", "uriBaseId": "FOLDER"}])

    def test_a_fingerprint_outlives_its_run(self):
        found = []
        for pid in (100, 200):
            journal = test_log.Journal(self.path)
            for _ in range(pid // 100):
                process = journal.start(pid)
            journal.record("open", error=13, path=b"x", process=process)
            found.append([result["partialFingerprints"] for result in self.sarif()["results"]])
        self.assertEqual(found[0], found[1])
        self.assertEqual(len(found[0]), 1)

    def test_repeats_are_counted(self):
        journal = test_log.Journal(self.path)
        for i in range(30):
            journal.record("open", error=13 if i < 20 else 30, path=b"x%d" % (i % 3))
        properties = self.sarif()["properties"]
        self.assertEqual((properties["results"], properties["repeated"], properties["omitted"]), (3, 27, 0))

    def test_github_takes_no_more(self):
        """25,000 results of a run; what is graver than a note finds room after 20,000 notes."""
        notes = 21000
        journal = test_log.Journal(self.path)
        journal.grow(6)

        def bulk(op, count, **more):
            for i in range(count):
                journal.record(op, path=b"/w/%d" % i, when=1, **more)
        journal.publish, publish = lambda: None, journal.publish  # each record a write less
        bulk("open", notes, error=13)
        bulk("ruled", 5200 if LONG else 10, other=b"r", decision=2, flags=1)
        publish()
        run = self.sarif()
        levels = collections.Counter(result["level"] for result in run["results"])
        rest = 5000 if LONG else 10
        self.assertEqual(levels, {"note": 20000, "warning": rest})
        self.assertEqual(run["properties"]["omitted"], 1200 if LONG else 1000)
        notification, = run["invocations"][-1]["toolExecutionNotifications"]
        self.assertTrue(notification["message"]["text"].startswith("1200 further" if LONG else "1000 further"))

    def test_runs(self):
        journal = test_log.Journal(self.path)
        for pid, status in ((1, 0), (2, 3), (3, None)):
            journal.record("exec", path=b"./x", other=b"x\0", amount=pid * 10, when=10**18)  # the serial that start() gives a pid
            process = journal.start(pid)
            journal.record("exec", path=b"./inner", other=b"x\0", process=process)
            if status is not None:
                journal.record("exit", amount=status, process=process, when=10**18 + 2 * 10**9)
        begun = {"executionSuccessful": True, "startTimeUtc": "2001-09-09T01:46:40.000Z"}
        ended = {**begun, "endTimeUtc": "2001-09-09T01:46:42.000Z"}
        self.assertEqual(self.sarif()["invocations"], [{**ended, "processId": 1, "exitCode": 0}, {**ended, "processId": 2, "exitCode": 3},
                                                       {**begun, "processId": 3}])


class Going(Formats):
    def test_from_a_record_on(self):
        """What a later run tells is what the first one would have told from there."""
        self.path = self.made_journal(600)
        numbers = [line["number"] for line in self.log()]
        middle = numbers[len(numbers) // 2]
        for form, key in (("ocsf", lambda row: row["metadata"]["sequence"]), ("ecs", lambda row: row["event"]["sequence"])):
            rows = self.rows(form)
            self.assertEqual(self.rows(form, "--from-record", str(middle)), [row for row in rows if key(row) >= middle])
        records = self.otlp()
        self.assertEqual(self.otlp("--from-record", str(middle)),
                         [record for record in records if record["attributes"]["seen.number"] >= middle])

    def test_lines_are_added(self):
        self.path = self.made_journal(600)
        for form in ("ocsf", "ecs", "otlp"):
            state, output = str(self.top / f"{form}.state"), str(self.top / f"{form}.out")
            for _ in range(2):
                self.export(form, "--state", state, "--output", output)
            with open(output, "rb") as file:
                self.assertEqual(file.read(), self.export(form))

    def test_where_it_was(self):
        """Of a session of this machine the host is known, of a file from somewhere it is not."""
        self.seen("run", "--session", "s", "--", "true", code=0)
        mine = json.loads(self.seen("export", "--session", "s", "--format", "ocsf", code=0).stdout.splitlines()[0])
        self.assertEqual(mine["device"]["hostname"], os.uname().nodename)
        self.path = str(self.session_directory() / "journal")
        self.assertEqual(self.ocsf()[0]["device"], {"type_id": 0, "name": "unknown"})
        run, = json.loads(self.seen("export", "--session", "s", "--format", "sarif", code=0).stdout)["runs"]
        self.assertEqual([invocation["exitCode"] for invocation in run["invocations"]], [0])


@unittest.skipUnless(LONG, "SEEN_LONG: official schemas come from npm")
class Official(Formats):
    def journals(self):
        self.every_op()
        yield self.path
        self.path = self.made_journal(20000, "--hostile")
        yield self.path

    def test_sarif(self):
        """The schema of OASIS, and Microsoft's validator with the rules of GitHub's code scanning."""
        modules = npm_packages.installed("sarif", "@microsoft/sarif-multitool-linux@5.7.0")
        tool = modules / "@microsoft/sarif-multitool-linux/Sarif.Multitool"
        schema = json.loads((tool.parent / "sarif-2.1.0.json").read_text(encoding="utf-8-sig"))
        tool.chmod(0o755)
        for path in self.journals():
            self.path = path
            document = self.top / "found.sarif"
            document.write_bytes(self.export("sarif"))
            if jsonschema:
                jsonschema.Draft202012Validator(schema).validate(json.loads(document.read_bytes()))
            done = subprocess.run([str(tool), "validate", str(document), "--output", str(self.top / "judged.sarif"), "--log",
                                   "ForceOverwrite", "--rule-kind", "Sarif;Ghas"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**self.env, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            judged = json.loads((self.top / "judged.sarif").read_text(encoding="utf-8-sig"))
            rules = {result["ruleId"] for result in judged["runs"][0].get("results", [])}
            # There is no page of the tool to name.
            self.assertLessEqual(rules, {"SARIF2005"}, done.stdout)

    def test_otlp(self):
        """The protocol's own messages take each line, and give it back as it was; the attributes' names are those of the conventions."""
        modules = npm_packages.installed("otlp", "@opentelemetry/otlp-transformer@0.214.0", "@opentelemetry/semantic-conventions@1.45.0")
        for path in self.journals():
            self.path = path
            document = self.top / "otlp.json"
            document.write_bytes(self.export("otlp"))
            output = npm_packages.node(modules, r"""
                const root = require('@opentelemetry/otlp-transformer/build/src/generated/root');
                const Request = root.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
                const sorted = x => Array.isArray(x) ? x.map(sorted) : x && typeof x === 'object' ?
                    Object.fromEntries(Object.keys(x).sort().map(k => [k, sorted(x[k])])) : x;
                let records = 0;
                for (const line of require('fs').readFileSync(process.argv[1], 'utf8').split('\n').filter(Boolean)) {
                    const sent = JSON.parse(line);
                    const bytes = Request.encode(Request.fromObject(sent)).finish();
                    const got = Request.toObject(Request.decode(bytes), {longs: String, enums: Number, bytes: String});
                    require('assert').deepStrictEqual(sorted(got), sorted(sent));
                    records += sent.resourceLogs[0].scopeLogs[0].logRecords.length;
                }
                console.log(records);""", str(document))
            self.assertEqual(int(output), len(self.log()))
        output = npm_packages.node(modules, """
            const known = new Set(Object.values(require('@opentelemetry/semantic-conventions/incubating')));
            console.log(JSON.stringify(process.argv.slice(1).filter(name => !known.has(name))));""", *sorted(OTLP_NAMES))
        self.assertEqual(json.loads(output), [])

    def test_ecs(self):
        """Every field that is not ours is one of the schema, of its type, with its values; of version 8 and of 9."""
        modules = npm_packages.installed("ecs", "ecs8@npm:@elastic/ecs@8.11.5", "ecs9@npm:@elastic/ecs@9.4.0")
        for path in self.journals():
            self.path = path
            rows = self.ecs()
            for package in ("ecs8", "ecs9"):
                fields = json.loads(npm_packages.node(modules, f"console.log(JSON.stringify(require('{package}').EcsFlat))"))
                for row in rows:
                    self.conforms(row, fields)

    def conforms(self, row, fields):
        types = {"keyword": str, "wildcard": str, "match_only_text": str, "date": str, "long": int}
        expected = set()
        for category in fields["event.category"]["allowed_values"]:
            if category["name"] in row["event"]["category"]:
                expected |= set(category["expected_event_types"])
        self.assertLessEqual(set(row["event"]["type"]), expected)

        def check_members(above, value):
            for name, member in value.items():
                flat = f"{above}{name}"
                if flat == "seen":
                    continue
                if isinstance(member, dict):
                    check_members(f"{flat}.", member)
                    continue
                self.assertIn(flat, fields)
                field = fields[flat]
                values = member if isinstance(member, list) else [member]
                self.assertEqual(isinstance(member, list), "array" in field["normalize"], flat)
                for item in values:
                    self.assertIsInstance(item, types[field["type"]], flat)
                    if "allowed_values" in field:
                        self.assertIn(item, {allowed["name"] for allowed in field["allowed_values"]}, flat)
        check_members("", row)


if __name__ == "__main__":
    unittest.main()

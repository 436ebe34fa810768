"""history: what each scope was given, from real runs and from journals made by hand."""
import json
import os
import re
import shutil
import struct
import unittest

from driver import BUILD, Case, text_of
from test_log import HOSTILE, NO_VERSION, Journal, bytes_of, unescaped, version

VIEWER, READER = 3, 4
CONTENT, YIELDED, NOTICE, DIFF = range(4)  # enum decision
CUT = "... [truncated]"


def details(before, after, size=0):
    return struct.pack("<QQQ", 1, 2, size) + before + after + b"\0" * 56


def of_size(number, size):
    return struct.pack("<QQQ", 1, number << 16, size)


class HistoryCase(Case):
    def validate(self, lines):
        self.validate_by("history.schema.json", lines)

    def text(self, *words, code=0, **more):
        """The entries, without the lines that name scopes."""
        lines = self.seen("history", *words, code=code, **more).stdout.decode().splitlines()
        return [line for line in lines if line and not line.startswith("scope ")]

    def lines(self, *words, code=0, **more):
        return [json.loads(line) for line in self.seen("history", "--json", *words, code=code, **more).stdout.splitlines()]


class Sessions(HistoryCase):
    def test_each_kind_in_the_order_in_which_it_was_asked_for(self):
        self.file("a.txt")
        self.file("b.txt", b"short\n")
        (self.work / "d").mkdir()
        self.file("d/c.txt", b"find me\n")
        elsewhere = self.top / "elsewhere"
        elsewhere.write_text("host\n")
        self.agent("cat a.txt", "cat a.txt b.txt", "cat a.txt", "grep -rn me d", "cat a.txt > copy", "(cat a.txt) | true", "ls d",
                   f"cat {elsewhere}", "cat nope", options=["-c", "requests.enable=no"])
        excerpt = text_of().decode()[:500].replace("\n", r"\n") + CUT
        self.assertEqual(self.text(), [
            "[Tool: cat(a.txt)] → " + excerpt,
            "[Tool: cat(a.txt)] → (notice in place of 2,210 bytes, version 963924c7aa83)",
            r"[Tool: cat(b.txt)] → short\n",
            "[Tool: cat(a.txt)] → (asked for again) " + excerpt,
            "[Tool: grep(-rn me d)] → (not on record whether it was given) read: d, d/c.txt",
            "[Tool: cat(a.txt)] → (not on record whether it was given) read: a.txt",
            "[Tool: ls(d)] → (not on record whether it was given) read: d",
            f"[Tool: cat({elsewhere})] → (not on record whether it was given) read: {elsewhere}",
            "[Tool: cat(nope)] → (not on record whether it was given) no file on record that it read"])
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([(line["kind"], line["decision"], line["tool"], line["arguments"][1:]) for line in lines][:5], [
            ("delivery", "content", "cat", ["a.txt"]), ("delivery", "notice", "cat", ["a.txt", "b.txt"]),
            ("delivery", "content", "cat", ["a.txt", "b.txt"]), ("delivery", "yielded", "cat", ["a.txt"]),
            ("request", None, "grep", ["-rn", "me", "d"])])
        self.assertEqual(lines[0]["paths"], [str(self.work / "a.txt")])
        self.assertEqual(lines[4]["paths"], [str(self.work / "d"), str(self.work / "d/c.txt")])
        self.assertEqual([(line["bytes"], line["content"], line["truncated"]) for line in lines[:4]], [
            (2210, "text", True), (lines[1]["bytes"], None, False), (6, "text", False), (2210, "text", True)])
        self.assertEqual(lines[1]["bytes"] + lines[1]["bytes_saved"], 2210)
        self.assertEqual(lines[0]["excerpt"], text_of().decode()[:500])
        self.assertEqual(len({line["scope"] for line in lines}), 1)
        self.assertEqual([line["time"] for line in lines], sorted(line["time"] for line in lines))

    def test_requests_that_are_answered(self):
        (self.work / "d").mkdir()
        self.file("d/c.txt")
        given, notice, again = self.agent(*["grep -rn line d"] * 3)
        self.assertEqual(given, again)
        saved, size = f"{len(given) - len(notice):,}", f"{len(given):,}"
        self.assertEqual(self.text(), [
            f"[Tool: grep(-rn line d)] → ({size} bytes) read: d, d/c.txt",
            f"[Tool: grep(-rn line d)] → (notice; not given again: {saved} bytes)",
            f"[Tool: grep(-rn line d)] → (asked for again) ({size} bytes) read: d, d/c.txt"])
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([(line["decision"], line["bytes"], line["bytes_saved"]) for line in lines], [
            ("content", len(given), 0), ("notice", None, len(given) - len(notice)), ("yielded", len(given), 0)])

    def test_tokens_are_of_what_was_given(self):
        self.file("a.txt", b"one two three\n" * 100)
        given, notice = self.agent("cat a.txt", "cat a.txt")
        first, second = self.lines("-c", "history.result_max_length=100")
        # "one two three\n": three words and a line's end of three quarters
        self.assertEqual((first["tokens"], first["bytes"], first["tokens_saved"]), (375, len(given), 0))
        self.assertEqual(first["excerpt_tokens"], 28)  # seven lines and "on": 27.25
        self.assertEqual((second["bytes"], second["bytes_saved"]), (len(notice), len(given) - len(notice)))
        self.assertEqual(second["tokens"], (len(notice) * 2 + 6) // 7)
        self.assertEqual(second["tokens_saved"], 375 - second["tokens"])

    def test_cut_at_so_many_characters(self):
        for name, content in (("a", b"x" * 1000), ("u", "é".encode() * 1000), ("e", "€".encode() * 1000), ("f", "😀".encode() * 1000),
                              ("m", ("aé€😀" * 250).encode()), ("i", b"\xff\xe2\x82" * 400)):
            self.file(name, content)
        self.agent("cat a", "cat u", "cat e", "cat f", "cat m", "cat i", options=["-c", "window.bytes=0"])
        for number in (100, 101, 102, 103, 999, 1000, 1001):
            lines = self.lines("-c", f"history.result_max_length={number}")
            self.assertEqual(len(lines), 6)
            for line in lines[:5]:
                content = (self.work / line["paths"][0]).read_bytes().decode()
                self.assertEqual(line["excerpt"], content[:number])
                self.assertEqual(line["truncated"], number < 1000)
            content = (self.work / "i").read_bytes()
            self.assertEqual(bytes_of(lines[5]["excerpt"]), content[:number])
            shown = self.text("-c", f"history.result_max_length={number}")
            self.assertEqual(shown[1], "[Tool: cat(u)] → " + ("é" * min(number, 1000)) + (CUT if number < 1000 else ""))
            self.assertEqual(unescaped(shown[5].split(" → ")[1].removesuffix(CUT).encode()), content[:number])

    def test_what_is_no_text(self):
        self.file("binary", b"\x7fELF\0\x01" * 100)
        self.file("nul_at_the_end", b"x" * 5000 + b"\0")
        self.file("empty", b"")
        self.file("terminal", b"\x1b[2J\x1b]0;title\x07\x9b31m\xc2\x9b\r" * 10)
        self.agent("cat binary", "cat nul_at_the_end", "cat empty", "cat terminal")
        done = self.seen("history", code=0)
        self.assert_plain(done.stdout)
        shown = self.text()
        self.assertEqual(shown[0], "[Tool: cat(binary)] → (binary, 600 bytes)")
        self.assertEqual(shown[1], "[Tool: cat(nul_at_the_end)] → (binary, 5,001 bytes)")
        self.assertTrue(shown[2].startswith("[Tool: cat(empty)] → "), shown[2])
        self.assertIn(r"\x1b[2J\x1b]0;title\x07\x9b31m\xc2\x9b\r", shown[3])
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([line["content"] for line in lines[:2]], ["binary", "binary"])
        self.assertEqual([line["excerpt"] for line in lines[:2]], [None, None])

    def test_content_that_is_gone_or_damaged(self):
        for name in ("gone", "damaged", "longer", "link"):
            self.file(name, text_of(word=name))
        self.agent("cat gone", "cat damaged", "cat longer", "cat link")
        directory = self.session_directory() / "content"
        kept = {}
        for name in os.listdir(directory):
            if name != "index":
                kept[(directory / name).read_bytes()] = directory / name
        path = {name: kept[text_of(word=name)] for name in ("gone", "damaged", "longer", "link")}
        for kept in path.values():  # of mode 0400
            kept.chmod(0o600)
        path["gone"].unlink()
        path["damaged"].write_bytes(path["damaged"].read_bytes().replace(b"damaged 1", b"damaged!1"))
        path["longer"].write_bytes(path["longer"].read_bytes() + b"!")
        path["link"].rename(self.top / "elsewhere")
        path["link"].symlink_to(self.top / "elsewhere")
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([line["content"] for line in lines], ["gone", "damaged", "damaged", "damaged"])
        self.assertEqual([(line["excerpt"], line["truncated"]) for line in lines], [(None, False)] * 4)
        self.assertEqual(lines[0]["tokens"], (lines[0]["bytes"] * 2 + 6) // 7)
        shown = self.text()
        self.assertRegex(shown[0], r"\A\[Tool: cat\(gone\)\] → \([\d,]+ bytes, version [0-9a-f]{12}: not kept any more\)\Z")
        self.assertTrue(shown[1].endswith("what is kept of it is damaged)"))
        shutil.rmtree(directory)
        self.assertEqual([line["content"] for line in self.lines()], ["gone"] * 4)

    def test_scopes_and_epochs(self):
        self.file("a.txt")
        self.agent("cat a.txt", "seen=1; cat a.txt")
        self.agent("cat a.txt")
        lines = self.lines()
        scopes = list(dict.fromkeys(line["scope"] for line in lines))
        self.assertEqual([line["decision"] for line in lines], ["content", "notice", "content"])
        self.assertEqual(len(scopes), 2)
        self.assertEqual(self.lines("--scope", scopes[0]), lines[:2])
        self.assertEqual(self.lines("--scope", scopes[1]), lines[2:])
        self.assertEqual(self.lines("--scope", "0" * 15 + "1", code=1), [])
        self.assertIn(b"no scope", self.seen("history", "--scope", "nosuch", code=1).stderr)
        output = self.seen("history", code=0).stdout.decode()
        self.assertEqual(re.findall(r"(?m)^scope ([0-9a-f]{16}) epoch [0-9a-f]{16} 20\S+Z$", output), scopes)

    def test_scope_by_name(self):
        self.file("a.txt")
        more = {"env": {"SEEN_SCOPE": "night-shift", "SEEN_AGENT_IS": "outside"}}
        self.external("cat a.txt", **more)
        lines = self.lines("--scope", "night-shift")
        self.assertEqual([line["tool"] for line in lines], ["cat"])

    def test_tail(self):
        for number in range(8):
            self.file(f"f{number}", b"content %d\n" % number)
        self.agent(*[f"cat f{number}" for number in range(8)])
        everything = self.text()
        self.assertEqual(len(everything), 8)
        for words in (("--tail", "3"), ("-n", "3")):
            self.assertEqual(self.text(*words), everything[-3:])
        self.assertEqual(self.text("-n", "8"), everything)
        self.assertEqual(self.text("-n", "9"), everything)
        for wrong in ("0", "-1", "x", ""):
            self.assertIn(b"--tail", self.seen("history", "--tail", wrong, code=2).stderr)

    def test_diff(self):
        content = text_of()
        self.file("a.txt", content)
        self.agent("cat a.txt", "echo more >> a.txt", "cat a.txt", options=["--on-change", "diff"])
        first, second = self.lines()
        self.validate([first, second])
        self.assertEqual((second["decision"], second["before"]), ("diff", first["version"]))
        self.assertEqual(second["bytes"] + second["bytes_saved"], len(content) + 5)
        self.assertRegex(self.text()[1], r"\(what changed since version [0-9a-f]{12}, [\d,]+ bytes in place of 2,215 bytes, version ")

    def test_instruction_files(self):
        self.file("AGENTS.md", b"Say please.\n")
        self.file("a.txt")
        self.agent("cat a.txt", "$SEEN context a.txt", env={"SEEN": str(BUILD / "bin" / "seen")})
        lines = self.lines()
        self.validate(lines)
        (line,) = [line for line in lines if line["kind"] == "instruction"]
        self.assertEqual((line["tool"], line["decision"], line["bytes"]), ("context", "content", 12))
        self.assertEqual(line["scope"], lines[0]["scope"])
        self.assertEqual(line["paths"], [str(self.work / "AGENTS.md")])

    def test_own_reads_of_a_whitelisted_program(self):
        self.file("a.txt")
        (self.top / "agent.py").write_text(
            "import sys, time\nfor _ in range(2):\n    open('a.txt').read()\n    time.sleep(0.4)\nopen(sys.argv[2], 'w').write('[]')\n")
        self.agent("x", options=["--whitelist", "agent"])
        lines = self.lines()
        self.assertEqual([(line["tool"], line["decision"], line["paths"]) for line in lines], [
            ("read", "content", [str(self.work / "a.txt")]), ("read", "notice", [str(self.work / "a.txt")])])

    def test_hostile_names(self):
        names = [name for name in HOSTILE if len(name) <= 255]
        for name in names:
            self.file(name, b"content\n")
        quoted = [b"'" + name.replace(b"'", b"'\\''") + b"'" for name in names]
        self.agent(*[os.fsdecode(b"cat " + name) for name in quoted])
        done = self.seen("history", code=0)
        self.assert_plain(done.stdout)
        shown = [line for line in done.stdout.splitlines() if line.startswith(b"[Tool: cat(")]
        self.assertEqual([unescaped(line[len(b"[Tool: cat("):-len(rb")] x content\n") - 2]) for line in shown], names)
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([os.path.basename(bytes_of(line["paths"][0])) for line in lines], names)

    def test_nothing(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.assertEqual(self.lines(code=1), [])
        self.seen("history", "--session", "nosuch", code=3)
        self.assertIn(b"'word'", self.seen("history", "word", code=2).stderr)
        self.assertIn(b"--json", self.seen("history", "--jsno", code=2).stderr)

    def test_a_segment_that_is_gone(self):
        self.file("a.txt")
        self.agent("cat a.txt")
        shown = self.text("--session", "s")
        (self.session_directory() / "segment").unlink()
        self.assertEqual(self.text("--session", "s"), shown)
        self.assertEqual(self.text("--journal", str(self.session_directory() / "journal")), shown)
        self.assertEqual(self.text("--journal", "journal", cwd=self.session_directory()), shown)

    def test_output_that_cannot_be_written(self):
        self.file("a.txt")
        self.agent("cat a.txt")
        for words in ((), ("--json",)):
            with open("/dev/full", "wb") as full:
                self.seen("history", *words, stdout=full, code=6)


TEMPLATE = ("-c", "notice.template=[{path} {nonce}] {excerpt}")


class Excerpt(HistoryCase):
    """{excerpt} in a notice."""

    def test_in_a_viewers_notice(self):
        content = "zeile é€😀\t\n".encode() * 200
        self.file("a.txt", content)
        given, notice, piped = self.agent("cat a.txt", "cat a.txt", "cat a.txt | cat", options=TEMPLATE)
        self.assertEqual((given, piped), (content, content))
        text = content.decode()[:500].replace("\t", r"\t").replace("\n", r"\n")
        self.assertRegex(notice.decode(), r"\A\[a\.txt seen-[0-9a-f]{16}\] ")
        self.assertEqual(notice.decode().split("] ", 1)[1], text + CUT + "\n")
        given, notice = self.agent("cat a.txt", "cat a.txt", session="t", options=[*TEMPLATE, "-c", "history.result_max_length=100"])
        text = content.decode()[:100].replace("\t", r"\t").replace("\n", r"\n")
        self.assertEqual(notice.decode().split("] ", 1)[1], text + CUT + "\n")

    def test_in_a_viewers_notice_by_the_supervisor(self):
        self.file("a.txt")
        done = self.seen("run", "--via", "supervise", "--agent-is", "outside", "--quiet", *TEMPLATE, "--", "bash", "-c", "cat a.txt; cat a.txt")
        if b"supervise" in done.stderr:
            self.skipTest(done.stderr.decode())
        given, notice = done.stdout[:2210], done.stdout[2210:]
        self.assert_content(given)
        self.assertEqual(notice.decode().split("] ", 1)[1], text_of().decode()[:500].replace("\n", r"\n") + CUT + "\n")

    def test_not_where_the_notice_is_no_shorter(self):
        content = b"\n" * 600  # twice as long when it is escaped
        self.file("a.txt", content)
        self.assertEqual(self.agent("cat a.txt", "cat a.txt", options=TEMPLATE), [content, content])

    def test_as_much_as_fits(self):
        content = text_of(500)
        self.file("a.txt", content)
        given, notice = self.agent("cat a.txt", "cat a.txt", options=[*TEMPLATE, "-c", "history.result_max_length=10000"])
        self.assertEqual(given, content)
        self.assertTrue(8192 - 16 < len(notice) < 8192, len(notice))
        self.assertEqual((notice.count(b"\n"), notice[-len(CUT.encode()) - 1:].decode()), (1, CUT + "\n"))

    def test_not_in_a_programs_own_reads(self):
        self.file("a.txt")
        (self.top / "agent.py").write_text("import sys, time\ngiven = []\nfor _ in range(2):\n    given.append(open('a.txt').read())\n"
                                           "    time.sleep(0.4)\nopen(sys.argv[2], 'w').write('[]')\nopen(sys.argv[2] + '.given', 'w')"
                                           ".write(repr(given))\n")
        self.agent("x", options=["--whitelist", "agent", *TEMPLATE])
        given = (self.top / "tmp" / "results.given").read_text()
        self.assertEqual(given.count("line 0 of"), 1, given)


class Limits(HistoryCase):
    def test_out_of_range(self):
        self.file("a.txt")
        self.agent("cat a.txt")
        shown = {"500": self.text("-c", "history.result_max_length=500"), "10000": self.text("-c", "history.result_max_length=10000")}
        self.assertNotEqual(shown["500"], shown["10000"])
        for value, used in (("99", "500"), ("10001", "10000"), ("0", "500"), ("18446744073709551616", "10000"), ("+00099999", "10000"), ("-500", "500"), ("-10001", "500")):
            done = self.seen("history", "-c", f"history.result_max_length={value}", code=0)
            self.assertEqual(done.stderr.decode(), f"seen: -c: [history] result_max_length = '{value}' is not a number from 100 to 10000; {used} is used\n")
            self.assertEqual([line for line in done.stdout.decode().splitlines() if line.startswith("[")], shown[used])
        for value in ("100", "10000"):
            self.assertEqual(self.seen("history", "-c", f"history.result_max_length={value}", code=0).stderr, b"")

    def test_what_is_no_number(self):
        self.file("a.txt")
        self.agent("cat a.txt")
        shown = self.text()
        for value in ("", "many", "5e2", "500 characters", "0x200"):
            done = self.seen("history", "-c", f"history.result_max_length={value}", code=0)
            self.assertEqual(done.stderr.decode(), f"seen: -c: [history] result_max_length = '{value}' is not a number from 100 to 10000; "
                                                   "500 is used\n")
            self.assertIn(shown[0], done.stdout.decode())
        (self.home / ".config/seen/seen.ini").write_text("[history]\nresult_max_length = many\n")
        self.assertIn(b"seen.ini:2: [history] result_max_length = 'many'", self.seen("history", code=0).stderr)
        done = self.seen("history", "-c", "history.result_max_length=100", code=0)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(self.text("-c", "history.result_max_length=100"), [
            "[Tool: cat(a.txt)] → " + text_of().decode()[:100].replace("\n", r"\n") + CUT])


class Journals(HistoryCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.top / "journal")

    def lines(self, *words, **more):
        return super().lines("--journal", self.path, *words, **more)

    def test_a_command_that_is_on_record(self):
        journal = Journal(self.path)
        for decisions in ([(CONTENT, 1234)], [(NOTICE, 1000)], [(YIELDED, 5), (CONTENT, 6)], [(NOTICE, 1000), (CONTENT, 7)]):
            process = journal.start(100, role=READER, executable=b"/usr/bin/grep", arguments=(b"grep", b"-rn", b"x"))
            journal.record("list", path=b"src", process=process)
            journal.record("open", path=b"src/a", process=process)
            journal.record("open", path=b"src/b", error=13, process=process)
            journal.record("open", path=b"src/w", flags=os.O_WRONLY, process=process)
            journal.record("open", path=b"src/p", marks=32, process=process)
            for decision, amount in decisions:
                journal.record("request", decision=decision, amount=amount, process=process)
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([(line["decision"], line["bytes"], line["bytes_saved"]) for line in lines], [
            ("content", 1234, 0), ("notice", None, 1000), ("yielded", 6, 0), ("content", 7, 0)])
        self.assertEqual([line["paths"] for line in lines], [["/w/src", "/w/src/a"]] * 4)
        self.assertEqual([line.split(" → ")[1] for line in self.text("--journal", self.path)], [
            "(1,234 bytes) read: src, src/a", "(notice; not given again: 1,000 bytes) read: src, src/a",
            "(asked for again) (6 bytes) read: src, src/a", "(7 bytes) read: src, src/a"])
        self.assertEqual(lines[0]["tokens"], (1234 * 2 + 6) // 7)

    def test_the_list_of_what_was_read_is_cut(self):
        journal = Journal(self.path)
        process = journal.start(100, role=READER, executable=b"/usr/bin/grep", arguments=(b"grep",))
        names = ["é%03d" % number for number in range(300)]
        for name in names[:200] + names:
            journal.record("open", path=name.encode(), process=process)
        (line,) = self.lines()
        self.assertEqual((len(line["paths"]), line["path_count"]), (256, 300))
        (shown,) = self.text("--journal", self.path, "-c", "history.result_max_length=101")
        self.assertEqual(shown.split(" read: ")[1], ", ".join(names)[:101] + CUT)
        (shown,) = self.text("--journal", self.path, "-c", "history.result_max_length=10000")
        self.assertEqual(shown.split(" read: ")[1], ", ".join(names[:256]) + CUT)

    def test_more_requests_than_are_kept(self):
        """What is reported about a request that was handed on already is an entry of its own."""
        journal = Journal(self.path)
        first = journal.start(100, role=VIEWER, executable=b"/usr/bin/cat", arguments=(b"cat", b"-"))
        for pid in range(1500):
            process = journal.start(200 + pid, role=READER, executable=b"/usr/bin/ls", arguments=(b"ls",))
            journal.record("list", path=b"d%d" % pid, process=process)
        journal.record("given", path=b"/w/late", process=first, marks=8, details=details(NO_VERSION, of_size(7, 3), 3))
        lines = self.lines()
        self.validate(lines)
        self.assertEqual(len(lines), 1502)
        self.assertEqual([line["paths"] for line in lines[1:-1]], [[f"/w/d{pid}"] for pid in range(1500)])
        self.assertEqual((lines[-1]["paths"], lines[-1]["bytes"]), (["/w/late"], 3))

    def test_damage(self):
        journal = Journal(self.path)
        process = journal.start(100, role=VIEWER, executable=b"/usr/bin/cat", arguments=(b"cat", b"a", b"b"))
        damaged = journal.record("given", path=b"/w/a", process=process, marks=8, details=details(NO_VERSION, of_size(7, 3), 3))
        journal.undone()
        journal.record("given", path=b"/w/b", process=process, marks=8, details=details(NO_VERSION, of_size(8, 4), 4))
        journal.file.seek(damaged * 64 + 20)
        journal.file.write(b"!")
        done = self.seen("history", "--journal", self.path, "--json", code=0)
        self.assertEqual([json.loads(line)["paths"] for line in done.stdout.splitlines()], [["/w/b"]])
        self.assertIn(b"1 were not finished, 1 are damaged", done.stderr)

    def test_records_that_say_nonsense(self):
        journal = Journal(self.path)
        process = journal.start(100, role=VIEWER, executable=b"/usr/bin/cat", arguments=(b"cat",))
        for op in ("given", "notice", "yielded", "diffed"):
            journal.record(op, process=process)
            journal.record(op, path=b"/w/a", process=process)
            journal.record(op, path=b"/w/a", process=1 << 30, marks=8, details=details(NO_VERSION, of_size(7, 3), 3))
            journal.record(op, path=b"/w/%s" % op.encode(), process=process, marks=8, amount=1 << 63,
                           details=details(NO_VERSION, of_size(7, 1 << 62), 3))
        journal.record("request", process=process, decision=99, amount=1 << 63)
        journal.record("instructed", path=b"/w/x", amount=9)
        journal.record("instructed", amount=9)
        lines = self.lines()
        self.validate(lines)
        self.assertEqual([line["paths"][0] for line in lines if line["paths"]], ["/w/given", "/w/notice", "/w/diffed", "/w/x"])
        self.seen("history", "--journal", self.path, code=0)

    def test_what_is_no_journal(self):
        self.seen("history", "--journal", str(self.top / "nosuch"), code=1)
        with open(self.path, "wb") as file:
            file.write(b"text")
        self.seen("history", "--journal", self.path, code=4)
        self.assertIn(b"16 digits", self.seen("history", "--journal", self.path, "--scope", "name", code=2).stderr)

    def test_a_store_of_another_user(self):
        """A link in place of the store beside a journal is not followed."""
        journal = Journal(self.path)
        process = journal.start(100, role=VIEWER, executable=b"/usr/bin/cat", arguments=(b"cat",))
        journal.record("given", path=b"/w/a", process=process, marks=8, details=details(NO_VERSION, version(7), 3))
        (self.top / "elsewhere").mkdir()
        (self.top / "content").symlink_to(self.top / "elsewhere")
        self.assertEqual([line["content"] for line in self.lines()], ["gone"])


if __name__ == "__main__":
    unittest.main()

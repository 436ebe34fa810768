"""log: what the shim recorded, and journals made here byte by byte as docs/journal.md describes them."""
import ctypes
import ctypes.util
import datetime
import json
import os
import re
import shutil
import struct
import time
import unittest

from driver import SEEN, SOURCE, Case, Terminal, jsonschema

UNIT, FIRST, CHUNK = 64, 128, 16384
AT_FDCWD, VFORKED = -100, 2
ATTEMPTED = 128
AGENT, TOOL, USER, UNATTRIBUTED = range(2, 6)  # enum source
OPS = re.findall(r"^OP\(\w+, \"(\w+)\"", (SOURCE / "tracker/journal/ops.def").read_text(), re.M)
HOSTILE = [b"new\nline", b"esc\x1b[31mred\x1b]0;title\x07", b"quote\"'`$(x)", b"back\\slash\\x41", b"bad \xff\xfe utf-8 \xc3",
           b"\xc2\x9b31m", b"tab\tcr\rdel\x7f", b" ", "ünïcödé 語".encode(), b"n" * 4096, b"\x01" * 4000]


def load_xxhash():
    name = ctypes.util.find_library("xxhash")
    if not name:
        raise unittest.SkipTest("no libxxhash.so: journals cannot be made here")
    function = ctypes.CDLL(name).XXH3_64bits_withSeed
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function


class Journal:
    """A journal being written by hand."""

    def __init__(self, path, workspace=b"/w"):
        self.hash = load_xxhash()
        self.recorded = set()
        self.next, self.allocated = FIRST, CHUNK
        self.file = open(path, "w+b", buffering=0)
        os.fchmod(self.file.fileno(), 0o600)
        self.file.truncate(CHUNK * UNIT)
        root = self.text(workspace)
        self.file.seek(0)
        self.file.write(struct.pack("<QIIQQ72s24sII", 0x6c6e726a6e656573, 1, UNIT, 1, 1 << 24, b"test", b"0011223344556677",
                                    root, 1))
        self.publish()

    def publish(self):
        self.file.seek(192)
        self.file.write(struct.pack("<Q", self.next))
        self.file.seek(256)
        self.file.write(struct.pack("<Q", self.allocated))

    def grow(self, chunks):
        self.allocated += chunks * CHUNK
        self.file.truncate(self.allocated * UNIT)

    def append(self, op, units, error, body):
        number = self.next
        seed = number ^ (op << 56 | units << 48 | error << 32)
        value = self.hash(body, len(body), seed)
        self.file.seek(number * UNIT)
        self.file.write(struct.pack("<IBBH", (value ^ value >> 32) & 0xffffffff, op, units, error) + body)
        self.next += units
        self.publish()
        return number

    def text(self, data):
        units = (8 + len(data) + UNIT - 1) // UNIT
        return self.append(OPS.index("text") + 1, units, len(data), data.ljust(units * UNIT - 8, b"\0"))

    def record(self, op, error=0, details=b"", when=None, process=0, tid=0, path=None, directory=None, directory_fd=AT_FDCWD,
               opened=0, other=None, fd=-1, flags=0, amount=0, decision=0, reason=0, marks=0, count=0):
        """A relative path begins in /w, or at what the record `opened` opened."""
        self.recorded.add(op)
        if path and path[:1] != b"/" and directory_fd == AT_FDCWD and op != "unobserved":
            directory = directory or b"/w"
        texts = [0 if data is None else self.text(data) for data in (path, directory, other)]
        body = struct.pack("<QIIIIiIiIQBBHI", time.time_ns() if when is None else when, process, tid, texts[0], texts[1] or opened,
                           directory_fd, texts[2], fd, flags, amount, decision, reason, marks, count)
        return self.append(OPS.index(op) + 1, 1 + len(details) // UNIT, error, body + details)

    def start(self, pid=100, role=0, executable=b"/usr/bin/cc", directory=b"/w", arguments=(b"cc",), context=1, **more):
        details = struct.pack("<QQQIIIIQIIQ", pid * 10, 7, 70, pid, 1, role, context, 4, 0, 0, 0)
        return self.record("start", path=executable, directory=directory, details=details,
                           other=b"".join(argument + b"\0" for argument in arguments), **more)

    def undone(self):
        self.next += 1
        self.publish()


def bytes_of(text):
    """The bytes that a text of ours stands for (docs/DESIGN.md, "Paths in JSON")."""
    return re.sub(rb"\\(\\|x[0-9a-f]{2})",
                  lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1][1:], 16)]), text.encode())


def unescaped(line):
    """The same for text for people, which has words for some."""
    words = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}
    return re.sub(rb"\\(\\|n|t|r|x[0-9a-f]{2})",
                  lambda match: words.get(match[1]) or bytes([int(match[1][1:], 16)]), line)


def version(number):
    """One whose digits are those of the number."""
    return struct.pack("<QQQ", 1, number << 16, 3)


NO_VERSION = b"\0" * 24


def details(before, after):
    return struct.pack("<QQQ", 1, 2, 3) + before + after + b"\0" * 56


class LogCase(Case):
    def setUp(self):
        super().setUp()
        self.path = str(self.top / "journal")

    def log(self, *words, code=0, **more):
        return self.seen("log", "--journal", self.path, *words, code=code, **more).stdout

    def lines(self, *words, **more):
        return [json.loads(line) for line in self.log("--json", *words, **more).splitlines()]

    def paths(self, *words, **more):
        return [bytes_of(line["path"]) for line in self.lines(*words, **more)]

    def validate(self, lines):
        self.validate_by("log.schema.json", lines)

    def every_op(self):
        journal = Journal(self.path)
        known = details(version(0x123456789abc), version(0x123456789abc))
        process = journal.start(100, role=3, arguments=(b"cat", b"a b", b"", b"\xff"))
        fork = struct.pack("<QQQIIIIQIIQ", 0, 0, 0, 101, 100, 9, 0, 0, process, 0, 0)
        journal.record("fork", details=fork)
        more = {"process": process, "tid": 100}
        journal.record("exec", path=b"./x", other=b"x\0", amount=77, count=5, **more)
        journal.record("exec_failed", error=2, amount=77, **more)
        journal.record("unobserved", path=b"node", other=b"io_uring", count=1, flags=1)
        journal.record("unobserved", path=b"busybox", other=b"static", count=2)
        journal.record("open", path=b"a", fd=3, flags=os.O_RDWR | os.O_CREAT | 1 << 30, marks=8, decision=2, reason=8,
                       details=known, **more)
        journal.record("open", error=13, path=b"a", **more)
        journal.record("list", path=b"*.c", marks=64, **more)
        for op in ("read", "read_total", "write", "write_total"):
            journal.record(op, path=b"a", fd=3, amount=1 << 40, count=4, marks=4, **more)
        journal.record("map", path=b"a", fd=3, flags=0x107, amount=4096, **more)
        journal.record("create", path=b"d", flags=0o40755, **more)
        journal.record("delete", path=b"d", flags=0x200, directory_fd=9, **more)
        listed = journal.record("list", path=b"d", fd=9, **more)
        journal.record("delete", path=b"x", directory_fd=9, opened=listed, **more)
        journal.record("rename", path=b"a", other=b"b", fd=AT_FDCWD, amount=journal.text(b"/w"), **more)
        journal.record("rename", path=b"a", other=b"b", fd=9, amount=listed, **more)
        journal.record("link", path=b"a", other=b"b", fd=9, **more)
        journal.record("symlink", path=b"a", other=b"../t", **more)
        journal.record("truncate", path=b"a", amount=5, **more)
        for kind, amount in ((1, 0o644), (2, 5 << 32 | 0xffffffff), (3, 0), (4, 0), (5, 0), (6, 0)):
            journal.record("metadata", path=b"a", flags=kind, amount=amount, **more)
        journal.record("chdir", fd=9, **more)
        journal.record("notice", path=b"/w/a", amount=500, marks=8, details=known, **more)
        journal.record("diffed", path=b"/w/a", amount=400, marks=8, details=known, **more)
        for op in ("yielded", "given", "changed"):
            journal.record(op, path=b"/w/a", amount=3, marks=8, details=known, **more)
        for flags in (0, 1, 2, 3):
            journal.record("changed", path=b"/w/o", decision=USER, flags=flags, marks=8, details=known)
        journal.record("edited", path=b"/w/a", decision=AGENT, marks=8, details=known, **more)
        journal.record("edited", path=b"/w/a", decision=TOOL, marks=8, details=details(version(5), NO_VERSION), **more)
        for verdict, reason, error, flags in ((1, 4, 0, 3), (2, 4, 116, 0), (2, 6, 5, 0), (0, 99, 0, 0), (99, 5, 0, 0)):
            journal.record("guarded", error=error, path=b"/w/g", decision=verdict, reason=reason, flags=flags, marks=8,
                           details=details(version(0xabc), version(0xdef)), **more)
        for action, access, error in ((1, 1, 0), (2, 2, 0), (3, 16, 0), (4, 256, 13), (99, 3, 0)):
            journal.record("ruled", error=error, path=b"/w/r", other=b"secrets", decision=action, flags=access, **more)
        for reason in (0, 1, 2, 3):
            journal.record("kept", path=b"/w/k", reason=reason, marks=8, details=details(NO_VERSION, version(0xabc)), **more)
        journal.record("mentioned", path=b"/w/m", marks=8, details=details(NO_VERSION, version(0xabc)))
        journal.record("mentioned", path=b"/w/m")
        for flags in (0, 1, 2):
            journal.record("instructed", path=b"/w/AGENTS.md", flags=flags, amount=7, marks=8,
                           details=details(NO_VERSION, version(0xabc)))
        for decision, amount in ((0, 900), (1, 900), (2, 700), (99, 1)):
            journal.record("request", decision=decision, amount=amount, count=3)
        journal.record("forgotten", amount=7)
        journal.record("forgotten", amount=7, other=b"hook PreCompact")
        journal.record("coverage", other=b"text", details=struct.pack("<16Q", *range(16)))
        for op in OPS:  # declared since
            if op not in ("text", "abandoned", "exit", *journal.recorded):
                journal.record(op, path=b"/w/new", other=b"b", marks=8, details=known, **more)
        journal.record("exit", amount=1, **more)
        damaged = journal.record("delete", path=b"a", **more)
        journal.file.seek(damaged * UNIT + 20)
        journal.file.write(b"!")
        return journal


class Forms(LogCase):
    def test_each_op_is_as_the_schema_says(self):
        self.every_op()
        lines = self.lines()
        self.assertEqual({line["op"] for line in lines}, set(OPS) - {"text", "abandoned"} | {"damaged"})
        by_op = {line["op"]: line for line in reversed(lines)}
        self.assertEqual([line["error"] for line in lines if line["op"] == "open"], [None, "EACCES"])
        self.assertEqual(lines[0]["arguments"], ["cat", "a b", "", "\\xff"])
        self.assertEqual(by_op["open"]["flags"], ["O_RDWR", "O_CREAT", "0x40000000"])
        self.assertEqual((by_op["open"]["decision"], by_op["open"]["reason"]), ("notice", "repeated"))
        self.assertEqual(by_op["open"]["file"]["before"], "123456789abc")
        self.assertEqual(by_op["exec_failed"]["exec"], by_op["exec"]["number"])
        self.assertEqual(by_op["delete"]["directory_fd"], 9)
        self.assertIsNone(by_op["delete"]["resolved"])
        self.assertEqual([line["resolved"] for line in lines if line["op"] == "delete"], [None, "/w/d/x"])
        self.assertEqual([line["new_resolved"] for line in lines if line["op"] == "rename"], ["/w/b", "/w/d/b"])
        unobserved = [(line["program"], line["reason"], line["count"], line["partly"]) for line in lines if line["op"] == "unobserved"]
        self.assertEqual(unobserved, [("node", "io_uring", 1, True), ("busybox", "static", 2, False)])
        self.assertIsNone(by_op["link"]["new_resolved"])
        self.assertIsNone(by_op["fork"]["role"])
        self.assertEqual(by_op["damaged"]["time"], None)
        self.validate(lines)

    def test_writes(self):
        """Whose a change is, and what the guard reported about it."""
        self.every_op()
        lines = self.lines()

        def logged(op, *names):
            return [tuple(line.get(name, "absent") for name in names) for line in lines if line["op"] == op]
        self.assertEqual(logged("open", "source"), [("tool_edited",), ("absent",)])
        self.assertEqual(logged("delete", "source"), [("absent",), ("tool_edited",)])
        self.assertEqual(logged("rename", "source"), [("tool_edited",)] * 2)
        self.assertEqual(logged("given", "source"), [("read_tool",)])
        self.assertEqual(logged("mentioned", "source"), [("file_mentioned",)] * 2)
        self.assertEqual(logged("yielded", "source"), [("absent",)])
        self.assertEqual(logged("changed", "source", "change"), [(None, "changed")] + [
            ("user_edited", word) for word in ("changed", "added", "deleted", None)])
        self.assertEqual(logged("edited", "source"), [("agent_edited",), ("tool_edited",)])
        self.assertEqual([line["file"]["after"] for line in lines if line["op"] == "edited"], ["123456789abc", None])
        self.assertEqual(logged("guarded", "error", "verdict", "reason", "degraded", "kept", "baseline"), [
            (None, "warned", "stale", True, True, "000000000def"), ("ESTALE", "denied", "stale", False, False, "000000000def"),
            ("EIO", "denied", "notice", False, False, "000000000def"), (None, "pass", None, False, False, "000000000def"),
            (None, None, "unread", False, False, "000000000def")])
        for line in lines:
            if line["op"] == "guarded":
                self.assertEqual((line["file"]["before"], line["file"]["after"]), ("000000000abc", None))
        self.assertEqual(logged("ruled", "rule", "access", "action", "error"), [
            ("secrets", "read", "log", None), ("secrets", "write", "warn", None), ("secrets", "rename", "fail", None),
            ("secrets", "exec", "deny", "EACCES"), ("secrets", None, None, None)])
        self.assertEqual(logged("kept", "reason"), [("destroyed",), ("given",), ("replaced",), (None,)])
        self.assertEqual([line["file"] is None for line in lines if line["op"] == "mentioned"], [False, True])
        self.assertEqual(logged("instructed", "way", "to_scope"), [(way, f"{7:016x}") for way in ("context", "inject", None)])

    def test_requests(self):
        self.every_op()
        logged = [(line["decision"], line["bytes"], line["bytes_saved"], line["inputs"]) for line in self.lines() if line["op"] == "request"]
        self.assertEqual(logged, [("content", 900, None, 3), ("yielded", 900, None, 3), ("notice", None, 700, 3), (None, 1, None, 3)])

    def test_a_line_that_is_none_is_found(self):
        self.every_op()
        lines = self.lines()
        self.validate(lines)
        for broken in ({**lines[0], "more": 1}, {**lines[0], "pid": 0}, {**lines[0], "op": "openat"}, {**lines[6], "op": "read"}):
            with self.assertRaises(jsonschema.ValidationError):
                self.validate([broken])

    def test_table(self):
        self.every_op()
        done = self.seen("log", "--journal", self.path, code=0)
        self.assert_plain(done.stdout)
        table = done.stdout.decode().splitlines()
        self.assertEqual(table[0].split(), ["TIME", "PID", "ROLE", "OP", "RESULT", "PATH"])
        column = table[0].index("PATH")
        rest = [line[column:] for line in table[1:]]
        for text in ("/usr/bin/cc  a b  \\xff", "busybox  static (2 times)", "node  in part: io_uring", "a  rw creat notice", "d  folder 0755", "?/d  folder", "a -> b", "a -> d/b", "a -> ?/b", "d/x",
                     "a -> ../t", "a  mode 0644", "a  owner 5:-1", "a  500 bytes not given again", "a  400 bytes not given again", "everything", "text  0 observed, 1 not, 5 records lost",
                     "a  1,099,511,627,776 bytes or more 4 calls", "cc  status 1", "a  r w x shared 4,096 bytes",
                     "a  agent_edited 123456789abc", "a  tool_edited deleted", "o  user_edited", "o  user_edited added", "o  user_edited deleted",
                     "g  warned stale degraded kept 000000000abc", "g  denied stale", "g  denied notice", "r  write warn secrets", "r  exec deny secrets", "k  destroyed 000000000abc", "m"):
            self.assertIn(text, rest)
        self.assertIn(b"1 records are damaged", done.stderr)

    def test_times_are_exact(self):
        journal = Journal(self.path)
        journal.record("delete", path=b"a", when=1_700_000_000_000_000_001)
        journal.record("delete", path=b"b", when=0)
        first, second = self.lines()
        self.assertEqual((first["time"], second["time"]), ("2023-11-14T22:13:20.000000001Z", None))

    def test_hostile_paths(self):
        journal = Journal(self.path)
        process = journal.start()
        for name in HOSTILE:
            journal.record("delete", process=process, path=name)
            journal.record("symlink", process=process, path=b"s", other=name)
        lines = self.lines()[1:]
        self.validate(lines)
        self.assertEqual([bytes_of(line["path"]) for line in lines[::2]], HOSTILE)
        self.assertEqual([bytes_of(line["resolved"]) for line in lines[::2]], [b"/w/" + name for name in HOSTILE])
        self.assertEqual([bytes_of(line["target"]) for line in lines[1::2]], HOSTILE)
        table = self.log()
        self.assert_plain(table)
        table.decode()
        rows = table.split(b"\n")
        column = rows[0].index(b"PATH")
        self.assertEqual([unescaped(row[column:]) for row in rows[2:-1:2]], HOSTILE)
        self.assertNotIn(b"\xc2\x9b", table)

    def test_colours_only_on_a_terminal(self):
        journal = Journal(self.path)
        journal.record("delete", path=b"\x1b[5m", error=2)
        words = [SEEN, "log", "--journal", self.path]
        terminal = Terminal(words, self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\x1b[1mTIME", terminal.output)
        self.assertIn(b"\x1b[33mENOENT", terminal.output)
        self.assertNotIn(b"\x1b[5m", terminal.output)
        self.assertIn(b"\\x1b[5m", terminal.output)
        self.assertNotIn(b"\x1b", self.log())
        terminal = Terminal(words, self.work, {**self.env, "NO_COLOR": "1"})
        terminal.wait()
        self.assertNotIn(b"\x1b", terminal.output)


class Choosing(LogCase):
    def setUp(self):
        super().setUp()
        self.journal = Journal(self.path)
        now = time.time_ns()
        hour = 3600 * 10**9
        process = self.journal.start(100, when=now - 3 * hour)
        for when, op, path, error in ((3, "open", b"src/a.c", 0), (2, "open", b"src/b.c", 13), (1, "delete", b"/etc/a.c", 30),
                                      (0, "delete", b"b.c", 2)):
            self.journal.record(op, process=process, when=now - when * hour, path=path, error=error)
        other = self.journal.start(101, role=1, executable=b"/opt/agent", when=now)
        self.journal.record("delete", process=other, path=b"c", when=now)

    def test_filters(self):
        a, b, etc, gone = b"src/a.c", b"src/b.c", b"/etc/a.c", b"b.c"
        for words, paths in ((("--op", "open"), [a, b]), (("--op=open,delete", "--pid", "100"), [a, b, etc, gone]),
                             (("--path", "a.c"), [a, etc]), (("--path", "/w/src/*"), [a, b]), (("--path", "src"), [a, b]),
                             (("--path", "/etc"), [etc]), (("--denied",), [b, etc]), (("--failed",), [b, etc, gone]),
                             (("--pid", "101", "--op", "delete"), [b"c"]), (("--exe", "ag*", "--op", "delete"), [b"c"]),
                             (("--role", "agent", "--op", "delete"), [b"c"]), (("--since", "90m", "--pid", "100"), [etc, gone]),
                             (("--until", "90m", "--op", "open"), [a, b]),
                             (("--op", "rm"), [etc, gone, b"c"]), (("--op", "read,unlink", "--pid", "101"), [b"c"]),
                             (("--since", "150m", "--until", "90m"), [b]), (("--tail", "1"), [b"c"]), (("-n", "2", "--op", "open"), [a, b]),
                             (("--tail=1", "--path", "*.c"), [gone])):
            self.assertEqual(self.paths(*words), paths, words)

    def test_sources(self):
        agent = self.journal.start(102, role=1, context=17, executable=b"/opt/agent")
        for op, words in (("open", {"flags": os.O_WRONLY}), ("open", {}), ("delete", {"marks": ATTEMPTED}), ("truncate", {"error": 2})):
            self.journal.record(op, process=agent, path=b"mine", **words)
        self.journal.record("changed", path=b"/w/theirs", decision=USER)
        self.journal.record("changed", path=b"/w/whose", decision=UNATTRIBUTED)
        self.journal.record("mentioned", path=b"/w/said")
        self.journal.record("guarded", path=b"/w/kept", process=agent, decision=1, reason=4)
        self.journal.record("guarded", path=b"/w/lost", process=agent, decision=2, reason=4, error=116)
        for words, paths in ((("--source", "agent_edited", "--pid", "102"), [b"mine", b"mine"]), (("--source", "user_edited"), [b"/w/theirs"]),
                             (("--source=unattributed",), [b"/w/whose"]), (("--source", "file_mentioned"), [b"/w/said"]),
                             (("--op", "guarded"), [b"/w/kept", b"/w/lost"]), (("--op", "guarded", "--denied"), [b"/w/lost"]),
                             (("--op", "changed,mentioned", "--path", "whose"), [b"/w/whose"])):
            self.assertEqual(self.paths(*words), paths, words)
        self.validate(self.lines())

    def test_times_that_it_prints_can_be_given(self):
        lines = self.lines("--op", "open")
        again = self.lines("--since", lines[1]["time"], "--until", lines[1]["time"])
        self.assertEqual([line["number"] for line in again], [lines[1]["number"]])
        moment = datetime.datetime.fromisoformat(lines[1]["time"][:19])
        text = (moment + datetime.timedelta(seconds=1)).strftime("%Y-%m-%d %H:%M:%S")
        self.assertEqual(self.paths("--until", text, "--op", "open"), [b"src/a.c", b"src/b.c"])

    def test_nothing_matches(self):
        for words in (("--path", "nosuch"), ("--pid", "7"), ("--op", "coverage")):
            self.assertEqual(self.log(*words, code=1), b"")

    def test_wrong_values(self):
        for words, text in ((("--op", "opne"), b"did you mean 'open'"), (("--op", "text"), b"'text'"), (("--op", "open,"), b"''"),
                            (("--op", "zzzzzz"), b"; there are start, fork (clone vfork), "),
                            (("--op", "unlnk"), b"did you mean 'unlink'? there are start, "), (("--role", "agnet"), b"did you mean 'agent'"), (("--role", "x"), b"viewer"),
                            (("--source", "agent_edit"), b"did you mean 'agent_edited'"), (("--source", "none"), b"seen(1)"),
                            (("--pid", "0"), b"--pid"), (("--pid", "-1"), b"--pid"), (("--pid", "1x"), b"--pid"),
                            (("--pid", "4294967296"), b"--pid"), (("--since", "yesterday"), b"--since"),
                            (("--until", "2026-02-30 10:00"), b"--until"), (("--tail", "0"), b"--tail"), (("-n", "many"), b"--tail"),
                            (("--flolow",), b"--follow"), (("words",), b"'words'")):
            done = self.seen("log", "--journal", self.path, *words, code=2)
            self.assertIn(text, done.stderr, words)
            self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.seen("log", "--since", "\x1b[5m", code=2)
        self.assertNotIn(b"\x1b", self.seen("log", "--since", "\x1b[5m", code=2).stderr)


class Files(LogCase):
    def test_what_is_no_journal(self):
        self.assertIn(b"No such file", self.seen("log", "--journal", str(self.top / "nosuch"), code=1).stderr)
        for content in (b"", b"text", b"\0" * 100000):
            with open(self.path, "wb") as file:
                file.write(content)
            self.assertIn(b"damaged", self.seen("log", "--journal", self.path, code=4).stderr)
        self.seen("log", "--journal", str(self.top), code=4)
        Journal(self.path)
        os.symlink(self.path, self.path + ".link")
        self.seen("log", "--journal", self.path + ".link", code=4)
        with open(self.path, "r+b") as file:
            file.seek(8)
            file.write(b"\x09")
        self.assertIn(b"another version", self.seen("log", "--journal", self.path, code=4).stderr)

    def test_truncated(self):
        Journal(self.path).start()
        os.truncate(self.path, 100 * UNIT)
        self.seen("log", "--journal", self.path, code=4)

    def test_read_only_copy(self):
        Journal(self.path).start()
        copy = self.path + ".copy"
        shutil.copy(self.path, copy)
        os.chmod(copy, 0o400)
        self.assertIn(b"/usr/bin/cc", self.seen("log", "--journal", copy, code=0).stdout)

    def test_a_copy_may_be_anybodys(self):
        Journal(self.path).start()
        os.chmod(self.path, 0o664)
        if os.geteuid() == 0:
            os.chown(self.path, 12345, -1)
        self.log(code=0)

    def test_every_byte_may_be_wrong(self):
        journal = Journal(self.path)
        process = journal.start()
        journal.record("rename", process=process, path=b"a", other=b"b", fd=AT_FDCWD, amount=journal.text(b"/w"))
        with open(self.path, "rb") as file:
            sound = file.read()
        for at in list(range(0, 280, 3)) + list(range(FIRST * UNIT, journal.next * UNIT, 7)):
            data = bytearray(sound)
            data[at] ^= 0xa5
            with open(self.path, "wb") as file:
                file.write(data)
            done = self.seen("log", "--journal", self.path, "--json")
            self.assertIn(done.returncode, (0, 1, 4), at)
            for line in done.stdout.splitlines():
                json.loads(line)

    def test_unfinished_records_are_reported(self):
        journal = Journal(self.path)
        journal.undone()
        journal.start()
        done = self.seen("log", "--journal", self.path, code=0)
        self.assertIn(b"1 records were not finished", done.stderr)


if __name__ == "__main__":
    unittest.main()

"""[processes] whitelist: programs whose own repeated full reads of a file are answered.

helpers/scripted_reads.c follows orders; Python, perl and Node read as they do.
"""

import json
import os
import subprocess
import time
import unittest

from harness import BUILD, NOTICE, RUN, Session, lines, needs_library

PROGRAM = os.path.join(BUILD, "tests", "programs", "helpers", "scripted_reads")
BURST_MS = 60  # shorter than by default: tests wait for its end
PAUSE_S = 0.15
SLOW = ("-c", "notice.burst_ms=60000")


class Reader:
    """A process that reads by orders."""

    def __init__(self, session, *options, program=PROGRAM, name="scripted_reads", environment=None):
        command = [*RUN, "--quiet", "--session", session.name, "--agent-is", "inside", "-c", "notice.burst_ms=%d" % BURST_MS,
                   *(("--whitelist", name) if name else ()), *options, "--", program]
        self.process = subprocess.Popen(command, cwd=session.workspace, env={**session.environment, **(environment or {})},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, order, *words):
        self.process.stdin.write(" ".join([order, *map(str, words)]).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split(b" ")
        if not line[0].strip():
            raise AssertionError("it ended: %r" % (self.process.communicate(),))
        return line

    def number(self, order, *words):
        return int(self.ask(order, *words)[0])

    def bytes(self, order, *words):
        """What was read; b"" for nothing.  Behind it there must be nothing in the buffer."""
        answer = self.ask(order, *words)
        if len(answer) == 1:
            raise AssertionError("%s %s: %s" % (order, words, answer))
        data = bytes.fromhex(answer[1].decode())
        if len(data) != int(answer[0]):
            raise AssertionError("%s %s: %s" % (order, words, answer))
        if data.startswith(NOTICE) and int(answer[2]) != 0:
            raise AssertionError("lines of the file are left behind the notice")
        return data

    def whole(self, name, order="read"):
        """Opens, reads all, closes."""
        fd = self.number("open", name)
        data = self.bytes(order, fd, 100000, *((0,) if order == "pread" else ()))
        self.number("close", fd)
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
        errors = self.process.stderr.read()
        self.process.stderr.close()
        if self.process.returncode != 0 or errors:
            raise AssertionError((self.process.returncode, errors))


def pause():
    time.sleep(PAUSE_S)


@needs_library("reads are answered by it alone")
class WhitelistTest(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def reader(self, *options, **more):
        reader = Reader(self.session, *options, **more)
        self.addCleanup(reader.close)
        return reader

    def known(self, reader, name="f", **more):
        """A file that the process has read before."""
        data = self.session.write(name, lines(name, **more))
        self.assertEqual(reader.whole(name), data)
        pause()
        return data

    def assertNotice(self, given, data=None):
        self.assertTrue(given.startswith(NOTICE), given[:100])
        self.assertEqual(given.count(b"\n"), 1)
        if data:
            self.assertFalse(any(line and line in given for line in data.split(b"\n")))

    def counts(self, *names):
        counters = self.session.status()["counters"]
        return tuple(counters[name] for name in names)

    def events(self, op):
        text = self.session.seen("log", "--json", "--session", self.session.name).stdout
        return [event for event in map(json.loads, text.splitlines()) if event["op"] == op]


class Reads(WhitelistTest):
    def test_each_way_to_read(self):
        for order, words in (("read", (100000,)), ("read", (None,)), ("pread", (100000, 0)), ("pread", (None, 0)), ("readv", (1000, 100000)),
                             ("readv", (50, 100000)), ("preadv", (1000, 100000, 0))):
            with self.subTest(order=order, words=words):
                reader = Reader(self.session)
                data = self.known(reader)
                words = [len(data) if word is None else word for word in words]
                fd = reader.number("open", "f")
                given = reader.bytes(order, fd, *words)
                self.assertNotice(given, data)
                self.assertIn(b" %s. " % os.fsencode(self.session.path("f")), given)
                self.assertEqual(reader.number("size", fd), len(data))
                if order.startswith("p"):  # it goes on where it is
                    self.assertEqual(reader.number("seek", fd, 0, os.SEEK_CUR), 0)
                    self.assertEqual(reader.bytes("pread", fd, 1000, len(given)), b"")
                    self.assertEqual(reader.bytes("pread", fd, 10, 100), data[100:110])
                else:
                    self.assertEqual(reader.bytes("read", fd, 1000), b"")
                    self.assertEqual(reader.number("seek", fd, 0, os.SEEK_CUR), len(data))
                self.assertEqual(reader.bytes("map", fd, len(data)), data)
                self.assertEqual(reader.number("seek", fd, 0, os.SEEK_SET), 0)
                self.assertEqual(reader.number("copy", fd, "copied"), len(data))
                self.assertEqual(reader.number("seek", fd, 0, os.SEEK_SET), 0)
                self.assertEqual(reader.number("send", fd, "sent"), len(data))
                self.assertEqual((self.session.read("copied"), self.session.read("sent")), (data, data))
                reader.close()

    def test_stdio(self):
        for order in ("fread", "unlocked", "chk"):
            for exactly in (False, True):
                with self.subTest(order=order, exactly=exactly):
                    reader = Reader(self.session)
                    data = self.session.write("f", lines("f", 200))  # several blocks and a part of one
                    size = len(data) if exactly else 100000
                    for expected in (data, None):
                        stream = reader.number("fopen", "f")
                        given = reader.bytes(order, stream, size)
                        if expected:
                            self.assertEqual(given, data)
                        else:
                            self.assertNotice(given, data)
                            self.assertEqual(reader.number("feof", stream), 1)
                        self.assertEqual(reader.bytes(order, stream, 1000), b"")
                        self.assertEqual(reader.number("ftell", stream), len(data))
                        self.assertEqual(reader.number("feof", stream), 1)
                        self.assertEqual(reader.number("fclose", stream), 0)
                        pause()
                    reader.close()
                    self.assertEqual(self.events("read")[-1]["bytes"], len(given))

    def test_stdio_that_is_not_answered(self):
        reader = self.reader()
        data = self.known(reader)
        stream = reader.number("fopen", "f")  # one item as large as the file: there is no part of one
        self.assertEqual(reader.bytes("fread1", stream, len(data)), data)
        pause()
        stream = reader.number("fopen", "f")
        self.assertEqual(reader.bytes("fgets", stream), data.split(b"\n")[0] + b"\n")
        self.assertEqual(reader.bytes("fread", stream, 100000), data.split(b"\n", 1)[1])
        pause()
        stream = reader.number("fopen", "f")
        self.assertEqual(reader.bytes("fread", stream, 100), data[:100])
        self.assertEqual(reader.bytes("fread", stream, 100000), data[100:])

    def test_a_program_that_reads_by_pieces(self):
        reader = self.reader()
        data = self.session.write("f", lines("f", 200))
        for _ in range(3):
            fd = reader.number("open", "f")
            given = b""
            while part := reader.bytes("read", fd, 1000):
                given += part
            self.assertEqual(given, data)
            reader.number("close", fd)
            pause()
        # it has read all of it
        self.assertNotice(reader.whole("f"), data)
        pause()
        data = self.session.write("g", lines("g", 200))
        fd = reader.number("open", "g")
        self.assertEqual(reader.bytes("read", fd, 1000) + reader.bytes("read", fd, 100000), data)
        pause()
        self.assertNotice(reader.whole("g"), data)

    def test_what_was_not_read_whole(self):
        reader = self.reader()
        data = self.session.write("f", lines("f"))
        fd = reader.number("open", "f")
        self.assertEqual(reader.bytes("read", fd, len(data) - 1), data[:-1])
        reader.number("close", fd)
        fd = reader.number("open", "f")  # as many bytes as it has, but not all
        for _ in range(2):
            self.assertEqual(reader.bytes("pread", fd, len(data) // 2 + 1, 0), data[:len(data) // 2 + 1])
        reader.number("close", fd)
        fd = reader.number("open", "f")
        self.assertEqual(reader.bytes("map", fd, len(data)), data)
        reader.number("close", fd)
        pause()
        self.assertEqual(reader.whole("f"), data)

    def test_the_first_read_of_a_descriptor_decides(self):
        reader = self.reader()
        data = self.known(reader)
        fd = reader.number("open", "f")
        self.assertEqual(reader.bytes("pread", fd, 10, 0), data[:10])
        self.assertEqual(reader.bytes("read", fd, 100000), data)
        fd = reader.number("open", "f")
        self.assertEqual(reader.number("seek", fd, 10, os.SEEK_SET), 10)
        self.assertEqual(reader.bytes("read", fd, 100000), data[10:])

    def test_bad_memory(self):
        reader = self.reader()
        data = self.known(reader)
        fd = reader.number("open", "f")
        self.assertEqual(reader.number("bad", fd, 100000), -14)
        self.assertNotice(reader.bytes("read", fd, 100000), data)

    def test_threads(self):
        reader = self.reader()
        data = self.session.write("f", lines("f"))
        for expected in (data, None):
            fd = reader.number("thread open f")
            given = reader.bytes("thread read", fd, 100000)
            self.assertEqual(reader.number("close", fd), 0)
            self.assertEqual(given, data) if expected else self.assertNotice(given, data)
            pause()

    def test_copies_of_the_process(self):
        reader = self.reader()
        data = self.known(reader)
        fd = reader.number("open", "f")
        self.assertEqual(reader.bytes("fork read", fd, 100000), data)
        self.assertEqual(reader.number("seek", fd, 0, os.SEEK_SET), 0)
        pause()
        fd = reader.number("open", "f")
        copy = reader.number("dup", fd)
        self.assertEqual(reader.bytes("read", copy, 100000), data)
        self.assertEqual(reader.bytes("read", fd, 100000), b"")
        self.assertEqual(reader.bytes("pread", copy, 100000, 0), data)


class Requests(WhitelistTest):
    """What is one request, and what is known."""

    def test_the_first_request_is_real(self):
        reader = self.reader(*SLOW)
        data = self.session.write("f", lines("f"))
        for sniff in (515, 4100, 100000):
            fd = reader.number("open", "f")
            self.assertEqual(reader.bytes("pread", fd, sniff, 0), data[:sniff])
            reader.number("close", fd)
            for order in ("read", "pread", "read"):
                self.assertEqual(reader.whole("f", order), data)
        data = self.session.write("pieces", lines("pieces"))
        fd = reader.number("open", "pieces")
        self.assertEqual(reader.bytes("read", fd, 1000) + reader.bytes("read", fd, 100000), data)
        self.assertEqual(reader.whole("pieces"), data)

    def test_a_sniff_and_a_read(self):
        reader = self.reader()
        small, large = self.session.write("small", lines("s", 40)), self.session.write("large", lines("l", 300))
        for name, data in (("small", small), ("large", large)):
            for round_ in range(3):
                fd = reader.number("open", name)
                sniffed = reader.bytes("pread", fd, 4100, 0)
                reader.number("close", fd)
                given = [reader.whole(name) for _ in range(3)]
                with self.subTest(name=name, round=round_):
                    self.assertEqual(len(set(given)), 1)  # the answer to the first holds for all
                    if round_ == 1:
                        self.assertNotice(given[0], data)
                    else:  # new to it; then it asks again
                        self.assertEqual(given[0], data)
                    self.assertEqual(sniffed, given[0] if len(data) < 4100 else data[:4100])
                pause()

    def test_a_program_that_reads_all_the_time(self):
        """It gets the file again when its notice is old enough, and not only when it pauses."""
        reader = self.reader("-c", "notice.burst_ms=300")
        data = self.session.write("f", lines("f"))
        self.assertEqual(reader.whole("f"), data)
        time.sleep(0.5)
        until = time.monotonic() + 5
        self.assertNotice(reader.whole("f"))
        while reader.whole("f") != data:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_insisting(self):
        reader = self.reader("-c", "notice.insist_requests=2")
        data = self.known(reader)
        self.session.write("other", lines("other"))
        self.assertNotice(reader.whole("f"))
        for _ in range(2):
            pause()
            self.assertEqual(reader.whole("f"), data)
        for _ in range(3):
            pause()
            reader.whole("other")
        pause()
        self.assertNotice(reader.whole("f"))

    def test_never_yielding(self):
        reader = self.reader("-c", "notice.yield=never")
        self.known(reader)
        for _ in range(3):
            self.assertNotice(reader.whole("f"))
            pause()

    def test_changes(self):
        reader = self.reader()
        path = self.session.path("f")

        def same_size_and_times(data):
            stat = os.stat(path)
            self.session.write("f", data.replace(b"line 5", b"LINE 5"))
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        def replaced(data):
            self.session.write("other", data.replace(b"line 6", b"LINE 6"))
            os.rename(self.session.path("other"), path)

        def grown(data):
            self.session.write("f", data + b"more\n")

        for change in (same_size_and_times, replaced, grown):
            with self.subTest(change=change.__name__):
                data = self.known(reader)
                change(data)
                now = self.session.read("f")
                self.assertNotEqual(now, data)
                self.assertEqual(reader.whole("f"), now)
                pause()
                self.assertNotice(reader.whole("f"))
                pause()

    def test_no_changes(self):
        reader = self.reader()
        data = self.known(reader)
        os.utime(self.session.path("f"))
        self.session.write("f", b"other")
        self.session.write("f", data)
        self.assertNotice(reader.whole("f"))

    def test_a_change_in_the_middle_of_a_request(self):
        reader = self.reader("-c", "notice.burst_ms=1000")
        data = self.session.write("f", lines("f"))
        self.assertEqual(reader.whole("f"), data)
        time.sleep(1.2)
        self.assertNotice(reader.whole("f"))
        now = self.session.write("f", data.replace(b"line 7", b"LINE 7"))
        self.assertEqual(reader.whole("f"), now)

    def test_other_names_of_a_file(self):
        reader = self.reader()
        data = self.known(reader)
        os.symlink("f", self.session.path("symbolic"))
        os.link(self.session.path("f"), self.session.path("hard"))
        self.assertNotice(reader.whole("symbolic"))
        self.assertEqual(reader.whole("hard"), data)  # asked again, by another name

    def test_beyond_the_workspace(self):
        reader = self.reader()
        beyond = os.path.join(self.session.directory, "outside")
        with open(beyond, "wb") as file:
            file.write(lines("outside"))
        os.symlink(beyond, self.session.path("link"))
        self.session.write("a.patch", lines("patch"))
        for _ in range(3):
            for name in (beyond, "link", "a.patch"):
                self.assertFalse(reader.whole(name).startswith(NOTICE), name)
            pause()

    def test_sizes_and_text(self):
        reader = self.reader()
        for name, data in (("small", b"x" * 500 + b"\n"), ("large", lines("large", 2000)), ("binary", lines("b") + b"\0")):
            self.session.write(name, data)
            for _ in range(3):
                self.assertEqual(reader.whole(name), data)
                pause()

    def test_what_its_read_tool_passes_on(self):
        """By the profile's limits of bytes, lines and line lengths; by little where nothing was measured."""
        numbers = b"".join(b"%d\n" % i for i in range(1, 3001))
        for number, (limits, data, passes) in enumerate((
                (("measured=*", "max_output_lines=2000"), numbers, False), (("measured=*", "max_output_lines=3000"), numbers, True),
                (("measured=*", "max_output_bytes=13892"), numbers, False), (("measured=*", "max_line_bytes=700"), b"x" * 701, False),
                ((), numbers, False), ((), lines("f"), False), ((), lines("f", 80), True))):
            with self.subTest(limits=limits, size=len(data)):
                self.session.name = "limits%d" % number
                reader = self.reader("--agent", "scripted_reads", *(word for limit in limits or ("measured=",)
                                                               for word in ("-c", "agent scripted_reads." + limit)))
                self.session.write("f", data)
                self.assertEqual(reader.whole("f"), data)
                pause()
                self.assertEqual(reader.whole("f").startswith(NOTICE), passes)

    def test_window(self):
        reader = self.reader("-c", "window.requests=2")
        data = self.known(reader)
        for number in range(3):
            self.session.write("other%d" % number, lines(number))
            reader.whole("other%d" % number)
        pause()
        self.assertEqual(reader.whole("f"), data)
        self.session.name = "bytes"
        reader = self.reader("-c", "window.bytes=4000")
        data = self.known(reader, "g")
        self.session.write("bytes", lines("bytes", 300))
        reader.whole("bytes")
        self.assertEqual(reader.whole("g"), data)

    def test_modes(self):
        for options in (("--mode", "observe"), ("--mode", "off")):
            with self.subTest(options=options):
                self.session.name = "mode" + options[1]
                reader = self.reader(*options)
                data = self.known(reader)
                self.assertEqual(reader.whole("f"), data)

    def test_who_is_not_named(self):
        for name in (None, "scripted_read", "cat"):
            self.session.name = "not%s" % name
            reader = self.reader(name=name)
            data = self.known(reader)
            self.assertEqual(reader.whole("f"), data)

    def test_globs_and_agents(self):
        for options in (("--agent", "scripted_reads"), ()):
            self.session.name = "globs%d" % len(options)
            reader = self.reader(*options, name="scripted_*")
            self.known(reader)
            self.assertNotice(reader.whole("f"))

    def test_forgetting(self):
        for number, words in enumerate((("f",), ("--all",), (".",))):
            with self.subTest(words=words):
                reader = self.reader()
                data = self.known(reader)
                self.session.seen("forget", "--session", self.session.name, *words)
                self.assertEqual(reader.whole("f"), data)
                pause()
                self.assertNotice(reader.whole("f"))
                pause()
                reader.whole("f")
                if number == 0:  # in the middle of a read by pieces
                    fd = reader.number("open", "f")
                    reader.bytes("read", fd, 1000)
                    self.session.seen("forget", "--session", self.session.name, *words)
                    reader.bytes("read", fd, 100000)
                    pause()
                    self.assertEqual(reader.whole("f"), data)

    def test_other_processes_and_viewers(self):
        first, second = self.reader(), self.reader()
        data = self.known(first)
        self.assertEqual(second.whole("f"), data)
        self.session.name = "agent"
        agent = self.session.agent("--whitelist", "scripted_reads")
        self.addCleanup(agent.close)
        self.assertEqual(agent.shell("cat f"), data)
        script = "printf 'open f\\nread 3 100000\\n' | %s" % PROGRAM
        for _ in range(2):  # another process each time
            self.assertIn(data.hex().encode(), agent.shell(script))
        self.assertTrue(agent.shell("cat f").startswith(NOTICE))


class Records(WhitelistTest):
    def test_counters_and_journal(self):
        reader = self.reader()
        data = self.known(reader)
        for _ in range(2):  # one request
            given = reader.whole("f")
        pause()
        for _ in range(2):
            self.assertEqual(reader.whole("f"), data)
        reader.close()
        self._cleanups.pop()
        self.assertEqual(self.counts("requests", "deliveries", "repeats", "notices", "yields", "bytes_saved"),
                         (3, 2, 2, 1, 1, len(data) - len(given)))
        self.assertEqual([(event["path"], event["bytes_saved"]) for event in self.events("notice")], [("f", len(data) - len(given))])
        self.assertEqual([event["path"] for event in self.events("yielded")], ["f"])
        self.assertEqual([event["resolved"] for event in self.events("given")], [self.session.path("f")] * 2)
        self.assertEqual(self.events("changed"), [])
        rows = json.loads(self.session.seen("files", "--json", "--session", self.session.name).stdout)["files"]
        self.assertEqual([(row["path"], row["full_reads"], row["repeats"], row["notices"], row["yields"]) for row in rows], [("f", 2, 2, 1, 1)])
        scopes = json.loads(self.session.seen("status", "--json", "--session", self.session.name).stdout)["scopes"]
        self.assertEqual([scope["name"] for scope in scopes], ["scripted_reads (in-process reads)"])

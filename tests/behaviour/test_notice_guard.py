"""The notice guard: a program that was given a notice, or a model that repeats one, writes it over a file.

helpers/notice_writer.c follows orders; the others are the programs that lost data so in trials.
"""

import errno
import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import unittest

from harness import BUILD, LONG, NOTICE, RUN, SessionTest, lines, needs_library, short_form_by

PROGRAM = os.path.join(BUILD, "tests", "programs", "helpers", "notice_writer")
BURST_MS = 60
PAUSE_S = 0.15

# Ways to write, and what is reported about a refusal: EIO by one of the calls; None: by no call, but the file is as it was.
CALLS = ("write", "parts", "bytes", "writev", "pwritev", "pwrite", "backward", "syscall", "number_pwritev", "number_resized", "dprintf", "dup", "halves", "dup2", "stdout", "thread", "fork",
         "sendfile", "copy_file_range", "splice", "aio", "careless", "in_place", "in_place_parts", "truncated_before", "in_place_careless")
STREAMS = tuple("stream_%s" % name for name in ("fwrite", "fwrite_unlocked", "fputs", "fprintf", "fputc", "half", "careless", "fwrite_unbuffered",
                                                "fprintf_unbuffered", "fputs_fdopen", "fprintf_fdopen", "fputs_freopen", "fprintf_freopen",
                                                "careless_fdopen"))
NAMES = ("mapped", "temporary", "rename", "fork_closed", "fork_closed_stream")
ENDS = {"stream_fputs_left_exit": None, "stream_fprintf_left_exit": None, "stream_fprintf_fdopen_left_exit": None,
        "stream_fprintf_left_return": None, "stream_fputs_left_killed": None, "stream_fwrite_left_killed": None, "end": None, "end_sent": None, "killed": None}
NOT_COVERED = ("mapped_closed",)  # stored to without a call, and after the close: docs


class Writer:
    """A process that reads and writes by orders."""

    def __init__(self, session, *options, whitelist="notice_writer"):
        beyond = os.path.join(session.directory, "outside")
        os.makedirs(beyond, exist_ok=True)
        self.source = os.path.join(beyond, "source")
        command = [*RUN, "--quiet", "--session", session.name, "--agent-is", "inside", "-c", "notice.burst_ms=%d" % BURST_MS,
                   *(("--whitelist", whitelist) if whitelist else ()), *options, "--", PROGRAM]
        self.process = subprocess.Popen(command, cwd=session.workspace, env={**session.environment, "SOURCE": self.source},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, *words, data=b""):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n" + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        if not line:
            return None
        return line

    def write_data(self, way, path, *split):
        """errno of what failed, 0; None: it ended."""
        answer = self.ask(way, path, *split)
        return int(answer[0]) if answer else None

    def read(self, path):
        return self.ask("read", path)

    def receive(self, data):
        """Has it keep these bytes, which it did not read."""
        assert int(self.ask("take", len(data), data=data)[0]) == len(data)

    def answer(self, path):
        """Has it given a notice for a file that it has read before."""
        answer = self.read(path)
        if answer[1] != b"notice":
            raise AssertionError("no notice for %s: %s" % (path, answer))
        return int(answer[0])

    def descriptors(self):
        """How many the process has open."""
        below = self.process.pid
        while True:
            with open("/proc/%d/comm" % below) as file:
                if file.read().strip() == os.path.basename(PROGRAM)[:15]:
                    return len(os.listdir("/proc/%d/fd" % below))
            with open("/proc/%d/task/%d/children" % (below, below)) as file:
                below = int(file.read().split()[0])

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.stdout.close()
            self.process.stderr.close()


class Case(SessionTest):
    options = ("-c", "notice.burst_ms=%d" % BURST_MS)

    def setUp(self):
        super().setUp()
        self.f = self.session.write("f", lines("f"))

    def counters(self):
        return self.session.status()["counters"]

    def refused(self):
        return self.counters()["notices_refused"]

    def guarded(self):
        """Refusals on record."""
        text = self.session.seen("log", "--json", "--session", self.session.name).stdout
        return [os.path.relpath(event["path"], self.session.workspace) for event in map(json.loads, text.splitlines())
                if event["op"] == "guarded" and event["path"] and event["reason"] == "notice" and event["verdict"] == "denied"]

    def content(self, name):
        try:
            return self.session.read(name)
        except FileNotFoundError:
            return b""

    def remove(self, name):
        if os.path.lexists(self.session.path(name)):
            os.unlink(self.session.path(name))

    def kept(self):
        """Contents in the store."""
        directory = os.path.join(self.session.directory, ".local/state/seen", self.session.name, "content")
        found = []
        for name in sorted(os.listdir(directory)):
            if name != "index" and not name.startswith("."):
                with open(os.path.join(directory, name), "rb") as file:
                    found.append(file.read())
        return found

    def assertNoNotice(self):
        """Nowhere in the workspace."""
        for directory, _, names in os.walk(self.session.workspace):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    self.assertNotIn(NOTICE.strip(), file.read(), name)

    def notice(self, name="seed"):
        """A notice of this session, as the model sees it."""
        data = self.deliver(name)
        notice = self.agent.shell("cat " + name)
        self.assertNotice(notice)
        self.remove(name)
        self.assertNotIn(data, notice)
        return notice


@needs_library("what a process writes is observed by it alone")
class Injected(Case):
    """Instruction files before the file: an agent that takes all of it for the content, and writes it back."""

    options = (*Case.options, "-c", "context.inject=viewers")

    def test_written_back(self):
        self.session.write("AGENTS.md", b"Be brief.\n")
        output = self.agent.shell("cat f")
        self.assertTrue(output.startswith(b"[Loaded from ./AGENTS.md]\n") and output.endswith(lines("f")), output[:300])
        self.assertEqual(self.agent.ask(do="write", path=self.session.path("f"), data=output.decode(), how="truncate")["errno"], errno.EIO)
        self.agent.run(["bash", "-c", 'printf %s "$1" > f', "bash", output.decode()])
        self.assertEqual(self.session.read("f"), lines("f"))
        self.assertEqual(self.refused(), 2)
        # one that takes the file for half of something, and removes it
        code = "import os, sys\nwith open('f', 'wb', 0) as file:\n    try:\n        file.write(os.fsencode(sys.argv[1]))\n    except OSError:\n        os.remove('f')"
        self.agent.run([sys.executable, "-c", code, output.decode()])
        self.assertEqual(self.session.read("f"), lines("f"))


@needs_library("what a process writes is observed by it alone")
class Answered(Case):
    """(a) The process was answered itself."""

    def writer(self, *options):
        """A writer that was just given a notice for f."""
        writer = Writer(self.session, *options)
        self.addCleanup(writer.close)
        for name in ("f", "g"):
            self.assertEqual(writer.read(name)[1], b"text")
        time.sleep(PAUSE_S)
        writer.answer("f")
        return writer

    def targets(self):
        self.g = self.session.write("g", lines("g", 60))
        self.plain = self.session.write("plain", lines("plain", 60))
        self.large = self.session.write("large", lines("large", 3000))
        return (("f", self.f), ("g", self.g), ("plain", self.plain), ("large", self.large), ("new", None))

    def check(self, writer, way, name, before, *split, expected=errno.EIO):
        refused = self.refused()
        stat = os.stat(self.session.path(name)) if before is not None else None
        try:
            self.assertEqual(writer.write_data(way, name, *split), expected)
            self.assertEqual(self.content(name), before or b"")
            self.assertGreater(self.refused(), refused)
            if stat:
                now = os.stat(self.session.path(name))
                self.assertEqual((now.st_mode, now.st_ino, now.st_uid), (stat.st_mode, stat.st_ino, stat.st_uid))
            self.assertNoNotice()
        finally:
            if before is None:
                self.remove(name)
            else:
                self.session.write(name, before)

    def test_each_way(self):
        targets = self.targets()
        writer = self.writer()
        ways, descriptors = 0, writer.descriptors()
        for way in CALLS + STREAMS + NAMES:
            for name, before in targets:
                with self.subTest(way=way, name=name):
                    self.check(writer, way, name, before)
                    ways += 1
        self.assertEqual(writer.descriptors(), descriptors, "what a refusal opens it closes")
        self.assertGreaterEqual(len(self.guarded()), self.refused())
        self.assertGreaterEqual(self.refused(), ways)
        for name in self.guarded():
            self.assertRegex(name, r"^(f|g|plain|large|new|stdin|stdout)(\.\w{6})?$")

    def test_names_that_are_new(self):
        self.targets()
        writer = self.writer()
        for way in ("link", "rename", "rename_noreplace", "temporary_noreplace", "nameless"):
            with self.subTest(way=way):
                self.check(writer, way, "new", None)

    def test_exchanged(self):
        self.targets()
        writer = self.writer()
        for name, before in (("f", self.f), ("plain", self.plain)):
            for way in ("rename_exchange", "temporary_exchange"):
                with self.subTest(way=way, name=name):
                    self.check(writer, way, name, before)

    @short_form_by("preload")
    def test_each_split(self):
        self.targets()
        writer = self.writer()
        length = int(writer.ask("size")[0])
        for way in ("parts", "writev", "pwritev", "halves", "backward", "in_place_parts", "stream_half"):
            for split in range(0, length, (1 if way == "parts" else 7) * (1 if LONG else 3)):
                with self.subTest(way=way, split=split):
                    self.check(writer, way, "g", self.g, split)

    def test_without_a_close(self):
        """The C library writes at exit, or no call closes: no call reports it, and the file is as it was."""
        targets = self.targets()
        for way in ENDS:
            writer = None
            for name, before in targets:
                with self.subTest(way=way, name=name):
                    writer = self.writer()
                    refused = self.refused()
                    self.assertIsNone(writer.write_data(way, name))
                    writer.process.wait(20)
                    self.assertEqual(self.content(name), before or b"")
                    self.assertGreater(self.refused(), refused)
                    self.assertNoNotice()
                self.remove("new")
                for other, data in targets:
                    if data is not None:
                        self.session.write(other, data)

    def test_what_is_not_covered(self):
        """Named in the documentation: this test says when one of them is."""
        self.targets()
        writer = self.writer()
        for way in NOT_COVERED:
            writer.write_data(way, "plain")
            self.assertTrue(self.content("plain").startswith(NOTICE), way)

    def test_what_was_opened_before(self):
        """Most programs that copy open both files first."""
        self.targets()
        python = os.path.realpath(sys.executable)
        code = ("import os, time\nopen('f').read()\ntime.sleep(%f)\na = open('f')\nb = open('plain', 'w')\n"
                "text = a.read()\nassert text.startswith('[File previously')\n"
                "try:\n    b.write(text)\n    b.close()\nexcept OSError as error:\n    os._exit(error.errno)" % PAUSE_S)
        result = self.run_whitelisted([python, "-c", code], os.path.basename(python))
        self.assertEqual(result.returncode, errno.EIO, result.stderr)
        self.assertEqual(self.content("plain"), self.plain)

    def test_what_is_behind_and_before(self):
        """A notice within much other text, and in a file that was already written to for a while."""
        self.targets()
        writer = self.writer()
        beyond = os.path.join(self.session.directory, "outside", "more")
        with open(beyond, "wb") as file:
            file.write(b"x" * 100000)
        writer.ask("join", beyond)
        for way in ("write", "parts", "backward", "stream_fputs", "stream_fprintf", "sendfile"):
            for name, before in (("f", self.f), ("large", self.large), ("new", None)):
                with self.subTest(way=way, name=name):
                    self.check(writer, way, name, before)

    def test_what_was_written_before_a_refusal_is_kept(self):
        """It is in the content store, though the file is as it was."""
        self.targets()
        writer = self.writer()
        self.check(writer, "careless", "plain", self.plain)
        self.check(writer, "parts", "plain", self.plain, 40)

    def test_other_settings(self):
        for number, option in enumerate(("guard.stale_write=allow", "guard.stale_write=deny")):
            self.session.name = "settings%d" % number
            with self.subTest(option):
                targets = self.targets()
                writer = self.writer("-c", option)
                for way in ("write", "stream_fprintf", "temporary", "rename", "sendfile"):
                    for name, before in targets:
                        self.check(writer, way, name, before)

    def run_whitelisted(self, command, glob, *options):
        return subprocess.run([*RUN, "--quiet", "--session", self.session.name, "--agent-is", "inside", "-c", "notice.burst_ms=%d" % BURST_MS,
                               "--whitelist", glob, *options, "--", *command],
                              cwd=self.session.workspace, env={**self.session.environment, "PATH": os.environ["PATH"]},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


PYTHON = r"""
import io, mmap, os, pathlib, shutil, sys, tempfile, time
target = sys.argv[1]
pathlib.Path('f').read_text()
time.sleep(%f)
text = open('f').read()
if not text.startswith('[File previously read: '):
    os._exit(99)
text = text.replace('line 5', 'LINE 5')
try:
    %s
except OSError as error:
    if error.errno is None:
        raise
    sys.exit(error.errno)
"""
PYTHON_WAYS = {
    "buffered": "file = open(target, 'w'); file.write(text); file.close()",
    "with": "exec('with open(target, \"w\") as file:\\n    file.write(text)')",
    "path": "pathlib.Path(target).write_text(text)",
    "unbuffered": "open(target, 'wb', buffering=0).write(text.encode())",
    "os.write": "os.write(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), text.encode())",
    "os.write in two": "fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC); [os.write(fd, part) for part in (text[:99].encode(), text[99:].encode())]",
    "writelines": "file = open(target, 'w'); file.writelines(text.split(' ')); file.flush()",
    "characters": "file = open(target, 'wb', buffering=0); [file.write(c.encode()) for c in text]",
    "print": "file = open(target, 'w'); print('before', text, 'behind', file=file); file.close()",
    "r+": "file = open(target, 'r+'); file.seek(0); file.write(text); file.truncate(); file.close()",
    "temporary": "open('temporary', 'w').write(text); os.replace('temporary', target)",
    "NamedTemporaryFile": "t = tempfile.NamedTemporaryFile('w', dir='.'); t.write(text); t.flush(); os.replace(t.name, target)",
    "elsewhere": "fd, name = tempfile.mkstemp(); os.write(fd, text.encode()); os.close(fd); shutil.move(name, target)",
    "copied": "fd, name = tempfile.mkstemp(); os.write(fd, text.encode()); os.close(fd); shutil.copyfile(name, target)",
    "copied with mode": "fd, name = tempfile.mkstemp(); os.write(fd, text.encode()); os.close(fd); shutil.copy(name, target)",
    "copied by streams": "shutil.copyfileobj(io.StringIO(text), open(target, 'w')) or sys.stdout.flush()",
    "mapped": "fd = os.open(target, os.O_RDWR); m = mmap.mmap(fd, os.fstat(fd).st_size); m[:len(text)] = text.encode(); m.close(); os.close(fd)",
    "locked": "import fcntl; file = open(target, 'r+' if os.path.exists(target) else 'w'); fcntl.lockf(file, fcntl.LOCK_EX); file.truncate(0)\n"
              "    try: file.write(text); file.flush()\n    except OSError:\n        pid = os.fork()\n        if pid == 0:\n"
              "            try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB); os._exit(55)  # the lock was given up\n"
              "            except BlockingIOError: os._exit(5)\n        os._exit(os.waitpid(pid, 0)[1] >> 8)",
    "fork": "pid = os.fork(); fd = pid or os.open(target, os.O_WRONLY | os.O_TRUNC | os.O_CREAT)\n    "
            "if pid == 0: os.write(fd, text.encode())\n    elif os.waitpid(pid, 0)[1]: sys.exit(5)",
}
PYTHON_QUIET = ("mapped", "writelines", "copied by streams")  # which report nothing: how it ends may be 0

NODE = r"""
const fs = require('fs'); const target = process.argv[1];
fs.readFileSync('f', 'utf8');
setTimeout(async () => {
	const text = fs.readFileSync('f', 'utf8').replace('line 5', 'LINE 5');
	if (!text.startsWith('[File previously read: ')) process.exit(99);
	process.on('uncaughtException', error => { process.exit(error.code === 'EIO' ? 5 : 98); });
	try {
		%s
	} catch (error) {
		process.exit(error.code === 'EIO' ? 5 : 97);
	}
}, %d);
"""
NODE_WAYS = {
    "writeFileSync": "fs.writeFileSync(target, text);",
    "writeSync": "const fd = fs.openSync(target, 'w'); fs.writeSync(fd, text); fs.closeSync(fd);",
    "writeSync in two": "const fd = fs.openSync(target, 'w'); fs.writeSync(fd, text.slice(0, 99)); fs.writeSync(fd, text.slice(99)); fs.closeSync(fd);",
    "writevSync": "const fd = fs.openSync(target, 'w'); fs.writevSync(fd, [Buffer.from(text.slice(0, 99)), Buffer.from(text.slice(99))]); fs.closeSync(fd);",
    "writeFile": "await new Promise((done, fail) => fs.writeFile(target, text, error => error ? fail(error) : done()));",
    "promises": "await fs.promises.writeFile(target, text);",
    "handle": "const h = await fs.promises.open(target, 'w'); try { await h.write(text); } finally { await h.close(); }",
    "stream": "const s = fs.createWriteStream(target); await new Promise((done, fail) => { s.on('error', fail); s.end(text, error => error ? fail(error) : done()); });",
    "pipeline": "await require('stream/promises').pipeline(require('stream').Readable.from([text]), fs.createWriteStream(target));",
    "renameSync": "fs.writeFileSync('/tmp/seen-' + process.pid, text); try { fs.renameSync('/tmp/seen-' + process.pid, target); } "
                  "finally { fs.unlinkSync('/tmp/seen-' + process.pid); }",
    "copyFileSync": "fs.writeFileSync('/tmp/seen-' + process.pid, text); try { fs.copyFileSync('/tmp/seen-' + process.pid, target); } "
                    "finally { fs.unlinkSync('/tmp/seen-' + process.pid); }",
    "copyFile": "fs.writeFileSync('/tmp/seen-' + process.pid, text); try { await fs.promises.copyFile('/tmp/seen-' + process.pid, target); } "
                "finally { fs.unlinkSync('/tmp/seen-' + process.pid); }",
}

PERL = r"""
open(F, '<', 'f'); sysread(F, $text, 1 << 20); close F; select(undef, undef, undef, %f);
open(F, '<', 'f'); sysread(F, $text, 1 << 20); close F;
exit 99 unless $text =~ /^\[File previously read: /;
$target = $ARGV[0]; $text =~ s/line 5/LINE 5/;
%s
exit 0;
"""
PERL_WAYS = {
    "print": "open(G, '>', $target) or exit($!+0); print G $text; close(G) or exit($!+0);",
    "print in two": "open(G, '>', $target) or exit($!+0); print G substr($text, 0, 99), substr($text, 99); close(G) or exit($!+0);",
    "printf": "open(G, '>', $target) or exit($!+0); printf G '%s', $text; close(G) or exit($!+0);",
    "syswrite": "open(G, '>', $target) or exit($!+0); syswrite(G, $text) or exit($!+0);",
    "+<": "open(G, '+<', $target) or open(G, '>', $target) or exit($!+0); print G $text; truncate(G, tell(G)); close(G) or exit($!+0);",
    "rename": "open(G, '>', \"/tmp/seen-$$\"); print G $text; close(G); rename(\"/tmp/seen-$$\", $target) or (unlink(\"/tmp/seen-$$\"), exit 5);",
}


@needs_library("what a process writes is observed by it alone")
class Languages(Answered):
    test_each_way = test_names_that_are_new = test_exchanged = test_each_split = test_without_a_close = None
    test_what_is_not_covered = test_what_was_opened_before = test_what_is_behind_and_before = test_other_settings = None
    test_what_was_written_before_a_refusal_is_kept = None

    def each(self, command, glob, ways, render, quiet=(), environment=None):
        tried = refused = 0
        for way, code in ways.items():
            for name in ("f", "plain", "new"):
                self.session.write("f", self.f)
                self.targets()
                before = self.content(name)
                if way in ("r+", "mapped") and name == "new":
                    continue
                with self.subTest(way=way, name=name):
                    tried += 1
                    earlier = self.refused() if tried > 1 else 0
                    result = self.run_whitelisted([*command, render(code), *(("--",) if command[0].endswith("node") else ()), name], glob)
                    if way in quiet:
                        self.assertIn(result.returncode, (0, 1, 5, 120), result.stderr)
                    else:
                        self.assertEqual(result.returncode, errno.EIO, result.stderr)
                    self.assertEqual(self.content(name), before)
                    self.assertGreater(self.refused(), earlier)
                    refused += 1
                    self.assertNoNotice()
                for left in ("new", "temporary"):
                    self.remove(left)
        return tried, refused

    @short_form_by("preload")
    def test_python(self):
        python = os.path.realpath(sys.executable)
        self.each([python, "-c"], os.path.basename(python), PYTHON_WAYS, lambda code: PYTHON % (PAUSE_S, code), PYTHON_QUIET)

    @unittest.skipUnless(shutil.which("node"), "no node")
    @short_form_by("preload")
    def test_node(self):
        node = os.path.realpath(shutil.which("node"))
        self.each([node, "-e"], "node*", NODE_WAYS, lambda code: NODE % (code, PAUSE_S * 1000))

    @unittest.skipUnless(shutil.which("perl"), "no perl")
    @short_form_by("preload")
    def test_perl(self):
        self.each([os.path.realpath(shutil.which("perl")), "-e"], "perl*", PERL_WAYS, lambda code: PERL % (PAUSE_S, code))

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node_as_in_the_trial(self):
        """Reads and writes at once, again and again: at no time is anything but the file on disk."""
        self.targets()
        node = os.path.realpath(shutil.which("node"))
        code = ("const fs = require('fs'); let failed = 0; const edit = () => { try { fs.writeFileSync('f', fs.readFileSync('f', 'utf8')"
                ".replace('line 7 ', 'LINE 7 ')); } catch (error) { if (error.code !== 'EIO') throw error; failed++; } }; "
                "edit(); setTimeout(() => { edit(); setTimeout(() => { edit(); process.exit(failed); }, %d); }, %d);" % (PAUSE_S * 1000, PAUSE_S * 1000))
        result = self.run_whitelisted([node, "-e", code], "node*")
        self.assertEqual(result.stderr, b"")
        self.assertIn(result.returncode, (0, 1))  # its own write is a change: then it is given the file
        self.assertEqual(self.content("f"), self.f.replace(b"line 7 ", b"LINE 7 "))

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node_copies_the_file_itself(self):
        self.targets()
        node = os.path.realpath(shutil.which("node"))
        code = ("const fs = require('fs'); fs.readFileSync('f'); setTimeout(() => { if (!fs.readFileSync('f', 'utf8').startsWith('[File'))"
                " process.exit(99); fs.copyFileSync('f', 'plain'); fs.copyFileSync('f', 'new'); }, %d)" % (PAUSE_S * 1000))
        result = self.run_whitelisted([node, "-e", code], "node*")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual((self.content("plain"), self.content("new")), (self.f, self.f))

    @unittest.skipUnless(shutil.which("perl"), "no perl")
    def test_perl_in_place(self):
        """perl -pi, which has read the file before."""
        self.targets()
        small = self.session.write("f", lines("f", 50))
        code = "BEGIN { open(F, '<', 'f'); read(F, $x, 8192); close F; select(undef, undef, undef, %f); } s/line 5 /LINE 5 /" % PAUSE_S
        result = self.run_whitelisted([os.path.realpath(shutil.which("perl")), "-pi", "-e", code, "f"], "perl*")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"Failed to close in-place work file", result.stderr)
        self.assertEqual((self.content("f"), self.refused()), (small, 1))
        self.assertNoNotice()

    @unittest.skipUnless(shutil.which("vim"), "no vim")
    def test_vim(self):
        self.targets()
        for settings in ("set backupcopy=yes backupskip=*", "set backupcopy=no backupskip=", "set nowritebackup"):
            with self.subTest(settings):
                name = os.path.basename(os.path.realpath(shutil.which("vim")))
                result = self.run_whitelisted(["vim", "-u", "NONE", "-es", "-c", settings, "-c", "edit f", "-c", "sleep %dm" % (PAUSE_S * 1000),
                                               "-c", "edit! f", "-c", "write! plain", "-c", "write!", "-c", "qa!"], "vim*", "--whitelist", name)
                self.assertEqual((self.content("f"), self.content("plain")), (self.f, self.plain), result.stderr)
                self.assertNotEqual(result.returncode, 0)
                self.assertNoNotice()

    def test_threads(self):
        """Refusals in one thread, and what is well in others."""
        self.targets()
        python = os.path.realpath(sys.executable)
        code = PYTHON % (PAUSE_S, """
    import threading
    wrong = []
    def work(number):
        for i in range(60):
            name, good = 'file%d' % number, 'good %d\\n' % i * 50
            open(name, 'w').write(good)
            file = open(name, 'wb', buffering=0)
            try:
                file.write(text.encode())
                wrong.append('written')
            except OSError as error:
                if error.errno != 5: wrong.append(error)
            try:
                file.close()
                wrong.append('closed')
            except OSError as error:
                if error.errno != 5: wrong.append(error)
            if open(name).read() != good: wrong.append(open(name).read())
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(wrong[:3])
    sys.exit(bool(wrong))""")
        result = self.run_whitelisted([python, "-c", code, "-"], os.path.basename(python), "-c", "notice.min_bytes=100000")
        self.assertEqual(result.returncode, 99, result.stdout)
        result = self.run_whitelisted([python, "-c", code, "-"], os.path.basename(python), "-c", "notice.min_bytes=2000")
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)
        self.assertEqual(self.refused(), 8 * 60)

    def test_what_is_compressed(self):
        """Not covered: docs."""
        self.targets()
        python = os.path.realpath(sys.executable)
        code = PYTHON % (PAUSE_S, "import gzip; g = gzip.open('new', 'wb'); g.write(text.encode()); g.close()")
        result = self.run_whitelisted([python, "-c", code, "-"], os.path.basename(python))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertIn(NOTICE, gzip.decompress(self.content("new")))

    def test_redirected(self):
        """A whitelisted program whose output the shell sends to a file."""
        self.targets()
        python = os.path.realpath(sys.executable)
        code = "import os, time\nfor i in range(2):\n    text = open('f').read()\n    time.sleep(%f)\nos.write(1, text.encode())" % PAUSE_S
        for target in ("g", "plain", "new"):
            result = self.run_whitelisted(["bash", "-c", "%s -c %s > %s" % (python, shlex.quote(code), target)], os.path.basename(python))
            self.assertIn(b"Input/output error", result.stderr)
            self.assertNoNotice()
        code = code.replace("os.write(1, text.encode())", "os.write(1, b'one ')\ntry:\n    os.write(1, text.encode())\nexcept OSError:\n"
                            "    os.write(1, b'two ')\nprint('three', flush=True)\nprint(text)")
        result = self.run_whitelisted(["bash", "-c", "{ echo zero; %s -c %s; echo four; } > new" % (python, shlex.quote(code))],
                                      os.path.basename(python))
        self.assertIn(b"Input/output error", result.stderr)  # of the last print
        self.assertEqual(self.content("new"), b"zero\none two three\nfour\n")
        result = self.run_whitelisted(["bash", "-c", "%s -c %s >> plain" % (python, shlex.quote(code))], os.path.basename(python))
        self.assertEqual(result.stderr, b"")


if __name__ == "__main__":
    unittest.main()

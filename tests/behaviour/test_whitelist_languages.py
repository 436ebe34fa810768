"""Whitelisted agents: the patterns of edits, and Python, perl and Node: the rest of test_whitelist.py."""

import os
import shutil
import subprocess
import sys
import unittest

from harness import NOTICE, RUN, lines
from test_whitelist import BURST_MS, PAUSE_S, WhitelistTest, pause


PATTERNS = """
[agent scripted_reads]
measured = *
edit_pattern = %s
"""


class EditPatterns(WhitelistTest):
    def patterned(self, pattern, *options):
        config = os.path.join(self.session.directory, "seen.ini")
        with open(config, "w") as file:
            file.write(PATTERNS % pattern)
        return self.reader("--agent", "scripted_reads", "--config", config, *options)

    def test_access_write(self):
        reader = self.patterned("access-write")
        data = self.known(reader)
        self.session.write("other", lines("other"))
        for name in ("f", self.session.path("f"), "./f"):
            self.assertEqual(reader.number("may", name, os.R_OK | os.W_OK), 0)
            self.assertEqual(reader.whole("f"), data)
            pause()
        self.assertNotice(reader.whole("f"))
        pause()
        self.assertEqual(reader.whole("f"), data)
        for _ in range(10):
            pause()
            reader.whole("other")
        pause()
        self.assertEqual(reader.number("may", "f", os.R_OK | os.W_OK), 0)
        self.assertEqual(reader.number("may", "f", os.R_OK), 0)  # what it asked last counts
        self.assertNotice(reader.whole("f"))
        # it is a request of its own, also right behind a notice
        self.assertEqual(reader.number("may", "f", os.R_OK | os.W_OK), 0)
        self.assertEqual(reader.whole("f"), data)
        # what was read so is not known
        data = self.session.write("g", lines("g"))
        self.assertEqual(reader.number("may", "g", os.R_OK | os.W_OK), 0)
        self.assertEqual(reader.whole("g"), data)
        pause()
        self.assertEqual(reader.whole("g"), data)
        pause()
        self.assertNotice(reader.whole("g"))

    def test_no_sniff(self):
        reader = self.patterned("no-sniff")
        data = self.session.write("f", lines("f"))

        def sniffing():
            fd = reader.number("open", "f")
            self.assertEqual(reader.bytes("pread", fd, 515, 0), data[:515])
            reader.number("close", fd)
            return reader.whole("f")

        for _ in range(2):  # edits: not known from them
            self.assertEqual(reader.whole("f"), data)
            pause()
        self.assertEqual(sniffing(), data)
        pause()
        self.assertEqual(reader.whole("f"), data)
        pause()
        self.assertNotice(sniffing())
        self.assertEqual(reader.whole("f"), data)  # in the same request
        pause()
        self.assertEqual(sniffing(), data)  # it asks again

    def test_none(self):
        reader = self.patterned("none")
        self.known(reader)
        self.assertEqual(reader.number("may", "f", os.R_OK | os.W_OK), 0)
        self.assertNotice(reader.whole("f"))


class Languages(WhitelistTest):
    def given(self, words, code, name):
        """Runs a program that prints what it was given, reading `f` three times with a pause between."""
        data = self.session.write("f", lines("f"))
        result = subprocess.run([*RUN, "--quiet", "--agent-is", "inside", "-c", "notice.burst_ms=%d" % BURST_MS, "--whitelist", name, "--", *words, code],
                                cwd=self.session.workspace, env={**self.session.environment, "PATH": os.environ["PATH"]},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.stderr, b"")
        given = result.stdout.split(b"\0")
        self.assertEqual([given[0], given[2]], [data, data])
        self.assertNotice(given[1], data)
        self.assertEqual(self.session.read("f"), data)

    def test_python(self):
        python = os.path.realpath(sys.executable)
        for read in ("open('f').read()", "open('f', 'rb').read().decode()", "''.join(open('f').readlines())", "pathlib.Path('f').read_text()",
                     "os.read(os.open('f', 0), 1 << 20).decode()", "open('f', 'rb', buffering=0).readall().decode()"):
            with self.subTest(read=read):
                self.given([python, "-c"], "import os, pathlib, time\nfor i in range(3):\n    text = %s\n    print(text, end='\\0')\n    time.sleep(%f)\n"
                           % (read, PAUSE_S), os.path.basename(python))

    @unittest.skipUnless(shutil.which("perl"), "no perl")
    def test_perl_reads_by_pieces(self):
        data = self.session.write("f", lines("f", 400))
        for code in ("for (1..3) { open(F, '<', 'f'); local $/; print <F>; close F; select(undef, undef, undef, 0.15); }",):
            result = subprocess.run([*RUN, "--quiet", "--agent-is", "inside", "-c", "notice.burst_ms=60", "--whitelist", "perl*", "--", "perl", "-e", code],
                                    cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(result.stdout, data * 3)

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node(self):
        node = os.path.realpath(shutil.which("node"))
        for read in ("fs.readFileSync('f')", "fs.readFileSync('f').toString()", "await fs.promises.readFile('f', 'utf8')",
                     "await new Promise(done => fs.readFile('f', (error, data) => done(data)))",
                     "await (async () => { const h = await fs.promises.open('f'); const t = await h.readFile('utf8'); await h.close(); return t; })()"):
            with self.subTest(read=read):
                self.given([node, "-e"], "const fs = require('fs'); (async () => { for (let i = 0; i < 3; i++) { const text = %s; "
                           "process.stdout.write(text); process.stdout.write('\\0'); await new Promise(r => setTimeout(r, %d)); } })()"
                           % (read, PAUSE_S * 1000), "node*")

    def test_many_threads(self):
        """What one of many threads is given is the file or its notice, and nothing between the two."""
        files = {name: self.session.write(name, lines(name, count)) for name, count in (("f", 100), ("g", 300), ("h", 500))}
        with open(os.path.join(self.session.directory, "threads.py"), "w") as file:
            file.write("import os, sys, threading, time\n"
                       "files = {name: open(name + '.kept', 'rb').read() for name in 'fgh'}\n"
                       "notices = set()\n"
                       "def read(name):\n"
                       "    fd = os.open(name, os.O_RDONLY)\n"
                       "    data = os.read(fd, 1 << 20) if threading.get_ident() % 2 else os.pread(fd, 1 << 20, 0)\n"
                       "    os.close(fd)\n"
                       "    return data\n"
                       "def work():\n"
                       "    until = time.monotonic() + 2\n"
                       "    while time.monotonic() < until:\n"
                       "        for name, real in files.items():\n"
                       "            data = read(name)\n"
                       "            if data != real:\n"
                       "                notices.add(data)\n"
                       "threads = [threading.Thread(target=work) for _ in range(8)]\n"
                       "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
                       "sys.stdout.buffer.write(b''.join(sorted(notices)))\n")
        for name, data in files.items():
            self.session.write(name + ".kept", data)
        python = os.path.realpath(sys.executable)
        result = subprocess.run([*RUN, "--quiet", "--agent-is", "inside", "-c", "notice.burst_ms=1", "-c", "notice.insist_requests=1", "--whitelist",
                                 "threads", "--", python, os.path.join(self.session.directory, "threads.py")],
                                cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.stderr, b"")
        self.assertLessEqual(result.stdout.count(b"\n"), 3)
        for line in result.stdout.splitlines():
            self.assertTrue(line.startswith(NOTICE), line[:200])
        self.assertIn(NOTICE, result.stdout)


if __name__ == "__main__":
    unittest.main()

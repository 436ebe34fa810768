"""Notices that are pasted, and what is exempt: the rest of test_notice_guard.py."""

import errno
import os
import re
import shlex
import shutil
import time
import unittest

from harness import NOTICE, VIA, Session, lines, needs_library, short_form_by
from test_notice_guard import CALLS, Case, ENDS, NAMES, PAUSE_S, STREAMS, Writer


# A model that repeats a notice in its own write tool, or in its shell: {notice} is the text, quoted.
SHELL_WAYS = {
    "echo": "echo {notice} > f",
    "printf": "printf %s {notice} > f",
    "printf program": "/usr/bin/printf %s {notice} > f",
    "here document": "cat > f << 'END'\n{plain}END",
    "tee": "echo {notice} | tee f",
    "cat": "cat {source} > f",
    "cp": "cp {source} f",
    "cp --reflink=never": "cp --reflink=never {source} f",
    "cp -p": "cp -p {source} f",
    "install": "install -m 644 {source} f",
    "mv": "cp {source} {source}.1; mv {source}.1 f",
    "mv in the workspace": "cp {source} t; mv t f",
    "mv -T": "cp {source} t; mv -T t f",
    "ln -f": "cp {source} t; ln -f t f",
    "dd": "dd if={source} of=f status=none",
    "dd notrunc": "dd if={source} of=f conv=notrunc status=none",
    "sed -i": "sed -i 1s/^.*/{sed}/ f",
    "sed -i insert": "sed -i '3r {source}' f",
    "sed w": "sed -n 'w f' {source}",
    "perl -pi": "perl -pi -e 'if ($. == 3) {{ open(F, q({source})); $_ = <F>; }}' f",
    "awk": "awk '{{ print > \"f\" }}' {source}",
    "python": "python3 -c 'open(\"f\", \"w\").write(open(\"{source}\").read())'",
    "ed": "printf '%s\\n' 1a {notice} . w q | ed -s f",
    "ex": "ex -sc '1r {source}' -c x f",
    "vim": "vim -u NONE -es -c '1r {source}' -c wq! f",
    "patch": "printf '%s\\n' '--- f' '+++ f' '@@ -1,1 +1,2 @@' \" $(head -1 f)\" +{notice} | patch -s f",
    "node": "node -e 'fs.writeFileSync(\"f\", fs.readFileSync(\"{source}\"))'",
    "node copy": "node -e 'fs.copyFileSync(\"{source}\", \"f\")'",
    "shuf": "shuf -o f {source}",
    "sort": "sort -o f {source}",
    "started": "python3 -c 'import subprocess; f = open(\"f\", \"w\"); p = subprocess.Popen([\"sh\", \"-c\", \"sleep 0.1; cat {source}\"], stdout=f); "
               "f.close(); import sys; sys.exit(p.wait())'",
    "mawk": "cat {source} | awk '{{ printf \"%s\", $0 }}' > f",
    "bash, then more": "{{ echo one; cat {source}; echo two; }} > f",
    "subshell": "{{ echo a; (echo {notice}; echo c); echo d; }} > f",
    "split": "split -b 100000 {source} f; mv faa f",
}


# What was there is gone before anything is written, by another program or call: the file stays empty, or away, and its
# content is in the store.
EMPTIED = ("here document", "cat", "install", "patch", "started", "mawk")


class Pasted(Case):
    """(b) A scope has a baseline of the file."""

    def setUp(self):
        super().setUp()
        self.text = self.notice()
        self.assertEqual(self.agent.shell("cat f"), self.f)
        self.source = os.path.join(self.session.directory, "source")
        with open(self.source, "wb") as file:
            file.write(self.text)

    def shell(self, command):
        answer = self.agent.ask(do="run", argv=["bash", "-c", command], sink="pipe", errors=True)
        return answer["status"], answer["errors"]

    @needs_library("what a process writes is inspected by it alone")
    def test_write_tool(self):
        for how in ("truncate", "reread", "in_place", "rename", "stream"):
            for text in (self.text, b"before\n" + self.text + b"behind\n", self.text * 50, b"x" * 300000 + self.text):
                with self.subTest(how=how, size=len(text)):
                    refused = self.refused()
                    result = self.agent.ask(do="write", path=self.session.path("f"), data=text.decode(), how=how)["errno"]
                    self.assertEqual(result, errno.EIO)
                    self.assertEqual(self.content("f"), self.f)
                    self.assertGreater(self.refused(), refused)
                    self.assertIn(self.guarded()[-1], ("f", "f.tmp"))
                self.session.write("f", self.f)
        self.remove("f.tmp")
        self.assertNoNotice()

    @needs_library("what a process writes is inspected by it alone")
    def test_write_tool_under_allow(self):
        """Nothing is kept there, and a refused write still leaves the file as it was."""
        self.session.name = "allow"
        agent = self.session.agent(*self.options, "--stale-write", "allow")
        self.addCleanup(agent.close)
        data = self.session.write("f", lines("allowed"))
        self.assertEqual(agent.shell("cat f"), data)
        notice = agent.shell("cat f")
        self.assertNotice(notice)
        for how in ("truncate", "reread", "in_place", "rename", "stream"):
            with self.subTest(how):
                self.assertEqual(agent.ask(do="write", path=self.session.path("f"), data=notice.decode(), how=how)["errno"], errno.EIO)
                self.assertEqual(self.content("f"), data)
            self.session.write("f", data)

    @needs_library("what a process writes is inspected by it alone")
    @short_form_by("preload")
    def test_each_way(self):
        """By a program that was answered nothing: as its own agent, and as a tool."""
        for options in (("--agent", "notice_writer"), ()):
            writer = Writer(self.session, *options, whitelist=None)
            self.addCleanup(writer.close)
            writer.receive(self.text)
            for way in CALLS + STREAMS + NAMES + ("rename_exchange", "temporary_exchange", "nameless"):
                with self.subTest(way=way, options=options):
                    refused = self.refused()
                    self.assertEqual(writer.write_data(way, "f"), errno.EIO)
                    self.assertEqual(self.content("f") if way != "nameless" else self.f, self.f)
                    self.assertGreater(self.refused(), refused)
                    self.assertNoNotice()
                self.session.write("f", self.f)

    @needs_library("what a process writes is inspected by it alone")
    def test_without_a_close(self):
        for way in ENDS:
            with self.subTest(way):
                writer = Writer(self.session, whitelist=None)
                self.addCleanup(writer.close)
                writer.receive(self.text)
                refused = self.refused()
                self.assertIsNone(writer.write_data(way, "f"))
                writer.process.wait(20)
                self.assertEqual(self.content("f"), self.f)
                self.assertGreater(self.refused(), refused)
            self.session.write("f", self.f)

    @needs_library("what a process writes is inspected by it alone")
    def test_shell(self):
        """What the shell has truncated already is not put back, but is in the content store: the notice is on no disk."""
        for name, command in SHELL_WAYS.items():
            if not shutil.which(name.split()[0] if name.split()[0] in ("ed", "ex", "vim", "patch", "node", "perl") else "bash"):
                continue
            with self.subTest(name):
                refused = self.refused()
                plain = self.text.decode()
                text = command.format(notice=shlex.quote(plain.strip()), plain=plain, source=self.source,
                                      sed=shlex.quote(re.sub(r"([\\/&])", r"\\\1", plain.strip())))
                status, errors = self.shell(text)
                self.assertGreater(self.refused(), refused, (status, errors))
                self.assertNotEqual((status, errors), (0, ""))
                if name == "bash, then more":
                    self.assertEqual(self.content("f"), b"one\ntwo\n")
                elif name in EMPTIED or name == "printf program":
                    self.assertEqual(self.content("f"), b"")
                    self.assertIn(self.f, self.kept())
                else:
                    self.assertEqual(self.content("f"), self.f)
                for left in ("t", "faa"):
                    self.remove(left)
                self.assertNoNotice()
            self.session.write("f", self.f)
            for left in os.listdir(self.session.workspace):
                if left != "f":
                    self.remove(left)


class Exempt(Case):
    """What is written without a single refused call."""

    def tearDown(self):
        self.assertEqual(self.refused(), 0)
        self.assertEqual(self.guarded(), [])
        super().tearDown()

    def own(self, name, data, how="truncate", agent=None):
        path = name if name.startswith("/") else self.session.path(name)
        return (agent or self.agent).ask(do="write", path=path, data=data.decode(), how=how)["errno"]

    def test_new_files(self):
        """No scope has a baseline for them, and the agent was answered nothing itself."""
        notice = self.notice()
        for how in ("truncate", "rename", "stream", "append"):
            self.assertEqual(self.own("new " + how, notice, how), 0)
            self.assertEqual(self.content("new " + how), notice)
        self.agent.shell("echo '%s' > shell; cp shell copied; mv copied moved; ln shell linked" % notice.decode().strip())
        self.assertEqual((self.content("shell"), self.content("moved"), self.content("linked")), (notice,) * 3)

    def test_appends(self):
        notice = self.notice()
        data = self.deliver("log.txt", lines("log"))
        for _ in range(3):
            self.assertEqual(self.own("log.txt", notice, "append"), 0)
        self.assertEqual(self.content("log.txt"), data + notice * 3)
        self.agent.shell("echo '%s' >> log.txt; cat log.txt | tail -1 | tee -a log.txt" % notice.decode().strip())
        self.assertEqual(self.content("log.txt"), data + notice * 5)

    def test_beyond(self):
        notice = self.notice()
        path = os.path.join(self.session.directory, "transcript.jsonl")
        for how in ("truncate", "rename", "append", "in_place", "stream"):
            self.assertEqual(self.own(path, notice, how), 0)
        self.agent.shell("cat '%s'; echo '%s' > '%s'" % (path, notice.decode().strip(), path))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), notice)

    def test_excluded(self):
        """Also where the agent read it: what is excluded has no baseline."""
        self._agent = self.session.agent(*self.options, "-c", "paths.exclude=records/**")
        self.addCleanup(self._agent.close)
        notice = self.notice()
        os.mkdir(self.session.path("records"))
        self.session.write("records/one", lines("one"))
        self.agent.shell("cat records/one")
        for how in ("truncate", "rename", "append", "in_place", "stream"):
            self.assertEqual(self.own("records/one", notice, how), 0)
        self.assertEqual(self.content("records/one"), notice)
        self.assertEqual(self.agent.shell("echo '%s' > records/one; cat records/one" % notice.decode().strip()), notice)

    def test_captures(self):
        """Where the agent has its commands' output put, in the workspace, too, and reads it from."""
        self.deliver("seed")
        for sink in ("spool:%s" % self.session.path("spool.txt"), "file:%s" % self.session.path("file.txt"),
                     "file:%s" % os.path.join(self.session.spool, "outside.txt"), "pipe", "socket", "pty"):
            for _ in range(2):
                with self.subTest(sink):
                    output = self.agent.run(["cat", "seed"], sink=sink)
                    self.assertIn(b"\n", output)

    def test_other_sessions(self):
        other = Session("other")
        self.addCleanup(other.close)
        agent = other.agent()
        self.addCleanup(agent.close)
        other.write("x", lines("x"))
        agent.shell("cat x")
        notice = agent.shell("cat x")
        self.assertNotice(notice)
        self.assertEqual(self.agent.shell("cat f"), self.f)
        for how in ("truncate", "rename", "in_place", "stream"):
            self.assertEqual(self.own("f", notice, how), 0)
        self.assertEqual(self.content("f"), notice)

    def test_text_about_it(self):
        notice = self.notice()
        self.assertEqual(self.agent.shell("cat f"), self.f)
        texts = [NOTICE + b" is what it says.\n", re.sub(rb"[0-9a-zA-Z]{16,}", b"...", notice), b"seen said: File previously read\n"]
        for text in texts:
            for how in ("truncate", "rename", "in_place", "stream"):
                self.assertEqual(self.own("f", text, how), 0)
            self.assertEqual(self.content("f"), text)

    @needs_library("only it answers a process's own reads")
    def test_what_was_answered_and_writes_other_things(self):
        """Also one that keeps records of what it got: appended, beyond the workspace, excluded."""
        writer = Writer(self.session, "-c", "paths.exclude=records/**")
        self.addCleanup(writer.close)
        os.mkdir(self.session.path("records"))
        for _ in range(2):
            writer.read("f")
            time.sleep(PAUSE_S)
        beyond = os.path.join(self.session.directory, "outside", "transcript")
        self.assertEqual(writer.write_data("append", "log.jsonl"), 0)
        self.assertTrue(self.content("log.jsonl").startswith(NOTICE))
        for way in CALLS + STREAMS + NAMES:
            with self.subTest(way):
                self.assertEqual(writer.write_data(way, beyond), 0)
                self.assertEqual(writer.write_data(way, "records/one"), 0)
        writer.receive(b"what the user wanted\n" * 40)
        for way in CALLS + STREAMS + NAMES:
            for name in ("f", "new", "other"):
                with self.subTest(way=way, name=name):
                    self.assertEqual(writer.write_data(way, name), 0)
                    self.assertIn(b"what the user wanted\n" * 40, self.content(name))


if __name__ == "__main__":
    unittest.main()

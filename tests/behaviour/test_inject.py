"""[context] inject: instruction files come first in what a viewer shows to the agent, once, and nowhere else."""

import json
import os
import re
import unittest

from harness import NOTICE, SEEN, VIA, Session, SessionTest, lines, needs_library, wait_until

END = b"[End of instruction files. (Here begins the file, seen-NONCE)]\n"
ROOT = b"[Loaded from ./AGENTS.md]\nroot rules\n"
SRC = b"[Loaded from src/AGENTS.md]\nsrc rules\n"


class InjectTest(SessionTest):
    spools = True
    options = ("--inject", "viewers")

    def setUp(self):
        super().setUp()
        os.makedirs(self.session.path("src/deep"))
        self.session.write("AGENTS.md", b"root rules\n")
        self.session.write("src/AGENTS.md", b"src rules")  # without a newline at its end
        self.data = self.session.write("src/deep/f", lines("f"))

    def sink(self, kind):
        return "spool:" + os.path.join(self.session.spool, "out") if kind == "spool" else kind

    def shell(self, command, sink="pipe", agent=None):
        """What the agent is given, without the session's nonce in the line above the file."""
        output = (agent or self.agent).shell(command, self.sink(sink)).replace(b"\r\n", b"\n")
        return re.sub(rb"(?m)^(\[End of instruction files\. \(Here begins the file, )seen-[0-9a-f]{16}(\)\])$", rb"\1seen-NONCE\2", output)

    def count(self):
        return self.session.status()["counters"]["instructions_given"]


class Delivered(InjectTest):
    def test_at_every_sink(self):
        for number, kind in enumerate(["pipe", "socket", "pty", "spool"]):
            data = self.session.write("src/f%d" % number, lines("f%d" % number))
            with self.subTest(sink=kind):
                self.session.seen("forget", "--session", "test", "--all") if number else None
                self.assertEqual(self.shell("cat src/f%d" % number, kind), ROOT + SRC + END + data)
                if kind != "spool":
                    self.assertNotice(self.shell("cat src/f%d" % number, kind))
        self.assertEqual(self.count(), 8)

    def test_once(self):
        self.assertEqual(self.shell("cat src/deep/f"), ROOT + SRC + END + self.data)
        self.assertNotice(self.shell("cat src/deep/f"), "src/deep/f")
        other = self.session.write("src/g", lines("g"))
        self.assertEqual(self.shell("cat src/g"), other)
        self.assertEqual(self.shell(SEEN + " context src/g"), b"")

    def test_only_what_is_new(self):
        self.session.write("g", lines("g"))
        self.assertEqual(self.shell("cat g"), ROOT + END + lines("g"))
        self.assertEqual(self.shell("cat src/deep/f"), SRC + END + self.data)
        self.session.write("src/AGENTS.md", b"other rules\n")
        other = self.session.write("src/h", lines("h"))
        self.assertEqual(self.shell("cat src/h"), b"[Loaded from src/AGENTS.md]\nother rules\n" + END + other)

    def test_before_a_notice(self):
        self.shell("cat src/deep/f")
        self.session.write("src/AGENTS.md", b"other rules\n")
        output = self.shell("cat src/deep/f")
        before = b"[Loaded from src/AGENTS.md]\nother rules\n" + END
        self.assertTrue(output.startswith(before + NOTICE), output)
        self.assertEqual(output.count(b"\n"), before.count(b"\n") + 1)
        self.assertEqual(self.count(), 3)
        self.session.seen("forget", "--session", "test", "src/AGENTS.md")
        self.shell("head -1 AGENTS.md; " * 12)  # asked again later, not at once
        self.assertEqual(self.shell("cat src/deep/f"), output)

    def test_before_a_file_that_is_given_again(self):
        self.shell("cat src/deep/f")
        self.assertNotice(self.shell("cat src/deep/f"))
        self.session.write("AGENTS.md", b"new rules\n")
        self.assertEqual(self.shell("cat src/deep/f"), b"[Loaded from ./AGENTS.md]\nnew rules\n" + END + self.data)

    def test_several_files(self):
        self.session.write("g", lines("g"))
        self.assertEqual(self.shell("cat g src/deep/f"), ROOT + END + lines("g") + SRC + END + self.data)
        for name in ("g", "src/deep/f"):
            self.assertNotice(self.shell("cat " + name), name)

    def test_invalidated(self):
        both = self.shell("cat src/deep/f")
        self.session.seen("forget", "--session", "test", "--all")
        self.assertEqual(self.shell("cat src/deep/f"), both)

    def test_as_by_the_command(self):
        self.assertEqual(self.shell(SEEN + " context src/x"), ROOT + SRC)
        self.assertEqual(self.shell("cat src/deep/f"), self.data)

    def test_an_instruction_file_itself(self):
        self.assertEqual(self.shell("cat src/AGENTS.md"), ROOT + END + b"src rules")
        self.assertEqual(self.shell("cat src/deep/f"), self.data)
        self.assertEqual(self.count(), 2)

    def test_instruction_files_alone(self):
        self.assertEqual(self.shell("cat AGENTS.md src/AGENTS.md"), b"root rules\nsrc rules")
        self.assertEqual(self.shell("cat src/deep/f"), self.data)

    def test_journal(self):
        self.shell("cat src/deep/f")
        instructed = [json.loads(line) for line in self.session.seen("log", "--session", "test", "--json", "--op", "instructed").stdout.splitlines()]
        self.assertEqual([(line["path"], line["way"], line["role"], line["file"]["bytes"]) for line in instructed],
                         [(self.session.path("AGENTS.md"), "inject", "viewer", 11), (self.session.path("src/AGENTS.md"), "inject", "viewer", 9)])
        self.assertEqual({line["to_scope"] for line in instructed}, {instructed[0]["scope"]})
        given = [json.loads(line) for line in self.session.seen("log", "--session", "test", "--json", "--op", "given").stdout.splitlines()]
        self.assertEqual([(line["path"], line["bytes"]) for line in given], [(self.session.path("src/deep/f"), len(self.data))])

    def test_the_file_is_kept_and_known(self):
        self.shell("cat src/deep/f")
        kept = json.loads(self.session.seen("versions", "--session", "test", "--json").stdout)["versions"]
        self.assertEqual([os.path.basename(version["path"]) for version in kept], ["f"])
        files = json.loads(self.session.seen("files", "--session", "test", "--json").stdout)["files"]
        self.assertEqual([(file["path"], file["state"]) for file in files if file["state"] == "fresh"], [("src/deep/f", "fresh")])

    def test_links_and_unusual_files(self):
        with open(os.path.join(self.session.directory, "secret"), "w") as file:
            file.write("a key")
        os.symlink("../../secret", self.session.path("src/CLAUDE.md"))
        os.symlink("AGENTS.md", self.session.path("CLAUDE.md"))
        os.mkfifo(self.session.path("src/GEMINI.md"))
        self.session.write("GEMINI.md", b"a\0b")
        self.session.write("src/deep/GEMINI.md", b"x" * 65537)
        self.assertEqual(self.shell("cat src/deep/f"), ROOT + SRC + END + self.data)

    def test_an_empty_one(self):
        self.session.write("src/AGENTS.md", b"")
        self.assertEqual(self.shell("cat src/deep/f"), ROOT + b"[Loaded from src/AGENTS.md]\n" + END + self.data)
        self.assertNotice(self.shell("cat src/deep/f"))

    def test_an_empty_file_below(self):
        self.session.write("src/none", b"")
        self.assertEqual(self.shell("cat src/none"), ROOT + SRC + END)
        self.assertEqual(self.shell("cat src/deep/f"), self.data)

    def test_two_scopes(self):
        both = ROOT + SRC + END + self.data
        self.assertEqual(self.shell("cat src/deep/f"), both)
        second = self.session.agent(*self.options)
        self.addCleanup(second.close)
        self.assertEqual(self.shell("cat src/deep/f", agent=second), both)


@needs_library("it alone gives what changed")
class WithWhatChanged(InjectTest):
    options = ("--inject", "viewers", "--on-change", "diff")

    def test_before_what_changed(self):
        self.shell("cat src/deep/f")
        self.session.write("src/AGENTS.md", b"other rules\n")
        self.session.write("src/deep/f", self.data.replace(b"line 50 of", b"line fifty of"))
        before = b"[Loaded from src/AGENTS.md]\nother rules\n" + END
        output = self.shell("cat src/deep/f")
        self.assertTrue(output.startswith(before + b"[File changed since last read: src/deep/f."), output[:300])
        self.assertIn(b"\n+f line fifty of the file\n", output)
        self.assertEqual(self.count(), 3)
        self.shell("head -1 AGENTS.md; " * 12)  # asked again later, not at once
        self.assertNotice(self.shell("cat src/deep/f"))


class RealBytes(InjectTest):
    def test_nowhere_else(self):
        data = self.data
        for command, expected in [
                ("cat src/deep/f | cat", data),
                ("cat src/deep/f > g; cmp g src/deep/f && echo same; rm g", b"same\n"),
                ("cat src/deep/f >> g; cmp g src/deep/f && echo same; rm g", b"same\n"),
                ("cat src/deep/f | tee g | cksum > /dev/null; cmp g src/deep/f && echo same; rm g", b"same\n"),
                ("x=$(cat src/deep/f); printf '%s\\n' \"$x\"", data),
                ("diff <(cat src/deep/f) src/deep/f && echo same", b"same\n"),
                ("cat < src/deep/f", data),
                ("cat src/deep/f > /dev/null; echo", b"\n"),
                ("head -100 src/deep/f", data),
                ("tail -n +1 src/deep/f", data),
                ("sed -n 1,100p src/deep/f", data),
                ("python3 -c 'import subprocess,sys; sys.stdout.write(subprocess.check_output([\"cat\",\"src/deep/f\"]).decode())'", data)]:
            with self.subTest(command=command):
                self.assertEqual(self.shell(command).replace(b"\r\n", b"\n"), expected)
                self.session.seen("forget", "--session", "test", "--all")
        self.assertEqual(self.count(), 0)
        for sink in ("null", "inherit", "stderr"):
            self.shell("cat src/deep/f; cat src/deep/f > g; cmp g src/deep/f", sink)
        plain = os.path.join(self.session.spool, "plain")
        self.assertEqual(self.shell("cat src/deep/f", "file:" + plain), data)
        self.assertEqual(self.agent.run(["cat", "src/deep/f"]), data)
        self.assertEqual(self.agent.run(["env", "cat", "src/deep/f"]), data)
        self.assertEqual(self.count(), 0)
        self.assertEqual(self.shell("cat src/deep/f"), ROOT + SRC + END + data)

    def test_beyond_the_workspace_and_excluded(self):
        path = os.path.join(self.session.directory, "out")
        with open(path, "wb") as file:
            file.write(self.data)
        self.assertEqual(self.shell("cat " + path), self.data)
        os.mkdir(self.session.path("node_modules"))
        self.session.write("node_modules/f", self.data)
        self.session.write("node_modules/AGENTS.md", b"not me\n")
        self.assertEqual(self.shell("cat node_modules/f"), self.data)
        self.assertEqual(self.count(), 0)

    def test_never_at_the_cost_of_the_file(self):
        """What would be cut then is given without."""
        self.session.write("AGENTS.md", b"r" * 5000 + b"\n")
        data = self.session.write("src/f", lines("f", 1000)[:19000])
        self.assertEqual(self.shell("cat src/f"), SRC + END + data)
        data = self.session.write("src/g", lines("g", 1100)[:23990])
        self.session.seen("forget", "--session", "test", "--all")
        self.assertEqual(self.shell("cat src/g"), data)
        data = self.session.write("src/h", lines("h", 10))
        self.assertEqual(self.shell("cat src/h"), b"[Loaded from ./AGENTS.md]\n" + b"r" * 5000 + b"\n" + SRC + END + data)
        data = self.session.write("src/i", lines("i", 1000)[:19000])
        self.session.seen("forget", "--session", "test", "--all")
        self.assertEqual(self.shell("seq 1 1000; cat src/i; true")[-19000:], data)

    def test_not_given_where_it_did_not_all_go_out(self):
        both = ROOT + SRC + END + self.data
        self.shell("cat src/deep/f; seq 1 20000")  # cut by the agent
        self.assertEqual(self.shell("cat src/deep/f; kill -9 $$"), both)  # whose end was not observed
        self.assertEqual(self.shell("cat src/deep/f; cat nothing"), both)
        self.assertNotice(self.shell("cat src/deep/f"))

    def test_not_given_where_the_viewer_failed(self):
        both = ROOT + SRC + END + self.data
        self.assertEqual(self.shell("cat src/deep/f nothing 2> /dev/null"), both)
        self.assertEqual(self.shell("cat src/deep/f"), both)
        self.assertEqual(self.count(), 2)

    def test_not_when_observing(self):
        for options in (("--inject", "off"), ("--inject", "viewers", "--mode", "observe")):
            session = Session()
            self.addCleanup(session.close)
            session.write("AGENTS.md", b"root rules\n")
            session.write("f", self.data)
            agent = session.agent(*options)
            self.addCleanup(agent.close)
            self.assertEqual(agent.shell("cat f"), self.data)

    def test_a_small_limit_of_files(self):
        """RLIMIT_FSIZE holds for what is in memory too: beyond, a signal ends the viewer."""
        before = ROOT + SRC + END if VIA == "supervise" else b""  # there it is the supervisor that makes it
        self.assertEqual(self.shell("ulimit -f 1; cat src/deep/f"), before + self.data)


class Changes(InjectTest):
    def test_what_is_given_is_one_version(self):
        """The file is replaced all the time: whatever comes, instructions are whole and of one version."""
        self.shell("true")
        stop = os.path.join(self.session.directory, "stop")
        self.addCleanup(lambda: open(stop, "w").close())
        self.shell("i=0; while [ ! -e ../stop ]; do i=$((i+1)); echo x$i > ../new; mv ../new AGENTS.md; done > /dev/null 2>&1 &", "null")
        seen = set()
        for number in range(60):
            data = self.session.write("g%d" % number, lines("g%d" % number, 30))
            output = self.shell("cat g%d" % number)
            self.assertTrue(output.endswith(data), output)
            before = output[:-len(data)]
            if before:
                self.assertRegex(before, rb"\A\[Loaded from \./AGENTS\.md\]\n(x[0-9]+|root rules)\n" + re.escape(END) + rb"\Z")
                self.assertNotIn(before, seen)
                seen.add(before)
        self.assertTrue(seen)


class Index(InjectTest):
    """What comes, goes, or gets another name while the agent runs."""

    number = 0

    def before_another(self):
        self.number += 1
        name = "src/deep/n%d" % self.number
        data = self.session.write(name, lines(name, 20))
        output = self.shell("cat " + name)
        self.assertTrue(output.endswith(data), output)
        return output[:-len(data)]

    def wait_for(self, expected):
        found = []

        def is_there():
            found.append(self.before_another())
            return found[-1]
        wait_until(is_there)
        self.assertEqual(found[-1], expected)

    def test_made_removed_renamed(self):
        self.assertEqual(self.shell("cat src/deep/f"), ROOT + SRC + END + self.data)
        self.session.write("src/deep/CLAUDE.md", b"deep\n")
        self.wait_for(b"[Loaded from src/deep/CLAUDE.md]\ndeep\n" + END)
        os.unlink(self.session.path("src/deep/CLAUDE.md"))
        self.session.seen("forget", "--session", "test", "--all")
        self.wait_for(ROOT + SRC + END)
        os.rename(self.session.path("src/AGENTS.md"), self.session.path("src/AGENTS.txt"))
        self.session.seen("forget", "--session", "test", "--all")
        self.wait_for(ROOT + END)
        os.rename(self.session.path("src/AGENTS.txt"), self.session.path("src/deep/GEMINI.md"))
        self.wait_for(b"[Loaded from src/deep/GEMINI.md]\nsrc rules\n" + END)

    def test_directories(self):
        self.shell("cat src/deep/f")
        os.mkdir(self.session.path("src/new"))
        os.mkdir(self.session.path("src/new/sub"))
        self.session.write("src/new/sub/AGENTS.md", b"sub\n")
        data = self.session.write("src/new/sub/f", lines("f2"))
        wait_until(lambda: self.shell("cat src/new/sub/f") == b"[Loaded from src/new/sub/AGENTS.md]\nsub\n" + END + data or
                   self.session.seen("forget", "--session", "test", "src/new/sub/f") is None)
        os.rename(self.session.path("src/new"), self.session.path("moved"))
        self.session.seen("forget", "--session", "test", "--all")
        wait_until(lambda: self.shell("cat moved/sub/f") == ROOT + b"[Loaded from moved/sub/AGENTS.md]\nsub\n" + END + data or
                   self.session.seen("forget", "--session", "test", "--all") is None)

    def test_without_a_watcher(self):
        agent = self.session.agent(*self.options, "--watch", "off")
        self.addCleanup(agent.close)
        self.assertEqual(self.shell("cat src/deep/f", agent=agent), ROOT + SRC + END + self.data)
        self.session.write("src/deep/CLAUDE.md", b"deep\n")
        self.session.write("src/deep/g", self.data)
        self.assertEqual(self.shell("cat src/deep/g", agent=agent), b"[Loaded from src/deep/CLAUDE.md]\ndeep\n" + END + self.data)



if __name__ == "__main__":
    unittest.main()

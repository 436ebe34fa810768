"""The sink rule: a notice goes to the capture and nowhere else, for every kind of output that agents use."""

import base64
import os
import shutil
import subprocess
import sys
import unittest

from harness import NOTICE, VIA, SessionTest, lines, wait_until

SINKS = ["pipe", "socket", "pty", "spool"]
SHELLS = [("bash", "-c"), ("bash", "-lc"), ("sh", "-c"), ("dash", "-c"), ("bash", "--norc", "-c")]


class SinkTest(SessionTest):
    spools = True

    def sink(self, kind, name="out"):
        if kind == "spool":
            self.count = getattr(self, "count", 0) + 1
            return "spool:" + os.path.join(self.session.spool, "%s.%d" % (name, self.count))
        return kind


class Notices(SinkTest):
    def test_every_sink_and_shell(self):
        for kind in SINKS:
            for number, shell in enumerate(SHELLS):
                name = "%s%d" % (kind, number)
                data = self.session.write(name, lines(name))
                with self.subTest(sink=kind, shell=shell):
                    self.assertReal(self.agent.shell("cat " + name, self.sink(kind), shell), data)
                    self.assertNotice(self.agent.shell("cat " + name, self.sink(kind), shell), name)

    def test_ways_to_run_cat(self):
        for number, command in enumerate([
                "cat {}", "cat ./{}", "cat -- {}", "echo {} | xargs cat", "find . -name {} -exec cat {{}} +",
                "find . -name {} -exec cat {{}} \\;", "bash -c 'cat {}'", "sh -c 'sh -c \"cat {}\"'", "(cat {})",
                "true && cat {}", "env cat {}", "nice cat {}", "timeout 20 cat {}", "if true; then cat {}; fi",
                "eval 'cat {}' < /dev/null", "cd . && cat {}", "command cat {}", "exec cat {}", "f() {{ cat {}; }}; f"]):
            name = "way%d" % number
            data = self.deliver(name)
            with self.subTest(command=command):
                output = self.agent.shell(command.format(name))
                self.assertNotice(output)
                del data

    def test_one_known_one_new(self):
        known = self.deliver("known")
        new = self.session.write("new", lines("new"))
        output = self.agent.shell("cat known new")
        self.assertTrue(output.startswith(NOTICE + b"known"))
        self.assertTrue(output.endswith(b"\n" + new))
        self.assertNotIn(known, output)
        output = self.agent.shell("cat new")
        self.assertNotice(output, "new")

    def test_text_of_the_notice(self):
        self.session.write("f\tg", b"x" * 599 + b"\nlast")
        self.agent.shell("cat 'f\tg'")
        output = self.agent.shell("cat 'f\tg'").decode()
        self.assertRegex(output, r"^\[File previously read: f\\tg\. Content unchanged since last read\. If it is not in "
                                 r"your context, repeat the same command to get it in full\. \(2 lines, 604 bytes, "
                                 r"version [0-9a-f]{12}, seen-[0-9a-f]{16}\)\]\n$")

    def test_long_lived_shell(self):
        for kind, argv in [("pipe", ["bash"]), ("pipe", ["bash", "--noprofile", "-s"]), ("pty", ["bash", "--norc", "-i"]), ("pipe", ["dash"])]:
            name = "long-%s-%d" % (kind, len(argv))
            name += argv[0]
            data = self.session.write(name, lines(name))
            with self.subTest(kind=kind, argv=argv):
                shell = self.agent.ask(do="open_shell", kind=kind, argv=argv)["shell"]
                tell = lambda command: base64.b64decode(self.agent.ask(do="tell", shell=shell, command=command)["output"])
                tell("PS1=; PS2=")
                self.assertReal(tell("cat " + name), data)
                self.assertNotice(tell("cat " + name), name)
                self.assertEqual(tell("cat %s | wc -c" % name).strip(), b"%d" % len(data))
                tell("cat %s | gzip > %s.gz &" % (name, name))
                wait_until(lambda: self.unzipped(name) == data)
                tell("exec 3>&1 > %s.copy; cat %s; exec 1>&3" % (name, name))
                self.assertEqual(self.session.read(name + ".copy"), data)
                self.agent.ask(do="close_shell", shell=shell)

    def unzipped(self, name):
        result = subprocess.run(["gzip", "-dc", self.session.path(name + ".gz")], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        return result.stdout

    def test_ways_to_start_a_shell(self):
        for way in ("fork_run", "spawn_run"):
            data = self.session.write(way, lines(way))
            with self.subTest(way=way):
                run = lambda: base64.b64decode(self.agent.ask(do=way, argv=["bash", "-c", "cat " + way])["output"])
                self.assertReal(run(), data)
                if way == "fork_run":  # the fork may be one that has a conversation of its own
                    self.assertReal(run(), data)
                else:
                    self.assertNotice(run(), way)

    def test_saved_environment(self):
        """An environment saved by one command and restored for every later one holds a stale ticket."""
        self.agent.shell("export -p > ../snapshot")
        data = self.session.write("f", lines("f"))
        command = "source ../snapshot && eval 'cat f' < /dev/null && pwd -P >| ../cwd"
        self.assertReal(self.agent.shell(command), data)
        self.assertNotice(self.agent.shell(command), "f")
        self.assertEqual(self.agent.shell("source ../snapshot; cat f > g; cmp f g && echo same"), b"same\n")

    def test_hard_link_and_longer_path(self):
        self.deliver("f")
        os.link(self.session.path("f"), self.session.path("g"))
        os.symlink("f", self.session.path("h"))
        os.mkdir(self.session.path("folder"))
        self.assertNotice(self.agent.shell("cat g"), "g")
        self.agent.shell("head -1 f;" * 12)
        self.assertNotice(self.agent.shell("cat folder/../f"), "folder/../f")
        self.agent.shell("head -1 f;" * 25)
        self.assertNotice(self.agent.shell("cat h"), "h")


class RealBytes(SinkTest):
    """Each of these once put a notice where none may be."""

    def test_other_sinks(self):
        data = self.deliver("f")
        for command, expected in [
                ("cat f | wc -c", b"%d\n" % len(data)),
                ("cat f | cat", data),
                ("cat f > g; cat g | cat", data),
                ("cat f >> h; cat h | cat", data),
                ("cat f | tee i | cksum > /dev/null; cat i | cat", data),
                ("x=$(cat f); printf '%s\\n' \"$x\"", data),
                ("printf '%s\\n' \"$(bash -c 'cat f')\"", data),
                ("printf '%s\\n' \"`cat f`\"", data),
                ("diff <(cat f) f && echo same", b"same\n"),
                ("cat < f", data),
                ("cat - < f", data),
                ("while read -r l; do printf '%s\\n' \"$l\"; done < <(cat f)", data),
                ("cat f > /dev/null; echo", b"\n"),
                ("cat f 2>&1 | sort -c; cat f | tail -n +1", data),
                ("python3 -c 'import subprocess,sys; sys.stdout.write(subprocess.check_output([\"cat\",\"f\"]).decode())'", data),
                ("perl -e 'print `cat f`'", data),
                ("awk 'BEGIN { while ((\"cat f\" | getline l) > 0) print l }'", data)]:
            with self.subTest(command=command):
                self.assertReal(self.agent.shell(command), expected)
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_background_and_orphans(self):
        data = self.deliver("f")
        self.agent.shell("cat f | gzip > g.gz &")
        wait_until(lambda: self.zipped("g.gz") == data)
        self.agent.shell("(sleep 0.3; cat f > late) > /dev/null 2>&1 &")
        wait_until(lambda: os.path.exists(self.session.path("late")) and self.session.read("late") == data)
        # an orphan that still holds the capture: it is unknown whether the agent still reads it
        self.agent.shell("setsid sh -c '(sleep 0.5; cat f > orphan; cat f) &' > ../out 2>&1; sleep 0.1", "null")
        wait_until(lambda: os.path.exists(self.session.path("orphan")) and self.session.read("orphan") == data)

    def zipped(self, name):
        return subprocess.run(["gzip", "-dc", self.session.path(name)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout

    def test_agent_starts_cat_itself(self):
        data = self.deliver("f")
        for _ in range(3):
            self.assertReal(self.agent.run(["cat", "f"]), data)
            self.assertReal(self.agent.run(["env", "cat", "f"]), data)

    def test_shell_behind_a_tool(self):
        """The agent starts a tool that starts a shell: its output is the tool's business, unless it passes on what the agent asked for."""
        data = self.deliver("f")
        code = "import subprocess, sys; sys.stdout.buffer.write(subprocess.run(['bash', '-c', 'cat f'], stdout=%s).stdout or b'')"
        for tool in (code % "subprocess.PIPE", code % "None"):  # by the agent's own interpreter, too
            for _ in range(2):
                self.assertReal(self.agent.run([sys.executable, "-c", tool]), data)
        for number, launcher in enumerate((["env"], ["timeout", "20"], ["env", "nice", "timeout", "20"])):
            name = "passed%d" % number
            self.deliver(name)
            self.assertNotice(self.agent.run([*launcher, "bash", "-c", "cat " + name]), name)

    def test_inherited_output(self):
        data = self.deliver("f")
        for _ in range(2):
            self.agent.shell("cat f", "inherit")
            self.agent.shell("cat f", "stderr")
        self.agent.close()
        agent, self._agent = self._agent, None
        self.assertEqual(agent.process.returncode, 0)
        del data

    def test_output_that_is_no_capture(self):
        data = self.deliver("f")
        self.agent.shell("cat f; cat f > copy", "null")
        self.assertEqual(self.session.read("copy"), data)
        for _ in range(2):
            self.assertReal(self.agent.shell("cat f", "file:" + os.path.join(self.session.spool, "plain")), data)
            self.assertReal(self.agent.shell("cat f", "spool:" + self.session.path("inside")), data)
            os.unlink(self.session.path("inside"))

    def test_deleted_spool_file(self):
        data = self.deliver("f")
        spool = "spool:" + os.path.join(self.session.spool, "gone")
        self.assertNotice(self.agent.shell("cat f", spool, unlink=True), "f")  # only the agent has it
        # deleted, and the inode's number given to a file of the workspace's neighbourhood
        command = "rm -f {0}; cat f > {1}".format(os.path.join(self.session.spool, "again"), os.path.join(self.session.spool, "victim"))
        self.agent.shell(command, "spool:" + os.path.join(self.session.spool, "again"))
        with open(os.path.join(self.session.spool, "victim"), "rb") as file:
            self.assertEqual(file.read(), data)

    def test_programs_that_only_resemble_readers(self):
        data = self.deliver("f")
        first = data.split(b"\n")[0] + b"\n"
        self.assertReal(self.agent.shell("sed -n 1p f"), first)
        self.assertReal(self.agent.shell("head -1 f"), first)
        self.assertReal(self.agent.shell("grep -c line f"), b"100\n")
        self.assertReal(self.agent.shell("wc -l < f"), b"100\n")
        self.assertReal(self.agent.shell("cat -n f | head -1; cat -A f | wc -l | tr -d ' '").split(b"\n")[1] + b"\n", b"100\n")
        self.agent.shell("cp f c1; sed -n 'w c2' f; uniq f c3; sort -o c4 f; dd if=f of=c5 status=none; install f c6; tar cf - f | tar xOf - > c7;"
                         " tac f | tac > c8; awk 1 f > c9; perl -ne print f > c10; python3 -c 'import shutil; shutil.copy(\"f\", \"c11\")';"
                         " rsync f c12 2>/dev/null || cp f c12; cp f c13; sed -i s/nothing/else/ c13; ln f c14")
        for number in range(1, 15):
            with self.subTest(copy=number):
                self.assertEqual(sorted(self.session.read("c%d" % number).split(b"\n")), sorted(data.split(b"\n")))
        output = self.agent.shell("timeout 0.5 tail -f f")
        self.assertReal(output, b"".join(line + b"\n" for line in data.split(b"\n")[-11:-1]))
        self.agent.shell("git init -q . && git add f && git -c user.name=t -c user.email=t@t commit -qm x")
        self.assertEqual(self.agent.shell("git show HEAD:f | cmp - f && echo same"), b"same\n")
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_disguised_viewer(self):
        data = self.deliver("f")
        shutil.copy("/bin/sed", self.session.path("cat"))
        self.assertReal(self.agent.shell("(exec -a cat sed -n 1p f)"), data.split(b"\n")[0] + b"\n")
        # a program of the workspace that is called cat
        with open(self.session.path("cat"), "w") as file:
            file.write("#!/bin/sh\ncp f copied-by-cat\n")
        os.chmod(self.session.path("cat"), 0o755)
        self.agent.shell("PATH=.:$PATH cat f")
        self.assertEqual(self.session.read("copied-by-cat"), data)
        shutil.copy("/bin/cat", self.session.path("cat"))
        self.assertReal(self.agent.shell("./cat f"), data)

    def test_twice_in_one_process(self):
        data = self.session.write("f", lines("f"))
        self.assertReal(self.agent.shell("cat f f"), data + data)

    def test_nothing_received(self):
        data = self.session.write("f", lines("f"))
        self.agent.shell("cat f | true; cat f > /dev/full; cat f >&-; (cat f & kill -9 $!) > /dev/null")
        self.assertReal(self.agent.shell("cat f"), data)
        self.session.write("big", lines("big", 700))
        self.agent.shell("cat big missing 2>/dev/null")  # status 1: nothing of it counts
        self.assertReal(self.agent.shell("cat big"), self.session.read("big"))

    def test_limit_of_a_command(self):
        a, b, c = (self.session.write(name, lines(name, 400)) for name in ("a", "b", "c"))
        self.assertLess(len(a + b), 24000)
        self.assertGreater(len(a + b + c), 24000)
        self.assertReal(self.agent.shell("cat a; cat b; cat c"), a + b + c)
        for name, data in (("a", a), ("b", b), ("c", c)):
            self.assertReal(self.agent.shell("cat " + name), data)
            self.assertNotice(self.agent.shell("cat " + name), name)

    def test_everything_counts_towards_the_limit(self):
        """Agents cut a command's output, whichever program printed it: readers, tools, the shell itself."""
        self.session.write("big", lines("big", 2000))
        for number, command in enumerate((
                "cat {0}; grep big big", "grep big big; cat {0}", "seq 1 30000; cat {0}; true", "cat {0}; seq 1 30000",
                "cat {0}; for i in $(seq 1 4000); do echo line $i of the output; done", "cat {0}; (seq 1 30000); :",
                "cat {0}; mkfifo p.$$; timeout -s KILL 0.5 grep -h big big p.$$; :", "cat {0}; python3 -c 'print(\"x\" * 30000)'")):
            name = "limit%d" % number
            for sink in ("pipe", "spool"):
                with self.subTest(command=command, sink=sink):
                    data = self.session.write(name + sink, lines(name + sink))
                    self.assertIn(data, self.agent.shell(command.format(name + sink), self.sink(sink)))
                    self.assertReal(self.agent.shell("cat " + name + sink, self.sink(sink)), data)
                    self.assertNotice(self.agent.shell("cat " + name + sink, self.sink(sink)))
        self.deliver("small")
        self.assertNotice(self.agent.shell("cat small; seq 1 30000").split(b"]\n")[0] + b"]\n")

    def test_killed_command(self):
        """It is unknown what a shell that was killed had printed."""
        data = self.session.write("f", lines("f"))
        self.agent.shell("cat f; kill -9 $$")
        self.assertReal(self.agent.shell("cat f"), data)
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_scripts_with_an_agents_name(self):
        data = self.deliver("f")
        self.session.write("pi.py", b"import subprocess\nopen('copy', 'wb').write(subprocess.check_output('cat f', shell=True))\n")
        self.session.write("q", b"#!/bin/sh\nx=$(sh -c 'cat f'); printf '%s\\n' \"$x\" > copy\n")
        os.chmod(self.session.path("q"), 0o755)
        for command in ("python3 pi.py", "python3 $PWD/pi.py", "./q", "$PWD/q"):
            for _ in range(2):
                self.agent.shell(command)
                self.assertEqual(self.session.read("copy"), data, command)

    def test_spool_file_with_another_name(self):
        data = self.deliver("f")
        spool = os.path.join(self.session.spool, "linked")
        self.agent.shell("ln %s linked; cat f" % spool, "spool:" + spool)
        self.assertEqual(self.session.read("linked"), data)

    def test_subreaper(self):
        """An orphan of a command that an agent takes in: its output was not part of the command's."""
        data = self.session.write("f", lines("f"))
        self.agent.ask(do="subreaper")
        self.agent.shell("(sleep 0.3; cat f; touch done) & exit 0", self.sink("spool"))
        wait_until(lambda: os.path.exists(self.session.path("done")))
        self.assertReal(self.agent.shell("cat f"), data)

    def test_sub_agent(self):
        """An agent that starts an agent: another scope."""
        data = self.deliver("f")
        code = ("import subprocess as s; run = lambda: s.run(['bash','-c','cat f'],stdout=s.PIPE).stdout; "
                "a, b = run(), run(); import sys; sys.stdout.buffer.write(b'%d %d' % (len(a), b.startswith(b'[File')))")
        script = os.path.join(self.session.directory, "fake_agent_child.py")
        with open(script, "w") as file:
            file.write(code)
        output = self.agent.shell("python3 %s" % script)
        self.assertEqual(output, b"%d 0" % len(data))  # not in the list of agents: below it, the outer one's shell
        os.rename(script, os.path.join(self.session.directory, "claude.py"))
        output = self.agent.shell("python3 %s" % os.path.join(self.session.directory, "claude.py"))
        self.assertEqual(output, b"%d 1" % len(data))  # its own first read is real, its second a notice
        self.assertNotice(self.agent.shell("cat f"), "f")

    @unittest.skipUnless(shutil.which("bwrap"), "bubblewrap is not installed")
    def test_bwrap(self):
        data = self.deliver("f")
        probe = subprocess.run(["bwrap", "--bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"], stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("bwrap does not work here: %r" % probe.stderr)
        for words in (["--proc", "/proc"], [], ["--dev", "/dev"]):
            bwrap = "bwrap --bind / / --unshare-pid %s" % " ".join(words)
            if VIA != "preload":  # the supervisor inspects from the outermost namespace: bwrap is a tool as others are
                self.assertNotice(self.agent.shell(bwrap + " cat f"), "f")
            for _ in range(2):  # in the window of insistence, there
                self.assertReal(self.agent.shell(bwrap + " cat f"), data)
                self.assertReal(self.agent.shell(bwrap + " bash -c 'cat f; true'"), data)
                self.assertReal(self.agent.run([*bwrap.split(), "bash", "-c", "cat f"]), data)
            self.agent.shell("head -1 f;" * 25)


class Changes(SinkTest):
    """After a change the next read is the real bytes; after none, a notice."""

    def after(self, change, name="f", data=None):
        before = self.deliver(name, data)
        change(before)
        return self.session.read(name)

    def test_changes(self):
        path = self.session.path

        def same_size_and_times(before):
            stat = os.stat(path("f1"))
            self.session.write("f1", before.replace(b"line 5", b"LINE 5"))
            os.utime(path("f1"), ns=(stat.st_atime_ns, stat.st_mtime_ns))

        def through_a_mapping(before):
            import mmap
            with open(path("f2"), "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
                stat = os.stat(path("f2"))
                mapping[0:4] = b"XXXX"
                mapping.flush()
            os.utime(path("f2"), ns=(stat.st_atime_ns, stat.st_mtime_ns))

        def rename_over(before):
            self.session.write("new", lines("other"))
            os.rename(path("new"), path("f3"))

        def create_again(before):
            os.unlink(path("f4"))
            self.session.write("f4", lines("again"))

        def by_the_agent(before):
            self.agent.shell("echo one more >> f5")

        def sed_in_place(before):
            self.agent.shell("sed -i 's/line 7 /LINE 7 /' f6")

        for number, change in enumerate((same_size_and_times, through_a_mapping, rename_over, create_again, by_the_agent, sed_in_place), 1):
            name = "f%d" % number
            with self.subTest(change=change.__name__):
                now = self.after(change, name)
                self.assertReal(self.agent.shell("cat " + name), now)
                self.assertNotice(self.agent.shell("cat " + name), name)

    def test_git_checkout(self):
        git = "git -c user.name=t -c user.email=t@t "
        first = self.session.write("f", lines("first"))
        self.agent.shell(git + "init -q .; " + git + "add f; " + git + "commit -qm 1")
        second = self.session.write("f", lines("second"))
        self.assertReal(self.agent.shell("cat f"), second)
        self.agent.shell("git checkout -q f")
        self.assertReal(self.agent.shell("cat f"), first)
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_no_changes(self):
        for number, change in enumerate((
                lambda name, data: os.utime(self.session.path(name)),
                lambda name, data: self.session.write(name, data),
                lambda name, data: (self.session.write("t", data), os.rename(self.session.path("t"), self.session.path(name))),
                lambda name, data: (self.session.write(name, b"other"), self.session.write(name, data)),
                lambda name, data: os.chmod(self.session.path(name), 0o600))):
            name = "same%d" % number
            data = self.deliver(name)
            change(name, data)
            with self.subTest(number=number):
                self.assertNotice(self.agent.shell("cat " + name), name)

    def test_invalidated(self):
        data = self.deliver("f")
        self.session.seen("forget", "--session", "test", "f")
        self.assertReal(self.agent.shell("cat f"), data)
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.session.seen("forget", "--session", "test", "--all")
        self.assertReal(self.agent.shell("cat f"), data)

    def test_part_is_not_the_whole(self):
        data = self.session.write("f", lines("f"))
        self.agent.shell("head -5 f; sed -n 1,98p f; grep line f; wc f; tail -n 1 f")  # line 99 by grep alone
        self.assertReal(self.agent.shell("cat f"), data)

    def test_changed_while_read(self):
        data = self.session.write("f", lines("f", 2000))
        # no process reads the pipe at first: cat waits in the middle while the file changes
        self.agent.shell("(cat f; true) | (sleep 0.3; cat > /dev/null) & sleep 0.1; echo more >> f; wait")
        self.assertReal(self.agent.shell("cat f"), data + b"more\n")


if __name__ == "__main__":
    unittest.main()

"""The watcher's modes, the checkpoint command, and what is dropped: the rest of test_watch.py."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

from harness import RUN, Session, VIA, lines, wait_until
from test_watch import QUIET, Watched, the_watcher_alone


@the_watcher_alone
class Modes(Watched):
    shared = False

    def start_run(self, *options, **environment):
        self._agent = self.session.agent(*QUIET, *options, environment=environment)
        agent = self._agent
        self.addCleanup(agent.close)

    def test_left_out(self):
        names = ["node_modules/a", "deep/node_modules/x/a", ".git/a", "dist/a", "mine/a"]
        self.start_run(SEEN_WATCH_EXCLUDE="/mine")
        self.deliver_files("a", *names)
        for name in names + ["a"]:
            self.write(name, lines("other"))
            self.write(name + ".new", lines("new"))
        self.expect(("a", "changed"), ("a.new", "added"))

    def test_poll(self):
        self.start_run("--watch", "poll")
        self.deliver_files("a", "b", "below/c")
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.write("a", lines("new"))
        os.unlink(self.path("b"))
        shutil.rmtree(self.path("below"))
        self.expect(("a", "changed"), ("b", "deleted"), ("below/c", "deleted"))

    def test_off(self):
        self.start_run("--watch", "off")
        self.write("a", lines("a"))
        self.shell("cat a")
        self.write("a", lines("new"))
        time.sleep(0.7)
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.assertEqual(self.changes(), [])

    def test_descriptors(self):
        """One, made with the first file, and not inherited."""
        self.agent.shell("true")
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.deliver_files("a")
        self.assertEqual(len(inotify_descriptors(self.agent.process.pid)), 1)
        output = self.agent.shell("ls -l /proc/self/fd")
        self.assertNotIn(b"inotify", output)
        self.assertNotIn(b"signalfd", output)

    def test_runs(self):
        """What was changed right before a run ends is reported, and before the next one; by two at once, once."""
        self.start_run()
        self.deliver_files("a", "b", "c", "d")
        self.write("d", lines("late"))
        self.assertEqual(self.stop(), "")
        self.assertEqual(self.changes(), [("d", "changed")])
        self.write("a", lines("new"))
        os.unlink(self.path("b"))
        self.start_run()
        reported = [("d", "changed"), ("a", "changed"), ("b", "deleted")]
        self.expect(*reported)
        self.stop()
        self.start_run()
        self.expect(*reported)
        other = self.session.agent(*QUIET)
        self.addCleanup(other.close)
        other.shell("cat c")
        self.pass_by()
        self.write("c", lines("new"))
        self.expect(*reported, ("c", "changed"))

    def test_workspace_goes(self):
        self.deliver_files("a", "below/b")
        os.rename(self.session.workspace, self.session.workspace + ".away")
        time.sleep(0.5)
        os.rename(self.session.workspace + ".away", self.session.workspace)
        self.pass_by()
        reported = self.changes()
        self.write("below/b", lines("new"))
        self.expect(*reported, ("below/b", "changed"))

    @unittest.skipIf(VIA != "preload", "the supervisor sees it")
    def test_unobserved(self):
        """While an unobserved process lives, or lived when it was changed, the cause is unknown."""
        source, program = os.path.join(self.session.directory, "writer.c"), os.path.join(self.session.directory, "writer")
        with open(source, "w") as file:
            file.write("#include <fcntl.h>\n#include <unistd.h>\nint main(int argc, char **argv)\n{\n"
                       "\tchar bytes[8];\n\tint fd;\n\tif (argc < 2)\n\t\treturn read(0, bytes, 8) < 0;\n"
                       "\tfd = open(argv[1], O_WRONLY | O_TRUNC);\n\treturn write(fd, \"static\", 6) != 6;\n}\n")
        if not shutil.which("cc") or subprocess.run(["cc", "-static", "-o", program, source], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no static program")
        self.deliver_files("a", "b", "c")
        self.write("c", lines("user"))
        self.expect(("c", "changed"))
        self.shell(program + " a")
        self.expect(("c", "changed"), ("a", "changed"))
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        fifo = os.path.join(self.session.directory, "fifo")
        os.mkfifo(fifo)
        self.agent.ask(do="tell", shell=shell, command="%s < %s > /dev/null &" % (program, fifo))
        with open(fifo, "wb"):
            time.sleep(0.7)  # it is no longer taken for one that only starts
            self.write("b", lines("new"))
            self.expect(("c", "changed"), ("a", "changed"), ("b", "changed"))
        self.assertEqual([record["source"] for record in self.records()], ["user_edited", "unattributed", "unattributed"])


@the_watcher_alone
class Checkpoint(Watched):
    shared = False

    def setUp(self):
        super().setUp()
        self.reported = os.path.join(self.session.directory, "told")
        self.script = os.path.join(self.session.directory, "checkpoint")

    def start_run(self, script, quiet_ms=300):
        with open(self.script, "w") as file:
            file.write(script)
        self._agent = self.session.agent(*QUIET, environment={"SEEN_CHECKPOINT_COMMAND": "sh %s" % self.script,
                                                              "SEEN_CHECKPOINT_QUIET_MS": str(quiet_ms)})

    def deliver_files(self, *names):
        for name in names:
            self.deliver(name)

    def lists(self):
        try:
            with open(self.reported) as file:
                return [sorted(part.split()) for part in file.read().split("--\n") if part]
        except FileNotFoundError:
            return []

    def test_reported(self):
        self.start_run("cat >> %s; echo -- >> %s; pwd > %s.at; env > %s.env" % ((self.reported,) * 4))
        self.deliver_files("a", "b")
        self.agent.shell("echo x >> a; mkdir below; echo new > below/c")
        wait_until(lambda: self.lists())
        self.agent.shell("echo y >> b")
        wait_until(lambda: len(self.lists()) == 2)
        time.sleep(0.5)
        self.assertEqual(self.lists()[1], ["b"])
        self.assertIn("a", self.lists()[0])
        self.assertIn("below/c", self.lists()[0])
        # once more at the end, for what was not told
        self.agent.shell("echo z >> a")
        errors = self.stop()
        self.assertEqual(self.lists()[2:], [["a"]])
        self.assertEqual(errors, "")
        with open(self.reported + ".at") as file:
            self.assertEqual(file.read().strip(), self.session.workspace)
        with open(self.reported + ".env") as file:
            text = file.read()
        self.assertNotIn("LD_PRELOAD", text)
        self.assertNotIn("SEEN_P=", text)
        self.assertIn("SEEN_SESSION=", text)

    def test_never_two(self):
        self.start_run("cat > /dev/null; echo begin >> {0}; sleep 0.2; echo end >> {0}".format(self.reported), 20)
        self.deliver_files("a")
        for i in range(10):
            self.agent.shell("echo %d >> a" % i)
            time.sleep(0.08)
        self.stop()
        with open(self.reported) as file:
            words = file.read().split()
        self.assertGreaterEqual(len(words), 4)
        self.assertEqual(words, ["begin", "end"] * (len(words) // 2))

    def test_not_of_the_session(self):
        """What it changes is an external change; what it reads is not the agent's."""
        self.start_run("cat > /dev/null; seq 1 77 > b", 50)
        self.deliver_files("a", "b")
        self.agent.shell("echo x >> a")
        wait_until(self.changes)
        self.assertEqual(self.stop(), "")
        self.assertEqual(self.changes(), [("b", "changed")])

    def test_failures(self):
        self.start_run("exit 3", 50)
        self.deliver_files("a")
        self.agent.shell("echo x >> a")
        self.assertEqual(self.stop(), "seen: the checkpoint command ended with status 3\n")

    def test_not_by_the_workspace(self):
        with open(self.session.path("seen.ini"), "w") as file:
            file.write("[checkpoint]\ncommand = touch %s\nquiet_ms = 10\n" % self.reported)
        self.deliver_files("a")
        self.agent.shell("echo x >> a")
        self.stop()
        self.assertFalse(os.path.exists(self.reported))

    def test_nothing_edited(self):
        self.start_run("echo ran > %s" % self.reported, 10)
        self.deliver_files("a")
        self.assertEqual(self.stop(), "")
        self.assertFalse(os.path.exists(self.reported))


def inotify_descriptors(pid):
    found = []
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (pid, name)) == "anon_inode:inotify":
                found.append(int(name))
        except OSError:
            pass
    return found


@the_watcher_alone
class Dropped(unittest.TestCase):
    """More files than the session's table has room for."""

    REWRITES = (
        "import os, sys, time\n"
        "for round_ in range(3):\n"
        "    for i in range(300):\n"
        "        path = 'd%d/f%d' % (i % 7, i)\n"
        "        os.makedirs(os.path.dirname(path), exist_ok=True)\n"
        "        if round_:\n"
        "            open(path).read()\n"
        "        with open(path, 'w') as file:\n"
        "            file.write('round %d of %d\\n' % (round_, i) * 5)\n"
        "    time.sleep(0.2)\n")

    def test_what_was_dropped_is_no_external_change(self):
        """One process rewrites files of its own: none of that is reported as an external change, and the end of the run says once what was dropped."""
        session = Session()
        self.addCleanup(session.close)
        with open(os.path.join(session.directory, "rewriter"), "w", encoding="ascii") as file:
            file.write(self.REWRITES)
        done = session.seen("run", "--counts", "--session", "many", "--agent", "rewriter", "-c", "session.files=128", "--", "python3", file.name)
        counters = json.loads(session.seen("status", "--json", "--session", "many").stdout)["counters"]
        self.assertEqual(counters["edits_outside"], 0, done.stderr)
        self.assertEqual(len(re.findall(rb": [\d,]{3,} files forgotten", done.stderr)), 1, done.stderr)


@the_watcher_alone
class Quick(unittest.TestCase):
    def test_a_run_that_tracks_nothing(self):
        session = Session()
        self.addCleanup(session.close)
        trace = shutil.which("strace")
        if not trace:
            self.skipTest("no strace")
        log = os.path.join(session.directory, "trace")
        subprocess.run([trace, "-o", log, "-e", "trace=inotify_init1,inotify_add_watch,signalfd4", *RUN, "--session", "s", "--", "/bin/true"],
                       env=session.environment, cwd=session.workspace, stdin=subprocess.DEVNULL, check=True)
        with open(log) as file:
            self.assertNotIn("inotify", file.read())


if __name__ == "__main__":
    unittest.main()

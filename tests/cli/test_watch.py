"""The watcher of `seen run`: changes from outside the session, and none that the session made."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from harness import RUN, SEEN, Session, SessionTest, VIA, lines, wait_until

SETTLED_S = 1.5  # after that, what is not reported is not going to be


class Watched(SessionTest):
    """An agent that was given files; `records` is what the journal says of changes."""

    sources = ("user_edited", "unattributed")

    def records(self, *ops):
        output = self.session.seen("log", "--json", "--session", "test").stdout
        found = [json.loads(line) for line in output.splitlines()]
        return [record for record in found if record["op"] in (ops or ("changed",)) and (record["op"] != "changed" or record["source"])]

    def changes(self):
        """(name, what became of it) of each change that was reported as the user's."""
        return [(os.path.relpath(record["path"], self.session.workspace), record["change"]) for record in self.records()
                if record["source"] in self.sources]

    def give(self, *names):
        """Has files given to the agent and waits until the watcher knows them."""
        for name in names:
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.deliver(name)
        time.sleep(0.7)  # the reads are old enough to be baselines, and were looked at
        if inotify_descriptors(self.agent.process.pid):
            wait_until(lambda: watches(self.agent.process.pid), 20)

    def expect(self, *changes):
        """Waits until exactly these were reported, and some time longer."""
        try:
            wait_until(lambda: len(self.changes()) >= len(changes), 20)
        except AssertionError:
            pass
        time.sleep(SETTLED_S)
        self.assertEqual(sorted(self.changes()), sorted(changes), self.records())

    def counted(self):
        return self.session.status()["counters"]["edits_outside"]


class Changes(Watched):
    def test_change(self):
        data = self.deliver("a")
        time.sleep(0.7)
        new = self.session.write("a", lines("new"))
        self.expect(("a", "changed"))
        [record] = self.records()
        self.assertEqual(record["source"], "user_edited")
        self.assertIsNone(record["process"])
        self.assertEqual(record["file"]["bytes"], len(new))
        self.assertNotEqual(record["file"]["before"], record["file"]["after"])
        self.assertNotEqual(data, new)
        self.assertEqual(self.counted(), 1)
        before = record["file"]["after"]
        self.session.write("a", lines("newer"))
        self.expect(("a", "changed"), ("a", "changed"))
        self.assertEqual(self.records()[1]["file"]["before"], before)

    def test_deleted_and_made_again(self):
        self.give("a")
        os.unlink(self.session.path("a"))
        self.expect(("a", "deleted"))
        self.session.write("a", lines("again"))
        self.expect(("a", "deleted"), ("a", "added"))
        self.session.write("a", lines("another"))
        self.expect(("a", "deleted"), ("a", "added"), ("a", "changed"))

    def test_added(self):
        self.session.write("old", lines("old"))
        self.give("a")
        self.session.write("new", lines("new"))
        self.expect(("new", "added"))
        # what is in no table is told once; what was there is not new
        self.session.write("new", lines("newer"))
        self.session.write("old.tmp", lines("older"))
        os.rename(self.session.path("old.tmp"), self.session.path("old"))
        os.mkdir(self.session.path("folder"))
        self.expect(("new", "added"))

    def test_rename_over(self):
        self.give("a")
        other = os.path.join(self.session.folder, "other")
        with open(other, "wb") as file:
            file.write(lines("other"))
        os.rename(other, self.session.path("a"))
        self.expect(("a", "changed"))
        # it is watched still
        self.session.write("a", lines("third"))
        self.expect(("a", "changed"), ("a", "changed"))

    def test_renamed_away(self):
        self.give("a")
        os.rename(self.session.path("a"), self.session.path("b"))
        self.expect(("a", "deleted"), ("b", "added"))

    def test_touch_and_equal_bytes(self):
        self.give("a")
        path, data = self.session.path("a"), self.session.read("a")
        os.utime(path)
        os.chmod(path, 0o600)
        self.session.write("a", data)
        shutil.copy(path, path + "~")
        os.rename(path + "~", path)
        self.expect()

    def test_changed_and_changed_back(self):
        self.give("a")
        data = self.session.read("a")
        self.session.write("a", lines("b"))
        self.session.write("a", data)
        self.expect()
        # and where the change was told: coming back is none
        self.session.write("a", lines("b"))
        self.expect(("a", "changed"))
        self.session.write("a", data)
        self.expect(("a", "changed"))

    def test_back_to_what_it_was_before_the_agent_wrote(self):
        self.give("a")
        data = self.session.read("a")
        self.agent.shell("printf 'x%.0s' $(seq 100) > a")
        time.sleep(0.5)
        self.session.write("a", data)
        self.expect(("a", "changed"))

    def test_line_endings_are_bytes(self):
        self.give("a")
        self.session.write("a", self.session.read("a").replace(b"\n", b"\r\n"))
        self.expect(("a", "changed"))

    def test_burst(self):
        self.give("a")
        with open(self.session.path("a"), "r+b", buffering=0) as file:
            for i in range(100):
                os.pwrite(file.fileno(), b"number %d" % i, 0)
                time.sleep(0.005)
        self.expect(("a", "changed"))
        self.assertEqual(self.counted(), 1)

    def test_editors(self):
        self.give("truncates", "renames", "vim")
        path = self.session.path

        def save(name, data):
            with open(path(name), "wb") as file:
                file.write(data[:10])
                file.flush()
                time.sleep(0.02)
                file.write(data[10:])

        save("truncates", lines("1"))
        save(".renames.tmp", lines("2"))
        os.rename(path(".renames.tmp"), path("renames"))
        # vim: tries whether it may make files here, then keeps the old file until the new one is written
        save("4913", b"x" * 20)
        os.unlink(path("4913"))
        os.rename(path("vim"), path("vim~"))
        save("vim", lines("3"))
        os.unlink(path("vim~"))
        self.expect(("truncates", "changed"), ("renames", "changed"), ("vim", "changed"))

    def test_folders(self):
        self.give("top/below/a", "top/below/b")
        path = self.session.path
        os.rename(path("top"), path("other"))
        self.expect(("top/below/a", "deleted"), ("top/below/b", "deleted"))
        os.rename(path("other"), path("top"))
        time.sleep(SETTLED_S)
        told = self.changes()  # they are back
        self.assertTrue(set(told) <= {("top/below/a", "deleted"), ("top/below/b", "deleted")}, told)
        self.session.write("top/below/a", lines("new"))
        self.expect(*told, ("top/below/a", "changed"))
        shutil.rmtree(path("top"))
        self.expect(*told, ("top/below/a", "changed"), ("top/below/a", "deleted"), ("top/below/b", "deleted"))
        os.makedirs(path("top/below"))
        self.session.write("top/below/b", lines("made again"))
        self.expect(*told, ("top/below/a", "changed"), ("top/below/a", "deleted"), ("top/below/b", "deleted"),
                    ("top/below/b", "added"))

    def test_left_out(self):
        names = ["node_modules/a", "deep/node_modules/x/a", ".git/a", "dist/a", "mine/a"]
        for name in names:
            os.makedirs(os.path.dirname(self.session.path(name)))
        self._agent = self.session.agent(environment={"SEEN_WATCH_EXCLUDE": "/mine"})
        self.addCleanup(self._agent.close)
        self.give("a", *names)
        for name in names + ["a"]:
            self.session.write(name, lines("other"))
            self.session.write(name + ".new", lines("new"))
        self.expect(("a", "changed"), ("a.new", "added"))

    def test_no_file(self):
        """What takes a file's place is not opened in a way that waits."""
        self.give("a", "b", "c")
        path = self.session.path
        for name in "abc":
            os.unlink(path(name))
        os.mkfifo(path("a"))
        os.mkdir(path("b"))
        os.symlink("c", path("c"))
        self.expect(("a", "deleted"), ("b", "deleted"), ("c", "deleted"))


class Own(Watched):
    """What the session does itself is never somebody else's."""

    if VIA == "supervise":
        sources = ("user_edited",)  # of two that write at once without the library one alone may be heard: nobody can tell

    WAYS = (
        "sed -i s/line/LINE/ {0}",
        "printf 'x%.0s' $(seq 100) > {0}",
        "echo more >> {0}",
        "python3 -c \"open('{0}', 'w').write('from python\\n' * 20)\"",
        "python3 -c \"import os; open('{0}.t', 'w').write('renamed\\n' * 20); os.replace('{0}.t', '{0}')\"",
        "python3 -c \"import mmap; f = open('{0}', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[:4] = b'mmap'; m.close(); f.close()\"",
        "seq 1 200 > {0}.new; mv {0}.new {0}",
        "seq 1 300 > {0}.new; cp {0}.new {0}; rm {0}.new",
        "seq 1 400 > {0}.new; install -m 644 {0}.new {0}; rm {0}.new",
        "truncate -s 10 {0}",
        "perl -pi -e 's/[a-z]/Q/' {0}",
        "(echo from; sleep 0.3; echo a child) > {0}",
        "exec 3>> {0}; echo one >&3; sh -c 'echo two >&3'; sleep 0.3; echo three >&3",
        "dd if=/dev/urandom of={0} bs=100 count=3",
        "rm {0}; seq 1 50 > {0}",
    )

    def test_ways(self):
        names = ["way%d" % i for i in range(len(self.WAYS))]
        self.give(*names)
        for name, way in zip(names, self.WAYS):
            before = self.session.read(name)
            self.agent.shell(way.format(name))
            self.assertNotEqual(before, self.session.read(name), way)
        self.agent.shell("rm way0; mv way1 moved; mkdir below; cp way2 below; mktemp -p . > /dev/null")
        self.expect()
        self.assertEqual(self.records(), [])
        self.assertEqual(self.counted(), 0)

    def test_git(self):
        run = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
            self.session.write("a", lines("one")), self.session.write("b", lines("one b"))
            subprocess.run([*run, *command], cwd=self.session.workspace, env=self.session.environment, check=True)
        self.session.write("a", lines("two")), self.session.write("b", lines("two b"))
        self.assertReal(self.agent.shell("cat a"), lines("two"))
        self.assertReal(self.agent.shell("cat b"), lines("two b"))
        time.sleep(0.7)
        self.agent.shell("git checkout -q a")
        self.assertEqual(self.session.read("a"), lines("one"))
        self.agent.shell("git stash -q; git stash pop -q")
        self.agent.shell("git checkout -q -b other; git -c user.name=t -c user.email=t@x commit -qam two; git checkout -q -")
        self.assertEqual(self.session.read("b"), lines("one b"))
        self.expect()
        # the user's, by the same means
        subprocess.run([*run, "checkout", "-q", "other"], cwd=self.session.workspace, env=self.session.environment, check=True)
        self.expect(("b", "changed"))

    def test_by_other_names(self):
        """By a link to a folder above, and by renaming the folder."""
        self.give("src/a", "src/b", "src/c")
        os.symlink("src", self.session.path("link"))
        time.sleep(SETTLED_S)
        told = self.changes()
        self.agent.shell("sed -i s/line/LINE/ link/a; echo x >> link/b; rm link/c")
        self.expect(*told)
        self.agent.shell("mv src there")
        self.expect(*told)
        self.agent.shell("mv there src; mkdir new; mv new/../src new; mv new src; mv src/src/* src")
        self.expect(*told)

    def test_killed_between(self):
        """A writer that was killed has written."""
        self.give("a")
        self.agent.shell("exec 3> a; echo half >&3; kill -9 $$")
        self.expect()
        wait_until(lambda: self.records("edited"), 10)
        [record] = self.records("edited")
        self.assertEqual(record["file"]["bytes"], 5)
        self.session.write("a", lines("user"))
        self.expect(("a", "changed"))

    def test_over_a_change(self):
        """A write over somebody else's change is the session's, all the same."""
        self.give("a")
        self.session.write("a", lines("user"))
        self.expect(("a", "changed"))
        self.agent.shell("echo mine >> a")
        self.expect(("a", "changed"))
        self.agent.shell("sed -i s/line/LINE/ a")
        self.expect(("a", "changed"))

    def test_stress(self):
        names = ["s%d" % i for i in range(4)]
        self.give(*names, "quiet")
        self.agent.shell("for w in 1 2 3 4; do (for i in $(seq 50); do n=s$((i %% 4)); case $((i %% 3)) in 0) echo $w $i >> $n;; 1) echo $w $i > $n;; "
                         "2) echo $w $i > t$w; mv t$w $n;; esac; done) & done; wait" % ())
        self.expect()
        # between own writes, somebody else's
        self.agent.ask(do="run", argv=["bash", "-c", "(for i in $(seq 200); do echo $i >> s0; sleep 0.01; done) > /dev/null 2>&1 &"], sink="null")
        time.sleep(0.3)
        self.session.write("quiet", lines("user"))
        self.expect(("quiet", "changed"))
        time.sleep(2)
        self.expect(("quiet", "changed"))

    def test_held_open(self):
        """One process of the session has it open, another one writes to it."""
        self.give("a")
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        self.agent.ask(do="tell", shell=shell, command="exec 4>> a")
        self.agent.shell("echo from another >> a")
        time.sleep(0.5)
        self.agent.ask(do="tell", shell=shell, command="echo late >&4")
        time.sleep(0.5)
        self.agent.shell("echo again >> a")
        self.agent.ask(do="tell", shell=shell, command="echo later >&4; exec 4>&-")
        self.expect()
        self.agent.ask(do="close_shell", shell=shell)
        self.session.write("a", lines("user"))
        self.expect(("a", "changed"))


class Limits(Watched):
    def limit(self, name, value):
        path = pathlib.Path("/proc/sys/fs/inotify", name)
        old = path.read_text()
        try:
            path.write_text(str(value))
        except OSError as error:
            self.skipTest("%s: %s" % (path, error))
        self.addCleanup(path.write_text, old)

    def test_overflow(self):
        self.limit("max_queued_events", 16)
        self.give("a", "b", "below/c")
        # it is stopped while the events come
        pid = self.agent.process.pid
        os.kill(pid, signal.SIGSTOP)
        for i in range(200):
            self.session.write("a", lines("%d" % i))
            self.session.write("b", lines("%d" % i))
        self.session.write("below/c", lines("last"))
        os.kill(pid, signal.SIGCONT)
        self.expect(("a", "changed"), ("b", "changed"), ("below/c", "changed"))
        self.session.write("below/c", lines("later"))
        self.expect(("a", "changed"), ("b", "changed"), ("below/c", "changed"), ("below/c", "changed"))

    def test_no_watches(self):
        self.give("before")
        self.limit("max_user_watches", 0)
        self.give("below/a")
        self.session.write("below/a", lines("new"))
        self.session.write("before", lines("new"))
        self.expect(("below/a", "changed"), ("before", "changed"))
        os.unlink(self.session.path("below/a"))
        self.expect(("below/a", "changed"), ("before", "changed"), ("below/a", "deleted"))
        self.agent.requests.close()
        errors = self.agent.process.communicate(timeout=30)[1].decode()
        self.assertEqual(errors.count("not all folders can be watched (the limit of inotify watches)"), 1, errors)

    def test_no_instances(self):
        self.limit("max_user_instances", 0)
        self.give("a")
        self.session.write("a", lines("new"))
        self.expect(("a", "changed"))


class Modes(Watched):
    def test_poll(self):
        self._agent = self.session.agent("--watch", "poll")
        self.addCleanup(self._agent.close)
        self.give("a", "b", "below/c")
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.session.write("a", lines("new"))
        os.unlink(self.session.path("b"))
        shutil.rmtree(self.session.path("below"))
        self.agent.shell("true")
        self.expect(("a", "changed"), ("b", "deleted"), ("below/c", "deleted"))

    def test_off(self):
        self._agent = self.session.agent("--watch", "off")
        self.addCleanup(self._agent.close)
        self.give("a")
        self.session.write("a", lines("new"))
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.expect()

    def test_descriptors(self):
        """One, made with the first file, and not inherited."""
        self.agent.shell("true")
        self.assertFalse(inotify_descriptors(self.agent.process.pid))
        self.give("a")
        self.assertEqual(len(inotify_descriptors(self.agent.process.pid)), 1)
        output = self.agent.shell("ls -l /proc/self/fd")
        self.assertNotIn(b"inotify", output)
        self.assertNotIn(b"signalfd", output)

    def test_at_the_end(self):
        """What was changed right before the run ends is reported, too."""
        self.give("a")
        self.session.write("a", lines("late"))
        self.agent.close()
        self._agent = None
        self.assertEqual(self.changes(), [("a", "changed")])

    def test_resume(self):
        self.give("a", "b", "c")
        self.agent.close()
        self._agent = None
        self.assertEqual(self.changes(), [])
        self.session.write("a", lines("new"))
        os.unlink(self.session.path("b"))
        self.agent.shell("true")
        self.expect(("a", "changed"), ("b", "deleted"))
        self.agent.close()
        self._agent = None
        self.agent.shell("true")  # and once only
        self.expect(("a", "changed"), ("b", "deleted"))

    def test_two_runs(self):
        """Two runs of one session report a change once."""
        self.give("a")
        other = self.session.agent()
        self.addCleanup(other.close)
        other.shell("cat a")
        time.sleep(0.7)
        self.session.write("a", lines("new"))
        self.expect(("a", "changed"))

    def test_workspace_goes(self):
        self.give("a", "below/b")
        os.rename(self.session.workspace, self.session.workspace + ".away")
        time.sleep(SETTLED_S)
        os.rename(self.session.workspace + ".away", self.session.workspace)
        time.sleep(SETTLED_S)
        told = self.changes()
        self.session.write("below/b", lines("new"))
        self.expect(*told, ("below/b", "changed"))

    @unittest.skipIf(VIA != "preload", "the supervisor sees it")
    def test_unobserved(self):
        """While a process lives that nobody observes, nobody can tell."""
        self.give("a")
        sleeper = os.path.join(os.environ["SEEN_BUILD"], "tests", "preload", "viewers", "reads", "cat")
        if not os.path.exists(sleeper):
            self.skipTest("no static program: no musl-gcc")
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        fifo = os.path.join(self.session.folder, "fifo")
        os.mkfifo(fifo)
        self.agent.ask(do="tell", shell=shell, command="%s %s > /dev/null &" % (sleeper, fifo))
        time.sleep(1)
        self.session.write("a", lines("new"))
        self.expect(("a", "changed"))
        self.assertEqual(self.records()[0]["source"], "unattributed")
        with open(fifo, "wb"):
            pass


class Checkpoint(Watched):
    def setUp(self):
        super().setUp()
        self.told = os.path.join(self.session.folder, "told")
        self.script = os.path.join(self.session.folder, "checkpoint")

    def begin(self, script, quiet_ms=300):
        with open(self.script, "w") as file:
            file.write(script)
        self._agent = self.session.agent(environment={"SEEN_CHECKPOINT_COMMAND": "sh %s" % self.script, "SEEN_CHECKPOINT_QUIET_MS": str(quiet_ms)})

    def lists(self):
        try:
            with open(self.told) as file:
                return [sorted(part.split()) for part in file.read().split("--\n") if part]
        except FileNotFoundError:
            return []

    def end(self):
        self.agent.requests.close()
        errors = self.agent.process.communicate(timeout=60)[1].decode()
        self.agent.answers.close()
        self._agent = None
        return errors

    def test_told(self):
        self.begin("cat >> %s; echo -- >> %s; pwd > %s.at; env > %s.env" % ((self.told,) * 4))
        self.give("a", "b")
        self.agent.shell("echo x >> a; mkdir below; echo new > below/c")
        wait_until(lambda: self.lists(), 10)
        self.agent.shell("echo y >> b")
        wait_until(lambda: len(self.lists()) == 2, 10)
        time.sleep(1)
        self.assertEqual(self.lists()[1], ["b"])
        self.assertIn("a", self.lists()[0])
        self.assertIn("below/c", self.lists()[0])
        # once more at the end, for what was not told
        self.agent.shell("echo z >> a")
        errors = self.end()
        self.assertEqual(self.lists()[2:], [["a"]])
        self.assertEqual(errors, "")
        with open(self.told + ".at") as file:
            self.assertEqual(file.read().strip(), self.session.workspace)
        with open(self.told + ".env") as file:
            text = file.read()
        self.assertNotIn("LD_PRELOAD", text)
        self.assertNotIn("SEEN_P=", text)
        self.assertIn("SEEN_SESSION=", text)

    def test_never_two(self):
        self.begin("cat > /dev/null; echo begin >> {0}; sleep 1; echo end >> {0}".format(self.told), 50)
        self.give("a")
        for i in range(12):
            self.agent.shell("echo %d >> a" % i)
            time.sleep(0.2)
        self.end()
        with open(self.told) as file:
            words = file.read().split()
        self.assertGreaterEqual(len(words), 4)
        self.assertEqual(words, ["begin", "end"] * (len(words) // 2))

    def test_not_of_the_session(self):
        """What it changes is somebody else's; what it reads is not the agent's."""
        self.begin("cat > /dev/null; seq 1 77 > b", 50)
        self.give("a", "b")
        self.agent.shell("echo x >> a")
        self.expect(("b", "changed"))
        self.assertEqual(self.end(), "")

    def test_failures(self):
        self.begin("exit 3", 50)
        self.give("a")
        self.agent.shell("echo x >> a")
        time.sleep(1)
        self.assertEqual(self.end(), "seen: the checkpoint command ended with status 3\n")

    def test_not_by_the_workspace(self):
        with open(self.session.path("seen.ini"), "w") as file:
            file.write("[checkpoint]\ncommand = touch %s\nquiet_ms = 10\n" % self.told)
        self.give("a")
        self.agent.shell("echo x >> a")
        time.sleep(0.5)
        self.end()
        self.assertFalse(os.path.exists(self.told))

    def test_nothing_edited(self):
        self.begin("echo ran > %s" % self.told, 10)
        self.give("a")
        self.assertEqual(self.end(), "")
        self.assertFalse(os.path.exists(self.told))


def inotify_descriptors(pid):
    found = []
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (pid, name)) == "anon_inode:inotify":
                found.append(int(name))
        except OSError:
            pass
    return found


def watches(pid):
    """Lines about the folders that are watched (proc(5), fdinfo)."""
    found = []
    for fd in inotify_descriptors(pid):
        with open("/proc/%d/fdinfo/%d" % (pid, fd)) as file:
            found += [line for line in file if line.startswith("inotify")]
    return found


class Quick(unittest.TestCase):
    def test_a_run_that_tracks_nothing(self):
        session = Session()
        self.addCleanup(session.close)
        trace = shutil.which("strace")
        if not trace:
            self.skipTest("no strace")
        log = os.path.join(session.folder, "trace")
        subprocess.run([trace, "-o", log, "-e", "trace=inotify_init1,inotify_add_watch,signalfd4", *RUN, "--session", "s", "--", "/bin/true"],
                       env=session.environment, cwd=session.workspace, stdin=subprocess.DEVNULL, check=True)
        with open(log) as file:
            self.assertNotIn("inotify", file.read())


if __name__ == "__main__":
    unittest.main()

"""The watcher of `seen run`: external changes, and none that the session made.

Tests of one class share a session, each in a directory of its own.  What is waited for is the report of a change to a file that
has nothing to do with the test: then all that was to be scanned before has been.  With SEEN_LONG there is more of some, and the times
are those of users.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import unittest

from harness import RUN, Session, SessionTest, VIA, lines, wait_until

LONG = bool(os.environ.get("SEEN_LONG"))
QUIET_MS = 100 if LONG else 30
QUIET = ("-c", "watch.quiet_ms=%d" % QUIET_MS)
OTHERS = ("user_edited", "unattributed")
EVERY_WAY_IN = VIA == "preload" or LONG
MARKER = "marker"

the_watcher_alone = unittest.skipUnless(EVERY_WAY_IN, "the same by every way in")


class Watched(SessionTest):
    """An agent that was given files."""

    options = QUIET
    shared = True  # by the tests of the class
    passes = 1     # until all is scanned that was left alone
    kept = None

    @classmethod
    def setUpClass(cls):
        cls.kept = cls.kept_agent = None
        if cls.shared:
            cls.kept = Session()
            cls.addClassCleanup(cls.kept.close)
            cls.kept_agent = cls.kept.agent(*cls.options)
            cls.addClassCleanup(cls.kept_agent.close)

    def setUp(self):
        self.directory = ""
        if not self.kept:
            super().setUp()
            return
        self.session, self._agent = self.kept, self.kept_agent
        self.directory = self.id().rsplit(".", 1)[-1]
        os.makedirs(self.path(), exist_ok=True)

    def path(self, name=""):
        return os.path.join(self.session.workspace, self.directory, name)

    def write(self, name, data):
        with self.asleep():  # or it may find the file empty
            with open(self.path(name), "wb") as file:
                file.write(data)
        return data

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def shell(self, command, **more):
        return self.agent.shell("cd '%s' || exit; %s" % (self.path(), command), **more)

    def log(self, *options):
        result = self.session.seen("log", "--json", "--session", "test", *options, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # 1: there is none
        return [record for record in map(json.loads, result.stdout.splitlines()) if record["op"] != "changed" or record["source"]]

    def records(self, op="changed"):
        """What the journal reports about changes to the test's own files."""
        marker = os.path.join(self.session.workspace, MARKER)
        return [record for record in self.log("--op", op) if record["path"] != marker and record["path"].startswith(self.path())]

    def changes(self):
        """(name, what became of it) of each change that was reported as external."""
        return [(os.path.relpath(record["path"], self.path()), record["change"]) for record in self.records() if record["source"] in OTHERS]

    def deliver_files(self, *names):
        """Has new files given to the agent and waits until the watcher knows them."""
        for name in names:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, lines(name, 30))
        self.shell("; ".join("cat '%s'" % name for name in names))
        self.pass_by()

    def pass_by(self, times=1):
        """Returns when the watcher has scanned all that was left alone before, and is not held up by the session."""
        marker = os.path.join(self.session.workspace, MARKER)

        def marks():
            return self.log("--op", "changed", "--path", MARKER, "--tail", "1")

        if not os.path.exists(marker):
            with open(marker, "wb") as file:
                file.write(lines(MARKER))
            self.agent.shell("cat " + marker)
            time.sleep(0.25)  # it is found in the table
        for _ in range(times):
            before = marks()
            with open(marker, "wb") as file:
                file.write(lines("%s %f" % (MARKER, time.monotonic())))
            wait_until(lambda: marks() != before, 30)

    def expect(self, *changes):
        """Exactly these were reported."""
        try:
            wait_until(lambda: len(self.changes()) >= len(changes))
        except AssertionError:
            pass
        self.pass_by(self.passes)
        self.assertEqual(sorted(self.changes()), sorted(changes), self.records())

    @contextlib.contextmanager
    def asleep(self):
        """The watcher scans nothing meanwhile, as if all that is done took no time."""
        processes = [self._agent.process] if self._agent else []
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                process.send_signal(signal.SIGCONT)

    def counted(self):
        return self.session.status()["counters"]["edits_outside"]

    def stop(self):
        """Ends the run; what it wrote to stderr."""
        agent, self._agent = self.agent, None
        agent.requests.close()
        errors = agent.process.communicate(timeout=60)[1].decode()
        agent.answers.close()
        return errors


@the_watcher_alone
class Changes(Watched):
    def test_change(self):
        self.deliver_files("a")
        counted = self.counted()
        new = self.write("a", lines("new"))
        wait_until(self.changes)
        [record] = self.records()
        self.assertEqual(record["source"], "user_edited")
        self.assertIsNone(record["process"])
        self.assertEqual(record["file"]["bytes"], len(new))
        self.assertNotEqual(record["file"]["before"], record["file"]["after"])
        self.assertEqual(self.counted(), counted + 1)
        self.write("a", lines("newer"))
        self.expect(("a", "changed"), ("a", "changed"))
        self.assertEqual(self.records()[1]["file"]["before"], record["file"]["after"])

    def test_deleted_and_made_again(self):
        self.deliver_files("a")
        os.unlink(self.path("a"))
        self.expect(("a", "deleted"))
        self.write("a", lines("again"))
        self.expect(("a", "deleted"), ("a", "added"))
        self.write("a", lines("another"))
        self.expect(("a", "deleted"), ("a", "added"), ("a", "changed"))

    def test_added(self):
        self.write("old", lines("old"))
        self.deliver_files("a")
        self.write("new", lines("new"))
        self.expect(("new", "added"))
        # what is in no table is reported once; what was there is not new
        self.write("new", lines("newer"))
        self.write("old.tmp", lines("older"))
        os.rename(self.path("old.tmp"), self.path("old"))
        os.mkdir(self.path("folder"))
        self.expect(("new", "added"))
        # once it was given it is one as any other
        self.shell("cat new")
        self.pass_by()
        self.write("new", lines("newest"))
        self.expect(("new", "added"), ("new", "changed"))

    def test_renamed(self):
        self.deliver_files("over", "away")
        other = os.path.join(self.session.directory, "other")
        with open(other, "wb") as file:
            file.write(lines("other"))
        os.rename(other, self.path("over"))
        os.rename(self.path("away"), self.path("b"))
        self.expect(("over", "changed"), ("away", "deleted"), ("b", "added"))
        # it is watched still
        self.write("over", lines("third"))
        self.expect(("over", "changed"), ("away", "deleted"), ("b", "added"), ("over", "changed"))

    def test_no_change(self):
        """Touched, written with equal bytes, replaced by a copy, changed and changed back."""
        self.deliver_files("a", "b", "c", "d")
        os.utime(self.path("a"))
        os.chmod(self.path("a"), 0o600)
        self.write("b", self.read("b"))
        shutil.copy(self.path("c"), self.path("c~"))
        os.rename(self.path("c~"), self.path("c"))
        data = self.read("d")
        with self.asleep():  # or it scans in between
            pathlib.Path(self.path("d")).write_bytes(lines("d"))
            pathlib.Path(self.path("d")).write_bytes(data)
        self.expect()
        # and where the change was reported: coming back is none
        self.write("d", lines("d"))
        self.expect(("d", "changed"))
        self.write("d", data)
        self.expect(("d", "changed"))

    def test_line_endings_are_bytes(self):
        self.deliver_files("a")
        self.write("a", self.read("a").replace(b"\n", b"\r\n"))
        self.expect(("a", "changed"))

    def test_burst(self):
        """A file is hashed when it was left alone."""
        self.deliver_files("a")
        with open(self.path("a"), "r+b", buffering=0) as file:
            for i in range(60):
                os.pwrite(file.fileno(), b"number %d" % i, 0)
                time.sleep(0.005)
        self.expect(("a", "changed"))

    def test_never_left_alone(self):
        """But not for ever."""
        self.deliver_files("a")
        ends = threading.Event()

        def go_on():
            with open(self.path("a"), "r+b", buffering=0) as file:
                while not ends.wait(QUIET_MS / 3000):
                    os.pwrite(file.fileno(), b"%f" % time.monotonic(), 0)

        writer = threading.Thread(target=go_on)
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(ends.set)
        wait_until(self.changes, 30)

    def test_editors(self):
        self.deliver_files("truncates", "renames", "vim")

        def save(name, data):
            with open(self.path(name), "wb") as file:
                file.write(data[:10])
                file.flush()
                time.sleep(QUIET_MS / 5000)
                file.write(data[10:])

        save("truncates", lines("1"))
        save(".renames.tmp", lines("2"))
        os.rename(self.path(".renames.tmp"), self.path("renames"))
        # vim: tries whether it may make files here, then keeps the old file until the new one is written
        save("4913", b"x" * 20)
        os.unlink(self.path("4913"))
        os.rename(self.path("vim"), self.path("vim~"))
        save("vim", lines("3"))
        os.unlink(self.path("vim~"))
        self.expect(("truncates", "changed"), ("renames", "changed"), ("vim", "changed"))

    def test_directories(self):
        self.deliver_files("top/below/a", "top/below/b")
        os.rename(self.path("top"), self.path("other"))
        gone = [("top/below/a", "deleted"), ("top/below/b", "deleted")]
        self.expect(*gone)
        os.rename(self.path("other"), self.path("top"))
        time.sleep(0.3)  # a directory that is not there is looked for five times a second
        self.expect(*gone)
        self.write("top/below/a", lines("new"))
        reported = [*gone, ("top/below/a", "changed")]
        self.expect(*reported)
        shutil.rmtree(self.path("top"))
        reported += gone
        self.expect(*reported)
        os.makedirs(self.path("top/below"))
        self.write("top/below/b", lines("made again"))
        self.expect(*reported, ("top/below/b", "added"))

    def test_no_file(self):
        """What takes a file's place is not opened in a way that waits."""
        self.deliver_files("a", "b", "c")
        for name in "abc":
            os.unlink(self.path(name))
        os.mkfifo(self.path("a"))
        os.mkdir(self.path("b"))
        os.symlink("c", self.path("c"))
        self.expect(("a", "deleted"), ("b", "deleted"), ("c", "deleted"))

    def test_young_read(self):
        """What the agent itself has only just read is no baseline yet; to find nothing changed it suffices."""
        self.write("a", lines("young"))
        self.agent.ask(do="read", path=self.path("a"))
        self.expect()
        self.write("a", lines("user"))
        self.expect(("a", "changed"))

    def test_old_versions(self):
        """What comes back is a change where a scope of the session knows better."""
        self.deliver_files("a", "b", "c")
        a, b, c = self.read("a"), self.read("b"), self.read("c")
        # another scope knows the old one still
        self.shell("SEEN_SCOPE=other cat a; SEEN_SCOPE=other cat b")
        self.shell("seq 1 100 > a; seq 1 100 > b")
        self.write("b", b)  # perhaps before anybody looked
        self.expect(("b", "changed"))
        self.write("a", a)
        self.expect(("b", "changed"), ("a", "changed"))
        # the user's own, which the agent has read and replaced
        user = self.write("c", lines("user"))
        self.expect(("b", "changed"), ("a", "changed"), ("c", "changed"))
        self.shell("cat c; seq 1 100 > c")
        self.pass_by()
        self.write("c", user)
        self.expect(("b", "changed"), ("a", "changed"), ("c", "changed"), ("c", "changed"))
        self.assertNotEqual(c, user)


class OwnWrites(Watched):
    """What the session does itself is never an external change."""

    passes = 2  # what lives is given time to say what it did

    WAYS = (
        "sed -i s/line/LINE/ {0}",
        "printf 'x%.0s' $(seq 100) > {0}",
        "echo more >> {0}",
        "python3 -c \"import os; open('{0}.t', 'w').write('renamed\\n' * 20); os.replace('{0}.t', '{0}')\"",
        "python3 -c \"import mmap; f = open('{0}', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[:4] = b'mmap'; m.close(); f.close()\"",
        "seq 1 200 > {0}.new; mv {0}.new {0}",
        "seq 1 300 > {0}.new; cp {0}.new {0}; rm {0}.new",
        "seq 1 400 > {0}.new; install -m 644 {0}.new {0}; rm {0}.new",
        "truncate -s 10 {0}",
        "perl -pi -e 's/[a-z]/Q/' {0}",
        "(echo from; sleep 0.2; echo a child) > {0}",
        "exec 3>> {0}; echo one >&3; sh -c 'echo two >&3'; sleep 0.2; echo three >&3",
        "dd if=/dev/urandom of={0} bs=100 count=3",
        "rm {0}; seq 1 50 > {0}",
    )

    def test_ways(self):
        names = ["way%d" % i for i in range(len(self.WAYS))]
        self.deliver_files(*names)
        before = [self.read(name) for name in names]
        for name, way in zip(names, self.WAYS):
            self.shell(way.format(name))
        for name, way, data in zip(names, self.WAYS, before):
            self.assertNotEqual(data, self.read(name), way)
        self.shell("rm way0; mv way1 moved; mkdir below; cp way2 below; mktemp -p . > /dev/null")
        self.expect()
        self.assertEqual(self.records(), [])

    def test_without_a_baseline(self):
        """By a scope that has none of the file: what it made of it is no baseline either."""
        self.write("a", lines("a"))
        self.shell("SEEN_SCOPE=other cat a")
        self.pass_by()
        for _ in range(2):
            self.shell("echo more >> a")
            self.expect()

    @unittest.skipIf(VIA == "supervise", "the library does not look at what its process has locked")
    def test_not_guarded(self):
        """Of what the guard cannot inspect it is known that it was begun."""
        self.deliver_files("a")
        self.shell("""python3 -c '
import fcntl
lock = open("a", "rb")
fcntl.lockf(lock, fcntl.LOCK_SH)
with open("a", "r+b") as file:
    file.write(b"written below a lock")
'""")
        self.expect()
        self.write("a", lines("user"))
        self.expect(("a", "changed"))

    def test_git(self):
        run = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
        where = {"cwd": self.path(), "env": self.session.environment, "check": True}
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
            self.write("a", lines("one")), self.write("b", lines("one b"))
            subprocess.run([*run, *command], **where)
        self.write("a", lines("two")), self.write("b", lines("two b"))
        self.shell("cat a; cat b")
        self.pass_by()
        self.shell("git checkout -q a")
        self.assertEqual(self.read("a"), lines("one"))
        self.shell("git stash -q; git stash pop -q")
        self.shell("git checkout -q -b other; git -c user.name=t -c user.email=t@x commit -qam two; git checkout -q -")
        self.assertEqual(self.read("b"), lines("one b"))
        self.expect()
        # the user's, by the same means
        subprocess.run([*run, "checkout", "-q", "other"], **where)
        self.expect(("b", "changed"))

    @the_watcher_alone
    def test_by_other_names(self):
        """By a link to a directory above, and by renaming the directory."""
        self.deliver_files("src/a", "src/b", "src/c")
        os.symlink("src", self.path("link"))
        self.pass_by()
        reported = self.changes()
        self.shell("sed -i s/line/LINE/ link/a; echo x >> link/b; rm link/c")
        self.expect(*reported)
        self.shell("mv src there")
        self.expect(*reported)
        self.shell("mv there src; mkdir new; mv new/../src new; mv new src; mv src/src/* src")
        self.expect(*reported)

    def test_killed_between(self):
        """A writer that was killed has written."""
        self.deliver_files("a")
        self.shell("exec 3> a; echo half >&3; kill -9 $$")
        wait_until(lambda: self.records("edited"))
        self.expect()
        [record] = self.records("edited")
        self.assertEqual(record["file"]["bytes"], 5)
        self.write("a", lines("user"))
        self.expect(("a", "changed"))

    def test_over_a_change(self):
        """A write over an external program's change is the session's, all the same."""
        self.deliver_files("a")
        self.write("a", lines("user"))
        self.expect(("a", "changed"))
        self.shell("echo mine >> a")
        self.expect(("a", "changed"))
        self.shell("sed -i s/line/LINE/ a")
        self.expect(("a", "changed"))

    @unittest.skipUnless(LONG or VIA == "preload", "by the supervisor it depends on the moment: long form")
    def test_overlap(self):
        """Two processes write to one file, whichever ends first."""
        self.deliver_files("a", "b")
        self.shell("exec 3>> a; sh -c 'exec 4>> a; echo inner >&4'; echo outer >&3; exec 3>&-; sleep 0.3")
        self.shell("sh -c 'exec 4>> b; sleep 0.2; echo late >&4' & exec 3>> b; sleep 0.1; echo early >&3; exec 3>&-; sleep 0.3; wait")
        self.expect()
        for name in "ab":
            said = [record for record in self.records("edited") if record["path"] == self.path(name)]
            self.assertEqual(said[-1]["file"]["bytes"], len(self.read(name)), said)
            # of two that end at once the second may have nothing to add
            self.assertIn(len(said), (1, 2) if name == "b" else (2,), said)

    def test_held_open(self):
        """One process of the session has it open, another one writes to it."""
        self.deliver_files("a")
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        self.agent.ask(do="tell", shell=shell, command="cd '%s'; exec 4>> a" % self.path())
        self.shell("echo from another >> a")
        self.pass_by()
        self.agent.ask(do="tell", shell=shell, command="echo late >&4")
        self.pass_by()
        self.shell("echo again >> a")
        self.agent.ask(do="tell", shell=shell, command="echo later >&4; exec 4>&-")
        wait_until(lambda: self.records("edited")[-1]["file"]["bytes"] == len(self.read("a")))
        self.expect()
        self.agent.ask(do="close_shell", shell=shell)
        self.write("a", lines("user"))
        self.expect(("a", "changed"))

    def test_held_open_by_one_that_is_killed(self):
        """Another process wrote to it meanwhile, and said so: what the killed one did is the session's all the same."""
        self.deliver_files("a")
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        self.agent.ask(do="tell", shell=shell, command="cd '%s'; exec 4>> a" % self.path())
        self.shell("echo from another >> a")
        self.pass_by()
        self.agent.ask(do="tell", shell=shell, command="echo late >&4; (exec 4>&-; sleep 0.2; kill -9 $$) &")
        wait_until(lambda: self.read("a").endswith(b"late\n"))
        self.expect()
        wait_until(lambda: self.records("edited")[-1]["file"]["bytes"] == len(self.read("a")))

    def test_stress(self):
        names = ["s%d" % i for i in range(4)]
        self.deliver_files(*names, "quiet")
        # at once only in the long form: of two that end in the same instant one's end may be missed (docs/design/guard.md)
        self.shell("for w in 1 2 3 4; do (for i in $(seq %d); do n=s$((i %% 4)); case $((i %% 3)) in 0) echo $w $i >> $n;; 1) echo $w $i > $n;; "
                   "2) echo $w $i > t$w; mv t$w $n;; esac; done) %s done; wait" % ((50, "&") if LONG else (12, ";")))
        self.expect()
        # between own writes, an external one
        self.agent.ask(do="run", argv=["bash", "-c", "cd '%s'; (for i in $(seq 60); do echo $i >> s0; sleep 0.01; done) > /dev/null 2>&1 &" % self.path()],
                       sink="null")
        self.write("quiet", lines("user"))
        self.expect(("quiet", "changed"))
        wait_until(lambda: self.read("s0").endswith(b"\n60\n"))
        self.expect(("quiet", "changed"))

    def test_held_up(self):
        """The run itself is held up for a second."""
        self.deliver_files("own", "user", "both", "removed", "made")
        pid = self.agent.process.pid
        for moment in range(3 if LONG else 1):
            os.kill(pid, signal.SIGSTOP)
            self.shell("echo %d >> own; echo %d >> both; rm -f removed; seq 1 9%d > made.t; mv made.t made; (echo half; sleep 0.2; echo whole) > removed"
                       % (moment, moment, moment))
            self.write("user", lines("user %d" % moment))
            self.write("both", lines("both %d" % moment))
            time.sleep(1)
            self.shell("sed -i s/half/all/ removed; echo %d >> own" % moment)
            os.kill(pid, signal.SIGCONT)
            self.shell("echo %d >> own" % moment)
            self.expect(*[("user", "changed"), ("both", "changed")] * (moment + 1))


IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "--")


@the_watcher_alone
@unittest.skipIf(subprocess.run([*IN_NAMESPACE, "true"], stderr=subprocess.DEVNULL).returncode, "no user namespace can be made")
class Limits(Watched):
    """The limits are those of a user namespace: other runs on the machine keep theirs."""

    shared = False

    @property
    def agent(self):
        if not self._agent:
            self._agent = self.session.agent(*self.options, within=IN_NAMESPACE)
            self.addCleanup(self._agent.close)
        return self._agent

    def limit(self, name):
        subprocess.run(["nsenter", "--user", "--preserve-credentials", "--target", str(self.agent.process.pid), "--",
                        "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_%s" % name], check=True)

    def test_overflow(self):
        self.deliver_files("a", "b", "below/c")
        length = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        with self.asleep():  # while the events come
            for name in ("a", "b"):
                pathlib.Path(self.path(name)).write_bytes(lines("new"))
            for name in ("a", "b") * (length // 2):  # the same twice running is one event
                os.close(os.open(self.path(name), os.O_WRONLY))
            pathlib.Path(self.path("below/c")).write_bytes(lines("lost"))
        reported = [("a", "changed"), ("b", "changed"), ("below/c", "changed")]
        self.expect(*reported)
        self.write("below/c", lines("later"))
        self.expect(*reported, ("below/c", "changed"))

    def test_no_watches(self):
        self.deliver_files("before")
        self.limit("watches")
        self.deliver_files("below/a")
        self.write("below/a", lines("new"))
        self.write("before", lines("new"))
        self.expect(("below/a", "changed"), ("before", "changed"))
        os.unlink(self.path("below/a"))
        self.expect(("below/a", "changed"), ("before", "changed"), ("below/a", "deleted"))
        self.assertEqual(self.stop(), "")  # --quiet

    def test_said_once(self):
        for name in ("a/a", "b/b"):
            os.makedirs(os.path.dirname(self.path(name)))
            self.write(name, lines(name))
        result = subprocess.run([*IN_NAMESPACE, "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_watches; exec "$@"', "-", *RUN, "--session", "test",
                                 "--agent-is", "outside", "--", "bash", "-c", "cat a/a; sleep 0.5; cat b/b; sleep 0.5"], cwd=self.session.workspace,
                                env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.stderr.decode(),
                         "seen: not all directories can be watched (the limit of inotify watches); files there are inspected twice a second\n")

if __name__ == "__main__":
    unittest.main()

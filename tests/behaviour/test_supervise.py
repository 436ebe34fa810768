"""`seen run` and those that help it: ends, stops, what is left behind, what dies; and commands that live in other roots, rights
and namespaces.  By each mechanism, with the same expectations, but for those about the supervisor itself."""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import BUILD, RUN, SEEN, VIA, Session, SessionTest, lines, wait_until

BUSYBOX = shutil.which("busybox")
STATIC_CAT = os.path.join(BUILD, "tests", "programs", "viewers", "reads", "cat")
KERNEL = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", platform.release()).groups())
supervisor_only = unittest.skipIf(VIA == "preload", "there is no supervisor")
root_only = unittest.skipUnless(os.geteuid() == 0, "for root only")
# Six processes that open files as fast as they can, each of them as long as that holds ($n: how often); exits by 7 when all went well.
BUSY = """
for i in 1 2 3 4 5 6; do
    (n=0; while [ %s ]; do read -r line < f && echo "$line" > out.$i || exit 1; n=$((n + 1)); done; exit 0) &
    all="$all $!"
done
for one in $all; do wait $one || exit 1; done
exec /bin/sh -c 'cat f > copy; exit 7'
"""


def kill_if_there(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def state(pid):
    """Of a process, as in proc(5); "" when it has ended."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def parent(pid):
    """Of a process, as in proc(5); 0 when it has ended."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class Case(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.data = self.session.write("f", lines("f"))

    def start(self, *words, options=(), **more):
        """`seen run` in a process group of its own."""
        process = subprocess.Popen([*RUN, "--session", "test", *options, "--", *words], cwd=self.session.workspace,
                                   env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=os.setpgrp, **more)
        self.addCleanup(self.finish, process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)

    def run_command(self, *words, **more):
        """Returns exit status, standard output, standard error."""
        process = self.start(*words, **more)
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error

    def exists(self, name):
        return os.path.exists(self.session.path(name))

    def pid_in(self, name):
        """The number that a shell wrote to a file."""
        wait_until(lambda: self.exists(name) and self.session.read(name).endswith(b"\n"))
        return int(self.session.read(name))

    def wait_for_helpers(self):
        """The guardian is a copy of the supervisor at first, by its name too."""
        wait_until(lambda: sorted(name for _, name in self.session.helpers()) == ["seen-guardian", "seen-supervisor"])

    def grows(self, name):
        before = os.stat(self.session.path(name)).st_size
        wait_until(lambda: os.stat(self.session.path(name)).st_size > before)


class Deaths(Case):
    @supervisor_only
    def test_supervisor_is_killed(self):
        """Every program goes on as it would, and ends as it would."""
        for delay in (0.05, 0.2, 0.4):
            with self.subTest(delay=delay):
                process = self.start("bash", "-c", BUSY % "! -e enough")
                self.addCleanup(self.session.write, "enough", b"")
                self.wait_for_helpers()
                time.sleep(delay)
                self.assertIsNone(process.poll())
                for pid, name in self.session.helpers():
                    if name == "seen-supervisor":
                        os.kill(pid, signal.SIGKILL)
                wait_until(lambda: "seen-supervisor" not in [name for _, name in self.session.helpers()])
                if KERNEL >= (6, 15):
                    wait_until(lambda: os.path.exists(self.session.path("out.1")))
                    before = os.stat(self.session.path("out.1")).st_mtime_ns
                    wait_until(lambda: os.stat(self.session.path("out.1")).st_mtime_ns > before)
                self.session.write("enough", b"")
                out, error = process.communicate(timeout=60)
                if KERNEL >= (6, 15):
                    self.assertEqual(process.returncode, 7, error)
                self.assertEqual(self.session.read("copy"), self.data)
                self.assertIn(b"the supervisor has died", error)
                self.assertEqual(out, b"")
                wait_until(lambda: not self.session.helpers())
                os.unlink(self.session.path("copy"))
                os.unlink(self.session.path("enough"))

    @supervisor_only
    def test_supervisor_is_killed_again_and_again(self):
        """At whatever it does at that moment."""
        for round_ in range(12):
            process = self.start("bash", "-c", BUSY % "$n -lt 60", options=("--quiet",))
            wait_until(lambda: process.poll() is not None or self.session.helpers())
            time.sleep(0.004 * round_)
            for pid, name in self.session.helpers():
                # The guardian is a copy of the supervisor at first, by its name too: a child's child.
                if name == "seen-supervisor" and parent(pid) == process.pid:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            process.communicate(timeout=60)
            if KERNEL >= (6, 15):
                self.assertEqual(process.returncode, 7, round_)

    @supervisor_only
    def test_guardian_is_killed(self):
        """It is not needed as long as the supervisor lives."""
        process = self.start("bash", "-c", BUSY % "$n -lt 500")
        self.wait_for_helpers()
        for pid, name in self.session.helpers():
            if name == "seen-guardian":
                os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 7)

    def test_run_is_killed(self):
        """A signal that kills `seen run` is meant for the command."""
        process = self.start("sh", "-c", "echo $$ > pid; while :; do read -r line < f; done")
        command = self.pid_in("pid")
        process.kill()
        process.communicate(timeout=20)
        wait_until(lambda: state(command) in ("", "Z"))
        wait_until(lambda: not self.session.helpers())

    def test_command_is_killed(self):
        process = self.start("sh", "-c", "echo $$ > pid; while :; do read -r line < f; done")
        os.kill(self.pid_in("pid"), signal.SIGKILL)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, -signal.SIGKILL)

    @supervisor_only
    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_killed_before_it_did_anything(self):
        """A program that was watched all the time and made no call of interest is observed."""
        self.assertEqual(self.run_command("bash", "-c", "busybox sleep 100 & sleep 0.5; kill -9 $!; wait; sleep 0.2; "
                                                        "LC_ALL=C sleep 100 & sleep 0.5; kill -9 $!; wait; sleep 0.2")[0], 0)
        processes = self.session.status()["processes"]
        self.assertEqual((processes["unobserved"], processes["unobserved_programs"]), (0, []))

    def test_missing_command(self):
        self.assertEqual(self.run_command("/no/such/command")[0], 127)
        self.assertEqual(self.run_command(self.session.path("f"))[0], 126)


@unittest.skipUnless(VIA == "supervise", "the supervisor alone")
class Cost(Case):
    """What a plain open costs the supervisor: taking the call, reading the name, letting it pass."""

    OPENS = 500
    PROGRAM = """
import os, sys, threading
def opens():
    for _ in range(int(sys.argv[1])):
        os.close(os.open(sys.argv[2], os.O_RDONLY))
if sys.argv[3] == "first":
    opens()
else:
    thread = threading.Thread(target=opens)
    thread.start()
    thread.join()
"""

    def trace(self, *command, **variables):
        """[(thread, system call)] of a run."""
        words = ["strace", "-f", "-qq", "-e", "signal=none", "-o", "trace", *RUN, "--quiet", "--session", "test", "--", *command]
        done = subprocess.run(words, cwd=self.session.workspace, env={**self.session.environment, **variables}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=100)
        if b"ptrace" in done.stderr:
            self.skipTest("ptrace is not allowed here")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [line.split(None, 1) for line in self.session.read("trace").splitlines() if b" resumed>" not in line]

    def calls(self, opens, thread):
        """System calls of the supervisor's threads that take calls."""
        calls = self.trace(sys.executable, "-c", self.PROGRAM, str(opens), self.session.path("f"), thread)
        threads = {tid for tid, call in calls if b"NOTIF_RECV" in call}
        return sum(tid in threads for tid, _ in calls)

    def assertCosts(self, thread, most):
        few, many = (self.calls(opens, thread) for opens in (self.OPENS, 3 * self.OPENS))
        self.assertLessEqual((many - few) / (2 * self.OPENS), most)

    def test_start(self):
        """The command is executed by its path, not by each that PATH would give; `seen run` is woken when it has ended."""
        calls = [call for _, call in self.trace("true", PATH="/nowhere:/nothing:" + self.session.environment["PATH"])]
        executed = [call for call in calls if call.startswith(b"execve(")]
        self.assertEqual(len(executed), 2, executed)
        self.assertRegex(executed[1], rb'^execve\("/.*/true"')
        self.assertEqual(len([call for call in calls if re.match(rb"kill\(\d+, SIGCHLD", call)]), 1)

    def test_open(self):
        self.assertCosts("first", 3.15)  # now and then it checks whether the process lives

    def test_open_of_another_thread(self):
        self.assertCosts("other", 3.3)  # ... and the thread


class Stops(Case):
    COMMAND = ("echo $$ > pid; setsid sh -c 'while [ -e f ]; do cat f > /dev/null; echo . >> background; done' & other=$!; "
               "while ! [ -e go ]; do read -r line < f; echo . >> foreground; done; kill $other; exit 5")
    PAUSES = [0, 0.0002, 0.0005, 0.001, 0.002, 0.004, 0.01] * 3

    def setUp(self):
        super().setUp()
        self.process = self.start("bash", "-c", self.COMMAND)
        self.addCleanup(os.unlink, self.session.path("f"))  # the background ends, too
        self.command = self.pid_in("pid")
        wait_until(lambda: self.exists("background") and self.exists("foreground"))

    def assertStops(self, stop, go_on):
        for _ in range(2):
            stop()
            self.wait_for_stop()
            self.grows("background")  # other jobs are checked meanwhile
            self.grows("background")
            go_on()
            wait_until(lambda: state(self.process.pid) != "T" and state(self.command) != "T")
            self.grows("foreground")
        self.assertEnds()

    def wait_for_stop(self):
        wait_until(lambda: state(self.process.pid) == "T" and state(self.command) == "T")

    def assertEnds(self):
        self.session.write("go", b"")
        self.process.communicate(timeout=60)
        self.assertEqual(self.process.returncode, 5)

    def group(self, number):
        return lambda: os.killpg(self.process.pid, number)

    def test_terminal_stop(self):
        self.assertStops(self.group(signal.SIGTSTP), self.group(signal.SIGCONT))

    def test_stop_of_the_group(self):
        self.assertStops(self.group(signal.SIGSTOP), self.group(signal.SIGCONT))

    def test_stop_of_the_command(self):
        self.assertStops(lambda: os.kill(self.command, signal.SIGSTOP), lambda: os.kill(self.process.pid, signal.SIGCONT))

    def test_go_on_by_the_command(self):
        self.assertStops(lambda: os.kill(self.command, signal.SIGSTOP), lambda: os.kill(self.command, signal.SIGCONT))

    def test_stopped_again_at_once(self):
        """`seen run` that is let go on takes back no stop that came meanwhile: that of a limiter of processor time, again and again."""
        for number in (signal.SIGSTOP, signal.SIGTSTP):
            os.kill(self.command, number)
            self.wait_for_stop()
            for _ in range(10):
                os.kill(self.command, signal.SIGCONT)
                os.kill(self.process.pid, signal.SIGCONT)
                os.kill(self.command, number)
                self.wait_for_stop()
                self.assertStaysStopped()
            os.kill(self.command, signal.SIGCONT)
            os.kill(self.process.pid, signal.SIGCONT)
            self.grows("foreground")
        self.assertEnds()

    def test_go_on_at_once(self):
        """Who knows `seen run` alone lets the command go on however soon after the stop.

        A signal that stops takes back a SIGCONT that came in the moment before: a few rounds may need another."""
        again = 0
        for stopped, number in ((self.process.pid, signal.SIGTSTP), (self.command, signal.SIGSTOP)):
            for pause in self.PAUSES:
                os.kill(stopped, number)
                time.sleep(pause)
                os.kill(self.process.pid, signal.SIGCONT)
                time.sleep(0.03)  # by then they have come to a stop that was not ended
                try:
                    wait_until(self.both_go_on, 5)
                except AssertionError:
                    again += 1
                    os.kill(self.process.pid, signal.SIGCONT)
                    wait_until(self.both_go_on, 60)
        self.assertLessEqual(again, 2)
        self.grows("foreground")
        self.assertEnds()

    def both_go_on(self):
        return state(self.process.pid) != "T" and state(self.command) != "T"

    def test_stop_at_once(self):
        """... and stops it however soon after it went on."""
        for pause in self.PAUSES:
            os.kill(self.process.pid, signal.SIGTSTP)
            self.wait_for_stop()
            os.kill(self.process.pid, signal.SIGCONT)
            time.sleep(pause)
        os.kill(self.process.pid, signal.SIGTSTP)
        self.wait_for_stop()
        self.assertStaysStopped()
        os.kill(self.process.pid, signal.SIGCONT)
        self.grows("foreground")
        self.assertEnds()

    def test_waited_for(self):
        """A SIGCONT that the command has a use for reaches it, also one that it waits for by sigwait(3)."""
        code = "import signal as s; s.pthread_sigmask(s.SIG_BLOCK, [s.SIGCONT]); print('ready', flush=True); print(s.sigtimedwait([s.SIGCONT], 20) is not None)"
        process = self.start(sys.executable, "-c", code, options=("--quiet", "--session", "other"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual(process.communicate(timeout=60)[0], b"True\n")

    def assertStaysStopped(self):
        before = os.stat(self.session.path("foreground")).st_size
        time.sleep(0.05)
        self.assertEqual((os.stat(self.session.path("foreground")).st_size, state(self.command)), (before, "T"))

    def test_terminal_stop_of_the_command(self):
        self.assertStops(lambda: os.kill(self.command, signal.SIGTSTP), self.group(signal.SIGCONT))


class LeftBehind(Case):
    def test_daemon(self):
        """It goes on as if nothing were; those who watch it end with it."""
        began = time.monotonic()
        code, _, _ = self.run_command("sh", "-c", "setsid sh -c 'echo $$ > pid; while ! [ -e go ]; do cat f > late; sleep 0.05; done; "
                                      "cat f | cat > last; rm late; mkdir made' > /dev/null 2>&1 & exit 9")
        self.assertEqual(code, 9)
        self.assertLess(time.monotonic() - began, 10)
        daemon = self.pid_in("pid")
        self.assertNotEqual(state(daemon), "")
        if VIA != "preload":
            self.assertTrue(self.session.helpers())
        wait_until(lambda: self.exists("late") and self.session.read("late") == self.data)
        self.session.write("go", b"")
        wait_until(lambda: self.exists("made"))
        self.assertEqual(self.session.read("last"), self.data)
        wait_until(lambda: state(daemon) in ("", "Z") and not self.session.helpers())  # not every init reaps

    @supervisor_only
    def test_daemon_without_its_supervisor(self):
        code, _, _ = self.run_command("sh", "-c", "setsid sh -c 'while ! [ -e go ]; do read line < f; done; cat f > last' > /dev/null 2>&1 & exit 0")
        self.assertEqual(code, 0)
        for pid, name in self.session.helpers():
            if name == "seen-supervisor":
                os.kill(pid, signal.SIGKILL)
        self.session.write("go", b"")
        wait_until(lambda: self.exists("last") and self.session.read("last") == self.data)
        wait_until(lambda: not self.session.helpers())

    def stranded(self):
        """What `seen doctor` reports about it."""
        done = subprocess.run([SEEN, "doctor", "--json"], cwd=self.session.workspace, env=self.session.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=60)
        return [check["detail"] for check in json.loads(done.stdout)["checks"] if check["what"] == "stranded"]

    def kill_helpers(self):
        self.wait_for_helpers()
        for pid, _ in self.session.helpers():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.session.helpers())

    # A shell that starts nothing any more: a program within its start would end by ENOSYS.
    DAEMON = "setsid sh -c 'kill -STOP $$' > /dev/null 2>&1 & "

    def stopped(self, name):
        """The daemon whose number is in a file, once it has stopped itself."""
        pid = self.pid_in(name)
        self.addCleanup(kill_if_there, pid)
        wait_until(lambda: state(pid) == "T")
        return pid

    @supervisor_only
    def test_daemon_without_any_helper(self):
        """The filter cannot be taken off: the programs that it fails calls of are named, by doctor and at a run's end."""
        self.run_command("sh", "-c", self.DAEMON + "echo $! > pid")
        daemon = self.stopped("pid")
        self.assertEqual(self.stranded(), [])
        self.kill_helpers()
        [line] = self.stranded()
        self.assertIn("ENOSYS in sh (pid %d)" % daemon, line)
        os.kill(daemon, signal.SIGKILL)
        wait_until(lambda: state(daemon) in ("", "Z"))
        self.assertEqual(self.stranded(), [])
        process = self.start("sh", "-c", self.DAEMON + "echo $! > pid2; echo $$ > shell; wait")
        daemon = self.stopped("pid2")
        shell = self.pid_in("shell")
        self.kill_helpers()
        os.kill(shell, signal.SIGKILL)
        _, error = process.communicate(timeout=60)
        self.assertIn(b"calls fail with ENOSYS in sh (pid %d); end what was left behind\n" % daemon, error)

    def test_output_ends_with_the_command(self):
        """No helper process holds the command's output open: who reads it sees its end."""
        process = self.start("sh", "-c", "echo done")
        self.assertEqual(process.stdout.read(), b"done\n")
        process.communicate(timeout=20)


class Calls(Case):
    def test_io_uring(self):
        """Refused below the supervisor, so that programs take calls that can be seen."""
        code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(425, 4, None); print(r, ctypes.get_errno())"
        bare = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout
        _, out, _ = self.run_command(sys.executable, "-c", code)
        self.assertEqual(out, bare if VIA == "preload" else b"-1 38\n")

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_traced(self):
        words = ("strace", "-f", "-o", "trace", "-e", "trace=openat,execve", "sh", "-c", "cat f; cat missing; exit 6")
        if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("ptrace is not allowed here")
        code, out, error = self.run_command(*words, options=("--quiet",))
        self.assertEqual((code, out), (6, self.data), error)
        trace = self.session.read("trace")
        for line in (rb'openat\(AT_FDCWD, "f", O_RDONLY[^)]*\) += 3', rb'openat\(AT_FDCWD, "missing", O_RDONLY[^)]*\) += -1 ENOENT'):
            self.assertTrue(re.search(line, trace), line)

    @root_only
    def test_own_files(self):
        """That the session's own files are mapped, by the library or by `seen`, is no access of the program."""
        self.run_command("bash", "-c", f"{SEEN} files; {STATIC_CAT} f; exec {SEEN} status")
        events = [json.loads(line) for line in self.session.seen("log", "--json", "--session", "test").stdout.splitlines()]
        own = [event["resolved"] for event in events if event["op"] == "open" and
               os.path.basename(event["resolved"] or "") in ("segment", "journal")]
        self.assertEqual(own, [])

    def test_numbers_used_again(self):
        """In a namespace of 301 process numbers, below which all this runs: a number stands for another process soon."""
        if KERNEL < (6, 14):
            self.skipTest("before Linux 6.14 pid_max is the whole machine's")
        inner = ("for i in $(seq 1 600); do x=$(sh -c 'read -r line < f; echo \"$line\"; exit 3'); "
                 "[ $? = 3 ] && [ \"$x\" = \"$first\" ] || echo odd; done; echo all")
        script = "echo 301 > /proc/sys/kernel/pid_max || exit 88; first=$(head -1 f); export first; exec \"$@\""
        words = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", *RUN, "--quiet", "--session", "inner", "--", "bash", "-c", inner]
        done = subprocess.run(words, cwd=self.session.workspace, env=self.session.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=100)
        if done.returncode in (1, 88) and not done.stdout:
            self.skipTest("no namespace of its own: %r" % done.stderr)
        self.assertEqual((done.returncode, done.stdout), (0, b"all\n"), done.stderr)

    @supervisor_only
    def test_below_another(self):
        """One supervisor for a chain of filters: the inner run says so and goes on by the library."""
        code, out, error = self.run_command(*RUN, "--session", "inner", "--", "sh", "-c", "cat f; exit 4", options=("--quiet",))
        self.assertEqual((code, out), (4, self.data))
        self.assertIn(b"there is one above already", error)

    @supervisor_only
    def test_rules_below_another(self):
        """The rules of a user's file hold below a run that has them by its supervisor; others would not."""
        self.session.write("secret", b"s\n")
        said = os.path.join(self.session.directory, "said.ini")
        with open(said, "w") as file:
            file.write("[rule mine]\nop = read\npath = secret\naction = deny\n")
        words = [SEEN, "run", "--quiet", "--config", said, "--session"]
        for more, command, expected in (([], ["cat", "f"], (0, self.data)), ([], ["cat", "secret"], (1, b"")),
                                        (["-c", "rule mine.path=f"], ["true"], (125, b"")), (["-c", "rule other.op=read", "-c", "rule other.action=deny"], ["true"], (125, b""))):
            with self.subTest((more, command)):
                done = subprocess.run([*words, "outer", "--", *words, "inner", *more, "--", *command], cwd=self.session.workspace, env=self.session.environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
                self.assertEqual((done.returncode, done.stdout), expected, done.stderr)


@unittest.skipUnless(BUSYBOX, "no busybox")
class Elsewhere(SessionTest):
    """Viewers whose names lead elsewhere than the supervisor's: what they get is what they name."""

    def setUp(self):
        super().setUp()
        self.data = self.deliver("f")

    @root_only
    def test_root(self):
        """The same path below another root."""
        inside = lines("another root")
        below = os.path.join(self.session.directory, "root")
        os.makedirs(below + self.session.workspace)
        shutil.copy(BUSYBOX, os.path.join(below, "busybox"))
        with open(below + self.session.path("f"), "wb") as file:
            file.write(inside)
        os.symlink(self.session.path("f"), os.path.join(below, "link"))
        for name in (self.session.path("f"), "/link", "//link", "../../../link"):
            self.assertIn(self.agent.shell("chroot %s /busybox cat %s" % (below, name)).split(b"\n")[0], (inside.split(b"\n")[0],), name)
        self.assertNotIn(b"[File", self.agent.shell("cd /; chroot %s /busybox cat f link" % below))

    @root_only
    def test_mounts(self):
        """Another file in the same place, in a mount namespace."""
        other = self.session.write("g", lines("g"))
        probe = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.PIPE)
        if probe.returncode:
            self.skipTest("no mount namespace: %r" % probe.stderr)
        for name in ("f", "$PWD/f", "./f"):
            for cat in ("cat", "busybox cat"):
                self.assertReal(self.agent.shell("unshare -m sh -c 'mount --bind g f && exec %s %s'" % (cat, name)), other)
                self.session.seen("forget", "--session", "test", "--all")

    @root_only
    def test_rights(self):
        """A viewer that may not read the file does not."""
        os.chmod(self.session.path("f"), 0o600)
        for cat in ("cat", "busybox cat"):
            output = self.agent.shell("setpriv --reuid 65534 --regid 65534 --clear-groups %s f 2>&1; :" % cat)
            self.assertIn(b"Permission denied", output)
        os.chmod(self.session.path("f"), 0o644)
        self.assertNotIn(b"denied", self.agent.shell("setpriv --reuid 65534 --regid 65534 --clear-groups busybox cat f"))

    def test_own_names(self):
        """What a process finds in /proc/self is its own."""
        for cat in ("cat", "busybox cat"):
            words = self.agent.shell("%s /proc/self/cmdline" % cat).rstrip(b"\0").split(b"\0")
            self.assertEqual(words, [*cat.encode().split(), b"/proc/self/cmdline"])
            self.assertIn(b"Name:\t" + cat.split()[0].encode(), self.agent.shell("%s /proc/self/status" % cat))
            for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
                output = self.agent.shell("%s %s < f" % (cat, name))
                self.assertIn(output.split(b"\n")[0][:6], (self.data[:6], b"[File "), name)
            self.assertEqual(self.agent.shell("mkdir gone; cd gone; rmdir ../gone; %s f 2>&1 | tail -c 27; :" % cat), b": No such file or directory\n"[-27:])

    def test_names_of_pipes(self):
        """No path leads to them: what writes to one, or links to it, goes on, and so does the supervisor."""
        for name in ("1", "1/", "77"):
            self.agent.shell("ln -s /proc/self/fd/%s link; busybox ln -s /proc/self/fd/%s link2; rm link link2" % (name, name))
        self.assertEqual(self.agent.shell("echo a > /proc/self/fd/1; busybox sh -c 'echo b >> /proc/self/fd/1'; : | cat"), b"a\nb\n")
        self.assertEqual(self.agent.shell("busybox mv /proc/self/fd/1 made 2> /dev/null; busybox rm -f /proc/self/fd/1 2> /dev/null; echo $?"), b"1\n")
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertEqual(self.session.status()["processes"]["calls_unjudged"], 0)

    def test_fifos(self):
        """Viewers that wait for a FIFO's writer keep no other process from its own."""
        names = ["fifo%d" % number for number in range(8)]
        script = ("mkfifo %s; for i in %s; do busybox cat $i > $i.out & cat $i > $i.also & done; sleep 0.1; cat f; for i in %s; do "
                  "echo $i > $i; done; kill $(jobs -p) 2> /dev/null; wait; rm -f fifo?") % ((" ".join(names),) * 3)
        began = time.monotonic()
        output = self.agent.shell(script)
        self.assertLess(time.monotonic() - began, 20)
        self.assertNotice(output, "f")

    def test_signals_and_death(self):
        """Viewers that are killed at any moment: what they were given is no delivery, and others go on."""
        big = self.session.write("big", lines("big", 700))
        script = "for i in $(seq 1 40); do busybox cat big > /dev/null & cat big > /dev/null & kill -9 $! ; done; wait; true"
        self.agent.shell(script)
        self.assertReal(self.agent.shell("cat big"), big)
        self.assertNotice(self.agent.shell("cat big"), "big")

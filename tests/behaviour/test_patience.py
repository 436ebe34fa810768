"""What takes long, or what there is little of: files that are slow or endless, descriptors, long command lines, the terminal.
Nothing below the supervisor waits for what it would not wait for bare.  By each mechanism, with the same expectations."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import BUILD, RUN, VIA, Session, SessionTest, lines, wait_until

BUSYBOX = shutil.which("busybox")
SLOW_FILES = os.path.join(BUILD, "tests", "programs", "helpers", "slow_files")
RULES = ("--rules", "secrets:deny")
COUNT = 40
# An agent that reads files while others wait for a slow one each, and then writes over them.  Prints how often it was refused.
WRITES = """
import errno, os, subprocess, sys, time
readers = [subprocess.Popen(["bash", "-c", "while [ -e go ]; do busybox cat slow/f%d > read.%d || exit; done" % (i, i)]) for i in (1, 2, 3)]
while not all(os.path.exists("read.%d" % i) and os.path.getsize("read.%d" % i) for i in (1, 2, 3)):
    time.sleep(0.01)
files = ["f%d" % i for i in range(int(sys.argv[1]))]
for file in files:
    open(file).read()
time.sleep(0.5)
open("please", "w").close()
while os.path.exists("please"):
    time.sleep(0.01)
refused = 0
for file in files:
    try:
        open(file, "w").write("the agent's")
    except OSError as error:
        refused += error.errno == errno.ESTALE
os.unlink("go")
for reader in readers:
    reader.wait()
print(refused)
"""
CATS = ["cat"] + (["busybox cat"] if BUSYBOX else [])


def ahead_of_others():
    """Of a process that starts: no other program keeps it from a processor.  Where two inspections get none for 200 ms they are taken for some that wait for
    another process, and are not waited for."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass  # then the machine must not be busy


AS_OTHERS = ("chrt", "-o", "0")  # what is below it again: else nothing else would get on


class Files(SessionTest):
    def test_huge(self):
        """A file that is not read to its end is not read before its viewer does; nor does any other process wait for that."""
        with open(self.session.path("huge"), "wb") as file:
            file.write(b"the beginning\n")
            try:
                os.truncate(file.fileno(), 200 << 30)
            except OSError as error:
                self.skipTest("no huge file here: %s" % error)
        if os.stat(self.session.path("huge")).st_blocks > 1000:
            self.skipTest("no holes here")
        self.session.write("f", lines("f"))
        self.agent.shell("cat f")
        for cat in CATS:
            began = time.monotonic()
            self.assertEqual(self.agent.shell("%s huge | head -c 10" % cat), b"the beginn")
            self.assertLess(time.monotonic() - began, 15, cat)
            self.assertEqual(self.agent.shell("ulimit -f 0; for i in 1 2 3 4 5 6; do { %s huge 2> /dev/null; } | head -c 10 > /dev/null & done; "
                                              "for i in $(seq 100); do read -r line < f; done; echo $line; wait" % cat), b"f line 0 of the file\n")
            self.assertLess(time.monotonic() - began, 30, cat)

    def test_fifo(self):
        """Its writer's data comes whole: only its reader opens the FIFO, and wakes the writer."""
        for cat in CATS:
            script = ("mkfifo fifo; trap '' PIPE; for i in $(seq 20); do { exec 3> fifo; echo $i >&3 || echo lost; } & "
                      "%s fifo; wait; done; rm fifo") % cat
            self.assertEqual(self.agent.shell(script), b"".join(b"%d\n" % i for i in range(1, 21)), cat)

    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_long_command_line(self):
        """What is behind the part that is read may be an option: no notice."""
        data = self.session.write("f", lines("f"))
        self.assertReal(self.agent.shell("busybox cat f"), data)
        numbered = b"".join(b"%6d\t%s\n" % (number + 1, line) for number, line in enumerate(data.splitlines()))
        for _ in range(2):
            self.assertReal(self.agent.shell("busybox cat f $(for i in $(seq 520); do echo /dev/null; done) -n"), numbered)


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/fuse"), "for root with FUSE only")
class Slow(unittest.TestCase):
    """A file system that is served by a process below the same supervisor."""

    SERVE = ("%s slow & server=$!; echo $server > server; i=0; until [ -e slow/f0 ]; do kill -0 $server || exit 77; sleep 0.1; done; "
             "all=; for i in $(seq %d); do %s & all=\"$all $!\"; done; wait $all; echo all; kill $server; wait $server 2> /dev/null; exit 0")

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        os.mkdir(self.session.path("slow"))

    def stop(self):
        try:
            os.kill(int(self.session.read("server")), signal.SIGKILL)
        except (OSError, ValueError):
            pass
        subprocess.run(["umount", "-l", self.session.path("slow")], stderr=subprocess.DEVNULL, check=False)

    def check(self, count, one, options=()):
        script = self.SERVE % (SLOW_FILES, count, one)
        for prefix in ([], [*RUN, "--quiet", "--session", "test", *options, "--"]):
            process = subprocess.Popen([*prefix, "bash", "-c", script], cwd=self.session.workspace, env=self.session.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            try:
                out, error = process.communicate(timeout=40)
            except subprocess.TimeoutExpired:
                self.stop()  # whatever waits for it goes on
                process.communicate()
                self.fail("hangs")
            finally:
                self.stop()
            if process.returncode == 77:
                self.skipTest("cannot be mounted here: %r" % error)
            self.assertEqual((process.returncode, out), (0, b"all\n"), error)

    def test_reading(self):
        for cat in CATS[::-1]:
            with self.subTest(cat=cat):
                self.check(16, "%s slow/f$i | cmp -s - slow/f$i" % cat)

    def test_starting(self):
        self.check(12, "(exec slow/f$i) 2> /dev/null")

    @unittest.skipIf(VIA == "preload", "there is no supervisor")
    def test_reading_where_a_rule_denies(self):
        """The files' own server is asked about, too: its calls are not held up until those that wait for it are done."""
        self.check(12, "%s slow/f$i | cmp -s - slow/f$i" % CATS[-1], RULES)

    @unittest.skipIf(VIA == "preload", "there is no supervisor")
    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_denied_meanwhile(self):
        """A rule that denies a file by all its names holds while as many inspections as there may be go on, and take their time."""
        self.serve_externally()
        self.session.write(".env", b"SECRET\n")
        os.symlink(".env", self.session.path("alias"))
        script = ("readers=; for i in 1 2 3; do (while [ -e go ]; do busybox cat slow/f$i > read.$i || exit; done) & readers=\"$readers $!\"; done; "
                  "until [ -s read.1 -a -s read.2 ]; do sleep 0.01; done; "
                  "for i in $(seq 40); do busybox cat alias; done 2> refused; rm go; wait")
        self.session.write("go", b"")
        done = subprocess.run([*RUN, "--quiet", "--session", "test", *RULES, "--", *AS_OTHERS, "bash", "-c", script], cwd=self.session.workspace,
                              env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              preexec_fn=ahead_of_others)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertEqual(self.session.read("refused").count(b"ermission denied"), 40)
        self.assertEqual(self.session.status()["processes"]["calls_unjudged"], 0)

    @unittest.skipUnless(VIA == "supervise", "by the library a process inspects for itself")
    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_guarded_meanwhile(self):
        """What an agent reads is noted then, too, and what it may not write over is judged."""
        self.serve_externally()
        for i in range(COUNT):
            self.session.write("f%d" % i, b"as the agent read it\n")
        self.session.write("go", b"")
        self.session.write("writes.py", WRITES.encode())
        command = [*RUN, "--quiet", "--session", "test", "--agent", "writes.py", "--stale-write", "deny", "--", *AS_OTHERS, sys.executable, "writes.py", str(COUNT)]
        process = subprocess.Popen(command, cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=ahead_of_others)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: process.poll() is not None or os.path.exists(self.session.path("please")), 30)
        for i in range(COUNT):
            self.session.write("f%d" % i, b"another program's\n")
        os.unlink(self.session.path("please"))
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, b"%d\n" % COUNT), error)
        self.assertEqual({self.session.read("f%d" % i) for i in range(COUNT)}, {b"another program's\n"})

    def serve_externally(self):
        server = subprocess.Popen([SLOW_FILES, self.session.path("slow")], preexec_fn=ahead_of_others)
        self.addCleanup(server.wait)
        self.addCleanup(self.stop_server, server)
        wait_until(lambda: server.poll() is not None or os.path.exists(self.session.path("slow/f0")))
        if server.poll() is not None:
            self.skipTest("cannot be mounted here")

    def stop_server(self, server):
        server.kill()
        subprocess.run(["umount", "-l", self.session.path("slow")], stderr=subprocess.DEVNULL, check=False)


class Descriptors(unittest.TestCase):
    @unittest.skipIf(VIA == "preload", "there is no supervisor")
    @unittest.skipUnless(BUSYBOX, "no busybox")
    def test_low_limit(self):
        """`seen run` has few descriptors: the supervisor has more, the command as many as it would."""
        session = Session()
        self.addCleanup(session.close)
        session.write("f", lines("f"))
        words = ["sh", "-c", "ulimit -Sn 64; exec \"$@\"", "sh", *RUN, "--session", "test", "--", "busybox", "sh", "-c",
                 "ulimit -Sn; for i in $(seq 100); do sleep 1 & done; busybox cat f > copy; wait; busybox cat f"]
        done = subprocess.run(words, cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, b"64\n" + session.read("f")), done.stderr)
        processes = session.status()["processes"]
        self.assertEqual((processes["unobserved"], processes["calls_unjudged"]), (0, 0), processes)
        self.assertGreater(processes["supervised"], 100, done.stderr)


# A job in a group of its own, as an interactive shell makes it: an observer reports its state.
JOB = """
import os, signal, sys, time
me = os.getpid()
os.setpgid(0, 0)
def state():
    with open("/proc/%d/stat" % me) as file:
        return file.read().rpartition(")")[2].split()[0]
if os.fork() == 0:
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # which is the whole group's
    for what in ("SIGTSTP", "background read"):
        end = time.monotonic() + 3
        while state() != "T" and time.monotonic() < end:
            time.sleep(0.02)
        print("after", what, state(), flush=True)
        os.kill(me, signal.SIGCONT)
        end = time.monotonic() + 3
        while state() == "T" and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.2)
    os.kill(me, signal.SIGKILL)
    os._exit(0)
os.kill(me, signal.SIGTSTP)
time.sleep(0.1)
try:
    os.read(0, 1)
    print("read something", flush=True)
except OSError as error:
    print(error, flush=True)
signal.pause()
"""


class Terminal(unittest.TestCase):
    def in_session(self, session, words):
        """What a command prints in a session with a terminal, started by its leader in the foreground."""
        leader, terminal = pty.fork()
        if leader == 0:
            try:
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                job = os.fork()
                if job == 0:
                    os.chdir(session.workspace)
                    os.setpgid(0, 0)
                    os.tcsetpgrp(0, os.getpgrp())
                    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                    os.execvpe(words[0], words, session.environment)
                # Where the command was killed while it was stopped, `seen run` goes on by SIGCONT alone, as a shell's `fg` sends it.
                while os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1]):
                    time.sleep(1)
                    os.killpg(job, signal.SIGCONT)
            finally:
                os._exit(0)
        output = b""
        try:
            while select.select([terminal], [], [], 30)[0]:
                part = os.read(terminal, 4096)
                output += part
                if not part:
                    break
        except OSError:  # its end
            pass
        os.kill(leader, signal.SIGKILL)
        os.waitpid(leader, 0)
        os.close(terminal)
        return output.replace(b"\r\n", b"\n")

    def test_job_control(self):
        session = Session()
        self.addCleanup(session.close)
        words = [sys.executable, "-c", JOB]
        bare = self.in_session(session, ["sh", "-c", "exec 2> /dev/null; \"$@\"; :", "sh", *words])  # another process leads the foreground, as `seen run` does
        self.assertTrue(bare.startswith(b"after SIGTSTP T\nafter background read T\n"), bare)
        self.assertEqual(self.in_session(session, [*RUN, "--quiet", "--session", "test", "--", *words]), bare)

"""`seen run` as a parent: statuses, signals, the terminal, the summary."""
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest

from driver import DEADLINE, SEEN, Case, Terminal

# Counts SIGINTs for a while; says when it is ready, and how many came.
COUNT = r"""
import signal, sys, time
count = 0
def more(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, more)
print("ready", flush=True)
end = time.monotonic() + 1.0
while time.monotonic() < end:
    time.sleep(0.05)
print("interrupts:", count, flush=True)
"""

# What the run that it is below has of its segment in memory, in KiB.
RESIDENT = r"""
is_segment = False
for line in open("/proc/%d/smaps" % __import__("os").getppid()):
    if line.split()[0][-1] != ":":
        is_segment = line.rstrip().endswith("/segment")
    elif is_segment and line.startswith("Rss:"):
        print(line.split()[1])
"""

# A shell with job control, as much as is needed: runs its arguments as a job in the foreground, says
# when the job stopped, lets it go on, and ends with its status.
SHELL = r"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    print("stopped by", os.WSTOPSIG(status), flush=True)
    os.killpg(pid, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


def shares_huge_pages():
    """Does the kernel give a file in memory 2 MiB at the first touch of a page?"""
    try:
        return bool(re.search(r"\[(always|force)\]", pathlib.Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled").read_text()))
    except OSError:
        return False


class Memory(Case):
    @unittest.skipIf(shares_huge_pages(), "the kernel gives more than the page that is touched")
    def test_an_idle_run_touches_little_of_its_tables(self):
        """Each page that is touched for the first time takes time at the start and end of a run."""
        for way in ("preload", "both"):
            for words in ((), ("--session", "again"), ("--session", "again")):
                sizes = self.seen("run", "--via", way, *words, "--", sys.executable, "-c", RESIDENT).stdout.split()
                self.assertEqual(len(sizes), 1, sizes)
                self.assertLess(int(sizes[0]), 512, words)


class Statuses(Case):
    def test_exit_statuses(self):
        for script, code in (("exit 0", 0), ("exit 3", 3), ("exit 125", 125), ("kill -9 $$", -signal.SIGKILL),
                             ("kill -TERM $$", -signal.SIGTERM), ("kill -BUS $$", -signal.SIGBUS)):
            self.seen("run", "--", "bash", "-c", script, code=code)
            self.seen("run", "--mode", "off", "--", "bash", "-c", script, code=code)

    @unittest.skipUnless(shutil.which("unshare"), "no unshare")
    def test_the_first_process_of_a_container(self):
        """It has no default actions: then the status tells which signal it was."""
        words = ["unshare", "--fork", "--pid", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no PID namespaces")
        done = subprocess.run([*words, SEEN, "run", "--", "bash", "-c", "kill -TERM $$"], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM)

    def test_not_found_not_executable(self):
        (self.work / "plain").write_text("not a program\n")
        self.assertIn(b"nosuchprogram", self.seen("run", "--", "nosuchprogram", code=127).stderr)
        self.seen("run", "--", "./nosuch", code=127)
        self.assertIn(b"plain", self.seen("run", "--", "./plain", code=126).stderr)
        self.seen("run", "--", str(self.work), code=126)

    def test_passes_input_and_output(self):
        done = subprocess.run([SEEN, "run", "--", "cat"], input=b"in\0put", cwd=self.work, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=True)
        self.assertEqual((done.stdout, done.stderr), (b"in\0put", b""))

    def test_words_are_left_alone(self):
        done = self.seen("run", "printf", "%s.", "--json", "--", "-c", "", code=0)
        self.assertEqual(done.stdout, b"--json.--.-c..")

    def test_keeps_the_environment(self):
        env = {"SOME": "thing", "LD_PRELOAD": ""}
        names = {line.split(b"=")[0] for line in self.seen("run", "--", "env", code=0, env=env).stdout.splitlines()}
        self.assertLessEqual({b"SOME", b"LD_PRELOAD", b"SEEN_SESSION"}, names)
        self.assertLessEqual(names - {name.encode() for name in self.env} - {b"SOME"},
                             {b"LD_PRELOAD", b"SEEN_SESSION", b"SEEN_P", b"SEEN_STARTED", b"UV_USE_IO_URING"})

    def test_mode_off(self):
        for words, env in ((("--mode", "off"), {}), ((), {"SEEN_SESSION_MODE": "off"})):
            done = self.seen("run", *words, "--", "env", code=0, env=env)
            self.assertNotIn(b"LD_PRELOAD", done.stdout)

    def test_signal_mask_and_ignored_signals_are_inherited(self):
        script = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
        bare = subprocess.run(["bash", "-c", script], env=self.env, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(self.seen("run", "--", "bash", "-c", script, code=0).stdout, bare)


class FailOn(Case):
    """What is found by each mechanism is in tests/behaviour/test_fail_on.py."""

    def fail_on(self, what, *words, code, **more):
        return self.seen("run", "--session", "s", *what, "--", *words, code=code, **more).stderr.decode()

    def test_a_program_that_does_not_run(self):
        every = ("--fail-on=rule,stale,unobserved",)
        self.fail_on(every, "nosuchprogram", code=127)
        self.fail_on(every, str(self.work), code=126)
        self.fail_on(every, "true", code=0)

    def test_words_are_checked(self):
        self.seen("run", "-c", "rules.fail_on=rule|stale", "--", "true", code=125)
        self.seen("run", "--fail-on=", "--", "true", code=0)
        self.assertIn(b"did you mean 'stale'", self.seen("run", "--fail-on", "stales", "--", "true", code=125).stderr)

    def test_a_gate_that_observed_nothing_does_not_pass(self):
        line = self.fail_on(("--fail-on=stale", "--mode=off"), "sh", "-c", "exit 4", code=16)
        self.assertEqual(line, "seen: status 16, the command's own was 4: nothing was observed: [session] mode = off, set by --mode\n")
        (self.work / ".seen.ini").write_text("[session]\nmode = off\n")
        self.assertIn(".seen.ini:2", self.fail_on(("--fail-on=stale",), "true", code=16))
        (self.work / ".seen.ini").unlink()
        self.assertIn("nothing was observed: there was no session",
                      self.fail_on(("--fail-on=unobserved", "--state-dir=/proc", "--runtime-dir=/proc"), "true", code=16))
        self.fail_on(("--state-dir=/proc", "--runtime-dir=/proc"), "sh", "-c", "exit 4", code=4)

    def test_quiet_says_it_too(self):
        self.assertIn("status 16", self.fail_on(("--fail-on=unobserved", "--mode=off", "--quiet"), "true", code=16))

    def test_by_the_environment(self):
        self.fail_on(("--mode=off",), "true", code=16, env={"SEEN_RULES_FAIL_ON": "stale"})


class Summary(Case):
    def test_only_where_asked(self):
        self.assertEqual(self.seen("run", "--", "true", code=0).stderr, b"")
        text = self.seen("run", "--counts", "--session", "s", "--", "true", code=0).stderr
        for part in (b"0 requests", b"bytes not given again", b"1 process observed, 0 not", b"0 records lost", b"sealed ", b"session s"):
            self.assertIn(part, text)
        self.assertEqual(self.seen("run", "--counts", "--quiet", "--", "true", code=0).stderr, b"")

    def test_tables_that_are_full_are_reported_once(self):
        script = "for i in $(seq %d); do echo >> $i; done"
        words = ("run", "--counts", "--session", "full", "-c", "session.files=128", "--agent-is", "outside", "--", "sh", "-c")
        self.assertNotIn(b"no room", self.seen(*words, script % 40, code=0).stderr)
        text = self.seen(*words, script % 200, code=0).stderr
        self.assertEqual(text.count(b"seen: no room in the session's tables: 72 files forgotten"), 1, text)

    def test_at_a_terminal(self):
        terminal = Terminal([SEEN, "run", "--", "true"], self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"seen: no file of the workspace was written", terminal.output)
        terminal = Terminal([SEEN, "run", "--quiet", "--", "true"], self.work, self.env)
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.output, b"")


class Signals(Case):
    def start(self, script, **more):
        return subprocess.Popen([SEEN, "run", "--", "bash", "-c", script], cwd=self.work, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def test_kill_reaches_the_command(self):
        for name in ("TERM", "HUP", "INT", "USR1", "USR2", "QUIT", "CONT"):
            # the loop, not `wait`: bash runs traps between commands
            process = self.start(f"trap 'echo got {name}; exit 7' {name}; echo ready; while :; do sleep 0.05; done",
                                 start_new_session=True)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(getattr(signal, "SIG" + name))
            output, _ = process.communicate(timeout=DEADLINE)
            self.assertEqual((output, process.returncode), (f"got {name}\n".encode(), 7))

    def test_an_unhandled_signal_ends_both(self):
        process = self.start("echo ready; exec sleep 60", start_new_session=True)
        process.stdout.readline()
        process.terminate()
        process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_interrupt_at_the_terminal_arrives_once(self):
        terminal = Terminal([SEEN, "run", "--quiet", "--", sys.executable, "-c", COUNT], self.work, self.env)
        terminal.read(b"ready")
        terminal.write(b"\x03")
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"interrupts: 1", terminal.output)

    def test_stop_at_the_terminal_and_continue(self):
        job = [SEEN, "run", "--quiet", "--", "bash", "-c", "echo ready; sleep 0.5; echo went on; exit 5"]
        terminal = Terminal([sys.executable, "-c", SHELL, *job], self.work, self.env)
        terminal.read(b"ready")
        terminal.write(b"\x1a")
        terminal.read(b"stopped by")
        self.assertEqual(terminal.wait(), 5)
        self.assertIn(b"went on", terminal.output)

    def test_stops_and_goes_on_with_its_child(self):
        process = self.start("echo $$; kill -STOP $$; echo went on; exit 4", start_new_session=True)
        child = int(process.stdout.readline())
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        os.kill(process.pid, signal.SIGCONT)  # to `seen` alone
        output, _ = process.communicate(timeout=DEADLINE)
        self.assertEqual((output, process.returncode), (b"went on\n", 4))
        self.assertNotEqual(child, process.pid)

    def test_terminal_is_left_as_the_command_left_it(self):
        leader, follower = pty.openpty()
        before = termios.tcgetattr(follower)
        self.assertTrue(before[3] & termios.ECHO)
        subprocess.run([SEEN, "run", "--quiet", "--", "stty", "-echo", "raw"], stdin=follower, stdout=follower,
                       stderr=follower, cwd=self.work, env=self.env, timeout=DEADLINE, check=True)
        after = termios.tcgetattr(follower)
        self.assertFalse(after[3] & termios.ECHO)
        self.assertFalse(after[3] & termios.ICANON)
        os.close(leader)
        os.close(follower)

    def test_same_process_group_and_foreground(self):
        """Those of `seen run`, by each mechanism: its parent may be the supervisor, which is in a group of its own."""
        script = "import os; print('groups', os.getpgrp(), os.tcgetpgrp(0))"
        for mechanism in ("preload", "auto"):
            with self.subTest(mechanism):
                terminal = Terminal([SEEN, "run", "--quiet", "--via", mechanism, "--", sys.executable, "-c", script], self.work, self.env)
                self.assertEqual(terminal.wait(), 0)
                self.assertIn(b"groups %d %d" % (terminal.pid, terminal.pid), terminal.output)

    def test_killed_children_of_the_command_do_not_end_it(self):
        process = self.start("sleep 60 & kill -9 $!; wait; echo alive")
        output, _ = process.communicate(timeout=DEADLINE)
        self.assertEqual(output, b"alive\n")

    def test_time(self):
        begin = time.monotonic()
        self.seen("run", "--", "true", code=0)
        self.assertLess(time.monotonic() - begin, 10)


class ModeOffByAWorkspace(Case):
    """A .seen.ini that switches everything off, as an agent may write it, is reported."""

    def test_it_is_said_twice(self):
        (self.work / ".seen.ini").write_text("\n[session]\nmode = off\n")
        what = b"[session] mode = off, set by %s/.seen.ini:3" % os.fsencode(self.work)
        for words, lines in (((), [b"seen: nothing is observed: " + what]), (("--quiet",), [b"seen: nothing is observed: " + what]),
                             (("--counts",), [b"seen: nothing is observed: " + what, b"ran", b"seen: nothing was observed: " + what])):
            done = self.seen("run", *words, "--", "sh", "-c", "echo ran; exit 3", code=3, stderr=subprocess.STDOUT)
            self.assertEqual([line for line in done.stdout.splitlines() if line != b"ran" or len(lines) > 1], lines)

    def test_a_declared_choice_is_not_reported(self):
        (self.work / ".seen.ini").write_text("[session]\nmode = off\n")
        self.assertEqual(self.seen("run", "--counts", "--mode", "off", "--", "true", code=0).stderr, b"")
        self.assertEqual(self.seen("run", "--counts", "--", "true", code=0, env={"SEEN_SESSION_MODE": "off"}).stderr, b"")


class Launchers(Case):
    """A launcher that stands on PATH under the name of what it launches ends in the real program."""

    def setUp(self):
        super().setUp()
        for name in ("launchers", "programs"):
            (self.top / name).mkdir()
        self.program("programs", "#!/bin/sh\necho real \"$@\"\n")
        self.env["PATH"] = f"{self.top}/launchers:{self.top}/programs:{self.env['PATH']}"

    def program(self, directory, text):
        path = self.top / directory / "agent"
        path.write_text(text)
        path.chmod(0o755)
        return path

    def start(self, *words, **more):
        return subprocess.run(words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=False, **more)

    def test_scripts(self):
        for text in (f'#!/bin/sh\nexec {SEEN} run -- agent "$@"\n', f'#!/bin/bash\n{SEEN} run -- agent "$@"\n',
                     f"#!{sys.executable}\nimport os, sys\nos.execv('{SEEN}', ['seen', 'run', '--', 'agent', *sys.argv[1:]])\n",
                     f'#!/bin/sh\nexec env THIS=that {SEEN} run -- agent "$@"\n', f'#!/bin/sh\ntimeout 50 {SEEN} run -- agent "$@"\n'):
            self.program("launchers", text)
            done = self.start("agent", "a", "b c")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"real a b c\n", b""), text)
        done = self.start(SEEN, "run", "--", "agent", "a", "b c")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"real a b c\n", b""))

    @unittest.skipUnless(shutil.which("cc"), "no compiler")
    def test_a_program(self):
        (self.top / "launcher.c").write_text('''
            #include <stdlib.h>
            #include <sys/wait.h>
            #include <unistd.h>
            int main(int argc, char **argv)
            {
                int status;
                (void)argc;
                if (getenv("FORKS") && fork() > 0)
                    return wait(&status) < 0 || status;
                argv[0] = "agent";
                execl("%s", "seen", "run", "--", "agent", argv[1], (char *)0);
                return 99;
            }''' % SEEN)
        subprocess.run(["cc", "-w", "-o", self.top / "launchers/agent", self.top / "launcher.c"], check=True, env=os.environ)
        for more in ({}, {"FORKS": "1"}):
            self.env.update(more)
            done = self.start("agent", "a")
            self.assertEqual((done.returncode, done.stdout), (0, b"real a\n"), (done.stderr, more))

    def test_one_that_starts_no_other(self):
        """The real program is gone: it ends, and says why."""
        (self.top / "programs/agent").unlink()
        self.program("launchers", f'#!/bin/sh\nexec {SEEN} run --mode observe -- agent "$@"\n')
        done = self.start("agent")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"agent: it starts itself by `seen run` again and again", done.stderr)

    def test_a_run_in_a_run_is_what_was_asked_for(self):
        """The same program again, by itself or by what it started, is no launcher."""
        self.program("launchers", "#!/bin/sh\necho first\n")
        self.assertEqual(self.start(SEEN, "run", "--", "bash", "-c", f"{SEEN} run -- agent; {SEEN} run -- bash -c '{SEEN} run -- agent'").stdout,
                         b"first\nfirst\n")
        shutil.copy("/bin/bash", self.top / "programs/bash")
        self.assertEqual(self.start(SEEN, "run", "--", "bash", "-c", f"exec {SEEN} run -- bash -c 'echo $BASH'").returncode, 0)


if __name__ == "__main__":
    unittest.main()

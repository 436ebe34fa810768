"""What `seen run` leaves behind: the terminal as a shell would, the way that the command ended or stopped, what goes on."""
import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

from driver import SEEN, Case, Terminal

# A shell's part: runs a command as a job in the foreground, and says how it stopped and ended, and whether the terminal's modes are
# what they were.
SHELL = r"""
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
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
    os.write(1, b"<stopped %d>" % os.WSTOPSIG(status))
    os.killpg(pid, signal.SIGCONT)
os.tcsetpgrp(0, os.getpgrp())
how = "killed %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status)
os.write(1, b"<%s, %s>" % (how.encode(), b"same" if termios.tcgetattr(0) == before else b"changed"))
"""
RAW = "stty raw -echo; "


class OnATerminal(Case):
    def shell(self, *words, columns=0):
        terminal = Terminal([sys.executable, "-c", SHELL, *words], self.work, self.env)
        fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        return terminal

    def ends(self, terminal):
        self.assertEqual(terminal.wait(), 0)
        return terminal.output

    def test_a_signal_that_ends_the_command(self):
        for via, name in (("preload", "TERM"), ("both", "TERM"), ("preload", "KILL"), ("preload", "SEGV")):
            output = self.ends(self.shell(SEEN, "run", "--via", via, "--", "bash", "-c", RAW + "kill -%s $$" % name))
            self.assertIn(b"<killed %d, same>" % getattr(signal, "SIG" + name), output)
            self.assertIn(b"seen: no file of the workspace was written", output)

    def test_what_it_leaves_by_itself_stays(self):
        self.assertIn(b"<exit 3, changed>", self.ends(self.shell(SEEN, "run", "--", "bash", "-c", RAW + "exit 3")))

    def test_the_signal_that_stops_the_command(self):
        for via in ("preload", "both"):
            terminal = self.shell(SEEN, "run", "--quiet", "--via", via, "--", "bash", "-c", "echo ready; read -r line; echo went on; exit 5")
            terminal.read(b"ready")
            terminal.write(b"\x1a")
            terminal.read(b"<stopped")
            terminal.write(b"\n")
            output = self.ends(terminal)
            self.assertIn(b"<stopped %d>" % signal.SIGTSTP, output)
            self.assertIn(b"went on", output)
            self.assertIn(b"<exit 5, ", output)
        terminal = self.shell(SEEN, "run", "--quiet", "--", "bash", "-c", "kill -STOP $$; exit 6")
        self.assertRegex(self.ends(terminal), rb"<stopped %d>.*<exit 6, " % signal.SIGSTOP)

    def test_the_last_lines_stand_on_lines_of_their_own(self):
        """Over what a program left on its screen, in raw mode or not; and what it printed last is not erased."""
        for end in ("exit 3", "kill -TERM $$"):
            output = self.ends(self.shell(SEEN, "run", "--", "bash", "-c", RAW + "printf 'the rest'; " + end, columns=40))
            last = output[output.index(b"the rest"):]
            self.assertTrue(last.startswith(b"the rest" + b" " * 40 + b"\r\x1b[Kseen: "), last)
            lines = last[:last.index(b"<")].split(b"\n")[:-1]
            self.assertEqual(len(lines), 1)
            for line in lines:
                self.assertRegex(line, rb"\r\x1b\[Kseen: [^\r]*\r\Z")

    def test_a_terminal_that_cannot_erase(self):
        self.env["TERM"] = "dumb"
        output = self.ends(self.shell(SEEN, "run", "--", "true", columns=40))
        self.assertIn(b"seen: no file of the workspace was written", output)
        self.assertNotIn(b"\x1b", output)


class GoesOn(Case):
    """What lives when the run has ended is named in its last lines."""

    # Starts a command in a session of its own, and waits until it has become that.
    START = "start() { setsid \"$@\" >/dev/null 2>&1 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do sleep 0.02; done; }; "

    def run_it(self, script, *options):
        script = self.START + script
        return self.seen("run", "--counts", *options, "--", "bash", "-c", script, code=0).stderr.decode().splitlines()

    def finish(self, line):
        for pid in re.findall(r"pid (\d+)", line):
            with contextlib.suppress(ProcessLookupError):  # one may end with another: the first of a namespace does
                os.kill(int(pid), signal.SIGKILL)

    def test_it_is_named(self):
        lines = self.run_it("start sleep 100")
        self.finish(lines[-2])
        self.assertRegex(lines[-2], r"\Aseen: 1 process goes on after the end: sleep \(pid \d+\)\Z")
        self.assertEqual(lines[-1], "seen: what it records from now on is not under this seal; the next run of this session seals it")
        self.assertTrue(lines[-3].startswith("seen: sealed "))

    def test_in_a_namespace_of_its_own(self):
        """Its number there is another process's here."""
        unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no namespaces")
        lines = self.run_it("setsid %s bash -c 'sleep 100 & sleep 100 & sleep 100; true' >/dev/null 2>&1 & sleep 0.5" % " ".join(unshare), "--via", "preload")
        self.finish(lines[-2])
        self.assertEqual(set(re.findall(r"(\S+) \(pid", lines[-2])) - {"unshare", "bash", "sleep"}, set(), lines)

    def test_one_that_is_not_observed_and_has_no_journal(self):
        lines = self.run_it("for i in 1 2 3 4 5; do start env -u LD_PRELOAD sleep 100; done",
                            "--journal-level", "off")
        self.finish(lines[-1])
        self.assertRegex(lines[-1], r"\Aseen: 5 processes go on after the end: (sleep \(pid \d+\), ){3}sleep \(pid \d+\) \.\.\.\Z")
        for pid in subprocess.run(["pgrep", "-f", "^sleep 100$"], stdout=subprocess.PIPE, check=False).stdout.split():
            try:
                with open("/proc/%d/environ" % int(pid), "rb") as file:
                    if os.fsencode(self.top) in file.read():
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:  # another test's, which has ended
                pass

    def test_what_just_ends_is_not(self):
        for via in ("preload", "both"):
            for _ in range(5):  # it has a tenth of a second
                lines = self.run_it("ls / | cat >/dev/null; sleep 0.03 >/dev/null 2>&1 &", "--via", via)
                if lines[-1].startswith("seen: sealed "):
                    break
            else:
                self.fail(lines)


if __name__ == "__main__":
    unittest.main()

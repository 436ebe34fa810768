"""seen top: driven in tmux and by a terminal of its own, while an agent works.

The tests of a class share a session and its agent.  What a screen shows is waited for.
"""
import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from driver import BUILD, Terminal
from harness import SEEN, Session, lines, wait_until
from tmux import DEADLINE, Tmux

LONG = bool(os.environ.get("SEEN_LONG"))
INTERVAL = ("--interval", "100")
ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"
HOSTILE = ["esc\x1b[2J\x1b]0;title\x07", "new\nline", "\u65e5\u672c\u8a9e\u306e\u540d\u524d", "e\u0301\u0301a\u0300",
           "right\u202eto-left", b"bad\xff\xfe\xc3", "zwj\U0001f468\u200d\U0001f469", "<script>alert(1)<", "%s%n%d",
           "long" + "x" * 200, " lead and trail "]


def work(session, agent):
    session.write("notes.txt", lines("notes"))
    session.write("stale.txt", lines("stale"))
    agent.shell("cat notes.txt stale.txt")
    agent.shell("cat notes.txt")
    session.write("stale.txt", lines("by the user"))
    agent.shell("echo mine > stale.txt")
    agent.shell("mkdir -p out; echo made > out/made.o")


class Worked(unittest.TestCase):
    """A session in which an agent has worked, and still lives."""

    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.addClassCleanup(cls.session.close)
        cls.agent = cls.session.agent()
        cls.addClassCleanup(cls.agent.close)
        work(cls.session, cls.agent)

    def environment(self, **more):
        return {**self.session.environment, "LC_ALL": "C.UTF-8", **more}

    def words(self, *options):
        return [SEEN, "top", "--session", self.session.name, *INTERVAL, *options]


class TopInTmux(Tmux, Worked):
    """Of a session's agent."""

    @property
    def workspace(self):
        return self.session.workspace

    def top(self, columns=80, height=24, shell=False):
        self.open(self.words(), columns, height, shell)


class InTmux(TopInTmux):
    """As a person sees it."""

    def test_what_it_shows(self):
        self.top()
        screen = self.shows(r"written +out/made\.o")
        self.assertEqual(len(screen), 24)
        self.assertRegex(screen[0], r"seen top  test  .*/workspace +running  0:\d\d:\d\d")
        counters = self.session.status()["counters"]
        text = "\n".join(screen)
        self.assertRegex(text, r"conflicts +%d\b" % counters["stale_warned"])
        self.assertRegex(text, r"notices +%d\b" % counters["notices"])
        self.assertRegex(text, r"saved +{:,} B".format(counters["bytes_saved"]))
        # AGO READS BYTES REPEATS WRITES STATE PATH
        self.assertRegex(self.line(screen, r" notes\.txt$"), r"\d+[sm] +2 +[\d,]+ B +1 +- noticed +notes\.txt$")
        self.assertRegex(self.line(screen, r" stale\.txt$"), r"conflict +stale\.txt$")
        # Numbers end where their heads do.
        head = self.line(screen, "READS +BYTES")
        self.assertEqual(self.line(screen, r" notes\.txt$")[:head.index("READS") + 5][-1], "2")
        self.keys("2")
        screen = self.shows(r"PID +ROLE +READS")
        self.assertRegex(self.line(screen, r"fake_agent|python3"), r"\d+ agent +\d+ +(\d+|-) .* runs +")
        self.keys("3")
        screen = self.shows(r"TIME +EVENT")
        self.line(screen, r"^ \d\d:\d\d:\d\d guarded .*stale\.txt  warned: stale, kept")
        self.line(screen, r"notice .*notes\.txt  [\d,]+ bytes not given again")
        self.keys("Tab")
        self.shows(r"STEP +TIME +EXIT")
        self.keys("Tab")
        self.shows(r"AGO +READS")
        self.keys("q")
        self.ended()

    def test_it_goes_on_while_the_agent_works(self):
        self.top()
        self.shows(r"written +out/made\.o")
        self.agent.shell("echo later > later.txt")
        self.shows(r" later\.txt$")
        self.keys("z")
        self.shows("paused")
        self.agent.shell("echo not > paused.txt")
        time.sleep(0.5)
        self.assertNotIn("paused.txt", "\n".join(self.screen()))
        self.keys("z")
        self.shows(r" paused\.txt$")

    def test_keys(self):
        self.top()
        self.shows(r" notes\.txt$")
        for order in ("by bytes", "by repeats", "by writes", "recent"):
            self.keys("s")
            self.shows(order)
        self.keys("s", "s")
        screen = self.shows("by repeats")
        rows = screen[[i for i, line in enumerate(screen) if "READS" in line][0] + 1:]
        self.assertRegex(rows[0], r" notes\.txt$")
        self.assertNotIn("python", "\n".join(screen))
        self.keys("w")
        self.hides("by repeats, workspace")
        self.keys("G")
        self.shows(r" /(usr|etc|proc|dev|root|home|lib)/|…")
        self.keys("w", "/", "NOTES")
        screen = self.shows("/NOTES")
        self.hides(r"written +out/made\.o")
        self.keys("Enter")
        self.shows("filter: NOTES")
        self.keys("Escape")
        self.shows(r"written +out/made\.o")
        self.keys("/", "nobody has that")
        self.shows("nothing holds that text")
        self.keys("BSpace", "C-u", "sta")
        self.shows(r" stale\.txt$")
        self.keys("Escape", "?")
        self.shows("the next order of the rows")
        self.keys("q")  # the help
        self.hides("the next order of the rows")
        self.keys("r", "G", "g", "Down", "Up", "NPage", "PPage", "End", "Home", "F5", "x", "h", "h")
        self.shows(r"written +out/made\.o")
        self.keys("C-c")
        self.ended()

    def test_sizes(self):
        self.top()
        self.shows(r" notes\.txt$")
        for columns, height in ((40, 10), (57, 14), (200, 60), (40, 24), (120, 10), (80, 24)):
            self.tmux("resize-window", "-x", str(columns), "-y", str(height))
            screen = self.shows(r"^ seen top .* %s$" % r"\d:\d\d:\d\d *")
            wait_until(lambda: len(self.screen()[0].rstrip()) == columns - 1, DEADLINE)
            screen = self.screen()
            self.assertEqual(len(screen), height)
            text = "\n".join(screen)
            for once in ("seen top", "READS", "q quit", "conflicts"):
                self.assertEqual(text.count(once), 1, (columns, height, text))
            self.assertTrue(any(re.search(r"(stale|notes|made|later)\.(txt|o)", line) for line in screen), text)
        for columns, height in ((39, 24), (80, 9), (10, 3), (2, 1)):
            self.tmux("resize-window", "-x", str(columns), "-y", str(height))
            wait_until(lambda: self.screen()[0].startswith("seen top: %dx%d, needs 40x10"[:columns - 1] % (
                (columns, height) if columns > 12 else ())) if columns > 12 else self.screen()[0].startswith("s"), DEADLINE)
        self.tmux("resize-window", "-x", "80", "-y", "24")
        self.shows(r" notes\.txt$")
        self.keys("q")
        self.ended()

    def test_suspend_and_go_on(self):
        self.top(shell=True)
        self.shows(r"[$#] *$")
        self.keys("stty -a > ../before; clear; echo on the shell; %s; stty -a > ../after; echo code $?" % " ".join(self.words()), "Enter")
        self.shows(r" notes\.txt$")
        self.keys("C-z")
        self.shows("Stopped")
        self.shows("on the shell")  # what was there before
        self.keys("stty -a > ../between; fg", "Enter")
        screen = self.shows(r" notes\.txt$")
        self.assertNotIn("on the shell", "\n".join(screen))
        self.keys("s")
        self.shows("by bytes")
        self.keys("q")
        self.shows("code 0")
        self.shows("on the shell")
        self.assertEqual(self.session.read("../before"), self.session.read("../after"))
        self.assertEqual(self.session.read("../before"), self.session.read("../between"))


class Hostile(TopInTmux):
    """Names that a writer chose."""

    def test_hostile_names(self):
        names = [name if isinstance(name, bytes) else name.encode() for name in HOSTILE]
        for name in names:
            path = os.path.join(self.session.workspace.encode(), name)
            with open(path, "wb") as file:
                file.write(lines("hostile"))
            self.agent.run(["cat", os.fsdecode(name)])
        self.top(columns=100, height=40)
        self.shows(r"bad\\xff\\xfe\\xc3$")
        for shown in ("esc\\x1b[2J\\x1b]0;title\\x07", "new\\nline", "日本語の名前", "right\\xe2\\x80\\xaeto-left", "zwj👨\\xe2\\x80\\x8d👩",
                      "<script>alert(1)<", "%s%n%d", "…" + "x" * 20):
            self.shows(re.escape(shown))
        self.assertNotIn("title", self.tmux("display-message", "-p", "#{pane_title}"))
        # The columns hold beside them: the state stands where it does in every row.
        for pane, head, word in (("1", "STATE", "PATH"), ("2", "STATE", "COMMAND")):
            self.keys(pane)
            screen = self.shows(r"\b%s +%s\b" % (head, word))
            at = self.line(screen, head + " +" + word).index(word)
            self.assertFalse([line for line in screen[7:20] if line.strip() and line[at - 1:at] not in (" ", "")], screen)
        self.keys("q")
        self.ended()


class Steps(TopInTmux):
    """The steps of the session, and the key that takes the last one back."""

    def test_they_are_shown_as_they_come(self):
        self.top(columns=100)
        self.shows(r" notes\.txt$")
        self.keys("4")
        screen = self.shows(r"^ +STEP TIME +EXIT +FILES +LINES COMMAND$")
        screen = self.shows(r"^ +4 \d\d:\d\d:\d\d +0 +1 +\+1 mkdir -p out; echo made > out/made\.o")
        self.line(screen, r"^ +3 \d\d:\d\d:\d\d +0 +1 +\+1 -100 echo mine > stale\.txt")
        self.line(screen, r" 4 steps 4 ")
        self.agent.shell("mv notes.txt moved.txt")
        screen = self.shows(r"^ +5 .* mv notes\.txt moved\.txt")
        rows = [line.split()[0] for line in screen if re.match(r" +\d+ \d\d:\d\d:\d\d +[0-9a-z]+ +\d+ ", line)]
        self.assertEqual(rows[:5], ["5", "4", "3", "2", "1"], screen)
        self.keys("/", "MADE.O")  # also of a file of the step
        self.hides(r"mv notes\.txt")
        self.line(self.screen(), r"^ +4 .*mkdir")
        self.keys("Escape", "q")
        self.ended()
        self.agent.shell("mv moved.txt notes.txt")


class Undoing(TopInTmux):
    """`p` in `seen top`, while the agent lives."""

    def exists(self, name):
        return os.path.lexists(self.session.path(name))

    def test_undo_after_asking(self):
        self.agent.shell("echo precious > kept.txt")
        self.agent.shell("rm -rf notes.txt; echo worse > kept.txt")
        self.top(columns=100)
        self.shows(r" kept\.txt$")
        self.keys("4")
        self.shows(r"rm -rf notes\.txt")
        self.keys("p")
        screen = self.shows(r"undo step 6\? \[y/N\]")
        self.line(screen, r"^step 6: rm -rf notes\.txt; echo worse > kept\.txt$")
        self.line(screen, r"^would restore notes\.txt$")
        for no in ("n", "Enter", "Escape", "q"):
            self.keys(no)
            self.shows(r"q quit")
            self.keys("p")
            self.shows(r"undo step 6\? \[y/N\]")
        self.assertFalse(self.exists("notes.txt"))
        self.keys("y")
        screen = self.shows(r"paths undone; `seen redo` takes it back")
        self.line(screen, r"^restored notes\.txt$")
        self.line(screen, "^done$")
        self.assertTrue(self.exists("notes.txt"))
        self.assertEqual(self.session.read("kept.txt"), b"precious\n")
        self.keys("q")
        self.shows(r"^ +6 .* undone .* rm -rf notes\.txt")
        # What an external program changed since is left, as by `seen undo --last`.
        self.session.write("kept.txt", b"by the user")
        self.keys("p")
        screen = self.shows(r"leave step 5, for the one before it\? \[y/N\]")
        self.line(screen, r"kept\.txt is left as it is: an external program changed it since$")
        self.keys("y")
        self.shows(r"not all was done")
        self.shows(r"step 5 is left as it is; --force undoes it, too")
        self.assertEqual(self.session.read("kept.txt"), b"by the user")
        self.keys("q", "p")
        self.shows(r"undo step 4\? \[y/N\]")
        self.keys("C-c")  # ends it, and nothing else
        self.ended()
        self.assertTrue(self.exists("out/made.o"))


class UndoRefused(TopInTmux):
    """What `seen undo --last` refuses."""

    def test_a_step_that_runs_and_one_that_came_meanwhile(self):
        self.top(columns=100)
        self.shows(r" notes\.txt$")
        self.keys("p")
        self.shows(r"undo step 4\? \[y/N\]")
        self.agent.shell("echo later > later.txt")
        self.keys("y")
        self.shows(r"nothing was undone: the last step is another one now, step 5")
        self.assertTrue(os.path.exists(self.session.path("later.txt")))
        self.keys("q", "p")
        self.shows(r"undo step 5\? \[y/N\]")
        command = "echo more >> later.txt; until [ -e go ]; do sleep 0.1; done"
        shell = threading.Thread(target=self.agent.shell, args=(command,))
        shell.start()
        self.addCleanup(shell.join)
        self.addCleanup(self.session.write, "go", b"")
        wait_until(lambda: self.session.read("later.txt") == b"later\nmore\n", DEADLINE)
        self.keys("n", "p")
        self.shows(r"undo step 6\? \[y/N\]")
        self.keys("y")
        self.shows("step 6 still runs: " + re.escape(command[:50]))
        self.assertEqual(self.session.read("later.txt"), b"later\nmore\n")
        self.keys("q", "q")
        self.ended()


class NothingToUndo(TopInTmux):
    """Of a session that changed nothing."""

    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.addClassCleanup(cls.session.close)
        cls.agent = cls.session.agent()
        cls.addClassCleanup(cls.agent.close)
        cls.session.write("notes.txt", lines("notes"))
        cls.agent.shell("cat notes.txt")

    def test_nothing_is_asked(self):
        self.top()
        self.shows(r" notes\.txt$")
        self.keys("p")
        screen = self.shows(r"^nothing to undo   q back")
        self.line(screen, r"nothing to undo: no step of session test changed anything")
        self.keys("y")
        self.shows(r"q quit")
        self.keys("q")
        self.ended()


class SessionEnds(unittest.TestCase):
    """The session ends while top shows it."""

    @unittest.skipUnless(shutil.which("tmux"), "no tmux")
    def test_it_says_so_and_stays(self):
        case = TopInTmux("screen")
        case.session = Session()
        self.addCleanup(case.session.close)
        case.agent = case.session.agent()
        self.addCleanup(case.doCleanups)
        case.setUp()
        work(case.session, case.agent)
        case.top()
        case.shows(r" running ")
        case.agent.close()
        screen = case.shows(r"^ seen top .* ended ")
        case.line(screen, r" notes\.txt$")
        case.keys("2")
        case.shows(r"exit 0|gone")
        case.hides(r" runs ")
        shutil.rmtree(os.path.join(case.session.directory, "run"))
        case.shows(r"^ seen top .* removed ")
        case.keys("q")
        case.ended()


class OnATerminal(Worked):
    """What goes to the terminal, and in what state it is left."""

    def start(self, *options, columns=80, height=24, **environment):
        # Of a terminal of its own: the program may have changed this one's when it could be asked.
        ends = os.openpty()
        self.before = termios.tcgetattr(ends[0])
        for fd in ends:
            os.close(fd)
        self.terminal = Terminal(self.words(*options), self.session.workspace, self.environment(**environment))
        fcntl.ioctl(self.terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, columns, 0, 0))
        return self.terminal

    def ends(self, code):
        """With the terminal as it was."""
        pid, status = os.waitpid(self.terminal.pid, 0)
        self.assertEqual(pid, self.terminal.pid)
        self.assertEqual(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), code)
        try:
            while select.select([self.terminal.fd], [], [], 0)[0]:
                self.terminal.output += os.read(self.terminal.fd, 65536)
        except OSError:  # no process holds it any more
            pass
        output = self.terminal.output
        self.assertGreater(output.rfind(NORMAL), output.rfind(ALTERNATE), "the alternate screen is left")
        self.assertGreater(output.rfind(b"\x1b[?12l\x1b[?25h"), output.rfind(b"\x1b[?25l"), "the cursor is shown")
        self.assertEqual(termios.tcgetattr(self.terminal.fd)[:4], self.before[:4])
        os.close(self.terminal.fd)

    def test_quit(self):
        terminal = self.start()
        terminal.read(b"notes.txt")
        self.assertIn(ALTERNATE, terminal.output)
        self.assertFalse(termios.tcgetattr(terminal.fd)[3] & (termios.ECHO | termios.ICANON))
        terminal.write(b"q")
        self.ends(0)

    def test_signals(self):
        for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP), (signal.SIGINT, 0)):
            with self.subTest(number=number):
                terminal = self.start()
                terminal.read(b"notes.txt")
                os.kill(terminal.pid, number)
                self.ends(code)

    def test_stop_by_others(self):
        terminal = self.start()
        terminal.read(b"notes.txt")
        os.kill(terminal.pid, signal.SIGSTOP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.output = b""
        termios.tcsetattr(terminal.fd, termios.TCSANOW, self.before)  # as a shell does
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.read(ALTERNATE)  # what it wrote before it was stopped may come first
        terminal.output = terminal.output[terminal.output.index(ALTERNATE):]
        terminal.read(b"notes.txt")
        self.assertFalse(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)
        terminal.write(b"q")
        self.ends(0)

    def test_the_terminal_hangs_up(self):
        # Also one that ignores the signal.
        for prefix in ((), ("nohup",)):
            pid, fd = os.forkpty()
            if pid == 0:
                os.chdir(self.session.workspace)
                words = self.words()
                if prefix:
                    signal.signal(signal.SIGHUP, signal.SIG_IGN)
                os.execve(words[0], words, self.environment())
            terminal = Terminal.__new__(Terminal)
            terminal.pid, terminal.fd, terminal.output = pid, fd, b""
            terminal.read(b"notes.txt")
            os.close(fd)
            _, status = os.waitpid(pid, 0)
            self.assertIn(status if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), (0, signal.SIGHUP), prefix)

    def test_nothing_is_sent_that_did_not_change(self):
        terminal = self.start("--interval", "1000")
        terminal.read(b"notes.txt")
        time.sleep(1.3)
        before = len(terminal.output)
        terminal.write(b"z")
        terminal.read(b"paused")
        while len(terminal.output) != before:  # what was on its way
            before = len(terminal.output)
            time.sleep(0.2)
        terminal.write(b"x")
        time.sleep(0.5)
        sent = os.read(terminal.fd, 65536) if select.select([terminal.fd], [], [], 0)[0] else b""
        self.assertLess(len(sent), 200, sent)
        terminal.write(b"q")
        self.ends(0)

    def test_colours(self):
        colour = re.compile(rb"\x1b\[(?:\d+;)*3[1-6]m")
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "vt100"}, False)):
            with self.subTest(environment):
                terminal = self.start(**environment)
                terminal.read(b"warned")
                terminal.write(b"q")
                _, status = os.waitpid(terminal.pid, 0)
                self.assertEqual(status, 0)
                self.assertEqual(bool(colour.search(terminal.output)), coloured)
                self.assertIn(b"conflict", terminal.output)
                os.close(terminal.fd)

    def test_a_locale_without_utf8(self):
        name = "\u65e5.txt"
        self.session.write(name, lines("x"))
        self.agent.run(["cat", name])
        terminal = self.start(LC_ALL="C")
        terminal.read(b"\\xe6\\x97\\xa5.txt")
        terminal.write(b"2")
        terminal.read(b"`- ")
        terminal.write(b"q")
        self.ends(0)
        self.assertFalse(re.search(rb"[\x80-\xff]", terminal.output))


class Refused(Worked):
    """Where there is nothing to draw on."""

    def refused(self, result, *texts):
        self.assertEqual(result.returncode, 17, result)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(result.stderr.count(b"\n"), 1)
        for text in (b"seen status", b"seen log -f", *texts):
            self.assertIn(text, result.stderr)

    def test_no_terminal(self):
        self.refused(self.session.seen("top", "--session", "test", check=False), b"terminal")

    def test_terminals_that_cannot_be_drawn_on(self):
        for term in ("dumb", "unknown", "no-such-terminal", "", "a\033[2Jb"):
            with self.subTest(term):
                output = Terminal(self.words(), self.session.workspace, self.environment(TERM=term))
                self.assertEqual(output.wait(), 17)
                self.assertIn(b"seen status", output.output)
                self.assertEqual(output.output.count(b"\n"), 1)
                self.assertNotIn(b"\x1b", output.output)

    def test_wrong_words(self):
        for words, text in ((("--interval", "99"), b"100 to 60000"), (("--interval", "60001"), b"100 to 60000"), (("--interval", "x"), b"'x'"),
                            (("more",), b"'more' is no option")):
            result = self.session.seen("top", *words, check=False)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(text, result.stderr)
        self.assertEqual(self.session.seen("top", "--session", "nobody", check=False).returncode, 3)


@unittest.skipUnless(LONG, "a journal of a million events")
class Large(TopInTmux):
    """A session with a history."""

    def test_it_starts_at_once(self):
        maker = BUILD / "tests" / "bench" / "journal_maker"
        if not maker.exists():
            self.skipTest("no journal_maker")
        journal = self.session.seen("status", "--json", "--session", "test")
        path = json.loads(journal.stdout)["journal"]["file"]
        self.agent.close()
        os.remove(path)
        subprocess.run([maker, path, "1000000"], check=True)
        begin = time.monotonic()
        self.top()
        self.shows("^ seen top  test", 5)
        self.shows(r"^ +\d+[smhd] +\d", 5)  # rows
        print("rows after %.1f s" % (time.monotonic() - begin))
        self.keys("3")
        self.shows(r"TIME +EVENT", 5)
        self.hides("reading the journal")
        print("read after %.1f s" % (time.monotonic() - begin))


if __name__ == "__main__":
    unittest.main()

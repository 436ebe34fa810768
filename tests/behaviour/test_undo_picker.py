"""`seen undo` alone on a terminal: the steps to choose from, a diff, a plan, a question."""
import os
import re
import shutil
import signal
import subprocess
import termios
import time
import unittest

from driver import Terminal
from harness import SEEN, Session, lines
from tmux import Tmux

ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"


class Picker(Tmux):
    """Three steps: notes.txt is changed, src removed, TODO made; then one that changes nothing."""

    def setUp(self):
        super().setUp()
        self.session = Session()
        self.addCleanup(self.session.close)
        self.session.write("notes.txt", b"a draft\n\tof \\n notes\n")
        os.mkdir(self.session.path("src"))
        self.session.write("src/a.c", lines("a"))
        agent = self.session.agent()
        for command in ("sed -i s/draft/text/ notes.txt", "rm -rf src", "echo x > TODO", "ls"):
            agent.shell(command)
        agent.close()

    @property
    def workspace(self):
        return self.session.workspace

    def environment(self, **more):
        return {**self.session.environment, "LC_ALL": "C.UTF-8", **more}

    def words(self, *options):
        return [SEEN, "undo", "--session", self.session.name, *options]

    def start(self, *options, **environment):
        return Terminal(self.words(*options), self.session.workspace, self.environment(**{"TERM": "xterm-256color", **environment}))

    def exists(self, name):
        return os.path.lexists(self.session.path(name))

    def test_a_step_is_chosen_shown_and_undone(self):
        self.open(self.words(), columns=100)
        screen = self.shows(r"q quit")
        self.assertRegex(screen[0], r"seen undo: test, 3 steps changed files \(`seen story` has all\)")
        rows = [line.split() for line in screen[2:5]]
        self.assertEqual([(row[0], row[3], row[4]) for row in rows], [("3", "1", "+1"), ("2", "1", "-100"), ("1", "1", "+1")])
        self.assertEqual(rows[2][4:6], ["+1", "-1"])
        self.line(screen, r"^   made +\+1 +TODO$")
        self.keys("Down")
        self.shows(r"removed +-100 +src/a\.c")
        self.keys("Down")
        self.shows(r"changed +\+1 -1 +notes\.txt")
        self.keys("Enter")
        screen = self.shows(r"^\+a text$")
        self.assertEqual(screen[0].split(":")[0], "step 1")
        self.line(screen, r"^-a draft$")
        self.line(screen, r"^         of \\n notes$")  # a tab of the file, and its backslash
        self.keys("q")
        self.shows(r"q quit")
        self.keys("Up", "Enter")
        self.shows(r"^1-\d+ of \d+ ")
        self.keys("G")
        self.shows(r"^-a line 99 of the file")
        self.keys("u")
        screen = self.shows(r"undo step 2\? \[y/N\]")
        self.line(screen, r"^would restore src/a\.c$")
        self.keys("n")
        self.shows(r"q back")
        self.assertFalse(self.exists("src"))
        self.keys("u")
        self.shows(r"undo step 2\? \[y/N\]")
        self.keys("y")
        screen = self.shows(r"2 paths undone; `seen redo` takes it back")
        self.line(screen, r"^restored src/a\.c$")
        self.ended()
        self.assertTrue(self.exists("src/a.c") and self.exists("TODO"))

    def test_all_from_a_step_on_and_what_is_undone(self):
        self.open(self.words())
        self.shows(r"q quit")
        self.keys("Down", "s")
        screen = self.shows(r"undo step 2 and all later ones\? \[y/N\]")
        self.line(screen, r"^would remove TODO$")
        self.keys("Enter")  # is no
        self.shows(r"q quit")
        self.keys("s")
        self.shows(r"\[y/N\]")
        self.keys("y")
        self.shows(r"3 paths undone")
        self.ended()
        self.tmux("respawn-pane", *self.words())
        screen = self.shows(r"q quit")
        self.assertEqual([line.split()[2:3] for line in screen[2:5]], [["undone"], ["undone"], ["0"]], screen)
        self.keys("u")
        self.shows(r"nothing to undo")
        self.keys("y")
        self.keys("q", "q")
        self.ended()

    def test_what_is_left_is_shown_before_the_question(self):
        self.session.write("TODO", b"by the user")
        self.open(self.words())
        self.shows(r"q quit")
        self.keys("u")
        screen = self.shows(r"nothing to undo")
        self.line(screen, r"^TODO is left as it is: an external program changed it since$")
        self.keys("q", "q")
        self.ended()

    def question_and_later(self, key, answer, later):
        """`later()` comes behind the question: the plan is another one then, and nothing is done."""
        self.open(["bash", "-c", '"$@"; sleep 60', "bash", *self.words()])  # tmux can miss what is printed at an end
        self.shows(r"q quit")
        self.keys(key, answer)
        screen = self.shows(r"\[y/N\]")
        later()
        self.keys("y")
        self.shows(r"nothing was undone: the plan is another one now than")
        self.assertTrue(self.exists("TODO") and self.exists("later.txt"))
        self.assertFalse(self.exists("src"))
        return screen

    def later_step(self):
        agent = self.session.agent()
        agent.shell("echo later > later.txt")
        agent.close()

    def test_a_later_step_is_not_undone_unseen(self):
        screen = self.question_and_later("Down", "s", self.later_step)
        self.assertFalse([line for line in screen if "later.txt" in line], screen)

    def test_a_file_is_not_left_unseen(self):
        """It was to be undone when the question was shown."""
        self.later_step()
        screen = self.question_and_later("Home", "u", lambda: self.session.write("later.txt", b"by the user"))
        self.line(screen, r"later\.txt")

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_what_changes_while_a_lock_of_git_is_waited_for(self):
        """The plan that is made behind it is not the one that was shown."""
        subprocess.run(["git", "init", "-q", "."], cwd=self.workspace, env=self.environment(), check=True)
        agent = self.session.agent()
        agent.shell("echo x > staged; git add staged")
        agent.close()
        index = self.session.read(".git/index")
        self.open(["bash", "-c", '"$@"; sleep 60', "bash", *self.words()])
        self.shows(r"q quit")
        self.keys("u")
        self.line(self.shows(r"\[y/N\]"), r"^would remove staged$")
        self.session.write(".git/index.lock", b"")
        self.keys("y")
        time.sleep(0.7)
        self.session.write("staged", b"by the user")
        os.unlink(self.session.path(".git/index.lock"))
        self.shows(r"nothing was undone: the plan is another one now than")
        self.assertEqual((self.session.read("staged"), self.session.read(".git/index")), (b"by the user", index))

    def test_each_key(self):
        self.open(self.words(), height=8)
        at = lambda: [line.split()[0] for line in self.shows(r"q quit") if re.match(r" +\d+ \d\d:", line)]
        self.assertEqual(at(), ["3", "2", "1"])
        for keys, step in ((("j", "j"), 1), (("k",), 2), (("Home",), 3), (("End",), 1), (("g",), 3), (("G",), 1), (("PageUp",), 3), (("PageDown",), 1), (("b",), 3), (("Space",), 1)):
            self.keys(*keys, "d")
            self.shows(r"^step %d: " % step)
            back = {"j": "Escape", "k": "BSpace"}.get(keys[0], "q")
            self.keys(back)
            self.shows(r"q quit")
        self.keys("Up", "Enter")
        first = r"^diff --git a/src/a\.c"
        self.shows(first)
        for key, back in (("Down", "Up"), ("j", "k"), ("PageDown", "PageUp"), ("Space", "b"), ("End", "Home"), ("G", "g")):
            self.keys(key)
            self.hides(first)
            self.keys(back)
            self.shows(first)
        self.keys("x", "Left", "F1")  # mean nothing
        self.shows(first)
        for key in ("n", "N", "q", "Enter", "Escape", "BSpace"):  # are no; the diff is there again
            for wish in ("u", "s"):
                self.keys(wish)
                self.shows(r"undo step 2( and all later ones)?\? \[y/N\]")
                self.keys(key)
                self.shows(first)
        self.keys("u")
        self.shows(r"\[y/N\]")
        self.keys("Y")
        self.shows(r"2 paths undone")
        self.ended()

    def test_sizes(self):
        self.open(self.words())
        self.shows(r"q quit")
        for columns, height in ((30, 8), (20, 5), (12, 3), (200, 60)):
            self.tmux("resize-window", "-x", str(columns), "-y", str(height))
            screen = self.shows(r"TODO" if columns > 12 else "too small")
            self.assertTrue(all(len(line) <= columns for line in screen), screen)
        self.shows(r"^   made +\+1 +TODO$")

    def test_the_terminal_is_given_back(self):
        ends = os.openpty()
        before = termios.tcgetattr(ends[0])
        for fd in ends:
            os.close(fd)
        for key, number, code in ((b"q", None, 0), (b"\x1b", None, 0), (None, signal.SIGTERM, 128 + signal.SIGTERM), (None, signal.SIGINT, 0)):
            with self.subTest(key=key, number=number):
                terminal = self.start()
                terminal.read(b"quit")
                self.assertIn(ALTERNATE, terminal.output)
                if key:
                    terminal.write(key)
                else:
                    os.kill(terminal.pid, number)
                terminal.read()
                self.assertEqual(termios.tcgetattr(terminal.fd)[:4], before[:4])
                self.assertEqual(terminal.wait(), code)
                self.assertGreater(terminal.output.rfind(NORMAL), terminal.output.rfind(ALTERNATE))
        self.assertTrue(self.exists("TODO"))

    def test_colours(self):
        coloured = re.compile(rb"\x1b\[(?:\d+;)*3[1-6]m")
        for environment, expected in (({}, True), ({"NO_COLOR": "1"}, False)):
            terminal = self.start(**environment)
            terminal.read(b"quit")
            terminal.write(b"\r")
            terminal.read(b"back")
            terminal.write(b"qq")
            self.assertEqual(terminal.wait(), 0)
            self.assertEqual(bool(coloured.search(terminal.output)), expected, terminal.output)

    def test_where_there_is_no_such_terminal_it_shows_what_last_would_do(self):
        for environment in ({"TERM": "dumb"}, {"TERM": ""}):
            terminal = self.start(**environment)
            self.assertEqual(terminal.wait(), 0)
            self.assertNotIn(b"\x1b[?1049h", terminal.output)
            self.assertIn(b"would remove TODO", terminal.output)
        for words in (["--dry-run"], ["TODO"]):  # more than `seen undo` alone
            terminal = self.start(*words)
            self.assertEqual(terminal.wait(), 0)
            self.assertIn(b"would remove TODO", terminal.output)
        named = {key: value for key, value in self.environment().items() if key != "SEEN_PATHS_WORKSPACE"}
        for words, said in (([], b"`seen undo --last` does this"), (["TODO"], b"`seen undo --last` with the same options and paths does this")):
            done = subprocess.run([SEEN, "undo", *words], cwd=self.workspace, env=named, stdin=subprocess.DEVNULL, capture_output=True, check=True)
            self.assertIn(said, done.stderr)
        done = subprocess.run(self.words(), cwd=self.workspace, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True)
        self.assertIn(b"would remove TODO", done.stdout)
        self.assertIn(b"`seen undo --last` with the same options and paths does this", done.stderr)


class Agents(Picker):
    """An agent's command has a terminal, and no person at it."""

    def test_no_agent_waits_for_it(self):
        agent = self.session.agent()
        output = agent.shell("script -qec '%s' /dev/null </dev/null" % " ".join(self.words()))
        agent.close()
        self.assertIn(b"would remove TODO", output)


for _name in [name for name in vars(Picker) if name.startswith("test_")]:  # those are Picker's
    setattr(Agents, _name, None)

"""Random commands of an agent, undone to random points: the tree is what it was, to the byte, mode, link and time.

SEEN_TEST_UNDO_SEED and SEEN_TEST_UNDO_COMMANDS in the environment choose another run.
"""
import os
import time
import unittest

from harness import VIA, Session
from undoing import Maker, difference, tree

SEED = int(os.environ.get("SEEN_TEST_UNDO_SEED", "1"))
COMMANDS = int(os.environ.get("SEEN_TEST_UNDO_COMMANDS", "500" if VIA == "preload" else "60"))
STEPS = 12  # of a session, in two parts
KEPT_BY_GIT = (b"logs",)  # what an undo does not take back


class Round:
    """A session: steps, an undo in the middle that stays, steps, and undo to several points and back."""

    def __init__(self, test, session, seed):
        self.test, self.session, self.seed = test, session, seed
        self.maker = Maker(session.workspace, seed)
        self.random = self.maker.random
        self.commands = 0
        self.steps, self.trees = [], []  # what was run; what was there before
        self.now = None
        self.stays = None  # (the step before which an undo went that stays, the count of steps at that time)

    def tree(self):
        return tree(self.session.workspace, without=KEPT_BY_GIT)

    def run_steps(self, agent, count):
        for _ in range(count):
            if not os.path.isdir(self.session.workspace):
                return
            commands = [self.maker.command() for _ in range(self.random.randrange(1, 4))]
            self.commands += len(commands)
            self.steps.append("; ".join("(%s)" % command if command.startswith("cd ") else command for command in commands))
            self.trees.append(self.now)
            agent.shell(self.steps[-1])
            self.now = self.tree()

    def seen(self, expected, *words):
        for _ in range(100):  # a process that no other waits for (rsync has one) may end behind its step
            result = self.session.seen(*words, "--session", self.session.name, check=False)
            if b" still runs" not in result.stderr:
                break
            time.sleep(0.02)
        about = "seed %d, %s: %r %r\n%s" % (self.seed, " ".join(words), result.stdout[-300:], result.stderr[-600:],
                                           "\n".join("%d: %s" % pair for pair in enumerate(self.steps, 1)))
        differ = difference(expected, self.tree())
        if differ:
            self.test.fail("wanted, found: %r\n%s" % (differ, about))
        self.test.assertIn(result.returncode, (0, 1), about)
        return result.returncode == 0

    def since(self, step):
        """What is there when everything from a step on is taken back.  An undo of earlier ones stays."""
        from_step, count = self.stays or (step, 0)
        return self.trees[count if from_step < step < count else step]

    def undo(self, stays=False):
        """Takes back everything from a random step on."""
        step = self.random.randrange(len(self.steps))
        done = self.seen(self.since(step), "undo", "--since", str(step + 1), "--times")
        if not stays:
            if done and self.random.random() < 0.3:  # and on from there
                further = self.random.randrange(step + 1)
                if difference(self.since(step), self.since(further)) and self.seen(self.since(further), "undo", "--since", str(further + 1), "--times"):
                    self.seen(self.since(step), "redo")
            if done:
                self.seen(self.now, "redo")
        if stays and done:
            self.stays = step, len(self.steps)
            self.now = self.trees[step]

    def run(self):
        self.maker.fill(self.random.randrange(5, 40))
        self.now = self.tree()
        agent = self.session.agent()
        self.run_steps(agent, STEPS // 2)
        if not os.path.isdir(self.session.workspace):  # a command removed it
            agent.close()
            return self.commands
        self.undo(stays=self.random.random() < 0.5)
        self.run_steps(agent, STEPS - STEPS // 2)
        agent.close()
        for _ in range(2 if os.path.isdir(self.session.workspace) else 0):
            self.undo()
        return self.commands


class Found(unittest.TestCase):
    """What the campaign found: files with several names, of which a command names one."""

    # in a directory where a and b are one file; each is a step
    CASES = {
        "touch": ("rm b", "touch a"), "touched at once": ("rm b; touch a", "chmod 600 a"), "over it": ("mv c b; touch a", "echo x >> a"),
        "other name written": ("echo x > a; rm a", "true"), "written in pieces": ("echo x >> b", "rm b; mv c a", "true"),
        "name lost while open": ("exec 7<> a; rm -- a; echo x >&7; echo y > a", "touch b"), "mode by another name": ("chmod 600 a; rm a", "touch c"),
        "name of one that went along": ("mkdir d; mv b d; mv d e", "mkdir d; mkdir d/b; mv d/b d/c; mv e/b d/b"),
        "read-only by then": ("echo x >> a; chmod 444 a", "true"),
        "moved while open": ("echo 1 >> c; exec 7>> c; echo a >&7; mv c d; echo b >&7", "chmod 600 d; rm d"),
        "all names lost while open": ("rm b; exec 7<> a; rm a; echo x >&7", "exec 7<> c; rm -- c; echo x >&7"),
    }

    def run_cases(self, size):
        session = Session()
        self.addCleanup(session.close)
        for case in self.CASES:
            os.mkdir(session.path(case))
            session.write(case + "/a", os.urandom(size))
            os.link(session.path(case + "/a"), session.path(case + "/b"))
            session.write(case + "/c", os.urandom(size))
        before = tree(session.workspace)
        agent = session.agent()
        for number in range(2):
            agent.shell("; ".join("(cd '%s'; %s)" % (case, commands[number]) for case, commands in self.CASES.items()))
        agent.close()
        after = tree(session.workspace)
        for command, expected in ("undo", before), ("redo", after), ("undo", before):
            result = session.seen(command, *(("--all", "--times") if command == "undo" else ()), "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], result.stderr)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_names_of_a_small_file(self):
        self.run_cases(500)

    def test_names_of_a_large_file(self):
        self.run_cases(150000)

    def test_what_a_directory_took_along_comes_back_with_it(self):
        session = Session()
        self.addCleanup(session.close)
        os.mkdir(session.path("d"))
        session.write("d/f", b"f")
        before = tree(session.workspace)
        agent = session.agent()
        agent.shell("mv d a; mkdir d; mv a d/; mkdir d/f")
        agent.close()
        self.assertEqual(session.seen("undo", "--all", "--session", session.name).stderr, b"")
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def test_an_undo_that_left_all_as_it_was_is_passed_by_redo(self):
        """What a file with several names was is made anew where these are not among what comes back."""
        session = Session()
        self.addCleanup(session.close)
        session.write("a", os.urandom(150000))
        os.link(session.path("a"), session.path("b"))
        agent = session.agent()
        agent.shell("rm b")
        agent.shell("rm a")
        agent.close()
        after = tree(session.workspace)
        for words in ("undo", "--since", "2", "--times"), ("undo", "--since", "2", "--times"), ("redo",):
            session.seen(*words, "--session", session.name, check=False)
        self.assertEqual(difference(after, tree(session.workspace)), [])
        self.assertEqual(session.seen("redo", "--session", session.name, check=False).returncode, 1)


class Campaign(unittest.TestCase):
    def round(self, seed):
        session = Session()
        try:
            return Round(self, session, seed).run()
        finally:
            session.close()

    def test_random_commands_are_undone(self):
        seed, left = SEED, COMMANDS
        while left > 0:
            with self.subTest(seed=seed):
                left -= STEPS  # at least
                left -= self.round(seed) - STEPS
            seed += 1

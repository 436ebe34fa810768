"""Random commands of an agent, undone to random points: the tree is what it was, to the byte, mode, link and time.

SEEN_TEST_UNDO_SEED, SEEN_TEST_UNDO_COMMANDS and SEEN_TEST_UNDO_STEPS (of a session) in the environment choose another run.
"""
import os
import stat
import time
import unittest

from harness import VIA, Session
from undoing import Maker, Tree, difference

SEED = int(os.environ.get("SEEN_TEST_UNDO_SEED", "1"))
COMMANDS = int(os.environ.get("SEEN_TEST_UNDO_COMMANDS", "500" if VIA == "preload" else "60"))
STEPS = int(os.environ.get("SEEN_TEST_UNDO_STEPS", "12"))
COMMANDS_MAX = 5  # of a step
PART = 8  # steps between two undos, at most
OWN = 0.08  # of the steps are the agent's own actions
WAYS = "truncate reread in_place append rename size unlink stream".split()
KEPT_BY_GIT = (b"logs",)  # what an undo does not take back


class Round:
    """A session: parts of several steps, behind each an undo to some point, which stays or is redone."""

    def __init__(self, test, session, seed, steps=STEPS):
        self.test, self.session, self.seed, self.count = test, session, seed, steps
        self.maker = Maker(session.workspace, seed, VIA != "preload", VIA == "preload")
        self.random = self.maker.random
        self.reader = Tree(session.workspace, without=KEPT_BY_GIT)
        self.commands = self.undos = 0
        self.steps, self.trees = [], []  # what was run; what was there before
        self.now = None
        self.stays = []  # (the step before which an undo went that stays, the count of steps at that time)
        self.done = []  # what was undone and redone, for a message

    def run_steps(self, agent, count):
        for _ in range(count):
            if not os.path.isdir(self.session.workspace):
                return
            self.maker.inspect(self.now)
            if self.random.random() < OWN and self.steps and not self.steps[-1].startswith("own: ") and self.write(agent):
                continue
            commands = [self.maker.command() for _ in range(self.random.randrange(1, COMMANDS_MAX + 1))]
            self.commands += len(commands)
            self.steps.append("; ".join("(%s)" % command if command.startswith("cd ") else command for command in commands))
            self.trees.append(self.now)
            agent.shell(self.steps[-1])
            if os.path.isdir(self.session.workspace):
                self.now = self.reader.read()

    def write(self, agent):
        """The agent's own action; it is a step where something was done, or tried as far as a supervisor knows."""
        how = self.random.choice(WAYS)
        file = self.random.choice(self.maker.files() or ["new"])
        if VIA != "preload" and not os.access(self.session.path(file), os.W_OK):
            return False
        words = {"path": self.session.path(file), "data": "own %d\n" % len(self.steps) * self.random.randrange(1, 100), "how": how}
        if agent.ask(do="write", **words)["errno"]:
            return False
        self.commands += 1
        self.steps.append("own: %s %s" % (how, file))
        self.trees.append(self.now)
        self.now = self.reader.read()
        return True

    def call(self, *words):
        for _ in range(100):  # a process that no other waits for (rsync has one) may end behind its step
            result = self.session.seen(*words, "--session", self.session.name, check=False)
            if b" still runs" not in result.stderr:
                break
            time.sleep(0.02)
        self.undos += 1
        self.done.append("behind step %d: %s: %d" % (len(self.steps), " ".join(words), result.returncode))
        return result

    def fail(self, what, result):
        self.test.fail("seed %d of %d steps, %s: %s: %r %r\n%s\n%s" % (
            self.seed, self.count, self.done[-1], what, result.stdout[-300:], result.stderr[-600:], "\n".join(self.done[-9:]),
            "\n".join("%d: %s" % pair for pair in enumerate(self.steps, 1))))

    def seen(self, expected, *words, codes=(0, 1)):
        result = self.call(*words)
        differ = difference(expected, self.reader.read())
        if differ:
            self.fail("wanted, found: %r" % (differ,), result)
        if result.returncode not in codes:
            self.fail("left some, or failed", result)
        return result.returncode == 0

    def since(self, step):
        """What is there when everything from a step on is taken back.  Undos of earlier ones stay."""
        for from_step, count in self.stays:
            if from_step < step < count:
                step = count
        return self.trees[step] if step < len(self.steps) else self.now

    def undo(self, stays=False):
        """Takes back everything from a random step on."""
        step = self.random.randrange(max(0, len(self.steps) - 30) if self.random.random() < 0.6 else 0, len(self.steps))
        wanted = self.since(step)
        done = self.seen(wanted, "undo", "--since", str(step + 1), "--times")
        if not done:
            return
        if stays:
            self.stays.append((step, len(self.steps)))
            self.now = wanted
            return
        if self.random.random() < 0.3:  # and on from there
            further = self.random.randrange(step + 1)
            if difference(wanted, self.since(further)) and self.seen(self.since(further), "undo", "--since", str(further + 1), "--times"):
                self.seen(wanted, "redo")
        self.seen(self.now, "redo")

    def undo_one(self):
        """Takes back one step, as far as that goes: what later ones changed as well is left.  Redo brings all of it."""
        step = self.random.randrange(len(self.steps))
        result = self.call("undo", "--step", str(step + 1), "--times")
        if result.returncode not in (0, 1, 12):
            self.fail("failed", result)
        found = self.reader.read()
        if not any(count > step for _, count in self.stays):
            self.check_later(step, found, result)
        if difference(self.now, found):
            self.seen(self.now, "redo")

    def check_later(self, step, found, result):
        """What later steps changed of files that a step had left is as they left it, by whichever name.

        A name that the step made a link has the other ones' file no more; one that a later step made a link has what comes back in the file."""
        left = self.trees[step + 1] if step + 1 < len(self.steps) else self.now
        for path in left.keys() & self.now.keys() & found.keys():
            was, now, then = (tree[path] for tree in (left, self.now, found))
            if {stat.S_IFREG} == {was[0], now[0], then[0]} and was[:-1] != now[:-1] != then[:-1]:
                before = self.trees[step].get(path)
                is_linked = len(was[-1]) > 1 and (not before or set(before[-1]) & set(was[-1]) <= {path})
                is_later = any(name in left and left[name][:-1] == now[:-1] for name in now[-1] if name != path)
                if not is_later and not (is_linked and any(found[name][:-1] == now[:-1] for name in now[-1] if name != path and name in found)):
                    self.fail("a later step's change was taken back: %r" % ((path, was, now, then),), result)

    def check(self, ended):
        if self.random.random() < 0.15:
            self.undo_one()
        self.undo(stays=not ended and self.random.random() < 0.4)

    def run(self):
        self.maker.fill(self.random.randrange(5, 40))
        self.now = self.reader.read()
        agent = self.session.agent()
        while len(self.steps) < self.count and os.path.isdir(self.session.workspace):  # a command may remove it
            self.run_steps(agent, min(self.random.randrange(1, PART + 1), self.count - len(self.steps)))
            if os.path.isdir(self.session.workspace) and len(self.steps) < self.count:
                self.check(False)
        agent.close()
        for _ in range(2 if os.path.isdir(self.session.workspace) else 0):
            self.check(True)


class Campaign(unittest.TestCase):
    def test_random_commands_are_undone(self):
        seed, left = SEED, COMMANDS
        while left > 0:
            session = Session()
            one = Round(self, session, seed)
            try:
                with self.subTest(seed=seed):
                    one.run()
            finally:
                session.close()
            left -= max(one.commands, STEPS)
            seed += 1

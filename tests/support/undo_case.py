"""Sessions whose steps are undone: what tests of undo share beside trees (undoing.py)."""
import os
import unittest

from harness import Session
from undoing import difference, tree


class UndoCase(unittest.TestCase):
    """A session of its own, undone by words."""

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def seen(self, *words):
        return self.session.seen(*words, "--session", self.session.name, check=False)

    def assertUndone(self, expected, *words, command="undo"):
        result = self.seen(command, *words)
        self.assertEqual(difference(expected, tree(self.session.workspace)), [], result.stderr)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def assertLeft(self, *words):
        """All of it is left, and listed."""
        after = tree(self.session.workspace)
        result = self.seen("undo", *words)
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []))
        return result

    def step_leaves(self, step, *commands):
        """`--step` leaves all that later steps changed, and says so."""
        agent = self.session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--step", step, "--times")
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []), result.stderr)


class Undone(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        for name in ("src/a", "src/b", "src/deep/c", "top"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, b"the content of %s\n" % name.encode())
        os.symlink("a", self.session.path("src/link"))
        os.link(self.session.path("src/b"), self.session.path("hard"))
        os.chmod(self.session.path("top"), 0o640)
        self.before = self.tree()

    def tree(self, times=False):
        return tree(self.session.workspace, times)

    def agent(self, *commands):
        """Has an agent run commands, a step each; the session ends.  Returns the trees behind each."""
        agent, trees = self.session.agent(), []
        for command in commands:
            agent.shell(command)
            trees.append(self.tree())
        agent.close()
        return trees

    def undo(self, *words, code=0, command="undo"):
        result = self.session.seen(command, "--session", self.session.name, *words, check=False)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        return result

    def assertTree(self, expected):
        self.assertEqual(difference(expected, self.tree()), [])

    def read(self, name):
        with open(self.session.path(name), "rb") as file:
            return file.read()

    def has(self, name):
        return os.path.lexists(self.session.path(name))

    @property
    def records(self):
        return os.path.join(self.session.directory, ".local/state/seen", self.session.name, "undo")

"""Random commands of an agent, undone to random points: the tree is what it was, to the byte, mode, link and time.

SEEN_UNDO_SEED and SEEN_UNDO_COMMANDS in the environment choose another run.
"""
import os
import unittest

from harness import LONG, Session
from undoing import Maker, difference, tree

SEED = int(os.environ.get("SEEN_UNDO_SEED", "1"))
COMMANDS = int(os.environ.get("SEEN_UNDO_COMMANDS", "500" if LONG else "40"))
ROUND = 10  # commands of a session
DATA = True


class Campaign(unittest.TestCase):
    def round(self, seed):
        session = Session()
        self.addCleanup(session.close)
        maker = Maker(session.workspace, seed, DATA)
        maker.fill(maker.random.randrange(5, 40))
        agent = session.agent()
        trees, commands = [tree(session.workspace)], []
        for _ in range(ROUND):
            commands.append("; ".join(maker.command() for _ in range(maker.random.randrange(1, 4))))
            agent.shell(commands[-1])
            trees.append(tree(session.workspace))
        agent.close()
        for _ in range(3):
            step = maker.random.randrange(ROUND)
            result = session.seen("undo", "--session", session.name, "--since", str(step + 1), "--times", check=False)
            about = "seed %d, undone to before step %d: %r %r\n%s" % (seed, step + 1, result.stdout[-300:], result.stderr[-600:],
                                                                    "\n".join("%d: %s" % pair for pair in enumerate(commands, 1)))
            self.assertEqual(difference(trees[step], tree(session.workspace)), [], about)
            self.assertIn(result.returncode, (0, 1), about)
            if result.returncode == 0:
                session.seen("redo", "--session", session.name)
            self.assertEqual(difference(trees[-1], tree(session.workspace)), [], "redone: " + about)
        session.close()

    def test_random_commands_are_undone(self):
        for seed in range(SEED, SEED + max(1, COMMANDS // ROUND)):
            with self.subTest(seed=seed):
                self.round(seed)

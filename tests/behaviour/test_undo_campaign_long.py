"""The same as test_undo_campaign.py with 100,000 commands, on all processors, in sessions of 12, 60 and 250 steps.

SEEN_UNDO_COMMANDS, SEEN_UNDO_SEED, SEEN_UNDO_STEPS and SEEN_UNDO_WORKERS in the environment choose another run; SEEN_UNDO_SECONDS
ends it sooner.  With SEEN_UNDO_KEEP the directory of a session that failed stays.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Session  # noqa: E402
from seeds import attempt, run_seeds  # noqa: E402
from test_undo_campaign import Round  # noqa: E402

COMMANDS = int(os.environ.get("SEEN_UNDO_COMMANDS", "100000"))
STEPS = [int(steps) for steps in os.environ.get("SEEN_UNDO_STEPS", "12 60 250").split()]
WORKERS = int(os.environ.get("SEEN_UNDO_WORKERS", os.cpu_count()))


NAMES = ("commands", "steps", "undos and redos", "s of processors")


def run_seed(seed):
    session, began = Session(), os.times()
    one = Round(unittest.TestCase(), session, seed, STEPS[seed % len(STEPS)])
    failure = attempt(session, one.run)
    return (one.commands, len(one.steps), one.undos, sum(os.times()[:4]) - sum(began[:4])), failure


class Long(unittest.TestCase):
    def test_random_commands_are_undone(self):
        failed = run_seeds(run_seed, NAMES, COMMANDS, int(os.environ.get("SEEN_UNDO_SEED", "1000")), WORKERS)
        self.assertEqual(len(failed), 0, "\n".join(failed[:5]))


if __name__ == "__main__":
    unittest.main()

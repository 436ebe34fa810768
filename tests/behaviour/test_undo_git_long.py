"""The same as test_undo_git.py's random sequences, 1,000 of them, on all processors.

SEEN_UNDO_SEQUENCES, SEEN_UNDO_SEED and SEEN_UNDO_WORKERS in the environment choose another run; SEEN_UNDO_SECONDS ends it
sooner.  With SEEN_UNDO_KEEP the directory of a session that failed stays.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Session  # noqa: E402
from seeds import attempt, run_seeds  # noqa: E402
from test_undo_git import Sequence  # noqa: E402

SEQUENCES = int(os.environ.get("SEEN_UNDO_SEQUENCES", "1000"))
WORKERS = int(os.environ.get("SEEN_UNDO_WORKERS", os.cpu_count()))


def run_seed(seed):
    session, began = Session(), os.times()
    failure = attempt(session, Sequence(unittest.TestCase(), session, seed).run)
    return (1, sum(os.times()[:4]) - sum(began[:4])), failure


class Long(unittest.TestCase):
    def test_sequences_of_git_commands_are_undone(self):
        failed = run_seeds(run_seed, ("sequences", "s of processors"), SEQUENCES, int(os.environ.get("SEEN_UNDO_SEED", "1")), WORKERS)
        self.assertEqual(len(failed), 0, "\n".join(failed[:5]))


if __name__ == "__main__":
    unittest.main()

"""The same as test_undo_campaign.py with 100,000 commands, on all processors."""

import concurrent.futures
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Session  # noqa: E402
from test_undo_campaign import Round  # noqa: E402

COMMANDS = int(os.environ.get("SEEN_UNDO_COMMANDS", "100000"))
SEEDS = 100  # at a time


def run_seeds(first):
    """Returns (commands, what went wrong)."""
    commands, failed = 0, []
    for seed in range(first, first + SEEDS):
        session = Session()
        one = Round(unittest.TestCase(), session, seed)
        try:
            one.run()
        except (AssertionError, RuntimeError) as error:
            failed.append("seed %d: %s" % (seed, error))
        finally:
            session.close()
        commands += one.commands
    return commands, failed


class Long(unittest.TestCase):
    def test_random_commands_are_undone(self):
        commands, failed, first = 0, [], int(os.environ.get("SEEN_UNDO_SEED", "1000"))
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            while commands < COMMANDS:
                starts = [first + i * SEEDS for i in range(os.cpu_count())]
                for count, messages in pool.map(run_seeds, starts):
                    commands += count
                    failed += messages
                first = starts[-1] + SEEDS
        print("%d commands" % commands, file=sys.stderr)
        self.assertEqual(len(failed), 0, "\n".join(failed[:5]))


if __name__ == "__main__":
    unittest.main()

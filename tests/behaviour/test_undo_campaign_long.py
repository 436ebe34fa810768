"""The same as test_undo_campaign.py with 100,000 commands, on all processors, in sessions of 12, 60 and 250 steps.

SEEN_UNDO_COMMANDS, SEEN_UNDO_SEED, SEEN_UNDO_STEPS and SEEN_UNDO_WORKERS in the environment choose another run.  With SEEN_UNDO_KEEP the
directory of a session that failed stays.
"""

import concurrent.futures
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Session  # noqa: E402
from test_undo_campaign import Round  # noqa: E402

COMMANDS = int(os.environ.get("SEEN_UNDO_COMMANDS", "100000"))
STEPS = [int(steps) for steps in os.environ.get("SEEN_UNDO_STEPS", "12 60 250").split()]
WORKERS = int(os.environ.get("SEEN_UNDO_WORKERS", os.cpu_count()))


def run_seed(seed):
    """Returns (commands, steps, undos and redos, seconds of a processor, what went wrong)."""
    session, began = Session(), os.times()
    one = Round(unittest.TestCase(), session, seed, STEPS[seed % len(STEPS)])
    failure = None
    try:
        one.run()
    except Exception as error:  # the test shows it, and goes on
        failure = "%s: %s: %s" % (session.directory, type(error).__name__, error)
    if not failure or "SEEN_UNDO_KEEP" not in os.environ:
        session.close()
    return one.commands, len(one.steps), one.undos, sum(os.times()[:4]) - sum(began[:4]), failure


class Long(unittest.TestCase):
    def test_random_commands_are_undone(self):
        totals, failed, began = [0, 0, 0, 0.0], [], time.monotonic()
        seed = int(os.environ.get("SEEN_UNDO_SEED", "1000"))
        with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
            running = set()
            while running or totals[0] < COMMANDS:
                while totals[0] < COMMANDS and len(running) < WORKERS:
                    running.add(pool.submit(run_seed, seed))
                    seed += 1
                ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for one in ended:
                    *counts, failure = one.result()
                    totals = [total + count for total, count in zip(totals, counts)]
                    if failure:
                        failed.append(failure)
                        print(failure, file=sys.stderr, flush=True)
                print("%d commands, %d steps, %d undos and redos, %d s of processors in %d s, %d failed, seeds below %d" % (
                    *totals, time.monotonic() - began, len(failed), seed), file=sys.stderr, flush=True)
        self.assertEqual(len(failed), 0, "\n".join(failed[:5]))


if __name__ == "__main__":
    unittest.main()

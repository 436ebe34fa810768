"""Random sessions by their seeds, on several processors, until enough was done."""
import concurrent.futures
import math
import os
import sys
import time

def attempt(session, run):
    """Runs it and closes the session.  Returns what went wrong, or None; with SEEN_UNDO_KEEP the directory of a session that failed stays."""
    failure = None
    try:
        run()
    except Exception as error:  # the test shows it, and goes on
        failure = "%s: %s: %s" % (session.directory, type(error).__name__, error)
    if not failure or "SEEN_UNDO_KEEP" not in os.environ:
        session.close()
    return failure


def run_seeds(run_seed, names, wanted, first, workers):
    """Seeds from the first one on, until the first of the counts adds up to `wanted`, or for SEEN_UNDO_SECONDS.  run_seed(seed): (counts in the order of
    names, what went wrong or None).

    Prints the totals behind each.  Returns what went wrong; too few were done is wrong, too."""
    totals, failed, began, seed = [0] * len(names), [], time.monotonic(), first
    seconds = float(os.environ.get("SEEN_UNDO_SECONDS", "inf"))
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        running = set()
        while running or (totals[0] < wanted and time.monotonic() - began < seconds):
            while totals[0] < wanted and time.monotonic() - began < seconds and len(running) < workers:
                running.add(pool.submit(run_seed, seed))
                seed += 1
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in ended:
                counts, failure = one.result()
                totals = [total + count for total, count in zip(totals, counts)]
                if failure:
                    failed.append(failure)
                    print(failure, file=sys.stderr, flush=True)
            print("%s in %d s, %d failed, seeds below %d" % (", ".join("%d %s" % pair for pair in zip(totals, names)), time.monotonic() - began, len(failed), seed),
                  file=sys.stderr, flush=True)
    least = 1 if math.isfinite(seconds) else max(wanted, 1)
    if totals[0] < least:
        failed.append("%d %s done of at least %d" % (totals[0], names[0], least))
    return failed

"""The window between the guard's check and the call: an outsider replaces a file again and again, an agent writes over it.

Measured by counting.  "newer" are versions that the agent never read and wrote over, "lost" those that are in no store either.
"""
import collections
import json
import os
import re
import subprocess

from .place import LIMIT_S, PROGRAMS, SEEN, Failed, write_file
from .works import Study

FILE_BYTES = 4096
WRITES = 2000  # of a round
WAIT_US = 1300  # between the agent's read of the file and its write: longer than notice.burst_ms, 1 ms
VIAS = ("preload", "supervise", "both")
SETTINGS = ("warn", "deny")
PACES = {"at full speed": 0, "every 1 ms": 2000}  # the longest pause of the outsider, in us
MOST_ROUNDS = 2  # half a minute each
COLUMNS = ("versions", "writes", "denied", "warned", "passed", "newer", "unsaid", "lost")


def sample(place, name, via, setting, pace, number):
    """Counts of one round."""
    program = os.path.join(PROGRAMS, "window")
    session = "window-%s-%s-%d-%d" % (via, setting, PACES[pace], number)
    file = os.path.join(place.work, session)
    write_file(file, b"x" * FILE_BYTES)
    outsider = subprocess.Popen([program, "outsider", file, str(PACES[pace])], env=place.env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
    try:
        done = subprocess.run(
            [SEEN, "run", "--quiet", "--via", via, "--session", session, "--workspace", place.work, "--agent", "window", "--stale-write",
             setting, "-c", "notice.burst_ms=1", "-c", "content.max_bytes=1000000000", "--", program, "writer", file, str(WRITES),
             str(WAIT_US)], cwd=place.work, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=LIMIT_S, check=False)
    finally:
        made = outsider.communicate(timeout=LIMIT_S)[0]
    if done.returncode != 0 or outsider.returncode != 0:
        raise Failed("%s: %d, %d\n%s" % (name, done.returncode, outsider.returncode, done.stderr.decode(errors="replace")[-2000:]))
    rows = [tuple(int(word) for word in line.split()) for line in done.stdout.splitlines()]
    if len(rows) != WRITES:
        raise Failed("%s: %d of %d writes" % (name, len(rows), WRITES))
    passed = [(read, destroyed) for read, destroyed, error in rows if error == 0]
    # What was there and was not what the agent had read.
    newer = [destroyed for read, destroyed in passed if destroyed and destroyed != read]
    kept = set()
    directory = os.path.join(place.env["HOME"], ".local/state/seen", session, "content")
    for entry in os.listdir(directory) if os.path.isdir(directory) else []:
        with open(os.path.join(directory, entry), "rb") as content:
            match = re.match(rb"outsider (\d+)\n", content.read(32)) if entry != "index" else None
        if match:
            kept.add(int(match.group(1)))
    with open(file, "rb") as content:
        match = re.match(rb"outsider (\d+)\n", content.read(32))
    kept.update([int(match.group(1))] if match else [])
    counters = json.loads(subprocess.run([SEEN, "status", "--json", "--session", session, "--workspace", place.work], cwd=place.work,
                                         env=place.env, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout)["counters"]
    place.forget(session)
    os.unlink(file)
    return {"writes": len(rows), "versions": int(made), "denied": counters["stale_denied"], "warned": counters["stale_warned"],
            "passed": len(passed), "newer": len(newer), "unsaid": max(0, len(newer) - counters["stale_warned"]),
            "lost": len([number for number in newer if number not in kept]),
            "lost_known": len([destroyed for read, destroyed in passed if destroyed and destroyed == read and destroyed not in kept])}


class Window(Study):
    group = "window"
    name = "window"
    about = ("An outsider replaces a file again and again, an agent writes over it. "
             "versions: made by the outsider; newer: of these, not read by the agent and overwritten; unsaid: more of them than there were "
             "warnings, at the least; lost: of them, neither in the store nor on disk.")

    def measure(self, rounds):
        cases = {"%s, %s, outsider %s" % (via, setting, pace): (via, setting, pace)
                 for via in VIAS for setting in SETTINGS for pace in PACES}
        counts = {name: collections.Counter() for name in cases}
        for number in range(min(rounds, MOST_ROUNDS)):
            for turn in range(len(cases)):
                name = list(cases)[(number + turn) % len(cases)]
                counts[name].update(sample(self.place, name, *cases[name], number))
        return {"data": counts, "figures": {}, "tables": [{
            "title": "the window between check and call", "header": ["", *COLUMNS], "note": self.about,
            "rows": [[name, *(format(entry[column], ",") for column in COLUMNS)] for name, entry in counts.items()]}]}


def works(place):
    return [Window(place)]

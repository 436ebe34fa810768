#!/usr/bin/env python3
"""What sessions of tests recorded, kept to be compared: journals.py OLD NEW

A test file that runs with SEEN_KEEP_JOURNALS=DIRECTORY in its environment leaves the journal of each of its sessions there
(harness.py), without what is another at each run: times, numbers of processes and records, temporary names.  The records of
one process stand in their order; the processes are sorted.

    for build in old new; do
        SEEN_KEEP_JOURNALS=/tmp/$build SEEN_BUILD=$PWD/build/$build SEEN_SOURCE=$PWD PYTHONPATH=tests/support \\
            python3 tests/support/run-unittest tests/behaviour/test_rule_calls.py
    done
    python3 tests/support/journals.py /tmp/old /tmp/new

Prints what differs.  Exit status 0 when nothing does.  Sessions whose processes run at once may differ by themselves: compare two
runs of one build first, or give three directories: OLD AGAIN NEW; what OLD and AGAIN differ in is left out then, and counted.
"""
import collections
import difflib
import json
import os
import pathlib
import re
import sys

# Of this run alone.
VARIES = {"number", "time", "pid", "tid", "parent_pid", "process", "scope", "epoch", "serial", "exec", "program_pid", "pid_namespace", "dev", "ino",
          "starter", "changer", "before", "after"}
WATCHED = {"changed", "coverage", "kept"}  # by the run itself, when it gets round to it


def plain(value):
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name not in VARIES}
    return [plain(member) for member in value] if isinstance(value, list) else value


def normalized(text, top):
    """Lines of `seen log --json` as a text to be compared."""
    text = text.replace(top, "DIRECTORY").replace(os.path.abspath(os.environ.get("SEEN_BUILD", "/nowhere")), "BUILD")
    text = re.sub(r"/proc/\d+", "/proc/N", re.sub(r"/(?:task|fd|fdinfo)/\d+", "/N", text))
    text = re.sub(r"\b(tmp|sh-thd|seen-test|pytest|sed|tmp\.)[.-]?[A-Za-z0-9_]{6,10}\b", "NAME", text)
    groups = collections.defaultdict(list)
    for line in text.splitlines():
        event = json.loads(line)
        if event.get("process") is None and event["op"] in WATCHED:
            continue
        groups[(event.get("process"), event.get("pid"))].append(json.dumps(plain(event), sort_keys=True))
    return "".join("process\n" + "".join(line + "\n" for line in lines) for lines in sorted(groups.values()))


def keep(directory, name, session):
    """Keeps the journal of a session of the harness, if there is one."""
    done = session.seen("log", "--session", session.name, "--json", check=False)
    if done.returncode == 0 and done.stdout:
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        pathlib.Path(directory, name).write_text(normalized(done.stdout.decode(errors="replace"), session.directory))


def main():
    places = [pathlib.Path(place) for place in sys.argv[1:]]
    old, again, new = places[0], places[1] if len(places) == 3 else None, places[-1]
    names = sorted({path.name for place in places for path in place.iterdir()})
    equal, differs, unsure = 0, 0, 0
    for name in names:
        texts = [(place / name).read_text() if (place / name).exists() else "" for place in (old, again or old, new)]
        if texts[0] == texts[2] or texts[1] == texts[2]:
            equal += 1
        elif texts[0] != texts[1]:
            unsure += 1
        else:
            differs += 1
            sys.stdout.writelines(difflib.unified_diff(texts[0].splitlines(True), texts[2].splitlines(True), str(old / name), str(new / name), n=0))
    print("%d journals: %d equal, %d differ, %d differ between runs of one build" % (len(names), equal, differs, unsure))
    return differs > 0


if __name__ == "__main__":
    sys.exit(main())

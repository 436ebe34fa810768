"""What tests of deaths share: files whose content proves itself, an agent that works on them, and the readers of a session."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import zlib

FILES, DIRECTORIES, POOL = 5, 2, 40
NAMES = re.compile(r"(?:f\d|d\d|copy|\.)$")
# What ends a program by a fault of its own; the test itself kills by SIGKILL.
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP}
READERS = (("status",), ("status", "--json"), ("files", "--json"), ("changed",), ("edited",), ("check", "f0"), ("context", "f0"), ("versions",), ("versions", "f0"), ("story",),
           ("story", "--json"), ("diff",), ("blame", "f0"), ("log",), ("log", "--json"), ("export", "--format", "jsonl"), ("export", "--format", "csv"), ("export", "--format", "sarif"),
           ("export", "--format", "ocsf"), ("history",), ("report",), ("report", "--json"), ("report", "--format", "html"), ("verify",), ("sessions",), ("gain",), ("learn",))


def sealed(seed):
    """A content whose first line is a sum of the rest: long enough that a repeat is answered, and written by one call."""
    rest = b"".join(b"line %d of content %d\n" % (i, seed) for i in range(60 + seed % 7))
    return b"%08x\n" % zlib.crc32(rest) + rest


def is_whole(data):
    """Is it a content, or what an open that empties a file leaves?"""
    return data == b"" or (data[8:9] == b"\n" and b"%08x" % zlib.crc32(data[9:]) == data[:8])


def died_by_fault(status):
    """Of a program, or of a shell's last one."""
    number = -status if status < 0 else status - 128
    return number in [one.value for one in FAULTS]


def torn_files(root):
    """Files below a directory that are no whole content."""
    found = []
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and not is_whole(pathlib.Path(path).read_bytes()):
                found.append(path)
    return found


def command(chance, pool):
    """One that an agent may run on its files."""
    names = {"a": "f%d" % chance.randrange(FILES), "b": "f%d" % chance.randrange(FILES), "d": "d%d" % chance.randrange(DIRECTORIES),
             "new": "%s/%d" % (pool, chance.randrange(POOL))}
    return chance.choice(("cat {a}", "cat {a}", "cat {a}", "cat {a} > copy; rm copy", "cat {new} > {a}", "cp {new} {a}", "cat {new} > copy; mv copy {a}", "mv {a} {b}", "rm -f {a}",
                          "mkdir -p {d}; mv {a} {d}", "rm -rf {d}", "ln -f {a} {b}", "sed -n 1,3p {a}", "cat {a} {b} > /dev/null", "cat {a} | cat")).format(**names)


def agent(seed, count, pool, notice, report):
    """The agent itself: runs commands, and writes a line for each thing that must not be."""
    chance = random.Random(seed)
    given, wrong = set(), []
    for _ in range(count):
        words = command(chance, pool)
        done = subprocess.run(["bash", "-c", words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if died_by_fault(done.returncode):
            wrong.append("%s: ended with %d" % (words, done.returncode))
        verb, _, name = words.partition(" ")
        if verb != "cat" or not re.fullmatch(r"f\d", name):
            if notice in done.stdout:
                wrong.append("%s: a notice" % words)
            continue
        if done.stdout.startswith(notice):
            with open(name, "rb") as file:
                if file.read() not in given:  # by whichever name
                    wrong.append("%s: a notice, and it was never given" % words)
        elif done.stdout and is_whole(done.stdout):
            given.add(done.stdout)
    with open(report, "a") as file:
        file.write("".join(line + "\n" for line in wrong))


def read_all(seen, run, words_before=()):
    """Has every reader read a session; run(words): a finished process.  Returns what was wrong."""
    wrong = []
    for words in READERS:
        try:
            done = run([seen, words[0], *words_before, *words[1:]])
        except subprocess.TimeoutExpired:
            wrong.append("%s: does not end" % (words,))
            continue
        if done.returncode < 0 or died_by_fault(done.returncode) or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
            wrong.append("%s: %d %r" % (words, done.returncode, done.stderr[-600:]))
        elif words[:2] == ("log", "--json"):
            wrong += unreal_events(done.stdout)
    return wrong


def unreal_events(printed):
    """Events about files of the workspace that never had such a name."""
    wrong = []
    for line in printed.splitlines():
        path = json.loads(line).get("path") or ""
        if "/workspace/" in path and not all(NAMES.match(part) for part in path.split("/workspace/")[1].split("/")):
            wrong.append("an event of %r" % path)
    return wrong[:3]


if __name__ == "__main__":  # deaths.py SEED COUNT POOL NOTICE REPORT
    agent(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4].encode(), sys.argv[5])

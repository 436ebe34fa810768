"""What tests of deaths share: files whose content proves itself, an agent that works on them, and the readers of a session."""
import contextlib
import fcntl
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
NAMES = re.compile(r"(?:f\d|d\d|a\d|shared|copy|\.|\.\w+(?:\.\w+)?)$")  # seen's own commands look for hidden files
# What ends a program by a fault of its own; the test itself kills by SIGKILL.
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP}
READERS = (("status",), ("status", "--json"), ("files", "--json"), ("changed",), ("edited",), ("check", "f0"), ("context", "f0"), ("versions",), ("versions", "f0"), ("story",),
           ("story", "--json"), ("diff",), ("blame", "f0"), ("log",), ("log", "--json"), ("export", "--format", "jsonl"), ("export", "--format", "csv"), ("export", "--format", "sarif"),
           ("export", "--format", "ocsf"), ("history",), ("report",), ("report", "--json"), ("report", "--format", "html"), ("verify",), ("sessions",), ("gain",), ("learn",))
OF_ALL_SESSIONS = ("sessions", "gain", "learn")


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


COMMANDS = ("cat {a}", "cat {a}", "cat {a}", "cat {a} > copy; rm copy", "cat {new} > {a}", "cp {new} {a}", "cat {new} > copy; mv copy {a}", "mv {a} {b}", "rm -f {a}", "mkdir -p {d}; mv {a} {d}",
            "rm -rf {d}", "ln -f {a} {b}", "sed -n 1,3p {a}", "cat {a} {b} > /dev/null", "cat {a} | cat")
# Of several agents in one workspace: a file of all, and what makes an agent forget.
AMONG_OTHERS = ("cat ../shared/{a}", "cat ../shared/{a}", "cp {new} copy; mv copy ../shared/{a}", "mv ../shared/{a} ../shared/{b}", "rm -f ../shared/{a}", "{forget}")


def command(chance, pool, commands=COMMANDS, **more):
    """One that an agent may run on its files."""
    names = {"a": "f%d" % chance.randrange(FILES), "b": "f%d" % chance.randrange(FILES), "d": "d%d" % chance.randrange(DIRECTORIES),
             "new": "%s/%d" % (pool, chance.randrange(POOL))}
    return chance.choice(commands).format(**names, **more)


@contextlib.contextmanager
def held(directory, how, own=""):
    """What is done below LOCK_SH is not done below LOCK_EX, which is waited for by no more of them.  own: a name; one at a time has it.  Yields descriptors: who has them holds all, too."""
    with contextlib.ExitStack() as files:
        one, gate, lock = (files.enter_context(open(os.path.join(directory, name), "w")) for name in ("own." + own, "gate", "lock"))
        if own:
            fcntl.flock(one, fcntl.LOCK_EX)
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(lock, how)
        if how == fcntl.LOCK_SH:
            fcntl.flock(gate, fcntl.LOCK_UN)
        yield [one.fileno(), lock.fileno()]


def content_of(path):
    """b"": there is none."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


class Deliveries:
    """What an agent was given, and what it may get for it."""

    def __init__(self, notice, seen):
        self.notice, self.seen = notice, seen
        self.contents = set()

    def judge(self, words, output, directory=".", before=None):
        """What a command of the agent's gave.  before: what the file that it names was, where another process may change it.
        Returns lines for a report: "notice", or what is wrong."""
        verb, _, name = words.partition(" ")
        if verb == self.seen:
            self.contents.clear()
        elif verb != "cat" or not re.fullmatch(r"(\.\./shared/)?f\d", name):
            return ["%s: a notice" % words] if self.notice in output else []
        elif output.startswith(self.notice):
            if not self.contents:
                return ["notice", "%s: a notice, and nothing was ever given" % words]
            if "/" not in name:  # else it may be another one by now
                now = content_of(os.path.join(directory, name))
                if now not in self.contents and before in (None, now):  # by whichever name
                    return ["notice", "%s: a notice, and it was never given" % words]
            return ["notice"]
        elif output and is_whole(output):
            self.contents.add(output)
        return []


def note(report, lines):
    if lines:
        with open(report, "a") as file:
            file.write("".join(line + "\n" for line in lines))


def agent(seed, count, pool, notice, report, locks="", seen=""):
    """The agent itself: runs commands, and writes a line for each thing that must not be.  locks: others are in its workspace."""
    chance = random.Random(seed)
    given = Deliveries(notice, seen)
    for _ in range(count):
        wrong = []
        with held(locks, fcntl.LOCK_SH, os.path.basename(os.getcwd())) if locks else contextlib.nullcontext(()) as kept:
            words = command(chance, pool, COMMANDS + AMONG_OTHERS, forget=seen + " forget --all") if locks else command(chance, pool)
            before = None if locks else content_of(words.partition(" ")[2])  # an undo may run beside it
            done = subprocess.run(["bash", "-c", words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                                  pass_fds=kept)  # a command goes on where its agent is killed, beside the agent's next run
            if died_by_fault(done.returncode):
                wrong.append("%s: ended with %d" % (words, done.returncode))
            wrong += given.judge(words, done.stdout, before=before)
        note(report, wrong if locks else [line for line in wrong if line != "notice"])


def read_all(seen, run, words_before=()):
    """Has every reader read a session; run(words): a finished process.  Returns what was wrong."""
    wrong = []
    for words in READERS:
        try:
            done = run([seen, words[0], *(words_before if words[0] not in OF_ALL_SESSIONS else ()), *words[1:]])
        except subprocess.TimeoutExpired:
            wrong.append("%s: does not end" % (words,))
            continue
        if done.returncode in (2, 126, 127) or done.returncode < 0 or died_by_fault(done.returncode) or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
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
            wrong.append("an event of %r: %s" % (path, line))
    return wrong[:3]


if __name__ == "__main__":  # deaths.py SEED COUNT POOL NOTICE REPORT [LOCKS SEEN]
    agent(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4].encode(), *sys.argv[5:])

"""An audit: is each access of an agent and its commands to files of the workspace on record?  The witness is strace.

By the supervisor strace stands around the very run that seen observes.  By auto it cannot: below a tracer nothing asks for a supervisor.  There it
has another play of the same script, without seen, and what it saw of that must be on record.
"""
import collections
import json
import os
import re

import journal
import scenario
from stage import SEEN, Play, agent_of, seen_run

TRACED = ("execve,clone,clone3,fork,vfork,chdir,fchdir,open,openat,openat2,creat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,"
          "rmdir,mkdir,mkdirat,truncate,ftruncate,chmod,fchmod,fchmodat,utimensat")
# codex refuses rm -rf.
SHELL = (("cat", "cat a.py b.py"),
         ("the same again", "cat a.py b.py"),
         ("by a static program", "busybox cat a.py; busybox cp a.py by_static; busybox mv by_static moved_by_static; busybox rm moved_by_static"),
         ("echo", "echo '# added' >> c.py; echo new > new_by_shell; : > emptied.py"),
         ("directories", "mkdir -p e/deep && echo x > e/deep/file && mv e e2 && cp -r e2 e3 && rm -r e2"),
         ("links", "ln d.py hard; ln -s hard soft; cat soft; rm hard soft"),
         ("in place", "sed -i s/brown/red/ c.py d.py; truncate -s 5 cut.py; chmod 600 cut.py; touch -d 2001-02-03 cut.py"),
         ("a later program", "python3 -c 'import os\nopen(\"made\", \"w\").write(open(\"b.py\").read())\nos.replace(\"made\", \"b.py\")'"),
         ("an archive", "tar cf all.tar a.py e3 && tar xf all.tar && rm all.tar"),
         ("in the background", "(cat b.py > copy_1; rm copy_1) & (cat c.py > copy_2; rm copy_2) & wait"),
         ("git", "git add -A; git -c user.name=a -c user.email=a@b commit -qm step; git status --short; git checkout -q HEAD~ -- d.py"))
FILES = ("a.py", "b.py", "c.py", "d.py", "own.py", "whole.py", "cut.py", "emptied.py")


class Step:
    outsider = None

    def __init__(self, *operation):
        self.operation = operation


def build(rewrites):
    """Returns (files at the start, steps).  rewrites: see agents.Agent."""
    steps = [Step("read", "own.py"), Step("read", "own.py"), Step("edit", "own.py", "value = 1", "value = 2")]
    if rewrites:
        steps += [Step("read", "whole.py"), Step("write", "whole.py", scenario.module("rewritten"))]
    steps.append(Step("write", "new.py", scenario.module("new")))
    return {name: scenario.module(name) for name in FILES}, steps + [Step("shell", command) for _, command in SHELL]


# What strace saw

def whole_lines(path):
    """(pid, call) as it would be without others between its beginning and its end."""
    begun = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"(\d+) +(?:\d+\.\d+ )?(.*)", line)
            if not match:
                continue
            pid, text = int(match[1]), match[2]
            if text.endswith("<unfinished ...>"):
                begun[pid] = text[:-len("<unfinished ...>")]
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
            yield pid, (begun.pop(pid, "") + resumed[1] if resumed else text)


def unquoted(text):
    return text.encode("latin-1", "replace").decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")


KINDS = {"rename": "rename", "renameat": "rename", "renameat2": "rename", "link": "link", "linkat": "link", "symlink": "symlink", "symlinkat": "symlink",
         "unlink": "delete", "unlinkat": "delete", "rmdir": "delete", "mkdir": "create", "mkdirat": "create", "truncate": "truncate", "ftruncate": "truncate",
         "chmod": "metadata", "fchmod": "metadata", "fchmodat": "metadata", "utimensat": "metadata"}
OPENS = {"open", "openat", "openat2", "creat"}


class Trace:
    """accesses: how often each (kind, path) succeeded, of files below a directory, by the first program that is not seen's own and all that it starts.
    readers: programs whose reads count; None: all."""

    def __init__(self, path, top, readers=None):
        self.top = os.path.realpath(top)
        self.readers = readers
        self.root = None
        self.parents = {}
        self.programs = {}
        self.directories = {}  # of processes, as far as a call says so
        self.accesses = collections.Counter()
        calls = []
        for pid, text in whole_lines(path):
            match = re.match(r"(\w+)\((.*)\) += (\d+)", text)
            if match and match[1] in ("clone", "clone3", "fork", "vfork"):
                child = re.search(r"/\* (\d+) in strace", text)
                self.parents[int(child[1]) if child else int(match[3])] = pid
            elif match and match[1] == "execve":
                if not self.root and not text.startswith(f'execve("{SEEN}"'):
                    self.root = pid
                self.programs[pid] = os.path.basename(match[2].split('"')[1])
            elif match:
                calls.append((pid, match[1], match[2], self.programs.get(pid) or self.programs.get(self.parents.get(pid))))
        for pid, name, words, program in calls:  # a child of vfork calls before its parent's call is over
            if self._is_below(pid):
                self._call(pid, name, words, program)

    def _is_below(self, pid):
        while pid and pid != self.root:
            pid = self.parents.get(pid)
        return bool(pid)

    def _directory(self, pid):
        while pid and pid not in self.directories:
            pid = self.parents.get(pid)
        return self.directories.get(pid, self.top)

    def _call(self, pid, name, words, program):
        # Each name, with the directory that it begins at where the call says that.
        names = [(match[1], unquoted(match[2])) for match in re.finditer(r'(?:(?:AT_FDCWD|\d+)<([^<>]*)>, )?"((?:[^"\\]|\\.)*)"', words)]
        current, own = re.match(r"AT_FDCWD<([^<>]*)>", words), re.match(r"\d+<([^<>]*)>", words)
        if current:
            self.directories[pid] = current[1]
        paths = [os.path.normpath(os.path.join(at or self._directory(pid), path)) for at, path in names]
        if not paths and own:
            paths = [own[1]]
        if not paths:
            return
        if name in ("chdir", "fchdir"):
            self.directories[pid] = paths[0]
        elif name in OPENS:
            self._open(name, words, paths[0], self.readers is None or program in self.readers)
        else:
            self._note(KINDS[name], paths[-1 if KINDS[name] == "symlink" else 0])

    def _open(self, name, words, path, reads):
        flags = set(re.findall(r"\bO_\w+", words))
        kind = "write" if name == "creat" or flags & {"O_WRONLY", "O_RDWR"} else "read"
        if not flags & {"O_PATH", "O_DIRECTORY", "O_TMPFILE"} and (reads or kind == "write"):
            self._note(kind, path)

    def _note(self, kind, path):
        if path.startswith(self.top + "/"):
            self.accesses[kind, os.path.relpath(path, self.top)] += 1


# What is on record

def recorded(events, top):
    """How often each (kind, path) is on record."""
    top, found = os.path.realpath(top), collections.Counter()
    for event in events:
        kind, path = event["op"], event.get("resolved") or event.get("path") or ""
        if kind == "open":
            kind = "write" if {"O_WRONLY", "O_RDWR"} & set(event.get("flags") or []) else "read"
        if event["error"] is None and path.startswith(top + "/"):
            found[kind, os.path.relpath(path, top)] += 1
    return found


class Audited(Play):
    """The script, by supervise below strace; by auto with a bare play to be held against; way None: that one."""
    least_s = 900  # of kilo, on a busy machine

    def __init__(self, spec, way, out, bare=None):
        self.way = way
        self.bare = bare
        self.wrapped = way is not None
        self.name = f"audited {way or 'bare'}"
        self.session = f"audited-{os.getpid()}"
        directory = os.path.join(out, f"{spec}.audited-{way or 'bare'}")
        self.trace = None if bare else f"{directory}/strace"
        # What the library alone observes starts static programs unobserved as an ordinary user, unless they may be.
        wrapper = seen_run(self.session, way, () if os.getuid() == 0 else ("-c", "session.privileges=drop")) if way else []
        if self.trace:
            wrapper = ["strace", "-f", "-y", "-qq", "--pidns-translation", "-s", "4096", "-e", "signal=none", "-e", f"trace={TRACED}", "-o", self.trace, "--",
                       *wrapper]
        super().__init__(spec, directory, *build(agent_of(spec).rewrites), wrapper)
        self.events, self.coverage = [], {}

    def play(self):
        super().play()
        if self.way:
            self.coverage = json.loads(self.ask_seen("status", "--json", "--session", self.session) or "{}").get("processes", {})
            self.events = journal.events_of(self.ask_seen("log", "--json", "--session", self.session))

    def judge(self):
        """Returns the rows (name, expected, fault or None) of the table."""
        rows = [("ended", "well", None if self.status == 0 and self.said_last_word() else f"status {self.status}")]
        if not self.way:
            return rows
        witness = self.bare or self
        saw = Trace(witness.trace, witness.workspace).accesses
        if self.bare:
            # Another play: temporary files have other names.  Which files are there for a moment is chance for an agent that watches the workspace, or has
            # git copy it: of these only what the commands' own programs read is held against this play.
            gone = {path for kind, path in saw if kind in ("delete", "rename")}
            by_commands = Trace(witness.trace, witness.workspace, self._words() - {"git"} | {"bash", "sh"}).accesses
            saw = collections.Counter(key for key in saw if key[0] != "read" or key[1] not in gone or key in by_commands)
            saw = collections.Counter(key for key in saw if self._is_named(key[1]))
        missing = saw - recorded(self.events, self.workspace)
        faults = [f"{kind} {path} x{count}" for (kind, path), count in sorted(missing.items())]
        unobserved = [program["name"] for program in self.coverage.get("unobserved_programs", [])]
        return rows + [(f"{sum(saw.values())} accesses, of {len(saw)} kinds", "over 5", None if len(saw) > 5 else "fewer"),
                       ("all that strace saw", "on record", f"{len(faults)} are not: {'; '.join(faults[:20])}" if faults else None),
                       ("programs not observed", "none", ", ".join(unobserved) or None)]

    def _is_named(self, path):
        """Is it a file of the script?"""
        return not path.startswith(".git/") and os.path.basename(path) in self._words()

    def _words(self):
        return set(re.findall(r"[\w.]+", " ".join(word for step in self.steps for word in step.operation)))


def audits(spec, out):
    bare = Audited(spec, None, out)
    return [Audited(spec, "supervise", out), bare, Audited(spec, "auto", out, bare)]

"""System calls: of some commands, counted by strace below each way."""
import collections
import os
import re
import shutil

from .place import Failed, write_file
from .works import Study
from .works_trees import GitStatus, make_repository

WAYS = ("bare", "injected", "substitute")
REPO_FILES = 1000


def traced(place, way, command, directory):
    """Names of the system calls that a command and its children make, counted.

    futex is left out: it depends on who comes first.
    """
    trace = os.path.join(place.top, "trace")
    place.run(way, ["strace", "-f", "-qq", "-o", trace] + command, directory)
    counts = collections.Counter()
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"\d+ +([a-z_0-9]+)\(", line)
            if match and match.group(1) != "futex":
                counts[match.group(1)] += 1
                if match.group(1) == "execve" and "= 0" not in line and "unfinished" not in line:
                    counts["execve"] -= 1  # looked for along PATH, and not found there
                    counts["execve that failed"] += 1
    return counts


class SystemCalls(Study):
    group = "system calls"
    name = "system calls"
    about = "The same command thrice by each way, the least taken; futex is left out."
    goals = ()
    programs = ("strace", "git", "gcc", "tar")

    def __init__(self, place):
        super().__init__(place)
        self.directory = os.path.join(place.work, "system-calls")

    def prepare(self):
        write_file(os.path.join(self.directory, "hello.c"), b"#include <stdio.h>\nint main(void)\n{\n\treturn puts(\"hello\") < 0;\n}\n")
        for count in (10, 1000):
            for i in range(count):
                write_file(os.path.join(self.directory, "tar%d" % count, "f%d" % i), b"content\n")
        make_repository(self.place, os.path.join(self.directory, "repo"), GitStatus.path, REPO_FILES)

    def clean(self):
        shutil.rmtree(self.directory)

    def measure(self, rounds):
        top = self.place.top
        commands = [
            ("/bin/true", ["/bin/true"], self.directory),
            ("git status, %s files" % format(REPO_FILES, ","), ["git", "status", "--porcelain"], os.path.join(self.directory, "repo")),
            ("gcc -c", ["gcc", "-c", "-o", os.path.join(top, "hello.o"), os.path.join(self.directory, "hello.c")], self.directory),
            ("tar of 10 files", ["tar", "-cf", os.path.join(top, "a.tar"), "tar10"], self.directory),
            ("tar of 1,000 files", ["tar", "-cf", os.path.join(top, "b.tar"), "tar1000"], self.directory),
        ]
        rows = []
        for name, command, where in commands:
            counts = {}
            for way in WAYS:
                runs = [traced(self.place, way, command, where) for _ in range(3)]
                counts[way] = min(runs, key=lambda run: run.total())
            execs = counts["substitute"]["execve"]
            if execs < 1 or any(count["execve"] != execs for count in counts.values()):
                raise Failed("%s: not the same number of programs started: %s" % (
                    name, {way: count["execve"] for way, count in counts.items()}))
            surplus = {}
            for call in set(counts["substitute"]) | set(counts["injected"]):
                more = counts["substitute"][call] - counts["injected"][call]
                if more:
                    surplus[call] = more
            rows.append({"command": name, "execs": execs, "calls": {way: count.total() for way, count in counts.items()},
                         "surplus_over_injected": sum(surplus.values()),
                         "surplus_per_exec": sum(surplus.values()) / execs, "surplus_by_name": surplus})
        names = sorted(rows[0]["surplus_by_name"].items(), key=lambda item: (-item[1], item[0]))
        return {"data": rows, "figures": {"surplus of " + rows[0]["command"]: rows[0]["surplus_over_injected"]}, "tables": [{
            "title": "system calls", "header": ["system calls", "execs", *WAYS, "surplus per exec"],
            "rows": [[row["command"], str(row["execs"]), *(str(row["calls"][way]) for way in WAYS), "%.2f" % row["surplus_per_exec"]]
                     for row in rows],
            "note": "%s Surplus of %s over injection only: %s." % (self.about, rows[0]["command"], ", ".join("%s %+d" % item for item in names))}]}


def works(place):
    return [SystemCalls(place)]

"""An agent's day: a recorded sequence of reads, repeats, edits and commands, and how a replay of it is judged.

The format: seen-day/1
----------------------
A file tests/bench/days/NAME.jsonl has a JSON object on each line.  The first is its head:

  {"format": "seen-day/1", "name": ..., "about": ..., "seed": the number that its workspace is made from}

Each other is a step, with one of these members that says what it is:

  {"run": "COMMAND"}                    the agent starts `bash -c COMMAND` in the workspace, standard output and error in one pipe.
        "shows": ["PATH", ...]          COMMAND is a viewer's (cat), and these are its files
  {"edit": "PATH", "line": N, "old": "TEXT", "new": "TEXT", "context": C}
                                        the agent's own tool: it reads PATH, whose line N must be TEXT, and writes it anew, in place; the
                                        model is given the line with C lines on either side
  {"compact": true}                     the conversation is cut short: of what was given before nothing is known any more

tests/bench/day_agent.py plays it.  The files of the workspace are not recorded, they are made by workspace(seed), and so were the
steps, by script(): `python3 -m harness.day` in tests/bench writes the files anew.

The shares
----------
How much of a day is a repeat decides what can be saved, so the shares are those of real sessions, not chosen here.  SHARES has
them with their sources.  What came out is measured by the same instrument that measures recorded sessions: `seen replay`, on the
transcript of the day as it goes bare.

The judge
---------
judge() holds what a way gave to the model against what bare gave.  Each output must be the same byte for byte, or have a notice in
the place of bytes that the model was given before in the same conversation: they are looked for, byte for byte, in what this same
way gave before.  A diff must lead from a version that was given to the one on disk.  Everything else raises Failed.
"""
import json
import os
import random
import re
import subprocess

from .place import BUILD, HERE, ROOT, Failed

TOKENIZER = os.path.join(ROOT, "build/bench-npm/node_modules/gpt-tokenizer")  # scripts/bench puts it there

DAYS = os.path.join(HERE, "days")
FORMAT = "seen-day/1"
LIMIT_BYTES = 24000  # of a command's output reach the model: the generic profile's max_output_bytes

# Shares of bytes unless it says otherwise.
SHARES = {
    # 274 recorded sessions of one agent with 4,889 reads by its own tool: 57.7 % of reads name a file read before, 71 % are partial; of the bytes read
    # 2.1 % are identical repeats (1.2 % without those after a compaction), 2.2 % lines that were given in other parts, 6.3 % whole files that
    # changed.  448 runs of another, shell-style agent: 9.4 % of commands come again (1.6 to 25.5 % by model).  Of repeats
    # 64.5 % come within 50 calls.  Here all reads are commands.
    "usual": {"steps": 400, "seed": 20261123, "read": 0.45, "edit": 0.14, "partial": 0.71, "before": 0.577, "identical": 0.012,
              "after_compaction": 0.009, "covered": 0.022, "changed": 0.063, "of": "reads", "again": 0.094, "again_bytes": 24000, "near": 0.645, "context": 4,
              "compactions": (170, 300), "about": "shares of 274 recorded sessions, and of 448 of a shell-style agent for commands that come again"},
    # `seen replay` of 400 trajectories of github.com/multi-swe-bench/experiments, 8,493 outputs, 16.6 MB: reads are 28 % of the output,
    # 94 % of them partial, half of a file read before; identical repeats are 3.5 % of all output, lines given in other parts 0.3 %, whole files that
    # changed 0.1 %; 7.6 % of commands come again with the same output, which is 1.4 % of all output.
    "public": {"steps": 400, "seed": 20261124, "read": 0.2, "edit": 0.24, "partial": 0.94, "before": 0.49, "identical": 0.035,
               "after_compaction": 0.0, "covered": 0.004, "changed": 0.001, "of": "output", "again": 0.16, "again_bytes": 700, "near": 0.645, "context": 40,
               "compactions": (), "about": "shares of 400 public trajectories (multi-swe-bench/experiments)"},
}


class Dice:
    """Numbers that are the same in every version of Python: of random.Random that is promised of random() alone."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, count):
        return int(self.random() * count)

    def one_of(self, items):
        return items[self.below(len(items))]

    def between(self, low, high):
        return low + self.below(high - low + 1)


# The workspace

WORDS = """account agent answer area array batch block border bound branch bucket buffer bundle cache call carry cell chain change channel
check child chunk class clock column copy count cover cursor cycle delta depth digest draft drain edge entry epoch error event extent
field filter flag flow format frame gate glyph graph group guard handle header heap hint index inner item join journal keeper kind label
layer layout leaf length level limit line link list load lock loop mark mask match merge meter mode month name nest node notice offset
order owner page pair panel parent part path peer phase pin pipe place plan point pool port probe proof quota range rank rate ratio
reader record region relay reply request result ring role root round route row rule sample scale scope seal seed segment shape share sheet
signal sink size slice slot source span stage stamp state step stock store stream table tail tally task ticket token total trace tree
turn unit usage value vector version view walk watch weight width window word writer zone""".split()
MODULES = ("core", "net", "store", "view", "rules", "export", "watch", "tools")
CORE_FILES = 24


def c_file(dice, module, name, functions):
    """Source text that compiles and differs from any other line by line, or nearly."""
    lines = ["/* %s: %s of the %s %s, by %s. */" % (name, dice.one_of(WORDS), dice.one_of(WORDS), dice.one_of(WORDS), dice.one_of(WORDS)),
             '#include "%s.h"' % module, ""]
    made = []
    for i in range(functions):
        first, second, third = (dice.one_of(WORDS) for _ in range(3))
        own = "%s_%s_%s_%d" % (name, first, second, i)
        a, b, c = "in_" + first, "at_" + second, "sum_" + third
        lines += ["/* What the %s of a %s adds to its %s number %d. */" % (first, second, third, dice.below(90000)),
                  "static int %s(int %s, int %s)" % (own, a, b), "{", "\tint %s = %s * %d + %s;" % (c, a, dice.between(11, 9999), b), ""]
        for _ in range(dice.below(4)):
            lines += ["\tif ((%s & 0x%x) > %d)" % (c, dice.between(15, 4095), dice.between(3, 999)),
                      "\t\t%s -= %s / %d;" % (c, b, dice.between(3, 99))]
        if dice.below(2):
            lines += ["\tfor (int i = 0; i < %s %% %d; i++)" % (b, dice.between(3, 19)), "\t\t%s += (i ^ %s) & 0x%x;" % (c, a, dice.between(3, 255))]
        lines += ["\treturn %s %% %d;" % (c, dice.between(1001, 99999)), "}", ""]
        made.append(own)
    lines += ["int %s_%s(int value)" % (module, name), "{"] + ["\tvalue += %s(value, %d);" % (own, dice.below(1000)) for own in made] + ["\treturn value;", "}"]
    return "\n".join(lines) + "\n"


def prose(dice, words):
    return " ".join(dice.one_of(WORDS) for _ in range(words)).capitalize() + "."


def size_class(dice):
    """Of functions in a file: most files have some, a few have very many."""
    return int(6 * 2.0 ** (4.6 * dice.random() * dice.random() + 1.8 * dice.random()))


def workspace(seed):
    """{path: content}: a program of some hundred files, of which src/core is built, with documents, tests and data."""
    dice = Dice(seed)
    files = {}
    for module in MODULES:
        names = []
        for i in range(CORE_FILES if module == "core" else 20):
            name = "%s_%s%d" % (dice.one_of(WORDS), dice.one_of(WORDS), i)
            names.append(name)
            files["src/%s/%s.c" % (module, name)] = c_file(dice, module, name, size_class(dice))
        files["src/%s/%s.h" % (module, module)] = "#pragma once\n\n" + "".join(
            "/* %s */\nint %s_%s(int value);\n" % (prose(dice, 9), module, name) for name in names)
        if module == "core":
            files["src/core/main.c"] = ('#include <stdio.h>\n#include <stdlib.h>\n\n#include "core.h"\n\nint main(int argc, char **argv)\n{\n'
                                        "\tint value = argc > 1 ? atoi(argv[1]) : 1;\n\n%s\treturn 0;\n}\n" % "".join(
                                            '\tvalue = core_%s(value);\n\tprintf("%%d %s\\n", value);\n' % (name, name) for name in names))
    for i in range(24):
        files["docs/%s-%d.md" % (dice.one_of(WORDS), i)] = "# %s\n\n%s" % (prose(dice, 4), "".join(
            "%s %s\n%s" % (prose(dice, dice.between(6, 14)), prose(dice, dice.between(4, 12)), "\n" if dice.below(4) == 0 else "")
            for _ in range(dice.between(10, 120))))
    for i in range(24):
        files["tests/test_%s_%d.py" % (dice.one_of(WORDS), i)] = "CASES = [\n%s]\n\n\ndef total():\n    return sum(case[1] for case in CASES)\n" % "".join(
            '    ("%s of %s", %d, "%s"),\n' % (dice.one_of(WORDS), dice.one_of(WORDS), dice.below(100000), prose(dice, 5))
            for _ in range(dice.between(20, 160)))
    for i in range(12):
        files["data/%s-%d.json" % (dice.one_of(WORDS), i)] = json.dumps(
            [{"id": dice.below(10 ** 9), "name": dice.one_of(WORDS), "text": prose(dice, 8)} for _ in range(dice.between(20, 150))], indent=1) + "\n"
    files["tests/run.py"] = ('import glob, os, runpy, sys\n\nfor path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "test_*.py"))):\n'
                             "    name = os.path.basename(path)\n    if len(sys.argv) > 1 and sys.argv[1] not in name:\n        continue\n"
                             "    found = runpy.run_path(path)\n"
                             '    for case in found["CASES"] if len(sys.argv) > 1 else []:\n        print("ok %s %s %d" % (name, case[0], case[1]))\n'
                             '    print("%s: %d cases, total %d" % (name, len(found["CASES"]), found["total"]()))\n')
    files["Makefile"] = ("SOURCES := $(sort $(wildcard src/core/*.c))\nOBJECTS := $(SOURCES:src/core/%.c=build/%.o)\n\nbuild/app: $(OBJECTS)\n"
                         "\t@echo linking $@\n\t@gcc -o $@ $(OBJECTS)\n\nbuild/%.o: src/core/%.c src/core/core.h\n\t@mkdir -p build\n\t@echo compiling $<\n"
                         "\t@gcc -O0 -Isrc/core -c -o $@ $<\n")
    files["README.md"] = "# %s\n\n%s\n" % (prose(dice, 3), "\n".join(prose(dice, 12) for _ in range(30)))
    files[".gitignore"] = "build/\n__pycache__/\n"
    return files


# The steps


class Maker:
    """Chooses the steps of a day, one after the other, so that the shares come near those that are asked for.

    It knows what the files hold at each step, and which of their lines the model was given.
    """

    def __init__(self, shares):
        self.shares = shares
        self.dice = Dice(shares["seed"] + 1)
        self.files = workspace(shares["seed"])
        self.version = dict.fromkeys(self.files, 0)
        self.sources = sorted(path for path in self.files if path.startswith(("src/", "docs/", "tests/test", "data/")) and not path.endswith("core.h"))
        self.code = [path for path in self.sources if path.startswith("src/") and path.endswith(".c") and not path.endswith("main.c")]
        self.steps = []
        self.lines = {}  # {path: numbers of lines ever given}
        self.reads = []  # (number of the step, command, path, version, bytes, whole, of which conversation)
        self.commands = []  # that are no reads
        self.words = set()
        self.given = dict.fromkeys(("output", "reads", "identical", "covered", "changed", "after_compaction"), 0)
        self.count = dict.fromkeys(("reads", "partial", "before", "edits", "commands", "again"), 0)
        self.conversation = 0
        self.next = {}  # {kind of repeat: bytes that the next one has}

    def step(self, size_bytes=0, **members):
        self.steps.append(members)
        self.given["output"] += min(size_bytes, LIMIT_BYTES)

    # reads

    def read(self, command, path, first, last, kind=None):
        """kind: the share that it counts for."""
        lines = self.files[path].splitlines(keepends=True)
        size = sum(len(line) for line in lines[first - 1:last])
        whole = first == 1 and last >= len(lines)
        self.count["reads"] += 1
        self.count["partial"] += not whole
        self.count["before"] += path in self.lines
        if kind:
            self.given[kind] += size
        self.given["reads"] += size
        self.reads.append((len(self.steps), command, path, self.version[path], size, whole, self.conversation, (first, last)))
        self.lines.setdefault(path, set()).update(range(first, last + 1))
        self.words.add(command)
        self.step(size, run=command, **({"shows": [path]} if command.startswith("cat ") else {}))

    def lacks(self, kind):
        """Bytes that a share is short of."""
        return self.shares[kind] * self.given[self.shares["of"]] - self.given[kind]

    def repeat(self, kind, fits):
        """A read that was made before, when the share is short of as much as one of them has, whichever it is."""
        lack = self.lacks(kind)
        if lack <= 0 or not self.reads:
            return False
        size = self.next.setdefault(kind, self.dice.one_of(self.reads)[4])
        near = self.dice.random() < self.shares["near"]
        found = [read for read in self.reads if fits(read) and read[4] <= LIMIT_BYTES and (len(self.steps) - read[0] <= 50) == near]
        if lack < size / 2 or not found:
            return False
        _, command, path, _, _, _, _, (first, last) = min(found, key=lambda read: (abs(read[4] - size), -read[0]))
        self.read(command, path, first, last, kind)
        del self.next[kind]
        return True

    def part(self, covered):
        """Lines of a file: new ones, or of those that were given, in other parts."""
        before = covered or self.count["before"] < self.shares["before"] * (self.count["reads"] + 1)
        for turn in range(600):
            before = covered or (before and turn < 400)  # in none that was read before is anything new
            path = self.dice.one_of([path for path in self.lines] if before and self.lines else self.sources)
            count, known = self.files[path].count("\n"), self.lines.get(path, set())
            if count < 60 or (not before and known):
                continue
            first = 1 if not known and self.dice.below(4) == 0 else self.dice.between(1, count - 30)
            last = min(count - 1 if first == 1 else count, first + self.dice.between(20, 50 if covered else 180))
            if known.issuperset(range(first, last + 1)) != covered or (not covered and known.intersection(range(first, last + 1))):
                continue
            if covered and not any(read[2] == path and read[3] == self.version[path] and read[6] == self.conversation for read in self.reads):
                continue
            if first == 1:
                command = "head -n %d %s" % (last, path)
            elif self.dice.below(5) == 0:
                command = "nl -ba %s | sed -n '%d,%dp'" % (path, first, last)
            else:
                command = "sed -n '%d,%dp' %s" % (first, last, path)
            if command not in self.words:
                self.read(command, path, first, last, "covered" if covered else None)
                return True
        return False

    def whole(self, path, kind=None):
        self.read("cat " + path, path, 1, max(1, self.files[path].count("\n")), kind)

    def any_read(self):
        def same(read):
            return read[3] == self.version[read[2]] and read[6] == self.conversation and "nl" not in read[1]

        if self.repeat("identical", same):
            return
        if self.repeat("after_compaction", lambda read: read[3] == self.version[read[2]] and read[6] == self.conversation - 1):
            return
        if self.lacks("changed") > 0:
            now = {(read[2], read[3]) for read in self.reads}
            found = [read for read in self.reads if read[5] and read[6] == self.conversation and (read[2], self.version[read[2]]) not in now
                     and read[4] <= max(3000, 2 * self.lacks("changed"))]
            if found:
                self.whole(found[-1][2], "changed")
                return
        if self.lacks("covered") > 1500 and self.part(True):
            return
        if self.count["partial"] < self.shares["partial"] * (self.count["reads"] + 1) and self.part(False):
            return
        fresh = [path for path in self.sources if path not in self.lines and len(self.files[path]) < LIMIT_BYTES]
        if fresh:
            self.whole(self.dice.one_of(fresh))
        else:
            self.part(False)

    # other commands

    def new_command(self):
        """Words that were not used before, and how long its output is, about."""
        dice = self.dice
        for _ in range(100):
            kind, word, other, path = dice.below(20), dice.one_of(WORDS), dice.one_of(WORDS), dice.one_of(self.sources)
            directory = "src/" + dice.one_of(MODULES)
            command, size = (
                ("grep -rn '%s_%s' src" % (word, other), 300), ("grep -rn %s %s" % (word, directory), 6000),
                ("grep -rln %s ." % (word + "_" + other), 300), ("grep -n '%s' %s" % (word, path), 600),
                ("grep -rn %s src | head -n %d" % (word, dice.between(10, 60)), 3000), ("find . -name '*%s*' -not -path './.git/*'" % word, 200),
                ("ls %s | grep %s" % (directory, word[:3]), 60), ("ls -l %s" % dice.one_of(("data", "docs")), 1000),
                ("wc -l %s/*%s*" % (directory, word[:2]), 250), ("git log --oneline -n %d -- %s" % (dice.between(3, 9), path), 60),
                ("git diff -- %s" % path, 200), ("git show --stat HEAD -- %s | tail -n %d" % (directory, dice.between(3, 30)), 800),
                ("python3 tests/run.py %s" % word, 2000), ("make -s && ./build/app %d" % dice.between(2, 99999), 800),
                ("cat %s | grep -c %s" % (path, word), 4), ("ls src/*/*%s* 2>&1; echo done" % word[:4], 100),
                ("grep -rn '%s' src | head -n %d" % (word, dice.between(60, 120)), 7000), ("grep -rnw in_%s src" % word, 5000),
                ("git log -p --format=%%h -- %s | head -n %d" % (path, dice.between(40, 150)), 4000),
                ("find src docs -name '*.%s' -newer Makefile -o -name '*%s*' | sort" % (dice.one_of(("c", "h", "md")), word), 1500))[kind]
            if command not in self.words:
                return command, size
        raise ValueError("no more words")

    def any_command(self):
        self.count["commands"] += 1
        found = [entry for entry in self.commands if entry[2] <= self.shares["again_bytes"]]
        if self.count["again"] < self.shares["again"] * self.count["commands"] and found:
            near = self.dice.random() < self.shares["near"]
            found = [entry for entry in found if (len(self.steps) - entry[0] <= 50) == near] or found
            _, command, size = self.dice.one_of(found)
            self.count["again"] += 1
        elif self.dice.below(16) == 0:  # what agents say again and again
            command, size = self.dice.one_of((("git status --short", 200), ("make -s", 100), ("python3 tests/run.py", 1100), ("git diff --stat", 300)))
            self.count["again"] += command in self.words
        else:
            command, size = self.new_command()
        self.words.add(command)
        self.commands.append((len(self.steps), command, size))
        self.step(size, run=command)

    def any_edit(self):
        """Of a file that was read, as a rule; every fifth one by a command."""
        self.count["edits"] += 1
        known = [path for path in self.code if path in self.lines] or self.code
        recent = [path for path in dict.fromkeys(read[2] for read in self.reads[-16:]) if path in known]
        path = self.dice.one_of(recent if recent and self.dice.below(3) else known)
        lines = self.files[path].splitlines(keepends=True)
        number = self.dice.one_of([i for i, line in enumerate(lines) if line.startswith("\tint sum_")])
        new = re.sub(r"\* \d+", "* %d" % self.dice.between(11, 9999), lines[number])
        if self.dice.below(5) == 0:
            note = "notes/%d.md" % self.count["edits"]
            if self.dice.below(2):
                self.step(0, run="mkdir -p notes && cat > %s <<'EOF'\n%s\n%s\nEOF" % (note, prose(self.dice, 9), prose(self.dice, 12)))
                return
            digits = [re.search(r"\* (\d+)", line).group(1) for line in (lines[number], new)]
            self.step(0, run="sed -i '%ds/\\* %s /* %s /' %s" % (number + 1, *digits, path))
        else:
            context = self.shares["context"]
            self.step(sum(len(line) for line in lines[max(0, number - context):number + context + 1]), edit=path, line=number + 1,
                      old=lines[number][:-1], new=new[:-1], context=context)
        lines[number] = new
        self.files[path] = "".join(lines)
        self.version[path] += 1

    def make(self):
        self.step(300, run="ls")
        self.step(600, run="make -s")
        while len(self.steps) < self.shares["steps"]:
            done = len(self.steps)
            if done in self.shares["compactions"]:
                self.step(compact=True)
                self.conversation += 1
            elif self.count["reads"] < self.shares["read"] * done:
                self.any_read()
            elif self.count["edits"] < self.shares["edit"] * done:
                self.any_edit()
            else:
                self.any_command()
        return self.steps


def script(name):
    """The text of a day's file."""
    shares = SHARES[name]
    head = {"format": FORMAT, "name": name, "about": shares["about"], "seed": shares["seed"]}
    return "".join(json.dumps(line) + "\n" for line in [head, *Maker(shares).make()])


def path_of(name):
    return os.path.realpath(os.path.join(DAYS, name + ".jsonl"))


def load(name):
    """The head and the steps of a day's file."""
    with open(path_of(name), encoding="utf-8") as file:
        head, *steps = (json.loads(line) for line in file)
    if head.get("format") != FORMAT:
        raise Failed("%s is no %s" % (path_of(name), FORMAT))
    return head, steps


# What came out


def load_results(path):
    """[{"output": bytes, "status": int, "files": {path: bytes}}] of each step, as day_agent.py wrote them."""
    results = []
    with open(path, "rb") as file:
        for line in file:
            entry = json.loads(line)
            output = file.read(entry["bytes"])
            results.append({"output": output, "status": entry["status"], "files": {
                name: file.read(size) for name, size in entry["files"]}})
    return results


NOTICE = re.compile(rb"\[File previously read: (.+?)\. Content unchanged since last read\. [^\n]*\((\d+) lines, (\d+) bytes, "
                    rb"version [0-9a-f]{12}, seen-[0-9a-f]{16}\)\]\n")
COMMAND = re.compile(rb"\[Command already run: [^\n]*\. Same output as \d+ (?:second|minute)s? ago: [^\n]*\((\d+) bytes, seen-[0-9a-f]{16}\)\]\n")
CHANGED = re.compile(rb"\[File changed since last read: (.+?)\. Below is not the file but what changed in it, [^\n]*"
                     rb"\((\d+) bytes, version [0-9a-f]{12}, seen-[0-9a-f]{16}\)\]\n")
HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def apply_diff(old, lines):
    """What a unified diff makes of a text, and how many of the lines are the diff; raises ValueError if it is for another."""
    before, made, at, used = old.splitlines(keepends=True), [], 0, 0
    if len(lines) < 3 or not lines[0].startswith(b"--- ") or not lines[1].startswith(b"+++ "):
        raise ValueError("no diff")
    used = 2
    while used < len(lines):
        found = HUNK.match(lines[used])
        if not found:
            break
        first, minus, plus = int(found[1]), int(found[2] or 1), int(found[4] or 1)
        start = first - (minus > 0)
        if start < at:
            raise ValueError("hunks out of order")
        made += before[at:start]
        at, used = start, used + 1
        while minus > 0 or plus > 0:
            mark, text = lines[used][:1], lines[used][1:]
            if used + 1 < len(lines) and lines[used + 1].startswith(b"\\ No newline"):
                raise ValueError("a file without a last newline")
            if mark in b" -":
                if at >= len(before) or before[at] != text:
                    raise ValueError("line %d is another" % (at + 1))
                at += 1
                minus -= 1
            if mark in b" +":
                made.append(text)
                plus -= 1
            used += 1
    return b"".join(made + before[at:]), used


class Judge:
    """Reads what a way gave, step by step, beside what bare gave.

    notices, commands, diffs: how many were given.  given: what the model was given, of each step.
    """

    def __init__(self, name):
        self.name = name
        self.notices = self.commands = self.diffs = 0
        self.given = []
        self.context = []  # what the model was given in this conversation, in full
        self.versions = {}  # {path: version that it has whole}

    def failed(self, number, step, why):
        raise Failed("%s: step %d, %s: %s" % (self.name, number, json.dumps(step)[:200], why))

    def was_given(self, content):
        """In one piece, or in parts of whole lines."""
        if any(content in text for text in self.context):
            return True
        lines = content.splitlines(keepends=True)
        first = 0
        while first < len(lines):
            last, piece = first, b""
            for text in self.context:
                end = first
                while end < len(lines) and b"".join(lines[first:end + 1]) in text:
                    end += 1
                if end > last:
                    last, piece = end, text
            if last == first or not piece:
                return False
            first = last
        return bool(lines)

    def restore(self, number, step, got, wanted, files):
        """Holds an output with notices against the one without."""
        at = 0
        lines = got.splitlines(keepends=True)
        used = 0
        while used < len(lines):
            line = lines[used]
            notice, command, changed = NOTICE.fullmatch(line), COMMAND.fullmatch(line), CHANGED.fullmatch(line)
            used += 1
            if notice:
                size, path = int(notice[3]), notice[1].decode()
                content = wanted[at:at + size]
                if files.get(path) != content:
                    self.failed(number, step, "a notice for %s, whose bytes these are not" % path)
                if content.count(b"\n") != int(notice[2]):
                    self.failed(number, step, "a notice for %s with a wrong number of lines" % path)
                if not self.was_given(content):
                    self.failed(number, step, "a notice for %s, which was never given" % path)
                self.notices += 1
                self.versions[path] = content
            elif command:
                size = int(command[1])
                content = wanted[at:at + size]
                if len(content) != size or not any(content in text for text in self.context):
                    self.failed(number, step, "a notice for a command whose output was never given")
                self.commands += 1
            elif changed:
                size, path = int(changed[2]), changed[1].decode()
                content = wanted[at:at + size]
                old = self.versions.get(path)
                try:
                    new, count = apply_diff(old or b"", lines[used:])
                except (ValueError, IndexError) as error:
                    self.failed(number, step, "a diff of %s that cannot be applied: %s" % (path, error))
                if old is None or new != content or files.get(path) != content:
                    self.failed(number, step, "a diff of %s that does not lead to what is there" % path)
                used += count
                self.diffs += 1
                self.versions[path] = content
                self.context.append(content)
            else:
                size, content = len(line), wanted[at:at + len(line)]
                if content != line:
                    self.failed(number, step, "%r in place of %r" % (line[:200], content[:200]))
            at += size
        if at != len(wanted):
            self.failed(number, step, "ends after %d of %d bytes" % (at, len(wanted)))

    def compare(self, number, step, got, wanted):
        if "compact" in step:
            self.context, self.versions = [], {}
        if got["status"] != wanted["status"]:
            self.failed(number, step, "exit status %d, not %d" % (got["status"], wanted["status"]))
        files = wanted["files"]
        if got["output"] != wanted["output"]:
            self.restore(number, step, got["output"], wanted["output"], files)
        elif len(got["output"]) <= LIMIT_BYTES:
            self.versions.update(files)
        self.given.append(got["output"][:LIMIT_BYTES])
        self.context.append(self.given[-1])


def judge(name, steps, results, reference):
    """Raises Failed unless all outputs are right: the Judge, with what it counted.

    results: of load_results(); reference: that of bare, whose entries have the contents of the files that were shown.
    """
    if not len(steps) == len(results) == len(reference):
        raise Failed("%s: %d of %d steps" % (name, len(results), len(steps)))
    found = Judge(name)
    for number, (step, got, wanted) in enumerate(zip(steps, results, reference)):
        found.compare(number, step, got, wanted)
    return found


def tokens_of(texts, directory):
    """{counter: tokens} of texts as the model was given them, each counted by itself: by seen's own estimate, and by gpt-tokenizer where it is.

    directory: for a file.  The study asks for gpt-tokenizer; tests do without.
    """
    path = os.path.join(directory, "given")
    with open(path, "wb") as file:
        for text in texts:
            file.write(b"%d\n" % len(text) + text)
    counters = {"seen": [os.path.join(BUILD, "tests/bench/count_tokens"), path]}
    if os.path.isdir(TOKENIZER):
        counters["o200k_base"] = ["node", os.path.join(HERE, "count_tokens.js"), TOKENIZER, path]
    try:
        counted = {}
        for name, command in counters.items():
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not done.stdout.strip().isdigit():
                raise Failed("%s: exit status %d, %s" % (command[0], done.returncode, done.stderr[-500:]))
            counted[name] = int(done.stdout)
        return counted
    finally:
        os.unlink(path)


def transcript(steps, results, workspace_path):
    """The day as a transcript that `seen replay` reads (Claude Code's), every read a command."""
    lines = []

    def line(**members):
        lines.append(json.dumps({"parentUuid": None, "isSidechain": False, "sessionId": "day", "cwd": workspace_path,
                                 "uuid": "day-%d" % len(lines), "timestamp": "2026-11-23T%02d:%02d:%02d.000Z" % (
                                     8 + len(lines) // 3600, len(lines) // 60 % 60, len(lines) % 60), **members}))

    for number, (step, result) in enumerate(zip(steps, results)):
        if "compact" in step:
            line(type="system", subtype="compact_boundary", content="Conversation compacted")
            continue
        output = result["output"][:LIMIT_BYTES].decode(errors="replace")
        if "run" in step:
            name, arguments = "Bash", {"command": step["run"]}
        else:
            name, arguments = "Edit", {"file_path": os.path.join(workspace_path, step["edit"]), "old_string": step["old"], "new_string": step["new"]}
        line(type="assistant", message={"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_%d" % number, "name": name, "input": arguments}]})
        line(type="user", message={"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_%d" % number, "content": output}]}, toolUseResult={})
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for day in SHARES:
        with open(path_of(day), "w", encoding="utf-8") as out:
            out.write(script(day))

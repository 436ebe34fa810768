"""Which branches of the product the tests reach: from a build that counts (support/coverage/counters.c), by gcov.

A branch is named FILE FUNCTION NUMBER: LINE'S TEXT, where gcov numbers the branches of a line from 0: of `if (a && b)` 0 and 1 are of a, 2 and 3 of b.
A line whose text comes more than once in a function has #2, #3 behind its number.
"""
import collections
import json
import os
import pathlib
import re
import struct
import subprocess

FUNCTION, COUNTERS = 0x01000000, 0x01a10000  # tags of gcc's gcov-io.h
HEAD = struct.Struct("<II")
# As CMakeLists.txt has them: gcc would have calls of its own in the place of fork and exec, that write counters.  A function that is inlined by force would
# have its branches once for each place.
FLAGS = ["-fprofile-arcs", "-ftest-coverage", "-fprofile-update=atomic", "-fprofile-info-section=coverage_info", "-fdata-sections", "-Dalways_inline=",
         *("-fno-builtin-" + name for name in ("fork", "execl", "execlp", "execle", "execv", "execvp", "execve"))]


class Counts:
    """The counters of one object, summed over the programs that it is a part of."""

    def __init__(self):
        self.head, self.functions = None, {}

    def add(self, data):
        """data: a .gcda file."""
        self.head, at, function = data[:16], 16, None
        while at + HEAD.size <= len(data):
            tag, size = HEAD.unpack_from(data, at)
            at += HEAD.size
            if tag == 0:
                break
            kept = size if size < 1 << 31 else 0  # negative: that many bytes of zeros, left out
            if tag == FUNCTION:
                function = data[at:at + kept]
            elif tag == COUNTERS and function:
                number = (size if kept else (1 << 32) - size) // 8
                values = struct.unpack_from("<%dQ" % number, data, at) if kept else (0,) * number
                self.functions[function] = [a + b for a, b in zip(self.functions.get(function, (0,) * number), values)]
            at += kept

    def data(self):
        parts = [self.head]
        for function, values in self.functions.items():
            parts += [HEAD.pack(FUNCTION, len(function)), function, HEAD.pack(COUNTERS, 8 * len(values)), struct.pack("<%dQ" % len(values), *values)]
        return b"".join(parts) + HEAD.pack(0, 0)


def dump(build, name):
    """What a program or library of a build with SEEN_COVERAGE counted.  name: of its file in counters/, its target's."""
    program, environment = build / "bin" / name, {"COVERAGE_DUMP": "1"}
    if name == "seen_preload":
        program, environment["LD_PRELOAD"] = "/bin/true", str(build / "lib/seen/libseen.so")
    elif name == "seen-demo-agent":
        program = build / "lib/seen" / name
    elif name != "seen":
        room, _, test = name.partition("_")
        program = build / "tests" / room / ("test_" * (room == "unit") + test)
    return subprocess.run([program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout


def read_dump(dump, counts):
    """What a program writes with COVERAGE_DUMP.  counts: a Counts for each .gcda file's name."""
    at, name, parts = 0, None, []
    while at < len(dump):
        kind, size = HEAD.unpack_from(dump, at)
        block = dump[at + HEAD.size:at + HEAD.size + size]
        at += HEAD.size + size
        if kind == 0:
            if name:
                counts[name].add(b"".join(parts))
            name, parts = block.decode(), []
        else:
            parts.append(block)
    if name:
        counts[name].add(b"".join(parts))


def files_of(source, dumps, chosen):
    """(path, what gcov has about it) of the files that match chosen, from what programs write with COVERAGE_DUMP."""
    counts = collections.defaultdict(Counts)
    for dump in dumps:
        read_dump(dump, counts)
    files = []
    for name, one in counts.items():
        pathlib.Path(name).write_bytes(one.data())
        files.append(name)
    for start in range(0, len(files), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", "--branch-counts", *files[start:start + 50]],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=source, check=False, text=True)
        if done.returncode:
            raise OSError("gcov: %s" % done.stderr.strip().split("\n")[0])
        for line in done.stdout.splitlines():
            unit = json.loads(line)
            for file in unit["files"]:
                path = os.path.relpath(os.path.join(unit["current_working_directory"], file["file"]), source)
                if re.match(chosen, path):
                    yield path, file


def branches(source, dumps, chosen):
    """{(file, line, number on the line): (function, how often)}."""
    found = {}
    for path, file in files_of(source, dumps, chosen):
        for one in file["lines"]:
            for number, branch in enumerate(one["branches"]):
                key = path, one["line_number"], number
                found[key] = one.get("function_name", "?"), branch["count"] + found.get(key, (None, 0))[1]
    return found


def lines(source, dumps, chosen):
    """{file: {line: did it run?}}."""
    found = collections.defaultdict(dict)
    for path, file in files_of(source, dumps, chosen):
        for one in file["lines"]:
            found[path][one["line_number"]] = one["count"] > 0 or found[path].get(one["line_number"], False)
    return found


def named(source, found):
    """The same by name: {name: how often}."""
    texts, names, seen = {}, {}, collections.defaultdict(list)
    for (path, line, number), (function, count) in sorted(found.items()):
        if path not in texts:
            texts[path] = (pathlib.Path(source) / path).read_text().split("\n")
        text = texts[path][line - 1].strip()
        lines = seen[path, function, text]
        if line not in lines:
            lines.append(line)
        nth = lines.index(line) + 1
        names["%s %s %d%s: %s" % (path, function, number, "#%d" % nth if nth > 1 else "", text)] = count
    return names


def read_list(path):
    """The file of branches that no test reaches: {name: reason}.  A reason is a line of its own that ends with a colon; the branches are below it,
    indented, and several numbers of one line are separated by commas."""
    listed, reason = {}, None
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("\t"):
            place, _, text = line[1:].partition(": ")
            file, function, numbers = place.split(" ")
            numbers, mark, nth = numbers.partition("#")
            for number in numbers.split(","):
                listed["%s %s %s%s%s: %s" % (file, function, number, mark, nth, text)] = reason
        elif line and not line.startswith("#"):
            reason = line.rstrip(":")
    return listed


def written(names):
    """Names as lines of that file."""
    lines = collections.defaultdict(list)
    for name in names:
        place, _, text = name.partition(": ")
        file, function, number = place.split(" ")
        number, mark, nth = number.partition("#")
        lines[file, function, mark + nth, text].append(number)
    return ["\t%s %s %s%s: %s" % (file, function, ",".join(numbers), nth, text) for (file, function, nth, text), numbers in lines.items()]


def table(found):
    """Lines: how many branches of each room, with a slash at its end, and each file are reached."""
    reached = collections.defaultdict(lambda: [0, 0])
    for name, count in found.items():
        file = name.partition(" ")[0]
        for one in (file.rpartition("/")[0] + "/", file):
            reached[one][0] += count > 0
            reached[one][1] += 1
    return ["%-40s %5d of %5d %5.1f %%" % (one, some, every, 100 * some / every) for one, (some, every) in sorted(reached.items())]

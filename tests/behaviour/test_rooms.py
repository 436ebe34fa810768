"""The rooms: who may call whom, read from the symbols of the objects that were built (nm).

A room is a directory.  Rooms are in layers: a file may use what lies below its own room, and files of its own room, but no two files
of one room may reach each other in a circle.  Each .c has a header of its own name, but for those listed here with the reason.
What the preloaded library exports are libc's names: who calls `open` there means libc's, unless it is one of the wrappers' own files.
"""
import collections
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])
BUILD = pathlib.Path(os.environ["SEEN_BUILD"])

# Callees first.  shim/preload/follow belongs to shim/preload: its files call what lies beside it there, and the wrappers call them.
LAYERS = (
    "config",
    "tracker/sys", "tracker/path", "tracker/segment", "tracker/journal", "tracker/process", "tracker/content", "tracker/answer",
    "tracker/guard",
    "shim/call", "shim/start", "shim/keep", "shim/preload", "shim/supervise",
    "cli/base", "cli/screen", "cli/session", "cli/journal", "cli/agents", "cli/enable", "cli/files", "cli/undo", "cli/hooks", "cli/export", "cli/replay", "cli/report", "cli/attest", "cli/top", "cli/confine", "cli/learn",
    "cli/run", "cli",
)
# A layer above that may not be used all the same.
NEVER = {"shim/supervise": ("shim/preload",), "cli": ("shim/preload",), "tracker": ("config",)}

# Headers that those below them may include: their types are part of the shared layout.
LAYOUT_TYPES = ("tracker/content/version.h", "tracker/process/role.h")

def table(pattern, header):
    """The names in a table of formats, as a pattern."""
    return "|".join(re.findall(pattern, (SOURCE / header).read_text()))


EXPORT_FORMATS = table(r"FORMAT\((\w+)\)", "cli/export/export.h")

# A .c without a header of its own name.
WITHOUT_HEADER = (
    (r"cli/main\.c|cli/.*/cmd_\w+\.c", "commands: cli/command.h is the table of them"),
    (r"cli/agents/demo_agent\.c", "a program"),
    (r"cli/hooks/adapter_\w+\.c", "adapters: adapter.h is the table of them"),
    (rf"cli/export/export_({EXPORT_FORMATS})\.c", "formats: cli/export/export.h is the table of them"),
    (r"cli/replay/transcript_(claude|cline|codex|gemini|journal|messages|opencode|openhands|pi|swe_agent)\.c", "formats: transcript_formats.h is the table of them"),
    (r"shim/preload/attach\.c", "begins a process: the loader calls it, nobody else"),
    (r"shim/preload/hooks_\w+\.c", "wrappers: hooks.def is the table of them"),
)

# Each program is linked by itself: a symbol means what the same program defines.
PROGRAMS = {"libseen.so": ("shim/call/", "shim/start/", "shim/keep/", "shim/preload/", "tracker/"), "seen": ("cli/", "config/", "tracker/", "shim/call/", "shim/start/", "shim/keep/", "shim/supervise/")}


def objects():
    """Object files of the product by source, without its suffix: "tracker/sys/sys"."""
    found = {}
    for path in sorted(BUILD.glob("*/CMakeFiles/*.dir/**/*.o")):
        part, rest = re.fullmatch(r"(\w+)/CMakeFiles/[^/]+\.dir/(.*)\.[cS]\.o", path.relative_to(BUILD).as_posix()).groups()
        is_there = any((SOURCE / part / (rest + suffix)).exists() for suffix in (".c", ".S"))  # else it is left from another checkout
        if part in ("config", "tracker", "shim", "cli") and is_there:
            found.setdefault(part + "/" + rest, path)
    return found


def symbols(files):
    """What each object file defines for others, and what it wants of them: {source: (names, names)}."""
    found = {source: (set(), set()) for source in files}
    sources = {str(path): source for source, path in files.items()}
    for line in subprocess.run(["nm", "-PA", *sources], check=True, capture_output=True, text=True).stdout.splitlines():
        path, _, rest = line.partition(": ")
        name, kind = rest.split()[:2]
        if kind == "U":
            found[sources[path]][1].add(name)
        elif kind.isupper():
            found[sources[path]][0].add(name)
    return found


def room_of(source):
    directory = source.rpartition("/")[0]
    return "shim/preload" if directory.startswith("shim/preload") else directory


def uses(tables, exported):
    """{user: {used: names}} in one program."""
    definers = collections.defaultdict(list)
    for source, (defined, _) in tables.items():
        for name in defined:
            definers[name].append(source)
    found = {}
    for source, (_, wanted) in tables.items():
        used = collections.defaultdict(list)
        for name in wanted:
            if name in exported and room_of(source) != "shim/preload":
                continue
            for other in definers.get(name, ()):
                used[other].append(name)
        found[source] = used
    return found


def circles(graph):
    """Sets of nodes that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def is_refused(user, used):
    """Why a room may not use another; None: it may."""
    for room, others in NEVER.items():
        if (user == room or user.startswith(room + "/")) and used in others:
            return "never"
    return "upward" if LAYERS.index(used) > LAYERS.index(user) else None


def complaints(graph):
    """What is wrong with a graph of uses, a line each."""
    found = []
    for user, others in graph.items():
        for used, names in others.items():
            why = room_of(user) != room_of(used) and is_refused(room_of(user), room_of(used))
            if why:
                found.append("%s uses %s of %s: %s" % (user, ", ".join(sorted(names)), used, why))
    for part in circles(graph):
        if len({room_of(source) for source in part}) == 1:
            found.append("a circle: " + ", ".join("%s -> %s (%s)" % (a, b, graph[a][b][0]) for a in part for b in part if b in graph[a]))
    return found


class Rooms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tables = symbols(objects())
        cls.exported = set(re.findall(r"^HOOK\((\w+)", (SOURCE / "shim/preload/hooks.def").read_text(), re.M))

    def test_all_is_read(self):
        self.assertGreater(len(self.exported), 150)
        missing = sorted(path.relative_to(SOURCE).as_posix() for part in ("config", "tracker", "shim", "cli")
                         for path in (SOURCE / part).rglob("*.c") if path.relative_to(SOURCE).with_suffix("").as_posix() not in self.tables)
        self.assertEqual(missing, [], "not built")
        self.assertEqual(sorted({room_of(source) for source in self.tables} - set(LAYERS)), [], "directories without a layer")

    def test_rooms_call_downward_and_without_circles(self):
        for program, parts in PROGRAMS.items():
            with self.subTest(program):
                tables = {source: table for source, table in self.tables.items() if source.startswith(parts)}
                self.assertEqual(complaints(uses(tables, self.exported)), [])

    def test_includes_point_downward(self):
        wrong = []
        for part in ("config", "tracker", "shim", "cli"):
            for path in (SOURCE / part).rglob("*.[ch]"):
                user = room_of(path.relative_to(SOURCE).as_posix())
                for used in re.findall(r'^#include "((?:config|tracker|shim|cli)/[^"]+)"', path.read_text(), re.M):
                    is_code = (SOURCE / used).with_suffix(".c").exists() and used not in LAYOUT_TYPES
                    if is_code and room_of(used) != user and is_refused(user, room_of(used)):
                        wrong.append("%s includes %s" % (path.relative_to(SOURCE), used))
        self.assertEqual(wrong, [])

    def test_each_file_has_its_own_header(self):
        missing = []
        for part in ("config", "tracker", "shim", "cli"):
            for path in (SOURCE / part).rglob("*.c"):
                name = path.relative_to(SOURCE).as_posix()
                if not path.with_suffix(".h").exists() and not any(re.fullmatch(pattern, name) for pattern, _ in WITHOUT_HEADER):
                    missing.append(name)
        self.assertEqual(missing, [], "without a header of its name; WITHOUT_HEADER here has those that a table declares")

    def test_each_room_says_what_it_may_touch(self):
        rows = dict(re.findall(r"^\| `([a-z/]+)/` \| .* \| (.*) \|$", (SOURCE / "docs/CONTRIBUTING.md").read_text(), re.M))
        self.assertEqual(list(rows), list(LAYERS), "the table of docs/CONTRIBUTING.md, in the order of the layers")
        self.assertEqual([room for room, text in rows.items() if not text], [])

    def test_what_is_wrong_is_found(self):
        graph = {"tracker/sys/a": {"tracker/path/b": ["f"]}, "tracker/path/b": {"tracker/path/c": ["g"]}, "tracker/path/c": {"tracker/path/b": ["h"]},
                 "cli/run/d": {"shim/preload/state": ["i"], "cli/base/e": ["j"]}, "shim/preload/state": {}, "cli/base/e": {}}
        self.assertEqual([line.rpartition(": ")[2] if "uses" in line else "circle" for line in complaints(graph)], ["upward", "never", "circle"])


if __name__ == "__main__":
    unittest.main()

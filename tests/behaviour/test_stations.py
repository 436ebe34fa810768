"""Each interposed function asks what shim/call/operations.def says that it asks, and nothing else: read from the code that was built.

hooks.def gives each of libc's names an operation, and the operation has its stations: rules, guard, observe, journal.  A wrapper passes
a station if its code can reach a function of it: from its own section, by relocations, through the other wrappers' code and call.c.
So a new wrapper that asks neither the rules nor the guard fails here unless its operation has a reason for that.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from operations import rows

BUILD = pathlib.Path(os.environ["SEEN_BUILD"])
SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])
SHIM = BUILD / "shim/CMakeFiles/seen_preload.dir"

# Functions that may refuse a call, or take it back; all else of the guard only notes.
GUARDS = {"write_check_open", "write_check_change", "write_check_rename", "write_check_name", "guarded_refuses", "guarded_refuses_parts", "guarded_closing"}
# Objects whose functions belong to a station.
RULES = ("preload/rules",)
KEEP = ("preload/keep", "keep/keep")
OBSERVE = ("preload/follow/", "preload/change", "preload/ring", "preload/directory")
JOURNAL = ("preload/record", "preload/descriptors", "preload/launch", "preload/exit")
# Objects that a wrapper's way to a station leads through.
WAY = ("preload/hooks_", "preload/call", "preload/stations")
FAMILIES = ("NAMES", "LISTS", "OPENS", "DESCRIPTORS", "DATA", "METADATA", "PROCESSES")


def station_of(source, name):
    if source.startswith(RULES):
        return "RULES"
    if name in GUARDS:
        return "GUARD"
    if source.startswith(KEEP):
        return "KEEP"
    return "OBSERVE" if source.startswith(OBSERVE) else "JOURNAL" if source.startswith(JOURNAL) else None


class Code:
    """Sections of the library's own objects (a function each) and what they name."""

    def __init__(self):
        self.places = {}  # of what others may name: (object, section)
        self.named = collections.defaultdict(set)
        for path in sorted(SHIM.rglob("*.o")):
            self.read(path.relative_to(SHIM).as_posix().partition(".")[0], path)

    def read(self, source, path):
        section = None
        lines = subprocess.run(["objdump", "-t", "-r", "-w", path], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            symbol = re.match(r"[0-9a-f]{16} ([gwu]).{6} (\.text\S*)\s+[0-9a-f]+ +(?:\.hidden )?(\S+)$", line)
            heading = re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line)
            relocation = re.match(r"[0-9a-f]{16} R_\S+ +(\S+?)(?:[-+]0x[0-9a-f]+)?$", line)
            if symbol:
                self.places[symbol[3]] = (source, symbol[2])
            elif heading:
                section = (source, heading[1])
            elif relocation and section:
                self.named[section].add(relocation[1])

    def stations(self, name):
        """What the code of an exported function reaches; None: there is no such function."""
        if name not in self.places:
            return None
        found, seen, waiting = set(), set(), [self.places[name]]
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            for used in self.named[place]:
                source, section = (place[0], used) if used.startswith(".text") else self.places.get(used, (None, None))
                station = source and not used.startswith(".text") and station_of(source, used)
                if station:
                    found.add(station)
                elif source and source.startswith(WAY):
                    waiting.append((source, section))
        return found


def functions(text):
    """{name: body} of what a preprocessed source defines."""
    bodies = {}
    for match in re.finditer(r"\b(\w+)\s*\((?:[^(){};]|\([^(){};]*\))*\)\s*\{", text):
        at, depth = match.end(), 1
        while depth:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        bodies.setdefault(match[1], text[match.end():at])
    return bodies


def calls(bodies, name, wanted):
    """Does a function call one of these, by itself or by others of the same source?"""
    seen, waiting = set(), [name]
    while waiting:
        names = set(re.findall(r"\b(\w+)\s*\(", bodies[waiting.pop()])) - seen
        if names & wanted:
            return True
        seen |= names
        waiting += names & set(bodies)
    return False


class Stations(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not shutil.which("objdump"):
            raise unittest.SkipTest("no objdump (binutils)")
        cls.operations = {row[0]: row for row in rows("shim/call/operations.def", "OPERATION")}
        cls.hooks = dict(rows("shim/preload/hooks.def", "HOOK"))
        cls.numbers = {row[0]: row for macro in ("SYSTEM_CALL", "SYSTEM_CALL_BY") for row in rows("shim/call/system_calls.def", macro)}
        cls.code = Code()

    def said(self, operation):
        return set(self.operations[operation][4].split(" | ")) - {"NO_STATION"}

    def test_tables_are_read(self):
        self.assertGreater(len(self.hooks), 150)
        self.assertGreater(len(self.numbers), 60)
        self.assertEqual({row[1] for row in self.operations.values()}, set(FAMILIES))
        used = set(self.hooks.values()) | {row[1] for row in self.numbers.values()}
        self.assertEqual(used, set(self.operations), "operations that nothing does, or calls of an operation that is not there")

    def wrong(self, code, hooks):
        """What is wrong with wrappers, a sentence each."""
        order = ("RULES", "GUARD", "KEEP", "OBSERVE", "JOURNAL")
        wrong = []
        for name, operation in hooks.items():
            if name == "vfork":  # in assembly: it returns twice, and asks nothing
                continue
            said, found = self.said(operation), code.stations(name)
            if found is None:
                wrong.append("%s: hooks.def has a line for it, and no file of shim/preload defines it" % name)
                continue
            if said != found:
                wrong.append("%s, %s: %s is said, %s is in its code" % (name, operation, *(" | ".join(s for s in order if s in what) or "nothing" for what in (said, found))))
        return wrong

    def without_call(self, sources, hooks):
        """Hooks whose wrapper reaches no station by struct call, though its operation is not said to keep its own path."""
        own = set(re.findall(r"^OPERATION\((\w+),.*/\* its own path", (SOURCE / "shim/call/operations.def").read_text(), re.M))
        wrong = []
        for text in sources:
            bodies = functions(text)
            wrong += [name for name, operation in hooks.items() if name in bodies and operation not in own
                      and not calls(bodies, name, {"order_may", "order_may_by_guard", "order_came_back", "close_by_stations"})]
        return sorted(wrong)

    def test_wrappers_fill_in_a_call(self):
        compiler = shutil.which("cc") or shutil.which("gcc") or self.skipTest("no compiler")
        sources = [subprocess.run([compiler, "-E", "-P", "-D_GNU_SOURCE", "-I", SOURCE, path], check=True, capture_output=True, text=True).stdout
                   for path in sorted((SOURCE / "shim/preload").glob("hooks_*.c"))]
        hooks = {name: operation for name, operation in self.hooks.items() if name != "syscall"}
        self.assertEqual(self.without_call(sources, hooks), [], "no struct call, and operations.def does not say why")
        self.assertEqual(self.without_call(["int write(int fd) { return one(fd); } int one(int fd) { return two(fd); } int two(int fd) { return order_may(fd); }",
                                            "int pwrite(int fd) { if (fd) { return three(fd); } }"], hooks), ["pwrite"])

    def test_wrappers_pass_the_stations_of_their_operation(self):
        self.assertEqual(self.wrong(self.code, self.hooks), [])

    def test_a_call_without_checks_has_a_reason(self):
        for name, row in self.operations.items():
            reason = row[5].strip('"')
            with self.subTest(name):
                self.assertEqual(bool(reason), not self.said(name) & {"RULES", "GUARD"}, "a reason is needed where neither RULES nor GUARD is asked, and only there")

    def test_calls_by_number_have_a_wrapper_that_asks(self):
        """A call that may be refused is made by the wrapper of the same operation, or asked about by syscall() itself."""
        by_name = {row[0]: row[9].partition("(")[0] for row in rows("shim/call/system_calls.def", "SYSTEM_CALL_BY")}
        for name, function in by_name.items():
            with self.subTest(name):
                function = {"set_times": "utimensat"}.get(function, function)
                self.assertEqual(self.hooks[function], self.numbers[name][1])
        asked_by_syscall = {"OPEN", "OPEN_HANDLE", "WRITE", "CLOSE", "REPLACE", "START"}
        without = {row[1] for name, row in self.numbers.items() if name not in by_name and self.said(row[1]) & {"RULES", "GUARD"}}
        self.assertEqual(without, asked_by_syscall)

    def test_what_is_wrong_is_found(self):
        code = Code.__new__(Code)
        code.places = {"good": ("preload/hooks_file", ".text.good"), "bad": ("preload/hooks_file", ".text.bad"), "call_opened": ("preload/call", ".text.call_opened"),
                       "rules_let": ("preload/rules", ".text.rules_let"), "record_opened": ("preload/record", ".text.record_opened")}
        code.named = collections.defaultdict(set, {("preload/hooks_file", ".text.good"): {".text.helper", "call_opened"},
                                                   ("preload/hooks_file", ".text.helper"): {"rules_let"}, ("preload/hooks_file", ".text.bad"): {"call_opened"},
                                                   ("preload/call", ".text.call_opened"): {"record_opened"}, ("preload/record", ".text.record_opened"): {"rules_let"}})
        self.assertEqual((code.stations("good"), code.stations("bad")), ({"RULES", "JOURNAL"}, {"JOURNAL"}))
        self.assertIsNone(code.stations("missing"))
        wrong = self.wrong(code, {"good": "MAKE", "missing": "MAKE"})
        self.assertEqual(wrong[1:], ["missing: hooks.def has a line for it, and no file of shim/preload defines it"])


if __name__ == "__main__":
    unittest.main()

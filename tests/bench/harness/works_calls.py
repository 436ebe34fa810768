"""One intercepted call after the other, by a tool: one process, and some at once."""
import os

from . import ways as all_ways
from .place import PROGRAMS, Failed, write_file
from .works import Work

FILE_BYTES = 4096
PROCESSES = 64
MIXED = "opens, stdio, reads and writes in turns, tool"


class Calls(Work):
    """tests/bench/calls.c; one call's time."""
    group, unit, repeats = "calls", ("ns", 1), 5
    count = 4000

    def __init__(self, place, kind, name, ways, goals=()):
        super().__init__(place)
        self.kind, self.name, self.ways, self.goals = kind, name, ways, goals
        self.file = os.path.join(place.work, "calls-" + kind)

    def prepare(self):
        write_file(self.file, b"x" * FILE_BYTES)

    def sample(self, way, number):
        command = [os.path.join(PROGRAMS, "calls"), self.kind, str(self.count), self.file, str(FILE_BYTES)]
        result = self.place.sample(way, command, self.count, lambda output: self.check(way, output))
        if os.path.getsize(self.file) != FILE_BYTES:
            raise Failed("%s: %s is no longer of %d bytes" % (way, self.file, FILE_BYTES))
        return result


class Guarded(Calls):
    """A file that is emptied and written anew, each time with other bytes.

    known: a scope has a baseline of it: it is hashed and copied before, and hashed again when it is closed.
    """

    def __init__(self, place, name, count, known):
        super().__init__(place, "replace", name, (*all_ways.USUAL, "supervise", "both"))
        self.count, self.known, self.repeats = count, known, 3
        self.files = {way: os.path.join(place.work, "guarded-%d-%s" % (known, way.replace(" ", "-"))) for way in self.ways}

    def prepare(self):
        for way, file in self.files.items():
            write_file(file, b"x" * FILE_BYTES)
            if self.known and way in all_ways.SESSIONS and len(self.place.run(way, ["cat", file])) != FILE_BYTES:
                raise Failed("%s: not the bytes of %s" % (way, file))

    def sample(self, way, number):
        self.file = self.files[way]  # what another session writes is an external change
        return super().sample(way, number)


class Together(Calls):
    """The same by some processes at once, each with a file of its own.  One open's share of the wall time."""
    repeats = 3

    def __init__(self, place, kind, name, count, processes, ways, goals=()):
        super().__init__(place, kind, name, ways, goals)
        self.count, self.processes = count, processes
        self.file = os.path.join(place.work, "together-%s-%d" % (kind, processes))

    def prepare(self):
        for i in range(self.processes):
            write_file("%s.%d" % (self.file, i), b"x" * FILE_BYTES)

    def sample(self, way, number):
        command = [os.path.join(PROGRAMS, "calls"), self.kind, str(self.count), self.file, str(FILE_BYTES), str(self.processes)]
        return self.place.sample(way, command, self.count * self.processes, lambda output: self.check(way, output))


def works(place):
    return [
        Calls(place, "open", "open+read+close 4 KiB, tool", all_ways.EVERY, ("open", "supervised open")),
        Calls(place, "close", "open+close, tool", all_ways.SUPERVISED),
        Calls(place, "fopen", "fopen+fread+fclose 4 KiB, tool", all_ways.TRACED),
        Calls(place, "pread", "pread 4 KiB, tool", all_ways.TRACED),
        Calls(place, "write", "open+write+close 4 KiB, tool", all_ways.EVERY),
        Guarded(place, "open O_TRUNC+write+close 4 KiB, tool, not known", 1000, False),
        Guarded(place, "open O_TRUNC+write+close 4 KiB, tool, guarded", 500, True),
        Calls(place, "mixed", MIXED, all_ways.SUPERVISED),
        Together(place, "open", "open+read+close 4 KiB, 8 tools at once", 1000, 8, all_ways.SUPERVISED),
        Together(place, "open", "open+read+close 4 KiB, %d tools at once" % PROCESSES, 250, PROCESSES, all_ways.SUPERVISED, ("64 at once",)),
        Together(place, "mixed", "opens, stdio, reads and writes in turns, %d tools at once" % PROCESSES, 250, PROCESSES, all_ways.SUPERVISED,
                 ("64 mixed at once",)),
    ]

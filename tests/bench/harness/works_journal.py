"""The journal: events are written by a program of its own, and held against lines of the same content by write(2)."""
import os

from .place import PROGRAMS, Failed, Sample
from .works import Work

COUNT = 1000000
KINDS = {"mapped": "events on pages that are mapped", "fresh": "events on pages that nobody touched", "line": "lines by write(2)"}


class Journal(Work):
    """tests/bench/journal_bench.c; one event's time.  The ways are kinds of writing.

    wall: times the processors that the writers could have, by the program itself.
    """
    group, unit, compare = "journal", ("ns", 1), "cpu"

    def __init__(self, place, text, goals):
        super().__init__(place)
        self.text, self.goals = text, goals
        self.name = "journal: an event, %s text" % text
        self.own = {"%s, %d" % (kind, writers): "%s, %d writer%s" % (said, writers, "s"[writers == 1:])
                    for writers in (1, 64) for kind, said in KINDS.items()}
        self.ways = tuple(self.own)
        self.bases = ("line, 1", "line, 64", "mapped, 1", "fresh, 1")

    def sample(self, way, number):
        kind, writers = way.split(", ")
        held = []

        def check(output):
            held.append(float(output))
            return held[0] > 0

        sample = self.place.sample(way, [os.path.join(PROGRAMS, "journal_bench"), kind, self.text, writers, str(COUNT),
                                         os.path.join(self.place.top, "journal")], COUNT, check)
        if not held:
            raise Failed("%s: no bytes of an event" % way)
        return Sample(sample.wall_ns, sample.cpu_ns, {"bytes": held[0]})


def works(place):
    return [Journal(place, "known", ("journal mapped", "journal fresh", "journal writers")),
            Journal(place, "new", ())]

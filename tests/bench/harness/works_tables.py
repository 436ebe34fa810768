"""The tables of a segment, by how many entries they have and how full they are (tests/bench/tables.c)."""
import json
import os

from .place import PROGRAMS, Failed, Sample
from .works import Work

ROUNDS = "3"  # of the program itself, whose median counts
EXTRA = ("bytes_each", "unknown_ns", "inode_ns", "update_ns", "insert_ns", "insert_more_ns", "found", "lost")


def measured(place, way, kind, count, fill):
    """What tables.c prints about a table; raises Failed if it is not of what was asked for."""
    output = place.run(way, [os.path.join(PROGRAMS, "tables"), kind, str(count), "--fill", str(fill), "--rounds", ROUNDS, "--directory", place.top])
    try:
        said = json.loads(output)
    except ValueError as error:
        raise Failed("%s: tables %s: %r" % (way, kind, output[:200])) from error
    if (said["kind"], said["count"], said["fill_percent"]) != (kind, count, fill) or said["known_ns"] <= 0 or said["bytes_each"] <= 0:
        raise Failed("%s: tables %s: not what was asked for: %s" % (way, kind, said))
    if fill <= 50 and said["found"] < count * 0.9999:
        raise Failed("%s: tables %s: %d of %d entries are found" % (way, kind, said["found"], count))
    return said


class Tables(Work):
    """The time to find an entry that is there.  Of files: from the path on, its slot copied and checked."""
    group, unit = "tables", ("ns", 1)

    def __init__(self, place, name, kind, cases, goals=()):
        """cases: {way: (entries, per cent of the table that they are)}, the first of which the others are held against."""
        super().__init__(place)
        self.name, self.kind, self.cases, self.goals = name, kind, cases, goals
        self.ways = tuple(cases)
        self.bases = self.ways[:1]
        self.own = {way: "%s entries in a table that is %d %% full" % (format(count, ","), min(fill, 100)) + (
            ", and more come" if fill > 100 else "") for way, (count, fill) in cases.items()}

    def sample(self, way, number):
        said = measured(self.place, way, self.kind, *self.cases[way])
        return Sample(said["known_ns"], said["known_ns"], {name: said[name] for name in EXTRA if name in said})


def works(place):
    sizes = (100, 10000) if place.quick else (100, 10000, 1000000)
    full = 1000 if place.quick else 20000
    return [Tables(place, "tracked files", "files", {"%s files" % format(count, ","): (count, 50) for count in sizes},
                   ("tracked files", "bytes of a file")),
            *(Tables(place, "tables nearly full: %s" % kind, kind, {"%d %%" % fill: (count, fill) for fill in (50, 90, 99, 100)})
              for kind, count in (("files", full), ("deliveries", full), ("baselines", full), ("processes", 1000)))]

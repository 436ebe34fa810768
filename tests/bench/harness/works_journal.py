"""The journal: events are written by a program of its own, and held against lines of the same content by write(2); journals of all sizes are read."""
import json
import os
import time

from .place import PROGRAMS, SEEN, Failed, Sample
from .works import Study, Work

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


class Sizes(Work):
    """One writer, mapped pages, journals of several sizes; read back by the library."""
    group, unit, compare, name = "journal", ("ns", 1), "cpu", "journal: an event, by the size of the journal"

    def __init__(self, place):
        super().__init__(place)
        sizes = (10000, 100000) if place.quick else (10000, 100000, 1000000, 10000000)
        self.sizes = {"%s events" % format(count, ","): count for count in sizes}
        self.ways = tuple(self.sizes)
        self.own = {way: "a journal with so many" for way in self.ways}
        self.bases = self.ways[:1]

    def sample(self, way, number):
        count, said = self.sizes[way], {}
        path = os.path.join(self.place.top, "journal")

        def check(output):
            said.update(json.loads(output))
            return (said["work"], said["text"], said["count"]) == ("mapped", "known", count) and said["bytes"] > 0

        sample = self.place.sample(way, [os.path.join(PROGRAMS, "journal_bench"), "mapped", "known", "1", str(count), path, "--json"], count, check)
        if os.path.exists(path):
            os.unlink(path)
        return Sample(sample.wall_ns, sample.cpu_ns, {"bytes": said["bytes"], "read_ns": said["read_ns"]})


class Reading(Study):
    """Journals of sessions that never were (journal_maker.c), read by `seen log` and `seen report`."""
    group, name, programs = "journal", "reading a journal", ("bash", "wc")
    about = ("A journal of a session that never was, read whole by `seen log`, which tells each event in a line that wc counts, and by `seen report "
             "--json`, whose count of events must be the journal's.  The best of three, of the largest one of one.")

    def __init__(self, place):
        super().__init__(place)
        self.sizes = (1000, 10000) if place.quick else (10000, 100000, 1000000, 10000000)

    def read(self, words, count, count_of):
        """Seconds and KiB at most of one reading; raises Failed unless it reported `count` events.  count_of(output): how many it did."""
        peak = os.path.join(self.place.top, "peak")
        start = time.monotonic()
        output = self.place.run("bare", words(os.path.join(PROGRAMS, "peak"), peak), limit_s=600)
        took_s = time.monotonic() - start
        found = count_of(output)
        if found != count:
            raise Failed("%s: %d of %d events" % (self.name, found, count))
        with open(peak, encoding="ascii") as file:
            return took_s, int(file.read())

    def measure(self, rounds):
        data, rows = [], []
        for count in self.sizes:
            journal = os.path.join(self.place.top, "made")
            self.place.run("bare", [os.path.join(PROGRAMS, "journal_maker"), journal, str(count)], limit_s=600)
            entry = {"events": count, "journal_bytes": os.path.getsize(journal)}
            readers = {
                # Without the line of headings.
                "log": (lambda *peak, journal=journal: ["bash", "-c", 'set -o pipefail; "$@" | wc -l', "-", *peak, SEEN, "log", "--journal", journal],
                        lambda output: int(output) - 1),
                "report": (lambda *peak, journal=journal: [*peak, SEEN, "report", "--json", "--journal", journal],
                           lambda output: json.loads(output)["events"]["count"]),
            }
            for name, (words, count_of) in readers.items():
                took = [self.read(words, count, count_of) for _ in range(3 if count < self.sizes[-1] else 1)]
                entry[name + "_s"], entry[name + "_kib"] = min(seconds for seconds, _ in took), max(kib for _, kib in took)
            os.unlink(journal)
            data.append(entry)
            rows.append([format(count, ","), "%.1f" % (entry["journal_bytes"] / 1e6), *(text for name in readers for text in (
                "%.3f" % entry[name + "_s"], "%.0f" % (entry[name + "_s"] / count * 1e9), "%.0f" % (entry[name + "_kib"] / 1024)))])
        return {"data": data, "figures": {"%s of %d events, ns each" % (name, entry["events"]): entry[name + "_s"] / entry["events"] * 1e9
                                          for entry in data for name in ("log", "report")}, "tables": [{
            "title": "reading a journal", "header": ["events", "MB", "log, s", "ns an event", "MiB", "report, s", "ns an event", "MiB"],
            "rows": rows, "note": self.about}]}


def works(place):
    return [Journal(place, "known", ("journal mapped", "journal fresh", "journal writers")),
            Journal(place, "new", ()), Sizes(place), Reading(place)]

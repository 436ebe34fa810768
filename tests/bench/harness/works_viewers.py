"""Viewers: their opens, and viewers as a whole."""
import os
import shutil

from . import ways as all_ways
from .place import PROGRAMS, Failed, text_of, write_file
from .works import Work

FILE_BYTES = 4096
LARGE_BYTES = 23000  # below notice.max_bytes; one such file fits an agent's output limit
VIEWED_FILES = 50  # of one viewer: it follows 64


class Viewing(Work):
    """A viewer's open+read+close, or a viewer as a whole.

    known: the files were given before, so that each is answered with a notice;
    otherwise every sample has files that were never read before.
    static: the viewer has no loader, so only a supervisor sees it.
    """
    group = "viewers"

    def __init__(self, place, name, size_bytes, known, whole, goals=(), static=False):
        super().__init__(place)
        self.static = static
        self.ways = all_ways.STATIC if static else all_ways.USUAL
        self.programs_directory = os.path.join(place.top, "bin") if static else PROGRAMS
        self.cat = os.path.join(self.programs_directory, "cat") if static else "cat"
        self.name, self.size_bytes, self.known, self.whole, self.goals = name, size_bytes, known, whole, goals
        self.directory = os.path.join(place.work, "view-%d-%d%d%d" % (size_bytes, known, whole, static))

    def files(self, way, number):
        directory = self.directory if self.known else os.path.join(self.directory, "%s-%s" % (way, number))
        return [os.path.join(directory, "f%d.txt" % i) for i in range(VIEWED_FILES)]

    def make(self, files):
        for i, file in enumerate(files):
            write_file(file, text_of(self.size_bytes, i))

    def prepare(self):
        if self.static:
            self.place.make_static()
        if not self.known:
            return
        files = self.files(None, None)
        self.make(files)
        for way in (way for way in self.ways if way in all_ways.SESSIONS):
            for file in files:  # each by a command of its own, so that none is too long for the agent
                if self.place.run(way, ["cat", file]) != text_of(self.size_bytes, files.index(file)):
                    raise Failed("%s: not the bytes of %s" % (way, file))

    def check(self, way, output):
        if way not in all_ways.SESSIONS or not self.known:
            return output == b"".join(text_of(self.size_bytes, i) for i in range(VIEWED_FILES))
        lines = output.splitlines()
        return len(lines) == VIEWED_FILES and all(
            line.startswith(b"[File previously read: " + file.encode() + b".") and line.endswith(b"]")
            for line, file in zip(lines, self.files(way, None)))

    def sample(self, way, number):
        files = self.files(way, number)
        if not self.known:
            self.make(files)
        if self.whole:
            command = [os.path.join(PROGRAMS, "spawn"), str(VIEWED_FILES), self.cat,
                       os.path.join(os.path.dirname(files[0]), "f{}.txt")]
        else:
            command = [os.path.join(self.programs_directory, "bench_viewer"), *files]
        result = self.place.sample(way, command, VIEWED_FILES, lambda output: self.check(way, output))
        if not self.known:
            shutil.rmtree(os.path.dirname(files[0]))
        return result


def works(place):
    return [
        Viewing(place, "open+read+close 4 KiB, viewer, new", FILE_BYTES, False, False, ("view",)),
        Viewing(place, "open+read+close 4 KiB, viewer, known", FILE_BYTES, True, False),
        Viewing(place, "open+read+close 23 KB, viewer, known", LARGE_BYTES, True, False, ("notice",)),
        Viewing(place, "open+read+close 4 KiB, static viewer, new", FILE_BYTES, False, False, static=True),
        Viewing(place, "open+read+close 4 KiB, static viewer, known", FILE_BYTES, True, False, static=True),
        Viewing(place, "cat of 4 KiB, new", FILE_BYTES, False, True),
        Viewing(place, "cat of 23 KB, known", LARGE_BYTES, True, True),
        Viewing(place, "static cat of 4 KiB, new", FILE_BYTES, False, True, static=True),
        Viewing(place, "static cat of 23 KB, known", LARGE_BYTES, True, True, static=True),
    ]

"""Much data: an archive of a gibibyte, one file of four."""
import os
import re
import shutil

from . import ways as all_ways
from .place import PROGRAMS, Failed, write_file
from .works import Work

MIB = 1 << 20
TAR_FILES, TAR_FILE_BYTES = 8192, 128 << 10
BIG_MIB = 4096


def block_of(number):
    """A MiB that is no other number's; quick to make."""
    line = b"%015d\n" % number
    return line * (MIB // len(line))


class Tar(Work):
    """tar of many files of middle size to a pipe, whose bytes are counted by wc."""
    group, name, unit, programs = "data", "tar of 1 GiB in 8,192 files", ("ms", 1000000), ("tar", "wc", "bash")
    ways, goals, share = all_ways.EVERY, ("tools",), 2.0

    def __init__(self, place):
        super().__init__(place)
        self.files = 256 if place.quick else TAR_FILES
        self.directory = os.path.join(place.work, "tar")
        if place.quick:
            self.name = "tar of %d MiB in %d files" % (self.files * TAR_FILE_BYTES // MIB, self.files)
        # A header of 512 bytes for each file and directory, two empty ones at the end, in blocks of 10 KiB.
        directories = 1 + (self.files + 255) // 256
        whole = self.files * (TAR_FILE_BYTES + 512) + directories * 512 + 1024
        self.bytes = (whole + 10239) // 10240 * 10240

    def prepare(self):
        for i in range(self.files):
            write_file(os.path.join(self.directory, "d%02d" % (i // 256), "f%05d" % i), block_of(i)[:TAR_FILE_BYTES])

    def check(self, way, output):
        return output == b"%d\n" % self.bytes

    def sample(self, way, number):
        script = "set -o pipefail; tar -C %s -cf - tar | wc -c" % os.path.dirname(self.directory)
        return self.place.sample(way, [os.path.join(PROGRAMS, "spawn"), "1", "bash", "-c", script], 1, lambda output: self.check(way, output))

    def clean(self):
        shutil.rmtree(self.directory)


class BigFile(Work):
    """One file, longer than whatever could be kept or hashed by the way: read by cat to nowhere, and by cksum, which reads each byte."""
    group, unit, programs = "data", ("ms", 1000000), ("cat", "cksum")
    ways = (*all_ways.USUAL, "supervise", "both", "strace bpf")

    def __init__(self, place, program):
        super().__init__(place)
        self.mib = 64 if place.quick else BIG_MIB
        self.program = program
        self.name = "%s of a file of %s" % (program, "%d MiB" % self.mib if place.quick else "4 GiB")
        self.path = os.path.join(place.work, "big")
        self.first = None

    def prepare(self):
        """Both works have the same file."""
        if not os.path.exists(self.path):
            with open(self.path, "wb") as file:
                for i in range(self.mib):
                    file.write(block_of(i))

    def check(self, way, output):
        if self.program == "cat":
            return output == b""
        if self.first is None:
            self.first = output  # bare begins
        return output == self.first and re.fullmatch(rb"\d+ %d .*\n" % (self.mib * MIB), output) is not None

    def sample(self, way, number):
        nowhere = ["-o", "/dev/null"] if self.program == "cat" else []
        sample = self.place.sample(way, [os.path.join(PROGRAMS, "spawn"), *nowhere, "1", self.program, self.path], 1,
                                   lambda output: self.check(way, output))
        if os.path.getsize(self.path) != self.mib * MIB:
            raise Failed("%s: %s has %d bytes" % (way, self.path, os.path.getsize(self.path)))
        return sample

    def clean(self):
        if os.path.exists(self.path):
            os.unlink(self.path)


def works(place):
    return [Tar(place), BigFile(place, "cat"), BigFile(place, "cksum")]

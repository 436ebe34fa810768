"""What a work is.  The works are in works_*.py; the rules are in __init__.py."""
import importlib
import os
import pkgutil
import shutil

from . import ways as all_ways
from .place import PROGRAMS, Failed

# In the order of the tables.
GROUPS = {
    "calls": "Single calls",
    "viewers": "Viewers: programs whose output an agent reads",
    "starts": "Process starts",
    "tools": "Tools: trees, repositories, builds",
    "undo": "Kept for undo",
    "data": "Large data",
    "agent": "An agent's day",
    "hooks": "Hooks of agents",
    "journal": "The journal",
    "tables": "The tables",
    "supervise": "The supervisor",
    "window": "The window between the guard's check and the call",
    "system calls": "System calls",
}

# Debian's package of a program whose name is another.  What is in every installation is "".
PACKAGES = {"node": "nodejs", "bash": "", "cat": "", "cksum": "", "wc": "", "grep": "", "tar": ""}


class Work:
    """See "Rules of a Work" in __init__.py."""
    name = group = about = ""
    unit = ("us", 1000)
    ways = all_ways.USUAL
    own = {}
    compare = "wall"
    bases = ("bare", "injected", "floor", "undo off", "supervise, no undo", "both, no undo")
    goals = ()
    repeats = 1
    share = 1.0
    programs = ()  # names that PATH must have for it
    needs = ""  # packages, beside those of its programs

    def __init__(self, place):
        self.place = place

    def available(self):
        missing = [program for program in self.programs if not shutil.which(program)]
        return "not installed: %s (./scripts/bench installs what is needed)" % ", ".join(missing) if missing else ""

    def prepare(self):
        pass

    def sample(self, way, number):
        raise NotImplementedError

    def check(self, way, output):
        return output == b""

    def clean(self):
        pass


class Study:
    """See "Rules of a Study" in __init__.py."""
    name = group = about = ""
    share = 1.0
    goals = ()
    programs = ()
    needs = ""

    def __init__(self, place):
        self.place = place

    def available(self):
        missing = [program for program in self.programs if not shutil.which(program)]
        return "not installed: %s (./scripts/bench installs what is needed)" % ", ".join(missing) if missing else ""

    def prepare(self):
        pass

    def measure(self, rounds):
        raise NotImplementedError

    def clean(self):
        pass


class Spawn(Work):
    """Programs started one after the other, or `abreast` at a time, each a fresh process; one's time.

    output: of one.  `directory`: where they run.  to_file: the output goes to a file, not to the capture.
    """
    abreast = 1

    def __init__(self, place, group, name, command, count, output=b"", directory=None, unit=("us", 1000), goals=(), repeats=1,
                 ways=all_ways.USUAL, to_file=False):
        super().__init__(place)
        self.group, self.name, self.command, self.count = group, name, command, count
        self.file = os.path.join(place.work, "spawned") if to_file else None
        self.output, self.directory, self.unit, self.goals, self.repeats, self.ways = output, directory, unit, goals, repeats, ways

    def check(self, way, output):
        return sorted(output.splitlines()) == sorted((self.output * self.count).splitlines())

    def sample(self, way, number):
        if not self.file:
            return self.place.sample(way, [os.path.join(PROGRAMS, "spawn"), "-p", str(self.abreast), str(self.count), *self.command], self.count,
                                     lambda output: self.check(way, output), self.directory)
        result = self.place.sample(way, [os.path.join(PROGRAMS, "spawn"), "-o", self.file, str(self.count), *self.command], self.count,
                                   lambda output: output == b"", self.directory)
        with open(self.file, "rb") as file:
            output = file.read()
        os.unlink(self.file)
        if not self.check(way, output):
            raise Failed("%s: %s: not the expected output: %d bytes, %r..." % (way, " ".join(self.command)[:300], len(output), output[:200]))
        return result


def all_works(place):
    """Works and studies of all modules, in the order of the groups."""
    found = []
    for module in sorted(info.name for info in pkgutil.iter_modules([os.path.dirname(os.path.realpath(__file__))]) if info.name.startswith("works_")):
        found += importlib.import_module("." + module, __package__).works(place)
    for work in found:
        if not work.goals and work.share == 1:
            work.share = 0.5
    names = [work.name for work in found]
    assert len(names) == len(set(names)), "two works of one name"
    return sorted(found, key=lambda work: list(GROUPS).index(work.group))  # sorted() keeps the order within a group


def packages_of(found):
    """Names of the packages that works need: Debian's, and npm:NAME@VERSION."""
    names = [PACKAGES.get(program, program) for work in found for program in work.programs] + [
        name for work in found for name in work.needs.split()]
    return list(dict.fromkeys(name for name in names if name))

"""Process starts."""
import os

from . import ways as all_ways
from .place import Failed
from .works import Spawn, Work
from .works_trees import GitStatus


class Whole(Work):
    """One command with all that its way is: what the other works leave out."""
    group, name, unit, repeats = "starts", "one /bin/true, and the way's own start and end", ("ms", 1000000), 4
    about = ("All other figures are taken inside of the command, when its way is there already. What it takes to start a way and to end it, a session, "
             "a tracer, a server, node.js, is paid once, and is in one work alone: \"%s\"." % name)
    goals = ("undo tools",)
    ways = (*(name for name in all_ways.EVERY if name not in ("floor", "fatrace")), "undo off")  # who is beside is there before

    def sample(self, way, number):
        if self.place.run(way, ["/bin/true"]):
            raise Failed("%s: /bin/true said something" % way)
        return self.place.whole


class StaticStart(Spawn):
    """A program that no library gets into: below a filter from the beginning, or from its exec on."""
    STARTS = 50
    TITLE, GOAL, REPEATS, WAYS = "start of a static program", "static start", 6, ("bare", "substitute", "supervise", "both", "auto", "floor")

    def __init__(self, place):
        super().__init__(place, "starts", self.TITLE, [os.path.join(place.top, "bin", "bench_viewer"), os.devnull], self.STARTS,
                         goals=(self.GOAL,), repeats=self.REPEATS, ways=self.WAYS)

    def prepare(self):
        self.place.make_static()


class StaticStarts(StaticStart):
    """As many as a build starts, and as fast as they can be started."""
    STARTS, abreast = 10000, 4
    TITLE, GOAL, REPEATS, WAYS = "10,000 starts of a static program, four at a time", "static rate", 1, ("bare", "both", "auto")


class AutoStart(Spawn):
    """What `--via auto` costs where nothing is supervised."""
    bases = ("bare", "injected", "substitute")

    def __init__(self, place):
        super().__init__(place, "starts", "start of /bin/true by --via auto", ["/bin/true"], 50, goals=("auto",), repeats=8,
                         ways=("bare", "injected", "substitute", "auto"))


def works(place):
    return [
        Spawn(place, "starts", "start of /bin/true", ["/bin/true"], 20, goals=("start", "undo tools"), repeats=12, ways=(*all_ways.EVERY, "undo off")),
        Spawn(place, "starts", "start of bash -c true", ["bash", "-c", "true"], 20, repeats=3, ways=all_ways.TRACED),
        StaticStart(place),
        StaticStarts(place),
        AutoStart(place),
        Whole(place),
        # So few files that it is the start that takes the time.
        GitStatus(place, 20, "start of git status, %s files", all_ways.TRACED, 10, (), "starts"),
    ]

"""Process starts."""
from . import ways as all_ways
from .place import Failed
from .works import Spawn, Work
from .works_trees import GitStatus


class Whole(Work):
    """One command with all that its way is: what the other works leave out."""
    group, name, unit, repeats = "starts", "one /bin/true, and the way's own start and end", ("ms", 1000000), 4
    about = ("All other figures are taken inside of the command, when its way is there already. What it takes to start a way and to end it, a session, "
             "a tracer, a server, node.js, is paid once, and is in one work alone: \"%s\"." % name)
    ways = tuple(name for name in all_ways.EVERY if name not in ("floor", "fatrace"))  # who is beside is there before

    def sample(self, way, number):
        if self.place.run(way, ["/bin/true"]):
            raise Failed("%s: /bin/true said something" % way)
        return self.place.whole


def works(place):
    return [
        Spawn(place, "starts", "start of /bin/true", ["/bin/true"], 20, goals=("start",), repeats=12, ways=all_ways.EVERY),
        Spawn(place, "starts", "start of bash -c true", ["bash", "-c", "true"], 20, repeats=3, ways=all_ways.TRACED),
        Whole(place),
        # So few files that it is the start that takes the time.
        GitStatus(place, 20, "start of git status, %s files", all_ways.TRACED, 10, (), "starts"),
    ]

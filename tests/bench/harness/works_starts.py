"""Process starts."""
from . import ways as all_ways
from .works import Spawn
from .works_trees import GitStatus


def works(place):
    return [
        Spawn(place, "starts", "start of /bin/true", ["/bin/true"], 20, goals=("start",), repeats=12, ways=all_ways.EVERY),
        Spawn(place, "starts", "start of bash -c true", ["bash", "-c", "true"], 20, repeats=3, ways=all_ways.TRACED),
        # So few files that it is the start that takes the time.
        GitStatus(place, 20, "start of git status, %s files", all_ways.TRACED, 10, (), "starts"),
    ]

"""The goals: one table.  A work names those that it has by their keys."""


class Goal:
    """title, text: for the page.  way, field, base: which figure.  limit: what its median must not exceed.

    field: "wall_to" (ratio to base), "more_ns_than" (base), "wall_ns", "cpu_ns", "cpu_to", or the name of an extra figure; of a
    study, the name of its figure.
    relative: (work, way, field, base) of the figure that this one is divided by, or None.
    """

    def __init__(self, title, text, limit, way, field, base=None, relative=None):
        self.title, self.text, self.limit = title, text, limit
        self.way, self.field, self.base, self.relative = way, field, base, relative


OPEN = "open+read+close 4 KiB, tool"
MIXED = "opens, stdio, reads and writes in turns, tool"

ALL = {
    "tools": Goal("tools", "≤ 1.02 × injection only", 1.02, "substitute", "wall_to", "injected"),
    "start": Goal("process start", "≤ 1.08 × injection only", 1.08, "substitute", "wall_to", "injected"),
    "open": Goal("4 KiB opened, read, closed by a tool", "≤ injection only + 100 ns", 100, "substitute", "more_ns_than", "injected"),
    "view": Goal("4 KiB by a viewer, new file", "≤ 2 × bare: reading it once more", 2, "substitute", "wall_to", "bare"),
    "notice": Goal("23 KB read again, answered with a notice", "≤ injection only + 15 µs", 15000, "substitute", "more_ns_than", "injected"),
    "64 at once": Goal("64 processes at once", "the ratio of one, within 5 %", 1.05, "substitute", "wall_to", "injected",
                       (OPEN, "substitute", "wall_to", "injected")),
    "64 mixed at once": Goal("64 processes at once, mixed", "the ratio of one, within 5 %", 1.05, "substitute", "wall_to", "injected",
                             (MIXED, "substitute", "wall_to", "injected")),
    "journal mapped": Goal("journal, an event on mapped pages", "≤ 60 ns of processor time", 60, "mapped, 1", "cpu_ns"),
    "journal fresh": Goal("journal, an event with first touch", "≤ 200 ns of processor time", 200, "fresh, 1", "cpu_ns"),
    "journal writers": Goal("journal, 64 writers", "≤ 2 × one writer, per event", 2, "mapped, 64", "cpu_to", "mapped, 1"),
    "tracked files": Goal("10⁶ tracked files, look-up", "≤ 2 × that of 10²", 2, "1,000,000 files", "wall_to", "100 files"),
    "bytes of a file": Goal("10⁶ tracked files, memory", "≤ 256 bytes each", 256, "1,000,000 files", "bytes_each"),
    "auto": Goal("`--via auto`, what the library observes", "as `--via preload`, within 5 %", 1.05, "auto", "wall_to", "substitute"),
    "static start": Goal("start of a static program by `--via auto`", "≤ bare + 0.5 ms", 500000, "auto", "more_ns_than", "bare"),
    "static rate": Goal("static programs started by `--via auto`", "2,000 a second", 500000, "auto", "wall_ns"),
    "supervised open": Goal("supervise, per trapped open", "≤ bare + 5 µs", 5000, "supervise", "more_ns_than", "bare"),
    "undo unlink": Goal("undo, unlink of 4 KiB", "≤ 1.4 × bare", 1.4, "substitute", "wall_to", "bare"),
    "undo rm -rf": Goal("undo, `rm -rf`", "≤ 1.6 × bare", 1.6, "substitute", "wall_to", "bare"),
    "undo checkout": Goal("undo, `git checkout`", "≤ 1.3 × bare", 1.3, "substitute", "wall_to", "bare"),
    "undo rewrite": Goal("undo, a rewrite of 4 KiB", "≤ undo off + 15 µs", 15000, "substitute", "more_ns_than", "undo off"),
    "undo tools": Goal("undo, what destroys nothing that is kept", "≤ 1.02 × undo off", 1.02, "substitute", "wall_to", "undo off"),
    "undo room": Goal("undo, room", "≤ 1.1 × the bytes destroyed", 1.1, "substitute", "store to destroyed"),
    "undo unlink supervised": Goal("undo by the supervisor, unlink of 4 KiB", "≤ no undo + 60 µs", 60000, "supervise", "more_ns_than", "supervise, no undo"),
    "undo rewrite supervised": Goal("undo by the supervisor, a rewrite of 4 KiB", "≤ no undo + 100 µs", 100000, "supervise", "more_ns_than", "supervise, no undo"),
    "undo rm -rf supervised": Goal("undo by the supervisor, `rm -rf`", "≤ 2 × no undo", 2, "supervise", "wall_to", "supervise, no undo"),
    "undo checkout supervised": Goal("undo by the supervisor, `git checkout`", "≤ 2 × no undo", 2, "supervise", "wall_to", "supervise, no undo"),
    "undo tools supervised": Goal("undo by the supervisor, what destroys nothing that is kept", "≤ 1.02 × no undo", 1.02, "supervise", "wall_to", "supervise, no undo"),
    "undo tools by both": Goal("undo by both, what destroys nothing that is kept", "≤ 1.02 × no undo", 1.02, "both", "wall_to", "both, no undo"),
    "undo room supervised": Goal("undo by the supervisor, room", "≤ 1.1 × the bytes destroyed", 1.1, "supervise", "store to destroyed"),
    "undo plan time": Goal("undo, a plan for 10⁵ files", "≤ 5 s", 5, "substitute", "plan_s"),
    "undo plan memory": Goal("undo, a plan for 10⁵ files, memory", "≤ 200 MB", 200, "substitute", "plan_mb"),
    "hook": Goal("a hook of an agent, in a session", "≤ `sh -c :` + 5 ms", 5, "substitute", "more_ms"),
    "hook outside": Goal("a hook of an agent, outside of a session", "≤ `sh -c :` + 5 ms", 5, "substitute", "more_outside_ms"),
    "hook loaded": Goal("a hook of an agent, all processors busy, 99 of 100", "≤ those of `sh -c :` + 25 ms", 25, "substitute", "more_loaded_p99_ms"),
    "undo doing": Goal("undo, 10⁵ files brought back", "≤ 200 µs each: 5,000 a second", 200, "substitute", "us_each"),
}


def figure(entry, way, field, base):
    """[first quartile, median, third] or None.  entry: of a work, see figures.figures_of()."""
    of_way = entry["ways"].get(way)
    if of_way is None:
        return None
    if base is not None:
        return of_way[field].get(base)
    return of_way[field] if field in of_way else of_way["extra"].get(field)


def verdicts(works, studies=()):
    """[{"goal", "title", "work", "text", "limit", "field", "value": quartiles, "met"}] of what was measured.

    works, studies: of the JSON.
    """
    by_name = {entry["work"]: entry for entry in works}
    result = []
    for key, goal in ALL.items():
        found = []
        for entry in works:
            value = figure(entry, goal.way, goal.field, goal.base) if key in entry["goals"] else None
            other = None
            if value is not None and goal.relative:
                other = by_name.get(goal.relative[0])
                other = other and figure(other, *goal.relative[1:])
                value = other and [part / other[1] for part in value]
            if value:
                found.append((entry["work"], value))
        for study in studies:
            if key in study["goals"] and goal.field in study["figures"]:
                found.append((study["study"], [study["figures"][goal.field]] * 3))
        for work, value in found:
            result.append({"goal": key, "title": goal.title, "work": work, "text": goal.text, "limit": goal.limit,
                           "field": goal.field, "value": value, "met": value[1] <= goal.limit})
    return result

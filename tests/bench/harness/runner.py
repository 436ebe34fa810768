"""Rounds and turns: who is measured when, and how often.

The works of a group take turns in rounds, and within a round the ways of a work do: A B C D, B A D C, C D A B, ...  What else the
machine does hits all alike, and no way always comes after the same, whose pages are still being written.  The first round warms up, shows how long each way takes, and is not counted.

Each work has a time budget, of which each way has a part: "bare", "injected" and "substitute", of which the goals are, six times
that of the others.  A way that is too slow for all rounds within its part has fewer, evenly spread, with the bases beside it.
"""
import contextlib
import shlex
import sys
import time

from . import goals
from .figures import figures_of
from .place import Failed, slug
from .works import Study

LEAST_ROUNDS = 3
WEIGHTS = {"bare": 6, "injected": 6, "substitute": 6}


def prove(place, names):
    """Raises Failed unless each of these ways is there and does what it claims."""
    problems = {name: place.ways[name].available() for name in names}
    problems = ["%s: %s" % (name, problem) for name, problem in problems.items() if problem]
    if problems:
        raise Failed("missing: %s\n(--without NAME leaves a way out, and the page says so)" % "; ".join(problems))
    place.session = "prove"
    for name in names:
        place.ways[name].prove(place)


class Schedule:
    """How many rounds each way of a work has, and how many turns in a round.

    rounds, repeats: {way: number}.  again: {way: why one of its samples was taken once more}.
    """

    def __init__(self, work, rounds, budget_s):
        self.work, self.most, self.budget_s = work, rounds, budget_s * work.share
        self.rounds = dict.fromkeys(work.ways, rounds)
        self.repeats = dict.fromkeys(work.ways, 1)
        self.samples = {way: {} for way in work.ways}
        self.took_s = 0
        self.again = {}

    def fit(self, took_s):
        """took_s: {way: seconds that one sample took}."""
        weights = {way: 1 if self.work.own else WEIGHTS.get(way, 1) for way in took_s}
        least = min(LEAST_ROUNDS, self.most)
        affordable = {way: self.budget_s * weights[way] / sum(weights.values()) / max(took, 1e-9) for way, took in took_s.items()}
        self.rounds = {way: max(least, min(self.most, int(count))) for way, count in affordable.items()}
        self.repeats = {way: max(1, min(self.work.repeats, int(count / self.most))) for way, count in affordable.items()}
        for base in (way for way in took_s if way in self.work.bases):  # beside all others
            self.rounds[base] = max(self.rounds.values())
            self.repeats[base] = max(self.repeats.values())

    def ways_of(self, number):
        """The ways that have a turn in this round: all of them in the warm-up, -1."""
        whole = max(self.rounds.values())
        if number < 0:
            return list(self.work.ways)
        return [way for way, count in self.rounds.items() if number < whole and (number + 1) * count // whole > number * count // whole]

    def turns(self, number):
        """(way, turn) in the order of a round: each in its turn, who begins changes, and so does the direction."""
        for repeat in range(max(self.repeats.values()) if number >= 0 else 1):
            ways = [way for way in self.ways_of(number) if number < 0 or repeat < self.repeats[way]]
            direction = -1 if (number + repeat) % 2 else 1
            for i in range(len(ways)):
                yield ways[(number + repeat + direction * i) % len(ways)], number * self.work.repeats + repeat


def is_others(way):
    """Whether this Way, or None, is another project's program."""
    return way is not None and way.kind in ("tracer", "peer")


def sample(plan, name, way, number):
    """The Sample of a way.  A peer that did not do its work is asked once more, and that is reported: plan.again."""
    try:
        return plan.work.sample(name, number)
    except Failed as error:
        if not is_others(way):
            raise
        if name in plan.again:  # once in a work
            raise
        plan.again[name] = str(error).split("\n", 1)[0]
        return plan.work.sample(name, number)


def measure_group(place, works, rounds, budget_s, report):
    """[figures] of the works, whose rounds take turns."""
    plans = []
    for work in works:
        with failing_as(work):
            place.session = slug(work.name)
            report("%s: prepare" % work.name)
            start = time.monotonic()
            work.prepare()
            plans.append(Schedule(work, rounds, budget_s))
            plans[-1].took_s = time.monotonic() - start
    for number in range(-1, rounds):
        for plan in plans:
            place.session = slug(plan.work.name)
            took_s = {}
            for way, turn in plan.turns(number):
                report("%s: %s, round %d of %d" % (plan.work.name, way, number + 1, max(plan.rounds.values())))
                start = time.monotonic()
                with failing_as(plan.work, place.ways.get(way)):
                    result = sample(plan, way, place.ways.get(way), number)
                took_s[way] = time.monotonic() - start
                if number >= 0:
                    plan.samples[way][turn] = result
                plan.took_s += took_s[way]
            if number < 0:
                plan.fit(took_s)
    result = []
    for plan in plans:
        with failing_as(plan.work):
            place.session = slug(plan.work.name)
            proofs = {way: place.ways[way].finish(place) for way in plan.work.ways if way in place.ways}
            plan.work.clean()
            result.append({**figures_of(plan.work, plan.samples, proofs), "seconds": round(plan.took_s, 1), "again": plan.again})
    return result


@contextlib.contextmanager
def failing_as(work, way=None):
    """With this, a failure is reported with the name of the work, and how to leave out the way that does not work."""
    try:
        yield
    except Failed as error:
        first, *rest = str(error).split("\n")
        remedy = " (--without %s leaves it out)" % shlex.quote(way.name) if is_others(way) else ""
        raise Failed("\n".join(["%s: %s%s" % (work.name, first, remedy), *rest])) from error


def measure(place, works, rounds, budget_s, report):
    """{"works": [figures], "studies": [...], "goals": [...]}.  budget_s: of a work of share 1.  told(text): what is done now."""
    result = {"works": [], "studies": []}
    for group in dict.fromkeys(work.group for work in works):
        timed = [work for work in works if work.group == group and not isinstance(work, Study)]
        result["works"] += measure_group(place, timed, rounds, budget_s, report)
        for study in (work for work in works if work.group == group and isinstance(work, Study)):
            with failing_as(study):
                place.session = slug(study.name)
                report(study.name)
                start = time.monotonic()
                study.prepare()
                measured = study.measure(rounds)
                result["studies"].append({"study": study.name, "group": group, "about": study.about, "goals": list(study.goals),
                                          "seconds": round(time.monotonic() - start, 1), **measured})
                study.clean()
    result["goals"] = goals.verdicts(result["works"], result["studies"])
    return result


def teller():
    """A function that shows what is done now, on a terminal; "" removes it."""
    if not sys.stderr.isatty():
        return lambda text: None

    def report(text):
        print("\r\033[K" + text[:100], end="", file=sys.stderr, flush=True)
    return report

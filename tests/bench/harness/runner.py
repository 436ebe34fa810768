"""Rounds and turns: who is measured when, and how often."""
import sys
import time

from .figures import figures_of
from .place import Failed, slug
from .works import Study

LEAST_ROUNDS = 3


def prove(place, names):
    """Raises Failed unless each of these ways is there and does what it claims."""
    problems = [way.available() for way in (place.ways[name] for name in names) if way.available()]
    if problems:
        raise Failed("; ".join(problems))
    place.session = "prove"
    for name in names:
        place.ways[name].prove(place)


class Plan:
    """How many rounds of a work there are, and how many turns of each way in a round."""

    def __init__(self, work, rounds, budget_s):
        self.work, self.rounds, self.repeats, self.budget_s = work, rounds, work.repeats, budget_s * work.share
        self.samples = {way: [] for way in work.ways}

    def fit(self, turn_s):
        """turn_s: what one sample of every way took, in all."""
        affordable = max(1, int(self.budget_s / max(turn_s, 1e-9)))
        self.repeats = max(1, min(self.repeats, affordable // self.rounds))
        self.rounds = max(min(LEAST_ROUNDS, self.rounds), min(self.rounds, affordable))

    def turns(self, number):
        """Names of ways in the order of a round: each in its turn, and who begins changes."""
        ways = self.work.ways
        count = len(ways)
        for turn in range(count * (self.repeats if number >= 0 else 1)):
            yield ways[(number + turn + turn // count) % count]


def measure_group(place, works, rounds, budget_s, told):
    """[figures] of the works, whose rounds take turns."""
    plans = []
    for work in works:
        place.session = slug(work.name)
        told("%s: prepare" % work.name)
        work.prepare()
        plans.append(Plan(work, rounds, budget_s))
    for number in range(-1, rounds):  # the first round warms up, shows how long a turn takes, and is not counted
        for plan in plans:
            if number >= plan.rounds:
                continue
            place.session = slug(plan.work.name)
            start = time.monotonic()
            for way in plan.turns(number):
                told("%s: %s, round %d of %d" % (plan.work.name, way, number + 1, plan.rounds))
                result = plan.work.sample(way, number)
                if number >= 0:
                    plan.samples[way].append(result)
            if number < 0:
                plan.fit(time.monotonic() - start)
    for plan in plans:
        place.session = slug(plan.work.name)
        for way in plan.work.ways:
            if way in place.ways:
                place.ways[way].finish(place)
        plan.work.clean()
    return [figures_of(plan.work, plan.samples) for plan in plans]


def measure(place, works, rounds, budget_s):
    """{"works": [figures], "studies": [...]}.  budget_s: of a work of share 1."""
    def told(text):
        if sys.stderr.isatty():
            print("\r\033[K" + text[:100], end="", file=sys.stderr, flush=True)

    groups = list(dict.fromkeys(work.group for work in works))
    result = {"works": [], "studies": []}
    for group in groups:
        timed = [work for work in works if work.group == group and not isinstance(work, Study)]
        try:
            result["works"] += measure_group(place, timed, rounds, budget_s, told)
            for study in (work for work in works if work.group == group and isinstance(work, Study)):
                place.session = slug(study.name)
                told(study.name)
                study.prepare()
                result["studies"].append({"study": study.name, "group": group, "about": study.about, "goals": list(study.goals),
                                          **study.measure(rounds)})
                study.clean()
        finally:
            told("")
    return result

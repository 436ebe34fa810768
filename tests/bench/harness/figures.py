"""Medians, quartiles and ratios of samples; what is to be doubted."""
import statistics

BUSY_PER_CORE = 0.5  # load, and processors in use by others
WIDE = 0.3  # third quartile less first, to the median


def quartiles(values):
    """[first quartile, median, third quartile] of some numbers, at least one."""
    values = list(values)
    if len(values) < 2:
        return [values[0]] * 3
    return list(statistics.quantiles(values, n=4, method="inclusive"))


def figures_of(work, samples, proofs=None):
    """What the samples of a work come to, as it stands in the JSON (schema.json).

    samples: {way: {turn: Sample}}; those of the same turn are neighbours in time, and a ratio is taken between them.  Raises
    ValueError for a way that has no turn together with a base.  proofs: {way: {name: number}}, see Way.finish().
    """
    unit, unit_ns = work.unit
    result = {"work": work.name, "group": work.group, "about": work.about, "unit": unit, "unit_ns": unit_ns, "goals": list(work.goals),
              "own": work.own, "compare": work.compare, "bases": [base for base in work.bases if base in samples], "ways": {}}
    for way, taken in samples.items():
        turns = sorted(taken)
        entry = {"turns": turns, "samples_wall_ns": [taken[turn].wall_ns for turn in turns],
                 "samples_cpu_ns": [taken[turn].cpu_ns for turn in turns],
                 "wall_ns": quartiles(s.wall_ns for s in taken.values()), "cpu_ns": quartiles(s.cpu_ns for s in taken.values()),
                 "extra": {name: quartiles(s.extra[name] for s in taken.values()) for name in taken[turns[0]].extra},
                 "proof": (proofs or {}).get(way, {}), "wall_to": {}, "cpu_to": {}, "more_ns_than": {}}
        for base in result["bases"]:
            pairs = [(taken[turn], samples[base][turn]) for turn in turns if turn in samples[base]]
            if not pairs:
                raise ValueError("%s: no turn of %s together with %s" % (work.name, way, base))
            entry["wall_to"][base] = quartiles(a.wall_ns / b.wall_ns for a, b in pairs)
            entry["more_ns_than"][base] = quartiles(a.wall_ns - b.wall_ns for a, b in pairs)
            if all(b.cpu_ns for _, b in pairs):
                entry["cpu_to"][base] = quartiles(a.cpu_ns / b.cpu_ns for a, b in pairs)
        result["ways"][way] = entry
    return result


def warnings(result):
    """Sentences: why the figures of a JSON document are to be doubted.  Empty if there is no reason to."""
    machine, said = result["machine"], []
    cores = machine["cores"]
    if machine["build_type"] != "Release":
        said.append("This is not a release build (%s)." % machine["build_type"])
    if result["quick"]:
        said.append("It was a quick run, which shows that the bench works: no figures to quote.")
    if machine["load_at_start"] > BUSY_PER_CORE * cores:
        said.append("The machine was busy at the start: load %.1f on %d cores." % (machine["load_at_start"], cores))
    if machine["others_processors"] > 0.05 * cores:
        said.append("Others used %.2f of %d processors while it ran." % (machine["others_processors"], cores))
    if machine["stolen_processors"] > 0.02 * cores:
        said.append("The host took %.2f of %d processors away (steal)." % (machine["stolen_processors"], cores))
    said += ["A run had to be done again, as it had not done its work: %s: %s." % (entry["work"], why) for entry in result["works"]
             for why in entry["again"].values()]
    lost = {entry["work"]: figures["proof"]["lost"] for entry in result["works"] for figures in entry["ways"].values()
            if figures["proof"].get("lost")}
    if lost:
        said.append("Tables of seen were full, so that it forgot what it knew of files, programs or deliveries: %s." % "; ".join(
            "%s: %d" % item for item in lost.items()))
    wide = [(entry["work"], way) for entry in result["works"] for way, figures in entry["ways"].items()
            for base in entry["bases"][:1] if is_wide(figures["wall_to"][base])]
    if wide:
        names = list(dict.fromkeys(work for work, _ in wide))
        said.append("The spread is wide (quartiles more than %d %% apart) in %d of %d figures, marked `~`; of the works %s." % (
            100 * WIDE, len(wide), sum(len(entry["ways"]) for entry in result["works"]), ", ".join(names[:6]) + (" ..." if names[6:] else "")))
    return said


def is_wide(three):
    return three[2] - three[0] > WIDE * three[1]

"""Medians, quartiles and ratios of samples."""
import statistics


def quartiles(values):
    """[first quartile, median, third quartile] of some numbers, at least one."""
    values = list(values)
    if len(values) < 2:
        return [values[0]] * 3
    return list(statistics.quantiles(values, n=4, method="inclusive"))


def figures_of(work, samples):
    """What the samples of a work come to, as it stands in the JSON (schema seen-bench/2).

    samples: {way: [Sample]}, as many of each way; those with the same index are neighbours in time.
    """
    unit, unit_ns = work.unit
    result = {"work": work.name, "group": work.group, "about": work.about, "unit": unit, "unit_ns": unit_ns, "goals": list(work.goals),
              "own": work.own, "bases": [base for base in work.bases if base in samples], "ways": {}}
    for way, taken in samples.items():
        entry = {"samples_wall_ns": [s.wall_ns for s in taken], "samples_cpu_ns": [s.cpu_ns for s in taken],
                 "wall_ns": quartiles(s.wall_ns for s in taken), "cpu_ns": quartiles(s.cpu_ns for s in taken),
                 "extra": {name: quartiles(s.extra[name] for s in taken) for name in taken[0].extra},
                 "wall_to": {}, "cpu_to": {}, "more_ns_than": {}}
        for base in result["bases"]:
            pairs = list(zip(taken, samples[base]))
            entry["wall_to"][base] = quartiles(a.wall_ns / b.wall_ns for a, b in pairs)
            entry["more_ns_than"][base] = quartiles(a.wall_ns - b.wall_ns for a, b in pairs)
            if all(b.cpu_ns for _, b in pairs):
                entry["cpu_to"][base] = quartiles(a.cpu_ns / b.cpu_ns for a, b in pairs)
        result["ways"][way] = entry
    return result

"""Tables of a JSON document (schema.json) as text, which is Markdown too.

Nothing here measures, or asks the machine: what is not in the document is not said.
"""
from .figures import is_wide, warnings

PEER_KINDS = ("floor", "tracer", "peer")


def table(header, rows, text=False):
    """A table.  header, rows: cells.  text: cells of words, not padded; else all but the first are to the right."""
    header, *rows = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    if text:
        return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]) + "\n"
    widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]
    lines = ["| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))) + " |" for row in [header, *rows]]
    lines.insert(1, "|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|")
    return "\n".join(lines) + "\n"


def spread(three, form="%.3f"):
    """A median with its quartiles: 1.234 (1.20..1.26); with ~ where they are far apart."""
    low, middle, high = three
    digits = "%.0f" if abs(middle) >= 100 else "%.1f" if abs(middle) >= 10 else "%.2f"
    return ("%s" + form + " (" + digits + ".." + digits + ")") % ("~" if is_wide(three) else "", middle, low, high)


def ratio(three):
    return spread(three, "%.0f" if three[1] >= 100 else "%.1f" if three[1] >= 10 else "%.3f")


def unit_of(value_ns):
    """(unit, its ns) that shows a time without an exponent."""
    for unit, unit_ns in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if abs(value_ns) < 1e4 * unit_ns:
            return unit, unit_ns
    return "s", 1e9


def time_of(value_ns):
    unit, unit_ns = unit_of(value_ns)
    return "%.4g %s" % (value_ns / unit_ns, unit)


def more_time(three):
    """A difference of times with its quartiles."""
    unit, unit_ns = unit_of(max(three, key=abs))
    low, middle, high = (part / unit_ns for part in three)
    digits = "%+.0f" if abs(middle) >= 100 else "%+.1f" if abs(middle) >= 10 else "%+.2f"
    return (digits + " %s (" + digits + ".." + digits + ")") % (middle, unit, low, high)


def more(entry, way, base):
    """What a way takes more than a base, with quartiles."""
    return more_time(entry["ways"][way]["more_ns_than"][base])


def ways_of(result, kinds):
    """Names of the document's ways of these kinds, in their order."""
    return [way["name"] for way in result["ways"] if way["kind"] in kinds]


def compared(result, group):
    """The works of a group whose ways are those of ways.py."""
    return [entry for entry in result["works"] if entry["group"] == group and not entry["own"]]


def bare_table(result, works):
    """(title, header, rows) against bare: works by seen's ways."""
    names = [way for way in ways_of(result, ("injection", "seen")) if any(way in entry["ways"] for entry in works)]
    return ("against bare", ["against bare", "bare", *names],
            [[entry["work"], time_of(entry["ways"]["bare"]["wall_ns"][1]),
              *(ratio(entry["ways"][way]["wall_to"]["bare"]) if way in entry["ways"] else "-" for way in names)] for entry in works])


def injected_table(result, works):
    """(title, header, rows) against injection only: what goes by preload; with processor time and the difference."""
    works = [entry for entry in works if "injected" in entry["ways"] and len(entry["ways"]) > 2]
    names = [way["name"] for way in result["ways"] if way["kind"] == "seen" and not way["static"] and
             any(way["name"] in entry["ways"] for entry in works)]
    if not works or not names:
        return None
    rows = []
    for entry in works:
        row = [entry["work"], time_of(entry["ways"]["injected"]["wall_ns"][1])]
        for way in names:
            figures = entry["ways"].get(way)
            row += [ratio(figures["wall_to"]["injected"]), "%.3f" % figures["cpu_to"]["injected"][1] if "injected" in figures["cpu_to"] else "-",
                    more(entry, way, "injected")] if figures else ["-"] * 3
        rows.append(row)
    return ("against injection only", ["against injection only", "injected", *(cell for way in names for cell in (way, "cpu", "more"))], rows)


def peers_table(result, works):
    """(title, header, rows) against bare: all other ways by works, with seen's beside them."""
    peers = [way for way in ways_of(result, PEER_KINDS) if any(way in entry["ways"] for entry in works)]
    works = [entry for entry in works if any(way in entry["ways"] for way in peers)]
    if not peers:
        return None
    names = [way for way in ways_of(result, ("injection", "seen")) if any(way in entry["ways"] for entry in works)] + peers
    return ("beside others, against bare", ["beside others, against bare", *(entry["work"] for entry in works)],
            [[way, *(ratio(entry["ways"][way]["wall_to"]["bare"]) if way in entry["ways"] else "-" for entry in works)] for way in names])


def floor_table(result):
    """(title, header, rows) against the least notifier."""
    works = [entry for entry in result["works"] if not entry["own"] and "floor" in entry["ways"]]
    names = [way["name"] for way in result["ways"] if way["kind"] == "seen" and way["static"] and any(way["name"] in entry["ways"] for entry in works)]
    if not works or not names:
        return None
    return ("against the least notifier", ["", "bare", "floor: more than bare", *(cell for way in names for cell in (
        way + ": more than bare", way + ": to the floor"))],
        [[entry["work"], time_of(entry["ways"]["bare"]["wall_ns"][1]), more(entry, "floor", "bare"),
          *(cell for way in names for cell in ((more(entry, way, "bare"), ratio(entry["ways"][way]["wall_to"]["floor"]))
                                               if way in entry["ways"] else ("-", "-")))] for entry in works])


def own_table(entry):
    """(title, header, rows, note) of a work whose ways are its own."""
    extras = list(dict.fromkeys(name for way in entry["ways"].values() for name in way["extra"]))
    compare, unit = entry["compare"], entry["unit"].replace("us", "µs")
    return (entry["work"], [entry["work"], "wall, " + unit, "cpu, " + unit, *extras, *("%s to %s" % (compare, base) for base in entry["bases"])],
            [[way, *(spread([part / entry["unit_ns"] for part in figures[name]], "%.4g") for name in ("wall_ns", "cpu_ns")),
              *("%.6g" % figures["extra"][name][1] if name in figures["extra"] else "-" for name in extras),
              *(ratio(figures[compare + "_to"][base]) if base in figures[compare + "_to"] and base != way else "-" for base in entry["bases"])]
             for way, figures in entry["ways"].items()], "; ".join("%s: %s" % item for item in entry["own"].items()) + ".")


def extra_table(works):
    """(title, header, rows) of what works counted beside time, or None."""
    ways = list(dict.fromkeys(way for entry in works for way, figures in entry["ways"].items() if figures["extra"]))
    rows = []
    for entry in works:
        for name in dict.fromkeys(name for figures in entry["ways"].values() for name in figures["extra"]):
            values = {way: figures["extra"][name][1] for way, figures in entry["ways"].items() if name in figures["extra"]}
            rows.append(["%s: %s" % (entry["work"], name), *("%.6g" % values[way] if way in values else "-" for way in ways)])
    return ("counted", ["counted, median", *ways], rows) if rows else None


def group_tables(result, group):
    """[(title, header, rows, note)] of a group."""
    works = compared(result, group)
    found = [bare_table(result, works), injected_table(result, works), peers_table(result, works), extra_table(works)] if works else []
    found = [(*one, "") for one in found if one]
    found += [own_table(entry) for entry in result["works"] if entry["group"] == group and entry["own"]]
    for study in (study for study in result["studies"] if study["group"] == group):
        found += [(one["title"], one["header"], one["rows"], one.get("note", "")) for one in study["tables"]]
    return found


def goal_value(verdict):
    """The figure of a goal as text."""
    low, middle, high = verdict["value"]
    if verdict["field"] == "more_ns_than":
        return more_time(verdict["value"])
    if verdict["field"] in ("wall_ns", "cpu_ns"):
        unit, unit_ns = unit_of(high)
        return spread([part / unit_ns for part in verdict["value"]], "%.4g " + unit)
    if verdict["field"] in ("wall_to", "cpu_to"):
        return ratio(verdict["value"])
    return "%.6g" % middle


def goal_table(verdicts):
    """(header, rows)"""
    return (["goal", "work", "must be", "figure", ""],
            [[verdict["title"], verdict["work"], verdict["text"], goal_value(verdict), "met" if verdict["met"] else "MISSED"]
             for verdict in verdicts])


def machine_lines(result):
    """What it was measured on, in lines."""
    machine = result["machine"]
    return ["%s, %d cores%s, %.0f GiB; Linux %s %s, %s, %s; files on %s" % (
        machine["cpu"], machine["cores"], " of a virtual machine" if machine["virtual"] else "", machine["memory_kb"] / 1048576,
        machine["kernel"], machine["architecture"], machine["system"], machine["libc"], machine["file_system"]),
        "%s, commit %s, %s build, %s; %d rounds at most, %d s" % (
            machine["seen"], machine["commit"], machine["build_type"], machine["date"], result["rounds"], result["seconds"])]


def all_text(result):
    """All tables, as the command prints them."""
    parts = ["\n".join(machine_lines(result) + ["WARNING: " + said for said in warnings(result)] +
                       ["left out: %s: %s" % item for item in result["without"].items()] +
                       ["ratios of wall time: median (first..third quartile); cpu: median ratio of user + system time", ""])]
    for group, title in result["groups"].items():
        tables = group_tables(result, group)
        if tables:
            parts.append("== %s\n" % title)
        for _, header, rows, note in tables:
            parts.append(table(header, rows) + (note + "\n" if note else ""))
    floor = floor_table(result)
    if floor:
        parts.append("== Against the least notifier\n\n" + table(*floor[1:]))
    if result["goals"]:
        parts.append("== Goals\n\n" + table(*goal_table(result["goals"])))
    return "\n".join(parts)

"""Tables as text, which are Markdown too."""
from . import ways as all_ways


def table(header, rows):
    """Text of a table.  header, rows: cells of text."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, None, *rows]:
        if row is None:
            lines.append("|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|")
        else:
            lines.append("| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                           for i, (cell, width) in enumerate(zip(row, widths))) + " |")
    return "\n".join(lines) + "\n"


def spread(three, form="%.3f"):
    """A median with its quartiles: 1.234 (1.20..1.26)."""
    return (form + " (%.2f..%.2f)") % (three[1], three[0], three[2])


def is_own(entry):
    """Whether a work's ways are its own: sizes, numbers of writers."""
    return bool(entry["own"])


def ratio_tables(works):
    """[(title, header, rows)]: a table for each base, of the works and ways that have it.  works: of the JSON."""
    result = []
    for title, base, columns, more_ways in (
            ("against bare", "bare", [way for way in all_ways.ALL if way != "bare"], ()),
            ("against injection only", "injected", ("no journal", "substitute", "strace"), ("substitute",)),
            ("against the least notifier", "floor", ("supervise", "both"), ("supervise", "both"))):
        chosen = [entry for entry in works if not is_own(entry) and base in entry["bases"]]
        names = [way for way in columns if any(way in entry["ways"] for entry in chosen)]
        more_names = [way for way in more_ways if way in names]
        if not chosen or not names:
            continue
        header = [title, base] + [column for way in names for column in (way, "cpu")]
        rows = []
        for entry in chosen:
            unit, unit_ns, ways = entry["unit"], entry["unit_ns"], entry["ways"]
            row = [entry["work"], "%.4g %s" % (ways[base]["wall_ns"][1] / unit_ns, unit)]
            for way in names:
                if way not in ways:
                    row += ["-", "-"]
                    continue
                cpu = ways[way]["cpu_to"].get(base)
                row += [spread(ways[way]["wall_to"][base]), "%.3f" % cpu[1] if cpu else "-"]
            if base == "floor":
                row.append("%+.4g %s" % (ways[base]["more_ns_than"]["bare"][1] / unit_ns, unit) if "bare" in ways else "-")
            for way in more_names:
                row.append("%+.4g %s" % (ways[way]["more_ns_than"][base][1] / unit_ns, unit) if way in ways else "-")
            rows.append(row)
        header += ["floor: more than bare"] if base == "floor" else []
        header += [way + ": more" for way in more_names]
        result.append((title, header, rows))
    return result


def own_tables(works):
    """[(title, header, rows)]: a table for each work whose ways are its own."""
    result = []
    for entry in (entry for entry in works if is_own(entry)):
        extras = list(dict.fromkeys(name for way in entry["ways"].values() for name in way["extra"]))
        header = [entry["work"], "wall %s" % entry["unit"], "cpu %s" % entry["unit"], *extras, *("cpu to " + base for base in entry["bases"])]
        rows = [[way, *(spread([part / entry["unit_ns"] for part in figures[name]], "%.1f") for name in ("wall_ns", "cpu_ns")),
                 *("%.4g" % figures["extra"][name][1] if name in figures["extra"] else "-" for name in extras),
                 *(spread(figures["cpu_to"][base]) if base in figures["cpu_to"] and base != way else "-" for base in entry["bases"])]
                for way, figures in entry["ways"].items()]
        result.append((entry["work"], header, rows))
    return result


def goal_value(verdict):
    """The figure of a goal as text."""
    low, middle, high = verdict["value"]
    if verdict["field"] in ("wall_ns", "cpu_ns", "more_ns_than"):
        sign = "+" if verdict["field"] == "more_ns_than" else ""
        divide, unit = (1000, "µs") if abs(verdict["limit"]) >= 1000 else (1, "ns")
        return ("%" + sign + ".4g %s (%.4g..%.4g)") % (middle / divide, unit, low / divide, high / divide)
    return spread(verdict["value"])


def goal_table(verdicts):
    """(header, rows)"""
    return (["goal", "work", "goal is", "figure", ""],
            [[verdict["title"], verdict["work"], verdict["text"], goal_value(verdict), "met" if verdict["met"] else "MISSED"]
             for verdict in verdicts])


def all_text(result):
    """All tables of a JSON document, as the command prints them."""
    from .goals import verdicts
    machine = result["machine"]
    parts = ["%(cpu)s, %(cores)d cores, Linux %(kernel)s %(architecture)s, %(system)s, %(libc)s" % machine,
             "%s, commit %s, %s build; files on %s; load %.1f..%.1f; up to %d rounds, %d s%s" % (
                 machine["seen"], machine["commit"], machine["build_type"], machine["file_system"], machine["load_at_start"],
                 machine["load_at_end"], result["rounds"], result["seconds"],
                 "" if machine["build_type"] == "Release" else " - NOT A RELEASE BUILD"),
             "ratios: median (first..third quartile) of wall time; cpu: median ratio of user + system time\n"]
    for _, header, rows in ratio_tables(result["works"]) + own_tables(result["works"]):
        parts.append(table(header, rows))
    for study in result["studies"]:
        for one in study["tables"]:
            parts.append(table(one["header"], one["rows"]) + ("%s\n" % one["note"] if one.get("note") else ""))
    reached = verdicts(result["works"])
    if reached:
        parts.append(table(*goal_table(reached)))
    return "\n".join(parts)

"""The pages of a JSON document (schema.json), in Markdown: all of it, and its first page, docs/performance.md.  Functions of the document alone."""
import os
import re

from . import goals as all_goals
from . import plot
from .figures import warnings
from .place import Failed
from .tables import floor_table, goal_table, group_tables, machine_lines, table
from .works import GROUPS

KINDS = {"bare": "", "injection": "limit of the mechanism", "seen": "seen", "floor": "limit of the mechanism", "tracer": "tracer", "peer": "peer"}
ALT = {"goals": "Each goal's figure as a share of its limit, median and quartiles",
       "ratios": "For each work, what each way takes to bare, median and quartiles, on a logarithmic scale"}


def picture(stem, name):
    """Markdown of a plot that is there for light pages and for dark ones."""
    return ('<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="%s-%s-dark.svg">\n'
            '  <img alt="%s" src="%s-%s-light.svg">\n</picture>\n' % (stem, name, ALT[name], stem, name))


def is_of_undo(goal):
    return goal.startswith("undo")


def warned(result):
    """[Markdown] of why the figures are to be doubted."""
    said = warnings(result)
    return ["\n>\n".join("> **Warning**: %s" % one for one in said) + "\n"] if said else []


def not_measured(result, is_meant):
    """[Markdown]: the goals of these that the run has no figure of."""
    measured = {verdict["goal"] for verdict in result["goals"]}
    missing = [goal.title for key, goal in all_goals.ALL.items() if key not in measured and is_meant(key)]
    return ["Not measured in this run: %s.\n" % "; ".join(missing)] if missing else []


def undo_of(result):
    """[Markdown]: the section on what is kept for undo.  It names its run: it may be written anew alone."""
    machine = result["machine"]
    parts = ["## %s\n" % GROUPS["undo"],
             "By `%s` of commit %s on %s; load %.1f at its start, %.1f at its end.\n" % (
                 result["command"], machine["commit"], machine["date"], machine["load_at_start"], machine["load_at_end"]),
             *warned(result), "\n".join("* " + line for line in machine_lines(result)) + "\n"]
    verdicts = [verdict for verdict in result["goals"] if is_of_undo(verdict["goal"])]
    if verdicts:
        parts.append(table(*goal_table(verdicts), text=True))
    parts += not_measured(result, is_of_undo)
    about = [entry["about"] for entry in result["works"] + result["studies"] if entry["group"] == "undo" and entry["about"]]
    parts += [text + "\n" for text in dict.fromkeys(about)]
    return parts + [table(header, rows) for _, header, rows, _ in group_tables(result, "undo")]


def renew(result, path):
    """Writes a first page's section on undo anew.  Raises Failed."""
    section = re.compile(r"^## %s\n.*?(?=^## )" % re.escape(GROUPS["undo"]), re.M | re.S)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not section.search(text):
            raise Failed("%s: no section \"%s\"" % (path, GROUPS["undo"]))
        with open(path, "w", encoding="utf-8") as file:
            file.write(section.sub(lambda _: "\n".join(undo_of(result)) + "\n", text))
    except OSError as error:
        raise Failed("%s: %s" % (path, error.strerror)) from error


def head_of(result, stem, is_meant=lambda goal: True):
    """What both pages begin with: the run, its machine, the goals that are meant.  stem: of the names of the plots beside the page."""
    machine = result["machine"]
    parts = ["# Performance\n",
             "Written by `%s` of commit %s on %s; `./scripts/bench` writes it anew. Do not edit.\n" % (
                 result["command"], machine["commit"], machine["date"]), *warned(result)]
    if result["without"]:
        parts.append("Left out, so that there are no figures of them here:\n")
        parts.append("\n".join("* %s: %s" % item for item in result["without"].items()) + "\n")
    parts += ["The same work is done by several ways, which take turns within each round, so that what else the machine does hits all "
              "alike. A figure is the median of the ratios between neighbours, in brackets the first and the third quartile; `~` marks where "
              "these are more than 30 % of the median apart. Every run proves that it did its work, and that its way was at work: there is no "
              "figure from one that did not.\n",
              "\n".join("* " + line for line in machine_lines(result)) + "\n"]

    parts.append("## Goals\n")
    parts.append("Journal on, mode substitute, against runs interleaved with it.\n")
    if result["goals"]:
        verdicts = [verdict for verdict in result["goals"] if is_meant(verdict["goal"])]
        parts += [table(*goal_table(verdicts), text=True), picture(stem, "goals")]
    return parts + not_measured(result, is_meant)


def first_page_of(result, stem):
    """The text of docs/performance.md."""
    parts = head_of(result, stem, lambda goal: not is_of_undo(goal)) + undo_of(result)
    if plot.compared_works(result):
        parts += ["## Beside others\n", "What each way takes to bare, in time:\n", picture(stem, "ratios")]
    parts += ["## All figures\n", "`./scripts/bench` writes `build/performance.md`: who is compared and what each can do, each work by each way, "
              "processor time, system calls. `tests/bench/run --from build/bench.json` prints the tables of a run anew.\n"]
    return "\n".join(parts)


def page_of(result, stem):
    """The text of the whole page."""
    parts = head_of(result, stem)
    parts.append("## Who is compared\n")
    parts.append(table(["way", "is", "version", "kind", "writes down"], [
        [way["name"], way["description"], way["version"], KINDS[way["kind"]], way["records"]] for way in result["ways"]], text=True))
    parts.append("What each can do, so that the ratios are understood: who records nothing has less to do.\n")
    parts.append(table(["way", *result["abilities"].values()], [[way["name"], *("yes" if ability in way["can"] else "" for ability in result["abilities"])]
                                                                for way in result["ways"]], text=True))
    drawn = plot.compared_works(result)
    if drawn:
        parts += ["What each way takes to bare, in time:\n", picture(stem, "ratios")]
    for group, title in result["groups"].items():
        tables = group_tables(result, group)
        floor = floor_table(result) if group == "supervise" else None
        if not tables and not floor:
            continue
        parts.append("## %s\n" % title)
        about = [entry["about"] for entry in result["works"] + result["studies"] if entry["group"] == group and entry["about"]]
        parts += [text + "\n" for text in dict.fromkeys(about)]
        if floor:
            parts += ["The least that a supervisor can be hands opens, nothing else, to a thread that lets them pass: what it takes more than bare is the kernel's.\n",
                      table(*floor[1:])]
        for _, header, rows, note in tables:
            parts.append(table(header, rows))
            if note and note not in about:
                parts.append(note + "\n")
    return "\n".join(parts)


def write(result, path, text_of=page_of):
    """Writes a page and its plots: PATH, and beside it STEM-NAME-THEME.svg.  Raises Failed where it cannot."""
    stem = os.path.splitext(os.path.basename(path))[0]
    files = {path: text_of(result, stem)}
    for name, draw in plot.PLOTS.items():
        for theme in plot.THEMES:
            drawn = draw(result, theme)
            if drawn:
                files[os.path.join(os.path.dirname(path), "%s-%s-%s.svg" % (stem, name, theme))] = drawn
    for name, text in files.items():
        try:
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Failed("%s: %s" % (name, error.strerror)) from error

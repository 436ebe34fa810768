"""Rows of docs/systems.md: which there are, and a row made of what a check printed (system_check, static_check).

test_systems_long.py runs a check for each row; test_packages.py holds the page's rows against ROWS.
"""
import re
import time

COLUMNS = ["installs", "demo", "calls", "units", "sink", "undo", "uninstalls"]
DEBIAN = {"bullseye": "Debian 11 (bullseye)", "bookworm": "Debian 12 (bookworm)", "trixie": "Debian 13 (trixie)", "sid": "Debian sid"}
BY_RPM = "Debian 12's files, all put there by rpm"
BUSYBOX = "a static busybox"
# System, architecture, package.
ROWS = [*((system, "x86-64", package) for package in (".deb", "tarball") for system in DEBIAN.values()),
        (DEBIAN["bookworm"], "x86-64", ".rpm"), (BY_RPM, "x86-64", ".rpm"), (DEBIAN["bookworm"], "x86-64", "image"), (BUSYBOX, "x86-64", "static tarball"),
        *((DEBIAN["bookworm"], "aarch64", package) for package in (".deb", "tarball", ".rpm"))]
NOT_TRIED = "–"


def rows_of(page):
    """By system, architecture and package: the line of the table, and its cells."""
    found = {}
    for line in re.findall(r"(?m)^\| .* \|$", page[page.index("| system |"):].partition("\n\n")[0])[1:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[(cells[0], cells[2], cells[3])] = line, cells
    return found


def cells_of(printed):
    """By column, what a check printed: yes, "N of N", or no."""
    found = {}
    for line in printed.splitlines():
        what, result, reason = line.split("\t", 2)
        count = re.match(r"(\d+ of \d+) programs [a-z ]+?( but for [1-9]\d* tests?)?\b", reason)
        counted = count[1] + (count[2] or "") if count else "yes"
        found[{"run": "demo"}.get(what, what)] = counted if result == "ok" else "no"
    return found


def row(key, glibc, printed):
    """The line of the table, of today and of the build that the check saw."""
    system, arch, package = key
    cells = cells_of(printed)
    commit = re.search(r"commit (\w+)", printed)
    build = f"{time.strftime('%Y-%m-%d')}, {commit[1][:7] if commit else 'not known'}"
    return "| " + " | ".join([system, glibc, arch, package, *(cells.get(column, NOT_TRIED) for column in COLUMNS), build]) + " |"


def with_row(page, key, line):
    """The page with that line in the place of the row of before."""
    return page.replace(rows_of(page)[key][0], line)

"""Agents behind launchers, by auto: each program gets the mechanism that it needs when it is started.

A launcher is an ordinary program that becomes the agent, or starts it: what `seen run` is given does not tell which mechanisms the agent
needs. The agent's own edit is its own all the same, what it destroys is kept, and a static program that its search tool starts is seen.
"""
import json
import os
import shutil
import subprocess

import journal
import scenario
from stage import NODE_BIN, SYSTEM_PATH

LAUNCHERS = ("timeout", "script", "node", "npx")
NODE = """\
const { spawnSync } = require("child_process");
process.exit(spawnSync(process.argv[2], process.argv.slice(3), { stdio: "inherit" }).status);
"""
# In place of a static rg, which the search tools of some agents start: reads a file, finds nothing.
SEARCHED = "searched.py"
RG = f"""\
#include <fcntl.h>
#include <unistd.h>
int main(void) {{ char bytes[4096]; int fd = open("{SEARCHED}", O_RDONLY); return fd < 0 || read(fd, bytes, sizeof(bytes)) < 0 ? 2 : 1; }}
"""


def write_program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def build_search(directory):
    """A directory with that program; None: it cannot be built here."""
    if not shutil.which("cc"):
        return None
    source = write_program(f"{directory}/launch/rg.c", RG)
    done = subprocess.run(["cc", "-static", "-o", f"{directory}/launch/rg", source], stderr=subprocess.DEVNULL, check=False)
    return f"{directory}/launch" if done.returncode == 0 else None


def words(launcher, directory, command):
    """The words that start an agent's command by a launcher, whose files go below the directory."""
    search = build_search(directory)
    env = ["env", f"PATH={search}:{NODE_BIN}:{SYSTEM_PATH}"] if search else []
    if launcher == "timeout":
        return [*env, "timeout", "-k", "5", "280", command]
    if launcher == "script":
        return [*env, write_program(f"{directory}/launch/start", '#!/bin/sh -e\nexec "$@"\n'), command]
    if launcher == "node":
        return [*env, os.path.join(NODE_BIN, "node"), write_program(f"{directory}/launch/start.js", NODE), command]
    prefix = command.partition("/node_modules/")[0]
    return [*env, "npx", "--offline", "--prefix", prefix, os.path.basename(command)]


def build(searches):
    """The smoke's steps, and a search."""
    start, steps, end = scenario.smoke()
    if searches:
        start[SEARCHED] = end[SEARCHED] = scenario.module("searched")
        steps.append(scenario.Step("search", ("search", "quick brown"), None, None))
    return start, steps, end


def rows(run, searches):
    """What the session knows of the agent's own edit, and of what its search tool started."""
    events = journal.events_of(run.ask_seen("log", "--json", "--session", run.session))
    sources = sorted({event["source"] for event in events
                      if event["op"] in ("edited", "changed") and journal.about(event, "tool.py", run.workspace)})
    kept = json.loads(run.ask_seen("versions", "--json", "--session", run.session, "tool.py") or "{}")
    found = [("own edit's source", "agent", None if sources == ["agent_edited"] else f"it is {sources}"),
             ("before the own edit", "kept", None if kept.get("versions") else "no version")]
    if searches and os.path.exists(f"{run.directory}/launch/rg"):
        seen = list(journal.accesses(events, "read", SEARCHED, run.workspace))
        found.append(("static rg in the journal", "seen", None if seen else "not seen"))
    status = json.loads(run.ask_seen("status", "--json", "--session", run.session) or "{}").get("processes", {})
    missed = status.get("unobserved_programs", [None]) + status.get("partial_programs", [None])
    return found + [("programs not observed in full", "none", str(missed) if missed else None)]

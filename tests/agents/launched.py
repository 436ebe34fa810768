"""Agents behind launchers, by auto: each program gets the mechanism that it needs when it is started.

A launcher is an ordinary program that becomes the agent, or starts it: what `seen run` is given does not tell which mechanisms the agent
needs. The agent's own edit is its own all the same, what it destroys is kept, and a static program that its search tool starts is seen.
"""
import json
import os
import shutil
import subprocess
import sys

import external_edits
import journal
import scenario
from model_server import results_in_log
from stage import CACHE, NODE_BIN, SEEN, SYSTEM_PATH, npm_install

LAUNCHERS = ("timeout", "script", "node", "npx", "nvm", "pyenv")
USES_NPM = ("npx", "nvm")  # which has a log and a cache
NODE = """\
const { spawnSync } = require("child_process");
process.exit(spawnSync(process.argv[2], process.argv.slice(3), { stdio: "inherit" }).status);
"""
# A command of a Python package that brings an agent, as pip writes it where a path has spaces.
PIP = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import subprocess, sys
sys.exit(subprocess.call([{command!r}] + sys.argv[1:]))
"""
GUARDED = "guarded.py"
SELF_REFUSED = "modified since read"  # claude 2.1.197, bare too
OPTIONS = ("-c", f"guard.deny=/{GUARDED}")
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


def first(names):
    return next((name for name in names if name and os.path.exists(name)), None)


def nvm():
    """Where nvm is, or None."""
    return first(directory and f"{directory}/nvm.sh" for directory in (
        os.environ.get("NVM_DIR"), os.path.expanduser("~/.nvm"), f"{CACHE}/nvm/node_modules/nvm"))


def pyenv():
    """pyenv's program, or None."""
    return first((shutil.which("pyenv"), os.path.expanduser("~/.pyenv/bin/pyenv")))


def provide(names):
    """Those of the launchers that can be had, before the network is left.  Prints what is skipped, and why."""
    reasons = {"nvm": None if nvm() or "nvm" not in names else npm_install("nvm", "github:nvm-sh/nvm"),
               "pyenv": None if pyenv() else "not installed"}
    for name in names:
        if reasons.get(name):
            print(f"behind {name}: skipped: {reasons[name]}")
    return [name for name in names if not reasons.get(name)]


def nvm_words(directory, command):
    """A version of Node of nvm's, with the agent's package installed in it, by the script that is `nvm exec`."""
    source, version = os.path.dirname(nvm()), "v22.0.0"
    installed = f"{directory}/versions/node/{version}"
    for name in ("nvm.sh", "nvm-exec"):
        os.makedirs(directory, exist_ok=True)
        shutil.copy(f"{source}/{name}", directory)
    os.makedirs(f"{installed}/bin")
    os.makedirs(f"{installed}/lib")
    for name in ("node", "npm"):
        os.symlink(os.path.realpath(shutil.which(name, path=f"{NODE_BIN}:{SYSTEM_PATH}")), f"{installed}/bin/{name}")
    os.symlink(os.path.join(command.partition("/node_modules/")[0], "node_modules"), f"{installed}/lib/node_modules")
    name = os.path.basename(command)
    os.symlink(os.path.join("../lib/node_modules/.bin", os.readlink(command)), f"{installed}/bin/{name}")
    return {"NVM_DIR": directory, "NODE_VERSION": version}, [f"{directory}/nvm-exec", name]


def pyenv_words(directory, command):
    """A version of Python of pyenv's, with a package in it whose command starts the agent, by pyenv's shim."""
    name, bin_ = os.path.basename(command), f"{directory}/versions/agents/bin"
    os.makedirs(bin_)
    os.symlink(os.path.realpath(sys.executable), f"{bin_}/python3")
    write_program(f"{bin_}/{name}", PIP.format(python=f"{bin_}/python3", command=command))
    environment = {"PYENV_ROOT": directory, "PYENV_VERSION": "agents"}
    subprocess.run([pyenv(), "rehash"], env={**os.environ, **environment}, check=True, stdin=subprocess.DEVNULL)
    return environment, [f"{directory}/shims/{name}"]


def words(launcher, directory, command):
    """Variables and the words that start an agent's command by a launcher, whose files go below the directory."""
    if launcher == "timeout":
        return {}, ["timeout", "-k", "5", "280", command]
    if launcher == "script":
        return {}, [write_program(f"{directory}/launch/start", '#!/bin/sh -e\nexec "$@"\n'), command]
    if launcher == "node":
        return {}, [os.path.join(NODE_BIN, "node"), write_program(f"{directory}/launch/start.js", NODE), command]
    if launcher in ("nvm", "pyenv"):
        return {"nvm": nvm_words, "pyenv": pyenv_words}[launcher](f"{directory}/launch/{launcher}", command)
    prefix = command.partition("/node_modules/")[0]
    return {}, ["npx", "--offline", "--prefix", prefix, os.path.basename(command)]


def build(searches):
    """The smoke's steps, an own edit over an external change, and a search."""
    start, steps, end = scenario.smoke()
    start[GUARDED] = scenario.module("guarded")
    end[GUARDED] = external_edits.theirs(start[GUARDED])
    steps += [scenario.Step("own read of the guarded", ("read", GUARDED), start[GUARDED], None),
              scenario.Step("pause", ("shell", "sleep 0.5; echo paused"), [scenario.Real("paused\n")], None),
              scenario.Step("own edit over a change", ("edit", GUARDED, "value = 1", "value = 2"), None,
                            external_edits.changes_it(GUARDED, True))]
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
    verdicts = [event["verdict"] for event in events
                if event["op"] == "guarded" and journal.about(event, GUARDED, run.workspace)]
    by_itself = any(SELF_REFUSED in text for text in results_in_log(run.log).values())
    found.append(("own edit over a change", "denied", None if set(verdicts) == {"denied"} or (by_itself and not verdicts) else
                  f"it is {verdicts}"))
    if searches and os.path.exists(f"{run.directory}/launch/rg"):
        seen = list(journal.accesses(events, "read", SEARCHED, run.workspace))
        found.append(("static rg in the journal", "seen", None if seen else "not seen"))
    status = json.loads(run.ask_seen("status", "--json", "--session", run.session) or "{}").get("processes", {})
    missed = status.get("unobserved_programs", [None]) + status.get("partial_programs", [None])
    return found + [("programs not observed in full", "none", str(missed) if missed else None),
                    ("doctor's answer", "the run's", doctor_fault(run, status))]


def doctor_fault(run, status):
    """How what `seen doctor` reports of the command differs from what the run did, or None."""
    done = subprocess.run([SEEN, "doctor", "--json", "--", *run.started], cwd=run.workspace, env=run.environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    document = json.loads(done.stdout or b"{}")
    found = (document.get("program") or {}).get("coverage")
    if found is None:
        return f"it does not follow the launcher: {document.get('program')}; {done.stderr[-300:]!r}"
    other = [name for name in ("unobserved_programs", "partial_programs") if found[name] != status.get(name)]
    return f"doctor: {found}; the run: {status}" if other or done.returncode else None

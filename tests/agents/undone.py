"""What an agent destroyed, by its shell and by its own tools, and `seen undo` and `seen redo` after its run.

The workspace has work that git does not know, modes, a hard link, a symbolic link, an empty directory and old times.  The model
server copies it before each step: to these copies it is held.
"""
import os
import shlex
import stat
import subprocess
import sys

import scenario
from stage import HERE, SEEN

sys.path.insert(0, os.path.join(HERE, "../support"))
from undoing import difference, tree  # noqa: E402

# Where git itself only appends, and what `seen` leaves of it.
APPENDED = (b".git/objects", b".git/logs")
PREPARED = r"""
chmod 750 src/deep; chmod 600 src/m1.py; chmod 755 src/m2.py; mkdir empty; ln -s m1.py src/link; ln src/m3.py hard.py
echo '# not committed' >> src/m4.py; echo '# not committed' >> top.py; printf 'build\n*.log\n' > .gitignore
mkdir -p build notes; seq 100 > build/made.log; echo 'never added' > notes/plan.txt; : > nothing; head -c 200000 /dev/urandom > notes/large.bin
find . -path ./.git -prune -o -type f -print -exec touch -d 2001-02-03 {} + > .git/prepared
"""
LEFT = b"seen: node_modules"  # claude's sandbox makes one where it cleans the environment, and below it nothing is kept
# codex refuses rm -rf.
SHELL = (("rm -r", "rm -r src"),
         ("git checkout over what is not committed", "git checkout -- . && rm top.py"),
         ("sed -i over ten files", "sed -i s/brown/red/ src/m?.py && chmod 444 src/m5.py"),
         ("mv", "mv src moved && mv hard.py moved/deep/ && mkdir src && mv moved/m6.py src/"),
         ("git clean", "git clean -fdxq"))
# In place of git's commands, where .git cannot be written; and where a sandbox has mounts that cannot be removed.
BY_RM = {"git checkout over what is not committed": "mkdir src; cp whole.py src/m0.py; for i in 1 2 3 4 5 6; do cp whole.py src/m$i.py; done; mkdir src/deep; rm top.py",
         "git clean": "rm -r build notes nothing .gitignore"}


def build(agent):
    """Returns (files at the start, steps)."""
    s = scenario.Script()
    for index in range(10):
        s.files[f"src/m{index}.py"] = scenario.module(f"m{index}")
    for name in ("src/deep/inner.py", "top.py", "own.py", "whole.py", "late.py"):
        s.files[name] = scenario.module(name)
    start = dict(s.files)
    s.read("own read", "own.py")
    s.pause()
    s.edit("own edit", "own.py", "value = 1", "value = 2")
    s.pause()  # an own action ends where a command begins
    if agent.rewrites:
        s.read("own read before rewrite", "whole.py")
        s.pause()
        s.write("own rewrite", "whole.py", scenario.module("rewritten"))
        s.pause()
    s.write("own new file", "new.txt", "new\n")
    for name, command in SHELL:
        command = BY_RM.get(name, command) if agent.sandboxed else command
        s.shell(name, f"{command} && echo done", "done\n")
    s.read("own read, later", "late.py")
    s.pause()
    s.edit("own edit, later", "late.py", "value = 1", "value = 2")
    return start, s.steps


def copied(steps, workspace, directory):
    """Has the model server copy the workspace before each step."""
    os.makedirs(directory)
    for index, step in enumerate(steps):
        step.outsider = f"cp -a {shlex.quote(workspace)} {shlex.quote(directory)}/{index}"


def prepare(workspace, directory):
    subprocess.run(["bash", "-ec", PREPARED], cwd=workspace, check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["cp", "-a", workspace, f"{directory}/start"], check=True, stdin=subprocess.DEVNULL)


def state(path, times=False):
    return {name: entry for name, entry in tree(path, times).items()
            if not name.startswith(APPENDED) and (times or name != b".git")}


def is_mounted_at(path, entry):
    """Is that something empty that is never written, or a device, as a sandbox leaves in the workspace where it mounts something?"""
    if stat.S_ISDIR(entry[0]):
        return not os.listdir(path)
    return stat.S_ISCHR(entry[0]) or (stat.S_ISREG(entry[0]) and not entry[0] & 0o222 and not os.path.getsize(path))


def rows(run):
    """What undo and redo give back.  run: a Play with a session, whose steps were copied."""
    found = []
    start = f"{run.directory}/trees/start"
    first = tree(start)

    def state_of(path, times=False):
        """Without what the agent's sandbox adds."""
        return {name: entry for name, entry in state(path, times).items()
                if not run.agent.sandboxed or name in first or not (name.startswith(b"node_modules") or is_mounted_at(os.path.join(os.fsencode(path), name), entry))}

    after = state_of(run.workspace)
    copies = [f"{run.directory}/trees/{index}" for index in range(len(run.steps))]
    points = [state_of(copy) for copy in copies if os.path.isdir(copy)] + [after]
    points = [point for index, point in enumerate(points) if not index or point != points[index - 1]]

    def seen(*words):
        return subprocess.run([SEEN, *words, "--session", run.session], cwd=run.workspace, env=run.environment, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)

    def ask(name, expected, *words, times=False):
        done = seen(*words)
        other = difference(expected, state_of(run.workspace, times))
        is_whole = done.returncode == 0 or (run.agent.sandboxed and all(line.startswith(LEFT) for line in done.stderr.splitlines()))
        found.append((name, "as it was", None if is_whole and not other else
                      f"exit status {done.returncode}; {other}; {done.stderr[-300:]!r}"))
    if len(points) <= len(SHELL):
        return [("steps that changed something", f"{len(SHELL)}", f"there are {len(points) - 1}")]
    ask("undo --all --times", state_of(start, True), "undo", "--all", "--times", times=True)
    ask("redo", after, "redo")
    for count, point in enumerate(reversed(points[:-1]), 1):
        ask(f"undo --last, {count} from the end", point, "undo", "--last")
    ask("redo of the last", points[1], "redo")
    return found

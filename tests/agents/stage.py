"""The stage: gets the agents, gives each play a workspace, a home and a model, and cleans up.

For run (do agents get what they must?) and survey (what is seen of them?).
"""
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

import scenario
from agents import AGENTS, MORE, OTHER_MODELS, VARIANTS
from model_server import Call, ModelServer

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import npm_packages  # noqa: E402

CACHE = str(npm_packages.CACHE)
BUILD = os.environ.get("SEEN_BUILD") or os.path.join(HERE, "../../build/release")
SEEN = os.path.realpath(os.path.join(BUILD, "bin/seen"))
NODE_BIN = os.path.join(CACHE, "node22/node_modules/.bin")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROMPT = "Please do the scripted task in this directory."
LAST_WORD = Call(None, "All done.")
RUN_LIMIT_S = 300  # kilo takes up to two minutes
INSTALL_LIMIT_S = 600


# What is needed

def npm_install(directory, package):
    """Installs one package below CACHE/directory. Returns None, or why that cannot be."""
    npm = shutil.which("npm")
    if npm is None:
        return "no npm"
    print(f"installing {package} into {CACHE}/{directory}", flush=True)
    try:
        done = subprocess.run(
            [npm, "install", "--loglevel=error", "--no-fund", "--no-audit", "--fetch-retries=1",
             "--fetch-retry-mintimeout=1000", "--prefix", os.path.join(CACHE, directory), package],
            env={**os.environ, "PATH": f"{NODE_BIN}:{os.environ['PATH']}"}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=INSTALL_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"npm install {package} took longer than {INSTALL_LIMIT_S} s"
    if done.returncode != 0:
        first = (done.stdout.strip().splitlines() or ["no message"])[0]
        return f"npm install {package} failed: {first}"
    return None


def agent_of(spec):
    """The agent that NAME[+VARIANT][@VERSION] names, or None."""
    return {**AGENTS, **MORE, **VARIANTS, **OTHER_MODELS}.get(spec.split("@")[0])


def directory_of(spec):
    """Where it is installed: variants share it."""
    return os.path.join(CACHE, re.sub(r"\+[^@]*", "", spec))


def command_path(spec):
    return os.path.join(directory_of(spec), "node_modules/.bin", agent_of(spec).name)


def version_of(spec):
    try:
        with open(os.path.join(directory_of(spec), "node_modules", agent_of(spec).package,
                               "package.json"), encoding="utf-8") as file:
            return json.load(file)["version"]
    except (OSError, ValueError, KeyError):
        return "?"


def provide(spec):
    """Makes sure that an agent is installed. Returns None, or the reason to skip it."""
    if shutil.which("node", path=f"{NODE_BIN}:{SYSTEM_PATH}") is None:
        return "no node"
    if os.access(command_path(spec), os.X_OK):
        return None
    version = spec.partition("@")[2]
    agent = agent_of(spec)
    reason = npm_install(os.path.basename(directory_of(spec)),
                         agent.package + (f"@{version}" if version else ""))
    if reason is None and not os.access(command_path(spec), os.X_OK):
        reason = f"its package has no command {agent.name}"
    return reason


def provide_node():
    """Node 22 for npm and for the agents that are scripts. Without it the system's may do."""
    if not os.access(os.path.join(NODE_BIN, "node"), os.X_OK):
        reason = npm_install("node22", "node@22")
        if reason:
            system = shutil.which("node", path=SYSTEM_PATH)
            print(f"no Node 22 ({reason}); " + (f"using {system}" if system else "and no other"))


def prepare():
    """Once, before the first play: no network but loopback, no process that outlives its play."""
    if not leave_network():
        print("no network namespace of its own: agents could reach the network")
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def leave_network():
    """Moves this process into a network namespace with loopback only. Returns whether it did."""
    clone_newnet = 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) != 0:
        return False
    siocgifflags, siocsifflags, iff_up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = fcntl.ioctl(sock, siocgifflags, struct.pack("16sH22x", b"lo", 0))
        flags = struct.unpack("16sH22x", request)[1]
        fcntl.ioctl(sock, siocsifflags, struct.pack("16sH22x", b"lo", flags | iff_up))
    return True


# One play of the script by one agent

def make_workspace(path, files):
    for name, text in files.items():
        target = os.path.join(path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost",
           "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(git + words, cwd=path, check=True, stdin=subprocess.DEVNULL)


def workspace_faults(path, files):
    """Differences between the workspace's files and `files`, one line each."""
    found = {}
    for directory, subdirectories, names in os.walk(path):
        if ".git" in subdirectories:
            subdirectories.remove(".git")
        for name in names:
            file_path = os.path.join(directory, name)
            with open(file_path, "rb") as file:
                found[os.path.relpath(file_path, path)] = file.read()
    faults = [f"{name} holds a notice" for name, data in sorted(found.items())
              if scenario.NOTICE.encode() in data]
    for name in sorted(set(found) | set(files)):
        if name not in found:
            faults.append(f"{name} is missing")
        elif name not in files:
            faults.append(f"{name} should not be there")
        elif found[name] != files[name].encode():
            faults.append(f"{name} has other bytes than it should")
    return faults


def descendants():
    """Pids of this process's living descendants (orphans too: it is their reaper)."""
    pids, todo = [], [os.getpid()]
    while todo:
        pid = todo.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    todo += [int(child) for child in file.read().split()]
        except OSError:
            continue
        pids.append(pid)
    return pids[1:]


def kill_descendants():
    """Ends what a run left behind, within a few seconds."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        pids = descendants()
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.01)


def run_in_terminal(command, directory, environment, steps, log_path):
    """Plays a user at a terminal, and ends the command then.  What it draws goes to a file.

    steps: (is_due, words), in this order: once the first, a function, holds, and nothing was drawn for two seconds, or five have passed, the words are
    typed, with Enter behind them; "": nothing.  Returns None, or what happened instead.
    """
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.chdir(directory)
            os.execvpe(command[0], command, environment)
        finally:
            os._exit(99)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 40, 120, 0, 0))
    until, steps = time.monotonic() + RUN_LIMIT_S, list(steps)
    drawn, due = time.monotonic(), None
    with open(log_path, "wb", buffering=0) as log:
        while steps and time.monotonic() < until:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    output = os.read(fd, 65536)
                except OSError:
                    break  # it has ended
                log.write(output)
                drawn = time.monotonic()
                if b"\x1b[6n" in output:  # where is the cursor?
                    os.write(fd, b"\x1b[1;1R")
            due = due or (time.monotonic() if steps[0][0]() else None)
            if due and (time.monotonic() - drawn > 2 or time.monotonic() - due > 5):
                for part in [steps[0][1], "\r"] if steps[0][1] else []:
                    os.write(fd, part.encode())
                    time.sleep(0.5)
                del steps[0]
                due = None
    kill_descendants()
    os.close(fd)
    return f"{len(steps)} steps were not played" if steps else None


def seen_run(session, via=None, options=()):
    """The words in front of an agent's command that wrap it."""
    return [SEEN, "run", "--quiet", *(["--via", via] if via else []),
            "--session", session, "--agent-is", "inside", *options, "--"]


class Play:
    """One agent, one play of the script; its traces lie below `directory`.

    wrapper: words in front of the agent's command, as of seen_run; none for a bare play
    """

    think_s = 0  # that the model takes for each call
    least_s = 0  # that it may take, where that is more than others may

    def __init__(self, spec, directory, files, steps, wrapper=()):
        self.spec = spec
        self.agent = agent_of(spec)
        self.directory = directory
        self.files = files
        self.steps = steps
        self.wrapper = wrapper
        self.workspace = os.path.join(directory, "workspace")
        self.log = os.path.join(directory, "requests.jsonl")
        self.environment = None
        self.status = None  # exit status, or what happened instead

    def _sub(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def script(self):
        """What the model server plays."""
        return [(self.agent.call(step.operation, self.workspace), step.outsider)
                for step in self.steps] + [(LAST_WORD, None)]

    def play(self):
        home = self._sub("home")
        make_workspace(self._sub("workspace"), self.files)
        with ModelServer(self.script(), self.workspace, self.log,
                         max(self.think_s, self.agent.think_s)) as server:
            self.environment = {
                "PATH": f"{NODE_BIN}:{SYSTEM_PATH}", "HOME": home, "SHELL": "/bin/bash",
                "USER": os.environ.get("USER", "user"), "TERM": "xterm-256color",
                "LANG": "C.UTF-8", "NO_COLOR": "1", "TMPDIR": self._sub("tmp"),
                "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_DATA_HOME": f"{home}/.local/share",
                "XDG_STATE_HOME": f"{home}/.local/state", "XDG_RUNTIME_DIR": self._sub("run"),
                **self.agent.configure(home, self.workspace, server.url)}
            self._run([*self.wrapper, *self.command(), *self.agent.arguments(PROMPT)])

    def command(self):
        """The words that start the agent."""
        return [command_path(self.spec)]

    def _run(self, command):
        limit_s = max(RUN_LIMIT_S, self.least_s)
        with open(f"{self.directory}/stdout", "wb") as out, open(f"{self.directory}/stderr", "wb") as err:
            process = subprocess.Popen(command, cwd=self.workspace, env=self.environment,
                                       stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
            try:
                self.status = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.status = f"still running after {limit_s} s"
            finally:
                kill_descendants()

    def ask_seen(self, *words):
        """What `seen WORDS...` prints, which is kept in the directory too; None if it fails."""
        try:
            done = subprocess.run([SEEN, *words], cwd=self.workspace, env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode != 0:
            return None
        with open(f"{self.directory}/{words[0]}.json", "wb") as file:
            file.write(done.stdout)
        return done.stdout.decode()

    def install_hooks(self):
        """Of the agent.  Raises where that fails: a play without them says nothing of them."""
        subprocess.run([SEEN, "hooks", "install", self.agent.name], cwd=self.workspace, env=self.environment, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=RUN_LIMIT_S, check=True)

    def said_last_word(self):
        with open(f"{self.directory}/stdout", "rb") as file:
            return LAST_WORD.argument.encode() in file.read()

"""Plays shell commands bare or under `seen run`, so that what they give can be compared.

As a program it reads commands from its standard input, as JSON lines, and answers on descriptor 3.  It is this process that is started bare or under seen, so that all
ways differ by that alone.  Its name, player.py, is the agent's, where a way says so.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SEEN_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SEEN_BUILD") or os.path.join(SOURCE, "build", "release")
SEEN = os.path.join(BUILD, "bin", "seen")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def play():
    """Runs steps until the end of standard input."""
    answers = os.fdopen(3, "w", buffering=1)
    os.set_inheritable(3, False)
    for line in sys.stdin:
        step = json.loads(line)
        process = subprocess.Popen(["bash", "-c", step["command"]], cwd=step["directory"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=step["seconds"])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += b"player: out of time\n"
        answers.write(json.dumps({"status": process.returncode, "out": out.decode("latin-1"), "err": err.decode("latin-1")}) + "\n")


class Player:
    """Commands, one behind the other, bare or under seen: with all that they write to in the workspace, so that it is kept for undo.

    options: of `seen run`; None: bare.  directory: the workspace; it gets home, tmp and what the session has.
    environment: variables beside those of every player."""

    kept_bytes = 0  # of all

    def __init__(self, options, directory, environment):
        self.home = tempfile.mkdtemp(prefix="home.", dir=directory)
        run = os.path.join(self.home, "run")
        os.mkdir(run, 0o700)
        words = [sys.executable, os.path.abspath(__file__)]
        env = {"PATH": PATH, "HOME": os.path.join(directory, "home"), "LANG": "C.UTF-8", "TERM": "xterm", "TZ": "UTC",
               "TMPDIR": os.path.join(directory, "tmp"), **environment}
        shutil.rmtree(env["TMPDIR"], ignore_errors=True)
        shutil.rmtree(env["HOME"], ignore_errors=True)
        os.mkdir(env["TMPDIR"])
        os.mkdir(env["HOME"])
        if options is not None:
            words = [SEEN, "run", "--quiet", "--runtime-dir", run, "--state-dir", os.path.join(self.home, "state"),
                     "--workspace", directory, *options, "--", *words]
        self.steps, write_end = os.pipe()
        theirs, self.answers = os.pipe()
        self.process = subprocess.Popen(["bash", "-c", 'exec "$@" 3>&1 1>&2', "player", *words], env=env, stdin=self.steps,
                                        stdout=self.answers, cwd=directory)
        os.close(self.steps)
        os.close(self.answers)
        self.steps = os.fdopen(write_end, "w", buffering=1)
        self.answers = os.fdopen(theirs, "r")

    def run(self, command, directory, seconds):
        self.steps.write(json.dumps({"command": command, "directory": directory, "seconds": seconds}) + "\n")
        line = self.answers.readline()
        return json.loads(line) if line else {"status": None, "out": "", "err": "player: it is gone\n"}

    def close(self):
        self.steps.close()
        self.process.wait()
        self.answers.close()
        for path in glob.glob(os.path.join(self.home, "state", "*", "undo", "*.part")):
            Player.kept_bytes += os.stat(path).st_blocks * 512
        shutil.rmtree(self.home, ignore_errors=True)


if __name__ == "__main__":
    play()

"""Real agents that work as deaths.py does: a model server asks them for the same commands.  tests/agents has both."""
import contextlib
import fcntl
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

import deaths
from harness import NOTICE, SEEN

sys.path.append(str(pathlib.Path(__file__).parent.parent / "agents"))
import stage  # noqa: E402

COMMANDS, LIMIT_S = 25, 120  # of one run: one whose supervisor and guardian are both killed may hang


def installed(names):
    return [name for name in names if os.access(stage.command_path(name), os.X_OK)]


class RealAgent(threading.Thread):
    """Runs one in a directory, anew as often as it ends, until it is stopped.  What must not be goes to a report."""

    def __init__(self, name, words, session, directory, pool, locks, report, seed):
        """words: what stands before the agent's command."""
        super().__init__(daemon=True)
        self.agent, self.words, self.session, self.directory = stage.agent_of(name), [*words, stage.command_path(name)], session, directory
        self.pool, self.locks, self.report = pool, locks, report
        self.chance = random.Random(seed)
        self.mark = "SOAK_AGENT=%d.%s" % (os.getpid(), directory)
        self.is_over, self.process, self.runs, self.commands = False, None, 0, 0

    def run(self):
        while not self.is_over:
            self.given, self.asked, self.call = deaths.Deliveries(NOTICE, SEEN), -1, None
            with contextlib.ExitStack() as self.held:
                self.play()
            self.runs += 1

    def next_call(self, results):
        """The next command, below the lock that is held until its result comes."""
        if len(results) == self.asked:  # asked for once more
            return self.call, None
        if self.call:
            output = self.agent.bare_result(results[-1]).encode()
            deaths.note(self.report, self.given.judge(self.shell_words, output if output.endswith(b"\n") else output + b"\n", self.directory))
            self.commands += 1
        self.held.close()
        self.asked, self.call = len(results), None
        if len(results) >= COMMANDS or self.is_over:
            return stage.LAST_WORD, None
        self.held.enter_context(deaths.held(self.locks, fcntl.LOCK_SH, os.path.basename(self.directory)))
        self.shell_words = deaths.command(self.chance, self.pool, deaths.COMMANDS + deaths.AMONG_OTHERS, forget=SEEN + " forget --all")
        self.call = self.agent.shell(self.directory, self.shell_words)
        return self.call, None

    def play(self):
        home = self.session.directory
        with stage.ModelServer(self.next_call, self.directory, os.path.join(home, "requests." + self.agent.name)) as server:
            environment = {**self.session.environment, "PATH": "%s:%s" % (stage.NODE_BIN, stage.SYSTEM_PATH), "SHELL": "/bin/bash", "USER": "user", "NO_COLOR": "1",
                           **dict([self.mark.split("=", 1)]), **self.agent.configure(home, self.directory, server.url)}
            self.process = subprocess.Popen([*self.words, *self.agent.arguments(stage.PROMPT)], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(LIMIT_S)
            self.finish()
            if deaths.died_by_fault(self.process.returncode):
                deaths.note(self.report, ["%s: ended with %d" % (self.agent.name, self.process.returncode)])

    def finish(self):
        """Nothing of it lives on, whichever its parent is by now."""
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                process = os.pidfd_open(int(number))
                try:
                    if self.mark.encode() in pathlib.Path("/proc", number, "environ").read_bytes().split(b"\0") and not pathlib.Path("/proc", number, "comm").read_text().startswith("seen-"):
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                finally:
                    os.close(process)
        self.process.wait()

    def stop(self):
        self.is_over = True
        if self.process and self.process.poll() is None:
            self.finish()
        self.join()

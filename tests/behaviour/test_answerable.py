"""Why nothing was answered: who the agent is, what it starts and reads without a shell, and who did its work elsewhere."""
import os
import shutil
import subprocess
import sys
import unittest

from harness import SessionTest, lines

SHOWS = "import subprocess\nfor _ in range(3): subprocess.run([%s], stdout=subprocess.PIPE)\n"
IN_SHELLS = SHOWS % "'bash', '-c', 'cat f'"


class Case(SessionTest):
    def setUp(self):
        super().setUp()
        self.session.write("f", lines("f"))
        self.tools = os.path.join(self.session.directory, "tools")
        os.mkdir(self.tools)

    def script(self, name, text, interpreter=sys.executable):
        path = os.path.join(self.tools, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!%s\n%s" % (interpreter, text))
        os.chmod(path, 0o755)
        return path

    def last_lines(self, *words, options=()):
        """What a run says at its end."""
        done = self.session.seen("run", "--counts", "--session", "test", *options, "--", *words)
        return [line for line in done.stderr.decode().splitlines() if line.startswith("seen: ")]

    def found(self, text, among):
        return [line for line in among if text in line]


class Names(Case):
    def answers(self, agent, *words):
        self.runs = getattr(self, "runs", 0) + 1
        name = "run-%d" % self.runs
        text = self.session.seen("run", "--counts", "--session", name, "--agent", agent, "--", *words).stderr.decode()
        return ", 0 notices" not in text

    def test_endings(self):
        """A name is taken with or without its ending, and as a path."""
        agent = self.script("agent.py", IN_SHELLS)
        for name in "agent.py", "agent", "tools/agent.py", agent:
            with self.subTest(name):
                self.assertTrue(self.answers(name, sys.executable, agent))
        shutil.copy(agent, os.path.join(self.tools, "agent.cjs"))
        self.assertTrue(self.answers("agent.cjs", os.path.join(self.tools, "agent.cjs")))
        shell = self.script("work.sh", "for i in 1 2; do x=$(bash -c 'cat f'); done\n", "/bin/bash")
        for name in "work.sh", "work":
            self.assertTrue(self.answers(name, shell))

    def test_hidden_behind_a_launcher(self):
        """As kilo and cline are installed: the launcher starts the program `.kilo` beside it."""
        self.script(".launched", IN_SHELLS)
        launcher = self.script("launched", "import os, subprocess, sys\n"
                               "subprocess.run([os.path.join(os.path.dirname(sys.argv[0]), '.launched')])\n")
        self.assertTrue(self.answers("launched", launcher))


class Said(Case):
    def test_no_agent(self):
        agent = self.script("stranger.py", IN_SHELLS)
        self.assertEqual(self.found("agent", self.last_lines(agent))[-1],
                         "seen: no agent was found: name the program that asks the model by --agent NAME; started here: stranger")

    def test_nothing_to_report(self):
        """Builds, and commands that ask no program."""
        self.session.write("Makefile", b"A := $(shell cat f)$(shell cat f)$(shell cat f)\nall:\n\t@cat f f f > g; cat g > h\n")
        for words in (["true"], ["sh", "-c", "cat f | wc -c; x=$(cat f); y=$(cat f)"], *([["make", "-s"]] if shutil.which("make") else [])):
            with self.subTest(words[0]):
                end = self.last_lines(*words, options=("--agent-is", "inside"))
                self.assertEqual(self.found("--agent", end) + self.found("not answered", end), [])

    def test_without_a_shell(self):
        agent = self.script("agent", SHOWS % "'cat', 'f'")
        end = self.last_lines(agent, options=("--agent", "agent"))
        self.assertEqual(self.found("not answered", end),
                         ["seen: not answered: 3 cats that the agent started itself; only what a shell runs for it is"])

    def test_by_its_own_code(self):
        agent = self.script("agent", "import time\nfor _ in range(3):\n    open('f', 'rb').read()\n    time.sleep(0.3)\n")
        end = self.last_lines(agent, options=("--agent", "agent"))
        self.assertRegex("\n".join(end), r"not answered: [12] files? that the agent's own code read again; only")


class Elder(Case):
    def test_named(self):
        """One that was there before, and takes connections; not one that takes none, nor one of another name."""
        socket_path = os.path.join(self.session.directory, "s")
        self.session.environment["SEEN_PROCESSES_AGENTS"] = "daemon-agent other"
        agent = self.script("daemon-agent", "import socket, sys, time\nif len(sys.argv) > 1:\n    s = socket.socket(socket.AF_UNIX)\n    s.bind(sys.argv[1])\n"
                            "    if len(sys.argv) > 2: s.listen()\n    print(flush=True)\n    time.sleep(60)\n")
        for words, named in ([socket_path], False), ([socket_path + "2", "listen"], True):
            elder = subprocess.Popen([agent, *words], stdout=subprocess.PIPE)
            try:
                elder.stdout.read(1)
                found = self.found("was running before this run", self.last_lines(agent))
                self.assertEqual(bool(self.found("pid %d" % elder.pid, found)), named)
                self.assertEqual(self.found("pid %d" % elder.pid, self.last_lines(self.script("other", ""))), [])
                if named:
                    codex = self.session.seen("doctor", "--", self.script("codex", ""), check=False).stdout.decode()
                    self.assertIn("daemon: none runs; at a terminal codex hands its work to one", codex)
                    self.assertIn("`codex --no-daemon` has none", codex)
                    text = self.session.seen("doctor", "--", agent, check=False).stdout.decode()
                    self.assertIn("daemon-agent (pid %d) is running and takes connections" % elder.pid, text)
            finally:
                elder.kill()
                elder.wait()
                elder.stdout.close()


if __name__ == "__main__":
    unittest.main()

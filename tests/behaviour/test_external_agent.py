"""The agent outside the run: single commands, a terminal, a harness; and the library without the command."""

import os
import pty
import select
import subprocess
import unittest

from harness import LIBRARY, NOTICE, RUN, Session, lines, needs_library


class ExternalAgent(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.data = self.session.write("f", lines("f"))

    def command(self, *words, session="s"):
        return [*RUN, "--quiet", "--session", session, *words]

    def piped(self, *words, environment=None, **more):
        result = subprocess.run(self.command(*words, **more), cwd=self.session.workspace, stdin=subprocess.DEVNULL,
                                env={**self.session.environment, **(environment or {})}, stdout=subprocess.PIPE, timeout=30)
        return result.stdout

    def terminal(self, *words, typed=None, **more):
        """Runs it on a terminal of its own; returns what appeared there."""
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(self.session.workspace)
            command = self.command(*words, **more)
            os.execve(command[0], command, self.session.environment)
        data = b""
        while typed and b"$ " not in data:  # it reads what is typed only then
            data += os.read(master, 65536)
        for line in typed or ():
            shown = len(data)
            os.write(master, line.encode() + b"\n")
            while line != typed[-1] and b"$ " not in data[shown:].partition(line.encode())[2]:  # the prompt behind its echo
                data += os.read(master, 65536)
        while True:
            ready, _, _ = select.select([master], [], [], 30)
            try:
                part = os.read(master, 65536) if ready else b""
            except OSError:
                part = b""
            if not part:
                break
            data += part
        os.waitpid(pid, 0)
        os.close(master)
        return data.replace(b"\r\n", b"\n")

    def assertGiven(self, output, count=1):
        """The content once (then `count` - 1 notices), in one output."""
        self.assertEqual(output.count(self.data), 1, output[:300])
        self.assertEqual(output.count(NOTICE), count - 1, output[-300:])

    def test_terminal(self):
        self.assertGiven(self.terminal("--", "bash", "-c", "cat f; cat f"), 2)

    def test_terminal_viewer_as_root(self):
        self.assertGiven(self.terminal("--", "cat", "f"), 1)
        output = self.terminal("--", "cat", "f")
        self.assertTrue(output.startswith(NOTICE + b"f."), output)

    def test_terminal_interactive_shell(self):
        self.session.environment["PS1"] = "$ "
        output = self.terminal("--", "bash", "--norc", "-i", typed=["PS1='$ '", "cat f", "cat f", "cat f | wc -c > count", "exit"])
        self.assertGiven(output, 2)
        self.assertEqual(self.session.read("count").strip(), b"%d" % len(self.data))

    def test_terminal_sinks(self):
        self.assertGiven(self.terminal("--", "bash", "-c", "cat f; cat f > g; cat f | gzip > h.gz; cmp f g && zcat h.gz | cmp - f && echo same"))
        self.assertEqual(self.session.read("g"), self.data)

    def test_pipe_without_the_word(self):
        for _ in range(2):
            self.assertEqual(self.piped("--", "bash", "-c", "cat f; cat f"), self.data * 2)
            self.assertEqual(self.piped("--", "cat", "f"), self.data)

    def test_pipe_with_the_word(self):
        self.assertGiven(self.piped("--agent-is", "outside", "--", "bash", "-c", "cat f; cat f"), 2)

    def test_separate_commands_of_one_session(self):
        self.assertEqual(self.piped("--agent-is", "outside", "--", "cat", "f"), self.data)
        self.assertTrue(self.piped("--agent-is", "outside", "--", "bash", "-c", "cat f").startswith(NOTICE))
        self.assertEqual(self.piped("--agent-is", "outside", "--", "cat", "f", session="other"), self.data)

    def test_word_in_the_environment(self):
        said = {"SEEN_AGENT_IS": "outside"}
        self.assertEqual(self.piped("--", "bash", "-c", "cat f", environment=said), self.data)
        self.assertTrue(self.piped("--", "bash", "-c", "cat f", environment=said).startswith(NOTICE))

    def test_scopes_by_name(self):
        one, two = {"SEEN_SCOPE": "one"}, {"SEEN_SCOPE": "two"}
        words = ("--agent-is", "outside", "--", "cat", "f")
        self.assertEqual(self.piped(*words, environment=one), self.data)
        self.assertEqual(self.piped(*words, environment=two), self.data)
        self.assertTrue(self.piped(*words, environment=one).startswith(NOTICE))
        self.assertTrue(self.piped(*words, environment=two).startswith(NOTICE))
        self.assertEqual(self.piped(*words), self.data)

    def test_file_as_output_never(self):
        for flags in (os.O_TRUNC, os.O_APPEND):
            path = os.path.join(self.session.directory, "out")
            for _ in range(2):
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
                subprocess.run(self.command("--agent-is", "outside", "--", "bash", "-c", "cat f"), stdout=fd, check=True,
                               cwd=self.session.workspace, env=self.session.environment)
                os.close(fd)
            with open(path, "rb") as file:
                self.assertNotIn(NOTICE, file.read())
            os.unlink(path)

    def test_loop_with_a_prompt(self):
        """`while …; do cat PROMPT.md | agent; done` as the root: the agent reads the prompt, not a notice."""
        agent = os.path.join(self.session.directory, "claude")
        with open(agent, "w") as file:
            file.write("#!/bin/sh\ncat > got.$1\n")
        os.chmod(agent, 0o755)
        loop = "for i in 1 2 3; do cat f | %s $i; done" % agent
        for words in (("--", "bash", "-c", loop), ("--agent-is", "outside", "--", "bash", "-c", loop)):
            self.terminal(*words)
            self.piped(*words)
            for number in "123":
                self.assertEqual(self.session.read("got." + number), self.data)

    @needs_library("it is preloaded without `seen run`")
    def test_without_the_command(self):
        environment = {**self.session.environment, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": "named", "SEEN_AGENT_IS": "outside"}
        run = lambda **more: subprocess.run(["bash", "-c", "cat f"], cwd=self.session.workspace, env={**environment, **more},
                                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
        self.assertEqual(run(), self.data)
        self.assertTrue(run().startswith(NOTICE))
        self.assertEqual(run(SEEN_AGENT_IS="inside"), self.data)
        self.assertEqual(run(SEEN_SESSION_MODE="off"), self.data)
        self.assertEqual(run(SEEN_SESSION=""), self.data)
        # stale ticket: no root, nothing is answered
        self.assertEqual(run(SEEN_P="1:0:12345"), self.data)
        self.assertEqual(run(SEEN_P="nonsense"), self.data)

    @needs_library("it is preloaded without `seen run`")
    def test_without_a_session(self):
        environment = {**self.session.environment, "LD_PRELOAD": LIBRARY}
        before = sorted(os.listdir(self.session.directory))
        for _ in range(2):
            output = subprocess.run(["bash", "-c", "cat f; cat f"], cwd=self.session.workspace, env=environment, stdout=subprocess.PIPE).stdout
            self.assertEqual(output, self.data * 2)
        self.assertEqual(sorted(os.listdir(self.session.directory)), before)


if __name__ == "__main__":
    unittest.main()

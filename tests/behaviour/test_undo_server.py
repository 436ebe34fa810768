"""undo while a dev server writes all the time: what the server wrote stays, and the steps come back.

The server (support/dev_server.py) keeps in mind what each of its files holds, and tells what is otherwise.  A session does not see it, or
one of its steps started it.
"""
import fcntl
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import unittest

from harness import LONG, Session, short_form_by, wait_until
from undoing import Tree, difference, tree

SERVER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support", "dev_server.py")
ROUNDS = int(os.environ.get("SEEN_TEST_UNDO_ROUNDS", "300" if LONG else "24"))


@short_form_by("preload")
class DevServer(unittest.TestCase):
    # git ignores `dist` and *.log; what a step removes of the server's, the server writes anew
    STEPS = ("sed -i s/line/LINE/ src/*.c", "rm -rf src/old; echo new > src/new.c", "echo x >> src/a.c; mv src/b.c src/c.c", "rm -rf dist", "git clean -qfdx",
             "rm -f src/*.c; git checkout -q -- src", "mkdir -p src/d/e; cp src/a.c src/d/e; chmod 600 src/a.c", "ln -f src/a.c src/hard; rm -rf src/old/deep",
             "touch src/live/agent; rm -rf src/live; rm -f state.db")
    SERVED = ("dist", "src/live", "server.log", "state.db")

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        for name in ("src/a.c", "src/b.c", "src/old/o.c", "src/old/deep/p.c", "build/static.js"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, b"line of %s\n" % name.encode() * 30)
        self.session.write(".gitignore", b"dist/\nbuild/\n*.log\n")
        for words in ("init", "-q"), ("add", "-A"), ("-c", "user.name=u", "-c", "user.email=u@example", "commit", "-qm", "first"):
            subprocess.run(["git", *words], cwd=self.session.workspace, env=self.session.environment, check=True)
        self.report = os.path.join(self.session.directory, "report")
        self.lock = open(os.path.join(self.session.directory, "lock"), "w")
        self.addCleanup(self.lock.close)
        self.command = [sys.executable, "-I", "-S", SERVER, self.session.workspace, self.lock.name, self.report]
        self.reader = Tree(self.session.workspace, apart=[b".git", *map(os.fsencode, self.SERVED)])
        self.chance = random.Random(int(os.environ.get("SEEN_TEST_UNDO_SEED", "1")))

    def tree(self):
        """What the steps alone change."""
        return self.reader.read(times=False)

    def step(self, agent, command):
        """What a step reads and then removes the server may not write in between."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            agent.shell(command + "; echo x >> src/mark")  # each changes something
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def call(self, *words, codes=(0, 12)):
        result = self.session.seen(*words, "--session", self.session.name, check=False)
        self.assertIn(result.returncode, codes, (words, result.stdout, result.stderr))
        return result

    def assertServed(self, stop):
        """It found all as it had left it, but for what a step had removed."""
        stop()
        wait_until(lambda: os.path.exists(self.report))
        with open(self.report) as file:
            report = json.load(file)
        self.assertEqual(report["wrong"], [])
        self.assertGreater(report["writes"], 20)

    def test_of_another_terminal(self):
        server = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until(lambda: all(os.path.exists(self.session.path(name)) for name in self.SERVED))
        agent = self.session.agent()
        for number in range(1, ROUNDS + 1):
            before, command = self.tree(), self.chance.choice(self.STEPS)
            self.step(agent, command)
            after = self.tree()
            # Of one step: behind several, what the server wrote between two that removed its file would be older.
            self.call("undo", *self.chance.choice((("--last",), ("--step", str(number)), ("--since", str(number)))))
            self.assertEqual(difference(before, self.tree()), [], command)
            if self.chance.random() < 0.7:
                self.call("redo")
                self.assertEqual(difference(after, self.tree()), [], command)
        agent.close()
        self.assertServed(server.terminate)

    def test_of_a_step(self):
        """While it runs nothing is undone without --force; that takes back what is named alone."""
        before = tree(self.session.workspace, False, (b"index", b"logs"))
        agent = self.session.agent()
        agent.shell("%s > /dev/null 2>&1 < /dev/null & echo $! > ../pid" % shlex.join(self.command))
        with open(os.path.join(self.session.directory, "pid")) as file:
            pid = int(file.read())
        self.addCleanup(kill, pid)
        wait_until(lambda: all(os.path.exists(self.session.path(name)) for name in self.SERVED))
        for number, command in enumerate(self.STEPS[:3], 2):
            trees = [self.tree()]
            self.step(agent, command)
            trees.append(self.tree())
            result = self.call("undo", "--last", codes=(12,))
            self.assertIn(b"step 1 still runs", result.stderr)
            self.assertEqual(difference(trees[1], self.tree()), [])
            self.call("undo", "--step", str(number), "--force", codes=(0,))
            self.assertEqual(difference(trees[0], self.tree()), [])
            self.call("redo", "--force", codes=(0,))
            self.assertEqual(difference(trees[1], self.tree()), [])
        self.assertServed(lambda: os.kill(pid, signal.SIGTERM))
        agent.close()
        self.call("undo", "--all", codes=(0,))
        self.assertEqual(difference(before, tree(self.session.workspace, False, (b"index", b"logs"))), [])


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    unittest.main()

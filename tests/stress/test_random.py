"""A random agent against a model: no notice for bytes that were not given whole, in that version, scope,
epoch and window, and no notice anywhere but at the capture.

The model is written from docs/DESIGN.md and knows nothing of the tracker: it keeps, for each agent, what
was printed whole.  Steps are real commands of real processes.  SEEN_STEPS sets their number (default
2,000; 100,000 with SEEN_LONG), SEEN_SEED the sequence.
"""

import os
import random
import unittest

from harness import NOTICE, SessionTest, lines

STEPS = int(os.environ.get("SEEN_STEPS") or (100000 if os.environ.get("SEEN_LONG") else 2000))
SEED = int(os.environ.get("SEEN_SEED") or 20261121)
WINDOW, INSIST, WINDOW_BYTES = 12, 4, 60000
LIMIT, MIN, MAX = 24000, 512, 24000


class Scope:
    """What one agent was given, by the rules."""

    def __init__(self):
        self.request = 0
        self.given_bytes = 0
        self.given = {}  # file content -> (request, bytes then)


class RandomTest(SessionTest):
    def test_against_a_model(self):
        self.random = random.Random(SEED)
        self.notices = self.reals = self.false = 0
        options = ("-c", "window.requests=%d" % WINDOW, "-c", "notice.insist_requests=%d" % INSIST,
                   "-c", "window.bytes=%d" % WINDOW_BYTES)
        self.agents = [self.session.agent(*options) for _ in range(2)]
        self.scopes = [Scope() for _ in self.agents]
        self.files = ["f%d" % number for number in range(6)]
        self.contents = {}
        for name in self.files:
            self.contents[name] = self.session.write(name, self.content())
        spool = os.path.join(self.session.spool, "s")
        for step in range(STEPS):
            self.step(step, spool)
        for agent in self.agents:
            self.assertEqual(agent.close(), 0)
        print("%d steps, seed %d: %d notices, %d outputs without, %d false notices" % (STEPS, SEED, self.notices, self.reals, self.false))
        self.assertGreater(self.notices, STEPS // 50)

    def content(self):
        kind = self.random.random()
        if kind < 0.05:
            return b"short\n"
        if kind < 0.1:
            return lines(self.random.random(), 1200)
        if kind < 0.15:
            return bytes(self.random.randrange(256) for _ in range(900)) + b"\0\n"
        return lines(self.random.random(), self.random.choice((30, 60, 200, 300)))

    def step(self, step, spool):
        choice = self.random.random()
        which = self.random.randrange(len(self.agents))
        if choice < 0.55:
            self.cat(step, which, spool)
        elif choice < 0.75:
            self.sink(step, which)
        elif choice < 0.93:
            self.write(which)
        elif choice < 0.97:
            self.forget(which)
        else:
            self.partial(step, which)

    def cat(self, step, which, spool):
        """Some files, at the capture."""
        names = [self.random.choice(self.files) for _ in range(self.random.choice((1, 1, 1, 1, 2, 3)))]
        form = self.random.choice(("cat {}", "cat ./{}", "cat {}; true", "(cat {})", "bash -c 'cat {}'", "echo {} | xargs cat"))
        one_by_one = self.random.random() < 0.3
        command = "; ".join(form.format(name) for name in names) if one_by_one else form.format(" ".join(names))
        sink = self.random.choice(("pipe", "socket", "pty", "spool:%s.%d" % (spool, step)))
        output = self.agents[which].shell(command, sink)
        if sink.startswith("spool"):
            os.unlink(sink[6:])
        scope = self.scopes[which]
        if one_by_one:
            sizes = 0
            pending = []
            for name in names:
                scope.request += 1
                output = self.check(step, scope, name, output, pending, limit=True)
            self.deliver(scope, pending)
        else:
            scope.request += 1
            pending = []
            for name in names:
                output = self.check(step, scope, name, output, pending)
            self.deliver(scope, pending)
        self.assertEqual(output, b"", (step, command))

    def deliver(self, scope, pending):
        """A command's files count when the whole command kept to the limit."""
        size = sum(length for _, length, _ in pending)
        for content, _, request in pending:
            if content is not None and size <= LIMIT:
                scope.given[content] = (request, scope.given_bytes)

    def check(self, step, scope, name, output, pending, limit=False):
        """Takes a file's content or its notice off the front of the output, and judges a notice."""
        content = self.contents[name]
        if output.startswith(content):
            self.reals += 1
            scope.given_bytes += len(content)
            pending.append((content, len(content), scope.request))
            return output[len(content):]
        self.assertTrue(output.startswith(NOTICE), (step, name, output[:80]))
        notice, rest = output.split(b"\n", 1)
        pending.append((None, len(notice) + 1, scope.request))
        scope.given_bytes += len(notice) + 1
        self.notices += 1
        given = scope.given.get(content)
        # earlier in this same command it may have been given too, by another process
        for other, _, request in pending:
            if other == content and request < scope.request:
                given = (request, scope.given_bytes - len(content))
        good = given is not None and scope.request - given[0] <= WINDOW and MIN <= len(content) <= MAX and b"\0" not in content
        # bytes: what was given behind it and before this notice
        good = good and scope.given_bytes - len(notice) - 1 - given[1] <= WINDOW_BYTES + len(content)
        if not good:
            self.false += 1
            self.fail("step %d: false notice for %s: given %r, now request %d" % (step, name, given, scope.request))
        return rest

    def sink(self, step, which):
        """The same files, anywhere but at the capture: always the real bytes."""
        name = self.random.choice(self.files)
        content = self.contents[name]
        form = self.random.choice(("cat {0} | cat", "cat {0} > copy; cat copy | cat", "printf '%s' \"$(cat {0} | base64)\" | base64 -d",
                                   "cat {0} | tee copy > /dev/null; cat < copy", "cp {0} copy; cat < copy", "cat < {0}",
                                   "cat <(cat {0})", "cat {0} >> log; tail -c {1} log | cat; rm log"))
        output = self.agents[which].shell(form.format(name, len(content)))
        self.scopes[which].request += form.count("cat {0}") + form.count("cat copy") + form.count("tail")
        self.scopes[which].given_bytes += 0 if form.endswith(("| cat", "-d", "rm log")) else len(content)
        if NOTICE in output:
            self.false += 1
        self.assertEqual(output, content, (step, form, name))

    def write(self, which):
        """Somebody changes a file: the agent's shell or an outsider; often to what it was before."""
        name = self.random.choice(self.files)
        path = self.session.path(name)
        old = self.contents[name]
        new = self.random.choice((old, old, self.content(), self.content(), old[:-2] + b"X\n", self.contents[self.random.choice(self.files)]))
        way = self.random.randrange(4)
        if way == 0:
            self.session.write(name, new)
        elif way == 1:
            stat = os.stat(path)
            self.session.write(name, new)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        elif way == 2:
            self.session.write("temporary", new)
            os.rename(self.session.path("temporary"), path)
        else:
            self.session.write("temporary", new)
            self.agents[which].shell("rm %s; dd if=temporary of=%s status=none; rm temporary" % (name, name))
        self.contents[name] = new

    def forget(self, which):
        if self.random.random() < 0.3:
            self.session.seen("forget", "--session", "test", "--all")
            for scope in self.scopes:
                scope.given.clear()
            return
        name = self.random.choice(self.files)
        # a path that was never read is not on record
        self.session.seen("forget", "--session", "test", name, check=False)
        # what was forgotten is the file; the model knows contents, and equal contents may be in two files
        alike = [other for other in self.files if other != name and self.contents[other] == self.contents[name]]
        if not alike:
            for scope in self.scopes:
                scope.given.pop(self.contents[name], None)

    def partial(self, step, which):
        name = self.random.choice(self.files)
        output = self.agents[which].shell("head -c 100 %s" % name)
        self.scopes[which].request += 1
        self.scopes[which].given_bytes += len(output)
        self.assertEqual(output, self.contents[name][:100], step)


if __name__ == "__main__":
    unittest.main()

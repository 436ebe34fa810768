"""Who belongs to whom below the supervisor: children that outlive what they were forked from, programs by unusual names, starts that
fail, agents that start their shells in ways of their own.  By each mechanism, with the same expectations."""

import gzip
import json
import os
import shutil
import subprocess
import unittest

from harness import BUILD, NOTICE, RUN, VIA, Session, SessionTest, lines, wait_until

HELPERS = os.path.join(BUILD, "tests", "programs", "helpers")
STATIC_CAT = os.path.join(BUILD, "tests", "programs", "viewers", "reads", "cat")
root_only = unittest.skipUnless(os.geteuid() == 0, "for root only")
needs_static = unittest.skipUnless(os.path.exists(STATIC_CAT), "no musl-gcc")
needs_supervisor = unittest.skipIf(VIA == "preload", "nothing sees a static program")


def helper(name):
    return os.path.join(HELPERS, name)


class Case(SessionTest):
    def setUp(self):
        super().setUp()
        self.data = self.session.write("f", lines("f"))

    def stop(self):
        """Ends the run; returns its journal, whole then."""
        self.agent.close()
        text = self.session.seen("log", "--json", "--session", "test").stdout
        return [json.loads(line) for line in text.splitlines()]


@unittest.skipUnless(shutil.which("gzip"), "no gzip")
class LeftBehind(Case):
    """A child that made no call yet has another parent by now: the agent.  What it starts is not the agent's."""

    SCRIPT = "cat f; sleep 0.2; cat f"

    def leaves(self, *words):
        return [helper("leaves_a_child"), self.session.path("go"), self.session.path("packed"), self.SCRIPT, *words]

    def packed(self):
        try:
            return gzip.decompress(self.session.read("packed"))
        except (EOFError, gzip.BadGzipFile):
            return b""

    def check(self):
        """The agent is known as one by now, and was given the file."""
        self.assertEqual(self.agent.shell("cat f"), self.data)
        self.session.write("go", b"")
        wait_until(self.packed)
        self.assertEqual(self.packed(), self.data * 2)
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_wrapper_becomes_the_agent(self):
        self._agent = self.session.agent(prefix=self.leaves())
        self.addCleanup(self._agent.close)
        self.check()

    def test_agent_takes_over_a_child(self):
        self.agent.ask(do="subreaper")
        self.agent.run(self.leaves())
        self.check()


@needs_static
@needs_supervisor
class Names(Case):
    """Programs by names that mean something else as text."""

    def check(self, name):
        """A shell becomes that program: it no longer counts as a shell."""
        directory = os.path.join(self.session.directory, "other")
        os.makedirs(directory + "/sub")
        os.mkdir(directory + "/bin")
        shutil.copy(STATIC_CAT, directory + "/bin/cat")
        os.symlink(directory + "/sub", self.session.path("link"))
        self.assertReal(self.agent.shell("exec %s f" % name), self.data)
        self.assertNotice(self.agent.shell("exec %s f" % name), "f")
        events = self.stop()
        starts = [event["number"] for event in events if event["op"] == "exec" and event["path"].endswith(name)]
        self.assertEqual(len(starts), 2)
        self.assertEqual([event["role"] for event in events if event["op"] == "open" and event["path"] == "f"], ["viewer"] * 2)
        self.assertEqual([event for event in events if event["op"] == "exec_failed" and event["exec"] in starts], [])
        self.assertEqual(self.session.status()["processes"]["unobserved"], 0)
        return {event["resolved"] for event in events if event["number"] in starts}

    def test_behind_a_link(self):
        self.check("link/../bin/cat")

    def test_behind_a_link_in_proc(self):
        resolved = self.check("/proc/self/cwd/../other/bin/cat")
        if VIA == "supervise":
            self.assertEqual(resolved, {os.path.join(self.session.directory, "other/bin/cat")})

    @root_only
    def test_other_root(self):
        """A program that is there only in another root has its own name, and is no viewer since its starter was one."""
        below = os.path.join(self.session.directory, "root")
        os.makedirs(os.path.join(below, "only"))
        for name in ("only/peculiar", "only/cat"):
            shutil.copy(STATIC_CAT, os.path.join(below, name))
        shutil.copy(self.session.path("f"), os.path.join(below, "only/g"))
        data = self.session.read("f")
        for _ in range(2):
            self.assertEqual(self.agent.shell("chroot ../root /only/peculiar /only/g"), data)
        self.assertEqual(self.agent.shell("chroot ../root /only/cat /only/g"), data)
        events = self.stop()
        opens = [(event["role"], os.path.basename(event["executable"])) for event in events
                 if event["op"] == "open" and event["path"] == "/only/g"]
        self.assertEqual(opens, [("tool", "peculiar")] * 2 + [("viewer", "cat")])
        self.assertEqual(len([event for event in events if event["op"] == "exec" and event["path"].startswith("/only/")]), 3)
        self.assertEqual(self.session.status()["processes"]["unobserved"], 0)


class Starts(Case):
    def test_programs_that_cannot_be_started(self):
        """Each is on record as such, and none is a program that was not observed."""
        self.session.write("odd", b"\x01\0\x02 no program\n")
        os.chmod(self.session.path("odd"), 0o755)
        script = "(exec ./f); ./odd; busybox env ./f; busybox env ./odd; cat f"
        self.assertEqual(self.agent.shell(script), self.data)
        self.assertNotice(self.agent.shell("cat f"), "f")
        events = self.stop()
        failed = {event["exec"]: event["error"] for event in events if event["op"] == "exec_failed"}
        tried = [event for event in events if event["op"] == "exec" and event["path"].endswith(("/f", "/odd"))]
        self.assertEqual(len(tried), 2 if VIA == "preload" or not shutil.which("busybox") else 4)
        self.assertEqual([event for event in tried if event["number"] not in failed], [])
        status = self.session.status()
        if VIA != "preload":
            self.assertEqual(status["processes"]["unobserved"], 0, status["processes"])
        self.assertEqual(status["counters"]["requests"], 2)

    def test_requests(self):
        """A program that the library shows up in late is one request, not two."""
        self.assertTrue(self.agent.shell("ls; cat f").endswith(self.data))
        self.assertNotice(self.agent.shell("cat f"), "f")
        status = self.session.status()
        self.assertEqual(status["counters"]["requests"], 3)
        self.assertEqual(status["processes"]["unobserved"], 0)


class Agents(unittest.TestCase):
    """Agents that do not start their shells as others do."""

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.data = self.session.write("f", lines("f"))

    def check(self, name):
        command = [*RUN, "--quiet", "--session", "test", "--agent", name, "--", helper(name), "cat f", "cat f"]
        done = subprocess.run(command, cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout[:len(self.data)], self.data)
        self.assertTrue(done.stdout[len(self.data):].startswith(NOTICE), done.stdout[len(self.data):][:100])

    def test_starts_itself_which_becomes_the_shell(self):
        self.check("agent_by_itself")

    def test_makes_calls_of_its_own(self):
        self.check("agent_of_raw_calls")

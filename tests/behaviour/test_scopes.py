"""Context windows: what one conversation was given is not what another was.  Agents within agents, side by side, run again; and
what an agent's hooks report about those that its process holds."""

import base64
import json
import os
import subprocess
import sys
import time
import unittest

from harness import SEEN, VIA, SessionTest, lines


class Case(SessionTest):
    options = ("-c", "notice.yield=never")

    def setUp(self):
        super().setUp()
        self.data = self.session.write("f", lines("f"))

    def again(self, agent):
        """Is the file given in full once more, and then answered?"""
        self.assertReal(agent.shell("cat f"), self.data)
        self.assertNotice(agent.shell("cat f"), "f")

    def other_agent(self, *options, **more):
        agent = self.session.agent(*self.options, *options, **more)
        self.addCleanup(agent.close)
        return agent


class Apart(Case):
    def test_side_by_side(self):
        """Two agents in one session at once."""
        one, two = self.agent, self.other_agent()
        self.again(one)
        self.again(two)
        self.assertNotice(one.shell("cat f"))
        self.assertEqual(len({scope["id"] for scope in self.session.status()["scopes"]}), 2)

    def test_invalidated_by_one(self):
        one, two = self.agent, self.other_agent()
        self.again(one)
        self.again(two)
        one.shell("%s forget --hook PreCompact" % SEEN)
        self.again(one)
        self.assertNotice(two.shell("cat f"))

    def test_agent_within_an_agent(self):
        """One starts the other, as a command: what the outer was given the inner was not, and the other way round."""
        self.again(self.agent)
        inner = ("import subprocess,sys;"
                 "run=lambda: sys.stdout.buffer.write(subprocess.run(['bash','-c','cat f'],stdout=subprocess.PIPE).stdout+b'----');"
                 "run();run()")
        os.mkdir(os.path.join(self.session.directory, "bin"))
        name = os.path.join(self.session.directory, "bin", "claude")
        with open(name, "w", encoding="utf-8") as file:
            file.write("#!%s\n%s\n" % (sys.executable, inner))
        os.chmod(name, 0o755)
        for _ in range(2):
            first, second, _rest = self.agent.shell(name).split(b"----")
            self.assertReal(first, self.data)
            self.assertNotice(second)
        self.assertNotice(self.agent.shell("cat f"))

    def test_run_again_in_the_same_session(self):
        """A session that is resumed: the agent is another process, and its conversation may be another one."""
        self.again(self.agent)
        self.agent.close()
        self.again(self.other_agent())

    def test_named_scopes_of_one_agent(self):
        one, two = {"SEEN_SCOPE": "one"}, {"SEEN_SCOPE": "two"}
        for env in (one, two):
            self.assertReal(self.agent.shell("cat f", env=env), self.data)
            self.assertNotice(self.agent.shell("cat f", env=env))
        self.agent.shell("%s forget --hook PreCompact" % SEEN, env=one)
        self.assertReal(self.agent.shell("cat f", env=one), self.data)
        self.assertNotice(self.agent.shell("cat f", env=two))


class Forks(Case):
    """Workers that an agent forked, each with a conversation of its own (multiprocessing, prefork servers)."""

    def setUp(self):
        super().setUp()
        self.workers = [self.agent.ask(do="start_worker")["worker"] for _ in range(2)]

    def shell(self, worker, command, **more):
        answer = self.agent.ask(do="in_worker", number=worker, request={"do": "run", "argv": ["bash", "-c", command], "sink": "pipe", **more})
        return base64.b64decode(answer["output"])

    def test_apart(self):
        self.again(self.agent)
        for worker in self.workers:
            self.assertReal(self.shell(worker, "cat f"), self.data)
            self.assertNotice(self.shell(worker, "cat f"), "f")
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertEqual(len({scope["pid"] for scope in self.session.status()["scopes"]}), 3)

    def test_invalidated_by_the_agent(self):
        """Its hooks do not say which of its processes they mean."""
        for worker in self.workers:
            self.shell(worker, "cat f")
        self.agent.shell("%s forget --hook PreCompact" % SEEN)
        for worker in self.workers:
            self.assertReal(self.shell(worker, "cat f"), self.data)

    def test_guarded_as_one(self):
        """What the agent knew when it forked its workers know, and they are not others to each other."""
        self.assertReal(self.shell(self.workers[0], "cat f"), self.data)
        for worker in self.workers * 2:
            self.assertEqual(self.shell(worker, "echo %d > f" % worker), b"")
        self.assertEqual(self.session.status()["counters"]["stale_warned"], 0)
        self.session.write("f", lines("theirs"))
        self.shell(self.workers[1], "echo 3 > f")
        self.assertEqual(self.session.status()["counters"]["stale_warned"], 1)


class Probes(Case):
    """What an agent's own code asks of the machine, by a shell or without, uses nothing of the window up."""

    options = (*Case.options, "-c", "window.requests=5")

    def test_window(self):
        self.assertReal(self.agent.shell("cat f"), self.data)
        for command in ["cat /etc/passwd", "head -1 /etc/passwd", "grep --version", "grep root /etc/passwd"] * 3:
            self.agent.shell(command)
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertEqual(self.session.status()["counters"]["requests"], 2)
        self.agent.shell("head -1 f;" * 6)
        self.assertReal(self.agent.shell("cat f"), self.data)


class Ended(Case):
    """What outlives its run, a daemon say, is answered no more."""

    def outliving(self, end):
        self.session.write("goes-on", b"")
        agent = self.other_agent("--agent-is", "inside", prefix=("sh", "-c", '"$@" & while [ -e goes-on ]; do sleep 0.05; done', "sh"))
        self.again(agent)
        end(agent)
        agent.process.wait(30)
        for _ in range(2):
            self.assertReal(agent.shell("cat f"), self.data)

    def test_ended(self):
        self.outliving(lambda agent: os.unlink(self.session.path("goes-on")))

    def test_killed(self):
        self.outliving(lambda agent: agent.process.kill())
        os.unlink(self.session.path("goes-on"))


class Hooks(Case):
    def hook(self, event, **more):
        """As agents run hooks: by a shell, with something on its standard input."""
        output = self.agent.run(["sh", "-c", "%s forget --hook %s; echo =$?" % (SEEN, event)], stdin='{"a":1}', **more)
        self.assertEqual(output, b"=0\n")

    def causes(self):
        self.agent.close()
        log = self.session.seen("log", "--json", "--op", "forgotten", "--session", "test").stdout
        return [event["cause"] for event in map(json.loads, log.splitlines())]

    def test_each_forgets(self):
        events = ["PreCompact", "PostCompact", "SessionStart", "SubagentStop", "AnythingElse"]
        for event in events:
            self.again(self.agent)
            self.hook(event)
        self.again(self.agent)
        self.assertEqual(self.causes(), ["hook " + event for event in events])

    def test_before_the_first_command(self):
        """The agent has no scope yet: what its hook says holds all the same."""
        self.agent.run([SEEN, "forget", "--hook", "SubagentStart"])
        for _ in range(3):
            self.assertReal(self.agent.shell("cat f"), self.data)

    def test_while_a_sub_agent_works(self):
        """It and the main conversation read in turns, and nothing tells them apart: all is given in full."""
        self.again(self.agent)
        self.hook("SubagentStart")
        for _ in range(3):
            self.assertReal(self.agent.shell("cat f"), self.data)
        self.hook("SubagentStart")
        self.hook("SubagentStop")
        for _ in range(2):
            self.assertReal(self.agent.shell("cat f"), self.data)  # one is left
        self.hook("PreCompact")
        self.assertReal(self.agent.shell("cat f"), self.data)
        self.hook("SubagentStop")
        self.again(self.agent)
        self.hook("SubagentStop")  # one more than began
        self.again(self.agent)
        self.hook("SubagentStart")
        self.assertReal(self.agent.shell("cat f"), self.data)
        self.hook("SessionStart")  # another conversation: what was left of the old one is gone
        self.again(self.agent)

    def test_one_read_across_a_sub_agent(self):
        """A file that began to be read before it and was read to its end after it was given to no scope."""
        self.agent.run(["bash", "-c", "exec 3< f; cat <&3 > /dev/null; %s forget --hook SubagentStart; cat f; "
                                      "%s forget --hook SubagentStop" % (SEEN, SEEN)])
        self.again(self.agent)

    def test_scrubbed_environment(self):
        self.again(self.agent)
        self.agent.run(["env", "-i", SEEN, "forget", "--hook", "PreCompact"])
        self.again(self.agent)

    def test_by_no_shell(self):
        self.again(self.agent)
        self.agent.run([SEEN, "forget", "--hook", "PreCompact"])
        self.again(self.agent)

    def test_beyond_any_session(self):
        """It succeeds, says nothing, and makes nothing."""
        for env in ({}, {"SEEN_SESSION": ""}, {"SEEN_SESSION": "nosuch"}, {"SEEN_SESSION": "/nosuch"}, {"SEEN_SESSION": "../x"},
                    {"SEEN_SESSION": self.session.workspace}, {"SEEN_CONFIG": "/nosuch"}, {"SEEN_NOTICE_MIN_BYTES": "nonsense"}):
            done = subprocess.run([SEEN, "forget", "--hook", "PreCompact"], env={**self.session.environment, **env}, timeout=20,
                                  cwd=self.session.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual((done.returncode, done.stdout), (0, b""), env)
        self.assertEqual(os.listdir(self.session.directory + "/run"), [])

    def test_external_agent(self):
        """With an external agent, the session is what is forgotten."""
        for expected in (self.assertReal, self.assertNotice):
            output = self.session.seen("run", "--quiet", "--session", "test", "--agent-is", "outside", "--", "cat", "f").stdout
            expected(output, self.data if expected == self.assertReal else None)
        self.session.seen("run", "--quiet", "--session", "test", "--", SEEN, "forget", "--hook", "PreCompact")
        output = self.session.seen("run", "--quiet", "--session", "test", "--agent-is", "outside", "--", "cat", "f").stdout
        self.assertReal(output, self.data)


class OtherAnswers(Case):
    """What else is answered: a request, lines in parts, what changed, instruction files."""

    options = (*Case.options, "--on-change", "diff", "--inject", "viewers")

    def setUp(self):
        if VIA == "supervise":
            self.skipTest("requests, parts and changes are the library's")
        super().setUp()
        os.mkdir(self.session.path("sub"))
        self.rules = self.session.write("sub/AGENTS.md", b"Be kind.\n")
        self.session.write("sub/g", lines("g"))

    def check(self, between, after):
        """after: are all given in full again?"""
        commands = ("grep -n line f", "sed -n 1,200p f")
        given = {command: self.agent.shell(command) for command in commands}
        for command in commands:
            self.assertTrue(self.agent.shell(command).startswith(b"["), command)
        self.agent.shell("head -50 sub/g; tail -n +51 sub/g")
        self.assertIn(self.rules, self.agent.shell("cat sub/g > /dev/null; cat sub/AGENTS.md f"))
        between()
        for command in commands:
            self.assertEqual(self.agent.shell(command), given[command])
        self.assertIn(lines("g"), self.agent.shell("cat sub/g"))
        self.session.write("f", self.data.replace(b"line 7 ", b"line seven "))
        self.assertReal(self.agent.shell("cat f"), self.session.read("f"))
        after()

    def test_invalidated(self):
        self.check(lambda: self.agent.shell("%s forget --hook PreCompact" % SEEN), lambda: None)

    def test_while_a_sub_agent_works(self):
        def again():
            for _ in range(2):
                self.assertReal(self.agent.shell("cat f"), self.session.read("f"))
                self.assertFalse(self.agent.shell("grep -n line f").startswith(b"["))
                self.session.write("f", self.session.read("f") + b"more\n")
        self.check(lambda: self.agent.shell("%s forget --hook SubagentStart" % SEEN), again)


class Whitelisted(Case):
    options = ("--whitelist", "fake_agent", "-c", "notice.yield=never")

    def read(self):
        return base64.b64decode(self.agent.ask(do="read", path="f")["output"])

    def test_sub_agents(self):
        """The agent's in-process reads are no different."""
        if VIA != "preload":
            self.skipTest("own reads are the library's")
        self.assertReal(self.read(), self.data)
        time.sleep(0.4)
        self.assertNotice(self.read())
        self.agent.shell("%s forget --hook SubagentStart" % SEEN)
        for _ in range(3):
            time.sleep(0.4)
            self.assertReal(self.read(), self.data)
        self.agent.shell("%s forget --hook SubagentStop" % SEEN)
        time.sleep(0.4)
        self.assertReal(self.read(), self.data)


del Case

if __name__ == "__main__":
    unittest.main()

"""The window of requests, what a process lacks, and several agents: the rest of test_sink.py."""

import os
import subprocess
import unittest

from harness import LIBRARY, NOTICE, VIA, SessionTest, lines, needs_library
from test_sink import SinkTest


class Window(SinkTest):
    options = ("-c", "window.requests=5", "-c", "notice.insist_requests=2")

    def test_requests_and_insistence(self):
        data = self.deliver("f")
        self.assertReal(self.agent.shell("head -1 f; head -1 f; head -1 f; head -1 f"), (data.split(b"\n")[0] + b"\n") * 4)
        self.assertNotice(self.agent.shell("cat f"), "f")  # the fifth request after it: the window's last
        self.agent.shell("head -1 f; head -1 f; head -1 f")
        self.assertReal(self.agent.shell("cat f"), data)   # outside the window: given anew
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.agent.shell("head -1 f")
        self.assertReal(self.agent.shell("cat f"), data)   # the second request after the notice: asked again
        self.assertReal(self.agent.shell("cat f"), data)   # and for two more
        self.assertReal(self.agent.shell("cat f"), data)
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.agent.shell("head -1 f; head -1 f")
        self.assertNotice(self.agent.shell("cat f"), "f")  # the third one after it: no insistence

    def test_second_conversation(self):
        """Another conversation in the same process gets a notice that says how to get the content, and one repetition brings it."""
        data = self.deliver("f")
        output = self.agent.shell("cat f")
        self.assertIn(b"repeat the same command to get it in full", output)
        self.assertReal(self.agent.shell("cat f"), data)


class CopiesByTheLibrary(SinkTest):
    """What is made in memory to be given in a file's place is no output of the command."""

    options = ("-c", "context.inject=viewers", "-c", "notice.on_change=diff", "-c", "notice.insist_requests=1")

    def test_large_file_below_instructions(self):
        self.session.write("AGENTS.md", b"Be brief.\n")
        self.session.write("f", lines("f", 700))
        self.assertTrue(self.agent.shell("cat f; true").startswith(b"[Loaded from ./AGENTS.md]\nBe brief.\n"))
        self.assertNotice(self.agent.shell("cat f"), "f")

    @needs_library("the supervisor starts no program")
    def test_large_file_that_changed(self):
        data = self.deliver("f", lines("f", 800))
        self.session.write("f", data.replace(b"line 7 ", b"LINE 7 "))
        self.assertTrue(self.agent.shell("cat f; true").startswith(b"[File changed since last read: f."))
        self.agent.shell("head -1 f; head -1 f")
        self.assertNotice(self.agent.shell("cat f"), "f")


class Lacking(SinkTest):
    """What a notice needs is not there: the real bytes.

    The supervisor makes it in a process of its own, which lacks nothing: so there, where it alone asks, it is a notice.
    """

    def assertLacking(self, output, data, ways=("supervise",)):
        if VIA in ways:
            self.assertNotice(output, "f")
        else:
            self.assertReal(output, data)

    def test_small_files_only(self):
        data = self.deliver("f")
        self.assertLacking(self.agent.shell("ulimit -f 0; exec cat f"), data)

    def test_small_stack(self):
        self.deliver("f")
        self.assertNotice(self.agent.shell("ulimit -s 128; exec cat f"), "f")

    def test_many_shells(self):
        """dash leaves without running exit handlers: its place in the table is free all the same."""
        self.agent.shell("i=0; while [ $i -lt 500 ]; do dash -c ':; :'; i=$((i+1)); done")
        processes = self.session.status()["memory"]["tables"]["processes"]
        self.assertLess(processes["used"], 50, processes)

    def test_no_free_descriptor(self):
        data = self.deliver("f")
        self.assertLacking(self.agent.shell("ulimit -n 4; exec cat f"), data)  # a notice takes the file's number

    def test_no_descriptor_at_all(self):
        data = self.deliver("f")
        for command in ("ulimit -n 3; exec cat f", "ulimit -n 3; exec /bin/cat f; :"):
            self.assertNotIn(NOTICE, self.agent.shell(command))
        self.assertNotice(self.agent.shell("cat f"), "f")  # that did not count as asking for it
        del data

    @unittest.skipUnless(os.geteuid() == 0, "only root can unmount /proc")
    def test_no_proc(self):
        data = self.deliver("f")
        probe = subprocess.run(["unshare", "-m", "sh", "-c", "umount -l /proc"], stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("unshare does not work here: %r" % probe.stderr)
        self.assertLacking(self.agent.shell("unshare -m sh -c 'umount -l /proc; cat f'"), data)
        self.assertReal(self.agent.shell("unshare -m sh -c 'umount -l /proc; cat f'"), data)

    def test_no_session_any_more(self):
        data = self.deliver("f")
        directory = os.path.join(self.session.directory, "run", "seen", "test")
        os.rename(directory, directory + ".gone")
        self.assertLacking(self.agent.shell("cat f"), data, ("supervise", "both"))  # the supervisor still has it
        self.assertReal(self.agent.shell("cat f"), data)
        os.mkdir(directory)
        with open(os.path.join(directory, "segment"), "wb") as file:
            file.write(os.urandom(1 << 20))
        for _ in range(2):
            self.assertReal(self.agent.shell("cat f"), data)

    def test_scrubbed_environment(self):
        """`env -i`: only LD_PRELOAD is put back, and the session is found through the ancestors."""
        data = self.deliver("f")
        self.assertEqual(self.agent.shell("env -i /usr/bin/env"), b"LD_PRELOAD=" + LIBRARY.encode() + b"\n" if VIA != "supervise" else b"")
        self.assertReal(self.agent.shell("env -i /bin/bash -c 'cat f > g; cat g'"), data)
        self.assertReal(self.agent.shell("env -i /bin/cat f | cat"), data)
        self.assertNotice(self.agent.shell("env -i /bin/cat f"), "f")


class TwoAgents(SinkTest):
    def test_side_by_side(self):
        first = self.session.agent()
        second = self.session.agent()
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        data = self.session.write("f", lines("f"))
        self.assertReal(first.shell("cat f"), data)
        self.assertReal(second.shell("cat f"), data)
        self.assertNotice(first.shell("cat f"), "f")
        self.assertNotice(second.shell("cat f"), "f")

    def test_below_one_run(self):
        script = os.path.join(self.session.directory, "claude.py")
        with open(script, "w") as file:
            file.write("import subprocess as s, sys\nfor i in range(2):\n"
                       "  o = s.run(['bash','-c','cat f'],stdout=s.PIPE).stdout\n"
                       "  open(sys.argv[1], 'ab').write(b'notice ' if o.startswith(b'[File') else b'real ')\n")
        self.session.write("f", lines("f"))
        a, b = (os.path.join(self.session.directory, name) for name in "ab")
        self.session.seen("run", "--quiet", "--agent-is", "inside", "--", "sh", "-c", "python3 %s %s & python3 %s %s; wait" % (script, a, script, b))
        for name in (a, b):
            with open(name, "rb") as file:
                self.assertEqual(file.read(), b"real notice ")


class UnknownAgent(SessionTest):
    def test_never_answered(self):
        data = self.session.write("f", lines("f"))
        agent = self.session.agent(agent_glob="somebody-else")
        self.addCleanup(agent.close)
        for _ in range(3):
            self.assertReal(agent.shell("cat f"), data)

    def test_observe_and_off(self):
        data = self.session.write("f", lines("f"))
        for number, options in enumerate((("--mode", "observe"), ("--mode", "off"))):
            self.session.name = "mode%d" % number
            agent = self.session.agent(*options)
            for _ in range(3):
                self.assertReal(agent.shell("cat f"), data)
            agent.close()
        agent = self.session.agent(environment={"SEEN_SESSION_MODE": "off"})
        for _ in range(2):
            self.assertReal(agent.shell("cat f"), data)
        agent.close()


if __name__ == "__main__":
    unittest.main()

"""What an agent's own tools overwrote is reported on the next output of its shell, once, and only where the agent reads it; else at the end."""

import base64
import errno
import os
import time

from harness import VIA, SessionTest, lines, short_form_by

BURST_S = 0.3  # longer than [notice] burst_ms
WARNING = "another program changed it since it was read, and this overwrites that"


class Case(SessionTest):
    options = ("--counts",)

    def setUp(self):
        super().setUp()
        for name in "fg":
            self.session.write(name, lines(name))

    def overwrite(self, name="f", how="truncate", agent=None):
        """An agent writes by its own tool over what an external program made of a file.  Returns what that was."""
        agent = agent or self.agent
        agent.ask(do="read", path=self.session.path(name))
        time.sleep(BURST_S)
        theirs = self.session.write(name, lines("theirs %d" % time.monotonic_ns()))
        agent.ask(do="write", path=self.session.path(name), data="mine\n", how=how)
        return theirs

    def errors(self, command, agent=None):
        return (agent or self.agent).ask(do="run", argv=["bash", "-c", command], sink="pipe", errors=True)["errors"]

    def names(self, text):
        """Of the files that are reported."""
        return [line.split(": ")[1] for line in text.splitlines() if WARNING in line]

    def stop(self):
        """Names that the end of the run reports."""
        self.agent.requests.close()
        return self.names(self.agent.process.communicate(timeout=60)[1].decode())


class NextOutput(Case):
    def test_once(self):
        """With the command that brings back what was there; and the end does not say it again."""
        for how in ("truncate", "rename") if VIA == "preload" else ("rename",):
            with self.subTest(how):
                theirs = self.overwrite(how=how)
                reported = self.errors("echo hello")
                self.assertTrue(reported.startswith("seen: f: " + WARNING), reported)
                self.assertEqual(reported.count("\n"), 1, reported)
                self.assertEqual(self.errors("cat g; ls"), "")
                self.session.seen("restore", "--session", "test", *reported.split("seen restore ")[1].split())
                self.assertEqual(self.session.read("f"), theirs)
        self.assertEqual(self.stop(), [])

    def test_not_by_a_hook(self):
        """What a hook of ours prints is the agent's, and not its model's."""
        self.overwrite("f")
        for hook in ("true seen forget --hook claude", "true 'seen' answer hook claude"):
            self.assertEqual(self.errors(hook), "")
        self.assertEqual(self.names(self.errors("echo hello")), ["f"])

    def test_any_output(self):
        """Of each file, before what the command prints, whatever its output is."""
        for sink in ("pipe", "socket", "pty") if VIA != "both" else ("socket",):
            with self.subTest(sink):
                self.overwrite("f")
                self.overwrite("g")
                reported = self.agent.shell("echo hello", sink=sink, merged=True).decode()
                self.assertEqual(self.names(reported), ["f", "g"], reported)
                self.assertTrue(reported.startswith("seen: f: ") and reported.endswith("hello\n"), reported)

    def test_long_lived_shell(self):
        """With the next program that it starts."""
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"], merged=True)["shell"]
        self.addCleanup(self.agent.ask, do="close_shell", shell=shell)

        def run_command(command):
            return base64.b64decode(self.agent.ask(do="tell", shell=shell, command=command)["output"]).decode()

        self.assertEqual(self.names(run_command("ls")), [])
        self.overwrite()
        self.assertEqual(self.names(run_command("ls")), ["f"])
        self.assertEqual(self.names(run_command("ls")), [])

    def test_failed(self):
        """A call that overwrote nothing is not reported, neither then nor at the end."""
        self.agent.ask(do="read", path=self.session.path("f"))
        time.sleep(BURST_S)
        theirs = self.session.write("f", lines("theirs"))
        os.mkdir(self.session.path("d"))
        error = self.agent.ask(do="write", path=self.session.path("f"), data="", how="rename_directory")
        self.assertEqual((error["errno"], self.session.read("f")), (errno.ENOTDIR, theirs))
        self.assertEqual(self.errors("ls"), "")
        self.overwrite("g")
        self.assertEqual(self.stop(), ["g"])

    def test_another_agent(self):
        """What one agent did is reported to no other."""
        other = self.session.agent()
        self.addCleanup(other.close)
        self.overwrite()
        self.assertEqual(self.errors("ls", other), "")
        self.assertEqual(self.names(self.errors("ls")), ["f"])


class Spool(Case):
    spools = True

    def test_spool(self):
        """A spool file is such an output, too: of what was overwritten before, and by the command itself.  Nothing in it is written over."""
        self.overwrite("f")
        self.assertEqual(self.agent.shell("cat g", "spool:" + os.path.join(self.session.spool, "1")), lines("g"))
        self.session.write("g", lines("theirs"))
        reported = self.agent.shell("echo one; echo mine > g; echo two", "spool:" + os.path.join(self.session.spool, "2"), merged=True).decode()
        self.assertEqual(self.names(reported), ["f", "g"], reported)
        self.assertEqual([line for line in reported.splitlines() if WARNING not in line], ["one", "two"], reported)


@short_form_by("preload", "supervise")
class Nowhere(Case):
    """Where the agent does not read it nothing is printed, and it goes on waiting."""

    def test_not_into_data(self):
        self.overwrite()
        before = set(self.session.read(name) for name in "fg")
        self.agent.shell("{ ls; bash -c ls; cat g; } > out 2> errors; ls 2>&1 | cat > piped")
        for name in ("out", "errors", "piped"):
            self.assertNotIn(b"seen", self.session.read(name))
        self.assertEqual(set(self.session.read(name) for name in "fg"), before)
        self.assertEqual(self.names(self.errors("true")), ["f"])

    def test_read_by_another_program(self):
        """The agent has its shell's errors go to a program, and keeps the other end of that pipe."""
        self.overwrite()
        errors = self.session.path("log")
        self.agent.ask(do="errors_to_program", argv=["bash", "-c", "ls; bash -c ls"], program=["cat"], path=errors)
        self.assertEqual(self.session.read("log"), b"")
        self.assertEqual(self.names(self.errors("true")), ["f"])

    def test_reported_at_the_end(self):
        """What was not reported to any agent, a command's own warning too; what was refused the agent has read as an error."""
        self.overwrite("f")
        self.agent.shell("ls")
        self.assertEqual(self.agent.shell("cat g"), lines("g"))
        self.session.write("g", lines("theirs"))
        self.agent.shell("echo mine > g")
        self.assertEqual(self.stop(), ["f", "g"])


@short_form_by("preload", "supervise")
class Denied(Case):
    options = ("--counts", "--stale-write", "deny")

    def test_own(self):
        self.overwrite()
        self.assertEqual(self.errors("ls"), "")

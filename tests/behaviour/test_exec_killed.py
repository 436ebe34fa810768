"""A supervisor that is killed at any of its system calls, while a program becomes supervised and while it answers a viewer: the
program does what it does without seen."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

from driver import SOURCE
from harness import BUILD, LONG, SEEN, Session, lines, wait_until

KILLS = os.path.join(BUILD, "tests", "programs", "helpers", "kills")
BUSYBOX = shutil.which("busybox")
TELLS_STATUS = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", platform.release()).groups()) >= (6, 15)
CALLS_MAX = 1000
# Starts a static program when a line comes, and once more.
STARTS = 'read -r go < go; "$0" show; echo $?; "$0" show; exit $?'


def supervisors(session):
    return [pid for pid, name in session.helpers() if name == "seen-supervisor"]


class Killer:
    """The supervisor of a session is killed at one of its next calls."""

    def __init__(self, case, session, moment, number, *calls):
        wait_until(lambda: supervisors(session))
        pids = supervisors(session)
        self.process = subprocess.Popen([KILLS, str(pids[0]), moment, str(number), *calls], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.finish)
        line = self.process.stdout.readline()
        if line.startswith("skipped"):
            case.skipTest(line.strip())
        case.assertEqual(line, "ready\n")

    def finish(self):
        """Was it killed?"""
        if self.process.stdin.closed:
            return None
        self.process.stdin.close()
        last = self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait()
        return last.endswith(" killed\n")


@unittest.skipUnless(BUSYBOX, "no busybox: there is no static program to start")
class Killed(unittest.TestCase):
    def open_session(self):
        session = Session()
        self.addCleanup(session.close)
        return session

    def start_killed(self, program, number):
        """Starts a static program below a supervisor that is killed; returns whether it was, the output and the status."""
        session = self.open_session()
        os.mkfifo(session.path("go"))
        run = subprocess.Popen([SEEN, "run", "--quiet", "--via", "auto", "--privileges", "drop", "--session", "test", "--",
                                "sh", "-c", STARTS, program],
                               cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        with open(session.path("go"), "w") as go:
            killer = Killer(self, session, "before", number)
            go.write("\n")
        output = run.communicate(timeout=60)[0]
        killed = killer.finish()
        wait_until(lambda: not session.helpers())
        session.close()
        return killed, output, run.returncode

    def test_at_each_call(self):
        """From the connection to the end of a program: its exec never fails, nothing waits for ever."""
        top = pathlib.Path(tempfile.mkdtemp(prefix="seen-killed-"))
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        program = str(top / "static")
        built = subprocess.run(["cc", "-static", "-o", program, str(SOURCE / "tests/programs/helpers/starts.c"), f"-I{SOURCE}/tests/support",
                                f"-I{SOURCE}", "-D_GNU_SOURCE"], stderr=subprocess.DEVNULL, check=False) if shutil.which("cc") else None
        if not built or built.returncode != 0:
            self.skipTest("no static programs can be built here")
        expected = self.start_killed(program, CALLS_MAX)
        self.assertEqual(expected[0], False)
        number, killed = 1, True
        while killed:
            with self.subTest(number):
                killed, output, status = self.start_killed(program, number)
                self.assertEqual(output, expected[1])
                if TELLS_STATUS:
                    self.assertEqual(status, expected[2])
            number += 1 if LONG else 17
        self.assertGreater(number, 100)

    def test_viewer(self):
        """Its open returns the file, not descriptor 0, whatever becomes of the one who was about to answer it."""
        for moment in ("before", "amid"):
            with self.subTest(moment):
                session = self.open_session()
                data = session.write("f", lines("f"))
                agent = session.agent("--via", "auto")
                self.addCleanup(agent.close)
                self.assertEqual(agent.shell("busybox true"), b"")  # it has been woken
                killer = Killer(self, session, moment, 1, "addfd")
                self.assertEqual(agent.shell("busybox cat f"), data)
                self.assertTrue(killer.finish())


if __name__ == "__main__":
    unittest.main()

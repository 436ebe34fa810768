"""A scripted agent below `seen run`, driven from a test.

Session() is a workspace and directories for one session.  Session.agent() starts a process that plays the agent: it
starts commands as real agents do, with a pipe, a socket pair, a pseudo-terminal or a spool file as
their output, and says what they printed.

The mechanism is that of SEEN_TEST_VIA, as in `seen run --via`; without it, preload.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import journals

BUILD = os.environ.get("SEEN_BUILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release")
SEEN = os.path.join(BUILD, "bin", "seen")
LIBRARY = os.path.join(BUILD, "lib", "seen", "libseen.so")
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_agent.py")
NOTICE = b"[File previously read: "
VIA = os.environ.get("SEEN_TEST_VIA") or "preload"
LONG = bool(os.environ.get("SEEN_LONG"))
# Agents without a profile pass on whatever a command prints, up to 24,000 bytes: what the tests play was measured.
MEASURED = "[agent generic]\nmeasured = *\n"
PATIENCE_S = 100  # with a command of an agent: one that hangs fails its test
# Rules that deny want a supervisor, too.
RUN = [SEEN, "run", "--via", VIA, *(["--best-effort"] if VIA == "preload" else [])]

if VIA != "preload":
    _supervisor = json.loads(subprocess.run([SEEN, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout)["supervisor"]
    if not _supervisor["possible"]:
        raise unittest.SkipTest("there can be no supervisor here: %s" % _supervisor["error"])


def needs_library(reason):
    """A test of what only the library does: skipped below the supervisor alone."""
    return unittest.skipIf(VIA == "supervise", "needs the library: " + reason)


def short_form_by(*ways):
    """A test, or a class of them, whose subject is the same by other mechanisms: by those it runs in the long form only."""
    return unittest.skipUnless(LONG or VIA in ways, "short: run by %s" % " and ".join(ways))


def lines(first, count=100):
    """Text of `count` lines that no other call gives: longer than min_bytes, shorter than max_bytes."""
    return b"".join(b"%s line %d of the file\n" % (str(first).encode(), i) for i in range(count))


class Agent:
    def __init__(self, session, options=(), prefix=(), script=DRIVER, agent_glob="fake_agent", environment=None, within=()):
        request_in, request_out = os.pipe()
        answer_in, answer_out = os.pipe()
        self.session = session
        command = [*within, *RUN, *(() if "--counts" in options else ("--quiet",)), "--agent", agent_glob, *options, "--", *prefix,
                   sys.executable, script, str(request_in), str(answer_out)]
        self.process = subprocess.Popen(command, cwd=session.workspace, env={**session.environment, **(environment or {})},
                                        pass_fds=(request_in, answer_out), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(request_in)
        os.close(answer_out)
        self.requests = os.fdopen(request_out, "w", buffering=1)
        self.answers = os.fdopen(answer_in, "r")

    def ask(self, **request):
        self.requests.write(json.dumps(request) + "\n")
        if not select.select([self.answers], [], [], PATIENCE_S)[0]:
            raise RuntimeError("no answer to %r in %d s" % (request, PATIENCE_S))
        line = self.answers.readline()
        if not line:
            raise RuntimeError("the agent ended: %r" % (self.process.communicate(),))
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def run(self, argv, sink="pipe", **more):
        """Runs argv with a sink; returns what came out of it."""
        return base64.b64decode(self.ask(do="run", argv=argv, sink=sink, **more)["output"])

    def shell(self, command, sink="pipe", shell=("bash", "-c"), **more):
        return self.run([*shell, command], sink, **more)

    def close(self):
        self.requests.close()
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        finally:
            self.answers.close()
        return self.process.returncode


class Session:
    kept = {}  # SEEN_KEEP_JOURNALS (journals.py): sessions that each test had

    def __init__(self, name="test"):
        self.directory = os.path.realpath(tempfile.mkdtemp(prefix="seen-test."))
        self.workspace = os.path.join(self.directory, "workspace")
        self.spool = os.path.join(self.directory, "spool")
        os.mkdir(self.workspace)
        os.mkdir(self.spool)
        self.name = name
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.directory, "LANG": "C.UTF-8",
                            "XDG_RUNTIME_DIR": os.path.join(self.directory, "run"), "SEEN_PATHS_WORKSPACE": self.workspace,
                            "TERM": "xterm"}
        os.mkdir(os.path.join(self.directory, "run"), 0o700)
        self.configure(MEASURED)
        self.keeps = os.environ.get("SEEN_KEEP_JOURNALS")
        if self.keeps:
            frame = sys._getframe()
            while frame and not isinstance(frame.f_locals.get("self"), unittest.TestCase):
                frame = frame.f_back
            test = frame.f_locals["self"].id() if frame else "none"
            Session.kept[test] = Session.kept.get(test, 0) + 1
            self.keeps_as = "%s.%s.%d" % (test, VIA, Session.kept[test])

    def configure(self, text):
        """Writes the user's seen.ini."""
        directory = os.path.join(self.directory, ".config", "seen")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "seen.ini"), "w") as file:
            file.write(text)

    def path(self, name):
        return os.path.join(self.workspace, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return data

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def agent(self, *options, **more):
        return Agent(self, ("--session", self.name, *options), **more)

    def spools(self, agent="fake_agent"):
        """Options by which the session's spool directory is where that agent has its commands' output put."""
        return ("-c", "agent %s.spool=%s/**" % (agent, self.spool), "-c", "agent %s.measured=*" % agent)

    def seen(self, *words, check=True, timeout=60, **more):
        """Runs the program in the workspace."""
        if words[0] == "run":
            words = (*RUN[1:], *words[1:])
        result = subprocess.run([SEEN, *words], cwd=self.workspace, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **more)
        if check and result.returncode != 0:
            raise AssertionError("seen %s: %d %r" % (words, result.returncode, result.stderr))
        return result

    def status(self):
        return json.loads(self.seen("status", "--json", "--session", self.name).stdout)

    def helpers(self):
        """(pid, name) of the supervisors and guardians of this session that live."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/comm" % pid) as file:
                    name = file.read().strip()
                if name.startswith("seen-"):
                    with open("/proc/%s/maps" % pid) as file:
                        if self.directory in file.read():
                            found.append((int(pid), name))
            except OSError:  # it has ended
                pass
        return found

    def close(self):
        """Whatever was started has ended by itself by then, or is about to."""
        try:
            wait_until(lambda: not self.helpers())
            if self.keeps:
                journals.keep(self.keeps, self.keeps_as, self)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


class SessionTest(unittest.TestCase):
    """A test with a session and an agent in it."""

    options = ()
    spools = False  # see Session.spools()

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self._agent = None

    @property
    def agent(self):
        if self._agent is None:
            self._agent = self.session.agent(*self.options, *(self.session.spools() if self.spools else ()))
            self.addCleanup(self._agent.close)
        return self._agent

    def assertReal(self, output, data):
        self.assertNotIn(NOTICE, output)
        self.assertEqual(output.replace(b"\r\n", b"\n"), data)

    def assertNotice(self, output, path=None):
        self.assertTrue(output.startswith(NOTICE + (path.encode() if path else b"")), output[:200])
        self.assertEqual(output.count(b"\n"), 1, output)

    def deliver(self, name, data=None, **more):
        """Has a new file given to the agent; returns its content."""
        data = self.session.write(name, data if data is not None else lines(name))
        self.assertReal(self.agent.shell("cat " + name, **more), data)
        return data


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited %d s in vain" % seconds)
        time.sleep(0.01)

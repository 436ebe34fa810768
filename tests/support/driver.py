"""What the tests of the program share: a home and a workspace of their own, agents, terminals."""
import base64
import importlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

def import_jsonschema():
    """The module; None: there is none.  Debian's is for Debian's Python, and is plain Python: another one of that version takes it too."""
    debian = "/usr/lib/python3/dist-packages"
    try:
        return importlib.import_module("jsonschema")
    except ImportError:
        if not os.path.exists(f"/usr/lib/python3.{sys.version_info.minor}") or debian in sys.path:
            return None
    sys.path.append(debian)
    try:
        return importlib.import_module("jsonschema")
    except ImportError:
        sys.path.remove(debian)
        return None


jsonschema = import_jsonschema()

BUILD = pathlib.Path(os.environ["SEEN_BUILD"])
SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])
SEEN = str(BUILD / "bin" / "seen")
LIBRARY = str(BUILD / "lib" / "seen" / "libseen.so")
MAKER = str(BUILD / "tests" / "bench" / "journal_maker")
DEMO = str(BUILD / "lib" / "seen" / "seen-demo-agent")
NOTICE = b"[File previously read: "
DEADLINE = 60
SANITIZED = "SEEN_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()

# An agent: `agent.py COMMANDS RESULTS` runs each command of a JSON list as agents do, and leaves what
# it received.
AGENT = r'''
import base64, json, subprocess, sys
results = []
for command in json.load(open(sys.argv[1])):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    results.append(base64.b64encode(done.stdout).decode())
json.dump(results, open(sys.argv[2], "w"))
'''

# For scripts of agents that run their hook, as Claude Code does.  A hook that crashed ends with 0 and answers nothing, too: only its
# standard error tells.
RUN_HOOK = r'''
def run_hook(agent, document):
    """What the hook answers; {}: nothing."""
    done = subprocess.run(["sh", "-c", "SEEN answer hook " + agent], input=json.dumps(document).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b""), done
    return json.loads(done.stdout) if done.stdout else {}
'''.replace("SEEN", SEEN)


def text_of(lines=60, word="line"):
    return b"".join(b"%s %d of a file that is read again\n" % (word.encode(), i) for i in range(lines))


class Case(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="seen-cli-")).resolve()
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.home = self.top / "home"
        self.work = self.top / "work"
        self.home.mkdir()
        self.work.mkdir()
        (self.top / "tmp").mkdir()
        (self.top / "agent.py").write_text(AGENT)
        (self.home / ".config/seen").mkdir(parents=True)
        # What agents without a profile are given they pass on, up to 24,000 bytes of a command.
        (self.home / ".config/seen/seen.ini").write_text("[agent generic]\nmeasured = *\n")
        self.env = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(self.top / "tmp"),
                    "LC_ALL": "C.UTF-8", "TERM": "xterm"}

    def seen(self, *words, cwd=None, code=None, **more):
        """Runs the program; standard output and error are bytes."""
        env = {**self.env, **more.pop("env", {})}
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([SEEN, *words], cwd=cwd or self.work, env=env, timeout=DEADLINE, check=False, **more)
        if code is not None:
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def aside(self):
        """Processes that runs of this test left to work aside, by pid: those of seen that neither this test nor a run has as a child."""
        def is_seen(pid):
            try:
                return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(SEEN)
            except OSError:  # it is gone, or another user's
                return False

        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if is_seen(pid) and f"HOME={self.home}\0".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                    parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
                    if parent != str(os.getpid()) and not is_seen(parent):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def wait_for_aside(self):
        """Until nothing of this test works aside any more."""
        self.wait_until(lambda: not self.aside() and not self.aside())  # one that was just made is in the second list

    def wait_until(self, holds):
        end = time.monotonic() + DEADLINE
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def validate_by(self, name, documents):
        """Does each document keep to that schema?"""
        if jsonschema is None:
            self.skipTest("no python3-jsonschema")
        schema = json.loads((SOURCE / "config/data/schema" / name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for document in documents:
            validator.validate(document)

    def json(self, *words, code=0, **more):
        return json.loads(self.seen(words[0], "--json", *words[1:], code=code, **more).stdout)

    def agent(self, *commands, session="s", options=(), launcher=(), **more):
        """What an agent inside a run receives for each command.  launcher: words before its own."""
        results = self.top / "tmp" / "results"  # writable in a confined run, too
        (self.top / "commands").write_text(json.dumps(commands))
        self.seen("run", "--session", session, "--agent", "agent", *options, "--", *launcher, sys.executable,
                  str(self.top / "agent.py"), str(self.top / "commands"), str(results), code=0, **more)
        return [base64.b64decode(result) for result in json.loads(results.read_text())]

    def external(self, command, session="s", options=(), **more):
        """What an agent outside receives for one command of a session."""
        return self.seen("run", "--session", session, "--agent-is", "outside", *options, "--", "bash", "-c", command,
                         code=0, **more).stdout

    def file(self, name, content=None):
        path = os.path.join(os.fsencode(self.work), os.fsencode(name))
        with open(path, "wb") as file:
            file.write(text_of() if content is None else content)
        return path

    def made_journal(self, count, *options, name="made"):
        """A journal with so many events of a session that never was (tests/bench/journal_maker.c): its path."""
        path = self.top / name / "journal"
        path.parent.mkdir()
        subprocess.run([MAKER, str(path), str(count), *options], stdout=subprocess.DEVNULL, timeout=DEADLINE, check=True)
        return str(path)

    def session_directory(self, session="s"):
        return self.home / ".local/state/seen" / session

    def assert_notice(self, output):
        self.assertTrue(output.startswith(NOTICE), output[:200])

    def assert_content(self, output, content=None):
        self.assertEqual(output, text_of() if content is None else content)

    def assert_plain(self, output):
        """No control characters but newlines."""
        self.assertIsNone(re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", output), output)


class Terminal:
    """A command at a terminal of its own, as leader of its session."""

    def __init__(self, words, cwd, env):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execvpe(words[0], words, env)
            finally:
                os._exit(99)

    def read(self, until=None, seconds=DEADLINE):
        """Reads until a text was seen, or to the end."""
        end = time.monotonic() + seconds
        while until is None or until not in self.output:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {until!r} within {seconds} s: {self.output!r}")
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            if not got:
                break
            self.output += got
        if until is not None and until not in self.output:
            raise AssertionError(f"no {until!r}: {self.output!r}")
        return self.output

    def write(self, data):
        os.write(self.fd, data)

    def wait(self):
        """Reads to the end; the wait status as an exit code, 128 + N for a signal."""
        self.read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

"""Directories, environments, and how a command is run in a way."""
import collections
import contextlib
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
import weakref

HERE = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
BUILD = os.path.realpath(os.environ.get("SEEN_BUILD") or os.path.join(ROOT, "build/release"))
SEEN = os.path.join(BUILD, "bin/seen")
LIBRARY = os.path.join(BUILD, "lib/seen/libseen.so")
PROGRAMS = os.path.join(BUILD, "tests/bench")
EMPTY = os.path.join(PROGRAMS, "empty_preload.so")
LIMIT_S = 120  # of one run


class Failed(Exception):
    """A run did not do its work."""


class Sample(collections.namedtuple("Sample", "wall_ns cpu_ns extra")):
    """Of one iteration.  extra: {name: number}, other things that were counted."""
    __slots__ = ()

    def __new__(cls, wall_ns, cpu_ns, extra=None):
        return super().__new__(cls, wall_ns, cpu_ns, extra or {})


class Place:
    """A directory with homes, sessions and a workspace.

    top: the directory.  work: the workspace of seen's sessions, where works make their files.  env: the environment that commands have
    bare.  ways: {name: Way}.  session: the end of the names of seen's sessions; each work has its own, which the runner sets.  whole: the Sample of the latest run as a whole, with the start of its way.
    quick: works are as small as they can be and still be done.
    """

    def __init__(self, directory, ways, quick=False):
        self.top = directory
        self.quick = quick
        self.ways = ways
        self.session = "prove"
        self.work = os.path.join(directory, "work")
        self.report = os.path.join(directory, "report")
        os.mkdir(self.work)
        os.mkdir(os.path.join(directory, "home"), 0o700)
        # In memory, as XDG_RUNTIME_DIR is where people work.
        self.runtime = tempfile.mkdtemp(prefix="seen-bench.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else directory)
        weakref.finalize(self, shutil.rmtree, self.runtime, True)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("SEEN_", "XDG_", "GIT_", "MAKE", "MFLAGS")) and key != "LD_PRELOAD"}
        self.env.update(HOME=os.path.join(directory, "home"), XDG_RUNTIME_DIR=self.runtime,
                        LC_ALL="C", GIT_CONFIG_NOSYSTEM="1", GIT_OPTIONAL_LOCKS="0", BENCH_REPORT=self.report)

    def run(self, way, command, directory=None, env=None, limit_s=LIMIT_S):
        """Standard output of a command, which must exit 0 and print no error.

        way: a name.  A name that is no way's is a work's own, and is run bare.  directory: default `work`.
        env: additions to the environment.
        """
        manner = self.ways.get(way) or self.ways["bare"]
        words, environment = manner.wrap(self, list(command), {**self.env, **(env or {})})
        manner.before(self)
        start_ns, cpu_ns = time.monotonic_ns(), children_cpu_ns()
        try:
            done = subprocess.run(words, cwd=directory or self.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=limit_s, check=False)
            self.whole = Sample(time.monotonic_ns() - start_ns, children_cpu_ns() - cpu_ns)
            errors = manner.errors(done.stderr)
            if done.returncode != 0 or errors:
                raise Failed("%s: %s: exit status %d\n%s" % (way, " ".join(command)[:300], done.returncode,
                                                             errors.decode(errors="replace")[-2000:]))
        except (Failed, subprocess.TimeoutExpired, OSError) as error:
            with contextlib.suppress(Failed):  # the first failure is the one to report
                manner.after(self)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed("%s: %s: not done after %d s" % (way, " ".join(command)[:300], limit_s)) from error
            if isinstance(error, OSError):
                raise Failed("%s: %s: %s" % (way, words[0], error.strerror)) from error
            raise
        manner.after(self)
        return done.stdout

    def sample(self, way, command, count, check, directory=None, env=None, limit_s=LIMIT_S):
        """Runs a program of tests/bench that reports (report.h): the Sample of one of its `count` iterations.

        check(output) is whether the work was done; the rest is as in run().
        """
        if os.path.exists(self.report):
            os.unlink(self.report)
        output = self.run(way, command, directory, env, limit_s)
        try:
            with open(self.report, encoding="utf-8", errors="surrogateescape") as file:
                done, wall_ns, cpu_ns = (int(word) for word in file.readline().split())
                shown = file.read()
        except (OSError, ValueError) as error:
            raise Failed("%s: %s: no report: %s" % (way, " ".join(command)[:300], error)) from error
        if done != count or wall_ns <= 0:
            raise Failed("%s: %s: %d of %d iterations" % (way, " ".join(command)[:300], done, count))
        if not check(output):
            raise Failed("%s: %s: not the expected output: %d bytes, %r..." % (
                way, " ".join(command)[:300], len(output), output[:200]))
        (self.ways.get(way) or self.ways["bare"]).inside(self, shown)
        return Sample(wall_ns / count, cpu_ns / count)

    def forget(self, session):
        """Removes what is left of a session of seen that has ended."""
        for directory in (os.path.join(self.env["HOME"], ".local/state/seen"), os.path.join(self.runtime, "seen")):
            shutil.rmtree(os.path.join(directory, session), ignore_errors=True)

    def make_static(self):
        """Makes bin/bench_viewer, and the same as bin/cat, that have no dynamic loader."""
        directory = os.path.join(self.top, "bin")
        viewer = os.path.join(directory, "bench_viewer")
        if os.path.exists(viewer):
            return
        os.makedirs(directory, exist_ok=True)
        compiler = "musl-gcc" if shutil.which("musl-gcc") else "gcc"
        done = subprocess.run([compiler, "-static", "-O2", "-D_GNU_SOURCE", "-I", ROOT, "-o", viewer,
                               os.path.join(HERE, "bench_viewer.c")], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise Failed("no static viewer: %s -static: %s (apt-get install musl-tools)" % (compiler, done.stderr[-500:]))
        os.link(viewer, os.path.join(directory, "cat"))


def children_cpu_ns():
    """User and system time of the processes that this one waited for, and those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def slug(text):
    """A name that can be a session's or a file's."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]


def write_file(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def text_of(size_bytes, number):
    """Text that differs for each number."""
    line = b"%08d The quick brown fox jumps over the lazy dog.\n" % number
    return (line * (size_bytes // len(line) + 1))[:size_bytes - 1] + b"\n"

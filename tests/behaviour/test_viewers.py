"""Viewers that the library cannot be in: the sink tables with a static busybox and with static programs of musl for `cat`,
below the supervisor; by the library alone they are unobserved, and always give the real bytes."""

import os
import re
import shutil
import subprocess
import unittest

import test_sink
from harness import BUILD, LONG, VIA, lines

BUSYBOX = shutil.which("busybox")
PROGRAMS = os.path.join(BUILD, "tests", "programs", "viewers")


def musl(name):
    path = os.path.join(PROGRAMS, name)
    return path if os.path.exists(os.path.join(path, "cat")) else None


def is_static(path):
    return path and b"INTERP" not in subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE).stdout


class Viewer:
    """The session's `cat` is another one.  Before a SinkTest."""

    left_out = ()

    def setUp(self):
        super().setUp()
        directory = os.path.join(self.session.directory, "bin")
        os.mkdir(directory)
        self.install_cat(directory)
        with open(os.path.join(self.session.directory, ".profile"), "w") as file:  # for login shells
            file.write('PATH="%s:$PATH"\n' % directory)
        self.session.environment["PATH"] = directory + ":" + self.session.environment["PATH"]


class Link(Viewer):
    """busybox by the name of cat."""

    missing = None if is_static(BUSYBOX) else "no static busybox (Debian: busybox-static)"

    def install_cat(self, directory):
        os.symlink(BUSYBOX, os.path.join(directory, "cat"))


class Word(Link):
    """`busybox cat` in each command."""

    def install_cat(self, directory):
        run = self.agent.run
        word = lambda text: re.sub(r"(?<![\w./-])cat(?= )", "busybox cat", text)
        self.agent.run = lambda argv, *more, **named: run([word(text) for text in argv], *more, **named)


class Reads(Viewer):
    program = "reads"
    missing = None if musl("reads") else "no static cat (musl-gcc, Debian: musl-tools, was not there when the tests were built)"

    def install_cat(self, directory):
        os.symlink(os.path.join(PROGRAMS, self.program, "cat"), os.path.join(directory, "cat"))


class Sends(Reads):
    """By sendfile."""

    program = "sends"


class Shell(Viewer):
    """`busybox sh` for each shell, which starts a cat of its own."""

    left_out = ("test_hard_link_and_longer_path",)  # its `head` is no program: requests are not counted there

    missing = Link.missing

    def install_cat(self, directory):
        run = self.agent.run
        self.agent.run = lambda argv, *more, **named: run(
            [BUSYBOX, "sh", "-c", argv[-1]] if len(argv) > 2 and argv[0] in ("bash", "sh", "dash") else argv, *more, **named)


VIEWERS = [Link, Word, Reads, Sends]
# By both mechanisms at once the library is not in them either: what differs is the shell, and who answers at all.
SHORT = [*VIEWERS, Shell] if VIA == "supervise" else [Reads, Shell]
# Not about cat but about others, or with options that not each cat has.
LEFT_OUT = ["test_programs_that_only_look_like_readers", "test_disguised_viewer", "test_scripts_with_an_agents_name", "test_sub_agent",
            "test_everything_counts_towards_the_limit", "test_subreaper", "test_git_checkout", "test_bwrap"]


def make(viewer, table):
    body = {name: None for name in (*LEFT_OUT, *viewer.left_out) if hasattr(table, name)}
    body["__doc__"] = table.__doc__
    made = type(viewer.__name__ + table.__name__, (viewer, table), body)
    made.__module__ = __name__
    return unittest.skipIf(viewer.missing, viewer.missing)(made)


if VIA != "preload":
    for viewer in [*VIEWERS, Shell] if LONG else SHORT:
        for table in (test_sink.Notices, test_sink.RealBytes, test_sink.Changes):
            made = make(viewer, table)
            globals()[made.__name__] = made
    del viewer, table, made  # their tests would run once more, by these names


@unittest.skipIf(VIA == "preload", "by the library alone they are unobserved")
@unittest.skipIf(Reads.missing, Reads.missing)
class NoDescriptor(Reads, test_sink.SinkTest):
    def test_no_free_descriptor(self):
        """The notice cannot be added to the viewer: what it would have got, and nothing counts as answered."""
        data = self.deliver("f")
        for _ in range(3):
            self.assertEqual(self.agent.shell("ulimit -n 3; cat f 2>&1"), b"cat: f: No file descriptors available\n")
        self.assertNotice(self.agent.shell("cat f"), "f")
        # and bytes that were not given are no delivery
        data = self.session.write("g", lines("g"))
        self.agent.shell("ulimit -n 3; cat g; :")
        self.assertReal(self.agent.shell("cat g"), data)
        self.assertNotice(self.agent.shell("cat g"), "g")


@unittest.skipUnless(VIA == "preload", "below the supervisor they are observed")
class Unobserved(test_sink.SinkTest):
    def test_real_bytes_always(self):
        for viewer in VIEWERS:
            if viewer.missing:
                self.skipTest(viewer.missing)
            with self.subTest(viewer=viewer.__name__):
                test = type("One", (viewer, test_sink.SinkTest), {"runTest": self.run_one})()
                test.setUp()
                try:
                    self.run_one(test)
                finally:
                    test.doCleanups()

    def run_one(self, test):
        data = test.session.write("f", lines("f"))
        for kind in test_sink.SINKS:
            for shell in test_sink.SHELLS:
                self.assertReal(test.agent.shell("cat f", test.sink(kind), shell), data)
        self.assertGreater(test.session.status()["processes"]["unobserved"], 0)

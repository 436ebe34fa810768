"""The ways of others: each is at work when it is reported to be, and what shows that fails when it is not.

Nothing here is timed.  What is not installed is skipped: ./scripts/bench installs it.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.join(os.environ["SEEN_SOURCE"], "tests/bench")
for loaded in [name for name in sys.modules if name.split(".")[0] == "harness"]:
    del sys.modules[loaded]  # tests/support/harness.py is another
sys.path.insert(0, HERE)

from harness import peers, place, way, ways  # noqa: E402

SPAWN = os.path.join(place.PROGRAMS, "spawn")
CALLS = os.path.join(place.PROGRAMS, "calls")


def idle(one, **members):
    """The same way, but that these members are others; without any: it runs the command bare."""
    members = members or {"wrap": lambda self, where, command, env: (self.remember(command) or command, env), "before": way.Way.before}
    kind = type("Idle", (type(one),), members)
    made = kind.__new__(kind)
    made.__dict__.update(one.__dict__)
    return made


class TestPeers(unittest.TestCase):
    def setUp(self):
        self.directory = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.place = place.Place(self.directory, dict(ways.ALL))
        self.there = [one for one in peers.others() if not one.available() and not one.permitted()]

    def each(self, choose=lambda one: True):
        """Those that are there, and wanted."""
        chosen = [one for one in self.there if choose(one)]
        if not chosen:
            self.skipTest("none of them is installed and permitted")
        return chosen

    def left_running(self):
        """Names of processes that have the environment of this place."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    is_started = b"BENCH_REPORT=" + self.place.report.encode() in file.read().split(b"\0")
                if is_started:
                    with open("/proc/%s/comm" % pid, encoding="utf-8", errors="replace") as file:
                        found.append(file.read().strip())
            except OSError:
                pass  # it has ended, or is another's
        return found

    def assert_fails(self, said, call, *arguments, **named):
        with self.assertRaisesRegex(place.Failed, said):
            call(*arguments, **named)

    def test_what_is_missing_is_said_with_the_remedy(self):
        kept = os.environ["PATH"]
        os.environ["PATH"] = self.directory
        try:
            for one in peers.others():
                with self.subTest(one.name):
                    if one.program:
                        self.assertRegex(one.available(), "apt-get install %s$" % one.needs)
                    self.assertTrue(one.needs)
                    self.assertLessEqual(set(one.can), set(way.ABILITIES))
        finally:
            os.environ["PATH"] = kept

    def test_packages(self):
        def said(*options):
            return subprocess.run([os.path.join(HERE, "run"), "--packages", *options], capture_output=True, text=True, check=True).stdout.split()

        every = said()
        self.assertEqual(len(every), len(set(every)))
        self.assertTrue(any(name.startswith("npm:@voidzero-dev/vite-plus-") for name in every), every)
        self.assertEqual([name for name in every if name != "bear"], said("--without", "bear"))
        self.assertEqual(said("--only", "start of /bin/true$", "--ways", "^(injected|snoopy)$"), ["snoopy"])

    def test_each_proves_itself(self):
        for one in self.each():
            with self.subTest(one.name):
                one.prove(self.place)
                self.assertFalse(os.path.exists(one.log(self.place)), "its log is left")
                end = time.monotonic() + 10
                while self.left_running() and time.monotonic() < end:
                    time.sleep(0.05)
                self.assertEqual(self.left_running(), [], "somebody is left running beside the next one")

    def test_who_runs_the_command_bare_proves_nothing(self):
        for one in self.each():
            with self.subTest(one.name):
                with self.assertRaises(place.Failed):
                    self.place.ways[one.name] = idle(one)
                    self.place.ways[one.name].prove(self.place)

    def test_who_has_the_library_but_writes_nothing_down(self):
        settings = os.path.join(self.directory, "silent.ini")
        place.write_file(settings, b"[snoopy]\noutput = devnull\n")

        def silent(one):
            kept = type(one).wrap

            def wrap(self, where, command, env):
                words, environment = kept(self, where, command, env)
                if "FIREJAIL_TRACEFILE" in environment:
                    environment["FIREJAIL_TRACEFILE"] = "/dev/null"
                replace = {self.log(where): "/dev/null", os.path.join(where.top, "snoopy.ini"): settings}
                return [replace.get(word, word) for word in words], environment
            return wrap

        for one in self.each(lambda one: one.follows and one.name != "fatrace"):
            with self.subTest(one.name):
                self.place.ways[one.name] = idle(one, wrap=silent(one))
                self.assert_fails("its log is empty", self.place.ways[one.name].prove, self.place)

    def test_who_watches_another_file_system(self):
        if not os.path.ismount("/dev/shm"):
            self.skipTest("/dev/shm is no file system of its own")

        def start(self, where):
            kept = where.env
            where.env = {**kept, "PATH": directory + ":" + kept["PATH"]}
            try:
                peers.Fatrace.before(self, where)
            finally:
                where.env = kept

        directory = os.path.join(self.directory, "bin")
        place.write_file(os.path.join(directory, "fatrace"), b"#!/bin/sh\ncd /dev/shm && exec %s -c \"$@\"\n" % (shutil.which("fatrace") or "").encode())
        os.chmod(os.path.join(directory, "fatrace"), 0o755)
        kept, peers.HEAD_S = peers.HEAD_S, 1
        try:
            for one in self.each(lambda one: one.name == "fatrace"):
                with self.subTest(one.name):
                    other = self.place.ways["fatrace"] = idle(one, before=start)
                    self.assert_fails("does not write down the begin", other.prove, self.place)
                    self.assertIsNone(other.watcher, "it still runs")
        finally:
            peers.HEAD_S = kept

    def test_more_events_than_the_kernel_keeps_for_others(self):
        with open(peers.QUEUE, encoding="ascii") as file:
            kept = int(file.read())
        for one in self.each(lambda one: one.name == "fatrace"):
            with self.subTest(one.name):
                one.wrap(self.place, ["true"], self.place.env)
                one.before(self.place)
                try:
                    with open(peers.QUEUE, encoding="ascii") as file:
                        self.assertEqual(int(file.read()), kept, "the machine's setting is not put back")
                    one.watcher.send_signal(signal.SIGSTOP)
                    subprocess.run(["true"], check=True)
                    for i in range(kept + 100):  # equal events would be one
                        place.write_file(os.path.join(self.place.work, "f%d" % i), b"x")
                finally:
                    one.watcher.send_signal(signal.SIGCONT)
                    one.after(self.place)

    def test_a_log_that_names_another_program(self):
        for one in self.each(lambda one: one.follows and one.name not in ("fspy", "fatrace")):
            with self.subTest(one.name):
                one.remember(["no-such-name"])
                place.write_file(one.log(self.place), b"execve cat proof.txt\n")
                self.assert_fails("its log does not name no-such-name", one.after, self.place)
                self.assertFalse(os.path.exists(one.log(self.place)))

    def test_the_very_program_that_reports_has_the_library(self):
        for one in self.each():
            with self.subTest(one.name):
                sample = self.place.sample(one.name, [SPAWN, "2", "true"], 2, lambda output: output == b"")
                self.assertGreater(sample.wall_ns, 0)

    def test_a_program_whose_environment_was_dropped(self):
        for one in self.each(lambda one: one.name in ("eatmydata", "fakeroot", "libtrace", "snoopy")):  # the others put it back
            with self.subTest(one.name):
                self.assert_fails(r"%s: not run as it should be: of the libraries of all ways, a process has \[\], not \['" % one.name,
                                  self.place.sample, one.name, ["env", "-u", "LD_PRELOAD", SPAWN, "1", "true"], 1, lambda output: True)

    def test_a_library_that_is_no_part_of_the_way(self):
        for name in ("bare", "strace", "fatrace"):
            with self.subTest(name):
                if self.place.ways[name].available() or self.place.ways[name].permitted():
                    continue
                self.assert_fails("a process has .'empty_preload.so'., not ..", self.place.sample, name, [SPAWN, "1", "true"], 1,
                                  lambda output: True, env={"LD_PRELOAD": place.EMPTY})

    def test_a_tracer_and_a_filter_that_are_no_part_of_the_way(self):
        shown = "/usr/lib/ld-linux-x86-64.so.2\nTracerPid:\t%d\nSeccomp:\t0\nSeccomp_filters:\t%d\n"
        bare = ways.ALL["bare"]
        bare.inside(self.place, shown % (0, way.FILTERS))
        self.assert_fails("a process is traced", bare.inside, self.place, shown % (7, way.FILTERS))
        self.assert_fails("1 filters more", bare.inside, self.place, shown % (0, way.FILTERS + 1))
        self.assert_fails("a process is not traced", ways.ALL["strace"].inside, self.place, shown % (0, way.FILTERS))
        self.assert_fails("0 filters more", ways.ALL["strace bpf"].inside, self.place, shown % (7, way.FILTERS))

    def test_static_programs(self):
        self.place.make_static()
        viewer = os.path.join(self.directory, "bin/bench_viewer")
        file = os.path.join(self.place.work, "file.txt")
        place.write_file(file, b"content\n")
        for one in self.each(lambda one: one.static):
            with self.subTest(one.name):
                self.place.sample(one.name, [viewer, file], 1, lambda output: output == b"content\n")

    def test_the_work_is_the_same(self):
        """Standard output, bytes as they are, environment, directory and the exit status."""
        script = r"""printf 'a\0b\377\n'; printf '%s\n' "$UNUSUAL"; pwd; cat file; echo made >made; cat made; test ! -t 0 && cat"""
        directory = os.path.join(self.place.work, "a folder")
        place.write_file(os.path.join(directory, "file"), b"in a folder\n")
        unusual = " of 'two'\n\"lines\" $HOME \\"
        want = self.place.run("bare", ["sh", "-c", script], directory, {"UNUSUAL": unusual})
        self.assertTrue(want.startswith(b"a\0b\xff\n" + unusual.encode()))
        for one in self.each():
            with self.subTest(one.name):
                self.assertEqual(self.place.run(one.name, ["sh", "-c", script], directory, {"UNUSUAL": unusual}), want)
                self.assert_fails("exit status 3", self.place.run, one.name, ["sh", "-c", "exit 3"])
                self.assert_fails("complaint", self.place.run, one.name, ["sh", "-c", "echo complaint >&2"])

    def test_many_at_once(self):
        file = os.path.join(self.place.work, "many")
        for i in range(16):
            place.write_file("%s.%d" % (file, i), b"x" * 4096)
        for one in self.each():
            with self.subTest(one.name):
                self.place.sample(one.name, [CALLS, "open", "50", file, "4096", "16"], 800, lambda output: output == b"")

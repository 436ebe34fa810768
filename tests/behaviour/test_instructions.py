"""What the library costs, in instructions of the processor: no hot path may grow by more than 5 %.

Counted by valgrind's callgrind, which executes the program itself and so gives the same count again, whatever else the machine
does.  A path's figure is what a program executes more with seen than with an empty library in LD_PRELOAD, for one step of its
work: a program is run with few steps and with many, and what the many have more is shared out among them.  The start is the whole
of a program that does nothing.

The figures are in instructions.json, with the compiler and the libc that they are of: by others they are others, and the test is
skipped.  Who makes a path cheaper writes the new figures by

    SEEN_INSTRUCTIONS=write SEEN_BUILD=build/release PYTHONPATH=tests/support python3 tests/support/run-unittest tests/behaviour/test_instructions.py

and commits them, so that what was won is not lost again.  System calls of the start are counted by strace, exactly.
"""
import json
import os
import platform
import re
import shutil
import subprocess
import unittest

from harness import BUILD, SEEN, Session

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ["SEEN_SOURCE"]
FIGURES = os.path.join(HERE, "instructions.json")
PROGRAMS = os.path.join(BUILD, "tests", "bench")
EMPTY = os.path.join(PROGRAMS, "empty_preload.so")
LIBRARY = os.path.join(BUILD, "lib", "seen", "libseen.so")
GROWTH = 1.05
PATIENCE_S = 120
WRITES = os.environ.get("SEEN_INSTRUCTIONS") == "write"
with open(FIGURES, encoding="ascii") as stored:
    KNOWN = json.load(stored)


def environment():
    """What the figures depend on: {name: value}."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        cache = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read(), re.M))
    compiler = subprocess.run([cache["CMAKE_C_COMPILER"], "-dumpfullversion"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {"machine": platform.machine(), "libc": " ".join(platform.libc_ver()), "compiler": compiler.strip(),
            "build": "release" if cache.get("CMAKE_BUILD_TYPE") == "Release" and not cache.get("SEEN_SANITIZE") else "another"}


def output_of(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def executed(counts):
    """Names of functions that callgrind found executed in this library; those outside of .text have no object."""
    objects, names, last, ran = {}, {}, "", set()
    with open(counts, encoding="utf-8", errors="replace") as file:
        for kind, number, name in re.findall(r"^(c?ob|c?fn)=\((\d+)\)(?: (.+))?$", file.read(), re.M):
            table = names if kind.endswith("fn") else objects
            table[number] = re.sub(r"'\d+$", "", name) or table[number]
            if kind == "ob":
                last = table[number]
            elif kind == "fn" and (last == "???" or os.path.basename(last) == os.path.basename(LIBRARY)):
                ran.add(table[number])
    return ran


def setUpModule():
    for tool in ("valgrind", "strace"):
        if not shutil.which(tool):
            raise unittest.SkipTest("%s is not installed" % tool)
    if environment() != KNOWN["environment"] and not WRITES:
        raise unittest.SkipTest("the figures are of %s, this is %s" % (KNOWN["environment"], environment()))


def tearDownModule():
    if WRITES:
        KNOWN["environment"] = environment()
        with open(FIGURES, "w", encoding="ascii") as file:
            json.dump(KNOWN, file, indent=1, sort_keys=True)
            file.write("\n")


class Instructions(unittest.TestCase):
    OPTIONS = ("--agent-is", "outside", "-c", "processes.viewers=bench_viewer", "-c", "notice.yield=never",
               "-c", "window.requests=1000000", "-c", "window.bytes=0")

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        for name in ("small", "new"):
            os.mkdir(self.session.path(name))

    def run_program(self, way, words):
        """Standard output of words, run with the empty library or by seen; they must end well and say nothing else."""
        more = {}
        if way == "seen":
            words = [SEEN, "run", "--quiet", "--via", "preload", "--session", self.session.name,
                     "--workspace", self.session.workspace, *self.options, "--", *words]
        else:
            more["LD_PRELOAD"] = EMPTY
        report = os.path.join(self.session.directory, "report")
        done = subprocess.run(words, cwd=self.session.workspace, env={**self.session.environment, **more, "BENCH_REPORT": report},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), words)
        return done.stdout

    def count(self, way, words):
        """(instructions of words, standard output)."""
        counts = os.path.join(self.session.directory, "callgrind")
        output = self.run_program(way, ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + counts, *words])
        with open(counts, encoding="utf-8", errors="replace") as file:
            return int(re.search(r"^summary: (\d+)", file.read(), re.M).group(1)), output

    def judge(self, name, figure):
        """Holds a figure against the stored one."""
        print("%s: %d" % (name, figure))
        if WRITES:
            KNOWN["figures"][name] = figure
            return
        known = KNOWN["figures"][name]
        self.assertLessEqual(figure, known * GROWTH, "%s takes %d instructions, %.1f %% more than the %d on record" % (
            name, figure, 100 * (figure / known - 1), known))
        if figure * GROWTH < known:
            print("%s takes %d instructions, %d are on record: write the new figure" % (name, figure, known))

    def judge_steps(self, name, few, many, words, options=OPTIONS, check=None):
        """words(count, part): the command with so many steps; part: it may not meet what another part met."""
        self.options = options
        surplus = {}
        for part, count in enumerate((few, many)):
            figures = {}
            for way in ("injected", "seen"):
                figures[way], output = self.count(way, words(count, part))
                if check and way == "seen":
                    check(count, output)
            surplus[count] = figures["seen"] - figures["injected"]
        self.judge(name, round((surplus[many] - surplus[few]) / (many - few)))

    def calls(self, kind):
        file = self.session.path("small/file")
        self.session.write("small/file", b"x" * 4096)
        return lambda count, part: [os.path.join(PROGRAMS, "calls"), kind, str(count), file, "4096"]

    def viewed(self, size):
        """The command that reads so many files, each of its own content."""
        def words(count, part):
            files = ["new/%d-%03d" % (part, i) for i in range(count)]
            for file in files:
                line = b"%08d The quick brown fox jumps over the lazy dog.\n" % (part * 1000 + int(file[-3:]))
                self.session.write(file, (line * (size // len(line) + 1))[:size])
            return [os.path.join(PROGRAMS, "bench_viewer"), *files]
        return words

    def test_open(self):
        self.judge_steps("open, read and close by a tool", 500, 2500, self.calls("open"))

    def test_fopen(self):
        self.judge_steps("fopen, fread and fclose by a tool", 500, 2500, self.calls("fopen"))

    def test_pread(self):
        self.judge_steps("pread by a tool", 500, 2500, self.calls("pread"))

    def test_write(self):
        self.judge_steps("open, write and close by a tool", 500, 2500, self.calls("write"))

    def test_new_file_of_a_tool(self):
        self.judge_steps("a new file, by a tool", 20, 220, self.viewed(4096), ("--agent-is", "outside"))

    def test_new_file_of_a_viewer(self):
        self.judge_steps("a new file of 4 KiB, by a viewer", 4, 44, self.viewed(4096))

    def test_known_file_of_a_viewer(self):
        viewed, ready = self.viewed(23000), {}

        def words(count, part):
            if part not in ready:
                ready[part] = viewed(count, part)
                for file in ready[part][1:]:  # each by a command of its own, so that none is too long for the agent
                    self.assertEqual(len(self.run_program("seen", ["cat", file])), 23000)
            return ready[part]

        def check(count, output):
            self.assertEqual(output.count(b"[File previously read: "), count, output[:500])
        self.judge_steps("a notice for 23 KB, by a viewer", 2, 12, words, check=check)

    def test_start(self):
        self.options = self.OPTIONS
        self.run_program("seen", ["/bin/true"])  # a session's first start of a program notes where it lies
        self.judge("start and exit of /bin/true", self.count("seen", ["/bin/true"])[0] - self.count("injected", ["/bin/true"])[0])

    def test_what_a_start_runs_lies_together(self):
        """Each page of the library that a start touches costs a fault: shim/start.ld."""
        self.options = self.OPTIONS
        self.run_program("seen", ["/bin/true"])
        self.count("seen", ["/bin/true"])
        symbols = {line[3]: (int(line[0], 16), int(line[1], 16)) for line in map(str.split, output_of("nm", "-S", LIBRARY)) if len(line) == 4}
        first = next(line.split() for line in output_of("readelf", "-SW", LIBRARY) if " .text.first " in line)
        start, size = (int(first[first.index("PROGBITS") + i], 16) for i in (1, 3))
        ran = executed(os.path.join(self.session.directory, "callgrind")) & set(symbols)
        self.assertGreater(len(ran), 40)
        self.assertEqual([name for name in sorted(ran) if not start <= symbols[name][0] < start + size], [], "not in shim/start.ld")
        touched = 16 * 4096  # by the loader, at the file's head
        self.assertEqual([name for name in sorted(ran) if sum(symbols[name]) > touched], [], "behind the first sixteen pages")

    def test_no_variable_has_a_value_from_the_file(self):
        """A page for it would be copied at each start: what begins with zeros is of memory alone."""
        self.assertEqual([line for line in output_of("readelf", "-SW", LIBRARY) if re.search(r" \.data +PROGBITS", line)], [])

    def test_names_of_what_a_start_runs(self):
        with open(os.path.join(SOURCE, "shim/start.ld"), encoding="ascii") as file:
            names = re.findall(r"\.(?:text|bss)\.(?:unlikely\.)?(\w+)", file.read())
        symbols = [line.split()[-1] for line in output_of("nm", LIBRARY)]
        known = set(symbols) | {symbol.split(".")[0] for symbol in symbols}
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name in names if name not in known | {"first", "startup"}], [], "are in shim/start.ld, and no more in the library")

    def test_system_calls_of_the_start(self):
        self.options = self.OPTIONS
        counts = {}
        self.run_program("seen", ["/bin/true"])  # a session's first start of a program notes where it lies
        for way in ("injected", "seen"):
            trace = os.path.join(self.session.directory, "strace")
            self.run_program(way, ["strace", "-f", "-qq", "-e", "signal=none", "-o", trace, "/bin/true"])
            with open(trace, encoding="utf-8", errors="replace") as file:
                counts[way] = sum(1 for line in file if re.match(r"\d+ +\w+\(", line))
        self.judge("system calls of the start of /bin/true", counts["seen"] - counts["injected"])
        if not WRITES:
            self.assertLessEqual(counts["seen"] - counts["injected"], KNOWN["figures"]["system calls of the start of /bin/true"])

"""Eight agents in one workspace: random work, kills, compactions, undos, edits by others, readers, all at once.  No notice for what was not given, nothing torn, no
reader that crashes; and memory, descriptors and disk stay where they were.

Four agents live as long as the test, four end and begin again, and these are killed.  Each has files of its own, where each notice is checked, and all have some in common.
Long form: 30 minutes; two of those that end are real agents, with their hooks, where they are installed (tests/agents).  SEEN_SECONDS sets how long, SEEN_SEED the sequence.  What was sampled goes to SEEN_SOAK, a file, and as a plot beside it, as .svg.
"""
import collections
import fcntl
import importlib
import importlib.util
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

import deaths
from harness import LONG, NOTICE, SEEN, Session, wait_until
from sealed import PATIENCE_S, SCRIPT, SEED, WAYS, descendants

SECONDS = int(os.environ.get("SEEN_SECONDS") or (1800 if LONG else 10))
AGENTS, LASTING, COMMANDS = 8, 4, 25
REAL = ("claude", "codex") if LONG else ()
OUTPUT = os.environ.get("SEEN_SOAK")
MIB = 1 << 20
SETTINGS = "[agent generic]\nmeasured = *\n[undo]\nmax_bytes = %d\n[content]\nmax_bytes = %d\n"
UNDO_BYTES, CONTENT_BYTES, PART_BYTES = 64 * MIB, 16 * MIB, 16 * MIB  # a part is the least that goes


def sample(pid):
    """(private memory in bytes, open descriptors) of a process; None: it is gone."""
    try:
        lines = pathlib.Path("/proc/%d/status" % pid).read_text().splitlines()
        memory = next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))
        return memory, len(os.listdir("/proc/%d/fd" % pid))
    except (OSError, StopIteration):
        return None


def disk_bytes(*parts):
    found = 0
    for path in pathlib.Path(*parts).rglob("*"):
        try:
            found += path.lstat().st_blocks * 512
        except OSError:
            pass
    return found


def bench_plot():
    """tests/bench/harness/plot.py: its package has the name of a module here."""
    directory = pathlib.Path(__file__).parent.parent / "bench/harness"
    spec = importlib.util.spec_from_file_location("bench_harness", directory / "__init__.py", submodule_search_locations=[str(directory)])
    sys.modules["bench_harness"] = importlib.util.module_from_spec(spec)
    return importlib.import_module("bench_harness.plot")


def draw(samples, path):
    plot = bench_plot()
    script = plot.head("light", 900, 640) + "set multiplot layout 3,1\nset key top left\nset yrange [0:*]\n"
    for title, scale, names in (("private memory, MiB", MIB, ("memory of seen run", "memory of helpers")), ("descriptors", 1, ("descriptors of seen run", "descriptors of helpers")),
                                ("disk, MiB", MIB, ("undo", "content", "journal"))):
        blocks = "".join(plot.block(name.replace(" ", "_"), [(one["at"], one[name] / scale) for one in samples]) for name in names)
        parts = ", ".join("$%s using 1:2 with lines linestyle %d title '%s'" % (name.replace(" ", "_"), line + 1, name) for line, name in enumerate(names))
        script += blocks + "set title '%s'\nset xlabel 's'\nplot %s\n" % (title, parts)
    path.write_text(plot.gnuplot(script + "unset multiplot\n"))


class Soak(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.session.configure(SETTINGS % (UNDO_BYTES, CONTENT_BYTES))
        self.random = random.Random(SEED)
        top = pathlib.Path(self.session.directory)
        self.pool, self.locks, self.report = top / "pool", top / "locks", top / "report"
        for path in (self.pool, self.locks, *(top / "workspace" / name for name in self.directories())):
            path.mkdir()
        for i in range(deaths.POOL):
            (self.pool / str(i)).write_bytes(deaths.sealed(i))
        for name in self.directories():
            self.fill(name)
        self.state = top / ".local/state/seen/test"
        self.runs, self.real, self.starts = {}, {}, 0
        self.counts = collections.Counter()
        self.addCleanup(self.finish)

    def directories(self):
        return ["shared", *("a%d" % i for i in range(AGENTS))]

    def fill(self, directory):
        for i in range(deaths.FILES):
            self.session.write("%s/f%d" % (directory, i), deaths.sealed(1000 + i))

    def words(self, number):
        return [SEEN, "run", "--quiet", "--via", WAYS[number % len(WAYS)], "--session", "test", "--workspace", self.session.workspace]

    def start_real(self):
        """In the places of the last ones.  Their runs begin again by themselves."""
        if not REAL:
            return
        import real_agent  # tests/agents
        for at, name in enumerate(real_agent.installed(REAL)):
            number = AGENTS - 1 - at
            self.session.seen("hooks", "install", name)
            self.real[number] = real_agent.RealAgent(name, [*self.words(number), "--"], self.session, self.session.path("a%d" % number), str(self.pool), str(self.locks), str(self.report),
                                                     self.random.randrange(1 << 30))
            self.real[number].start()

    def start(self, number):
        count = 10**9 if number < LASTING else COMMANDS
        self.starts += 1
        self.runs[number] = subprocess.Popen(
            [*self.words(number), "--agent", "deaths.py", "--", sys.executable, SCRIPT,
             str(self.random.randrange(1 << 30)), str(count), str(self.pool), NOTICE.decode(), str(self.report), str(self.locks), SEEN],
            cwd=self.session.path("a%d" % number), env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def finish(self):
        for real in self.real.values():
            real.stop()
        for run in self.runs.values():
            for pid in (*descendants(run.pid), run.pid) if run.poll() is None else ():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run.wait(PATIENCE_S)
        wait_until(lambda: not self.session.helpers(), PATIENCE_S)

    def patience_s(self):
        """An export has several times the bytes of its journal, and all agents work meanwhile."""
        journal = self.state / "journal"
        return PATIENCE_S + (journal.stat().st_size >> 18 if journal.exists() else 0)

    def seen(self, *words):
        done = subprocess.run([SEEN, *words], cwd=self.session.workspace, env=self.session.environment, input=b"", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=self.patience_s(), check=False)
        self.assertTrue(0 <= done.returncode < 125 and done.returncode != 2, (words, done))
        self.counts[words[0]] += 1
        return done

    # ---- what happens ----

    def kill(self):
        """Any process below a run that does not last, or a viewer or shell below one that does."""
        number = self.random.randrange(AGENTS)
        run = self.real[number].process if number in self.real else self.runs[number]
        below = descendants(run.pid) if run and run.poll() is None else []
        targets = [run.pid, *below] if below and number >= LASTING else [pid for pid in below if self.is_command(pid)]
        try:
            os.kill(self.random.choice(targets), signal.SIGKILL)
            self.counts["kill"] += 1
        except (ProcessLookupError, IndexError):
            pass

    @staticmethod
    def is_command(pid):
        try:
            return pathlib.Path("/proc/%d/comm" % pid).read_text().strip() in ("cat", "bash", "cp", "mv", "rm", "sed")
        except OSError:
            return False

    def edit(self):
        """Another program's, while no agent works."""
        directory = self.random.choice(self.directories())
        with deaths.held(self.locks, fcntl.LOCK_EX):
            self.session.write("%s/f%d" % (directory, self.random.randrange(deaths.FILES)), deaths.sealed(self.random.randrange(deaths.POOL)))
        self.counts["edit"] += 1

    def undo(self):
        with deaths.held(self.locks, fcntl.LOCK_EX):
            for words in self.random.choice(((("undo", "--last"),), (("undo", "--last"), ("redo",)), (("undo", "--all"), ("redo",)), (("undo", "--all"),))):
                self.seen(*words, "--session", "test")
            torn = deaths.torn_files(self.session.workspace)
            self.assertEqual([(path, pathlib.Path(path).read_bytes()) for path in torn], [], words)
            for name in self.directories():
                os.makedirs(self.session.path(name), exist_ok=True)
                if self.random.random() < 0.1:
                    self.fill(name)

    def read(self):
        words = self.random.choice(deaths.READERS)
        self.seen(words[0], *(("--session", "test") if words[0] not in deaths.OF_ALL_SESSIONS else ()), *words[1:])

    def collect(self):
        self.seen("gc")

    def sample(self):
        found = {"seen run": [sample(run.pid) for number, run in self.runs.items() if number < LASTING], "helpers": [sample(pid) for pid, _ in self.session.helpers()]}
        one = {"at": time.monotonic() - self.began, "undo": disk_bytes(self.state, "undo"), "content": disk_bytes(self.state, "content"), "journal": (self.state / "journal").stat().st_blocks * 512}
        for name, those in found.items():
            those = [values for values in those if values]
            for at, what in enumerate(("memory", "descriptors")):
                one["%s of %s" % (what, name)] = max((values[at] for values in those), default=0)
        self.samples.append(one)

    def check_bounds(self):
        """Once all has begun, no more of anything."""
        third = len(self.samples) // 3
        for name in self.samples[0]:
            if not name.startswith(("memory", "descriptors")):
                continue
            first, last = (max(one[name] for one in part) for part in (self.samples[third // 2:2 * third], self.samples[2 * third:]))
            self.assertLessEqual(last, first * 1.5 + (4 * MIB if name.startswith("memory") else 16), name)
        self.assertLessEqual(max(one["undo"] for one in self.samples), UNDO_BYTES + 2 * PART_BYTES)
        self.assertLessEqual(max(one["content"] for one in self.samples), CONTENT_BYTES + 2 * PART_BYTES)

    def test_soak(self):
        self.samples, self.began = [], time.monotonic()
        self.start_real()
        for number in range(AGENTS):
            if number not in self.real:
                self.start(number)
        wait_until((self.state / "journal").exists, PATIENCE_S)
        next_sample, due = 0, []
        while time.monotonic() < self.began + SECONDS:
            time.sleep(self.random.random() * 0.1)
            for number, run in list(self.runs.items()):
                if run.poll() is not None:
                    self.assertFalse(deaths.died_by_fault(run.returncode), run.returncode)
                    self.assertFalse(number < LASTING, ("an agent that lasts has ended", run.returncode))
                    self.start(number)
            if not due:
                due = [self.kill, self.kill, self.kill, self.edit, self.edit, self.undo, self.read, self.collect]
                self.random.shuffle(due)
            due.pop()()
            if time.monotonic() - self.began > next_sample:
                self.sample()
                next_sample += max(SECONDS / 200, 0.5)
        self.finish()
        lines = collections.Counter(self.report.read_text().splitlines() if self.report.exists() else ())
        notices = lines.pop("notice", 0)
        self.assertEqual(lines, {})
        self.assertGreater(notices, 0)
        self.assertEqual(deaths.torn_files(self.session.workspace), [])
        wrong = deaths.read_all(SEEN, lambda words: self.seen(*words[1:]), ("--session", "test"))
        self.assertEqual([one for one in wrong if not self.real or "an event of" not in one], [])  # real agents look for files of other names
        if OUTPUT:
            pathlib.Path(OUTPUT).write_text(json.dumps(self.samples))
            draw(self.samples, pathlib.Path(OUTPUT).with_suffix(".svg"))
        self.check_bounds()
        last = self.samples[-1]
        self.counts.update({"of " + real.agent.name: real.commands for real in self.real.values()})
        self.starts += sum(real.runs for real in self.real.values())
        print("seed %d: %d s, %d runs, %d notices; %s; at the end: %s" % (SEED, SECONDS, self.starts, notices, ", ".join("%d %s" % (count, name) for name, count in sorted(self.counts.items())),
                                                                    ", ".join("%s %d%s" % (name, *((last[name], "") if "desc" in name else (last[name] >> 20, " MiB"))) for name in last if name != "at")))


if __name__ == "__main__":
    unittest.main()

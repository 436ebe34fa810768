"""Wrong changes of the sources, one at a time, that a test must find (support/mutants.py).

Short form: the mutants that survived once, each by the test that kills it now.  Long form: SEEN_MUTANTS of the pure rooms and of undo (300), judged by
the unit tests that are nearest to their file, those of undo by behaviour tests besides; and SEEN_SHIM_MUTANTS of shim/ (150), judged by fast tests of its
own that run the mutant's line, by the preset `coverage` (build/faults/reached.json).  SEEN_SEED chooses the sample.  As many are judged at once as there are processors, by the preset `mutants`.
What becomes of each is added to build/faults/mutants.txt, and is not judged again: a run that was stopped goes on where it was.  A survivor is judged
anew where its line is taken out of that file.  equals.txt has what is known to do nothing wrong,
survivors.txt what no test has found.
"""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import time
import unittest

import coverage
from mutants import EQUAL, NO_C, SANDBOX, SURVIVES, Judge, mutants_of, mutated

SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])
BUILD = pathlib.Path(os.environ["SEEN_BUILD"])
RESULTS = SOURCE / "build" / "faults" / "mutants.txt"
EQUALS, SURVIVORS = (SOURCE / "tests" / "faults" / name for name in ("equals.txt", "survivors.txt"))
COUNTED = SOURCE / "build" / "coverage"
REACHED = SOURCE / "build" / "faults" / "reached.json"
LONG = bool(os.environ.get("SEEN_LONG"))
COUNT = int(os.environ.get("SEEN_MUTANTS") or 300)
SHIM_COUNT = int(os.environ.get("SEEN_SHIM_MUTANTS") or 150)
SEED = int(os.environ.get("SEEN_SEED") or 20261127)
LEAST = 0.9  # of those that are judged
TESTS_MAX = 12  # that a mutant of a pure room is tried by, the nearest
SECONDS_MAX = 60  # of the tests that a mutant of shim/ is tried by, the shortest, in a build that counts
ROOMS = ("tracker/path", "tracker/segment", "tracker/journal", "tracker/process", "tracker/content", "tracker/answer", "tracker/guard", "cli/undo")
SHIM_ROOMS = ("shim/call", "shim/keep", "shim/start", "shim/preload", "shim/preload/follow", "shim/supervise")
SHIM_UNITS = ("call", "supervise", "supervise_filter", "supervise_memory")
# These wait for the kernel: by the files that they are about.
SHIM_UNITS_SLOW = {"open_below": ("shim/supervise/open_below.c",), "supervise_names": ("shim/supervise/",),
                   "exec_request": ("shim/start/", "shim/supervise/reception.c", "shim/supervise/guardian.c", "shim/supervise/supervisor.c")}
PROGRAMS = ("errno_kept", "call_faults", "exec_family", "environment_kept", "dup_games", "raw_calls", "real_names", "stdio_modes", "walks", "temporary_files", "spawn_actions", "commands", "bad_pointers")
# FILE:CLASS.METHOD of tests/behaviour/test_FILE.py, the shortest first.
BEHAVIOUR = ("each_name:", "viewers:", "answers:", "undo_kept:", "undo_supervised:", "guard_names:", "rule_calls:", "syscalls:", "keep:", "lineage:", "sink_connected:", "limits:",
             "metadata:", "guard:", "supervise:", "exec_bare:", "whitelist:", "undo:", "notice_guard:Answered", "notice_guard:Injected", "rule_sets:", "exec_supervised:", "external_agent:",
             "requests_forms:", "requests_git:Answered", "diff:", "journal:", "changed:", "rights:", "unreported:", "undo_open:", "rules_strict:")
UNDO = ("undo_kept:", "story:", "undo_found:", "undo_strange:", "undo_merge:", "blame:", "undo_external:", "undo_names:", "undo_git:", "undo_harm:", "undo:", "diff:")
# What a file's name begins with, and what is tried first.
UNDO_FIRST = (("git", "undo_git:", "undo_git_places:", "undo_git_objects:"), ("pick", "undo_picker:"), ("diff", "story:", "undo:"), ("cmd_diff", "story:", "undo:"), ("blame", "blame:"), ("cmd_blame", "blame:"),
              ("story", "story:"), ("merge", "undo_merge:"), ("patch", "undo_merge:"), ("versions", "versions:", "versions_store:"), ("cmd_versions", "versions:"), ("cmd_restore", "versions:"))
# path, what is there, what the mutant has there, the test that kills it
KILLED = (
    ("tracker/content/contents.c", "\tif (error == 0 && closed < 0 && closed != -EINTR)", "\tif (false)", "unit contents"),
    ("tracker/content/contents_inputs.c", "\t\tif (error == 0 && closed < 0 && closed != -EINTR)", "\t\tif (false)", "unit contents"),
    ("tracker/process/attach.c", "process_pid_ns() != context->pid_ns ||\n\t    (kind", "\n\t    (kind", "unit process"),
)


def listed(file):
    """The changes of equals.txt or survivors.txt, as (path, line, what the mutant has there)."""
    for line in file.read_text().splitlines():
        if line.startswith("\t"):
            path, _, change = line[1:].partition(": ")
            yield path, *change.split("  ->  ")


def sources(rooms):
    return sorted(os.path.relpath(file, SOURCE) for room in rooms for file in (SOURCE / room).glob("*.c"))


class Mutants(unittest.TestCase):
    def setUp(self):
        if not shutil.which("bwrap") or subprocess.run([*SANDBOX, "test", "-x", BUILD / "bin/seen"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no bubblewrap here, or it hides the build: a mutant is not run without it")
        if not os.access(BUILD, os.W_OK):
            self.skipTest("the build is another user's")
        if not (BUILD / "compile_commands.json").exists() or not shutil.which("ninja"):
            self.skipTest("the build has no commands to make mutants by")
        self.scratch = BUILD / "faults" / str(os.getpid())  # not below /tmp, which is another one in the sandbox
        self.scratch.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.judge = Judge(SOURCE, BUILD, self.scratch)

    @unittest.skipIf(LONG, "the short form")
    def test_killed(self):
        for path, old, new, test in KILLED:
            with self.subTest(path=path, new=new):
                text = (SOURCE / path).read_text()
                self.assertEqual(text.count(old), 1, "that line is not there any more")
                self.assertEqual(self.judge.judge(path, text.replace(old, new), [test]), test)

    @unittest.skipIf(LONG, "the short form")
    def test_what_is_listed_is_there(self):
        for path, line, new in [*listed(EQUALS), *listed(SURVIVORS)]:
            with self.subTest(path=path, new=new):
                self.assertIn(line, [one.strip() for one in (SOURCE / path).read_text().split("\n")])

    def judge_sample(self, what, paths, count, tests):
        """tests(mutant): which may kill it, in that order; what killed another of its file is tried before."""
        mutants = [mutant for path in paths for mutant in mutants_of(path, (SOURCE / path).read_text())]
        random.Random(SEED).shuffle(mutants)
        found, start = collections.Counter(), time.monotonic()
        killers = collections.defaultdict(collections.Counter)
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        jobs, equal = os.cpu_count(), set(listed(EQUALS))
        judges = [self.judge.beside(self.scratch / ("%s.%d" % (what[:4], number))) for number in range(jobs)]

        def become(mutant):
            text = (SOURCE / mutant.path).read_text()
            line, new = (one.split("\n")[mutant.line - 1].strip() for one in (text, mutated(text, mutant)))
            change = "%s:%d: %s  ->  %s" % (mutant.path, mutant.line, line, new)
            if (mutant.path, line, new) in equal:
                return EQUAL
            if change not in known:
                judge = judges.pop()
                known[change] = judge.judge(mutant.path, mutated(text, mutant), sorted(tests(mutant), key=lambda test: -killers[mutant.path][test]))
                judges.append(judge)
                print("%s: %s" % (known[change], change), file=results, flush=True)
            if known[change] in (EQUAL, NO_C, SURVIVES):
                return known[change]
            killers[mutant.path][known[change]] += 1
            return "killed"

        with open(RESULTS, "a+") as results, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            results.seek(0)
            known = dict(reversed(line.rstrip("\n").split(": ", 1)) for line in results)
            left = iter(mutants)
            while missing := count - found["killed"] - found[SURVIVES]:
                if not (batch := list(itertools.islice(left, missing))):
                    break
                found.update(pool.map(become, sorted(batch, key=lambda mutant: sum(not test.startswith("unit ") for test in tests(mutant)))))
        judged = found["killed"] + found[SURVIVES]
        print("%s, seed %d: %d judged of %d mutants, %d killed, %d survive (%s); besides, %d equal, %d no C; %d s" %
              (what, SEED, judged, len(mutants), found["killed"], found[SURVIVES], RESULTS, found[EQUAL], found[NO_C], time.monotonic() - start))
        self.assertGreaterEqual(found["killed"], LEAST * judged)

    @unittest.skipUnless(LONG, "the long form")
    def test_rooms(self):
        near = {path: self.judge.units_by_distance(path)[:TESTS_MAX] for path in sources(ROOMS)}
        for path in sources(["cli/undo"]):
            first = [name for begin, *names in UNDO_FIRST if path.startswith("cli/undo/" + begin) for name in names]
            near[path] += ["behaviour preload " + name for name in dict.fromkeys([*first, *UNDO])]
        self.judge_sample("tracker/ and undo", sources(ROOMS), COUNT, lambda mutant: near[mutant.path])

    def reached(self, tests):
        """{test: (its seconds, {path: the lines that it runs})}, and {path: all lines with code}."""
        known = json.loads(REACHED.read_text()) if REACHED.exists() else {"tests": {}, "code": {}}
        counters = COUNTED / "counters"
        for test in tests:
            if test in known["tests"]:
                continue
            for file in counters.iterdir():
                file.unlink()
            start = time.monotonic()
            self.judge.passes_by(test, COUNTED, counters)
            seconds = time.monotonic() - start
            found = coverage.lines(SOURCE, [coverage.dump(COUNTED, name) for name in ("seen", "seen_preload")], "shim/")
            known["tests"][test] = seconds, {path: [line for line, ran in lines.items() if ran] for path, lines in found.items()}
            known["code"].update({path: sorted({*lines, *known["code"].get(path, ())}) for path, lines in found.items()})
            REACHED.write_text(json.dumps(known))
        return known["tests"], known["code"]

    @unittest.skipUnless(LONG, "the long form")
    def test_shim(self):
        preload, supervise, both = (["program %s %s" % (program_way, name) for name in PROGRAMS] + ["behaviour %s %s" % (way, name) for name in BEHAVIOUR]
                                    for way, program_way in (("preload", "agent"), ("supervise", "supervise"), ("both", "both")))
        reached, code = self.reached(preload + supervise + both)
        self.judge.patience_s = {test: max(30, 15 * seconds) for test, (seconds, _) in reached.items()}

        def tests(mutant):
            room = mutant.path.rpartition("/")[0]
            line = max((line for line in code[mutant.path] if line <= mutant.line), default=0)  # where its statement begins
            those = [*(supervise if not room.startswith("shim/preload") else []), *(preload if room != "shim/supervise" else []), *both]
            those = sorted((test for test in those if line in reached[test][1].get(mutant.path, ())), key=lambda test: reached[test][0])
            ends = itertools.accumulate(reached[test][0] for test in those)
            those = [test for test, end in zip(those, ends) if end - reached[test][0] <= SECONDS_MAX]
            quick = SHIM_UNITS if not room.startswith("shim/preload") else ()
            slow = [name for name, paths in SHIM_UNITS_SLOW.items() if mutant.path.startswith(paths)]
            return ["unit " + name for name in quick] + those + ["unit " + name for name in slow]

        self.judge_sample("shim/", sources(SHIM_ROOMS), SHIM_COUNT, tests)


if __name__ == "__main__":
    unittest.main()

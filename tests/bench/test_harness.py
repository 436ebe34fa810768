"""The harness of tests/bench: its sums, what it does where something is missing or did not do its work, its JSON, plots and page.

Nothing here is timed, and no figure is judged.
"""
import contextlib
import copy
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree

HERE = os.path.join(os.environ["SEEN_SOURCE"], "tests/bench")
BUILD = os.environ["SEEN_BUILD"]
for loaded in [name for name in sys.modules if name.split(".")[0] == "harness"]:
    del sys.modules[loaded]  # tests/support/harness.py is another
sys.path.insert(0, HERE)

from harness import figures, goals, page, place, plot, runner, tables, way, ways, works, works_undo  # noqa: E402

loader = importlib.machinery.SourceFileLoader("bench_run", os.path.join(HERE, "run"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
loader.exec_module(bench)

try:
    import jsonschema
except ImportError:
    jsonschema = None

S = place.Sample


class Made(works.Work):
    """A work that takes as long as it is asked to."""
    group, name, goals = "starts", "made", ("start",)
    ways = ("bare", "injected", "substitute", "strace", "strace bpf")
    took = {"bare": 1000, "injected": 1100, "substitute": 2200, "strace": 9000, "strace bpf": 4000}

    def __init__(self, where=None, name="made"):
        super().__init__(where)
        self.name = name
        self.calls = []

    def sample(self, way, number):
        self.calls.append((way, number))
        return S(self.took[way] * (10 + number), self.took[way] / 2, {"bytes": 10})


class Sizes(works.Work):
    """A work with ways of its own."""
    group, name, unit = "journal", "sizes", ("ns", 1)
    own, ways, bases, goals = {"small": "little", "large": "much"}, ("small", "large"), ("small",), ()

    def sample(self, way, number):
        return S(50 if way == "small" else 75, 40, {"bytes": 128})


class Counted(works.Study):
    group, name, goals = "window", "counted", ()

    def measure(self, rounds):
        return {"data": {"rounds": rounds}, "figures": {"rounds": rounds}, "tables": [
            {"title": "counted", "header": ["what", "how many"], "rows": [["rounds | turns", str(rounds)]], "note": "A note."}]}


class Empty(Made):
    """A work whose runs do nothing."""
    name = "a work that does nothing"
    ways = ("bare",)

    def sample(self, way, number):
        return self.place.sample(way, ["true"], 1, lambda output: True)


def document(measured):
    """A JSON document as a run makes it."""
    return {"schema": "seen-bench/2", "command": "tests/bench/run --some", "rounds": 3, "seconds": 7, "quick": False, "without": {"strace": "by --without"},
            "machine": {"kernel": "6.1", "architecture": "x86_64", "cpu": "A processor", "cores": 2, "virtual": False, "memory_kb": 8388608,
                        "system": "Debian", "libc": "glibc 2.36", "file_system": "ext4", "build_type": "Release", "seen": "seen 0.1.0",
                        "commit": "abc123", "date": "2026-01-02", "load_at_start": 0.1, "load_at_end": 0.9, "others_processors": 0.01,
                        "stolen_processors": 0.0},
            "ways": [way.described(ways.ALL[name]) for name in Made.ways], "abilities": way.ABILITIES,
            "groups": works.GROUPS, **measured}


class TestFigures(unittest.TestCase):
    def test_quartiles(self):
        self.assertEqual(figures.quartiles([3]), [3, 3, 3])
        self.assertEqual(figures.quartiles([5, 1, 3, 2, 4]), [2, 3, 4])
        self.assertEqual(figures.quartiles(iter([1, 2])), [1.25, 1.5, 1.75])

    def test_ratios_are_taken_between_neighbours(self):
        work = Made()
        samples = {"bare": {0: S(10, 5), 1: S(100, 50), 2: S(20, 10)}, "injected": {0: S(10, 5), 1: S(100, 50), 2: S(40, 10)},
                   "substitute": {0: S(30, 10), 2: S(60, 20)}}
        result = figures.figures_of(work, samples)["ways"]["substitute"]
        self.assertEqual(result["wall_to"]["bare"], [3, 3, 3])  # 30/10 and 60/20; the round of 100 has no such sample
        self.assertEqual(result["wall_to"]["injected"], [1.875, 2.25, 2.625])
        self.assertEqual(result["more_ns_than"]["bare"], [25, 30, 35])
        self.assertEqual(result["cpu_to"]["bare"], [2, 2, 2])
        self.assertEqual((result["turns"], result["samples_wall_ns"]), ([0, 2], [30, 60]))
        with self.assertRaises(ValueError):
            figures.figures_of(work, {"bare": {0: S(1, 1)}, "substitute": {1: S(1, 1)}})

    def test_no_ratio_of_processor_time_to_none(self):
        result = figures.figures_of(Made(), {"bare": {0: S(10, 0)}, "substitute": {0: S(10, 5)}})["ways"]["substitute"]
        self.assertEqual(result["cpu_to"], {})

    def test_doubts(self):
        measured = {"works": [{**figures.figures_of(Made(), {"bare": {i: S(10, 5) for i in range(4)}, "substitute": {i: S(20, 5) for i in range(4)}}),
                               "again": {}}],
                    "studies": [], "goals": []}
        self.assertEqual(figures.warnings(document(measured)), [])
        for member, value, said in (("load_at_start", 1.1, "busy"), ("others_processors", 0.5, "Others"), ("stolen_processors", 0.3, "host"),
                                    ("build_type", "Debug", "release")):
            doubtful = document(measured)
            doubtful["machine"][member] = value
            self.assertEqual(len(figures.warnings(doubtful)), 1)
            self.assertIn(said, figures.warnings(doubtful)[0])
        lost = copy.deepcopy(document(measured))
        lost["works"][0]["ways"]["substitute"]["proof"] = {"lost": 3}
        self.assertIn("made: 3", figures.warnings(lost)[0])
        wide = document({**measured, "works": [{**figures.figures_of(Made(), {
            "bare": {i: S(10, 5) for i in range(4)}, "substitute": {i: S(20 + 10 * i, 5) for i in range(4)}}), "again": {}}]})
        self.assertIn("spread is wide", figures.warnings(wide)[0])
        self.assertIn("~", tables.all_text(wide))


class TestRunner(unittest.TestCase):
    def test_turns(self):
        plan = runner.Schedule(Made(), 4, 1e9)
        plan.fit(dict.fromkeys(Made.ways, 1))
        order = [[way for way, _ in plan.turns(number)] for number in range(5)]
        self.assertEqual(order[0], list(Made.ways))
        self.assertEqual(order[1], [Made.ways[i] for i in (1, 0, 4, 3, 2)])
        before = {way: {ways_of_round[i] for ways_of_round in order for i, after in enumerate(ways_of_round[1:]) if after == way}
                  for way in Made.ways}
        self.assertTrue(all(len(others) > 1 for others in before.values()), before)  # no way always comes after the same
        self.assertTrue(all(sorted(ways_of_round) == sorted(Made.ways) for ways_of_round in order[:4]))
        self.assertEqual(order[4], [])

    def test_slow_ways_have_fewer_rounds_with_the_bases_beside_them(self):
        plan = runner.Schedule(Made(), 15, 22)
        plan.fit({"bare": 0.1, "injected": 0.1, "substitute": 0.2, "strace": 10, "strace bpf": 0.25})
        self.assertEqual(plan.rounds, {"bare": 15, "injected": 15, "substitute": 15, "strace": 3, "strace bpf": 4})
        rounds = {way: [number for number in range(15) if way in plan.ways_of(number)] for way in Made.ways}
        self.assertEqual({way: len(numbers) for way, numbers in rounds.items()}, plan.rounds)
        self.assertGreaterEqual(min(b - a for a, b in zip(rounds["strace"], rounds["strace"][1:])), 4)  # evenly spread

    def test_short_works_have_several_turns(self):
        work = Made()
        work.repeats = 5
        plan = runner.Schedule(work, 10, 11)
        plan.fit({"bare": 0.001, "injected": 0.001, "substitute": 0.001, "strace": 1, "strace bpf": 0.001})
        self.assertEqual(plan.repeats, {"bare": 5, "injected": 5, "substitute": 5, "strace": 1, "strace bpf": 5})
        turns = list(plan.turns(9))
        self.assertEqual(len(turns), len(set(turns)))
        self.assertEqual(sum(way == "bare" for way, _ in turns), 5)

    def test_all_works_have_a_group_ways_and_goals_that_are_there(self):
        with tempfile.TemporaryDirectory() as directory:
            found = works.all_works(place.Place(directory, ways.ALL))
            self.assertGreater(len(found), 20)
            for work in found:
                self.assertIn(work.group, works.GROUPS)
                for goal in work.goals:
                    self.assertIn(goal, goals.ALL)
                if not isinstance(work, works.Study):
                    for way in work.ways:
                        self.assertTrue(way in work.own or way in ways.ALL, (work.name, way))
        self.assertEqual({goal for work in found for goal in work.goals}, set(goals.ALL), "a goal that no work has")


class TestRoom(unittest.TestCase):
    def test_what_was_destroyed_is_all_kept_or_it_is_no_sample(self):
        kept = types.SimpleNamespace(store_bytes=lambda place: kept.bytes, bytes=1100)
        work = types.SimpleNamespace(lost_bytes={}, place=types.SimpleNamespace(ways={"substitute": kept, "bare": kept}))
        self.assertEqual(works_undo.with_store(work, "bare", S(1, 1), 1000), S(1, 1))
        self.assertEqual(works_undo.with_store(work, "substitute", S(1, 1), 1000).extra, {works_undo.STORE: 1.1})
        with self.assertRaisesRegex(place.Failed, "of 2000 bytes that were destroyed 1100 were kept"):
            works_undo.with_store(work, "substitute", S(1, 1), 1000)


class TestGoals(unittest.TestCase):
    def test_verdicts(self):
        work = Made()
        entry = figures.figures_of(work, {way: {0: work.sample(way, 0)} for way in work.ways})
        verdict, = goals.verdicts([entry])
        self.assertEqual((verdict["goal"], verdict["value"], verdict["met"]), ("start", [2, 2, 2], False))
        entry["ways"]["substitute"]["wall_to"]["injected"] = [0.5, 1.08, 9]
        self.assertTrue(goals.verdicts([entry])[0]["met"])  # the median counts

    def test_to_another_work(self):
        one, many = Made(), Made()
        one.name, one.goals, many.goals = goals.OPEN, (), ("64 at once",)
        many.took = {**Made.took, "substitute": 4400}
        entries = [figures.figures_of(work, {way: {0: work.sample(way, 0)} for way in work.ways}) for work in (one, many)]
        self.assertEqual(goals.verdicts(entries)[0]["value"], [2, 2, 2])
        self.assertEqual(goals.verdicts(entries[1:]), [])  # nothing to compare with


class Stub(ways.Way):
    """Runs a command bare, and reports finish()."""
    kind = "bare"

    def __init__(self, name):
        self.name = name

    def wrap(self, where, command, env):
        return command, env

    def prove(self, where):
        pass

    def finish(self, where):
        return {"finished": 1}


class TestDocument(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        where = place.Place(cls.directory, {name: Stub(name) for name in Made.ways})
        cls.result = document(runner.measure(where, [Made(where), Made(where, "a work with <a> 'name' | & \"more\""), Sizes(where),
                                                     Counted(where)], 3, 1e9, lambda text: None))
        cls.file = os.path.join(cls.directory, "result.json")
        with open(cls.file, "w", encoding="utf-8") as file:
            json.dump(cls.result, file)

    @unittest.skipUnless(jsonschema, "no python3-jsonschema")
    def test_schema(self):
        with open(os.path.join(HERE, "harness/schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        with open(self.file, encoding="utf-8") as file:
            validator.validate(json.load(file))
        broken = copy.deepcopy(self.result)
        broken["works"][0]["ways"]["bare"]["wall_ns"] = [1, 2]
        self.assertFalse(validator.is_valid(broken))

    def test_plots_are_xml(self):
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot")
        for name, draw in plot.PLOTS.items():
            for theme in plot.THEMES:
                root = xml.etree.ElementTree.fromstring(draw(self.result, theme))
                self.assertTrue(root.tag.endswith("svg"), name)
                self.assertIn("process start" if name == "goals" else "a work with <a> 'name' | & \"more\"", "".join(root.itertext()))
        self.assertIsNone(plot.goals({**self.result, "goals": []}, "light"))

    def test_page(self):
        text = page.page_of(self.result, "stem")
        self.assertEqual(text, page.page_of(json.loads(json.dumps(self.result)), "stem"))
        for part in ("`tests/bench/run --some` of commit abc123 on 2026-01-02", "* strace: by --without\n", "A processor, 2 cores",
                     "| process start | made | ≤ 1.08 × injection only | 2.000 (2.00..2.00) | MISSED |", "A note.", "rounds \\| turns",
                     "Not measured in this run: tools", "stem-goals-dark.svg", "| large"):
            self.assertIn(part, text)
        lines = text.splitlines()
        for i, line in enumerate(lines):  # every table is one: as many cells in each row
            if line.startswith("|") and i and lines[i - 1].startswith("|"):
                self.assertEqual(line.replace("\\|", "").count("|"), lines[i - 1].replace("\\|", "").count("|"), line)

    def test_page_of_a_file(self):
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot")
        target = os.path.join(self.directory, "page.md")
        done = subprocess.run([os.path.join(HERE, "run"), "--from", self.file, "--page", target], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("MISSED", done.stdout)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, page.page_of(self.result, "page"))
        for name in ("goals", "ratios"):
            for theme in ("light", "dark"):
                self.assertIn("page-%s-%s.svg" % (name, theme), text)
                self.assertTrue(os.path.exists(os.path.join(self.directory, "page-%s-%s.svg" % (name, theme))))

    def test_first_page(self):
        """docs/performance.md: the beginning of the page, without the tables of works; the page in docs is one."""
        text = page.first_page_of(self.result, "first")
        whole = page.page_of(self.result, "first")
        goals = text.index("## Goals")
        self.assertEqual(text[:goals], whole[:goals])
        self.assertNotIn("| large", text)
        self.assertIn("MISSED", text)
        with open(os.path.join(HERE, "../../docs/performance.md"), encoding="utf-8") as file:
            committed = file.read()
        self.assertEqual(re.findall("(?m)^## .*", committed), re.findall("(?m)^## .*", text))
        self.assertTrue(committed.endswith(text[text.index("## All figures"):]))
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot: only the text")
        target = os.path.join(self.directory, "first.md")
        done = subprocess.run([os.path.join(HERE, "run"), "--from", self.file, "--first-page", target], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(target, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        self.assertTrue(os.path.exists(os.path.join(self.directory, "first-ratios-dark.svg")))

    def test_the_section_on_undo_alone(self):
        """It names its own run and has undo's goals; all else on the page stays."""
        target = os.path.join(self.directory, "renewed.md")
        first = page.first_page_of(self.result, "renewed")
        with open(target, "w", encoding="utf-8") as file:
            file.write(first)
        later = copy.deepcopy(self.result)
        later["machine"].update(commit="def456", date="2026-02-03", load_at_start=0.3, load_at_end=1.2)
        later["works"][0]["group"] = "undo"
        later["goals"].append({**later["goals"][0], "goal": "undo unlink", "title": "undo, unlink of 4 KiB"})
        source = os.path.join(self.directory, "later.json")
        with open(source, "w", encoding="utf-8") as file:
            json.dump(later, file)
        words = [os.path.join(HERE, "run"), "--from", source, "--undo-section", target]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(target, encoding="utf-8") as file:
            text = file.read()
        heading = "## Kept for undo"
        begin, end = (text.index(at) for at in (heading, "## Beside others"))
        self.assertEqual(text[:begin] + text[end:], first[:first.index(heading)] + first[first.index("## Beside others"):])
        for part in ("of commit def456 on 2026-02-03; load 0.3 at its start, 1.2 at its end", "| undo, unlink of 4 KiB |", "against bare",
                     "Not measured in this run: undo, `rm -rf`"):
            self.assertIn(part, text[begin:end])
        self.assertNotIn("process start |", text[begin:end])
        self.assertNotIn("undo, ", text[:begin])
        with open(target, "w", encoding="utf-8") as file:
            file.write("# Another page\n")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, open(target, encoding="utf-8").read()), (1, "# Another page\n"))
        self.assertIn("no section", done.stderr)

    def test_another_file(self):
        for content in ("{}", "[]", "no JSON"):
            other = os.path.join(self.directory, "other.json")
            with open(other, "w", encoding="ascii") as file:
                file.write(content)
            done = subprocess.run([os.path.join(HERE, "run"), "--from", other], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(other, done.stderr)


class TestFailure(unittest.TestCase):
    def main(self, found, *arguments):
        """(exit status, standard error) of the command line with these works."""
        errors, kept = io.StringIO(), works.all_works
        works.all_works = found
        try:
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                return bench.main(["--quick", *arguments]), errors.getvalue()
        finally:
            works.all_works = kept

    def run_bench(self, *arguments, path):
        done = subprocess.run([os.path.join(HERE, "run"), "--quick", *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path})
        return done.returncode, done.stderr

    def test_a_work_that_did_not_do_its_work(self):
        status, errors = self.main(lambda where: [Empty(where, "a work that does nothing")])
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"\Abench failed, no figures: a work that does nothing: bare: true: no report")

    def test_a_peer_that_fails_is_named_with_the_remedy(self):
        class Falls(Made):
            ways = ("bare", "strace")

            def sample(self, way, number):
                if way == "strace":
                    raise place.Failed("strace: it fell\nand said so")
                return S(1, 1)

        with tempfile.TemporaryDirectory() as directory:
            where = place.Place(directory, ways.ALL)
            with self.assertRaisesRegex(place.Failed, r"^made: strace: it fell \(--without strace leaves it out\)\nand said so$"):
                runner.measure(where, [Falls(where)], 3, 1e9, lambda text: None)

    def test_a_peer_that_fails_once(self):
        class Stumbles(Made):
            ways = ("bare", "strace")
            falls = ["strace"]

            def sample(self, way, number):
                if way in self.falls:
                    self.falls.remove(way)
                    raise place.Failed("%s: it stumbled\nand said so" % way)
                return S(1, 1)

        with tempfile.TemporaryDirectory() as directory:
            where = place.Place(directory, ways.ALL)
            measured = runner.measure(where, [Stumbles(where)], 3, 1e9, lambda text: None)
            self.assertEqual(measured["works"][0]["again"], {"strace": "strace: it stumbled"})
            self.assertIn("made: strace: it stumbled.", " ".join(figures.warnings(document(measured))))
            for falls in (["strace", "strace"], ["bare"]):  # a second time; seen's and bare have no second try
                Stumbles.falls = falls
                with self.assertRaises(place.Failed):
                    runner.measure(where, [Stumbles(where)], 3, 1e9, lambda text: None)

    def test_wrong_output(self):
        class Wrong(works.Spawn):
            def __init__(self, where):
                super().__init__(where, "starts", "a wrong work", ["echo", "other"], 2, b"expected\n", ways=("bare",))

        status, errors = self.main(lambda where: [Wrong(where)])
        self.assertEqual(status, 1)
        self.assertRegex(errors, "a wrong work: bare: .*not the expected output: 12 bytes")

    def test_a_run_that_fails_or_complains(self):
        for script in ("exit 3", "echo complaint >&2"):
            status, errors = self.main(lambda where, script=script: [works.Spawn(
                where, "starts", "a bad work", ["sh", "-c", script], 1, ways=("bare",))])
            self.assertEqual(status, 1)
            self.assertIn("a bad work: bare: ", errors)

    def test_a_program_that_is_missing(self):
        class Needs(Made):
            programs = ("no-such-program",)

        status, errors = self.main(lambda where: [Needs(where)])
        self.assertEqual((status, errors.count("\n")), (1, 1))
        self.assertIn("no-such-program", errors)

    def test_no_such_work_or_way(self):
        status, errors = self.main(lambda where: [], "--only", "nothing has this name")
        self.assertEqual((status, errors.count("\n")), (1, 1))
        for wrong in (["--without", "nobody"], ["--without", "bare"], ["--only", "("], ["--rounds", "0"]):
            with self.assertRaises(SystemExit) as ended:
                self.main(lambda where: [], *wrong)
            self.assertEqual(ended.exception.code, 2)

    def path_without(self, *names):
        """A directory with what the bench and its work need, but these."""
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        for name in ("sh", "env", "python3", "cat", "true", "git", "stat"):
            if name not in names and shutil.which(name):
                os.symlink(shutil.which(name), os.path.join(directory, name))
        return directory

    def test_a_missing_peer(self):
        path = self.path_without("strace")
        status, errors = self.run_bench("--only", "start of /bin/true", "--ways", "^strace$", path=path)
        self.assertEqual(status, 1)
        self.assertIn("strace is not installed: apt-get install strace", errors)
        status, errors = self.run_bench("--only", "start of /bin/true", "--ways", "^strace$", "--without", "strace", path=path)
        self.assertEqual((status, errors), (0, ""))

    def test_a_peer_that_is_not_permitted(self):
        class Forbidden(Stub):
            kind, description = "peer", "is not permitted"

            def permitted(self):
                return "needs a key"

        forbidden = Forbidden("forbidden")
        with unittest.mock.patch.dict(ways.ALL, {"forbidden": forbidden}):
            with tempfile.TemporaryDirectory() as directory:
                target = os.path.join(directory, "result.json")
                status, errors = self.main(lambda where: [works.Spawn(where, "starts", "true", ["true"], 1, ways=("bare", "forbidden"))],
                                           "--json", target)
                self.assertEqual((status, errors), (0, ""))
                with open(target, encoding="utf-8") as file:
                    result = json.load(file)
        self.assertEqual(result["without"], {"forbidden": "needs a key"})
        self.assertEqual(list(result["works"][0]["ways"]), ["bare"])
        if jsonschema:
            with open(os.path.join(HERE, "harness/schema.json"), encoding="utf-8") as file:
                jsonschema.Draft202012Validator(json.load(file)).validate(result)

    def test_a_peer_that_is_not_at_work(self):
        path = self.path_without("strace")
        with open(os.path.join(path, "strace"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\necho \"$*\" >\"$2\"\nshift 2\nexec \"$@\"\n")
        os.chmod(os.path.join(path, "strace"), 0o755)
        status, errors = self.run_bench("--only", "start of /bin/true", "--ways", "^strace$", path=path)
        self.assertEqual(status, 1)
        self.assertIn("strace: not run as it should be", errors)

    def test_a_peer_whose_log_is_empty(self):
        with tempfile.TemporaryDirectory() as directory:
            where = place.Place(directory, ways.ALL)
            strace = ways.ALL["strace"]
            with self.assertRaisesRegex(place.Failed, "strace: its log is empty"):
                strace.after(where)
            with open(strace.log(where), "w", encoding="ascii"):
                pass
            with self.assertRaisesRegex(place.Failed, "strace: its log is empty"):
                strace.after(where)

    def test_a_session_that_saw_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            where = place.Place(directory, {"bare": ways.ALL["bare"], "one": ways.Seen("one", "preload", "")})
            self.assertEqual(where.ways["one"].finish(where), {})  # nothing was run
            where.run("one", ["true"])
            self.assertGreater(where.ways["one"].finish(where)["processes attached"], 0)
            where.run("one", ["true"])
            with self.assertRaisesRegex(place.Failed, "one: its session saw nothing"):
                ways.Seen("one", "supervise", "").finish(where)

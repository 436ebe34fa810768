"""Which branches of the product tests reach (support/coverage.py), and that faults/unreached.txt names the others.

Short form: ROOMS that unit tests alone reach, compiled anew with counters and linked with their tests.  Long form: the preset `coverage`, all tests that are
not long; build/coverage/branches.txt has each room and file, and each branch that was not reached.  SEEN_TESTS is a regular expression of the tests that run
(ctest -R; "" for none: what ran since the last build is counted).
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import coverage

SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])
BUILD = pathlib.Path(os.environ["SEEN_BUILD"])
COUNTED = SOURCE / "build" / "coverage"
LIST = SOURCE / "tests" / "faults" / "unreached.txt"
LONG = bool(os.environ.get("SEEN_LONG"))
PRODUCT = r"(config|tracker|shim|cli)/"
# A room of whose branches each is reached by these unit tests, or listed.
ROOMS = {"tracker/answer/": ("decision", "decision_delivery", "decision_diff", "decision_pending", "decision_reported", "delivery", "inject", "inject_failing",
                             "instruction", "limits", "line_range", "line_range_order", "notice", "other_way", "proof", "remembered", "request", "tracker",
                             "tracker_state"),
         "tracker/guard/": ("guard", "guard_knowledge", "guard_names", "protected", "rule", "rule_sets", "unreported"),
         "shim/call/": ("call", "encode", "supervise")}
TARGETS = ("seen_tracker_pic.dir", "seen_supervise.dir")  # of the objects that those tests link
LISTED = tuple(ROOMS)  # by all tests


class Coverage(unittest.TestCase):
    maxDiff = None

    def check(self, found, rooms):
        """found: named branches.  Those of the rooms are reached, or listed, and not both."""
        listed = {name: reason for name, reason in coverage.read_list(LIST).items() if name.startswith(rooms)}
        missed = {name for name, count in found.items() if count == 0 and name.startswith(rooms)}
        untrue = {name for name in set(listed) - missed if name not in found or not listed[name].startswith("By chance")}
        self.assertEqual("\n".join(coverage.written(sorted(missed - set(listed)))), "", "no test reaches these, and %s has them not" % LIST)
        self.assertEqual("\n".join(coverage.written(sorted(untrue))), "", "%s has these, which a test reaches or which are not there" % LIST)

    @unittest.skipIf(LONG, "the short form")
    def test_rooms(self):
        if not shutil.which("gcov"):
            self.skipTest("no gcov")
        if not (BUILD / "compile_commands.json").exists() or not shutil.which("ninja") or not os.access(BUILD, os.W_OK):
            self.skipTest("the build has no commands to compile by, or is another user's")
        if not (BUILD / "tests/unit/test_guard").exists():
            self.skipTest("no unit tests in that build")
        if "-fsanitize" in (BUILD / "compile_commands.json").read_text():
            self.skipTest("a sanitizer has counters of its own in the same memory")
        if "gcc" not in os.path.basename(os.path.realpath(shutil.which("cc"))):
            self.skipTest("cc is not gcc")
        place = BUILD / "faults" / ("coverage.%d" % os.getpid())
        place.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        support = SOURCE / "tests/support/coverage"
        objects, commands = {}, []
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            path = os.path.relpath(entry["file"], SOURCE)
            words = shlex.split(entry["command"])
            if not path.startswith(tuple(ROOMS)) or not any(target in words[words.index("-o") + 1] for target in TARGETS):
                continue
            made = place / (path.replace("/", ".") + ".o")
            objects[words[words.index("-o") + 1]] = made
            words = [word for word in words if not word.startswith("-O") and word not in ("-Werror", "-DNDEBUG")]
            words[words.index("-o") + 1] = str(made)
            commands.append((words + ["-O0", "-g", *coverage.FLAGS], entry["directory"]))
        self.assertEqual(len(objects), sum(len(list((SOURCE / room).glob("*.c"))) for room in ROOMS))
        tests = sorted({test for names in ROOMS.values() for test in names})
        for test in tests:
            commands.append((["cc", "-g", "-O1", "-fPIC", "-D_GNU_SOURCE", "-I", SOURCE, "-DCOVERAGE_FILE=\"%s\"" % (place / (test + ".counters")), "-c", support / "counters.c", "-o",
                              place / (test + ".counters.o")], BUILD))
        linked = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", *("unit_" + test for test in tests)], stdout=subprocess.PIPE, check=True, text=True).stdout
        links = []
        for line in linked.splitlines():
            words = shlex.split(line.replace(": && ", "").replace(" && :", ""))
            name = pathlib.Path(words[words.index("-o") + 1]).name.removeprefix("test_") if "-o" in words and "-c" not in words else None
            if name in tests:
                archived = [str(made) for word, made in objects.items() if word not in words]  # what they define is not taken from the archive
                words = [str(objects.get(word, word)) for word in words]
                words[words.index("-o"):words.index("-o")] = archived
                words[words.index("-o") + 1] = str(place / name)
                links.append((words + [place / (name + ".counters.o"), "-lgcov", "-Wl,-T,%s" % (support / "counters.ld")], BUILD))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for step in (commands, links):
                list(pool.map(lambda one: subprocess.run(one[0], cwd=one[1], check=True), step))
            list(pool.map(lambda test: subprocess.run([place / test], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True), tests))
        dumps = [subprocess.run([place / test], env={"COVERAGE_DUMP": "1"}, stdout=subprocess.PIPE, check=True).stdout for test in tests]
        found = coverage.named(SOURCE, coverage.branches(SOURCE, dumps, "|".join(ROOMS)))
        self.assertGreater(len(found), 500)
        print("\n".join(line for line in coverage.table(found) if re.match(r"\S+/ ", line)))
        self.check(found, tuple(ROOMS))

    @unittest.skipUnless(LONG, "the long form")
    def test_all(self):
        tests = os.environ.get("SEEN_TESTS", ".")
        if tests:
            for file in (COUNTED / "counters").iterdir():
                file.unlink()
            short = {name: value for name, value in os.environ.items() if name != "SEEN_LONG"}
            done = subprocess.run(["ctest", "--test-dir", COUNTED, "-R", tests, "-E", "^faults[.]coverage", "-LE", "^(long|agents|bench)$", "-j", str(2 * os.cpu_count())],
                                  env=short, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, text=True)
            print(done.stdout[done.stdout.rfind("tests passed") - 20:])  # some measure, and fail in a build as slow as this
        found = coverage.named(SOURCE, coverage.branches(SOURCE, [coverage.dump(COUNTED, name) for name in sorted(os.listdir(COUNTED / "counters"))], PRODUCT))
        table = coverage.table(found)
        missed = coverage.written(sorted(name for name, count in found.items() if count == 0))
        (COUNTED / "branches.txt").write_text("\n".join(table + ["", "Not reached:"] + missed) + "\n")
        print("\n".join(line for line in table if re.match(r"\S+/ ", line)))
        self.check(found, LISTED)


if __name__ == "__main__":
    unittest.main()

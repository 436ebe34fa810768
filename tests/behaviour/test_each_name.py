"""Each name that the library takes the place of is called once: it does what libc's does, and the journal has it."""

import collections
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import unittest

from harness import SEEN, Session

TESTS = pathlib.Path(__file__).resolve().parents[1]
HELPERS = TESTS / "programs" / "helpers"
HOOKS = TESTS.parent / "shim" / "preload" / "hooks.def"
# What no helper of one process can call alone, and the test that does.
ELSEWHERE = {"vfork": "tests/programs/vfork_threads.c", "io_submit": "tests/behaviour/test_keep.py",
             **dict.fromkeys(["mprotect", "pkey_mprotect", "mremap"], "tests/programs/copies.c")}


def helper(name):
    spec = importlib.util.spec_from_file_location(name, HELPERS / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class EachName(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.table = helper("each_name")

    def call_all(self, name, *command):
        program = [sys.executable, "-I", HELPERS / "each_name.py", self.session.path(name)]
        subprocess.run([*program, "make"], check=True)
        done = subprocess.run([*command, *program], cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, check=True, timeout=100)
        return json.loads(done.stdout)

    def test_results_and_events(self):
        bare = self.call_all("bare")
        observed = self.call_all("observed", SEEN, "run", "--via", "preload", "--quiet", "--session", "test", "--")
        self.assertEqual(observed, bare)
        found, statuses = collections.defaultdict(collections.Counter), set()
        log = self.session.seen("log", "--session", "test", "--json").stdout
        for event in map(json.loads, log.splitlines()):
            if event["op"] == "exit":
                statuses.add(event["status"])
            name, _, file = (event.get("resolved") or event.get("path") or "").removeprefix(self.session.path("observed") + "/").partition("/")
            if file != "out":
                found[name][event["op"]] += event.get("bytes") or 0
        wanted = {name: {op: number or 0 for op, number in events.items()} for name, events in self.table.EVENTS.items()}
        self.assertEqual({name: {op: found[name].get(op) for op in events} for name, events in wanted.items()}, wanted)
        self.assertLessEqual(set(self.table.STATUSES.values()), statuses)
        # by its number a call means what it does by its name
        numbers = self.table.NUMBERS
        self.assertEqual({name: (observed["SYS_" + name], found["SYS_" + name]) for name in numbers}, {name: (observed[name], found[name]) for name in numbers})

    def test_what_only_asks_is_observed_in_full(self):
        """prctl(2) by number is no ring, nor a sandbox: PR_GET_DUMPABLE returns 1."""
        words = ["run", "--via", "preload", "--session", "test", "--", sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).prctl(3), ctypes.CDLL(None).syscall(%d, 3, 0, 0, 0))" % self.table.NUMBERS.get("prctl", 167)]
        self.assertEqual(self.session.seen(*words).stdout, b"1 1\n")
        self.assertEqual(self.session.status()["processes"]["partial"], 0)

    def test_no_name_is_left_out(self):
        called = set(self.table.CALLS) | set(ELSEWHERE)
        by_path = (HELPERS / "libc_calls.py").read_text()
        names = set(re.findall(r"^HOOK\((\w+), \w+\)", HOOKS.read_text(), re.M))
        self.assertEqual(sorted(name for name in names - called if not re.search(r"\b%s\b" % name, by_path)), [])
        self.assertEqual(sorted(called - names), [], "names that the library does not have")
        for name, path in ELSEWHERE.items():
            self.assertRegex((TESTS.parent / path).read_text(), r"\b%s\b" % name)


if __name__ == "__main__":
    unittest.main()

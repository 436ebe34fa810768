"""Test suites that other projects wrote: each test gives under seen what it gives bare.

Short form: some modules of CPython's.  Long form: all of strangers.py; SEEN_ONLY names some, SEEN_WAYS some ways, both by
commas; SEEN_EVERY=N takes every N-th unit (file of tests) of each.  Sources are fetched by apt and npm, and
are built, in SEEN_STRANGERS, a directory of the user's own: ./scripts/faults has it as build/strangers.
"""
import os
import tempfile
import unittest

import strangers
from player import Player

LONG = bool(os.environ.get("SEEN_LONG"))
ONLY = (os.environ.get("SEEN_ONLY") or "").split(",")
CHOSEN_WAYS = (os.environ.get("SEEN_WAYS") or ",".join(strangers.WAYS)).split(",")
DIRECTORY = os.environ.get("SEEN_STRANGERS")
SHORT = "test_fileinput test_glob test_tempfile test_filecmp test_openpty test_popen test_wait4 test_linecache"


class Suites(unittest.TestCase):
    def play(self, top, chosen):
        outcomes = strangers.campaign(top, chosen, CHOSEN_WAYS, int(os.environ.get("SEEN_EVERY") or 1))
        self.assertTrue(outcomes, "no suite ran")
        bad = [str(one) for one in outcomes if isinstance(one, str) or any(one.differences.values()) or not one.passed]
        self.assertEqual(bad, [])
        self.assertGreater(Player.kept_bytes, 0, "nothing was kept for undo")

    def test_a_difference_is_found(self):
        """A test that gives another result below the library is one; a test that never gives the same is none."""
        suite = strangers.Stranger("own", "same preloaded unsteady", strangers.each(
            "case $UNIT in preloaded) [ -z $LD_PRELOAD ] || printf 'not ' ;; unsteady) date +ok\\ %N ;; esac; echo ok 1"), strangers.TAP, fixed=True)
        with tempfile.TemporaryDirectory(prefix="seen-suites.") as top:
            suite.directory, suite.tree, suite.version = top, top, "1"
            outcome = strangers.compare(suite, ["observed"], suite.units())
        self.assertEqual(outcome.differences, {"observed": {("preloaded", "1"): ("ok ", "not ok ")}})
        self.assertTrue(outcome.unsteady)
        self.assertEqual({unit for unit, _ in outcome.unsteady}, {"unsteady"})

    @unittest.skipIf(LONG, "the long form has them")
    def test_short(self):
        suite = strangers.Python(SHORT)
        with tempfile.TemporaryDirectory(prefix="seen-suites.") as top:
            try:
                suite.prepare(None, os.path.join(top, suite.name))
            except strangers.Failed as reason:
                self.skipTest(str(reason))
            self.play(top, [suite])

    @unittest.skipUnless(LONG and DIRECTORY, "./scripts/faults suites --long")
    def test_all(self):
        self.play(os.path.abspath(DIRECTORY), [one for one in strangers.suites() if ONLY == [""] or one.name in ONLY])

"""A session whose commands are run with one failing call of libc (failing_functions.py)."""
import os
import random
import re
import unittest

from driver import BUILD
from failing_functions import FUNCTIONS, LIBRARY, MEMORY, errors_of, run_failing, sites_of
from harness import LONG, SEEN, lines
from undo_case import UndoCase
from undoing import difference, tree

SEED = int(os.environ.get("SEEN_SEED") or 20261127)
PATIENCE_S = 60
SANITIZED = "-fsanitize" in (BUILD / "compile_commands.json").read_text() if (BUILD / "compile_commands.json").exists() else False
# What stands in the place of what could not be read.
SAID = re.compile(rb"could not be read|cannot be read|unreadable|damaged|No locks|Permission denied|Input/output error|No space left|Too many open files|Cannot allocate|No such file")


def can_fail(test):
    """A class of tests that needs the library."""
    test = unittest.skipIf(SANITIZED, "the sanitizer's library must be the first")(test)
    return unittest.skipUnless(LIBRARY.exists(), "no such library in this build")(test)


class FailingCase(UndoCase):
    steps = ()  # commands of the agent
    unless = ()  # (function, error) that are not tried of commands that change nothing

    def setUp(self):
        super().setUp()
        for name in ("a", "b", "c", "d/f", "d/g"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, lines(name))
        self.before = self.tree()
        agent = self.session.agent()
        for command in self.steps:
            agent.shell(command)
        agent.close()
        self.after = self.tree()
        self.more = {"env": self.session.environment, "cwd": self.session.workspace, "timeout": PATIENCE_S}
        self.random = random.Random(SEED)

    def tree(self):
        return tree(self.session.workspace, times=False)

    def words(self, *words):
        return [SEEN, *words, "--session", self.session.name]

    def places(self, words, functions):
        """The result, and (site, error) of each place."""
        done, sites = sites_of(words, functions, self.session.directory + "/sites", **self.more)
        self.assertGreater(len(sites), 5)
        return done, [(site, error) for site in sites for error in errors_of(site.function)[:None if LONG else 1]]

    def check_report(self, *words, kinds=(MEMORY, FUNCTIONS), count=None, of_session=True, plain=lambda output: output, again=None):
        """A command that changes nothing: it prints what it prints else, or something says what is missing.

        plain: of an output, what is the same each time.  again: called before each run; a text that it returns is a finding of the run before.
        """
        words = self.words(*words) if of_session else [SEEN, *words]
        again = again or (lambda: None)
        wrong = []
        for functions in kinds:
            again()
            good, places = self.places(words, functions)
            places = [(site, error) for site, error in places if (site.function, error) not in self.unless]
            for site, error in places if LONG or not count else self.random.sample(places, min(count, len(places))):
                again()
                done = run_failing(words, functions, site.number, error, **self.more)
                differs = (done.returncode, plain(done.stdout)) != (good.returncode, plain(good.stdout))
                is_silent = done.stderr in good.stderr
                if done.returncode < 0 or (differs and is_silent and not SAID.search(plain(done.stdout))):
                    wrong.append((site, error, done.returncode, done.stdout, done.stderr))
        self.assertEqual(wrong, [])
        self.assertEqual(difference(self.after, self.tree()), [])

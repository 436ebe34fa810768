"""Commands about what a session changed, with one call of libc failing: they end, say so, and say nothing that is not so; nothing is lost.

Each place in the program that calls is tried once, with one error; in the long form with each error.
"""
import os
import unittest

from driver import BUILD
from failing_functions import FUNCTIONS, LIBRARY, MEMORY, errors_of, run_failing, sites_of
from harness import LONG, SEEN, lines
from undo_case import UndoCase
from undoing import difference, tree

PATIENCE_S = 60
SANITIZED = "-fsanitize" in (BUILD / "compile_commands.json").read_text() if (BUILD / "compile_commands.json").exists() else False
STEPS = ("rm a; echo new > n", "sed -i s/1/one/ b; chmod 600 c", "mv d e; ln e/f hard; ln -s b link; mkdir m; cp b m/b", "echo more >> c; rm -r e",
         "mkdir r; cd r; git init -q; echo x > f; git add .; git -c user.name=a -c user.email=a@b commit -qm m", "cat b > c; mv n n2")


@unittest.skipIf(SANITIZED, "the sanitizer's library must be the first")
@unittest.skipUnless(LIBRARY.exists(), "no such library in this build")
class Failing(UndoCase):
    def setUp(self):
        super().setUp()
        for name in ("a", "b", "c", "d/f", "d/g"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, lines(name))
        self.before = tree(self.session.workspace)
        agent = self.session.agent()
        for command in STEPS:
            agent.shell(command)
        agent.close()
        self.after = tree(self.session.workspace)
        self.more = {"env": self.session.environment, "cwd": self.session.workspace, "timeout": PATIENCE_S}

    def words(self, *words):
        return [SEEN, *words, "--session", self.session.name]

    def places(self, words, functions):
        """What came of it, and (site, error) of each place."""
        done, sites = sites_of(words, functions, self.session.directory + "/sites", **self.more)
        self.assertGreater(len(sites), 20)
        return done, [(site, error) for site in sites for error in errors_of(site.function)[:None if LONG else 1]]

    def check_report(self, *words):
        """A command that changes nothing: with status 0 it prints what it prints else, or a line about what is missing."""
        wrong = []
        for functions in (MEMORY, FUNCTIONS):
            good, places = self.places(self.words(*words), functions)
            for site, error in places:
                done = run_failing(self.words(*words), functions, site.number, error, **self.more)
                if done.returncode < 0 or (done.returncode, done.stdout) != (good.returncode, good.stdout) and not done.stderr:
                    wrong.append((site, error, done.returncode, done.stdout, done.stderr))
        self.assertEqual(wrong, [])
        self.assertEqual(difference(self.after, tree(self.session.workspace)), [])

    def test_dry_run(self):
        self.check_report("undo", "--all", "--dry-run")


if __name__ == "__main__":
    unittest.main()

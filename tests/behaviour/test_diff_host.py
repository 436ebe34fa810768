"""--on-change diff on hosts without what it needs, and with the guard: the rest of test_diff.py."""

import errno
import os
import shutil
import unittest
import unittest.mock

from harness import BUILD, VIA, lines, needs_library
from test_diff import CHANGED, Case


HELPERS = os.path.join(BUILD, "tests", "programs", "helpers")


@needs_library("the supervisor alone gives the file")
class Host(Case):
    """The viewer is a stranger's process: it does not notice."""

    def setUp(self):
        super().setUp()
        directory = os.path.join(self.session.directory, "bin")
        os.mkdir(directory)
        shutil.copy(os.path.join(HELPERS, "watches_children"), os.path.join(directory, "cat"))
        self.cat = os.path.join(directory, "cat")

    def test_children_of_its_own(self):
        for number, how in enumerate(("", "handler", "ignore", "nowait", "blocked")):
            name = "f%d" % number
            run = lambda: self.agent.shell("CHILDREN=%s %s %s 2> ../errors" % (how, self.cat, name))
            with self.subTest(how=how):
                old = self.session.write(name, lines(name))
                self.assertReal(run(), old)
                new = self.change(name, old)
                self.assertDiff(run(), old, new, name)
                with open(os.path.join(self.session.directory, "errors")) as file:
                    self.assertEqual(file.read(), "")

    def test_a_part_of_it(self):
        """It read, and printed, the beginning alone: nothing moves."""
        for number, part in enumerate((1, 100, 400)):
            name = "f%d" % number
            with self.subTest(part=part):
                old = self.deliver(name)
                new = self.change(name, old)
                output = self.agent.shell("PART=%d %s %s" % (part, self.cat, name))
                self.assertEqual(len(output), part)
                self.assertTrue(output.startswith(CHANGED[:part]))
                self.pass_requests()
                self.assertDiff(self.agent.shell("cat " + name), old, new, name)

    def test_closed_descriptors(self):
        """The file is descriptor 0, or 2."""
        for number, closed in enumerate(("<&-", "2>&-", "<&- 2>&-")):
            name = "f%d" % number
            old = self.deliver(name)
            new = self.change(name, old)
            with self.subTest(closed=closed):
                self.assertDiff(self.agent.shell("cat %s %s" % (name, closed)), old, new, name)

    def test_nothing_is_left(self):
        old = self.deliver("f")
        self.change("f", old)
        before = sorted(os.listdir(self.session.workspace))
        self.agent.shell("cat f")
        self.assertEqual(sorted(os.listdir(self.session.workspace)), before)
        processes = self.session.status()["processes"]
        self.assertEqual(processes["unobserved"], 0)
        if VIA == "preload":  # the supervisor sees the program, which belongs to no agent
            self.assertEqual(processes["unattached"], 0)


@needs_library("the supervisor alone gives the file")
class Guard(Case):
    """What changed is no content either: it is known by its nonce."""

    def test_written_by_the_agent(self):
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f")
        self.assertDiff(output, old, new)
        answer = self.agent.ask(do="write", path=self.session.path("f"), data=output.decode(), how="truncate")
        self.assertEqual(answer["errno"], errno.EIO)
        self.assertEqual(self.session.read("f"), new)
        self.assertEqual(self.counters()["notices_refused"], 1)

    def test_written_by_a_shell(self):
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f")
        self.assertDiff(output, old, new)
        self.agent.run(["bash", "-c", 'printf %s "$1" > f', "bash", output.decode()])
        self.assertEqual(self.session.read("f"), new)


if __name__ == "__main__":
    unittest.main()

"""What an agent was given of a command's output: a file counts as given only inside what its agent passes on whole."""

import json
import os
import unittest

from harness import DRIVER, VIA, Agent, Session, SessionTest, lines


def numbers(count):
    """As `seq 1 COUNT` prints them."""
    return b"".join(b"%d\n" % i for i in range(1, count + 1))


def sized(size, width=40):
    """So many bytes in lines of so many."""
    line = b"x" * (width - 1) + b"\n"
    return (line * (size // width + 1))[:size - 1] + b"\n"


class LimitsTest(SessionTest):
    """A profile of its own for the agent, or none."""

    profile = ""

    def setUp(self):
        super().setUp()
        self.session.configure(self.profile)

    def twice(self, data, command="cat %s", name="f"):
        """Whether the second of two is answered."""
        self.session.write(name, data)
        first = self.agent.shell(command % name)
        self.assertNotIn(b"[File previously read: ", first)
        second = self.agent.shell(command % name)
        if b"[File previously read: " not in second:
            self.assertEqual(second, first)
        return b"[File previously read: " in second


class Unknown(LimitsTest):
    """An agent of which nothing is known: 1,900 bytes, 100 lines, no line over 700 bytes."""

    def test_bytes(self):
        self.assertTrue(self.twice(sized(1899), name="a"))
        self.assertFalse(self.twice(sized(1901), name="b"))

    def test_lines(self):
        self.assertTrue(self.twice(sized(1000, 10), name="a"))
        self.assertFalse(self.twice(sized(1010, 10), name="b"))

    def test_line_length(self):
        self.assertTrue(self.twice(b"x" * 700 + b"\n", name="a"))
        self.assertFalse(self.twice(b"x" * 701 + b"\n", name="b"))

    def test_a_large_file(self):
        self.assertFalse(self.twice(numbers(3000)))

    @unittest.skipIf(VIA == "supervise", "needs the library: lines of a file")
    def test_lines_of_a_file(self):
        """Parts know their lines."""
        self.session.write("f", sized(3000, 50))
        self.agent.shell("head -n 30 f")
        self.agent.shell("sed -n 31,60p f")
        self.assertTrue(self.agent.shell("cat f").startswith(b"[File previously read: f."))


class Pi(LimitsTest):
    """A profile with lines: `seq 1 3000` is far below its bytes, and the model was given the last 2,000 of them."""

    profile = "[agent fake_agent]\nmeasured = *\nmax_output_bytes = 24000\nmax_output_lines = 2000\n"

    def test_three_thousand_lines(self):
        self.assertFalse(self.twice(numbers(3000)))
        self.assertFalse(self.twice(numbers(3000)))

    def test_sixty_lines(self):
        self.assertTrue(self.twice(lines("f", 60)))

    def test_at_the_limit(self):
        self.assertTrue(self.twice(numbers(2000), name="a"))
        self.assertFalse(self.twice(numbers(2001), name="b"))

    def test_what_others_print_may_be_a_line_each(self):
        self.assertFalse(self.twice(lines("f", 60), "seq 1 3000; cat %s", "a"))
        self.assertFalse(self.twice(lines("f", 60), "cat %s; seq 1 3000", "b"))
        self.assertTrue(self.twice(lines("f", 60), "seq 1 100; cat %s", "c"))

    def test_what_is_kept_is_not_printed(self):
        """The library keeps in the shell what its redirection destroys.  The shell then becomes the viewer, or starts it."""
        for name, command in (("a", "echo x >> %s; cat %s"), ("b", "echo x >> %s; cat %s; :")):
            with self.subTest(command):
                self.session.write(name, sized(3000, 50))
                self.agent.shell(command % (name, name))
                self.assertTrue(self.agent.shell("cat " + name).startswith(b"[File previously read: "))
                self.session.write(name, sized(3000, 50))
                self.agent.shell("seq 1 2000; " + command % (name, name))
                self.assertFalse(self.agent.shell("cat " + name).startswith(b"[File previously read: "))

    def test_two_viewers(self):
        self.session.write("g", numbers(1500))
        self.assertFalse(self.twice(b"f" + numbers(600), "cat g; cat %s"))
        self.assertFalse(self.twice(b"g" + numbers(600), "cat g %s"))
        self.assertTrue(self.twice(b"h" + numbers(400), "cat g %s"))

    def test_two_in_one_command(self):
        self.session.write("f", numbers(1200))
        self.assertIn(b"[File previously read: ", self.agent.shell("cat f; cat f"))
        self.session.write("g", numbers(2001))
        self.assertNotIn(b"[File previously read: ", self.agent.shell("cat g; cat g"))


class LineLength(LimitsTest):
    profile = "[agent fake_agent]\nmeasured = *\nmax_line_bytes = 768\n"

    def test_it(self):
        self.assertTrue(self.twice(lines("a") + b"x" * 768 + b"\n", name="a"))
        self.assertFalse(self.twice(lines("b") + b"x" * 769 + b"\n", name="b"))
        self.assertTrue(self.twice(b"x" * 768, name="c"))

    def test_lines_that_meet(self):
        self.session.write("head", b"x" * 400)
        self.assertFalse(self.twice(b"y" * 400 + b"\n" + lines("a"), "cat head; cat %s", "a"))


class Version(unittest.TestCase):
    """What was measured holds in full for that version, and by half for another one."""

    def play(self, version, size):
        session = Session()
        self.addCleanup(session.close)
        session.configure("[agent packed]\nmeasured = 1.2.3\nmax_output_bytes = 8000\n")
        directory = os.path.join(session.directory, "packed")
        os.mkdir(directory)
        with open(os.path.join(directory, "package.json"), "w") as file:
            json.dump({"name": "packed", "version": version}, file)
        script = os.path.join(directory, "packed")
        os.symlink(DRIVER, os.path.join(directory, "fake_agent.py"))
        with open(DRIVER) as source, open(script, "w") as file:
            file.write(source.read())
        agent = Agent(session, script=script, agent_glob="packed")
        self.addCleanup(agent.close)
        agent.shell("cat /dev/null")
        session.write("f", sized(size))
        deadline = 50  # the version is found at the next turn of `seen run`
        while deadline:
            # Either may be the first that finds it known; the notice is given once, then the model asks again.
            if any(b"[File previously read: " in agent.shell("cat f") for _ in range(2)):
                return True
            agent.shell("sleep 0.02")
            deadline -= 1 if version == "1.2.3" and size <= 8000 else 25
        return False

    def test_that_very_one(self):
        self.assertTrue(self.play("1.2.3", 8000))
        self.assertFalse(self.play("1.2.3", 8001))

    def test_another(self):
        self.assertTrue(self.play("1.2.4", 4000))
        self.assertFalse(self.play("1.2.4", 4001))


if __name__ == "__main__":
    unittest.main()

"""undo: what campaigns found beside names and open files: directories, times, attributes, numbers of inodes."""
import json
import os
import unittest

from harness import VIA, Session  # noqa: F401  (by all mechanisms)
from undo_case import UndoCase
from undoing import PYTHON, difference, tree


class Found(unittest.TestCase):
    def test_what_a_directory_took_along_comes_back_with_it(self):
        session = Session()
        self.addCleanup(session.close)
        os.mkdir(session.path("d"))
        session.write("d/f", b"f")
        before = tree(session.workspace)
        agent = session.agent()
        agent.shell("mv d a; mkdir d; mv a d/; mkdir d/f")
        agent.close()
        self.assertEqual(session.seen("undo", "--all", "--session", session.name).stderr, b"")
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def test_what_keeps_its_name_in_a_directory_that_has_it_now(self):
        """Its own directory was renamed: `mv d e; mkdir d; mv e/x d/`."""
        session = Session()
        self.addCleanup(session.close)
        cases = {"file": "mv d e && mkdir d && mv e/x d/", "directory": "mv d e; mkdir d; mv e/s d/; echo more >> d/s/z", "changed": "mv d e; mkdir d; mv e/x d/; echo more >> d/x; echo n > d/n",
                 "deeper": "mv d e; mkdir -p d/s; mv e/s/z d/s/", "exchanged": "mkdir e; echo q > e/q; mv d t; mv e d; mv t e; mv e/x d/x", "above": "mv d e; mkdir d; mv e/s/z t; mkdir d/s; mv t d/s/z; mv e f"}
        for case in cases:
            for name in "x", "y", "s/z":
                os.makedirs(os.path.dirname(session.path("%s/d/%s" % (case, name))), exist_ok=True)
                session.write("%s/d/%s" % (case, name), name.encode())
        before = tree(session.workspace)
        agent = session.agent()
        for case, command in cases.items():
            agent.shell("cd %s; %s" % (case, command))
        agent.close()
        after = tree(session.workspace)
        for command, expected in ("undo", before), ("redo", after), ("undo", before):
            result = session.seen(command, *(("--all", "--times") if command == "undo" else ()), "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], (command, result))
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual([line for line in result.stdout.decode().splitlines() if line.endswith("/x") and not line.endswith("changed/d/x")], [])
        session.seen("redo", "--session", session.name)
        for number in reversed(range(1, len(cases) + 1)):
            self.assertEqual(session.seen("undo", "--step", str(number), "--times", "--session", session.name).stderr, b"")
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def test_a_directory_that_an_undo_before_made_goes_along_with_the_one_above_it(self):
        session = Session()
        self.addCleanup(session.close)
        os.mkdir(session.path("d"))
        session.write("y", b"y")
        agent = session.agent()
        agent.shell("mkdir d/u; mv y d/u/x; echo z > d/u/z")
        agent.shell("mv d e; chmod 700 e/u; rm e/u/z")
        agent.close()
        after = tree(session.workspace)
        for words in ("undo", "--since", "2", "--times"), ("undo", "--since", "1", "--times"), ("redo",), ("redo",):
            result = session.seen(*words, "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)
        self.assertEqual(difference(after, tree(session.workspace)), [])

    def test_a_new_directory_goes_along_to_a_name_that_another_has(self):
        session = Session()
        self.addCleanup(session.close)
        os.makedirs(session.path("d/u"))
        session.write("d/u/x", b"x")
        before = tree(session.workspace)
        agent = session.agent()
        agent.shell("mv d e; mkdir -p d/u; echo w > d/u/w")
        agent.shell("mv e/u/x s; rm -r e/u; mkdir e/u; mv s e/u/x")
        agent.close()
        result = session.seen("undo", "--all", "--times", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def assertAllUndone(self, *commands):
        session = Session()
        self.addCleanup(session.close)
        session.write("a", b"one\n")
        before = tree(session.workspace)
        agent = session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()
        after = tree(session.workspace)
        for words, expected in (("undo", "--all", "--times"), before), (("redo",), after):
            result = session.seen(*words, "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], words)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)

    def test_a_command_set_the_time_back_behind_what_it_wrote(self):
        self.assertAllUndone("cp -p a ../t; printf 'two\\n' 1<> a; touch -r ../t a; rm ../t")

    def test_another_file_was_given_the_number_of_the_removed_one(self):
        """It had attributes, which the removed one had not."""
        again = ("import os\nwanted = os.stat('a').st_ino\nos.unlink('a')\n"
                 "for i in range(500):\n"
                 "    open('n%d' % i, 'x').close()\n"
                 "    if os.stat('n%d' % i).st_ino == wanted: break\n"
                 "os.rename('n%d' % i, 'a')\n"
                 "for k in range(i): os.unlink('n%d' % k)\n"
                 "os.setxattr('a', 'user.two', b'2')\n")
        self.assertAllUndone("echo other > a", 'python3 -I -S -c "%s"' % again)

    def test_a_redo_is_about_the_last_undo(self):
        """That one made a file anew which it could not know to be the same, so that nothing is to be redone.  The undo before is the next redo's."""
        session = Session()
        self.addCleanup(session.close)
        session.write("a", os.urandom(150000))
        os.link(session.path("a"), session.path("b"))
        agent = session.agent()
        agent.shell("rm b")
        agent.shell("rm a")
        agent.close()
        after = tree(session.workspace)
        for _ in range(2):
            session.seen("undo", "--since", "2", "--times", "--session", session.name)
        undone = tree(session.workspace)
        result = session.seen("redo", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, b"seen: nothing to redo: all that is on record is as it was\n"))
        self.assertEqual(difference(undone, tree(session.workspace)), [])
        session.seen("redo", "--session", session.name)
        self.assertEqual(difference(after, tree(session.workspace)), [])


class Later(UndoCase):
    """What long sessions found."""

    def test_a_later_step_made_something_where_a_renamed_directory_was(self):
        """The step's rename over an empty directory is not half taken back: that was left below a hidden name."""
        os.makedirs(self.session.path("f/d"))
        os.mkdir(self.session.path("d"))
        self.session.write("d/a", b"a")
        self.step_leaves("1", "mv d f; mkdir d", "echo later > d/b")

    def test_attribute_of_a_file_that_was_written_before(self):
        self.session.write("a", b"a")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("%s pieces a a a + attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertNotEqual(before[b"a"][6], after[b"a"][6])
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_attribute_of_a_file_that_came_back(self):
        """It is another file than the one of that point, with the same content."""
        agent = self.session.agent()
        agent.shell("echo a > a")
        agent.shell("echo b > b")
        before = tree(self.session.workspace)
        for words in ("undo", "--since", "1", "--times"), ("redo",):
            self.assertEqual(self.seen(*words).returncode, 0)
        agent.shell("%s attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone({b"a": before[b"a"]}, "--since", "2", "--times")
        self.assertUndone(after, command="redo")

    def test_link_in_the_place_of_a_file_that_a_directory_replaced(self):
        """What is below the link's target is not what was below the link's name."""
        os.mkdir(self.session.path("d"))
        self.session.write("a", b"a")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("mv a d/c; ln -s d/c a")
        agent.shell("rm d/c; mkdir d/c")
        agent.shell("echo x > d/c/f")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_numbers_of_files_that_an_undo_made_and_removed(self):
        """Their records do not stand for earlier files of the session that had these numbers."""
        for number in range(20):
            self.session.write("c%d" % number, b"c" * 30)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in c?*; do : > $i; exec 7>> $i; echo a >&7; mv $i d; echo b >&7; rm d; done; exec 7>&-")
        agent.close()
        for _ in range(3):
            self.assertUndone(before, "--all", "--times")
            self.assertUndone({}, command="redo")

    def test_own_action_that_failed_is_no_step(self):
        agent = self.session.agent()
        agent.shell("echo a > a")
        self.assertEqual(agent.ask(do="write", path=self.session.path("missing"), data="x", how="in_place")["errno"], 2)
        agent.shell("echo b > b")
        agent.close()
        steps = json.loads(self.seen("story", "--json").stdout)["steps"]
        self.assertEqual([step["kind"] for step in steps], ["command", "command"])

    def test_step_whose_file_a_later_one_removed(self):
        self.session.write("a", b"a")
        agent = self.session.agent()
        agent.shell("chmod 600 a")
        agent.shell("mv a b")
        agent.close()
        result = self.seen("undo", "--step", "1")
        self.assertEqual((result.returncode, result.stdout), (12, b""))
        self.assertIn(b"a is left as it is: a later step changed it", result.stderr)


if __name__ == "__main__":
    unittest.main()

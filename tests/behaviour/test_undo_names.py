"""undo of files with several names, of which a command names one: found by campaigns."""
import os
import unittest

from harness import VIA, Session  # noqa: F401  (by all mechanisms)
from undo_case import UndoCase
from undoing import PYTHON, difference, tree


class Names(unittest.TestCase):
    """A command names one."""

    # in a directory where a and b are one file; each is a step
    CASES = {
        "touch": ("rm b", "touch a"), "touched at once": ("rm b; touch a", "chmod 600 a"), "over it": ("mv c b; touch a", "echo x >> a"),
        "other name written": ("echo x > a; rm a", "true"), "written in pieces": ("echo x >> b", "rm b; mv c a", "true"),
        "name lost while open": ("exec 7<> a; rm -- a; echo x >&7; echo y > a", "touch b"), "mode by another name": ("chmod 600 a; rm a", "touch c"),
        "name of one that went along": ("mkdir d; mv b d; mv d e", "mkdir d; mkdir d/b; mv d/b d/c; mv e/b d/b"),
        "read-only by then": ("echo x >> a; chmod 444 a", "true"),
        "moved while open": ("echo 1 >> c; exec 7>> c; echo a >&7; mv c d; echo b >&7", "chmod 600 d; rm d"),
        "all names lost while open": ("rm b; exec 7<> a; rm a; echo x >&7", "exec 7<> c; rm -- c; echo x >&7"),
    }

    def run_cases(self, size):
        session = Session()
        self.addCleanup(session.close)
        for case in self.CASES:
            os.mkdir(session.path(case))
            session.write(case + "/a", os.urandom(size))
            os.link(session.path(case + "/a"), session.path(case + "/b"))
            session.write(case + "/c", os.urandom(size))
        before = tree(session.workspace)
        agent = session.agent()
        for number in range(2):
            agent.shell("; ".join("(cd '%s'; %s)" % (case, commands[number]) for case, commands in self.CASES.items()))
        agent.close()
        after = tree(session.workspace)
        for command, expected in ("undo", before), ("redo", after), ("undo", before):
            result = session.seen(command, *(("--all", "--times") if command == "undo" else ()), "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], result.stderr)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def linked(self):
        """A session in whose workspace a and b are one file."""
        session = Session()
        self.addCleanup(session.close)
        session.write("a", b"before\n")
        os.link(session.path("a"), session.path("b"))
        return session

    def test_names_of_a_small_file(self):
        self.run_cases(500)

    def test_names_of_a_large_file(self):
        self.run_cases(150000)

    def test_a_later_step_changed_it_by_another_name(self):
        """What it did stays: the step's own change is not taken back there.  A name that the step removed comes back."""
        session = Session()
        self.addCleanup(session.close)
        steps = [(one, two) for one in ("echo 1 >> a", "chmod 600 a", "rm a", "echo c > c; mv c a") for two in ("echo 2 >> b", "chmod 640 b")]
        for number in range(len(steps)):
            os.mkdir(session.path(str(number)))
            session.write("%d/a" % number, b"before\n")
            os.link(session.path("%d/a" % number), session.path("%d/b" % number))
        agent = session.agent()
        for number in range(2):
            agent.shell("; ".join("(cd %d; %s)" % (i, step[number]) for i, step in enumerate(steps)))
        agent.close()
        after = tree(session.workspace)
        result = session.seen("undo", "--step", "1", "--times", "--session", session.name, check=False)
        found = tree(session.workspace)
        left = {number: "b" if steps[number][1] == "echo 2 >> b" else None for number in range(4, len(steps))}
        left.update((number, "a") for number in range(4))
        listed = ["seen: %d/%s is left as it is: a later step changed it, too\n" % (number, left[number]) for number in sorted(left) if left[number]]
        self.assertEqual((result.returncode, result.stderr.decode()), (12, "".join(listed)))
        for number, (one, two) in enumerate(steps):
            a, b = (b"%d/%s" % (number, name) for name in (b"a", b"b"))
            self.assertEqual(found[b][:-1], after[b][:-1], (one, two))
            if number < 4:
                self.assertEqual(found[a], after[a], (one, two))
            else:
                self.assertEqual(session.read(os.fsdecode(a)), b"before\n", (one, two))
                self.assertEqual(len(found[a][-1]), 1 if left[number] else 2, (one, two))
        self.assertEqual(session.seen("redo", "--session", session.name, check=False).returncode, 0)
        self.assertEqual(difference(after, tree(session.workspace)), [])

    def test_an_external_program_changed_it_by_another_name(self):
        """Its file stays, and is listed: it is not the one that comes back any more."""
        session = self.linked()
        agent = session.agent()
        agent.shell("rm b")
        agent.close()
        with open(session.path("a"), "a") as file:
            file.write("external\n")
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((session.read("a"), session.read("b")), (b"before\nexternal\n", b"before\n"))
        self.assertEqual((result.returncode, result.stderr), (12, b"seen: a is left as it is: an external program changed it since\n"))

    @unittest.skipIf(os.getuid(), "another owner: as root")
    def test_another_name_whose_owner_is_not_on_record(self):
        """It is not said that an external program changed it: the record may be of a user namespace."""
        session = self.linked()
        agent = session.agent()
        agent.shell("echo more >> b; rm b")
        agent.close()
        os.chown(session.path("a"), 1234, 1234)
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((session.read("a"), session.read("b")), (b"before\nmore\n", b"before\n"))
        self.assertEqual((result.returncode, result.stderr),
                         (12, b"seen: a is left as it is: its owner is not the one on record, which may have been noted in a user namespace\n"))

    def test_the_last_name_of_a_file_goes_and_comes_back(self):
        """A later step removed the other one: what the step's own name has is kept before it goes."""
        for size in 500, 150000:
            session = Session()
            self.addCleanup(session.close)
            session.write("a", os.urandom(size))
            content = session.read("a")
            agent = session.agent()
            agent.shell("ln a c")
            agent.shell("rm a")
            agent.close()
            after = tree(session.workspace)
            result = session.seen("undo", "--step", "1", "--times", "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr, os.listdir(session.workspace)), (0, b"", []))
            result = session.seen("redo", "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(difference(after, tree(session.workspace)), [])
            self.assertEqual(session.read("c"), content)
            session.seen("undo", "--all", "--session", session.name)
            self.assertEqual((session.read("a"), os.listdir(session.workspace)), (content, ["a"]))

    def test_no_name_of_a_file_is_one_that_the_store_has(self):
        """What was large is kept by a hard link, and the store lies in a workspace that is a home directory."""
        session = Session()
        self.addCleanup(session.close)
        session.environment["XDG_STATE_HOME"] = session.path("state")
        session.write("a", os.urandom(150000))
        for name in "bc":
            os.link(session.path("a"), session.path(name))
        agent = session.agent()
        agent.shell("rm a b")
        agent.close()
        os.unlink(session.path("c"))
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(os.path.samefile(session.path("a"), session.path("b")))
        self.assertEqual(os.stat(session.path("a")).st_nlink, 2)


class Later(UndoCase):
    """A later step gave it another name, or changed it by one."""

    def test_a_later_step_changed_by_another_name_what_an_undo_had_made_anew(self):
        """Both names are of another file than the step changed."""
        agent = self.session.agent()
        agent.shell("echo 1 > a; ln a b")
        agent.shell("touch -d 2001-02-03 b")
        for words in ("undo", "--since", "1", "--times"), ("redo",):
            self.assertEqual(self.seen(*words).returncode, 0)
        agent.shell("echo 2 >> a")
        agent.close()
        self.assertLeft("--step", "2", "--times")

    def test_a_file_is_left_by_all_its_names(self):
        """A later step gave it another name.  What came back by one name would be there by the one that is listed as left."""
        self.session.write("a", b"a")
        self.session.write("b", b"b")
        agent = self.session.agent()
        agent.shell("ln -f a b; echo both >> b; chmod 600 a")
        agent.shell("ln b c")
        agent.close()
        result = self.assertLeft("--step", "1")
        self.assertEqual(result.stderr, b"".join(b"seen: %s is left as it is: a later step changed it, too\n" % name for name in (b"a", b"b")))

    def test_a_later_step_changed_by_a_third_name_what_was_written_by_a_new_one(self):
        self.session.write("a", b"a")
        os.link(self.session.path("a"), self.session.path("b"))
        agent = self.session.agent()
        agent.shell("ln a c; echo both >> c")
        agent.shell("rm c; echo later > b")
        agent.close()
        self.assertLeft("--step", "1")

    def test_a_later_step_changed_by_a_third_name_what_a_redo_made_anew(self):
        agent = self.session.agent()
        agent.shell("echo a > a; ln a b; echo d > d; ln d e")
        agent.shell("ln a c; echo both >> c; echo once > d")
        for _ in range(2):
            self.seen("undo", "--all")
            self.seen("redo")
            agent.shell("rm -f c; echo later > b; ln -f d f; echo later > f")
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--step", "2")
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []))

    def test_the_name_that_a_later_step_changed_it_by_is_gone(self):
        self.session.write("a", b"a")
        self.session.write("b", b"b")
        self.step_leaves("1", "ln -f a b", "echo later >> a; rm a")

    def test_a_later_step_changed_by_its_second_name_what_had_one(self):
        self.session.write("a", b"a")
        self.step_leaves("1", "touch a; ln a b", "exec 7>> b; rm b; echo later >&7")

    def test_a_later_step_changed_by_one_name_what_the_step_wrote_anew(self):
        os.mkdir(self.session.path("d"))
        self.session.write("d/a", b"a")
        os.link(self.session.path("d/a"), self.session.path("d/b"))
        self.step_leaves("1", "echo 1 >> d/a; cp -a d h; rm -rf d; mv h d", "echo later >> d/a")

    def test_one_of_its_names_is_left_so_the_file_is(self):
        """By a name that no record is about, too.  What the step removed comes back as a file of its own."""
        self.session.write("k", b"old")
        for name in "ab":
            os.link(self.session.path("k"), self.session.path(name))
        agent = self.session.agent()
        agent.shell("mv a e; echo both >> b; rm b; touch b")
        agent.shell("mv e a")
        agent.close()
        result = self.seen("undo", "--step", "1")
        self.assertEqual((result.returncode, [self.session.read(name) for name in "abk"]), (12, [b"oldboth\n", b"old", b"oldboth\n"]))

    def test_attribute_of_a_file_that_got_the_number_of_one_with_several_names(self):
        """tar removes the last name of a file, and the one that it makes has its inode number, its content and its time."""
        self.session.write("a", b"a")
        os.link(self.session.path("a"), self.session.path("b"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("rm b; tar cf ../archive a; tar xf ../archive; %s attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_links_that_an_undo_made_and_parted_before_another_of_one_step(self):
        for name in "ax":
            self.session.write(name, name.encode())
        os.link(self.session.path("x"), self.session.path("y"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        for command in "echo 1 > other", "ln a link; rm y; mkdir y", "rm link x; echo new > link":
            agent.shell(command)
        self.assertEqual(self.seen("undo", "--since", "3", "--times").returncode, 0)
        agent.shell("echo more >> x")
        agent.close()
        self.assertEqual(self.seen("undo", "--step", "1", "--times").returncode, 0)
        self.assertUndone(before, "--since", "2", "--times")

    def test_content_that_was_linked_and_written_to_by_a_later_step(self):
        """The later step's record has what the link had."""
        self.session.write("a", os.urandom(150000))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("ln a b; echo other > n; mv n a")
        agent.shell("echo more >> b")
        agent.close()
        result = self.seen("undo", "--step", "1", "--times")
        self.assertEqual((result.returncode, result.stderr), (12, b"seen: b is left as it is: a later step changed it, too\n"))
        self.assertEqual(tree(self.session.workspace)[b"a"], before[b"a"])

    def test_link_to_a_file_that_moved_along_with_its_directory(self):
        """Another file has the name that it had before."""
        os.mkdir(self.session.path("d"))
        self.session.write("d/x", b"x")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("mv d a; mkdir d; mv a d/; echo new > d/x")
        agent.shell("ln d/a/x d/link")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_renamed_file_that_had_another_name(self):
        self.session.write("c", b"c")
        os.link(self.session.path("c"), self.session.path("../link"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo more >> c; rm ../link; mv c d")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_other_name_that_moved_out_of_the_workspace_with_its_directory(self):
        """A file keeps its names: one of them is found where the directory is by now."""
        for name, size in ("small", 100), ("large", 150000):
            os.mkdir(self.session.path(name))
            self.session.write(name + "/a", os.urandom(size))
            os.link(self.session.path(name + "/a"), self.session.path(name + ".b"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in small large; do echo more >> $i.b; mv $i ..; done")
        agent.shell("rm *.b")
        agent.close()
        after = tree(self.session.workspace)
        self.assertEqual(self.seen("undo", "--since", "2", "--times").returncode, 0)
        for name in "small", "large":
            self.assertTrue(os.path.samefile(self.session.path(name + ".b"), self.session.path("../%s/a" % name)), name)
        self.assertUndone(before, "--all", "--times")
        for _ in range(2):
            self.seen("redo")
        self.assertEqual(difference(after, tree(self.session.workspace)), [])

    def test_file_that_was_given_the_number_of_one_with_several_names(self):
        """It has the same content and time, too, and is another file all the same: it gets no other names."""
        names, numbers = ["%02d" % i for i in range(40)], set()
        for name in names:
            self.session.write(name, b"a" * 100)
            os.utime(self.session.path(name), ns=(10**18, 10**18))
            for other in "bc":
                os.link(self.session.path(name), self.session.path(name + other))
            numbers.add(os.stat(self.session.path(name)).st_ino)
        agent = self.session.agent()
        agent.shell("rm *[0-9] *b")
        agent.close()
        for name in names:
            os.unlink(self.session.path(name + "c"))
        path = self.session.path("made")
        for made in range(300):
            self.session.write("made", b"a" * 100)
            if os.stat(path).st_ino in numbers:
                break
            os.rename(path, os.path.join(self.session.directory, str(made)))
        else:
            self.skipTest("the file system gave their numbers to no other file")
        os.utime(path, ns=(10**18, 10**18))
        result = self.seen("undo", "--all", "--times")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        linked = {path: entry[-1] for path, entry in tree(self.session.workspace).items()}
        self.assertEqual(linked, {b"made": (b"made",), **{os.fsencode(name + other): (os.fsencode(name), os.fsencode(name + "b")) for name in names for other in ("", "b")}})


if __name__ == "__main__":
    unittest.main()

"""What was kept comes back in the awkward cases, and an external change is known by more than its size and time."""
import os
import sys
import unittest

from test_undo import Undone


class External(Undone):
    def edit_unseen(self, name):
        """Another program's edit that keeps inode, size and modification time."""
        path = self.session.path(name)
        times = os.stat(path)
        with open(path, "r+b") as file:
            file.write(b"THEIRS")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return self.tree()[name.encode()]

    def assertLeft(self, name, *words, command="undo"):
        self.assertIn(b"%s is left as it is: an external program changed it" % name, self.undo(*words, code=12, command=command).stderr)

    def test_an_edit_whose_time_was_set_back(self):
        self.agent("echo one >> top; chmod 600 src/a; echo new > made; mv src/deep/c c")
        theirs = self.edit_unseen("top"), self.edit_unseen("made")
        self.assertLeft(b"top", "--all")
        now = self.tree()
        self.assertEqual((now[b"top"], now[b"made"]), theirs)
        self.assertEqual((now[b"src/a"], now[b"src/deep/c"]), (self.before[b"src/a"], self.before[b"src/deep/c"]))

    def test_an_edit_between_two_steps_whose_time_was_set_back(self):
        agent = self.session.agent()
        agent.shell("echo one >> top; echo one >> src/a")
        self.edit_unseen("top")
        agent.shell("echo two >> top; echo two >> src/a")
        agent.close()
        self.assertLeft(b"top", "--all")
        self.assertEqual(self.tree()[b"src/a"], self.before[b"src/a"])

    def test_an_edit_of_what_an_undo_made(self):
        after = self.agent("rm top; echo one >> src/a; mv src/deep/c c")[-1]
        self.undo("--all")
        theirs = self.edit_unseen("top")
        self.assertLeft(b"top", command="redo")
        now = self.tree()
        self.assertEqual((now[b"top"], now[b"src/a"]), (theirs, after[b"src/a"]))


class Unreadable(Undone):
    def agent(self, *commands):
        agent = self.session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()

    def setUp(self):
        super().setUp()
        self.session.write("large", b"x" * 100000)

    def assertRestored(self, name, data):
        path = self.session.path(name)
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0)
        os.chmod(path, 0o600)
        self.assertEqual(self.session.read(name), data)

    def test_mode_000(self):
        for name in "src/a", "large":
            os.chmod(self.session.path(name), 0)
        self.agent("rm -f src/a large")
        self.undo("--all")
        self.undo(command="redo")
        self.assertFalse(os.path.exists(self.session.path("large")))
        self.undo("--all")
        self.assertRestored("src/a", b"the content of src/a\n")
        self.assertRestored("large", b"x" * 100000)

    def test_a_removal_that_fails_leaves_no_link(self):
        os.mkdir(self.session.path("d"))
        os.rename(self.session.path("large"), self.session.path("d/large"))
        for name in "d/large", "d":
            os.chmod(self.session.path(name), 0 if name == "d/large" else 0o500)
        self.agent("rm -f d/large; echo again; rm -f d/large")
        if os.geteuid():  # root removes it
            self.assertEqual(os.stat(self.session.path("d/large")).st_nlink, 1)
            self.undo("--all", code=1)
        else:
            self.undo("--all")
        os.chmod(self.session.path("d"), 0o700)
        self.assertRestored("d/large", b"x" * 100000)

    def test_a_link_to_what_another_name_changed_later(self):
        os.link(self.session.path("large"), self.session.path("other"))
        self.agent("rm large", "echo short > other")
        self.undo("--all")
        self.assertEqual(self.session.read("large"), b"x" * 100000)
        self.assertTrue(os.path.samefile(self.session.path("large"), self.session.path("other")))


class Attributes(Undone):
    def setUp(self):
        super().setUp()
        self.session.write("large", b"x" * 100000)
        os.chmod(self.session.path("src/a"), 0o444)
        for name in self.names:
            try:
                os.setxattr(self.session.path(name), "user.origin", name.encode(), 0)
            except OSError as error:
                self.skipTest("no extended attributes here: %s" % error)

    names = ("src/a", "src/deep", "src/deep/c", "top", "large", "hard")

    def attributes(self):
        return {name: {attribute: os.getxattr(self.session.path(name), attribute) for attribute in os.listxattr(self.session.path(name))}
                for name in self.names if os.path.exists(self.session.path(name))}

    def test_of_what_was_removed(self):
        before = self.attributes()
        self.agent("rm -rf src/deep; rm -f src/a large; echo changed >> top; rm top; echo new > new; mv new hard")
        after = self.attributes()
        self.assertEqual(after, {"hard": {}})
        for _ in range(2):
            self.undo("--all")
            self.assertEqual(self.attributes(), before)
            self.undo(command="redo")
            self.assertEqual(self.attributes(), after)

    def test_of_what_an_undo_removes(self):
        self.agent("rm top src/b; touch top; " + self.set_by_python("top"))
        after = self.attributes()
        self.assertEqual(after["top"], {"user.later": b"1"})
        self.undo("--all")
        self.assertEqual(self.attributes()["top"], {"user.origin": b"top"})
        self.undo(command="redo")
        self.assertEqual(self.attributes(), after)

    @staticmethod
    def set_by_python(name):
        return "%s -c 'import os; os.setxattr(\"%s\", \"user.later\", b\"1\")'" % (sys.executable, name)


if __name__ == "__main__":
    unittest.main()

"""Commands about what a session changed, with one call of libc failing: they end, say so, and say nothing that is not so; nothing is lost.

Each place in the program that calls is tried once, with one error.  In the long form with each error, and undo and redo that change files at a sample (SEEN_SEED).
"""
import errno
import json
import os
import pathlib
import re
import unittest

from failing_case import PATIENCE_S, FailingCase, can_fail
from failing_functions import FUNCTIONS, MEMORY, run_failing, sites_of
from harness import LONG, SEEN, lines
from undo_case import Undone
from undoing import difference

PARTLY = 8
CHANGES = 40  # undos and redos
STEPS = ("rm a; echo new > n", "sed -i s/1/one/ b; chmod 600 c", "mv d e; ln e/f hard; ln -s b link; mkdir m; cp b m/b", "echo more >> c; rm -r e",
         "mkdir r; cd r; git init -q; echo x > f; git add .; git -c user.name=a -c user.email=a@b commit -qm m", "cat b > c; mv n n2")


@can_fail
class Failing(FailingCase):
    steps = STEPS
    unless = (("openat", errno.ENOENT),)  # as without the directory of records: then there are none

    def test_diff(self):
        self.check_report("diff")
        self.check_report("diff", "--json", count=40)

    def test_story(self):
        self.check_report("story")
        self.check_report("story", "--json", count=40)

    def test_blame(self):
        """Lines whose writer cannot be read are of no known writer."""
        self.check_report("blame", "c")
        self.check_report("blame", "--json", "c", kinds=(MEMORY,), count=40)
        self.check_report("blame", "--porcelain", "c", kinds=(MEMORY,), count=40)

    def test_dry_run(self):
        self.check_report("undo", "--all", "--dry-run")
        self.check_report("undo", "--step", "6", "--dry-run", "--json", count=40)

    def test_reasons(self):
        """A directory that cannot be opened is reported as that, and not as a session that is not there."""
        words = self.words("undo", "--all", "--dry-run")
        _, sites = sites_of(words, ("openat",), self.session.directory + "/sites", **self.more)
        said = [run_failing(words, ("openat",), site.number, errno.ENOENT, **self.more).stderr for site in sites]
        about = [line for text in said for line in text.splitlines() if b"/test/undo: " in line]
        self.assertTrue(about)
        self.assertEqual({line.rpartition(b"/undo: ")[2] for line in about}, {b"No such file or directory"})

    def test_dry_run_of_redo(self):
        self.seen("undo", "--all")
        self.after = self.tree()
        self.check_report("redo", "--dry-run", count=60)

    def test_dry_run_with_a_merge(self):
        """What another program changed stays, and the step's lines go."""
        path = pathlib.Path(self.session.path("b"))
        path.write_bytes(path.read_bytes() + b"external\n")
        self.after = self.tree()
        self.assertIn(b"b", self.seen("undo", "--step", "2", "--dry-run").stdout)
        self.check_report("undo", "--step", "2", "--dry-run", count=60)

    def test_versions(self):
        self.check_report("versions")
        self.check_report("versions", "--json", count=40)

    def check_restore(self, name, now):
        """With status 0 the file has the version; else it is as it was, and something says why."""
        rows = json.loads(self.session.seen("versions", "--json", name, "--session", self.session.name).stdout)["versions"]
        wanted = lines(name)
        version = next(row["version"] for row in rows if row["bytes"] == len(wanted))
        path = self.session.path(name)

        def read():
            return pathlib.Path(path).read_bytes() if os.path.lexists(path) else None

        def again():
            if now is None:
                pathlib.Path(path).unlink(missing_ok=True)
            else:
                self.session.write(name, now)

        for functions in (MEMORY, FUNCTIONS):
            again()
            done, places = self.places(self.words("restore", name, version), functions)
            self.assertEqual(read(), wanted, done)
            for site, error in places if LONG else self.random.sample(places, min(30, len(places))):
                again()
                done = run_failing(self.words("restore", name, version), functions, site.number, error, **self.more)
                about = (site, error, done)
                is_done = done.returncode == 0 or b"cannot write the output" in done.stderr
                self.assertEqual(read(), wanted if is_done else now, about)
                self.assertTrue(done.returncode == 0 or (done.returncode > 0 and done.stderr), about)
                self.assertFalse([left for left in os.listdir(self.session.workspace) if left.startswith(".seen")], about)

    def test_restore(self):
        self.check_restore("c", lines("c") + b"more\n")

    def test_restore_of_a_removed_file(self):
        self.check_restore("a", None)

    def bring(self, wanted, *commands, about=None):
        """Has commands change the tree until it is as wanted."""
        made = []
        for words in commands:
            if difference(wanted, self.tree()) == []:
                return
            made.append(self.seen(*words))
        self.assertEqual(difference(wanted, self.tree()), [], (about, made))

    def check_change(self, command, wanted, others, again):
        """A command that changes the tree, and those that change it back: with status 0 all is done; else others bring the rest."""
        about = None
        for functions in (MEMORY, FUNCTIONS):
            self.bring(others[-1], *others[:-1], about=about)
            _, places = self.places(self.words(*command), functions)
            for site, error in self.random.sample(places, min(CHANGES, len(places))):
                self.bring(others[-1], *others[:-1], about=about)
                done = run_failing(self.words(*command), functions, site.number, error, **self.more)
                about = (command, site, error, done)
                self.assertGreaterEqual(done.returncode, 0, about)
                if done.returncode == 0:
                    self.assertEqual(difference(wanted, self.tree()), [], about)
                else:
                    self.assertTrue(done.stderr, about)
                    stopped = b"`seen undo --continue`" in done.stderr
                    if command == ("redo",) and done.returncode == PARTLY and not stopped:  # it is not asked for the rest again
                        left = [path for path, _, _ in difference(wanted, self.tree())]
                        self.assertEqual([path for path in left if not re.search(rb"^seen: %s:? " % re.escape(path), done.stderr, re.MULTILINE)], [], about)
                        wanted = self.tree()
                    self.bring(wanted, *again, about=about)

    @unittest.skipUnless(LONG, "the long form")
    def test_undo(self):
        again = ("undo", "--continue"), ("undo", "--all"), ("undo", "--all")
        self.check_change(("undo", "--all"), self.before, (("redo",), ("redo",), ("redo",), self.after), again)

    @unittest.skipUnless(LONG, "the long form")
    def test_redo(self):
        again = ("undo", "--continue"), ("redo",), ("redo",)
        self.check_change(("redo",), self.after, (("undo", "--all"), ("undo", "--all"), self.before), again)


@can_fail
class OtherFileSystems(Undone):
    """One call fails as where a file system does not know it, or where a disk fails: the first is done in another way, the second is reported."""

    def failing(self, function, error, *words):
        return run_failing([SEEN, *words, "--session", self.session.name], (function,), 1, error, always=True,
                           env=self.session.environment, cwd=self.session.workspace, timeout=PATIENCE_S)

    def test_restore_where_a_rename_cannot_tell(self):
        self.agent("rm top")
        rows = json.loads(self.session.seen("versions", "--json", "--session", self.session.name).stdout)["versions"]
        version = next(row["version"] for row in rows if row["path"] == "top")
        result = self.failing("renameat2", errno.EINVAL, "restore", "top", version)
        self.assertEqual((result.returncode, result.stderr, self.read("top")), (0, b"", b"the content of top\n"))
        self.assertEqual([name for name in os.listdir(self.session.workspace) if name.startswith(".seen")], [])

    def test_a_file_in_place_where_no_room_can_be_asked_for(self):
        self.agent("echo other > hard")
        result = self.failing("fallocate", errno.EOPNOTSUPP, "undo", "--all")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTree(self.before)

    def check_redo(self, command, error, *words):
        """What an undo removed is on record, though it could not be removed at once: a redo brings it back."""
        self.agent(command)
        after = self.tree()
        result = self.failing("unlinkat", error, "undo", "--all")
        self.assertEqual(result.returncode, PARTLY, result)
        made = self.read("made") if os.path.exists(self.session.path("made")) else None
        self.session.seen("undo", *words, "--session", self.session.name)
        self.assertTree(self.before)
        self.assertEqual([name for name in os.listdir(self.session.workspace) if name.startswith(".seen")], [])
        while self.tree() != after:  # one by one
            self.session.seen("redo", "--session", self.session.name)
        return made

    def test_a_disk_that_removes_nothing(self):
        self.check_redo("echo new > made; sed -i s/content/other/ top", errno.EIO, "--continue")

    def test_what_may_not_be_removed_keeps_its_name(self):
        self.assertEqual(self.check_redo("echo new > made", errno.EPERM, "--all"), b"new\n")

    def test_an_owner_that_a_disk_does_not_take(self):
        self.agent("rm top")
        result = self.failing("fchown", errno.EIO, "undo", "--all")
        self.assertNotEqual(result.returncode, 0)
        self.assertTrue(result.stderr)


if __name__ == "__main__":
    unittest.main()

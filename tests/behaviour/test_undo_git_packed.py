"""Refs that a person's git packed: they name what they named, and come back."""
import os
import shutil
import unittest

from harness import short_form_by
from test_undo_git import GitCase


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Packed(GitCase):
    REFS = "git for-each-ref --format='%(refname) %(objectname)'; git symbolic-ref HEAD; git status --porcelain"

    def test_refs_that_a_person_packed_come_back(self):
        """They name what they named."""
        for pack in "git pack-refs --all", "git gc -q --prune=now":
            before = self.git(self.REFS)
            self.run_steps("echo x > a; git commit -qam x", "git branch -f side HEAD; git commit -q --allow-empty -m y")
            after = self.git(self.REFS)
            self.git(pack)
            self.assertFalse(os.path.exists(self.session.path(".git/refs/heads/main")))
            self.assertEqual(self.left("--all"), set())
            self.seen(0, "undo", "--all")
            self.assertEqual(self.git(self.REFS), before)
            self.seen(0, "redo")
            self.assertEqual(self.git(self.REFS), after)
            self.session.close()
            self.setUp()

    def test_refs_that_a_person_moved_and_packed_stay(self):
        self.run_steps("echo x > a; git commit -qam x; git branch -f side HEAD")
        self.git("git branch -f side HEAD~1; git gc -q")
        after = self.git(self.REFS)
        self.assertEqual({entry for entry in self.left("--all") if "refs" in entry[0]}, {(".git/refs/heads/side", "external"), (".git/refs/heads/main", "git")})
        self.seen(12, "undo", "--all")
        self.assertEqual(self.git(self.REFS).splitlines()[:3], after.splitlines()[:3])

    def test_refs_that_had_no_file_before_and_that_a_person_packed(self):
        """What packed-refs had of them before is not known: all stays."""
        for before, command, name in (("true", "git branch new", "new"), ("git pack-refs --all", "echo x > a; git commit -qam x", "main"), ("true", "git checkout -q -b dir/other; git commit -q --allow-empty -m x", "dir/other")):
            self.git(before)
            self.run_steps(command)
            self.git("git pack-refs --all")
            refs = self.git(self.REFS).splitlines()
            path = ".git/refs/heads/" + name
            self.assertIn((path, "external"), self.left("--last"))
            self.assertIn("%s is left as it is: an external program changed it since" % path, self.seen(12, "undo", "--last"))
            self.assertIn("%s is left as it is: what it was is not known" % path, self.seen(8, "undo", "--step", "1", "--force"))
            self.assertLessEqual(set(refs), set(self.git(self.REFS).splitlines()))
            self.session.close()
            self.setUp()

    def test_a_branch_that_the_session_made_and_packed_or_that_a_person_removed(self):
        for command, person, code in ("git branch new; git pack-refs --all", "true", 0), ("git branch new", "git pack-refs --all; git branch -D new", 1):
            before = self.git(self.REFS)
            self.run_steps(command)
            self.git(person)
            self.assertEqual(self.left("--all"), set())
            self.seen(code, "undo", "--all")
            self.assertEqual(self.git(self.REFS), before)
            self.session.close()
            self.setUp()

    def test_git_is_not_merged_as_text(self):
        self.run_steps("git pack-refs --all")
        self.git("git branch another; git pack-refs --all")
        self.assertIn((".git/packed-refs", "external"), self.left("--all", "--merge"))

"""A ref comes back where its object exists; refs that a person's git packed name what they named."""
import os
import shutil
import unittest

from harness import VIA, short_form_by  # noqa: F401  (by all mechanisms)
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


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Objects(GitCase):
    PRUNE = "git reflog expire --expire=now --all; git prune --expire=now"

    def test_a_branch_whose_commit_is_gone_is_listed_before(self):
        self.run_steps("git branch -D side; echo other > a")
        self.git(self.PRUNE)
        self.assertEqual(self.left("--all"), {(".git/refs/heads/side", "object")})
        for words in ("--dry-run",), (), ("--force",):
            self.assertIn(".git/refs/heads/side is left as it is: a git object that it names is gone", self.seen(8, "undo", "--all", *words))
        self.assertEqual(self.session.read("a"), b"2\n")
        self.assertEqual(self.git("git for-each-ref --format='%(refname)'"), "refs/heads/main\n")

    def test_a_branch_that_was_packed_since_and_whose_commit_is_gone_keeps_all(self):
        """packed-refs has its value now, and had not then."""
        self.run_steps("git branch -qf side main; git pack-refs --all; git commit -q --allow-empty -m three")
        self.git(self.PRUNE)
        before = self.git("git for-each-ref"), self.head()
        self.assertIn("refs/heads/side", before[0])
        self.assertIn("as a whole", self.seen(8, "undo", "--all"))
        self.assertEqual((self.git("git for-each-ref"), self.head()), before)

    def test_a_packed_ref_whose_commit_is_gone_counts_where_git_asks_it(self):
        """The branch's own file names another commit."""
        self.run_steps("echo x > a; git commit -qam x", "git pack-refs --all", "git reset -q --hard HEAD~1")
        after = self.git("git show-ref; git status --porcelain; cat .git/packed-refs")
        self.git("git reflog expire --expire=now --all; git update-ref -d ORIG_HEAD; git prune --expire=now")
        self.seen(0, "undo", "--all")
        self.seen(0, "redo")
        self.assertEqual(self.git("git show-ref; git status --porcelain; cat .git/packed-refs"), after)

    def test_a_ref_stays_behind_which_a_packed_one_would_come_forth_whose_commit_is_gone(self):
        self.git("git checkout -q --detach; git commit -q --allow-empty -m x; git branch topic; git checkout -q main; git pack-refs --all")
        self.run_steps("git branch -f topic main")
        before = self.git("git for-each-ref")
        self.git("git reflog expire --expire=now --all; git prune --expire=now")
        self.assertEqual(self.left("--last"), {(".git/refs/heads/topic", "object")})
        self.seen(8, "undo", "--last")
        self.assertEqual(self.git("git for-each-ref"), before)

    def test_a_stash_whose_commit_is_gone_keeps_all(self):
        self.git("echo stashed > a; git stash -q")
        self.run_steps("git stash drop -q; git checkout -q side")
        self.git(self.PRUNE)
        self.assertEqual(self.left("--all") & {(".git/refs/stash", "object"), (".git/HEAD", "git")}, {(".git/refs/stash", "object"), (".git/HEAD", "git")})
        self.seen(8, "undo", "--all")
        self.assertEqual(self.git("git symbolic-ref HEAD; git stash list"), "refs/heads/side\n")

    def test_a_staged_content_that_is_gone_keeps_all(self):
        self.git("echo staged > b; git add b")
        self.run_steps("git reset -q; git checkout -q side")
        self.git(self.PRUNE)
        self.assertIn((".git/index", "object"), self.left("--all"))
        self.seen(8, "undo", "--all")
        self.assertEqual(self.git("git symbolic-ref HEAD"), "refs/heads/side\n")

    def test_names_of_sha256_before_the_first_commit(self):
        self.git("rm -rf .git; git init -q --object-format=sha256 .; git add a")
        before = self.head()
        for command in ("git add k", "git commit -qm one", "git rm -q --cached a; git add k; git commit -qm one; git branch side"):
            self.run_steps(command)
            self.assertEqual(self.session.seen("undo", "--last", "--session", self.session.name, check=False).returncode, 0)
            self.assertEqual(self.head(), before)

    def test_an_object_whose_time_alone_the_session_set(self):
        """git does so where it would write the same; a person's git does it, too, or packs the object."""
        self.git("git init -q --separate-git-dir store.git .; echo store.git >> .git/info/exclude; echo store.git >> store.git/info/exclude")
        before = self.head()
        for script in ("touch -d 2001-01-01 store.git/objects/??/*", "git repack -adq"):
            with self.subTest(script=script):
                self.run_steps("cp k other; git add other; git commit -qm other")
                self.git(script)
                self.assertEqual(self.left("--all"), set())
                self.seen(0, "undo", "--all")
                self.assertEqual(self.head(), before)

    def test_an_object_whose_mode_the_session_set_and_whose_time_a_person(self):
        self.run_steps("chmod -R a+w .git/objects")
        self.git("touch .git/objects/??/*")
        self.assertEqual({kind for path, kind in self.left("--all") if ".git/objects/" in path}, {"external"})
        self.seen(12, "undo", "--all")

    def test_what_the_session_pruned_comes_back(self):
        self.git("git gc -q; echo stashed > a; git stash -q")
        before = self.head(), self.git("git stash list; git for-each-ref")
        self.run_steps("git stash drop -q; git branch -D side; %s; git gc -q --prune=now" % self.PRUNE)
        self.seen(0, "undo", "--all")
        self.assertEqual((self.head(), self.git("git stash list; git for-each-ref")), before)

"""Git's state comes back as one unit: random sequences of git commands are undone, and git tells what it output before."""
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

from harness import LONG, SEEN, VIA, Session, short_form_by, wait_until
from undoing import difference, tree
from undoing_git import SETTINGS, GitMaker

SEED = int(os.environ.get("SEEN_TEST_UNDO_GIT_SEED", "1"))
SEQUENCES = int(os.environ.get("SEEN_TEST_UNDO_GIT_SEQUENCES", "3" if VIA == "preload" else "1"))
STEPS = 8
PRUNED, PACKED = 0.2, 0.1  # of the sequences
UNKNOWN = "Not currently on any branch."
DETACHED = re.compile(r"HEAD detached (at|from) \S+")


class Sequence:
    """A session of git commands, each a step; undo to random points and back."""

    def __init__(self, test, session, seed):
        self.test, self.session, self.seed = test, session, seed
        self.maker = GitMaker(session, seed)
        self.random = self.maker.random
        self.steps, self.states, self.first_refs = [], [self.state()], self.maker.refs()
        self.problems = []  # that git has behind a person's prune: a commit graph names what is gone
        self.first_logs, self.expired = self.logs(), set()  # directories whose log of HEAD a person expired, and no step wrote

    def logs(self):
        """{directory: the log of its HEAD}."""
        return {directory: self.maker.shell('cat "$(git rev-parse --git-path logs/HEAD)"', directory) for directory in self.maker.directories()}

    def state(self):
        """(what git tells, the tree without git's directories)."""
        gits = (b".git/", b"store.git/", b"remote.git/")
        files = {path: entry for path, entry in tree(self.session.workspace, times=False).items()
                 if not any((b"/" + path + b"/").count(b"/" + name) for name in gits)}
        return self.maker.output(), files

    def about(self, result):
        return "seed %d (%s), %s: %d %r\n%s" % (self.seed, self.maker.layout, " ".join(result.args[1:]), result.returncode, result.stderr[-1500:],
                                               "\n".join("%d: %s" % pair for pair in enumerate(self.steps, 1)))

    def check_whole(self, about):
        harmless = [*self.problems, "notice: No default references"]  # of a repository whose last branch a step removed
        self.test.assertEqual([line for line in self.maker.problems().splitlines() if line not in harmless], [], about)

    def check(self, expected, *words):
        result = self.session.seen(*words, "--session", self.session.name, check=False)
        output, files = self.state()
        about = self.about(result)
        before, now = expected[0].splitlines(), output.splitlines()
        directory = None
        for index, (was, line) in enumerate(zip(before, now)):
            directory = line[2:] if line.startswith("= ") else directory
            if was == UNKNOWN and DETACHED.fullmatch(line):
                now[index] = UNKNOWN  # git takes the place from the log, which was expired then; its entries stay since they came back
            elif DETACHED.fullmatch(was) and line == UNKNOWN and directory in self.expired:
                now[index] = was  # the session has nothing on record of such a log
        self.check_whole(about)
        differ = [line for line in before if line not in now][:9], [line for line in now if line not in before][:9]
        if differ != ([], []) or before != now:
            self.test.fail("git output, tells: %r\n%s" % (differ, about))
        differ = difference(expected[1], files)
        if differ:
            self.test.fail("wanted, found: %r\n%s" % (differ, about))
        self.test.assertIn(result.returncode, (0, 1), about)
        if b"nothing to redo" not in result.stdout:
            return result.returncode == 0
        done = result.stdout.decode().splitlines()
        done = [line for line in done if line.startswith(("restored ", "removed ", "renamed ", "reset ", "merged ", "appended "))]
        self.test.assertEqual([line for line in done if not re.match(r"restored \S*\bobjects/|appended to \S*\blogs/", line)], [], about)
        return False

    def left(self, *words):
        """(the command's result, what it lists as left)"""
        result = self.session.seen("undo", "--all", "--json", *words, "--session", self.session.name, check=False)
        return result, sorted((left["path"], left["kind"]) for left in json.loads(result.stdout)["left"]) if result.stdout else []

    def planned(self, before):
        """What an undo is to leave of a person's doing, as it lists by itself.  Where that is nothing, all comes back, and is redone."""
        planned, listed = self.left("--dry-run")
        self.test.assertEqual(self.state(), before, self.about(planned))
        if not listed and self.check(self.states[0], "undo", "--all"):
            self.check(before, "redo")
        return listed

    def undone_but(self, listed):
        """(the undo's result, all that it left: what was listed, too, what to print)"""
        result, left = self.left()
        about = "%r\n%s" % (listed, self.about(result))
        self.test.assertEqual([entry for entry in left if entry in listed], listed, about)
        return result, left, about

    def check_pruned(self):
        """A person prunes: what is gone then is listed before anything is done, and is all that does not come back."""
        self.expired = {directory for directory, log in self.logs().items() if log == self.first_logs.get(directory)}
        self.maker.prune()
        self.problems = self.maker.problems().splitlines()
        self.test.assertEqual([line for line in self.problems if "commit-graph" not in line and not line.startswith(("error: Could not read", "broken: "))], [])
        before, refs = self.state(), self.maker.refs()
        listed = self.planned(before)
        if not listed:
            return
        result, left, about = self.undone_but(listed)
        # The log of a branch that the session made, which the person wrote to, stays, and so do the directories above it.
        self.test.assertEqual([path for path, kind in left if (path, kind) not in listed and not any(other.startswith(path + "/") for other, _ in listed)], [], about)
        self.test.assertEqual({path for path, kind in listed if kind not in ("object", "git", "within") and "/logs/" not in path}, set(), about)
        self.test.assertEqual(result.returncode, 12 if "external" in [kind for _, kind in left] else 8, about)
        self.check_whole(about)
        if self.maker.layout in ("plain", "sha256", "split", "sparse", "pointers", "detached") and len(self.maker.directories()) == 1:
            kept = {path.partition("/")[2]: kind for path, kind in listed if kind not in ("external", "within")}
            if all(name.startswith("refs/") and name != "refs/stash" and kind == "object" for name, kind in kept.items()):  # else all of git's state stays
                refs = {**{name: value for name, value in self.first_refs.items() if name not in kept}, **{name: value for name, value in refs.items() if name in kept}}
            self.test.assertEqual(self.maker.refs(), refs, about)
        if json.loads(result.stdout)["done"]:
            self.check(before, "redo")

    def check_packed(self):
        """A person packs refs: all comes back, or git's state stays whole, and that is listed before anything is done."""
        refs = self.maker.refs()
        self.maker.pack()
        self.test.assertEqual(self.maker.refs(), refs)
        before = self.state()
        self.problems = self.maker.problems().splitlines()
        listed = self.planned(before)
        if not listed:
            return
        result, _, about = self.undone_but(listed)
        self.test.assertLessEqual({kind for _, kind in listed}, {"external", "git", "within"}, about)
        self.test.assertEqual(result.returncode, 12, about)
        self.check_whole(about)
        if len(self.maker.directories()) == 1:
            self.test.assertEqual(self.maker.refs(), refs, about)

    def run(self):
        agent = self.session.agent()
        for _ in range(STEPS):
            self.steps.append(self.maker.command())
            agent.shell(self.steps[-1] + "; true")
            self.states.append(self.state())
        agent.close()
        drawn = self.random.random()
        if drawn < PRUNED + PACKED:
            (self.check_pruned if drawn < PRUNED else self.check_packed)()
            return
        if self.check(self.states[0], "undo", "--all"):
            self.check(self.states[-1], "redo")
        point = self.random.randrange(STEPS)
        if self.check(self.states[point], "undo", "--since", str(point + 1)):
            if self.random.random() < 0.5 and point and self.check(self.states[0], "undo", "--all"):
                self.check(self.states[point], "redo")
            self.check(self.states[-1], "redo")
        for _ in range(self.random.randrange(1, 4)):
            planned = self.session.seen("undo", "--last", "--dry-run", "--json", "--session", self.session.name, check=False)
            if planned.returncode:
                break
            self.check(self.states[json.loads(planned.stdout)["step"] - 1], "undo", "--last")


class GitCase(unittest.TestCase):
    """A repository with the branches main and side, a session in it, and a person who works there, too."""

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        with open(os.path.join(self.session.directory, ".gitconfig"), "w") as file:
            file.write(SETTINGS)
        self.environment = self.session.environment
        self.git("git init -q . && echo 1 > a && echo k > k && git add a k && git commit -qm one && git branch side && echo 2 > a && git commit -qam two && "
                 "git checkout -q side && echo s > s && git add s && git commit -qm side && git checkout -q main && git config core.logAllRefUpdates true")

    def git(self, script):
        """By a person."""
        result = subprocess.run(["bash", "-c", script], cwd=self.session.workspace, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.stdout.decode()

    def run_steps(self, *commands):
        agent = self.session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()

    def seen(self, code, *words):
        result = self.session.seen(*words, "--session", self.session.name, check=False)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        self.assertEqual(self.git("git fsck --full --no-dangling --no-progress"), "")
        return result.stderr.decode()

    def left(self, *words):
        result = self.session.seen("undo", *words, "--dry-run", "--json", "--session", self.session.name, check=False)
        return {(left["path"], left["kind"]) for left in json.loads(result.stdout)["left"]}

    def head(self):
        return self.git("git rev-parse HEAD; git symbolic-ref HEAD; git status --porcelain")


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Unit(GitCase):
    def test_what_a_person_changed_since_keeps_all_of_it(self):
        self.run_steps("git checkout -q side; echo more >> s; git commit -qam more; git branch -D main")
        self.git("git commit -q --allow-empty -m person")
        before = self.head()
        left = self.left("--all")
        self.assertIn((".git/refs/heads/side", "external"), left)
        self.assertIn((".git/HEAD", "git"), left)
        self.assertIn((".git/refs/heads/main", "git"), left)
        self.assertIn("the repository's state comes back as a whole", self.seen(12, "undo", "--all"))
        self.assertEqual(self.head().splitlines()[:2], before.splitlines()[:2])
        self.assertEqual(self.session.read("a"), b"2\n")

    def test_git_status_of_a_person_is_no_change(self):
        """It writes the files' times into the index."""
        before = self.head()
        self.run_steps("echo 3 > a; git commit -qam three", "git rm -q a; git commit -qm gone; echo x > x; git add x")
        for number in range(2):
            os.utime(self.session.path("k"), (number, number))
            self.assertEqual(self.git("git status --porcelain"), "A  x\n")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.head(), before)

    def test_nor_is_it_in_a_large_repository(self):
        """Where the index is larger than other files whose left content is kept, and written behind very many."""
        self.git("mkdir d; for i in $(seq 1200); do echo $i > d/some-long-name-of-a-file-$i; done; git add -A; git commit -qm many; git checkout -q -b other; rm -r d; git commit -qam few; git checkout -q main")
        self.assertGreater(os.path.getsize(self.session.path(".git/index")), 65536)
        before = self.head()
        for command in ("echo 3 > a; git commit -qam three", "git checkout -q other; git checkout -q main; git commit -q --allow-empty -m x"):
            self.run_steps(command)
            os.utime(self.session.path("k"), (1, 1))
            index = os.stat(self.session.path(".git/index")).st_ino
            self.assertEqual(self.git("git status --porcelain"), "")
            self.assertNotEqual(os.stat(self.session.path(".git/index")).st_ino, index)
            self.seen(0, "undo", "--all")
            self.assertEqual(self.head(), before)

    def test_an_index_that_is_written_often_takes_no_undo_from_earlier_steps(self):
        agent = self.session.agent("-c", "undo.max_bytes=16000000")
        agent.shell("rm a")
        for _ in range(2):
            agent.shell("for i in $(seq 20); do head -c 1000000 /dev/urandom > .git/index.lock; rm .git/index.lock; done")
        agent.close()
        self.assertNotIn("the oldest undo records went", self.seen(0, "undo", "--all"))
        self.assertEqual(self.session.read("a"), b"2\n")

    def test_git_add_of_a_person_is_one(self):
        self.run_steps("echo x > x; git add x")
        self.git("echo y > y; git add y")
        self.assertIn((".git/index", "external"), self.left("--all"))
        self.seen(12, "undo", "--all")
        self.assertIn("A  y", self.git("git status --porcelain"))

    def test_a_repository_that_a_person_used_since_stays(self):
        self.run_steps("git init -q new; cd new; echo a > a; git add a; git commit -qm a")
        self.git("cd new; git branch mine")
        self.seen(12, "undo", "--all")
        self.assertEqual(self.git("cd new; git for-each-ref --format='%(refname)'; git fsck --no-dangling"), "refs/heads/main\nrefs/heads/mine\n")

    def test_nor_does_one_go_whose_settings_alone_a_person_changed(self):
        self.run_steps("git init -q new; cd new; echo a > a; git add a; git commit -qm a")
        self.git("git -C new config user.email x@y")
        self.seen(12, "undo", "--all")
        self.assertEqual(self.git("cd new; git log --format=%s; git status --porcelain; git config user.email"), "a\n D a\nx@y\n")

    def test_a_split_index_whose_shared_part_a_person_removed_stays_away(self):
        self.git("git config core.splitIndex true; git update-index --split-index")
        self.run_steps("touch .git/sharedindex.*; git config core.splitIndex false; git update-index --no-split-index; git checkout -q side")
        self.git("rm .git/sharedindex.*")
        self.assertIn((".git/index", "object"), self.left("--all"))
        self.seen(12, "undo", "--all")
        self.assertEqual(self.git("git symbolic-ref HEAD; git status --porcelain"), "refs/heads/side\n M a\n D s\n")

    def test_a_split_index(self):
        """What a person removes from its shared part is no change of its entries."""
        self.git("for i in $(seq 30); do echo $i > f$i; done; git add -A; git commit -qm many; git config core.splitIndex true; git update-index --split-index")
        self.run_steps("echo x > x; git add x")
        before = self.git("git status --porcelain")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git("git status --porcelain"), "")
        self.seen(0, "redo")
        self.assertEqual(self.git("git status --porcelain"), before)
        self.git("git rm -q --cached k")
        self.assertIn((".git/index", "external"), self.left("--all"))
        self.seen(12, "undo", "--all")
        self.assertIn("D  k", self.git("git status --porcelain"))

    def test_a_sparse_checkout(self):
        """Its patterns are of one piece with the index."""
        self.git("mkdir d e; echo d > d/d; echo e > e/e; git add -A; git commit -qm wide")
        index = "git status --porcelain; git ls-files -t; git sparse-checkout list 2>&1"
        before = self.git(index)
        self.run_steps("git sparse-checkout set d; echo x > a; git commit -qam x")
        self.assertFalse(os.path.exists(self.session.path("e/e")))
        after = self.git(index)
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git(index), before)
        self.seen(0, "redo")
        self.assertEqual(self.git(index), after)
        self.git("git commit -q --allow-empty -m person")
        self.assertIn((".git/info/sparse-checkout", "git"), self.left("--all"))
        self.seen(12, "undo", "--all")
        self.assertEqual(self.git("git sparse-checkout list"), "d\n")

    def test_another_version_control_system(self):
        """Its files belong together, too; what a question to it writes does not count."""
        for name in (".hg", "sub/.jj", ".svn"):
            self.git("mkdir -p {0}/store {0}/cache; cd {0}; echo 1 | tee dirstate store/a store/b cache/c".format(name))
            self.run_steps("cd %s; echo 2 | tee dirstate store/a store/b cache/c; echo more >> $OLDPWD/a" % name)
            self.git("echo 3 > %s/cache/c" % name)
            self.seen(12, "undo", "--all")
            self.assertEqual(self.git("cat {0}/dirstate {0}/store/a {0}/store/b {0}/cache/c a".format(name)), "1\n1\n1\n3\n2\n")
            self.seen(0, "redo")
            self.git("echo 3 > %s/store/b" % name)
            self.assertEqual({entry for entry in self.left("--last") if "cache" not in entry[0]},
                             {(name + "/store/b", "external"), (name + "/store/a", "git"), (name + "/dirstate", "git")})
            self.assertIn("/store/a is left as it is: the repository's state comes back as a whole", self.seen(12, "undo", "--last"))
            self.assertEqual(self.git("cat {0}/dirstate {0}/store/a {0}/store/b a".format(name)), "2\n2\n3\n2\n")

    def test_a_lock_of_another_version_control_system(self):
        """A person's, who writes a message, keeps all as it is, by force, too; one that the session left goes."""
        files = "cat .hg/dirstate .hg/store/a; ls -A .hg .hg/store"
        self.git("mkdir -p .hg/store; echo 1 | tee .hg/dirstate .hg/store/a")
        before = self.git(files)
        for lock, more in (".hg/wlock", "ln -s host:1 .hg/wlock; rm .hg/wlock; "), (".hg/store/lock", ""):
            self.run_steps(more + "echo 2 | tee .hg/dirstate .hg/store/a")
            self.git("ln -s host:7 " + lock)
            after = self.git(files)
            for words in (), ("--force",):
                self.assertLessEqual({(".hg/dirstate", "git"), (".hg/store/a", "git")}, self.left("--all", *words))
                self.session.seen("undo", "--all", *words, "--session", self.session.name, check=False)
                self.assertEqual((self.git(files), os.readlink(self.session.path(lock))), (after, "host:7"))
            os.unlink(self.session.path(lock))
            self.seen(0, "undo", "--all")
            self.assertEqual(self.git(files), before)
        self.run_steps("ln -s host:1 .hg/wlock; echo 2 > .hg/dirstate")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git(files), before)

    def test_the_git_directory_within_another_version_control_system(self):
        """Where one of both is left, the other one is, too."""
        state = "cat .jj/working_copy/state; git --git-dir .jj/repo/store/git for-each-ref --format='%(refname)'"
        self.git("mkdir -p .jj/working_copy; echo 1 > .jj/working_copy/state; git clone -q --bare . .jj/repo/store/git")
        inner = "git --git-dir .jj/repo/store/git "
        for person in "echo 3 > .jj/working_copy/state", inner + "branch -f new main~1":
            self.run_steps("echo 2 > .jj/working_copy/state; %s branch new" % inner)
            self.git(person)
            after = self.git(state)
            self.seen(12, "undo", "--last")
            self.assertEqual(self.git(state), after)
            self.git(inner + "branch -D new; echo 1 > .jj/working_copy/state")

    def test_a_worktree_elsewhere_is_named(self):
        self.git("git worktree add -q ../there side")
        there = os.path.join(self.session.directory, "there")
        self.run_steps("git worktree remove ../there")
        for words in ("--dry-run",), ():
            self.assertIn("%s: a worktree outside the workspace: its files do not come back\n" % there, self.seen(0, "undo", "--all", *words))
        self.git("git worktree prune; git worktree add -q ../there side")
        self.run_steps("git worktree add -q ../more", "git worktree add -q within")
        self.assertNotIn("outside", self.seen(0, "undo", "--last"))
        more = os.path.join(self.session.directory, "more")
        self.assertEqual(self.seen(0, "undo", "--last"), "seen: %s: a worktree outside the workspace: its files stay as they are\n" % more)
        self.assertTrue(os.path.exists(os.path.join(more, "a")))

    def test_git_status_in_a_repository_that_the_session_made(self):
        before = self.git("ls -a; ls .git; git status --porcelain")
        self.run_steps("git init -q new; cd new; echo a > a; git add a; git commit -qm a", "git submodule --quiet add ./new sub 2>&1; git commit -qm sub")
        self.git("git -C new update-index --force-write-index; git -C sub update-index --force-write-index")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git("ls -a; ls .git; git status --porcelain"), before)

    def test_a_directory_whose_repository_an_undo_took_back_goes_with_the_step_before(self):
        self.run_steps("mkdir w; echo x > w/f", "cd w; git init -q n; cd n; echo x > x; git add x; git commit -qm x")
        for words in ("undo", "--all"), ("redo",), ("undo", "--since", "2"), ("undo", "--all"):
            self.seen(0, *words)
        self.assertFalse(os.path.exists(self.session.path("w")))


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Logs(GitCase):
    def entries(self, name):
        return self.git("cut -f2 .git/logs/" + name).splitlines()

    def test_they_are_appended_to(self):
        before = {name: self.entries(name) for name in ("HEAD", "refs/heads/main")}
        self.run_steps("git commit -q --allow-empty -m three")
        for words, message in (("undo", "--all"), "seen undo"), (("redo",), "seen redo"), (("undo", "--last"), "seen undo: step 1"):
            tip = self.git("git rev-parse HEAD").strip()
            self.seen(0, *words)
            for name in before:
                before[name] += ["commit: three"] if words == ("undo", "--all") else []
                before[name].append(message)
                self.assertEqual(self.entries(name), before[name])
            self.assertEqual(self.git("git rev-parse HEAD@{1} main@{1}").split(), [tip, tip])
        self.assertIn("nothing to undo", self.session.seen("undo", "--all", "--session", self.session.name, check=False).stderr.decode())

    def test_what_was_expired_comes_back(self):
        before = self.entries("HEAD")
        self.run_steps("git reflog expire --expire=now --all; git commit -q --allow-empty -m three")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.entries("HEAD"), before + ["commit: three", "seen undo"])

    def test_what_head_was_detached_at(self):
        """git status takes it from the last checkout in HEAD's log, and `git checkout -` the branch before."""
        cases = (("git checkout -q --detach side", "git checkout -q main"), ("git checkout -q side~1; git reset -q --hard side", "git checkout -q main; git commit -qm x --allow-empty"),
                 ("git checkout -q --detach main", "git checkout -q main; git checkout -q --detach"),
                 ("git checkout -q --detach side", "git reflog expire --expire=now --all"), ("git checkout -q ':/two'", "git checkout -q side"),
                 ("git commit-tree -m 'one to two' HEAD^{tree} | xargs git update-ref --no-deref HEAD; git checkout -q ':/one to two'; git checkout -q main; git checkout -q -", "git switch -q -c new"),
                 ("git checkout -q -b away; git commit -q --allow-empty -m away; git checkout -q --detach side; git branch -qD away; git reflog expire --expire=now refs/heads/away",
                  "git checkout -q main"))
        for before, command in cases:
            self.git("git checkout -q main; " + before)
            expected = self.git("git status; git rev-parse --symbolic-full-name @{-1}; git rev-parse HEAD @{-1}")
            self.assertIn("HEAD detached", expected)
            self.run_steps(command)
            self.seen(0, "undo", "--last")
            self.assertEqual(self.git("git status; git rev-parse --symbolic-full-name @{-1}; git rev-parse HEAD @{-1}"), expected, (before, command))
            self.assertIn("seen undo", self.entries("HEAD")[-1] if "expire" not in command else "seen undo")

    def test_a_branch_has_its_log_again(self):
        before = self.entries("refs/heads/side")
        self.run_steps("git branch -D side; git branch new")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.entries("refs/heads/side"), before)
        self.assertFalse(os.path.exists(self.session.path(".git/logs/refs/heads/new")))

    def test_a_log_whose_refs_are_left_is_named_where_it_lacks_entries(self):
        for command, logs in (("rm .git/logs/HEAD", {"logs/HEAD"}), ("git reflog expire --expire=now --all", {"logs/HEAD", "logs/refs/heads/main", "logs/refs/heads/side"}),
                              ("git branch -q -D side", {"logs/refs/heads/side"}), ("git commit -q --allow-empty -m three", set())):
            agent = self.session.agent()
            agent.shell("git add -N k; " + command)
            agent.close()
            self.git("git add --force k; git rm -q --cached a")
            listed = self.left("--all")
            self.assertIn((".git/index", "external"), listed, command)
            self.assertEqual({path for path, kind in listed if "/logs/" in path and kind == "git"}, {".git/" + name for name in logs}, command)
            self.session.close()
            self.setUp()

    def test_what_is_no_log_comes_and_goes_as_any_file(self):
        self.session.write(".git/hooks/one", b"hook")
        self.session.write(".git/hooks/two", b"hook")
        cases = ("mv .git/hooks/one .git/logs/refs/heads/one", "mv .git/logs/HEAD .git/logs/HEAD.orig; echo x > .git/logs/HEAD",
                 "mv .git/logs/refs out; mkdir .git/logs/refs", "cp .git/hooks/two .git/logs/three; mv .git/logs/three .git/logs/four; ln .git/hooks/two .git/logs/six")
        for case in cases:
            before = tree(self.session.workspace, times=False)
            self.run_steps(case)
            after = tree(self.session.workspace, times=False)
            for expected, words in (before, ("undo", "--last")), (after, ("redo",)), (before, ("undo", "--last")):
                self.assertEqual(self.session.seen(*words, "--session", self.session.name, check=False).stderr, b"", case)
                self.assertEqual(difference(expected, tree(self.session.workspace, times=False)), [], (case, words))


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Locks(GitCase):
    def test_a_lock_that_stays_refuses_the_undo(self):
        self.run_steps("echo x > a; git commit -qam three")
        after = self.head()
        for name in ("index.lock", "HEAD.lock", "packed-refs.lock") if LONG else ("HEAD.lock",):
            self.session.write(".git/" + name, b"")
            said = self.seen(12, "undo", "--all")
            self.assertEqual(said, "seen: nothing was changed: %s is there: another program is at work, or was killed (remove the file then)\n" % self.session.path(".git/" + name))
            self.assertEqual((self.head(), self.session.read("a")), (after, b"x\n"))
            self.assertEqual(self.seen(12, "undo", "--all", "--force"), said)
            self.assertTrue(os.path.exists(self.session.path(".git/" + name)))
            os.unlink(self.session.path(".git/" + name))
        self.seen(0, "undo", "--all")
        self.assertEqual([name for name in os.listdir(self.session.path(".git")) if name.endswith(".lock")], [])

    def test_a_lock_that_goes_is_waited_for_and_what_its_program_did_stays(self):
        self.run_steps("git branch -D side; echo x > x; git add x")
        # As a git program that is at work: it takes the lock, and replaces the index.
        with open(self.session.path(".git/index"), "rb") as file:
            index = file.read()
        self.git("echo y > y; git add y; mv .git/index ../index")
        self.session.write(".git/index", index)
        os.utime(self.session.path(".git/index"), (1, 1))
        self.session.write(".git/index.lock", b"")
        program = subprocess.Popen(["bash", "-c", "sleep 0.5; mv ../index .git/index; rm .git/index.lock"], cwd=self.session.workspace)
        self.seen(12, "undo", "--all")
        program.wait()
        self.assertEqual(self.git("git status --porcelain"), "AD x\nA  y\n")

    def test_a_lock_of_a_person_does_not_count_as_it_was_already(self):
        self.run_steps("git branch new; : > .git/x.lock")
        self.git("rm .git/x.lock; ln -s person .git/x.lock")
        result = self.session.seen("undo", "--all", "--dry-run", "--json", "--session", self.session.name)
        self.assertEqual((json.loads(result.stdout)["unchanged"], json.loads(result.stdout)["left"]), (0, []))

    def test_a_lock_of_the_session_is_undone(self):
        before = self.head()
        self.run_steps("echo x > a; git commit -qam three; : > .git/index.lock")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.head(), before)

    def test_locks_of_an_undo_that_was_killed_before_its_plan_or_behind_it(self):
        """There is nothing to continue: the next undo takes them over, and an undo of another session does not."""
        before = self.head()
        self.run_steps("git commit -q --allow-empty -m three", "git branch new")
        undo = glob.glob(os.path.join(glob.escape(self.session.directory), "**/test/undo"), recursive=True) + \
            glob.glob(os.path.join(glob.escape(self.session.directory), ".*/**/test/undo"), recursive=True)
        text = b"seen undo %s\n" % os.fsencode(undo[0])
        for words in ("--last",), ("--all",):
            for name in ("HEAD", "index", "packed-refs"):
                self.session.write(".git/%s.lock" % name, text)
            self.assertNotIn("is left as it is", self.seen(0, "undo", "--dry-run", *words))
            self.seen(0, "undo", *words)
            self.assertEqual(self.git("ls .git/*.lock 2> /dev/null"), "")
        self.assertEqual(self.head(), before)
        self.session.write(".git/HEAD.lock", text.replace(b"/test/", b"/test2/"))
        self.seen(12, "redo")

    def test_an_undo_that_was_killed_takes_its_locks_over(self):
        before = self.head()
        self.run_steps("for i in $(seq 400); do echo $i > f$i; done; git add -A; git commit -qm many")
        undo = subprocess.Popen([SEEN, "undo", "--all", "--session", self.session.name], cwd=self.session.workspace, env=self.session.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: not os.path.exists(self.session.path("f7")) or undo.poll() is not None)
        undo.kill()
        undo.wait()
        if os.path.exists(self.session.path(".git/index.lock")):
            self.assertIn("File exists", self.git("git add a"))
        done = self.session.seen("undo", "--continue", "--session", self.session.name, check=False)
        self.assertEqual(self.head(), before, done.stderr)
        self.assertEqual(self.git("git fsck --no-dangling; ls .git/*.lock 2> /dev/null"), "")


@unittest.skipUnless(shutil.which("git"), "needs git")
class Random(unittest.TestCase):
    def test_sequences_are_undone(self):
        for seed in range(SEED, SEED + SEQUENCES):
            with self.subTest(seed=seed):
                session = Session()
                try:
                    Sequence(self, session, seed).run()
                finally:
                    session.close()

"""undo and redo: what an agent's commands removed, renamed and changed comes back, and nothing else is touched."""
import json
import os
import re
import shutil
import subprocess
import unittest

from harness import Session, wait_until
from undo_case import Undone
from undoing import difference


class Undo(Undone):
    def test_all_redo_and_undo_again(self):
        after = self.agent("rm -rf src", "mv top renamed; mkdir made; chmod 600 renamed")[-1]
        self.undo("--all")
        self.assertTree(self.before)
        self.undo(command="redo")
        self.assertTree(after)
        self.undo("--all")
        self.assertTree(self.before)
        self.undo("--all", code=1)
        self.undo(command="redo")
        self.undo(command="redo", code=1)
        self.assertTree(after)

    def test_contents(self):
        self.agent("sed -i s/content/CONTENT/ src/a; echo more >> top; : > src/b; dd if=/dev/zero of=src/deep/c bs=3 count=2 conv=notrunc",
                   "ln top other; rm top; echo x > other", "echo new > made; truncate -s 3 made; cp made src/a; rm made")
        self.undo("--all")
        self.assertTree(self.before)

    def test_all_once_more_finds_all_as_it_was(self):
        """A file that came back may have the number of the inode that it had."""
        os.mkdir(self.session.path("own"))
        for i in range(2):
            self.session.write("own/n%d" % i, b"%d" % i)
        self.agent("rm -rf own", "echo x > top; rm src/link")
        for _ in range(12):  # which number it gets is the file system's choice
            self.undo("--all")
            result = self.undo("--all", code=1)
            self.assertEqual((result.stdout, result.stderr), (b"", b"seen: nothing to undo: all that is on record is as it was\n"))
            self.assertEqual(self.undo("--all", "--dry-run", code=1).stdout, b"nothing was changed: this would change 0 paths\n")
            self.undo(command="redo")

    def test_of_a_named_session_beside_a_newer_one(self):
        """A name may have one letter."""
        self.session.name = "s"
        self.agent("rm top")
        self.session.name = "newer"
        self.agent("rm -r src")
        self.session.name = "s"
        self.undo("--all")
        self.assertEqual((self.has("top"), self.has("src")), (True, False))
        self.session.name = "newer"
        self.undo("--all")
        self.assertTree(self.before)

    def test_what_can_be_made_again_is_named_once(self):
        for name in ("src/__pycache__/a.pyc", "repository/objects/aa/bb", "repository/HEAD", "repository/refs/x"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, b"x")
        self.agent(*["echo %d > src/__pycache__/a.pyc; echo %d > repository/objects/aa/bb%d" % (i, i, i) for i in range(3)], "rm top")
        lines = self.undo("--all").stderr.splitlines()
        self.assertEqual(lines, [b"seen: src/__pycache__: nothing is kept below it, since it can be made again"])

    def git(self, *words):
        return subprocess.run(["git", "-C", self.session.workspace, "-c", "user.name=u", "-c", "user.email=u@example", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout

    def repository(self):
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        return self.tree()

    def test_a_removed_repository_comes_back(self):
        before = self.repository()
        self.agent("rm -rf .git")
        self.undo("--all")
        self.assertTree(before)
        self.assertEqual(self.git("fsck", "--full"), b"")
        self.assertEqual(self.git("status", "--short"), b"")

    def assertButObjects(self, expected):
        self.assertEqual([line for line in difference(expected, self.tree()) if not re.search(r"\.git/(objects|logs/HEAD|logs/refs/heads)", str(line))], [])

    def test_objects_that_were_made_stay(self):
        before = self.repository()
        git = "git -c user.name=u -c user.email=u@example "
        after = self.agent("echo 2 > top; %scommit -qam second; git rev-parse HEAD > ../second" % git,
                           "git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now")[-1]
        with open(self.session.path("../second")) as file:
            second = file.read().strip()
        self.undo("--step", "2")
        self.assertEqual(self.git("cat-file", "-t", second), b"commit\n")
        self.undo("--all")
        self.assertEqual(self.git("cat-file", "-t", second), b"commit\n")
        self.assertButObjects(before)
        self.assertNotIn(b"error", self.git("fsck", "--full"))
        self.undo(command="redo")
        self.undo(command="redo")
        self.assertButObjects(after)

    def test_the_time_of_an_object_is_no_change(self):
        """git sets it where it would have to make the object again; agents take snapshots so."""
        first = self.repository()
        self.agent("echo 2 > top", "find .git/objects -type f -exec touch -d 2001-02-03 {} +")
        self.assertNotIn(b"(times)", self.undo(command="story").stdout)
        self.undo("--last")
        self.assertButObjects(first)

    def test_two_writers_at_once(self):
        """The record of one may come behind what the other left."""
        for number in range(40):
            self.session.write("both%d" % number, b"x" * 3000)
        before = self.tree()
        self.agent("for i in $(seq 0 39); do (echo a; sleep 0.01; echo b) > both$i & echo c >> both$i; wait; done", "rm both*")
        result = self.undo("--all")
        self.assertEqual(result.stderr, b"")
        self.assertTree(before)

    def test_a_patch_has_nothing_of_git(self):
        self.repository()
        self.agent("echo 2 > top; git add -A; git -c user.name=u -c user.email=u@example commit -qm second")
        patch = self.undo(command="diff").stdout
        self.assertIn(b"#   .git: git's own state changed; git takes no patch of it\n", patch)
        subprocess.run(["git", "apply", "-R", "--check"], input=patch, cwd=self.session.workspace, check=True)

    def test_a_patch_of_a_file_in_the_place_of_a_directory(self):
        """What was in the directory goes first, whatever comes before it by its name."""
        self.agent("echo first > aaa; rm -r src; echo file > src")
        result = self.undo(command="diff")
        self.assertEqual(result.stderr, b"")
        self.assertLess(result.stdout.index(b"--- a/src/a\n"), result.stdout.index(b"+++ b/src\n"))
        subprocess.run(["git", "apply", "-R", "--check"], input=result.stdout, cwd=self.session.workspace, check=True)

    def test_a_patch_of_another_file_of_that_size(self):
        self.agent("rm src/a; printf 'THE CONTENT OF SRC/A\\n' > moved")
        patch = self.undo(command="diff").stdout
        self.assertNotIn(b"rename from", patch)
        self.assertIn(b"\n+THE CONTENT OF SRC/A\n", patch)

    def test_last_step_by_step(self):
        first, second, _ = self.agent("rm src/a", "mv src/deep elsewhere", "rm top hard; ln src/b new")
        for expected in (second, first, self.before):
            self.assertIn(b"undone", self.undo("--last").stdout)
            self.assertTree(expected)
        self.assertIn(b"nothing to undo", self.undo("--last", code=1).stderr)
        self.undo(command="redo")
        self.assertTree(first)

    def test_a_last_step_that_left_all_as_it_was_is_passed(self):
        first, *_ = self.agent("echo 1 >> top", "echo 2 >> src/a", "cp -p top kept; rm top; mv kept top; touch new; rm new")
        self.undo("--last")
        self.assertTree(first)
        self.undo("--last")
        self.assertTree(self.before)
        self.assertIn(b"nothing to undo", self.undo("--last", code=1).stderr)
        self.undo(command="redo")
        self.assertTree(first)

    def test_a_file_whose_time_alone_was_set_and_that_a_person_removed(self):
        self.agent("touch -d 2001-01-01 top")
        os.unlink(self.session.path("top"))
        self.assertIn(b"top is left as it is: an external program changed it since", self.undo("--all", code=12).stderr)
        self.assertIn(b"top is left as it is: it is there no more, and no record has its content", self.undo("--all", "--force", code=8).stderr)

    def test_a_last_step_that_is_left_is_left_once(self):
        trees = self.agent("rm src/a", "echo 2 > top; echo 2 > src/b", "echo 3 > top")
        self.session.write("top", b"by the user")
        left = self.tree()
        result = self.undo("--last", code=12)
        self.assertIn(b"top is left as it is: an external program changed it since", result.stderr)
        self.assertIn(b"step 3 is left as it is; --force undoes it, too; `seen undo --last` goes on with the step before it", result.stderr)
        self.assertEqual(result.stdout, b"")
        self.assertTree(left)
        self.undo(command="redo", code=1)  # there is nothing to take back
        result = self.undo("--last", code=12)  # top is another's
        self.assertIn(b"step 3 was left by an undo before; `seen undo --step 3` tries again", result.stderr)
        self.assertIn(b"step 2:", result.stdout)
        self.assertEqual((self.read("top"), self.read("src/b")), (b"by the user", b"the content of src/b\n"))
        result = self.undo("--last")
        self.assertIn(b"step 1:", result.stdout)
        self.undo("--last", code=1)
        self.undo("--step", "3", "--force")
        self.assertEqual(self.read("top"), b"2\n")
        self.undo(command="redo")
        self.undo(command="redo")
        self.undo(command="redo")
        self.assertEqual(difference(left, self.tree()), [])
        self.assertNotEqual(trees[2], left)

    def test_without_a_journal(self):
        self.session.close()
        self.session = session = Session()
        self.addCleanup(session.close)
        session.configure("[journal]\nlevel = off\n")
        session.write("a", b"1\n")
        before = self.tree()
        self.agent("rm a", "echo 2 > a; mkdir d")
        after = self.tree()
        for words in (("--last",), ("--step", "1"), ()):
            result = self.undo(*words, code=1)
            self.assertIn(b"has no steps, since it has no journal that can be read; `seen undo --all` and `--since TIME` do without", result.stderr)
            self.assertTree(after)
        for words in (("--all",), ("--since", "10m")):
            self.undo(*words)
            self.assertTree(before)
            self.undo(command="redo")
            self.assertTree(after)

    def test_without_the_end_of_the_journal(self):
        trees = self.agent("rm src/a", "rm src/b", "rm top")
        journal = os.path.join(os.path.dirname(self.records), "journal")
        wait_until(lambda: os.path.getsize(journal) < 1 << 20)  # a process of the run's cuts it behind the run
        with open(journal, "rb") as file:
            whole = file.read()

        def count(size):
            """Steps of a journal of which so much was written."""
            with open(journal, "wb") as file:
                file.write(whole[:size] + bytes(len(whole) - size))
            return len(json.loads(self.session.seen("story", "--json", "--session", self.session.name).stdout)["steps"])

        low, high = 4096, len(whole.rstrip(b"\0"))  # with no step, with all
        while count((low + high) // 2) != 1:
            low, high = ((low + high) // 2, high) if count((low + high) // 2) < 1 else (low, (low + high) // 2)
        result = self.undo("--last", code=1)
        self.assertIn(b"what was changed last is of no step that the journal has", result.stderr)
        self.assertTree(trees[2])
        self.undo("--all")
        self.assertTree(self.before)
        self.undo(command="redo")
        with open(journal, "wb") as file:
            file.write(whole[:100] + bytes(100) + whole[200:300])
        self.assertEqual(self.session.seen("story", "--session", self.session.name, check=False).returncode, 4)
        result = self.undo("--all")
        self.assertIn(b"journal: it is damaged", result.stderr)
        self.assertTree(self.before)
        self.undo(command="redo")
        shutil.rmtree(os.path.join(self.session.directory, "run"))  # whose session it was is known no more
        result = self.undo("--all", code=4)
        self.assertIn(b"journal: it is damaged", result.stderr)
        self.assertTree(trees[2])

    def test_nothing_changes_where_it_is_only_shown(self):
        after = self.agent("rm -r src")[-1]
        for words in ((), ("--last", "--dry-run"), ("--all", "--dry-run")):
            self.assertIn(b"would restore src/deep/c", self.undo(*words).stdout)
            self.assertTree(after)
        document = json.loads(self.undo("--all", "--dry-run", "--json").stdout)
        self.assertEqual((document["schema"], document["done"], document["left"]), ("seen/undo/1", False, []))
        self.assertIn({"action": "restore", "path": "src/a", "directory": False}, document["changes"])

    def test_what_changed_since_is_left_and_listed(self):
        self.agent("rm src/a; mv top moved; chmod 600 src/b")
        self.session.write("src/a", b"made by a person")
        self.session.write("moved", b"written by a person")
        theirs = self.tree()
        result = self.undo("--all", code=12)
        for name in (b"src/a", b"moved"):
            self.assertIn(b"%s is left as it is: an external program changed it" % name, result.stderr)
        now = self.tree()
        self.assertEqual((now[b"src/a"], now[b"moved"], now[b"src/b"]), (theirs[b"src/a"], theirs[b"moved"], self.before[b"src/b"]))
        self.undo("--all", "--force")
        self.assertEqual(self.tree()[b"src/a"], self.before[b"src/a"])
        self.undo(command="redo")
        self.assertEqual(self.tree()[b"src/a"], theirs[b"src/a"], "what a person wrote was kept first")

    def test_who_took_the_name_that_a_file_had_before(self):
        self.agent("mv top moved", "echo new > top; mv src/a src/moved")
        self.session.write("src/a", b"made by a person")
        after = self.tree()
        for step, name, said in ("1", b"top", b"a later step changed it, too"), ("2", b"src/a", b"an external program changed it since"):
            self.assertIn(b"%s is left as it is: %s" % (name, said), self.undo("--step", step, code=12).stderr)
        self.assertEqual([self.read(name) for name in ("moved", "src/a", "src/moved")], [b"the content of top\n", b"made by a person", b"the content of src/a\n"])
        self.undo(command="redo")
        self.assertTree(after)

    def test_who_took_a_name_that_a_file_had_on_its_way(self):
        for first, taken in (("mv a b; mv b a; mv a b; mv b c", "a"), ("mv a b; mv b c", "b"), ("mv a b; mv b c; mv d b; mv b e", "b")):
            for later, said in ((True, b"a later step changed it, too"), (False, b"an external program changed it since")):
                with self.subTest(first=first, later=later):
                    self.setUp()
                    for name in "ad":
                        self.session.write(name, b"content of " + name.encode())
                    self.agent(first, f"echo new > {taken}" if later else "true")
                    if not later:
                        self.session.write(taken, b"new")
                    done = self.undo("--step", "1", "--dry-run", code=12)
                    self.assertIn(b"%s is left as it is: %s" % (taken.encode(), said), done.stderr)

    def test_what_changed_between_two_steps_is_left_and_listed(self):
        agent = self.session.agent()
        agent.shell("echo one >> top; echo one >> src/b; echo made > made; cp src/a copy")
        for name in ("top", "made"):
            self.session.write(name, b"written by a person")
        os.rename(self.session.path("made"), self.session.path("new"))
        os.rename(self.session.path("new"), self.session.path("made"))
        self.session.write("other", b"another inode")
        os.rename(self.session.path("other"), self.session.path("copy"))
        theirs = self.tree()
        agent.shell("echo two >> top; echo two >> made; echo two >> copy; echo two > src/a")
        agent.close()
        self.undo("--last")
        self.assertTree(theirs)
        for words in ("--last",), ("--all",):
            result = self.undo(*words, code=12)
            for name in b"top", b"made", b"copy":
                self.assertIn(b"%s is left as it is: an external program changed it" % name, result.stderr)
            now = self.tree()
            self.assertEqual([now[name] for name in (b"top", b"made", b"copy")], [theirs[name] for name in (b"top", b"made", b"copy")])
            self.assertEqual(now[b"src/b"], self.before[b"src/b"])
        self.undo("--all", "--force")
        self.assertTree(self.before)

    def test_what_was_not_done_is_not_reported_as_done(self):
        self.agent("mkdir made made/deep; echo x > made/deep/x; echo y > made/y; mv top made/top")
        self.session.write("made/mine", b"by a person")
        result = self.undo("--all", code=12)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"4 paths undone; `seen redo` takes it back", b"removed made/deep/", b"removed made/deep/x",
                                                              b"removed made/y", b"renamed made/top to top"])
        self.assertEqual(result.stderr, b"seen: made is left as it is: there are files in it that this does not take back\n")
        self.undo(command="redo")
        document = json.loads(self.undo("--all", "--json", code=12).stdout)
        self.assertEqual(({change["path"] for change in document["changes"]}, [left["path"] for left in document["left"]]),
                         ({"made/deep", "made/deep/x", "made/y", "top"}, ["made"]))
        self.assertEqual(self.read("made/mine"), b"by a person")
        result = self.undo("--all", code=12)
        self.assertEqual(result.stdout, b"nothing was undone\n")

    def test_one_step_and_what_later_ones_changed(self):
        self.agent("rm src/a; chmod 600 top; mv hard h", "chmod 444 top; rm -r src/deep")
        result = self.undo("--step", "1", code=12)
        self.assertIn(b"top is left as it is: a later step changed it, too", result.stderr)
        now = self.tree()
        self.assertEqual([name in now for name in (b"src/a", b"hard", b"h", b"src/deep")], [True, True, False, False])
        self.assertEqual(now[b"top"][1], 0o444)

    def test_a_step_of_which_some_was_left_is_not_undone(self):
        self.agent("echo x >> top; echo x >> src/b", "echo y >> top")
        self.undo("--step", "1", code=12)  # step 2 changed one of them
        self.undo("--last")
        result = self.undo("--last", code=1)
        self.assertIn(b"step 1 was left by an undo before", result.stderr)
        self.undo("--step", "1")
        self.assertTree(self.before)

    def test_what_was_undone_stays_so_by_an_undo_of_later_steps(self):
        self.agent("rm top", "rm src/a", "rm src/b", "rm src/deep/c")
        self.undo("--step", "2")
        self.undo("--last")
        self.assertTrue(self.has("src/a") and self.has("src/deep/c"))
        self.undo("--since", "3")
        self.assertEqual([self.has(name) for name in ("top", "src/a", "src/b", "src/deep/c")], [False, True, True, True])
        self.undo("--step", "2", code=1)  # once more
        self.undo("--since", "2", code=1)
        self.undo("--last")
        self.assertTree(self.before)
        self.undo("--since", "3", code=1)
        for _ in range(4):
            self.undo(command="redo")
        self.assertFalse(self.has("top") or self.has("src/a") or self.has("src/b") or self.has("src/deep/c"))

    def test_paths(self):
        self.agent("rm -r src hard")
        self.undo("--all", "src/deep", "hard")
        now = self.tree()
        self.assertEqual([name in now for name in (b"src", b"src/deep/c", b"hard", b"src/a")], [True, True, True, False])
        self.undo("--last")
        self.assertTree(self.before)

    def test_times(self):
        os.utime(self.session.path("top"), (1, 1))
        os.utime(self.session.path("src/b"), (2, 2))
        before = self.tree(times=True)
        self.agent("rm top; mv src/b new")
        self.undo("--all", "--times")
        self.assertEqual(difference(before, self.tree(times=True)), [])
        self.undo(command="redo")
        self.undo("--all")
        self.assertEqual(os.stat(self.session.path("src/b")).st_mtime, 2, "what was renamed keeps its time")
        self.assertGreater(os.stat(self.session.path("top")).st_mtime, 2, "a source that comes back is newer than what was built without it")

    def test_back_to_a_checkpoint(self):
        """What was never read is removed behind it; a change in the same step as the checkpoint is there yet."""
        point = os.path.join(self.session.directory, "point")
        agent = self.session.agent(environment={"SEEN_CHECKPOINT_COMMAND": "cat >> %s.files; echo $SEEN_CHECKPOINT >> %s" % (point, point),
                                                "SEEN_CHECKPOINT_QUIET_MS": "50"})
        agent.shell("rm src/a; echo 1 >> top; for i in $(seq 400); do [ -s %s ] && break; sleep 0.05; done; echo 2 >> top; rm -rf src" % point)
        agent.close()
        with open(point) as file:
            time_of_it = file.readline().strip()  # it is run once more at the end
        with open(point + ".files") as file:
            self.assertEqual(file.readline(), "top\n")
        self.undo("--since", time_of_it)
        self.assertEqual((self.read("top"), self.has("src/a"), self.has("src/deep/c")), (b"the content of top\n1\n", False, True))
        self.undo("--all")
        self.assertTree(self.before)

    def test_last_twice_after_all_was_redone(self):
        between = []
        agent = self.session.agent()
        for command in ("sed -i s/a/A/ src/b", "mv src moved && mkdir src && mv moved/b src/", "rm -r moved"):
            between.append(self.tree())
            agent.shell(command)
        agent.close()
        self.undo("--all")
        self.undo(command="redo")
        for tree_before in reversed(between):
            self.undo("--last")
            self.assertTree(tree_before)

    def test_what_is_not_kept_is_named_once(self):
        os.makedirs(self.session.path("node_modules/m"))
        for name in ("package.json", "node_modules/m/a", "node_modules/m/b"):
            self.session.write(name, b"{}")
        self.agent("rm node_modules/m/a top", "rm node_modules/m/b src/b")
        self.assertEqual(self.undo("--all").stderr.count(b"nothing is kept below it"), 1)

    def test_after_a_pid_namespace(self):
        """The number of a process in there is another's here."""
        there = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
        probe = subprocess.run([*there, "true"], stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("unshare does not work here: %r" % probe.stderr)
        self.agent("%s sh -c '(kill -9 $$)'; rm -r src" % " ".join(there))
        self.undo("--all")
        self.assertTree(self.before)

    def test_of_a_session_whose_segment_is_gone(self):
        self.agent("rm -r src")
        shutil.rmtree(os.path.join(self.session.directory, "run"))
        os.mkdir(os.path.join(self.session.directory, "run"), 0o700)
        self.undo("--all")
        self.assertTree(self.before)
        self.undo(command="redo")
        self.assertNotIn(b"src", self.tree())

    def test_no_symbolic_link_is_followed(self):
        self.agent("rm -r src/deep; mv src/b b")
        external = os.path.join(self.session.directory, "external")
        os.mkdir(external)
        shutil.rmtree(self.session.path("src"))
        os.symlink(external, self.session.path("src"))
        self.session.seen("undo", "--session", self.session.name, "--all", "--force", check=False)
        self.assertEqual(os.listdir(external), [])

    def test_a_directory_that_an_undo_of_one_step_removed_comes_back_with_what_was_in_it(self):
        """It was empty then: a later step had removed or renamed what was in it."""
        after = self.agent("mkdir -p d/e; chmod 711 d/e; python3 -c \"import os; [os.setxattr('d/e', 'user.' + n, n.encode()) for n in 'ab']\"", "echo x > d/e/f; echo y > d/e/g", "rm d/e/f; mv d/e/g g")[-1]
        without = {path: entry for path, entry in after.items() if path not in (b"d", b"d/e")}
        self.undo("--step", "1")
        self.assertTree(without)
        dry = self.undo("--step", "3", "--dry-run")
        self.assertIn(b"would restore d/e/\n", dry.stdout)
        done = self.undo("--step", "3")
        self.assertEqual(done.stderr, b"")
        self.assertEqual((self.read("d/e/f"), self.read("d/e/g"), self.has("g")), (b"x\n", b"y\n", False))
        self.assertEqual([os.stat(self.session.path(name)).st_mode & 0o7777 for name in ("d", "d/e")], [after[b"d"][1], 0o711])
        self.assertEqual({name: os.getxattr(self.session.path("d/e"), name) for name in os.listxattr(self.session.path("d/e")) if name.startswith("user.")}, {"user.a": b"a", "user.b": b"b"})
        self.undo(command="redo")
        self.assertTree(without)
        self.undo(command="redo")
        self.assertTree(after)


if __name__ == "__main__":
    unittest.main()

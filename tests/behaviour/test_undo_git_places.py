"""git's state that lies elsewhere, and what a person's git makes and removes there by itself."""
import glob
import json
import os
import shutil
import signal
import subprocess
import unittest

from harness import LONG, SEEN, short_form_by, wait_until
from test_undo_git import GitCase
from test_undo_harm import FAILS_AT

ABOVE = "seen: %s: outside the workspace: what may have changed in it since the session began stays\n"


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class Elsewhere(GitCase):
    def test_above_the_workspace_it_stays_and_is_named(self):
        """The workspace is a directory of a larger repository."""
        self.git("mv .git ..; rm s; git -C .. add workspace; git commit -qm moved")
        above = ABOVE % os.path.join(self.session.directory, ".git")
        self.run_steps("echo 3 > a")
        self.assertEqual(self.seen(0, "undo", "--all", "--dry-run"), "")
        self.assertEqual(self.seen(0, "undo", "--all"), "")
        self.assertIn("all that is on record is as it was", self.seen(1, "undo", "--all"))
        for command in ("git commit -q --allow-empty -m three", "git branch new", "git rm -q --cached k; git pack-refs --all"):
            self.session.name = "test%d" % len(command)
            self.run_steps("echo 3 > a", command)
            self.assertEqual(self.seen(0, "undo", "--all", "--dry-run"), above, command)
            self.assertIn((os.path.join(self.session.directory, ".git"), "outside"), self.left("--all"))
            self.assertEqual(self.seen(0, "undo", "--all"), above, command)
            self.assertEqual(self.session.read("a"), b"2\n")
            self.assertEqual(self.seen(1, "undo", "--all"), above + "seen: nothing to undo: all that is on record is as it was\n")
            self.assertEqual(self.seen(0, "redo"), "")
            self.session.write("a", b"2\n")

    def test_above_the_workspace_where_nothing_else_was_changed(self):
        self.git("mv .git ..; git -C .. add workspace; git commit -qm moved")
        self.run_steps("git commit -q --allow-empty -m three")
        for words in ("--all",), ("--last",):
            self.assertIn(ABOVE % os.path.join(self.session.directory, ".git"), self.seen(1, "undo", *words))

    def test_above_the_workspace_only_what_is_known_is_said(self):
        """A person's `git status` writes the index there, but changes nothing."""
        self.git("mv .git ..; git -C .. add workspace; git commit -qm moved; echo p > ../p; git -C .. add p; git commit -qm p")
        self.run_steps("true")
        refs = self.git("git for-each-ref; git rev-parse HEAD; git ls-files -s")
        index = os.stat(os.path.join(self.session.directory, ".git/index")).st_ctime_ns
        self.git("touch ../p; git status --porcelain")
        self.assertGreater(os.stat(os.path.join(self.session.directory, ".git/index")).st_ctime_ns, index)
        self.assertEqual(self.git("git for-each-ref; git rev-parse HEAD; git ls-files -s"), refs)
        said = self.seen(1, "undo", "--all")
        self.assertNotIn("what changed", said)
        self.assertIn("may have changed", said)

    def test_by_a_symbolic_link_it_comes_back(self):
        """All of it, or its refs and what belongs to them."""
        there = os.path.join(self.session.directory, "there")
        for move in ("mv .git ../there; ln -s ../there .git",
                     "mkdir .git.new; cp -r .git/HEAD .git/index .git.new; for n in config refs logs objects packed-refs info hooks; do ln -s ../../there/$n .git.new/$n; done; "
                     "rm .git; mv .git.new .git"):
            self.git(move)
            before = self.head(), self.git("git for-each-ref; git stash list; git log --format=%s")
            self.run_steps("echo 3 > a; git commit -qam three; git branch -D side; git checkout -q -b new")
            self.assertTrue(os.path.exists(os.path.join(there, "refs/heads/new")))
            self.seen(0, "undo", "--all")
            self.assertEqual((self.head(), self.git("git for-each-ref; git stash list; git log --format=%s")), before)
            self.seen(0, "redo")
            self.assertEqual(self.git("git symbolic-ref HEAD; git log -1 --format=%s"), "refs/heads/new\nthree\n")
            self.seen(0, "undo", "--last")
        # HEAD goes with its refs.
        self.run_steps("git commit -q --allow-empty -m three; git checkout -q side")
        self.git("git update-ref refs/heads/main side~1")
        self.seen(12, "undo", "--last")
        self.assertEqual(self.git("git symbolic-ref HEAD; git status --porcelain"), "refs/heads/side\n M a\n D s\n")


@unittest.skipUnless(shutil.which("git"), "needs git")
@short_form_by("preload")
class ByItself(GitCase):
    def test_a_directory_of_refs_that_a_persons_git_removed(self):
        self.git("git branch directory/old; git branch other/old")
        before = self.head(), self.git("git for-each-ref")
        self.run_steps("git branch -D directory/old; mkdir .git/refs/heads/directory; git commit -q --allow-empty -m three; git checkout -q side")
        self.git("rmdir .git/refs/heads/directory")
        self.assertEqual(self.left("--all"), set())
        self.seen(0, "undo", "--all")
        self.assertEqual((self.head(), self.git("git for-each-ref")), before)

    def test_a_directory_of_refs_that_a_persons_git_made(self):
        before = self.head()
        self.run_steps("git branch directory/new; git branch -D directory/new; git checkout -q side")
        self.assertFalse(os.path.exists(self.session.path(".git/refs/heads/directory")))
        self.git("git branch directory/mine")
        self.seen(0, "undo", "--all")
        self.assertEqual(self.head(), before)
        self.assertIn("directory/mine", self.git("git branch"))

    def test_an_object_that_a_persons_git_needed_again(self):
        """git sets the time of such a one, between two steps: git status does so in a sparse checkout."""
        name = self.git("git rev-parse HEAD^{tree}").strip()
        name = self.session.path(".git/objects/%s/%s" % (name[:2], name[2:]))
        agent = self.session.agent()
        agent.shell("touch -d 2002-02-03 %s" % name)
        self.git("touch -d 2001-02-03 %s" % name)
        agent.shell("git gc -q --prune=now")
        agent.close()
        self.assertFalse(os.path.exists(name))
        self.assertEqual(self.left("--all"), set())
        self.seen(0, "undo", "--all")
        self.assertTrue(os.path.exists(name))

    def test_an_object_whose_directory_a_persons_git_removed(self):
        name = self.git("git rev-parse HEAD^{tree}").strip()
        directory = self.session.path(".git/objects/" + name[:2])
        before = os.stat(directory).st_mode
        agent = self.session.agent()
        agent.shell("touch -d 2002-02-03 %s/%s" % (directory, name[2:]))
        self.git("touch -d 2001-02-03 %s/%s" % (directory, name[2:]))
        agent.shell("rm -f %s/%s" % (directory, name[2:]))
        agent.close()
        os.rmdir(directory)
        self.assertEqual(self.left("--all"), set())
        self.seen(0, "undo", "--all")
        self.assertEqual((os.listdir(directory), os.stat(directory).st_mode), ([name[2:]], before))

    MAKE = "git init -q new; cd new; echo 1 > k; git add k; git commit -qm one"

    def test_objects_that_a_persons_git_needed_again_in_a_repository_that_the_session_made(self):
        for pack in "true", "git gc -q":
            self.run_steps(self.MAKE, "cd new; " + pack)
            for _ in range(2):
                kept = self.git("find new/.git/objects -type f -printf '%T@ '")
                self.git("sleep 0.02; cd new; git hash-object -w k; git fsck")
                self.assertNotEqual(self.git("find new/.git/objects -type f -printf '%T@ '"), kept)
                self.assertEqual(self.left("--all"), set())
                self.seen(0, "undo", "--all")
                self.assertFalse(os.path.exists(self.session.path("new")))
                self.seen(0, "redo")
                self.assertEqual(self.git("cd new; git fsck --full --no-dangling --no-progress; git log --format=%s"), "one\n")
            self.session.close()
            self.setUp()

    def test_an_object_whose_content_a_person_changed_in_such_a_one(self):
        """Damaged, or not git's: it is no object that git needed again."""
        self.run_steps(self.MAKE)
        name = "new/.git/objects/d0/0491fd7e5bb6fa28c517a0bb32b8b506539d4d"
        content = self.session.read(name)[::-1]
        mode = os.stat(self.session.path(name)).st_mode
        os.chmod(self.session.path(name), 0o644)
        with open(self.session.path(name), "r+b") as file:
            file.write(content)
        os.chmod(self.session.path(name), mode)
        planned = self.left("--all")
        self.assertLessEqual({(name, "external"), ("new/.git", "git"), ("new", "within")}, planned)
        result = self.session.seen("undo", "--all", "--json", "--session", self.session.name, check=False)
        self.assertEqual(({(left["path"], left["kind"]) for left in json.loads(result.stdout)["left"]}, result.returncode), (planned, 12))
        self.assertEqual(self.session.read(name), content)

    def test_a_redo_is_not_promised_where_objects_alone_came_back(self):
        """They stay: a redo takes back what the undo before did."""
        name = self.git("git rev-parse HEAD^{tree}").strip()
        self.run_steps("rm k", "rm -rf .git/objects/" + name[:2])
        after = os.listdir(self.session.workspace)
        result = self.session.seen("undo", "--last", "--session", self.session.name)
        self.assertIn(b"undone; nothing to redo: git's objects and logs stay\n", result.stdout)
        result = self.session.seen("undo", "--last", "--session", self.session.name)
        self.assertIn(b"1 path undone; `seen redo` takes it back\n", result.stdout)
        self.seen(0, "redo")
        self.assertEqual(os.listdir(self.session.workspace), after)
        self.assertIn("nothing to redo", self.seen(1, "redo"))

    def undo(self, *words):
        return self.session.seen("undo", *words, "--session", self.session.name).stdout

    def test_objects_that_an_undo_removed_are_redone(self):
        """In a repository that the session made they do not stay."""
        self.run_steps(self.MAKE)
        self.assertIn(b"`seen redo` takes it back\n", self.undo("--all", "new/.git/objects"))
        self.assertFalse(os.path.exists(self.session.path("new/.git/objects")))
        self.seen(0, "redo")
        self.assertEqual(self.git("cd new; git fsck --full --no-dangling --no-progress; git log --format=%s; git status --porcelain"), "one\n")
        self.assertIn("nothing to redo", self.seen(1, "redo"))

    def test_modes_of_objects_that_an_undo_reset_are_redone(self):
        self.run_steps("rm k", "chmod -R a+w .git/objects")
        modes = self.git("find .git/objects -printf '%m %p\\n' | sort")
        self.undo("--step", "1")
        self.assertIn(b"`seen redo` takes it back\n", self.undo("--step", "2"))
        self.assertNotEqual(self.git("find .git/objects -printf '%m %p\\n' | sort"), modes)
        self.seen(0, "redo")
        self.assertEqual(self.git("find .git/objects -printf '%m %p\\n' | sort"), modes)
        self.assertTrue(os.path.exists(self.session.path("k")))  # one redo takes back one undo
        self.seen(0, "redo")
        self.assertFalse(os.path.exists(self.session.path("k")))

    def test_an_object_that_was_moved_out_is_moved_again_by_a_redo(self):
        self.run_steps("mv $(ls -d .git/objects/??/* | head -1) stolen")
        stolen = self.session.read("stolen")
        self.assertIn(b"`seen redo` takes it back\n", self.undo("--all"))
        self.assertFalse(os.path.exists(self.session.path("stolen")))
        self.session.seen("redo", "--session", self.session.name)
        self.assertEqual(self.session.read("stolen"), stolen)

    def test_a_redo_passes_an_undo_that_added_to_a_log_alone(self):
        """Else the undo before is redone or not by the second at which the entries were made."""
        self.run_steps("rm k", "git reflog expire --expire=now --all")
        after = os.listdir(self.session.workspace)
        self.seen(0, "undo", "--step", "1")
        result = self.session.seen("undo", "--step", "2", "--session", self.session.name)
        self.assertIn(b"undone; nothing to redo: git's objects and logs stay\n", result.stdout)
        self.seen(0, "redo")
        self.assertEqual(os.listdir(self.session.workspace), after)

    def test_gc_removes_a_session_whose_undo_added_to_a_log(self):
        """It leaves the list of the locks that it made."""
        self.run_steps("git reflog expire --expire=now --all")
        self.assertIn(b"appended to ", self.undo("--all"))
        self.assertEqual(self.session.seen("gc", self.session.name, check=False).stderr, b"")

    def test_git_status_of_a_person_before_the_session_removed_the_index(self):
        for remove in "rm .git/index", "rm -rf .git", "git rm -q a; git commit -qm gone; rm -rf .git":
            before = self.head()
            agent = self.session.agent()
            agent.shell("echo 3 > a; git commit -qam three")
            index = os.stat(self.session.path(".git/index")).st_ino
            self.git("sleep 0.02; touch k; git status")
            self.assertNotEqual(os.stat(self.session.path(".git/index")).st_ino, index)
            agent.shell(remove)
            agent.close()
            self.assertEqual(self.left("--all"), set())
            self.seen(0, "undo", "--all")
            self.assertEqual(self.head(), before)
            self.session.close()
            self.setUp()

    def test_an_index_that_a_person_wrote_to_before_the_session_removed_it(self):
        for person, remove in ("echo y > y; git add y", "rm .git/index"), ("true", "true"):
            agent = self.session.agent()
            agent.shell("echo 3 > a; git commit -qam three")
            self.git(person)
            agent.shell(remove)
            agent.close()
            if remove == "true":
                os.remove(self.session.path(".git/index"))
            self.assertIn((".git/index", "external"), self.left("--all"))
            self.session.close()
            self.setUp()

    def test_git_status_of_a_person_in_what_an_undo_or_redo_brought_back(self):
        self.git("git worktree add -q w side")
        self.run_steps("echo 3 > a; git commit -qam three", "git worktree remove w", "rm -rf .git", self.MAKE)
        for words, code in (("undo", "--all"), 0), (("redo",), 0), (("undo", "--last"), 0), (("undo", "--last"), 0), (("undo", "--last"), 0), (("undo", "--last"), 0):
            self.assertEqual(self.session.seen(*words, "--session", self.session.name, check=False).returncode, code, words)
            self.git("sleep 0.02; touch k; for d in . w new; do git -C $d status; done")
        self.assertEqual(self.git("git log -1 --format=%s; git status --porcelain; git -C w status --porcelain"), "two\n?? w/\n")

    def test_a_repository_that_was_renamed_has_its_log_again_by_a_redo(self):
        """Where the refs that the log is of did not change."""
        self.git("mkdir in; git init -q in/it; cd in/it; git commit -q --allow-empty -m one")
        for renames, name in ("mv in/it to", "to"), ("mkdir there; mv in there/; mkdir in; mv there in", "in/there/in/it"):
            self.run_steps(renames, "cd %s; git reset -q --hard" % name)
            log = self.session.read(name + "/.git/logs/HEAD")
            self.assertIn(b"reset: moving to HEAD", log)
            for _ in range(2):
                self.seen(0, "undo", "--all")
                self.seen(0, "redo")
                self.assertEqual(self.session.read(name + "/.git/logs/HEAD"), log)
            self.seen(0, "undo", "--all")
            self.session.name += "2"

    def test_a_split_index_whose_shared_part_the_session_never_had(self):
        self.git("git config core.splitIndex true; git update-index --split-index")
        self.run_steps("rm .git/index; git config core.splitIndex false; git read-tree side; git symbolic-ref HEAD refs/heads/side")
        shared = glob.glob(self.session.path(".git/sharedindex.*"))
        for path in shared:
            os.rename(path, os.path.join(self.session.directory, os.path.basename(path)))
        self.assertEqual({kind for path, kind in self.left("--all") if path == ".git/index"}, {"object"})
        self.assertIn(".git/index is left as it is: the shared part that this split index names is gone", self.seen(8, "undo", "--all"))
        self.assertEqual(self.git("git symbolic-ref HEAD"), "refs/heads/side\n")
        for path in shared:
            os.rename(os.path.join(self.session.directory, os.path.basename(path)), path)
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git("git symbolic-ref HEAD; git status --porcelain"), "refs/heads/main\n")


@short_form_by("preload")
class OtherLocks(GitCase):
    FILES = "cat .hg/dirstate .hg/store/a; ls -A .hg .hg/store"

    def prepare(self):
        self.git("mkdir -p .hg/store; echo 1 | tee .hg/dirstate .hg/store/a")
        return self.git(self.FILES)

    @staticmethod
    def holder(pid):
        """What hg has in a lock."""
        return "%s/%x:%d" % (os.uname().nodename, os.stat("/proc/self/ns/pid").st_ino, pid)

    def refuses(self, lock, *words):
        """The undo changes nothing, and names the lock."""
        before = self.git(self.FILES), os.readlink(lock)
        said = "seen: nothing was changed: %s is there: another program is at work, or was killed (remove the file then)\n" % lock
        self.assertEqual(self.seen(12, "undo", *words), said)
        self.assertEqual((self.git(self.FILES), os.readlink(lock)), before)

    def test_the_locks_of_hg_are_held(self):
        before = self.prepare()
        locks = [self.session.path(".hg/wlock"), self.session.path(".hg/store/lock")]
        self.run_steps("for i in $(seq 1500); do echo $i > f$i; done; echo 2 | tee .hg/dirstate .hg/store/a")
        count = len(os.listdir(self.session.workspace))
        undo = subprocess.Popen([SEEN, "undo", "--all", "--session", self.session.name], cwd=self.session.workspace, env=self.session.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: len(os.listdir(self.session.workspace)) < count or undo.poll() is not None)
        undo.send_signal(signal.SIGSTOP)
        for lock in locks:
            self.assertEqual(os.readlink(lock), self.holder(undo.pid))
        undo.kill()
        undo.wait()
        # Another program has taken one meanwhile: what was begun waits.
        os.unlink(locks[0])
        os.symlink(self.holder(os.getpid()), locks[0])
        self.refuses(locks[0], "--continue")
        os.unlink(locks[0])
        # hg itself removes the lock of a process that has ended; so does the next undo.
        self.seen(0, "undo", "--continue")
        self.assertEqual(self.git(self.FILES + "; ls f*"), before + "ls: cannot access 'f*': No such file or directory\n")

    @unittest.skipIf(os.getuid(), "another name of the host: as root")
    def test_the_locks_of_an_undo_that_was_killed_where_the_host_had_another_name(self):
        """By their text they are of another host: the undo knows them as its own."""
        before = self.prepare()
        self.run_steps("echo 2 | tee .hg/dirstate .hg/store/a")
        elsewhere = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh"]
        words = [SEEN, "undo", "--all", "--session", self.session.name]
        for number in range(1, self.calls(elsewhere, words), 1 if LONG else 3):
            self.run_failing(number, elsewhere, words)
            result = self.session.seen("undo", "--continue", "--session", self.session.name, check=False)
            self.assertIn(result.returncode, (0, 1), (number, result.stderr))
            self.assertEqual([path for path in (".hg/wlock", ".hg/store/lock") if os.path.lexists(self.session.path(path))], [], (number, result.stderr))
            if self.git(self.FILES) != before:
                self.seen(0, "undo", "--all")
            self.assertEqual(self.git(self.FILES), before, number)
            self.seen(0, "redo")

    def run_failing(self, number, elsewhere, words):
        count = os.path.join(self.session.directory, "count")
        subprocess.run([*elsewhere, FAILS_AT, str(number), "kill", count, *words], cwd=self.session.workspace, env=self.session.environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        with open(count) as file:
            return int(file.read())

    def calls(self, *run):
        count = self.run_failing(0, *run)
        self.seen(0, "redo")
        return count

    def test_the_lock_of_a_process_that_has_ended_goes_by_the_rule_of_hg(self):
        """Not while another program holds wlock.break: that one removes it, and takes the lock then."""
        before = self.prepare()
        self.run_steps("echo 2 | tee .hg/dirstate .hg/store/a")
        lock, guard = (self.session.path(".hg/" + name) for name in ("wlock", "wlock.break"))
        ended = subprocess.Popen(["true"])
        ended.wait()
        os.symlink(self.holder(ended.pid), lock)
        os.symlink(self.holder(os.getpid()), guard)
        self.refuses(lock, "--all")
        self.assertEqual(os.readlink(guard), self.holder(os.getpid()))
        os.unlink(guard)
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git(self.FILES), before)

    # ---- the list of those that an undo made ----

    ELSEWHERE = "elsewhere/f00:5"

    @property
    def list(self):
        return os.path.join(self.session.directory, ".local/state/seen", self.session.name, "undo/locks")

    def note(self, *locks):
        with open(self.list, "wb") as file:
            file.write(b"".join(b"%s\0%s\0" % (os.fsencode(path), os.fsencode(text)) for path, text in locks))

    def change(self):
        before = self.prepare()
        self.run_steps("echo 2 | tee .hg/dirstate .hg/store/a")
        return before

    def test_by_the_list_nothing_goes_but_locks_of_an_undo(self):
        self.change()
        elsewhere = os.path.join(self.session.directory, "precious")
        links = {elsewhere: "target", elsewhere + "2": self.ELSEWHERE, self.session.path(".hg/wlock"): "target"}
        for path, text in links.items():
            os.symlink(text, path)
        files = [self.session.path(name) for name in ("HEAD.lock", "a.lock", "fifo.lock/index.lock")]
        os.mkdir(os.path.dirname(files[2]))
        for path in files[:2]:
            with open(path, "w") as file:
                file.write("seen undo %s\n" % (os.path.dirname(self.list) if path.endswith("a.lock") else "elsewhere"))
        os.mkfifo(files[2])
        self.note(*links.items(), *((path, "") for path in files))
        self.seen(1, "undo", "--continue")
        self.assertEqual({path: os.readlink(path) for path in links if os.path.islink(path)}, links)
        self.assertEqual([path for path in files if os.path.lexists(path)], files)

    def test_a_lock_that_cannot_be_removed_stays_on_the_list(self):
        self.change()
        lock, guard = (self.session.path(".hg/" + name) for name in ("wlock", "wlock.break"))
        os.symlink(self.ELSEWHERE, lock)
        os.symlink(self.holder(os.getpid()), guard)
        self.note((lock, self.ELSEWHERE))
        self.assertNotIn("removed", self.seen(1, "undo", "--continue"))
        os.unlink(guard)
        self.assertIn("removed 1 lock file of an undo", self.seen(1, "undo", "--continue"))
        self.assertEqual((os.path.lexists(lock), os.path.exists(self.list)), (False, False))

    def test_the_lock_of_hg_itself_is_no_undo_s(self):
        self.change()
        lock, ended = self.session.path(".hg/wlock"), subprocess.Popen(["true"])
        ended.wait()
        os.symlink(self.holder(ended.pid), lock)
        self.note((lock, self.ELSEWHERE))
        self.assertNotIn("removed", self.seen(1, "undo", "--continue"))
        self.assertEqual(os.readlink(lock), self.holder(ended.pid))

    def test_what_is_no_list_is_not_written_to(self):
        before = self.change()
        os.mkfifo(self.list)
        self.seen(0, "undo", "--all")
        self.assertEqual(self.git(self.FILES), before)

    def test_a_part_of_a_lock_does_not_stay_on_the_list(self):
        """The disk is full; the next one follows."""
        self.change()
        other = self.session.path("HEAD.lock")
        with open(other, "w"):
            pass
        self.note(*[("x", "")] * 100000, (other, ""))
        size = os.stat(self.list).st_size
        result = subprocess.run(["prlimit", "--fsize=%d" % (size + 20), SEEN, "undo", "--all", "--session", self.session.name],
                                cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr, os.stat(self.list).st_size), (0, b"", size))

    def test_a_plan_that_is_shown_is_the_one_that_is_done(self):
        """The lock that an undo left, where the host had another name, is taken for its own."""
        before = self.change()
        lock = self.session.path(".hg/wlock")
        os.symlink(self.ELSEWHERE, lock)
        self.note((lock, self.ELSEWHERE))
        shown = self.session.seen("undo", "--all", "--dry-run", "--session", self.session.name).stdout.decode()
        self.assertEqual((os.readlink(lock), os.path.exists(self.list)), (self.ELSEWHERE, True))
        done = self.session.seen("undo", "--all", "--session", self.session.name).stdout.decode()
        self.assertEqual([line.replace("would ", "") for line in shown.splitlines()[:-1]],
                         [line.replace("restored", "restore") for line in done.splitlines()[:-1]])
        self.assertIn(".hg/dirstate", shown)
        self.assertEqual(self.git(self.FILES), before)


if __name__ == "__main__":
    unittest.main()

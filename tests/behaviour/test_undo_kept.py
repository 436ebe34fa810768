"""What was kept comes back in the awkward cases, and an external change is known by more than its size and time."""
import os
import sys
import unittest

import packs
from undo_case import Undone
from undoing import difference


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

    def test_an_edit_between_two_steps_that_replace_the_file(self):
        agent = self.session.agent()
        agent.shell("sed -i s/content/ONE/ top src/a")
        with open(self.session.path("top"), "a") as file:
            file.write("theirs")
        theirs = self.tree(True)[b"top"]
        agent.shell("sed -i s/ONE/TWO/ top src/a")
        after = self.tree()[b"top"]
        agent.close()
        self.undo("--last", "--times")
        self.assertEqual(self.tree(True)[b"top"], theirs)
        self.undo(command="redo")
        self.assertLeft(b"top", "--all")
        now = self.tree()
        self.assertEqual((now[b"src/a"], now[b"top"]), (self.before[b"src/a"], after))

    def test_what_a_writer_that_is_open_adds_to_what_was_renamed_is_not_external(self):
        self.agent("echo 1 > log; exec 7>> log; mv log log.1; echo 2 >&7; mv log.1 log.2; echo 3 >&7; mv top src/b", "rm log.2; mv src/b top")
        self.undo("--all")
        self.assertTree(self.before)

    def test_a_link_to_a_file_with_a_time_to_come(self):
        """No writer had it open: a link leaves its time."""
        self.agent("touch -d tomorrow top src/a", "ln top other; rm top; cp -l src/a a; chmod 600 a")
        self.undo("--all")
        self.assertTree(self.before)
        self.undo("--continue", code=1)

    def test_an_edit_of_what_an_undo_made(self):
        after = self.agent("rm top; echo one >> src/a; mv src/deep/c c")[-1]
        self.undo("--all")
        theirs = self.edit_unseen("top")
        self.assertLeft(b"top", command="redo")
        now = self.tree()
        self.assertEqual((now[b"top"], now[b"src/a"]), (theirs, after[b"src/a"]))


class Room(Undone):
    def test_a_file_that_each_step_changes_is_kept_once_a_step(self):
        """What a step left of it is what the next one changes."""
        steps, size = 8, 40000
        agent, path = self.session.agent(), self.session.path("large")
        agent.shell("head -c %d /dev/urandom > '%s'" % (size, path))
        for _ in range(steps):
            agent.shell("head -c %d /dev/urandom | dd of='%s' conv=notrunc status=none" % (size, path))
        agent.close()
        kept = sum(entry.stat().st_size for entry in os.scandir(self.records) if entry.is_file())
        self.assertGreater(kept, steps * size)
        self.assertLess(kept, 1.1 * (steps + 1) * size)


class Lost(Undone):
    def test_a_content_that_was_not_kept_and_has_the_same_size_and_time_now(self):
        self.session.write("made.o", b"one\n")
        self.agent("cp -p made.o ../t; printf 'two\\n' 1<> made.o; touch -r ../t made.o; rm ../t", "echo 2 > top")
        self.assertEqual(self.undo("--all", code=8).stderr, b"seen: made.o is left as it is: it can be made again, and was not kept\n")
        self.assertEqual((self.read("made.o"), self.tree()[b"top"]), (b"two\n", self.before[b"top"]))


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

    def test_each_call_has_its_record_alone(self):
        self.agent("mkdir d; ln large other; ln -s nothing l; mv other moved; chmod 600 moved; rm moved; rm l; rmdir d")
        records = packs.read(os.path.join(self.session.directory, ".local/state/seen/test/undo"))
        self.assertEqual([(one.kind, os.path.basename(one.path)) for one in records if one.kind not in ("after", "boundary")],
                         [("created", "d"), ("linked", "large"), ("created", "l"), ("renamed", "other"), ("metadata", "moved"), ("removed", "moved"), ("removed", "l"), ("removed", "d")])

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
        for name in self.names:
            try:
                os.setxattr(self.session.path(name), "user.origin", name.encode(), 0)
            except OSError as error:
                self.skipTest("no extended attributes here: %s" % error)
        os.chmod(self.session.path("src/a"), 0o444)

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

    def test_of_what_was_unreadable_when_it_was_removed(self):
        before = self.attributes()
        self.agent("chmod 0 top large; rm -f top large")
        self.undo("--all")
        for name in "top", "large":
            os.chmod(self.session.path(name), 0o600)
        self.assertEqual(self.attributes(), before)

    def test_of_what_an_undo_removes(self):
        self.agent("rm top src/b; touch top; " + self.set_by_python("top"))
        after = self.attributes()
        self.assertEqual(after["top"], {"user.later": b"1"})
        self.undo("--all")
        self.assertEqual(self.attributes()["top"], {"user.origin": b"top"})
        self.undo(command="redo")
        self.assertEqual(self.attributes(), after)

    # Each of libc's functions that take a path: what it does to a file, and those of a symbolic link to another file.
    SETS = ("chmod(p, 0o600)", "utime(p, None)", "utimes(p, None)", "futimesat(-100, p, None)", "utimensat(-100, p, None, 0)", "setxattr(p, b'user.later', b'1', c_size_t(1), 0)",
            "removexattr(p, b'user.origin')", *(() if os.getuid() else ("chown(p, 1234, 1234)", "fchownat(-100, p, 1234, 1234, 0)")))
    SETS_LINK = ("utimensat(-100, p, None, 0x100)", "lutimes(p, None)", *(() if os.getuid() else ("lchown(p, 1234, 1234)", "fchownat(-100, p, 1234, 1234, 0x100)")))

    def test_set_through_a_link(self):
        """What a call follows a symbolic link to comes back, and what is the link's own."""
        calls = self.SETS + self.SETS_LINK
        for number in range(len(calls)):
            path = self.session.path("file%d" % number)
            self.session.write("file%d" % number, b"content")
            os.setxattr(path, "user.origin", b"1")
            os.utime(path, (1, 1))
            os.symlink("file%d" % number, self.session.path("link%d" % number))

        lines = ["p = b'link%d'; CDLL(None).%s and exit(1)" % one for one in enumerate(calls)]
        self.session.write("set", "\n".join(["from ctypes import *", *lines]).encode())

        def state():
            links = {name: os.lstat(self.session.path(name)) for name in os.listdir(self.session.workspace) if name.startswith("link")}
            return self.tree(True), {name: (one.st_uid, one.st_gid) for name, one in links.items()}

        before = state()
        self.agent("%s set" % sys.executable)
        after = state()
        self.assertEqual(sum(before[0][b"file%d" % number] != after[0][b"file%d" % number] for number in range(len(calls))), len(self.SETS))
        self.undo("--all", "--times")
        self.assertEqual(state(), before)

    @staticmethod
    def set_by_python(name):
        return "%s -c 'import os; os.setxattr(\"%s\", \"user.later\", b\"1\")'" % (sys.executable, name)


class Sparse(Undone):
    """A file of 32 MiB that has two pages takes two pages, in the store and when it is back."""
    SIZE, DATA = 32 << 20, b"data" * 1024

    def room(self):
        """(bytes on disk, content) of each file that has more than 1 MiB."""
        found = []
        for top in self.session.workspace, self.records:
            for directory, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(directory, name)
                    if os.lstat(path).st_size == self.SIZE:
                        with open(path, "rb") as file:
                            found.append((os.lstat(path).st_blocks * 512, file.read(4096), file.seek(-4096, os.SEEK_END) and file.read()))
        return found

    def test_holes_stay_holes(self):
        path = self.session.path("sparse")
        with open(path, "wb") as file:
            file.write(self.DATA)
            file.seek(self.SIZE - len(self.DATA))
            file.write(self.DATA)
        limit = os.stat(path).st_blocks * 512
        if limit > 1 << 20:
            self.skipTest("a file system without holes")
        before = self.tree()
        self.agent("truncate -s 100 sparse", "rm sparse")
        (kept,) = self.room()
        self.assertLessEqual(kept[0], limit + 262144)
        self.assertEqual(kept[1:], (self.DATA, self.DATA))
        self.undo("--all")
        self.assertEqual(self.tree()[b"sparse"], before[b"sparse"])
        for on_disk, start, end in self.room():
            self.assertLessEqual(on_disk, limit + 262144)
            self.assertEqual((start, end), (self.DATA, self.DATA))


class Open(Undone):
    def test_what_a_stream_wrote_over_a_step_is_not_known(self):
        """A program writes by libc's streams before and after a step begins: what was there in between is nowhere."""
        program = """import ctypes, subprocess
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
files = [ctypes.c_void_p(libc.fopen(name, b"a")) for name in (b"top", b"src/a")]
def put(file):
    libc.fputs(b"a line\\n", file)
    libc.fflush(file)
put(files[0]); put(files[1]); libc.fclose(files[1])
subprocess.run(["sh", "-c", "echo more >> src/b"])
put(files[0]); libc.fclose(files[0])
"""
        self.session.seen("run", "--quiet", "--via", "preload", "--session", self.session.name, "--", sys.executable, "-c", program)
        left = self.tree()
        result = self.undo("--since", "2", code=8)
        self.assertIn(b"top is left as it is: a program had it open for writing then: what it was is not known", result.stderr)
        now = self.tree()
        self.assertEqual((now[b"top"], now[b"src/a"], now[b"src/b"]), (left[b"top"], left[b"src/a"], self.before[b"src/b"]))
        self.undo("--all")
        self.assertTree(self.before)


class Cleaned(Undone):
    def test_git_clean_of_all_that_is_ignored(self):
        """Nothing is left out because .gitignore names it; what can be made again is, and is named."""
        self.session.write(".gitignore", b"*.log\nout/\n.env\nnode_modules/\n*.o\n")
        self.agent("git init -q; git add .gitignore src top")
        for name in ("a.log", "out/deep/result", ".env", "untracked", "node_modules/m/index.js", "package.json", "x.o"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, b"content of %s" % name.encode())
        before = self.tree()
        agent = self.session.agent()
        agent.shell("git clean -fdxq")
        agent.close()
        self.assertNotIn(b".env", self.tree())
        result = self.undo("--last", code=8)
        self.assertIn(b"node_modules: nothing is kept below it, since it can be made again", result.stderr)
        self.assertIn(b"x.o is left as it is: it can be made again, and was not kept", result.stderr)
        now = self.tree()
        self.assertEqual({name for name in before if name not in now}, {b"node_modules/m", b"node_modules/m/index.js", b"x.o"})
        self.assertEqual(difference({name: entry for name, entry in before.items() if name in now}, now), [])


if __name__ == "__main__":
    unittest.main()

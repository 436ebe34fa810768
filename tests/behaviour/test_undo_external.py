"""An external edit at a moment of an undo: what the external program made stays.

This process is the external writer.  It edits while undo is stopped before one of its system calls.
"""
import os
import random
import unittest

from harness import LONG, Session, short_form_by
from stopped import run_stopped

RENAMEAT2, FALLOCATE, FTRUNCATE = {"x86_64": (316, 285, 77)}.get(os.uname().machine, (276, 47, 46))


@short_form_by("preload")
class External(unittest.TestCase):
    def test_an_edit_right_behind_the_undo_of_its_file(self):
        """The undo's record has what it made, not what an external program wrote until it inspected the file."""
        for edit in (lambda path: self.append(path), lambda path: self.replace(path)):
            session, path = self.changed_file()
            self.assertEqual(self.undo_and_edit(session, path, edit), 0)
            edited = session.read("f")
            self.assertIn(b"external", edited)
            redo = session.seen("redo", "--session", session.name, check=False)
            self.assertEqual((session.read("f"), redo.returncode), (edited, 12), redo.stderr)

    @staticmethod
    def append(path):
        with open(path, "ab") as file:
            file.write(b"external\n")

    @staticmethod
    def replace(path):
        with open(path + ".new", "wb") as file:
            file.write(b"external\n")
        os.rename(path + ".new", path)

    def test_edits_before_and_within_the_exchange_of_names(self):
        """The first is exchanged with what undo made, and the second comes before that goes back: both stay."""
        for edits in 1, 2:
            session, path = self.changed_file()
            moments = iter([b"one", b"two"][:edits])

            def edit(number):
                if number == RENAMEAT2 and self.is_exchange(path) and (text := next(moments, None)):
                    self.store(path, text)

            code, errors, _ = run_stopped(session, edit)
            left = [name for name in os.listdir(session.workspace) if name.startswith(".seen-undo.")]
            kept = [session.read(name) for name in left]
            self.assertEqual((session.read("f"), kept), (b"one", []) if edits == 1 else (b"two", [b"one"]), errors)
            self.assertEqual(code, 12 if edits == 1 else 8, errors)
            self.assertIn(b"it changed more than once meanwhile" if edits == 2 else b"it changed meanwhile", errors)

    def test_an_edit_right_behind_a_rename(self):
        """Whether it came before the rename is not known then: the file goes back to the name that it had, edit and all, and is listed."""
        for edit in self.append, self.replace:
            session, path = self.changed_file("mv f moved")
            done = []

            def act(_):
                if not done and os.path.exists(path):
                    edit(path)
                    done.append(path)

            code, errors, _ = run_stopped(session, act)
            self.assertEqual(os.listdir(session.workspace), ["moved"])
            self.assertEqual(session.read("moved"), b"before\nexternal\n" if edit == self.append else b"external\n")
            self.assertEqual((code, b"changed meanwhile" in errors), (12, True), errors)

    def test_killed_behind_an_exchange_with_an_edit(self):
        """`--continue` restores the edit to its place."""
        session, path = self.changed_file()
        calls = []

        def edit(number):
            if number == RENAMEAT2 and not calls:
                self.store(path, b"external")
                calls.append(number)
            elif calls:
                return "kill"
            return None

        run_stopped(session, edit)
        self.assertEqual(session.read("f"), b"before\n")  # the edit has the temporary name
        again = session.seen("undo", "--continue", "--session", session.name, check=False)
        self.assertEqual((session.read("f"), again.returncode), (b"external", 12), again.stderr)
        self.assertEqual(os.listdir(session.workspace), ["f"])

    def test_an_edit_while_a_file_is_written_in_place(self):
        """One with several names: an external program that opens it waits until all is written."""
        for moment in FALLOCATE, FTRUNCATE:
            session, path = self.changed_file(names=2)
            waited, done = [], []

            def edit(number):
                if done or not (waited or number == moment):
                    return
                try:
                    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK), "wb") as file:
                        if waited:
                            file.write(b"external\n")
                            done.append(number)
                except BlockingIOError:
                    waited.append(number)

            _, errors, _ = run_stopped(session, edit)
            self.assertGreater(len(waited), 1, "it could be opened at once")
            self.assertEqual((session.read("f"), session.read("g")), (b"before\nexternal\n",) * 2, errors)

    def changed_file(self, command="echo agent >> f", names=1):
        session = Session()
        self.addCleanup(session.close)
        session.write("f", b"before\n")
        if names > 1:
            os.link(session.path("f"), session.path("g"))
        agent = session.agent()
        agent.shell(command)
        agent.close()
        return session, session.path("f")

    @staticmethod
    def store(path, text):
        with open(path + ".new", "wb") as file:
            file.write(text)
        os.rename(path + ".new", path)

    @staticmethod
    def is_exchange(path):
        """Is undo about to exchange names?  Its own file lies beside then."""
        return any(name.startswith(".seen-undo.") for name in os.listdir(os.path.dirname(path)))

    @staticmethod
    def undo_and_edit(session, path, edit):
        """Edits before the first system call that comes when the file is as it was."""

        def act(_):
            with open(path, "rb") as file:
                if file.read() == b"before\n":
                    edit(path)

        return run_stopped(session, act)[0]


RENAMES = {"x86_64": {82, 83, 84, 86, 87, 88, 263, 264, 265, 266, 285, 316}}.get(os.uname().machine, {33, 34, 35, 36, 37, 38, 47, 276})
OF_CALLS, OF_RENAMES = 0.002, 0.05
EDITS = int(os.environ.get("SEEN_TEST_UNDO_EDITS", "10000" if LONG else "40"))


@short_form_by("preload")
class Random(unittest.TestCase):
    """Random edits of random files at random moments of undo and redo: each is there afterwards, as the external program left it.

    SEEN_TEST_UNDO_SEED and SEEN_TEST_UNDO_EDITS in the environment choose another run."""
    FILES = 48 if LONG else 12
    COMMANDS = ("echo agent >> {}", "sed -i s/one/two/ {}", "rm {}", "rm {}; echo other > {}", "chmod 600 {}; echo x > {}", "mv {} {}.moved", "true",
                "ln {} {}.linked; echo y >> {}", "rm {}; mkdir {}; echo z > {}/z", "rm {}; ln -s f0 {}", "cp {} {}.copy", "truncate -s 100 {}")

    def setUp(self):
        self.random = random.Random(int(os.environ.get("SEEN_TEST_UNDO_SEED", "1")))
        self.serial = 0

    def token(self):
        self.serial += 1
        return b"external %d\n" % self.serial

    # Each makes an edit, and returns what is there then: bytes that are in the file, or None: nothing.  OSError: it could not.

    def append(self, path):
        text = self.token()
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK), "wb") as file:
            file.write(text)
        return text

    def rewrite(self, path):
        text = self.token()
        with open(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK), "wb") as file:
            file.write(text)
        return text

    def replace(self, path):
        text = self.token()
        External.store(path, text)
        return text

    def make(self, path):
        text = self.token()
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(text)
        return text

    def same_size_and_time(self, path):
        """Only the bytes, and ctime, tell it."""
        state = os.lstat(path)
        text = (b"ext%07d" % self.serial)
        self.serial += 1
        with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "wb") as file:
            file.write(text)
        os.utime(path, ns=(state.st_mtime_ns, state.st_mtime_ns))
        return text

    def remove(self, path):
        os.unlink(path)
        return None

    EDITS = (append, append, rewrite, replace, replace, make, same_size_and_time, remove)

    def edit(self, session, made, moment="before"):
        path = session.path("f%d" % self.random.randrange(self.FILES)) + self.random.choice(("", "", "", ".moved", ".linked", ".copy"))
        if path in made or os.path.isdir(path) or os.path.islink(path):
            return
        names = [path]
        try:
            state = os.lstat(path)
            names = [other.path for other in os.scandir(session.workspace) if other.inode() == state.st_ino]
        except FileNotFoundError:
            pass
        if any(name in made for name in names):
            return
        kind = self.random.choice(self.EDITS)
        if kind is Random.same_size_and_time and moment != "before":
            return  # a rename sets ctime, too
        try:
            made[path] = kind(self, path)
            self.log.append((moment, kind.__name__, os.path.basename(path), made[path]))
        except OSError:  # there was none, or the undo holds it just now
            pass

    def drawn(self, part):
        """Numbers of calls before which there is an edit: beforehand, so that the undo is stopped there alone."""
        return [number for number in range(1, 20000) if self.random.random() < part]

    def found(self, path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError:  # a directory, or a symbolic link to itself
            return b""

    def check(self, session, made, commands, errors, about):
        for path, text in list(made.items()):
            there = self.found(path)
            if there is None and text is None or None not in (there, text) and text in there:
                continue
            if text is None and not os.path.isfile(path):  # redo removed it, too, for what was there by its name
                del made[path]
                continue
            where = [name for name in os.listdir(session.workspace) if text and text in (self.found(session.path(name)) or b"")]
            # of a file that the session only renamed no content is on record: an edit that no stamp tells goes along with it; so does one
            # right behind the rename, which is taken back then
            renamed = os.path.basename(path[:-len(".moved")] if path.endswith(".moved") else path + ".moved")
            is_moved = any(command.startswith("mv ") and renamed.removesuffix(".moved") in command.split() for command in commands)
            line_of_change = b"seen: %s is left as it is: it changed meanwhile" % os.fsencode(os.path.basename(path))
            self.assertTrue([name for name in where if name.startswith(".seen-undo.") or text.startswith(b"ext0") or
                             (name == renamed and is_moved and line_of_change in errors.splitlines())],
                            "%s: of the edit %r there is %r, it is in %r; %s" % (path, text, there, where, about))

    def round(self):
        """Returns how many edits there were."""
        session = Session()
        try:
            for i in range(self.FILES):
                session.write("f%d" % i, b"%d\none\n" % i * 20)
            agent = session.agent()
            commands = [self.random.choice(self.COMMANDS).replace("{}", "f%d" % i) for i in range(self.FILES)]
            self.random.shuffle(commands)
            agent.shell("; ".join(commands[:self.FILES // 2]))
            agent.shell("; ".join(commands[self.FILES // 2:]))
            agent.close()
            made, self.log = {}, []

            for turn in range(4):
                if self.random.random() < 0.5:
                    self.edit(session, made)
                words = ("undo", "--all") if turn % 2 == 0 else ("redo",)
                code, errors, _ = run_stopped(session, lambda call: self.edit(session, made, call), words, self.drawn(OF_CALLS), RENAMES,
                                              self.drawn(OF_RENAMES))
                self.assertIn(code, (0, 1, 8, 12), errors)
                self.check(session, made, commands, errors, "%s, %r, %r, %r" % (words, commands, self.log, errors))
            return len(made)
        finally:
            session.close()

    def test_random_edits_stay(self):
        edits = 0
        while edits < EDITS:
            edits += self.round()


if __name__ == "__main__":
    unittest.main()

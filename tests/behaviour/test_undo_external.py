"""An external edit at a moment of an undo: what the external program made stays.

This process is the external writer.  It edits while undo is stopped before one of its system calls (programs/helpers/stops_at.c).
"""
import os
import subprocess
import unittest

from harness import BUILD, SEEN, Session, short_form_by

RENAMEAT2, FALLOCATE, FTRUNCATE = {"x86_64": (316, 285, 77)}.get(os.uname().machine, (276, 47, 46))
STOPS_AT = os.path.join(BUILD, "tests", "programs", "helpers", "stops_at")


@short_form_by("preload")
class External(unittest.TestCase):
    def test_an_edit_right_behind_the_undo_of_its_file(self):
        """The undo's record has what it made, not what an external program wrote until it inspected the file."""
        for edit in (lambda path: self.append(path), lambda path: self.replace(path)):
            session = Session()
            self.addCleanup(session.close)
            session.write("f", b"before\n")
            agent = session.agent()
            agent.shell("echo agent >> f")
            agent.close()
            path = session.path("f")
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

            code, errors = self.undo_and(session, edit)
            left = [name for name in os.listdir(session.workspace) if name.startswith(".seen-undo.")]
            kept = [session.read(name) for name in left]
            self.assertEqual((session.read("f"), kept), (b"one", []) if edits == 1 else (b"two", [b"one"]), errors)
            self.assertEqual(code, 12 if edits == 1 else 8, errors)
            self.assertIn(b"it changed more than once meanwhile" if edits == 2 else b"it changed meanwhile", errors)

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

        self.undo_and(session, edit)
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

            _, errors = self.undo_and(session, edit)
            self.assertGreater(len(waited), 1, "it could be opened at once")
            self.assertEqual((session.read("f"), session.read("g")), (b"before\nexternal\n",) * 2, errors)

    def changed_file(self, names=1):
        session = Session()
        self.addCleanup(session.close)
        session.write("f", b"before\n")
        if names > 1:
            os.link(session.path("f"), session.path("g"))
        agent = session.agent()
        agent.shell("echo agent >> f")
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
    def undo_and(session, act):
        """Calls act(number) before each system call; "kill" ends the undo there.  Returns its status and standard error."""
        go_in, go_out = os.pipe()
        line_in, line_out = os.pipe()
        process = subprocess.Popen([STOPS_AT, str(go_in), str(line_out), ",".join(map(str, range(1, 20000))), SEEN, "undo", "--all", "--session",
                                    session.name], cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=(go_in, line_out))
        os.close(go_in)
        os.close(line_out)
        with os.fdopen(line_in) as lines:
            for line in lines:
                if line.startswith("end"):
                    break
                if act(int(line.split()[2])) == "kill":
                    process.kill()
                    break
                os.write(go_out, b".")
        os.close(go_out)
        errors = process.communicate(timeout=60)[1]
        return process.returncode, errors

    @classmethod
    def undo_and_edit(cls, session, path, edit):
        """Edits before the first system call that comes when the file is as it was."""

        def act(_):
            with open(path, "rb") as file:
                if file.read() == b"before\n":
                    edit(path)

        return cls.undo_and(session, act)[0]


if __name__ == "__main__":
    unittest.main()

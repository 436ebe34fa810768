"""undo of files that a program has open, or mapped, while steps come and go: found by campaigns."""
import os
import time
import unittest

import packs
from harness import VIA, needs_library
from undo_case import UndoCase
from undoing import PYTHON, difference, tree


class Open(UndoCase):
    def test_threads_that_write_and_rename_one_file(self):
        """A rename inspects the file, and its record comes behind those of a thread that wrote to it meanwhile.  Such a file comes back, or is left and listed."""
        for number in range(60):
            os.mkdir(self.session.path(str(number)))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in *; do %s threads_that_rename $i; done" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--all", "--times")
        listed = {line.split(b": ")[1].split(b" is left as it is")[0] for line in result.stderr.splitlines()}
        now = tree(self.session.workspace)
        self.assertEqual({path for path in before.keys() | now.keys() if before.get(path) != now.get(path) and not path.isdigit()}, listed, result.stderr)
        self.assertEqual({path: now[path] for path in listed}, {path: after[path] for path in listed})
        self.assertLessEqual({os.path.basename(path) for path in listed}, {b"threads", b"threads.moved"})
        self.assertLess(len(listed), 20 if VIA == "preload" else 120)
        self.assertEqual(result.returncode, 12 if listed else 0)
        self.assertUndone(after, command="redo")

    def test_a_file_without_a_name_is_kept_no_more(self):
        """At each boundary it was, until its writer ended."""
        self.session.write("n", b"n")
        os.link(self.session.path("n"), self.session.path("m"))
        agent = self.session.agent()
        write = {"do": "write", "path": self.session.path("n"), "data": "x", "how": "nameless"}
        agent.ask(**write)
        agent.shell("rm m")
        for number in range(3):
            agent.shell("echo %d > a" % number)
            agent.ask(**write)
        agent.close()
        records = packs.read(os.path.join(self.session.directory, ".local/state/seen/test/undo"))
        self.assertIn(("content", self.session.path("a")), [(record.kind, record.path) for record in records])
        self.assertEqual([record for record in records if record.kind == "content" and not record.nlink], [])

    def test_file_whose_mode_is_set_while_it_is_open(self):
        for name in "ab":
            self.session.write(name, name.encode() * 30)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in a b; do : > $i; exec 7>> $i; echo 1 >&7; chmod 600 $i; echo 2 >&7; rm $i; done; exec 7>&-")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    @needs_library("a mapping is seen by it alone")
    def test_mapping_that_is_stored_to_behind_its_close_and_a_point(self):
        """What the file was at the point is not known: it is left, and listed.  Before and behind, it is undone."""
        for name in "abc":
            self.session.write(name, name.encode() * 100)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("%s mapped_late a b $HOME/stored > /dev/null & while [ ! -e $HOME/mapped ]; do sleep 0.01; done; %s mapped_behind_close c a n" % (PYTHON, PYTHON))
        agent.shell("echo b > b; touch $HOME/stored; while [ -e $HOME/mapped ]; do sleep 0.01; done")
        agent.close()
        after = tree(self.session.workspace)
        for _ in range(100):
            result = self.seen("undo", "--since", "2", "--times")
            if b" still runs" not in result.stderr:
                break
            time.sleep(0.05)
        self.assertEqual((result.returncode, result.stderr), (8, b"seen: a is left as it is: a program had it open for writing then: what it was is not known\n"))
        self.assertEqual(difference({**after, b"b": before[b"b"]}, tree(self.session.workspace)), [])
        self.assertUndone(after, command="redo")
        self.assertUndone(before, "--all", "--times")

    def test_file_that_a_step_made_is_cut_off_behind_its_mode(self):
        """As sqlite3 does with its journal: the file is open all the time."""
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("""python3 -I -S -c "import os; f = os.open('a', os.O_RDWR | os.O_CREAT); os.fchmod(f, 0o640); os.close(os.open('/dev/null', 0)); os.write(f, b'x' * 512); os.ftruncate(f, 0); os.close(f)" """)
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_file_that_the_step_has_open_when_it_ends(self):
        """A process closes its files when it has ended."""
        self.session.write("c", b"before")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo 1 > c; exec 7>> c; echo a >&7; mv c d; echo b >&7")
        agent.shell("true")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_file_that_is_moved_into_a_directory_while_it_is_open(self):
        """mv tries to give it the directory's name first."""
        self.session.write("c", b"before")
        os.mkdir(self.session.path("e"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("exec 7>> c; echo a >&7; mv c e; echo b >&7")
        agent.shell("true")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_file_that_a_background_program_has_open_when_the_step_ends(self):
        self.session.write("c", b"before")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo 1 > c; exec 7>> c; echo a >&7; mv c d; echo b >&7; sleep 0.5 < /dev/null > /dev/null 2>&1 &")
        agent.shell("true")
        agent.shell("sleep 0.6")
        agent.close()
        self.assertUndone(before, "--all", "--times")


if __name__ == "__main__":
    unittest.main()

"""Readers' commands that resemble one that was given, and print something else."""

import os
import shutil
import time
import unittest

from harness import SessionTest, lines, needs_library

ANSWER = b"[Command already run: "


@needs_library("a reader's inputs are known only inside it")
class UntrackableTest(SessionTest):
    def setUp(self):
        super().setUp()
        self.session.write("f", lines("f"))
        self.session.write("g", lines("g"))
        os.mkdir(self.session.path("d"))
        os.mkdir(self.session.path("e"))
        for number in range(60):
            self.session.write("d/a-file-of-some-length-%d" % number, b"x%d\n" % number)
        os.symlink("a-file-of-some-length-3", self.session.path("d/link"))

    def assertRun(self, *commands, between=lambda: None):
        """The last of these commands is run, and not answered."""
        for number, command in enumerate(commands):
            if number:
                between()
            output = self.agent.shell(command)
        with self.subTest(command=command):
            self.assertFalse(output.startswith(ANSWER), output)

    def assertAnswered(self, command):
        self.agent.shell(command)
        with self.subTest(command=command):
            self.assertTrue(self.agent.shell(command).startswith(ANSWER))


class StandardInput(UntrackableTest):
    """It is another one each time, and nothing tells which."""

    def test_pipes_and_files(self):
        for reader in ("sed -n 1,90p", "sed -n p -", "nl", "nl -", "sort", "sort -", "head -n 99", "head -n 99 -", "tail -n 99", "tail -n 99 -",
                       "grep -n line", "grep -n line -", "cut -c 1-50", "rev", "tac", "fold", "od -c", "xxd", "uniq", "paste - -", "hexdump -C",
                       "cat -n", "cat -n -", "diff - /dev/null; true", "comm - /dev/null", "md5sum - - - - - -", "cat -n /dev/stdin",
                       "sed -n 1,99p /dev/stdin", "sort -u /proc/self/fd/0", "grep -f - f; true", "wc --files0-from=-; true"):
            if shutil.which(reader.split()[0]):
                first, *rest = reader.split(";")
                end = ";".join(["", *rest])
                self.assertRun("cat f | %s%s" % (first, end), "cat g | %s%s" % (first, end))
                self.assertRun("%s < f%s" % (first, end), "%s < g%s" % (first, end))

    def test_listed_and_not_read(self):
        self.assertRun("stat - - - < f", "stat - - - < g")
        self.assertRun("stat -L /dev/stdin /dev/stdin /dev/stdin < f", "stat -L /dev/stdin /dev/stdin /dev/stdin < g")


class Chance(UntrackableTest):
    def test_sort(self):
        for options in ("-R", "-uR", "--random-sort", "--sort=random", "--so=rand", "-k1,1R", "-k 1,1R", "-t x -k 1R"):
            self.assertRun("sort %s f" % options, "sort %s f" % options)
        for options in ("-r", "-k1,1n", "-u", "--reverse"):
            self.assertAnswered("sort %s f" % options)


class Details(UntrackableTest):
    """What commands report about files beside what is in them."""

    def test_where_links_lead(self):
        def change():
            os.unlink(self.session.path("d/link"))
            os.symlink("../e", self.session.path("d/link"))

        for command in ("ls -l d", "ls -F d", "ls --color=always d", "ls -p d", "ls -lL d", "ls -R --color=always d", "ls -l d/*", "ls -d d/*/ d/*",
                        "find d -ls", "find d -xtype f", "find -L d -type f", "find d -printf '%p %l\\n'", "du -aL d", "stat d/*[3k]", "diff -r d e; true",
                        "grep -Rn x d", "tree d", "tree -d d", "tree -l d"):
            if shutil.which(command.split()[0]):
                self.assertRun(command, command, between=change)
                os.unlink(self.session.path("d/link"))
                os.symlink("a-file-of-some-length-3", self.session.path("d/link"))

    def test_modes(self):
        path = self.session.path("d/a-file-of-some-length-7")
        for command in ("ls -l d", "ls -F d", "ls --color=always d", "find d -perm 644", "find d -executable", "stat -c '%n %a' d/*", "tree -p d"):
            if shutil.which(command.split()[0]):
                os.chmod(path, 0o644)
                self.assertRun(command, command, between=lambda: os.chmod(path, 0o755))

    def test_when_it_was_read(self):
        path = self.session.path("d/a-file-of-some-length-7")
        modified = os.stat(path).st_mtime
        for number, command in enumerate(("ls -lu d", "ls -u d", "ls -ltu d", "ls --time=use -l d", "stat d/*[17]", "stat -c '%n %x' d/*",
                                          "du -a --time=atime d", "find d -printf '%p %A@\\n'", "find d -printf '%p %5a\\n'", "find d -anewer f")):
            self.assertRun(command, command, between=lambda: os.utime(path, (number + 5, modified)))
            os.utime(path, (time.time(), modified))

    def test_environment(self):
        for variable, command in (("TZ=Asia/Tokyo", "ls -l d"), ("LC_ALL=C", "ls -l d"), ("QUOTING_STYLE=c", "ls d"), ("COLUMNS=30", "ls -C d"),
                                  ("LS_BLOCK_SIZE=k", "ls -s d"), ("BLOCK_SIZE=1", "du -a d"), ("TIME_STYLE=full-iso", "ls -l d"),
                                  ("POSIXLY_CORRECT=1", "ls -s d"), ("GREP_COLORS=ms=1", "grep --color=always -n line f")):
            self.assertRun(command, "%s %s" % (variable, command))

    def test_what_no_input_tells(self):
        """The room of a file system, what this process may do, when a file was made, files that a file names."""
        self.session.write("list", b"\0".join(b"d/a-file-of-some-length-%d" % number for number in range(9)) + b"\0")
        grows = lambda: self.session.write("d/a-file-of-some-length-7", b"x" * (os.stat(self.session.path("d/a-file-of-some-length-7")).st_size + 9000))
        for command in ("stat -f . . .", "stat -Lf . . .", "stat --file-system . . .", "du -a --files0-from=list", "find -files0-from list -size +0 -printf '%p %s\n'",
                        "find d -readable", "find d -writable", "find d -executable -o -name 'a*'", "ls -l --time=creation d"):
            self.assertRun(command, command, between=grows)

    def test_the_directory_that_no_word_names(self):
        where = self.session.path(".")
        command = "find -maxdepth 0 -printf '%s%%m%s\n'" % ("x" * 300, "y" * 300)
        self.assertAnswered(command)
        self.assertRun(command + " -true", command + " -true", between=lambda: os.chmod(where, 0o711))

    def test_directories(self):
        number = iter(range(9))
        for command in ("cd d; ls", "cd d; ls -la", "cd d; grep -rn x", "cd d; grep -n x *", "ls -R", "grep -rn x .", "find d -type f", "wc d/*"):
            self.assertRun(command, command, between=lambda: self.session.write("d/new%d" % next(number), b"x\n"))


if __name__ == "__main__":
    unittest.main()

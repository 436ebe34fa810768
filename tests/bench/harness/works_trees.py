"""Tools over trees of files: grep, git, make."""
import os
import shutil
import time

from . import ways as all_ways
from .place import Failed, text_of, write_file
from .works import Spawn

GREP_FILES = 10000
REPO_FILES = 5000
MADE_FILES = 60


class Grep(Spawn):
    """Over files of which one in a hundred has the word."""
    programs = ("grep",)

    def __init__(self, place):
        self.tree = os.path.join(place.work, "tree")
        found = b"".join(b"%s:needle %d\n" % (self.path(i).encode(), i) for i in range(0, GREP_FILES, 100))
        super().__init__(place, "tools", "grep -r over %s files" % format(GREP_FILES, ","),
                         ["grep", "-r", "needle", self.tree], 1, found, unit=("ms", 1000000), goals=("tools",), ways=all_ways.EVERY)

    def path(self, number):
        return os.path.join(self.tree, "d%03d" % (number // 100), "f%05d.txt" % number)

    def prepare(self):
        for i in range(GREP_FILES):
            write_file(self.path(i), (b"needle %d\n" % i if i % 100 == 0 else b"") + text_of(1000, i))

    def clean(self):
        shutil.rmtree(self.tree)


class GitStatus(Spawn):
    """A repository of some thousand files, some changed, one new."""
    programs = ("git",)

    def __init__(self, place, files=REPO_FILES):
        self.files = files
        self.repo = os.path.join(place.work, "repo-%d" % files)
        changed = b"".join(b" M %s\n" % self.path(i).encode() for i in range(0, files, 1000))
        super().__init__(place, "tools", "git status, %s files" % format(files, ","), ["git", "status", "--porcelain"], 2,
                         changed + b"?? new.txt\n", self.repo, ("ms", 1000000), ("tools",), 3, all_ways.EVERY)

    @staticmethod
    def path(number):
        return "d%02d/f%04d.txt" % (number // 100, number)

    def prepare(self):
        make_repository(self.place, self.repo, self.path, self.files)

    def clean(self):
        shutil.rmtree(self.repo)


def make_repository(place, repo, path, count):
    """`count` small files, committed; one in a thousand is changed, new.txt is new."""
    for i in range(count):
        write_file(os.path.join(repo, path(i)), text_of(300, i))
    author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "all"]):
        place.run("bare", ["git", *words], repo)
    time.sleep(1.1)  # else every file is "racily clean" to git, and read
    place.run("bare", ["git", "update-index", "--really-refresh", "-q"], repo)
    for i in range(0, count, 1000):
        write_file(os.path.join(repo, path(i)), text_of(301, i))
    write_file(os.path.join(repo, "new.txt"), b"new\n")


class Make(Spawn):
    """A program of some small files, made from clean by one job at a time."""
    programs = ("make", "gcc")

    def __init__(self, place):
        self.tree = os.path.join(place.work, "made")
        super().__init__(place, "tools", "make of %d C files" % MADE_FILES, ["make", "-s", "-j1", "-C", self.tree], 1,
                         unit=("ms", 1000000), goals=("tools",), ways=all_ways.EVERY)
        self.made = [os.path.join(self.tree, "part%02d.o" % i) for i in range(MADE_FILES)] + [
            os.path.join(self.tree, name) for name in ("main.o", "program")]

    def prepare(self):
        parts = ["part%02d" % i for i in range(MADE_FILES)]
        files = {
            "parts.h": "".join("int %s(int value);\n" % part for part in parts),
            "main.c": '#include <stdio.h>\n#include "parts.h"\n\nint main(void)\n{\n\tint value = 0;\n%s\treturn '
                      'printf("%%d\\n", value) < 0;\n}\n' % "".join("\tvalue = %s(value);\n" % part for part in parts),
            "Makefile": "CC = gcc\nCFLAGS = -O0\nOBJECTS = main.o %s\n\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n\n"
                        "%%.o: %%.c parts.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n" % " ".join(part + ".o" for part in parts),
        }
        for i, part in enumerate(parts):
            files[part + ".c"] = ('#include <stdlib.h>\n#include <string.h>\n#include "parts.h"\n\nint %s(int value)\n{\n'
                                  '\treturn abs(value) + (int)strlen("%s");\n}\n' % (part, "x" * i))
        for name, content in files.items():
            write_file(os.path.join(self.tree, name), content.encode())

    def sample(self, way, number):
        for path in self.made:
            if os.path.exists(path):
                os.unlink(path)
        result = super().sample(way, number)
        missing = [path for path in self.made if not os.path.exists(path) or os.path.getsize(path) == 0]
        output = b"" if missing else self.place.run("bare", [self.made[-1]])
        if output != b"%d\n" % sum(range(MADE_FILES)):
            raise Failed("%s: %s: missing %s, output %r" % (way, self.name, missing, output))
        return result

    def clean(self):
        shutil.rmtree(self.tree)


def works(place):
    return [Grep(place), GitStatus(place), Make(place)]

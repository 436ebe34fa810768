"""Tools over trees of files: grep, git, make."""
import os
import shutil
import time

from . import ways as all_ways
from .place import Failed, text_of, write_file
from .works import Spawn

GREP_FILES = 10000
REPO_FILES = 5000
LARGE_REPO_FILES = 50000
MADE_FILES = 30


class Grep(Spawn):
    """Over files of which one in a hundred has the word.

    asked: the output goes to the capture, so that grep is a reader, whose request may come again.  Else it goes to a file, as where
    a tool or a script runs it.
    """
    programs = ("grep",)

    def __init__(self, place, asked):
        files = 400 if place.quick else GREP_FILES
        self.files, self.asked = files, asked
        self.tree = os.path.join(place.work, "tree")
        found = b"".join(b"%s:needle %d\n" % (self.path(i).encode(), i) for i in range(0, files, 100))
        super().__init__(place, "tools", "grep -r over %s files, %s" % (format(files, ","), "asked for by the model" if asked else "to a file"),
                         ["grep", "-r", "needle", self.tree], 1, found, unit=("ms", 1000000), goals=() if asked else ("tools", "undo tools"),
                         ways=(*all_ways.EVERY, "undo off") if not asked else all_ways.SUPERVISED, to_file=not asked)

    def path(self, number):
        return os.path.join(self.tree, "d%03d" % (number // 100), "f%05d.txt" % number)

    def prepare(self):
        if not os.path.exists(self.tree):
            for i in range(self.files):
                write_file(self.path(i), (b"needle %d\n" % i if i % 100 == 0 else b"") + text_of(1000, i))

    def check(self, way, output):
        # A line reports to the model that it asked for that before; at 10,000 files, more than a request may have, none does.
        if self.asked and self.place.quick and way in all_ways.SESSIONS and output.startswith(b"[Command already run: grep -r needle "):
            return output.count(b"\n") == 1
        return super().check(way, output)

    def clean(self):
        shutil.rmtree(self.tree, ignore_errors=True)


class GitStatus(Spawn):
    """A repository of many files, some changed, one new."""
    programs = ("git",)

    def __init__(self, place, files, name, ways, count=1, goals=("tools",), group="tools"):
        self.files = files
        self.repo = os.path.join(place.work, "repo-%d" % files)
        changed = b"".join(b" M %s\n" % self.path(i).encode() for i in range(0, files, 1000))
        super().__init__(place, group, name % format(files, ","), ["git", "status", "--porcelain"], count,
                         changed + b"?? new.txt\n", self.repo, ("ms", 1000000), goals, 3, ways)

    @staticmethod
    def path(number):
        return "d%03d/f%05d.txt" % (number // 100, number)

    def prepare(self):
        if not os.path.exists(self.repo):
            make_repository(self.place, self.repo, self.path, self.files)

    def clean(self):
        shutil.rmtree(self.repo, ignore_errors=True)


class GitGrep(GitStatus):
    """In the same repository; the files that git takes for changed are read, too, as all are."""

    def __init__(self, place, files, ways):
        super().__init__(place, files, "git grep, %s files", ways)
        self.command = ["git", "grep", "-n", "00000[0-9]00 The"]
        self.output = b"".join(b"%s:%d:%s\n" % (self.path(i).encode(), line + 1, text) for i in range(0, min(files, 1000), 100)
                               for line, text in enumerate(text_of(301 if i == 0 else 300, i).split(b"\n")[:-1]) if b"%08d The" % i in text)


def make_repository(place, repo, path, count):
    """`count` small files, committed; one in a thousand is changed, new.txt is new."""
    stream = os.path.join(place.top, "stream")
    with open(stream, "wb") as file:
        file.write(b"commit refs/heads/main\ncommitter bench <bench@localhost> 1793530800 +0000\ndata 3\nall\n")
        for i in range(count):
            content = text_of(300, i)
            file.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path(i).encode(), len(content), content))
    os.makedirs(repo)
    for script in ("git init -q -b main; git config gc.auto 0", 'git fast-import --quiet <"$0"', "git checkout -q main"):
        place.run("bare", ["bash", "-c", script, stream], repo)
    os.unlink(stream)
    time.sleep(1.1)  # else every file is "racily clean" to git, and read
    place.run("bare", ["git", "update-index", "--really-refresh", "-q"], repo)
    for i in range(0, count, 1000):
        write_file(os.path.join(repo, path(i)), text_of(301, i))
    write_file(os.path.join(repo, "new.txt"), b"new\n")


class Make(Spawn):
    """A program of some small files, made from clean by one job at a time."""
    programs, share = ("make", "gcc"), 3.0  # a second each

    def __init__(self, place):
        self.tree = os.path.join(place.work, "made")
        self.files = 4 if place.quick else MADE_FILES
        super().__init__(place, "tools", "make of %d C files" % self.files, ["make", "-s", "-j1", "-C", self.tree], 1,
                         unit=("ms", 1000000), goals=("tools", "undo tools", "undo tools supervised", "undo tools by both"),
                         ways=(*all_ways.EVERY, "undo off", "supervise, no undo", "both, no undo"))
        self.made = [os.path.join(self.tree, "part%02d.o" % i) for i in range(self.files)] + [
            os.path.join(self.tree, name) for name in ("main.o", "program")]

    def prepare(self):
        parts = ["part%02d" % i for i in range(self.files)]
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
        if output != b"%d\n" % sum(range(self.files)):
            raise Failed("%s: %s: missing %s, output %r" % (way, self.name, missing, output))
        return result

    def clean(self):
        shutil.rmtree(self.tree)


def works(place):
    small, large = (200, 1000) if place.quick else (REPO_FILES, LARGE_REPO_FILES)
    # What takes seconds by a peer is left to the small ones.
    return [Grep(place, False), Grep(place, True), GitStatus(place, small, "git status, %s files", (*all_ways.EVERY, "undo off"), 2, ("tools", "undo tools")),
            GitStatus(place, large, "git status, %s files", all_ways.SUPERVISED), GitGrep(place, large, all_ways.SUPERVISED), Make(place)]

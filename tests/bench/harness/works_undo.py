"""What is kept for undo before it is destroyed: its time, against bare and against a session that keeps nothing, and its room."""
import os
import shutil

from . import ways as all_ways
from .place import PROGRAMS, Failed, slug, text_of, write_file
from .works import Spawn, Work
from .works_languages import make_packages
from .works_trees import make_repository

FILE_BYTES = 4096
CALLS_FILES = 3000
TREE_FILES = 100000
CHECKOUT_FILES = 10000
CHECKOUT_BYTES = 8192
SUPERVISED_FILES = 10000
STORE = "store to destroyed"
ABOUT = ("\"%s\": the bytes of a session's store of undo to those of the files that its runs destroyed or overwrote, both as `du --apparent-size` "
         "counts them.  \"each after\": so much work, which is not counted, comes before each.  A disk that is asked at once for the next "
         "write answers sooner than one that rests: without work between, the least delay costs a multiple of itself." % STORE)


def path_of(number):
    return "d%03d/f%05d.txt" % (number // 100, number)


class Destroys(Work):
    """One program of tests/bench over many files.

    files: how many.  loses: their content is lost.  removes: they are gone then, and made anew.
    """
    group, about, ways = "undo", ABOUT, all_ways.KEPT

    def __init__(self, place, name, files, command, goals, loses=True, removes=False, ways=all_ways.KEPT):
        super().__init__(place)
        self.ways, self.lost_bytes = ways, {}
        self.name, self.files, self.command, self.goals, self.removes = name, files, command, goals, removes
        self.iterations, self.destroyed_bytes = files, files * FILE_BYTES if loses else 0
        self.top, self.serial, self.rounds = os.path.join(place.work, slug(name)), 0, 0

    def make(self, tree):
        """No file is like an earlier one: the same content would be kept once."""
        for i in range(self.files):
            write_file(os.path.join(tree, path_of(i)), text_of(FILE_BYTES, self.serial + i))
        self.serial += self.files
        return tree

    def tree(self):
        """The next one."""
        tree = os.path.join(self.top, "tree")
        if self.removes:
            shutil.rmtree(tree, ignore_errors=True)
        return tree if os.path.exists(tree) else self.make(tree)

    def sample(self, way, number):
        tree = self.tree()
        os.sync()
        self.rounds += 1
        words = [word.replace("TREE", tree).replace("ROUND", "%03d" % (self.rounds % 1000)) for word in self.command]
        result = self.place.sample(way, words, self.iterations, lambda output: self.check(way, output))
        return with_store(self, way, result, self.destroyed_bytes)

    def clean(self):
        shutil.rmtree(self.top, ignore_errors=True)


class Removes(Destroys):
    """rm -rf.

    The trees of all samples are made before the first goes: ext4 makes a file ten times as slowly where inodes were deleted minutes ago.
    """
    unit, share = ("ms", 1000000), 0.01  # three rounds

    def __init__(self, place, files, goals=("undo rm -rf", "undo room"), ways=all_ways.KEPT, by=""):
        super().__init__(place, "rm -rf of %s files of 4 KiB%s" % (format(files, ","), by), files,
                         [os.path.join(PROGRAMS, "spawn"), "1", "rm", "-rf", "TREE"], goals, removes=True, ways=ways)
        self.iterations, self.made = 1, []

    def prepare(self):
        self.made = [self.make(os.path.join(self.top, "tree-%d" % i)) for i in range(len(self.ways) * 4)]  # and the warm-up

    def tree(self):
        return self.made.pop() if self.made else super().tree()


class Edits(Destroys):
    """sed -i, by which each file is another one."""
    unit = ("ms", 1000000)

    def __init__(self, place, files):
        super().__init__(place, "sed -i over %s files of 4 KiB" % format(files, ","), files,
                         [os.path.join(PROGRAMS, "spawn"), "1", "bash", "-c", "sed -i 's/ [^ ]* quick/ ROUND quick/' TREE/*/*"], ("undo room",))
        self.iterations = 1


class Renames(Destroys):
    """And back, so that the files stay; nothing is lost."""

    def sample(self, way, number):
        result = super().sample(way, number)
        tree = self.tree()
        for i in range(self.files):
            path = os.path.join(tree, path_of(i))
            os.rename(path + ".new", path)
        return result


def with_store(work, way, sample, destroyed_bytes):
    """A Sample with what was kept so far, in the ways that keep.  destroyed_bytes: by this sample."""
    if way == "bare" or way.endswith(("undo off", "no undo")) or not destroyed_bytes:
        return sample
    lost_bytes = work.lost_bytes[way] = work.lost_bytes.get(way, 0) + destroyed_bytes
    kept = work.place.ways[way].store_bytes(work.place)
    if kept < lost_bytes:
        raise Failed("%s: of %d bytes that were destroyed %d were kept" % (way, lost_bytes, kept))
    return sample._replace(extra={STORE: kept / lost_bytes})


class Checkout(Spawn):
    """From one commit to another one, by which all files differ, and back."""
    programs, share, about = ("git",), 2.0, ABOUT

    def __init__(self, place, files=CHECKOUT_FILES, goals=("undo checkout", "undo room"), ways=all_ways.KEPT, by=""):
        self.files = 100 if place.quick else files
        name = "git checkout over %s changed files%s" % (format(self.files, ","), by)
        self.repo = os.path.join(place.work, slug(name))
        self.branch, self.lost_bytes, self.left = "main", {}, set()
        self.first = 2 * CHECKOUT_FILES if by else 0  # no file is like one of the other repository: the same content would be kept once
        super().__init__(place, "undo", name, [], 1, directory=self.repo, unit=("ms", 1000000), goals=goals, ways=ways)

    def prepare(self):
        make_repository(self.place, self.repo, path_of, self.files)
        for i in range(self.files):
            write_file(os.path.join(self.repo, path_of(i)), text_of(CHECKOUT_BYTES, self.first + i))
        who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        for words in (["add", "-A"], ["commit", "-qm", "large"], ["checkout", "-qb", "other"]):
            self.place.run("bare", ["git", *who, *words], self.repo)
        for i in range(self.files):
            write_file(os.path.join(self.repo, path_of(i)), text_of(CHECKOUT_BYTES, self.first + i + self.files))
        self.place.run("bare", ["git", *who, "commit", "-qam", "all"], self.repo)
        self.branch = "other"

    def sample(self, way, number):
        self.branch = "main" if self.branch == "other" else "other"
        self.command = ["git", "checkout", "-q", self.branch]
        os.sync()
        result = super().sample(way, number)
        with open(os.path.join(self.repo, path_of(1)), "rb") as file:
            if file.read() != text_of(CHECKOUT_BYTES, self.first + 1 + (self.files if self.branch == "other" else 0)):
                raise Failed("%s: %s: the files are not those of %s" % (way, self.name, self.branch))
        is_first = (way, self.branch) not in self.left  # the same content is kept once
        self.left.add((way, self.branch))
        return with_store(self, way, result, self.files * CHECKOUT_BYTES if is_first else 0)

    def clean(self):
        shutil.rmtree(self.repo, ignore_errors=True)


class NpmCi(Spawn):
    """npm removes node_modules and puts all packages there anew: what can be made again is not kept."""
    programs, share = ("npm", "node"), 3.0

    def __init__(self, place):
        self.packages = 5 if place.quick else 250
        self.directory, self.made = os.path.join(place.work, "npm-ci"), os.path.join(place.work, "npm-made")
        super().__init__(place, "undo", "npm ci of %d packages" % self.packages, ["npm", "ci", "--silent", "--offline", "--ignore-scripts"], 1,
                         directory=self.directory, unit=("ms", 1000000), goals=("undo tools",), ways=all_ways.KEPT)

    def prepare(self):
        names = make_packages(self.made, self.packages)
        for name in names:
            package = os.path.join(self.made, "node_modules", name)
            os.makedirs(os.path.join(self.directory, "packages"), exist_ok=True)
            self.place.run("bare", ["tar", "czf", os.path.join(self.directory, "packages", name + ".tgz"), "--transform", "s,^[.],package,", "."], package)
        depends = ", ".join('"%s": "file:packages/%s.tgz"' % (name, name) for name in names)
        write_file(os.path.join(self.directory, "package.json"),
                   ('{"name": "day", "version": "1.0.0", "private": true, "dependencies": {%s}}\n' % depends).encode())
        shutil.copy(os.path.join(self.made, ".npmrc"), self.directory)
        self.place.run("bare", ["npm", "install", "--silent", "--offline", "--ignore-scripts"], self.directory)

    def sample(self, way, number):
        result = super().sample(way, number)
        there = len(os.listdir(os.path.join(self.directory, "node_modules")))
        if there < self.packages:
            raise Failed("%s: %s: %d packages of %d" % (way, self.name, there, self.packages))
        return result

    def clean(self):
        for directory in (self.directory, self.made):
            shutil.rmtree(directory, ignore_errors=True)


def works(place):
    files, tree = (100, 200) if place.quick else (CALLS_FILES, TREE_FILES)

    def command(kind):
        return [os.path.join(PROGRAMS, "destroy"), kind, str(files), "TREE", str(FILE_BYTES)]
    return [Destroys(place, "unlink of 4 KiB", files, command("unlink"), ("undo unlink", "undo room"), removes=True),
            Destroys(place, "rewrite of 4 KiB", files, command("rewrite"), ("undo room",)),
            Destroys(place, "rewrite of 4 KiB, each after 50 µs", files, [*command("rewrite"), "50000"], ("undo rewrite", "undo room")),
            Edits(place, files),
            Renames(place, "rename, nothing lost", files, command("rename"), (), loses=False), Removes(place, tree), Checkout(place), NpmCi(place),
            *supervised(place, files, command)]


def supervised(place, files, command):
    """The same by the supervisor, which answers before each call that destroys."""
    ways, by = all_ways.KEPT_SUPERVISED, ", by the supervisor"
    return [Destroys(place, "unlink of 4 KiB" + by, files, command("unlink"), ("undo unlink supervised", "undo room supervised"), removes=True, ways=ways),
            Destroys(place, "rewrite of 4 KiB" + by, files, command("rewrite"), ("undo rewrite supervised", "undo room supervised"), ways=ways),
            Removes(place, 200 if place.quick else SUPERVISED_FILES, ("undo rm -rf supervised", "undo room supervised"), ways, by),
            Removes(place, 300 if place.quick else TREE_FILES, ("undo rm -rf supervised", "undo room supervised"), all_ways.KEPT_ONLY_SUPERVISED, by),
            Checkout(place, SUPERVISED_FILES, ("undo checkout supervised", "undo room supervised"), ways, by)]

"""What tests of undo share: a tree as it is, and random commands that destroy it.

A tree is compared by bytes, types, modes, symbolic links' targets, which names are one file, and modification times
(not of directories: each name that is made in one sets its time).
"""
import os
import random
import shlex
import stat
import zlib

SECOND_NS = 10**9


def tree(root, times=True):
    """{path below root, as bytes: what is there}."""
    found, inodes = {}, {}
    root = os.fsencode(root)
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            state = os.lstat(path)
            below = os.path.relpath(path, root)
            kind = stat.S_IFMT(state.st_mode)
            entry = [kind, stat.S_IMODE(state.st_mode)]
            if kind == stat.S_IFREG:
                with open(path, "rb") as file:
                    data = file.read()
                entry += [len(data), zlib.crc32(data), state.st_mtime_ns if times else None]
                inodes.setdefault((state.st_dev, state.st_ino), []).append(below)
            elif kind == stat.S_IFLNK:
                entry = [kind, os.readlink(path)]
            found[below] = entry
    for names in inodes.values():
        for name in names:
            found[name].append(tuple(sorted(names)))
    return found


def difference(before, after):
    """The first few paths that differ, for a message; []: none do."""
    return [(path, before.get(path), after.get(path)) for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)][:4]


class Maker:
    """Random trees, and random commands over what is there."""

    def __init__(self, root, seed, data=True):
        self.root = root
        self.random = random.Random(seed)
        self.data = data
        self.serial = 0

    def name(self):
        self.serial += 1
        return self.random.choice(("a", "b", "c", "file", "x y", "ü", "-d", "q'")) + str(self.random.randrange(9))

    def content(self):
        return bytes(self.random.getrandbits(8) for _ in range(self.random.choice((0, 1, 30, 500, 5000)))) if self.random.random() < 0.9 \
            else os.urandom(100) * 1500

    def directories(self):
        return [directory for directory, _, _ in os.walk(self.root)]

    def files(self, kinds=(stat.S_IFREG,)):
        return [os.path.join(directory, name) for directory, names, files in os.walk(self.root) for name in files + names
                if stat.S_IFMT(os.lstat(os.path.join(directory, name)).st_mode) in kinds]

    def fill(self, count):
        for _ in range(count):
            path = os.path.join(self.random.choice(self.directories()), self.name())
            if os.path.lexists(path):
                continue
            kind = self.random.random()
            files = self.files()
            if kind < 0.25:
                os.mkdir(path)
            elif kind < 0.32:
                os.symlink(self.random.choice(("nowhere", "/etc/passwd", "..")), path)
            elif kind < 0.42 and files:
                os.link(self.random.choice(files), path)
            else:
                with open(path, "wb") as file:
                    file.write(self.content())
                os.chmod(path, self.random.choice((0o644, 0o600, 0o755, 0o444)))
            if not os.path.islink(path):
                past = self.random.randrange(10**9) * SECOND_NS + self.random.randrange(SECOND_NS)
                os.utime(path, ns=(past, past))

    # Commands for a shell whose directory is the root; each may fail, as an agent's do.

    def pick(self, paths):
        return shlex.quote(os.path.relpath(self.random.choice(paths), self.root)) if paths else None

    def new(self):
        return shlex.quote(os.path.relpath(os.path.join(self.random.choice(self.directories()), self.name()), self.root))

    def command(self):
        anything = self.files((stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR))
        values = {
            "any": self.pick(anything), "any2": self.pick(anything), "file": self.pick(self.files()), "file2": self.pick(self.files()),
            "directory": self.pick(self.directories()), "new": self.new(), "new2": self.new(), "mode": "%o" % self.random.choice((0o700, 0o644, 0o755, 0o600)),
            "number": self.random.randrange(4000), "python": shlex.quote(os.path.join(os.path.dirname(__file__), "undoing_calls.py")),
        }
        while True:
            form = self.random.choice(NAMES + (DATA if self.data else ()))
            if all(values[name] for name in values if "{%s}" % name in form):
                return form.format(**values)


NAMES = (
    "rm -f -- {file}", "rm -rf -- {any}", "rm -f -- {file} {file2}", "mv -- {any} {new}", "mv -f -- {any} {any2}", "mv -T -- {any} {any2}",
    "mv -- {file} {new}; mv -- {new} {new2}", "mv -- {any} {new}; mkdir -- {any}", "ln -- {file} {new}", "ln -f -- {file} {file2}",
    "ln -s -- {file} {new}", "ln -sfn -- nowhere {any}", "chmod {mode} -- {any}", "chmod -R u+w -- {directory}", "mkdir -p -- {new}/deep/er", "rmdir -- {directory}", "find {directory} -type f -size -2 -delete",
    "find {directory} -depth -empty -delete", "rm -rf -- {directory}/*", "mv -- {any} {directory}", "mkdir -- {new}; mv -- {any} {new}; rm -rf -- {new}",
    "ln -- {file} {new}; rm -- {file}", "python3 {python} exchange {any} {any2}", "python3 {python} rename {file} {file2}",
    "python3 {python} unlink {file}", "mv -- {file} {new}; ln -s -- {new} {file}",
)
DATA = (
    "touch -- {file}", "touch -d 2001-02-03 -- {any}",     "echo more >> {file}", "echo other > {file}", "truncate -s {number} -- {file}", "dd if=/dev/urandom of={file} bs=100 count=2 conv=notrunc status=none",
    "sed -i s/e/E/ -- {file}", "cp -f -- {file} {file2}", "cp -a -- {any} {new}", "cp -rT -- {directory} {new}", "tar cf {new} -- {file}; tar xf {new}",
    "python3 {python} mmap {file}", "python3 {python} truncate {file}", "python3 {python} threads {directory}", "python3 {python} replace {file}",
    "install -m {mode} -- {file} {new}", "sort -o {file} -- {file}", "printf x | tee -- {file} {new} > /dev/null", "cat -- {file} > {new}; mv -- {new} {file}",
    "git init -q {new}; cd {new}; cp ../* . 2>/dev/null; git add -A 2>/dev/null; git clean -fdxq; rm -rf .git",
    "rsync -a --delete -- {directory}/ {new}/ 2>/dev/null || cp -r -- {directory} {new}", "echo x > {new}; chmod {mode} {new}; echo y >> {new}; rm -f {new}",
)

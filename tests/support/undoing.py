"""What tests of undo share: a tree as it is, and random commands that destroy it.

A tree is compared by bytes, types, modes, owners, files' attributes, symbolic links' targets, which names are one file, and modification times
(not of directories: each name that is made in one sets its time).
"""
import os
import random
import re
import shlex
import shutil
import stat
import time
import zlib

SECOND_NS = 10**9
SETTLED_NS = 10**8


class Tree:
    """Reads a tree again and again: a file whose stamp is that of the last time is not read once more.  apart: these paths are another's."""

    def __init__(self, root, without=(), apart=()):
        self.root, self.without, self.apart = os.fsencode(root), without, apart
        self.known = {}  # by device and inode: stamp, entry

    def entry(self, path, state, times):
        kind, owned = stat.S_IFMT(state.st_mode), [stat.S_IMODE(state.st_mode), state.st_uid, state.st_gid]
        if kind == stat.S_IFLNK:
            return [kind, os.readlink(path)]
        if kind != stat.S_IFREG:
            return [kind, *owned]
        stamp = state.st_size, state.st_mtime_ns, state.st_ctime_ns
        known = self.known.get((state.st_dev, state.st_ino))
        if not known or known[0] != stamp:
            with open(path, "rb") as file:
                known = stamp, zlib.crc32(file.read()), [(name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))]
            if time.time_ns() - state.st_ctime_ns > SETTLED_NS:  # else it may change within the clock's granule
                self.known[state.st_dev, state.st_ino] = known
        return [kind, *owned, state.st_size, *known[1:], state.st_mtime_ns if times else None]

    def read(self, times=True):
        """{path below root, as bytes: what is there}"""
        found, inodes, below = {}, {}, [b""]
        while below:
            directory = below.pop()
            within_git = os.path.basename(directory[:-1]) == b".git"
            with os.scandir(self.root + b"/" + directory) as entries:
                for one in entries:
                    name = directory + one.name
                    if (within_git and one.name in self.without) or name in self.apart:
                        continue
                    state = one.stat(follow_symlinks=False)
                    found[name] = self.entry(one.path, state, times)
                    if stat.S_ISDIR(state.st_mode):
                        below.append(name + b"/")
                    elif stat.S_ISREG(state.st_mode):
                        inodes.setdefault((state.st_dev, state.st_ino), []).append(name)
        for names in inodes.values():
            names.sort()
            for name in names:
                found[name].append(tuple(names))
        return found


def tree(root, times=True, without=()):
    """{path below root, as bytes: what is there}.  without: these names in a .git are passed over."""
    return Tree(root, without).read(times)


def difference(before, after):
    """The first few paths that differ, for a message; []: none do."""
    return [(path, before.get(path), after.get(path)) for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)][:4]


class Maker:
    """Random trees, and random commands over what is there: by `kinds`, the file types by path below the root."""

    def __init__(self, root, seed, observes_static=False, has_threads=True):
        self.root = root
        self.random = random.Random(seed)
        data = [form for form in DATA if has_threads or " threads " not in form]
        self.forms = (NAMES, data, PROGRAMS, GITS) + ((STATIC,) if observes_static and shutil.which("busybox") else ())
        self.external = root + ".external"
        with open(self.external, "w") as file:
            file.write("beside the tree\n")
        self.kinds = {}

    def inspect(self, found):
        """What is there, as Tree.read() has it; in an order that the file system does not choose."""
        self.kinds = {os.fsdecode(path): found[path][0] for path in sorted(found)}

    def name(self):
        return self.random.choice(("a", "b", "c", "file", "x y", "ü", "-d", "q'", "\udcff")) + str(self.random.randrange(9))

    def content(self):
        return bytes(self.random.getrandbits(8) for _ in range(self.random.choice((0, 1, 30, 500, 5000)))) if self.random.random() < 0.9 \
            else os.urandom(100) * 1500

    def of_kinds(self, *kinds):
        return [path for path, kind in self.kinds.items() if kind in kinds]

    def directories(self):
        return ["."] + self.of_kinds(stat.S_IFDIR)

    def files(self):
        return self.of_kinds(stat.S_IFREG)

    def fill(self, count):
        for _ in range(count):
            name = os.path.normpath(os.path.join(self.random.choice(self.directories()), self.name()))
            path = os.path.join(self.root, name)
            if os.path.lexists(path):
                continue
            kind = self.random.random()
            files = self.files()
            if kind < 0.25:
                os.mkdir(path)
            elif kind < 0.32:
                # A command that follows it writes to a file of this test alone.
                os.symlink(self.random.choice(("nowhere", self.external, "..")), path)
            elif kind < 0.42 and files:
                os.link(os.path.join(self.root, self.random.choice(files)), path)
            else:
                with open(path, "wb") as file:
                    file.write(self.content())
                os.chmod(path, self.random.choice((0o644, 0o600, 0o755, 0o444)))
            self.kinds[name] = stat.S_IFMT(os.lstat(path).st_mode)
            if not os.path.islink(path):
                past = self.random.randrange(10**9) * SECOND_NS + self.random.randrange(SECOND_NS)
                os.utime(path, ns=(past, past))

    # Commands for a shell whose directory is the root; each may fail, as an agent's do.

    def pick(self, paths):
        return shlex.quote(self.random.choice(paths)) if paths else None

    def new(self):
        return shlex.quote(os.path.normpath(os.path.join(self.random.choice(self.directories()), self.name())))

    def calls(self):
        """A program that makes several calls of undoing_calls.py, over files that there are."""
        words = []
        for _ in range(self.random.randrange(1, 5)):
            call = self.random.choice(CALLS)
            paths = [self.pick(self.files()) or self.new(), self.pick(self.files()) or self.new(), self.new()]
            words += ["+", call, *paths]
        return "%s %s" % (PYTHON, " ".join(words[1:]))

    def command(self):
        anything = self.of_kinds(stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)
        if len(anything) > LARGE:
            return "rm -rf -- %s" % self.pick(self.of_kinds(stat.S_IFDIR) or anything)
        repositories = [directory for directory in self.directories() if os.path.normpath(directory + "/.git") in self.kinds]
        values = {
            "any": self.pick(anything), "any2": self.pick(anything), "file": self.pick(self.files()), "file2": self.pick(self.files()),
            "directory": self.pick(self.directories()), "directory2": self.pick(self.directories()), "new": self.new(), "new2": self.new(),
            "mode": "%o" % (self.random.choice((0o700, 0o644, 0o755, 0o600)) | SEARCHED), "number": self.random.randrange(4000),
            "python": PYTHON, "repository": self.pick(repositories), "git": GIT, "calls": self.calls(),
        }
        while True:
            form = self.random.choice(self.random.choice(self.forms))
            if all(values[name] for name in re.findall(r"{(\w+)}", form)):
                return form.format(**values)


SEARCHED = 0o100 if os.geteuid() else 0  # of a directory: this test reads the tree, too
LARGE = 300  # names: then a directory goes
PYTHON = "python3 -I -S " + shlex.quote(os.path.join(os.path.dirname(os.path.abspath(__file__)), "undoing_calls.py"))
# Objects lie apart: what git can make again, or removes by itself, is not kept.
GIT = "GIT_OBJECT_DIRECTORY=$HOME/objects git -c user.name=a -c user.email=a@b -c gc.auto=0 -c core.fsync=none -c init.defaultBranch=main -c advice.detachedHead=false"
CALLS = ("aio", "allocate", "attributes", "collapse", "copy_range", "exchange", "fork", "handed_on", "late", "link_nameless", "mapped", "mapped_behind_close", "moved_while_open", "owner", "pieces",
         "punch", "rename", "replace", "sendfile", "shared", "splice", "stream", "times", "truncate", "truncate_path", "unlink", "unlink_while_open")
NAMES = (
    "rm -f -- {file}", "rm -rf -- {any}", "rm -f -- {file} {file2}", "mv -- {any} {new}", "mv -f -- {any} {any2}", "mv -T -- {any} {any2}",
    "mv -- {file} {new}; mv -- {new} {new2}", "mv -- {any} {new}; mkdir -- {any}", "ln -- {file} {new}", "ln -f -- {file} {file2}",
    "ln -s -- {file} {new}", "ln -sfn -- nowhere {any}", "chmod {mode} -- {any}", "chmod -R u+w -- {directory}", "mkdir -p -- {new}/deep/er",
    "rmdir -- {directory}", "find {directory} -type f -size -2 -delete", "find {directory} -depth -empty -delete", "rm -rf -- {directory}/*",
    "mv -- {any} {directory}", "mkdir -- {new}; mv -- {any} {new}; rm -rf -- {new}", "ln -- {file} {new}; rm -- {file}",
    "mv -- {file} {new}; ln -s -- {new} {file}", "find {directory} -name '*[0-4]' -delete", "find {directory} -type f -print0 | xargs -0 rm -f --",
    "mv -- {directory} {new}; mv -- {file} {new}", "mv -b -- {file} {file2}", "cp -l -- {file} {new}", "unlink -- {file}", "link -- {file} {new}",
    "mv -- {directory} {new}; mkdir -- {directory}; mv -- {new} {directory}/", "rm -- {file}; mkdir -- {file}", "rm -rf -- {directory}; echo x > {directory}",
)
DATA = (
    "touch -- {file}", "touch -d 2001-02-03 -- {any}", "echo more >> {file}", "echo other > {file}", "truncate -s {number} -- {file}",
    "dd if=/dev/urandom of={file} bs=100 count=2 conv=notrunc status=none", "dd if=/dev/zero of={file} bs=1 seek={number} count=0 status=none",
    "dd if=./{file} of=./{file2} bs=512 status=none", "sed -i s/e/E/ -- {file}", "cp -f -- {file} {file2}", "cp -a -- {any} {new}",
    "cp -rT -- {directory} {new}", "{calls}", "{calls}", "{calls}", "{python} threads {directory}", "install -m {mode} -- {file} {new}",
    "sort -o {file} -- {file}", "printf x | tee -- {file} {new} > /dev/null", "cat -- {file} > {new}; mv -- {new} {file}",
    "echo x > {new}; chmod {mode} {new}; echo y >> {new}; rm -f {new}", "cat -- {file} {file2} >> {new}; : > {file}", ": > {file}; : > {file2}",
    "exec 7>> {file}; echo a >&7; mv -- {file} {new}; echo b >&7", "exec 7<> {file}; rm -- {file}; echo b >&7; echo c > {file}",
    "(echo a; sleep 0.01; echo b) > {file} & echo c >> {file2}; wait", "head -c {number} /dev/urandom > {new}; cp -- {new} {file}; rm -- {new}",
    "cp --remove-destination -- {file} {file2}", "ln -f -- {file} {new}; echo both >> {new}", "touch -r {file} -- {file2}; chmod {mode} -- {file2}",
    "for i in 1 2 3; do echo $i >> {file}; mv -- {file} {new}; mv -- {new} {file}; done", "cp -p -- {file} {new}; mv -- {new} {file}",
)
PROGRAMS = tuple(form for program, forms in (
    ("patch", ("sed s/e/E/ -- {file} > {new}; diff -ua -- {file} {new} | patch -s -f -- {file}; rm -f -- {new}",
               "diff -uaN -- {file} {file2} > {new}; patch -s -f -b -- {file} {new}", "printf 'new\\n' > {new}; diff -ua {file} {new} | patch -s -R -f -- {new}")),
    ("tar", ("tar cf {new} -- {file}; tar xf {new}", "tar cf $HOME/tar -- {any} 2> /dev/null; tar xf $HOME/tar -C {directory} --unlink-first 2> /dev/null",
             "tar cf {new} -- {directory} 2> /dev/null; rm -rf -- {directory}/*; tar xf {new}", "tar cf - -- {file} | tar xf - --overwrite")),
    ("zip", ("zip -q -y -r ./{new}.zip ./{directory}; unzip -o -q ./{new}.zip -d ./{directory2}", "zip -q -y ./{new}.zip ./{file}; rm -f -- {file}; unzip -o -q ./{new}.zip")),
    ("rsync", ("rsync -a --delete -- ./{directory}/ ./{new}/", "rsync -a --delete --exclude .git -- ./{directory}/ ./{directory2}/", "rsync -a --inplace ./{file} ./{file2}")),
    ("perl", ("perl -pi -e s/e/E/ -- {file}", "perl -i.bak -pe s/a/b/ -- {file}", "perl -e 'truncate $ARGV[0], 5; rename $ARGV[0], $ARGV[1]' ./{file} ./{new}")),
    ("awk", ("awk '{{print NR, $0}}' ./{file} > {new}; mv -f -- {new} {file}",)),
    ("clang-format", ("printf 'int  f( ){{return 1 ;}}\\n' > ./{new}.c; clang-format -i ./{new}.c; cp ./{new}.c {file}",)),
    ("gzip", ("gzip -f -- {file}", "gzip -fc -- {file} > {new}.gz; gunzip -f -- {new}.gz")),
    ("split", ("split -b 1500 -- {file} ./{new}.",)),
    ("shred", ("shred -n 1 -- {file}", "shred -n 1 -u -- {file}")),
    ("vim", ("vim -es -u NONE -c '%s/e/E/e' -c wq -- ./{file} < /dev/null > /dev/null 2>&1",)),
    ("sqlite3", tuple("sqlite3 ./{directory}/s.db 'pragma journal_mode=%s; create table if not exists t(a); insert into t values(randomblob({number})); "
                      "delete from t where rowid %% 3 = 0;' > /dev/null" % mode for mode in ("delete", "wal", "truncate", "persist", "memory"))),
    ("jq", ("printf '{{\"a\": {number}}}' > {new}; jq -c .a < {new} > {file}; jq . {new} > {new}.tmp && mv {new}.tmp {new}",)),
    ("ed", ("printf '1d\\nw\\nq\\n' | ed -s ./{file} > /dev/null 2>&1",)),
    ("find", ("find ./{directory} -type f -exec sed -i s/a/b/ {{}} +", "find ./{directory} -newer ./{file} -type f -delete", "find ./{directory} -mindepth 1 -depth -delete")),
) if shutil.which(program) for form in forms)
STATIC = (  # by the library alone these programs are not observed
    "busybox rm -rf -- {any}", "busybox mv -f -- {any} {new}", "busybox sed -i s/e/E/ ./{file}", "busybox cp -a -- {any} {new}", "busybox truncate -s {number} ./{file}",
    "busybox dd if=/dev/zero of=./{file} bs=10 count=3 conv=notrunc 2> /dev/null", "busybox find ./{directory} -type f -name '*[0-4]' -delete", "busybox touch -- {file} {new}",
    "busybox ln -f -- {file} {new}", "busybox sh -c 'echo x >> \"$1\"; mkdir \"$2\"; echo y > \"$2/y\"' sh ./{file} ./{new}", "busybox tar cf {new} -- {any}; busybox tar xf {new}",
    "busybox gzip -f -- ./{file}", "busybox chmod {mode} -- {any}", "busybox rmdir -- {directory}", "busybox install -m {mode} -- {file} {new}",
)
GITS = (
    "cd {directory}; {git} init -q .; {git} add -A; {git} commit -qm a", "cd {repository}; {git} add -A; {git} commit -qm b",
    "cd {repository}; {git} checkout -q -- .", "cd {repository}; {git} reset -q --hard", "cd {repository}; {git} reset -q --hard HEAD~1",
    "cd {repository}; {git} clean -fdxq", "cd {repository}; {git} clean -fdxq; {git} checkout -q -- .", "cd {repository}; {git} stash -q -u",
    "cd {repository}; {git} stash -q; {git} stash pop -q", "cd {repository}; {git} checkout -q HEAD~1 -- .", "cd {repository}; {git} stash pop -q",
    "cd {repository}; {git} restore -q --source=HEAD~1 --staged --worktree .", "cd {repository}; {git} rebase -q --onto HEAD~1 HEAD~2", "cd {repository}; {git} rebase -q --abort",
    "cd {repository}; {git} checkout -q -f main", "cd {repository}; {git} diff HEAD~1 -- . > $HOME/diff; {git} apply -R $HOME/diff", "cd {repository}; {git} rm -rfq --cached .; {git} rm -rfq .", "cd {repository}; {git} mv -k * {directory}",
    "cd {repository}; {git} checkout -q -b side; echo side > side; {git} add side; {git} commit -qm side; {git} checkout -q main; echo x > on-main; {git} add on-main; "
    "{git} commit -qm main; {git} checkout -q side; {git} rebase -q main",
    "{git} init -q {new}; cd {new}; cp ../* . 2>/dev/null; {git} add -A 2>/dev/null; {git} clean -fdxq; rm -rf .git",
) if shutil.which("git") else ("true",)

"""Law 4: in a process that is neither viewer, reader nor agent the shim costs a constant per exec and nothing else.

strace counts the system calls of a command bare and below `seen run`.  What one program's start costs more is
measured with /bin/true, what starting one costs its starter with `env /bin/true`; every other command may cost
these, times its programs, and not one call more.  What is kept for undo costs calls beside: only where something of the workspace
is changed.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import SEEN, Session

BARE_RUNS = 3
# How often a shell is woken depends on who ends first; how often mkstemp draws a number, on the number.
CHANCE = {"rt_sigreturn", "restart_syscall", "wait4", "getrandom"}
INSPECTION_CALLS = 12  # at most, of one kind: the headers and sections of a program
TRUE = "/bin/true"
ENV = "/usr/bin/env"
RANDOMIZED_OFF = ["setarch", "-R"] if shutil.which("setarch") and subprocess.run(["setarch", "-R", TRUE]).returncode == 0 else []


class Trace:
    """System calls of a command and all below it."""

    def __init__(self, session, command, wrapped):
        path = os.path.join(session.directory, "trace")
        # Without randomized addresses: how often a heap is grown depends on them.
        words = [*RANDOMIZED_OFF, "strace", "-f", "-qq", "-e", "signal=none", "-o", path, *command]
        if wrapped:
            name = "undo-" + session.environment["SEEN_UNDO_ENABLE"]  # what one keeps was chosen when it was made
            words = [SEEN, "run", "--quiet", "--session", name, "--", *words]
        self.status = subprocess.run(words, cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        self.calls = collections.Counter()
        self.programs = 0
        with open(path, errors="replace") as lines:
            for line in lines:
                call = re.match(r"\d+ +(\w+)\(", line)
                if call:
                    self.calls[call[1]] += 1
                if re.match(r"\d+ +(execve(at)?\(|<\.\.\. execve(at)? resumed>).*= 0$", line.rstrip()):
                    self.programs += 1


def difference(more, less):
    return {name: more[name] - less[name] for name in sorted(set(more) | set(less)) if more[name] != less[name]}


@unittest.skipUnless(shutil.which("strace"), "no strace")
class SystemCalls(unittest.TestCase):
    SPARE = {}  # {call: how many more a program may make}

    @classmethod
    def setUpClass(cls):
        cls.session = Session("calls")
        cls.addClassCleanup(cls.session.close)
        cls.session.environment.update(GIT_CONFIG_NOSYSTEM="1", GIT_OPTIONAL_LOCKS="0", MALLOC_ARENA_MAX="1", SEEN_UNDO_ENABLE="no")
        with tempfile.TemporaryDirectory() as directory:
            traced = subprocess.run(["strace", "-o", os.path.join(directory, "trace"), TRUE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if traced.returncode != 0:
            raise unittest.SkipTest("strace cannot trace here: %s" % traced.stdout.decode().strip())
        for i in range(60):
            cls.session.write("file-%d.c" % i, b'#include <stdio.h>\nint f%d(void) { return puts("x"); }\n' % i)
        cls.start, programs, _ = cls.surplus([TRUE])
        assert programs == 1
        two, programs, _ = cls.surplus([ENV, TRUE])
        assert programs == 2
        cls.launch = collections.Counter(two)
        cls.launch.subtract(cls.start)
        cls.launch.subtract(cls.start)
        cls.launch = +cls.launch
        print("\nper program: %s\nper start of another: %s" % (dict(cls.start), dict(cls.launch)), flush=True)

    @classmethod
    def surplus(cls, command):
        """Calls that a command makes more below `seen run`; its programs; calls whose number varies by itself."""
        Trace(cls.session, command, False)  # leaves its files, fills caches
        bare = [Trace(cls.session, command, False) for _ in range(BARE_RUNS)]
        Trace(cls.session, command, True)  # a session's first start of a program notes where it lies
        wrapped = Trace(cls.session, command, True)
        for trace in (*bare, wrapped):
            if trace.status.returncode != bare[0].status.returncode or trace.programs != bare[0].programs:
                raise AssertionError("%s: exit %s, %d programs; %s, %d; %s" % (
                    command, bare[0].status.returncode, bare[0].programs, trace.status.returncode, trace.programs, trace.status.stderr))
        cls.last_bare = bare[0]
        varying = {name for trace in bare for name in trace.calls | bare[0].calls if trace.calls[name] != bare[0].calls[name]}
        return collections.Counter(difference(wrapped.calls, bare[0].calls)), bare[0].programs, varying

    def check(self, *command):
        path = shutil.which(command[0])
        if not path:
            self.skipTest("no " + command[0])
        surplus, programs, varying = self.surplus([path, *command[1:]])
        chdirs = self.last_bare.calls["chdir"] + self.last_bare.calls["fchdir"]
        print("%s: %d programs, %d calls more" % (" ".join(command[:3]), programs, sum(surplus.values())), flush=True)
        inspected = surplus["fgetxattr"]  # anew: another program has the place of its note
        self.assertLessEqual(inspected, 2, surplus)
        for name in set(surplus) | set(self.start) | set(self.launch):
            if name in varying or name in CHANCE:
                continue
            # A program found by a search of PATH is not read by its starter, a script twice.
            least = programs * self.start[name]
            most = least + 2 * programs * self.launch[name]
            if name == "getpid":
                most += 3 * programs  # who is it, after vfork: what the child does to its descriptors
            if name == "getppid":
                most += programs  # a copy: is it in another PID namespace?
            if name == "getcwd":
                most += chdirs
            if name == "madvise":
                most += self.last_bare.calls["rename"]  # a part of the table of files is used first: by sed's new names
            if name == "readlinkat":
                most += programs  # what a program is that may be more than a tool is asked of the kernel, whatever is noted
            if name == "mmap":
                most += programs  # the loader takes one page more where it has many libraries to keep account of
            most += programs * self.SPARE.get(name, 0) + INSPECTION_CALLS * inspected
            self.assertTrue(least <= surplus[name] <= most,
                            "%s: %d calls of %s more, expected %d to %d; in all: %s" % (command[0], surplus[name], name, least, most, surplus))

    def test_programs_that_share_places_of_the_notes(self):
        """Four whose notes have the same places are inspected once in a session (shim/preload/program.c)."""
        session = Session("notes")  # no other program has a place
        self.addCleanup(session.close)
        session.environment.update(self.session.environment, **{name: value for name, value in session.environment.items() if session.directory in value})

        def place_of(path):
            status, key = os.stat(path), 1
            for word in (status.st_dev, status.st_ino, status.st_mode, status.st_size, *divmod(status.st_ctime_ns, 10 ** 9), *divmod(status.st_mtime_ns, 10 ** 9)):
                key = (key ^ word) * 0x9e3779b97f4a7c15 % 2 ** 64
                key ^= key >> 29
            return (key >> 32) % 128

        directory = os.path.join(session.directory, "copies-of-true")
        os.mkdir(directory)
        sets = collections.defaultdict(list)
        for number in range(160):
            path = shutil.copy2(os.path.realpath(TRUE), os.path.join(directory, "true-%d" % number))
            sets[place_of(path) % 32].append((place_of(path), path))
        for name in ("sh", "strace", "setarch"):
            sets.pop(place_of(shutil.which(name) or TRUE) % 32, None)
        chosen = [sorted(found)[-4:] for found in sets.values() if len(found) >= 4 and sorted(found)[-1][0] == sorted(found)[-2][0]][0]
        programs = [path for _, path in chosen]
        command = ["sh", "-c", "; ".join(programs * 3)]
        first, later = (Trace(session, command, True) for _ in range(2))
        self.assertEqual((first.status.returncode, first.programs), (0, 13), first.status.stderr)
        self.assertGreaterEqual(first.calls["fgetxattr"], 4, first.calls)
        self.assertEqual(later.calls["fgetxattr"], 0, later.calls)

    def test_start_costs_little(self):
        self.assertLess(sum(self.start.values()), 40, self.start)
        self.assertLess(sum(self.launch.values()), 16, self.launch)

    def test_many_opens(self):
        target = os.path.join(self.session.directory, "copies")
        os.mkdir(target)
        self.check("cp", "-rT", ".", target)

    def test_tar(self):
        self.check("tar", "cf", "/dev/null.tar" if not os.access("/dev/shm", os.W_OK) else "/dev/shm/seen-test-calls.tar", ".")

    def test_git_status(self):
        if not shutil.which("git"):
            self.skipTest("no git")
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"], ["status"]):
            subprocess.run(["git", *words], cwd=self.session.workspace, env=self.session.environment, check=True, stdout=subprocess.DEVNULL)
        self.check("git", "status")

    def test_gcc(self):
        self.check("gcc", "-c", "-o", "/dev/null", "file-1.c")

    def test_shell_script(self):
        self.check("sh", "-c", "for i in 1 2 3; do /bin/true; (tr a b <file-$i.c); done >/dev/null; sort file-1.c | tr a b | /usr/bin/tee /dev/null >/dev/null")

    def test_output_to_a_file(self):
        """Where no agent was given a file, no start asks what file outside the workspace it prints to."""
        calls = [self.surplus(["/bin/sh", "-c", "for i in %s; do /bin/true; done > ../out 2>&1" % times])[0] for times in ("1 2", "1 2 3 4 5 6")]
        self.assertEqual(calls[0]["readlinkat"], calls[1]["readlinkat"], calls)
        self.assertEqual(calls[1]["fstat"] - calls[0]["fstat"], 4 * self.start["fstat"], calls)

    def test_sed_in_place(self):
        self.check("sed", "-i", "s/puts/puts /", *["file-%d.c" % i for i in range(40, 60)])

    def test_rename_and_remove(self):
        self.check("sh", "-c", "for i in 1 2 3; do cp file-$i.c new-$i; mv new-$i old-$i; rm old-$i; done")


class Kept(SystemCalls):
    """With undo: what changes nothing costs no call more; what changes something costs a few for each change."""

    SPARE = {"statx": 1, "openat": 1, "readlinkat": 1, "newfstatat": 1, "close": 1}  # of a file that is written to: git's /dev/null, tar's
    CALLS_MAX = 20  # of one change: where it is, what is there, its content, what is there afterwards
    CHANGES = {"unlink", "unlinkat", "rename", "renameat2", "mkdir", "chmod", "fchmod", "fchmodat", "fchown", "utimensat", "ftruncate", "link", "linkat"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session.environment["SEEN_UNDO_ENABLE"] = "yes"

    def check(self, *command):
        if command[0] in ("git", "tar"):
            super().check(*command)
            return
        path = shutil.which(command[0])
        if not path:
            self.skipTest("no " + command[0])
        surplus, programs, _ = self.surplus([path, *command[1:]])
        bare = self.last_bare.calls
        changes = sum(bare[name] for name in self.CHANGES) + bare["openat"] // 2
        most = programs * (sum(self.start.values()) + 2 * sum(self.launch.values()) + 6) + self.CALLS_MAX * changes
        print("%s: %d programs, %d changes, %d calls more" % (" ".join(command[:3]), programs, changes, sum(surplus.values())), flush=True)
        self.assertLess(sum(surplus.values()), most)

    # of one change in a process that makes many: the first took 19 when each record took an open, a write and a close
    # (and of these statx: what is there before, what was opened, what it was left as; of a rename, since a thread may have written meanwhile)
    CALLS_OF_ONE = {
        "open(name, 'w').write('int x;')": (12, 3),
        "os.rename(name, name + 'x'); os.rename(name + 'x', name)": (14, 6),
        "os.chmod(name, 0o600 + i & 1)": (7, 2),
    }

    def test_one_change_of_many(self):
        many, few = 70, 40  # what the first leave is kept, too
        for i in range(many):
            self.session.write("many-%d" % i, b"int x;")
        for change, (most, stats) in self.CALLS_OF_ONE.items():
            script = "import os\nfor i in range(COUNT):\n  name = './many-%d' % i; " + change
            calls = [self.surplus([sys.executable, "-S", "-c", script.replace("COUNT", str(count))])[0] for count in (many, few)]
            more, less = (sum(each.values()) for each in calls)
            self.assertEqual(self.last_bare.status.returncode, 0)
            print("%s: %.1f calls" % (change, (more - less) / (many - few)), flush=True)
            self.assertLessEqual(more - less, most * (many - few), change)
            self.assertLessEqual(calls[0]["statx"] - calls[1]["statx"], stats * (many - few), change)


@unittest.skipUnless(shutil.which("strace"), "no strace")
class OfAnAgent(unittest.TestCase):
    """New files that the agent itself writes: what one costs the agent, and the watcher of its run."""

    MOST = 17 + 3  # and bare's open, write and close
    SCRIPT = "import os\nfor i in range(%d):\n  f = os.open('new-%%d' %% i, os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(f, b'x' * 4096); os.close(f)"

    def trace(self, files, around, within):
        """The lines of strace, which is around the run or within it."""
        session = Session("agents")
        self.addCleanup(session.close)
        trace = os.path.join(session.directory, "trace")
        python = os.path.realpath(sys.executable)
        strace = ["strace", "-qq", "-e", "signal=none", "-o", trace]
        words = [SEEN, "run", "--quiet", "--session", "agents", "--agent", os.path.basename(python), "--", *(strace if within else []), python, "-S", "-c", self.SCRIPT % files]
        done = subprocess.run([*(strace if around else []), *words], cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        edited = session.seen("log", "--json", "--session", "agents", "--op", "edited", check=False).stdout.splitlines()
        self.assertEqual(len(edited), files)
        with open(trace, errors="replace", encoding="utf-8") as lines:
            return list(lines)

    def test_in_the_agent(self):
        """The least of many: where the process waits for its turn between open and close, answers of the open count no more."""
        calls = self.trace(60, around=False, within=True)
        opens = [i for i, line in enumerate(calls) if re.match(r'openat\(AT_FDCWD, "new-\d+", O_WRONLY', line)]
        self.assertEqual(len(opens), 60)
        of_each = sorted((calls[i:k] for i, k in zip(opens, opens[1:])), key=len)
        print("a new file of an agent's: %d calls" % len(of_each[0]), flush=True)
        self.assertLessEqual(len(of_each[0]), self.MOST, "".join(of_each[0]))

    def test_in_the_watcher(self):
        """It reads each file once, and asks once for many who has them open still."""
        calls, files = self.trace(400, around=True, within=False), 400
        self.assertLessEqual(sum("/new-" in line and "openat(" in line for line in calls), files * 3 // 2)
        self.assertLess(sum("ns_last_pid" in line for line in calls), files // 2)

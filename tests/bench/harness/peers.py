"""The tracers and the peers: other programs that watch, record or change what programs do, as ways to run the same work.

Each is run as its manual says.  Where it records, the record goes to a file below place.top, on the file system of the work, as
seen's does; it is removed after every run.  How each is shown to have been at work: see inside() and after().
"""
import contextlib
import ctypes
import glob
import json
import os
import shutil
import subprocess
import time

from .place import LIMIT_S, ROOT, Failed, write_file
from .way import Way

HERE = os.path.dirname(os.path.realpath(__file__))
NPM = os.path.join(ROOT, "build/bench-npm/node_modules")  # scripts/bench installs there
SHORT_BYTES = 1 << 16  # what of a log is read: its first lines name the command
QUEUE, EVENTS = "/proc/sys/fs/fanotify/max_queued_events", 1 << 20
HEAD_S = 10  # until fatrace watches, or has written down what it saw


def library_of(pattern):
    """The path of a library of Debian's, below the directories of any architecture, or ""."""
    return next((path for directory in ("/usr/lib/*/", "/usr/lib/", "/usr/lib64/") for path in sorted(glob.glob(directory + pattern))), "")


@contextlib.contextmanager
def more_room():
    """Who begins to watch with this, by fanotify, has room for a million events; the machine's setting is put back.  Where it may not be set: as it is."""
    kept = None
    try:
        with open(QUEUE, encoding="ascii") as file:
            kept = file.read()
        with open(QUEUE, "w", encoding="ascii") as file:
            file.write("%d" % max(EVENTS, int(kept)))
    except OSError:
        kept = None
    try:
        yield
    finally:
        if kept is not None:
            with open(QUEUE, "w", encoding="ascii") as file:
                file.write(kept)


class Peer(Way):
    """needs: Debian's name.  program: in PATH, or "".  library_file: a pattern for library_of(), or "".

    follows: "opens" if its log names the files that were opened, "execs" if only the programs that were started, "" if there is no log.
    """
    kind = "peer"
    program = library_file = follows = ""

    def version(self):
        try:
            return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.needs], capture_output=True, text=True, timeout=LIMIT_S,
                                  check=True).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""

    def available(self):
        if (self.program and not shutil.which(self.program)) or (self.library_file and not library_of(self.library_file)):
            return "%s is not installed: apt-get install %s" % (self.needs, self.needs)
        return ""

    def log(self, place):
        return os.path.join(place.top, self.name.replace(" ", "-") + ".log")

    def before(self, place):
        if os.path.exists(self.log(place)):
            os.unlink(self.log(place))

    def remember(self, command):
        """For after(): what the log must name."""
        self.must_name = [os.path.basename(command[0])] if self.follows else []

    def prove(self, place):
        self.detect(place)
        if not self.follows:
            return
        probe = os.path.join(place.work, "proof.txt")
        write_file(probe, b"proof\n")
        self.must_also_name = ["proof.txt" if self.follows == "opens" else "cat"]
        try:
            output = place.run(self.name, ["sh", "-c", 'cat proof.txt; :'])
        finally:
            self.must_also_name = []
            os.unlink(probe)
        if output != b"proof\n":
            raise Failed("%s: a file was read as %r" % (self.name, output[:100]))

    must_name = must_also_name = ()
    written = {}  # of all: (name, session): bytes of its logs

    def size_of_log(self, place):
        return os.path.getsize(self.log(place)) if os.path.exists(self.log(place)) else 0

    def finish(self, place):
        return {"log bytes": self.written.pop((self.name, place.session), 0)} if self.follows else {}

    def read_log(self, place):
        """The beginning of the log, as long as it is cheap; b"" if there is none."""
        try:
            with open(self.log(place), "rb") as file:
                return file.read(SHORT_BYTES)
        except FileNotFoundError:
            return b""

    def after(self, place):
        if not self.follows:
            return
        held = self.read_log(place)
        of = (self.name, place.session)
        self.written[of] = self.written.get(of, 0) + self.size_of_log(place)
        missing = [name for name in (*self.must_name, *self.must_also_name) if name.encode() not in held]
        if os.path.exists(self.log(place)):
            os.unlink(self.log(place))
        if not held:
            raise Failed("%s: its log is empty" % self.name)
        if missing:
            raise Failed("%s: its log does not name %s: %r..." % (self.name, ", ".join(missing), held[:200]))


class Eatmydata(Peer):
    name, needs, program = "eatmydata", "eatmydata", "eatmydata"
    library = "libeatmydata.so"
    description = "libeatmydata in LD_PRELOAD, by `eatmydata`: fsync and its like do nothing"
    records = "nothing"
    can = ("changes",)

    def wrap(self, place, command, env):
        return ["eatmydata", *command], env


class Fakechroot(Peer):
    """Its new root has links to all that is in the real one: each path is rewritten, and names the same file."""
    name, needs, program = "fakechroot", "fakechroot", "fakechroot"
    library = "libfakechroot.so"
    description = "libfakechroot in LD_PRELOAD, by `fakechroot`: each path is rewritten to one below a new root, whose entries are links to /"
    records = "nothing"
    can = ("changes",)

    def wrap(self, place, command, env):
        root = os.path.join(place.top, "fakechroot")
        if not os.path.isdir(root):
            os.mkdir(root)
            for entry in os.listdir("/"):
                os.symlink("/" + entry, os.path.join(root, entry))
        return ["fakechroot", *command], {**env, "FAKECHROOT_BASE": root}

    def prove(self, place):
        super().prove(place)
        hidden = os.path.join(place.top, "fakechroot/only-there")
        write_file(hidden, b"there\n")
        try:
            if place.run(self.name, ["cat", "/only-there"]) != b"there\n":
                raise Failed("%s: /only-there is not the new root's" % self.name)
        finally:
            os.unlink(hidden)


class Fakeroot(Peer):
    name, needs, program = "fakeroot", "fakeroot", "fakeroot"
    library = "libfakeroot"
    description = "libfakeroot in LD_PRELOAD, by `fakeroot`: each stat of a file asks a daemon, faked, who is said to own it"
    records = "in memory: owner, mode and device of files that are stat'ed or changed"
    can = ("changes",)

    def wrap(self, place, command, env):
        return ["fakeroot", "--", *command], env

    def prove(self, place):
        super().prove(place)
        made = os.path.join(place.work, "proof-device")
        try:
            said = place.run(self.name, ["sh", "-c", "mknod proof-device b 8 1 && stat -c %F proof-device"])
            if said != b"block special file\n" or not os.path.isfile(made):
                raise Failed("%s: a device that was not made is said to be %r" % (self.name, said[:100]))
        finally:
            if os.path.exists(made):
                os.unlink(made)


class Bear(Peer):
    name, needs, program, follows = "bear", "bear", "bear", "execs"
    library = "bear/libexec.so"
    description = "`bear intercept`: a library in LD_PRELOAD puts a reporter before each program started, which tells a server by gRPC"
    records = "each program started: path, arguments, environment, directory, parent, exit status"
    can = ("execs", "processes")

    def wrap(self, place, command, env):
        self.remember(command)
        return ["bear", "intercept", "--output", self.log(place), "--", *command], env


class Libtrace(Peer):
    """Firejail puts it into /etc/ld.so.preload of its sandbox; here it is in LD_PRELOAD, and the sandbox is none of the cost."""
    name, needs, library_file, follows = "libtrace", "firejail", "firejail/libtrace.so", "opens"
    library = "firejail/libtrace.so"
    description = "firejail's libtrace in LD_PRELOAD, without the sandbox: what `firejail --trace` writes down"
    records = "a line of text for each open, stat, access, unlink, mkdir, connect and the like, and for each program started"
    can = ("opens", "execs", "processes")

    def wrap(self, place, command, env):
        self.remember(command)
        return command, {**env, "LD_PRELOAD": library_of(self.library_file), "FIREJAIL_TRACEFILE": self.log(place)}


class Snoopy(Peer):
    """It reads /etc/snoopy.ini and no other file, so that one is covered by another in a mount namespace."""
    name, needs, library_file, follows = "snoopy", "snoopy", "libsnoopy.so", "execs"
    library = "libsnoopy.so"
    description = "libsnoopy in LD_PRELOAD, its lines written to a file"
    records = "a line of text for each execv and execve, also those that fail; not what posix_spawn starts"
    can = ("execs", "processes")

    def unshare(self):
        return ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]), "--mount"]

    def available(self):
        problem = super().available()
        if problem:
            return problem
        if not os.path.exists("/etc/snoopy.ini"):
            return "there is no /etc/snoopy.ini to be covered by another: apt-get install --reinstall -o Dpkg::Options::=--force-confmiss snoopy"
        tried = subprocess.run([*self.unshare(), "mount", "--bind", "/etc/snoopy.ini", "/etc/snoopy.ini"], capture_output=True, text=True,
                               timeout=LIMIT_S, check=False)
        if tried.returncode != 0:
            return "/etc/snoopy.ini cannot be covered by another in a mount namespace (%s): run as root, or --without snoopy" % (
                tried.stderr.strip()[-200:])
        return ""

    def wrap(self, place, command, env):
        self.remember(command)
        settings = os.path.join(place.top, "snoopy.ini")
        if not os.path.exists(settings):
            write_file(settings, b"[snoopy]\noutput = file:%s\n" % self.log(place).encode())
        # The inner shell has the library already, so that the start of the command is in the log.
        return [*self.unshare(), "sh", "-c", 'mount --bind "$1" /etc/snoopy.ini && LD_PRELOAD=$2 && export LD_PRELOAD && shift 2 && '
                "exec sh -c 'exec \"$@\"' sh \"$@\"", "sh", settings, library_of(self.library_file), *command], env


class Proot(Peer):
    name, needs, program = "proot", "proot", "proot"
    traced, filtered, static = True, None, True  # Debian 12's has no filter, later ones have
    description = "`proot`: stops each call, by ptrace, and rewrites the paths in it, here to the same"
    records = "nothing"
    can = ("static", "changes")

    def wrap(self, place, command, env):
        return ["proot", *command], env


class Fatrace(Peer):
    """It watches all file systems, not a process, so what else the machine does is in its log, too.

    Equal events that wait in the kernel's queue are one; when 16,384 wait, more are lost (fanotify(7)), and fatrace 0.17 ends with
    "unexpected event info type", as it takes what says so for an event of a file.  So it is started with room for more.
    """
    name, needs, program, follows = "fatrace", "fatrace", "fatrace", "opens"
    static = True
    description = "`fatrace` beside the work: fanotify tells it of the opens, reads, writes and closes of all processes"
    records = "a line of text for events of a file, equal ones often as one; not which program was started, nor what failed"
    can = ("opens", "reads", "writes", "processes", "static")

    def permitted(self):
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.fanotify_init(0, 0)  # FAN_CLASS_NOTIF, O_RDONLY; no file handles, for which no right is needed
        if descriptor < 0:
            return "fanotify_init: %s" % os.strerror(ctypes.get_errno())
        os.close(descriptor)
        return ""

    watcher, program_started = None, ""

    def wrap(self, place, command, env):
        self.program_started = os.path.realpath(shutil.which(command[0], path=env.get("PATH")) or command[0])
        return command, env

    def before(self, place):
        super().before(place)
        with more_room():
            self.watcher = subprocess.Popen(["fatrace", "-o", self.log(place)], env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT)
            self.wait(lambda: any("fanotify sdev:" in text or "fanotify mnt_id:" in text for text in self.marks()), "watch")
        # Marks are set one by one: this file must be seen, too.
        self.see(place, "begin")

    def marks(self):
        for path in glob.glob("/proc/%d/fdinfo/*" % self.watcher.pid):
            try:
                with open(path, encoding="ascii") as file:
                    yield file.read()
            except OSError:
                pass

    def wait(self, done, purpose):
        end = time.monotonic() + HEAD_S
        while not done():
            if self.watcher.poll() is not None or time.monotonic() > end:
                raise Failed("%s: does not %s: %s" % (self.name, purpose, self.stop()))
            time.sleep(0.002)

    def see(self, place, name):
        """Waits until a file of this name, made, read and removed now, is in the log: what was before it is, too."""
        sign = os.path.join(place.top, "fatrace-%s" % name)

        def seen():
            write_file(sign, b"sign\n")
            return sign.encode() in self.read_log(place)
        try:
            self.wait(seen, "write down the %s" % name)
        finally:
            os.unlink(sign)

    def read_log(self, place):
        try:
            with open(self.log(place), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def stop(self):
        """Ends it; what it said."""
        self.watcher.terminate()
        said = self.watcher.communicate(timeout=LIMIT_S)[0]
        self.watcher = None
        return said.decode(errors="replace")[-500:].strip()

    def after(self, place):
        if self.watcher is None:
            raise Failed("%s: it did not run" % self.name)
        try:
            self.see(place, "end")
        finally:
            if self.watcher:
                self.stop()
        self.must_name = [self.name_in(self.read_log(place), self.program_started)]
        super().after(place)

    @staticmethod
    def name_in(log, path):
        """The name by which the kernel gave a file: of those with many in its directory, any."""
        if os.stat(path).st_nlink == 1:
            return path
        directory = os.path.dirname(path)
        names = [os.path.join(directory, name) for name in os.listdir(directory)]
        return next((name for name in names if name.encode() in log and os.path.samefile(name, path)), path)


class Fspy(Peer):
    """The tracker of files by which `vp run` of vite-plus learns what a task reads.

    Its binding's runCommand() is the shortest way to it: no task, no cache, no hash.  A library for programs with a loader, a filter and
    a supervisor for others.  Its shared memory is where seen's is.
    """
    name, follows = "fspy", "opens"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    package = "@voidzero-dev/vite-plus-linux-%s-gnu" % machine
    needs = "nodejs npm:%s@1.6.0" % package
    library = "fspy_preload"
    static = filtered_static = True
    description = "vite-plus's fspy, by runCommand() of its binding: a library in LD_PRELOAD, and a filter below static programs"
    records = "in shared memory: a record for each open, stat, access, readdir and program started; at the end the files read, written and listed"
    can = ("opens", "execs", "static")

    def binding(self):
        return os.path.join(NPM, self.package, "vite-plus.linux-%s-gnu.node" % self.machine)

    def available(self):
        if not shutil.which("node"):
            return "node is not installed: apt-get install nodejs"
        wanted = self.needs.rpartition("@")[2]
        if self.version() != wanted or not os.path.exists(self.binding()):
            return "%s of version %s is not in %s: ./scripts/bench installs it, or npm install --prefix %s %s@%s" % (
                self.package, wanted, NPM, os.path.dirname(NPM), self.package, wanted)
        return ""

    def version(self):
        try:
            with open(os.path.join(os.path.dirname(self.binding()), "package.json"), encoding="utf-8") as file:
                return json.load(file)["version"]
        except (OSError, ValueError, KeyError):
            return ""

    def wrap(self, place, command, env):
        self.must_name = ["end"]
        return ["node", os.path.join(HERE, "../fspy.cjs"), self.log(place), *command], {
            **env, "BENCH_FSPY": self.binding(), "BENCH_FSPY_MEMORY": place.runtime}

    def read_log(self, place):
        try:
            with open(self.log(place), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""


class Strace(Peer):
    kind, needs, program, follows = "tracer", "strace", "strace", "opens"
    static = traced = True
    records = "a line of text for each system call that names a file"
    can = ("opens", "execs", "processes", "static")

    def __init__(self, name, options, description):
        self.name, self.options, self.description = name, options, description
        self.filtered = "--seccomp-bpf" in options

    def wrap(self, place, command, env):
        self.remember(command)
        return ["strace", "-f", *self.options, "-qq", "-e", "trace=file", "-e", "signal=none", "-o", self.log(place), *command], env


def others():
    """The ways that are not seen's, in the order of the tables: tracers, libraries that record nothing, libraries that do, watchers."""
    return [Strace("strace", [], "`strace -f -e trace=file`, which writes down much the same"),
            Strace("strace bpf", ["--seccomp-bpf"], "the same with --seccomp-bpf, so that only calls with files stop"),
            Proot(), Eatmydata(), Fakechroot(), Fakeroot(), Bear(), Libtrace(), Snoopy(), Fspy(), Fatrace()]

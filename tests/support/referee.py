"""What `seen run` wrote to its journal, held against what strace saw in the same run.

    result = Referee(session).run(command)      # one run, both witnesses
    result.problems                             # empty: the journal is complete and holds nothing else
    print(table([result]))

strace stands outside (`strace -ff -k ... seen run -- COMMAND`): it is no part of what is observed, and every process has a trace of its
own.  With -k each call comes with its stack, so that nothing has to be guessed by path: a call is expected in the journal if
its innermost frame outside of libc lies in libseen.so, that is, if it passed an exported name.  What did not is counted, by the rules
in RULES, each of which names its reason; a function of libc that opens files by itself has to be in LIBC_OWN, or it is a problem.

What the journal has to hold is worked out from the trace alone: opens, names, metadata, programs, and the bytes that went
through each descriptor, as tracker/journal/journal.h and shim/preload/record.h say.  Then both are compared, thread by thread and in order.
"""

import bisect
import collections
import difflib
import errno
import functools
import glob
import os
import re
import struct
import subprocess
import tempfile

from harness import LIBRARY, SEEN

AT_FDCWD = -100

# ---- rules: calls that are not in the journal, and why ----

RULES = {
    "seen": "made by `seen run` itself, before it became or started the command",
    "unobserved": "made by a program that the library cannot be in (static, setuid): EXEC without START",
    "loader": "the instruction or its caller lies in ld.so: libraries are searched and mapped",
    "shim": "the instruction lies in libseen.so: segment, journal, /proc/self/exe",
    "stream": "made by libc by itself on a descriptor: what streams read, write, close, what locale and nss files are read by",
    "raw": "the instruction lies outside of libc: the program asks the kernel by itself",
    "libc": "made by a function of libc that no exported name stands for: LIBC_OWN says which",
    "early": "before the process's START: the constructor of another library ran before ours",
    "late": "behind the process's EXIT: what runs behind the first exit handler",
    "spawned": "by the child of posix_spawn(3) before its exec; its files are compared with what was PLANNED",
    "part": "one of several calls by which libc does what one exported name means: PARTS says which",
    "silent": "of a kind that is not recorded, by design: SILENT says which",
    "summed": "bytes behind the first of a descriptor (compared in the sum), and calls about descriptors that are not followed",
}

# Functions of libc that open files of their own, by the exported name that the program called.
LIBC_OWN = {
    "setlocale": "locale data", "newlocale": "locale data", "__newlocale": "locale data", "uselocale": "locale data",
    "nl_langinfo": "locale data", "bindtextdomain": "messages", "dcgettext": "messages", "dcngettext": "messages", "gettext": "messages",
    "__dcgettext": "messages", "ngettext": "messages", "dgettext": "messages", "strerror": "messages", "strerror_r": "messages", "perror": "messages",
    "__xpg_strerror_r": "messages", "strerror_l": "messages", "strsignal": "messages", "error": "messages", "getopt_long": "messages", "gai_strerror": "messages",
    "iconv_open": "gconv", "iconv": "gconv", "fgetwc": "gconv", "fopen_ccs": "gconv",
    "tzset": "zoneinfo", "localtime": "zoneinfo", "localtime_r": "zoneinfo", "mktime": "zoneinfo", "strftime": "zoneinfo", "timelocal": "zoneinfo",
    "strftime_l": "zoneinfo", "gmtime": "zoneinfo", "gmtime_r": "zoneinfo", "timegm": "zoneinfo", "__strftime_l": "zoneinfo",
    "getpwuid": "nss", "getpwuid_r": "nss", "getpwnam": "nss", "getpwnam_r": "nss", "getpwent": "nss", "getpwent_r": "nss", "setpwent": "nss",
    "getgrgid": "nss", "getgrgid_r": "nss", "getgrnam": "nss", "getgrnam_r": "nss", "getgrent": "nss", "getgrouplist": "nss", "initgroups": "nss",
    "getservbyname": "nss", "getservbyname_r": "nss", "getservbyport": "nss", "getservbyport_r": "nss", "getprotobyname": "nss",
    "getprotobyname_r": "nss", "gethostbyname": "nss", "gethostbyname_r": "nss", "gethostbyname2_r": "nss", "gethostbyaddr_r": "nss",
    "getaddrinfo": "nss", "getnameinfo": "nss", "__res_init": "resolv.conf", "res_ninit": "resolv.conf", "__res_ninit": "resolv.conf",
    "getifaddrs": "netlink", "if_nameindex": "netlink",
    "sysconf": "/sys/devices/system/cpu, /proc/meminfo", "get_nprocs": "/sys/devices/system/cpu", "get_nprocs_conf": "/sys/devices/system/cpu",
    "get_phys_pages": "/proc/meminfo", "pthread_getattr_np": "/proc/self/maps", "gethostid": "/etc/hostid",
    "getloadavg": "/proc/loadavg", "ttyname": "/dev", "ttyname_r": "/dev", "ctermid": "/dev/tty", "getpass": "/dev/tty",
    "shm_open": "/dev/shm", "shm_unlink": "/dev/shm", "sem_open": "/dev/shm", "sem_unlink": "/dev/shm", "syslog": "/dev/log", "getlogin_r": "utmp",
    "getlogin": "utmp", "setutxent": "utmp", "getutxent": "utmp", "utmpxname": "utmp", "getutxline": "utmp", "getutent": "utmp", "pututxline": "utmp",
    "gnu_get_libc_version": "", "abort": "messages", "backtrace": "libgcc_s", "pthread_cancel": "libgcc_s", "pthread_exit": "libgcc_s",
    "pthread_setname_np": "/proc/self/task/TID/comm", "pthread_getname_np": "/proc/self/task/TID/comm",
    "fts_read": "walk: counted once, at fts_open", "fts_children": "walk: counted once, at fts_open", "fts64_read": "walk: counted once, at fts_open",
    "fts_close": "walk: counted once, at fts_open", "getrandom": "", "__libc_fatal": "/dev/tty", "posix_openpt": "/dev/ptmx", "openpty": "/dev/ptmx",
    "getpt": "/dev/ptmx", "forkpty": "/dev/ptmx", "login_tty": "the terminal", "daemon": "/dev/null", "grantpt": "/dev/pts", "wordexp": "a shell's",
}

# Exported names by which libc makes several calls: one record stands for all.
PARTS = {
    "glob", "glob64", "ftw", "ftw64", "nftw", "nftw64", "fts_open", "fts64_open", "posix_fallocate", "posix_fallocate64", "updwtmp", "updwtmpx",
}
# Exported names whose calls are not recorded.
SILENT = {"tmpfile": "a file without a name", "tmpfile64": "a file without a name"}

# Wrappers that end in a jump to libc's function leave no frame of libseen.so: the frame behind libc's is the program's.
JUMPS = {"close", "__close", "close_range", "closefrom", "fclose", "_IO_fclose", "fcloseall", "_exit", "_Exit", "system", "popen", "_IO_popen", "vfork",
         "closedir", "bind"}
# libc's functions that streams are read and written by, and that are no exported names of ours.
STREAM_OPENS = {"fopen", "fopen64", "_IO_fopen", "freopen", "freopen64", "setmntent", "__setmntent"}
STREAM_HOOKS = {"fread", "fread_unlocked", "_IO_fread", "__fread_chk", "__fread_unlocked_chk", "fwrite", "fwrite_unlocked", "fputs", "fputs_unlocked"}
MKSTEMPS = {"mkstemp", "mkstemp64", "mkostemp", "mkostemp64", "mkstemps", "mkstemps64", "mkostemps", "mkostemps64"}
LISTERS = {"opendir", "scandir", "scandir64", "scandirat", "scandirat64"}
SEARCHERS = {"execvp", "execvpe", "execlp", "posix_spawnp"}

NAMES = ["open", "openat", "openat2", "creat", "open_by_handle_at", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "truncate",
         "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat", "bind", "chmod", "fchmodat", "chown", "lchown", "fchownat",
         "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "chdir"]
DESCRIPTORS = ["ftruncate", "fallocate", "fchmod", "fchown", "fchdir", "fsetxattr", "fremovexattr"]
PROGRAMS = ["execve", "execveat", "clone", "clone3", "fork", "vfork", "exit_group"]
READS = ["read", "readv", "pread64", "preadv", "preadv2"]
WRITES = ["write", "writev", "pwrite64", "pwritev", "pwritev2"]
COPIES = ["copy_file_range", "sendfile", "splice", "tee", "vmsplice"]
TABLE = ["close", "close_range", "dup", "dup2", "dup3", "fcntl"]
DATA = READS + WRITES + COPIES + ["mmap"]
RAW = READS + WRITES + COPIES + ["close", "close_range", "dup", "dup2", "dup3", "fcntl", "mmap", "ftruncate", "fallocate", "fchmod", "fchown",
                                 "exit_group"]

# ---- the journal, by its layout (tracker/journal/journal.h) ----

OPS = ["NONE"]
# Records that stand for no call: they tell something, or what became of a file or a process.
NO_CALLS = {"START", "FORK", "EXIT", "CHANGED", "EDITED", "GUARDED"}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tracker/journal/ops.def")) as lines:
    for op, action in re.findall(r"^OP\((\w+),.*\n +\w+, (\w+),", lines.read(), re.M):
        OPS.append(op)
        NO_CALLS |= {op} if action == "TELLS" and op != "CHDIR" else set()
CUT, VFORKED, AT_LEAST, DETAILS, UNATTACHED, PLANNED, PATTERN = (1 << bit for bit in range(7))
HEAD = struct.Struct("<IBBH")
RECORD = struct.Struct("<IBBHQIIIIiIiIQBBHI")
PROCESS = struct.Struct("<QQQIIIIQIIQ")
Record = collections.namedtuple("Record", "number op error time process tid path directory dirfd other fd flags amount decision reason marks count pid parent directory_record other_directory_record")


class Journal:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        magic, version, unit = struct.unpack_from("<QII", self.bytes, 0)
        assert (magic, version, unit) == (0x6c6e726a6e656573, 1, 64), "another layout: %r" % ((magic, version, unit),)
        # name 72, nonce 24, workspace, can_grow, reserved: `next` is at the next multiple of 64
        self.next, = struct.unpack_from("<Q", self.bytes, 192)
        self.lost, = struct.unpack_from("<Q", self.bytes, 264)
        self.records = []
        self.undone = 0
        at = 128
        while at < self.next:
            _, op, units, error = HEAD.unpack_from(self.bytes, at * 64)
            if op in (0, 255):
                self.undone += 1
                at += units if op == 255 else 1
                continue
            if OPS[op] not in ("TEXT", "ABANDONED"):
                self.records.append(self.record(at))
            at += max(units, 1)

    def text(self, number):
        if not number:
            return None
        _, op, _, length = HEAD.unpack_from(self.bytes, number * 64)
        assert OPS[op] == "TEXT", "record %d is no text" % number
        return self.bytes[number * 64 + 8:number * 64 + 8 + length]

    def record(self, at):
        (_, op, units, error, time, process, tid, path, directory, dirfd, other, fd, flags, amount, decision, reason, marks,
         count) = RECORD.unpack_from(self.bytes, at * 64)
        pid = parent = 0
        if OPS[op] in ("START", "FORK") and units > 1:
            _, _, _, pid, parent, *_ = PROCESS.unpack_from(self.bytes, at * 64 + 64)
        # What a name is relative to: a text with AT_FDCWD, else the number of the record that opened the directory.
        directory_record, directory = (0, self.text(directory)) if dirfd == AT_FDCWD else (directory, None)
        other_directory_record = 0
        if OPS[op] in ("RENAME", "LINK"):
            other_directory_record, amount = amount, 0
        return Record(at, OPS[op], error, time, process, tid, self.text(path), directory, dirfd, self.text(other), fd, flags, amount,
                      decision, reason, marks, count, pid, parent, directory_record, other_directory_record)


# ---- symbols ----

class Elf:
    """Functions of an ELF file by their place in it."""

    def __init__(self, path):
        self.functions = []
        try:
            with open(path, "rb") as file:
                data = file.read()
            if data[:5] != b"\x7fELF\x02":
                raise ValueError
        except (OSError, ValueError):
            self.starts, self.loads, self.interpreter, self.slots, self.data = [], [], False, {}, b""
            return
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 54)
        self.loads = []
        self.interpreter = False
        for i in range(phnum):
            kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize)
            if kind == 1:
                self.loads.append((offset, size, address))
            self.interpreter = self.interpreter or kind == 3
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
        self.data = data
        self.slots = {}  # address of a pointer that the loader fills in: name of the function
        found = collections.defaultdict(set)
        for section in sections:
            if section[1] == 4 and section[6] < len(sections) and sections[section[6]][1] == 11:
                symbols = sections[section[6]][4]
                strings = sections[sections[section[6]][6]][4]
                for at in range(section[4], section[4] + section[5], 24):
                    slot, info = struct.unpack_from("<QQ", data, at)
                    if info & 0xffffffff in (1, 6, 7) and info >> 32:
                        name, = struct.unpack_from("<I", data, symbols + 24 * (info >> 32))
                        self.slots[slot] = data[strings + name:data.index(b"\0", strings + name)].decode()
            if section[1] not in (2, 11):
                continue
            strings = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, _, index, value, size = struct.unpack_from("<IBBHQQ", data, at)
                if info & 15 in (2, 10) and index:
                    end = data.index(b"\0", strings + name)
                    found[value, size].add(data[strings + name:end].decode())
        self.functions = sorted((value, size, names) for (value, size), names in found.items())
        self.starts = [function[0] for function in self.functions]

    def address(self, offset):
        for start, size, address in self.loads:
            if start <= offset < start + size:
                return offset - start + address
        return offset

    def offset(self, address):
        for start, size, first in self.loads:
            if first <= address < first + size:
                return address - first + start
        return None

    def callee(self, offset):
        """Name of the library's function that is called by the instruction before `offset`; None: not told (x86-64: a call through
        the linkage table, or through its slot)."""
        data, address = self.data, self.address(offset)
        if data[offset - 6:offset - 4] == b"\xff\x15":
            return self.slots.get(address + struct.unpack_from("<i", data, offset - 4)[0])
        if data[offset - 5:offset - 4] != b"\xe8":
            return None
        at = self.offset(address + struct.unpack_from("<i", data, offset - 4)[0])
        if at is None:
            return None
        if self.slot_at(at):
            return self.slot_at(at)
        # A function of the program's own, which has no frame: where it ends in a jump to a library's function, that was called.
        found = set()
        for jump in re.finditer(rb"\xe9|\x0f[\x80-\x8f]", data[at:at + 256]):
            end = at + jump.end() + 4
            name = self.slot_at(self.offset(self.address(end) + struct.unpack_from("<i", data, end - 4)[0]))
            if name:
                found.add(name)
        return found.pop() if len(found) == 1 else None

    def slot_at(self, at):
        """Name of the function that an entry of the linkage table jumps to."""
        data = self.data
        if at is None:
            return None
        at += 4 if data[at:at + 4] == b"\xf3\x0f\x1e\xfa" else 0
        at += 1 if data[at:at + 1] == b"\xf2" else 0
        if data[at:at + 2] != b"\xff\x25":
            return None
        return self.slots.get(self.address(at) + 6 + struct.unpack_from("<i", data, at + 2)[0])

    def names(self, offset):
        """Names of the function that holds the byte at `offset` of the file; empty: none is known."""
        offset = self.address(offset)
        at = bisect.bisect_right(self.starts, offset)
        names = set()
        for value, size, known in self.functions[max(at - 8, 0):at]:
            if value <= offset < value + max(size, 1):
                names |= known
        return frozenset(names)


elf = functools.lru_cache(None)(Elf)
callee_at = functools.lru_cache(None)(lambda path, offset: elf(path).callee(offset))
names_at = functools.lru_cache(None)(lambda path, offset: elf(path).names(offset))

# ---- the trace ----

CALL = re.compile(r"(\d+)\.(\d{9}) (\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+|\?)(?:<[^>]*>)?(?:\(deleted\))?(?: (E\w+))?(?: \(.*\))?(?: <(\d+)\.(\d+)>)?$")
ENDING = re.compile(r"(\d+)\.(\d{9}) \+\+\+ (exited with|killed by|superseded by) ?(\S+)")
FRAME = re.compile(r" > (.+?)\((?:[^()]*(?:\(.*\))?[^()]*)\) \[0x([0-9a-f]+)\]$")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


def number(token):
    token = token.split("<", 1)[0]
    if token.startswith("0x"):
        return int(token, 16)
    if len(token) > 1 and token[0] == "0":
        return int(token, 8)
    return int(token)


def signed(value):
    """A descriptor, or AT_FDCWD, as a raw register."""
    value &= 0xffffffff
    return value - (1 << 32) if value >> 31 else value


def text(token):
    """Bytes of a string; None: it was no string (NULL, an address)."""
    found = STRING.match(token)
    return bytes.fromhex(found[1].replace("\\x", "")) if found else None


def split(arguments):
    """Top-level arguments.  With -xx there are no commas in strings."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(arguments):
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(arguments[start:at].strip())
            start = at + 1
    found.append(arguments[start:].strip())
    return found


class Call:
    __slots__ = ("tid", "time", "end", "name", "words", "ret", "error", "frames", "by", "hook", "entry", "image", "note")

    def __init__(self, tid, found):
        self.tid = tid
        self.time = int(found[1]) * 10**9 + int(found[2])
        duration = int(found[7]) * 10**9 + int(found[8].ljust(9, "0")) if found[7] else 0
        self.end = self.time + duration
        self.name = found[3]
        self.words = split(found[4])
        self.ret = None if found[5] == "?" else number(found[5])
        self.error = getattr(errno, found[6], 0) if found[6] else 0
        self.frames = []
        self.by = self.hook = self.entry = self.image = self.note = None

    def number(self, index):
        return number(self.words[index])

    def fd(self, index):
        return signed(self.number(index))

    def cwd(self):
        """The current directory, where strace says it (-y)."""
        for word in self.words:
            found = re.match(r"-100<((?:\\x[0-9a-f]{2})*)>", word)
            if found:
                return bytes.fromhex(found[1].replace("\\x", ""))
        return None

    def __str__(self):
        def plain(word):
            return STRING.sub(lambda found: repr(bytes.fromhex(found[1].replace("\\x", "")).decode("utf-8", "backslashreplace")), word)
        stack = " < ".join("%s(%s)" % (os.path.basename(path), "/".join(sorted(names_at(path, offset))[:2])) for path, offset in self.frames[:6])
        return "%d %s(%s) = %s%s  [%s]" % (self.tid, self.name, ", ".join(plain(word) for word in self.words)[:300], self.ret,
                                           " " + errno.errorcode.get(self.error, "?") if self.error else "", stack)


def is_loader(path):
    return os.path.basename(path).startswith("ld-linux")


def is_libc(path):
    return os.path.basename(path) in ("libc.so.6", "libpthread.so.0")


def judge(call, library):
    """Sets by: a rule's name or "hook"; hook: the exported name; entry: the function of libc that the program called."""
    frames = call.frames
    if call.name == "exit_group":  # strace comes too late for its stack
        call.by, call.hook = "hook", "_exit"
        return
    if not frames:
        call.by = "unknown"
        return
    first = frames[0][0]
    if is_loader(first):
        call.by = "loader"
        return
    if first == library:
        call.by = "shim"
        return
    if not is_libc(first):
        call.by = "raw"
        return
    at = 0
    while at < len(frames) and is_libc(frames[at][0]):
        at += 1
    # A return address points behind the call.
    entry = names_at(frames[at - 1][0], frames[at - 1][1] - (at > 1))
    if not entry and at < len(frames) and frames[at][0] != library:
        # An exported function that ends in a jump to a hidden one has no frame: the caller's instruction says whom it called.
        called = callee_at(*frames[at])
        entry = frozenset([called]) if called else entry
    call.entry = entry
    if at < len(frames) and frames[at][0] == library:
        hooks = names_at(library, frames[at][1] - 1)
        if hooks & STREAM_HOOKS:  # what streams read and write is libc's own, also behind these
            call.by = "libc"
        else:
            call.by, call.hook = "hook", sorted(hooks)[0] if hooks else "?"
    elif entry & JUMPS:
        call.by, call.hook = "hook", sorted(entry & JUMPS)[0]
    elif at < len(frames) and is_loader(frames[at][0]):
        call.by = "loader"
    else:
        call.by = "libc"


class Trace:
    def __init__(self, prefix, library):
        self.calls = []     # in the order in which they ended; those that close or copy where they began
        self.endings = {}   # tid -> (kind, word)
        self.first = {}     # tid -> time of its first call
        self.unparsed = []
        real = os.path.realpath(library)
        for path in glob.glob(glob.escape(prefix) + ".*"):
            tid = int(path.rsplit(".", 1)[1])
            call = None
            with open(path, errors="replace") as lines:
                for line in lines:
                    line = line.rstrip("\n")
                    if line.startswith(" > "):
                        found = FRAME.match(line)
                        if call is not None and found and not (call.frames and call.frames[-1] is None):
                            call.frames.append((found[1], int(found[2], 16)))
                        elif call is not None:
                            call.frames.append(None)
                        continue
                    found = CALL.match(line)
                    if found:
                        call = Call(tid, found)
                        self.calls.append(call)
                        continue
                    call = None
                    found = ENDING.match(line)
                    if found:
                        self.endings[tid] = (found[3], found[4])
                    elif "<unfinished" not in line and "--- SIG" not in line and "????" not in line and " ERESTART" not in line:
                        self.unparsed.append(line[:200])
        for call in self.calls:
            call.frames = call.frames[:call.frames.index(None)] if None in call.frames else call.frames
            judge(call, real)
            self.first[call.tid] = min(call.time, self.first.get(call.tid, call.time))
        # A parent waits in clone until its child of posix_spawn has become a program.
        early = ("close", "close_range", "exit_group", "clone", "clone3", "fork", "vfork")
        self.calls.sort(key=lambda call: call.time if call.name in early else call.end)


# ---- what the journal has to hold ----

# Errors behind which the kernel is known to have read the path (record.c): else the record has none.
PATH_READ = {0} | {getattr(errno, name) for name in (
    "ENOENT EACCES EPERM EEXIST ENOTDIR EISDIR ELOOP EROFS ENXIO ENODEV ETXTBSY EBUSY ENOTEMPTY EXDEV EMFILE ENFILE ENOSPC ENAMETOOLONG "
    "ESTALE ENODATA").split()}
SECOND_READ = {0, errno.EEXIST, errno.EXDEV, errno.ENOTEMPTY, errno.EISDIR}
MODE, OWNER, TIMES, ATTRIBUTE, NO_ATTRIBUTE = range(1, 6)
AT_REMOVEDIR = 0x200
S_IFDIR = 0o40000
S_IFSOCK = 0o140000
F_DUPFD, F_DUPFD_CLOEXEC = 0, 1030
MAP_SHARED, MAP_ANONYMOUS, PROT_WRITE = 1, 32, 2
FIXED_FLAGS = {"creat": os.O_WRONLY | os.O_CREAT | os.O_TRUNC}

Silent = collections.namedtuple("Silent", "tid")

# One expected or found record: what is compared at once (key), and what is compared once two were found to be the same event.
Item = collections.namedtuple("Item", "key directory amount call record")


class Image:
    """One program in one process, from its exec (or the fork that copied it) to the next one or its end."""

    def __init__(self, pid, path, began, parent=None):
        self.pid, self.path, self.began, self.parent = pid, path, began, parent
        self.record = None      # START or FORK
        self.exits = []         # EXIT records
        self.ended = None       # the call exit_group
        self.is_copy = parent is not None
        self.is_spawned = False # in the memory of its parent
        self.spawned_by = None  # exported name that made it
        self.table = {}
        self.calls = 0
        self.raw = 0            # calls past libc
        if parent:
            self.table = {fd: dict(entry, reads=0, read=0, writes=0, written=0) for fd, entry in parent.table.items()}


class Result:
    def __init__(self, name):
        self.name = name
        self.calls = 0
        self.matched = 0
        self.rules = collections.Counter()
        self.details = collections.Counter()
        self.families = collections.Counter()
        self.missing, self.surplus, self.wrong = [], [], []
        self.pathless = collections.Counter()
        self.unobserved = collections.Counter()
        self.processes = self.forks = 0
        self.extra = collections.Counter()
        self.status = None

    @property
    def problems(self):
        return (["missing: %s" % call for call in self.missing] + ["surplus: %s" % record for record in self.surplus]
                + ["wrong: %s" % words for words in self.wrong])


def brief(record):
    words = {name: value for name, value in record._asdict().items() if value not in (None, 0) and name not in ("time", "decision", "reason")}
    return " ".join("%s=%s" % (name, errno.errorcode.get(value, value) if name == "error" else value) for name, value in words.items())


class Referee:
    """privileges: set-uid programs get theirs; else strace stops for the calls alone that it is asked for, by a filter that takes
    them away (prctl(2), PR_SET_NO_NEW_PRIVS)."""

    def __init__(self, session, library=LIBRARY, privileges=False):
        self.session, self.library, self.privileges = session, os.path.realpath(library), privileges

    def wrap(self, options=()):
        """Words that go in front of a command: both witnesses.  Environment: environment()."""
        self.directory = tempfile.mkdtemp(prefix="referee.", dir=self.session.directory)
        os.mkdir(os.path.join(self.directory, "run"), 0o700)
        calls = NAMES + DESCRIPTORS + PROGRAMS + TABLE + DATA
        return ["strace", "-ff", "-k", "-y", "-q", "-xx", "-s", "5000", "-X", "raw", "--absolute-timestamps=unix,ns", "--syscall-times=ns",
                *([] if self.privileges else ["--seccomp-bpf"]), "-e", "signal=none", "-e", "trace=" + ",".join("?" + call for call in calls),
                "-e", "raw=" + ",".join("?" + call for call in RAW), "-o", os.path.join(self.directory, "trace"),
                SEEN, "run", "--quiet", "--session", "referee", "--mode", "observe", *options, "--"]

    def environment(self):
        return {"XDG_STATE_HOME": os.path.join(self.directory, "state"), "XDG_RUNTIME_DIR": os.path.join(self.directory, "run")}

    def result(self, name):
        self.journal_path = os.path.join(self.directory, "state", "seen", "referee", "journal")
        if not os.path.exists(self.journal_path):
            raise AssertionError("no journal")
        result = Comparison(name, Trace(os.path.join(self.directory, "trace"), self.library), Journal(self.journal_path), self.session.workspace).result
        if not os.environ.get("SEEN_KEEP"):
            for path in glob.glob(glob.escape(os.path.join(self.directory, "trace")) + ".*"):
                os.unlink(path)
        return result

    def run(self, name, command, environment=None, options=(), seconds=300):
        words = [*self.wrap(options), *command]
        done = subprocess.run(words, cwd=self.session.workspace, env={**self.session.environment, **self.environment(), **(environment or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
        self.output = done.stdout, done.stderr
        result = self.result(name)
        result.status = done.returncode
        return result


class Comparison:
    def __init__(self, name, trace, journal, workspace):
        self.result = Result(name)
        self.trace, self.journal, self.workspace = trace, journal, workspace
        self.expected = collections.defaultdict(list)  # tid -> Items
        self.updated = set()                           # streams that were read and written
        self.streamed = collections.Counter()  # bytes that libc wrote by itself: by thread, descriptor, path
        self.planned = []                              # (path, flags, error) that children of posix_spawn opened
        self.images = {}                               # tid -> Image now
        self.all_images = []
        self.spawning = {}                             # tid of a spawn child -> Item index of its EXEC
        self.starts = collections.defaultdict(list)
        for record in journal.records:
            if record.op in ("START", "FORK"):
                self.starts[record.pid].append(record)
        self.by_number = {record.number: record for record in journal.records}
        self.exits = collections.defaultdict(list)
        for record in journal.records:
            if record.op == "EXIT":
                self.exits[record.process].append(record)
        if journal.undone:
            self.result.wrong.append("%d records undone" % journal.undone)
        if journal.lost:
            self.result.wrong.append("%d records lost" % journal.lost)
        for line in trace.unparsed:
            self.result.wrong.append("a line of the trace was not understood: " + line)
        self.children()
        self.walk()
        self.match()
        self.ends()

    # -- who is who --

    def children(self):
        """What made each task."""
        self.made = {}
        stacks = {}
        for call in self.trace.calls:
            if call.name == "mmap":
                stacks[call.tid] = call
            if call.name == "clone3" and call.by == "libc" and not call.entry and call.tid in stacks and len(call.frames) == 1:
                # clone3 cannot be unwound: __spawnix has just made the child's stack
                call.by, call.hook, call.entry = stacks[call.tid].by, stacks[call.tid].hook, stacks[call.tid].entry
            if call.name in ("clone", "clone3", "fork", "vfork") and call.ret and call.ret > 0:
                flags = 0x4100 if call.name == "vfork" else 0
                found = re.search(r"flags=(0x[0-9a-f]+|\d+)", ", ".join(call.words))
                if found:
                    flags = number(found[1])
                self.made[call.ret] = (call, flags)

    def new_image(self, tid, path, began, parent=None):
        image = Image(tid, path, began, parent)
        self.all_images.append(image)
        return image

    def image_of(self, call):
        tid = call.tid
        if tid in self.images:
            return self.images[tid]
        if tid not in self.made:  # the root: seen
            self.images[tid] = self.new_image(tid, SEEN.encode(), 0)
            return self.images[tid]
        maker, flags = self.made[tid]
        parent = self.image_of(maker)
        if flags & 0x10000:  # CLONE_THREAD
            self.images[tid] = parent
            return parent
        began = maker.time
        image = self.new_image(tid, parent.path, began, parent)
        if flags & 0x100:  # CLONE_VM
            image.is_spawned = True
            image.spawned_by = maker.hook if maker.by == "hook" else "?"
            image.record = parent.record
        else:
            # its own exec may come before another process's START: ask by time
            image.record = self.next_record(image, "FORK", self.next_exec(tid, began))
        self.images[tid] = image
        return image

    def next_exec(self, tid, after):
        if not hasattr(self, "execs"):
            self.execs = collections.defaultdict(list)
            for call in self.trace.calls:
                if call.name in ("execve", "execveat") and call.ret == 0:
                    self.execs[call.tid].append(call.time)
        times = [time for time in self.execs[tid] if time > after]
        return times[0] if times else None

    def next_record(self, image, op, until):
        for record in self.starts[image.pid]:
            if record.op == op and record.time >= image.began and (until is None or record.time < until):
                self.starts[image.pid].remove(record)
                return record
        return None

    # -- what is expected --

    def walk(self):
        for call in self.trace.calls:
            image = self.image_of(call)
            call.image = image
            image.calls += 1
            is_exec = call.name in ("execve", "execveat")
            if call.name == "exit_group":
                image.ended = call
            self.add_call(call, image)
            if call.ret in self.made and self.made[call.ret][0] is call and call.ret not in self.images:
                self.image_of(Silent(call.ret))  # now: the copy has the descriptors of this moment
            if is_exec and call.ret == 0:
                path = text(call.words[0 if call.name == "execve" else 1])
                path = image.path if path == b"/proc/self/exe" else path
                new = self.new_image(call.tid, path, call.time)
                new.record = self.next_record(new, "START", self.next_exec(call.tid, call.time))
                new.inherits = {fd: image.table[fd] for fd in (0, 1, 2) if fd in image.table and image.record}
                new.made_by = image
                new.exec_call = call
                self.images[call.tid] = new
                if new.record:
                    new.table = {fd: blank(entry["path"], entry["directory"], entry["dirfd"]) for fd, entry in new.inherits.items()}

    def exclude(self, call, rule, detail=None):
        if call.name not in COUNTED:
            return
        self.result.rules[rule] += 1
        if detail:
            self.result.details[rule, detail] += 1

    def expect(self, call, key, amount=None, tid=None, directory=None):
        self.expected[tid or call.tid].append(Item(key, directory, amount, call, None))

    def add_call(self, call, image):
        result = self.result
        if call.name in COUNTED:
            result.calls += 1
            result.families[FAMILY[call.name]] += 1
        if not image.record:
            own = os.path.realpath(os.fsdecode(image.path)) == os.path.realpath(SEEN)
            self.exclude(call, "seen" if own else "unobserved", None if own else os.fsdecode(image.path))
            return
        if image.is_spawned and image.spawned_by != "vfork":
            self.spawned(call, image)
            return
        if call.by == "unknown" and call.ret is None:
            return  # cut short by the end of the process
        if call.by == "unknown":
            result.wrong.append("no stack: %s" % call)
            return
        if call.by in ("loader", "shim", "raw"):
            detail = None
            if call.by == "raw":
                image.raw += 1
                detail = os.path.basename(call.frames[0][0])
            self.exclude(call, call.by, detail)
            if call.name in TABLE:
                self.hidden_close(call, image)
            return
        if call.time < image.record.time and not image.is_spawned:
            self.exclude(call, "early", "%s of %s" % (call.name, self.innermost(call)))
            return
        exits = self.exits[image.record.number]
        if exits and call.time > exits[0].time and not image.is_spawned and call.name != "exit_group" and call.by == "hook":
            self.exclude(call, "late", "%s of %s" % (call.name, self.innermost(call)))
            return
        if call.by == "libc":
            self.libc(call, image)
            return
        self.hooked(call, image)

    @staticmethod
    def innermost(call):
        for path, _ in call.frames:
            if not is_libc(path) and not is_loader(path) and not path.endswith("/libseen.so"):
                return os.path.basename(path)
        return "?"

    def hidden_close(self, call, image):
        """A descriptor that was closed, or replaced, past every exported name is no longer what it was."""
        if image.is_spawned:
            return
        if call.name == "close" and not call.error:
            image.table.pop(call.fd(0), None)

    def libc(self, call, image):
        entry = call.entry
        if call.name in ("clone", "clone3", "fork", "vfork", "exit_group"):
            return
        if call.name in DATA + TABLE:
            entry_of = image.table.get(call.fd(0))
            if call.name in READS and entry_of is not None:
                entry_of["stream_reads"] += 1
                entry_of["stream_read"] += max(call.ret or 0, 0) if not call.error else 0
            if call.name in WRITES and entry_of is not None:
                entry_of["stream_writes"] += 1
                entry_of["stream_written"] += max(call.ret or 0, 0) if not call.error else 0
                self.streamed[call.tid, call.fd(0), entry_of["path"]] += max(call.ret or 0, 0) if not call.error else 0
            self.hidden_close(call, image)
            self.exclude(call, "stream")
            return
        if call.name in ("execve", "execveat"):
            self.exclude(call, "libc", "exec")
            return
        known = sorted(entry & set(LIBC_OWN))
        self.exclude(call, "libc", known[0] if known else "/".join(sorted(entry)) or "?")
        if not known:
            self.result.wrong.append("a function of libc that is not known to open files: %s" % call)

    def spawned(self, call, image):
        """In the child of posix_spawn, system or popen: what it opens was planned; its exec is its parent's record."""
        self.exclude(call, "spawned", image.spawned_by)
        if call.name in ("open", "openat"):
            at = 0 if call.name == "open" else 1
            self.planned.append((image.record.number, text(call.words[at]), call.number(at + 1), call))
        if call.name in ("execve", "execveat"):
            index = self.spawning.get(image.pid)
            if index is not None:
                tid, at = index
                item = self.expected[tid][at]
                path = text(call.words[0])
                self.expected[tid][at] = item._replace(key=("EXEC", os.path.basename(path), 0, arguments(call.words[1])), call=call)
                # Its parent waits, and reports the failure: once, where PATH was searched.
                items = self.expected[tid]
                del items[at + 1:]
                if call.error:
                    items.append(Item(("EXEC_FAILED", 0 if image.spawned_by in SEARCHERS else call.error), None, None, call, None))

    def cwd(self, call, image, path, dirfd=AT_FDCWD):
        if path is None or path.startswith(b"/") or dirfd != AT_FDCWD:
            return None
        return call.cwd()

    def hooked(self, call, image):
        name, hook = call.name, call.hook
        if hook in PARTS and name not in ("fallocate",):
            self.exclude(call, "part", hook)
            return
        if hook in SILENT:
            self.exclude(call, "silent", hook)
            return
        if name in ("clone", "clone3", "fork", "vfork"):
            if hook in ("posix_spawn", "posix_spawnp") and call.ret and call.ret > 0:
                self.spawning[call.ret] = (call.tid, len(self.expected[call.tid]))
                self.expect(call, ("EXEC", None, 0, None))
            return
        if name in ("execve", "execveat"):
            self.executed(call, image)
            return
        if name == "exit_group":
            self.result.extra["streams open at exit, not told"] += sum(
                bool(entry["stream_reads"] and not entry["reads"] or entry["stream_writes"] and not entry["writes"]) for entry in image.table.values())
            if not image.is_spawned and (self.exits[image.record.number] or not image.raw):
                self.closing_all(call, image, 0, 1 << 32)
            return
        if name in DATA or name in TABLE or name in ("fallocate",):
            self.data_call(call, image)
            return
        if name in DESCRIPTORS:
            self.descriptor_call(call, image)
            return
        self.named(call, image)

    def executed(self, call, image):
        at = 0 if call.name == "execve" else 1
        path = text(call.words[at])
        argv = arguments(call.words[at + 1])
        if path is None or path == b"" and call.error == errno.EFAULT:
            self.exclude(call, "silent", "exec of an address that is none")
            return
        base = os.path.basename(path)
        items = self.expected[call.tid]
        if call.hook in SEARCHERS and len(items) >= 2 and items[-1].key[0] == "EXEC_FAILED" and items[-2].key[:2] == ("EXEC", base) \
                and items[-2].call.hook in SEARCHERS and b"/" in path:
            items.pop()  # the next place of PATH
            self.exclude(call, "part", call.hook)
        else:
            self.expect(call, ("EXEC", base if call.name == "execve" and call.hook != "fexecve" else b"fexecve" if call.hook == "fexecve" else base,
                               call.tid, argv))
        if call.error:
            # one search ends with EACCES if that was among its errors (execvp(3)): compared as "an error"
            self.expect(call, ("EXEC_FAILED", 0 if call.hook in SEARCHERS else call.error))

    # names

    def path(self, call, word):
        path = text(word)
        if call.error not in PATH_READ:
            self.result.pathless[call.name, errno.errorcode.get(call.error, str(call.error))] += 1
            return None
        return path

    def named(self, call, image):
        name, words, hook, error = call.name, call.words, call.hook, call.error
        if name in ("open", "openat", "openat2", "creat", "open_by_handle_at"):
            self.opened(call, image)
            return
        op, flags, amount, other, fd, dirfd = None, 0, 0, None, -1, AT_FDCWD
        if name in ("rename", "link"):
            path, other = self.path(call, words[0]), text(words[1])
            op, fd = name.upper(), AT_FDCWD
        elif name in ("renameat", "renameat2", "linkat"):
            dirfd, path, fd, other = call.fd(0), self.path(call, words[1]), call.fd(2), text(words[3])
            op = "LINK" if name == "linkat" else "RENAME"
            flags = call.number(4) if len(words) > 4 else 0
        elif name in ("symlink", "symlinkat"):
            op, fd = "SYMLINK", AT_FDCWD
            if name == "symlink":
                other, path = text(words[0]), text(words[1])
            else:
                other, dirfd, path = text(words[0]), call.fd(1), text(words[2])
            if error not in SECOND_READ:
                path = None
            if error not in PATH_READ:
                other = None
        elif name in ("unlink", "rmdir"):
            path = self.path(call, words[0])
            op, flags = "DELETE", AT_REMOVEDIR if name == "rmdir" else 0
            if hook == "remove":
                flags = 0
                items = self.expected[call.tid]
                if name == "rmdir" and items and items[-1].call.hook == "remove" and items[-1].key[1] == errno.EISDIR:
                    items.pop()
                    self.exclude(call, "part", hook)
        elif name == "unlinkat":
            dirfd, path = call.fd(0), self.path(call, words[1])
            op, flags = "DELETE", call.number(2) & AT_REMOVEDIR
        elif name in ("mkdir", "mkdirat"):
            at = 0 if name == "mkdir" else 1
            dirfd = call.fd(0) if at else AT_FDCWD
            path = self.path(call, words[at])
            op, flags = "CREATE", S_IFDIR | call.number(at + 1)
            items = self.expected[call.tid]
            if hook == "mkdtemp" and items and items[-1].call.hook == hook and items[-1].key[1] == errno.EEXIST:
                items.pop()
                self.exclude(call, "part", hook)
        elif name in ("mknod", "mknodat"):
            at = 0 if name == "mknod" else 1
            dirfd = call.fd(0) if at else AT_FDCWD
            path = self.path(call, words[at])
            op, flags = "CREATE", call.number(at + 1)
        elif name == "bind":
            socket = re.search(r"sun_path=(\"[^\"]+\")", words[1])
            if not socket:
                self.exclude(call, "silent", "a socket without a file")
                return
            path, op, flags = self.path(call, socket[1]), "CREATE", S_IFSOCK | 0o777
        elif name == "truncate":
            path, op, amount = self.path(call, words[0]), "TRUNCATE", call.number(1)
        elif name == "chdir":
            path, op = self.path(call, words[0]), "CHDIR"
        else:
            op = "METADATA"
            if name in ("chmod", "chown", "lchown", "utime", "utimes", "setxattr", "lsetxattr", "removexattr", "lremovexattr"):
                at = 0
            else:
                at, dirfd = 1, call.fd(0)
            if at and text(words[1]) is None and words[1] in ("NULL", "0"):
                self.described(call, image, "METADATA", dirfd, TIMES, 0)
                return
            path = self.path(call, words[at])
            if "chmod" in name:
                flags, amount = MODE, call.number(at + 1)
                link = re.fullmatch(rb"/proc/self/fd/(\d+)", path or b"")
                items = self.expected[call.tid]
                if link and hook in ("fchmodat", "lchmod"):
                    self.exclude(call, "part", hook)
                    return
            elif "chown" in name:
                flags = OWNER
                amount = (call.number(at + 1) & 0xffffffff) << 32 | (call.number(at + 2) & 0xffffffff)
            elif "time" in name:
                flags = TIMES
            else:
                flags = NO_ATTRIBUTE if "remove" in name else ATTRIBUTE
        if op in ("RENAME", "LINK") and error not in SECOND_READ:
            other = None
        if path is None:
            dirfd = AT_FDCWD
        directory = self.cwd(call, image, path, dirfd)
        self.expect(call, (op, error, path, dirfd, other, fd, flags, amount), directory=directory)

    def opened(self, call, image):
        name, words, hook = call.name, call.words, call.hook
        fd = call.ret if not call.error else -1
        if name == "open_by_handle_at":
            self.expect(call, ("OPEN", call.error, None, AT_FDCWD, None, fd, call.number(2), 0))
            return
        if name in ("open", "creat"):
            dirfd, word, flags = AT_FDCWD, words[0], words[1]
        else:
            dirfd, word, flags = call.fd(0), words[1], words[2]
        path = self.path(call, word)
        if path is None:
            dirfd = AT_FDCWD
        if name == "openat2":
            flags = number(re.search(r"flags=(\w+)", flags)[1]) if not call.error else 0
        elif name == "creat":
            flags = FIXED_FLAGS["creat"]
        else:
            flags = number(flags)
        if hook in ("fchmodat", "lchmod"):  # by O_PATH and /proc/self/fd: the mode is an argument of the next call
            self.expect(call, ("METADATA", call.error, path, dirfd, None, -1, MODE, None))
            return
        if hook in LISTERS:
            self.expect(call, ("LIST", call.error, path, dirfd, None, fd if hook == "opendir" else -1, 0, 0), directory=self.cwd(call, image, path, dirfd))
            if hook == "opendir" and 0 <= fd < 1024 and not image.is_spawned:
                image.table[fd] = blank(path, None, dirfd)
            return
        if hook in STREAM_OPENS:
            if re.fullmatch(rb"/proc/self/fd/\d+", path or b"") and hook.startswith("freopen"):
                self.exclude(call, "silent", "freopen(NULL)")
                return
        items = self.expected[call.tid]
        if hook in MKSTEMPS and items and items[-1].call.hook == hook and items[-1].key[1] == errno.EEXIST:
            items.pop()
            self.exclude(call, "part", hook)
        directory = self.cwd(call, image, path, dirfd)
        self.expect(call, ("OPEN", call.error, path, dirfd, None, fd, flags, 0), directory=directory)
        if 0 <= fd < 1024:
            image.table[fd] = blank(path, directory, dirfd)
            if hook in STREAM_OPENS:
                image.table[fd]["stream"] = True

    # descriptors

    def described(self, call, image, op, fd, flags, amount):
        self.expect(call, (op, call.error, *self.about(image, fd), None, fd, flags, amount))

    def about(self, image, fd):
        entry = (image.parent if image.is_spawned else image).table.get(fd)
        return (entry["path"], entry["dirfd"]) if entry else (None, AT_FDCWD)

    def descriptor_call(self, call, image):
        name = call.name
        fd = call.fd(0)
        if name == "ftruncate":
            self.described(call, image, "TRUNCATE", fd, 0, call.number(1))
        elif name == "fchmod":
            self.described(call, image, "METADATA", fd, MODE, call.number(1) & 0xffffffff)
        elif name == "fchown":
            self.described(call, image, "METADATA", fd, OWNER, (call.number(1) & 0xffffffff) << 32 | (call.number(2) & 0xffffffff))
        elif name == "fchdir":
            self.described(call, image, "CHDIR", fd, 0, 0)
        elif name == "fsetxattr":
            self.described(call, image, "METADATA", fd, ATTRIBUTE, 0)
        elif name == "fremovexattr":
            self.described(call, image, "METADATA", fd, NO_ATTRIBUTE, 0)

    def data_call(self, call, image):
        name, hook = call.name, call.hook
        if name == "fallocate":
            fd = call.fd(0)
            if call.error:
                self.exclude(call, "silent", "fallocate that failed")
            else:
                self.expect(call, ("TRUNCATE", 0, *self.about(image, fd), None, fd, 1, (call.number(2) + call.number(3)) & (1 << 64) - 1))
            return
        table = image.table
        if image.is_spawned:
            # Not summed.  But the program that it becomes has what it made of its descriptors 0, 1 and 2.
            if name in ("close", "close_range"):
                for fd in range(call.number(0), (call.number(0) if name == "close" else min(call.number(1), 2)) + 1):
                    table.pop(fd, None)
            elif name in ("dup", "dup2", "dup3", "fcntl") and not call.error and (name != "fcntl" or call.number(1) in (F_DUPFD, F_DUPFD_CLOEXEC)):
                if call.fd(0) in table:
                    table[call.ret] = table[call.fd(0)]
                elif call.fd(0) != call.ret:
                    table.pop(call.ret, None)
            self.exclude(call, "silent", "bytes and descriptors of a child of vfork")
        elif name in ("close", "close_range"):
            first = call.number(0) & 0xffffffff
            if hook in ("fclose", "_IO_fclose"):
                self.stream_closed(call, image, first)
            self.closing_all(call, image, first, first if name == "close" else call.number(1) & 0xffffffff)
            self.counts(call)
        elif name in ("dup", "dup2", "dup3", "fcntl"):
            if not call.error and (name != "fcntl" or call.number(1) in (F_DUPFD, F_DUPFD_CLOEXEC)):
                fd, copy = call.fd(0), call.ret
                if fd != copy:
                    entry = table.get(fd)
                    self.closing_all(call, image, copy, copy)
                    if entry and copy < 1024:
                        table[copy] = blank(entry["path"], entry["directory"], entry["dirfd"])
            self.counts(call)
        elif name == "mmap":
            fd = call.fd(4)
            protection, flags = call.number(2), call.number(3)
            entry = table.get(fd)
            if call.error or flags & MAP_ANONYMOUS or entry is None:
                self.counts(call)
                return
            state = "shared" if protection & PROT_WRITE and flags & MAP_SHARED else "mapped"
            if not entry[state]:
                entry[state] = True
                self.expect(call, ("MAP", 0, entry["path"], entry["dirfd"], None, fd, protection | (0x100 if flags & MAP_SHARED else 0), call.number(1)))
            else:
                self.counts(call)
        elif hook in ("fclose", "_IO_fclose", "freopen", "freopen64"):
            self.stream_call(call, image)
        else:
            count = call.ret if not call.error else -1
            expected = len(self.expected[call.tid])
            if name in READS:
                self.moved(call, image, call.fd(0), count, "READ")
            elif name in WRITES:
                self.moved(call, image, call.fd(0), count, "WRITE")
            elif name in ("copy_file_range", "splice"):
                self.moved(call, image, call.fd(0), count, "READ")
                self.moved(call, image, call.fd(2), count, "WRITE")
            elif name == "sendfile":
                self.moved(call, image, call.fd(1), count, "READ")
                self.moved(call, image, call.fd(0), count, "WRITE")
            elif name == "tee":
                self.moved(call, image, call.fd(0), count, "READ")
                self.moved(call, image, call.fd(1), count, "WRITE")
            elif name == "vmsplice":
                self.moved(call, image, call.fd(0), count, "WRITE")
            if len(self.expected[call.tid]) == expected:
                self.counts(call)

    def counts(self, call):
        """A call that is summed, or about a descriptor that is not followed: no record of its own."""
        self.exclude(call, "summed")

    def stream_call(self, call, image):
        entry = image.table.get(call.fd(0))
        if entry is not None and call.name in WRITES:
            entry["stream_writes"] += 1
            entry["stream_written"] += 0 if call.error else call.ret
        if entry is not None and call.name in READS:
            entry["stream_reads"] += 1
            entry["stream_read"] += 0 if call.error else call.ret
        self.exclude(call, "stream")

    def stream_closed(self, call, image, fd):
        entry = image.table.get(fd)
        if not entry:
            return
        if entry["stream_reads"] and entry["stream_writes"]:
            self.updated.add((call.tid, fd, entry["path"]))  # only its last action is known
            self.result.extra["update streams"] += 1
            return
        for op, calls, bytes_seen, own in (("READ", "stream_reads", "stream_read", "reads"), ("WRITE", "stream_writes", "stream_written", "writes")):
            if entry[calls] and not entry[own]:
                self.expect(call, (op, "at least", entry["path"], entry["dirfd"], None, fd, 0, None), amount=entry[bytes_seen])

    def moved(self, call, image, fd, count, op):
        entry = image.table.get(fd)
        if entry is None or count is None or count <= 0:
            return
        calls, total = ("reads", "read") if op == "READ" else ("writes", "written")
        entry[calls] += 1
        entry[total] += count
        if entry[calls] == 1:
            self.expect(call, (op, 0, entry["path"], entry["dirfd"], None, fd, 0, count))

    def closing_all(self, call, image, first, last):
        for fd in sorted(fd for fd in image.table if first <= fd <= last):
            entry = image.table.pop(fd)
            for op, calls, total in (("READ_TOTAL", "reads", "read"), ("WRITE_TOTAL", "writes", "written")):
                if entry[calls] > 1:
                    self.expect(call, (op, entry[calls], entry["path"], entry["dirfd"], None, fd, 0, entry[total]))

    # -- the journal's side --

    def found_item(self, record):
        op = record.op
        if op == "EXEC":
            return Item((op, os.path.basename(record.path or b""), record.count, record.other), record.directory, None, None, record)
        if op == "EXEC_FAILED":
            return Item((op, record.error), None, None, None, record)
        path, dirfd, amount, fd = record.path, record.dirfd, record.amount, record.fd
        error = record.error
        if op in ("READ", "WRITE") and record.marks & AT_LEAST:
            return Item((op, "at least", path, dirfd, None, fd, 0, None), None, amount, None, record)
        if op in ("READ_TOTAL", "WRITE_TOTAL"):
            error = record.count
        return Item((op, error, path, dirfd, record.other, fd, record.flags, amount), record.directory, None, None, record)

    def match(self):
        result = self.result
        found = collections.defaultdict(list)
        planned = collections.Counter()
        for record in self.journal.records:
            if record.op in NO_CALLS:
                continue
            if not record.process and record.op in ("EXEC", "EXEC_FAILED"):
                result.extra["by seen run"] += 1
                continue
            if record.marks & AT_LEAST and (record.tid, record.fd, record.path) in self.updated:
                continue
            # The file's size tells what a shell wrote by libc's streams.
            streamed = (record.tid, record.fd, record.path)
            if record.op == "WRITE" and not record.marks & AT_LEAST and self.streamed[streamed] and self.streamed[streamed] >= record.amount:
                self.streamed[streamed] -= record.amount
                result.extra["told by a file's size"] += 1
                continue
            # So it tells that a file grew while a program that the shell had started had it, too: not who wrote.
            if record.op == "WRITE" and record.marks & AT_LEAST and not record.amount and \
                    not any(item.key[:3] == ("WRITE", "at least", record.path) for item in self.expected[record.tid]):
                result.extra["told by a file's size"] += 1
                continue
            if record.marks & PLANNED:
                planned[record.process, record.path, record.flags] += 1
                continue
            if record.op == "LIST" and (record.marks & PATTERN or record.fd == -1 and not record.error):
                if record.marks & PATTERN or not any(item.key[:3] == ("LIST", 0, record.path) for item in self.expected[record.tid]):
                    result.extra["walks"] += 1
                    continue
            found[record.tid].append(self.found_item(record))
        for process, path, flags, call in self.planned:
            if planned[process, path, flags] > 0:
                planned[process, path, flags] -= 1
                result.extra["planned and done"] += 1
            else:
                result.missing.append(call)
        result.extra["planned, not done"] += sum(planned.values())
        for tid in sorted(set(self.expected) | set(found)):
            self.align(self.expected[tid], found[tid])

    def align(self, expected, found):
        result = self.result
        a, b = [self.loose(item) for item in expected], [self.loose(item) for item in found]
        if a == b:
            pairs, missing, surplus = list(zip(expected, found)), [], []
        else:
            pairs, missing, surplus = [], [], []
            for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
                if kind == "equal":
                    pairs += zip(expected[a0:a1], found[b0:b1])
                else:
                    missing += expected[a0:a1]
                    surplus += found[b0:b1]
        for want in list(missing):
            for have in surplus:
                if self.loose(want) == self.loose(have):
                    result.wrong.append("out of order: %s" % brief(have.record))
                    missing.remove(want)
                    surplus.remove(have)
                    break
        result.missing += [item.call for item in missing]
        result.surplus += [brief(item.record) for item in surplus]
        for want, have in pairs:
            result.matched += 1
            self.check(want, have)

    @staticmethod
    def loose(item):
        key = item.key
        if key[0] == "EXEC":
            return key[:2]
        if key[0] == "EXEC_FAILED":
            return key[:1]
        if key[0] == "METADATA" and key[6] == MODE:
            return key[:7]
        return key

    def resolve(self, path, directory, reference, level=0):
        """A name as the journal lets a reader make it absolute; None: it does not."""
        if path is None or level > 40:
            return None
        if path.startswith(b"/"):
            return path
        if directory is None and reference in self.by_number:
            opened = self.by_number[reference]
            if opened.op not in ("OPEN", "LIST"):
                self.result.wrong.append("record %d, a directory, is no OPEN or LIST" % reference)
                return None
            directory = self.resolve(opened.path, opened.directory, opened.directory_record, level + 1)
        return directory + b"/" + path if directory else None

    def check_directory(self, call, dirfd, path, reference):
        """A directory by descriptor: strace says which it is (-y)."""
        if dirfd == AT_FDCWD or path is None or path.startswith(b"/"):
            return
        found = None
        for word in call.words:
            found = found or re.match(r"%d<((?:\\x[0-9a-f]{2})*)>" % dirfd, word)
        resolved = self.resolve(b".", None, reference)
        if resolved is None:
            self.result.extra["directory of a descriptor not recorded"] += 1
        elif found:
            self.result.extra["directory of a descriptor recorded"] += 1
            real = bytes.fromhex(found[1].replace("\\x", ""))
            if os.path.normpath(resolved) != real and os.path.realpath(resolved) != os.path.realpath(real):
                self.result.wrong.append("directory %r, not %r: %s" % (resolved, real, call))

    def check(self, want, have):
        wrong = self.result.wrong
        record = have.record
        if want.call is not None and record.op not in ("EXEC", "EXEC_FAILED", "READ", "WRITE", "READ_TOTAL", "WRITE_TOTAL", "MAP") and \
                want.call.name not in DESCRIPTORS:
            self.check_directory(want.call, record.dirfd, record.path, record.directory_record)
            if record.op in ("RENAME", "LINK") and record.other and not record.other.startswith(b"/"):
                if record.fd == AT_FDCWD:
                    if self.journal.text(record.other_directory_record) != (want.call.cwd() or self.journal.text(record.other_directory_record)):
                        wrong.append("directory of the new name %r: %s" % (self.journal.text(record.other_directory_record), want.call))
                else:
                    self.check_directory(want.call, record.fd, record.other, record.other_directory_record)
        if want.directory is not None and want.directory != have.directory:
            wrong.append("directory %r, not %r: %s" % (have.directory, want.directory, want.call))
        if want.key[0] == "EXEC" and want.key[1] is not None:
            if want.key[3] is not None and want.key[3][:4000] != (have.key[3] or b"")[:4000]:
                wrong.append("arguments %r: %s" % (have.key[3], want.call))
            if want.key[2] != have.key[2]:
                wrong.append("exec's pid %r: %s" % (have.key[2], want.call))
            path = text(want.call.words[0 if want.call.name == "execve" else 1])
            if record.path != path and not (path or b"").endswith(b"/" + (record.path or b"?")) and want.call.hook != "fexecve":
                wrong.append("exec's path %r: %s" % (record.path, want.call))
        if want.key[0] == "EXEC_FAILED" and want.key[1] and want.key[1] != have.key[1]:
            wrong.append("error %d: %s" % (have.key[1], want.call))
        if want.key[0] == "METADATA" and want.key[6] == MODE and want.key[7] is not None and want.key[7] != have.key[7]:
            wrong.append("mode %o: %s" % (have.key[7], want.call))
        if want.amount is not None and have.amount > want.amount:
            wrong.append("%d bytes or more, strace saw %d: %s" % (have.amount, want.amount, want.call))

    # -- processes --

    def ends(self):
        result = self.result
        for pid, records in self.starts.items():
            for record in records:
                result.surplus.append(brief(record))
        unobserved = [record for record in self.journal.records if record.op == "UNOBSERVED"]
        for image in self.all_images:
            path = os.path.join(self.workspace, os.fsdecode(image.path))
            if image.is_spawned:
                continue
            if image.record:
                result.processes += not image.is_copy
                result.forks += image.is_copy
                self.check_last(image)
                continue
            if os.path.realpath(path) == os.path.realpath(SEEN):
                continue
            if image.is_copy:
                parent = image.parent
                if parent.record:
                    result.wrong.append("a copy without FORK: pid %d of %s, made by %s" % (image.pid, path, self.made[image.pid][0]))
                continue
            result.unobserved[path] += 1
            if is_loadable(path):
                result.wrong.append("a program that could load the library has no START: pid %d %s" % (image.pid, path))
            elif image.made_by.record and not any(record.count == image.pid or (record.path or b"").endswith(os.path.basename(image.path))
                                                  for record in unobserved):
                result.wrong.append("a program without START has no UNOBSERVED: pid %d %s" % (image.pid, path))

    def check_last(self, image):
        exits = self.exits.pop(image.record.number, [])
        call = image.ended
        kind, word = self.trace.endings.get(image.pid, (None, None))
        what = "pid %d %s" % (image.pid, os.fsdecode(image.path))
        if self.next_exec(image.pid, image.record.time) and (call is None or call.time < image.began):
            call = None
        if len(exits) > 1:
            self.result.wrong.append("%d EXIT records: %s" % (len(exits), what))
        if call is None:
            if exits:
                self.result.wrong.append("EXIT of a process that did not exit: %s" % what)
            return
        if not exits and image.raw:  # how it left cannot be seen: strace has no stack of exit_group
            self.result.extra["exits of programs that call the kernel past libc"] += 1
        elif not exits:
            self.result.missing.append(call)
            self.result.wrong.append("no EXIT: %s, record %d" % (what, image.record.number))
        elif exits[0].amount != call.number(0) & 0xff:
            self.result.wrong.append("EXIT with status %d: %s" % (exits[0].amount, call))
        if exits:
            self.result.extra["exits"] += 1


def blank(path, directory, dirfd):
    return {"path": path, "directory": directory, "dirfd": dirfd, "reads": 0, "read": 0, "writes": 0, "written": 0, "mapped": False, "shared": False,
            "stream": False, "stream_reads": 0, "stream_read": 0, "stream_writes": 0, "stream_written": 0}


def arguments(word):
    """The words of an exec, each ended by NUL."""
    if not word.startswith("["):
        return None
    return b"".join((text(part) or b"") + b"\0" for part in split(word[1:-1]) if part) or b""


def is_loadable(path, level=0):
    """Would the loader take LD_PRELOAD for it?"""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
        stat = os.stat(path)
        if stat.st_mode & 0o4000 and stat.st_uid != os.getuid() or stat.st_mode & 0o2000 and stat.st_gid != os.getgid():
            return False
    except OSError:
        return False
    if head[:2] == b"#!" and level < 4:
        return is_loadable(os.fsdecode(head[2:].split(b"\n")[0].split()[0]), level + 1)
    return head[:5] == b"\x7fELF\x02" and elf(path).interpreter and b"/ld-musl" not in head


FAMILY = {}
for family, names in (("opens", ["open", "openat", "openat2", "creat", "open_by_handle_at"]), ("names", NAMES), ("descriptors", DESCRIPTORS),
                      ("programs", ["execve", "execveat"]), ("bytes", DATA), ("table", TABLE)):
    for name_of in names:
        FAMILY.setdefault(name_of, family)
COUNTED = set(FAMILY)
COLUMNS = ["loader", "shim", "libc", "stream", "raw", "unobserved", "early", "late", "spawned", "part", "silent", "summed"]


def table(results):
    rows = [["program", "calls", "recorded", *COLUMNS, "missing", "surplus", "wrong", "coverage"]]
    for result in results:
        due = result.matched + len(result.missing)
        rows.append([result.name, result.calls - result.rules["seen"], result.matched, *(result.rules[rule] for rule in COLUMNS), len(result.missing), len(result.surplus),
                     len(result.wrong), "%.2f%%" % (100 * result.matched / due if due else 100)])
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(str(word).ljust(width) if at == 0 else str(word).rjust(width) for at, (word, width) in enumerate(zip(row, widths)))
                     for row in rows)

"""Calls libc's functions that name files, by their own names, on the paths given: one JSON line with what each returned.

Arguments: an access as a rule calls it; directories with `file`, `full/`, `empty/` and `program`, which ends at once.  It undoes the effect of a call
where it could.  Each entry of LIBC_CALLS is (access, function of a directory).

With `all` for the access: each call of each access; then a line with the names of the functions and, by number, of the system calls that
were called: test_rule_calls.py holds them against the tables of shim/.
"""

import ctypes
import errno
import json
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
LIBC_CALLS = {}
NUMBERS = {"x86_64": {"open": 2, "openat": 257, "openat2": 437, "unlink": 87, "unlinkat": 263, "mkdir": 83, "mkdirat": 258, "rmdir": 84,
                      "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "chmod": 90,
                      "fchmodat": 268, "chown": 92, "lchown": 94, "fchown": 93, "fchownat": 260, "truncate": 76, "utimensat": 280, "setxattr": 188,
                      "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "execve": 59, "execveat": 322,
                      "mknod": 133, "mknodat": 259, "creat": 85, "fchmod": 91, "fchmodat2": 452,
                      "utime": 132, "utimes": 235, "futimesat": 261, "open_by_handle_at": 304}}
NUMBERS = NUMBERS.get(os.uname().machine, {})
CALLED = set()  # names; "SYS_open" by number


def libc_call(access):
    def add(function):
        if NUMBERS or "SYS_" not in function.__name__:
            LIBC_CALLS[function.__name__] = (access, function)
        return function
    return add


def b(path):
    return ctypes.c_char_p(os.fsencode(path))


def call(name, *arguments, pointer=False):
    """0 or errno of a libc function that returns -1, or NULL with `pointer`; "SYS_name": by number."""
    CALLED.add(name)
    if name.startswith("SYS_"):
        CALLED.add("syscall")
        arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in (NUMBERS[name[4:]], *arguments)]
        name = "syscall"
    function = getattr(libc, name)
    function.restype = ctypes.c_void_p if pointer else ctypes.c_long if name == "syscall" else ctypes.c_int
    ctypes.set_errno(0)
    ret = function(*arguments)
    failed = not ret if pointer else ret == -1
    call.ret = ret
    return (ctypes.get_errno() or -1) if failed else 0


def opened(name, *arguments):
    error = call(name, *arguments)
    if not error:
        os.close(call.ret)
    return error


def stream(name, *arguments):
    error = call(name, *arguments, pointer=True)
    if not error:
        libc.fclose(ctypes.c_void_p(call.ret))
    return error


def directory_of(path):
    return os.open(path, os.O_PATH | os.O_DIRECTORY)


class At:
    """The directory's descriptor."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.fd = directory_of(self.path)
        return self.fd

    def __exit__(self, *_):
        os.close(self.fd)


# ---- read ----

def _reads(name):
    def function(f):
        return opened(name, b(f + "/file"), os.O_RDONLY)
    function.__name__ = "read_" + name
    libc_call("read")(function)


for _name in ("open", "open64", "__open", "__open64", "__open_2", "__open64_2"):
    _reads(_name)


def _at(name):
    def function(f):
        with At(f) as fd:
            return opened(name, fd, b("file"), os.O_RDONLY)
    function.__name__ = "read_" + name
    libc_call("read")(function)


for _name in ("openat", "openat64", "__openat_2", "__openat64_2"):
    _at(_name)


def _fopen(name, access, mode):
    def function(f):
        return stream(name, b(f + "/file"), b(mode))
    function.__name__ = "%s_%s" % (access, name)
    libc_call(access)(function)


for _name in ("fopen", "fopen64", "_IO_fopen"):
    _fopen(_name, "read", "rbe")
    _fopen(_name, "write", "r+e")


@libc_call("read")
def freopen(f):
    old = ctypes.CDLL(None)
    old.fopen.restype = ctypes.c_void_p
    return stream("freopen", b(f + "/file"), b("r"), ctypes.c_void_p(old.fopen(b("/dev/null"), b("r"))))


@libc_call("read")
def freopen64(f):
    old = ctypes.CDLL(None)
    old.fopen.restype = ctypes.c_void_p
    return stream("freopen64", b(f + "/file"), b("r"), ctypes.c_void_p(old.fopen(b("/dev/null"), b("r"))))


for _name in ("setmntent", "__setmntent"):
    def _mounts(f, name=_name):
        return stream(name, b(f + "/file"), b("r"))
    _mounts.__name__ = _name
    libc_call("read")(_mounts)


@libc_call("read")
def relative_path(f):
    here = os.getcwd()
    os.chdir(f)
    try:
        return opened("open", b("./../" + os.path.basename(f) + "/file"), os.O_RDONLY)
    finally:
        os.chdir(here)


@libc_call("read")
def after_fchdir(f):
    here = os.open(".", os.O_PATH)
    with At(f) as fd:
        os.fchdir(fd)
    try:
        return opened("open", b("file"), os.O_RDONLY)
    finally:
        os.fchdir(here)
        os.close(here)


@libc_call("read")
def by_proc(f):
    with At(f) as fd:
        return opened("open", b("/proc/self/fd/%d/file" % fd), os.O_RDONLY)


@libc_call("read")
def spawn_action(f):
    actions = ctypes.create_string_buffer(256)
    libc.posix_spawn_file_actions_init(actions)
    CALLED.add("posix_spawn_file_actions_addopen")
    return libc.posix_spawn_file_actions_addopen(actions, 0, b(f + "/file"), os.O_RDONLY, 0)


if os.geteuid() == 0:  # it takes a capability
    def handle(f, name="open_by_handle_at"):
        room = ctypes.create_string_buffer(136)
        room[0:4] = (128).to_bytes(4, sys.byteorder)
        libc.name_to_handle_at(AT_FDCWD, b(f + "/file"), room, ctypes.byref(ctypes.c_int()), 0)
        fd = os.open(f, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return opened(name, fd, room, os.O_RDONLY)
        finally:
            os.close(fd)

    def handle_by_number(f):
        return handle(f, "SYS_open_by_handle_at")

    libc_call("read")(handle)
    if NUMBERS:
        libc_call("read")(handle_by_number)


@libc_call("read")
def read_and_write(f):
    return opened("open", b(f + "/file"), os.O_RDWR)


# ---- write ----


@libc_call("write")
def write_only(f):
    return opened("open", b(f + "/file"), os.O_WRONLY)


@libc_call("write")
def append(f):
    return opened("open", b(f + "/file"), os.O_WRONLY | os.O_APPEND)


@libc_call("write")
def truncates(f):
    return opened("open", b(f + "/file"), os.O_RDWR | os.O_TRUNC)


for _name in ("creat", "creat64"):
    def _creat(f, name=_name):
        return opened(name, b(f + "/file"), 0o600)
    _creat.__name__ = _name
    libc_call("write")(_creat)

for _name in ("truncate", "truncate64"):
    def _truncate(f, name=_name):
        return call(name, b(f + "/file"), ctypes.c_long(3))
    _truncate.__name__ = _name
    libc_call("write")(_truncate)


for _name in ("updwtmp", "updwtmpx"):
    def _appends(f, name=_name):
        """They tell nothing: the file does."""
        before = os.stat(f + "/file").st_size
        call(name, b(f + "/file"), ctypes.create_string_buffer(384))
        grown = os.stat(f + "/file").st_size > before
        os.truncate(f + "/file", before) if grown else None
        return 0 if grown else errno.EACCES
    _appends.__name__ = _name
    libc_call("write")(_appends)


@libc_call("write")
def writes_anew(f):
    return stream("fopen", b(f + "/file"), b("w"))


def _new(access, name, *arguments):
    """Something new is made."""
    def function(f):
        error = call(name, *[b(f + "/new") if a is None else a for a in arguments])
        if not error:
            (os.rmdir if os.path.isdir(f + "/new") and not os.path.islink(f + "/new") else os.unlink)(f + "/new")
        return error
    function.__name__ = "%s_%s" % (access, name)
    libc_call(access)(function)


_DEVICE = ctypes.byref(ctypes.c_ulong(0))
for _access in ("create", "write"):
    _new(_access, "__xmknod", 0, None, 0o100600, _DEVICE)
    _new(_access, "__xmknodat", 0, AT_FDCWD, None, 0o100600, _DEVICE)
    _new(_access, "SYS_mknod", None, 0o100600, 0)
    _new(_access, "mkdir", None, 0o700)
    _new(_access, "mkfifo", None, 0o600)
    _new(_access, "mknod", None, 0o100600, 0)
    _new(_access, "symlink", b("nowhere"), None)
    _new(_access, "mkdirat", AT_FDCWD, None, 0o700)
    _new(_access, "mkfifoat", AT_FDCWD, None, 0o600)
    _new(_access, "mknodat", AT_FDCWD, None, 0o100600, 0)
    _new(_access, "symlinkat", b("nowhere"), AT_FDCWD, None)


def _binds(access):
    def function(f):
        with socket.socket(socket.AF_UNIX) as made:
            path = os.fsencode(f + "/new")
            error = call("bind", made.fileno(), struct.pack("=H%ds" % len(path), socket.AF_UNIX, path), 2 + len(path))
        if not error:
            os.unlink(f + "/new")
        return error
    function.__name__ = access + "_bind"
    libc_call(access)(function)


_binds("create")
_binds("write")


@libc_call("create")
def create_exclusive(f):
    error = opened("open", b(f + "/new"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    if not error:
        os.unlink(f + "/new")
    return error


def _made(name, suffix=None, *more):
    def function(f):
        template = ctypes.create_string_buffer(os.fsencode(f) + b"/new-XXXXXX" + (suffix or b""))
        extra = [len(suffix)] if suffix else []
        error = call(name, template, *extra, *more, pointer=name == "mkdtemp")
        if not error:
            if name != "mkdtemp":
                os.close(call.ret)
            (os.rmdir if name == "mkdtemp" else os.unlink)(template.value)
        return error
    function.__name__ = name
    libc_call("create")(function)


_made("mkstemp")
_made("mkstemp64")
_made("mkostemp", None, os.O_CLOEXEC)
_made("mkostemp64", None, os.O_CLOEXEC)
_made("mkstemps", b".x")
_made("mkstemps64", b".x")
_made("mkostemps", b".x", os.O_CLOEXEC)
_made("mkostemps64", b".x", os.O_CLOEXEC)
_made("mkdtemp")


# ---- delete, rename, link: the directory is made as it was where they succeed ----


def _removes(name, *arguments, what="file"):
    def function(f):
        path = f + "/" + what
        if what == "empty":
            os.makedirs(path, exist_ok=True)
        error = call(name, *[b(path) if a is None else a for a in arguments])
        if not error and what == "file":
            with open(path, "wb") as file:
                file.write(b"content\n")
        elif not error:
            os.mkdir(path)
        return error
    function.__name__ = "%s_%s" % (name, what) + ("_at" if len(arguments) > 2 else "")
    libc_call("delete")(function)


_removes("unlink", None)
_removes("remove", None)
_removes("remove", None, what="empty")
_removes("unlinkat", AT_FDCWD, None, 0)
_removes("unlinkat", AT_FDCWD, None, 0x200, what="empty")
_removes("rmdir", None, what="empty")
_removes("SYS_rmdir", None, what="empty")


@libc_call("delete")
def unlinkat_directory(f):
    with At(f) as fd:
        error = call("unlinkat", fd, b("file"), 0)
    if not error:
        with open(f + "/file", "wb") as file:
            file.write(b"content\n")
    return error


def _renames(access, name, source, target, *make):
    def function(f):
        beyond = os.path.dirname(f) + "/elsewhere"
        paths = {"in": f + "/file", "out": beyond, "new": f + "/new"}
        with open(beyond, "wb") as file:
            file.write(b"content\n")
        given = {"in": b(paths["in"]), "out": b(paths["out"]), "new": b(paths["new"])}
        error = call(name, *make, given[source], *make, given[target], *([0] if name.endswith(("renameat2", "linkat")) else []))
        if not error and "rename" in name:
            os.rename(paths[target], paths[source] if source == "in" else paths["out"])
            if target == "in":
                with open(paths["in"], "wb") as file:
                    file.write(b"content\n")
        elif not error:
            os.unlink(paths[target])
        return error
    function.__name__ = "%s_%s_%s_%s" % (access, name, source, target)
    libc_call(access)(function)


for _access, _source, _target in (("rename", "in", "out"), ("rename", "out", "in"), ("delete", "in", "out"), ("write", "out", "in"),
                                  ("write", "out", "new"), ("create", "out", "new")):
    _renames(_access, "rename", _source, _target)
    _renames(_access, "renameat", _source, _target, AT_FDCWD)
    _renames(_access, "renameat2", _source, _target, AT_FDCWD)
    if _access == "rename":
        _renames(_access, "SYS_rename", _source, _target)
        _renames(_access, "SYS_renameat", _source, _target, AT_FDCWD)
        _renames(_access, "SYS_renameat2", _source, _target, AT_FDCWD)
for _access, _source, _target in (("link", "in", "link-out"), ("link", "out", "new"), ("write", "out", "new"), ("create", "out", "new")):
    def _link(f, source=_source, target=_target, name="link", at=()):
        beyond = os.path.dirname(f) + "/elsewhere"
        with open(beyond, "wb") as file:
            file.write(b"content\n")
        old = f + "/file" if source == "in" else beyond
        new = os.path.dirname(f) + "/link-out" if target == "link-out" else f + "/new"
        error = call(name, *at, b(old), *at, b(new), *([0] if at else []))
        if not error:
            os.unlink(new)
        return error
    _link.__name__ = "%s_link_%s" % (_access, _source)
    libc_call(_access)(_link)

    def _linkat(f, plain=_link):
        return plain(f, name="linkat", at=(AT_FDCWD,))
    _linkat.__name__ = "%s_linkat_%s" % (_access, _source)
    libc_call(_access)(_linkat)
    if _access == "link":
        def _link_number(f, plain=_link):
            return plain(f, name="SYS_link")

        def _linkat_number(f, plain=_link):
            return plain(f, name="SYS_linkat", at=(AT_FDCWD,))
        _link_number.__name__ = "SYS_link_%s" % _source
        _linkat_number.__name__ = "SYS_linkat_%s" % _source
        libc_call(_access)(_link_number)
        libc_call(_access)(_linkat_number)


@libc_call("link")
def link_symbolic(f):
    error = call("symlink", b("nowhere"), b(f + "/new"))
    if not error:
        os.unlink(f + "/new")
    return error


# ---- metadata ----


def _metadata(name, *arguments):
    def function(f):
        fd = os.open(f + "/file", os.O_RDONLY)
        try:
            return call(name, *[b(f + "/file") if a is None else fd if a == "fd" else a for a in arguments])
        finally:
            os.close(fd)
    function.__name__ = "metadata_%s%s" % (name, len(arguments))
    libc_call("metadata")(function)


NONE = ctypes.c_void_p(None)
_metadata("chmod", None, 0o644)
_metadata("fchmod", "fd", 0o644)
_metadata("fchmodat", AT_FDCWD, None, 0o644, 0)
_metadata("chown", None, -1, -1)
_metadata("lchown", None, -1, -1)
_metadata("fchown", "fd", -1, -1)
_metadata("fchownat", AT_FDCWD, None, -1, -1, 0)
_metadata("fchownat", "fd", b(""), -1, -1, 0x1000)
_metadata("utime", None, NONE)
_metadata("utimes", None, NONE)
_metadata("lutimes", None, NONE)
_metadata("futimes", "fd", NONE)
_metadata("futimens", "fd", NONE)
_metadata("futimesat", AT_FDCWD, None, NONE)
_metadata("utimensat", AT_FDCWD, None, NONE, 0)
_metadata("setxattr", None, b("user.x"), b("v"), ctypes.c_size_t(1), 0)
_metadata("lsetxattr", None, b("user.x"), b("v"), ctypes.c_size_t(1), 0)
_metadata("fsetxattr", "fd", b("user.x"), b("v"), ctypes.c_size_t(1), 0)
_metadata("removexattr", None, b("user.x"))
_metadata("lremovexattr", None, b("user.x"))
_metadata("fremovexattr", "fd", b("user.x"))
_metadata("lchmod", None, 0o644)
_metadata("SYS_fchmod", "fd", 0o644)
_metadata("SYS_fchown", "fd", -1, -1)
_metadata("SYS_lchown", None, -1, -1)
_metadata("SYS_fchownat", AT_FDCWD, None, -1, -1, 0)
_metadata("SYS_lsetxattr", None, b("user.x"), b("v"), 1, 0)
_metadata("SYS_fsetxattr", "fd", b("user.x"), b("v"), 1, 0)
_metadata("SYS_removexattr", None, b("user.x"))
_metadata("SYS_lremovexattr", None, b("user.x"))
_metadata("SYS_fremovexattr", "fd", b("user.x"))


# ---- list ----


def _lists(name, *arguments, pointer=False):
    def function(f):
        error = call(name, *[b(f + "/full") if a is None else a for a in arguments], pointer=pointer)
        if name == "opendir" and not error:
            libc.closedir(ctypes.c_void_p(call.ret))
        return error
    function.__name__ = name
    libc_call("list")(function)


_lists("opendir", None, pointer=True)
_entries = ctypes.c_void_p()
_lists("scandir", None, ctypes.byref(_entries), NONE, NONE)
_lists("scandir64", None, ctypes.byref(_entries), NONE, NONE)
_lists("scandirat", AT_FDCWD, None, ctypes.byref(_entries), NONE, NONE)
_lists("scandirat64", AT_FDCWD, None, ctypes.byref(_entries), NONE, NONE)
_walk = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)(lambda *_: 0)
_nwalk = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: 0)
_lists("ftw", None, _walk, 8)
_lists("ftw64", None, _walk, 8)
_lists("nftw", None, _nwalk, 8, 0)
_lists("nftw64", None, _nwalk, 8, 0)


for _name in ("fts_open", "fts64_open"):
    def _walks(f, name=_name):
        paths = (ctypes.c_char_p * 3)(b"/dev", os.fsencode(f + "/full"), None)
        error = call(name, paths, 0x10, NONE, pointer=True)
        if not error:
            libc.fts_close(ctypes.c_void_p(call.ret))
        return error
    _walks.__name__ = _name
    libc_call("list")(_walks)


@libc_call("list")
def open_to_list(f):
    return opened("open", b(f + "/full"), os.O_RDONLY | os.O_DIRECTORY)


# ---- exec: f/program is a program that ends at once ----

WORDS = (ctypes.c_char_p * 2)(b"program", None)


def _execs(name, make):
    def function(f):
        CALLED.add(name)
        child = os.fork()
        if child == 0:
            error = make(f)
            os._exit(error or 99)
        status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status)
    function.__name__ = name
    libc_call("exec")(function)


def _environ():
    return (ctypes.c_char_p * (len(os.environb) + 1))(*[key + b"=" + value for key, value in os.environb.items()], None)


def _in_path(f):
    """By PATH, in which it comes behind a directory that has none.  For libc's environment as for Python's."""
    libc.setenv(b("PATH"), b("/dev:" + f), 1)


def _execvp(f):
    _in_path(f)
    return call("execvp", b("program"), WORDS)


def _fexecve(f):
    return call("fexecve", os.open(f + "/program", os.O_PATH), WORDS, _environ())


_execs("execve", lambda f: call("execve", b(f + "/program"), WORDS, _environ()))
_execs("execv", lambda f: call("execv", b(f + "/program"), WORDS))
_execs("execvp", _execvp)
_execs("execl", lambda f: call("execl", b(f + "/program"), b("program"), NONE))
_execs("execlp", lambda f: _in_path(f) or call("execlp", b("program"), b("program"), NONE))
_execs("execle", lambda f: call("execle", b(f + "/program"), b("program"), NONE, _environ()))
_execs("execvpe", lambda f: _in_path(f) or call("execvpe", b("program"), WORDS, _environ()))
_execs("execveat", lambda f: call("execveat", directory_of(f), b("program"), WORDS, _environ(), 0))
_execs("fexecve", _fexecve)
_execs("SYS_execve", lambda f: call("SYS_execve", b(f + "/program"), WORDS, _environ()))
_execs("SYS_execveat", lambda f: call("SYS_execveat", directory_of(f), b("program"), WORDS, _environ(), 0))


def _spawned(error, pid):
    return error or os.waitstatus_to_exitcode(os.waitpid(pid.value, 0)[1])


@libc_call("exec")
def posix_spawn(f):
    pid = ctypes.c_int()
    CALLED.add("posix_spawn")
    return _spawned(libc.posix_spawn(ctypes.byref(pid), b(f + "/program"), NONE, NONE, WORDS, _environ()), pid)


@libc_call("exec")
def posix_spawnp(f):
    pid, before = ctypes.c_int(), os.environ["PATH"]
    CALLED.add("posix_spawnp")
    _in_path(f)
    try:
        return _spawned(libc.posix_spawnp(ctypes.byref(pid), b("program"), NONE, NONE, WORDS, _environ()), pid)
    finally:
        libc.setenv(b("PATH"), b(before), 1)


# ---- by syscall(2) ----


def _syscall(access, name, *arguments):
    def function(f):
        given = {None: b(f + "/file"), "new": b(f + "/new"), "full": b(f + "/full"), "out": b(os.path.dirname(f) + "/elsewhere")}
        error = call("SYS_" + name, *[given[a] if a is None or isinstance(a, str) else a for a in arguments])
        if not error and name.startswith(("open", "creat")):
            os.close(call.ret)
        elif not error and "new" in arguments:
            (os.rmdir if "mkdir" in name else os.unlink)(f + "/new")
        elif not error and access == "delete":
            with open(f + "/file", "wb") as file:
                file.write(b"content\n")
        return error
    function.__name__ = "syscall_%s_%s" % (access, name)
    if name in NUMBERS:
        libc_call(access)(function)


_syscall("read", "open", None, os.O_RDONLY)
_syscall("read", "openat", AT_FDCWD, None, os.O_RDONLY)
_syscall("read", "openat2", AT_FDCWD, None, (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0), 24)
_syscall("list", "openat2", AT_FDCWD, "full", (ctypes.c_uint64 * 3)(os.O_RDONLY | os.O_DIRECTORY, 0, 0), 24)
_syscall("write", "open", None, os.O_WRONLY)
_syscall("write", "creat", None, 0o600)
_syscall("write", "truncate", None, 2)
_syscall("create", "mkdir", "new", 0o700)
_syscall("create", "mkdirat", AT_FDCWD, "new", 0o700)
_syscall("create", "mknodat", AT_FDCWD, "new", 0o100600, 0)
_syscall("create", "symlink", b("nowhere"), "new")
_syscall("create", "symlinkat", b("nowhere"), AT_FDCWD, "new")
_syscall("delete", "unlink", None)
_syscall("delete", "unlinkat", AT_FDCWD, None, 0)
_syscall("metadata", "chmod", None, 0o644)
_syscall("metadata", "fchmodat", AT_FDCWD, None, 0o644)
_syscall("metadata", "fchmodat2", AT_FDCWD, None, 0o644, 0)
_syscall("metadata", "chown", None, -1, -1)
_syscall("metadata", "utime", None, NONE)
_syscall("metadata", "utimes", None, NONE)
_syscall("metadata", "futimesat", AT_FDCWD, None, NONE)
_syscall("metadata", "utimensat", AT_FDCWD, None, NONE, 0)
_syscall("metadata", "setxattr", None, b("user.x"), b("v"), 1, 0)


def main():
    for directory in sys.argv[2:]:
        for name, (access, function) in sorted(LIBC_CALLS.items()):
            if access == sys.argv[1] or sys.argv[1] == "all":
                print(json.dumps([directory, name, function(directory)]), flush=True)
    if sys.argv[1] == "all":
        print(json.dumps(sorted(CALLED)))


if __name__ == "__main__":
    main()

"""A program of ours of which one call of libc fails: programs/lib/fail_functions.c."""
import collections
import errno
import os
import pathlib
import subprocess

LIBRARY = pathlib.Path(os.environ["SEEN_BUILD"]) / "tests/programs/fail_functions.so"
MEMORY = ("malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup")
# What each may end with; the first is tried first.
ERRORS = {"ENOMEM": MEMORY, "EIO": ("close", "fallocate", "fdatasync", "fsync", "ftruncate", "lseek", "pread", "read", "readdir", "readlinkat", "fgetxattr", "flistxattr", "lgetxattr",
                                    "llistxattr", "fstat", "getdelim", "fgets", "fread", "fts_read", "recv", "recvmsg"),
          "EACCES": ("access", "faccessat", "fopen", "fopen64", "fstatat", "linkat", "lstat", "mkdir", "mkdirat", "mknodat", "open", "openat", "openat2", "opendir", "readlink", "realpath",
                     "rename", "renameat", "renameat2", "rmdir", "stat", "statx", "symlinkat", "unlink", "unlinkat", "mkostemp", "mkdtemp", "remove", "symlink", "link", "chdir", "fstatvfs", "statvfs", "nftw", "fts_open", "bind"),
          "ENOSPC": ("fflush", "inotify_add_watch", "epoll_ctl", "fsetxattr", "lsetxattr", "posix_fallocate", "pwrite", "pwritev", "write", "mkdirat", "symlinkat", "linkat", "renameat2", "open", "openat"),
          "EPERM": ("chmod", "fchmod", "fchown", "fchownat", "futimens", "utimensat", "lremovexattr", "lsetxattr", "linkat"),
          "EMFILE": ("dup", "dup2", "fcntl", "fdopen", "fdopendir", "memfd_create", "open", "openat", "opendir", "pipe2", "socket", "tmpfile", "fopencookie", "socketpair", "eventfd", "signalfd",
                     "timerfd_create", "epoll_create1", "inotify_init1", "accept4"), "EAGAIN": ("fork", "pthread_create"), "ENOLCK": ("flock",),
          "EINVAL": ("ioctl", "renameat2"), "ENOENT": ("open", "openat", "lstat", "fstatat", "unlinkat", "getcwd", "statx"), "ENOSYS": ("openat2", "statx"),
          "EEXIST": ("linkat", "mkdirat", "renameat2"), "ENOBUFS": ("send", "sendmsg", "listen"), "ENOMEM ": ("glob", "setenv", "mmap", "statx", "openat2", "fdopendir")}
Site = collections.namedtuple("Site", "number function callers")


def errors_of(function):
    return [getattr(errno, name.strip()) for name, functions in ERRORS.items() if function in functions]


FUNCTIONS = tuple(sorted({function for functions in ERRORS.values() for function in functions} - set(MEMORY)))


def run_failing(words, functions, number=0, error=0, always=False, sites=None, *, env, given=b"", **more):
    """Runs a program; the call of that number of these functions fails, and with `always` those behind it.  Its output is captured.

    given: its standard input.
    """
    added = {"LD_PRELOAD": str(LIBRARY), "FAIL_FUNCTIONS": " ".join(functions), "FAIL_NUMBER": str(number), "FAIL_ERROR": str(error)}
    if always:
        added["FAIL_ALWAYS"] = "1"
    if sites:
        added["FAIL_SITES"] = str(sites)
    return subprocess.run(list(map(str, words)), env={**env, **added}, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)


def sites_of(words, functions, file, **more):
    """(the result, the Site of the first call from each place of the program)."""
    pathlib.Path(file).unlink(missing_ok=True)
    done = run_failing(words, functions, sites=file, **more)
    return done, read_sites(file)


def read_sites(file):
    """What the library wrote there."""
    lines = [line.split() for line in pathlib.Path(file).read_text().splitlines()]
    return [Site(int(number), function, tuple(callers)) for number, function, *callers in lines]

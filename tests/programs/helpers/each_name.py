"""Calls each of libc's functions that the library takes the place of and that name no file: on an open file of its own, DIRECTORY/NAME/file.

Arguments: a directory; with `make` behind it, that and its files are made, and nothing is called.  Those that are system calls are called by number, too.  It prints one JSON object: what each call returned, to be compared with and without the library.  EVENTS
says which ops of the journal its file (or the process, for a child's end) must have, with their bytes where they are known.  Each process that
ends by a function under test ends with a status of its own.
"""

import ctypes
import json
import mmap
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
CONTENT = b"hello world\n"
EVENTS = {}    # name: {op: bytes or None}
STATUSES = {}  # name: status of a child's exit
CALLS = {}
O_TMP = os.O_RDWR | os.O_CLOEXEC
POINTERS = {"fdopen", "_IO_fdopen", "freopen", "fdopendir", "readdir", "popen", "_IO_popen", "tmpfile", "tmpfile64", "fts_open", "fts64_open", "fts_read",
            "fts64_read", "setmntent", "mmap", "mmap64"}
SIZES = {"pread", "pread64", "__pread64", "__pread_chk", "__pread64_chk", "fread", "fread_unlocked", "_IO_fread", "__fread_chk", "__fread_unlocked_chk", "fwrite",
         "fwrite_unlocked"}
# Names of system calls, that are called by number besides: on DIRECTORY/SYS_NAME/file.
NUMBERS = {"x86_64": {"read": 0, "pread64": 17, "readv": 19, "preadv": 295, "preadv2": 327, "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328,
                      "copy_file_range": 326, "sendfile": 40, "splice": 275, "tee": 276, "vmsplice": 278, "dup": 32, "dup2": 33, "dup3": 292, "fcntl": 72,
                      "recvmsg": 47, "close": 3, "close_range": 436, "ftruncate": 77, "fallocate": 285, "ioctl": 16, "mmap": 9, "prctl": 157}}
NUMBERS = NUMBERS.get(os.uname().machine, {})
by_number = None  # this name


def call(name, *arguments):
    if name == by_number:
        libc.syscall.restype = ctypes.c_ssize_t
        arguments = [ctypes.c_long(one) if isinstance(one, int) else one for one in (NUMBERS[name], *arguments, *(0,) * 6)]
        return libc.syscall(*arguments[:7])
    function = getattr(libc, name)
    function.restype = ctypes.c_void_p if name in POINTERS else ctypes.c_ssize_t if name in SIZES else ctypes.c_int
    return function(*arguments)


def each(names, status=None, **events):
    """The function calls each of the names; its file has these events."""
    def add(function):
        for name in names.split():
            CALLS[name] = function
            EVENTS[name] = events
            if status is not None:
                STATUSES[name] = status + len(STATUSES)
        return function
    return add


def buffer(data=b""):
    return ctypes.create_string_buffer(data, 16)


def vector(held):
    return (ctypes.c_uint64 * 2)(ctypes.addressof(held), 5)


def opened(directory, flags=O_TMP, name="file"):
    return os.open(directory + "/" + name, flags, 0o600)


def off(value):
    return ctypes.c_int64(value)


READS = {"read": lambda fd, held: (fd, held, 5), "__read": lambda fd, held: (fd, held, 5), "__read_chk": lambda fd, held: (fd, held, 5, 16),
         "pread": lambda fd, held: (fd, held, 5, off(0)), "pread64": lambda fd, held: (fd, held, 5, off(0)), "__pread64": lambda fd, held: (fd, held, 5, off(0)),
         "__pread_chk": lambda fd, held: (fd, held, 5, off(0), 16), "__pread64_chk": lambda fd, held: (fd, held, 5, off(0), 16),
         "readv": lambda fd, held: (fd, vector(held), 1), "preadv": lambda fd, held: (fd, vector(held), 1, off(0)),
         "preadv64": lambda fd, held: (fd, vector(held), 1, off(0)), "preadv2": lambda fd, held: (fd, vector(held), 1, off(0), 0),
         "preadv64v2": lambda fd, held: (fd, vector(held), 1, off(0), 0)}
WRITES = {"write": lambda fd, held: (fd, held, 5), "__write": lambda fd, held: (fd, held, 5), "pwrite": lambda fd, held: (fd, held, 5, off(0)),
          "pwrite64": lambda fd, held: (fd, held, 5, off(0)), "__pwrite64": lambda fd, held: (fd, held, 5, off(0)),
          "writev": lambda fd, held: (fd, vector(held), 1), "pwritev": lambda fd, held: (fd, vector(held), 1, off(0)),
          "pwritev64": lambda fd, held: (fd, vector(held), 1, off(0)), "pwritev2": lambda fd, held: (fd, vector(held), 1, off(0), 0),
          "pwritev64v2": lambda fd, held: (fd, vector(held), 1, off(0), 0)}


@each(" ".join(READS), open=None, read=5)
def reads(name, directory):
    fd, held = opened(directory), buffer()
    ret = call(name, *READS[name](fd, held))
    os.close(fd)
    return ret, held.value.decode()


@each(" ".join(WRITES), open=None, write=5)
def writes(name, directory):
    fd = opened(directory)
    ret = call(name, *WRITES[name](fd, buffer(b"HELLO")))
    os.close(fd)
    return ret


def stream_of(fd, mode=b"r+"):
    return ctypes.c_void_p(call("fdopen", fd, mode))


@each("fread fread_unlocked _IO_fread __fread_chk __fread_unlocked_chk", open=None, read=12)
def stream_reads(name, directory):
    stream, held = stream_of(opened(directory)), buffer()
    size = ctypes.c_size_t
    arguments = (held, size(16)) if "chk" in name else (held,)
    ret = call(name, *arguments, size(1), size(12), stream)
    call("fclose", stream)
    return ret, held.value.decode()


@each("fwrite fwrite_unlocked fputs fputs_unlocked", open=None, write=5)
def stream_writes(name, directory):
    stream, size = stream_of(opened(directory)), ctypes.c_size_t
    ret = call(name, b"HELLO", stream) if "puts" in name else call(name, b"HELLO", size(1), size(5), stream)
    call("fclose", stream)
    return ret


@each("fdopen _IO_fdopen", open=None, read=12)
def descriptor_streams(name, directory):
    stream, held = ctypes.c_void_p(call(name, opened(directory), b"r")), buffer()
    ret = call("fread", held, ctypes.c_size_t(1), ctypes.c_size_t(12), stream)
    call("fclose", stream)
    return ret


@each("fdopendir", open=None)
def descriptor_directory(name, directory):
    listed = ctypes.c_void_p(call(name, os.open(directory, os.O_RDONLY | os.O_DIRECTORY)))
    entries = 0
    while call("readdir", listed):
        entries += 1
    call("closedir", listed)
    return entries


def control_block(fd, held, opcode=0):
    """glibc's struct aiocb (aio.h) on 64 bit: 5 bytes from the file's start, no notification (SIGEV_NONE)."""
    return ctypes.create_string_buffer(struct.pack("=iii4xQQ 8xii48x", fd, opcode, 0, ctypes.addressof(held), 5, 0, 1) + bytes(168 - 96), 168)


def waited(block):
    call("aio_suspend", (ctypes.c_void_p * 1)(ctypes.addressof(block)), 1, None)
    return libc.aio_return(block)


@each("aio_read aio_read64 aio_write aio_write64", open=None)
def asynchronous(name, directory):
    fd, held = opened(directory), buffer(b"HELLO")
    block = control_block(fd, held)
    ret = call(name, block), waited(block)
    os.close(fd)
    return ret, held.value.decode()


@each("lio_listio lio_listio64", open=None)
def asynchronous_list(name, directory):
    fd, out, held = opened(directory), opened(directory), buffer(b"HELLO")
    blocks = [control_block(fd, held), control_block(out, buffer(b"HELLO"), 1)]
    ret = call(name, 0, (ctypes.c_void_p * 2)(*map(ctypes.addressof, blocks)), 2, None)  # LIO_WAIT
    os.close(fd)
    os.close(out)
    return ret


@each("copy_file_range", open=None, read=5)
def copied(name, directory):
    fd, out = opened(directory), opened(directory, O_TMP | os.O_CREAT, "out")
    ret = call(name, fd, None, out, None, ctypes.c_size_t(5), 0)
    return ret, open(directory + "/out").read()


@each("sendfile sendfile64", open=None, read=5)
def sent(name, directory):
    out = opened(directory, O_TMP | os.O_CREAT, "out")
    return call(name, out, opened(directory), None, ctypes.c_size_t(5)), open(directory + "/out").read()


@each("splice", open=None, read=5)
def spliced(name, directory):
    here, there = os.pipe()
    return call(name, opened(directory), None, there, None, ctypes.c_size_t(5), 0), os.read(here, 9).decode()


@each("tee")
def teed(name, directory):
    pairs = os.pipe(), os.pipe()
    os.write(pairs[0][1], b"12345")
    return call(name, pairs[0][0], pairs[1][1], ctypes.c_size_t(5), 0), os.read(pairs[1][0], 9).decode()


@each("vmsplice")
def given(name, directory):
    pair, held = os.pipe(), buffer(b"12345")
    return call(name, pair[1], vector(held), ctypes.c_ulong(1), 0), os.read(pair[0], 9).decode()


COPIES = {"dup": lambda fd: (fd,), "dup2": lambda fd: (fd, 200), "__dup2": lambda fd: (fd, 200), "dup3": lambda fd: (fd, 200, os.O_CLOEXEC),
          "fcntl": lambda fd: (fd, 0, 200), "fcntl64": lambda fd: (fd, 0, 200), "__fcntl": lambda fd: (fd, 0, 200)}


@each(" ".join(COPIES), open=None, read=5)
def descriptor_copies(name, directory):
    fd = opened(directory)
    copy = call(name, *COPIES[name](fd))
    os.close(fd)
    ret = os.read(copy, 5).decode()
    os.close(copy)
    return copy >= 3, ret


@each("recvmsg recvmmsg", open=None)
def received(name, directory):
    """A descriptor from another process."""
    here, there = socket.socketpair()
    child = os.fork()
    if not child:
        socket.send_fds(there, [b"x"], [opened(directory)])
        os._exit(0)
    os.waitpid(child, 0)
    held, control = buffer(), ctypes.create_string_buffer(24)
    message = ctypes.create_string_buffer(struct.pack("=QI4xQQQQi4xI4x", 0, 0, ctypes.addressof(v := vector(held)), 1, ctypes.addressof(control), 24, 0, 0), 64)
    ret = call(name, here.fileno(), message, 0) if name == "recvmsg" else call(name, here.fileno(), message, 1, 0, None)
    fd = struct.unpack("=QiiI4x", control.raw)[3]
    return ret, bool(v), os.read(fd, 5).decode()


@each("close __close close_range closefrom", open=None, read=5)
def closed(name, directory):
    """The descriptor's next file is not taken for the one that was closed."""
    child = os.fork()
    if not child:
        fd = opened(directory, O_TMP | os.O_CREAT, "out")
        call(name, *{"close_range": (fd, 0x7fffffff, 0)}.get(name, (fd,)))
        os._exit(0 if opened(directory) == fd and os.read(fd, 5) == b"hello" else 1)
    return os.waitpid(child, 0)[1]


@each("fclose _IO_fclose", open=None, read=5)
def closed_streams(name, directory):
    stream = stream_of(fd := opened(directory, O_TMP | os.O_CREAT, "out"))
    call(name, stream)
    ret = opened(directory) == fd, os.read(fd, 5).decode()
    os.close(fd)
    return ret


@each("fcloseall", open=None)
def flushed_streams(name, directory):
    """It writes what the streams hold, and closes no descriptor."""
    child = os.fork()
    if not child:
        call("fputs", b"HELLO", stream_of(opened(directory)))
        call(name)
        os._exit(0)
    return os.waitpid(child, 0)[1], open(directory + "/file").read()


STATUS_OF = {"fstatat": lambda path, held: (-100, path, held, 0), "fstatat64": lambda path, held: (-100, path, held, 0),
             "__fxstatat": lambda path, held: (1, -100, path, held, 0), "__fxstatat64": lambda path, held: (1, -100, path, held, 0)}
STATUS_OF.update(dict.fromkeys(["stat", "stat64", "lstat", "lstat64"], lambda path, held: (path, held)))
STATUS_OF.update(dict.fromkeys(["__xstat", "__xstat64", "__lxstat", "__lxstat64"], lambda path, held: (1, path, held)))


@each(" ".join(STATUS_OF))
def statuses(name, directory):
    held = ctypes.create_string_buffer(256)
    return call(name, *STATUS_OF[name](os.fsencode(directory + "/file"), held)), struct.unpack_from("=q", held, 48)[0]


@each("statx")
def extended_status(name, directory):
    held = ctypes.create_string_buffer(256)
    return call(name, -100, os.fsencode(directory + "/file"), 0, 0x7ff, held), struct.unpack_from("=Q", held, 40)[0]


@each("ftruncate ftruncate64", open=None, truncate=3)
def truncated(name, directory):
    fd = opened(directory)
    return call(name, fd, off(3)), os.fstat(fd).st_size


@each("fallocate fallocate64 posix_fallocate posix_fallocate64", open=None, truncate=100)
def allocated(name, directory):
    fd = opened(directory)
    return call(name, fd, *() if "posix" in name else (0,), off(0), off(100)), os.fstat(fd).st_size


@each("lockf lockf64", open=None)
def locked(name, directory):
    return call(name, opened(directory), 1, off(0))


@each("ioctl", open=None)
def controlled(name, directory):
    held = ctypes.c_int()
    return call(name, opened(directory), 0x541b, ctypes.byref(held)), held.value  # FIONREAD


@each("mmap mmap64", open=None, map=12)
def mapped(name, directory):
    at = call(name, None, ctypes.c_size_t(12), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, opened(directory), off(0))
    return ctypes.string_at(at, 12).decode()


@each("fts_read fts_close fts64_read fts64_close", list=None)
def walked(name, directory):
    kind = name.partition("_")[0]
    tree = ctypes.c_void_p(call(kind + "_open", (ctypes.c_char_p * 2)(os.fsencode(directory), None), 0x10 | 0x4, None))  # FTS_PHYSICAL | FTS_NOCHDIR
    entries = 0
    while call(kind + "_read", tree):
        entries += 1
    return entries, call(kind + "_close", tree)


@each("glob glob64", list=None)
def globbed(name, directory):
    held = ctypes.create_string_buffer(128)
    return call(name, os.fsencode(directory + "/f*"), 0, None, held), struct.unpack_from("=Q", held)[0]


@each("endmntent __endmntent", open=None)
def mounts(name, directory):
    return call(name, ctypes.c_void_p(call("setmntent", os.fsencode(directory + "/file"), b"r")))


@each("popen _IO_popen", open=None)
def piped(name, directory):
    stream, held = ctypes.c_void_p(call(name, os.fsencode("read line < '%s/file'; echo $line" % directory), b"r")), buffer()
    call("fgets", held, 16, stream)
    return held.value.decode(), call("pclose", stream)


@each("tmpfile tmpfile64")
def temporary(name, directory):
    return bool(stream := call(name)), call("fclose", ctypes.c_void_p(stream))


@each("perror", open=None)
def reported(name, directory):
    child = os.fork()
    if not child:
        os.dup2(opened(directory, O_TMP | os.O_TRUNC), 2)
        call(name, b"said")
        os._exit(0)
    os.waitpid(child, 0)
    return open(directory + "/file").read()[:5]


@each("prctl")
def named(name, directory):
    return call(name, 3, 0, 0, 0, 0)  # PR_GET_DUMPABLE


@each("daemon", open=None)
def left(name, directory):
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(here)
        call(name, 1, 1)
        os.write(there, os.read(opened(directory), 5))
        os._exit(0)
    os.close(there)
    return os.waitpid(child, 0)[1], os.read(here, 9).decode()


@each("forkpty", open=None, read=5)
def terminal(name, directory):
    fd = ctypes.c_int()
    child = call(name, ctypes.byref(fd), None, None, None)
    if not child:
        os._exit(0 if os.isatty(0) and os.read(opened(directory), 5) == b"hello" else 1)
    return os.waitpid(child, 0)[1]


@each("login_tty", open=None, read=5)
def logged_in(name, directory):
    child = os.fork()
    if not child:
        _, there = os.openpty()
        os._exit(0 if call(name, there) == 0 and os.isatty(0) and os.read(opened(directory), 5) == b"hello" else 1)
    return os.waitpid(child, 0)[1]


@each("_Exit _exit quick_exit", status=91)
def ended(name, directory):
    child = os.fork()
    if not child:
        call(name, STATUSES[name])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    global by_number
    directories = {name: sys.argv[1] + "/" + name for name in [*CALLS, *("SYS_" + name for name in NUMBERS)]}
    if sys.argv[2:] == ["make"]:
        for directory in directories.values():
            os.makedirs(directory)
            with open(directory + "/file", "wb") as made:
                made.write(CONTENT)
    else:
        said = {name: function(name, directories[name]) for name, function in CALLS.items()}
        for by_number in NUMBERS:
            said["SYS_" + by_number] = CALLS[by_number](by_number, directories["SYS_" + by_number])
        print(json.dumps(said))


if __name__ == "__main__":
    main()

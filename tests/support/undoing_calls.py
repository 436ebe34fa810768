"""Calls that no command of the shell makes: undoing_calls.py CALL PATH... [+ CALL PATH...]...

Each is given the names of a file that is there, of another one, and of one that is not.  One that fails is passed over.
"""
import os
import sys

HERE = -100  # AT_FDCWD


def libc():
    import ctypes  # most calls do without: each command is a process
    return ctypes.CDLL(None, use_errno=True)


def exchange(file, other, new):
    libc().renameat2(HERE, os.fsencode(file), HERE, os.fsencode(other), 2)


def rename(file, other, new):
    os.rename(file, other)


def unlink(file, other, new):
    os.unlink(file)


def mapped(file, other, new):
    import mmap
    with open(file, "r+b") as stream:
        if os.path.getsize(file):
            with mmap.mmap(stream.fileno(), 0) as area:
                area[0:1] = b"M"


def truncate(file, other, new):
    with open(file, "r+b") as stream:
        stream.truncate(os.path.getsize(file) // 2)
        os.posix_fallocate(stream.fileno(), 0, 10)


def truncate_path(file, other, new):
    os.truncate(file, os.path.getsize(file) // 3 + 1)


def replace(file, other, new):
    with open(new, "wb") as stream:
        stream.write(b"replaced")
    os.replace(new, file)


def pieces(file, other, new):
    fd = os.open(file, os.O_RDWR)
    os.pwrite(fd, b"pwrite", 3)
    os.writev(fd, [b"write", b"v"])
    os.pwritev(fd, [b"pwrite", b"v"], 20)
    os.close(fd)


def sendfile(file, other, new):
    source, to = os.open(other, os.O_RDONLY), os.open(file, os.O_WRONLY)
    os.sendfile(to, source, 0, 100)
    os.close(source)
    os.close(to)


def copy_range(file, other, new):
    source, to = os.open(other, os.O_RDONLY), os.open(file, os.O_WRONLY)
    os.copy_file_range(source, to, 100, 0, 7)
    os.close(source)
    os.close(to)


def splice(file, other, new):
    reader, writer = os.pipe()
    to = os.open(file, os.O_WRONLY)
    os.write(writer, b"spliced")
    libc().splice(reader, None, to, None, 7, 0)
    for fd in (reader, writer, to):
        os.close(fd)


def allocated(file, mode, at, size):
    import ctypes
    fd = os.open(file, os.O_RDWR)
    libc().fallocate(fd, mode, ctypes.c_long(at), ctypes.c_long(size))
    os.close(fd)


def punch(file, other, new):
    allocated(file, 3, 1, 10)


def collapse(file, other, new):
    allocated(file, 8, 0, 4096)


def allocate(file, other, new):
    allocated(file, 0, 100, 5000)


def aio(file, other, new):
    import ctypes
    import struct
    library, fd = libc(), os.open(file, os.O_WRONLY)
    data = ctypes.create_string_buffer(b"asynchronous")
    block = ctypes.create_string_buffer(168)  # struct aiocb: descriptor, buffer, bytes, no notification, offset
    struct.pack_into("i", block, 0, fd)
    struct.pack_into("QQ", block, 16, ctypes.addressof(data), 12)
    struct.pack_into("i", block, 44, 1)
    struct.pack_into("q", block, 128, 2)
    if library.aio_write(block) == 0:
        blocks = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        while library.aio_error(block) == 115:  # EINPROGRESS
            library.aio_suspend(blocks, 1, None)
    os.close(fd)


def link_nameless(file, other, new):
    fd = os.open(os.path.dirname(new) or ".", os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(fd, b"had no name")
    # os.link() does not follow: Python calls link(2)
    if LIBC.linkat(HERE, b"/proc/self/fd/%d" % fd, HERE, os.fsencode(new), 0x400):
        raise OSError(ctypes.get_errno(), "linkat")
    os.write(fd, b", has one")
    os.close(fd)


def moved_while_open(file, other, new):
    fd = os.open(file, os.O_WRONLY)
    os.rename(file, new)
    os.write(fd, b"as " + os.fsencode(new))
    os.rename(new, file)
    os.write(fd, b"as it was")
    os.close(fd)


def unlink_while_open(file, other, new):
    fd = os.open(file, os.O_RDWR)
    os.unlink(file)
    os.write(fd, b"nobody reads this")
    with open(file, "w") as stream:
        stream.write("another one")
    os.close(fd)


def late(file, other, new):
    """Two descriptors; what the one wrote is cut off by the other."""
    one, two = os.open(file, os.O_WRONLY | os.O_APPEND), os.open(file, os.O_RDWR)
    os.write(one, b"appended")
    os.close(one)
    os.ftruncate(two, 2)
    os.fchmod(two, 0o640)
    os.close(two)


def times(file, other, new):
    os.utime(file, ns=(10**18, 10**18 + 1))
    with open(file, "ab") as stream:
        stream.write(b"later")
    os.utime(file, ns=(10**18, 10**18 + 2))


def stream(file, other, new):
    import ctypes
    library = libc()
    library.fopen.restype = ctypes.c_void_p
    for mode, text in ((b"r+", b"by libc"), (b"a", b"at the end")):
        opened = library.fopen(os.fsencode(file), mode)
        if opened:
            library.fputs(text, ctypes.c_void_p(opened))
            library.fclose(ctypes.c_void_p(opened))


def fork(file, other, new):
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    child = os.fork()
    os.write(fd, b"parent" if child else b"child")
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    os.close(fd)


def handed_on(file, other, new):
    import subprocess
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    subprocess.run(["sh", "-c", "echo handed on >&%d" % fd], pass_fds=(fd,))
    os.write(fd, b"and after")
    os.close(fd)


def shared(file, other, new):
    """Another name of the file is written."""
    os.link(file, new)
    with open(new, "r+b") as stream:
        stream.write(b"by another name")
    os.unlink(file)


def mapping(file, size):
    """The address of a shared mapping, whose descriptor is closed."""
    import ctypes
    library, fd = libc(), os.open(file, os.O_RDWR)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    memory = library.mmap(None, size, 3, 1, fd, 0)
    os.close(fd)
    return memory


def mapped_behind_close(file, other, new):
    import ctypes
    size = os.path.getsize(file)
    if size:
        ctypes.memset(mapping(file, size), ord("C"), (size + 1) // 2)


def mapped_late(file, other, go):
    """Stores when `go` is there; `mapped` beside it tells that it is at work."""
    import ctypes
    import time
    memory, mark = mapping(file, 1), os.path.join(os.path.dirname(go), "mapped")
    open(mark, "w").close()
    while not os.path.exists(go):
        time.sleep(0.01)
    ctypes.memset(memory, ord("L"), 1)
    os.unlink(mark)


def attributes(file, other, new):
    os.setxattr(file, "user.one", os.fsencode(new))
    os.setxattr(file, "user.two", b"2")
    os.removexattr(file, "user.one")
    os.setxattr(other, "user.one", os.fsencode(file))


def owner(file, other, new):
    os.chown(file, *((12345, 54321) if os.geteuid() == 0 else (-1, -1)))


def socket(file, other, new):
    import socket as library
    with library.socket(library.AF_UNIX) as made:
        made.bind(new)


def threads(directory, *_):
    """Each makes, renames and removes files of its own; all write to one file."""
    start_threads(directory, is_moved=False)


def threads_that_rename(directory, *_):
    """And some rename that file."""
    start_threads(directory, is_moved=True)


def start_threads(directory, is_moved):
    import threading

    shared = os.path.join(directory, "threads")

    def work(number):
        path = os.path.join(directory, "thread%d" % number)
        with open(path, "w") as file:
            file.write("x" * number)
        os.rename(path, path + ".moved")
        with open(shared, "ab", buffering=0) as file:
            file.write(b"%d\n" % number)
        if number % 2:
            os.unlink(path + ".moved")
        if is_moved and number % 4 == 0:
            os.replace(shared, shared + ".moved")
    started = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


for words in " ".join(word.replace(" ", "\0") for word in sys.argv[1:]).split(" + "):
    call, *paths = (word.replace("\0", " ") for word in words.split(" "))
    try:
        globals()[call](*paths)
    except (OSError, ValueError) as error:
        print("%s: %s" % (call, error))

"""An agent that changes files by other names than their own.  See test_guard_names.py; for all else, fake_agent.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fake_agent  # noqa: E402

NEW = b"mine\n"


def read(path, at):
    fd = os.open(path, os.O_RDONLY, dir_fd=at)
    while os.read(fd, 65536):
        pass
    os.close(fd)


def write(path, at, flags):
    fd = os.open(path, flags, 0o600, dir_fd=at)
    try:
        os.write(fd, NEW)
    finally:
        os.close(fd)


def make(at, name):
    write(name, at, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def rename(path, at):
    make(at, path + ".new")
    try:
        os.rename(path + ".new", path, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        os.unlink(path + ".new", dir_fd=at)
        raise


def link(path, at):
    make(at, path + ".new")
    try:
        os.unlink(path, dir_fd=at)
        os.link(path + ".new", path, src_dir_fd=at, dst_dir_fd=at)
    finally:
        os.unlink(path + ".new", dir_fd=at)


def size(path, at):
    os.truncate(path if at is None else "/proc/self/fd/%d/%s" % (at, path), 3)


CALLS = {
    "truncate": lambda path, at: write(path, at, os.O_WRONLY | os.O_TRUNC),
    "create": lambda path, at: write(path, at, os.O_WRONLY | os.O_TRUNC | os.O_CREAT),
    "in place": lambda path, at: write(path, at, os.O_RDWR),
    "size": size,
    "rename": rename,
    "unlink": lambda path, at: os.unlink(path, dir_fd=at),
    "link": link,
    "read": read,
}


def call(how, path, directory=None, moved=None):
    """directory: that path is relative to, by its descriptor; moved: it is renamed to that before the call."""
    at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY) if directory else None
    try:
        if moved:
            os.rename(directory, moved)
        CALLS[how](path.replace("{at}", str(at)), None if "{at}" in path else at)
    except OSError as error:
        return error.errno
    finally:
        if at is not None:
            os.close(at)
    return 0


def handle(request, known=fake_agent.handle):
    if request.get("do") == "calls":
        return {"errors": [call(**one) for one in request["calls"]]}
    return known(request)


if __name__ == "__main__":
    fake_agent.handle = handle
    fake_agent.main()

"""Ways by which an agent connects a shell's output to something that is not itself, and ways by which it reads it.

Each takes the shell's words and a path, and returns what arrived: at that path, or at the agent.  See fake_agent.py.
"""

import fcntl
import os
import socket
import subprocess
import tempfile

NULL = subprocess.DEVNULL


def content(path):
    with open(path, "rb") as file:
        return file.read()


def unzipped(path):
    return subprocess.run(["gzip", "-dc", path], stdout=subprocess.PIPE, check=True).stdout


def start(words, stdin, path):
    """A program that stores what it reads."""
    with open(path, "wb") as file:
        return subprocess.Popen(words, stdin=stdin, stdout=file, stderr=NULL)


def shell(argv, stdout, **more):
    return subprocess.run(argv, stdin=NULL, stdout=stdout, stderr=NULL, **more)


# ---- to something else ----

def consumer_first(argv, path):
    consumer = start(["gzip", "-c"], subprocess.PIPE, path)
    shell(argv, consumer.stdin)
    consumer.communicate()
    return unzipped(path)


def two_shells(argv, path):
    consumer = start(["bash", "-c", "cat | cat"], subprocess.PIPE, path)
    shell(argv, consumer.stdin)
    consumer.communicate()
    return content(path)


def own_copy(argv, path):
    """The agent keeps its own copy of the pipe that the other program reads."""
    reader, writer = os.pipe()
    consumer = start(["gzip", "-c"], reader, path)
    shell(argv, writer)
    os.close(writer)
    consumer.wait()
    os.close(reader)
    return unzipped(path)


def named_fifo(argv, path):
    os.mkfifo(path + ".fifo")
    consumer = start(["cat", path + ".fifo"], NULL, path)
    with open(path + ".fifo", "wb") as fifo:
        shell(argv, fifo)
    consumer.wait()
    os.unlink(path + ".fifo")
    return content(path)


def named_fifo_of_its_own(argv, path):
    """It reads there itself; so may anyone."""
    os.mkfifo(path + ".fifo")
    reader = os.open(path + ".fifo", os.O_RDONLY | os.O_NONBLOCK)
    with open(path + ".fifo", "wb") as fifo:
        shell(argv, fifo)
    data = os.read(reader, 1 << 16)
    os.close(reader)
    os.unlink(path + ".fifo")
    return data


def socket_pair(argv, path):
    near, far = socket.socketpair()
    consumer = start(["cat"], far, path)
    far.close()
    shell(argv, near)
    near.close()
    consumer.wait()
    return content(path)


def socket_own_copy(argv, path):
    near, far = socket.socketpair()
    consumer = start(["cat"], far, path)
    shell(argv, near)
    near.close()
    consumer.wait()
    far.close()
    return content(path)


def own_stdout(argv, path):
    """The agent's own standard output is something else for a while."""
    consumer = start(["gzip", "-c"], subprocess.PIPE, path)
    saved = os.dup(1)
    os.dup2(consumer.stdin.fileno(), 1)
    consumer.stdin.close()
    shell(argv, None)
    os.dup2(saved, 1)
    os.close(saved)
    consumer.wait()
    return unzipped(path)


def own_stdout_read(argv, path):
    """The same, and it reads that itself: but what it prints goes there, too."""
    reader, writer = os.pipe()
    saved = os.dup(1)
    os.dup2(writer, 1)
    os.close(writer)
    shell(argv, None)
    os.dup2(saved, 1)
    os.close(saved)
    data = os.read(reader, 1 << 16)
    os.close(reader)
    return data


def kept_log(argv, path):
    with open(path, "ab") as file:
        shell(argv, file)
    return content(path)


def kept_log_read(argv, path):
    """The agent reads it, too."""
    with open(path, "ab+") as file:
        shell(argv, file)
        file.seek(0)
        return file.read()


def terminal(argv, path):
    master, slave = os.openpty()
    consumer = start(["cat"], master, path)
    os.close(master)
    shell(argv, slave)
    os.close(slave)
    consumer.wait()
    return content(path)


def terminal_own_copy(argv, path):
    master, slave = os.openpty()
    consumer = start(["cat"], master, path)
    shell(argv, slave)
    os.close(slave)
    consumer.wait()
    os.close(master)
    return content(path)


def forked_reader(argv, path):
    """A process that the agent started stands between, and reads the pipe; it is none of the agent's image."""
    reader, writer = os.pipe()
    consumer = start(["env", "cat"], reader, path)
    os.close(reader)
    shell(argv, writer)
    os.close(writer)
    consumer.wait()
    return content(path)


ELSEWHERE = [consumer_first, two_shells, own_copy, named_fifo, named_fifo_of_its_own, socket_pair, socket_own_copy, own_stdout,
             own_stdout_read, kept_log, kept_log_read, terminal, terminal_own_copy, forked_reader]


# ---- to the agent ----

def unlinked(argv, _):
    with tempfile.TemporaryFile() as file:
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)  # cat copies to others without reading
        shell(argv, file)
        file.seek(0)
        return file.read()


def memory(argv, _):
    fd = os.memfd_create("output")
    shell(argv, fd)
    data = os.pread(fd, 1 << 16, 0)
    os.close(fd)
    return data


def other_program_beside(argv, _):
    """Another program of the agent's lives, and has nothing of it."""
    other = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    data = shell(argv, subprocess.PIPE).stdout
    other.kill()
    other.communicate()
    return data


def inherited_below(argv, _):
    """The command's processes have the reading end, too: they were started with it."""
    reader, writer = os.pipe()
    shell(argv, writer, pass_fds=(reader,))
    os.close(writer)
    data = os.read(reader, 1 << 16)
    os.close(reader)
    return data


TO_AGENT = [unlinked, memory, other_program_beside, inherited_below]

WAYS = {way.__name__: way for way in ELSEWHERE + TO_AGENT}

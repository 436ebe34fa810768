"""Plays an agent: takes requests as JSON lines on one descriptor, answers on another.  See harness.py."""

import base64
import errno
import json
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import time


def drain(fd, done=None, deadline=30.0):
    """Reads until the end, or until `done(data)`."""
    data = b""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        ready, _, _ = select.select([fd], [], [], 0.2)
        if not ready:
            continue
        try:
            part = os.read(fd, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # the other side of a pty is gone
                break
            raise
        if not part:
            break
        data += part
        if done and done(data):
            break
    return data


def quiet_pty():
    master, slave = pty.openpty()
    settings = termios.tcgetattr(slave)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    return master, slave


def open_sink(kind):
    """(descriptor for the command, descriptor or path to read from)"""
    if kind == "pipe":
        reader, writer = os.pipe()
        return writer, reader
    if kind == "socket":
        near, far = socket.socketpair()
        return far.detach(), near.detach()
    if kind == "pty":
        master, slave = quiet_pty()
        return slave, master
    if kind == "null":
        return os.open("/dev/null", os.O_WRONLY), None
    if kind == "inherit":
        return os.dup(1), None
    if kind == "stderr":
        return os.dup(2), None
    name, flags = kind.split(":", 1)  # spool:PATH appends; file:PATH does not
    flags, path = os.O_RDWR | os.O_CREAT | (os.O_APPEND if name == "spool" else os.O_TRUNC), flags
    return os.open(path, flags, 0o600), path


nameless = []


def write(path, data, how):
    """The agent's own write tool.  Returns its errno, 0 when all went well."""
    data = data.encode()
    try:
        if how == "reread":  # an edit tool reads again, right before it writes
            with open(path, "rb") as file:
                file.read()
        if how in ("truncate", "reread"):
            with open(path, "wb", buffering=0) as file:
                file.write(data)
        elif how == "in_place":
            fd = os.open(path, os.O_RDWR)
            try:
                os.write(fd, data)
                os.ftruncate(fd, len(data))
            finally:
                os.close(fd)
        elif how == "append":
            with open(path, "ab", buffering=0) as file:
                file.write(data)
        elif how == "rename":
            with open(path + ".tmp", "wb", buffering=0) as file:
                file.write(data)
            try:
                os.rename(path + ".tmp", path)
            except OSError:
                os.unlink(path + ".tmp")
                raise
        elif how == "rename_directory":  # which fails: ENOTDIR
            os.rename(os.path.join(os.path.dirname(path), "d"), path)
        elif how == "size":
            os.truncate(path, len(data))
        elif how == "unlink":
            os.unlink(path)
        elif how == "nameless":  # a file that loses its name at the first time, and stays open
            if os.path.exists(path):
                nameless.append(os.open(path, os.O_RDWR))
                os.unlink(path)
            os.write(nameless[-1], data)
        elif how == "mapped":
            import mmap
            fd = os.open(path, os.O_RDWR)
            memory = mmap.mmap(fd, 0)
            memory[0:len(data)] = data
            memory.close()
            os.close(fd)
        elif how == "stream":  # by libc's own buffers
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            libc.fopen.restype = ctypes.c_void_p
            libc.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
            libc.fclose.argtypes = [ctypes.c_void_p]
            stream = libc.fopen(os.fsencode(path), b"w")
            if not stream:
                return ctypes.get_errno()
            failed = libc.fputs(data, stream) < 0
            error = ctypes.get_errno()
            if libc.fclose(stream) != 0 and not failed:
                failed, error = True, ctypes.get_errno()
            return error if failed else 0
        else:
            raise ValueError(how)
    except OSError as error:
        return error.errno
    return 0


def run(argv, sink, cwd=None, env=None, stdin=None, double_fork=False, unlink=False, wait=True, new_env=None, errors=False,
        merged=False):
    if errors:
        process = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
        return process.stdout, process.returncode, process.stderr
    writer, reader = open_sink(sink)
    if unlink:
        os.unlink(reader)
    feed = subprocess.PIPE if stdin is not None else subprocess.DEVNULL
    environment = new_env if new_env is not None else ({**os.environ, **env} if env else None)
    process = subprocess.Popen(argv, stdout=writer, stderr=writer if merged else subprocess.DEVNULL, stdin=feed, cwd=cwd, env=environment,
                               start_new_session=True)
    if unlink:
        data = None
    if not isinstance(reader, int) or unlink:
        if stdin is not None:
            process.stdin.write(stdin.encode())
            process.stdin.close()
        status = process.wait()
        os.lseek(writer, 0, os.SEEK_SET) if reader is not None else None
        data = b""
        if reader is not None:
            size = os.fstat(writer).st_size
            data = os.pread(writer, size, 0)
        os.close(writer)
        return data, status
    os.close(writer)
    if stdin is not None:
        process.stdin.write(stdin.encode())
        process.stdin.close()
    data = drain(reader)
    status = process.wait()
    os.close(reader)
    return data, status


SHELLS = {}
PROGRAMS = {}
MARK = "--end-of-command--"


def open_shell(kind, argv, merged=False):
    if kind == "pty":
        master, slave = quiet_pty()
        process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(slave)
        reader = writer = master
    else:
        reader, far = os.pipe()
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=far, stderr=far if merged else subprocess.DEVNULL,
                                   start_new_session=True)
        os.close(far)
        writer = process.stdin.fileno()
    SHELLS[process.pid] = (process, reader, writer)
    return process.pid


def send_command(shell, command):
    _, reader, writer = SHELLS[shell]
    os.write(writer, (command + "\necho " + MARK + "\n").encode())
    mark = (MARK + "\n").encode()
    data = drain(reader, lambda data: data.endswith(mark))
    if not data.endswith(mark):
        raise RuntimeError("no end of command in %r" % data)
    return data[: -len(mark)]


def close_shell(shell):
    process, reader, _ = SHELLS.pop(shell)
    process.kill()
    process.wait()
    os.close(reader)


def fork_run(argv):
    """As an agent that forks a worker, which starts the command."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.close(reader)
        os.close(writer)
        grandchild = os.fork()
        if grandchild == 0:
            os.execvp(argv[0], argv)
        os.waitpid(grandchild, 0)
        os._exit(0)
    os.close(writer)
    data = drain(reader)
    os.waitpid(child, 0)
    os.close(reader)
    return data


def errors_to_program(argv, program, path):
    """Runs argv, whose standard error a program reads, that writes to a file."""
    reader, writer = os.pipe()
    with open(path, "wb") as file:
        consumer = subprocess.Popen(program, stdin=reader, stdout=file)
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer)
    os.close(writer)
    consumer.wait()
    os.close(reader)
    return {}


WORKERS = []


def start_worker():
    """A fork that works on its own, as prefork servers and multiprocessing make them.  Returns its number."""
    near, far = socket.socketpair()
    if os.fork() == 0:
        near.close()
        with far.makefile("rw", buffering=1) as file:
            for line in file:
                file.write(json.dumps(handle(json.loads(line))) + "\n")
        os._exit(0)
    far.close()
    WORKERS.append(near.makefile("rw", buffering=1))
    return len(WORKERS) - 1


def in_worker(number, request):
    WORKERS[number].write(json.dumps(request) + "\n")
    return json.loads(WORKERS[number].readline())


def spawn_run(argv):
    """posix_spawn, whose child's pid is not known before."""
    reader, writer = os.pipe()
    child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, reader)])
    os.close(writer)
    data = drain(reader)
    os.waitpid(child, 0)
    os.close(reader)
    return data


def system_run(command):
    """system(3): libc starts the shell without passing by any exported name."""
    reader, writer = os.pipe()
    saved = os.dup(1)
    os.dup2(writer, 1)
    os.close(writer)
    os.system(command)
    os.dup2(saved, 1)
    os.close(saved)
    data = drain(reader)
    os.close(reader)
    return data


def handle(request):
    what = request.pop("do")
    if what == "run":
        data, status, *errors = run(**request)
        answer = {"output": base64.b64encode(data).decode(), "status": status}
        return {**answer, "errors": errors[0].decode()} if errors else answer
    if what == "write":
        return {"errno": write(**request)}
    if what in ("fork_run", "spawn_run", "system_run"):
        data = {"fork_run": fork_run, "spawn_run": spawn_run, "system_run": system_run}[what](**request)
        return {"output": base64.b64encode(data).decode()}
    if what == "connect":
        import connections
        return {"output": base64.b64encode(connections.WAYS[request["way"]](request["argv"], request["path"])).decode()}
    if what == "start_worker":
        return {"worker": start_worker()}
    if what == "in_worker":
        return in_worker(**request)
    if what == "open_shell":
        return {"shell": open_shell(**request)}
    if what == "errors_to_program":
        return errors_to_program(**request)
    if what == "tell":
        return {"output": base64.b64encode(send_command(**request)).decode()}
    if what == "close_shell":
        close_shell(**request)
        return {}
    if what == "read":
        with open(request["path"], "rb") as file:
            return {"output": base64.b64encode(file.read()).decode()}
    if what == "subreaper":
        import ctypes
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        return {}
    if what == "start":  # a program that goes on
        with open(request["make"], "ab"), open(request["path"], "wb") as copy:
            process = subprocess.Popen(request["argv"], stdin=subprocess.DEVNULL, stdout=copy)
        PROGRAMS[process.pid] = process
        return {"pid": process.pid}
    if what == "stop":
        process = PROGRAMS.pop(request["pid"])
        process.kill()
        process.wait()
        return {}
    if what == "hold":  # a file open for writing
        os.open(request["path"], os.O_WRONLY | os.O_APPEND)
        return {}
    if what == "environment":
        return {"environment": dict(os.environ), "pid": os.getpid()}
    raise ValueError(what)


def main():
    requests = os.fdopen(int(sys.argv[1]), "r")
    answers = os.fdopen(int(sys.argv[2]), "w", buffering=1)
    for line in requests:
        try:
            answer = handle(json.loads(line))
        except Exception as error:  # the test shows it
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()

"""A dev server that writes all the time, until SIGTERM: dev_server.py WORKSPACE LOCK REPORT.

What it writes lies in places that git ignores and in others: rewritten, replaced by a rename, changed in place, appended by a descriptor that
stays open.  Whatever it finds must be what it wrote last, or gone: a step may have removed it.  Between finding and writing no other program may
remove: the one that does holds the lock.  At the end REPORT gets how many writes there were, and what was otherwise.
"""
import fcntl
import json
import os
import random
import signal
import sys
import time

PIECE = 64


class Server:
    def __init__(self, lock):
        self.lock, self.chance, self.serial = lock, random.Random(7), 0
        self.held = {}  # path: what it holds
        self.log = None  # descriptor of server.log
        self.wrong = []

    def text(self):
        self.serial += 1
        return b"served %d\n" % self.serial * self.chance.randrange(1, 200)

    def inspect(self, path):
        """True: it is there, as it was left."""
        try:
            with open(path, "rb") as file:
                found = file.read()
        except OSError:
            return False
        held = self.held.get(path)
        if found != held and path != "server.log" and held is not None:
            self.wrong.append("%s: held %r, found %r" % (path, held[:40], found[:40]))
        return True

    def rewrite(self, path):
        self.inspect(path)
        self.held[path] = self.text()
        with open(path, "wb") as file:
            file.write(self.held[path])

    def replace(self, path):
        self.inspect(path)
        self.held[path] = self.text()
        with open(path + ".tmp", "wb") as file:
            file.write(self.held[path])
        os.rename(path + ".tmp", path)

    def in_place(self, path):
        if not self.inspect(path):
            self.held[path] = bytes(64 * PIECE)
            with open(path, "wb") as file:
                file.write(self.held[path])
        at, text = PIECE * self.chance.randrange(64), (b"%063d\n" % self.serial)
        self.held[path] = self.held[path][:at] + text + self.held[path][at + PIECE:]
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, text, at)
        os.close(fd)

    def append(self, path):
        """To the file that it opened first: one that came back by this name is its beginning."""
        if self.log is None:
            self.log, self.held[path] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), b""
        try:
            with open(path, "rb") as file:
                found, is_own = file.read(), os.path.samestat(os.fstat(file.fileno()), os.fstat(self.log))
            if found != self.held[path] if is_own else not self.held[path].startswith(found):
                self.wrong.append("%s: held %d bytes, found %d" % (path, len(self.held[path]), len(found)))
        except FileNotFoundError:
            pass
        line = b"%d\n" % self.serial
        os.write(self.log, line)
        self.held[path] += line

    def turn(self):
        action, path = self.chance.choice((
            (self.rewrite, "dist/bundle.js"), (self.rewrite, "src/live/note.txt"), (self.replace, "src/live/gen.ts"), (self.in_place, "state.db"),
            (self.in_place, "dist/index.db"), (self.append, "server.log"), *((self.replace, "dist/chunk%d.js" % i) for i in range(3))))
        fcntl.flock(self.lock, fcntl.LOCK_SH)
        try:
            for directory in "dist", "src/live":
                os.makedirs(directory, exist_ok=True)
            action(path)
        except FileNotFoundError:  # an undo or redo took the directory away just now
            self.held.pop(path, None)
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)


def main(workspace, lock, report):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    os.chdir(workspace)
    with open(lock, "w") as file:
        server = Server(file)
        turns = 0
        while not ended:
            server.turn()
            turns += 1
            time.sleep(0.001)
    with open(report + ".new", "w") as file:
        json.dump({"writes": turns, "wrong": server.wrong[:10]}, file)
    os.rename(report + ".new", report)


main(*sys.argv[1:])

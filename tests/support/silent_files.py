#!/usr/bin/env python3
"""A file system (FUSE) with one file, `file`, whose open is never answered.

usage: silent_files.py DIRECTORY; as root.  Prints a line once it is mounted, and unmounts when it is ended by SIGTERM.
"""
import ctypes
import os
import signal
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 26, 36, 42
ROOT, FILE = 1, 2
MNT_DETACH = 2


def attributes(node):
    mode, size = (0o40755, 0) if node == ROOT else (0o100644, 4000)
    return struct.pack("=6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """(errno, bytes); None: no answer."""
    if opcode in (OPEN, FORGET, BATCH_FORGET, INTERRUPT):
        return None
    if opcode == INIT:
        return 0, struct.pack("=4I2H2I2HI7I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, 0, *[0] * 7)
    if opcode == LOOKUP and body == b"file\0":
        return 0, struct.pack("=4Q2I", FILE, 0, 60, 60, 0, 0) + attributes(FILE)
    if opcode == GETATTR:
        return 0, struct.pack("=Q2I", 60, 0, 0) + attributes(node)
    return (2 if opcode == LOOKUP else 38), b""


def main():
    directory = os.fsencode(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    if libc.mount(b"silent", directory, b"fuse", 0, options) != 0:
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    signal.signal(signal.SIGTERM, lambda *_: (libc.umount2(directory, MNT_DETACH), os._exit(0)))
    print("mounted", flush=True)
    while True:
        request = os.read(fd, 1 << 18)
        _, opcode, unique, node = struct.unpack_from("=2I2Q", request)
        said = answer(opcode, node, request[40:])
        if said:
            os.write(fd, struct.pack("=IiQ", 16 + len(said[1]), -said[0], unique) + said[1])


main()

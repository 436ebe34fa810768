"""Calls that no command of the shell makes: undoing_calls.py CALL PATH..."""
import ctypes
import mmap
import os
import sys
import threading

call, *paths = sys.argv[1:]
if call == "exchange":
    ctypes.CDLL(None).renameat2(-100, os.fsencode(paths[0]), -100, os.fsencode(paths[1]), 2)
elif call == "rename":
    os.rename(*paths)
elif call == "unlink":
    os.unlink(paths[0])
elif call == "mmap":
    with open(paths[0], "r+b") as file:
        if os.path.getsize(paths[0]):
            with mmap.mmap(file.fileno(), 0) as area:
                area[0:1] = b"M"
elif call == "truncate":
    with open(paths[0], "r+b") as file:
        file.truncate(os.path.getsize(paths[0]) // 2)
        os.posix_fallocate(file.fileno(), 0, 10)
elif call == "replace":
    with open(paths[0] + ".new", "wb") as file:
        file.write(b"replaced")
    os.replace(paths[0] + ".new", paths[0])
elif call == "threads":
    def work(number):
        path = os.path.join(paths[0], "thread%d" % number)
        with open(path, "w") as file:
            file.write("x" * number)
        os.rename(path, path + ".moved")
        if number % 2:
            os.unlink(path + ".moved")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

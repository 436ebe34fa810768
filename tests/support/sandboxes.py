"""Sandboxes that programs start their commands in, as prefixes of a command."""

import os
import shutil
import subprocess
import sys

HEAD = """
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        print(errno.errorcode[ctypes.get_errno()], flush=True)
        sys.exit(77)
    return result
"""
# What an agent in a test does while an external program has its turn, which removes `go` when it is done.
WAIT_FOR_OUTSIDER = """
import os, time
def wait_for_outsider():
    time.sleep(0.5)
    open("go", "w").close()
    while os.path.exists("go"):
        time.sleep(0.02)
"""
# Everything may be read and nothing written but below the directory in the first argument; what is below the second may not even be read.
LANDLOCK = HEAD + """
READ, ALL = 0x1 | 0x4 | 0x8, 0x1fff  # execute, read a file, list a directory; Landlock's first version
may_write, hidden = sys.argv[1], sys.argv[2]
ruleset = check(libc.syscall(444, struct.pack("Q", ALL), ctypes.c_size_t(8), 0))
def allow(path, rights):
    fd = os.open(path, os.O_PATH)
    check(libc.syscall(445, ruleset, 1, struct.pack("=Qi", rights, fd), 0))
    os.close(fd)
at = "/"
for part in hidden.strip("/").split("/"):
    for name in os.listdir(at):
        path = os.path.join(at, name)
        if name != part and not os.path.islink(path) and os.path.isdir(path):
            allow(path, READ)
    at = os.path.join(at, part)
allow("/dev", ALL)
allow(may_write, ALL)
check(libc.prctl(38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
check(libc.syscall(446, ruleset, 0))
os.execvp(sys.argv[3], sys.argv[3:])
"""


def python(text, *words):
    return " ".join(["'%s' -c '%s'" % (sys.executable, text.replace("'", "\"")), *words])


# {w}: the workspace.  {n}: a directory that is not there yet.
SANDBOXES = {
    "bwrap": "bwrap --ro-bind / / --bind {w} {w}",
    "bwrap_all": "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --bind {w} {w} --chdir {w}",
    # The session, the library and the socket of the run are not there.
    "bwrap_hidden": "bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev "
                    "--proc /proc --tmpfs /tmp --bind {w} {w} --chdir {w}",
    "firejail": "firejail --quiet --noprofile --",
    "landlock": python(LANDLOCK, "{w}", "/nonexistent"),
    "pivot_root": "unshare -Urm --propagation private bash -c 'mkdir -p {n}; mount --rbind / {n}; cd {n}; mkdir -p .{n}.old; "
                  "pivot_root . .{n}.old; cd {w}; exec \"$@\"' x",
}


def prefix(name, workspace, new):
    """Of a command in that sandbox, to be ended by a space; None: it does not work here."""
    words = SANDBOXES[name].replace("{w}", str(workspace)).replace("{n}", str(new)) + " "
    if not shutil.which(words.split()[0].strip("'")):
        return None
    done = subprocess.run(["bash", "-c", words + "true"], cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(workspace)}, check=False)
    return words if done.returncode == 0 else None

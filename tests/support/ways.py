#!/usr/bin/env python3
"""Ways to read a file that a rule keeps from programs, and what becomes of each: the table of docs/rules.md.

As a program: tries them all; says where the page differs, and exits with 1 if it does; with --fix writes the page.

A way is a shell command in a directory of its own, which has

    .env            the file that `secrets:deny` protects
    d/.env          the same, in a directory
    decoy           another file
    hard, soft, ld  a hard link and a symbolic link to .env, and a link to d, made before the run

It has read the file where `SECRET=...` is on its standard output. $R is tests/programs/helpers/reads_by, $S the same static.
$PID is a program outside of the run that has the file open as $FD, mapped as $MAPPED of its /proc/PID/map_files, and its bytes at $ADDRESS; $SOCKET
hands out such a descriptor, $READER the bytes.
"""
import concurrent.futures
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("SEEN_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("SEEN_BUILD") or SOURCE / "build/release")
SEEN = str(BUILD / "bin/seen")
PAGE = SOURCE / "docs/rules.md"
BEGIN, END = "<!-- ways: tests/support/ways.py --fix -->\n", "<!-- /ways -->\n"
NOBODY = 65534
# What `seen run` is given for a column of the table, beside the rule.
COLUMNS = {
    "rules, preload": ["--via", "preload", "--best-effort"],
    "rules, both": ["--via", "both"],
    "confine": ["--confine"],
    "confine, Landlock": ["--confine", "-c", "confine.by=rules"],
}
OPENAT = 257 if os.uname().machine == "x86_64" else 56
NAMESPACES = "unshare -Urm --propagation private"

# KEY, what the page says, the command, the program that it needs
WAYS = [
    ("cat", "`cat .env`", "cat .env"),
    ("redirect", "the shell's `< .env`", "cat < .env"),
    ("builtin", "the shell's `$(< .env)`", "echo \"$(< .env)\""),
    ("sourced", "`. ./.env`", ". ./.env; echo SECRET=$SECRET"),
    ("descriptor", "the shell's `exec 3< .env`", "exec 3< .env && cat <&3"),
    ("dots", "a path with `..`", "cat d/../.env"),
    ("cp", "`cp`, then the copy", "cp .env copy && cat copy"),
    ("dd", "`dd`", "dd if=.env status=none"),
    ("tar", "`tar` of the directory", "tar cf - . | tar xOf - ./.env"),
    ("rsync", "`rsync`", "rsync .env copy && cat copy", "rsync"),
    ("zip", "`zip`", "zip -q z.zip .env && unzip -p z.zip", "zip"),
    ("git", "`git add`, then `git show`", "git init -q . && git add -f .env && git show :.env", "git"),
    ("git-object", "`git hash-object -w`", "git init -q . && git cat-file -p $(git hash-object -w .env)", "git"),
    ("grep", "`grep -r`", "grep -rh SECRET ."),
    ("find", "`find -exec`", "find . -name .env -exec cat {} +"),
    ("sed", "`sed -i`, with a copy kept", "sed -i.bak s/x/x/ .env; cat .env.bak"),
    ("ed", "an editor: `ed`", "printf '1,$p\\nq\\n' | ed -s .env", "ed"),
    ("vim", "an editor: `vim`, saved under another name", "vim -es -u NONE -c 'w copy' -c q .env </dev/null; cat copy", "vim"),
    ("perl", "Perl", "perl -ne print .env", "perl"),
    ("python", "Python", "python3 -c 'print(open(\".env\").read())'"),
    ("node", "Node", "node -e 'process.stdout.write(require(\"fs\").readFileSync(\".env\"))'", "node"),
    ("curl", "`curl file://`", "curl -s file://$PWD/.env", "curl"),
    ("clean", "an environment without the library", "env -i /bin/cat .env"),
    ("loader", "the loader called by name", "env -i $(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null | head -1) /bin/cat .env"),
    ("background", "a daemon (`setsid`)", "setsid sh -c 'cat .env > out; : > ended' & until [ -e ended ]; do sleep 0.05; done; cat out"),
    ("spawn", "a file action of posix_spawn", "$R spawn .env"),
    ("fifo", "through a FIFO", "mkfifo f; cat .env > f & timeout 1 cat f"),
    ("core", "a core dump", "ulimit -c unlimited; sh -c 'read x < .env; kill -SEGV $$'; cat core* 2>/dev/null | tr -d '\\0'"),
    ("mapping", "a mapping", "$R mapping .env"),
    ("update", "opened to read and write", "$R update .env"),
    ("sendfile", "sendfile(2)", "$R sendfile .env"),
    ("copy-range", "copy_file_range(2)", "$R copy-range .env copy"),
    ("openat", "relative to a directory's descriptor", "$R directory d .env"),
    ("openat2", "openat2(2)", "$R openat2 .env"),
    ("openat2-root", "openat2(2) in another root", "$R openat2-in-root d /.env"),
    ("syscall", "libc's syscall()", "$R syscall .env"),
    ("instruction", "a system call past libc", "$R instruction .env"),
    ("int80", "a 32-bit system call", "$S 32-bit-call .env"),
    ("program-32", "a 32-bit program", "$R32 open .env", "R32"),
    ("ring", "io_uring(7)", "$R ring .env"),
    ("static", "a static program", "$S open .env"),
    ("busybox", "a static program: busybox", "busybox cat .env", "busybox"),
    ("musl", "a program with musl", "$MUSL open .env", "MUSL"),
    ("go", "a Go program", "$GO .env", "GO"),
    ("setuid", "a setuid program", "$SETUID open .env", "SETUID"),
    ("symlink", "a symbolic link", "ln -s .env l && cat l"),
    ("symlink-before", "a symbolic link made before the run", "cat soft"),
    ("symlink-static", "a symbolic link, by a static program", "$S open soft"),
    ("directory-link", "a linked directory", "cat ld/.env"),
    ("chain", "a chain of links through /proc", "ln -s /proc/self/cwd/soft l && cat l"),
    ("hard-before", "a hard link made before the run", "cat hard"),
    ("hard-static", "a hard link made before the run, by a static program", "$S open hard"),
    ("hard-stream", "a hard link made before the run, by fopen(3)", "$R stream hard"),
    ("hard-link", "a hard link", "ln .env l; cat l"),
    ("hard-link-static", "a hard link made by a static program", "$S link .env l"),
    ("link-descriptor", "a hard link made of a descriptor", "$R link-of-descriptor .env l"),
    ("link-descriptor-static", "a hard link made of a descriptor by a static program", "$S link-of-descriptor .env l"),
    ("link-empty", "a hard link of an empty name (AT_EMPTY_PATH)", "$S link-of-empty .env l"),
    ("rename", "renamed, then read", "mv .env x; cat x"),
    ("rename-static", "renamed by a static program", "$S rename .env x"),
    ("exchange", "exchanged with another name", "$S exchange .env decoy"),
    ("rename-directory", "its directory renamed, and a link in there", "ln -s .env d/l; mv d e; cat e/l"),
    ("late", "a file that another program makes, by its other name", "touch please; sleep 1.5; cat other"),
    ("outside", "a file outside of the workspace, by a link", "ln -s $ELSEWHERE/.env l; cat l"),
    ("proc-root", "/proc/self/root", "cat /proc/self/root$PWD/hard"),
    ("proc-root-static", "/proc/self/root, by a static program", "$S open /proc/self/root$PWD/soft"),
    ("proc-cwd", "/proc/self/cwd, by a static program", "$S open /proc/self/cwd/hard"),
    ("other-root", "/proc/PID/root of another process, by a static program", "sleep 5 & $S open /proc/$!/root$PWD/hard; kill $!"),
    ("other-cwd", "/proc/PID/cwd of another process", "sleep 5 & cat /proc/$!/cwd/hard; kill $!"),
    ("other-fd", "/proc/PID/fd of a program outside", "cat /proc/$PID/fd/$FD"),
    ("other-fd-static", "/proc/PID/fd by a static program, of a program outside", "$S open /proc/$PID/fd/$FD"),
    ("o-path", "O_PATH, reopened by /proc/self/fd", "$R path-descriptor hard"),
    ("o-path-static", "O_PATH, reopened by a static program", "$S path-descriptor hard"),
    ("passed", "a descriptor passed by a program outside (SCM_RIGHTS)", "$R receiving $SOCKET"),
    ("passed-static", "a descriptor passed to a static program", "$S receiving $SOCKET"),
    ("taken", "a descriptor taken from a program outside (pidfd_getfd)", "$R taking $PID $FD"),
    ("memory", "the memory of a program outside (process_vm_readv)", "$R memory $PID $ADDRESS"),
    ("memory-file", "the memory of a program outside (/proc/PID/mem)", "$S memory-file $PID $ADDRESS"),
    ("ptrace", "ptrace(2) of a program outside", "$R tracing $PID $ADDRESS"),
    ("inherited", "a descriptor that the run was given", "$R inherited 9"),
    ("inherited-mapping", "a mapping of a descriptor that the run was given", "$R mapping - 9"),
    ("handle", "a file handle (open_by_handle_at)", "$R handle hard"),
    ("handle-static", "a file handle, by a static program", "$S handle .env"),
    ("bind", "a bind mount of the file", NAMESPACES + " sh -c 'touch m; mount --bind .env m && cat m'"),
    ("bind-static", "a bind mount of the file, by a static program", NAMESPACES + " sh -c 'touch m; mount --bind .env m && $S open m'"),
    ("bind-directory", "a bind mount of the directory", NAMESPACES + " sh -c 'mkdir m; mount --bind d m && cat m/.env'"),
    ("overlay", "an overlay of the directory", NAMESPACES + " sh -c 'mkdir u w m; mount -t overlay o -o lowerdir=d,upperdir=u,workdir=w m && cat m/.env'"),
    ("chroot", "in another root", "cp $S d/s; unshare -Ur chroot d /s open /.env"),
    ("pivot", "behind pivot_root", NAMESPACES + " sh -c 'mkdir m; mount --bind d m; cp $S m/s; mkdir m/old; cd m && pivot_root . old && exec /s open /.env'"),
    ("pid-namespace", "in a PID namespace, by its own /proc, by a static program", "unshare -Urpfm --mount-proc $S open /proc/self/root$PWD/hard"),
    ("bubblewrap", "in bubblewrap, bound to another name", "bwrap --ro-bind / / --dev /dev --ro-bind .env $PWD/decoy cat $PWD/decoy", "bwrap"),
    ("race-names", "a name swapped after the check", "$R race-of-names .env decoy n"),
    ("race-names-static", "a name swapped after the check, by a static program", "$S race-of-names .env decoy n"),
    ("race-texts", "an argument changed after the check", "ln -s .env ab; ln -s decoy cd; $R race-of-texts ab cd"),
    ("race-texts-static", "an argument changed after the check, by a static program", "ln -s .env ab; ln -s decoy cd; $S race-of-texts ab cd"),
]
WAYS += [
    ("cpp", "the C preprocessor (`#include`)", "cc -E -P -include hard - < /dev/null", "cc"),
    ("make", "a makefile that includes it", "printf 'include hard\\n$(info SECRET=$(SECRET))\\nall:;@:\\n' > Makefile; make -s", "make"),
    ("diff", "`diff`", "diff /dev/null hard"),
    ("git-diff", "`git diff --no-index`", "git diff --no-index /dev/null hard", "git"),
    ("xargs", "`xargs -a`", "xargs -a hard echo"),
    ("error", "an error message (`date -f`)", "date -f hard 2>&1"),
    ("sqlite", "SQLite's readfile()", "sqlite3 :memory: \"select readfile('hard')\"", "sqlite3"),
    ("trace", "run as a script (`sh -x`)", "sh -x hard 2>&1"),
    ("busybox-shell", "a static shell's `read`", "busybox sh -c 'read x < hard; echo $x'", "busybox"),
    ("ctypes", "a system call by Python's ctypes", "python3 -c 'import ctypes, os; print(os.read(ctypes.CDLL(None).syscall(" + str(OPENAT) + ", -100, b\"hard\", 0), 99).decode())'"),
    ("unset", "`LD_PRELOAD` unset", "env -u LD_PRELOAD python3 -c 'print(open(\"hard\").read())'"),
    ("overridden", "`LD_PRELOAD` set to another one", "LD_PRELOAD=libm.so.6 cat hard"),
    ("gdb", "a debugger", "gdb -batch -nx -ex 'python print(open(\"hard\").read())'", "gdb"),
    ("debugged", "a program below a debugger", "gdb -batch -nx -ex run --args cat hard", "gdb"),
    ("traced", "a static program below strace(1)", "strace -o /dev/null $S open hard", "strace"),
    ("gcore", "a core of a program outside (`gcore`)", "gcore -o c $PID > /dev/null; tr -d '\\0' < c.$PID", "gcore"),
    ("splice-static", "splice(2), by a static program", "$S splice hard"),
    ("tree", "open_tree(2), reopened", "$R tree hard"),
    ("tree-static", "open_tree(2), reopened by a static program", "$S tree hard"),
    ("thread-static", "another thread of a static program", "$S thread hard"),
    ("shared-static", "a child that shares the descriptors of a static program", "$S shared-descriptors hard"),
    ("map-files", "/proc/PID/map_files of a program outside", "cat /proc/$PID/map_files/$MAPPED"),
    ("map-files-static", "/proc/PID/map_files by a static program, of a program outside", "$S open /proc/$PID/map_files/$MAPPED"),
    ("asked", "a program outside that reads it when asked, as Docker, tmux or systemd would", "python3 -c 'import socket, sys; s = socket.socket(1); s.connect(sys.argv[1]); print(s.recv(99).decode())' $READER"),
    ("untraceable", "a program that no other may trace (PR_SET_DUMPABLE)", "$R untraceable hard"),
    ("untraceable-static", "a static program that no other may trace", "$S untraceable .env"),
    ("unreadable-static", "a static program that may be executed and not read", "cp $S s; chmod 111 s; ./s open .env"),
    ("nsenter", "the mounts of a program outside (`nsenter`)", "nsenter -m -t $PID cat $PWD/hard"),
]
INHERITED = {"inherited", "inherited-mapping"}  # need a run of their own, which is handed the descriptor
HELPERS = BUILD / "tests/programs/helpers"

# Outside of the run: has the file, hands it out, makes another one when it is asked to.
HOLDER = r'''
import array, ctypes, mmap, os, socket, sys, time
ways, where, reader = sys.argv[1:4]
fd = os.open(os.path.join(ways, "other-fd", ".env"), os.O_RDONLY)
memory = ctypes.create_string_buffer(os.pread(fd, 256, 0), 256)
mapping = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
with open("/proc/self/maps") as maps:
    mapped = next(line.split()[0] for line in maps if line.rstrip().endswith("/other-fd/.env"))
def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    listener.settimeout(0.02)
    return listener
listener, listener_of_bytes = listen(where), listen(reader)
print(fd, ctypes.addressof(memory), "-".join("%x" % int(part, 16) for part in mapped.split("-")), flush=True)
late = os.path.join(ways, "late")
while True:
    if os.path.exists(late + "/please") and not os.path.exists(late + "/other"):
        with open(late + "/.env", "wb") as file:
            file.write(memory.value)
        os.link(late + "/.env", late + "/other")
    try:
        client, _ = listener_of_bytes.accept()
        client.sendall(memory.value)
        client.close()
    except TimeoutError:
        pass
    try:
        client, _ = listener.accept()
    except TimeoutError:
        continue
    client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    client.close()
'''
# Inside: one way after the other.
DRIVER = r'''
while read -r key; do
	( cd "$WAYS_DIRECTORY/$key" && timeout -k 1 8 bash "$WAYS_OUT/$key.sh" > "$WAYS_OUT/$key.out" 2> "$WAYS_OUT/$key.err" < /dev/null )
done < "$1"
exit 0
'''


def build(directory):
    """Programs that are compiled here: what there is no compiler for is left out."""
    made = {}
    commands = {"MUSL": ["musl-gcc", "-static"], "R32": ["gcc", "-m32"]}
    small = directory / "small.c"
    small.write_text('#include <fcntl.h>\n#include <unistd.h>\nint main(int c, char **v){char b[99]; int f = open(v[c - 1], O_RDONLY);'
                     ' long n = read(f, b, sizeof b); return n > 0 ? write(1, b, n) < 0 : 1;}\n')
    for name, command in commands.items():
        path = directory / name
        if shutil.which(command[0]) and subprocess.run([*command, "-o", path, small], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                       stderr=subprocess.DEVNULL).returncode == 0:
            made[name] = path
    if shutil.which("go"):
        (directory / "main.go").write_text('package main\nimport "os"\nfunc main() { b, _ := os.ReadFile(os.Args[1]); os.Stdout.Write(b) }\n')
        if subprocess.run(["go", "build", "-o", directory / "GO", directory / "main.go"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, "HOME": str(directory), "GOCACHE": str(directory / "cache"), "GO111MODULE": "off"}).returncode == 0:
            made["GO"] = directory / "GO"
    return made


class Trial:
    """A workspace with a directory for each way, as one user."""

    def __init__(self, user):
        self.user = user
        self.directory = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="seen-ways.")))
        self.workspace, self.out = self.directory / "workspace", self.directory / "out"
        self.elsewhere = self.directory / "elsewhere"
        self.secret = b"SECRET=" + secrets.token_hex(8).encode() + b"\n"
        for path in (self.workspace, self.out, self.elsewhere, self.directory / "run", self.directory / "home"):
            path.mkdir(mode=0o700)
        shutil.copy(HELPERS / "reads_by", self.directory / "R")
        shutil.copy(HELPERS / "reads_by_static", self.directory / "S")
        self.programs = {"R": self.directory / "R", "S": self.directory / "S", **build(self.directory)}
        (self.elsewhere / ".env").write_bytes(self.secret)
        for way in WAYS:
            self.prepare(way[0])
        if os.geteuid() == 0 and user:
            for root, directories, files in os.walk(self.directory):
                for name in (".", *directories, *files):
                    os.lchown(os.path.join(root, name), user, user)
            self.programs["SETUID"] = self.directory / "SETUID"
            shutil.copy(self.programs["S"], self.programs["SETUID"])
            os.chmod(self.programs["SETUID"], 0o4755)
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.directory / "home"), "LANG": "C.UTF-8",
                            "TMPDIR": str(self.directory), "XDG_RUNTIME_DIR": str(self.directory / "run"), "SEEN_PATHS_WORKSPACE": str(self.workspace),
                            "WAYS_DIRECTORY": str(self.workspace), "WAYS_OUT": str(self.out), "ELSEWHERE": str(self.elsewhere),
                            **{name: str(path) for name, path in self.programs.items()}}
        self.holder = self.hold()

    def prepare(self, key):
        directory = self.workspace / key
        (directory / "d").mkdir(parents=True)
        (directory / "decoy").write_bytes(b"nothing\n")
        (directory / "d/.env").write_bytes(self.secret)
        (directory / "ld").symlink_to("d")
        if key == "late":
            return
        (directory / ".env").write_bytes(self.secret)
        (directory / "soft").symlink_to(".env")
        os.link(directory / ".env", directory / "hard")

    def as_user(self):
        if not self.user or os.geteuid() != 0:
            return []
        return ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups"]

    def hold(self):
        holder = subprocess.Popen([*self.as_user(), sys.executable, "-c", HOLDER, self.workspace, self.directory / "socket", self.directory / "reader"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.environment)
        fd, address, mapped = holder.stdout.readline().decode().split()
        self.environment.update(PID=str(holder.pid), FD=fd, ADDRESS=address, MAPPED=mapped, SOCKET=str(self.directory / "socket"),
                                READER=str(self.directory / "reader"))
        return holder

    def possible(self, way):
        """Is there what it needs here?"""
        need = way[3] if len(way) > 3 else None
        return not need or need in self.programs or shutil.which(need, path=self.environment["PATH"]) is not None

    def run(self, options, keys, handed_on=None):
        chosen = [way for way in WAYS if way[0] in keys and self.possible(way)]
        for key, _, command, *_ in chosen:
            (self.out / f"{key}.sh").write_text(command + "\n")
        (self.out / "keys").write_text("".join(way[0] + "\n" for way in chosen))
        (self.out / "driver").write_text(DRIVER)
        run = [SEEN, "run", "--quiet", "--rules", "secrets:deny", *options, "--"] if options is not None else []
        command = [*run, "bash", self.out / "driver", self.out / "keys"]
        if handed_on is not None:
            command = ["bash", "-c", 'exec 9<&"$0" && eval "exec $0<&-" && exec "$@"', str(handed_on), *command]
        done = subprocess.run([*self.as_user(), *command], cwd=self.workspace, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=() if handed_on is None else (handed_on,), timeout=500)
        found = {}
        for way in chosen:
            out = self.out / f"{way[0]}.out"
            found[way[0]] = out.exists() and self.secret.strip() in out.read_bytes()
        return found, done

    def column(self, options, skipped):
        """{way: was the file read?} of one column."""
        found, done = self.run(options, {way[0] for way in WAYS} - INHERITED - set(skipped))
        if done.returncode:
            raise RuntimeError(done.stdout.decode())
        with open(self.workspace / "inherited/.env", "rb") as file:
            found.update(self.run(options, INHERITED, handed_on=file.fileno())[0])
        return found

    def close(self):
        self.holder.send_signal(signal.SIGKILL)
        self.holder.wait()
        self.holder.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def users():
    """Who tries: root, and an ordinary user; or the user that there is."""
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


def measure(column, tried=None, skipped=()):
    """{way: {user: was the file read?}}; column: None: without `seen`.  tried: users; None: all."""
    found = {}
    for user in tried or users():
        trial = Trial(user)
        try:
            for key, read in trial.column(COLUMNS[column] if column else None, skipped).items():
                found.setdefault(key, {})[user] = read
        finally:
            trial.close()
    return found


def measure_all(tried=None, skipped=()):
    """{column: measure()} of all columns, beside each other: their ways wait most of the time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(COLUMNS, pool.map(lambda column: measure(column, tried, skipped), COLUMNS)))


def cell(results):
    if results is None:
        return "-"
    if not any(results.values()):
        return "refused"
    if all(results.values()) and len(results) > 1:
        return "**read**"
    return "**read** (%s)" % "; ".join("by root" if user == 0 else "by an ordinary user" for user in sorted(results) if results[user])


def words():
    """The page, in its words for each way."""
    return [way[1] for way in WAYS]


def table(measured):
    """measured: {column: measure()}"""
    lines = [f"| way | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    for way in WAYS:
        lines.append(f"| {way[1]} | {' | '.join(cell(measured[column].get(way[0])) for column in COLUMNS)} |")
    sums = [f"{sum(any(results.values()) for results in measured[column].values())} of {len(measured[column])}" for column in COLUMNS]
    lines.append(f"| **read** | {' | '.join(sums)} |")
    return "\n".join(lines) + "\n"


def on_page(text):
    """{way's words: [cells]} of the page."""
    part = text.split(BEGIN)[1].split(END)[0]
    return {row[0]: row[1:] for row in ([cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()[2:])}


def main():
    text = PAGE.read_text()
    made = table(measure_all())
    wanted = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + made + END, text, flags=re.S)
    if "--fix" in sys.argv[1:]:
        PAGE.write_text(wanted)
    elif wanted != text:
        print(made)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

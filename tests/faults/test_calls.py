"""Each system call that seen makes of its own, failing (programs/helpers/fail_calls.c): the stranger's programs do what they do without, nothing is
lost, and where the program itself cannot go on it says so, with a status of its own.

A sample of (mechanism, who calls, call, error, which one of them), SEEN_FAULTS of them by SEEN_SEED: at first one of each call and error.  And the table of calls is held against
those that seen makes in other tests: SEEN_TRACED, names of them, or a few; in the long form all that do not trace themselves.
"""
import errno
import os
import random
import re
import subprocess
import sys
import unittest

from driver import LIBRARY, SEEN, SOURCE
from failing import COMMANDS, FAILS, PATIENCE_S, SHORT, Failing, call_names

LONG = bool(os.environ.get("SEEN_LONG"))
FAULTS = int(os.environ.get("SEEN_FAULTS") or (600 if LONG else 4))
SEED = int(os.environ.get("SEEN_SEED") or 20261127)
TRACED = (os.environ.get("SEEN_TRACED") or ("" if LONG else "sessions undo_merge")).split()
# What each may end with; SHORT: one byte of it is done.
ERRORS = """
open openat: EACCES ENOENT EMFILE ENOMEM EIO EPERM ELOOP EINTR
openat2: EACCES ENOENT EMFILE ENOMEM EIO EPERM ELOOP EINTR ENOSYS EAGAIN
read pread64: EIO EINTR SHORT
write pwrite64: ENOSPC EIO EINTR SHORT
pwritev: ENOSPC EIO
stat lstat: EACCES ENOENT EMFILE ENOMEM
fstat msync: EIO ENOMEM
newfstatat: EACCES ENOENT EMFILE ENOMEM EIO EPERM
statx: ENOMEM ENOSYS
access faccessat: EACCES ENOENT
faccessat2: ENOSYS EACCES
readlink readlinkat: ENOENT EACCES EIO
fcntl: EMFILE EINVAL ENOLCK EPERM
flock: ENOLCK EINTR EAGAIN
ftruncate: EIO EFBIG EINTR EPERM
fallocate: ENOSPC EOPNOTSUPP EINTR EIO
mmap: ENOMEM EACCES ENODEV
mremap munmap mprotect: ENOMEM
madvise: EINVAL EAGAIN
memfd_create: EMFILE ENOMEM ENOSYS
close: EIO EINTR
dup3: EMFILE EBUSY
link: EMLINK EPERM ENOSPC
linkat: EMLINK EPERM EXDEV ENOSPC EEXIST
rename renameat: ENOSPC EACCES EXDEV
renameat2: ENOSYS EINVAL ENOSPC
unlink unlinkat: EACCES EBUSY EROFS ENOENT
mkdir mkdirat: ENOSPC EACCES EROFS
rmdir: EBUSY EACCES
getdents64: EIO ENOENT
lseek: EINVAL
ioctl: EINTR
chmod fchmod fchmodat utimensat: EPERM EROFS
fchown prlimit64: EPERM
copy_file_range: ENOSYS EXDEV EIO ENOSPC
fsync fdatasync: EIO ENOSPC
socket: EMFILE EACCES ENOBUFS
connect: ECONNREFUSED EACCES ENOENT
sendto: EAGAIN ENOBUFS
recvfrom: EAGAIN EINTR
sendmsg listen: ENOBUFS
recvmsg: EINTR EMFILE
socketpair pipe2 epoll_create1 inotify_init1 signalfd4 timerfd_create eventfd2: EMFILE
bind: EACCES
accept4: EMFILE EINTR
clone vfork: EAGAIN ENOMEM
clone3: EAGAIN ENOSYS
fork: EAGAIN
poll ppoll: EINTR ENOMEM
epoll_ctl: ENOMEM ENOSPC
epoll_wait epoll_pwait wait4: EINTR
inotify_add_watch: ENOSPC EACCES ENOENT
prctl: EINVAL EPERM
seccomp: EINVAL EBUSY ENOSYS EPERM
process_vm_readv: EPERM ESRCH EFAULT
process_vm_writev: EPERM ESRCH
pidfd_open: EMFILE ENOSYS ESRCH
pidfd_getfd: EPERM EMFILE ENOSYS
pidfd_send_signal: ENOSYS ESRCH
getcwd: ENOENT ENOMEM
statfs fstatfs: EIO ENOSYS
kcmp: EPERM ENOSYS
setxattr fsetxattr: EOPNOTSUPP ENOSPC
fgetxattr flistxattr: EOPNOTSUPP EIO
llistxattr lgetxattr: EOPNOTSUPP
close_range: ENOSYS EINVAL
execve: ENOMEM EAGAIN
chdir: EACCES ENOENT
dup2: EBUSY EMFILE
getxattr: EOPNOTSUPP EIO
kill: EPERM ESRCH
setpgid setsid setpriority: EPERM
timerfd_settime sysinfo sched_getaffinity: EINVAL
rt_sigtimedwait: EINTR EAGAIN
clock_nanosleep: EINTR
waitid: EINTR ECHILD
capget: EPERM
tgkill: ESRCH
"""
# Those that cannot fail, or that libc makes of its own, where its function cannot report it.
NEVER = set("arch_prctl brk exit exit_group futex getegid geteuid getgid getuid getpid getppid getpgid getpgrp getrandom gettid restart_syscall rseq rt_sigaction rt_sigprocmask rt_sigreturn "
            "set_robust_list set_tid_address sched_yield umask uname".split())
LOADER, LOADER_CALLS = ("mmap", "mprotect", "munmap", "openat", "read", "pread64", "newfstatat"), 100  # libc's, before the program begins
# The program's own statuses for "it is not started" and "it cannot go on".
OWN_STATUSES = {1, 3, 4, 5, 124, 125, 126, 127}


def errors_of():
    """{name of a call: errors}"""
    found = {}
    for line in ERRORS.split("\n")[1:-1]:
        names, _, errors = line.partition(": ")
        for name in names.split():
            found[name] = [SHORT if error == "SHORT" else getattr(errno, error) for error in errors.split()]
    return found


class Calls(Failing):
    def setUp(self):
        super().setUp()
        self.names = call_names()
        self.errors = errors_of()
        self.numbers = {name: number for number, name in self.names.items()}

    def named_counts(self):
        return {(who, self.names[call]): count for (who, call), count in self.counts().items() if call in self.names}

    def sample(self, by_way):
        """(via, who, call, error, number): at first one of each call and error, then any."""
        chance = random.Random(SEED)
        kinds = {(who, call, error) for counts in by_way.values() for who, call in counts for error in self.errors.get(call, ())}
        queue = sorted(kinds)
        chance.shuffle(queue)
        while True:
            for who, call, error in queue:
                via = chance.choice([via for via in by_way if (who, call) in by_way[via]])
                count = by_way[via][who, call]
                number = chance.choice((1, 2, 3, count, chance.randrange(count) + 1))
                if who == "library" or call not in LOADER or number > LOADER_CALLS:
                    yield via, who, call, error, number

    def check(self, about, bare):
        via, who, call, error, number = about
        try:
            done, got, found = self.play(via, who, self.numbers[call], number, error)
        except subprocess.TimeoutExpired:
            self.fail("%s: does not end" % (about,))
        if got is None:
            self.assertEqual(who, "program", (about, done))
            self.assertTrue(done.returncode in OWN_STATUSES and done.stderr, (about, done))
            return "refused"
        self.check_as_bare(about, bare, (done, got, found))
        if done.returncode != 0:
            self.assertTrue(who == "program" and done.returncode in OWN_STATUSES and done.stderr, (about, done))
        return self.check_undone(about, done)

    def test_interrupted_answers(self):
        """A stop of the supervisor interrupts what it tells the kernel: the program that waits for it is answered all the same."""
        plan = [word for number in range(200, 216) for word in ("program", self.numbers["ioctl"], number, errno.EINTR)]
        done, got, _ = self.play("supervise", *plan)
        self.assertEqual((done.returncode, len(got or ()), self.failed()), (0, len(COMMANDS), 16), done)

    def test_unsent(self):
        """A message about the start or the end that cannot be sent: the command is started, and once, and the run ends as it does."""
        bare = self.play(None)
        for via, call, number in (("supervise", "sendmsg", 1), ("both", "sendto", 1), ("both", "sendto", 2), ("both", "sendto", 3), ("auto", "sendto", 1), ("auto", "sendto", 2)):
            played = self.play(via, "program", self.numbers[call], number, errno.ENOBUFS)
            self.assertEqual((self.failed(), played[0].returncode), (1, 0), (via, call, number))
            self.check_as_bare((via, call, number), bare, played)

    def test_end_unsent(self):
        """A message about the end that cannot be sent at once: the run ends as its command does, while another program below it lives on."""
        waits = "for i in {1..1000}; do [ -e over ] && exit; sleep 0.1; done; echo > never"
        for via in ("supervise", "both"):
            self.new_tree()
            self.below(("program", self.numbers["sendto"], 3, errno.ENOBUFS), "/bin/bash", "-c", '"$@"; echo $? > over', "x", SEEN, "run", "--via", via, "--session", "s", "--", "bash", "-c",
                       "(%s) > /dev/null 2>&1 & exit 7" % waits)
            self.assertEqual((self.failed(), (self.work / "over").read_bytes(), (self.work / "never").exists()), (1, b"7\n", False), via)

    def test_calls(self):
        bare, by_way, results = self.play(None), {}, {}
        for via in ("preload", "both", "supervise") if LONG else ("both",):
            self.play(via)
            by_way[via] = self.named_counts()
        faults, failed = self.sample(by_way), 0
        for _ in range(FAULTS):
            about = next(faults)
            with self.subTest(about):
                result = self.check(about, bare)
                failed += self.failed() > 0
                results[result] = results.get(result, 0) + 1
        calls = {key for counts in by_way.values() for key in counts}
        print("seed %d: %d faults, %d reached; %s; of %d (who, call)" % (SEED, FAULTS, failed, ", ".join("%s %d" % pair for pair in sorted(results.items())), len(calls)))
        self.check_table(call for _, call in calls)

    def check_table(self, calls):
        self.assertEqual(set(calls) - self.errors.keys() - NEVER, set(), "calls that are in no table")

    def traced_files(self):
        files = sorted((SOURCE / "tests/behaviour").glob("test_*.py"))
        if TRACED:
            return [file for file in files if file.stem[5:] in TRACED]
        return [file for file in files if not file.stem.endswith("_long") and not re.search(r"strace|ptrace|gdb", file.read_text())]

    def test_table(self):
        """Whether such a test passes below a tracer does not matter."""
        calls = {}
        for file in self.traced_files():
            (self.top / "counts").unlink(missing_ok=True)
            with self.subTest(file.stem):
                try:
                    subprocess.run([FAILS, str(self.top / "counts"), os.path.realpath(LIBRARY), os.path.realpath(SEEN), "--", sys.executable, str(SOURCE / "tests/support/run-unittest"), str(file)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
                except subprocess.TimeoutExpired:  # with no counts
                    continue
                found = self.named_counts()
                for (who, call), count in found.items():
                    calls[who, call] = calls.get((who, call), 0) + count
                self.check_table(call for _, call in found)
        self.assertTrue(calls)
        print("%d calls of %d (who, call)" % (sum(calls.values()), len(calls)))


if __name__ == "__main__":
    unittest.main()

"""No right is lent: what a sandbox keeps from a program, the supervisor does not give to it, neither the bytes nor a word on them.

Each way is tried without seen and below it, on a file that the agent was given before: both print the same."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import BUILD, LONG, NOTICE, SEEN, VIA, lines
from sandboxes import LANDLOCK, python
from test_environments import BUSYBOX, BWRAP, NOBODY, SETPRIV, Case

if VIA == "preload":
    raise unittest.SkipTest("the library lends nothing: it is in the process")

NUMBER = re.compile(rb"/proc/\d+")  # of a process
SILENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/silent_files.py")
READS_BY = os.path.join(BUILD, "tests", "programs", "helpers", "reads_by")
is_root = os.geteuid() == 0
# A ruleset that allows more once the process is below it; and a second one below a first.
ADDS = "check(libc.syscall(446, ruleset, 0))\nallow(sys.argv[2], READ)\n"
TWICE = "check(libc.syscall(446, ruleset, 0))\nruleset = check(libc.syscall(444, struct.pack(\"Q\", 0x2), ctypes.c_size_t(8), 0))\n" \
        "allow(\"/\", 0x2)\ncheck(libc.syscall(446, ruleset, 0))\n"
LAST = "check(libc.syscall(446, ruleset, 0))\n"
# Holds the file open, outside of the run.
HOLDER = "import os, sys, time\nos.chdir(sys.argv[1])\nfd = os.open('d/secret', os.O_RDONLY)\nprint(fd, flush=True)\ntime.sleep(300)"

# KEY, the command; {x}: the sandbox's prefix, $PID and $FD: of the holder.
WAYS = [
    ("name", "{x} cat d/secret"),
    ("absolute", "{x} cat $PWD/d/secret"),
    ("static", "{x} busybox cat d/secret"),
    ("dots", "{x} cat d/../d/./secret"),
    ("link", "ln -sf d/secret l; {x} cat l"),
    ("link_of_directory", "ln -sfn $PWD/d ld; {x} cat ld/secret"),
    ("link_inside", "{x} sh -c 'ln -sf d/secret o/l; cat o/l o/../d/secret'"),
    ("chain", "ln -sf /proc/self/cwd/d/secret c; {x} cat c"),
    ("self_root", "{x} cat /proc/self/root$PWD/d/secret"),
    ("self_cwd", "{x} cat /proc/self/cwd/d/secret"),
    ("other_root", "{x} cat /proc/$PID/root$PWD/d/secret"),
    ("other_cwd", "{x} cat /proc/$PID/cwd/d/secret"),
    ("other_descriptor", "{x} cat /proc/$PID/fd/$FD"),
    ("own_parent", "{x} sh -c 'cat /proc/$PPID/cwd/d/secret'"),
    ("directory_descriptor", "exec 9<d; {x} cat /proc/self/fd/9/secret"),
    ("directory_descriptor_static", "exec 9<d; {x} busybox cat /dev/fd/9/secret"),
    ("hard_link", "{x} cat d/hard"),
    ("hard_link_made", "{x} sh -c 'ln d/secret o/hard; cat o/hard; rm -f o/hard'"),
    ("renamed", "{x} sh -c 'mv d/secret o/moved; cat o/moved'; test -e d/secret && echo kept"),
    ("renamed_directory", "{x} sh -c 'mv d o/d2; cat o/d2/secret'; test -e d/secret && echo kept"),
    ("o_path", "{x} {r} path-descriptor d/secret"),
    ("openat2", "{x} {r} openat2 d/secret"),
    ("openat2_in_root", "{x} {r} openat2-in-root d /secret"),
    ("relative_to_directory", "{x} {r} directory d secret"),
    ("mount_namespace", "{x} nsenter -t $PID -m cat $PWD/d/secret"),
    ("user_namespace", "{x} unshare -Ur cat d/secret"),
    ("user_namespace_twice", "{x} unshare -Ur unshare -Ur busybox cat d/secret"),
    ("redirected", "{x} sh -c 'cat < d/secret'"),
    ("reader", "{x} sh -c 'sed -n 1,9p d/secret; head -3 d/secret; grep -c line d/secret'"),
    ("second_file", "{x} cat f d/secret"),
    ("copy", "{x} sh -c 'cp d/secret o/copy && cat o/copy'"),
]


long_only = unittest.skipUnless(LONG, "for the long form")


class Ways(Case):
    def setUp(self):
        super().setUp()
        for name in ("d", "o"):
            os.mkdir(self.session.path(name))
        self.secret = self.session.write("d/secret", lines("SECRET"))
        os.link(self.session.path("d/secret"), self.session.path("d/hard"))
        for name in ("o/decoy", "o/f"):
            self.session.write(name, lines(name))
        self.holder = subprocess.Popen([sys.executable, "-c", HOLDER, self.session.workspace], stdout=subprocess.PIPE)
        self.addCleanup(self.holder.wait)
        self.addCleanup(self.holder.kill)
        self.addCleanup(self.holder.stdout.close)
        self.fd = int(self.holder.stdout.readline())
        # The agent has it, by all its names.
        for name in ("d/secret", "d/hard"):
            self.assertIn(b"SECRET line 7", self.seen("cat " + name + "; :")[0] + self.secret)

    def command(self, way, prefix):
        head = "export PID=%d FD=%d; " % (self.holder.pid, self.fd)
        return head + way.replace("{x}", prefix).replace("{r}", READS_BY) + " 2>&1; :"

    def try_ways(self, prefix, without=(), may=(), only=()):
        """may: ways by which the process reads it without seen, too; then it may be given a notice.  only: no others."""
        for key, way in WAYS:
            if key in without or (only and key not in only) or ("busybox" in way and not BUSYBOX):
                continue
            with self.subTest(key):
                command = self.command(way, prefix)
                bare = NUMBER.sub(b"/proc/N", self.bare(command)[0])
                self.assertEqual(b"SECRET" in bare, key in may, bare[:300])
                for _ in range(2 if LONG else 1):
                    output = NUMBER.sub(b"/proc/N", self.seen(command)[0])
                    if key not in may:
                        self.assertEqual(output, bare)
        self.assertEqual(self.session.read("d/secret"), self.secret)

    def close_to_others(self, mode, directory_mode=0o755, owner=None):
        os.chmod(self.session.directory, 0o755)
        os.chmod(self.session.path("o"), 0o777)
        os.chmod(self.session.workspace, 0o777)
        if owner is not None:
            for name in ("d", "d/secret"):
                os.chown(self.session.path(name), owner, owner)
        os.chmod(self.session.path("d/secret"), mode)
        os.chmod(self.session.path("d"), directory_mode)

    def possible(self, prefix, ways):
        """Of these ways those that read it without seen on this machine."""
        return {key for key, way in WAYS if key in ways and b"SECRET" in self.bare(self.command(way, prefix))[0]}


@unittest.skipUnless(LONG or VIA == "both", "short: by both alone")
class ByHand(Ways):
    """Namespaces of users and mounts that are made without no_new_privs: the library stays off in what shows content there; by auto that asks for the supervisor."""
    PREFIX = "unshare -Urm --propagation private bash -c 'mount -t tmpfs none d; exec \"$@\"' x"
    SHORT = ("name", "absolute", "link_of_directory", "self_root", "other_descriptor", "second_file")

    def test_hidden_directory(self):
        if self.bare(self.PREFIX + " true")[1]:
            self.skipTest("no such namespaces here")
        may = self.possible(self.PREFIX, {"directory_descriptor", "directory_descriptor_static"})
        self.try_ways(self.PREFIX, may=may, only=() if LONG else self.SHORT)
        self.check_answered(self.PREFIX)

    @unittest.skipUnless(is_root, "for root: a file of another user")
    def test_file_of_another_user(self):
        """Root of such a namespace may not open it; the supervisor, which finds it, may."""
        prefix = "unshare -Ur"
        if self.bare(prefix + " true")[1]:
            self.skipTest("no such namespaces here")
        self.close_to_others(0o600, owner=NOBODY - 1)
        self.try_ways(prefix, only=() if LONG else self.SHORT)
        self.check_answered(prefix)

    def check_answered(self, prefix):
        """What is not hidden is answered there: it is no sandbox that nothing is asked of."""
        self.assertEqual(self.seen(prefix + " cat o/f")[0], lines("o/f"))
        self.assertTrue(self.seen(prefix + " cat o/f")[0].startswith(NOTICE))


@unittest.skipUnless(LONG or VIA == "supervise", "short: by the supervisor alone")
class Rights(Ways):
    @long_only
    def test_landlock(self):
        self.try_ways(self.landlock(LANDLOCK))

    def landlock(self, text):
        prefix = python(text, self.session.path("o"), self.session.path("d"))
        if self.bare(prefix + " true")[1] == 77:
            self.skipTest("no Landlock here")
        return prefix

    def check_landlocked(self, prefix):
        """What is hidden stays so, also when it is asked for again; what is not is answered."""
        bare = self.bare(prefix + " cat d/secret 2>&1; :")[0]
        self.assertNotIn(b"SECRET", bare)
        for _ in range(2):
            self.assertEqual(self.seen(prefix + " cat d/secret 2>&1; :")[0], bare)
        self.assertEqual(self.seen(prefix + " cat o/f")[0], lines("o/f"))
        self.answered(prefix + " cat o/f")

    def test_landlock_allows_more_later(self):
        """The ruleset is another one by then; the process stays below what it was."""
        self.assertIn(LAST, LANDLOCK)
        prefix = self.landlock(LANDLOCK.replace(LAST, ADDS))
        self.check_landlocked(prefix)

    def own_processes(self):
        """How many processes below this test run `seen`."""
        parents, own = {}, set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as stat:
                    parents[pid] = stat.read().rpartition(")")[2].split()[1]
                if os.path.samefile("/proc/%s/exe" % pid, SEEN):
                    own.add(pid)
            except OSError:
                continue

        def is_below(pid):
            return pid == str(os.getpid()) or (pid in parents and is_below(parents[pid]))

        return sum(map(is_below, own))

    def test_landlock_twice(self):
        prefix = self.landlock(LANDLOCK.replace(LAST, TWICE))
        count = self.own_processes()
        self.check_landlocked(prefix)
        self.assertGreater(count, 1)
        ends_s = time.monotonic() + 30
        while self.own_processes() > count and time.monotonic() < ends_s:
            time.sleep(0.02)
        self.assertEqual(self.own_processes(), count, "what opens for the processes of a domain ends with the last of them")

    @long_only
    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_hidden_directory(self):
        """Behind a mount.  A descriptor of the directory that is below leads there, without seen, too."""
        may = {"directory_descriptor", "directory_descriptor_static", "own_parent", "other_root", "other_cwd", "other_descriptor", "mount_namespace"}
        self.try_ways("bwrap --dev-bind / / --tmpfs $PWD/d", may=self.possible("bwrap --dev-bind / / --tmpfs $PWD/d", may))

    @long_only
    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_all_unshared(self):
        prefix = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --bind $PWD $PWD --tmpfs $PWD/d --chdir $PWD"
        self.try_ways(prefix, may=self.possible(prefix, {"directory_descriptor", "directory_descriptor_static"}))

    def answered(self, command):
        output = self.seen(command)[0]
        self.assertTrue(output.startswith(NOTICE), output[:100])

    def answered_another_user(self, command, data):
        """By auto a program of another user asks no supervisor, and gets what it may read."""
        if VIA == "auto":
            self.assertEqual(self.seen(command)[0], data)
        else:
            self.answered(command)

    @unittest.skipUnless(is_root and SETPRIV, "for root: rights are dropped")
    def test_other_user(self):
        self.close_to_others(0o600)
        self.try_ways("setpriv --reuid %d --regid %d --clear-groups" % (NOBODY, NOBODY), without={"user_namespace_twice"})

    @long_only
    @unittest.skipUnless(is_root and SETPRIV, "for root: rights are dropped")
    def test_directory_of_another_user(self):
        """The file itself may be read by everybody: who may not search its directory may not."""
        self.close_to_others(0o644, 0o700)
        self.try_ways("setpriv --reuid %d --regid %d --clear-groups" % (NOBODY, NOBODY), without={"user_namespace_twice"})

    @long_only
    @unittest.skipUnless(is_root and BWRAP, "for root: a file of another user")
    def test_root_of_a_user_namespace(self):
        self.close_to_others(0o600, owner=NOBODY - 1)
        self.try_ways("bwrap --unshare-user --dev-bind / /")

    @unittest.skipUnless(is_root and BUSYBOX, "for root: chroot")
    def test_above_another_root(self):
        """`..` ends at the root of the process, which is not the supervisor's."""
        os.makedirs(self.session.path("jail/bin"))
        shutil.copy(BUSYBOX, self.session.path("jail/bin/busybox"))
        for way in ("../d/secret", "../../../../.." + self.session.path("d/secret"), "/../d/secret", "l"):
            os.path.lexists(self.session.path("jail/l")) or os.symlink(self.session.path("d/secret"), self.session.path("jail/l"))
            bare = self.bare("chroot jail /bin/busybox cat %s 2>&1; :" % way)[0]
            self.assertNotIn(b"SECRET", bare)
            for _ in range(2):
                self.assertEqual(self.seen("chroot jail /bin/busybox cat %s 2>&1; :" % way)[0], bare)

    def swapped(self, prefix, count=60):
        """A link that leads to the file and to one that may be read, in turn."""
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                for name in ("o/decoy", "d/secret"):
                    os.symlink(name, self.session.path("r.new"))
                    os.rename(self.session.path("r.new"), self.session.path("r"))

        os.symlink("o/decoy", self.session.path("r"))
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            output = self.seen(prefix + " sh -c 'for i in $(seq %d); do cat r; busybox cat $PWD/r; done' 2>/dev/null; :" % count)[0]
        finally:
            stop.set()
            thread.join()
        self.assertNotIn(b"SECRET", output)
        self.assertNotIn(b"d/secret", output)
        self.assertIn(b"o/decoy line 1", output)

    def test_race(self):
        self.swapped(self.landlock(LANDLOCK))

    @long_only
    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_race_of_mounts(self):
        self.swapped("bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs $PWD/d")

    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_became_unreadable(self):
        """It was read in the sandbox, and answered; then it may not be read any more."""
        prefix = "bwrap --unshare-user --uid 1234 --dev-bind / / " if not is_root else "setpriv --reuid %d --regid %d --clear-groups " % (NOBODY, NOBODY)
        self.close_to_others(0o644)
        self.session.write("late", lines("late"))
        os.chmod(self.session.path("late"), 0o644)
        self.assertEqual(self.seen(prefix + "cat late")[0], lines("late"))
        if is_root:
            self.answered_another_user(prefix + "cat late", lines("late"))
        else:
            self.answered(prefix + "cat late")
        os.chmod(self.session.path("late"), 0)
        bare = self.bare(prefix + "cat late 2>&1; :")[0]
        self.assertIn(b"denied", bare)
        for _ in range(2):
            self.assertEqual(self.seen(prefix + "cat late 2>&1; :")[0], bare)

    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_write_says_nothing(self):
        """A stale write to another file of the same name is none; undo leaves the file that the sandbox hid."""
        prefix = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --bind $PWD $PWD --tmpfs $PWD/d --chdir $PWD "
        self.session.write("d/secret", lines("CHANGED"))  # by an external program
        command = prefix + "sh -c 'echo mine > d/secret; cat d/secret; rm d/secret; ls d' 2>&1; :"
        bare = self.bare(command)[0]
        self.assertEqual(self.seen(command)[0], bare)
        self.assertEqual(bare, b"mine\n")
        self.stop()
        self.session.seen("undo", "--session", "test", "--all", check=False)
        self.assertEqual(self.session.read("d/secret"), lines("CHANGED"))

    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_bound_over(self):
        """What was done to a file that is bound over another one's name is not undone there."""
        self.session.write("o/other", lines("other"))
        prefix = "bwrap --unshare-all --dev-bind / / --bind $PWD/o/other $PWD/d/secret "
        self.assertEqual(self.seen(prefix + "sh -c 'cat d/secret; echo new > d/secret'")[0], lines("other"))
        self.stop()
        self.session.seen("undo", "--session", "test", "--all", check=False)
        self.assertEqual(self.session.read("d/secret"), self.secret)

    @unittest.skipUnless(is_root and SETPRIV and os.access("/dev/fuse", os.W_OK), "for root: a file system that does not answer")
    def test_file_system_that_does_not_answer(self):
        """What waits for one keeps no other process waiting, and later ones are answered."""
        self.close_to_others(0o600)
        self.serve_silent()
        prefix = "setpriv --reuid %d --regid %d --clear-groups " % (NOBODY, NOBODY)
        data = lines("o/f")
        begin = time.monotonic()
        self.seen("for i in 1 2 3; do %s cat m/file > o/none 2>&1 & done; sleep 1" % prefix)
        self.assertEqual(self.seen(prefix + "cat o/f")[0], data)
        time.sleep(4)  # the supervisor gives up
        self.assertLess(time.monotonic() - begin, 30)
        self.seen(prefix + "cat o/f")
        self.answered_another_user(prefix + "cat o/f", data)

    def serve_silent(self):
        os.mkdir(self.session.path("m"))
        server = subprocess.Popen([sys.executable, SILENT, self.session.path("m")], stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        if server.stdout.readline() != b"mounted\n":
            self.skipTest("no FUSE here")
        return server

    @long_only
    @unittest.skipUnless(is_root and SETPRIV and os.access("/dev/fuse", os.W_OK), "for root: a file system that does not answer")
    @unittest.skipUnless(VIA == "supervise", "by auto a program of another user asks no supervisor")
    def test_many_that_wait(self):
        """Whatever waited for one is gone once it could end."""
        self.close_to_others(0o600)
        server = self.serve_silent()
        prefix = "setpriv --reuid %d --regid %d --clear-groups " % (NOBODY, NOBODY)
        for _ in range(12):
            self.seen("for i in 1 2; do %s cat m/file > /dev/null 2>&1 & done; sleep 2.6" % prefix)
        self.assertGreater(len(self.supervisors_children()), 16)
        server.terminate()
        server.wait()
        time.sleep(1)
        self.assertEqual(self.seen(prefix + "cat o/f")[0], lines("o/f"))
        self.assertEqual(self.supervisors_children(), [])

    def supervisors_children(self):
        """Of this test, without the command: those that have ended, too."""
        processes = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                    head, tail = file.read().rsplit(")", 1)
            except OSError:
                continue
            processes[int(name)] = (int(tail.split()[1]), head.split("(", 1)[1])
        below, found = [os.getpid()], []
        for pid in below:
            below += [child for child, (parent, _) in processes.items() if parent == pid]
        for pid in below[1:]:
            parent, name = processes[pid]
            if processes[parent][1].startswith("seen-superviso") and name.startswith("seen-"):
                found.append((pid, name))
        return found

    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_twin(self):
        """A process of the sandbox can read neither the memory nor the descriptors of what the supervisor has work for it."""
        spy = ("import os,sys,time\nend=time.time()+2\nseen=set()\nwhile time.time()<end:\n for p in os.listdir('/proc'):\n"
               "  if not p.isdigit(): continue\n  try:\n   if not open('/proc/'+p+'/comm').read().startswith('seen-'): continue\n"
               "   seen.add(p)\n  except OSError: continue\n  for w in ('fd','mem','environ','cwd','root','maps'):\n"
               "   try:\n    found = [os.readlink('/proc/%s/fd/%s'%(p,f)) for f in os.listdir('/proc/'+p+'/fd')] if w == 'fd' else "
               "os.readlink('/proc/%s/%s'%(p,w)) if w in ('cwd','root') else open('/proc/%s/%s'%(p,w),'rb').read(1)\n"
               "    if found: print('REACHED',p,w,found)\n   except OSError: pass\nprint(len(seen)>2)")
        prefix = "bwrap --unshare-user --dev-bind / / "
        command = "%s %s & for i in $(seq 20); do %s busybox cat o/decoy; %s cat d/../o/decoy; done > /dev/null; wait" % (prefix, python(spy), prefix, prefix)
        output = self.seen(command)[0]
        self.assertNotIn(b"REACHED", output)


if __name__ == "__main__":
    unittest.main()

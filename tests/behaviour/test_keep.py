"""What is kept before a call that changes the workspace: walked backwards, the records give the tree that was there."""
import os
import random
import shlex
import stat
import subprocess
import sys
import unittest

import packs
from driver import BUILD, Case
from harness import SEEN, VIA

FAILS_AT = os.path.join(BUILD, "tests", "programs", "helpers", "fails_at")


def snapshot(top):
    """{path: [type, mode, content or target, inode]} of all below a directory, .git left out; of links to one file the same list."""
    tree, files = {}, {}
    for directory, directories, names in os.walk(top):
        directories[:] = [name for name in directories if name != ".git"]
        for name in directories + names:
            path = os.path.join(directory, name)
            state = os.lstat(path)
            kind = stat.S_IFMT(state.st_mode)
            content = None
            if kind == stat.S_IFREG:
                with open(path, "rb") as file:
                    content = file.read()
            elif kind == stat.S_IFLNK:
                content = os.readlink(os.fsencode(path))
            tree[path] = files.setdefault(state.st_ino, [kind, stat.S_IMODE(state.st_mode), content, state.st_ino])
    return tree


def shown(tree):
    return {path: tuple(node[:3]) for path, node in tree.items()}


def cut(tree, path):
    """Takes a path and all below it out of a tree."""
    return {at[len(path):]: tree.pop(at) for at in list(tree) if at == path or at.startswith(path + "/")}


def graft(tree, path, subtree):
    tree.update({path + below: node for below, node in subtree.items()})


def walk_back(tree, records):
    """What the tree was before these records."""
    for record in reversed(records):
        if record.failed:
            continue
        if record.kind in ("removed", "replaced"):
            linked = [node for node in tree.values() if record.nlink > 1 and node[3] == record.ino and stat.S_ISREG(node[0])]
            tree[record.path] = linked[0] if linked else [stat.S_IFMT(record.mode), stat.S_IMODE(record.mode), packs.content(record), record.ino]
        elif record.kind == "renamed":
            graft(tree, record.path, cut(tree, record.other))
        elif record.kind == "exchanged":
            one, other = cut(tree, record.path), cut(tree, record.other)
            graft(tree, record.path, other)
            graft(tree, record.other, one)
        elif record.kind == "created":
            cut(tree, record.path)
        elif record.kind == "linked":
            cut(tree, record.other)
        elif record.kind == "content":
            tree[record.path][2] = packs.content(record)
        elif record.kind == "metadata":
            tree[record.path][1] = stat.S_IMODE(record.mode)
    return tree


class Keep(Case):
    def setUp(self):
        super().setUp()
        self.env["SEEN_UNDO_RESERVE"] = "0"

    def run_in(self, command, **more):
        return self.seen("run", "--quiet", "--via", VIA, "--session", "s", "--", "bash", "-c", command, **more)

    def records(self):
        return packs.read(self.session_directory() / "undo")

    def fill(self):
        for name, content in (("a", b"one\n" * 9), ("b", b""), ("c/d", os.urandom(70000)), ("c/e", b"x" * 65536), ("c/f/g", b"deep\n"), (b"\xff odd".decode(errors="surrogateescape"), b"odd\n")):
            path = os.path.join(self.work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        os.symlink("a", self.work / "link")
        os.link(self.work / "a", self.work / "hard")
        os.mkdir(self.work / "empty")

    def check(self, *commands):
        """Each command in turn, then back over all of them, one by one."""
        self.fill()
        points = []
        for command in commands:
            points.append((snapshot(self.work), len(self.records())))
            self.run_in(command)
        now, records = snapshot(self.work), self.records()
        for command, (before, count) in zip(reversed(commands), reversed(points)):
            walk_back(now, records[count:])
            records = records[:count]
            self.assertEqual(shown(now), shown(before), command)


PYTHON = shlex.quote(sys.executable)


class Commands(Keep):
    def test_names(self):
        self.check("rm -rf c", "mv a b", "rm link hard; ln -s nowhere link; ln b c", "mkdir x; mv x y; rmdir empty y", "mv b 'name with space'; rm *odd",
                   PYTHON + " -c 'import os; os.mkfifo(\"p\"); os.rename(\"p\", \"q\"); os.mkdir(\"m\"); os.rename(\"m\", \"n\")'")

    def test_opens_for_reading_that_make_a_file(self):
        self.check("flock made true; flock a true; flock made true")
        self.assertEqual([record.kind for record in self.records() if record.path.endswith(b"/a" if isinstance(record.path, bytes) else "/a")], [])

    def test_mapping_beside_another(self):
        """A mapping that another one covers in part is still there beside it."""
        code = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
def mapped(at, pages, flags, name): return libc.mmap(at, ctypes.c_long(4096 * pages), 1, flags, os.open(name, os.O_RDWR), ctypes.c_long(0))
os.truncate('a', 3 * 4096)
p = mapped(None, 3, 1, 'a')
mapped(ctypes.c_void_p(p + 4096), 1, 0x11, 'b')
assert libc.mprotect(ctypes.c_void_p(p), ctypes.c_long(4096), 3) == 0
ctypes.memmove(ctypes.c_void_p(p), b'stored', 6)"""
        self.check(PYTHON + " -c " + shlex.quote(code.partition("os.truncate")[0] + "os.truncate('a', 3 * 4096)"), PYTHON + " -c " + shlex.quote(code.replace("os.truncate('a', 3 * 4096)\n", "")))

    def test_exchange(self):
        self.check(PYTHON + " -c 'import ctypes; print(ctypes.CDLL(None).renameat2(-100, b\"a\", -100, b\"c\", 2))'")

    def test_metadata(self):
        self.check("chmod 600 a; chmod 700 c; chmod 0444 b; chmod 644 b", "touch -d yesterday a; touch -c -d yesterday b; chmod -R go= c; rm -rf c; cp -p a z; chmod 777 z")
        times = [record for record in self.records() if record.kind == "metadata" and record.what == 3]
        self.assertTrue(times)

    def test_contents(self):
        self.check("echo two > a; echo three >> a; echo four > new", "sed -i s/e/E/ a hard; truncate -s 5 c/d; dd if=/dev/zero of=c/e bs=7 count=3 conv=notrunc status=none",
                   "cp b a; tee -a c/f/g < a > /dev/null; sort -o hard hard; cat c/f/g > b; exec 3>>c/f/g; echo five >&3; rm c/f/g")

    def test_ways_to_write(self):
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(code)) for code in (
            "import os; f = os.open('a', os.O_RDWR); os.pwrite(f, b'Z', 3); os.ftruncate(f, 9); os.close(f); os.truncate('c/e', 100)",
            "import mmap, os; f = os.open('c/d', os.O_RDWR); m = mmap.mmap(f, 0); os.close(f); m[:3] = b'ZZZ'",
            "import ctypes, os; f = ctypes.CDLL(None).syscall(437, -100, b'a', (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_TRUNC, 0, 0), 24); os.write(f, b'short')",
            "import ctypes, os; f = ctypes.CDLL(None).syscall(437, -100, b'c/e', (ctypes.c_uint64 * 3)(os.O_RDWR, 0, 0), 24); os.write(f, b'not emptied')",
            "f = open('c/f/g', 'r+'); f.seek(2); f.write('Y'); f.close(); open('a', 'a').write('more')",
            "import os; f = os.open('b', os.O_WRONLY); g = os.dup(f); os.close(f); os.writev(g, [b'1', b'2']); os.posix_fallocate(g, 0, 999)",
            "import os; f = os.open('a', os.O_RDONLY); g = os.open('b', os.O_WRONLY); os.copy_file_range(f, g, 20); os.sendfile(g, f, 0, 10)",
            "import os; f = os.open('.', os.O_TMPFILE | os.O_WRONLY); os.write(f, b'made'); os.link('/proc/self/fd/%d' % f, 't', follow_symlinks=True)",
            "import tempfile, os; f, name = tempfile.mkstemp(dir='.'); os.write(f, b'1'); os.replace(name, 'a'); os.mkdir('k'); tempfile.mkdtemp(dir='k')")))

    def test_more_ways_to_write(self):
        """By calls that Python has no function for; one that the kernel or file system refuses leaves the file as it was."""
        start = """import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
f = os.open(%r, os.O_RDWR)
"""
        codes = [
            "libc.fallocate(f, 3, ctypes.c_long(4096), ctypes.c_long(8192))",  # punch
            "libc.fallocate(f, 8, ctypes.c_long(0), ctypes.c_long(4096))",  # collapse
            "libc.fallocate(f, 32, ctypes.c_long(4096), ctypes.c_long(4096))",  # insert
            "libc.syscall(285, f, 16, ctypes.c_long(0), ctypes.c_long(5000))",  # zero, by number
            "r, w = os.pipe(); os.write(w, b'spliced'); print(os.splice(r, f, 7))",
            "os.pwritev(f, [b'x', b'y'], 5)", "os.pwritev(f, [b'x'], 5, os.RWF_DSYNC)",
            "libc.syscall(18, f, b'by number', ctypes.c_long(9), ctypes.c_long(3))",
            "libc.ioctl(f, 0x40049409, os.open('c/e', os.O_RDONLY))",  # FICLONE
            "libc.ioctl(f, 0x4020940d, struct.pack('qQQQ', os.open('c/e', os.O_RDONLY), 0, 4096, 0))",  # FICLONERANGE
        ]
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(start % name + code)) for code in codes for name in ("c/d", "c/e")))

    def test_mappings_that_become_writable(self):
        """A shared mapping that could only be read, by a descriptor that may write: mprotect(2) comes before the first store."""
        code = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
page, name, f = ctypes.c_long(4096), %r, os.open(%r, os.O_RDWR)
p = ctypes.c_void_p(libc.mmap(None, page, 1, 1, f, ctypes.c_long(0)))
%s
ctypes.memmove(p, b"stored", 6)"""
        makes = "assert libc.mprotect(p, page, 3) == 0"
        ways = (makes, "os.close(f); " + makes, "os.close(f); os.rename(name, 'c/line\\nbreak'); " + makes, "os.close(f); assert libc.syscall(10, p, page, 3) == 0",
                "os.close(f); p = ctypes.c_void_p(libc.mremap(p, page, ctypes.c_long(8192), 1)); assert libc.pkey_mprotect(p, page, 3, -1) == 0",
                "os.close(f); assert libc.mprotect(p, page, 0) == libc.mprotect(p, page, 3) == 0")
        names = ("c/d", "c/e", "c/d", "c/line\nbreak", "c/e", "a")
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(code % (name, name, way))) for way, name in zip(ways, names)))
        if VIA == "preload":  # a supervisor keeps each when it is opened, too
            self.assertEqual(sum(record.kind == "content" for record in self.records()), len(ways))

    @unittest.skipIf(VIA != "preload", "it opens no file that an earlier command kept")
    def test_aio(self):
        """libc's: one request, a list of them, and its functions of 64 bits."""
        start = """import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
f, data = os.open(%r, os.O_RDWR), ctypes.create_string_buffer(b'asynchronous')
request = ctypes.create_string_buffer(168)
struct.pack_into('ii', request, 0, f, 1)
struct.pack_into('QQ', request, 16, ctypes.addressof(data), 12)
struct.pack_into('i', request, 44, 1)
struct.pack_into('q', request, 128, 2)
requests = (ctypes.c_void_p * 1)(ctypes.addressof(request))
"""
        codes = ["assert libc.%s(request) == 0\nwhile libc.aio_error(request) == 115: libc.aio_suspend(requests, 1, None)" % name
                 for name in ("aio_write", "aio_write64")]
        codes += ["assert libc.%s(0, requests, 1, None) == 0" % name for name in ("lio_listio", "lio_listio64")]
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(start % name + code)) for code in codes for name in ("c/d", "c/e")))
        self.assertEqual(len([record for record in self.records() if record.kind == "content"]), 8)

    @unittest.skipIf(VIA != "preload", "it opens no file that an earlier command kept")
    def test_queues_of_the_kernel(self):
        """io_submit(2): by libaio's function, which the library stands before, and by number."""
        start = """import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
f, data, context = os.open(%r, os.O_RDWR), ctypes.create_string_buffer(b'asynchronous'), ctypes.c_ulong(0)
if libc.syscall(206, 1, ctypes.byref(context)): raise SystemExit(77)
request, event = ctypes.create_string_buffer(64), ctypes.create_string_buffer(32)
struct.pack_into('=HhIQQq', request, 16, 1, 0, f, ctypes.addressof(data), 12, 2)
requests = (ctypes.c_void_p * 1)(ctypes.addressof(request))
"""
        codes = ["assert %s == 1\nassert libc.syscall(208, context, ctypes.c_long(1), ctypes.c_long(1), event, None) == 1" % call for call in (
            "libc.io_submit(context, ctypes.c_long(1), requests)", "libc.syscall(209, context, ctypes.c_long(1), requests)")]
        commands = ["%s -c %s" % (PYTHON, shlex.quote(start % name + code)) for code in codes for name in ("c/d", "c/e")]
        self.check(*commands)
        self.assertEqual(len([record for record in self.records() if record.kind == "content"]), 4)
        for requests in "None", "ctypes.c_void_p(8)":  # an address that is none
            code = codes[0].splitlines()[0].replace("== 1", "== -14").replace("requests)", requests + ")")
            self.assertEqual(self.run_in("%s -c %s; echo $?" % (PYTHON, shlex.quote(start % "a" + code))).stdout, b"0\n")

    def test_queues_of_a_libaio_that_is_linked_in(self):
        """Its function is found past the library, as by dlsym(3) with its handle: what it is of use for, O_DIRECT, tells."""
        code = """import ctypes, mmap, os, struct
f, context, data = os.open(%r, os.O_RDWR | os.O_DIRECT), ctypes.c_ulong(0), mmap.mmap(-1, 4096)
data.write(b'D' * 4096)
libc, address = ctypes.CDLL(None), ctypes.addressof(ctypes.c_char.from_buffer(data))
if libc.syscall(206, 1, ctypes.byref(context)): raise SystemExit(77)
request, event = ctypes.create_string_buffer(64), ctypes.create_string_buffer(32)
struct.pack_into('=HhIQQq', request, 16, 1, 0, f, address, 4096, 0)
assert ctypes.CDLL(%r).io_submit(context, ctypes.c_long(1), (ctypes.c_void_p * 1)(ctypes.addressof(request))) == 1
assert libc.syscall(208, context, ctypes.c_long(1), ctypes.c_long(1), event, None) == 1"""
        library = os.path.join(BUILD, "tests/programs/kernel_aio.so")
        try:
            os.close(os.open(self.work / "direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        except OSError:
            self.skipTest("this file system has no O_DIRECT")
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(code % (name, library))) for name in ("c/d", "c/e")))
        with open(self.work / "c/d", "rb") as file:
            self.assertEqual(file.read(4), b"DDDD")
        self.assertGreaterEqual(sum(record.kind == "content" for record in self.records()), 2)

    @unittest.skipIf(VIA != "preload", "it opens no file that an earlier command kept")
    def test_a_descriptor_that_came_with_a_message(self):
        send = "import os, socket, subprocess, sys; us, them = socket.socketpair(); child = subprocess.Popen([sys.executable, '-c', sys.argv[2]], stdin=them); " \
            "socket.send_fds(us, [b'x'], [os.open(sys.argv[1], os.O_RDWR)]); child.wait()"
        write = "import os, socket; fd = socket.recv_fds(socket.socket(fileno=0), 1, 1)[1][0]; os.pwrite(fd, b'received', 3); os.close(fd)"
        self.check(*("%s -c %s %s %s" % (PYTHON, shlex.quote(send), name, shlex.quote(write)) for name in ("c/d", "a", "c/f/g")))

    @unittest.skipIf(VIA == "supervise", "a socket that bind(2) makes is not on record by the supervisor alone")
    def test_a_socket(self):
        code = "import os, socket; socket.socket(socket.AF_UNIX).bind('%s'); os.chmod('%s', 0o600)"
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(code % (name, name))) for name in ("s", "c/f/s")), "mkdir n; mv s n; rm -r n c")
        self.assertEqual(self.run_in("%s -c %s 2>&1 | tail -n 1" % (PYTHON, shlex.quote(code % ("a", "a")))).stdout, b"OSError: [Errno 98] Address already in use\n")

    def test_a_rename_that_leaves_a_whiteout(self):
        code = "import ctypes; print(ctypes.CDLL(None).renameat2(-100, b'%s', -100, b'%s', 4))"
        if self.run_in("touch w; " + PYTHON + " -c " + shlex.quote(code % ("w", "v"))).stdout != b"0\n":
            self.skipTest("this file system has no whiteouts")
        self.check(*("%s -c %s" % (PYTHON, shlex.quote(code % names)) for names in (("a", "b"), ("c", "new"), ("hard", "a"))))

    @unittest.skipIf(VIA != "preload", "rings are refused")
    def test_rings(self):
        maker = str(BUILD / "tests/programs/helpers/ring_maker")
        if subprocess.run([maker, "nothing"], check=False).returncode == 77:
            self.skipTest("no io_uring")
        self.check(*("UV_USE_IO_URING=1 %s %s %s" % (shlex.quote(maker), how, name) for how in ("write", "later") for name in ("c/d", "c/e", "a")))
        self.assertEqual(len([record for record in self.records() if record.kind == "content"]), 6)

    def test_a_child_of_vfork_and_one_that_is_handed_a_descriptor(self):
        self.check("%s -c %s" % (PYTHON, shlex.quote("import subprocess; subprocess.run(['sed', '-i', 's/n/N/', 'a']); subprocess.run(['echo', 'hi'], stdout=open('b', 'r+'))")),
                   "{ echo 1; /bin/echo 2; cat; } < a >> hard")

    def test_by_a_link_to_the_workspace(self):
        os.symlink(self.work, self.top / "way")
        self.check("cd ..; rm -r way/c; cd /proc/self/cwd/way/../work && mv ./a .//b", "cd %s; echo > ../way/b" % shlex.quote(str(self.top / "way")))

    def check_moves(self, above):
        """Where a directory is, is remembered: not past its move, by this process, by another thread, by a child."""
        script = """
import os, subprocess, threading
def mv(old, new): os.rename(old, new); os.symlink(os.path.relpath(new, os.path.dirname(old) or '.'), old)
os.mkdir('m'); os.mkdir('m/n')
for i in range(8): open(f'm/n/{i}', 'w').write(str(i))
os.unlink('m/n/0'); mv('m', 'o'); os.unlink('m/n/1')
open('m/n/2', 'w').write('new')
thread = threading.Thread(target=mv, args=('o', 'p')); thread.start(); thread.join(); os.unlink('m/n/3')
if not os.fork(): mv('p', 'q'); os._exit(0)
os.wait(); os.rename('m/n/4', 'm/n/x')
file = open('m/n/5', 'w'); file.write('x'); file.flush(); mv('q/n', 'n'); file.close()
file = open('m/n/6', 'w'); file.write('x'); os.rename('m/n/6', 'm/n/y'); file.close()
there = os.open('m/n', 0); os.unlink('7', dir_fd=there); os.rename('n', 'r'); os.unlink('x', dir_fd=there)
os.unlink('r/2'); os.unlink('r/5'); os.rmdir('empty'); os.mkdir('empty'); open('empty/z', 'w').close()
"""
        script = script.replace("'m/n/", above + "'m/n/").replace("f" + above, above + "f")
        self.check(PYTHON + " -c " + shlex.quote(script))
        self.assertIn("empty/z", [os.path.relpath(record.path, self.work) for record in self.records()])  # the script came so far
        after = [os.path.relpath(record.path, self.work) for record in self.records() if record.kind == "after"]
        self.assertIn("n/5", after)
        self.assertIn("n/y", after)
        removed = [os.path.relpath(record.path, self.work) for record in self.records() if record.kind == "removed"]
        self.assertEqual(removed[:3], ["m/n/0", "o/n/1", "p/n/3"])

    def test_directories_that_move_between_two_calls(self):
        self.check_moves("")

    def test_directories_that_move_between_two_calls_by_absolute_paths(self):
        self.check_moves("os.getcwd()+'/'+")

    def test_out_of_the_workspace_and_back(self):
        self.fill()
        before = snapshot(self.work)
        out = self.top / "out"
        self.run_in("mv c %s; rm -rf %s/f; echo new > %s/e" % ((shlex.quote(str(out)),) * 3))
        now = {**snapshot(self.work), str(out): [stat.S_IFDIR, 0o755, None, 0], **snapshot(out)}
        self.assertEqual(shown(walk_back(now, self.records())), shown(before))

    def test_once_at_each_step(self):
        self.fill()
        self.run_in("for i in $(seq 50); do echo $i > a; done; rm a")
        kept = [record for record in self.records() if record.path.endswith("/a")]
        self.assertEqual([packs.content(record) is not None for record in kept if record.kind == "content"], [True])
        self.assertEqual([record.held for record in kept if record.kind == "removed"], ["inline"])  # rm is a step of its own
        self.run_in("%s -c %s" % (PYTHON, shlex.quote("import os\nfor i in range(9):\n open('t', 'w').write('x')\n os.rename('t', 'b')")))
        self.assertEqual([record.held for record in self.records() if record.kind == "replaced"], ["inline"] + 8 * ["earlier"])

    def boundaries(self):
        return [record.what for record in self.records() if record.kind == "boundary"]

    def test_each_report_of_a_hook_and_each_story_is_a_boundary(self):
        self.fill()
        code = "import subprocess, sys\nfor event in sys.argv[2:]:\n open('a', 'a').write('x')\n subprocess.run([sys.argv[1], 'forget', '--hook', event])\nopen('a', 'a').write('x')"
        events = "PreToolUse UserPromptSubmit SessionStart"
        self.run_in("exec %s -c %s %s %s" % (PYTHON, shlex.quote(code), shlex.quote(SEEN), events))
        self.assertEqual(self.boundaries(), [2, 1, 1])
        kept = [packs.content(record)[-3:] for record in self.records() if record.kind == "content"]
        self.assertEqual(kept, [b"ne\n", b"e\nx", b"\nxx", b"xxx"])
        for command in ("story",), ("diff",), ("undo", "--dry-run", "--all"):
            self.seen(*command, "--session", "s")
        self.assertEqual(self.boundaries(), [2, 1, 1])  # the run has ended: nothing changes it any more

    def test_a_story_while_the_run_goes_on_is_a_boundary(self):
        self.fill()
        self.run_in("exec %s -c %s %s" % (PYTHON, shlex.quote(
            "import subprocess, sys\nfor command in 'story', 'diff', 'undo':\n open('a', 'a').write('x')\n subprocess.run([sys.argv[1], command], stdout=-3, stderr=-3)\nopen('a', 'a').write('x')"),
            shlex.quote(SEEN)))
        self.assertEqual(len([record for record in self.records() if record.kind == "content"]), 4)
        self.assertEqual(self.boundaries(), [3, 3, 3])

    def test_random(self):
        rounds = 200 if os.environ.get("SEEN_LONG") else 2
        for seed in range(rounds):
            chance = random.Random(seed)
            names = ["a", "b", "c", "c/d", "c/e", "c/f", "c/f/g", "link", "hard", "empty", "x", "c/x", "empty/y"]
            grammar = ["rm -rf {0}", "mv -T {0} {1}", "mv {0} {1}", "cp -r {0} {1}", "ln -f {0} {1}", "ln -sfn {0} {1}", "mkdir -p {0}", "echo $RANDOM > {0}",
                       "echo more >> {0}", "sed -i s/e/xx/ {0}", "chmod 7{2}{2} {0}", "truncate -s {2}1 {0}", "touch {0}", "find {0} -type f -delete", "tar cf t.tar {0}; tar xf t.tar; rm t.tar",
                       "cp --remove-destination {0} {1}", "dd if=/dev/urandom of={0} bs=10 count={2} conv=notrunc status=none", "mv -T {0} {1} & rm -f {0}; wait"]
            self.tearDown()
            self.doCleanups()
            self.setUp()
            with self.subTest(seed):
                self.check(*("; ".join(chance.choice(grammar).format(chance.choice(names), chance.choice(names), chance.randrange(4, 8))
                                       for _ in range(3)) for _ in range(6)))


class NotKept(Keep):
    def test_what_can_be_made_again(self):
        for path in ("node_modules/m/index.js", "package.json", "venv/pyvenv.cfg", "venv/lib", "target/CACHEDIR.TAG", "target/deep/file", "p/__pycache__/p.pyc", "x.o", "x.c", "other/node_modules/kept"):
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text("content")
        self.run_in("rm -rf node_modules venv target p x.o x.c other")
        records = self.records()
        self.assertEqual({os.path.relpath(record.path, self.work) for record in records if record.kind == "excluded"}, {"node_modules", "venv", "target", "p/__pycache__"})
        kept = {os.path.relpath(record.path, self.work) for record in records if record.kind == "removed" and record.held == "inline"}
        self.assertEqual(kept, {"x.c", "other/node_modules/kept"})
        self.assertEqual([(record.held, record.reason) for record in records if record.path.endswith("x.o")], [("not_kept", "rebuildable")])

    def test_external_files(self):
        (self.top / "file").write_text("content")
        self.run_in("rm ../file; echo > ../new; mkdir ../made")
        self.assertEqual(self.records(), [])

    def test_by_options(self):
        self.file("a", b"x")
        self.file("b.o", b"x")
        self.seen("run", "--quiet", "--via", "preload", "--session", "off", "--undo", "no", "--", "rm", "a", code=0)
        self.assertFalse((self.session_directory("off") / "undo").exists())
        self.file("a", b"x")
        self.run_in("rm a b.o", env={"SEEN_UNDO_EXCLUDE": "a", "SEEN_UNDO_INCLUDE": "*.o"})
        self.assertEqual({(os.path.basename(record.path), record.held) for record in self.records()}, {("a", "not_kept"), ("b.o", "inline")})

    def test_a_limit_of_file_sizes(self):
        self.file("a", b"x")
        self.assertEqual(self.run_in("ulimit -f 0; rm a; echo $?").stdout, b"0\n")

    def test_a_call_that_fails(self):
        (self.work / "full").mkdir()
        self.file("full/a", b"x")
        self.run_in("rmdir full")
        self.assertEqual([(record.kind, record.failed) for record in self.records()], [("removed", True)])


@unittest.skipIf(VIA != "preload", "limits are the same by other mechanisms")
class Limits(Keep):
    """What is past them is reported, and no program gets an error."""

    def run_with(self, command, **settings):
        result = self.seen("run", "--counts", "--via", "preload", "--session", "s", "--", "bash", "-c", command, env={"SEEN_UNDO_" + name.upper(): str(value) for name, value in settings.items()}, code=0)
        return result.stderr.decode()

    def files(self, count, size):
        for i in range(count):
            self.file("f%d" % i, os.urandom(size))

    def test_the_oldest_steps_lose_their_undo_first(self):
        self.files(8, 300000)
        self.file("early", b"1\n")
        text = self.run_with("echo 2 >> early; " + "; ".join("rm f%d" % i for i in range(8)), max_bytes=1 << 20)
        self.assertIn("seen: undo: the oldest steps cannot be undone any more: what is kept reached [undo] max_bytes\n", text)
        self.assertNotIn("could not be kept", text)
        kept = sum(path.stat().st_size for path in (self.session_directory() / "undo").rglob("*") if path.is_file())
        self.assertLess(kept, 1 << 20)
        self.assertIn(b"the oldest steps cannot be undone any more", self.seen("story", "--session", "s", code=0).stderr)
        self.assertIn(b"the oldest undo records went", self.seen("undo", "--session", "s", "--all", code=8).stderr)
        self.assertEqual([name for name in sorted(os.listdir(self.work)) if name.startswith("f")], ["f5", "f6", "f7"])
        # Whether its lines are older than the session was on those records.
        self.assertEqual({origin["kind"] for origin in self.json("blame", "--session", "s", "early")["origins"]}, {"unknown"})

    def test_a_file_that_is_too_large(self):
        self.file("large", bytes(200000))
        self.file("gone", bytes(200000))
        text = self.run_with("echo x >> large; rm gone", max_file_bytes=100000)
        if "could not be kept" in text:  # else this file system shares copies
            self.assertIn("seen: undo: the content before 1 change could not be kept; `seen story` says which and why\n", text)
            self.assertEqual([(record.held, record.reason) for record in self.records() if record.kind == "content"], [("not_kept", "too_large")])
        self.assertEqual([record.held for record in self.records() if record.kind == "removed"], ["link"])

    def test_the_reserve(self):
        self.file("a", b"x" * 200000)
        self.file("b", b"x")
        self.assertIn("could not be kept", self.run_with("echo x >> a; echo y > b; rm b", reserve=99))
        self.assertEqual(self.records(), [])

    def test_changes_that_are_not_on_record_are_reported(self):
        self.file("a", b"x")
        self.file("b", b"x")
        self.run_with("echo y >> a; rm b", reserve=99)
        lost = b"seen: what was there before 2 changes could not be put on record: no step lists them, and they cannot be undone\n"
        self.assertIn(lost, self.seen("story", "--session", "s", code=0).stderr)
        self.assertIn(lost, self.seen("diff", "--session", "s").stderr)
        for words in (), ("--all",):
            result = self.seen("undo", "--session", "s", *words, code=8)
            self.assertIn(lost, result.stderr)
            self.assertNotIn(b"nothing to undo", result.stderr)
            self.assertNotIn(b"all is as it was", result.stderr)
        self.run_with("echo z > c")
        result = self.seen("undo", "--session", "s", "--all", code=8)
        self.assertEqual((result.stdout.splitlines()[0], self.work.joinpath("c").exists()), (b"removed c", False))
        self.assertIn(lost, result.stderr)

    def continue_killed(self, *words):
        """Has a command killed once its plan is written.  Returns what finished it."""
        for number in range(1, 50):
            subprocess.run([FAILS_AT, str(number), "kill", self.home / "count", SEEN, *words, "--session", "s"], cwd=self.work, env=self.env,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
            result = self.seen("undo", "--session", "s", "--continue")
            if result.returncode != 1:
                break
        self.assertEqual(result.stdout[:9], b"finished:", result.stderr)
        return result

    def test_one_step_whose_undo_was_killed_is_whole_without_them(self):
        self.file("a", b"x")
        self.run_with("echo y >> a", reserve=99)
        self.run_with("echo z > c; echo z > d")
        self.assertEqual(self.continue_killed("undo", "--last").returncode, 0)

    def test_they_count_where_an_undo_of_all_was_killed_and_not_for_redo(self):
        self.file("a", b"x")
        self.run_with("echo y >> a", reserve=99)
        self.run_with("echo z > c; echo z > d")
        result = self.continue_killed("undo", "--all")
        self.assertEqual(result.returncode, 8)
        self.assertIn(b"what was there before 1 change could not be put on record", result.stderr)
        result = self.continue_killed("redo")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(self.work.joinpath("c").exists() and self.work.joinpath("d").exists())

    def test_what_can_be_made_again_is_no_loss(self):
        self.file("x.o", b"x")
        self.assertNotIn("undo", self.run_with("rm x.o"))

    def test_a_store_that_cannot_be_made(self):
        directory = self.session_directory()
        directory.mkdir(mode=0o700, parents=True)
        os.chmod(directory.parent, 0o700)
        (directory / "undo").write_text("")
        result = self.seen("run", "--via", "preload", "--session", "s", "--", "true", code=0)
        self.assertIn(b"seen: nothing can be undone: no directory for what is kept: ", result.stderr)

    @unittest.skipIf(os.geteuid(), "mounts a file system")
    def test_a_store_on_another_file_system(self):
        state = self.top / "other"
        state.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "none", state], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", state], check=False)
        self.env["XDG_STATE_HOME"] = str(state)
        for name, size in ("small", 100), ("middle", 16 << 20), ("large", (16 << 20) + 1):
            with open(self.work / name, "wb") as file:
                file.truncate(size)
        self.assertIn("the content before 1 change could not be kept", self.run_with("rm small middle large"))
        kept = {os.path.basename(record.path): (record.held, record.reason) for record in packs.read(next(state.rglob("undo")))}
        self.assertEqual(kept, {"small": ("inline", "none"), "middle": ("copy", "none"), "large": ("not_kept", "other_device")})
        for i in range(18):
            with open(self.work / ("m%d" % i), "wb") as file:
                file.truncate(16 << 20)
        self.assertIn("the content before 2 changes could not be kept", self.run_with("rm m*"))


if __name__ == "__main__":
    unittest.main()

"""What the library writes to the journal, told by `seen log --json`: what was answered, given and found changed,
redirections across exec, children between vfork and exec, what libc does by itself, levels, and journals that cannot be
written to.
test_referee.py compares whole programs with strace.
"""

import ctypes
import json
import os
import shutil
import subprocess
import time
import unittest

from harness import BUILD, SEEN, Session, SessionTest, lines, needs_library


class JournalTest(unittest.TestCase):
    options = ()

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def run_seen(self, *command, options=(), **more):
        return subprocess.run([SEEN, "run", "--session", "test", *self.options, *options, "--", *command],
                              cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **more)

    def log(self, *options):
        result = self.session.seen("log", "--json", "--session", "test", *options, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def python(self, code, *arguments, **more):
        result = self.run_seen("/usr/bin/python3", "-S", "-c", code, *arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)

    def only(self, events):
        self.assertEqual(len(events), 1, events)
        return events[0]


class Shells(SessionTest):
    """What a shell writes by itself passes through libc's streams, which are not observed: its file's size tells."""

    def written(self, command):
        self.session.write("f", b"0123456789")
        self.agent.shell(command)
        self._agent.close()
        self._agent = None
        out = self.session.seen("log", "--json", "--session", "test", "--op", "write,write_total", check=False).stdout
        return [(event["path"], event["bytes"], event["at_least"]) for event in map(json.loads, out.splitlines()) if event["role"] == "shell"]

    @needs_library("the supervisor sees no writes")
    def test_bytes(self):
        self.assertEqual(self.written("echo x >> f; echo 1234 > g; printf abc >> f; { echo a; echo b; } > h; : > i"),
                         [("f", 2, False), ("g", 5, False), ("f", 3, False), ("h", 4, False)])

    @needs_library("the supervisor sees no writes")
    def test_bytes_by_copies_of_a_descriptor_count_once(self):
        self.assertEqual(self.written("exec 3>> g; echo hi >&3; echo more >&3; exec 3>&-"), [("g", 3, False), ("g", 5, False)])

    @needs_library("the supervisor sees no writes")
    def test_bytes_of_programs_are_their_own(self):
        self.assertEqual(self.written("{ echo a; cat f; } >> g; (echo 12 >> g); cat f > h"), [("g", 0, True), ("g", 3, False)])


class Watched(SessionTest):
    def test_one_change_one_record(self):
        """Whether the watcher or a read finds it first, an external change is recorded once, and by whom."""
        self.session.write("f", lines("f"))
        self.agent.shell("cat f")
        time.sleep(0.5)  # the watcher has seen it
        for i in range(3):
            self.session.write("f", lines("theirs %d" % i))
            if i != 1:
                self.agent.shell("cat f")  # at once
            self.agent.ask(do="read", path=self.session.path("f"))
            time.sleep(0.5)
            self.agent.shell("cat f")
        self._agent.close()
        self._agent = None
        out = self.session.seen("log", "--json", "--session", "test", "--op", "changed").stdout
        self.assertEqual([json.loads(line)["source"] for line in out.splitlines()], ["user_edited"] * 3)
        report = json.loads(self.session.seen("report", "--json", "--session", "test").stdout)
        self.assertEqual((report["conflicts"]["changed"], report["conflicts"]["count"]), (3, 3))
        self.assertEqual(self.session.status()["counters"]["edits_outside"], 3)


class Answers(SessionTest):
    options = ("--watch", "off")  # what a viewer reports about a change is looked for, not what the watcher does

    def log(self, *ops):
        self._agent.close()
        self._agent = None
        out = self.session.seen("log", "--json", "--session", "test", "--op", ",".join(ops)).stdout
        return [json.loads(line) for line in out.splitlines()]

    def test_given_noticed_given_again_changed(self):
        data = self.deliver("f")
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertReal(self.agent.shell("cat f"), data)
        self.session.write("f", lines("other"))
        self.assertReal(self.agent.shell("cat f"), lines("other"))
        events = self.log("given", "notice", "yielded", "changed")
        self.assertEqual([event["op"] for event in events], ["given", "notice", "yielded", "given", "changed", "given"])
        given, notice, given_again, _, changed, _ = events
        path = self.session.path("f")
        self.assertEqual(given["resolved"], path)
        self.assertEqual(given["bytes"], len(data))
        self.assertLess(0, notice["bytes_saved"])
        self.assertLess(notice["bytes_saved"], len(data))
        stat = os.stat(path)
        for event in events:
            self.assertEqual(event["file"]["ino"], stat.st_ino, event)
            self.assertEqual(event["role"], "viewer")
            self.assertTrue(event["scope"])
        self.assertEqual(given["file"]["after"], notice["file"]["before"])
        self.assertEqual(notice["file"]["before"], notice["file"]["after"])
        self.assertEqual(given_again["file"]["after"], given["file"]["after"])
        self.assertEqual(changed["file"]["before"], given["file"]["after"])
        self.assertNotEqual(changed["file"]["after"], changed["file"]["before"])

    def test_a_change_by_the_session_is_none_external(self):
        self.deliver("f")
        self.agent.shell("echo more >> f")
        self.agent.shell("cat f")
        self.deliver("g")
        self.agent.shell("sed -i s/line/LINE/ g")
        self.agent.shell("cat g")
        self.assertEqual([event["op"] for event in self.log("changed", "given")], ["given"] * 4)

    def test_what_the_agent_itself_wrote_and_read_is_none_either(self):
        path = self.session.path("f")
        self.deliver("f")
        for how in ("truncate", "reread", "rename", "in_place"):
            self.assertEqual(self.agent.ask(do="write", path=path, data="new %s\n" % how * 300, how=how)["errno"], 0)
            self.agent.ask(do="read", path=path)
            self.agent.shell("cat f")
        self.assertEqual({event["op"] for event in self.log("changed", "given")}, {"given"})

    def test_a_file_that_lost_its_name(self):
        """What the kernel calls `f (deleted)` never was a file of that name."""
        self.deliver("f")
        data = lines("other")
        self.session.write("g", data)
        self.assertReal(self.agent.shell("exec 3< g; rm g; cat /proc/self/fd/3"), data)
        self.session.write("g", data)
        self.assertReal(self.agent.shell("exec 3< g; mv f g; cat /proc/self/fd/3"), data)
        events = self.log("given", "changed", "notice", "open")
        self.assertEqual({event["path"] for event in events if "(deleted)" in (event["path"] or "")}, set())
        self.assertEqual([event["resolved"] for event in events if event["op"] != "open"], [self.session.path("f")])

    def test_decisions_of_opens(self):
        self.deliver("f")
        self.assertNotice(self.agent.shell("cat f"))
        opens = [event for event in self.log("open") if event["path"] == "f" and event["role"] == "viewer"]
        self.assertEqual([(event["decision"], event["reason"]) for event in opens],
                         [("content", "not_delivered"), ("notice", "repeated")])

    def test_invalidated(self):
        self.deliver("f")
        self.session.seen("forget", "--session", "test", "f")
        self.session.seen("forget", "--session", "test", "--all")
        one, everything = self.log("forgotten")
        self.assertEqual(one["path"], self.session.path("f"))
        self.assertIsNone(everything["path"])


class Programs(JournalTest):
    def test_redirections_go_with_exec(self):
        self.session.write("in", b"abc\n")
        self.assertEqual(self.run_seen("bash", "-c", "cat < in > out; cat in >> out; exec sort -r out 2> err").returncode, 0)
        events = self.log("--op", "read,write,read_total,write_total", "--exe", "cat")
        self.assertEqual([(event["op"], event["path"], event["fd"], event["bytes"]) for event in events],
                         [("read", "in", 0, 4), ("write", "out", 1, 4), ("read", "in", 3, 4), ("write", "out", 1, 4)])
        self.assertEqual({event["resolved"] for event in events}, {self.session.path("in"), self.session.path("out")})

    def test_redirections_of_vforked_programs(self):
        """dash and subprocess start programs by vfork: dash redirects before, subprocess in the child."""
        self.session.write("in", b"abc\n")
        self.assertEqual(self.run_seen("dash", "-c", "cat in > one; cat < in >> one; cat in; :").returncode, 0)
        self.python("import subprocess\n"
                    "with open('in') as i, open('two', 'w') as o: subprocess.run(['cat'], stdin=i, stdout=o)\n"
                    "subprocess.run(['cat', 'in'], stdout=subprocess.PIPE)")
        events = self.log("--op", "read,write", "--exe", "cat")
        self.assertEqual([(event["op"], event["path"], event["fd"]) for event in events],
                         [("read", "in", 3), ("write", "one", 1), ("read", "in", 0), ("write", "one", 1), ("read", "in", 3),
                          ("read", "in", 0), ("write", "two", 1), ("read", "in", 3)])

    def test_sums_by_descriptor(self):
        self.python("import os; f = os.open('f', os.O_RDWR | os.O_CREAT)\n"
                    "for i in range(100): os.write(f, b'x' * 10)\n"
                    "os.lseek(f, 0, 0); os.read(f, 1); os.read(f, 7); os.close(f)\n"
                    "g = os.open('f', os.O_RDONLY); os.read(g, 5000); os.read(g, 5000)")
        events = self.log("--path", "f", "--op", "read,write,read_total,write_total")
        self.assertEqual([(event["op"], event["bytes"]) for event in events],
                         [("write", 10), ("read", 1), ("read_total", 8), ("write_total", 1000), ("read", 1000)])
        self.assertEqual(events[3]["calls"], 100)

    def test_a_killed_process_keeps_what_it_did(self):
        result = self.run_seen("/usr/bin/python3", "-S", "-c", "import os, signal\n"
                               "f = os.open('f', os.O_WRONLY | os.O_CREAT); os.write(f, b'12345'); os.rename('f', 'g')\n"
                               "os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(result.returncode, -9)
        events = self.log("--exe", "python3*", "--op", "write,rename,exit")
        self.assertEqual([event["op"] for event in events], ["write", "rename"])

    def test_vforked_children(self):
        """subprocess uses vfork: what its child does must not be taken for its parent's."""
        os.mkdir(self.session.path("sub"))
        self.python("import os, subprocess\nf = os.open('f', os.O_WRONLY | os.O_CREAT)\nos.write(f, b'1')\n"
                    "print(subprocess._USE_VFORK)\n"
                    "subprocess.run(['/bin/true'], cwd='sub')\n"
                    "subprocess.call(['/nonexistent'], cwd='sub') if False else None\n"
                    "os.write(f, b'22'); open('here', 'w').close(); os.close(f)")
        chdir = self.only(self.log("--op", "chdir"))
        parent = [event for event in self.log("--op", "write") if event["path"] == "f"][0]["pid"]
        self.assertTrue(chdir["vforked"])
        self.assertNotEqual(chdir["pid"], parent)
        self.assertEqual(chdir["parent_pid"], parent)
        self.assertEqual(self.only(self.log("--path", "here", "--op", "open"))["resolved"], self.session.path("here"))
        total = self.only(self.log("--op", "write_total"))
        self.assertEqual((total["path"], total["bytes"], total["calls"]), ("f", 3, 2))
        start = self.only(self.log("--op", "start", "--exe", "true"))
        self.assertEqual(start["pid"], chdir["pid"])
        self.assertEqual(start["directory"], self.session.path("sub"))

    def test_directories(self):
        """Relative to the current directory, also one reached by a link or a descriptor, and to a directory's descriptor."""
        os.makedirs(self.session.path("a/b"))
        os.symlink("a/b", self.session.path("link"))
        self.python("import os\nos.chdir('link'); open('one', 'w').close(); open('../two', 'w').close()\n"
                    "d = os.open('/', os.O_RDONLY | os.O_DIRECTORY); e = os.open(%r, os.O_RDONLY | os.O_DIRECTORY)\n"
                    "os.fchdir(d); os.fchdir(e); open('three', 'w').close()\n"
                    "os.chdir('/'); os.mkdir('four', dir_fd=e); os.rename('four', 'five', src_dir_fd=e, dst_dir_fd=e)"
                    % self.session.path("a"))
        resolved = {event["resolved"] for event in self.log("--op", "open,create")}
        for name in ("a/b/one", "a/two", "a/three", "a/four"):
            self.assertIn(self.session.path(name), resolved)
        rename = self.only(self.log("--op", "rename"))
        self.assertEqual((rename["resolved"], rename["new_resolved"]), (self.session.path("a/four"), self.session.path("a/five")))

    def test_failures_and_metadata(self):
        self.python("import os\n"
                    "for call in (lambda: os.open('missing', os.O_RDONLY), lambda: os.unlink('missing'), lambda: os.mkdir('/'),\n"
                    "             lambda: os.rename('missing', 'x'), lambda: os.truncate('missing', 1), lambda: os.chmod('missing', 0)):\n"
                    "    try: call()\n    except OSError: pass\n"
                    "open('f', 'w').close(); os.chmod('f', 0o640); os.utime('f'); os.truncate('f', 77)")
        failed = self.log("--failed", "--exe", "python3*", "--path", "missing")
        self.assertEqual([event["op"] for event in failed], ["open", "delete", "rename", "truncate", "metadata"])
        self.assertEqual({event["error"] for event in failed}, {"ENOENT"})
        self.assertEqual(self.only(self.log("--op", "create", "--failed"))["error"], "EEXIST")
        done = [event for event in self.log("--op", "metadata,truncate") if not event["error"]]
        self.assertEqual([event["op"] for event in done], ["metadata", "metadata", "truncate"])
        self.assertEqual(done[2]["bytes"], 77)

    def test_who_ended_how(self):
        self.run_seen("sh", "-c", "(exit 3); /nonexistent; exec bash -c 'exit 5'")
        statuses = [event["status"] for event in self.log("--op", "exit")]
        self.assertEqual(statuses[0], 3)
        self.assertEqual(statuses[-1], 5)


def program(name):
    """A program of this directory, which test "preload.NAME" compares with what it does alone."""
    return os.path.join(BUILD, "tests", "programs", name)


class ByNumber(JournalTest):
    """syscall(2) means what libc's function of that name means."""

    NUMBERS = {"x86_64": {"fallocate": 285, "mmap": 9, "ftruncate": 77, "copy_file_range": 326, "dup3": 292},
               "aarch64": {"fallocate": 47, "mmap": 222, "ftruncate": 46, "copy_file_range": 285, "dup3": 24}}

    def test_data(self):
        numbers = self.NUMBERS.get(os.uname().machine)
        if not numbers:
            self.skipTest("numbers of system calls")
        self.session.write("from", b"x" * 100)
        self.python("import ctypes, os, sys\nlibc = ctypes.CDLL(None)\nL = ctypes.c_long\nnumbers = %r\n"
                    "for file in ('by_name', 'by_number'):\n"
                    " def call(name, *arguments):\n"
                    "  function = getattr(libc, name) if file == 'by_name' else libc.syscall\n"
                    "  function.restype = L\n"
                    "  assert function(*([] if file == 'by_name' else [L(numbers[name])]), *(L(argument or 0) for argument in arguments)) != -1, name\n"
                    " fd, source, other = os.open(file, os.O_RDWR | os.O_CREAT), os.open('from', 0), os.open('/dev/null', os.O_WRONLY)\n"
                    " call('copy_file_range', source, None, fd, None, 100, 0)\n"
                    " call('fallocate', fd, 0, 0, 5000)\n"
                    " call('ftruncate', fd, 4096)\n"
                    " call('mmap', None, 4096, 3, 1, fd, 0)\n"
                    " call('dup3', fd, other, 0)\n"
                    " os.write(other, b'0123456789')\n"
                    " os.close(other)\n" % numbers)
        recorded = {name: [(event["op"], event.get("bytes"), event.get("flags"), event.get("allocates")) for event in self.log()
                       if event.get("path") == name and event["role"]] for name in ("by_name", "by_number")}
        self.assertEqual([op for op, *_ in recorded["by_name"]], ["open", "write", "truncate", "truncate", "map", "write"])
        self.assertEqual(recorded["by_number"], recorded["by_name"])


class DescriptorsOfLibc(JournalTest):
    """closed_by_libc.c: what libc closes, moves and keeps open by itself."""

    def ran(self, part, op="read,write,read_total,write_total"):
        """What it did to other files than the two that it begins with."""
        result = self.run_seen(program("closed_by_libc"), part)
        self.assertEqual(result.returncode, 0, result)
        return [(event["op"], event["path"], event["bytes"]) for event in self.log("--op", op)
                if event["executable"] == program("closed_by_libc") and event["path"] not in ("file", "other")]

    def about_file(self):
        """Reads of "file", by any process."""
        return [(event["op"], event["bytes"]) for event in self.log("--op", "read,read_total") if event["path"] == "file"]

    def test_close_range_that_only_marks(self):
        self.assertEqual(self.ran("kept_open"), [("write", "kept", 6), ("write_total", "kept", 7), ("write", "also", 6)])

    def test_close_range(self):
        self.assertEqual(self.ran("closed"), [])
        self.assertEqual(self.about_file(), [])

    def test_a_stream_that_was_moved_in_is_written_to(self):
        events = self.ran("moved")
        self.assertEqual([event for event in events if event[0].startswith("read")], [("read", "rewind", 50)])  # it shows that one
        self.assertEqual([event[:2] for event in events if event[0].startswith("write")],
                         [("write", "seek"), ("write", "rewind"), ("write", "flush")])

    def test_a_stream_that_could_not_be_reopened(self):
        self.assertEqual(self.ran("reopened"), [])
        self.assertEqual(self.about_file(), [])

    def test_a_list_of_mounts(self):
        self.assertEqual(self.ran("mounts"), [])
        self.assertEqual([size for _, size in self.about_file() if size != 9], [])

    def test_daemon(self):
        self.assertEqual(self.ran("daemonized", "write,write_total"), [("write", "output", 6)])
        self.assertEqual(self.only(self.log("--op", "open", "--path", "dev/null"))["resolved"], "/dev/null")

    def test_a_terminal(self):
        events = self.ran("terminal", "write,write_total")
        if not events:
            self.skipTest("no terminal can be made here")
        self.assertEqual(events, [("write", "terminal output", 6)])

    def test_a_number_used_again_before_exec(self):
        self.ran("vforked")
        self.assertEqual({event["path"] for event in self.log("--op", "read", "--exe", "cat")} - {None, "other"}, set())
        self.assertEqual(self.about_file(), [("read", 1)])


class Starts(JournalTest):
    """unusual_starts.c: how programs start and end."""

    def ran(self, part, status=0):
        result = self.run_seen(program("unusual_starts"), part)
        self.assertEqual(result.returncode, status, result)
        own = {event["process"] for event in self.log("--op", "start,fork") if event["executable"] == program("unusual_starts")}
        return [event for event in self.log("--op", "exec") if event["process"] in own]

    def test_executables_that_are_noted(self):
        """The path of a program's file is noted for the session: it is still what /proc says, whatever happens to names."""
        script = """
            mkdir v1 v2; cp /bin/true v1/tool; cp /bin/true v2/tool; cp /bin/echo v1/other
            printf '#!/bin/sh\n:\n' > v1/script; chmod +x v1/script
            run() { readlink -f "$1" >> want; "$@" > out; }
            ln -s v1 cur; run $PWD/cur/tool; run $PWD/cur/tool; run $PWD/cur/tool
            ln -sfn v2 cur; run $PWD/cur/tool; run $PWD/cur/tool
            ln -sfn v1 cur; run $PWD/cur/tool
            mv v1/tool v1/moved; run $PWD/cur/moved; run $PWD/cur/moved
            mv v1/other v1/tool; run $PWD/cur/tool; run $PWD/cur/tool
            cd v1; run ./tool; run ./moved; cd ..
            $PWD/cur/script; $PWD/cur/script
        """
        self.assertEqual(self.run_seen("sh", "-ec", script).returncode, 0)
        root = os.path.realpath(self.session.workspace)
        started = [event["executable"] for event in self.log("--op", "start")]
        with open(os.path.join(root, "want"), encoding="utf-8") as first, \
                open(os.path.join(root, "v1/want"), encoding="utf-8") as second:
            want = first.read().split() + second.read().split()
        self.assertEqual(len(want), 12)
        self.assertEqual([path for path in started if path.startswith(root)], want)
        shell = os.path.realpath("/bin/sh")
        self.assertEqual(started.count(shell), 3)  # and its two scripts

    def test_by_descriptor(self):
        by_file, by_directory, by_nothing, failed = self.ran("by_descriptor")
        self.assertEqual(by_file["resolved"], "/bin/true")
        self.assertEqual((by_directory["path"], by_directory["directory"]), ("true", "/usr/bin"))
        self.assertIn(by_directory["resolved"], ("/usr/bin/true", None))
        self.assertEqual(by_nothing["resolved"], "/usr/bin/env")
        self.assertEqual(by_file["arguments"], ["true", "word"])
        self.assertEqual(self.only(self.log("--op", "exec_failed", "--exe", "unusual_starts"))["exec"], failed["number"])
        starts = {event["exec"] for event in self.log("--op", "start")}
        self.assertTrue({by_file["number"], by_directory["number"], by_nothing["number"]} <= starts)

    def test_in_another_directory(self):
        """What file actions do to the directory of what is started is not known."""
        vforked, spawned = self.ran("elsewhere")
        self.assertIn(vforked["resolved"], ("/usr/bin/true", None))
        self.assertEqual((spawned["path"], spawned["resolved"]), ("./true", None))
        self.assertEqual([event["directory"] for event in self.log("--op", "start", "--exe", "true")], ["/usr/bin"] * 2)
        self.assertEqual(self.only(self.log("--op", "open", "--path", "missing"))["resolved"], self.session.path("missing"))

    def test_quick_exit_is_an_exit(self):
        self.ran("leave", 4)
        self.assertEqual([event["status"] for event in self.log("--op", "exit") if event["executable"] == program("unusual_starts")], [4])

    def check_variables(self, count):
        """Each is announced, by whichever thread, and each finds who announced it."""
        self.ran(count)
        starts = self.log("--op", "start", "--exe", "true")
        self.assertEqual(len(starts), 2 * 12 + 2)  # each thread twice, main, and a copy
        announced = {event["number"]: event["arguments"] for event in self.log("--op", "exec")}
        for event in starts:
            self.assertEqual(announced.get(event["exec"]), event["arguments"], event)
            self.assertTrue(event["attached"])
        self.assertEqual(sorted(event["arguments"][1] for event in starts),
                         sorted(["%d-%d" % (turn, thread) for turn in (0, 1) for thread in range(12)] + ["main", "copy"]))

    def test_more_variables_than_go_on_a_stack(self):
        self.check_variables("140")

    def test_many_variables(self):
        self.check_variables("600")


class Copies(JournalTest):
    def test_silent_copies_end_no_process_on_record(self):
        """silent_copies.c: copies that libc does not announce, and exit() between vfork and exec."""
        self.assertEqual(self.run_seen(program("silent_copies")).returncode, 0)
        events = [event for event in self.log() if event["executable"] == program("silent_copies") and event["op"] != "exec"]
        own = self.only([event for event in events if event["op"] == "start"])["process"]
        mine = [event for event in events if event["process"] == own]
        self.assertEqual([event["status"] for event in mine if event["op"] == "exit"], [0])
        self.assertEqual(mine[-1]["op"], "exit")
        self.assertEqual(len([event for event in mine if event["op"] == "rename"]), 16)
        behind = [event for event in events if event["op"] == "rename" and event["path"] == "behind vfork"]
        copy = self.only(behind)["process"]
        self.assertEqual([event["status"] for event in events if event["process"] == copy and event["op"] == "exit"][-1], 0)
        self.assertEqual([event["op"] for event in events if event["process"] == copy and not event["vforked"]][-1], "exit")

    def test_below_filters(self):
        """sandboxed_children.c: a filter of a child between vfork and exec is not its parent's."""
        result = self.run_seen(program("sandboxed_children"))
        if result.returncode == 77:
            self.skipTest("no seccomp")
        self.assertEqual(result.returncode, 0, result)
        name = program("sandboxed_children")
        own = self.only([event for event in self.log("--op", "start") if event["executable"] == name])["process"]
        mine = [event["op"] for event in self.log() if event["process"] == own]
        self.assertIn("rename", mine)
        self.assertEqual(mine[-1], "exit")
        cats = self.log("--op", "start", "--exe", "cat")
        self.assertEqual([event["arguments"] for event in cats], [["cat", "file"], ["cat", "there"], ["cat", "file"]])
        self.assertNotIn(None, [event["exec"] for event in cats][:2])

    def walked(self, *part):
        """The files that the walks came to, as resolved; where the program is before and afterwards it is itself."""
        self.assertEqual(self.run_seen(program("walks"), *part).returncode, 0)
        opens = [event for event in self.log("--op", "open") if event["executable"] == program("walks")]
        for name in ("missing", "after"):
            self.assertEqual({event["resolved"] for event in opens if event["path"] == name}, {self.session.path(name)})
        return [event["resolved"] for event in opens if event["path"] in ("file", "folder/inner/file") and not event["error"]
                and "O_CREAT" not in event["flags"]]

    def test_walks_that_move_the_directory(self):
        self.assertEqual(self.walked("fts"), [self.session.path("folder/inner/file")] * 3)

    def test_walks_by_function_that_move_the_directory(self):
        self.assertEqual(self.walked("nftw"), [self.session.path("folder/inner/file")] * 2)


class Pointers(JournalTest):
    def test_paths_are_inspected_with_care_at_every_level(self):
        """Where a path decides whether it is recorded it is inspected before anything else is known of it."""
        for name in ("bad_pointers", "unread_pointers"):
            directory = self.session.path(name + ".alone")
            os.mkdir(directory)
            alone = subprocess.run([program(name)], cwd=directory, env=self.session.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, timeout=60)
            for number, options in enumerate((("--journal-level", "workspace"), ("--journal-level", "writes"), ("-c", "journal.exclude=/etc/**"))):
                with self.subTest((name, options)):
                    here = self.session.path("%s.%d" % (name, number))
                    os.mkdir(here)
                    result = self.run_seen("env", "-C", here, program(name), options=("--quiet", *options))
                    self.assertEqual((result.returncode, result.stdout), (alone.returncode, alone.stdout))


class Programs(JournalTest):
    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_words_and_kinds(self):
        """Each is on record by all its words; a static one counts as not observed, also behind a dynamic one."""
        options = ("--quiet", "--via", "preload")
        self.assertEqual(self.run_seen("sh", "-c", "/bin/true one 'two words' ''; busybox true x; /bin/true; busybox true; :", options=options).returncode, 0)
        starts = [event["arguments"] for event in self.log("--op", "exec")]
        self.assertEqual(starts[1:], [["/bin/true", "one", "two words", ""], ["busybox", "true", "x"], ["/bin/true"], ["busybox", "true"]])
        self.assertEqual(self.session.status()["processes"]["unobserved"], 2)


class Nested(JournalTest):
    def test_a_session_inside_of_another(self):
        """What the inner session sees is not observed in the outer one, and is counted there."""
        result = self.run_seen(SEEN, "run", "--quiet", "--session", "inner", "--", "/bin/true")
        self.assertEqual(result.returncode, 0, result)
        last = self.log()[-1]
        self.assertEqual(last["op"], "coverage")
        self.assertGreaterEqual(last["unobserved"], 1)
        self.assertIn("true", [event["program"] for event in self.log("--op", "unobserved")])
        inner = self.session.seen("log", "--json", "--session", "inner", "--op", "start").stdout.splitlines()
        self.assertEqual([json.loads(line)["executable"] for line in inner], ["/usr/bin/true"])


class Levels(JournalTest):
    COMMAND = ("bash", "-c", 'cat f > g; cat "${PWD%/*}/elsewhere" > /dev/null; rm g; exit 0')

    def setUp(self):
        super().setUp()
        self.elsewhere = os.path.join(self.session.directory, "elsewhere")
        with open(self.elsewhere, "w") as file:
            file.write("x\n")

    def ops(self, *options):
        self.session.write("f", b"x\n")
        self.assertEqual(self.run_seen(*self.COMMAND, options=options).returncode, 0)
        return {(event["op"], event.get("path")) for event in self.log() if event["op"] in ("open", "read", "write", "delete", "exec")}

    def test_all(self):
        ops = self.ops()
        self.assertTrue({("open", "f"), ("read", "f"), ("open", "g"), ("delete", "g"), ("open", self.elsewhere)} <= ops)

    def test_workspace(self):
        ops = self.ops("--journal-level", "workspace")
        self.assertTrue({("open", "f"), ("read", "f"), ("open", "g"), ("delete", "g")} <= ops)
        self.assertFalse({("open", self.elsewhere), ("open", "/dev/null"), ("read", self.elsewhere)} & ops)

    def test_writes(self):
        ops = self.ops("--journal-level", "writes")
        self.assertTrue({("open", "g"), ("write", "g"), ("delete", "g"), ("open", "/dev/null")} <= ops)
        self.assertFalse({("open", "f"), ("read", "f"), ("open", self.elsewhere)} & ops)
        self.assertIn("exec", {op for op, _ in ops})

    def test_of_two_names_one_is_enough(self):
        """What is moved or linked from a name that is excluded to one that is not is on record."""
        for via in ("preload", "supervise"):
            with self.subTest(via):
                self.session.write("a.tmp", b"x\n")
                done = self.run_seen("sh", "-c", "ln a.tmp b; mv a.tmp c; mv c d.tmp; mv d.tmp e.tmp; rm *",
                                     options=("--via", via, "--quiet", "--journal-level", "writes", "-c", "journal.exclude=*.tmp"))
                self.assertEqual(done.returncode, 0, done.stderr)
                events = [(event["op"], event["path"], os.path.basename(event["new_path"])) for event in self.log("--op", "rename,link")]
                self.assertEqual(events[-3:], [("link", "a.tmp", "b"), ("rename", "a.tmp", "c"), ("rename", "c", "d.tmp")])

    def test_off(self):
        self.assertEqual(self.run_seen(*self.COMMAND, options=("--journal-level", "off")).returncode, 0)
        result = self.session.seen("log", "--session", "test", check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stdout, b"")

    def test_exclude(self):
        ops = self.ops("-c", "journal.exclude=/etc/** g")
        self.assertIn(("open", "f"), ops)
        self.assertFalse({("open", "g"), ("delete", "g")} & ops)


class Coverage(JournalTest):
    def last(self):
        return self.log()[-1]

    def test_reasons(self):
        if not os.path.exists("/bin/busybox"):
            self.skipTest("no static busybox")
        result = self.run_seen("sh", "-c", "busybox true; busybox true; /bin/true", options=("--counts", "--via", "preload"))
        self.assertIn(b"not observed: true: static (2 times)", result.stderr)
        self.assertIn(b"records lost", result.stderr)
        self.assertRegex(result.stderr, rb"sealed \d+ records, [0-9a-f]{64}")
        last = self.last()
        self.assertEqual((last["op"], last["observed"], last["unobserved"]), ("coverage", 2, 2))
        self.assertEqual(last["lost"], 0)
        status = self.session.status()
        self.assertEqual(status["processes"]["unobserved_programs"], [{"name": "true", "reason": "static", "not_supervised": None, "count": 2}])
        self.assertGreater(status["journal"]["bytes"], 8192)

    def test_a_read_only_journal(self):
        """As in a sandbox that shows the state directory read-only: the program runs, is observed, and counted."""
        if not shutil.which("bwrap"):
            self.skipTest("no bwrap")
        bwrap = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", os.path.join(self.session.directory, ".local"), os.path.join(self.session.directory, ".local")]
        if subprocess.run([*bwrap, "true"], stderr=subprocess.DEVNULL).returncode != 0 and os.path.exists(os.path.join(self.session.directory, ".local")):
            self.skipTest("bwrap cannot make a sandbox here")
        os.makedirs(os.path.join(self.session.directory, ".local"))
        if subprocess.run([*bwrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("bwrap cannot make a sandbox here")
        result = self.run_seen(*bwrap, "sh", "-c", "echo said; cat /dev/null", options=("--counts",))
        self.assertEqual((result.returncode, result.stdout), (0, b"said\n"), result.stderr)
        self.assertGreaterEqual(self.last()["without_journal"], 2)

    def test_no_room_for_a_journal(self):
        """The state directory cannot be made: the command runs, one line says why."""
        blocked = os.path.join(self.session.directory, "file")
        open(blocked, "w").close()
        result = self.run_seen("sh", "-c", "echo said", options=("--state-dir", blocked + "/below"))
        self.assertEqual((result.returncode, result.stdout), (0, b"said\n"))
        self.assertIn(b"no journal: ", result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_a_full_disk(self):
        """The journal's file system has no room for a second chunk: nothing changes for the program, and a line reports it."""
        libc = ctypes.CDLL(None, use_errno=True)
        state = os.path.join(self.session.directory, "small")
        os.mkdir(state)

        def mount():
            if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x40000 | 0x4000, None) != 0 or \
               libc.mount(b"tmpfs", state.encode(), b"tmpfs", 0, b"size=1200k") != 0:
                os._exit(77)

        code = "import os\nfor i in range(30000):\n    try: os.unlink('missing-%d' % i)\n    except OSError: pass\nprint('done')"
        command = [SEEN, "run", "--counts", "--session", "test", "--state-dir", state, "--", "/usr/bin/python3", "-S", "-c", code]
        result = subprocess.run(command, cwd=self.session.workspace, env=self.session.environment, preexec_fn=mount,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if result.returncode == 77:
            self.skipTest("no tmpfs can be mounted here")
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        self.assertRegex(result.stderr, rb"opens seen, [0-9,]{5,} records lost \(the journal could not grow: No space left on device\)")


if __name__ == "__main__":
    unittest.main()

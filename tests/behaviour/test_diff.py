"""[notice] on_change = diff: a changed file's reader is given what changed, at the capture and nowhere else; in doubt, the file."""

import os
import random
import re
import shutil
import subprocess
import sys
import time
import unittest
import unittest.mock

import harness
from harness import NOTICE, VIA, lines, needs_library, wait_until
from test_sink import SINKS, SinkTest

CHANGED = b"[File changed since last read: "
LONG = bool(os.environ.get("SEEN_LONG"))
SAMPLE = 300 if LONG else 40
HEADER = re.compile(rb"^\[File changed since last read: (.*)\. Below is not the file but what changed in it, a unified diff against version "
                    rb"([0-9a-f]{12}), given to you since (20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\. If that is not in your context, repeat the same "
                    rb"command to get the file in full\. \((\d+) bytes, version ([0-9a-f]{12}), seen-[0-9a-f]{16}\)\]\n"
                    rb"--- (.*)\t\(version (.*)\)\n\+\+\+ (.*)\t\(version (.*)\)\n@@ ")
REAL = '"${0%/*}/seen.real" "$@"'  # what an installation with another program passes on to
PATIENCE_S = 3  # of a viewer (shim/preload/follow/diff.c)


def edited(data, number=50, text=b"another line\n"):
    """With other lines in the place of one."""
    found = data.splitlines(keepends=True)
    found[number:number + 1] = [text]
    return b"".join(found)


def patched(old, output):
    """What patch(1) makes of the old content by what was given; None: it is for another one."""
    directory = os.path.join(os.environ.get("TMPDIR", "/tmp"), "seen-patch.%d" % os.getpid())
    os.makedirs(directory, exist_ok=True)
    try:
        for name, data in (("old", old), ("patch", output[output.index(b"\n") + 1:]), ("new", b"")):
            with open(os.path.join(directory, name), "wb") as file:
                file.write(data)
        done = subprocess.run(["patch", "-s", "-f", "-F0", "--binary", "-o", "new", "old", "patch"], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if done.returncode:
            return None
        with open(os.path.join(directory, "new"), "rb") as file:
            return file.read()
    finally:
        shutil.rmtree(directory)


class Case(SinkTest):
    options = ("--on-change", "diff")

    def assertReal(self, output, data):
        self.assertNotIn(CHANGED, output)
        super().assertReal(output, data)

    def assertDiff(self, output, old, new, path="f"):
        found = HEADER.match(output)
        self.assertIsNotNone(found, output[:1000])
        self.assertEqual(found[1], path.encode())
        self.assertEqual(int(found[4]), len(new))
        self.assertEqual((found[6], found[8]), (found[1], found[1]))
        self.assertEqual((found[7], found[9]), (found[2], found[5]))
        self.assertLess(2 * len(output), len(new))
        self.assertEqual(patched(old, output), new)

    def counters(self):
        status = self.session.status()
        return {**status["counters"], "lost_diffs": status["lost"]["diffs"]}

    def change(self, name, old, *more):
        return self.session.write(name, edited(old, *more))

    def pass_requests(self, count=11):
        self.session.write("passed", b"")  # what is read elsewhere uses up nothing
        self.agent.shell("cat passed; " * count)

    def contents(self):
        return os.path.join(self.session.directory, ".local/state/seen", self.session.name, "content")


@unittest.skipUnless(VIA == "supervise", "with the library there are diffs")
class BySupervisorAlone(Case):
    def test_the_file(self):
        data = self.deliver("f")
        new = self.change("f", data)
        self.assertReal(self.agent.shell("cat f"), new)
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertEqual(self.counters()["diffs"], 0)


@needs_library("the supervisor alone gives the file")
class Delivered(Case):
    def test_every_sink(self):
        for kind in SINKS:
            name = "f" + kind
            old = self.session.write(name, lines(name))
            with self.subTest(sink=kind):
                self.assertReal(self.agent.shell("cat " + name, self.sink(kind)), old)
                new = self.change(name, old)
                self.assertDiff(self.agent.shell("cat " + name, self.sink(kind)), old, new, name)
                self.pass_requests()
                self.assertNotice(self.agent.shell("cat " + name, self.sink(kind)), name)

    def test_then_a_notice(self):
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f")
        self.assertDiff(output, old, new)
        counters = self.counters()
        self.assertEqual((counters["diffs"], counters["deliveries"], counters["repeats"], counters["lost_diffs"]), (1, 1, 0, 0))
        self.assertEqual(counters["bytes_saved"], len(new) - len(output))
        self.pass_requests()
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_asked_again_it_is_the_file(self):
        old = self.deliver("f")
        new = self.change("f", old)
        self.assertDiff(self.agent.shell("cat f"), old, new)
        self.assertReal(self.agent.shell("cat f"), new)
        self.pass_requests()
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_edit_after_edit(self):
        """Each against the one before: what the scope has is the file and every diff since."""
        old = self.deliver("f")
        for number in range(6):
            new = self.change("f", old, number * 9, b"edit %d\n" % number)
            self.assertDiff(self.agent.shell("cat f"), old, new)
            old = new
        self.assertEqual(self.counters()["diffs"], 6)

    def test_edits_of_the_session(self):
        """As agents edit: by a shell, by a program, by themselves, another file in its place."""
        for number, edit in enumerate([lambda: self.agent.shell("sed -i s/line.50/LINE/ f"),
                                       lambda: self.agent.shell("echo more >> f"),
                                       lambda: self.agent.shell("sed s/line.51/LINE/ f > g; mv g f"),
                                       lambda: self.agent.ask(do="write", path=self.session.path("f"), data=lines("f", 101).decode(), how="truncate"),
                                       lambda: self.agent.shell("python3 -c 'f = open(\"f\", \"r+\"); f.write(\"F\")'")]):
            old = self.session.write("f", lines("f"))
            with self.subTest(number=number):
                if number:
                    self.session.seen("forget", "--session", self.session.name, "--all")
                self.assertReal(self.agent.shell("cat f"), old)
                edit()
                new = self.session.read("f")
                self.assertNotEqual(new, old)
                self.assertDiff(self.agent.shell("cat f"), old, new)

    def test_several_files(self):
        old = {name: self.deliver(name) for name in "abc"}
        new = {name: self.change(name, old[name], 30, name.encode() * 3 + b"\n") for name in "ac"}
        new["b"] = old["b"]
        fresh = self.session.write("d", lines("d"))
        output = self.agent.shell("cat a b c d")
        found = re.split(rb"(?=^\[File (?:changed|prev))", output, flags=re.M)
        self.assertEqual(len(found), 4)
        self.assertDiff(found[1], old["a"], new["a"], "a")
        self.assertTrue(found[2].startswith(NOTICE + b"b"))
        self.assertTrue(found[3].endswith(fresh))
        self.assertDiff(found[3][:-len(fresh)], old["c"], new["c"], "c")
        self.pass_requests()
        for name in "abcd":
            self.assertNotice(self.agent.shell("cat " + name), name)

    def test_ends_of_lines(self):
        plain = lines("f")
        windows = plain.replace(b"\n", b"\r\n")
        for number, (old, new) in enumerate([
                (plain, plain[:-1]), (plain[:-1], plain), (plain[:-1], edited(plain)[:-1]), (plain[:-1], plain[:-1] + b"x"),
                (plain[:-1], plain + b"more"), (windows, edited(windows, text=b"x\r\n")), (windows, edited(windows)),
                (plain, edited(plain, text=b"x\r\n")), (windows[:-2], edited(windows)), (plain, plain + b"\n\n"), (plain, b"\n" + plain),
                (b"x" * 5000 + b"\n" + plain, edited(b"x" * 5000 + b"\n" + plain)), (plain, edited(plain, text=b"--- a\n+++ b\n@@ -1 +1 @@\n")),
                (plain, edited(plain, text=b"\\ No newline at end of file\n")), (plain, edited(plain, text=b"\x01\x1b[1m\xff\n"))]):
            with self.subTest(number=number):
                name = "f%d" % number
                self.session.write(name, old)
                self.assertEqual(self.agent.shell("cat " + name), old)
                self.session.write(name, new)
                self.assertDiff(self.agent.shell("cat " + name), old, new, name)

    def test_names(self):
        os.mkdir(self.session.path("-d"))
        for name in ("-n", "--", "-d/f", "a b", "tab\there", "line\nhere", "caf\u00e9", "'q'"):
            escaped = name.replace("\t", "\\t").replace("\n", "\\n")
            with self.subTest(name=name):
                old = self.session.write(name, lines("f"))
                run = lambda: self.agent.run(["bash", "-c", 'cat "$1"', "bash", "./" + name])
                self.assertReal(run(), old)
                new = self.change(name, old)
                self.assertDiff(run(), old, new, "./" + escaped)

    def test_other_names_of_the_file(self):
        old = self.deliver("f")
        os.link(self.session.path("f"), self.session.path("g"))
        os.symlink("f", self.session.path("h"))
        new = self.change("f", old)
        self.assertDiff(self.agent.shell("cat g"), old, new, "g")
        self.pass_requests()
        self.assertNotice(self.agent.shell("cat g"), "g")
        self.assertDiff(self.agent.shell("cat ./h"), old, new, "./h")

    def test_on_record(self):
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f")
        text = self.session.seen("log", "--session", self.session.name, "--op", "open,diffed,given").stdout.decode()
        self.assertRegex(text, r"open +ok +f  r diff\n")
        self.assertRegex(text, r"diffed +ok +f  %s bytes not given again\n" % format(len(new) - len(output), ","))
        self.assertEqual(text.count("given "), 1 + text.count("not given "))
        self.assertRegex(self.session.seen("status", "--session", self.session.name).stdout.decode(), r"\ndiffs +1 ")

    def test_in_the_summary(self):
        self.session.write("f", lines("f"))
        done = self.session.seen("run", "--session", self.session.name, "--agent-is", "outside", "--counts", *self.options, "--",
                                 "bash", "-c", "cat f; sed -i s/line.50/LINE/ f; cat f")
        self.assertIn(CHANGED, done.stdout)
        self.assertIn(b" 0 notices, 1 diff; ", done.stderr)

    def test_what_it_knows_after_it(self):
        """The guard takes the version that the diff led to for what the agent knows."""
        old = self.deliver("f")
        new = self.change("f", old)
        self.assertDiff(self.agent.shell("cat f"), old, new)
        check = self.session.seen("check", "--session", self.session.name, "f", check=False)
        self.assertEqual(check.returncode, 0, check)
        self.agent.shell("echo x > f")
        self.assertEqual(self.counters()["stale_warned"], 0)

    def test_a_sample_of_random_edits(self):
        chance = random.Random(int(os.environ.get("SEEN_SEED", "6")))
        given = 0
        for number in range(SAMPLE):
            old = b"".join(chance.choice((b"word %d\n" % chance.randrange(9), b"line %d\r\n" % chance.randrange(10**6), b"\n", b"x" * chance.randrange(300) + b"\n"))
                           for _ in range(chance.randrange(40, 300)))
            new = old
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(len(new) + 1)
                new = new[:at] + chance.choice((b"", b"a", b"\n", b"\r\n", b"one\ntwo\n")) + new[at + chance.choice((0, 0, 1, 30)):]
            if chance.randrange(4) == 0:
                new = new.rstrip(b"\n")
            name = "f%d" % number
            self.session.write(name, old)
            self.assertEqual(self.agent.shell("cat " + name), old)
            self.session.write(name, new)
            output = self.agent.shell("cat " + name)
            if output != new and not output.startswith(NOTICE):
                self.assertDiff(output, old, new, name)
                given += 1
        self.assertGreater(given, SAMPLE // 3)
        self.assertEqual((self.counters()["diffs"], self.counters()["lost_diffs"]), (given, 0))


@needs_library("the supervisor alone gives the file")
class File(Case):
    """Where the file is given."""

    def assertFile(self, old, new, command="cat f", name="f", lost=0, **more):
        self.session.write(name, old)
        self.assertEqual(self.agent.shell("cat " + name), old)
        before = self.counters()
        self.session.write(name, new)
        output = self.agent.shell(command, **more)
        self.assertEqual(output, new)
        after = self.counters()
        self.assertEqual((after["diffs"] - before["diffs"], after["lost_diffs"] - before["lost_diffs"]), (0, lost))

    def test_other_sinks(self):
        old = self.deliver("f")
        new = self.change("f", old)
        for command in ("cat f | cat", "cat f > g; cat < g", "cat f >> h; cat < h; rm h", "cat f | tee i > /dev/null; cat < i", 'x=$(cat f); printf "%s\\n" "$x"',
                        "cat <(cat f)", "cat < f", "bash -c 'cat f' | cat", "python3 -c 'import subprocess; print(subprocess.check_output([\"cat\", \"f\"]).decode(), end=\"\")'"):
            with self.subTest(command=command):
                self.assertEqual(self.agent.shell(command), new)
        for kind in ("null", "file:" + self.session.path("out")):
            self.agent.shell("cat f", kind)
        self.assertEqual(self.session.read("out"), new)
        self.assertEqual(self.agent.shell("cat f | cmp - f && echo same"), b"same\n")
        self.assertEqual(self.counters()["diffs"], 0)
        self.assertDiff(self.agent.shell("cat f"), old, new)

    def test_twice_in_one_process(self):
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f f")
        self.assertTrue(output.endswith(new))
        self.assertDiff(output[:-len(new)], old, new)

    def test_contents(self):
        text = lines("f")
        binary = edited(text, text=b"a\0b\n")
        for number, (old, new) in enumerate([(text, binary), (binary, text), (b"", text), (text, b""), (text, text[::-1]),
                                             (text, lines("g")), (text, text[:len(text) // 3]), (text, text * 3), (text, text[:300]), (text[:100], text)]):
            with self.subTest(number=number):
                # What is not kept, or not text, or too long is no loss; the program finds out that the old one is not text.
                self.assertFile(old, new, "cat f%d" % number, "f%d" % number, lost=int(b"\0" in old))

    def test_full_is_the_default(self):
        self.options = ()
        self.assertFile(lines("f"), edited(lines("f")))

    def test_excluded(self):
        self.options = (*self.options, "--exclude", "secret/**")
        os.mkdir(self.session.path("secret"))
        self.assertFile(lines("f"), edited(lines("f")), "cat secret/f", "secret/f")

    def test_observed_only(self):
        self.options = (*self.options, "--mode", "observe")
        self.assertFile(lines("f"), edited(lines("f")))

    def test_beyond_the_window(self):
        self.options = (*self.options, "-c", "window.requests=3")
        old = self.deliver("f")
        self.pass_requests(3)
        new = self.change("f", old)
        self.assertReal(self.agent.shell("cat f"), new)

    def test_the_window_is_that_of_the_whole(self):
        self.options = (*self.options, "-c", "window.requests=5", "-c", "notice.insist_requests=1")
        old = self.deliver("f")
        new = self.change("f", old)
        self.assertDiff(self.agent.shell("cat f"), old, new)
        self.pass_requests(4)
        self.assertReal(self.agent.shell("cat f"), new)

    def test_invalidated(self):
        old = self.deliver("f")
        new = self.change("f", old)
        self.session.seen("forget", "--session", self.session.name, "f")
        self.assertReal(self.agent.shell("cat f"), new)
        old = new
        new = self.change("f", old, 20)
        self.session.seen("forget", "--session", self.session.name, "--all")
        self.assertReal(self.agent.shell("cat f"), new)

    def test_another_scope(self):
        old = self.deliver("f")
        new = self.change("f", old)
        another = self.session.agent(*self.options)
        self.addCleanup(another.close)
        self.assertReal(another.shell("cat f"), new)
        self.assertDiff(self.agent.shell("cat f"), old, new)

    def test_not_kept(self):
        """What the agent was given is in the store no more."""
        old = self.deliver("f")
        new = self.change("f", old)
        for name in os.listdir(self.contents()):
            if name != "index":
                os.unlink(os.path.join(self.contents(), name))
        self.assertReal(self.agent.shell("cat f"), new)
        self.assertEqual(self.counters()["lost_diffs"], 0)

    def test_damaged_in_the_store(self):
        old = self.deliver("f")
        new = self.change("f", old)
        for name in os.listdir(self.contents()):
            if name != "index":
                path = os.path.join(self.contents(), name)
                os.chmod(path, 0o600)
                with open(path, "r+b") as file:
                    file.write(b"G")
        self.assertReal(self.agent.shell("cat f"), new)
        self.assertEqual(self.counters()["lost_diffs"], 1)

    def test_no_store(self):
        self.options = (*self.options, "-c", "content.max_bytes=0")
        self.assertFile(lines("f"), edited(lines("f")))

    def test_without_path(self):
        """No other program is needed."""
        for number, command in enumerate(("export PATH=; exec /bin/cat ", "unset PATH; exec /bin/cat ")):
            name = "f%d" % number
            with self.subTest(command=command):
                old = self.deliver(name)
                new = self.change(name, old)
                self.assertDiff(self.agent.shell(command + name), old, new, name)

    def test_hangs(self):
        """It is waited for, for so long and no longer, for all files of one process."""
        self.use_program("exec sleep 60")
        names = ["f%d" % number for number in range(4)]
        old = {name: self.deliver(name) for name in names}
        new = {name: self.change(name, old[name]) for name in names}
        start = time.monotonic()
        self.assertEqual(self.agent.shell("cat " + " ".join(names)), b"".join(new[name] for name in names))
        self.assertLess(time.monotonic() - start, PATIENCE_S + 3)
        self.assertEqual(self.counters()["lost_diffs"], len(names))
        wait_until(lambda: not self.sleepers(), 20)  # each dies with the one above it

    def sleepers(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    if self.session.directory.encode() in file.read():
                        with open("/proc/%s/cmdline" % pid, "rb") as words:
                            if words.read().startswith(b"sleep\x0060"):
                                found.append(pid)
            except OSError:
                pass
        return found

    def test_killed_meanwhile(self):
        """A viewer that is killed while it waits leaves nothing behind, and nothing moves."""
        self.use_program("touch %s/begun; exec sleep 60" % self.session.directory)
        old = self.deliver("f")
        new = self.change("f", old)
        self.agent.shell("(exec cat f) & wait_for=$!; until test -e ../begun; do sleep 0.05; done; kill -9 $wait_for; wait $wait_for; :")
        wait_until(lambda: not self.sleepers(), 20)
        self.other_program(REAL)
        self.pass_requests()
        self.assertDiff(self.agent.shell("cat f"), old, new)

    def other_program(self, script):
        """An installation whose program does that when the library asks it."""
        root = os.path.join(self.session.directory, "installed")
        if not os.path.exists(root):
            for name in ("bin", "lib/seen"):
                os.makedirs(os.path.join(root, name))
            shutil.copy(harness.LIBRARY, os.path.join(root, "lib/seen"))
            shutil.copy(harness.SEEN, os.path.join(root, "bin/seen.real"))
        path = os.path.join(root, "bin/seen")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nexport PATH=/usr/bin:/bin\n" + script + "\n")
        os.chmod(path, 0o755)
        return [os.path.join(root, "bin/seen.real"), *harness.RUN[1:]]

    def use_program(self, script):
        """The session is of such an installation."""
        with unittest.mock.patch.object(harness, "RUN", self.other_program(script)):
            self.agent

    def test_what_the_program_prints_is_checked(self):
        real = REAL
        self.use_program("")
        for number, (script, given) in enumerate((
                ("echo no nonce", False), ("exit 0", False), ("exit 1", False), ("exit 2", False), ("exit 77", False), ("kill -9 $$", False),
                (real + " | sed 1s/seen-/sean-/", False), (real + " | sed 1d", False), (real + "; head -c 1000 /dev/zero", False),
                ("printf '%s' " + "x" * 20000, False), (real + "; exit 1", False), (real, True),
                ("ls /proc/self/fd > ${0%%/*}/descriptors%d; " % 12 + real, True))):
            self.other_program(script)
            name = "f%d" % number
            with self.subTest(script=script[:80]):
                old = self.deliver(name)
                new = self.change(name, old)
                output = self.agent.shell("exec 7<%s 8>&1; exec cat %s" % (name, name))
                if given:
                    self.assertDiff(output, old, new, name)
                else:
                    self.assertEqual(output, new)
        with open(os.path.join(self.session.directory, "installed/bin/descriptors12")) as file:
            self.assertFalse({"7", "8"} & set(file.read().split()))

    def test_limits(self):
        for number, limit in enumerate(("-f 1", "-n 4", "-v 30000", "-f 0")):
            name = "f%d" % number
            old = self.deliver(name)
            new = self.change(name, old)
            with self.subTest(limit=limit):
                output = self.agent.shell("ulimit %s; exec cat %s" % (limit, name))
                if output.startswith(CHANGED):  # there was enough
                    self.assertDiff(output, old, new, name)
                else:
                    self.assertReal(output, new)
        self.assertEqual([name for name in os.listdir(self.session.workspace) if "core" in name], [])

    def test_no_clone(self):
        """A filter refuses what it takes to run a program, as RLIMIT_NPROC does."""
        script = os.path.join(self.session.directory, "filter.py")
        with open(script, "w") as file:
            file.write(FILTER)
        for number, calls in enumerate(("clone", "memfd_create", "pipe2", "close_range", "ppoll", "prctl")):
            name = "f%d" % number
            with self.subTest(calls=calls):
                old = self.deliver(name)
                new = self.change(name, old)
                output = self.agent.shell("SEEN_SESSION_MODE=off exec %s %s %s cat %s" % (sys.executable, script, calls, name))
                if output.startswith(CHANGED):
                    self.assertIn(calls, ("close_range", "prctl"))  # it does without
                    self.assertDiff(output, old, new, name)
                else:
                    self.assertReal(output, new)
        self.assertGreaterEqual(self.counters()["lost_diffs"], 3)

    def test_changes_while_it_is_shown(self):
        """What the diff leads to is what the file was when it was opened; what comes then is reported the next time."""
        self.use_program(REAL + "; status=$?; cp %s/third f; exit $status" % self.session.directory)
        old = self.deliver("f")
        third = edited(old, 70, b"third\n")
        with open(os.path.join(self.session.directory, "third"), "wb") as file:
            file.write(third)
        second = self.change("f", old)
        self.assertDiff(self.agent.shell("cat f"), old, second)
        self.assertEqual(self.session.read("f"), third)
        self.other_program(REAL)
        output = self.agent.shell("cat f")
        if output.startswith(CHANGED):
            self.assertDiff(output, second, third)
        else:  # `second` was gone before it could be kept
            self.assertReal(output, third)

    def test_another_than_was_hashed(self):
        """A file that is written all the time: what is given is a file, or leads from one that was given to another."""
        known = [self.deliver("f")]
        self.change("f", known[0])
        stop = os.path.join(self.session.directory, "stop")
        writer = subprocess.Popen([sys.executable, "-c", "import os,sys,itertools\nfor i in itertools.count():\n  if os.path.exists(sys.argv[1]): break\n"
                                   "  with open(sys.argv[2], 'r+b') as f: f.seek(40); f.write(b'%04d' % (i % 10000))", stop, self.session.path("f")])
        try:
            for _ in range(20):
                output = self.agent.shell("cat f")
                found = HEADER.match(output)
                if found:
                    self.assertLess(2 * len(output), int(found[4]))
                    led_to = [data for data in (patched(old, output) for old in known) if data and len(data) == int(found[4])]
                    self.assertTrue(led_to, output)
                    known += led_to
                else:
                    known.append(output)
        finally:
            open(stop, "w").close()
            writer.wait(10)

    def test_a_viewer_that_fails(self):
        """Nothing moves: the next diff is against what the agent has."""
        old = self.deliver("f")
        new = self.change("f", old)
        output = self.agent.shell("cat f missing 2> /dev/null; :")
        self.assertDiff(output, old, new)
        self.pass_requests()
        self.assertDiff(self.agent.shell("cat f"), old, new)
        self.pass_requests()
        self.assertNotice(self.agent.shell("cat f"), "f")

    def test_beyond_the_agents_limit(self):
        """More than the agent shows of one command: it does not have the diff."""
        old = self.deliver("f")
        new = self.change("f", old)
        self.assertTrue(self.agent.shell("cat f; head -c 30000 /dev/zero | tr '\\0' x | fold").startswith(CHANGED))
        self.pass_requests()
        output = self.agent.shell("cat f")
        self.assertNotIn(NOTICE, output)
        self.assertIn(output, (new, output if output.startswith(CHANGED) else new))


FILTER = """
import ctypes, errno, os, platform, struct, sys
NUMBERS = {"x86_64": {"clone": 56, "memfd_create": 319, "pipe2": 293, "close_range": 436, "ppoll": 271, "prctl": 157},
           "aarch64": {"clone": 220, "memfd_create": 279, "pipe2": 59, "close_range": 436, "ppoll": 73, "prctl": 167}}[platform.machine()]
program = [struct.pack("<HBBI", 0x20, 0, 0, 0), struct.pack("<HBBI", 0x15, 0, 1, NUMBERS[sys.argv[1]]),
           struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | errno.EAGAIN), struct.pack("<HBBI", 0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(program))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
assert libc.prctl(22, 2, ctypes.byref(Program(len(program), ctypes.addressof(code))), 0, 0) == 0
del os.environ["SEEN_SESSION_MODE"]  # of this process alone
os.execvp(sys.argv[2], sys.argv[2:])
"""


if __name__ == "__main__":
    unittest.main()

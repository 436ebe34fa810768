"""undo and redo that are killed, that find no room, or a damaged store: nothing is lost or half done, and the rest is done afterwards."""
import os
import random
import resource
import shutil
import subprocess
import time
import unittest

from harness import BUILD, LONG, SEEN, Session
from stopped import run_stopped
from undo_case import Undone
from undoing import difference, tree

ROOT = os.geteuid() == 0
FAILS_AT = os.path.join(BUILD, "tests", "programs", "helpers", "fails_at")
FILES = 60 if LONG else 6


class Harmed(Undone):
    def tree(self, times=False):
        return tree(self.session.workspace, times)

    def run_failing(self, number, how, *words):
        """Returns (result, how many calls there were)."""
        count = os.path.join(self.session.directory, "count")
        result = subprocess.run([FAILS_AT, str(number), how, count, SEEN, *words, "--session", self.session.name], cwd=self.session.workspace,
                                env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        with open(count) as file:
            return result, int(file.read())

    def finish(self, words, expected, about):
        """What was interrupted is gone on with; what was not begun is begun."""
        result = self.session.seen("undo", "--continue", "--session", self.session.name, check=False)
        self.assertIn(result.returncode, (0, 1), (about, result.stdout, result.stderr))
        if result.returncode == 1 and difference(expected, self.tree()):
            result = self.session.seen(*words, "--session", self.session.name, check=False)
            self.assertEqual(result.returncode, 0, (about, result.stdout, result.stderr))
        self.assertEqual(difference(expected, self.tree()), [], (about, result.stdout, result.stderr))

    def assertNothingHalfDone(self, about):
        """Each file has one of the contents that a file had."""
        known = {entry[3] for one in (self.before, self.after) for entry in one.values() if len(entry) > 4}
        for path, entry in self.tree().items():
            if len(entry) > 4 and b".seen-undo" not in path:
                self.assertIn(entry[3], known, (about, path))

    def calls(self):
        _, count = self.run_failing(0, "kill", "undo", "--all")
        self.assertTree(self.before)
        _, again = self.run_failing(0, "kill", "redo")
        self.assertTree(self.after)
        return min(count, again)

    def each(self, times):
        """Numbers of calls: all of them in the long form, else some from the first to the last."""
        count = self.calls()
        chance = random.Random(1)
        return [1 + (i * count // times if not LONG else i % count if i < count else chance.randrange(count)) for i in range(times)]


class Harm(Harmed):
    def setUp(self):
        super().setUp()
        for i in range(FILES):
            self.session.write("src/deep/f%d" % i, b"%d" % i * 50)
        self.session.write("large", os.urandom(100000))
        self.before = self.tree()
        self.after = self.agent("mv src moved; rm -r moved/deep; mkdir src; chmod 600 moved/a; mv hard top; rm large; ln -s x src/link",
                                "echo more >> moved/b; rm -r src; echo new > new; mkdir -p a/b; mv moved/a a/b/a")[-1]

    def test_killed_at_each_call(self):
        for turn, number in enumerate(self.each(500 if LONG else 15)):
            for words, expected in (("undo", "--all"), self.before), (("redo",), self.after):
                self.run_failing(number, "kill", *words)
                if turn % 3 == 2:  # and its continuation, too
                    self.run_failing(number // 2 + 1, "kill", "undo", "--continue")
                self.finish(words, expected, (number, words))
        self.assertFalse([name for name in os.listdir(self.session.workspace) if name.startswith(".seen")])

    def fail_at_each(self, numbers, how):
        for number in numbers:
            for words, expected in (("undo", "--all"), self.before), (("redo",), self.after):
                result, _ = self.run_failing(number, how, *words)
                if difference(expected, self.tree()):
                    self.assertEqual(result.returncode, 8, (number, words, result.stdout, result.stderr))
                    self.assertNothingHalfDone((number, words))
                self.finish(words, expected, (number, words))

    def test_full_disk_at_each_call(self):
        self.fail_at_each(self.each(300 if LONG else 8), "full")

    def test_read_only_at_each_call(self):
        """All becomes read-only in the middle, as a disk does after an error."""
        self.fail_at_each(self.each(300 if LONG else 5), "read-only")

    def set_read_only(self, is_so):
        """False: it could not be, since a file there is open for writing."""
        done = subprocess.run(["mount", "-o", "remount,bind,%s" % ("ro" if is_so else "rw"), self.records], stderr=subprocess.PIPE, check=False)
        return done.returncode == 0

    @unittest.skipUnless(ROOT, "mounts a directory")
    def test_read_only_records_at_each_call(self):
        """The records alone become read-only in the middle: nothing is half done, and the rest is done when they are not any more."""
        subprocess.run(["mount", "--bind", self.records, self.records], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.records], check=False)
        counts = [run_stopped(self.session, None, words, (0,))[2] for words in (("undo", "--all"), ("redo",))]
        mattered, chance = 0, random.Random(1)
        for number in chance.sample(range(1, min(counts) + 1), 100 if LONG else 6):
            for words, expected in (("undo", "--all"), self.before), (("redo",), self.after):
                code, errors, _ = run_stopped(self.session, lambda _: self.set_read_only(True), words, (number,))
                if difference(expected, self.tree()):
                    mattered += 1
                    self.assertEqual(code, 8, (number, words, errors))
                    self.assertNothingHalfDone((number, words))
                self.assertTrue(self.set_read_only(False))
                self.finish(words, expected, (number, words))
        self.assertGreater(mattered, 0)

    def test_file_size_limit(self):
        """RLIMIT_FSIZE is 4 KiB: what does not fit fails, and is done without it."""
        for words, expected in (("undo", "--all"), self.before), (("redo",), self.after):
            result = subprocess.run([SEEN, *words, "--session", self.session.name], cwd=self.session.workspace, env=self.session.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)))
            if difference(expected, self.tree()):
                self.assertEqual(result.returncode, 8, (words, result.stdout, result.stderr))
                self.assertNothingHalfDone(words)
            self.finish(words, expected, words)

    def damage(self, path, at):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 0x5A]))

    def test_damaged_store(self):
        """One byte anywhere in the records: what needs it is named and left, the rest comes back; never a wrong content."""
        part = os.path.join(self.records, "00000000.part")
        with open(part, "rb") as file:
            size = len(file.read().rstrip(b"\0"))
        for at in range(1, size, 64 if LONG else size // 12 | 1):
            self.damage(part, at)
            result = self.session.seen("undo", "--all", "--session", self.session.name, check=False)
            self.assertNothingHalfDone(at)
            if difference(self.before, self.tree()):
                self.assertIn(result.returncode, (8, 12), (at, result.stdout, result.stderr))
                self.assertRegex(result.stderr, b"left as it is|records of this session are damaged", at)
            if b"nothing was changed" in result.stderr:
                self.assertEqual(difference(self.after, self.tree()), [], at)
            self.damage(part, at)
            if difference(self.after, self.tree()):
                again = self.session.seen("redo", "--session", self.session.name, check=False)
                self.assertEqual(difference(self.after, self.tree()), [], (at, result.stderr, again.stderr))

    def test_damaged_plan(self):
        """The plan of an undo that was interrupted: refused, and nothing is done by it."""
        self.run_failing(self.calls() // 2, "kill", "undo", "--all")
        plan = sorted(os.path.join(self.records, name, "plan") for name in os.listdir(self.records) if name.startswith("op-"))[-1]
        half = self.tree()
        size = os.path.getsize(plan)
        for at in (4, 12, 32, 40, 100, size // 2, size - 1):
            self.damage(plan, at)
            result = self.session.seen("undo", "--continue", "--session", self.session.name, check=False)
            self.assertNotEqual(result.returncode, 0, (at, result.stdout))
            self.assertEqual(difference(half, self.tree()), [], at)
            self.damage(plan, at)
        self.finish(("undo", "--all"), self.before, "plan")


@unittest.skipUnless(ROOT, "mounts a directory")
class HarmOfSteps(unittest.TestCase):
    """The records become read-only while an agent works, and writable again: no program notices, and undo is right about the rest."""
    COMMANDS = ("echo agent >> {}", "sed -i s/one/two/ {}", "rm {}", "rm {}; echo other > {}", "chmod 600 {}; echo x > {}", "truncate -s 3 {}",
                "ln {} {}.linked; rm {}", "mkdir {}.d; mv {} {}.d/g", "cp {} {}.copy; dd if=/dev/zero of={} bs=3 count=2 conv=notrunc status=none")

    def test_read_only_records_while_steps_run(self):
        chance, missed = random.Random(3), 0
        for _ in range(60 if LONG else 2):
            missed += self.round(chance)
        self.assertGreater(missed, 0, "all was on record")

    def round(self, chance):
        """Returns how many paths changed while nothing could be put on record."""
        session = Session()
        self.addCleanup(session.close)
        records = os.path.join(session.directory, ".local/state/seen", session.name, "undo")
        names = ["f%d" % i for i in range(12)]
        for name in names:
            session.write(name, b"%s\none\n" % name.encode() * 20)
        before = last = tree(session.workspace, False)
        agent, missed = session.agent(), set()
        agent.shell("true")  # the session is there now
        subprocess.run(["mount", "--bind", records, records], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", records], check=False)
        for turn in range(4):
            is_missed = chance.random() < 0.5
            subprocess.run(["mount", "-o", "remount,bind,%s" % ("ro" if is_missed else "rw"), records], check=True)
            mine = [names.pop(chance.randrange(len(names))) for _ in range(3)]
            command = "; ".join(chance.choice(self.COMMANDS).replace("{}", name) for name in mine)
            self.assertEqual(agent.shell("(set -e; %s) 2>&1; echo $?" % command), b"0\n", command)
            now = tree(session.workspace, False)
            missed |= {path for path in last.keys() | now.keys() if is_missed and last.get(path) != now.get(path)}
            last = now
        subprocess.run(["mount", "-o", "remount,bind,rw", records], check=True)
        agent.close()
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        now = tree(session.workspace, False)
        for path in before.keys() | last.keys() | now.keys():
            self.assertEqual(now.get(path), (last if path in missed else before).get(path), (path, result.stderr))
        self.assertEqual(result.returncode, 8 if missed else 0, (missed, result.stdout, result.stderr))
        return len(missed)


class HarmOfMany(Harmed):
    """So many files that ext4 makes them elsewhere (cli/undo/apply_fresh.h)."""
    def setUp(self):
        super().setUp()
        for directory in "gone", "changed":
            os.mkdir(self.session.path(directory))
            for i in range(40):
                self.session.write("%s/%d" % (directory, i), b"%d" % i * 50)
        os.chmod(os.path.join(self.session.workspace, "gone/7"), 0o640)
        self.before = self.tree()
        self.after = self.agent("rm -r gone; sed -i s/0*$/x/ changed/*")[-1]

    def made_elsewhere(self):
        """Directories that undo made for it, of those that are there now."""
        return [name for operation in os.listdir(self.records) if operation.startswith("op-")
                for name in os.listdir(os.path.join(self.records, operation)) if name.startswith("new-")]

    def test_killed(self):
        system = subprocess.run(["stat", "-f", "-c", "%T", self.records], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        elsewhere = 0
        for turn, number in enumerate(self.each(300 if LONG else 6)):
            for words, expected in (("undo", "--all"), self.before), (("redo",), self.after):
                self.run_failing(number, "kill", *words)
                elsewhere += len(self.made_elsewhere())
                if turn % 3 == 2:
                    self.run_failing(number // 2 + 1, "kill", "undo", "--continue")
                self.finish(words, expected, (number, words))
                self.assertEqual(self.made_elsewhere(), [], (number, words))
        self.assertEqual(elsewhere > 0, system == "ext2/ext3", system)
        self.assertFalse([name for name in os.listdir(self.session.workspace) if name.startswith(".seen")])

    @unittest.skipUnless(ROOT, "mounts a directory")
    def test_mount(self):
        """What is below another mount is made there."""
        inner = self.session.path("changed")
        subprocess.run(["mount", "--bind", inner, inner], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", inner], check=False)
        result = self.session.seen("undo", "--all", "--session", self.session.name, check=False)
        self.assertEqual(result.returncode, 0, (result.stdout, result.stderr))
        self.assertEqual(difference(self.before, self.tree()), [])


class Failures(Undone):
    """What goes wrong: nothing is lost, and the rest is done afterwards."""

    def fill(self, count):
        for i in range(count):
            self.session.write("src/deep/f%d" % i, b"%d" % i * 50)
        self.before = self.tree()

    def destroy(self):
        return self.agent("mv src moved; rm -r moved/deep; mkdir src; chmod 600 moved/a; mv hard top")[-1]

    def test_killed_and_continued(self):
        self.fill(60)
        self.destroy()
        chance = random.Random(1)
        environment = self.session.environment
        for attempt in range(1000 if LONG else 8):
            command = ("undo", "--all") if attempt % 2 == 0 else ("redo",)
            process = subprocess.Popen([SEEN, *command, "--session", self.session.name], cwd=self.session.workspace, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(chance.random() * 0.08)
            process.kill()
            process.communicate()
            unfinished = self.session.seen("undo", "--session", self.session.name, "--continue", check=False)
            self.assertIn(unfinished.returncode, (0, 1), (attempt, unfinished.stdout, unfinished.stderr))
            if unfinished.returncode == 1:  # it was killed before the plan, or done
                result = self.session.seen(*command, "--session", self.session.name, check=False)
                self.assertIn(result.returncode, (0, 1), result.stderr)
            if attempt % 2 == 0:
                self.assertEqual(difference(self.before, self.tree()), [], attempt)
            else:
                self.assertNotIn(b"src/a", self.tree(), attempt)
            self.assertFalse([name for name in os.listdir(self.session.workspace) if name.startswith(".seen")])

    def test_read_only_directories(self):
        """As an ordinary user, too (behaviour.ordinary_user): of more of them than are open at once."""
        for i in range(40):
            os.makedirs(self.session.path("ro/d%02d/e" % i))
            self.session.write("ro/d%02d/f" % i, b"%d" % i)
        subprocess.run(["chmod", "-R", "a-w", self.session.path("ro")], check=True)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", self.session.path("ro")], stderr=subprocess.DEVNULL)
        self.before = self.tree()
        after = self.agent("chmod -R u+w ro; rm -rf ro")[-1]
        chance = random.Random(2)
        for attempt in range(200 if LONG else 6):
            command = ("undo", "--all") if attempt % 2 == 0 else ("redo",)
            process = subprocess.Popen([SEEN, *command, "--session", self.session.name], cwd=self.session.workspace, env=self.session.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if attempt > 1:
                time.sleep(chance.random() * 0.04)
                process.kill()
            process.communicate()
            unfinished = self.session.seen("undo", "--session", self.session.name, "--continue", check=False)
            self.assertIn(unfinished.returncode, (0, 1), (attempt, unfinished.stdout, unfinished.stderr))
            if unfinished.returncode == 1 and attempt > 1:
                self.session.seen(*command, "--session", self.session.name, check=False)
            self.assertEqual(difference(self.before if attempt % 2 == 0 else after, self.tree()), [], attempt)

    def test_damaged_content_is_named_and_left(self):
        self.fill(3)
        self.agent("rm src/a src/deep/c")
        part = os.path.join(self.records, "00000000.part")
        with open(part, "r+b") as file:
            at = file.read().index(b"the content of src/a")
            file.seek(at)
            file.write(b"X")
        result = self.undo("--all", code=8)
        self.assertIn(b"src/a is left as it is: what was kept of it cannot be read, or is damaged", result.stderr)
        now = self.tree()
        self.assertEqual((b"src/a" in now, now[b"src/deep/c"]), (False, self.before[b"src/deep/c"]))

    def test_nothing_is_done_where_nothing_can_be_kept(self):
        after = self.destroy()
        if ROOT:
            subprocess.run(["mount", "--bind", self.records, self.records], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", self.records], check=False, stderr=subprocess.DEVNULL)
            subprocess.run(["mount", "-o", "remount,bind,ro", self.records], check=True)
        else:
            os.chmod(self.records, 0o500)
        self.assertIn(b"nothing was changed", self.undo("--all", code=8).stderr)
        self.assertTree(after)
        if ROOT:
            subprocess.run(["umount", self.records], check=True)
        else:
            os.chmod(self.records, 0o700)
        self.undo("--all")
        self.assertTree(self.before)

    @unittest.skipUnless(ROOT, "mounts a file system")
    def test_full_disk(self):
        """The workspace's file system becomes full in the middle: the rest is done when there is room."""
        small = os.path.join(self.session.directory, "workspace")
        shutil.rmtree(small)
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        for i in range(40):
            self.session.write("f%d" % i, os.urandom(10000))
        before = self.tree()
        self.agent("rm f*")
        with open(self.session.path("ballast"), "wb") as file:
            file.write(bytes(800000))
        result = self.undo("--all", code=8)
        self.assertIn(b"--continue", result.stderr)
        now = self.tree()
        self.assertEqual([name for name in now if name != b"ballast" and now[name] != before[name]], [])
        os.unlink(self.session.path("ballast"))
        self.assertIn(b"--continue: without --dry-run", self.undo("--continue", "--dry-run", code=2).stderr)
        self.undo("--continue")
        self.assertEqual(difference(before, self.tree()), [])


if __name__ == "__main__":
    unittest.main()

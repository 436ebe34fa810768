"""Random commands of an agent, undone to random points: the tree is what it was, to the byte, mode, link and time.

SEEN_TEST_UNDO_SEED, SEEN_TEST_UNDO_COMMANDS and SEEN_TEST_UNDO_STEPS (of a session) in the environment choose another run.
"""
import json
import os
import stat
import time
import unittest

import packs
from harness import VIA, Session, needs_library
from undoing import PYTHON, Maker, Tree, difference, tree

SEED = int(os.environ.get("SEEN_TEST_UNDO_SEED", "1"))
COMMANDS = int(os.environ.get("SEEN_TEST_UNDO_COMMANDS", "500" if VIA == "preload" else "60"))
STEPS = int(os.environ.get("SEEN_TEST_UNDO_STEPS", "12"))
COMMANDS_MAX = 5  # of a step
PART = 8  # steps between two undos, at most
OWN = 0.08  # of the steps are the agent's own actions
WAYS = "truncate reread in_place append rename size unlink stream".split()
KEPT_BY_GIT = (b"logs",)  # what an undo does not take back


class Round:
    """A session: parts of several steps, behind each an undo to some point, which stays or is redone."""

    def __init__(self, test, session, seed, steps=STEPS):
        self.test, self.session, self.seed, self.count = test, session, seed, steps
        self.maker = Maker(session.workspace, seed, VIA != "preload", VIA == "preload")
        self.random = self.maker.random
        self.reader = Tree(session.workspace, without=KEPT_BY_GIT)
        self.commands = self.undos = 0
        self.steps, self.trees = [], []  # what was run; what was there before
        self.now = None
        self.stays = []  # (the step before which an undo went that stays, the count of steps at that time)
        self.done = []  # what was undone and redone, for a message

    def run_steps(self, agent, count):
        for _ in range(count):
            if not os.path.isdir(self.session.workspace):
                return
            self.maker.inspect(self.now)
            if self.random.random() < OWN and self.steps and not self.steps[-1].startswith("own: ") and self.write(agent):
                continue
            commands = [self.maker.command() for _ in range(self.random.randrange(1, COMMANDS_MAX + 1))]
            self.commands += len(commands)
            self.steps.append("; ".join("(%s)" % command if command.startswith("cd ") else command for command in commands))
            self.trees.append(self.now)
            agent.shell(self.steps[-1])
            if os.path.isdir(self.session.workspace):
                self.now = self.reader.read()

    def write(self, agent):
        """The agent's own action; it is a step where something was done, or tried as far as a supervisor knows."""
        how = self.random.choice(WAYS)
        file = self.random.choice(self.maker.files() or ["new"])
        if VIA != "preload" and not os.access(self.session.path(file), os.W_OK):
            return False
        words = {"path": self.session.path(file), "data": "own %d\n" % len(self.steps) * self.random.randrange(1, 100), "how": how}
        if agent.ask(do="write", **words)["errno"]:
            return False
        self.commands += 1
        self.steps.append("own: %s %s" % (how, file))
        self.trees.append(self.now)
        self.now = self.reader.read()
        return True

    def call(self, *words):
        for _ in range(100):  # a process that no other waits for (rsync has one) may end behind its step
            result = self.session.seen(*words, "--session", self.session.name, check=False)
            if b" still runs" not in result.stderr:
                break
            time.sleep(0.02)
        self.undos += 1
        self.done.append("behind step %d: %s: %d" % (len(self.steps), " ".join(words), result.returncode))
        return result

    def fail(self, what, result):
        self.test.fail("seed %d of %d steps, %s: %s: %r %r\n%s\n%s" % (
            self.seed, self.count, self.done[-1], what, result.stdout[-300:], result.stderr[-600:], "\n".join(self.done[-9:]),
            "\n".join("%d: %s" % pair for pair in enumerate(self.steps, 1))))

    def seen(self, expected, *words, codes=(0, 1)):
        result = self.call(*words)
        differ = difference(expected, self.reader.read())
        if differ:
            self.fail("wanted, found: %r" % (differ,), result)
        if result.returncode not in codes:
            self.fail("left some, or failed", result)
        return result.returncode == 0

    def since(self, step):
        """What is there when everything from a step on is taken back.  Undos of earlier ones stay."""
        for from_step, count in self.stays:
            if from_step < step < count:
                step = count
        return self.trees[step] if step < len(self.steps) else self.now

    def undo(self, stays=False):
        """Takes back everything from a random step on."""
        step = self.random.randrange(max(0, len(self.steps) - 30) if self.random.random() < 0.6 else 0, len(self.steps))
        wanted = self.since(step)
        done = self.seen(wanted, "undo", "--since", str(step + 1), "--times")
        if not done:
            return
        if stays:
            self.stays.append((step, len(self.steps)))
            self.now = wanted
            return
        if self.random.random() < 0.3:  # and on from there
            further = self.random.randrange(step + 1)
            if difference(wanted, self.since(further)) and self.seen(self.since(further), "undo", "--since", str(further + 1), "--times"):
                self.seen(wanted, "redo")
        self.seen(self.now, "redo")

    def undo_one(self):
        """Takes back one step, as far as that goes: what later ones changed as well is left.  Redo brings all of it."""
        step = self.random.randrange(len(self.steps))
        result = self.call("undo", "--step", str(step + 1), "--times")
        if result.returncode not in (0, 1, 12):
            self.fail("failed", result)
        found = self.reader.read()
        if not any(count > step for _, count in self.stays):
            self.check_later(step, found, result)
        if difference(self.now, found):
            self.seen(self.now, "redo")

    def check_later(self, step, found, result):
        """What later steps changed of files that a step had left is as they left it, by whichever name.

        A name that the step made a link has the other ones' file no more; one that a later step made a link has what comes back in the file."""
        left = self.trees[step + 1] if step + 1 < len(self.steps) else self.now
        for path in left.keys() & self.now.keys() & found.keys():
            was, now, then = (tree[path] for tree in (left, self.now, found))
            if {stat.S_IFREG} == {was[0], now[0], then[0]} and was[:-1] != now[:-1] != then[:-1]:
                before = self.trees[step].get(path)
                is_linked = len(was[-1]) > 1 and (not before or set(before[-1]) & set(was[-1]) <= {path})
                is_later = any(name in left and left[name][:-1] == now[:-1] for name in now[-1] if name != path)
                if not is_later and not (is_linked and any(found[name][:-1] == now[:-1] for name in now[-1] if name != path and name in found)):
                    self.fail("a later step's change was taken back: %r" % ((path, was, now, then),), result)

    def check(self, ended):
        if self.random.random() < 0.15:
            self.undo_one()
        self.undo(stays=not ended and self.random.random() < 0.4)

    def run(self):
        self.maker.fill(self.random.randrange(5, 40))
        self.now = self.reader.read()
        agent = self.session.agent()
        while len(self.steps) < self.count and os.path.isdir(self.session.workspace):  # a command may remove it
            self.run_steps(agent, min(self.random.randrange(1, PART + 1), self.count - len(self.steps)))
            if os.path.isdir(self.session.workspace) and len(self.steps) < self.count:
                self.check(False)
        agent.close()
        for _ in range(2 if os.path.isdir(self.session.workspace) else 0):
            self.check(True)


class Found(unittest.TestCase):
    """What the campaign found: files with several names, of which a command names one."""

    # in a directory where a and b are one file; each is a step
    CASES = {
        "touch": ("rm b", "touch a"), "touched at once": ("rm b; touch a", "chmod 600 a"), "over it": ("mv c b; touch a", "echo x >> a"),
        "other name written": ("echo x > a; rm a", "true"), "written in pieces": ("echo x >> b", "rm b; mv c a", "true"),
        "name lost while open": ("exec 7<> a; rm -- a; echo x >&7; echo y > a", "touch b"), "mode by another name": ("chmod 600 a; rm a", "touch c"),
        "name of one that went along": ("mkdir d; mv b d; mv d e", "mkdir d; mkdir d/b; mv d/b d/c; mv e/b d/b"),
        "read-only by then": ("echo x >> a; chmod 444 a", "true"),
        "moved while open": ("echo 1 >> c; exec 7>> c; echo a >&7; mv c d; echo b >&7", "chmod 600 d; rm d"),
        "all names lost while open": ("rm b; exec 7<> a; rm a; echo x >&7", "exec 7<> c; rm -- c; echo x >&7"),
    }

    def run_cases(self, size):
        session = Session()
        self.addCleanup(session.close)
        for case in self.CASES:
            os.mkdir(session.path(case))
            session.write(case + "/a", os.urandom(size))
            os.link(session.path(case + "/a"), session.path(case + "/b"))
            session.write(case + "/c", os.urandom(size))
        before = tree(session.workspace)
        agent = session.agent()
        for number in range(2):
            agent.shell("; ".join("(cd '%s'; %s)" % (case, commands[number]) for case, commands in self.CASES.items()))
        agent.close()
        after = tree(session.workspace)
        for command, expected in ("undo", before), ("redo", after), ("undo", before):
            result = session.seen(command, *(("--all", "--times") if command == "undo" else ()), "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], result.stderr)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def linked(self):
        """A session in whose workspace a and b are one file."""
        session = Session()
        self.addCleanup(session.close)
        session.write("a", b"before\n")
        os.link(session.path("a"), session.path("b"))
        return session

    def test_names_of_a_small_file(self):
        self.run_cases(500)

    def test_names_of_a_large_file(self):
        self.run_cases(150000)

    def test_a_later_step_changed_it_by_another_name(self):
        """What it did stays: the step's own change is not taken back there.  A name that the step removed comes back."""
        session = Session()
        self.addCleanup(session.close)
        steps = [(one, two) for one in ("echo 1 >> a", "chmod 600 a", "rm a", "echo c > c; mv c a") for two in ("echo 2 >> b", "chmod 640 b")]
        for number in range(len(steps)):
            os.mkdir(session.path(str(number)))
            session.write("%d/a" % number, b"before\n")
            os.link(session.path("%d/a" % number), session.path("%d/b" % number))
        agent = session.agent()
        for number in range(2):
            agent.shell("; ".join("(cd %d; %s)" % (i, step[number]) for i, step in enumerate(steps)))
        agent.close()
        after = tree(session.workspace)
        result = session.seen("undo", "--step", "1", "--times", "--session", session.name, check=False)
        found = tree(session.workspace)
        left = {number: "b" if steps[number][1] == "echo 2 >> b" else None for number in range(4, len(steps))}
        left.update((number, "a") for number in range(4))
        listed = ["seen: %d/%s is left as it is: a later step changed it, too\n" % (number, left[number]) for number in sorted(left) if left[number]]
        self.assertEqual((result.returncode, result.stderr.decode()), (12, "".join(listed)))
        for number, (one, two) in enumerate(steps):
            a, b = (b"%d/%s" % (number, name) for name in (b"a", b"b"))
            self.assertEqual(found[b][:-1], after[b][:-1], (one, two))
            if number < 4:
                self.assertEqual(found[a], after[a], (one, two))
            else:
                self.assertEqual(session.read(os.fsdecode(a)), b"before\n", (one, two))
                self.assertEqual(len(found[a][-1]), 1 if left[number] else 2, (one, two))
        self.assertEqual(session.seen("redo", "--session", session.name, check=False).returncode, 0)
        self.assertEqual(difference(after, tree(session.workspace)), [])

    def test_an_external_program_changed_it_by_another_name(self):
        """Its file stays, and is listed: it is not the one that comes back any more."""
        session = self.linked()
        agent = session.agent()
        agent.shell("rm b")
        agent.close()
        with open(session.path("a"), "a") as file:
            file.write("external\n")
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((session.read("a"), session.read("b")), (b"before\nexternal\n", b"before\n"))
        self.assertEqual((result.returncode, result.stderr), (12, b"seen: a is left as it is: an external program changed it since\n"))

    @unittest.skipIf(os.getuid(), "another owner: as root")
    def test_another_name_whose_owner_is_not_on_record(self):
        """It is not said that an external program changed it: the record may be of a user namespace."""
        session = self.linked()
        agent = session.agent()
        agent.shell("echo more >> b; rm b")
        agent.close()
        os.chown(session.path("a"), 1234, 1234)
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((session.read("a"), session.read("b")), (b"before\nmore\n", b"before\n"))
        self.assertEqual((result.returncode, result.stderr),
                         (12, b"seen: a is left as it is: its owner is not the one on record, which may have been noted in a user namespace\n"))

    def test_the_last_name_of_a_file_goes_and_comes_back(self):
        """A later step removed the other one: what the step's own name has is kept before it goes."""
        for size in 500, 150000:
            session = Session()
            self.addCleanup(session.close)
            session.write("a", os.urandom(size))
            content = session.read("a")
            agent = session.agent()
            agent.shell("ln a c")
            agent.shell("rm a")
            agent.close()
            after = tree(session.workspace)
            result = session.seen("undo", "--step", "1", "--times", "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr, os.listdir(session.workspace)), (0, b"", []))
            result = session.seen("redo", "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(difference(after, tree(session.workspace)), [])
            self.assertEqual(session.read("c"), content)
            session.seen("undo", "--all", "--session", session.name)
            self.assertEqual((session.read("a"), os.listdir(session.workspace)), (content, ["a"]))

    def test_no_name_of_a_file_is_one_that_the_store_has(self):
        """What was large is kept by a hard link, and the store lies in a workspace that is a home directory."""
        session = Session()
        self.addCleanup(session.close)
        session.environment["XDG_STATE_HOME"] = session.path("state")
        session.write("a", os.urandom(150000))
        for name in "bc":
            os.link(session.path("a"), session.path(name))
        agent = session.agent()
        agent.shell("rm a b")
        agent.close()
        os.unlink(session.path("c"))
        result = session.seen("undo", "--all", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(os.path.samefile(session.path("a"), session.path("b")))
        self.assertEqual(os.stat(session.path("a")).st_nlink, 2)

    def test_what_a_directory_took_along_comes_back_with_it(self):
        session = Session()
        self.addCleanup(session.close)
        os.mkdir(session.path("d"))
        session.write("d/f", b"f")
        before = tree(session.workspace)
        agent = session.agent()
        agent.shell("mv d a; mkdir d; mv a d/; mkdir d/f")
        agent.close()
        self.assertEqual(session.seen("undo", "--all", "--session", session.name).stderr, b"")
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def test_a_directory_that_an_undo_before_made_goes_along_with_the_one_above_it(self):
        session = Session()
        self.addCleanup(session.close)
        os.mkdir(session.path("d"))
        session.write("y", b"y")
        agent = session.agent()
        agent.shell("mkdir d/u; mv y d/u/x; echo z > d/u/z")
        agent.shell("mv d e; chmod 700 e/u; rm e/u/z")
        agent.close()
        after = tree(session.workspace)
        for words in ("undo", "--since", "2", "--times"), ("undo", "--since", "1", "--times"), ("redo",), ("redo",):
            result = session.seen(*words, "--session", session.name, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)
        self.assertEqual(difference(after, tree(session.workspace)), [])

    def test_a_new_directory_goes_along_to_a_name_that_another_has(self):
        session = Session()
        self.addCleanup(session.close)
        os.makedirs(session.path("d/u"))
        session.write("d/u/x", b"x")
        before = tree(session.workspace)
        agent = session.agent()
        agent.shell("mv d e; mkdir -p d/u; echo w > d/u/w")
        agent.shell("mv e/u/x s; rm -r e/u; mkdir e/u; mv s e/u/x")
        agent.close()
        result = session.seen("undo", "--all", "--times", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(difference(before, tree(session.workspace)), [])

    def assertAllUndone(self, *commands):
        session = Session()
        self.addCleanup(session.close)
        session.write("a", b"one\n")
        before = tree(session.workspace)
        agent = session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()
        after = tree(session.workspace)
        for words, expected in (("undo", "--all", "--times"), before), (("redo",), after):
            result = session.seen(*words, "--session", session.name, check=False)
            self.assertEqual(difference(expected, tree(session.workspace)), [], words)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)

    def test_a_command_set_the_time_back_behind_what_it_wrote(self):
        self.assertAllUndone("cp -p a ../t; printf 'two\\n' 1<> a; touch -r ../t a; rm ../t")

    def test_another_file_was_given_the_number_of_the_removed_one(self):
        """It had attributes, which the removed one had not."""
        again = ("import os\nwanted = os.stat('a').st_ino\nos.unlink('a')\n"
                 "for i in range(500):\n"
                 "    open('n%d' % i, 'x').close()\n"
                 "    if os.stat('n%d' % i).st_ino == wanted: break\n"
                 "os.rename('n%d' % i, 'a')\n"
                 "for k in range(i): os.unlink('n%d' % k)\n"
                 "os.setxattr('a', 'user.two', b'2')\n")
        self.assertAllUndone("echo other > a", 'python3 -I -S -c "%s"' % again)

    def test_a_redo_is_about_the_last_undo(self):
        """That one made a file anew which it could not know to be the same, so that nothing is to be redone.  The undo before is the next redo's."""
        session = Session()
        self.addCleanup(session.close)
        session.write("a", os.urandom(150000))
        os.link(session.path("a"), session.path("b"))
        agent = session.agent()
        agent.shell("rm b")
        agent.shell("rm a")
        agent.close()
        after = tree(session.workspace)
        for _ in range(2):
            session.seen("undo", "--since", "2", "--times", "--session", session.name)
        undone = tree(session.workspace)
        result = session.seen("redo", "--session", session.name, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, b"seen: nothing to redo: all is as it was\n"))
        self.assertEqual(difference(undone, tree(session.workspace)), [])
        session.seen("redo", "--session", session.name)
        self.assertEqual(difference(after, tree(session.workspace)), [])


class FoundLater(unittest.TestCase):
    """What long sessions found."""

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def seen(self, *words):
        return self.session.seen(*words, "--session", self.session.name, check=False)

    def assertUndone(self, expected, *words, command="undo"):
        result = self.seen(command, *words)
        self.assertEqual(difference(expected, tree(self.session.workspace)), [], result.stderr)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def assertLeft(self, *words):
        """All of it is left, and listed."""
        after = tree(self.session.workspace)
        result = self.seen("undo", *words)
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []))
        return result

    def test_threads_that_write_and_rename_one_file(self):
        """A rename inspects the file, and its record comes behind those of a thread that wrote to it meanwhile.  Such a file comes back, or is left and listed."""
        for number in range(60):
            os.mkdir(self.session.path(str(number)))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in *; do %s threads_that_rename $i; done" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--all", "--times")
        listed = {line.split(b": ")[1].split(b" is left as it is")[0] for line in result.stderr.splitlines()}
        now = tree(self.session.workspace)
        self.assertEqual({path for path in before.keys() | now.keys() if before.get(path) != now.get(path) and not path.isdigit()}, listed, result.stderr)
        self.assertEqual({path: now[path] for path in listed}, {path: after[path] for path in listed})
        self.assertLessEqual({os.path.basename(path) for path in listed}, {b"threads", b"threads.moved"})
        self.assertLess(len(listed), 20 if VIA == "preload" else 120)
        self.assertEqual(result.returncode, 12 if listed else 0)
        self.assertUndone(after, command="redo")

    def test_a_later_step_changed_by_another_name_what_an_undo_had_made_anew(self):
        """Both names are of another file than the step changed."""
        agent = self.session.agent()
        agent.shell("echo 1 > a; ln a b")
        agent.shell("touch -d 2001-02-03 b")
        for words in ("undo", "--since", "1", "--times"), ("redo",):
            self.assertEqual(self.seen(*words).returncode, 0)
        agent.shell("echo 2 >> a")
        agent.close()
        self.assertLeft("--step", "2", "--times")

    def test_a_file_is_left_by_all_its_names(self):
        """A later step gave it another name.  What came back by one name would be there by the one that is listed as left."""
        self.session.write("a", b"a")
        self.session.write("b", b"b")
        agent = self.session.agent()
        agent.shell("ln -f a b; echo both >> b; chmod 600 a")
        agent.shell("ln b c")
        agent.close()
        result = self.assertLeft("--step", "1")
        self.assertEqual(result.stderr, b"".join(b"seen: %s is left as it is: a later step changed it, too\n" % name for name in (b"a", b"b")))

    def test_a_later_step_changed_by_a_third_name_what_was_written_by_a_new_one(self):
        self.session.write("a", b"a")
        os.link(self.session.path("a"), self.session.path("b"))
        agent = self.session.agent()
        agent.shell("ln a c; echo both >> c")
        agent.shell("rm c; echo later > b")
        agent.close()
        self.assertLeft("--step", "1")

    def test_a_later_step_changed_by_a_third_name_what_a_redo_made_anew(self):
        agent = self.session.agent()
        agent.shell("echo a > a; ln a b; echo d > d; ln d e")
        agent.shell("ln a c; echo both >> c; echo once > d")
        for _ in range(2):
            self.seen("undo", "--all")
            self.seen("redo")
            agent.shell("rm -f c; echo later > b; ln -f d f; echo later > f")
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--step", "2")
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []))

    def step_leaves(self, step, *commands):
        """`--step` leaves all that later steps changed, and says so."""
        agent = self.session.agent()
        for command in commands:
            agent.shell(command)
        agent.close()
        after = tree(self.session.workspace)
        result = self.seen("undo", "--step", step, "--times")
        self.assertEqual((result.returncode, difference(after, tree(self.session.workspace))), (12, []), result.stderr)

    def test_the_name_that_a_later_step_changed_it_by_is_gone(self):
        self.session.write("a", b"a")
        self.session.write("b", b"b")
        self.step_leaves("1", "ln -f a b", "echo later >> a; rm a")

    def test_a_later_step_changed_by_its_second_name_what_had_one(self):
        self.session.write("a", b"a")
        self.step_leaves("1", "touch a; ln a b", "exec 7>> b; rm b; echo later >&7")

    def test_a_later_step_changed_by_one_name_what_the_step_wrote_anew(self):
        os.mkdir(self.session.path("d"))
        self.session.write("d/a", b"a")
        os.link(self.session.path("d/a"), self.session.path("d/b"))
        self.step_leaves("1", "echo 1 >> d/a; cp -a d h; rm -rf d; mv h d", "echo later >> d/a")

    def test_a_later_step_made_something_where_a_renamed_directory_was(self):
        """The step's rename over an empty directory is not half taken back: that was left below a hidden name."""
        os.makedirs(self.session.path("f/d"))
        os.mkdir(self.session.path("d"))
        self.session.write("d/a", b"a")
        self.step_leaves("1", "mv d f; mkdir d", "echo later > d/b")

    def test_one_of_its_names_is_left_so_the_file_is(self):
        """By a name that no record is about, too.  What the step removed comes back as a file of its own."""
        self.session.write("k", b"old")
        for name in "ab":
            os.link(self.session.path("k"), self.session.path(name))
        agent = self.session.agent()
        agent.shell("mv a e; echo both >> b; rm b; touch b")
        agent.shell("mv e a")
        agent.close()
        result = self.seen("undo", "--step", "1")
        self.assertEqual((result.returncode, [self.session.read(name) for name in "abk"]), (12, [b"oldboth\n", b"old", b"oldboth\n"]))

    def test_a_file_without_a_name_is_kept_no_more(self):
        """At each boundary it was, until its writer ended."""
        self.session.write("n", b"n")
        os.link(self.session.path("n"), self.session.path("m"))
        agent = self.session.agent()
        write = {"do": "write", "path": self.session.path("n"), "data": "x", "how": "nameless"}
        agent.ask(**write)
        agent.shell("rm m")
        for number in range(3):
            agent.shell("echo %d > a" % number)
            agent.ask(**write)
        agent.close()
        records = packs.read(os.path.join(self.session.directory, ".local/state/seen/test/undo"))
        self.assertIn(("content", self.session.path("a")), [(record.kind, record.path) for record in records])
        self.assertEqual([record for record in records if record.kind == "content" and not record.nlink], [])

    def test_attribute_of_a_file_that_was_written_before(self):
        self.session.write("a", b"a")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("%s pieces a a a + attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertNotEqual(before[b"a"][6], after[b"a"][6])
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_attribute_of_a_file_that_got_the_number_of_one_with_several_names(self):
        """tar removes the last name of a file, and the one that it makes has its inode number, its content and its time."""
        self.session.write("a", b"a")
        os.link(self.session.path("a"), self.session.path("b"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("rm b; tar cf ../archive a; tar xf ../archive; %s attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_attribute_of_a_file_that_came_back(self):
        """It is another file than the one of that point, with the same content."""
        agent = self.session.agent()
        agent.shell("echo a > a")
        agent.shell("echo b > b")
        before = tree(self.session.workspace)
        for words in ("undo", "--since", "1", "--times"), ("redo",):
            self.assertEqual(self.seen(*words).returncode, 0)
        agent.shell("%s attributes a a a" % PYTHON)
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone({b"a": before[b"a"]}, "--since", "2", "--times")
        self.assertUndone(after, command="redo")

    def test_link_in_the_place_of_a_file_that_a_directory_replaced(self):
        """What is below the link's target is not what was below the link's name."""
        os.mkdir(self.session.path("d"))
        self.session.write("a", b"a")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("mv a d/c; ln -s d/c a")
        agent.shell("rm d/c; mkdir d/c")
        agent.shell("echo x > d/c/f")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_numbers_of_files_that_an_undo_made_and_removed(self):
        """Their records do not stand for earlier files of the session that had these numbers."""
        for number in range(20):
            self.session.write("c%d" % number, b"c" * 30)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in c?*; do : > $i; exec 7>> $i; echo a >&7; mv $i d; echo b >&7; rm d; done; exec 7>&-")
        agent.close()
        for _ in range(3):
            self.assertUndone(before, "--all", "--times")
            self.assertUndone({}, command="redo")

    def test_file_whose_mode_is_set_while_it_is_open(self):
        for name in "ab":
            self.session.write(name, name.encode() * 30)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in a b; do : > $i; exec 7>> $i; echo 1 >&7; chmod 600 $i; echo 2 >&7; rm $i; done; exec 7>&-")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_links_that_an_undo_made_and_parted_before_another_of_one_step(self):
        for name in "ax":
            self.session.write(name, name.encode())
        os.link(self.session.path("x"), self.session.path("y"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        for command in "echo 1 > other", "ln a link; rm y; mkdir y", "rm link x; echo new > link":
            agent.shell(command)
        self.assertEqual(self.seen("undo", "--since", "3", "--times").returncode, 0)
        agent.shell("echo more >> x")
        agent.close()
        self.assertEqual(self.seen("undo", "--step", "1", "--times").returncode, 0)
        self.assertUndone(before, "--since", "2", "--times")

    def test_content_that_was_linked_and_written_to_by_a_later_step(self):
        """The later step's record has what the link had."""
        self.session.write("a", os.urandom(150000))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("ln a b; echo other > n; mv n a")
        agent.shell("echo more >> b")
        agent.close()
        result = self.seen("undo", "--step", "1", "--times")
        self.assertEqual((result.returncode, result.stderr), (12, b"seen: b is left as it is: a later step changed it, too\n"))
        self.assertEqual(tree(self.session.workspace)[b"a"], before[b"a"])

    def test_link_to_a_file_that_moved_along_with_its_directory(self):
        """Another file has the name that it had before."""
        os.mkdir(self.session.path("d"))
        self.session.write("d/x", b"x")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("mv d a; mkdir d; mv a d/; echo new > d/x")
        agent.shell("ln d/a/x d/link")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_renamed_file_that_had_another_name(self):
        self.session.write("c", b"c")
        os.link(self.session.path("c"), self.session.path("../link"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo more >> c; rm ../link; mv c d")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_other_name_that_moved_out_of_the_workspace_with_its_directory(self):
        """A file keeps its names: one of them is found where the directory is by now."""
        for name, size in ("small", 100), ("large", 150000):
            os.mkdir(self.session.path(name))
            self.session.write(name + "/a", os.urandom(size))
            os.link(self.session.path(name + "/a"), self.session.path(name + ".b"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("for i in small large; do echo more >> $i.b; mv $i ..; done")
        agent.shell("rm *.b")
        agent.close()
        after = tree(self.session.workspace)
        self.assertEqual(self.seen("undo", "--since", "2", "--times").returncode, 0)
        for name in "small", "large":
            self.assertTrue(os.path.samefile(self.session.path(name + ".b"), self.session.path("../%s/a" % name)), name)
        self.assertUndone(before, "--all", "--times")
        for _ in range(2):
            self.seen("redo")
        self.assertEqual(difference(after, tree(self.session.workspace)), [])

    def test_file_that_was_given_the_number_of_one_with_several_names(self):
        """It has the same content and time, too, and is another file all the same: it gets no other names."""
        names, numbers = ["%02d" % i for i in range(40)], set()
        for name in names:
            self.session.write(name, b"a" * 100)
            os.utime(self.session.path(name), ns=(10**18, 10**18))
            for other in "bc":
                os.link(self.session.path(name), self.session.path(name + other))
            numbers.add(os.stat(self.session.path(name)).st_ino)
        agent = self.session.agent()
        agent.shell("rm *[0-9] *b")
        agent.close()
        for name in names:
            os.unlink(self.session.path(name + "c"))
        path = self.session.path("made")
        for made in range(300):
            self.session.write("made", b"a" * 100)
            if os.stat(path).st_ino in numbers:
                break
            os.rename(path, os.path.join(self.session.directory, str(made)))
        else:
            self.skipTest("the file system gave their numbers to no other file")
        os.utime(path, ns=(10**18, 10**18))
        result = self.seen("undo", "--all", "--times")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        linked = {path: entry[-1] for path, entry in tree(self.session.workspace).items()}
        self.assertEqual(linked, {b"made": (b"made",), **{os.fsencode(name + other): (os.fsencode(name), os.fsencode(name + "b")) for name in names for other in ("", "b")}})

    @needs_library("a mapping is seen by it alone")
    def test_mapping_that_is_stored_to_behind_its_close_and_a_point(self):
        """What the file was at the point is not known: it is left, and listed.  Before and behind, it is undone."""
        for name in "abc":
            self.session.write(name, name.encode() * 100)
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("%s mapped_late a b $HOME/stored > /dev/null & while [ ! -e $HOME/mapped ]; do sleep 0.01; done; %s mapped_behind_close c a n" % (PYTHON, PYTHON))
        agent.shell("echo b > b; touch $HOME/stored; while [ -e $HOME/mapped ]; do sleep 0.01; done")
        agent.close()
        after = tree(self.session.workspace)
        for _ in range(100):
            result = self.seen("undo", "--since", "2", "--times")
            if b" still runs" not in result.stderr:
                break
            time.sleep(0.05)
        self.assertEqual((result.returncode, result.stderr), (8, b"seen: a is left as it is: a program had it open for writing then: what it was is not known\n"))
        self.assertEqual(difference({**after, b"b": before[b"b"]}, tree(self.session.workspace)), [])
        self.assertUndone(after, command="redo")
        self.assertUndone(before, "--all", "--times")

    def test_file_that_a_step_made_is_cut_off_behind_its_mode(self):
        """As sqlite3 does with its journal: the file is open all the time."""
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("""python3 -I -S -c "import os; f = os.open('a', os.O_RDWR | os.O_CREAT); os.fchmod(f, 0o640); os.close(os.open('/dev/null', 0)); os.write(f, b'x' * 512); os.ftruncate(f, 0); os.close(f)" """)
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_file_that_the_step_has_open_when_it_ends(self):
        """A process closes its files when it has ended."""
        self.session.write("c", b"before")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo 1 > c; exec 7>> c; echo a >&7; mv c d; echo b >&7")
        agent.shell("true")
        agent.close()
        after = tree(self.session.workspace)
        self.assertUndone(before, "--all", "--times")
        self.assertUndone(after, command="redo")

    def test_file_that_is_moved_into_a_directory_while_it_is_open(self):
        """mv tries to give it the directory's name first."""
        self.session.write("c", b"before")
        os.mkdir(self.session.path("e"))
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("exec 7>> c; echo a >&7; mv c e; echo b >&7")
        agent.shell("true")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_file_that_a_background_program_has_open_when_the_step_ends(self):
        self.session.write("c", b"before")
        before = tree(self.session.workspace)
        agent = self.session.agent()
        agent.shell("echo 1 > c; exec 7>> c; echo a >&7; mv c d; echo b >&7; sleep 0.5 < /dev/null > /dev/null 2>&1 &")
        agent.shell("true")
        agent.shell("sleep 0.6")
        agent.close()
        self.assertUndone(before, "--all", "--times")

    def test_own_action_that_failed_is_no_step(self):
        agent = self.session.agent()
        agent.shell("echo a > a")
        self.assertEqual(agent.ask(do="write", path=self.session.path("missing"), data="x", how="in_place")["errno"], 2)
        agent.shell("echo b > b")
        agent.close()
        steps = json.loads(self.seen("story", "--json").stdout)["steps"]
        self.assertEqual([step["kind"] for step in steps], ["command", "command"])

    def test_step_whose_file_a_later_one_removed(self):
        self.session.write("a", b"a")
        agent = self.session.agent()
        agent.shell("chmod 600 a")
        agent.shell("mv a b")
        agent.close()
        result = self.seen("undo", "--step", "1")
        self.assertEqual((result.returncode, result.stdout), (12, b""))
        self.assertIn(b"a is left as it is: a later step changed it", result.stderr)


class Campaign(unittest.TestCase):
    def test_random_commands_are_undone(self):
        seed, left = SEED, COMMANDS
        while left > 0:
            session = Session()
            one = Round(self, session, seed)
            try:
                with self.subTest(seed=seed):
                    one.run()
            finally:
                session.close()
            left -= max(one.commands, STEPS)
            seed += 1

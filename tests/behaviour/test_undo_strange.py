"""undo among several sessions, of strange names and trees, and of records that were damaged."""
import json
import os
import shutil
import subprocess
import unittest

from driver import SOURCE, jsonschema
from harness import SEEN, Agent, Session
from undo_case import Undone


class Sessions(Undone):
    """One of several sessions of the workspace, and one that has ended before another began."""

    def test_two_that_overlapped(self):
        first = self.session.agent()
        first.shell("echo first > top")
        second = Agent(self.session, ("--session", "second"))
        second.shell("echo second > src/a; rm src/b hard")
        first.shell("rm src/deep/c; echo first >> src/a")
        second.shell("echo second >> top")
        first.close()
        second.close()
        after = self.tree()
        result = self.undo("--all", code=12)  # of the first: the other one's files are not its own
        self.assertEqual(result.stderr, b"seen: top is left as it is: an external program changed it since\n")
        self.assertEqual((self.read("top"), self.read("src/a"), self.has("src/b"), self.has("src/deep/c")), (b"first\nsecond\n", b"second\n", False, True))
        self.undo(command="redo")
        self.assertTree(after)
        # The second, then the first: each takes its own back.
        result = self.session.seen("undo", "--session", "second", "--last", check=False)
        self.assertEqual((result.returncode, self.read("top")), (0, b"first\n"), result.stderr)
        result = self.session.seen("undo", "--session", "second", "--all", check=False)
        self.assertEqual(result.returncode, 12, result.stderr)  # src/a: the first one appended to it
        self.assertTrue(self.has("src/b") and self.has("hard"))
        result = self.undo("--all", code=12)  # what wrote top last was the undo of another session
        self.assertEqual((self.read("top"), self.read("src/a")), (b"first\n", b"second\n"))
        self.undo("--all", "--force")
        self.assertEqual((self.read("top"), self.read("src/a")), (b"the content of top\n", b"second\n"))

    def test_an_earlier_one_of_another_day(self):
        self.agent("rm -rf src")
        second = Agent(self.session, ("--session", "second"))
        second.shell("mkdir src; echo new > src/a; rm top")
        second.close()
        shutil.rmtree(os.path.join(self.session.directory, "run"))  # a boot
        result = self.undo("--all", code=12)
        self.assertIn(b"src/a is left as it is", result.stderr)
        self.assertEqual((self.read("src/a"), self.read("src/deep/c"), self.has("top")), (b"new\n", b"the content of src/deep/c\n", False))
        result = self.session.seen("undo", "--session", "second", "--step", "1", check=False)
        self.assertTrue(self.has("top"), result.stderr)


class Strange(Undone):
    """Names and trees that no person would make."""

    def test_names(self):
        names = [b"new\nline", b"esc\x1b[2J", b"bad\xff\xfe", b"-rf", b"'quo\"te", b" lead", "日本".encode(), b"a\\b"]
        root = os.fsencode(self.session.workspace)
        for name in names:
            os.mkdir(root + b"/d" + name)
            with open(root + b"/d" + name + b"/" + name, "wb") as file:
                file.write(name)
        self.before = self.tree()
        after = self.agent("rm -rf d* src")[-1]
        result = self.undo("--all", "--json")
        document = json.loads(result.stdout)
        self.assertEqual(len(document["changes"]), 2 * len(names) + 6)
        self.assertTree(self.before)
        result = self.undo(command="redo")
        self.assertTree(after)
        self.assertNotRegex(result.stdout, rb"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertIn(b"removed dbad\\xff\\xfe/bad\\xff\\xfe", result.stdout)

    @unittest.skipIf(jsonschema is None, "no python3-jsonschema")
    def test_json(self):
        schema = json.loads((SOURCE / "config/data/schema/undo.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        self.agent("mv src moved; chmod 600 hard; rm top", "echo x > moved/a; echo 1 > moved/b")
        self.session.write("moved/b", b"by the user")
        kinds = set()
        for words, code, command in ((("--last", "--dry-run"), 12, "undo"), (("--step", "1"), 12, "undo"), (("--all",), 12, "undo"), ((), 0, "redo")):
            result = self.undo(*words, "--json", code=code, command=command)
            document = json.loads(result.stdout)
            jsonschema.Draft202012Validator(schema).validate(document)
            self.assertEqual(document["operation"], command)
            kinds |= {left["kind"] for left in document["left"]} | {change["action"] for change in document["changes"]}
        self.assertLessEqual({"external", "restore"}, kinds)

    def test_a_directory_where_a_file_was(self):
        after = self.agent("rm -rf src; echo file > src; rm top; mkdir -p top/x; ln -s / link; rm hard; mkfifo hard")[-1]
        self.undo("--all")
        self.assertTree(self.before)
        self.undo(command="redo")
        self.assertTree(after)
        self.session.write("top/x/mine", b"by the user")
        result = self.undo("--all", code=12)
        self.assertIn(b"top", result.stderr)
        self.assertEqual(self.read("top/x/mine"), b"by the user")
        self.assertEqual(self.read("src/a"), b"the content of src/a\n")

    def test_a_directory_that_an_external_program_removed(self):
        """What was in it comes back once the directory is there again, as the undo says."""
        os.makedirs(self.session.path("deep/er"))
        self.session.write("deep/er/gone", b"1\n")
        self.agent("rm deep/er/gone")
        shutil.rmtree(self.session.path("deep"))
        shown = self.undo("--all", code=8)
        self.assertEqual(shown.stderr, b"seen: deep/er/gone does not come back: the directory that it was in is not there; make it, and undo again\n")
        os.makedirs(self.session.path("deep/er"))
        self.undo("--all")
        self.assertEqual(self.read("deep/er/gone"), b"1\n")

    def test_the_directory_of_what_is_left_is_planned_to_stay(self):
        self.agent("mkdir -p made/deep other; echo x > made/deep/x; echo y > made/y; echo z > other/z")
        self.session.write("made/deep/x", b"by a person")
        self.assertEqual(self.undo("--all", "--dry-run", code=12).stdout.splitlines(), [b"would remove made/y", b"would remove other/", b"would remove other/z",
                                                                                        b"nothing was changed: this would change 3 paths"])
        result = self.undo("--all", code=12)
        self.assertEqual(result.stderr, b"seen: made/deep/x is left as it is: an external program changed it since\n"
                                        b"seen: made is left as it is: something in it is left\nseen: made/deep is left as it is: something in it is left\n")
        self.assertIn(b"3 paths undone", result.stdout)
        self.assertEqual(self.session.read("made/deep/x"), b"by a person")
        self.assertFalse(os.path.lexists(self.session.path("other")))

    def test_a_symbolic_link_in_the_place_of_a_directory(self):
        elsewhere = os.path.join(self.session.directory, "elsewhere")
        os.mkdir(elsewhere)
        self.agent("rm -rf src")
        os.symlink(elsewhere, self.session.path("src"))
        result = self.undo("--all", code=12)
        self.assertIn(b"src", result.stderr)
        self.undo("--all", "--force", code=0)
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertTree(self.before)

    def test_a_plan_and_records_that_are_damaged(self):
        after = self.agent("rm -rf src; echo 2 > top")[-1]
        self.undo("--all")
        self.undo(command="redo")
        plan = os.path.join(self.records, "op-00000002/plan")
        with open(plan, "r+b") as file:
            file.seek(200)
            file.write(b"\xff" * 40)
        os.makedirs(os.path.join(self.records, "op-00000009"))
        with open(os.path.join(self.records, "op-00000009/plan"), "wb") as file:
            file.write(b"nonsense" * 100)
        self.undo("--all")
        self.assertTree(self.before)
        part = os.path.join(self.records, "00000000.part")
        os.truncate(part, os.path.getsize(part) // 3)
        self.undo(command="redo")
        self.assertTree(after)
        with open(part, "wb") as file:
            file.write(os.urandom(65536))
        result = self.undo("--all", code=8)
        self.assertIn(b"damaged", result.stderr)
        self.assertTree(after)


MOUNTS = r'''
set -e
mkdir tm bd d ../other; echo one > file; echo other > ../file
mount -t tmpfs none tm; mount --bind ../other bd; mount --bind ../file file
for i in tm bd d; do mkdir $i/e $i/e/f; for j in a b c; do echo $i $j > $i/$j; echo $i $j > $i/e/f/$j; done; done
list() { find . -type f | sort | xargs md5sum; find . -type d | sort; }
list > ../before
"$1" run --quiet --session test -- bash -c 'echo 2 > file; for i in tm bd d; do (cd $i; mv a z; rm b; mv e/f g; mv g/a e/a; echo new > g/a; sed -i s/c/x/ c; mv e g/f); done'
list > ../after
"$1" undo --session test --all >&2; list > ../undone
"$1" redo --session test >&2; list > ../redone
cmp ../before ../undone; cmp ../after ../redone
'''


@unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0, "needs mounts")
class Mounts(unittest.TestCase):
    def test_other_file_systems_and_bind_mounts_in_the_workspace(self):
        session = Session()
        self.addCleanup(session.close)
        done = subprocess.run(["unshare", "-m", "bash", "-c", MOUNTS, "bash", SEEN], cwd=session.workspace, env=session.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertIn(b"restored file\n", done.stderr)
        self.assertEqual(sorted(os.listdir(session.path("d"))), ["c", "g", "z"])

"""seen undo --merge: what later steps and people changed, too, stays; overlapping changes are marked as git does."""
import json
import os
import random
import shutil
import subprocess
import sys
import unittest

from driver import Case
from test_story import AGENT

LONG = os.environ.get("SEEN_LONG") == "1"


class Merge(Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(7)

    def run_steps(self, *steps):
        (self.top / "steps").write_text(json.dumps(steps))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"), str(self.top / "steps"), code=0)

    def undo(self, *words, code=0):
        return self.seen("undo", "--session", "s", *words, code=code)

    def text(self, name):
        return (self.work / name).read_text()

    def test_gc_removes_a_session_with_merged_contents(self):
        self.file("f", b"1\n2\n3\n4\n5\n")
        self.run_steps("sed -i s/1/one/ f", "sed -i s/5/five/ f")
        self.undo("--step", "1", "--merge")
        self.assertEqual(self.text("f"), "1\n2\n3\n4\nfive\n")
        self.seen("gc", "s", code=0)

    def test_disjoint_edits_are_all_kept(self):
        """Some 1,000 edits in 20 files: by the step that is undone, by a later one, by a person before, between and behind."""
        names = [f"f{number}" for number in range(20)]
        lines = {name: [f"{name} line {number}" for number in range(200)] for name in names}
        writers = ("step", "later", "person")
        edits = {writer: [] for writer in writers}
        kept = {name: list(lines[name]) for name in names}
        for name in names:
            self.file(name, ("\n".join(lines[name]) + "\n").encode())
            for place in range(0, 200, 4):
                writer = self.random.choice(writers)
                kind = self.random.choice(("replace", "remove", "insert"))
                new = [] if kind == "remove" else [f"by {writer}"] if kind == "replace" else [lines[name][place], f"by {writer}", "and more"]
                edits[writer].append((name, lines[name][place], new))
                if writer != "step":
                    at = kept[name].index(lines[name][place])
                    kept[name][at:at + 1] = new
        program = "\n".join([
            "import itertools, json, sys",
            "for name, edits in itertools.groupby(json.load(open(sys.argv[1])), key=lambda edit: edit[0]):",
            "    lines = open(name).read().split('\\n')",
            "    for _, old, new in edits:",
            "        at = lines.index(old); lines[at:at + 1] = new",
            "    open(name, 'w').write('\\n'.join(lines))"])
        (self.top / "edit.py").write_text(program)
        for writer in writers:
            (self.top / writer).write_text(json.dumps(edits[writer]))
        edit = f"{sys.executable} {self.top}/edit.py {self.top}/"
        self.run_steps(edit + "step", edit + "later")
        subprocess.run([sys.executable, self.top / "edit.py", self.top / "person"], cwd=self.work, check=True)
        with_all = {name: self.text(name) for name in names}
        self.undo("--step", "1", code=12)
        self.assertEqual({name: self.text(name) for name in names}, with_all)
        shown = json.loads(self.undo("--step", "1", "--merge", "--json").stdout)
        self.assertEqual({(change["action"], change["conflicts"]) for change in shown["changes"]}, {("merge", 0)})
        self.assertEqual({name: self.text(name) for name in names}, {name: "\n".join(kept[name]) + "\n" for name in names})
        self.seen("redo", "--session", "s", code=0)
        self.assertEqual({name: self.text(name) for name in names}, with_all)
        # All of the session, and only the person's edits stay.
        self.undo("--all", "--merge")
        for name in names:
            expected = list(lines[name])
            for _, old, new in (edit for edit in edits["person"] if edit[0] == name):
                at = expected.index(old)
                expected[at:at + 1] = new
            self.assertEqual(self.text(name), "\n".join(expected) + "\n", name)

    def test_overlapping_edits_are_marked(self):
        self.file("f", b"".join(b"%d\n" % number for number in range(20)))
        self.run_steps("sed -i 's/^5$/five/; s/^15$/fifteen/' f", "sed -i 's/^five$/FIVE/' f")
        self.undo("--step", "1", "--merge", code=12)
        self.assertEqual(self.text("f"), "".join(f"{number}\n" for number in range(5)) + "<<<<<<< on disk\nFIVE\n=======\n5\n>>>>>>> before step 1\n" +
                         "".join(f"{number}\n" for number in range(6, 20)))
        shown = self.seen("redo", "--session", "s", code=0)
        self.assertIn("FIVE\n6\n", self.text("f"))
        shown = json.loads(self.undo("--step", "1", "--merge", "--dry-run", "--json", code=12).stdout)
        self.assertEqual([(change["action"], change["path"], change["conflicts"]) for change in shown["changes"]], [("merge", "f", 1)])
        self.assertIn("FIVE\n6\n", self.text("f"))

    def test_marks_that_were_there_are_no_conflicts(self):
        """A file may have such marks of its own: of an undo before that was not resolved, or in a text about them."""
        lines = [b"<<<<<<< on disk\n", *(b"%d\n" % number for number in range(20)), b">>>>>>> before step 1\n"]
        self.file("clean", b"".join(lines))
        self.file("one", b"".join(lines))
        self.run_steps("sed -i 's/^5$/five/' clean one")
        self.file("clean", (self.work / "clean").read_bytes().replace(b"\n15\n", b"\nperson\n"))
        self.file("one", (self.work / "one").read_bytes().replace(b"five", b"person"))
        shown = self.undo("--all", "--merge", code=12).stdout.decode()
        self.assertEqual(shown.splitlines()[:2], ["merged clean", "merged one, 1 conflict marked"])
        self.assertEqual((self.work / "clean").read_bytes(), b"".join(lines).replace(b"\n15\n", b"\nperson\n"))
        self.file("clean", b"".join(lines).replace(b"\n5\n", b"\nfive\n"))
        self.run_steps("sed -i 's/^five$/5/' clean")
        self.file("clean", (self.work / "clean").read_bytes() + b"person\n")
        self.assertEqual(self.undo("--last", "--merge").stdout.decode().splitlines()[1], "merged clean")

    def random_edits(self, lines, count, who):
        """Lines with so many replaced, removed or added, each by that writer."""
        lines = list(lines)
        for _ in range(count):
            lines = lines or ["all was removed"]
            at, new = self.random.randrange(len(lines)), f"{who} {self.random.randrange(10)}"  # two may write the same
            lines[at:at + 1] = self.random.choice(([new], [], [lines[at], new], [new, lines[at]], [new, new]))
        return lines

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_random_edits_are_merged_as_by_git(self):
        """Whether they overlap or not: the same text as of git merge-file, with the same places marked."""
        count, texts = 1000 if LONG else 150, {}
        for number in range(count):
            before = [str(line) for line in range(self.random.choice((3, 12, 40)))]
            left = self.random_edits(before, self.random.randrange(1, 4), "x")
            disk = self.random_edits(left, self.random.randrange(1, 4), self.random.choice(("x", "person")))
            if left != before and disk != left:
                texts[f"f{number}"] = ["".join(line + "\n" for line in text) for text in (before, left, disk)]
        for directory, index in ((self.work, 0), (self.top / "left", 1)):
            directory.mkdir(exist_ok=True)
            for name, text in texts.items():
                (directory / name).write_text(text[index])
        # Of each program the first files are kept as it leaves them.
        names = sorted(texts)
        self.run_steps(*(f"cd {self.top}/left; cp {' '.join(names[at:at + 20])} {self.work}" for at in range(0, len(names), 20)))
        for name, text in texts.items():
            (self.work / name).write_text(text[2])
        shown = json.loads(self.undo("--all", "--merge", "--json", code=12).stdout)
        conflicts = {change["path"]: change["conflicts"] for change in shown["changes"] if change["action"] == "merge"}
        self.assertEqual([left for left in shown["left"]], [])
        for name, (before, left, disk) in texts.items():
            for side, text in ("disk", disk), ("base", left), ("before", before):
                (self.top / side).write_text(text)
            git = subprocess.run(["git", "merge-file", "-p", "-L", "on disk", "-L", "", "-L", "before", "disk", "base", "before"], cwd=self.top, stdout=subprocess.PIPE)
            self.assertEqual(self.text(name), git.stdout.decode(), (before, left, disk))
            self.assertEqual(conflicts.get(name, 0), git.returncode, (before, left, disk))
        marked = sum(1 for count in conflicts.values() if count)
        self.assertGreater(marked, count / 8)
        self.assertGreater(len(texts) - marked, count / 8)
        self.seen("redo", "--session", "s", code=0)
        self.assertEqual({name: self.text(name) for name in texts}, {name: text[2] for name, text in texts.items()})

    def test_a_person_between_and_behind(self):
        """A person's edit between two steps is not taken for the first one's."""
        self.file("f", b"".join(b"%d\n" % number for number in range(40)))
        (self.top / "person.sh").write_text("sed -i 's/^10$/person/' " + str(self.work / "f") + "\n")
        self.run_steps("sed -i 's/^5$/five/' f")
        subprocess.run(["sh", self.top / "person.sh"], check=True)
        self.run_steps("sed -i 's/^20$/twenty/' f")
        subprocess.run(["sed", "-i", "s/^30$/behind/", self.work / "f"], check=True)
        self.undo("--all", code=12)
        self.assertIn("person\n", self.text("f"))
        self.undo("--all", "--merge")
        self.assertEqual(self.text("f"), "".join({10: "person", 30: "behind"}.get(number, str(number)) + "\n" for number in range(40)))

    def test_a_person_between_two_steps_that_replace_the_file(self):
        """What was renamed to the name is what the first step left: another file that is found there is a person's."""
        self.file("f", b"1\n2\n3\n")
        self.run_steps("sed -i s/1/one/ f")
        subprocess.run(["sed", "-i", "s/2/person/", self.work / "f"], check=True)
        self.run_steps("sed -i s/3/three/ f")
        self.undo("--all", code=12)
        self.assertEqual(self.text("f"), "one\nperson\nthree\n")

    def test_lines_as_they_end_and_bytes_as_they_are(self):
        for name, end, last in (("crlf", b"\r\n", True), ("last", b"\n", False), ("latin", b"\xe9\n", True)):
            self.file(name, b"".join(b"%d%s" % (number, end) for number in range(40))[:None if last else -1])
        before = {path.name: path.read_bytes() for path in self.work.iterdir()}
        self.run_steps("LC_ALL=C sed -i 's/^5\\b/five/' crlf last latin")
        subprocess.run("LC_ALL=C sed -i 's/^30\\b/person/' crlf last latin", shell=True, cwd=self.work, check=True)
        self.undo("--all", "--merge")
        self.assertEqual({path.name: path.read_bytes() for path in self.work.iterdir()},
                         {name: content.replace(b"\n30", b"\nperson") for name, content in before.items()})

    def test_permissions(self):
        """Those that the session set go back; those that a person or a later step set stay."""
        names = ("session", "person", "between", "later", "linked")
        for name in names:
            self.file(name, b"".join(b"%d\n" % number for number in range(40)))
        (self.work / "linked2").hardlink_to(self.work / "linked")
        self.run_steps("for f in session person between later; do sed -i s/^5$/five/ $f; done; chmod 755 session; text=$(sed s/^5$/five/ linked); echo \"$text\" > linked; chmod 711 linked")
        (self.work / "between").chmod(0o600)
        self.run_steps("sed -i s/^15$/fifteen/ between later; chmod 700 later")
        (self.work / "person").chmod(0o640)
        for name in names:
            subprocess.run(["bash", "-c", "text=$(sed s/^25$/person/ %s); echo \"$text\" > %s" % (name, name)], cwd=self.work, check=True)
        modes = lambda: {name: oct((self.work / name).stat().st_mode & 0o777) for name in names}
        after = modes()
        self.undo("--step", "1", "--merge")
        self.assertEqual(modes(), {"session": "0o644", "person": "0o640", "between": "0o600", "later": "0o700", "linked": "0o644"})
        self.assertIn("\n5\n", self.text("linked2"))
        self.seen("redo", "--session", "s", code=0)
        self.assertEqual(modes(), after)

    def test_a_file_in_a_renamed_directory(self):
        """It goes back with the directory: what the directory held before does not, and no line says that it does."""
        (self.work / "d").mkdir()
        self.file("d/in", b"1\n2\n3\n")
        self.run_steps("sed -i s/1/one/ d/in", "mv d e")
        with open(self.work / "e/in", "a") as file:
            file.write("person\n")
        for words in (), ("--merge",):
            shown = self.undo("--all", "--dry-run", *words, code=12)
            self.assertNotIn(b"d/in\n", shown.stdout)
            shown = self.undo("--all", *words, code=12)
            self.assertEqual((self.text("d/in"), shown.stdout.splitlines()[0]), ("one\n2\n3\nperson\n", b"renamed e to d/"))
            self.assertNotIn(b"restored", shown.stdout)
            self.assertNotIn(b"meanwhile", shown.stderr)
            self.seen("redo", "--session", "s", code=0)
            self.assertEqual(self.text("e/in"), "one\n2\n3\nperson\n")

    def test_what_cannot_be_merged_is_left(self):
        self.file("binary", b"\0" * 100)
        self.file("gone", b"1\n")
        self.run_steps("printf x >> binary; echo 2 >> gone; echo new > made", "printf y >> binary; rm gone; echo more >> made")
        before = {path.name: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
        shown = self.undo("--step", "1", "--merge", code=12)
        self.assertEqual({path.name: path.read_bytes() for path in self.work.iterdir() if path.is_file()}, before)
        for name in (b"binary", b"gone", b"made"):
            self.assertIn(name + b" is left as it is", shown.stderr)
        self.undo("--merge", "--force", "--all", code=2)


if __name__ == "__main__":
    unittest.main()

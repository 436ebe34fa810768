"""seen blame: each line's writer, through edits and renames; no line of a person's is given to an agent."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

from driver import Case
from harness import VIA
from test_story import AGENT

LONG = os.environ.get("SEEN_LONG") == "1"
EDITS = 10000 if LONG else 120
LINES = 5  # that an edit writes at most

# One step of a writer: replaces lines of a file by others.
EDIT = """import json, sys
name, edits = json.load(open(sys.argv[1]))
lines = open(name).read().split("\\n")[:-1]
for old, new in edits:
    at = lines.index(old)
    lines[at:at + 1] = new
open(name, "w").write("".join(line + "\\n" for line in lines))
"""
# The agent's own action, and how it asks the person.
OWN = "sys.argv = ['', {path!r}]; exec(open({edit!r}).read())"
ASK = "import os, time\nopen({path!r} + '.please', 'w').close()\nwhile os.path.exists({path!r} + '.please'): time.sleep(0.002)"


class Blame(Case):
    def run_steps(self, *steps, options=()):
        (self.top / "steps").write_text(json.dumps(steps))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", *options, "--", sys.executable, str(self.top / "stepper.py"), str(self.top / "steps"), code=0)

    def blame(self, name):
        document = self.json("blame", "--session", "s", name)
        self.validate_by("blame.schema.json", [document])
        lines = (self.work / name).read_text().splitlines()
        self.assertEqual(len(lines), len(document["lines"]))
        return [(line, document["origins"][origin]) for line, origin in zip(lines, document["lines"])]

    def kinds(self, name):
        return [(line, origin["step"] or origin["kind"]) for line, origin in self.blame(name)]

    def test_renames_removals_and_undo(self):
        self.file("a", b"one\ntwo\nthree\n")
        self.file("untouched", b"x\n")
        self.run_steps("sed -i s/two/2/ a", "mv a b", "printf '4\\n5\\n' >> b", "sed -i /^one$/d b; mkdir d; mv b d/c")
        expected = [("2", 1), ("three", "before_session"), ("4", 3), ("5", 3)]
        self.assertEqual(self.kinds("d/c"), expected)
        self.assertEqual(self.kinds("untouched"), [("x", "before_session")])
        with open(self.work / "d/c", "a") as file:
            file.write("person\n")
        self.assertEqual(self.kinds("d/c"), [*expected, ("person", "external")])
        self.seen("blame", "--session", "s", "nosuch", code=1)
        self.seen("blame", "--session", "s", code=2)
        text = self.seen("blame", "--session", "s", "d/c", code=0).stdout.decode()
        self.assertRegex(text.splitlines()[0], r"^ +1 \d\d:\d\d:\d\d sed -i s/two/2/ a +1\) 2$")

    def test_nothing_is_before_the_session_without_a_sign_of_it(self):
        """Not kept is what lies outside the workspace, or can be made again; a person may have made a file since."""
        self.file("package.json", b"{}\n")
        (self.work / "node_modules/p").mkdir(parents=True)
        for name in ("node_modules/p/changed", "node_modules/p/old", "moved", "set", "late", "../outside"):
            self.file(name, b"one\n")
        self.run_steps("for name in node_modules/p/changed node_modules/p/made ../outside ../made; do echo agent >> $name; done; mv moved there; chmod 600 set")
        self.file("person", b"one\n")
        for name in ("node_modules/p/changed", "node_modules/p/made", "../outside", "../made", "person"):
            self.assertEqual({kind for _, kind in self.kinds(name)}, {"unknown"}, name)
        for name in ("node_modules/p/old", "there", "set"):
            self.assertEqual(self.kinds(name), [("one", "before_session")], name)
        # What a person changed in the session, before a step did, is not called older than it.
        self.file("late", b"one\nperson\n")
        self.run_steps("echo agent >> late; echo agent >> there")
        who = {name: [re.sub(r" +\d+\).*", "", line[14:]) for line in self.seen("blame", "--session", "s", name, code=0).stdout.decode().splitlines()] for name in ("late", "there")}
        self.assertEqual([lines[:-1] for lines in who.values()], [["before a step changed it"] * 2, ["before the session"]])
        self.seen("run", "--session", "off", "--undo", "no", "--", "sh", "-c", "echo agent >> set", code=0)
        self.assertEqual({origin["kind"] for origin in self.json("blame", "--session", "off", "set")["origins"]}, {"unknown"})

    def test_what_is_no_file_of_text(self):
        (self.work / "directory").mkdir()
        os.mkfifo(self.work / "fifo")
        self.file("binary", b"\0")
        self.run_steps("true")
        for name, reason in (("directory", "Is a directory"), (".", "Is a directory"), ("fifo", "it is no text"), ("binary", "it is no text"), ("nosuch", "No such file or directory")):
            shown = self.seen("blame", "--session", "s", name, code=1)
            self.assertEqual((shown.stdout, shown.stderr.decode()), (b"", f"seen: {self.work if name == '.' else name}: {reason}\n"))

    def test_a_shell_that_becomes_its_only_command(self):
        """Its end is the step's: what the agent changes then by itself is a step of its own, also where no pipe is read."""
        self.file("a", b"one\ntwo\n")
        own = "open('a', 'a').write('own\\n')"
        self.run_steps(["subprocess.run(['bash', '-c', 'sed -i s/two/2/ a'])\n" + own], "sed -i '1i first' a")
        self.assertEqual(self.kinds("a"), [("first", 3), ("one", "before_session"), ("2", 1), ("own", 2)])
        self.seen("undo", "--session", "s", "--last", code=0)
        self.seen("undo", "--session", "s", "--last", code=0)
        self.assertEqual((self.work / "a").read_bytes(), b"one\n2\n")

    def test_what_an_own_action_writes_several_times(self):
        """Its lines are its own where it found what it had left; what a person changed between is not."""
        self.file("a", b"one\ntwo\n")
        self.file("b", b"one\ntwo\n")
        (self.top / "edit1").write_text(json.dumps(["b", [["two", ["two", "person"]]]]))
        again = ["open('a', 'a').write('own\\n')", "text = open('a').read(); open('a', 'w').write('again\\n' + text)",
                 "file = open('a', 'r+'); file.seek(0, 2); file.write('more\\n'); file.close(); open('made', 'w').write('1\\n'); open('made', 'a').write('2\\n')",
                 "open('b', 'a').write('own\\n')"]
        last = ["open('b', 'a').write('after\\n')", "import os; os.chmod('a', 0o600)"]
        self.others = set()
        ended = threading.Event()
        person = threading.Thread(target=self.person, args=(1, ended))
        person.start()
        try:
            self.run_steps("true", *([step] for step in (*again, ASK.format(path=str(self.top / "edit1")), *last)), "sed -i s/two/2/ a", options=("--via", VIA))
        finally:
            ended.set()
            person.join()
        self.assertEqual(self.kinds("a"), [("again", 2), ("one", "before_session"), ("2", 3), ("own", 2), ("more", 2)])
        self.assertEqual(self.kinds("made"), [("1", 2), ("2", 2)])
        self.assertEqual(self.kinds("b"), [("one", "before_session"), ("two", "before_session"), ("person", "unknown"), ("own", 2), ("after", "unknown")])

    def test_a_file_too_large_to_be_kept_when_it_is_left(self):
        """What a step left is what the next one found, or what is there, unless something external changed it."""
        self.file("a", b"".join(b"line %d of a large file\n" % number for number in range(5000)))
        self.run_steps("sed -i '10s/.*/one/' a", "echo two >> a", ["open('a', 'a').write('three\\n'); open('a', 'a').write('four\\n')"])
        blamed = self.kinds("a")
        self.assertEqual([entry for entry in blamed if entry[1] != "before_session"], [("one", 1), ("two", 2), ("three", 3), ("four", 3)])
        with open(self.work / "a", "a") as file:
            file.write("person\n")
        self.run_steps("echo five >> a")
        self.assertEqual([entry for entry in self.kinds("a") if entry[1] != "before_session"],
                         [("one", 1), ("two", 2), ("three", "unknown"), ("four", "unknown"), ("person", "unknown"), ("five", 4)])

    def test_what_an_undo_brings_back_is_whose_it_was(self):
        self.file("a", b"one\ntwo\n\tthree\\n\n")
        self.run_steps("sed -i s/two/2/ a", "echo 4 >> a; sed -i 1d a")
        before, after = [("one", "before_session"), ("2", 1), ("\tthree\\n", "before_session")], [("2", 1), ("\tthree\\n", "before_session"), ("4", 2)]
        for words, expected in ((("undo", "--last"), before), (("redo",), after), (("undo", "--last"), before)):
            self.seen(*words, "--session", "s", code=0)
            self.assertEqual(self.kinds("a"), expected)
        with open(self.work / "a", "a") as file:
            file.write("person\x1b[2J\n")
        self.assertEqual(self.kinds("a")[3][1], "external")
        shown = [line.split(") ", 1)[1] for line in self.seen("blame", "--session", "s", "a", code=0).stdout.decode().splitlines()]
        self.assertEqual(shown, ["one", "2", "\tthree\\n", "person\\x1b[2J"])

    def test_lines_of_a_merged_file_are_whose_they_were(self):
        """Only what the merge brought is the undo's."""
        self.file("a", b"".join(b"%d\n" % number for number in range(20)))
        self.run_steps("sed -i s/^5$/five/ a", "sed -i s/^15$/fifteen/ a")
        subprocess.run(["sed", "-i", "s/^five$/person/", self.work / "a"], check=True)
        unmerged = self.kinds("a")
        writers = lambda: {line: kind for line, kind in self.kinds("a") if kind != "before_session"}
        self.seen("undo", "--session", "s", "--step", "1", "--merge", code=12)
        self.assertEqual(writers(), {**dict.fromkeys(("<<<<<<< on disk", "=======", "5", ">>>>>>> before step 1"), "undo"), "person": "external", "fifteen": 2})
        self.seen("redo", "--session", "s", code=0)
        self.assertEqual(self.kinds("a"), unmerged)
        self.seen("undo", "--session", "s", "--step", "1", "--merge", code=12)
        subprocess.run(["sed", "-i", "/^[<=>5]/d; s/^person$/resolved/", self.work / "a"], check=True)
        self.seen("undo", "--session", "s", "--step", "2", "--merge", code=0)
        self.assertEqual(writers(), {"resolved": "external", "15": "undo"})

    def test_a_rename_that_was_undone_and_redone(self):
        """Also by the name that the file had meanwhile; what a person makes by that name is a person's."""
        self.file("a", b"one\ntwo\n")
        self.run_steps("sed -i s/two/2/ a", "mv a b; echo 4 >> b")
        before, after = [("one", "before_session"), ("2", 1)], [("one", "before_session"), ("2", 1), ("4", 2)]
        for words, name, expected in ((("undo", "--last"), "a", before), (("redo",), "b", after), (("undo", "--last"), "a", before), (("redo",), "b", after)):
            self.seen(*words, "--session", "s", code=0)
            self.assertEqual(self.kinds(name), expected)
        self.seen("undo", "--last", "--session", "s", code=0)
        self.file("b", b"one\n2\n4\n")
        self.assertEqual({kind for _, kind in self.kinds("b")} & {1, 2}, set())

    def test_porcelain(self):
        self.file("a", b"one\ntwo\n")
        self.run_steps("echo three >> a")
        lines = self.seen("blame", "--session", "s", "--porcelain", "a", code=0).stdout.decode().split("\n")
        heads = [line.split() for line in lines if len(line.split()) in (3, 4) and len(line.split()[0]) == 40]
        self.assertEqual([head[1:] for head in heads], [["1", "1", "2"], ["2", "2"], ["3", "3", "1"]])
        self.assertEqual([line[1:] for line in lines if line.startswith("\t")], ["one", "two", "three"])
        self.assertIn("summary echo three >> a", lines)
        self.assertEqual(lines.count("boundary"), 1)
        self.assertEqual(lines.count("filename a"), 2)

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_a_group_of_porcelain_is_consecutive_in_both(self):
        """As git blame's: in the version that brought the lines, and in the file."""
        self.run_steps("printf 'x\\ny\\nz\\n' > f", "sed -i 2d f; echo end >> f")
        text = self.seen("blame", "--session", "s", "--porcelain", "f", code=0).stdout.decode()
        heads = [line.split()[1:] for line in text.splitlines() if len(line.split()[0]) == 40]
        self.assertEqual(heads, [["1", "1", "1"], ["3", "2", "1"], ["3", "3", "1"]])
        git = self.top / "git"
        subprocess.run("mkdir git && cd git && git init -q . && git config user.name a && git config user.email a@b && printf 'x\\ny\\nz\\n' > f && git add f && git commit -qm 1 && "
                       "sed -i 2d f && echo end >> f && git commit -qam 2", shell=True, cwd=self.top, env=self.env, check=True)
        text = subprocess.run(["git", "blame", "--porcelain", "f"], cwd=git, env=self.env, check=True, stdout=subprocess.PIPE).stdout.decode()
        self.assertEqual([line.split()[1:] for line in text.splitlines() if len(line.split()[0]) == 40], heads)

    def plan(self, chance):
        """Writers' edits of some files, and who wrote each line that is there in the end."""
        truth = {f"f{number}": [(f"{number} first {line}", "before", 0) for line in range(60)] for number in range(4)}
        for name, lines in truth.items():
            self.file(name, "".join(text + "\n" for text, _, _ in lines).encode())
        steps, serial, written = [], 0, {}
        while serial < EDITS:
            name, writer = chance.choice(list(truth)), chance.choice(("own", "command", "formatter", "person"))
            number, lines, edits = len(steps) + 1, truth[name], []
            if writer == "own" and "person" in written.get(name, ()):
                writer = "command"  # what a person changed between two writes of one own action is nowhere
            for _ in range(chance.randrange(1, LINES)):
                at = chance.randrange(len(lines))
                old = lines[at][0]
                if any(old in new for _, new in edits):
                    continue
                serial += 1
                new = ["    " + old] if writer == "formatter" else [f"{writer} {serial}"]
                if writer != "formatter" and chance.random() < 0.4:
                    new = [old, *new] if chance.random() < 0.7 or len(lines) < 40 else []
                edits.append((old, new))
                lines[at:at + 1] = [entry for text in new for entry in ([lines[at]] if text == old else [(text, writer, number)])]
            if writer == "own" or name in written:
                written.setdefault(name, []).append(writer)
            written = written if writer in ("own", "person") else {}
            path = str(self.top / f"edit{number}")
            with open(path, "w") as file:
                json.dump([name, edits], file)
            edit = str(self.top / "edit.py")
            steps.append([OWN.format(path=path, edit=edit)] if writer == "own" else [ASK.format(path=path)] if writer == "person"
                         else f"{sys.executable} -I -S {edit} {path}")
        return truth, steps

    def person(self, count, ended):
        for number in range(1, count + 1):
            path = self.top / f"edit{number}.please"
            while not ended.is_set() and not path.exists() and not (self.top / f"edit{number + 1}.please").exists():
                if number in self.others:
                    break
                time.sleep(0.002)
            if path.exists():
                name, edits = json.loads((self.top / f"edit{number}").read_text())
                lines = (self.work / name).read_text().splitlines()
                for old, new in edits:
                    at = lines.index(old)
                    lines[at:at + 1] = new
                (self.work / name).write_text("".join(line + "\n" for line in lines))
                path.unlink()

    def test_random_edits_of_agents_formatters_and_people(self):
        (self.top / "edit.py").write_text(EDIT)
        truth, steps = self.plan(random.Random(11))
        self.others = {number for number, step in enumerate(steps, 1) if isinstance(step, str) or "please" not in step[0]}
        ended = threading.Event()
        person = threading.Thread(target=self.person, args=(len(steps), ended))
        person.start()
        try:
            for first in range(0, len(steps), 40):  # a run has a minute, also beside much else
                self.run_steps(*steps[first:first + 40])
        finally:
            ended.set()
            person.join()
        commands = {step["command"]: step["number"] for step in self.json("story", "--session", "s")["steps"] if step["kind"] == "command"}
        numbers = [commands.get(step) if isinstance(step, str) else None for step in steps]
        right = agents = 0
        for name, lines in truth.items():
            blamed = self.blame(name)
            self.assertEqual([line for line, _ in blamed], [text for text, _, _ in lines])
            for (line, origin), (_, writer, number) in zip(blamed, lines):
                if writer in ("person", "before"):
                    self.assertNotEqual(origin["kind"], "step", (name, line, origin))
                    continue
                agents += 1
                before = max((found for found in numbers[:number - 1] if found), default=0)
                behind = min((found for found in numbers[number:] if found), default=1 << 30)
                right += origin["step"] == numbers[number - 1] if writer != "own" else bool(origin["step"]) and before < origin["step"] < behind
        self.assertGreater(agents, 30)
        self.assertGreaterEqual(right / agents, 0.99)


if __name__ == "__main__":
    unittest.main()

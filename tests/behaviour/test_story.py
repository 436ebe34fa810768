"""seen story, seen diff: a session as steps, and what they changed as a patch that git apply and patch(1) take."""
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import unittest

from driver import Case, Terminal

LONG = os.environ.get("SEEN_LONG") == "1"

# An agent whose steps are commands, as strings, or what it does by itself, as lists: [program in Python].
AGENT = r'''
import json, subprocess, sys
for step in json.load(open(sys.argv[1])):
    if isinstance(step, list):
        exec(step[0])
    else:
        subprocess.run(["bash", "-c", step], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
'''


def tree_of(root):
    """Every file and symbolic link below a directory: its mode as git has it, and its bytes."""
    found = {}
    for directory, _, names in os.walk(os.fsencode(root)):
        for name in names + [name for name in os.listdir(directory) if os.path.islink(os.path.join(directory, name))]:
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[os.path.relpath(path, os.fsencode(root))] = ("link", os.readlink(path))
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, os.fsencode(root))] = (bool(mode & 0o100), file.read())
    return found


class Story(Case):
    def setUp(self):
        super().setUp()
        self.env["GIT_CEILING_DIRECTORIES"] = str(self.top)
        self.before = self.top / "before"
        os.umask(0o022)

    def run_steps(self, *steps, session="s"):
        """Runs an agent; the tree before is kept as `before`."""
        shutil.rmtree(self.before, ignore_errors=True)
        shutil.copytree(self.work, self.before, symlinks=True)
        (self.top / "steps").write_text(json.dumps(steps))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", session, "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"),
                  str(self.top / "steps"), code=0)

    def steps(self, *words, session="s"):
        document = self.json("story", "--session", session, *words)
        self.validate_by("story.schema.json", [document])
        return document["steps"]

    def files(self, step):
        return {file["path"]: (file["change"], file["added"], file["removed"]) for file in step["files"]}

    def diff(self, *words, code=0):
        return self.seen("diff", "--session", "s", *words, code=code).stdout

    def assert_leads(self, patch, reverse=True, tool=("git", "apply", "--whitespace=nowarn")):
        """From the tree before to the one after, and back."""
        if not patch:
            self.assertEqual(tree_of(self.before), tree_of(self.work))
            return
        was = tree_of(self.before)
        subprocess.run(tool, input=patch, cwd=self.before, env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(tree_of(self.before), tree_of(self.work))
        if not reverse:
            return
        subprocess.run([*tool, "-R"], input=patch, cwd=self.before, env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(tree_of(self.before), was)

    def fill(self):
        (self.work / "src").mkdir()
        self.file("a.txt", b"one\ntwo\nthree\n")
        for i in range(1, 4):
            self.file(f"src/f{i}.c", b"".join(b"%d\n" % line for line in range(10 * i)))
        os.symlink("a.txt", self.work / "link")


class Steps(Story):
    def test_commands_and_own_actions(self):
        self.fill()
        self.run_steps("ls", "rm -rf src; exit 3", ["import os; os.mkdir('d'); os.rename('a.txt', 'd/b.txt')"], "rm link; ln -s d link2", "kill -9 $$")
        steps = self.steps()
        self.assertEqual([(step["number"], step["kind"], step["status"]) for step in steps],
                         [(1, "command", 0), (2, "command", 3), (3, "own_action", None), (4, "command", 0), (5, "command", None)])
        self.assertEqual([step["command"] for step in steps if step["kind"] == "command"],
                         ["ls", "rm -rf src; exit 3", "rm link; ln -s d link2", "kill -9 $$"])
        self.assertTrue(all(step["by_agent"] and not step["running"] for step in steps))
        self.assertEqual(self.files(steps[0]), {})
        self.assertEqual(self.files(steps[1]), {f"src/f{i}.c": ("removed", 0, 10 * i) for i in range(1, 4)})
        self.assertEqual((steps[1]["added"], steps[1]["removed"]), (0, 60))
        self.assertEqual(steps[2]["files"][0]["old_path"], "a.txt")
        self.assertEqual(self.files(steps[2])["d/b.txt"], ("renamed", 0, 0))
        self.assertEqual(self.files(steps[3]), {"link": ("removed", 0, 1), "link2": ("made", 1, 0)})
        self.assertEqual([step["number"] for step in self.steps("--changed")], [2, 3, 4])
        self.assertEqual([step["number"] for step in self.steps("--step", "3")], [3])
        self.seen("story", "--session", "s", "--step", "9", code=1)
        self.seen("story", "--session", "s", "--step", "x", code=2)

    def test_of_an_agent_that_starts_itself_again(self):
        (self.top / "steps").write_text(json.dumps(["echo 1 > one", ["open('own', 'w').write('x\\n')"], "echo 2 > two"]))
        (self.top / "stepper.py").write_text("import os, sys\nif len(sys.argv) == 2 and not os.fork():\n"
                                             "    os.execv(sys.executable, [sys.executable, *sys.argv, 'again'])\n"
                                             "if len(sys.argv) == 2:\n    sys.exit(os.wait()[1] != 0)\n" + AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"),
                  str(self.top / "steps"), code=0)
        self.assertEqual([(step["kind"], list(self.files(step))) for step in self.steps()],
                         [("command", ["one"]), ("own_action", ["own"]), ("command", ["two"])])

    def test_of_an_agent_behind_a_launcher_of_its_name(self):
        # As version managers start programs: a shell script of that name, which becomes others and in the end the program.
        commands = ["echo 1 > one", "echo 2 > two"]
        (self.top / "steps").write_text(json.dumps([commands[0], ["open('own', 'w').write('x\\n')"], commands[1]]))
        for path, text in (("shims/aider", f'#!/usr/bin/env bash\necho 0 > zero; exec "{self.top}/middle" "$@"\n'),
                           ("middle", f'#!/usr/bin/env bash\nexec "{self.top}/real/aider" "$@"\n'),
                           ("real/aider", f"#!{os.path.realpath(sys.executable)}\n{AGENT}")):
            (self.top / path).parent.mkdir(exist_ok=True)
            (self.top / path).write_text(text)
            (self.top / path).chmod(0o755)
        self.seen("run", "--session", "s", "--", str(self.top / "shims/aider"), str(self.top / "steps"), code=0)
        self.assertEqual([(step["kind"], list(self.files(step))) for step in self.steps()],
                         [("own_action", ["zero"]), ("command", ["one"]), ("own_action", ["own"]), ("command", ["two"])])
        report = self.json("report", "--session", "s", "--format", "json")
        self.assertEqual([row["command"] for row in report["commands"]["rows"]][-2:], commands)

    def test_in_a_terminal_and_in_a_report(self):
        self.fill()
        self.file("e\x1b[31m\n.txt", b"x\n")
        self.run_steps("rm -rf src", "rm e*")
        text = self.seen("story", "--session", "s", code=0).stdout
        self.assert_plain(text)
        self.assertIn(b"removed        -1  e\\x1b[31m\\n.txt\n", text)
        terminal = Terminal(["sh", "-c", "stty cols 80; exec " + os.environ["SEEN_BUILD"] + "/bin/seen story --session s"], self.work,
                            {**self.env, "GIT_PAGER": "cat"})
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"rm -rf src", terminal.output)
        self.assertTrue(all(len(line.replace(b"\x1b[1m", b"").replace(b"\x1b[0m", b"").rstrip()) <= 80 for line in terminal.output.split(b"\n")))
        report = json.loads(self.seen("report", "--session", "s", "--format", "json", code=0).stdout)
        self.assertEqual([row["command"] for row in report["steps"]["rows"]], ["rm -rf src", "rm e*"])
        self.validate_by("report.schema.json", [report])
        self.validate_by("story.schema.json", [{"schema": "seen/story/1", "session": "s", "workspace": "/", "damaged": 0, "journal": True,
                                                "lost_records": 0, "without_step": 0, "unrecorded": 0,
                                                "steps": report["steps"]["rows"]}])
        for form in ("text", "md"):
            self.assertIn(b"step by step", self.seen("report", "--session", "s", "--format", form, code=0).stdout)
        page = self.seen("report", "--session", "s", "--format", "html", code=0).stdout
        self.assertIn(b"deleted file mode 100644", page)

    def test_of_a_session_before_a_boot_and_of_none(self):
        self.fill()
        self.run_steps("rm a.txt")
        os.remove(self.session_directory() / "segment")
        self.assertEqual(self.files(self.steps()[0]), {"a.txt": ("removed", 0, 3)})
        self.assertIn(b"deleted file", self.diff())
        self.seen("story", "--session", "nosuch", code=3)
        self.seen("diff", "--session", "nosuch", code=3)

    def test_after_an_undo(self):
        """What a step changed does not depend on what was undone since."""
        self.fill()
        self.run_steps("echo 2 > a.txt; rm -rf src", ["open('own', 'w').write('x\\n')"], "echo 3 >> a.txt; mv own link")
        steps, patches = self.steps(), [self.diff("--step", str(number)) for number in (1, 2, 3)]
        self.assertTrue(all(patches))
        for words in (("undo", "--last"), ("undo", "--all"), ("redo",)):
            self.seen(*words, "--session", "s", code=0)
            self.assertEqual(self.steps(), steps, words)
            self.assertEqual([self.diff("--step", str(number)) for number in (1, 2, 3)], patches)

    def test_without_a_journal_or_with_a_part_of_one(self):
        self.fill()
        settings = self.home / ".config/seen/seen.ini"
        settings.write_text("[journal]\nlevel = off\n")
        self.run_steps("echo 2 > a.txt", ["open('own', 'w').write('x\\n')"])
        shown = self.seen("story", "--session", "s", code=1)
        self.assertIn(b"without a journal there are no steps; 2 paths were changed in no known step: `seen diff`", shown.stderr)
        document = json.loads(self.seen("story", "--session", "s", "--json", code=0).stdout)
        self.validate_by("story.schema.json", [document])
        self.assertEqual((document["journal"], document["without_step"], document["steps"]), (False, 2, []))
        self.assert_leads(self.diff())
        # Own actions are known by the undo records, too.
        settings.write_text("[journal]\nexclude = *own\n")
        self.run_steps(["open('own', 'w').write('y\\n')"], "echo 3 > a.txt", session="excluded")
        self.assertEqual([(step["kind"], list(self.files(step))) for step in self.steps(session="excluded")],
                         [("own_action", ["own"]), ("command", ["a.txt"])])
        # A journal that is full.
        settings.write_text("[journal]\nmax_bytes = 1048576\n")
        self.run_steps("echo 4 > a.txt", "for i in {1..20000}; do : < a.txt; done", "echo 5 > a.txt; rm link", session="full")
        shown = self.seen("story", "--session", "full", code=0)
        self.assertIn(b"records: steps may be missing; 2 paths were changed in no known step: `seen diff`", shown.stderr)
        self.assertIn(b"changed in no known step", self.seen("report", "--session", "full", code=0).stdout)
        self.assertIn("changed", self.files(self.steps(session="full")[0])["a.txt"])

    def test_what_cannot_be_undone_and_why(self):
        self.fill()
        os.makedirs(self.work / "node_modules/m")
        self.file("package.json", b"{}")
        self.file("node_modules/m/index.js", b"x\n")
        self.run_steps("rm -rf node_modules", "ls")
        step, _ = self.steps()
        self.assertEqual([(item["path"], bool(item["why"])) for item in step["cannot_be_undone"]], [("node_modules", True)])
        text = self.seen("story", "--session", "s", code=0).stdout.decode()
        self.assertIn("cannot be undone: node_modules", text)
        for form in ("text", "md"):
            shown = self.seen("report", "--session", "s", "--format", form, code=0).stdout.decode()
            self.assertIn(step["cannot_be_undone"][0]["why"], shown)
        document = self.json("diff", "--session", "s")
        self.validate_by("diff.schema.json", [document])
        self.assertIn(("node_modules", "excluded"), [(item["path"], item["what"]) for item in document["not_carried"]])
        self.assertIn(b"#   node_modules: nothing is kept below it, since it can be made again\n", self.diff())

    def test_damaged_records_are_left_out(self):
        self.fill()
        self.run_steps("rm a.txt", "rm link")
        part, = (self.session_directory() / "undo").glob("*.part")
        content = bytearray(part.read_bytes())
        at = content.index(b"a.txt")
        content[at] = ord("A")
        part.write_bytes(content)
        document = self.json("story", "--session", "s")
        self.assertEqual(document["damaged"], 1)
        self.assertEqual(self.files(document["steps"][1]), {"link": ("removed", 0, 1)})


class Diff(Story):
    def test_of_all_of_a_step_of_a_path(self):
        self.fill()
        self.run_steps("rm -rf src", "mv a.txt b.txt", "chmod +x b.txt", "mkdir empty; rm link")
        self.assert_leads(self.diff())
        self.assertIn(b"rename from a.txt\nrename to b.txt\n", self.diff())
        self.assertEqual(self.diff("--step", "2"), b'diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n')
        self.assertEqual(self.diff("--step", "3"), b"diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n")
        since = self.diff("--since", "3")
        self.assertNotIn(b"rename", since)
        self.assertIn(b"new mode 100755", since)
        self.assertEqual(self.diff("src").count(b"deleted file"), 3)
        self.assertEqual(self.diff("src/f1.c").count(b"deleted file"), 1)
        self.assertEqual(self.diff("--step", "1", "nothing"), b"")
        self.assertEqual(self.diff("--since", "1h"), self.diff())
        for words, code in ((("--step", "1", "--since", "1"), 2), (("--step", "x"), 2), (("--step", "9"), 1), (("--since", "9"), 1),
                            (("--since", "x"), 2)):
            self.diff(*words, code=code)

    def test_of_a_session_that_keeps_nothing(self):
        self.seen("run", "--session", "off", "--undo", "no", "--", "sh", "-c", "echo x > made", code=0)
        shown = self.seen("diff", "--session", "off", code=0)
        self.assertEqual(shown.stdout, b"")
        self.assertIn(b"session off keeps nothing for undo: ", shown.stderr)

    def test_of_a_step_alone_where_a_person_removed_it(self):
        """What an external program removed, or moved away, behind a step is not what the step did."""
        (self.work / "d").mkdir()
        for name in ("gone", "d/along", "moved", "own", "new"):
            self.file(name, b"1\n2\n3\n")
        self.run_steps("for name in gone d/along moved own; do echo one > $name; done; rm own; sed -i s/2/two/ new; rm new")
        for name in ("gone", "d/along"):
            (self.work / name).unlink()
        (self.work / "d").rmdir()
        (self.work / "moved").rename(self.work / "there")
        files = {file["path"]: (file["change"], file["added"], file["removed"]) for file in self.steps()[0]["files"]}
        self.assertEqual(files, {**dict.fromkeys(("gone", "d/along", "moved"), ("changed", 1, 3)), **dict.fromkeys(("own", "new"), ("removed", 0, 3))})
        self.assertEqual(self.seen("diff", "--session", "s", "--step", "1", code=0).stdout.count(b"\n+one\n"), 3)

    def test_of_a_step_alone_where_a_person_went_on(self):
        """What an external program changed behind a step is no change of that step."""
        def person(name, text):
            with open(self.work / name, "a") as file:
                file.write(text)

        self.file("a", b"one\ntwo\n")
        self.run_steps("sed -i s/two/2/ a", "echo 3 > b", ["open('own', 'w').write('own\\n')"])
        for name in ("a", "b", "own"):
            person(name, "person\n")
        self.run_steps("sed -i 1d a", "echo 4 >> b; echo 5 >> own")
        for name in ("a", "b"):
            person(name, "later\n")
        os.rename(self.work / "own", self.work / "elsewhere")
        self.file("own", b"another\n")
        found = [[line for line in self.seen("diff", "--session", "s", "--step", str(step), code=0).stdout.decode().splitlines()
                  if re.match(r"[-+](?![-+])", line)] for step in range(1, 6)]
        self.assertEqual(found, [["-two", "+2"], ["+3"], ["+own"], ["-one"], ["+4", "+5"]])
        steps = self.json("story", "--session", "s")["steps"]
        self.assertEqual([(step["added"], step["removed"]) for step in steps], [(1, 1), (1, 0), (1, 0), (0, 1), (2, 0)])

    def test_what_it_cannot_carry(self):
        self.fill()
        self.run_steps("mkdir -p empty/inner; rm src/*; mkfifo pipe", "touch -d 2001-01-01 a.txt; chmod 600 a.txt")
        patch = self.diff()
        head = patch.split(b"diff --git")[0].decode().splitlines()
        self.assertEqual(head, ["# What a patch cannot carry:", "#   a.txt: mode 0600", "#   a.txt: times", "#   empty: empty directory, made",
                                "#   empty/inner: empty directory, made", "#   pipe: special file, made or changed",
                                "#   src: directory, still there without a file"])
        document = self.json("diff", "--session", "s")
        self.validate_by("diff.schema.json", [document])
        self.assertEqual([(item["path"], item["what"]) for item in document["not_carried"]],
                         [("a.txt", "mode"), ("a.txt", "times"), ("empty", "empty_directory_made"), ("empty/inner", "empty_directory_made"),
                          ("pipe", "special"), ("src", "directory_emptied")])
        self.assertEqual([(file["path"], file["status"], file["removed"]) for file in document["files"]],
                         [(f"src/f{i}.c", "removed", 10 * i) for i in range(1, 4)])
        self.assert_leads(patch)

    def test_a_table_as_git_prints_it(self):
        self.fill()
        self.file("bin", b"\0" * 100)
        self.run_steps("rm -rf src bin link")
        patch = self.diff()
        subprocess.run(["git", "init", "-q", "."], cwd=self.before, env=self.env, check=True)
        git = subprocess.run(["git", "apply", "--stat"], input=patch, cwd=self.before, env=self.env, check=True, stdout=subprocess.PIPE).stdout
        mine = self.diff("--stat")
        self.assertEqual(mine.splitlines()[-1].replace(b", 0 insertions(+)", b""), git.splitlines()[-1].replace(b", 0 insertions(+)", b""))
        rows = {line.split(b"|")[0].strip(): line.split(b"|")[1].split()[0] for line in mine.splitlines()[:-1]}
        self.assertEqual(rows, {b"bin": b"Bin", b"link": b"1", b"src/f1.c": b"10", b"src/f2.c": b"20", b"src/f3.c": b"30"})

    def test_colour_and_pager(self):
        self.fill()
        self.run_steps("rm a.txt")
        words = [os.environ["SEEN_BUILD"] + "/bin/seen", "diff", "--session", "s"]
        terminal = Terminal(words, self.work, {**self.env, "GIT_PAGER": "cat"})
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\x1b[31m-one\x1b[m", terminal.output)
        terminal = Terminal(words, self.work, {**self.env, "GIT_PAGER": "sed s/^/paged:/"})
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"paged:\x1b[1mdiff --git a/a.txt b/a.txt\x1b[m", terminal.output)
        self.assertNotIn(b"\x1b", self.diff())

    def test_of_contents(self):
        self.fill()
        self.file("bin", bytes(range(256)) * 4)
        self.run_steps("sed -i s/two/2/ a.txt; mv a.txt b.txt", "printf '\\001' | dd of=bin conv=notrunc seek=500 bs=1", ["open('own', 'w').write('by itself')"],
                       "echo more >> src/f1.c; printf 'x\\r\\n' > src/f2.c; : > src/f3.c")
        patch = self.diff()
        self.assertIn(b"similarity index 71%\nrename from a.txt\nrename to b.txt\n", patch)
        self.assertIn(b"GIT binary patch\nliteral 1024\n", patch)
        self.assertIn(b"+by itself\n\\ No newline at end of file\n", patch)
        self.assert_leads(patch)
        steps = self.steps()
        self.assertEqual([self.files(step) for step in steps],
                         [{"b.txt": ("renamed", 1, 1)}, {"bin": ("changed", None, None)}, {"own": ("made", 1, 0)},
                          {"src/f1.c": ("changed", 1, 0), "src/f2.c": ("changed", 1, 20), "src/f3.c": ("changed", 0, 30)}])
        self.assertEqual([step["cannot_be_undone"] for step in steps], [[], [], [], []])

    def test_of_a_renamed_directory(self):
        """Each file below is an entry of its own, also of one that nothing else is known of."""
        self.fill()
        self.run_steps("mv src lib", "mv lib/f1.c lib/g.c; rm lib/f2.c")
        patch = self.diff()
        self.assertIn(b"rename from src/f3.c\nrename to lib/f3.c\n", patch)
        self.assert_leads(patch)
        self.assertEqual(self.diff("--step", "1").count(b"similarity index 100%"), 3)

    def test_random_trees(self):
        """What a random command line of files' tools did is what the patch does."""
        for seed in range(40 if LONG else 1):
            with self.subTest(seed=seed):
                self.one_random(random.Random(seed), seed)

    def one_random(self, chance, seed):
        for path in self.work.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        names = [f"{directory}{name}" for directory in ("", "d/", "d/e/", "sp ace/") for name in ("a", "b", "quo\"te", "ä", "t\tab")]
        for directory in ("d/e", "sp ace"):
            os.makedirs(self.work / directory)
        for name in chance.sample(names, 12):
            self.file(name, b"".join(b"line %d of %s\n" % (i, name.encode()) for i in range(chance.randrange(20))))
        steps = []
        for _ in range(12):
            one, other = (name.replace('"', '\\"') for name in chance.sample(names, 2))
            steps.append(chance.choice([f'mv "{one}" "{other}"', f'rm -f "{one}"', f'chmod 755 "{one}"', f'ln -sfn target "{one}"',
                                        'mv d "sp ace/moved"', 'mv "sp ace/moved" d', f'ln "{one}" "{other}"', f'mv -T "{one}" dir; mkdir -p "{other}"', f'echo more >> "{one}"',
                                        f'sed -i "s/line 3/LINE/; 5d" "{one}"', f'head -c 3000 /dev/urandom > "{one}"', f'cp "{one}" "{other}"; rm "{one}"',
                                        [f"import os; os.path.isfile({one!r}) and open({one!r}, 'a').write('by itself\\n')"], f'truncate -s 20 "{one}"', f'printf "%s" end > "{other}"',
                                        f'dd if=/dev/zero of="{one}" bs=10 count=2 conv=notrunc']))
        self.run_steps(*steps, session=f"random{seed}")
        patch = self.seen("diff", "--session", f"random{seed}", code=0).stdout
        # git cannot take back its own patches of a file that became a link either.
        self.assert_leads(patch, reverse=False)


if __name__ == "__main__":
    unittest.main()

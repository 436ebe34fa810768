"""Commands in other words: one that prints what a remembered one did is answered, and says what that one was."""

import os
import random
import shutil
import subprocess
import tempfile
import unittest

from harness import lines, needs_library
from test_requests import ANSWER, RequestsTest

OTHER = b"[Command already run in other words: "


class FormsTest(RequestsTest):
    count = 40  # files in src: what a command prints is longer than a notice

    def forget(self):
        self.session.seen("forget", "--all", "--session", "test")

    def assertOther(self, first, second):
        output = self.remember(first)
        answer = self.shell(second)
        self.assertTrue(answer.startswith(OTHER), (first, second, answer[:200]))
        self.assertEqual(answer.count(b"\n"), 1)
        self.assertIn(b"(%d bytes, seen-" % len(output), answer)
        return answer

    def assertUnlike(self, first, second):
        self.run_once(first)
        output = self.shell(second)
        self.assertFalse(output.startswith((ANSWER, OTHER)), (first, second))


@needs_library("what a reader reads is inspected inside it")
class Equal(FormsTest):
    def test_pairs(self):
        for first, second in (
                ("grep -rn pat src", "grep -nr pat src"), ("grep -rn pat src", "grep -r -n -e pat src/"), ("grep -rn pat src", "grep --recursive pat src --line-number"),
                ("grep -n 'line 1' f", "grep --line-number 'line 1' ./f"), ("grep -C 2 'line 1' f", "grep -A2 -B2 'line 1' f"), ("grep -2 'line 1' f", "grep --context=2 'line 1' f"),
                ("grep -E 'line|x' f", "grep --extended-regexp 'line|x' f"), ("grep -F line f", "grep line --fixed-strings f"),
                ("ls -la src", "ls -l -a src"), ("ls -la src", "ls --all -l ./src/"), ("ls -Rla", "ls -alR ."), ("ls src src", "ls -1 src src"),
                ("find . -name '*.c'", "find -name '*.c' -print"), ("find src -type f -name 'f*'", "find src -name 'f*' -a -type f"),
                ("find . -maxdepth 2 -mindepth 1 ! -name x", "find -mindepth 1 -maxdepth 02 -not -name x"),
                ("head -n 20 f", "head -20 ./f"), ("head f g", "head --lines=10 f g"), ("tail -n 20 f", "tail -20 f"), ("tail f g", "tail -n -10 f g"),
                ("sed -n 1,60p f", "sed -n '1, 60 p;' ./f"), ("sed -n 1,60p f", "sed --quiet -e 1,60p f"), ("cat -n f", "cat --number f"), ("cat -A f", "cat -vET f"),
                ("wc src/f?.c src/f?.c", "wc -l -w -c src/f?.c src/f?.c")):
            with self.subTest(first=first, second=second):
                self.forget()
                self.assertOther(first, second)
                self.assertRun(second)  # it asks again

    def test_says_what_was_run(self):
        self.assertIn(b"grep -rn pat src. Same output as ", self.assertOther("grep -rn pat src", "grep -nr pat src"))
        self.forget()
        self.remember("grep -rn pat src")
        self.assertIn(b"already run: grep -rn pat src. Same", self.assertAnswered("grep -rn pat src"))

    def test_a_script_that_stands_for_it(self):
        """Debian's egrep starts grep -E: these are the words that count."""
        with open(shutil.which("egrep"), "rb") as file:
            if b'exec grep -E "$@"' not in file.read():
                self.skipTest("egrep is another program here")
        self.remember("grep -E 'line|x' f")
        self.assertAnswered("egrep 'line|x' f")

    def test_changed(self):
        for first, second in (("grep -rn pat src", "grep -nr pat src"), ("ls -la src", "ls -l -a ./src/"), ("sed -n 1,60p src/f5.c", "sed -n -e 1,60p ./src/f5.c")):
            with self.subTest(second=second):
                self.forget()
                self.session.write("src/f5.c", lines("pat", 90))
                self.remember(first)
                self.session.write("src/f5.c", lines("pat", 91))
                self.assertRun(second)

    def test_a_directory_that_became_a_link(self):
        os.mkdir(self.session.path("two"))
        self.session.write("two/a_name_that_is_long", b"")
        self.remember("ls -l src")
        os.rename(self.session.path("src"), self.session.path("was"))
        os.symlink("two", self.session.path("src"))
        self.assertRun("ls -l src/")


@needs_library("what a reader reads is inspected inside it")
class NeverTest(FormsTest):
    options = ("-c", "requests.never=grep?-nr*")

    def test_words_as_they_are_written(self):
        self.remember("grep -rn pat src")
        self.assertRun("grep -nr pat src")
        self.assertIn(ANSWER, self.shell("grep -rn pat src"))


@needs_library("what a reader reads is inspected inside it")
class Unlike(FormsTest):
    def test_pairs(self):
        self.session.write("bin", b"line\n" * 60 + b"\0\n" * 30)
        for first, second in (
                ("grep -rn pat src", "grep -rn pat ./src"), ("grep -rn --exclude-dir=src pat src/", "grep -rn --exclude-dir=src pat src"), ("grep -l pat src/f1.c src/f2.c src/f3.c src/f4.c src/f5.c src/f6.c", "grep -l pat ./src/f1.c src/f2.c src/f3.c src/f4.c src/f5.c src/f6.c"),
                ("grep -H line f", "grep -H line ./f"), ("grep -n line bin f", "grep -n line ./bin f"), 
                ("find src", "find ./src"), ("find src -name 'f*'", "find src/ -name 'f*'"), ("find src -name 'f*' -o -type f", "find src -type f -o -name 'f*'"),
                ("ls -lt -S src", "ls -lS -t src"), ("ls -aA src src", "ls -Aa src src"), ("ls -R src", "ls -R ./src"), ("ls -l src/f1.c src/f2.c", "ls -l ./src/f1.c src/f2.c"),
                ("wc src/f1.c src/f2.c src/f3.c src/f4.c src/f5.c", "wc ./src/f1.c src/f2.c src/f3.c src/f4.c src/f5.c"), ("head -n 20 f g", "head -n 20 ./f g"),
                ("head -n 30 f", "head -n -30 f"), ("tail -n 30 f", "tail -n +30 f"), ("sed -n '30p;1,60p' f", "sed -n '1,60p' f"), ("grep -n line f", "grep -nG line --lin f")):
            with self.subTest(first=first, second=second):
                self.forget()
                self.assertUnlike(first, second)

    def test_posix(self):
        self.remember("grep -rn pat src")
        self.assertRun("POSIXLY_CORRECT=1 grep -nr pat src")
        self.forget()
        self.run_once("export POSIXLY_CORRECT=1; grep -rn pat src")
        self.assertRun("export POSIXLY_CORRECT=1; grep -nr pat src")

    def test_another_implementation(self):
        """The same options of a program that is not GNU's may mean something else."""
        with tempfile.TemporaryDirectory() as directory:
            grep = os.path.join(directory, "grep")
            with open(shutil.which("grep"), "rb") as file:
                image = file.read()
            self.assertIn(b"\0GNU grep\0", image)
            with open(grep, "wb") as file:
                file.write(image.replace(b"\0GNU grep\0", b"\0ABC grep\0"))
            os.chmod(grep, 0o755)
            self.remember(grep + " -rn pat src")
            self.run_once(grep + " -nr pat src")
            self.assertIn(ANSWER, self.shell(grep + " -rn pat src"))


@needs_library("what a reader reads is inspected inside it")
class Random(FormsTest):
    """Random commands in random words, with random changes between them: what is answered is what was given before."""

    steps = 2000 if os.environ.get("SEEN_LONG") else 120

    def change(self, choice):
        name = "src/f%d.c" % choice.randrange(6)
        path = self.session.path(name)
        what = choice.randrange(6)
        if what == 0:
            self.session.write(name, lines("pat%d" % choice.randrange(3), choice.randrange(5, 60)))
        elif what == 1 and os.path.exists(path):
            os.remove(path)
        elif what == 2 and os.path.exists(path):
            os.utime(path, (choice.randrange(9), choice.randrange(9)))
        elif what == 3:
            shutil.rmtree(self.session.path("src/new"), ignore_errors=True)
        elif what == 4:
            os.makedirs(self.session.path("src/new"), exist_ok=True)
            self.session.write("src/new/%d" % choice.randrange(3), b"pat in here\n")
        else:
            os.chmod(self.session.path("f"), choice.choice((0o600, 0o644)))

    def command(self, choice):
        kind = choice.randrange(5)
        if kind == 0:
            options = choice.sample(["-r", "-n", choice.choice(("-i", "--ignore-case")), choice.choice(("-s", "--no-messages"))], 3) + ["-r"]
            return "grep %s pat %s" % (" ".join(options), choice.choice(("src", "src/", "./src", "src f")))
        if kind == 1:
            return "ls %s %s" % (" ".join(choice.sample(["-l", "-a", "-t", "-r", "-1"], 3)), choice.choice(("src", "./src", "src/", "", ".", "src/*")))
        if kind == 2:
            tests = choice.sample(["-name '*.c'", "-type f", "! -name f1.c"], 2)
            return "find %s %s %s" % (choice.choice(("src", "src/", ".", "")), choice.choice((" ", " -a ")).join(tests), choice.choice(("", "-print")))
        if kind == 3:
            return "%s %s %s" % (choice.choice(("head", "tail")), choice.choice(("-n 30", "-30", "--lines 30", "-n30", "-n +30")), choice.choice(("f", "./f")))
        return "%s %s" % (choice.choice(("sed -n 5,50p", "sed -n '5, 50 p'", "sed -ne 5,50p", "cat -n", "cat --number")), choice.choice(("f", "./f", "src/../f")))

    def test_random(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        choice = random.Random(seed)
        given, answered = [], 0
        for _ in range(self.steps):
            if choice.randrange(4) == 0:
                self.change(choice)
            command = self.command(choice)
            output = self.shell(command)
            real = subprocess.run(["bash", "-c", command], cwd=self.session.workspace, stdin=subprocess.DEVNULL,
                                  env=self.session.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            if output.startswith((ANSWER, OTHER)):
                answered += 1
                self.assertIn(real, given, (seed, command, output))
            else:
                self.assertEqual(output, real, (seed, command))
                given.append(real)
        self.assertGreater(answered, self.steps // 12, seed)


if __name__ == "__main__":
    unittest.main()

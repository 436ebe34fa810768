"""Searches of rg and ugrep, remembered where they print in one order: what they search, and each file that leaves something out, are inputs."""

import os
import random
import shutil
import subprocess
import unittest

from harness import lines, needs_library
from test_requests import ANSWER
from test_requests_forms import OTHER, FormsTest


def needs(program):
    return unittest.skipIf(not shutil.which(program), "no " + program)


class SearchTest(FormsTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.session.path("src/sub/deep"))
        os.makedirs(self.session.path(".git/info"))
        self.session.write("src/sub/deep/d.c", lines("pat", 20))


@needs_library("what a reader reads is inspected inside it")
@needs("rg")
class Rg(SearchTest):
    def test_answered(self):
        for command in ("rg --sort path -n pat", "rg --sort=path pat src", "rg -n --sortr path pat src/", "rg -j1 pat", "rg --threads 1 -l pat src src src", "rg -n line f",
                        "rg -n line ./f", "rg --files --sort path", "rg -e pat --sort path -g '*.c' -A1", "rg -uu --sort path pat .", "rg -nj 1 pat src"):
            with self.subTest(command=command):
                self.forget()
                self.remember(command)
                self.assertAnswered(command)
                self.assertRun(command)

    def test_several_threads(self):
        """They print in the order in which they end."""
        for command in ("rg pat", "rg -n pat src", "rg -j2 pat src", "rg pat src/f1.c src/f2.c src/f3.c src/f4.c src/f5.c", "rg --sort none pat src"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)

    def test_one_file_of_several_threads(self):
        """What they found in one file comes by one write: no order is left to chance."""
        for command in ("rg -n -A9 'pat7 ' src", "rg -n -j4 --context 7 'pat7 .*1' src", "rg -A9 -e 'pat7 '", "rg -p -e 'pat7 ' src f"):
            with self.subTest(command=command):
                self.forget()
                self.remember(command)
                self.assertAnswered(command)
        for name, content in (("src/f3.c", lines("other", 3)), ("src/new.c", b"pat7 in a new file\n"), ("src/.ignore", b"f7.c\n"), ("src/f7.c", lines("pat7", 9))):
            with self.subTest(file=name):
                self.forget()
                self.remember("rg -n -A9 'pat7 ' src")
                self.session.write(name, content)
                self.assertNotIn(ANSWER, self.shell("rg -n -A9 'pat7 ' src; true"))
                if not name.endswith("f7.c"):
                    os.remove(self.session.path(name))

    def test_what_depends_on_more(self):
        os.symlink("src", self.session.path("link"))
        for command in ("rg --sort modified pat src", "rg --sort path --stats pat src", "rg --sort path -L pat src", "rg --sort path --max-filesize 1M pat src",
                        "rg --sort path --json pat src", "rg -j1 --pre cat pat src", "rg -j1 -z pat src", "rg --sort path pat link/sub", "rg -j1 --one-file-system pat src"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)
        self.session.write("options", b"--stats\n")
        self.assertNotRemembered("RIPGREP_CONFIG_PATH=options rg --sort path pat src")

    def test_what_leaves_files_out(self):
        """A file that says what is not searched, where there was none."""
        above = os.path.dirname(self.session.workspace)
        home = self.session.environment["HOME"]
        write = self.session.write
        files = [".gitignore", ".ignore", ".rgignore", "src/.gitignore", "src/sub/.ignore", "src/sub/deep/.rgignore", ".git/info/exclude"]
        for name in files:
            with self.subTest(file=name):
                self.forget()
                self.remember("rg --sort path pat src")
                write(name, b"*.c\n")
                self.assertRun("rg --sort path pat src; true")
                os.remove(self.session.path(name))
        for name in (os.path.join(above, ".ignore"), os.path.join(home, ".config/git/ignore")):
            with self.subTest(file=name):
                self.forget()
                self.remember("rg --sort path pat src")
                os.makedirs(os.path.dirname(name), exist_ok=True)
                with open(name, "w") as file:
                    file.write("*.c\n")
                try:
                    self.assertRun("rg --sort path pat src; true")
                finally:
                    os.remove(name)

    def test_global_excludes(self):
        home = self.session.environment["HOME"]
        with open(os.path.join(home, ".gitconfig"), "w") as file:
            file.write("[core]\n\texcludesFile = %s/left_out\n" % home)
        self.remember("rg --sort path pat src")
        self.assertAnswered("rg --sort path pat src")
        self.forget()
        self.remember("rg --sort path pat src")
        with open(os.path.join(home, "left_out"), "w") as file:
            file.write("f1*.c\n")
        self.assertRun("rg --sort path pat src")
        self.remember("rg --sort path -n pat src")
        with open(os.path.join(home, "left_out"), "w") as file:
            file.write("f2*.c\n")
        self.assertRun("rg --sort path -n pat src")

    def test_repository_that_comes(self):
        """Without .git a .gitignore counts for nothing."""
        shutil.rmtree(self.session.path(".git"))
        self.session.write(".gitignore", b"f1*.c\n")
        self.remember("rg --sort path pat src")
        os.mkdir(self.session.path(".git"))
        self.assertRun("rg --sort path pat src")


@needs_library("what a reader reads is inspected inside it")
@needs("rg")
class Random(SearchTest):
    steps = 2000 if os.environ.get("SEEN_LONG") else 100

    def change(self, choice):
        directory = choice.choice(("", "src", "src/sub", "src/sub/deep", ".git/info", "src/new"))
        name = choice.choice((".gitignore", ".ignore", ".rgignore", "f%d.c" % choice.randrange(6), "exclude"))
        path = self.session.path(os.path.join(directory, name))
        what = choice.randrange(4)
        if what == 0 and os.path.exists(path):
            os.remove(path)
        elif what == 1 and os.path.exists(path):
            os.utime(path, (1, choice.randrange(9)))
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(choice.choice((b"f1.c\n", b"sub\n", b"*.c\n!f2.c\n", b"pat\n" * choice.randrange(9), b"deep/\n")))

    def test_random(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        choice = random.Random(seed)
        answered = played = 0
        command = lambda: "rg %s %s %s %s; true" % (choice.choice(("--sort path", "-j1", "", "-j3")), choice.choice(("-n", "-uu")),
                                                    choice.choice(("pat", "-A9 'pat[37] '", "-A9 'pat7 '")), choice.choice(("", "src", "src/sub/deep/d.c")))
        commands = [command() for _ in range(8)]  # few enough that some come again before something changes
        # what lies in the ignore files may hide all that there is for a while
        while played < self.steps or (answered <= self.steps // 20 and played < 20 * self.steps):
            played += 1
            if choice.randrange(3) == 0:
                self.change(choice)
            command = choice.choice(commands)
            run = lambda: subprocess.run(["bash", "-c", command], cwd=self.session.workspace, stdin=subprocess.DEVNULL, env=self.session.environment,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            output, real = self.shell(command), run()
            if output.startswith((ANSWER, OTHER)):
                answered += 1
                self.assertIn((command, real), self.given, (seed, command, output))
            else:
                self.assertEqual(sorted(output.splitlines()), sorted(real.splitlines()), (seed, command))
                self.given.add((command, output))
        self.assertGreater(answered, self.steps // 20, seed)

    def setUp(self):
        super().setUp()
        self.given = set()


@needs_library("what a reader reads is inspected inside it")
@needs("ugrep")
class Ugrep(SearchTest):
    def test_answered(self):
        for command in ("ugrep -rn -J1 pat src", "ugrep -n line f", "ugrep -r --jobs=1 pat src"):
            with self.subTest(command=command):
                self.forget()
                self.remember(command)
                self.assertAnswered(command)
                self.session.write("src/f5.c", b"pat anew\n")
                self.session.write("f", lines("other"))
                self.assertRun(command)

    def test_several_threads(self):
        for command in ("ugrep -rn pat src", "ugrep -rn -J1 --ignore-files pat src", "ugrep -rn -J1 --sort=changed pat src"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)


if __name__ == "__main__":
    unittest.main()

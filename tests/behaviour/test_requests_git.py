"""Commands of git that read, remembered where the agent's hook reported that the model asked, and what it was given."""

import json
import os
import random
import re
import shutil
import subprocess
import time
import unittest

from driver import SEEN
from harness import lines, needs_library
from test_requests import ANSWER
from test_requests_forms import OTHER, FormsTest


@needs_library("what a reader reads is inspected inside it")
class GitTest(FormsTest):
    count = 12
    reports = True

    def git(self, *words, check=True):
        return subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=self.session.workspace, check=check,
                              env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def hook(self, event, command=None, **more):
        document = {"session_id": "c1", "hook_event_name": event, "prompt_id": "p1", "cwd": self.session.workspace, "tool_use_id": "t",
                    **({"tool_name": "Bash", "tool_input": {"command": command}} if command else {}), **more}
        self.assertEqual(self.agent.run(["sh", "-c", SEEN + " answer hook claude 2>&1 >/dev/null"], stdin=json.dumps(document)), b"")

    def shell(self, command, *words, announced=None, **more):
        """As an agent whose hook reports its shell tool's calls, before and after."""
        if self.reports:
            self.hook("PreToolUse", announced or command)
        output = super().shell(command, *words, **more)
        if self.reports:
            text = output.decode(errors="replace")
            self.hook("PostToolUse", announced or command, tool_response={"stdout": text[:-1] if text.endswith("\n") else text, "stderr": ""})
        return output

    def setUp(self):
        super().setUp()
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        for number in range(6):
            self.session.write("src/f%d.c" % number, lines("changed%d" % number, 30))
        self.git("commit", "-qam", "second: a message that has some length")
        for number in range(8):
            self.session.write("new%d_with_a_long_name_of_a_file" % number, b"new\n")
            self.session.write("src/f%d.c" % number, lines("again%d" % number, 30))
        self.wait_for_index()

    def wait_for_index(self):
        """Until no file is as new as the index: else each status writes that anew."""
        time.sleep(1.1)
        self.git("status")
        time.sleep(0.05)

    COMMANDS = ("git status", "git diff", "git diff --stat", "git log --stat", "git show HEAD", "git diff HEAD~1", "git --no-pager diff -w")


class Answered(GitTest):
    def test_plain(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                self.remember(command)
                self.assertAnswered(command)
                self.assertRun(command)

    def test_other_words(self):
        for first, second in (("git log -n 5 --stat", "git --no-pager log --stat -5"), ("git diff --stat -p", "git diff -u --stat"),
                              ("git log --max-count=3 --stat", "git log -n3 --stat"), ("git show -w HEAD", "git show HEAD --ignore-all-space")):
            with self.subTest(second=second):
                self.forget()
                if first.endswith("HEAD") != second.endswith("HEAD"):
                    self.assertUnlike(first, second)
                else:
                    self.assertOther(first, second)
        self.forget()
        self.assertUnlike("git diff src", "git diff -- src")
        self.assertUnlike("git diff HEAD --stat -p", "git diff HEAD -p --stat")  # behind an operand git refuses some
        self.git("add", ".")
        self.wait_for_index()
        self.assertOther("git diff --staged", "git diff --cached")

    def test_in_a_subdirectory(self):
        self.remember("git status", cwd=self.session.path("src"))
        self.assertAnswered("git status", cwd=self.session.path("src"))
        self.session.write("src/f7.c", lines("other", 7))
        self.assertRun("git diff", cwd=self.session.path("src"))

    def test_as_agents_wrap_it(self):
        commands = ("diff", "log --stat", "diff --stat", "show", "log -p", "status")  # of other lengths
        for command, wrap in zip(commands, ("%s", "cd . && %s", "{ %s; }; true", "eval '%s' < /dev/null && pwd -P > /dev/null", "shopt -u nullglob; (%s)", " %s ")):
            command = "git " + command
            with self.subTest(wrap=wrap):
                self.assertNotIn(ANSWER, self.shell(wrap % command, announced=command))
                self.assertIn(ANSWER, self.shell(wrap % command, announced=command))

    def test_settings_that_are_a_link_to_nothing(self):
        """git asks whether they may be read: what is asked follows the link."""
        os.symlink("nothing", os.path.join(self.session.environment["HOME"], ".gitconfig"))
        self.remember("git status")
        self.assertAnswered("git status")

    def test_parallel_calls(self):
        """Hooks of several calls come before the first of them is run."""
        for command in ("git diff", "git log --stat"):
            self.remember(command)
        self.hook("PreToolUse", "git log --stat")
        self.assertAnswered("git diff")
        self.assertIn(ANSWER, self.agent.shell("git log --stat"))


class NotAnswered(GitTest):
    def assertReal(self, command):
        output = self.agent.shell(command)
        self.assertNotIn(b"Command already run", output)
        self.assertEqual(output, self.git(*command.split()[1:]))

    def test_of_the_agents_own(self):
        """The same shell command, which the agent runs for its own code, is run."""
        for command in ("git diff", "git status"):
            self.remember(command)
            self.assertReal(command)
            self.assertReal(command)
            self.assertAnswered(command)
            self.assertReal(command)

    def test_beside_one_that_was_announced(self):
        self.remember("git diff")
        self.remember("git status")
        self.hook("PreToolUse", "git status")
        self.assertReal("git diff")
        self.assertReal("git diff --stat")
        self.assertIn(ANSWER, self.agent.shell("git status"))
        self.assertReal("git status")  # one shell alone runs it

    def test_refused_by_the_user(self):
        self.remember("git diff")
        for event, more in (("UserPromptSubmit", {"prompt": "go on"}), ("SessionStart", {"source": "resume"}), ("PostToolUseFailure", {})):
            with self.subTest(event=event):
                self.hook("PreToolUse", "git diff")
                self.hook(event, "git diff" if event.startswith("Post") else None, **more)
                self.assertReal("git diff")

    def test_not_proven(self):
        """What the model was given in part, or not at all."""
        for response in (None, {"stdout": "diff --git a", "stderr": ""}, {"stdout": "x", "stderr": "", "persistedOutputPath": "/x"}):
            self.forget()
            self.hook("PreToolUse", "git diff")
            self.agent.shell("git diff")
            if response:
                self.hook("PostToolUse", "git diff", tool_response=response)
            self.assertRun("git diff")

    def test_forms_that_are_not_known(self):
        for command in ("git status --porcelain", "git log --since=yesterday", "git log --date=relative", "git show HEAD@{0}", "git -c core.pager=cat log",
                        "git status -v", "git diff --stat -s"):  # more of them: unit.role
            with self.subTest(command=command):
                self.assertNotRemembered(command)

    def test_configuration(self):
        for words in (("log.date", "relative"), ("format.pretty", "%ar"), ("include.path", "/nonexistent")):
            with self.subTest(words=words):
                self.git("config", *words)
                self.assertNotRemembered("git log --stat")
                self.git("config", "--unset", words[0])
        self.remember("git log --stat")

    def test_variables(self):
        for name in ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=log.date GIT_CONFIG_VALUE_0=relative", "GIT_TRACE=1", "GIT_DIR=.git", "GIT_EXTERNAL_DIFF=true", "GIT_NEW=1"):
            with self.subTest(name=name):
                self.assertNotRemembered("export %s; git log --stat" % name)
        self.remember("export GIT_PAGER=cat GIT_EDITOR=true; git log --stat")
        self.assertRun("git log --stat")  # other variables

    def test_untracked_cache(self):
        """By it git lists no directory whose time is as it was."""
        self.git("update-index", "--untracked-cache")
        self.wait_for_index()
        self.assertNotRemembered("git status")

    def test_programs_and_writes(self):
        with open(self.session.path(".gitattributes"), "w") as file:
            file.write("*.c diff=upper\n")
        self.git("config", "diff.upper.command", "cat")
        self.assertNotRemembered("git diff")
        self.git("config", "--unset", "diff.upper.command")
        self.session.write("src/f1.c", lines("changed1", 30))  # as it is in the index: its time is written there
        self.assertNotIn(ANSWER, self.shell("git status"))

    def test_another_program(self):
        directory = os.path.join(self.session.environment["HOME"], "bin")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "git"), "w") as file:
            file.write("#!/bin/sh\necho another; exec /usr/bin/git \"$@\"\n")
        os.chmod(os.path.join(directory, "git"), 0o755)
        self.remember("git diff")
        self.assertTrue(self.shell("PATH=%s:$PATH; git diff --stat" % directory).startswith(b"another\n"))

    def test_no_pipe_and_no_terminal(self):
        self.remember("git diff")
        self.assertNotIn(ANSWER, self.shell("git diff | cat"))
        self.assertNotIn(ANSWER, self.shell("git diff", "pty"))
        self.assertNotIn(ANSWER, self.shell("git diff > out; cat out"))


@unittest.skipIf(not shutil.which("strace"), "no strace")
class Traced(GitTest):
    """Whatever git asks the kernel for is an input, but for what is the same in each run of it."""

    def inputs(self):
        """Paths of the list that was written last."""
        directory = os.path.join(self.session.environment["HOME"], ".local/state/seen/test/content")
        lists = [os.path.join(directory, name) for name in os.listdir(directory) if name.startswith("inputs-")]
        with open(max(lists, key=lambda path: os.stat(path).st_mtime_ns), "rb") as file:
            data = file.read()
        at, paths = 0, set()
        while at < len(data):  # struct input, tracker/content/inputs.h
            size = int.from_bytes(data[at:at + 4], "little")
            paths.add(os.path.normpath(data[at + 72:at + size].split(b"\0")[0].decode()))
            at += size
        return paths

    def asked(self, command):
        """Paths that the kernel is asked for."""
        trace = os.path.join(self.session.environment["HOME"], "trace")
        if subprocess.run(["strace", "-f", "-e", "trace=%file", "-o", trace, *command.split()], cwd=self.session.workspace, env=self.session.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode:
            self.skipTest("nothing may be traced")
        current, paths = self.session.workspace, set()
        with open(trace) as file:
            calls = re.findall(r'^\d+ +(\w+)\((?:AT_FDCWD, )?"([^"]*)"', file.read(), re.MULTILINE)
        for name, path in calls:
            path = os.path.normpath(os.path.join(current, path))
            if name == "chdir":
                current = path
            elif name != "execve":
                paths.add(path)
        return paths

    def test_paths(self):
        self.git("gc", "-q")
        self.wait_for_index()
        same = re.compile(r"/(etc/ld\.so|lib|usr/lib|usr/share/locale|dev/null)|.*/\.git/index\.lock$")
        for command in ("git status", "git diff", "git log --stat", "git show HEAD", "git diff --cached HEAD~1", "git log -p --follow f", "git status -s -b"):
            with self.subTest(command=command):
                self.remember(command)
                self.assertEqual([path for path in self.asked(command) - self.inputs() if not same.match(path)], [])


class WithoutHooks(GitTest):
    reports = False

    def test_nothing(self):
        for command in self.COMMANDS:
            self.assertNotRemembered(command)


class Changed(GitTest):
    def changes(self):
        write = self.session.write
        path = self.session.path
        git = lambda *words: self.git(*words, check=False)  # one may leave no room for another
        return {
            "content": lambda: write("src/f3.c", lines("more", 31)), "same size": lambda: write("src/f3.c", self.session.read("src/f3.c").replace(b"again", b"AGAIN")),
            "added": lambda: git("add", "src/f3.c"), "committed": lambda: git("commit", "-qam", "third"), "new file": lambda: write("newest", b"x\n"),
            "removed": lambda: os.remove(path("src/f9.c")), "ignored": lambda: write(".gitignore", b"new*\n"),
            "branch": lambda: git("checkout", "-qb", "other"), "configuration": lambda: git("config", "diff.noprefix", "true"),
            "excluded": lambda: write(".git/info/exclude", b"new1*\n"), "reset": lambda: git("reset", "-q", "--hard", "HEAD~1"),
            "mode": lambda: os.chmod(path("src/f8.c"), 0o755), "attributes": lambda: write(".gitattributes", b"*.c binary\n"),
            "tag": lambda: git("tag", "v1"), "merge": lambda: write(".git/MERGE_HEAD", self.git("rev-parse", "HEAD")),
            "short status": lambda: git("config", "status.short", "true"), "packed refs": lambda: git("pack-refs", "--all"),
            "packed objects": lambda: git("gc", "-q"), "note": lambda: git("notes", "add", "-m", "a note", "HEAD"),
            "replaced": lambda: git("replace", "HEAD", "HEAD~1"), "assumed": lambda: git("update-index", "--assume-unchanged", "src/f5.c"),
            "mailmap": lambda: write(".mailmap", b"B <b@example.org> A <a@example.org>\n"), "link": lambda: os.symlink("f", path("to")),
            "time of the index": lambda: os.utime(path(".git/index"), (1, 1)), "shallow": lambda: write(".git/shallow", self.git("rev-parse", "HEAD")),
            "global": lambda: git("config", "--global", "core.abbrev", "20"), "global ignore": self.global_ignore,
            "alternates": lambda: write(".git/objects/info/alternates", os.fsencode(self.session.environment["HOME"]) + b"\n"), "repository within": lambda: subprocess.run(["git", "init", "-q", path("src/in")], check=True),
        }

    @unittest.skipIf(os.geteuid(), "another's files are root's to give away")
    def test_owner(self):
        """git reads no repository of another user's."""
        for path in (self.session.workspace, self.session.path(".git")):
            with self.subTest(path=path):
                self.forget()
                self.remember("git diff")
                os.chown(path, 65534, 65534)
                self.assertEqual(self.shell("git diff"), b"")
                os.chown(path, 0, 0)

    def global_ignore(self):
        directory = os.path.join(self.session.environment["HOME"], ".config/git")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "ignore"), "w") as file:
            file.write("*\n")

    def test_changes(self):
        commands = ("git status", "git diff", "git log --stat")
        changes = self.changes()
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        for name in changes if os.environ.get("SEEN_LONG") else random.Random(seed).sample(sorted(changes), 10):
            change, last = changes[name], {}
            for command in commands:
                self.shell(command)
                last[command] = self.git(*command.split()[1:], check=False)
            change()
            for command in commands:
                with self.subTest(change=name, command=command):
                    output = self.shell(command)
                    real = self.git(*command.split()[1:], check=False)
                    if output.startswith((ANSWER, OTHER)):
                        self.assertEqual(real, last[command], name)
                    elif command != "git status" or b"Refresh" not in real:
                        self.assertEqual(output, b"" if real.startswith(b"fatal") else real)


class Random(GitTest):
    steps = 1500 if os.environ.get("SEEN_LONG") else 50

    def test_random(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        choice = random.Random(seed)
        given, answered = set(), 0
        write = self.session.write
        changes = (lambda: write("src/f%d.c" % choice.randrange(12), lines("r%d" % choice.randrange(4), choice.randrange(2, 40))),
                   lambda: self.git("add", "-A"), lambda: self.git("commit", "-qam", "a message %d" % choice.randrange(9), check=False),
                   lambda: self.git("checkout", "-q", choice.choice(("main", "HEAD~1", "side")), check=False), lambda: self.git("branch", "side", check=False),
                   lambda: os.utime(self.session.path("src/f1.c")), lambda: self.git("stash", "-q", check=False), lambda: self.git("reset", "-q"),
                   lambda: os.utime(self.session.path(".git/index"), (choice.randrange(1 << 30), choice.randrange(1 << 30))), lambda: self.git("gc", "-q"),
                   lambda: self.git("tag", "t%d" % choice.randrange(3), check=False), lambda: self.git("config", "diff.noprefix", choice.choice(("true", "false"))),
                   lambda: write(choice.choice((".gitignore", ".gitattributes")), choice.choice((b"new*\n", b"*.c -diff\n", b""))))
        for _ in range(self.steps):
            if choice.randrange(3) == 0:
                choice.choice(changes)()
            command = "git " + choice.choice(("status", "diff", "diff --stat", "log --stat", "show", "diff --cached", "log -p -n 3", "log -3 -u", "status -s -b", "diff HEAD",
                                              "show --stat HEAD", "log --oneline --graph --all --stat"))
            output = self.shell(command)
            real = self.git(*command.split()[1:], check=False)
            if output.startswith((ANSWER, OTHER)):
                answered += 1
                self.assertIn(real, given, (seed, command, output))
            else:
                self.assertEqual(output, real, (seed, command))
            given.add(real)
        self.assertGreater(answered, self.steps // 20, seed)


if __name__ == "__main__":
    unittest.main()

"""Runs below programs/helpers/fail_calls.c, which lets system calls of seen fail, or ends all before one."""
import base64
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from driver import BUILD, LIBRARY, NOTICE, SEEN, Case, text_of
from undoing import difference, tree

FAILS = str(BUILD / "tests/programs/helpers/fail_calls")
UNISTD = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
PATIENCE_S = 600  # a busy machine is no fault
ANY_CHANGE, SHORT, CUT = -1, 0, -1  # as there
COMMANDS = ("cat a", "cat a", "cat a > copy", "cat a | cat", "rm b", "echo new > c", "mv a d", "sed -i s/1/one/ d", "mkdir e; ln d e/f; cp c g", "head -3 d; cat d", "find . -name g -delete; cat d | sort")
BEFORE = {name: text_of(word=name) for name in "abc"}


def call_names():
    if not os.path.exists(UNISTD):
        raise unittest.SkipTest("no %s: names of system calls" % UNISTD)
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", pathlib.Path(UNISTD).read_text())}


class Failing(Case):
    commands = COMMANDS

    def below(self, plan, *words):
        """Runs a command; plan: who, call, number, how, and so on."""
        done = subprocess.run([FAILS, str(self.top / "counts"), os.path.realpath(LIBRARY), os.path.realpath(SEEN), *map(str, plan), "--", *words],
                              cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        if done.returncode == 77:
            self.skipTest(done.stdout.decode())
        return done

    def new_tree(self):
        """A new workspace, and no session."""
        for name in ("work", "home/.local"):
            shutil.rmtree(self.top / name, ignore_errors=True)
        self.work.mkdir()
        self.fill()
        return tree(str(self.work), times=False)

    def fill(self):
        for name, content in BEFORE.items():
            (self.work / name).write_bytes(content)

    def play(self, via, *plan, traced=True, around=(), within=()):
        """Commands of an agent in a new tree; via: None, bare.  around, within: words before the run's, and before each command's.

        Returns (what is done, what it received or None, the tree)."""
        self.new_tree()
        (self.top / "commands").write_text(json.dumps([shlex.join([*within, "bash", "-c", one]) if within else one for one in self.commands]))
        for name in ("results", "counts"):
            (self.top / name).unlink(missing_ok=True)
        words = [*around, *([SEEN, "run", "--via", via, "--session", "s", "--agent", "agent", "--"] if via else []),
                 sys.executable, str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results")]
        done = self.below(plan, *words) if traced else subprocess.run(words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                                      stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        results = self.top / "results"
        got = [base64.b64decode(one) for one in json.loads(results.read_text())] if results.exists() else None
        return done, got, tree(str(self.work), times=False)

    def check_as_bare(self, about, bare, played):
        """The tree and the outputs are as bare, but that the second command's may be a notice."""
        done, got, found = played
        self.assertEqual(difference(bare[2], found), [], (about, done.stderr))
        self.assertEqual(len(got), len(bare[1]), about)
        for at, (one, wanted) in enumerate(zip(got, bare[1])):
            if at != 1 or not one.startswith(NOTICE):
                self.assertEqual(one, wanted, (about, self.commands[at], done.stderr))

    def check_undone(self, about, run):
        """All is as it was before the run, or what is left is reported, and nothing lost.  Returns which."""
        left = self.there()
        undone = self.seen("undo", "--all", "--session", "s")
        there = self.there()
        if undone.returncode == 0:
            self.assertEqual(there, BEFORE, (about, undone, run.stderr))
            return "undone"
        self.assertTrue(0 < undone.returncode < 125 and (undone.stderr or undone.stdout), (about, undone))
        self.assertEqual([name for name, content in there.items() if content not in (BEFORE.get(name), left.get(name))], [], (about, undone))
        self.assertLessEqual(BEFORE.keys() & left.keys(), there.keys(), (about, undone))
        return "not undone, and said"

    def counts(self):
        """{(who, number of a call): how many}."""
        lines = [line.split() for line in (self.top / "counts").read_text().splitlines()]
        return {(line[0], int(line[1])): int(line[2]) for line in lines if line[0] in ("program", "library")}

    def failed(self):
        """How many calls did."""
        counts = self.top / "counts"
        return int(counts.read_text().split()[-1]) if counts.exists() else 0

    def synced(self):
        """{inode: how many of its bytes}."""
        lines = [line.split() for line in (self.top / "counts").read_text().splitlines()]
        return {int(line[1]): int(line[2]) for line in lines if line[0] == "synced"}

    def there(self):
        """The workspace's plain files."""
        return {file.name: file.read_bytes() for file in self.work.iterdir() if file.is_file()}

"""Runs below programs/helpers/fail_calls.c, which lets system calls of seen fail, or ends all before one."""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from driver import BUILD, LIBRARY, SEEN, Case, text_of
from undoing import tree

FAILS = str(BUILD / "tests/programs/helpers/fail_calls")
UNISTD = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
PATIENCE_S = 60
ANY_CHANGE, SHORT, CUT = -1, 0, -1  # as there
COMMANDS = ("cat a", "cat a", "cat a > copy", "cat a | cat", "rm b", "echo new > c", "mv a d", "sed -i s/1/one/ d", "mkdir e; ln d e/f; cp c g", "head -3 d; cat d", "find . -name g -delete; cat d | sort")
BEFORE = {name: text_of(word=name) for name in "abc"}


def call_names():
    if not os.path.exists(UNISTD):
        raise unittest.SkipTest("no %s: names of system calls" % UNISTD)
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", pathlib.Path(UNISTD).read_text())}


class Failing(Case):
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
        for name, content in BEFORE.items():
            (self.work / name).write_bytes(content)
        return tree(str(self.work), times=False)

    def play(self, via, *plan, traced=True):
        """Commands of an agent in a new tree; via: None, bare.  Returns (what is done, what it received or None, the tree)."""
        self.new_tree()
        (self.top / "commands").write_text(json.dumps(COMMANDS))
        for name in ("results", "counts"):
            (self.top / name).unlink(missing_ok=True)
        words = [sys.executable, str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results")]
        run = (["run", "--via", via, "--session", "s", "--agent", "agent", "--"] if via else [])
        done = self.below(plan, *([SEEN, *run] if via else []), *words) if traced else self.seen(*run, *words, code=0)
        results = self.top / "results"
        got = [base64.b64decode(one) for one in json.loads(results.read_text())] if results.exists() else None
        return done, got, tree(str(self.work), times=False)

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

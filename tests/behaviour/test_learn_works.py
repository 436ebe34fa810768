"""`seen learn` of real builds: the same work passes under the policy without a finding, and under its bubblewrap script.

SEEN_LONG: all of them, and each is printed as a row of docs/rules.md.
"""
import os
import re
import shutil
import subprocess
import unittest

from driver import DEMO, SEEN, Case

LONG = bool(os.environ.get("SEEN_LONG"))
BWRAP = shutil.which("bwrap") and subprocess.run(["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"], stderr=subprocess.DEVNULL).returncode == 0
UNITS = 8
GIT = "git -c user.name=t -c user.email=t@localhost "


def sources(work):
    """A program of nine files of C, with a makefile and a CMakeLists.txt."""
    names = [f"unit{i}" for i in range(UNITS)]
    for i, name in enumerate(names):
        (work / f"{name}.c").write_text(f"#include <stdio.h>\nint {name}(void) {{ return printf(\"{i}\"); }}\n")
    (work / "main.c").write_text("".join(f"int {name}(void);\n" for name in names) + "int main(void) { return !(" + "+".join(f"{name}()" for name in names) + "); }\n")
    objects = " ".join(f"{name}.o" for name in [*names, "main"])
    (work / "Makefile").write_text(f"all: program\nprogram: {objects}\n\tcc -o $@ {objects}\n")
    (work / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(program main.c {' '.join(f'{name}.c' for name in names)})\n")


def python(work):
    (work / "test_one.py").write_text("import json, tempfile, unittest\n\n\nclass One(unittest.TestCase):\n    def test(self):\n"
                                      "        with tempfile.TemporaryFile('w+') as file:\n            json.dump([1], file)\n")


def node(work):
    (work / "t.js").write_text("const fs = require('fs');\nfs.writeFileSync('out.json', JSON.stringify(require('./package.json')));\n")
    (work / "package.json").write_text('{"name": "p", "version": "1.0.0", "scripts": {"test": "node t.js"}}\n')


def data(work):
    for i in range(20):
        (work / f"{i}.txt").write_text(f"line {i}\n" * 500)


# Name, what is there before, the work, the programs that it needs.
WORKS = (
    ("`make -j2`, 9 files of C", sources, "make -s -j2", "make cc"),
    ("`cmake -S . -B b && cmake --build b`", sources, "cmake -S . -B b && cmake --build b", "cmake make cc"),
    ("the same with Ninja", sources, "cmake -G Ninja -S . -B b && cmake --build b", "cmake ninja cc"),
    ("`python3 -m unittest`, `compileall`", python, "python3 -m unittest -q; python3 -m compileall -q .", "python3"),
    ("`python3 -m venv`", python, "python3 -m venv v", "python3"),
    ("`node t.js`", node, "node t.js", "node"),
    ("`npm test`", node, "npm test --offline --no-update-notifier", "npm"),
    ("git: add, commit, checkout, merge, gc", data, f"git init -q . && {GIT}add -A && {GIT}commit -qm one && {GIT}checkout -qb b && echo x > 0.txt && {GIT}commit -qam two && "
     f"{GIT}checkout -q - && echo y > 1.txt && {GIT}commit -qam three && {GIT}merge -q -m m b && {GIT}gc -q", "git"),
    ("tar, sha256sum, sort", data, "tar cf all.tar ./*.txt && sha256sum ./*.txt | sort > sums && mkdir out && tar xf all.tar -C out && sort -R ./*.txt > mixed", "tar"),
    ("the scripted agent", lambda work: None, f"{DEMO} --in .", ""),
)
IN_SHORT = (0, 7)


class LearnWorks(Case):
    def fill(self, make):
        shutil.rmtree(self.work)
        self.work.mkdir()
        make(self.work)

    def passes(self, words, script, make):
        self.fill(make)
        done = subprocess.run([*words, "bash", "-c", script], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done)
        return done.stderr.decode()

    def row(self, name, make, script, needs):
        lacking = [program for program in needs.split() if not shutil.which(program, path=self.env["PATH"])]
        if lacking:
            self.skipTest(f"no {' '.join(lacking)}")
        session = re.sub(r"\W+", "-", name).strip("-")
        bare = self.passes([], script, make)
        self.passes([SEEN, "run", "--via", "both", "--session", session, "--"], script, make)
        policy, confined = self.top / "policy.ini", self.top / "policy.sh"
        policy.write_bytes(self.seen("learn", session, code=0).stdout)
        confined.write_bytes(self.seen("learn", "--format", "bwrap", session, code=0).stdout)
        said = self.passes([SEEN, "run", "--via", "both", "--config", str(policy), "--fail-on=rule,unobserved", "--"], script, make)
        self.assertNotIn("learned-", said)
        self.assertEqual("seen:" in said, "seen:" in bare, said)
        if BWRAP:
            self.passes(["sh", str(confined)], script, make)
        accesses, directories, places = re.match(r"; Learned from 1 session: (\d+) accesses in (\d+) directories, as (\d+) places\.\n", policy.read_text()).groups()
        self.assertLessEqual(int(places), 20)
        if LONG:
            print(f"| {name} | {accesses} | {directories} | {places} |", flush=True)

    def test_second_run_passes(self):
        for i, work in enumerate(WORKS):
            if LONG or i in IN_SHORT:
                with self.subTest(work[0]):
                    self.row(*work)


if __name__ == "__main__":
    unittest.main()

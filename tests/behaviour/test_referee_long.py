"""The same as test_referee.py for what takes long: real agents, npm, larger runs."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_referee  # noqa: E402
from test_referee import COREUTILS, ENVIRONMENT, FIND, RefereeTest  # noqa: E402

SOURCE = os.environ.get("SEEN_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KIT = os.path.join(os.path.dirname(SOURCE), "shared", "agents")
CACHE = os.environ.get("AGENTS_DIR") or os.path.expanduser("~root/.cache/seen-agents" if os.getuid() == 0 else "~/.cache/seen-agents")
NODE22 = os.path.join(CACHE, "node22", "node_modules", ".bin")

MAKE = r"""
mkdir src; for i in $(seq 20); do printf '#include <stdio.h>\n#include "h.h"\nint f%d(void) { return puts("x"); }\n' $i >src/f$i.c; done
echo 'int f1(void); int main(void) { return f1(); }' >src/main.c; touch src/h.h
printf 'O=$(patsubst %%.c,%%.o,$(wildcard src/*.c))\nprog: $O\n\tgcc -o $@ $^\n%%.o: %%.c\n\tgcc -MMD -c -o $@ $<\nclean:\n\trm -f $O prog\n-include $(wildcard src/*.d)\n' >Makefile
make -j2; touch src/f1.c; make; ./prog; ar rcs lib.a src/*.o; strip prog; make clean
"""

GIT = test_referee.GIT + r"""
git branch -q other; for i in $(seq 20); do echo $i >f$i; git add f$i; git commit -qm $i; done; git checkout -q other; echo o >o; git add o; git commit -qm o
git merge -q br; git rebase -q HEAD~1; git stash; git tag t; git clone -q . ../clone; git -C ../clone pull -q; git worktree add ../tree; git reset -q --hard HEAD~1
git fsck; git repack -adq; git diff HEAD~2; git grep x; git archive HEAD >a.tar; git clean -fdxq
"""

PYTHON = test_referee.PYTHON + r"""
import pkgutil, importlib
for module in sorted(pkgutil.iter_modules(), key=lambda module: module.name):
    if module.name in sys_names and not module.name.startswith(("_", "idlelib", "antigravity", "this", "turtle", "test")):
        try:
            importlib.import_module(module.name)
        except Exception:
            pass
import multiprocessing, concurrent.futures
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda i: open("pool%d" % (i % 7), "a").write("x" * i), range(200)))
"""


class Long(RefereeTest):
    def test_make(self):
        self.need("make", "gcc", "ar", "strip")
        self.judge("make, gcc (20 files)", "sh", "-c", MAKE, seconds=900)

    def test_git(self):
        self.need("git")
        self.judge("git (large)", "sh", "-c", GIT, seconds=900)

    def test_python(self):
        self.need("python3")
        self.judge("python3 (library)", "python3", "-c", "import sys\nsys_names = sys.stdlib_module_names\n" + PYTHON, seconds=900)

    def test_rsync(self):
        self.need("rsync")
        self.judge("rsync", "bash", "-c", FIND + "\nmkdir s; for i in $(seq 30); do echo $i >s/$i; done; rsync -a s/ r/; rm s/1; echo x >s/2; rsync -a --delete s/ r/")

    def test_utf8(self):
        """With a locale, libc opens many files of its own."""
        self.judge("coreutils, C.UTF-8", "bash", "-c", COREUTILS, environment={"LC_ALL": "C.UTF-8"})

    def test_npm(self):
        npm = shutil.which("npm", path=self.session.environment["PATH"])
        if not npm:
            self.skipTest("no npm")
        os.mkdir(self.session.path("pkg"))
        self.session.write("pkg/package.json", b'{"name":"pkg","version":"1.0.0","scripts":{"x":"echo x >x"}}')
        self.session.write("package.json", b'{"name":"top","version":"1.0.0","dependencies":{"pkg":"file:./pkg"},"scripts":{"x":"echo x >x"}}')
        result = self.judge("npm", "sh", "-c", "npm install --offline --no-audit --no-fund && npm run x && npm pack ./pkg", seconds=1200)
        self.assertEqual(result.status, 0, self.referee.output)

    def agent(self, name):
        if not os.path.exists(os.path.join(KIT, "run")):
            self.skipTest("no %s: the agents' kit is not in this checkout" % KIT)
        if not os.path.exists(os.path.join(CACHE, name, "node_modules", ".bin", name)):
            self.skipTest("%s is not installed in %s" % (name, CACHE))
        directory = os.path.join(self.session.directory, "agents")
        os.mkdir(directory)
        os.symlink(os.path.join(CACHE, name), os.path.join(directory, name))
        workspace, scenario, out = (os.path.join(directory, word) for word in ("ws", "scenario.json", "log"))
        subprocess.run([os.path.join(KIT, "mkws"), workspace], check=True, stdout=subprocess.DEVNULL)
        with open(scenario, "w") as file:
            subprocess.run([os.path.join(KIT, "scenario.py"), name], check=True, stdout=file)
        wrap = self.referee.wrap(["--workspace", workspace])
        pairs = " ".join("%s=%s" % pair for pair in {**ENVIRONMENT, **self.referee.environment(), "LC_ALL": "C.UTF-8"}.items())
        done = subprocess.run([os.path.join(KIT, "run"), name, workspace, scenario], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "WRAP": " ".join(wrap), "OUT": out, "AGENTS_DIR": directory, "EXTRA_ENV": pairs, "LIMIT": "1500",
                                   "NODEPATH": NODE22 if os.path.exists(NODE22) else ""}, timeout=1800)
        self.referee.output = done.stdout
        with open(os.path.join(out, "requests.jsonl")) as lines:
            answered = sum(json.loads(line).get("kind") == "model" for line in lines)
        self.assertGreater(answered, 3, done.stdout)
        result = self.referee.result(name)
        self.agrees(result)

    def test_pi(self):
        self.agent("pi")

    def test_codex(self):
        self.agent("codex")

    def test_claude(self):
        self.agent("claude")


del RefereeTest  # it has no tests of its own, and is not to be found twice

if __name__ == "__main__":
    unittest.main()

"""`seen doctor` behind launchers: it follows them to the program that is meant, and its answer is what the run then reports."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from driver import Case

PROGRAM = "int main(int argc, char **argv) { (void)argv; return argc > 9; }\n"
MARKED = '__attribute__((section(".bun"), used)) static const char mark[] = "x";\n' + PROGRAM


class Launchers(Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("cc"):
            self.skipTest("no cc")
        self.bin = self.top / "bin"
        self.bin.mkdir()
        self.static, self.marked, self.plain = (self.build(*program) for program in (
            ("static", PROGRAM, "-static"), ("marked", MARKED), ("plain", PROGRAM)))
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"

    def build(self, name, source, *options):
        path = self.bin / name
        done = subprocess.run(["cc", "-x", "c", "-", "-o", str(path), *options], input=source.encode(), stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            self.skipTest(f"no {name} program can be built here")
        return str(path)

    def script(self, path, text):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def commands(self):
        """What a user starts, and the programs that it comes to: (name, words, launchers, program)."""
        bin_ = self.bin
        agent = self.script(bin_ / "kilo", f"#!{sys.executable} -s\nimport subprocess, sys\nsys.exit(subprocess.run([{self.marked!r}] + sys.argv[1:]).returncode)\n")
        os.link(self.marked, bin_ / "opencode")
        package = self.work / "node_modules" / "some-package"
        self.script(package / "package.json", json.dumps({"name": "some-package", "version": "1.0.0", "bin": {"some-package": "cli"}}))
        os.link(self.static, package / "cli")
        (self.work / "node_modules/.bin").mkdir()
        os.symlink("../some-package/cli", self.work / "node_modules/.bin/some-package")
        self.env.update(npm_config_offline="true", npm_config_update_notifier="false")
        self.script(bin_ / "start", f'#!/bin/sh -e\nHERE=$(cd "$(dirname "$0")" && pwd)\n[ -n "$NEVER" ] && set -x\nexec "$HERE/static" "$@"\n')
        self.script(bin_ / "plain-start", f'#!/bin/bash\nif true; then {self.plain} "$@"; fi\n')
        self.script(bin_ / "wrap", '#!/bin/sh\nset -e\nexec "$@"\n')
        # pyenv's shims look so; pyenv itself is played.
        self.script(bin_ / "tool", f'#!/usr/bin/env bash\nset -e\nprogram="${{0##*/}}"\nexport PYENV_ROOT="x"\nexec "{bin_}/pyenv" exec "$program" "$@"\n')
        self.script(bin_ / "pyenv", f'#!/bin/sh\ncase $1 in which) echo {self.static} ;; exec) shift 2; exec {self.static} "$@" ;; esac\n')
        # nvm-exec is such a script: what it starts is on the PATH of a version of Node.
        version = self.work / "version"
        version.mkdir()
        os.link(self.static, version / "tool-of-node")
        self.script(bin_ / "nvm-exec", f'#!/usr/bin/env bash\nPATH="{version}:$PATH"\nexec "$@"\n')
        return (
            ("dynamic", [self.plain], [], "plain"),
            ("static", [self.static], [], "static"),
            ("marked", ["opencode"], [], "opencode"),
            ("timeout", ["timeout", "-k", "5", "30", "static"], ["timeout"], "static"),
            ("env", ["env", "-u", "HOME", "A=b", "nice", "-n", "1", "opencode"], ["env", "nice"], "opencode"),
            ("npx", ["timeout", "30", "npx", "some-package"], ["timeout", "npx"], "some-package"),
            ("script", ["start"], ["start"], "static"),
            ("script of a plain one", ["timeout", "9", "plain-start"], ["timeout", "plain-start"], "plain"),
            ("script of what it is given", ["wrap", "timeout", "9", "static"], ["wrap", "timeout"], "static"),
            ("agent's launcher", ["timeout", "30", agent], ["timeout"], "kilo"),
            ("words of a shell", ["bash", "-c", f"A=1; exec {self.static}"], ["bash"], "static"),
            ("nvm", ["timeout", "9", "nvm-exec", "tool-of-node"], ["timeout", "nvm-exec"], "tool-of-node"),
            ("shim", ["tool"], ["tool", "pyenv"], "static"),
        )

    def check(self, name, words, launchers, program, via):
        if "npx" in words and not shutil.which("npx", path=self.env["PATH"]):
            return
        document = json.loads(self.seen("doctor", "--json", *via, "--", *words).stdout)
        found = document["program"]
        self.assertEqual((found["launchers"], os.path.basename(found["name"])), (launchers, program), name)
        session = re.sub(r"\W", "-", name) + "-".join(via)
        done = self.seen("run", "--counts", "--session", session, *via, "--fail-on=unobserved", "--", *words, "--version")
        status = self.json("status", "--session", session)["processes"]
        reported = status["unobserved_programs"] + status["partial_programs"]
        for members in ("unobserved_programs", "partial_programs"):
            self.assertEqual(found["coverage"][members], status[members], (name, done.stderr))
        self.assertEqual(document["observable"], not reported, name)
        self.assertEqual(document["observable"], done.returncode != 16, (name, done.stderr))

    def test_answer_is_the_runs(self):
        for command in self.commands():
            for via in (("--via", "preload"), ()):
                with self.subTest(command[0], via=via):
                    self.check(*command, via)

    def test_not_followed(self):
        """What a script starts is not guessed, and no script is run."""
        for text in ("#!/bin/sh\ntouch was-run\n", '#!/bin/sh\ntouch was-run\nexec "$(cat program)" "$@"\n', '#!/bin/sh\ntouch was-run\nX=$(cat y)\n$X "$@"\n'):
            document = json.loads(self.seen("doctor", "--json", "--", "timeout", "5", self.script(self.work / "deploy", text)).stdout)
            self.assertEqual(document["program"]["launchers"], ["timeout"])
            self.assertEqual(document["program"]["coverage"], None)
            self.assertFalse((self.work / "was-run").exists())
        said = self.seen("doctor", "--", "npx", "no-such-package-anywhere").stdout.decode()
        if shutil.which("npx", path=self.env["PATH"]):
            self.assertIn("what npx starts is not known", said)

"""Who is the agent: a program with a profile, or named by --agent, anywhere below; and what lies in the package of one that starts it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from driver import Case

# Starts the program that it is given, and waits.
LAUNCHER = "import subprocess, sys\nsys.exit(subprocess.run(sys.argv[1:]).returncode)\n"


class AgentNamed(Case):
    def roles(self, *words, options=()):
        """(program, role) of each program that began below a run."""
        session = f"s{len(list((self.home / '.local/state/seen').glob('*'))) if (self.home / '.local/state/seen').exists() else 0}"
        self.seen("run", "--session", session, *options, "--", *words, code=0)
        done = self.seen("log", "--json", "--session", session, "--op", "start")
        return [(os.path.basename(record["path"]), record["role"]) for record in map(json.loads, done.stdout.splitlines())]

    def script(self, path, text=LAUNCHER):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable} -s\n{text}")
        path.chmod(0o755)
        return str(path)

    def agents(self, *words, options=()):
        return [name for name, role in self.roles(*words, options=options) if role == "agent"]

    def test_with_and_without_its_suffix(self):
        script = self.script(self.top / "bin/mine.py")
        for name in ("mine", "mine.py", "mi?e"):
            self.assertEqual(len(self.agents("timeout", "30", script, "true", options=("--agent", name))), 1, name)
        self.assertEqual(self.agents("timeout", "30", script, "true", options=("--agent", "min")), [])

    def test_hidden_behind_its_launcher(self):
        """`.mine` behind `mine`; `.mine-wrapped`, as Nix has it."""
        for name in (".mine", ".mine-wrapped"):
            hidden = self.script(self.top / "bin" / name)
            shutil.rmtree(self.top / "bin" / "__pycache__", ignore_errors=True)
            self.assertEqual(len(self.agents("bash", "-c", f'"{hidden}" true; exit', options=("--agent", "mine"))), 1, name)
        other = self.script(self.top / "bin/.minefield")
        self.assertEqual(self.agents("bash", "-c", f'"{other}" true; exit', options=("--agent", "mine")), [])

    def test_of_its_package(self):
        """A program of the package that its agent's launcher is of is the agent, too; one of another package is a tool."""
        if not shutil.which("cc"):
            self.skipTest("no cc")
        modules = self.top / "lib/node_modules"
        launcher = self.script(modules / "@acme/mine-cli/bin/mine.py")
        source = b"#include <stdlib.h>\nint main(void) { return system(\"true\"); }\n"
        for name, is_agent in (("@acme/mine-cli/vendor/engine", True), ("@acme/mine-cli-linux-x64/engine", True),
                               ("@acme/mine-cli/node_modules/other/engine", False), ("other/engine", False), ("@acme/mine/engine", True)):
            path = modules / name
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-x", "c", "-", "-o", str(path)], input=source, check=True)
            for launched in ([launcher], [str(self.link(launcher))]):
                for via in ("preload", "both"):
                    found = self.roles("timeout", "30", *launched, str(path), options=("--agent", "mine", "--via", via))
                    self.assertIn(("engine", "agent" if is_agent else "tool"), found, (name, via))
        alone = self.roles("timeout", "30", str(modules / "@acme/mine-cli/vendor/engine"), options=("--agent", "mine"))
        self.assertIn(("engine", "tool"), alone)

    def link(self, launcher):
        link = self.top / "link/mine"
        if not link.exists():
            link.parent.mkdir()
            link.symlink_to(launcher)
        return link

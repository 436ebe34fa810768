"""The commands of hooks, in the shells that agents run them in: they start `seen`, and end with 0 whatever becomes of it."""
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

from driver import SEEN, SOURCE
from test_hooks import AGENTS, ANSWERS, MERGED, Hooks

DATA = SOURCE / "config/data/hooks"
# codex runs a command by `$SHELL -lc`; of cursor-agent it is not known.  The others run it by sh or bash.
BY_USERS_SHELL = ("codex", "cursor-agent")
FORMS = ("set -- %s; command -v \"$1\" >/dev/null && exec \"$@\" 2>/dev/null; :", "%s 2>/dev/null || :")  # of older ones
# A program that is there, and does not start, or not well.  The second is a script of wrong syntax for a shell that takes it for one.
BROKEN = {"nothing": None, "foreign": b"\x7fELF\x02\x01\x01\0\0\nif ( fi ;;\n", "no interpreter": b"#!/nonexistent/loader\n", "refused": b"#!/bin/sh\nexit 2\n",
          "killed": b"#!/bin/sh\nkill -KILL $$\n", "no file": ""}


def commands_of(document):
    return [hook["command"] for groups in document["hooks"].values() for group in groups for hook in group.get("hooks", [group])]


class Shells(Hooks):
    def write_program(self, content):
        """Something in the program's place."""
        self.program.unlink(missing_ok=True)
        if content is None:
            self.program.touch(0o755)
        elif content:
            self.program.write_bytes(content)
            self.program.chmod(0o755)

    def commands(self, agent, *options):
        """As they are installed by a program with an unusual path."""
        directory = self.top / "a 'b' \"c\" \\d $e"
        self.program = directory / "bin/seen"
        (directory / "bin").mkdir(parents=True, exist_ok=True)
        (directory / "lib/seen").mkdir(parents=True, exist_ok=True)
        self.write_program("")
        shutil.copy(SEEN, self.program)
        subprocess.run([self.program, "hooks", "install", agent, *options], env=self.env, check=True, stdout=subprocess.DEVNULL)
        commands = commands_of(json.loads(self.path(agent).read_text()))
        self.assertGreater(len(commands), 2)
        return commands

    def run_command(self, shell, command):
        done = subprocess.run([*shell, command], env=self.env, input=b"the call", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr

    def forms(self, agents, options):
        """A command of each form: they differ by the agent, and the event."""
        return {re.sub(r"hook \w+", "hook", command): command for agent in agents for command in self.commands(agent, *options)}.values()

    def check(self, shell, agents, *options):
        commands = self.forms(agents, options)
        self.write_program(b'#!/bin/sh\necho "$@" >>"$HOME/started"; cat; echo fault >&2\n')
        for command in commands:
            (words,) = re.findall(r"answer hook \w+|forget --hook \w+", command)
            prints = b"the call" if "answer" in words else b""
            self.assertEqual(self.run_command(shell, command), (0, prints, b""), command)
            self.assertEqual((self.home / "started").read_text(), words + "\n")
            (self.home / "started").unlink()
        for name, content in BROKEN.items():
            self.write_program(content)
            for command in commands:
                code, output, fault = self.run_command(shell, command)
                self.assertEqual((code, output), (0, b""), (name, command))
                if name == "no file":
                    self.assertEqual(fault, b"", command)

    def test_sh(self):
        self.check(["sh", "-c"], MERGED)
        self.check(["sh", "-c"], MERGED, "--forget-only")

    def test_bash(self):
        self.check(["bash", "-c"], MERGED)

    @unittest.skipUnless(shutil.which("dash"), "no dash")
    def test_dash(self):
        self.check(["dash", "-lc"], MERGED)

    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_busybox(self):
        """Its shell takes what the kernel cannot start for a script: 2, for wrong syntax, is a refusal to most agents."""
        self.check(["busybox", "sh", "-lc"], MERGED)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        self.check(["zsh", "-lc"], BY_USERS_SHELL)

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        self.check(["fish", "-lc"], BY_USERS_SHELL)

    def test_plugins_shell_becomes_seen(self):
        """A plugin hides the end of what it runs: it waits for one process, not for a shell that waits for another."""
        program = self.top / "a b/seen"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho $PPID; exit 0\n")
        program.chmod(0o755)
        for name in sorted({"cline", *ANSWERS.values()}):
            (path,) = DATA.glob(name + ".*")
            if path.suffix == ".json":
                continue
            (command,) = re.findall(r'"([^"]* answer hook \w+[^"]*)"', path.read_text())
            for shell in ("sh", "bash"):
                self.assertEqual(subprocess.check_output([shell, "-c", command.replace("seen", shlex.quote(str(program)), 1)], text=True),
                                 f"{os.getpid()}\n", command)


class OlderForms(Hooks):
    def older(self, agent, form):
        """What an older one installed, beside a hook of the user's."""
        path = self.path(agent)
        self.install(agent)
        text = path.read_text()
        if agent in MERGED:
            document = json.loads(text)
            for hook in [hook for groups in document["hooks"].values() for group in groups for hook in group["hooks"]]:
                if " answer hook " in hook["command"]:
                    hook["command"] = form % f"{SEEN} answer hook {agent}"
                else:
                    hook["command"] = SEEN + " forget --hook " + re.findall(r"--hook (\w+)", hook["command"])[0] + " >/dev/null 2>&1 || :"
            document["hooks"].setdefault("PreToolUse", []).append({"hooks": [{"type": "command", "command": "mine"}]})
            path.write_text(json.dumps(document))
        else:
            command = json.dumps(form % f"{SEEN} answer hook {ANSWERS.get(agent, agent).replace('_answers', '')}")
            changed = re.sub(r'"[^"]* answer hook \w+[^"]*"', lambda _: command, text)
            self.assertNotEqual(changed, text)
            path.write_text(changed)

    def test_replaced_and_removed(self):
        for agent in sorted({*ANSWERS, "cline"}):
            for form in FORMS:
                self.install(agent)
                new = self.path(agent).read_text()
                self.remove(agent)
                self.older(agent, form)
                self.assertIn(self.state(agent)["state"], ("installed", "other"))
                self.install(agent)
                self.assertEqual(self.state(agent)["state"], "installed")
                if agent in AGENTS and agent not in MERGED:
                    self.assertEqual(self.path(agent).read_text(), new)
                else:
                    commands = commands_of(json.loads(self.path(agent).read_text()))
                    self.assertEqual(sorted(commands), sorted([*commands_of(json.loads(new)), "mine"]))
                self.path(agent).unlink()
                self.older(agent, form)
                self.remove(agent)
                if agent in MERGED:
                    self.assertEqual(commands_of(json.loads(self.path(agent).read_text())), ["mine"])
                    self.path(agent).unlink()
                self.assertFalse(self.path(agent).exists())


if __name__ == "__main__":
    unittest.main()

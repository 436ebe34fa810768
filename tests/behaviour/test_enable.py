"""enable, disable, enabled: each start of an agent is wrapped, by launchers or functions of real shells; disable leaves the bytes of before."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import unittest

from driver import SEEN, Case

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


class Enabling(Case):
    def setUp(self):
        super().setUp()
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SEEN_SESSION", "ZDOTDIR"):
            self.env.pop(name, None)
        self.bin = self.top / "bin"
        self.bin.mkdir()
        self.env.update(SHELL="/bin/bash", PATH=f"{self.bin}:{os.path.dirname(SEEN)}:{SYSTEM}")
        self.bashrc = self.home / ".bashrc"
        self.bashrc.write_text("alias ll='ls -l'\n")
        self.launchers = self.home / ".local/share/seen/launchers"
        self.program("claude", 'echo "real $*"; exit 3')

    def program(self, name, text, directory=None):
        path = (directory or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def files(self):
        """All files of the home but sessions: their bytes and modes, and what links name."""
        found = {}
        for path in self.home.rglob("*"):
            if ".local/state" in str(path) or path.is_dir() and not path.is_symlink():
                continue
            what = os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(self.home))] = (what, path.lstat().st_mode)
        return found

    def shell(self, script, *words, shell="bash", code=None, **env):
        done = subprocess.run([shell, *words, "-ic", script], cwd=self.work, env={**self.env, **env}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done)
        return done.stdout.decode()

    def runs(self):
        state = self.home / ".local/state/seen"
        return len([path for path in state.iterdir() if path.name[0] != "."]) if state.exists() else 0

    def enabled(self):
        return {row["agent"]: row for row in self.json("enabled")["agents"]}


class Launchers(Enabling):
    def test_each_start_is_wrapped(self):
        self.seen("enable", "claude", code=0)
        self.assertEqual(self.shell("claude -p 'two words'; exit $?", code=3), "real -p two words\n")
        self.assertEqual(self.runs(), 1)
        self.assertEqual(self.shell("bash -c 'claude a'"), "real a\n", "what the shell starts has its PATH")
        self.assertEqual(self.runs(), 2)

    def test_the_bytes_of_before(self):
        for text in ("", "alias x=y", "alias x=y\n", "a\r\nb\r\n", "\n\n", "# no newline at the end\n  x", None):
            with self.subTest(text):
                self.bashrc.unlink(missing_ok=True)
                if text is not None:
                    self.bashrc.write_bytes(text.encode())
                    self.bashrc.chmod(0o640)
                (self.home / ".claude").mkdir(exist_ok=True)
                (self.home / ".claude/settings.json").write_text('{ "model": "x" }\n')
                before = self.files()
                for options in ((), ("--functions",)):
                    self.seen("enable", *options, "claude", code=0)
                    self.assertNotEqual(self.files(), before)
                    self.assertIn("real", self.shell("claude x"))
                    self.seen("enable", "claude", code=0)  # again
                    self.seen("disable", "claude", code=0)
                    self.assertEqual(self.files(), before)

    def test_lines_that_come_behind_later(self):
        """A file without a newline at its end, to which `echo >>` adds a line: that one counts, and ours goes."""
        self.bashrc.write_text("alias x=y")
        self.seen("enable", "claude", code=0)
        with self.bashrc.open("a") as file:
            file.write("export LATER=1\n")
        self.assertEqual(self.shell("echo $LATER"), "1\n")
        self.seen("disable", "claude", code=0)
        self.assertEqual(self.bashrc.read_text(), "alias x=y\nexport LATER=1\n")

    def test_a_file_for_fish_of_the_user_s_own(self):
        own = self.home / ".config/fish/conf.d/seen.fish"
        own.parent.mkdir(parents=True)
        own.write_text("set mine 1\n")
        before = self.files()
        self.seen("disable", "--all", code=0)
        self.assertEqual(self.files(), before)
        self.assertIn("was not made by", self.seen("enable", "claude").stderr.decode())
        self.assertEqual(own.read_text(), "set mine 1\n")
        self.seen("disable", "claude", code=0)
        self.assertEqual(self.files(), before)

    def test_what_was_there_stays(self):
        """Hooks that the user installed, and a link that an editor of dotfiles made of the shell's file."""
        self.seen("hooks", "install", "claude", code=0)
        real = self.home / "dotfiles/bashrc"
        real.parent.mkdir()
        self.bashrc.rename(real)
        self.bashrc.symlink_to(real)
        before = self.files()
        self.seen("enable", "claude", code=0)
        self.assertTrue(self.bashrc.is_symlink())
        self.assertIn("real", self.shell("claude"))
        self.seen("disable", "--all", code=0)
        self.assertEqual(self.files(), before)

    def test_dry_run_and_show_change_nothing(self):
        before = self.files()
        for option in ("--dry-run", "--show"):
            text = self.seen("enable", option, "claude", code=0).stdout.decode()
            for part in (str(self.launchers / "claude"), str(self.bashrc), ".claude/settings.json"):
                self.assertIn(part, text)
            self.assertEqual(self.files(), before)
        self.assertIn("launchers':$PATH", text)
        self.assertIn("seen answer hook", text)
        self.seen("enable", "claude", code=0)
        after = self.files()
        self.seen("disable", "--dry-run", "claude", code=0)
        self.assertEqual(self.files(), after)

    def test_found_again_after_an_update(self):
        """The agent's own update puts it elsewhere, and writes its old place anew."""
        self.seen("enable", "claude", code=0)
        self.bin.joinpath("claude").unlink()
        self.program("claude", "echo new", self.top / "elsewhere")
        self.assertEqual(self.shell("claude", PATH=f"{self.top}/elsewhere:{self.env['PATH']}"), "new\n")
        self.program("claude", "echo newest")
        self.assertEqual(self.shell("claude"), "newest\n")
        self.assertEqual(self.runs(), 2)

    def test_within_a_run_it_starts_as_it_is(self):
        self.program("claude", '[ "$1" = one ] && claude two; echo "real $*"')
        self.seen("enable", "claude", code=0)
        self.assertEqual(self.shell("claude one"), "real two\nreal one\n")
        self.assertEqual(self.runs(), 1)
        self.assertEqual(self.shell("seen run -- claude one"), "real two\nreal one\n", "said outright, it is one run, too")
        self.assertEqual(self.runs(), 2)

    def test_seen_is_gone(self):
        """The link leads nowhere then, and the shell passes over it."""
        copy = self.top / "copy"
        shutil.copytree(pathlib.Path(SEEN).resolve().parent.parent / "bin", copy / "bin")
        subprocess.run([copy / "bin/seen", "enable", "--no-hooks", "claude"], env=self.env, cwd=self.work, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(os.readlink(self.launchers / "claude"), str(copy / "bin/seen"))
        shutil.rmtree(copy)
        self.assertEqual(self.shell("claude x"), "real x\n")
        self.assertFalse(self.enabled()["claude"]["wrapped"])

    def test_seen_is_gone_from_functions(self):
        """So do the functions, and those of shells that go on after disable."""
        (self.home / ".config/fish/conf.d").mkdir(parents=True)
        (self.home / ".zshrc").write_text("")
        self.seen("enable", "--functions", "claude", code=0)
        (self.launchers / "claude").unlink()
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                self.assertEqual(self.shell("claude 'two  words'", shell=shell), "real two  words\n", shell)
        self.assertEqual(self.runs(), 0)

    def test_a_slash_behind_its_directory(self):
        self.seen("enable", "claude", code=0)
        done = subprocess.run(["bash", "-c", "claude x"], env={**self.env, "PATH": f"{self.launchers}//:{self.env['PATH']}"}, cwd=self.work,
                              stdout=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, b"real x\n"))
        self.assertEqual(self.runs(), 1)

    def test_no_circle(self):
        """A manager's shim that searches PATH itself: it finds the launcher, which finds the shim."""
        shims = self.top / "shims"
        self.program("claude", 'IFS=:; for d in $PATH; do [ "$d" = "%s" ] || [ ! -x "$d/claude" ] || exec "$d/claude" "$@"; done; exit 9' % shims, shims)
        self.env["PATH"] = f"{shims}:{self.env['PATH']}"
        self.seen("enable", "claude", code=0)
        self.assertEqual(self.shell("claude x"), "real x\n")
        self.assertEqual(self.runs(), 1)
        self.bin.joinpath("claude").unlink()  # now there is but the shim
        done = subprocess.run(["bash", "-ic", "claude x"], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True, timeout=30, check=False)
        self.assertNotEqual(done.returncode, 0)

    def test_managers_of_versions(self):
        """What asdf, pyenv and mise (a script that executes a path), nvm, npm and brew (a link in a directory of PATH) have."""
        real = self.program("claude", 'echo "real $0 $*"', self.top / "installs/claude/2.1/bin")
        shims = self.top / "shims"
        self.bin.joinpath("claude").unlink()
        for make in (lambda: self.program("claude", f'exec "{real}" "$@"', shims), lambda: (shims / "claude").symlink_to(real)):
            shims.mkdir(exist_ok=True)
            (shims / "claude").unlink(missing_ok=True)
            make()
            self.env["PATH"] = f"{shims}:{os.path.dirname(SEEN)}:{SYSTEM}"
            self.seen("enable", "claude", code=0)
            before = self.runs()
            self.assertRegex(self.shell("claude a b"), r"real \S+/claude a b\n")
            self.assertEqual(self.runs(), before + 1)
            self.seen("disable", "claude", code=0)

    def test_one_that_comes_first_later(self):
        """`nvm use` and `mise activate` put their directory before the launcher: it is reported, and functions come before both."""
        self.seen("enable", "claude", code=0)
        first = f"PATH={self.bin}:$PATH; "
        self.assertIn("NOT wrapped", self.shell(first + "seen enabled"))
        self.assertEqual(self.shell(first + "claude x"), "real x\n")
        self.assertEqual(self.runs(), 0)
        self.seen("enable", "--functions", "claude", code=0)
        self.assertEqual(self.shell(first + "claude 'x  y'"), "real x  y\n")
        self.assertEqual(self.runs(), 1)

    def test_aliases_and_functions(self):
        """An alias that adds options to the name keeps them; one of another name goes, since the function is to be reached."""
        self.program("other", "echo other")
        for shell in ("bash", "zsh"):
            if not shutil.which(shell):
                continue
            rc = self.home / f".{shell}rc"
            for alias, options in (("claude --model \\'a  b\\'", "--model a  b "), ("other", ""), ("claude", "")):
                rc.write_text(f"alias claude=$'{alias}'\n")
                self.seen("enable", "--functions", "--no-hooks", "claude", code=0)
                before = self.runs()
                self.assertEqual(self.shell("claude x", shell=shell), f"real {options}x\n", (shell, alias))
                self.assertEqual(self.runs(), before + 1)
                self.assertEqual(self.shell("echo ${seen_alias-unset}", shell=shell), "unset\n")
                self.seen("disable", "claude", code=0)
            rc.unlink()

    def test_aliases_of_paths(self):
        """What Claude's local installer makes: its program is not on PATH, and starts by its alias alone."""
        for place in (".claude/local", "two words"):
            self.program("claude", 'echo "local $*"', self.home / place)
        for shell in ("bash", "zsh"):
            if not shutil.which(shell):
                continue
            rc = self.home / f".{shell}rc"
            for alias in ('"$HOME/.claude/local/claude"', "'~/.claude/local/claude'", "'~/.claude/local/claude -m'", "'$HOME/.claude/local/claude -m'",
                          "'\"$HOME/two words/claude\" -m'", f"\"'{self.home}/two words/claude' -m\""):
                rc.write_text(f"alias claude={alias}\n")
                self.program("claude", "exit 9")  # an earlier install, say
                self.seen("enable", "--functions", "--no-hooks", "claude", code=0)
                self.bin.joinpath("claude").unlink()
                self.assertEqual(self.shell("claude x", shell=shell), f"local {'-m ' if '-m' in alias else ''}x\n", (shell, alias))
                self.seen("disable", "claude", code=0)
            rc.unlink()

    def test_npx(self):
        self.program("npx", 'echo "npx $*"')
        self.seen("enable", "npx", code=0)
        for words, count in (("tsc --init", 0), ("-y @openai/codex@0.1 exec", 1), ("@anthropic-ai/claude-code", 2), ("--version", 2),
                             ("-p @openai/codex --prefix /x codex exec", 3), ("--package=x tsc", 3), ("-p", 3)):
            self.assertEqual(self.shell(f"npx {words}"), f"npx {words}\n")
            self.assertEqual(self.runs(), count, words)

    def test_project(self):
        inside, elsewhere = self.work / "inside", self.top / "elsewhere"
        for path in (inside / "deep", elsewhere):
            path.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=inside, check=True)
        self.seen("enable", "--project", "claude", cwd=inside, code=0)
        self.assertTrue((inside / ".claude/settings.json").exists())
        self.assertIn(f"claude: installed in {inside}/.claude/settings.json", self.seen("doctor", cwd=inside / "deep").stdout.decode())
        self.assertIn(f"claude: not installed in {self.home}/.claude/settings.json", self.seen("doctor", cwd=elsewhere).stdout.decode())
        for place, count in ((elsewhere, 0), (inside, 1), (inside / "deep", 2), (self.work, 2)):
            self.assertEqual(self.shell(f"cd {place}; claude x"), "real x\n")
            self.assertEqual(self.runs(), count, place)
        self.assertIn(f"{inside}/.claude/settings.json: hooks removed", self.seen("disable", "claude", cwd=elsewhere, code=0).stdout.decode())
        self.assertFalse((inside / ".claude/settings.json").exists())
        self.assertEqual([name for name in self.files() if name != ".bashrc" and "seen.ini" not in name], [])

    def test_what_an_agent_does_with_its_hooks(self):
        """As `seen hooks install` does, it says that the agent waits for a package."""
        self.program("opencode", "echo opencode")
        self.assertIn(b"waits some 70 s at each start", self.seen("enable", "opencode", code=0).stderr)

    def test_a_shell_that_reads_none_of_the_files(self):
        said = self.seen("enable", "claude", code=0, env={"SHELL": "/usr/bin/tcsh"}).stderr.decode()
        self.assertIn(f"tcsh reads none of the files of bash, zsh and fish: have it put {self.launchers} first on PATH", said)
        self.assertEqual(self.seen("disable", "claude", code=0, env={"SHELL": "/usr/bin/tcsh"}).stderr, b"")

    @unittest.skipIf(os.geteuid() == 0, "root writes everywhere")
    def test_nothing_can_be_written(self):
        """Nothing is reported as wrapped."""
        home = self.top / "fixed"
        home.mkdir(mode=0o555)
        done = self.seen("enable", "claude", code=8, env={"HOME": str(home)})
        self.assertEqual((done.stdout, done.stderr.decode()), (b"", f"seen: {home}/.local/share/seen/launchers/claude: Permission denied\n"))

    def test_a_file_of_a_shell_that_cannot_be_written(self):
        self.bashrc.unlink()
        self.bashrc.mkdir()
        said = self.seen("enable", "claude", code=8).stderr.decode()
        self.assertIn(f"a shell whose file was not written reads it by this line: . '{self.home}/.local/share/seen/enabled.sh'", said)

    def test_all(self):
        self.program("codex", "echo codex")
        self.seen("enable", "--all", "--no-hooks", code=0)
        self.assertEqual(set(self.enabled()), {"claude", "codex"})
        self.assertTrue((self.launchers / "codex").is_symlink())
        self.seen("disable", "--all", code=0)
        self.assertFalse(self.launchers.exists())

    def test_words_that_are_wrong(self):
        self.seen("enable", code=2)
        self.seen("enable", "--all", "claude", code=2)
        self.seen("enable", "../x", code=2)
        self.seen("enable", "seen", code=2)
        self.assertIn(b"no program of that name", self.seen("enable", "missing", code=1).stderr)
        self.assertIn(b"is not wrapped", self.seen("disable", "claude", code=1).stderr)
        self.assertIn(b"no agent is wrapped", self.seen("enabled", code=1).stderr)
        self.assertEqual(self.files().keys() - {".config/seen/seen.ini"}, {".bashrc"})

    def test_doctor(self):
        self.assertNotIn(b"always on", self.seen("doctor").stdout)
        self.seen("enable", "claude", code=0)
        self.assertIn("claude: not wrapped: the launcher does not come first on PATH", self.seen("doctor").stdout.decode())
        self.assertRegex(self.shell("seen doctor"), r"always on: claude: wrapped, starts " + str(self.bin / "claude"))
        self.assertRegex(self.shell("seen doctor -- claude"), str(self.bin / "claude"))


class WrongSettings(Enabling):
    """An agent that is always wrapped does not stop for a word in a file."""

    def setUp(self):
        super().setUp()
        self.seen("enable", "--no-hooks", "claude", code=0)
        self.own = self.home / ".config/seen/seen.ini"
        self.workspaces = self.work / ".seen.ini"

    def start(self, shell_code=3, **env):
        done = subprocess.run(["bash", "-ic", "claude x; exit $?"], cwd=self.work, env={**self.env, **env}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, check=False)
        said = "".join(line + "\n" for line in done.stderr.decode().splitlines() if line.startswith("seen: "))
        self.assertEqual((done.returncode, done.stdout), (shell_code, b"real x\n" if shell_code == 3 else b""), said)
        return said

    def test_of_the_workspace(self):
        """Its file is left out: what it may say binds no run. The agent is wrapped."""
        for text in ("[nosuch]\nx = 1\n", "[session]\nmode = off\nmode = x\n", "[rule x]\naction = deny\n", "no section\n"):
            self.workspaces.write_text(text)
            before = self.runs()
            self.assertRegex(self.start(), r"\Aseen: \S+/\.seen\.ini:?.*; the workspace's \.seen\.ini is left out\n\Z")
            self.assertEqual(self.runs(), before + 1, text)
        self.assertIn(b"125", b"%d" % self.seen("run", "--", "claude").returncode, "said outright, it is refused as before")

    def test_said_at_the_end_too(self):
        """The agent's own screen wipes the first line away."""
        self.workspaces.write_text("[nosuch]\nx = 1\n")
        done = self.seen("run", "--fail-open", "--summary", "--", "claude", code=3)
        self.assertEqual(done.stderr.count(b"is left out"), 2)

    def test_of_the_user(self):
        """It is started without seen, with a line: what was to hold is not known, but nothing was to be refused."""
        self.own.write_text("[session]\nkeep_days = soon\n; [rules] in a comment\n")
        before = self.runs()
        self.assertRegex(self.start(), r"\Aseen: \S+/seen\.ini:2: .*; \S+/claude is started without seen: nothing is observed, kept or guarded\n\Z")
        self.own.write_text("")
        self.assertRegex(self.start(SEEN_SESSION_KEEP_DAYS="soon"), r"is started without seen")
        self.assertEqual(self.runs(), before)
        self.workspaces.write_text("[nosuch]\n")
        self.assertRegex(self.start(SEEN_SESSION_KEEP_DAYS="soon"), r"is started without seen", "both are wrong")

    def test_of_a_user_who_asks_for_something_to_be_refused(self):
        for text in ("[rules]\nuse = secrets:denny\n", "[session]\nkeep_days = soon\n  [ rule mine]\nop = read\n", "[confine]\nset = nosuch\n",
                     "\ufeff[rule x]\nop = nosuch\n"):
            self.own.write_text(text)
            said = self.start(125)
            self.assertIn("your settings name rules or a confinement, which would not hold", said, text)
            self.assertEqual(self.runs(), 0)
        self.own.write_text("[session]\nkeep_days = soon\n")
        for name in ("SEEN_RULES_USE", "SEEN_CONFINE_SET"):
            self.assertIn("would not hold", self.start(125, **{name: "secrets" if name == "SEEN_CONFINE_SET" else "secrets:deny"}))
        self.own.write_text("")
        self.assertEqual(self.start(), "")


class Shells(Enabling):
    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        self.env["SHELL"] = "/usr/bin/zsh"
        before = self.files()
        for options in ((), ("--functions",)):
            self.seen("enable", *options, "claude", code=0)
            self.assertEqual(self.shell("claude x", shell="zsh"), "real x\n")
            self.seen("disable", "claude", code=0)
            self.assertEqual(self.files(), before)
        self.assertEqual(self.runs(), 2)

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        self.env["SHELL"] = "/usr/bin/fish"
        before = {name: what for name, what in self.files().items() if "fish" not in name}
        for options in ((), ("--functions",)):
            self.seen("enable", *options, "claude", code=0)
            self.assertEqual(self.shell("claude x", shell="fish"), "real x\n")
            self.seen("disable", "claude", code=0)
            self.assertEqual({name: what for name, what in self.files().items() if "fish" not in name}, before)
            self.assertFalse((self.home / ".config/fish/conf.d/seen.fish").exists())
        self.assertEqual(self.runs(), 2)


if __name__ == "__main__":
    unittest.main()

"""Completions of bash, zsh and fish, asked in those shells; and the manual pages of single commands.

Both are made from the tables of options of the program (packaging/completions.py, manual.py).
"""
import json
import re
import shutil
import subprocess
import unittest

from driver import BUILD, SEEN, SOURCE, Case, Terminal

SHARE = BUILD / "share"
COMMANDS = re.findall(r'COMMAND\((\w+), ".*?", 0\)', (SOURCE / "cli/command.h").read_text())

BASH = r"""
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
compopt() { :; }
_seen
printf '%s\n' "${COMPREPLY[@]}"
"""
# A shell at a terminal of its own, in which each line is typed and Tab pressed.  What is offered goes to a file, a line each, behind the
# line that was typed; at last the line as it is then: of commands on PATH compadd reports none.
ZSH = r"""
zmodload zsh/zpty
directory=$1 place=$2
shift 2
zpty shell zsh -f -i
zpty -w shell "PS1=; LISTMAX=10000; fpath=(${directory} \$fpath); autoload -Uz compinit; compinit -u -d $place/dump"
zpty -w shell "compadd() { local -a found; builtin compadd -O found \"\$@\"; print -l -- \$found >>$place/found; builtin compadd \"\$@\" }"
zpty -w shell "line() { print -r -- \"= \$BUFFER\" >>$place/found }; zle -N line; bindkey '^X^L' line"
zpty -w shell "print >$place/ready"
while [[ ! -e $place/ready ]]; do sleep 0.05; done
for line; do
	print -r -- "== $line" >$place/found
	zpty -wn shell "$line"$'\t'
	size=0
	for i in {1..30}; do # until something was offered, and nothing more came
		sleep 0.1
		before=$size size=$(wc -c <$place/found)
		((size > ${#line} + 4 && size == before)) && break
	done
	zpty -wn shell $'\x18\x0c'
	repeat 50; do grep -q '^= ' $place/found && break; sleep 0.1; done
	cat $place/found
	zpty -wn shell $'\x15'
	zpty -rt shell drained
done
zpty -d shell
"""


class Completions(Case):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{BUILD}/bin:{self.env['PATH']}"
        self.seen("run", "--session", "work-one", "--", "true", code=0)
        (self.work / "a file.txt").touch()
        (self.work / "directory").mkdir()

    def shell(self, *words):
        done = subprocess.run(words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return {line for line in done.stdout.splitlines() if line}

    def ask(self, complete):
        """complete(lines): what a shell offers for the last word of each: a dictionary."""
        table = json.loads(self.seen("help", "--json", code=0).stdout)
        common = {option["name"] for option in table["options"] if option["name"].startswith("--")}
        wanted = {"seen ": {*COMMANDS, "help"}, "seen und": {"undo"}, "seen run --via ": {"auto", "preload", "supervise", "both"},
                  "seen status --session wor": {"work-one"}, "seen blame a": {"a file.txt"}, "seen hooks ins": {"install"},
                  "seen run sha256s": {"sha256sum"}, "seen run --via both -- sha256s": {"sha256sum"}}
        for command in ("undo", "log", "run"):
            options = next(one["options"] for one in table["commands"] if one["name"] == command)
            wanted[f"seen {command} --"] = {option["name"] for option in options if option["name"].startswith("--")} | common
        found = complete(list(wanted))
        for line, words in wanted.items():
            self.assertEqual({word.replace("\\", "").rstrip("=") for word in found[line]}, words, line)

    def test_bash(self):
        script = SHARE / "bash-completion/completions/seen"
        self.ask(lambda lines: {line: self.shell("bash", "--norc", "-c", BASH, "bash", str(script), *line.split(" ")) for line in lines})
        # bash cuts --via=bo in three words
        self.assertEqual(self.shell("bash", "--norc", "-c", BASH, "bash", str(script), "seen", "run", "--via", "=", "bo"), {"both"})

    def test_bash_by_its_key(self):
        """What is completed when Tab is pressed, for the name of the program and for its path."""
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.work, {**self.env, "PS1": "ready> ", "TERM": "dumb"})
        terminal.read(b"ready> ")
        terminal.write(f"source {SHARE}/bash-completion/completions/seen\n".encode())
        for line in ("seen stat\t --ses\twor\t", f"{SEEN} stat\t --session wor\t"):
            terminal.write(f"{line}; echo do''ne\n".encode())
            terminal.read(b"done\r\n")
            self.assertIn(b"\nsession      work-one\r\n", terminal.output)
            terminal.output = b""
        terminal.write(b"exit\n")
        self.assertEqual(terminal.wait(), 0)

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_bash_is_clean(self):
        script = SHARE / "bash-completion/completions/seen"
        done = subprocess.run(["shellcheck", "-s", "bash", str(script)], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        def complete(lines):
            done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", str(SHARE / "zsh/site-functions"), str(self.top / "tmp"), *lines], cwd=self.work,
                                  env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120, text=True, check=True)
            found = {}
            for part in done.stdout.split("== ")[1:]:
                line, *words = part.split("\n")
                found[line] = {word for word in words if word and word[:2] != "= "} or {word.split()[-1] for word in words if word[:2] == "= "}
            return found

        self.ask(complete)

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        script = SHARE / "fish/vendor_completions.d/seen.fish"
        self.ask(lambda lines: {line: {word.split("\t")[0] for word in self.shell("fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"',
                                                                                 str(script), line)} for line in lines})


class Pages(Case):
    def test_each_command_has_one(self):
        self.assertEqual({path.name for path in (SHARE / "man/man1").iterdir()}, {"seen.1", *(f"seen-{command}.1" for command in COMMANDS)})
        for command in COMMANDS:
            page = (SHARE / f"man/man1/seen-{command}.1").read_text()
            table = json.loads(self.seen("help", "--json", code=0).stdout)
            options = next(one["options"] for one in table["commands"] if one["name"] == command)
            text = subprocess.run(["man", "-l", "-"] if not shutil.which("mandoc") else ["mandoc", "-T", "utf8"], input=page, stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
            text = re.sub(r".\x08", "", text)
            self.assertIn(f"seen-{command} ", text)
            for option in options:
                self.assertRegex(text, rf"(?m)^ +.*{option['name']}\b")

    def test_typeset_without_warnings(self):
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        pages = [str(path) for path in (SHARE / "man/man1").iterdir()]
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()

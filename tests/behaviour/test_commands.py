"""The program by hand: help, versions, misspelt words, exit codes of wrong usage."""
import json
import re
import subprocess
import unittest

from driver import SEEN, SOURCE, Case

COMMANDS = re.findall(r'COMMAND\((\w+), ".*?", 0\)', (SOURCE / "cli/command.h").read_text())


class Commands(Case):
    def test_bare(self):
        done = self.seen(code=2)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"usage: seen", done.stderr)

    def test_help_lists_every_command(self):
        for words in (("help",), ("--help",), ("-h",)):
            text = self.seen(*words, code=0).stdout.decode()
            for command in COMMANDS:
                self.assertRegex(text, rf"(?m)  {command} +\w")
            self.assertNotRegex(text, r"(?m)  session ")
            self.assertLessEqual(len(text.splitlines()), 24, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        narrow = self.seen("help", code=0, env={"COLUMNS": "60"}).stdout.decode()
        self.assertLessEqual(max(map(len, narrow.splitlines())), 60, narrow)
        for command in COMMANDS:
            self.assertRegex(narrow, rf"(?m)^  {command} +\w")

    def test_help_of_each_command(self):
        for command in COMMANDS:
            for words in (("help", command), (command, "--help"), (command, "-h")):
                self.assertIn(f"usage: seen {command}".encode(), self.seen(*words, code=0).stdout)

    def test_help_fits_a_terminal(self):
        """Each command's help: 24 lines of 80 columns; and never wider than COLUMNS."""
        commands = re.findall(r"COMMAND\((\w+), \"", (SOURCE / "cli/command.h").read_text())
        self.assertGreater(len(commands), len(COMMANDS))
        for columns in (None, 80, 100, 57, 40):
            env = {"COLUMNS": str(columns)} if columns else {}
            for topic in (*commands, "exit", "options", "help"):
                text = self.seen("help", topic, code=0, env=env).stdout.decode()
                lines = text.splitlines()
                if topic not in ("exit", "help"):  # tables of one line each
                    too_wide = [line for line in lines[1:] if len(line) > (columns or 80) and len(line.split()) > 1]
                    self.assertEqual(too_wide, [], (topic, columns))
                if topic in commands and columns in (None, 80):
                    self.assertLessEqual(len(lines), 24, f"seen help {topic}")
                    self.assertLessEqual(max(map(len, lines)), 80, f"seen help {topic}")

    def test_options_of_configuration_are_listed_once(self):
        text = self.seen("help", "options", code=0).stdout.decode()
        flags = re.findall(r"; set by \w+ or --([a-z-]+);", self.seen("config", "--docs", code=0).stdout.decode())
        self.assertGreater(len(flags), 15)
        for flag in flags:
            self.assertEqual(len(re.findall(rf"(?m)^  --{flag} ", text)), 1, flag)
        self.assertNotIn("--inject", self.seen("help", "log", code=0).stdout.decode())

    def test_help_exit_is_the_table(self):
        table = re.findall(r'EXIT\(\w+, (\d+), "(.*?)"\)', (SOURCE / "cli/base/exit_code.h").read_text())
        self.assertGreater(len(table), 8)
        lines = [line.split(None, 1) for line in self.seen("help", "exit", code=0).stdout.decode().splitlines()]
        self.assertEqual([tuple(line) for line in lines[:-1]], table)
        self.assertEqual(lines[-1][0], "128+N")

    def test_version(self):
        for word in ("--version", "-V", "version"):
            self.assertRegex(self.seen(word, code=0).stdout.decode(), 
                             r"\Aseen \d+\.\d+\.\d+ \((no tag, |\d+ commits? later, )?commit ([0-9a-f]{12}(-modified)?|not known)\)\n\Z")

    def test_help_for_programs(self):
        """`seen help --json` has what `seen help` prints, of each command and of all."""
        document = json.loads(self.seen("help", "--json", code=0).stdout)
        self.validate_by("help.schema.json", [document])
        self.assertEqual([command["name"] for command in document["commands"]], COMMANDS)
        for command in document["commands"]:
            text = self.seen("help", command["name"], code=0).stdout.decode()
            self.assertEqual(text.split("\n")[0], "usage: seen " + command["usage"])
            self.assertEqual(" ".join(text.split("\n\n")[1].split()), " ".join(command["text"].split()))
            named = re.findall(r"(?<![\w`-])--?[a-z][a-z-]*(?= |\n|,)", text.split("\n\n")[2])
            for option in command["options"]:
                self.assertIn(option["name"], named)
        flags = re.findall(r"(?m)^  (--?[a-z-]+)", self.seen("help", "options", code=0).stdout.decode())
        self.assertEqual([option["name"] for option in document["options"]], ["--help", *flags])


    def test_misspelt_command(self):
        for wrong, right in (("statsu", "status"), ("file", "files"), ("forgt", "forget"), ("doctr", "doctor"),
                             ("rnu", "run")):
            done = self.seen(wrong, code=2)
            self.assertIn(f"did you mean '{right}'".encode(), done.stderr)
        self.assertIn(b"seen help", self.seen("xyzzyxyzzy", code=2).stderr)
        self.assertIn(b"did you mean", self.seen("help", "statsu", code=2).stderr)

    def test_option_before_the_command(self):
        done = self.seen("--config", "x.ini", "run", "--", "true", code=2)
        self.assertEqual(done.stderr, b"seen: --config comes after the command: `seen COMMAND --config ...`\n")

    def test_misspelt_option(self):
        for command, wrong, right in (("status", "--jsno", "--json"), ("files", "--sesion=x", "--session"),
                                      ("forget", "--al", "--all"), ("doctor", "--josn", "--json")):
            done = self.seen(command, wrong, code=2)
            self.assertIn(f"did you mean '{right}'".encode(), done.stderr)
        # 2 may be the command's own status
        self.assertIn(b"did you mean '--summary'", self.seen("run", "--sumary", "--", "true", code=125).stderr)

    def test_wrong_arguments(self):
        self.seen("status", "word", code=2)
        self.seen("status", "--session", code=2)
        self.seen("status", "--json=yes", code=2)
        self.seen("forget", code=2)
        self.seen("forget", "--all", "file", code=2)
        self.seen("run", code=125)
        self.seen("run", "--session", "../x", "--", "true", code=125)
        self.seen("status", "--mode", "sometimes", code=125)
        self.seen("status", "--config", "/nonexistent.ini", code=125)

    def test_control_characters_in_messages(self):
        done = self.seen("stat\x1b[31mus", code=2)
        self.assert_plain(done.stderr)

    def test_output_that_cannot_be_written(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        for words in (("help",), ("--version",), ("status",), ("status", "--json"), ("files", "--json"), ("help", "exit"),
                      ("doctor",)):
            with open("/dev/full", "wb") as full:
                self.assertEqual(self.seen(*words, stdout=full).returncode, 6, words)

    def test_closed_output_does_not_kill_silently(self):
        done = subprocess.run(f"{SEEN} help | true; exit ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                              cwd=self.work, env=self.env, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 6, 141))


if __name__ == "__main__":
    unittest.main()

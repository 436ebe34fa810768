"""docs/seen.1 says what the program does."""
import re
import shutil
import subprocess
import unittest

from driver import SOURCE, Case

PAGE = SOURCE / "docs" / "seen.1"
VARIABLES = ["SEEN_SESSION", "SEEN_SESSION_MODE", "SEEN_P", "SEEN_SCOPE", "SEEN_AGENT_IS", "NO_COLOR"]


class Manual(Case):
    def test_exit_codes(self):
        section = PAGE.read_text().split(".Sh EXIT STATUS")[1].split(".Sh ")[0]
        items = {}
        for item in re.split(r"(?m)^\.It ", section)[1:]:
            number, *lines = item.splitlines()
            text = " ".join(re.sub(r"^\.Cm (\w+) :$", r"`\1`:", line) for line in lines if not line.startswith(".El"))
            items[number] = text
        table = re.findall(r'EXIT\(\w+, (\d+), "(.*?)"\)', (SOURCE / "cli/base/exit_code.h").read_text())
        self.assertEqual({number: text for number, text in items.items() if number != "128+N"}, dict(table))

    def test_commands_and_options(self):
        text = PAGE.read_text().replace("Fl -", "Fl --").replace("Fl c", "Fl -c")
        commands = re.findall(r"COMMAND\((\w+), \".*?\", 0\)", (SOURCE / "cli/command.h").read_text())
        self.assertGreater(len(commands), 5)
        configuration = self.seen("help", "options", code=0).stdout.decode()
        self.assertIn("--config", configuration)
        for command in commands:
            self.assertTrue(f".It Cm {command}\n" in text, f"docs/seen.1 does not describe `seen {command}`")
            printed = self.seen(command, "--help", code=0).stdout.decode() + configuration
            for option in re.findall(r"--[a-z][a-z-]*", printed):
                if option != "--config" or command != "config":
                    self.assertTrue(f"Fl {option}" in text, f"docs/seen.1 does not describe {option} (of seen {command}, or of every command)")
        for variable in VARIABLES:
            self.assertIn(variable, text)

    def test_typesets_without_warnings(self):
        if shutil.which("mandoc"):
            words = ["mandoc", "-T", "lint", "-W", "warning", str(PAGE)]
        elif shutil.which("groff"):
            words = ["groff", "-mdoc", "-ww", "-z", str(PAGE)]
        else:
            self.skipTest("neither mandoc nor groff")
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""))


if __name__ == "__main__":
    unittest.main()

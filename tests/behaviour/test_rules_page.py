"""docs/rules.md says what the ready-made rules and the exit codes are."""
import configparser
import re
import unittest

from driver import SOURCE, Case

PAGE = (SOURCE / "docs" / "rules.md").read_text()


class Page(Case):
    def test_sets(self):
        documented = {rule: ops.strip() for rule, ops in re.findall(r"(?m)^\| `([a-z-]+)` \| ([a-z ]+) \| ", PAGE)}
        shipped = {}
        for path in sorted((SOURCE / "config/data/rules").glob("*.ini")):
            self.assertIn(f"| **`{path.stem}`** |", PAGE)
            sections = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=(";",))
            sections.read_string(path.read_text())
            for section in sections.sections():
                shipped[section.split()[1]] = sections[section]["op"]
                self.assertEqual(sections[section]["action"], "warn", section)
                self.assertTrue(section.split()[1].startswith(path.stem), section)
        self.assertEqual({rule: ops for rule, ops in documented.items() if rule in shipped}, shipped)

    def test_exit_codes(self):
        table = {text: number for number, text in re.findall(r'EXIT\(\w+, (1[456]), "`run`: .*?(?:--fail-on=)(\w+)\)"\)',
                                                             (SOURCE / "cli/base/exit_code.h").read_text())}
        self.assertEqual(dict(re.findall(r"(?m)^\| `(rule|stale|unobserved)` \| (\d+) \|", PAGE)), table)

    def test_words(self):
        header = (SOURCE / "config/settings.h").read_text()
        ops = re.findall(r"X\([A-Z]+, ([a-z]+)\)", header.split("#define SETTINGS_RULE_OPS(X)")[1].split("/*")[0])
        self.assertEqual(re.findall(r"(?m)^\| `([a-z]+)` \| (?:is |gets |all of)", PAGE), [*ops, "any"])


if __name__ == "__main__":
    unittest.main()

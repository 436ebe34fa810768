"""docs/CONTRIBUTING.md, "To add ...": each place that a recipe names is asked for here, or by the compiler, or by the test that the recipe names.

A failure says the place.
"""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["SEEN_SOURCE"])


def text(name):
    return (SOURCE / name).read_text()


def names(pattern, name):
    found = re.findall(pattern, text(name), re.M)
    assert found, f"{name}: nothing is like {pattern}"
    return found


def files(directory, pattern):
    """{path: content}"""
    return {str(path.relative_to(SOURCE)): path.read_text() for path in (SOURCE / directory).rglob(pattern)}


class Recipes(unittest.TestCase):
    def place(self, found, place, what):
        self.assertTrue(found, f"{place}: nothing there of {what}")

    def test_option(self):
        """The words of a choice and the constants of its enum stand in the same order: one is the number of the other."""
        settings = text("config/settings.h").replace("\\\n", " ")
        for section, name in names(r"^CHOICE\((\w+), (\w+),", "config/options.def"):
            words = re.search(rf"SETTINGS_CHOICES_{section}_{name}\(X\)(.*)", settings)
            self.place(words, "config/settings.h: SETTINGS_CHOICES", f"[{section}] {name}")
            enum = re.search(rf"^enum {section}_{name} \{{(.*?)\}}", settings, re.S | re.M)
            self.place(enum, "config/settings.h: enum", f"[{section}] {name}")
            constants = [f"{section}_{name}_{constant}".upper() for constant in re.findall(r"X\((\w+),", words[1])]
            self.assertEqual(re.findall(r"\w+", enum[1]), constants, f"config/settings.h: enum {section}_{name} and its words")

    def test_command(self):
        synopsis = text("docs/seen.1").split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
        tests = files("tests/behaviour", "test_*.py")
        for name in names(r'COMMAND\((\w+), ".*?", 0\)', "cli/command.h"):
            self.place(re.search(rf"^\.Cm {name}$", synopsis, re.M), "docs/seen.1, SYNOPSIS", f"`seen {name}`")
            called = re.compile(rf'(?:\w\(|SEEN, )"{name}"')
            self.place(any(called.search(test) for test in tests.values()), "tests/behaviour, a test that runs it", f"`seen {name}`")
        rooms = {path.stem[len("cmd_"):] for path in (SOURCE / "cli").glob("*/cmd_*.c")}
        self.assertEqual(rooms - set(names(r"COMMAND\((\w+), \"", "cli/command.h")), set(), "cli/command.h: no line of a file cli/*/cmd_NAME.c")
        schemas = {schema for content in files("cli", "cmd_*.c").values() for schema in re.findall(r'"[^"]*JSON[^"]*seen/(\w+)/\d"', content)}
        self.assertTrue(schemas)
        for schema in schemas:
            self.place(f".Ql seen/{schema}/1" in text("docs/seen.1"), "docs/seen.1, the list of schemas", f"seen/{schema}/1")

    def test_export_format(self):
        manual = text("docs/seen.1").split(".It Cm export")[1].split(".It Cm ")[0]
        words = re.search(r'"--format", "FORMAT",\s*((?:"[^"]*"\s*)+)', text("cli/export/cmd_export.c"))[1]
        for name in names(r"FORMAT\((\w+)\)(?=[ \n])", "cli/export/export.h"):
            if name == "name":  # of the macro's own description
                continue
            self.place(re.search(rf"\b{name}\b", words), "cli/export/cmd_export.c, the help of --format", name)
            self.place(re.search(rf"^\.Cm .*\b{name}\b", manual, re.M), "docs/seen.1, --format", name)
            self.place(re.search(rf"^##+ .*\b{name}\b", text("docs/export.md"), re.M), "docs/export.md, a heading", name)
            self.place(any(re.search(rf'"{name}"', test) for test in files("tests/behaviour", "test_export*.py").values()),
                       "tests/behaviour/test_export_formats.py: what is its own", name)
            self.place(re.search(rf"\b{name}\b", text("README.md") + text("docs/guide.md"), re.I) or name == "jsonl", "docs/guide.md", name)

    def test_agent(self):
        agents = set(re.search(r'LIST\(processes, agents,\s*((?:"[^"]*"\s*)+)', text("config/options.def"))[1].replace('"', " ").split())
        profiles = set(names(r"^\[agent (\S+)\]", "config/data/agents/agents.ini")) - {"generic"}
        self.assertEqual(agents - {"seen-demo-agent"}, profiles, "config/options.def, [processes] agents, and config/data/agents/agents.ini")
        rows = re.findall(r'^HOOKS\("([\w-]+)", (NULL|"[\w-]+"), \w+,.*?(\w+_(?:json|js|ts)),\s*(?:hooks_)?(\w+), ("[\d.]+"|NULL)',
                          text("cli/agents/hooks.def"), re.M | re.S)
        self.assertEqual(len(rows), len(names(r"^HOOKS\(", "cli/agents/hooks.def")))
        data = {path.name for path in (SOURCE / "config/data/hooks").iterdir()}
        for name, alias, *shipped, tried in rows:
            self.place(name in profiles, "config/data/agents/agents.ini", f"[agent {name}], which has hooks")
            self.place(alias == "NULL" or alias.strip('"') in profiles, "config/data/agents/agents.ini", f"[agent {alias}], an alias")
            row = re.search(rf"^\| {'Claude Code' if name == 'claude' else name} \|.*", text("docs/hooks.md"), re.M)
            self.place(row, "docs/hooks.md, the table", name)
            if tried != "NULL":
                self.place(tried.strip('"') in row[0], "docs/hooks.md, tried with", f"{name} {tried}")
            self.place(f'"{name}":' in text("tests/behaviour/test_hooks.py"), "tests/behaviour/test_hooks.py, MERGED or FILES", name)
            for file in shipped:
                data -= {re.sub(r"_(json|js|ts)$", r".\1", file).replace("_", "-"), re.sub(r"_(json|js|ts)$", r".\1", file)}
        self.assertEqual(data, set(), "config/data/hooks: files that no line of cli/agents/hooks.def names")

    def test_rule_set(self):
        sets = set(re.findall(r"X\((\w+), action\)", text("config/settings.h").split("#define SETTINGS_RULE_SETS")[1].split("\n#")[0]))
        shipped = {path.stem: path.read_text() for path in (SOURCE / "config/data/rules").glob("*.ini")}
        self.assertEqual(sets, set(shipped), "config/settings.h, SETTINGS_RULE_SETS, and config/data/rules/SET.ini")
        doc = re.search(r"LIST\(rules, use,.*?\n\n|LIST\(rules, use,.*", text("config/options.def"), re.S)[0]
        expected = text("tests/unit/config/test_rule_sets.c")
        for name, content in shipped.items():
            self.place(f"{name}:" in doc, "config/options.def, [rules] use", f"the set {name}")
            self.place(re.search(rf"^\.Cm {name} :$", text("docs/seen.1"), re.M), "docs/seen.1, --rules", f"the set {name}")
            self.place(f"**`{name}`**" in text("docs/rules.md"), "docs/rules.md", f"the set {name}")
            for rule in re.findall(r"^\[rule ([\w-]+)\]", content, re.M):
                self.place(f'"{rule}"' in expected, "tests/unit/config/test_rule_sets.c: paths that it means", f"[rule {rule}]")

    def test_interposed_function(self):
        """Each is called by a test, by this name or by that of a relative (64 bits, the checked forms, libc's own aliases)."""
        programs = "\n".join(content for directory in ("tests/programs", "tests/stress", "tests/unit") for content in files(directory, "*.c").values())
        scripts = "\n".join(content for directory in ("tests/behaviour", "tests/programs") for content in files(directory, "*.py").values())
        called = set(re.findall(r"\w+", re.sub(r"(?s)(?<=\s)/\*\s.*?\*/", "", programs) + scripts))
        for name in names(r"^HOOK\((\w+)", "shim/preload/hooks.def"):
            relative = re.sub(r"^(_IO_|__x|__)|(_chk|_2)$", "", re.sub(r"64(?=$|_chk$|_2$)", "", name.replace("64v2", "2")))
            self.place({name, relative, relative.replace("_chk", ""), relative.replace("_unlocked", "")} & called,
                       "tests/programs, or another test that calls it", name)


if __name__ == "__main__":
    unittest.main()

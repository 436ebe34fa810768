"""`seen hooks`: what is put into agents' settings, and taken out, leaves all else as it was."""
import copy
import json
import os
import random
import re
import stat
import subprocess
import unittest

from driver import SEEN, SOURCE, Case

MERGED = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json",
          "qwen": ".qwen/settings.json", "cursor-agent": ".cursor/hooks.json"}
FILES = {"pi": ".pi/agent/extensions/seen.ts", "cline": ".cline/plugins/seen.js", "copilot": ".copilot/hooks/seen.json",
         "opencode": ".config/opencode/plugins/seen.js", "kilo": ".config/kilo/plugins/seen.js"}
AGENTS = {**MERGED, **FILES}
NOTHING, USAGE, OUTPUT, CONFLICT = 1, 2, 6, 12


# The file that is installed where it is not the one of the agent's name; and what kilo shares with opencode.
ANSWERS = {"claude": "claude_answers", "codex": "codex_answers", "gemini": "gemini_answers", "pi": "pi_answers",
           "qwen": "qwen_answers", "opencode": "opencode_answers", "kilo": "opencode_answers"}


def with_program(text):
    return re.sub(r"(command -v )?\bseen (>/dev/null && seen )?(forget --hook|answer hook)", lambda found: found[0].replace("seen", SEEN), text)


def shipped(agent, forget_only=False):
    """The hooks as they are shipped, with the path of the program that is tested."""
    name = agent if forget_only else ANSWERS.get(agent, agent)
    return json.loads(with_program((SOURCE / "config/data/hooks" / (name + ".json")).read_text()))


def without_comments(text):
    """The document of a text with comments and commas behind last items: strings first, else what is in them would be found."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda found: found[1] or " ", text.decode("utf-8-sig"), flags=re.DOTALL)
    return json.loads(re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])', lambda found: found[1] or "", text))


def merged(document, agent):
    document = copy.deepcopy(document)
    hooks = document.setdefault("hooks", {})
    for event, groups in shipped(agent)["hooks"].items():
        hooks.setdefault(event, []).extend(groups)
    return document


class Hooks(Case):
    def path(self, agent):
        return self.home / AGENTS[agent]

    def write_settings(self, text, agent="claude"):
        path = self.path(agent)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def install(self, agent="claude", code=0, *options, **more):
        return self.seen("hooks", "install", agent, *options, code=code, **more)

    def remove(self, agent="claude", code=0, *options, **more):
        return self.seen("hooks", "remove", agent, *options, code=code, **more)

    def state(self, agent, *options):
        return {row["agent"]: row for row in self.json("hooks", *options)["agents"]}[agent]

    def round_trip(self, text, agent="claude"):
        """In, once more, out: the same bytes; and what was in between is what it should be."""
        path = self.write_settings(text, agent)
        before = path.read_bytes()
        self.install(agent)
        between = path.read_bytes()
        self.assertEqual(without_comments(between), merged(without_comments(before), agent), between)
        if b"\r\n" in before and before.count(b"\n") == before.count(b"\r\n"):
            self.assertEqual(between.count(b"\n"), between.count(b"\r\n"))
        self.assertEqual(self.state(agent)["state"], "installed")
        self.assertIn(b"already", self.install(agent).stdout)
        self.assertEqual(path.read_bytes(), between)
        self.remove(agent)
        self.assertEqual(path.read_bytes(), before, between)
        self.assertEqual(self.state(agent)["state"], "absent")
        return between


class Files(Hooks):
    def test_where_there_is_nothing(self):
        for agent in AGENTS:
            path = self.path(agent)
            self.assertEqual(self.state(agent)["state"], "absent")
            self.assertIn(b"installed in", self.install(agent).stdout)
            self.assertEqual(self.state(agent)["state"], "installed")
            self.assertEqual(self.state(agent)["file"], str(path))
            self.assertIn(b"already", self.install(agent).stdout)
            if agent in MERGED:
                self.assertEqual(json.loads(path.read_text()), shipped(agent))
            self.assertEqual(path.read_text(), with_program((SOURCE / "config/data/hooks" / (
                ANSWERS.get(agent, agent) + (path.suffix if agent in FILES else ".json"))).read_text()))
            self.assertEqual(os.listdir(path.parent), [path.name])
            self.remove(agent)
            self.assertFalse(path.exists())
            self.assertIn(b"no hooks of seen's", self.remove(agent, NOTHING).stderr)

    def test_found_in_path(self):
        """Where PATH has the program, it is called by its name."""
        (self.top / "bin").mkdir()
        os.symlink(SEEN, self.top / "bin/seen")
        self.install(env={"PATH": str(self.top / "bin") + ":/usr/bin:/bin"})
        self.assertEqual(self.path("claude").read_text(), (SOURCE / "config/data/hooks/claude_answers.json").read_text())
        # from elsewhere, these are of another version: they are replaced, not doubled
        self.assertEqual(self.state("claude")["state"], "other")
        self.install()
        self.assertEqual(json.loads(self.path("claude").read_text()), shipped("claude"))

    def test_found_in_path_later(self):
        """What was installed by the program's path holds where PATH has the program, too."""
        for agent in ("claude", "opencode"):
            self.install(agent)
        (self.top / "bin").mkdir()
        os.symlink(SEEN, self.top / "bin/seen")
        self.env["PATH"] = str(self.top / "bin") + ":/usr/bin:/bin"
        for agent in ("claude", "opencode"):
            self.assertEqual(self.state(agent)["state"], "installed")

    def test_program_with_an_unusual_path(self):
        import shutil
        directory = self.top / "a 'b' \"c\" \\d $e"
        (directory / "bin").mkdir(parents=True)
        (directory / "lib/seen").mkdir(parents=True)
        shutil.copy(SEEN, directory / "bin/seen")
        env = {**self.env}
        subprocess.run([directory / "bin/seen", "hooks", "install", "claude"], env=env, check=True, stdout=subprocess.DEVNULL)
        command = json.loads(self.path("claude").read_text())["hooks"]["PreCompact"][0]["hooks"][0]["command"]
        self.assertEqual(subprocess.run(["sh", "-c", command.split(" forget ")[0] + " --version"], env=env, check=True,
                                        stdout=subprocess.PIPE).stdout[:5], b"seen ")
        subprocess.run([directory / "bin/seen", "hooks", "remove", "claude"], env=env, check=True, stdout=subprocess.DEVNULL)
        self.assertFalse(self.path("claude").exists())

    def test_variables(self):
        for agent, variable, name in (("claude", "CLAUDE_CONFIG_DIR", "settings.json"), ("codex", "CODEX_HOME", "hooks.json"),
                                      ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
                                      ("pi", "PI_CODING_AGENT_DIR", "extensions/seen.ts"),
                                      ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/seen.js")):
            directory = self.top / ("x " + agent)
            self.install(agent, env={variable: str(directory)})
            self.assertTrue((directory / name).exists())
            self.assertFalse(self.path(agent).exists())
            self.assertEqual(self.state(agent)["state"], "absent")
            self.remove(agent, env={variable: str(directory)})
            self.assertFalse((directory / name).exists())

    def test_project(self):
        for agent, name in (("claude", ".claude/settings.json"), ("pi", ".pi/extensions/seen.ts")):
            self.install(agent, 0, "--project")
            self.assertTrue((self.work / name).exists())
            self.assertFalse(self.path(agent).exists())
            self.assertEqual(self.state(agent, "--project")["state"], "installed")
            self.assertEqual(self.state(agent)["state"], "absent")
            self.remove(agent, 0, "--project")
            self.assertFalse((self.work / name).exists())

    def test_others_file_of_that_name(self):
        path = self.write_settings("export default function () {}\n", "pi")
        self.assertIn(b"none of seen's", self.install("pi", CONFLICT).stderr)
        self.remove("pi", CONFLICT)
        self.assertEqual(path.read_text(), "export default function () {}\n")

    def test_older_file_of_seen(self):
        path = self.write_settings("// old\nspawnSync('seen forget --hook X')\n", "pi")
        self.assertEqual(self.state("pi")["state"], "other")
        self.install("pi")
        self.assertEqual(self.state("pi")["state"], "installed")
        self.remove("pi")
        self.assertFalse(path.exists())

    def test_kinds(self):
        """--forget-only: without those that tell tool calls; each kind replaces the other, and is taken out."""
        path = self.write_settings('{"model": "x"}\n')
        for _ in range(2):
            self.install("claude", 0, "--forget-only")
            self.assertEqual(json.loads(path.read_text())["hooks"], shipped("claude", True)["hooks"])
            self.assertEqual(self.state("claude")["state"], "installed")
            self.assertIn(b"already", self.install("claude", 0, "--forget-only").stdout)
            self.install("claude")
            self.assertEqual(json.loads(path.read_text())["hooks"], shipped("claude")["hooks"])
            self.assertEqual(self.state("claude")["state"], "installed")
            self.assertIn(b"already", self.install("claude").stdout)
        self.remove("claude")
        self.assertEqual(path.read_text(), '{"model": "x"}\n')
        self.install("claude", 0, "--forget-only")
        self.remove("claude")
        self.assertEqual(path.read_text(), '{"model": "x"}\n')
        path.unlink()
        self.install("claude", 0, "--forget-only")
        self.assertEqual(json.loads(path.read_text()), shipped("claude", True))
        self.remove("claude")
        self.assertFalse(path.exists())
        self.install("copilot", 0, "--forget-only")
        self.assertIn(b"already", self.install("copilot").stdout)
        self.assertIn(b"--forget-only", self.seen("hooks", "--forget-only", code=USAGE).stderr)

    def test_package_of_the_agent(self):
        """opencode and kilo wait for a package where npm cannot be reached, which is reported before."""
        for agent, package in (("opencode", "@opencode-ai/plugin"), ("kilo", "@kilocode/plugin")):
            directory = self.path(agent).parent.parent
            words = f"{agent} installs {package} into {directory} before it runs a plugin"
            self.assertIn(words, self.install(agent).stderr.decode())
            self.assertNotIn("installs", self.install(agent).stderr.decode())
            self.remove(agent)
            (directory / "node_modules" / package).mkdir(parents=True)
            self.assertEqual(self.install(agent).stderr, b"")

    def test_alias(self):
        self.install("claude-code")
        self.assertEqual(self.state("claude")["state"], "installed")

    def test_shipped_files_are_installed(self):
        from driver import BUILD
        names = sorted(os.listdir(SOURCE / "config/data/hooks"))
        self.assertEqual(sorted(os.listdir(BUILD / "share/seen/hooks")), names)
        self.assertEqual(len(names), len(set(AGENTS) - {"kilo"}) + len(set(ANSWERS.values())), "cli/agents/hooks.def, and MERGED and FILES in tests/behaviour/test_hooks.py")


class RoundTrips(Hooks):
    def test_layouts(self):
        group = {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
        documents = ({}, {"a": 1}, {"hooks": {}}, {"hooks": {"PreCompact": []}}, {"hooks": {"PreCompact": [group]}, "model": "x"},
                     {"hooks": {"PreToolUse": [group, group]}}, {"a": {"hooks": {"PreCompact": []}}, "z": [[], {}, ""]},
                     {"hooks": {"PreCompact": [group], "SessionStart": [group], "SubagentStart": [], "BeforeTool": [group]}})
        for document in documents:
            for layout in ({"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")}, {"indent": 0}):
                text = json.dumps(document, **layout)
                self.round_trip(text)
                self.round_trip("\n \t%s\r\n\n" % text.replace("\n", "\r\n"))

    def test_unusual_layouts(self):
        for text in ("{ }", "{\n}", "{\n\n\t}\n", '{"hooks":{ }}', '{"hooks":\n{\n}\n}', '{"hooks":{"PreCompact":[ ]}}',
                     '{"hooks":{"PreCompact":[\n]}}', '{"a":1\n,"b":2}', '{"a" : 1 , "b":[1,\n2\n]\n,\n\n"c":{}\n}',
                     '{"\\u0068ooks":{"\\u0050reCompact":[]}}', '{"x":"{\\"hooks\\": [\\\\\\"","hooks":{}}',
                     '{"é":"\\ud83d\\ude00 \\u0000 //","b":1e3,"c":-0.5,"d":12345678901234567890}',
                     '{"a":[1,2,3],"hooks":{"X":[{"hooks":[]}]}}', '{"a":true,\n   "hooks":\n   {"PreCompact":\n   [\n   ]}}'):
            self.round_trip(text)

    def test_comments(self):
        """Comments, a comma behind the last, a byte order mark: all of it is there afterwards, and meanwhile."""
        for text in ("{ // none\n}", '{\n  // "a": 0,\n  "a": 1, // one\n}\n', '{ /* x */ "a": [1, 2,], /* y */ }',
                     '{\n\t"hooks": {\n\t\t"PreCompact": [\n\t\t\t{"hooks": []}, // mine\n\t\t],\n\t}, // end\n}\n',
                     '\ufeff{\r\n  "a": "// no", // yes\r\n  "hooks": { /* none yet */ }\r\n}\r\n',
                     '{"a": 1 // "hooks": {"PreCompact": [\n}\n// the end'):
            comments = re.findall(r"/[/*] [a-z]+", text)
            between = self.round_trip(text).decode()
            self.assertEqual(re.findall(r"/[/*] [a-z]+", between), comments)
        for agent in MERGED:
            self.round_trip('{\n  "model": "x", // the best\n}\n', agent)

    def test_every_agent(self):
        for agent in MERGED:
            for text in ('{"hooks":{}}', '{\n    "a": 1\n}\n', '{\n  "hooks": {\n    "SessionStart": [\n      {"command": "x"}\n    ]\n  }\n}'):
                self.round_trip(text, agent)

    def test_random(self):
        random_one = random.Random(int(os.environ.get("SEEN_SEED", "7")))

        def value(depth):
            kind = random_one.randrange(7 if depth else 5)
            if kind == 5:
                return [value(depth - 1) for _ in range(random_one.randrange(4))]
            if kind == 6:
                return {random_one.choice("abcdefgh") + str(i): value(depth - 1) for i in range(random_one.randrange(4))}
            return random_one.choice((None, True, 1, -2.5, "", "x", '"', "\\", "]}", "// no comment", "seen", "ä"))

        def text_of(what):
            """In any layout."""
            def space():
                return random_one.choice(("", "", " ", "\n", "\n  ", "\t", "\r\n", "\n\n\t", " // x\n", "/* } */", "/*\n,*/ "))
            if isinstance(what, dict):
                return "{%s}" % (space() + ",".join(space() + json.dumps(key) + space() + ":" + space() + text_of(item) + space()
                                                     for key, item in what.items()))
            if isinstance(what, list):
                return "[%s]" % (space() + ",".join(space() + text_of(item) + space() for item in what))
            return json.dumps(what)

        for _ in range(400 if os.environ.get("SEEN_LONG") else 40):
            document = {key: value(3) for key in random_one.sample(["a", "b", "c", "model"], random_one.randrange(4))}
            if random_one.random() < 0.7:
                document["hooks"] = {event: [value(2) for _ in range(random_one.randrange(3))]
                                     for event in random_one.sample(["PreCompact", "SessionStart", "SubagentStop", "Stop"],
                                                                    random_one.randrange(4))}
            keys = list(document)
            random_one.shuffle(keys)
            self.round_trip(text_of({key: document[key] for key in keys}))

    def test_changed_in_between(self):
        """What a person, or the agent, does to the file while the hooks are in it stays."""
        path = self.write_settings('{\n  "model": "a",\n  "hooks": {\n    "PreCompact": [\n      {"hooks": [{"type": "command", "command": "mine"}]}\n'
                        '    ]\n  }\n}\n')
        self.install()
        document = json.loads(path.read_text())
        document["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "later"}]}]
        document["hooks"]["PreCompact"].append({"hooks": [{"type": "command", "command": "last"}]})
        document["hooks"]["SubagentStop"][0]["hooks"].insert(0, {"type": "command", "command": "put in"})
        document["more"] = {"x": []}
        for layout in ({"indent": 2}, {"separators": (",", ":")}, {"indent": 1}):
            path.write_text(json.dumps(document, **layout))
            self.remove()
            left = json.loads(path.read_text())
            self.assertNotIn("forget", path.read_text())
            self.assertEqual(left["hooks"]["PreCompact"], [document["hooks"]["PreCompact"][i] for i in (0, 2)])
            self.assertEqual(left["hooks"]["SubagentStop"], [{"hooks": [{"type": "command", "command": "put in"}]}])
            self.assertEqual(left["hooks"]["Stop"], document["hooks"]["Stop"])
            self.assertEqual((left["more"], left["model"]), ({"x": []}, "a"))
            self.install()
            self.assertEqual(self.state("claude")["state"], "installed")

    def test_installed_in_part(self):
        document = shipped("claude")
        del document["hooks"]["SubagentStop"]
        document["hooks"]["SessionStart"][0]["matcher"] = "startup"
        path = self.write_settings(json.dumps(document, indent=2))
        self.assertEqual(self.state("claude")["state"], "other")
        self.install()
        self.assertEqual(json.loads(path.read_text()), shipped("claude"))

    def test_hooks_that_only_resemble_those_of_seen(self):
        theirs = [{"hooks": [{"type": "command", "command": command}]}
                  for command in ("forget-me --hook X", "git forget --hooks", "my forget --hook X", "seen status", "seen forget --all", "")]
        text = json.dumps({"hooks": {"PreCompact": theirs, "SessionStart": [1, "seen forget --hook X", None, {"hooks": "seen forget --hook X"},
                                                                         {"hooks": [{"command": 5}]}]}}, indent=3)
        self.round_trip(text)

    def test_switches_beside_the_events(self):
        """Older agents have switches there (gemini: enabled)."""
        self.round_trip('{"hooks": {"enabled": "yes", "notes": {"a": []}}}', "gemini")
        self.assertFalse(self.state("claude")["switched_off"])
        self.write_settings('{"disableAllHooks": true}')
        self.install()
        self.assertTrue(self.state("claude")["switched_off"])
        self.assertIn(b"switched off", self.seen("hooks", code=0).stdout)


class Hostile(Hooks):
    def refused(self, text, says, line=None, agent="claude", code=CONFLICT):
        path = self.write_settings(text, agent)
        before = path.read_bytes(), path.stat().st_mtime_ns
        for done in (self.install(agent, code), self.remove(agent, code)):
            error = done.stderr.decode()
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(says, error)
            self.assertIn(str(path) + (f":{line}:" if line else ""), error)
            self.assertIn("nothing was changed", error)
            self.assert_plain(done.stderr)
            self.assertEqual(done.stdout, b"")
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), before)
        self.assertEqual(self.state(agent)["state"], "unknown")
        self.assertEqual(os.listdir(path.parent), [path.name])

    def test_no_json(self):
        self.refused('{\n  /* mine\n  "b": 2\n}', "a comment has no end; correct it, or add the hooks by hand", 2)
        self.refused('{\n  // mine\r  "b": 2\n}', "carriage return", 2)
        self.refused('{\n  // mine\0\n  "b": 2\n}', "a NUL byte; correct it, or add the hooks by hand", 2)
        self.refused('{\n  "b": 2,,\n}', "hand", 2)
        self.refused('{\n  "b": 2 // mine\n  "c": 3\n}', "hand", 3)
        self.refused("", "hand", 1)
        self.refused(" \n\n", "hand")
        self.refused('{"a": 1} {"b": 2}', "hand", 1)
        self.refused('{"a": 1', "hand", 1)
        self.refused("{'a': 1}", "hand", 1)
        self.refused(b'\xef\xbb\xbf', "hand", 1)
        self.refused(b' \xef\xbb\xbf{"a": 1}', "hand", 1)
        self.refused(b'{"a": "\xff"}', "hand", 1)
        self.refused(b'{"a": 1}\0', "hand", 1)
        self.refused('{"a":' + "[" * 5000 + "]" * 5000 + "}", "hand")
        self.refused('{\n"a": 1,\n"a": 2}', "duplicate", 3)
        self.refused('{ // x\n"a": 1, /* y\n*/\n"a": 2}', "duplicate", 4)
        self.refused('{"\x1b[31m": }', "hand", 1)

    def test_other_shapes(self):
        self.refused("[1]", "JSON object", 1)
        self.refused("// x\n[1]", "JSON object", 2)
        self.refused('"x"', "hand")
        self.refused('{"hooks": []}', '"hooks" is no object', 1)
        self.refused('{"a": [\n],\n"hooks": null}', '"hooks" is no object', 3)
        self.refused('{"hooks": {"PreCompact": {"x": 1}}}', '"PreCompact" is no list', 1)
        self.refused('{\n"hooks":\n{ // x\n"PreCompact": null}}', '"PreCompact" is no list', 4)
        self.refused('{"hooks": {"SubagentStop": "x"}}', '"SubagentStop" is no list', 1)

    def test_what_is_no_file(self):
        path = self.path("claude")
        path.mkdir(parents=True)
        self.assertIn(b"cannot be read", self.install(code=CONFLICT).stderr)
        path.rmdir()
        os.mkfifo(path)
        self.assertIn(b"cannot be read", self.install(code=CONFLICT).stderr)
        path.unlink()
        path.symlink_to(path)
        self.assertIn(b"cannot be read", self.install(code=CONFLICT).stderr)

    def test_symbolic_links(self):
        real = self.top / "dotfiles.json"
        real.write_text('{"a": 1}\n')
        os.chmod(real, 0o600)
        path = self.path("claude")
        path.parent.mkdir()
        path.symlink_to(real)
        self.round_trip(real.read_text())
        self.assertTrue(path.is_symlink())
        self.assertEqual(stat.S_IMODE(real.stat().st_mode), 0o600)
        # one whose file is not there yet: it is left, and the file is made where it points to
        real.unlink()
        self.install(code=OUTPUT)
        self.assertTrue(path.is_symlink())

    def test_a_link_to_what_was_made(self):
        """A file that holds nothing else, but is reached by a link, is not taken away."""
        self.install()
        path = self.path("claude")
        real = self.top / "dotfiles.json"
        path.rename(real)
        path.symlink_to(real)
        self.remove()
        self.assertTrue(path.is_symlink())
        self.assertEqual(json.loads(path.read_text()), {})

    def test_hard_links(self):
        path = self.write_settings('{"a": 1}')
        os.link(path, self.top / "other")
        self.assertIn(b"hard link", self.install(code=CONFLICT).stderr)
        self.assertEqual(path.read_text(), '{"a": 1}')
        self.assertEqual(path.stat().st_nlink, 2)

    def test_mode_is_kept(self):
        for mode in (0o600, 0o640, 0o444, 0o666):
            path = self.write_settings('{"a": 1}')
            os.chmod(path, mode)
            self.install()
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), mode)
            self.remove()
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), mode)
            path.unlink()

    @unittest.skipUnless(os.geteuid() == 0, "for root only")
    def test_owner_is_kept(self):
        path = self.write_settings('{"a": 1}')
        os.chown(path, 1234, 2345)
        self.install()
        self.assertEqual((path.stat().st_uid, path.stat().st_gid), (1234, 2345))

    def test_read_only_directory(self):
        path = self.write_settings('{"a": 1}')
        if os.geteuid() == 0:  # nothing is read-only for root, but /proc takes no files
            done = self.install(code=OUTPUT, env={"CLAUDE_CONFIG_DIR": "/proc/sys"})
            self.assertIn(b"cannot be written", done.stderr)
            return
        os.chmod(path.parent, 0o500)
        self.addCleanup(os.chmod, path.parent, 0o700)
        self.assertIn(b"cannot be written", self.install(code=OUTPUT).stderr)
        self.assertEqual(path.read_text(), '{"a": 1}')

    def test_no_home(self):
        env = {key: value for key, value in self.env.items() if key != "HOME"}
        self.env = env
        self.assertIn(b"HOME", self.install(code=CONFLICT).stderr)
        self.assertIn(b"HOME", self.remove(code=CONFLICT).stderr)
        self.assertEqual(self.state("claude")["file"], None)
        self.assertIn(b"HOME", self.seen("hooks", code=0).stdout)
        self.install("claude", 0, env={"CLAUDE_CONFIG_DIR": str(self.top / "c")})
        self.env = {**env, "HOME": "relative"}
        self.assertIn(b"HOME", self.install(code=CONFLICT).stderr)


class Words(Hooks):
    def test_usage(self):
        before = sorted(self.home.rglob("*"))
        for words, says in ((("install", "claud"), b"did you mean 'claude'"), (("install", "codx"), b"did you mean 'codex'"),
                            (("remove", "gemni"), b"did you mean 'gemini'"), (("install", "xyzzy"), b"lists the agents"),
                            (("install",), b"which agent"), (("remove",), b"which agent"), (("install", "pi", "codex"), b"which agent"),
                            (("instal", "pi"), b"instal"), (("--print",), b"--print"), (("remove", "pi", "--print"), b"option"),
                            (("install", "pi", "--json"), b"option"), (("--user", "--project"), b"two places"),
                            (("install", ""), b"no hooks for")):
            done = self.seen("hooks", *words, code=USAGE)
            self.assertIn(says, done.stderr, words)
            self.assertEqual(done.stdout, b"")
        self.assertEqual(sorted(self.home.rglob("*")), before)

    def test_print_writes_nothing(self):
        before = sorted(self.home.rglob("*"))
        for agent in AGENTS:
            output = self.install(agent, 0, "--print").stdout.decode()
            first, _, rest = output.partition("\n")
            self.assertEqual(first, "%s (not installed):" % self.path(agent))
            if agent in MERGED:
                self.assertEqual(json.loads(rest), shipped(agent))
        self.assertEqual(sorted(self.home.rglob("*")), before)
        path = self.write_settings('{"a": 1 /* mine\n}')
        done = self.install("claude", 0, "--print")
        self.assertIn(b"comment", done.stderr)
        self.assertIn(b"forget --hook PreCompact", done.stdout)
        self.assertEqual(path.read_text(), '{"a": 1 /* mine\n}')

    def test_list(self):
        self.install("pi")
        text = self.seen("hooks", code=0).stdout.decode()
        rows = {line.split()[0]: line for line in text.splitlines()[1:]}
        self.assertEqual(list(rows), sorted(AGENTS))
        self.assertIn(" installed ", rows["pi"])
        self.assertIn(" not installed ", rows["claude"])
        document = self.json("hooks")
        self.assertEqual(document["schema"], "seen/hooks/1")
        self.assertEqual([row["agent"] for row in document["agents"]], sorted(AGENTS))

    def test_without_the_configuration(self):
        """A broken seen.ini does not prevent taking the hooks out."""
        self.install("claude", 0, env={"SEEN_CONFIG": "/nosuch"})
        (self.home / ".config/seen/seen.ini").write_text("nonsense\n")
        self.remove()


class Doctor(Hooks):
    """`seen doctor` says which agent needs which hook."""

    def program(self, name):
        (self.top / "bin").mkdir(exist_ok=True)
        path = self.top / "bin" / name
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)
        return path

    def lines(self, *words, **more):
        more.setdefault("env", {"PATH": str(self.top / "bin") + ":/usr/bin:/bin"})
        document = json.loads(self.seen("doctor", "--via", "preload", "--json", *words, **more).stdout)
        return [check for check in document["checks"] if check["what"] == "hooks"]

    def test_agents_that_are_here(self):
        self.assertEqual(self.lines(), [])
        self.program("claude")
        self.program("pi")
        claude, pi = self.lines()
        for line, name in ((claude, "claude"), (pi, "pi")):
            self.assertEqual((line["level"], line["remedy"]), ("warn", f"`seen hooks install {name}`"))
            self.assertIn(str(self.path(name)), line["detail"])
            self.assertIn("transcript", line["detail"])
        self.install("claude")
        self.assertEqual([line["level"] for line in self.lines()], ["ok", "warn"])
        text = json.loads(self.path("claude").read_text())
        self.path("claude").write_text(json.dumps({**text, "disableAllHooks": True}))
        self.assertIn("switches all hooks off", self.lines()[0]["detail"])
        del text["hooks"]["SessionStart"]
        self.path("claude").write_text(json.dumps(text))
        self.assertIn("in part", self.lines()[0]["detail"])
        self.write_settings("{ /* mine\n}")
        self.assertIn("settings.json:1:", self.lines()[0]["detail"])

    def test_of_a_program(self):
        self.program("pi")
        for name, level, says in (("claude-code", "warn", "not installed"), ("aider", "ok", "aider: none are known; nothing reports its conversations: at a terminal it gets no answers"),
                                  ("codex", "warn", "not installed")):
            line, = self.lines("--", str(self.program(name)))
            self.assertEqual(line["level"], level)
            self.assertIn(says, line["detail"])
        self.install("codex")
        line, = self.lines("--", str(self.top / "bin/codex"))
        self.assertEqual(line["level"], "ok")
        self.assertIn("/hooks", line["detail"])
        self.assertEqual(self.lines("--", str(self.program("make"))), [])


if __name__ == "__main__":
    unittest.main()

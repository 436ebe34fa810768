"""The forms of other agents' hooks: what each one's input proves, and how it is answered. The hook is run as that agent runs it."""
import json
import unittest

from test_hook_answers import Answers

# For scripts of test_hook_answers.py.
FORMS = r'''
def ask(agent, **document):
    return run_hook(agent, document)
def says(text): out.append(kind(text) if isinstance(text, str) else text)

def gemini(event, tool, response=None, conversation="c1", **tool_input):
    more = {} if response is None else {"tool_response": response}
    return ask("gemini", session_id=conversation, hook_event_name=event, cwd=os.getcwd(), tool_name=tool, tool_input=tool_input, **more)
HEAD = ("\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\nAction: To read more of the file, you "
        "can use the 'start_line' and 'end_line' parameters in a subsequent 'read_file' call. For example, to read the next section of the file, use "
        "start_line: %d.\n\n--- FILE CONTENT (truncated) ---\n")
def gemini_text(name, start=None, end=None):
    text = open(name, newline="").read(); lines = text.split("\n")
    first, last = start or 1, min(end or len(lines), len(lines))
    if (first, last) == (1, len(lines)): return text
    return HEAD % (first, last, len(lines), last + 1) + "\n".join(lines[first - 1:last])
def reads_gemini(name, start=None, end=None, text=None, conversation="c1", path=None, **more):
    words = {key: value for key, value in (("start_line", start), ("end_line", end)) if value}
    response = {"llmContent": gemini_text(name, start, end) if text is None else text, "returnDisplay": "", **more}
    answer = gemini("AfterTool", "read_file", response, conversation, file_path=path or os.path.abspath(name), **words)
    assert not answer or (set(answer) == {"decision", "reason"} and answer["decision"] == "deny"), answer
    says(answer.get("reason", "same"))
def edit_gemini(name, tool="replace", **more):
    answer = gemini("BeforeTool", tool, file_path=os.path.abspath(name), **more)
    assert not answer or answer.pop("decision") == "deny", answer
    return answer.get("reason")

def cline(event, tool, tool_input, tool_output=None, conversation="c1"):
    more = {} if tool_output is None else {"tool_response": tool_output}
    return ask("cline", hook_event_name=event, tool_name=tool, tool_use_id="k", cwd=os.getcwd(), session_id=conversation, tool_input=tool_input, **more)
def cline_text(name, start=None, end=None):
    lines = open(name, newline="").read().split("\n")
    if not lines[-1]: lines.pop()
    first, last = start or 1, min(end or len(lines), len(lines))
    return "\n".join("%*d | %s" % (len(str(last)), number, lines[number - 1]) for number in range(first, last + 1))
def reads_cline(name, start=None, end=None, text=None, conversation="c1"):
    words = {"path": os.path.abspath(name), **{key: value for key, value in (("start_line", start), ("end_line", end)) if value}}
    answer = cline("PostToolUse", "read_files", words, cline_text(name, start, end) if text is None else text, conversation)
    assert set(answer) <= {"output"}, answer
    says(answer.get("output", "same"))

def codex(event, tool, conversation="c1", **tool_input):
    return ask("codex", session_id=conversation, turn_id="t", hook_event_name=event, cwd=os.getcwd(), tool_name=tool, tool_use_id="k", tool_input=tool_input)
def patch(*lines):
    answer = codex("PreToolUse", "apply_patch", command="\n".join(["*** Begin Patch", *lines, "*** End Patch", ""]))
    if not answer: return None
    answer = answer["hookSpecificOutput"]
    assert answer.pop("hookEventName") == "PreToolUse" and answer.pop("permissionDecision") == "deny", answer
    return answer.pop("permissionDecisionReason")
'''


class Forms(Answers):
    def play(self, script, *options, **more):
        return super().play(FORMS + script, *options, **more)


class OtherAgents(Forms):
    """What agents other than Claude Code are given at a prompt and at the start."""

    def play(self, script, *options, **more):
        return super().play(r'''
def text(answer): return answer.get("add") or answer.get("hookSpecificOutput", {}).get("additionalContext")
EVENTS = {"gemini": ("BeforeAgent", "BeforeTool", "AfterTool")}
def event(agent, name, **more):
    names = dict(zip(("UserPromptSubmit", "PreToolUse", "PostToolUse"), EVENTS.get(agent, ())))
    return ask(agent, hook_event_name=names.get(name, name), session_id="c1", cwd=os.getcwd(), **more)
def tells(agent, words="go on", **more): out.append(text(event(agent, "UserPromptSubmit", prompt=words, **more)))
def starts(agent, source="startup", **more): out.append(text(event(agent, "SessionStart", source=source, **more)))
def mentions(agent, name): event(agent, "UserPromptSubmit", prompt="use @" + name)
''' + script, *options, **more)

    AGENTS = ("pi", "opencode", "gemini", "codex", "cline")

    def test_prompts(self):
        """What changed since the model was given it, once; what was taken back with the conversation is no more known."""
        for agent in self.AGENTS:
            results = self.play(f"""
write("a", 50); mentions("{agent}", "a"); tells("{agent}"); outside("a", "x\\n"); tells("{agent}"); tells("{agent}")
outside("a", "x\\n"); event("{agent}", "Rewind"); tells("{agent}")
""", "--session", agent)
            changed = self.known_author("changed since you read them: a (by another program)", agent)
            self.assertEqual(results, [None, changed, None, None if agent != "gemini" else changed], agent)

    def test_start(self):
        for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md"):
            (self.work / name).write_text(f"of {name}\n")
        loaded = {"pi": "AC", "opencode": "AC", "gemini": "G", "codex": "A", "cline": "A"}
        for agent in self.AGENTS:
            (first, again) = self.play(f'starts("{agent}"); starts("{agent}")', "--session", agent)
            self.assertEqual(first, "\n".join(f"[Project instructions from {name}]\nof {name}" for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
                                              if name[0] not in loaded[agent]), agent)
            self.assertIsNone(again, agent)

    def test_resume(self):
        """In another session, without a transcript: history, what changed meanwhile, and an edit over that."""
        tools = {"pi": ("edit", {"path": "a"}), "opencode": ("edit", {"filePath": "a"}), "gemini": ("replace", {"file_path": "a"}),
                 "codex": ("apply_patch", {"command": "*** Update File: a\n"}), "cline": ("editor", {"path": "a"})}
        for agent in self.AGENTS:
            tool, words = tools[agent]
            self.play(f"""
write("a", 50); starts("{agent}"); mentions("{agent}", "a"); event("{agent}", "PreToolUse", tool_name="{tool}", tool_input={words!r})
""", "--session", agent)
            with open(self.work / "a", "a") as file:
                file.write("external\n")
            (start, prompt, refused) = self.play(f"""
starts("{agent}", "resume"); tells("{agent}"); out.append(event("{agent}", "PreToolUse", tool_name="{tool}", tool_input={words!r}))
""", "--session", agent + "-later")
            self.assertIn(f"[Tool: {tool}(", start, agent)
            self.assertEqual(prompt, "changed since you read them: a", agent)
            self.assertIn("a was modified since you last read it", json.dumps(refused), agent)

    def test_resumed_branch(self):
        """What a resumed conversation has no result of, it was not given: it may be another one, or another branch, by the same name."""
        for name, result in (("it", "k"), ("another", "other")):
            self.play('write("a", 50); starts("cline"); out.clear(); reads_cline("a")', "--session", name)
            with open(self.work / "a", "a") as file:
                file.write("external\n")
            (prompt, refused) = self.play(f"""
starts("cline", "resume", results={{"{result}": 9000}}); out.clear(); tells("cline"); out.append(event("cline", "PreToolUse", tool_name="editor", tool_input={{"path": "a"}}))
""", "--session", name + "-later")
            knows = name == "it"
            self.assertEqual(prompt, "changed since you read them: a" if knows else None, name)
            self.assertEqual("was modified since you last read it" in json.dumps(refused), knows, refused)

    def test_failed(self):
        """Of a command that failed, by what each agent reports."""
        ends = {"pi": ("bash", "PostToolUseFailure", {}), "opencode": ("bash", "PostToolUseFailure", {}),
                "gemini": ("run_shell_command", "PostToolUse", {"tool_response": {"llmContent": "Output: (empty)\nExit Code: 3"}}),
                "codex": ("Bash", "PostToolUse", {"tool_response": ""})}
        for agent, (tool, end, more) in ends.items():
            results = self.play(f"""
def run(command, end="{end}", **more):
    words = dict(tool_name="{tool}", tool_input={{"command": command}}, **({{}} if "{agent}" == "gemini" else {{"tool_use_id": command}}))
    event("{agent}", "PreToolUse", **words)
    subprocess.run(["bash", "-c", command])
    event("{agent}", end, **words, **more)
tells("{agent}"); run("echo x >> made; exit 3", **{more!r}); tells("{agent}"); tells("{agent}")
run("echo y >> made; exit 0", "PostToolUse"); tells("{agent}")
""", "--session", agent)
            self.assertEqual([results[0], *results[2:]], [None] * 3, agent)
            self.assertRegex(results[1], r"\A`echo x >> made; exit 3` failed \(exit status 3\) and had changed made: `seen undo --step \d+` takes that back\Z", agent)

    def test_patch_of_opencode(self):
        """Each file that its apply_patch names is compared."""
        before, stale, other = self.play(r'''
def patch(name):
    words = {"patchText": "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: " + name + "\n@@\n-a\n+b\n*** End Patch"}
    out.append(event("opencode", "PreToolUse", tool_name="apply_patch", tool_use_id="k", tool_input=words).get("refuse"))
write("a", 50); write("b", 50); mentions("opencode", "a"); patch("a"); outside("a", "x\n"); patch("a"); patch("b")
''')
        self.assertEqual((before, other), (None, None))
        self.assertTrue(stale.startswith("a was modified since you last read it."), stale)

    def test_context_before_a_prompt(self):
        """What gemini puts before a prompt names no files."""
        self.play('write("a", 50); write("b", 50); event("gemini", "UserPromptSubmit", prompt="<hook_context>use @a</hook_context>\\n\\nuse @b")')
        mentioned = [json.loads(line)["path"] for line in self.seen("log", "--session", "s", "--op", "mentioned", "--json").stdout.splitlines()]
        self.assertEqual([path.rsplit("/")[-1] for path in mentioned], ["b"])


class Gemini(Forms):
    def test_whole_files(self):
        self.assertEqual(self.play('''
write("a", 50); write("bare", 50); open("bare", "r+").truncate(os.path.getsize("bare") - 1)
for _ in range(3): reads_gemini("a")
for _ in range(2): reads_gemini("bare", path="bare")
reads_gemini("a", conversation="c2")
write("a", 51); reads_gemini("a"); reads_gemini("a")
'''), ["same", "notice", "same", "same", "notice", "same", "diff", "same"])

    def test_lines(self):
        self.assertEqual(self.play('''
write("a", 2500)
reads_gemini("a", 1, 200); reads_gemini("a", 20, 119); reads_gemini("a", 20, 119); reads_gemini("a", 150, 249)
write("b", 2500); reads_gemini("b", 2400); reads_gemini("b", 2401, 2500)
'''), ["same", "lines", "same", "same", "same", "lines"])

    def test_what_is_not_known(self):
        self.assertEqual(self.play(r'''
write("a", 50); text = open("a").read()
for more in ({"text": text + "\n\n--- Newly Discovered Project Context ---\nx"}, {"text": text.replace("words", "word")}, {"text": ""}, {"error": {"message": "x"}},
             {"text": {"inlineData": {}}}, {"text": HEAD % (1, 51, 51, 52) + text[:-1]}, {"text": HEAD % (2, 50, 51, 51) + text}, {"text": HEAD % (1, 50, 60, 51) + text[:-1]},
             {"text": HEAD % (5, 2, 51, 51)}, {"text": HEAD % (60, 70, 51, 51)}):
    reads_gemini("a", **more)
reads_gemini("a")
open("crlf", "w", newline="").write("some words of it\r\n" * 90)
for _ in range(2): reads_gemini("crlf", text="some words of it\n" * 90)
'''), ["same"] * 13)

    def test_edits(self):
        first, stale, write, again, new = self.play(r'''
write("a", 50); reads_gemini("a"); out.clear()
out.append(edit_gemini("a")); outside("a", "external\n"); out.append(edit_gemini("a", old_string="x", new_string="y"))
out.append(edit_gemini("a", "write_file", content="x")); reads_gemini("a"); out.pop(); out.append(edit_gemini("a"))
out.append(edit_gemini("new", "write_file", content="x"))
''')
        self.assertEqual((first, again, new), (None, None, None))
        self.assertEqual(stale, write)
        self.assertTrue(stale.startswith(f"{self.work / 'a'} was modified since you last read it. Please read the file again.\n--- "), stale)
        self.assertIn("\n+external\n", stale)

    def test_writes_that_change_nothing(self):
        """It is reported to the model after the tool: before it Gemini CLI takes no text."""
        self.assertEqual(self.play(r'''
write("a", 50); text = open("a").read(); path = os.path.abspath("a")
def wrote(before, after, tool="write_file"):
    answer = gemini("AfterTool", tool, {"llmContent": "done", "returnDisplay": {"fileDiff": "", "originalContent": before, "newContent": after}}, file_path=path, content=after)
    out.append(answer.get("hookSpecificOutput", {}).get("additionalContext"))
wrote(text, text); wrote(text, text + "x"); wrote("", ""); wrote(text, text, "replace"); wrote(None, text)
reads_gemini("a"); out.pop(); out.append(edit_gemini("a", "write_file", content=text))
'''), [f"[{self.work / 'a'} already held this content.]", None, None, f"[{self.work / 'a'} already held this content.]", None, None])

    def test_other_hooks(self):
        """Where another hook may give the model something else, nothing is answered."""
        own = {"hooks": [{"type": "command", "command": "seen answer hook gemini 2>/dev/null || :"}]}
        theirs = {"hooks": [{"type": "command", "command": "mine"}]}
        user, project = self.home / ".gemini/settings.json", self.work / ".gemini/settings.json"
        extension = self.home / ".gemini/extensions/x/hooks/hooks.json"
        def after(*groups, event="AfterTool"):
            return json.dumps({"hooks": {event: groups}})
        cases = [(user, after(own), "notice"), (user, after(own, {**theirs, "matcher": "write_file|replace"}), "notice"), (user, after(own, theirs), "same"),
                 (user, after({**theirs, "matcher": "file"}), "same"), (user, after({**theirs, "matcher": "shell|read_.*"}), "same"),
                 (user, after(theirs, event="BeforeModel"), "same"), (user, after(theirs, event="BeforeTool"), "notice"),
                 (user, "{ // a comment\n" + after(own)[1:], "notice"), (user, "{", "same"), (project, after(theirs), "same"), (extension, after(theirs), "same")]
        script = "forget('SessionStart'); reads_gemini('a'); reads_gemini('a')\n"
        steps = ["write('a', 50)\n"]
        for place, text, _ in cases:
            steps.append(f"os.makedirs({str(place.parent)!r}, exist_ok=True); open({str(place)!r}, 'w').write({text!r}); {script}os.unlink({str(place)!r})\n")
        results = self.play("".join(steps))
        self.assertEqual(results[::2], ["same"] * len(cases))
        self.assertEqual(results[1::2], [last for _, _, last in cases])


class Cline(Forms):
    def test_files_and_lines(self):
        self.assertEqual(self.play(r'''
write("a", 43); open("gaps", "w").write("a line with some words in it, which are many\n\n" * 15); write("bare", 30)
open("bare", "r+").truncate(os.path.getsize("bare") - 1)
for name in ("a", "gaps", "bare"):
    for _ in range(3): reads_cline(name)
reads_cline("a", conversation="c2")
write("b", 900)
reads_cline("b", 1, 30); reads_cline("b", 3, 28); reads_cline("b", 25, 45)
write("a", 44); reads_cline("a"); reads_cline("a")
'''), ["same", "notice", "same"] * 3 + ["same", "same", "lines", "same", "diff", "same"])

    def test_what_is_not_known(self):
        """Also what cline cuts: a longer output than its profile allows ."""
        self.assertEqual(self.play(r'''
write("a", 30); text = cline_text("a")
for bent in (text + "\n", text.replace(" 7 |", " 8 |"), "x" + text, text.replace("words", "word"), text + "\n31 | x", "", " 1 | ", text.replace(" | ", "|")):
    reads_cline("a", text=bent)
reads_cline("a")
open("crlf", "w", newline="").write("some words of it\r\n" * 50)
for _ in range(2): reads_cline("crlf", text=cline_text("crlf").replace("\r", ""))
write("long", 60); out.append(len(cline_text("long")) > 1900)
for _ in range(3): reads_cline("long")
for _ in range(2): reads_cline("long", 1, 30, text=cline_text("long", 1, 30) + "\n\n[Showing lines 1-30 of 60. Use start_line/end_line to read other sections.]")
''', "-c", "agent generic.max_output_bytes=1900"), ["same"] * 11 + [True] + ["same"] * 3 + ["same", "lines"])

    def test_other_plugins(self):
        """Also those of a project that the file is in, where cline works elsewhere."""
        self.assertEqual(self.play(r'''
os.makedirs("deep/down"); write("deep/down/a", 30)
for place in (os.environ["HOME"] + "/.cline/plugins", os.getcwd() + "/.cline/plugins", os.environ["HOME"] + "/Documents/Cline/Plugins", os.getcwd() + "/deep/.cline/plugins"):
    os.makedirs(place)
    for name in ("seen.js", "mine.js"):
        open(place + "/" + name, "w"); forget("SessionStart"); reads_cline("deep/down/a"); reads_cline("deep/down/a")
    os.unlink(place + "/mine.js")
'''), ["same", "notice", "same", "same"] * 4)

    def test_edits(self):
        words = self.play(r'''
write("a", 30); reads_cline("a"); out.clear(); outside("a", "external\n")
out.append(cline("PreToolUse", "editor", {"path": os.path.abspath("a"), "old_text": "x", "new_text": "y"}))
out.append(cline("PreToolUse", "apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n"}))
out.append(cline("PreToolUse", "editor", {"path": os.path.abspath("new"), "new_text": "y"}))
''')
        self.assertEqual([list(answer) for answer in words], [["refuse"], ["refuse"], []])
        self.assertTrue(words[1]["refuse"].startswith("a was modified since you last read it."))


class Codex(Forms):
    def test_patches(self):
        """Every file that a patch names is compared; words about files in it are no names."""
        self.assertEqual(self.play(r'''
for name in ("a", "b", "c"): write(name, 30); read(name)
out.append(patch("*** Update File: a", "@@", "-x", "+y")); outside("b", "external\n")
def refused(*lines):
    words = patch(*lines); out.append(words and words.split("\n")[0].split(" was ")[0])
refused("*** Update File: a", "@@", "-x", "+*** Update File: b", " *** Delete File: b")
refused("*** Update File: a", "@@", "-x", "+y", "*** Update File: b\r", "@@", "-x", "+y"); refused("*** Delete File: " + os.path.abspath("b"))
refused("*** Add File: b", "+x"); refused("*** Update File: c", "*** Move to: b", "@@", "-x", "+y"); refused("*** Add File: new", "+x"); refused()
out.append(codex("PreToolUse", "Bash", command="echo *** Update File: b"))
read("b"); refused("*** Update File: b", "@@", "-x", "+y")
'''), [None, None, "b", str(self.work / "b"), "b", "b", None, None, {}, None])

    def test_unread(self):
        (self.work / "a").write_text("theirs\n" * 9)
        self.assertEqual(self.play('out.append(patch("*** Add File: a", "+x")); out.append(patch("*** Update File: a", "@@", "-theirs", "+x"))', "--read-before-write", "deny"),
                         ["a has not been read yet. Please read the file first."] * 2)

    def test_reported(self):
        self.play('codex("UserPromptSubmit", None); ask("codex", session_id="c", turn_id="t", hook_event_name="UserPromptSubmit", prompt="do it"); codex("PreToolUse", "Bash", command="true")')
        rows = [json.loads(line) for line in self.seen("log", "--session", "s", "--op", "reported", "--json").stdout.splitlines()]
        self.assertEqual([(row.get("prompt"), row.get("tool"), row.get("input")) for row in rows][1:], [("t", None, "do it"), ("t", "Bash", "true")])


class Qwen(Forms):
    def test_edits(self):
        words = self.play(r'''
def qwen(tool, **tool_input):
    return ask("qwen", session_id="c", hook_event_name="PreToolUse", cwd=os.getcwd(), tool_name=tool, tool_use_id="k", tool_input=tool_input)
write("a", 30); read("a"); out.append(qwen("edit", file_path="a")); outside("a", "external\n")
for tool in ("edit", "write_file", "read_file"): out.append(qwen(tool, file_path=os.path.abspath("a"), content="x"))
''')
        stale = words[1]["hookSpecificOutput"]
        self.assertEqual((words[0], words[2], words[3]), ({}, words[1], {}))
        self.assertEqual((stale["hookEventName"], stale["permissionDecision"]), ("PreToolUse", "deny"))
        self.assertTrue(stale["permissionDecisionReason"].startswith(f"{self.work / 'a'} was modified since you last read it."), stale)


del Forms, Answers

if __name__ == "__main__":
    unittest.main()

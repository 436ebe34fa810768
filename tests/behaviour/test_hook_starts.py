"""What hooks do when a conversation begins, is compacted or resumed: instruction files, what was done before, what it was given in other runs."""
import json
import os
import unittest

from driver import SEEN
from test_hook_answers import Answers
from test_hook_prompts import HEAD

START = HEAD + r'''
def start(source="startup", conversation="c1", **more):
    """The text that the model gets."""
    document = {"session_id": conversation, "hook_event_name": "SessionStart", "source": source, "cwd": os.getcwd(), **more}
    answer = run_hook("claude", document).get("hookSpecificOutput", {})
    assert set(answer) in (set(), {"hookEventName", "additionalContext"}) and answer.get("hookEventName", "SessionStart") == "SessionStart", answer
    return answer.get("additionalContext")
def starts(*arguments, **more): out.append(start(*arguments, **more))
'''


class Starts(Answers):
    def start(self, script, *options, **more):
        return self.play(START + script, *options, **more)


class Instructions(Starts):
    def test_given_once(self):
        (self.work / "AGENTS.md").write_text("use tabs\n")
        (self.work / "sub/deep").mkdir(parents=True)
        (self.work / "sub/AGENTS.md").write_text("no newline")
        (self.work / "sub/GEMINI.md").write_text("of another agent\n")
        (self.work / "sub/CLAUDE.md").write_text("its own\n")
        root, sub = "[Project instructions from AGENTS.md]\nuse tabs", "[Project instructions from sub/AGENTS.md]\nno newline"
        gemini = "[Project instructions from sub/GEMINI.md]\nof another agent"
        self.assertEqual(self.start('''
starts(); starts()
os.chdir("sub/deep"); starts(); starts("resume"); starts("clear", conversation="c2"); os.chdir("../..")
starts("resume", conversation="c2"); open("AGENTS.md", "a").write("more\\n"); starts()
'''), [root, None, f"{sub}\n{gemini}", None, f"{root}\n{sub}\n{gemini}", None, root + "\nmore"])

    def test_what_the_agent_loads(self):
        """By another name, by a line in a file of its own; what is no text or too long is not given."""
        for place, text in (("a/AGENTS.md", "same\n"), ("a/CLAUDE.md", "same\n"), ("b/AGENTS.md", "imported\n"), ("b/CLAUDE.md", "See\n@AGENTS.md\n"),
                            ("c/AGENTS.md", "mine\n"), ("c/CLAUDE.md", "AGENTS.md is another's\n"), ("d/AGENTS.md", "x" * 9000), ("e/AGENTS.md", "a\0b")):
            (self.work / place).parent.mkdir(exist_ok=True)
            (self.work / place).write_text(text)
        (self.work / "f").mkdir()
        os.symlink("/etc/passwd", self.work / "f/AGENTS.md")
        self.assertEqual(self.start('''
for name in "abcdef":
    os.chdir(name); starts(conversation=name); os.chdir("..")
'''), [None, None, "[Project instructions from c/AGENTS.md]\nmine", "[Project instructions in d/AGENTS.md: 9,000 bytes, not given here. Read it.]".replace("9,000", "9000"),
       None, None])


class History(Starts):
    def test_after_a_compaction(self):
        (text,) = self.start(r'''
write("a", 50); start()
hook("PreToolUse", "Read", file_path=os.path.abspath("a")); read("a")
run("cat a | head -1; make things"); run("true")
run_hook("claude", {"session_id": "c1", "hook_event_name": "PostToolUseFailure", "cwd": os.getcwd(), "tool_name": "Bash", "tool_use_id": "its end alone",
                    "tool_input": {"command": "only its end was reported"}})
hook("PreToolUse", "Edit", file_path=os.path.abspath("a")); hook("PostToolUse", "Edit", file_path=os.path.abspath("a"))
hook("PreToolUse", "Other", conversation="c2", file_path="/of/another")
starts("compact")
''', "-c", "history.result_max_length=100")
        lines = text.splitlines()
        self.assertEqual(lines[0], "Before in this conversation, oldest first (`seen history` has all of it):")
        self.assertEqual([line for line in lines if line.endswith(")]") or line.endswith("(failed)")],
                         ["[Tool: Bash(cat a | head -1; make things)] (failed)", "[Tool: Bash(true)]", "[Tool: Bash(only its end was reported)] (failed)",
                          "[Tool: Edit(a)]"])
        (given,) = [line for line in lines if line.startswith("[Tool: Read(a)] → line 0 of the file")]
        self.assertTrue(given.endswith("... [truncated]"), given)
        self.assertNotIn("another", text)
        self.assertNotIn("not on record", text)

    def test_is_bounded(self):
        (text,) = self.start(r'''
write("AGENTS.md", 90); start()
for i in range(200): hook("PreToolUse", "Bash", command="echo %d " % i + "x" * 400)
starts("compact")
''')
        self.assertLess(len(text), 10000)
        self.assertIn("[Project instructions from AGENTS.md]", text)
        self.assertIn("echo 199", text)
        self.assertNotIn("echo 100 ", text)

    def test_behind_a_long_journal(self):
        """Of more than 64 MiB its end is read."""
        (text,) = self.start(r'''
start(); run("echo before")
subprocess.run([sys.executable, "-c", """
import os
for i in range(18000):
    try: os.open("/none" + ("/%0200d" % i) * 19, os.O_RDONLY)
    except OSError: pass
"""], check=True)
run("echo behind"); starts("compact")
''')
        self.assertGreater((self.session_directory("s") / "journal").stat().st_blocks * 512, 64 << 20)
        self.assertIn("[Tool: Bash(echo behind)]", text)
        self.assertNotIn("echo before", text)

    def test_of_other_runs(self):
        """A conversation that is resumed in another session and run."""
        self.start('start(); run("echo of the first run")')
        (text, other) = self.start('start("resume"); run("echo of the second run"); starts("compact"); starts("resume", conversation="c2")', "--session", "t")
        self.assertEqual([line for line in text.splitlines() if line.startswith("[")], ["[Tool: Bash(echo of the first run)]", "[Tool: Bash(echo of the second run)]"])
        self.assertIsNone(other)


class Resumed(Starts):
    def transcript(self, *calls, compacted=False):
        """What Claude Code writes of these calls: (id, text)."""
        path, lines, last = self.top / "transcript.jsonl", [], None
        def add(kind, content, **more):
            nonlocal last
            entry = f"e{len(lines)}"
            lines.append({"parentUuid": last, "isSidechain": False, "type": kind, "uuid": entry, "cwd": str(self.work), "sessionId": "c1",
                          "message": {"role": kind, "content": content}, **more})
            last = entry
            return entry
        add("user", "Do it.")
        for call, text in calls:
            caller = add("assistant", [{"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "x"}}])
            add("user", [{"type": "tool_result", "tool_use_id": call, "content": text}], sourceToolAssistantUUID=caller)
        if compacted:
            last = None
            add("system", "Conversation compacted", subtype="compact_boundary")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)

    GIVE = 'for name in "abcd": write(name, 50); read(name)\nread("d"); write("e", 90); read("e", 1, 30)'

    def resume(self, path, *more):
        return self.start(f'start("resume", transcript_path={path!r})\nfor name in "abcde": reads(name)', "--session", "t", *more)

    def setUp(self):
        super().setUp()
        self.start(self.GIVE)
        self.numbered = "".join(f"{i:6}\t{line}\n" for i, line in enumerate((self.work / "a").read_text().splitlines(), 1))

    def test_proven(self):
        """The calls of these tests have one id; the transcript proves by it, and the text's length."""
        self.assertEqual(self.resume(self.transcript(("t", self.numbered))), ["notice", "notice", "notice", "notice", "same"])

    def test_changed_meanwhile(self):
        with open(self.work / "b", "a") as file:
            file.write("more\n")
        os.unlink(self.work / "c")
        results = self.start(f'start("resume", transcript_path={self.transcript(("t", self.numbered))!r})\ntells(); out.append(edit("b")); write("c", 1)\nfor name in "ab": reads(name)\n'
                             'out.append(edit("b"))', "--session", "t")
        self.assertEqual(results[0], "changed since you read them: b, c (deleted)")
        self.assertIn("was modified since you last read it", results[1])
        self.assertEqual(results[2:], ["notice", "same", None])

    def test_not_proven(self):
        cases = (self.transcript(("other", self.numbered)), str(self.top / "none"), None, "/dev/zero", str(self.work))
        for path in cases:
            self.assertEqual(self.resume(path), ["same"] * 5, path)

    def test_cut(self):
        self.assertEqual(self.resume(self.transcript(("t", self.numbered[:1000]))), ["same"] * 5)

    def test_compacted(self):
        self.assertEqual(self.resume(self.transcript(("t", self.numbered), compacted=True)), ["same"] * 5)

    def test_compacted_by_the_record(self):
        self.start('start("compact")')
        self.assertEqual(self.resume(self.transcript(("t", self.numbered))), ["same"] * 5)

    def test_another_conversation(self):
        path = self.transcript(("t", self.numbered))
        self.assertEqual(self.start(f'start("resume", "c2", transcript_path={path!r})\nreads("a", conversation="c2")\nstart("startup", transcript_path={path!r})\nreads("a")', "--session", "t"),
                         ["same", "same"])


class Branches(Starts):
    """cline tells which results a conversation has that is resumed: what another branch of it was given counts for nothing."""

    def resume(self, results, full=False):
        """Is an edit over another program's change refused, of what the first run had read?"""
        script = r'''
def ask(event, full=False, **more):
    words = ["%s", "answer", "hook", "cline"]
    if full: # nothing can be noted
        (record,) = os.scandir("%s/.local/state/seen/.conversations")
        os.chmod(record.path, 0o400)
        if os.geteuid() == 0: words = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", *words]
    done = subprocess.run(words, input=json.dumps({"session_id": "c1", "hook_event_name": event, "cwd": os.getcwd(), **more}).encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout or "{}")
''' % (SEEN, self.home)
        self.play(START + script + '''
write("a", 50); ask("SessionStart", source="startup")
ask("PostToolUse", tool_name="read_files", tool_use_id="call_0", tool_input={"path": "a"},
    tool_response="\\n".join("%d | %s" % (i, line) for i, line in enumerate(open("a").read().splitlines(), 1)))
''')
        (refused,) = self.play(START + script + f'''
outside("a", "more\\n"); ask("SessionStart", {full}, source="resume", results={results})
out.append("refuse" in ask("PreToolUse", tool_name="editor", tool_use_id="call_1", tool_input={{"path": "a"}}))
''', "--session", "t")
        return refused

    def test_same_branch(self):
        self.assertTrue(self.resume({"call_0": 2500}))

    def test_other_branch(self):
        self.assertFalse(self.resume({"call_9": 2500}))

    def test_numbered_calls(self):
        """The other branch has a call of the same id, whose result is shorter than the file."""
        self.assertFalse(self.resume({"call_0": 100}))

    def test_full(self):
        """Nor where that cannot be noted, as on a full disk."""
        self.assertFalse(self.resume({"call_9": 2500}, full=True))


if __name__ == "__main__":
    unittest.main()

"""What hooks tell the model when a prompt is submitted: what changed since, what was undone, which failed command could be; each once."""
import json
import os
import re
import unittest

from test_hook_answers import Answers

HEAD = r'''
def prompt(words="go on", conversation="c1", **more):
    """The text that the model gets."""
    document = {"session_id": conversation, "hook_event_name": "UserPromptSubmit", "prompt_id": "p", "cwd": os.getcwd(), "prompt": words, **more}
    answer = run_hook("claude", document).get("hookSpecificOutput", {})
    assert set(answer) in (set(), {"hookEventName", "additionalContext"}), answer
    return answer.get("additionalContext")
def tells(*arguments, **more): out.append(prompt(*arguments, **more))
def run(command, call="t", tool="Bash"):
    hook("PreToolUse", tool, command=command)
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    if done.returncode: hook("PostToolUseFailure", tool, command=command)
    else: hook("PostToolUse", tool, {"stdout": text.rstrip("\n"), "stderr": ""}, command=command)
'''


class Prompts(Answers):
    def ask(self, script, *options, **more):
        return self.play(HEAD + script, *options, **more)

    def test_changed(self):
        self.assertEqual(self.ask(r'''
for name in "abcdef": write(name, 50)
write("other", 50)
tells()
for name in "abc": read(name)
run("cat d e")                                                    # its output proves what it gave
read("f", 1, 20)
tells()
outside("a", "x\ny\n"); os.unlink("c"); subprocess.run(["sed", "-i", "1d", "b"]); outside("other", "x")
tells(); tells()
outside("d", "x\n"); outside("f", "", "w")
tells(conversation="c2"); tells(); tells()
outside("a", "z\n"); tells(); read("a"); tells()
outside("a", "z\n"); read("a"); tells()                           # read since
write("e", 51); tells()                                           # the agent's own
outside("e", "x\n"); tells()
'''), [None, None, "changed since you read them: a (+2 -0, by another program)", None, None,
       "changed since you read them: d (+1 -0, by another program), f (+0 -50, by another program)", None,
       "changed since you read them: a (+3 -0, by another program)", None, None, None,
       "changed since you read them: e (by another program)"])

    def test_changed_before_the_watcher_came_to_it(self):
        """The watcher inspects a file for the first time that no agent read, and that is another already: no process of the session can have done it."""
        names = [f"f{number}" for number in range(12)]
        texts = self.ask(f"""
for name in {names}:
    write(name, 50); tells("use @" + name); outside(name, "x\\n"); subprocess.run(["sleep", "0.1"])
tells()
""", "-c", "watch.quiet_ms=1")
        self.assertEqual(texts, [None, *(self.known_author(f"changed since you read them: {name} (by another program)") for name in names)])

    def test_deleted(self):
        self.assertEqual(self.ask(r'''
write("a", 50); write("b", 50); read("a"); read("b")
outside("a", None, "unlink"); tells(); tells()
write("a", 50); tells()
'''), ["changed since you read them: a (deleted)", None, None])

    def test_a_session_that_only_observes(self):
        self.assertEqual(self.ask(r'''
write("a", 50); read("a")
outside("a", "x\ny\n"); tells()
''', "--mode", "observe"), [None])

    def test_mentioned(self):
        """A file that the prompt names counts as given: what changes since is reported, and its edit is checked."""
        (self.work / "e").write_text("theirs\n" * 20)
        results = self.ask(r'''
os.mkdir("d")
for name in ("a", "d/b.c", "with words", "g"): write(name, 20)
tells('use @a, (@d/b.c#L3-5) and @"with words"; not me@e.f @nothing @/etc/passwd @' + os.path.abspath("g"))
tells()
for name in ("a", "d/b.c", "with words", "e", "g"): outside(name, "x\n")
tells()
out.append(edit("a")); out.append(edit("e"))
''')
        self.assertEqual(results[:2], [None, None])
        self.assertEqual(results[2], "changed since you read them: " + ", ".join(
            self.known_author(name + " (by another program)") for name in ("a", "d/b.c", "with words", "g")))
        self.assertIn("was modified since you last read it", results[3])
        self.assertIsNone(results[4])
        mentioned = [json.loads(line)["path"] for line in self.seen("log", "--session", "s", "--op", "mentioned", "--json").stdout.splitlines()]
        self.assertEqual(len(mentioned), 4, mentioned)

    def test_undone(self):
        """What `seen undo` changed, and a failed command that it could take back."""
        results = self.ask(r'''
write("a", 50); write("b", 50); read("a"); read("b")
tells()
hook("PreToolUse", "Write"); write("a", 51); write("new", 3); os.unlink("b"); hook("PostToolUse", "Write")
tells()
outside("/", ["undo", "--last"], "seen")
tells(); tells()
outside("/", ["redo"], "seen")
tells(); tells()
run("echo x >> a; echo y > made; exit 3"); tells(); tells()
run("exit 3"); tells()
run("echo x >> a; exit 4"); outside("/", ["undo", "--last"], "seen"); tells()
''')
        self.assertEqual(results, [
            None, None,
            "changed by `seen undo` since you left them: a (+0 -1), b (is there again), new (removed)", None,
            "changed by `seen undo` since you left them: a (+1 -0), b (removed), new (is there again)", None,
            "`echo x >> a; echo y > made; exit 3` failed (exit status 3) and had changed a, made: `seen undo --step 3` takes that back", None,
            None, "changed by `seen undo` since you left them: a (+0 -1)"])

    def test_undone_before_the_conversation(self):
        """What was undone before is no news, also where that could not be read when the conversation began."""
        self.assertEqual(self.ask(f'''
import pathlib
write("a", 50); tells()
hook("PreToolUse", "Write"); write("a", 51); hook("PostToolUse", "Write")
outside("/", ["undo", "--last"], "seen")
(plan,) = pathlib.Path({str(self.top)!r}).rglob("op-*/plan")
plan.rename(plan.with_name("aside")); plan.mkdir()
tells(conversation="c2")
plan.rmdir(); plan.with_name("aside").rename(plan)
tells(conversation="c2"); tells(conversation="c2"); tells()
'''), [None, None, None, None, "changed by `seen undo` since you left them: a (+0 -1)"])

    def test_many(self):
        (text, rest, none) = self.ask(r'''
for i in range(25): write("f%02d" % i, 20); read("f%02d" % i)
for i in range(25): outside("f%02d" % i, "x\n")
for _ in range(3): tells()
''')
        self.assertEqual((text.count("by another program"), rest.count("by another program"), none), (20, 5, None))
        self.assertTrue(text.endswith(" and 5 more"), text)

    def test_record(self):
        """The record is this user's alone, holds no content, and one that others may write to is not believed."""
        self.ask('write("a", 50); read("a"); tells()')
        (place,) = self.top.rglob(".conversations")
        (record,) = place.iterdir()
        self.assertEqual((place.stat().st_mode & 0o777, record.stat().st_mode & 0o777), (0o700, 0o600))
        first, *lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual(first, {"event": "conversation", "workspace": str(self.work), "agent": "claude", "id": "c1"})
        self.assertIn("given", [line["event"] for line in lines])
        self.assertNotIn("some words", record.read_text())
        good = record.read_text()
        line = '(open("a", "a")).close(); outside("a", "x\\n"); tells()'
        for bad in ("", "{", "[]\n", good.replace("c1", "c9"), re.sub(r'"version":"[^"]*"', '"version":"../x"', good)):
            record.write_text(bad)
            self.assertEqual(self.ask(line), [None], bad)
        for still_good in (good[:-9], good + "\x00\xff{\n"):
            record.write_text(still_good)
            self.assertEqual(self.ask(line), [self.known_author("changed since you read them: a (by another program)")], still_good)
        record.write_text(good)
        record.chmod(0o666)
        self.assertEqual(self.ask('outside("a", "x\\n"); tells()'), [None])


if __name__ == "__main__":
    unittest.main()

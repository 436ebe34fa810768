"""What an agent's hook reports of prompts and tool calls: events of the journal, and steps of the story."""
import json
import os
import re
import signal
import subprocess
import unittest

from driver import RUN_HOOK, SEEN, Case
from harness import wait_until
from test_story import Story

# What steps of an agent (test_story.py) begin with.
HOOK = RUN_HOOK + r'''
def hook(event, tool=None, call=None, prompt="p1", words=None, conversation="c1", **tool_input):
    document = {"session_id": conversation, "hook_event_name": event, "prompt_id": prompt}
    if words: document["prompt"] = words
    if tool: document.update(tool_name=tool, tool_use_id=call, tool_input=tool_input)
    answer = run_hook("claude", document)
    assert not answer, answer
def called(tool, call, act, **more):
    hook("PreToolUse", tool, call, **more)
    act()
    hook("PostToolUse", tool, call, **more)
def write(name):
    open(name, "a").write("more\n")
def shell(command):
    subprocess.run(["bash", "-c", "true && eval '%s'" % command])
'''


class Reports(Story):
    def test_steps_carry_their_tool_calls(self):
        self.run_steps([HOOK + '''
hook("UserPromptSubmit", words="make two files\\n")
called("Edit", "t1", lambda: write("a"), file_path="/w/a")
called("Edit", "t2", lambda: write("b"), file_path="/w/b")
called("Bash", "t3", lambda: shell("echo x > c"), command="echo x > c")
hook("UserPromptSubmit", prompt="p2", words="and one more")
called("Write", "t4", lambda: write("d"), file_path="/w/d", prompt="p2", content="...")
'''])
        steps = self.steps()
        self.assertEqual([(step["kind"], sorted(self.files(step)), step["tool_call"] and (
            step["tool_call"]["id"], step["tool_call"]["tool"], step["tool_call"]["input"], step["tool_call"]["prompt_text"])) for step in steps], [
                ("own_action", ["a"], ("t1", "Edit", "/w/a", "make two files\n")),
                ("own_action", ["b"], ("t2", "Edit", "/w/b", "make two files\n")),
                ("command", ["c"], ("t3", "Bash", "echo x > c", "make two files\n")),
                ("own_action", ["d"], ("t4", "Write", "/w/d", "and one more"))])
        self.assertEqual({step["tool_call"]["conversation"] for step in steps}, {"c1"})
        story = self.seen("story", "--session", "s").stdout.decode()
        words = [" ".join(line.split()) for line in story.splitlines()]
        self.assertLess(words.index(r"p1 > make two files\n"), words.index("p2 > and one more"))
        self.assertRegex(story, r"(?m)^ +1 .* own  Edit /w/a$")
        self.assertNotIn("answer hook", story)
        # each by itself
        self.seen("undo", "--session", "s", "--step", "2", code=0)
        self.assertEqual(sorted(name for name in os.listdir(self.work) if len(name) == 1), ["a", "c", "d"])

    def test_a_hook_of_an_agent_that_forks(self):
        """An agent whose copy of itself becomes the hook's shell, as Node's do: hooks are no steps of its story."""
        self.run_steps(['''
import os
for command in ("exec '%s' answer hook pi </dev/null >/dev/null 2>&1", "'%s' forget --hook PreCompact >/dev/null 2>&1 || :", "echo '%s' > a"):
    child = os.fork()
    if not child: os.execv("/bin/sh", ["sh", "-c", command %% SEEN_PROGRAM])
    os.waitpid(child, 0)
'''.replace("%%", "%").replace("SEEN_PROGRAM", repr(SEEN))])
        self.assertEqual([sorted(self.files(step)) for step in self.steps()], [["a"]])
        self.assertNotIn(b"hook", self.seen("story", "--session", "s").stdout)

    def test_calls_at_once(self):
        """A command belongs to the call that has its words; where nothing tells, to none."""
        self.run_steps([HOOK + '''
hook("PreToolUse", "Bash", "t1", command="echo one > a")
hook("PreToolUse", "Bash", "t2", command="echo two > b")
shell("echo two > b"); shell("echo one > a"); write("c"); shell("true; : > d")
hook("PostToolUse", "Bash", "t1"); hook("PostToolUse", "Bash", "t2")
write("e")
hook("PreToolUse", "Edit", "t3", file_path="/w/f")  # fails, which is not reported
hook("UserPromptSubmit", prompt="p2", words="next")
called("Edit", "t4", lambda: write("g"), file_path="/w/g", prompt="p2")
'''])
        self.assertEqual([(sorted(self.files(step)), step["tool_call"] and step["tool_call"]["id"]) for step in self.steps()],
                         [(["b"], "t2"), (["a"], "t1"), (["c"], None), (["d"], None), (["e"], None), (["g"], "t4")])

    PROMPTS = HOOK + """
hook("SessionStart", prompt=None)
hook("UserPromptSubmit", words="make two files")
called("Edit", "t1", lambda: write("a"), file_path="/w/a")
called("Bash", "t2", lambda: shell("echo x > b"), command="echo x > b")
hook("UserPromptSubmit", prompt="p-two", words="make another")
called("Task", "t3", lambda: None, prompt="p-two")
called("Edit", "t4", lambda: write("a"), file_path="/w/a", prompt="p-two", conversation="side")
called("Bash", "t5", lambda: shell("echo y >> b"), command="echo y >> b", prompt="p-two")
hook("UserPromptSubmit", prompt=None, words="an agent without ids of prompts")
called("Write", "t6", lambda: write("c"), file_path="/w/c", prompt=None)
hook("PreToolUse", "Write", "t7", prompt=None); hook("PreToolUse", "Write", "t8", prompt=None)
write("d")  # by one of two calls, of one prompt
hook("PostToolUse", "Write", "t7", prompt=None); hook("PostToolUse", "Write", "t8", prompt=None)
"""

    def test_since_prompt(self):
        """A prompt is named by its number, its id or its words; of a sub-agent's calls it is their agent's."""
        self.run_steps([self.PROMPTS])
        self.assertEqual([(sorted(self.files(step)), step["tool_call"]["id"], step["tool_call"]["prompt_number"], step["tool_call"]["prompt"])
                          for step in self.steps()], [
            (["a"], "t1", 1, "p1"), (["b"], "t2", 1, "p1"), (["a"], "t4", 2, "p-two"), (["b"], "t5", 2, "p-two"), (["c"], "t6", 3, None),
            (["d"], None, 3, None)])
        patches = {word: self.seen("diff", "--session", "s", "--since", word, code=0).stdout for word in ("p2", "p-two", "make a", "make another")}
        self.assertEqual(len(set(patches.values())), 1, patches)
        self.assertEqual(patches["p2"].count(b"diff --git"), 4)
        self.assertNotIn(b"+x", patches["p2"])
        self.assertIn(b"+y", patches["p2"])
        for word, code, words in (("p9", 1, "no prompt p9"), ("p0", 1, "no prompt"), ("make", 2, "several prompts"), ("pancake", 2, "--since takes"), ("", 2, "--since takes")):
            for command in ("diff", "undo"):
                self.assertIn(words, self.seen(command, "--session", "s", "--since", word, code=code).stderr.decode())
        blame = self.json("blame", "a", "--session", "s")
        self.assertEqual([blame["origins"][origin]["tool_call"]["prompt_number"] for origin in blame["lines"]], [1, 2])
        for name, lines in (("a", ["1 TIME p1 Edit /w/a 1) more", "3 TIME p2 Edit /w/a 2) more", "", "p1 > make two files", "p2 > make another"]),
                            ("b", ["2 TIME p1 Bash true && eval 'echo x > b' 1) x", "4 TIME p2 Bash true && eval 'echo y >> b 2) y", "", "p1 > make two files", "p2 > make another"])):
            text = re.sub(r"\d\d:\d\d:\d\d", "TIME", self.seen("blame", name, "--session", "s", code=0).stdout.decode())
            self.assertEqual([" ".join(line.split()) for line in text.splitlines()], lines)
        self.assertIn(b"\np3 > an agent without ids of prompts\n", self.seen("blame", "c", "--session", "s", code=0).stdout)
        self.seen("undo", "--session", "s", "--since", "p3", code=0)
        self.assertEqual(sorted(name for name in os.listdir(self.work) if len(name) == 1), ["a", "b"])
        self.seen("undo", "--session", "s", "--since", "make another", code=0)
        self.assertEqual(((self.work / "a").read_text(), (self.work / "b").read_text()), ("more\n", "x\n"))
        self.seen("redo", "--session", "s", code=0)
        self.assertEqual((self.work / "b").read_text(), "x\ny\n")
        self.seen("undo", "--session", "s", "--since", "p1", code=0)
        self.assertEqual([name for name in os.listdir(self.work) if len(name) == 1], [])

    def test_events(self):
        self.run_steps([HOOK + 'called("Bash", "t1", lambda: None, command="x" * 600 + chr(233) * 9)\n'])
        lines = [json.loads(line) for line in self.seen("log", "--session", "s", "--json").stdout.splitlines()]
        self.validate_by("log.schema.json", lines)
        found = [line for line in lines if line["op"] == "reported"]
        self.assertEqual([line["hook"] for line in found], ["PreToolUse", "PostToolUse"])
        scopes = {line["of_scope"] for line in found}
        self.assertEqual((len(scopes), None in scopes), (1, False))
        self.assertEqual({(line["conversation"], line["prompt"], line["call"], line["tool"]) for line in found}, {("c1", "p1", "t1", "Bash")})
        self.assertEqual(found[0]["input"], "x" * 512)
        self.assertIn(b"PreToolUse Bash xxx", self.seen("log", "--session", "s", "--op", "tool").stdout)


class Silent(Case):
    def ask(self, data, *words, **more):
        done = subprocess.run([SEEN, "answer", "hook", *(words or ("claude",))], input=data, env={**self.env, **more}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_what_is_not_its_business(self):
        good = json.dumps({"session_id": "c", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "/x"}}).encode()
        self.ask(good)
        self.ask(good, "another")
        self.seen("run", "--session", "s", "--", "true", code=0)
        (session,) = (directory for directory, _, names in os.walk(self.top) if "segment" in names)
        for data in (good, b"", b"{", b"[]", b"null", b'{"session_id": 1}', b'{"session_id": "c"}', b"\xff" * 1000, b"[" * 100000):
            self.ask(data, SEEN_SESSION=session)
        self.ask(good, SEEN_SESSION="/nonexistent/x")
        self.assertNotIn("reported", self.seen("log", "--session", "s", "--json").stdout.decode())

    def test_ends_well(self):
        """Another end might be taken for a refusal: the shell that started it is no more there to hide it.  It is named."""
        def is_ready(pid):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                return int(re.search(r"SigCgt:\s*(\w+)", file.read())[1], 16) >> (signal.SIGSEGV - 1) & 1
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGPIPE, signal.SIGXCPU, signal.SIGXFSZ):
            hook = subprocess.Popen([SEEN, "answer", "hook", "claude"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            wait_until(lambda pid=hook.pid: is_ready(pid))
            hook.send_signal(number)
            self.assertEqual((hook.communicate()[0].decode(), hook.returncode), (f"seen: the hook was ended by {number.name}\n", 0))


if __name__ == "__main__":
    unittest.main()

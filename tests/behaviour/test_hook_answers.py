"""What hooks answer to the agent's reads and edits by its tools: the hook is run as Claude Code runs it, by a scripted agent."""
import datetime
import json
import os
import subprocess
import threading
import unittest

from driver import RUN_HOOK, SEEN
from test_story import Story

# What steps of an agent (test_story.py) begin with.
AGENT = r'''
import os, random, time
out = []
def hook(event, tool=None, response=None, conversation="c1", **tool_input):
    document = {"session_id": conversation.split("/")[0], "hook_event_name": event, "prompt_id": "p1", "cwd": os.getcwd(), "tool_name": tool,
                "tool_use_id": "t", "tool_input": tool_input}
    if "/" in conversation: document["agent_id"] = conversation.split("/")[1]
    if response is not None: document["tool_response"] = response
    answer = run_hook("claude", document).get("hookSpecificOutput", {})
    assert answer.pop("hookEventName", event) == event
    return answer
def forget(event):
    subprocess.run(["sh", "-c", "%(seen)s forget --hook " + event], check=True)
def given(name, offset=1, limit=None):
    pieces = open(name, newline="").read().split("\n")
    part = pieces[offset - 1:][:limit]
    return {"type": "text", "file": {"filePath": os.path.abspath(name), "content": "\n".join(part), "numLines": len(part), "startLine": offset,
                                     "totalLines": len(pieces)}}
def read(name, offset=None, limit=None, conversation="c1", response=None):
    """What the model gets: "same" as the tool gave, or the text in its place."""
    words = {key: value for key, value in (("offset", offset), ("limit", limit)) if value}
    response = given(name, offset or 1, limit) if response is None else response
    answer = hook("PostToolUse", "Read", response, conversation, file_path=os.path.abspath(name), **words)
    if not answer: return "same"
    new = answer.pop("updatedToolOutput")
    assert not answer and new["type"] == "text" and set(new["file"]) == {"filePath", "content", "numLines", "startLine", "totalLines"}, new
    assert new["file"]["filePath"] == os.path.abspath(name)
    return new["file"]["content"]
def kind(text):
    for word, begin in (("notice", "[File previously read: "), ("lines", "[Lines "), ("diff", "[File changed since ")):
        if text.startswith(begin): return word
    return text if text == "same" else "text"
def reads(*arguments, **more): out.append(kind(read(*arguments, **more)))
def edit(name, tool="Edit", **more):
    return hook("PreToolUse", tool, file_path=os.path.abspath(name), **more).get("permissionDecisionReason")
def outside(name, text, mode="a"):
    with open("%(ask)s", "w") as pipe: json.dump([os.path.abspath(name), mode, text], pipe)
    open("%(ask)s.done").read()
def write(name, count, text="line %%d of the file, with some words"):
    with open(name, "w") as file: file.write("".join(text %% i + "\n" for i in range(count)))
def shell(command, cut=None, reports=True, **response):
    """What a command printed, as the agent gets it; its hook reports it, whole or as the first `cut` characters with where the rest is."""
    if reports: hook("PreToolUse", "Bash", command=command)
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    if cut: response["persistedOutputPath"] = "/somewhere"
    if reports and done.returncode == 0: hook("PostToolUse", "Bash", {"stdout": text.rstrip("\n")[:cut], "stderr": "", **response}, command=command)
    elif reports: hook("PostToolUseFailure", "Bash", command=command)
    return text
def runs(*arguments, **more): out.append("notice" if shell(*arguments, **more).startswith("[File prev") else "real")
def tell(): json.dump(out, open("%(result)s", "w"))
'''


class Answers(Story):
    def serve(self, ask):
        """An external program, which changes files when the agent's script asks for it."""
        while True:
            try:
                path, mode, text = json.loads(ask.read_text())
            except FileNotFoundError:
                return  # the test has ended
            if mode == "unlink":
                os.unlink(path)
            elif mode == "seen":
                subprocess.run([SEEN, *text, "--session", "s"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
            else:
                with open(path, mode) as file:
                    file.write(text)
            with open(str(ask) + ".done", "w"):
                pass

    def play(self, script, *options, **more):
        """What a script of the agent results."""
        result = self.top / "result"
        result.unlink(missing_ok=True)
        ask = self.top / "ask"
        if not ask.exists():
            os.mkfifo(ask)
            os.mkfifo(str(ask) + ".done")
            threading.Thread(target=self.serve, args=[ask], daemon=True).start()
        head = RUN_HOOK + AGENT % {"seen": SEEN, "result": result, "ask": ask}
        (self.top / "steps").write_text(json.dumps([[head + script + "\ntell()"]]))
        (self.top / "stepper.py").write_text("import json, subprocess, sys\nfor step in json.load(open(sys.argv[1])):\n    exec(step[0], {**globals()})\n")
        self.seen("run", "--session", "s", "--via", "preload", "--agent", "stepper.py", *options, "--", "python3", str(self.top / "stepper.py"),
                  str(self.top / "steps"), code=0, **more)
        return json.loads(result.read_text())


    def known_author(self, text, session="s"):
        """A text as it must be: with who changed a file, unless a process took half a second to be observed, which may have been it."""
        started, slow = {}, False
        for event in map(json.loads, self.seen("log", "--session", session, "--op", "exec,start", "--json").stdout.splitlines()):
            time = datetime.datetime.fromisoformat(event["time"][:26])
            if event["op"] == "exec":
                started[event["pid"]] = time
            else:
                slow |= time - started.get(event["pid"], time) > datetime.timedelta(seconds=0.5)
        return text.replace(" (by another program)", "") if slow else text


class Reads(Answers):
    def test_whole_files(self):
        self.assertEqual(self.play('''
write("a", 50); write("short", 3)
for _ in range(3): reads("a")
for _ in range(2): reads("short")
text = read("a")
write("a", 51); reads("a"); reads("a")      # the agent's own edit: what changed; asked again: the file
reads("a")
write("a", 50, "another line %d, and no other is as it was"); reads("a"); reads("a")
open("b", "w").write(open("a").read() + "no newline"); reads("b"); reads("b")
'''), ["same", "notice", "same", "same", "same", "diff", "same", "same", "same", "notice", "same", "notice"])
        counts = self.json("status", "--session", "s")["counters"]
        self.assertEqual((counts["notices"], counts["diffs"]), (3, 1))
        ops = [json.loads(line)["op"] for line in self.seen("log", "--session", "s", "--json").stdout.splitlines()]
        self.assertEqual([ops.count(op) for op in ("notice", "diffed")], [3, 1])

    def test_lines(self):
        self.assertEqual(self.play('''
write("a", 2000)  # more than [notice] max_bytes: its lines are answered all the same
reads("a", 1, 200); reads("a", 20, 100); reads("a", 20, 100); reads("a", 150, 100); reads("a", 201, 49)
reads("a", 120, 130)
write("c", 300); reads("c", 100, 100)
out.append(read("c", 120, 60).split(". ")[0])
write("b", 100)
reads("b", 1, 60); reads("b", 50, 70); reads("b")         # all of it, though not at once
reads("b", 10, 50); reads("b", 60, 41)                    # of what was given whole
outside("b", "changed\\n"); reads("b", 10, 50); reads("b", 10, 50)
'''), ["same", "lines", "same", "same", "same", "same", "same", "[Lines 120-179 previously read: " + str(self.work / "c"),
       "same", "same", "notice", "same", "same", "same", "lines"])

    def test_conversations(self):
        """Another one, a sub-agent, after a compaction, forgotten: the real bytes."""
        self.assertEqual(self.play('''
write("a", 50)
reads("a"); reads("a", conversation="c2"); reads("a", conversation="c1/side"); reads("a", conversation="c2"); reads("a")
forget("PreCompact"); reads("a"); reads("a"); forget("SessionStart"); reads("a")
forget("SubagentStart"); reads("a"); reads("a"); forget("SubagentStop"); reads("a"); reads("a")
subprocess.run(["%s", "forget", "a"]); reads("a")
write("r", 50); reads("r", 1, 30); subprocess.run(["%s", "forget", "r"]); reads("r", 1, 30)
''' % (SEEN, SEEN)), ["same", "same", "same", "notice", "notice", "same", "notice", "same", "same", "same", "same", "notice", "same", "same", "same"])

    def test_what_is_not_known(self):
        """No answer, and no later one, where the tool gave other bytes than the file has."""
        self.assertEqual(self.play(r'''
open("crlf", "w", newline="").write("some words\r\n" * 90)
def bent(**more):
    response = given("a"); response["file"].update(more); return response
write("a", 50)
for response in (bent(content="x"), bent(totalLines=60), bent(startLine=2), bent(numLines=3), bent(content=None), {"type": "image", "file": {}}, {"type": "text"}, []):
    reads("a", response=response)
reads("a")
crlf = given("crlf"); crlf["file"]["content"] = crlf["file"]["content"].replace("\r", "")
for _ in range(2): reads("crlf", response=crlf)
os.symlink("a", "link"); reads("link"); reads("a", response={"type": "file_unchanged", "file": {}})
for name in ("/etc/passwd", "/dev/null", "/nonexistent", "."): reads(name, response=given("a"))
'''), ["same"] * 11 + ["notice"] + ["text"] + ["same"] * 4)

    def test_stub_of_the_agent(self):
        """Claude Code says by itself that a file is unchanged; one who asks again after our answer gets the content."""
        self.assertEqual(self.play(r'''
stub = {"type": "file_unchanged", "file": {"filePath": os.path.abspath("a")}}
stub_of_b = {"type": "file_unchanged", "file": {"filePath": os.path.abspath("b")}}
write("a", 50); reads("a", response=stub); reads("a"); reads("a", response=stub); reads("a")
text = read("a", response=stub); out.append(text == open("a").read())
write("b", 90); reads("b", 10, 60); reads("b", 20, 40)
out.append(read("b", 20, 40, response=stub_of_b) == "\n".join(open("b").read().split("\n")[19:59]))
'''), ["same", "same", "same", "notice", True, "same", "lines", True])

    def test_stub_of_what_is_gone(self):
        """Claude Code says that a file is unchanged which it took out of the conversation (a rewind), or read in another one (/resume)."""
        self.assertEqual(self.play(r'''
stub = {"type": "file_unchanged", "file": {"filePath": os.path.abspath("a")}}
write("a", 50); reads("a"); reads("a", response=stub)
forget("SessionStart"); out.append(read("a", response=stub) == open("a").read()); reads("a", response=stub)
'''), ["same", "same", True, "same"])

    def test_other_hooks(self):
        """Where another hook may replace what the tool gives, it is not known what the model has."""
        own = {"hooks": [{"type": "command", "command": "seen answer hook claude 2>/dev/null || :"}]}
        theirs = {"hooks": [{"type": "command", "command": "mine"}]}
        first, *others = (self.home / ".claude/settings.json", self.work / ".claude/settings.json", self.work / ".claude/settings.local.json")
        skill = self.work / ".claude/skills/x/SKILL.md"
        skill.parent.mkdir(parents=True)
        cases = [(first, [own], {}, "notice"), (first, [own, {**theirs, "matcher": "Bash|Edit"}], {}, "notice"), (first, [own, theirs], {}, "same"),
                 (first, [{**theirs, "matcher": "Edit|Read"}], {}, "same"), (first, [{**theirs, "matcher": "R.*"}], {}, "same"),
                 (first, [own], {"enabledPlugins": {"x": True}}, "same"), *((place, [theirs], {}, "same") for place in others)]
        script = "forget('SessionStart'); reads('a'); reads('a')\n"
        steps = ["write('a', 50)\n"]
        for place, groups, more, _ in cases:  # the agent's own writes: all in one run
            text = json.dumps({"hooks": {"PostToolUse": groups}, **more})
            steps.append(f"os.makedirs({str(place.parent)!r}, exist_ok=True); open({str(place)!r}, 'w').write({text!r}); {script}os.unlink({str(place)!r})\n")
        steps.append(f"open({str(first)!r}, 'w').write('{{'); {script}os.unlink({str(first)!r})\n")
        steps.append(f"open({str(skill)!r}, 'w').write('---\\nhooks:\\n  PostToolUse: x\\n---\\n'); {script}os.unlink({str(skill)!r})\n")
        steps.append(script)
        results = self.play("".join(steps))
        self.assertEqual(results[::2], ["same"] * (len(cases) + 3))
        self.assertEqual(results[1::2], [last for _, _, _, last in cases] + ["same", "same", "notice"])

    def test_random(self):
        """What the answers claim as known is so for a model that keeps what it was given."""
        results = self.play(r'''
random.seed(%d)
names = ["f%%d" %% i for i in range(3)]
for name in names: write(name, random.randrange(20, 120))
has, counts = {}, {}  # (conversation, file): {line: text}, by the text that it was whole as, or None
def apply(old, diff):
    subprocess.run(["rm", "-rf", "%s"]); os.makedirs("%s")
    open("%s/f", "w").write(old)
    diff = diff.split("\n", 1)[1] + "\n"
    subprocess.run(["patch", "-s", "%s/f"], input=diff.encode(), stdout=subprocess.DEVNULL)  # of another version it fails
    return open("%s/f").read()
for _ in range(%d):
    name, conversation, act = random.choice(names), random.choice(["c1", "c1", "c2"]), random.random()
    text = open(name).read(); lines = text.split("\n")
    known = has.setdefault((conversation, name), {"whole": [], "parts": set()})
    if act < 0.08: write(name, random.randrange(20, 120))
    elif act < 0.2:
        lines[random.randrange(len(lines) - 1)] = "changed %%f" %% random.random(); open(name, "w").write("\n".join(lines))
    elif act < 0.23: outside(name, "by another %%f\n" %% random.random())
    elif act < 0.26: forget("PreCompact"); has.clear()
    else:
        first, count = (1, None) if act < 0.6 else (random.randrange(1, len(lines)), random.randrange(1, 60))
        got = read(name, first, count, conversation); what = kind(got)
        counts[what] = counts.get(what, 0) + 1
        asked = list(enumerate(lines, 1))[first - 1:][:count]
        if what == "same":
            if count is None: known["whole"].append(text)
            known["parts"].update((text, number, line) for number, line in asked)
        elif what == "diff": assert any(apply(old, got) == text for old in known["whole"]), got; known["whole"].append(text)
        elif what == "notice": assert text in known["whole"] or all((text, n, l) in known["parts"] for n, l in asked[:-1]), (name, got)
        else: assert text in known["whole"] or all((text, n, l) in known["parts"] for n, l in asked if n < len(lines)), (name, got)
out.append(counts)
''' % ((7,) + (self.top / "patched",) * 5 + (2000 if os.environ.get("SEEN_LONG") == "1" else 150,)))
        self.assertGreater(min(results[0].get(what, 0) for what in ("notice", "lines", "diff", "same")), 0, results)


class Commands(Answers):
    def test_proven(self):
        """What the hook has whole counts, however long; what the model is given a part of does not, however short."""
        self.assertEqual(self.play(r'''
write("long", 500); write("too", 500); write("a", 50); write("b", 50); write("c", 50); write("d", 50)
for reports in (False, False, True, True): runs("cat long too", reports=reports)   # more than the agent is measured to pass on
runs("cat a; echo done"); runs("cat a")
runs("cat b", cut=100); runs("cat b")            # proven now
runs("cat b")
runs("cat c", reports=False); runs("cat c")      # not reported: as measured
runs("cat d; cat long too", cut=1500); runs("cat d")
'''), ["real", "real", "real", "notice", "real", "notice", "real", "real", "notice", "real", "notice", "real", "real"])
        self.assertEqual(self.json("status", "--session", "s")["counters"]["notices"], 5)

    def test_other_hooks(self):
        """Where another hook may replace the output, nothing is proven."""
        settings = self.home / ".claude/settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}))
        self.assertEqual(self.play('write("long", 500); write("too", 500)\nfor _ in range(3): runs("cat long too")'), ["real"] * 3)
        settings.unlink()
        self.assertEqual(self.play('for _ in range(2): runs("cat long too")'), ["real", "notice"])


class BothWays(Answers):
    def test_changed_and_back(self):
        """What a command gave since is what the model read last, though the file is again as the tool gave it; and the other way round."""
        self.assertEqual(self.play(r'''
write("a", 50); reads("a"); outside("a", "external\n"); runs("cat a"); write("a", 50); reads("a")
reads("a")
write("b", 50); runs("cat b"); outside("b", "external\n"); reads("b"); write("b", 50); runs("cat b")
write("c", 50); reads("c"); runs("cat c"); reads("c"); runs("cat c")          # it did not change
write("d", 50); reads("d", 1, 30); outside("d", "l0\n", "w"); runs("cat d"); write("d", 50); reads("d", 5, 20)
write("e", 50); reads("e"); outside("e", "l0\n" * 60, "w"); runs("head -5 e"); write("e", 50); reads("e")
write("f", 50); runs("cat f"); outside("f", "l0\n" * 60, "w"); reads("f", 3, 4); write("f", 50); runs("cat f")
'''), ["same", "real", "same", "notice", "real", "same", "real", "same", "real", "notice", "notice", "same", "real", "same", "same", "real", "same",
       "real", "same", "real"])


class Edits(Answers):
    def setUp(self):
        super().setUp()
        (self.work / "theirs").write_text("words\n" * 90)

    def test_agents_own_reads(self):
        """An agent that reads a changed file by itself: its model knows what it was given."""
        own, stub, after, again = self.play(r'''
import time
write("a", 50); read("a"); outside("a", "external\n")
open("a").read(); time.sleep(0.6); out.append(edit("a"))
stub = {"type": "file_unchanged", "file": {"filePath": os.path.abspath("a")}}
reads("a", response=stub); out.append(edit("a")); reads("a", response=stub)
''')
        self.assertIn("was modified since you last read it", own)
        self.assertEqual((stub, after, again), ("diff", None, "text"))

    def test_never_given(self):
        """What the agent itself read was not read by its model."""
        own, given = self.play(r'''
import time
hook("PreToolUse", "Other")
open("theirs").read(); time.sleep(0.6); out.append(edit("theirs", "Write", content="x"))
read("theirs"); out.append(edit("theirs", "Write", content="x"))
''', "--read-before-write", "deny")
        self.assertIn("has not been read yet", own)
        self.assertIsNone(given)

    def test_read_while_it_changed(self):
        """What the tool gave is no version that is there: the model does not know the one that is."""
        young, old = self.play(r'''
import time
write("a", 50); read("a"); gave = given("a")
outside("a", "external\n"); reads("a", response=gave); out.pop(); out.append(edit("a"))
time.sleep(1.1); reads("a", response=gave); out.pop(); out.append(edit("a"))       # by CRLF, say
''')
        self.assertIn("was modified since you last read it", young)
        self.assertIsNone(old)

    def test_stale(self):
        first, words, again, after, new = self.play(r'''
write("a", 50); read("a")
out.append(edit("a"))
outside("a", "external\n"); out.append(edit("a")); out.append(edit("a", "Write", content="x"))
read("a"); out.append(edit("a")); out.append(edit("new", "Write", content="x"))
''')
        self.assertEqual((first, after, new), (None, None, None))
        path = str(self.work / "a")
        self.assertTrue(words.startswith(path + " was modified since you last read it. Please read the file again.\n--- " + path), words)
        self.assertIn("\n+external\n", words)
        self.assertEqual(again, words)
        (event,) = {(event["verdict"], event["reason"]) for event in map(json.loads, self.seen("log", "--session", "s", "--op", "guarded", "--json").stdout.splitlines())}
        self.assertEqual(event, ("denied", "stale"))

    def test_read_by_a_sub_agent(self):
        """What a sub-agent was given the main conversation does not know, nor another sub-agent."""
        stale, sub, other, after, third = self.play(r'''
write("a", 50); read("a"); outside("a", "external\n"); read("a", conversation="c1/s1")
out.append(edit("a"))
out.append(edit("a", conversation="c1/s1")); outside("a", "more\n"); read("a", conversation="c1/s1")
out.append(edit("a", conversation="c1/s2"))
read("a"); out.append(edit("a"))
read("a", conversation="c1/s1"); out.append(edit("a", conversation="c1/s1"))
''')
        self.assertIn("was modified since you last read it", stale)
        self.assertIn("was modified since you last read it", other)
        self.assertEqual((sub, after, third), (None, None, None))

    def test_never_read_but_by_a_sub_agent(self):
        main, sub, after = self.play(r'''
read("theirs", conversation="c1/s1")
out.append(edit("theirs", "Write", content="x")); out.append(edit("theirs", "Write", conversation="c1/s1", content="x"))
read("theirs"); out.append(edit("theirs", "Write", content="x"))
''', "--read-before-write", "deny")
        self.assertIn("has not been read yet", main)
        self.assertEqual((sub, after), (None, None))

    def test_written_by_a_sub_agent(self):
        """The library lets a sub-agent write what it read: no warning, nothing refused."""
        (result,) = self.play(r'''
write("a", 50); read("a"); outside("a", "external\n"); read("a", conversation="c1/s1")
edit("a", conversation="c1/s1")
with open("a", "w") as file: file.write("of the sub-agent")
out.append(open("a").read())
''', "--stale-write", "deny")
        self.assertEqual(result, "of the sub-agent")
        self.assertEqual(self.seen("log", "--session", "s", "--op", "guarded", "--json").stdout, b"")

    def test_not_written_by_a_sub_agent(self):
        """Its write was refused by the user, which is reported to no hook, or failed: the main conversation knows what it knew before."""
        for failure in ("", 'hook("PostToolUseFailure", "Write", conversation="c1/s1", file_path=os.path.abspath(name))'):
            refused, denied, by_command, unread, sub, after, written, *waits = self.play(r'''
def fails(name): %s
def overwrites(name, moment="PreToolUse"):
    hook(moment, "Bash", command="echo x > " + name)
    return subprocess.run(["bash", "-c", "echo x > " + name], stderr=subprocess.PIPE).returncode == 0
def attempt(name):
    return edit(name, "Write", conversation="c1/s1", content="x")
write("a", 50); read("a"); outside("a", "external\n"); read("a", conversation="c1/s1")
assert attempt("a") is None; fails("a")
out.append(edit("a", "Write", content="x"))
out.append(overwrites("a"))
assert attempt("a") is None; fails("a")
out.append(overwrites("a"))
outside("new", "theirs\n"); read("new", conversation="c1/s1"); attempt("new"); fails("new")
out.append(edit("new", "Write", content="x"))
out.append(attempt("a")); fails("a"); read("a"); out.append(edit("a"))
outside("a", "more\n"); read("a", conversation="c1/s1"); attempt("a"); write("a", 9); hook("PostToolUse", "Write", {}, "c1/s1", file_path=os.path.abspath("a"))
out.append(edit("a", "Write", content="y"))
def waits(*moments):
    outside("a", "again\n"); read("a", conversation="c1/s1"); assert attempt("a") is None
    for moment in moments[:-1]: hook(moment)
    return overwrites("a", moments[-1])
forget("SubagentStart"); out.append(waits("PreToolUse")); out.append(waits("UserPromptSubmit")); out.append(waits("UserPromptSubmit", "PreToolUse"))
out.append(waits("UserPromptSubmit", "UserPromptSubmit"))
write("b", 50); read("b")
for name in "ab":
    if name == "b": hook("UserPromptSubmit")
    outside(name, "once more\n"); read(name, conversation="c1/s1"); assert attempt(name) is None
out.append(overwrites("a")); out.append(overwrites("b"))
forget("SubagentStop"); out.append(waits("PreToolUse"))
''' % (failure or "pass"), "--read-before-write", "deny", "--stale-write", "deny", "--session", "failed" if failure else "refused")
            self.assertIn("was modified since you last read it", refused)
            self.assertEqual((denied, by_command), (False, False))
            self.assertIn("has not been read yet", unread)
            self.assertEqual((sub, after, written), (None, None, None))
            # One at work may still be allowed to, until the next prompt, or be about to, until the call behind that.  What
            # was lent before that prompt is over then; what was lent after it may wait.
            self.assertEqual(waits, [True, True, False, False, False, True, False])
            for name in ("a", "b", "new"):
                (self.work / name).unlink()

    def test_write_that_changes_nothing(self):
        answer, other = self.play(r'''
write("a", 50); read("a")
out.append(hook("PreToolUse", "Write", file_path=os.path.abspath("a"), content=open("a").read()))
out.append(hook("PreToolUse", "Write", file_path=os.path.abspath("a"), content=open("a").read()[:-1]))
''')
        self.assertEqual((answer, other), ({"additionalContext": f"[{self.work / 'a'} already held this content.]"}, {}))

    def test_by_the_session(self):
        """What its own commands, or it, made of a file is not stale; nor is a touch."""
        self.assertEqual(self.play(r'''
write("a", 50); read("a"); subprocess.run(["bash", "-c", "echo more >> a"]); out.append(edit("a"))
os.utime("a", (1, 1)); out.append(edit("a")); write("a", 51); out.append(edit("a"))
'''), [None, None, None])

    def test_read_again_in_part(self):
        """Who read some of it may edit it: else a file that is never given whole could not be edited."""
        words, after = self.play('write("a", 50); read("a"); outside("a", "x\\n"); out.append(edit("a")); read("a", 1, 5); out.append(edit("a"))')
        self.assertTrue(words)
        self.assertIsNone(after)

    def test_never_read(self):
        (self.work / "a").write_text("theirs\n" * 9)
        script = 'out.append(edit("a", "Write", content="x")); read("a"); out.append(edit("a", "Write", content="x"))'
        self.assertEqual(self.play(script), [None, None])
        (self.work / "b").write_text("theirs\n" * 9)
        words, after = self.play(script.replace('"a"', '"b"'), "--read-before-write", "deny", "--session", "t")
        self.assertEqual((words, after), (f"{self.work / 'b'} has not been read yet. Please read the file first.", None))



# The plugins of pi and opencode hand on what their agent does, and carry out what they are answered.
PLUGIN = r"""
def ask(agent, event, tool, conversation="c1", output=None, others=False, **tool_input):
    document = {"session_id": conversation, "hook_event_name": event, "cwd": os.getcwd(), "tool_name": tool, "tool_use_id": "t", "tool_input": tool_input, "others": others}
    if output is not None: document["tool_response"] = output
    return run_hook(agent, document)
def text_of_pi(name, offset=1, limit=None):
    lines = open(name, newline="").read().split("\n"); part = lines[offset - 1:][:limit]; rest = len(lines) - offset + 1 - len(part)
    return "\n".join(part) + (f"\n\n[{rest} more lines in file. Use offset={offset + len(part)} to continue.]" if rest else "")
def text_of_opencode(name, offset=1, limit=None, tail=""):
    lines = open(name, newline="").read().split("\n"); lines = lines[:-1] if lines[-1] == "" else lines; part = lines[offset - 1:][:limit or 2000]
    last = offset + len(part) - 1
    more = f"(Showing lines {offset}-{last} of {len(lines)}. Use offset={last + 1} to continue.)" if last < len(lines) else f"(End of file - total {len(lines)} lines)"
    return ("<path>" + os.path.abspath(name) + "</path>\n<type>file</type>\n<content>\n" + "\n".join(f"{offset + i}: {line}" for i, line in enumerate(part)) +
            "\n\n" + more + "\n</content>" + tail)
PATHS, TEXTS = {"pi": "path", "opencode": "filePath"}, {"pi": text_of_pi, "opencode": text_of_opencode}
def reads(agent, name, offset=None, limit=None, output=None, **more):
    words = {key: value for key, value in (("offset", offset), ("limit", limit)) if value}
    answer = ask(agent, "PostToolUse", "read", output=TEXTS[agent](name, offset or 1, limit) if output is None else output, **{PATHS[agent]: name}, **words, **more)
    out.append(kind(answer["output"]) if answer else "same")
def runs_bash(agent, command, reported=True, others=False): # its shell tool's command, whose output the plugin has, whole or not at all
    ask(agent, "PreToolUse", "bash", command=command)
    text = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.decode()
    ask(agent, "PostToolUse", "bash", output=text.rstrip("\n") if reported else None, others=others, command=command)
    out.append("notice" if text.startswith("[File prev") else "repeated" if text.startswith("[Command already run") else "real")
def before(agent, tool, name, **more):
    return ask(agent, "PreToolUse", tool, **{PATHS[agent]: name}, **more)
"""


class Plugins(Answers):
    def play(self, script, agent="", *options):
        return super().play(PLUGIN + script.replace("AGENT", repr(agent)), "--session", agent or "s", *options)

    def test_reads(self):
        for agent in ("pi", "opencode"):
            self.assertEqual(self.play(r"""
write("a", 50)
for _ in range(3): reads(AGENT, "a")
reads(AGENT, os.path.abspath("a"))
write("a", 51); reads(AGENT, "a"); reads(AGENT, "a")
outside("a", "external\n"); reads(AGENT, "a")
write("b", 300); reads(AGENT, "b", 100, 100); reads(AGENT, "b", 120, 60); reads(AGENT, "b", 150, 100); reads(AGENT, "b")
write("d", 50); reads(AGENT, "d"); reads(AGENT, "d", conversation="c2"); forget("PostCompact"); reads(AGENT, "d"); reads(AGENT, "d")
forget("SubagentStart"); reads(AGENT, "d"); forget("SubagentStop"); reads(AGENT, "d")
""", agent), ["same", "notice", "same", "same", "diff", "same", "diff", "same", "lines", "same", "same", "same", "same", "same", "notice", "same", "same"], agent)

    def test_what_is_not_known(self):
        """No answer, and no later one, where the output is not the file's lines alone."""
        self.assertEqual(self.play(r"""
write("a", 50)
good = text_of_opencode("a")
for bad in (good.replace("line 7 of", "line 8 of"), good.replace("\n7: ", "\n8: "), good.replace("\n50: ", "\n51: "), good.replace("(End of", "(The end of"),
            good.replace("\n50: line 49 of the file, with some words", ""), good.replace("<type>file", "<type>directory"), "Image read successfully", "",
            good.replace("with some words\n\n(", "with some wo... (line truncated to 2000 chars)\n\n("), 7, ["x"], {"a": good}):
    reads("opencode", "a", output=bad)
reads("opencode", "a", others=True); reads("opencode", "a", others=None)
reads("opencode", "a"); reads("opencode", "a", others=True); reads("opencode", "a")
open("crlf", "w", newline="").write("some words\r\n" * 90)
for _ in range(2): reads("opencode", "crlf", output=text_of_opencode("crlf").replace("\r", ""))
""", "opencode"), ["same"] * 11 + ["same"] + ["same"] * 2 + ["same", "same", "notice", "same", "same"])
        self.assertEqual(self.play(r"""
write("p", 50)
good = text_of_pi("p")
for bad in (good[:-1] + "x", good[:70], good + "[more]", "[Line 1 is 60KB, exceeds 50KB limit. Use bash: sed -n '1p' p | head -c 51200]", "", 7):
    reads("pi", "p", output=bad)
reads("pi", "p", 2, output=good)
reads("pi", "p"); reads("pi", "p")
""", "pi"), ["same"] * 6 + ["same"] + ["same", "notice"])

    def test_rest_of_the_output(self):
        """Instructions that opencode puts behind the file stay."""
        tail = "\n\n<system-reminder>\nRules.\n</content>\nMore.\n</system-reminder>"
        (text,) = self.play(r"""
write("a", 50); reads("opencode", "a"); out.clear()
out.append(ask("opencode", "PostToolUse", "read", output=text_of_opencode("a", tail=%r), filePath="a")["output"])
""" % tail, "opencode")
        self.assertRegex(text, r"^\[File previously read: [^\n]*\]\n\n<system-reminder>\nRules\.\n</content>\nMore\.\n</system-reminder>$")

    def test_commands(self):
        """What a command printed is proven by the plugin at once, however long: no transcript is there, and no limit holds it."""
        for agent in ("pi", "opencode"):
            self.assertEqual(self.play(r"""
write("long", 500); write("too", 500)
for reported in (False, False, True, True): runs_bash(AGENT, "cat long too", reported)
for _ in range(2): runs_bash(AGENT, "grep -n line long")
write("a", 500); write("b", 500)
for _ in range(2): runs_bash("opencode", "cat a b", others=True)   # another plugin may change it
""", agent), ["real"] * 3 + ["notice", "real", "repeated"] + ["real"] * 2, agent)

    def test_whose_turn_it_is(self):
        """opencode's plugin tells each conversation: its read is answered where the database, which is read late, does not show the call yet."""
        (self.top / "seen.ini").write_text(f"[agent stepper]\ntranscript = {self.top}/agent.db\n")
        self.assertEqual(self.play(r"""
import sqlite3, time
database = sqlite3.connect("%s/agent.db", isolation_level=None); now = int(time.time() * 1000)
database.executescript('PRAGMA journal_mode = WAL; CREATE TABLE session (id, parent_id, directory, revert, time_updated);'
    'CREATE TABLE message (id, session_id, time_created, time_updated, data); CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)')
write("a", 50)
def rows():
    for number, (table, more, data) in enumerate((("session", (None, os.getcwd(), None), None), ("message", ("s",), {"role": "user"}), ("message", ("s",), {"role": "assistant"}),
                                     ("part", ("2", "s"), {"type": "tool", "state": {"status": "pending", "input": {}}}))):
        values = ("s" if table == "session" else str(number), *more, *((number, now, json.dumps(data)) if data else (now,)))
        database.execute("INSERT INTO %%s VALUES (%%s)" %% (table, ", ".join("?" * len(values))), values)
def muted():
    scopes = json.loads(subprocess.run(["%s", "status", "--json"], stdout=subprocess.PIPE).stdout)["scopes"]
    return any(scope["muted"] for scope in scopes if "in-process reads" in scope["name"])
reads("opencode", "a"); rows()
for _ in range(40):
    if muted(): break
    time.sleep(0.05)
reads("opencode", "a"); out.append(muted())
""" % (self.top, SEEN), "opencode", "--config", str(self.top / "seen.ini")), ["same", "notice", True])

    def test_other_extensions_of_pi(self):
        """Where another extension may change an output, nothing is answered; one that cannot is no matter."""
        user, project = self.home / ".pi/agent", self.work / ".pi"
        harmless = "export default (pi) => { pi.on('tool_call', () => {}); };\n"
        cases = [(user / "extensions/seen.ts", "spawn('seen answer hook pi'); pi.on('tool_result')", "notice"), (user / "extensions/a.ts", harmless, "notice"),
                 (user / "extensions/a.js", "pi.on('tool_result')", "same"), (project / "extensions/a.ts", 'pi.on("context")', "same"),
                 (project / "extensions/a.ts", "import './b'; import x from './c'", "same"), (user / "extensions/a/index.ts", harmless, "same"),
                 (user / "settings.json", json.dumps({"packages": ["npm:x"]}), "same"), (project / "settings.json", json.dumps({"extensions": ["/x"]}), "same"),
                 (user / "settings.json", "{", "same"), (user / "settings.json", json.dumps({"extensions": [], "theme": "x"}), "notice"),
                 (user / "extensions/readme.md", "tool_result", "notice")]
        steps = ["import shutil; write('a', 50)\n"]
        for path, text, _ in cases:
            top = user if path.is_relative_to(user) else project
            steps.append(f"os.makedirs({str(path.parent)!r}, exist_ok=True); open({str(path)!r}, 'w').write({text!r}); forget('SessionStart')\n"
                         f"reads('pi', 'a'); reads('pi', 'a'); shutil.rmtree({str(top)!r})\n")
        results = self.play("".join(steps), "pi")
        self.assertEqual(results[::2], ["same"] * len(cases))
        self.assertEqual(results[1::2], [last for _, _, last in cases])

    def test_edits(self):
        for agent in ("pi", "opencode"):
            first, stale, again, after, same, other, unread, failed = self.play(r"""
write("a", 50); reads(AGENT, "a"); out.clear()
out.append(before(AGENT, "edit", "a"))
outside("a", "external\n"); out.append(before(AGENT, "edit", "a")); out.append(before(AGENT, "write", "a", content="x"))
reads(AGENT, "a"); out.pop(); out.append(before(AGENT, "edit", "a"))
out.append(before(AGENT, "write", "a", content=open("a").read())); out.append(before(AGENT, "write", "a", content=open("a").read() + "x"))
out.append(before(AGENT, "write", "new", content="")); out.append(ask(AGENT, "PostToolUse", "edit", path="a"))
""", agent)
            self.assertEqual((first, after, other, unread, failed), ({}, {}, {}, {}, {}))
            self.assertTrue(stale["refuse"].startswith("a was modified since you last read it. Please read the file again.\n--- a"), stale)
            self.assertIn("\n+external\n", stale["refuse"])
            self.assertEqual(again, stale)
            self.assertEqual(same, {"add": "[a already held this content.]"})

    def test_conversations_of_one_process(self):
        """opencode: each knows of a file what it was given itself, whichever was asked for last."""
        prompt, stale, fresh, again, after = self.play(r"""
def goes_on(name): ask("opencode", "SessionResumed", None, name)
write("a", 50); reads("opencode", "a")
outside("a", "external\n"); goes_on("c2"); reads("opencode", "a", conversation="c2"); out.clear()
goes_on("c1"); out.append(ask("opencode", "UserPromptSubmit", None, prompt="x")); out.append(before("opencode", "edit", "a"))
goes_on("c2"); out.append(before("opencode", "edit", "a", conversation="c2"))
goes_on("c1"); out.append(before("opencode", "edit", "a")); reads("opencode", "a"); out.pop(); out.append(before("opencode", "edit", "a"))
""", "opencode")
        self.assertEqual(prompt, {"add": "changed since you read them: a (+1 -0, by another program)"})
        self.assertIn("was modified since you last read it", stale["refuse"])
        self.assertEqual((again, fresh, after), (stale, {}, {}))


SEARCH = r'''
def search(output, agent="pi", tool="grep", conversation="c1", **tool_input):
    """What the model gets of a search: "same" as the tool gave, or the text in its place."""
    response = {"llmContent": output, "returnDisplay": "found"} if agent == "gemini" else output
    document = {"session_id": conversation, "hook_event_name": "AfterTool" if agent == "gemini" else "PostToolUse", "prompt_id": "p1", "cwd": os.getcwd(),
                "tool_name": tool, "tool_use_id": "t", "tool_input": tool_input, "tool_response": response, "others": False}
    answer = run_hook(agent, document)
    return answer.get("output", answer.get("reason", "same"))
def searches(*arguments, **more):
    text = search(*arguments, **more)
    out.append(text if text == "same" else "notice" if ": already run. Same output as " in text and ", seen-" in text and "\\n" not in text else text)
found = "".join("src/f%d.c:%d: a line that was found\\n" % (i, i) for i in range(40))
'''


class Searches(Answers):
    """Results of an agent's own search tools: the same output for the same question."""

    def searched(self, script, *options):
        return self.play(SEARCH + script, *options)

    def test_repeated(self):
        self.assertEqual(self.searched('''
searches(found, pattern="line", path="src"); searches(found, path="src", pattern="line"); searches(found, pattern="line", path="src")
searches(found + "one more\\n", pattern="line2", path="src"); searches(found, pattern="line2", path="src"); searches(found + "one more\\n", pattern="line2", path="src")
searches("short", pattern="s"); searches("short", pattern="s")
searches(found, tool="find", pattern="line", path="src"); searches(found, pattern="line", path="src", ignoreCase=True)
searches(found, pattern="new", path="src"); searches(found, pattern="new", path="src", conversation="c2"); forget("PreCompact")
searches(found, pattern="new", path="src"); searches(found, pattern="new", path="src")
searches(found, tool="read", pattern="other"); searches(found, tool="read", pattern="other"); searches(found, tool="unknown", p=1); searches(found, tool="unknown", p=1)
'''), ["same", "notice", "same", "same", "same", "notice", "same", "same", "same", "same", "same", "same", "same", "notice", "same", "same", "same", "same"])
        counts = self.json("status", "--session", "s")["counters"]
        self.assertEqual((counts["requests_answered"], counts["requests_repeated"], counts["yields"]), (3, 4, 1))
        self.assertGreater(counts["bytes_saved"], 3000)
        self.journal_alone(counts)

    def journal_alone(self, counts):
        """The journal has them, too: the sums are the same without the segment, as after a boot."""
        log = [json.loads(line) for line in self.seen("log", "--session", "s", "--json", "--op", "request", code=0).stdout.splitlines()]
        self.assertEqual([sum(event["decision"] == decision for event in log) for decision in ("notice", "yielded")], [3, 1])
        for form in ("csv", "ecs", "jsonl", "ocsf", "otlp"):
            self.seen("export", "--format", form, "--session", "s", code=0)
        figures = self.json("gain")["total"]
        (self.session_directory() / "segment").unlink()
        self.assertEqual(self.json("gain")["total"], figures)
        self.assertEqual((figures["commands"], figures["given_again"], figures["bytes_saved"]), (3, 1, counts["bytes_saved"]))

    def test_agents(self):
        self.assertEqual(self.searched('''
for agent, tool in (("opencode", "grep"), ("opencode", "glob"), ("opencode", "list"), ("gemini", "grep_search"), ("gemini", "glob"), ("pi", "ls"), ("pi", "find")):
    searches(found + "\\n</content>\\n", agent, tool, pattern=agent); searches(found + "\\n</content>\\n", agent, tool, pattern=agent)
'''), ["same", "notice"] * 7)

    def test_settings(self):
        script = 'searches(found, pattern="line"); searches(found, pattern="line")'
        self.assertEqual(self.searched(script, "-c", "requests.enable=no"), ["same", "same"])
        self.assertEqual(self.searched(script, "--mode", "observe"), ["same", "same"])


if __name__ == "__main__":
    unittest.main()

"""replay: what hooks would have answered to an agent's reads by its own tools, held against real hooks; transcripts that it finds itself."""
import json
import os
import random
import unittest

from test_hook_answers import Answers
from test_replay import OTHER, TEXT, Claude, Replay, numbered

HOOKS = ("whole", "lines", "changed", "edited")
BIG = "".join(f"line {i} of a file that is longer, and of which parts are read\n" for i in range(1, 301))


class Hooks(Replay):
    def hooks(self, content, *options):
        file = self.replay(content, *options)
        return {name: saving for name, saving in file["would_have_saved"]["hooks"].items()}

    def assert_answered(self, content, *options, **counts):
        hooks = self.hooks(content, *options)
        self.assertEqual({name: hooks[name]["answered"] for name in HOOKS}, {name: counts.get(name, 0) for name in HOOKS}, hooks)
        return hooks

    def test_whole_unchanged_and_asked_again(self):
        session = Claude().read("/work/w/f", TEXT).read("/work/w/f", TEXT)
        hooks = self.assert_answered(session, whole=1)
        # One line, which the tool numbers as it does the file's.
        self.assertEqual(hooks["whole"]["bytes"], len(numbered(TEXT)) - self.notice("/work/w/f", TEXT) - self.number_bytes(TEXT))
        hooks = self.assert_answered(session.read("/work/w/f", TEXT), whole=1)
        self.assertEqual((hooks["whole"]["repeats"], hooks["whole"]["yielded"]), (2, 1))

    def number_bytes(self, text):
        lines = text.count("\n")
        return (len(numbered(text)) - len(text)) // lines

    def test_lines_given_before(self):
        session = Claude().read_part("/work/w/f", BIG, 1, 200).read_part("/work/w/f", BIG, 50, 150).read_part("/work/w/f", BIG, 150, 250)
        self.assert_answered(session, lines=1)
        self.assert_answered(Claude().read("/work/w/f", BIG).read_part("/work/w/f", BIG, 50, 150), lines=1)

    def test_changed(self):
        hooks = self.assert_answered(Claude().read("/work/w/f", TEXT).edit("/work/w/f").read("/work/w/f", OTHER), edited=1)
        self.assertLess(hooks["edited"]["bytes"], len(numbered(TEXT)) - self.diff(TEXT, OTHER))
        self.assertGreater(hooks["edited"]["bytes"], 1000)
        self.assert_answered(Claude().read("/work/w/f", TEXT).read("/work/w/f", OTHER), changed=1)
        # Then that is what the model has; and lines of another version are not.
        self.assert_answered(Claude().read("/work/w/f", TEXT).edit("/work/w/f").read("/work/w/f", OTHER)
                             .read_part("/work/w/f", OTHER, 1, 59), edited=1)
        self.assert_answered(Claude().read("/work/w/f", TEXT).edit("/work/w/f").read_part("/work/w/f", OTHER, 1, 29))

    def test_nothing_of_another_context(self):
        self.assert_answered(Claude().read("/work/w/f", TEXT).compact().read("/work/w/f", TEXT))
        self.assert_answered(Claude().read("/work/w/f", TEXT).read("/work/w/f", TEXT, agent="a1").read("/work/w/f", TEXT, agent="a1"))
        self.assert_answered(Claude().read("/work/w/f", TEXT).call("Task", {"prompt": "x"}, "done").read("/work/w/f", TEXT)
                             .read("/work/w/f", TEXT), whole=1)

    def test_limits_of_the_configuration(self):
        session = Claude().read("/work/w/f", TEXT).read("/work/w/f", TEXT)
        self.assert_answered(session, "-c", "notice.min_bytes=100000")
        self.assert_answered(session, "-c", "paths.exclude=f")
        others = Claude().read("/work/w/f", TEXT)
        for i in range(3):
            others.read(f"/work/w/g{i}", TEXT)
        others.read("/work/w/f", TEXT)
        self.assert_answered(others, whole=1)
        self.assert_answered(others, "-c", "window.requests=3")
        self.assert_answered(others, "-c", "window.age_s=2")
        self.assert_answered(others, "-c", "window.age_s=100", whole=1)
        self.assert_answered(Claude().read("/elsewhere/f", TEXT).read("/elsewhere/f", TEXT))


class Found(Replay):
    def test_directories(self):
        """Those that end as transcripts do, at any depth; what is none of them is passed over, and counted."""
        deep = self.top / "t" / "deep"
        deep.mkdir(parents=True)
        (deep / "a.jsonl").write_text(Claude(session="a").read("/work/w/f", TEXT).read("/work/w/f", TEXT).text())
        (deep / "b.jsonl").write_text(Claude(session="b").read("/work/w/f", TEXT).text())
        (deep / "package.json").write_text("{}")
        (deep / "notes.txt").write_text("no transcript")
        (deep / "link.jsonl").symlink_to(deep / "a.jsonl")
        done = self.seen("replay", "--json", str(self.top / "t"), code=0)
        document = json.loads(done.stdout)
        self.validate_by("replay.schema.json", [document])
        self.assertEqual([os.path.basename(file["file"]) for file in document["files"]], ["a.jsonl", "b.jsonl"])
        self.assertEqual([(row["number"], row["reads"]["count"]) for row in document["sessions"]], [(1, 2), (1, 1)])
        self.assertIn(b"1 file that has none of these formats", done.stderr)
        shown = self.seen("replay", str(self.top / "t"), code=0).stdout.decode()
        self.assertEqual([line.split()[-1] for line in shown.split("\n\n")[0].splitlines()[1:]],
                         [str(deep / "a.jsonl"), str(deep / "b.jsonl")])
        self.seen("replay", str(deep / "package.json"), code=8)  # one that is named

    def test_none_given(self):
        """What the profiles' globs match, each once: sub-agents' files are of their session."""
        self.assertIn(b"no transcripts of agents found", self.seen("replay", code=1).stderr)
        project = self.home / ".claude/projects/-work-w"
        (project / "s/subagents").mkdir(parents=True)
        (project / "s.jsonl").write_text(Claude(session="s").read("/work/w/f", TEXT).read("/work/w/f", TEXT).text())
        (project / "s/subagents/agent-1.jsonl").write_text(Claude(session="s").read("/work/w/f", TEXT, agent="1").text())
        (project / "deep/er").mkdir(parents=True)
        (project / "deep/er/no.jsonl").write_text(Claude(session="no").read("/work/w/f", TEXT).text())
        done = self.seen("replay", "--json", code=0)
        document = json.loads(done.stdout)
        self.assertEqual([os.path.basename(file["file"]) for file in document["files"]], ["s.jsonl", "agent-1.jsonl"])
        row, = document["sessions"]
        self.assertEqual((row["reads"]["count"], row["scopes"], row["would_have_saved"]["hooks"]["whole"]["answered"]), (3, 2, 1))
        self.assertEqual(row["outputs"], document["total"]["outputs"])
        other = self.top / "config"
        (other / "projects/p").mkdir(parents=True)
        (other / "projects/p/x.jsonl").write_text(Claude(session="x").read("/work/w/f", TEXT).text())
        document = self.json("replay", env={"CLAUDE_CONFIG_DIR": str(other)})
        self.assertEqual(len(document["sessions"]), 2)
        (self.home / ".config/seen/seen.ini").write_text(f"[agent mine]\ntranscript = {self.top}/mine/**/*.log\n")
        (self.top / "mine/a/b").mkdir(parents=True)
        (self.top / "mine/a/b/x.log").write_text(Claude(session="y").read("/work/w/f", TEXT).text())
        self.assertEqual(len(self.json("replay")["sessions"]), 2)

    def test_sums_of_sessions_are_the_total(self):
        for i in range(12):  # more than are remembered at a time
            session = Claude(session=f"s{i}")
            for _ in range(i % 4):
                session.read("/work/w/f", TEXT)
            self.write(session.bash("ls", "f"), f"t{i}.jsonl")
        document = self.json("replay", str(self.top))
        self.assertEqual(len(document["sessions"]), 12)
        for member in ("outputs", "reads", "reads_again", "commands"):
            self.assertEqual(sum(row[member]["bytes"] for row in document["sessions"]), document["total"][member]["bytes"])
        for hook in HOOKS:
            self.assertEqual(sum(row["would_have_saved"]["hooks"][hook]["bytes"] for row in document["sessions"]),
                             document["total"]["would_have_saved"]["hooks"][hook]["bytes"])


class AsHooks(Answers, Replay):
    """The same reads and edits, once given to real hooks by an agent that runs, once as a transcript: the same answers."""

    def replayed(self, steps):
        contents, session = {}, Claude(cwd=str(self.work))
        for step in steps:
            name, path = step[1], str(self.work / str(step[1]))
            if step[0] == "read":
                text = contents[name]
                pieces = text.split("\n")
                part = pieces[step[2] - 1:][:step[3]]
                arguments = {"file_path": path, "offset": step[2], "limit": step[3]}
                session.call("Read", arguments, "\n".join(f"{number}\t{line}" for number, line in enumerate(part, step[2])),
                             result={"type": "text", "file": {"filePath": path, "numLines": len(part), "startLine": step[2],
                                                              "totalLines": len(pieces)}})
            elif step[0] == "write":
                contents[name] = step[2]
                session.edit(path)
            else:
                session.compact()
        return self.replay(session)["would_have_saved"]["hooks"]

    def test_random(self):
        for seed in range(3):
            chance = random.Random(seed)
            steps, counts = [], {}
            for name in "ab":
                counts[name] = [chance.random() for _ in range(80)]
                steps.append(("write", name, self.text(counts[name])))
            whole = set()
            for _ in range(150):
                name, what = chance.choice("ab"), chance.random()
                if what < 0.12:
                    lines = counts[name]
                    for _ in range(chance.choice((1, 1, 2, 60))):
                        lines[chance.randrange(len(lines))] = chance.random()
                    if chance.random() < 0.3:
                        lines.append(chance.random())
                    steps.append(("write", name, self.text(lines)))
                    whole.discard(name)
                elif what < 0.16:
                    steps.append(("compact", ""))
                elif what < 0.6 or name not in whole:
                    steps.append(("read", name, 1, 1000))  # a file whose parts come first is another matter (replay_hooks.h)
                    whole.add(name)
                else:
                    first = chance.randrange(1, 60)
                    steps.append(("read", name, first, chance.randrange(10, 40)))
            real = self.play("steps = json.loads(%r)\n" % json.dumps(steps) + '''
for step in steps:
    if step[0] == "read": reads(step[1], step[2], step[3])
    elif step[0] == "write": open(step[1], "w").write(step[2])
    else: forget("PreCompact")
''', "--session", f"r{seed}")
            hooks = self.replayed(steps)
            self.assertEqual((hooks["whole"]["answered"], hooks["lines"]["answered"], hooks["edited"]["answered"]),
                             (real.count("notice"), real.count("lines"), real.count("diff")), seed)
            self.assertGreater(min(real.count(word) for word in ("notice", "lines", "diff", "same")), 2)

    def test_the_journal_of_such_a_session(self):
        """Which files the hooks gave whole, and which of them again: here the model asked again, and the conversation was cut."""
        answers = self.play('''
write("a", 50); write("b", 60)
reads("a"); reads("b"); reads("a"); reads("a")
forget("PreCompact"); reads("b")
''')
        self.assertEqual(answers, ["same", "same", "notice", "same", "same"])
        file = self.json("replay", "--session", "s")["files"][0]
        self.assertEqual((file["reads"]["count"], file["reads_again"]["count"]), (4, 2))
        self.assert_categories(file, identical=1, after_compaction=1)

    def text(self, lines):
        return "".join(f"a line with some words and the number {line}\n" for line in lines)


if __name__ == "__main__":
    unittest.main()

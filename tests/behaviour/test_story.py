"""seen story, seen diff: a session as steps, and what they changed as a patch."""
import json
import sys
import unittest

from driver import Case

# An agent whose steps are commands, as strings, or what it does by itself, as lists: [program in Python].
AGENT = r'''
import json, subprocess, sys
for step in json.load(open(sys.argv[1])):
    if isinstance(step, list):
        exec(step[0])
    else:
        subprocess.run(["bash", "-c", step], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
'''


class Steps(Case):
    def run_steps(self, *steps):
        (self.top / "steps").write_text(json.dumps(steps))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"),
                  str(self.top / "steps"), code=0)

    def test_commands_and_own_actions(self):
        self.file("a.txt", b"one\n")
        self.run_steps("ls", "rm a.txt; exit 3", ["open('b.txt', 'w').close()"], "kill -9 $$")
        document = self.json("story", "--session", "s")
        self.validate_by("story.schema.json", [document])
        self.assertEqual([(step["number"], step["kind"], step["status"]) for step in document["steps"]],
                         [(1, "command", 0), (2, "command", 3), (3, "own_action", None), (4, "command", None)])
        self.assertEqual([step["command"] for step in document["steps"] if step["kind"] == "command"], ["ls", "rm a.txt; exit 3", "kill -9 $$"])
        self.assertEqual([step["number"] for step in self.json("story", "--session", "s", "--step", "3")["steps"]], [3])
        self.assertIn(b"  3  rm a.txt; exit 3\n", self.seen("story", "--session", "s", code=0).stdout)
        for words, code in ((("--step", "9"), 1), (("--step", "x"), 2), (("x",), 2)):
            self.seen("story", "--session", "s", *words, code=code)
        self.seen("story", "--session", "nosuch", code=3)
        for words, code in ((("--step", "1", "--since", "1"), 2), (("--step", "x"), 2), (("--step", "9"), 1), (("--since", "9"), 1),
                            (("--since", "x"), 2)):
            self.seen("diff", "--session", "s", *words, code=code)


if __name__ == "__main__":
    unittest.main()

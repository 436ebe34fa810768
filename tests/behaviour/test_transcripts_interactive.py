"""Transcripts at a terminal, and in the lines at the end of a run: the rest of test_transcripts.py."""

import os
import pty
import subprocess
import sys
import unittest

from harness import RUN, VIA, SessionTest, lines


AGENT = """import subprocess, sys
def ask(command):
    return subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
sys.stdout.write("%d notices\\n" % [ask("cat f") for _ in range(2)][1].startswith(b"[File previously read"))
"""


# Until there is a notice.
PATIENT = """import time
end = time.monotonic() + 20
while not ask("cat f").startswith(b"[File previously read"):
    if time.monotonic() > end:
        sys.exit("none")
    time.sleep(0.05)
print("a notice")
"""


class Interactive(SessionTest):
    """A user may begin another conversation: of one that nothing reports nothing is printed."""

    def run_agent(self, name, terminal, agent=AGENT):
        self.session.write("f", lines("f"))
        self.session.write(name, agent.encode())
        master, slave = pty.openpty()
        result = subprocess.run([*RUN, "--counts", "--", sys.executable, name], cwd=self.session.workspace, env=self.session.environment,
                                stdin=slave if terminal else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        os.close(master)
        os.close(slave)
        return result.stdout.decode(), result.stderr.decode()

    def test_hooks_would_report(self):
        said, summary = self.run_agent("opencode", True)
        self.assertEqual(said, "0 notices\n")
        self.assertIn("seen: opencode was given everything in full: neither a transcript nor hooks reported which conversation it was in; "
                      "run `seen hooks install opencode`\n", summary)
        self.session.seen("hooks", "install", "opencode")
        said, summary = self.run_agent("opencode", True, AGENT[:AGENT.index("sys.stdout.write")] + PATIENT)
        self.assertEqual(said, "a notice\n")
        self.assertNotIn("in full", summary)

    def test_nothing_would(self):
        said, summary = self.run_agent("plandex", True)
        self.assertEqual(said, "0 notices\n")
        self.assertRegex(summary, "seen: plandex was given everything in full: .* conversation it was in\n")

    def test_without_a_user(self):
        said, summary = self.run_agent("opencode", False)
        self.assertEqual(said, "1 notices\n")
        self.assertNotIn("in full", summary)


class Summary(SessionTest):
    def test_not_found(self):
        """The run's end reports what the transcript did not have."""
        agent = AGENT.replace("def ask", """import json, os, time
os.makedirs(os.path.expanduser("~/.pi/agent/sessions/x"))
with open(os.path.expanduser("~/.pi/agent/sessions/x/y.jsonl"), "w") as file:
    for number, role in enumerate(("user", "assistant")):
        file.write(json.dumps({"type": "message", "id": str(number), "parentId": None, "message": {"role": role, "content": []}}) + "\\n")
def ask""", 1) + "time.sleep(0.5)\n"
        self.session.write("f", lines("f"))
        self.session.write("pi", agent.encode())
        result = self.session.seen("run", "--counts", "--", sys.executable, "pi")
        self.assertIn(b"seen: 1 of 1 outputs with files in them were not found in the agent's transcript\n", result.stderr)


if __name__ == "__main__":
    unittest.main()

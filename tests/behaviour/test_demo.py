"""The scripted agent that scripts/run shows: a dozen lines that tell the story."""
import os
import pty
import subprocess
import unittest

from driver import DEADLINE, DEMO, Case


class Demo(Case):
    def test_story(self):
        # As a new user has it: without the configuration that other tests here share.
        env = {**self.env, "XDG_CONFIG_HOME": str(self.top / "none")}
        done = subprocess.run([DEMO], cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=True)
        lines = done.stdout.decode().splitlines()
        self.assertLessEqual(len(lines) + len(done.stderr.splitlines()), 15)
        steps = {line[:17].strip(): line for line in lines[1:]}
        self.assertIn("Line 1 of the notes", steps["first read"])
        self.assertIn("[File previously read: notes.txt", steps["read again"])
        self.assertIn("LINE ONE of the notes", steps["read once more"])
        digest = steps["in a pipeline"].split("bytes")[1].split("...")[0].strip()
        self.assertTrue(digest)
        self.assertIn(digest, steps["the same by sum"])  # the pipeline got the real bytes
        self.assertIn("seen: notes.txt: another program changed it", steps["overwritten"])
        self.assertIn(b"seen: careful: notes.txt: a change unseen by the agent was overwritten; `seen restore notes.txt ", done.stderr)
        self.assertIn(b"1 repeated request answered", done.stderr)
        self.assertIn(b"seen: 1 file changed: notes.txt;", done.stderr)
        self.assertEqual(list((self.top / "tmp").iterdir()), [])
        self.assertEqual(list(self.work.iterdir()), [])

    def test_at_a_terminal(self):
        """As README's first command is typed: the notice is given there too."""
        main, other = pty.openpty()
        env = {**self.env, "XDG_CONFIG_HOME": str(self.top / "none")}
        with subprocess.Popen([DEMO], cwd=self.work, env=env, stdin=other, stdout=other, stderr=other, start_new_session=True) as child:
            os.close(other)
            printed = b""
            try:
                while some := os.read(main, 65536):
                    printed += some
            except OSError:  # all who had the terminal are gone
                pass
            os.close(main)
            self.assertEqual(child.wait(DEADLINE), 0, printed)
        self.assertIn(b"[File previously read: notes.txt", printed)
        self.assertIn(b"1 repeated request answered", printed)
        self.assertNotIn(b"given everything in full", printed)

    def test_without_the_program_around_it(self):
        done = subprocess.run([DEMO, "--in", str(self.work)], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        self.assertNotIn(b"previously read", done.stdout)


if __name__ == "__main__":
    unittest.main()

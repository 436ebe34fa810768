"""Kernels without a call that seen makes, simulated by a filter (programs/helpers/below_kernel.c): each program does what it does there without
seen, no output but the agent's has a notice, what undo does not bring back it says.

Short form: a kernel that has none of them, one that has what a supervisor needs, by each error, one without inotify, and one whose statx has no memory.  Long form: each feature by itself, too, by
each mechanism.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from driver import BUILD, DEADLINE, DEMO, NOTICE, SEEN, SOURCE, Case, text_of
from undoing import difference, tree

BELOW = str(BUILD / "tests/programs/helpers/below_kernel")
EACH_NAME = str(SOURCE / "tests/programs/helpers/each_name.py")
LONG = bool(os.environ.get("SEEN_LONG"))
FEATURES = subprocess.run([BELOW, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
ERRORS = ("ENOSYS", "EPERM")
SUPERVISED = ("unotify", "addfd", "pidfd_open")  # without one of these there is no supervisor, and a line says so
FOLLOWED_BY = ("inotify",)  # without it the supervisor sees no close: an undo leaves such files, and says so
NOT_SO = ("EPERM", "renameat2")  # older than such filters; a file system's own answer, too
WAYS = ("preload", "supervise", "both", "auto")
# An agent's commands.  `cat a` comes again, to the agent and to others; what is destroyed is undone.
COMMANDS = ("cat a", "cat a", "cat a > copy", "cat a | cat", "rm b", "echo new > c", "mv a d", "mkdir e; ln d e/f; chmod 600 d", "sed -i s/1/one/ e/f", "cp d g; truncate -s 9 g",
            "head -3 d; cat d; cat c g", "python3 -c 'import os; os.rename(\"g\", \"h\"); os.unlink(\"copy\")'")


class Kernels(Case):
    def run_below(self, below, *words, **more):
        """Runs a command below a filter; one that does not end fails its test, and its group is killed."""
        process = subprocess.Popen([BELOW, *below, "--", *words], cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, **{"env": self.env, **more})
        try:
            output, errors = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.fail("does not end: %s below %s" % (" ".join(map(str, words)), below))
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def play(self, *below, observed=()):
        """The agent's commands in a new tree below a filter: what it received, its tree, and what is done."""
        shutil.rmtree(self.work)
        self.work.mkdir()
        for name in "abc":
            (self.work / name).write_bytes(text_of(word=name))
        (self.top / "commands").write_text(json.dumps(COMMANDS))
        (self.top / "results").unlink(missing_ok=True)
        done = self.run_below(below, *observed, sys.executable, str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results"))
        self.assertTrue((self.top / "results").exists(), done)
        return done, [base64.b64decode(one) for one in json.loads((self.top / "results").read_text())], tree(str(self.work), times=False)

    def check_agent(self, via, *below):
        bare, wanted, after = self.play(*below)
        session = "%s-%s-%d-%s" % (via, below[0], len(below), below[1])
        done, got, found = self.play(*below, observed=(SEEN, "run", "--via", via, "--session", session, "--agent", "agent", "--"))
        self.assertEqual((done.returncode, difference(after, found)), (bare.returncode, []), done.stderr)
        self.assertNotIn(b"unobserved", done.stderr)
        if via in ("supervise", "both") and set(below) & set(SUPERVISED):
            self.assertIn(b"seen: no supervisor: ", done.stderr)
        for at, (one, other) in enumerate(zip(got, wanted)):
            if at == 1 and one.startswith(NOTICE):
                self.answered += 1
            else:
                self.assertEqual(one, other, (COMMANDS[at], done.stderr))
        self.check_undone(session, below, done)

    def check_undone(self, session, below, run):
        done = self.run_below(below, SEEN, "undo", "--all", "--session", session)
        before = {name: text_of(word=name) for name in "abc"}
        there = {file.name: file.read_bytes() if file.is_file() else None for file in self.work.iterdir()}
        if there != before and session.startswith(("supervise", "both")) and set(below) & set(FOLLOWED_BY):
            self.assertEqual(done.returncode, 12, (below, done.stderr))
            self.assertIn(b" is left as it is: how the session left it was not seen", done.stderr)
            self.assertNotIn(b"an external program", done.stderr)
            self.assertNotIn(b"record is missing", done.stderr)
            self.left += 1
        else:
            self.assertEqual((there, done.returncode), (before, 0), (below, done.stderr, run.stderr))

    def check_names(self, via, *below):
        outputs = []
        for name, observed in (("bare", ()), ("observed", (SEEN, "run", "--via", via, "--quiet", "--session", "names", "--"))):
            program = [sys.executable, "-I", EACH_NAME, str(self.top / name)]
            shutil.rmtree(self.top / name, ignore_errors=True)
            subprocess.run([*program, "make"], check=True)
            done = self.run_below(below, *observed, *program)
            own = [line for line in done.stderr.splitlines() if line.startswith(b"seen: no supervisor: ")]
            self.assertLessEqual(len(own), bool(observed) and via in ("supervise", "both"), done.stderr)
            outputs.append((done.returncode, done.stdout, [line for line in done.stderr.splitlines() if line not in own]))
        self.assertEqual(outputs[1], outputs[0])

    def check_demo(self, *below):
        done = self.run_below(below, DEMO, env={**self.env, "XDG_CONFIG_HOME": str(self.top / "none")})
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"in a pipeline", done.stdout)

    def test_kernels(self):
        self.answered = self.left = plays = 0
        kernels = [(error, *(one for one in FEATURES if (error, one) != NOT_SO and one not in without))
                   for error in ERRORS for without in ((), SUPERVISED + FOLLOWED_BY)]
        kernels += [("ENOMEM", "statx"), *([(error, feature) for feature in FEATURES for error in ERRORS if (error, feature) != NOT_SO] if LONG else [("ENOSYS", "inotify")])]
        for below in kernels:
            for via in WAYS if LONG else ("auto", "supervise"):
                with self.subTest(below=below, via=via):
                    self.check_agent(via, *below)
                    plays += 1
                if LONG:
                    with self.subTest(below=below, via=via, names=True):
                        self.check_names(via, *below)
            with self.subTest(below=below, demo=True):
                self.check_demo(*below)
        print("%d kernels, %d runs: the repeat answered in %d; all undone, but in %d files were left, and named" % (len(kernels), plays, self.answered, self.left))


if __name__ == "__main__":
    unittest.main()

"""Inside sandboxes that programs start their commands in, below a supervisor: the guard refuses, undo brings back, accesses are on record."""
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

import sandboxes
from driver import BUILD, NOTICE, SEEN, Case, text_of

LONG = bool(os.environ.get("SEEN_LONG"))
WAYS = ("auto", "supervise", "both")
# Each sandbox by one way at least; all of them in the long form.
SHORT = {("bwrap", "auto"), ("bwrap_all", "both"), ("bwrap_hidden", "supervise"), ("firejail", "auto"), ("landlock", "supervise"), ("pivot_root", "auto")}
AGENT = sandboxes.WAIT_FOR_OUTSIDER + r'''
import json, os, subprocess, sys
results = []
for command in json.load(open(sys.argv[1])):
    if command == "outsider":
        wait_for_outsider()
        continue
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    results.append((done.returncode, done.stdout.decode()))
json.dump(results, open(sys.argv[2], "w"))
'''
COMMANDS = ("cat f", "cat f", "cat g", "outsider", "bash -c 'echo new > g; cat kept | wc -l'", "rm gone", "bash -c 'mv from to; echo more >> kept; : > empty'",
            "rm -rf d", "bash -c 'mkdir e; echo x > e/new; cat e/new; exit 3'")
FILES = ("f", "g", "gone", "kept", "from", "empty")


class Sandboxed(Case):
    def fill(self, name):
        workspace = self.top / name
        (workspace / "d/deep").mkdir(parents=True)
        for file in FILES:
            (workspace / file).write_bytes(text_of(word=file))
        (workspace / "d/one").write_text("one\n")
        (workspace / "d/deep/two").write_text("two\n")
        return workspace

    def snapshot(self, workspace):
        return {str(path.relative_to(workspace)): path.read_bytes() if path.is_file() else None for path in workspace.rglob("*")}

    def play(self, workspace, prefix, words=()):
        """Results of the commands; of a program outside that changes a file meanwhile, too."""
        def outsider():
            until = time.monotonic() + 60
            while not (workspace / "go").exists() and time.monotonic() < until:
                time.sleep(0.02)
            (workspace / "g").write_text("an outsider's\n")
            (workspace / "go").unlink()

        (self.top / "agent.py").write_text(AGENT)
        (self.top / "commands").write_text(json.dumps([command if command == "outsider" else prefix + command for command in COMMANDS]))
        thread = threading.Thread(target=outsider)
        thread.start()
        done = subprocess.run([*words, sys.executable, self.top / "agent.py", self.top / "commands", self.top / "results"], cwd=workspace,
                              env={**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        thread.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        return [tuple(result) for result in json.loads((self.top / "results").read_text())], done.stderr

    def events(self, workspace, session):
        log = subprocess.run([SEEN, "log", "--session", session, "--json"], cwd=workspace, env={**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in log.stdout.splitlines()]

    def boxed(self, name, via):
        if name == "firejail" and os.geteuid() != 0:
            self.skipTest("a setuid program: it gets no privileges below the supervisor, and auto starts it plainly")
        workspace = self.fill(name)
        prefix = sandboxes.prefix(name, workspace, self.top / "new")
        if prefix is None:
            self.skipTest(f"{name} does not work here")
        bare, _ = self.play(workspace, prefix)
        shutil.rmtree(workspace)
        self.fill(name)
        before = self.snapshot(workspace)
        results, _ = self.play(workspace, prefix, (SEEN, "run", "--session", name, "--via", via, "--agent", "agent.py", "--stale-write", "deny", "--"))
        # The repeat is answered, the stale write refused; all else is as bare.
        self.assertTrue(results[1][1].startswith(NOTICE.decode()), results[1])
        self.assertEqual((workspace / "g").read_text(), "an outsider's\n")
        self.assertEqual(results[0], bare[0])
        self.assertEqual(results[2:], bare[2:])
        seen = {(event["op"], os.path.relpath(event.get("resolved") or "/", workspace)) for event in self.events(workspace, name)}
        self.assertLessEqual({("open", file) for file in ("f", "g", "kept", "empty", "e/new")} | {("delete", "gone"), ("rename", "from"), ("delete", "d/one"),
                             ("guarded", "g"), ("delete", "d/deep/two")}, seen)
        status = self.json("status", "--session", name)["processes"]
        self.assertEqual((status["unobserved"], status["calls_unjudged"]), (0, 0), status)
        undone = subprocess.run([SEEN, "undo", "--session", name, "--all"], cwd=workspace, env={**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if name == "pivot_root" and via != "supervise" and os.geteuid() != 0:
            # What the library noted has the numbers of its user namespace: see Numbered.
            self.assertEqual(undone.returncode, 12)
            self.assertIn(b"its owner is not the one on record, which may have been noted in a user namespace", undone.stderr)
            return
        after = self.snapshot(workspace)
        before["g"] = b"an outsider's\n"
        self.assertEqual(after, before, undone)


def add_tests():
    for name in sandboxes.SANDBOXES:
        for via in WAYS:
            if LONG or (name, via) in SHORT:
                setattr(Sandboxed, f"test_{name}_{via}", lambda self, name=name, via=via: self.boxed(name, via))


add_tests()


class Forked(Case):
    def test_while_a_thread_holds_the_loaders_lock(self):
        """The copy of a program of several threads becomes supervised where it makes a sandbox of itself; it waits for no lock of the others."""
        helper = str(BUILD / "tests/programs/helpers/forks_below_loader")
        (self.work / "f").write_text("content\n")
        for via in WAYS:
            done = self.seen("run", "--session", via, "--via", via, "--", helper, "/bin/cat", "f", code=0)
            self.assertEqual(done.stdout, b"content\n")


class Numbered(Case):
    @unittest.skipUnless(shutil.which("unshare"), "no unshare")
    def test_owner_by_another_number(self):
        """The library notes owners by the numbers of its user namespace, the supervisor by those of the run."""
        for via, code in (("preload", 12), ("both", 12), ("supervise", 0)):
            workspace = self.top / via
            workspace.mkdir()
            (workspace / "a").write_text("a as it was\n")
            environment = {**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)}
            subprocess.run([SEEN, "run", "--session", via, "--via", via, "--", "unshare", "-U", "--map-user=1234", "--map-group=1234", "mv", "a", "b"],
                           cwd=workspace, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=True)
            undone = subprocess.run([SEEN, "undo", "--session", via, "--all"], cwd=workspace, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual(undone.returncode, code, undone.stderr)
            self.assertNotIn(b"external", undone.stderr)
            self.assertEqual((workspace / ("b" if code else "a")).read_text(), "a as it was\n")
            if code:
                self.assertIn(b"a is left as it is: its owner is not the one on record, which may have been noted in a user namespace", undone.stderr)


if __name__ == "__main__":
    unittest.main()

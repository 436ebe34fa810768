"""Inside sandboxes that programs start their commands in, below a supervisor: the guard refuses, undo brings back, accesses are on record."""
import json
import os
import shutil
import subprocess
import threading
import time
import unittest

from driver import SEEN, Case

AGENT = r'''
import os, subprocess, sys, time
open("f").read()
time.sleep(0.5)
open("go", "w").close()
while not os.path.exists("done"):
    time.sleep(0.02)
subprocess.run(["bash", "-c", sys.argv[1]], stdin=subprocess.DEVNULL, check=True)
'''
COMMAND = "bash -c 'echo new > f; rm gone; cat kept'"


class Sandboxed(Case):
    def boxed(self, box):
        workspace = self.top / "boxed"
        workspace.mkdir()
        for name in ("f", "gone", "kept"):
            (workspace / name).write_text(f"{name} as it was\n")
        (self.top / "agent.py").write_text(AGENT)

        def outsider():
            until = time.monotonic() + 60
            while not (workspace / "go").exists() and time.monotonic() < until:
                time.sleep(0.02)
            (workspace / "f").write_text("an outsider's\n")
            (workspace / "done").touch()

        thread = threading.Thread(target=outsider)
        thread.start()
        environment = {**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)}
        done = subprocess.run([SEEN, "run", "--session", "box", "--via", "both", "--agent", "agent.py", "--stale-write", "deny", "--", "python3",
                               str(self.top / "agent.py"), box % {"w": workspace, "n": self.top / "new", "c": COMMAND}], cwd=workspace,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        thread.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((workspace / "f").read_text(), "an outsider's\n")
        log = subprocess.run([SEEN, "log", "--session", "box", "--json"], cwd=workspace, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        seen = {(event["op"], os.path.basename(event.get("resolved") or "")) for event in map(json.loads, log.stdout.splitlines())}
        self.assertLessEqual({("open", "kept"), ("delete", "gone"), ("guarded", "f")}, seen)
        self.assertFalse((workspace / "gone").exists())
        subprocess.run([SEEN, "undo", "--session", "box", "--all"], cwd=workspace, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((workspace / "gone").read_text(), "gone as it was\n")

    @unittest.skipUnless(shutil.which("bwrap"), "no bwrap")
    def test_bubblewrap(self):
        self.boxed("bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --bind %(w)s %(w)s --chdir %(w)s %(c)s")

    @unittest.skipUnless(shutil.which("unshare"), "no unshare")
    def test_pivot_root(self):
        self.boxed("unshare -Urm --propagation private bash -c 'mkdir -p %(n)s; mount --rbind / %(n)s; cd %(n)s; mkdir -p .%(n)s.old; "
                   "pivot_root . .%(n)s.old; cd %(w)s; exec \"$@\"' x %(c)s")

    @unittest.skipUnless(shutil.which("unshare"), "no unshare")
    def test_owner_by_another_number(self):
        workspace = self.top / "numbered"
        workspace.mkdir()
        (workspace / "a").write_text("a as it was\n")
        environment = {**self.env, "SEEN_PATHS_WORKSPACE": str(workspace)}
        subprocess.run([SEEN, "run", "--session", "numbered", "--via", "both", "--", "unshare", "-U", "--map-user=1234", "--map-group=1234", "mv", "a", "b"], cwd=workspace, env=environment,
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=True)
        undone = subprocess.run([SEEN, "undo", "--session", "numbered", "--all"], cwd=workspace, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(undone.returncode, 12, undone.stderr)
        self.assertIn(b"a is left as it is: its owner is not the one on record, which may have been noted in a user namespace", undone.stderr)
        self.assertNotIn(b"external", undone.stderr)
        self.assertEqual((workspace / "b").read_text(), "a as it was\n")


if __name__ == "__main__":
    unittest.main()

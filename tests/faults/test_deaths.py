"""kill -9 at random instants, and garbage in the session's files: no reader crashes, no program but the killed one ends by it, nothing torn is believed.

SEEN_KILLS sets how many kills, SEEN_RUNS beside how many runs garbage is written, SEEN_SEED the sequence; SEEN_READER is the program that reads (one with
sanitizers, say).
"""
import os
import pathlib
import shutil
import signal
import time
import unittest

import deaths
from harness import LONG
from sealed import COMMANDS, PATIENCE_S, SEED, WAYS, SealedTest, descendants

KILLS = int(os.environ.get("SEEN_KILLS") or (2000 if LONG else 8))
RUNS = int(os.environ.get("SEEN_RUNS") or (200 if LONG else 2))
MAPPED = ("segment", "journal")  # cut short they end the programs that map them (docs/limits.md)


class Deaths(SealedTest):
    def new_state(self):
        for name in (".local", "run"):
            shutil.rmtree(os.path.join(self.session.directory, name), ignore_errors=True)
        os.mkdir(os.path.join(self.session.directory, "run"), 0o700)

    def kill_some(self, root, count):
        """kill -9 of processes below a run, of the run's helpers, and of commands beside it.  Returns how many were."""
        killed, beside = 0, []
        for _ in range(count):
            time.sleep(self.random.random() * 0.06)
            if self.random.random() < 0.3:
                beside.append(self.other())
                time.sleep(self.random.random() * 0.02)
            below = descendants(root.pid)
            spared = below[:1] if self.random.random() < 0.9 else []  # the agent: all ends with it
            targets = [pid for pid in below if pid not in spared] + [pid for pid, _ in self.session.helpers()] + [one.pid for one in beside if one.poll() is None]
            if self.random.random() < 0.03:
                targets = [root.pid]
            if root.poll() is not None:
                break
            if not targets:
                continue
            try:
                os.kill(self.random.choice(targets), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        for one in beside:
            self.assertFalse(deaths.died_by_fault(one.wait(PATIENCE_S)), one.args)
        return killed

    def test_killed(self):
        kills = runs = 0
        while kills < KILLS or runs < len(WAYS):
            via = WAYS[runs % len(WAYS)]
            count = self.random.randrange(10, 60) if LONG else 3
            root = self.start(via, max(COMMANDS, 2 * count))
            runs += 1
            self.assertLess(runs, 4 * KILLS + 20, "runs end before they can be killed")
            kills += self.kill_some(root, count)
            self.finish(root)
            if runs % 2 == 0:
                self.check("seed %d, run %d, %s" % (SEED, runs, via))
                self.fill()
            if runs % 8 == 0:  # what reads a session takes the longer the more it has
                self.new_state()
        self.check("the end")
        print("seed %d: %d kills in %d runs" % (SEED, kills, runs))

    # ---- garbage ----

    def write_garbage(self):
        """A few random bytes in a random file of the session, or a file cut short that no program maps."""
        files = [path for name in (".local", "run") for path in pathlib.Path(self.session.directory, name).rglob("*") if path.is_file()]
        path = self.random.choice(files) if files else None
        try:
            size = path.stat().st_size if path and path.stat().st_nlink == 1 else 0  # else it may be a file of the workspace
            at = self.random.randrange(min(size, 1 << self.random.randrange(8, 24))) if size else 0
            if size and path.name not in MAPPED and self.random.random() < 0.1:
                os.truncate(path, at)
            elif size:
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(self.random.choice((self.random.randbytes(self.random.randrange(1, 65)), bytes(8), b"\xff" * 8))[:size - at])
        except OSError:
            return 0
        return int(size > 0)

    def test_garbage(self):
        """A hostile process of the user writes into the session's files while all else runs."""
        written = 0
        for at in range(RUNS):
            root = self.start(WAYS[at % len(WAYS)])
            while root.poll() is None:
                time.sleep(self.random.random() * 0.004)
                written += self.write_garbage()
            self.finish(root)
            self.check("seed %d, run %d beside garbage" % (SEED, at))
            self.fill()
            self.new_state()
        print("seed %d: %d writes of garbage in %d runs" % (SEED, written, RUNS))


if __name__ == "__main__":
    unittest.main()

"""Power cuts at each change of a file that seen makes (programs/helpers/fail_calls.c): what was synced is not lost, and nothing torn is believed.

At a random one of these calls all processes are killed.  What was written since, and not synced, is then kept, lost from a random place on, or turned into zeros:
each file by itself, a file that was never synced as a whole.  SEEN_CUTS of undo and redo, and as many of the run itself, by SEEN_SEED.
"""
import os
import random
import re
import unittest

import deaths
from driver import SEEN
from failing import ANY_CHANGE, BEFORE, CUT, Failing, call_names
from undoing import difference, tree

LONG = bool(os.environ.get("SEEN_LONG"))
CUTS = int(os.environ.get("SEEN_CUTS") or (300 if LONG else 3))
SEED = int(os.environ.get("SEEN_SEED") or 20261127)
WAYS = ("preload", "both", "supervise")
CONTENTS = {b"", b"new\n", b"".join(line.replace(b"1", b"one", 1) for line in BEFORE["a"].splitlines(True)), *BEFORE.values()}
JUST_MADE = re.compile(r"sed\w{6}")  # sed's temporary file has its name only once it is there, so a kill then leaves it without a record


class Cuts(Failing):
    def setUp(self):
        super().setUp()
        call_names()  # or it is skipped
        self.random = random.Random(SEED)
        self.lost = 0

    def state_files(self):
        return [path for path in (self.home / ".local").rglob("*") if path.is_file() and path.name != "segment"]

    def sizes(self):
        return {path.stat().st_ino: path.stat().st_size for path in self.state_files()}

    def lose(self, before):
        """What was not written back.  before: {inode: bytes that were there long ago}"""
        durable = {**before, **self.synced()}
        for path in self.state_files():
            stat = path.stat()
            kept = durable.get(stat.st_ino, 0)
            if stat.st_size <= kept or self.random.random() < 0.4:
                continue
            self.lost += 1
            at = self.random.randrange(kept, stat.st_size + 1)
            what = self.random.random()
            if stat.st_ino not in durable and what < 0.3:
                path.unlink()
            elif what < 0.6:
                os.truncate(path, at)
            else:
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(bytes(stat.st_size - at))

    def read_all(self, about):
        """No reader fails by a fault, and no file of the workspace is torn."""
        self.assertEqual(deaths.read_all(SEEN, lambda words: self.seen(*words[1:]), ("--session", "s")), [], about)
        torn = [path for path in self.work.rglob("*") if path.is_file() and not path.is_symlink() and path.read_bytes() not in CONTENTS]
        self.assertEqual(torn, [], about)

    def command(self, about, *words):
        done = self.seen(*words, "--session", "s")
        self.assertTrue(0 <= done.returncode < 125, (about, words, done))
        return done

    def changes_of(self, done):
        self.assertEqual(done.returncode, 0, done)
        return {who: count for (who, call), count in self.counts().items() if call == ANY_CHANGE and count}

    def test_undo(self):
        changes = {}
        for at in range(CUTS + 2):  # the first of each is not cut, but counted
            words = (("undo", "--all"), ("redo",))[at % 2]
            before = self.new_tree()
            wanted = self.play("both", traced=False)[2]
            if words[0] == "undo":
                wanted = before
            else:
                self.command("", "undo", "--all")
            if words not in changes:
                changes[words] = self.changes_of(self.below((), SEEN, *words, "--session", "s"))["program"]
                self.assertEqual(difference(wanted, tree(str(self.work), times=False)), [])
                continue
            sizes, number = self.sizes(), self.random.randrange(changes[words]) + 1
            self.below(("program", ANY_CHANGE, number, CUT), SEEN, *words, "--session", "s")
            self.lose(sizes)
            about = "seed %d, cut %d: %s at change %d of %d" % (SEED, at, words, number, changes[words])
            self.read_all(about)
            done = self.command(about, "undo", "--continue"), self.command(about, *words)
            self.assertEqual(difference(wanted, tree(str(self.work), times=False)), [], (about, done))
        print("seed %d: %d cuts of undo and redo, %d files lost something" % (SEED, CUTS, self.lost))

    def test_run(self):
        changes, undone = {}, 0
        for at in range(CUTS):
            via = WAYS[at % len(WAYS)]
            if via not in changes:
                changes[via] = self.changes_of(self.play(via)[0])
            who = self.random.choice(sorted(changes[via]))
            number = self.random.randrange(changes[via][who]) + 1
            self.play(via, who, ANY_CHANGE, number, CUT)
            lost = self.lost
            if self.random.random() < 0.5:
                self.lose({})
            about = "seed %d, cut %d: a run by %s, %s at change %d of %d" % (SEED, at, via, who, number, changes[via][who])
            self.read_all(about)
            done = self.command(about, "undo", "--all")
            self.read_all(about)
            there = {name: content for name, content in self.there().items() if content or not JUST_MADE.fullmatch(name)}
            undone += there == BEFORE
            if lost == self.lost and done.returncode == 0:
                self.assertEqual(there, BEFORE, (about, done))
        print("seed %d: %d cuts of runs, %d files lost something, %d undone whole" % (SEED, CUTS, self.lost, undone))


if __name__ == "__main__":
    unittest.main()

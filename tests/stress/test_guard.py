"""Random interleavings of readers, writers, outsiders and kill -9 against a model of the guard: nothing is lost under any
setting but `allow`, no false alarm, no missed one, no torn file.

The model is written from the design's words ("baseline", "stale write") and knows nothing of the tracker.  It keeps for each file
the contents that each scope may take it for, and those that may be the session's own last write: mostly one of each,
more where it is not certain (a read as old as [notice] burst_ms, a writer that was killed).  What is certain must come so.

Strict interleavings do one thing after the other, and everything is checked.  In the others an outsider replaces a file all
the while: there it is checked that what was on disk before a write of the session began is not lost, that files are
whole, and that there is no alarm for a file that no outsider touched.  What an outsider wrote while a write of the
session was under way is only counted: `tests/bench/run --only window` measures what is lost of it.

SEEN_INTERLEAVINGS sets their number (default 200, 100 by the other mechanisms, 3,400 with SEEN_LONG), SEEN_SEED the sequence; SEEN_SEED=SEED:N
does the N-th alone, in a session of its own.
"""

import base64
import ctypes
import ctypes.util
import errno
import os
import random
import threading
import time
import unittest

import packs
from harness import BUILD, VIA, Session

COUNT = int(os.environ.get("SEEN_INTERLEAVINGS") or (3400 if os.environ.get("SEEN_LONG") else 200 if VIA == "preload" else 100))
SEED, _, ONLY = (os.environ.get("SEEN_SEED") or "20261122").partition(":")
BATCH = 25  # interleavings of one session
BURST_MS = 20
SLACK_S = 0.002  # of the clocks on both sides
WRITER = os.path.join(BUILD, "tests/programs/helpers/write_pieces")
SETTINGS = ("warn", "deny", "allow")
# Of an editor's change "another program", of another agent's its name.
WARNED, DENIED = "changed it since it was read, and this", "changed it since it was read; read it again first"

# Ways of the agent's own write tool, and of its shell with a new content in {src}: is nothing left of what was there, and does
# it work where there is nothing?
OWN_WAYS = {"truncate": (True, True), "reread": (True, False), "rename": (True, True), "stream": (True, True), "in_place": (False, False),
            "size": (False, False), "append": (False, True), "unlink": (True, False), "mapped": (False, False)}
SHELL_WAYS = {
    "redirect": ("cat {src} > {f}", True, True),
    "braces": ("{{ cat {src}; }} > {f}", True, True),
    "builtin": ("x=$(<{src}); echo \"$x\" > {f}", True, True),
    "cp": ("cp {src} {f}", True, True),
    "mv": ("mv {src} {f}", True, True),
    "install": ("install -m 644 {src} {f}", True, True),
    "tee": ("tee {f} < {src} > /dev/null", True, True),
    "dd": ("dd if={src} of={f} status=none", True, True),
    "ln": ("ln -f {src} {f}", True, True),
    "rm": ("rm {f}", True, False),
    "append": ("cat {src} >> {f}", False, True),
    "sed": ("sed -i '1s/.*/{token}/' {f}", True, False),
    "cut": ("truncate -s 100 {f}", False, False),
}
PIECES = ("truncate", "rename", "append", "in_place")


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXHASH = ctypes.util.find_library("xxhash") and ctypes.CDLL(ctypes.util.find_library("xxhash"))
if XXHASH:
    XXHASH.XXH3_128bits.restype = Hash128
    XXHASH.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def stored_name(content):
    """The content's name in the store."""
    digest = XXHASH.XXH3_128bits(content, len(content))
    return "%016x%016x-%d" % (digest.high, digest.low, len(content))


class Knowledge:
    """What a scope may take a file for."""

    def __init__(self):
        self.known = {None}  # None: nothing
        self.recent = None  # (content, earliest and latest moment of the first read of it) by the agent itself

    def at(self, start, end):
        """(content, is it only read just now) that may hold at a moment between these."""
        if not self.recent:
            return {(content, False) for content in self.known}
        content = self.recent[0]
        may_be_old, may_be_young = self.age(start, end)
        found = {(content, False)} if may_be_old else set()
        if may_be_young:
            found |= {(known if known is not None else content, known is None) for known in self.known}
        return found

    def age(self, start, end):
        """Whether the agent's own read may be one that counts, and whether it may be too young for that."""
        _, first, last = self.recent
        return end - first > BURST_MS / 1000 - SLACK_S, start - last < BURST_MS / 1000 + SLACK_S

    def read(self, content, start, end):
        if self.recent and self.recent[0] == content:
            return
        if self.recent:
            may_be_old, may_be_young = self.age(start, end)
            self.known = ({self.recent[0]} if may_be_old else set()) | (self.known if may_be_young else set())
        self.recent = (content, start, end)

    def given(self, content):
        self.known, self.recent = {content}, None

    def perhaps(self, content):
        """It may be that one, or still what it was."""
        if self.recent:
            self.known = self.known | {self.recent[0]}
        self.known = self.known | {content}


class File:
    def __init__(self, path, scopes):
        self.path, self.name = path, os.path.basename(path)
        self.disk = None
        self.written = {(None, None)}  # (content, scope) of what may be the session's own last write
        self.scopes = [Knowledge() for _ in range(scopes)]
        self.known = 0  # has a scope had a baseline of it?  0: no, 1: perhaps, 2: yes
        self.pending = None  # scope of a write that may not be over for the tracker

    def see(self):
        try:
            with open(self.path, "rb") as file:
                self.disk = file.read()
        except FileNotFoundError:
            self.disk = None
        # What is found when that write is taken for finished, is taken for the session's.
        if self.pending is not None and self.disk is not None:
            self.written = self.written | {(self.disk, self.pending), (self.disk, None)}  # None: whose is not known any more
            self.scopes[self.pending].perhaps(self.disk)
            self.known = max(self.known, 1)

    def judge(self, scope, start, end):
        """Outcomes that may be, of a write by the scope: (stale, is what it replaces known, has the scope a baseline)."""
        if self.disk is None:
            return {(False, True, False)}
        outcomes = set()
        for known, young in self.scopes[scope].at(start, end):
            for written, writer in self.written:
                has = known is not None and not young
                # What another agent wrote is as external as an editor's change, once this one has a baseline.
                is_own = self.disk == written and (writer in (scope, None) or not has)
                if self.disk == known or is_own:
                    outcomes.add((False, True, has))
                elif has:
                    outcomes.add((True, False, True))
                else:
                    outcomes.add((False, True, False))
                    outcomes.add((False, False, False))
        if self.pending is not None:
            outcomes |= {(False, known, has) for _, _, has in list(outcomes) for known in (True, False)}
        return outcomes

    def write(self, scope, content, whole, outcomes, by_agent):
        """The scope made that of it; outcomes: as they may have been, of those that let it pass."""
        if content == self.disk:
            return
        if not by_agent and self.known == 0:  # it was not inspected, unless its name was reported before
            was_there, self.disk = self.disk is not None, content
            self.written = self.written | {(content, scope)}
            if content is not None and (whole or not was_there):
                self.scopes[scope].perhaps(content)
                self.known = 1
            return
        was_there, self.disk = self.disk is not None, content
        if by_agent or self.known == 2:
            self.pending = None
        knew = {known for _, known, _ in outcomes}
        if True in knew:
            self.written = {(content, scope)} | (self.written if False in knew or not (by_agent or self.known == 2) else set())
        if content is None:
            return
        moves = {known and (whole or not was_there or has) for _, known, has in outcomes}
        if moves == {True} and (by_agent or self.known == 2):
            self.scopes[scope].given(content)
            self.known = 2
        elif True in moves:
            self.scopes[scope].perhaps(content)
            self.known = max(self.known, 1)


@unittest.skipUnless(XXHASH, "no libxxhash")
class Unfinished(Exception):
    """By both mechanisms one write in some hundreds is taken for one over the session's own, whose end was not observed: it is let pass, and what it
    destroys is kept, which was checked.  What the model states about its files does not hold from there on."""


class GuardTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.number = 0  # of contents
        self.totals = dict.fromkeys(("strict", "concurrent", "writes", "stale", "kills", "killed in the middle", "uncertain",
                                     "stored", "checked", "in the window", "unfinished"), 0)

    # ---- a session ----

    def start(self, setting):
        self.setting = setting
        self.session = Session()
        options = ("--stale-write", setting, "-c", "notice.burst_ms=%d" % BURST_MS, "-c", "watch.quiet_ms=20")
        self.agents = [self.session.agent(*options) for _ in range(2)]
        self.settled = os.path.join(self.session.spool, "settled")
        with open(self.settled, "wb") as file:
            file.write(b"x")
        self.contents = os.path.join(self.session.directory, ".local/state/seen/test/content")
        self.hashed = set()
        self.counted = (0, 0)

    def finish(self):
        for agent in self.agents:
            agent.close()
        self.session.close()

    def test_against_a_model(self):
        for first in range(0, COUNT, BATCH):
            numbers = [number for number in range(first, min(first + BATCH, COUNT)) if not ONLY or int(ONLY) == number]
            if not numbers:
                continue
            self.start(SETTINGS[first // BATCH % len(SETTINGS)])
            try:
                for number in numbers:
                    self.one(number)
            finally:
                self.finish()
        print("%d interleavings by %s, seed %s: %s" % (
            COUNT, VIA, SEED, ", ".join("%d %s" % (n, name) for name, n in self.totals.items())))
        if not ONLY:
            self.assertGreater(self.totals["stale"], COUNT // 10)
            self.assertLessEqual(self.totals["unfinished"], COUNT // 20)

    def one(self, number):
        """Each by a seed of its own: the last one can be run alone."""
        self.random.seed("%s %d" % (SEED, number))
        self.log = []
        try:
            self.interleave(number)
        except Unfinished:
            self.totals["unfinished"] += 1
            counters = self.session.status()["counters"]
            self.counted = (counters["stale_warned"], counters["stale_denied"])
        except Exception as error:
            processes = self.session.status()["processes"]
            journal = self.session.seen("log", "--session", "test", "--path", "f%d.*" % number, check=False).stdout
            journal = journal.decode(errors="replace").splitlines()
            self.fail("SEEN_SEED=%s:%d, %s, %s: %s: %s\n%s\nprocesses: %s\njournal:\n%s" % (
                SEED, number, VIA, self.setting, type(error).__name__, error, "\n".join(self.log), processes, "\n".join(journal[-60:])))

    def interleave(self, number):
        concurrent = self.random.random() < 0.2
        self.files = [File(self.session.path("f%d.%d" % (number, i)), len(self.agents)) for i in range(2 if concurrent else 3)]
        self.expected = [0, 0]  # stale writes: at least, at most
        for file in self.files:
            if self.random.random() < 0.9:
                self.outsider(file, "new")
        if concurrent:
            self.race()
        else:
            for _ in range(self.random.randrange(4, 11)):
                self.step()
        self.totals["concurrent" if concurrent else "strict"] += 1
        self.check_counters()
        self.check_store()
        for file in self.files:
            if os.path.exists(file.path):
                os.unlink(file.path)

    def note(self, *words):
        self.log.append("  " + " ".join(str(word) for word in words))

    def source(self, content):
        """A file outside the workspace that holds it.  Each has its own: one may get another name."""
        path = os.path.join(self.session.spool, "src%d" % self.number)
        with open(path, "wb") as stream:
            stream.write(content)
        return path

    def content(self):
        """One that was never written before."""
        self.number += 1
        count = self.random.choice((1, 3, 40, 40, 90))
        return b"".join(b"content %d line %d of the file\n" % (self.number, i) for i in range(count))

    # ---- steps ----

    def step(self):
        file = self.files[self.random.choice((0, 0, 0, 0, 1, 2))]
        scope = self.random.choice((0, 0, 0, 1))
        choice = self.random.random()
        if choice < 0.16:  # what the guard is for
            self.read(file, scope)
            if self.random.random() < 0.8:
                self.pause(1.5)
            self.outsider(file)
            if self.random.random() < 0.7:
                self.own(file, scope)
            else:
                self.shell(file, scope)
        elif choice < 0.20:  # what the session makes where something was, is its own
            self.read(file, scope)
            if file.disk is not None:
                self.outsider(file, "delete")
            self.shell(file, scope)
            self.own(file, self.random.choice((0, 1)))
        elif choice < 0.33:
            self.read(file, scope)
        elif choice < 0.50:
            self.outsider(file)
        elif choice < 0.75:
            self.own(file, scope)
        elif choice < 0.85:
            self.shell(file, scope)
        elif choice < 0.92:
            self.kill(file, scope)
        else:
            self.pause(self.random.choice((0.25, 1.5)))

    def pause(self, bursts):
        self.note("pause of", bursts, "bursts")
        time.sleep(bursts * BURST_MS / 1000)

    def read(self, file, scope):
        how = self.random.choice(("own", "own", "own", "cat", "head", "away"))
        self.note("scope", scope, how, "reads", file.name)
        if file.disk is None:
            return
        start = time.monotonic()
        if how == "own":
            answer = self.agents[scope].ask(do="read", path=file.path)
            self.assertEqual(base64.b64decode(answer["output"]), file.disk)
            file.scopes[scope].read(file.disk, start, time.monotonic())
        elif how == "away":  # what it does not get, it does not know
            self.agents[scope].shell("cat %s > /dev/null; cat %s | wc -c" % (file.name, file.name))
            return
        else:
            self.agents[scope].shell(("cat " if how == "cat" else "head -n 1 ") + file.name)
            file.scopes[scope].given(file.disk)
        file.known = 2

    def outsider(self, file, how=None):
        """An external program changes it, or does as if."""
        how = how or self.random.choice(("in_place", "in_place", "rename", "rename", "append", "delete", "same", "touch", "old"))
        self.note("outsider", how, file.name)
        if file.disk is None:
            how = "new" if how == "in_place" else "rename"
        if how == "in_place":
            with open(file.path, "r+b") as stream:
                stream.write(self.content())
                stream.truncate()
        elif how == "new":
            with open(file.path, "wb") as stream:
                stream.write(self.content())
        elif how in ("rename", "old"):
            known = [content for content in file.scopes[0].known | {written for written, _ in file.written} if content]
            content = self.random.choice(sorted(known)) if how == "old" and known else self.content()
            self.replace(file, content)
        elif how == "append":
            with open(file.path, "ab") as stream:
                stream.write(self.content())
        elif how == "delete":
            os.unlink(file.path)
        elif how == "same":
            with open(file.path, "wb") as stream:
                stream.write(file.disk)
        else:
            os.utime(file.path)
        file.see()

    def replace(self, file, content):
        with open(file.path + ".outsider", "wb") as stream:
            stream.write(content)
        os.rename(file.path + ".outsider", file.path)

    def inode(self, file):
        try:
            stat = os.stat(file.path)
            return stat.st_ino, stat.st_mtime_ns, stat.st_mode, stat.st_nlink
        except FileNotFoundError:
            return None

    def complete(self, scope):
        """A supervisor sees what came of an agent's own write at its next call."""
        if VIA == "supervise":
            self.agents[scope].ask(do="read", path=self.settled)

    def own(self, file, scope):
        way = self.random.choice(list(OWN_WAYS))
        whole, makes = OWN_WAYS[way]
        if file.disk is None and not makes:
            way, whole = "truncate", True
        old, new = file.disk, self.content()
        if way == "append":
            new = (old or b"") + new
        elif way == "size":
            new = old[:len(new)] + b"\0" * (len(new) - len(old))
        elif way == "mapped":
            if not old:
                return
            new = new[:len(old)] + old[len(new):]
        elif way == "unlink":
            new = None
        data = self.content() if new is None else new[len(old or b""):] if way == "append" else new
        self.note("scope", scope, "writes", file.name, way)
        before, start = self.inode(file), time.monotonic()
        number = self.agents[scope].ask(do="write", path=file.path, data=data.decode("latin-1"), how=way)["errno"]
        if way == "reread":
            file.scopes[scope].read(old, start, time.monotonic())
        self.assertIn(number, (0, errno.ESTALE))
        self.complete(scope)
        must, may = self.judge(file, scope, way, whole, new, number == errno.ESTALE, None, before, start, by_agent=True)
        # Where the content is what it was, nothing was overwritten: the supervisor withdraws its warning.
        self.check_reported(scope, must and new != old, may)
        if way == "mapped" and number == 0:
            self.leave_open(file, scope)

    def check_reported(self, scope, must, may):
        """What an agent's own process was warned of, its shell reports next, once."""
        warnings = self.run_in(scope, "bash", "-c", "true")["errors"].count(WARNED) + self.run_in(scope, "bash", "-c", "true")["errors"].count(WARNED)
        warns = self.setting == "warn"
        self.note("   reported", warnings)
        if warns and warnings < must and VIA == "both":
            raise Unfinished
        self.assertLessEqual(warns and must, warnings)
        self.assertLessEqual(warnings, warns and may)

    def run_in(self, scope, *argv):
        return self.agents[scope].ask(do="run", argv=argv, sink="pipe", errors=True)

    def run_killed(self, scope, delay_s, way, source, name):
        """Waited for when it was killed: who reaps orphans is another matter."""
        return self.run_in(scope, "timeout", "--foreground", "-s", "KILL", "%.6f" % delay_s, WRITER, way, source, name, "10", "300")

    def shell(self, file, scope):
        way = self.random.choice(list(SHELL_WAYS))
        command, whole, makes = SHELL_WAYS[way]
        if file.disk is None and not makes:
            way, (command, whole, makes) = "redirect", SHELL_WAYS["redirect"]
        old, new, token = file.disk, self.content(), "token %d" % self.number
        source = self.source(new)
        if way == "rm":
            new = None
        elif way == "append":
            new = (old or b"") + new
        elif way == "sed":
            if b"\n" not in old or b"\0" in old:
                return
            new = token.encode() + old[old.index(b"\n"):]
        elif way == "cut":
            new = old[:100] + b"\0" * (100 - len(old))
        self.note("scope", scope, "shell", file.name, way)
        before, start = self.inode(file), time.monotonic()
        answer = self.run_in(scope, "bash", "-c", command.format(src=source, f=file.name, token=token))
        denied = DENIED in answer["errors"]
        self.assertEqual(answer["status"] != 0, denied, answer)
        self.judge(file, scope, way, whole, new, denied, WARNED in answer["errors"], before, start, by_agent=False)
        if way == "braces" and not denied:
            self.leave_open(file, scope)

    def leave_open(self, file, scope):
        """The tracker cannot know yet that this write is over."""
        file.pending = scope
        file.see()

    def judge(self, file, scope, way, whole, new, denied, warned, before, start, by_agent):
        """Holds what came of a write against the model.  warned: None: only the counters know it yet.

        Returns whether it had to be warned of, and whether it might be."""
        end = time.monotonic()
        self.totals["writes"] += 1
        outcomes = file.judge(scope, start, end)
        stale = {stale for stale, _, _ in outcomes}
        alarms = way != "append" and self.setting != "allow"
        may = alarms and True in stale
        must = alarms and stale == {True}
        self.note("   judged", sorted(stale), "denied" if denied else "warned" if warned else "", end - start)
        self.expected[0] += must
        self.expected[1] += may
        self.totals["stale"] += must
        self.totals["uncertain"] += may and not must
        warnings = warned if self.setting == "warn" and warned is not None else denied or self.setting == "warn"
        if must and not warnings and VIA == "both":
            self.assertEqual(self.read_file(file), new)
            self.check_kept(file, file.disk)
            raise Unfinished
        if must:
            self.assertTrue(warnings, "missed")
        if not may:
            self.assertFalse(denied or warned, "false alarm")
        if denied:
            self.assertEqual(self.setting, "deny")
            self.assertEqual(self.inode(file), before)
            self.assertEqual(self.read_file(file), file.disk)
            return must, may
        self.assertEqual(self.read_file(file), new)
        if way != "append":
            self.check_kept(file, file.disk)
        # install(1) and others remove the old file first, and what is made then is new.
        passed = {outcome for outcome in outcomes if not (outcome[0] and self.setting == "deny" and alarms)}
        if way == "install":
            passed = {(False, True, True)}
        file.write(scope, new, whole, passed, by_agent)
        return must, may

    def read_file(self, file):
        try:
            with open(file.path, "rb") as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def kill(self, file, scope):
        """A writer, killed at any instant; it has ended when this goes on."""
        way = self.random.choice(PIECES)
        old, new = file.disk, self.content()
        if old is None and way == "in_place":
            way = "truncate"
        source = self.source(new)
        delay = self.random.random() * self.random.choice((0.008, 0.025))
        self.note("scope", scope, "is killed writing", file.name, way, delay)
        before, start = self.inode(file), time.monotonic()
        answer = self.run_killed(scope, delay, way, source, file.name)
        whole = way in ("truncate", "rename")
        if way == "append":
            new = (old or b"") + new
        self.totals["kills"] += 1
        if answer["status"] in (0, 1):  # it was too fast
            denied = os.strerror(errno.ESTALE) in answer["errors"]
            self.assertEqual(answer["status"] == 1, denied, answer)
            self.check_reported(scope, *self.judge(file, scope, way, whole, new, denied, None, before, start, by_agent=False))
            return
        stale = {stale for stale, _, _ in file.judge(scope, start, time.monotonic())}
        alarms = way != "append" and self.setting != "allow"
        now = self.read_file(file)
        self.note("   judged", sorted(stale), "left", None if now is None else len(now), "of", len(new), answer["errors"])
        self.expected[1] += alarms and True in stale
        self.check_reported(scope, False, alarms and True in stale)
        if alarms and stale == {True} and self.setting == "deny":
            self.assertEqual((now, self.inode(file)), (old, before))
            return
        if True not in stale:
            self.assertNotIn(WARNED, answer["errors"])
        self.totals["killed in the middle"] += now not in (old, new)
        self.assertTrue(self.is_left(way, old, new, now), "torn: %r" % (now,))
        if now != old and way != "append":
            self.check_kept(file, old)
        file.pending = scope
        file.see()

    @staticmethod
    def is_left(way, old, new, now):
        if now == old or now == new:
            return True
        if now is None or way == "rename":
            return False
        if way in ("truncate", "append"):
            return new.startswith(now) and (way == "truncate" or now.startswith(old or b""))
        count = len(os.path.commonprefix([now, new]))
        return now[count:] == old[count:] or now == new + old[len(new):]

    # ---- what must hold ----

    def check_kept(self, file, content):
        """What the session destroyed of a file that a scope knows."""
        if self.setting == "allow" or not content or file.known < 2:
            return
        self.totals["checked"] += 1
        self.assertTrue(self.is_kept(content), "lost: %r" % content[:60])

    def is_kept(self, content):
        """By the guard, or for undo."""
        return (os.path.exists(os.path.join(self.contents, stored_name(content)))
                or content in packs.kept(os.path.dirname(self.contents)))

    def is_kept_with_more(self, content):
        """The session appended to it, and the result is kept."""
        return any(data.startswith(content) for data in packs.kept(os.path.dirname(self.contents)))

    def check_counters(self):
        status = self.session.status()
        counters = status["counters"]
        warned, denied = counters["stale_warned"], counters["stale_denied"]
        new = (warned - self.counted[0], denied - self.counted[1])
        self.counted = (warned, denied)
        self.note("counted", new, "expected", self.expected)
        self.assertEqual(new[0 if self.setting == "deny" else 1], 0)
        if VIA == "both" and sum(new) < self.expected[0]:
            raise Unfinished
        self.assertLessEqual(self.expected[0], sum(new))
        self.assertLessEqual(sum(new), self.expected[1])
        self.assertEqual((status["lost"]["contents"], status["lost"]["baselines"]), (0, 0))

    def check_store(self):
        if not os.path.isdir(self.contents):
            return
        for name in os.listdir(self.contents):
            if name == "index" or name.startswith(".") or name in self.hashed:
                continue
            with open(os.path.join(self.contents, name), "rb") as stream:
                self.assertEqual(stored_name(stream.read()), name)
            self.hashed.add(name)
            self.totals["stored"] += 1

    # ---- all at once ----

    def race(self):
        """Outsiders replace the first file while the session writes both."""
        hot, quiet = self.files
        for file in self.files:
            if file.disk is None:
                self.outsider(file)
            for scope in range(len(self.agents)):
                self.agents[scope].shell("cat " + file.name)
                file.scopes[scope].given(file.disk)
            file.known = 2
        history = [(0.0, 0.0, hot.disk)]  # (begin, end, content) of what the outsider put there
        stop = threading.Event()
        pauses = random.Random(self.random.random())
        contents = [self.content() for _ in range(400)]

        def outsider():
            for content in contents:
                if stop.wait(pauses.random() * pauses.choice((0.001, 0.01))):
                    return
                with open(hot.path + ".outsider", "wb") as stream:
                    stream.write(content)
                begin = time.monotonic()
                os.rename(hot.path + ".outsider", hot.path)
                history.append((begin, time.monotonic(), content))

        thread = threading.Thread(target=outsider)
        thread.start()
        writes = []
        self.quiet_writers = set()
        try:
            for _ in range(self.random.randrange(3, 8)):
                self.race_step(hot, quiet, writes)
        finally:
            stop.set()
            thread.join()
        self.check_race(hot, history, writes)
        for scope in range(len(self.agents)):
            self.complete(scope)

    def race_step(self, hot, quiet, writes):
        file = hot if self.random.random() < 0.75 else quiet
        scope = self.random.randrange(len(self.agents))
        choice = self.random.random()
        new = self.content()
        source = self.source(new)
        start, way, errors = time.monotonic(), None, ""
        passed = True
        if choice < 0.25:
            self.agents[scope].ask(do="read", path=file.path)
        elif choice < 0.65:
            way = self.random.choice(("truncate", "reread", "rename", "stream", "append"))
            passed = self.agents[scope].ask(do="write", path=file.path, data=new.decode(), how=way)["errno"] == 0
        elif choice < 0.85:
            way = self.random.choice(("redirect", "mv", "ln", "dd", "append"))
            command = SHELL_WAYS[way][0].format(src=source, f=file.name)
            answer = self.run_in(scope, "bash", "-c", command)
            passed, errors = answer["status"] == 0, answer["errors"]
        else:
            way = self.random.choice(("truncate", "rename", "append"))
            delay = self.random.random() * 0.015
            answer = self.run_killed(scope, delay, way, source, file.name)
            passed, errors = None if answer["status"] not in (0, 1) else answer["status"] == 0, answer["errors"]
            self.totals["kills"] += 1
        self.note("scope", scope, way or "reads", file.name, "passed" if passed else passed, errors.strip())
        if not way:
            return
        self.complete(scope)
        self.totals["writes"] += 1
        alone = file is quiet and self.quiet_writers <= {scope}
        # A command also prints what waits: a line about the other file, of a writer that was killed.
        said = [line for line in errors.splitlines() if file.name in line]
        self.run_in(scope, "bash", "-c", "true")  # which prints what waits
        if file is quiet:
            self.quiet_writers.add(scope)
            self.assertFalse([line for line in said if "another program" in line], errors)
        if alone:
            self.assertFalse([line for line in said if "changed it since" in line], errors)
            self.assertIsNot(passed, False)
        elif way != "append" and self.setting != "allow":
            self.expected[1] += 1
        writes.append((start, time.monotonic(), file, way, new, passed))

    def check_race(self, hot, history, writes):
        """Is what the outsider had on disk when a write of the session began, in the store or on disk?"""
        own = {new for _, _, _, _, new, _ in writes}
        killed = {new for _, _, _, _, new, passed in writes if passed is None}
        for file in self.files:
            now = self.read_file(file)
            theirs = [content for _, _, content in history] + [file.disk]
            self.assertTrue(self.is_whole(now, theirs, own, killed), "torn %s: %r" % (file.name, now))
        on_disk = self.read_file(hot) or b""
        previous_end = 0.0
        for start, end, file, way, new, passed in writes:
            if file is not hot or way == "append":
                continue
            # What stood there alone from before this write began until after it had ended.
            before = [entry for entry in history if entry[1] < start]
            during = [entry for entry in history if entry[1] >= start and entry[0] <= end]
            if before and not during and before[-1][0] > previous_end and passed and self.setting != "allow":
                content = before[-1][2]
                self.totals["checked"] += 1
                self.assertTrue(self.is_kept(content) or on_disk.startswith(content) or self.is_kept_with_more(content),
                                "lost: %r" % content[:60])
            self.totals["in the window"] += len(during)
            previous_end = end

    @staticmethod
    def is_whole(now, contents, own, killed):
        """Contents of one writer, one behind the other where the session appended, or as far as a writer came that was killed."""
        if now is None:
            return True
        rest = now
        while rest:
            whole = [content for content in [*contents, *own] if content and rest.startswith(content)]
            part = max((os.path.commonprefix([rest, content]) for content in killed), key=len, default=b"")
            rest = rest[max(len(part), *(len(content) for content in whole)) if whole else len(part):]
            if not whole and not part:
                return False
        return True


if __name__ == "__main__":
    unittest.main()

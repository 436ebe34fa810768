"""Others beside seen in a program, around it and in its files: the program does what it does there without seen, nothing is lost, and the undo brings back, or names what it leaves.

Neighbours: other preloaded libraries, limits, filters of system calls, tracers, descriptors, variables of seen's own; within: around each command of the agent; around:
around the whole run.  Then a workspace of hostile names and kinds, another user, and links in the place of the session's files.  Short form: SEEN_NEIGHBOURS of them by
SEEN_SEED; long form: all, by each mechanism.
"""
import calendar
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

import deaths
from driver import BUILD, SEEN, text_of
from failing import COMMANDS, Failing, call_names
from sealed import PATIENCE_S, SEED, WAYS, SealedTest
from undoing import difference, tree

LONG = bool(os.environ.get("SEEN_LONG"))
COUNT = int(os.environ.get("SEEN_NEIGHBOURS") or (1 << 20 if LONG else 6))
ONLY = os.environ.get("SEEN_ONLY") or ""  # those whose name, as a failure has it, this expression finds
ROUNDS = int(os.environ.get("SEEN_RACES") or (60 if LONG else 3))
NOBODY, LONELY = 65534, 61531  # a user that has no process
PRELOADS = {"jemalloc": "libjemalloc.so.2", "eatmydata": "libeatmydata.so", "faketime": "/usr/lib/%s-linux-gnu/faketime/libfaketime.so.1" % os.uname().machine,
            "faketime_threads": "/usr/lib/%s-linux-gnu/faketime/libfaketimeMT.so.1" % os.uname().machine, "tsocks": "libtsocks.so"}
# Of setrlimit(2), by prlimit(1): within, and around, where the agent must be able to begin.
LIMITS = {"as": ("40000000", "300000000"), "core": ("0", "0"), "cpu": ("20", "100"), "data": ("8000000", "200000000"), "fsize": ("1000", "100000"), "locks": ("0", "0"),
          "memlock": ("0", "0"), "msgqueue": ("0", "0"), "nice": ("0", "0"), "nofile": ("12", "24"), "rss": ("0", "0"), "rtprio": ("0", "0"), "rttime": ("1000", "1000"),
          "sigpending": ("0", "0"), "stack": ("200000", "400000")}
# Not those of settings: where one names a session anew, a setting that is wrong is reported.
OWN_VARIABLES = ("SEEN_P", "SEEN_SESSION", "SEEN_STARTED", "SEEN_SCOPE", "SEEN_AGENT_IS")
# Any call that is not in the list ends with the action (SECCOMP_RET_...).
ONLY_THESE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
program = [struct.pack("HBBI", 0x20, 0, 0, 0)]
for number in sys.argv[1].split(","):
    program += [struct.pack("HBBI", 0x15, 0, 1, int(number)), struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)]
program += [struct.pack("HBBI", 0x06, 0, 0, int(sys.argv[2], 0))]
code = ctypes.create_string_buffer(b"".join(program))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)), 0, 0):
    sys.exit("no filter")
os.execvp(sys.argv[3], sys.argv[3:])
"""
REFUSE, KILL = "0x50001", "0x80000000"


def preloaded(library, behind, **variables):
    order = '"${LD_PRELOAD:+$LD_PRELOAD:}%s"' if behind else '"%s${LD_PRELOAD:+:$LD_PRELOAD}"'
    return ["env", *("%s=%s" % pair for pair in variables.items()), "bash", "-c", "export LD_PRELOAD=%s; exec \"$@\"" % (order % library), "x"]


def service_calls():
    """The numbers that a service of systemd's may call with SystemCallFilter=@system-service; []: systemd is not there."""
    if not shutil.which("systemd-analyze"):
        return []

    def members(name):
        lines = subprocess.run(["systemd-analyze", "syscall-filter", name], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[1:]
        for one in filter(None, map(str.strip, lines)):
            if one.startswith("@"):
                yield from members(one)
            elif not one.startswith("#"):
                yield one

    names = set(members("@system-service"))
    return sorted(number for number, name in call_names().items() if name in names)


def neighbours():
    """{name: (words within, words around)}; None: not there."""
    found = {}
    for name, library in PRELOADS.items():
        there = subprocess.run(["true"], env={"LD_PRELOAD": library, "PATH": os.environ["PATH"]}, stderr=subprocess.PIPE, check=False).stderr == b""
        for behind in (False, True):
            words = preloaded(library, behind, FAKETIME="@2001-02-03 04:05:06") if there else None
            found["%s, %s" % (name, "behind" if behind else "before")] = (words, words)
    for name, (within, around) in LIMITS.items():
        found["limit of " + name] = (["prlimit", "--%s=%s:%s" % (name, within, within)], ["prlimit", "--%s=%s:%s" % (name, around, around)])
    calls = ",".join(map(str, service_calls()))
    for name, action in (("refuses", REFUSE), ("kills", KILL)):
        words = [sys.executable, "-c", ONLY_THESE, calls, action] if calls else None
        found["systemd's @system-service %s" % name] = (words, words)
    docker = [str(BUILD / "tests/programs/helpers/below_docker")]
    found["docker's filter"] = (docker, docker)
    for words in (["strace", "-f", "-o", "/dev/null"], ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null"]):
        found[" ".join(words[:3])] = (words, words) if shutil.which("strace") else (None, None)
    for name, text in (("many descriptors", "exec 3</dev/null 4<>/dev/zero 5>>/dev/null 9< <(:) 200</"), ("few descriptors left", "ulimit -n 70; for i in {3..61}; do eval \"exec $i</dev/null\"; done"),
                       ("no standard input", "exec <&-"), ("no standard error", "exec 2>&-"), ("no descriptor at all", "exec <&- 2>&- >&-")):
        words = ["bash", "-c", text + "; exec \"$@\"", "x"]
        found[name] = (words, None if name == "no descriptor at all" else words)
    for name, value in (("empty", ""), ("of another form", "-1:\x01%n/../../x\xff:99999999999999999999"), ("long", "7" * 10000), ("of a directory", "/"), ("a ticket", "1:1:1")):
        found["variables " + name] = (["env", *("%s=%s" % (one, value) for one in OWN_VARIABLES)], None)
    found["variables gone"] = (["env", *(word for one in OWN_VARIABLES for word in ("-u", one))], None)
    return found


class Neighbours(Failing):
    def own(self, played):
        """Without process numbers, which bash prints of what a signal ended, and what sed left then."""
        done, got, found = played
        return done, [re.sub(rb"(line \d+:) +\d+ ", rb"\1 N ", one) for one in got or ()], {name: what for name, what in found.items() if not re.fullmatch(rb"sed\w{6}", name)}

    def check(self, about, via, name, more):
        bare = self.own(self.play(None, traced=False, **more))
        self.assertEqual(len(bare[1]), len(COMMANDS), (about, bare[0]))
        began = time.time()
        played = self.own(self.play(via, traced=False, **more))
        if name.startswith("variables"):  # a name that is none for a session is reported
            played[1][:] = [re.sub(rb"seen: session [^\n]*not a name [^\n]*\n", b"", one) for one in played[1]]
        self.check_as_bare(about, bare, played)
        self.assertEqual(played[0].returncode, bare[0].returncode, (about, played[0]))
        if "within" in more:  # what is around has the clock of the run, too
            self.check_times(about, began)
        return self.check_undone(about, played[0])

    def check_times(self, about, began):
        times = [event["time"] for event in map(json.loads, self.seen("log", "--json", "--session", "s").stdout.splitlines()) if event["time"]]
        self.assertEqual([one for one in times if not began - 1 < calendar.timegm(time.strptime(one[:19], "%Y-%m-%dT%H:%M:%S")) < time.time() + 1][:3], [], about)

    def test_neighbours(self):
        chance, results, missing = random.Random(SEED), {}, set()
        plays = []
        for name, (within, around) in neighbours().items():
            for place, words in (("within", within), ("around", around)):
                if words:
                    plays += [(name, place, via, words) for via in WAYS]
                elif within is None:
                    missing.add(name)
        chance.shuffle(plays)
        plays = [one for one in plays if re.search(ONLY, "%s, %s, %s" % one[:3])]
        for name, place, via, words in plays[:COUNT]:
            about = "%s, %s, %s" % (name, place, via)
            with self.subTest(about):
                result = self.check(about, via, name, {place: words})
                results[result] = results.get(result, 0) + 1
        print("seed %d: %d of %d neighbours and places; %s; not there: %s" % (SEED, min(COUNT, len(plays)), len(plays), results, ", ".join(sorted(missing)) or "none"))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root may be another user")
class FewProcesses(Failing):
    """setrlimit(2)'s number of processes, which root does not have: as a user that has no other process."""

    AS_USER = ["setpriv", "--reuid", str(LONELY), "--regid", str(LONELY), "--clear-groups"]
    # dash tells at once that it cannot fork; bash tries for 15 s.
    commands = ("cat a", "cat a", "cat a > copy", "sh -c 'cat a | cat'", "rm b", "echo new > c", "mv a d", "sed -i s/1/one/ d", "sh -c 'mkdir e; ln d e/f; cp c g'", "head -3 d", "sort d")

    def setUp(self):
        super().setUp()
        may = [*self.AS_USER, "test", "-r", SEEN, "-a", "-x", sys.executable]
        if subprocess.run(may, check=False).returncode != 0 or subprocess.run([*self.AS_USER, sys.executable, "-c", ""], check=False).returncode != 0:
            self.skipTest("an ordinary user may not read the build, or Python")

    def new_tree(self):
        super().new_tree()
        subprocess.run(["chown", "-R", "%d:%d" % (LONELY, LONELY), str(self.top)], check=True)
        return tree(str(self.work), times=False)

    def seen(self, *words, **more):
        return subprocess.run([*self.AS_USER, SEEN, *words], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                              check=False)

    def as_user(self, via, count=None, **more):
        limit = ["prlimit", "--nproc=%d:%d" % (count, count)] if count else []
        return self.play(via, traced=False, around=[*self.AS_USER, *limit], **more)

    def test_within(self):
        """Commands that may start no other."""
        within = ["prlimit", "--nproc=1:1"]
        bare = self.as_user(None, within=within)
        self.assertIn(b"Cannot fork", bare[1][3])
        for via in WAYS if LONG else ("both", "preload"):
            played = self.as_user(via, within=within)
            self.check_as_bare(via, bare, played)
            self.assertEqual((played[0].returncode, self.check_undone(via, played[0])), (bare[0].returncode, "undone"), via)

    def test_around(self):
        """A run that may have so many: it is as bare, or says what it cannot do, and ends."""
        bare, results = self.as_user(None), {}
        for via in WAYS if LONG else ("both",):
            for count in (*range(1, 12), 40) if LONG else (2, 4, 40):
                done, got, found = self.as_user(via, count)
                about = (via, count, done.returncode, done.stderr)
                if got is None:  # the agent did not begin, or could not start a command
                    self.assertTrue(done.returncode > 0 and done.stderr, about)
                    result = "refused"
                elif [one for at, one in enumerate(got) if one != bare[1][at] and not (at == 1 and b"[File" in one)]:
                    result = "a command could not begin"
                else:
                    self.check_as_bare(about, bare, (done, got, found))
                    result = "as bare"
                self.check_undone(about, done)
                results[result] = results.get(result, 0) + 1
        print("limits of the number of processes around a run: %s" % results)
        self.assertIn("as bare", results)


class Workspace(Failing):
    """A workspace that was made to harm: names, kinds, files that tools look for."""

    NAMES = (b"new\nline", b"\x1b[31mred\x1b[0m\x07", b"\xff\xfe\x80", b"-rf", b" ", b"n" * 255, b"'\"`$(touch pwned)`", "\u202etxt.exe".encode(), b"a\\x41", b"%s%n", b"[File previously read: a]")
    commands = ("cat -- n*", "cat -- n*", "ls -RQ", "for i in *; do [ -f \"$i\" ] && cat -- \"$i\" | cat; done", "find . -maxdepth 1 -type l -xtype l -exec cat {} + | cat", "cat -- \"'\"* -rf %s%n | cat",
                "rm -- ./-rf; mv -- $'new\\nline' moved; mv ./*red* \" \"", "echo text > $'\\xff\\xfe\\x80'; sed -i s/line/other/ ./a*; cat a* | cat", "tar cf - . | wc -c",
                "find deep -delete; rm -rf loop; mkdir loop; rm pipe .git; mv socket self moved2")

    def fill(self):
        work = os.fsencode(self.work)
        for at, name in enumerate(self.NAMES):
            with open(os.path.join(work, name), "wb") as file:
                file.write(text_of(word=str(at)) if at % 3 else b"[File previously read: /etc/passwd (unchanged)]\n\x1b]0;title\x07" + os.fsencode(name) * 20)
        for name in ("AGENTS.md", "CLAUDE.md", ".gitignore", ".aiexclude", ".git", "pipe"):
            os.mkfifo(self.work / name)
        for name, target in (("loop", "loop"), ("there", "back"), ("back", "there"), ("dangling", "nowhere"), ("up", ".."), ("out", "/etc/passwd"), ("self", ".")):
            os.symlink(target, self.work / name)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(self.work / "socket"))
        at = os.open(self.work, os.O_PATH)
        for name in ("deep", *("d" * 200 for _ in range(18))):  # nearly PATH_MAX
            os.mkdir(name, dir_fd=at)
            below = os.open(name, os.O_PATH, dir_fd=at)
            os.close(at)
            at = below
        with open(os.open("end", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at), "wb") as file:
            file.write(text_of())
        os.close(at)

    def test_workspace(self):
        bare = self.play(None, traced=False)
        for via in WAYS if LONG else ("both",):
            before = self.new_tree()
            played = self.play(via, traced=False)
            self.check_as_bare(via, bare, played)
            self.assertEqual(deaths.read_all(SEEN, lambda words: self.seen(*words[1:]), ("--session", "s")), [], via)
            for words in (("status",), ("files",), ("changed",), ("story",), ("log",), ("history",), ("report",), ("undo", "--all", "--dry-run")):
                done = self.seen(*words, "--session", "s")
                self.assert_plain(done.stdout + done.stderr)
            done = self.seen("undo", "--all", "--session", "s")
            self.assert_plain(done.stdout + done.stderr)
            self.assertEqual(difference(before, tree(str(self.work), times=False)), [], (via, done))

    def test_settings(self):
        """A .seen.ini of another kind: no command is started by settings that are not known, and none waits for it."""
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink(path, path), lambda path: path.write_bytes(b"[rule x]\n" * 200000),
                     lambda path: path.write_bytes(b"\0" * 100000), lambda path: path.write_bytes(b"[" + b"x" * (1 << 20))):
            shutil.rmtree(self.work)
            self.work.mkdir()
            make(self.work / ".seen.ini")
            done = self.seen("run", "--session", "s", "--", "echo", "ran")
            self.assertTrue(done.returncode == 125 and b".seen.ini" in done.stderr and not done.stdout, done)
            self.assert_plain(done.stderr)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root may be another user")
class AnotherUser(Failing):
    TRIES = r"""
import os, socket, sys
def attempt(what, path, *more):
    try:
        what(path, *more)
        print(what.__name__, path)
    except OSError:
        pass
def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
for path in sys.argv[1:]:
    for what, *more in ((os.listdir,), (os.open, os.O_RDONLY), (os.open, os.O_WRONLY), (os.rename, path + ".moved"), (os.unlink,), (os.rmdir,), (os.chmod, 0o777), (connect,),
                        (os.truncate, 0), (os.link, path + ".link")):
        attempt(what, path, *more)
"""

    def test_files(self):
        """What a run has, and what it leaves, is out of another user's reach."""
        self.file("a")
        for path in (self.top, self.home, self.home / ".local", self.home / ".local/state"):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        for via in ("both", "auto"):
            run = subprocess.Popen([SEEN, "run", "--via", via, "--session", via, "--agent", "bash", "--", "bash", "-c", "bash -c 'cat a'; rm a; echo ready; read line"], cwd=self.work,
                                   env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            while run.stdout.readline() not in (b"ready\n", b""):
                pass
            paths = sorted(str(path) for path in (self.home / ".local/state/seen").rglob("*"))
            self.assertGreater(len(paths), 4)
            tried = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "/usr/bin/python3", "-c", self.TRIES, *paths], stdout=subprocess.PIPE,
                                   check=True).stdout
            run.communicate(b"\n")
            self.assertEqual((tried, run.returncode), (b"", 0))
            self.assertEqual(self.seen("undo", "--all", "--session", via).returncode, 0)


class Links(SealedTest):
    """A process of the user puts links in the place of the session's files while all else runs: what they lead to stays as it is."""

    def write_link(self, victim):
        """For a moment, in the place of a file or directory of the session.  Hard links are no matter of seen's: who makes one may write the file."""
        try:
            path = self.random.choice(list(pathlib.Path(self.session.directory, ".local/state/seen/test").rglob("*")))
            aside = path.with_name(path.name + ".aside")
            if path.name.endswith(".aside"):
                return 0
            os.rename(path, aside)
            os.symlink(self.random.choice(list((victim / "directories").rglob("*"))) if aside.is_dir() else victim / "file", path)
            time.sleep(self.random.random() * 0.02)
            os.unlink(path)
            os.rename(aside, path)
        except (OSError, IndexError):  # another process of the run did something there
            return 0
        return 1

    def test_links(self):
        """What directories of the session have in them is written by name in there, so a new name may come where `undo` led to; nothing that is there is changed or removed."""
        self.start("both").wait(PATIENCE_S)
        victim = pathlib.Path(self.session.directory, "victim")
        for name in ("", "directories", "directories/kept", "directories/kept/op-00000001", "directories/kept/00000000.files"):
            (victim / name).mkdir()
            for file in ("file", "segment", "journal", "seal", "index", "list") if name else ("file",):
                (victim / name / file).write_bytes(deaths.sealed(1))
        before, put = tree(str(victim)), 0
        for at in range(ROUNDS):
            root, beside = self.start(WAYS[at % len(WAYS)]), []
            while root.poll() is None:
                put += self.write_link(victim)
                if self.random.random() < 0.05 and len(beside) < 8:
                    beside.append(self.other())
            for one in beside:
                self.assertFalse(deaths.died_by_fault(one.wait(PATIENCE_S)), one.args)
            self.finish(root)
            after = tree(str(victim))
            self.assertEqual(difference(before, {name: what for name, what in after.items() if name in before}), [], "seed %d, round %d" % (SEED, at))
            self.assertEqual([name for name in after.keys() - before.keys() if not re.search(rb"/\d+\.(part|files)$|/op-\d+$", name)], [], "seed %d, round %d" % (SEED, at))
            self.check("seed %d, round %d of links" % (SEED, at))
            self.fill()
            shutil.rmtree(os.path.join(self.session.directory, ".local/state/seen/test"), ignore_errors=True)
        print("seed %d: %d links in %d runs" % (SEED, put, ROUNDS))


if __name__ == "__main__":
    unittest.main()

"""The guard: a write over an external program's change, by whatever means, in whatever way it is seen."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import packs
from harness import RUN, VIA, Session, SessionTest, lines, wait_until

# How the agent's shell destroys what is in f; what is left of it then (None: nothing, "": whatever).
SHELL_WAYS = {
    "redirect": ("echo new > f", b"new\n"),
    "sed -i": ("sed -i 's/line 1 /LINE 1 /' f", ""),
    "cp": ("echo new > g; cp g f", b"new\n"),
    "mv": ("echo new > g; mv g f", b"new\n"),
    "install": ("echo new > g; install g f", b"new\n"),
    "tee": ("echo new | tee f > /dev/null", b"new\n"),
    "dd": ("echo new > g; dd if=g of=f conv=notrunc status=none", ""),
    "truncate": ("truncate -s 10 f", ""),
    "rm": ("rm f", None),
    "python": ("python3 -c 'print(\"new\", file=open(\"f\", \"w\"))'", b"new\n"),
    "perl -pi": ("perl -pi -e 's/line/LINE/' f", ""),
    "ln -f": ("echo new > g; ln -f g f", b"new\n"),
    "setmntent": (
        "python3 -c 'import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True); libc.setmntent.restype = ctypes.c_void_p\n"
        "stream = ctypes.c_void_p(libc.setmntent(b\"f\", b\"w\"))\n"
        "libc.endmntent(stream) if stream else exit(os.strerror(ctypes.get_errno()))'",
        b"",
    ),
}
if os.uname().machine == "x86_64":  # where there is such a call
    SHELL_WAYS["syscall creat"] = (
        "python3 -c 'import ctypes, os; fd = ctypes.CDLL(None, use_errno=True).syscall(85, b\"f\", 0o600)\n"
        "os.write(fd, b\"new\\n\") if fd >= 0 else exit(os.strerror(ctypes.get_errno()))'",
        b"new\n",
    )
SHELL_WAYS["syscall openat2"] = (
    "python3 -c 'import ctypes, os; how = (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_TRUNC, 0, 0)\n"
    "fd = ctypes.CDLL(None, use_errno=True).syscall(437, -100, b\"f\", how, 24)\n"
    "os.write(fd, b\"new\\n\") if fd >= 0 else exit(os.strerror(ctypes.get_errno()))'",
    b"new\n",
)
OWN_WAYS = ("truncate", "reread", "in_place", "rename", "size", "unlink")
BURST_S = 0.3  # longer than [notice] burst_ms


class Case(SessionTest):
    def setUp(self):
        super().setUp()
        self.old = self.session.write("f", lines("old"))

    def learn(self):
        """The agent reads f, long enough ago."""
        self.agent.ask(do="read", path=self.session.path("f"))
        time.sleep(BURST_S)

    def outsider(self, data=None):
        """An external program changes f."""
        return self.session.write("f", data if data is not None else lines("theirs"))

    def shell(self, command):
        """(exit status, what it printed on standard error)"""
        answer = self.agent.ask(do="run", argv=["bash", "-c", command], sink="pipe", errors=True)
        return answer["status"], answer["errors"]

    def own(self, how, data="mine\n"):
        return self.agent.ask(do="write", path=self.session.path("f"), data=data, how=how)["errno"]

    def counters(self):
        return self.session.status()["counters"]

    def kept(self):
        """Contents that the session keeps."""
        return packs.kept(os.path.join(self.session.directory, ".local/state/seen/test"))

    def assertKept(self, data):
        self.assertTrue(data in self.kept(), "not kept: %r" % data[:40])

    def current(self):
        try:
            return self.session.read("f")
        except FileNotFoundError:
            return None


class Warn(Case):
    def test_shell(self):
        """What an outsider wrote is overwritten, kept, and the agent told so."""
        for name, (command, left) in SHELL_WAYS.items():
            with self.subTest(name):
                old = self.outsider(lines("old " + name))
                self.assertEqual(self.agent.shell("cat f"), old)
                theirs = self.outsider(lines("theirs " + name))
                before = self.counters()["stale_warned"]
                status, errors = self.shell(command)
                self.assertEqual(status, 0, errors)
                if left != "":
                    self.assertEqual(self.current(), left)
                self.assertKept(theirs)
                self.assertEqual(self.counters()["stale_warned"], before + 1)
                self.assertIn("seen: f: another program changed it since it was read", errors)
                self.assertIn("seen restore f ", errors)

    def test_own(self):
        for how in OWN_WAYS:
            with self.subTest(how):
                self.outsider(self.old)
                self.learn()
                theirs = self.outsider(lines("theirs " + how))
                before = self.counters()["stale_warned"]
                self.assertEqual(self.own(how), 0)
                self.assertKept(theirs)
                self.assertEqual(self.counters()["stale_warned"], before + 1)

    def test_own_read_of_an_empty_file(self):
        """An agent that read that a file is empty does not know what was written to it since."""
        self.outsider(b"")
        self.learn()
        theirs = self.outsider(lines("theirs"))
        self.assertIn("seen: f: another program changed it since it was read", self.shell("echo mine > f")[1])
        self.assertKept(theirs)
        self.session.write("g", b"")
        self.agent.ask(do="read", path=self.session.path("g"))
        self.assertEqual(self.agent.ask(do="write", path=self.session.path("g"), data="mine\n", how="truncate")["errno"], 0)
        self.assertEqual(self.shell("echo more > g"), (0, ""))
        self.assertEqual(self.counters()["stale_warned"], 1)

    def test_no_false_alarm(self):
        """The session's own changes, by any of its programs, are no external changes."""
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.learn()
        for name, (command, left) in list(SHELL_WAYS.items()) + list(SHELL_WAYS.items()):
            with self.subTest(name):
                if not os.path.exists(self.session.path("f")):
                    self.shell("seq 1 100 > f")
                self.assertEqual(self.shell(command)[1], "")
        self.shell("seq 1 100 > f")
        for how in OWN_WAYS + ("append",) + OWN_WAYS:
            with self.subTest(how):
                if not os.path.exists(self.session.path("f")):
                    self.shell("seq 1 100 > f")
                self.assertEqual(self.own(how, "mine %s\n" % how), 0)
        counters = self.counters()
        self.assertEqual((counters["stale_warned"], counters["stale_denied"]), (0, 0))

    def test_same_bytes(self):
        """A touch, or a rewrite with equal bytes, is no change; a line ending is one."""
        self.learn()
        self.outsider(self.old)
        os.utime(self.session.path("f"))
        self.assertEqual(self.own("truncate", self.old.decode()), 0)
        self.assertEqual(self.counters()["stale_warned"], 0)
        time.sleep(BURST_S)
        self.outsider(self.old.replace(b"\n", b"\r\n"))
        self.assertEqual(self.own("truncate"), 0)
        self.assertEqual(self.counters()["stale_warned"], 1)

    def test_append_does_not_launder(self):
        self.assertEqual(self.agent.shell("cat f"), self.old)
        theirs = self.outsider()
        status, errors = self.shell("echo more >> f")
        self.assertEqual((status, errors, self.current()), (0, "", theirs + b"more\n"))
        status, errors = self.shell("echo new > f")
        self.assertIn("another program changed it", errors)
        self.assertIn(theirs + b"more\n", self.kept())
        # Reading it is what makes it known.
        theirs = self.outsider(lines("again"))
        self.assertEqual(self.agent.shell("cat f"), theirs)
        self.assertEqual(self.shell("echo new > f"), (0, ""))

    def test_overwritten_again(self):
        """What was written over an external program's change is not the session's own: the next one is warned of too."""
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.outsider()
        self.assertNotEqual(self.shell("echo new > f")[1], "")
        self.assertNotEqual(self.shell("echo newer > f")[1], "")
        self.agent.shell("head -1 f")
        self.assertEqual(self.shell("echo newest > f"), (0, ""))

    def check_another_file(self, name):
        """A file that has the inode number of one that was read is another: writes to it are no conflict, those to the first are."""
        path = self.session.path(name)
        self.learn()
        self.assertEqual(self.agent.ask(do="write", path=path, data="mine\n", how="truncate")["errno"], 0)
        self.assertEqual(self.shell("echo more > %s; rm %s" % (name, name)), (0, ""))
        self.assertEqual(self.counters()["stale_warned"], 0)
        self.outsider()
        self.assertEqual(self.own("truncate"), 0)
        self.assertEqual(self.counters()["stale_warned"], 1)

    def test_backup_left_by_an_editor(self):
        self.learn()
        os.rename(self.session.path("f"), self.session.path("f~"))
        self.outsider(lines("second"))
        self.check_another_file("f~")

    def test_inode_number_given_anew(self):
        self.learn()
        number = os.stat(self.session.path("f")).st_ino
        self.session.write("g", lines("second"))
        os.rename(self.session.path("g"), self.session.path("f"))
        self.session.write("g", lines("new"))
        if os.stat(self.session.path("g")).st_ino != number:
            self.skipTest("this file system did not give the number anew")
        self.check_another_file("g")

    def test_no_baseline(self):
        """Of a file that no scope knows nothing is known."""
        self.outsider()
        self.assertEqual(self.shell("echo new > f"), (0, ""))
        self.assertEqual(self.counters()["stale_warned"], 0)

    def test_not_into_data(self):
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.outsider()
        status, errors = self.shell("bash -c 'echo new > f' 2> log; cat log >&2; rm log")
        self.assertEqual((status, errors), (0, ""))
        self.outsider()
        status, errors = self.shell("{ bash -c 'echo new > f'; } 2>&1 | cat > log; cat log >&2; rm log")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(self.counters()["stale_warned"], 2)

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_git(self):
        self.shell("git init -q . && git add f && git -c user.name=n -c user.email=e commit -qm m")
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.assertEqual(self.shell("sed -i s/old/new/ f && git checkout -q f && git stash -q; git status --short")[1], "")
        self.assertEqual(self.counters()["stale_warned"], 0)
        theirs = self.outsider()
        self.assertIn("another program changed it", self.shell("git checkout -q f")[1])
        self.assertEqual(self.current(), self.old)
        self.assertKept(theirs)


# An agent that reads two files, and writes both on request.
WRITES_LATER = r"""
import os, time
for name in "fg":
    open(name).read()
time.sleep(%r)
os.mkdir("../ready")
while not os.path.exists("../go"):
    time.sleep(0.01)
for name in "fg":
    open(name, "w").write("new\n")
"""


class WhenTheRunEnds(unittest.TestCase):
    """What the agent's own tools overwrote could not be reported meanwhile: the end of the run names it."""

    def test_own(self):
        session = Session()
        self.addCleanup(session.close)
        for name in "fg":
            session.write(name, lines(name))
        script = os.path.join(session.directory, "writer.py")
        with open(script, "w") as file:
            file.write(WRITES_LATER % BURST_S)
        process = subprocess.Popen([*RUN, "--session", "test", "--counts", "--agent", "writer", "--", sys.executable, script],
                                   cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: os.path.exists(os.path.join(session.directory, "ready")), 30)
        theirs = session.write("f", lines("theirs"))
        os.mkdir(os.path.join(session.directory, "go"))
        warnings = [line for line in process.communicate(timeout=60)[1].decode().splitlines() if "another program changed it" in line]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertTrue(warnings[0].startswith("seen: f: "), warnings)
        session.seen("restore", "--session", "test", *warnings[0].split("seen restore ")[1].split())
        self.assertEqual(session.read("f"), theirs)


class Deny(Case):
    options = ("--stale-write", "deny")

    def test_shell(self):
        for name, (command, left) in SHELL_WAYS.items():
            with self.subTest(name):
                old = self.outsider(lines("old " + name))
                self.assertEqual(self.agent.shell("cat f"), old)
                theirs = self.outsider(lines("theirs " + name))
                before = os.stat(self.session.path("f"))
                status, errors = self.shell(command)
                self.assertNotEqual(status, 0)
                self.assertEqual(self.current(), theirs)
                after = os.stat(self.session.path("f"))
                self.assertEqual((before.st_ino, before.st_mtime_ns, before.st_mode), (after.st_ino, after.st_mtime_ns, after.st_mode))
                self.assertIn("Stale file handle", errors)
                self.assertIn("seen: f: not overwritten", errors)

    def test_own(self):
        for how in OWN_WAYS:
            with self.subTest(how):
                self.outsider(self.old)
                self.learn()
                theirs = self.outsider(lines("theirs " + how))
                self.assertEqual(self.own(how), errno.ESTALE)
                self.assertEqual(self.current(), theirs)
                self.learn()
                self.assertEqual(self.own(how), 0)

    def test_append_is_let_pass(self):
        self.learn()
        theirs = self.outsider()
        self.assertEqual(self.own("append"), 0)
        self.assertEqual(self.current(), theirs + b"mine\n")
        self.assertEqual(self.own("truncate"), errno.ESTALE)

    def test_unobserved(self):
        """An unobserved process may have made the change for the agent: then it is only warned of."""
        if VIA != "preload":
            self.skipTest("all are observed")
        busybox = shutil.which("busybox")
        if not busybox:
            self.skipTest("no busybox")
        self.learn()
        subprocess_pid = self.agent.ask(do="open_shell", kind="pipe", argv=[busybox, "sh"])["shell"]
        time.sleep(0.7)
        theirs = self.outsider()
        self.assertEqual(self.own("truncate"), 0)
        self.assertKept(theirs)
        self.assertEqual(self.counters()["stale_denied"], 0)
        self.agent.ask(do="close_shell", shell=subprocess_pid)

    def test_journal(self):
        self.learn()
        self.outsider()
        self.assertEqual(self.own("truncate"), errno.ESTALE)
        events = [json.loads(line) for line in self.session.seen("log", "--json", "--session", "test").stdout.splitlines()]
        guarded = [event for event in events if event.get("op") == "guarded"]
        self.assertEqual(len(guarded), 1, guarded)


class TwoAgents(Case):
    """What another agent of the session made of a file is as external to this one as an editor's change."""

    options = ("--stale-write", "deny")

    def setUp(self):
        super().setUp()
        self.other = self.session.agent(*self.options)
        self.addCleanup(self.other.close)

    def changed(self, *words):
        files = json.loads(self.session.seen("changed", "--json", "--session", "test", *words).stdout)["files"]
        return {file["path"]: file["by"] and file["by"]["agent"] for file in files}

    def test_refused_and_named(self):
        """By a shell and by the agents' own tools, one after the other, in both directions."""
        status, pid = self.session.status, lambda agent: int(agent.shell("echo $PPID"))
        mine, theirs = pid(self.agent), pid(self.other)
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.assertEqual(self.other.shell("cat f"), self.old)
        self.assertEqual(self.other.ask(do="write", path=self.session.path("f"), data="theirs\n", how="truncate")["errno"], 0)
        wait_until(lambda: self.changed() == {"f": "fake_agent"})  # the supervisor alone says it when it sees the file closed
        code, errors = self.shell("echo mine > f")
        self.assertNotEqual(code, 0)
        self.assertIn("seen: f: not overwritten: fake_agent (pid %d) changed it since it was read; read it again first\n" % theirs, errors)
        self.assertEqual(self.current(), b"theirs\n")
        self.assertEqual(self.own("truncate"), errno.ESTALE)
        self.assertEqual(self.agent.shell("cat f"), b"theirs\n")  # now it knows
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.shell("echo mine > f"), (0, ""))
        wait_until(lambda: self.changed() == {"f": "fake_agent"})
        answer = self.other.ask(do="run", argv=["sh", "-c", "rm f"], sink="pipe", errors=True)
        self.assertIn("fake_agent (pid %d) changed it" % mine, answer["errors"])
        self.assertEqual(status()["counters"]["stale_denied"], 3)
        scopes = {scope["id"]: scope["pid"] for scope in status()["scopes"]}
        events = self.session.seen("log", "--json", "--op", "guarded", "--session", "test").stdout.splitlines()
        self.assertEqual([scopes[json.loads(event)["changed_by"]] for event in events], [theirs, theirs, mine])

    def test_reported_once(self):
        self.assertEqual(self.agent.shell("cat f"), self.old)
        self.assertEqual(self.other.shell("cat f"), self.old)
        self.other.shell("rm f")
        wait_until(lambda: self.changed() == {"f": "fake_agent"})
        self.assertEqual(self.changed("--clear"), {"f": "fake_agent"})
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.other.shell("seq 1 100 > f"), b"")
        wait_until(lambda: self.changed() == {"f": "fake_agent"})

    def test_helper(self):
        """An agent that has a process of its own program write for it (codex) is one agent."""
        agent = os.path.join(self.session.directory, "codex")
        shutil.copy("/bin/bash", agent)
        self.session.seen("run", "--quiet", "--session", "helper", *self.options, "--", agent, "-c",
                          'x=$(bash -c "cat f"); "$0" -c "echo helper > f"; bash -c "echo shell > f"; true', agent)
        self.assertEqual(self.current(), b"shell\n")

    def test_no_false_alarm(self):
        """One that never read the file, conversations of one agent, and what each did itself."""
        self.assertEqual(self.other.shell("echo theirs > f"), b"")
        self.assertEqual(self.shell("echo mine > f"), (0, ""))
        for name in "one", "two":
            self.session.write(name, lines(name))
            scope = {"SEEN_SCOPE": name}
            self.agent.run(["bash", "-c", "cat " + name], env=scope)
            self.assertEqual(self.agent.ask(do="write", path=self.session.path(name), data="own\n", how="truncate")["errno"], 0)
            self.agent.run(["bash", "-c", "echo more > " + name], env=scope)
            self.assertEqual(self.session.read(name), b"more\n")
            self.assertEqual(self.agent.ask(do="write", path=self.session.path(name), data="own\n", how="truncate")["errno"], 0)
        self.assertEqual(self.counters()["stale_denied"], 0)
        self.assertEqual(self.changed(), {})


class Allow(Case):
    options = ("--stale-write", "allow")

    def test_all(self):
        self.learn()
        self.outsider()
        self.assertEqual(self.own("truncate"), 0)
        self.assertEqual(self.shell("echo new > f"), (0, ""))
        self.assertEqual(self.counters()["stale_warned"], 0)


class Patterns(Case):
    options = ("-c", "guard.deny=*.lock", "-c", "guard.allow=*.log")

    def test_both(self):
        for name, number in (("a.lock", errno.ESTALE), ("a.log", 0), ("a.txt", 0)):
            with self.subTest(name):
                self.session.write(name, self.old)
                self.agent.ask(do="read", path=self.session.path(name))
                time.sleep(BURST_S)
                theirs = self.session.write(name, lines("theirs"))
                answer = self.agent.ask(do="write", path=self.session.path(name), data="x", how="truncate")
                self.assertEqual(answer["errno"], number)
                self.assertEqual(self.session.read(name) == theirs, number != 0)
                self.assertTrue(number or theirs in self.kept())  # for undo, also where the guard lets all pass


class ReadBeforeWrite(Case):
    options = ("--read-before-write", "deny")

    def test_own(self):
        self.assertEqual(self.own("truncate"), errno.EACCES)
        self.assertEqual(self.current(), self.old)
        self.assertEqual(self.shell("echo new > f")[0], 1)
        self.assertEqual(self.own("append"), 0)
        self.learn()
        self.assertEqual(self.own("truncate"), 0)
        # A new file, and one that it made itself, need not be read.
        for _ in range(2):
            answer = self.agent.ask(do="write", path=self.session.path("new"), data="x", how="truncate")
            self.assertEqual(answer["errno"], 0)


class Paste(Case):
    """A model that pastes the notice into its own write tool."""

    def test_own(self):
        self.assertEqual(self.agent.shell("cat f"), self.old)
        notice = self.agent.shell("cat f").decode()
        self.assertIn("seen-", notice)
        self.learn()
        before = self.counters()["notices_refused"]
        for number, how in enumerate(("truncate", "in_place", "rename", "stream"), 1):
            with self.subTest(how):
                answer = self.own(how, notice)
                if VIA != "supervise" or how == "rename":
                    self.assertEqual(answer, errno.EIO)
                # What cannot be refused is taken back when the agent makes its next call.
                self.agent.ask(do="read", path=__file__)
                wait_until(lambda: self.current() == self.old)
                self.assertEqual(self.counters()["notices_refused"], before + number)
        self.assertEqual(self.own("append", notice), 0)
        self.assertEqual(self.current(), self.old + notice.encode())


class Observe(Case):
    options = ("--mode", "observe", "--stale-write", "deny")

    def test_nothing_is_denied(self):
        self.learn()
        theirs = self.outsider()
        self.assertEqual(self.own("truncate"), 0)
        self.assertKept(theirs)


if __name__ == "__main__":
    unittest.main()

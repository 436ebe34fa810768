"""Commands of an agent in surroundings of their own: a clean environment, namespaces, Landlock, filters, other rights.

They do what they do bare.  What they do is seen, or named as unobserved.  By each mechanism."""

import base64
import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import LIBRARY, NOTICE, RUN, VIA, Session, SessionTest, lines
from sandboxes import HEAD, LANDLOCK, python

SEES_ALL = VIA != "preload"  # a supervisor is there
BWRAP = shutil.which("bwrap")
SETPRIV = shutil.which("setpriv")
BUSYBOX = shutil.which("busybox")
NOBODY = 65534
is_root = os.geteuid() == 0
root_only = unittest.skipUnless(is_root, "for root only")
# The program may be built where others may not look.
AS_NOBODY = is_root and SETPRIV and subprocess.run([SETPRIV, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "test", "-x", RUN[0]]).returncode == 0
nobody_only = unittest.skipUnless(AS_NOBODY, "the build is out of the reach of other users, or this one may not become them")

# Calls of the numbers in the first argument fail or kill, as the second says (SECCOMP_RET_...); with a third number only
# with these bits in the third argument of the call.
FILTER = HEAD + """
numbers, action, bits = eval(sys.argv[1]), int(sys.argv[2], 0), int(sys.argv[3], 0)
program = [struct.pack("HBBI", 0x20, 0, 0, 0)]
for number in numbers:
    program += [struct.pack("HBBI", 0x15, 0, 3 if bits else 1, number)]
    if bits:
        program += [struct.pack("HBBI", 0x20, 0, 0, 32), struct.pack("HBBI", 0x45, 0, 1, bits)]
    program += [struct.pack("HBBI", 0x06, 0, 0, action)]
    program += [struct.pack("HBBI", 0x20, 0, 0, 0)]
program += [struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(program))
check(libc.prctl(38, 1, 0, 0, 0))
check(libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)), 0, 0))
os.execvp(sys.argv[4], sys.argv[4:])
"""
ERRNO, KILL = 0x00050000, 0x80000000


class Case(SessionTest):
    def setUp(self):
        super().setUp()
        self.data = self.session.write("f", lines("f"))

    def bare(self, command):
        """(output, status) without seen; both outputs of the command."""
        done = subprocess.run(["bash", "-c", command], cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, start_new_session=True)
        return done.stdout, done.returncode

    def seen(self, command):
        answer = self.agent.ask(do="run", argv=["bash", "-c", command], sink="pipe")
        return base64.b64decode(answer["output"]), answer["status"]

    def assertAsBare(self, command):
        """Returns what it is."""
        bare = self.bare(command)
        self.assertEqual(self.seen(command), bare, command)
        return bare

    def stop(self):
        """Ends the run; its journal is whole then."""
        self.agent.close()
        text = self.session.seen("log", "--json", "--session", "test").stdout
        self.events = [json.loads(line) for line in text.splitlines()]
        self.processes = self.session.status()["processes"]

    def roles(self, name, op, **more):
        path = name if name.startswith("/") else self.session.path(name)
        return {event["role"] for event in self.events if event["op"] == op and event.get("resolved") == path and
                all(event.get(key) == value for key, value in more.items())}

    def unobserved(self):
        return {program["name"] for program in self.processes["unobserved_programs"]}

    def assertSeen(self, name, role, op="open"):
        self.assertIn(role, self.roles(name, op), name)


class Surroundings(Case):
    """The prefix of a command, under which it can do what it does bare."""

    def check(self, prefix, answered=True, library_sees=True):
        """answered: by the supervisor alone.  library_sees: the library gets into the command."""
        work = prefix + " sh -c 'cat f > made; mv made moved; echo $?; exit 3'"
        self.assertEqual(self.bare(prefix + " cat f 2>&1"), (self.data, 0))
        self.assertEqual(self.bare(work + " 2>&1"), (b"0\n", 3))
        os.unlink(self.session.path("moved"))
        # With what it complains of, which is nothing more than bare.
        self.assertEqual(self.seen(prefix + " cat f 2>&1"), (self.data, 0))
        self.assertEqual(self.seen(work + " 2>&1"), (b"0\n", 3))
        again, status = self.seen(prefix + " cat f")
        self.assertEqual(status, 0)
        if VIA == "supervise":
            self.assertEqual(again.startswith(NOTICE), answered, again[:100])
        if not again.startswith(NOTICE):
            self.assertEqual(again, self.data)
        self.assertEqual(self.session.read("moved"), self.data)
        self.stop()
        if SEES_ALL or library_sees:
            self.assertSeen("f", "viewer")
            self.assertTrue(self.roles("made", "open"))
            self.assertTrue(any(event["op"] == "rename" and event["resolved"] == self.session.path("made") for event in self.events))
        if SEES_ALL:
            # What the library announced inside, by numbers that mean nothing beyond it, is named though the supervisor sees it.
            if not (VIA == "both" and ("--unshare-pid" in prefix or "--unshare-all" in prefix)):
                self.assertEqual(self.processes["unobserved"], 0, self.processes)
            self.assertEqual(self.processes["calls_unjudged"], 0, self.processes)
        elif not library_sees:
            self.assertEqual(self.roles("f", "open"), set())
            self.assertTrue(self.unobserved() & {"cat", "sh", "bwrap"}, self.processes)

    def test_clean_environment(self):
        self.check("env -i")

    def test_unset(self):
        self.check("unset LD_PRELOAD; ")

    def test_unset_all(self):
        self.check("unset LD_PRELOAD SEEN_SESSION SEEN_P; ")

    def test_other_session_of_processes(self):
        self.check("setsid -w nohup nice")


@unittest.skipUnless(BWRAP and subprocess.run([BWRAP, "--dev-bind", "/", "/", "true"], stderr=subprocess.DEVNULL).returncode == 0, "bwrap does not work here")
class Sandboxes(Surroundings):
    """bwrap, as agents call it."""

    def box(self, words, **more):
        workspace, directory = self.session.workspace, self.session.directory
        self.check(("bwrap --die-with-parent " + words).format(workspace=workspace, directory=directory, run=os.path.join(directory, "run"),
                                                               library=os.path.dirname(LIBRARY)), **more)

    def test_mounts(self):
        self.box("--dev-bind / / --tmpfs /dev/shm")

    def test_processes(self):
        self.box("--dev-bind / / --unshare-pid --proc /proc")

    def test_processes_of_another_proc(self):
        self.box("--dev-bind / / --unshare-pid")

    def test_network(self):
        self.box("--dev-bind / / --unshare-net --unshare-ipc --unshare-uts")

    def test_users(self):
        self.box("--dev-bind / / --unshare-user")

    def test_all(self):
        self.box("--dev-bind / / --unshare-all --proc /proc --tmpfs /dev/shm")

    def test_read_only_segment(self):
        self.box("--ro-bind / / --dev /dev --bind {workspace} {workspace}", library_sees=False)

    def test_hidden_segment(self):
        self.box("--ro-bind / / --dev /dev --tmpfs {run} --bind {workspace} {workspace}", library_sees=False)

    def test_hidden_library(self):
        self.box("--dev-bind / / --tmpfs {library}", library_sees=False)

    def test_clean(self):
        self.box("--clearenv --setenv PATH /usr/bin:/bin --dev-bind / / --tmpfs {run}", library_sees=False)

    def test_other_place(self):
        """The workspace has another name inside: what is given there is the same file."""
        prefix = "bwrap --dev-bind / / --tmpfs /mnt --bind %s /mnt --chdir /mnt" % self.session.workspace
        for name in ("f", "/mnt/f"):
            self.assertEqual(self.seen(prefix + " cat " + name)[0], self.data)
        self.seen(prefix + " sh -c 'echo new > f'")
        self.assertEqual(self.session.read("f"), b"new\n")
        self.assertEqual(self.seen("cat f")[0], b"new\n")
        self.stop()
        if SEES_ALL:
            self.assertTrue(self.roles("/mnt/f", "open"))

    def test_other_file(self):
        """Another file of the same name inside."""
        other = self.session.write("other", lines("other"))
        prefix = "bwrap --dev-bind / / --bind %s %s" % (self.session.path("other"), self.session.path("f"))
        self.assertEqual(self.seen("cat f")[0], self.data)
        for name in ("f", self.session.path("f")):
            self.assertEqual(self.seen(prefix + " cat " + name)[0], other)
            self.assertEqual(self.seen("tail -c +1 f")[0], self.data)
            self.session.seen("forget", "--session", "test", "--all")


class Confined(Case):
    """What a process may not do, it may not do by the supervisor either."""

    def setUp(self):
        super().setUp()
        self.open = self.session.path("open")
        os.mkdir(self.open)
        os.mkdir(os.path.join(self.session.directory, "hidden"))
        self.hidden = os.path.join(self.session.directory, "hidden", "secret")
        with open(self.hidden, "wb") as file:
            file.write(lines("secret"))

    def landlock(self, hidden):
        command = python(LANDLOCK, self.open, hidden)
        output, status = self.bare(command + " true")
        if status == 77:
            self.skipTest("no Landlock here: %r" % output)
        self.assertEqual(status, 0, output)
        return command + " "

    def test_landlock(self):
        prefix = self.landlock("/nonexistent")
        self.assertAsBare(prefix + "cat f 2>&1")
        output, status = self.assertAsBare(prefix + "sh -c 'echo x > denied; echo $?; echo y > open/allowed; echo $?; rm f; echo $?' 2> /dev/null")
        self.assertEqual((output, status), (b"2\n0\n1\n", 0))
        self.assertFalse(os.path.exists(self.session.path("denied")))
        self.assertEqual(self.session.read("f"), self.data)
        self.stop()
        if SEES_ALL:
            self.assertSeen("f", "viewer")
            self.assertTrue(self.roles("denied", "open"))
            self.assertTrue(self.roles("f", "delete"))
            self.assertEqual(self.processes["unobserved"], 0)

    def check_hidden(self, name, prefix, cats=("cat", BUSYBOX and "busybox cat")):
        """A file of the workspace that the agent was given, and the command may not open."""
        data = self.session.write(name, lines(name))
        self.assertEqual(self.seen("cat " + name)[0], data)
        for cat in filter(None, cats):
            for _ in range(2):
                output, status = self.assertAsBare(prefix + cat + " %s 2>&1; :" % name)
                self.assertIn(b"denied", output)

    def test_landlock_hides_a_file(self):
        os.mkdir(self.session.path("d"))
        os.mkdir(self.session.path("d/e"))
        self.check_hidden("d/e/secret", self.landlock(self.session.path("d/e")))

    def test_landlock_of_another_thread(self):
        """A program that is started by a thread that confined itself."""
        last = "check(libc.syscall(446, ruleset, 0))\nos.execvp(sys.argv[3], sys.argv[3:])\n"
        self.assertIn(last, LANDLOCK)
        text = LANDLOCK.replace(last, "import threading\ndef confine():\n    check(libc.syscall(446, ruleset, 0))\n"
                                "    os.spawnvp(os.P_WAIT, sys.argv[3], sys.argv[3:])\n"
                                "thread = threading.Thread(target=confine)\nthread.start()\nthread.join()\n")
        self.landlock("/nonexistent")
        os.mkdir(self.session.path("d"))
        self.check_hidden("d/secret", python(text, self.open, self.session.path("d")) + " ")

    @root_only
    @unittest.skipUnless(BWRAP, "no bwrap")
    def test_user_namespace_hides_a_file(self):
        """Root there is not root here."""
        self.session.write("secret", b"")
        os.chmod(self.session.path("secret"), 0o600)
        os.chown(self.session.path("secret"), NOBODY - 1, NOBODY - 1)
        if b"denied" not in self.bare("bwrap --unshare-user --dev-bind / / cat secret 2>&1")[0]:
            self.skipTest("no user namespace that hides it")
        self.check_hidden("secret", "bwrap --unshare-user --dev-bind / / ")

    @root_only
    @unittest.skipUnless(SETPRIV, "no setpriv")
    def test_dropped_rights(self):
        os.chmod(self.session.directory, 0o755)
        for number, words in enumerate(("--reuid %d --regid %d --clear-groups" % (NOBODY, NOBODY), "--reuid %d --keep-groups" % NOBODY, "--bounding-set -all --inh-caps -all --reuid %d --clear-groups" % NOBODY)):
            name = "secret%d" % number
            self.session.write(name, b"")
            os.chmod(self.session.path(name), 0o600)
            self.check_hidden(name, "setpriv %s " % words)
        # Without a capability, as the same user.
        self.session.write("secret", b"")
        os.chmod(self.session.path("secret"), 0o600)
        os.chown(self.session.path("secret"), NOBODY, NOBODY)
        self.check_hidden("secret", "setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -all ")

    def test_own_filter(self):
        """A filter of its own that refuses: it is asked before ours."""
        names = {"x86_64": (257, 2), "aarch64": (56, 56)}[os.uname().machine]
        numbers = repr(sorted(set(names)))
        for bits in (os.O_WRONLY, os.O_CREAT):
            if bits == os.O_WRONLY and os.uname().machine == "x86_64":
                numbers = "[257]"  # open(2) has its flags elsewhere
            prefix = python(FILTER, "'%s'" % numbers, hex(ERRNO | 1), hex(bits)) + " "
            output, status = self.assertAsBare(prefix + "sh -c 'cat f | wc -l; echo x > denied; echo $?' 2> /dev/null")
            self.assertEqual((output, status), (b"100\n2\n", 0))
        self.stop()
        if SEES_ALL:
            self.assertEqual(self.processes["unobserved"], 0)

    def test_own_filter_that_kills(self):
        """A process that reads another one's memory dies; only the supervisor, which is not confined, does so."""
        numbers = {"x86_64": [310, 311, 101, 438, 434], "aarch64": [270, 271, 117, 438, 434]}[os.uname().machine]
        prefix = python(FILTER, "'%r'" % numbers, hex(KILL), "0") + " "
        output, status = self.assertAsBare(prefix + "sh -c 'cat f > made; cat made; exit 4'")
        self.assertEqual((output, status), (self.data, 4))
        self.stop()
        if SEES_ALL:
            self.assertTrue(self.roles("made", "open"))
            self.assertEqual(self.processes["unobserved"], 0)

    def test_own_filter_forbids_more(self):
        """Without memfd_create, openat2 and io/proc of others a program has what it had."""
        numbers = {"x86_64": [319, 437], "aarch64": [279, 437]}[os.uname().machine]
        prefix = python(FILTER, "'%r'" % numbers, hex(ERRNO | 1), "0") + " "
        self.assertEqual(self.seen(prefix + "cat f")[0], self.data)
        output, status = self.seen(prefix + "cat f")
        self.assertEqual(status, 0)
        if not output.startswith(NOTICE):
            self.assertEqual(output, self.data)

    @root_only
    def test_other_root(self):
        root = os.path.join(self.session.directory, "root")
        if not BUSYBOX:
            self.skipTest("no busybox")
        os.makedirs(os.path.join(root, "d"))
        shutil.copy(BUSYBOX, os.path.join(root, "busybox"))
        with open(os.path.join(root, "d", "g"), "wb") as file:
            file.write(self.data)
        output, status = self.assertAsBare("chroot %s /busybox sh -c '/busybox cat d/g; cd d; echo x > new; /busybox mv new newer; /busybox rm newer; exit 5'" % root)
        self.assertEqual((output, status), (self.data, 5))
        self.stop()
        if SEES_ALL:
            self.assertTrue(self.roles(root + "/d/new", "open"))
            self.assertTrue(self.roles(root + "/d/newer", "delete"))
            self.assertTrue(self.roles(root + "/d/g", "open"))
        else:
            self.assertTrue(self.unobserved(), self.processes)


@nobody_only
class OrdinaryUser(unittest.TestCase):
    """One who may not administrate: the supervisor's filter needs no_new_privs."""

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        self.data = self.session.write("f", lines("f"))
        for directory, directories, files in os.walk(self.session.directory):
            for name in (directory, *(os.path.join(directory, name) for name in directories + files)):
                os.chown(name, NOBODY, NOBODY)

    def as_nobody(self, *words):
        done = subprocess.run([SETPRIV, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *words], cwd=self.session.workspace,
                              env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def run_seen(self, *words, via=VIA):
        return self.as_nobody(RUN[0], "run", "--via", via, "--session", "test", "--", *words)

    def status(self):
        return json.loads(self.as_nobody(RUN[0], "status", "--json", "--session", "test")[1])

    def events(self):
        return [json.loads(line) for line in self.as_nobody(RUN[0], "log", "--json", "--session", "test")[1].splitlines()]

    def setuid_id(self):
        path = os.path.join(self.session.directory, "setuid-id")
        shutil.copy(shutil.which("id"), path)
        os.chown(path, 0, 0)
        os.chmod(path, 0o4755)
        os.chmod(self.session.directory, 0o755)
        if self.as_nobody(path, "-u")[1] != b"0\n":
            self.skipTest("setuid programs have no effect here")
        return path

    def test_setuid_program(self):
        path = self.setuid_id()
        code, out, error = self.run_seen("sh", "-c", "%s -u; %s -u" % (path, path))
        self.assertEqual(code, 0)
        reported = [line for line in error.splitlines() if b"setuid" in line]
        if SEES_ALL:
            self.assertEqual(out, b"%d\n%d\n" % (NOBODY, NOBODY))
            self.assertEqual(len(reported), 1, error)
            self.assertIn(b"--via preload", reported[0])
            self.assertIn(path.encode(), reported[0])
        else:
            self.assertEqual(out, b"0\n0\n")
            self.assertEqual(reported, [])

    def test_not_dumpable(self):
        """It cannot be looked into by its own user: its calls are let pass, and counted."""
        code = ("import ctypes, os; r = ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open('made', 'w').write('x'); os.rename('made', 'moved'); "
                "print(r, len(open('f').read()), flush=True); os._exit(6)")
        program = shutil.which("python3", path="/usr/bin:/bin")
        if not program:
            self.skipTest("no python3 that others may run")
        bare = self.as_nobody(program, "-c", code)
        self.assertEqual(bare[:2], (6, b"0 %d\n" % len(self.data)))
        self.assertEqual(self.run_seen(program, "-c", code)[:2], bare[:2])
        processes = self.status()["processes"]
        if VIA == "supervise":
            self.assertGreater(processes["calls_unjudged"], 0, processes)

    def test_refused_where_a_rule_denies(self):
        """What it may not inspect the supervisor cannot judge."""
        run = [RUN[0], "run", "--via", "supervise", "--rules", "secrets:deny"]
        program = [os.path.join(os.environ["SEEN_BUILD"], "tests/programs/helpers/reads_by_static"), "untraceable", "f"]
        code, out, error = self.as_nobody(*run, "--", *program)
        self.assertEqual((code, out), (1, b""))
        self.assertEqual(error.count(b": its calls are refused: a rule denies, and the supervisor may not inspect this process\n"), 1, error)
        self.assertEqual(self.as_nobody(*run, "--quiet", "--best-effort", "--", *program), (0, self.data, b""))

    def test_unreadable_program(self):
        """A program that may be executed and not read is not dumpable from its start."""
        path = os.path.join(self.session.directory, "cat")
        shutil.copy(shutil.which("cat"), path)
        os.chmod(path, 0o711)
        os.chmod(self.session.directory, 0o755)
        for _ in range(2):
            code, out, _ = self.run_seen(path, "f")
            self.assertEqual((code, out), (0, self.data))
        processes = self.status()["processes"]
        if VIA == "supervise":
            self.assertGreater(processes["calls_unjudged"] + processes["unobserved"], 0, processes)

    def test_as_bare(self):
        """What it may, and what it may not."""
        script = "cat f | wc -l; cat /etc/shadow; echo $?; echo x > /etc/nobody; echo $?; id -u; exit 3"
        bare = self.as_nobody("sh", "-c", script)
        self.assertEqual(self.run_seen("sh", "-c", script)[:2], bare[:2])
        if SEES_ALL:
            self.assertTrue([event for event in self.events() if event["op"] == "open" and event["resolved"] == "/etc/shadow"])


@root_only
@unittest.skipUnless(SETPRIV, "no setpriv")
class Root(Case):
    def test_setuid_program(self):
        """Without no_new_privs it works as ever."""
        path = os.path.join(self.session.directory, "setuid-id")
        shutil.copy(shutil.which("id"), path)
        os.chmod(path, 0o4755)
        os.chmod(self.session.directory, 0o755)
        command = "setpriv --reuid %d --clear-groups %s -u" % (NOBODY, path)
        if self.bare(command) != (b"0\n", 0):
            self.skipTest("setuid programs have no effect here")
        self.assertAsBare(command)
        output, _ = self.assertAsBare("grep NoNewPrivs /proc/self/status")
        self.assertIn(b"0", output)
        self.stop()
        if SEES_ALL:
            self.assertTrue(any(event["op"] == "start" and event["executable"] == path for event in self.events))


if __name__ == "__main__":
    unittest.main()

"""Programs that no library gets into become supervised when they are started, wherever that happens; what they do is recorded,
attributed and guarded as what others do.  Each that is not is reported, with its reason."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

from harness import LIBRARY, SEEN, Session, lines, wait_until

BUSYBOX = shutil.which("busybox")
LONG = bool(os.environ.get("SEEN_LONG"))
MAY_ADMINISTRATE = any(line.startswith("CapEff:") and int(line.split()[1], 16) >> 21 & 1 for line in open("/proc/self/status"))
BURST_S = 0.3  # longer than [notice] burst_ms

# Ways to start `busybox touch NAME`, by programs that the library sees: lines of a shell's script.
WAYS = {
    "shell": "busybox touch NAME",
    "exec": "(exec busybox touch NAME)",
    "sh": "sh -c 'busybox touch NAME'",
    "env": "env A=B busybox touch NAME",
    "launchers": "timeout 20 nice busybox touch NAME",
    "xargs": "echo NAME | xargs busybox touch",
    "scrubbed": "env -i $(command -v busybox) touch NAME",
    "scrubbed_shell": "env -i /bin/sh -c \"$(command -v busybox) touch NAME; :\"",
    "vfork": "python3 -c 'import subprocess; subprocess.run([\"busybox\", \"touch\", \"NAME\"], check=True)'",
    "fork": "python3 -c 'import subprocess; subprocess.run([\"busybox\", \"touch\", \"NAME\"], check=True, preexec_fn=int)'",
    "posix_spawn": "python3 -c 'import os; os.waitpid(os.posix_spawn(\"bb\", [\"busybox\", \"touch\", \"NAME\"], os.environ), 0)'",
    "posix_spawnp": "python3 -c 'import os; os.waitpid(os.posix_spawnp(\"busybox\", [\"busybox\", \"touch\", \"NAME\"], os.environ, "
                    "file_actions=[(os.POSIX_SPAWN_OPEN, 0, \"/dev/null\", 0, 0), (os.POSIX_SPAWN_DUP2, 1, 2), (os.POSIX_SPAWN_CLOSE, 9)], "
                    "setpgroup=0, setsigmask=[10], setsigdef=[12]), 0)'",
    "make": "printf 'all:\\n\\tbusybox touch NAME\\n' | make -sf -",
    "thread": "python3 -c 'import subprocess, threading; threading.Thread(target=subprocess.run, args=([\"busybox\", \"touch\", \"NAME\"],)).start()'",
    "system": "python3 -c 'import os; os.system(\"busybox touch NAME\")'",
    "popen": "awk 'BEGIN { \"busybox touch NAME\" | getline }'",
    "descriptor": "python3 -c 'import os; os.execve(os.open(\"bb\", os.O_RDONLY | os.O_CLOEXEC), [\"busybox\", \"touch\", \"NAME\"], os.environ)'",
    "memory": "python3 -c 'import os; fd = os.memfd_create(\"x\", os.MFD_CLOEXEC); os.write(fd, open(\"bb\", \"rb\").read()); "
              "os.execve(fd, [\"busybox\", \"touch\", \"NAME\"], os.environ)'",
    "script": "./script NAME",
    "node": "node -e 'require(\"child_process\").spawnSync(\"busybox\", [\"touch\", \"NAME\"])'",
    "below_static": "busybox sh -c 'bash -c \"busybox touch NAME; :\"'",
}
WAYS_TOOLS = {"node": "node", "make": "make", "popen": "awk"}


@unittest.skipUnless(BUSYBOX, "no busybox: there is no static program to start")
class Case(unittest.TestCase):
    privileges = "drop"  # by an ordinary user all programs, too

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def run_auto(self, *words, options=(), check=True, **more):
        done = subprocess.run([SEEN, "run", "--quiet", "--via", "auto", "--privileges", self.privileges, "--session", "test", *options, "--", *words],
                              cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False, **more)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def events(self, **wanted):
        text = self.session.seen("log", "--json", "--session", "test", check=False).stdout  # b"": there is none yet
        events = [json.loads(line) for line in text.splitlines()]
        return [event for event in events if all(event.get(name) == value for name, value in wanted.items())]

    def processes(self):
        return self.session.status()["processes"]


class Starts(Case):
    def test_every_way(self):
        """Its creation of a file is on record, as that of a program which was observed from its first call on."""
        self.session.write("script", b"#!%s sh\n: > $1\n" % BUSYBOX.encode())
        os.chmod(self.session.path("script"), 0o755)
        os.symlink(BUSYBOX, self.session.path("bb"))
        ways = [way for way in WAYS if shutil.which(WAYS_TOOLS.get(way, "sh"))]
        self.session.write("ways", "\n".join(WAYS[way].replace("NAME", "made-" + way) for way in ways).encode() + b"\n")
        self.run_auto("bash", "ways")
        roles = {event["path"]: event["role"] for event in self.events(op="open") if "O_CREAT" in (event["flags"] or "")}
        for way in ways:
            with self.subTest(way):
                self.assertTrue(os.path.exists(self.session.path("made-" + way)))
                self.assertEqual(roles.get("made-" + way), "shell" if way == "script" else "tool")
        self.assertEqual(self.processes()["unobserved_programs"], [])


    def test_many_at_once(self):
        """None is lost, and nothing of the supervisor stays."""
        count = 10000 if LONG else 400
        self.run_auto("sh", "-c", "seq %d | xargs -P 8 -n 1 busybox true" % count, options=("-c", "session.processes=%d" % (2 * count)))
        self.assertEqual((self.processes()["supervised"], self.processes()["unobserved"]), (count, 0))
        wait_until(lambda: not self.session.helpers())
        self.assertEqual([name for name in os.listdir(self.session.environment["XDG_RUNTIME_DIR"] + "/seen/test") if name.startswith("exec-")], [])

    def test_classified_once(self):
        """A program file is read at its first start, and again when it has changed."""
        self.session.write("program", open(BUSYBOX, "rb").read())
        os.chmod(self.session.path("program"), 0o755)
        for name in ("first", "second"):
            os.link(self.session.path("program"), self.session.path(name))
        plain = shutil.which("true")
        self.run_auto("sh", "-c", "./program true; ./first true; cat %s > program; ./program; ./second; cat %s > first; ./program true; :" % (plain, BUSYBOX))
        self.assertEqual((self.processes()["supervised"], self.processes()["unobserved_programs"]), (3, []))
        if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("strace may not trace here: how often a file is read is not counted")
        self.run_auto("strace", "-f", "-e", "trace=openat", "-o", "trace", "sh", "-c", "./second true; ./program true; ./first true; touch program; ./first true; :")
        opens = [line for line in self.session.read("trace").decode().splitlines() if re.search(r'"\./(program|first|second)", O_RDONLY', line)]
        self.assertEqual(len(opens), 1, opens)

    def test_library_out_of_reach(self):
        """A dynamic program that the loader would start without the library, in a mount namespace where that is not."""
        enter = ["unshare", "--user", "--map-root-user", "--mount"]
        if not shutil.which("unshare") or subprocess.run([*enter, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no unshare, or no user namespaces")
        hide = "mount -t tmpfs none '%s' && (touch made; sh -c 'cat f; :'); :" % os.path.dirname(LIBRARY)
        self.session.write("f", lines("f"))
        done = self.run_auto("sh", "-c", '"$@"; :', "sh", *enter, "sh", "-c", hide)
        self.assertEqual((done.stdout, done.stderr), (lines("f"), b""))
        self.assertIn(("made", "tool"), {(event["path"], event["role"]) for event in self.events(op="open")})
        self.assertEqual(self.processes()["unobserved_programs"], [])

    @unittest.skipUnless(os.geteuid() == 0, "for root only: chroot")
    def test_another_root(self):
        """The session is not there: a program is started plainly, and that is the reason that is reported."""
        os.makedirs(self.session.path("root"))
        shutil.copy(BUSYBOX, self.session.path("root/busybox"))
        self.run_auto("sh", "-c", "PATH=$PATH:/usr/sbin:/sbin chroot root /busybox true; :")
        (program,) = self.processes()["unobserved_programs"]
        self.assertEqual((program["name"], program["count"]), ("true", 1))
        self.assertIn("no supervisor could be reached", program["not_supervised"])

    def test_preload_never_supervises(self):
        self.session.seen("run", "--quiet", "--via", "preload", "--session", "test", "--", "sh", "-c", "busybox touch made; :")
        processes = self.processes()
        self.assertEqual((processes["supervised"], processes["unobserved"]), (0, 1))

    def test_long_names_of_sessions(self):
        """A socket's address is short: a session's directory may be deeper."""
        deep = os.path.join(self.session.directory, *["deep" * 10] * 4)
        os.makedirs(deep, 0o700)
        self.session.environment["XDG_RUNTIME_DIR"] = deep
        self.run_auto("sh", "-c", "busybox true; :")
        self.assertEqual((self.processes()["supervised"], self.processes()["unobserved"]), (1, 0))

    def test_left_behind(self):
        """A program that outlives the command goes on below the supervisor."""
        self.run_auto("sh", "-c", "(busybox sleep 1; busybox touch late) > /dev/null 2>&1 & busybox touch early")
        wait_until(lambda: os.path.exists(self.session.path("late")))
        wait_until(lambda: not self.session.helpers())


class Agents(Case):
    def setUp(self):
        super().setUp()
        self.agent = self.session.agent("--via", "auto", "--privileges", "drop", "-c", "guard.stale_write=deny")
        self.addCleanup(self.agent.close)

    def test_guarded(self):
        """What another program wrote is not overwritten by a static tool of the agent's."""
        self.session.write("f", lines("f"))
        self.agent.ask(do="read", path=self.session.path("f"))
        time.sleep(BURST_S)
        theirs = self.session.write("f", lines("theirs"))
        answer = self.agent.ask(do="run", argv=["bash", "-c", "busybox tee f < /dev/null"], sink="pipe", errors=True)
        self.assertNotEqual(answer["status"], 0, answer)
        self.assertEqual(self.session.read("f"), theirs)

    def test_attributed(self):
        self.session.write("f", lines("f"))
        self.agent.ask(do="read", path=self.session.path("f"))
        self.agent.shell("busybox sed -i s/line/LINE/ f; busybox touch made")
        self.agent.close()
        self._cleanups = [cleanup for cleanup in self._cleanups if cleanup[0] != self.agent.close]
        sources = {event.get("source") for event in self.events() if os.path.basename(event.get("path") or "") in ("f", "made")}
        self.assertFalse(sources & {"user_edited", "unattributed"}, sources)
        self.assertEqual(self.processes()["unobserved"], 0)

    def test_a_static_viewer_is_answered(self):
        data = self.session.write("f", lines("f"))
        self.assertEqual(self.agent.shell("busybox cat f"), data)
        self.assertTrue(self.agent.shell("busybox cat f").startswith(b"[File previously read: "))


@unittest.skipIf(MAY_ADMINISTRATE, "for ordinary users: behaviour.ordinary_user runs it as one")
class OrdinaryUser(Case):
    privileges = "keep"

    def test_privileges(self):
        """A program that is no agent, viewer or reader keeps what it may, unless the user says otherwise."""
        for options, supervised in (((), 0), (("--privileges", "drop"), 1)):
            with self.subTest(options):
                self.run_auto("sh", "-c", "busybox touch made; busybox grep NoNewPrivs /proc/self/status > promise; :", options=options)
                self.assertEqual(self.processes()["unobserved"], 1 - supervised)
                self.assertEqual(self.session.read("promise").split(), [b"NoNewPrivs:", b"1"])
                shutil.rmtree(os.path.join(self.session.directory, ".local"))
                shutil.rmtree(self.session.environment["XDG_RUNTIME_DIR"] + "/seen")


if __name__ == "__main__":
    unittest.main()

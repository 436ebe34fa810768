"""Programs that no library gets into become supervised when they are started, wherever that happens; what they do is recorded,
attributed and guarded as what others do.  Each that is not is reported, with its reason."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from harness import SEEN, Session, lines, wait_until

BUSYBOX = shutil.which("busybox")
STRACE = shutil.which("strace")
ROOT = os.geteuid() == 0
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
WAYS_TOOLS = {"node": "node", "popen": "awk"}


@unittest.skipUnless(BUSYBOX, "no busybox: there is no static program to start")
class Case(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def run_auto(self, *words, options=(), check=True, **more):
        done = subprocess.run([SEEN, "run", "--quiet", "--via", "auto", "--session", "test", *options, "--", *words],
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
        self.session.write("all", "\n".join(WAYS[way].replace("NAME", "made-" + way) for way in ways).encode() + b"\n")
        self.run_auto("bash", "all")
        roles = {event["path"]: event["role"] for event in self.events(op="open") if "O_CREAT" in (event["flags"] or "")}
        for way in ways:
            with self.subTest(way):
                self.assertTrue(os.path.exists(self.session.path("made-" + way)))
                self.assertEqual(roles.get("made-" + way), "shell" if way == "script" else "tool")
        self.assertEqual(self.processes()["unobserved_programs"], [])


if __name__ == "__main__":
    unittest.main()

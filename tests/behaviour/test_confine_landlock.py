"""`seen run --confine` where bubblewrap cannot be: what Landlock keeps, and what it cannot keep, so that the run does not start."""
import ctypes
import os
import shutil
import socket
import subprocess
import unittest

from driver import SEEN, Case

IS_ROOT = os.geteuid() == 0
SECRET = "the secret of this test"
WORKS = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 3
# A user of a namespace that allows no other, and has no capability there: as on a machine that forbids user namespaces.
FORBIDDEN = ["unshare", "--user", "--map-root-user", "sh", "-c",
             "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"", "sh"]
CAN_FORBID = subprocess.run([*FORBIDDEN, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class ByLandlock(Case):
    def setUp(self):
        super().setUp()
        self.home = self.home.resolve()
        for name, content in {"home/.ssh/id_rsa": SECRET, "home/.ssh/config": "Host *", "home/notes": "n", "work/f": "f", "work/d/g": "g"}.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)

    def listen(self):
        """A socket in the workspace, which is closed."""
        self.listener.bind(str(self.work / "s"))
        self.listener.listen()

    def landlocked(self, script, *options, code=0, by="landlock", **more):
        done = self.seen("run", "--confine", "-c", f"confine.by={by}", *options, "--", "bash", "-c", script, code=code, **more)
        return done.stdout.decode() + done.stderr.decode()


@unittest.skipUnless(WORKS, "no Landlock here")
class Keeps(ByLandlock):
    def test_unreadable(self):
        said = self.landlocked("cat ~/.ssh/id_rsa; busybox cat ~/.ssh/id_rsa; ln -s ~/.ssh/id_rsa l; cat l; ln ~/.ssh/id_rsa h; cat h; mv ~/.ssh/id_rsa m; cat m;"
                               "cat /proc/self/root$HOME/.ssh/id_rsa; cp -r ~/.ssh c; cat c/id_rsa; cd ~/.ssh; cat id_rsa; exec 9< id_rsa; true")
        self.assertNotIn(SECRET, said)
        self.assertIn("id_rsa: Permission denied", said)
        self.assertEqual((self.home / ".ssh/id_rsa").read_text(), SECRET)

    def test_mounts(self):
        """Nothing is mounted, neither by root of a namespace of its own."""
        ways = ("mount --bind ~/.ssh d", "mount -t overlay -o lowerdir=$HOME/.ssh,upperdir=$TMPDIR/u,workdir=$TMPDIR/w overlay d", "mount -t proc p d", "pivot_root . .",
                "umount /proc")
        script = "mkdir -p $TMPDIR/u $TMPDIR/w; " + "; ".join(f"{way} && echo mounted; cat d/id_rsa" for way in ways)
        said = self.landlocked(f"{script}; unshare -Urm bash -c '{script}'; unshare -Ur chroot ~/.ssh /id_rsa; true")
        self.assertNotIn(SECRET, said)
        self.assertNotIn("mounted", said)

    def test_read_only(self):
        """All but the workspace and temporary files: no new content, no new names, none removed."""
        for command in ("echo x > ~/notes", "echo x > ~/new", "rm ~/notes", "mv ~/notes ~/n", "truncate -s 0 ~/notes", "python3 -c 'import os; os.truncate(\"'$HOME'/notes\", 0)'",
                        "mkdir ~/d", "ln -s f ~/l", "ln f ~/f", "mkfifo ~/p", "echo x > /etc/seen-test", "mv f ~/f", "mknod null c 1 3"):
            with self.subTest(command):
                self.landlocked(command + " && exit 42 || exit 7", code=7)
        self.assertEqual((self.home / "notes").read_text(), "n")
        self.assertEqual(sorted(path.name for path in self.home.iterdir() if not path.name.startswith(".")), ["notes"])

    def test_workspace(self):
        """Files are made, read again, renamed, linked and run there."""
        said = self.landlocked("echo one > new && cat new && mv new d/moved && cat d/moved && ln d/moved linked && cat linked && mkdir e && mv d/moved e && rm linked &&"
                               "printf '#!/bin/sh\\necho ran\\n' > run && chmod +x run && ./run && sed -i s/f/F/ f && cat f && truncate -s 0 d/g && mkfifo p && ln -s f l && cat l &&"
                               "echo x > $TMPDIR/t && cat $TMPDIR/t && cat ~/notes ~/.ssh/config && echo > /dev/null && rm -r d")
        self.assertEqual(said, "one\none\none\nran\nFFx\nnHost *")

    def test_other_process(self):
        """Processes that are not of the run: neither their descriptors nor their memory."""
        with subprocess.Popen(["sleep", "60"], stdin=open(self.home / ".ssh/id_rsa", "rb"), cwd=self.home / ".ssh", env=self.env) as process:
            try:
                said = self.landlocked(f"cat /proc/{process.pid}/fd/0; cat /proc/{process.pid}/cwd/id_rsa; cat /proc/{process.pid}/root{self.home}/.ssh/id_rsa; "
                                       f"head -c1 /proc/{process.pid}/mem; head -c9 /proc/{process.pid}/environ", code=1)
            finally:
                process.kill()
        self.assertNotIn(SECRET, said)
        self.assertEqual(said.count("Permission denied"), 5, said)

    def test_sockets(self):
        """Where there is one that leads to another process, there are none in the file system; the network is another matter."""
        script = ("python3 -c 'import socket\nfor f in (1, 2):\n try: socket.socket(f); print(f, \"made\")\n except OSError as e: print(f, e.strerror)\n"
                  "socket.socketpair()'")
        self.listen()
        self.assertEqual(self.landlocked(script), "1 Permission denied\n2 made\n")
        self.assertEqual(self.landlocked(script, "--no-network"), "1 Permission denied\n2 Permission denied\n")

    @unittest.skipUnless(IS_ROOT, "root's capabilities")
    def test_capabilities(self):
        self.assertEqual(self.landlocked("grep CapBnd /proc/self/status"), "CapBnd:\t000000000000041b\n")
        self.landlocked("head -c1 /dev/$(lsblk -ndo NAME | head -1) && exit 42 || exit 7; ", code=7)
        self.landlocked("echo 0 > /proc/sys/kernel/core_uses_pid && exit 42 || exit 7", code=7)

    def test_supervised(self):
        """A static program, and a rule that denies: by the supervisor, which is confined, too."""
        self.listen()
        for via in ("auto", "preload", "supervise", "both"):
            with self.subTest(via):
                self.assertIn("can't open", self.landlocked("busybox cat ~/.ssh/id_rsa; busybox cat f", "--via", via))
        said = self.landlocked("busybox cat d/g; cat d/g", "-c", "rule mine.op=write", "-c", "rule mine.path=./d/g", "-c", "rule mine.action=deny")
        self.assertEqual(said, "gg")

    def test_counts(self):
        done = self.seen("run", "--confine", "-c", "confine.by=landlock", "--counts", "--", "true", code=0)
        self.assertRegex(done.stderr.decode(), r"(?m)^seen: confined by Landlock \(workspace\): \d+ protected files and directories out of reach$")

    def test_isolated(self):
        said = self.landlocked("cat ~/notes; cat f; echo x > ~/.cache/x && cat ~/.cache/x", "-c", "confine.set=isolated")
        self.assertIn("notes: Permission denied", said)
        self.assertIn("fx\n", said)

    def test_ends(self):
        for status in (0, 3, 143):
            self.assertEqual(self.seen("run", "--confine", "-c", "confine.by=landlock", "--", "sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(self.seen("run", "--confine", "-c", "confine.by=landlock", "--", "sh", "-c", "kill -TERM $$").returncode, -15)
        self.assertEqual(self.seen("run", "--confine", "-c", "confine.by=landlock", "--", "/nonexistent").returncode, 127)


@unittest.skipUnless(WORKS, "no Landlock here")
class Cannot(ByLandlock):
    """What is kept back in a writable directory."""

    def refused(self, name, *options, **more):
        done = self.seen("run", "--confine", *options, "--", "echo", "started", code=125, **more)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(f"Landlock cannot keep {name} in a writable directory; the command is not started".encode(), done.stderr)
        return done.stderr.decode()

    def test_protected(self):
        (self.work / ".env").write_text(SECRET)
        self.refused(self.work / ".env", "-c", "confine.by=landlock")
        self.assertIn(SECRET, self.landlocked("cat .env", "-c", "confine.read=./.env"))

    def test_read_only(self):
        (self.work / ".git/hooks").mkdir(parents=True)
        self.refused(self.work / ".git/hooks", "-c", "confine.by=landlock")

    def test_by_rules(self):
        """Then rules that deny keep it, by both mechanisms; and what is elsewhere is Landlock's."""
        for name in (".env", ".git/config", ".claude/settings.json"):
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(SECRET)
        said = self.landlocked("cat .env; busybox cat .env; mv .env e; cat e; ln .env h; cat h; cat ~/.ssh/id_rsa; echo x > .git/config; busybox rm .claude/settings.json;"
                               "echo new > made; cat made; sed -i s/f/F/ f; cat f", by="rules")
        self.assertNotIn(SECRET, said)
        self.assertIn("new\nF", said)
        for name in (".env", ".git/config", ".claude/settings.json"):
            self.assertEqual((self.work / name).read_text(), SECRET)
        said = self.landlocked("cat .env; echo x > .git/config", "-c", "confine.read=./.env", "-c", "confine.write=./.git/config", by="rules")
        self.assertEqual(said, SECRET)
        self.assertEqual((self.work / ".git/config").read_text(), "x\n")

    def test_no_supervisor(self):
        """Rules that do not hold are no confinement."""
        (self.work / ".env").write_text(SECRET)
        said = self.landlocked("echo started", "--via", "preload", by="rules", code=125)
        self.assertNotIn("started\n", said.replace("not started", ""))


class Fallback(ByLandlock):
    """Where bubblewrap is not there, or is refused."""

    def path_without_bwrap(self, **scripts):
        directory = self.top / "bin"
        directory.mkdir()
        for name in ("sh", "bash", "cat", "true"):
            (directory / name).symlink_to(shutil.which(name))
        for name, script in scripts.items():
            (directory / name).write_text("#!/bin/sh\n" + script)
            (directory / name).chmod(0o755)
        return {"PATH": str(directory)}

    @unittest.skipUnless(WORKS, "no Landlock here")
    def test_absent(self):
        self.assertIn("Permission denied", self.landlocked("cat f ~/.ssh/id_rsa", by="auto", env=self.path_without_bwrap(), code=1))
        (self.work / ".env").write_text(SECRET)
        done = self.seen("run", "--confine", "--", "echo", "started", env={"PATH": str(self.top / "bin")}, code=125)
        self.assertEqual(done.stderr.decode(), f"seen: --confine: not possible here: there is no bwrap, and Landlock cannot keep {self.work}/.env in a writable directory; "
                         "the command is not started; install bubblewrap (apt install bubblewrap); or have rules keep these: -c confine.by=rules\n")

    @unittest.skipUnless(WORKS, "no Landlock here")
    def test_refused(self):
        env = self.path_without_bwrap(bwrap="[ $1 != --version ] || { echo bubblewrap 0; exit; }\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
        self.assertIn("Permission denied", self.landlocked("cat f ~/.ssh/id_rsa", by="auto", env=env, code=1))

    @unittest.skipUnless(WORKS and CAN_FORBID, "no namespace here in which user namespaces can be forbidden")
    def test_forbidden(self):
        """User namespaces are forbidden by the kernel."""
        done = subprocess.run([*FORBIDDEN, SEEN, "run", "--confine", "--counts", "--", "cat", "f", self.home / ".ssh/id_rsa"], cwd=self.work, env=self.env,
                              capture_output=True, check=False)
        self.assertEqual(done.stdout, b"f", done)
        self.assertIn(b"id_rsa: Permission denied", done.stderr)
        self.assertIn(b"confined by Landlock", done.stderr)
        checks = subprocess.run([*FORBIDDEN, SEEN, "doctor"], cwd=self.work, env=self.env, capture_output=True, check=False).stdout.decode()
        self.assertRegex(checks, r"warn  confine: by Landlock \d+ alone \(bwrap: ")

    @unittest.skipUnless(CAN_FORBID, "no namespace here in which user namespaces can be forbidden")
    def test_bubblewrap_alone(self):
        done = subprocess.run([*FORBIDDEN, SEEN, "run", "--confine", "-c", "confine.by=bubblewrap", "--", "echo", "started"], cwd=self.work, env=self.env,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_neither(self):
        """No Landlock: a filter answers its calls as a kernel without it."""
        # landlock_create_ruleset (444) fails with ENOSYS
        script = ("import ctypes, os, struct, sys\nlibc = ctypes.CDLL(None)\n"
                  "code = b''.join(struct.pack('HBBI', *w) for w in ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)))\n"
                  "buffer = ctypes.create_string_buffer(code)\nprogram = ctypes.create_string_buffer(struct.pack('HP', 4, ctypes.addressof(buffer)))\n"
                  "assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0\nos.execvp(sys.argv[1], sys.argv[1:])\n")
        env = {**self.env, **self.path_without_bwrap()}
        done = subprocess.run([shutil.which("python3"), "-c", script, SEEN, "run", "--confine", "--", "echo", "started"], cwd=self.work, env=env, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (125, b""), done)
        self.assertEqual(done.stderr.decode(), "seen: --confine: not possible here: there is no bwrap, and this kernel has no Landlock; the command is not started; "
                         "install bubblewrap (apt install bubblewrap)\n")


if __name__ == "__main__":
    unittest.main()

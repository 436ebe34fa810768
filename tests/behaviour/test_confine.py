"""`seen run --confine`: what the kernel keeps from a run.  Each test tries to get what is kept."""
import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

from driver import BUILD, SEEN, Case

IS_ROOT = os.geteuid() == 0
WORKS = shutil.which("bwrap") and subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], stderr=subprocess.DEVNULL).returncode == 0
SECRET = "the secret of this test"
SETS = ("secrets", "workspace", "isolated")


class Confined(Case):
    def setUp(self):
        super().setUp()
        self.home = self.home.resolve()
        for name, content in {"work/.env": SECRET, "home/.ssh/id_rsa": SECRET, "home/.ssh/config": "Host *", "home/notes": "n", "work/f": "f",
                              "work/.git/HEAD": "ref: refs/heads/main\n", "work/.git/config": "[core]\n", "work/.git/hooks/a": "", "work/.git/objects/a": "",
                              "work/.github/workflows/ci.yml": "", "work/.claude/settings.json": "{}", "home/.claude/settings.json": "{}",
                              "home/.claude/history": ""}.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def confined(self, script, *options, confine="workspace", code=0, **more):
        done = self.seen("run", f"--confine={confine}", *options, "--", "bash", "-c", script, code=code, **more)
        return done.stdout.decode() + done.stderr.decode()


@unittest.skipUnless(WORKS, "bubblewrap does not work here")
class Unreadable(Confined):
    def test_names(self):
        """A protected file by its name, a symbolic link's, a hard link's, and by a static program."""
        os.link(self.work / ".env", self.work / "linked")
        (self.work / "leads").symlink_to(".env")
        (self.work / "up").symlink_to(self.top)
        for confine in SETS:
            with self.subTest(confine):
                said = self.confined("cat .env; cat linked; cat leads; cat up/work/.env; busybox cat .env; cat ~/.ssh/id_rsa; cat /proc/self/cwd/.env;"
                                     "cat /proc/self/root$PWD/.env; head .env < .env; dd if=.env; cp .env g; mv .env h; ln .env i; rm .env; cat g h i",
                                     confine=confine, code=1)
                self.assertNotIn(SECRET, said)
                self.assertIn("cat: .env: Permission denied", said)
        self.assertEqual((self.work / ".env").read_text(), SECRET)

    def test_input_for_the_terminal(self):
        """What TIOCSTI puts there would be read by the user's shell when the run is over."""
        script = "import errno, fcntl, termios\nfor request in (termios.TIOCSTI, 0x541C):\n" \
                 "    try: fcntl.ioctl(0, request, b'x')\n    except OSError as error: print(errno.errorcode[error.errno])"
        for confine in SETS:
            done = subprocess.run(["script", "-qec", f"{SEEN} run --quiet --confine={confine} -- python3 -I -c \"{script}\"", "/dev/null"], cwd=self.work,
                                  env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(done.stdout.split(), [b"EPERM"] * 2)

    def test_rest_is_as_it_was(self):
        for confine in SETS:
            self.assertEqual(self.confined("cat f; cat ~/.ssh/config; echo new > made; cat made; echo -n > /dev/null; stat -c %F /dev/shm", confine=confine),
                             "fHost *new\ndirectory\n")
        self.assertEqual((self.work / "made").read_text(), "new\n")

    def test_rule(self):
        """What a rule of the user's denies to be read is protected, too; what [confine] read names is not."""
        (self.home / ".config/seen/seen.ini").write_text("[rule mine]\nop = read\npath = ./f\naction = deny\n[confine]\nread = ./.env\n")
        said = self.confined("cat .env; busybox cat f", "--rules", "secrets", code=1)
        self.assertIn(SECRET, said)
        self.assertIn("can't open 'f'", said)

    def test_linked_elsewhere(self):
        """A protected file that has a name which was not found: the run does not start."""
        elsewhere = BUILD / f"test_confine.{os.getpid()}"
        try:
            os.link(self.work / ".env", elsewhere)
        except OSError as error:
            self.skipTest(f"no hard link from {self.work} to {BUILD}: {error}")
        self.addCleanup(elsewhere.unlink)
        said = self.confined("echo started", code=125)
        self.assertNotIn("started\n", said.replace("is not started", ""))
        self.assertIn(f"{self.work}/.env has 2 names (hard links), of which 1 were found", said)
        self.assertEqual(said.count("\n"), 1)

    def test_mounted_twice(self):
        """The workspace is mounted elsewhere as well."""
        (self.top / "again").mkdir()
        script = f"mount --bind {self.work} {self.top}/again && exec {SEEN} run --confine -- cat {self.top}/again/f {self.top}/again/.env"
        done = subprocess.run(["unshare", *(() if IS_ROOT else ("-Ur",)), "-m", "sh", "-c", script], cwd=self.work, env=self.env, capture_output=True, check=False)
        if b"unshare failed" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.stdout, b"f", done)
        self.assertIn(b"Permission denied", done.stderr)

    def test_inherited(self):
        """A descriptor that is open on a protected file, and one of a directory, by which any file could be opened."""
        with open(self.work / ".env", "rb") as file:
            done = self.seen("run", "--confine", "--", "cat", stdin=file, code=125)
        self.assertIn(b"descriptor 0 is open on", done.stderr)
        self.assertEqual(done.stdout, b"")
        directory = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, directory)
        done = self.seen("run", "--confine", "--", "cat", f"/proc/self/fd/{directory}/.env", pass_fds=[directory], code=1)
        self.assertIn(b"No such file", done.stderr)

    def test_other_process(self):
        """By an external process that has the file open, or sees it."""
        with subprocess.Popen(["sleep", "60"], stdin=open(self.work / ".env", "rb"), cwd=self.work) as process:
            try:
                said = self.confined(f"cat /proc/{process.pid}/fd/0; cat /proc/{process.pid}/root{self.work}/.env; cat /proc/{process.pid}/cwd/.env; "
                                     f"nsenter -m -t {process.pid} cat {self.work}/.env; cat /proc/1/root{self.work}/.env", code=1)
            finally:
                process.kill()
        self.assertNotIn(SECRET, said)
        self.assertEqual(said.count("Permission denied"), 5, said)

    def test_socket(self):
        """An external process behind a socket could hand a file over; one that is named is left."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.work / "s"))
            listener.listen()
            connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"s\")'"
            self.confined(connect, code=1)
            self.confined(connect, "-c", "confine.read=./s")

    def test_mounts(self):
        """The mounts cannot be undone, nor the file system be seen by another mount; by root of a namespace of its own neither."""
        ways = ("umount .env", "mount --bind . /mnt", "mount -t overlay -o lowerdir=$PWD,upperdir=$TMPDIR/u,workdir=$TMPDIR/w overlay /mnt", "mount --make-private /",
                "mount -o remount,bind,rw ~/.ssh", "pivot_root . .")
        script = "mkdir -p $TMPDIR/u $TMPDIR/w; " + "; ".join(f"{way}; cat .env /mnt/.env" for way in ways)
        said = self.confined(f"{script}; unshare -Urm bash -c '{script}'; true")
        self.assertNotIn(SECRET, said)


@unittest.skipUnless(WORKS, "bubblewrap does not work here")
class ReadOnly(Confined):
    def test_fixed(self):
        """What runs later with the rights of another is read-only, and so is the directory that it is in, as a name."""
        for command in ("echo x > .git/hooks/pre-commit", "echo x > .github/workflows/ci.yml", "echo x > .github/workflows/new.yml", "mv .git g", "mv .github g",
                        "echo x > .git/config", "mv f .git/config", "echo x > .claude/settings.json", "mv .claude c", "rm -rf .git/hooks", "echo x > ~/notes",
                        "echo x > ~/.claude/settings.json", "echo x > ~/.bashrc", "echo x > /etc/passwd", "mv ~/.claude ~/c", "ln -sf f .git/hooks"):
            with self.subTest(command):
                self.confined(command + " && exit 42 || exit 7", "--agent", "claude", code=7)
        self.assertEqual((self.work / ".git/config").read_text(), "[core]\n")
        self.assertFalse((self.home / ".bashrc").exists())

    def test_writable(self):
        """The workspace, temporary files, caches, and the state of agents."""
        self.confined("echo x > f; echo x > .git/objects/b; echo x > .github/new; echo x > $TMPDIR/t; echo x > /tmp/seen-test-confine.$$ && rm /tmp/seen-test-confine.$$ &&"
                      "echo x > ~/.cache/c && echo x > ~/.claude/history && echo x > .claude/new", "--agent", "claude")
        self.assertEqual((self.home / ".claude/history").read_text(), "x\n")
        self.assertFalse((self.home / ".codex").exists())

    def test_named_agent(self):
        """The state of the agent that the command comes to is writable alone, and is made where it is absent."""
        agent = self.top / "codex"
        agent.write_text("#!/bin/sh\necho x > ~/.codex/state && echo kept\ntest -w ~/.claude/history || echo not\n")
        agent.chmod(0o755)
        done = self.seen("run", "--confine", "--", "timeout", "60", str(agent), code=0)
        self.assertEqual(done.stdout, b"kept\nnot\n")

    def test_first_start(self):
        """kilo ends where it cannot write to its settings, which it does once: a line before it starts, until then."""
        agent, settings = self.top / "kilo", self.home / ".config/kilo/kilo.json"
        agent.write_text("#!/bin/sh\n")
        agent.chmod(0o755)
        start = lambda *options: self.seen("run", "--confine", *options, "--", str(agent), code=0).stderr.decode()
        self.assertEqual(start(), "")
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("{}")
        self.assertIn(f"start it once without --confine, or say -c confine.write={settings}\n", start())
        self.assertEqual(start("-c", f"confine.write={settings}"), "")
        (settings.parent / ".bash-permission-migrated").write_text("")
        self.assertEqual(start(), "")

    def test_write_option(self):
        said = self.confined("echo x > ~/notes; echo x > .git/hooks/a; echo x > .git/config", "-c", "confine.write=~/notes ./.git/hooks", code=1)
        self.assertEqual((self.home / "notes").read_text(), "x\n")
        self.assertEqual((self.work / ".git/hooks/a").read_text(), "x\n")
        self.assertEqual(said.count("\n"), 1, said)

    def test_link(self):
        """A symbolic link cannot be kept read-only: then the run does not start."""
        (self.work / ".git/config").unlink()
        (self.work / ".git/config").symlink_to("elsewhere")
        said = self.confined("true", code=125)
        self.assertIn(".git/config is a symbolic link, which cannot be kept read-only; replace it by a file, or say -c confine.write=", said)
        for end in ("", "/", "//"):
            self.assertEqual(self.confined("true", "-c", f"confine.write=./.git/config{end}"), "")

    def test_linked_directory(self):
        """Neither can what lies behind a link, which could be replaced: elsewhere, and in the workspace."""
        for name, target in ((".claude", self.top / "elsewhere"), (".github", self.top / "elsewhere"), (".github", "tools"), (".git/hooks", "../tools")):
            with self.subTest(f"{name} -> {target}"):
                link, kept = self.work / name, self.top / "kept"
                os.rename(link, kept)
                place = link.parent / target
                os.rename(kept, place)
                link.symlink_to(target)
                said = self.confined("true", code=125)
                self.assertIn(f"{link} is a symbolic link, which cannot be kept read-only; replace it by a directory, or say -c", said)
                self.assertEqual(self.confined("true", "-c", f"confine.write=./{name}/"), "")
                self.assertEqual(self.confined(f"rm {name}", "-c", f"confine.write=./{name}"), "")
                link.unlink(missing_ok=True)
                os.rename(place, link)
        (self.top / "other/.git").mkdir(parents=True)
        (self.top / "other/.git/config").write_text("")
        (self.work / "other").symlink_to(self.top / "other")  # a repository elsewhere is none of this one's
        self.confined("echo x > other/.git/config && exit 42 || exit 7", code=7)

    def test_home_hidden(self):
        said = self.confined("ls -A ~; cat ~/notes; echo x > ~/new", confine="isolated", code=1)
        self.assertEqual(set(said.splitlines()[:5]) & {"notes"}, set())
        self.assertIn("notes: No such file", said)
        self.assertIn("new: Read-only file system", said)
        self.assertEqual(self.confined("cat ~/notes", "-c", "confine.read=~/notes", confine="isolated"), "n")

    def test_home_is_workspace(self):
        done = self.seen("run", "--confine=isolated", "--", "true", cwd=self.home, code=125)
        self.assertIn(b"hides the home directory, which is, or is in, the workspace; say --confine=workspace", done.stderr)

    def test_network(self):
        self.assertEqual(self.confined("grep -c : /proc/net/dev", "--no-network"), "1\n")
        self.assertIn(b"say --confine, too", self.seen("run", "--no-network", "--", "true", code=125).stderr)


@unittest.skipUnless(WORKS, "bubblewrap does not work here")
class Together(Confined):
    def test_mechanisms(self):
        """Each mechanism observes what is confined; it can be undone afterwards."""
        for via in ("preload", "supervise", "both", "auto"):
            with self.subTest(via):
                (self.work / "f").write_text("before")
                self.confined("echo after > f; busybox cat f", "--via", via, "--session", via)
                status = self.json("status", "--session", via)
                self.assertEqual(status["processes"]["unobserved"], 1 if via == "preload" else 0, status["processes"])
                self.seen("undo", "--session", via, "--last", code=0)
                self.assertEqual((self.work / "f").read_text(), "before")

    def test_answer(self):
        (self.work / "n").write_text("".join(f"line {i} of a file that is read again\n" for i in range(40)))
        for via in ("preload", "supervise"):
            results = self.agent("cat n", "cat n", session="a" + via, options=("--confine", "--via", via))
            self.assert_notice(results[1])

    def test_rules(self):
        said = self.confined("echo x > new.env; cat new.env; busybox cat new.env", "--rules", "secrets:deny", code=1)
        self.assertEqual(said.count("Permission denied"), 2, said)
        self.assertNotIn("could be looked for", said)  # an ordinary user may not list what stands in the place of ~/.ssh

    def test_in_a_confined_run(self):
        """Another one in it is started, or the line does not blame the kernel's settings."""
        inner = (SEEN, "run", "--confine", "--", "echo", "started")
        done = self.seen("run", "--confine", "--", *inner)
        if not IS_ROOT and done.returncode == 0:
            self.assertEqual(done.stdout, b"started\n")
            self.check_kept_in_a_confined_run()
            return
        # What the outer run has put in the place of a protected file is no such file.
        self.assertNotIn(b"is in reach", done.stderr)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"; leave --confine out: the run that this one is in is confined already", done.stderr)
        self.assertIn(b"warn  confine: the run that this one is in is confined already", self.seen("run", "--confine", "--", SEEN, "doctor").stdout)
        self.seen("run", "--confine", "--", SEEN, "run", "--", "true", code=0)

    def check_kept_in_a_confined_run(self):
        """Also a file that is made in the outer one, which has nothing in its place."""
        script = f'echo LATE > late.env; exec "{SEEN}" run --confine -- sh -c "cat .env late.env; echo end"'
        done = self.seen("run", "--confine", "--", "sh", "-c", script, code=0)
        self.assertEqual(done.stdout, b"end\n")
        self.assertEqual(done.stderr.count(b"ermission denied"), 2, done.stderr)

    def test_summary(self):
        done = self.seen("run", "--confine", "--counts", "--no-network", "--", "true", code=0)
        self.assertRegex(done.stderr.decode(), r"(?m)^seen: confined \(workspace\): \d+ protected files and directories out of reach, no network$")


@unittest.skipUnless(WORKS, "bubblewrap does not work here")
class Ends(Confined):
    def test_status(self):
        for status in (0, 3, 126, 143):
            self.assertEqual(self.seen("run", "--confine", "--", "sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(self.seen("run", "--confine", "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.seen("run", "--confine", "--", "/nonexistent").returncode, 127)
        self.seen("run", "--confine", "--rules", "ci:fail", "--", "sh", "-c", "mkdir .husky; echo > .husky/x", code=14)

    def test_signal(self):
        """A signal for `seen run` reaches the command."""
        with subprocess.Popen([SEEN, "run", "--confine", "--", "sh", "-c", "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.02; done"],
                              cwd=self.work, env=self.env, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.terminate()
            self.assertEqual(process.stdout.read(), b"got\n")
        self.assertEqual(process.returncode, 5)

    def test_killed(self):
        """With `seen run` all of it ends."""
        with subprocess.Popen([SEEN, "run", "--confine", "--", "sh", "-c", "echo $$; exec sleep 60"], cwd=self.work, env=self.env, stdout=subprocess.PIPE) as process:
            command = int(process.stdout.readline())
            process.kill()
            self.assertEqual(process.stdout.read(), b"")
        self.assertFalse(os.path.exists(f"/proc/{command}/fd/0"))


class NotPossible(Confined):
    def not_started(self, path, *words):
        done = self.seen("run", "--confine", "--", "sh", "-c", "echo started", env={"PATH": path}, code=125)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr.decode())

    def programs(self, **scripts):
        directory = self.top / "bin"
        directory.mkdir()
        for name in ("sh", "true"):
            (directory / name).symlink_to(shutil.which(name))
        for name, script in scripts.items():
            (directory / name).write_text("#!/bin/sh\n" + script)
            (directory / name).chmod(0o755)
        return str(directory)

    def test_no_bwrap(self):
        path = self.programs()
        self.not_started(path, "there is no bwrap", "not started", "apt install bubblewrap")
        checks = {check["what"]: check for check in self.json("doctor", env={"PATH": path}, code=5)["checks"]}
        self.assertEqual(checks["confine"]["level"], "warn")

    def test_refused(self):
        """The kernel does not let it, as bwrap says."""
        path = self.programs(bwrap="[ $1 != --version ] || { echo bubblewrap 0; exit; }\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
        self.not_started(path, "No permissions to create a new namespace", "Landlock", "not started", "allow user namespaces")

    def test_does_nothing(self):
        """A bwrap that starts the command without confining it."""
        path = self.programs(bwrap="while [ $1 != -- ]; do shift; done\nshift\nexec \"$@\"\n")
        self.not_started(path, " is in reach, where it ought not to be", "not started")

    def test_workspace(self):
        """A workspace's own file confines nothing, and loosens nothing."""
        (self.work / ".seen.ini").write_text("[confine]\nwrite = ~/.ssh\n")
        self.assertIn(b"[confine] write", self.seen("run", "--", "true", code=125).stderr)

    def test_by_hand(self):
        for words in (("confined",), ("confined", "1,2,3", "run", "true"), ("confined", "x", "run", "--", "true")):
            self.assertNotEqual(self.seen(*words).returncode, 0)

    @unittest.skipUnless(WORKS, "bubblewrap does not work here")
    def test_doctor(self):
        checks = {check["what"]: check for check in self.json("doctor")["checks"]}
        self.assertEqual(checks["confine"]["level"], "ok")
        self.assertIn("bubblewrap", json.dumps(checks["confine"]))


if __name__ == "__main__":
    unittest.main()

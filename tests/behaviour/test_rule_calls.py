"""Rules ([rule NAME]) inside a process: every call of libc, the programs that people use, and what is reported about it."""

import errno
import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import LIBRARY, SEEN, Session
from operations import rows

LIBC_CALLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs", "helpers", "libc_calls.py")
RUN = [SEEN, "run", "--via", "preload", "--best-effort", "--quiet"]


def rule(name, **keys):
    """Flags of a rule."""
    return [word for key, value in keys.items() for word in ("-c", "rule %s.%s=%s" % (name, key, value))]


class Case(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def run_seen(self, flags, *command, input=None, **environment):
        done = subprocess.run([*RUN, "--session", self.session.name, *flags, "--", *command], cwd=self.session.workspace,
                              env={**self.session.environment, **environment}, stdin=subprocess.DEVNULL, timeout=100,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # that there is no supervisor
        done.stderr = b"".join(line for line in done.stderr.splitlines(keepends=True) if not line.endswith(b" may not hold\n"))
        return done

    def shell(self, flags, command, **environment):
        done = self.run_seen(flags, "sh", "-c", command, **environment)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def ruled(self, *names):
        """What rules were recorded to say; names: of a line's members."""
        found = [json.loads(line) for line in self.session.seen("log", "--session", self.session.name, "--json", "--op", "ruled", check=False).stdout.splitlines()]
        return [tuple(line[name] for name in names) if len(names) > 1 else line[names[0]] for line in found] if names else found

    def counters(self):
        counters = self.session.status()["counters"]
        return {name[6:]: counters[name] for name in counters if name.startswith("rules_") and counters[name]}

    def snapshot(self, directory):
        """All that is there: content, mode, owner, time of change."""
        found = {}
        for path, directories, files in os.walk(directory):
            for name in [".", *directories, *files]:
                at = os.path.normpath(os.path.join(path, name))
                stat = os.lstat(at)
                content = open(at, "rb").read() if name in files and not os.path.islink(at) else None
                found[at] = (stat.st_mode, stat.st_uid, stat.st_gid, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_nlink, content)
        return found


class LibcCalls(Case):
    def make(self, name):
        directory = self.session.path(name + "/f")
        os.makedirs(directory + "/full")
        os.mkdir(directory + "/empty")
        for file in ("file", "full/inner"):
            with open(os.path.join(directory, file), "wb") as made:
                made.write(b"content\n")
        shutil.copy("/bin/true", directory + "/program")
        return directory

    def call(self, access):
        """Each call of an access on a directory for which a rule denies it, and on one for which another logs it."""
        refused, free = self.make("refused"), self.make("free")
        before = self.snapshot(refused)
        done = self.run_seen([*rule("no", op=access, path="./refused/f", action="deny"), *rule("yes", op=access, path="./free/f")],
                             sys.executable, LIBC_CALLS, access, refused, free)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        said = [json.loads(line) for line in done.stdout.splitlines()]
        denied = {name: error for directory, name, error in said if directory == refused}
        passed = {name: error for directory, name, error in said if directory == free}
        self.assertTrue(denied)
        self.assertEqual({name: error for name, error in denied.items() if error != errno.EACCES}, {})
        # an extended attribute may not be possible, or not be there
        of_attributes = {name for name in passed if "xattr" in name or "removexattr" in name}
        self.assertEqual({name: error for name, error in passed.items() if name not in of_attributes}, dict.fromkeys(set(passed) - of_attributes, 0))
        self.assertEqual(self.snapshot(refused), before)
        hits = self.ruled("rule", "access", "action", "error")
        # each is recorded once: a call that another function makes is not asked about twice
        self.assertEqual([hit for hit in hits if hit[0] == "no"], [("no", access, "deny", "EACCES")] * len(denied))
        by_name = [name for name in passed if not name.startswith("handle")]  # what has no name is asked about by rules that deny alone
        self.assertGreaterEqual(hits.count(("yes", access, "log", None)), len(by_name))
        counters = self.counters()
        self.assertEqual(counters["denied"], len(denied))
        self.assertEqual(counters["denied"] + counters["logged"], len(hits))
        # a program that was refused was not announced
        announced = self.session.seen("log", "--session", "test", "--json", "--op", "exec,exec_failed", check=False).stdout.splitlines()
        self.assertNotIn(refused + "/program", [json.loads(line).get("resolved") for line in announced])

    # Functions that start a program of their own choice: test_shells_of_libc.
    SHELLS = ["_IO_popen", "popen", "system"]

    def test_each_function_that_asks_is_called(self):
        """The tables of shim/ say which ask the rules: each of them is one of these calls."""
        done = subprocess.run([sys.executable, LIBC_CALLS, "all", self.make("free")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        called = set(json.loads(done.stdout.splitlines()[-1]))
        asks = {row[0] for row in rows("shim/call/operations.def", "OPERATION") if "RULES" in row[4]}
        names = {name for name, operation in rows("shim/preload/hooks.def", "HOOK") if operation in asks}
        if os.geteuid():
            called |= {"open_by_handle_at", "SYS_open_by_handle_at"}  # it takes a capability
        self.assertEqual(sorted(names - called), self.SHELLS, "functions whose operation asks the rules, and that no door here calls")
        if os.uname().machine == "x86_64":
            numbers = {"SYS_" + row[0] for macro in ("SYSTEM_CALL", "SYSTEM_CALL_BY") for row in rows("shim/call/system_calls.def", macro) if row[1] in asks}
            self.assertEqual(sorted(numbers - called), [], "system calls whose operation asks the rules, and that no door here makes")

    def test_shells_of_libc(self):
        script = ("import ctypes\nlibc = ctypes.CDLL(None)\nlibc.popen.restype = libc._IO_popen.restype = ctypes.c_void_p\n"
                  "print(libc.system(b'exit 3') >> 8, libc.popen(b'true', b'r') is None, libc._IO_popen(b'true', b'r') is None)")
        for action, said in (("log", b"3 False False\n"), ("deny", b"127 True True\n")):
            done = self.run_seen(rule("r", op="exec", path="/bin/sh", action=action), sys.executable, "-c", script)
            self.assertEqual(done.stdout, said, done.stderr)
            self.assertEqual(self.ruled("rule", "access", "action")[-3:], [("r", "exec", action)] * 3)

    def test_read(self):
        self.call("read")

    def test_write(self):
        self.call("write")

    def test_create(self):
        self.call("create")

    def test_delete(self):
        self.call("delete")

    def test_rename(self):
        self.call("rename")

    def test_link(self):
        self.call("link")

    def test_metadata(self):
        self.call("metadata")

    def test_list(self):
        self.call("list")

    def test_exec(self):
        self.call("exec")


# What people do to a file `f/file` in a directory that a rule protects; the access that stops it.
WAYS = {
    "read": ("cat f/file", "head f/file", "grep x f/file", "cp f/file g", "cat < f/file", "perl -pe 1 f/file", "sort f/file",
             "python3 -c 'open(\"f/file\")'", "dd if=f/file of=g", "tar cf g f/file", "cd f && cat ./file", "cd f && cat ../f/file", "find f -name file -exec cat {} +"),
    # some remove what they are about to write anew: who protects content denies both
    "write delete": ("echo x > f/file", "echo x >> f/file", "cp g f/file", "mv g f/file", "sed -i s/x/y/ f/file", "perl -pi -e 1 f/file", "tee f/file < g",
              "truncate -s 0 f/file", "dd if=g of=f/file", "ln -sf g f/file", "install g f/file", "python3 -c 'open(\"f/file\", \"w\")'",
              "cp -r d f/", "tar xf d.tar -C f", "mkdir f/new", "cd f && echo x > file"),
    "delete": ("rm f/file", "rm -f f/file", "rm -rf f", "mv f/file g2", "rmdir f/empty", "find f -name file -delete", "unlink f/file",
               "perl -e 'unlink(\"f/file\") or exit 1'", "python3 -c 'import shutil; shutil.rmtree(\"f\")'"),
    "rename": ("mv f/file f/other", "mv g f/other"),
    "link": ("ln f/file g2", "ln g f/other", "ln -s g f/other"),
    "metadata": ("chmod 600 f/file", "chown $(id -u) f/file", "touch -c -d 2001-01-01 f/file", "chmod -R 700 f"),
    "list": ("ls f", "find f", "python3 -c 'import os; os.listdir(\"f\")'", "perl -e 'opendir(my $d, \"f\") or exit 1'", "ls -R . | grep -v file"),
    "exec": ("f/program", "PATH=$PWD/f:$PATH program", "env f/program", "xargs -n 1 f/program < g", "python3 -c 'import subprocess; subprocess.run([\"f/program\"])'",
             "perl -e 'exec(\"f/program\") or exit 1'", "nice f/program", "find f/file -exec f/program \\;"),
}
SUCCEED_ALL_THE_SAME = {"perl -pe 1 f/file", "perl -pi -e 1 f/file", "ls -R . | grep -v file", "find f -name file -exec cat {} +", "find f/file -exec f/program \\;"}


class Programs(Case):
    def test_what_people_do(self):
        """Nothing of it is done, and the programs say so; without the rule all of it can be done."""
        self.session.write("g", b"g\n")
        os.mkdir(self.session.path("d"))
        self.session.write("d/inner", b"i\n")
        subprocess.run(["tar", "cf", "d.tar", "d"], cwd=self.session.workspace, check=True)
        for access, commands in WAYS.items():
            shutil.rmtree(self.session.path("f"), ignore_errors=True)
            os.makedirs(self.session.path("f/empty"))
            self.session.write("f/file", b"x\n")
            shutil.copy("/bin/true", self.session.path("f/program"))
            before = self.snapshot(self.session.path("f"))
            flags = rule("no", op=access, path="./f", action="deny")
            script = "\n".join("( %s ) > /dev/null 2>> ../errors; echo $?" % command for command in commands)
            status, output, errors = self.shell(flags, script)
            self.assertEqual((status, errors), (0, ""))
            statuses = dict(zip(commands, map(int, output.split())))
            for command in commands:
                if command not in SUCCEED_ALL_THE_SAME:
                    with self.subTest(command):
                        self.assertNotEqual(statuses[command], 0)
            now = self.snapshot(self.session.path("f"))
            self.assertEqual({path: now.get(path) for path in set(now) | set(before) if now.get(path) != before.get(path)}, {}, access)
            self.assertTrue(os.path.exists(self.session.path("g")), access)
            self.assertGreaterEqual(len(self.ruled("rule")), len(commands))
            self.session.seen("rm", "--session", "test", check=False)

    def test_nothing_there(self):
        """Who only tries finds that there is nothing, and no rule is reported as a hit."""
        flags = rule("no", op="any", path="none* sub/none*", action="deny")
        script = """
import os
for how in (lambda: open("none"), lambda: open("none", "r+"), lambda: os.unlink("none"), lambda: os.chmod("none", 0), lambda: os.listdir("none"),
            lambda: os.rename("none", "yes"), lambda: os.link("none", "yes"), lambda: os.execv("./none", ["none"]), lambda: os.truncate("none", 0),
            lambda: os.rmdir("none"), lambda: open("sub/none"), lambda: open("none/x")):
    try:
        how()
        print("done")
    except OSError as error:
        print(error.errno)
"""
        done = self.run_seen(flags, sys.executable, "-c", script)
        self.assertEqual(done.stdout.split(), [b"2"] * 12, done.stderr)
        self.assertEqual(self.ruled(), [])

    def test_what_is_new(self):
        """`create` is of names that were not there."""
        self.session.write("old", b"old\n")
        script = "echo x > old; echo y >> old; cp old copy; echo z > new; mv old newer; ls"
        _, output, errors = self.shell(rule("no", op="create", where="workspace", action="deny"), script)
        self.assertEqual(output.split(), ["old"], errors)
        self.assertEqual(self.session.read("old"), b"x\ny\n")
        self.assertEqual(self.ruled("access", "resolved"), [("create", self.session.path(name)) for name in ("copy", "new", "newer")])


class Matching(Case):
    def denied(self, flags, *paths, program="cat", **environment):
        """Of these files, those that may not be read."""
        script = "for f in %s; do %s $f > /dev/null 2>&1 || echo $f; done" % (" ".join(paths), program)
        return self.shell(flags, script, **environment)[1].split()

    def setUp(self):
        super().setUp()
        for name in ("a", "b", "sub/a", "sub/deep/a", "sub/b", "node_modules/a", ".env", "sub/.env.local"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            self.session.write(name, b"x\n")
        self.beyond = os.path.join(self.session.directory, "outside")
        os.mkdir(self.beyond)
        for name in ("a", ".env"):
            with open(os.path.join(self.beyond, name), "w") as file:
                file.write("x\n")
        self.files = ("a", "b", "sub/a", "sub/deep/a", "node_modules/a", "../outside/a")

    def no(self, **keys):
        return rule("no", op="read", action="deny", **keys)

    def test_globs(self):
        for keys, expected in (({"path": "a"}, ["a", "sub/a", "sub/deep/a", "node_modules/a", "../outside/a"]), ({"path": "./a"}, ["a"]),
                               ({"path": "sub"}, ["sub/a", "sub/deep/a"]), ({"path": "./sub/*/a"}, ["sub/deep/a"]), ({"path": "./**/a"}, ["a", "sub/a", "sub/deep/a", "node_modules/a"]),
                               ({"path": "."}, ["a", "b", "sub/a", "sub/deep/a", "node_modules/a"]), ({"path": self.beyond}, ["../outside/a"]),
                               ({"path": "/a"}, []), ({"path": "~/outside/*"}, ["../outside/a"]), ({"path": "~/workspace/sub ./b"}, ["b", "sub/a", "sub/deep/a"]),
                               ({"path": "a", "except": "./sub"}, ["a", "node_modules/a", "../outside/a"]), ({"path": "a", "except": "./sub ~/outside"}, ["a", "node_modules/a"]),
                               ({"path": "a", "where": "workspace"}, ["a", "sub/a", "sub/deep/a", "node_modules/a"]), ({"path": "a", "where": "outside"}, ["../outside/a"]),
                               ({"path": "[ab]", "except": "[!a]"}, ["a", "sub/a", "sub/deep/a", "node_modules/a", "../outside/a"]),
                               ({"path": "A"}, [])):
            with self.subTest(keys):
                self.assertEqual(self.denied(self.no(**keys), *self.files), expected)
        self.assertEqual(self.denied([*self.no(path="A"), "-c", "paths.case_insensitive=yes"], "a", "b"), ["a"])

    def test_programs(self):
        with open(self.session.path("tool"), "w") as file:
            file.write("#!/usr/bin/python3\nimport sys\nopen(sys.argv[1])\n")
        os.chmod(self.session.path("tool"), 0o755)
        for exe, except_exe, expected in (("cat", "", [1, 0, 0]), ("h*d", "", [0, 1, 0]), ("", "cat", [0, 1, 1]), ("python3*", "", [0, 0, 1]), ("tool", "", [0, 0, 1]),
                                          ("/usr/bin/*", "tool", [1, 1, 0]), ("/bin/nothing ./tool", "", [0, 0, 0]), ("**", "", [1, 1, 1]), ("cat tool", "c*", [0, 0, 1])):
            with self.subTest(exe=exe, except_exe=except_exe):
                flags = self.no(path="./a", exe=exe, except_exe=except_exe)
                self.assertEqual([int(bool(self.denied(flags, "a", program=program))) for program in ("cat", "head", "./tool")], expected)

    def test_strictest(self):
        """Of several rules the strictest action is taken, in whatever order they stand; `off` is none."""
        for actions, expected in ((("log", "deny"), "deny"), (("deny", "log"), "deny"), (("fail", "warn"), "fail"), (("warn", "log"), "warn"),
                                  (("deny", "fail"), "deny"), (("off", "log"), "log"), (("off", "off"), None)):
            with self.subTest(actions):
                flags = [word for i, action in enumerate(actions) for word in rule("r%d" % i, op="read", path="a", action=action)]
                self.session.name = "s-" + "-".join(actions)
                self.assertEqual(self.denied(flags, "a"), ["a"] if expected == "deny" else [])
                self.assertEqual(self.ruled("action"), [expected] if expected else [])

    def test_many_rules(self):
        flags = [word for i in range(64) for word in rule("r%d" % i, op="read", path="x%d y%d" % (i, i))]
        self.assertEqual(self.denied([*flags, "-c", "rule r63.path=./a", "-c", "rule r63.action=deny"], "a", "b"), ["a"])
        refused = self.run_seen([*flags, *rule("r64", op="read")], "true")
        self.assertEqual(refused.returncode, 125)
        self.assertIn(b"[rule r64] is one too many: at most 64 rules may be in force", refused.stderr)

    def test_mistakes(self):
        """They end the run before it begins, with a line that says where and what to do."""
        for flags, line in ((["-c", "rule x.path=a"], "seen: -c: [rule x] does not say what it speaks of; give it op = some of: read, write,"),
                            (["-c", "rule x.op=raed"], "did you mean 'read'?"), (["-c", "rule x/y.op=read"], "is not [rule NAME]")):
            with self.subTest(line):
                done = self.run_seen(flags, "true")
                self.assertEqual(done.returncode, 125)
                self.assertIn(line, done.stderr.decode())
                self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_any_process(self):
        """Excluded files, ignored programs, a session that only observes, a process on no record."""
        for flags in (["-c", "paths.exclude=a"], ["--ignore", "cat"], ["--mode", "observe"], ["--journal-level", "off"]):
            with self.subTest(flags):
                self.assertEqual(self.denied([*self.no(path="./a"), *flags], "a", "b"), ["a"])
        os.mkfifo(os.path.join(self.session.directory, "go"))
        run = subprocess.Popen([*RUN, "--session", "lone", *self.no(path="./a"), "--", "sh", "-c", "echo $SEEN_SESSION; read x < ../go"],
                               cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        directory = run.stdout.readline().decode().strip()
        stranger = subprocess.run(["/bin/cat", "a"], cwd=self.session.workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**self.session.environment, "LD_PRELOAD": LIBRARY, "SEEN_SESSION": directory})
        with open(os.path.join(self.session.directory, "go"), "w") as go:
            go.write("x\n")
        run.communicate()
        self.assertIn(b"Permission denied", stranger.stderr)

    def test_own_program(self):
        """seen itself does what it has to do, also below a run in which nothing may be done beyond the workspace."""
        flags = [*rule("out", op="write create delete list read", where="outside", **{"except": "/dev"}, action="deny"), *rule("run", op="exec", exe="sh dash bash", action="deny")]
        status, output, errors = self.shell(flags, "'%s' forget --all; echo $?; '%s' status --json > /dev/null; echo $?" % (SEEN, SEEN))
        self.assertEqual((status, output.split()[-2:]), (0, ["0", "0"]), errors)

    def test_workspace_file(self):
        """It may add rules, which hold in the workspace, and neither change nor switch off any."""
        self.session.write(".seen.ini", b"[rule mine]\nop = read\npath = a /**\naction = deny\n")
        self.assertEqual(self.denied([], *self.files), ["a", "b", "sub/a", "sub/deep/a", "node_modules/a"])
        trusted = os.path.join(self.session.directory, "trusted.ini")
        with open(trusted, "w") as file:
            file.write("[rule yours]\nop = read\npath = b\naction = deny\n")
        for text, line in ((b"[rule yours]\nexcept = **\n", ":1: a workspace's .seen.ini may only add rules: [rule yours] is there already, by %s:1" % trusted),
                           (b"[rule x]\nop = read\nwhere = outside\n", ":3: a workspace's .seen.ini may only choose a later word"),
                           (b"[session]\nmode = off\n", ":2: a workspace's .seen.ini may not turn off a session that has rules: [rule yours]")):
            with self.subTest(text):
                self.session.write(".seen.ini", text)
                done = self.run_seen(["--config", trusted], "cat", "b")
                self.assertEqual(done.returncode, 125)
                self.assertIn(line, done.stderr.decode())
        # only what a trusted source sets for that name counts
        self.session.write(".seen.ini", b"[rule mine]\nop = read\npath = a\nexcept = **\naction = log\n")
        self.assertEqual(self.denied(rule("mine", action="deny"), "a"), [])
        self.session.write(".seen.ini", b"[processes]\nignore = *\n[paths]\nexclude = **\n")
        self.assertEqual(self.denied(["--config", trusted], "b"), ["b"])


HOSTILE = (b"a b", b"new\nline", b"\x1b[31mred", b"\xff\xfe", b"<script>", b"'\"$(x)`", b"\xe2\x80\xae", b"-rf", b"x" * 255)


class Reported(Case):
    def agent(self, *flags):
        agent = self.session.agent(*flags)
        self.addCleanup(agent.close)
        return agent

    def errors(self, agent, command):
        return agent.ask(do="run", argv=["bash", "-c", command], sink="pipe", errors=True)["errors"]

    def test_once(self):
        """A line for each rule and path, once in a process; a record for each access."""
        self.session.write("a", b"x\n")
        self.session.write("b", b"x\n")
        agent = self.agent(*rule("careful", op="read", path="./a ./b", action="warn"), *rule("no", op="delete", path="./a", action="deny"),
                           *rule("quiet", op="metadata", path="./a"), *rule("stop", op="list", path="./a ./d", action="fail"))
        os.mkdir(self.session.path("d"))
        many = "python3 -c '[open(name).close() for name in \"ab\" * 5]'"
        self.assertEqual(sorted(self.errors(agent, many).splitlines()),
                         ["seen: %s: read, which rule careful warns of" % name for name in "ab"])
        self.assertEqual(self.errors(agent, "cat a > /dev/null; cat a > /dev/null"), "seen: a: read, which rule careful warns of\n" * 2)
        self.assertEqual(self.errors(agent, "rm a"), "seen: a: not removed: rule no does not allow it\nrm: cannot remove 'a': Permission denied\n")
        self.assertEqual(self.errors(agent, "chmod 600 a; ls d"), "")
        self.assertEqual(self.errors(agent, "cat a > /dev/null 2> errors; cat errors"), "")
        self.assertEqual(self.counters(), {"warned": 13, "denied": 1, "logged": 1, "failed": 1})
        agent.close()
        self._cleanups = [cleanup for cleanup in self._cleanups if cleanup[0] != agent.close]
        actions = self.ruled("action")
        self.assertEqual({action: actions.count(action) for action in actions}, {"warn": 13, "deny": 1, "log": 1, "fail": 1})
        text = self.session.seen("status", "--session", "test").stdout.decode()
        self.assertRegex(text, r"rules +1 denied, 1 that fail the run, 13 warned of, 1 logged")

    def test_hostile_names(self):
        """They are logged as text, in one line, and found again in the log."""
        directory = os.fsencode(self.session.path("h"))
        os.mkdir(directory)
        for name in HOSTILE:
            with open(directory + b"/" + name, "wb") as file:
                file.write(b"x\n")
        agent = self.agent(*rule("no", op="read", path="./h", action="deny"))
        errors = self.errors(agent, "python3 -c 'import os\nfor name in os.listdir(b\"h\"):\n try: open(b\"h/\" + name)\n except PermissionError: pass'")
        reported = errors.splitlines()
        self.assertEqual(len(reported), len(HOSTILE), errors)
        for line in reported:
            self.assertRegex(line, r"^seen: h/.*: not read: rule no does not allow it$")
            self.assertTrue(line.isprintable() or "\u202e" in line, line)
        self.assertEqual(len(self.ruled("path")), len(HOSTILE))

    @unittest.skipUnless(os.uname().machine == "x86_64", "numbers of system calls")
    def test_what_is_let_pass_by_number(self):
        """syscall(2) does what it does without rules, where libc's function of that name would do something else."""
        script = ("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nfd = os.open('.', os.O_RDONLY)\n"
                  "for call in ((280, fd, None, None, 0x100), (133, b'fifo', 0o10600, ctypes.c_long(1 << 40))):\n"
                  " print(libc.syscall(*call), ctypes.get_errno())")
        for flags in [], rule("r", op="any", path="nothing", action="deny"):
            done = self.run_seen(flags, sys.executable, "-c", script)
            self.assertEqual(done.stdout, b"-1 22\n0 22\n", (flags, done.stderr))
            os.unlink(self.session.path("fifo"))

    def test_refused_reopening_leaves_the_stream(self):
        """freopen(3) that is refused does nothing: what is written then is still the old file's."""
        script = ("import ctypes\nlibc = ctypes.CDLL(None); libc.fopen.restype = libc.freopen.restype = ctypes.c_void_p\n"
                  "out = ctypes.c_void_p(libc.fopen(b'out', b'w'))\nassert not libc.freopen(b'a', b'r', out)\nlibc.fputs(b'text', out); libc.fclose(out)")
        self.session.write("a", b"x\n")
        done = self.run_seen(rule("r", op="read", path="a", action="deny"), sys.executable, "-c", script)
        self.assertEqual((done.returncode, self.session.read("out")), (0, b"text"), done.stderr)
        log = self.session.seen("log", "--session", self.session.name, "--json").stdout.splitlines()
        self.assertIn(("write", "out"), [(event["op"], os.path.basename(event.get("resolved", ""))) for event in map(json.loads, log)])

    def test_summary(self):
        self.session.write("a", b"x\n")
        done = subprocess.run([*RUN[:-1], "--counts", *rule("r", op="read", path="a", action="deny"), "--", "cat", "a"],
                              cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b"seen: rules: 1 denied\n", done.stderr)
        done = subprocess.run([SEEN, "run", "--via", "preload", "--counts", "--", "cat", "a"], cwd=self.session.workspace, env=self.session.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertNotIn(b"rules:", done.stderr)


@unittest.skipUnless(shutil.which("strace"), "no strace")
class Cost(Case):
    def calls(self, flags):
        """System calls of a program that opens, makes, renames and removes files, and starts another."""
        trace = os.path.join(self.session.directory, "trace")
        script = "import os\nfor i in range(50):\n open('x', 'w').close(); open('x').close(); os.rename('x', 'y'); os.unlink('y')\nos.spawnv(os.P_WAIT, '/bin/true', ['true'])"
        # what undo asks of the kernel is remembered for a moment: how often it asks is a matter of time
        done = self.run_seen(["--undo", "no", *flags], "strace", "-f", "-qq", "-o", trace, sys.executable, "-I", "-S", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(trace) as file:
            return [line.split("(")[0].split()[-1] for line in file if "(" in line and "rt_sigreturn" not in line]

    def test_only_whom_it_concerns(self):
        """A program that no rule speaks of makes the calls that it makes without rules; others those that it takes to know a path."""
        self.calls([])  # a session's first start of a program notes where it lies
        none = self.calls([])
        others = self.calls([*rule("a", op="any", exe="nobody", action="deny"), *rule("b", op="link", path="**", action="deny"), *rule("c", op="read", path="x", action="off")])
        extra = {name: others.count(name) - none.count(name) for name in set(none) | set(others)}
        # at its start it asks who seen's own program is
        self.assertEqual({name: count for name, count in extra.items() if name not in ("newfstatat", "brk", "mmap", "munmap", "futex", "getrandom")
                          and count}, {}, extra)
        self.assertLessEqual(extra["newfstatat"], 4)
        asked = self.calls(rule("a", op="read", path="nothing", action="deny"))
        extra = {name: asked.count(name) - none.count(name) for name in set(none) | set(asked)}
        # of each open the file is asked about: two calls of one that is read, four of another, as of a rename
        self.assertLessEqual(sum(extra.values()), 3 * asked.count("openat") + 20, extra)


if __name__ == "__main__":
    unittest.main()

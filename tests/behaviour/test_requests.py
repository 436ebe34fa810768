"""Readers' commands, remembered: repeated while nothing that they read has changed they are answered with one line."""

import base64
import json
import mmap
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import NOTICE, SessionTest, lines, needs_library

ANSWER = b"[Command already run: "


class RequestsTest(SessionTest):
    spools = True

    """A workspace with files f and g, and a directory src of files."""

    count = 12  # of files in src

    def setUp(self):
        super().setUp()
        os.mkdir(self.session.path("src"))
        for number in range(self.count):
            self.session.write("src/f%d.c" % number, lines("pat%d" % number, 8))
        self.session.write("f", lines("f"))
        self.session.write("g", lines("g"))
        self.agent.shell("true")  # the session is there

    def shell(self, command, *words, **more):
        output = self.agent.shell(command, *words, **more).replace(b"\r\n", b"\n")
        self.assertNotIn(NOTICE, output)
        return output

    def run_once(self, command, *words, **more):
        output = self.shell(command, *words, **more)
        self.assertNotIn(ANSWER, output)
        self.assertTrue(output)
        return output

    def assertAnswered(self, command, *words, **more):
        output = self.shell(command, *words, **more)
        self.assertTrue(output.startswith(ANSWER), output[:300])
        self.assertEqual(output.count(b"\n"), 1, output)
        self.assertRegex(output, rb"repeat the same command.*, seen-[0-9a-f]{16}\)\]\n$")
        return output

    def assertRun(self, command, *words, **more):
        """It is run, and prints what it prints bare."""
        real = subprocess.run(["bash", "-c", command], cwd=more.get("cwd") or self.session.workspace, stdin=subprocess.DEVNULL,
                              env={**self.session.environment, **more.get("environment", {})}, stdout=subprocess.PIPE).stdout
        output = self.shell(command, *words, **more)
        self.assertEqual(output, real)
        return output

    def remember(self, command, *words, **more):
        """It is run, and would be answered the next time."""
        before = self.counters()["requests_remembered"]
        output = self.run_once(command, *words, **more)
        self.assertEqual(self.counters()["requests_remembered"], before + 1, command)
        return output

    def assertNotRemembered(self, command, *words, **more):
        before = self.counters()
        self.shell(command, *words, **more)
        self.shell(command, *words, **more)
        after = self.counters()
        for name in ("requests_remembered", "requests_repeated"):
            self.assertEqual(after[name], before[name], command)

    def counters(self):
        status = self.session.status()
        counters = {**status["counters"], **{"lost_" + name: value for name, value in status["lost"].items()}}
        return {name: counters.get(name, 0) for name in (
            "requests", "requests_remembered", "requests_repeated", "requests_answered", "bytes_saved", "lost_requests", "yields")}


@needs_library("what a reader reads is inspected inside it")
class Answered(RequestsTest):
    def test_plain(self):
        for command in (
                "sed -n 1,60p f", "grep -rn pat src", "ls -la src", "ls -l src/*", "ls -R . . .", "ls -lt src", "find . . . . -name '*.c'",
                "find src src src src -type f", "find src -size +0 -printf '%p %s %T@\\n'", "du -a --time src", "stat src/f1.c f", "head -n 20 f",
                "tail -n 20 f", "nl f", "cat -n f", "wc src/*.c", "sort f", "cut -c 1-30 f", "tac f", "uniq f",
                "md5sum src/*.c", "echo f g | xargs grep -n line", "od -c f", "grep line f /dev/null",
                "find src -type f -exec grep -n pat {} +", "find src -type f | xargs grep -n line", "grep -rn pat", "grep --include='*.c' -rn pat .",
                "comm -12 f f", "diff -y f f", "hexdump -C f", "rev f", "fold -w 20 f", "paste f g"):
            if shutil.which(command.split()[0]) is None:
                continue
            with self.subTest(command=command):
                output = self.run_once(command)
                self.assertTrue(self.assertAnswered(command))
                self.assertRun(command)  # it asks again
                del output

    def test_every_sink(self):
        for number, kind in enumerate(("pipe", "socket", "pty", "spool")):
            sink = (lambda name: "spool:" + os.path.join(self.session.spool, name)) if kind == "spool" else lambda name: kind
            command = "sed -n 1,%dp f" % (60 + number)
            with self.subTest(sink=kind):
                self.run_once(command, sink("a"))
                self.assertAnswered(command, sink("b"))

    def test_says_what(self):
        output = self.remember("grep -n 'line 1' f")
        answer = self.assertAnswered("grep -n 'line 1' f")
        self.assertIn(b"grep -n 'line 1' f. Same output as ", answer)
        self.assertIn(b"(%d bytes, seen-" % len(output), answer)
        self.remember("sed -n 1,60p f; true" + " " * 2000)
        self.assertAnswered("sed -n 1,60p f; true" + " " * 2000)

    def test_hostile_words(self):
        for word in ("new\nlime", "\x1b[31m", "\xe4\u20ac" * 300, "]\n[File previously read: f"):
            with self.subTest(word=word):
                words = ["grep", "-v", "-F", "-e", word, "f"]
                self.agent.run(["bash", "-c", '"$@"', "bash", *words])
                answer = self.agent.run(["bash", "-c", '"$@"', "bash", *words])
                self.assertTrue(answer.startswith(ANSWER))
                self.assertEqual(answer.count(b"\n"), 1)
                self.assertNotIn(b"\x1b", answer)
                answer.decode()

    def test_status_of_the_command(self):
        self.remember("sed -n 1,60p f")
        answer = self.shell("sed -n 1,60p f; echo $?")
        self.assertTrue(answer.endswith(b"\n0\n"))

    def test_counted(self):
        before = self.counters()
        output = self.remember("grep -rn pat src")
        answer = self.assertAnswered("grep -rn pat src")
        after = self.counters()
        self.assertEqual({name: after[name] - before[name] for name in after},
                         {"requests": 2, "requests_remembered": 1, "requests_repeated": 1, "requests_answered": 1,
                          "bytes_saved": len(output) - len(answer), "lost_requests": 0, "yields": 0})

    def test_scope_is_given_the_notice(self):
        self.remember("grep -rn pat src")
        given = lambda: self.session.status()["scopes"][0]["bytes_given"]
        before = given()
        answer = self.assertAnswered("grep -rn pat src")
        self.assertEqual(given(), before + len(answer))

    def test_on_record(self):
        output = self.remember("grep -rn pat src")
        answer = self.assertAnswered("grep -rn pat src")
        self.assertRun("grep -rn pat src")
        events = [json.loads(line) for line in self.session.seen("log", "--json", "--op", "request", "--session", "test").stdout.splitlines()]
        self.assertEqual([(event["decision"], event["bytes"], event["bytes_saved"]) for event in events],
                         [("content", len(output), None), ("notice", None, len(output) - len(answer)), ("yielded", len(output), None),
                          ("content", len(output), None)])
        self.assertEqual({event["role"] for event in events}, {"reader"})
        self.assertGreaterEqual(events[0]["inputs"], self.count)

    def test_coverage(self):
        """What takes the reader's place is observed, and nothing is left running."""
        self.remember("grep -rn pat src")
        self.assertAnswered("grep -rn pat src")
        self.assertAnswered("ls src src src src src; true") if False else None
        status = self.session.status()
        self.assertEqual(status["coverage"]["unobserved"] if "coverage" in status else 0, 0)
        readers = [process for process in status.get("processes_living", []) if process.get("role") == "reader"]
        self.assertEqual(readers, [])

    def test_in_one_command(self):
        output = self.shell("grep pat src/f1.c src/f2.c; grep pat src/f1.c src/f2.c")
        real = subprocess.run(["grep", "pat", "src/f1.c", "src/f2.c"], cwd=self.session.workspace, stdout=subprocess.PIPE).stdout
        self.assertTrue(output.startswith(real + ANSWER), output)
        self.assertEqual(output.count(ANSWER), 1)

    def test_long_lived_shells(self):
        for kind in ("pipe", "pty"):
            number = ("pipe", "pty").index(kind)
            shell = self.agent.ask(do="open_shell", kind=kind, argv=["bash"])["shell"]
            tell = lambda command: base64.b64decode(self.agent.ask(do="tell", shell=shell, command=command)["output"])
            command = "sed -n %d,80p f" % (number + 1)
            with self.subTest(kind=kind):
                self.assertNotIn(ANSWER, tell(command))
                self.assertIn(ANSWER, tell(command))
            self.agent.ask(do="close_shell", shell=shell)

    def test_written_back(self):
        """Content decides for what is in files: neither a touch nor a file made anew with the same bytes is a change."""
        data = self.session.read("src/f3.c")
        self.remember("grep -rn pat src")
        os.utime(self.session.path("src/f3.c"), (1, 1))
        os.chmod(self.session.path("src/f4.c"), 0o600)
        self.session.write("src/f3.c", b"other")
        self.session.write("src/f3.c", data)
        self.assertAnswered("grep -rn pat src")

    def test_another_directory_of_the_tree_changed(self):
        self.remember("grep -rn pat src")
        self.session.write("new", b"pat\n")
        self.assertAnswered("grep -rn pat src")


@needs_library("what a reader reads is inspected inside it")
class Changed(RequestsTest):
    """With anything changed that it reads it is run."""

    def test_changes(self):
        path = self.session.path

        def renamed():
            os.rename(path("src/f5.c"), path("src/f50.c"))

        def replaced():
            self.session.write("other", lines("other"))
            os.rename(path("other"), path("src/f5.c"))

        def kept_times():
            before = os.stat(path("src/f5.c"))
            data = self.session.read("src/f5.c")
            self.session.write("src/f5.c", data.replace(b"pat", b"PAT"))
            os.utime(path("src/f5.c"), ns=(before.st_atime_ns, before.st_mtime_ns))

        def by_a_mapping():
            with open(path("src/f5.c"), "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
                view[0:3] = b"PAT"

        changes = {"content": lambda: self.session.write("src/f5.c", lines("pat", 9)), "added": lambda: self.session.write("src/new", b"pat\n"),
                   "deleted": lambda: os.remove(path("src/f5.c")), "renamed": renamed, "replaced": replaced, "times": kept_times,
                   "mapping": by_a_mapping, "type": lambda: (os.remove(path("src/f5.c")), os.mkdir(path("src/f5.c"))),
                   "link": lambda: (os.remove(path("src/f5.c")), os.symlink("f4.c", path("src/f5.c")))}
        data = self.session.read("src/f5.c")
        for command in ("grep -rn pat src", "wc src/* src/*", "sed -n 1,100p src/f5.c src/f6.c"):
            for name, change in changes.items():
                if name == "added" and command.startswith("sed"):
                    continue
                with self.subTest(command=command, change=name):
                    self.session.seen("forget", "--all", "--session", "test")
                    self.remember(command)
                    change()
                    self.assertRun(command + " 2> /dev/null" if name in ("deleted", "renamed", "type") and "-r" not in command else command)
                subprocess.run("rm -rf src/f5.c src/f50.c src/new", shell=True, cwd=self.session.workspace)
                self.session.write("src/f5.c", data)

    def test_details(self):
        """A command that lists files runs when what it lists has changed."""
        path = self.session.path
        changes = {"touch": lambda: os.utime(path("src/f5.c"), (5, 5)), "chmod": lambda: os.chmod(path("src/f5.c"), 0o600),
                   "size": lambda: self.session.write("src/f5.c", b"x" * 100000), "link": lambda: os.link(path("src/f5.c"), path("more")),
                   "made anew": lambda: (os.remove(path("src/f5.c")), self.session.write("src/f5.c", b"1"))}
        for command in ("ls -l src", "stat src/f5.c src/f6.c", "find src -printf '%p %m %s %T@ %n\\n'", "ls -ld src/* src/f5.c", "du -a --time src",
                        "ls -li src", "ls -s src src src src"):
            for name, change in changes.items():
                with self.subTest(command=command, change=name):
                    self.session.seen("forget", "--all", "--session", "test")
                    self.remember(command)
                    change()
                    self.assertRun(command)
                subprocess.run("rm -f more", shell=True, cwd=self.session.workspace)

    def test_names_alone(self):
        for command in ("ls src src src src src", "ls -R . . . .", "find . . . . -name '*.c'", "ls -a1 src src src src src"):
            with self.subTest(command=command):
                self.remember(command)
                self.session.write("src/f5.c", b"other")
                self.assertAnswered(command)
                self.session.write("src/n", b"")
                self.assertRun(command)
                os.remove(self.session.path("src/n"))

    def test_operands(self):
        """Files that are named and never opened."""
        command = "ls f g src src src src src"
        self.remember(command)
        os.rename(self.session.path("g"), self.session.path("g2"))
        self.assertRun(command + " 2> /dev/null")
        self.session.write("g", b"")
        command = "find f g src src src src -name '*'"
        self.remember(command)
        os.remove(self.session.path("g"))
        os.mkdir(self.session.path("g"))
        self.session.write("g/below", b"")
        self.assertRun(command)

    def test_links(self):
        for directory in ("one", "two"):
            os.mkdir(self.session.path(directory))
            self.session.write(directory + "/a", lines("pat of " + directory))
        os.symlink("one", self.session.path("folder"))
        os.symlink("one/a", self.session.path("file"))
        commands = ["grep -n pat file", "grep -rn pat folder/", "sed -n 1,90p folder/a", "ls -l file folder f g src", "cat -n file"]
        for command in commands:
            self.remember(command)
        for name, target in (("folder", "two"), ("file", "two/a")):
            os.remove(self.session.path(name))
            os.symlink(target, self.session.path(name))
        for command in commands:
            with self.subTest(command=command):
                self.assertRun(command)

    def test_what_was_not_there(self):
        self.session.write("src/list", b"pat1\npat2\n")
        for command, made in (("grep -f src/list -rn src", "src/.more"), ("grep -rns pat . --exclude-from=none || true", "none")):
            self.shell(command)
            self.session.write(made, b"f1.c\npat1\n")
            with self.subTest(command=command):
                self.assertRun(command)

    def test_by_the_session_itself(self):
        self.remember("grep -rn pat src")
        self.run_once("echo pat >> src/f1.c; echo done")
        self.assertRun("grep -rn pat src")

    def test_behind_an_equal_stamp(self):
        """A store through a mapping that has stored already leaves all of a stamp as it was."""
        with open(self.session.path("src/f5.c"), "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
            view[0:1] = b"P"
            self.remember("grep -rn line src")
            before = os.stat(self.session.path("src/f5.c"))
            view[0:1] = b"p"
            after = os.stat(self.session.path("src/f5.c"))
            self.assertEqual((before.st_mtime_ns, before.st_ctime_ns), (after.st_mtime_ns, after.st_ctime_ns))
            self.assertRun("grep -rn line src")


@needs_library("what a reader reads is inspected inside it")
class NotAnswered(RequestsTest):
    def test_other_sinks(self):
        data = lambda command: subprocess.run(["bash", "-c", command], cwd=self.session.workspace, stdout=subprocess.PIPE).stdout
        self.remember("grep -rn pat src")
        self.remember("sed -n 1,60p f")
        for command in ("grep -rn pat src | cat", "sed -n 1,60p f > copy; cat < copy", "x=$(grep -rn pat src); printf '%s\\n' \"$x\"",
                        "cat <(sed -n 1,60p f) | cat", "sed -n 1,60p f | tee copy", "while read -r l; do echo \"$l\"; done < <(grep -rn pat src)",
                        "grep -rn pat src > copy; md5sum < copy | cat", "(sed -n 1,60p f) 2>&1 | cat"):
            with self.subTest(command=command):
                self.assertEqual(self.shell(command), data(command))
        self.assertAnswered("grep -rn pat src")

    def test_another_command(self):
        self.remember("sed -n 1,60p f")
        for command in ("sed -n 1,61p f", "sed -n 1,60p g", "sed -n 1,60p ./src/../f", "cd src; sed -n 1,60p ../f",
                        "LC_ALL=C sed -n 1,60p f", "LANG=C sed -n 1,60p f", "TZ=Asia/Tokyo sed -n 1,60p f", "COLUMNS=40 sed -n 1,60p f",
                        "sed -n 1,60p f < f"):
            with self.subTest(command=command):
                self.run_once(command)
        self.assertAnswered("sed -n 1,60p f")

    def test_another_directory(self):
        shutil.copytree(self.session.path("src"), self.session.path("src2"))
        self.remember("cd src; grep -rn pat")
        self.run_once("cd src2; grep -rn pat")
        self.assertAnswered("cd src; grep -rn pat")

    def test_environment(self):
        for variable in ("LS_COLORS=di=31", "LC_ALL=C", "LC_TIME=C", "QUOTING_STYLE=c", "TIME_STYLE=full-iso", "BLOCK_SIZE=1K", "POSIXLY_CORRECT=1",
                         "TABSIZE=4", "COLUMNS=200", "NO_COLOR=1", "TERM=dumb"):
            self.session.seen("forget", "--all", "--session", "test")
            self.remember("ls -l --color=always src")
            with self.subTest(variable=variable):
                self.run_once("%s ls -l --color=always src" % variable)
        self.assertAnswered("UNTOLD=1 ls -l --color=always src")

    def test_after_the_whole_file(self):
        self.agent.shell("cat f")
        self.run_once("head -n 50 f")
        self.assertNotIn(ANSWER, self.agent.shell("cat f"))

    def test_errors(self):
        """Something on standard error, however it comes there."""
        os.symlink("nowhere", self.session.path("src/broken"))
        for command in ("grep -n pat src/* nope; true", "sed -n 1,60p f nope; true", "head -n 50 f nope", "ls -l src nope", "wc src/* nope",
                        "grep -n pat src/* src; true", "find src nope", "du -a src nope", "stat src/f0.c nope", "cat -n f nope"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)

    def test_warnings_with_status_0(self):
        """GNU grep and find warn, and go on."""
        for command in ("grep -E -n 'pat[0-9]\\d*|\\y' src/*", "find src -name 'f/*' -o -name '*.c'"):
            self.shell(command)
            result = subprocess.run(["bash", "-c", command], cwd=self.session.workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if result.returncode == 0 and result.stderr:
                with self.subTest(command=command):
                    self.assertNotRemembered(command)

    def test_status(self):
        self.assertNotRemembered("grep -n nothing f")
        self.assertNotRemembered("diff f g")
        self.assertNotRemembered("cmp f g")

    def test_standard_input(self):
        for command in ("grep -n line < f", "sed -n 1,50p < f", "cat -n - f < g", "head -n 40 < f", "nl < f", "cat f | sort", "grep -n line - < f",
                        "sed -n 1,50p /dev/stdin < f", "tail -n 50 < f", "wc -l < f", "paste - f < g", "sed -n 1,50p - f < g"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)

    def test_standard_input_that_is_not_read(self):
        self.run_once("sed -n 1,60p f < g")
        self.assertAnswered("sed -n 1,60p f < g")

    def test_limit(self):
        self.session.write("large", lines("large", 2000))
        self.assertNotRemembered("grep -n line large")
        self.assertNotRemembered("nl large")

    def test_limit_of_the_command(self):
        self.session.write("large", lines("large", 2000))
        self.shell("sed -n 1,60p f; head -n 1200 large; head -n 1300 large")
        self.run_once("sed -n 1,60p f")
        self.assertAnswered("sed -n 1,60p f")

    def test_short_output(self):
        self.assertNotRemembered("sed -n 1,2p f")

    def test_unusual_files(self):
        os.mkfifo(self.session.path("fifo"))
        for command in ("grep -a . /proc/self/status /proc/self/limits", "ls -l /proc/self/", "grep -n . /proc/mounts f", "ls -la /dev",
                        "cat -n /proc/cpuinfo", "ls /sys/kernel /sys/kernel /sys/kernel", "echo pat line | tee fifo & grep -n pat fifo f src/*; wait",
                        "sort -R f"):
            with self.subTest(command=command):
                self.assertNotRemembered(command)

    def test_too_large(self):
        with open(self.session.path("big"), "wb") as file:
            file.write(lines("big"))
            file.truncate(9 << 20)
        self.assertNotRemembered("head -n 50 big")

    def test_many_inputs(self):
        os.mkdir(self.session.path("many"))
        for number in range(4093):
            self.session.write("many/%d" % number, b"")
        self.session.write("many/a", lines("pat", 30))
        self.remember("grep -rn pat many")  # 4,096: the directory, by its type and by its names, and 4,094 files
        self.assertAnswered("grep -rn pat many")
        self.session.write("many/b", b"")
        before = self.counters()["lost_requests"]
        self.assertNotRemembered("grep -rn pat many")
        self.assertEqual(self.counters()["lost_requests"], before + 2)
        # What was too much is not hashed once more, and what it reads may have become less only later, or for who forgot.
        os.remove(self.session.path("many/b"))
        self.assertNotRemembered("grep -rn pat many")
        self.assertEqual(self.counters()["lost_requests"], before + 4)
        self.session.seen("forget", "--all", "--session", "test")
        self.remember("grep -rn pat many")
        self.assertAnswered("grep -rn pat many")
        self.assertNotRemembered("ls -l many | head; ls -l many many > /dev/null; ls -ld many")

    def test_the_51st(self):
        for number in range(51):
            self.run_once("sed -n %d,80p f" % (number + 1) if number < 30 else "head -n %d f" % number)
        self.assertAnswered("sed -n 2,80p f")
        self.run_once("sed -n 1,80p f")  # the oldest was forgotten
        self.assertAnswered("head -n 50 f")

    def test_two_scopes(self):
        other = self.session.agent()
        self.addCleanup(other.close)
        self.remember("grep -rn pat src")
        self.assertNotIn(ANSWER, other.shell("grep -rn pat src"))
        self.assertAnswered("grep -rn pat src")
        self.assertIn(ANSWER, other.shell("grep -rn pat src"))

    def test_invalidated(self):
        for words in (("--all",), ("src/f3.c",), ("src",)):
            self.session.seen("forget", "--all", "--session", "test")
            self.remember("grep -rn pat src")
            self.session.seen("forget", *words, "--session", "test")
            with self.subTest(words=words):
                self.run_once("grep -rn pat src")
        self.assertEqual(self.session.seen("forget", "nope", "--session", "test", check=False).returncode, 1)

    def test_asked_again(self):
        self.remember("grep -rn pat src")
        self.assertAnswered("grep -rn pat src")
        for _ in range(11):  # this one, and the ten next
            self.run_once("grep -rn pat src")
        self.assertEqual(self.counters()["yields"], 11)
        self.assertAnswered("grep -rn pat src")

    def test_programs_of_the_workspace(self):
        shutil.copy(shutil.which("sed"), self.session.path("sed"))
        self.assertNotRemembered("./sed -n 1,60p f")
        self.assertNotRemembered("PATH=.:$PATH sed -n 1,60p f")

    def test_other_program(self):
        with tempfile.TemporaryDirectory() as directory:
            shutil.copy(shutil.which("sed"), directory)
            self.remember("%s/sed -n 1,60p f" % directory)
            os.utime(os.path.join(directory, "sed"), (1, 1))
            self.run_once("%s/sed -n 1,60p f" % directory)

    def test_damaged_lists(self):
        for number, damage in enumerate((lambda file: file.truncate(40), lambda file: file.truncate(0), lambda file: os.remove(file.name),
                                         lambda file: (file.seek(9), file.write(b"\xff")), lambda file: (file.seek(0, 2), file.write(b"\0" * 8)),
                                         lambda file: os.chmod(file.name, 0), lambda file: (os.remove(file.name), os.mkfifo(file.name)))):
            command = "sed -n %d,80p f" % (number + 1)
            self.remember(command)
            found = 0
            for directory, _, names in os.walk(os.path.join(self.session.directory, ".local")):
                for name in names:
                    if name.startswith("inputs-"):
                        found += 1
                        with open(os.path.join(directory, name), "r+b") as file:
                            damage(file)
            self.assertTrue(found)
            with self.subTest(number=number):
                if number == 5 and os.geteuid() == 0:
                    self.assertAnswered(command)
                else:
                    self.assertRun(command)
            self.session.seen("forget", "--all", "--session", "test")
            for directory, _, names in os.walk(os.path.join(self.session.directory, ".local")):
                for name in names:
                    if name.startswith("inputs-"):
                        os.remove(os.path.join(directory, name))

    def test_state_directory_is_gone(self):
        self.remember("grep -rn pat src")
        shutil.rmtree(os.path.join(self.session.directory, ".local"))
        self.assertRun("grep -rn pat src")
        self.assertRun("grep -rn pat src")
        self.assertGreater(self.counters()["lost_requests"], 0)

    def test_two_at_once(self):
        self.remember("grep -rn pat src")
        real = self.run_once("cat -n f")
        del real
        output = self.shell("for i in 1 2 3 4; do grep -rn pat src & done; wait")
        # those that ask in the same instant do not see each other's answer yet
        answered = output.count(ANSWER)
        self.assertIn(answered, range(1, 5))
        self.assertEqual(output.count(b"pat0 line 0"), 4 - answered)


if __name__ == "__main__":
    unittest.main()

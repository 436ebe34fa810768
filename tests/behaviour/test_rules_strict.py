"""What cannot be judged, in a run with a rule that denies: it is refused, and only there."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from driver import BUILD, SEEN, Case

STATIC = BUILD / "tests/programs/helpers/reads_by_static"
DENIES = ("--rules", "secrets:deny")
HAS_SCOPES = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 12)


class Strict(Case):
    def program_32(self):
        source = self.top / "p.c"
        source.write_text("int main(void) { return 42; }\n")
        if not shutil.which("gcc") or subprocess.run(["gcc", "-m32", "-o", self.work / "p", source], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no compiler for 32-bit programs")
        if subprocess.run([self.work / "p"], check=False).returncode != 42:
            self.skipTest("no 32-bit programs here")

    def test_32_bit_program(self):
        """It is not started, and a line says so once; as the command, too.  Without such a rule it runs."""
        self.program_32()
        said = "./p is not started: a rule denies, and would not hold for a 32-bit program"
        for words in (("./p",), ("sh", "-c", "./p"), ("busybox", "sh", "-c", "./p"), ("env", "-i", "./p")):
            with self.subTest(words):
                done = self.seen("run", *DENIES, "--", *words, code=126)
                self.assertEqual(done.stderr.decode().count(said), 1, done.stderr)
        self.assertEqual(self.seen("run", "--rules", "secrets", "--", "./p").returncode, 42)
        self.assertEqual(self.seen("run", *DENIES, "--best-effort", "--", "./p").returncode, 42)

    def test_script(self):
        """One that a script names as its interpreter cannot call either."""
        self.program_32()
        script = self.work / "s"
        script.write_text(f"#!{self.work}/p\n")
        script.chmod(0o755)
        self.assertNotIn(self.seen("run", *DENIES, "--", "./s").returncode, (0, 42))

    def test_along_path(self):
        """A name that is looked for along PATH is found behind it."""
        self.program_32()
        (self.work / "other").mkdir()
        (self.work / "other/p").write_text("#!/bin/sh\necho other\n")
        (self.work / "other/p").chmod(0o755)
        done = self.seen("run", *DENIES, "--", "sh", "-c", "PATH=$PWD:$PWD/other:$PATH; p", code=0)
        self.assertEqual(done.stdout, b"other\n")

    def test_below_a_run_by_the_library(self):
        """A run below one that has no supervisor gets its own; below one that has, it is not started, and one line says so."""
        (self.work / ".env").write_text("SECRET\n")
        inner = (SEEN, "run", *DENIES, "--", "sh", "-c", "cat .env; busybox cat .env")
        for way in ("auto", "preload"):
            with self.subTest(way):
                done = self.seen("run", "--via", way, "--", *inner, code=1)
                self.assertEqual((done.stdout, done.stderr.count(b"Permission denied"), done.stderr.count(b"\n")), (b"", 2, 2), done)
        self.assertRegex(self.seen("run", "--via", "both", "--", *inner, code=125).stderr, rb"^[^\n]* would not hold: the command is not started [^\n]*\n$")

    @unittest.skipUnless(HAS_SCOPES, "no scopes of Landlock: Linux 6.12")
    def test_processes(self):
        """An external process cannot be inspected; those of the run can be, and without such a rule the others, too."""
        with subprocess.Popen(["sleep", "60"], env=self.env) as external:
            try:
                command = f"readlink /proc/{external.pid}/exe; sleep 60 & readlink /proc/$!/exe; kill $!"
                for words in (DENIES, (*DENIES, "--via", "both")):
                    inside = self.seen("run", *words, "--", "sh", "-c", command, code=0).stdout.decode()
                    self.assertEqual(inside.count("\n"), 1, inside)
                done = self.seen("run", "--", "sh", "-c", command, code=0)
                self.assertEqual(done.stdout.decode().count("\n"), 2, done)
            finally:
                external.kill()

    def test_answers(self):
        """A repeated read is answered as in other runs."""
        (self.work / "n").write_text("".join(f"line {i} of a file that is read again\n" for i in range(40)))
        for command in ("cat n", "busybox cat n"):
            results = self.agent(command, command, session="a" + command[0], options=DENIES)
            self.assert_notice(results[1])

    def test_pipe(self):
        """A pipe by its descriptor's name in /proc is no file that a rule could mean: all was judged."""
        done = self.seen("run", *DENIES, "--fail-on=rule", "--", "sh", "-c", "echo x | busybox cat /proc/self/fd/0; echo y | busybox cat /dev/stdin", code=0)
        self.assertEqual(done.stdout, b"x\ny\n")
        self.check_pipes("auto")

    def test_pipe_by_the_library(self):
        self.check_pipes("preload", "--best-effort")

    def test_pipe_by_the_supervisor(self):
        self.check_pipes("supervise")

    def check_pipes(self, via, *options):
        command = "cat <(echo x); echo y | cat /dev/fd/0; echo z | cat > /proc/thread-self/fd/1"
        done = self.seen("run", "--via", via, *options, *DENIES, "--session", "p", "--fail-on=rule", "--", "bash", "-c", command, code=0)
        self.assertEqual(done.stdout, b"x\ny\nz\n")
        processes = json.loads(self.seen("status", "--json", "--session", "p").stdout)["processes"]
        self.assertEqual(processes["calls_unjudged"], 0)

    def test_files_are_as_before(self):
        """Names across directories, links, mounts of a namespace of one's own."""
        done = self.seen("run", *DENIES, "--", "sh", "-c", "mkdir a b; echo x > a/f; mv a/f b/f; ln b/f a/g; cat a/g; unshare -Urm sh -c 'mount -t tmpfs t a && echo mounted'")
        self.assertIn(done.stdout, (b"x\nmounted\n", b"x\n"))
        if subprocess.run(["unshare", "-Urm", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            self.assertEqual(done.stdout, b"x\nmounted\n", done.stderr)

    def test_bubblewrap(self):
        """While it makes a sandbox it has /proc by a descriptor alone: what it opens there is judged, and a gate passes."""
        words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]
        if not shutil.which("bwrap") or subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no bwrap here")
        for via in ("both", "auto", "supervise"):
            with self.subTest(via):
                self.seen("run", "--via", via, *DENIES, "--fail-on=rule", "--", *words, code=0)

    def test_other_proc(self):
        """`self` in the /proc of another namespace of processes."""
        (self.work / ".env").write_text("SECRET\n")
        pathlib.Path(self.work / "hard").hardlink_to(self.work / ".env")
        space = ["unshare", "-Urpfm", "--mount-proc"]
        if subprocess.run([*space, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no namespaces here")
        for name in ("self/root", "thread-self/root", "self/task/1/root", "1/root", "self/root/etc/..", "self/root/.."):
            with self.subTest(name):
                self.assertNotIn(b"SECRET", self.seen("run", *DENIES, "--", *space, str(STATIC), "open", f"/proc/{name}{self.work}/hard").stdout)


if __name__ == "__main__":
    unittest.main()

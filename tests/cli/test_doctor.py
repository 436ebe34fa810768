"""`seen doctor`: what it says is what happens."""
import os
import shutil
import subprocess
import sys
import time
import unittest

from driver import BUILD, Case

PROGRAM = 'int main(int argc, char **argv) { (void)argv; return argc > 9; }\n'


class Doctor(Case):
    def build(self, name, *options, compiler="cc", source=PROGRAM):
        if not shutil.which(compiler):
            self.skipTest(f"no {compiler}")
        (self.top / "program.c").write_text(source)
        done = subprocess.run([compiler, "-o", str(self.work / name), str(self.top / "program.c"), *options], check=False,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(options)} cannot build here: {done.stderr.decode()[:200]}")
        return str(self.work / name)

    def checks(self, document):
        return {check["what"]: check for check in document["checks"]}

    def test_this_machine(self):
        document = self.json("doctor")
        self.assertEqual((document["schema"], document["program"]), ("seen/doctor/1", None))
        checks = self.checks(document)
        for what in ("kernel", "memfd", "proc", "library", "probe", "state folder", "runtime folder"):
            self.assertEqual(checks[what]["level"], "ok", checks[what])
        self.assertTrue(document["observable"])
        for line in self.seen("doctor", code=0).stdout.decode().splitlines():
            self.assertRegex(line, r"\A(ok  |warn|fail)  [a-z ]+: .|\A      remedy: .")
        self.assertEqual(list((self.top / "tmp").iterdir()), [])
        self.assertFalse((self.home / ".local").exists(), "nothing is made but in TMPDIR")

    def test_dynamic(self):
        program = self.json("doctor", "--", self.build("dynamic"))["program"]
        self.assertEqual((program["kind"], program["libc"], program["attached"]), ("dynamic", "glibc", True))

    def test_static(self):
        document = self.json("doctor", "--", self.build("static", "-static"), code=5)
        self.assertEqual((document["program"]["kind"], document["program"]["attached"]), ("static", False))
        self.assertFalse(document["observable"])
        self.assertIn("commands it starts through a shell are", self.checks(document)["executable"]["detail"])

    def test_musl(self):
        program = self.json("doctor", "--", self.build("musl", compiler="musl-gcc"), code=5)["program"]
        self.assertIn((program["kind"], program["libc"]), [("dynamic", "musl"), ("static", "none")])

    def test_32_bit(self):
        path = self.build("small", "-m32", "-nostdlib", "-Wl,-e,main", "-Wl,-dynamic-linker,/lib/ld-linux.so.2", "-pie")
        document = self.json("doctor", "--", path, code=5)
        self.assertEqual(document["program"]["bits"], 32)
        self.assertEqual(self.checks(document)["executable"]["level"], "fail")

    def test_go_and_bun_by_their_sections(self):
        for section, name in ((".go.buildinfo", "Go"), (".bun", "Bun")):
            source = f'__attribute__((section("{section}"), used)) static const char mark[] = "x";\n' + PROGRAM
            document = self.json("doctor", "--", self.build("marked", source=source), code=5)
            self.assertEqual((document["program"]["run_time"], document["program"]["attached"]), (name, True))
            self.assertIn("its own file access is not seen", self.checks(document)["run time"]["detail"])

    def test_setuid(self):
        path = self.build("raised")
        os.chmod(path, 0o4755)
        document = self.json("doctor", "--", path, code=5)
        self.assertTrue(document["program"]["setuid"])
        self.assertEqual(self.checks(document)["privileges"]["level"], "warn")

    def script(self, name, first, body=""):
        path = self.work / name
        path.write_text(f"{first}\n{body}\n")
        path.chmod(0o755)
        return str(path)

    def test_script_is_not_run(self):
        path = self.script("deploy", "#!/usr/bin/env bash", "touch was-run")
        document = self.json("doctor", "--", path)
        self.assertEqual(document["program"]["scripts"], [path])
        self.assertEqual(os.path.basename(document["program"]["executable"]), "bash")
        self.assertFalse((self.work / "was-run").exists())

    def test_script_of_an_agent(self):
        path = self.script("pi", f"#!{sys.executable} -s", "import sys; sys.exit(sys.argv[1:] != ['--version'])")
        document = self.json("doctor", "--", path)
        self.assertEqual((document["program"]["role"], document["program"]["profile"]), ("agent", "pi"))
        self.assertRegex(document["program"]["tested"], r"\A\d")
        self.assertTrue(self.json("doctor", "--", "./pi")["program"]["attached"])
        os.rename(path, self.work / "cli.js")
        os.symlink("cli.js", path)  # as npm installs them
        self.assertEqual(self.json("doctor", "--", "./pi")["program"]["role"], "agent")
        os.unlink(path)
        os.rename(self.work / "cli.js", path)
        os.rename(path, self.work / "mine")
        document = self.json("doctor", "--agent", "mine", "--", str(self.work / "mine"))
        self.assertEqual((document["program"]["role"], document["program"]["profile"]), ("agent", None))

    def test_agent_that_starts_a_static_program(self):
        static = self.build("hidden", "-static")
        path = self.script("codex", f"#!{sys.executable}", f"import subprocess; subprocess.run([{static!r}])")
        document = self.json("doctor", "--", path, code=5)
        self.assertIn("hidden", self.checks(document)["starts"]["detail"])

    def test_script_without_interpreter(self):
        document = self.json("doctor", "--", self.script("odd", "#!/nonexistent/interpreter"), code=5)
        self.assertIsNone(document["program"])
        self.assertIn("/nonexistent/interpreter", self.checks(document)["program"]["detail"])
        self.json("doctor", "--", self.script("bare", "echo no first line"))
        loop = self.script("loop", f"#!{self.work}/loop")
        self.json("doctor", "--", loop, code=5)

    def test_not_found(self):
        self.assertIn(b"nosuchprogram", self.seen("doctor", "--", "nosuchprogram", code=5).stdout)
        self.seen("doctor", "--", "", code=5)
        self.seen("doctor", "--", str(self.work), code=5)
        (self.work / "plain").write_text("x")
        self.seen("doctor", "--", "./plain", code=5)

    def test_damaged_elf(self):
        whole = (self.work / self.build("whole")).read_bytes()
        for size in (4, 16, 63, 64, 100, 700, len(whole) // 2):
            path = self.work / "cut"
            path.write_bytes(whole[:size])
            path.chmod(0o755)
            done = self.seen("doctor", "--", "./cut")
            self.assertIn(done.returncode, (0, 5), done.stderr)

    def test_program_that_does_not_end(self):
        source = "#include <signal.h>\n#include <unistd.h>\nint main(void) { signal(SIGTERM, SIG_IGN); fork(); for (;;) pause(); }\n"
        path = self.build("endless", source=source)
        begin = time.monotonic()
        done = self.seen("doctor", "--", path, code=0)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn(b"killed", done.stdout)
        left = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout
        self.assertNotIn(path.encode(), left)

    def test_bad_folders_and_mode(self):
        (self.top / "file").write_text("")
        document = self.json("doctor", "--runtime-dir", str(self.top / "file/x"), "--state-dir", str(self.top / "file/y"),
                             code=5)
        self.assertEqual(self.checks(document)["runtime folder"]["level"], "fail")
        self.assertTrue(self.checks(document)["runtime folder"]["remedy"])
        document = self.json("doctor", env={"SEEN_SESSION_MODE": "off"}, code=5)
        self.assertIn("SEEN_SESSION_MODE", self.checks(document)["mode"]["detail"])
        self.assertEqual(self.checks(document)["probe"]["level"], "ok")

    def test_every_problem_has_a_remedy(self):
        for words in (("--", "nosuch"), ("--", self.build("static", "-static")), ("--state-dir", "/proc/x")):
            for check in self.json("doctor", *words, code=5)["checks"]:
                self.assertEqual(check["level"] == "ok", check["remedy"] is None, check)

    def test_prefix_with_a_space(self):
        """The dynamic loader splits LD_PRELOAD there."""
        prefix = self.top / "a prefix"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib/seen").mkdir(parents=True)
        shutil.copy(BUILD / "bin/seen", prefix / "bin")
        shutil.copy(BUILD / "lib/seen/libseen.so", prefix / "lib/seen")
        done = subprocess.run([str(prefix / "bin/seen"), "doctor"], cwd=self.work, env=self.env, stdout=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"space or a colon", done.stdout)
        os.unlink(prefix / "lib/seen/libseen.so")
        done = subprocess.run([str(prefix / "bin/seen"), "doctor"], cwd=self.work, env=self.env, stdout=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, 5)


if __name__ == "__main__":
    unittest.main()

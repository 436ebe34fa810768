"""`seen doctor`: what it says is what happens."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from driver import SEEN, BUILD, Case

# seccomp(2) fails with EPERM in what this runs.
DENY = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	execv(argv[1], argv + 1);
	return 78;
}
"""
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

    def supervises(self):
        """Can there be a supervisor here?  Then what the library cannot be in is observed all the same."""
        return self.json("doctor")["supervisor"]["possible"]

    def doctor(self, *words, code=5):
        """As it is with the library alone, which leaves something unseen."""
        return self.json("doctor", "--via", "preload", *words, code=code)

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

    def test_a_user_without_settings(self):
        """The trial's file is within what an unmeasured agent is taken to pass on."""
        (self.home / ".config/seen/seen.ini").unlink()
        self.assertEqual(self.checks(self.json("doctor"))["probe"]["level"], "ok")
        self.assertFalse((self.home / ".local").exists(), "nothing is made but in TMPDIR")

    def test_rules(self):
        self.assertNotIn("rules", self.checks(self.json("doctor")))
        said = self.checks(self.json("doctor", "--rules=ci:deny,outside"))["rules"]
        self.assertEqual((said["level"], said["detail"]), (
            "ok", "4 in force, for programs that the library is in; for static ones, Go, Bun and musl with --via both: "
                  "outside (warn), ci-pipelines (deny), ci-vcs (deny), ci-user (deny)"))
        static = self.build("static", "-static")
        said = self.checks(self.doctor("--rules=outside", "--", static))["rules"]
        self.assertEqual((said["level"], said["detail"]), ("warn", "1 in force, but not for static itself (static): outside (warn)"))
        if self.supervises():
            said = self.checks(self.json("doctor", "--via", "both", "--rules=outside", "--", static))["rules"]
            self.assertEqual((said["level"], said["detail"]), ("ok", "1 in force, for every program below the supervisor: outside (warn)"))

    def test_dynamic(self):
        program = self.json("doctor", "--", self.build("dynamic"))["program"]
        self.assertEqual((program["kind"], program["libc"], program["attached"]), ("dynamic", "glibc", True))

    def test_supervisor(self):
        document = self.json("doctor")
        check, supervisor = self.checks(document)["supervisor"], document["supervisor"]
        self.assertEqual(supervisor["possible"], check["level"] == "ok")
        self.assertEqual(supervisor["possible"], supervisor["error"] is None)
        release = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
        self.assertEqual((supervisor["wait_killable_recv"], supervisor["sync_wake_up"]), (release >= (5, 19), release >= (6, 6)))
        if not supervisor["possible"]:
            self.assertIn("--via preload", check["remedy"])
            return
        self.assertEqual("WAIT_KILLABLE_RECV" in check["detail"], not supervisor["wait_killable_recv"])
        self.assertIn("setuid", check["detail"])
        self.assertEqual("--via preload" in check["detail"], supervisor["drops_privileges"])

    def test_via(self):
        dynamic, static = self.build("dynamic"), self.build("static", "-static")
        marked = self.build("marked", source='__attribute__((section(".bun"), used)) static const char mark[] = "x";\n' + PROGRAM)
        both, code = ("both", 0) if self.supervises() else ("preload", 5)
        for path, way, reason in ((dynamic, "preload", "nothing"), (static, both, "static is static"),
                                  (marked, both, "marked is built with Bun"),
                                  (self.script("codex", f"#!{sys.executable}"), "preload", "nothing")):
            document = self.json("doctor", "--", path, code=code if way == "both" or path in (static, marked) else 0)
            program = document["program"]
            self.assertEqual(program["via"], way)
            self.assertIn(reason, program["via_reason"])
            self.assertEqual(program["via_note"] is None, way == "both" or path not in (static, marked))
            self.assertEqual(program["via_at_exec"], way == "preload" and (path not in (static, marked) or both == "preload"))
            self.assertTrue(self.checks(document)["via"]["detail"].startswith(f"{way}"))
            self.assertEqual(document["observable"], code == 0 or path not in (static, marked))
        program = self.doctor("--", static)["program"]
        self.assertEqual((program["via"], program["via_reason"]), ("preload", "set by --via"))
        if both == "both":
            program = self.json("doctor", "--via", "supervise", "--", dynamic)["program"]
            self.assertEqual((program["via"], program["via_note"]), ("supervise", None))
            self.assertIn("for the library, but the supervisor", self.seen("doctor", "--", static, code=0).stdout.decode())

    def test_via_without_a_supervisor(self):
        """Below a filter that forbids seccomp(2), as policies of containers do."""
        program = self.build("deny", source=DENY)
        static = self.build("static", "-static")
        words = [program, str(BUILD / "bin/seen"), "doctor", "--json", "--"]
        done = subprocess.run([*words, static], cwd=self.work, env=self.env, stdout=subprocess.PIPE, check=False, timeout=60)
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, 5)
        self.assertFalse(document["supervisor"]["possible"])
        self.assertEqual(self.checks(document)["supervisor"]["level"], "warn")
        self.assertIn("policy", self.checks(document)["supervisor"]["detail"])
        self.assertEqual((document["program"]["via"], document["program"]["via_reason"]), ("preload", "static is static"))
        self.assertIn("--via preload", document["program"]["via_note"])
        self.assertEqual(self.checks(document)["via"]["level"], "warn")
        self.assertEqual(subprocess.run([*words, "true"], cwd=self.work, env=self.env, stdout=subprocess.DEVNULL, check=False,
                                        timeout=60).returncode, 0)

    def test_static(self):
        document = self.doctor("--", self.build("static", "-static"))
        self.assertEqual((document["program"]["kind"], document["program"]["attached"]), ("static", False))
        self.assertFalse(document["observable"])
        self.assertIn("commands it starts through a shell are", self.checks(document)["executable"]["detail"])

    def test_musl(self):
        path = self.build("musl", compiler="musl-gcc")
        program = self.doctor("--", path)["program"]
        if self.supervises():
            self.assertTrue(self.json("doctor", "--", path)["observable"])
        self.assertIn((program["kind"], program["libc"]), [("dynamic", "musl"), ("static", "none")])

    def test_32_bit(self):
        path = self.build("small", "-m32", "-nostdlib", "-Wl,-e,main", "-Wl,-dynamic-linker,/lib/ld-linux.so.2", "-pie")
        document = self.json("doctor", "--", path, code=5)
        self.assertEqual(document["program"]["bits"], 32)
        self.assertEqual(self.checks(document)["executable"]["level"], "fail")

    def test_go_and_bun_by_their_sections(self):
        for section, name in ((".go.buildinfo", "Go"), (".bun", "Bun")):
            source = f'__attribute__((section("{section}"), used)) static const char mark[] = "x";\n' + PROGRAM
            document = self.doctor("--", self.build("marked", source=source))
            self.assertEqual((document["program"]["run_time"], document["program"]["attached"]), (name, True))
            self.assertIn("its own file access is not seen", self.checks(document)["run time"]["detail"])

    def test_setuid(self):
        path = self.build("raised")
        os.chmod(path, 0o4755)
        document = self.json("doctor", "--", path, code=5)
        self.assertTrue(document["program"]["setuid"])
        self.assertEqual(self.checks(document)["privileges"]["level"], "warn")

    @unittest.skipUnless(shutil.which("setpriv"), "no setpriv")
    def test_sudo_below_a_supervisor(self):
        """A user without CAP_SYS_ADMIN reads that sudo does not work there."""
        if not self.supervises():
            self.skipTest("no supervisor")
        prefix = ["setpriv", "--bounding-set=-sys_admin"] if os.geteuid() == 0 else []
        path = self.build("static", "-static")
        for words, warns in (((), True), (("--via", "preload"), False)):
            done = subprocess.run([*prefix, SEEN, "doctor", "--json", *words, "--", path], cwd=self.work, env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=False)
            self.assertEqual("no_new_privs" in self.checks(json.loads(done.stdout)).get("sudo", {"detail": ""})["detail"], warns)

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

    def test_sandbox_of_an_agent(self):
        """An agent's own sandbox is named, and what holds there by this way."""
        path = self.script("codex", f"#!{sys.executable} -s", "import sys; sys.exit(sys.argv[1:] != ['--version'])")
        check = self.checks(self.json("doctor", "--via", "preload", "--", path))["sandbox"]
        self.assertEqual((check["level"], check["remedy"]), ("warn", "say --via auto" if self.supervises() else "what the line on the supervisor says"))
        self.assertIn("codex's own (--sandbox workspace-write or read-only, one of which it has by default): by the library alone repeats are not answered there",
                      check["detail"])
        if self.supervises():
            for words in ((), ("--via", "both")):
                check = self.checks(self.json("doctor", *words, "--", path))["sandbox"]
                self.assertEqual((check["level"], check["detail"].rpartition(": ")[2]), ("ok", "the supervisor answers there, and guards"))
        self.assertNotIn("sandbox", self.checks(self.json("doctor", "--", "true")))

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
        document = self.doctor("--", path)
        self.assertIn("hidden", self.checks(document)["starts"]["detail"])
        if self.supervises():
            drop = ("-c", "session.privileges=drop")  # as an ordinary user: what is not the agent itself, too
            check = self.checks(self.json("doctor", *drop, "--", path))["starts"]
            self.assertEqual(check["level"], "ok")
            self.assertIn("hidden", check["detail"])

    def test_agent_that_becomes_a_static_program(self):
        static = self.build("hidden", "-static")
        path = self.script("codex", "#!/usr/bin/env bash", f"exec {static} echo hi")
        document = self.doctor("--", path)
        self.assertEqual((document["program"]["attached"], self.checks(document)["start"]["level"]), (False, "fail"))
        if self.supervises():
            drop = ("-c", "session.privileges=drop")  # as an ordinary user: what is not the agent itself, too
            for words in ((*drop, "--", path), ("--via", "supervise", "--", path)):
                document = self.json("doctor", *words, code=0)
                check = self.checks(document)["start"]
                self.assertEqual((check["level"], document["observable"]), ("ok", True))
                self.assertIn("hidden", check["detail"])

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

    def test_program_that_does_not_exit(self):
        source = "#include <signal.h>\n#include <unistd.h>\nint main(void) { signal(SIGTERM, SIG_IGN); fork(); for (;;) pause(); }\n"
        path = self.build("endless", source=source)
        begin = time.monotonic()
        done = self.seen("doctor", "--", path, code=0)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn(b"killed", done.stdout)
        left = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout
        self.assertNotIn(path.encode(), left)

    def test_bad_directories_and_mode(self):
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
            for check in self.doctor(*words)["checks"]:
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

"""scripts/lib.sh and scripts/test on machines that are not this one: what is installed, for which tests, and what is printed; and what
tests/support/run-unittest makes of a file, and tests/support/seeds.py of random sessions."""
import os
import shutil
import signal
import subprocess
import sys
import unittest
from unittest import mock

from driver import SOURCE, Case
from seeds import run_seeds

# All that the scripts start before they build.
TOOLS = ("bash", "cat", "dirname", "env", "grep", "head", "id", "mkdir", "nproc", "sed", "sort", "tail", "tr")


class Machine(Case):
    """One that is not this one."""

    def setUp(self):
        super().setUp()
        self.bin = self.top / "bin"
        self.bin.mkdir()
        for name in TOOLS:
            os.symlink(shutil.which(name), self.bin / name)
        self.tool("dpkg-query", "exit 1")

    def tool(self, name, script):
        """A program of that machine."""
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (self.bin / name).chmod(0o755)

    def bash(self, *words, **more):
        done = subprocess.run([str(self.bin / "bash"), *words], cwd=self.work, env={"PATH": str(self.bin), "HOME": str(self.home), **more},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr


class Scripts(Machine):
    def lib(self, script):
        return self.bash("-euc", f". '{SOURCE}/scripts/lib.sh'; {script}")

    def missing(self, *options):
        """What scripts/test wants installed, where nothing is and nothing can be."""
        code, out, _ = self.bash(str(SOURCE / "scripts/test"), *options)
        self.assertEqual(code, 1, out)
        self.assertIn("there is no apt-get on this machine", out)
        return out.split("not installed: ")[1].split("\n")[0].split()

    def test_packages_of_the_tests_that_are_asked_for(self):
        unit = self.missing("-R", "unit")
        self.assertLessEqual({"gcc", "cmake", "libcriterion-dev", "patch"}, set(unit))
        self.assertFalse({"chromium", "nodejs", "valgrind", "strace", "tmux", "ripgrep"} & set(unit))
        self.assertLessEqual({"gcc", "patch", "nodejs", "valgrind", "strace"}, set(self.missing("-R", "viewers.both")))
        self.assertLess(set(unit), set(self.missing()))

    def test_a_package_of_two_architectures(self):
        """dpkg-query reports on each."""
        self.tool("dpkg-query", r"""[ "${!#}" = there ] || exit 1; case $* in *'\n'*) printf 'installed\ninstalled\n' ;; *) printf installedinstalled ;; esac""")
        self.assertEqual(self.lib("package_present there")[0], 0)
        self.assertEqual(self.lib("package_present nowhere")[0], 1)

    def test_a_cmake_that_is_too_old(self):
        for preset, needs, version, code in (("release", "3.18", "3.16.3", 1), ("release", "3.18", "3.9", 1), ("release", "3.18", "3.18.4", 0),
                                             ("release", "3.18", "3.22.1", 0), ("release", "3.18", "4.0.2", 0), ("dev", "3.25", "3.22.1", 1),
                                             ("dev", "3.25", "3.25.1", 0), ("dev", "3.25", "3.25", 0)):
            self.tool("cmake", f"echo cmake version {version}")
            got, out, said = self.lib(f"cmake_is_new_enough {preset}")
            self.assertEqual((got, out, said.count("\n")), (code, "", code), version)
            self.assertEqual(f"cmake {version} is too old: seen needs {needs} or newer" in said, code == 1)

    def test_a_cmake_without_presets(self):
        """A release build is configured without them."""
        self.tool("cmake", 'case $1 in --version) echo cmake version 3.18.4 ;; *) echo "cmake $*" ;; esac')
        code, out, said = self.lib("root=$HOME; build_locked release programs")
        home = self.home
        self.assertEqual((code, out, said), (0, f"cmake -G Ninja -S {home} -B {home}/build/release -DCMAKE_BUILD_TYPE=Release\n"
                                                f"cmake --build {home}/build/release --target programs\n", ""))

    def test_a_build_shows_that_it_goes_on(self):
        steps = "echo configured; echo '[1/9] one'; IFS= read -rt 3.1 <> <(:) || :; echo '[2/9] two'; echo '[3/9] three'"
        code, out, said = self.lib(f"{{ {steps}; }} | show_progress release log; cat log")
        self.assertEqual((code, out), (0, "configured\n[1/9] one\n[2/9] two\n[3/9] three\n"))
        self.assertEqual(said, "building release: 2 of 9 steps\n")


class EndsEarly(Machine):
    """The last line of scripts/test is as promised, however it ends, and one before says how."""

    def setUp(self):
        super().setUp()
        shutil.copytree(SOURCE / "scripts", self.work / "scripts")
        for name in ("rm", "tee"):
            os.symlink(shutil.which(name), self.bin / name)
        self.tool("dpkg-query", "echo installed")
        self.tool("cmake", "echo cmake version 3.25.1")
        self.tool("flock", "exit 0")
        self.tool("ctest", "echo '100% tests passed, 0 tests failed out of 3'")

    def run_test(self, code, **more):
        got, out, _ = self.bash(str(self.work / "scripts/test"), "--release", **more)
        self.assertEqual(got, code, out)
        return out.splitlines()[-2:]

    def test_it_does_not(self):
        self.assertEqual(self.run_test(0), ["release: 100% tests passed, 0 tests failed out of 3", "3 passed, 0 failed"])

    def test_of_a_session_s_variables_the_agents_place_alone_stays(self):
        self.tool("ctest", f"env | grep ^SEEN_ >'{self.top}/variables'; echo '100% tests passed, 0 tests failed out of 3'")
        self.run_test(0, SEEN_AGENTS_DIR="/there", SEEN_SESSION="one", SEEN_UNDO_SECONDS="5")
        self.assertEqual((self.top / "variables").read_text(), "SEEN_AGENTS_DIR=/there\n")

    def test_by_a_signal(self):
        for name in ("TERM", "HUP", "PIPE"):
            self.tool("ctest", f"kill -{name} $PPID")
            self.assertEqual(self.run_test(-getattr(signal, "SIG" + name)), ["this script ended early: by a signal", "0 passed, 1 failed"])

    def test_by_a_command(self):
        """One of a pipeline."""
        os.unlink(self.bin / "sort")
        self.tool("sort", f"[ $1 = -V ] || exit 5; exec {shutil.which('sort')} -V")
        how, totals = self.run_test(1)
        self.assertRegex(how, r"^this script ended early: status 5; what failed last: line \d+: ")
        self.assertEqual(totals, "0 passed, 1 failed")


class RunUnittest(Case):
    def run_file(self, text, **more):
        (self.work / "test_x.py").write_text("import signal, unittest\nclass X(unittest.TestCase):\n" + text)
        done = subprocess.run([sys.executable, str(SOURCE / "tests/support/run-unittest"), "test_x.py"], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
        return done.returncode, done.stdout

    def test_the_first_failure_ends_a_file(self):
        code, out = self.run_file("    def test_a(self): self.fail()\n    def test_b(self): pass\n")
        self.assertEqual((code, "Ran 1 test " in out), (1, True), out)

    def test_signals_are_those_of_a_login(self):
        def without_job_control():
            for number in (signal.SIGTSTP, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])

        code, out = self.run_file("    def test_a(self):\n"
                                  "        for number in (signal.SIGTSTP, signal.SIGINT, signal.SIGHUP):\n"
                                  "            self.assertNotEqual(signal.getsignal(number), signal.SIG_IGN)\n"
                                  "        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, ()), set())\n",
                                  preexec_fn=without_job_control)
        self.assertEqual(code, 0, out)


def no_seed(seed):
    return (0, 0), None


def one_seed(seed):
    return (1, 2), None


def bad_seed(seed):
    return (1, 2), f"{seed} failed"


class Seeds(unittest.TestCase):
    """A run of random sessions in which too little was done is none that passed."""

    def run_seeds(self, run_seed, wanted, **variables):
        with mock.patch.dict(os.environ, variables):
            return run_seeds(run_seed, ("commands", "steps"), wanted, 1, 2)

    def test_enough(self):
        self.assertEqual(self.run_seeds(one_seed, 3), [])
        self.assertIn("1 failed", self.run_seeds(bad_seed, 2))

    def test_none_is_wanted(self):
        self.assertEqual(self.run_seeds(one_seed, 0), ["0 commands done of at least 1"])

    def test_the_time_is_over_too_soon(self):
        self.assertEqual(self.run_seeds(one_seed, 3, SEEN_UNDO_SECONDS="0"), ["0 commands done of at least 1"])
        self.assertEqual(self.run_seeds(no_seed, 3, SEEN_UNDO_SECONDS="0.1"), ["0 commands done of at least 1"])
        self.assertEqual(self.run_seeds(one_seed, 10**9, SEEN_UNDO_SECONDS="0.1"), [])


class Words(Case):
    """scripts/words finds an old word wherever it may stand, and a sentence that is too long; each is named with its line."""

    def test_each_place(self):
        old, long = "fol" + "der", "a word " * 13
        cases = (
            ("1.c", f"int {old}_of;\n", [f"1: {old}_of"]), ("2.c", f"/* one\n * {old} */\n", [f"2: {old}"]),
            ("3.c", f'puts("the {old}");\n', [f"1: {old}"]), ("4.c", f'open("{old}");\n', []), ("5.c", "take(1);\n", ["1: take"]),
            ("6.c", "struct known;\n", ["1: known"]), ("known.c", "", ["1: known"]),
            ("1.py", f"x = {old}\n", [f"1: {old}"]), ("2.py", f'"""A {old}."""\n# {old}\n', [f"1: {old}", f"2: {old}"]),
            ("3.py", f'x = "{old}"\n', []), ("4.py", "class Known:\n", ["1: Known"]), ("1.md", f"A {old}.\n", [f"1: {old}"]),
            ("docs/2.md", f"Short.\n\nThat is {long}.\n", ["3: 28 words"]), ("docs/3.md", f"It is `{long}`. That is it.\n", []),
            ("docs/4.md", f"| {long} |\n", []), ("docs/5.md", f"* {long[:70]}.\n* {long[:70]}.\n", []))
        (self.work / "docs").mkdir()
        for name, text, _ in cases:
            (self.work / name).write_text(text)
        done = subprocess.run([sys.executable, str(SOURCE / "scripts/words")], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(sorted(line.split(": say ")[0] for line in done.stdout.splitlines()),
                         sorted("%s:%s" % (name, found) for name, _, all_found in cases for found in all_found))


if __name__ == "__main__":
    unittest.main()

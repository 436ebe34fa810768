"""Programs that watch their own memory, or are watched: with seen they say and end as without.

AddressSanitizer's shared runtime ends a program below any preloaded library: such programs start without it, and are reported as not
observed; so are helgrind and drd.  All others, and what runs in memcheck, are observed.  The whole product of programs and tools is in test_sanitizers_long.py.
"""

import json
import os
import shutil
import subprocess
import unittest

from harness import LIBRARY, Session

SOURCE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void *work(void *name)
{
	char bytes[10];
	int fd = open("file", O_RDONLY);
	if (read(fd, bytes, 10) != 9) puts(name);
	close(fd);
	return NULL;
}
/* Words end on the stack and the heap, with bytes behind them that were never written. */
int main(int argc, char **argv)
{
	char name[64], other[64], shell[20], line[100], *bytes = malloc(5), *words[2] = { malloc(5), NULL };
	struct iovec parts[2] = { { bytes, 2 }, { bytes + 2, 3 } };
	struct stat stat_;
	pthread_t a, b;
	pid_t child;
	sprintf(name, "out"), sprintf(other, "other"), strcpy(shell, "/bin/true"), memcpy(words[0], "true", 5);
	FILE *file = fopen(name, "w");
	fputs("text\n", file), fclose(file);
	file = fopen(name, "r+");
	printf("%zu\n", fread(bytes, 1, 5, file));
	fseek(file, 0, SEEK_SET), fwrite(bytes, 1, 5, file), fclose(file);
	int fd = open(name, O_WRONLY | O_TRUNC);
	printf("%zd %zd %d\n", write(fd, bytes, 3), writev(fd, parts, 2), ftruncate(fd, 2));
	close(fd);
	printf("%d %d %d\n", rename(name, other), link(other, name), truncate(name, 1));
	printf("%d %d %d %d\n", unlink(name), symlink(other, name), stat(name, &stat_), unlink(name));
	printf("%d %d\n", chmod(other, 0600), unlink(other));
	pthread_create(&a, 0, work, "wrong"), pthread_create(&b, 0, work, "wrong"), pthread_join(a, 0), pthread_join(b, 0);
	fflush(stdout);
	if (argc == 1) {
		posix_spawn(&child, shell, 0, 0, words, environ), waitpid(child, 0, 0);
		if (!(child = fork())) execv(shell, words), _exit(1);
		waitpid(child, 0, 0);
		file = popen("echo from a shell", "r"), fgets(line, 100, file), pclose(file), fputs(line, stdout);
	}
	free(bytes), free(words[0]);
	return 7;
}
"""

# Starts another program where the stack is as small as that of a signal's handler.
SMALL_STACK = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
extern char **environ;
static char **words;
static void start(void) { execve(words[0], words, environ); _exit(9); }
int main(int argc, char **argv)
{
	enum { PAGE = 4096, ROOM = 4500 };
	static ucontext_t here, there;
	char *pages = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	words = argv + 1;
	if (argc < 2 || pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE) || getcontext(&there)) return 8;
	there.uc_stack.ss_sp = pages + PAGE;
	there.uc_stack.ss_size = ROOM;
	there.uc_link = &here;
	makecontext(&there, start, 0);
	return swapcontext(&here, &there);
}
"""

CLANG_RUNTIME = "-Wl,-rpath,%s" % os.path.dirname(subprocess.run(
    ["clang", "-print-file-name=libclang_rt.asan-%s.so" % os.uname().machine], stdout=subprocess.PIPE, text=True, check=False).stdout
    if shutil.which("clang") else "")
# name: compiler and its options, and whether it can be observed
SANITIZED = {
    "asan": (("gcc", "-fsanitize=address"), False),
    "asan-clang": (("clang", "-fsanitize=address", "-shared-libasan", CLANG_RUNTIME), False),
    "asan-static": (("gcc", "-fsanitize=address", "-static-libasan"), True),
    "asan-clang-static": (("clang", "-fsanitize=address"), True),
    "tsan": (("gcc", "-fsanitize=thread"), True),
    "msan-clang": (("clang", "-fsanitize=memory"), True),
}


class Programs(unittest.TestCase):
    sanitized = SANITIZED

    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.addClassCleanup(cls.session.close)
        cls.session.write("file", b"the file\n")

    def compile(self, name, command, text):
        """The program's path; None where the compiler is not there."""
        source, program = (os.path.join(self.session.directory, file) for file in ("program.c", name))
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        if not shutil.which(command[0]) or subprocess.run([*command, "-w", "-pthread", "-o", program, source], check=False,
                                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return None
        return program

    def build(self, name, command):
        """The same for SOURCE; None where the compiler's runtime is not there, too."""
        program = self.compile(name, command, SOURCE)
        return program if program and self.run_bare(program).returncode == 7 else None

    def run_bare(self, *words, **more):
        return subprocess.run(words, cwd=self.session.workspace, env={**self.session.environment, **more}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)

    def assertSame(self, one, other, what):
        self.assertEqual((one.returncode, one.stdout, one.stderr), (other.returncode, other.stdout, other.stderr), what)


class Sanitizers(Programs):
    def test_sanitized_programs_start_and_are_counted(self):
        built = 0
        for name, (command, observed) in self.sanitized.items():
            program = self.build(name, command)
            if not program:
                continue
            built += 1
            bare = self.run_bare(program)
            self.assertSame(self.session.seen("run", "--quiet", "--session", name, "--", "sh", "-c", program, check=False), bare, name)
            self.assertSame(self.session.seen("run", "--quiet", "--session", name, "--", program, check=False), bare, name)
            found = ("env", "PATH=%s:/usr/bin:/bin" % os.path.dirname(program), os.path.basename(program))  # by execvp
            self.assertSame(self.session.seen("run", "--quiet", "--session", name, "--", *found, check=False), bare, name)
            programs = json.loads(self.session.seen("status", "--json", "--session", name).stdout)["processes"]["unobserved_programs"]
            wanted = [] if observed else [{"name": name, "reason": "built with AddressSanitizer", "not_supervised": None, "count": 2}]
            self.assertEqual(programs[:1], wanted, name)
            self.assertEqual(sum(program["count"] for program in programs), 0 if observed else 3, name)
            if not observed:
                failed = self.session.seen("run", "--quiet", "--via", "preload", "--fail-on", "unobserved", "--", program, check=False)
                self.assertEqual(failed.returncode, 16, failed)
                self.assertIn(b"built with AddressSanitizer", failed.stderr)
        if not built:
            self.skipTest("no compiler with a sanitizer")

    def test_started_from_a_small_stack(self):
        """What a program is, is found there, too; and what was found holds for the session."""
        program = self.build("asan", SANITIZED["asan"][0])
        small = self.compile("small", ("gcc", "-Wl,-z,now"), SMALL_STACK)
        if not program or not small:
            self.skipTest("no AddressSanitizer")
        bare = self.run_bare(small, program)
        self.assertEqual(bare.returncode, 7)
        for words in ((small, program), (program,)):
            self.assertSame(self.session.seen("run", "--quiet", "--session", "small", "--", "sh", "-c", '"$@"; exit $?', "sh", *words, check=False), bare, words)

    def test_a_preloaded_runtime_stays_the_first(self):
        runtime = shutil.which("gcc") and subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True,
                                                         check=True).stdout.strip()
        if not runtime or "/" not in runtime:
            self.skipTest("no AddressSanitizer")
        more = {"ASAN_OPTIONS": "detect_leaks=0"}
        bare = self.run_bare("cat", "file", LD_PRELOAD=runtime, **more)
        self.assertEqual((bare.returncode, bare.stdout), (0, b"the file\n"))
        for way in ("LD_PRELOAD=%s" % runtime, "LD_PRELOAD=%s:%s" % (LIBRARY, runtime), "LD_PRELOAD=%s:%s" % (runtime, LIBRARY)):
            self.session.environment.update(more)
            done = self.session.seen("run", "--quiet", "--session", "first", "--", "bash", "-c", "%s cat file; :" % way, check=False)
            self.assertSame(done, bare, way)
        self.assertEqual(json.loads(self.session.seen("status", "--json", "--session", "first").stdout)["processes"]["unobserved"], 0)


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Valgrind(Programs):
    tools = {"memcheck": ("program", "cat file", "bash -c 'echo x >new; cat new; rm new'"), "helgrind": ("program",), "drd": ("program",)}

    def test_valgrind_finds_no_more_than_without(self):
        program = self.build("program", ("cc", "-g"))
        if not program:
            self.skipTest("no compiler")
        # Each is clean without seen: one that is not would end with 99 there, too.
        script = "".join("valgrind -q --error-exitcode=99 --tool=%s %s; echo %s: $?\n" % (
            tool, command.replace("program", program), tool) for tool, commands in self.tools.items() for command in commands)
        wanted = b"".join(self.run_bare("bash", "-c", command.replace("program", program)).stdout + b"%s: %d\n" % (
            tool.encode(), 7 if command == "program" else 0) for tool, commands in self.tools.items() for command in commands)
        done = self.session.seen("run", "--quiet", "--session", "valgrind", "--agent", "program", "--", "bash", "-c", script, check=False, timeout=600)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, wanted, b""))
        programs = json.loads(self.session.seen("status", "--json", "--session", "valgrind").stdout)["processes"]["unobserved_programs"]
        self.assertEqual({(program["name"].split("-")[0], program["reason"]) for program in programs},
                         {(tool, "valgrind's detector of races") for tool in ("helgrind", "drd")})


if __name__ == "__main__":
    unittest.main()

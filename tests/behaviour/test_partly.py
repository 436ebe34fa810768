"""A program that calls the kernel past libc, behind a launcher, with the library alone: no other program is reported for what it does unseen."""
import json
import shutil
import subprocess
import time
import unittest

from driver import Case, SEEN, text_of

# An agent that Bun or Go would be: a mark that their programs have, commands by libc, its own writes by raw calls.  It shows a file by a
# shell, overwrites another one, waits for a byte.
AGENT = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((section(".bun"), used)) static const char mark[] = "x";
static long raw(long number, long first, const void *second, long third)
{
#if defined(__x86_64__)
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x1 __asm__("x1") = (long)second, x2 __asm__("x2") = third;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
#error "no system call by hand for this machine"
#endif
}
int main(int argc, char **argv)
{
	char text[] = "what the agent wrote\n", bytes[4096];
	FILE *shell = popen(argv[1], "r");
	while (shell && fread(bytes, 1, sizeof(bytes), shell) > 0)
		;
	if (!shell || pclose(shell) != 0)
		return 1;
	usleep(500000); /* what was read is a baseline, and watched */
	for (int i = 2; i < argc; i++) {
		long fd = raw(SYS_openat, AT_FDCWD, argv[i], O_WRONLY | O_TRUNC);
		if (fd < 0 || raw(SYS_write, fd, text, (long)strlen(text)) < 0)
			return 2;
		(void)raw(SYS_close, fd, NULL, 0);
	}
	return raw(SYS_read, 0, bytes, 1) < 0;
}
"""


class Partly(Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("cc"):
            self.skipTest("no cc")
        (self.top / "agent.c").write_text(AGENT)
        self.bin = self.top / "bin"
        self.bin.mkdir()
        self.program = str(self.bin / "opencode")
        subprocess.run(["cc", "-o", self.program, str(self.top / "agent.c")], check=True)
        for name in ("own", "other", "later"):
            self.file(name)

    def changes(self):
        done = self.seen("log", "--json", "--session", "s", "--op", "changed,edited")
        return {(record["path"].rsplit("/", 1)[-1], record["source"]) for record in map(json.loads, done.stdout.splitlines())}

    def start(self, *words):
        return subprocess.Popen([SEEN, "run", "--quiet", "-c", "watch.quiet_ms=30", "--session", "s", *words], cwd=self.work,
                                env=self.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def wait_for(self, change):
        end = time.monotonic() + 20
        while change not in self.changes():
            self.assertLess(time.monotonic(), end, self.changes())
            time.sleep(0.05)

    def test_own_write_below_a_launcher(self):
        """Of a live program that is observed in part an unexplained change may be its own."""
        run = self.start("--via", "preload", "--", "timeout", "30", self.program, "cat own other", "own")
        try:
            self.wait_for(("own", "unattributed"))
            self.file("other", text_of(word="another"))  # and so may this one be
            self.wait_for(("other", "unattributed"))
        finally:
            run.communicate(b"x", timeout=30)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.changes(), {("own", "unattributed"), ("other", "unattributed")})

    def test_external_when_it_has_ended(self):
        """What changes when no such program has lived since a file was inspected is an external writer's."""
        run = self.start("--via", "preload", "--", "bash", "-c", f"{self.program} 'cat own later' own < /dev/null; read byte")
        try:
            self.wait_for(("own", "unattributed"))
            time.sleep(1.2)  # its end was found
            self.file("later", text_of(word="another"))
            self.wait_for(("later", "unattributed"))
            self.file("later", text_of(word="the next"))
            self.wait_for(("later", "user_edited"))
        finally:
            run.communicate(b"x\n", timeout=30)


if __name__ == "__main__":
    unittest.main()

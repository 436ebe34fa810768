/* agent_of_raw_calls COMMAND...: an agent that starts its shells by a system call of its own; hands on what they print. */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void raw_exec(const char *path, char **words)
{
#ifdef __x86_64__
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_execve), "D"(path), "S"(words), "d"(environ)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_execve;
	register long a __asm__("x0") = (long)path;
	register long b __asm__("x1") = (long)words;
	register long c __asm__("x2") = (long)environ;
	__asm__ volatile("svc 0" : "+r"(a) : "r"(number), "r"(b), "r"(c) : "memory");
#else
	(void)syscall(SYS_execve, path, words, environ);
#endif
}

int main(int argc, char **argv)
{
	char bytes[4096];
	ssize_t count;
	int ends[2];

	for (int i = 1; i < argc; i++) {
		char *words[] = { (char *)"bash", (char *)"-c", argv[i], NULL };
		if (pipe(ends) < 0)
			return 2;
		if (fork() == 0) {
			(void)dup2(ends[1], 1);
			(void)close(ends[0]);
			(void)close(ends[1]);
			raw_exec("/bin/bash", words);
			_exit(127);
		}
		(void)close(ends[1]);
		while ((count = read(ends[0], bytes, sizeof(bytes))) > 0)
			if (write(1, bytes, (size_t)count) != count)
				return 2;
		(void)close(ends[0]);
		(void)wait(NULL);
	}
	return 0;
}

/* launcher.h: of real processes, which wait for their input. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support.h"
#include "tracker/process/launcher.h"

enum { WORDS_MAX = 8, LONG_BYTES = 100000 };

static int input[2] = { -1, -1 };

/* Starts a shell by these words; the third is its script. */
static pid_t start_shell(const char *const *words)
{
	char *argv[WORDS_MAX + 1] = { NULL };
	int ready[2];
	char byte;

	for (int i = 0; words[i]; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	cr_assert(input[0] >= 0 || pipe(input) == 0);
	cr_assert_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)dup2(input[0], 0);
		(void)dup2(ready[1], 1);
		(void)close(input[1]);
		(void)execv("/bin/sh", argv);
		_exit(127);
	}
	(void)close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1); /* its words are its own by now */
	(void)close(ready[0]);
	return child;
}

static bool ends_with(const char *const *words, const char *const *launcher)
{
	pid_t child = start_shell(words), other = start_shell(launcher);
	bool is = launcher_passes_on((uint32_t)child, (uint32_t)other);

	(void)kill(child, SIGKILL);
	(void)kill(other, SIGKILL);
	cr_assert(waitpid(child, NULL, 0) == child && waitpid(other, NULL, 0) == other);
	return is;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define WAITS "echo; read line"

Test(launcher, ends_with_another)
{
	const char *const *words = WORDS("bash", "-c", WAITS);

	cr_expect(ends_with(words, WORDS("box", "-c", WAITS, "--", "bash", "-c", WAITS)));
	cr_expect(ends_with(words, WORDS("box", "-c", WAITS, "/usr/bin/bash", "-c", WAITS)));
	cr_expect(ends_with(WORDS("/bin/bash", "-c", WAITS),
			    WORDS("box", "-c", WAITS, "bash", "-c", WAITS)));
	cr_expect(!ends_with(words, WORDS("box", "-c", WAITS, "dash", "-c", WAITS)));
	cr_expect(!ends_with(words, WORDS("box", "-c", WAITS, "bash", "-c", WAITS, "more")));
	cr_expect(!ends_with(words, WORDS("box", "-c", WAITS, "bash", "-c", WAITS " ")));
	cr_expect(!ends_with(words, WORDS("box", "-c", WAITS, "bash", "-ec", WAITS)));
	/* Its own words, or a fork's, are no launcher's. */
	cr_expect(!ends_with(words, words));
	cr_expect(!ends_with(words, WORDS("box", "-c", WAITS)));
}

Test(launcher, long_ones)
{
	char *text = malloc(LONG_BYTES), *other = malloc(LONG_BYTES);

	memset(text, 'x', LONG_BYTES);
	memcpy(text, WAITS " #", sizeof(WAITS) + 1);
	text[LONG_BYTES - 1] = '\0';
	memcpy(other, text, LONG_BYTES);
	other[LONG_BYTES / 2] = 'y';
	cr_expect(ends_with(WORDS("bash", "-c", text),
			    WORDS("box", "-c", WAITS, "bash", "-c", text)));
	cr_expect(!ends_with(WORDS("bash", "-c", text),
			     WORDS("box", "-c", WAITS, "bash", "-c", other)));
	free(text);
	free(other);
}

Test(launcher, none)
{
	cr_expect(!launcher_passes_on((uint32_t)getpid(), 0));
	cr_expect(!launcher_passes_on(0, (uint32_t)getpid()));
}

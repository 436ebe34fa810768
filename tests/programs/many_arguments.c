/* Hazard: 30,000 words: a shim that copies or joins them on the stack; words of one byte, of none, and a list without
 * even the first. */
#include "check.h"

#include <spawn.h>

enum { WORDS = 30000 };

static int count_words(int argc, char **argv)
{
	size_t length = 0;
	for (int i = 0; i < argc; i++)
		length += strlen(argv[i]);
	printf("%d words, %zu bytes but for the first\n", argc, length - strlen(argv[0]));
	return 3;
}

int main(int argc, char **argv)
{
	static char text[WORDS][12];
	static char *words[WORDS + 2];
	char *const *volatile nothing = NULL;
	pid_t child;

	if (argc > 1)
		return count_words(argc, argv);
	words[0] = (char *)self();
	for (int i = 1; i <= WORDS; i++) {
		snprintf(text[i - 1], sizeof(text[0]), "word-%d", i);
		words[i] = text[i - 1];
	}
	show_run("execv", words);
	child = fork_flushed();
	if (child == 0) {
		execvp(words[0], words);
		_exit(126);
	}
	show_exit("execvp", child);
	CHECK(posix_spawn(&child, words[0], NULL, NULL, words, environ) == 0);
	show_exit("posix_spawn", child);
	CHECK(posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0);
	show_exit("posix_spawnp", child);

	char *const empty[] = { (char *)"", (char *)"", (char *)"", NULL };
	child = fork_flushed();
	if (child == 0) {
		execv(self(), empty);
		_exit(126);
	}
	show_exit("empty words", child);

	/* Without a first word; the kernel makes it an empty one. */
	char *const none[] = { NULL };
	child = fork_flushed();
	if (child == 0) {
		execv("/bin/true", none);
		_exit(126);
	}
	show_exit("no words", child);
	child = fork_flushed();
	if (child == 0) {
		execve("/bin/true", nothing, environ);
		_exit(126);
	}
	show_exit("NULL for words", child);
	char *const only[] = { (char *)"true", NULL };
	child = fork_flushed();
	if (child == 0) {
		execve("/bin/true", only, nothing);
		_exit(126);
	}
	show_exit("NULL for both", child);
	return 0;
}

/*
 * What a shell's command line does, told by its text alone: which programs it runs with which
 * words, and whether anything in it is beyond that (pipes, redirections, substitutions, variables,
 * loops).
 *
 * Nothing is run or looked up.  A line that is not understood in full is `complex`: nothing may be
 * concluded from its words.
 */
#ifndef SEEN_CLI_COMMAND_LINE_H
#define SEEN_CLI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum { COMMAND_LINE_COMMANDS_MAX = 16, COMMAND_LINE_WORDS_MAX = 256 };

struct command_line {
	/* argv of each simple command, ended by NULL; a list joined by `;`, `&&` or newlines.  `cd
	 * DIR` is not among them. */
	char **commands[COMMAND_LINE_COMMANDS_MAX];
	size_t count;
	/* where the last `cd DIR` leads to, as far as that is known: `directory` of the caller, and
	 * DIR; NULL: not known */
	char *directory;
	bool complex;
	bool globs;   /* a word is a pattern, which the shell replaces by names */
	char **words; /* owned */
	size_t word_count;
	char *text;
};

/* command_line_parse(): takes a command line apart.
 *
 * line: NUL-ended.  directory: absolute, where it is run; NULL: not known.
 * Returns 0, or -ENOMEM; command_line_free() it in either case. */
int command_line_parse(const char *line, const char *directory, struct command_line *ret_line);

void command_line_free(struct command_line *line);

#endif

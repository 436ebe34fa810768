/*
 * What `seen enable` puts into shells: one line at the end of their files, which reads enabled.sh; for
 * fish a file of its own.  Taking it out leaves the bytes of before.
 */
#ifndef SEEN_CLI_SHELL_RC_H
#define SEEN_CLI_SHELL_RC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/enable/enabled.h"

enum { SHELL_FILES_MAX = 4 };

/* A file of a shell's. */
struct shell_file {
	char path[PATH_MAX];
	bool is_own;    /* all of it is ours */
	bool has_it;    /* the line, or the file, is there */
	bool is_unread; /* that is not known */
};

/* shell_files(): those of the shells that a person has: each that is there, else that of $SHELL.
 * Returns how many. */
size_t shell_files(struct shell_file ret_files[static SHELL_FILES_MAX]);

/* shell_without_file(): the name of $SHELL, which reads none of those; NULL: it is one that does, or is not known. */
const char *shell_without_file(void);

/* shell_line(): the line.  Returns 0, or as enabled_path(). */
int shell_line(char *ret_line, size_t capacity);

/* shell_text(): what enabled.sh, or the file for fish, is to hold.  by_functions: a function for each
 * agent in place of the directory on PATH.  NULL: out of memory; the caller frees it. */
char *shell_text(const struct enabled *enabled, bool by_functions, bool for_fish);

/* shell_by_functions(): does enabled.sh define functions? */
bool shell_by_functions(void);

/* shell_add(), shell_remove(): puts it in and takes it out.  text: of a file of ours.
 * Return 1: changed; 0: nothing to do; a negative errno and what went wrong. */
int shell_add(const struct shell_file *file, const char *text, char *ret_fault, size_t capacity);
int shell_remove(const struct shell_file *file, char *ret_fault, size_t capacity);

#endif

/*
 * The normal form of a reader's command: the same for two ways to write one command, and never the
 * same for two commands that may print something else.
 *
 * Equal are: the order of options and operands to each other, options behind one dash or each
 * behind its own, short names and long ones, a value in its option's word or behind it, a default
 * that is written out, and `./x` for `x` where the name is not printed.  normal_form.def has a
 * program's options.  They are those of GNU: the caller has to know that the program is that one
 * (reader_identity.h).
 *
 * Of two commands with one form, whose variables are the same and which read the same: where one
 * ends with status 0 and prints nothing on its standard error, the other does too, and both print
 * the same bytes.
 *
 * Allocates nothing; async-signal-safe.
 */
#ifndef SEEN_TRACKER_NORMAL_FORM_H
#define SEEN_TRACKER_NORMAL_FORM_H

#include <stdbool.h>
#include <stddef.h>

/* What words alone do not tell. */
struct normal_facts {
	bool is_terminal; /* descriptor 1 */
	/* Is it a directory, and no link to one?  NULL: not known. */
	bool (*is_directory)(const char *path);
	/* Is it a regular file that holds ASCII alone, without NUL, so that no program takes it for
	 * a binary one?  NULL: not known. */
	bool (*is_text)(const char *path);
};

/* normal_form_package(): whose program of that name the options are: a text that stands in its
 * image between two NULs (gnulib's version_etc()); NULL: there is no form for that name. */
const char *normal_form_package(const char *name);

/* normal_form_applies(): do programs parse their words as they do where nothing of
 * POSIXLY_CORRECT and its like is set?  environment: ended by NULL; may be NULL. */
bool normal_form_applies(char *const environment[]);

/* normal_form(): writes a command's normal form.
 *
 * name: of the program.  argv: its words, ended by NULL; the first is left aside.  ret_form:
 * capacity bytes; its words are ended by NUL.
 * Returns their number of bytes; 0 where the command has none, or it does not fit. */
size_t normal_form(const char *name, char *const argv[], const struct normal_facts *facts,
		   char *ret_form, size_t capacity);

#endif

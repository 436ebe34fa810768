/*
 * What a person's word for a session means, and saying which session that is.
 *
 * A word is a session's name, or the beginning of one name alone; `last`, the workspace's newest
 * session; `@-1`, the one before it, `@-2`; or a directory, with a slash.  A session of that very
 * name comes first.
 */
#ifndef SEEN_CLI_SESSION_WORD_H
#define SEEN_CLI_SESSION_WORD_H

#include <stdbool.h>

#include "cli/session/session.h"

/* session_word_resolve(): the session that a command is to read.
 *
 * word: NULL: $SEEN_SESSION.  ret_name: SEGMENT_PATH_BYTES long: a name, or a path; "": no word was
 * given; the word itself where no session is called so, for who opens it to report.
 * Says on stderr what is wrong, and which session it is where the word is not its name; returns an
 * exit code. */
int session_word_resolve(const struct config *config, const char *word, char *ret_name);

/* session_word_is_relative(): `last`, `@-1` ... */
bool session_word_is_relative(const char *word);

/* session_word_report(): says which of several sessions a command takes; once in a process.
 *
 * count: how many there are, that one included; less than two: nothing is printed. */
void session_word_report(const char *name, unsigned count);

#endif

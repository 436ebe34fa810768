/*
 * The frame of a command that is about one session: reads its command line and the configuration,
 * finds the session, acts, and lets go of all of them; and the head of the JSON document that it
 * may print.
 */
#ifndef SEEN_CLI_SESSION_COMMAND_H
#define SEEN_CLI_SESSION_COMMAND_H

#include <limits.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/base/options.h"
#include "cli/session/session.h"

#define SESSION_COMMAND_ANY UINT_MAX

struct session_command {
	const struct options *options;
	const char *const *name;       /* what --session sets */
	unsigned words_min, words_max; /* how many words it takes; SESSION_COMMAND_ANY: no bound */
	const char *words_wrong;       /* said where it has fewer or more */
	/* What is wrong with its options and words, NULL: nothing.  May be NULL. */
	const char *(*refuse)(char **words);
	/* words: ended by NULL.  Returns an exit code. */
	int (*act)(const struct session *session, char **words);
};

/* session_command_parse(): reads the command line and the configuration alone.
 *
 * parsed: options_done() it in any case.  Returns 0 and the words, or -1 and an exit code. */
int session_command_parse(const struct session_command *command, int argc, char **argv,
			  struct parsed *parsed, char ***ret_words, int *ret_code);

/* session_command(): the whole.  Says on stderr what is wrong.  Returns an exit code. */
int session_command(const struct session_command *command, int argc, char **argv);

/* session_document(): an object with `schema`, `session` and `workspace`; NULL: no memory. */
json_t *session_document(const struct session *session, const char *schema);

/* session_document_scope(): a scope's id as JSON; null for 0. */
json_t *session_document_scope(uint64_t scope_id);

#endif

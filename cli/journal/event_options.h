/*
 * The options that say which journal is meant and which of its events are wanted: the same for
 * every command that goes through one.
 */
#ifndef SEEN_CLI_EVENT_OPTIONS_H
#define SEEN_CLI_EVENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/options.h"
#include "cli/journal/event_filter.h"

/* As they were given; NULL, false: not. */
struct event_options {
	const char *session, *journal;
	const char *path, *ops, *pid, *executable, *role, *source, *since, *until;
	bool denied, failed;
};

/* EVENT_OPTIONS(options): their lines for a table of struct option_spec.  options: a struct
 * event_options that is static. */
#define EVENT_OPTIONS(options) \
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL, \
	  &(options).session }, \
		{ "--journal", "FILE", "this journal, in place of a session's", NULL, \
		  &(options).journal }, \
		{ "--path", "GLOB", "files in the workspace, at any depth; /...: from the root", \
		  NULL, &(options).path }, \
		{ "--op", "OP[,OP]", "only these events: open, read, write, exec ...", NULL, \
		  &(options).ops }, \
		{ "--pid", "N", "of this process", NULL, &(options).pid }, \
		{ "--exe", "GLOB", "of programs with this name", NULL, &(options).executable }, \
		{ "--role", "ROLE", "of agent, shell, viewer, reader or tool", NULL, \
		  &(options).role }, \
		{ "--source", "SOURCE", "changes by: agent_edited, tool_edited, user_edited ...", \
		  NULL, &(options).source }, \
		{ "--since", "TIME", \
		  "not before: 10m, 2h or 3d ago; [YYYY-MM-DD] HH:MM; RFC 3339", NULL, \
		  &(options).since }, \
		{ "--until", "TIME", "not after", NULL, &(options).until }, \
		{ "--denied", NULL, "refused: EACCES, EPERM, EROFS, or by the guard", \
		  &(options).denied, NULL }, \
	{ \
		"--failed", NULL, "what did not succeed", &(options).failed, NULL \
	}

/* event_options_filter(): the filter that they ask for, of which `workspace` stays NULL. 
 * ret_filter borrows their texts.
 *
 * Returns an exit code: EXIT_CODE_OK; EXIT_CODE_USAGE, and says on stderr which value is wrong. */
int event_options_filter(const struct event_options *options, struct event_filter *ret_filter);

/* event_options_journal(): finds the journal that they name, and sets the filter's part of the
 * configuration. As journal_file_find(). */
int event_options_journal(const struct event_options *options, const struct config *config,
			  struct event_filter *filter, char *ret_path, size_t capacity);

/* event_options_number(): an option's value as a number from 1 to max.  name: of the option. 
 * Returns an exit code, as above. */
int event_options_number(const char *name, const char *text, uint64_t max, uint64_t *ret_number);

/* event_options_unknown(): says on stderr that an option's value is none of `count` names, and
 * which one is like it; where none is, `otherwise`.  what: a value is called.  Returns
 * EXIT_CODE_USAGE. */
int event_options_unknown(const char *option, const char *what, const char *given,
			  const char *const *names, size_t count, const char *otherwise);

#endif

/*
 * Other hooks in a file of an agent's settings, which may replace what a tool gives to the model:
 * with one of these it is not known what the model is given.
 */
#ifndef SEEN_CLI_RIVALS_H
#define SEEN_CLI_RIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* How an agent compares a group's matcher with the name of a tool. */
enum rivals_matcher {
	RIVALS_NAMES,   /* a name, or several with | between, else a pattern */
	RIVALS_PATTERN, /* a pattern, which may match a part of the name */
};

/* rivals_settings(): the document of a file, JSON with comments; a new reference.
 *
 * Returns NULL with ret_unknown: is there a file all the same, which cannot be read? */
json_t *rivals_settings(const char *path, bool *ret_unknown);

/* rivals_among(): has a document another hook for an event, which may run for that tool?  In doubt it
 * has.  tool: NULL: the event is of no tool. */
bool rivals_among(const json_t *settings, const char *event, enum rivals_matcher kind,
		  const char *tool);

/* rivals_mentioned(): has a file a word?  In doubt, one that cannot be read, it has; a file that is
 * not there has none. */
bool rivals_mentioned(const char *path, const char *word);

/* rivals_are_named(): does a word of a process' command line begin with one of these?  In doubt it
 * does.  words: ended by NULL. */
bool rivals_are_named(uint32_t pid, const char *const *words);

#endif

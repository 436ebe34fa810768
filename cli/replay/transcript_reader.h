/*
 * What the readers of transcripts share: see transcript.h.
 */
#ifndef SEEN_CLI_TRANSCRIPT_READER_H
#define SEEN_CLI_TRANSCRIPT_READER_H

#include <jansson.h>

#include "cli/base/json_walk.h"
#include "cli/replay/transcript.h"

/* A file that is being read. */
struct transcript {
	const char *path; /* of the file */
	struct json_walk walk;
	transcript_sink *sink;
	void *data;
	struct transcript_result *result;
	const char *compaction; /* of the agent's profile; "": none */
	/* of its path: sessions without a name of their own are told apart by it */
	uint64_t file_id;
};

/* transcript_lines(): JSON lines, each given to `line`, whose reference ends with its return.
 * Damaged ones are counted and passed over, the first is named in the result's error.  As
 * transcript_read(); -EINVAL when no line of the file is JSON. */
int transcript_lines(struct transcript *transcript, int (*line)(void *reader, const json_t *line),
		     void *reader);

/* transcript_is_cut(): does the line that transcript_lines() tells now say that the context was
 * compacted, cleared or went back ([agent NAME] compaction)? */
bool transcript_is_cut(const struct transcript *transcript);

/* transcript_hash(): a number for a text; never 0.  seed: to make it another one. */
uint64_t transcript_hash(const char *text, uint64_t seed);

/* transcript_text(): the text of a message's content: a string, or a list of parts, of which those
 * with text count.
 * ret_owned: free() it, NULL where the text is borrowed.  Returns NULL when there is none, or no
 * memory. */
const char *transcript_text(const json_t *content, char **ret_owned, size_t *ret_bytes);

/* transcript_string(): an object's member that is a string, else NULL. */
const char *transcript_string(const json_t *object, const char *name);

/* transcript_time(): nanoseconds since 1970 of a time in RFC 3339 ("2026-11-22T18:49:08.811Z"); 0
 * for anything else. */
uint64_t transcript_time(const json_t *time);

#endif

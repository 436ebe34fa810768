/*
 * The beginning of a content that is kept, as people and models are shown it.
 */
#ifndef SEEN_CLI_KEPT_TEXT_H
#define SEEN_CLI_KEPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/version.h"

enum kept_text_state {
	KEPT_TEXT_TEXT,
	KEPT_TEXT_BINARY,  /* there is a NUL byte in it */
	KEPT_TEXT_GONE,    /* it is not kept, or not any more */
	KEPT_TEXT_DAMAGED, /* what is kept under its name is something else, or cannot be read */
};

enum { KEPT_TEXT_CHARACTERS_MAX = 10000, KEPT_TEXT_BYTES = 4 * KEPT_TEXT_CHARACTERS_MAX + 1 };

struct kept_text {
	enum kept_text_state state;
	uint64_t lines;       /* TEXT, BINARY: as struct content has them */
	uint64_t tokens;      /* likewise: of all of it (tokens.h) */
	bool truncated;       /* TEXT: there is more than `text` */
	uint64_t text_tokens; /* of what is in `text` */
	size_t text_bytes;
	/* TEXT: the first characters, ended by NUL, nothing escaped; else "" */
	char text[KEPT_TEXT_BYTES];
};

/* kept_text_read(): reads a content that is kept, and holds it against its version.
 *
 * directory: of the content store (tracker/content/contents.h), an open descriptor; -1: there is
 * none.  characters: as many at most, no more than KEPT_TEXT_CHARACTERS_MAX; counted as excerpt.h
 * does. */
void kept_text_read(int directory, const struct version *version, uint64_t characters,
		    struct kept_text *ret_text);

#endif

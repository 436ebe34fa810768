/*
 * The content store's index: one line a copy (contents.h): time, version, why, mode, path.
 */
#ifndef SEEN_TRACKER_CONTENTS_INDEX_H
#define SEEN_TRACKER_CONTENTS_INDEX_H

#include <stdint.h>
#include <sys/types.h>

#include "tracker/content/version.h"

/* Why a content is kept: the words of the index. */
enum contents_reason {
	CONTENTS_DESTROYED, /* "destroyed": the session is about to destroy it */
	CONTENTS_GIVEN,     /* "given": a scope was given it */
	CONTENTS_RESTORED,  /* "replaced": `seen restore` replaces it */
	CONTENTS_REASON_COUNT,
};

/* contents_reason_name(): the word of the index; "unknown" for what is no reason. */
const char *contents_reason_name(enum contents_reason reason);

/* What is copied into the store. */
struct contents_source {
	int fd;
	const char *path;
	enum contents_reason reason;
	mode_t mode;
	uint64_t size_bytes; /* when it was inspected */
	uint64_t max_bytes;
};

/* contents_index_append(): notes a copy in the index.  Where that cannot be, the content is kept all
 * the same: it is found by its version.  directory: the store's. */
void contents_index_append(int directory, const struct version *version,
			   const struct contents_source *source);

#endif

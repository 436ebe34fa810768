/* Entries of a git index (versions 2 to 4), read from memory.  Nothing is believed. */
#ifndef SEEN_CLI_GIT_INDEX_H
#define SEEN_CLI_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"

struct git_index {
	const char *bytes;
	size_t size, at, oid_bytes;
	uint32_t version, left;
	/* the entry that was read last: */
	char path[PACK_PATH_BYTES_MAX + 1];
	size_t path_bytes;
	uint32_t mode,
		flags; /* flags: its stage, and whether it is assumed unchanged, skipped, or only meant */
	const unsigned char *oid;
};

enum {
	GIT_INDEX_INTENT = 1 << 29,    /* `git add -N`: it has no content yet */
	GIT_INDEX_SUBMODULE = 0160000, /* its mode: the object is another repository's */
};

/* git_index_init(): bytes: borrowed.  oid_bytes: 20 or 32.  Returns 0; -EBADMSG.
 * git_index_next(): the next entry.  Returns 1; 0: there is none; -EBADMSG. */
int git_index_init(struct git_index *index, const char *bytes, size_t size, size_t oid_bytes);
int git_index_next(struct git_index *index);

/* git_index_oid_bytes(): of what size are its objects?  Returns 20 or 32; 0: it is no whole index. */
size_t git_index_oid_bytes(const char *bytes, size_t size);

/* git_index_shared(): by what name does a split index (core.splitIndex) know the part that it shares?
 * ret_oid: GIT_OID_BYTES_MAX.  Returns its bytes; 0: it is not split. */
size_t git_index_shared(const char *bytes, size_t size, unsigned char *ret_oid);

/* git_index_is_same(): do two have the same entries, whatever times of files are in them?  git status
 * writes such ones.  Of a split one (core.splitIndex) the shared part is the same, too. */
bool git_index_is_same(const char *one, size_t one_bytes, const char *other, size_t other_bytes);

#endif

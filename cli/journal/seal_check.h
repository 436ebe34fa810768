/*
 * Are the records of a journal still those that were sealed?
 */
#ifndef SEEN_CLI_SEAL_CHECK_H
#define SEEN_CLI_SEAL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/seal.h"

enum {
	SEAL_SUSPECTS_MAX = 8, /* how many records of a block are named */
};

/* A record of a block that is not what was sealed. */
struct seal_suspect {
	uint64_t number;
	/* its first word shows that it was not written; else its check does not hold */
	bool erased;
};

enum seal_wanted {
	SEAL_WANTED_NONE, /* no digest was given */
	SEAL_WANTED_LAST, /* it is the chain's last */
	SEAL_WANTED_EARLIER,
	SEAL_WANTED_MISSING,
};

/* What seal_check() found. */
struct seal_report {
	bool other_journal;          /* the seal is of another one: nothing else was inspected */
	bool head_changed;           /* the constant part of the journal's header */
	uint64_t records, abandoned; /* in blocks that are as they were sealed, texts counted */
	uint64_t damaged;            /* the same: were so before they were sealed */
	uint64_t sealed_to;          /* unit behind the last block */
	uint64_t journal_end_unit;   /* below sealed_to: what lay behind was dropped */
	uint64_t not_sealed;         /* records behind the last block */
	size_t bad_blocks;           /* that are there and are not what was sealed */
	size_t first_bad;            /* index of the first; the following concerns it */
	bool line_changed;           /* its digest in the seal was changed, its records were not */
	size_t suspect_count;        /* may be more than are named */
	struct seal_suspect suspects[SEAL_SUSPECTS_MAX];
	enum seal_wanted wanted;
	uint64_t wanted_to; /* unit behind what that digest stands for */
};

/* seal_check(): compares a journal with its seal.
 *
 * journal: mapped, to read at least, after the seal was read: else what a run sealed meanwhile
 * seems dropped. digest: 64 hexadecimal digits that are to be in the chain, NULL: none. */
void seal_check(const struct seal *seal, const struct journal *journal, const char *digest,
		struct seal_report *ret_report);

/* seal_is_intact(): is what was sealed still there, and the wanted digest in the chain? */
bool seal_is_intact(const struct seal *seal, const struct seal_report *report);

#endif

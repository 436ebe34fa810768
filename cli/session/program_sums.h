/* What was answered, by the program that asked: from a session's journal. */
#ifndef SEEN_CLI_PROGRAM_SUMS_H
#define SEEN_CLI_PROGRAM_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/journal/journal.h"

enum { PROGRAM_SUMS_MAX = 64, PROGRAM_NAME_BYTES = 40 };

struct program_sum {
	char name[PROGRAM_NAME_BYTES]; /* base name of the executable; bytes of others */
	uint64_t remembered;           /* commands of readers, to be answered if they come again */
	uint64_t notices, diffs; /* files, of viewers and of programs that are answered like them */
	uint64_t commands;       /* of readers, answered */
	uint64_t given_again;    /* in full, because the model asked again */
	uint64_t bytes_saved;
};

struct program_sums {
	struct program_sum rows[PROGRAM_SUMS_MAX];
	size_t count; /* programs beyond PROGRAM_SUMS_MAX are not there */
};

/* program_sums_gather(): of each program that was answered, or whose command is remembered; by the
 * bytes that were saved, the most first.
 *
 * journal: mapped to read; one that is not has none. */
void program_sums_gather(const struct journal *journal, struct program_sums *ret_sums);

#endif

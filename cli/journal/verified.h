/*
 * Is a journal still what was sealed: the verdict of `seen verify`, for it and for `seen report`.
 */
#ifndef SEEN_CLI_VERIFIED_H
#define SEEN_CLI_VERIFIED_H

#include "cli/journal/seal_check.h"
#include "tracker/segment/segment.h"

enum verified_verdict { VERIFIED_INTACT, VERIFIED_TAMPERED, VERIFIED_NO_SEAL };

struct verified {
	char journal_path[SEGMENT_PATH_BYTES], seal_path[SEGMENT_PATH_BYTES];
	enum verified_verdict verdict;
	int seal_error;    /* why there is no seal to compare with; 0: there is */
	int journal_error; /* why there is no journal to compare; 0: there is */
	struct seal seal;
	struct seal_report report; /* where both are there */
};

/* verified_compare(): compares the journal at journal_path with the seal at seal_path, and fills in
 * the rest.
 *
 * digest: 64 hexadecimal digits that are to be in the chain, NULL: none.  ret_path: where it fails,
 * the path that could not be inspected .  verified: verified_destroy() it in any case.
 * A seal or a journal that is damaged or gone is a verdict.  Returns 0; where one of them cannot be
 * inspected, as seal_read() and journal_map_to_read(). */
int verified_compare(struct verified *verified, const char *digest, const char **ret_path);

/* verified_name(): "intact", "tampered", "no_seal". */
const char *verified_name(enum verified_verdict verdict);

/* verified_destroy(): accepts one that is zero. */
void verified_destroy(struct verified *verified);

#endif

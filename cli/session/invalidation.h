/*
 * What is forgotten, on record.
 */
#ifndef SEEN_CLI_INVALIDATION_H
#define SEEN_CLI_INVALIDATION_H

#include <stdint.h>

#include "tracker/journal/journal.h"

/* invalidation_record(): files are to be given in full again: FORGOTTEN.
 *
 * journal: mapped to write to; one that is not mapped records nothing.  scope_id: 0: in every
 * scope.  path: NULL: all files.
 * cause: for people ("hook EVENT", "compaction in PATH"); NULL: a user or agent asked for it. */
void invalidation_record(struct journal *journal, uint64_t scope_id, const char *path,
			 const char *cause);

#endif

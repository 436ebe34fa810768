/*
 * Records about files that a command or the watcher appends to the journal: what a session's
 * processes did not log themselves.
 */
#ifndef SEEN_CLI_FILE_RECORD_H
#define SEEN_CLI_FILE_RECORD_H

#include <stdint.h>

#include "tracker/content/version.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

struct file_record {
	enum journal_op op;
	const char *path;             /* absolute */
	uint64_t dev, ino;            /* 0: not known, or there is no file */
	struct version before, after; /* none: not known, or there is no file */
	enum source source;
	uint32_t flags;
	uint8_t reason;
	uint32_t tid; /* whose it is; 0: no thread's */
	uint64_t amount;
};

/* file_record_write(): appends it, where the journal is mapped and the configuration has that path
 * recorded. */
void file_record_write(const struct segment *segment, struct journal *journal,
		       const struct file_record *file);

/* file_record_changed(): an external writer changed, added or deleted a file, and no process
 * logged that yet: counts it and appends it.
 * file: op and flags are filled in.  was_there: false: there was no such file. */
void file_record_changed(const struct segment *segment, struct journal *journal,
			 const struct file_record *file, bool was_there);

#endif

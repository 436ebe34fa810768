/*
 * What an undo changes, before it changes it: appended to the packs of its operation (operation.h),
 * in the format of tracker/content/pack.h.  One process writes them.
 */
#ifndef SEEN_CLI_OPERATION_LOG_H
#define SEEN_CLI_OPERATION_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"

struct operation_log {
	int directory; /* of the operation */
	int part;      /* descriptor; -1: none open */
	uint32_t part_number;
	uint64_t next; /* place of the next record */
	char *buffer;  /* of a small content */
};

/* A record to be. */
struct operation_note {
	enum pack_kind kind;
	uint32_t what;
	const char *path, *other; /* other: NULL: none */
	struct pack_state before;
	enum pack_held held; /* INLINE with content; a file of the store; or NOT_TAKEN, NOT_KEPT */
	enum pack_reason reason;
	struct version version;
	uint32_t flags;
	const void *content; /* INLINE: version.size_bytes */
	uint64_t place;      /* set by the functions */
};

/* operation_log_open(): opens the log of an operation that has a plan, to append to it.
 *
 * directory: descriptor of the session's undo records.  ret_log: operation_log_close() it, in any
 * case.  Returns 0 or a negative errno. */
int operation_log_open(int directory, uint32_t number, struct operation_log *ret_log);
void operation_log_close(struct operation_log *log);

/* operation_log_sync(): the records of an operation, with the small contents in them, are on disk when
 * it returns 0; or a negative errno. */
int operation_log_sync(int directory, uint32_t number);

/* operation_log_keep(): fills in `held`, `version`, `content` of a note, and its place, with the
 * content of a file that is about to be changed or removed.
 *
 * fd: of the file, for reading; -1: it cannot be read.  directory, name: of the file, where it loses
 * this name, so that a hard link keeps it; -1: not.  The content is valid until the next call.
 * Returns 0 or a negative errno: it is not kept. */
int operation_log_keep(struct operation_log *log, struct operation_note *note, int fd,
		       int directory, const char *name);

/* operation_log_write(): appends records, whole or none.  Those that operation_log_keep() was not
 * called for get their place here.  Returns 0 or a negative errno. */
int operation_log_write(struct operation_log *log, struct operation_note *notes, size_t count);

/* operation_log_fail(): what these records were about did not happen. */
void operation_log_fail(struct operation_log *log, const struct operation_note *notes,
			size_t count);

#endif

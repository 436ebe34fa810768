/*
 * How far an export is: a file of the user's (`seen export --state FILE`), seen/export_state/1.
 */
#ifndef SEEN_CLI_EXPORT_STATE_H
#define SEEN_CLI_EXPORT_STATE_H

#include <stdint.h>

#include "tracker/journal/journal.h"

struct export_state {
	char journal[JOURNAL_NONCE_BYTES]; /* nonce */
	char format[16];
	uint64_t next; /* number of the record that comes next */
};

/* export_state_read(): Returns 0; -ENOENT: there is none yet; -EBADMSG: it is something else;
 * -ENOMEM; errors of open(2). */
int export_state_read(const char *path, struct export_state *ret_state);

/* export_state_write(): replaces it, whole or not at all; it is on the disk then.  Returns 0 or a
 * negative errno. */
int export_state_write(const char *path, const struct export_state *state);

#endif

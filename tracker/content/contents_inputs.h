/*
 * Lists of inputs (inputs.h), kept beside the contents in the store's directory (contents.h).
 */
#ifndef SEEN_TRACKER_CONTENTS_INPUTS_H
#define SEEN_TRACKER_CONTENTS_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracker/segment/segment.h"

/* contents_write_inputs(): keeps a list of inputs (inputs.h) beside the contents, as
 * `inputs-NUMBER`, in the place of what was there.  It is no content: it is not counted among them,
 * and goes with the session.  Returns 0; -ENOENT where the session has no store; the errors of the
 * file system. */
int contents_write_inputs(const struct segment *segment, uint64_t number, const void *bytes,
			  size_t size_bytes);

/* contents_read_inputs(): reads such a list.  Returns its size in bytes; -ENOENT; -EFBIG for more
 * than `capacity`; -EBADMSG for what is no file of this user. */
ssize_t contents_read_inputs(const struct segment *segment, uint64_t number, void *ret_bytes,
			     size_t capacity);

/* contents_is_inputs(): is it the name of such a list? */
bool contents_is_inputs(const char *name);

#endif

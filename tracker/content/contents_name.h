/*
 * Names in the content store (contents.h): of contents, of copies in the making, of the index.
 */
#ifndef SEEN_TRACKER_CONTENTS_NAME_H
#define SEEN_TRACKER_CONTENTS_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* The names of the store's directory below the session's, and of the index in it. */
#define CONTENTS_DIRECTORY "content"
#define CONTENTS_INDEX "index"

enum { CONTENTS_NAME_BYTES = 64 }; /* of a content's file name, NUL counted */

enum { CONTENTS_TEMPORARY_BYTES = 64 }; /* of a temporary's */

/* contents_name(): the file name of a version. */
void contents_name(const struct version *version, char *ret_name);

/* contents_version(): is it the file name of a content, and of which version?  ret_version: set
 * where it is. */
bool contents_version(const char *name, struct version *ret_version);

/* contents_is_temporary(): is it the name of a copy in the making?  ret_pid: of who makes it, in
 * its PID namespace. */
bool contents_is_temporary(const char *name, uint64_t *ret_pid);

/* contents_temporary_name(): a name that no other process uses: serials are the session's.
 * ret_name: CONTENTS_TEMPORARY_BYTES. */
void contents_temporary_name(const struct segment *segment, char *ret_name);

#endif

/* The copy of a content that is too large to stand behind its record (pack.h). */
#ifndef SEEN_TRACKER_PACK_COPY_H
#define SEEN_TRACKER_PACK_COPY_H

#include <stdint.h>

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* pack_copy_file(): copies size_bytes from the begin of one file to that of another, which is empty; holes stay.
 *
 * For strangers' processes, as pack_write.h says.
 * Returns 0; -EAGAIN: there is less; -EFBIG, -ENOSPC, -EXDEV: by limits it may not be; errors of reading and writing. */
int pack_copy_file(const struct segment *segment, int from, int to, uint64_t size_bytes,
		   struct version *ret_version);

#endif

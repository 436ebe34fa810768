/*
 * Unified diffs, made by diff(1) and applied in memory.
 */
#ifndef SEEN_CLI_UNIFIED_H
#define SEEN_CLI_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* unified_make(): runs `diff -u`, which writes on standard output.
 *
 * old_path, new_path: files, as the child can open them.  old_label, new_label: what stands behind
 * `---` and `+++`.
 * out: the child's standard output; -1: this program's.  limit_bytes: of what it writes; 0: none.
 * Returns 0 where they are the same and 1 where not; -ENOENT where there is no such program; -EFBIG
 * for more than limit_bytes; -EPIPE where the reader of its output is gone; -EIO where it could not
 * compare them; the errors of fork(2).  The child ends with this program. */
int unified_make(const char *old_path, const char *new_path, const char *old_label,
		 const char *new_label, int out, uint64_t limit_bytes);

/* unified_leads_to(): is `new` what comes of `old` by that diff, byte for byte?
 *
 * diff: from `---` on. */
bool unified_leads_to(const char *old, size_t old_bytes, const char *diff, size_t diff_bytes,
		      const char *new, size_t new_bytes);

#endif

/*
 * Unified diffs, applied in memory.
 */
#ifndef SEEN_CLI_UNIFIED_H
#define SEEN_CLI_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* unified_leads_to(): is `new` what comes of `old` by that diff, byte for byte?
 *
 * diff: from `---` on. */
bool unified_leads_to(const char *old, size_t old_bytes, const char *diff, size_t diff_bytes,
		      const char *new, size_t new_bytes);

#endif

/*
 * Shared mappings of files that this process may write to, for undo: one that becomes writable, by mprotect(2), changes
 * its file by stores, which are not seen.  What is in it is kept before that (keep_file.h).
 *
 * Async-signal-safe; any thread.
 */
#ifndef SEEN_SHIM_KEEP_MAPPING_H
#define SEEN_SHIM_KEEP_MAPPING_H

#include "shim/call/call.h"

/* keep_mapped(): mmap(2) came back.  What is noted stays when it is unmapped: the kernel is asked once more. */
void keep_mapped(const struct call *call);

/* keep_remapped(): mremap(2) moved a mapping, or made it larger.  moved: what it returned. */
void keep_remapped(const void *address, void *moved, size_t size_bytes);

/* keep_protecting(): the protection of call->bytes is about to be set. */
void keep_protecting(const struct call *call);

#endif

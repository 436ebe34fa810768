/*
 * The room that a session takes on disk once it is over: what its processes might have needed is
 * given back.
 *
 * While a session is used, all blocks of its segment are there, so that no process gets SIGBUS on a
 * full disk; nearly all of them hold zeroes.  When it is over, holes take their place, and the
 * journal and the last pack end behind their last records.  All that reads a session reads it as before; who uses it
 * again allocates the blocks first (segment_map_to_use()).
 */
#ifndef SEEN_CLI_SESSION_CUT_H
#define SEEN_CLI_SESSION_CUT_H

#include <stdint.h>

/* session_cut(): cuts the segment in a session's directory, its journal and its last pack.  A file that is cut
 * already stays as it is.
 *
 * directory: absolute.  patience_ms: a process that has it may be about to end; 0: it is left then.
 * The caller ignores SIGIO (store_remove.h), and has neither file open.
 * Returns 0; -EBUSY: a process has the session, or one of its processes may live; errors of
 * session_open_directory(), open(2), fallocate(2): a file system that has no holes
 * keeps the blocks. */
int session_cut(const char *directory, unsigned patience_ms);

/* session_cut_packs(): the last pack alone, of a session that is used again and again. */
void session_cut_packs(const char *directory);

/* session_cut_is_due(): has a segment of `size_bytes` so many blocks, of 512 bytes, that it may not be
 * cut yet?  On tmpfs a read through a mapping allocates some. */
static inline int session_cut_is_due(uint64_t size_bytes, uint64_t blocks)
{
	enum { PART = 16, DUE_BYTES = 1 << 19 };
	uint64_t due_bytes = size_bytes / PART;
	return blocks * 512 >= (due_bytes < DUE_BYTES ? due_bytes : DUE_BYTES);
}

#endif

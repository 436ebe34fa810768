/*
 * What an exported function means, for the hooks_*.c files: one step between libc's many names for
 * a thing and the modules that care.
 */
#ifndef SEEN_SHIM_CALL_H
#define SEEN_SHIM_CALL_H

#include <errno.h>

#include "shim/preload/descriptors.h"
#include "shim/preload/follow/guarded.h"
#include "shim/preload/follow/in_process.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/follow/viewer.h"
#include "shim/preload/follow/write_check.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/record.h"
#include "shim/preload/ring.h"
#include "shim/preload/rules.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/segment/index.h"

/* call_may(), call_may_run(): the rules' verdict on a call (rules_let()).
 * False: it fails; errno says why.  Not for an agent's reads alone: every hook that names a path
 * asks. */
static inline bool call_may(uint32_t ops, int directory, const char *path, bool follows)
{
	return !rule_may_hold(&shim.rules, ops) || rules_let(ops, directory, path, follows);
}

static inline bool call_may_run(int directory, const char *path, bool searches)
{
	return !rule_may_hold(&shim.rules, RULE_EXEC) ||
	       rules_let_program(directory, path, searches);
}

/* call_moved(): the current directory was changed, or could not be.  path: as given; NULL: by
 * descriptor. */
void call_moved(int error, int fd, const char *path);

/* call_read(): bytes came from a descriptor, in whatever way; what the call returned. */
static inline void call_read(int fd, ssize_t count)
{
	if (__builtin_expect(shim.plain, 1)) {
		descriptor_read(fd, count);
		return;
	}
	if (__builtin_expect(shim.tracks, 0))
		reader_passed(fd, count, false);
	if (shim.records)
		descriptor_read(fd, count);
}

/* call_may_be_sandboxed(): the program is about to tell the kernel which calls to allow it. */
static inline void call_may_be_sandboxed(void)
{
	if (shim.on && !shim.sandboxed)
		index_prepare(&shim.segment);
}

/* call_sandboxed(): the program told the kernel which calls to allow it: none of ours are made from
 * then on. */
static inline void call_sandboxed(void)
{
	shim.sandboxed = true;
	shim.segment.is_still = true;
	shim.views = false;
	shim.shows = false;
	shim.tracks = false;
	shim.reads_own = false;
	shim.answers_own = false;
}

/* call_sandboxed_strictly(): even the clock cannot be read any more (prctl(2), PR_SET_SECCOMP: no
 * time stamp counter). */
static inline void call_sandboxed_strictly(void)
{
	call_sandboxed();
	partial_note();
	shim.plain = false;
	shim.records = false;
}

#endif

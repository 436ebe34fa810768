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
#include "shim/preload/record.h"
#include "shim/preload/ring.h"
#include "shim/preload/rules.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"

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

/* call_sandboxed(): the program told the kernel which calls to allow it: none of ours are made from
 * then on. */
static inline void call_sandboxed(void)
{
	shim.sandboxed = true;
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

/* call_closing(), call_closed(): a descriptor is about to be closed, and was.  call_closed()
 * returns what close is to return; error: what it would. */
static inline void call_closing(int fd, struct closing *ret_closing)
{
	ret_closing->fd = -1;
	if (__builtin_expect(shim.guards && guarded_any(), 0))
		guarded_closing(fd, ret_closing);
	if (shim.views)
		viewer_closing(fd);
	else if (shim.reads_own)
		in_process_closing(fd);
	else if (__builtin_expect(shim.tracks, 0))
		reader_closing(fd);
	if (shim.records)
		descriptor_closing((unsigned)fd, (unsigned)fd);
}

/* call_closing_plain(): the same for close(2) alone, which can be cancelled (pthreads(7)): nothing
 * is held until it came back.  Returns an errno that it is to fail with, 0: none.  call_fail():
 * fails by it. */
int call_closing_of_any(int fd);
static inline int call_closing_plain(int fd)
{
	if (__builtin_expect(shim.plain && !guarded_any(), 1)) {
		descriptor_closing_one(fd);
		return 0;
	}
	return call_closing_of_any(fd);
}

static inline int call_fail(int error)
{
	errno = error;
	return -1;
}

/* call_replacing(): a descriptor is about to be replaced by a copy of another, and so closed. */
static inline void call_replacing(int fd, int target, struct closing *ret_closing)
{
	ret_closing->fd = -1;
	if (__builtin_expect(shim.guards && guarded_any(), 0) && fd != target)
		guarded_closing(target, ret_closing);
	if (__builtin_expect(shim.role == ROLE_SHELL && shim.records, 0) && fd != target)
		descriptor_replacing(target);
}

static inline int call_closed(int error, struct closing *closing)
{
	if (__builtin_expect(closing->fd >= 0, 0) && guarded_closed(closing) < 0)
		return -1;
	return error;
}

/* call_duplicated(): a descriptor was duplicated; `copy` < 0: it could not be. */
static inline void call_duplicated(int fd, int copy)
{
	if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		in_process_closing(copy);
	else if (__builtin_expect(shim.tracks, 0))
		reader_duplicated(fd, copy);
	if (shim.guards && guarded_any())
		guarded_duplicated(fd, copy);
	if (shim.records)
		descriptor_duplicated(fd, copy);
}

/* call_closing_many(): a range of descriptors is about to be closed, both ends included. */
static inline void call_closing_many(unsigned first, unsigned last)
{
	if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		in_process_closing_many(first, last);
	else if (__builtin_expect(shim.tracks, 0))
		reader_untrackable();
	if (shim.guards && guarded_any())
		guarded_closing_many(first, last);
	if (shim.records)
		descriptor_closing(first, last);
}

#endif

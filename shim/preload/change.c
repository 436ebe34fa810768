/*
 * Changes: what this process writes to, replaces or removes, by path as given.
 *
 * What a directory's descriptor is open for is asked of the kernel once for all that is removed in
 * it (rm -r).
 */
#include "shim/preload/change.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/scratch.h"
#include "shim/preload/descriptors.h"
#include "shim/preload/directory.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* An open(2) that made a file has come back by then. */
static const uint64_t NEW_NS = 1000000000;

/* The directory that was asked for last. */
static struct {
	uint32_t taken;  /* by a thread that inspects it, or changes it */
	uint32_t opened; /* number of the record of its opening, which no other has; 0: none */
	char path[SEGMENT_PATH_BYTES];
} last;

/* A path that is relative to a descriptor's directory. */
static bool resolve_below(int directory, const char *path, char *ret_path)
{
	uint32_t opened = descriptor_opening(directory);
	bool found = false;

	if (!opened || __atomic_exchange_n(&last.taken, 1, __ATOMIC_ACQUIRE))
		return change_resolve(directory, path, ret_path);
	if (last.opened != opened) {
		last.opened = 0;
		if (subject_link(SUBJECT_SELF, directory, last.path, sizeof(last.path)) > 0 &&
		    last.path[0] == '/')
			last.opened = opened;
	}
	if (last.opened)
		found = path_normalize(last.path, path, ret_path, SEGMENT_PATH_BYTES) > 0;
	__atomic_store_n(&last.taken, 0, __ATOMIC_RELEASE);
	return found;
}

/* The path that was changed, in scratch memory; NULL: it is not known, which is counted. */
static char *find_path(int directory, const char *path)
{
	char *normal = scratch_acquire();
	bool known = normal && change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0;

	if (!known && normal && !shim.sandboxed && directory != AT_FDCWD && !in_vfork_child())
		known = resolve_below(directory, path, normal);
	if (known)
		return normal;
	if (!shim.records) /* else the journal has it */
		segment_count(&shim.segment, COUNTER_lost_changes, 1);
	scratch_release(normal);
	return NULL;
}

void change_note(int directory, const char *path, enum file_action kind)
{
	int saved_errno = errno;
	char *normal = find_path(directory, path);

	if (normal)
		file_note_edit(&shim.segment, normal, &shim.request.context, shim.role, kind);
	scratch_release(normal);
	errno = saved_errno;
}

enum file_action change_inspect_new(int fd, uint64_t *ret_size_bytes)
{
	enum file_action kind = FILE_ACTION_WRITE;
	struct statx now;

	memset(&now, 0, sizeof(now));
	*ret_size_bytes = UINT64_MAX;
	if (sys_call6(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME,
		      (long)&now, 0) != 0)
		return kind;
	/* A new file has all its times from one moment, and so has an empty one that was never
	 * changed. */
	if (!(now.stx_mask & STATX_BTIME))
		;
	else if (now.stx_size || memcmp(&now.stx_btime, &now.stx_ctime, sizeof(now.stx_btime)) != 0)
		kind = FILE_ACTION_CHANGE;
	else if (sys_realtime_ns() <
		 (uint64_t)now.stx_btime.tv_sec * 1000000000 + now.stx_btime.tv_nsec + NEW_NS)
		kind = FILE_ACTION_CREATE;
	if (S_ISREG(now.stx_mode))
		*ret_size_bytes = now.stx_size;
	return kind;
}

enum file_action change_note_opened(int directory, const char *path, int fd, enum file_action kind)
{
	int saved_errno = errno;
	char *normal = find_path(directory, path);
	uint64_t size_bytes;

	if (normal && kind == FILE_ACTION_WRITE && !shim.sandboxed && !in_vfork_child() &&
	    (shim.role == ROLE_AGENT || path_is_tracked(&shim.segment, normal)))
		kind = change_inspect_new(fd, &size_bytes);
	if (normal)
		file_note_edit(&shim.segment, normal, &shim.request.context, shim.role, kind);
	scratch_release(normal);
	errno = saved_errno;
	return kind;
}

/* What a call that lists directories passes inside a process (shim/call/order.h), by operation. */
#ifndef SEEN_SHIM_STATIONS_LIST_H
#define SEEN_SHIM_STATIONS_LIST_H

#include "shim/call/call.h"
#include "shim/preload/call.h"
#include "shim/preload/directory.h"

static inline struct call list_call(enum operation operation, int directory, const char *path)
{
	return (struct call){ .operation = operation,
			      .name = { .path = path, .directory = directory, .follows = true },
			      .descriptor = -1 };
}

/* A directory was opened to be listed, or could not be.  LIST_PATTERN: one that failed listed
 * nothing. */
static inline void observe_listed(const struct call *call)
{
	if (!shim.on)
		return;
	if (!call->error)
		count_up(PROCESS_LISTINGS);
	if (__builtin_expect(shim.tracks, 0))
		reader_listed(call->error ? -1 : call->descriptor, call->name.directory,
			      call->name.path);
}

/* A descriptor belongs to libc now: closedir(3) closes it by a hidden call, and then its number may
 * stand for a pipe.  It was counted when it was opened, as a directory if O_DIRECTORY said so. */
static inline void observe_list_by_descriptor(const struct call *call)
{
	if (call->error)
		return;
	if (shim.views)
		viewer_untrackable();
	else if (__builtin_expect(shim.tracks, 0))
		reader_listed(call->name.directory, AT_FDCWD, NULL);
}

static inline void observe_list(const struct call *call, enum operation operation)
{
	if (operation == OPERATION_LIST || (operation == OPERATION_LIST_PATTERN && !call->error))
		observe_listed(call);
	else if (operation == OPERATION_LIST_DESCRIPTOR)
		observe_list_by_descriptor(call);
	else if (operation == OPERATION_CLOSE_LIST && __builtin_expect(shim.tracks, 0))
		reader_closing(call->name.directory);
	else if (operation ==
		 OPERATION_WALK) /* from directory to directory, unless its flags forbid it */
		change_unsure();
}

static inline void journal_list(const struct call *call, enum operation operation)
{
	const struct call_name *name = &call->name;

	if (operation == OPERATION_CLOSE_LIST)
		descriptor_closing((unsigned)name->directory, (unsigned)name->directory);
	else if (operation == OPERATION_LIST && shim.on)
		record_listed(call->descriptor, call->error != 0, name->directory, name->path, 0);
	else if (operation == OPERATION_LIST_PATTERN && shim.on && !call->error)
		record_listed(-1, false, name->directory, name->path, JOURNAL_PATTERN);
}

#endif

/*
 * What a call about data passes inside a process (shim/call/order.h), by operation.
 *
 * A station takes what it needs out of the object by itself: so that stays in registers, and a
 * plain program's read costs no more than a test.
 */
#ifndef SEEN_SHIM_STATIONS_DATA_H
#define SEEN_SHIM_STATIONS_DATA_H

#include "shim/call/call.h"
#include "shim/preload/call.h"

/* stations_mapped(): a file was mapped, as by mmap(2); address: that it returned. */
void stations_mapped(void *address, size_t size_bytes, int fd, uint64_t offset);

#define INLINE static inline __attribute__((always_inline))

/* Is anything asked before data is written?  What costs something to know is known only then. */
INLINE bool data_is_asked(void)
{
	return __builtin_expect(shim.guards && guarded_any(), 0);
}

/* May the call be made?  Each call that modifies a file through a descriptor (call_modified()) asks
 * this before it is made. */
INLINE bool guard_data(const struct call *call, enum operation operation)
{
	const struct call_bytes *bytes = &call->bytes;
	bool writes = operation == OPERATION_WRITE || operation == OPERATION_WRITE_STREAM;
	int fd = call->name.directory;

	if (!writes || !data_is_asked())
		return true;
	return bytes->in_parts ? !guarded_refuses_parts(fd, bytes->parts, bytes->part_count)
			       : !guarded_refuses(fd, bytes->memory, bytes->size_bytes);
}

/* Sets what the call returns, where the read was answered. */
INLINE void observe_read(struct call *call)
{
	struct call_bytes *bytes = &call->bytes;
	int fd = call->name.directory;
	bool in_order = !bytes->in_parts && bytes->offset == CALL_OWN_OFFSET;

	if (__builtin_expect(shim.plain, 1))
		return;
	if (shim.views && in_order && !call->by_number)
		viewer_read(fd, bytes->memory, bytes->moved);
	else if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own && call->by_number)
		in_process_read(fd, bytes->moved);
	else if (shim.reads_own && bytes->in_parts)
		bytes->moved = in_process_was_read(fd, bytes->parts, bytes->part_count,
						   bytes->offset, bytes->moved);
	else if (shim.reads_own)
		bytes->moved = in_process_was_read(
			fd, &(struct iovec){ bytes->memory, bytes->size_bytes }, 1, bytes->offset,
			bytes->moved);
	if (__builtin_expect(shim.tracks, 0))
		reader_passed(fd, bytes->moved, false);
}

INLINE void observe_write(const struct call *call)
{
	if (__builtin_expect(shim.plain, 1))
		return;
	if (shim.views && call->by_number)
		viewer_untrackable();
	else if (shim.views)
		viewer_wrote(call->name.directory, call->bytes.moved);
	if (__builtin_expect(shim.tracks, 0))
		reader_passed(call->name.directory, call->bytes.moved, true);
}

/* A file was modified by other means than a write. */
INLINE void observe_modification(const struct call *call, enum operation operation)
{
	if (__builtin_expect(shim.views, 0))
		viewer_untrackable();
	if (__builtin_expect(shim.guards && guarded_any(), 0))
		guarded_touched(call_modified(call, operation));
}

INLINE void observe_copy(const struct call *call)
{
	if (call->bytes.moved > 0)
		observe_modification(call, OPERATION_COPY);
	if (__builtin_expect(shim.tracks, 0)) {
		reader_passed(call->name.directory, call->bytes.moved, false);
		reader_passed(call->other.directory, call->bytes.moved, true);
	}
}

INLINE bool maps_file(const struct call *call)
{
	return !call->error && !(call->flags & MAP_ANONYMOUS);
}

INLINE void observe_mapping(const struct call *call)
{
	const struct call_bytes *bytes = &call->bytes;

	if (!maps_file(call))
		return;
	if (__builtin_expect(!shim.plain || ring_any(), 0))
		stations_mapped(bytes->memory, bytes->size_bytes, call->name.directory,
				(uint64_t)bytes->offset);
	if (shim.guards && call_modified(call, OPERATION_MAP) >= 0)
		guarded_mapped(call->name.directory);
}

INLINE void observe_data(struct call *call, enum operation operation)
{
	switch (operation) {
	case OPERATION_READ:
		observe_read(call);
		break;
	case OPERATION_WRITE:
		observe_write(call);
		break;
	case OPERATION_COPY:
		observe_copy(call);
		break;
	case OPERATION_MAP:
		observe_mapping(call);
		break;
	case OPERATION_CLONE:
	case OPERATION_RESIZE:
	case OPERATION_ALLOCATE:
		if (!call->error)
			observe_modification(call, operation);
		break;
	case OPERATION_QUEUE_READ:
	case OPERATION_QUEUE: /* libc's own threads carry it out, and nothing of that passes here */
		if (!call->error)
			partial_note();
		break;
	default:
		break;
	}
}

INLINE void journal_data(const struct call *call, enum operation operation)
{
	const struct call_bytes *bytes = &call->bytes;
	int fd = call->name.directory;
	bool records = __builtin_expect(shim.plain, 1) || shim.records;

	switch (operation) {
	case OPERATION_READ:
		if (records)
			descriptor_read(fd, bytes->moved);
		break;
	case OPERATION_WRITE:
		if (records)
			descriptor_written(fd, bytes->moved);
		break;
	case OPERATION_COPY:
		if (!records)
			break;
		descriptor_read(fd, bytes->moved);
		descriptor_written(call->other.directory, bytes->moved);
		break;
	case OPERATION_MAP:
		if (records && maps_file(call))
			descriptor_mapped(fd, bytes->protection, (int)call->flags,
					  bytes->size_bytes);
		break;
	case OPERATION_ALLOCATE:
		if (call->error)
			break;
		__attribute__((fallthrough));
	case OPERATION_RESIZE:
		if (shim.on)
			record_descriptor(JOURNAL_TRUNCATE, call->error != 0, fd, call->flags,
					  call->amount);
		break;
	default:
		break;
	}
}

#undef INLINE

#endif

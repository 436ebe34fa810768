/*
 * What a call about descriptors passes inside a process (shim/call/order.h), by operation: it closes
 * one, or makes another of it.  A call that closes passes its stations before it is made.
 *
 * A station takes what it needs out of the object by itself, as in stations_data.h.
 */
#ifndef SEEN_SHIM_STATIONS_DESCRIPTOR_H
#define SEEN_SHIM_STATIONS_DESCRIPTOR_H

#include <stdio.h>

#include "shim/call/call.h"
#include "shim/preload/call.h"

/* What `own` of CLOSE, CLOSE_STREAM and REPLACE points to; that of OPEN_STREAM is the stream. */
struct close_work {
	struct closing closing;
	FILE *stream; /* CLOSE_STREAM */
};

/* descriptor_call(): a call about a descriptor.  close_call(): one that closes it; REPLACE:
 * that closes `target`. */
static inline struct call descriptor_call(enum operation operation, int fd)
{
	return (struct call){ .operation = operation,
			      .name = { .directory = fd },
			      .descriptor = -1 };
}

static inline struct call close_call(enum operation operation, int fd, int target, FILE *stream,
				     struct close_work *own)
{
	struct call call = descriptor_call(operation, fd);

	own->closing.fd = -1;
	own->closing.kept = NULL;
	own->stream = stream;
	call.other.directory = target;
	call.own = own;
	return call;
}

/* closes_plainly(): the short way of close(2) in a plain tool. */
static inline bool closes_plainly(int fd)
{
	return __builtin_expect(shim.plain && !guarded_any() && !keep_may_have(fd), 1);
}

/* close_begins(): close(2) is about to be called, which can be cancelled (pthreads(7)): nothing is
 * held until it came back.  Returns an errno that it is to fail with, 0: none. */
int close_by_stations(int fd);
static inline int close_begins(int fd)
{
	if (!closes_plainly(fd))
		return close_by_stations(fd);
	descriptor_closing_one(fd);
	return 0;
}

/* close_ends(): the call came back.  Returns what it is to return; ret: what it did. */
static inline int close_ends(int ret, struct close_work *own)
{
	if (__builtin_expect(own->closing.kept != NULL, 0))
		keep_stream_closed(own->closing.kept);
	if (__builtin_expect(own->closing.fd >= 0, 0) && guarded_closed(&own->closing) < 0)
		return -1;
	return ret;
}

static inline __attribute__((always_inline)) bool guard_descriptor(struct call *call,
								   enum operation operation)
{
	struct close_work *own = call->own;

	if (operation == OPERATION_CLOSE_STREAM || (operation == OPERATION_CLOSE && guarded_any()))
		guarded_closing(call->name.directory, &own->closing);
	if (operation == OPERATION_REPLACE && __builtin_expect(guarded_any(), 0) &&
	    call->name.directory != call->other.directory)
		guarded_closing(call->other.directory, &own->closing);
	return true;
}

/* control_is_followed(): does fcntl(2) copy a descriptor or set a lock by that command?  Others
 * pass no station. */
static inline bool control_duplicates(uint32_t command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

static inline bool control_locks(uint32_t command)
{
	return command == F_SETLK || command == F_SETLKW;
}

static inline bool control_is_followed(int command)
{
	return control_duplicates((uint32_t)command) || control_locks((uint32_t)command);
}

/* What the files are that are closed goes on record; one that is copied is followed by its copy. */
void keep_closed(enum operation operation, unsigned fd, unsigned other, struct close_work *own);
static inline __attribute__((always_inline)) void keep_descriptor(const struct call *call,
								  enum operation operation)
{
	if (__builtin_expect(keep_any(), 0))
		keep_closed(operation, (unsigned)call->name.directory,
			    operation == OPERATION_REPLACE ? (unsigned)call->other.directory
							   : (unsigned)call->amount,
			    call->own);
}

static inline __attribute__((always_inline)) void kept_descriptor(const struct call *call,
								  enum operation operation)
{
	if (__builtin_expect(!keep_any(), 1))
		return;
	if (operation == OPERATION_DUPLICATE || operation == OPERATION_REPLACE ||
	    (operation == OPERATION_CONTROL && control_duplicates(call->flags)))
		keep_duplicated(call->name.directory, call->descriptor);
	else if (operation == OPERATION_OPEN_STREAM && !call->error)
		keep_stream(call->name.directory);
}

void stations_observe_stream(int fd, FILE *stream);
void stations_observe_closing(int fd, bool by_number);
void stations_observe_stream_closing(int fd, FILE *stream);
void stations_observe_closing_many(unsigned first, unsigned last);
void stations_observe_duplicated(int fd, int copy);

static inline __attribute__((always_inline)) void observe_duplicated(const struct call *call)
{
	if (__builtin_expect(!shim.plain || (shim.guards && guarded_any()), 0))
		stations_observe_duplicated(call->name.directory, call->descriptor);
}

static inline __attribute__((always_inline)) void observe_descriptor(const struct call *call,
								     enum operation operation)
{
	int fd = call->name.directory;

	switch (operation) {
	case OPERATION_OPEN_STREAM:
		stations_observe_stream(fd, call->error ? NULL : call->own);
		break;
	case OPERATION_CLOSE:
		stations_observe_closing(fd, call->by_number);
		break;
	case OPERATION_CLOSE_STREAM:
		stations_observe_stream_closing(fd, ((const struct close_work *)call->own)->stream);
		break;
	case OPERATION_CLOSE_MANY:
		stations_observe_closing_many((unsigned)fd, (unsigned)call->amount);
		break;
	case OPERATION_DUPLICATE:
	case OPERATION_REPLACE:
		observe_duplicated(call);
		break;
	case OPERATION_CONTROL:
		if (control_locks(call->flags))
			guarded_locked(fd);
		if (control_duplicates(call->flags))
			observe_duplicated(call);
		break;
	case OPERATION_LOCK: /* of the kind that fcntl(2) sets */
		guarded_locked(fd);
		break;
	default:
		break;
	}
}

static inline __attribute__((always_inline)) void journal_descriptor(const struct call *call,
								     enum operation operation)
{
	const struct close_work *own = call->own;
	unsigned fd = (unsigned)call->name.directory;

	if (!__builtin_expect(shim.plain, 1) && !shim.records)
		return;
	if (operation == OPERATION_CLOSE_STREAM)
		descriptor_stream_closing(own->stream, (int)fd);
	if (operation == OPERATION_CLOSE || operation == OPERATION_CLOSE_STREAM)
		descriptor_closing(fd, fd);
	else if (operation == OPERATION_CLOSE_MANY)
		descriptor_closing(fd, (unsigned)call->amount);
	else if (operation == OPERATION_DUPLICATE || operation == OPERATION_REPLACE ||
		 (operation == OPERATION_CONTROL && control_duplicates(call->flags)))
		descriptor_duplicated((int)fd, call->descriptor);
}

#endif

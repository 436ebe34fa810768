/*
 * What a call that opens or lists passes inside a process (shim/call/order.h), by operation; and
 * the short way of a plain tool's opens.
 */
#ifndef SEEN_SHIM_STATIONS_OPEN_H
#define SEEN_SHIM_STATIONS_OPEN_H

#include "shim/call/call.h"
#include "shim/preload/call.h"

/* What `own` of an open points to. */
struct open_work {
	struct write_check check;
	bool by_stream; /* libc opens the file, empties it and writes to it by itself */
	bool is_judged; /* the rules are asked of the file when it is open: stations_let() */
	bool has_facts;
	struct open_facts facts; /* has_facts: what was observed, for the record */
};

/* open_call(): such a call.  flags: of open(2). */
static inline struct call open_call(enum operation operation, int directory, const char *path,
				    int flags, struct open_work *own)
{
	struct call call = { .operation = operation,
			     .name = { .path = path, .directory = directory },
			     .descriptor = -1,
			     .own = own };

	call_set_open_flags(&call, (uint32_t)flags);
	own->check.path = NULL;
	own->by_stream = own->has_facts = false;
	own->is_judged = false;
	return call;
}

/* open_is_plain(): is this a file that a tool opens to read it, and nothing else is to be recorded
 * of it?  Then no station is passed, and open_plainly() is all that is done. */
static inline bool open_is_plain(int flags)
{
	return __builtin_expect(shim.plain && !shim.rules.ops && !shim.opens_pass, 1) &&
	       !(flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_DIRECTORY | O_PATH));
}

static inline int open_plainly(int fd, int directory, const char *path, int flags)
{
	if (__builtin_expect(fd >= 0, 1))
		count_up(PROCESS_OPENS);
	record_opened(fd, directory, path, flags, NULL);
	return fd;
}

/* open_came_back(): such a call returned `fd`: puts that into `call`, or -1 where the guard refuses
 * what it found behind the descriptor, or a rule does.  Returns 0; -1: it failed; errno says why. */
int open_emptied(struct call *call, int fd);
int open_judged(const struct call *call, int fd);
static inline int open_came_back(struct call *call, int fd)
{
	const struct open_work *own = call->own;

	if (__builtin_expect(own->is_judged, 0))
		fd = open_judged(call, fd);
	call->descriptor = own->check.path ? open_emptied(call, fd) : fd;
	return call->descriptor < 0 ? -1 : 0;
}

/* open_temporary_came_back(): the same of OPEN_TEMPORARY.  Its name stands in the template only
 * now. */
void open_made(struct call *call);
static inline int open_temporary_came_back(struct call *call, int fd)
{
	call->descriptor = fd;
	if (fd >= 0 && shim.guards)
		open_made(call);
	return fd < 0 ? -1 : 0;
}

/* May the call be made?  The name of OPEN_TEMPORARY is not known before: open_made(). */
bool stations_guard_open(struct call *call);
static inline bool guard_open(struct call *call, enum operation operation)
{
	return operation == OPERATION_OPEN_TEMPORARY ||
	       call_open_purpose(call->flags) != OPENS_WRITE || stations_guard_open(call);
}

void stations_guarded_open(struct call *call);
static inline void guarded_open(struct call *call)
{
	const struct open_work *own = call->own;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each open has one */
	if (__builtin_expect(own->check.path != NULL, 0))
		stations_guarded_open(call);
}

/* OPEN_LATER: a child will open the file, by libc's hidden calls, as `descriptor`.  error: -1: a
 * rule refuses it. */
void stations_observe_open(struct call *call);
void stations_observe_open_later(const struct call *call);
static inline void observe_open(struct call *call, enum operation operation)
{
	if (operation == OPERATION_OPEN_LATER)
		stations_observe_open_later(call);
	else
		stations_observe_open(call);
}

void stations_journal_open_later(const struct call *call);
static inline void journal_open(const struct call *call, enum operation operation)
{
	const struct open_work *own = call->own;
	const struct open_facts *facts = NULL;

	if (operation == OPERATION_OPEN_LATER) {
		stations_journal_open_later(call);
		return;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.*): each other open has one, and open_call() fills it in */
	if (own->has_facts)
		facts = &own->facts;
	record_opened(call->descriptor, call->name.directory, call->name.path, (int)call->flags,
		      facts);
}

#endif

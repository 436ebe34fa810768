/*
 * A call that a program makes, for as long as it is dealt with: one object for both mechanisms, and
 * one order of stations (order.h).
 *
 * It lives on the caller's stack, which may be that of a signal handler or of a child between vfork
 * and exec: paths are pointers, resolved ones are text in scratch memory.  Nothing here makes a
 * system call.
 */
#ifndef SEEN_SHIM_CALL_CALL_H
#define SEEN_SHIM_CALL_CALL_H

#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "shim/call/operation.h"
#include "tracker/content/fate.h"
#include "tracker/segment/tables.h"

/* A name that a call was given, or a descriptor. */
struct call_name {
	const char *path; /* as given; NULL: none: the call is about the descriptor */
	int directory; /* that the path is relative to, AT_FDCWD; without a path the descriptor */
	bool follows;  /* the call goes through a symbolic link at the path's end */
};

/* Bytes that a call moves through a descriptor, or maps. */
struct call_bytes {
	void *memory; /* the caller's, of a mapping its address */
	size_t size_bytes;
	const struct iovec *parts; /* in place of `memory` */
	int part_count;
	bool in_parts;
	int protection; /* MAP: as of mmap(2) */
	int64_t offset; /* in the file; CALL_OWN_OFFSET: the descriptor's own */
	int64_t moved;  /* what the call returned; negative: it failed */
};
enum { CALL_OWN_OFFSET = -1 };

/* What was kept for undo before the call (shim/preload/keep.h), for when it came back. */
struct call_kept {
	uint64_t place_1, other_place_1; /* of its records, and one more; 0: none */
	char *path;                      /* scratch; NULL: none */
	/* RENAME: of what was found, and is on record as moved; 0: nothing */
	uint64_t ino;
	int64_t creation_ns;
	bool stamps;        /* what is there then goes on record; of an open: it is followed */
	bool leaves;        /* RENAME: out of the workspace */
	bool moves;         /* a directory is moved or removed */
	bool is_unrecorded; /* RENAME: there is nothing to move, by what was found */
	/* an open: there was nothing; there was a file; what there was is kept */
	bool is_new, was_there, is_kept;
	bool is_as_left; /* the same: as the session had left it (keep_content.h) */
};

struct call {
	enum operation operation;
	bool by_number; /* by syscall(2), or past libc */
	int error;      /* the result: 0; or not, then the mechanism says why */
	uint32_t rules; /* that it asks of its path; 0: its operation's (operations.def) */
	uint32_t flags; /* of its record: of open, rename and link; MAKE: type and mode; METADATA: what
			 * is set; MAP: as of mmap(2) */
	uint64_t amount; /* of its record: TRUNCATE, RESIZE: size; ALLOCATE: end; METADATA: the value */
	struct call_name name;
	/* RENAME, LINK: the new name; SYMLINK: the text that it points to; COPY: the descriptor that is
	 * written to */
	struct call_name other;
	struct call_bytes bytes;
	int descriptor;        /* OPEN, LIST: that the call returned; -1: none, or not known */
	void *own;             /* the mechanism's */
	const char *attribute; /* METADATA: its name */
	bool is_template;      /* MAKE, opens: the name is known only when the call came back */
	struct call_kept kept;
};
_Static_assert(sizeof(struct call) <= 256, "stacks of signal handlers are small");

/* call_of_number(): the call that a system call makes; of operations about names, and of opens.
 * arguments: six words; paths are taken for pointers of this process.  The flags of openat2(2) are
 * in memory: call_set_open_flags(). */
void call_of_number(const struct system_call *form, const void *arguments, struct call *ret_call);

/* call_set_open_flags(): an open, by the flags of open(2). */
static inline void call_set_open_flags(struct call *call, uint32_t flags)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;

	call->flags = flags;
	call->name.follows = !(flags & O_NOFOLLOW) && (flags & ONLY_NEW) != ONLY_NEW;
}

/* What a file is opened for. */
enum open_purpose {
	OPENS_PLACE, /* O_PATH: nothing is read or written */
	OPENS_LIST,  /* a directory, to list it */
	OPENS_WRITE, /* or to empty it */
	OPENS_READ,
};

static inline enum open_purpose call_open_purpose(uint32_t flags)
{
	if (flags & O_PATH)
		return OPENS_PLACE;
	if ((flags & O_DIRECTORY) && (flags & O_TMPFILE) != O_TMPFILE)
		return OPENS_LIST;
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) ? OPENS_WRITE : OPENS_READ;
}

/* call_open_may_change(): may the open, or what goes through its descriptor, change a directory or a file?
 * One for reading may make its file (`flock FILE`). */
static inline bool call_open_may_change(uint32_t flags)
{
	enum open_purpose purpose = call_open_purpose(flags);

	return purpose == OPENS_WRITE || (purpose == OPENS_READ && (flags & O_CREAT));
}

/* call_open_count(): what an open counts as; not for OPENS_PLACE. */
static inline enum process_count call_open_count(enum open_purpose purpose)
{
	return purpose == OPENS_LIST    ? PROCESS_LISTINGS
	       : purpose == OPENS_WRITE ? PROCESS_OPENS_WRITE
					: PROCESS_OPENS;
}

/* call_rules(): what the call asks the rules of its two names (enum rule_op); 0: nothing. */
void call_rules(const struct call *call, uint32_t *ret_name, uint32_t *ret_other);

/* call_modified(): the descriptor whose file the call modifies, where it succeeds; -1: none, or the
 * file has a name in the call. */
static inline __attribute__((always_inline)) int call_modified(const struct call *call,
							       enum operation operation)
{
	switch (operation) {
	case OPERATION_WRITE:
	case OPERATION_WRITE_STREAM:
	case OPERATION_CLONE:
	case OPERATION_RESIZE:
	case OPERATION_ALLOCATE:
	case OPERATION_QUEUE:
		return call->name.directory;
	case OPERATION_COPY:
		return call->other.directory;
	case OPERATION_MAP:
		return (call->bytes.protection & PROT_WRITE) && (call->flags & MAP_SHARED) &&
				       !(call->flags & MAP_ANONYMOUS)
			       ? call->name.directory
			       : -1;
	default:
		return -1;
	}
}

/* Is there something by a name, before the call? */
enum call_presence { PRESENCE_UNKNOWN, PRESENCE_NONE, PRESENCE_THERE };

/* call_action_of_name(), call_action_of_other(): what the call did to what the name stands for.
 * presence: of the new name of a rename.  False: nothing. */
static inline bool call_action_of_name(const struct call *call, enum file_action *ret_action)
{
	switch (call->operation) {
	case OPERATION_DELETE:
		*ret_action = FILE_ACTION_REMOVE;
		return true;
	case OPERATION_RENAME:
		*ret_action = call->flags & RENAME_EXCHANGE ? FILE_ACTION_WRITE
							    : FILE_ACTION_REMOVE;
		return true;
	case OPERATION_MAKE:
		*ret_action = FILE_ACTION_CREATE;
		return !S_ISDIR(call->flags);
	case OPERATION_SYMLINK:
		*ret_action = FILE_ACTION_CREATE;
		return true;
	case OPERATION_TRUNCATE:
	case OPERATION_APPEND_ENTRY:
		*ret_action = FILE_ACTION_WRITE;
		return true;
	default: /* a directory was removed, metadata was set; LINK: the file has its name still */
		return false;
	}
}

static inline bool call_action_of_other(const struct call *call, enum call_presence presence,
					enum file_action *ret_action)
{
	bool is_new = call->operation == OPERATION_LINK || presence == PRESENCE_NONE ||
		      (presence == PRESENCE_UNKNOWN && (call->flags & RENAME_NOREPLACE));

	*ret_action = is_new                       ? FILE_ACTION_CREATE
		      : presence == PRESENCE_THERE ? FILE_ACTION_CHANGE
						   : FILE_ACTION_WRITE;
	return call->operation == OPERATION_LINK || call->operation == OPERATION_RENAME;
}

#endif

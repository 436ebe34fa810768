/*
 * The journal: an append-only file, mapped by every process of a session, that says what happened.
 *
 *	header and known texts | a page for later | units of 64 bytes ...
 *
 * A record is one unit, or more where it has details; a text (a path, arguments) is a record of its
 * own that others refer to by number.  A record's number is its place: it lies at number * 64 in
 * the file.
 *
 * A writer reserves units by one atomic add, fills them, and publishes them by one compare-and-swap
 * of the first word.  What was published stays true whatever happens to its writer: nothing has to
 * be flushed, and no process waits for another.  A writer that dies in between leaves units that no
 * reader believes; the seal (cli/journal/seal.h) marks them abandoned, and a writer that was only
 * slow then finds that it may not publish.
 *
 * The file grows by chunks whose blocks are allocated before anybody may write to them.  The range
 * that the file may grow to is mapped once, so that growing costs nothing to those who do not do
 * it.  Where there is no room, recording stops and is counted.
 *
 * The file is an ABI: magic, version and sizes are checked; there are no pointers in it; nothing
 * read from it is used as an index or a length before it was checked.  docs/journal.md describes it
 * for others.
 */
#ifndef SEEN_TRACKER_JOURNAL_H
#define SEEN_TRACKER_JOURNAL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/version.h"
#include "tracker/journal/ops.h"

enum {
	JOURNAL_VERSION = 1,
	JOURNAL_UNIT_BYTES = 64,
	JOURNAL_KNOWN_AT = 512, /* in the header's page, which every program touches anyway */
	JOURNAL_KNOWN_TEXTS = (4096 - JOURNAL_KNOWN_AT) / 8,
	JOURNAL_UNITS_FIRST =
		128, /* number of the first record: header and known texts lie before it */
	JOURNAL_ROOM_UNITS = 4096,   /* what an ordinary process may need */
	JOURNAL_CHUNK_UNITS = 16384, /* what it grows by: 1 MiB */
	JOURNAL_RECORD_UNITS_MAX = 255,
	JOURNAL_TEXT_BYTES_MAX = 8192, /* longer ones are cut: JOURNAL_CUT */
	JOURNAL_NAME_BYTES = 72,
	JOURNAL_NONCE_BYTES = 24,
};

#define JOURNAL_MAGIC UINT64_C(0x6c6e726a6e656573) /* "seenjrnl" */

enum journal_op {
	JOURNAL_NONE, /* reserved and not published, or never reserved */
#define OP(name, ...) JOURNAL_##name,
#include "tracker/journal/ops.def"
#undef OP
	JOURNAL_OP_COUNT,
	/* While a record of several units is being filled: `units` is known.  Never published. */
	JOURNAL_FILLING = 255,
};

/* First word of every record; the rest counts only once this one is published. */
struct journal_head {
	uint32_t check; /* of number, op, units, error and all that follows: journal.c */
	uint8_t op;     /* enum journal_op */
	uint8_t units;  /* of this record, details or text included: at least 1 */
	uint16_t error; /* errno of the call, 0: it succeeded.  TEXT: length in bytes */
};

enum journal_marks {
	JOURNAL_CUT = 1, /* a text was longer than what is stored */
	JOURNAL_VFORKED =
		2, /* by a child between vfork and exec: its pid is in `tid`, the process is its parent's */
	JOURNAL_AT_LEAST =
		4, /* bytes: as many at least, what libc's streams did on their own is not seen */
	JOURNAL_DETAILS = 8,     /* struct journal_details follows */
	JOURNAL_UNATTACHED = 16, /* START: no registered ancestor */
	JOURNAL_PLANNED = 32, /* OPEN: by a program about to be spawned, told before it is done */
	JOURNAL_PATTERN = 64, /* LIST: the path is a pattern (glob(3)) */
	JOURNAL_ATTEMPTED =
		128,        /* by a supervisor, before the call was made: its result is not known */
	JOURNAL_MADE = 256, /* OPEN for writing: there was no such file before */
	JOURNAL_WAS_THERE = 512, /* OPEN for writing: there was; neither: it is not known */
};

/* `flags` of TRUNCATE: room up to `amount` was made or taken (fallocate(2)), else the size was set
 * to it.  Of METADATA: what was set.  Of MAP, beside the protection.  Of UNOBSERVED, whose `path`
 * is a program's name and whose `other_path` is the reason: the program was observed, but not all
 * that it does.  Of CHANGED: what became of the file, 0: its content is another.
 * Of GUARDED: the verdict's further details.  Of INSTRUCTED, whose amount is the scope: how it was
 * given, 0: by `seen context`, else before a viewer's own output.  Of RULED, whose `other_path` is
 * the rule's name and whose `error` is that of an access which was refused:
 * the access, one bit of enum rule_op (config/settings.h). */
enum journal_flags {
	JOURNAL_TRUNCATE_ALLOCATES = 1,
	JOURNAL_METADATA_MODE = 1,
	JOURNAL_METADATA_OWNER = 2,
	JOURNAL_METADATA_TIMES = 3,
	JOURNAL_METADATA_ATTRIBUTE = 4,
	JOURNAL_METADATA_NO_ATTRIBUTE = 5,
	JOURNAL_MAP_SHARED = 0x100,
	JOURNAL_UNOBSERVED_PARTLY = 1,
	JOURNAL_CHANGED_ADDED = 1,
	JOURNAL_CHANGED_DELETED = 2,
	JOURNAL_GUARDED_DEGRADED =
		1, /* it was to be refused, but the change may be the session's own */
	JOURNAL_GUARDED_KEPT = 2,     /* what was there is in the content store */
	JOURNAL_GUARDED_REPORTED = 4, /* reported to the agent at that moment */
	JOURNAL_INSTRUCTED_INJECTED = 1,
};

/* One event.  Numbers of texts and records are 0 for "none" or "not known". */
struct journal_record {
	struct journal_head head;
	uint64_t time_realtime_ns;
	uint32_t process; /* number of the START or FORK record of the process */
	uint32_t tid;     /* thread; 0: not known */
	uint32_t path;    /* text: as given to the call */
	/* with AT_FDCWD a text: the current directory; else number of that descriptor's OPEN or
	 * LIST */
	uint32_t directory;
	int32_t directory_fd; /* AT_FDCWD, or the descriptor that the path is relative to */
	/* text: RENAME, LINK: the new name; SYMLINK: its target; START, EXEC: arguments, each ended
	 * by NUL */
	uint32_t other_path;
	/* descriptor that the call returned or was about, -1: none; RENAME, LINK: what the new name
	 * is relative to */
	int32_t fd;
	/* OPEN: of open(2); MAP: protection; others: of the call; see docs/journal.md */
	uint32_t flags;
	/* bytes, size, exit status ...; RENAME, LINK: as `directory`, for the new name; see
	 * docs/journal.md */
	uint64_t amount;
	/* enum decision, of a viewer's open; EDITED, CHANGED: enum source; GUARDED: enum
	 * guard_verdict; RULED: enum rule_action */
	uint8_t decision;
	uint8_t reason; /* enum reason; GUARDED: enum guard_reason; KEPT: enum contents_reason */
	uint16_t marks; /* enum journal_marks */
	uint32_t count; /* READ_TOTAL, WRITE_TOTAL: calls; UNOBSERVED: processes */
};

enum { JOURNAL_STANDARD = 3 };

/* Behind an EXEC record that replaces the caller's image, where it is known: what descriptors 0, 1
 * and 2 were opened for.  Numbers of texts, 0: not known. */
struct journal_exec {
	struct {
		uint32_t path;
		uint32_t directory;
		int32_t directory_fd;
		uint32_t unused;
	} standard[JOURNAL_STANDARD];
	uint64_t reserved[2];
};

/* Behind a START or FORK record: who the process is. */
struct journal_process {
	uint64_t serial;   /* of its slot, that EXEC announced as `amount`; 0: none */
	uint64_t scope_id; /* 0: none */
	uint64_t epoch;    /* of the scope, at that moment */
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t role;    /* enum role */
	uint32_t context; /* enum context_flags */
	uint64_t pid_ns;  /* inode of the PID namespace; 0: not known */
	uint32_t starter; /* FORK: record of the process that was copied */
	uint32_t unused;
	uint64_t reserved;
};

/* Behind a record whose process knows its file (law 4: viewers and readers do).  GUARDED: `before`
 * is what was there, `after` the baseline of the writer's scope.  KEPT: `after` is what was
 * kept. */
struct journal_details {
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	struct version
		before; /* of the delivery or the last look; size_bytes 0 and hash 0: not known */
	struct version after;
	/* GUARDED, stale: the scope of the agent whose change it is; 0: external, or unknown */
	uint64_t changer;
	uint64_t reserved[6];
};

/* Behind COVERAGE: of the run that it ends.  Names and reasons: UNOBSERVED records. */
struct journal_coverage {
	uint64_t observed;   /* processes with the library inside */
	uint64_t unobserved; /* programs that were started and did not load it */
	uint64_t partial;    /* observed, but io_uring or aio was used */
	uint64_t unattached;
	uint64_t opens;           /* files opened for reading or writing, as far as seen */
	uint64_t lost;            /* records that could not be written since the journal began */
	uint64_t without_journal; /* observed processes that could not write here */
	uint64_t reserved[9];
};

_Static_assert(sizeof(struct journal_record) == JOURNAL_UNIT_BYTES, "a record is one unit");
_Static_assert(sizeof(struct journal_exec) == JOURNAL_UNIT_BYTES, "part of the format");
_Static_assert(sizeof(struct journal_process) == JOURNAL_UNIT_BYTES, "part of the format");
_Static_assert(sizeof(struct journal_details) == (size_t)2 * JOURNAL_UNIT_BYTES,
	       "part of the format");
_Static_assert(sizeof(struct journal_coverage) == (size_t)2 * JOURNAL_UNIT_BYTES,
	       "part of the format");

/* The start of the file.  Constant after creation unless said otherwise. */
struct journal_header {
	uint64_t magic;
	uint32_t version;
	uint32_t unit_bytes;
	uint64_t created_realtime_ns;
	uint64_t units_max;              /* it never grows beyond */
	char name[JOURNAL_NAME_BYTES];   /* of the session */
	char nonce[JOURNAL_NONCE_BYTES]; /* this journal's own: 16 hexadecimal digits */
	uint32_t workspace;              /* text: root of the workspace */
	uint32_t can_grow; /* the file system allocates blocks on demand (fallocate(2)) */
	uint64_t reserved[5];
	/* program: the times of records may come from the processor's counter (ticks.h) */
	uint32_t by_ticks;
	uint32_t unused;
	_Alignas(64) uint64_t next;      /* any, by atomic add: first unit that is not reserved */
	_Alignas(64) uint64_t allocated; /* any, only rises: units that the file has blocks for */
	uint64_t lost;                   /* any, by atomic add: records that could not be written */
	uint64_t full_errno; /* any: why there was no room when it was last tried; 0: there was */
	uint64_t full_realtime_ns; /* any: when that was; tried again a second later */
};
_Static_assert(sizeof(struct journal_header) <= JOURNAL_KNOWN_AT,
	       "known texts lie behind the header");

enum {
	JOURNAL_WINDOWS_MAX = 128,
	JOURNAL_WINDOW_UNITS = 131072, /* of one window, at least: 8 MiB */
	JOURNAL_WINDOW_BEFORE =
		8192, /* it begins before what is written: what a starter recorded about a program is there */
};

/* A mapped part of the file: records that begin from `from` on and before `to`. */
struct journal_window {
	unsigned char *
		units; /* record n lies at units + n * JOURNAL_UNIT_BYTES; NULL: there is none yet */
	uint64_t from, to;
};

/* One process's view of a mapped journal. */
struct journal {
	struct journal_header *header; /* NULL: not mapped */
	uint64_t *known; /* JOURNAL_KNOWN_TEXTS words: high half of a hash, number of the text */
	unsigned char *units;  /* of a view of the whole file: as of its window */
	uint64_t mapped_units; /* numbers from here on are not mapped */
	/* 0: a view of the whole file.  Else it has windows, and more are mapped as it grows */
	uint64_t window_units;
	uint64_t dev, ino; /* of the file: what is grown must be the same */
	/* when this process, which had no descriptor for it, may try to grow it again */
	uint64_t retry_realtime_ns;
	const char *path; /* borrowed: to grow the file; NULL: this view does not grow it */
	bool by_ticks;    /* as the header said */
	uint32_t in_work; /* a thread makes it longer, or maps more of it */
	uint32_t windows_used;
	struct journal_window windows[JOURNAL_WINDOWS_MAX];
};

/* journal_blank(): a record of which nothing is known but what it tells. */
static inline struct journal_record journal_blank(enum journal_op op)
{
	return (struct journal_record){ .head = { .op = (uint8_t)op },
					.directory_fd = AT_FDCWD,
					.fd = -1 };
}

/* journal_write(): appends a record.
 *
 * record: head.op, head.error and the event's fields; check, units and, where it is 0, the time are
 * filled in.  details: what follows it, detail_bytes long, a multiple of a unit; NULL: nothing.
 * may_grow: system calls may be made to make the file longer.
 * Returns the record's number; 0 when it could not be written (counted as lost).
 * Lock-free, async-signal-safe, for use between vfork and exec; no system call unless the file has
 * to grow. */
uint32_t journal_write(struct journal *journal, struct journal_record *record, const void *details,
		       size_t detail_bytes, bool may_grow);

/* journal_text(): the number of a text with these bytes, written now unless it is known already.
 *
 * At most JOURNAL_TEXT_BYTES_MAX bytes are kept.  Returns 0 when it could not be written.  As
 * journal_write(). */
uint32_t journal_text(struct journal *journal, const void *bytes, size_t size_bytes, bool may_grow);

/* journal_lost(): counts a record that could not be written for another reason. */
void journal_lost(const struct journal *journal);

/* A record as it was found. */
struct journal_entry {
	uint64_t number;
	struct journal_record record; /* TEXT, ABANDONED: the head alone, the rest is zero */
	union {                       /* what followed it; zero beyond what did */
		struct journal_process process;
		struct journal_exec exec;
		struct journal_details details;
		struct journal_coverage coverage;
	};
};

enum journal_found {
	JOURNAL_FOUND_END,     /* nothing more now */
	JOURNAL_FOUND_RECORD,  /* *ret_entry is set */
	JOURNAL_FOUND_UNDONE,  /* reserved and not published: its writer works, or died */
	JOURNAL_FOUND_DAMAGED, /* its check does not hold */
};

/* journal_next(): the record at *number, and moves *number behind it.
 *
 * number: JOURNAL_UNITS_FIRST to begin.  ret_entry: `number` is set for RECORD, UNDONE and DAMAGED.
 * At the end, and at an undone record, *number stays: one who does not want to wait passes over an
 * undone record by setting *number = journal_behind_undone().  Texts and abandoned records are
 * given like all others. */
enum journal_found journal_next(const struct journal *journal, uint64_t *number,
				struct journal_entry *ret_entry);

/* journal_behind_undone(): number of what follows an undone record; its own when it was published
 * since it was found, so that journal_next() gives it. */
uint64_t journal_behind_undone(const struct journal *journal, uint64_t number);

/* journal_bytes(): the bytes of a text.  Returns NULL when the number is 0 or no whole text; they
 * are not ended by NUL. */
const char *journal_bytes(const struct journal *journal, uint32_t number, size_t *ret_size_bytes);

/* journal_drop(): the records before `number` will hardly be read again: what of them is in this
 * process's memory is given back.
 * A read of them brings them back.  For a view that journal_map_to_read() made. */
void journal_drop(const struct journal *journal, uint64_t number);

/* journal_end_unit(): number behind the last reserved unit that this view can read. */
uint64_t journal_end_unit(const struct journal *journal);

/* journal_abandon(): for the seal: marks an undone record so that its writer, if it lives, may not
 * publish it any more.
 * Returns false when it was published meanwhile. */
bool journal_abandon(const struct journal *journal, uint64_t number);

#endif

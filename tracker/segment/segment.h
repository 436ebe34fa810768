/*
 * The segment: one shared file, mapped by every process of a session.
 *
 *	header | paths | notes | settings | text area | processes | scopes | captures | commands |
 *	files | inodes | deliveries | baselines | parts | instructions | their directories |
 *	remembered | unreported | kept | known | protected | arena
 *
 * It holds no pointers and is an ABI: magic, version, word size, the sizes of every slot and the
 * fingerprint of the options are in the header and are checked before use; a build that differs in
 * one of them leaves the segment alone.  It grows by appending: fields at the end of a slot's
 * reserve, tables behind the last one.
 *
 * Each field names its writer.  "Any" means any process of the session, by an atomic operation or
 * under the slot protocol (slot.h).  Nothing read from here is used as an index or a length before
 * it was checked: the file may be damaged or hostile.
 */
#ifndef SEEN_TRACKER_SEGMENT_H
#define SEEN_TRACKER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "tracker/segment/slot.h"

enum {
	SEGMENT_VERSION = 19,
	SEGMENT_RUNS = 6, /* of one session at once, of which it is known whether they live */
	SEGMENT_NAME_BYTES = 72,   /* a session's name, NUL counted */
	SEGMENT_NONCE_BYTES = 24,  /* "seen-" and 16 hexadecimal digits, NUL counted */
	SEGMENT_PATH_BYTES = 4096, /* PATH_MAX */
	SEGMENT_ARENA_FIRST = 8,   /* offset 0 means "none" */
	SEGMENT_CAPACITY_MIN = 16, /* slots of the smallest table */
	SEGMENT_NAME_WORDS = 16,
	SEGMENT_NOTES = 256,         /* words */
	SEGMENT_PROCESS_PROBES = 64, /* slots that are inspected to find a free one for a process */
	SEGMENT_ALIASES = 4,
	SEGMENT_MOVED =
		16, /* what was moved out of the workspace, and its git directory elsewhere */
	SEGMENT_UNDO_PATH_BYTES = 384, /* of the directory of packs, NUL counted */
	SEGMENT_ARENA_STEP = 131072,   /* by which the arena of a segment that grows does so */
};

#define SEGMENT_MAGIC 0x316e656573u /* "seen1" */

enum segment_table {
	TABLE_PROCESSES,
	TABLE_SCOPES,
	TABLE_CAPTURES,
	TABLE_COMMANDS,
	TABLE_FILES,
	TABLE_INODES,
	TABLE_FILE_INDEX,
	TABLE_INODE_INDEX,
	TABLE_DELIVERIES,
	TABLE_BASELINES,
	TABLE_LINE_RANGES,
	TABLE_INSTRUCTIONS,
	TABLE_INSTRUCTION_DIRECTORIES,
	TABLE_REMEMBERED,
	TABLE_UNREPORTED,
	TABLE_KEPT,
	TABLE_KNOWN,
	TABLE_PROTECTED,
	TABLE_USED, /* of the tables before it: a slot for each (struct used_slot) */
	TABLE_COUNT,
};

enum counter {
#define COUNTER(name, text) COUNTER_##name,
#include "tracker/segment/counters.def"
#undef COUNTER
	COUNTER_COUNT,
	COUNTER_CAPACITY = 64,
};
_Static_assert((int)COUNTER_COUNT <= (int)COUNTER_CAPACITY, "counters fit their reserve");

enum segment_growth {
	SEGMENT_IS_WHOLE, /* all of the file had its blocks when it was made */
	SEGMENT_GROWS, /* parts of tables, and the arena, have blocks once they are used (segment_use()) */
	SEGMENT_IS_CUT, /* it grew, and has blocks only where something is; who uses it again allocates those in use */
};

/* Where a table lies.  Written by segment_create(), constant afterwards. */
struct segment_extent {
	uint64_t offset;     /* bytes from the start of the segment */
	uint64_t slot_bytes; /* of one slot */
	uint64_t capacity;   /* slots */
};

/* Bytes of one slot of each table, in this build. */
extern const uint64_t SEGMENT_SLOT_BYTES[TABLE_COUNT];

/* The start of the file.  Constant after creation unless said otherwise. */
struct segment_header {
	uint64_t magic;
	uint32_t version;
	uint32_t word_bits;
	uint64_t header_bytes;
	uint64_t size_bytes;  /* of the whole segment */
	uint64_t fingerprint; /* settings_fingerprint() of the creator */
	uint64_t created_realtime_ns;
	char boot_id[40]; /* program: of the boot in which the times below were taken */
	char name[SEGMENT_NAME_BYTES];
	char nonce[SEGMENT_NONCE_BYTES];
	struct segment_extent tables[TABLE_COUNT];
	uint64_t settings_offset;
	uint64_t text_offset;
	uint64_t text_bytes;
	uint64_t arena_offset;
	uint64_t arena_bytes;

	uint64_t epoch;       /* any, only rises: the session's epoch */
	uint64_t next_serial; /* any, by atomic add: numbers that are never given twice */
	/* any, by atomic add: where the search for a free process slot begins */
	uint64_t next_process;
	uint64_t next_capture;               /* any, by atomic add */
	uint64_t next_command;               /* any, by atomic add */
	uint64_t arena_used;                 /* any, by compare-and-swap: bytes handed out */
	uint64_t counters[COUNTER_CAPACITY]; /* any, by atomic add */
	/* constant: of the journal's path, which lies behind the header, NUL counted; 0: there is
	 * none */
	uint64_t journal_bytes;
	/* program: of the library's own calls, below a supervisor (shim/start/filter.h); 0:
	 * none */
	uint64_t supervise_mark;
	/* constant: bytes of the content store's path, behind the journal's, NUL counted; 0: there
	 * is none */
	uint64_t contents_path_bytes;
	uint64_t contents_bytes; /* any, by atomic add: in the content store, about */
	/* any, by atomic add: how often a slot of TABLE_FILES was changed (file.c) */
	uint64_t files_changed;
	/* any, by atomic or: a Bloom filter of the base names of files with a baseline: two bits
	 * each (guard_knows_name()) */
	uint64_t names[SEGMENT_NAME_WORDS];
	/* `seen run`: TABLE_INSTRUCTION_DIRECTORIES is complete until then, CLOCK_BOOTTIME; raised
	 * at every turn, and 0 where it is not */
	uint64_t instructions_until_ns;
	/* any, by atomic add: how often some file was to be forgotten (tracker_forget()) */
	uint64_t file_forgets;
	/* `seen run`: changes of files with a baseline are looked for until then, CLOCK_BOOTTIME;
	 * raised at every turn, 0: no process does */
	uint64_t watched_until_ns;
	/* `seen run`, by compare-and-swap, each once: other names of the workspace's root, by which
	 * it was reached through symbolic links: the text's offset in the arena times 65536, and
	 * its length (path_behind_alias()).  The first 0 ends them. */
	uint64_t aliases[SEGMENT_ALIASES];
	/* `seen run`: each one that lives, by compare-and-swap: its pid and what tells it from
	 * others of that pid (process_begin_run()) */
	uint64_t runs[SEGMENT_RUNS];
	/* any, by atomic or and and: a bit for each slot of TABLE_UNREPORTED whose warning waits */
	uint64_t unreported;
	uint64_t next_unreported; /* any, by atomic add: which of these slots is written next */
	/* constant: bytes of the path of the directory of packs (pack.h), behind the content store's, NUL
	 * counted; 0: nothing is kept for undo */
	uint64_t undo_path_bytes;
	/* any, only rises, by atomic add: steps begin and end at it (boundary.h) */
	uint64_t undo_boundary;
	uint64_t undo_next;  /* any, only rises, by compare-and-swap: place of the next record */
	uint64_t undo_first; /* any, only rises, by compare-and-swap: the oldest part that is kept */
	uint64_t undo_bytes; /* any, by atomic add: in the directory of packs, about */
	/* any, by compare-and-swap, each once: what is observed out of the workspace: the path's offset in
	 * the arena times 65536, and its length.  The first 0 ends them. */
	uint64_t undo_moved[SEGMENT_MOVED];
	/* any, by compare-and-swap: the last bits of undo_boundary, and how many bytes were copied from another
	 * file system since it (pack_room.c) */
	uint64_t undo_copied;
	uint64_t undo_part_bytes; /* any, by atomic add: kept since the part began, about */
	uint64_t undo_moves; /* any, by atomic add: how often a directory was moved or removed */
	/* any, by atomic add: files in TABLE_PROTECTED */
	uint64_t protects;
	/* segment_create(), session_cut(), segment_map_to_use(): enum segment_growth */
	uint64_t grows;
	uint64_t arena_room; /* any, only rises, by compare-and-swap: of one that grows, bytes with blocks */
	/* any, only rises, by compare-and-swap: slots of TABLE_FILES and TABLE_INODES that were handed out; behind
	 * the last one it goes on (index.h) */
	uint64_t files_given, inodes_given;
};
_Static_assert(sizeof(struct segment_header) % 8 == 0, "what follows the header is aligned");

/* One process's view of a mapped segment: extents copied and checked once, so that later damage to
 * the header cannot move them.  Plain data; made by segment_map(), ended by segment_unmap(). */
struct segment {
	struct segment_header *header; /* NULL: not mapped */
	size_t size_bytes;
	const struct settings *settings;
	const char *text;
	size_t text_bytes;
	unsigned char *tables[TABLE_COUNT];
	uint64_t capacity[TABLE_COUNT];
	unsigned part_shift
		[TABLE_COUNT]; /* slots of a part of which there is a bit, as a power of two */
	bool grows;            /* a part that was never used may have no blocks */
	bool is_still; /* no call may be made: such a part cannot be used (index_prepare()) */
	char *arena;
	uint64_t arena_bytes;
	/* of a session that is replayed: its moment, in place of the clock's; 0: the clock's */
	uint64_t replayed_ns;
};

/* segment_view(): makes a view of memory that holds a segment, and stays the caller's.  size_bytes:
 * of that memory, at least a header's.  As segment_map(). */
int segment_view(void *memory, size_t size_bytes, struct segment *ret_segment);

/* segment_map(): maps an existing segment.
 *
 * path: of the segment file; a symbolic link is refused.  ret_segment: set only on success.
 * Returns 0; -ENOENT and other errors of open(2) and mmap(2); -EPERM when the file belongs to
 * another user or others may write to it; -EPROTO when it was made by another version of seen;
 * -EBADMSG when it is no segment or is damaged.
 * No descriptor stays open.  Async-signal-safe.
 */
int segment_map(const char *path, struct segment *ret_segment);

/* segment_map_to_use(): the same for a process of the session: the blocks of all that is used are there,
 * so that no store to it fails for want of room.  Also returns errors of fallocate(2). */
int segment_map_to_use(const char *path, struct segment *ret_segment);

/* segment_unmap(): accepts a segment that was never mapped. */
void segment_unmap(struct segment *segment);

/* segment_journal(): path of the session's journal, or NULL when there is none or it is damaged. */
const char *segment_journal(const struct segment *segment);

/* segment_contents(): path of the directory of the session's content store, or NULL likewise. */
const char *segment_contents(const struct segment *segment);

/* segment_undo(): path of the directory of packs, or NULL likewise. */
const char *segment_undo(const struct segment *segment);

/* segment_notes(): SEGMENT_NOTES words in which any process notes, by an atomic store, what takes
 * long to find out again.  Hints: each holds enough of a hash of its subject to be told apart from
 * others.  NULL: there is no room for them. */
uint64_t *segment_notes(const struct segment *segment);

/* segment_slot(): address of a slot, or NULL when the index is beyond the table.  Of tables of files,
 * inodes and pairs, a slot that is in no part that is used (segment_is_used()) must not be touched. */
void *segment_slot(const struct segment *segment, enum segment_table table, uint64_t index);

/* segment_use(): to be called before a slot of a table of files, inodes, their words, scopes or pairs is written to,
 * to give it to something else: from then on its part is used.  slot: of that table.  Where the segment
 * grows, the first use of a part is one system call, which gives it blocks.
 *
 * Returns false where there is no room for them: the slot must not be touched.  Any process; lock-free
 * and async-signal-safe. */
bool segment_use(const struct segment *segment, enum segment_table table, const void *slot);

/* segment_reserve(): gives the arena blocks for that many bytes more, as far as it reaches.  By a system call, where the
 * segment grows. */
void segment_reserve(const struct segment *segment, uint64_t bytes);

/* segment_is_used(): is a slot of such a table in a part that is used?  Else it is empty, and its page may
 * not be there.  index: below the table's capacity. */
bool segment_is_used(const struct segment *segment, enum segment_table table, uint64_t index);

/* segment_next_used(): the first slot from `index` on that may be in use, to go through such a table:
 * what nothing was ever put into is passed over, and not touched.  Of a file system each page that is
 * touched for the first time takes microseconds, and stays in memory.
 *
 * Returns the table's capacity where there is none. */
uint64_t segment_next_used(const struct segment *segment, enum segment_table table, uint64_t index);

/* SEGMENT_EACH_USED(): goes through all of them, for (uint64_t index; ...). */
#define SEGMENT_EACH_USED(segment, table, index) \
	for (uint64_t index = segment_next_used(segment, table, 0); \
	     index < (segment)->capacity[table]; \
	     index = segment_next_used(segment, table, index + 1))

/* segment_processes_used(): how many slots from the first were ever used for a process. */
uint64_t segment_processes_used(const struct segment *segment);

/* segment_serial(): a number never given before in this session, never 0. */
uint64_t segment_serial(const struct segment *segment);

/* segment_count(): raises a counter. */
void segment_count(const struct segment *segment, enum counter counter, uint64_t amount);

/* segment_counter(): reads a counter, with what ended processes left in their slots. */
uint64_t segment_counter(const struct segment *segment, enum counter counter);

/* arena_store(): keeps a copy of bytes for as long as the segment lives.
 *
 * Returns the offset of the copy (never 0), or 0 when the arena is full.  Lock-free. */
uint64_t arena_store(const struct segment *segment, const void *bytes, size_t size_bytes);

/* arena_has_room(): is there room for so many bytes now? */
bool arena_has_room(const struct segment *segment, size_t size_bytes);

/* arena_at(): the bytes at an offset that arena_store() gave, or NULL when they do not lie
 * inside. */
const char *arena_at(const struct segment *segment, uint64_t offset, size_t size_bytes);

/* segment_text(): settings_text_next() on this segment's text area. */
const char *segment_text(const struct segment *segment, struct settings_text text,
			 const char *previous);

#endif

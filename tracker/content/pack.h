/*
 * Packs: what the session's processes were about to destroy or change, before each call, for undo.
 *
 * They lie in the directory `undo` beside the content store, as parts of 16 MiB, `00000000.part` and
 * so on, which are only appended to:
 *
 *	record | record | zeroes up to the part's end, where the next record did not fit | ...
 *
 * (Behind the last record there are zeroes, too, where a writer has room allocated for the next ones.)
 *
 * A record begins at a multiple of PACK_UNIT_BYTES and never crosses the end of a part.  It is a
 * struct pack_head, its fields (pack_code.h), its path, its other path (neither ended by NUL), and its
 * content where that is held INLINE.  Its place is the part's number times PACK_PART_BYTES plus the offset there: the
 * order of places is the order of events.  Content held as a file (LINK, REFLINK, COPY) is
 * `00000000.files/PLACE`, the part's number and the record's place, each of 8 and 16 hexadecimal
 * digits.
 *
 * A path may stand in an earlier record of the same part, as that one's `path`: then its place is there instead.
 * Where it is that one's directory alone, up to its last slash, what comes behind it stands here; that record has its
 * whole path.  An INLINE content may stand in an earlier record, too.
 *
 * A record is written before its call.  Where the call fails it is marked so (`result`).  A writer
 * may be killed before the call was made: the record then reports what did not happen.
 *
 * The format: readers believe nothing (cli/undo/pack_reader.h).
 */
#ifndef SEEN_TRACKER_PACK_H
#define SEEN_TRACKER_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/version.h"

#define PACK_NO_PLACE UINT64_MAX
#define PACK_SIZE_UNKNOWN \
	UINT64_MAX /* AFTER, `before.size_bytes`: how the file was left was not seen */

#define PACK_MAGIC 0x326b6370u /* "pck2": of the record format's version 2 */
/* "pck0": its writer is not done, or was killed before its call.  `size_bytes` is set, and `check` is its place */
#define PACK_MAGIC_BEGUN 0x306b6370u

enum {
	PACK_UNIT_BYTES = 8,
	PACK_PART_BYTES = 16777216,
	PACK_INLINE_BYTES_MAX = 65536, /* larger content is a file of its own */
	PACK_PATH_BYTES_MAX = 4095,    /* of each of the two */
	PACK_PART_NAME_BYTES = 16,     /* "00000000.part", NUL counted */
	PACK_FILE_NAME_BYTES = 40,     /* "00000000.files/0000000000000000" */
};

/* What a record tells.  `path` is absolute: its directory as the kernel resolved it, then the name
 * as it was given; `before` is what was there before the call. */
enum pack_kind {
	PACK_NONE,
	PACK_REMOVED,  /* unlink, rmdir: `path` goes */
	PACK_REPLACED, /* a rename is about to go over `path`; its RENAMED record follows at once */
	PACK_RENAMED,  /* `path` becomes `other`; before: of what moves */
	PACK_EXCHANGED, /* `path` and `other` change places; before: of `path` */
	PACK_CREATED, /* there was nothing: a file, directory, symbolic link (other: its target), node, FIFO
		       * or socket by `path` is made.  before.mode: its type where known, without the permissions */
	PACK_CONTENT, /* the bytes of `path` are about to change, or to be cut off */
	PACK_METADATA, /* `what` of `path` is about to be set; amount: to which value.  ATTRIBUTE: `other`
			* is the attribute's name, the content its value before; NO_VALUE: it had none */
	PACK_LINKED, /* `other` is made: a hard link to the file of `path` */
	PACK_AFTER, /* `before` is the file's state after the last close of a descriptor that wrote to it,
			* or after another call that changed it: what is there later is compared with this */
	PACK_OPEN, /* a descriptor or mapping that writes to `path` was left open by an ended process, or
			* handed to another program: what it does from here on is not seen */
	PACK_EXCLUDED, /* below `path`, which can be made again, nothing is kept; once at each boundary */
	PACK_BOUNDARY, /* `boundary` begins here, by the program: no path; what: enum pack_cause.  Steps raise the
			* number without a record */
	PACK_KIND_COUNT,
};

/* Where the content of a record is.  Of directories, and of kinds that take no content: NOT_TAKEN. */
enum pack_held {
	PACK_NOT_TAKEN,
	PACK_INLINE, /* behind the paths; of a symbolic link its target */
	PACK_LINK, /* a hard link to the file itself: `before` is its stamp; it may have changed since by
		       * another link or an open descriptor */
	PACK_REFLINK, /* FICLONE */
	PACK_COPY,
	PACK_EARLIER, /* kept since the boundary began, or made since: what was there at the boundary is
		       * in an earlier record of the same (dev, ino) */
	PACK_NOT_KEPT, /* lost: `reason` says why */
	PACK_HELD_COUNT,
};

enum pack_reason {
	PACK_NO_REASON,
	PACK_REBUILDABLE, /* by its name: *.o, *.pyc; or [undo] exclude */
	PACK_TOO_LARGE,   /* [undo] max_file_bytes */
	PACK_NO_ROOM, /* [undo] max_bytes, reserve, or the file system is full; or RLIMIT_FSIZE */
	PACK_UNREADABLE,
	PACK_OTHER_DEVICE, /* the store is on another file system, and it is too large to be copied */
	PACK_NO_FILE,      /* a device, a FIFO, a socket: there is no content */
	PACK_UNKNOWN,      /* another error */
	PACK_REASON_COUNT,
};

/* `result`: written last, and not under the check. */
enum pack_result {
	PACK_CALLED, /* the call was about to be made; it succeeded, or its process was killed */
	PACK_FAILED, /* it failed: nothing happened */
};

/* `what` of METADATA. */
enum pack_metadata {
	PACK_MODE = 1,
	PACK_OWNER,
	PACK_TIMES,
	PACK_ATTRIBUTE,
	PACK_NO_ATTRIBUTE, /* is about to be removed */
};

/* `what` of BOUNDARY. */
enum pack_cause {
	PACK_PROMPT = 1, /* reported by an agent's hook */
	PACK_TOOL,       /* likewise */
	PACK_COMMAND,    /* seen story, diff, undo */
};

enum pack_flags {
	PACK_BY_DESCRIPTOR =
		1, /* the call named a descriptor: `path` is what the kernel called it then */
	PACK_NO_VALUE = 2, /* METADATA, ATTRIBUTE: it was not set */
	PACK_MAPPED = 4,   /* CONTENT: by a shared mapping: stores are not seen */
	PACK_NO_NAME = 8,  /* BY_DESCRIPTOR: the file has lost the name of `path`; it has others */
	PACK_EXTERNAL =
		16, /* `path` is not in the workspace: RENAMED into it, or below what was moved out of it */
	PACK_OTHER_EXTERNAL = 32, /* the same of `other` */
	PACK_SHARED =
		128, /* AFTER: a program that was started may still write to it; CONTENT, RENAMED: one of the
			    * session had it open before, and may have written to it, or may yet */
	PACK_GOING =
		256, /* METADATA, ATTRIBUTE: an attribute of what the next record of `path` removes */
	PACK_CUT = 64, /* a path was longer than PACK_PATH_BYTES_MAX */
	PACK_UNWRITTEN =
		512, /* AFTER: of a call that set metadata or made a hard link: no descriptor was closed */
	PACK_CONTINUED =
		1024, /* AFTER: its writer found the file as the session's last change had left it */
};

/* As stat(2).  All zero: nothing was there, or it is not known. */
struct pack_state {
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	int64_t mtime_ns;
	int64_t ctime_ns;
	int64_t creation_ns; /* 0: not known */
	uint64_t rdev;
	uint32_t mode; /* type and permissions */
	uint32_t uid;
	uint32_t gid;
	uint32_t nlink;
};

struct pack_record {
	uint64_t place;
	uint32_t result;     /* enum pack_result */
	uint32_t size_bytes; /* with paths and content, a multiple of PACK_UNIT_BYTES */
	uint32_t code_bytes; /* of the head and the fields */
	uint16_t path_bytes;
	uint16_t other_bytes;
	/* where in the part the record begins whose `path` this one's are, too, in units, and one more; with bytes
	 * of their own: whose directory they are in; 0: they stand here */
	uint32_t path_unit_1, other_unit_1;
	/* likewise: behind which record the content stands; then content_bytes is 0.  INLINE; else 0 */
	uint32_t content_unit_1;
	uint32_t content_bytes; /* INLINE; else 0 */
	uint8_t kind;           /* enum pack_kind */
	uint8_t held;           /* enum pack_held */
	uint8_t reason;         /* enum pack_reason */
	uint8_t what;           /* enum pack_metadata, enum pack_cause */
	uint32_t process;       /* journal number of its START or FORK record; 0: not known */
	uint32_t pid;
	uint32_t flags; /* enum pack_flags */
	uint64_t time_realtime_ns;
	uint64_t boundary;
	uint64_t amount;
	struct pack_state before;
	/* of the content, where it was read: INLINE, COPY; size_bytes and hash 0: not known.  An INLINE
	 * content has the version of its bytes */
	struct version version;
};

/* pack_is_change(): is it about a change?  The other kinds tell what was left, or from where on. */
static inline bool pack_is_change(enum pack_kind kind)
{
	return kind != PACK_AFTER && kind != PACK_OPEN && kind != PACK_EXCLUDED &&
	       kind != PACK_BOUNDARY;
}

/* pack_is_loss(): had its content to be kept before a change, and was not?  What can be made again, and what has no
 * content, is no loss. */
static inline bool pack_is_loss(const struct pack_record *record)
{
	return pack_is_change(record->kind) && record->held == PACK_NOT_KEPT &&
	       record->reason != PACK_REBUILDABLE && record->reason != PACK_NO_FILE;
}

/* How a record begins on disk. */
struct pack_head {
	uint32_t magic;
	uint32_t result; /* enum pack_result */
	/* XXH3-64 of what follows up to the end of the paths, seeded by the record's place: `content` is
	 * not under it, which has a version */
	uint64_t check;
	uint32_t size_bytes;
	uint8_t lengths
		[12]; /* of the fields, in bytes; two in each, the first one's in the lower half */
};
_Static_assert(sizeof(struct pack_head) == 32, "part of the format");

#endif

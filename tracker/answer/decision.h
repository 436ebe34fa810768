/*
 * The decision: may this open of a viewer, or this in-process read of a whitelisted process, be
 * answered with a notice?  One function for both mechanisms; it knows nothing of how a process is
 * observed.  In doubt: the real bytes.
 *
 * 	delivered in this scope and epoch, still inside the window, at once or all lines in parts?	no -> content
 * 	mode, role, sink and size allow it?				no -> content
 * 	text, and hash equal to the delivered version?			no -> content, or what changed
 * 	the model asks again?						yes -> given again
 * 	notice shorter than the file?					no -> content
 * 	otherwise							notice
 */
#ifndef SEEN_TRACKER_DECISION_H
#define SEEN_TRACKER_DECISION_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/answer/delivery.h"
#include "tracker/answer/notice.h"
#include "tracker/answer/request.h"
#include "tracker/content/lines.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

enum decision {
	DECISION_CONTENT,     /* the real bytes */
	DECISION_GIVEN_AGAIN, /* the real bytes, although a notice would have been true */
	DECISION_NOTICE,
	/* what changed since the scope was given it whole; the mechanism tries to have it made */
	DECISION_DIFF,
};

/* Why: for the record and for tests. */
enum reason {
	REASON_NOT_TRACKED,   /* no regular file of the workspace, or excluded */
	REASON_NOT_DELIVERED, /* new to this scope and epoch, or outside the window */
	REASON_NOT_ALLOWED,   /* by mode, role, sink or size */
	REASON_CHANGED,       /* other bytes than delivered */
	REASON_BINARY,        /* holds a NUL byte */
	REASON_ASKED_AGAIN,
	REASON_TOO_SHORT, /* the notice would be no shorter */
	REASON_UNREADABLE,
	REASON_REPEATED,
};

/* Where a delivery stands in its scope's window. */
struct window_place {
	uint64_t request;
	uint64_t bytes_given;
	uint64_t time_ns;
};

struct answer {
	enum decision decision;
	enum reason reason;
	uint64_t file_key; /* of the delivery that the answer speaks of, 0: none */
	uint64_t path_key; /* of the path asked for, perhaps another name of that file */
	struct version
		delivered; /* what the scope was given of it, as far as that counts; else none */
	struct content content;    /* all but CONTENT: of the file, now */
	struct window_place given; /* DIFF: of `delivered` */
	size_t notice_bytes;       /* NOTICE: length of `notice` */
	uint64_t saved_bytes;      /* NOTICE: by which that is shorter */
	char notice[NOTICE_BYTES_MAX];
};

/* decision_open(): decides for a file just opened for reading; for an in-process read (request.h),
 * for a file just read whole, and for several reads of one request alike as long as the file stays
 * as it is.
 *
 * path: absolute, normalized, as the kernel knows the file.  path_as_given: as the command wrote
 * it.
 * fd: an open descriptor, read by pread only.  stat: of fd.
 * What the decision means for counters, the file's record and the model's repeated question is
 * recorded here; the caller must carry a NOTICE out, or call decision_undo().
 * Async-signal-safe; uses about 24 KiB of stack.
 */
void decision_open(const struct segment *segment, const struct request *request, const char *path,
		   const char *path_as_given, int fd, const struct stat *stat,
		   struct answer *ret_answer);

/* decision_reported(): the same of a request that the agent's hook reports (request.h), whose file
 * the caller has read.
 *
 * stat: of the file; what else than its type, size, device and inode is not asked for.  content: of
 * its bytes, all of which were read.  span: the lines that were asked for, inside the file, and their
 * bytes; a NOTICE says that these lines are known, and there is no DIFF.  NULL: all of the file. */
void decision_reported(const struct segment *segment, const struct request *request,
		       const char *path, const struct stat *stat, const struct content *content,
		       const struct span *span, uint64_t bytes, struct answer *ret_answer);

/* decision_is_past(): was the scope last given the file whole, by this path, before it forgot
 * everything?  Then its conversation was cut, or is another one by now. */
bool decision_is_past(const struct segment *segment, const struct request *request,
		      uint64_t path_key);

/* decision_undo(): the notice could not be given after all; the real bytes were. */
void decision_undo(const struct segment *segment, const struct request *request,
		   const struct answer *answer);

/* How `seen answer diff`, which the mechanism runs, ends. */
enum diff_status {
	DIFF_MADE,
	DIFF_LONG, /* not short enough */
	DIFF_FAILED,
};

/* decision_is_short(): is what changed, header and all, so short that it is given instead of the
 * file?  Less than half as long. */
bool decision_is_short(uint64_t diff_bytes, uint64_t size_bytes);

/* decision_diffed(): what was decided as DIFF is made, and about to be given: the model's repeated
 * question and the counters say so.
 * Else the answer is CONTENT. */
void decision_diffed(const struct segment *segment, const struct request *request,
		     const struct answer *answer, uint64_t diff_bytes);

/* decision_moment(): when a request is made, for what counts then. */
struct moment decision_moment(const struct segment *segment, const struct request *request);

/* decision_is_current(): does a delivery count at this moment?  An in-process read's own request is
 * no repeat of itself, and counts no more once its agent forgot the file. */
bool decision_is_current(const struct segment *segment, const struct request *request,
			 const struct delivery_slot *delivery, const struct moment *moment);

#endif

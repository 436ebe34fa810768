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

/* What a viewer knows of a file that it began to read: what must still hold at the end. */
struct pending {
	uint64_t file_key;
	struct stamp stamp;
	struct moment moment;
	uint32_t forgets;
	bool is_late;          /* the file is on no record yet: decision_complete() is to come */
	uint64_t file_forgets; /* is_late: of the session */
	bool counted;          /* as a repeat, by decision_open() */
	/* what changed is given, not the file: it is whole by what was given before, and inside the
	 * window for as long as that */
	bool is_diff;
	uint64_t base_key; /* of that delivery, and its version and place */
	struct version base;
	struct window_place place;
};

/* decision_pend(): remembers a file whose real bytes, or what changed in it, are about to be given.
 * path: absolute, normalized.  answer: NULL: it was not asked for one yet.  Returns 0, or -ENOSPC
 * when the file could not be recorded. */
int decision_pend(const struct segment *segment, const struct request *request, const char *path,
		  const struct stat *stat, const struct answer *answer,
		  struct pending *ret_pending);

/* decision_pend_late(): the same, and nothing is recorded until decision_complete() is called, with
 * the same path: that takes longer than to read a small file, and pages of the segment that this
 * process has not touched.  answer: of decision_open(), that knew the file's key, and no DIFF.  Who
 * forgets any file until then takes this read for forgotten. */
void decision_pend_late(const struct segment *segment, const struct request *request,
			const struct stat *stat, const struct answer *answer,
			struct pending *ret_pending);
int decision_complete(const struct segment *segment, const char *path, struct pending *pending);

/* What decision_deliver() found. */
struct delivered {
	bool is_given; /* it is a delivery to the scope now */
	/* It is not what it was when last read whole, and no process of the session was seen to
	 * change it. That is not on record yet, and no run watches that would report it with its
	 * author. */
	bool is_changed;
	struct version before; /* as last read whole by anybody; none when it was not */
};

/* decision_deliver(): all bytes of the file, or of what changed in it, went to the capture and the
 * viewer left by exit(0).
 * After a diff the scope has the file as it is now: the older delivery moves, unless that is not
 * what it was any more.
 *
 * stamp: of the file after its last byte was read; another than at the beginning is no delivery.
 * version: of the bytes that were given; of a diff, of the file that it leads to.  Forgotten
 * meanwhile, in whole or in part: no delivery. */
void decision_deliver(const struct segment *segment, const struct request *request,
		      const struct pending *pending, const struct stamp *stamp,
		      const struct version *version, struct delivered *ret_delivered);

/* decision_give_lines(): these lines of the file, and nothing else, went to the capture, and the
 * reader left by exit(0).
 *
 * pending, stamp: as above.  content: of the file before its first and after its last byte was
 * read.  What all lines of a version were given by is a delivery of it, as long as each of them
 * is. */
void decision_give_lines(const struct segment *segment, const struct request *request,
			 const struct pending *pending, const struct stamp *stamp,
			 const struct content *content, const struct span *spans, unsigned count);

/* limits_of_profile(): what a command may print so that an agent passes it on whole.
 *
 * profile: NULL: it has none.  is_version: it is of the version that its profile was measured with.
 * By half of what was measured for another version; what is assumed (delivery.h) where nothing was
 * measured. */
struct output_limits limits_of_profile(const struct segment *segment,
				       const struct settings_profile *profile, bool is_version);

/* decision_limits(): the same of the agent of a context: what was given counts by them, unless its
 * proof decides. */
struct output_limits decision_limits(const struct segment *segment, const struct context *context);

/* decision_limit(): bytes of a command's output up to which a read moves what the agent takes the
 * file for (baseline.h).  More than may count as given: an agent that was shown a part must not
 * overwrite what came later. */
uint64_t decision_limit(const struct segment *segment, const struct context *context);

/* decision_record_limits(): what is put on record as given.  That it reached the model is judged
 * when it is asked for. */
struct output_limits decision_record_limits(const struct segment *segment,
					    const struct context *context);

#endif

/*
 * What a viewer or reader gives, from before its first byte until it is complete: is it a delivery
 * to the scope?
 *
 * Contexts: as decision.h.
 */
#ifndef SEEN_TRACKER_DECISION_DELIVERY_H
#define SEEN_TRACKER_DECISION_DELIVERY_H

#include "tracker/answer/decision.h"

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

#endif

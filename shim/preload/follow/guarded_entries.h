/*
 * The descriptors by which this process writes to files that the guard inspects: which opening each
 * is of, and the last bytes that it wrote.
 *
 * An entry is believed only while its descriptor still is the file that was opened.
 */
#ifndef SEEN_FOLLOW_GUARDED_ENTRIES_H
#define SEEN_FOLLOW_GUARDED_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shim/preload/state.h"
#include "tracker/content/version.h"

enum {
	GUARDED_DESCRIPTORS = 1024,
	GUARDED_REST_BYTES = SEGMENT_NONCE_BYTES - 1,
};

enum write_state {
	ENTRY_NONE,
	ENTRY_TAKEN, /* a thread fills it in, or takes it out */
	ENTRY_OPEN,
};

enum opening_marks {
	OPENING_STREAM = 1,    /* libc writes, also after the process's exit handlers */
	OPENING_INHERITED = 2, /* fork's parent, or another image, opened it */
	OPENING_MAPPED = 4,
	OPENING_CHECKS = 8,    /* a notice written to it is refused */
	OPENING_KEPT = 16,     /* `before` is in the content store */
	OPENING_NEW = 32,      /* there was nothing before */
	OPENING_REFUSED = 64,  /* a notice was: nothing is written by this opening any more */
	OPENING_TOUCHED = 256, /* something was destroyed by it, or written */
	/* another process opened it: what is behind `start_bytes` is this program's */
	OPENING_REST = 128,
};

/* A file that this process opened to write to, and that is inspected.  Copies of the descriptor
 * share it. */
struct opening {
	uint64_t number;
	uint64_t dev, ino;
	uint64_t key;
	struct version before; /* what was there; none: nothing */
	uint32_t knows;        /* enum guard_knows */
	uint32_t marks;        /* enum opening_marks */
	uint32_t starts;       /* of programs, when it was opened */
	uint64_t start_bytes;  /* its size when this program began, where that did not open it */
	void *stream;          /* FILE, whose buffer is written behind our back; NULL: none */
};

/* A descriptor that this process writes to a file by. */
struct write_entry {
	uint32_t state;
	uint32_t tail_bytes;
	struct opening opening;
	char tail[GUARDED_REST_BYTES]; /* the last bytes written: a nonce may come in two parts */
};
extern struct write_entry guarded_entries[GUARDED_DESCRIPTORS] HIDDEN;

extern unsigned guarded_end HIDDEN; /* from here on no entry was ever used */

/* guarded_any(): did this process ever open a file that is inspected? */
static inline bool guarded_any(void)
{
	return __atomic_load_n(&guarded_end, __ATOMIC_RELAXED) != 0;
}

/* guarded_entry(): of a descriptor; NULL: it is not inspected. */
static inline struct write_entry *guarded_entry(int fd)
{
	if ((unsigned)fd >= GUARDED_DESCRIPTORS ||
	    (unsigned)fd >= __atomic_load_n(&guarded_end, __ATOMIC_RELAXED))
		return NULL;
	struct write_entry *entry = &guarded_entries[fd];
	return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == ENTRY_OPEN ? entry : NULL;
}

/* guarded_store(): fills one in; what stood there before was never reported.  guarded_drop(): empties
 * it. */
void guarded_store(int fd, const struct opening *opening);
void guarded_drop(int fd);

/* guarded_is_of(): is that the opening's file?  guarded_is_same_file(): is the opening's file still what the descriptor is open for? */
static inline bool guarded_is_of(const struct opening *opening, const struct stat *stat)
{
	return stat->st_dev == opening->dev && stat->st_ino == opening->ino;
}
bool guarded_is_same_file(int fd, const struct opening *opening);

/* guarded_reopen(): opens the opening's file once more, to be read.  Returns a descriptor or a negative errno.  ret_path:
 * where the file is, in scratch, to be released; NULL: to be asked for. */
int guarded_reopen(int fd, const struct opening *opening, char **ret_path);

/* guarded_has_copy(): is another descriptor of this process of the opening of that number? */
bool guarded_has_copy(int fd, uint64_t number);

#endif

/*
 * What became of a file: told from what was done with its name, in that order.  The session's table
 * of files keeps it (file.c), and a report finds it in the journal (cli/report): both by these
 * functions, so that all give one answer.
 *
 * Whether there was a file before is not always known: a tool's open(2) by O_CREAT does not tell.
 */
#ifndef SEEN_TRACKER_FATE_H
#define SEEN_TRACKER_FATE_H

#include <stdbool.h>
#include <stdint.h>

/* What was done.  Part of no ABI. */
enum file_action {
	FILE_ACTION_READ,   /* it is there */
	FILE_ACTION_WRITE,  /* it is there now; whether it was before is not known */
	FILE_ACTION_CHANGE, /* it is there now, and was before */
	FILE_ACTION_CREATE, /* there was nothing by that name */
	FILE_ACTION_REMOVE, /* removed, or moved away */
};

/* What is known of it; kept in flags of other meanings, too (enum file_flags). */
enum fate_bits {
	FATE_MADE = 512,     /* by the session: there was nothing before */
	FATE_OLD = 1024,     /* it was there before the session changed it */
	FATE_GONE = 2048,    /* the session removed it */
	FATE_WRITTEN = 4096, /* the session changed it, or made it */
	FATE_BITS = FATE_MADE | FATE_OLD | FATE_GONE | FATE_WRITTEN,
};

enum fate {
	FATE_NOTHING,      /* the session changed nothing */
	FATE_IS_MADE,      /* made */
	FATE_IS_CHANGED,   /* changed; also where it is not known whether there was a file before */
	FATE_IS_REMOVED,   /* removed; also where it is not known whether the session had made it */
	FATE_IS_TRANSIENT, /* made and removed: came and went */
};

/* fate_after(): the bits, after one thing more was done. */
static inline uint32_t fate_after(uint32_t bits, enum file_action kind)
{
	switch (kind) {
	case FILE_ACTION_READ:
		return bits & (FATE_MADE | FATE_WRITTEN) ? bits : bits | FATE_OLD;
	case FILE_ACTION_WRITE:
		return (bits | FATE_WRITTEN) & ~(uint32_t)FATE_GONE;
	case FILE_ACTION_CHANGE:
		return fate_after(fate_after(bits, FILE_ACTION_READ), FILE_ACTION_WRITE);
	case FILE_ACTION_CREATE:
		bits = (bits | FATE_WRITTEN) & ~(uint32_t)FATE_GONE;
		return bits & FATE_OLD ? bits : bits | FATE_MADE;
	case FILE_ACTION_REMOVE:
		bits |= FATE_GONE | FATE_WRITTEN;
		return bits & FATE_MADE ? bits : bits | FATE_OLD;
	}
	return bits;
}

static inline enum fate fate_of(uint32_t bits)
{
	if (bits & FATE_GONE)
		return bits & FATE_MADE ? FATE_IS_TRANSIENT : FATE_IS_REMOVED;
	if (!(bits & FATE_WRITTEN))
		return FATE_NOTHING;
	return bits & FATE_MADE ? FATE_IS_MADE : FATE_IS_CHANGED;
}

/* fate_is_change(): is it a change to report?  What came and went is none. */
static inline bool fate_is_change(enum fate fate)
{
	return fate == FATE_IS_MADE || fate == FATE_IS_CHANGED || fate == FATE_IS_REMOVED;
}

/* fate_name(): "made", "changed", "removed", "transient"; NULL: nothing.  Static. */
static inline const char *fate_name(enum fate fate)
{
	switch (fate) {
	case FATE_IS_MADE:
		return "made";
	case FATE_IS_CHANGED:
		return "changed";
	case FATE_IS_REMOVED:
		return "removed";
	case FATE_IS_TRANSIENT:
		return "transient";
	case FATE_NOTHING:
		break;
	}
	return 0;
}

#endif

/*
 * Changes: what the session made of a file, and whose change that is.  The summary, status, files,
 * edited and, by the same functions of fate.h, a report tell it.
 */
#ifndef SEEN_CLI_CHANGES_H
#define SEEN_CLI_CHANGES_H

#include <stdbool.h>

#include "tracker/content/fate.h"
#include "tracker/segment/tables.h"

enum change_period {
	CHANGE_EVER,
	CHANGE_UNREPORTED, /* since `seen edited --clear` */
};

struct change {
	enum fate fate;
	bool counts;            /* made, changed or removed: fate_is_change() */
	bool by_agent, by_tool; /* in that period; both: one after the other */
	/* Whose it is where there is one answer: the agent's where it changed the file at all, else
	 * its tools'.  SOURCE_NONE: the session did not change it in that period. */
	enum source source;
};

/* change_of(): what the session made of a file. */
struct change change_of(const struct file_slot *file, enum change_period period);

#endif

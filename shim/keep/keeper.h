/*
 * Who keeps something for undo: both mechanisms, by the same pieces.
 *
 *	keep_call.c     what a call about names or metadata is about to destroy, and how it ended
 *	keep_content.c  content on record
 *	keep_attribute.c  extended attributes on record
 *	keep_name.c     what a name stands for
 *	scratch.c       memory for paths
 *	step.c          which programs are steps
 *
 * A name that these are given (struct call_name) is the caller's own: a supervisor hands on descriptors of its own
 * for the directories that another process names.
 *
 * Async-signal-safe, also between vfork and exec; errno is left alone.
 */
#ifndef SEEN_KEEP_KEEPER_H
#define SEEN_KEEP_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracker/segment/segment.h"

struct keeper {
	const struct segment *segment;
	uint32_t process; /* whose call it is: number of its START or FORK record; 0: not known */
	uint32_t pid;
	/* Would closing a descriptor for that file give up a lock of the caller's?  NULL: no. */
	bool (*may_be_locked)(const struct stat *file);
	/* Has a program of the session that file open for writing?  NULL: not known. */
	bool (*is_open)(const struct segment *segment, const char *path);
	/* Is there a text at that address, to be read before the kernel did?  NULL: yes. */
	bool (*is_text)(const char *text);
};

#endif

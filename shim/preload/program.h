/* The program file that a call of exec names. */
#ifndef SEEN_SHIM_PROGRAM_H
#define SEEN_SHIM_PROGRAM_H

#include <stdbool.h>

#include "tracker/process/image.h"

/* Where a program being started lies, as given. */
struct program_place {
	int directory;    /* that a relative path begins at; AT_FDCWD; PROGRAM_DIRECTORY_UNKNOWN */
	const char *path; /* "" for the descriptor itself */
	bool searches;    /* a name without a slash is looked for along PATH, as execvp(3) does */
};

enum { PROGRAM_DIRECTORY_UNKNOWN = -1 };

struct program_file {
	enum image_kind kind; /* of a script: of its interpreter's file, or that one's ... */
	bool gains_privileges;
};

/* program_search(): the file that execvp(3) runs for a name without a slash, by this process's PATH.
 * In scratch, to be released; NULL where there is none, or no memory. */
char *program_search(const char *name);

/* program_classify(): finds the file, as libc and the kernel would, and tells what it is.
 *
 * place: its path is readable.  A file is read once: what it was found to be is noted for all
 * processes of the session, by its identity and times.
 * IMAGE_UNKNOWN where nothing is found, and for what is no program file.
 * Async-signal-safe; for use between (v)fork and exec. */
struct program_file program_classify(struct program_place place);

#endif

/*
 * Inputs: what a reader's output hangs on, file by file and directory by directory, and whether it
 * is still what it was.
 *
 * A list of them is made while the reader runs (shim/preload/follow/reader.c), kept beside the
 * content store (contents_write_inputs()), and inspected before its command is answered the next
 * time.  An input is inspected when it is opened, before the program reads it: what comes later
 * shows as a difference.  At the end its stamp has to be what it was then.
 *
 * Memory is mapped, never allocated.  Any thread may add; all else is for one thread, when no other
 * one adds.  Lock-free; async-signal-safe.
 */
#ifndef SEEN_TRACKER_INPUTS_H
#define SEEN_TRACKER_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/version.h"

enum {
	INPUTS_MAX = 4096, /* of one command; a directory's entries count where each is inspected */
	INPUTS_BYTES_MAX = 1048576,      /* of a list */
	INPUTS_READ_BYTES_MAX = 8388608, /* of one file */
	INPUTS_READ_BYTES_ALL_MAX = 67108864,
};

enum input_kind {
	INPUT_CONTENT, /* the bytes of a file */
	INPUT_ABSENT,  /* it could not be opened: the version holds the errno */
	INPUT_TYPE,    /* what a name is: a file, a directory, a link and to what, or nothing */
	INPUT_NAMES,   /* a directory's entries: names and types, as they come */
	INPUT_DETAILS, /* and what lstat(2) returns for each */
	INPUT_WORD,    /* what lstat(2) and stat(2) return for a name, or that there is none */
	INPUT_OWNER,   /* what a name is, as TYPE; whose, and its mode */
	INPUT_COMMAND, /* none: the command itself stands for the path (inputs_add_command()) */
	INPUT_KINDS,
};

/* What is inspected beside that, of DETAILS and WORD. */
enum input_flags {
	INPUT_ACCESS_TIME = 1,
	INPUT_PARENT = 2, /* a directory's entry `..` too */
};

/* One of a list.  Its path, ended by NUL, follows; then zeros up to a multiple of 8. */
struct input {
	uint32_t size_bytes; /* of all of it */
	uint16_t kind;       /* enum input_kind */
	uint16_t flags;      /* enum input_flags */
	struct version version;
	struct stamp stamp; /* when it was inspected; zeros for what has none */
};

/* A list in memory.  Zeros: none. */
struct inputs {
	char *bytes; /* struct input, one behind the other; INPUTS_BYTES_MAX of them mapped */
	size_t size_bytes;
	uint32_t count; /* INPUTS_MAX at most; entries of directories included */
	uint64_t read_bytes;
	/* CLOCK_REALTIME: programs print the times of files older than half a year in another way */
	uint64_t now_ns;
};

/* inputs_init(): makes an empty list.  Returns 0, or a negative errno.  inputs_clear(): empties it.
 * inputs_done(): gives its memory back; a list of zeros is let pass. */
int inputs_init(struct inputs *ret_inputs);
void inputs_clear(struct inputs *inputs);
void inputs_done(struct inputs *inputs);

/* inputs_add(): inspects one thing and puts it into the list.  What is in it already is not
 * inspected again.
 *
 * path: absolute, or relative to the current directory.  fd: open for it, read by pread alone; -1:
 * none; CONTENT asks for it.  error: ABSENT: the errno.
 * Returns 0; -E2BIG where that is more than a list may hold; -EINVAL for what is no regular file,
 * or does not hold as many bytes as it says (proc(5)), and for a directory that is not what `fd` is
 * open for; other errors of the calls that look. */
int inputs_add(struct inputs *inputs, enum input_kind kind, unsigned flags, const char *path,
	       int fd, int error);

/* inputs_add_known(): the same.  stat: what fstat(2) returned for `fd`; NULL: it is called. */
int inputs_add_known(struct inputs *inputs, enum input_kind kind, unsigned flags, const char *path,
		     int fd, const struct stat *stat, int error);

/* inputs_add_command(): the command whose inputs these are, as text; it is no input, and changes
 * nothing of the rest.  Returns 0 or -E2BIG.  inputs_command(): it; NULL: there is none. */
int inputs_add_command(struct inputs *inputs, const char *command);
const char *inputs_command(const struct inputs *inputs);

/* inputs_are_same(): is each of a list still what it was?
 *
 * by_content: by its bytes, else by its stamp alone.  False also where one cannot be inspected. */
bool inputs_are_same(const struct inputs *inputs, bool by_content);

/* inputs_are_old(): was none of what has a stamp changed since the list was begun, or so short
 * before that its time does not tell?  What is inspected behind the program's own call is else what
 * came after that. */
bool inputs_are_old(const struct inputs *inputs);

/* inputs_length(): how many there are in a list. */
uint32_t inputs_length(const struct inputs *inputs);

#endif

/*
 * Where a document or rows go: standard output, or a file that is there whole or not at all, or one
 * that is added to.
 *
 * A file that is replaced is written beside its place and renamed over it at the end, so that no
 * reader finds half of it, and what was there stays when something goes wrong.  One that is added
 * to is written by whole lines: a program that follows it, or adds to it too, never finds half a
 * line, unless the disk becomes full.
 */
#ifndef SEEN_CLI_OUTPUT_H
#define SEEN_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *file;
	char *path; /* as messages call it; NULL: standard output */
	/* what is replaced; NULL: it is written to as it is (a pipe, a device, added to) */
	char *place;
	char *fresh; /* the file in the making, beside it */
	char *buffer;
	int error; /* of the first write that failed */
};

enum output_way {
	OUTPUT_REPLACE,
	OUTPUT_ADD, /* at the end; its last line must be a whole one */
	/* likewise; a last line that was not finished is cut off: for a file that is known to be
	 * ours */
	OUTPUT_MEND,
};

/* output_open(): opens it for writing; output_close() it.
 *
 * path: NULL or "-": standard output.  A symbolic link is followed.  A new file is its owner's
 * alone (0600), one that is there keeps its mode.  What is no regular file is written to as it is.
 * Returns 0; -ENOMEM; -EISDIR; -EILSEQ for OUTPUT_ADD when the last line of the file is not
 * finished; errors of open(2). */
int output_open(const char *path, enum output_way way, struct output *ret_output);

/* output_row(): call it behind each line.  Returns 0, or what a write failed with, now or before:
 * there is no use in going on. */
int output_row(struct output *output);

/* output_finish(): writes what was not written yet, and puts the file in its place; it is on the
 * disk then.  Returns 0; -ENOMEM where a value of JSON lacked memory; the errors of write(2), fsync(2), rename(2): what was
 * there before is unchanged, unless it was added to. */
int output_finish(struct output *output);

/* output_is_same(): are both paths one file that is there?  path: NULL: no. */
bool output_is_same(const char *path, const char *other);

/* output_failed(): says on stderr that it could not be written.  Returns EXIT_CODE_OUTPUT. */
int output_failed(const struct output *output, int error);

/* output_close(): removes what was not finished.  Accepts one that was not opened (all zero). */
void output_close(struct output *output);

#endif

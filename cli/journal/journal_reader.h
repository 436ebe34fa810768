/*
 * A journal read from its beginning to its end, in parts: a file of any length takes the same
 * memory.
 *
 * A journal that is mapped stands in the memory of its reader, as far as it was read, and in pieces
 * as large as the kernel sees fit.
 * So what is read next lies in a buffer here, and of what was before some pieces that were asked
 * for last: a few texts are named again and again.  Only the header is mapped, where writers say
 * how far they are.
 *
 * Others may write while it is read: what a buffer holds of a record that was not finished is read
 * again before that is believed.
 */
#ifndef SEEN_CLI_JOURNAL_READER_H
#define SEEN_CLI_JOURNAL_READER_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/journal/journal.h"

enum {
	JOURNAL_READER_AHEAD_UNITS = 4096, /* 256 KiB */
	/* Of what is elsewhere: each begins with a record that was asked for, and holds all of
	 * it. */
	JOURNAL_READER_PIECES = 8,
	JOURNAL_READER_PIECE_UNITS = 256,
};

/* Records that begin from `from` on and before `to`; 0: none. */
struct journal_reader_piece {
	struct journal view; /* its units are in a buffer */
	uint64_t from, to;
};

struct journal_reader {
	struct journal head;
	int fd;
	struct journal_reader_piece ahead, pieces[JOURNAL_READER_PIECES];
	unsigned oldest; /* piece */
	int error; /* of the first read that failed: what was found since may lack something */
	/* The first word of a record is loaded by one atomic instruction, which faults where its
	 * address is not aligned (aarch64). */
	alignas(uint64_t) unsigned char ahead_bytes[JOURNAL_READER_AHEAD_UNITS * JOURNAL_UNIT_BYTES];
	alignas(uint64_t) unsigned char piece_bytes[JOURNAL_READER_PIECES]
						   [JOURNAL_READER_PIECE_UNITS * JOURNAL_UNIT_BYTES];
};

/* journal_reader_open(): opens a journal; journal_reader_close() it, also where this failed.
 * reader: all zero before, and not moved.
 * Returns 0, or as journal_map_to_read(). */
int journal_reader_open(const char *path, struct journal_reader *reader);
void journal_reader_close(struct journal_reader *reader);

/* journal_reader_next(), journal_reader_behind_undone(), journal_reader_end_unit(): as
 * journal_next(), journal_behind_undone() and journal_end_unit() of a view of the whole file,
 * whatever it grew to. */
enum journal_found journal_reader_next(struct journal_reader *reader, uint64_t *number,
				       struct journal_entry *ret_entry);
uint64_t journal_reader_behind_undone(struct journal_reader *reader, uint64_t number);
uint64_t journal_reader_end_unit(const struct journal_reader *reader);

/* journal_reader_seek(): what is read next lies there, and behind it. */
void journal_reader_seek(struct journal_reader *reader, uint64_t number);

/* journal_reader_bytes(): as journal_bytes(); valid until the next call. */
const char *journal_reader_bytes(struct journal_reader *reader, uint32_t number,
				 size_t *ret_size_bytes);

#endif

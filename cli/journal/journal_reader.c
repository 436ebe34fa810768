/* A journal read in parts: see journal_reader.h. */
#include "cli/journal/journal_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tracker/journal/journal_map.h"

_Static_assert((int)JOURNAL_READER_PIECE_UNITS > (int)JOURNAL_RECORD_UNITS_MAX, "a whole record");
_Static_assert((int)JOURNAL_READER_AHEAD_UNITS > (int)JOURNAL_RECORD_UNITS_MAX, "a whole record");

int journal_reader_open(const char *path, struct journal_reader *reader)
{
	reader->fd = -1;
	return journal_map_head(path, &reader->head, &reader->fd);
}

void journal_reader_close(struct journal_reader *reader)
{
	journal_unmap(&reader->head);
	if (reader->fd >= 0)
		(void)close(reader->fd);
}

uint64_t journal_reader_end_unit(const struct journal_reader *reader)
{
	uint64_t next = __atomic_load_n(&reader->head.header->next, __ATOMIC_ACQUIRE);
	uint64_t allocated = __atomic_load_n(&reader->head.header->allocated, __ATOMIC_ACQUIRE);
	return next < allocated ? next : allocated;
}

/* Reads from a record's place on.  Returns how many bytes there are. */
static size_t read_at(struct journal_reader *reader, uint64_t number, unsigned char *bytes,
		      size_t capacity)
{
	size_t got = 0;

	while (got < capacity) {
		ssize_t more = pread(reader->fd, bytes + got, capacity - got,
				     (off_t)(number * JOURNAL_UNIT_BYTES + got));
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0 && reader->error == 0)
			reader->error = -errno;
		if (more <= 0)
			break;
		got += (size_t)more;
	}
	return got;
}

/* Fills a part from a record on. */
static void load(struct journal_reader *reader, struct journal_reader_piece *part, uint64_t number)
{
	unsigned index = (unsigned)(part - reader->pieces);
	bool is_ahead = part == &reader->ahead;
	unsigned char *bytes = (unsigned char *)(is_ahead ? reader->ahead_bytes
							  : reader->piece_bytes[index]);
	size_t got = read_at(reader, number, bytes,
			     is_ahead ? sizeof(reader->ahead_bytes)
				      : sizeof(reader->piece_bytes[index]));

	part->view.header = reader->head.header;
	part->view.units = bytes - number * JOURNAL_UNIT_BYTES;
	part->from = number;
	part->to = number + got / JOURNAL_UNIT_BYTES;
	part->view.mapped_units = part->to;
}

void journal_reader_seek(struct journal_reader *reader, uint64_t number)
{
	reader->ahead.from = reader->ahead.to = number;
}

static bool holds(const struct journal_reader_piece *part, uint64_t number)
{
	return number >= part->from && number < part->to;
}

/* The part that a record begins in. */
static struct journal_reader_piece *part_of(struct journal_reader *reader, uint64_t number)
{
	struct journal_reader_piece *part = &reader->ahead;

	if (holds(part, number))
		return part;
	/* A number far behind or ahead does not make the reader go there. */
	if (number >= part->to && number - part->to <= JOURNAL_RECORD_UNITS_MAX) {
		load(reader, part, number);
		return part;
	}
	for (unsigned i = 0; i < JOURNAL_READER_PIECES; i++)
		if (holds(&reader->pieces[i], number))
			return &reader->pieces[i];
	part = &reader->pieces[reader->oldest];
	reader->oldest = (reader->oldest + 1) % JOURNAL_READER_PIECES;
	load(reader, part, number);
	return part;
}

/* Reads a part again, from a record on, if what it holds of that is not what the file holds now, or
 * not all of it.  Returns whether it did. */
static bool refresh(struct journal_reader *reader, struct journal_reader_piece *part,
		    uint64_t number)
{
	unsigned char bytes[JOURNAL_RECORD_UNITS_MAX * JOURNAL_UNIT_BYTES];
	struct journal_head head;
	const unsigned char *held = part->view.units + number * JOURNAL_UNIT_BYTES;

	if (!holds(part, number))
		return false; /* the file ends before it */
	memcpy(&head, held, sizeof(head));
	size_t size = head.units ? head.units * (size_t)JOURNAL_UNIT_BYTES : JOURNAL_UNIT_BYTES;
	size_t held_size = (size_t)(part->to - number) * JOURNAL_UNIT_BYTES;
	if (size <= held_size && read_at(reader, number, bytes, size) == size &&
	    memcmp(bytes, held, size) == 0)
		return false;
	if (part->from == number && size > held_size)
		return false; /* there is no more of it */
	load(reader, part, number);
	return true;
}

enum journal_found journal_reader_next(struct journal_reader *reader, uint64_t *number,
				       struct journal_entry *ret_entry)
{
	uint64_t at = *number;

	if (at < JOURNAL_UNITS_FIRST || at >= journal_reader_end_unit(reader))
		return JOURNAL_FOUND_END;
	struct journal_reader_piece *part = part_of(reader, at);
	enum journal_found found = journal_next(&part->view, number, ret_entry);
	if (found != JOURNAL_FOUND_RECORD && refresh(reader, part, at)) {
		*number = at;
		found = journal_next(&part->view, number, ret_entry);
	}
	return found;
}

uint64_t journal_reader_behind_undone(struct journal_reader *reader, uint64_t number)
{
	if (number < JOURNAL_UNITS_FIRST)
		return number + 1;
	struct journal_reader_piece *part = part_of(reader, number);
	(void)refresh(reader, part, number);
	return journal_behind_undone(&part->view, number);
}

const char *journal_reader_bytes(struct journal_reader *reader, uint32_t number,
				 size_t *ret_size_bytes)
{
	if (number < JOURNAL_UNITS_FIRST || number >= journal_reader_end_unit(reader))
		return NULL;
	struct journal_reader_piece *part = part_of(reader, number);
	const char *bytes = journal_bytes(&part->view, number, ret_size_bytes);
	if (!bytes && refresh(reader, part, number))
		bytes = journal_bytes(&part->view, number, ret_size_bytes);
	return bytes;
}

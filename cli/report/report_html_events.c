/* A report's files and events for the page: see report_html_events.h. */
#define XXH_INLINE_ALL
#include "cli/report/report_html_events.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "cli/journal/event_filter.h"
#include "cli/journal/event_particulars.h"
#include "cli/journal/event_print.h"
#include "cli/journal/events.h"
#include "tracker/path/path.h"
#include "tracker/process/source.h"

enum {
	NS_PER_US = 1000,
	NUMBER_BYTES_MAX = 10, /* of a number of 64 bits */
	/* What one element holds: little enough to be taken apart between two pictures, enough to
	 * be few. */
	CHUNK_BYTES = 96 * 1024,
	/* Arguments and paths are cut by the journal, and four times as long at most when they are
	 * escaped. */
	TEXT_BYTES_MAX = (2 * JOURNAL_TEXT_BYTES_MAX + 2) * 4 + 64,
	ENTRY_BYTES_MAX = TEXT_BYTES_MAX + 16 * NUMBER_BYTES_MAX,
	TEXTS_FIRST = 1024,
	/* Of all texts together: a journal may hold a million names of 8 KiB. */
	TEXTS_BYTES_MAX = 64 * 1024 * 1024,
};

/* One kind of elements, and the entries of the one that is being filled. */
struct series {
	const char *class;
	size_t used;
	unsigned char bytes[CHUNK_BYTES + ENTRY_BYTES_MAX];
};

/* A text that was written: by its hash alone, whose seed an author of texts does not know. */
struct written_text {
	XXH128_hash_t hash;
	uint32_t number; /* 0: empty */
};

struct packer {
	FILE *file;
	struct series files, events, texts;
	char base64[BASE64_ENCODE_RAW_LENGTH(CHUNK_BYTES + ENTRY_BYTES_MAX)];

	/* Texts. */
	struct written_text *known;
	size_t known_capacity, known_count;
	uint64_t seed;
	uint32_t text_count;
	uint64_t text_bytes;
	char text[2][TEXT_BYTES_MAX]; /* the one written last, and the one in the making */
	size_t text_length[2];
	FILE *text_file[2];
	unsigned last_text; /* which of them was written last */

	/* Of the event before. */
	uint64_t number, time_us, process;
	uint32_t path, details;
	struct packed_counts counts;
};

/* ---- series ---- */

static void write_byte(struct series *series, unsigned byte)
{
	series->bytes[series->used++] = (unsigned char)byte;
}

static void write_number(struct series *series, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		write_byte(series, 0x80 | (number & 0x7f));
	write_byte(series, (unsigned)number);
}

/* From one value to another, which may be less. */
static void write_step(struct series *series, uint64_t from, uint64_t to)
{
	uint64_t step = to - from;
	write_number(series, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
}

static void flush(struct packer *packer, struct series *series)
{
	if (!series->used)
		return;
	base64_encode_raw(packer->base64, series->used, series->bytes);
	(void)fprintf(packer->file, "<script type=\"application/octet-stream\" class=\"%s\">",
		      series->class);
	(void)fwrite(packer->base64, 1, BASE64_ENCODE_RAW_LENGTH(series->used), packer->file);
	(void)fputs("</script>\n", packer->file);
	series->used = 0;
}

static void entry_done(struct packer *packer, struct series *series)
{
	if (series->used >= CHUNK_BYTES)
		flush(packer, series);
}

/* ---- texts ---- */

static struct written_text *known_find(struct written_text *known, size_t capacity,
				       XXH128_hash_t hash)
{
	size_t at = hash.low64 & (capacity - 1);
	while (known[at].number && !XXH128_isEqual(known[at].hash, hash))
		at = (at + 1) & (capacity - 1);
	return &known[at];
}

/* Makes room for one more text.  Where there is none to be had, those that are known are
 * forgotten. */
static void known_make_room(struct packer *packer)
{
	if (packer->known_count < packer->known_capacity / 2)
		return;
	size_t capacity = packer->known_capacity * 2;
	struct written_text *known = packer->known_count < PACKED_TEXTS_MAX
					     ? calloc(capacity, sizeof(*known))
					     : NULL;
	if (!known) {
		memset(packer->known, 0, packer->known_capacity * sizeof(*packer->known));
		packer->known_count = 0;
		return;
	}
	for (size_t i = 0; i < packer->known_capacity; i++)
		if (packer->known[i].number)
			*known_find(known, capacity, packer->known[i].hash) = packer->known[i];
	free(packer->known);
	packer->known = known;
	packer->known_capacity = capacity;
}

/* Where a text is to be printed; text_number() takes it. */
static FILE *text_start(struct packer *packer)
{
	FILE *file = packer->text_file[!packer->last_text];
	rewind(file);
	return file;
}

/* The number of the text that was printed, written now unless it is known; blanks before it do not
 * count.  0: it is empty, or no more texts are written. */
static uint32_t text_number_of(struct packer *packer)
{
	unsigned new = !packer->last_text;
	FILE *file = packer->text_file[new];
	long printed = fflush(file) == 0 ? ftell(file) : 0;
	char *text = packer->text[new];
	size_t blanks = 0, length = printed > 0 ? (size_t)printed : 0, shared = 0;

	while (blanks < length && text[blanks] == ' ')
		blanks++;
	length -= blanks;
	memmove(text, text + blanks, length);
	if (length == 0)
		return 0;
	known_make_room(packer);
	XXH128_hash_t hash = XXH3_128bits_withSeed(text, length, packer->seed);
	struct written_text *known = known_find(packer->known, packer->known_capacity, hash);
	if (known->number)
		return known->number;
	if (packer->text_bytes + length > TEXTS_BYTES_MAX)
		return 0;

	const char *before = packer->text[packer->last_text];
	size_t before_length = packer->text_length[packer->last_text];
	while (shared < length && shared < before_length && text[shared] == before[shared])
		shared++;
	write_number(&packer->texts, shared);
	write_number(&packer->texts, length - shared);
	memcpy(packer->texts.bytes + packer->texts.used, text + shared, length - shared);
	packer->texts.used += length - shared;
	entry_done(packer, &packer->texts);

	packer->text_length[new] = length;
	packer->last_text = new;
	packer->text_bytes += length;
	packer->known_count++;
	*known = (struct written_text){ .hash = hash, .number = ++packer->text_count };
	return packer->text_count;
}

/* ---- files ---- */

/* The order of the numbers: config/data/page/data.js knows it too. */
static void write_file(struct packer *packer, const struct report_file *row, const char *workspace)
{
	static char escaped[TEXT_BYTES_MAX];
	const struct report_work *work = &row->work;
	const uint64_t numbers[] = {
		work->opens_read, work->bytes_read,  work->opens_write, work->bytes_written,
		row->repeats,     work->notices,     work->bytes_saved, work->changes,
		row->edits,       row->changed,      row->given,        work->failed,
		work->listings,   row->in_workspace,
	};
	FILE *file = text_start(packer);

	/* As event_print_subject() has it: the same text has the same number. */
	if (path_escape(event_path_shown(workspace, row->path), escaped, sizeof(escaped)) >= 0)
		(void)fputs(escaped, file);
	uint32_t path = text_number_of(packer);
	write_step(&packer->files, packer->path, path);
	packer->path = path;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		write_number(&packer->files, numbers[i]);
	entry_done(packer, &packer->files);
}

static void write_files(struct packer *packer, const struct report *report)
{
	for (size_t i = 0; i < report->file_count; i++)
		write_file(packer, &report->files[i], report->workspace);
	flush(packer, &packer->files);
	packer->path = 0;
}

/* ---- events ---- */

/* What the page says by itself, of the amount. */
static bool is_counted_by_amount(unsigned op)
{
	return op_info(op)->traits & OP_AMOUNT;
}

static void write_process(struct packer *packer, const struct event *event)
{
	const struct journal_process *process = &event->entry->process;
	uint64_t origin = event->op == JOURNAL_START ? event->exec : process->starter;
	struct series *series = &packer->events;

	write_number(series, event->pid);
	write_number(series, event->parent_pid);
	write_number(series, (uint64_t)event->role + 1);
	write_number(series, process->context);
	write_number(series, origin && origin < event->number ? event->number - origin : 0);
}

static void write_event(struct packer *packer, const struct event *event, const char *workspace)
{
	struct series *series = &packer->events;
	/* Of a time that is not known: that of the event before. */
	uint64_t time_us = event->time_realtime_ns ? event->time_realtime_ns / NS_PER_US
						   : packer->time_us;
	uint64_t process = event->process && event->process <= event->number ? event->process : 0;
	uint64_t amount = is_counted_by_amount(event->op) ? event->entry->record.amount : 0;
	uint32_t path, details = 0;
	unsigned marks = 0;

	event_print_subject(text_start(packer), event, workspace);
	path = text_number_of(packer);
	if (!is_counted_by_amount(event->op)) {
		event_particulars_show(text_start(packer), event, workspace);
		details = text_number_of(packer);
	}

	marks |= process != packer->process ? PACKED_PROCESS : 0;
	marks |= event->error ? PACKED_ERROR : 0;
	marks |= amount ? PACKED_AMOUNT : 0;
	marks |= path ? PACKED_PATH : 0;
	marks |= details ? PACKED_DETAILS : 0;
	marks |= event->attempted ? PACKED_ATTEMPTED : 0;
	if (source_is_external(event->source))
		marks |= PACKED_BY_OTHERS;
	if (amount && (event->entry->record.marks & JOURNAL_AT_LEAST))
		marks |= PACKED_AT_LEAST;

	write_byte(series, event->op);
	write_byte(series, marks);
	write_number(series, event->number - packer->number);
	write_step(series, packer->time_us, time_us);
	if (marks & PACKED_PROCESS)
		write_number(series, process ? event->number - process + 1 : 0);
	if (marks & PACKED_ERROR)
		write_number(series, (uint64_t)event->error);
	if (marks & PACKED_AMOUNT)
		write_number(series, amount);
	if (marks & PACKED_PATH)
		write_step(series, packer->path, path);
	if (marks & PACKED_DETAILS)
		write_step(series, packer->details, details);
	unsigned effect = op_info(event->op)->effect;
	if (effect == EFFECT_STARTS || effect == EFFECT_FORKS)
		write_process(packer, event);
	entry_done(packer, series);

	packer->number = event->number;
	packer->time_us = time_us;
	packer->process = process;
	packer->path = path ? path : packer->path;
	packer->details = details ? details : packer->details;
	packer->counts.events++;
}

static void write_events(struct packer *packer, struct events *events, uint64_t end,
			 uint64_t events_max)
{
	const char *workspace = events_workspace(events);
	enum events_found found;
	struct event event;

	while ((found = events_next(events, &event)) != EVENTS_END) {
		if (found == EVENTS_UNDONE) {
			events_pass(events);
			continue;
		}
		if (event.number >= end)
			break;
		if (packer->counts.events >= events_max) {
			packer->counts.left_out++;
			continue;
		}
		if (!packer->time_us && event.time_realtime_ns) {
			packer->time_us = event.time_realtime_ns / NS_PER_US;
			packer->counts.first_realtime_ns = packer->time_us * NS_PER_US;
		}
		write_event(packer, &event, workspace);
	}
	flush(packer, &packer->texts);
	flush(packer, &packer->events);
}

int packed_write(FILE *file, const struct report *report, const char *path, uint64_t events_max,
		 struct packed_counts *ret_counts)
{
	struct events *events = NULL;
	struct packer *packer;
	int error = events_open(path, false, &events);

	if (error < 0)
		return error;
	error = -ENOMEM;
	packer = calloc(1, sizeof(*packer));
	if (!packer)
		goto close_events;
	packer->file = file;
	packer->files.class = "files";
	packer->events.class = "events";
	packer->texts.class = "texts";
	packer->known = calloc(TEXTS_FIRST, sizeof(*packer->known));
	packer->known_capacity = TEXTS_FIRST;
	for (int i = 0; i < 2; i++)
		packer->text_file[i] = fmemopen(packer->text[i], TEXT_BYTES_MAX, "w");
	if (packer->known && packer->text_file[0] && packer->text_file[1]) {
		if (getrandom(&packer->seed, sizeof(packer->seed), GRND_NONBLOCK) < 0)
			packer->seed = (uintptr_t)packer;
		write_files(packer, report);
		write_events(packer, events, report->end,
			     events_max < PACKED_EVENTS_MAX ? events_max : PACKED_EVENTS_MAX);
		*ret_counts = packer->counts;
		error = events_error(events);
	}
	for (int i = 0; i < 2; i++)
		if (packer->text_file[i])
			(void)fclose(packer->text_file[i]);
	free(packer->known);
	free(packer);
close_events:
	events_close(events);
	return error;
}

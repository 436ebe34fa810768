/* What was done before: see hook_history.h. */
#include "cli/hooks/hook_history.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory_stream.h"
#include "cli/journal/history_text.h"
#include "cli/journal/reported.h"
#include "cli/session/owned.h"
#include "tracker/content/contents_name.h"

enum {
	/* Of a journal its end is read, and more of it until there are lines enough; so much in all. */
	TAIL_UNITS_FIRST = (256 << 10) / JOURNAL_UNIT_BYTES,
	UNITS_MAX = (64 << 20) / JOURNAL_UNIT_BYTES,
	TAIL_QUARTERS_MAX = 128, /* by which the end grows at once */
	LINES_MAX = 512,
	SCOPES_MAX = 64,
};

static const char HEAD[] =
	"Before in this conversation, oldest first (`seen history` has all of it):\n";

struct former {
	const struct hook_input *input;
	struct history_text text;
	int contents;
	uint64_t scopes[SCOPES_MAX]; /* in which the conversation was */
	size_t scope_count;
	char *lines[LINES_MAX]; /* of the session that is read: a ring; owned */
	size_t first, count, bytes, room;
	bool is_full;   /* an older line had no room */
	uint64_t units; /* of journals, that were read */
	char *joined;   /* of the later sessions; owned */
};

/* ---- whose it is ---- */

static void note_scope(struct former *former, uint64_t scope_id)
{
	for (size_t i = 0; i < former->scope_count; i++)
		if (former->scopes[i] == scope_id)
			return;
	if (scope_id && former->scope_count < SCOPES_MAX)
		former->scopes[former->scope_count++] = scope_id;
}

static void note_reported(const struct event *event, void *data)
{
	struct former *former = data;
	const char *conversation = reported_text(event->other, event->other_bytes,
						 REPORTED_CONVERSATION);

	if (conversation && strcmp(conversation, former->input->conversation) == 0)
		note_scope(former, event->entry->record.amount);
}

static bool is_of_conversation(const struct former *former, const struct history_entry *entry)
{
	/* Instructions are given again by themselves; what did not surely reach the model is none of it. */
	if (entry->kind == HISTORY_INSTRUCTION ||
	    (entry->kind == HISTORY_REQUEST && entry->decision == HISTORY_NOT_KNOWN))
		return false;
	if (entry->kind == HISTORY_TOOL)
		return entry->conversation &&
		       strcmp(entry->conversation, former->input->conversation) == 0;
	for (size_t i = 0; i < former->scope_count; i++)
		if (former->scopes[i] == entry->scope_id)
			return true;
	return false;
}

/* ---- lines ---- */

static void drop_first(struct former *former)
{
	former->bytes -= strlen(former->lines[former->first]);
	free(former->lines[former->first]);
	former->first = (former->first + 1) % LINES_MAX;
	former->count--;
	former->is_full = true;
}

static void drop_all(struct former *former)
{
	while (former->count)
		drop_first(former);
	former->is_full = false;
}

/* line: taken over. */
static void add_line(struct former *former, char *line)
{
	if (former->count == LINES_MAX)
		drop_first(former);
	former->lines[(former->first + former->count++) % LINES_MAX] = line;
	former->bytes += strlen(line);
	while (former->count && former->bytes > former->room)
		drop_first(former);
}

static int add_entry(const struct history_entry *entry, void *data)
{
	struct former *former = data;
	char *line = NULL;
	size_t length = 0;

	if (!is_of_conversation(former, entry))
		return 0;
	former->text.out = memory_stream_open(&line, &length);
	if (!former->text.out)
		return 0;
	if (entry->kind != HISTORY_REQUEST && entry->kind != HISTORY_TOOL)
		kept_text_read(former->contents, &entry->version, former->text.characters,
			       &former->text.shown);
	history_text_write(&former->text, entry);
	if (fclose(former->text.out) == 0 && length)
		add_line(former, line);
	else
		free(line);
	return 0;
}

/* What happened in the last units of a session's journal.  Returns whether more of it may be of
 * use. */
static bool read_tail(struct former *former, const char *path, uint64_t units)
{
	struct events *events;

	drop_all(former);
	former->scope_count = 0;
	if (events_open(path, false, &events) < 0)
		return false;
	uint64_t end = events_end_unit(events), all = end - events_position(events);
	if (units > UNITS_MAX - former->units)
		units = UNITS_MAX - former->units;
	if (units < all)
		(void)events_skip(events, end - units);
	former->units += units < all ? units : all;
	former->text.workspace = events_workspace(events);
	(void)history_each(events, 0, note_reported, add_entry, former);
	events_close(events);
	return units < all && !former->is_full && former->units < UNITS_MAX;
}

/* The lines of the session stand before those of the later ones. */
static void join_lines(struct former *former)
{
	char *text = NULL;
	size_t length = 0, bytes = former->bytes;
	bool is_full = former->is_full;
	FILE *out = former->count ? memory_stream_open(&text, &length) : NULL;

	if (!out)
		return;
	for (size_t i = 0; i < former->count; i++)
		(void)fputs(former->lines[(former->first + i) % LINES_MAX], out);
	(void)fputs(former->joined ? former->joined : "", out);
	drop_all(former);
	if (fclose(out) != 0) {
		free(text);
		return;
	}
	free(former->joined);
	former->joined = text;
	former->room -= bytes;
	former->is_full = is_full;
}

/* What happened in one session.  directory: of it. */
static void read_session(struct former *former, const char *directory)
{
	char path[SEGMENT_PATH_BYTES];
	uint64_t units = TAIL_UNITS_FIRST;

	if (snprintf(path, sizeof(path), "%s/" CONTENTS_DIRECTORY, directory) >=
		    (int)sizeof(path) ||
	    session_open_directory(AT_FDCWD, path, &former->contents) < 0)
		former->contents = -1;
	if (snprintf(path, sizeof(path), "%s/journal", directory) < (int)sizeof(path) &&
	    session_check_path(path) == 0)
		while (read_tail(former, path, units)) {
			/* As far as it takes at the rate so far, and a quarter more. */
			size_t quarters = former->bytes ? 5 * former->room / former->bytes
							: SIZE_MAX;
			if (quarters > TAIL_QUARTERS_MAX)
				quarters = TAIL_QUARTERS_MAX;
			units = units * quarters / 4;
		}
	if (former->contents >= 0)
		(void)close(former->contents);
	join_lines(former);
}

void hook_history_write(const struct hook_agent *agent, const struct hook_input *input,
			const struct hook_record *record, size_t room, FILE *out)
{
	static struct former former;

	if (room < 2 * sizeof(HEAD))
		return;
	former = (struct former){
		.input = input,
		.text = { .characters = agent->segment->settings->history_result_max_length,
			  .is_plain = true },
		.room = room - sizeof(HEAD),
	};
	for (size_t i = record->session_count; i > 0 && !former.is_full && former.units < UNITS_MAX;
	     i--)
		read_session(&former, record->sessions[i - 1]);
	if (former.joined)
		(void)fprintf(out, "%s%s", HEAD, former.joined);
	free(former.joined);
}

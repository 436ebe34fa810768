/* What was done before: see hook_history.h. */
#include "cli/hooks/hook_history.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/journal/history_text.h"
#include "cli/journal/reported.h"
#include "cli/session/owned.h"
#include "tracker/content/contents_name.h"

enum { JOURNAL_BYTES_MAX = 64 << 20, LINES_MAX = 512, SCOPES_MAX = 64 };

static const char HEAD[] =
	"Before in this conversation, oldest first (`seen history` has all of it):\n";

struct former {
	const struct hook_input *input;
	struct history_text text;
	int contents;
	uint64_t scopes[SCOPES_MAX]; /* in which the conversation was */
	size_t scope_count;
	char *lines[LINES_MAX]; /* a ring; owned */
	size_t first, count, bytes, room;
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

static void find_scopes(struct former *former, const char *path)
{
	struct events *events;
	struct event event;
	enum events_found found;

	former->scope_count = 0;
	if (events_open(path, false, &events) < 0)
		return;
	while ((found = events_next(events, &event)) != EVENTS_END) {
		if (found == EVENTS_UNDONE) {
			events_pass(events);
			continue;
		}
		const char *conversation = event.op == JOURNAL_REPORTED
						   ? reported_text(event.other, event.other_bytes,
								   REPORTED_CONVERSATION)
						   : NULL;
		if (conversation && strcmp(conversation, former->input->conversation) == 0)
			note_scope(former, event.entry->record.amount);
	}
	events_close(events);
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
	former->text.out = open_memstream(&line, &length);
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

/* What happened in one session.  directory: of it. */
static void read_session(struct former *former, const char *directory)
{
	char path[SEGMENT_PATH_BYTES];
	struct events *events;
	struct stat stat_;

	if (snprintf(path, sizeof(path), "%s/journal", directory) >= (int)sizeof(path) ||
	    session_check_path(path) < 0 || stat(path, &stat_) < 0 ||
	    (uint64_t)stat_.st_blocks * 512 > JOURNAL_BYTES_MAX)
		return;
	find_scopes(former, path);
	if (!former->scope_count || events_open(path, false, &events) < 0)
		return;
	if (snprintf(path, sizeof(path), "%s/" CONTENTS_DIRECTORY, directory) >=
		    (int)sizeof(path) ||
	    session_open_directory(AT_FDCWD, path, &former->contents) < 0)
		former->contents = -1;
	former->text.workspace = events_workspace(events);
	(void)history_each(events, 0, add_entry, former);
	if (former->contents >= 0)
		(void)close(former->contents);
	events_close(events);
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
	for (size_t i = 0; i < record->session_count; i++)
		read_session(&former, record->sessions[i]);
	if (former.count)
		(void)fputs(HEAD, out);
	while (former.count) {
		(void)fputs(former.lines[former.first], out);
		drop_first(&former);
	}
}

/* Lines of the history: see history_text.h. */
#include "cli/journal/history_text.h"

#include <inttypes.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"
#include "cli/journal/event_filter.h"
#include "tracker/answer/decision.h"
#include "tracker/path/excerpt.h"
#include "tracker/path/path.h"

/* ---- what is printed of a content ---- */

static bool is_in_full(const struct history_entry *entry)
{
	return entry->decision == DECISION_CONTENT || entry->decision == DECISION_GIVEN_AGAIN;
}

/* Was it given a file's own content? */
bool history_text_is_content(const struct history_entry *entry)
{
	return entry->kind != HISTORY_REQUEST && entry->kind != HISTORY_TOOL && is_in_full(entry);
}

/* Is the content that it was given, or that was not given again, at hand? */
bool history_text_is_kept(const struct history_text *printer, const struct history_entry *entry)
{
	return entry->kind != HISTORY_REQUEST && entry->kind != HISTORY_TOOL &&
	       (printer->shown.state == KEPT_TEXT_TEXT || printer->shown.state == KEPT_TEXT_BINARY);
}

/* ---- for people ---- */

static void print_escaped(FILE *out, const char *text)
{
	static char escaped[4 * KEPT_TEXT_BYTES];

	if (path_escape(text, escaped, sizeof(escaped)) >= 0)
		(void)fputs(escaped, out);
}

/* The first bytes of a name. */
static void print_part(FILE *out, const char *name, size_t bytes)
{
	static char part[KEPT_TEXT_BYTES];

	(void)snprintf(part, sizeof(part), "%.*s", (int)bytes, name);
	print_escaped(out, part);
}

static const char *short_name(const struct history_text *printer, const char *path)
{
	const char *below = path[0] == '/' ? event_path_below(printer->workspace, path, false)
					   : NULL;
	return !below ? path : below[0] ? below : ".";
}

/* What a call of the agent's own tool was about. */
static void print_input(const struct history_text *printer, const struct history_entry *entry)
{
	const char *tool = entry->arguments, *end = tool ? tool + entry->arguments_bytes : NULL;
	const char *input = tool && tool + strlen(tool) + 1 < end ? tool + strlen(tool) + 1 : "";
	const char *name = short_name(printer, input);
	uint64_t used;
	size_t length = strlen(name);
	size_t cut = excerpt_bytes(name, length, printer->characters, &used);

	print_part(printer->out, name, cut);
	if (cut < length)
		(void)fputs("... [truncated]", printer->out);
}

static void print_tool(const struct history_text *printer, const struct history_entry *entry)
{
	FILE *out = printer->out;

	(void)fputs("[Tool: ", out);
	print_escaped(out, entry->tool ? entry->tool : "?");
	(void)fputs("(", out);
	if (entry->kind == HISTORY_TOOL) {
		print_input(printer, entry);
	} else if (entry->kind != HISTORY_REQUEST) {
		print_escaped(out, short_name(printer, entry->paths));
	} else {
		for (size_t at = 0, i = 0; at < entry->arguments_bytes; i++) {
			/* The first one is the program. */
			if (i > 1)
				(void)fputs(" ", out);
			if (i > 0)
				print_escaped(out, entry->arguments + at);
			at += strlen(entry->arguments + at) + 1;
		}
	}
	(void)fputs(entry->kind == HISTORY_TOOL ? ")]" : ")] → ", out);
}

static void print_count(FILE *out, uint64_t bytes)
{
	char number[TEXT_NUMBER_BYTES];
	(void)fprintf(out, "%s bytes", text_number(bytes, number));
}

static void print_version(FILE *out, const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(version, digits);
	(void)fputs(version_is_none(version) ? "?" : digits, out);
}

static void print_content(const struct history_text *printer, const struct history_entry *entry)
{
	FILE *out = printer->out;
	const struct kept_text *shown = &printer->shown;

	switch (shown->state) {
	case KEPT_TEXT_TEXT:
		if (entry->version.size_bytes == 0)
			(void)fputs("(empty)", out);
		print_escaped(out, shown->text);
		if (shown->truncated)
			(void)fputs("... [truncated]", out);
		break;
	case KEPT_TEXT_BINARY:
		(void)fputs("(binary, ", out);
		print_count(out, entry->bytes);
		(void)fputs(")", out);
		break;
	case KEPT_TEXT_GONE:
	case KEPT_TEXT_DAMAGED:
		(void)fputs("(", out);
		print_count(out, entry->bytes);
		(void)fputs(", version ", out);
		print_version(out, &entry->version);
		(void)fputs(shown->state == KEPT_TEXT_GONE ? ": not kept any more)"
							   : ": what is kept of it is damaged)",
			    out);
		break;
	}
}

/* What was given in place of a content, or of a command's output. */
static void print_in_place(FILE *out, const struct history_entry *entry)
{
	if (entry->decision == DECISION_DIFF) {
		(void)fputs("(what changed since version ", out);
		print_version(out, &entry->before);
		(void)fputs(", ", out);
		print_count(out, entry->bytes);
		(void)fputs(" in place of ", out);
	} else if (entry->bytes == HISTORY_BYTES_UNKNOWN) {
		(void)fputs("(notice; not given again: ", out);
	} else {
		(void)fputs("(notice in place of ", out);
	}
	print_count(out, entry->bytes == HISTORY_BYTES_UNKNOWN ? entry->bytes_saved
							       : entry->bytes + entry->bytes_saved);
	if (!version_is_none(&entry->version)) {
		(void)fputs(", version ", out);
		print_version(out, &entry->version);
	}
	(void)fputs(")", out);
}

/* The files and directories that a command read, as a list that is cut like a content. */
static void print_paths(const struct history_text *printer, const struct history_entry *entry)
{
	FILE *out = printer->out;
	uint64_t left = printer->characters, used;
	const char *end = entry->paths + entry->paths_bytes;
	uint64_t printed = 0;

	for (const char *at = entry->paths; at < end && left > 0; printed++) {
		const char *name = short_name(printer, at);
		size_t length = strlen(name);
		const char *between = printed ? ", " : "";
		size_t cut = excerpt_bytes(between, strlen(between), left, &used);
		(void)fprintf(out, "%.*s", (int)cut, between);
		left -= used;
		cut = excerpt_bytes(name, length, left, &used);
		left -= used;
		print_part(out, name, cut);
		if (cut < length)
			break;
		at += strlen(at) + 1;
	}
	if (printed < entry->path_count)
		(void)fputs("... [truncated]", out);
}

static void print_command(const struct history_text *printer, const struct history_entry *entry)
{
	FILE *out = printer->out;
	if (entry->decision == HISTORY_NOT_KNOWN)
		(void)fputs("(not on record whether it was given)", out);
	else if (!is_in_full(entry))
		print_in_place(out, entry);
	else {
		(void)fputs("(", out);
		print_count(out, entry->bytes);
		(void)fputs(")", out);
	}
	if (entry->path_count)
		(void)fputs(" read: ", out);
	else if (entry->decision != DECISION_NOTICE) /* that one did not read anything */
		(void)fputs(" no file on record that it read", out);
	print_paths(printer, entry);
}

void history_text_write(struct history_text *printer, const struct history_entry *entry)
{
	FILE *out = printer->out;
	char time[TEXT_TIME_BYTES];

	if (!printer->is_plain && (!printer->any || printer->scope_id != entry->scope_id ||
				   (entry->epoch && printer->epoch != entry->epoch))) {
		(void)fprintf(out, "%s%sscope", printer->any ? "\n" : "", text_style(out, "1"));
		if (entry->scope_id)
			(void)fprintf(out, " %016" PRIx64, entry->scope_id);
		else
			(void)fprintf(out, " of process %" PRIu32, entry->pid);
		if (entry->epoch)
			(void)fprintf(out, " epoch %016" PRIx64, entry->epoch);
		(void)fprintf(out, " %s%s\n", clock_stamp(entry->time_realtime_ns, time),
			      text_style(out, "0"));
		printer->any = true;
		printer->scope_id = entry->scope_id;
		printer->epoch = entry->epoch ? entry->epoch : printer->epoch;
	}
	print_tool(printer, entry);
	if (entry->decision == DECISION_GIVEN_AGAIN)
		(void)fputs("(asked for again) ", out);
	if (entry->kind == HISTORY_TOOL)
		(void)fputs(entry->is_failed ? " (failed)" : "", out);
	else if (entry->kind == HISTORY_REQUEST)
		print_command(printer, entry);
	else if (is_in_full(entry))
		print_content(printer, entry);
	else
		print_in_place(out, entry);
	(void)fputs("\n", out);
}

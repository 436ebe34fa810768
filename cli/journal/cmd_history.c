/*
 * `seen history`: what each scope was given, an entry a line, each result cut.
 *
 * From the journal, and from the content store beside it: so it also shows a session whose segment
 * went with a boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/base/tokens.h"
#include "cli/command.h"
#include "cli/journal/event_filter.h"
#include "cli/journal/event_options.h"
#include "cli/journal/event_print.h"
#include "cli/journal/event_words.h"
#include "cli/journal/events.h"
#include "cli/journal/history.h"
#include "cli/journal/history_text.h"
#include "cli/journal/kept_text.h"
#include "cli/session/journal_file.h"
#include "cli/session/owned.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "config/value.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/excerpt.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"

static const char *session_name, *journal_file, *scope, *tail;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--journal", "FILE", "this journal, in place of a session's", NULL, &journal_file },
	{ "--scope", "SCOPE", "this scope alone: its 16 digits, or its name", NULL, &scope },
	{ "--tail", "N", "the last N alone", NULL, &tail },
	{ "-n", "N", NULL, NULL, &tail },
	{ "--json", NULL, "a JSON object a line, seen/history/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "history [OPTION...]",
	.summary =
		"Lists what each scope was given: the beginning of a file, or what a command read. "
		"Each result is cut after [history] result_max_length characters. For a command, "
		"the line adds whether its output reached the scope, if the journal has that.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* What is printed, and of which entries. */
struct printer {
	struct history_text text;
	int contents; /* directory of the content store; -1: there is none */
	uint64_t skipped;
	uint64_t count; /* of entries so far */
};

/* ---- for programs ---- */

static json_t *json_id(uint64_t id)
{
	char text[SCOPES_ID_BYTES];

	(void)snprintf(text, sizeof(text), "%016" PRIx64, id);
	return id ? json_string(text) : json_null();
}

static json_t *json_texts(const char *texts, size_t bytes)
{
	json_t *array = json_array();

	for (size_t at = 0; at < bytes; at += strlen(texts + at) + 1)
		(void)json_array_append_new(array, text_json(texts + at));
	return array;
}

static json_t *json_count(uint64_t number)
{
	return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

static json_t *json_version(const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(version, digits);
	return version_is_none(version) ? json_null() : json_string(digits);
}

static json_t *json_word(const char *word)
{
	return word ? json_string(word) : json_null();
}

static const char *kind_name(enum history_kind kind)
{
	static const char *const NAMES[] = { [HISTORY_DELIVERY] = "delivery",
					     [HISTORY_REQUEST] = "request",
					     [HISTORY_INSTRUCTION] = "instruction",
					     [HISTORY_TOOL] = "tool" };
	return NAMES[kind];
}

static const char *shown_name(enum kept_text_state state)
{
	static const char *const NAMES[] = { [KEPT_TEXT_TEXT] = "text",
					     [KEPT_TEXT_BINARY] = "binary",
					     [KEPT_TEXT_GONE] = "gone",
					     [KEPT_TEXT_DAMAGED] = "damaged" };
	return NAMES[state];
}

/* Tokens of what the scope was given: of the text itself where that is at hand, else by its
 * bytes. */
static json_t *json_tokens(const struct printer *printer, const struct history_entry *entry)
{
	if (entry->bytes == HISTORY_BYTES_UNKNOWN)
		return json_null();
	return json_count(history_text_is_content(entry) &&
					  history_text_is_kept(&printer->text, entry)
				  ? printer->text.shown.tokens
				  : tokens_of_bytes(entry->bytes));
}

/* Tokens that it would have been given and was not. */
static json_t *json_tokens_saved(const struct printer *printer, const struct history_entry *entry)
{
	if (!entry->bytes_saved || !history_text_is_kept(&printer->text, entry) ||
	    entry->bytes == HISTORY_BYTES_UNKNOWN)
		return json_count(tokens_of_bytes(entry->bytes_saved));
	uint64_t given = tokens_of_bytes(entry->bytes), whole = printer->text.shown.tokens;
	return json_count(whole > given ? whole - given : 0);
}

static int print_json(const struct printer *printer, const struct history_entry *entry)
{
	const struct kept_text *shown = &printer->text.shown;
	bool content = history_text_is_content(entry),
	     text = content && shown->state == KEPT_TEXT_TEXT;
	json_t *object = json_object();

	(void)json_object_set_new(object, "schema", json_string("seen/history/1"));
	(void)json_object_set_new(object, "number", json_count(entry->number));
	(void)json_object_set_new(object, "time", text_json_time(entry->time_realtime_ns));
	(void)json_object_set_new(object, "scope", json_id(entry->scope_id));
	(void)json_object_set_new(object, "epoch", json_id(entry->epoch));
	(void)json_object_set_new(object, "pid",
				  entry->pid ? json_integer(entry->pid) : json_null());
	(void)json_object_set_new(
		object, "role",
		json_word(entry->role >= 0 ? role_name((uint32_t)entry->role) : NULL));
	(void)json_object_set_new(object, "kind", json_string(kind_name(entry->kind)));
	(void)json_object_set_new(object, "tool",
				  entry->tool ? text_json(entry->tool) : json_null());
	(void)json_object_set_new(object, "arguments",
				  entry->arguments
					  ? json_texts(entry->arguments, entry->arguments_bytes)
					  : json_null());
	(void)json_object_set_new(object, "paths", json_texts(entry->paths, entry->paths_bytes));
	(void)json_object_set_new(object, "path_count", json_count(entry->path_count));
	(void)json_object_set_new(
		object, "decision",
		json_word(entry->decision == HISTORY_NOT_KNOWN
				  ? NULL
				  : event_decision_name((unsigned)entry->decision)));
	(void)json_object_set_new(object, "before", json_version(&entry->before));
	(void)json_object_set_new(object, "version", json_version(&entry->version));
	(void)json_object_set_new(object, "bytes", json_count(entry->bytes));
	(void)json_object_set_new(object, "tokens", json_tokens(printer, entry));
	(void)json_object_set_new(object, "bytes_saved", json_count(entry->bytes_saved));
	(void)json_object_set_new(object, "tokens_saved", json_tokens_saved(printer, entry));
	(void)json_object_set_new(object, "content",
				  content ? json_string(shown_name(shown->state)) : json_null());
	(void)json_object_set_new(object, "excerpt", text ? text_json(shown->text) : json_null());
	(void)json_object_set_new(object, "excerpt_tokens",
				  text ? json_count(shown->text_tokens) : json_null());
	(void)json_object_set_new(object, "truncated", json_boolean(text && shown->truncated));
	int error = json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(object);
	(void)fputs("\n", stdout);
	return (error < 0 && !ferror(stdout)) || !text_json_is_whole() ? -ENOMEM : 0;
}

/* ---- the command ---- */

static int count_entry(const struct history_entry *entry, void *data)
{
	(void)entry;
	++*(uint64_t *)data;
	return 0;
}

static int print_entry(const struct history_entry *entry, void *data)
{
	struct printer *printer = data;
	int error = 0;

	if (printer->count++ < printer->skipped)
		return 0;
	if (entry->kind != HISTORY_REQUEST && entry->kind != HISTORY_TOOL)
		kept_text_read(printer->contents, &entry->version, printer->text.characters,
			       &printer->text.shown);
	if (json)
		error = print_json(printer, entry);
	else
		history_text_write(&printer->text, entry);
	return ferror(stdout) ? -EIO : error;
}

/* The store that lies beside a journal; -1: there is none, or a message says why it cannot be read. */
static int open_contents(const char *journal)
{
	char path[SEGMENT_PATH_BYTES];
	const char *slash = strrchr(journal, '/');
	int directory = -1;

	if (snprintf(path, sizeof(path), "%.*s%s" CONTENTS_DIRECTORY,
		     slash ? (int)(slash - journal) : 0, journal,
		     slash ? "/" : "./") >= (int)sizeof(path))
		return -1;
	int error = session_open_directory(AT_FDCWD, path, &directory);
	if (error < 0 && error != -ENOENT)
		message("%s: %s", path, owned_explain(error));
	return error < 0 ? -1 : directory;
}

/* The scope that was asked for: by its digits, which need no session; else by its name. */
static int find_scope(const struct config *config, uint64_t *ret_id)
{
	struct session session;

	if (strlen(scope) == SCOPES_ID_BYTES - 1 &&
	    strspn(scope, "0123456789abcdef") == SCOPES_ID_BYTES - 1) {
		*ret_id = strtoull(scope, NULL, 16);
		return EXIT_CODE_OK;
	}
	if (journal_file) {
		message("--scope: a journal knows scopes by their 16 digits, not '%s'", scope);
		return EXIT_CODE_USAGE;
	}
	int code = session_find(config, session_name, &session);
	if (code == EXIT_CODE_OK) {
		code = scopes_choose(&session.segment, scope, ret_id);
		session_close(&session);
	}
	return code;
}

static void report_missing(const struct events *events)
{
	struct events_counts counts = events_counts(events);

	(void)fflush(stdout);
	if (counts.undone || counts.damaged || counts.lost)
		message("something may be missing: of the journal's records %" PRIu64
			" were not finished, %" PRIu64 " are damaged, %" PRIu64
			" could not be written",
			counts.undone, counts.damaged, counts.lost);
}

static int count_entries(const char *path, uint64_t scope_id, uint64_t *ret_count)
{
	struct events *events;
	int error = events_open(path, false, &events);

	if (error < 0)
		return error;
	error = history_each(events, scope_id, NULL, count_entry, ret_count);
	events_close(events);
	return error;
}

static int show(const char *path, uint64_t scope_id, uint64_t last, struct printer *printer)
{
	struct events *events;
	uint64_t count = 0;
	int error = last ? count_entries(path, scope_id, &count) : 0;

	printer->skipped = count > last ? count - last : 0;
	if (error == 0)
		error = events_open(path, false, &events);
	if (error)
		return journal_file_failed(path, error);
	printer->text.workspace = events_workspace(events);
	printer->text.out = stdout;
	printer->contents = open_contents(path);
	error = history_each(events, scope_id, NULL, print_entry, printer);
	report_missing(events);
	if (printer->contents >= 0)
		(void)close(printer->contents);
	events_close(events);
	return error < 0            ? journal_file_failed(path, error)
	       : printer->count > 0 ? EXIT_CODE_OK
				    : EXIT_CODE_NOTHING;
}

int cmd_history(int argc, char **argv)
{
	static struct printer printer;
	struct parsed parsed = { .config = NULL };
	char path[SEGMENT_PATH_BYTES];
	uint64_t last = 0, scope_id = 0;
	int code;

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = tail ? event_options_number("-n, --tail", tail, UINT64_MAX, &last)
			    : EXIT_CODE_OK;
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0) {
			printer.text.characters = config_number(parsed.config,
								OPTION_history_result_max_length);
			code = journal_file_find(parsed.config, session_name, journal_file, path,
						 sizeof(path));
			if (code == EXIT_CODE_OK && scope)
				code = find_scope(parsed.config, &scope_id);
			if (code == EXIT_CODE_OK)
				code = show(path, scope_id, last, &printer);
		}
	}
	options_done(&parsed);
	return code;
}

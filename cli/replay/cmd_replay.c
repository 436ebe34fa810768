/*
 * `seen replay [FILE...]`: what recorded sessions repeated, and what each setting would have saved.
 * Reads; changes and sends nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/replay/replay.h"
#include "cli/replay/replay_find.h"
#include "cli/replay/transcript.h"
#include "cli/session/journal_file.h"
#include "config/nearest.h"
#include "config/value.h"
#include "tracker/path/path.h"
#include "tracker/segment/segment.h"

static const char *session_name, *format_word;
static bool json, list;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "the journal of this session, in place of files", NULL,
	  &session_name },
	{ "--format", "FORMAT",
	  "claude, codex, pi, gemini, cline, opencode, kilo, swe-agent, openhands, messages, "
	  "journal; default: recognized by content",
	  NULL, &format_word },
	{ "--list", NULL, "each repeat, a line: number of the tool call, bytes, category, what",
	  &list, NULL },
	{ "--json", NULL, "a JSON document, seen/replay/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "replay [OPTION...] [FILE|DIRECTORY...]",
	.summary = "Reads transcripts of agents' sessions: those that are named, else all that "
		   "agents keep on this machine. Reports what the model was given again, and what "
		   "each setting and hooks would have saved. Changes nothing, sends nothing "
		   "anywhere.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* What came of one file. */
struct replayed {
	const char *path;
	bool is_found; /* in a directory, or where agents keep theirs */
	int error;
	struct transcript_result result;
	struct replay_sums sums;
};

/* ---- for programs ---- */

static json_t *json_count(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_sum(const struct replay_sum *sum)
{
	return json_pack("{s:o,s:o,s:o}", "count", json_count(sum->count), "bytes",
			 json_count(sum->bytes), "tokens", json_count(sum->tokens));
}

static json_t *json_saving(const struct replay_saving *saving)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "repeats", json_count(saving->repeats),
			 "answered", json_count(saving->answered), "yielded",
			 json_count(saving->given_again), "unfit", json_count(saving->unfit),
			 "bytes", json_count(saving->bytes), "tokens", json_count(saving->tokens));
}

static json_t *json_sums(const struct replay_sums *sums)
{
	json_t *object = json_object(), *categories = json_object(), *savings = json_object(),
	       *hooks = json_object();

	for (int i = 0; i < REPLAY_CATEGORY_COUNT; i++)
		(void)json_object_set_new(categories, replay_category_name((enum replay_category)i),
					  json_sum(&sums->categories[i]));
	(void)json_object_set_new(categories, "changed_as_diff", json_sum(&sums->changed_as_diff));
	for (int i = 0; i < REPLAY_SETTING_COUNT; i++)
		(void)json_object_set_new(
			savings, replay_setting_name((enum replay_setting)i),
			json_pack("{s:o,s:o}", "commands",
				  json_saving(&sums->savings[i][REPLAY_COMMANDS]), "own_tools",
				  json_saving(&sums->savings[i][REPLAY_OWN_TOOLS])));
	for (int i = 0; i < REPLAY_HOOK_COUNT; i++)
		(void)json_object_set_new(hooks, replay_hook_name((enum replay_hook)i),
					  json_saving(&sums->hooks[i]));
	(void)json_object_set_new(savings, "requests_reworded",
				  json_pack("{s:o}", "commands", json_saving(&sums->reworded)));
	(void)json_object_set_new(savings, "contained",
				  json_pack("{s:o}", "commands", json_saving(&sums->contained)));
	(void)json_object_set_new(savings, "hooks", hooks);
	(void)json_object_set_new(object, "sessions", json_count(sums->sessions));
	(void)json_object_set_new(object, "scopes", json_count(sums->scopes));
	(void)json_object_set_new(object, "compactions", json_count(sums->compactions));
	(void)json_object_set_new(object, "outputs", json_sum(&sums->outputs));
	(void)json_object_set_new(object, "reads", json_sum(&sums->reads));
	(void)json_object_set_new(object, "partial_reads", json_sum(&sums->partial));
	(void)json_object_set_new(object, "reads_again", json_sum(&sums->again));
	(void)json_object_set_new(object, "categories", categories);
	(void)json_object_set_new(object, "commands", json_sum(&sums->commands));
	(void)json_object_set_new(object, "commands_again", json_sum(&sums->commands_again));
	(void)json_object_set_new(object, "commands_identical",
				  json_sum(&sums->commands_identical));
	(void)json_object_set_new(object, "deliveries", json_count(sums->deliveries));
	(void)json_object_set_new(object, "would_have_saved", savings);
	return object;
}

/* The limits that were assumed: those of the configuration in effect. */
static const size_t ASSUMED[] = {
	OPTION_window_requests,        OPTION_window_bytes,     OPTION_window_age_s,
	OPTION_notice_min_bytes,       OPTION_notice_max_bytes, OPTION_notice_yield,
	OPTION_notice_insist_requests, OPTION_requests_enable,
};
enum { ASSUMED_COUNT = sizeof(ASSUMED) / sizeof(ASSUMED[0]) };

static json_t *json_assumed(const struct config *config)
{
	json_t *object = json_object();

	for (size_t i = 0; i < ASSUMED_COUNT; i++) {
		const struct option *option = option_at(ASSUMED[i]);
		char key[80];
		(void)snprintf(key, sizeof(key), "%s.%s", option->section, option->name);
		(void)json_object_set_new(object, key,
					  option->kind == OPTION_NUMBER
						  ? json_count(config_number(config, ASSUMED[i]))
						  : json_string(config_text(config, ASSUMED[i])));
	}
	return object;
}

static json_t *json_file(const struct replayed *file)
{
	json_t *object = json_sums(&file->sums);
	const char *format = transcript_format_name(file->result.format);

	(void)json_object_set_new(object, "file", text_json(file->path));
	(void)json_object_set_new(object, "format", format ? json_string(format) : json_null());
	(void)json_object_set_new(object, "damaged", json_count(file->result.damaged));
	(void)json_object_set_new(object, "unproven", json_boolean(file->result.is_unproven));
	(void)json_object_set_new(object, "error",
				  file->result.error[0] ? text_json(file->result.error)
							: json_null());
	return object;
}

/* ---- for people ---- */

static uint64_t saved_by(const struct replay_sums *sums, enum replay_way way)
{
	uint64_t bytes = 0;

	for (int i = 0; i < REPLAY_SETTING_COUNT; i++)
		bytes += sums->savings[i][way].bytes;
	return bytes;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

enum { LABEL_COLUMNS = 34 };

static void print_sum(const char *label, const struct replay_sum *sum, uint64_t whole)
{
	char count[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES];

	(void)printf("  %-*s %9s %14s %12s %6.1f%%\n", LABEL_COLUMNS, label,
		     text_number(sum->count, count), text_number(sum->bytes, bytes),
		     text_number(sum->tokens, tokens), percent(sum->bytes, whole));
}

static void print_heading(const char *label, const char *const columns[4])
{
	(void)printf("%s%-*s %9s %14s %12s %7s%s\n", text_style(stdout, "1"), LABEL_COLUMNS + 2,
		     label, columns[0], columns[1], columns[2], columns[3],
		     text_style(stdout, "0"));
}

static void print_saving(const char *label, const struct replay_saving *saving, uint64_t whole)
{
	char answered[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES];

	(void)printf("  %-*s %9s %14s %12s %6.1f%%\n", LABEL_COLUMNS, label,
		     text_number(saving->answered, answered), text_number(saving->bytes, bytes),
		     text_number(saving->tokens, tokens), percent(saving->bytes, whole));
}

static void print_savings(const struct replay_sums *sums, enum replay_way way)
{
	for (int i = 0; i < REPLAY_SETTING_COUNT; i++)
		print_saving(replay_setting_text((enum replay_setting)i), &sums->savings[i][way],
			     sums->outputs.bytes);
}

static void print_sums(const struct replay_sums *sums)
{
	static const char *const COUNTS[] = { "COUNT", "BYTES", "TOKENS", "SHARE" };
	static const char *const SAVED[] = { "ANSWERED", "BYTES SAVED", "TOKENS", "SHARE" };
	uint64_t whole = sums->outputs.bytes;

	print_heading("GIVEN TO THE MODEL", COUNTS);
	print_sum("all tool output", &sums->outputs, whole);
	print_sum("reads of files", &sums->reads, whole);
	print_sum("... of a part", &sums->partial, whole);
	print_sum("... of a file read before", &sums->again, whole);
	print_heading("\nGIVEN AGAIN: READS", COUNTS);
	for (int i = 0; i < REPLAY_CATEGORY_COUNT; i++) {
		print_sum(replay_category_text((enum replay_category)i), &sums->categories[i],
			  whole);
		if (i == REPLAY_CHANGED)
			print_sum("... as diffs", &sums->changed_as_diff, whole);
	}
	print_heading("\nCOMMANDS AND OTHER TOOLS", COUNTS);
	print_sum("all that are no such read", &sums->commands, whole);
	print_sum("... with the same words before", &sums->commands_again, whole);
	print_sum("... and with the same output", &sums->commands_identical, whole);
	print_heading("\nWOULD HAVE BEEN SAVED: COMMANDS", SAVED);
	print_savings(sums, REPLAY_COMMANDS);
	print_saving("... in other words", &sums->reworded, whole);
	print_saving("contained in an answer (not done)", &sums->contained, whole);
	print_heading("\nWOULD HAVE BEEN SAVED: READS BY ITS TOOLS (*)", SAVED);
	for (int i = 0; i < REPLAY_HOOK_COUNT; i++)
		print_saving(replay_hook_text((enum replay_hook)i), &sums->hooks[i], whole);
}

static void print_assumed(const struct config *config)
{
	(void)printf("\nLimits that were assumed (`seen config` tells where they come from):");
	for (size_t i = 0; i < ASSUMED_COUNT; i++) {
		const struct option *option = option_at(ASSUMED[i]);
		(void)printf("%s%s.%s=%s", i % 4 ? " " : "\n  ", option->section, option->name,
			     config_text(config, ASSUMED[i]));
	}
	(void)printf(
		"\n(*) By hooks that take another output in place of a read's, as Claude Code's do "
		"(`seen hooks`).\n    Tokens are estimates; what was saved is never promised.\n");
}

static uint64_t saved_by_hooks(const struct replay_sums *sums)
{
	uint64_t bytes = 0;

	for (int i = 0; i < REPLAY_HOOK_COUNT; i++)
		bytes += sums->hooks[i].bytes;
	return bytes;
}

static void print_row(const char *format, const struct replay_sums *sums, const char *name)
{
	char numbers[6][TEXT_NUMBER_BYTES];
	uint64_t again = sums->commands_identical.bytes;

	for (int k = 0; k < REPLAY_CATEGORY_COUNT; k++)
		again += sums->categories[k].bytes;
	(void)printf("%-10s %8s %14s %8s %12s %12s %12s  %s\n", format,
		     text_number(sums->outputs.count, numbers[0]),
		     text_number(sums->outputs.bytes, numbers[1]),
		     text_number(sums->reads.count, numbers[2]), text_number(again, numbers[3]),
		     text_number(saved_by(sums, REPLAY_COMMANDS), numbers[4]),
		     text_number(saved_by_hooks(sums), numbers[5]), name);
}

/* Each session, by the file in which it began. */
static void print_sessions(const struct replayed *files, const struct replay_row *rows,
			   size_t count)
{
	(void)printf("%s%-10s %8s %14s %8s %12s %12s %12s  %s%s\n", text_style(stdout, "1"),
		     "FORMAT", "OUTPUTS", "BYTES", "READS", "AGAIN", "BY COMMANDS", "BY HOOKS",
		     "SESSION", text_style(stdout, "0"));
	for (size_t i = 0; i < count; i++) {
		char path[SEGMENT_PATH_BYTES * 4], name[sizeof(path) + 32];
		const struct replayed *file = &files[rows[i].file];
		const char *format = transcript_format_name(file->result.format);
		if (path_escape(file->path, path, sizeof(path)) < 0)
			path[0] = '\0';
		(void)snprintf(name, sizeof(name), file->sums.sessions > 1 ? "%s #%llu" : "%s",
			       path, (unsigned long long)rows[i].number);
		print_row(format ? format : "?", &rows[i].sums, name);
	}
	(void)printf("\n");
}

/* ---- each repeat ---- */

struct lister {
	const char *file; /* NULL: there is but one */
};

static void print_repeat(const struct replay_repeat *repeat, void *data)
{
	enum { SHOWN = 512 }; /* of a command line, which may hold a whole script */
	const struct lister *lister = data;
	char cut[SHOWN + 1], what[SHOWN * 4 + 1], file[SEGMENT_PATH_BYTES * 4];
	char bytes[TEXT_NUMBER_BYTES];

	(void)snprintf(cut, sizeof(cut), "%s", repeat->what);
	if (path_escape(cut, what, sizeof(what)) < 0)
		what[0] = '\0';
	if (!lister->file || path_escape(lister->file, file, sizeof(file)) < 0)
		file[0] = '\0';
	(void)printf("%s%s%6llu %12s  %-16s  %s\n", file, file[0] ? ":" : "",
		     (unsigned long long)repeat->output, text_number(repeat->bytes, bytes),
		     repeat->category, what);
}

/* ---- the command ---- */

/* A file of a directory that is no transcript is passed over. */
static bool is_foreign(const struct replayed *file)
{
	return file->is_found && file->error == -EINVAL;
}

static int read_files(const struct config *config, enum transcript_format format,
		      struct replay *replay, struct replayed *files, size_t count)
{
	struct lister lister = { NULL };
	int code = EXIT_CODE_OK;

	if (list)
		replay_listen(replay, print_repeat, &lister);
	for (size_t i = 0; i < count; i++) {
		struct replayed *file = &files[i];
		lister.file = count > 1 ? file->path : NULL;
		replay_start_file(replay, &file->result, &file->sums);
		file->error = transcript_read(file->path, format, config, replay_call, replay,
					      &file->result);
		if (file->error == -ENOMEM) {
			message("out of memory");
			return EXIT_CODE_OUTPUT;
		}
		if (!is_foreign(file) && (file->error < 0 || file->result.damaged)) {
			message("%s: %s", file->path, file->result.error);
			code = EXIT_CODE_PARTLY;
		}
	}
	return code;
}

static json_t *json_sessions(const struct replayed *files, const struct replay_row *rows,
			     size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_sums(&rows[i].sums);
		(void)json_object_set_new(object, "file", text_json(files[rows[i].file].path));
		(void)json_object_set_new(object, "number", json_count(rows[i].number));
		(void)json_array_append_new(array, object);
	}
	return array;
}

static int show(const struct config *config, const struct replay *replay,
		const struct replayed *files, size_t count)
{
	struct replay_sums total = { .sessions = 0 };
	size_t row_count, foreign = 0, unproven = 0;
	const struct replay_row *rows = replay_rows(replay, &row_count);

	for (size_t i = 0; i < count; i++) {
		replay_add(&total, &files[i].sums);
		foreign += is_foreign(&files[i]);
		unproven += files[i].result.is_unproven;
	}
	if (unproven)
		message("%zu file%s with what tools gave, not what the model was given "
			"(docs/limits.md): "
			"nothing of that counts as saved",
			unproven, text_plural(unproven));
	if (foreign) {
		char formats[TRANSCRIPT_FORMATS_BYTES];
		transcript_formats(formats, sizeof(formats));
		message("%zu file%s that %s none of these formats (%s): passed over", foreign,
			text_plural(foreign), foreign == 1 ? "has" : "have", formats);
	}
	if (json) {
		json_t *document = json_object(), *array = json_array();
		for (size_t i = 0; i < count; i++)
			if (!is_foreign(&files[i]))
				(void)json_array_append_new(array, json_file(&files[i]));
		(void)json_object_set_new(document, "schema", json_string("seen/replay/1"));
		(void)json_object_set_new(document, "assumed", json_assumed(config));
		(void)json_object_set_new(document, "files", array);
		(void)json_object_set_new(document, "sessions",
					  json_sessions(files, rows, row_count));
		(void)json_object_set_new(document, "total", json_sums(&total));
		return text_json_print(document);
	}
	size_t failed = 0;

	while (failed < count && files[failed].error < 0)
		failed++;
	if (list || failed == count)
		return 0;
	if (!total.outputs.count) {
		message("nothing to replay: no output of a tool, nor a read, is in there");
		return 0;
	}
	if (row_count > 1)
		print_sessions(files, rows, row_count);
	print_sums(&total);
	print_assumed(config);
	return 0;
}

static int replay_files(const struct config *config, enum transcript_format format,
			const struct replay_paths *paths)
{
	struct replayed *files = calloc(paths->count, sizeof(*files));
	struct config_error error = { "" };
	struct replay *replay = NULL;
	int code = EXIT_CODE_OUTPUT;

	if (files && replay_new(config, &replay, &error) < 0) {
		message("%s", error.text[0] ? error.text : "out of memory");
		free(files);
		return EXIT_CODE_FAILED;
	}
	for (size_t i = 0; files && i < paths->count; i++) {
		files[i].path = paths->paths[i].path;
		files[i].is_found = paths->paths[i].is_found;
	}
	if (files)
		code = read_files(config, format, replay, files, paths->count);
	if (!files || ((code == EXIT_CODE_OK || code == EXIT_CODE_PARTLY) &&
		       show(config, replay, files, paths->count) < 0)) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	replay_free(replay);
	free(files);
	return code;
}

/* The files that are meant.  Returns an exit code. */
static int find(const struct config *config, char **words, size_t count,
		struct replay_paths *ret_paths)
{
	char journal[SEGMENT_PATH_BYTES];
	char *only[1] = { journal };
	int error;

	if (session_name) {
		int code = journal_file_find(config, session_name, NULL, journal, sizeof(journal));
		if (code != EXIT_CODE_OK)
			return code;
		words = only;
		count = 1;
	}
	error = count ? replay_find_named(words, count, ret_paths)
		      : replay_find_kept(config, ret_paths);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	if (ret_paths->count)
		return EXIT_CODE_OK;
	message(count ? "no transcripts there: files that end with .jsonl, .json or .traj, are "
			"called journal, or opencode*.db, kilo*.db"
		      : "no transcripts of agents found: name files or directories");
	return EXIT_CODE_NOTHING;
}

static int replay(const struct config *config, char **words, size_t count)
{
	enum transcript_format format = TRANSCRIPT_UNKNOWN;
	char formats[TRANSCRIPT_FORMATS_BYTES];
	struct replay_paths paths = { .count = 0 };

	if (format_word) {
		format = transcript_format_named(format_word);
		if (format == TRANSCRIPT_UNKNOWN) {
			transcript_formats(formats, sizeof(formats));
			message("--format: there is no format '%s'; %s", format_word, formats);
			return EXIT_CODE_USAGE;
		}
	}
	if (session_name)
		format = TRANSCRIPT_JOURNAL;
	int code = find(config, words, count, &paths);
	if (code == EXIT_CODE_OK)
		code = replay_files(config, format, &paths);
	replay_paths_free(&paths);
	return code;
}

int cmd_replay(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc && session_name) {
		message("replay takes files or --session, not both");
		code = EXIT_CODE_USAGE;
	} else if (list && json) {
		message("--list or --json, not both");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = replay(parsed.config, argv + parsed.first_word,
			      (size_t)(argc - parsed.first_word));
	}
	options_done(&parsed);
	return code;
}

/*
 * `seen files`: what a session knows of each file, and whether that still holds on disk.  With a
 * filter: those that changed behind the agent's back (`seen changed`), those that the session
 * edited (`seen edited`); or files are recorded as given by the user (`seen mention`).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/argument.h"
#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/files/changed_file.h"
#include "cli/files/mention.h"
#include "cli/session/ancestry.h"
#include "cli/session/changes.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_command.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/file.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"
#include "tracker/process/scope.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"

static const char *session_name, *scope;
static bool json, clear, tools, only_changed, only_edited, mentions;

/* The short forms take a part of them. */
static const struct option_spec SPECS[] = {
	{ "--changed", NULL, "only files that an external program changed, as `seen changed`",
	  &only_changed, NULL },
	{ "--edited", NULL, "only files that the agent edited, as `seen edited`", &only_edited,
	  NULL },
	{ "--mention", NULL, "record each PATH as given by the user, as `seen mention`", &mentions,
	  NULL },
	{ "--tools", NULL, "include those edited by its tools (formatters, git, a build)", &tools,
	  NULL },
	{ "--clear", NULL, "do not list these files again before they change once more", &clear,
	  NULL },
	{ "--json", NULL, "a JSON document, seen/files/1, changed/1 or edited/1", &json, NULL },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--scope", "ID", "what this scope was given; default: anybody, or the only live agent",
	  NULL, &scope },
};

enum {
	SPEC_TOOLS = 3,
	SPEC_CLEAR = 4,
	SPEC_SESSION = 6,
	SPEC_COUNT = sizeof(SPECS) / sizeof(SPECS[0]),
};

static const struct options FILES = {
	.usage = "files [OPTION...] [PATH...]",
	.summary = "Lists the files on record: how often each was read whole, how often that was a "
		   "repeat, and its notices. The state compares the file with what was read. PATH: "
		   "this file, or all files below this directory.",
	.specs = SPECS,
	.spec_count = SPEC_COUNT,
	.words_between = true,
};

static const struct options CHANGED = {
	.usage = "changed [OPTION...]",
	.summary = "Lists the files that an external program changed or deleted since the agent "
		   "last read them. A change by another agent of the session is listed with its "
		   "name. A file that was changed and changed back is not listed. The long form is "
		   "`seen files --changed`.",
	.specs = SPECS + SPEC_CLEAR,
	.spec_count = SPEC_SESSION + 1 - SPEC_CLEAR,
	.words_between = true,
};

static const struct options EDITED = {
	.usage = "edited [OPTION...]",
	.summary = "Lists the files that the agent edited, or removed, since the last --clear. The "
		   "long form is `seen files --edited`.",
	.specs = SPECS + SPEC_TOOLS,
	.spec_count = SPEC_SESSION + 1 - SPEC_TOOLS,
	.words_between = true,
};

static const struct options MENTION = {
	.usage = "mention [OPTION...] PATH...",
	.summary = "Records files as given to the agent by its user, as they are now. A later "
		   "external change is then recognized. Each must be a file of the workspace that "
		   "is not excluded. The long form is `seen files --mention`.",
	.specs = SPECS + SPEC_SESSION,
	.spec_count = SPEC_COUNT - SPEC_SESSION,
	.words_between = true,
};

struct row {
	char *path; /* absolute */
	struct file_slot file;
	struct version version; /* the baseline; none: never given whole */
	enum state state;
	struct change change;
	struct changed_file changed; /* --changed */
};

struct rows;

/* What is listed, and how. */
struct filter {
	const char *schema;
	/* Is the file listed?  Fills in what is reported of it. */
	bool (*fill)(struct rows *rows, struct row *row, const char *path);
	json_t *(*to_json)(const struct rows *rows, const struct row *row);
	void (*print)(const struct rows *rows, const struct row *row, const char *shown_path);
	void (*clear)(const struct rows *rows, const struct row *row); /* NULL: nothing to clear */
};

struct rows {
	const struct filter *filter;
	const struct segment *segment;
	struct journal journal;
	uint64_t scope_id;
	char **wanted; /* absolute paths; NULL at the end */
	bool *found;   /* beside each */
	struct row *rows;
	size_t count, capacity;
};

static void set(json_t *object, const char *name, json_t *value)
{
	(void)json_object_set_new(object, name, value);
}

static json_t *json_version(const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(version, digits);
	return version_is_none(version) ? json_null() : json_string(digits);
}

/* ---- all files ---- */

static bool fill_any(struct rows *rows, struct row *row, const char *path)
{
	/* What came and went, and was never read. */
	if (row->change.fate == FATE_IS_TRANSIENT && !row->file.full_reads)
		return false;
	(void)tracker_baseline(rows->segment, rows->scope_id, path, &row->version);
	row->state = tracker_state(rows->segment, rows->scope_id, path);
	return true;
}

static json_t *json_any(const struct rows *rows, const struct row *row)
{
	json_t *object = json_object(), *edited = json_array();
	bool known = !version_is_none(&row->version);
	const char *fate = fate_name(row->change.fate);

	(void)rows;
	if (row->change.by_agent)
		(void)json_array_append_new(edited, json_string("agent"));
	if (row->change.by_tool)
		(void)json_array_append_new(edited, json_string("tool"));
	set(object, "full_reads", json_integer(row->file.full_reads));
	set(object, "repeats", json_integer(row->file.repeats));
	set(object, "notices", json_integer(row->file.notices));
	set(object, "yields", json_integer(row->file.yields));
	set(object, "first_read", text_json_time(row->file.first_read_realtime_ns));
	set(object, "last_read", text_json_time(row->file.last_read_realtime_ns));
	set(object, "last_edit", text_json_time(row->file.last_edit_realtime_ns));
	set(object, "version", json_version(&row->version));
	set(object, "bytes",
	    known ? json_integer((json_int_t)row->version.size_bytes) : json_null());
	set(object, "state", json_string(state_name(row->state)));
	set(object, "edited_by", edited);
	set(object, "fate", fate ? json_string(fate) : json_null());
	return object;
}

static void print_any(const struct rows *rows, const struct row *row, const char *shown_path)
{
	static const char *const COLORS[] = { [STATE_UNTRACKED] = "2",
					      [STATE_FRESH] = "32",
					      [STATE_CHANGED] = "33",
					      [STATE_DELETED] = "33" };
	static const char *const EDITORS[] = { "", "agent", "tool", "both" };
	char digits[VERSION_DIGITS + 1] = "-", time[TEXT_TIME_BYTES];
	bool removed = row->change.fate == FATE_IS_REMOVED;

	if (row == rows->rows)
		(void)printf("%s%5s  %7s  %7s  %6s  %-*s  %-12s  %-9s  %-6s  %s%s\n",
			     text_style(stdout, "1"), "READS", "REPEATS", "NOTICES", "YIELDS",
			     clock_stamp_columns(), "LAST READ", "VERSION", "STATE", "EDITED",
			     "PATH", text_style(stdout, "0"));
	if (!version_is_none(&row->version))
		version_digits(&row->version, digits);
	(void)clock_stamp(row->file.last_read_realtime_ns, time);
	(void)printf("%5u  %7u  %7u  %6u  %-*s  %-12s  %s%-9s%s  %-6s  %s\n", row->file.full_reads,
		     row->file.repeats, row->file.notices, row->file.yields, clock_stamp_columns(),
		     time[0] ? time : "-", digits,
		     text_style(stdout, COLORS[removed ? STATE_DELETED : row->state]),
		     removed ? "removed" : state_name(row->state), text_style(stdout, "0"),
		     EDITORS[row->change.by_agent + 2 * row->change.by_tool], shown_path);
}

/* ---- those that changed behind the agent's back ---- */

static bool fill_changed(struct rows *rows, struct row *row, const char *path)
{
	return changed_file(rows->segment, &rows->journal, rows->scope_id, path, &row->file,
			    &row->changed);
}

static const char *state_of_changed(const struct row *row)
{
	return state_name(version_is_none(&row->changed.version) ? STATE_DELETED : STATE_CHANGED);
}

/* Who made the change, where it was an agent of this session. */
static json_t *changer_json(const struct segment *segment, uint64_t changer)
{
	char name[SCOPE_NAME_BYTES];
	uint32_t pid;

	if (!changer)
		return json_null();
	json_t *object = json_object();
	bool is_known = scope_agent(segment, changer, name, &pid);
	set(object, "scope", session_document_scope(changer));
	set(object, "agent", is_known ? text_json(name) : json_null());
	set(object, "pid", is_known ? json_integer(pid) : json_null());
	return object;
}

static json_t *json_changed(const struct rows *rows, const struct row *row)
{
	json_t *object = json_object();

	set(object, "state", json_string(state_of_changed(row)));
	set(object, "source", json_string(source_name(row->changed.source)));
	set(object, "by", changer_json(rows->segment, row->changed.changer));
	set(object, "time", text_json_time(row->changed.realtime_ns));
	set(object, "version", json_version(&row->changed.version));
	return object;
}

static void print_changed(const struct rows *rows, const struct row *row, const char *shown_path)
{
	char agent[SCOPE_NAME_BYTES], name[SCOPE_NAME_BYTES * 4];
	uint32_t pid;

	(void)printf("%s%-7s%s  %s", text_style(stdout, "33"), state_of_changed(row),
		     text_style(stdout, "0"), shown_path);
	if (row->changed.changer && scope_agent(rows->segment, row->changed.changer, agent, &pid) &&
	    path_escape(agent, name, sizeof(name)) >= 0)
		(void)printf("  by %s (pid %u)", name, pid);
	(void)putchar('\n');
}

static void clear_changed(const struct rows *rows, const struct row *row)
{
	changed_file_reported(rows->segment, row->file.key, &row->changed);
}

/* ---- those that the session edited ---- */

static bool fill_edited(struct rows *rows, struct row *row, const char *path)
{
	(void)rows;
	(void)path;
	row->change = change_of(&row->file, CHANGE_UNREPORTED);
	return row->change.counts && (row->change.by_agent || (tools && row->change.by_tool));
}

static json_t *json_edited(const struct rows *rows, const struct row *row)
{
	json_t *object = json_object();

	(void)rows;
	set(object, "source", json_string(source_name(row->change.source)));
	set(object, "time", text_json_time(row->file.last_edit_realtime_ns));
	set(object, "removed", json_boolean(row->change.fate == FATE_IS_REMOVED));
	return object;
}

static void print_edited(const struct rows *rows, const struct row *row, const char *shown_path)
{
	(void)rows;
	(void)printf("%-12s  %s%s\n", source_name(row->change.source), shown_path,
		     row->change.fate == FATE_IS_REMOVED ? "  (removed)" : "");
}

/* Only for what was shown: it may have been edited again. */
static void note_reported(struct file_slot *file, const void *data)
{
	const struct file_slot *reported = data;

	if (file->last_edit_realtime_ns == reported->last_edit_realtime_ns)
		file->flags &= ~(uint32_t)(FILE_EDIT_UNREPORTED |
					   (tools ? FILE_TOOL_EDIT_UNREPORTED : 0));
}

static void clear_edited(const struct rows *rows, const struct row *row)
{
	(void)file_change_known(rows->segment, row->file.key, note_reported, &row->file);
}

static const struct filter ANY = { "seen/files/1", fill_any, json_any, print_any, NULL };
static const struct filter BY_OTHERS = { "seen/changed/1", fill_changed, json_changed,
					 print_changed, clear_changed };
static const struct filter BY_SESSION = { "seen/edited/1", fill_edited, json_edited, print_edited,
					  clear_edited };

/* ---- the list ---- */

static bool is_wanted(struct rows *rows, const char *path)
{
	bool wanted = !rows->wanted[0];
	for (size_t i = 0; rows->wanted[i]; i++)
		if (argument_is_below(path, rows->wanted[i]))
			wanted = rows->found[i] = true;
	return wanted;
}

static int add_row(const char *path, const struct file_slot *file, void *data)
{
	struct rows *rows = data;
	struct row row = { .file = *file, .change = change_of(file, CHANGE_EVER) };

	if (!is_wanted(rows, path) || !rows->filter->fill(rows, &row, path))
		return 0;
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
		struct row *grown = reallocarray(rows->rows, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	row.path = strdup(path);
	if (!row.path)
		return -ENOMEM;
	rows->rows[rows->count++] = row;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

static int print_json(const struct session *session, const struct rows *rows)
{
	json_t *document = session_document(session, rows->filter->schema), *files = json_array();

	for (size_t i = 0; i < rows->count; i++) {
		json_t *object = json_object();
		json_t *rest = rows->filter->to_json(rows, &rows->rows[i]);
		set(object, "path", text_json(path_relative(rows->segment, rows->rows[i].path)));
		(void)json_object_update(object, rest);
		json_decref(rest);
		(void)json_array_append_new(files, object);
	}
	if (rows->filter == &ANY)
		set(document, "scope", session_document_scope(rows->scope_id));
	set(document, "files", files);
	return text_json_print(document);
}

static void print_rows(const struct rows *rows)
{
	char path[SEGMENT_PATH_BYTES * 4];

	for (size_t i = 0; i < rows->count; i++)
		if (path_escape(path_relative(rows->segment, rows->rows[i].path), path,
				sizeof(path)) >= 0)
			rows->filter->print(rows, &rows->rows[i], path);
}

/* words: as typed, beside rows->wanted. */
static int list(const struct session *session, struct rows *rows, char **words)
{
	int code = EXIT_CODE_OK;
	int error = tracker_each_file(&session->segment, add_row, rows);

	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), by_path);
	for (size_t i = 0; rows->wanted[i] && error == 0; i++) {
		if (rows->found[i])
			continue;
		message("%s: not on record", words[i]);
		code = EXIT_CODE_NOTHING;
	}
	if (error == 0 && json)
		error = print_json(session, rows);
	else if (error == 0)
		print_rows(rows);
	/* What could not be printed was not reported. */
	if (error == 0 && clear && fflush(stdout) == 0)
		for (size_t i = 0; i < rows->count; i++)
			rows->filter->clear(rows, &rows->rows[i]);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return code;
}

/* Makes the words absolute paths.  Returns an exit code. */
static int want(struct rows *rows, char **words)
{
	char path[SEGMENT_PATH_BYTES];
	size_t count = 0;

	while (words[count])
		count++;
	rows->wanted = calloc(count + 1, sizeof(*rows->wanted));
	rows->found = calloc(count + 1, sizeof(*rows->found));
	for (size_t i = 0; rows->wanted && rows->found; i++) {
		if (i == count)
			return EXIT_CODE_OK;
		int error = argument_path(words[i], path, sizeof(path));
		if (error < 0) {
			message("%s: %s", words[i], strerror(-error));
			return EXIT_CODE_USAGE;
		}
		rows->wanted[i] = strdup(path);
		if (!rows->wanted[i])
			break;
	}
	message("out of memory");
	return EXIT_CODE_OUTPUT;
}

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].path);
	for (size_t i = 0; rows->wanted && rows->wanted[i]; i++)
		free(rows->wanted[i]);
	free(rows->rows);
	free(rows->wanted);
	free(rows->found);
	journal_unmap(&rows->journal);
}

/* ---- the command ---- */

static int files(const struct session *session, char **words)
{
	struct rows rows = { .filter = only_changed  ? &BY_OTHERS
				       : only_edited ? &BY_SESSION
						     : &ANY,
			     .segment = &session->segment };
	int code = scope ? scopes_choose(&session->segment, scope, &rows.scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	/* Without a journal it is found out, and on record, all the same. */
	if (mentions || only_changed)
		(void)session_map_journal(session, &rows.journal);
	if (only_changed && !scope)
		(void)ancestry_scope(&session->segment, &rows.scope_id);
	if (mentions)
		code = mention(session, &rows.journal, rows.scope_id, words);
	else
		code = want(&rows, words);
	if (!mentions && code == EXIT_CODE_OK)
		code = list(session, &rows, words);
	rows_free(&rows);
	return code;
}

static const char *refuse(char **words)
{
	if (mentions && !*words)
		return "mention what? Name files";
	if (only_changed + only_edited + mentions > 1)
		return "--changed, --edited and --mention are three things: name one";
	if (clear && !only_changed && !only_edited)
		return "--clear goes with --changed or --edited";
	if (tools && !only_edited)
		return "--tools goes with --edited";
	return json && mentions ? "--mention prints nothing" : NULL;
}

/* words_wrong: NULL: it takes words. */
static int run(const struct options *options, const char *words_wrong, int argc, char **argv)
{
	return session_command(
		&(struct session_command){ .options = options,
					   .name = &session_name,
					   .words_max = words_wrong ? 0 : SESSION_COMMAND_ANY,
					   .words_wrong = words_wrong,
					   .refuse = refuse,
					   .act = files },
		argc, argv);
}

int cmd_files(int argc, char **argv)
{
	return run(&FILES, NULL, argc, argv);
}

int cmd_changed(int argc, char **argv)
{
	only_changed = true;
	return run(&CHANGED, "changed takes no paths; `seen check PATH...` does", argc, argv);
}

int cmd_edited(int argc, char **argv)
{
	only_edited = true;
	return run(&EDITED, "edited takes no paths", argc, argv);
}

int cmd_mention(int argc, char **argv)
{
	mentions = true;
	return run(&MENTION, NULL, argc, argv);
}

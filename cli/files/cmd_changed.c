/*
 * `seen changed`: files that somebody outside the session, or another agent in it, changed since its agent last read them.
 *
 * The watcher of `seen run` notes such changes as they happen.  Where none runs, or it has not come to one yet, this finds them: it
 * looks at every file that some scope has a baseline of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/ancestry.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/content/version.h"
#include "tracker/guard/guard.h"
#include "tracker/journal/journal.h"
#include "tracker/path/path.h"
#include "tracker/process/scope.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static const char *session_name;
static bool clear, json;

static const struct option_spec SPECS[] = {
	{ "--clear", NULL, "do not list these files again before they change once more", &clear,
	  NULL },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--json", NULL, "a JSON document, seen/changed/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "changed [OPTION...]",
	.summary = "Lists the files that an external program changed or deleted since the agent "
		   "last read them. A change by another agent of the session is listed with its "
		   "name. A file that was changed and changed back is not listed.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* What a file is on disk. */
struct look {
	struct version version; /* none: it is gone */
	struct stat stat;
	uint64_t realtime_ns; /* of the change, as far as that can be told afterwards */
};

struct row {
	char *path; /* absolute */
	uint64_t key;
	struct look look;
	uint64_t realtime_ns;
	uint32_t source;
	uint64_t changer; /* the scope of the agent of this session that did it; 0: it is external to the session */
};

struct rows {
	uint64_t scope_id; /* of the agent above this command; 0: none */
	const struct segment *segment;
	struct journal journal;
	struct row *rows;
	size_t count, capacity;
};

/* Returns false for what cannot be read: nothing is known of it. */
static bool look_at(const char *path, struct look *ret_look)
{
	struct content content;
	uint64_t now_ns = sys_realtime_ns();
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	*ret_look = (struct look){ .realtime_ns = now_ns };
	if (fd == -ENOENT || fd == -ENOTDIR)
		return true;
	if (fd < 0)
		return false;
	int error = sys_fstat(fd, &ret_look->stat);
	if (error == 0)
		error = S_ISREG(ret_look->stat.st_mode)
				? content_of_descriptor(fd, UINT64_MAX, &content)
				: -EISDIR;
	(void)sys_close(fd);
	if (error < 0)
		return false;
	ret_look->version = content.version;
	uint64_t modified_ns = (uint64_t)ret_look->stat.st_mtim.tv_sec * 1000000000u +
			       (uint64_t)ret_look->stat.st_mtim.tv_nsec;
	if (modified_ns < now_ns)
		ret_look->realtime_ns = modified_ns;
	return true;
}

/* When the agent last knew what is in it. */
static uint64_t last_known_ns(const struct file_slot *file)
{
	return file->agent_read_realtime_ns > file->mention_realtime_ns
		       ? file->agent_read_realtime_ns
		       : file->mention_realtime_ns;
}

/* Is it on record already, as a change that the agent does not know, that somebody made this of it?  What the session wrote upon such
 * a change is on record so, too; what was modified after that is another one. */
static bool is_recorded(const struct file_slot *file, const struct look *look)
{
	return file->user_edit_realtime_ns > last_known_ns(file) &&
	       version_equal(&file->external, &look->version) &&
	       (file->last_edit_realtime_ns <= file->user_edit_realtime_ns ||
		look->realtime_ns <= file->last_edit_realtime_ns);
}

struct found {
	const struct look *look;
	enum source source;
	uint32_t edits;
	bool *ret_noted;
};

static void note_found(struct file_slot *file, const void *data)
{
	const struct found *found = data;
	uint64_t known_ns = last_known_ns(file);

	if (known_ns < file->last_edit_realtime_ns)
		known_ns = file->last_edit_realtime_ns;
	*found->ret_noted = !file->writer && file->edits == found->edits &&
			    !is_recorded(file, found->look);
	if (!*found->ret_noted)
		return;
	/* A time of modification can be set to anything; the change came after the last read and edit, else it would be known. */
	file_note_external(file, &found->look->version, found->source,
			   found->look->realtime_ns > known_ns ? found->look->realtime_ns
							       : sys_realtime_ns());
}

static void record(struct journal *journal, const char *path, const struct file_slot *file,
		   const struct look *look, enum source source)
{
	struct journal_record record = journal_blank(JOURNAL_CHANGED);
	struct journal_details details = { .dev = look->stat.st_dev,
					   .ino = look->stat.st_ino,
					   .size_bytes = look->version.size_bytes,
					   .before = file->version,
					   .after = look->version };

	if (!journal->header)
		return;
	record.tid = (uint32_t)getpid();
	record.decision = (uint8_t)source;
	record.flags = version_is_none(&look->version) ? JOURNAL_CHANGED_DELETED : 0;
	record.path = journal_text(journal, path, strlen(path), true);
	(void)journal_write(journal, &record, &details, sizeof(details), true);
}

/* Puts a change on record that nobody noted. */
static void find_out(struct rows *rows, const char *path, struct file_slot *file,
		     const struct look *look)
{
	const struct segment *segment = rows->segment;
	bool noted = false;
	struct found found = { look,
			       guard_lives_unobserved(segment) ? SOURCE_UNATTRIBUTED : SOURCE_USER,
			       file->edits, &noted };

	if (file_change_known(segment, file->key, note_found, &found) < 0 || !noted)
		return;
	segment_count(segment, COUNTER_edits_outside, 1);
	record(&rows->journal, path, file, look, found.source);
	(void)file_find(segment, file->key, file);
}

/* Did somebody outside the session make this of the file?  Whatever anybody knew of it before what was known last is the past. */
static bool is_outside(const struct segment *segment, const struct file_slot *file,
		       const struct look *look)
{
	struct version newest;
	uint64_t since_ns;

	if (version_is_none(&look->version))
		return !(file->flags & FILE_REMOVED);
	return !version_equal(&file->written, &look->version) &&
	       baseline_newest(segment, file->key, &newest, &since_ns) &&
	       !version_equal(&newest, &look->version);
}

/* Does the agent of that scope take the file for another version than the one there, of which another agent's scope is the author? */
static bool is_unknown_to(const struct segment *segment, uint64_t scope_id, uint64_t changer,
			  const struct file_slot *file, const struct look *look)
{
	struct version known;
	uint64_t head = scope_head(segment, scope_id);

	return head && head != changer && baseline_of(segment, scope_id, file->key, &known) &&
	       !version_equal(&known, &look->version);
}

/* The scope of the agent of this session that made this of the file, unknown to the agent above this command; without one, to any that
 * lives.  0: none did. */
static uint64_t changer_of(const struct rows *rows, const struct file_slot *file,
			   const struct look *look)
{
	const struct segment *segment = rows->segment;
	uint64_t changer = version_equal(&file->written, &look->version)    ? file->written_scope
			   : version_equal(&file->external, &look->version) ? file->external_scope
									    : 0;

	if (!changer)
		return 0;
	if (rows->scope_id)
		return is_unknown_to(segment, rows->scope_id, changer, file, look) ? changer : 0;
	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++) {
		const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
		uint64_t id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		if (id && is_unknown_to(segment, id, changer, file, look) &&
		    baseline_scope_lives(segment, id))
			return changer;
	}
	return 0;
}

static int append_row(struct rows *rows, const struct row *row, const char *path)
{
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
		struct row *grown = realloc(rows->rows, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	struct row copy = *row;
	copy.path = strdup(path);
	if (!copy.path)
		return -ENOMEM;
	rows->rows[rows->count++] = copy;
	return 0;
}

static int add_row(const char *path, const struct file_slot *before, void *data)
{
	struct rows *rows = data;
	struct file_slot file;
	struct look look;

	/* What the session writes to at this moment is not read through. */
	if (!(before->flags & FILE_HAS_BASELINE) || before->writer || !look_at(path, &look) ||
	    file_find(rows->segment, before->key, &file) < 0 || file.writer ||
	    file.edits != before->edits)
		return 0;
	struct row row = { .key = file.key, .look = look, .source = file.source };
	row.changer = changer_of(rows, &file, &look);
	if (row.changer) {
		row.realtime_ns = file.last_edit_realtime_ns;
		return file.flags & FILE_CHANGE_REPORTED ? 0 : append_row(rows, &row, path);
	}
	if (!is_outside(rows->segment, &file, &look))
		return 0;
	if (!is_recorded(&file, &look))
		find_out(rows, path, &file, &look);
	if (!is_recorded(&file, &look) || (file.flags & FILE_CHANGE_REPORTED))
		return 0;
	row.realtime_ns = file.user_edit_realtime_ns;
	/* What happened last need not be the change. */
	row.source = file.source != SOURCE_UNATTRIBUTED ? SOURCE_USER : SOURCE_UNATTRIBUTED;
	return append_row(rows, &row, path);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

static const char *state_of(const struct row *row)
{
	return state_name(version_is_none(&row->look.version) ? STATE_DELETED : STATE_CHANGED);
}

/* Who made the change, where it was an agent of this session. */
static json_t *changer_json(const struct segment *segment, uint64_t changer)
{
	char name[SCOPE_NAME_BYTES], id[SCOPES_ID_BYTES];
	uint32_t pid;

	if (!changer)
		return json_null();
	json_t *object = json_object();
	bool is_known = scope_agent(segment, changer, name, &pid);
	(void)snprintf(id, sizeof(id), "%016llx", (unsigned long long)changer);
	(void)json_object_set_new(object, "scope", json_string(id));
	(void)json_object_set_new(object, "agent", is_known ? text_json(name) : json_null());
	(void)json_object_set_new(object, "pid", is_known ? json_integer(pid) : json_null());
	return object;
}

static int print_json(const struct session *session, const struct rows *rows)
{
	json_t *document = json_object(), *files = json_array();
	const char *root = segment_text(&session->segment,
					session->segment.settings->paths_workspace, NULL);

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		json_t *object = json_object();
		char digits[VERSION_DIGITS + 1];
		version_digits(&row->look.version, digits);
		(void)json_object_set_new(object, "path",
					  text_json(path_relative(rows->segment, row->path)));
		(void)json_object_set_new(object, "state", json_string(state_of(row)));
		(void)json_object_set_new(object, "source", json_string(source_name(row->source)));
		(void)json_object_set_new(object, "by", changer_json(rows->segment, row->changer));
		(void)json_object_set_new(object, "time", text_json_time(row->realtime_ns));
		(void)json_object_set_new(
			object, "version",
			version_is_none(&row->look.version) ? json_null() : json_string(digits));
		(void)json_array_append_new(files, object);
	}
	(void)json_object_set_new(document, "schema", json_string("seen/changed/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	(void)json_object_set_new(document, "files", files);
	return text_json_print(document);
}

static void print_rows(const struct rows *rows)
{
	char path[SEGMENT_PATH_BYTES * 4], agent[SCOPE_NAME_BYTES], name[SCOPE_NAME_BYTES * 4];
	uint32_t pid;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		if (path_escape(path_relative(rows->segment, row->path), path, sizeof(path)) < 0)
			continue;
		(void)printf("%s%-7s%s  %s", text_style(stdout, "33"), state_of(row),
			     text_style(stdout, "0"), path);
		if (row->changer && scope_agent(rows->segment, row->changer, agent, &pid) &&
		    path_escape(agent, name, sizeof(name)) >= 0)
			(void)printf("  by %s (pid %u)", name, pid);
		(void)putchar('\n');
	}
}

/* Only for what was shown: it may have changed again. */
static void note_told(struct file_slot *file, const void *data)
{
	const struct row *row = data;

	if ((row->changer ? file->last_edit_realtime_ns : file->user_edit_realtime_ns) ==
	    row->realtime_ns)
		file->flags |= FILE_CHANGE_REPORTED;
}

static int changed(const struct session *session)
{
	struct rows rows = { .segment = &session->segment };

	(void)ancestry_scope(&session->segment, &rows.scope_id);
	/* Without a journal it is found out all the same. */
	(void)session_map_journal(session, &rows.journal);
	int error = tracker_each_file(&session->segment, add_row, &rows);
	journal_unmap(&rows.journal);
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), by_path);
	if (error == 0 && json)
		error = print_json(session, &rows);
	else if (error == 0)
		print_rows(&rows);
	/* What could not be printed was not told. */
	if (error == 0 && clear && fflush(stdout) == 0)
		for (size_t i = 0; i < rows.count; i++)
			(void)file_change_known(&session->segment, rows.rows[i].key, note_told,
						&rows.rows[i]);
	for (size_t i = 0; i < rows.count; i++)
		free(rows.rows[i].path);
	free(rows.rows);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return EXIT_CODE_OK;
}

int cmd_changed(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc) {
		message("changed takes no paths; `seen check PATH...` does");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = changed(&session);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}

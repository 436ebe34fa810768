/* A commit's note for git-ai: see git_note.h.  Section numbers are the standard's. */
#include "cli/undo/git_note.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/git_output.h"
#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "cli/session/scopes.h"
#include "cli/undo/blame.h"
#include "cli/undo/step_calls.h"
#include "tracker/path/path.h"

enum {
	ID_DIGITS = 14, /* 1.2.3.1: of a session, of a trace */
	ID_BYTES = ID_DIGITS + 1,
};

static const char SCHEMA[] = "authorship/3.0.0";
static const char UNKNOWN[] = "unknown"; /* as git-ai has it */

/* What git printed: names that a NUL ends each, or one line. */
struct text {
	char *bytes;
	size_t size;
};

struct note {
	const struct undo_session *session;
	const struct tree_records *records;
	struct scope_row *scopes;
	size_t scope_count;
	struct text commit, root;
	FILE *file;
	json_t *sessions;
};

/* ---- git ---- */

static int ask_git(const char *directory, const char *const *words, struct text *ret_text)
{
	return git_output(directory, words, &ret_text->bytes, &ret_text->size);
}

/* Without the newline. */
static int ask_git_line(const char *directory, const char *const *words, struct text *ret_text)
{
	int error = ask_git(directory, words, ret_text);

	if (error == 0 && ret_text->size && ret_text->bytes[ret_text->size - 1] == '\n')
		ret_text->bytes[--ret_text->size] = '\0';
	return error;
}

static const char *next_name(const struct text *names, const char *name)
{
	const char *next = name ? name + strlen(name) + 1 : names->bytes;

	return next && next < names->bytes + names->size ? next : NULL;
}

static int read_repository(struct note *note)
{
	static const char *const ROOT[] = { "rev-parse", "--show-toplevel", NULL };
	static const char *const COMMIT[] = { "rev-parse", "--verify", "HEAD^{commit}", NULL };
	int error = ask_git_line(note->session->workspace, ROOT, &note->root);

	if (error == 0)
		error = ask_git_line(note->root.bytes, COMMIT, &note->commit);
	return error;
}

/* The next byte of a text whose lines may end as on another system; -1: there is none. */
static int next_byte(const char *bytes, size_t size, size_t *at)
{
	if (*at + 1 < size && bytes[*at] == '\r' && bytes[*at + 1] == '\n')
		++*at;
	return *at < size ? (unsigned char)bytes[(*at)++] : -1;
}

/* Is a text that of the file in the commit? */
static int compare(const struct note *note, const char *name, const struct blame *blame,
		   bool *ret_same)
{
	struct text blob = { .bytes = NULL };
	char *object = NULL;
	int one = 0, other = 0;

	if (asprintf(&object, "%s:%s", note->commit.bytes, name) < 0)
		return -ENOMEM;
	const char *const words[] = { "cat-file", "blob", object, NULL };
	int error = ask_git(note->root.bytes, words, &blob);
	for (size_t at = 0, blob_at = 0; error == 0 && one >= 0 && one == other;) {
		one = next_byte(blame->text, blame->size_bytes, &at);
		other = next_byte(blob.bytes, blob.size, &blob_at);
	}
	*ret_same = error == 0 && one == other;
	free(blob.bytes);
	free(object);
	return error;
}

/* Marks the lines that came with the commit: those of which `git blame` names it. */
static int mark_lines(const struct note *note, const char *name, bool *is_new, size_t count)
{
	const char *const words[] = { "-c",
				      "blame.ignoreRevsFile=",
				      "blame",
				      "--no-textconv",
				      "--incremental",
				      "HEAD^!",
				      "--",
				      name,
				      NULL };
	struct text text = { .bytes = NULL };
	int error = ask_git(note->root.bytes, words, &text);
	size_t length = note->commit.size;

	for (const char *line = text.bytes; error == 0 && line && *line;) {
		const char *end = strchr(line, '\n');
		unsigned long from, lines, to_end;
		if (strncmp(line, note->commit.bytes, length) == 0 &&
		    sscanf(line + length, " %*u %lu %lu", &from, &lines) == 2 && from > 0) {
			to_end = from - 1 + lines;
			for (size_t i = from - 1; i < to_end && i < count; i++)
				is_new[i] = true;
		}
		line = end ? end + 1 : NULL;
	}
	free(text.bytes);
	return error;
}

/* ---- ids ---- */

/* Hexadecimal digits of SHA-256. */
static void digest(const char *text, char ret_digits[ID_BYTES])
{
	unsigned char bytes[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, strlen(text), (const unsigned char *)text);
	sha256_digest(&context, sizeof(bytes), bytes);
	for (int i = 0; i < ID_DIGITS / 2; i++)
		(void)snprintf(ret_digits + (size_t)2 * i, 3, "%02x", bytes[i]);
}

/* The agent's name; the session knows it by the process. */
static const char *tool_of(const struct note *note, const struct step *step)
{
	for (size_t i = 0; i < note->scope_count; i++)
		if (step->agent_pid && note->scopes[i].pid == step->agent_pid &&
		    note->scopes[i].name[0])
			return note->scopes[i].name;
	return UNKNOWN;
}

/* 1.2.3.1: the conversation where a hook reported it, else the session of this program.  The trace is
 * the step: random digits to the standard, here the same each time that the note is made. */
static int write_key(struct note *note, const struct step *step)
{
	const char *tool = tool_of(note, step);
	const char *conversation = step->call && step->call->conversation ? step->call->conversation
									  : note->session->name;
	char session[ID_BYTES], trace[ID_BYTES], *text = NULL, key[2 + ID_BYTES];

	if (asprintf(&text, "%s:%s", tool, conversation) < 0)
		return -ENOMEM;
	digest(text, session);
	free(text);
	if (asprintf(&text, "%s:%u", note->session->name, step->number) < 0)
		return -ENOMEM;
	digest(text, trace);
	free(text);
	(void)fprintf(note->file, "  s_%s::t_%s ", session, trace);
	(void)snprintf(key, sizeof(key), "s_%s", session);
	if (!json_object_get(note->sessions, key))
		(void)json_object_set_new(note->sessions, key,
					  json_pack("{s:{s:s,s:s,s:s}}", "agent_id", "tool", tool,
						    "id", conversation, "model", UNKNOWN));
	return 0;
}

/* ---- a file ---- */

static const struct step *agent_step(const struct blame *blame, size_t line)
{
	const struct step *step = blame->origins[blame->lines[line].origin].step;

	return step && step->by_agent ? step : NULL;
}

/* 1.2.3: "1-4,9-10,12". */
static void write_ranges(FILE *file, const struct blame *blame, const bool *is_new,
			 const struct step *step)
{
	const char *before = "";

	for (size_t i = 0, end; i < blame->count; i = end) {
		end = i + 1;
		if (!is_new[i] || agent_step(blame, i) != step)
			continue;
		while (end < blame->count && is_new[end] && agent_step(blame, end) == step)
			end++;
		(void)fprintf(file, "%s%zu", before, i + 1);
		if (end > i + 1)
			(void)fprintf(file, "-%zu", end);
		before = ",";
	}
	(void)fputc('\n', file);
}

/* What the form takes: UTF-8, no quotation mark, no line end; names with blanks, and what a reader may
 * take for something else, between quotation marks. */
static bool write_name(FILE *file, const char *name)
{
	bool is_quoted = strcmp(name, "---") == 0;

	for (const char *at = name; *at;) {
		size_t length = path_utf8_length(at);
		if (length == 0 || *at == '"' || *at == '\n' || *at == '\r')
			return false;
		is_quoted = is_quoted || (unsigned char)*at <= ' ' || (length > 1 && !at[length]);
		at += length;
	}
	(void)fprintf(file, is_quoted ? "\"%s\"\n" : "%s\n", name);
	return true;
}

static int write_file(struct note *note, const char *name, const struct blame *blame,
		      const bool *is_new)
{
	const struct steps *steps = &note->session->steps;
	bool *has_step = calloc(steps->count + 1, sizeof(*has_step)), any = false;
	int error = has_step ? 0 : -ENOMEM;

	for (size_t i = 0; i < blame->count && error == 0; i++)
		if (is_new[i] && agent_step(blame, i))
			any = has_step[agent_step(blame, i)->number - 1] = true;
	if (any && !write_name(note->file, name)) {
		message("%s is left out: the form has no place for such a name", name);
		any = false;
	}
	for (size_t i = 0; any && i < steps->count && error == 0; i++) {
		if (!has_step[i])
			continue;
		error = write_key(note, &steps->steps[i]);
		if (error == 0)
			write_ranges(note->file, blame, is_new, &steps->steps[i]);
	}
	free(has_step);
	return error;
}

static bool is_by_agent(const struct blame *blame)
{
	for (size_t i = 0; i < blame->origin_count; i++)
		if (blame->origins[i].step && blame->origins[i].step->by_agent)
			return true;
	return false;
}

static int add_file(struct note *note, const char *name)
{
	char path[PATH_MAX];
	struct blame blame = { .count = 0 };

	if (snprintf(path, sizeof(path), "%s/%s", note->root.bytes, name) >= (int)sizeof(path))
		return 0;
	int error = blame_read(note->records, &note->session->steps, path, &blame);
	/* It is no text, or no file any more. */
	if (error < 0 || !is_by_agent(&blame)) {
		blame_free(&blame);
		return error == -ENOMEM ? error : 0;
	}
	bool *is_new = calloc(blame.count + 1, sizeof(*is_new)), is_same = false;
	error = is_new ? compare(note, name, &blame, &is_same) : -ENOMEM;
	if (error == 0 && !is_same)
		message("%s is left out: it is not as in the commit any more", name);
	if (error == 0 && is_same)
		error = mark_lines(note, name, is_new, blame.count);
	if (error == 0 && is_same)
		error = write_file(note, name, &blame, is_new);
	free(is_new);
	blame_free(&blame);
	return error;
}

/* ---- the note ---- */

static int write_note(struct note *note)
{
	static const char *const FILES[] = {
		"diff-tree",    "--root",          "--no-commit-id", "-r",
		"-m",           "--first-parent",  "--name-only",    "-z",
		"--no-renames", "--diff-filter=d", "HEAD",           NULL
	};
	struct text names = { .bytes = NULL };
	int error = ask_git(note->root.bytes, FILES, &names);

	for (const char *name = next_name(&names, NULL); error == 0 && name;
	     name = next_name(&names, name))
		error = add_file(note, name);
	free(names.bytes);
	if (error < 0)
		return error;
	/* 1.2.4, in the order of the standard's examples */
	json_t *metadata = json_pack("{s:s,s:s,s:{}}", "schema_version", SCHEMA, "base_commit_sha",
				     note->commit.bytes, "prompts");
	if (json_object_size(note->sessions))
		(void)json_object_set(metadata, "sessions", note->sessions);
	(void)fputs("---\n", note->file);
	error = json_dumpf(metadata, note->file, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	json_decref(metadata);
	(void)fputc('\n', note->file);
	return error < 0 ? -ENOMEM : 0;
}

static int failed(const struct note *note, int error)
{
	if (error == -ENOENT)
		message("--git-ai needs git");
	else if (error == -ECHILD)
		message("--git-ai: %s is in no git repository with a commit",
			note->session->workspace);
	else
		message("--git-ai: %s", strerror(-error));
	return error == -ENOMEM ? EXIT_CODE_OUTPUT : EXIT_CODE_NOTHING;
}

int git_note_write(FILE *file, const struct undo_session *session)
{
	struct tree_records records;
	struct note note = { .session = session, .records = &records };
	char *text = NULL;
	size_t size = 0;
	int error = tree_records_read(session->undo, &records);

	if (session->session.segment.header) {
		int count = scopes_list(&session->session.segment, &note.scopes);
		note.scope_count = count > 0 ? (size_t)count : 0;
	}
	note.sessions = json_object();
	note.file = memory_stream_open(&text, &size); /* all of it, or nothing */
	if (error == 0)
		error = note.file && note.sessions ? read_repository(&note) : -ENOMEM;
	if (error == 0)
		error = write_note(&note);
	if (note.file && fclose(note.file) != 0 && error == 0)
		error = -ENOMEM;
	if (error == 0)
		(void)fwrite(text, 1, size, file);
	int code = error < 0 ? failed(&note, error) : EXIT_CODE_OK;
	free(text);
	json_decref(note.sessions);
	free(note.scopes);
	free(note.commit.bytes);
	free(note.root.bytes);
	tree_records_close(&records);
	return code;
}

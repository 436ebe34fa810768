/*
 * `seen context`: gives the model the instruction files (AGENTS.md and similar) that apply to paths
 * and that its scope was not given yet, and notes that it was.
 *
 * They are looked for in the directories above each path, at that moment: no index is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/files/content_cache.h"
#include "cli/session/ancestry.h"
#include "cli/session/file_record.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_command.h"
#include "tracker/answer/instruction.h"
#include "tracker/answer/limits.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/capture.h"
#include "tracker/process/receiver.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static const char *session_name, *scope_name;
static bool all, json, peek;

static const struct option_spec SPECS[] = {
	{ "--all", NULL, "include files that were given already", &all, NULL },
	{ "--peek", NULL, "do not record them as given", &peek, NULL },
	{ "--json", NULL, "a JSON document, seen/context/1", &json, NULL },
	{ "--scope", "ID", "id or name; default: the caller's scope, else the session's", NULL,
	  &scope_name },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "context [OPTION...] PATH...",
	.summary = "Prints the instruction files ([context] files) that apply to each PATH, from "
		   "the workspace's root down, and records them as given. What the scope was "
		   "already given in its present version is left out.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* An instruction file that was inspected. */
struct item {
	char *path;
	uint64_t dev, ino;
	struct version version; /* printed: of what was */
	bool is_printed;
};

/* What one call of the command does. */
struct job {
	const struct session *session;
	const struct segment *segment;
	struct moment moment;
	struct output_limits limits;
	bool marks;   /* what is printed is noted as given */
	bool is_sink; /* it goes to the capture of the caller's command */
	struct content_cache *cache;
	struct item *items;
	size_t count;
	bool lacked_memory;
	struct shape shape;   /* printed */
	json_t *files, *left; /* --json */
};

/* Who is given what is printed.  Returns an exit code. */
static int choose_scope(struct job *job)
{
	const struct segment *segment = job->segment;
	struct context context = { 0 };
	uint64_t scope_id = 0, command_id = DELIVERY_UNCUT;
	bool is_below = ancestry_context(segment, &context);
	int code = scope_name ? scopes_choose(segment, scope_name, &scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	if (!scope_name)
		scope_id = scopes_default(segment, &context);
	/* A command of the agent whose output goes elsewhere (a file, a pipe): it is not known
	 * whether its model is given that. */
	bool is_own = is_below && scope_id == context.scope_id && context.capture_id;
	job->is_sink = is_own && capture_is_sink(segment, SUBJECT_SELF, context.capture_id) &&
		       receiver_find(segment, SUBJECT_SELF, &context, 0) == RECEIVER_AGENT;
	job->marks = !peek && (!is_own || job->is_sink);
	if (job->is_sink)
		command_id = capture_command(segment, context.capture_id);
	job->moment = moment_now(segment, scope_id, 0, job->is_sink ? context.capture_id : 0,
				 command_id);
	job->limits = limits_of_context(segment, &context);
	return EXIT_CODE_OK;
}

static struct item *add_item(struct job *job, const char *path)
{
	struct item *items = reallocarray(job->items, job->count + 1, sizeof(*items));

	if (items) {
		job->items = items;
		items[job->count] = (struct item){ .path = strdup(path) };
		if (items[job->count].path)
			return &items[job->count++];
	}
	job->lacked_memory = true;
	return NULL;
}

static bool was_inspected(const struct job *job, const char *path, const struct stat *stat)
{
	for (size_t i = 0; i < job->count; i++)
		if (strcmp(job->items[i].path, path) == 0 ||
		    (stat && job->items[i].dev == stat->st_dev &&
		     job->items[i].ino == stat->st_ino))
			return true;
	return false;
}

static const char *explain(int error)
{
	switch (error) {
	case -EXDEV:
		return "leads out of the workspace, or to what is excluded";
	case -EINVAL:
		return "not a regular file";
	case -EFBIG:
		return "longer than 65,536 bytes";
	case -ENODATA:
		return "not text";
	case -ESTALE:
		return "changed while it was read";
	default:
		return strerror(-error);
	}
}
_Static_assert(INSTRUCTION_BYTES_MAX == 65536, "explain() names it");

/* One that applies and is not given: said, and on record for --json. */
static void leave_out(struct job *job, const char *path, int error)
{
	const char *shown = path_relative(job->segment, path);

	(void)add_item(job, path);
	message("%s: %s; not given", shown, explain(error));
	if (!json)
		return;
	json_t *object = json_object();
	(void)json_object_set_new(object, "path", text_json(shown));
	(void)json_object_set_new(object, "reason", json_string(explain(error)));
	(void)json_array_append_new(job->left, object);
}

static void print_json(struct job *job, const char *path, const struct cached_content *content,
		       bool is_given)
{
	json_t *object = json_object();
	char digits[VERSION_DIGITS + 1];

	version_digits(&content->version, digits);
	(void)json_object_set_new(object, "path", text_json(path_relative(job->segment, path)));
	(void)json_object_set_new(object, "bytes",
				  json_integer((json_int_t)content->version.size_bytes));
	(void)json_object_set_new(object, "version", json_string(digits));
	(void)json_object_set_new(object, "given", json_boolean(is_given));
	(void)json_object_set_new(object, "content",
				  json_stringn(content->bytes, content->version.size_bytes));
	(void)json_array_append_new(job->files, object);
	shape_unseen(&job->shape, content->version.size_bytes);
}

static int print_text(struct job *job, const char *path, const struct cached_content *content)
{
	char header[INSTRUCTION_HEADER_BYTES];
	size_t bytes = content->version.size_bytes;
	int length = instruction_header(job->segment, path, header, sizeof(header));

	if (length < 0)
		return length;
	(void)fwrite(header, 1, (size_t)length, stdout);
	(void)fwrite(content->bytes, 1, bytes, stdout);
	bool ends = bytes == 0 || content->bytes[bytes - 1] == '\n';
	if (!ends)
		(void)putchar('\n');
	shape_add(&job->shape, header, (size_t)length);
	shape_add(&job->shape, content->bytes, bytes);
	shape_add(&job->shape, "\n", !ends);
	return 0;
}

/* Is it valid UTF-8, which JSON is? */
static bool is_utf8(const struct cached_content *content)
{
	json_t *text = json_stringn(content->bytes, content->version.size_bytes);
	json_decref(text);
	return text;
}

/* A place where an instruction file may be. */
static void inspect(struct job *job, const char *path)
{
	struct cached_content content;
	struct stat stat;

	if (was_inspected(job, path, NULL))
		return;
	int fd = instruction_open(job->segment, path, &stat);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return;
	if (fd >= 0 && was_inspected(job, path, &stat)) {
		(void)close(fd);
		return;
	}
	int error = fd < 0 ? fd : content_cache_get(job->cache, fd, &stat, &content);
	if (fd >= 0)
		(void)close(fd);
	if (error == 0 && (!content.is_text || (json && !is_utf8(&content))))
		error = -ENODATA;
	if (error < 0) {
		leave_out(job, path, error);
		return;
	}
	bool is_given = instruction_is_given(job->segment, &job->moment, stat.st_dev, stat.st_ino,
					     &content.version, &job->limits);
	struct item *item = add_item(job, path);
	if (!item)
		return;
	item->dev = stat.st_dev;
	item->ino = stat.st_ino;
	item->version = content.version;
	if (is_given && !all)
		return;
	if (json)
		print_json(job, path, &content, is_given);
	else if (print_text(job, path, &content) < 0)
		return;
	item->is_printed = true;
}

static int resolve_name(struct job *job, const char *word)
{
	char path[SEGMENT_PATH_BYTES], place[SEGMENT_PATH_BYTES];
	struct instruction_walk walk;
	struct stat stat;
	int error = argument_path(word, path, sizeof(path));

	if (error < 0) {
		message("%s: %s", word, strerror(-error));
		return EXIT_CODE_USAGE;
	}
	if (!path_in_workspace(job->segment, path)) {
		message("%s: not in the session's workspace", word);
		return EXIT_CODE_NOTHING;
	}
	bool is_directory = sys_stat(path, &stat) == 0 ? S_ISDIR(stat.st_mode)
						       : word[strlen(word) - 1] == '/';
	instruction_walk_init(job->segment, path, is_directory, false, &walk);
	while (instruction_walk_next(job->segment, &walk, place, sizeof(place)))
		inspect(job, place);
	return EXIT_CODE_OK;
}

/* All that was printed went out. */
static void mark(const struct job *job)
{
	struct journal journal;

	if (job->is_sink) {
		struct request request = { .context.scope_id = job->moment.scope_id,
					   .command_id = job->moment.command_id };
		request_wrote(job->segment, &request, NULL, &job->shape);
	}
	if (!job->marks)
		return;
	/* Without a journal they are on record all the same. */
	(void)session_map_journal(job->session, &journal);
	for (size_t i = 0; i < job->count; i++) {
		const struct item *item = &job->items[i];
		struct file_record record = { .op = JOURNAL_INSTRUCTED,
					      .path = item->path,
					      .dev = item->dev,
					      .ino = item->ino,
					      .after = item->version,
					      .tid = (uint32_t)getpid(),
					      .amount = job->moment.scope_id };
		if (item->is_printed && instruction_record(job->segment, &job->moment, item->dev,
							   item->ino, &item->version) == 0)
			file_record_write(job->segment, &journal, &record);
	}
	journal_unmap(&journal);
}

static json_t *document_of(const struct job *job)
{
	json_t *document = session_document(job->session, "seen/context/1");

	(void)json_object_set_new(document, "scope", session_document_scope(job->moment.scope_id));
	(void)json_object_set_new(document, "marked", json_boolean(job->marks));
	(void)json_object_set(document, "files", job->files);
	(void)json_object_set(document, "left_out", job->left);
	return document;
}

static int context(const struct session *session, char **words)
{
	struct job job = { .session = session, .segment = &session->segment };
	int code = choose_scope(&job);

	if (code != EXIT_CODE_OK)
		return code;
	job.cache = content_cache_new(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES);
	job.files = json ? json_array() : NULL;
	job.left = json ? json_array() : NULL;
	if (!job.cache || (json && (!job.files || !job.left))) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	if (job.cache)
		content_cache_load(job.cache, session->directory);
	for (; job.cache && *words; words++) {
		int error = resolve_name(&job, *words);
		code = error != EXIT_CODE_OK ? error : code;
	}
	bool is_whole = !json || !job.files || text_json_print(document_of(&job)) == 0;
	if (!is_whole || job.lacked_memory) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	if (message_exit_code(EXIT_CODE_OK) == EXIT_CODE_OK)
		mark(&job);
	else
		code = EXIT_CODE_OUTPUT;
	for (size_t i = 0; i < job.count; i++)
		free(job.items[i].path);
	free(job.items);
	json_decref(job.files);
	json_decref(job.left);
	if (job.cache)
		content_cache_leave(job.cache, session->directory);
	content_cache_free(job.cache);
	return code;
}

int cmd_context(int argc, char **argv)
{
	return session_command(
		&(struct session_command){ .options = &OPTIONS,
					   .name = &session_name,
					   .words_min = 1,
					   .words_max = SESSION_COMMAND_ANY,
					   .words_wrong = "the context of what? Name paths",
					   .act = context },
		argc, argv);
}

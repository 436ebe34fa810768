/* Instruction files at the start: see hook_instructions.h. */
#include "cli/hooks/hook_instructions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/content_cache.h"
#include "cli/session/file_record.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/instruction.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

enum { LOADED_MAX = 64 };

struct instructions {
	const struct hook_agent *agent;
	const struct hook_input *input;
	const struct hook_record *record;
	struct content_cache *cache;
	struct moment moment;
	struct version loaded[LOADED_MAX]; /* of files that the agent gives by itself */
	size_t loaded_count;
	size_t room;
	FILE *out;
};

static bool loads_name(const struct hook_adapter *adapter, const char *path)
{
	const char *const *name = adapter->instructions;

	for (; name && *name; name++)
		if (strcmp(path_base(path), *name) == 0)
			return true;
	return false;
}

/* Reads one; false where it is none that can be given. */
static bool read_one(const struct instructions *all, const char *path, struct stat *ret_stat,
		     struct cached_content *ret_content)
{
	int fd = instruction_open(all->agent->segment, path, ret_stat);
	int error = fd < 0 ? fd : content_cache_get(all->cache, fd, ret_stat, ret_content);

	if (fd >= 0)
		(void)close(fd);
	if (error < 0 || !ret_content->is_text)
		return false;
	/* JSON is UTF-8. */
	json_t *text = json_stringn(ret_content->bytes, ret_content->version.size_bytes);
	json_decref(text);
	return text;
}

/* Does a file that the agent loads bring another one with it? */
static bool names_file(const struct cached_content *content, const char *name)
{
	size_t length = strlen(name);
	const char *at = content->bytes, *end = at + content->version.size_bytes;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		if (at > content->bytes && (at[-1] == '@' || at[-1] == '/'))
			return true;
		at += length;
	}
	return false;
}

/* Is it loaded by the agent: by a name of its own, the same bytes, or from such a file beside it? */
static bool is_loaded(struct instructions *all, const char *path, const struct version *version)
{
	const struct hook_adapter *adapter = all->input->adapter;
	const char *slash = strrchr(path, '/');
	char other[PATH_MAX];
	struct cached_content content;
	struct stat stat;

	for (size_t i = 0; i < all->loaded_count; i++)
		if (version_equal(&all->loaded[i], version))
			return true;
	for (const char *const *name = adapter->instructions; name && *name; name++)
		if (snprintf(other, sizeof(other), "%.*s/%s", (int)(slash - path), path, *name) <
			    (int)sizeof(other) &&
		    read_one(all, other, &stat, &content) &&
		    (version_equal(&content.version, version) ||
		     names_file(&content, path_base(path))))
			return true;
	return false;
}

static bool was_given(const struct instructions *all, const char *path,
		      const struct version *version)
{
	for (size_t i = 0; i < all->record->count; i++) {
		const struct hook_record_file *file = &all->record->files[i];
		if (!file->is_past && strcmp(file->path, path) == 0 &&
		    version_equal(&file->version, version))
			return true;
	}
	return false;
}

static void note(const struct instructions *all, const char *path, const struct stat *stat,
		 const struct version *version)
{
	const struct hook_agent *agent = all->agent;
	const struct file_record event = { .op = JOURNAL_INSTRUCTED,
					   .path = path,
					   .dev = stat->st_dev,
					   .ino = stat->st_ino,
					   .after = *version,
					   .tid = (uint32_t)getpid(),
					   .amount = agent->scope_id };

	if (instruction_record(agent->segment, &all->moment, stat->st_dev, stat->st_ino, version) ==
	    0)
		file_record_write(agent->segment, agent->journal, &event);
	hook_record_given(agent, all->input, path, version, false);
}

static void write_one(struct instructions *all, const char *path)
{
	char name[SEGMENT_PATH_BYTES * 4];
	struct cached_content content;
	struct stat stat;

	if (!read_one(all, path, &stat, &content))
		return;
	struct version version = content.version;
	if (loads_name(all->input->adapter, path)) {
		if (all->loaded_count < LOADED_MAX)
			all->loaded[all->loaded_count++] = version;
		return;
	}
	if (was_given(all, path, &version) || is_loaded(all, path, &version) ||
	    path_escape(path_relative(all->agent->segment, path), name, sizeof(name)) < 0 ||
	    !read_one(all, path, &stat, &content) || !version_equal(&content.version, &version))
		return;
	size_t bytes = version.size_bytes;
	if (bytes + strlen(name) + 64 > all->room) {
		(void)fprintf(all->out,
			      "[Project instructions in %s: %zu bytes, not given here. Read it.]\n",
			      name, bytes);
		return;
	}
	all->room -= bytes + strlen(name) + 64;
	(void)fprintf(all->out, "[Project instructions from %s]\n", name);
	(void)fwrite(content.bytes, 1, bytes, all->out);
	if (!bytes || content.bytes[bytes - 1] != '\n')
		(void)fputs("\n", all->out);
	note(all, path, &stat, &version);
}

void hook_instructions_write(const struct hook_agent *agent, const struct hook_input *input,
			     const struct hook_record *record, size_t room, FILE *out)
{
	static struct instructions all;
	struct instruction_walk walk;
	char directory[PATH_MAX], path[SEGMENT_PATH_BYTES];

	if (!input->directory || !realpath(input->directory, directory) ||
	    !path_in_workspace(agent->segment, directory))
		return;
	all = (struct instructions){
		.agent = agent,
		.input = input,
		.record = record,
		.room = room,
		.out = out,
		.cache = content_cache_new(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES),
		.moment = moment_now(agent->segment, agent->scope_id, 0, 0, DELIVERY_UNCUT)
	};
	if (!all.cache)
		return;
	content_cache_load(all.cache, agent->directory);
	instruction_walk_init(agent->segment, directory, true, false, &walk);
	while (instruction_walk_next(agent->segment, &walk, path, sizeof(path)))
		write_one(&all, path);
	content_cache_leave(all.cache, agent->directory);
	content_cache_free(all.cache);
}

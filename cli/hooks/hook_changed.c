/* Files that changed since they were given: see hook_changed.h. */
#include "cli/hooks/hook_changed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/answer_diff.h"
#include "cli/files/changed_file.h"
#include "cli/hooks/hook_list.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"

/* What is by a name now.  fd -1 and no version: nothing. */
struct present {
	int fd;
	struct content content;
};

/* Returns false where that is not known. */
static bool inspect(const char *path, struct present *ret_present)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*ret_present = (struct present){ .fd = fd };
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
	       content_of_descriptor(fd, UINT64_MAX, &ret_present->content) == 0;
}

/* Did the agent, or what it started, make this of the file, from what it knew? */
static bool is_own(const struct hook_agent *agent, const struct file_slot *file,
		   const struct version *now)
{
	if (version_is_none(now))
		return file->flags & FILE_REMOVED;
	return version_equal(&file->written, now) &&
	       (!file->written_scope ||
		file->written_scope == scope_head(agent->segment, agent->scope_id));
}

/* Has the session the file, and if so, whose is what is there now?  Where no process noted the change, it
 * is found out. */
static bool find_file(const struct hook_agent *agent, const struct hook_record_file *known,
		      struct file_slot *ret_file)
{
	uint64_t key = path_key(agent->segment, known->path);
	struct changed_file changed;

	if (!known->is_here || file_find(agent->segment, key, ret_file) < 0)
		return false;
	(void)changed_file(agent->segment, agent->journal, agent->scope_id, known->path, ret_file,
			   &changed);
	return file_find(agent->segment, key, ret_file) == 0;
}

/* "+3 -1, by another program"; what is not known is left out. */
static void describe(const struct hook_agent *agent, const struct file_slot *file,
		     const struct present *present, char *ret_words, size_t capacity)
{
	const struct version *now = &present->content.version;
	char name[SCOPE_NAME_BYTES], shown[SCOPE_NAME_BYTES * 4];
	char lines[64] = "", by[SCOPE_NAME_BYTES * 4 + 64] = "";
	size_t added = 0, removed = 0;
	struct version before;
	uint32_t pid;

	if (file && present->fd >= 0 &&
	    baseline_of(agent->segment, agent->scope_id, file->key, &before) &&
	    answer_diff_count(agent->segment, &before, now, present->fd, &added, &removed))
		(void)snprintf(lines, sizeof(lines), "+%zu -%zu", added, removed);
	if (present->fd < 0)
		(void)snprintf(lines, sizeof(lines), "deleted");
	else if (file && file->written_scope && version_equal(&file->written, now) &&
		 scope_agent(agent->segment, file->written_scope, name, &pid) &&
		 path_escape(name, shown, sizeof(shown)) >= 0)
		(void)snprintf(by, sizeof(by), "by %s (pid %u)", shown, pid);
	else if (file && version_equal(&file->external, now) && file->source == SOURCE_USER)
		(void)snprintf(by, sizeof(by), "by another program");
	(void)snprintf(ret_words, capacity, "%s%s%s", lines, lines[0] && by[0] ? ", " : "", by);
}

static void write_file(const struct hook_agent *agent, const struct hook_input *input,
		       const struct hook_record_file *known, struct hook_list *list)
{
	char words[SCOPE_NAME_BYTES * 4 + 160];
	struct present present;
	struct file_slot file;
	bool is_known = inspect(known->path, &present);
	const struct version *now = &present.content.version;

	if (is_known && !version_equal(now, &known->version) &&
	    !(known->is_announced && version_equal(now, &known->announced))) {
		bool has_file = find_file(agent, known, &file);
		if (!has_file || (!file.writer && !is_own(agent, &file, now))) {
			describe(agent, has_file ? &file : NULL, &present, words, sizeof(words));
			if (hook_list_add(list, agent->segment, known->path, words))
				hook_record_announced(agent, input, known->path, now);
		}
	}
	if (present.fd >= 0)
		(void)close(present.fd);
}

void hook_changed_write(const struct hook_agent *agent, const struct hook_input *input,
			const struct hook_record *record, FILE *out)
{
	struct hook_list list = { .out = out, .head = "changed since you read them: " };

	for (size_t i = 0; i < record->count; i++)
		write_file(agent, input, &record->files[i], &list);
	hook_list_finish(&list);
}

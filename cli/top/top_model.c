/* What `seen top` knows: see top_model.h. */
#include "cli/top/top_model.h"
#include "cli/top/top_model_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/journal/event_filter.h"
#include "tracker/guard/rule.h"
#include "tracker/path/path.h"
#include "tracker/process/source.h"

enum {
	FILE_BUCKETS = 1 << 16,
	PROCESS_BUCKETS = 1 << 12,
	FIRST_READS = 4096,
	SMOOTHED_MS = 3000,
};

/* A descriptor's first read, that is part of the total which is reported when it is closed: the
 * last with such a key. */
struct first_read {
	uint64_t process;
	int32_t fd;
	uint64_t amount;
};

/* ---- the tables ---- */

static struct top_file **file_bucket(const struct top_model *model, const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	return &model->file_buckets[(hash ^ hash >> 32) % FILE_BUCKETS];
}

static struct top_process **process_bucket(const struct top_model *model, uint32_t pid)
{
	return &model->process_buckets[pid % PROCESS_BUCKETS];
}

int top_model_new(const char *workspace, struct top_model **ret_model)
{
	struct top_model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	model->workspace = workspace;
	model->newest_file.newer = model->newest_file.older = &model->newest_file;
	model->newest_process.newer = model->newest_process.older = &model->newest_process;
	model->file_buckets = calloc(FILE_BUCKETS, sizeof(struct top_file *));
	model->process_buckets = calloc(PROCESS_BUCKETS, sizeof(struct top_process *));
	model->first_reads = calloc(FIRST_READS, sizeof(*model->first_reads));
	if (!model->file_buckets || !model->process_buckets || !model->first_reads) {
		top_model_free(model);
		return -ENOMEM;
	}
	*ret_model = model;
	return 0;
}

void top_model_free(struct top_model *model)
{
	if (!model)
		return;
	for (struct top_file *file = model->newest_file.newer, *newer; file != &model->newest_file;
	     file = newer) {
		newer = file->newer;
		free((char *)file->path);
		free(file);
	}
	for (struct top_process *process = model->newest_process.newer, *newer;
	     process != &model->newest_process; process = newer) {
		newer = process->newer;
		free(process);
	}
	for (size_t i = 0; i < TOP_NOTES_MAX; i++)
		free(model->notes[i].path);
	free(model->file_buckets);
	free(model->process_buckets);
	free(model->first_reads);
	free(model);
}

/* ---- files ---- */

static void drop_file(struct top_model *model, struct top_file *file)
{
	struct top_file **link = file_bucket(model, file->path);

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	file->newer->older = file->older;
	file->older->newer = file->newer;
	free((char *)file->path);
	free(file);
	model->file_count--;
	model->files_dropped++;
}

static struct top_file *find_file(const struct top_model *model, const char *path)
{
	struct top_file *file = *file_bucket(model, path);
	while (file && strcmp(file->path, path) != 0)
		file = file->next;
	return file;
}

/* The file with this path, now the one touched last.  Returns NULL when out of memory. */
static struct top_file *touch_file(struct top_model *model, const char *path, uint64_t realtime_ns)
{
	struct top_file *file = find_file(model, path);

	if (file) {
		file->newer->older = file->older;
		file->older->newer = file->newer;
	} else {
		file = calloc(1, sizeof(*file));
		char *copy = file ? strdup(path) : NULL;
		if (!copy) {
			free(file);
			model->files_dropped++;
			return NULL;
		}
		if (model->file_count >= TOP_FILES_MAX)
			drop_file(model, model->newest_file.newer);
		struct top_file **bucket = file_bucket(model, path);
		file->path = copy;
		file->is_workspace = event_path_below(model->workspace, path, false);
		file->next = *bucket;
		*bucket = file;
		model->file_count++;
	}
	file->newer = &model->newest_file;
	file->older = model->newest_file.older;
	file->older->newer = file;
	model->newest_file.older = file;
	if (realtime_ns > file->last_realtime_ns)
		file->last_realtime_ns = realtime_ns;
	return file;
}

/* The path of an event's file.  Returns ret_path or what the event has; NULL: it tells none. */
static const char *path_of(const struct event *event, char *ret_path, size_t capacity)
{
	if (event->resolved)
		return event->resolved;
	if (!event->path || !event->path[0])
		return NULL;
	if (event->path[0] == '/')
		return event->path;
	return snprintf(ret_path, capacity, "?/%s", event->path) < (int)capacity ? ret_path : NULL;
}

/* ---- processes ---- */

static struct top_process *find_process(const struct top_model *model, uint32_t pid)
{
	struct top_process *process = pid ? *process_bucket(model, pid) : NULL;
	while (process && process->pid != pid)
		process = process->next;
	return process; /* the last with that number: they are put in front */
}

static void set_life(struct top_model *model, struct top_process *process, enum top_life life)
{
	model->running_count -= process->life == TOP_RUNS;
	process->life = life;
	model->running_count += process->life == TOP_RUNS;
}

static void drop_process(struct top_model *model, struct top_process *process)
{
	struct top_process **link = process_bucket(model, process->pid);

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	process->newer->older = process->older;
	process->older->newer = process->newer;
	model->running_count -= process->life == TOP_RUNS;
	free(process);
	model->process_count--;
	model->processes_dropped++;
}

/* Makes room: the one that ended longest ago, or was heard of longest ago. */
static void drop_one_process(struct top_model *model)
{
	struct top_process *process = model->newest_process.newer;

	/* The ended ones gather at the old end; a long search is not worth it. */
	for (int i = 0; i < 256 && process != &model->newest_process; i++, process = process->newer)
		if (process->life != TOP_RUNS) {
			drop_process(model, process);
			return;
		}
	drop_process(model, model->newest_process.newer);
}

static void touch_process(struct top_model *model, struct top_process *process,
			  const struct event *event)
{
	process->newer->older = process->older;
	process->older->newer = process->newer;
	process->newer = &model->newest_process;
	process->older = model->newest_process.older;
	process->older->newer = process;
	model->newest_process.older = process;
	if (event->time_realtime_ns > process->last_realtime_ns)
		process->last_realtime_ns = event->time_realtime_ns;
}

/* Returns NULL when out of memory. */
static struct top_process *add_process(struct top_model *model, const struct event *event)
{
	struct top_process *process = calloc(1, sizeof(*process));

	if (!process) {
		model->processes_dropped++;
		return NULL;
	}
	if (model->process_count >= TOP_PROCESSES_MAX)
		drop_one_process(model);
	struct top_process *parent = find_process(model, event->parent_pid);
	struct top_process **bucket = process_bucket(model, event->pid);
	process->id = ++model->next_id;
	process->parent = parent ? parent->id : 0;
	process->pid = event->pid;
	process->role = event->role;
	process->next = *bucket;
	process->newer = process->older = process; /* touch_process() puts it into the ring */
	*bucket = process;
	model->process_count++;
	model->running_count++;
	return process;
}

/* The program's name and its arguments. */
static void set_command(struct top_process *process, const struct event *event)
{
	const char *name = event->executable ? path_base(event->executable) : "?";
	size_t at = (size_t)snprintf(process->command, sizeof(process->command), "%s", name);

	if (event->op != JOURNAL_START || !event->other)
		return;
	for (size_t from = 0, i = 0; from < event->other_bytes && at < sizeof(process->command);
	     i++) {
		const char *argument = event->other + from;
		if (i > 0) /* the first is the program again */
			at += (size_t)snprintf(process->command + at, sizeof(process->command) - at,
					       " %s", argument);
		from += strlen(argument) + 1;
	}
}

/* The process of an event; one that is another program now stays what it is. */
static struct top_process *process_of(struct top_model *model, const struct event *event)
{
	/* A child between vfork and exec has no record of its own: what it does is its parent's. */
	uint32_t pid = event->vforked ? event->parent_pid : event->pid;
	unsigned effect = op_info(event->op)->effect;
	bool begins = effect == EFFECT_STARTS || effect == EFFECT_FORKS;
	struct top_process *process = find_process(model, pid);

	if (!pid)
		return NULL;
	/* Its number may have been given to another process since. */
	if (process && begins && process->number != event->number &&
	    (effect == EFFECT_FORKS || process->life != TOP_RUNS))
		process = NULL;
	if (!process) {
		process = add_process(model, event);
		if (!process)
			return NULL;
		set_command(process, event);
		process->number = event->process;
	}
	touch_process(model, process, event);
	if (begins) {
		process->number = event->number;
		process->role = event->role;
		process->pid_ns = event->entry ? event->entry->process.pid_ns : 0;
		set_command(process, event);
	}
	return process;
}

/* ---- what an event means for its file ---- */

static void follow_given(struct top_file *file, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	const struct version *version = &entry->details.after;

	if (!(entry->record.marks & JOURNAL_DETAILS))
		return;
	if (file->given_scope == event->scope_id && !version_is_none(version) &&
	    version_equal(version, &file->given))
		file->repeats++;
	file->given = *version;
	file->given_scope = event->scope_id;
	file->flags &= ~(uint32_t)TOP_FILE_EXTERNAL;
}

/* Bytes: the total of a descriptor holds its first read. */
static uint64_t bytes_read(struct top_model *model, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct first_read *first =
		&model->first_reads[(event->process * 31 + (uint32_t)record->fd) % FIRST_READS];
	bool is_same = first->process == event->process && first->fd == record->fd;
	uint64_t amount = record->amount;

	if (event->op == JOURNAL_READ) {
		*first = (struct first_read){ event->process, record->fd, amount };
		return amount;
	}
	if (is_same && first->amount <= amount)
		amount -= first->amount;
	if (is_same)
		first->process = 0;
	return amount;
}

static void follow_write(struct top_file *file, struct top_process *process)
{
	file->writes++;
	file->flags |= TOP_FILE_WRITTEN;
	file->flags &= ~(uint32_t)TOP_FILE_DELETED;
	if (process)
		process->writes++;
}

/* Is it about a file that was reached?  Directories that are listed and entered are no files. */
static bool concerns_file(const struct event *event)
{
	switch ((enum op_effect)op_info(event->op)->effect) {
	case EFFECT_OPENS:
		return !(event->entry->record.flags & (O_PATH | O_DIRECTORY));
	case EFFECT_CREATES:
		return !S_ISDIR(event->entry->record.flags);
	case EFFECT_DELETES:
		return !(event->entry->record.flags & AT_REMOVEDIR);
	case EFFECT_READS:
	case EFFECT_RENAMES:
	case EFFECT_LINKS:
	case EFFECT_SYMLINKS:
	case EFFECT_RESIZES:
	case EFFECT_ANSWERS:
	case EFFECT_DIFFS:
	case EFFECT_YIELDS:
	case EFFECT_GIVES:
	case EFFECT_CHANGES:
	case EFFECT_EDITS:
	case EFFECT_JUDGES:
	case EFFECT_RULES:
	case EFFECT_MENTIONS:
		return true;
	case EFFECT_NONE:
	case EFFECT_STARTS:
	case EFFECT_FORKS:
	case EFFECT_ANNOUNCES:
	case EFFECT_WITHDRAWS:
	case EFFECT_ENDS:
	case EFFECT_LISTS:
	case EFFECT_WRITES:
	case EFFECT_MAPS:
	case EFFECT_SETS:
	case EFFECT_ENTERS:
	case EFFECT_COMMANDS:
	case EFFECT_FORGETS:
		break;
	}
	return false;
}

static void follow_name(struct top_model *model, struct top_file *file, struct top_process *process,
			const struct event *event)
{
	follow_write(file, process);
	if (op_info(event->op)->effect == EFFECT_DELETES ||
	    op_info(event->op)->effect == EFFECT_RENAMES)
		file->flags |= TOP_FILE_DELETED;
	if (!event->other_resolved)
		return;
	struct top_file *other = touch_file(model, event->other_resolved, event->time_realtime_ns);
	if (other)
		follow_write(other, NULL);
}

static void follow_file(struct top_model *model, struct top_file *file, struct top_process *process,
			const struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	switch ((enum op_effect)op_info(event->op)->effect) {
	case EFFECT_OPENS:
		if ((record->flags & O_ACCMODE) != O_RDONLY || (record->flags & O_TRUNC)) {
			follow_write(file, process);
			break;
		}
		file->reads++;
		if (process)
			process->reads++;
		break;
	case EFFECT_READS:
		file->bytes += bytes_read(model, event);
		break;
	case EFFECT_CREATES:
	case EFFECT_DELETES:
	case EFFECT_RENAMES:
	case EFFECT_LINKS:
	case EFFECT_SYMLINKS:
	case EFFECT_RESIZES:
		follow_name(model, file, process, event);
		break;
	case EFFECT_ANSWERS:
		file->notices++;
		file->repeats++;
		file->bytes_saved += record->amount;
		break;
	case EFFECT_DIFFS:
		file->bytes_saved += record->amount;
		file->flags &= ~(uint32_t)TOP_FILE_EXTERNAL;
		break;
	case EFFECT_GIVES:
		follow_given(file, event);
		break;
	case EFFECT_CHANGES:
		if (source_is_external(event->source))
			file->flags |= TOP_FILE_EXTERNAL;
		break;
	case EFFECT_JUDGES:
		file->flags |= TOP_FILE_CONFLICT;
		break;
	case EFFECT_RULES:
		if (record->decision != RULE_ACTION_LOG)
			file->flags |= TOP_FILE_RULED;
		break;
	case EFFECT_NONE:
	case EFFECT_MENTIONS:
	case EFFECT_STARTS:
	case EFFECT_FORKS:
	case EFFECT_ANNOUNCES:
	case EFFECT_WITHDRAWS:
	case EFFECT_ENDS:
	case EFFECT_LISTS:
	case EFFECT_WRITES:
	case EFFECT_MAPS:
	case EFFECT_SETS:
	case EFFECT_ENTERS:
	case EFFECT_YIELDS:
	case EFFECT_COMMANDS:
	case EFFECT_EDITS:
	case EFFECT_FORGETS:
		break;
	}
}

void top_model_add(struct top_model *model, const struct event *event)
{
	char given[JOURNAL_TEXT_BYTES_MAX + 3];

	model->events++;
	if (event->time_realtime_ns > model->last_realtime_ns)
		model->last_realtime_ns = event->time_realtime_ns;
	if (!event->entry) {
		top_model_learn_note(model, event, NULL, NULL);
		return;
	}
	struct top_process *process = process_of(model, event);
	if (process)
		process->events++;
	unsigned effect = op_info(event->op)->effect;
	if (effect == EFFECT_ENDS && process && !event->vforked) {
		process->status = event->entry->record.amount;
		set_life(model, process, TOP_ENDED);
	}
	const char *path = path_of(event, given, sizeof(given));
	if (path && concerns_file(event) &&
	    (!event->error || effect == EFFECT_JUDGES || effect == EFFECT_RULES)) {
		struct top_file *file = touch_file(model, path, event->time_realtime_ns);
		if (file)
			follow_file(model, file, process, event);
	}
	top_model_learn_note(model, event, path, process);
}

void top_model_gone(struct top_model *model, struct top_process *process)
{
	if (process->life != TOP_RUNS)
		return;
	set_life(model, process, TOP_GONE);
	process->rate = 0;
}

/* ---- rates ---- */

double top_rate(double rate, uint64_t count, uint64_t elapsed_ns)
{
	if (elapsed_ns == 0)
		return rate;
	double elapsed_ms = (double)elapsed_ns / 1e6;
	double weight = elapsed_ms / (elapsed_ms + SMOOTHED_MS);
	double now = (double)count * 1e3 / elapsed_ms;
	double smoothed = rate + (now - rate) * weight;
	return smoothed < 0.05 ? 0 : smoothed; /* it would never be 0 */
}

void top_model_rate(struct top_model *model, uint64_t elapsed_ns)
{
	for (struct top_process *process = model->newest_process.older;
	     process != &model->newest_process; process = process->older) {
		if (process->rate == 0 && process->rated == process->events)
			continue;
		process->rate = top_rate(process->rate, process->events - process->rated,
					 elapsed_ns);
		process->rated = process->events;
	}
}

void top_model_reset_rates(struct top_model *model)
{
	for (struct top_process *process = model->newest_process.older;
	     process != &model->newest_process; process = process->older) {
		process->rate = 0;
		process->rated = process->events;
	}
}

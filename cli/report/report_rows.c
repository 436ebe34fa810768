/* The rows of a report, found by path or number: see report_rows.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/journal/event_filter.h"
#include "cli/journal/typed.h"
#include "cli/report/report_rows.h"
#include "tracker/path/glob.h"
#include "tracker/segment/tables.h"

static uint32_t *bucket_of(const struct report_buckets *buckets, uint64_t key)
{
	return &buckets->first[key * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

static int buckets_make(struct report_buckets *buckets)
{
	buckets->first = malloc(REPORT_BUCKETS * sizeof(*buckets->first));
	if (!buckets->first)
		return -ENOMEM;
	memset(buckets->first, 0xff, REPORT_BUCKETS * sizeof(*buckets->first));
	return 0;
}

_Static_assert(REPORT_BUCKETS == 1 << (64 - 48), "the upper bits of a product tell the bucket");
_Static_assert(REPORT_NONE == UINT32_MAX, "all its bytes are 0xff");

int report_rows_init(struct report_gather *gather)
{
	if (getrandom(&gather->seed, sizeof(gather->seed), GRND_NONBLOCK) < 0)
		gather->seed = (uint64_t)(uintptr_t)gather;
	gather->streams = calloc((size_t)REPORT_STREAM_SETS * REPORT_STREAM_WAYS,
				 sizeof(*gather->streams));
	if (!gather->streams || buckets_make(&gather->files.buckets) < 0 ||
	    buckets_make(&gather->processes.buckets) < 0 ||
	    buckets_make(&gather->programs.buckets) < 0 || buckets_make(&gather->pids) < 0 ||
	    buckets_make(&gather->sight_buckets) < 0)
		return -ENOMEM;
	return 0;
}

void report_rows_finish(struct report_gather *gather)
{
	struct report_rows *rows[] = { &gather->files, &gather->processes, &gather->programs };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		free(rows[i]->buckets.first);
		free(rows[i]->keys);
	}
	free(gather->pids.first);
	free(gather->sight_buckets.first);
	free(gather->sights);
	free(gather->streams);
}

void *report_grown(struct report_gather *gather, void *rows, size_t count, size_t *capacity,
		   size_t max, size_t item_bytes)
{
	if (count < *capacity)
		return rows;
	if (count >= max)
		return NULL;
	size_t wanted = *capacity ? *capacity * 2 : 64;
	wanted = wanted < max ? wanted : max;
	void *more = reallocarray(rows, wanted, item_bytes);
	if (more)
		*capacity = wanted;
	else
		gather->no_memory = true;
	return more;
}

/* Room for one more row and for its key.  array: address of the rows.  Returns false where there is
 * none. */
static bool make_room(struct report_gather *gather, struct report_rows *rows, void *array,
		      size_t count, size_t max, size_t item_bytes)
{
	size_t key_capacity = rows->capacity;
	void *more, *old;

	struct report_key *keys = report_grown(gather, rows->keys, count, &key_capacity, max,
					       sizeof(*keys));
	if (!keys)
		return false;
	rows->keys = keys;
	memcpy(&old, array, sizeof(old));
	more = report_grown(gather, old, count, &rows->capacity, max, item_bytes);
	if (!more)
		return false;
	memcpy(array, &more, sizeof(more));
	return true;
}

static void link_row(struct report_rows *rows, uint64_t key, size_t index)
{
	uint32_t *first = bucket_of(&rows->buckets, key);
	rows->keys[index] = (struct report_key){ .key = key, .next = *first };
	*first = (uint32_t)index;
}

/* ---- files ---- */

enum report_fold report_fold_of(const struct report_gather *gather, const char *path)
{
	const char *glob = gather->state ? gather->state->text : NULL;

	for (size_t i = 0; glob && i < gather->state->count; i++, glob += strlen(glob) + 1)
		if (glob[0] == '/' && glob_covers(glob, path, false, false))
			return REPORT_STATE;
	return strstr(path, "/.git/") ? REPORT_GIT : REPORT_APART;
}

struct report_file *report_file_of(struct report_gather *gather, const char *path,
				   const struct event *event)
{
	struct report *report = gather->report;
	size_t length = strlen(path);
	uint64_t key = XXH3_64bits_withSeed(path, length, gather->seed);
	uint32_t index = *bucket_of(&gather->files.buckets, key);

	while (index != REPORT_NONE && (gather->files.keys[index].key != key ||
					strcmp(report->files[index].path, path) != 0))
		index = gather->files.keys[index].next;
	if (index != REPORT_NONE) {
		struct report_file *file = &report->files[index];
		if (event->time_realtime_ns > file->last_ns)
			file->last_ns = event->time_realtime_ns;
		return file;
	}
	char *copy = NULL;
	if (length < gather->limits->file_bytes - gather->file_bytes &&
	    make_room(gather, &gather->files, &report->files, report->file_count,
		      gather->limits->files, sizeof(*report->files))) {
		copy = strdup(path);
		gather->no_memory = gather->no_memory || !copy;
	}
	if (!copy) {
		report->files_left_out++;
		return NULL;
	}
	gather->file_bytes += length + 1;
	struct report_file *file = &report->files[report->file_count];
	*file = (struct report_file){
		.path = copy,
		.in_workspace = report->workspace &&
				event_path_below(report->workspace, path, false),
		.fold = report_fold_of(gather, path),
		.first_ns = event->time_realtime_ns,
		.last_ns = event->time_realtime_ns,
		.by = REPORT_NO_COMMAND,
	};
	link_row(&gather->files, key, report->file_count++);
	return file;
}

void report_file_changed(struct report_gather *gather, const struct report_file *file)
{
	gather->files.keys[file - gather->report->files].generation++;
}

bool report_file_seen(struct report_gather *gather, const struct report_file *file,
		      uint64_t scope_id)
{
	uint32_t index = (uint32_t)(file - gather->report->files);
	uint32_t generation = gather->files.keys[index].generation;
	uint64_t pair[] = { scope_id, index };
	uint64_t key = XXH3_64bits_withSeed(pair, sizeof(pair), gather->seed);
	uint32_t *first = bucket_of(&gather->sight_buckets, key);

	for (uint32_t i = *first; i != REPORT_NONE; i = gather->sights[i].next) {
		struct report_sight *sight = &gather->sights[i];
		if (sight->scope_id != scope_id || sight->file != index)
			continue;
		bool is_same = sight->generation == generation;
		sight->generation = generation;
		return is_same;
	}
	void *more = report_grown(gather, gather->sights, gather->sight_count,
				  &gather->sight_capacity, 2 * gather->limits->files,
				  sizeof(*gather->sights));
	if (!more)
		return false;
	gather->sights = more;
	gather->sights[gather->sight_count] = (struct report_sight){
		.scope_id = scope_id, .file = index, .generation = generation, .next = *first
	};
	*first = (uint32_t)gather->sight_count++;
	return false;
}

/* ---- programs and processes ---- */

/* Index of the program, made where there is none. */
static uint32_t program_index(struct report_gather *gather, const char *path)
{
	struct report *report = gather->report;
	uint64_t key = path ? XXH3_64bits_withSeed(path, strlen(path), gather->seed) : 0;
	uint32_t index = *bucket_of(&gather->programs.buckets, key);

	while (index != REPORT_NONE && (!path || gather->programs.keys[index].key != key ||
					strcmp(report->programs[index].path, path) != 0))
		index = gather->programs.keys[index].next;
	if (index != REPORT_NONE || !path)
		return index;
	if (!make_room(gather, &gather->programs, &report->programs, report->program_count,
		       gather->limits->programs, sizeof(*report->programs)))
		return REPORT_NONE;
	char *copy = strdup(path);
	if (!copy) {
		gather->no_memory = true;
		return REPORT_NONE;
	}
	report->programs[report->program_count] = (struct report_program){ .path = copy };
	link_row(&gather->programs, key, report->program_count);
	return (uint32_t)report->program_count++;
}

/* The newest process of a number, where no other one took its place. */
static uint32_t *newest_of(struct report_gather *gather, uint32_t pid, uint64_t pid_ns)
{
	return &gather->pids.first[(pid ^ pid_ns) % REPORT_BUCKETS];
}

/* Owned; NULL: no memory. */
static char *typed(const struct event *event)
{
	enum { COMMAND_BYTES = 2048 };
	char text[COMMAND_BYTES];

	typed_words(event->role, event->other, event->other_bytes, event->path, text, sizeof(text));
	return strdup(text);
}

/* The command that a process belongs to.  starter: index of the row of what it was copied from or
 * stood in its place, else of its parent;
 * REPORT_NONE: not known. */
static uint32_t command_of(struct report_gather *gather, const struct event *event,
			   uint32_t starter)
{
	struct report *report = gather->report;
	uint32_t command = starter != REPORT_NONE ? gather->processes.keys[starter].command
						  : REPORT_NO_COMMAND;

	/* What starts an agent (timeout, npx, a version manager's script) is over with that. */
	if (event->role == ROLE_AGENT && starter != REPORT_NONE &&
	    !gather->processes.keys[starter].is_below_agent)
		return REPORT_NO_COMMAND;
	/* What an agent does by itself is no command. */
	if (command != REPORT_NO_COMMAND || event->role == ROLE_AGENT || event->op == JOURNAL_FORK)
		return command;
	struct report_command *more = report_grown(gather, report->commands, report->command_count,
						   &gather->command_capacity,
						   gather->limits->commands, sizeof(*more));
	if (!more) {
		report->commands_left_out++;
		return REPORT_NO_COMMAND;
	}
	report->commands = more;
	more += report->command_count;
	*more = (struct report_command){ .text = typed(event), .time_ns = event->time_realtime_ns };
	if (!more->text) {
		gather->no_memory = true;
		return REPORT_NO_COMMAND;
	}
	return (uint32_t)report->command_count++;
}

void report_process_start(struct report_gather *gather, const struct event *event)
{
	struct report *report = gather->report;
	const struct journal_process *details = &event->entry->process;
	uint32_t program = program_index(gather, event->executable);
	uint32_t *newest = newest_of(gather, details->pid, details->pid_ns);
	uint32_t starter = REPORT_NONE;

	if (program != REPORT_NONE)
		report->programs[program].processes++;
	else
		report->programs_left_out++;
	if (*newest != REPORT_NONE) {
		struct report_process *earlier = &report->processes[*newest];
		/* It is another program now, or its end was not told. */
		if (earlier->pid == details->pid && earlier->pid_ns == details->pid_ns &&
		    earlier->end_ns == 0) {
			earlier->end_ns = event->time_realtime_ns;
			starter = *newest;
		}
	}
	if (starter == REPORT_NONE) {
		uint32_t parent = *newest_of(gather, details->parent_pid, details->pid_ns);
		if (parent != REPORT_NONE &&
		    gather->report->processes[parent].pid == details->parent_pid &&
		    gather->report->processes[parent].pid_ns == details->pid_ns)
			starter = parent;
	}
	uint32_t command = command_of(gather, event, starter);
	if (!make_room(gather, &gather->processes, &report->processes, report->process_count,
		       gather->limits->processes, sizeof(*report->processes))) {
		report->processes_left_out++;
		return;
	}
	report->processes[report->process_count] = (struct report_process){
		.number = event->number,
		.pid = details->pid,
		.parent_pid = details->parent_pid,
		.pid_ns = details->pid_ns,
		.role = event->role,
		.forked = event->op == JOURNAL_FORK,
		.executable = program != REPORT_NONE ? report->programs[program].path : NULL,
		.start_ns = event->time_realtime_ns,
		.last_ns = event->time_realtime_ns,
		.unattached = !(details->context & CONTEXT_ATTACHED),
	};
	link_row(&gather->processes, event->number, report->process_count);
	gather->processes.keys[report->process_count].program = program;
	gather->processes.keys[report->process_count].command = command;
	gather->processes.keys[report->process_count].is_below_agent = details->context &
								       CONTEXT_AGENT;
	*newest = (uint32_t)report->process_count++;
}

struct report_process *report_process_of(struct report_gather *gather, const struct event *event,
					 struct report_key **ret_key)
{
	uint32_t index = *bucket_of(&gather->processes.buckets, event->process);

	while (index != REPORT_NONE && gather->processes.keys[index].key != event->process)
		index = gather->processes.keys[index].next;
	*ret_key = index == REPORT_NONE ? NULL : &gather->processes.keys[index];
	return index == REPORT_NONE ? NULL : &gather->report->processes[index];
}

struct report_program *report_program_of(struct report_gather *gather, const struct event *event,
					 const struct report_key *key)
{
	uint32_t index = key ? key->program : program_index(gather, event->executable);
	return index == REPORT_NONE ? NULL : &gather->report->programs[index];
}

/* ---- bytes ---- */

uint64_t report_stream_bytes(struct report_gather *gather, const struct event *event)
{
	uint64_t bytes = report_count(event->entry->record.amount);
	bool writes = event->op == JOURNAL_WRITE || event->op == JOURNAL_WRITE_TOTAL;
	bool is_first = event->op == JOURNAL_READ || event->op == JOURNAL_WRITE;
	/* Descriptors are below 2^31, numbers of records below 2^32. */
	uint64_t key = event->process << 32 | (uint64_t)(uint32_t)event->entry->record.fd << 1 |
		       writes;
	struct report_stream *set =
		&gather->streams[(key * UINT64_C(0x9e3779b97f4a7c15) >> 51) * REPORT_STREAM_WAYS];
	struct report_stream *found = NULL, *oldest = set;

	for (struct report_stream *stream = set; stream < set + REPORT_STREAM_WAYS; stream++) {
		if (stream->key == key)
			found = stream;
		if (stream->number < oldest->number)
			oldest = stream;
	}
	if (is_first) {
		*(found ? found : oldest) = (struct report_stream){ .key = key,
								    .bytes = bytes,
								    .number = event->number };
		return bytes;
	}
	if (!found) {
		gather->report->uncertain++;
		return bytes;
	}
	uint64_t first = found->bytes;
	*found = (struct report_stream){ .key = 0 };
	return bytes > first ? bytes - first : 0;
}

_Static_assert(REPORT_STREAM_SETS == 1 << (64 - 51), "the upper bits of a product tell the set");

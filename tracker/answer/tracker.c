/* The tracker by path: see tracker.h. */
#include "tracker/answer/tracker.h"

#include <errno.h>

#include "tracker/answer/instruction.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/remembered.h"
#include "tracker/content/baseline.h"
#include "tracker/path/path.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

const char *state_name(enum state state)
{
	static const char *const NAMES[] = { "untracked", "fresh", "changed", "deleted" };
	return NAMES[state];
}

/* Key of a path that may not be normalized; 0 for one that cannot be. */
static uint64_t key_of(const struct segment *segment, const char *path)
{
	char normal[SEGMENT_PATH_BYTES];
	return path_normalize(NULL, path, normal, sizeof(normal)) < 0 ? 0
								      : path_key(segment, normal);
}

bool tracker_is_delivered(const struct segment *segment, uint64_t scope_id, uint64_t request,
			  const char *path)
{
	struct moment moment = moment_now(segment, scope_id, request, 0, 0);
	struct delivery_slot delivery;
	struct scope_slot scope;
	const struct scope_slot *slot = scope_find(segment, scope_id);
	struct context context = { 0 };

	if (slot && slot_read(slot, &scope, SCOPE_CHECKED_BYTES))
		context.profile = scope.profile;
	context.scope_id = scope_id;
	struct output_limits limits = limits_of_context(segment, &context);
	return moment.scope_epoch &&
	       delivery_find(segment, scope_id, key_of(segment, path), &delivery) == 0 &&
	       delivery_is_current(segment, &delivery, &moment, &limits);
}

struct read_data {
	const struct stamp *stamp;
	const struct version *version;
};

static void count_read(struct file_slot *file, const void *data)
{
	const struct read_data *read = data;
	file->full_reads++;
	file->stamp = *read->stamp;
	file->version = *read->version;
	file_note_read(file);
	file_note_given(file);
}

int tracker_record_delivery(const struct segment *segment, uint64_t scope_id, uint64_t request,
			    uint64_t command_id, const char *path, const struct stamp *stamp,
			    const struct version *version)
{
	char normal[SEGMENT_PATH_BYTES];
	struct read_data read = { stamp, version };
	struct moment moment = moment_now(segment, scope_id, request, 0, command_id);
	int error = path_normalize(NULL, path, normal, sizeof(normal));

	if (error < 0)
		return error;
	if (!moment.scope_epoch)
		return -ENOENT;
	uint64_t key = file_update(segment, normal, stamp, count_read, &read);
	if (!key)
		return -ENOSPC;
	error = delivery_record(segment, key, version, &moment);
	if (error < 0)
		return error;
	baseline_given(segment, scope_id, key, version);
	segment_count(segment, COUNTER_deliveries, 1);
	return 0;
}

int tracker_file(const struct segment *segment, const char *path, struct file_slot *ret_file)
{
	return file_find(segment, key_of(segment, path), ret_file);
}

int tracker_each_file(const struct segment *segment,
		      int (*callback)(const char *path, const struct file_slot *file, void *data),
		      void *data)
{
	char path[SEGMENT_PATH_BYTES];

	SEGMENT_EACH_USED (segment, TABLE_FILES, i) {
		const struct file_slot *slot = segment_slot(segment, TABLE_FILES, i);
		struct file_slot file;
		/* An empty one is not copied. */
		if (!__atomic_load_n(&slot->key, __ATOMIC_RELAXED) ||
		    !slot_read(slot, &file, sizeof(file)) || !file.key ||
		    file_path(segment, &file, path, sizeof(path)) < 0)
			continue;
		int stop = callback(path, &file, data);
		if (stop)
			return stop;
	}
	return 0;
}

static void count_forget(struct file_slot *file, const void *data)
{
	(void)data;
	file->forgets++;
}

int tracker_forget(const struct segment *segment, uint64_t scope_id, const char *path)
{
	uint64_t keys[2] = { key_of(segment, path), 0 };
	struct stat stat;
	bool known = false;

	/* Before anything: what is being read, and is on no record yet, is no delivery
	 * (decision_complete()). */
	(void)__atomic_add_fetch(&segment->header->file_forgets, 1, __ATOMIC_SEQ_CST);
	/* Which commands read it is in files; they are few, and all of them are run again. */
	bool is_there = sys_stat(path, &stat) == 0;
	if (is_there && remembered_forget(segment, scope_id) > 0)
		known = true;
	/* A file that was renamed or has two names is answered for under its inode too. */
	if (is_there) {
		keys[1] = file_by_inode(segment, stat.st_dev, stat.st_ino);
		if (instruction_forget(segment, scope_id, stat.st_dev, stat.st_ino) > 0)
			known = true;
	}
	for (int i = 0; i < 2; i++) {
		if (!keys[i] || (i == 1 && keys[1] == keys[0]))
			continue;
		/* The record of the file and that of its delivery are lost apart from each
		 * other. */
		if (file_change_known(segment, keys[i], count_forget, NULL) == 0)
			known = true;
		if (delivery_forget(segment, scope_id, keys[i]) > 0)
			known = true;
		if (line_range_forget(segment, scope_id, keys[i]) > 0)
			known = true;
	}
	if (!known)
		return -ENOENT;
	/* The inode may come to be known again by another name, under which the file was given. */
	if (keys[0])
		delivery_forget_names(segment, scope_id, keys[0]);
	segment_count(segment, COUNTER_forgets, 1);
	/* Behind the count: either a reader that ends sees that, or its command is on record by
	 * now. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	(void)remembered_forget(segment, scope_id);
	return 0;
}

int tracker_forget_all(const struct segment *segment, uint64_t scope_id)
{
	segment_count(segment, COUNTER_forgets, 1);
	if (scope_id)
		return scope_new_epoch(segment, scope_id);
	(void)__atomic_add_fetch(&segment->header->epoch, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* What a scope was given last, made, or read; nothing where it was forgotten since. */
static bool scope_baseline(const struct segment *segment, uint64_t scope_id, uint64_t key,
			   struct version *ret_version)
{
	struct delivery_slot delivery;
	uint64_t since_ns = 0;
	bool is_given = delivery_find(segment, scope_id, key, &delivery) == 0;
	bool is_known = baseline_since(segment, scope_id, key, ret_version, &since_ns);

	if (is_given && !delivery.command_id && delivery.time_ns >= since_ns)
		return false;
	if (!is_known && is_given)
		*ret_version = delivery.version;
	return is_known || is_given;
}

bool tracker_baseline(const struct segment *segment, uint64_t scope_id, const char *path,
		      struct version *ret_version)
{
	uint64_t key = key_of(segment, path), since_ns = 0;
	struct file_slot file;
	struct version version = { 0 };

	*ret_version = version;
	if (scope_id) {
		if (scope_baseline(segment, scope_id, key, &version))
			*ret_version = version;
		return !version_is_none(ret_version);
	}
	if (baseline_newest(segment, key, &version, &since_ns))
		*ret_version = version;
	if (file_find(segment, key, &file) == 0 && !version_is_none(&file.version) &&
	    file.last_read_ns >= since_ns)
		*ret_version = file.version;
	return !version_is_none(ret_version);
}

enum state tracker_state(const struct segment *segment, uint64_t scope_id, const char *path)
{
	struct file_slot file = { .flags = 0 };
	struct version baseline;
	struct content content;
	bool is_known = tracker_baseline(segment, scope_id, path, &baseline);

	(void)file_find(segment, key_of(segment, path), &file);
	if (!is_known && (scope_id || version_is_none(&file.written)))
		return STATE_UNTRACKED;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return file.flags & FILE_REMOVED ? STATE_UNTRACKED : STATE_DELETED;
	if (fd < 0)
		return STATE_CHANGED;
	int error = content_of_descriptor(fd, UINT64_MAX, &content);
	(void)sys_close(fd);
	if (error < 0)
		return STATE_CHANGED;
	if (is_known && version_equal(&content.version, &baseline))
		return STATE_FRESH;
	return !scope_id && version_equal(&content.version, &file.written) ? STATE_FRESH
									   : STATE_CHANGED;
}

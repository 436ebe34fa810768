/* Task metadata: see metadata.h. */
#include "cli/run/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/run/metadata_records.h"
#include "cli/session/owned.h"
#include "cli/session/store.h"
#include "tracker/content/file.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

#define SCHEMA "seen/task_metadata/1"

enum {
	SCAN_MS =
		50, /* the table is inspected no oftener: between two checks a file's interactions of one kind are one */
	WRITE_MS = 1000,
	WRITE_SHARE =
		20, /* writing takes no more than this part of the time: a large file is written less often */
	NS_PER_MS = 1000000,
};

static struct {
	const struct session *session; /* NULL: not open */
	char directory[SEGMENT_PATH_BYTES];
	int lock; /* of the segment's file: who has it locked writes; -1 */
	bool is_mine;
	struct metadata_records records;
	uint64_t *checked; /* of each slot of the table: a digest of what was seen in it */
	uint64_t base_ns;  /* what happened until then is in the file that was taken up */
	uint64_t until_ms;
	uint64_t generation; /* files_changed at the last look */
	uint64_t next_check_ns, next_write_ns, next_lock_ns;
	bool is_dirty;
	bool is_noted; /* `warning` is to be printed */
	char warning[SEGMENT_PATH_BYTES + 256];
} kept = { .lock = -1 };

static uint64_t clock_ns(void)
{
	return sys_clock_ns(CLOCK_MONOTONIC);
}

/* One line, at the end of the run: nothing is printed while it lasts.  The first one stands. */
static void warn(const char *what, int error)
{
	if (kept.is_noted)
		return;
	kept.is_noted = true;
	(void)snprintf(kept.warning, sizeof(kept.warning), "%s/%s %s: %s", kept.directory,
		       METADATA_NAME, what, strerror(error < 0 ? -error : error));
}

static void print_warning(void)
{
	if (kept.is_noted)
		message("%s", kept.warning);
	kept.is_noted = false;
}

/* ---- what happened ---- */

struct happened {
	enum source source;
	uint64_t time_ns;
};

/* The last of each kind, by time.  An edit that is not complete is none yet, unless the run is
 * over. */
static void interactions(const struct file_slot *file, bool closing, struct happened *ret_happened)
{
	bool edits = !file->writer || closing;
	/* What edited it last was a tool, where it was not the agent. */
	bool by_tool = file->last_edit_realtime_ns > file->agent_edit_realtime_ns;
	const struct happened all[METADATA_KINDS] = {
		{ SOURCE_READ, file->agent_read_realtime_ns },
		{ SOURCE_MENTIONED, file->mention_realtime_ns },
		{ SOURCE_AGENT, edits ? file->agent_edit_realtime_ns : 0 },
		{ SOURCE_TOOL, edits && by_tool ? file->last_edit_realtime_ns : 0 },
		{ SOURCE_USER, file->user_edit_realtime_ns },
	};

	for (int i = 0; i < METADATA_KINDS; i++) {
		int at = i;
		for (; at > 0 && ret_happened[at - 1].time_ns > all[i].time_ns; at--)
			ret_happened[at] = ret_happened[at - 1];
		ret_happened[at] = all[i];
	}
}

static int kind_of(enum source source)
{
	static const int KIND[SOURCE_COUNT] = { [SOURCE_READ] = 0,
						[SOURCE_MENTIONED] = 1,
						[SOURCE_AGENT] = 2,
						[SOURCE_TOOL] = 3,
						[SOURCE_USER] = 4 };
	return KIND[source];
}

/* Edit tools read a file several times in a row: that is one request. */
static bool is_same_read(const struct metadata_record *record, enum source source, uint64_t time_ns)
{
	uint64_t burst_ns = kept.session->segment.settings->notice_burst_ms * NS_PER_MS;

	return source == SOURCE_READ && record->count &&
	       record->entries[record->count - 1].source == SOURCE_READ &&
	       time_ns - record->handled_ns[kind_of(source)] <= burst_ns;
}

static void add_slot(const struct file_slot *file, bool closing)
{
	char path[SEGMENT_PATH_BYTES];
	struct happened happened[METADATA_KINDS];

	interactions(file, closing, happened);
	if (happened[METADATA_KINDS - 1].time_ns <= kept.base_ns ||
	    file_path(&kept.session->segment, file, path, sizeof(path)) < 0)
		return;
	json_t *text = text_json(path_relative(&kept.session->segment, path));
	struct metadata_record *record = text ? metadata_find(&kept.records,
							      json_string_value(text))
					      : NULL;
	for (int i = 0; i < METADATA_KINDS && text; i++) {
		enum source source = happened[i].source;
		uint64_t time_ns = happened[i].time_ns;
		bool comes_in = source == SOURCE_READ || source == SOURCE_MENTIONED ||
				source == SOURCE_AGENT;
		if (time_ns <= (record ? record->handled_ns[kind_of(source)] : kept.base_ns))
			continue;
		/* What others do to a file that the agent has nothing to do with is none of its
		 * context. */
		if (!record && comes_in)
			record = metadata_add(&kept.records, json_string_value(text), kept.base_ns);
		if (!record)
			continue;
		if (!is_same_read(record, source, time_ns))
			metadata_interact(record, source, time_ns / NS_PER_MS);
		else
			record->entries[record->count - 1].agent_read_ms = time_ns / NS_PER_MS;
		record->handled_ns[kind_of(source)] = time_ns;
		if (kept.until_ms < time_ns / NS_PER_MS)
			kept.until_ms = time_ns / NS_PER_MS;
		kept.is_dirty = true;
	}
	json_decref(text);
}

static uint64_t word(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Inspects all slots; in most, at those few words that say whether there is something new. */
static void check(bool closing)
{
	const struct segment *segment = &kept.session->segment;

	kept.generation = __atomic_load_n(&segment->header->files_changed, __ATOMIC_ACQUIRE);
	SEGMENT_EACH_USED (segment, TABLE_FILES, i) {
		const struct file_slot *slot = segment_slot(segment, TABLE_FILES, i);
		struct file_slot file;
		if (!word(&slot->key))
			continue;
		uint64_t digest = word(&slot->key) ^ word(&slot->agent_read_realtime_ns) * 3 ^
				  word(&slot->mention_realtime_ns) * 5 ^
				  word(&slot->agent_edit_realtime_ns) * 7 ^
				  word(&slot->last_edit_realtime_ns) * 11 ^
				  word(&slot->user_edit_realtime_ns) * 13 ^
				  word(&slot->writer) * 17;
		if ((digest == kept.checked[i] && !closing) ||
		    !slot_read(slot, &file, sizeof(file)) || !file.key)
			continue;
		kept.checked[i] = digest;
		add_slot(&file, closing);
	}
}

/* ---- the file ---- */

static json_t *json_date(uint64_t time_ms)
{
	return time_ms ? json_integer((json_int_t)time_ms) : json_null();
}

static json_t *json_entry(const struct metadata_record *record, size_t at)
{
	const struct metadata_entry *entry = &record->entries[at];
	json_t *object = json_object();

	(void)json_object_set_new(object, "path", json_string(record->path));
	(void)json_object_set_new(object, "record_state",
				  json_string(at + 1 == record->count ? "active" : "stale"));
	(void)json_object_set_new(object, "record_source", json_string(source_name(entry->source)));
	(void)json_object_set_new(object, "agent_read_date", json_date(entry->agent_read_ms));
	(void)json_object_set_new(object, "agent_edit_date", json_date(entry->agent_edit_ms));
	(void)json_object_set_new(object, "user_edit_date", json_date(entry->user_edit_ms));
	return object;
}

static char *make_text(void)
{
	const struct segment *segment = &kept.session->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	json_t *document = json_object(), *files = json_array();

	for (size_t i = 0; i < kept.records.count; i++)
		for (size_t at = 0; at < kept.records.all[i]->count; at++)
			if (json_array_append_new(files, json_entry(kept.records.all[i], at)) < 0) {
				/* half a list is none */
				json_decref(files);
				json_decref(document);
				return NULL;
			}
	(void)json_object_set_new(document, "schema", json_string(SCHEMA));
	(void)json_object_set_new(document, "session", text_json(kept.session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	(void)json_object_set_new(document, "recorded_until", json_date(kept.until_ms));
	(void)json_object_set_new(document, "files_in_context", files);
	char *text = text_json_dump(document, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(document);
	return text;
}

static int write_file(const char *path, const char *text, size_t length, bool is_synced)
{
	if (!sys_may_be_this_large(length + 1))
		return -EFBIG;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int error = 0;
	for (size_t done = 0; done < length + 1 && error == 0;) {
		/* The text's NUL is where the last newline goes. */
		ssize_t got = done < length ? write(fd, text + done, length - done)
					    : write(fd, "\n", 1);
		if (got < 0 && errno != EINTR)
			error = -errno;
		else if (got > 0)
			done += (size_t)got;
	}
	if (error == 0 && is_synced && fsync(fd) < 0)
		error = -errno;
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

static int path_in(char *ret_path, size_t capacity, const char *suffix)
{
	int length = snprintf(ret_path, capacity, "%s/%s%s", kept.directory, METADATA_NAME, suffix);
	return length < 0 || (size_t)length >= capacity ? -ENAMETOOLONG : 0;
}

/* The name is to be on disk as the bytes are. */
static void sync_directory(void)
{
	int fd = open(kept.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	(void)close(fd);
}

/* is_synced: false: what replaces no file is not put on the disk yet. */
static int replace_file(const char *text, bool is_synced)
{
	char path[SEGMENT_PATH_BYTES], fresh[SEGMENT_PATH_BYTES];
	int error = path_in(path, sizeof(path), "");

	if (error == 0)
		error = path_in(fresh, sizeof(fresh), ".new");
	if (error < 0)
		return error;
	is_synced = is_synced || faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	(void)unlink(fresh); /* of a run that was killed */
	error = write_file(fresh, text, strlen(text), is_synced);
	if (error == 0 && rename(fresh, path) < 0)
		error = -errno;
	if (error < 0)
		(void)unlink(fresh);
	else if (is_synced)
		sync_directory();
	return error;
}

static void save(bool is_synced)
{
	uint64_t begin_ns = clock_ns();
	char *text = make_text();
	int error = text ? replace_file(text, is_synced) : -ENOMEM;

	free(text);
	if (error < 0)
		warn("could not be written", error);
	else
		kept.is_dirty = false;
	uint64_t end_ns = clock_ns(), pause_ns = (end_ns - begin_ns) * WRITE_SHARE;
	if (pause_ns < (uint64_t)WRITE_MS * NS_PER_MS)
		pause_ns = (uint64_t)WRITE_MS * NS_PER_MS;
	kept.next_write_ns = end_ns + pause_ns;
}

/* ---- taking up what is there ---- */

static bool read_date(const json_t *object, const char *name, uint64_t *ret_time_ms)
{
	const json_t *value = json_object_get(object, name);
	json_int_t number = json_integer_value(value);

	*ret_time_ms = 0;
	if (json_is_null(value))
		return true;
	/* as nanoseconds, too, it is to be a number */
	if (!json_is_integer(value) || number <= 0 || number > INT64_MAX / NS_PER_MS)
		return false;
	*ret_time_ms = (uint64_t)number;
	return true;
}

static enum source source_of(const char *name)
{
	for (uint32_t source = SOURCE_NONE + 1; name && source < SOURCE_COUNT; source++)
		if (source != SOURCE_UNATTRIBUTED && strcmp(source_name(source), name) == 0)
			return (enum source)source;
	return SOURCE_NONE;
}

static bool read_entry(const json_t *object)
{
	const char *path = json_string_value(json_object_get(object, "path"));
	const char *state = json_string_value(json_object_get(object, "record_state"));
	struct metadata_entry entry = { .source = source_of(json_string_value(
						json_object_get(object, "record_source"))) };

	if (!path || !path[0] || !state ||
	    (strcmp(state, "active") != 0 && strcmp(state, "stale") != 0) || !entry.source ||
	    !read_date(object, "agent_read_date", &entry.agent_read_ms) ||
	    !read_date(object, "agent_edit_date", &entry.agent_edit_ms) ||
	    !read_date(object, "user_edit_date", &entry.user_edit_ms))
		return false;
	struct metadata_record *record = metadata_find(&kept.records, path);
	if (!record)
		record = metadata_add(&kept.records, path, kept.base_ns);
	return record && metadata_add_entry(record, &entry);
}

/* Takes over what a document says.  False: it is none of this session's. */
static bool read_document(const json_t *document)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	const char *name = json_string_value(json_object_get(document, "session"));
	const json_t *files = json_object_get(document, "files_in_context");
	uint64_t now_ns = sys_realtime_ns();

	if (!schema || strcmp(schema, SCHEMA) != 0 || !name ||
	    strcmp(name, kept.session->name) != 0 || !json_is_array(files) ||
	    !read_date(document, "recorded_until", &kept.until_ms))
		return false;
	kept.base_ns = kept.until_ms ? kept.until_ms * NS_PER_MS + NS_PER_MS - 1 : 0;
	/* The clock was set back: what comes is new all the same. */
	if (kept.base_ns > now_ns)
		kept.base_ns = now_ns;
	for (size_t i = 0; i < json_array_size(files); i++)
		if (!read_entry(json_array_get(files, i)))
			return false;
	return true;
}

static void set_aside(const char *path)
{
	char aside[SEGMENT_PATH_BYTES], suffix[64];

	(void)snprintf(suffix, sizeof(suffix), ".aside-%llu",
		       (unsigned long long)(sys_realtime_ns() / NS_PER_MS));
	int error = path_in(aside, sizeof(aside), suffix);
	if (error == 0 && rename(path, aside) < 0)
		error = -errno;
	if (error < 0) {
		warn("is not this session's, or damaged, and cannot be renamed", error);
		return;
	}
	kept.is_noted = true;
	(void)snprintf(
		kept.warning, sizeof(kept.warning),
		"%s was damaged, or not this session's: it is %s%s now, and a new one is begun",
		path, METADATA_NAME, suffix);
}

static void resume(void)
{
	char path[SEGMENT_PATH_BYTES];
	json_error_t json_error;

	metadata_drop(&kept.records);
	kept.base_ns = kept.until_ms = 0;
	kept.is_dirty = true;
	if (path_in(path, sizeof(path), "") < 0)
		return;
	/* Not blocking: it may be a FIFO. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return;
	json_t *document = fd < 0 || session_check_file(AT_FDCWD, path) < 0
				   ? NULL
				   : json_loadfd(fd, JSON_REJECT_DUPLICATES, &json_error);
	if (fd >= 0)
		(void)close(fd);
	if (document && read_document(document)) {
		kept.is_dirty = false;
	} else {
		metadata_drop(&kept.records);
		kept.base_ns = kept.until_ms = 0;
		set_aside(path);
	}
	json_decref(document);
}

/* Only one of several runs writes.  A lock of this process alone: what it forks does not hold
 * it. */
static bool lock(void)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (kept.is_mine)
		return true;
	kept.next_lock_ns = clock_ns() + (uint64_t)WRITE_MS * NS_PER_MS;
	/* A file system without locks: then two may write, each a whole file. */
	if (kept.lock >= 0 && fcntl(kept.lock, F_SETLK, &whole) < 0 &&
	    (errno == EAGAIN || errno == EACCES))
		return false;
	kept.is_mine = true;
	resume();
	return true;
}

void metadata_open(const struct session *session)
{
	const char *journal = session_journal(session);
	char path[SEGMENT_PATH_BYTES];

	if (journal)
		(void)snprintf(kept.directory, sizeof(kept.directory), "%.*s",
			       (int)(strrchr(journal, '/') - journal), journal);
	else
		(void)snprintf(kept.directory, sizeof(kept.directory), "%s", session->directory);
	kept.checked = calloc(session->segment.capacity[TABLE_FILES], sizeof(*kept.checked));
	kept.session = kept.checked ? session : NULL;
	if (!kept.session)
		return;
	kept.generation = UINT64_MAX;
	kept.next_check_ns = kept.next_write_ns = 0;
	kept.is_mine = kept.is_noted = false;
	if (session_path(path, sizeof(path), session->directory, "segment") == 0)
		kept.lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	(void)lock();
	print_warning();
}

void metadata_tick(void)
{
	if (!kept.session)
		return;
	uint64_t changed = word(&kept.session->segment.header->files_changed);
	if (kept.is_mine && !kept.is_dirty && changed == kept.generation)
		return;
	uint64_t now_ns = clock_ns();
	if (!kept.is_mine && (now_ns < kept.next_lock_ns || !lock()))
		return;
	if (changed != kept.generation && now_ns >= kept.next_check_ns) {
		check(false);
		kept.next_check_ns = now_ns + (uint64_t)SCAN_MS * NS_PER_MS;
	}
	if (kept.is_dirty && now_ns >= kept.next_write_ns)
		save(true);
}

void metadata_close(bool is_synced)
{
	if (!kept.session)
		return;
	if (lock()) {
		check(true);
		if (kept.is_dirty)
			save(is_synced);
	}
	print_warning();
	if (kept.lock >= 0)
		(void)close(kept.lock);
	kept.lock = -1;
	metadata_drop(&kept.records);
	free(kept.checked);
	kept.checked = NULL;
	kept.session = NULL;
}

void metadata_sync(void)
{
	char path[SEGMENT_PATH_BYTES];
	int fd = kept.directory[0] && path_in(path, sizeof(path), "") == 0
			 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;

	if (fd < 0)
		return;
	(void)fsync(fd);
	(void)close(fd);
	sync_directory();
}

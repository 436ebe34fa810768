/* Contents of packs as rows: see versions_pack.h. */
#include "cli/undo/versions_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/pack_reader.h"
#include "cli/undo/versions_store.h"

enum { PERMISSIONS = 07777 };

/* Does it hold what a file was, and not a link's target, or an attribute? */
static bool has_file(const struct pack_record *record)
{
	bool is_of_file = record->kind == PACK_REMOVED || record->kind == PACK_REPLACED ||
			  record->kind == PACK_CONTENT;
	bool is_held = record->held == PACK_INLINE || record->held == PACK_REFLINK ||
		       record->held == PACK_COPY ||
		       (record->held == PACK_LINK && record->result != PACK_FAILED);

	return is_of_file && is_held && S_ISREG(record->before.mode) &&
	       !(record->flags & (PACK_NO_NAME | PACK_CUT));
}

/* -ENOENT, -EBADMSG: it is not there, or not what it was. */
static int version_of(const struct pack_reader *reader, const struct pack_record *record,
		      struct version *ret_version)
{
	struct content content;

	if (record->held == PACK_INLINE || record->held == PACK_COPY) {
		*ret_version = record->version;
		return 0;
	}
	int fd = pack_content_open(reader, record);
	int error = fd < 0 ? fd : content_of_descriptor(fd, UINT64_MAX, &content);
	if (fd >= 0)
		(void)close(fd);
	if (error == 0)
		*ret_version = content.version;
	return error;
}

static int add(struct pack_reader *reader, const struct pack_entry *entry,
	       struct versions *versions)
{
	struct version version;

	if (!has_file(&entry->record) || version_of(reader, &entry->record, &version) < 0)
		return 0;
	struct versions_row *row = versions_add(versions);
	if (!row)
		return -ENOMEM;
	row->version = version;
	row->realtime_ns = entry->record.time_realtime_ns;
	row->reason = CONTENTS_DESTROYED;
	row->mode = entry->record.before.mode & PERMISSIONS;
	row->place = entry->record.place;
	row->store = versions->store_count - 1;
	row->path = strdup(entry->path);
	return row->path ? 0 : -ENOMEM;
}

int versions_pack_read(const char *directory, const char *session, struct versions *versions)
{
	struct pack_reader reader;
	struct pack_entry entry;
	int error = directory ? pack_reader_open(directory, &reader) : -ENOENT;

	if (error < 0)
		return error;
	if (reader.directory < 0)
		error = -ENOENT;
	else
		error = versions_add_store(versions, directory, session) ? 0 : -ENOMEM;
	int got = 1;
	while (error == 0 && (got = pack_reader_next(&reader, &entry)) > 0)
		error = add(&reader, &entry, versions);
	pack_reader_close(&reader);
	return error ? error : got;
}

int versions_pack_open(const char *directory, const struct versions_row *row)
{
	struct pack_reader reader;
	struct pack_entry entry;
	int error = pack_reader_open(directory, &reader);

	if (error < 0)
		return error;
	int fd = pack_reader_at(&reader, row->place, &entry);
	if (fd == 0)
		fd = pack_content_open(&reader, &entry.record);
	pack_reader_close(&reader);
	return fd;
}

static int64_t nanoseconds(const struct timespec *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

bool versions_pack_left(const char *directory, const char *path, const struct stat *stat)
{
	struct pack_reader reader;
	struct pack_entry entry;
	struct pack_state left = { .ino = 0 };

	if (!directory || pack_reader_open(directory, &reader) < 0)
		return false;
	while (pack_reader_next(&reader, &entry) > 0) {
		if (strcmp(entry.path, path) != 0)
			continue;
		bool is_left = entry.record.kind == PACK_AFTER &&
			       !(entry.record.flags & (PACK_SHARED | PACK_MAPPED));
		left = is_left ? entry.record.before : (struct pack_state){ .ino = 0 };
	}
	pack_reader_close(&reader);
	return left.ino && left.ino == stat->st_ino && left.dev == stat->st_dev &&
	       left.size_bytes == (uint64_t)stat->st_size &&
	       left.mtime_ns == nanoseconds(&stat->st_mtim) &&
	       left.ctime_ns == nanoseconds(&stat->st_ctim);
}

/* Modes, owners, times and extended attributes: see apply_meta.h. */
#include "cli/undo/apply_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	PERMISSIONS = 07777,
	OWNER_ALL = 0700,
	LINK_BYTES = 40,
	NAMES_BYTES_MAX = 4096,
	VALUE_BYTES_MAX = 65536,
};

static void times_of(const struct pack_state *wanted, struct timespec *ret_times)
{
	const int64_t SECOND_NS = INT64_C(1000000000);
	int64_t seconds = wanted->mtime_ns / SECOND_NS, rest = wanted->mtime_ns % SECOND_NS;

	ret_times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	ret_times[1] = (struct timespec){ .tv_sec = rest < 0 ? seconds - 1 : seconds,
					  .tv_nsec = rest < 0 ? rest + SECOND_NS : rest };
}

/* Is it this user's to give away?  A refusal for want of privilege is none of ours. */
static bool is_refused(int error)
{
	return error == EPERM || error == EACCES || error == EINVAL;
}

int apply_meta_descriptor(int fd, const struct pack_state *wanted, bool time)
{
	struct timespec times[2];

	times_of(wanted, times);
	if (fchown(fd, wanted->uid, wanted->gid) < 0 && !is_refused(errno))
		return -errno;
	if (fchmod(fd, wanted->mode & PERMISSIONS) < 0)
		return -errno;
	return time && futimens(fd, times) < 0 ? -errno : 0;
}

/* chmod(2) of what a descriptor is open for by O_PATH alone. */
static int change_mode(int fd, uint32_t mode)
{
	char link[LINK_BYTES];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode & PERMISSIONS) < 0 ? -errno : 0;
}

int apply_meta_writable(const struct doing *doing, bool writable)
{
	uint32_t more = writable ? S_IRUSR | S_IWUSR : 0;
	struct stat stat;
	int error = -EACCES;
	int fd = openat(doing->directory, doing->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    stat.st_ino == doing->now.ino && stat.st_dev == doing->now.dev)
		error = change_mode(fd, doing->now.mode | more);
	(void)close(fd);
	return error;
}

int apply_meta_name(int directory, const char *name, const struct pack_state *wanted, bool time)
{
	struct timespec times[2];
	struct stat stat = { .st_mode = 0 };
	int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int error = fd < 0 ? -errno : fstat(fd, &stat) < 0 ? -errno : 0;

	times_of(wanted, times);
	if (error == 0 && (stat.st_uid != wanted->uid || stat.st_gid != wanted->gid) &&
	    fchownat(fd, "", wanted->uid, wanted->gid, AT_EMPTY_PATH) < 0 && !is_refused(errno))
		error = -errno;
	if (error == 0 && !S_ISLNK(stat.st_mode))
		error = change_mode(fd, wanted->mode);
	if (error == 0 && time && utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		error = -errno;
	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int log_metadata(struct doing *doing)
{
	static const enum pack_metadata WHAT[] = { PACK_OWNER, PACK_MODE, PACK_TIMES };
	struct operation_note notes[3];

	for (size_t i = 0; i < 3; i++)
		notes[i] = (struct operation_note){ .kind = PACK_METADATA,
						    .what = WHAT[i],
						    .path = doing->path,
						    .before = doing->now };
	return operation_log_write(&doing->applying->log, notes, 3);
}

static int log_after(struct doing *doing)
{
	struct operation_note note = { .kind = PACK_AFTER, .path = doing->path };

	if (place_inspect(doing->directory, doing->name, &note.before) < 0)
		return 0;
	return operation_log_write(&doing->applying->log, &note, 1);
}

int apply_meta(struct doing *doing)
{
	const struct pack_state *wanted = &doing->item->wanted;

	/* What other items made or moved is known by its type alone. */
	if (!doing->exists || ((doing->now.mode ^ wanted->mode) & S_IFMT) ||
	    (doing->item->found.ino && doing->item->found.ino != doing->now.ino))
		return DOING_CHANGED;
	int error = log_metadata(doing);
	if (error == 0)
		error = apply_meta_name(doing->directory, doing->name, wanted,
					doing->item->flags & SCHEDULE_MTIME);
	return error ? error : log_after(doing);
}

/* ---- extended attributes ---- */

/* Of the kernel's security modules, which give them anew. */
static const char SECURITY[] = "security.";

/* The owner of a read-only file may set its attributes. */
static int set_read_only(struct doing *doing, const char *value, size_t size_bytes)
{
	char link[LINK_BYTES];
	struct stat stat;
	int error = -EACCES;
	int fd = openat(doing->directory, doing->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    change_mode(fd, stat.st_mode | S_IWUSR) == 0) {
		error = setxattr(link, doing->other, value, size_bytes, 0) < 0 ? -errno : 0;
		(void)change_mode(fd, stat.st_mode);
	}
	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int set_attribute(struct doing *doing, const char *link)
{
	char value[VALUE_BYTES_MAX];

	if (doing->item->flags & SCHEDULE_NO_VALUE)
		return lremovexattr(link, doing->other) < 0 && errno != ENODATA ? -errno : 0;
	int fd = doing->content ? tree_record_open(doing->applying->records, doing->content)
				: -ENODATA;
	if (fd < 0)
		return fd;
	ssize_t size = read(fd, value, sizeof(value));
	(void)close(fd);
	if (size < 0)
		return -errno;
	if (lsetxattr(link, doing->other, value, (size_t)size, 0) == 0)
		return 0;
	return errno == EACCES ? set_read_only(doing, value, (size_t)size) : -errno;
}

int apply_log_attributes(struct doing *doing)
{
	char link[LINK_BYTES + PATH_MAX], names[NAMES_BYTES_MAX], value[VALUE_BYTES_MAX];
	ssize_t length = 0;
	int error = 0;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d/%s", doing->directory, doing->name);
	if (S_ISREG(doing->now.mode) || S_ISDIR(doing->now.mode))
		length = llistxattr(link, names, sizeof(names));
	const char *end = names + (length > 0 ? length : 0);
	for (const char *name = names; error == 0 && name < end; name += strlen(name) + 1) {
		ssize_t size = strncmp(name, SECURITY, sizeof(SECURITY) - 1) == 0
				       ? -1
				       : lgetxattr(link, name, value, sizeof(value));
		if (size < 0 || size > PACK_INLINE_BYTES_MAX)
			continue;
		struct operation_note note = {
			.kind = PACK_METADATA,
			.what = PACK_ATTRIBUTE,
			.flags = PACK_GOING,
			.path = doing->path,
			.other = name,
			.before = doing->now,
			.held = PACK_INLINE,
			.content = value,
			.version = version_of_bytes(value, (uint64_t)size),
		};
		error = operation_log_write(&doing->applying->log, &note, 1);
	}
	return error;
}

int apply_attribute(struct doing *doing)
{
	char link[LINK_BYTES + PATH_MAX], value[VALUE_BYTES_MAX];
	struct operation_note note = { .kind = PACK_METADATA,
				       .what = PACK_ATTRIBUTE,
				       .path = doing->path,
				       .other = doing->other,
				       .before = doing->now };

	if (!doing->exists)
		return DOING_CHANGED;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d/%s", doing->directory, doing->name);
	ssize_t size = lgetxattr(link, doing->other, value, sizeof(value));
	if (size >= 0) {
		note.held = PACK_INLINE;
		note.content = value;
		note.version = version_of_bytes(value, (uint64_t)size);
	} else {
		note.flags = PACK_NO_VALUE;
	}
	int error = operation_log_write(&doing->applying->log, &note, 1);
	if (error == 0)
		error = set_attribute(doing, link);
	if (error < 0 && is_refused(-error))
		error = 0; /* where permitted */
	return error ? error : log_after(doing);
}

/* ---- directories that are read-only ---- */

static void close_first(struct applying *applying)
{
	(void)change_mode(applying->opened[0].fd, applying->opened[0].mode);
	(void)close(applying->opened[0].fd);
	applying->opened_count--;
	memmove(&applying->opened[0], &applying->opened[1],
		applying->opened_count * sizeof(applying->opened[0]));
}

int apply_open_directory(struct doing *doing)
{
	struct applying *applying = doing->applying;
	struct operation_note note = { .kind = PACK_METADATA,
				       .what = PACK_MODE,
				       .path = applying->places.path };
	const struct pack_state *now = &note.before;
	const char *name;

	if (place_of(&applying->places, doing->path, &doing->directory, &name) < 0 ||
	    place_inspect(doing->directory, "", &note.before) < 0 || now->uid != geteuid() ||
	    (now->mode & OWNER_ALL) == OWNER_ALL)
		return -EACCES;
	if (applying->opened_count == APPLYING_OPENED_MAX)
		close_first(applying);
	int error = operation_log_write(&applying->log, &note, 1);
	int fd = error ? -1 : fcntl(doing->directory, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error ? error : -errno;
	error = change_mode(fd, now->mode | OWNER_ALL);
	if (error < 0) {
		(void)close(fd);
		return error;
	}
	applying->opened[applying->opened_count++] = (struct applying_opened){
		.fd = fd, .dev = now->dev, .ino = now->ino, .mode = now->mode
	};
	return 0;
}

void apply_close_directories(struct applying *applying)
{
	while (applying->opened_count)
		close_first(applying);
}

void apply_reclose_directories(struct applying *applying)
{
	struct pack_state now;

	/* All were closed before the first of these. */
	for (size_t i = 0; i < applying->plan->count; i++)
		if (applying->plan->items[i].kind == SCHEDULE_META &&
		    applying->plan->items[i].state != SCHEDULE_TODO)
			return;
	for (size_t i = applying->records->count; i-- > 0;) {
		const struct tree_record *record = &applying->records->records[i];
		const char *name;
		int directory;
		if (record->operation != applying->plan->head.number ||
		    record->kind != PACK_METADATA || record->what != PACK_MODE ||
		    !S_ISDIR(record->before.mode) ||
		    place_state(&applying->places, record->path, &now) < 0 ||
		    now.ino != record->before.ino || now.dev != record->before.dev ||
		    now.mode != (record->before.mode | OWNER_ALL) ||
		    place_of(&applying->places, record->path, &directory, &name) < 0)
			continue;
		int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0) {
			(void)change_mode(fd, record->before.mode);
			(void)close(fd);
		}
	}
}

/* Contents of entries: see tree_entry.h. */
#include "cli/undo/tree_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory_file.h"

static int shortage;

/* Keeps what says nothing about the content. */
static int note_shortage(int error)
{
	if (error == -ENOMEM || error == -EMFILE || error == -ENFILE)
		shortage = error;
	return error;
}

int tree_entry_shortage(void)
{
	int error = shortage;

	shortage = 0;
	return error;
}

static int open_target(const char *path)
{
	char target[PACK_PATH_BYTES_MAX + 1];
	ssize_t length = readlink(path, target, sizeof(target));
	int fd = length < 0 ? -errno : memory_file_open("target");

	if (fd < 0)
		return fd;
	if (write(fd, target, (size_t)length) == length && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	(void)close(fd);
	return -EIO;
}

static int open_entry(const struct tree_records *records, const struct tree_entry *entry)
{
	if (entry->content == TREE_KEPT)
		return tree_record_open(records, entry->record);
	if (entry->content != TREE_DISK)
		return -ENODATA;
	if (S_ISLNK(entry->mode))
		return open_target(entry->disk_path);
	int fd = open(entry->disk_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int tree_entry_open(const struct tree_records *records, const struct tree_entry *entry)
{
	return note_shortage(open_entry(records, entry));
}

int tree_entry_read(const struct tree_records *records, const struct tree_entry *entry,
		    size_t max_bytes, char **ret_bytes, size_t *ret_size)
{
	struct stat stat;
	int fd = tree_entry_open(records, entry);
	size_t size = 0;

	if (fd < 0)
		return fd;
	int error = fstat(fd, &stat) < 0 ? -errno : (uint64_t)stat.st_size > max_bytes ? -EFBIG : 0;
	char *bytes = error ? NULL : malloc((size_t)stat.st_size + 1);
	if (error == 0 && !bytes)
		error = -ENOMEM;
	while (error == 0 && size < (size_t)stat.st_size) {
		ssize_t got = pread(fd, bytes + size, (size_t)stat.st_size - size, (off_t)size);
		if (got > 0)
			size += (size_t)got;
		else if (got == 0)
			break; /* it became shorter meanwhile */
		else if (errno != EINTR)
			error = -errno;
	}
	(void)close(fd);
	if (error < 0 || !bytes) {
		free(bytes);
		return note_shortage(error);
	}
	bytes[size] = '\0';
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int tree_entry_read_disk(const char *path, size_t max_bytes, char **ret_bytes, size_t *ret_size)
{
	const struct tree_entry entry = { .exists = true,
					  .known = true,
					  .mode = S_IFREG,
					  .content = TREE_DISK,
					  .disk_path = path };

	return tree_entry_read(NULL, &entry, max_bytes, ret_bytes, ret_size);
}

bool tree_entry_is_same_inode(const struct tree_entry *before, const struct tree_entry *after)
{
	bool is_other = before->creation_ns && after->creation_ns &&
			before->creation_ns != after->creation_ns;

	return before->dev == after->dev && before->ino == after->ino && !before->is_freed &&
	       !is_other;
}

const char *tree_lost_text(enum tree_lost lost)
{
	static const char *const TEXTS[TREE_LOST_COUNT] = {
		[TREE_NOT_LOST] = "it is known",
		[TREE_REBUILDABLE] = "it can be made again, and was not kept",
		[TREE_TOO_LARGE] = "it was larger than [undo] max_file_bytes",
		[TREE_NO_ROOM] = "there was no room to keep it",
		[TREE_UNREADABLE] = "it could not be read",
		[TREE_OTHER_DEVICE] = "it was on another file system, and too large to be copied",
		[TREE_NO_FILE] = "it is no regular file",
		[TREE_FAILED] = "it could not be kept",
		[TREE_BETWEEN] = "it was changed more than once within one step",
		[TREE_OPEN] = "a program had it open for writing then: what it was is not known",
		[TREE_MISSING] = "its record is missing",
		[TREE_GONE] = "it is there no more, and no record has its content",
	};

	return lost < TREE_LOST_COUNT ? TEXTS[lost] : "it is not known";
}

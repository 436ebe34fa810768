/* What was by a name at a point, and its content. */
#ifndef SEEN_CLI_TREE_ENTRY_H
#define SEEN_CLI_TREE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/tree_record.h"
#include "tracker/content/version.h"

/* Where the content of a regular file or symbolic link is. */
enum tree_content {
	TREE_NO_CONTENT, /* absent, a directory, a device, FIFO, socket */
	TREE_KEPT,       /* in the undo records */
	TREE_DISK,       /* on disk at `disk_path`, as it is now */
	TREE_LOST,       /* nowhere: `lost` says why */
};

/* Why a state or a content is not known. */
enum tree_lost {
	TREE_NOT_LOST,
	TREE_REBUILDABLE, /* as enum pack_reason */
	TREE_TOO_LARGE,
	TREE_NO_ROOM,
	TREE_UNREADABLE,
	TREE_OTHER_DEVICE,
	TREE_NO_FILE,
	TREE_FAILED,  /* another error when it was to be kept */
	TREE_BETWEEN, /* the point is within a step that changed it several times */
	TREE_OPEN,    /* a program had it open then, and wrote to it by ways that are not seen */
	TREE_MISSING, /* the record that must have it is damaged, or was removed */
	TREE_GONE,    /* it is not there any more, and no record has its content */
	TREE_LOST_COUNT,
};

struct tree_entry {
	bool exists;
	bool known;    /* false: whether it existed, and what it was, is not known */
	bool is_freed; /* its last name is gone since: what has its inode's number is another */
	uint32_t mode; /* type (S_IFMT) and permissions */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t dev, ino, rdev;
	uint64_t size_bytes;
	int64_t mtime_ns, ctime_ns, creation_ns; /* creation_ns 0: not known */
	struct version version;                  /* all zero: not known */
	enum tree_content content;
	enum tree_lost lost;
	const char *disk_path;                   /* TREE_DISK: absolute; else NULL */
	const struct tree_record *record;        /* TREE_KEPT: that holds it */
	const struct tree_attribute *attributes; /* that were set since; NULL: none */
};

/* tree_entry_open(): opens the content of an entry, TREE_KEPT or TREE_DISK, of a regular file or a
 * symbolic link (its target), for reading.
 *
 * Returns a descriptor, which the caller closes: of a content that has its version, which was
 * checked; or -EBADMSG: it is damaged; -ENODATA: it is TREE_LOST, or has no content; -ENOENT; errors
 * of open(2).  What is on disk is opened without following symbolic links below the workspace. */
int tree_entry_open(const struct tree_records *records, const struct tree_entry *entry);

/* tree_entry_shortage(): why a content could not be opened or read since it was asked last, which says nothing about the
 * content: -ENOMEM, -EMFILE, -ENFILE; 0: none. */
int tree_entry_shortage(void);

/* tree_entry_read(): reads all of a content into memory.  ret_bytes: free() them; a NUL follows.
 * As tree_entry_open(); also -EFBIG: more than max_bytes; -ENOMEM. */
int tree_entry_read(const struct tree_records *records, const struct tree_entry *entry,
		    size_t max_bytes, char **ret_bytes, size_t *ret_size);

/* tree_entry_read_disk(): the same of the regular file that is at an absolute path now. */
int tree_entry_read_disk(const char *path, size_t max_bytes, char **ret_bytes, size_t *ret_size);

/* tree_entry_is_same_inode(): are a state before and one after of the same inode? */
bool tree_entry_is_same_inode(const struct tree_entry *before, const struct tree_entry *after);

/* tree_lost_text(): why a content is not known, for a person; static. */
const char *tree_lost_text(enum tree_lost lost);

#endif

/* A directory in which new files are made: see apply_fresh.h. */
#include "cli/undo/apply_fresh.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tracker/sys/sys.h"

enum {
	ATTEMPTS = 8,
	SLOW_NS = 150000, /* for a file: inodes were deleted there, too */
};

static const char PREFIX[] = "new-", PROBE[] = "probe";

static bool makes_many(const struct schedule *plan)
{
	size_t files = 0;

	for (size_t i = 0; i < plan->count && files < APPLY_FRESH_MIN; i++) {
		const struct schedule_item *item = &plan->items[i];
		files += (item->kind == SCHEDULE_PUT || item->kind == SCHEDULE_SWAP) &&
			 S_ISREG(item->wanted.mode);
	}
	return files >= APPLY_FRESH_MIN;
}

/* Does a rename lead from there into the workspace? */
static bool is_on_mount_of(int directory, const char *workspace)
{
	struct statx here, there;

	return statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) == 0 &&
	       statx(AT_FDCWD, workspace, 0, STATX_MNT_ID, &there) == 0 &&
	       (here.stx_mask & there.stx_mask & STATX_MNT_ID) &&
	       here.stx_mnt_id == there.stx_mnt_id;
}

static int open_directory(int above, const char *name)
{
	return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void apply_fresh_close(int above, struct apply_fresh *fresh)
{
	if (fresh->directory < 0)
		return;
	(void)unlinkat(fresh->directory, PROBE, 0);
	(void)close(fresh->directory);
	fresh->directory = -1;
	(void)unlinkat(above, fresh->name, AT_REMOVEDIR);
}

/* Opens what an interrupted undo left with files in it; what is empty goes. */
static void open_left(int above, struct apply_fresh *fresh)
{
	int copy = open_directory(above, ".");
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (copy >= 0 && !stream)
		(void)close(copy);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		if (strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) != 0 ||
		    strlen(entry->d_name) >= sizeof(fresh->name))
			continue;
		apply_fresh_close(above, fresh);
		(void)strcpy(fresh->name, entry->d_name);
		fresh->directory = open_directory(above, fresh->name);
	}
	if (stream)
		(void)closedir(stream);
}

static uint64_t make_probe(int directory)
{
	uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
	int fd = openat(directory, PROBE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)close(fd);
	return sys_clock_ns(CLOCK_MONOTONIC) - began;
}

/* What does a file take there?  The first one takes what it takes to read the inodes' blocks. */
static bool is_slow(int directory)
{
	(void)make_probe(directory);
	(void)unlinkat(directory, PROBE, 0);
	uint64_t took_ns = make_probe(directory);
	(void)unlinkat(directory, PROBE, 0);
	return took_ns > SLOW_NS;
}

/* ext4 places a directory by its name. */
static void make(int above, unsigned attempt, struct apply_fresh *fresh)
{
	uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);

	(void)snprintf(fresh->name, sizeof(fresh->name), "%s%014llx%u", PREFIX,
		       (unsigned long long)now & UINT64_C(0xffffffffffffff), attempt % 10u);
	if (mkdirat(above, fresh->name, 0700) == 0)
		fresh->directory = open_directory(above, fresh->name);
}

void apply_fresh_open(int above, const struct schedule *plan, const char *workspace,
		      struct apply_fresh *ret_fresh)
{
	struct statfs system;
	int flags;

	*ret_fresh = (struct apply_fresh){ .directory = -1 };
	if (!makes_many(plan) || fstatfs(above, &system) < 0 || system.f_type != EXT4_SUPER_MAGIC ||
	    !is_on_mount_of(above, workspace))
		return;
	open_left(above, ret_fresh);
	if (ioctl(above, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(above, FS_IOC_SETFLAGS, &flags);
	}
	for (unsigned attempt = 0; attempt < ATTEMPTS && ret_fresh->directory < 0; attempt++) {
		make(above, attempt, ret_fresh);
		if (ret_fresh->directory >= 0 && attempt < ATTEMPTS - 1 &&
		    is_slow(ret_fresh->directory))
			apply_fresh_close(above, ret_fresh);
	}
}

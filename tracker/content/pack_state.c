/* A file's state, read anew: see pack_state.h. */
#include "tracker/content/pack_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>

#include "tracker/sys/sys.h"

/* As stat(2) has it. */
static uint64_t device_of(uint32_t major, uint32_t minor)
{
	return (uint64_t)(major & 0xfffff000) << 32 | (major & 0xfff) << 8 |
	       (uint64_t)(minor & 0xffffff00) << 12 | (minor & 0xff);
}

static int64_t nanoseconds(const struct statx_timestamp *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static void state_of(const struct statx *now, struct pack_state *ret_state)
{
	*ret_state = (struct pack_state){
		.dev = device_of(now->stx_dev_major, now->stx_dev_minor),
		.ino = now->stx_ino,
		.size_bytes = now->stx_size,
		.mtime_ns = nanoseconds(&now->stx_mtime),
		.ctime_ns = nanoseconds(&now->stx_ctime),
		.creation_ns = now->stx_mask & STATX_BTIME ? nanoseconds(&now->stx_btime) : 0,
		.rdev = device_of(now->stx_rdev_major, now->stx_rdev_minor),
		.mode = now->stx_mode,
		.uid = now->stx_uid,
		.gid = now->stx_gid,
		.nlink = now->stx_nlink,
	};
}

/* The time of creation is not known. */
static void state_of_stat(const struct stat *now, struct pack_state *ret_state)
{
	*ret_state = (struct pack_state){
		.dev = now->st_dev,
		.ino = now->st_ino,
		.size_bytes = (uint64_t)now->st_size,
		.mtime_ns = now->st_mtim.tv_sec * INT64_C(1000000000) + now->st_mtim.tv_nsec,
		.ctime_ns = now->st_ctim.tv_sec * INT64_C(1000000000) + now->st_ctim.tv_nsec,
		.rdev = now->st_rdev,
		.mode = now->st_mode,
		.uid = now->st_uid,
		.gid = now->st_gid,
		.nlink = (uint32_t)now->st_nlink,
	};
}

int pack_state_read(int directory, const char *path, int flags, struct pack_state *ret_state)
{
	struct statx now;
	struct stat without;
	int error = (int)sys_call6(SYS_statx, directory, (long)path, flags,
				   STATX_BASIC_STATS | STATX_BTIME, (long)&now, 0);

	if (error == 0) {
		state_of(&now, ret_state);
		return 0;
	}
	/* A name that is not there, or out of reach; else the kernel has no such call, or no memory for it. */
	if (error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ELOOP ||
	    error == -ENAMETOOLONG)
		return error;
	error = sys_fstatat(directory, path, &without, flags);
	if (error == 0)
		state_of_stat(&without, ret_state);
	return error;
}

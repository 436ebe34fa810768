/* A file's state of what statx(2) gave: see pack_state.h. */
#include "tracker/content/pack_state.h"

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

void pack_state_of(const struct statx *now, struct pack_state *ret_state)
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

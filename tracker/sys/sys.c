/* The kernel's calls: see sys.h. */
#include "tracker/sys/sys.h"

#include <errno.h>
#include <sys/resource.h>

int (*sys_clock_gettime)(clockid_t clock, struct timespec *ret_time);

uint64_t sys_clock_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };
	(void)(sys_clock_gettime ? sys_clock_gettime : clock_gettime)(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sys_aside_bytes;

int sys_write_aside(int fd, const char *bytes, size_t size_bytes, off_t offset)
{
	while (size_bytes > 0) {
		ssize_t wrote = sys_pwrite(fd, bytes, size_bytes, offset);
		sys_wrote_aside(wrote);
		if (wrote == -EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? (int)wrote : -EIO;
		bytes += wrote;
		offset += wrote;
		size_bytes -= (size_t)wrote;
	}
	return 0;
}

ssize_t sys_read_file(const char *path, char *buffer, size_t size_bytes)
{
	size_t length = 0;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	while (length < size_bytes - 1) {
		ssize_t got = sys_read(fd, buffer + length, size_bytes - 1 - length);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	(void)sys_close(fd);
	buffer[length] = '\0';
	return (ssize_t)length;
}

ssize_t sys_pread_all(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t got = sys_pread(fd, (char *)buffer + done, size_bytes - done,
					offset + (off_t)done);
		if (got < 0)
			return got;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

bool sys_may_be_this_large(uint64_t size_bytes)
{
	struct rlimit64 limit;
	return sys_call6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 &&
	       limit.rlim_cur >= size_bytes;
}

/* The number that a name is; a directory's own names are none: -1. */
static int descriptor_of(const char *name)
{
	int fd = 0;

	for (const char *at = name; *at; at++) {
		if (*at < '0' || *at > '9')
			return -1;
		fd = fd * 10 + (*at - '0');
	}
	return fd;
}

/* One pass over what is open.  Returns whether there was something to close. */
static bool close_listed(int directory, unsigned first, unsigned last)
{
	_Alignas(struct sys_entry) char entries[1024];
	bool has_closed = false;
	ssize_t got;

	(void)sys_lseek(directory, 0, SEEK_SET);
	while ((got = sys_getdents64(directory, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct sys_entry *entry = (const void *)(entries + at);
			int fd = descriptor_of(entry->name);
			if (fd >= 0 && fd != directory && (unsigned)fd >= first &&
			    (unsigned)fd <= last)
				has_closed = sys_close(fd) == 0 || has_closed;
			at += entry->size_bytes;
		}
	return has_closed;
}

void sys_close_between(unsigned first, unsigned last)
{
	if (first > last || sys_call3(SYS_close_range, first, last, 0) == 0)
		return;
	int directory = sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (directory < 0)
		return;
	/* the list goes on past what was closed meanwhile */
	while (close_listed(directory, first, last))
		;
	(void)sys_close(directory);
}

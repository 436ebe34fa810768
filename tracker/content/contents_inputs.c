/* Lists of inputs in the content store: see contents_inputs.h. */
#include "tracker/content/contents_inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "tracker/content/contents_directory.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

#define INPUTS_NAME "inputs-"

static void inputs_name(uint64_t number, char *ret_name)
{
	memcpy(ret_name, INPUTS_NAME, sizeof(INPUTS_NAME) - 1);
	*decimal_write(ret_name + sizeof(INPUTS_NAME) - 1, number) = '\0';
}

bool contents_is_inputs(const char *name)
{
	uint64_t number;
	if (strncmp(name, INPUTS_NAME, sizeof(INPUTS_NAME) - 1) != 0)
		return false;
	const char *end = decimal_parse(name + sizeof(INPUTS_NAME) - 1, &number);
	return end && *end == '\0';
}

/* As copy_mapped(), from memory. */
static int write_mapped(int to, const void *bytes, size_t size_bytes)
{
	if (sys_ftruncate(to, (off_t)size_bytes) < 0)
		return -EAGAIN;
	long address = sys_mmap(size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to);
	if (address < 0 && address >= -4095)
		return -EAGAIN;
	const struct iovec file = { (void *)address, size_bytes };
	const struct iovec memory = { (void *)(uintptr_t)bytes, size_bytes };
	ssize_t done = sys_call6(SYS_process_vm_readv, sys_getpid(), (long)&file, 1, (long)&memory,
				 1, 0);
	(void)sys_munmap((void *)address, size_bytes);
	return done == (ssize_t)size_bytes ? 0 : -EAGAIN;
}

static int write_bytes(int to, const void *bytes, size_t size_bytes)
{
	bool is_sure;
	int error = contents_allocate(to, size_bytes, &is_sure);

	if (error == 0 && is_sure)
		error = write_mapped(to, bytes, size_bytes);
	else if (error == 0)
		error = -EAGAIN;
	if (error == -EAGAIN)
		error = sys_ftruncate(to, 0);
	else
		return error;
	return error == 0 ? contents_write(to, bytes, size_bytes) : error;
}

int contents_write_inputs(const struct segment *segment, uint64_t number, const void *bytes,
			  size_t size_bytes)
{
	char name[CONTENTS_NAME_BYTES], temporary[CONTENTS_TEMPORARY_BYTES];

	if (!sys_may_be_this_large(size_bytes))
		return -EFBIG;
	int directory = contents_directory_open(segment);
	if (directory < 0)
		return directory;
	contents_temporary_name(segment, temporary);
	int to = sys_openat(directory, temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = to < 0 ? to : write_bytes(to, bytes, size_bytes);
	if (to >= 0) {
		int closed = sys_close(to);
		if (error == 0 && closed < 0 && closed != -EINTR)
			error = closed;
		inputs_name(number, name);
		if (error == 0)
			error = sys_rename_in(directory, temporary, name, 0);
		if (error < 0)
			(void)sys_unlinkat(directory, temporary, 0);
	}
	(void)sys_close(directory);
	return error;
}

ssize_t contents_read_inputs(const struct segment *segment, uint64_t number, void *ret_bytes,
			     size_t capacity)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat stat;
	int directory = contents_directory_open(segment);

	if (directory < 0)
		return directory;
	inputs_name(number, name);
	int fd = sys_openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	(void)sys_close(directory);
	if (fd < 0)
		return fd;
	ssize_t error = sys_fstat(fd, &stat);
	if (error == 0 && (!S_ISREG(stat.st_mode) || stat.st_uid != sys_geteuid()))
		error = -EBADMSG;
	if (error == 0 && (uint64_t)stat.st_size > capacity)
		error = -EFBIG;
	if (error == 0)
		error = sys_pread_all(fd, ret_bytes, capacity, 0);
	(void)sys_close(fd);
	return error;
}

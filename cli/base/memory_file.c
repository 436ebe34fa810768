/* A file without a name: see memory_file.h. */
#include "cli/base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

int memory_file_open(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	FILE *file = tmpfile();
	fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
	int error = -errno;
	if (file)
		(void)fclose(file);
	return fd < 0 ? error : fd;
}

/* What killed processes left in a content store: see abandoned.h. */
#include "cli/session/abandoned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/owned.h"
#include "tracker/content/contents_name.h"
#include "tracker/sys/sys.h"

/* Of a process that lives, or seems to: nothing takes so long. */
static const uint64_t ABANDONED_NS = UINT64_C(3600) * 1000000000u;

static bool is_abandoned(int directory, const char *name)
{
	uint64_t pid, now_ns = sys_realtime_ns();
	struct stat stat;

	if (!contents_is_temporary(name, &pid) ||
	    fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(stat.st_mode))
		return false;
	if (pid > INT32_MAX || pid == 0 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
		return true; /* one of another PID namespace makes its copy anew then */
	uint64_t mtime_ns = stat.st_mtim.tv_sec < 0 ? 0
						    : (uint64_t)stat.st_mtim.tv_sec * 1000000000u;
	return now_ns > mtime_ns && now_ns - mtime_ns > ABANDONED_NS;
}

int abandoned_remove(const char *directory)
{
	int fd = -1;
	int error = session_open_directory(AT_FDCWD, directory, &fd);

	if (error < 0)
		return error;
	DIR *stream = fdopendir(fd);
	if (!stream) {
		error = -errno;
		(void)close(fd);
		return error;
	}
	for (struct dirent *entry; (entry = readdir(stream));)
		if (is_abandoned(dirfd(stream), entry->d_name))
			(void)unlinkat(dirfd(stream), entry->d_name, 0);
	(void)closedir(stream);
	return 0;
}

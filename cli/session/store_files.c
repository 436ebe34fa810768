/* Directories of sessions, by their files: see store_files.h. */
#include "cli/session/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "tracker/content/contents_inputs.h"
#include "tracker/content/contents_name.h"

enum {
	LOCK_ATTEMPTS = 5,        /* another `seen sessions` may be looking */
	EXCLUSIVE_ATTEMPTS = 500, /* one that is being cut, or removed, is soon free */
};

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool store_file_is_unfinished(const char *name)
{
	static const char *const BEGINNINGS[] = { ".segment.", "journal.", STORE_INSTRUCTIONS "." };

	for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
		if (!begins_with(name, BEGINNINGS[i]))
			continue;
		const char *pid = name + strlen(BEGINNINGS[i]);
		size_t digits = strspn(pid, "0123456789");
		const char *time = pid + digits + 1;
		return digits && pid[digits] == '.' && *time &&
		       time[strspn(time, "0123456789abcdef")] == '\0';
	}
	return false;
}

/* What `seen run` keeps of the task, builds it as, and renamed because it could not use it. */
static bool is_metadata(const char *name)
{
	if (!begins_with(name, METADATA_NAME))
		return false;
	const char *rest = name + strlen(METADATA_NAME);
	return !rest[0] || strcmp(rest, ".new") == 0 || begins_with(rest, ".aside-");
}

bool store_file_is_of_session(const char *name)
{
	return strcmp(name, STORE_SEGMENT) == 0 || strcmp(name, STORE_JOURNAL) == 0 ||
	       strcmp(name, "seal") == 0 || strcmp(name, STORE_INSTRUCTIONS) == 0 ||
	       is_metadata(name) || store_file_is_unfinished(name);
}

bool store_file_is_of_contents(const char *name)
{
	struct version version;
	uint64_t pid;

	return contents_version(name, &version) || contents_is_temporary(name, &pid) ||
	       contents_is_inputs(name) || strcmp(name, CONTENTS_INDEX) == 0;
}

DIR *store_files_list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (!stream && copy >= 0)
		(void)close(copy);
	return stream;
}

const char *store_files_next(DIR *stream)
{
	struct dirent *entry;

	errno = 0;
	do
		entry = readdir(stream);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

int store_files_lock(int fd)
{
	static const struct timespec PAUSE = { .tv_nsec = 2000000 };
	int shared = 0;

	for (int attempt = 0; attempt < EXCLUSIVE_ATTEMPTS && shared < LOCK_ATTEMPTS; attempt++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		/* who uses a session shares its lock: the user may keep it for days */
		if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
			(void)flock(fd, LOCK_UN);
			shared++;
		}
		(void)nanosleep(&PAUSE, NULL);
	}
	return -EBUSY;
}

int store_file_path(const struct store *store, enum store_place place, const char *name,
		    const char *file, char *ret_path, size_t capacity)
{
	char directory[SEGMENT_PATH_BYTES];
	int error = session_path(directory, sizeof(directory), store->directories[place].path,
				 name);
	return error == 0 ? session_path(ret_path, capacity, directory, file) : error;
}

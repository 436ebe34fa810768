/* Where paths lead: see reader_place.h. */
#include "shim/preload/follow/reader_place.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

enum {
	DIRECTORIES_MAX = 64, /* open at once, as a walk through a tree does */
	TAKEN = -1,           /* a place whose path is being written */
};

static struct {
	int fds[DIRECTORIES_MAX]; /* 0: none */
	char *paths;              /* SEGMENT_PATH_BYTES for each, and for the current directory */
	bool moves;
} place;

static char *path_at(int number)
{
	return place.paths + (size_t)number * SEGMENT_PATH_BYTES;
}

bool reader_place_moved(void)
{
	char *current = path_at(DIRECTORIES_MAX);
	long length = sys_getcwd(current, SEGMENT_PATH_BYTES);

	return place.moves && length > 0 && current[0] == '/';
}

bool reader_place_init(bool moves)
{
	long address = sys_mmap((size_t)(DIRECTORIES_MAX + 1) * SEGMENT_PATH_BYTES,
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1);

	if (address < 0 && address >= -4095)
		return false;
	place.paths = (char *)address;
	place.moves = moves;
	return !moves || reader_place_moved();
}

static int number_of(int fd)
{
	for (int i = 0; fd > STDERR_FILENO && i < DIRECTORIES_MAX; i++)
		if (__atomic_load_n(&place.fds[i], __ATOMIC_ACQUIRE) == fd)
			return i;
	return -1;
}

const char *reader_place_of(int fd)
{
	int number = number_of(fd);
	return number < 0 ? NULL : path_at(number);
}

bool reader_place_open(int fd, const char *path)
{
	int number = number_of(fd);
	size_t length = strlen(path);

	if (fd <= STDERR_FILENO || length >= SEGMENT_PATH_BYTES)
		return false;
	for (int i = 0; number < 0 && i < DIRECTORIES_MAX; i++) {
		int none = 0;
		if (__atomic_compare_exchange_n(&place.fds[i], &none, TAKEN, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			number = i;
	}
	if (number < 0)
		return false;
	memmove(path_at(number), path, length + 1);
	__atomic_store_n(&place.fds[number], fd, __ATOMIC_RELEASE);
	return true;
}

void reader_place_close(int fd)
{
	int number = number_of(fd);
	if (number >= 0)
		__atomic_store_n(&place.fds[number], 0, __ATOMIC_RELEASE);
}

bool reader_place(int directory, const char *path, char *ret_path)
{
	size_t length = strlen(path), before = 0;
	const char *from = NULL;

	if (path[0] != '/' && directory != AT_FDCWD) {
		from = reader_place_of(directory);
		if (!from)
			return false;
	} else if (path[0] != '/' && place.moves) {
		from = path_at(DIRECTORIES_MAX);
	}
	if (from)
		before = strlen(from);
	if (before + 1 + length >= SEGMENT_PATH_BYTES)
		return false;
	if (from) {
		memcpy(ret_path, from, before);
		ret_path[before++] = '/';
	}
	memcpy(ret_path + before, path, length + 1);
	return true;
}

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool reader_place_is_of_process(const char *path)
{
	static const char NAMES[][24] = { "/proc/self/maps", "/proc/filesystems",
					  "/proc/self/cgroup", "/proc/self/mountinfo" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strcmp(path, NAMES[i]) == 0)
			return true;
	return begins_with(path, "/sys/fs/cgroup/"); /* how many threads there may be */
}

bool reader_place_is_of_devices(const char *path)
{
	static const char NAMES[][6] = { "/dev", "/proc", "/sys" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		size_t length = strlen(NAMES[i]);
		if (begins_with(path, NAMES[i]) && (path[length] == '/' || !path[length]))
			return true;
	}
	return false;
}

/* Records of conversations: see store_conversations.h. */
#include "cli/session/store_conversations.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/session/owned.h"
#include "cli/session/store_files.h"

/* Is the session of a record's last line there?  What cannot be read names none. */
static bool has_session(int directory, const char *name)
{
	enum { TAIL_BYTES = 16384 }; /* a line has one path and some words */
	static char text[TAIL_BYTES];
	struct stat stat_;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	off_t first = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
	ssize_t length = fd >= 0 ? pread(fd, text, sizeof(text), first) : -1;

	if (fd >= 0)
		(void)close(fd);
	if (length <= 0)
		return false;
	const char *end = memrchr(text, '\n', (size_t)length);
	const char *before = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
	const char *line = before ? before + 1 : text;
	json_t *event = end ? json_loadb(line, (size_t)(end - line), 0, NULL) : NULL;
	const char *path = json_string_value(json_object_get(event, "session"));
	bool is_there = path && path[0] == '/' && stat(path, &stat_) == 0;
	json_decref(event);
	return is_there;
}

static bool is_old(int directory, const char *name, uint64_t before_realtime_ns,
		   struct stat *ret_stat)
{
	if (fstatat(directory, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(ret_stat->st_mode) || ret_stat->st_uid != geteuid())
		return false;
	uint64_t written_ns = (uint64_t)ret_stat->st_mtim.tv_sec * 1000000000 +
			      (uint64_t)ret_stat->st_mtim.tv_nsec;
	return before_realtime_ns ? written_ns < before_realtime_ns : !has_session(directory, name);
}

int store_conversations_remove(const struct store *store, uint64_t before_realtime_ns,
			       bool only_try, unsigned *ret_count, uint64_t *ret_bytes)
{
	/* The state directory may be the runtime directory, too. */
	const struct store_directory *state = store->directories[STORE_STATE].fd >= 0
						      ? &store->directories[STORE_STATE]
						      : &store->directories[STORE_RUNTIME];
	int directory = -1, error = 0;
	const char *name;
	struct stat stat;

	if (state->fd < 0 || session_open_directory(state->fd, STORE_CONVERSATIONS, &directory) < 0)
		return 0;
	DIR *stream = store_files_list(directory);
	while (stream && (name = store_files_next(stream))) {
		if (!is_old(directory, name, before_realtime_ns, &stat))
			continue;
		if (!only_try && unlinkat(directory, name, 0) < 0) {
			error = error ? error : -errno;
			continue;
		}
		(*ret_count)++;
		*ret_bytes += (uint64_t)stat.st_blocks * 512;
	}
	if (stream)
		(void)closedir(stream);
	(void)close(directory);
	return error;
}

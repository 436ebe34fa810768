/* The lock files that an undo makes, on disk: see lock_list.h. */
#include "cli/undo/lock_list.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char NAME[] = "locks"; /* a path and a text for each, both ended by NUL */

enum { LIST_BYTES_MAX = 1 << 24 };

/* What a kill left of the last one is passed over. */
static void parse(struct lock_list *list, size_t size)
{
	const char *at = list->bytes, *end = at + size;

	for (const char *path, *text; at < end; at = text + strlen(text) + 1) {
		path = at;
		text = path + strlen(path) + 1;
		if (text >= end || text + strlen(text) >= end)
			return;
		struct lock_made *more = reallocarray(list->locks, list->count + 1, sizeof(*more));
		if (!more)
			return;
		list->locks = more;
		if (path[0] == '/')
			more[list->count++] = (struct lock_made){ path, text };
	}
}

void lock_list_read(int directory, struct lock_list *ret_list)
{
	int fd = openat(directory, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat stat;

	*ret_list = (struct lock_list){ .count = 0 };
	if (fd < 0)
		return;
	bool is_list = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
		       stat.st_size <= LIST_BYTES_MAX;
	ret_list->bytes = is_list ? calloc((size_t)stat.st_size + 2, 1) : NULL;
	ssize_t got = ret_list->bytes ? read(fd, ret_list->bytes, (size_t)stat.st_size) : -1;
	(void)close(fd);
	if (got > 0)
		parse(ret_list, (size_t)got);
}

void lock_list_free(struct lock_list *list)
{
	free(list->locks);
	free(list->bytes);
	*list = (struct lock_list){ .count = 0 };
}

void lock_list_add(int directory, const char *path, const char *text)
{
	int fd = openat(directory, NAME, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);
	const struct iovec pieces[] = {
		{ (void *)(uintptr_t)path, strlen(path) + 1 },
		{ (void *)(uintptr_t)text, strlen(text) + 1 },
	};

	if (fd < 0)
		return;
	ssize_t wrote = writev(fd, pieces, sizeof(pieces) / sizeof(pieces[0]));
	(void)wrote;
	(void)close(fd);
}

void lock_list_remove(int directory)
{
	(void)unlinkat(directory, NAME, 0);
}

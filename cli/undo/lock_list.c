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

#include "tracker/path/path.h"

static const char NAME[] = "locks"; /* a path and a text for each, both ended by NUL */

enum { LIST_BYTES_MAX = 1 << 24 };

/* HOST:PID, or HOST/NAMESPACE:PID, as hg writes it. */
static bool is_holder(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && colon > text && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

/* Is it one that an undo makes?  By anything else in a list nothing may be removed. */
static bool is_lock(const char *path, const char *text)
{
	static const char *const FILES[] = { "/HEAD.lock", "/index.lock", "/packed-refs.lock" };
	static const char *const LINKS[] = { "/.hg/wlock", "/.hg/store/lock" };
	bool is = false;

	for (size_t i = 0; !text[0] && i < sizeof(FILES) / sizeof(*FILES); i++)
		is = is || path_ends_with(path, FILES[i]);
	for (size_t i = 0; is_holder(text) && i < sizeof(LINKS) / sizeof(*LINKS); i++)
		is = is || path_ends_with(path, LINKS[i]);
	return is && path[0] == '/';
}

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
		if (is_lock(path, text))
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
	int fd = openat(directory, NAME,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC,
			0600);
	const struct iovec pieces[] = {
		{ (void *)(uintptr_t)path, strlen(path) + 1 },
		{ (void *)(uintptr_t)text, strlen(text) + 1 },
	};
	struct stat before;

	if (fd < 0)
		return;
	if (fstat(fd, &before) == 0 && S_ISREG(before.st_mode)) {
		ssize_t wrote = writev(fd, pieces, sizeof(pieces) / sizeof(pieces[0]));
		/* Behind a part of one the next would be read as its rest. */
		int cut = wrote < (ssize_t)(pieces[0].iov_len + pieces[1].iov_len)
				  ? ftruncate(fd, before.st_size)
				  : 0;
		(void)cut;
	}
	(void)close(fd);
}

void lock_list_remove(int directory)
{
	(void)unlinkat(directory, NAME, 0);
}

/* Reaching a path without following symbolic links: see place.h. */
#include "cli/undo/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracker/content/pack_state.h"
#include "tracker/sys/numbers.h"

enum { DIRECTORY_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

int places_open(struct places *places)
{
	*places = (struct places){ .root = open("/", DIRECTORY_FLAGS), .directory = -1 };
	return places->root < 0 ? -errno : 0;
}

void places_forget(struct places *places)
{
	if (places->directory > 0)
		(void)close(places->directory);
	places->directory = -1;
	places->path[0] = '\0';
}

void places_close(struct places *places)
{
	if (places->root <= 0)
		return;
	places_forget(places);
	(void)close(places->root);
	places->root = 0;
}

/* Where the kernel has no openat2(2), or a filter refuses it: name by name. */
static int open_by_names(int root, char *path)
{
	int fd = openat(root, ".", DIRECTORY_FLAGS);
	char *rest = path, *name;

	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		if (!*name)
			continue;
		int next = openat(fd, name, DIRECTORY_FLAGS);
		int error = errno;
		(void)close(fd);
		errno = error == ENOTDIR || error == ELOOP ? ELOOP : error;
		fd = next;
	}
	return fd < 0 ? -errno : fd;
}

static int open_directory(int root, const char *path, size_t length)
{
	struct open_how how = {
		.flags = DIRECTORY_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char below[PATH_MAX] = ".";

	if (length >= sizeof(below))
		return -ENAMETOOLONG;
	if (length > 1) {
		memcpy(below, path + 1, length - 1);
		below[length - 1] = '\0';
	}
	long fd = syscall(SYS_openat2, root, below, &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	return errno == ENOSYS || errno == EPERM ? open_by_names(root, below) : -errno;
}

int place_of(struct places *places, const char *path, int *ret_directory, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!slash || !slash[1])
		return -EINVAL;
	if (places->directory < 0 || strncmp(places->path, path, length) != 0 ||
	    places->path[length]) {
		places_forget(places);
		int fd = open_directory(places->root, path, length);
		if (fd < 0)
			return fd;
		places->directory = fd;
		memcpy(places->path, path, length);
		places->path[length] = '\0';
	}
	*ret_directory = places->directory;
	*ret_name = slash + 1;
	return 0;
}

int place_inspect(int directory, const char *name, struct pack_state *ret_state)
{
	return pack_state_read(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, ret_state);
}

int place_state(struct places *places, const char *path, struct pack_state *ret_state)
{
	const char *name;
	int directory, error = place_of(places, path, &directory, &name);

	if (error == -ENOTDIR)
		return -ENOENT;
	return error ? error : place_inspect(directory, name, ret_state);
}

bool place_is_same(const struct pack_state *a, const struct pack_state *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->mode == b->mode &&
	       (S_ISDIR(a->mode) || (a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns));
}

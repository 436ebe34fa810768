/* Other names of protected files: see aliases.h. */
#include "cli/confine/aliases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/confine/paths.h"
#include "tracker/path/path.h"

enum { DEPTH_MAX = 256, MOUNT_LINE_BYTES = 3 * PATH_MAX };

/* ---- mounts ---- */

/* One line of /proc/self/mountinfo: a directory of a file system, and where it is shown. */
struct mount {
	dev_t device;
	char root[PATH_MAX], point[PATH_MAX];
};

/* In these files a blank is written \040. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned byte;
		if (from[0] == '\\' && sscanf(from + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool read_mount(FILE *file, char *line, struct mount *ret_mount)
{
	while (fgets(line, MOUNT_LINE_BYTES, file)) {
		unsigned major_number, minor_number;
		if (sscanf(line, "%*d %*d %u:%u %4095s %4095s", &major_number, &minor_number,
			   ret_mount->root, ret_mount->point) != 4)
			continue;
		ret_mount->device = makedev(major_number, minor_number);
		unescape(ret_mount->root);
		unescape(ret_mount->point);
		return true;
	}
	return false;
}

/* What follows a directory in a path: "" or what begins with a slash.  NULL: it is not below. */
static const char *behind(const char *path, const char *directory)
{
	if (!confine_path_is_below(path, directory))
		return NULL;
	return strcmp(directory, "/") == 0 ? path : path + strlen(directory);
}

/* The path of a place in its file system, by the mount that shows it. */
static bool path_in_file_system(const struct mount *mounts, size_t count,
				const struct confine_place *place, char *ret_path)
{
	const struct mount *nearest = NULL;

	for (size_t i = 0; i < count; i++)
		if (confine_path_is_below(place->path, mounts[i].point) &&
		    (!nearest || strlen(mounts[i].point) >= strlen(nearest->point)))
			nearest = &mounts[i];
	if (!nearest)
		return false;
	int bytes = snprintf(ret_path, PATH_MAX, "%s%s",
			     strcmp(nearest->root, "/") == 0 ? "" : nearest->root,
			     behind(place->path, nearest->point));
	return bytes > 0 && bytes < PATH_MAX;
}

/* Adds what one mount shows of a place. */
static int alias_on_mount(struct confinement *confinement, const struct mount *mount,
			  const struct confine_place *place, const char *in_file_system)
{
	const char *rest = behind(in_file_system, mount->root);
	char path[PATH_MAX];
	struct stat stat;

	if (!rest)
		return 0;
	int bytes = snprintf(path, sizeof(path), "%s%s",
			     strcmp(mount->point, "/") == 0 ? "" : mount->point, rest);
	if (bytes <= 0 || bytes >= PATH_MAX || strcmp(path, place->path) == 0 ||
	    lstat(path, &stat) < 0 || stat.st_dev != place->device || stat.st_ino != place->inode)
		return 0;
	return confinement_add(confinement, path, CONFINE_UNREADABLE);
}

static int read_mounts(struct mount **ret_mounts, size_t *ret_count)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = malloc(MOUNT_LINE_BYTES);
	struct mount *mounts = NULL, mount;
	size_t count = 0, capacity = 0;
	int error = line ? 0 : -ENOMEM;

	while (file && error == 0 && read_mount(file, line, &mount)) {
		if (count == capacity) {
			struct mount *more = realloc(mounts, (capacity * 2 + 64) * sizeof(*more));
			if (!more) {
				error = -ENOMEM;
				break;
			}
			mounts = more;
			capacity = capacity * 2 + 64;
		}
		mounts[count++] = mount;
	}
	if (file)
		(void)fclose(file);
	free(line);
	*ret_mounts = mounts;
	*ret_count = count;
	return error;
}

int confine_alias_mounts(struct confinement *confinement)
{
	struct mount *mounts = NULL;
	size_t count = 0, places = confinement->count;
	char path[PATH_MAX];
	int error = read_mounts(&mounts, &count);

	for (size_t i = 0; i < places && error == 0; i++) {
		if (confinement->places[i].access != CONFINE_UNREADABLE ||
		    !path_in_file_system(mounts, count, &confinement->places[i], path))
			continue;
		/* The list may move while it grows. */
		const struct confine_place place = confinement->places[i];
		for (size_t j = 0; j < count && error == 0; j++)
			error = alias_on_mount(confinement, &mounts[j], &place, path);
	}
	free(mounts);
	return error;
}

/* ---- hard links ---- */

struct links {
	struct confinement *confinement;
	size_t first_count; /* places before the search */
	int depth;
};

/* Of the directory that a path is in. */
static int stat_directory(const char *path, struct stat *ret_stat)
{
	char directory[PATH_MAX];
	const char *base = path_base(path);

	(void)snprintf(directory, sizeof(directory), "%.*s", (int)(base - path), path);
	return stat(directory, ret_stat);
}

static bool is_wanted(const struct links *links, ino_t inode)
{
	for (size_t i = 0; i < links->first_count; i++)
		if (links->confinement->places[i].access == CONFINE_UNREADABLE &&
		    !links->confinement->places[i].is_directory &&
		    links->confinement->places[i].inode == inode)
			return true;
	return false;
}

static int add_link(struct links *links, const char *path)
{
	struct stat stat;

	if (lstat(path, &stat) < 0)
		return 0;
	for (size_t i = 0; i < links->first_count; i++) {
		const struct confine_place *place = &links->confinement->places[i];
		if (place->access == CONFINE_UNREADABLE && place->inode == stat.st_ino &&
		    place->device == stat.st_dev && strcmp(place->path, path) != 0)
			return confinement_add(links->confinement, path, CONFINE_UNREADABLE);
	}
	return 0;
}

static int walk(struct links *links, int parent, const char *name, char *path, size_t length)
{
	int fd = links->depth < DEPTH_MAX
			 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			 : -1;
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int error = 0;

	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	links->depth++;
	while (error == 0 && (entry = readdir(stream))) {
		size_t bytes = strlen(entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    length + 1 + bytes >= PATH_MAX)
			continue;
		path[length] = '/';
		memcpy(path + length + 1, entry->d_name, bytes + 1);
		if (is_wanted(links, entry->d_ino))
			error = add_link(links, path);
		if (error == 0 && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			error = walk(links, fd, entry->d_name, path, length + 1 + bytes);
		path[length] = '\0';
	}
	links->depth--;
	(void)closedir(stream);
	return error;
}

/* Is a path another name than those of the places before it?  Other mounts show the same name once more. */
static bool is_new_name(const struct confinement *confinement, size_t index)
{
	const struct confine_place *place = &confinement->places[index];
	struct stat own, other;

	if (stat_directory(place->path, &own) < 0)
		return true;
	for (size_t i = 0; i < index; i++) {
		const struct confine_place *before = &confinement->places[i];
		if (before->access == CONFINE_UNREADABLE && before->inode == place->inode &&
		    before->device == place->device &&
		    strcmp(path_base(before->path), path_base(place->path)) == 0 &&
		    stat_directory(before->path, &other) == 0 && other.st_ino == own.st_ino &&
		    other.st_dev == own.st_dev)
			return false;
	}
	return true;
}

/* How many names of a file are in the confinement. */
static size_t count_names(const struct confinement *confinement, const struct stat *stat)
{
	size_t count = 0;

	for (size_t i = 0; i < confinement->count; i++)
		count += confinement->places[i].access == CONFINE_UNREADABLE &&
			 confinement->places[i].inode == stat->st_ino &&
			 confinement->places[i].device == stat->st_dev &&
			 is_new_name(confinement, i);
	return count;
}

/* The first unreadable file with more names than the confinement has. */
static const struct confine_place *find_linked(const struct confinement *confinement,
					       struct stat *ret_stat)
{
	for (size_t i = 0; i < confinement->count; i++) {
		const struct confine_place *place = &confinement->places[i];
		if (place->access == CONFINE_UNREADABLE && !place->is_directory &&
		    lstat(place->path, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) &&
		    ret_stat->st_nlink > count_names(confinement, ret_stat))
			return place;
	}
	return NULL;
}

int confine_alias_links(struct confinement *confinement, char *const roots[])
{
	struct links links = { .confinement = confinement, .first_count = confinement->count };
	char path[PATH_MAX];
	struct stat stat;
	int error = 0;

	if (!find_linked(confinement, &stat))
		return 0;
	for (size_t i = 0; roots[i] && error == 0; i++) {
		size_t length = strlen(roots[i]);
		memcpy(path, roots[i], length + 1);
		error = walk(&links, AT_FDCWD, roots[i], path, length == 1 ? 0 : length);
	}
	const struct confine_place *linked = error == 0 ? find_linked(confinement, &stat) : NULL;
	if (linked)
		return confinement_fail(confinement,
					"--confine: %s has %u names (hard links), of which %zu "
					"were found: it could be read by another; make a copy of "
					"it in its place, or say -c confine.read=%s",
					linked->path, (unsigned)stat.st_nlink,
					count_names(confinement, &stat), linked->path);
	return error;
}

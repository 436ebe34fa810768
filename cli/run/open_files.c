/* What the session's processes have open: see open_files.h. */
#include "cli/run/open_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tracker/process/subject.h"

static int compare_inodes(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

static int compare(const void *a, const void *b)
{
	const struct open_file *one = a, *other = b;
	int order = compare_inodes(a, b);
	return order ? order : one->pid < other->pid ? -1 : one->pid > other->pid;
}

static void append(struct open_files *files, const struct open_file *file)
{
	if (files->count == files->capacity) {
		size_t more = files->capacity ? 2 * files->capacity : 64;
		struct open_file *items = reallocarray(files->items, more, sizeof(*items));
		if (!items)
			return;
		files->items = items;
		files->capacity = more;
	}
	files->items[files->count++] = *file;
}

static void list_descriptors(struct open_files *files, uint32_t pid)
{
	char path[PROC_PATH_BYTES];

	proc_path(pid, "fd", path);
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		struct stat stat;
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (subject_stat((struct subject){ pid }, fd, &stat) == 0 && S_ISREG(stat.st_mode))
			append(files, &(struct open_file){ stat.st_ino, stat.st_dev, pid, fd });
	}
	if (directory)
		(void)closedir(directory);
}

struct mappings {
	struct open_files *files;
	uint32_t pid;
};

static void add_mapping(void *data, uint64_t ino)
{
	const struct mappings *mappings = data;
	append(mappings->files, &(struct open_file){ ino, 0, mappings->pid, -1 });
}

void open_files_list(const struct live_processes *list, struct open_files *files)
{
	files->count = 0;
	for (size_t i = 0; i < list->count; i++) {
		struct mappings mappings = { files, list->items[i].pid };
		if (!list->items[i].is_own)
			continue;
		list_descriptors(files, mappings.pid);
		live_process_each_mapping(mappings.pid, add_mapping, &mappings);
	}
	if (files->count)
		qsort(files->items, files->count, sizeof(*files->items), compare);
}

/* Is it one to write to, still?  Its number may be another file's by now. */
static bool is_written(const struct open_file *file, uint64_t dev)
{
	const struct subject subject = { file->pid };
	struct stat stat;

	if (file->fd < 0)
		return live_process_maps(file->pid, file->ino);
	if (file->dev != dev || subject_stat(subject, file->fd, &stat) < 0 || stat.st_dev != dev ||
	    stat.st_ino != file->ino)
		return false;
	int flags = subject_flags(subject, file->fd);
	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
}

uint32_t open_files_writer(const struct open_files *files, uint64_t dev, uint64_t ino)
{
	const struct open_file *end = files->items + files->count;
	const struct open_file *file = files->count ? bsearch(&ino, files->items, files->count,
							      sizeof(*file), compare_inodes)
						    : NULL;

	if (!file)
		return 0;
	while (file > files->items && file[-1].ino == ino)
		file--;
	for (; file < end && file->ino == ino; file++)
		if (is_written(file, dev))
			return file->pid;
	return 0;
}

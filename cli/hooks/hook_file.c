/* Files of hooks: see hook_file.h. */
#include "cli/hooks/hook_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/memory_file.h"
#include "tracker/answer/decision.h"
#include "tracker/content/baseline.h"
#include "tracker/process/subject.h"
#include "tracker/segment/workspace.h"

void hook_file_close(struct hook_file *file)
{
	free(file->bytes);
	if (file->fd >= 0)
		(void)close(file->fd);
}

bool hook_file_open(const struct segment *segment, const char *name, struct hook_file *ret_file)
{
	struct hook_file *file = ret_file;
	struct stat before;

	*file = (struct hook_file){ .fd = -1 };
	/* No device or FIFO is opened. */
	if (name[0] != '/' || stat(name, &before) < 0 || !S_ISREG(before.st_mode))
		return false;
	file->fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file->fd >= 0 && fstat(file->fd, &file->stat) == 0 && S_ISREG(file->stat.st_mode) &&
	       subject_link(SUBJECT_SELF, file->fd, file->path, sizeof(file->path)) > 0 &&
	       path_in_workspace(segment, file->path) && path_is_tracked(segment, file->path);
}

bool hook_file_read(const struct segment *segment, struct hook_file *file)
{
	size_t size = (size_t)file->stat.st_size;
	ssize_t got = 1;

	if (size > segment->settings->content_max_file_bytes)
		return false;
	file->bytes = malloc(size + 1);
	while (file->bytes && file->length <= size && got > 0) {
		got = pread(file->fd, file->bytes + file->length, size + 1 - file->length,
			    (off_t)file->length);
		file->length += got > 0 ? (size_t)got : 0;
	}
	if (!file->bytes || got < 0 || file->length != size ||
	    content_of_descriptor(file->fd, size, &file->content) < 0)
		return false;
	struct version version = version_of_bytes(file->bytes, size);
	return version_equal(&version, &file->content.version);
}

uint64_t hook_file_known(const struct segment *segment, uint64_t scope_id,
			 const struct hook_file *file, const struct version *version)
{
	struct stamp stamp = stamp_of(&file->stat);
	uint64_t key = file_update(segment, file->path, &stamp, NULL, NULL);

	if (key) {
		baseline_add_name(segment, file->path);
		baseline_given(segment, scope_id, key, version);
	}
	return key;
}

char *hook_file_diff(const struct segment *segment, const struct diff_question *question, int fd,
		     size_t *ret_length)
{
	int memory = memory_file_open("seen-diff");
	char *text = NULL;
	struct stat stat;

	if (memory >= 0 && answer_diff(segment, question, fd, memory) == DIFF_MADE &&
	    fstat(memory, &stat) == 0)
		text = malloc((size_t)stat.st_size + 1);
	if (text && pread(memory, text, (size_t)stat.st_size, 0) != stat.st_size) {
		free(text);
		text = NULL;
	}
	if (text) {
		*ret_length = (size_t)stat.st_size;
		text[*ret_length] = '\0';
	}
	if (memory >= 0)
		(void)close(memory);
	return text;
}

/* Where a document or rows go: see output.h. */
#include "cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"

enum {
	BUFFER_BYTES = 1 << 20, /* more than one line can be */
	WRITE_BYTES = 64 << 10, /* are written at once */
};

static char standard_buffer[2 * WRITE_BYTES]; /* until the program ends */

/* Length of the last line's beginning: what stands behind the last newline.  Returns 0 or a
 * negative errno. */
static int measure_last_line(int fd, off_t size, off_t *ret_bytes)
{
	char part[4096];
	off_t at = size;

	while (at > 0) {
		off_t from = at > (off_t)sizeof(part) ? at - (off_t)sizeof(part) : 0;
		ssize_t got = pread(fd, part, (size_t)(at - from), from);
		if (got != at - from)
			return got < 0 ? -errno : -EIO;
		const char *newline = memrchr(part, '\n', (size_t)got);
		if (newline) {
			at = from + (newline - part) + 1;
			break;
		}
		at = from;
	}
	*ret_bytes = size - at;
	return 0;
}

/* Lines are added behind a whole one. */
static int mend(int fd, enum output_way way, const struct stat *stat)
{
	off_t torn = 0;

	if (!S_ISREG(stat->st_mode))
		return 0;
	int error = measure_last_line(fd, stat->st_size, &torn);
	if (error < 0 || torn == 0)
		return error;
	if (way != OUTPUT_MEND)
		return -EILSEQ;
	return ftruncate(fd, stat->st_size - torn) < 0 ? -errno : 0;
}

static int open_to_add(const char *path, enum output_way way, int *ret_fd)
{
	struct stat stat;
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0 && (errno == EACCES || errno == ENXIO)) /* a pipe, a log that may not be read */
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int error = fstat(fd, &stat) < 0 ? -errno : mend(fd, way, &stat);
	if (error < 0)
		(void)close(fd);
	else
		*ret_fd = fd;
	return error;
}

/* A new file beside the one that it will replace.  mode: of that one. */
static int open_beside(struct output *output, mode_t mode, int *ret_fd)
{
	if (asprintf(&output->fresh, "%s.XXXXXX", output->place) < 0) {
		output->fresh = NULL;
		return -ENOMEM;
	}
	int fd = mkostemp(output->fresh, O_CLOEXEC);
	if (fd < 0) {
		int error = -errno;
		free(output->fresh);
		output->fresh = NULL;
		return error;
	}
	(void)fchmod(fd, mode & 0777);
	*ret_fd = fd;
	return 0;
}

static int open_to_replace(struct output *output, const char *path, int *ret_fd)
{
	struct stat status;

	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return -EISDIR;
		if (!S_ISREG(status.st_mode)) {
			*ret_fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			return *ret_fd < 0 ? -errno : 0;
		}
		if (access(path, W_OK) <
		    0) /* it could be replaced all the same, and was not meant to be */
			return -errno;
		output->place = realpath(path, NULL);
	} else if (errno != ENOENT) {
		return -errno;
	} else {
		status.st_mode = 0600;
		output->place = strdup(path);
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): output_close() frees it */
	return output->place ? open_beside(output, status.st_mode, ret_fd) : -errno;
}

int output_open(const char *path, enum output_way way, struct output *ret_output)
{
	struct output output = { .file = stdout };
	int fd = -1, error = 0;

	if (path && strcmp(path, "-") != 0) {
		output.path = strdup(path);
		error = !output.path            ? -ENOMEM
			: way == OUTPUT_REPLACE ? open_to_replace(&output, path, &fd)
						: open_to_add(path, way, &fd);
		output.file = error == 0 ? fdopen(fd, "w") : NULL;
		if (error == 0 && !output.file) {
			error = -errno;
			(void)close(fd);
		}
	}
	if (error == 0) {
		output.buffer = output.path ? malloc(BUFFER_BYTES) : NULL;
		if (output.buffer)
			(void)setvbuf(output.file, output.buffer, _IOFBF, BUFFER_BYTES);
		else if (!output.path)
			(void)setvbuf(output.file, standard_buffer, _IOFBF,
				      sizeof(standard_buffer));
		*ret_output = output;
	} else {
		output_close(&output);
	}
	return error;
}

int output_row(struct output *output)
{
	if (output->error == 0 && __fpending(output->file) >= WRITE_BYTES &&
	    fflush(output->file) != 0)
		output->error = -errno;
	return output->error;
}

int output_finish(struct output *output)
{
	if (output->error == 0 && !text_json_is_whole())
		output->error = -ENOMEM;
	if (output->error < 0)
		return output->error;
	if (fflush(output->file) != 0)
		return -errno;
	if (ferror(output->file))
		return -EIO;
	/* A pipe has no disk. */
	if (output->path && fsync(fileno(output->file)) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	if (output->place && rename(output->fresh, output->place) < 0)
		return -errno;
	free(output->fresh);
	output->fresh = NULL;
	return 0;
}

bool output_is_same(const char *path, const char *other)
{
	struct stat one, two;
	return path && stat(path, &one) == 0 && stat(other, &two) == 0 &&
	       one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int output_failed(const struct output *output, int error)
{
	if (output->path) {
		message("%s: %s", output->path, strerror(-error));
	} else {
		message("cannot write the output: %s", strerror(-error));
		/* The caller must not try again, nor report it twice. */
		__fpurge(stdout);
		clearerr(stdout);
	}
	return EXIT_CODE_OUTPUT;
}

void output_close(struct output *output)
{
	if (output->file && output->file != stdout)
		(void)fclose(output->file);
	if (output->fresh)
		(void)unlink(output->fresh);
	free(output->fresh);
	free(output->place);
	free(output->path);
	free(output->buffer);
	*output = (struct output){ .file = NULL };
}

/* Operations of undo and redo on disk: see operation.h. */
#include "cli/undo/operation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/session/store_files.h"

static const char PREFIX[] = "op-";

enum { DIGITS = 8 };

void operation_name(uint32_t number, char *ret_name)
{
	(void)snprintf(ret_name, OPERATION_NAME_BYTES, "%s%08u", PREFIX,
		       (unsigned)(number % (OPERATION_MAX + 1)));
}

/* Is it the name of an operation's directory, and of which? */
static bool is_name(const char *name, uint32_t *ret_number)
{
	const char *digits = name + strlen(PREFIX);

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strspn(digits, "0123456789") != DIGITS ||
	    digits[DIGITS])
		return false;
	*ret_number = (uint32_t)strtoul(digits, NULL, 10);
	return *ret_number > 0;
}

static int open_plan(int directory, uint32_t number, int flags)
{
	char name[OPERATION_NAME_BYTES], path[OPERATION_NAME_BYTES + sizeof(OPERATION_PLAN) + 1];

	operation_name(number, name);
	(void)snprintf(path, sizeof(path), "%s/%s", name, OPERATION_PLAN);
	int fd = openat(directory, path, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_head(int directory, uint32_t number, struct operation_head *ret_head)
{
	struct operation_head head;
	int fd = open_plan(directory, number, O_RDONLY);

	if (fd < 0)
		return fd;
	ssize_t got = pread(fd, &head, sizeof(head), 0);
	int error = got < 0 ? -errno : 0;
	(void)close(fd);
	if (error < 0)
		return error;
	if (got != (ssize_t)sizeof(head) || head.magic != OPERATION_MAGIC ||
	    head.number != number || head.state < OPERATION_STARTED ||
	    head.state > OPERATION_PARTLY)
		return -EBADMSG;
	*ret_head = head;
	return 0;
}

static int set_word(int directory, uint32_t number, size_t offset, uint32_t word)
{
	int fd = open_plan(directory, number, O_WRONLY);

	if (fd < 0)
		return fd;
	ssize_t put = pwrite(fd, &word, sizeof(word), (off_t)offset);
	int error = put == (ssize_t)sizeof(word) ? 0 : put < 0 ? -errno : -EIO;
	(void)close(fd);
	return error;
}

int operation_set_state(int directory, uint32_t number, enum operation_state state)
{
	return set_word(directory, number, offsetof(struct operation_head, state), (uint32_t)state);
}

int operation_set_redone(int directory, uint32_t number, uint32_t redone_by)
{
	return set_word(directory, number, offsetof(struct operation_head, redone_by), redone_by);
}

static int by_number(const void *a, const void *b)
{
	const struct operation_head *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

/* Is there no plan that holds?  Anything else leaves unknown whether there is one. */
static bool is_without_plan(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EBADMSG;
}

static int add_head(int directory, uint32_t number, struct operation_head **heads, size_t *count)
{
	struct operation_head head, *grown;
	int error = read_head(directory, number, &head);

	if (error < 0)
		return is_without_plan(error) ? 0 : error;
	grown = reallocarray(*heads, *count + 1, sizeof(**heads));
	if (!grown)
		return -ENOMEM;
	*heads = grown;
	grown[(*count)++] = head;
	return 0;
}

int operation_heads(int directory, struct operation_head **ret_heads, size_t *ret_count,
		    uint32_t *ret_next)
{
	DIR *stream = store_files_list(directory);
	struct operation_head *heads = NULL;
	uint32_t number, next = 1;
	size_t count = 0;
	const char *name = NULL;
	int error = stream ? 0 : -errno;

	while (error == 0 && (name = store_files_next(stream))) {
		if (!is_name(name, &number))
			continue;
		if (number >= next)
			next = number + 1;
		error = add_head(directory, number, &heads, &count);
	}
	if (error == 0 && !name)
		error = -errno;
	if (stream)
		(void)closedir(stream);
	if (error == 0 && next > OPERATION_MAX)
		error = -EOVERFLOW;
	if (error < 0) {
		free(heads);
		return error;
	}
	if (count)
		qsort(heads, count, sizeof(*heads), by_number);
	*ret_heads = heads;
	*ret_count = count;
	if (ret_next)
		*ret_next = next;
	return 0;
}

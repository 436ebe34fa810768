/* Operations of undo and redo on disk: see operation.h. */
#include "cli/undo/operation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "op-";

enum { DIGITS = 8 };

void operation_name(uint32_t number, char *ret_name)
{
	(void)snprintf(ret_name, OPERATION_NAME_BYTES, "%s%08u", PREFIX,
		       (unsigned)(number % (OPERATION_MAX + 1)));
}

bool operation_is_name(const char *name, uint32_t *ret_number)
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

int operation_read_head(int directory, uint32_t number, struct operation_head *ret_head)
{
	struct operation_head head;
	int fd = open_plan(directory, number, O_RDONLY);

	if (fd < 0)
		return fd;
	ssize_t got = pread(fd, &head, sizeof(head), 0);
	(void)close(fd);
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
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

int operation_list(int directory, uint32_t **ret_numbers, size_t *ret_count)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct operation_head head;
	uint32_t *numbers = NULL, number;
	size_t count = 0;
	int error = 0;

	if (!stream) {
		error = -errno;
		if (copy >= 0)
			(void)close(copy);
		return error;
	}
	for (struct dirent *entry; error == 0 && (entry = readdir(stream));) {
		if (!operation_is_name(entry->d_name, &number) ||
		    operation_read_head(directory, number, &head) < 0)
			continue;
		uint32_t *grown = reallocarray(numbers, count + 1, sizeof(*numbers));
		if (grown) {
			numbers = grown;
			numbers[count++] = number;
		} else {
			error = -ENOMEM;
		}
	}
	(void)closedir(stream);
	if (error < 0) {
		free(numbers);
		return error;
	}
	if (count)
		qsort(numbers, count, sizeof(*numbers), by_number);
	*ret_numbers = numbers;
	*ret_count = count;
	return 0;
}

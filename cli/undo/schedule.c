/* The plan of an undo, in memory and on disk: see schedule.h. */
#include "cli/undo/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TEXTS_MIN_BYTES = 4096, SCHEDULE_PATH_BYTES = OPERATION_NAME_BYTES + 32 };

/* ---- in memory ---- */

uint64_t schedule_add_text(struct schedule *plan, const char *text)
{
	size_t size = strlen(text) + 1, used = plan->text_bytes ? plan->text_bytes : 1;

	if (!plan->texts || used + size > plan->text_capacity) {
		size_t capacity = 2 * (used + size) + TEXTS_MIN_BYTES;
		char *grown = realloc(plan->texts, capacity);
		if (!grown)
			return 0;
		grown[0] = '\0';
		plan->texts = grown;
		plan->text_capacity = capacity;
	}
	memcpy(plan->texts + used, text, size);
	plan->text_bytes = used + size;
	return used;
}

struct schedule_item *schedule_add(struct schedule *plan, enum schedule_kind kind, const char *path,
				   const char *other, const struct tree_record *content)
{
	uint64_t path_at = schedule_add_text(plan, path);
	uint64_t other_at = other ? schedule_add_text(plan, other) : 0;

	if (!path_at || (other && !other_at) || plan->count == UINT32_MAX)
		return NULL;
	if ((plan->count & (plan->count - 1)) == 0) {
		size_t capacity = plan->count ? 2 * plan->count : 1;
		struct schedule_item *grown = reallocarray(plan->items, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		plan->items = grown;
	}
	struct schedule_item *item = &plan->items[plan->count++];
	*item = (struct schedule_item){
		.kind = (uint8_t)kind,
		.path = path_at,
		.other = other_at,
		.content_operation = content ? content->operation : 0,
		.content_place = content ? content->place + 1 : 0,
	};
	return item;
}

void schedule_free(struct schedule *plan)
{
	free(plan->items);
	free(plan->texts);
	free(plan->contents);
	for (size_t i = 0; i < plan->merged_count; i++)
		free(plan->merged[i].bytes);
	free(plan->merged);
	*plan = (struct schedule){ .count = 0 };
}

/* ---- contents ---- */

size_t schedule_add_merged(struct schedule *plan, const struct merge_text *text)
{
	struct merge_text *more = reallocarray(plan->merged, plan->merged_count + 1, sizeof(*more));

	if (!more)
		return 0;
	plan->merged = more;
	more[plan->merged_count] = *text;
	return ++plan->merged_count;
}

void schedule_merged_name(size_t number, char *ret_name)
{
	(void)snprintf(ret_name, OPERATION_NAME_BYTES, "merged-%08x", (unsigned)number);
}

static int by_place(const void *a, const void *b)
{
	const struct tree_record *left = *(const struct tree_record *const *)a;
	const struct tree_record *right = *(const struct tree_record *const *)b;

	if (left->operation != right->operation)
		return left->operation < right->operation ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

int schedule_resolve(struct schedule *plan, const struct tree_records *records)
{
	const struct tree_record **index = calloc(records->count + 1,
						  sizeof(const struct tree_record *));

	plan->contents = calloc(plan->count + 1, sizeof(const struct tree_record *));
	if (!index || !plan->contents) {
		free(index);
		return -ENOMEM;
	}
	for (size_t i = 0; i < records->count; i++)
		index[i] = &records->records[i];
	if (records->count)
		qsort(index, records->count, sizeof(*index), by_place);
	for (size_t i = 0; i < plan->count && records->count; i++) {
		const struct schedule_item *item = &plan->items[i];
		const struct tree_record key = { .operation = item->content_operation,
						 .place = item->content_place - 1 };
		const struct tree_record *pointer = &key;
		const struct tree_record **found =
			item->content_place && !(item->flags & SCHEDULE_MERGED)
				? bsearch(&pointer, index, records->count, sizeof(*index), by_place)
				: NULL;
		plan->contents[i] = found ? *found : NULL;
	}
	free(index);
	return 0;
}

/* ---- on disk ---- */

static uint64_t check_of(const struct schedule *plan)
{
	const size_t head_from = offsetof(struct operation_head, number);
	const size_t item_from = offsetof(struct schedule_item, kind);
	uint64_t check = XXH3_64bits((const char *)&plan->head + head_from,
				     sizeof(plan->head) - head_from);

	for (size_t i = 0; i < plan->count; i++)
		check = XXH3_64bits_withSeed((const char *)&plan->items[i] + item_from,
					     sizeof(plan->items[i]) - item_from, check);
	return XXH3_64bits_withSeed(plan->texts, plan->text_bytes, check);
}

static int write_all(int fd, const void *bytes, size_t size_bytes)
{
	for (const char *at = bytes; size_bytes;) {
		ssize_t put = write(fd, at, size_bytes);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		at += put;
		size_bytes -= (size_t)put;
	}
	return 0;
}

static int write_file(struct schedule *plan, int directory)
{
	static const char FRESH[] = OPERATION_PLAN ".new";
	int fd = openat(directory, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	int error = write_all(fd, &plan->head, sizeof(plan->head));
	if (error == 0)
		error = write_all(fd, plan->items, plan->count * sizeof(*plan->items));
	if (error == 0)
		error = write_all(fd, plan->texts, plan->text_bytes);
	if (error == 0 && fsync(fd) < 0)
		error = -errno;
	if (close(fd) < 0 && error == 0)
		error = -errno;
	if (error == 0 && renameat(directory, FRESH, directory, OPERATION_PLAN) < 0)
		error = -errno;
	if (error < 0)
		(void)unlinkat(directory, FRESH, 0);
	else
		(void)fsync(directory);
	return error;
}

static int write_merged(const struct schedule *plan, int directory)
{
	char name[OPERATION_NAME_BYTES];
	int error = 0;

	for (size_t i = 0; i < plan->merged_count && error == 0; i++) {
		schedule_merged_name(i, name);
		int fd = openat(directory, name,
				O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		error = fd < 0 ? -errno
			       : write_all(fd, plan->merged[i].bytes, plan->merged[i].size);
		if (error == 0 && fsync(fd) < 0)
			error = -errno;
		if (fd >= 0 && close(fd) < 0 && error == 0)
			error = -errno;
	}
	for (size_t i = 0; i < plan->merged_count && error < 0; i++) {
		schedule_merged_name(i, name);
		(void)unlinkat(directory, name, 0);
	}
	return error;
}

int schedule_write(struct schedule *plan, int directory)
{
	char name[OPERATION_NAME_BYTES];

	if (!plan->texts && !schedule_add_text(plan, ""))
		return -ENOMEM;
	plan->head.item_count = (uint32_t)plan->count;
	plan->head.text_bytes = plan->text_bytes;
	plan->head.check = check_of(plan);
	operation_name(plan->head.number, name);
	if (mkdirat(directory, name, 0700) < 0)
		return -errno;
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int error = fd < 0 ? -errno : write_merged(plan, fd);
	if (error == 0)
		error = write_file(plan, fd);
	if (fd >= 0)
		(void)close(fd);
	if (error < 0)
		(void)unlinkat(directory, name, AT_REMOVEDIR);
	else
		(void)fsync(directory);
	return error;
}

static int read_all(int fd, void *ret_bytes, size_t size_bytes)
{
	for (char *at = ret_bytes; size_bytes;) {
		ssize_t got = read(fd, at, size_bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		at += got;
		size_bytes -= (size_t)got;
	}
	return 0;
}

static bool is_sound(const struct schedule *plan)
{
	if (plan->text_bytes == 0 || plan->texts[0] || plan->texts[plan->text_bytes - 1] ||
	    check_of(plan) != plan->head.check)
		return false;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].state > SCHEDULE_FAILED ||
		    plan->items[i].path >= plan->text_bytes ||
		    plan->items[i].other >= plan->text_bytes ||
		    schedule_text(plan, plan->items[i].path)[0] != '/')
			return false;
	return true;
}

static int read_file(int fd, struct schedule *plan)
{
	struct stat stat;
	int error = fstat(fd, &stat) < 0 ? -errno : read_all(fd, &plan->head, sizeof(plan->head));

	if (error < 0)
		return error;
	uint64_t items_bytes = plan->head.item_count * sizeof(struct schedule_item);
	if (plan->head.magic != OPERATION_MAGIC || plan->head.text_bytes > (uint64_t)stat.st_size ||
	    sizeof(plan->head) + items_bytes + plan->head.text_bytes != (uint64_t)stat.st_size)
		return -EBADMSG;
	plan->count = plan->head.item_count;
	plan->text_bytes = plan->text_capacity = plan->head.text_bytes;
	plan->items = malloc(items_bytes + 1);
	plan->texts = malloc(plan->text_bytes + 1);
	if (!plan->items || !plan->texts)
		return -ENOMEM;
	error = read_all(fd, plan->items, items_bytes);
	if (error == 0)
		error = read_all(fd, plan->texts, plan->text_bytes);
	return error == 0 && !is_sound(plan) ? -EBADMSG : error;
}

int schedule_read(int directory, uint32_t number, const struct tree_records *records,
		  struct schedule *ret_plan)
{
	char name[OPERATION_NAME_BYTES], path[SCHEDULE_PATH_BYTES];

	*ret_plan = (struct schedule){ .count = 0 };
	operation_name(number, name);
	(void)snprintf(path, sizeof(path), "%s/%s", name, OPERATION_PLAN);
	int fd = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int error = read_file(fd, ret_plan);
	(void)close(fd);
	return error ? error : schedule_resolve(ret_plan, records);
}

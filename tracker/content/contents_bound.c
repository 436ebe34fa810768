/* How much the content store keeps: see contents_bound.h. */
#include "tracker/content/contents_bound.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>

#include "tracker/content/contents_directory.h"
#include "tracker/content/contents_name.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	ENTRIES_BYTES = 2048,  /* of a directory at a time */
	ENTRIES_MAX = 1048576, /* of a directory in all */
	OLDEST_ON_STACK = 32, /* what one look finds to be dropped, as CONTENTS_SMALL_CHUNK_BYTES */
	ROUNDS_MAX = 256,     /* of looking and dropping */
	SLACK_SHARE = 64,     /* of max_bytes: dropped beyond it, so that few have to look */
};

static uint64_t kept_bytes(const struct segment *segment)
{
	return __atomic_load_n(&segment->header->contents_bytes, __ATOMIC_RELAXED);
}

static void kept_less(const struct segment *segment, uint64_t size_bytes)
{
	uint64_t *kept = &segment->header->contents_bytes;
	uint64_t before = kept_bytes(segment), after;

	/* never below nothing: a wrong number would then be a huge one */
	do
		after = before > size_bytes ? before - size_bytes : 0;
	while (!__atomic_compare_exchange_n(kept, &before, after, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

struct old_content {
	struct version version;
	int64_t mtime_ns;
};

/* The oldest contents of a directory, the oldest first, and the bytes of all. */
struct survey {
	uint64_t size_bytes;
	int count, capacity;
	struct old_content *oldest;
};

static void survey_entry(int directory, const char *name, const struct version *but,
			 struct survey *survey)
{
	struct old_content found;
	struct stat stat;

	if (!contents_version(name, &found.version) ||
	    sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !contents_is_whole(&stat, &found.version))
		return;
	survey->size_bytes += found.version.size_bytes;
	found.mtime_ns = stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec;
	if (!survey->capacity || (but && version_equal(&found.version, but)))
		return;
	int place = survey->count;
	while (place > 0 && survey->oldest[place - 1].mtime_ns > found.mtime_ns)
		place--;
	if (place == survey->capacity)
		return;
	survey->count += survey->count < survey->capacity;
	memmove(&survey->oldest[place + 1], &survey->oldest[place],
		(size_t)(survey->count - place - 1) * sizeof(found));
	survey->oldest[place] = found;
}

/* but: never among the oldest; NULL: none. */
static int survey_directory(int directory, const struct version *but, struct survey *ret_survey)
{
	_Alignas(struct sys_entry) char entries[ENTRIES_BYTES];
	ssize_t got;

	ret_survey->size_bytes = 0;
	ret_survey->count = 0;
	(void)sys_lseek(directory, 0, SEEK_SET);
	for (unsigned count = 0; (got = sys_getdents64(directory, entries, sizeof(entries))) > 0;)
		for (ssize_t at = 0; at < got; count++) {
			const struct sys_entry *entry = (const struct sys_entry *)(void *)(entries +
											   at);
			if (count >= ENTRIES_MAX)
				return -E2BIG;
			survey_entry(directory, entry->name, but, ret_survey);
			at += entry->size_bytes;
		}
	return (int)got;
}

/* Drops a content that no process kept again meanwhile.
 *
 * A process that finds a content there makes it the youngest and then checks its name once more. 
 * So it gets another name first:
 * either that look finds nothing, or the touch was before, and is seen here. */
static bool drop(const struct segment *segment, int directory, const struct old_content *old)
{
	char name[CONTENTS_NAME_BYTES], temporary[CONTENTS_TEMPORARY_BYTES];
	struct stat stat;

	contents_name(&old->version, name);
	contents_temporary_name(segment, temporary);
	if (sys_rename_in(directory, name, temporary, 0) < 0)
		return false;
	if (sys_fstatat(directory, temporary, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	    stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec != old->mtime_ns) {
		int error = sys_rename_in(directory, temporary, name, RENAME_NOREPLACE);
		if (error == -EINVAL || error == -ENOSYS) /* this file system cannot tell */
			error = sys_rename_in(directory, temporary, name, 0);
		if (error == 0)
			return false;
	}
	return sys_unlinkat(directory, temporary, 0) == 0;
}

static void make_room_by(const struct segment *segment, int directory, const struct version *but,
			 struct old_content *memory, int capacity)
{
	uint64_t max_bytes = segment->settings->content_max_bytes, before;
	struct survey survey = { .oldest = memory, .capacity = capacity };

	for (int round = 0; round < ROUNDS_MAX; round++) {
		if ((before = kept_bytes(segment)) <= max_bytes ||
		    survey_directory(directory, but, &survey) < 0)
			return;
		/* what is there counts, not the number: that may be wrong, or damaged */
		(void)__atomic_compare_exchange_n(&segment->header->contents_bytes, &before,
						  survey.size_bytes, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
		if (survey.size_bytes <= max_bytes || survey.count == 0)
			return;
		/* inspecting so many takes long */
		uint64_t goal_bytes = survey.count < capacity ? max_bytes
							      : max_bytes - max_bytes / SLACK_SHARE;
		for (int i = 0; i < survey.count && kept_bytes(segment) > goal_bytes; i++)
			if (drop(segment, directory, &survey.oldest[i]))
				kept_less(segment, survey.oldest[i].version.size_bytes);
	}
}

static CONTENTS_APART void make_room_on_stack(const struct segment *segment, int directory,
					      const struct version *but)
{
	struct old_content memory[OLDEST_ON_STACK];
	make_room_by(segment, directory, but, memory, OLDEST_ON_STACK);
}

void contents_make_room(const struct segment *segment, int directory, const struct version *but)
{
	if (kept_bytes(segment) <= segment->settings->content_max_bytes)
		return;
	char *chunk = chunk_acquire();
	if (chunk)
		make_room_by(segment, directory, but, (struct old_content *)(void *)chunk,
			     CHUNK_BYTES / sizeof(struct old_content));
	else
		make_room_on_stack(segment, directory, but);
	chunk_release(chunk);
}

void contents_recount(const struct segment *segment)
{
	int directory = contents_directory_open(segment);
	uint64_t before = kept_bytes(segment);
	struct survey survey = { .capacity = 0 };

	if (directory < 0)
		return;
	/* who saves meanwhile has the number right already */
	if (survey_directory(directory, NULL, &survey) == 0)
		(void)__atomic_compare_exchange_n(&segment->header->contents_bytes, &before,
						  survey.size_bytes, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
	(void)sys_close(directory);
}

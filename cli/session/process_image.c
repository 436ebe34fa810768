/* The files of a session's programs: see process_image.h. */
#include "cli/session/process_image.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/executable.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/subject.h"

void process_image_path(const struct journal *journal, const struct process_slot *process,
			char *ret_path)
{
	struct journal_entry entry;
	uint64_t number = process->record;
	size_t length, directory_length;

	ret_path[0] = '\0';
	if (!journal->header || !number ||
	    journal_next(journal, &number, &entry) != JOURNAL_FOUND_RECORD ||
	    entry.record.head.op != JOURNAL_EXEC || entry.record.amount != process->serial)
		return;
	const char *path = journal_bytes(journal, entry.record.path, &length);
	const char *directory = journal_bytes(journal, entry.record.directory, &directory_length);
	if (!path || length >= PATH_MAX)
		return;
	if (path[0] == '/' || !memchr(path, '/', length))
		(void)snprintf(ret_path, PATH_MAX, "%.*s", (int)length, path);
	else if (directory)
		(void)snprintf(ret_path, PATH_MAX, "%.*s/%.*s", (int)directory_length, directory,
			       (int)length, path);
}

/* Of a script: its last interpreter is the program. */
static const char *inspect_past_libc(const char *path)
{
	struct executable chain[EXECUTABLE_CHAIN_MAX];
	char missing[PATH_MAX];
	int count = executable_chain(path, chain, missing);

	if (count <= 0)
		return NULL;
	switch (chain[count - 1].runtime) {
	case RUNTIME_GO:
		return "raw system calls (Go)";
	case RUNTIME_BUN:
		return "raw system calls (Bun)";
	case RUNTIME_NONE:
		break;
	}
	return NULL;
}

static bool is_same(struct timespec one, struct timespec other)
{
	return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

static const char *find_past_libc(struct image_cache *cache, const char *path)
{
	unsigned known = cache->count < IMAGE_CACHE_MAX ? cache->count : IMAGE_CACHE_MAX;
	char found[PATH_MAX];
	struct stat status;

	if (executable_find(path, found, sizeof(found)) < 0 || stat(found, &status) < 0)
		return NULL;
	for (unsigned i = 0; i < known; i++)
		if (cache->images[i].dev == status.st_dev &&
		    cache->images[i].ino == status.st_ino &&
		    is_same(cache->images[i].modified, status.st_mtim) &&
		    is_same(cache->images[i].changed, status.st_ctim))
			return cache->images[i].past_libc;
	unsigned at = cache->count++ % IMAGE_CACHE_MAX;
	cache->images[at].dev = status.st_dev;
	cache->images[at].ino = status.st_ino;
	cache->images[at].modified = status.st_mtim;
	cache->images[at].changed = status.st_ctim;
	cache->images[at].past_libc = inspect_past_libc(found);
	return cache->images[at].past_libc;
}

const char *process_past_libc(const struct journal *journal, const struct process_slot *process,
			      struct image_cache *cache)
{
	char path[PATH_MAX];

	if (process->context.flags & CONTEXT_SUPERVISED)
		return NULL;
	process_image_path(journal, process, path);
	/* Where there is no record, or one of a name that is found elsewhere by now. */
	if (!path[0] || !memchr(path, '/', strlen(path))) {
		if (!process->pid || process->state != PROCESS_ATTACHED || process_is_gone(process))
			return path[0] ? find_past_libc(cache, path) : NULL;
		proc_path(process->pid, "exe", path);
	}
	return find_past_libc(cache, path);
}

/* A content store, and what is kept in it: what the tests of contents share. */
#ifndef SEEN_TESTS_CONTENTS_CASE_H
#define SEEN_TESTS_CONTENTS_CASE_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"
#include "tracker/content/contents.h"
#include "tracker/content/contents_bound.h"
#include "tracker/content/contents_name.h"

static struct world world;

static inline void start(void)
{
	world_open(&world, "content.max_bytes=1000000", "content.max_file_bytes=200000", NULL);
}

static inline void stop(void)
{
	world_close(&world);
}

/* A file of the workspace: another one for each seed, if it has room for that. */
static inline void fill(const char *name, size_t size_bytes, unsigned seed)
{
	char digits[16];
	int count = snprintf(digits, sizeof(digits), "%08x", seed);

	world_fill(&world, name, size_bytes, seed);
	int fd = open(world_path(&world, name), O_WRONLY | O_CLOEXEC);
	must(fd >= 0);
	if (size_bytes >= (size_t)count)
		must(pwrite(fd, digits, (size_t)count, 0) == count);
	must(close(fd) == 0);
}

static inline int save(const char *name, struct version *ret_version)
{
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	int error = contents_save(&world.segment, fd, world_path(&world, name), CONTENTS_DESTROYED,
				  ret_version);
	must(lseek(fd, 0, SEEK_CUR) == 0);
	must(close(fd) == 0);
	return error;
}

static inline struct version keep(const char *name, size_t size_bytes, unsigned seed)
{
	struct version version;
	fill(name, size_bytes, seed);
	cr_assert_eq(save(name, &version), 0);
	return version;
}

static inline const char *content_path(const char *name)
{
	static char path[400];
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, name);
	return path;
}

static inline const char *path_of(const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	contents_name(version, name);
	return content_path(name);
}

static inline struct version version_of(const char *path)
{
	struct content content = { .lines = 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	return content.version;
}

struct census {
	unsigned contents, temporaries, damaged;
	uint64_t size_bytes;
};

/* Checks everything in the directory. */
static inline struct census census(void)
{
	struct census all = { .contents = 0 };
	DIR *directory = opendir(world.contents);
	must(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		struct version named;
		uint64_t pid;
		all.temporaries += contents_is_temporary(entry->d_name, &pid);
		if (!contents_version(entry->d_name, &named))
			continue;
		struct version found = version_of(content_path(entry->d_name));
		all.contents++;
		all.damaged += !version_equal(&named, &found);
		all.size_bytes += found.size_bytes;
	}
	must(closedir(directory) == 0);
	return all;
}

static inline uint64_t kept_bytes(void)
{
	return world.segment.header->contents_bytes;
}

#endif

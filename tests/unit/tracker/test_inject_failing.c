/* inject.h: instruction files that cannot be put in: the viewer is given what it would have been, and none counts as given. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "failing_calls.h"
#include "tracker/answer/inject.h"
#include "tracker/sys/chunk.h"

static struct world world;
static struct request request;
static struct inject inject;

enum { SIZE = 1000 };

static void start(void)
{
	world_open(&world, "context.inject=viewers", NULL);
	request = world_request(&world, world_scope(&world, "a"));
	memset(&inject, 0, sizeof(inject));
	world_fill(&world, "f", SIZE, 1);
	world_fill(&world, "AGENTS.md", 60, 2);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(inject_failing, .init = start, .fini = stop);

static uint32_t text_of(const char *path, void *data)
{
	(void)data;
	return (uint32_t)strlen(path);
}

/* Views a file that its caller takes to be of that many bytes, through a descriptor opened so.  Returns 0 or the error. */
static int view_as(const char *name, uint64_t bytes, int flags)
{
	struct stat stat;
	uint64_t before_bytes;
	const char *path = world_path(&world, name);
	int file = open(path, flags | O_CLOEXEC);

	must(file >= 0 && fstat(file, &stat) == 0);
	const struct inject_rest rest = { .path = path, .stat = &stat, .fd = file, .bytes = bytes };
	int readable = inject_file(&world.segment, &request, &rest, text_of, NULL, &inject,
				   &before_bytes);
	must(close(file) == 0 && (readable < 0 || close(readable) == 0));
	return readable < 0 ? readable : 0;
}

static int view(const char *name)
{
	struct stat stat_;

	must(stat(world_path(&world, name), &stat_) == 0);
	return view_as(name, (uint64_t)stat_.st_size, O_RDONLY);
}

/* ---- calls that fail, in a child ---- */

struct refused {
	int number, error, argument; /* argument: -1: whatever it is */
	uint32_t value;
};

/* Exits with the error of the view; 255 where something counts as put in all the same. */
static int view_refused(void *data)
{
	const struct refused *refused = data;

	if (refused->argument < 0)
		refuse_calls(refused->number, refused->error);
	else
		refuse_calls_with(refused->number, (unsigned)refused->argument, refused->value,
				  refused->error);
	int error = view("f");
	return inject.count == 0 ? -error : 255;
}

Test(inject_failing, calls)
{
	static const struct refused REFUSED[] = {
		{ SYS_memfd_create, EMFILE, -1, 0 },
		{ SYS_fallocate, ENOSPC, -1, 0 },
		{ SYS_mmap, ENOMEM, 3, MAP_SHARED },
		{ SYS_fcntl, EPERM, 1, F_ADD_SEALS },
		/* of the instruction file: as one that is not there */
		{ SYS_pread64, EIO, -1, 0 },
	};
	static const int ERRORS[] = { EMFILE, ENOSPC, ENOMEM, EPERM, ENOENT };

	for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
		cr_expect_eq(in_child(view_refused, (void *)(uintptr_t)&REFUSED[i]), ERRORS[i],
			     "%zu", i);
	cr_assert_eq(view("f"), 0);
}

static int view_with_limit(void *data)
{
	const struct rlimit limit = { *(const rlim_t *)data, *(const rlim_t *)data };

	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	int error = view("f");
	return inject.count == 0 ? -error : 255;
}

/* Of the largest file of a process: in the header, in the instruction file, and behind it.  No signal ends it. */
Test(inject_failing, limit_of_files)
{
	for (rlim_t limit = 1; limit < SIZE; limit += 45)
		cr_expect_eq(in_child(view_with_limit, &limit), EFBIG, "%d", (int)limit);
}

static int view_without_chunks(void *data)
{
	(void)data;
	while (chunk_acquire())
		;
	return -view("f");
}

Test(inject_failing, no_memory_to_read_by)
{
	cr_assert_eq(in_child(view_without_chunks, NULL), ENOMEM);
}

/* ---- what is behind them ---- */

Test(inject_failing, file_of_another_size)
{
	cr_expect_eq(view_as("f", SIZE - 1, O_RDONLY), -ESTALE);
	cr_expect_eq(view_as("f", SIZE + 1, O_RDONLY), -ESTALE);
	cr_expect_eq(view_as("f", SIZE, O_WRONLY), -EBADF);
	cr_expect_eq(inject.count, 0);
	cr_expect_eq(view_as("f", SIZE, O_RDONLY), 0);
}

static void limit_to(const char *lines, const char *line_bytes)
{
	world_close(&world);
	world_open(&world, "context.inject=viewers", lines, line_bytes, NULL);
	request = world_request(&world, world_scope(&world, "a"));
	world_fill(&world, "f", SIZE, 1);       /* 25 lines */
	world_fill(&world, "AGENTS.md", 60, 2); /* 2 lines */
}

/* A header, the instruction's lines, a footer, and the file's. */
Test(inject_failing, limit_of_lines)
{
	limit_to("agent world.max_output_lines=28", "agent world.max_line_bytes=1000");
	cr_expect_eq(view("f"), -ENOENT);
	/* of a file that cannot be read each byte may be a line */
	limit_to("agent world.max_output_lines=900", "agent world.max_line_bytes=1000");
	cr_expect_eq(view_as("f", SIZE, O_WRONLY), -ENOENT);
	cr_expect_eq(view("f"), 0);
	memset(&inject, 0, sizeof(inject));
	limit_to("agent world.max_output_lines=29", "agent world.max_line_bytes=1000");
	cr_expect_eq(view("f"), 0);
	memset(&inject, 0, sizeof(inject));
	limit_to("agent world.max_output_lines=29", "agent world.max_line_bytes=30");
	cr_expect_eq(view("f"), -ENOENT);
}

Test(inject_failing, nothing_beside_what_has_no_room_itself)
{
	world_fill(&world, "large", 24001, 1);
	cr_expect_eq(view("large"), -ENOENT);
}

/* ---- what is put in ---- */

Test(inject_failing, no_text)
{
	write_path(world_path(&world, "AGENTS.md"), "a\0b", 3);
	cr_expect_eq(view("f"), -ENOENT);
}

/* Each place's, once for a process: those of a second file are added. */
Test(inject_failing, several)
{
	must(mkdir(world_path(&world, "d"), 0700) == 0);
	world_fill(&world, "CLAUDE.md", 70, 3);
	world_fill(&world, "d/AGENTS.md", 80, 4);
	world_fill(&world, "d/f", SIZE, 5);
	cr_assert_eq(view("f"), 0);
	cr_assert_eq(inject.count, 2);
	struct moment moment = inject.moment;
	cr_assert_eq(view("d/f"), 0);
	cr_expect_eq(inject.count, 3);
	cr_expect_eq(memcmp(&inject.moment, &moment, sizeof(moment)), 0);
	/* none of another file system that has the same number */
	for (int i = 0; i < inject.count; i++)
		inject.files[i].dev++;
	cr_assert_eq(view("f"), 0);
	cr_expect_eq(inject.count, 5);
}

Test(inject_failing, no_more_than_there_is_room_for)
{
	inject.count = INJECTED_MAX;
	cr_expect_eq(view("f"), -ENOENT);
	inject.count = INJECTED_MAX - 1;
	cr_expect_eq(view("f"), 0);
	cr_expect_eq(inject.count, INJECTED_MAX);
	/* what is viewed itself, beyond: it is put in as well */
	memset(&inject, 0, sizeof(inject));
	inject.viewed_count = INJECTED_MAX;
	cr_expect_eq(view("AGENTS.md"), 0);
	cr_expect_eq(inject.count, 1);
	/* of another file system with the same number */
	memset(&inject, 0, sizeof(inject));
	cr_expect_eq(view("AGENTS.md"), -ENOENT);
	cr_expect_eq(inject.viewed_count, 1);
	inject.viewed[0].dev++;
	cr_expect_eq(view("f"), 0);
}

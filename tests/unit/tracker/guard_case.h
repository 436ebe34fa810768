/* A writer and files of a workspace, and what the guard decides: what the tests of the guard share. */
#ifndef SEEN_TESTS_GUARD_CASE_H
#define SEEN_TESTS_GUARD_CASE_H

#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/guard/guard.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static struct world world;
static struct context context;
static struct guard_writer writer;
static uint64_t scope;

/* An agent of scope "a" is the writer; nothing is known of any file. */
static inline void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
	context = (struct context){ .flags = CONTEXT_ATTACHED | CONTEXT_AGENT, .role = ROLE_AGENT };
	writer = (struct guard_writer){
		.scope_id = scope, .serial = 5, .context = &context, .role = ROLE_AGENT
	};
}

static inline void stop(void)
{
	world_close(&world);
}

/* Another program than an agent, below none. */
static inline void write_as_tool(void)
{
	context.flags = CONTEXT_ATTACHED;
	writer.role = context.role = ROLE_TOOL;
	writer.scope_id = 0;
}

static inline struct version version_now(const char *name)
{
	struct content content;
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	return content.version;
}

static inline uint64_t key_of_file(const char *name)
{
	return path_key(&world.segment, world_path(&world, name));
}

/* The file is on record, as it is now. */
static inline void record_file(const char *name)
{
	struct stat stat_now;
	must(stat(world_path(&world, name), &stat_now) == 0);
	struct stamp stamp = stamp_of(&stat_now);
	must(file_update(&world.segment, world_path(&world, name), &stamp, NULL, NULL) != 0);
}

/* The scope was given the file as it is now. */
static inline void deliver_to(uint64_t scope_id, const char *name)
{
	struct version version = version_now(name);

	record_file(name);
	baseline_given(&world.segment, scope_id, key_of_file(name), &version);
}

static inline struct file_slot slot_of(const char *name)
{
	struct file_slot file;
	must(file_find(&world.segment, key_of_file(name), &file) == 0);
	return file;
}

/* What the guard decides of a write to a name; where there is none, of one that makes it. */
static inline struct guard_answer check(const char *name, enum guard_kind kind)
{
	const char *path = world_path(&world, name);
	struct guard_answer answer;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		fd = -errno;
	guard_check(&world.segment, &writer, path, fd, kind, &answer);
	if (fd >= 0)
		(void)close(fd);
	return answer;
}

static inline uint64_t counter(enum counter which)
{
	return segment_counter(&world.segment, which);
}

/* Puts a process into the table: an agent's where context has its scope.  pid 0: not known.  Returns its serial. */
static inline uint64_t add_process(uint32_t pid, enum process_state state, uint64_t age_ns,
				   uint64_t starter_index, const struct context *of)
{
	uint64_t index = __atomic_fetch_add(&world.segment.header->next_process, 1,
					    __ATOMIC_RELAXED);
	struct process_slot *slot = segment_slot(&world.segment, TABLE_PROCESSES, index), copy;

	must(slot && slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
	copy.serial = segment_serial(&world.segment);
	copy.pid = pid;
	copy.state = state;
	copy.starter_index = starter_index;
	copy.time_ns = sys_boottime_ns() - age_ns;
	copy.context = *of;
	copy.context.process_ns = process_pid_ns();
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	return copy.serial;
}

#define ASSERT_ANSWER(answer, reason_, verdict_, error_) \
	do { \
		struct guard_answer got = (answer); \
		cr_assert_eq(got.reason, reason_, "reason %d", (int)got.reason); \
		cr_assert_eq(got.verdict, verdict_, "verdict %d", (int)got.verdict); \
		cr_assert_eq(got.error, error_, "error %d", got.error); \
	} while (0)

#define ASSERT_PASSES(answer, reason) ASSERT_ANSWER(answer, reason, GUARD_PASS, 0)

#endif

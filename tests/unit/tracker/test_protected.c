/* protected.h: files that a rule denies, by whichever name. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "support.h"
#include "tracker/guard/protected.h"
#include "tracker/process/subject.h"

static struct world world;
static struct rule_program program;

/* Rule 0: secrets are not read; rule 1: *.key is not written; rule 2 logs. */
static void start(void)
{
	world_open(&world, "rule secret.op=read", "rule secret.path=secret*",
		   "rule secret.action=deny", "rule key.op=write", "rule key.path=*.key",
		   "rule key.action=deny", "rule seen.op=read", NULL);
	rule_program(&world.segment, "/usr/bin/tool", "tool", &program);
	world_fill(&world, "secret", 100, 1);
	world_fill(&world, "plain", 100, 1);
	must(mkdir(world_path(&world, "directory"), 0700) == 0);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(protected, .init = start, .fini = stop);

static int open_name(const char *name, int flags)
{
	int fd = open(world_path(&world, name), flags | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

/* Notes what a name stands for as meant by these rules. */
static int note(const char *name, uint64_t rules)
{
	struct stat stat;
	int fd = open_name(name, O_RDONLY);
	uint64_t creation = subject_creation_ns(SUBJECT_SELF, fd);

	must(fstat(fd, &stat) == 0 && close(fd) == 0);
	return protected_note(&world.segment, &stat, creation, rules);
}

/* Is that denied?  ret_path: what the kernel has for it; may be NULL. */
static bool denies(int fd, uint32_t ops, bool has_path, struct rule_answer *ret_answer)
{
	struct protected_question question = {
		.program = &program, .ops = ops, .fd = fd, .has_path = has_path
	};
	char path[SEGMENT_PATH_BYTES];
	return protected_judge(&world.segment, &question, path, ret_answer);
}

#define ASSERT_DENIES(name, ops, has_path, expected) \
	do { \
		struct rule_answer answer_; \
		int fd_ = open_name(name, O_RDONLY); \
		cr_assert_eq(denies(fd_, ops, has_path, &answer_), expected); \
		(void)close(fd_); \
	} while (0)

Test(protected, by_its_number)
{
	must(link(world_path(&world, "secret"), world_path(&world, "other")) == 0);
	ASSERT_DENIES("other", RULE_READ, false, false); /* nothing is on record */
	cr_assert_eq(note("secret", 1), 0);
	ASSERT_DENIES("other", RULE_READ, false, true);
	ASSERT_DENIES("other", RULE_WRITE, false, false); /* the rule is of reading */
	ASSERT_DENIES("plain", RULE_READ, false, false);
	/* Another name is a way to read it. */
	ASSERT_DENIES("other", RULE_LINK, false, true);
	ASSERT_DENIES("other", RULE_RENAME, false, true);
	ASSERT_DENIES("other", RULE_RENAME | RULE_CREATE, false, false);
	cr_assert_eq(note("other", 2), 0);
	ASSERT_DENIES("secret", RULE_WRITE, false, true);
	protected_clear(&world.segment);
	ASSERT_DENIES("secret", RULE_READ, false, false);
}

Test(protected, by_the_kernels_path)
{
	struct rule_answer answer;

	ASSERT_DENIES("secret", RULE_READ, true, true);
	ASSERT_DENIES("secret", RULE_READ, false, false);
	ASSERT_DENIES("plain", RULE_READ, true, false); /* a rule that logs is no matter of files */
	cr_assert_eq(note("plain", 2), 0);
	ASSERT_DENIES("plain", RULE_READ, true, false);
	/* What has no path. */
	int pipes[2];
	must(pipe(pipes) == 0);
	cr_assert(!denies(pipes[0], RULE_READ, true, &answer));
	cr_assert(!denies(1023, RULE_READ, true, &answer));
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	int fd = memfd_create("secret", MFD_CLOEXEC);
	must(fd >= 0);
	cr_assert(!denies(fd, RULE_READ, true, &answer));
	(void)close(fd);
}

/* A path that is longer than the kernel tells: the file's number is known all the same. */
Test(protected, a_path_without_end)
{
	char name[201];
	int at = open(world.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(at >= 0);
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 24; i++) {
		must(mkdirat(at, name, 0700) == 0);
		int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(below >= 0 && close(at) == 0);
		at = below;
	}
	must(linkat(AT_FDCWD, world_path(&world, "secret"), at, "secret", 0) == 0);
	int fd = openat(at, "secret", O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	/* The only name of it that is left. */
	must(unlink(world_path(&world, "secret")) == 0);
	struct rule_answer answer;
	cr_assert(!denies(fd, RULE_READ, true, &answer));
	struct stat stat;
	must(fstat(fd, &stat) == 0);
	must(protected_note(&world.segment, &stat, subject_creation_ns(SUBJECT_SELF, fd), 1) == 0);
	cr_assert(denies(fd, RULE_READ, true, &answer));
	must(close(fd) == 0 && close(at) == 0);
}

Test(protected, directories)
{
	must(mkdir(world_path(&world, "secrets"), 0700) == 0);
	ASSERT_DENIES("secrets", RULE_READ, true, false); /* its files are asked about */
	ASSERT_DENIES("secrets", RULE_RENAME, true, true);
	ASSERT_DENIES("directory", RULE_RENAME, true, false);
}

/* A number that was given to another file since. */
Test(protected, a_number_given_anew)
{
	struct stat stat;

	must(lstat(world_path(&world, "plain"), &stat) == 0);
	cr_assert_eq(protected_note(&world.segment, &stat, 1, 1), 0);
	ASSERT_DENIES("plain", RULE_READ, false, false);
	cr_assert_eq(note("plain", 2), 0);
	ASSERT_DENIES("plain", RULE_READ, false, false); /* nor the rules of the one before */
	ASSERT_DENIES("plain", RULE_WRITE, false, true);
}

Test(protected, many)
{
	struct stat stat = { .st_dev = 7, .st_mode = S_IFREG };
	uint64_t capacity = world.segment.capacity[TABLE_PROTECTED], noted = 0;
	int error = 0;

	cr_assert_eq(note("secret", 1), 0);
	for (stat.st_ino = 1; stat.st_ino <= 4 * capacity; stat.st_ino++) {
		error = protected_note(&world.segment, &stat, 0, 1);
		noted += error == 0;
	}
	cr_assert_eq(error, -ENOSPC);
	cr_assert_gt(noted, capacity / 2);
	ASSERT_DENIES("secret", RULE_READ, false, true);
	ASSERT_DENIES("plain", RULE_READ, false, false);
	/* What a process that died had claimed is passed over. */
	for (uint64_t i = 0; i < capacity; i++) {
		struct protected_slot *slot = segment_slot(&world.segment, TABLE_PROTECTED, i);
		slot->state = PROTECTED_CLAIMED;
	}
	ASSERT_DENIES("secret", RULE_READ, false, false);
	cr_assert_eq(note("plain", 1), -ENOSPC);
}

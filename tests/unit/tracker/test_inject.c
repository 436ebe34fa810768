/* inject.h: what is put before a viewer's file, and when nothing is. */
#include <criterion/criterion.h>
#include <signal.h>

#include "support.h"
#include "tracker/answer/inject.h"

static struct world world;
static uint64_t scope;
static struct request request;
static struct inject inject;

static const char HEADER[] = "[Loaded from ./AGENTS.md]\n";
static const char END[] =
	"[End of instruction files. (Here begins the file, seen-0011223344556677)]\n";

static void start(void)
{
	world_open(&world, "context.inject=viewers", NULL);
	scope = world_scope(&world, "a");
	request = world_request(&world, scope);
	memset(&inject, 0, sizeof(inject));
	world_fill(&world, "f", 1000, 1);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(inject, .init = start, .fini = stop);

static uint32_t text_of(const char *path, void *data)
{
	(void)data;
	return (uint32_t)strlen(path);
}

/* Views a file.  Returns the descriptor or the error; ret_before_bytes as inject_file(). */
static int view_with(const char *name, const char *notice, const struct version *version,
		     uint64_t *ret_before_bytes)
{
	struct stat stat;
	const char *path = world_path(&world, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &stat) == 0);
	const struct inject_rest tail = { .path = path,
					  .stat = &stat,
					  .fd = fd,
					  .bytes = notice ? strlen(notice) : (uint64_t)stat.st_size,
					  .notice = notice,
					  .version = version };
	int readable = inject_file(&world.segment, &request, &tail, text_of, NULL, &inject,
				   ret_before_bytes);
	(void)close(fd);
	return readable;
}

static int view(const char *name)
{
	uint64_t before_bytes;
	int fd = view_with(name, NULL, NULL, &before_bytes);
	if (fd >= 0)
		(void)close(fd);
	return fd < 0 ? fd : 0;
}

static void instructions(const char *name, const char *bytes)
{
	write_path(world_path(&world, name), bytes, strlen(bytes));
}

Test(inject, before_the_file)
{
	char found[4096], file[1000];
	uint64_t before_bytes = 0;

	instructions("AGENTS.md", "no newline");
	int fd = view_with("f", NULL, NULL, &before_bytes);
	cr_assert_geq(fd, 0);
	ssize_t got = read(fd, found, sizeof(found));
	cr_assert_eq(before_bytes, sizeof(HEADER) - 1 + 11 + sizeof(END) - 1);
	cr_assert_eq(got, (ssize_t)before_bytes + 1000);
	cr_expect_eq(memcmp(found, HEADER, sizeof(HEADER) - 1), 0);
	cr_expect_eq(memcmp(found + sizeof(HEADER) - 1, "no newline\n", 11), 0);
	cr_expect_eq(memcmp(found + sizeof(HEADER) - 1 + 11, END, sizeof(END) - 1), 0);
	int plain = open(world_path(&world, "f"), O_RDONLY);
	cr_assert_eq(read(plain, file, sizeof(file)), 1000);
	cr_expect_eq(memcmp(found + before_bytes, file, 1000), 0);
	cr_expect_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_expect_eq(inject.count, 1);
	cr_expect_eq(inject.files[0].text, strlen(world_path(&world, "AGENTS.md")));
	(void)close(fd);
	(void)close(plain);
}

Test(inject, before_a_notice)
{
	char found[4096] = "";
	uint64_t before_bytes = 0;

	instructions("AGENTS.md", "x\n");
	int fd = view_with("f", "[notice]\n", NULL, &before_bytes);
	cr_assert_geq(fd, 0);
	ssize_t got = read(fd, found, sizeof(found) - 1);
	cr_expect_eq(got, (ssize_t)before_bytes + 9);
	cr_expect_str_eq(found + before_bytes, "[notice]\n");
	(void)close(fd);
}

Test(inject, given_once_it_went_out)
{
	instructions("AGENTS.md", "x\n");
	cr_expect_eq(view("f"), 0);
	/* not given yet: the next process is given it as well, this one not twice */
	cr_expect_eq(view("f"), -ENOENT);
	struct inject first = inject;
	memset(&inject, 0, sizeof(inject));
	cr_expect_eq(view("f"), 0);
	cr_expect(inject_given(&world.segment, &first, 0));
	memset(&inject, 0, sizeof(inject));
	cr_expect_eq(view("f"), -ENOENT);
	cr_expect_eq(inject.count, 0);
}

Test(inject, what_the_process_views_itself)
{
	instructions("AGENTS.md", "x\n");
	instructions("CLAUDE.md", "y\n");
	cr_expect_eq(view("AGENTS.md"), 0);
	cr_expect_eq(inject.count, 1);
	cr_expect_eq(inject.files[0].text, strlen(world_path(&world, "CLAUDE.md")));
	cr_expect_eq(view("f"), -ENOENT);
}

Test(inject, only_for_a_viewer_at_the_capture_that_may_be_answered)
{
	struct request before = request;

	instructions("AGENTS.md", "x\n");
	request.at_sink = false;
	cr_expect_eq(view("f"), -ENOENT);
	request = before;
	request.is_viewer = false;
	cr_expect_eq(view("f"), -ENOENT);
	request = before;
	request.number = 0;
	cr_expect_eq(view("f"), -ENOENT);
	request = before;
	request.command_id = 0;
	cr_expect_eq(view("f"), -ENOENT);
	request = before;
	request.context.scope_id = 12345;
	cr_expect_eq(view("f"), -ENOENT);
	request = before;
	world.settings->context_inject = CONTEXT_INJECT_OFF;
	cr_expect_eq(view("f"), -ENOENT);
	world.settings->context_inject = CONTEXT_INJECT_VIEWERS;
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	cr_expect_eq(view("f"), -ENOENT);
	world.settings->session_mode = SESSION_MODE_SUBSTITUTE;
	cr_expect_eq(view("f"), 0);
}

Test(inject, as_much_as_the_command_has_room_for)
{
	const size_t frame = sizeof(HEADER) - 1 + sizeof(END) - 1;
	/* a newline at the end is counted whether it is needed or not */
	const size_t room = 24000 - frame - 1;

	instructions("AGENTS.md", "four");
	world_fill(&world, "fits", room - 4, 1);
	world_fill(&world, "too-much", room - 3, 1);
	cr_expect_eq(view("too-much"), -ENOENT);
	cr_expect_eq(view("fits"), 0);
	memset(&inject, 0, sizeof(inject));
	sends(&world.segment, request.command_id, 1);
	cr_expect_eq(view("fits"), -ENOENT);
}

Test(inject, what_does_not_fit_is_left_out_alone)
{
	instructions("CLAUDE.md", "y\n");
	world_fill(&world, "AGENTS.md", 24000, 1);
	cr_expect_eq(view("f"), 0);
	cr_expect_eq(inject.count, 1);
	cr_expect_eq(inject.files[0].text, strlen(world_path(&world, "CLAUDE.md")));
}

Test(inject, nothing_without_the_nonce)
{
	instructions("AGENTS.md", "x\n");
	world.segment.header->nonce[0] = '\0';
	cr_expect_eq(view("f"), -EINVAL);
	cr_expect_eq(inject.count, 0);
}

Test(inject, the_tail_is_what_it_was_said_to_be)
{
	const struct version other = { 1, 2, 1000 };
	uint64_t before_bytes;

	instructions("AGENTS.md", "x\n");
	cr_expect_eq(view_with("f", NULL, &other, &before_bytes), -ESTALE);
	cr_expect_eq(inject.count, 0);
}

/* Another process writes to it all the time, in place. */
static pid_t start_writer(const char *path)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid != 0)
		return pid;
	char bytes[2][9000];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	memset(bytes[0], 'a', sizeof(bytes[0]));
	memset(bytes[1], 'b', sizeof(bytes[1]));
	for (unsigned i = 0; getppid() != 1; i++)
		if (pwrite(fd, bytes[i % 2], sizeof(bytes[0]), 0) < 0)
			break;
	_exit(0);
}

Test(inject, in_the_version_that_is_noted)
{
	static char found[24000];
	unsigned given = 0, changed = 0;

	world_fill(&world, "AGENTS.md", 9000, 1);
	pid_t writer = start_writer(world_path(&world, "AGENTS.md"));
	for (int i = 0; i < 20000 && (given < 200 || changed < 20); i++) {
		uint64_t before_bytes;
		memset(&inject, 0, sizeof(inject));
		int fd = view_with("f", NULL, NULL, &before_bytes);
		changed += fd == -ESTALE;
		if (fd < 0)
			continue;
		cr_assert_geq(read(fd, found, sizeof(found)), 9000);
		(void)close(fd);
		struct version version = version_of_bytes(found + sizeof(HEADER) - 1, 9000);
		cr_assert_eq(inject.count, 1);
		cr_assert(version_equal(&version, &inject.files[0].version));
		given++;
	}
	(void)kill(writer, SIGKILL);
	(void)waitpid(writer, NULL, 0);
	cr_expect_gt(given, 0);
}

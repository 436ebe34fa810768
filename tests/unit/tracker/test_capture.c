/* capture.h: what may be a capture, what is still the same one, and what one command sent. */
#include <criterion/criterion.h>
#include <pty.h>
#include <sys/socket.h>

#include "support.h"
#include "tracker/process/identity.h"

static struct world world;
static uint64_t scope;

/* Of an agent whose profile names a spool file. */
static uint32_t profile;

static void start(void)
{
	world_open(&world, "agent mine.spool=/**/spool*", NULL);
	profile = (uint32_t)world.settings->profile_count;
	scope = scope_id_of(7, "a");
	must(scope_claim(&world.segment, scope, NULL, (uint32_t)getpid(), profile, "a") != NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(capture, .init = start, .fini = stop);

/* Inside, with the agent's and the root's outputs known and different from all that is tested. */
static struct context inside(void)
{
	return (struct context){
		.flags = CONTEXT_ATTACHED | CONTEXT_AGENT | CONTEXT_AGENT_OUT | CONTEXT_ROOT_OUT,
		.scope_id = scope,
		.profile = profile,
		.root_out = { 1, 2, 3 },
		.agent_out = { { 4, 5, 6 }, { 7, 8, 9 } },
	};
}

static struct context external(bool said)
{
	return (struct context){
		.flags = CONTEXT_ATTACHED | CONTEXT_EXTERNAL_AGENT |
			 (said ? CONTEXT_EXTERNAL_DECLARED : 0),
		.scope_id = scope,
	};
}

/* Descriptors are swapped in a child: what the test body says returns there. */
static int body(void *data)
{
	return ((int (*)(void))(uintptr_t)data)();
}
#define IN_CHILD(function) cr_assert_eq(in_child(body, (void *)(uintptr_t)(function)), 0)

static void stdout_is(int fd)
{
	must(fd >= 0 && dup2(fd, 1) == 1);
}

static uint64_t claim(struct context context)
{
	return capture_claim(&world.segment, SUBJECT_SELF, &context, false);
}

/* Which of inside, external, declared external claim descriptor 1: bits 1, 2, 4. */
static unsigned takers(void)
{
	return (claim(inside()) ? 1 : 0) | (claim(external(false)) ? 2 : 0) |
	       (claim(external(true)) ? 4 : 0);
}

static int kinds(void)
{
	int pipes[2], sockets[2], master, slave;
	char spool[160];

	must(pipe(pipes) == 0);
	stdout_is(pipes[1]);
	must(takers() == (1 | 4));
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	stdout_is(sockets[0]);
	must(takers() == (1 | 4));
	must(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	stdout_is(slave);
	must(takers() == (1 | 2 | 4));
	stdout_is(open("/dev/null", O_WRONLY));
	must(takers() == 0);
	stdout_is(open("/dev/full", O_WRONLY));
	must(takers() == 0);
	stdout_is(open("/dev/zero", O_WRONLY));
	must(takers() == 0);
	(void)snprintf(spool, sizeof(spool), "%s/spool", world.root);
	stdout_is(open(spool, O_WRONLY | O_CREAT | O_APPEND, 0600));
	must(takers() == 1);
	stdout_is(open(spool, O_WRONLY));
	must(takers() == 0); /* not O_APPEND */
	stdout_is(open(spool, O_WRONLY | O_APPEND));
	profile--; /* of another agent */
	must(takers() == 0);
	profile++;
	must(unlink(spool) == 0);
	must(takers() == 1); /* who has it open has it alone */
	(void)snprintf(spool, sizeof(spool), "%s/log", world.root);
	stdout_is(open(spool, O_WRONLY | O_CREAT | O_APPEND, 0600));
	must(takers() == 0); /* kept */
	(void)snprintf(spool, sizeof(spool), "%s/fifo", world.root);
	must(mkfifo(spool, 0600) == 0);
	stdout_is(open(spool, O_RDWR));
	must(takers() == 4);
	stdout_is(open(world_path(&world, "spool"), O_WRONLY | O_CREAT | O_APPEND, 0600));
	must(takers() == 0); /* inside the workspace */
	stdout_is(open(world.root, O_RDONLY | O_DIRECTORY));
	must(takers() == 0);
	must(close(1) == 0);
	must(takers() == 0);
	return 0;
}

Test(capture, kinds)
{
	IN_CHILD(kinds);
}

static int own_outputs(void)
{
	int pipes[2];
	struct stat stat_;
	struct context context;

	must(pipe(pipes) == 0);
	stdout_is(pipes[1]);
	must(fstat(1, &stat_) == 0);
	struct identity own = identity_of(&stat_);
	must(claim(inside()) != 0);
	context = inside(), context.agent_out[0] = own;
	must(claim(context) == 0);
	context = inside(), context.agent_out[1] = own;
	must(claim(context) == 0);
	context = inside(), context.root_out = own;
	must(claim(context) == 0);
	context = inside(), context.flags &= ~(uint32_t)CONTEXT_AGENT_OUT;
	must(claim(context) == 0); /* cannot be told apart */
	context = inside(), context.flags &= ~(uint32_t)CONTEXT_ROOT_OUT;
	must(claim(context) == 0);
	context = external(true), context.root_out = own, context.flags |= CONTEXT_ROOT_OUT;
	must(claim(context) != 0); /* there the root's own output is the capture */
	return 0;
}

Test(capture, never_the_agents_own_nor_the_roots)
{
	IN_CHILD(own_outputs);
}

static int sink(void)
{
	int pipes[2], others[2];

	must(pipe(pipes) == 0 && pipe(others) == 0);
	stdout_is(pipes[1]);
	uint64_t id = claim(inside());
	must(id != 0);
	must(capture_is_sink(&world.segment, SUBJECT_SELF, id));
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, 0));
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id + 1));
	must(!capture_is_sink(&world.segment, SUBJECT_SELF,
			      id + world.segment.capacity[TABLE_CAPTURES]));
	stdout_is(others[1]); /* cat a | wc */
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	stdout_is(open("/dev/null", O_WRONLY));
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	must(close(1) == 0);
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	stdout_is(pipes[1]);
	must(capture_is_sink(&world.segment, SUBJECT_SELF, id));
	struct capture_slot *slot = segment_slot(&world.segment, TABLE_CAPTURES,
						 id % world.segment.capacity[TABLE_CAPTURES]);
	slot->identity.dev ^= 1; /* damaged */
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	slot->identity.dev ^= 1;
	must(capture_is_sink(&world.segment, SUBJECT_SELF, id));
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_CAPTURES]; i++)
		(void)claim(inside()); /* pushes it out of the table */
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	return 0;
}

Test(capture, sink_is_by_identity)
{
	IN_CHILD(sink);
}

static int spool(void)
{
	char path[160], other[160];
	struct stat before, after;

	(void)snprintf(path, sizeof(path), "%s/spool", world.root);
	(void)snprintf(other, sizeof(other), "%s/w/spool", world.root);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	stdout_is(fd);
	uint64_t id = claim(inside());
	must(id != 0 && capture_is_sink(&world.segment, SUBJECT_SELF, id));
	stdout_is(
		open(path,
		     O_WRONLY)); /* the same file, not appending: `> spool` by the command itself */
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	stdout_is(fd);
	must(rename(path, other) == 0); /* into the workspace */
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	must(rename(other, path) == 0);
	must(capture_is_sink(&world.segment, SUBJECT_SELF, id));
	must(fstat(1, &before) == 0 && unlink(path) == 0);
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
	/* The inode's number may be reused at once: another file all the same. */
	must(close(fd) == 0 && close(1) == 0);
	for (int i = 0; i < 50; i++) {
		(void)snprintf(path, sizeof(path), "%s/spool%d", world.root, i);
		stdout_is(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600));
		must(fstat(1, &after) == 0);
		must(!capture_is_sink(&world.segment, SUBJECT_SELF, id));
		if (after.st_ino == before.st_ino)
			break;
	}
	return 0;
}

Test(capture, spool_files)
{
	IN_CHILD(spool);
}

static int commands(void)
{
	int pipes[2];
	must(pipe(pipes) == 0);
	stdout_is(pipes[1]);
	struct context context = inside();
	uint64_t id = capture_claim(&world.segment, SUBJECT_SELF, &context, false);
	uint64_t command = capture_command(&world.segment, id);
	must(command != 0 && capture_command(&world.segment, id) == command);
	struct command_slot *slot = segment_slot(&world.segment, TABLE_COMMANDS,
						 command % world.segment.capacity[TABLE_COMMANDS]);
	slot->last_ns -= 5000000000u;
	must(capture_command(&world.segment, id) == command); /* -c: one command however long */

	uint64_t lasting = capture_claim(&world.segment, SUBJECT_SELF, &context, true);
	uint64_t first = capture_command(&world.segment, lasting);
	must(first != 0 && first != command && capture_command(&world.segment, lasting) == first);
	slot = segment_slot(&world.segment, TABLE_COMMANDS,
			    first % world.segment.capacity[TABLE_COMMANDS]);
	slot->last_ns -= 900000000u;
	must(capture_command(&world.segment, lasting) == first); /* less than a second apart */
	slot->last_ns -= 1000000000u;
	uint64_t second = capture_command(&world.segment, lasting);
	must(second != 0 && second != first);
	must(capture_command(&world.segment, 0) == 0);
	must(capture_command(&world.segment, lasting + 1) == 0);

	for (uint64_t i = 0; i < world.segment.capacity[TABLE_COMMANDS]; i++)
		(void)world_command(&world);
	must(capture_command(&world.segment, id) == 0); /* what it sent is unknown */
	must(capture_command(&world.segment, lasting) > second);
	return 0;
}

Test(capture, commands)
{
	IN_CHILD(commands);
}

Test(capture, command_limit_exactly_and_one_beyond)
{
	uint64_t command = world_command(&world);
	cr_assert(bytes_within(&world.segment, command, 0));
	sends(&world.segment, command, 60);
	sends(&world.segment, command, 40);
	cr_assert(bytes_within(&world.segment, command, 100));
	cr_assert(!bytes_within(&world.segment, command, 99));
	cr_assert(!bytes_within(&world.segment, 0, 100));
	sends(&world.segment, 0, 100);
	cr_assert(!bytes_within(&world.segment, command + 1, 100));
	cr_assert(!bytes_within(&world.segment, command + world.segment.capacity[TABLE_COMMANDS],
				100));
}

/* What a shell and the children that it waited for wrote is known from the kernel.  Each of these
 * is a fresh process, which has written nothing yet. */
static void spend(size_t bytes)
{
	static char text[4096];
	must(bytes <= sizeof(text) && write(1, text, bytes) == (ssize_t)bytes);
}

static int spend_100(void *unused)
{
	(void)unused;
	spend(100);
	return 0;
}

static bool is_counted(uint64_t capture)
{
	struct capture_slot *slot = segment_slot(&world.segment, TABLE_CAPTURES,
						 capture % world.segment.capacity[TABLE_CAPTURES]);
	return slot->measured;
}

static int measured(void)
{
	int pipes[2];
	must(pipe(pipes) == 0);
	stdout_is(pipes[1]);
	struct context context = inside();
	uint64_t id = capture_claim(&world.segment, SUBJECT_SELF, &context, false),
		 command = capture_command(&world.segment, id);
	must(capture_shell(&world.segment, id) == (uint32_t)getpid() &&
	     capture_shell(&world.segment, id + 1) == 0);
	if (!is_counted(id))
		return 77; /* this kernel does not say */
	spend(1000);
	must(in_child(spend_100, NULL) == 0);
	must(bytes_within_so_far(&world.segment, id, command, 1100));
	must(!bytes_within_so_far(&world.segment, id, command, 1099));
	must(!bytes_within(&world.segment, command, 24000)); /* while it runs, that is unknown */
	capture_finish(&world.segment, SUBJECT_SELF, id);
	must(bytes_within(&world.segment, command, 1100));
	must(!bytes_within(&world.segment, command, 1099));
	sends(&world.segment, command, 1101); /* a viewer that it did not wait for */
	must(!bytes_within(&world.segment, command, 1100));
	capture_finish(&world.segment, SUBJECT_SELF, 0);
	capture_finish(&world.segment, SUBJECT_SELF, id + 1);
	return 0;
}

/* Lines and their length, too: with what others than viewers wrote, of which each byte may be a
 * line. */
Test(capture, command_within_lines)
{
	uint64_t command = world_command(&world);
	struct command_slot *slot = segment_slot(&world.segment, TABLE_COMMANDS,
						 command % world.segment.capacity[TABLE_COMMANDS]);
	struct output_limits limits = { .bytes = 1000, .lines = 10, .line_bytes = 50 };
	struct shape shape = { .bytes = 100, .newlines = 10, .longest = 50 };

	command_add(&world.segment, command, NULL, &shape);
	cr_assert(command_within(&world.segment, command, &limits));
	limits.lines = 9;
	cr_assert(!command_within(&world.segment, command, &limits));
	limits.lines = 10;
	limits.line_bytes = 49;
	cr_assert(!command_within(&world.segment, command, &limits));
	limits.line_bytes = 50;
	slot->measured = 1;
	slot->total_bytes = 100;
	cr_assert(command_within(&world.segment, command, &limits));
	slot->total_bytes = 101;
	cr_assert(!command_within(&world.segment, command, &limits));
	limits.lines = 11;
	cr_assert(!command_within(&world.segment, command, &limits), "joined to the longest");
	limits.line_bytes = 51;
	cr_assert(command_within(&world.segment, command, &limits));
	slot->total_bytes = COMMAND_OPEN;
	cr_assert(!command_within(&world.segment, command, BYTES(UINT64_MAX)), "not ended");
	/* two viewers: the first line of one behind the last of the other */
	slot->measured = 0;
	struct shape open = { .bytes = 3, .newlines = 0, .longest = 3, .open_bytes = 3 };
	command_add(&world.segment, command, NULL, &open);
	limits = (struct output_limits){ .bytes = 1000, .lines = 11, .line_bytes = 53 };
	cr_assert(command_within(&world.segment, command, &limits));
	limits.line_bytes = 52;
	cr_assert(!command_within(&world.segment, command, &limits));
	command_remove(&world.segment, command, &open);
	limits.lines = 10;
	cr_assert(command_within(&world.segment, command, &limits));
}

Test(capture, measured_exactly_and_one_beyond)
{
	int status = in_child(body, (void *)(uintptr_t)measured);
	cr_assert(status == 0 || status == 77, "%d", status);
}

static int measured_spool(void)
{
	char path[160];
	(void)snprintf(path, sizeof(path), "%s/spool", world.root);
	stdout_is(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600));
	spend(500); /* by the command before */
	struct context context = inside();
	uint64_t id = capture_claim(&world.segment, SUBJECT_SELF, &context, false),
		 command = capture_command(&world.segment, id);
	if (!is_counted(id))
		return 77;
	spend(300);
	pid_t background = fork(); /* not waited for, and seen all the same */
	if (background == 0) {
		spend(100);
		_exit(0);
	}
	siginfo_t info;
	must(waitid(P_PID, (id_t)background, &info, WEXITED | WNOWAIT) == 0);
	capture_finish(&world.segment, SUBJECT_SELF, id);
	must(bytes_within(&world.segment, command, 400));
	must(!bytes_within(&world.segment, command, 399));
	return 0;
}

Test(capture, measured_by_a_spool_files_growth)
{
	int status = in_child(body, (void *)(uintptr_t)measured_spool);
	cr_assert(status == 0 || status == 77, "%d", status);
}

static int measured_lasting(void)
{
	int pipes[2];
	must(pipe(pipes) == 0);
	stdout_is(pipes[1]);
	struct context context = inside();
	uint64_t id = capture_claim(&world.segment, SUBJECT_SELF, &context, true);
	if (!is_counted(id))
		return 77;
	uint64_t first = capture_command(&world.segment, id);
	spend(700);
	must(!bytes_within(&world.segment, first, 24000));
	struct command_slot *slot = segment_slot(&world.segment, TABLE_COMMANDS,
						 first % world.segment.capacity[TABLE_COMMANDS]);
	slot->last_ns -= 2000000000u;
	uint64_t second = capture_command(&world.segment, id); /* closes the one before */
	must(second != first && bytes_within(&world.segment, first, 700) &&
	     !bytes_within(&world.segment, first, 699));
	spend(50);
	must(bytes_within_so_far(&world.segment, id, second, 50));
	must(!bytes_within_so_far(&world.segment, id, second, 49));
	capture_finish(&world.segment, SUBJECT_SELF, id);
	must(bytes_within(&world.segment, second, 50) && !bytes_within(&world.segment, second, 49));
	return 0;
}

Test(capture, measured_in_a_long_lived_shell)
{
	int status = in_child(body, (void *)(uintptr_t)measured_lasting);
	cr_assert(status == 0 || status == 77, "%d", status);
}

static int two_names(void)
{
	char path[160], other[160];
	(void)snprintf(path, sizeof(path), "%s/spool", world.root);
	(void)snprintf(other, sizeof(other), "%s/w/other", world.root);
	stdout_is(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600));
	must(claim(inside()) != 0);
	must(link(path, other) == 0); /* a name inside the workspace */
	must(claim(inside()) == 0);
	return 0;
}

Test(capture, what_is_counted_by_a_command)
{
	const uint64_t capacity = world.segment.capacity[TABLE_COMMANDS];
	struct command_slot *slot = segment_slot(&world.segment, TABLE_COMMANDS, 7 % capacity),
			    *none = segment_slot(&world.segment, TABLE_COMMANDS, 0);

	command_reader(&world.segment, 7, 1);
	command_reader(&world.segment, 7, 1);
	cr_assert_eq(slot->running, 2);
	command_reader(&world.segment, 7, -1);
	cr_assert_eq(slot->running, 1);
	command_reader(&world.segment, 0, 1); /* of no command */
	cr_assert_eq(none->running, 0);
	command_aside(&world.segment, 7, 100);
	command_aside(&world.segment, 7, 10);
	command_aside(&world.segment, 0, 1);
	cr_assert_eq(slot->base_bytes, 110);
	cr_assert_eq(none->base_bytes, 0);
}

Test(capture, a_spool_file_has_one_name)
{
	IN_CHILD(two_names);
}

Test(capture, identity)
{
	struct identity a = { 1, 2, 3 };
	for (int part = 0; part < 3; part++) {
		struct identity b = a;
		((uint64_t *)&b)[part]++;
		cr_assert(!identity_equal(&a, &b));
	}
	cr_assert(identity_equal(&a, &a));
}

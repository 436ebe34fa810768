/* scope.h: who shares what, numbers, epochs, a full table. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "tracker/process/kernel_status.h"

static struct world world;

static void start(void)
{
	world_open(&world, "session.scopes=16", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(scope, .init = start, .fini = stop);

Test(scope, ids_differ_by_agent_and_by_name)
{
	cr_assert_neq(scope_id_of(1, NULL), scope_id_of(2, NULL));
	cr_assert_neq(scope_id_of(1, "a"), scope_id_of(1, "b"));
	cr_assert_neq(scope_id_of(1, "a"), scope_id_of(1, NULL));
	cr_assert_eq(scope_id_of(1, "a"), scope_id_of(1, "a"));
	cr_assert_eq(scope_id_of(0, NULL), scope_id_of(0, ""));
	cr_assert_neq(scope_id_of(0, NULL), 0);
}

Test(scope, unknown)
{
	cr_assert_null(scope_find(&world.segment, 99));
	cr_assert_null(scope_find(&world.segment, 0));
	cr_assert_eq(scope_request(&world.segment, 99), 0);
	cr_assert_eq(scope_epoch(&world.segment, 99), 0);
	cr_assert_eq(scope_new_epoch(&world.segment, 99), -ENOENT);
}

Test(scope, requests_are_numbered_from_one)
{
	uint64_t id = world_scope(&world, "a");
	cr_assert_eq(scope_request(&world.segment, id), 1);
	cr_assert_eq(scope_request(&world.segment, id), 2);
}

Test(scope, claimed_again_is_the_same)
{
	uint64_t id = world_scope(&world, "a");
	uint64_t epoch = scope_epoch(&world.segment, id);
	cr_assert_eq(scope_request(&world.segment, id), 1);
	(void)world_scope(&world, "a");
	cr_assert_eq(scope_epoch(&world.segment, id), epoch);
	cr_assert_eq(scope_request(&world.segment, id), 2);
}

Test(scope, new_epoch_is_another_and_only_its_own)
{
	uint64_t a = world_scope(&world, "a"), b = world_scope(&world, "b");
	uint64_t epoch_a = scope_epoch(&world.segment, a), epoch_b = scope_epoch(&world.segment, b);
	cr_assert_neq(epoch_a, epoch_b);
	cr_assert_eq(scope_new_epoch(&world.segment, a), 0);
	cr_assert_neq(scope_epoch(&world.segment, a), epoch_a);
	cr_assert_eq(scope_epoch(&world.segment, b), epoch_b);
}

Test(scope, while_there_are_sub_agents_nothing_counts)
{
	const struct segment *segment = &world.segment;
	uint64_t id = world_scope(&world, "a"), other = world_scope(&world, "b");
	uint64_t epoch = scope_epoch(segment, id), other_epoch = scope_epoch(segment, other);

	for (uint32_t count = 1; count <= 2; count++) {
		cr_assert_eq(scope_converse(segment, id, SCOPE_SUB_AGENT_BEGINS), 0);
		cr_assert_eq(scope_sub_agents(segment, id), count);
		cr_assert_eq(scope_epoch(segment, id), 0);
		cr_assert_eq(moment_now(segment, id, 1, 0, 0).scope_epoch, 0);
	}
	cr_assert_eq(scope_new_epoch(segment, id), 0);
	cr_assert_eq(scope_epoch(segment, id), 0);
	cr_assert_eq(scope_converse(segment, id, SCOPE_SUB_AGENT_ENDS), 0);
	cr_assert_eq(scope_epoch(segment, id), 0);
	cr_assert_eq(scope_converse(segment, id, SCOPE_SUB_AGENT_ENDS), 0);
	cr_assert_neq(scope_epoch(segment, id), 0);
	cr_assert_neq(scope_epoch(segment, id), epoch);
	/* One more than began is none less than none. */
	epoch = scope_epoch(segment, id);
	cr_assert_eq(scope_converse(segment, id, SCOPE_SUB_AGENT_ENDS), 0);
	cr_assert_eq(scope_sub_agents(segment, id), 0);
	cr_assert_neq(scope_epoch(segment, id), epoch);
	cr_assert_eq(scope_epoch(segment, other), other_epoch);
	cr_assert_eq(scope_sub_agents(segment, 99), 0);
	cr_assert_eq(scope_converse(segment, 99, SCOPE_SUB_AGENT_BEGINS), -ENOENT);
}

Test(scope, alone_again)
{
	uint64_t id = world_scope(&world, "a");
	for (int i = 0; i < 3; i++)
		cr_assert_eq(scope_converse(&world.segment, id, SCOPE_SUB_AGENT_BEGINS), 0);
	cr_assert_eq(scope_converse(&world.segment, id, SCOPE_ALONE), 0);
	cr_assert_eq(scope_sub_agents(&world.segment, id), 0);
	cr_assert_neq(scope_epoch(&world.segment, id), 0);
}

Test(scope, a_slot_given_to_another_has_no_sub_agents)
{
	char name[12];
	uint64_t id = 0;
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		id = world_scope(&world, name);
		cr_assert_eq(scope_sub_agents(&world.segment, id), 0);
		cr_assert_neq(scope_request(&world.segment, id), 0);
		cr_assert_eq(scope_converse(&world.segment, id, SCOPE_SUB_AGENT_BEGINS), 0);
	}
}

Test(scope, names_are_cut)
{
	struct scope_slot copy;
	uint64_t id = scope_id_of(1, "n");
	struct scope_slot *slot = scope_claim(
		&world.segment, id, NULL, 1, 2,
		"a name that is longer than the forty bytes there is room for");
	cr_assert_not_null(slot);
	cr_assert(slot_read(slot, &copy, SCOPE_CHECKED_BYTES));
	cr_assert_eq(strlen(copy.name), sizeof(copy.name) - 1);
	cr_assert_eq(copy.profile, 2);
}

/* Nothing counts in an interactive scope before `seen run` says that something does: also not at
 * its beginning. */
Test(scope, an_interactive_one_begins_mute)
{
	const uint32_t mute = SCOPE_INTERACTIVE | SCOPE_MUTE;
	const struct {
		enum context_run run;
		uint32_t profile, flags;
	} CASES[] = {
		{ CONTEXT_RUN_NONE, 0, 0 },           { CONTEXT_RUN_NONE, 1, 0 },
		{ CONTEXT_RUN_HEADLESS, 0, 0 },       { CONTEXT_RUN_HEADLESS, 1, 0 },
		{ CONTEXT_RUN_INTERACTIVE, 0, mute }, { CONTEXT_RUN_INTERACTIVE, 1, mute },
		{ CONTEXT_RUN_EXTERNAL, 0, 0 },       { CONTEXT_RUN_EXTERNAL, 1, mute },
	};
	for (unsigned i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		const struct context context = {
			.flags = (uint32_t)CASES[i].run << CONTEXT_RUN_KIND_SHIFT |
				 5U << CONTEXT_RUN_SHIFT,
		};
		uint64_t id = scope_id_of(1 + i, NULL);
		cr_assert_not_null(
			scope_claim(&world.segment, id, &context, 0, CASES[i].profile, NULL));
		cr_expect_eq(scope_flags(&world.segment, id), CASES[i].flags, "%u", i);
	}
}

/* A terminal of the agent's own counts in a run that has none. */
Test(scope, one_of_an_agent_at_a_terminal)
{
	const struct context headless = { .flags = CONTEXT_RUN_HEADLESS << CONTEXT_RUN_KIND_SHIFT },
			     none = { .flags = 0 };
	int master = posix_openpt(O_RDWR | O_NOCTTY), kept = dup(STDIN_FILENO);
	uint64_t id = scope_id_of(1, NULL), other = scope_id_of(2, NULL),
		 third = scope_id_of(3, NULL);

	must(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	must(slave >= 0 && dup2(slave, STDIN_FILENO) == STDIN_FILENO);
	(void)scope_claim(&world.segment, id, &headless, (uint32_t)getpid(), 1, NULL);
	(void)scope_claim(&world.segment, other, &headless, (uint32_t)getpid(), 0, NULL);
	(void)scope_claim(&world.segment, third, &none, (uint32_t)getpid(), 1, NULL);
	if (kept >= 0)
		(void)dup2(kept, STDIN_FILENO);
	cr_expect_eq(scope_flags(&world.segment, id), SCOPE_INTERACTIVE | SCOPE_MUTE);
	cr_expect_eq(scope_flags(&world.segment, other), 0);
	cr_expect_eq(scope_flags(&world.segment, third), SCOPE_INTERACTIVE);
}

static int is_at_a_console(void *data)
{
	static const char *const NAMES[] = { "/dev/tty", "/dev/tty1", "/dev/ttyS0" };
	uint64_t id = 10;

	(void)data;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/dev", "tmpfs", 0, NULL) < 0)
		return 77;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++, id++) {
		int fd = open(NAMES[i], O_RDWR | O_CREAT, 0600);
		must(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
		(void)scope_claim(&world.segment, id, &(struct context){ 0 }, (uint32_t)getpid(), 1,
				  NULL);
		must(scope_flags(&world.segment, id) == SCOPE_INTERACTIVE);
	}
	return 0;
}

/* Of one that is not in a window, by its name. */
Test(scope, one_of_an_agent_at_a_console)
{
	int status = in_child(is_at_a_console, NULL);

	if (status == 77)
		cr_skip_test("needs the right to mount");
	cr_assert_eq(status, 0);
}

Test(scope, full_table_gives_up_the_one_unused_for_longest)
{
	uint64_t ids[17], epoch = 0;
	char name[12];
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ids[i] = world_scope(&world, name);
		cr_assert_neq(scope_request(&world.segment, ids[i]), 0);
		if (i == 1)
			epoch = scope_epoch(&world.segment, ids[0]);
	}
	cr_assert_null(scope_find(&world.segment, ids[0]));
	for (int i = 1; i < 17; i++)
		cr_assert_not_null(scope_find(&world.segment, ids[i]), "scope %d", i);
	/* One that comes back never meets what it was given before. */
	(void)world_scope(&world, "0");
	cr_assert_neq(scope_epoch(&world.segment, ids[0]), epoch);
	cr_assert_neq(scope_epoch(&world.segment, ids[0]), 0);
}

/* A helper's scope: of an agent's process of that number, in this PID namespace or another one. */
static uint64_t claim_helpers(const char *name, pid_t pid, uint32_t pid_ns, uint64_t head)
{
	const struct context context = { .pid_ns = pid_ns };
	uint64_t id = scope_id_of(8, name);

	cr_assert_not_null(scope_claim(&world.segment, id, &context, (uint32_t)pid, 0, "helper"));
	scope_set_head(&world.segment, id, head);
	return id;
}

/* Takes slots, `count` of them, each used once.  Returns their scopes. */
static void fill(uint64_t *ret_ids, int count)
{
	char name[12];

	for (int i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ret_ids[i] = world_scope(&world, name);
		cr_assert_neq(scope_request(&world.segment, ret_ids[i]), 0);
	}
}

static pid_t ended(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	must(child > 0 && waitpid(child, NULL, 0) == child);
	return child;
}

Test(scope, a_helper_that_ended_is_given_up_first_in_a_slot_used_before)
{
	uint32_t pid_ns = process_pid_ns();
	uint64_t ids[16];

	fill(ids, 16);
	uint64_t dead = claim_helpers("dead", ended(), pid_ns, ids[15]);
	cr_assert_null(scope_find(&world.segment, ids[0]));
	uint64_t alive = claim_helpers("alive", getpid(), pid_ns, ids[15]);
	cr_assert_null(scope_find(&world.segment, dead));
	cr_assert_not_null(scope_find(&world.segment, ids[1]));
	/* Whether this one lives is not known here. */
	uint64_t elsewhere = claim_helpers("elsewhere", ended(), pid_ns + 1, ids[15]);
	cr_assert_null(scope_find(&world.segment, ids[1]));
	(void)world_scope(&world, "another");
	cr_assert_null(scope_find(&world.segment, ids[2]));
	cr_assert_eq(scope_head(&world.segment, alive), ids[15]);
	cr_assert_eq(scope_head(&world.segment, elsewhere), ids[15]);
}

/* A write of it would be of no known agent. */
Test(scope, a_helper_that_lives_is_not_given_up_for_having_asked_nothing)
{
	uint64_t ids[15];

	fill(ids, 15);
	uint64_t alive = claim_helpers("alive", getpid(), process_pid_ns(), ids[14]);
	(void)world_scope(&world, "another");
	cr_assert_eq(scope_head(&world.segment, alive), ids[14]);
	cr_assert_null(scope_find(&world.segment, ids[0]));
}

Test(scope, counts_are_its_own)
{
	struct scope_slot copy;
	struct scope_counts counts;
	uint64_t ids[17];

	for (int i = 0; i < 2; i++) {
		fill(ids, 17);
		for (int k = 1; k < 17; k++) {
			struct scope_slot *slot = scope_find(&world.segment, ids[k]);
			(void)__atomic_add_fetch(&slot->bytes_given, 100, __ATOMIC_RELAXED);
		}
	}
	uint64_t id = world_scope(&world, "another");
	struct scope_slot *slot = scope_find(&world.segment, id);
	cr_assert(slot_read(slot, &copy, SCOPE_CHECKED_BYTES));
	cr_assert(slot->requests > 0 && slot->bytes_given > 0);
	counts = scope_counts(slot, &copy);
	cr_assert_eq(counts.requests, 0);
	cr_assert_eq(counts.bytes_given, 0);
	cr_assert_neq(scope_request(&world.segment, id), 0);
	slot->bytes_given += 7;
	counts = scope_counts(slot, &copy);
	cr_assert_eq(counts.requests, 1);
	cr_assert_eq(counts.bytes_given, 7);
	slot->requests = 0;
	cr_assert_eq(scope_counts(slot, &copy).requests, 0);
}

Test(scope, damaged_slot_is_not_believed_and_another_is_had)
{
	uint64_t id = world_scope(&world, "a");
	struct scope_slot *slot = scope_find(&world.segment, id);
	slot->epoch ^= 1;
	cr_assert_null(scope_find(&world.segment, id));
	cr_assert_eq(scope_epoch(&world.segment, id), 0);
	cr_assert_eq(scope_request(&world.segment, id), 0);
	(void)world_scope(&world, "a");
	cr_assert_neq(scope_epoch(&world.segment, id), 0);
	cr_assert_neq(scope_request(&world.segment, id), 0);
}

Test(scope, a_dead_writer_costs_one_lookup)
{
	uint64_t id = world_scope(&world, "a");
	scope_find(&world.segment, id)->head.sequence |= 1;
	cr_assert_null(scope_find(&world.segment, id));
	(void)world_scope(&world, "a");
	cr_assert_not_null(scope_find(&world.segment, id));
	cr_assert_eq(scope_new_epoch(&world.segment, id), 0);
}

Test(scope, flags_of_none)
{
	cr_assert_eq(scope_flags(&world.segment, 0), 0);
	cr_assert_eq(scope_flags(&world.segment, 12345), 0);
}

/* An agent's new epoch is one of its forks, and not of what has its process. */
Test(scope, new_epoch_of_forks)
{
	uint64_t head = world_scope(&world, "head"), named = world_scope(&world, "named");
	uint64_t fork_ = scope_id_of(7, "fork"), other = scope_id_of(7, "other");

	must(scope_claim(&world.segment, fork_, NULL, 0x7fffffff, world.profile, "fork") != NULL);
	must(scope_claim(&world.segment, other, NULL, 0x7ffffffe, world.profile, "other") != NULL);
	scope_set_head(&world.segment, named, head);
	scope_set_head(&world.segment, fork_, head);
	uint64_t of_named = scope_epoch(&world.segment, named);
	uint64_t of_fork = scope_epoch(&world.segment, fork_);
	uint64_t of_other = scope_epoch(&world.segment, other);
	cr_assert_eq(scope_new_epoch(&world.segment, head), 0);
	cr_assert_eq(scope_epoch(&world.segment, named), of_named);
	cr_assert_neq(scope_epoch(&world.segment, fork_), of_fork);
	cr_assert_eq(scope_epoch(&world.segment, other), of_other);
}

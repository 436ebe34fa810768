/* process.h: a full table, processes that a supervisor announces, and standard inputs. */
#include "process_case.h"
#include "tracker/process/identity.h"

TestSuite(process, .init = start, .fini = stop);

/* ---- a full table ---- */

static int full_table(void)
{
	char ticket[TICKET_BYTES];
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	uint64_t capacity = world.segment.capacity[TABLE_PROCESSES];
	/* killed tools, which never gave their slots back, give way */
	for (uint64_t i = 0; i < 3 * capacity; i++)
		must(process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref, 1,
				      "/usr/bin/make", TOOL, ticket)
			     .serial != 0);
	must(segment_counter(&world.segment, COUNTER_lost_processes) == 0);
	/* the agent's own slot was kept */
	struct process_slot slot;
	must(process_read(&world.segment, root.ref.index, &slot));
	must(slot.serial == root.ref.serial);
	for (uint64_t i = 0; i < capacity; i++)
		(void)process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref,
				       getpid(), "/bin/bash", SHELL, ticket);
	struct process_ref none = process_announce(&world.segment, SUBJECT_SELF, &root.context,
						   root.ref, 1, "/bin/cat", CAT, ticket);
	must(none.serial == 0 && ticket[0] == '\0');
	must(segment_counter(&world.segment, COUNTER_lost_processes) > 0);
	process_set_pid(&world.segment, none, 1);
	process_withdraw(&world.segment, none);
	process_exit(&world.segment, none);
	return 0;
}

Test(process, full_table_is_counted_and_harmless)
{
	IN_CHILD(full_table);
}

/* ---- by a supervisor ---- */

/* Processes that follow orders: an agent, a shell below it with an output of its own, a
 * viewer below that. */
enum puppet { AGENT_PUPPET, SHELL_PUPPET, VIEWER_PUPPET, PUPPETS };

static struct {
	pid_t pid;
	int orders[2], answers[2];
} puppets[PUPPETS];

static const char *const EXECUTABLES[PUPPETS] = { "/usr/bin/codex", "/bin/bash", "/bin/cat" };

static char *const *const ARGUMENTS[PUPPETS] = { AGENT, SHELL, CAT };

struct order {
	enum { ATTACH, NEW_STDOUT, FORK } what;
	char ticket[TICKET_BYTES]; /* empty: none */
};

struct answer_of_puppet {
	struct me me;     /* ATTACH */
	struct stat stat; /* of descriptor 1 */
	pid_t pid;
};

static void be(enum puppet puppet)
{
	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	if (puppet != VIEWER_PUPPET)
		new_stdout();
}

static void obey(enum puppet puppet)
{
	struct order order;

	for (be(puppet);;) {
		struct answer_of_puppet answer = { .pid = getpid() };
		must(fstat(1, &answer.stat) == 0);
		must(write(puppets[puppet].answers[1], &answer, sizeof(answer)) ==
		     (ssize_t)sizeof(answer));
		must(read(puppets[puppet].orders[0], &order, sizeof(order)) ==
		     (ssize_t)sizeof(order));
		if (order.what == NEW_STDOUT) {
			new_stdout();
		} else if (order.what == FORK) {
			if (fork() == 0)
				be(++puppet); /* the child goes on as the next one */
		} else {
			answer.me = attach(order.ticket[0] ? order.ticket : NULL,
					   EXECUTABLES[puppet], ARGUMENTS[puppet]);
			must(write(puppets[puppet].answers[1], &answer, sizeof(answer)) ==
			     (ssize_t)sizeof(answer));
		}
	}
}

static struct answer_of_puppet answer_of(enum puppet puppet)
{
	struct answer_of_puppet answer;
	must(read(puppets[puppet].answers[0], &answer, sizeof(answer)) == (ssize_t)sizeof(answer));
	puppets[puppet].pid = answer.pid;
	return answer;
}

static struct stat new_output(enum puppet puppet)
{
	struct order order = { .what = NEW_STDOUT };
	must(write(puppets[puppet].orders[1], &order, sizeof(order)) == (ssize_t)sizeof(order));
	return answer_of(puppet).stat;
}

/* The library inside a puppet. */
static struct me attach_puppet(enum puppet puppet, const char *ticket)
{
	struct order order = { .what = ATTACH };
	(void)snprintf(order.ticket, sizeof(order.ticket), "%s", ticket ? ticket : "");
	must(write(puppets[puppet].orders[1], &order, sizeof(order)) == (ssize_t)sizeof(order));
	struct me me = answer_of(puppet).me;
	(void)answer_of(puppet);
	return me;
}

/* All three live.  They end with the one that made the first. */
static void raise_puppets(struct stat *ret_agent_out, struct stat *ret_shell_out)
{
	struct order order = { .what = FORK };

	for (int i = 0; i < PUPPETS; i++)
		must(pipe2(puppets[i].orders, O_CLOEXEC) == 0 &&
		     pipe2(puppets[i].answers, O_CLOEXEC) == 0);
	(void)fflush(NULL);
	if (fork() == 0)
		obey(AGENT_PUPPET);
	*ret_agent_out = answer_of(AGENT_PUPPET).stat;
	for (int i = AGENT_PUPPET; i < VIEWER_PUPPET; i++) {
		must(write(puppets[i].orders[1], &order, sizeof(order)) == (ssize_t)sizeof(order));
		(void)answer_of(i);
		struct stat stat = answer_of(i + 1).stat;
		if (i + 1 == SHELL_PUPPET)
			*ret_shell_out = stat;
	}
}

static struct subject subject_of(enum puppet puppet)
{
	return (struct subject){ (uint32_t)puppets[puppet].pid };
}

static struct me adopt_as(enum puppet puppet, struct process_ref announced, const char *executable,
			  char *const argv[])
{
	struct invocation invocation;
	struct me me;
	role_invocation(&world.segment, executable, argv, &invocation);
	me.ref = process_adopt(&world.segment, subject_of(puppet), announced, &invocation, NULL,
			       &me.context);
	return me;
}

static struct me adopt(enum puppet puppet, struct process_ref announced)
{
	return adopt_as(puppet, announced, EXECUTABLES[puppet], ARGUMENTS[puppet]);
}

static bool is_output(const struct identity *identity, const struct stat *stat)
{
	struct identity other = identity_of(stat);
	return identity_equal(identity, &other);
}

static struct process_slot slot_of(struct process_ref ref)
{
	struct process_slot slot;
	must(process_read(&world.segment, ref.index, &slot) && slot.serial == ref.serial);
	return slot;
}

static uint64_t counted(enum counter counter)
{
	return segment_counter(&world.segment, counter);
}

static struct identity capture_identity(uint64_t id)
{
	const struct capture_slot *slot = segment_slot(&world.segment, TABLE_CAPTURES,
						       id % world.segment.capacity[TABLE_CAPTURES]);
	must(slot->id == id);
	return slot->identity;
}

/* A tree in which the library is nowhere; then it turns out to be everywhere. */
static int supervised_tree(void)
{
	struct stat agent_out, shell_out;
	struct me adopted[PUPPETS];
	struct process_slot announced[PUPPETS];
	char tickets[PUPPETS][TICKET_BYTES], beginning[TICKET_BYTES];
	struct context root = { .flags = CONTEXT_ATTACHED | CONTEXT_ROOT,
				.pid_ns = process_pid_ns() };
	const struct context *starter = &root;
	struct process_ref self = { 0, 0 };
	struct subject spawner = SUBJECT_SELF;

	raise_puppets(&agent_out, &shell_out);
	for (int i = 0; i < PUPPETS; i++) {
		struct process_ref ref = process_announce(&world.segment, spawner, starter, self,
							  puppets[i].pid, EXECUTABLES[i],
							  ARGUMENTS[i], tickets[i]);
		must(ref.serial != 0);
		announced[i] = slot_of(ref);
		must(announced[i].spawner_pid == subject_pid(spawner));
		must(!(announced[i].context.flags & CONTEXT_SUPERVISED)); /* not handed on */
		(void)snprintf(beginning, sizeof(beginning), "SEEN_P=%u:", subject_pid(spawner));
		must(strncmp(tickets[i], beginning, strlen(beginning)) == 0);
		adopted[i] = adopt(i, ref);
		must(adopted[i].ref.serial == ref.serial && adopted[i].ref.index == ref.index);
		must(adopted[i].context.flags & CONTEXT_SUPERVISED);
		struct process_slot slot = slot_of(ref);
		must(slot.state == PROCESS_ATTACHED && slot.pid == (uint32_t)puppets[i].pid);
		must(memcmp(&slot.context, &adopted[i].context, sizeof(slot.context)) == 0);
		starter = &adopted[i].context;
		self = ref;
		spawner = subject_of(i);
	}
	must(counted(COUNTER_processes_attached) == 3 &&
	     counted(COUNTER_processes_supervised) == 3 &&
	     counted(COUNTER_processes_unattached) == 0);

	const struct context *agent = &adopted[AGENT_PUPPET].context,
			     *shell = &adopted[SHELL_PUPPET].context,
			     *viewer = &adopted[VIEWER_PUPPET].context;
	must(agent->role == ROLE_AGENT && agent->anchor_pid == (uint32_t)puppets[AGENT_PUPPET].pid);
	must(is_output(&agent->root_out, &agent_out) &&
	     is_output(&agent->agent_out[0], &agent_out));
	must(shell->role == ROLE_SHELL && shell->scope_id != 0 && shell->capture_id != 0);
	must(capture_shell(&world.segment, shell->capture_id) ==
	     (uint32_t)puppets[SHELL_PUPPET].pid);
	struct identity identity = capture_identity(shell->capture_id);
	must(is_output(&identity, &shell_out));
	must(viewer->role == ROLE_VIEWER && viewer->scope_id == shell->scope_id &&
	     viewer->capture_id == shell->capture_id);
	must(capture_is_sink(&world.segment, subject_of(VIEWER_PUPPET), viewer->capture_id));
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, viewer->capture_id));
	must(process_anchor_alive(subject_of(VIEWER_PUPPET), viewer,
				  (uint32_t)puppets[SHELL_PUPPET].pid));
	must(!process_anchor_alive(subject_of(VIEWER_PUPPET), viewer, 4194305));
	must(process_anchor_alive(subject_of(AGENT_PUPPET), agent, 0));
	must(process_anchor_alive(subject_of(SHELL_PUPPET), shell,
				  (uint32_t)puppets[SHELL_PUPPET].pid));
	must(!process_anchor_alive(subject_of(AGENT_PUPPET), viewer,
				   (uint32_t)puppets[SHELL_PUPPET].pid));
	must(!process_anchor_alive(SUBJECT_SELF, viewer, 0));

	/* The library, in each of them, comes to the same. */
	for (int i = 0; i < PUPPETS; i++) {
		process_release(&world.segment, adopted[i].ref, &announced[i].context);
		struct process_slot slot = slot_of(adopted[i].ref);
		must(slot.state == PROCESS_ANNOUNCED);
		must(memcmp(&slot.context, &announced[i].context, sizeof(slot.context)) == 0);
		must(counted(COUNTER_processes_attached) == 2 &&
		     counted(COUNTER_processes_supervised) == 2U - (unsigned)i);
		struct me me = attach_puppet(i, tickets[i] + 7);
		must(me.ref.serial == adopted[i].ref.serial);
		struct context expected = adopted[i].context;
		expected.flags &= ~(uint32_t)CONTEXT_SUPERVISED;
		if (i == SHELL_PUPPET) { /* taken anew, of the same stream */
			identity = capture_identity(me.context.capture_id);
			must(me.context.capture_id != expected.capture_id &&
			     is_output(&identity, &shell_out));
			expected.capture_id = me.context.capture_id;
		}
		must(memcmp(&me.context, &expected, sizeof(expected)) == 0);
		/* no longer adopted: not to be released */
		process_release(&world.segment, me.ref, NULL);
		must(slot_of(me.ref).state == PROCESS_ATTACHED);
		must(counted(COUNTER_processes_attached) == 3);
	}
	struct stat other = new_output(VIEWER_PUPPET); /* cat f | wc */
	must(!is_output(&identity, &other));
	must(!capture_is_sink(&world.segment, subject_of(VIEWER_PUPPET), viewer->capture_id));
	return 0;
}

Test(process, adopted_as_if_attached_and_released)
{
	IN_CHILD(supervised_tree);
}

/* An agent with the library; its shell was not announced, or only that it would start one. */
static int not_announced(void)
{
	struct stat agent_out, shell_out;
	const struct process_ref none = { 0, 0 };
	struct process_ref found;
	struct process_slot slot;
	char ticket[TICKET_BYTES];

	raise_puppets(&agent_out, &shell_out);
	struct me agent = attach_puppet(AGENT_PUPPET, NULL);
	must(agent.context.flags & CONTEXT_AGENT);
	/* the agent's own ticket, restored: what lies between was not observed */
	struct me viewer = adopt(VIEWER_PUPPET, agent.ref);
	must((viewer.context.flags & CONTEXT_ATTACHED) && viewer.ref.serial != agent.ref.serial);
	process_release(&world.segment, viewer.ref, NULL);
	/* and one that lost it makes no new root */
	struct invocation invocation;
	struct context context;
	role_invocation(&world.segment, "/bin/cat", CAT, &invocation);
	process_exit(&world.segment,
		     process_attach(&world.segment, subject_of(VIEWER_PUPPET), NULL, false,
				    &invocation, NULL, SESSION_AGENT_IS_AUTO, &context));
	must(context.flags == 0 && counted(COUNTER_processes_unattached) == 1);
	segment_count(&world.segment, COUNTER_processes_unattached, (uint64_t)-1);
	segment_count(&world.segment, COUNTER_processes_attached, (uint64_t)-1);

	must(!process_find_announced(&world.segment, subject_of(SHELL_PUPPET), &found, &slot));
	struct me shell = adopt(SHELL_PUPPET, none);
	must(shell.ref.serial != 0 && shell.ref.serial != agent.ref.serial);
	must(shell.context.role == ROLE_SHELL && shell.context.capture_id != 0 &&
	     shell.context.anchor_pid == (uint32_t)puppets[AGENT_PUPPET].pid);
	slot = slot_of(shell.ref);
	must(slot.spawner_pid == (uint32_t)puppets[AGENT_PUPPET].pid &&
	     slot.starter_role == ROLE_AGENT);
	process_release(&world.segment, shell.ref, NULL);
	must(slot_of(shell.ref).state == PROCESS_FREE);
	must(counted(COUNTER_processes_attached) == 1 &&
	     counted(COUNTER_processes_supervised) == 0);
	process_release(&world.segment, shell.ref, NULL); /* once */
	must(counted(COUNTER_processes_attached) == 1);

	/* posix_spawn: the pid is not known yet */
	struct process_ref ref = process_announce(&world.segment, subject_of(AGENT_PUPPET),
						  &agent.context, agent.ref, 0, "/bin/bash", SHELL,
						  ticket);
	must(process_find_announced(&world.segment, subject_of(SHELL_PUPPET), &found, &slot));
	must(found.serial == ref.serial && found.index == ref.index && slot.serial == ref.serial);
	shell = adopt(SHELL_PUPPET, none);
	must(shell.ref.serial == ref.serial && shell.context.capture_id != 0);
	must(slot_of(shell.ref).pid == (uint32_t)puppets[SHELL_PUPPET].pid);

	/* exec in place: the shell's image is no more */
	ref = process_announce(&world.segment, subject_of(SHELL_PUPPET), &shell.context, shell.ref,
			       puppets[SHELL_PUPPET].pid, "/bin/cat", CAT, ticket);
	struct me cat_ = adopt_as(SHELL_PUPPET, ref, "/bin/cat", CAT);
	must(cat_.ref.serial == ref.serial && cat_.context.capture_id == shell.context.capture_id);
	must(slot_of(shell.ref).state == PROCESS_EXITED);
	must(counted(COUNTER_processes_unattached) == 0);
	return 0;
}

Test(process, adopted_without_an_announcement)
{
	IN_CHILD(not_announced);
}

static int adopted_stranger(void)
{
	struct stat agent_out, shell_out;
	struct invocation invocation;
	struct context context;
	const struct process_ref none = { 0, 0 }, wrong = { 3, 12345 };

	raise_puppets(&agent_out, &shell_out);
	role_invocation(&world.segment, "/bin/bash", SHELL, &invocation);
	struct process_ref ref = process_adopt(&world.segment, subject_of(SHELL_PUPPET), none,
					       &invocation, NULL, &context);
	must(ref.serial != 0 && context.flags == CONTEXT_SUPERVISED && !context.capture_id &&
	     !context.scope_id);
	must(counted(COUNTER_processes_unattached) == 1);
	/* nor what is below it */
	struct me below = adopt(VIEWER_PUPPET, none);
	must(below.context.flags == CONTEXT_SUPERVISED);
	must(counted(COUNTER_processes_unattached) == 2 &&
	     counted(COUNTER_processes_attached) == 2);
	process_release(&world.segment, below.ref, NULL);
	process_release(&world.segment, ref, NULL);
	must(counted(COUNTER_processes_unattached) == 0 &&
	     counted(COUNTER_processes_attached) == 0 &&
	     counted(COUNTER_processes_supervised) == 0);
	/* a slot that is another's, an announcement that is another's */
	must(adopt(VIEWER_PUPPET, wrong).context.flags == CONTEXT_SUPERVISED);
	char ticket[TICKET_BYTES];
	struct context root = { .flags = CONTEXT_ATTACHED, .pid_ns = process_pid_ns() };
	ref = process_announce(&world.segment, SUBJECT_SELF, &root, none, puppets[AGENT_PUPPET].pid,
			       "/usr/bin/codex", AGENT, ticket);
	struct me cousin = adopt(VIEWER_PUPPET, ref); /* it is announced, of an ancestor: as ever */
	must(cousin.ref.serial != ref.serial);
	process_withdraw(&world.segment, ref);
	must(adopt(AGENT_PUPPET, ref).context.flags == CONTEXT_SUPERVISED);
	return 0;
}

Test(process, adopted_without_a_place_is_unattached)
{
	IN_CHILD(adopted_stranger);
}

/* ---- what another process's standard input is ---- */

static int input_of_another(void)
{
	static char i[] = "-s";
	char *const reads_input[] = { bash, i, NULL };
	struct invocation invocation;
	struct context context;
	int master, slave, pipes[2], ready[2];
	char byte;

	must(openpty(&master, &slave, NULL, NULL, NULL) == 0 && pipe(pipes) == 0);
	role_invocation(&world.segment, "/bin/bash", reads_input, &invocation);
	must(invocation.reads_stdin && !invocation.interactive);
	for (int terminal = 0; terminal < 2; terminal++) {
		must(pipe(ready) == 0);
		pid_t pid = fork();
		if (pid == 0) {
			must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
			must(dup2(terminal ? slave : pipes[0], 0) == 0);
			must(write(ready[1], "", 1) == 1);
			for (;;)
				(void)pause();
		}
		must(read(ready[0], &byte, 1) == 1);
		struct process_ref ref = process_attach(
			&world.segment, (struct subject){ (uint32_t)pid }, NULL, false, &invocation,
			NULL, SESSION_AGENT_IS_AUTO, &context);
		must(slot_of(ref).pid == (uint32_t)pid);
		must((context.flags & CONTEXT_EXTERNAL_AGENT ? 1 : 0) == terminal);
		process_exit(&world.segment, ref);
		must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	}
	return 0;
}

Test(process, terminal_as_the_input_of_another)
{
	IN_CHILD(input_of_another);
}

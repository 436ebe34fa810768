/* Processes that follow orders: what the tests of the process table share. */
#ifndef SEEN_TESTS_PROCESS_CASE_H
#define SEEN_TESTS_PROCESS_CASE_H

#include <criterion/criterion.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>

#include "support.h"
#include "tracker/process/ancestors.h"
#include "tracker/process/attach.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"

static struct world world;

static inline void start(void)
{
	world_open(&world, "session.processes=64", NULL);
}

static inline void stop(void)
{
	world_close(&world);
}

static char codex[] = "codex", bash[] = "bash", dash_c[] = "-c", script[] = "build.sh",
	    cat[] = "cat", name[] = "f", make[] = "make";

static char *const AGENT[] = { codex, NULL }, *const SHELL[] = { bash, dash_c, name, NULL },
		   *const LASTING[] = { bash, NULL }, *const SCRIPT[] = { bash, script, NULL },
		   *const CAT[] = { cat, name, NULL }, *const TOOL[] = { make, NULL };

/* A process of the tree: what it knows after it attached. */
struct me {
	struct process_ref ref;
	struct context context;
};

static inline struct me attach_as(const char *ticket, const char *executable, char *const argv[],
				  const char *scope_name, enum session_agent_is agent_is)
{
	struct invocation invocation;
	struct me me;
	role_invocation(&world.segment, executable, argv, &invocation);
	me.ref = process_attach(&world.segment, SUBJECT_SELF, ticket, false, &invocation,
				scope_name, agent_is, &me.context);
	return me;
}

static inline struct me attach(const char *ticket, const char *executable, char *const argv[])
{
	return attach_as(ticket, executable, argv, NULL, SESSION_AGENT_IS_AUTO);
}

static inline int body(void *data)
{
	return ((int (*)(void))(uintptr_t)data)();
}

#define IN_CHILD(function) cr_assert_eq(in_child(body, (void *)(uintptr_t)(function)), 0)

static inline void new_stdout(void)
{
	int pipes[2];
	must(pipe(pipes) == 0 && dup2(pipes[1], 1) == 1);
}

static const char *used_ticket;

static inline int with_ticket(void)
{
	struct me me = attach(used_ticket, "/bin/cat", CAT);
	return me.context.flags & CONTEXT_ATTACHED ? 1 : 0;
}

static inline int tickets(void)
{
	char ticket[TICKET_BYTES], changed[TICKET_BYTES];
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	/* pid 0: posix_spawn, a child of ours may take it before we know its number */
	struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF, &root.context,
						  root.ref, 0, "/bin/cat", CAT, ticket);
	used_ticket = ticket + 7;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 1);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0); /* taken: now another's */
	/* announced for one pid, used by another, whose parent it is not */
	ref = process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref, 1, "/bin/cat",
			       CAT, ticket);
	must(ref.serial != 0);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	/* withdrawn */
	ref = process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref, 0, "/bin/cat",
			       CAT, ticket);
	process_withdraw(&world.segment, ref);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	process_withdraw(&world.segment, (struct process_ref){ 0, 0 });
	/* malformed and out of range */
	static const char *const BAD[] = { "",
					   ":",
					   "1",
					   "1:2",
					   "1:2:",
					   "1:2:3x",
					   "a:b:c",
					   "1:99999999:5",
					   "1:2:0",
					   "99999999999999999999999:1:1",
					   "-1:0:1",
					   " 1:0:1",
					   "1:0:18446744073709551616" };
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		used_ticket = BAD[i];
		must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	}
	/* another serial: the slot was given away */
	(void)process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref, 0, "/bin/cat",
			       CAT, ticket);
	(void)snprintf(changed, sizeof(changed), "%s0", ticket + 7);
	used_ticket = changed;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	/* own ticket of the parent: a child behind an unobserved program */
	(void)snprintf(changed, sizeof(changed), "%d:%lu:%lu", (int)getpid(),
		       (unsigned long)root.ref.index, (unsigned long)root.ref.serial);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 1);
	/* and after that one ended it is void */
	process_exit(&world.segment, root.ref);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	return 0;
}

#endif

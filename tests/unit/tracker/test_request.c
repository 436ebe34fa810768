/* request.h: what a viewer or reader is to its scope and its command, also one that another process inspects. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>

#include "support.h"
#include "tracker/answer/request.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/runs.h"
#include "tracker/sys/sys.h"

static struct world world;
static uint64_t scope, capture;
static struct subject child;
static int pipes[2], others[2], orders[2], done[2];

/* Follows orders: 'o' another stream as descriptor 1, 'p' the capture again, 'w' 100 bytes to it. */
static void obey(void)
{
	static const char BYTES[100];
	char order;

	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(pipes[1], 1) == 1);
	must(write(done[1], "", 1) == 1);
	while (read(orders[0], &order, 1) == 1) {
		if (order == 'w')
			must(write(1, BYTES, sizeof(BYTES)) == (ssize_t)sizeof(BYTES));
		else
			must(dup2(order == 'o' ? others[1] : pipes[1], 1) == 1);
		must(write(done[1], "", 1) == 1);
	}
	_exit(0);
}

static void order(char what)
{
	char byte;
	must(write(orders[1], &what, 1) == 1 && read(done[0], &byte, 1) == 1);
}

/* The capture is the child's descriptor 1; this process, its parent, is the agent. */
static void start(void)
{
	struct context context = {
		.flags = CONTEXT_ATTACHED | CONTEXT_AGENT | CONTEXT_AGENT_OUT | CONTEXT_ROOT_OUT,
		.root_out = { 1, 2, 3 },
		.agent_out = { { 4, 5, 6 }, { 7, 8, 9 } },
	};
	char byte;

	world_open(&world, NULL);
	scope = context.scope_id = world_scope(&world, "a");
	must(pipe(pipes) == 0 && pipe(others) == 0 && pipe(orders) == 0 && pipe(done) == 0);
	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0)
		obey();
	must(read(done[0], &byte, 1) == 1);
	child.pid = (uint32_t)pid;
	capture = capture_claim(&world.segment, child, &context, false);
	must(capture != 0);
}

static void stop(void)
{
	must(kill((pid_t)child.pid, SIGKILL) == 0 && waitpid((pid_t)child.pid, NULL, 0) > 0);
	world_close(&world);
}

TestSuite(request, .init = start, .fini = stop);

static struct request request_of(uint32_t role)
{
	return (struct request){
		.subject = child,
		.context = { .flags = CONTEXT_ATTACHED | CONTEXT_AGENT,
			     .role = role,
			     .scope_id = scope,
			     .capture_id = capture,
			     .anchor_pid = (uint32_t)getpid(),
			     .pid_ns = process_pid_ns() },
		.is_viewer = role == ROLE_VIEWER,
	};
}

static const struct command_slot *command_of(const struct request *request)
{
	return segment_slot(&world.segment, TABLE_COMMANDS,
			    request->command_id % world.segment.capacity[TABLE_COMMANDS]);
}

static uint64_t given(void)
{
	return scope_find(&world.segment, scope)->bytes_given;
}

Test(request, capture_of_another_process)
{
	cr_assert_eq(capture_shell(&world.segment, capture), child.pid);
	cr_assert(capture_is_sink(&world.segment, child, capture));
	cr_assert(!capture_is_sink(&world.segment, SUBJECT_SELF, capture));
	order('o');
	cr_assert(!capture_is_sink(&world.segment, child, capture));
	order('p');
	cr_assert(capture_is_sink(&world.segment, child, capture));
}

Test(request, viewer)
{
	struct request request = request_of(ROLE_VIEWER), second = request_of(ROLE_VIEWER);

	request_init(&world.segment, &request, false);
	cr_assert_eq(request.number, 1);
	cr_assert_neq(request.command_id, 0);
	cr_assert_eq(command_of(&request)->running, 0);
	/* what reads nothing of the workspace uses nothing up */
	request_concerns(&world.segment, &request, "/etc/machine-id");
	request_concerns(&world.segment, &request, world_path(&world, ".git/config"));
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 0);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	request_concerns(&world.segment, &request, world_path(&world, "g"));
	cr_assert_eq(request.number, 1);
	request_init(&world.segment, &second, false);
	request_concerns(&world.segment, &second, world_path(&world, "f"));
	cr_assert_eq(second.number, 2);
	cr_assert_eq(second.command_id, request.command_id);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 2);
	struct shape first = { .bytes = 30, .newlines = 2, .longest = 20, .open_bytes = 4 };
	struct shape then = { .bytes = 70, .newlines = 5, .longest = 24 };
	request_wrote(&world.segment, &request, NULL, &first);
	cr_assert_eq(command_of(&request)->lines, 3);
	request_wrote(&world.segment, &request, &first, &then);
	cr_assert_eq(command_of(&request)->bytes, 70);
	cr_assert_eq(command_of(&request)->lines, 5);
	cr_assert_eq(command_of(&request)->longest, 24);
	cr_assert_eq(command_of(&request)->open_bytes, 0);
	cr_assert_eq(command_of(&request)->senders, 1);
	cr_assert_eq(given(), 70);
	request_wrote(&world.segment, &request, NULL, &first);
	request_unwrote(&world.segment, &request, &first);
	cr_assert_eq(command_of(&request)->bytes, 70);
	cr_assert_eq(command_of(&request)->lines, 5);
	cr_assert_eq(command_of(&request)->senders, 1);
	cr_assert_eq(given(), 70);
	request.command_id = 0;
	request_wrote(&world.segment, &request, NULL, &then);
	cr_assert_eq(given(), 70);
}

Test(request, elsewhere_or_without_a_scope)
{
	struct request request = request_of(ROLE_VIEWER);

	order('o');
	request_init(&world.segment, &request, false);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	cr_assert_eq(request.number, 1);
	cr_assert_eq(request.command_id, 0);
	request = request_of(ROLE_READER);
	request.context.scope_id = scope + 1;
	request_init(&world.segment, &request, false);
	cr_assert_eq(request.number, 0);
	cr_assert_eq(request.command_id, 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 1);
}

Test(request, reader)
{
	struct request request = request_of(ROLE_READER);
	uint64_t before, after;

	struct request probe = request_of(ROLE_READER);
	request_init(&world.segment, &probe, true);
	request_cancel(&world.segment, &probe);
	cr_assert_eq(probe.number, 0);
	cr_assert_eq(probe.command_id, 0);
	request_init(&world.segment, &request, false);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 1);
	cr_assert_eq(command_of(&request)->running, 1);
	if (!process_bytes_written(child.pid, &before))
		cr_skip("this kernel does not say");
	order('w');
	must(process_bytes_written(child.pid, &after));
	cr_assert_geq(after, before + 100);
	request_end_reader(&world.segment, &request, child.pid,
			   &(struct shape){ .bytes = 100, .newlines = 7, .longest = 30 });
	cr_assert_eq(command_of(&request)->running, 0);
	cr_assert_eq(command_of(&request)->bytes, after);
	cr_assert_eq(command_of(&request)->lines, 7 + (after - 100) + 1,
		     "what was not observed may be a line each");
	cr_assert_eq(command_of(&request)->longest, after - 100 < 30 ? 30 : after - 100);
	cr_assert_eq(given(), after);
	/* the end of the capture's own command is the child's, too */
	capture_finish(&world.segment, child, capture);
	cr_assert_eq(command_of(&request)->total_bytes, after);
}

Test(request, sink)
{
	struct request request = request_of(ROLE_VIEWER);

	request_at_sink(&world.segment, &request);
	cr_assert(request.at_sink);
	request_still_at_sink(&world.segment, &request);
	cr_assert(request.at_sink);
	order('o');
	request_still_at_sink(&world.segment, &request);
	cr_assert(request.at_sink, "descriptor 1 may be closed at the end");
	request_at_sink(&world.segment, &request);
	cr_assert(!request.at_sink);
	request_still_at_sink(&world.segment, &request);
	cr_assert(!request.at_sink);
	order('p');
	request_at_sink(&world.segment, &request);
	cr_assert(request.at_sink);
	request.context.anchor_pid = 4194305; /* the agent has gone */
	request_still_at_sink(&world.segment, &request);
	cr_assert(!request.at_sink);
	request_at_sink(&world.segment, &request);
	cr_assert(!request.at_sink);
}

/* ---- requests without what others have ---- */

Test(request, of_a_scope_that_is_not_on_record)
{
	struct request request = request_of(ROLE_VIEWER);

	request.context.scope_id = scope + 1;
	request_init_in_process(&world.segment, &request);
	cr_assert_eq(request.number, 0);
	request_count_in_process(&world.segment, &request, 100);
	request.command_id = world_command(&world);
	request_wrote(&world.segment, &request, NULL, &(struct shape){ .bytes = 10 });
	cr_assert_eq(command_of(&request)->bytes, 10);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	request.number = 0;
	request.is_counted = false;
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	cr_assert(!request.is_counted);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 0);
	cr_assert_eq(given(), 0);
	request_count_in_process(&world.segment,
				 &(struct request){ .context = { .scope_id = scope } }, 100);
	cr_assert_eq(given(), 100);
}

Test(request, cancelled)
{
	struct request request = request_of(ROLE_VIEWER);

	request_cancel(&world.segment, &request);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 0);
	request_init(&world.segment, &request, false);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 1);
	request_cancel(&world.segment, &request);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_requests), 0);
	cr_assert_eq(request.number, 0);
}

/* The capture, where there is none, and asked once. */
Test(request, asked_once)
{
	struct request request = request_of(ROLE_VIEWER);

	request.context.capture_id = 0;
	request_confirm_sink(&world.segment, &request);
	cr_assert(request.is_asked && !request.at_sink);
	request.context.capture_id = capture;
	request_confirm_sink(&world.segment, &request);
	cr_assert(!request.at_sink, "it was asked");
	request.is_asked = false;
	request_confirm_sink(&world.segment, &request);
	cr_assert(request.at_sink);
}

Test(request, without_a_command)
{
	struct request request = request_of(ROLE_READER);
	struct shape shape = { .bytes = 30, .newlines = 2, .longest = 20 };

	request_unwrote(&world.segment, &request, &shape);
	request_end_reader(&world.segment, &request, child.pid, &shape);
	cr_assert_eq(given(), 0);
}

/* Of what a reader wrote, what is known is no more than what the kernel counted. */
Test(request, a_reader_that_wrote_less_than_is_known)
{
	struct request request = request_of(ROLE_READER);
	uint64_t bytes;

	if (!process_bytes_written((uint32_t)getpid(), &bytes))
		cr_skip("this kernel does not say");
	request_init(&world.segment, &request, false);
	request_end_reader(&world.segment, &request, child.pid,
			   &(struct shape){ .bytes = UINT64_MAX / 2, .newlines = 7 });
	cr_assert(command_of(&request)->bytes < UINT64_MAX / 2);
	request = request_of(ROLE_READER);
	request_init(&world.segment, &request, false);
	uint64_t before = command_of(&request)->bytes;
	request_end_reader(&world.segment, &request, (uint32_t)getpid(), NULL);
	cr_assert_geq(command_of(&request)->bytes, before + bytes);
	/* What was kept of what it destroyed is no output. */
	sys_aside_bytes = UINT64_MAX;
	before = command_of(&request)->bytes;
	request_end_reader(&world.segment, &request, (uint32_t)getpid(), NULL);
	cr_assert_eq(command_of(&request)->bytes, before);
	sys_aside_bytes = 0;
}

/* An agent's in-process reads: the scope of its commands is there from its first read on. */
Test(request, an_agents_own_reads)
{
	struct request request;
	struct context context = { .flags = CONTEXT_ATTACHED,
				   .role = ROLE_AGENT,
				   .anchor_pid = (uint32_t)getpid() };
	uint64_t own = scope_id_of(99, NULL);

	cr_assert(request_prepare_in_process(&world.segment, &context, 99, 0, "agent", &request));
	cr_assert_null(scope_find(&world.segment, own));
	cr_assert(request_prepare_in_process(&world.segment, &context, 99, own, "agent", &request));
	cr_assert_not_null(scope_find(&world.segment, own));
	context.role = ROLE_TOOL;
	cr_assert(request_prepare_in_process(&world.segment, &context, 99, own + 1, "x", &request));
	cr_assert_null(scope_find(&world.segment, own + 1));
}

/* What a run that ended started is not answered any more. */
Test(request, of_a_run_that_ended)
{
	struct request request = request_of(ROLE_VIEWER);
	uint32_t run = process_begin_run(&world.segment);

	must(run != 0);
	request.context.flags |= run;
	request_at_sink(&world.segment, &request);
	cr_assert(request.at_sink);
	request_still_at_sink(&world.segment, &request);
	cr_assert(request.at_sink);
	int status;

	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0)
		_exit((process_begin_run(&world.segment) >> CONTEXT_RUN_SHIFT) & 0xff);
	must(waitpid(pid, &status, 0) == pid);
	request.context.flags = CONTEXT_ATTACHED | CONTEXT_AGENT |
				(uint32_t)WEXITSTATUS(status) << CONTEXT_RUN_SHIFT;
	request_still_at_sink(&world.segment, &request);
	cr_assert_not(request.at_sink);
	request.at_sink = true;
	request_at_sink(&world.segment, &request);
	cr_assert_not(request.at_sink);
}

/* Who reads the capture is in another namespace: it is counted, once for a request. */
Test(request, of_an_unknown_receiver)
{
	struct request request = request_of(ROLE_VIEWER);

	request.context.pid_ns++;
	for (int i = 0; i < 2; i++) {
		request_at_sink(&world.segment, &request);
		cr_assert_not(request.at_sink);
		cr_assert_eq(segment_counter(&world.segment, COUNTER_receivers_unknown), 1);
	}
}

/* One that asks late is at the sink where it is when it is asked. */
Test(request, asked_late)
{
	struct request request = request_of(ROLE_VIEWER);
	struct viewed_file view;

	world_fill(&world, "f", 4096, 1);
	request.context.profile = world.profile;
	request_init(&world.segment, &request, false);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	request.at_sink = true;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	cr_assert(view.delivered.is_given);
	request = request_of(ROLE_VIEWER);
	request.context.profile = world.profile;
	request.asks_late = true;
	request_init(&world.segment, &request, false);
	request_concerns(&world.segment, &request, world_path(&world, "f"));
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_NOTICE, "%d",
		     (int)view.answer.reason);
	must(close(view.fd) == 0);
	order('o');
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	must(close(view.fd) == 0);
	request.asks_late = false;
	order('p');
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	must(close(view.fd) == 0);
}

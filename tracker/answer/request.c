/* Requests: see request.h. */
#include "tracker/answer/request.h"

#include <string.h>

#include "tracker/answer/delivery.h"
#include "tracker/process/ancestors.h"
#include "tracker/process/capture.h"
#include "tracker/process/receiver.h"
#include "tracker/process/runs.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static void count(const struct segment *segment, struct request *request)
{
	request->is_counted = true;
	request->number = scope_request(segment, request->context.scope_id);
	if (request->number)
		segment_count(segment, COUNTER_requests, 1);
}

void request_init(const struct segment *segment, struct request *request, bool probes)
{
	const struct context *context = &request->context;

	request->is_counted = false;
	request->number = scope_next_request(segment, context->scope_id);
	if (!request->number)
		return;
	if (context->role == ROLE_READER && !probes)
		count(segment, request);
	if (capture_is_sink(segment, request->subject, context->capture_id))
		request->command_id = capture_command(segment, context->capture_id);
	if (context->role == ROLE_READER)
		command_reader(segment, request->command_id, 1);
}

void request_concerns(const struct segment *segment, struct request *request, const char *path)
{
	if (request->number && !request->is_counted && path_in_workspace(segment, path) &&
	    path_is_tracked(segment, path))
		count(segment, request);
}

/* Claims the scope of in-process reads. */
static bool claim_in_process(const struct segment *segment, const struct context *context,
			     uint64_t serial, const char *identity, const char *name,
			     struct request *request)
{
	static const char MORE[] = " (in-process reads)";
	char label[sizeof(((struct scope_slot *)0)->name)];
	size_t length = strnlen(name, sizeof(label) - sizeof(MORE));

	memcpy(label, name, length);
	memcpy(label + length, MORE, sizeof(MORE));
	request->context.capture_id = 0;
	request->context.scope_id = scope_id_of(serial, identity);
	uint32_t pid = request->is_reported ? context->anchor_pid : (uint32_t)sys_getpid();
	return serial && scope_claim(segment, request->context.scope_id, context, pid,
				     context->profile, label);
}

bool request_prepare_in_process(const struct segment *segment, const struct context *context,
				uint64_t serial, uint64_t agent_scope_id, const char *name,
				struct request *ret_request)
{
	*ret_request = (struct request){ .subject = SUBJECT_SELF,
					 .context = *context,
					 .command_id = DELIVERY_UNCUT,
					 .is_in_process = true,
					 .agent_scope_id = agent_scope_id };
	/* Its epoch is inspected: it would begin by the agent's first command, and what was read
	 * before would be forgotten. */
	if (context->role == ROLE_AGENT && agent_scope_id)
		(void)scope_claim(segment, agent_scope_id, context, context->anchor_pid,
				  context->profile, name);
	return claim_in_process(segment, context, serial, "own", name, ret_request);
}

bool request_prepare_reported(const struct segment *segment, const struct context *context,
			      uint64_t agent_scope_id, const char *conversation,
			      struct request *ret_request)
{
	*ret_request = (struct request){ .subject = SUBJECT_SELF,
					 .context = *context,
					 .command_id = DELIVERY_UNCUT,
					 .is_in_process = true,
					 .is_reported = true,
					 .accepts_diff = true,
					 .agent_scope_id = agent_scope_id };
	return claim_in_process(segment, context, agent_scope_id, conversation, "agent",
				ret_request);
}

void request_init_in_process(const struct segment *segment, struct request *request)
{
	count(segment, request);
}

void request_count_in_process(const struct segment *segment, const struct request *request,
			      uint64_t bytes)
{
	struct scope_slot *scope = scope_find(segment, request->context.scope_id);
	if (scope)
		(void)__atomic_fetch_add(&scope->bytes_given, bytes, __ATOMIC_RELAXED);
}

void request_cancel(const struct segment *segment, struct request *request)
{
	if (!request->number)
		return;
	if (request->is_counted)
		segment_count(segment, COUNTER_requests, (uint64_t)-1);
	if (request->context.role == ROLE_READER)
		command_reader(segment, request->command_id, -1);
	request->number = 0;
	request->command_id = 0;
}

bool request_has_capture(const struct segment *segment, const struct request *request)
{
	return capture_is_sink(segment, request->subject, request->context.capture_id);
}

/* Does the agent, and it alone, read what goes to the capture?  Where that is not known it is
 * counted, once a request. */
static bool is_received(const struct segment *segment, struct request *request)
{
	enum receiver receiver = receiver_find(segment, request->subject, &request->context,
					       request->pid_ns);

	if (receiver == RECEIVER_UNKNOWN && !request->is_unknown) {
		request->is_unknown = true;
		segment_count(segment, COUNTER_receivers_unknown, 1);
	}
	return receiver == RECEIVER_AGENT;
}

void request_at_sink(const struct segment *segment, struct request *request)
{
	const struct context *context = &request->context;

	request->is_asked = true;
	request->at_sink = context->capture_id && process_run_lives(segment, context) &&
			   request_has_capture(segment, request) && is_received(segment, request);
}

void request_confirm_sink(const struct segment *segment, struct request *request)
{
	if (!request->is_asked)
		request_at_sink(segment, request);
}

void request_still_at_sink(const struct segment *segment, struct request *request)
{
	const struct context *context = &request->context;

	request->at_sink = request->at_sink && process_run_lives(segment, context) &&
			   process_anchor_alive_in(request->subject, context,
						   capture_shell(segment, context->capture_id),
						   request->pid_ns);
}

static void count_given(const struct segment *segment, const struct request *request,
			uint64_t bytes)
{
	struct scope_slot *scope = scope_find(segment, request->context.scope_id);
	if (scope)
		(void)__atomic_fetch_add(&scope->bytes_given, bytes, __ATOMIC_RELAXED);
}

void request_wrote(const struct segment *segment, const struct request *request,
		   const struct shape *before, const struct shape *now)
{
	if (!request->command_id)
		return;
	command_add(segment, request->command_id, before, now);
	count_given(segment, request, now->bytes - (before ? before->bytes : 0));
}

void request_unwrote(const struct segment *segment, const struct request *request,
		     const struct shape *shape)
{
	if (!request->command_id)
		return;
	command_remove(segment, request->command_id, shape);
	count_given(segment, request, 0 - shape->bytes);
}

void request_end_reader(const struct segment *segment, const struct request *request, uint32_t pid,
			const struct shape *known)
{
	struct shape shape = { 0 };
	uint64_t bytes = 0;

	if (!request->command_id)
		return;
	(void)process_bytes_written(pid, &bytes);
	/* What was kept of what it destroyed: no output. */
	if (pid == (uint32_t)sys_getpid())
		bytes -= sys_aside_bytes < bytes ? sys_aside_bytes : bytes;
	if (known && known->bytes <= bytes) {
		shape = *known;
		bytes -= known->bytes;
	}
	shape_unseen(&shape, bytes);
	request_wrote(segment, request, NULL, &shape);
	command_reader(segment, request->command_id, -1);
}

/* Trapped calls that set metadata or sizes: see metadata.h. */
#include "shim/supervise/metadata.h"

#include "shim/supervise/keeping.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/policy.h"
#include "shim/supervise/record.h"

/* What `own` of such a call points to. */
struct about {
	const struct trapped *trapped;
	const struct named *named; /* of a descriptor the path that it is open for */
	bool by_descriptor;
};

static bool station_rules(struct call *call, enum operation operation)
{
	const struct about *about = call->own;

	call->error = policy_rules(about->trapped, operation_row(operation).rules, about->named,
				   call->name.follows);
	return call->error == 0;
}

static bool station_guard(struct call *call, enum operation operation)
{
	(void)call;
	(void)operation;
	return true; /* none of these has it */
}

static void station_keep(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	const struct trapped *trapped = about->trapped;

	(void)operation;
	if (!keeping_is_on(trapped->supervision, trapped->target))
		return;
	exchange_note_slow(trapped->exchange);
	if (keeping_call(trapped->supervision, trapped->target, call,
			 about->by_descriptor ? NULL : about->named, NULL))
		targets_note_writing(trapped->targets, trapped->target->pid);
}

/* How it ends is found out later. */
static void station_kept(struct call *call, enum operation operation)
{
	(void)call;
	(void)operation;
}

static void station_observe(struct call *call, enum operation operation)
{
	(void)call;
	(void)operation;
}

static void station_journal(struct call *call, enum operation operation)
{
	const struct about *about = call->own;

	record_call(about->trapped->supervision, about->trapped->target,
		    operation_row(operation).record, about->named, call->flags, call->amount,
		    -call->error);
}

#include "shim/call/order.h"

static bool is_by_descriptor(const struct trapped *trapped)
{
	const struct system_call *form = trapped->form;

	return form->path == NO_PLACE ||
	       (form->directory != NO_PLACE && !trapped_argument(trapped, form->path));
}

/* Reads what the call is about.  False: the kernel will find it wrong, or it is no file. */
static bool read_name(const struct trapped *trapped, bool by_descriptor, struct name *ret_name)
{
	const struct system_call *form = trapped->form;
	pid_t tid = (pid_t)trapped->exchange->call->pid;

	if (!by_descriptor)
		return trapped_name(trapped, form->directory, form->path, true, ret_name) &&
		       ret_name->named.path[0];
	ret_name->named = (struct named){ .tid = tid,
					  .directory = AT_FDCWD,
					  .path = ret_name->path };
	if (proc_directory(tid, (int)trapped_argument(trapped, form->directory), ret_name->path,
			   sizeof(ret_name->path)) <= 0)
		return false;
	trapped_locate(trapped, ret_name);
	return true;
}

struct verdict metadata_judge(const struct trapped *trapped)
{
	char attribute[256]; /* XATTR_NAME_MAX and its NUL */
	struct name name;
	struct about about = { trapped, &name.named, is_by_descriptor(trapped) };
	struct call call;

	call_of_number(trapped->form, trapped->exchange->call->data.args, &call);
	call.own = &about;
	if (about.by_descriptor && call.operation == OPERATION_METADATA)
		call.operation = OPERATION_METADATA_OF_DESCRIPTOR;
	if (!read_name(trapped, about.by_descriptor, &name) ||
	    (call.attribute && memory_text(name.named.tid, (uint64_t)(uintptr_t)call.attribute,
					   attribute, sizeof(attribute)) < 0) ||
	    !exchange_is_valid(trapped->exchange))
		return PASS;
	call.attribute = call.attribute ? attribute : NULL;
	if (!about.by_descriptor)
		call.name.path = name.named.path;
	(void)order_may(&call, call.operation);
	order_came_back(&call, call.operation);
	return call.error < 0 ? verdict_fail(call.error) : PASS;
}

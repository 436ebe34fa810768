/* Trapped calls about names: see names.h. */
#include "shim/supervise/names.h"

#include <linux/fs.h>

#include "shim/supervise/directory.h"
#include "shim/supervise/keeping.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/policy.h"
#include "shim/supervise/record.h"

/* What `own` of such a call points to. */
struct about {
	const struct trapped *trapped;
	const struct named *name, *other;
};

/* Of two names each may be spoken of by another rule: the second is asked about where the first is
 * let pass. */
static bool station_rules(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	uint32_t ops, other;

	(void)operation;
	call_rules(call, &ops, &other);
	call->error = policy_rules(about->trapped, ops, about->name, call->name.follows);
	if (call->error == 0 && other)
		call->error = policy_rules(about->trapped, other, about->other, false);
	return call->error == 0;
}

static bool station_guard(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	enum journal_op op = OPERATIONS[operation].record;
	bool swaps = operation == OPERATION_RENAME && (call->flags & RENAME_EXCHANGE);

	if (operation == OPERATION_RENAME || operation == OPERATION_LINK)
		call->error = policy_guard(about->trapped, op, call->flags, about->other, false,
					   about->name);
	else
		call->error = policy_guard(about->trapped, op, call->flags, about->name,
					   call->name.follows, NULL);
	if (call->error == 0 && swaps)
		call->error = policy_guard(about->trapped, op, call->flags, about->name, false,
					   about->other);
	return call->error == 0;
}

static void station_keep(struct call *call, enum operation operation)
{
	const struct about *about = call->own;

	(void)operation;
	if (!keeping_is_on(about->trapped->supervision, about->trapped->target))
		return;
	exchange_note_slow(about->trapped->exchange);
	if (keeping_call(about->trapped->supervision, about->trapped->target, call, about->name,
			 about->other))
		targets_note_writing(about->trapped->targets, about->trapped->target->pid);
}

/* How it ends is found out later. */
static void station_kept(struct call *call, enum operation operation)
{
	(void)call;
	(void)operation;
}

static void station_observe(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	bool moves = operation == OPERATION_RENAME;
	enum call_presence presence = PRESENCE_NONE;
	enum file_action action;

	if (call->error)
		return;
	trapped_count(about->trapped, PROCESS_CHANGES);
	if ((moves || operation == OPERATION_DELETE) &&
	    !trapped_is_there(about->trapped, about->name, false, true))
		return;
	if (moves && trapped_is_there(about->trapped, about->other, false, true))
		presence = PRESENCE_THERE;
	if (call_action_of_name(call, &action))
		trapped_note(about->trapped, about->name, action);
	if (call_action_of_other(call, presence, &action))
		trapped_note(about->trapped, about->other, action);
}

static void station_journal(struct call *call, enum operation operation)
{
	const struct about *about = call->own;
	const struct supervision *supervision = about->trapped->supervision;
	enum journal_op op = OPERATIONS[operation].record;

	if (about->other)
		record_two(supervision, about->trapped->target, op, about->name, about->other,
			   call->flags, -call->error);
	else
		record_call(supervision, about->trapped->target, op, about->name, call->flags,
			    call->amount, -call->error);
}

#include "shim/call/order.h"

struct verdict names_judge(const struct trapped *trapped)
{
	const struct system_call *form = trapped->form;
	bool has_other = form->other_path != NO_PLACE;
	struct name name, other;
	struct about about = { trapped, &name.named, has_other ? &other.named : NULL };
	struct call call;

	call_of_number(form, trapped->exchange->call->data.args, &call);
	call.own = &about;
	/* What a symbolic link points to is a text. */
	if (!trapped_name(trapped, form->directory, form->path, true, &name) ||
	    (has_other && !trapped_name(trapped, form->other_directory, form->other_path,
					call.operation != OPERATION_SYMLINK, &other)) ||
	    !exchange_is_valid(trapped->exchange))
		return PASS;
	call.name.path = name.named.path;
	call.other.path = has_other ? other.named.path : NULL;
	(void)order_may(&call, call.operation);
	order_came_back(&call, call.operation);
	return call.error < 0 ? verdict_fail(call.error) : PASS;
}

struct verdict names_judge_move(const struct trapped *trapped)
{
	const struct system_call *form = trapped->form;
	struct target *target = trapped->target;
	pid_t tid = (pid_t)trapped->exchange->call->pid;
	struct name name;
	bool is_read;

	if (form->path != NO_PLACE) {
		is_read = trapped_name(trapped, form->directory, form->path, false, &name);
	} else {
		name.named = (struct named){ .tid = tid, .directory = AT_FDCWD, .path = name.path };
		is_read = proc_directory(tid, (int)trapped_argument(trapped, form->directory),
					 name.path, sizeof(name.path)) > 0;
	}
	if (is_read && exchange_is_valid(trapped->exchange) && target->way == WAY_SUPERVISED)
		record_call(trapped->supervision, target, JOURNAL_CHDIR, &name.named, 0, 0, 0);
	target_moves(target, tid);
	return PASS;
}

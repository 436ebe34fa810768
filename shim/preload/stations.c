/* The stations of a call inside a process: see stations.h. */
#include "shim/preload/stations.h"

#include "shim/preload/change.h"

static struct rules_name question(const struct call_name *name, uint32_t ops)
{
	return (struct rules_name){ ops, name->directory, name->path, name->follows };
}

/* What is only read is judged when it is open: no name of it can be another file's by then.  A handle
 * has no name. */
static bool is_judged_open(struct call *call)
{
	struct open_work *own = call->own;

	if (call->operation == OPERATION_OPEN)
		own->is_judged = !own->by_stream && call_open_purpose(call->flags) == OPENS_READ;
	else if (call->operation == OPERATION_OPEN_HANDLE)
		own->is_judged = true;
	else
		return false;
	return own->is_judged;
}

bool stations_let(struct call *call)
{
	uint32_t ops, other;

	call_rules(call, &ops, &other);
	if (other)
		return rules_let_two(question(&call->name, ops), question(&call->other, other));
	if (call->operation == OPERATION_METADATA_OF_DESCRIPTOR)
		return rules_let_descriptor(ops, call->name.directory);
	if (is_judged_open(call))
		return rules_let_name(ops, call->name.directory, call->name.path,
				      call->name.follows);
	return rules_let(ops, call->name.directory, call->name.path, call->name.follows);
}

static bool guard_rename(const struct call *call, struct write_check *check)
{
	const struct call_name *from = &call->name, *to = &call->other;

	if (!(call->flags & (RENAME_NOREPLACE | RENAME_EXCHANGE)))
		return write_check_rename(from->directory, from->path, to->directory, to->path,
					  check);
	/* By these nothing is lost. */
	bool may = write_check_name(from->directory, from->path, false, to->directory, to->path,
				    check);
	if (may && (call->flags & RENAME_EXCHANGE))
		write_check_renamed(check, -1);
	return may;
}

bool stations_guard(struct call *call)
{
	const struct call_name *name = &call->name, *other = &call->other;
	struct write_check *check = call->own;

	switch (call->operation) {
	case OPERATION_DELETE:
		return write_check_change(GUARD_UNNAMES, name->directory, name->path, name->follows,
					  check);
	case OPERATION_TRUNCATE:
		return write_check_change(GUARD_WRITES, name->directory, name->path, name->follows,
					  check);
	case OPERATION_RENAME:
		return guard_rename(call, check);
	case OPERATION_LINK:
		return write_check_name(name->directory, name->path, name->follows,
					other->directory, other->path, check);
	default: /* REMOVE_DIRECTORY: nothing is lost with it */
		return true;
	}
}

void stations_guarded(struct call *call)
{
	struct write_check *check = call->own;

	switch (call->operation) {
	case OPERATION_DELETE:
	case OPERATION_TRUNCATE:
		write_check_changed(check, call->error);
		break;
	case OPERATION_LINK:
		check->source_key = 0; /* it keeps its name */
		write_check_renamed(check, call->error);
		break;
	case OPERATION_RENAME:
		write_check_renamed(check, call->error);
		break;
	default:
		break;
	}
}

void stations_observe(const struct call *call)
{
	enum file_action action;

	reader_changed(call->operation, call->name.path);
	if (call->error || OPERATIONS[call->operation].record == JOURNAL_METADATA)
		return;
	count_up(PROCESS_CHANGES);
	if (!shim.changes)
		return;
	if (call_action_of_name(call, &action))
		change_note(call->name.directory, call->name.path, action);
	if (call->other.path && call_action_of_other(call, PRESENCE_UNKNOWN, &action))
		change_note(call->other.directory, call->other.path, action);
}

void stations_journal(const struct call *call)
{
	enum journal_op op = OPERATIONS[call->operation].record;
	const struct call_name *name = &call->name, *other = &call->other;
	bool failed = call->error != 0;

	switch (call->operation) {
	case OPERATION_RENAME:
	case OPERATION_LINK:
	case OPERATION_SYMLINK:
		record_names(op, failed, name->directory, name->path, other->directory, other->path,
			     call->flags);
		break;
	default:
		record_name(op, failed, name->directory, name->path, call->flags, call->amount);
	}
}

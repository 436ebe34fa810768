/* A call that a program makes: see call.h. */
#include "shim/call/call.h"

static struct call_name name_at(const uint64_t *words, int directory, int path)
{
	return (struct call_name){
		.path = path == NO_PLACE ? NULL : (const char *)(uintptr_t)words[path],
		.directory = directory == NO_PLACE ? AT_FDCWD : (int)words[directory],
	};
}

void call_of_number(const struct system_call *form, const void *arguments, struct call *ret_call)
{
	const uint64_t *words = arguments;
	struct call call = {
		.operation = form->operation,
		.by_number = true,
		.flags = system_call_flags(form, arguments),
		.name = name_at(words, form->directory, form->path),
		.other = name_at(words, form->other_directory, form->other_path),
	};

	if (call.operation == OPERATION_DELETE && (call.flags & AT_REMOVEDIR))
		call.operation = OPERATION_REMOVE_DIRECTORY;
	if (call.operation == OPERATION_DELETE || call.operation == OPERATION_REMOVE_DIRECTORY)
		call.flags &= AT_REMOVEDIR;
	if (call.operation == OPERATION_TRUNCATE) {
		call.name.follows = true;
		call.amount = words[1];
	}
	if (call.operation == OPERATION_LINK)
		call.name.follows = call.flags & AT_SYMLINK_FOLLOW;
	if (call.operation == OPERATION_OPEN || call.operation == OPERATION_OPEN_HANDLE) {
		call.descriptor = -1;
		call_set_open_flags(&call, call.flags);
	}
	*ret_call = call;
}

void call_rules(const struct call *call, uint32_t *ret_name, uint32_t *ret_other)
{
	*ret_name = call->rules ? call->rules : OPERATIONS[call->operation].rules;
	*ret_other = 0;
	if (call->operation == OPERATION_OPEN || call->operation == OPERATION_OPEN_LATER)
		*ret_name = rule_ops_of_open((int)call->flags);
	if (call->operation == OPERATION_RENAME)
		rule_ops_of_rename(call->flags, ret_name, ret_other);
	if (call->operation == OPERATION_LINK) {
		*ret_name = RULE_LINK;
		*ret_other = RULE_MAKES_LINK;
	}
}

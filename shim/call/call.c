/* A call that a program makes: see call.h. */
#include "shim/call/call.h"

static struct call_name name_at(const uint64_t *words, int directory, int path)
{
	return (struct call_name){
		.path = path == NO_PLACE ? NULL : (const char *)(uintptr_t)words[path],
		.directory = directory == NO_PLACE ? AT_FDCWD : (int)words[directory],
	};
}

/* What a call sets, and to which value. */
static void set_metadata(const struct system_call *form, const uint64_t *words, struct call *call)
{
	const uint64_t *value = words +
				(form->path > form->directory ? form->path : form->directory) + 1;
	uint32_t flags = call->flags;

	call->name.follows = !(flags & AT_SYMLINK_NOFOLLOW);
	switch (form->number) {
#ifdef SYS_chmod
	case SYS_chmod:
#endif
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_fchmodat2:
		call->flags = JOURNAL_METADATA_MODE;
		call->amount = (uint32_t)value[0];
		break;
#ifdef SYS_lchown
	case SYS_lchown:
		call->name.follows = false;
		__attribute__((fallthrough));
	case SYS_chown:
#endif
	case SYS_fchown:
	case SYS_fchownat:
		call->flags = JOURNAL_METADATA_OWNER;
		call->amount = value[0] << 32 | (uint32_t)value[1];
		break;
	case SYS_lsetxattr:
	case SYS_lremovexattr:
		call->name.follows = false;
		__attribute__((fallthrough));
	case SYS_setxattr:
	case SYS_fsetxattr:
	case SYS_removexattr:
	case SYS_fremovexattr:
		call->flags = form->number == SYS_setxattr || form->number == SYS_lsetxattr ||
					      form->number == SYS_fsetxattr
				      ? JOURNAL_METADATA_ATTRIBUTE
				      : JOURNAL_METADATA_NO_ATTRIBUTE;
		call->attribute = (const char *)(uintptr_t)value[0];
		break;
	default:
		call->flags = JOURNAL_METADATA_TIMES;
		break;
	}
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
	if (operation_row(call.operation).family == FAMILY_METADATA)
		set_metadata(form, words, &call);
	if (call.operation == OPERATION_RESIZE)
		call.amount = words[1];
	if (call.operation == OPERATION_ALLOCATE)
		call.amount = words[2] + words[3];
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

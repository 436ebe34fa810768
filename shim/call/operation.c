/* What calls mean: see operation.h. */
#include "shim/call/operation.h"

enum { NO = NO_PLACE };

const struct system_call SYSTEM_CALLS[SYSTEM_CALL_COUNT] = {
#define SYSTEM_CALL(name, operation, trap, ...) \
	{ SYS_##name, OPERATION_##operation, TRAP_##trap, __VA_ARGS__ },
#define SYSTEM_CALL_BY(name, operation, trap, directory, path, other_directory, other_path, flags, \
		       more_flags, call) \
	SYSTEM_CALL(name, operation, trap, directory, path, other_directory, other_path, flags, \
		    more_flags)
#include "shim/call/system_calls.def"
#undef SYSTEM_CALL
#undef SYSTEM_CALL_BY
};

const struct system_call *system_call_find(long number)
{
	switch (number) {
#define SYSTEM_CALL(name, ...) \
	case SYS_##name: \
		return &SYSTEM_CALLS[SYSTEM_CALL_##name];
#define SYSTEM_CALL_BY SYSTEM_CALL
#include "shim/call/system_calls.def"
#undef SYSTEM_CALL
#undef SYSTEM_CALL_BY
	default:
		return NULL;
	}
}

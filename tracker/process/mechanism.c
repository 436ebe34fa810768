/* What became of a program at its exec: see mechanism.h. */
#include "tracker/process/mechanism.h"

#include <stddef.h>

const char *mechanism_reason(uint32_t mechanism)
{
	switch (mechanism) {
	case MECHANISM_NO_SOCKET:
		return "no supervisor could be reached from where it was started";
	case MECHANISM_NO_TIME:
		return "the supervisor did not answer in time";
	case MECHANISM_FULL:
		return "the supervisor had too many programs at once";
	case MECHANISM_TRACED:
		return "below a debugger or tracer";
	case MECHANISM_FILTERED:
		return "below another program's filter of system calls";
	case MECHANISM_UNKNOWN:
		return "/proc does not tell what it runs below";
	case MECHANISM_PRIVILEGED:
		return "it gains privileges, which it would lose below the supervisor";
	case MECHANISM_USER:
		return "as an ordinary user only agents are supervised ([session] privileges)";
	case MECHANISM_FOREIGN:
		return "for another architecture";
	case MECHANISM_NO_DESCRIPTOR:
		return "the program that started it had no descriptor left";
	case MECHANISM_REFUSED:
		return "this machine's kernel or policy refuses the supervisor";
	case MECHANISM_SPAWNED:
		return "started by posix_spawn with attributes that only libc knows";
	default:
		return NULL;
	}
}

/* What `seen doctor` finds out: see doctor.h. */
#include "cli/run/doctor.h"

#include <stdarg.h>
#include <stdio.h>

#include "tracker/path/path.h"

void doctor_add(struct doctor *doctor, enum level level, const char *what, const char *remedy,
		const char *format, ...)
{
	char plain[DETAIL_BYTES / 4];
	va_list arguments;

	if (doctor->count == CHECKS_MAX)
		return;
	struct check *check = &doctor->checks[doctor->count++];
	*check = (struct check){ .what = what, .level = level, .remedy = remedy };
	va_start(arguments, format);
	(void)vsnprintf(plain, sizeof(plain), format, arguments);
	va_end(arguments);
	(void)path_escape(plain, check->detail, sizeof(check->detail));
	if (level == LEVEL_FAIL)
		doctor->unseen = true;
}

const char *doctor_level_name(enum level level)
{
	static const char *const NAMES[] = { "ok", "warn", "fail" };
	return NAMES[level];
}

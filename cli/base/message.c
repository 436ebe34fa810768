/* Messages: see message.h. */
#include "cli/base/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "tracker/path/path.h"

void message(const char *format, ...)
{
	char text[4096], line[sizeof(text) * 4];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	(void)path_escape(text, line, sizeof(line));
	(void)fprintf(stderr, "seen: %s\n", line);
}

int message_exit_code(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	message("cannot write the output: %s", strerror(errno));
	return EXIT_CODE_OUTPUT;
}

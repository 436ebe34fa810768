/* The read tool of opencode and kilo: see opencode_output.h. */
#include "cli/hooks/opencode_output.h"

#include <stddef.h>
#include <string.h>

static const char HEAD[] = "</path>\n<type>file</type>\n<content>\n";
static const char FOOT[] = "\n</content>";
static const char END[] = "\n(End of file - total ";

const char *opencode_output_lines(const char *output)
{
	const char *newline = strchr(output, '\n');
	const char *head = newline ? newline - strlen("</path>") : NULL;

	return head && strncmp(output, "<path>", strlen("<path>")) == 0 && head > output &&
			       strncmp(head, HEAD, strlen(HEAD)) == 0
		       ? head + strlen(HEAD)
		       : NULL;
}

const char *opencode_output_foot(const char *output)
{
	return strstr(output, FOOT);
}

const char *opencode_output_behind(const char *output)
{
	const char *foot = opencode_output_foot(output);
	return foot ? foot + strlen(FOOT) : NULL;
}

bool opencode_output_is_whole(const char *text)
{
	return strncmp(text, END, strlen(END)) == 0;
}

bool opencode_output_is_remark(const char *text)
{
	static const char *const PARTS[] = { "\n(Showing lines ", "\n(Output capped at " };

	for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
		if (strncmp(text, PARTS[i], strlen(PARTS[i])) == 0)
			return true;
	return opencode_output_is_whole(text);
}

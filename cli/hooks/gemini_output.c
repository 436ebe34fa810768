/* Gemini CLI's read tool: see gemini_output.h. */
#include "cli/hooks/gemini_output.h"

#include <stdio.h>
#include <string.h>

/* What stands before lines that are not the whole file. */
static const char PART_HEAD[] = "\nIMPORTANT: The file content has been truncated.\n"
				"Status: Showing lines ";
static const char PART_MARK[] = "\n\n--- FILE CONTENT (truncated) ---\n";

bool gemini_output_lines(const char *output, struct gemini_lines *ret_part)
{
	unsigned long long first, last, total;
	const char *mark = strstr(output, PART_MARK);

	if (strncmp(output, PART_HEAD, strlen(PART_HEAD)) != 0 || !mark ||
	    sscanf(output + strlen(PART_HEAD), "%llu-%llu of %llu total lines.", &first, &last,
		   &total) != 3 ||
	    first < 1 || last < first)
		return false;
	*ret_part = (struct gemini_lines){
		.first = first, .last = last, .total = total, .text = mark + strlen(PART_MARK)
	};
	return true;
}

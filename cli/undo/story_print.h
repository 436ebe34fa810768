/* The story of a session for people and programs (story.h). */
#ifndef SEEN_CLI_STORY_PRINT_H
#define SEEN_CLI_STORY_PRINT_H

#include <jansson.h>

#include "cli/base/sheet.h"
#include "cli/undo/story.h"

struct story_wish {
	bool changed_only; /* steps that changed nothing are left out */
	uint32_t only;     /* number of a step, with all its files; 0: all, with the first files */
};

/* story_print(): a line for each step, and below it a line for each file: for a terminal or a
 * file. */
void story_print(const struct story *story, const struct story_wish *wish, struct sheet *sheet);

/* story_print_table(): one row for each step, the first `top` of them, for a report in either form. */
void story_print_table(const struct story *story, size_t top, struct sheet *sheet);

/* story_json(): an array with an object for each step (config/data/schema/story.schema.json).
 * NULL: no memory. */
json_t *story_json(const struct story *story, const struct story_wish *wish);

#endif

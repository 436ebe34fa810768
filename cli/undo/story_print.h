/* The story of a session for people and programs (story.h). */
#ifndef SEEN_CLI_STORY_PRINT_H
#define SEEN_CLI_STORY_PRINT_H

#include <jansson.h>

#include "cli/base/sheet.h"
#include "cli/undo/story.h"

enum { STORY_WORD_BYTES = 64 };

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

/* story_call_json(): the tool call of a step; null: no hook reported one. */
json_t *story_call_json(const struct step *step);

/* story_text(): what a step is: its command; of an own action the tool and its file, where a hook reported them.  May
 * return ret_text. */
const char *story_text(const struct step *step, char ret_text[STEP_TEXT_BYTES]);

/* Words of a row.  story_status(): the exit status, "own", "runs" or "-"; may return ret_text.
 * story_lines(): "+1 -2", "". */
const char *story_status(const struct story_step *step, char ret_text[STORY_WORD_BYTES]);
void story_lines(uint64_t added, uint64_t removed, char ret_text[STORY_WORD_BYTES]);

#endif

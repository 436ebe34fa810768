/*
 * The rows of the screen of `seen top`.
 */
#ifndef SEEN_CLI_TOP_DRAW_ROWS_H
#define SEEN_CLI_TOP_DRAW_ROWS_H

#include "cli/top/top_draw.h"

void draw_heads(enum top_pane pane, int line);
void draw_file(const struct top_model *model, const struct top_file *file, int line);
void draw_process(const struct top_branch *branch, int line);
void draw_note(const struct top_model *model, const struct top_note *note, int line);
void draw_step(const struct top_steps *steps, size_t index, int line);

#endif

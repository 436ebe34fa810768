/* Rows of steps on a screen: of the picker of `seen undo`, and of `seen top`. */
#ifndef SEEN_CLI_STEP_DRAW_H
#define SEEN_CLI_STEP_DRAW_H

#include "cli/screen/screen_draw.h"
#include "cli/undo/story.h"

void step_draw_heads(int line, attr_t attributes);
void step_draw(const struct story_step *step, bool is_undone, int line, attr_t attributes);

#endif

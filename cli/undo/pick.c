/* What keys do in the picker: see pick.h. */
#include "cli/undo/pick.h"

#include "cli/screen/screen.h"
#include "cli/screen/screen_scroll.h"

/* As a pager does: b is a page back, too. */
static void move(size_t *at, size_t last, size_t page, uint32_t key)
{
	screen_scroll(at, last, page, key == 'b' ? SCREEN_KEY_PAGE_UP : key);
}

static size_t last_line(const struct pick *pick)
{
	return pick->line_count > pick->page ? pick->line_count - pick->page : 0;
}

static enum pick_action ask(struct pick *pick, bool is_since)
{
	pick->behind = pick->shown;
	pick->shown = PICK_PLAN;
	pick->is_since = is_since;
	pick->line = 0;
	return PICK_SHOW;
}

static enum pick_action leave(struct pick *pick)
{
	if (pick->shown == PICK_STEPS)
		return PICK_QUIT;
	pick->shown = pick->shown == PICK_PLAN ? pick->behind : PICK_STEPS;
	pick->line = 0;
	return PICK_SHOW;
}

static enum pick_action plan_key(struct pick *pick, uint32_t key)
{
	switch (key) {
	case 'y':
	case 'Y':
		return pick->is_empty ? PICK_GO_ON : PICK_DO;
	case 'n':
	case 'N':
	case 'q':
	case SCREEN_KEY_ENTER: /* the answer that is offered is no */
	case SCREEN_KEY_ESCAPE:
	case SCREEN_KEY_BACKSPACE:
		return leave(pick);
	default:
		move(&pick->line, last_line(pick), pick->page, key);
		return PICK_GO_ON;
	}
}

enum pick_action pick_key(struct pick *pick, uint32_t key)
{
	if (pick->shown == PICK_PLAN)
		return plan_key(pick, key);
	switch (key) {
	case 'q':
	case SCREEN_KEY_ESCAPE:
	case SCREEN_KEY_BACKSPACE:
		return key == SCREEN_KEY_BACKSPACE && pick->shown == PICK_STEPS ? PICK_GO_ON
										: leave(pick);
	case 'u':
		return ask(pick, false);
	case 's':
		return ask(pick, true);
	case SCREEN_KEY_ENTER:
	case 'd':
		if (pick->shown == PICK_DIFF)
			return PICK_GO_ON;
		pick->shown = PICK_DIFF;
		pick->line = 0;
		return PICK_SHOW;
	default:
		break;
	}
	if (pick->shown == PICK_STEPS)
		move(&pick->chosen, pick->count - 1, pick->page, key);
	else
		move(&pick->line, last_line(pick), pick->page, key);
	return PICK_GO_ON;
}

void pick_place(struct pick *pick, size_t page)
{
	pick->page = page ? page : 1;
	if (pick->shown != PICK_STEPS) {
		pick->line = pick->line > last_line(pick) ? last_line(pick) : pick->line;
		return;
	}
	size_t last = pick->count > pick->page ? pick->count - pick->page : 0;
	if (pick->offset > pick->chosen)
		pick->offset = pick->chosen;
	if (pick->chosen - pick->offset >= pick->page)
		pick->offset = pick->chosen - pick->page + 1;
	if (pick->offset > last)
		pick->offset = last;
}

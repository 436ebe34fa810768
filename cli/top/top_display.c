/* What is inspected: see top_display.h. */
#include "cli/top/top_display.h"

#include <string.h>

#include "cli/screen/screen.h"
#include "cli/screen/screen_scroll.h"

/* ---- the filter ---- */

static void append(char *text, size_t capacity, uint32_t code)
{
	size_t length = strlen(text), more = code < 0x80      ? 1
					     : code < 0x800   ? 2
					     : code < 0x10000 ? 3
							      : 4;
	static const unsigned char LEADS[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (length + more >= capacity)
		return;
	for (size_t i = more; i-- > 1; code >>= 6)
		text[length + i] = (char)(0x80 | (code & 0x3f));
	text[length] = (char)(LEADS[more] | code);
	text[length + more] = '\0';
}

static void drop_last(char *text)
{
	size_t length = strlen(text);
	while (length > 0 && ((unsigned char)text[--length] & 0xc0) == 0x80)
		;
	text[length] = '\0';
}

static void filter_key(struct top_display *view, uint32_t key)
{
	switch (key) {
	case SCREEN_KEY_ENTER:
		view->is_filtering = false;
		return;
	case SCREEN_KEY_ESCAPE:
		view->is_filtering = false;
		view->filter[0] = '\0';
		break;
	case SCREEN_KEY_BACKSPACE:
		drop_last(view->filter);
		break;
	case 'U' & 0x1f:
		view->filter[0] = '\0';
		break;
	default:
		if (key >= ' ' && key != 0x7f && key < SCREEN_KEY_UP)
			append(view->filter, sizeof(view->filter), key);
		break;
	}
	memset(view->offset, 0, sizeof(view->offset));
}

/* ---- the other keys ---- */

static void scroll(struct top_display *view, uint32_t key)
{
	size_t *offset = view->is_helping ? &view->help_offset : &view->offset[view->pane];
	size_t page = view->page ? view->page : 1;
	size_t last = view->count > page ? view->count - page : 0;

	screen_scroll(offset, last, page, key);
}

static void next_order(struct top_display *view)
{
	if (view->pane == TOP_FILES)
		view->file_order = (view->file_order + 1) % TOP_FILES_ORDERS;
	else if (view->pane == TOP_PROCESSES)
		view->process_order = (view->process_order + 1) % TOP_PROCESSES_ORDERS;
	view->offset[view->pane] = 0;
}

static void choose(struct top_display *view, unsigned pane)
{
	view->pane = (enum top_pane)(pane % TOP_PANES);
	view->is_helping = false;
}

enum top_action top_display_key(struct top_display *view, uint32_t key)
{
	if (view->is_filtering) {
		filter_key(view, key);
		return TOP_GO_ON;
	}
	if (key >= '1' && key < '1' + TOP_PANES)
		choose(view, key - '1');
	switch (key) {
	case 'q':
		if (!view->is_helping)
			return TOP_QUIT;
		view->is_helping = false;
		break;
	case 'h':
	case '?':
		view->is_helping = !view->is_helping;
		view->help_offset = 0;
		break;
	case SCREEN_KEY_ESCAPE:
		if (!view->is_helping) {
			view->filter[0] = '\0';
			view->offset[view->pane] = 0;
		}
		view->is_helping = false;
		break;
	case SCREEN_KEY_TAB:
		choose(view, view->pane + 1);
		break;
	case SCREEN_KEY_BACK_TAB:
		choose(view, view->pane + TOP_PANES - 1);
		break;
	case 's':
		next_order(view);
		break;
	case 'w':
		view->is_everywhere = !view->is_everywhere;
		view->offset[TOP_FILES] = 0;
		break;
	case '/':
		view->is_filtering = true;
		view->is_helping = false;
		break;
	case 'p':
		return TOP_UNDO;
	case 'z': /* as in htop */
		view->is_paused = !view->is_paused;
		break;
	case 'r':
		return TOP_RESET;
	default:
		scroll(view, key);
		break;
	}
	return TOP_GO_ON;
}

size_t top_display_place(struct top_display *view, size_t count, size_t page)
{
	size_t *offset = view->is_helping ? &view->help_offset : &view->offset[view->pane];
	size_t last = count > page ? count - page : 0;

	view->count = count;
	view->page = page;
	if (*offset > last)
		*offset = last;
	return *offset;
}

struct top_wish top_display_wish(const struct top_display *view)
{
	return (struct top_wish){ .file_order = view->file_order,
				  .process_order = view->process_order,
				  .is_workspace_only = !view->is_everywhere,
				  .filter = view->filter };
}

const char *top_display_order(const struct top_display *view)
{
	static const char *const FILES[] = { "recent", "by bytes", "by repeats", "by writes" };
	static const char *const PROCESSES[] = { "tree", "recent", "by reads", "by writes",
						 "by rate" };

	switch (view->pane) {
	case TOP_FILES:
		return FILES[view->file_order];
	case TOP_PROCESSES:
		return PROCESSES[view->process_order];
	default:
		return "newest first";
	}
}

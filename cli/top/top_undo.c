/* `p` in `seen top`: see top_undo.h. */
#define NCURSES_NOMACROS 1
#include "cli/top/top_undo.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/screen/screen_scroll.h"
#include "cli/undo/pick_text.h"
#include "cli/undo/undo_child.h"

enum { WAIT_MS = 60000, ASK_BYTES = 96, FRAME_LINES = 2 };

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_END };

/* A text below a title, and what is asked or can be done in the last line. */
struct page {
	const char *title, *foot;
	bool is_question;
	struct pick_text text;
	size_t line;
};

static size_t page_lines(void)
{
	return LINES > FRAME_LINES ? (size_t)(LINES - FRAME_LINES) : 1;
}

static size_t last_line(const struct page *page)
{
	return page->text.count > page_lines() ? page->text.count - page_lines() : 0;
}

static void draw(struct page *page)
{
	size_t lines = page_lines();

	(void)erase();
	if (page->line > last_line(page))
		page->line = last_line(page);
	(void)draw_text(0, 0, COLS, A_BOLD, page->title);
	for (size_t i = 0; i < lines && page->line + i < page->text.count; i++)
		(void)draw_cut(1 + (int)i, 0, COLS, A_NORMAL, SCREEN_CUT_TEXT,
			       pick_text_line(&page->text, page->line + i));
	(void)draw_text(LINES - 1, 0, COLS, page->is_question ? A_BOLD : A_REVERSE, page->foot);
	(void)refresh();
}

/* As the picker asks: what is offered is no.  Where nothing is asked every key but those that scroll goes on. */
static enum answer ask(struct page *page)
{
	for (;;) {
		draw(page);
		int32_t key = screen_wait(WAIT_MS);
		size_t before = page->line;
		if (key == SCREEN_WAIT_END)
			return ANSWER_END;
		if (key < 0)
			continue;
		if (page->is_question && (key == 'y' || key == 'Y'))
			return ANSWER_YES;
		if (key == 'n' || key == 'N' || key == 'q' || key == SCREEN_KEY_ENTER ||
		    key == SCREEN_KEY_ESCAPE || key == SCREEN_KEY_BACKSPACE)
			return ANSWER_NO;
		screen_scroll(&page->line, last_line(page), page_lines(), (uint32_t)key);
		if (!page->is_question && page->line == before && last_line(page) == 0)
			return ANSWER_NO;
	}
}

/* ---- what `seen undo` says ---- */

struct said {
	int output;
	int code;
};

static int write_said(FILE *file, void *data)
{
	const struct said *said = data;
	char bytes[4096];
	ssize_t got;

	while ((got = read(said->output, bytes, sizeof(bytes))) > 0)
		(void)fwrite(bytes, 1, (size_t)got, file);
	if (said->code == -EINTR)
		(void)fprintf(file, "a signal ended it: `seen undo --continue` finishes what it "
				    "began\n");
	return got < 0 ? -errno : 0;
}

/* Returns an exit code, or a negative errno. */
static int run(const struct config *config, const char *session, const struct undo_request *request,
	       struct page *ret_page, struct undo_planned *ret_planned)
{
	struct said said = { .output = -1 };

	*ret_planned = (struct undo_planned){ .step = 0 };
	pick_text_free(&ret_page->text);
	ret_page->line = 0;
	said.code = undo_child_run(config, session, request, &said.output, ret_planned);
	if (said.output >= 0) {
		int error = pick_text_make(write_said, &said, &ret_page->text);
		(void)close(said.output);
		return error < 0 ? error : said.code;
	}
	return said.code;
}

static void set_question(const struct undo_planned *planned, char *ret_foot, struct page *page)
{
	page->is_question = planned->step != 0;
	if (!planned->step)
		(void)snprintf(ret_foot, ASK_BYTES, "nothing to undo   q back");
	else if (planned->changes)
		(void)snprintf(ret_foot, ASK_BYTES, "undo step %u? [y/N] ", planned->step);
	else
		(void)snprintf(ret_foot, ASK_BYTES, "leave step %u, for the one before it? [y/N] ",
			       planned->step);
}

bool top_undo_last(const struct config *config, const char *session)
{
	struct undo_request request = { .kind = OPERATION_UNDO, .last = true, .dry_run = true };
	struct page page = { .title = "the last step that is not undone: what would be done" };
	struct undo_planned planned;
	char foot[ASK_BYTES];

	int code = run(config, session, &request, &page, &planned);
	set_question(&planned, foot, &page);
	page.foot = code < 0 ? strerror(-code) : foot;
	enum answer answer = ask(&page);
	if (answer == ANSWER_YES) {
		page.title = "undoing ...";
		page.foot = "";
		draw(&page);
		request.dry_run = false;
		request.expected = planned;
		code = run(config, session, &request, &page, &planned);
		page.title = code == EXIT_CODE_OK ? "done" : "not all was done";
		page.foot = code < 0 ? strerror(-code) : "q back";
		page.is_question = false;
		answer = ask(&page);
	}
	pick_text_free(&page.text);
	return answer != ANSWER_END;
}

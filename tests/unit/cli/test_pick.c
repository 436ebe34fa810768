/* pick.h, pick_draw.h, step_draw.h: what the picker of `seen undo` shows, on a screen without a terminal. */
#define NCURSES_NOMACROS 1
#include <criterion/criterion.h>

#include <curses.h>

#include "cli/screen/screen.h"
#include "cli/undo/pick_draw.h"
#include "support.h"

enum { STEPS = 12, FILES = 8, TEXT_LINES = 30 };

static struct step steps[STEPS];
static struct story_step stories[STEPS];
static const struct story_step *shown[STEPS];
static struct story_file files[FILES];
static char names[FILES][16];
static bool is_undone[STEPS + 1];
static struct pick_text text;
static struct pick picking;
static struct pick_picture picture;
static FILE *nowhere;

static int write_text(FILE *file, void *data)
{
	(void)data;
	for (int i = 1; i <= TEXT_LINES; i++)
		(void)fprintf(file, "line %d\n", i);
	return 0;
}

static void init(void)
{
	nowhere = fopen("/dev/null", "r+");
	must(nowhere && newterm("xterm", nowhere, nowhere));
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "file-%d", i + 1);
		files[i] = (struct story_file){ .path = names[i], .has_lines = true, .added = 3 };
	}
	for (int i = 0; i < STEPS; i++) {
		steps[i] = (struct step){ .number = (uint32_t)(STEPS - i) };
		steps[i].text = strdup("make all");
		stories[i] = (struct story_step){
			.step = &steps[i], .files = files, .count = 1, .added = 3
		};
		shown[i] = &stories[i];
	}
	stories[1].count = FILES;
	must(pick_text_make(write_text, NULL, &text) == 0);
	picking = (struct pick){ .count = STEPS };
	picture = (struct pick_picture){ .session = "test",
					 .steps = shown,
					 .is_undone = is_undone,
					 .all = STEPS,
					 .text = &text };
}

static void finish(void)
{
	(void)endwin();
	pick_text_free(&text);
	for (int i = 0; i < STEPS; i++)
		free(steps[i].text);
	(void)fclose(nowhere);
}

TestSuite(pick, .init = init, .fini = finish);

static void draw(int lines, int columns)
{
	must(resizeterm(lines, columns) == OK);
	pick_draw(&picking, &picture);
}

/* A row of the screen, without spaces at its end. */
static const char *row(int line)
{
	static char bytes[400];

	must(mvinnstr(line, 0, bytes, sizeof(bytes) - 1) >= 0);
	size_t length = strlen(bytes);
	while (length > 0 && bytes[length - 1] == ' ')
		bytes[--length] = '\0';
	return bytes;
}

static void expect_row(int line, const char *wanted)
{
	cr_assert_str_eq(row(line), wanted, "%d: %s", line, row(line));
}

static void press(uint32_t key)
{
	if (pick_key(&picking, key) == PICK_SHOW)
		picking.line_count = text.count;
}

/* ---- tests ---- */

Test(pick, a_text_is_shown_by_pages)
{
	draw(10, 80);
	press('d');
	draw(10, 80);
	expect_row(0, "step 12: make all");
	expect_row(1, "line 1");
	expect_row(8, "line 8");
	expect_row(9, "1-8 of 30  u undo this step   s undo from here on   q back");
	press(SCREEN_KEY_PAGE_DOWN);
	draw(10, 80);
	expect_row(1, "line 9");
	press(SCREEN_KEY_END);
	draw(10, 80);
	expect_row(1, "line 23");
	expect_row(8, "line 30");
	expect_row(9, "23-30 of 30  u undo this step   s undo from here on   q back");
	draw(40, 80); /* it became larger: all fits */
	expect_row(1, "line 1");
	expect_row(30, "line 30");
	expect_row(39, "u undo this step   s undo from here on   q back");
}

Test(pick, the_chosen_step_is_in_sight_at_any_size)
{
	draw(10, 80);
	press(SCREEN_KEY_END);
	draw(10, 80);
	cr_assert_eq(picking.chosen, STEPS - 1);
	cr_assert_eq(picking.offset, STEPS - picking.page);
	draw(40, 80);
	cr_assert_eq(picking.offset, 0); /* all fit: none is out of sight above */
	cr_assert(strstr(row(2), "  12 "), "%s", row(2));
}

Test(pick, the_panel_has_no_more_rows_than_there_are)
{
	press(SCREEN_KEY_DOWN);
	draw(15, 80);
	cr_assert(strstr(row(9), " step 11 "), "%s", row(9));
	expect_row(10, "   made              +3  file-1");
	expect_row(12, "   made              +3  file-3");
	expect_row(13, "   and 5 more");
	cr_assert(strstr(row(14), "q quit"), "%s", row(14));
	stories[1].lost = &(struct story_lost){ .path = names[0], .why = (char[]){ "gone" } };
	stories[1].lost_count = 1;
	draw(15, 80);
	expect_row(10, "   1 cannot be undone: file-1 (gone)");
	expect_row(13, "   and 6 more");
	draw(30, 80); /* all fit */
	expect_row(28, "   made              +3  file-8");
	draw(8, 80); /* no room for any */
	cr_assert_not(strstr(row(6), "file"), "%s", row(6));
}

Test(pick, a_narrow_terminal_has_fewer_columns)
{
	const struct {
		int columns;
		const char *heads;
	} CASES[] = {
		{ 80, " STEP TIME       EXIT FILES       LINES COMMAND" },
		{ 59, " STEP   EXIT FILES       LINES COMMAND" },
		{ 49, " STEP FILES       LINES COMMAND" },
		{ 39, " STEP       LINES COMMAND" },
		{ 33, " STEP COMMAND" },
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		draw(20, CASES[i].columns);
		expect_row(1, CASES[i].heads);
	}
	draw(20, 19);
	expect_row(0, "too small; q quits");
}

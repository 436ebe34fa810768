/*
 * A sheet for people: sections of facts and tables, for a terminal or in Markdown, told once for
 * both.
 *
 * This program's own words are formats; text from elsewhere goes through sheet_name() and similar
 * alone, which escape it for the form:
 *
 *   text       control characters, and those that turn a line's direction, as \xHH; no line begins with what others wrote, nor does it
 *              hold `##[`: a CI runner takes neither for a command.  On a terminal it is cut to the line.
 *   Markdown   the same, as code: no link, mention, issue, emoji, formula or HTML comes of it, and a table stays a table.
 */
#ifndef SEEN_CLI_SHEET_H
#define SEEN_CLI_SHEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum sheet_form { SHEET_TEXT, SHEET_MARKDOWN };

enum { SHEET_TABLE_COLUMNS = 8 };

struct sheet_column {
	const char *title;
	/* of numbers; below 0: of words, which begin at the left; 0: of the last one, as wide as
	 * there is room */
	int width;
};

struct sheet {
	FILE *file;
	enum sheet_form form;
	unsigned columns; /* of a line; 0: no limit */
	/* Of the line in the making. */
	unsigned used;
	const struct sheet_column *table;
	size_t table_columns, cell;
};

/* sheet_init(): columns: those of the terminal that `file` is; for others no limit. */
void sheet_init(struct sheet *sheet, FILE *file, enum sheet_form form);

/* sheet_section(): a title, with an empty line above but for the first. */
void sheet_section(struct sheet *sheet, const char *title);

/* sheet_fact(): begins a line with a label; sheet_print() and sheet_name() add to it,
 * sheet_finish() ends it. */
void sheet_fact(struct sheet *sheet, const char *label);
__attribute__((format(printf, 2, 3))) void sheet_print(struct sheet *sheet, const char *format,
						       ...);
void sheet_name(struct sheet *sheet, const char *bytes);
void sheet_finish(struct sheet *sheet);

/* sheet_warn(), sheet_calm(): what is printed in between stands out. */
void sheet_warn(struct sheet *sheet);
void sheet_calm(struct sheet *sheet);

/* sheet_note(): a line below a table. */
__attribute__((format(printf, 2, 3))) void sheet_note(struct sheet *sheet, const char *format, ...);

/* sheet_table(): begins a table.  columns: borrowed until its last row; at most
 * SHEET_TABLE_COLUMNS.  Then for each row its cells, and sheet_finish(). */
void sheet_table(struct sheet *sheet, const struct sheet_column *columns, size_t count);
void sheet_cell(struct sheet *sheet, const char *words);
void sheet_cell_count(struct sheet *sheet, uint64_t number);
void sheet_cell_name(struct sheet *sheet, const char *bytes);

/* sheet_number(): text_number() in one of 16 places, in turn. */
const char *sheet_number(uint64_t number);

#endif

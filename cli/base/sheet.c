/* Sheets: see sheet.h. */
#include "cli/base/sheet.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "tracker/journal/journal.h"
#include "tracker/path/path.h"

enum {
	LABEL_COLUMNS = 11,
	TERMINAL_COLUMNS = 80, /* of one that does not tell */
	NAME_COLUMNS_MIN = 12, /* a name is shown, even where there is no room left */
	MARKDOWN_NAME = 200,   /* characters of a name */
	NAME_BYTES = 8 * JOURNAL_TEXT_BYTES_MAX + 8,
};

void sheet_init(struct sheet *sheet, FILE *file, enum sheet_form form)
{
	struct winsize size = { .ws_col = 0 };

	*sheet = (struct sheet){ .file = file, .form = form };
	if (form != SHEET_TEXT || !isatty(fileno(file)))
		return;
	sheet->columns = TERMINAL_COLUMNS;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col >= TERMINAL_COLUMNS / 2)
		sheet->columns = size.ws_col;
}

const char *sheet_number(uint64_t number)
{
	static char texts[16][TEXT_NUMBER_BYTES];
	static unsigned next;
	return text_number(number, texts[next++ % 16]);
}

/* ---- names ---- */

/* Characters that turn the direction of what follows, or end a line for some: U+200E, U+200F,
 * U+2028 to U+202E, U+2066 to U+2069. */
static bool turns(const unsigned char *bytes)
{
	if (bytes[0] != 0xe2)
		return false;
	if (bytes[1] == 0x80)
		return bytes[2] == 0x8e || bytes[2] == 0x8f ||
		       (bytes[2] >= 0xa8 && bytes[2] <= 0xae);
	return bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
}

/* Makes bytes safe for a line.  Returns text that is valid until the next call. */
static const char *escape(const char *bytes)
{
	static char plain[NAME_BYTES], safe[4 * NAME_BYTES];
	char *at = safe;

	if (path_escape(bytes, plain, sizeof(plain)) < 0)
		return "?";
	for (const char *from = plain; *from; from++) {
		if (turns((const unsigned char *)from)) {
			for (int i = 0; i < 3; i++)
				at += sprintf(at, "\\x%02x", (unsigned char)from[i]);
			from += 2;
		} else if (strncmp(from, "##[", 3) == 0) {
			at += sprintf(at, "\\x23"); /* a runner's command of old */
		} else {
			*at++ = *from;
		}
	}
	*at = '\0';
	return safe;
}

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t characters(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += begins_character(*text);
	return count;
}

/* What of a text fits: of a path the end tells more.  Sets whether something was left out before
 * it. */
static const char *fit(const char *text, size_t room, bool *ret_is_cut)
{
	size_t count = characters(text);

	*ret_is_cut = count > room;
	if (!*ret_is_cut)
		return text;
	for (size_t left_out = count - room + 3; left_out; left_out -= begins_character(*text))
		text++;
	return text;
}

/* Longest run of a byte. */
static size_t longest_run(const char *text, char byte)
{
	size_t longest = 0, run = 0;

	for (; *text; text++) {
		run = *text == byte ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* A code span (CommonMark 6.1): what is in it means nothing, but that a row of a table is first cut
 * at its pipes.  A backslash before one keeps it; those of escape() come in pairs before it.  Two
 * spaces belong to the span where there is anything else in it. */
static void append_code(struct sheet *sheet, const char *before, const char *text)
{
	size_t fence = longest_run(text, '`') + 1;
	bool is_blank = !before[0] && !text[strspn(text, " ")];

	for (size_t i = 0; i < fence; i++)
		(void)fputc('`', sheet->file);
	(void)fputs(is_blank ? "" : " ", sheet->file);
	(void)fputs(before, sheet->file);
	for (; *text; text++)
		(void)fprintf(sheet->file, *text == '|' && sheet->table ? "\\%c" : "%c", *text);
	(void)fputs(is_blank ? "" : " ", sheet->file);
	for (size_t i = 0; i < fence; i++)
		(void)fputc('`', sheet->file);
}

/* width: what it is filled up to; 0: nothing. */
static void append_name(struct sheet *sheet, const char *bytes, size_t room, size_t width)
{
	bool is_cut = false;
	const char *text = escape(bytes);

	if (sheet->form == SHEET_MARKDOWN) {
		text = fit(text, MARKDOWN_NAME, &is_cut);
		append_code(sheet, is_cut ? "..." : "", text[0] ? text : "?");
		return;
	}
	if (room)
		text = fit(text, room, &is_cut);
	size_t shown = characters(text) + (is_cut ? 3 : 0);
	(void)fprintf(sheet->file, "%s%s%*s", is_cut ? "..." : "", text,
		      shown < width ? (int)(width - shown) : 0, "");
	sheet->used += (unsigned)(shown < width ? width : shown);
}

/* Columns left in the line; 0: no limit. */
static size_t room_of(const struct sheet *sheet)
{
	if (!sheet->columns)
		return 0;
	return sheet->used + NAME_COLUMNS_MIN > sheet->columns ? NAME_COLUMNS_MIN
							       : sheet->columns - sheet->used;
}

/* ---- lines ---- */

static void append(struct sheet *sheet, const char *text)
{
	(void)fputs(text, sheet->file);
	sheet->used += (unsigned)characters(text);
}

static void append_styled(struct sheet *sheet, const char *style, const char *text)
{
	(void)fputs(text_style(sheet->file, style), sheet->file);
	append(sheet, text);
	(void)fputs(text_style(sheet->file, "0"), sheet->file);
}

void sheet_section(struct sheet *sheet, const char *title)
{
	sheet->table = NULL;
	if (sheet->form == SHEET_MARKDOWN)
		(void)fprintf(sheet->file, "\n### %s\n\n", title);
	else
		(void)fprintf(sheet->file, "\n%s%s%s\n", text_style(sheet->file, "1"), title,
			      text_style(sheet->file, "0"));
	sheet->used = 0;
}

void sheet_fact(struct sheet *sheet, const char *label)
{
	char padded[LABEL_COLUMNS + 32];

	sheet->table = NULL;
	if (sheet->form == SHEET_MARKDOWN) {
		(void)fprintf(sheet->file, "* **%s**: ", label);
		return;
	}
	(void)snprintf(padded, sizeof(padded), "%-*s ", LABEL_COLUMNS - 1, label);
	append_styled(sheet, "1", padded);
}

/* Words, in lines as long as a terminal's. */
static void append_words(struct sheet *sheet, const char *text, size_t indent)
{
	size_t limit = sheet->columns ? sheet->columns : TERMINAL_COLUMNS;

	while (*text) {
		size_t spaces = strspn(text, " "), length = strcspn(text + spaces, " ");
		if (sheet->form == SHEET_TEXT && spaces && sheet->used > indent &&
		    sheet->used + spaces + length > limit) {
			(void)fprintf(sheet->file, "\n%*s", (int)indent, "");
			sheet->used = (unsigned)indent;
		} else {
			(void)fprintf(sheet->file, "%.*s", (int)spaces, text);
			sheet->used += (unsigned)spaces;
		}
		(void)fprintf(sheet->file, "%.*s", (int)length, text + spaces);
		sheet->used += (unsigned)length;
		text += spaces + length;
	}
}

void sheet_print(struct sheet *sheet, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	append_words(sheet, text, LABEL_COLUMNS);
}

void sheet_name(struct sheet *sheet, const char *bytes)
{
	append_name(sheet, bytes, room_of(sheet), 0);
}

void sheet_finish(struct sheet *sheet)
{
	if (sheet->table && sheet->form == SHEET_MARKDOWN)
		(void)fputs(" |", sheet->file);
	(void)fputc('\n', sheet->file);
	sheet->used = 0;
	sheet->cell = 0;
}

void sheet_warn(struct sheet *sheet)
{
	(void)fputs(sheet->form == SHEET_MARKDOWN ? "**" : text_style(sheet->file, "33"),
		    sheet->file);
}

void sheet_calm(struct sheet *sheet)
{
	(void)fputs(sheet->form == SHEET_MARKDOWN ? "**" : text_style(sheet->file, "0"),
		    sheet->file);
}

void sheet_note(struct sheet *sheet, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sheet->table = NULL;
	if (sheet->form == SHEET_MARKDOWN)
		(void)fputc('\n', sheet->file);
	if (sheet->form == SHEET_TEXT)
		(void)fputs(text_style(sheet->file, "2"), sheet->file);
	append_words(sheet, text, 0);
	if (sheet->form == SHEET_TEXT)
		(void)fputs(text_style(sheet->file, "0"), sheet->file);
	sheet_finish(sheet);
}

/* ---- tables ---- */

void sheet_table(struct sheet *sheet, const struct sheet_column *columns, size_t count)
{
	sheet->table = columns;
	sheet->table_columns = count;
	sheet->cell = 0;
	if (sheet->form == SHEET_TEXT)
		(void)fputs(text_style(sheet->file, "1"), sheet->file);
	for (size_t i = 0; i < count; i++)
		sheet_cell(sheet, columns[i].title);
	if (sheet->form == SHEET_TEXT)
		(void)fputs(text_style(sheet->file, "0"), sheet->file);
	sheet_finish(sheet);
	if (sheet->form == SHEET_TEXT)
		return;
	for (size_t i = 0; i < count; i++)
		(void)fputs(columns[i].width > 0 ? "| ---: " : "| --- ", sheet->file);
	(void)fputs("|\n", sheet->file);
}

/* Before a cell.  Returns its width. */
static int start_cell(struct sheet *sheet)
{
	int width = sheet->cell < sheet->table_columns ? sheet->table[sheet->cell].width : 0;

	if (sheet->form == SHEET_MARKDOWN)
		(void)fputs(sheet->cell ? " | " : "| ", sheet->file);
	else if (sheet->cell)
		append(sheet, "  ");
	sheet->cell++;
	return width;
}

void sheet_cell(struct sheet *sheet, const char *words)
{
	char padded[128];
	int width = start_cell(sheet);

	(void)snprintf(padded, sizeof(padded), "%*s",
		       sheet->form == SHEET_TEXT && (width || words[0]) ? width : 0, words);
	append(sheet, padded);
}

void sheet_cell_count(struct sheet *sheet, uint64_t number)
{
	sheet_cell(sheet, sheet_number(number));
}

void sheet_cell_name(struct sheet *sheet, const char *bytes)
{
	int width = start_cell(sheet);
	append_name(sheet, bytes, width ? (size_t)abs(width) : room_of(sheet), (size_t)abs(width));
}

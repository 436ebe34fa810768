/*
 * Export as comma-separated values (RFC 4180, but for lines that end with a newline alone): a line
 * of names, a line for each event.
 *
 * A text that is there is in quotes, so that an empty one is not taken for none.  A spreadsheet
 * takes a text that begins with = + - @ for a formula, and would run what a file name says: such a
 * first character is escaped like a control character, so that the bytes can still be recovered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/export/export_row.h"
#include "tracker/path/path.h"

static int start(struct export *export)
{
	export->own = export_row_new();
	if (!export->own)
		return -ENOMEM;
	if (export->added)
		return 0;
	(void)fputs("journal,session", export->file);
	for (unsigned i = 0; i < EXPORT_COLUMN_COUNT; i++)
		(void)fprintf(export->file, ",%s", export_column_name((enum export_column)i));
	(void)fputs(",more\n", export->file);
	return 0;
}

/* How many bytes there are at the beginning of a text that make it a formula: one, or a wide
 * character that some spreadsheets take for one. */
static size_t formula_bytes(const char *text)
{
	static const char *const WIDE[] = { "\uff1d", "\uff0b", "\uff0d", "\uff20" };

	if (text[0] && strchr("=+-@", text[0]))
		return 1;
	for (size_t i = 0; i < sizeof(WIDE) / sizeof(WIDE[0]); i++)
		if (strncmp(text, WIDE[i], strlen(WIDE[i])) == 0)
			return strlen(WIDE[i]);
	return 0;
}

/* text: has no control characters. */
static void write_text(FILE *file, const char *text)
{
	(void)putc_unlocked('"', file);
	for (size_t formula = formula_bytes(text); formula; formula--)
		(void)fprintf(file, "\\x%02x", (unsigned char)*text++);
	for (;;) {
		size_t plain = strcspn(text, "\"");
		(void)fwrite_unlocked(text, 1, plain, file);
		text += plain;
		if (!*text)
			break;
		(void)fputs_unlocked("\"\"", file);
		text++;
	}
	(void)putc_unlocked('"', file);
}

static void write_cell(FILE *file, const struct export_cell *cell)
{
	switch (cell->kind) {
	case EXPORT_CELL_NUMBER:
		(void)fprintf(file, "%lld", (long long)cell->number);
		break;
	case EXPORT_CELL_BOOLEAN:
		(void)fputs_unlocked(cell->number ? "true" : "false", file);
		break;
	case EXPORT_CELL_TEXT:
	case EXPORT_CELL_JSON:
		write_text(file, cell->text);
		break;
	case EXPORT_CELL_NONE:
		break;
	}
}

static int add_event(struct export *export, const struct event *event)
{
	struct export_row *row = export->own;
	char session[4 * JOURNAL_NAME_BYTES];
	const char *more;
	int error = export_row_fill(row, event);

	if (error == 0)
		error = export_row_more(row, false, &more);
	if (error < 0)
		return error;
	write_text(export->file, export->facts.journal);
	(void)putc_unlocked(',', export->file);
	(void)path_escape(export->facts.session, session, sizeof(session));
	write_text(export->file, session);
	for (unsigned i = 0; i < EXPORT_COLUMN_COUNT; i++) {
		(void)putc_unlocked(',', export->file);
		write_cell(export->file, &row->cells[i]);
	}
	(void)putc_unlocked(',', export->file);
	if (more)
		write_text(export->file, more);
	(void)putc_unlocked('\n', export->file);
	return 0;
}

static void close_row(struct export *export)
{
	export_row_free(export->own);
	export->own = NULL;
}

const struct export_format export_csv = {
	.name = "csv",
	.kind = EXPORT_ROWS,
	.start = start,
	.event = add_event,
	.close = close_row,
};

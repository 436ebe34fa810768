/*
 * An event as a row of a table: what seen/log/1 has as members, by columns
 * (cli/journal/members.def).
 *
 * Texts are safe for a line of text and for a terminal: path_escape(), so that the bytes can be
 * recovered.  Lists of words are joined by `|`; arguments are JSON, as in seen/log/1.
 */
#ifndef SEEN_CLI_EXPORT_ROW_H
#define SEEN_CLI_EXPORT_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/journal/event_members.h"
#include "cli/journal/events.h"

enum export_column {
#define COLUMN(name, kind) EXPORT_COLUMN_##name,
#include "cli/journal/members.def"
	EXPORT_COLUMN_COUNT,
};

enum export_column_kind {
	EXPORT_KIND_EVENT,
	EXPORT_KIND_PATH,
	EXPORT_KIND_PROCESS,
	EXPORT_KIND_MORE,
};

enum export_cell_kind {
	EXPORT_CELL_NONE, /* not known, or the event has no such member */
	EXPORT_CELL_NUMBER,
	EXPORT_CELL_BOOLEAN, /* in `number` */
	EXPORT_CELL_TEXT,
	EXPORT_CELL_JSON, /* in `text` */
};

struct export_cell {
	enum export_cell_kind kind;
	int64_t number;
	const char *text;
};

enum {
	EXPORT_ROW_TEXT_BYTES = 1 << 19
}; /* more than the texts of an event can be, each byte escaped */

struct export_row {
	struct event_members members;
	struct export_cell cells[EXPORT_COLUMN_COUNT];
	json_t *rest; /* members that have no column; NULL: none */
	unsigned op;
	int error;
	size_t text_bytes;
	char text[EXPORT_ROW_TEXT_BYTES]; /* what the cells point to */
};

/* export_row_new(): one to be used for all events; export_row_free() accepts NULL.  Returns NULL
 * when out of memory. */
struct export_row *export_row_new(void);
void export_row_free(struct export_row *row);

/* export_row_fill(): the row of an event, until the next one.  Returns 0 or -ENOMEM. */
int export_row_fill(struct export_row *row, const struct event *event);

/* export_row_more(): what has no column of kind EVENT, PATH or PROCESS, as a JSON object; without
 * null, false and, where nothing is left, NULL.
 * with_columns: false: what has no column at all.  Valid until the next event.  Returns 0 or
 * -ENOMEM. */
int export_row_more(struct export_row *row, bool with_columns, const char **ret_text);

const char *export_column_name(enum export_column column);
enum export_column_kind export_column_kind(enum export_column column);

#endif

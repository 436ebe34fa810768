/* An event as a row of a table: see export_row.h. */
#include "cli/export/export_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "tracker/path/path.h"

enum { NAME_SLOTS = 256 };

static const struct {
	const char *name;
	enum export_column_kind kind;
} COLUMNS[] = {
#define COLUMN(name, kind) { #name, EXPORT_KIND_##kind },
#include "cli/journal/members.def"
};

const char *export_column_name(enum export_column column)
{
	return COLUMNS[column].name;
}

enum export_column_kind export_column_kind(enum export_column column)
{
	return COLUMNS[column].kind;
}

static unsigned slot_of(const char *name)
{
	uint32_t hash = 2166136261u;
	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash % NAME_SLOTS;
}

/* The column that has a member's name; EXPORT_COLUMN_COUNT: there is none. */
static enum export_column find_column(const char *name)
{
	static uint8_t slots[NAME_SLOTS]; /* column + 1 */
	static bool filled;
	unsigned at;

	_Static_assert(EXPORT_COLUMN_COUNT < NAME_SLOTS / 2, "there are free slots");
	for (unsigned i = 0; !filled && i < EXPORT_COLUMN_COUNT; i++) {
		for (at = slot_of(COLUMNS[i].name); slots[at]; at = (at + 1) % NAME_SLOTS)
			;
		slots[at] = (uint8_t)(i + 1);
	}
	filled = true;
	for (at = slot_of(name); slots[at]; at = (at + 1) % NAME_SLOTS)
		if (strcmp(COLUMNS[slots[at] - 1].name, name) == 0)
			return (enum export_column)(slots[at] - 1);
	return EXPORT_COLUMN_COUNT;
}

/* ---- texts ---- */

/* Keeps a text that it takes `length` bytes of at most; NULL: it did not fit. */
static char *room_for(struct export_row *row, size_t length)
{
	if (length >= sizeof(row->text) - row->text_bytes) {
		row->error = -ENOMEM;
		return NULL;
	}
	return row->text + row->text_bytes;
}

static void keep(struct export_row *row, struct export_cell *cell, enum export_cell_kind kind,
		 char *text, size_t length)
{
	*cell = (struct export_cell){ .kind = kind, .text = text };
	row->text_bytes += length + 1;
}

static void set_text(struct export_row *row, struct export_cell *cell, const char *bytes)
{
	char *text = room_for(row, 0);
	int length = text ? path_escape(bytes, text, sizeof(row->text) - row->text_bytes) : 0;

	if (length < 0)
		row->error = -ENOMEM;
	else if (text)
		keep(row, cell, EXPORT_CELL_TEXT, text, (size_t)length);
}

/* ["a", "b"] as a|b. */
static void set_words(struct export_row *row, struct export_cell *cell, const json_t *words)
{
	size_t index, length = 0;
	const json_t *word;

	json_array_foreach(words, index, word) length += json_string_length(word) + 1;
	char *text = room_for(row, length), *at = text;
	if (!text)
		return;
	*at = '\0';
	json_array_foreach(words, index, word)
	{
		if (index)
			*at++ = '|';
		at = stpcpy(at, json_string_value(word));
	}
	keep(row, cell, EXPORT_CELL_TEXT, text, (size_t)(at - text));
}

/* JSON lets DEL and the C1 control characters stand as they are; a terminal does not. */
static size_t write_json_byte(const char *bytes, char *at, size_t *ret_taken)
{
	unsigned char first = (unsigned char)bytes[0], second = (unsigned char)bytes[1];
	bool is_c1 = first == 0xc2 && second >= 0x80 && second < 0xa0;

	*ret_taken = is_c1 ? 2 : 1;
	if (!is_c1 && first != 0x7f) {
		*at = (char)first;
		return 1;
	}
	return (size_t)sprintf(at, "\\u%04x", is_c1 ? second : first);
}

static void set_json(struct export_row *row, struct export_cell *cell, const json_t *value)
{
	char *json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	char *text = json ? room_for(row, strlen(json) * 6) : NULL, *at = text;

	if (!json)
		row->error = -ENOMEM;
	for (size_t i = 0, taken; text && json[i]; i += taken)
		at += write_json_byte(json + i, at, &taken);
	if (text) {
		*at = '\0';
		keep(row, cell, EXPORT_CELL_JSON, text, (size_t)(at - text));
	}
	free(json);
}

/* ---- members ---- */

/* What `name` tells has no column: it is kept aside.  Takes the reference. */
static void set_aside(struct export_row *row, const char *name, json_t *value)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the members belong to a row */
	if (!row->rest)
		row->rest = json_object();
	if (json_object_set_new_nocheck(row->rest, name, value) < 0)
		row->error = -ENOMEM;
}

static struct export_cell *cell_of(struct export_row *row, const char *name)
{
	enum export_column column = find_column(name);
	if (column == EXPORT_COLUMN_partial && row->op == JOURNAL_COVERAGE)
		column = EXPORT_COLUMN_partial_processes; /* a number, not whether one is */
	return column == EXPORT_COLUMN_COUNT ? NULL : &row->cells[column];
}

static void write_text(struct event_members *members, const char *name, const char *bytes)
{
	struct export_row *row = (struct export_row *)members;
	struct export_cell *cell = cell_of(row, name);

	if (!bytes)
		return;
	if (cell)
		set_text(row, cell, bytes);
	else
		set_aside(row, name, text_json(bytes));
}

static void write_number(struct event_members *members, const char *name, int64_t number)
{
	struct export_row *row = (struct export_row *)members;
	struct export_cell *cell = cell_of(row, name);

	if (cell)
		*cell = (struct export_cell){ .kind = EXPORT_CELL_NUMBER, .number = number };
	else
		set_aside(row, name, json_integer(number));
}

/* The members of `file`. */
static void write_file(struct export_row *row, json_t *file)
{
	static const char *const NAMES[][2] = {
#define PART(id, column, name) { #name, #id },
#include "cli/journal/members.def"
	};

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		const json_t *value = json_object_get(file, NAMES[i][0]);
		if (json_is_integer(value))
			write_number(&row->members, NAMES[i][1], json_integer_value(value));
		else
			write_text(&row->members, NAMES[i][1], json_string_value(value));
	}
}

static bool are_words(const json_t *value)
{
	size_t index;
	const json_t *word;

	json_array_foreach(value, index, word) if (!json_is_string(word)) return false;
	return json_is_array(value);
}

static void write_member(struct event_members *members, const char *name, json_t *value)
{
	struct export_row *row = (struct export_row *)members;
	struct export_cell *cell = cell_of(row, name);

	if (!value) {
		row->error = -ENOMEM;
	} else if (json_is_null(value)) {
		return;
	} else if (strcmp(name, "file") == 0) {
		write_file(row, value);
	} else if (!cell) {
		set_aside(row, name, json_incref(value));
	} else if (json_is_boolean(value)) {
		*cell = (struct export_cell){ .kind = EXPORT_CELL_BOOLEAN,
					      .number = json_is_true(value) };
	} else if (json_is_integer(value)) {
		write_number(members, name, json_integer_value(value));
	} else if (cell != &row->cells[EXPORT_COLUMN_arguments] && are_words(value)) {
		set_words(row, cell, value);
	} else {
		set_json(row, cell, value);
	}
	json_decref(value);
}

/* ---- rows ---- */

struct export_row *export_row_new(void)
{
	struct export_row *row = calloc(1, sizeof(*row));
	if (row)
		row->members = (struct event_members){ .set = write_member,
						       .set_text = write_text,
						       .set_number = write_number };
	return row;
}

void export_row_free(struct export_row *row)
{
	if (row)
		json_decref(row->rest);
	free(row);
}

int export_row_fill(struct export_row *row, const struct event *event)
{
	memset(row->cells, 0, sizeof(row->cells));
	json_decref(row->rest);
	row->rest = NULL;
	row->op = event->op;
	row->error = 0;
	row->text_bytes = 0;
	event_members_common(&row->members, event);
	event_members_own(&row->members, event);
	return row->error;
}

/* What a cell holds, for JSON. */
static json_t *json_of(const struct export_cell *cell)
{
	switch (cell->kind) {
	case EXPORT_CELL_NUMBER:
		return json_integer(cell->number);
	case EXPORT_CELL_BOOLEAN:
		return json_boolean(cell->number);
	case EXPORT_CELL_TEXT:
		return json_string_nocheck(cell->text);
	case EXPORT_CELL_JSON:
		return json_loads(cell->text, JSON_DECODE_ANY, NULL);
	case EXPORT_CELL_NONE:
		break;
	}
	return NULL;
}

int export_row_more(struct export_row *row, bool with_columns, const char **ret_text)
{
	struct export_cell text = { .text = NULL };

	for (unsigned i = 0; with_columns && i < EXPORT_COLUMN_COUNT; i++) {
		const struct export_cell *cell = &row->cells[i];
		if (COLUMNS[i].kind == EXPORT_KIND_MORE && cell->kind &&
		    !(cell->kind == EXPORT_CELL_BOOLEAN && !cell->number))
			set_aside(row, COLUMNS[i].name, json_of(cell));
	}
	if (row->rest)
		set_json(row, &text, row->rest);
	*ret_text = text.text;
	return row->error;
}

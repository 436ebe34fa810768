/* Changing a JSON text in place: see json_edit.h. */
#include "cli/base/json_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUMP_INDENT = 2, UNIT_MAX = 32 };

json_t *json_edit_check(const struct json_text *text, int *ret_line, char *ret_fault,
			size_t capacity)
{
	json_error_t error;
	json_t *document = json_loadb(
		text->bytes, text->length,
		JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);

	if (!document) {
		*ret_line = error.line > 0 ? error.line : 1;
		(void)snprintf(ret_fault, capacity, "%s", error.text);
	}
	return document;
}

/* ---- places in a valid text ---- */

static size_t skip_space(const struct json_text *text, size_t at)
{
	return at + strspn(text->bytes + at, " \t\r\n");
}

static size_t skip_string(const struct json_text *text, size_t at)
{
	for (at++; text->bytes[at] && text->bytes[at] != '"'; at++)
		if (text->bytes[at] == '\\' && text->bytes[at + 1])
			at++;
	return text->bytes[at] ? at + 1 : at;
}

static size_t skip_value(const struct json_text *text, size_t at)
{
	size_t depth = 0;

	do {
		switch (text->bytes[at]) {
		case '\0':
			return at;
		case '"':
			at = skip_string(text, at);
			break;
		case '{':
		case '[':
			depth++;
			at++;
			break;
		case '}':
		case ']':
			depth--;
			at++;
			break;
		default: /* inside a container a comma and such are passed one by one */
			if (depth)
				at++;
			else
				at += strcspn(text->bytes + at, " \t\r\n,]}");
			break;
		}
	} while (depth);
	return at;
}

struct json_span json_edit_root(const struct json_text *text)
{
	size_t start = skip_space(text, 0);
	return (struct json_span){ start, skip_value(text, start) };
}

bool json_edit_item(const struct json_text *text, struct json_span container, size_t index,
		    struct json_item *ret_item)
{
	bool is_object = text->bytes[container.start] == '{';
	size_t at = skip_space(text, container.start + 1);

	if (!is_object && text->bytes[container.start] != '[')
		return false;
	for (size_t i = 0; text->bytes[at] && !strchr("]}", text->bytes[at]); i++) {
		struct json_item item = { .whole.start = at };
		if (is_object) {
			at = skip_space(text, skip_string(text, at));
			at = skip_space(text, at + 1); /* the colon */
		}
		item.value.start = at;
		at = skip_value(text, at);
		item.value.end = item.whole.end = at;
		if (i == index) {
			*ret_item = item;
			return true;
		}
		at = skip_space(text, at);
		if (text->bytes[at] == ',')
			at = skip_space(text, at + 1);
	}
	return false;
}

bool json_edit_member(const struct json_text *text, struct json_span object, const char *key,
		      size_t *ret_index, struct json_item *ret_item)
{
	struct json_item item;

	if (text->bytes[object.start] != '{')
		return false;
	for (size_t i = 0; json_edit_item(text, object, i, &item); i++) {
		/* A key may be written in several ways. */
		json_t *name = json_edit_value(
			text, (struct json_span){ item.whole.start,
						  skip_string(text, item.whole.start) });
		bool found = name && strcmp(json_string_value(name), key) == 0;
		json_decref(name);
		if (found) {
			*ret_index = i;
			*ret_item = item;
			return true;
		}
	}
	return false;
}

json_t *json_edit_value(const struct json_text *text, struct json_span value)
{
	return json_loadb(text->bytes + value.start, value.end - value.start,
			  JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
}

/* ---- layout ---- */

/* Where a line's first byte is. */
static size_t line_start(const struct json_text *text, size_t at)
{
	while (at > 0 && text->bytes[at - 1] != '\n')
		at--;
	return at;
}

/* The white space that a line begins with. */
static struct json_span indent_of(const struct json_text *text, size_t at)
{
	size_t start = line_start(text, at);
	return (struct json_span){ start, start + strspn(text->bytes + start, " \t") };
}

static bool begins_line(const struct json_text *text, size_t at)
{
	size_t start = line_start(text, at);
	return start > 0 && indent_of(text, at).end == at;
}

/* What one level is indented by: as the document's first item is. */
static struct json_span unit_of(const struct json_text *text)
{
	struct json_item item;
	struct json_span none = { 0, 0 };

	if (!json_edit_item(text, json_edit_root(text), 0, &item) ||
	    !begins_line(text, item.whole.start))
		return none;
	struct json_span unit = indent_of(text, item.whole.start);
	return unit.end - unit.start <= UNIT_MAX ? unit : none;
}

/* Writes what a dump says, each line behind the first with `base` and a unit for each level;
 * inline: all in one line, with a space behind every bracket, so that no bracket seems older than
 * what is in it. */
static void lay_out(FILE *out, const struct json_text *text, const char *dump,
		    struct json_span base, bool is_inline)
{
	struct json_span unit = unit_of(text);
	const char *newline = strstr(text->bytes, "\r\n") ? "\r\n" : "\n";

	for (; *dump; dump++) {
		if (*dump != '\n') {
			(void)fputc(*dump, out);
			continue;
		}
		size_t spaces = strspn(dump + 1, " ");
		dump += spaces;
		if (is_inline) {
			(void)fputc(' ', out);
			continue;
		}
		(void)fprintf(out, "%s%.*s", newline, (int)(base.end - base.start),
			      text->bytes + base.start);
		for (size_t level = 0; level < spaces / DUMP_INDENT; level++) {
			if (unit.end > unit.start)
				(void)fprintf(out, "%.*s", (int)(unit.end - unit.start),
					      text->bytes + unit.start);
			else
				(void)fputs("  ", out);
		}
	}
}

/* Replaces a part of the text.  Returns 0 or -ENOMEM. */
static int splice(struct json_text *text, struct json_span part, const char *bytes, size_t count)
{
	size_t rest = text->length - part.end;
	size_t length = part.start + count + rest;
	char *fresh = malloc(length + 1);

	if (!fresh)
		return -ENOMEM;
	memcpy(fresh, text->bytes, part.start);
	if (count)
		memcpy(fresh + part.start, bytes, count);
	memcpy(fresh + part.start + count, text->bytes + part.end, rest);
	fresh[length] = '\0';
	free(text->bytes);
	text->bytes = fresh;
	text->length = length;
	return 0;
}

int json_edit_insert(struct json_text *text, struct json_span container, const char *key,
		     const json_t *value)
{
	struct json_item item, last = { .whole.start = 0 };
	size_t count = 0, used = 0;
	char *written = NULL;

	while (json_edit_item(text, container, count, &item)) {
		last = item;
		count++;
	}
	bool inline_too = count && !begins_line(text, last.whole.start);
	char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(DUMP_INDENT));
	json_t *name = key ? json_string(key) : NULL;
	char *name_dump = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
	FILE *out = open_memstream(&written, &used);
	int error = dump && out && (!key || name_dump) ? 0 : -ENOMEM;

	if (error == 0) {
		/* Into an empty one: deeper than the line that its bracket stands in. */
		struct json_span base = indent_of(text, count ? last.whole.start : container.start);
		if (inline_too)
			(void)fputs(", ", out);
		else if (count)
			(void)fprintf(out, ",%s%.*s", strstr(text->bytes, "\r\n") ? "\r\n" : "\n",
				      (int)(base.end - base.start), text->bytes + base.start);
		if (key)
			(void)fprintf(out, "%s: ", name_dump);
		lay_out(out, text, dump, base, inline_too);
		error = ferror(out) ? -ENOMEM : 0;
	}
	if (out && fclose(out) != 0)
		error = -ENOMEM;
	size_t at = count ? last.whole.end : container.start + 1;
	if (error == 0)
		error = splice(text, (struct json_span){ at, at }, written, used);
	free(written);
	free(name_dump);
	json_decref(name);
	free(dump);
	return error;
}

int json_edit_remove(struct json_text *text, struct json_span container, size_t index)
{
	struct json_item item, other;
	struct json_span part;
	bool is_mark = false, is_only = false;

	if (!json_edit_item(text, container, index, &item))
		return 0;
	if (index > 0 && json_edit_item(text, container, index - 1, &other)) {
		part = (struct json_span){ other.whole.end, item.whole.end };
	} else if (json_edit_item(text, container, index + 1, &other)) {
		part = (struct json_span){ item.whole.start, other.whole.start };
	} else {
		is_only = true;
		is_mark = item.whole.start == container.start + 1;
		part = item.whole;
	}
	int error = splice(text, part, NULL, 0);
	return error < 0 ? error : is_only && !is_mark;
}

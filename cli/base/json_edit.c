/* Changing a JSON text in place: see json_edit.h. */
#include "cli/base/json_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/jsonc.h"
#include "cli/base/memory_stream.h"
#include "cli/base/text.h"

enum { DUMP_INDENT = 2, UNIT_MAX = 32 };

json_t *json_edit_check(struct json_text *text, int *ret_line, char *ret_fault, size_t capacity)
{
	json_t *document = NULL;
	const char *fault = NULL;
	json_error_t error = { .line = 0 };

	text->plain = jsonc_plain(text->bytes, text->length, ret_line, &fault);
	if (!text->plain) {
		(void)snprintf(ret_fault, capacity, "%s", fault);
		return NULL;
	}
	document = jsonc_parse(text->plain, text->length,
			       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
			       &error);
	if (!document) {
		*ret_line = error.line > 0 ? error.line : 1;
		(void)snprintf(ret_fault, capacity, "%s", error.text);
	}
	return document;
}

int json_edit_line(const struct json_text *text, size_t at)
{
	int line = 1;

	while (at > 0)
		line += text->bytes[--at] == '\n';
	return line;
}

void json_edit_free(struct json_text *text)
{
	free(text->bytes);
	free(text->plain);
	*text = (struct json_text){ .bytes = NULL };
}

/* ---- places in a valid text ---- */

static size_t skip_space(const struct json_text *text, size_t at)
{
	return at + strspn(text->plain + at, " \t\r\n");
}

static size_t skip_string(const struct json_text *text, size_t at)
{
	for (at++; text->plain[at] && text->plain[at] != '"'; at++)
		if (text->plain[at] == '\\' && text->plain[at + 1])
			at++;
	return text->plain[at] ? at + 1 : at;
}

static size_t skip_value(const struct json_text *text, size_t at)
{
	size_t depth = 0;

	do {
		switch (text->plain[at]) {
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
				at += strcspn(text->plain + at, " \t\r\n,]}");
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
	bool is_object = text->plain[container.start] == '{';
	size_t at = skip_space(text, container.start + 1);

	if (!is_object && text->plain[container.start] != '[')
		return false;
	for (size_t i = 0; text->plain[at] && !strchr("]}", text->plain[at]); i++) {
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
		if (text->plain[at] == ',')
			at = skip_space(text, at + 1);
	}
	return false;
}

bool json_edit_member(const struct json_text *text, struct json_span object, const char *key,
		      size_t *ret_index, struct json_item *ret_item)
{
	struct json_item item;

	if (text->plain[object.start] != '{')
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
	return jsonc_parse(text->plain + value.start, value.end - value.start,
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

/* Replaces a part of one of the two forms of a text.  Returns 0 or -ENOMEM. */
static int splice_form(char **form, size_t length, struct json_span part, const char *bytes,
		       size_t count)
{
	size_t rest = length - part.end;
	char *fresh = malloc(part.start + count + rest + 1);

	if (!fresh)
		return -ENOMEM;
	memcpy(fresh, *form, part.start);
	if (count)
		memcpy(fresh + part.start, bytes, count);
	memcpy(fresh + part.start + count, *form + part.end, rest);
	fresh[part.start + count + rest] = '\0';
	free(*form);
	*form = fresh;
	return 0;
}

/* Replaces a part of the text.  bytes: have no comment.  Returns 0 or -ENOMEM. */
static int splice(struct json_text *text, struct json_span part, const char *bytes, size_t count)
{
	int error = splice_form(&text->bytes, text->length, part, bytes, count);

	if (error == 0)
		error = splice_form(&text->plain, text->length, part, bytes, count);
	if (error == 0)
		text->length += count - (part.end - part.start);
	return error;
}

/* ---- comments, and commas behind a last item ---- */

static bool has_comment(const struct json_text *text, struct json_span part)
{
	return memcmp(text->bytes + part.start, text->plain + part.start, part.end - part.start) !=
	       0;
}

/* Behind the last comment of a part; its start where there is none. */
static size_t behind_comments(const struct json_text *text, struct json_span part)
{
	size_t end = part.end;

	while (end > part.start && text->bytes[end - 1] == text->plain[end - 1])
		end--;
	return end;
}

/* Behind the comments that stand in the line of an item, or of the comma behind it. */
static size_t behind_line_comments(const struct json_text *text, size_t at)
{
	size_t found = at, end = at;

	for (;;) {
		end += strspn(text->bytes + end, " \t");
		if (strncmp(text->bytes + end, "//", 2) == 0)
			return behind_comments(
				text,
				(struct json_span){ at, end + strcspn(text->bytes + end, "\r\n") });
		const char *close = strncmp(text->bytes + end, "/*", 2) == 0
					    ? strstr(text->bytes + end + 2, "*/")
					    : NULL;
		size_t length = close ? (size_t)(close + 2 - (text->bytes + end)) : 0;
		if (!close || memchr(text->bytes + end, '\n', length))
			return found;
		end += length;
		found = end;
	}
}

/* The comma behind an item; 0: there is none. */
static size_t comma_behind(const struct json_text *text, size_t at)
{
	at = skip_space(text, at);
	return text->plain[at] == ',' ? at : 0;
}

/* ---- insertion ---- */

/* Writes an item as it is to stand in the text, and what divides it from the one before. */
static int write_item(FILE *out, const struct json_text *text, const char *key, const char *dump,
		      struct json_span base, bool is_inline)
{
	json_t *name = key ? json_string(key) : NULL;
	char *name_dump = name ? text_json_dump(name, JSON_ENCODE_ANY) : NULL;
	int error = key && !name_dump ? -ENOMEM : 0;

	if (error == 0) {
		if (key)
			(void)fprintf(out, "%s: ", name_dump);
		lay_out(out, text, dump, base, is_inline);
	}
	free(name_dump);
	json_decref(name);
	return error;
}

/* Where a new item comes, and how: behind `last`, NULL: into an empty container. */
struct place {
	size_t at, comma;  /* comma: where one is to be put in; 0: there is one */
	bool is_inline;    /* in the line of the last item */
	bool has_trailing; /* a comma is to stand behind the new one, too */
	struct json_span base;
};

static struct place place_behind(const struct json_text *text, struct json_span container,
				 const struct json_item *last)
{
	struct place place = { .at = container.start + 1 };

	place.base = indent_of(text, last ? last->whole.start : container.start);
	if (!last)
		return place;
	size_t end = last->whole.end, trailing = comma_behind(text, end);
	place.is_inline = !begins_line(text, last->whole.start);
	place.has_trailing = trailing;
	place.comma = trailing ? 0 : end;
	place.at = trailing ? trailing + 1 : end;
	/* In one line nothing may come behind a line comment. */
	if (!place.is_inline)
		place.at = behind_line_comments(text, place.at);
	return place;
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
	const struct place place = place_behind(text, container, count ? &last : NULL);
	char *dump = text_json_dump(value, JSON_ENCODE_ANY | JSON_INDENT(DUMP_INDENT));
	FILE *out = memory_stream_open(&written, &used);
	int error = dump && out ? 0 : -ENOMEM;

	if (error == 0) {
		if (place.is_inline)
			(void)fputc(' ', out);
		else if (count)
			(void)fprintf(out, "%s%.*s", strstr(text->bytes, "\r\n") ? "\r\n" : "\n",
				      (int)(place.base.end - place.base.start),
				      text->bytes + place.base.start);
		error = write_item(out, text, key, dump, place.base, place.is_inline);
		if (place.has_trailing)
			(void)fputc(',', out);
		error = ferror(out) ? -ENOMEM : error;
	}
	if (out && fclose(out) != 0)
		error = -ENOMEM;
	if (error == 0)
		error = splice(text, (struct json_span){ place.at, place.at }, written, used);
	if (error == 0 && place.comma)
		error = splice(text, (struct json_span){ place.comma, place.comma }, ",", 1);
	free(written);
	free(dump);
	return error;
}

/* ---- removal ---- */

/* Takes out the bytes of an item and a comma behind it, 0: none; a comment between them stays. */
static int cut(struct json_text *text, struct json_span part, size_t comma)
{
	int error = comma ? splice(text, (struct json_span){ comma, comma + 1 }, NULL, 0) : 0;

	return error < 0 ? error : splice(text, part, NULL, 0);
}

/* Takes out an item that stands behind another one. */
static int remove_behind(struct json_text *text, const struct json_item *before,
			 const struct json_item *item)
{
	size_t comma = comma_behind(text, before->whole.end);
	size_t next = comma_behind(text, item->whole.end);
	size_t start = behind_comments(text, (struct json_span){ comma + 1, item->whole.start });
	int error = cut(text, (struct json_span){ start, item->whole.end }, next);

	/* Where the item has no comma, that of the item before goes. */
	if (error == 0 && !next)
		error = splice(text, (struct json_span){ comma, comma + 1 }, NULL, 0);
	return error;
}

/* Takes the first item out of several. */
static int remove_first(struct json_text *text, const struct json_item *item)
{
	size_t comma = comma_behind(text, item->whole.end), end = item->whole.end;
	int error = splice(text, (struct json_span){ comma, comma + 1 }, NULL, 0);

	end += strspn(text->bytes + end, " \t\r\n");
	return error < 0 ? error
			 : splice(text, (struct json_span){ item->whole.start, end }, NULL, 0);
}

/* Takes the only item out.  Returns as json_edit_remove(). */
static int remove_only(struct json_text *text, struct json_span container,
		       const struct json_item *item)
{
	/* What was there before has the item right behind its bracket, or a comment in it.  Its end is
	 * another one where something was taken out of it. */
	size_t end = skip_value(text, container.start);
	bool is_older = item->whole.start == container.start + 1 ||
			has_comment(text,
				    (struct json_span){ container.start, item->whole.start }) ||
			has_comment(text, (struct json_span){ item->whole.end, end });
	int error = cut(text, item->whole, comma_behind(text, item->whole.end));

	return error < 0 ? error : !is_older;
}

int json_edit_remove(struct json_text *text, struct json_span container, size_t index)
{
	struct json_item item, other;

	if (!json_edit_item(text, container, index, &item))
		return 0;
	if (index > 0 && json_edit_item(text, container, index - 1, &other))
		return remove_behind(text, &other, &item);
	if (json_edit_item(text, container, index + 1, &other))
		return remove_first(text, &item);
	return remove_only(text, container, &item);
}

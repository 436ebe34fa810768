/* hooks_document.h: hooks are put into a document with comments, and taken out, and all else stays. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>

#include "cli/agents/hooks_document.h"
#include "cli/base/jsonc.h"
#include "support.h"

#define SELF_COMMAND "seen forget --hook PreCompact >/dev/null 2>&1 || :"

enum { ROUNDS = 10000, TEXT_BYTES = 64 << 10, DEPTH = 4 };

/* ---- a parser of its own, by which the product's is checked ---- */

static const char *at;

static void skip_layout(void)
{
	for (;;) {
		if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
			at += 3;
		else if (isspace((unsigned char)*at))
			at++;
		else if (strncmp(at, "//", 2) == 0)
			at += strcspn(at, "\n");
		else if (strncmp(at, "/*", 2) == 0)
			at = strstr(at, "*/") + 2;
		else
			return;
	}
}

static json_t *parse_value(void);

static json_t *parse_scalar(void)
{
	const char *end = at;

	if (*at == '"') {
		for (end = at + 1; *end != '"'; end++)
			end += *end == '\\';
		end++;
	} else {
		end += strcspn(at, " \t\r\n,]}/");
	}
	json_t *value = json_loadb(at, (size_t)(end - at), JSON_DECODE_ANY, NULL);
	cr_assert(value, "%.40s", at);
	at = end;
	return value;
}

static json_t *parse_container(void)
{
	bool is_object = *at++ == '{';
	json_t *container = is_object ? json_object() : json_array();

	for (skip_layout(); *at != '}' && *at != ']'; skip_layout()) {
		if (is_object) {
			json_t *key = parse_scalar();
			skip_layout();
			cr_assert_eq(*at++, ':');
			cr_assert_not(json_object_get(container, json_string_value(key)));
			(void)json_object_set_new(container, json_string_value(key), parse_value());
			json_decref(key);
		} else {
			(void)json_array_append_new(container, parse_value());
		}
		skip_layout();
		if (*at != ',')
			break;
		at++;
	}
	cr_assert_eq(*at++, is_object ? '}' : ']', "%.40s", at - 1);
	return container;
}

static json_t *parse_value(void)
{
	skip_layout();
	return *at == '{' || *at == '[' ? parse_container() : parse_scalar();
}

static json_t *parse_text(const char *text)
{
	at = text;
	json_t *value = parse_value();
	skip_layout();
	cr_assert_eq(*at, '\0', "%.40s", at);
	return value;
}

/* ---- documents in any layout ---- */

static const char *newline;

static unsigned below(unsigned count)
{
	return (unsigned)random() % count;
}

static void write_layout(FILE *out)
{
	static const char *const LAYOUTS[] = { "",
					       "",
					       "",
					       " ",
					       "\t",
					       "  ",
					       "NL",
					       "NL  ",
					       "NL\t",
					       "NLNL",
					       " // a, \"b\" }NL",
					       "/* [ */",
					       " /* x NL y */ ",
					       "// NL    ",
					       "//NL//NL",
					       "/**/",
					       "/* // */ ",
					       "// ä */  NL",
					       " // /* \tNL" };

	for (const char *word = LAYOUTS[below(sizeof(LAYOUTS) / sizeof(LAYOUTS[0]))]; *word; word++)
		if (strncmp(word, "NL", 2) == 0) {
			(void)fputs(newline, out);
			word++;
		} else {
			(void)fputc(*word, out);
		}
}

static void write_value(FILE *out, unsigned depth, const char *only_key);

static void write_item(FILE *out, unsigned depth, unsigned index, bool is_object, const char *key)
{
	static const char *const KEYS[] = { "PreCompact", "SessionStart", "hooks", "a", "ä // b" };

	write_layout(out);
	if (is_object && key)
		(void)fprintf(out, "\"%s\"", key);
	else if (is_object && index < 5)
		(void)fprintf(out, "\"%s\"", KEYS[index]);
	else if (is_object)
		(void)fprintf(out, "\"k%u\"", index);
	if (is_object) {
		write_layout(out);
		(void)fputc(':', out);
		write_layout(out);
	}
	write_value(out, depth - 1, NULL);
	write_layout(out);
}

/* is_list: of a kind that hooks can be put into. */
static void write_container(FILE *out, unsigned depth, bool is_object, bool has_lists)
{
	static const char *const EVENTS[] = { "PreCompact", "SessionStart", "Stop" };
	unsigned count = below(4);

	(void)fputc(is_object ? '{' : '[', out);
	for (unsigned i = 0; i < count; i++) {
		if (has_lists && i < 3) {
			write_layout(out);
			(void)fprintf(out, "\"%s\":", EVENTS[i]);
			write_layout(out);
			write_container(out, depth, false, false);
			write_layout(out);
		} else if (!has_lists) {
			write_item(out, depth,
				   is_object ? (depth * 7 + i) % 11 + (i == 0 ? 3 : 5) : i,
				   is_object, NULL);
		}
		bool is_last = i + 1 == count || (has_lists && i + 1 == 3);
		if (!is_last || below(3) == 0)
			(void)fputc(',', out);
		if (is_last)
			break;
	}
	write_layout(out);
	(void)fputc(is_object ? '}' : ']', out);
}

static void write_value(FILE *out, unsigned depth, const char *only_key)
{
	static const char *const SCALARS[] = {
		"1",         "-2.5e3",       "true",         "null",    "\"\"",
		"\"// no\"", "\"/* no */\"", "\"\\\"\\\\\"", "\"],}\"", "\"seen\""
	};

	(void)only_key;
	if (depth == 0 || below(2))
		(void)fputs(SCALARS[below(sizeof(SCALARS) / sizeof(SCALARS[0]))], out);
	else
		write_container(out, depth, below(2), false);
}

/* A document: members, with "hooks" among them or not. */
static char *make_text(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	unsigned count = below(4), hooks_at = below(4);

	newline = below(3) ? "\n" : "\r\n";
	if (below(8) == 0)
		(void)fputs("\xef\xbb\xbf", out);
	write_layout(out);
	(void)fputc('{', out);
	for (unsigned i = 0; i < count; i++) {
		if (i == hooks_at) {
			write_layout(out);
			(void)fputs("\"hooks\":", out);
			write_layout(out);
			write_container(out, DEPTH, true, true);
			write_layout(out);
		} else {
			char key[16];
			(void)snprintf(key, sizeof(key), "m%u", i);
			write_item(out, DEPTH, i, true, key);
		}
		if (i + 1 < count || below(3) == 0)
			(void)fputc(',', out);
	}
	write_layout(out);
	(void)fputc('}', out);
	write_layout(out);
	(void)fclose(out);
	return text;
}

/* ---- the rounds ---- */

static json_t *wanted(void)
{
	return json_pack("{s:{s:[{s:[{s:s,s:s}]}], s:[{s:s,s:[{s:s}]},{s:[{s:s}]}]}}", "hooks",
			 "PreCompact", "hooks", "type", "command", "command", SELF_COMMAND,
			 "SessionStart", "matcher", "clear", "hooks", "command", SELF_COMMAND,
			 "hooks", "command", SELF_COMMAND " x");
}

/* What the document is to be with the hooks in it. */
static json_t *merge(const json_t *document, json_t *hooks)
{
	json_t *merged = json_deep_copy(document), *events = json_object_get(hooks, "hooks");
	const char *event;
	json_t *groups;

	if (!json_object_get(merged, "hooks"))
		(void)json_object_set_new(merged, "hooks", json_object());
	json_object_foreach(events, event, groups)
	{
		json_t *there = json_object_get(json_object_get(merged, "hooks"), event);
		if (there)
			(void)json_array_extend(there, groups);
		else
			(void)json_object_set(json_object_get(merged, "hooks"), event, groups);
	}
	return merged;
}

static struct json_text text_of(const char *bytes)
{
	struct json_text text = { .bytes = strdup(bytes), .length = strlen(bytes) };
	char fault[JSON_ERROR_TEXT_LENGTH];
	int line;
	json_t *document = json_edit_check(&text, &line, fault, sizeof(fault));

	cr_assert(document, "%d: %s in\n%s", line, fault, bytes);
	json_decref(document);
	return text;
}

/* In and out again.  Returns the text that has the hooks, which the caller frees. */
static char *round_trip(const char *bytes)
{
	json_t *hooks = wanted(), *before = parse_text(bytes), *merged = merge(before, hooks);
	json_t *read = jsonc_load(bytes, strlen(bytes));
	struct json_text text = text_of(bytes);

	cr_assert(json_equal(read, before), "read differently:\n%s", bytes);
	cr_assert_eq(hooks_document_insert(&text, hooks), 0);
	cr_assert_eq(strlen(text.bytes), text.length);
	char *between = strdup(text.bytes);
	json_t *after = parse_text(between);
	cr_assert(json_equal(after, merged), "from\n%s\nto\n%s", bytes, between);
	json_edit_free(&text);
	text = text_of(between); /* removed by another process, at another time */
	cr_assert_eq(hooks_document_remove(&text), 0);
	cr_assert_str_eq(text.bytes, bytes, "from\n%s\nby\n%s\nto\n%s", bytes, between, text.bytes);
	json_edit_free(&text);
	json_decref(hooks);
	json_decref(before);
	json_decref(merged);
	json_decref(after);
	json_decref(read);
	return between;
}

Test(hooks_document, random)
{
	const char *seed = getenv("SEEN_SEED");

	srandom(seed ? (unsigned)atoi(seed) : 7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		char *text = make_text();
		free(round_trip(text));
		free(text);
	}
}

Test(hooks_document, layouts)
{
	static const char *const TEXTS[] = {
		"{}",
		"{ // mine\n}",
		"{ /* a */ }",
		"{\n\t\"a\": 1 // mine\n}\n",
		"{\n  \"a\": 1, // mine\n}\n",
		"{\"a\": 1 /* x */}",
		"{\"a\": [1, 2,], }",
		"{\n  \"a\": 1\n  // \"b\": 2\n}",
		"{\n  \"a\": 1 /* x\n y */\n}",
		"\xef\xbb\xbf{\r\n  \"a\": 1, // mine  \r\n}\r\n",
		"{\"hooks\": { // mine\n}}",
		"{\"hooks\": {\"PreCompact\": [ /* none */ ]}, // end\n}",
		"{\n  \"hooks\": {\n    \"PreCompact\": [\n      {\"command\": \"mine\"}, // one\n "
		"   ],\n  },\n}",
		"{\"a\": 1 // x\n, \"b\": 2 // y\n}",
	};

	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
		free(round_trip(TEXTS[i]));
}

Test(hooks_document, comments_keep_their_line)
{
	char *text = round_trip("{\n  \"a\": 1 // of a\n}\n");

	cr_assert(strstr(text, "\"a\": 1, // of a\n  \"hooks\": {"), "%s", text);
	free(text);
	text = round_trip("{\n  \"a\": 1, // of a\n}\n");
	cr_assert(strstr(text, "\"a\": 1, // of a\n  \"hooks\": {"), "%s", text);
	cr_assert(strstr(text, "},\n}"), "a comma behind the last stays a habit: %s", text);
	free(text);
}

/* What others put behind the hooks, or before them, in the meantime stays. */
Test(hooks_document, others_in_between)
{
	static const struct {
		const char *text, *left;
	} CASES[] = {
		{ "{\"hooks\": {\"X\": [{\"command\": \"" SELF_COMMAND
		  "\"} /* of it */, // c\n 2]}}",
		  "{\"hooks\": {\"X\": [/* of it */ // c\n 2]}}" },
		{ "{\"hooks\": {\"X\": [1, // one\n {\"command\": \"" SELF_COMMAND
		  "\"} /* k */, 2 // two\n]}}",
		  "{\"hooks\": {\"X\": [1, // one /* k */ 2 // two\n]}}" },
		{ "{\"hooks\": {\"X\": [1 // one\n, {\"command\": \"" SELF_COMMAND "\"}]}}",
		  "{\"hooks\": {\"X\": [1 // one\n]}}" },
		{ "{\"hooks\": {\"X\": [ // mine\n {\"command\": \"" SELF_COMMAND "\"}, ]}}",
		  "{\"hooks\": {\"X\": [ // mine\n  ]}}" },
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct json_text text = text_of(CASES[i].text);
		cr_assert_eq(hooks_document_remove(&text), 0);
		cr_assert_str_eq(text.bytes, CASES[i].left);
		json_decref(parse_text(text.bytes));
		json_edit_free(&text);
	}
}

static void refused(const char *bytes, int wanted_line, const char *says)
{
	struct json_text text = { .bytes = strdup(bytes), .length = strlen(bytes) };
	char fault[JSON_ERROR_TEXT_LENGTH];
	int line = 0;

	cr_assert_not(json_edit_check(&text, &line, fault, sizeof(fault)), "%s", bytes);
	cr_assert_eq(line, wanted_line, "%s: %d, %s", bytes, line, fault);
	cr_assert(strstr(fault, says), "%s: %s", bytes, fault);
	json_edit_free(&text);
}

Test(hooks_document, refused)
{
	refused("{\n  /* mine\n}", 2, "no end");
	refused("{\n  // mine\r \"a\": 1\n}", 2, "carriage return");
	refused("{\n\"a\": 1, // x\n/* y\n */ \"a\": 2}", 4, "duplicate");
	refused("{\"a\": 1,,}", 1, "");
	refused("{,}", 1, "");
	refused("{\n\"a\":,}", 2, "");
	refused("[1, 2 / 3]", 1, "");
	refused("{\"a\": 1}, ", 1, "");
	refused("{\"a\": \"x\n\"}", 1, "");
	refused("// nothing", 1, "");
}

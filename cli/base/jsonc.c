/* JSON with comments: see jsonc.h. */
#include "cli/base/jsonc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

/* Behind the string that begins at a quote. */
static size_t skip_string(const char *text, size_t length, size_t at)
{
	for (at++; at < length && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < length ? at + 1 : length;
}

/* Behind the comment that begins at a slash, its line end not counted; 0: it has no end. */
static size_t skip_comment(const char *text, size_t length, size_t at)
{
	if (text[at + 1] == '/') {
		const char *end = memchr(text + at, '\n', length - at);
		return end ? (size_t)(end - text) : length;
	}
	for (at += 2; at + 1 < length; at++)
		if (text[at] == '*' && text[at + 1] == '/')
			return at + 2;
	return 0;
}

static int line_of(const char *text, size_t at)
{
	int line = 1;

	while (at > 0)
		line += text[--at] == '\n';
	return line;
}

/* Makes a line comment spaces.  False: a carriage return stands alone in it. */
static bool blank(char *text, size_t start, size_t end, bool is_line)
{
	for (size_t at = start; at < end; at++) {
		if (is_line && text[at] == '\r' && text[at + 1] != '\n' && text[at + 1])
			return false;
		if (text[at] != '\n' && text[at] != '\r')
			text[at] = ' ';
	}
	return true;
}

char *jsonc_plain(const char *bytes, size_t length, int *ret_line, const char **ret_fault)
{
	const char *nul = memchr(bytes, '\0', length);
	if (nul) {
		*ret_line = line_of(bytes, (size_t)(nul - bytes));
		*ret_fault = "a NUL byte";
		return NULL;
	}
	char *plain = malloc(length + 1);
	size_t at = 0;

	*ret_line = 1;
	*ret_fault = "out of memory";
	if (!plain)
		return NULL;
	memcpy(plain, bytes, length);
	plain[length] = '\0';
	if (strncmp(plain, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		memset(plain, ' ', strlen(BYTE_ORDER_MARK));
	while (at < length) {
		if (plain[at] == '"') {
			at = skip_string(plain, length, at);
			continue;
		}
		if (plain[at] != '/' || (plain[at + 1] != '/' && plain[at + 1] != '*')) {
			at++;
			continue;
		}
		bool is_line = plain[at + 1] == '/';
		size_t end = skip_comment(plain, length, at);
		if (end && blank(plain, at, end, is_line)) {
			at = end;
			continue;
		}
		*ret_line = line_of(bytes, at);
		*ret_fault = end ? "a carriage return stands alone in a comment"
				 : "a comment has no end";
		free(plain);
		return NULL;
	}
	return plain;
}

json_t *jsonc_parse(const char *plain, size_t length, size_t flags, json_error_t *ret_error)
{
	char *text = malloc(length + 1);
	size_t comma = 0, at = 0;
	bool has_comma = false, has_item = false;

	if (!text)
		return NULL;
	memcpy(text, plain, length);
	text[length] = '\0';
	while (at < length) {
		char byte = text[at];
		if (byte == ',') {
			/* only one, and only behind an item */
			has_comma = has_item;
			has_item = false;
			comma = at++;
			continue;
		}
		if ((byte == ']' || byte == '}') && has_comma)
			text[comma] = ' ';
		if (!strchr(" \t\r\n", byte) || !byte) {
			has_comma = false;
			has_item = !strchr("[{:", byte) || !byte;
		}
		at = byte == '"' ? skip_string(text, length, at) : at + 1;
	}
	json_t *value = json_loadb(text, length, flags, ret_error);
	free(text);
	return value;
}

json_t *jsonc_load(const char *bytes, size_t length)
{
	const char *fault;
	int line;
	char *plain = jsonc_plain(bytes, length, &line, &fault);
	json_t *document = plain ? jsonc_parse(plain, length, 0, NULL) : NULL;

	free(plain);
	return document;
}

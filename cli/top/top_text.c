/* Texts for a terminal: see top_text.h. */
#include "cli/top/top_text.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cli/base/text.h"
#include "tracker/path/path.h"

/* ---- bytes of others ---- */

/* What is shown in one place: a character with what combines with it, or an escape sequence. */
struct piece {
	size_t bytes;   /* that it stands for */
	int columns;    /* at most 4 */
	bool is_escape; /* of one byte, or of each of a character's */
};

static uint32_t code_point(const char *bytes, size_t length)
{
	const unsigned char *at = (const unsigned char *)bytes;
	uint32_t code = length == 1 ? at[0] : at[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

/* Characters that are not shown and change how others are: joiners, marks of direction, variation
 * selectors, tags. */
static bool is_invisible(uint32_t code)
{
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || (code >= 0xfe00 && code <= 0xfe0f) ||
	       code == 0xfeff || code == 0xad || code == 0x61c || code == 0x34f ||
	       (code >= 0x180b && code <= 0x180f) || (code >= 0xe0000 && code <= 0xe0fff);
}

/* Columns of a character; -1: it is to be escaped.  0: it combines with the one before. */
static int columns_of(const char *bytes, size_t length, bool is_utf8)
{
	if (length == 1)
		return bytes[0] >= ' ' && bytes[0] != 0x7f && bytes[0] != '\\' ? 1 : -1;
	uint32_t code = code_point(bytes, length);
	if (!is_utf8 || length == 0 || is_invisible(code))
		return -1;
	return wcwidth((wchar_t)code);
}

/* An escape sequence is four columns a byte, or two for those with a name. */
static int escape(const char *bytes, size_t length, char *ret_text)
{
	char one[2] = { 0 };
	int columns = 0;

	for (size_t i = 0; i < length; i++) {
		one[0] = bytes[i];
		/* path_escape() lets no single byte beyond ASCII pass: it is no UTF-8 */
		columns += path_escape(one, ret_text + columns, 5);
	}
	return columns;
}

static struct piece next_piece(const char *bytes, bool is_utf8)
{
	size_t length = path_utf8_length(bytes);
	int columns = columns_of(bytes, length, is_utf8);
	char escaped[5];

	if (columns <= 0)
		return (struct piece){ 1, escape(bytes, 1, escaped), true };
	for (int i = 0; i < TOP_COMBINING_MAX && bytes[length]; i++) {
		size_t more = path_utf8_length(bytes + length);
		if (more < 2 || columns_of(bytes + length, more, is_utf8) != 0)
			break;
		length += more;
	}
	return (struct piece){ length, columns, false };
}

/* Columns of the text, as far as it fits: the pieces from its beginning.  ret_bytes: that they
 * stand for. */
static int measure(const char *bytes, int columns, bool is_utf8, size_t *ret_bytes)
{
	int used = 0;

	*ret_bytes = 0;
	while (bytes[*ret_bytes]) {
		struct piece piece = next_piece(bytes + *ret_bytes, is_utf8);
		if (used + piece.columns > columns)
			break;
		used += piece.columns;
		*ret_bytes += piece.bytes;
	}
	return used;
}

/* Where the text has to begin so that the rest of it takes at most so many columns. */
static size_t start_of_rest(const char *bytes, int columns, bool is_utf8)
{
	size_t from = 0, at = 0;
	int used = 0;

	/* A window that moves along: each piece is inspected twice at most. */
	while (bytes[at]) {
		struct piece piece = next_piece(bytes + at, is_utf8);
		used += piece.columns;
		at += piece.bytes;
		while (used > columns) {
			struct piece first = next_piece(bytes + from, is_utf8);
			used -= first.columns;
			from += first.bytes;
		}
	}
	return from;
}

static char *append(char *at, const char *bytes, size_t length, bool is_utf8)
{
	for (size_t i = 0; i < length;) {
		struct piece piece = next_piece(bytes + i, is_utf8);
		if (piece.is_escape) {
			at += escape(bytes + i, 1, at);
		} else {
			memcpy(at, bytes + i, piece.bytes);
			at += piece.bytes;
		}
		i += piece.bytes;
	}
	*at = '\0';
	return at;
}

int top_fit(const char *bytes, int columns, enum top_cut cut, bool is_utf8, char *ret_text)
{
	const char *ellipsis = is_utf8 ? "\xe2\x80\xa6" : "~";
	size_t length;

	ret_text[0] = '\0';
	if (columns > TOP_COLUMNS_MAX)
		columns = TOP_COLUMNS_MAX;
	if (columns <= 0)
		return 0;
	int used = measure(bytes, columns, is_utf8, &length);
	if (!bytes[length]) {
		(void)append(ret_text, bytes, length, is_utf8);
		return used;
	}
	if (cut == TOP_CUT_START) {
		const char *rest = bytes + start_of_rest(bytes, columns - 1, is_utf8);
		char *at = stpcpy(ret_text, ellipsis);
		(void)append(at, rest, strlen(rest), is_utf8);
		return measure(rest, columns - 1, is_utf8, &length) + 1;
	}
	used = measure(bytes, columns - 1, is_utf8, &length);
	(void)strcpy(append(ret_text, bytes, length, is_utf8), ellipsis);
	return used + 1;
}

/* ---- numbers ---- */

const char *top_size(uint64_t bytes, char *ret_text)
{
	static const char *const UNITS[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char number[TEXT_NUMBER_BYTES];
	double size = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 10000) {
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%s B", text_number(bytes, number));
		return ret_text;
	}
	while (size >= 999.5 && unit + 1 < sizeof(UNITS) / sizeof(UNITS[0])) {
		size /= 1024;
		unit++;
	}
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%.*f %s", size < 9.95 ? 1 : 0, size,
		       UNITS[unit]);
	return ret_text;
}

const char *top_count(uint64_t number, char *ret_text)
{
	static const char UNITS[] = "kMGTPE";
	char text[TEXT_NUMBER_BYTES];
	size_t unit = 0;

	if (number < 100000) {
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%s", text_number(number, text));
		return ret_text;
	}
	for (number /= 1000; number >= 10000; number /= 1000)
		unit++;
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%llu%c", (unsigned long long)number,
		       UNITS[unit]);
	return ret_text;
}

const char *top_per_second(double rate, char *ret_text)
{
	if (rate < 0.05)
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "0");
	else if (rate < 9.95)
		(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%.1f", rate);
	else
		(void)top_count((uint64_t)(rate + 0.5), ret_text);
	return ret_text;
}

const char *top_span(uint64_t seconds, char *ret_text)
{
	static const struct {
		uint64_t seconds;
		char letter;
	} UNITS[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t unit = 0;

	while (unit < 3 && seconds < UNITS[unit].seconds)
		unit++;
	uint64_t number = seconds / UNITS[unit].seconds;
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%llu%c",
		       (unsigned long long)(number > 999 ? 999 : number), UNITS[unit].letter);
	return ret_text;
}

const char *top_clock(uint64_t seconds, char *ret_text)
{
	if (seconds > UINT64_C(999) * 3600)
		return top_span(seconds, ret_text);
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "%u:%02u:%02u", (unsigned)(seconds / 3600),
		       (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
	return ret_text;
}

/* Texts in a number of columns: see screen_fit.h. */
#include "cli/screen/screen_fit.h"

#include <string.h>
#include <wchar.h>

#include "tracker/path/path.h"

enum fit_flags {
	FIT_UTF8 = 1,
	FIT_TEXT = 2, /* a backslash stands for itself */
};

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
static int columns_of(const char *bytes, size_t length, unsigned flags)
{
	if (length == 1)
		return bytes[0] < ' ' || bytes[0] == 0x7f        ? -1
		       : bytes[0] == '\\' && !(flags & FIT_TEXT) ? -1
								 : 1;
	uint32_t code = code_point(bytes, length);
	if (!(flags & FIT_UTF8) || length == 0 || is_invisible(code))
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

static struct piece next_piece(const char *bytes, unsigned flags)
{
	size_t length = path_utf8_length(bytes);
	int columns = columns_of(bytes, length, flags);
	char escaped[5];

	if (columns <= 0)
		return (struct piece){ 1, escape(bytes, 1, escaped), true };
	for (int i = 0; i < SCREEN_COMBINING_MAX && bytes[length]; i++) {
		size_t more = path_utf8_length(bytes + length);
		if (more < 2 || columns_of(bytes + length, more, flags) != 0)
			break;
		length += more;
	}
	return (struct piece){ length, columns, false };
}

/* Columns of the text, as far as it fits: the pieces from its beginning.  ret_bytes: that they
 * stand for. */
static int measure(const char *bytes, int columns, unsigned flags, size_t *ret_bytes)
{
	int used = 0;

	*ret_bytes = 0;
	while (bytes[*ret_bytes]) {
		struct piece piece = next_piece(bytes + *ret_bytes, flags);
		if (used + piece.columns > columns)
			break;
		used += piece.columns;
		*ret_bytes += piece.bytes;
	}
	return used;
}

/* Where the text has to begin so that the rest of it takes at most so many columns. */
static size_t start_of_rest(const char *bytes, int columns, unsigned flags)
{
	size_t from = 0, at = 0;
	int used = 0;

	/* A window that moves along: each piece is inspected twice at most. */
	while (bytes[at]) {
		struct piece piece = next_piece(bytes + at, flags);
		used += piece.columns;
		at += piece.bytes;
		while (used > columns) {
			struct piece first = next_piece(bytes + from, flags);
			used -= first.columns;
			from += first.bytes;
		}
	}
	return from;
}

static char *append(char *at, const char *bytes, size_t length, unsigned flags)
{
	for (size_t i = 0; i < length;) {
		struct piece piece = next_piece(bytes + i, flags);
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

int screen_fit(const char *bytes, int columns, enum screen_cut cut, bool is_utf8, char *ret_text)
{
	const char *ellipsis = is_utf8 ? "\xe2\x80\xa6" : "~";
	unsigned flags = (is_utf8 ? FIT_UTF8 : 0) | (cut == SCREEN_CUT_TEXT ? FIT_TEXT : 0);
	size_t length;

	ret_text[0] = '\0';
	if (columns > SCREEN_COLUMNS_MAX)
		columns = SCREEN_COLUMNS_MAX;
	if (columns <= 0)
		return 0;
	int used = measure(bytes, columns, flags, &length);
	if (!bytes[length]) {
		(void)append(ret_text, bytes, length, flags);
		return used;
	}
	if (cut == SCREEN_CUT_START) {
		const char *rest = bytes + start_of_rest(bytes, columns - 1, flags);
		char *at = stpcpy(ret_text, ellipsis);
		(void)append(at, rest, strlen(rest), flags);
		return measure(rest, columns - 1, flags, &length) + 1;
	}
	used = measure(bytes, columns - 1, flags, &length);
	(void)strcpy(append(ret_text, bytes, length, flags), ellipsis);
	return used + 1;
}

/*
 * Reading one seen.ini strictly, over inih.
 */
#include "config/ini.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What the reader and the handler, which inih calls in turn, know of the text. */
struct source {
	const char *data;
	size_t size_bytes;
	size_t offset; /* of the next line */
	unsigned line; /* of the line that inih works on */
	const struct ini_handler *handler;
	int error;          /* the first one of ours, at `line`: nothing is read after it */
	bool error_is_text; /* whether it is described in `problem` */
	struct ini_error problem;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct source *source, const char *format,
							 ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(source->problem.text, sizeof(source->problem.text), format, arguments);
	va_end(arguments);
	source->problem.line = source->line;
	source->error = -EBADMSG;
	source->error_is_text = true;
}

/* The length of the UTF-8 sequence at text, 0 if there is none (RFC 3629: no surrogates, no
 * overlong forms, nothing above U+10FFFF).  *ret_code: the code point. */
static size_t utf8_sequence(const unsigned char *text, size_t size_bytes, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = text[0] < 0x80    ? 1
			: text[0] >= 0xf0 ? 4
			: text[0] >= 0xe0 ? 3
			: text[0] >= 0xc0 ? 2
					  : 0;

	if (length == 0 || length > size_bytes || text[0] > 0xf4)
		return 0;
	uint32_t code = length == 1 ? text[0] : text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3fu);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

/* Are eight bytes all printable ASCII?  The highest bit of a byte is set where it is less than a space or
 * more than a tilde; a carry from another byte comes from one that is. */
static bool is_plain(const unsigned char *bytes)
{
	const uint64_t ONES = UINT64_C(0x0101010101010101);
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return !(((word - 0x20 * ONES) | (word + ONES) | word) & (0x80 * ONES));
}

const char *ini_text_check(const char *text, size_t size_bytes, int allow_space)
{
	const unsigned char *bytes = (const unsigned char *)text;

	for (size_t i = 0, length = 0; i < size_bytes; i += length) {
		uint32_t code = 0;

		length = 8;
		if (size_bytes - i >= length && is_plain(bytes + i))
			continue;
		length = 1;
		if (bytes[i] >= 0x20 && bytes[i] < 0x7f)
			continue;
		length = utf8_sequence(bytes + i, size_bytes - i, &code);
		if (length == 0)
			return "a byte that is not UTF-8";
		if (code == '\t' || (allow_space && code >= '\n' && code <= '\r'))
			continue;
		if (code == 0)
			return "a NUL byte";
		/* C0, DEL, C1: an error message must not drive a terminal */
		if (code < 0x20 || (code >= 0x7f && code < 0xa0))
			return "a control character";
	}
	return NULL;
}

static size_t leading_space(const char *line, size_t length)
{
	size_t space = 0;

	while (space < length && (line[space] == ' ' || line[space] == '\t'))
		space++;
	return space;
}

/* Inspects one line before inih does.  Sets *ret_skip for a line that inih need not see.  Returns
 * false when the line is refused. */
static bool line_check(struct source *source, const char *line, size_t length, bool *ret_skip)
{
	const char *problem = ini_text_check(line, length, 0);
	size_t space = leading_space(line, length);

	*ret_skip = space == length || line[space] == ';' || line[space] == '#';
	if (problem) {
		refuse(source, "%s; allowed are UTF-8 text and tabs", problem);
		return false;
	}
	if (*ret_skip)
		return true;
	if (length > INI_LINE_BYTES_MAX) {
		refuse(source,
		       "the line is too long: %zu bytes, at most %d are allowed; a list may be "
		       "given on several lines",
		       length, INI_LINE_BYTES_MAX);
		return false;
	}
	if (space > 0) {
		refuse(source, "the line begins with white space; values cannot be continued, "
			       "a list may be given on several lines: name = words");
		return false;
	}
	if (line[0] != '[')
		return true;

	const char *close = memchr(line, ']', length);
	if (!close) {
		refuse(source, "the section's heading has no ']'");
		return false;
	}
	size_t rest = (size_t)(close + 1 - line);
	rest += leading_space(close + 1, length - rest);
	if (rest < length && line[rest] != ';' && line[rest] != '#') {
		refuse(source, "nothing but a comment may follow the section's heading");
		return false;
	}
	size_t name_bytes = (size_t)(close - line) - 1;
	if (name_bytes > INI_SECTION_BYTES_MAX) {
		refuse(source, "the section's name is too long: %zu bytes, at most %d are allowed",
		       name_bytes, INI_SECTION_BYTES_MAX);
		return false;
	}
	if (source->handler->section) {
		char name[INI_SECTION_BYTES_MAX + 1];

		memcpy(name, line + 1, name_bytes);
		name[name_bytes] = '\0';
		source->error = source->handler->section(source->handler->context, name,
							 source->line);
	}
	return source->error == 0;
}

/* ini_reader: gives inih the next line, without its newline; NULL at the end or at an error. */
static char *read_line(char *buffer, int buffer_bytes, void *context)
{
	struct source *source = context;

	if (source->error != 0 || source->offset >= source->size_bytes)
		return NULL;
	source->line++;
	/* the byte order mark that some editors write */
	if (source->offset == 0 && source->size_bytes >= 3 &&
	    memcmp(source->data, "\xef\xbb\xbf", 3) == 0)
		source->offset = 3;

	const char *line = source->data + source->offset;
	size_t left = source->size_bytes - source->offset;
	const char *newline = left > 0 ? memchr(line, '\n', left) : NULL;
	size_t length = newline ? (size_t)(newline - line) : left;
	source->offset += newline ? length + 1 : length;
	if (length > 0 && line[length - 1] == '\r')
		length--;

	bool skip = false;
	if (!line_check(source, line, length, &skip))
		return NULL;
	if (skip)
		length = 0;
	/* an inih that was built with a smaller buffer */
	if (length + 1 > (size_t)buffer_bytes) {
		refuse(source, "the line is too long for this build of inih: at most %d bytes",
		       buffer_bytes - 1);
		return NULL;
	}
	memcpy(buffer, line, length);
	buffer[length] = '\0';
	return buffer;
}

/* ini_handler: returns 0 for an error, as inih wants it. */
static int read_value(void *context, const char *section, const char *name, const char *value)
{
	struct source *source = context;
	const struct ini_handler *handler = source->handler;

	if (source->error != 0)
		return 0;
	source->error = handler->value(handler->context, section, name, value ? value : "",
				       source->line);
	return source->error == 0;
}

int ini_read(const char *data, size_t size_bytes, const struct ini_handler *handler,
	     struct ini_error *ret_error)
{
	struct source source = { .data = data, .size_bytes = size_bytes, .handler = handler };

	if (size_bytes > INI_FILE_BYTES_MAX) {
		refuse(&source, "the file is too large: at most %d bytes are allowed",
		       INI_FILE_BYTES_MAX);
		*ret_error = source.problem;
		return -E2BIG;
	}

	/* inih goes on after a line that it cannot read and returns the first one's number;
	 * the line of our own error is the last that it saw, so the smaller number came first. */
	int result = ini_parse_stream(read_line, &source, read_value, &source);
	if (result < 0)
		return -EIO;
	if (result > 0 && (source.error == 0 || (unsigned)result < source.line)) {
		source.line = (unsigned)result;
		refuse(&source, "the line is neither '[section]' nor 'name = value' nor a comment");
	}
	if (source.error_is_text)
		*ret_error = source.problem;
	return source.error;
}

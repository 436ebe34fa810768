/* Text: see text.h. */
#include "cli/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracker/path/path.h"

const char *text_number(uint64_t number, char *ret_text)
{
	char plain[TEXT_NUMBER_BYTES];
	int length = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)number);
	char *at = ret_text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = plain[i];
	}
	*at = '\0';
	return ret_text;
}

const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

const char *text_time(uint64_t realtime_ns, char *ret_text)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000u);
	struct tm parts;
	char date[32];

	ret_text[0] = '\0';
	if (!realtime_ns || !gmtime_r(&seconds, &parts) ||
	    !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts))
		return ret_text;
	(void)snprintf(ret_text, TEXT_TIME_BYTES, "%s.%03uZ", date,
		       (unsigned)(realtime_ns / 1000000u % 1000u));
	return ret_text;
}

const char *text_time_ns(uint64_t realtime_ns, char *ret_text)
{
	static char date[32];
	static uint64_t second; /* that it is of; 0: of none */
	uint64_t now = realtime_ns / 1000000000u;

	ret_text[0] = '\0';
	if (now && now != second) {
		time_t seconds = (time_t)now;
		struct tm parts;
		second = gmtime_r(&seconds, &parts) &&
					 strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts)
				 ? now
				 : 0;
	}
	if (!now || now != second)
		return ret_text;
	char *at = stpcpy(ret_text, date);
	uint64_t rest = realtime_ns % 1000000000u;
	*at = '.';
	for (int i = 9; i > 0; i--, rest /= 10)
		at[i] = (char)('0' + rest % 10);
	memcpy(at + 10, "Z", 2);
	return ret_text;
}

static bool lacked_memory;

static void *allocate(size_t size_bytes)
{
	void *memory = malloc(size_bytes);

	lacked_memory |= !memory;
	return memory;
}

void text_json_watch(void)
{
	json_set_alloc_funcs(allocate, free);
}

bool text_json_is_whole(void)
{
	return !lacked_memory;
}

json_t *text_json_lacks(void)
{
	lacked_memory = true;
	return NULL;
}

json_t *text_json(const char *bytes)
{
	size_t capacity = strlen(bytes) * 4 + 1;
	char *text = allocate(capacity), *at = text;
	if (!text)
		return NULL;
	while (*bytes) {
		size_t sequence = path_utf8_length(bytes);
		if (sequence == 0) {
			at += snprintf(at, 5, "\\x%02x", (unsigned char)*bytes++);
			continue;
		}
		if (*bytes == '\\')
			*at++ = '\\';
		memcpy(at, bytes, sequence);
		at += sequence;
		bytes += sequence;
	}
	*at = '\0';
	json_t *value = json_string(text);
	free(text);
	return value;
}

/* May it stand between quotes as it is? */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void text_json_append(FILE *file, const char *bytes)
{
	(void)putc_unlocked('"', file);
	while (*bytes) {
		size_t plain = 0, sequence;
		while (is_plain((unsigned char)bytes[plain]))
			plain++;
		(void)fwrite_unlocked(bytes, 1, plain, file);
		bytes += plain;
		if (!*bytes)
			break;
		sequence = path_utf8_length(bytes);
		if (sequence > 1)
			(void)fwrite_unlocked(bytes, 1, sequence, file);
		else if (sequence == 0)
			(void)fprintf(file, "\\\\x%02x", (unsigned char)*bytes);
		else if (*bytes == '\\')
			(void)fputs_unlocked("\\\\\\\\", file);
		else if (*bytes == '"')
			(void)fputs_unlocked("\\\"", file);
		else
			(void)fprintf(file, "\\u%04x", (unsigned char)*bytes);
		bytes += sequence ? sequence : 1;
	}
	(void)putc_unlocked('"', file);
}

/* Has jansson nothing to do? */
static bool is_plain_text(const char *text)
{
	while (is_plain((unsigned char)*text))
		text++;
	return !*text;
}

int text_json_write(FILE *file, const json_t *value)
{
	if (!value)
		return -ENOMEM;
	if (json_is_string(value) && is_plain_text(json_string_value(value))) {
		(void)putc_unlocked('"', file);
		(void)fputs_unlocked(json_string_value(value), file);
		(void)putc_unlocked('"', file);
		return 0;
	}
	if (json_is_boolean(value) || json_is_null(value)) {
		(void)fputs_unlocked(json_is_true(value)    ? "true"
				     : json_is_false(value) ? "false"
							    : "null",
				     file);
		return 0;
	}
	return json_dumpf(value, file, JSON_COMPACT | JSON_ENCODE_ANY) < 0 && !ferror(file)
		       ? -ENOMEM
		       : 0;
}

char *text_json_dump(const json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags);

	if (text && !lacked_memory)
		return text;
	free(text);
	return NULL;
}

json_t *text_json_time(uint64_t realtime_ns)
{
	char text[TEXT_TIME_BYTES];
	return realtime_ns ? json_string(text_time(realtime_ns, text)) : json_null();
}

int text_json_document(FILE *file, json_t *document)
{
	if (!document)
		return -ENOMEM;
	char *text = text_json_dump(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	json_decref(document);
	if (text)
		(void)fprintf(file, "%s\n", text);
	free(text);
	return text ? 0 : -ENOMEM;
}

int text_json_print(json_t *document)
{
	return text_json_document(stdout, document);
}

static bool is_kept; /* text_style_keep() */

void text_style_keep(void)
{
	is_kept = isatty(STDOUT_FILENO);
}

const char *text_style(FILE *file, const char *code)
{
	static char sequences[8][8];
	static int next;
	static int asked = -1, is_one; /* the descriptor that was asked about last */
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	int fd = fileno(file);

	if (fd != asked) {
		is_one = isatty(fd);
		asked = fd;
	}
	bool is_terminal = (file == stdout && is_kept) || is_one;

	if ((no_color && no_color[0]) || !is_terminal || !term || strcmp(term, "dumb") == 0)
		return "";
	char *sequence = sequences[next++ % 8];
	(void)snprintf(sequence, sizeof(sequences[0]), "\033[%sm", code);
	return sequence;
}

/* Lines that an output shows: see shown.h. */
#include "cli/replay/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char WINDOW[] = "[File: ", WINDOW_END[] = " lines total)]", WINDOW_NUMBER_END[] = ":";

/* What agents and harnesses write where they cut an output. */
static const char *const CUTS[] = {
	"<response clipped>",
	"[Output truncated",
	"[truncated",
	"... [",
	"tokens truncated",
	"chars truncated",
	"characters truncated",
	"lines truncated",
	"<persisted-output>",
	"Output too large",
	"[Showing lines ",
	"[Showing last ",
	"output was truncated",
	"...output truncated...",
	"(line truncated to ",
	"Observations should not exceeded",
	"elided]",
	"<output_tail>",
	"<elided_chars>",
	"file is too large to display",
	"[... Observation truncated",
};

bool shown_is_cut(const char *output, size_t bytes)
{
	for (size_t i = 0; i < sizeof(CUTS) / sizeof(CUTS[0]); i++)
		if (memmem(output, bytes, CUTS[i], strlen(CUTS[i])))
			return true;
	return false;
}

/* A notice of this program ends with its nonce: "seen-" and sixteen digits.  What stands there
 * shows nothing of the file. */
static bool is_notice(const char *output, size_t bytes)
{
	static const char MARK[] = "seen-", END[] = ")]";
	enum { DIGITS = 16 };

	for (const char *at = output;
	     (at = memmem(at, (size_t)(output + bytes - at), MARK, sizeof(MARK) - 1));) {
		at += sizeof(MARK) - 1;
		size_t left = (size_t)(output + bytes - at), digits = 0;
		while (digits < left && digits < DIGITS && strchr("0123456789abcdef", at[digits]))
			digits++;
		if (digits == DIGITS && left >= DIGITS + 2 && memcmp(at + DIGITS, END, 2) == 0)
			return true;
	}
	return false;
}

static int add_line(struct shown *shown, const char *text, size_t bytes)
{
	if (bytes && text[bytes - 1] == '\r')
		bytes--;
	if (shown->count == shown->capacity) {
		size_t capacity = shown->capacity ? shown->capacity * 2 : 256;
		struct line_key *grown = realloc(shown->lines, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		shown->lines = grown;
		shown->capacity = capacity;
	}
	uint64_t hash = XXH3_64bits(text, bytes);
	shown->lines[shown->count++] = (struct line_key){ (uint32_t)hash, (uint32_t)bytes };
	uint64_t both[2] = { shown->version, hash };
	shown->version_before = shown->version;
	shown->version = XXH3_64bits(both, sizeof(both));
	shown->bytes += bytes + 1;
	return 0;
}

/* Some tools number an empty line behind the last newline, where they show the file's end. */
static void drop_empty_last_line(struct shown *shown)
{
	if (!shown->whole || shown->count < 2 || shown->lines[shown->count - 1].bytes)
		return;
	shown->count--;
	shown->bytes--;
	shown->version = shown->version_before;
}

struct line {
	const char *text;
	size_t bytes;
};

/* The next line.  Returns what follows it; NULL: it was the last. */
static const char *next_line(const char *at, const char *end, struct line *ret_line)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	*ret_line = (struct line){ at, (size_t)((newline ? newline : end) - at) };
	return newline ? newline + 1 : NULL;
}

static bool begins(const struct line *line, const char *with)
{
	size_t length = strlen(with);
	return line->bytes >= length && memcmp(line->text, with, length) == 0;
}

/* A number before a line: blanks, digits, and what ends it.  Returns bytes up to the line's text; 0:
 * there is none. */
static size_t number_before(const struct line *line, const char *number_end, uint64_t *ret_number)
{
	static const char *const ENDS[] = { "\t", "\xe2\x86\x92" /* U+2192 */ };
	size_t at = 0;
	uint64_t number = 0;

	while (at < line->bytes && line->text[at] == ' ')
		at++;
	size_t digits = at;
	for (; at < line->bytes && line->text[at] >= '0' && line->text[at] <= '9' &&
	       number < UINT64_MAX / 20;
	     at++)
		number = number * 10 + (uint64_t)(line->text[at] - '0');
	if (at == digits)
		return 0;
	*ret_number = number;
	for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
		const char *with = number_end ? number_end : ENDS[i];
		size_t length = strlen(with);
		if (line->bytes - at >= length && memcmp(line->text + at, with, length) == 0)
			return at + length;
	}
	return 0;
}

static bool is_number(const struct line *line, uint64_t number)
{
	size_t blanks = strspn(line->text, " ");
	char *end;

	return blanks < line->bytes && strtoull(line->text + blanks, &end, 10) == number &&
	       (size_t)(end - line->text) == line->bytes;
}

/* What may follow the numbered lines, besides blank lines. */
static bool is_behind(const struct line *line)
{
	size_t blanks = strspn(line->text, " \t\r");

	return blanks >= line->bytes || begins(line, "(") || begins(line, "<system-reminder>") ||
	       begins(line, "<NOTE>") || begins(line, "bash-$") ||
	       begins(line, "Review the changes");
}

/* Numbered lines from `at` on.  Returns 1; 0 where they do not follow one another; -ENOMEM. */
static int read_numbered(struct shown *shown, const char *at, const char *end,
			 const char *number_end, uint64_t total)
{
	uint64_t number;
	struct line line;

	while (at) {
		const char *next = next_line(at, end, &line);
		size_t prefix = number_before(&line, number_end, &number);
		/* Of an empty last line a harness may have left the number alone. */
		if (!prefix && shown->count && !next &&
		    is_number(&line, shown->first + shown->count))
			prefix = line.bytes;
		else if (prefix && shown->count && number != shown->first + shown->count)
			prefix = 0;
		if (!prefix) {
			if (!shown->count && (line.bytes == 0 || begins(&line, "("))) {
				at = next; /* "(54 more lines above)" */
				continue;
			}
			if (!is_behind(&line))
				return 0;
			break;
		}
		if (!shown->count)
			shown->first = number;
		if (add_line(shown, line.text + prefix, line.bytes - prefix) < 0)
			return -ENOMEM;
		at = next;
	}
	if (!shown->count)
		return 0;
	if (total)
		shown->whole = shown->first == 1 && shown->count >= total;
	return 1;
}

static int read_plain(struct shown *shown, const struct shown_as *as, const char *at,
		      const char *end)
{
	struct line line;

	shown->first = as->from ? as->from : 1;
	while (at && at < end) {
		at = next_line(at, end, &line);
		if (add_line(shown, line.text, line.bytes) < 0)
			return -ENOMEM;
	}
	shown->whole = as->asked_whole;
	return shown->count > 0;
}

/* "[File: PATH (N lines total)]" at the beginning of a line: returns what follows it. */
static const char *find_window(struct shown *shown, const char *output, const char *end,
			       uint64_t *ret_total)
{
	struct line line;

	for (const char *at = output; at;) {
		const char *next = next_line(at, end, &line);
		const char *close = begins(&line, WINDOW)
					    ? memmem(line.text, line.bytes, WINDOW_END,
						     sizeof(WINDOW_END) - 1)
					    : NULL;
		const char *open = close;
		while (open && open > line.text && *open != '(')
			open--;
		if (open && open > line.text + sizeof(WINDOW) - 1) {
			shown->path = line.text + sizeof(WINDOW) - 1;
			shown->path_bytes = (size_t)(open - 1 - shown->path);
			*ret_total = strtoull(open + 1, NULL, 10);
			return next;
		}
		at = next;
	}
	return NULL;
}

int shown_read(struct shown *shown, const struct shown_as *as, const char *output, size_t bytes)
{
	static const char RESULT[] = "Here's the result of running `cat -n` on ";
	const char *end = output + bytes;
	struct line line;
	uint64_t total = 0, number;

	shown->count = 0;
	shown->first = shown->version = shown->bytes = 0;
	shown->whole = false;
	shown->path = NULL;
	if (!bytes || is_notice(output, bytes))
		return 0;
	if (as->form != SHOWN_PLAIN) {
		const char *window = find_window(shown, output, end, &total);
		if (window) {
			int known = read_numbered(shown, window, end, WINDOW_NUMBER_END, total);
			drop_empty_last_line(shown);
			return known;
		}
		if (shown->path)
			return 0;
	}
	bool cut = shown_is_cut(output, bytes);
	const char *at = output;
	if (as->form != SHOWN_PLAIN) {
		const char *found = memmem(output, bytes, RESULT, sizeof(RESULT) - 1);
		bool headed = found && (found == output || found[-1] == '\n' ||
					/* "The file f has been edited. Here's the result ..." */
					memchr(output, '\n', (size_t)(found - output)) == NULL);
		if (headed)
			at = next_line(found, end, &line);
		if (!at)
			return 0;
	}
	(void)next_line(at, end, &line);
	if (as->form != SHOWN_PLAIN && number_before(&line, as->number_end, &number)) {
		int known = read_numbered(shown, at, end, as->number_end, as->total_lines);
		if (known > 0 && !as->total_lines)
			shown->whole = as->asked_whole && !cut && shown->first == 1;
		drop_empty_last_line(shown);
		return known;
	}
	if (cut || as->form == SHOWN_NUMBERED || at != output)
		return 0;
	return read_plain(shown, as, at, end);
}

void shown_free(struct shown *shown)
{
	free(shown->lines);
	*shown = (struct shown){ .lines = NULL };
}

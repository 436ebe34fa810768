/* Lines that an invocation prints: see lines.h. */
#include "tracker/content/lines.h"

#include <errno.h>
#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/path/path.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

/* What head and tail print when they are not told. */
enum { LINES_DEFAULT = 10 };

/* Far beyond any file, and far from where sums overflow. */
#define LINES_NUMBER_MAX UINT64_C(1000000000000)

static const struct lines_bound FIRST_LINE = { 1, false }, LAST_LINE = { 0, true };

/* Returns the place behind the digits; NULL where there are none, or too many. */
static const char *parse_number(const char *at, uint64_t *ret_number)
{
	uint64_t number;
	at = decimal_parse(at, &number);
	if (!at || number > LINES_NUMBER_MAX)
		return NULL;
	*ret_number = number;
	return at;
}

static bool is_number(const char *word, uint64_t *ret_number)
{
	const char *end = parse_number(word, ret_number);
	return end && *end == '\0';
}

/* False when there are too many. */
static bool add(struct lines *lines, struct lines_bound first, struct lines_bound last)
{
	if (lines->count == LINES_SPANS_MAX)
		return false;
	lines->asked[lines->count].first = first;
	lines->asked[lines->count].last = last;
	lines->count++;
	return true;
}

/* ---- head, tail ---- */

/* The value of head's -n: N, the first ones; -N, all but the last ones. */
static bool head_lines(const char *value, struct lines *lines)
{
	bool but = value[0] == '-';
	uint64_t number;

	if (!is_number(value + but, &number))
		return false;
	if (but)
		return add(lines, FIRST_LINE, (struct lines_bound){ number, true });
	return number == 0 || add(lines, FIRST_LINE, (struct lines_bound){ number, false });
}

/* The value of tail's -n: N or -N, the last ones; +N, from that one on. */
static bool tail_lines(const char *value, struct lines *lines)
{
	bool from = value[0] == '+';
	uint64_t number;

	if (!is_number(value + (from || value[0] == '-'), &number))
		return false;
	if (from)
		return add(lines, (struct lines_bound){ number ? number : 1, false }, LAST_LINE);
	return number == 0 || add(lines, (struct lines_bound){ number - 1, true }, LAST_LINE);
}

/* The words of head and tail: their number of lines at most once, then one file. */
static bool parse_bounds(bool is_head, char *const argv[], struct lines *lines)
{
	static const char LONG[] = "--lines=";
	const char *value = NULL;
	size_t i = 1;

	for (; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
		const char *word = argv[i], *now = NULL;
		uint64_t unused;
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (strcmp(word, "-q") == 0)
			continue;
		if (strcmp(word, "-n") == 0 || strcmp(word, "--lines") == 0)
			now = argv[++i];
		else if (word[1] == 'n')
			now = word + 2;
		else if (strncmp(word, LONG, sizeof(LONG) - 1) == 0)
			now = word + sizeof(LONG) - 1;
		/* -N stands first, and in tail before nothing but the file. */
		else if (i == 1 && is_number(word + 1, &unused) &&
			 (is_head || (argv[2] && argv[2][0] != '-' && !argv[3])))
			now = word + 1;
		if (!now || value)
			return false;
		value = now;
	}
	if (!argv[i] || argv[i + 1] || strcmp(argv[i], "-") == 0)
		return false;
	lines->file = argv[i];
	if (value)
		return is_head ? head_lines(value, lines) : tail_lines(value, lines);
	return is_head ? add(lines, FIRST_LINE, (struct lines_bound){ LINES_DEFAULT, false })
		       : add(lines, (struct lines_bound){ LINES_DEFAULT - 1, true }, LAST_LINE);
}

/* ---- sed ---- */

/* An address: a line's number or `$`.  Returns the place behind it, NULL where there is none. */
static const char *parse_address(const char *at, struct lines_bound *ret_end)
{
	*ret_end = LAST_LINE;
	if (*at == '$')
		return at + 1;
	ret_end->is_from_end = false;
	at = parse_number(at, &ret_end->number);
	return at && ret_end->number ? at : NULL;
}

/* A script of `Ap`, `A,Bp` and `p`, with semicolons between. */
static bool script_parse(const char *at, struct lines *lines)
{
	for (;;) {
		struct lines_bound first = FIRST_LINE, last = LAST_LINE;
		at += strspn(at, "; ");
		if (!*at)
			return true;
		if (*at != 'p') {
			at = parse_address(at, &first);
			last = first;
			if (at && *at == ',')
				at = parse_address(at + 1, &last);
			if (!at)
				return false;
			at += strspn(at, " ");
		}
		if (*at != 'p')
			return false;
		at++;
		at += strspn(at, " ");
		if (*at && *at != ';')
			return false;
		/* A range that ends before it begins is one line; so is one that begins with the
		 * last. */
		if (first.is_from_end || (!last.is_from_end && last.number < first.number))
			last = first;
		if (!add(lines, first, last))
			return false;
	}
}

static bool sed_parse(char *const argv[], struct lines *lines)
{
	bool quiet = false, script = false;
	size_t i = 1;

	for (; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
		const char *word = argv[i];
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (strcmp(word, "-n") == 0 || strcmp(word, "-nE") == 0 ||
		    strcmp(word, "-nr") == 0 || strcmp(word, "--quiet") == 0 ||
		    strcmp(word, "--silent") == 0) {
			quiet = true;
		} else if (strcmp(word, "-e") == 0 || strcmp(word, "-ne") == 0) {
			quiet = quiet || word[1] == 'n';
			script = true;
			if (!argv[++i] || !script_parse(argv[i], lines))
				return false;
		} else if (strcmp(word, "-E") != 0 && strcmp(word, "-r") != 0) {
			return false;
		}
	}
	if (!script && (!argv[i] || !script_parse(argv[i++], lines)))
		return false;
	if (!quiet || !argv[i] || argv[i + 1] || strcmp(argv[i], "-") == 0)
		return false;
	lines->file = argv[i];
	return true;
}

bool lines_parse(const char *executable, char *const argv[], struct lines *ret_lines)
{
	const char *name = path_base(executable);
	struct lines lines = { .count = 0 };
	bool is_head = strcmp(name, "head") == 0;
	bool understood = false;

	if (!argv || !argv[0])
		return false;
	if (is_head || strcmp(name, "tail") == 0)
		understood = parse_bounds(is_head, argv, &lines);
	else if (strcmp(name, "sed") == 0)
		understood = sed_parse(argv, &lines);
	if (understood)
		*ret_lines = lines;
	return understood;
}

/* ---- of a file ---- */

/* The line that an end stands for; 0: one before the first. */
static uint64_t line_of(struct lines_bound end, uint64_t line_count)
{
	if (!end.is_from_end)
		return end.number;
	return end.number < line_count ? line_count - end.number : 0;
}

unsigned lines_resolve(const struct lines *lines, uint64_t line_count, struct span *ret_spans)
{
	unsigned count = 0;

	for (unsigned i = 0; i < lines->count && i < LINES_SPANS_MAX; i++) {
		uint64_t first = line_of(lines->asked[i].first, line_count);
		uint64_t last = line_of(lines->asked[i].last, line_count);
		if (first == 0) /* more of the last ones than there are */
			first = 1;
		if (last > line_count)
			last = line_count;
		if (first <= last)
			ret_spans[count++] = (struct span){ first, last };
	}
	return count;
}

int lines_shape(int fd, const struct span *spans, unsigned count, struct shape *ret_shape)
{
	struct shape shape = { 0 };
	uint64_t line = 1;
	off_t offset = 0;
	ssize_t got = 0;
	char *chunk = chunk_acquire();

	if (!chunk)
		return -ENOMEM;
	while ((got = sys_pread(fd, chunk, CHUNK_BYTES, offset)) != 0) {
		if (got < 0)
			break;
		offset += got;
		for (const char *at = chunk, *end = chunk + got; at < end;) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));
			const char *next = newline ? newline + 1 : end;
			for (unsigned i = 0; i < count; i++)
				if (spans[i].first <= line && line <= spans[i].last)
					shape_add(&shape, at, (size_t)(next - at));
			line += newline != NULL;
			at = next;
		}
	}
	chunk_release(chunk);
	if (got < 0)
		return (int)got;
	*ret_shape = shape;
	return 0;
}

/* lines.h: what is understood, and that the real programs print just that. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/lines.h"

/* Words of a command, apart by blanks; `~` stands for one.  argv[0] is the program. */
static bool parse(const char *command, struct lines *ret_lines)
{
	static char words[256], executable[64];
	char *argv[16] = { NULL };
	int count = 0;

	(void)snprintf(words, sizeof(words), "%s", command);
	for (char *word = strtok(words, " "); word && count < 15; word = strtok(NULL, " "))
		argv[count++] = word;
	for (int i = 0; i < count; i++)
		for (char *at = argv[i]; *at; at++)
			*at = *at == '~' ? ' ' : *at;
	(void)snprintf(executable, sizeof(executable), "/usr/bin/%s", argv[0]);
	return lines_parse(executable, argv, ret_lines);
}

/* The spans of a file of that many lines, as `1-5 7-7`; "none"; "?" for what is not understood. */
static const char *spans_of(const char *command, uint64_t line_count)
{
	static char text[256];
	struct span spans[LINES_SPANS_MAX];
	struct lines lines;
	size_t used = 0;

	if (!parse(command, &lines))
		return "?";
	cr_assert_str_eq(lines.file, "f", "%s", command);
	unsigned count = lines_resolve(&lines, line_count, spans);
	if (!count)
		return "none";
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d-%d", i ? " " : "",
					 (int)spans[i].first, (int)spans[i].last);
	return text;
}

Test(lines, forms)
{
	static const struct {
		const char *command;
		uint64_t line_count;
		const char *spans;
	} CASES[] = {
		{ "head f", 100, "1-10" },
		{ "head f", 10, "1-10" },
		{ "head f", 9, "1-9" },
		{ "head f", 0, "none" },
		{ "head -n 3 f", 100, "1-3" },
		{ "head -n3 f", 100, "1-3" },
		{ "head -3 f", 100, "1-3" },
		{ "head -q -n 3 f", 100, "1-3" },
		{ "head --lines=3 f", 100, "1-3" },
		{ "head --lines 3 f", 100, "1-3" },
		{ "head -n 3 -- f", 100, "1-3" },
		{ "head -n 0 f", 100, "none" },
		{ "head -n 100 f", 100, "1-100" },
		{ "head -n 101 f", 100, "1-100" },
		{ "head -n -3 f", 100, "1-97" },
		{ "head -n -0 f", 100, "1-100" },
		{ "head -n -99 f", 100, "1-1" },
		{ "head -n -100 f", 100, "none" },
		{ "head -n -101 f", 100, "none" },
		{ "tail f", 100, "91-100" },
		{ "tail f", 10, "1-10" },
		{ "tail f", 0, "none" },
		{ "tail -n 3 f", 100, "98-100" },
		{ "tail -n -3 f", 100, "98-100" },
		{ "tail -3 f", 100, "98-100" },
		{ "tail -n 0 f", 100, "none" },
		{ "tail -n 100 f", 100, "1-100" },
		{ "tail -n 101 f", 100, "1-100" },
		{ "tail -n +3 f", 100, "3-100" },
		{ "tail -n +1 f", 100, "1-100" },
		{ "tail -n +0 f", 100, "1-100" },
		{ "tail -n +100 f", 100, "100-100" },
		{ "tail -n +101 f", 100, "none" },
		{ "sed -n 5p f", 100, "5-5" },
		{ "sed -n 5p f", 5, "5-5" },
		{ "sed -n 5p f", 4, "none" },
		{ "sed -n 1,200p f", 100, "1-100" },
		{ "sed -n 5,3p f", 100, "5-5" },
		{ "sed -n 5,5p f", 100, "5-5" },
		{ "sed -n 101,3p f", 100, "none" },
		{ "sed -n 5,$p f", 100, "5-100" },
		{ "sed -n $p f", 100, "100-100" },
		{ "sed -n $p f", 0, "none" },
		{ "sed -n $,5p f", 100, "100-100" },
		{ "sed -n p f", 100, "1-100" },
		{ "sed -n 1,3p;3,5p f", 100, "1-3 3-5" },
		{ "sed -n ;1~p~;~9,$~p; f", 100, "1-1 9-100" },
		{ "sed -n -e 1p -e 3,5p f", 100, "1-1 3-5" },
		{ "sed -ne 1p f", 100, "1-1" },
		{ "sed -nE 1p f", 100, "1-1" },
		{ "sed --quiet 1p f", 100, "1-1" },
		{ "sed -n 1p;2p;3p;4p;5p;6p;7p;8p f", 100, "1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8" },
		/* not understood */
		{ "sed -n 1p;2p;3p;4p;5p;6p;7p;8p;9p f", 100, "?" },
		{ "sed 1p f", 100, "?" },
		{ "sed -n 0,5p f", 100, "?" },
		{ "sed -n 0p f", 100, "?" },
		{ "sed -n 1,p f", 100, "?" },
		{ "sed -n ,1p f", 100, "?" },
		{ "sed -n 1p~2p f", 100, "?" },
		{ "sed -n 1~~2p f", 100, "?" },
		{ "sed -n 5,+3p f", 100, "?" },
		{ "sed -n 1,5!p f", 100, "?" },
		{ "sed -n 1,5pw f", 100, "?" },
		{ "sed -n /a/p f", 100, "?" },
		{ "sed -n 5q f", 100, "?" },
		{ "sed -n -s 1p f", 100, "?" },
		{ "sed -n -z 1p f", 100, "?" },
		{ "sed -n 1p f -z", 100, "?" },
		{ "sed -n 1p f g", 100, "?" },
		{ "sed -n 1p", 100, "?" },
		{ "sed -n 1p -", 100, "?" },
		{ "sed -n 1000000000001p f", 100, "?" },
		{ "sed -n -e", 100, "?" },
		{ "sed -n", 100, "?" },
		{ "head", 100, "?" },
		{ "head -", 100, "?" },
		{ "head f g", 100, "?" },
		{ "head -v f", 100, "?" },
		{ "head -c 5 f", 100, "?" },
		{ "head -z f", 100, "?" },
		{ "head -n 3 -n 5 f", 100, "?" },
		{ "head -n 3 -5 f", 100, "?" },
		{ "head -n 3k f", 100, "?" },
		{ "head -n +3 f", 100, "?" },
		{ "head -3c f", 100, "?" },
		{ "head -n f", 100, "?" },
		{ "head -n", 100, "?" },
		{ "head --line=3 f", 100, "?" },
		{ "head f -n 3", 100, "?" },
		{ "tail -f f", 100, "?" },
		{ "tail -c 5 f", 100, "?" },
		{ "tail +5 f", 100, "?" },
		{ "tail -5 -- f", 100, "?" },
		{ "tail -5 f g", 100, "?" },
		{ "tail -q -5 f", 100, "?" },
		{ "tail -n +-5 f", 100, "?" },
		{ "tail -n --5 f", 100, "?" },
		{ "cat f", 100, "?" },
		{ "nl f", 100, "?" },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_str_eq(spans_of(CASES[i].command, CASES[i].line_count), CASES[i].spans,
				 "%s: %s", CASES[i].command,
				 spans_of(CASES[i].command, CASES[i].line_count));
}

Test(lines, another_program_by_that_name)
{
	char *const words[] = { (char *)"head", (char *)"f", NULL };
	struct lines lines;

	cr_assert(lines_parse("/usr/bin/head", words, &lines));
	cr_assert_not(lines_parse("/usr/bin/busybox", words, &lines));
	cr_assert_not(lines_parse("/usr/bin/coreutils", words, &lines));
	cr_assert_not(lines_parse("/usr/bin/head.py", words, &lines));
	cr_assert_not(lines_parse("/usr/bin/tail-head", words, &lines));
	cr_assert_not(lines_parse("", words, &lines));
	cr_assert_not(lines_parse("/usr/bin/head", NULL, &lines));
	cr_assert_not(lines_parse("/usr/bin/head", words + 2, &lines));
}

/* ---- against the real programs ---- */

static struct world world;
static uint64_t seed = 20261122;

static uint64_t below(uint64_t end)
{
	return (next_random(&seed) >> 20) % end;
}

enum { FILE_BYTES_MAX = 1 << 16 };

/* A file of up to `lines_max` lines, perhaps with NUL bytes, CRLF, none at all, no last newline, lines longer than a chunk.  Returns its
 * length. */
static size_t make_file(char *bytes, unsigned lines_max)
{
	uint64_t line_count = below(lines_max + 1);
	size_t size = 0;

	for (uint64_t line = 0; line < line_count; line++) {
		size_t length = below(8) ? below(12) : below(1500);
		if (below(200) == 0 && size < FILE_BYTES_MAX / 2)
			length = 20000;
		for (size_t i = 0; i < length && size < FILE_BYTES_MAX - 2; i++)
			bytes[size++] = below(50) ? (char)('a' + below(26)) : (char)below(256);
		if (size < FILE_BYTES_MAX - 2 && below(4) == 0)
			bytes[size++] = '\r';
		if (size < FILE_BYTES_MAX - 1)
			bytes[size++] = '\n';
	}
	if (size && below(3) == 0)
		size--; /* perhaps its last newline */
	return size;
}

/* A form with A and B replaced by numbers. */
static char *word_of(char *at, const char *form, uint64_t a, uint64_t b)
{
	char *end = at;
	for (; *form; form++)
		if (*form == 'A' || *form == 'B')
			end += sprintf(end, "%d", (int)(*form == 'A' ? a : b));
		else
			*end++ = *form;
	*end = '\0';
	return at;
}

/* A random command.  words: 32 bytes for each. */
static void make_command(unsigned lines_max, char words[][64], char **argv)
{
	static const char *const ADDRESSES[] = { "Ap",   "A,Bp",   "A,$p",  "$p",   "p",
						 "$,Ap", "A , Bp", "A,B p", ";Ap ;" };
	static const char *const ENDS[] = { "A", "-A", "+A" };
	uint64_t a = below(lines_max + 5), b = below(lines_max + 5);
	int count = 1;

	if (below(2)) {
		argv[0] = (char *)"sed";
		argv[count++] = (char *)(below(8) ? "-n" : "--quiet");
		if (below(4) == 0) {
			for (uint64_t i = below(3) + 1; i > 0; i--, a = b, b = below(lines_max)) {
				argv[count] = (char *)"-e";
				argv[count + 1] = word_of(words[count + 1], ADDRESSES[below(9)], a,
							  b);
				count += 2;
			}
		} else {
			argv[count] = word_of(words[count], ADDRESSES[below(9)], a, b);
			if (below(3) == 0) {
				(void)strcat(words[count], ";");
				(void)word_of(words[count] + strlen(words[count]),
					      ADDRESSES[below(9)], b, a);
			}
			count++;
		}
	} else {
		argv[0] = (char *)(below(2) ? "head" : "tail");
		switch (below(6)) {
		case 0:
			break;
		case 1:
			argv[count] = word_of(words[count], "-A", a, 0), count++;
			break;
		case 2:
			argv[count++] = (char *)"-n";
			argv[count] = word_of(words[count], ENDS[below(3)], a, 0), count++;
			break;
		case 3:
			(void)strcpy(words[count], "-n");
			(void)word_of(words[count] + 2, ENDS[below(3)], a, 0);
			argv[count] = words[count], count++;
			break;
		case 4:
			argv[count++] = (char *)"-q";
			argv[count] = word_of(words[count], "--lines=A", a, 0), count++;
			break;
		default:
			argv[count] = word_of(words[count], "-A", a, 0), count++;
			argv[count++] = (char *)"--";
		}
	}
	argv[count++] = (char *)"f";
	argv[count] = NULL;
}

/* What a command prints, and how it ends. */
static size_t run(char *const argv[], char *output, size_t capacity, int *ret_status)
{
	size_t size = 0;
	ssize_t got;
	int ends[2];

	must(pipe(ends) == 0);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], 1);
		(void)close(ends[0]);
		(void)close(ends[1]);
		(void)freopen("/dev/null", "w", stderr);
		if (chdir(world.workspace) == 0)
			(void)execvp(argv[0], argv);
		_exit(127);
	}
	(void)close(ends[1]);
	while (size < capacity && (got = read(ends[0], output + size, capacity - size)) > 0)
		size += (size_t)got;
	(void)close(ends[0]);
	must(waitpid(pid, ret_status, 0) == pid);
	return size;
}

/* The lines of the spans, as often as they are asked for, in their order in the file.  Returns the length. */
static size_t expected(const char *bytes, size_t size, const struct span *spans, unsigned count,
		       char *ret_output, bool *ret_last_twice)
{
	const char *at = bytes, *end = bytes + size;
	size_t length = 0;
	unsigned times = 0;

	for (uint64_t line = 1; at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;
		times = 0;
		for (unsigned i = 0; i < count; i++) {
			if (line < spans[i].first || line > spans[i].last)
				continue;
			memcpy(ret_output + length, at, (size_t)(next - at));
			length += (size_t)(next - at);
			times++;
		}
		at = next;
	}
	*ret_last_twice = times > 1;
	return length;
}

Test(lines, real_programs, .timeout = 280)
{
	static char bytes[FILE_BYTES_MAX], output[FILE_BYTES_MAX * 12], model[FILE_BYTES_MAX * 12];
	unsigned steps = getenv("SEEN_LONG") ? 20000 : 800, understood = 0, printed = 0;
	char words[16][64], *argv[20];

	world_open(&world, NULL);
	for (unsigned step = 0; step < steps; step++) {
		struct span spans[LINES_SPANS_MAX];
		struct lines lines;
		char text[256] = "", program[32];
		unsigned lines_max = below(3) ? 12 : 200;
		size_t size = make_file(bytes, lines_max);
		make_command(lines_max, words, argv);
		for (int i = 0; argv[i]; i++)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s|",
				       argv[i]);
		(void)snprintf(program, sizeof(program), "/usr/bin/%s", argv[0]);
		if (!lines_parse(program, argv, &lines))
			continue;
		understood++;
		write_path(world_path(&world, "f"), bytes, size);
		int fd = open(world_path(&world, "f"), O_RDONLY), status;
		struct content content;
		struct shape shape;
		must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0);
		unsigned count = lines_resolve(&lines, content.lines, spans);
		must(lines_shape(fd, spans, count, &shape) == 0);
		must(close(fd) == 0);
		bool last_twice;
		size_t wanted = expected(bytes, size, spans, count, model, &last_twice);
		size_t got = run(argv, output, sizeof(output), &status);
		cr_assert_eq(status, 0, "%s", text);
		cr_assert_eq(shape.bytes, wanted, "%s: %zu bytes", text, size);
		/* Between two last lines without a newline sed puts one: then the length gives it away. */
		if (last_twice && size && bytes[size - 1] != '\n') {
			cr_assert_neq(got, shape.bytes, "%s", text);
			continue;
		}
		cr_assert_eq(got, shape.bytes, "%s: %zu bytes, %zu printed, %d understood", text,
			     size, got, (int)shape.bytes);
		cr_assert_arr_eq(output, model, got, "%s", text);
		printed += got > 0;
	}
	world_close(&world);
	cr_assert_gt(understood, steps / 2);
	cr_assert_gt(printed, steps / 3);
}

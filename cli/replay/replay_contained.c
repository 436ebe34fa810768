/* Questions that an earlier answer contains: see replay_contained.h. */
#include "cli/replay/replay_contained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/tokens.h"
#include "cli/replay/shown.h"
#include "tracker/answer/notice.h"
#include "tracker/path/path.h"

/* Counts what a notice of that length would have saved. */
static void count(struct replay *replay, const struct call *call, int notice_bytes)
{
	struct replay_saving *saving = &replay->sums->contained;
	uint64_t bytes = notice_bytes > 0 ? (uint64_t)notice_bytes : UINT64_MAX;

	saving->repeats++;
	if (bytes >= call->output_bytes) {
		saving->unfit++;
		return;
	}
	uint64_t place = tokens_of_bytes(bytes);
	saving->answered++;
	saving->bytes += call->output_bytes - bytes;
	saving->tokens += replay->tokens > place ? replay->tokens - place : 0;
}

void contained_lines(struct replay *replay, const struct judged_read *read, const struct call *call)
{
	const struct shown *shown = read->shown;
	struct content content = { .lines = shown->count };
	char notice[NOTICE_BYTES_MAX];

	count(replay, call,
	      notice_lines(replay->segment, read->path, &content, shown->first,
			   shown->first + shown->count - 1, notice, sizeof(notice)));
}

/* ---- searches ---- */

/* What a search asks for, whatever it searches: its pattern and how it is compared.  0: it is none
 * whose lines would stand in a wider one. */
static uint64_t search_key(char *const argv[])
{
	static const char *const NAMES[] = { "grep", "egrep", "fgrep", "rg" };
	static const char COMPARED[] = "iwxEFP", OTHER[] = "clLovABCmqf";
	const char *name = path_base(argv[0]), *pattern = NULL;
	uint64_t how = 0;
	bool is_search = false;

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		is_search = is_search || strcmp(name, NAMES[i]) == 0;
	for (size_t i = 1; is_search && argv[i]; i++) {
		const char *word = argv[i];
		if (strcmp(word, "-e") == 0 && argv[i + 1] && !pattern) {
			pattern = argv[++i];
			continue;
		}
		if (word[0] != '-' || !word[1]) {
			pattern = pattern ? pattern : word;
			continue;
		}
		if (word[1] == '-')
			continue;
		if (strpbrk(word + 1, OTHER))
			return 0;
		for (const char *at = word + 1; *at; at++) {
			const char *place = strchr(COMPARED, *at);
			how |= place ? UINT64_C(1) << (place - COMPARED) : 0;
		}
	}
	return pattern ? memory_mix(XXH3_64bits(pattern, strlen(pattern)), how, name[0] + 1u) : 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* The end of the line at `at`. */
static const char *line_finish(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	return newline ? newline : end;
}

static uint64_t line_hash(const char *at, const char *end)
{
	if (end - at > 2 && at[0] == '.' && at[1] == '/')
		at += 2;
	return XXH3_64bits(at, (size_t)(end - at));
}

/* Does each line of an output stand in a search's? */
static bool holds(const struct searched *searched, const struct call *call)
{
	const char *at = call->output, *end = at + call->output_bytes;

	while (at < end) {
		const char *stop = line_finish(at, end);
		uint64_t hash = line_hash(at, stop);
		if (!bsearch(&hash, searched->lines, searched->count, sizeof(hash), by_number))
			return false;
		at = stop + 1;
	}
	return searched->count > 0;
}

/* Each line as it is, without a file's name, and without a line's number. */
static int remember(struct searched *searched, const struct call *call)
{
	const char *end = call->output + call->output_bytes;
	size_t lines = 1;

	for (const char *at = call->output; at < end; at++)
		lines += *at == '\n';
	free(searched->lines);
	searched->count = 0;
	searched->lines = calloc(3 * lines, sizeof(*searched->lines));
	if (!searched->lines)
		return -ENOMEM;
	for (const char *at = call->output; at < end;) {
		const char *stop = line_finish(at, end), *from = at;
		for (int part = 0; part < 3 && from; part++) {
			searched->lines[searched->count++] = line_hash(from, stop);
			const char *colon = memchr(from, ':', (size_t)(stop - from));
			from = colon ? colon + 1 : NULL;
		}
		at = stop + 1;
	}
	qsort(searched->lines, searched->count, sizeof(*searched->lines), by_number);
	return 0;
}

int contained_search(struct replay *replay, struct session *session, const struct scope *scope,
		     const struct asked *asked, const struct call *call, bool is_answered)
{
	const struct command_line *line = &asked->line;
	uint64_t key = line->count == 1 && !line->complex ? search_key(line->commands[0]) : 0;
	char command[SEGMENT_PATH_BYTES], notice[NOTICE_BYTES_MAX];

	if (!key || !call->output || !call->output_bytes || call->failed)
		return 0;
	void **at = memory_at(&session->searches, memory_mix(scope->id, scope->epoch, key));
	if (!at)
		return -ENOMEM;
	struct searched *searched = *at;
	if (searched && searched->changes == session->changes && holds(searched, call)) {
		if (is_answered)
			return 0;
		notice_command(line->commands[0], command, sizeof(command));
		count(replay, call,
		      notice_request(replay->segment, command, false, call->output_bytes, 0, notice,
				     sizeof(notice)));
		return 0;
	}
	if (is_answered || !judge_is_given(replay, call))
		return 0;
	if (!searched) {
		searched = calloc(1, sizeof(*searched));
		if (!searched)
			return -ENOMEM;
		*at = searched;
	}
	searched->changes = session->changes;
	return remember(searched, call);
}

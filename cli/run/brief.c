/* The last lines of a run: see brief.h. */
#include "cli/run/brief.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/text.h"
#include "cli/base/tokens.h"
#include "cli/session/counts.h"

enum { LINE_BYTES = 4096 };

__attribute__((format(printf, 2, 3))) static void append(char *line, const char *format, ...)
{
	size_t used = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line + used, LINE_BYTES - used, format, arguments);
	va_end(arguments);
}

/* "2 files changed by the agent: a.c, b.c; 12 by its tools", "" */
static void append_files(const struct summary *sum, char *line)
{
	char number[TEXT_NUMBER_BYTES];
	unsigned total = sum->edited_by_agent + sum->edited_by_tool, named = 0;

	if (!total)
		return;
	append(line, "%s file%s changed", text_number(total, number), text_plural(total));
	if (sum->removed)
		append(line, ", %u of them removed", sum->removed);
	for (; named < total && named < SUMMARY_NAMES && sum->changed_names[named][0]; named++)
		append(line, "%s%s", named ? ", " : ": ", sum->changed_names[named]);
	if (named && named < total)
		append(line, " and %s more", text_number(total - named, number));
}

static void append_saved(const struct summary *sum, char *line)
{
	char number[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES];
	uint64_t saved = sum->counters[COUNTER_bytes_saved];
	uint64_t answered = counts_sum(sum->counters, COUNT_NOTICES) + sum->counters[COUNTER_diffs];

	if (answered)
		append(line, "%s%s repeated request%s answered (%s bytes, about %s tokens less)",
		       line[0] ? "; " : "", text_number(answered, number), text_plural(answered),
		       text_number(saved, bytes), text_number(tokens_of_bytes(saved), tokens));
}

/* Was another session begun or used since this one was made?  Then a command need not take this one
 * by itself. */
static bool has_others(const struct session *session)
{
	int64_t made_ns = (int64_t)session->segment.header->created_realtime_ns;
	char path[SEGMENT_PATH_BYTES + sizeof("/..")], segment[NAME_MAX + sizeof("/segment")];
	struct stat stat;
	bool found = false;

	(void)snprintf(path, sizeof(path), "%s/..", session->directory);
	DIR *stream = opendir(path);
	for (struct dirent *entry; stream && !found && (entry = readdir(stream));) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, session->name) == 0)
			continue;
		(void)snprintf(segment, sizeof(segment), "%s/segment", entry->d_name);
		found = fstatat(dirfd(stream), segment, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
			stat.st_mtim.tv_sec * INT64_C(1000000000) + stat.st_mtim.tv_nsec > made_ns;
	}
	if (stream)
		(void)closedir(stream);
	return found;
}

/* How it is taken back, and where more is. */
static void append_remedy(const struct session *session, const struct summary *sum, char *line)
{
	/* A session that was there before need not be the one that a command takes by itself. */
	bool is_named = !session->made || has_others(session);
	const char *option = is_named ? " --session " : "";
	const char *name = is_named ? session->name : "";

	if (sum->counters[COUNTER_undo_records])
		append(line, "`seen undo%s%s` takes it back; ", option, name);
	append(line, "`seen story%s%s` lists the steps", option, name);
	if (!is_named)
		append(line, "; session %s", session->name);
}

void brief_print(const struct session *session, const struct summary *sum,
		 const struct findings *findings)
{
	char line[LINE_BYTES] = "", number[TEXT_NUMBER_BYTES];
	uint64_t observed = sum->coverage.observed;

	append_files(sum, line);
	append_saved(sum, line);
	bool is_eventful = line[0] || findings->count;
	if (!line[0])
		append(line, "no file of the workspace was written");
	if (!is_eventful)
		append(line, "; %s process%s observed; session %s", text_number(observed, number),
		       observed == 1 ? "" : "es", session->name);
	(void)fprintf(stderr, "seen: %s\n", line);
	line[0] = '\0';
	for (unsigned i = 0; i < findings->count && i < FINDINGS_SHOWN; i++)
		append(line, "%s%s", i ? "; " : "", findings->texts[i]);
	if (findings->count > FINDINGS_SHOWN)
		append(line, "; and %u more (`seen status --session %s`)",
		       findings->count - FINDINGS_SHOWN, session->name);
	if (line[0])
		(void)fprintf(stderr, "seen: careful: %s\n", line);
	line[0] = '\0';
	append_remedy(session, sum, line);
	if (is_eventful)
		(void)fprintf(stderr, "seen: %s\n", line);
}

/* What a command line asks for: see replay_ask.h. */
#include "cli/replay/replay_ask.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/content/lines.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"
#include "tracker/process/normal_form.h"
#include "tracker/process/role.h"

static const char *only_operand(char *const argv[])
{
	const char *found = NULL;

	for (size_t i = 1; argv[i]; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			continue;
		if (found)
			return NULL;
		found = argv[i];
	}
	return found;
}

/* Lines with numbers: `cat -n f`, `nl -ba f`. */
static bool shows_numbered(char *const argv[], struct asked *asked)
{
	bool is_cat = strcmp(argv[0], "cat") == 0 && argv[1] && strcmp(argv[1], "-n") == 0;
	bool is_nl = strcmp(argv[0], "nl") == 0 && argv[1] && strcmp(argv[1], "-ba") == 0;

	if (!(is_cat || is_nl) || !argv[2] || argv[3] || argv[2][0] == '-')
		return false;
	asked->file = argv[2];
	asked->as = (struct shown_as){ .form = SHOWN_NUMBERED, .asked_whole = true };
	return true;
}

/* One span whose ends are counted from the file's beginning. */
static bool shows_lines(const char *executable, char *const argv[], struct asked *asked)
{
	struct lines lines;

	if (!lines_parse(executable, argv, &lines) || lines.count != 1 ||
	    lines.asked[0].first.is_from_end)
		return false;
	asked->file = lines.file;
	asked->as = (struct shown_as){ .form = SHOWN_PLAIN, .from = lines.asked[0].first.number };
	if (asked->as.from == 1 && !lines.asked[0].last.is_from_end)
		asked->lines_max = lines.asked[0].last.number;
	return true;
}

int ask_parse(const struct segment *segment, const char *text, const char *directory,
	      struct asked *ret_asked)
{
	struct asked *asked = ret_asked;
	const struct command_line *line = &asked->line;
	char executable[PATH_MAX];

	*asked = (struct asked){ .requests = 0 };
	int error = command_line_parse(text, directory, &asked->line);
	if (error < 0)
		return error;
	/* Whatever runs in a pipe, some of it asks. */
	if (line->complex)
		asked->requests = 1;
	asked->only_asks = asked->only_reads = !line->complex && line->count > 0;
	for (size_t i = 0; i < line->count && !line->complex; i++) {
		char **argv = line->commands[i];
		struct invocation invocation;
		/* The system's own program of that name. */
		(void)snprintf(executable, sizeof(executable), "%s%s",
			       strchr(argv[0], '/') ? "" : "/usr/bin/", argv[0]);
		role_invocation(segment, executable, argv, &invocation);
		bool viewer = invocation.role == ROLE_VIEWER,
		     reader = invocation.role == ROLE_READER;
		asked->requests += viewer || reader;
		asked->only_asks = asked->only_asks && (viewer || reader);
		asked->only_reads = asked->only_reads && reader;
		if (line->count > 1 || line->globs || !(viewer || reader))
			continue;
		if (viewer) {
			asked->file = only_operand(argv);
			asked->is_viewer = asked->shows = asked->file != NULL;
			asked->as = (struct shown_as){ .form = SHOWN_PLAIN, .asked_whole = true };
		} else {
			asked->shows = shows_numbered(argv, asked) ||
				       shows_lines(executable, argv, asked);
		}
	}
	return 0;
}

void ask_free(struct asked *asked)
{
	command_line_free(&asked->line);
}

bool ask_is_never(const struct segment *segment, const struct asked *asked)
{
	const struct command_line *line = &asked->line;
	char words[4096];

	for (const char *glob = NULL;
	     (glob = segment_text(segment, segment->settings->requests_never, glob));)
		for (size_t i = 0; i < line->count; i++) {
			size_t used = 0;
			for (size_t k = 0; line->commands[i][k] && used < sizeof(words); k++)
				used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
							 k ? " " : "", line->commands[i][k]);
			if (path_glob(glob, words, false))
				return true;
		}
	return false;
}

uint64_t ask_key(const struct asked *asked)
{
	const struct normal_facts facts = { .is_terminal = false };
	const struct command_line *line = &asked->line;
	uint64_t key = 1;
	char form[8192];

	for (size_t i = 0; i < line->count; i++) {
		char **argv = line->commands[i];
		size_t length = line->globs ? 0
					    : normal_form(path_base(argv[0]), argv, &facts, form,
							  sizeof(form));
		key = memory_mix(key, length ? XXH3_64bits(form, length) : 0, i);
		for (size_t k = 0; !length && argv[k]; k++)
			key = memory_mix(key, XXH3_64bits(argv[k], strlen(argv[k])), k);
	}
	return key;
}

/* A name with an ending is a file's; others may be directories'. */
static bool resembles_file(const char *word)
{
	const char *base = path_base(word), *dot = strrchr(base, '.');

	return dot && dot > base && dot[1] != '\0';
}

static uint64_t inputs_of_command(struct session *session, const struct command_line *line,
				  char *const argv[])
{
	static const char *const DIRECTORIES[] = { "ls", "find", "bfs",   "tree",
						   "du", "rg",   "ugrep", "git" };
	const char *name = path_base(argv[0]);
	/* Its first operand is no file: a pattern, a script. */
	bool skips = strstr(name, "grep") || strcmp(name, "sed") == 0;
	bool wide = line->globs, named = false;
	size_t files = 0;
	uint64_t inputs = 1;

	for (size_t i = 0; i < sizeof(DIRECTORIES) / sizeof(DIRECTORIES[0]); i++)
		wide = wide || strcmp(name, DIRECTORIES[i]) == 0;
	for (size_t i = 1; argv[i]; i++) {
		if (argv[i][0] == '-') {
			wide = wide || (argv[i][1] == '-' ? strstr(argv[i], "recurs") != NULL
							  : strpbrk(argv[i], "rR") != NULL);
			continue;
		}
		if (skips) {
			skips = false;
			continue;
		}
		if (!resembles_file(argv[i])) {
			/* `head -n 20 f`: a number is no directory. */
			wide = wide || argv[i][strspn(argv[i], "0123456789")] != '\0';
			continue;
		}
		const struct file *file = memory_file(session, line->directory, argv[i], true);
		if (!file)
			return memory_mix(session->changes, 0, 0);
		named = true;
		inputs = memory_mix(inputs, file->generation, ++files);
	}
	return wide || !named ? memory_mix(inputs, session->changes, 0) : inputs;
}

uint64_t ask_inputs(struct session *session, const struct asked *asked)
{
	uint64_t inputs = 1;

	for (size_t i = 0; i < asked->line.count; i++)
		inputs = memory_mix(
			inputs, inputs_of_command(session, &asked->line, asked->line.commands[i]),
			i);
	return inputs;
}

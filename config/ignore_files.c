/* Agents' ignore files: see ignore_files.h. */
#include "config/ignore_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/ini.h"
#include "config/rules.h"
#include "config/store.h"
#include "config/value.h"

enum {
	FILE_BYTES_MAX = 65536,
	WORDS_BYTES_MAX = 16384, /* of all files: a session holds 64 KiB of texts */
	RULES_MAX = 16,          /* of all files: a session holds 64 */
	NAME_BYTES = CONFIG_PROFILE_NAME_MAX + 1,
};

static const char *const FILES[] = {
	".aiderignore",  ".aiexclude",      ".augmentignore",  ".claudeignore",
	".clineignore",  ".codeiumignore",  ".continueignore", ".cursorignore",
	".geminiignore", ".kilocodeignore", ".qwenignore",     ".rooignore",
};

/* Programs that show a model what they read, or take it elsewhere; agents come to them.  A build or a
 * test that reads such a file shows nothing. */
static const char PROGRAMS[] = "bash dash sh zsh cat head tail less more bat batcat nl tac rev "
			       "grep egrep fgrep zgrep rg ugrep ag "
			       "ack sed awk gawk mawk cut paste sort uniq comm cmp diff od xxd "
			       "hexdump strings fold fmt jq yq "
			       "base64 base32 tee cp mv ln dd install tar zip rsync scp curl wget "
			       "vi vim nvim nano emacs busybox";

/* ---- one line ---- */

/* Behind the last byte that counts: blanks at the end do not, unless a backslash is before one. */
static size_t length_of(const char *line)
{
	size_t length = strcspn(line, "\r\n");

	while (length > 0 && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
		length--;
	return length;
}

/* A glob of a rule holds no blank, and begins with no word that means a directory. */
static void copy_glob(const char *pattern, size_t bytes, char *ret_glob, size_t used)
{
	if (used == 0 && bytes > 0 && strchr("$@~", pattern[0]))
		ret_glob[used++] = '\\';
	for (size_t i = 0; i < bytes; i++) {
		if (pattern[i] == '\\' && i + 1 < bytes && pattern[i + 1] == ' ')
			continue;
		ret_glob[used++] = pattern[i] == ' ' || pattern[i] == '\t' ? '?' : pattern[i];
	}
	ret_glob[used] = '\0';
}

/* Why a line cannot be a rule's glob; NULL: it can, or it is no pattern. */
static const char *problem_of(const char *line)
{
	size_t length = length_of(line);

	if (line[0] == '#')
		return NULL;
	if (length > IGNORE_FILES_GLOB_BYTES - 8)
		return "the pattern is too long: it is not in force";
	return ini_text_check(line, length, true) ? "the pattern is not UTF-8 text, or holds a "
						    "control character: it is not in force"
						  : NULL;
}

bool ignore_files_glob(const char *line, char *ret_glob, bool *ret_includes)
{
	size_t length = length_of(line);

	*ret_includes = line[0] == '!';
	line += *ret_includes;
	length -= *ret_includes;
	if (length == 0 || line[0] == '#' || problem_of(line))
		return false;
	/* `**` and a slash: at any depth, as without them. */
	while (length > 3 && strncmp(line, "**/", 3) == 0)
		line += 3, length -= 3;
	bool is_directory = length > 1 && line[length - 1] == '/';
	length -= is_directory;
	const char *slash = memchr(line, '/', length);
	bool is_anchored = slash != NULL;
	if (is_anchored) {
		memcpy(ret_glob, "./", 2);
		line += line[0] == '/';
		length -= slash == line - 1;
	}
	if (length == 0)
		return false;
	copy_glob(line, length, ret_glob, is_anchored ? 2 : 0);
	if (is_directory)
		strcat(ret_glob, "/**");
	return true;
}

/* ---- one file ---- */

struct reading {
	struct config *config;
	const char *file; /* its name */
	char path[PATH_MAX];
	struct config_rule *rule; /* that patterns are added to; NULL: none yet */
	bool excepts;             /* it has an `except` */
	bool warned;
	size_t first_rule;   /* index of this file's first one */
	size_t *words_bytes; /* of all files */
	size_t *rules;
};

/* Reports the first fault of each file. */
static int warn(struct reading *reading, const char *what, unsigned line)
{
	char *before = reading->config->files_warning, *text = NULL;

	if (reading->warned)
		return 0;
	if (asprintf(&text, "%s%s%s:%u: %s", before ? before : "", before ? "; " : "",
		     reading->path, line, what) < 0)
		return -ENOMEM;
	free(before);
	reading->config->files_warning = text;
	reading->warned = true;
	return 0;
}

/* Is there room for one more in a session?  Too many would keep the run from starting. */
static bool has_room(const struct config *config)
{
	size_t count = 0;

	for (size_t i = 0; i < config->rule_count; i++)
		count += config_rule_is_in_force(config, &config->rules[i]);
	return count < SETTINGS_RULES_MAX;
}

/* Another rule of this file, or that of its user's by that name. */
static int start_rule(struct reading *reading, unsigned line)
{
	struct config *config = reading->config;
	const struct config_value *action = config_value(config, OPTION_rules_ignore_files);
	const struct option *actions = option_of_rule_at(RULE_OPTION_ACTION);
	char name[NAME_BYTES], origin[PATH_MAX + 16];
	struct config_error ignored;
	size_t index;

	if (!has_room(config))
		return -ENOSPC;
	size_t number = reading->rule ? *reading->rules : 0;
	(void)snprintf(name, sizeof(name), number ? "ignore%s-%zu" : "ignore%s", reading->file,
		       number);
	(void)snprintf(origin, sizeof(origin), "%s:%u", reading->path, line);
	const struct config_source source = { .origin = origin, .trusted = true };
	int error = config_rule_claim(config, name, &source, true, &index, &ignored);
	if (error < 0)
		return error;
	struct config_rule *rule = &config->rules[index];
	struct config_value *values = rule->values;
	bool is_new = values[RULE_OPTION_OP].text[0] == '\0';
	reading->rule = rule;
	reading->excepts = false;
	*reading->rules += 1;
	if (is_new)
		error = config_value_extend(&values[RULE_OPTION_OP], "read", origin, NULL);
	if (error == 0 && strcmp(values[RULE_OPTION_ACTION].origin, "built-in") == 0)
		error = config_value_replace(&values[RULE_OPTION_ACTION], action->number,
					     actions->choices[action->number], action->origin);
	if (error == 0)
		error = config_value_replace(&values[RULE_OPTION_WHERE], RULE_WHERE_WORKSPACE,
					     "workspace", origin);
	if (error == 0 && !values[RULE_OPTION_EXE].text[0])
		error = config_value_extend(&values[RULE_OPTION_EXE], PROGRAMS, origin, NULL);
	if (error == 0)
		error = config_value_extend(&values[RULE_OPTION_EXE],
					    config_text(config, OPTION_processes_agents), origin,
					    NULL);
	return error;
}

/* Does a glob of such a rule match a directory below the root? */
static bool matches_directory(char *glob, const char *path)
{
	const char *base = strrchr(path, '/');
	size_t length = strlen(glob);

	if (length > 3 && strcmp(glob + length - 3, "/**") == 0)
		glob[length - 3] = '\0';
	if (strncmp(glob, "./", 2) == 0)
		return fnmatch(glob + 2, path, FNM_PATHNAME) == 0;
	return fnmatch(glob, base ? base + 1 : path, FNM_PATHNAME) == 0;
}

/* Is a pattern's directory excluded by one before it?  Then what it includes stays excluded. */
static bool is_below_excluded(const struct reading *reading, const char *glob)
{
	char path[IGNORE_FILES_GLOB_BYTES], one[IGNORE_FILES_GLOB_BYTES];

	(void)snprintf(path, sizeof(path), "%s", strncmp(glob, "./", 2) == 0 ? glob + 2 : glob);
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		const char *words = reading->rule->values[RULE_OPTION_PATH].text;
		for (; *words; words += strcspn(words, " "), words += *words == ' ') {
			(void)snprintf(one, sizeof(one), "%.*s", (int)strcspn(words, " "), words);
			if (matches_directory(one, path))
				return true;
		}
	}
	return false;
}

/* An including pattern holds for all rules of the file so far. */
static int add_except(struct reading *reading, const char *glob, const char *origin)
{
	int error = 0;

	if (!reading->rule || is_below_excluded(reading, glob))
		return 0;
	size_t last = (size_t)(reading->rule - reading->config->rules);
	for (size_t i = reading->first_rule; i <= last && error == 0; i++)
		error = config_value_extend(&reading->config->rules[i].values[RULE_OPTION_EXCEPT],
					    glob, origin, NULL);
	reading->excepts = true;
	return error;
}

static int add_line(struct reading *reading, const char *line, unsigned number)
{
	char glob[IGNORE_FILES_GLOB_BYTES], origin[PATH_MAX + 16];
	bool includes;

	if (!ignore_files_glob(line, glob, &includes)) {
		const char *problem = problem_of(line);
		return problem ? warn(reading, problem, number) : 0;
	}
	(void)snprintf(origin, sizeof(origin), "%s:%u", reading->path, number);
	*reading->words_bytes += strlen(glob) + 1;
	if (includes)
		return add_except(reading, glob, origin);
	if (!reading->rule || reading->excepts) {
		bool is_first = !reading->rule;
		int error = start_rule(reading, number);
		if (error < 0)
			return error;
		if (is_first)
			reading->first_rule = (size_t)(reading->rule - reading->config->rules);
	}
	return config_value_extend(&reading->rule->values[RULE_OPTION_PATH], glob, origin, NULL);
}

static const char NO_ROOM[] =
	"there is no room for this and further patterns: they are not in force";

/* Reads lines as long as there is room.  is_cut: more of them follow. */
static int read_lines(struct reading *reading, char *text, bool is_cut)
{
	unsigned number = 1;
	int error = 0;

	for (char *line = text; *line && error == 0; number++) {
		size_t length = strcspn(line, "\n");
		bool is_last = line[length] == '\0';
		line[length] = '\0';
		if (*reading->words_bytes > WORDS_BYTES_MAX || *reading->rules >= RULES_MAX)
			return warn(reading, NO_ROOM, number);
		error = add_line(reading, line, number);
		line += length + !is_last;
	}
	if (error == 0 && is_cut)
		return warn(reading, NO_ROOM, number);
	return error == -ENOSPC ? warn(reading,
				       "there are too many rules: further patterns are not in "
				       "force",
				       number - 1)
				: error;
}

/* What was read as lines of text: without a byte order mark, as git reads it, and without the part of a line
 * behind the last newline where more follows.  A zero byte is one that no pattern holds. */
static char *whole_lines(char *text, size_t bytes, bool is_cut)
{
	static const char MARK[] = "\xef\xbb\xbf";

	while (is_cut && bytes > 0 && text[bytes - 1] != '\n')
		bytes--;
	text[bytes] = '\0';
	for (char *at = text; (at = memchr(at, '\0', bytes - (size_t)(at - text)));)
		*at = '\1';
	return text + (strncmp(text, MARK, sizeof(MARK) - 1) == 0 ? sizeof(MARK) - 1 : 0);
}

static int read_file(struct reading *reading)
{
	struct stat stat;
	char *text = NULL;
	ssize_t bytes = 0;
	int error = 0;
	/* A workspace's link may lead to an external file, and git follows none either; a FIFO has no end. */
	int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ELOOP)
		return warn(reading, "is a symbolic link: its patterns are not in force", 1);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : warn(reading, "cannot be read: its patterns are not in force", 1);
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		error = warn(reading, "is no regular file: its patterns are not in force", 1);
	else if (!(text = malloc(FILE_BYTES_MAX + 2)))
		error = -ENOMEM;
	else if ((bytes = read(fd, text, FILE_BYTES_MAX + 1)) < 0)
		error = warn(reading, "cannot be read: its patterns are not in force", 1);
	else
		error = read_lines(reading,
				   whole_lines(text, (size_t)bytes, bytes > FILE_BYTES_MAX),
				   bytes > FILE_BYTES_MAX);
	free(text);
	(void)close(fd);
	return error;
}

int ignore_files_read(struct config *config)
{
	size_t words_bytes = 0, rules = 0;
	int error = 0;

	if (config_number(config, OPTION_rules_ignore_files) == RULES_IGNORE_FILES_OFF)
		return 0;
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]) && error == 0; i++) {
		struct reading reading = { .config = config,
					   .file = FILES[i],
					   .words_bytes = &words_bytes,
					   .rules = &rules };
		if (snprintf(reading.path, sizeof(reading.path), "%s/%s", config_workspace(config),
			     FILES[i]) < (int)sizeof(reading.path))
			error = read_file(&reading);
	}
	return error;
}

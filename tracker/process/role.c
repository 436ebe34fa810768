/* Roles: see role.h. */
#include "tracker/process/role.h"

#include "tracker/process/normal_form.h"

#include <string.h>

#include "tracker/path/glob.h"
#include "tracker/path/path.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/workspace.h"

struct reader_rule {
	const char *program;
	const char *denied_short;
	const char *denied_long;
	int operands_max;
	bool shows;
};

static const struct reader_rule READERS[] = {
#define SHOWS true
#define TELLS false
#define READER(program, denied_short, denied_long, operands, shows) \
	{ program, denied_short, denied_long, operands, shows },
#include "tracker/process/readers.def"
#undef READER
#undef SHOWS
#undef TELLS
};

const char *role_name(uint32_t role)
{
	static const char *const NAMES[ROLE_COUNT] = { "tool", "agent", "shell", "viewer",
						       "reader" };
	return NAMES[role < ROLE_COUNT ? role : ROLE_TOOL];
}

static bool in_list(const struct segment *segment, struct settings_text list, const char *name)
{
	const char *glob = NULL;
	while ((glob = segment_text(segment, list, glob)))
		if (path_glob(glob, name, false))
			return true;
	return false;
}

/* Copies a base name without the endings that programs are installed with.  Zeros behind it: the
 * name is copied whole into the segment, and memcheck complains of uninitialized bytes. */
static void plain_name(const char *path, char *ret_name, size_t size_bytes)
{
	static const char *const ENDINGS[] = { ".js", ".mjs", ".cjs", ".ts", ".py", ".exe" };
	const char *base = path_base(path);
	size_t length = strlen(base);

	for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
		size_t ending = strlen(ENDINGS[i]);
		if (length > ending && memcmp(base + length - ending, ENDINGS[i], ending) == 0) {
			length -= ending;
			break;
		}
	}
	if (length >= size_bytes)
		length = size_bytes - 1;
	memcpy(ret_name, base, length);
	memset(ret_name + length, 0, size_bytes - length);
}

/* The package that a path below node_modules belongs to, without its scope.  False: none. */
static bool package_name(const char *path, char *ret_name, size_t size_bytes)
{
	static const char MARK[] = "/node_modules/";
	const char *found = NULL;
	for (const char *at = path; (at = strstr(at, MARK)); at++)
		found = at + sizeof(MARK) - 1;
	if (!found)
		return false;
	if (*found == '@') {
		found = strchr(found, '/');
		if (!found)
			return false;
		found++;
	}
	size_t length = strcspn(found, "/");
	if (length == 0 || length >= size_bytes || found[0] == '.')
		return false;
	memcpy(ret_name, found, length);
	memset(ret_name + length, 0, size_bytes - length);
	return true;
}

/* The profile of an agent's name; 0 where it has none. */
static uint32_t profile_of(const struct segment *segment, const char *name)
{
	uint64_t count = segment->settings->profile_count;
	if (count > SETTINGS_PROFILES_MAX)
		count = SETTINGS_PROFILES_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const char *profile = segment_text(segment, segment->settings->profiles[i].name,
						   NULL);
		if (profile && strcmp(profile, name) == 0)
			return i + 1;
	}
	return 0;
}

/* Was an agent named so, by one of two names?  It may have been given as a path.  Most names are
 * ruled out by their first byte: every program that starts asks this. */
static bool is_named(const struct segment *segment, const char *name, const char *other)
{
	const char *glob = NULL;
	while ((glob = segment_text(segment, segment->settings->processes_agents, glob))) {
		const char *base = strchr(glob, '/') ? path_base(glob) : glob;
		char first = base[0];
		if (first != name[0] && first != other[0] && first != '*' && first != '?' &&
		    first != '[' && first != '\\')
			continue;
		if (path_glob(base, name, false) ||
		    (other != name && path_glob(base, other, false)))
			return true;
	}
	return false;
}

/* Many programs are shell scripts that have an agent's name and are none: only a name that the user
 * gave is taken without `.sh`. */
static bool is_named_script(const struct segment *segment, char *name)
{
	size_t length = strlen(name);
	if (length <= 3 || strcmp(name + length - 3, ".sh") != 0)
		return false;
	name[length - 3] = '\0';
	if (is_named(segment, name, name) && !profile_of(segment, name))
		return true;
	name[length - 3] = '.';
	return false;
}

/* A launcher's own program is hidden beside it: `.kilo` behind `kilo`, `.kilo-wrapped`.  Cuts what
 * follows the launcher's name. */
static bool is_hidden_program(const struct segment *segment, const char *base, char *name)
{
	if (base[0] != '.' || !base[1])
		return false;
	for (char *dash; !is_named(segment, name, name); *dash = '\0') {
		dash = strrchr(name, '-');
		if (!dash || dash == name)
			return false;
	}
	return true;
}

/* Is the program or script at `path` an agent, by its own name, with or without its ending, or by
 * its package's? */
static bool is_agent(const struct segment *segment, const char *path, struct invocation *invocation)
{
	char name[sizeof(invocation->name)];
	const char *base = path_base(path);

	plain_name(base[0] == '.' && base[1] ? base + 1 : base, name, sizeof(name));
	bool found = is_named(segment, name, strcmp(name, base) == 0 ? name : base) ||
		     is_named_script(segment, name) || is_hidden_program(segment, base, name);
	if (!found)
		found = package_name(path, name, sizeof(name)) && is_named(segment, name, name);
	if (!found)
		return false;
	invocation->role = ROLE_AGENT;
	invocation->local = path[0] != '/' || path_in_workspace(segment, path);
	invocation->profile = profile_of(segment, name);
	memcpy(invocation->name, name, sizeof(name));
	return true;
}

static bool is_interpreter(const char *name)
{
	static const char *const GLOBS[] = { "node", "nodejs", "python*", "pypy*", "bun",
					     "deno", "perl*",  "ruby*",   "tsx" };
	for (size_t i = 0; i < sizeof(GLOBS) / sizeof(GLOBS[0]); i++)
		if (path_glob(GLOBS[i], name, false))
			return true;
	return false;
}

/* The script that an interpreter was asked to run, or NULL.  Options that take their value as the
 * next word: of node (-r, --require, --import, --loader), python (-W, -X), perl (-I). */
static const char *interpreter_script(char *const argv[])
{
	static const char *const TAKE_VALUE[] = {
		"-r", "--require", "--import", "--loader",   "--experimental-loader",
		"-W", "-X",        "-I",       "--env-file", "--title"
	};

	for (size_t i = 1; argv[0] && argv[i]; i++) {
		const char *word = argv[i];
		if (strcmp(word, "--") == 0)
			return argv[i + 1];
		if (word[0] != '-') {
			if (i == 1 && strcmp(word, "run") == 0)
				continue; /* bun run, deno run */
			return word;
		}
		if (strcmp(word, "-m") == 0)
			return argv[i + 1]; /* python: a module's name is as good as a script's */
		if (strcmp(word, "-e") == 0 || strcmp(word, "-c") == 0 || strcmp(word, "-p") == 0 ||
		    word[1] == '\0')
			return NULL;
		for (size_t k = 0; k < sizeof(TAKE_VALUE) / sizeof(TAKE_VALUE[0]); k++)
			if (strcmp(word, TAKE_VALUE[k]) == 0 && argv[i + 1]) {
				i++;
				break;
			}
	}
	return NULL;
}

/* The words of a shell (bash(1), dash(1), zsh(1)): fills runs_command, reads_stdin, interactive and
 * returns the script, or NULL. */
static const char *shell_script(char *const argv[], struct invocation *invocation)
{
	size_t i = 1;

	for (; argv[0] && argv[i]; i++) {
		const char *word = argv[i];
		if (strcmp(word, "--") == 0 || strcmp(word, "-") == 0) {
			i++;
			break;
		}
		if (strncmp(word, "--", 2) == 0) {
			if ((strcmp(word, "--rcfile") == 0 || strcmp(word, "--init-file") == 0) &&
			    argv[i + 1])
				i++;
			continue;
		}
		if (word[0] != '-' && word[0] != '+')
			break;
		for (const char *letter = word + 1; *letter; letter++) {
			if (*letter == 'c' && word[0] == '-')
				invocation->runs_command = true;
			else if (*letter == 'i')
				invocation->interactive = true;
			else if (*letter == 's')
				invocation->reads_stdin = true;
		}
		if ((strchr(word + 1, 'o') || strchr(word + 1, 'O')) && argv[i + 1])
			i++;
	}
	if (invocation->runs_command || invocation->reads_stdin)
		return NULL;
	if (argv[0] && argv[i])
		return argv[i];
	invocation->reads_stdin = true;
	return NULL;
}

/* Nothing but file names, at least one, none of them standard input. */
static bool has_only_files(char *const argv[])
{
	size_t i = 1;
	if (!argv[0] || !argv[1])
		return false;
	bool options_ended = strcmp(argv[1], "--") == 0;
	if (options_ended)
		i++;
	if (!argv[i])
		return false;
	for (; argv[i]; i++)
		if (strcmp(argv[i], "-") == 0 || (argv[i][0] == '-' && !options_ended))
			return false;
	return true;
}

/* Does a long option name one of the space-separated `denied` ones, perhaps abbreviated? */
static bool long_option_in(const char *option, const char *denied)
{
	size_t length = strcspn(option, "=");
	while (*denied) {
		size_t word = strcspn(denied, " ");
		if (length > 0 && length <= word && strncmp(option, denied, length) == 0)
			return true;
		denied += word;
		denied += strspn(denied, " ");
	}
	return false;
}

static bool obeys_rule(const struct reader_rule *rule, char *const argv[])
{
	int operands = 0;
	bool options_ended = false;

	for (size_t i = 1; argv[0] && argv[i]; i++) {
		const char *word = argv[i];
		if (options_ended || word[0] != '-' || word[1] == '\0')
			operands++;
		else if (strcmp(word, "--") == 0)
			options_ended = true;
		else if (word[1] == '-') {
			if (long_option_in(word + 2, rule->denied_long))
				return false;
		} else if (strpbrk(word + 1, rule->denied_short))
			return false;
	}
	return rule->operands_max < 0 || operands <= rule->operands_max;
}

static bool is_plain_script(const char *word)
{
	return word[strspn(word, "0123456789$,; p")] == '\0';
}

/* sed prints without side effects when it is `sed -n 'ADDRESSESp' FILE...`, the script also in
 * several by -e: digits, `$`, commas, semicolons, blanks and p.  Every other script may hold w, e,
 * or replace text. */
static bool sed_only_prints(char *const argv[])
{
	static const char *const PLAIN[] = { "-n", "-nE", "-E", "-nr", "-r", "--quiet", "--silent" };
	bool script_seen = false, operand_seen = false;

	for (size_t i = 1; argv[0] && argv[i]; i++) {
		const char *word = argv[i];
		if (word[0] == '-' && word[1]) {
			bool plain = false;
			if (operand_seen)
				return false; /* GNU sed takes options behind operands too: -i */
			for (size_t k = 0; k < sizeof(PLAIN) / sizeof(PLAIN[0]); k++)
				plain = plain || strcmp(word, PLAIN[k]) == 0;
			if (plain)
				continue;
			if (strcmp(word, "-e") != 0 && strcmp(word, "-ne") != 0)
				return false;
			word = argv[++i];
			if (!word || !is_plain_script(word))
				return false;
			script_seen = true;
		} else {
			if (!script_seen && !is_plain_script(word))
				return false;
			script_seen = operand_seen = true;
		}
	}
	return script_seen;
}

/* find(1): an expression without actions that run, delete or write files. */
static bool find_only_prints(char *const argv[])
{
	static const char *const DENIED[] = { "-delete", "-rm", "-exec", "-ok", "-fprint", "-fls" };
	for (size_t i = 1; argv[0] && argv[i]; i++)
		for (size_t k = 0; k < sizeof(DENIED) / sizeof(DENIED[0]); k++)
			if (strncmp(argv[i], DENIED[k], strlen(DENIED[k])) == 0)
				return false;
	return true;
}

/* git(1): a command that reads, in a form for people: what stands in its normal form's table. */
static bool git_only_prints(char *const argv[])
{
	static const struct normal_facts FACTS = { .is_terminal = false };
	char form[1024];

	return argv[0] && normal_form("git", argv, &FACTS, form, sizeof(form)) > 0;
}

/* Is it a program that may be a reader at all, and is this invocation one?  ret_shows: what is in
 * its files, in part at least. */
static bool is_reader_program(const char *name, char *const argv[], bool *ret_is_reader,
			      bool *ret_shows)
{
	const struct reader_rule *rule = NULL;

	for (size_t i = 0; i < sizeof(READERS) / sizeof(READERS[0]); i++)
		if (strcmp(name, READERS[i].program) == 0)
			rule = &READERS[i];
	*ret_shows = rule ? rule->shows : strcmp(name, "sed") == 0;
	if (rule)
		*ret_is_reader = obeys_rule(rule, argv);
	else if (strcmp(name, "sed") == 0)
		*ret_is_reader = sed_only_prints(argv);
	else if (strcmp(name, "git") == 0)
		*ret_is_reader = git_only_prints(argv);
	else if (strcmp(name, "find") == 0 || strcmp(name, "bfs") == 0)
		*ret_is_reader = find_only_prints(argv);
	else
		return false;
	return true;
}

/* Does a reader ask for nothing in the workspace, by its words alone: its version, or files that
 * all lie elsewhere? */
static bool is_probe(const struct segment *segment, const char *name, char *const argv[])
{
	static const char *const TAKE_PATTERN[] = { "grep", "egrep", "fgrep", "rg",
						    "ag",   "ack",   "sed",   "jq" };
	bool pattern = false, elsewhere = false;

	for (size_t i = 0; i < sizeof(TAKE_PATTERN) / sizeof(TAKE_PATTERN[0]); i++)
		pattern = pattern || strcmp(name, TAKE_PATTERN[i]) == 0;
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		const char *word = argv[i];
		if (strcmp(word, "--version") == 0 || strcmp(word, "--help") == 0)
			return true;
		if (word[0] == '-' && word[1])
			continue;
		if (pattern) {
			pattern = false;
			continue;
		}
		if (word[0] != '/' || path_in_workspace(segment, word))
			return false;
		elsewhere = true;
	}
	return elsewhere;
}

/* Some agents hold search programs of their own: the agent's executable, called `rg` or `bfs`, is
 * no agent. */
static bool is_called_otherwise(char *const argv[], char *ret_name, size_t size_bytes)
{
	bool unused, unused_too;
	if (!argv[0])
		return false;
	plain_name(argv[0], ret_name, size_bytes);
	return is_reader_program(ret_name, argv, &unused, &unused_too);
}

/* Programs that are many. */
static bool is_many(const char *name)
{
	return strcmp(name, "busybox") == 0 || strcmp(name, "toybox") == 0 ||
	       strcmp(name, "coreutils") == 0;
}

/* Is it a program that came with the system?  A name without a directory is a module's, or searched
 * for. */
static bool is_of_system(const char *path)
{
	static const char *const PLACES[] = { "/usr/", "/bin/", "/sbin/", "/lib" };

	if (strncmp(path, "/usr/local/", sizeof("/usr/local/") - 1) == 0)
		return false;
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++)
		if (strncmp(path, PLACES[i], strlen(PLACES[i])) == 0)
			return true;
	return false;
}

void role_invocation(const struct segment *segment, const char *executable, char *const argv[],
		     struct invocation *ret_invocation)
{
	static char *const NO_WORDS[] = { NULL };
	struct invocation invocation = { .role = ROLE_TOOL };
	const struct settings *settings = segment->settings;
	const char *path = executable;
	char name[sizeof(invocation.name)];

	if (!argv)
		argv = NO_WORDS;
	plain_name(executable, name, sizeof(name));
	/* One program under many names goes by the name it was called by, or by the word behind its
	 * own. */
	if (argv[0] && is_many(name))
		plain_name(argv[0][0] == '-' ? argv[0] + 1 : argv[0], name, sizeof(name));
	if (argv[0] && argv[1] && argv[1][0] != '-' && is_many(name))
		plain_name(*++argv, name, sizeof(name));
	memcpy(invocation.name, name, sizeof(name));

	char other[sizeof(invocation.name)];
	bool otherwise = is_called_otherwise(argv, other, sizeof(other));
	bool reader = false, shows;
	bool shell = in_list(segment, settings->processes_shells, name);
	const char *script = shell                  ? shell_script(argv, &invocation)
			     : is_interpreter(name) ? interpreter_script(argv)
						    : NULL;

	if (script && is_agent(segment, script, &invocation))
		invocation.scripted = true;
	else if (!otherwise && (is_agent(segment, path, &invocation) ||
				(argv[0] && !shell && !script && strcmp(argv[0], path) != 0 &&
				 is_agent(segment, argv[0], &invocation))))
		;
	else if (shell)
		invocation.role = ROLE_SHELL;
	else if (script)
		plain_name(script, invocation.name, sizeof(invocation.name));
	else if (in_list(segment, settings->processes_viewers, name) && has_only_files(argv) &&
		 !path_in_workspace(segment, path))
		invocation.role = ROLE_VIEWER;
	else if (is_reader_program(name, argv, &reader, &shows)) {
		invocation.role = reader ? ROLE_READER : ROLE_TOOL;
		invocation.shows = reader && shows;
		invocation.probes = reader && is_probe(segment, name, argv);
	}

	invocation.unknown = invocation.role == ROLE_TOOL && !is_of_system(script ? script : path);
	invocation.ignored = in_list(segment, settings->processes_ignore, invocation.name);
	invocation.whitelisted = in_list(segment, settings->processes_whitelist, invocation.name);
	*ret_invocation = invocation;
}

bool role_root_is_external(const struct invocation *root, bool stdin_is_terminal)
{
	switch (root->role) {
	case ROLE_VIEWER:
	case ROLE_READER:
		return true;
	case ROLE_SHELL:
		return root->runs_command || root->interactive ||
		       (root->reads_stdin && stdin_is_terminal);
	default:
		return false;
	}
}

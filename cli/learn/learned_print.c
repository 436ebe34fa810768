/* A learned policy, written: see learned_print.h. */
#include "cli/learn/learned_print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "config/ini.h"
#include "tracker/path/path.h"

static const char *const KIND_NAMES[LEARNED_KINDS] = {
	[LEARNED_ELSEWHERE] = "elsewhere", [LEARNED_HOME] = "the home directory",
	[LEARNED_CACHE] = "caches",        [LEARNED_SCRATCH] = "temporary files",
	[LEARNED_SYSTEM] = "the system",   [LEARNED_WORKSPACE] = "the workspace",
};

static void print_head(const struct learned *learned, const char *comment)
{
	char name[4096];
	size_t places = 0;

	for (size_t use = 0; use < LEARNED_USES; use++)
		places += learned->counts[use];
	(void)printf("%s Learned from %zu session%s: %" PRIu64
		     " accesses in %zu directories, as %zu "
		     "places.\n",
		     comment, learned->sessions, text_plural(learned->sessions), learned->accesses,
		     learned->directory_count, places);
	if (learned->unobserved)
		(void)printf("%s %" PRIu64
			     " process%s not observed: what these touched is not here.\n",
			     comment, learned->unobserved,
			     learned->unobserved == 1 ? " was" : "es were");
	if (learned->missing)
		(void)printf("%s %" PRIu64
			     " record%s damaged, or could not be written: what these were about "
			     "is not here.\n",
			     comment, learned->missing, learned->missing == 1 ? " is" : "s are");
	if (learned->left_out) {
		(void)path_escape(learned->left_out, name, sizeof(name));
		size_t others = learned->wide_count - 1;
		(void)printf("%s Left out: %s", comment, name);
		if (others)
			(void)printf(" and %zu other%s were themselves opened or changed, which as "
				     "places would allow all below them.\n",
				     others, text_plural(others));
		else
			(void)printf(" itself was opened or changed, which as a place would allow "
				     "all below it.\n");
	}
}

/* ---- rules ---- */

/* The places of one use, some on a line, by kind. */
static void print_except(const struct learned *learned, enum learned_use use)
{
	size_t used = 0;

	if (use == LEARNED_LIST)
		print_except(learned, LEARNED_READ);
	for (size_t i = 0; i < learned->counts[use]; i++) {
		const struct learned_place *place = &learned->places[use][i];
		bool is_first = i == 0 || place[-1].kind != place->kind;
		size_t bytes = strlen(place->glob) + 1;
		if (is_first)
			(void)printf("%s; %s\n", used ? "\n" : "", KIND_NAMES[place->kind]);
		if (is_first || used + bytes > 100) {
			(void)printf("%sexcept =", is_first ? "" : "\n");
			used = 0;
		}
		(void)printf(" %s", place->glob);
		used += bytes;
	}
	if (used)
		(void)printf("\n");
}

int learned_print_rules(const struct learned *learned, bool complains)
{
	static const struct {
		enum learned_use use;
		const char *name, *ops;
	} RULES[] = {
		{ LEARNED_WRITE, "write", "write create delete rename link metadata" },
		{ LEARNED_EXEC, "exec", "exec" },
		{ LEARNED_READ, "read", "read list" },
		{ LEARNED_LIST, "list", "list" },
	};
	bool lists = learned->counts[LEARNED_LIST] > 0;

	print_head(learned, ";");
	(void)printf("; What is not below one of these places is %s: `seen run --config FILE "
		     "--fail-on=rule -- COMMAND`.\n",
		     complains ? "reported" : "refused");
	for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
		if (RULES[i].use == LEARNED_LIST && !lists)
			continue;
		(void)printf("\n[rule learned-%s]\nop = %s\naction = %s\n", RULES[i].name,
			     lists && RULES[i].use == LEARNED_READ ? "read" : RULES[i].ops,
			     complains ? "warn" : "deny");
		print_except(learned, RULES[i].use);
	}
	return 0;
}

/* ---- bubblewrap ---- */

/* A word for sh. */
static void print_word(const char *word)
{
	(void)putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			(void)printf("'\\''");
		else
			(void)putchar(*word);
	}
	(void)putchar('\'');
}

/* Is it a place that is written, or below one? */
static bool is_written(const struct learned *learned, const char *path)
{
	for (size_t i = 0; i < learned->counts[LEARNED_WRITE]; i++) {
		const char *other = learned->places[LEARNED_WRITE][i].path;
		if (other && path_below(path, other))
			return true;
	}
	return false;
}

/* Devices and processes are the sandbox's own. */
static bool is_special(const char *path)
{
	return strcmp(path, "/dev") == 0 || strcmp(path, "/proc") == 0 ||
	       strcmp(path, "/dev/shm") == 0;
}

static void print_bind(const char *option, const char *path)
{
	char target[1024];
	struct stat stat;
	ssize_t length = -1;

	if (lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode))
		length = readlink(path, target, sizeof(target) - 1);
	(void)printf(" \\\n\t");
	if (length > 0) {
		target[length] = '\0';
		(void)printf("--symlink ");
		print_word(target);
	} else {
		(void)printf("%s ", option);
		print_word(path);
	}
	(void)putchar(' ');
	print_word(path);
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* All places but those to list, each once, a directory before what it holds.  Returns their number. */
static size_t list_paths(const struct learned *learned, const char **ret_paths)
{
	static const char *const LOADER[] = { "/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc" };
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < sizeof(LOADER) / sizeof(LOADER[0]); i++)
		ret_paths[count++] = LOADER[i];
	for (size_t use = 0; use < LEARNED_USES; use++)
		for (size_t i = 0; use != LEARNED_LIST && i < learned->counts[use]; i++)
			if (learned->places[use][i].path)
				ret_paths[count++] = learned->places[use][i].path;
	qsort(ret_paths, count, sizeof(*ret_paths), compare_paths);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || strcmp(ret_paths[kept - 1], ret_paths[i]) != 0)
			ret_paths[kept++] = ret_paths[i];
	return kept;
}

/* Returns NULL without memory. */
static const char **make_paths(const struct learned *learned, size_t *ret_count)
{
	size_t most = 8;

	for (size_t use = 0; use < LEARNED_USES; use++)
		most += learned->counts[use];
	const char **paths = calloc(most, sizeof(*paths));
	if (paths)
		*ret_count = list_paths(learned, paths);
	return paths;
}

int learned_print_bwrap(const struct learned *learned)
{
	size_t count;
	const char **paths = make_paths(learned, &count);

	if (!paths)
		return -ENOMEM;
	(void)printf("#!/bin/sh\n");
	print_head(learned, "#");
	(void)printf("exec bwrap --die-with-parent --dev /dev --proc /proc --unshare-pid");
	for (size_t i = 0; i < count; i++)
		if (!is_special(paths[i]))
			print_bind(is_written(learned, paths[i]) ? "--bind-try" : "--ro-bind-try",
				   paths[i]);
	if (learned->workspace) {
		(void)printf(" \\\n\t--dir "); /* nothing of it may have been used */
		print_word(learned->workspace);
		(void)printf(" --chdir ");
		print_word(learned->workspace);
	}
	(void)printf(" \\\n\t-- \"$@\"\n");
	free(paths);
	return 0;
}

/* ---- Landlock ---- */

/* Names as in linux/landlock.h, without their beginning. */
static json_t *make_rights(bool reads, bool writes)
{
	static const char *const READS[] = { "READ_DIR", "READ_FILE", "EXECUTE", NULL };
	static const char *const WRITES[] = { "WRITE_FILE", "REMOVE_DIR", "REMOVE_FILE",
					      "MAKE_CHAR",  "MAKE_DIR",   "MAKE_REG",
					      "MAKE_SOCK",  "MAKE_FIFO",  "MAKE_BLOCK",
					      "MAKE_SYM",   "REFER",      "TRUNCATE",
					      NULL };
	json_t *rights = json_array();

	for (size_t i = 0; READS[i] && (reads || i == 0); i++)
		(void)json_array_append_new(rights, json_string(READS[i]));
	for (size_t i = 0; writes && WRITES[i]; i++)
		(void)json_array_append_new(rights, json_string(WRITES[i]));
	return rights;
}

static void append_rule(json_t *rules, const char *path, bool reads, bool writes)
{
	json_t *rule = json_object();

	(void)json_object_set_new(rule, "parent", text_json(path));
	(void)json_object_set_new(rule, "allowed_access", make_rights(reads, writes));
	(void)json_array_append_new(rules, rule);
}

int learned_print_landlock(const struct learned *learned)
{
	size_t count;
	const char **paths = make_paths(learned, &count);
	json_t *document = json_object(), *rules = json_array();

	if (!paths) {
		json_decref(document);
		json_decref(rules);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		append_rule(rules, paths[i], true,
			    is_written(learned, paths[i]) || is_special(paths[i]));
	for (size_t i = 0; i < learned->counts[LEARNED_LIST]; i++)
		append_rule(rules, learned->places[LEARNED_LIST][i].path, false, false);
	free(paths);
	(void)json_object_set_new(document, "schema", json_string("seen/landlock/1"));
	(void)json_object_set_new(document, "handled_access_fs", make_rights(true, true));
	(void)json_object_set_new(document, "path_beneath", rules);
	return text_json_print(document);
}

/* Protected and read-only files: see search.h. */
#include "cli/confine/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine/paths.h"
#include "cli/session/session.h"
#include "cli/session/settings_only.h"
#include "config/rules.h"
#include "config/value.h"
#include "tracker/guard/rule.h"

enum { KEY_BYTES = 128, DEPTH_MAX = 256, LINKS_MAX = 1024 };

/* Rules that hold for every program, as far as the kernel can tell one from another: not at all. */
struct judge {
	struct settings_only settings;
	struct rule_program program;
};

struct confine_search {
	struct confinement *confinement;
	const struct config *config;
	struct judge reads;           /* what denies reading */
	struct judge writes;          /* what denies writing */
	char state[PATH_MAX];         /* where sessions are: nothing there is protected */
	char *const *roots;           /* what is walked by its own name, ended by NULL */
	struct stat links[LINKS_MAX]; /* directories that were followed to */
	size_t link_count;
	int depth;
	int followed; /* links to directories that the walk is behind */
};

/* Has the rules of one set deny, those of its user that deny to be read stay, and no others. */
static int choose_rules(struct config *config, const char *set, struct config_error *ret_error)
{
	char key[KEY_BYTES];
	int error = 0;

	for (size_t i = 0; i < config_rule_count(config) && error == 0; i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		const struct config_value *action = &rule->values[RULE_OPTION_ACTION];
		bool is_of_set = rule->set && strcmp(rule->set, set) == 0;
		bool is_off = rule->is_mentioned && action->number == RULE_ACTION_OFF;
		bool stays = strcmp(set, "secrets") == 0 && action->number == RULE_ACTION_DENY &&
			     config_rule_is_in_force(config, rule);

		(void)snprintf(key, sizeof(key), "rule %s.action", rule->name);
		error = config_set(config, key, (is_of_set && !is_off) || stays ? "deny" : "off",
				   "--confine", ret_error);
	}
	return error;
}

static int judge_init(const struct config *config, const char *set, struct judge *judge,
		      struct config_error *ret_error)
{
	struct config *copy = NULL;
	int error = config_copy(config, &copy);

	if (error == 0)
		error = choose_rules(copy, set, ret_error);
	if (error == 0)
		error = settings_only_init(copy, &judge->settings, ret_error);
	if (error == 0)
		rule_program(&judge->settings.segment, "", "", &judge->program);
	config_free(copy);
	return error;
}

static bool judge_denies(const struct judge *judge, uint32_t op, const char *path)
{
	const struct rule_question question = { .ops = op, .path = path };
	struct rule_answer answer;

	rule_judge(&judge->settings.segment, &judge->program, &question, &answer);
	return answer.action == RULE_ACTION_DENY;
}

struct confine_search *confine_search_new(const struct config *config,
					  struct confinement *confinement, char *const roots[])
{
	struct confine_search *search = calloc(1, sizeof(*search));
	struct config_error error = { "out of memory" };

	if (!search)
		return NULL;
	search->confinement = confinement;
	search->config = config;
	search->roots = roots;
	if (session_state_dir(config, search->state, sizeof(search->state)) < 0)
		search->state[0] = '\0';
	if (judge_init(config, "secrets", &search->reads, &error) == 0 &&
	    judge_init(config, "ci", &search->writes, &error) == 0)
		return search;
	(void)confinement_fail(confinement, "%s", error.text);
	confine_search_free(search);
	return NULL;
}

void confine_search_free(struct confine_search *search)
{
	if (!search)
		return;
	settings_only_destroy(&search->reads.settings);
	settings_only_destroy(&search->writes.settings);
	free(search);
}

/* ---- one name ---- */

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int walk(struct confine_search *search, int parent, const char *name, char *path,
		size_t length);

static int scan_unreadable(struct confine_search *search, const char *directory);

/* One name in an unreadable directory. */
static int scan_entry(struct confine_search *search, const char *path)
{
	struct stat stat;

	if (lstat(path, &stat) < 0 || S_ISLNK(stat.st_mode))
		return 0;
	if (!judge_denies(&search->reads, RULE_READ, path))
		return confinement_add(search->confinement, path, CONFINE_EXCEPTED);
	if (S_ISDIR(stat.st_mode))
		return scan_unreadable(search, path);
	/* Its other names are looked for. */
	return S_ISREG(stat.st_mode) && stat.st_nlink > 1
		       ? confinement_add(search->confinement, path, CONFINE_UNREADABLE)
		       : 0;
}

/* What an unreadable directory holds that a rule excepts is readable in it. */
static int scan_unreadable(struct confine_search *search, const char *directory)
{
	DIR *stream = search->depth < DEPTH_MAX ? opendir(directory) : NULL;
	struct dirent *entry;
	char path[PATH_MAX];
	int error = 0;

	search->depth++;
	while (stream && error == 0 && (entry = readdir(stream))) {
		int bytes = snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!is_dots(entry->d_name) && bytes < (int)sizeof(path))
			error = scan_entry(search, path);
	}
	search->depth--;
	if (stream)
		(void)closedir(stream);
	return error;
}

/* A path that no program may read.  A symbolic link stands for what it leads to. */
static int protect(struct confine_search *search, const char *path)
{
	char target[PATH_MAX];
	struct stat stat;

	/* A link to a device protects nothing. */
	if (!realpath(path, target) || lstat(target, &stat) < 0 || S_ISCHR(stat.st_mode) ||
	    S_ISBLK(stat.st_mode))
		return 0;
	int error = confinement_add(search->confinement, target, CONFINE_UNREADABLE);
	return error == 0 && S_ISDIR(stat.st_mode) ? scan_unreadable(search, target) : error;
}

/* A path that no program may write to, in a place that is writable. */
static int fix(struct confine_search *search, const char *path)
{
	char target[PATH_MAX];

	/* Behind a link that was followed it is what the link leads to. */
	if (search->followed && realpath(path, target))
		path = target;
	const struct confine_place *above = confinement_above(search->confinement, path);
	if (!above || above->access != CONFINE_WRITABLE)
		return 0;
	return confinement_add(search->confinement, path, CONFINE_FIXED);
}

/* Before the command starts, a socket is an external process's, which could hand a file over. */
static int close_socket(struct confine_search *search, const char *path)
{
	const struct confine_place *above = confinement_above(search->confinement, path);

	return above && strcmp(above->path, path) == 0
		       ? 0
		       : confinement_add(search->confinement, path, CONFINE_CLOSED);
}

/* Is what lies at or below a path walked by its own name, or left out? */
static bool is_walked(const struct confine_search *search, const char *path)
{
	static const char *const LEFT_OUT[] = { "/usr", "/proc", "/sys", "/dev", NULL };

	for (size_t i = 0; LEFT_OUT[i]; i++)
		if (confine_path_is_below(path, LEFT_OUT[i]))
			return true;
	for (size_t i = 0; search->roots[i]; i++)
		if (confine_path_is_below(path, search->roots[i]))
			return true;
	return false;
}

/* A link to a directory elsewhere: what is below is judged by the link's name. */
static int follow_directory(struct confine_search *search, char *path, size_t length)
{
	struct stat stat;
	char target[PATH_MAX];

	if (fstatat(AT_FDCWD, path, &stat, 0) < 0 || !S_ISDIR(stat.st_mode) ||
	    !realpath(path, target) || confine_path_is_below(path, target) ||
	    is_walked(search, target) || search->link_count == LINKS_MAX)
		return 0;
	for (size_t i = 0; i < search->link_count; i++)
		if (search->links[i].st_ino == stat.st_ino &&
		    search->links[i].st_dev == stat.st_dev)
			return 0;
	search->links[search->link_count++] = stat;
	search->followed++;
	int error = walk(search, AT_FDCWD, path, path, length);
	search->followed--;
	return error;
}

static int judge_entry(struct confine_search *search, int directory, const struct dirent *entry,
		       char *path, size_t length)
{
	struct stat stat;
	unsigned char type = entry->d_type;
	bool in_state = search->state[0] && confine_path_is_below(path, search->state);
	int error = 0;

	if (type == DT_UNKNOWN &&
	    fstatat(directory, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
		type = IFTODT(stat.st_mode);
	if (in_state && type == DT_DIR)
		return 0;
	if (type == DT_SOCK && !in_state)
		return close_socket(search, path);
	if (judge_denies(&search->reads, RULE_READ, path)) {
		error = protect(search, path);
		if (type == DT_DIR)
			return error;
	}
	if (error == 0 && judge_denies(&search->writes, RULE_WRITE, path))
		error = fix(search, path);
	if (error == 0 && type == DT_DIR)
		error = walk(search, directory, entry->d_name, path, length);
	else if (error == 0 && type == DT_LNK)
		error = follow_directory(search, path, length);
	return error;
}

/* path: of the directory, PATH_MAX bytes; what is behind `length` is overwritten. */
static int walk(struct confine_search *search, int parent, const char *name, char *path,
		size_t length)
{
	int fd = search->depth < DEPTH_MAX
			 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME)
			 : -1;
	struct dirent *entry;
	int error = 0;

	if (fd < 0 && errno == EPERM)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		return 0; /* who cannot list it here cannot there */
	}
	search->depth++;
	while (error == 0 && (entry = readdir(stream))) {
		size_t bytes = strlen(entry->d_name);

		if (is_dots(entry->d_name) || length + 1 + bytes >= PATH_MAX)
			continue;
		path[length] = '/';
		memcpy(path + length + 1, entry->d_name, bytes + 1);
		error = judge_entry(search, dirfd(stream), entry, path, length + 1 + bytes);
		path[length] = '\0';
	}
	search->depth--;
	(void)closedir(stream);
	return error;
}

/* Is a root walked with another one: that is above it, or the same and before it? */
static bool is_walked_with(char *const roots[], size_t index)
{
	for (size_t i = 0; roots[i]; i++) {
		bool is_same = strcmp(roots[i], roots[index]) == 0;
		if (i != index &&
		    (is_same ? i < index : confine_path_is_below(roots[index], roots[i])))
			return true;
	}
	return false;
}

int confine_search_walk(struct confine_search *search)
{
	char *const *roots = search->roots;
	char path[PATH_MAX];
	int error = 0;

	for (size_t i = 0; roots[i] && error == 0; i++) {
		size_t length = strlen(roots[i]);
		if (is_walked_with(roots, i) || length >= sizeof(path))
			continue;
		memcpy(path, roots[i], length + 1);
		error = walk(search, AT_FDCWD, roots[i], path, length == 1 ? 0 : length);
	}
	return error;
}

/* ---- whole paths ---- */

static int protect_match(void *data, const char *path, const char *found)
{
	struct confine_search *search = data;

	(void)found;
	return judge_denies(&search->reads, RULE_READ, path) ? protect(search, path) : 0;
}

int confine_search_absolute(struct confine_search *search)
{
	int error = 0;

	for (size_t i = 0; i < config_rule_count(search->config) && error == 0; i++) {
		const struct config_rule *rule = config_rule_at(search->config, i);
		error = confine_paths_each(search->config, rule->values[RULE_OPTION_PATH].text,
					   false, protect_match, search);
	}
	return error;
}

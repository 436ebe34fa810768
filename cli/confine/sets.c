/* What each set means: see sets.h. */
#include "cli/confine/sets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/confine/aliases.h"
#include "cli/confine/paths.h"
#include "cli/confine/search.h"
#include "cli/session/git_directory.h"
#include "cli/session/session.h"
#include "config/rules.h"
#include "config/value.h"
#include "tracker/path/path.h"

/* What the making of a confinement hands on. */
struct making {
	struct confinement *confinement;
	const struct config *config;
	enum confine_access access;
	const char *home; /* canonical; NULL: none */
};

/* As it was given, without slashes at its end.  ret_name: PATH_MAX bytes. */
static void name_of(const char *found, char *ret_name)
{
	(void)snprintf(ret_name, PATH_MAX, "%s", found);
	for (size_t length = strlen(ret_name); length > 1 && ret_name[length - 1] == '/';)
		ret_name[--length] = '\0';
}

static int add_match(void *data, const char *path, const char *found)
{
	struct making *making = data;
	struct stat stat;
	char name[PATH_MAX];
	/* Where devices and daemons are, and other processes. */
	static const char *const NEVER[] = { "/proc", "/sys", "/run", NULL };

	if (strcmp(path, "/") == 0 || strcmp(path, "/dev") == 0)
		return 0;
	for (size_t i = 0; NEVER[i] && making->access == CONFINE_WRITABLE; i++)
		if (confine_path_is_below(path, NEVER[i]))
			return 0;
	/* Behind a link it is the name that is to be fixed, too; of a link the name alone. */
	name_of(found, name);
	if (making->access == CONFINE_FIXED && strcmp(path, name) != 0) {
		int error = confinement_add(making->confinement, name, making->access);
		if (error < 0 || (lstat(name, &stat) == 0 && S_ISLNK(stat.st_mode)))
			return error;
	}
	return confinement_add(making->confinement, path, making->access);
}

static int add_words(struct making *making, const char *words, enum confine_access access,
		     bool makes)
{
	making->access = access;
	return confine_paths_each(making->config, words, makes, add_match, making);
}

static int add_path(struct making *making, const char *path, enum confine_access access)
{
	char canonical[PATH_MAX];

	return path && realpath(path, canonical)
		       ? confinement_add(making->confinement, canonical, access)
		       : 0;
}

/* What a set of rules leaves alone, since every session writes it: temporary files, caches. */
static int add_scratch(struct making *making)
{
	const struct config_rule *rule = config_rule_find(making->config, "outside");
	int error = add_words(making, "$TMPDIR/ /tmp /var/tmp", CONFINE_WRITABLE, true);

	if (error == 0 && rule)
		error = add_words(making, rule->values[RULE_OPTION_EXCEPT].text, CONFINE_WRITABLE,
				  false);
	return error;
}

/* The sessions' own directories, which are made here. */
static int add_sessions(struct making *making)
{
	char path[PATH_MAX], word[PATH_MAX + 1];
	int (*const FINDERS[])(const struct config *, char *, size_t) = { session_state_dir,
									  session_runtime_dir };
	int error = 0;

	for (size_t i = 0; i < sizeof(FINDERS) / sizeof(FINDERS[0]) && error == 0; i++) {
		if (FINDERS[i](making->config, path, sizeof(path)) < 0)
			continue;
		/* A blank would end the word; making it is left to the session then. */
		(void)snprintf(word, sizeof(word), "%s/", path);
		if (!strpbrk(path, " *?[\\"))
			error = add_words(making, word, CONFINE_HIDDEN, true);
		if (error == 0)
			error = add_path(making, path, CONFINE_WRITABLE);
	}
	return error;
}

/* ---- the agent ---- */

/* Has the directories that an agent keeps its own in: those that are absent are made, or it could not
 * make them itself. */
static int add_state(struct making *making, const struct config_profile *profile)
{
	char words[CONFIG_ERROR_BYTES * 4];
	size_t used = 0;
	const char *state = profile->values[PROFILE_OPTION_STATE].text;

	/* "~/.name" and all below it: a directory. */
	for (const char *at = state; *at; at += strcspn(at, " "), at += *at == ' ') {
		size_t length = strcspn(at, " ");
		if (length > 3 && strncmp(at + length - 3, "/**", 3) == 0 &&
		    used + length < sizeof(words) && !memchr(at, '*', length - 3))
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%.*s",
						 used ? " " : "", (int)length - 2, at);
	}
	words[used] = '\0';
	int error = add_words(making, words, CONFINE_WRITABLE, true);
	return error == 0 ? add_words(making, state, CONFINE_WRITABLE, false) : error;
}

/* The agent that the command comes to.  Of a command that is none, it may start any. */
static int add_agents(struct making *making, const char *agent)
{
	const struct config_profile *profile = config_profile_find(making->config, agent);
	int error = 0;

	if (profile)
		return add_state(making, profile);
	for (size_t i = 0; i < config_profile_count(making->config) && error == 0; i++)
		error = add_words(
			making,
			config_profile_at(making->config, i)->values[PROFILE_OPTION_STATE].text,
			CONFINE_WRITABLE, false);
	return error;
}

/* ---- read-only in what is writable ---- */

static int add_settings(struct making *making)
{
	int error = 0;

	for (size_t i = 0; i < config_profile_count(making->config) && error == 0; i++)
		error = add_words(
			making,
			config_profile_at(making->config, i)->values[PROFILE_OPTION_SETTINGS].text,
			CONFINE_FIXED, false);
	return error;
}

/* What the set `ci` speaks of behind a link of the workspace's own: the search finds it by its other name. */
static int add_linked(struct making *making)
{
	char word[PATH_MAX];
	int error = 0;

	for (size_t i = 0; i < config_rule_count(making->config) && error == 0; i++) {
		const struct config_rule *rule = config_rule_at(making->config, i);
		const char *at = rule->values[RULE_OPTION_PATH].text;
		bool is_off = rule->is_mentioned &&
			      rule->values[RULE_OPTION_ACTION].number == RULE_ACTION_OFF;
		if (!rule->set || strcmp(rule->set, "ci") != 0 || is_off)
			continue;
		for (; *at && error == 0; at += strcspn(at, " "), at += *at == ' ') {
			int length = (int)strcspn(at, " ");
			if (strchr("~$@/", at[0]) || !memchr(at, '/', (size_t)length) ||
			    memchr(at, '*', (size_t)length) ||
			    snprintf(word, sizeof(word), "./%.*s", length, at) >= (int)sizeof(word))
				continue;
			error = add_words(making, word, CONFINE_FIXED, false);
		}
	}
	return error;
}

/* A fixed place in a directory that could be renamed, and another one put in its stead. */
static int add_pins(struct confinement *confinement)
{
	char path[PATH_MAX];
	size_t count = confinement->count;
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++) {
		if (confinement->places[i].access != CONFINE_FIXED)
			continue;
		const struct confine_place *above = confinement_above(confinement,
								      confinement->places[i].path);
		size_t least = above ? strlen(above->path) : 0;
		(void)snprintf(path, sizeof(path), "%s", confinement->places[i].path);
		for (char *slash = strrchr(path, '/'); error == 0 && slash;
		     slash = strrchr(path, '/')) {
			*slash = '\0';
			if (strlen(path) <= least)
				break;
			error = confinement_add(confinement, path, CONFINE_PINNED);
		}
	}
	return error;
}

/* Directories that are held although they are absent: an empty one is no change that git knows. */
static int make_held(struct making *making)
{
	const char *root = config_workspace(making->config);
	char path[PATH_MAX];
	struct stat stat;

	int bytes = snprintf(path, sizeof(path), "%s/.git", root);
	if (bytes >= (int)sizeof(path) || lstat(path, &stat) < 0 || !S_ISDIR(stat.st_mode))
		return 0;
	return add_words(making, "./.git/hooks/", CONFINE_FIXED, true);
}

/* ---- a hidden home directory ---- */

/* The directory whose parts belong together: of PREFIX/bin PREFIX, of a Node package all of its
 * node_modules. */
static void find_package(char *path)
{
	char *modules = strstr(path, "/node_modules/");
	char *slash = strrchr(path, '/');

	if (modules) {
		modules[strlen("/node_modules")] = '\0';
		return;
	}
	if (slash && slash != path && strcmp(slash, "/bin") == 0)
		*slash = '\0';
}

/* A program's directory.  path: of the program. */
static int show_program(struct making *making, const char *path)
{
	char directory[PATH_MAX];

	if (!realpath(path, directory))
		return 0;
	*strrchr(directory, '/') = '\0';
	find_package(directory);
	/* No program's directory is the home directory itself; what is elsewhere is in sight. */
	if (!confine_path_is_below(directory, making->home) || strcmp(directory, making->home) == 0)
		return 0;
	return add_path(making, directory, CONFINE_READABLE);
}

static int show_command(struct making *making, char *const words[])
{
	struct executable *chain = calloc(EXECUTABLE_CHAIN_MAX, sizeof(*chain));
	char missing[PATH_MAX];
	int count = chain ? executable_chain(words[0], chain, missing) : 0;
	int error = chain ? 0 : -ENOMEM;

	for (int i = 0; i < count && error == 0; i++) {
		error = show_program(making, chain[i].found);
		if (error == 0)
			error = show_program(making, chain[i].path);
	}
	free(chain);
	return error;
}

static int show_path_directories(struct making *making)
{
	const char *list = getenv("PATH");
	char path[PATH_MAX];
	int error = 0;

	for (const char *at = list; at && error == 0;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t length = strcspn(at, ":");
		int bytes = snprintf(path, sizeof(path), "%.*s/.", (int)length, at);
		if (length && bytes < (int)sizeof(path))
			error = show_program(making, path);
	}
	return error;
}

/* What stays in sight below a hidden home directory: programs, and git's settings. */
static int show_programs(struct making *making, const struct confine_command *command)
{
	static const char TOOLS[] =
		"~/.gitconfig ~/.config/git/config ~/.config/git/ignore ~/.config/git/attributes "
		"~/.nvm ~/.volta ~/.fnm ~/.bun ~/.deno ~/.cargo ~/.rustup ~/go ~/.pyenv ~/.rbenv "
		"~/.asdf ~/.local/bin ~/.local/lib ~/.local/share/uv ~/.local/share/mise "
		"~/.local/share/pnpm ~/.local/share/fnm ~/.sdkman ~/.jenv ~/.ghcup ~/.dotnet "
		"~/miniconda3 ~/anaconda3 ~/.npm-global ~/.bashrc ~/.profile ~/.bash_profile";
	int error = add_words(making, TOOLS, CONFINE_READABLE, false);

	if (error == 0)
		error = show_path_directories(making);
	if (error == 0)
		error = show_command(making, command->words);
	if (error == 0 && command->program)
		error = show_command(making, command->program);
	if (error == 0)
		error = show_program(making, "/proc/self/exe");
	for (size_t i = 0; i < config_file_count(making->config) && error == 0; i++)
		error = add_path(making, config_file_at(making->config, i), CONFINE_READABLE);
	return error;
}

/* ---- the whole ---- */

/* What asks an external process to do something: it would read for the command. */
static int add_daemons(struct making *making)
{
	static const char SOCKETS[] =
		"/run/docker.sock /run/podman /run/containerd /run/crio /run/dbus "
		"/run/systemd/private "
		"/run/screen /run/tmux /run/libvirt /run/incus /var/lib/incus/unix.socket "
		"/var/lib/lxd/unix.socket /tmp/tmux-* $TMPDIR/tmux-* /tmp/emacs* /run/snapd.socket "
		"/run/acpid.socket /run/atd.pid /run/uuidd";
	const char *agent = getenv("SSH_AUTH_SOCK");
	int error = add_words(making, "/run/user/*", CONFINE_HIDDEN, false);

	if (error == 0)
		error = add_path(making, agent, CONFINE_READABLE);
	return error == 0 ? add_words(making, SOCKETS, CONFINE_CLOSED, false) : error;
}

/* The git directory that a worktree shares with others, but for what git runs of it. */
static int add_git_directory(struct making *making, const char *workspace)
{
	char common[PATH_MAX], path[PATH_MAX];
	static const char *const HELD[] = { "hooks", "config", NULL };
	int error = 0;

	if (!git_directory_of_worktree(workspace, common))
		return 0;
	error = confinement_add(making->confinement, common, CONFINE_WRITABLE);
	for (size_t i = 0; HELD[i] && error == 0; i++)
		if (snprintf(path, sizeof(path), "%s/%s", common, HELD[i]) < (int)sizeof(path))
			error = confinement_add(making->confinement, path, CONFINE_FIXED);
	return error;
}

/* The places but for those that are found by searching. */
static int add_places(struct making *making, const struct confine_command *command,
		      enum confine_set set)
{
	const char *workspace = config_workspace(making->config);
	enum confine_access home = set == CONFINE_SET_SECRETS    ? CONFINE_WRITABLE
				   : set == CONFINE_SET_ISOLATED ? CONFINE_HIDDEN
								 : CONFINE_READABLE;
	int error = 0;

	if (making->home)
		error = confinement_add(making->confinement, making->home, home);
	if (error == 0)
		error = add_scratch(making);
	if (error == 0)
		error = add_words(making, config_text(making->config, OPTION_confine_write),
				  CONFINE_WRITABLE, true);
	if (error == 0)
		error = add_agents(making, command->agent);
	if (error == 0 && set == CONFINE_SET_ISOLATED)
		error = show_programs(making, command);
	if (error == 0 && set == CONFINE_SET_ISOLATED)
		error = add_words(making, config_text(making->config, OPTION_confine_read),
				  CONFINE_READABLE, false);
	if (error == 0)
		error = add_daemons(making);
	if (error == 0)
		error = add_sessions(making);
	if (error == 0)
		error = confinement_add(making->confinement, workspace, CONFINE_WRITABLE);
	return error == 0 ? add_git_directory(making, workspace) : error;
}

static void free_roots(char **roots)
{
	for (size_t i = 0; roots && roots[i]; i++)
		free(roots[i]);
	free(roots);
}

/* Temporary files of all programs are many, and hardly a user's own. */
static bool is_scratch(const char *path)
{
	static const char *const SCRATCH[] = { "/tmp", "/var/tmp", "/var/cache" };

	for (size_t i = 0; i < sizeof(SCRATCH) / sizeof(SCRATCH[0]); i++)
		if (strcmp(path, SCRATCH[i]) == 0)
			return true;
	return false;
}

/* The directories that are searched: what is in sight of those in which a user's own files are;
 * everything that is writable where `all`.  NULL: no memory. */
static char **roots_of(const struct making *making, bool all)
{
	const struct confinement *confinement = making->confinement;
	char **roots = calloc(confinement->count + 1, sizeof(*roots));
	size_t count = 0;

	for (size_t i = 0; roots && i < confinement->count; i++) {
		const struct confine_place *place = &confinement->places[i];
		if (!place->is_directory ||
		    (place->access != CONFINE_WRITABLE && place->access != CONFINE_READABLE) ||
		    (!all && is_scratch(place->path)))
			continue;
		roots[count] = strdup(place->path);
		if (!roots[count++]) {
			free_roots(roots);
			return NULL;
		}
	}
	return roots;
}

/* Takes out what is excepted: [confine] read of what is protected, write of what is fixed. */
static int except_path(void *data, const char *path, const char *found)
{
	struct making *making = data;
	char name[PATH_MAX];

	name_of(found, name);
	for (size_t i = making->confinement->count; i > 0; i--) {
		const struct confine_place *place = &making->confinement->places[i - 1];
		if (place->access == making->access && (confine_path_is_below(place->path, path) ||
							confine_path_is_below(place->path, name)))
			confinement_drop(making->confinement, i - 1);
	}
	return 0;
}

static int except(struct making *making, size_t option, enum confine_access access)
{
	making->access = access;
	return confine_paths_each(making->config, config_text(making->config, option), false,
				  except_path, making);
}

/* What is fixed in a place that is read-only anyhow. */
static void drop_superfluous(struct confinement *confinement)
{
	for (size_t i = confinement->count; i > 0; i--) {
		const struct confine_place *place = &confinement->places[i - 1];
		const struct confine_place *above = confinement_above(confinement, place->path);
		if (place->access == CONFINE_FIXED && (!above || above->access != CONFINE_WRITABLE))
			confinement_drop(confinement, i - 1);
	}
}

/* Or would, where it leads nowhere. */
static bool leads_to_directory(const struct confine_place *link)
{
	struct stat stat_;

	return stat(link->path, &stat_) == 0 ? S_ISDIR(stat_.st_mode)
					     : link->access == CONFINE_PINNED;
}

/* No mount can be made on a symbolic link, and a writable directory's can be replaced. */
static int refuse_links(struct confinement *confinement)
{
	for (size_t i = 0; i < confinement->count; i++) {
		const struct confine_place *place = &confinement->places[i];
		if ((place->access == CONFINE_FIXED || place->access == CONFINE_PINNED) &&
		    place->is_link)
			return confinement_fail(
				confinement,
				"--confine: %s is a symbolic link, which cannot be kept "
				"read-only; replace it by a %s, or say -c confine.write=%s",
				place->path, leads_to_directory(place) ? "directory" : "file",
				place->path);
	}
	return 0;
}

/* Looks for other names of what is protected. */
static int search_aliases(struct making *making)
{
	char **roots = roots_of(making, true);
	int error = roots ? confine_alias_links(making->confinement, roots) : -ENOMEM;

	free_roots(roots);
	return error == 0 ? confine_alias_mounts(making->confinement) : error;
}

/* Searches what is protected and fixed, and takes out what is excepted. */
static int search(struct making *making)
{
	char **roots = roots_of(making, false);
	struct confine_search *found = roots ? confine_search_new(making->config,
								  making->confinement, roots)
					     : NULL;
	int error = found ? confine_search_walk(found) : -ENOMEM;

	if (error == 0)
		error = confine_search_absolute(found);
	if (error == 0)
		error = except(making, OPTION_confine_read, CONFINE_UNREADABLE);
	if (error == 0)
		error = except(making, OPTION_confine_read, CONFINE_CLOSED);
	confine_search_free(found);
	free_roots(roots);
	return error == 0 ? search_aliases(making) : error;
}

static int fix(struct making *making)
{
	int error = make_held(making);

	if (error == 0)
		error = add_settings(making);
	if (error == 0)
		error = add_linked(making);
	if (error == 0)
		error = except(making, OPTION_confine_write, CONFINE_FIXED);
	drop_superfluous(making->confinement);
	if (error == 0)
		error = add_pins(making->confinement);
	return error == 0 ? refuse_links(making->confinement) : error;
}

static void drop_fixed(struct confinement *confinement)
{
	for (size_t i = confinement->count; i > 0; i--)
		if (confinement->places[i - 1].access == CONFINE_FIXED)
			confinement_drop(confinement, i - 1);
}

int confine_sets_apply(const struct config *config, const struct confine_command *command,
		       struct confinement *ret_confinement)
{
	enum confine_set set = (enum confine_set)config_number(config, OPTION_confine_set);
	char home[PATH_MAX];
	const char *named = config_home(config);
	struct making making = { .confinement = ret_confinement,
				 .config = config,
				 .home = named && realpath(named, home) ? home : NULL };

	ret_confinement->shares_network = config_number(config, OPTION_confine_network) ==
					  CONFINE_NETWORK_YES;
	if (set == CONFINE_SET_ISOLATED &&
	    (!making.home || confine_path_is_below(making.home, config_workspace(config))))
		return confinement_fail(
			ret_confinement,
			"--confine=isolated hides the home directory, which %s; say "
			"--confine=workspace",
			making.home ? "is, or is in, the workspace" : "is not known");
	int error = add_places(&making, command, set);
	if (error == 0)
		error = search(&making);
	if (set == CONFINE_SET_SECRETS)
		drop_fixed(ret_confinement);
	else if (error == 0)
		error = fix(&making);
	return ret_confinement->problem[0] ? -EPERM : error;
}

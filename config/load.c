/*
 * The order of sources: files, the workspace's own file, the environment, flags.
 */
#include "config/load.h"

#include "config/config.h"
#include "config/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/ignore_files.h"
#include "config/ini.h"
#include "config/nearest.h"
#include "config/rules.h"
#include "config/store.h"

extern char **environ;

static const char SYSTEM_FILE[] = "/etc/seen/seen.ini";
static const char WORKSPACE_FILE[] = ".seen.ini";
static const char VARIABLE_PREFIX[] = "SEEN_";
enum { VARIABLE_PREFIX_BYTES = sizeof(VARIABLE_PREFIX) - 1 };

/* Variables that begin like an option's but carry a run's state. */
static const char *const STATE_VARIABLES[] = { "SEEN_SESSION", "SEEN_P", "SEEN_SCOPE",
					       "SEEN_AGENT_IS", "SEEN_STARTED" };

static char *path_join(const char *directory, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name) < 0
		       ? NULL
		       : path;
}

/* A variable's value, or NULL when it is not set. */
static const char *variable(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* ---- files ---- */

/* Reads a regular file whole.  *ret_data: to free; its size in bytes. */
static int file_read(int fd, char **ret_data, size_t *ret_bytes)
{
	/* one byte more than is allowed: the parser refuses it with a clear line */
	size_t capacity = INI_FILE_BYTES_MAX + 1, used = 0;
	char *data = malloc(capacity);

	if (!data)
		return -ENOMEM;
	while (used < capacity) {
		ssize_t bytes = read(fd, data + used, capacity - used);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0) {
			int error = -errno;

			free(data);
			return error;
		}
		if (bytes == 0)
			break;
		used += (size_t)bytes;
	}
	*ret_data = data;
	*ret_bytes = used;
	return 0;
}

/* Opens and reads a file; 1 when it does not exist. */
static int file_load(const char *file, bool trusted, char **ret_data, size_t *ret_bytes,
		     struct config_error *ret_error)
{
	struct stat status;
	/* never wait for a FIFO's writer; a workspace's link may lead to a stranger's file */
	int fd = open(file,
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (trusted ? 0 : O_NOFOLLOW));

	if (fd < 0) {
		int error = -errno;

		if (error == -ENOENT || error == -ENOTDIR)
			return 1;
		if (error == -ELOOP && !trusted)
			return config_fail(
				ret_error, error,
				"%s: is a symbolic link; a workspace's .seen.ini must be a "
				"regular file",
				file);
		return config_fail(ret_error, error, "%s: cannot be opened: %s", file,
				   strerror(-error));
	}
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		(void)close(fd);
		return config_fail(ret_error, -EINVAL, "%s: is not a regular file", file);
	}
	int error = file_read(fd, ret_data, ret_bytes);
	(void)close(fd);
	if (error < 0)
		return config_fail(ret_error, error, "%s: cannot be read: %s", file,
				   strerror(-error));
	return 0;
}

/* Applies one file to the draft.  A missing one is an error only if it is required. */
static int load_file(struct config *draft, const char *file, bool trusted, bool required,
		     struct config_error *ret_error)
{
	char *data = NULL;
	size_t bytes = 0;
	int error = file_load(file, trusted, &data, &bytes, ret_error);

	if (error == 1)
		return required ? config_fail(ret_error, -ENOENT,
					      "%s: no such file (named by --config)", file)
				: 0;
	if (error < 0)
		return error;
	error = config_read_draft(draft, data, bytes, file, trusted, ret_error);
	free(data);
	if (error == 0 && draft->file_count < CONFIG_FILES_MAX) {
		draft->files[draft->file_count] = strdup(file);
		if (!draft->files[draft->file_count])
			return config_no_memory(ret_error);
		draft->file_count++;
	}
	return error;
}

/* 1: there is no place for one. */
static int find_user_file(const char *const *environment, char **ret_file)
{
	const char *directory = variable(environment, "XDG_CONFIG_HOME");
	const char *home = variable(environment, "HOME");

	/* XDG Base Directory Specification: a relative path is invalid and to be ignored */
	if (directory && directory[0] == '/')
		*ret_file = path_join(directory, "seen/seen.ini");
	else if (home && home[0] == '/')
		*ret_file = path_join(home, ".config/seen/seen.ini");
	else
		return 1;
	return *ret_file ? 0 : -ENOMEM;
}

static int load_user_file(struct config *draft, const char *const *environment,
			  struct config_error *ret_error)
{
	char *file = NULL;
	int error = find_user_file(environment, &file);

	if (error == 1)
		return 0;
	if (error < 0)
		return config_no_memory(ret_error);
	error = load_file(draft, file, true, false, ret_error);
	free(file);
	return error;
}

/* ---- the workspace ---- */

/* Does the directory hold what git takes for a repository, or for a worktree's pointer to one?  An
 * empty .git is neither: what is left of one, or a sandbox's mount point.  Where it cannot be
 * inspected: yes. */
static bool holds_git(const char *directory)
{
	char *git = path_join(directory, ".git"), *head = path_join(directory, ".git/HEAD");
	struct stat status;
	bool found = git && head && access(git, F_OK) == 0 &&
		     (lstat(head, &status) == 0 || errno != ENOENT);

	free(git);
	free(head);
	return found;
}

/* Cuts the path back to git's top level; false when there is none. */
static bool git_top_level(char *directory)
{
	for (;;) {
		bool found = holds_git(directory);
		char *slash = strrchr(directory, '/');

		if (found)
			return true;
		if (!slash || slash[1] == '\0')
			return false;
		slash[slash == directory ? 1 : 0] = '\0';
	}
}

/* The draft with the workspace that environment and flags name, which are not in it yet; NULL: they name
 * none. */
static int workspace_named(const struct config *draft, const struct config_request *request,
			   const char *const *environment, struct config **ret_named,
			   struct config_error *ret_error)
{
	const char *key = "paths.workspace", *value = variable(environment, "SEEN_PATHS_WORKSPACE");
	const char *origin = "SEEN_PATHS_WORKSPACE";
	struct config *named = NULL;
	int error = 0;

	for (size_t i = 0; i < request->flag_count; i++) {
		if (strcmp(request->flags[i].key, key) == 0) {
			value = request->flags[i].value;
			origin = request->flags[i].origin;
		}
	}
	*ret_named = NULL;
	if (!value)
		return 0;
	if (config_copy(draft, &named) < 0)
		return config_no_memory(ret_error);
	error = config_assign_key(named, key, value, origin, ret_error);
	if (error < 0)
		config_free(named);
	else
		*ret_named = named;
	return error;
}

static int find_workspace(struct config *draft, const struct config_request *request,
			  const char *const *environment, struct config_error *ret_error)
{
	struct config *named = NULL;
	int error = workspace_named(draft, request, environment, &named, ret_error);
	char *root = NULL;

	if (error < 0)
		return error;
	const struct config_value *value = config_value(named ? named : draft,
							OPTION_paths_workspace);
	if (value->text[0] != '\0') {
		struct stat status;

		root = realpath(value->text, NULL);
		if (!root)
			error = config_fail(ret_error, -errno,
					    "%s: [paths] workspace = '%.400s' cannot be found: %s",
					    value->origin, value->text, strerror(errno));
		else if (stat(root, &status) < 0 || !S_ISDIR(status.st_mode))
			error = config_fail(ret_error, -ENOTDIR,
					    "%s: [paths] workspace = '%.400s' is not a directory",
					    value->origin, value->text);
	} else {
		root = draft->directory ? realpath(draft->directory, NULL) : NULL;
		char *top = root ? strdup(root) : NULL;

		if (!root) {
			error = config_fail(
				ret_error, -ENOENT,
				"the current directory is gone, so there is no workspace; go to "
				"another one or name it by --workspace");
		} else if (!top) {
			error = config_no_memory(ret_error);
		} else if (git_top_level(top)) {
			char *swap = root;

			root = top;
			top = swap;
		}
		free(top);
	}
	config_free(named);
	if (error < 0) {
		free(root);
		return error;
	}
	free(draft->workspace);
	draft->workspace = root;
	return 0;
}

static int load_workspace_file(struct config *draft, struct config_error *ret_error)
{
	char *file = path_join(config_workspace(draft), WORKSPACE_FILE);

	if (!file)
		return config_no_memory(ret_error);
	int error = load_file(draft, file, false, false, ret_error);
	free(file);
	return error;
}

/* ---- environment and flags ---- */

static bool is_state_variable(const char *name)
{
	for (size_t i = 0; i < sizeof(STATE_VARIABLES) / sizeof(STATE_VARIABLES[0]); i++)
		if (strcmp(STATE_VARIABLES[i], name) == 0)
			return true;
	return false;
}

/* Whether a variable's name is SEEN_SECTION_... of a section that exists. */
static bool names_a_section(const char *name)
{
	size_t count = 0;
	const char *const *sections = option_sections(&count);

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(sections[i]);
		const char *rest = name + VARIABLE_PREFIX_BYTES;

		if (strncasecmp(rest, sections[i], length) == 0 && rest[length] == '_')
			return true;
	}
	return false;
}

static int unknown_variable(const char *name, struct config_error *ret_error)
{
	char names[OPTION_COUNT][OPTION_ENVIRONMENT_BYTES];
	const char *pointers[OPTION_COUNT];

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		option_environment(option_at(id), names[id]);
		pointers[id] = names[id];
	}
	const char *nearest = nearest_name(name, pointers, OPTION_COUNT);
	if (nearest)
		return config_fail(ret_error, -EINVAL,
				   "%s: no such option in the environment; did you mean %s?", name,
				   nearest);
	return config_fail(ret_error, -EINVAL,
			   "%s: no such option in the environment; `seen config --docs` lists "
			   "SEEN_SECTION_NAME of each",
			   name);
}

static int load_environment(struct config *draft, const char *const *environment,
			    struct config_error *ret_error)
{
	for (; *environment; environment++) {
		const char *equals = strchr(*environment, '=');

		if (!equals || strncmp(*environment, VARIABLE_PREFIX, VARIABLE_PREFIX_BYTES) != 0)
			continue;
		char *name = strndup(*environment, (size_t)(equals - *environment));
		if (!name)
			return config_no_memory(ret_error);

		size_t id = option_find_environment(name);
		int error = 0;
		if (id < OPTION_COUNT) {
			const struct option *option = option_at(id);
			struct config_source source = { .origin = name, .trusted = true };

			error = config_assign(draft, option->section, option->name, equals + 1,
					      &source, ret_error);
		} else if (!is_state_variable(name) && names_a_section(name)) {
			error = unknown_variable(name, ret_error);
		}
		free(name);
		if (error < 0)
			return error;
	}
	return 0;
}

static int load_all(struct config *draft, const struct config_request *request,
		    struct config_error *ret_error)
{
	const char *const *environment = request->environment;
	int error = 0;

	if (!environment)
		environment = (const char *const *)environ;
	const char *home = variable(environment, "HOME");
	draft->home = home && home[0] == '/' ? strdup(home) : NULL;
	draft->directory = request->directory ? strdup(request->directory) : getcwd(NULL, 0);

	error = load_file(draft, request->system_file ? request->system_file : SYSTEM_FILE, true,
			  false, ret_error);
	if (error == 0)
		error = load_user_file(draft, environment, ret_error);
	if (error == 0 && request->file)
		error = load_file(draft, request->file, true, true, ret_error);
	if (error == 0)
		error = find_workspace(draft, request, environment, ret_error);
	if (error == 0 && !request->without_workspace_file)
		error = load_workspace_file(draft, ret_error);
	if (error == 0)
		error = load_environment(draft, environment, ret_error);
	for (size_t i = 0; i < request->flag_count && error == 0; i++)
		error = config_assign_key(draft, request->flags[i].key, request->flags[i].value,
					  request->flags[i].origin, ret_error);
	if (error == 0 && ignore_files_read(draft) < 0)
		return config_no_memory(ret_error);
	if (error == 0)
		error = config_rules_check(draft, ret_error);
	if (error == 0)
		error = config_rules_complete(draft, ret_error);
	return error;
}

int config_load(struct config *config, const struct config_request *request,
		struct config_error *ret_error)
{
	static const struct config_request nothing = { 0 };
	struct config *draft = NULL;

	/* Nothing but what config_new() gave it: that can be had again, and is not copied. */
	if (config->is_built_in) {
		config->is_built_in = false;
		int error = load_all(config, request ? request : &nothing, ret_error);
		if (error < 0 && config_new(&draft) == 0)
			config_replace(config, draft);
		return error;
	}
	if (config_new(&draft) < 0)
		return config_no_memory(ret_error);
	draft->is_built_in = false;
	int error = load_all(draft, request ? request : &nothing, ret_error);
	if (error < 0) {
		config_free(draft);
		return error;
	}
	config_replace(config, draft);
	return 0;
}

/* ---- what is wrong ---- */

static bool is_refusing_section(const char *name)
{
	return strncmp(name, "rule", 4) == 0 || strncmp(name, "confine", 7) == 0;
}

/* Does a file have a section of rules or a confinement?  One that cannot be read may. */
static bool file_may_refuse(const char *file)
{
	char *data = NULL;
	size_t bytes = 0;
	struct config_error error;
	int result = file_load(file, true, &data, &bytes, &error);
	bool found = result < 0;

	for (size_t at = 0; result == 0 && at < bytes && !found;) {
		const char *end = memchr(data + at, '\n', bytes - at);
		size_t length = end ? (size_t)(end - (data + at)) : bytes - at;
		char line[32] = "";
		(void)snprintf(line, sizeof(line), "%.*s", (int)length, data + at);
		const char *section = line + strspn(line, " \t\xef\xbb\xbf");
		found = *section == '[' &&
			is_refusing_section(section + 1 + strspn(section + 1, " \t"));
		at += length + 1;
	}
	free(data);
	return found;
}

static bool variable_may_refuse(const char *entry)
{
	return strncasecmp(entry, "SEEN_RULE", 9) == 0 ||
	       strncasecmp(entry, "SEEN_CONFINE", 12) == 0;
}

bool config_may_refuse(const struct config_request *request)
{
	const char *const *environment = request->environment ? request->environment
							      : (const char *const *)environ;
	char *file = NULL;
	int error = find_user_file(environment, &file);
	bool found = error < 0 || (error == 0 && file_may_refuse(file)) ||
		     file_may_refuse(request->system_file ? request->system_file : SYSTEM_FILE) ||
		     (request->file && file_may_refuse(request->file));

	free(file);
	for (; *environment && !found; environment++)
		found = variable_may_refuse(*environment);
	for (size_t i = 0; i < request->flag_count && !found; i++)
		found = is_refusing_section(request->flags[i].key);
	return found;
}

/* ---- command lines ---- */

/* The value of "--NAME=VALUE" or "--NAME VALUE".  1 and the value, 0 when the argument is another
 * flag, -EINVAL when there is no value. */
static int flag_value(const char *name, int argc, char **argv, int *index, const char **ret_value,
		      struct config_error *ret_error)
{
	const char *argument = argv[*index] + 2; /* behind "--" */
	size_t length = strlen(name);

	if (strncmp(argument, name, length) != 0 ||
	    (argument[length] != '=' && argument[length] != '\0'))
		return 0;
	if (argument[length] == '=') {
		*ret_value = argument + length + 1;
		*index += 1;
		return 1;
	}
	if (*index + 1 >= argc)
		return config_fail(ret_error, -EINVAL, "--%s: needs a value", name);
	*ret_value = argv[*index + 1];
	*index += 2;
	return 1;
}

/* "--NAME" of an option that needs no value. */
static bool flag_bare(const struct option *option, const char *argument, int *index,
		      const char **ret_value)
{
	const char *value = option_bare_value(option);

	if (!value || strcmp(argument + 2, option->flag) != 0)
		return false;
	*ret_value = value;
	*index += 1;
	return true;
}

/* A copy that lives as long as the request. */
static char *request_keep(struct config_request *request, char *text)
{
	if (text)
		request->storage[request->storage_count++] = text;
	return text;
}

static int parse_assignment(struct config_request *request, int argc, char **argv, int *index,
			    struct config_error *ret_error)
{
	bool attached = argv[*index][2] != '\0';
	const char *text = attached            ? argv[*index] + 2
			   : *index + 1 < argc ? argv[*index + 1]
					       : NULL;
	const char *equals = text ? strchr(text, '=') : NULL;

	if (!equals || equals == text)
		return config_fail(ret_error, -EINVAL, "-c: needs section.name=value%s%.60s%s",
				   text ? ", not '" : "", text ? text : "", text ? "'" : "");
	char *key = request_keep(request, strndup(text, (size_t)(equals - text)));
	if (!key)
		return config_no_memory(ret_error);
	request->flags[request->flag_count++] = (struct config_flag){ .key = key,
								      .value = equals + 1,
								      .origin = "-c" };
	*index += attached ? 1 : 2;
	return 1;
}

int config_request_flag(struct config_request *request, int argc, char **argv, int *index,
			struct config_error *ret_error)
{
	const char *argument = *index < argc ? argv[*index] : "";
	bool is_long = strncmp(argument, "--", 2) == 0 && argument[2] != '\0';

	if (!is_long && strncmp(argument, "-c", 2) != 0)
		return 0;
	if (request->flag_count >= CONFIG_FLAGS_MAX ||
	    request->storage_count + 2 > CONFIG_STORAGE_MAX)
		return config_fail(ret_error, -E2BIG,
				   "%.60s: too many flags; at most %d may set options", argument,
				   CONFIG_FLAGS_MAX);
	if (!is_long)
		return parse_assignment(request, argc, argv, index, ret_error);

	int taken = flag_value("config", argc, argv, index, &request->file, ret_error);
	for (size_t id = 0; id < OPTION_COUNT && taken == 0; id++) {
		const struct option *option = option_at(id);
		const char *value = NULL;
		char *key = NULL, *origin = NULL;

		if (option->flag[0] == '\0')
			continue;
		taken = flag_bare(option, argument, index, &value)
				? 1
				: flag_value(option->flag, argc, argv, index, &value, ret_error);
		if (taken != 1)
			continue;
		if (asprintf(&key, "%s.%s", option->section, option->name) < 0 ||
		    !request_keep(request, key) || asprintf(&origin, "--%s", option->flag) < 0 ||
		    !request_keep(request, origin))
			return config_no_memory(ret_error);
		request->flags[request->flag_count++] = (struct config_flag){ .key = key,
									      .value = value,
									      .origin = origin };
	}
	return taken;
}

void config_request_done(struct config_request *request)
{
	for (size_t i = 0; i < request->storage_count; i++)
		free(request->storage[i]);
	*request = (struct config_request){ 0 };
}

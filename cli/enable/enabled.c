/* Which agents are wrapped: see enabled.h. */
#include "cli/enable/enabled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/file_replace.h"
#include "cli/base/memory_stream.h"

static const char LIST[] = "enabled";

bool enabled_name_is_valid(const char *name)
{
	static const char ALLOWED[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);

	return length > 0 && length < ENABLED_NAME_BYTES && strspn(name, ALLOWED) == length &&
	       name[0] != '.' && name[0] != '-' && strcmp(name, "seen") != 0;
}

int enabled_path(const char *file, char *ret_path, size_t capacity)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int length;

	if (data && data[0] == '/')
		length = snprintf(ret_path, capacity, "%s/seen/%s", data, file);
	else if (home && home[0] == '/')
		length = snprintf(ret_path, capacity, "%s/.local/share/seen/%s", home, file);
	else
		return -ENOENT;
	return length < 0 || (size_t)length >= capacity ? -ENAMETOOLONG : 0;
}

int enabled_make_directory(const char *path)
{
	char directory[PATH_MAX];
	int above = ENOENT; /* why one above it could not be made */

	(void)snprintf(directory, sizeof(directory), "%s", path);
	for (char *slash = directory + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(directory, 0777) < 0 && errno != EEXIST && above == ENOENT)
			above = errno;
		*slash = '/';
	}
	if (mkdir(directory, 0777) == 0 || errno == EEXIST)
		return 0;
	errno = errno == ENOENT ? above : errno;
	return -1;
}

static int compare(const void *a, const void *b)
{
	const struct enabled_agent *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : strcmp(one->place, other->place);
}

int enabled_add(struct enabled *enabled, const char *name, const char *place, bool has_hooks)
{
	struct enabled_agent *grown = reallocarray(enabled->agents, enabled->count + 1,
						   sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	enabled->agents = grown;
	struct enabled_agent *agent = &grown[enabled->count++];
	*agent = (struct enabled_agent){ .has_hooks = has_hooks };
	(void)snprintf(agent->name, sizeof(agent->name), "%s", name);
	(void)snprintf(agent->place, sizeof(agent->place), "%s", place);
	qsort(grown, enabled->count, sizeof(*grown), compare);
	return 0;
}

void enabled_remove(struct enabled *enabled, struct enabled_agent *agent)
{
	size_t behind = (size_t)(enabled->agents + enabled->count - (agent + 1));

	memmove(agent, agent + 1, behind * sizeof(*agent));
	enabled->count--;
}

static int add_line(struct enabled *enabled, char *line)
{
	char *place = strchr(line, '\t'), *hooks = place ? strchr(place + 1, '\t') : NULL;

	line[strcspn(line, "\n")] = '\0';
	if (!hooks)
		return 0;
	*place++ = '\0';
	*hooks++ = '\0';
	if (!enabled_name_is_valid(line) || strlen(place) >= PATH_MAX ||
	    (strcmp(place, ENABLED_EVERYWHERE) != 0 && place[0] != '/'))
		return 0;
	return enabled_add(enabled, line, place, strcmp(hooks, "hooks") == 0);
}

int enabled_read(struct enabled *ret_enabled)
{
	char path[PATH_MAX];
	struct enabled enabled = { .agents = NULL };
	char *line = NULL;
	size_t room = 0;
	int error = enabled_path(LIST, path, sizeof(path));
	FILE *file = error == 0 ? fopen(path, "re") : NULL;

	while (error == 0 && file && getline(&line, &room, file) > 0)
		error = add_line(&enabled, line);
	if (file)
		(void)fclose(file);
	free(line);
	if (error < 0)
		enabled_free(&enabled);
	*ret_enabled = enabled;
	return error;
}

int enabled_write(const struct enabled *enabled)
{
	char path[PATH_MAX], fault[PATH_MAX + 128], *text = NULL;
	struct stat before;
	size_t length = 0;
	int error = enabled_path(LIST, path, sizeof(path));

	if (error < 0)
		return error;
	if (!enabled->count) {
		error = unlink(path) < 0 && errno != ENOENT ? -errno : 0;
		*strrchr(path, '/') = '\0';
		(void)rmdir(path); /* where nothing else is in it */
		return error;
	}
	FILE *out = memory_stream_open(&text, &length);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < enabled->count; i++)
		(void)fprintf(out, "%s\t%s\t%s\n", enabled->agents[i].name,
			      enabled->agents[i].place,
			      enabled->agents[i].has_hooks ? "hooks" : "-");
	if (fclose(out) != 0)
		error = -ENOMEM;
	bool exists = stat(path, &before) == 0;
	if (error == 0)
		error = file_replace(path, text, length, exists ? &before : NULL, fault,
				     sizeof(fault));
	free(text);
	return error;
}

void enabled_free(struct enabled *enabled)
{
	free(enabled->agents);
	*enabled = (struct enabled){ .agents = NULL };
}

struct enabled_agent *enabled_find(const struct enabled *enabled, const char *name,
				   const char *place)
{
	for (size_t i = 0; i < enabled->count; i++)
		if (strcmp(enabled->agents[i].name, name) == 0 &&
		    strcmp(enabled->agents[i].place, place) == 0)
			return &enabled->agents[i];
	return NULL;
}

bool enabled_has(const struct enabled *enabled, const char *name)
{
	for (size_t i = 0; i < enabled->count; i++)
		if (strcmp(enabled->agents[i].name, name) == 0)
			return true;
	return false;
}

bool enabled_applies(const struct enabled *enabled, const char *name, const char *directory)
{
	for (size_t i = 0; i < enabled->count; i++) {
		const struct enabled_agent *agent = &enabled->agents[i];
		if (strcmp(agent->name, name) == 0 &&
		    (strcmp(agent->place, ENABLED_EVERYWHERE) == 0 ||
		     argument_is_below(directory, agent->place)))
			return true;
	}
	return false;
}

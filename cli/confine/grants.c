/* What is granted: see grants.h. */
#include "cli/confine/grants.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/confine/paths.h"

struct walk {
	const struct confinement *confinement;
	grant_call *call;
	void *data;
};

/* Of the places, those from `from` up to `to`. */
struct range {
	size_t from, to;
};

static enum grant_level level_of(const struct confine_place *place)
{
	switch (place->access) {
	case CONFINE_READABLE:
	case CONFINE_FIXED:
	case CONFINE_EXCEPTED:
		return GRANT_READ;
	case CONFINE_WRITABLE:
	case CONFINE_PINNED:
		return GRANT_WRITE;
	case CONFINE_CLOSED: /* a filter's matter: as it is */
		return GRANT_WRITE;
	case CONFINE_HIDDEN:
	case CONFINE_UNREADABLE:
		break;
	}
	return GRANT_NONE;
}

/* A slash before all else: what is below a directory follows it. */
static int compare_paths(const char *one, const char *other)
{
	while (*one && *one == *other)
		one++, other++;
	int left = *one == '/' ? 1 : (unsigned char)*one,
	    right = *other == '/' ? 1 : (unsigned char)*other;
	return left - right;
}

static int compare(const void *one, const void *other)
{
	return compare_paths(((const struct confine_place *)one)->path,
			     ((const struct confine_place *)other)->path);
}

/* Those of a range that are a path, or below it. */
static struct range range_at(const struct walk *walk, struct range range, const char *path)
{
	const struct confine_place *places = walk->confinement->places;
	struct range found = range;

	while (found.from < found.to) {
		size_t middle = found.from + (found.to - found.from) / 2;
		if (compare_paths(places[middle].path, path) < 0)
			found.from = middle + 1;
		else
			found.to = middle;
	}
	while (found.to < range.to && confine_path_is_below(places[found.to].path, path))
		found.to++;
	return found;
}

static int grant_tree(const struct walk *walk, const char *path, enum grant_level level,
		      struct range range);

/* The topmost places of a range. */
static int grant_places(const struct walk *walk, enum grant_level level, struct range range)
{
	int error = 0;

	while (range.from < range.to && error == 0) {
		const char *path = walk->confinement->places[range.from].path;
		struct range below = range_at(walk, range, path);
		error = grant_tree(walk, path, level, below);
		range.from = below.to;
	}
	return error;
}

/* Each entry of a directory for itself. */
static int grant_entries(const struct walk *walk, const char *path, enum grant_level level,
			 struct range range)
{
	char *entry_path = malloc(PATH_MAX);
	DIR *stream = entry_path ? opendir(path) : NULL;
	struct dirent *entry;
	int error = entry_path ? 0 : -ENOMEM;

	/* What cannot be listed can be reached by name. */
	if (entry_path && !stream)
		error = grant_places(walk, level, range);
	while (stream && error == 0 && (entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    entry->d_type == DT_LNK ||
		    snprintf(entry_path, PATH_MAX, "%s/%s", strcmp(path, "/") == 0 ? "" : path,
			     entry->d_name) >= PATH_MAX)
			continue;
		error = grant_tree(walk, entry_path, level, range_at(walk, range, entry_path));
	}
	if (stream)
		(void)closedir(stream);
	free(entry_path);
	return error;
}

/* range: the places at a path and below it. */
static int grant_tree(const struct walk *walk, const char *path, enum grant_level level,
		      struct range range)
{
	const struct confine_place *places = walk->confinement->places;
	int error = 0;

	if (range.from < range.to && strcmp(places[range.from].path, path) == 0) {
		const struct confine_place *own = &places[range.from++];
		level = own->access == CONFINE_CLOSED ? level : level_of(own);
	}
	enum grant_level least = level;
	for (size_t i = range.from; i < range.to; i++)
		if (level_of(&places[i]) < least)
			least = level_of(&places[i]);
	if (least < level && least == GRANT_NONE)
		error = walk->call(walk->data, path, GRANT_LIST);
	else if (least > GRANT_NONE)
		error = walk->call(walk->data, path, least);
	if (error < 0)
		return error;
	return least < level ? grant_entries(walk, path, level, range)
			     : grant_places(walk, level, range);
}

int grants_each(struct confinement *confinement, grant_call *call, void *data)
{
	const struct walk walk = { confinement, call, data };

	qsort(confinement->places, confinement->count, sizeof(*confinement->places), compare);
	return grant_tree(&walk, "/", GRANT_READ, (struct range){ 0, confinement->count });
}

size_t grants_take_writable(struct confinement *confinement, char *ret_first)
{
	size_t count = 0;

	for (size_t i = confinement->count; i > 0; i--) {
		const struct confine_place *place = &confinement->places[i - 1];
		const struct confine_place *above = confinement_above(confinement, place->path);
		bool is_kept_back = place->access == CONFINE_FIXED ||
				    place->access == CONFINE_UNREADABLE;
		if (place->access != CONFINE_PINNED &&
		    !(is_kept_back && above && above->access == CONFINE_WRITABLE))
			continue;
		if (is_kept_back && count++ == 0)
			(void)snprintf(ret_first, PATH_MAX, "%s", place->path);
		confinement_drop(confinement, i - 1);
	}
	return count;
}

/* The places of a confined run: see confinement.h. */
#include "cli/confine/confinement.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/confine/paths.h"

void confinement_destroy(struct confinement *confinement)
{
	for (size_t i = 0; i < confinement->count; i++)
		free(confinement->places[i].path);
	free(confinement->places);
	*confinement = (struct confinement){ .places = NULL };
}

int confinement_fail(struct confinement *confinement, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (!confinement->problem[0])
		(void)vsnprintf(confinement->problem, sizeof(confinement->problem), format,
				arguments);
	va_end(arguments);
	return -EPERM;
}

int confinement_add(struct confinement *confinement, const char *path, enum confine_access access)
{
	struct stat stat;

	if (lstat(path, &stat) < 0)
		return 0;
	for (size_t i = 0; i < confinement->count; i++) {
		struct confine_place *place = &confinement->places[i];
		if (strcmp(place->path, path) != 0)
			continue;
		if (access > place->access)
			place->access = access;
		return 0;
	}
	if (confinement->count == confinement->capacity) {
		size_t capacity = confinement->capacity * 2 + 64;
		struct confine_place *places = realloc(confinement->places,
						       capacity * sizeof(*places));
		if (!places)
			return -ENOMEM;
		confinement->places = places;
		confinement->capacity = capacity;
	}
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	confinement->places[confinement->count++] = (struct confine_place){
		.path = copy,
		.access = access,
		.is_directory = S_ISDIR(stat.st_mode),
		.is_link = S_ISLNK(stat.st_mode),
		.device = stat.st_dev,
		.inode = stat.st_ino
	};
	return 0;
}

void confinement_drop(struct confinement *confinement, size_t index)
{
	free(confinement->places[index].path);
	confinement->places[index] = confinement->places[--confinement->count];
}

size_t confinement_count(const struct confinement *confinement, enum confine_access access)
{
	size_t count = 0;

	for (size_t i = 0; i < confinement->count; i++)
		count += confinement->places[i].access == access;
	return count;
}

const struct confine_place *confinement_above(const struct confinement *confinement,
					      const char *path)
{
	const struct confine_place *found = NULL;

	for (size_t i = 0; i < confinement->count; i++) {
		const struct confine_place *place = &confinement->places[i];
		if (place->access <= CONFINE_WRITABLE && confine_path_is_below(path, place->path) &&
		    (!found || strlen(place->path) > strlen(found->path)))
			found = place;
	}
	return found;
}

/* Fewer places: see learned_reduce.h. */
#include "cli/learn/learned_reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/path/path.h"

enum {
	ELSEWHERE_MOST = 40, /* places of one use that a person may read */
	DEPTH_LEAST = 2,     /* of a directory that stands for those below */
};

/* A slash before all else: what is below a directory follows it. */
static int compare_paths(const void *left, const void *right)
{
	const struct learned_place *places[] = { left, right };
	const char *one = places[0]->path, *other = places[1]->path;

	if (!one || !other)
		return one ? 1 : other ? -1 : strcmp(places[0]->glob, places[1]->glob);
	while (*one && *one == *other)
		one++, other++;
	return (*one == '/' ? 1 : (unsigned char)*one) -
	       (*other == '/' ? 1 : (unsigned char)*other);
}

/* The root itself allows nothing below it.  What the system brings along is not what lies there of others: a
   sandbox has a /dev of its own, and nothing of what is in /dev/shm. */
static bool is_covered(const struct learned_place *place, const struct learned_place *above)
{
	return place->path && above->path &&
	       (above->kind != LEARNED_SYSTEM || place->kind == LEARNED_SYSTEM) &&
	       (strcmp(place->path, above->path) == 0 ||
		(above->path[1] && path_below(place->path, above->path)));
}

/* Takes out what another one allows. */
static void drop_covered(struct learned *learned, enum learned_use use)
{
	struct learned_place *places = learned->places[use];
	size_t kept = 0;

	if (learned->counts[use] == 0)
		return;
	qsort(places, learned->counts[use], sizeof(*places), compare_paths);
	for (size_t i = 0; i < learned->counts[use]; i++) {
		if (kept && is_covered(&places[i], &places[kept - 1])) {
			places[kept - 1].accesses += places[i].accesses;
			free(places[i].glob);
			free(places[i].path);
		} else {
			places[kept++] = places[i];
		}
	}
	learned->counts[use] = kept;
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* Is it one of those that may be many?  Temporary files are, where the home directory lies among them. */
static bool is_elsewhere(const struct learned_place *place)
{
	return place->path && place->glob[0] == '/' &&
	       (place->kind == LEARNED_ELSEWHERE || place->kind == LEARNED_SCRATCH);
}

/* How deep the deepest place elsewhere lies; 0: there are not too many. */
static size_t deepest(const struct learned *learned, enum learned_use use)
{
	size_t count = 0, depth = 0;

	for (size_t i = 0; i < learned->counts[use]; i++) {
		const struct learned_place *place = &learned->places[use][i];
		if (!is_elsewhere(place))
			continue;
		count++;
		if (depth_of(place->path) > depth)
			depth = depth_of(place->path);
	}
	return count > ELSEWHERE_MOST ? depth : 0;
}

/* Has places of a depth count as the directories above them. */
static int raise_places(struct learned *learned, enum learned_use use, size_t depth)
{
	for (size_t i = 0; i < learned->counts[use]; i++) {
		struct learned_place *place = &learned->places[use][i];
		if (!is_elsewhere(place) || depth_of(place->path) != depth)
			continue;
		size_t bytes = (size_t)(strrchr(place->path, '/') - place->path);
		if (learned_is_wide(learned, place->path, bytes))
			continue;
		char *glob = learned_glob(NULL, place->path, 0, bytes, false);
		if (!glob)
			return -ENOMEM;
		free(place->glob);
		place->glob = glob;
		place->path[bytes] = '\0';
	}
	return 0;
}

int learned_reduce(struct learned *learned)
{
	int error = 0;

	for (size_t use = 0; use < LEARNED_USES && error == 0; use++) {
		/* Names in such a directory are not those in what is below it. */
		if (use == LEARNED_LIST)
			continue;
		drop_covered(learned, use);
		size_t depth = use == LEARNED_EXEC ? 0 : deepest(learned, use);
		for (; depth > DEPTH_LEAST && error == 0 && deepest(learned, use); depth--) {
			error = raise_places(learned, use, depth);
			drop_covered(learned, use);
		}
	}
	return error;
}

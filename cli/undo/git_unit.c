/* The git directories that an undo is about: see git_unit.h. */
#include "cli/undo/git_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/schedule_find.h"

enum { TEXT_BYTES_MAX = 1 << 30, SYMBOLIC_DEPTH = 5 };

static const char SYMBOLIC[] = "ref: ";

/* ---- finding them ---- */

/* Where a path is now. */
static char *disk_of(const struct making *making, const char *path)
{
	char above[PACK_PATH_BYTES_MAX + 1], *disk = NULL;

	if (strlen(path) >= sizeof(above))
		return strdup(path);
	strcpy(above, path);
	do {
		const struct tree_change *change = making_find(making, above);
		if (change && change->moved_to)
			return asprintf(&disk, "%s%s", change->moved_to, path + strlen(above)) < 0
				       ? NULL
				       : disk;
		*strrchr(above, '/') = '\0';
	} while (above[0]);
	return strdup(path);
}

static int add_unit(const struct making *making, struct git_units *units, const char *path,
		    size_t length)
{
	struct git_unit *more = reallocarray(units->units, units->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	units->units = more;
	struct git_unit *unit = &more[units->count];
	*unit = (struct git_unit){ .directory = strndup(path, length) };
	unit->disk = unit->directory ? disk_of(making, unit->directory) : NULL;
	if (!unit->disk) {
		free(unit->directory);
		return -ENOMEM;
	}
	const struct tree_change *change = making_find(making, unit->directory);
	unit->is_made = change && change->before.known && !change->before.exists;
	unit->is_other = git_find_class(unit->directory, length) == GIT_OTHER;
	units->count++;
	return 0;
}

/* The number of a unit, + 1; 0: it is new. */
static uint32_t number_of(const struct git_units *units, const char *path, size_t length)
{
	for (size_t i = units->count; i > 0; i--)
		if (strncmp(units->units[i - 1].directory, path, length) == 0 &&
		    !units->units[i - 1].directory[length])
			return (uint32_t)i;
	return 0;
}

static int find_unit(const struct making *making, struct git_units *units, struct git_find *find,
		     size_t index)
{
	const char *path = making->changes->changes[index].path;
	size_t length = git_find_directory(find, making, path);
	int error = 0;

	if (!length)
		return 0;
	units->unit_of[index] = number_of(units, path, length);
	if (!units->unit_of[index]) {
		error = add_unit(making, units, path, length);
		units->unit_of[index] = (uint32_t)units->count;
	}
	units->classes[index] = (uint8_t)git_find_class(path, length);
	return error;
}

int git_units_read(const struct making *making, struct git_units **ret_units)
{
	struct git_units *units = calloc(1, sizeof(*units));
	struct git_find *find = calloc(1, sizeof(*find));
	size_t count = making->changes->count;
	int error = -ENOMEM;

	*ret_units = units;
	if (units && find) {
		units->unit_of = calloc(count + 1, sizeof(*units->unit_of));
		units->classes = calloc(count + 1, sizeof(*units->classes));
		error = units->unit_of && units->classes ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < count && error == 0; i++)
		error = find_unit(making, units, find, i);
	free(find);
	return error;
}

void git_units_free(struct git_units *units)
{
	for (size_t i = 0; units && i < units->count; i++) {
		struct git_unit *unit = &units->units[i];
		free(unit->directory);
		free(unit->disk);
		free(unit->packed[GIT_NOW]);
		free(unit->packed[GIT_WANTED]);
		if (unit->has_objects)
			git_objects_free(&unit->objects);
	}
	if (units) {
		free(units->units);
		free(units->unit_of);
		free(units->classes);
	}
	free(units);
}

struct git_unit *git_unit_of(const struct making *making, size_t index)
{
	uint32_t number = making->git->unit_of[index];

	return number ? &making->git->units[number - 1] : NULL;
}

const char *git_unit_below(const struct git_unit *unit, const char *path)
{
	size_t length = strlen(unit->directory);

	return path[length] ? path + length + 1 : path + length;
}

/* ---- reading ---- */

int git_unit_read(const struct making *making, const struct git_unit *unit, enum git_side side,
		  const char *below, char **ret_text, size_t *ret_size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", unit->directory, below) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	const struct tree_change *change = making_find(making, path);
	if (!change &&
	    snprintf(path, sizeof(path), "%s/%s", unit->disk, below) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (!change)
		return tree_entry_read_disk(path, TEXT_BYTES_MAX, ret_text, ret_size);
	unsigned fate = making->fates[change - making->changes->changes];
	const struct tree_entry *entry = side == GIT_WANTED && fate == FATE_OPEN ? &change->before
										 : &change->after;
	if (!entry->exists)
		return -ENOENT;
	return S_ISREG(entry->mode)
		       ? tree_entry_read(making->records, entry, TEXT_BYTES_MAX, ret_text, ret_size)
		       : -EISDIR;
}

/* The end of an object's name in packed-refs: lines of an object, a space and a name.  NULL: it has no such ref. */
static const char *find_packed(const char *packed, const char *name)
{
	char pattern[PATH_MAX];

	return snprintf(pattern, sizeof(pattern), " %s\n", name) < (int)sizeof(pattern)
		       ? strstr(packed, pattern)
		       : NULL;
}

static size_t packed_value(const struct making *making, struct git_unit *unit, enum git_side side,
			   const char *name, unsigned char *ret_oid)
{
	size_t size;

	if (!unit->packed[side] &&
	    git_unit_read(making, unit, side, "packed-refs", &unit->packed[side], &size) < 0)
		unit->packed[side] = strdup("");
	const char *found = unit->packed[side] ? find_packed(unit->packed[side], name) : NULL;
	const char *line = found;
	while (line && line > unit->packed[side] && line[-1] != '\n')
		line--;
	return line ? git_oid_read(line, (size_t)(found - line), ret_oid) : 0;
}

bool git_unit_is_packed(const struct making *making, const struct git_unit *unit,
			enum git_side side, const char *name)
{
	char *packed = NULL;
	size_t size;
	bool is = git_unit_read(making, unit, side, "packed-refs", &packed, &size) == 0 &&
		  find_packed(packed, name);

	free(packed);
	return is;
}

/* The name that a symbolic ref names.  Worktrees have few refs of their own. */
static bool target_of(const char *text, const char *name, char *ret_target, size_t capacity)
{
	static const char *const OWN[] = { "refs/bisect/", "refs/worktree/", "refs/rewritten/" };
	const char *target = text + sizeof(SYMBOLIC) - 1;
	size_t length = strcspn(target, "\n"), worktree = 0;

	for (size_t i = 0; i < sizeof(OWN) / sizeof(*OWN); i++)
		if (strncmp(target, OWN[i], strlen(OWN[i])) == 0)
			worktree = git_find_worktree(name);
	return snprintf(ret_target, capacity, "%.*s%.*s", (int)worktree, name, (int)length,
			target) < (int)capacity;
}

size_t git_unit_value(const struct making *making, struct git_unit *unit, enum git_side side,
		      const char *name, unsigned char *ret_oid)
{
	char at[PATH_MAX], target[PATH_MAX];
	size_t bytes = 0, size;

	if (snprintf(at, sizeof(at), "%s", name) >= (int)sizeof(at))
		return 0;
	for (int depth = 0; depth < SYMBOLIC_DEPTH; depth++) {
		char *text = NULL;
		bool is_symbolic = false;
		if (git_unit_read(making, unit, side, at, &text, &size) < 0) {
			bytes = packed_value(making, unit, side, at, ret_oid);
		} else {
			is_symbolic = strncmp(text, SYMBOLIC, sizeof(SYMBOLIC) - 1) == 0 &&
				      target_of(text, at, target, sizeof(target));
			bytes = is_symbolic ? 0 : git_oid_read(text, size, ret_oid);
		}
		free(text);
		if (!is_symbolic)
			break;
		strcpy(at, target);
	}
	return bytes;
}

/* ---- objects ---- */

static bool has_suffix(const char *name, const char *end)
{
	size_t length = strlen(name), bytes = strlen(end);

	return length > bytes && strcmp(name + length - bytes, end) == 0;
}

/* Does the pack of an index come back, or is it there? */
static bool has_pack(const struct making *making, const char *index)
{
	char path[PATH_MAX];
	struct stat stat;

	if (snprintf(path, sizeof(path), "%.*s.pack", (int)(strlen(index) - strlen(".idx")),
		     index) >= (int)sizeof(path))
		return false;
	const struct tree_change *pack = making_find(making, path);
	return pack ? making->fates[pack - making->changes->changes] == FATE_OPEN
		    : lstat(path, &stat) == 0;
}

static int add_coming(const struct making *making, struct git_objects *objects,
		      const struct tree_change *change, const char *below)
{
	int error = 0;

	if (!has_suffix(below, ".idx"))
		return git_objects_add_loose(objects, below);
	int fd = has_pack(making, change->path) ? tree_entry_open(making->records, &change->before)
						: -1;
	if (fd >= 0) {
		error = git_objects_add_index(objects, fd);
		(void)close(fd);
	}
	return error;
}

/* Is an object lost for good that was removed?  What is in a pack, too, is not.  Which others need it is not
 * known: then what comes back of them does not count. */
static bool is_lost(struct git_objects *objects, const struct tree_change *change,
		    const char *below)
{
	struct git_objects one = { .coming_count = 0 };
	bool is_pack = has_suffix(below, ".pack");

	if (!S_ISREG(change->before.mode) || git_objects_add_loose(&one, below) < 0)
		return false;
	bool is_there = one.coming_count &&
			(git_objects_have(objects, one.coming[0], GIT_OID_BYTES_MIN) ||
			 git_objects_have(objects, one.coming[0], GIT_OID_BYTES_MAX));
	bool is_object = one.coming_count;
	git_objects_free(&one);
	return is_pack || (is_object && !is_there);
}

static int add_all_coming(const struct making *making, struct git_unit *unit)
{
	static const char OBJECTS[] = "objects/";
	bool is_whole = true;
	int error = 0;

	for (int adds = 0; adds < 2 && is_whole; adds++)
		for (size_t i = 0; i < making->changes->count && error == 0 && is_whole; i++) {
			const struct tree_change *change = &making->changes->changes[i];
			if (making->git->classes[i] != GIT_OBJECT ||
			    git_unit_of(making, i) != unit || !change->before.exists ||
			    change->after.exists)
				continue;
			const char *below = git_unit_below(unit, change->path);
			if (strncmp(below, OBJECTS, sizeof(OBJECTS) - 1) != 0)
				continue;
			below += sizeof(OBJECTS) - 1;
			bool comes = making->fates[i] == FATE_OPEN;
			if (adds && comes)
				error = add_coming(making, &unit->objects, change, below);
			else if (!adds && !comes)
				is_whole = !is_lost(&unit->objects, change, below);
		}
	return error;
}

struct git_objects *git_unit_objects(const struct making *making, struct git_unit *unit)
{
	char path[PATH_MAX];

	if (unit->has_objects)
		return &unit->objects;
	if (snprintf(path, sizeof(path), "%s/objects", unit->disk) >= (int)sizeof(path))
		return NULL;
	unit->has_objects = true;
	int error = git_objects_init(&unit->objects, path);
	if (error == 0)
		error = add_all_coming(making, unit);
	return error ? NULL : &unit->objects;
}

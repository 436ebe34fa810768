/* What a name stands for, for undo: see keep_name.h. */
#include "shim/keep/keep_name.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/keep_directory.h"
#include "shim/keep/scratch.h"
#include "tracker/content/kept.h"
#include "tracker/content/pack_state.h"
#include "tracker/content/pack_write.h"
#include "tracker/content/rebuildable.h"
#include "tracker/path/path.h"
#include "tracker/process/subject.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* ---- what is there ---- */

int keep_name_state(const struct call_name *name, struct pack_state *ret_state)
{
	int flags = name->path ? (name->follows ? 0 : AT_SYMLINK_NOFOLLOW) : AT_EMPTY_PATH;

	return pack_state_read(name->directory, name->path ? name->path : "", flags, ret_state);
}

/* ---- where it is ---- */

/* The directory that a path's last name is in.  name_at: where that begins. */
static bool find_directory(const struct segment *segment, int directory, const char *path,
			   size_t name_at, char *ret_path)
{
	if (name_at == 0)
		return keep_directory_find(segment, directory, NULL, ret_path);
	char *above = scratch_acquire();
	if (!above)
		return false;
	memcpy(above, path, name_at);
	above[name_at] = '\0';
	bool found = keep_directory_find(segment, directory, above, ret_path);
	scratch_release(above);
	return found;
}

bool keep_name_resolve(const struct segment *segment, const struct call_name *name, char *ret_path)
{
	const char *path = name->path;

	if (!path)
		return keep_link_of(name->directory, ret_path);
	if (name->follows && keep_link_of_path(name->directory, path, 0, ret_path))
		return true;
	size_t length = strnlen(path, SEGMENT_PATH_BYTES);
	if (length == SEGMENT_PATH_BYTES)
		return false;
	while (length > 1 && path[length - 1] == '/')
		length--;
	size_t name_at = length;
	while (name_at > 0 && path[name_at - 1] != '/')
		name_at--;
	size_t bytes = length - name_at;
	if (bytes == 0 ||
	    (path[name_at] == '.' && (bytes == 1 || (bytes == 2 && path[name_at + 1] == '.'))))
		return keep_link_of_path(name->directory, path, 0, ret_path);
	if (!find_directory(segment, name->directory, path, name_at, ret_path))
		return false;
	size_t above = strlen(ret_path);
	above -= above == 1; /* the root */
	if (above + 1 + bytes >= SEGMENT_PATH_BYTES)
		return false;
	ret_path[above] = '/';
	memcpy(ret_path + above + 1, path + name_at, bytes);
	ret_path[above + 1 + bytes] = '\0';
	return true;
}

/* ---- is it undo's? ---- */

static bool is_below(const char *path, const char *directory, size_t length)
{
	return length && strncmp(path, directory, length) == 0 &&
	       (path[length] == '/' || !path[length]);
}

/* The directory of sessions: the second above that of packs. */
static bool is_own_state(const struct segment *segment, const char *path)
{
	const char *undo = segment_undo(segment);
	size_t length = undo ? strlen(undo) : 0;

	for (int above = 0; above < 2 && length; above++)
		while (length && undo[--length] != '/')
			;
	return is_below(path, undo, length);
}

bool keep_name_observed(const struct segment *segment, const char *path)
{
	return (path_in_workspace(segment, path) || path_is_observed(segment, path)) &&
	       !is_own_state(segment, path);
}

void keep_name_moved(const struct segment *segment, const char *path)
{
	if (path_add_observed(segment, path) < 0)
		segment_count(segment, COUNTER_lost_undo, 1); /* what becomes of it there */
}

/* The directory that was asked about last. */
static struct {
	uint32_t taken; /* by a thread that inspects it, or changes it */
	uint32_t is_known;
	size_t excluded; /* of the path; 0: it is not */
	/* found last; its mark may be what is removed first */
	size_t root_bytes;
	char root[SEGMENT_PATH_BYTES];
	uint64_t boundary;
	char path[SEGMENT_PATH_BYTES + 16];
} last;

static void note_excluded(const struct keeper *keeper, const char *path, size_t length)
{
	uint64_t key = kept_key_of_path(path, length);

	if (kept_is_noted(keeper->segment, key))
		return;
	char *copy = scratch_acquire();
	if (!copy)
		return;
	memcpy(copy, path, length);
	copy[length] = '\0';
	const struct pack_note note = {
		.kind = PACK_EXCLUDED,
		.process = keeper->process,
		.pid = keeper->pid,
		.path = copy,
	};
	if (pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0) != PACK_NO_PLACE)
		kept_note(keeper->segment, key);
	scratch_release(copy);
}

void keep_name_reset(void)
{
	last.taken = 0;
	last.is_known = 0;
}

bool keep_name_excluded(const struct keeper *keeper, const char *path)
{
	uint64_t boundary = __atomic_load_n(&keeper->segment->header->undo_boundary,
					    __ATOMIC_RELAXED);
	size_t length = (size_t)(path_base(path) - path), excluded;

	if (length <= 1 || __atomic_exchange_n(&last.taken, 1, __ATOMIC_ACQUIRE))
		return false; /* then it is kept */
	length--;
	if (!last.is_known || last.boundary != boundary || strncmp(last.path, path, length) != 0 ||
	    last.path[length]) {
		memcpy(last.path, path, length);
		last.path[length] = '\0';
		bool is_known = is_below(last.path, last.root, last.root_bytes);
		last.excluded = is_known ? last.root_bytes
					 : rebuildable_directory(keeper->segment, last.path);
		if (last.excluded && !is_known) {
			memcpy(last.root, last.path, last.excluded);
			last.root_bytes = last.excluded;
		}
		last.boundary = boundary;
		last.is_known = 1;
	}
	excluded = last.excluded;
	__atomic_store_n(&last.taken, 0, __ATOMIC_RELEASE);
	if (excluded)
		note_excluded(keeper, path, excluded);
	return excluded != 0;
}

/* ret_plain: the same name; one that is no link is followed nowhere. */
static int find_state(const struct call_name *name, struct call_name *ret_plain,
		      struct pack_state *ret_state)
{
	*ret_plain = *name;
	if (!name->path || !name->follows)
		return keep_name_state(name, ret_state);
	ret_plain->follows = false;
	int error = keep_name_state(ret_plain, ret_state);
	if (error < 0 || !S_ISLNK(ret_state->mode))
		return error;
	ret_plain->follows = true;
	return keep_name_state(name, ret_state);
}

enum wanted { WANTED_WORKSPACE, WANTED_EXTERNAL, WANTED_CONTENT };

static void find(const struct keeper *keeper, const struct call_name *name, enum wanted wanted,
		 struct keep_name *ret_name)
{
	*ret_name = (struct keep_name){ .name = name };
	if (!name->path && name->directory < 0)
		return;
	/* the kernel reads the path first: where that is not there, nor is a file */
	struct call_name plain;
	int error = find_state(name, &plain, &ret_name->state);
	if (error < 0 && error != -ENOENT) {
		/* by others than these the call itself need not fail */
		if (error != -ENOTDIR && error != -EACCES && error != -ELOOP &&
		    error != -ENAMETOOLONG && error != -EBADF && error != -EFAULT)
			segment_count(keeper->segment, COUNTER_lost_undo, 1);
		return;
	}
	ret_name->is_there = error == 0;
	ret_name->is_link = plain.follows;
	if (wanted == WANTED_CONTENT && ret_name->is_there && !S_ISREG(ret_name->state.mode))
		return;
	ret_name->path = scratch_acquire();
	if (!ret_name->path) {
		segment_count(keeper->segment, COUNTER_lost_undo, 1);
		return;
	}
	if (keep_name_resolve(keeper->segment, &plain, ret_name->path)) {
		ret_name->is_external = !keep_name_observed(keeper->segment, ret_name->path);
		ret_name->is_excluded = !ret_name->is_external &&
					keep_name_excluded(keeper, ret_name->path);
		if (!ret_name->is_external || wanted == WANTED_EXTERNAL)
			return;
	}
	keep_name_release(ret_name);
}

void keep_name_find(const struct keeper *keeper, const struct call_name *name, bool external,
		    struct keep_name *ret_name)
{
	find(keeper, name, external ? WANTED_EXTERNAL : WANTED_WORKSPACE, ret_name);
}

void keep_name_find_content(const struct keeper *keeper, const struct call_name *name,
			    struct keep_name *ret_name)
{
	find(keeper, name, WANTED_CONTENT, ret_name);
}

void keep_name_release(struct keep_name *name)
{
	scratch_release(name->path);
	name->path = NULL;
}

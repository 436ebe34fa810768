/* Items that take something away, or elsewhere: see apply_remove.h. */
#include "cli/undo/apply_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/undo/apply_meta.h"

/* rename(2) where nothing is.  A file system that cannot tell is asked first. */
static int rename_new(int from_directory, const char *from, int to_directory, const char *to)
{
	struct stat stat;

	if (renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (fstatat(to_directory, to, &stat, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from_directory, from, to_directory, to) < 0 ? -errno : 0;
}

int apply_rename(struct places *places, const char *from, const char *to)
{
	const char *from_name, *to_name;
	int from_directory, to_directory,
		error = place_of(places, from, &from_directory, &from_name);

	if (error < 0)
		return error;
	from_directory = fcntl(from_directory, F_DUPFD_CLOEXEC, 3);
	if (from_directory < 0)
		return -errno;
	error = place_of(places, to, &to_directory, &to_name);
	if (error == 0)
		error = rename_new(from_directory, from_name, to_directory, to_name);
	(void)close(from_directory);
	return error;
}

/* The temporary name has what was removed: gone for good, where it is what the plan says. */
static int drop_temporary(struct doing *doing, const struct pack_state *found)
{
	struct pack_state state;
	int found_error = place_inspect(doing->directory, doing->temporary, &state);

	if (found_error < 0)
		return found_error == -ENOENT ? DOING_DONE : found_error;
	if (!place_is_same(&state, found)) {
		int error = rename_new(doing->directory, doing->temporary, doing->directory,
				       doing->name);
		return error ? error : DOING_CHANGED;
	}
	return unlinkat(doing->directory, doing->temporary, 0) < 0 ? -errno : DOING_DONE;
}

int apply_remove(struct doing *doing)
{
	struct operation_note note = { .kind = PACK_REMOVED, .path = doing->path };

	if (!doing->exists)
		return doing->applying->again ? drop_temporary(doing, &doing->item->found)
					      : DOING_DONE;
	if (!doing_is_found(doing))
		return DOING_CHANGED;
	int fd = doing_open(doing);
	int error = apply_log_attributes(doing);
	if (error == 0)
		error = doing_log(doing, &note, 1, fd, true);
	if (fd >= 0)
		(void)close(fd);
	if (error == 0) {
		error = rename_new(doing->directory, doing->name, doing->directory,
				   doing->temporary);
		if (error == 0)
			error = drop_temporary(doing, &doing->now);
		if (error != 0)
			operation_log_fail(&doing->applying->log, &note, 1);
	}
	return error;
}

int apply_rmdir(struct doing *doing)
{
	struct operation_note note = { .kind = PACK_REMOVED,
				       .path = doing->path,
				       .before = doing->now };
	int error;

	if (!doing->exists)
		return DOING_DONE;
	if (!doing_is_found(doing))
		return DOING_CHANGED;
	error = apply_log_attributes(doing);
	if (error == 0)
		error = operation_log_write(&doing->applying->log, &note, 1);
	if (error == 0 && unlinkat(doing->directory, doing->name, AT_REMOVEDIR) < 0) {
		error = -errno;
		operation_log_fail(&doing->applying->log, &note, 1);
	}
	places_forget(&doing->applying->places);
	return error;
}

/* What has the new name goes back where it is not what was to be renamed: an external program edited it, or put
 * another file in its place. */
static int move_back(struct doing *doing, const char *from, const char *to,
		     const struct pack_state *state)
{
	struct pack_state moved;

	if (place_state(&doing->applying->places, to, &moved) < 0)
		return DOING_CHANGED;
	if (place_is_same(&moved, state))
		return DOING_DONE;
	int error = apply_rename(&doing->applying->places, to, from);
	return error ? error : DOING_CHANGED;
}

static int move(struct doing *doing, const char *from, const char *to,
		const struct pack_state *state)
{
	struct operation_note note = {
		.kind = PACK_RENAMED, .path = from, .other = to, .before = *state
	};
	int error = operation_log_write(&doing->applying->log, &note, 1);

	if (error == 0) {
		error = apply_rename(&doing->applying->places, from, to);
		if (error == 0)
			error = move_back(doing, from, to, state);
		if (error != DOING_DONE)
			operation_log_fail(&doing->applying->log, &note, 1);
	}
	/* What is below it has other paths from now on. */
	places_forget(&doing->applying->places);
	return error;
}

int apply_stage(struct doing *doing)
{
	struct pack_state staged;

	if (doing->applying->again &&
	    place_state(&doing->applying->places, doing->other, &staged) == 0)
		return DOING_DONE;
	if (!doing_is_found(doing))
		return DOING_CHANGED;
	return move(doing, doing->path, doing->other, &doing->now);
}

int apply_place(struct doing *doing)
{
	struct pack_state staged;

	if (place_state(&doing->applying->places, doing->other, &staged) < 0)
		return doing->applying->again && doing_is_found(doing) ? DOING_DONE : DOING_CHANGED;
	return doing->exists ? DOING_CHANGED : move(doing, doing->other, doing->path, &staged);
}

int apply_unstage(struct doing *doing)
{
	struct pack_state staged;

	if (place_state(&doing->applying->places, doing->other, &staged) < 0)
		return DOING_DONE;
	return move(doing, doing->other, doing->path, &staged);
}

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

/* The temporary name has what was removed: gone for good, where it is what the plan says.  Else it gets its name back.
 * Returns DOING_DONE; DOING_CHANGED: it has its name again; a negative errno: it has the temporary name. */
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

/* Returns as drop_temporary().  What cannot be dropped has its name again, too; but where all ends by that, the undo that
 * goes on drops it.  ret_is_there: it has its name. */
static int rename_and_drop(struct doing *doing, bool *ret_is_there)
{
	int directory = doing->directory,
	    error = rename_new(directory, doing->name, directory, doing->temporary);

	*ret_is_there = error != 0;
	if (error != 0)
		return error;
	error = drop_temporary(doing, &doing->now);
	*ret_is_there = error == DOING_CHANGED ||
			(error < 0 && !applying_ends(error) &&
			 rename_new(directory, doing->temporary, directory, doing->name) == 0);
	return error;
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
		bool is_there;
		error = rename_and_drop(doing, &is_there);
		if (is_there) /* else the record is all that brings it back */
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
 * another file in its place.  So it does where the kernel does not tell what it is, unless all ends by that.
 * ret_is_moved: it has the new name. */
static int move_back(struct doing *doing, const char *from, const char *to,
		     const struct pack_state *state, bool *ret_is_moved)
{
	struct pack_state moved;
	int error = place_state(&doing->applying->places, to, &moved);

	*ret_is_moved = applying_ends(error) || (error == 0 && place_is_same(&moved, state));
	if (*ret_is_moved || error == -ENOENT)
		return *ret_is_moved ? error : DOING_CHANGED;
	int back = apply_rename(&doing->applying->places, to, from);
	*ret_is_moved = back < 0;
	return back < 0 ? back : error < 0 ? error : DOING_CHANGED;
}

static int move(struct doing *doing, const char *from, const char *to,
		const struct pack_state *state)
{
	struct operation_note note = {
		.kind = PACK_RENAMED, .path = from, .other = to, .before = *state
	};
	int error = operation_log_write(&doing->applying->log, &note, 1);

	if (error == 0) {
		bool is_moved = false;
		error = apply_rename(&doing->applying->places, from, to);
		if (error == 0)
			error = move_back(doing, from, to, state, &is_moved);
		if (!is_moved)
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

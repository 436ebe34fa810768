/* Puts contents on record, for undo: see keep_content.h. */
#include "shim/keep/keep_content.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/keep_attribute.h"
#include "shim/keep/scratch.h"
#include "tracker/content/kept.h"
#include "tracker/content/left.h"
#include "tracker/content/pack_room.h"
#include "tracker/content/rebuildable.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	LEFT_MAX = 24, /* files that a process leaves at a boundary with their content on record */
	LEFT_STATES = 64,
	LEFT_PART_OF_MAX =
		4, /* of what may be kept: so far large contents are kept as they are left */
};

/* Has a descriptor's file lost the name that the kernel has for it?  It may have others. */
static bool has_lost_name(const char *path, const struct pack_state *state)
{
	static const char MARK[] = " (deleted)";
	const struct call_name name = { .path = path, .directory = AT_FDCWD };
	size_t length = strlen(path);
	struct pack_state now;

	if (length < sizeof(MARK) || strcmp(path + length - (sizeof(MARK) - 1), MARK) != 0)
		return false;
	return keep_name_state(&name, &now) < 0 || now.dev != state->dev || now.ino != state->ino;
}

uint32_t keep_flags_of_descriptor(const char *path, const struct pack_state *state)
{
	return PACK_BY_DESCRIPTOR | (has_lost_name(path, state) ? PACK_NO_NAME : 0);
}

uint32_t keep_flags_of_open(const struct keeper *keeper, const char *path,
			    const struct pack_state *state)
{
	return keeper->is_open && S_ISREG(state->mode) && keeper->is_open(keeper->segment, path)
		       ? PACK_SHARED
		       : 0;
}

struct pack_note keep_note(const struct keeper *keeper, enum pack_kind kind,
			   const struct keep_name *name)
{
	return (struct pack_note){
		.kind = kind,
		.flags = (name->is_external ? PACK_EXTERNAL : 0) |
			 (name->name->path ? 0
					   : keep_flags_of_descriptor(name->path, &name->state)),
		.process = keeper->process,
		.pid = keeper->pid,
		.before = name->state,
		.path = name->path,
	};
}

static uint64_t write_without(const struct keeper *keeper, const struct pack_note *note,
			      enum pack_held held, enum pack_reason reason)
{
	struct pack_note lost = *note;

	lost.reason = reason;
	return pack_write(keeper->segment, &lost, held, NULL, 0);
}

static int open_plainly(int directory, const char *path, int flags)
{
	int fd = sys_openat(directory, path, flags | O_NOATIME, 0);
	return fd == -EPERM ? sys_openat(directory, path, flags, 0) : fd;
}

/* Opens a regular file to be read, without a trace.  fd: a descriptor for it; -1: none.  -EBUSY: this process
 * has locks on it, which closing it would give up. */
static int open_to_keep(const struct keeper *keeper, const struct keep_name *name, int fd)
{
	const struct stat same = { .st_dev = name->state.dev, .st_ino = name->state.ino };
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	if (keeper->may_be_locked && keeper->may_be_locked(&same))
		return -EBUSY;
	if (fd >= 0 || !name->name->path) {
		char path[PROC_PATH_BYTES];
		subject_path(SUBJECT_SELF, fd >= 0 ? fd : name->name->directory, path);
		return open_plainly(AT_FDCWD, path, flags);
	}
	if (!name->name->follows)
		flags |= O_NOFOLLOW;
	return open_plainly(name->name->directory, name->name->path, flags);
}

/* A record with a file's content by a descriptor. */
static uint64_t keep_bytes(const struct keeper *keeper, const struct pack_note *note,
			   const struct keep_name *name, int fd)
{
	bool reads = fd >= 0 && (sys_fcntl(fd, F_GETFL, 0) & O_ACCMODE) == O_RDWR;
	int readable = reads ? fd : open_to_keep(keeper, name, fd);

	if (readable < 0)
		return write_without(keeper, note, PACK_NOT_KEPT, PACK_UNREADABLE);
	uint64_t place = pack_keep(keeper->segment, note, readable);
	if (!reads)
		(void)sys_close(readable);
	return place;
}

static uint64_t keep_target(const struct keeper *keeper, const struct pack_note *note,
			    const struct call_name *name)
{
	char *target = scratch_acquire();
	long length = target ? sys_call6(SYS_readlinkat, name->directory, (long)name->path,
					 (long)target, SEGMENT_PATH_BYTES, 0, 0)
			     : -ENOMEM;
	uint64_t place = length < 0 ? write_without(keeper, note, PACK_NOT_KEPT, PACK_UNREADABLE)
				    : pack_write(keeper->segment, note, PACK_INLINE, target,
						 (size_t)length);

	scratch_release(target);
	return place;
}

uint64_t keep_going(const struct keeper *keeper, enum pack_kind kind, const struct keep_name *name)
{
	const struct pack_note note = keep_note(keeper, kind, name);
	const bool is_file = S_ISREG(note.before.mode);
	const bool is_large = note.before.size_bytes > PACK_INLINE_BYTES_MAX;
	const bool is_earlier = !S_ISDIR(note.before.mode) &&
				kept_is_noted(keeper->segment, kept_key(&note.before));
	const bool is_rebuildable = is_file && !is_earlier &&
				    rebuildable_is_name(keeper->segment, name->path);
	int fd = is_file && !is_large && !is_earlier && !is_rebuildable
			 ? open_to_keep(keeper, name, -1)
			 : -1;
	const struct call_name opened = { .directory = fd };
	uint64_t place;

	if (S_ISDIR(note.before.mode) || is_file)
		keep_attributes(keeper, &note, fd >= 0 ? &opened : name->name);
	if (fd >= 0) {
		place = pack_keep(keeper->segment, &note, fd);
		(void)sys_close(fd);
		return place;
	}
	if (S_ISDIR(note.before.mode))
		return pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
	if (is_earlier)
		return pack_write(keeper->segment, &note, PACK_EARLIER, NULL, 0);
	if (S_ISLNK(note.before.mode))
		return keep_target(keeper, &note, name->name);
	if (!is_file)
		return write_without(keeper, &note, PACK_NOT_KEPT, PACK_NO_FILE);
	if (is_rebuildable)
		return write_without(keeper, &note, PACK_NOT_KEPT, PACK_REBUILDABLE);
	/* large, unreadable or locked */
	place = pack_link(keeper->segment, &note, name->name->directory, name->name->path);
	if (place != PACK_NO_PLACE)
		return place;
	return is_large ? keep_bytes(keeper, &note, name, -1)
			: write_without(keeper, &note, PACK_NOT_KEPT, PACK_UNREADABLE);
}

uint64_t keep_changing(const struct keeper *keeper, const struct keep_name *name, int fd,
		       uint32_t flags)
{
	struct pack_note note = keep_note(keeper, PACK_CONTENT, name);
	uint64_t key = kept_key(&note.before), place;

	note.flags |= flags;
	if (kept_is_noted(keeper->segment, key))
		return PACK_NO_PLACE;
	note.key = key;
	if (rebuildable_is_name(keeper->segment, name->path))
		place = write_without(keeper, &note, PACK_NOT_KEPT, PACK_REBUILDABLE);
	else
		place = keep_bytes(keeper, &note, name, fd);
	if (place != PACK_NO_PLACE)
		kept_note(keeper->segment, key);
	return place;
}

bool keep_is_due(const struct keeper *keeper, int fd)
{
	const struct segment *segment = keeper->segment;
	const struct call_name by_descriptor = { .directory = fd };
	struct pack_state state;

	/* what could not be kept once may not be again */
	if (keep_name_state(&by_descriptor, &state) < 0 || !S_ISREG(state.mode) ||
	    state.size_bytes > PACK_FAR_FILE_BYTES_MAX ||
	    state.size_bytes > segment->settings->undo_max_file_bytes ||
	    kept_is_noted(segment, kept_key(&state)) || segment_counter(segment, COUNTER_lost_undo))
		return false;
	char *path = scratch_acquire();
	bool is_due = path && keep_name_resolve(segment, &by_descriptor, path) &&
		      keep_name_observed(segment, path) && !keep_name_excluded(keeper, path) &&
		      !rebuildable_is_name(segment, path);
	scratch_release(path);
	return is_due;
}

/* Is it one of the first at this boundary?  A program that writes thousands of files does without. */
static bool is_among_first(const struct keeper *keeper)
{
	static uint64_t boundary;
	static uint32_t count;
	uint64_t now = __atomic_load_n(&keeper->segment->header->undo_boundary, __ATOMIC_RELAXED);

	if (__atomic_load_n(&boundary, __ATOMIC_RELAXED) != now) {
		__atomic_store_n(&boundary, now, __ATOMIC_RELAXED);
		__atomic_store_n(&count, 0, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&count, __ATOMIC_RELAXED) < LEFT_MAX &&
	       __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) < LEFT_MAX;
}

/* ---- what was left ---- */

/* What this process left, each state by its digest: one that another took the place of is not known. */
static uint64_t left_states[LEFT_STATES];

/* Each write asks: cheaper than a hash of bytes, and an unlike state is no attack. */
static uint64_t digest_of(const struct pack_state *state)
{
	const uint64_t words[] = { state->dev,
				   state->ino,
				   state->size_bytes,
				   (uint64_t)state->creation_ns,
				   (uint64_t)state->mtime_ns,
				   (uint64_t)state->ctime_ns };
	uint64_t digest = 1;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		digest = (digest ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		digest ^= digest >> 32;
	}
	return digest ? digest : 1;
}

static uint64_t *left_place(const struct pack_state *state)
{
	return &left_states[state->ino % LEFT_STATES];
}

bool keep_is_as_left(const struct pack_state *state)
{
	return __atomic_load_n(left_place(state), __ATOMIC_RELAXED) == digest_of(state);
}

static void note_as_left(const struct pack_state *state)
{
	__atomic_store_n(left_place(state), digest_of(state), __ATOMIC_RELAXED);
}

/* A rebase writes a large index for each commit: the steps before it are not to lose their undo for that. */
static bool has_room_for_left(const struct segment *segment, uint64_t size_bytes)
{
	return __atomic_load_n(&segment->header->undo_bytes, __ATOMIC_RELAXED) + size_bytes <=
	       segment->settings->undo_max_bytes / LEFT_PART_OF_MAX;
}

/* git checkout writes the index behind all of its files. */
static bool is_to_be_left(const struct keeper *keeper, const struct pack_note *note)
{
	uint64_t size_bytes = note->before.size_bytes;

	if (!S_ISREG(note->before.mode) || !size_bytes || size_bytes > left_bytes_max(note->path))
		return false;
	if (left_is_git_index(note->path))
		return size_bytes <= PACK_INLINE_BYTES_MAX ||
		       has_room_for_left(keeper->segment, size_bytes);
	return !rebuildable_is_name(keeper->segment, note->path) && is_among_first(keeper);
}

bool keep_left(const struct keeper *keeper, const struct pack_note *note,
	       const struct call_name *name, int fd)
{
	const struct keep_name found = { .name = name, .state = note->before };

	note_as_left(&note->before);
	if (!is_to_be_left(keeper, note))
		return false;
	bool reads = fd >= 0 && (sys_fcntl(fd, F_GETFL, 0) & O_ACCMODE) == O_RDWR;
	int readable = reads ? fd : open_to_keep(keeper, &found, fd);
	if (readable < 0)
		return false;
	uint64_t place = pack_keep(keeper->segment, note, readable);
	if (!reads)
		(void)sys_close(readable);
	return place != PACK_NO_PLACE;
}

void keep_after(const struct keeper *keeper, const struct call_name *name, const char *path,
		enum keep_cause cause)
{
	struct pack_note note = {
		.kind = PACK_AFTER,
		.process = keeper->process,
		.pid = keeper->pid,
		.path = path,
	};

	if (keep_name_state(name, &note.before) < 0)
		return;
	note.flags = (name->path ? 0 : keep_flags_of_descriptor(path, &note.before)) |
		     (cause == KEEP_SET
			      ? PACK_UNWRITTEN | keep_flags_of_open(keeper, path, &note.before)
			      : 0);
	if (cause == KEEP_MADE)
		kept_note(keeper->segment, kept_key(&note.before));
	if (cause != KEEP_WRITTEN || !keep_left(keeper, &note, name, -1))
		(void)pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
}

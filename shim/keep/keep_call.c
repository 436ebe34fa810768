/* What a call about names or metadata is about to destroy: see keep_call.h. */
#include "shim/keep/keep_call.h"

#include <errno.h>

#include "shim/keep/keep_attribute.h"
#include "shim/keep/keep_content.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/scratch.h"
#include "tracker/content/kept.h"
#include "tracker/content/pack_room.h"
#include "tracker/content/pack_write.h"
#include "tracker/sys/sys.h"

static bool is_text(const struct keeper *keeper, const char *text)
{
	return !keeper->is_text || keeper->is_text(text);
}

/* Which file a call found. */
static void note_found(struct call *call, const struct pack_state *state)
{
	call->kept.ino = state->ino;
	call->kept.creation_ns = state->creation_ns;
}

static bool is_found(const struct call *call, const struct pack_state *state)
{
	return call->kept.ino == state->ino && call->kept.creation_ns == state->creation_ns;
}

/* What is kept of a call: its records, to be marked where it fails, and the path that it is about. */
static void set_kept(struct call *call, uint64_t place, struct keep_name *name)
{
	call->kept.place_1 = place + 1;
	call->kept.path = name->path;
	name->path = NULL;
}

static void keep_removal(const struct keeper *keeper, struct call *call)
{
	struct keep_name name;

	keep_name_find(keeper, &call->name, false, &name);
	bool is_directory = S_ISDIR(name.state.mode);
	call->kept.moves = is_directory;
	if (name.path && name.is_there && !name.is_excluded &&
	    (call->operation == OPERATION_DELETE || is_directory))
		set_kept(call, keep_going(keeper, PACK_REMOVED, &name), &name);
	keep_name_release(&name);
}

/* The two records of a rename: what it goes over, and that it moves something. */
static void keep_move(const struct keeper *keeper, struct call *call, struct keep_name *from,
		      struct keep_name *to)
{
	bool exchanges = call->flags & RENAME_EXCHANGE;
	struct pack_note note = keep_note(keeper, exchanges ? PACK_EXCHANGED : PACK_RENAMED, from);

	if (to->is_there && !exchanges && !to->is_external && !to->is_excluded)
		call->kept.other_place_1 = keep_going(keeper, PACK_REPLACED, to) + 1;
	note.flags |= (to->is_external ? PACK_OTHER_EXTERNAL : 0) |
		      (exchanges ? 0 : keep_flags_of_open(keeper, from->path, &from->state));
	note.other = to->path;
	uint64_t place = pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
	call->kept.leaves = to->is_external && !from->is_external;
	if (!exchanges && !to->is_external && !to->is_excluded)
		note_found(call, &from->state);
	set_kept(call, place, to);
}

static void keep_rename(const struct keeper *keeper, struct call *call)
{
	struct keep_name from, to;

	keep_name_find(keeper, &call->name, true, &from);
	keep_name_find(keeper, &call->other, true, &to);
	bool both = from.path && to.path && from.is_there;
	call->kept.moves = S_ISDIR(from.state.mode) || S_ISDIR(to.state.mode);
	bool is_one = both && to.is_there && from.state.dev == to.state.dev &&
		      from.state.ino == to.state.ino; /* then nothing happens */
	bool fails = both && to.is_there && (call->flags & RENAME_NOREPLACE);
	bool is_of_undo = from.path && to.path &&
			  !((from.is_excluded || from.is_external) &&
			    (to.is_excluded || to.is_external));
	if (both && is_of_undo && !is_one && !fails) {
		keep_move(keeper, call, &from, &to);
	} else if (is_of_undo && (is_one || !from.is_there)) {
		call->kept.is_unrecorded = true;
		if (is_one)
			note_found(call, &from.state);
	}
	keep_name_release(&from);
	keep_name_release(&to);
}

/* A name that stands for nothing is about to be made.  mode: its type; target: of a symbolic link. */
static void keep_making(const struct keeper *keeper, struct call *call,
			const struct call_name *made, mode_t mode, const char *target)
{
	struct keep_name name;

	keep_name_find(keeper, made, false, &name);
	if (name.path && !name.is_there && !name.is_excluded) {
		struct pack_note note = keep_note(keeper, PACK_CREATED, &name);
		note.before.mode = mode & S_IFMT ? mode & S_IFMT : S_IFREG;
		note.other = target;
		set_kept(call, pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0), &name);
		call->kept.stamps = true;
	}
	keep_name_release(&name);
}

static void keep_link(const struct keeper *keeper, struct call *call)
{
	struct keep_name from, to;

	struct call_name source = call->name;

	if (source.path && (call->flags & AT_EMPTY_PATH) && is_text(keeper, source.path) &&
	    !*source.path)
		source.path = NULL;
	keep_name_find(keeper, &source, true, &from);
	/* O_TMPFILE gets its name so: by its descriptor, or what that is called in /proc */
	bool is_nameless = from.is_there && from.state.nlink == 0;
	if (is_nameless || (!from.path && from.is_there))
		keep_making(keeper, call, &call->other, from.state.mode, NULL);
	keep_name_find(keeper, &call->other, false, &to);
	if (!is_nameless && from.path && from.is_there && to.path && !to.is_there &&
	    !to.is_excluded) {
		struct pack_note note = keep_note(keeper, PACK_LINKED, &from);
		note.other = to.path;
		set_kept(call, pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0), &to);
		call->kept.stamps = true;
	}
	keep_name_release(&from);
	keep_name_release(&to);
}

static void keep_truncation(const struct keeper *keeper, struct call *call)
{
	struct keep_name name;

	keep_name_find(keeper, &call->name, false, &name);
	if (name.path && name.is_there && !name.is_excluded && S_ISREG(name.state.mode)) {
		set_kept(call, keep_changing(keeper, &name, -1, 0), &name);
		call->kept.stamps = true;
	}
	keep_name_release(&name);
}

static uint64_t write_metadata(const struct keeper *keeper, const struct call *call,
			       const struct keep_name *name)
{
	struct pack_note note = keep_note(keeper, PACK_METADATA, name);

	note.what = call->flags;
	note.amount = call->amount;
	if (call->flags == JOURNAL_METADATA_ATTRIBUTE ||
	    call->flags == JOURNAL_METADATA_NO_ATTRIBUTE)
		return keep_attribute(keeper, &note, &call->name, call->attribute);
	return pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
}

static void keep_metadata(const struct keeper *keeper, struct call *call)
{
	struct keep_name name;

	keep_name_find(keeper, &call->name, false, &name);
	bool is_attribute = call->flags == JOURNAL_METADATA_ATTRIBUTE ||
			    call->flags == JOURNAL_METADATA_NO_ATTRIBUTE;
	if (name.path && name.is_there && !name.is_excluded && name.state.nlink) {
		/* Of what was made since the boundary there is nothing to go back to; of what was kept since, the
		 * record has all but its attributes. */
		uint64_t place = !is_attribute && kept_is_noted(keeper->segment,
								kept_key(&name.state))
					 ? PACK_NO_PLACE
					 : write_metadata(keeper, call, &name);
		set_kept(call, place, &name);
		call->kept.stamps = true;
	}
	keep_name_release(&name);
}

void keep_call_made(const struct keeper *keeper, struct call *call)
{
	switch (call->operation) {
	case OPERATION_DELETE:
	case OPERATION_REMOVE_DIRECTORY:
		keep_removal(keeper, call);
		break;
	case OPERATION_RENAME:
		keep_rename(keeper, call);
		break;
	case OPERATION_MAKE:
		keep_making(keeper, call, &call->name, call->flags, NULL);
		break;
	case OPERATION_SYMLINK:
		/* it is the caller's memory: the kernel has not read it yet */
		if (call->other.path && is_text(keeper, call->other.path))
			keep_making(keeper, call, &call->name, S_IFLNK, call->other.path);
		break;
	case OPERATION_LINK:
		keep_link(keeper, call);
		break;
	case OPERATION_TRUNCATE:
		keep_truncation(keeper, call);
		break;
	case OPERATION_METADATA:
	case OPERATION_METADATA_OF_DESCRIPTOR:
		keep_metadata(keeper, call);
		break;
	default:
		break;
	}
}

/* Was the file made by the call?  A hard link is another name of one that was there. */
static bool is_new(const struct call *call)
{
	return call->operation == OPERATION_MAKE || call->operation == OPERATION_SYMLINK;
}

/* What the call made is on record only now: a directory whose name libc chose; what a rename left at the old name. */
static void keep_made(const struct keeper *keeper, const struct call *call, mode_t type)
{
	struct keep_name name;

	keep_name_find(keeper, &call->name, false, &name);
	if (name.path && name.is_there && !name.is_excluded) {
		struct pack_note note = keep_note(keeper, PACK_CREATED, &name);
		note.before = (struct pack_state){ .mode = type };
		(void)pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
		keep_after(keeper, &call->name, name.path, KEEP_MADE);
	}
	keep_name_release(&name);
}

/* A hard link to what was not removed keeps nothing, and the file's st_nlink shows it. */
static void keep_failed(const struct keeper *keeper, const struct call *call)
{
	const struct call_kept *kept = &call->kept;

	pack_fail(keeper->segment, kept->place_1 - 1);
	pack_fail(keeper->segment, kept->other_place_1 - 1);
	if (kept->place_1 && call->operation == OPERATION_DELETE)
		pack_drop_file(keeper->segment, kept->place_1 - 1);
	if (kept->other_place_1)
		pack_drop_file(keeper->segment, kept->other_place_1 - 1);
}

/* Another program, or thread, renamed something from or to the same name meanwhile: the result of both is on record. */
static void keep_moved(const struct keeper *keeper, const struct call *call)
{
	struct pack_state now;

	if (keep_name_state(&call->other, &now) == 0 && !is_found(call, &now))
		keep_after(keeper, &call->other, call->kept.path, KEEP_SET);
}

/* There was nothing to rename when it was inspected: what was, another program or thread has made or renamed since. */
static void keep_unrecorded(const struct keeper *keeper, const struct call *call)
{
	struct keep_name from, to;

	keep_name_find(keeper, &call->name, true, &from);
	keep_name_find(keeper, &call->other, true, &to);
	if (from.path && to.path && to.is_there && !is_found(call, &to.state)) {
		struct pack_note note = keep_note(keeper, PACK_RENAMED, &from);
		note.before = to.state;
		note.flags |= to.is_external ? PACK_OTHER_EXTERNAL : 0;
		note.other = to.path;
		(void)pack_write(keeper->segment, &note, PACK_NOT_TAKEN, NULL, 0);
	}
	keep_name_release(&from);
	keep_name_release(&to);
}

void keep_call_came_back(const struct keeper *keeper, struct call *call)
{
	struct call_kept *kept = &call->kept;

	if (kept->moves)
		keep_directory_moved(keeper->segment);
	if (!call->error && call->operation == OPERATION_RENAME && kept->place_1 &&
	    (call->flags & RENAME_WHITEOUT))
		keep_made(keeper, call, S_IFCHR);
	if (call->error) {
		keep_failed(keeper, call);
	} else if (call->is_template) {
		keep_made(keeper, call, S_IFDIR);
	} else if (kept->leaves) {
		keep_name_moved(keeper->segment, kept->path);
	} else if (kept->is_unrecorded) {
		keep_unrecorded(keeper, call);
	} else if (kept->ino) {
		keep_moved(keeper, call);
	} else if (kept->stamps) {
		keep_after(keeper, call->operation == OPERATION_LINK ? &call->other : &call->name,
			   kept->path, is_new(call) ? KEEP_MADE : KEEP_SET);
	}
	scratch_release(kept->path);
	*kept = (struct call_kept){ .was_there = kept->was_there }; /* for the stations behind */
}

/* The station KEEP for supervised processes: see keeping.h. */
#include "shim/supervise/keeping.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/keep/keep_call.h"
#include "shim/keep/keep_content.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/scratch.h"
#include "shim/keep/step.h"
#include "shim/supervise/kept_call.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/open_below.h"
#include "shim/supervise/written.h"
#include "tracker/content/pack_write.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

/* ---- names ---- */

/* A name of the process's, as one of the supervisor's. */
struct place {
	int fd; /* -1: none */
	char text[NAME_MAX + 1];
	struct call_name name;
	bool is_lost; /* it was not found for a reason of the supervisor's own: the call may be made */
};

static void drop(struct place *place)
{
	if (place->fd >= 0)
		(void)close(place->fd);
	place->fd = -1;
}

static bool is_of_undo(const struct target *target, struct place *place)
{
	if (place->fd >= 0 && resolve_is_visible(target, place->fd))
		return true;
	place->is_lost = place->is_lost || place->fd == -EAGAIN || place->fd == -EMFILE ||
			 place->fd == -ENFILE || place->fd == -ENOMEM;
	drop(place);
	return false;
}

/* By the directory that it is in. */
static bool find_name(const struct target *target, const struct named *named, struct place *place)
{
	place->fd = resolve_parent(target, named, place->text);
	place->name = (struct call_name){ place->text, place->fd, false };
	return is_of_undo(target, place);
}

static void name_by_descriptor(struct place *place)
{
	subject_path(SUBJECT_SELF, place->fd, place->text);
	place->name = (struct call_name){ place->text, AT_FDCWD, true };
}

static bool find_descriptor(const struct target *target, pid_t tid, int fd, struct place *place)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "fd/%d", fd);
	place->fd = fd < 0 ? -EBADF : proc_open_path(tid, name);
	name_by_descriptor(place);
	return is_of_undo(target, place);
}

/* By the file that is there.  Also where the path is a descriptor's name in /proc. */
static bool find_file(const struct target *target, const struct named *named, bool follows,
		      struct place *place)
{
	int fd;
	const char *rest = path_behind_descriptor(named->path, (uint32_t)target->pid, &fd);

	if (rest && !*rest && follows)
		return find_descriptor(target, named->tid, fd, place);
	place->fd = resolve_name(target, named, follows);
	name_by_descriptor(place);
	return is_of_undo(target, place);
}

/* ---- who keeps ---- */

bool keeping_is_on(const struct supervision *supervision, const struct target *target)
{
	return !target->invocation.ignored &&
	       step_keeps(supervision->segment, &target->request.context);
}

/* What was closed before it is on record before it. */
static void start_boundary(const struct supervision *supervision)
{
	written_tend(supervision->segment);
	pack_raise_boundary(supervision->segment);
}

void keeping_starts(const struct supervision *supervision, struct target *target)
{
	const struct context *context = &target->request.context;
	bool ends_capture = context->capture_id &&
			    capture_shell(supervision->segment, context->capture_id) ==
				    (uint32_t)target->pid;

	target->is_step = keeping_is_on(supervision, target) &&
			  step_begins(supervision->segment, target->process, context, ends_capture);
	if (target->is_step)
		start_boundary(supervision);
}

void keeping_ends(const struct supervision *supervision, struct target *target)
{
	if (target->is_step && !target->is_fork)
		start_boundary(supervision);
	target->is_step = false;
}

static char *path_of(const struct segment *segment, const struct place *place)
{
	char path[SEGMENT_PATH_BYTES];

	return keep_name_resolve(segment, &place->name, path) ? strdup(path) : NULL;
}

/* ---- calls about names, metadata, size ---- */

static bool find_source(const struct target *target, const struct call *call,
			const struct named *named, struct place *place)
{
	bool by_descriptor = call->operation == OPERATION_LINK && !named->path[0] &&
			     (call->flags & AT_EMPTY_PATH);

	return by_descriptor ? find_descriptor(target, named->tid, named->directory, place)
			     : find_file(target, named, call->name.follows, place);
}

static bool is_about_file(const struct call *call)
{
	enum operation operation = call->operation;

	return operation == OPERATION_TRUNCATE || operation == OPERATION_METADATA ||
	       (operation == OPERATION_LINK &&
		(call->name.follows || (call->flags & AT_EMPTY_PATH)));
}

/* Finds the names of a call; false: it is none of undo's, or will fail. */
static bool find_places(const struct target *target, const struct call *call,
			const struct named *named, const struct named *other, struct place *place,
			struct place *other_place)
{
	bool is_found = !named ? find_descriptor(target, target->pid, call->name.directory, place)
			: is_about_file(call) ? find_source(target, call, named, place)
					      : find_name(target, named, place);

	return is_found && (!other || find_name(target, other, other_place));
}

static void keep_size(const struct keeper *keeper, const struct place *place)
{
	struct keep_name name;

	keep_name_find(keeper, &place->name, false, &name);
	if (name.path && name.is_there && !name.is_excluded && S_ISREG(name.state.mode))
		(void)keep_changing(keeper, &name, -1, 0);
	keep_name_release(&name);
}

/* A name of a file that has others is about to go. */
static void keep_following(const struct segment *segment, const struct place *place)
{
	char *path = path_of(segment, place);

	if (path)
		written_goes(segment, path);
	free(path);
}

static bool keep_places(const struct supervision *supervision, struct target *target, pid_t tid,
			struct call *call, const struct place *place, const struct place *other)
{
	const struct keeper keeper = kept_call_keeper(supervision, target);
	struct kept_call more = { .was = kept_call_state(&place->name) };

	if (call->operation == OPERATION_RESIZE || call->operation == OPERATION_ALLOCATE) {
		keep_size(&keeper, place);
		return false;
	}
	bool moves = call->operation == OPERATION_RENAME;
	char *from = moves ? path_of(supervision->segment, place) : NULL;
	char *to = moves ? path_of(supervision->segment, other) : NULL;
	more.other = from;
	keep_call_made(&keeper, call);
	if (call->operation == OPERATION_DELETE && call->kept.place_1 && more.was.nlink > 1)
		keep_following(supervision->segment, place);
	if (from && to && call->kept.place_1) /* else it will fail */
		written_moves(supervision->segment, from, to, call->flags & RENAME_EXCHANGE);
	free(to);
	if (call->kept.moves)
		keep_directory_moved(keeper.segment);
	bool has_kept = call->kept.place_1 || call->kept.other_place_1 || call->kept.stamps ||
			call->kept.leaves || call->kept.moves;
	more.path = has_kept && call->kept.path ? strdup(call->kept.path) : NULL;
	if (!more.path) {
		scratch_release(call->kept.path);
		free(more.other);
		return false;
	}
	return kept_call_note(target, tid, call, &more);
}

bool keeping_call(const struct supervision *supervision, struct target *target,
		  const struct call *call, const struct named *named, const struct named *other)
{
	struct place place = { .fd = -1 }, other_place = { .fd = -1 };
	struct call own = *call;
	bool is_kept = false;
	bool has_text = call->operation == OPERATION_SYMLINK;

	if (!kept_call_inspects(supervision))
		return false;
	written_tend(supervision->segment); /* what was closed before is on record before */
	if (find_places(target, call, named, has_text ? NULL : other, &place, &other_place)) {
		own.name = place.name;
		if (!has_text)
			own.other = other_place.name;
		is_kept = keep_places(supervision, target, named ? named->tid : target->pid, &own,
				      &place, &other_place);
	}
	if (place.is_lost || other_place.is_lost)
		segment_count(supervision->segment, COUNTER_lost_undo, 1);
	drop(&place);
	drop(&other_place);
	inspection_finish();
	return is_kept;
}

/* ---- opens ---- */

/* Of a descriptor that can only read no close is reported: it is as if the file were set to no size by its name. */
static bool is_emptied_alone(const struct call *call)
{
	return (call->flags & O_ACCMODE) == O_RDONLY;
}

/* A file that is there. */
static bool open_found(const struct keeper *keeper, struct target *target, struct call *own,
		       pid_t tid, const struct keep_name *name)
{
	struct kept_call more = { .was = name->state, .path = strdup(name->path) };

	own->kept.place_1 = keep_changing(keeper, name, -1, 0) + 1;
	if (!more.path)
		return false;
	if (is_emptied_alone(own)) {
		own->operation = OPERATION_TRUNCATE;
		own->amount = 0;
		own->kept.stamps = true;
	} else {
		written_opens(keeper, more.path, &name->state);
	}
	return kept_call_note(target, tid, own, &more);
}

/* Nothing is there. */
static bool open_new(const struct keeper *keeper, struct target *target, struct call *own,
		     pid_t tid, const struct keep_name *name)
{
	struct kept_call more = { .path = strdup(name->path) };
	struct pack_note made = keep_note(keeper, PACK_CREATED, name);

	if (!more.path)
		return false;
	made.before.mode = S_IFREG;
	own->kept.place_1 = pack_write(keeper->segment, &made, PACK_NOT_TAKEN, NULL, 0) + 1;
	if (!is_emptied_alone(own) && call_open_purpose(own->flags) == OPENS_WRITE)
		written_opens(keeper, more.path, NULL);
	return kept_call_note(target, tid, own, &more);
}

static bool open_named(const struct supervision *supervision, struct target *target,
		       struct call *own, pid_t tid, const struct place *place)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;
	const struct keeper keeper = kept_call_keeper(supervision, target);
	bool only_new = (own->flags & ONLY_NEW) == ONLY_NEW, is_kept = false;
	struct keep_name name;

	keep_name_find(&keeper, &place->name, false, &name);
	if (name.path && !name.is_excluded) {
		if (name.is_there && S_ISREG(name.state.mode) && !only_new &&
		    call_open_purpose(own->flags) == OPENS_WRITE)
			is_kept = open_found(&keeper, target, own, tid, &name);
		else if (!name.is_there && (own->flags & O_CREAT))
			is_kept = open_new(&keeper, target, own, tid, &name);
	}
	keep_name_release(&name);
	return is_kept;
}

/* Goes on from a symbolic link that leads nowhere to the name that would be made.  False: there is none. */
static bool follow_links(struct place *place)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_MAGICLINKS };
	enum { LINKS_MAX = 40 };
	char text[PATH_MAX];

	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t length = readlinkat(place->fd, place->text, text, sizeof(text) - 1);
		if (length < 0)
			return true;
		text[length] = '\0';
		const char *base = path_base(text);
		if (!*base || strlen(base) > NAME_MAX || strcmp(base, ".") == 0 ||
		    strcmp(base, "..") == 0)
			return false;
		(void)strcpy(place->text, base);
		text[base - text] = '\0';
		int fd = open_below(place->fd, text[0] ? text : ".", &how);
		drop(place);
		place->fd = fd;
		if (fd < 0)
			return false;
		place->name = (struct call_name){ place->text, fd, false };
	}
	return false;
}

/* The name that an open makes is behind a symbolic link where it is one.  In another root links begin elsewhere. */
static bool find_made(const struct target *target, const struct call *call, struct place *place)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;
	bool follows = call->name.follows && (call->flags & ONLY_NEW) == O_CREAT;

	return !follows || target->root || follow_links(place);
}

bool keeping_open(const struct supervision *supervision, struct target *target,
		  const struct call *call, const struct named *named)
{
	struct place place = { .fd = -1 };
	struct call own = *call;
	bool is_kept = false;

	if (!kept_call_inspects(supervision))
		return false;
	written_tend(supervision->segment);
	if (find_file(target, named, call->name.follows, &place) ||
	    (find_name(target, named, &place) && find_made(target, call, &place)))
		is_kept = open_named(supervision, target, &own, named->tid, &place);
	if (place.is_lost)
		segment_count(supervision->segment, COUNTER_lost_undo, 1);
	drop(&place);
	inspection_finish();
	return is_kept;
}

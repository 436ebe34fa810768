/* Calls that were let pass, with what was kept for them: see kept_call.h. */
#include "shim/supervise/kept_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/keep/keep_call.h"
#include "shim/keep/keep_content.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/scratch.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/proc.h"
#include "shim/supervise/written.h"
#include "tracker/content/pack_write.h"
#include "tracker/sys/sys.h"

enum {
	CALLS_MAX = 256, /* of one process, that have not shown how they ended */
};

struct keeper kept_call_keeper(const struct supervision *supervision, const struct target *target)
{
	return (struct keeper){ .segment = supervision->segment,
				.process = (uint32_t)target->record,
				.pid = (uint32_t)target->pid,
				.is_open = written_is_open };
}

bool kept_call_inspects(const struct supervision *supervision)
{
	if (inspection_wait())
		return true;
	segment_count(supervision->segment, COUNTER_lost_undo, 1);
	return false;
}

struct pack_state kept_call_state(const struct call_name *name)
{
	struct pack_state state;

	return keep_name_state(name, &state) == 0 ? state : (struct pack_state){ .ino = 0 };
}

void kept_call_free(struct kept_call *kept)
{
	while (kept) {
		struct kept_call *next = kept->next;
		free(kept->path);
		free(kept->other);
		free(kept);
		kept = next;
	}
}

bool kept_call_note(struct target *target, pid_t tid, struct call *call,
		    const struct kept_call *more)
{
	struct kept_call *kept = malloc(sizeof(*kept));
	unsigned count = 0;

	for (const struct kept_call *at = target->kept; at; at = at->next)
		count++;
	if (!kept || count >= CALLS_MAX) { /* it is taken for made */
		free(kept);
		scratch_release(call->kept.path);
		free(more->path);
		free(more->other);
		return false;
	}
	*kept = *more;
	kept->next = target->kept;
	kept->tid = tid;
	kept->time_ns = sys_boottime_ns();
	kept->call = *call;
	scratch_release(call->kept.path);
	kept->call.kept.path = NULL;
	target->kept = kept;
	return true;
}

/* Numbers are given anew. */
static bool is_same(const struct pack_state *a, const struct pack_state *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->creation_ns == b->creation_ns;
}

static bool is_unchanged(const struct pack_state *a, const struct pack_state *b)
{
	return is_same(a, b) && a->ctime_ns == b->ctime_ns && a->mtime_ns == b->mtime_ns &&
	       a->size_bytes == b->size_bytes;
}

/* ---- how they ended ---- */

enum ending {
	ENDING_MADE,
	ENDING_UNDER_WAY, /* the kernel sets a size before the times */
	ENDING_NOT_SHOWN,
};

static struct pack_state state_at(const char *path)
{
	const struct call_name name = { .path = path, .directory = AT_FDCWD };

	return path ? kept_call_state(&name) : (struct pack_state){ .ino = 0 };
}

/* Another call may have made or changed the file meanwhile.  has_ended: its thread went on. */
static enum ending ending_of_open(const struct supervision *supervision,
				  const struct target *target, const struct kept_call *kept,
				  bool has_ended)
{
	struct pack_state now = state_at(kept->path);

	if (!kept->was.ino && !now.ino)
		return ENDING_NOT_SHOWN;
	if (has_ended && (!kept->was.ino || !is_unchanged(&now, &kept->was)))
		return ENDING_MADE;
	if (!written_is_open(supervision->segment, kept->path))
		return ENDING_MADE; /* and closed again */
	return proc_has_open(target->pid, now.dev, now.ino, false) ? ENDING_MADE : ENDING_NOT_SHOWN;
}

static enum ending ending_of_truncate(const struct kept_call *kept, const struct pack_state *now)
{
	bool has_other_size = kept->was.size_bytes != kept->call.amount;

	if (is_unchanged(now, &kept->was))
		return ENDING_NOT_SHOWN; /* of the size that it has, too: that sets the times */
	return has_other_size && is_same(now, &kept->was) && now->ctime_ns == kept->was.ctime_ns
		       ? ENDING_UNDER_WAY
		       : ENDING_MADE;
}

static enum ending ending_of(const struct supervision *supervision, const struct target *target,
			     const struct kept_call *kept, bool has_ended)
{
	struct pack_state now = state_at(kept->path);

	switch (kept->call.operation) {
	case OPERATION_OPEN:
		return ending_of_open(supervision, target, kept, has_ended);
	case OPERATION_DELETE:
	case OPERATION_REMOVE_DIRECTORY:
		return is_same(&now, &kept->was) ? ENDING_NOT_SHOWN : ENDING_MADE;
	case OPERATION_RENAME: /* path: the new name */
		if (is_same(&now, &kept->was))
			return ENDING_MADE;
		now = state_at(kept->other);
		return is_same(&now, &kept->was) ? ENDING_NOT_SHOWN : ENDING_MADE;
	case OPERATION_TRUNCATE:
		return ending_of_truncate(kept, &now);
	case OPERATION_METADATA:
	case OPERATION_METADATA_OF_DESCRIPTOR:
		return now.ctime_ns == kept->was.ctime_ns ? ENDING_NOT_SHOWN : ENDING_MADE;
	default:
		return now.ino ? ENDING_MADE : ENDING_NOT_SHOWN;
	}
}

/* Is what is there now certainly what the call left? */
static bool is_as_left(const struct kept_call *kept, const struct pack_state *now)
{
	const struct call *call = &kept->call;

	switch (call->operation) {
	case OPERATION_TRUNCATE:
		return now->size_bytes == call->amount;
	case OPERATION_METADATA:
	case OPERATION_METADATA_OF_DESCRIPTOR:
		return is_same(now, &kept->was) && now->size_bytes == kept->was.size_bytes &&
		       (call->flags == JOURNAL_METADATA_TIMES ||
			now->mtime_ns == kept->was.mtime_ns);
	case OPERATION_LINK:
		return is_same(now, &kept->was) && now->mtime_ns == kept->was.mtime_ns;
	default:
		return true;
	}
}

static void finish_made(const struct keeper *keeper, const struct kept_call *kept)
{
	const struct call_name name = { .path = kept->path, .directory = AT_FDCWD };
	struct pack_state now = state_at(kept->path);
	bool is_new = kept->call.operation == OPERATION_MAKE ||
		      kept->call.operation == OPERATION_SYMLINK;

	if (kept->call.kept.moves)
		keep_directory_moved(keeper->segment);
	if (kept->call.operation == OPERATION_OPEN) {
		written_opened(keeper->segment, kept->path, now.ino);
	} else if (kept->call.kept.leaves) {
		keep_name_moved(keeper->segment, kept->path);
	} else if (kept->call.kept.stamps && now.ino && is_as_left(kept, &now)) {
		keep_after(keeper, &name, kept->path, is_new ? KEEP_MADE : KEEP_SET);
	}
}

static void finish_failed(const struct keeper *keeper, struct kept_call *kept)
{
	/* What was not made is not there in any case, and may have been removed since. */
	if (kept->call.operation == OPERATION_OPEN)
		written_opens_not(keeper->segment, kept->path);
	if (kept->call.operation == OPERATION_RENAME && kept->other)
		written_moves(keeper->segment, kept->path, kept->other,
			      kept->call.flags & RENAME_EXCHANGE);
	if (kept->call.operation != OPERATION_OPEN || kept->was.ino) {
		kept->call.error = -1;
		keep_call_came_back(keeper, &kept->call);
	}
}

/* Calls that may have been made, though it does not show: what they made was removed since, or a time is the same.
 * A record of one that was not made takes nothing back. */
static bool is_taken_for_made(const struct kept_call *kept)
{
	switch (kept->call.operation) {
	case OPERATION_MAKE:
	case OPERATION_SYMLINK:
	case OPERATION_LINK:
	case OPERATION_METADATA:
	case OPERATION_METADATA_OF_DESCRIPTOR:
		return true;
	default:
		return false;
	}
}

void kept_call_complete(const struct supervision *supervision, struct target *target, pid_t tid)
{
	const struct keeper keeper = kept_call_keeper(supervision, target);

	if (!target->kept || !kept_call_inspects(supervision))
		return;
	for (struct kept_call **at = &target->kept; *at;) {
		struct kept_call *kept = *at;
		bool has_ended = !tid || tid == kept->tid;
		enum ending ending = ending_of(supervision, target, kept, has_ended);
		if (ending != ENDING_MADE && !has_ended) {
			at = &kept->next;
			continue;
		}
		if (ending != ENDING_NOT_SHOWN || is_taken_for_made(kept))
			finish_made(&keeper, kept);
		else
			finish_failed(&keeper, kept);
		*at = kept->next;
		kept->next = NULL;
		kept_call_free(kept);
	}
	inspection_finish();
}

bool kept_call_are_young(const struct kept_call *kept)
{
	const uint64_t YOUNG_NS = 1000000000;
	uint64_t now_ns = sys_boottime_ns();

	for (; kept; kept = kept->next)
		if (now_ns - kept->time_ns < YOUNG_NS)
			return true;
	return false;
}

/* What was given, when it is complete: see decision_delivery.h. */
#include "tracker/answer/decision_delivery.h"

#include <errno.h>
#include <string.h>

#include "tracker/answer/instruction.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/proof.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static uint64_t file_forgets(const struct segment *segment)
{
	return __atomic_load_n(&segment->header->file_forgets, __ATOMIC_SEQ_CST);
}

void decision_pend_late(const struct segment *segment, const struct request *request,
			const struct stat *stat, const struct answer *answer,
			struct pending *ret_pending)
{
	*ret_pending = (struct pending){
		.file_key = answer->path_key,
		.stamp = stamp_of(stat),
		.is_late = true,
		.file_forgets = file_forgets(segment),
		.counted = answer->decision == DECISION_GIVEN_AGAIN,
	};
	ret_pending->moment = decision_moment(segment, request);
}

int decision_complete(const struct segment *segment, const char *path, struct pending *pending)
{
	if (!pending->is_late)
		return 0;
	return file_update(segment, path, &pending->stamp, NULL, NULL) ? 0 : -ENOSPC;
}

int decision_pend(const struct segment *segment, const struct request *request, const char *path,
		  const struct stat *stat, const struct answer *answer, struct pending *ret_pending)
{
	struct stamp stamp = stamp_of(stat);
	struct file_slot file;
	uint64_t key = file_update(segment, path, &stamp, NULL, NULL);

	if (!key || file_find(segment, key, &file) < 0)
		return -ENOSPC;
	*ret_pending = (struct pending){
		.file_key = key,
		.stamp = stamp,
		.moment = decision_moment(segment, request),
		.forgets = file.forgets,
		.counted = answer && answer->decision == DECISION_GIVEN_AGAIN,
		.is_diff = answer && answer->decision == DECISION_DIFF,
	};
	if (answer && answer->decision == DECISION_DIFF) {
		ret_pending->base_key = answer->file_key;
		ret_pending->base = answer->delivered;
		ret_pending->place = answer->given;
	}
	return 0;
}

struct whole_read {
	const struct stamp *stamp;
	const struct version *version;
	uint32_t pid;
	bool is_repeat;
	bool is_diff;
};

static void note_whole_read(struct file_slot *file, const void *data)
{
	const struct whole_read *read = data;
	file->full_reads += !read->is_diff;
	file->repeats += read->is_repeat;
	file->stamp = *read->stamp;
	file->version = *read->version;
	file->last_read_pid = read->pid;
	file_note_read(file);
}

/* Did a file that was read change since it was last read whole, by no process of the session, and
 * will no other record report that? */
static bool is_changed_unseen(const struct segment *segment, const struct file_slot *file,
			      const struct version *version)
{
	uint64_t watched_until_ns = __atomic_load_n(&segment->header->watched_until_ns,
						    __ATOMIC_RELAXED);

	return !version_is_none(&file->version) && !version_equal(&file->version, version) &&
	       !version_equal(&file->written, version) &&
	       !version_equal(&file->external, version) && !file->writer &&
	       file->last_edit_realtime_ns < file->last_read_realtime_ns &&
	       watched_until_ns < sys_boottime_ns();
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

/* Does what was given from `pending` until now go the request's scope's way, and is the command so
 * far no longer than that? */
static bool reaches_scope(const struct segment *segment, const struct request *request,
			  const struct pending *pending, const struct moment *now,
			  const struct output_limits *limits)
{
	return request_is_received(request) && now->scope_epoch &&
	       now->scope_epoch == pending->moment.scope_epoch &&
	       now->session_epoch == pending->moment.session_epoch &&
	       (request->is_in_process ||
		command_within_so_far(segment, now->capture_id, now->command_id, limits));
}

static bool is_invalidated(const struct segment *segment, const struct pending *pending)
{
	struct file_slot file;

	if (pending->is_late)
		return file_forgets(segment) != pending->file_forgets;
	return file_find(segment, pending->file_key, &file) < 0 || file.forgets != pending->forgets;
}

/* Forgotten between a check and the record?  Then that must not stand. */
static bool is_invalidated_since(const struct segment *segment, const struct request *request,
				 const struct pending *pending, const struct moment *now)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	struct moment after = decision_moment(segment, request);
	return is_invalidated(segment, pending) || after.scope_epoch != now->scope_epoch ||
	       after.session_epoch != now->session_epoch;
}

/* An instruction file that is read like any other need not be given once more.  Apart: a path is a
 * lot for a small stack. */
__attribute__((noinline)) static void note_instruction(const struct segment *segment,
						       const struct file_slot *file,
						       const struct moment *given,
						       const struct stamp *stamp,
						       const struct version *version)
{
	char path[SEGMENT_PATH_BYTES];

	if (file_path(segment, file, path, sizeof(path)) > 0 && instruction_is_named(segment, path))
		(void)instruction_record(segment, given, stamp->dev, stamp->ino, version);
}

/* Does the scope know the file in this version, at once or in parts? */
static bool was_given(const struct segment *segment, const struct request *request,
		      uint64_t file_key, const struct version *version, const struct moment *now)
{
	struct delivery_slot delivery = { .time_ns = 0 };
	struct version whole;

	if (delivery_find(segment, now->scope_id, file_key, &delivery) == 0 &&
	    decision_is_current(segment, request, &delivery, now) &&
	    version_equal(&delivery.version, version))
		return true;
	struct output_limits limits = limits_at(segment, request, now);
	return !request->is_in_process &&
	       line_range_is_whole(segment, file_key, now, &limits,
				   delivery.command_id ? 0 : delivery.time_ns, &whole) &&
	       version_equal(&whole, version);
}

void decision_deliver(const struct segment *segment, const struct request *request,
		      const struct pending *pending, const struct stamp *stamp,
		      const struct version *version, struct delivered *ret_delivered)
{
	struct moment now = decision_moment(segment, request);
	struct delivery_slot before;
	struct file_slot file;

	*ret_delivered = (struct delivered){ 0 };
	if (!stamp_equal(stamp, &pending->stamp) || stamp->size_bytes != version->size_bytes)
		return;
	struct output_limits limits = limits_on_record(segment, &request->context);
	bool to_scope = reaches_scope(segment, request, pending, &now, &limits);
	/* What it was made against must still count, and be what the scope was given last. */
	if (pending->is_diff && to_scope)
		to_scope = delivery_find(segment, now.scope_id, pending->base_key, &before) == 0 &&
			   version_equal(&before.version, &pending->base) &&
			   before.request == pending->place.request &&
			   decision_is_current(segment, request, &before, &now);
	if (pending->is_diff && !to_scope)
		return;
	bool is_repeat = to_scope && !pending->counted && !pending->is_diff &&
			 was_given(segment, request, pending->file_key, version, &now);
	struct whole_read read = { stamp, version, subject_pid(request->subject), is_repeat,
				   pending->is_diff };

	if (file_find(segment, pending->file_key, &file) == 0) {
		ret_delivered->before = file.version;
		ret_delivered->is_changed = is_changed_unseen(segment, &file, version);
	}
	(void)file_change_known(segment, pending->file_key, note_whole_read, &read);
	if (!to_scope || is_invalidated(segment, pending))
		return;
	/* No later than a forget under another name meanwhile. */
	struct moment given = now;
	given.time_ns = pending->moment.time_ns;
	if (pending->is_diff) {
		given.request = pending->place.request;
		given.bytes_given = pending->place.bytes_given;
		given.time_ns = pending->place.time_ns;
	}
	if (delivery_record(segment, pending->file_key, version, &given) < 0)
		return;
	line_range_drop_others(segment, now.scope_id, pending->file_key, version);
	if (!pending->is_diff)
		segment_count(segment, COUNTER_deliveries, 1);
	if (is_repeat)
		segment_count(segment, COUNTER_repeats, 1);
	if (is_invalidated_since(segment, request, pending, &now)) {
		(void)delivery_forget(segment, now.scope_id, pending->file_key);
		return;
	}
	ret_delivered->is_given = true;
	/* a read is not "the model saw it": baseline_read() judges it */
	if (request->is_in_process)
		return;
	note_instruction(segment, &file, &given, stamp, version);
	/* A transcript may prove it yet, but what the model takes the file for is not moved by what
	 * it was perhaps not given. */
	if (limits.bytes == UINT64_MAX) {
		limits.bytes = limits_baseline(segment, &request->context);
		if (!reaches_scope(segment, request, pending, &now, &limits))
			return;
	}
	baseline_given(segment, baseline_scope(&request->context, NULL), pending->file_key,
		       version);
	(void)file_change_known(segment, pending->file_key, note_given, NULL);
}

void decision_give_lines(const struct segment *segment, const struct request *request,
			 const struct pending *pending, const struct stamp *stamp,
			 const struct content *content, const struct span *spans, unsigned count)
{
	struct moment now = decision_moment(segment, request);
	struct output_limits limits = limits_on_record(segment, &request->context);

	if (!count || !stamp_equal(stamp, &pending->stamp) ||
	    stamp->size_bytes != content->version.size_bytes ||
	    !reaches_scope(segment, request, pending, &now, &limits) ||
	    is_invalidated(segment, pending))
		return;
	/* No later than a forget under another name meanwhile. */
	struct moment given = now;
	given.time_ns = pending->moment.time_ns;
	if (line_range_record(segment, pending->file_key, &content->version, content->lines, spans,
			      count, &given) == 0 &&
	    is_invalidated_since(segment, request, pending, &now))
		(void)line_range_forget(segment, now.scope_id, pending->file_key);
}

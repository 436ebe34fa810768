/* The decision: see decision.h. */
#include "tracker/answer/decision.h"

#include <errno.h>
#include <string.h>

#include "tracker/answer/instruction.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/proof.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static const struct settings_profile *profile_of(const struct segment *segment,
						 const struct context *context)
{
	const struct settings *settings = segment->settings;
	uint64_t profile = context->profile ? context->profile : settings->generic_profile;
	if (profile == 0 || profile > SETTINGS_PROFILES_MAX || profile > settings->profile_count)
		return NULL;
	return &segment->settings->profiles[profile - 1];
}

uint64_t decision_limit(const struct segment *segment, const struct context *context)
{
	const struct settings_profile *profile = profile_of(segment, context);
	return profile ? profile->max_output_bytes : SETTINGS_MAX_OUTPUT_BYTES;
}

struct output_limits limits_of_profile(const struct segment *segment,
				       const struct settings_profile *profile, bool is_version)
{
	struct output_limits limits = { .bytes = SETTINGS_MAX_OUTPUT_BYTES,
					.lines = UINT64_MAX,
					.line_bytes = UINT64_MAX };
	const char *measured = NULL;

	if (profile) {
		measured = segment_text(segment, profile->measured, NULL);
		limits.bytes = profile->max_output_bytes;
		if (profile->max_output_lines)
			limits.lines = profile->max_output_lines;
		if (profile->max_line_bytes)
			limits.line_bytes = profile->max_line_bytes;
	}
	if (!measured)
		return limits_assumed(&limits);
	limits.is_measured = true;
	if (!is_version && strcmp(measured, "*") != 0) {
		limits.bytes /= 2;
		limits.lines = limits.lines == UINT64_MAX ? UINT64_MAX : limits.lines / 2;
		limits.line_bytes = limits.line_bytes == UINT64_MAX ? UINT64_MAX
								    : limits.line_bytes / 2;
	}
	return limits;
}

struct output_limits decision_limits(const struct segment *segment, const struct context *context)
{
	return limits_of_profile(segment, profile_of(segment, context),
				 scope_flags(segment, context->scope_id) & SCOPE_VERSION);
}

/* The same at a moment of the request's scope. */
static struct output_limits limits_at(const struct segment *segment, const struct request *request,
				      const struct moment *moment)
{
	return limits_of_profile(segment, profile_of(segment, &request->context),
				 moment->scope_flags & SCOPE_VERSION);
}

struct output_limits decision_record_limits(const struct segment *segment,
					    const struct context *context)
{
	uint32_t flags = scope_flags(segment, context->scope_id);
	return (struct output_limits){ .bytes = flags & SCOPE_PROVES
							? UINT64_MAX
							: decision_limit(segment, context),
				       .lines = UINT64_MAX,
				       .line_bytes = UINT64_MAX };
}

static struct moment request_moment(const struct segment *segment, const struct request *request)
{
	struct moment moment = moment_now(segment, request->context.scope_id, request->number,
					  request->context.capture_id, request->command_id);
	/* An in-process read's epoch ends with its agent's, too. */
	if (scope_sub_agents(segment, request->agent_scope_id))
		moment.scope_epoch = 0;
	else if (request->agent_scope_id && moment.scope_epoch)
		moment.scope_epoch += scope_epoch(segment, request->agent_scope_id) *
				      0x9e3779b97f4a7c15u;
	return moment;
}

/* Does a delivery count at this moment?  An in-process read's own request is no repeat of itself,
 * and counts no more once its agent forgot the file. */
static bool is_current(const struct segment *segment, const struct request *request,
		       const struct delivery_slot *delivery, const struct moment *moment)
{
	struct delivery_slot invalidated;

	struct output_limits limits = limits_at(segment, request, moment);
	if (!delivery_is_current(segment, delivery, moment, &limits))
		return false;
	if (!request->is_in_process)
		return true;
	return delivery->request != moment->request &&
	       !(delivery_find(segment, request->agent_scope_id, delivery->file_key,
			       &invalidated) == 0 &&
		 !invalidated.command_id && invalidated.time_ns >= delivery->time_ns);
}

/* What this scope was given of the file, under its path or, for another name of it, under its inode
 * (`other`); under another name only what is later than what was last given, or forgotten, under
 * the path. */
static int find_delivery(const struct segment *segment, const struct request *request, uint64_t key,
			 uint64_t other, const struct moment *moment,
			 struct delivery_slot *ret_delivery)
{
	uint64_t scope_id = request->context.scope_id;
	uint64_t last_ns = 0;

	if (delivery_find(segment, scope_id, key, ret_delivery) == 0) {
		if (is_current(segment, request, ret_delivery, moment))
			return 0;
		last_ns = ret_delivery->time_ns;
	}
	if (other != key && delivery_find(segment, scope_id, other, ret_delivery) == 0 &&
	    ret_delivery->time_ns > last_ns && is_current(segment, request, ret_delivery, moment))
		return 0;
	return -ENOENT;
}

/* What the scope knows of the file that was opened. */
struct delivered_version {
	uint64_t file_key; /* that it is known by */
	struct version version;
};

/* The same where all its lines were given, though not at once: under its path what is later than
 * what was forgotten there, under another name of it as for a delivery.  Parts are of what viewers
 * and readers print. */
static bool find_line_ranges(const struct segment *segment, const struct request *request,
			     uint64_t key, uint64_t other, const struct moment *moment,
			     struct delivered_version *ret_known)
{
	struct output_limits limits = limits_at(segment, request, moment);
	struct delivery_slot last = { .time_ns = 0 };

	if (request->is_in_process)
		return false;
	(void)delivery_find(segment, request->context.scope_id, key, &last);
	ret_known->file_key = key;
	if (line_range_is_whole(segment, key, moment, &limits, last.command_id ? 0 : last.time_ns,
				&ret_known->version))
		return true;
	ret_known->file_key = other;
	return other != key && line_range_is_whole(segment, other, moment, &limits, last.time_ns,
						   &ret_known->version);
}

/* Notes the answer for that version with the path asked for.  The model may go on by that name or
 * by the one whose delivery answered: a question by that one, too, soon after this request, counts
 * as asked again. */
static void note_answer(const struct segment *segment, const struct moment *moment,
			const struct answer *answer, struct note note)
{
	const struct version *version = &answer->content.version;

	delivery_note(segment, moment, answer->path_key, version, note);
	if (answer->file_key != answer->path_key)
		delivery_note(segment, moment, answer->file_key, version,
			      (struct note){ .notice_request = moment->request });
}

static void count_notice(struct file_slot *file, const void *data)
{
	(void)data;
	file->repeats++;
	file->notices++;
}

static void count_yield(struct file_slot *file, const void *data)
{
	(void)data;
	file->repeats++;
	file->yields++;
}

static void count_notice_undone(struct file_slot *file, const void *data)
{
	(void)data;
	file->notices -= file->notices > 0;
	file->repeats -= file->repeats > 0;
}

static bool may_be_answered(const struct segment *segment, const struct request *request,
			    uint64_t size_bytes)
{
	const struct settings *settings = segment->settings;
	return settings->session_mode == SESSION_MODE_SUBSTITUTE &&
	       (request->is_in_process ||
		(request->is_viewer && (request->at_sink || request->asks_late))) &&
	       size_bytes >= settings->notice_min_bytes && size_bytes <= settings->notice_max_bytes;
}

/* Of one that may be answered: does what it is given go to its agent? */
static bool is_at_sink(const struct segment *segment, const struct request *request)
{
	struct request asked;

	if (!request->asks_late)
		return request_is_received(request);
	asked = *request;
	asked.is_unknown = true; /* it is counted at the request's end */
	request_at_sink(segment, &asked);
	return asked.at_sink;
}

/* May what changed be given instead of a file that is other than `delivered`? */
static bool accepts_diff(const struct segment *segment, const struct request *request)
{
	return segment->settings->notice_on_change == NOTICE_ON_CHANGE_DIFF &&
	       request->accepts_diff && !request->is_in_process;
}

/* Does the model have what was given whole, as far as that depends on the file alone?  No command
 * has counted what an in-process read gave: its agent passes on of that what it passes on of a
 * command's output (measured for both). */
static bool is_passed_on(const struct segment *segment, const struct request *request,
			 const struct moment *moment, int fd, uint64_t size_bytes)
{
	static const struct span ALL = { 1, UINT64_MAX };
	struct output_limits limits;
	struct shape shape;

	if (!request->is_in_process)
		return true;
	limits = limits_at(segment, request, moment);
	if (size_bytes > limits.bytes)
		return false;
	return (limits.lines == UINT64_MAX && limits.line_bytes == UINT64_MAX) ||
	       (lines_shape(fd, &ALL, 1, &shape) == 0 && shape.bytes == size_bytes &&
		shape_lines(&shape) <= limits.lines && shape.longest <= limits.line_bytes);
}

/* The file is another than the one delivered, and inspected: is it worth trying to say what
 * changed? */
static bool is_worth_a_diff(const struct segment *segment, const struct answer *answer)
{
	uint64_t before = answer->delivered.size_bytes, now = answer->content.version.size_bytes;

	/* Every byte that there is more, or less, is in it. */
	return before <= segment->settings->notice_max_bytes &&
	       decision_is_short(before > now ? before - now : now - before, now) &&
	       contents_has(segment, &answer->delivered);
}

bool decision_is_short(uint64_t diff_bytes, uint64_t size_bytes)
{
	return diff_bytes < size_bytes / 2 + size_bytes % 2;
}

static void decide_diff(const struct segment *segment, const struct moment *moment,
			const struct delivery_slot *delivery, struct answer *answer)
{
	const struct version *version = &answer->content.version;
	struct note own, other;

	answer->reason = REASON_BINARY;
	if (!answer->content.text)
		return;
	answer->reason = REASON_ASKED_AGAIN;
	own = delivery_noted(segment, moment, answer->path_key, version);
	other = delivery_noted(segment, moment, answer->file_key, version);
	if (note_asks_again(segment, own, moment->request) ||
	    note_asks_again(segment, other, moment->request))
		return;
	answer->reason = REASON_CHANGED;
	if (!is_worth_a_diff(segment, answer))
		return;
	answer->decision = DECISION_DIFF;
	answer->given = (struct window_place){ delivery->request, delivery->bytes_given,
					       delivery->time_ns };
}

void decision_diffed(const struct segment *segment, const struct request *request,
		     const struct answer *answer, uint64_t diff_bytes)
{
	struct moment moment = request_moment(segment, request);

	note_answer(segment, &moment, answer, (struct note){ .notice_request = request->number });
	segment_count(segment, COUNTER_diffs, 1);
	segment_count(segment, COUNTER_bytes_saved,
		      answer->content.version.size_bytes - diff_bytes);
}

void decision_open(const struct segment *segment, const struct request *request, const char *path,
		   const char *path_as_given, int fd, const struct stat *stat,
		   struct answer *ret_answer)
{
	struct delivery_slot delivery;
	struct delivered_version known, parts;
	struct moment moment = request_moment(segment, request);

	ret_answer->decision = DECISION_CONTENT;
	ret_answer->file_key = 0;
	ret_answer->path_key = 0;
	ret_answer->notice_bytes = 0;
	ret_answer->delivered = (struct version){ 0 };
	ret_answer->reason = REASON_NOT_TRACKED;
	if (!S_ISREG(stat->st_mode) || !path_is_tracked(segment, path))
		return;
	ret_answer->path_key = path_key(segment, path);
	ret_answer->reason = REASON_NOT_DELIVERED;
	if (!moment.scope_epoch || !request->number)
		return;
	uint64_t other_key = file_by_inode(segment, stat->st_dev, stat->st_ino);
	bool is_delivered = find_delivery(segment, request, ret_answer->path_key, other_key,
					  &moment, &delivery) == 0;
	bool is_in_parts = find_line_ranges(segment, request, ret_answer->path_key, other_key,
					    &moment, &parts);
	if (!is_delivered && !is_in_parts)
		return;
	known = is_delivered ? (struct delivered_version){ delivery.file_key, delivery.version }
			     : parts;
	ret_answer->file_key = known.file_key;
	ret_answer->delivered = known.version;
	ret_answer->reason = REASON_NOT_ALLOWED;
	if (!may_be_answered(segment, request, (uint64_t)stat->st_size) ||
	    !is_at_sink(segment, request))
		return;
	ret_answer->reason = REASON_CHANGED;
	bool diffs = is_delivered && accepts_diff(segment, request);
	if ((uint64_t)stat->st_size != known.version.size_bytes && !diffs &&
	    !(is_in_parts && (uint64_t)stat->st_size == parts.version.size_bytes))
		return;
	ret_answer->reason = REASON_UNREADABLE;
	if (content_of_file(fd, (uint64_t)stat->st_size, segment->settings->notice_max_bytes,
			    &ret_answer->content) < 0)
		return;
	/* Given whole before it changed, and in parts since. */
	if (is_in_parts && !version_equal(&ret_answer->content.version, &known.version) &&
	    version_equal(&ret_answer->content.version, &parts.version)) {
		known = parts;
		ret_answer->file_key = known.file_key;
		ret_answer->delivered = known.version;
	}
	ret_answer->reason = REASON_CHANGED;
	if (!version_equal(&ret_answer->content.version, &known.version)) {
		if (diffs)
			decide_diff(segment, &moment, &delivery, ret_answer);
		return;
	}
	ret_answer->reason = REASON_NOT_DELIVERED;
	if (!is_passed_on(segment, request, &moment, fd, known.version.size_bytes))
		return;
	ret_answer->reason = REASON_BINARY;
	if (!ret_answer->content.text)
		return;
	uint64_t number = request->number;
	struct note own, other;
	own = delivery_noted(segment, &moment, ret_answer->path_key, &known.version);
	other = delivery_noted(segment, &moment, ret_answer->file_key, &known.version);
	/* One request may be several in-process reads: the answer to the first is the answer to
	 * all. */
	bool is_same = request->is_in_process && own.notice_request == number;
	if (!is_same &&
	    (note_asks_again(segment, own, number) || note_asks_again(segment, other, number))) {
		ret_answer->decision = DECISION_GIVEN_AGAIN;
		ret_answer->reason = REASON_ASKED_AGAIN;
		uint64_t until = number + segment->settings->notice_insist_requests;
		if (number > own.yield_until)
			note_answer(segment, &moment, ret_answer,
				    (struct note){ .yield_until = until });
		(void)file_change_known(segment, known.file_key, count_yield, NULL);
		segment_count(segment, COUNTER_repeats, 1);
		segment_count(segment, COUNTER_yields, 1);
		return;
	}
	int length = notice_render(segment, path_as_given, &ret_answer->content,
				   request->is_in_process ? -1 : fd, ret_answer->notice,
				   sizeof(ret_answer->notice));
	ret_answer->reason = REASON_TOO_SHORT;
	if (length <= 0 || (uint64_t)length >= (uint64_t)stat->st_size)
		return;
	ret_answer->decision = DECISION_NOTICE;
	ret_answer->reason = REASON_REPEATED;
	ret_answer->notice_bytes = (size_t)length;
	if (is_same)
		return;
	note_answer(segment, &moment, ret_answer, (struct note){ .notice_request = number });
	(void)file_change_known(segment, known.file_key, count_notice, NULL);
	segment_count(segment, COUNTER_repeats, 1);
	segment_count(segment, COUNTER_notices, 1);
	segment_count(segment, COUNTER_bytes_saved, (uint64_t)stat->st_size - (uint64_t)length);
}

static uint64_t file_forgets(const struct segment *segment)
{
	return __atomic_load_n(&segment->header->file_forgets, __ATOMIC_SEQ_CST);
}

void decision_undo(const struct segment *segment, const struct request *request,
		   const struct answer *answer)
{
	if (answer->decision != DECISION_NOTICE)
		return;
	delivery_unnote(segment, request->context.scope_id, answer->path_key, request->number);
	delivery_unnote(segment, request->context.scope_id, answer->file_key, request->number);
	(void)file_change_known(segment, answer->file_key, count_notice_undone, NULL);
	segment_count(segment, COUNTER_repeats, (uint64_t)-1);
	segment_count(segment, COUNTER_notices, (uint64_t)-1);
	segment_count(segment, COUNTER_bytes_saved,
		      answer->notice_bytes - answer->content.version.size_bytes);
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
	ret_pending->moment = request_moment(segment, request);
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
		.moment = request_moment(segment, request),
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
	struct moment after = request_moment(segment, request);
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
	    is_current(segment, request, &delivery, now) &&
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
	struct moment now = request_moment(segment, request);
	struct delivery_slot before;
	struct file_slot file;

	*ret_delivered = (struct delivered){ 0 };
	if (!stamp_equal(stamp, &pending->stamp) || stamp->size_bytes != version->size_bytes)
		return;
	struct output_limits limits = decision_record_limits(segment, &request->context);
	bool to_scope = reaches_scope(segment, request, pending, &now, &limits);
	/* What it was made against must still count, and be what the scope was given last. */
	if (pending->is_diff && to_scope)
		to_scope = delivery_find(segment, now.scope_id, pending->base_key, &before) == 0 &&
			   version_equal(&before.version, &pending->base) &&
			   before.request == pending->place.request &&
			   is_current(segment, request, &before, &now);
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
		limits.bytes = decision_limit(segment, &request->context);
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
	struct moment now = request_moment(segment, request);
	struct output_limits limits = decision_record_limits(segment, &request->context);

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

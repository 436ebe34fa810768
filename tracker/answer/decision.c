/* The decision: see decision.h. */
#include "tracker/answer/decision.h"

#include <errno.h>
#include <string.h>

#include "tracker/answer/instruction.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/other_way.h"
#include "tracker/answer/proof.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

struct moment decision_moment(const struct segment *segment, const struct request *request)
{
	struct moment moment = moment_now(segment, request->context.scope_id, request->number,
					  request->context.capture_id, request->command_id);
	/* An in-process read's epoch ends with its agent's, too. */
	if (scope_sub_agents(segment, request->agent_scope_id))
		moment.scope_epoch = 0;
	else if (request->agent_scope_id && moment.scope_epoch)
		moment.scope_epoch += scope_epoch(segment, request->agent_scope_id) *
				      0x9e3779b97f4a7c15u;
	if (request->is_turn_reported)
		moment.scope_flags &= ~(uint32_t)SCOPE_MUTE;
	return moment;
}

bool decision_is_current(const struct segment *segment, const struct request *request,
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
		if (decision_is_current(segment, request, ret_delivery, moment))
			return 0;
		last_ns = ret_delivery->time_ns;
	}
	if (other != key && delivery_find(segment, scope_id, other, ret_delivery) == 0 &&
	    ret_delivery->time_ns > last_ns &&
	    decision_is_current(segment, request, ret_delivery, moment))
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

/* When a file was forgotten last, in this scope or in its agent's. */
static uint64_t invalidated_ns(const struct segment *segment, const struct request *request,
			       uint64_t key)
{
	const uint64_t scopes[] = { request->context.scope_id, request->agent_scope_id };
	uint64_t time_ns = 0;

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		struct delivery_slot last;
		if (delivery_find(segment, scopes[i], key, &last) == 0 && !last.command_id &&
		    last.time_ns > time_ns)
			time_ns = last.time_ns;
	}
	return time_ns;
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
			    uint64_t asked_bytes)
{
	const struct settings *settings = segment->settings;
	return settings->session_mode == SESSION_MODE_SUBSTITUTE &&
	       (request->is_in_process ||
		(request->is_viewer && (request->at_sink || request->asks_late))) &&
	       asked_bytes >= settings->notice_min_bytes &&
	       asked_bytes <= settings->notice_max_bytes;
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
	return request->is_reported ||
	       (segment->settings->notice_on_change == NOTICE_ON_CHANGE_DIFF &&
		request->accepts_diff && !request->is_in_process);
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

	/* What a hook reports as given is what the model has. */
	if (!request->is_in_process || request->is_reported)
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
static bool is_worth_a_diff(const struct segment *segment, const struct request *request,
			    const struct answer *answer)
{
	uint64_t before = answer->delivered.size_bytes, now = answer->content.version.size_bytes;

	/* Every byte that there is more, or less, is in it. */
	return before <= segment->settings->notice_max_bytes &&
	       decision_is_short(before > now ? before - now : now - before, now) &&
	       (request->has_texts || contents_has(segment, &answer->delivered));
}

bool decision_is_short(uint64_t diff_bytes, uint64_t size_bytes)
{
	return diff_bytes < size_bytes / 2 + size_bytes % 2;
}

void decision_diffed(const struct segment *segment, const struct request *request,
		     const struct answer *answer, uint64_t diff_bytes)
{
	struct moment moment = decision_moment(segment, request);

	note_answer(segment, &moment, answer, (struct note){ .notice_request = request->number });
	segment_count(segment, COUNTER_diffs, 1);
	segment_count(segment, COUNTER_bytes_saved,
		      answer->content.version.size_bytes - diff_bytes);
}

/* A file that was just opened, while it is decided on; each check below fills in what the next ones
 * need. */
struct opened {
	const struct segment *segment;
	const struct request *request;
	const char *path;
	int fd;
	const struct stat *stat;
	struct answer *answer;
	struct moment moment;
	/* of a reported request: the lines that are asked for, and their bytes; NULL: all */
	const struct span *span;
	uint64_t span_bytes;
	const struct content *content; /* of a reported request: of the file; NULL: to be read */
	bool is_delivered, is_in_parts, accepts_diff;
	struct delivery_slot delivery;
	struct delivered_version known, parts;
};

static uint64_t size_of(const struct opened *opened)
{
	return (uint64_t)opened->stat->st_size;
}

/* Of what a notice would stand for. */
static uint64_t asked_bytes(const struct opened *opened)
{
	return opened->span ? opened->span_bytes : size_of(opened);
}

static bool is_tracked(struct opened *opened)
{
	if (!S_ISREG(opened->stat->st_mode) || !path_is_tracked(opened->segment, opened->path))
		return false;
	opened->answer->path_key = path_key(opened->segment, opened->path);
	return true;
}

/* Of a reported request: the lines that are asked for, by the path alone. */
static bool find_lines(const struct opened *opened, struct delivered_version *ret_known)
{
	const struct segment *segment = opened->segment;
	const struct request *request = opened->request;

	if (!request->is_reported)
		return false;
	uint64_t key = opened->answer->path_key, after_ns = invalidated_ns(segment, request, key);
	struct output_limits limits = limits_at(segment, request, &opened->moment);
	ret_known->file_key = key;
	return opened->span ? line_range_has(segment, key, &opened->moment, &limits, after_ns,
					     opened->span, &ret_known->version)
			    : line_range_is_whole(segment, key, &opened->moment, &limits, after_ns,
						  &ret_known->version);
}

static void choose_known(struct opened *opened, const struct delivered_version *known)
{
	opened->known = *known;
	opened->answer->file_key = known->file_key;
	opened->answer->delivered = known->version;
}

static bool was_delivered(struct opened *opened)
{
	const struct segment *segment = opened->segment;
	const struct request *request = opened->request;
	uint64_t key = opened->answer->path_key;

	if (!opened->moment.scope_epoch || !request->number)
		return false;
	uint64_t other_key = file_by_inode(segment, opened->stat->st_dev, opened->stat->st_ino);
	opened->is_delivered = find_delivery(segment, request, key, other_key, &opened->moment,
					     &opened->delivery) == 0;
	opened->is_in_parts = find_line_ranges(segment, request, key, other_key, &opened->moment,
					       &opened->parts) ||
			      find_lines(opened, &opened->parts);
	if (!opened->is_delivered && !opened->is_in_parts)
		return false;
	struct delivered_version whole = { opened->delivery.file_key, opened->delivery.version };
	choose_known(opened, opened->is_delivered ? &whole : &opened->parts);
	return true;
}

static bool is_allowed(struct opened *opened)
{
	return may_be_answered(opened->segment, opened->request, asked_bytes(opened)) &&
	       is_at_sink(opened->segment, opened->request);
}

static bool may_be_the_same(struct opened *opened)
{
	opened->accepts_diff = opened->is_delivered && !opened->span &&
			       accepts_diff(opened->segment, opened->request);
	return size_of(opened) == opened->known.version.size_bytes || opened->accepts_diff ||
	       (opened->is_in_parts && size_of(opened) == opened->parts.version.size_bytes);
}

static bool is_readable(struct opened *opened)
{
	const struct settings *settings = opened->segment->settings;
	uint64_t most = opened->span ? settings->content_max_file_bytes
				     : settings->notice_max_bytes;

	if (opened->content) {
		opened->answer->content = *opened->content;
		return size_of(opened) <= most;
	}
	return content_of_file(opened->fd, size_of(opened), most, &opened->answer->content) >= 0;
}

static void decide_diff(const struct opened *opened)
{
	const struct segment *segment = opened->segment;
	const struct moment *moment = &opened->moment;
	const struct delivery_slot *delivery = &opened->delivery;
	struct answer *answer = opened->answer;
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
	if (!is_worth_a_diff(segment, opened->request, answer))
		return;
	answer->decision = DECISION_DIFF;
	answer->given = (struct window_place){ delivery->request, delivery->bytes_given,
					       delivery->time_ns };
}

/* It is what was given, but another version was given since: it changed, and changed back. */
static bool was_other_since(const struct opened *opened)
{
	const struct segment *segment = opened->segment;
	const struct delivered_version *known = &opened->known;
	bool is_whole = opened->is_delivered &&
			version_equal(&known->version, &opened->delivery.version);
	uint64_t since_ns = is_whole ? opened->delivery.time_ns
				     : line_range_since(segment, known->file_key, &opened->moment);

	return (is_whole && line_range_is_other(segment, known->file_key, &opened->moment,
						&known->version, since_ns)) ||
	       other_way_gave_other(segment, opened->request, known->file_key, &known->version,
				    since_ns);
}

static bool is_the_same(struct opened *opened)
{
	const struct version *now = &opened->answer->content.version;

	/* Given whole before it changed, and in parts since. */
	if (opened->is_in_parts && !version_equal(now, &opened->known.version) &&
	    version_equal(now, &opened->parts.version))
		choose_known(opened, &opened->parts);
	if (version_equal(now, &opened->known.version))
		return !was_other_since(opened);
	if (opened->accepts_diff)
		decide_diff(opened);
	return false;
}

static bool was_passed_on(struct opened *opened)
{
	return is_passed_on(opened->segment, opened->request, &opened->moment, opened->fd,
			    opened->known.version.size_bytes);
}

static bool is_text(struct opened *opened)
{
	return opened->answer->content.text;
}

/* What has to hold for a notice, in the order in which it is asked, and the reason for the content
 * where it does not.  No array: the library would need a relocation for each. */
#define CHECKS(CHECK) \
	CHECK(is_tracked, NOT_TRACKED) \
	CHECK(was_delivered, NOT_DELIVERED) \
	CHECK(is_allowed, NOT_ALLOWED) \
	CHECK(may_be_the_same, CHANGED) \
	CHECK(is_readable, UNREADABLE) \
	CHECK(is_the_same, CHANGED) \
	CHECK(was_passed_on, NOT_DELIVERED) \
	CHECK(is_text, BINARY)

static bool pass_checks(struct opened *opened)
{
#define CHECK(function, why) \
	opened->answer->reason = REASON_##why; \
	if (!function(opened)) \
		return false;
	CHECKS(CHECK)
#undef CHECK
	return true;
}

/* The model asks again: it is given the content. */
static void decide_given_again(struct opened *opened, struct note own)
{
	const struct segment *segment = opened->segment;
	uint64_t number = opened->request->number;
	uint64_t until = number + segment->settings->notice_insist_requests;

	opened->answer->decision = DECISION_GIVEN_AGAIN;
	opened->answer->reason = REASON_ASKED_AGAIN;
	if (number > own.yield_until)
		note_answer(segment, &opened->moment, opened->answer,
			    (struct note){ .yield_until = until });
	(void)file_change_known(segment, opened->known.file_key, count_yield, NULL);
	segment_count(segment, COUNTER_repeats, 1);
	segment_count(segment, COUNTER_yields, 1);
}

/* is_same: it was given for this request already: nothing is counted. */
static void decide_notice(struct opened *opened, const char *path_as_given, bool is_same)
{
	const struct segment *segment = opened->segment;
	struct answer *answer = opened->answer;
	const struct span *span = opened->span;
	int length = span ? notice_lines(segment, path_as_given, &answer->content, span->first,
					 span->last, answer->notice, sizeof(answer->notice))
			  : notice_render(segment, path_as_given, &answer->content,
					  opened->request->is_in_process ? -1 : opened->fd,
					  answer->notice, sizeof(answer->notice));

	answer->reason = REASON_TOO_SHORT;
	if (length <= 0 || (uint64_t)length >= asked_bytes(opened))
		return;
	answer->decision = DECISION_NOTICE;
	answer->reason = REASON_REPEATED;
	answer->notice_bytes = (size_t)length;
	answer->saved_bytes = asked_bytes(opened) - (uint64_t)length;
	if (is_same)
		return;
	note_answer(segment, &opened->moment, answer,
		    (struct note){ .notice_request = opened->request->number });
	(void)file_change_known(segment, opened->known.file_key, count_notice, NULL);
	segment_count(segment, COUNTER_repeats, 1);
	segment_count(segment, COUNTER_notices, 1);
	segment_count(segment, COUNTER_bytes_saved, answer->saved_bytes);
}

static void decide(struct opened *opened, const char *path_as_given)
{
	const struct segment *segment = opened->segment;
	const struct request *request = opened->request;
	struct answer *answer = opened->answer;
	uint64_t number = request->number;

	answer->decision = DECISION_CONTENT;
	answer->file_key = 0;
	answer->path_key = 0;
	answer->notice_bytes = 0;
	answer->delivered = (struct version){ 0 };
	if (!pass_checks(opened))
		return;
	struct note own = delivery_noted(segment, &opened->moment, answer->path_key,
					 &opened->known.version);
	struct note other = delivery_noted(segment, &opened->moment, answer->file_key,
					   &opened->known.version);
	/* One request may be several in-process reads: the answer to the first is the answer to
	 * all. */
	bool is_same = request->is_in_process && own.notice_request == number;
	if (!is_same &&
	    (note_asks_again(segment, own, number) || note_asks_again(segment, other, number)))
		decide_given_again(opened, own);
	else
		decide_notice(opened, path_as_given, is_same);
}

void decision_open(const struct segment *segment, const struct request *request, const char *path,
		   const char *path_as_given, int fd, const struct stat *stat,
		   struct answer *ret_answer)
{
	struct opened opened = {
		.segment = segment,
		.request = request,
		.path = path,
		.fd = fd,
		.stat = stat,
		.answer = ret_answer,
		.moment = decision_moment(segment, request),
	};

	decide(&opened, path_as_given);
}

void decision_reported(const struct segment *segment, const struct request *request,
		       const char *path, const struct stat *stat, const struct content *content,
		       const struct span *span, uint64_t bytes, struct answer *ret_answer)
{
	struct opened opened = {
		.segment = segment,
		.request = request,
		.path = path,
		.fd = -1,
		.stat = stat,
		.answer = ret_answer,
		.moment = decision_moment(segment, request),
		.span = span,
		.span_bytes = bytes,
		.content = content,
	};

	decide(&opened, path);
}

bool decision_is_past(const struct segment *segment, const struct request *request,
		      uint64_t path_key)
{
	struct moment moment = decision_moment(segment, request);
	struct delivery_slot slot;

	return delivery_find(segment, request->context.scope_id, path_key, &slot) == 0 &&
	       (slot.session_epoch != moment.session_epoch ||
		slot.scope_epoch != moment.scope_epoch);
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
	segment_count(segment, COUNTER_bytes_saved, 0 - answer->saved_bytes);
}

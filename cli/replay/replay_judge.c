/* The decision made over: see replay_judge.h. */
#include "cli/replay/replay_judge.h"
#include "cli/files/hunks.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/tokens.h"
#include "cli/replay/replay_hooks.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/notice.h"
#include "tracker/answer/remembered.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"

enum {
	DIFF_HEADER_BYTES =
		410, /* of the line before a diff and its labels, without the path (cli/files/answer_diff.c) */
};

/* ---- notices ---- */

static bool in_list(const struct replay *replay, struct settings_text list, const char *path)
{
	bool fold = replay->settings->paths_case_insensitive == PATHS_CASE_INSENSITIVE_YES;

	for (const char *glob = NULL; (glob = segment_text(replay->segment, list, glob));)
		if (path_matches_glob(glob, path, fold))
			return true;
	return false;
}

/* In the workspace, as far as the transcript tells where that is, and not excluded? */
static bool is_tracked(const struct replay *replay, const struct session *session,
		       const struct call *call, const char *path)
{
	const struct settings *settings = replay->settings;
	char normal[PATH_MAX];

	if (path_normalize(call->directory, path, normal, sizeof(normal)) >= 0) {
		size_t length = session->root ? strlen(session->root) : 0;
		if (length > 1 &&
		    (strncmp(normal, session->root, length) != 0 || normal[length] != '/'))
			return false;
		path = normal + (length > 1 ? length + 1 : 1);
	}
	return (!settings->paths_include.count || in_list(replay, settings->paths_include, path)) &&
	       !in_list(replay, settings->paths_exclude, path);
}

static bool fits(const struct replay *replay, uint64_t bytes, const struct call *call)
{
	return bytes >= replay->settings->notice_min_bytes &&
	       bytes <= replay->settings->notice_max_bytes &&
	       !(call->output && memchr(call->output, '\0', call->output_bytes));
}

/* Did the model get the whole output of the call's command, as far as its agent's limits tell? */
static bool is_within_limits(const struct replay *replay, const struct call *call)
{
	const struct output_limits *limits = &replay->limits;
	struct shape shape = { .bytes = call->output_bytes };

	if (call->output) {
		shape.bytes = 0;
		shape_add(&shape, call->output, call->output_bytes);
	}
	return shape.bytes <= limits->bytes && shape_lines(&shape) <= limits->lines &&
	       shape.longest <= limits->line_bytes;
}

static uint64_t notice_bytes(const struct replay *replay, const char *path, uint64_t bytes,
			     uint64_t lines)
{
	struct content content = { .version = { .size_bytes = bytes }, .lines = lines };
	char notice[NOTICE_BYTES_MAX];
	int length = notice_render(replay->segment, path, &content, -1, notice, sizeof(notice));

	return length > 0 ? (uint64_t)length : UINT64_MAX;
}

uint64_t judge_notices(const struct replay *replay, char **const words[], size_t count,
		       uint64_t output_bytes)
{
	static const uint64_t SOME_AGE_NS = UINT64_C(60) * 1000000000u; /* "1 minute ago" */
	char notice[NOTICE_BYTES_MAX], command[SEGMENT_PATH_BYTES];
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		notice_command(words[i], command, sizeof(command));
		int length = notice_request(replay->segment, command, true, output_bytes,
					    SOME_AGE_NS, notice, sizeof(notice));
		if (length <= 0)
			return UINT64_MAX;
		bytes += (uint64_t)length;
	}
	return bytes;
}

/* What a repeat would have got: counts it.  place_bytes: of what would stand in its place.  Returns
 * whether it would have been answered. */
static bool answer(struct replay *replay, struct replay_saving *saving, struct answered *answered,
		   uint64_t version, const struct delivered_at *now, const struct call *call,
		   uint64_t place_bytes, bool is_fit)
{
	saving->repeats++;
	if (!is_fit) {
		saving->unfit++;
		return false;
	}
	/* How another version was answered, or in another epoch, says nothing. */
	if (answered->version != version || answered->epoch != now->epoch)
		*answered = (struct answered){ .version = version, .epoch = now->epoch };
	if (note_asks_again(replay->segment, answered->note, now->request)) {
		saving->given_again++;
		if (now->request > answered->note.yield_until)
			answered->note.yield_until = now->request +
						     replay->settings->notice_insist_requests;
		return false;
	}
	if (place_bytes >= call->output_bytes) {
		saving->unfit++;
		return false;
	}
	answered->note.notice_request = now->request;
	uint64_t place = tokens_of_bytes(place_bytes);
	saving->answered++;
	saving->bytes += call->output_bytes - place_bytes;
	saving->tokens += replay->tokens > place ? replay->tokens - place : 0;
	return true;
}

/* ---- sums ---- */

void judge_count(const struct replay *replay, struct replay_sum *sum, const struct call *call)
{
	sum->count++;
	sum->bytes += call->output_bytes;
	sum->tokens += replay->tokens;
}

static void report(const struct replay *replay, const char *category, const char *what,
		   const struct call *call)
{
	const struct replay_repeat repeat = { .output = replay->sums->outputs.count,
					      .bytes = call->output_bytes,
					      .category = category,
					      .what = what };

	if (replay->listener)
		replay->listener(&repeat, replay->listener_data);
}

/* Was this answer given before?  Notes it as given now.  ret_category: COUNT: it was not, as far as
 * these keys tell. */
static int answer_before(struct session *session, const struct scope *scope, uint64_t answer_key,
			 enum replay_category *ret_category)
{
	/* A key for each of: to this scope in this epoch; to it at all; to anybody.  Scopes and epochs
	 * may be 0. */
	enum { TO_ANYBODY = 1, TO_SCOPE, IN_EPOCH };
	const uint64_t keys[3] = {
		memory_mix(scope->id, scope->epoch, memory_mix(IN_EPOCH, 0, answer_key)),
		memory_mix(scope->id, 0, memory_mix(TO_SCOPE, 0, answer_key)),
		memory_mix(0, 0, memory_mix(TO_ANYBODY, 0, answer_key)),
	};
	static const enum replay_category MEANS[3] = { REPLAY_IDENTICAL, REPLAY_COMPACTED,
						       REPLAY_OTHER_SCOPE };

	*ret_category = REPLAY_CATEGORY_COUNT;
	for (int i = 2; i >= 0; i--) {
		int was_there = memory_mark(&session->answers, keys[i]);
		if (was_there < 0)
			return was_there;
		if (was_there)
			*ret_category = MEANS[i];
	}
	return 0;
}

/* ---- what is asked for again ---- */

bool judge_is_enabled(const struct replay *replay)
{
	return replay->settings->requests_enable == REQUESTS_ENABLE_YES;
}

/* By how much a saving rose. */
static void add_reworded(struct replay_saving *reworded, const struct replay_saving *now,
			 const struct replay_saving *before)
{
	reworded->repeats += now->repeats - before->repeats;
	reworded->answered += now->answered - before->answered;
	reworded->given_again += now->given_again - before->given_again;
	reworded->unfit += now->unfit - before->unfit;
	reworded->bytes += now->bytes - before->bytes;
	reworded->tokens += now->tokens - before->tokens;
}

bool judge_is_given(const struct replay *replay, const struct call *call)
{
	return !call->failed && is_within_limits(replay, call) &&
	       !shown_is_cut(call->output, call->output_bytes);
}

int judge_asking(struct replay *replay, const struct judged_asking *asking, const struct call *call,
		 bool *ret_answered)
{
	static const uint64_t OTHER_WORDS = sizeof(" in other words") - 1;
	struct replay_saving *saving = &replay->sums->savings[REPLAY_REQUESTS][asking->way];
	struct delivered_at now = memory_now(asking->scope, asking->way, NULL, call->time_ns);
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	void **at = memory_at(&asking->session->requests,
			      memory_mix(asking->scope->id, asking->key, asking->way));

	if (!at)
		return -ENOMEM;
	struct remembered *request = *at;
	bool reworded = request && request->words != asking->words;
	uint64_t place_bytes = asking->place_bytes + (reworded ? OTHER_WORDS : 0);
	struct replay_saving before = *saving;
	*ret_answered = false;
	if (request && memory_is_current(replay->settings, &request->given, &now) &&
	    request->output == output && request->inputs == asking->inputs &&
	    asking->scope->remembered - request->number < REMEMBERED_OF_SCOPE_MAX &&
	    answer(replay, saving, &request->note, output, &now, call, place_bytes,
		   asking->is_fit)) {
		asking->scope->measures[asking->way].bytes -= call->output_bytes - place_bytes;
		*ret_answered = true;
	}
	if (reworded)
		add_reworded(&replay->sums->reworded, saving, &before);
	if (*ret_answered)
		return 0;
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return -ENOMEM;
		*at = request;
	}
	request->output = output;
	request->words = asking->words;
	request->inputs = asking->inputs;
	request->given = now;
	request->given.is_delivery = judge_is_given(replay, call);
	request->number = asking->scope->remembered++;
	return 0;
}

/* ---- reads ---- */

/* What the file would be as a diff against what the record holds; the file's own length where that
 * is no shorter. */
static uint64_t diff_bytes(const struct record *record, const struct shown *shown)
{
	size_t count;
	struct line_script script = { .removed = 0 };
	struct line_key *lines = memory_whole(record, &count);
	bool is_known = lines &&
			line_script_of_keys(lines, count, shown->lines, shown->count, &script) == 0;
	uint64_t bytes = is_known ? hunks_bytes(&script) : UINT64_MAX;

	line_script_free(&script);
	free(lines);
	return bytes;
}

static bool whole_counts(const struct record *record, const struct scope *scope)
{
	return record && record->has_whole && record->whole.epoch == scope->epoch;
}

static int categorize(struct replay *replay, const struct judged_read *read,
		      const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	const struct shown *shown = read->shown;
	uint64_t base;
	enum replay_category category;
	uint64_t key = memory_mix(memory_path(call->directory, read->path, &base),
				  memory_mix(shown->first, shown->count, shown->whole),
				  shown->version);
	int error = answer_before(read->session, read->scope, key, &category);

	if (error < 0)
		return error;
	enum replay_category by_key = category;
	if (category != REPLAY_IDENTICAL) {
		const struct record *old = NULL;
		for (int way = 0; way < REPLAY_WAY_COUNT; way++) {
			const struct record *record = memory_record(read->file, read->scope->id,
								    (enum replay_way)way, false);
			if (whole_counts(record, read->scope) && shown->whole &&
			    record->whole_version != shown->version &&
			    (!old || record->whole.time_ns >= old->whole.time_ns))
				old = record;
		}
		if (memory_lines(read->file, read->scope, shown, THIS_EPOCH)) {
			category = REPLAY_COVERED;
		} else if (old) {
			category = REPLAY_CHANGED;
			uint64_t bytes = read->has_lines ? diff_bytes(old, shown) : UINT64_MAX;
			struct replay_sum *sum = &sums->changed_as_diff;
			bytes = bytes < call->output_bytes ? bytes : call->output_bytes;
			sum->count++;
			sum->bytes += bytes;
			sum->tokens += tokens_of_bytes(bytes);
		} else if (by_key == REPLAY_COMPACTED ||
			   memory_lines(read->file, read->scope, shown, THIS_SCOPE)) {
			category = REPLAY_COMPACTED;
		} else if (by_key == REPLAY_OTHER_SCOPE ||
			   memory_lines(read->file, read->scope, shown, ANY_SCOPE)) {
			category = REPLAY_OTHER_SCOPE;
		}
	}
	if (category != REPLAY_CATEGORY_COUNT) {
		judge_count(replay, &sums->categories[category], call);
		report(replay, replay_category_name(category), read->path, call);
	}
	return 0;
}

/* The decision made over.  Returns whether a notice would have been given. */
static bool decide(struct replay *replay, const struct judged_read *read, struct record *record,
		   const struct delivered_at *now, const struct call *call)
{
	struct replay_saving(*savings)[REPLAY_WAY_COUNT] = replay->sums->savings;
	const struct shown *shown = read->shown;
	bool is_fit = fits(replay, shown->bytes, call) &&
		      is_tracked(replay, read->session, call, read->path);

	if (!read->is_viewer || !shown->whole)
		return false;
	if (record->has_whole && memory_is_current(replay->settings, &record->whole, now)) {
		bool same = record->whole_version == shown->version;
		enum replay_setting setting = same ? REPLAY_NOTICE : REPLAY_DIFF;
		uint64_t place_bytes = UINT64_MAX;
		if (same) {
			place_bytes = notice_bytes(replay, read->path, shown->bytes, shown->count);
		} else if (read->has_lines) {
			uint64_t diff = diff_bytes(record, shown);
			if (diff < UINT64_MAX - PATH_MAX * 4)
				place_bytes = diff + DIFF_HEADER_BYTES + 3 * strlen(read->path);
			is_fit = is_fit && decision_is_short(place_bytes, shown->bytes);
		}
		bool answered = answer(replay, &savings[setting][read->way],
				       &record->notes[setting], shown->version, now, call,
				       place_bytes, is_fit);
		return answered && same;
	}
	if (memory_line_ranges(replay->settings, read->file, record, shown, now))
		return answer(replay, &savings[REPLAY_RANGES][read->way],
			      &record->notes[REPLAY_RANGES], shown->version, now, call,
			      notice_bytes(replay, read->path, shown->bytes, shown->count), is_fit);
	return false;
}

int judge_read(struct replay *replay, const struct judged_read *read, const struct call *call,
	       bool *ret_noticed)
{
	struct replay_sums *sums = replay->sums;
	const struct shown *shown = read->shown;
	struct measure *measure = &read->scope->measures[read->way];

	judge_count(replay, &sums->reads, call);
	if (!shown->whole)
		judge_count(replay, &sums->partial, call);
	if (read->file->is_read)
		judge_count(replay, &sums->again, call);
	read->file->is_read = true;
	memory_compare(read->session, read->file, shown);
	int error = categorize(replay, read, call);
	struct record *record = memory_record(read->file, read->scope->id, read->way, true);
	if (error < 0 || !record)
		return -ENOMEM;
	struct delivered_at now = memory_now(read->scope, read->way, read->file, call->time_ns);
	if (read->way == REPLAY_OWN_TOOLS && read->has_lines && !replay->result->is_unproven)
		error = replay_hooks_read(replay, read, call);
	if (error < 0)
		return error;
	bool noticed = decide(replay, read, record, &now, call);
	*ret_noticed = noticed;
	if (read->is_viewer && shown->whole && is_within_limits(replay, call))
		sums->deliveries++;
	if (noticed) {
		/* What was given before stands as it was. */
		measure->bytes += notice_bytes(replay, read->path, shown->bytes, shown->count);
		return 0;
	}
	if (call->output)
		measure->bytes += call->output_bytes;
	now = memory_now(read->scope, read->way, read->file, call->time_ns);
	now.is_delivery = is_within_limits(replay, call);
	error = memory_deliver(record, shown, &now);
	/* What a reader shows whole takes nothing away from what a viewer gave. */
	if (shown->whole &&
	    (read->is_viewer || !record->has_whole || record->whole_version != shown->version)) {
		now.is_delivery = now.is_delivery && read->is_viewer;
		record->has_whole = true;
		record->whole_version = shown->version;
		record->whole = now;
	}
	return error;
}

/* ---- commands ---- */

int judge_words(struct replay *replay, struct session *session, struct scope *scope, uint64_t key,
		const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	enum replay_category category;

	judge_count(replay, &sums->commands, call);
	int was_there = memory_mark(&session->answers, memory_mix(key, 2, 2));
	if (was_there < 0)
		return was_there;
	if (was_there)
		judge_count(replay, &sums->commands_again, call);
	if (!call->output_bytes)
		return 0;
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	int error = answer_before(session, scope, memory_mix(key, output, 3), &category);
	if (error == 0 && category == REPLAY_IDENTICAL) {
		judge_count(replay, &sums->commands_identical, call);
		report(replay, "command", call->command, call);
	}
	return error;
}

/* What a session repeated: see replay.h. */
#include "cli/replay/replay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/tokens.h"
#include "cli/replay/line_diff.h"
#include "cli/replay/replay_ask.h"
#include "cli/replay/replay_memory.h"
#include "cli/replay/shown.h"
#include "config/pack.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/notice.h"
#include "tracker/answer/remembered.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"

enum {
	DIFF_HEADER_BYTES =
		410, /* of the line before a diff and its labels, without the path (cli/files/answer_diff.c) */
};

static const char *const CATEGORY_NAMES[][2] = {
#define REPLAY_CATEGORY(constant, word, text) { word, text },
	REPLAY_CATEGORIES(REPLAY_CATEGORY)
#undef REPLAY_CATEGORY
};

static const char *const SETTING_NAMES[][2] = {
#define REPLAY_SETTING(constant, word, text) { word, text },
	REPLAY_SETTINGS(REPLAY_SETTING)
#undef REPLAY_SETTING
};

const char *replay_category_name(enum replay_category category)
{
	return CATEGORY_NAMES[category][0];
}

const char *replay_category_text(enum replay_category category)
{
	return CATEGORY_NAMES[category][1];
}

const char *replay_setting_name(enum replay_setting setting)
{
	return SETTING_NAMES[setting][0];
}

const char *replay_setting_text(enum replay_setting setting)
{
	return SETTING_NAMES[setting][1];
}

struct replay {
	struct segment segment; /* settings alone, for roles and notices */
	struct segment_header *header;
	struct settings *settings;
	char *text;
	struct replay_memory known;
	const struct transcript_result *result;
	enum transcript_format limit_of; /* whose limit is that: */
	struct output_limits limits;     /* of one command's output */
	struct replay_sums *sums;
	struct shown shown;
	uint64_t tokens;           /* of the output that is being judged */
	replay_listener *listener; /* NULL: none */
	void *listener_data;
};

/* ---- notices ---- */

static bool in_list(const struct replay *replay, struct settings_text list, const char *path)
{
	bool fold = replay->settings->paths_case_insensitive == PATHS_CASE_INSENSITIVE_YES;

	for (const char *glob = NULL; (glob = segment_text(&replay->segment, list, glob));)
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
	int length = notice_render(&replay->segment, path, &content, -1, notice, sizeof(notice));

	return length > 0 ? (uint64_t)length : UINT64_MAX;
}

/* Of the notices for commands that are remembered, each for itself.  words: argv of each, `count`
 * of them. */
static uint64_t notices_of_commands(const struct replay *replay, char **const words[], size_t count,
				    uint64_t output_bytes)
{
	static const uint64_t SOME_AGE_NS = UINT64_C(60) * 1000000000u; /* "1 minute ago" */
	char notice[NOTICE_BYTES_MAX];
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		int length = notice_request(&replay->segment, words[i], output_bytes, SOME_AGE_NS,
					    notice, sizeof(notice));
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
	if (note_asks_again(&replay->segment, answered->note, now->request)) {
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

static void add_to(const struct replay *replay, struct replay_sum *sum, const struct call *call)
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
	/* A key for each of: to this scope in this epoch; to it at all; to anybody. */
	const uint64_t keys[3] = { memory_mix(scope->id, scope->epoch, answer_key),
				   memory_mix(scope->id, 0, answer_key),
				   memory_mix(0, 0, answer_key) };
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

/* An answer that is remembered by what was asked. */
struct asking {
	struct session *session;
	struct scope *scope;
	enum replay_way way;
	uint64_t key;
	uint64_t inputs;      /* another number: what it reads may have changed */
	uint64_t place_bytes; /* of what would stand in its place */
	bool is_fit;
};

static bool is_enabled(const struct replay *replay)
{
	return replay->settings->requests_enable == REQUESTS_ENABLE_YES;
}

/* The same asked again: answered, where nothing that it reads is known to have changed; else
 * remembered. */
static int judge_asking(struct replay *replay, const struct asking *asking, const struct call *call)
{
	struct replay_saving *saving = &replay->sums->savings[REPLAY_REQUESTS][asking->way];
	struct delivered_at now = memory_now(asking->scope, asking->way, NULL, call->time_ns);
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	void **at = memory_at(&asking->session->requests,
			      memory_mix(asking->scope->id, asking->key, asking->way));

	if (!at)
		return -ENOMEM;
	struct remembered *request = *at;
	if (request && memory_is_current(replay->settings, &request->given, &now) &&
	    request->output == output && request->inputs == asking->inputs &&
	    asking->scope->remembered - request->number < REMEMBERED_OF_SCOPE_MAX &&
	    answer(replay, saving, &request->note, output, &now, call, asking->place_bytes,
		   asking->is_fit)) {
		asking->scope->measures[asking->way].bytes -= call->output_bytes -
							      asking->place_bytes;
		return 0;
	}
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return -ENOMEM;
		*at = request;
	}
	request->output = output;
	request->inputs = asking->inputs;
	request->given = now;
	request->given.is_delivery = !call->failed && is_within_limits(replay, call) &&
				     !shown_is_cut(call->output, call->output_bytes);
	request->number = asking->scope->remembered++;
	return 0;
}

/* ---- reads ---- */

/* A read that is judged. */
struct read {
	struct session *session;
	struct scope *scope;
	struct file *file;
	enum replay_way way;
	const struct shown *shown;
	bool is_viewer; /* asked for the whole file, by a viewer or an own tool */
	bool has_lines; /* false: of a journal, which knows versions alone */
	const char *path;
};

/* What the file would be as a diff against what the record holds; the file's own length where that
 * is no shorter. */
static uint64_t diff_bytes(const struct record *record, const struct shown *shown)
{
	size_t count;
	struct shown_line *lines = memory_whole(record, &count);
	uint64_t bytes = lines ? line_diff_bytes(lines, count, shown->lines, shown->count)
			       : UINT64_MAX;

	free(lines);
	return bytes;
}

static bool whole_counts(const struct record *record, const struct scope *scope)
{
	return record && record->has_whole && record->whole.epoch == scope->epoch;
}

static int categorize(struct replay *replay, const struct read *read, const struct call *call)
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
		add_to(replay, &sums->categories[category], call);
		report(replay, replay_category_name(category), read->path, call);
	}
	return 0;
}

/* The decision made over.  Returns whether a notice would have been given. */
static bool decide(struct replay *replay, const struct read *read, struct record *record,
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

static int judge(struct replay *replay, const struct read *read, const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	const struct shown *shown = read->shown;
	struct measure *measure = &read->scope->measures[read->way];

	add_to(replay, &sums->reads, call);
	if (!shown->whole)
		add_to(replay, &sums->partial, call);
	if (read->file->is_read)
		add_to(replay, &sums->again, call);
	read->file->is_read = true;
	memory_compare(read->session, read->file, shown);
	int error = categorize(replay, read, call);
	struct record *record = memory_record(read->file, read->scope->id, read->way, true);
	if (error < 0 || !record)
		return -ENOMEM;
	struct delivered_at now = memory_now(read->scope, read->way, read->file, call->time_ns);
	bool noticed = decide(replay, read, record, &now, call);
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

/* A command or another tool by its words, in its directory. */
static int judge_words(struct replay *replay, struct session *session, struct scope *scope,
		       uint64_t key, const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	enum replay_category category;

	add_to(replay, &sums->commands, call);
	int was_there = memory_mark(&session->answers, memory_mix(key, 2, 2));
	if (was_there < 0)
		return was_there;
	if (was_there)
		add_to(replay, &sums->commands_again, call);
	if (!call->output_bytes)
		return 0;
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	int error = answer_before(session, scope, memory_mix(key, output, 3), &category);
	if (error == 0 && category == REPLAY_IDENTICAL) {
		add_to(replay, &sums->commands_identical, call);
		report(replay, "command", call->command, call);
	}
	return error;
}

static const char *content_of(const struct call *call, size_t *ret_bytes)
{
	*ret_bytes = call->content ? call->content_bytes : call->output_bytes;
	return call->content ? call->content : call->output;
}

static int judge_command(struct replay *replay, struct session *session, struct scope *scope,
			 const struct call *call)
{
	struct measure *measure = &scope->measures[REPLAY_COMMANDS];
	struct asked asked;
	size_t bytes;
	const char *content = content_of(call, &bytes);
	size_t length = strlen(call->command);
	uint64_t base;
	int known = 0;

	while (length && strchr(" \t\r\n", call->command[length - 1]))
		length--;
	uint64_t key = memory_mix(XXH3_64bits(call->command, length),
				  memory_path(call->directory, ".", &base), 4);
	int error = ask_parse(&replay->segment, call->command, call->directory, &asked);
	measure->requests += asked.requests;
	if (error == 0 && asked.shows && !call->failed && content)
		known = shown_read(&replay->shown, &asked.as, content, bytes);
	if (known > 0) {
		struct shown *shown = &replay->shown;
		shown->whole = shown->whole || (asked.lines_max && shown->count < asked.lines_max);
		struct read read = { .session = session,
				     .scope = scope,
				     .file = memory_file(session, asked.line.directory, asked.file,
							 true),
				     .way = REPLAY_COMMANDS,
				     .shown = shown,
				     .is_viewer = asked.is_viewer,
				     .has_lines = true,
				     .path = asked.file };
		struct call within = *call;
		within.directory = asked.line.directory;
		error = read.file ? judge(replay, &read, &within) : -ENOMEM;
	} else if (error == 0 && known == 0) {
		if (asked.requests)
			measure->bytes += call->output_bytes;
		error = judge_words(replay, session, scope, key, call);
	} else if (error == 0) {
		error = known;
	}
	if (error == 0 && asked.only_reads && call->output_bytes)
		error = judge_asking(
			replay,
			&(struct asking){ .session = session,
					  .scope = scope,
					  .way = REPLAY_COMMANDS,
					  .key = key,
					  .inputs = ask_inputs(session, &asked),
					  .place_bytes = notices_of_commands(
						  replay, asked.line.commands, asked.line.count,
						  call->output_bytes),
					  .is_fit = is_enabled(replay) &&
						    !ask_is_never(&replay->segment, &asked) },
			call);
	if (!asked.only_asks)
		memory_run(session, call->command);
	ask_free(&asked);
	return error;
}

/* ---- the agent's own tools ---- */

static int judge_own(struct replay *replay, struct session *session, struct scope *scope,
		     const struct call *call)
{
	struct shown_as as = { .form = call->numbered ? SHOWN_NUMBERED : SHOWN_ANY,
			       .from = call->from,
			       .asked_whole = !call->from && !call->to,
			       .total_lines = call->total_lines };
	size_t bytes;
	const char *content = content_of(call, &bytes);
	struct shown *shown = &replay->shown;
	bool is_edit = call->kind == CALL_EDIT;
	uint64_t base;

	if (is_edit && call->path && !call->failed)
		memory_change(session, memory_file(session, call->directory, call->path, true));
	/* What an edit says is only understood where it has numbers. */
	if (is_edit)
		as = (struct shown_as){ .form = SHOWN_NUMBERED };
	int known = content && !call->failed ? shown_read(shown, &as, content, bytes) : 0;
	if (known < 0)
		return known;
	const char *path = known && shown->path ? shown->path : call->path;
	size_t path_bytes = known && shown->path ? shown->path_bytes : path ? strlen(path) : 0;
	if (!known || !path || path_bytes >= PATH_MAX) {
		/* The file that a window shows after an edit is not known by then, so any may have
		 * changed. */
		session->changes += is_edit;
		return 0;
	}
	char name[PATH_MAX];
	(void)snprintf(name, sizeof(name), "%.*s", (int)path_bytes, path);
	struct file *file = memory_file(session, call->directory, name, true);
	int error;
	if (!file)
		return -ENOMEM;
	if (is_edit) {
		/* Its lines are known from now on, although they were not asked for. */
		struct record *record = memory_record(file, scope->id, REPLAY_OWN_TOOLS, true);
		if (!call->path && !call->failed)
			memory_change(session, file);
		struct delivered_at now = memory_now(scope, REPLAY_OWN_TOOLS, file, call->time_ns);
		now.is_delivery = false;
		return record ? memory_deliver(record, shown, &now) : -ENOMEM;
	}
	scope->measures[REPLAY_OWN_TOOLS].requests++;
	struct read read = { .session = session,
			     .scope = scope,
			     .file = file,
			     .way = REPLAY_OWN_TOOLS,
			     .shown = shown,
			     .is_viewer = as.asked_whole,
			     .has_lines = true,
			     .path = name };
	error = judge(replay, &read, call);
	char *only_word[] = { name, NULL }, **words = only_word;
	/* A part of a file is to its tool what `sed -n` is to a shell. */
	if (error == 0 && !(as.asked_whole && shown->whole))
		error = judge_asking(
			replay,
			&(struct asking){
				.session = session,
				.scope = scope,
				.way = REPLAY_OWN_TOOLS,
				.key = memory_mix(memory_path(call->directory, name, &base),
						  shown->first, shown->count),
				.inputs = file->generation,
				.place_bytes = notices_of_commands(replay, &words, 1,
								   call->output_bytes),
				.is_fit = is_enabled(replay) },
			call);
	return error;
}

/* ---- journals, and what is forgotten ---- */

static int judge_given(struct replay *replay, struct session *session, struct scope *scope,
		       const struct call *call)
{
	struct shown shown = { .first = 1,
			       .whole = true,
			       .version = call->version.low ^ call->version.high,
			       .bytes = call->version.size_bytes };
	struct call sized = *call;
	struct read read = { .session = session,
			     .scope = scope,
			     .file = memory_file(session, NULL, call->path, true),
			     .way = call->own ? REPLAY_OWN_TOOLS : REPLAY_COMMANDS,
			     .shown = &shown,
			     .is_viewer = true,
			     .path = call->path };

	sized.output_bytes = call->version.size_bytes;
	replay->tokens = tokens_of_bytes(sized.output_bytes);
	scope->measures[read.way].requests += call->own;
	return read.file ? judge(replay, &read, &sized) : -ENOMEM;
}

static int forget(struct replay *replay, struct session *session, const struct call *call)
{
	if (!call->path)
		replay->sums->compactions++;
	for (size_t i = 0; i < session->scopes.capacity; i++) {
		struct scope *scope = session->scopes.slots[i].value;
		if (scope && (!call->scope || scope->id == call->scope) && !call->path)
			scope->epoch++;
	}
	struct file *file = call->path ? memory_file(session, call->directory, call->path, false)
				       : NULL;
	for (struct record *record = file ? file->records : NULL; record; record = record->next)
		if (!call->scope || record->scope_id == call->scope)
			memory_forget(record);
	return 0;
}

/* What one command may print before its agent cuts it: of the version that was measured. */
static struct output_limits limits_of(const struct replay *replay, enum transcript_format format)
{
	const struct settings *settings = replay->settings;
	const struct settings_profile *profile = NULL;
	const char *agent = transcript_format_name(format);

	for (uint64_t i = 0; agent && i < settings->profile_count; i++) {
		const char *name = segment_text(&replay->segment, settings->profiles[i].name, NULL);
		if (name && strcmp(name, agent) == 0)
			profile = &settings->profiles[i];
	}
	if (!profile && settings->generic_profile)
		profile = &settings->profiles[settings->generic_profile - 1];
	return limits_of_profile(&replay->segment, profile, true);
}

int replay_call(const struct call *call, void *data)
{
	struct replay *replay = data;
	bool is_new;
	struct session *session = memory_session(&replay->known, call->session, &is_new);

	if (replay->limit_of != replay->result->format) {
		replay->limit_of = replay->result->format;
		replay->limits = limits_of(replay, replay->limit_of);
	}
	replay->sums->sessions += is_new;
	if (call->kind == CALL_INVALIDATED)
		return forget(replay, session, call);
	struct scope *scope = memory_scope(session, call->scope, &is_new);
	replay->sums->scopes += is_new;
	if (!session->root && call->directory)
		session->root = strdup(call->directory);
	if (!scope || (call->directory && !session->root))
		return -ENOMEM;
	replay->tokens = call->output ? tokens_estimate(call->output, call->output_bytes)
				      : tokens_of_bytes(call->output_bytes);
	/* An edit of several files has one output. */
	if (call->output || call->kind == CALL_RAN)
		add_to(replay, &replay->sums->outputs, call);
	switch (call->kind) {
	case CALL_COMMAND:
		return judge_command(replay, session, scope, call);
	case CALL_READ:
	case CALL_EDIT:
		return judge_own(replay, session, scope, call);
	case CALL_OTHER:
		return call->command ? judge_words(replay, session, scope,
						   memory_mix(XXH3_64bits(call->command,
									  strlen(call->command)),
							      5, 5),
						   call)
				     : 0;
	case CALL_GIVEN:
		return call->path ? judge_given(replay, session, scope, call) : 0;
	case CALL_RAN:
		scope->measures[REPLAY_COMMANDS].requests++;
		return 0;
	case CALL_WROTE:
		scope->measures[REPLAY_COMMANDS].bytes += call->output_bytes;
		replay->sums->outputs.bytes += call->output_bytes;
		replay->sums->outputs.tokens += replay->tokens;
		return 0;
	default:
		return 0;
	}
}

/* ---- the whole ---- */

void replay_add(struct replay_sums *total, const struct replay_sums *sums)
{
	uint64_t *to = (uint64_t *)(void *)total;
	const uint64_t *from = (const uint64_t *)(const void *)sums;

	_Static_assert(sizeof(*sums) % sizeof(uint64_t) == 0, "numbers alone");
	for (size_t i = 0; i < sizeof(*sums) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

void replay_listen(struct replay *replay, replay_listener *listener, void *data)
{
	replay->listener = listener;
	replay->listener_data = data;
}

void replay_start_file(struct replay *replay, const struct transcript_result *result,
		       struct replay_sums *sums)
{
	replay->sums = sums;
	replay->result = result;
	replay->limit_of = TRANSCRIPT_COUNT;
}

int replay_new(const struct config *config, struct replay **ret_replay,
	       struct config_error *ret_error)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	size_t used = 0;
	int error = -ENOMEM;

	if (!replay)
		return -ENOMEM;
	replay->header = calloc(1, sizeof(*replay->header));
	replay->settings = calloc(1, sizeof(*replay->settings));
	replay->text = calloc(1, SETTINGS_TEXT_BYTES_MAX);
	if (replay->header && replay->settings && replay->text)
		error = config_pack(config, replay->settings, replay->text, SETTINGS_TEXT_BYTES_MAX,
				    &used, ret_error);
	if (error < 0) {
		replay_free(replay);
		return error;
	}
	(void)snprintf(replay->header->nonce, sizeof(replay->header->nonce), "seen-%016d", 0);
	replay->segment = (struct segment){ .header = replay->header,
					    .settings = replay->settings,
					    .text = replay->text,
					    .text_bytes = SETTINGS_TEXT_BYTES_MAX };
	*ret_replay = replay;
	return 0;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	memory_free(&replay->known);
	shown_free(&replay->shown);
	free(replay->header);
	free(replay->settings);
	free(replay->text);
	free(replay);
}

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
#include "cli/replay/replay_ask.h"
#include "cli/replay/replay_contained.h"
#include "cli/replay/replay_hooks.h"
#include "cli/replay/replay_judge.h"
#include "tracker/answer/limits.h"

/* ---- commands ---- */

static const char *content_of(const struct call *call, size_t *ret_bytes)
{
	*ret_bytes = call->content ? call->content_bytes : call->output_bytes;
	return call->content ? call->content : call->output;
}

/* One that showed lines of a file.  ret_answered: it was answered with a notice.  ret_contained: the
 * scope had been given each of the lines. */
static int judge_shown(struct replay *replay, const struct judged_read *read,
		       const struct asked *asked, const struct call *call, bool *ret_answered,
		       bool *ret_contained)
{
	struct shown *shown = &replay->shown;
	struct call within = *call;

	if (!read->file)
		return -ENOMEM;
	shown->whole = shown->whole || (asked->lines_max && shown->count < asked->lines_max);
	within.directory = asked->line.directory;
	*ret_contained = !shown->whole && memory_lines(read->file, read->scope, shown, THIS_EPOCH);
	return judge_read(replay, read, &within, ret_answered);
}

/* Is it asked again?  key: of its words and their directory. */
static int judge_again(struct replay *replay, struct session *session, struct scope *scope,
		       const struct asked *asked, uint64_t key, const struct call *call,
		       bool *ret_answered)
{
	uint64_t base, place = memory_path(call->directory, ".", &base);
	bool has_forms = !asked->line.complex;
	const struct judged_asking asking = {
		.session = session,
		.scope = scope,
		.way = REPLAY_COMMANDS,
		.key = has_forms ? memory_mix(ask_key(asked), place, 4) : key,
		.words = key,
		.inputs = ask_inputs(session, asked),
		.place_bytes = judge_notices(replay, asked->line.commands, asked->line.count,
					     call->output_bytes),
		.is_fit = judge_is_enabled(replay) && !ask_is_never(replay->segment, asked)
	};

	return judge_asking(replay, &asking, call, ret_answered);
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
	bool noticed = false, answered = false, contained = false;
	int known = 0;

	while (length && strchr(" \t\r\n", call->command[length - 1]))
		length--;
	uint64_t key = memory_mix(XXH3_64bits(call->command, length),
				  memory_path(call->directory, ".", &base), 4);
	int error = ask_parse(replay->segment, call->command, call->directory, &asked);
	measure->requests += asked.requests;
	if (error == 0 && asked.shows && !call->failed && content)
		known = shown_read(&replay->shown, &asked.as, content, bytes);
	struct judged_read read = { .session = session,
				    .scope = scope,
				    .way = REPLAY_COMMANDS,
				    .shown = &replay->shown,
				    .is_viewer = asked.is_viewer,
				    .has_lines = true,
				    .path = asked.file };
	if (known > 0) {
		read.file = memory_file(session, asked.line.directory, asked.file, true);
		error = judge_shown(replay, &read, &asked, call, &noticed, &contained);
	} else if (error == 0 && known == 0) {
		if (asked.requests)
			measure->bytes += call->output_bytes;
		error = judge_words(replay, session, scope, key, call);
	} else if (error == 0) {
		error = known;
	}
	if (error == 0 && asked.only_reads && call->output_bytes)
		error = judge_again(replay, session, scope, &asked, key, call, &answered);
	if (error == 0 && contained && !noticed && !answered && !replay->result->is_unproven)
		contained_lines(replay, &read, call);
	if (error == 0 && asked.only_reads)
		error = contained_search(replay, session, scope, &asked, call, answered);
	if (!asked.only_asks)
		memory_run(session, call->command);
	ask_free(&asked);
	return error;
}

/* ---- the agent's own tools ---- */

static void edit(struct session *session, struct file *file)
{
	memory_change(session, file);
	if (file)
		file->is_edited = true;
}

static int judge_own(struct replay *replay, struct session *session, struct scope *scope,
		     const struct call *call)
{
	struct shown_as as = { .form = call->numbered ? SHOWN_NUMBERED : SHOWN_ANY,
			       .from = call->from,
			       .asked_whole = !call->from && !call->to,
			       .number_end = call->number_end,
			       .total_lines = call->total_lines };
	size_t bytes;
	const char *content = content_of(call, &bytes);
	struct shown *shown = &replay->shown;
	bool is_edit = call->kind == CALL_EDIT, unused;
	uint64_t base;

	if (is_edit && call->path && !call->failed)
		edit(session, memory_file(session, call->directory, call->path, true));
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
			edit(session, file);
		struct delivered_at now = memory_now(scope, REPLAY_OWN_TOOLS, file, call->time_ns);
		now.is_delivery = false;
		return record ? memory_deliver(record, shown, &now) : -ENOMEM;
	}
	scope->measures[REPLAY_OWN_TOOLS].requests++;
	struct judged_read read = { .session = session,
				    .scope = scope,
				    .file = file,
				    .way = REPLAY_OWN_TOOLS,
				    .shown = shown,
				    .is_viewer = as.asked_whole,
				    .has_lines = true,
				    .path = name };
	error = judge_read(replay, &read, call, &unused);
	char *only_word[] = { name, NULL }, **words = only_word;
	/* A part of a file is to its tool what `sed -n` is to a shell. */
	if (error == 0 && !(as.asked_whole && shown->whole))
		error = judge_asking(
			replay,
			&(struct judged_asking){
				.session = session,
				.scope = scope,
				.way = REPLAY_OWN_TOOLS,
				.key = memory_mix(memory_path(call->directory, name, &base),
						  shown->first, shown->count),
				.inputs = file->generation,
				.place_bytes = judge_notices(replay, &words, 1, call->output_bytes),
				.is_fit = judge_is_enabled(replay) },
			call, &unused);
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
	struct judged_read read = { .session = session,
				    .scope = scope,
				    .file = memory_file(session, NULL, call->path, true),
				    .way = call->own ? REPLAY_OWN_TOOLS : REPLAY_COMMANDS,
				    .shown = &shown,
				    .is_viewer = true,
				    .path = call->path };

	sized.output_bytes = call->version.size_bytes;
	replay->tokens = tokens_of_bytes(sized.output_bytes);
	scope->measures[read.way].requests += call->own;
	bool unused;
	return read.file ? judge_read(replay, &read, &sized, &unused) : -ENOMEM;
}

static int forget(struct replay *replay, struct session *session, const struct call *call)
{
	if (!call->path)
		replay->sums->compactions++;
	for (size_t i = 0; i < session->scopes.capacity; i++) {
		struct scope *scope = session->scopes.slots[i].value;
		/* What a hook gave is of no scope that the journal names: it may be the one that is meant. */
		bool is_meant = scope && (!call->scope || !scope->id || scope->id == call->scope);
		if (is_meant && !call->path)
			scope->epoch++;
	}
	replay_hooks_forget(session, call->scope, call->directory, call->path);
	struct file *file = call->path ? memory_file(session, call->directory, call->path, false)
				       : NULL;
	for (struct record *record = file ? file->records : NULL; record; record = record->next)
		if (!call->scope || !record->scope_id || record->scope_id == call->scope)
			memory_forget(record);
	return 0;
}

/* What one command may print before its agent cuts it: of the version that was measured. */
static struct output_limits limits_of(const struct replay *replay, enum transcript_format format)
{
	const struct settings *settings = replay->settings;
	const struct settings_profile *profile = NULL;
	const char *agent = transcript_format_name(format);

	if (replay->result->is_unproven)
		return (struct output_limits){ .bytes = 0 };

	for (uint64_t i = 0; agent && i < settings->profile_count; i++) {
		const char *name = segment_text(replay->segment, settings->profiles[i].name, NULL);
		if (name && strcmp(name, agent) == 0)
			profile = &settings->profiles[i];
	}
	if (!profile && settings->generic_profile)
		profile = &settings->profiles[settings->generic_profile - 1];
	return limits_of_profile(replay->segment, profile, true);
}

/* A new session has a row. */
static int add_row(struct replay *replay, struct session *session)
{
	if (replay->row_count == replay->row_capacity) {
		size_t capacity = replay->row_capacity ? 2 * replay->row_capacity : 16;
		struct replay_row *grown = reallocarray(replay->rows, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		replay->rows = grown;
		replay->row_capacity = capacity;
	}
	session->row = replay->row_count++;
	replay->rows[session->row] = (struct replay_row){ .file = replay->file_count - 1,
							  .number = ++replay->sums->sessions };
	return 0;
}

/* The tools by which a session's agent has a sub-agent work. */
static bool is_sub_agent(const struct call *call)
{
	static const char *const TOOLS[] = { "Task ", "Agent ", "task ", "invoke_agent " };

	for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++)
		if (call->command && strncmp(call->command, TOOLS[i], strlen(TOOLS[i])) == 0)
			return true;
	return false;
}

static int judge_other(struct replay *replay, struct session *session, struct scope *scope,
		       const struct call *call)
{
	if (is_sub_agent(call) || scope->id != session->id)
		replay_hooks_sub_agent(session);
	if (!call->command)
		return 0;
	return judge_words(replay, session, scope,
			   memory_mix(XXH3_64bits(call->command, strlen(call->command)), 5, 5),
			   call);
}

static int judge_call(struct replay *replay, struct session *session, const struct call *call)
{
	bool is_new;

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
		judge_count(replay, &replay->sums->outputs, call);
	switch (call->kind) {
	case CALL_COMMAND:
		return judge_command(replay, session, scope, call);
	case CALL_READ:
	case CALL_EDIT:
		return judge_own(replay, session, scope, call);
	case CALL_OTHER:
		return judge_other(replay, session, scope, call);
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

int replay_call(const struct call *call, void *data)
{
	struct replay *replay = data;
	struct replay_sums before = *replay->sums;
	bool is_new;
	struct session *session = memory_session(&replay->known, call->session, &is_new);

	if (replay->limit_of != replay->result->format) {
		replay->limit_of = replay->result->format;
		replay->limits = limits_of(replay, replay->limit_of);
	}
	if (is_new && add_row(replay, session) < 0)
		return -ENOMEM;
	int error = judge_call(replay, session, call);
	replay_add_since(&replay->rows[session->row].sums, replay->sums, &before);
	return error;
}

/* ---- the whole ---- */

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
	replay->file_count++;
	replay->limit_of = TRANSCRIPT_COUNT;
}

const struct replay_row *replay_rows(const struct replay *replay, size_t *ret_count)
{
	*ret_count = replay->row_count;
	return replay->rows;
}

int replay_new(const struct config *config, struct replay **ret_replay,
	       struct config_error *ret_error)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return -ENOMEM;
	int error = settings_only_init(config, &replay->only, ret_error);
	if (error < 0) {
		replay_free(replay);
		return error;
	}
	replay->segment = &replay->only.segment;
	replay->settings = replay->only.settings;
	*ret_replay = replay;
	return 0;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	memory_free(&replay->known);
	shown_free(&replay->shown);
	settings_only_destroy(&replay->only);
	free(replay->rows);
	free(replay);
}

/* Conversations that begin or go on: see hook_start.h. */
#include "cli/hooks/hook_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory_stream.h"
#include "cli/files/forget_event.h"
#include "cli/hooks/hook_history.h"
#include "cli/hooks/hook_instructions.h"
#include "cli/hooks/hook_record.h"
#include "cli/hooks/hook_resume.h"
#include "cli/hooks/hook_undone.h"

enum {
	TEXT_MAX = 10000,
	BLANKS = 2, /* at the end, that may have been taken off a result */
};

static bool is_source(const struct hook_input *input, const char *source)
{
	return input->source && strcmp(input->source, source) == 0;
}

static void write_all(const struct hook_agent *agent, const struct hook_input *input,
		      struct hook_record *record, FILE *out)
{
	size_t room = input->adapter->text_max ? input->adapter->text_max : TEXT_MAX;
	bool is_resumed = is_source(input, "resume");

	/* What was undone before is no news to a conversation that begins. */
	hook_undone_start(agent, input, record);
	hook_instructions_write(agent, input, record, room / 2, out);
	(void)fflush(out);
	if (is_resumed || is_source(input, "compact"))
		hook_history_write(agent, input, record, room - (size_t)ftell(out), out);
}

/* Has the conversation a result that may hold what the file's record says?  Ids may be numbers, which
 * another branch has, too; a whole file is no longer than its result. */
static bool has_result(const struct hook_input *input, const struct hook_record_file *file)
{
	const json_t *length = json_object_get(input->results, file->call);

	return json_is_integer(length) &&
	       (!file->is_whole ||
		(uint64_t)json_integer_value(length) + BLANKS >= file->version.size_bytes);
}

/* Has the conversation what its record says that it was given?  An agent may keep another one, or another
 * branch of it, by the same name. */
static bool has_results(const struct hook_input *input, const struct hook_record *record)
{
	for (size_t i = 0; json_is_object(input->results) && i < record->count; i++) {
		const struct hook_record_file *file = &record->files[i];
		if (file->call && !file->is_past && !has_result(input, file))
			return false;
	}
	return true;
}

/* Returns false where nothing can be known. */
static bool read_record(const struct hook_agent *agent, const struct hook_input *input,
			struct hook_record *ret_record)
{
	bool is_read = hook_record_read(agent, input, ret_record);

	if (!is_read || has_results(input, ret_record))
		return is_read;
	hook_record_rewind(agent, input);
	hook_record_free(ret_record);
	is_read = hook_record_read(agent, input, ret_record);
	/* On a full disk nothing was noted. */
	if (!is_read || has_results(input, ret_record))
		return is_read;
	hook_record_free(ret_record);
	return false;
}

json_t *hook_answer_start(const struct hook_agent *agent, const struct hook_input *input)
{
	bool is_compacted = is_source(input, "compact");
	struct hook_record record;
	char *text = NULL;
	size_t length = 0;
	json_t *document = NULL;

	forget_event(agent->segment, agent->journal, agent->scope_id,
		     is_compacted ? "PostCompact" : "SessionStart");
	if (is_compacted)
		hook_record_cut(agent, input);
	bool is_read = read_record(agent, input, &record);
	if (is_read && is_source(input, "resume"))
		hook_resume(agent, input, &record);
	FILE *out = is_read && input->adapter->add ? memory_stream_open(&text, &length) : NULL;
	if (out) {
		write_all(agent, input, &record, out);
		if (fclose(out) == 0 && length) {
			text[length - 1] = '\0'; /* its last newline */
			document = input->adapter->add(input, text);
		}
		free(text);
	}
	hook_record_free(&record);
	return document;
}

void hook_note_resumed(const struct hook_agent *agent, const struct hook_input *input)
{
	struct hook_record record;

	forget_event(agent->segment, agent->journal, agent->scope_id, input->event);
	if (read_record(agent, input, &record))
		hook_resume(agent, input, &record);
	hook_record_free(&record);
}

void hook_note_rewind(const struct hook_agent *agent, const struct hook_input *input)
{
	forget_event(agent->segment, agent->journal, agent->scope_id, "Rewind");
	hook_record_rewind(agent, input);
}

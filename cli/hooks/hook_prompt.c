/* Prompts: see hook_prompt.h. */
#include "cli/hooks/hook_prompt.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory_stream.h"
#include "cli/files/mention.h"
#include "cli/hooks/hook_changed.h"
#include "cli/hooks/hook_file.h"
#include "cli/hooks/hook_record.h"
#include "cli/hooks/hook_undone.h"

enum { MENTIONS_MAX = 64 };

/* ---- files that the prompt names ---- */

/* A file by that name, from the agent's directory.  False: there is none that can be recorded. */
static bool mention_name(const struct hook_agent *agent, const struct hook_input *input,
			 const char *name, size_t length)
{
	static struct hook_file file;
	char path[PATH_MAX];
	bool is_absolute = name[0] == '/';

	if (!length || (!is_absolute && !input->directory) ||
	    snprintf(path, sizeof(path), "%s%s%.*s", is_absolute ? "" : input->directory,
		     is_absolute ? "" : "/", (int)length, name) >= (int)sizeof(path))
		return false;
	bool is_there = hook_file_open(agent->segment, path, &file) &&
			hook_file_read(agent->segment, &file);
	if (is_there &&
	    !mention_file(agent->segment, agent->journal, agent->scope_id, false, file.path))
		hook_record_given(agent, input, file.path, &file.content.version, false);
	hook_file_close(&file);
	return is_there;
}

/* `@path`, `@"a path"`, `@path#L10`; what ends a sentence may follow. */
static void mention_at(const struct hook_agent *agent, const struct hook_input *input,
		       const char *name)
{
	size_t length = strcspn(name, " \t\r\n");

	if (name[0] == '"') {
		(void)mention_name(agent, input, name + 1, strcspn(name + 1, "\""));
		return;
	}
	while (length && !mention_name(agent, input, name, length)) {
		size_t shorter = strcspn(name, "#");
		if (shorter < length)
			length = shorter;
		else if (strchr(".,;:!?)]}'\"`>", name[length - 1]))
			length--;
		else
			length = 0;
	}
}

static void mention_files(const struct hook_agent *agent, const struct hook_input *input)
{
	const char *words = input->words ? input->words : "";
	unsigned count = 0;

	for (const char *at = words; (at = strchr(at, '@')) && count < MENTIONS_MAX; at++) {
		/* Not within a word: that is an address. */
		if (at != words && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
			continue;
		mention_at(agent, input, at + 1);
		count++;
	}
}

/* ---- what the model learns ---- */

static void write_all(const struct hook_agent *agent, const struct hook_input *input, FILE *out)
{
	struct hook_record record;

	if (hook_record_read(agent, input, &record)) {
		hook_undone_write(agent, input, &record, out);
		hook_changed_write(agent, input, &record, out);
		hook_failed_write(agent, input, &record, out);
	}
	hook_record_free(&record);
}

json_t *hook_answer_prompt(const struct hook_agent *agent, const struct hook_input *input)
{
	char *text = NULL;
	size_t length = 0;
	json_t *document = NULL;
	FILE *out = input->adapter->add && !input->is_sub_agent ? memory_stream_open(&text, &length)
								: NULL;

	if (out) {
		write_all(agent, input, out);
		if (fclose(out) == 0 && length) {
			text[length - 1] = '\0'; /* its last newline */
			document = input->adapter->add(input, text);
		}
		free(text);
	}
	mention_files(agent, input);
	return document;
}

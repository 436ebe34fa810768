/* The input of a hook: see hook_input.h. */
#include "cli/hooks/hook_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { INPUT_BYTES_MAX = 64 << 20, INPUT_BYTES_FIRST = 64 << 10 };

/* Reads all that there is.  NULL: too long, an error, or no memory.  The caller frees it. */
static char *read_whole(size_t *ret_length)
{
	size_t capacity = INPUT_BYTES_FIRST, length = 0;
	char *bytes = malloc(capacity);
	ssize_t got = 1;

	while (bytes && got != 0 && length < INPUT_BYTES_MAX) {
		if (length == capacity) {
			capacity *= 2;
			char *more = realloc(bytes, capacity);
			if (!more)
				break;
			bytes = more;
		}
		got = read(STDIN_FILENO, bytes + length, capacity - length);
		if (got < 0 && errno != EINTR)
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	if (bytes && got == 0) {
		*ret_length = length;
		return bytes;
	}
	free(bytes);
	return NULL;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = name ? json_string_value(json_object_get(object, name)) : NULL;
	return text && text[0] ? text : NULL;
}

static const char *first_of(const json_t *object, const char *const *names)
{
	const char *text = NULL;

	for (; *names && !text; names++)
		text = text_of(object, *names);
	return text;
}

static const json_t *value_of(const json_t *object, const char *name)
{
	return name ? json_object_get(object, name) : NULL;
}

/* What the tool is about: for a person who reads the journal. */
static const char *input_of(const struct hook_input *input)
{
	static const char *const WORDS[] = { "file_path",   "filePath", "notebook_path", "command",
					     "pattern",     "path",     "url",           "query",
					     "description", NULL };

	if (!input->tool)
		return input->words;
	return input->file ? input->file : first_of(input->tool_input, WORDS);
}

/* By the agent's own names.  NULL, HOOK_OTHER: it is none of these. */
static const struct hook_tool *find_tool(const struct hook_adapter *adapter, const char *name)
{
	for (const struct hook_tool *tool = adapter->tools; name && tool->name; tool++)
		if (strcmp(tool->name, name) == 0)
			return tool;
	return NULL;
}

static enum hook_moment find_moment(const struct hook_adapter *adapter, const char *name)
{
	for (const struct hook_event *event = adapter->events; name && event->name; event++)
		if (strcmp(event->name, name) == 0)
			return event->moment;
	return HOOK_OTHER;
}

void hook_input_set_file(struct hook_input *input, const char *name)
{
	int length = 0;

	input->file = name;
	input->path[0] = '\0';
	if (name && name[0] == '/')
		length = snprintf(input->path, sizeof(input->path), "%s", name);
	else if (name && input->directory && input->directory[0] == '/')
		length = snprintf(input->path, sizeof(input->path), "%s/%s", input->directory,
				  name);
	if (length >= (int)sizeof(input->path))
		input->path[0] = '\0';
}

/* An id of a call by what it is, the same before and after the tool. */
static char *make_call(const struct hook_input *input)
{
	char *text = input->tool ? json_dumps(input->tool_input, JSON_COMPACT | JSON_SORT_KEYS)
				 : NULL;
	char *call = NULL;

	if (text && asprintf(&call, "%s-%016" PRIx64, input->tool,
			     (uint64_t)XXH3_64bits(text, strlen(text))) < 0)
		call = NULL;
	free(text);
	return call;
}

/* Behind what Gemini CLI puts before a prompt: what hooks told at the start. */
static const char *without_context(const char *words)
{
	static const char BEGIN[] = "<hook_context>", END[] = "</hook_context>";
	const char *end = words && strncmp(words, BEGIN, strlen(BEGIN)) == 0 ? strstr(words, END)
									     : NULL;

	return end ? end + strlen(END) + strspn(end + strlen(END), "\n") : words;
}

bool hook_input_read(const struct hook_adapter *adapter, struct hook_input *ret_input)
{
	const struct hook_members *members = &adapter->members;
	struct hook_input *input = ret_input;
	struct stat stat;
	size_t length = 0;

	*input = (struct hook_input){ .adapter = adapter };
	bool is_known = fstat(STDIN_FILENO, &stat) == 0;
	if (is_known && S_ISCHR(stat.st_mode))
		return false;
	char *bytes = is_known ? read_whole(&length) : NULL;
	input->is_unread = !bytes;
	json_t *document = bytes ? json_loadb(bytes, length, 0, NULL) : NULL;
	free(bytes);
	input->document = document;
	input->event = text_of(document, members->event);
	input->moment = find_moment(adapter, input->event);
	input->directory = text_of(document, members->directory);
	input->conversation = text_of(document, members->sub_agent);
	input->is_sub_agent = input->conversation;
	if (!input->is_sub_agent)
		input->conversation = text_of(document, members->conversation);
	input->source = text_of(document, members->source);
	input->results = value_of(document, members->results);
	input->transcript = text_of(document, members->transcript);
	input->prompt = text_of(document, members->prompt);
	input->words = without_context(text_of(document, members->words));
	input->call = text_of(document, members->call);
	input->tool = text_of(document, members->tool);
	input->tool_input = value_of(document, members->tool_input);
	input->tool_output = value_of(document, members->tool_output);
	input->known_tool = find_tool(adapter, input->tool);
	if (!input->call)
		input->call = input->made_call = make_call(input);
	hook_input_set_file(input, input->known_tool
					   ? text_of(input->tool_input, input->known_tool->file)
					   : NULL);
	input->input = input_of(input);
	return input->event && input->conversation;
}

void hook_input_free(struct hook_input *input)
{
	json_decref(input->document); /* accepts NULL */
	free(input->made_call);
	*input = (struct hook_input){ .document = NULL };
}

/* A number of a member above 0; 0: none. */
static uint64_t number_of(const json_t *object, const char *name)
{
	const json_t *value = value_of(object, name);

	return json_is_integer(value) && json_integer_value(value) > 0
		       ? (uint64_t)json_integer_value(value)
		       : 0;
}

void hook_input_lines(const struct hook_input *input, uint64_t *ret_first, uint64_t *ret_count)
{
	const struct hook_tool *tool = input->known_tool;
	uint64_t first = number_of(input->tool_input, tool->first);
	uint64_t last = number_of(input->tool_input, tool->last);
	uint64_t count = number_of(input->tool_input, tool->count);

	*ret_first = first ? first : 1;
	*ret_count = count ? count : UINT64_MAX;
	if (last)
		*ret_count = last >= *ret_first ? last - *ret_first + 1 : 1;
}

/* The input of a hook: see hook_input.h. */
#include "cli/files/hook_input.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
	const char *text = json_string_value(json_object_get(object, name));
	return text && text[0] ? text : NULL;
}

static const char *first_of(const json_t *object, const char *const *names)
{
	const char *text = NULL;

	for (; *names && !text; names++)
		text = text_of(object, *names);
	return text;
}

bool hook_input_read(struct hook_input *ret_input)
{
	static const char *const FILES[] = { "file_path", "notebook_path", NULL };
	static const char *const WORDS[] = { "command", "pattern",     "path", "url",
					     "query",   "description", NULL };
	struct stat stat;
	size_t length = 0;

	*ret_input = (struct hook_input){ .document = NULL };
	if (fstat(STDIN_FILENO, &stat) < 0 || S_ISCHR(stat.st_mode))
		return false;
	char *bytes = read_whole(&length);
	json_t *document = bytes ? json_loadb(bytes, length, 0, NULL) : NULL;
	free(bytes);
	ret_input->document = document;
	ret_input->event = text_of(document, "hook_event_name");
	ret_input->conversation = text_of(document, "session_id");
	ret_input->is_sub_agent = text_of(document, "agent_id");
	if (ret_input->is_sub_agent)
		ret_input->conversation = text_of(document, "agent_id");
	ret_input->prompt = text_of(document, "prompt_id");
	ret_input->call = text_of(document, "tool_use_id");
	ret_input->tool = text_of(document, "tool_name");
	ret_input->tool_input = json_object_get(document, "tool_input");
	ret_input->tool_response = json_object_get(document, "tool_response");
	ret_input->file = first_of(ret_input->tool_input, FILES);
	ret_input->input = ret_input->file ? ret_input->file
					   : first_of(ret_input->tool_input, WORDS);
	if (!ret_input->tool)
		ret_input->input = text_of(document, "prompt");
	return ret_input->event && ret_input->conversation;
}

void hook_input_free(struct hook_input *input)
{
	json_decref(input->document); /* accepts NULL */
	*input = (struct hook_input){ .document = NULL };
}

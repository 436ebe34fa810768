/* Commands as they were typed: see typed.h. */
#include "cli/journal/typed.h"

#include <stdio.h>
#include <string.h>

#include "tracker/process/role.h"

const char *typed_script(int role, const char *arguments, size_t size_bytes, size_t *ret_bytes)
{
	bool is_next = false;

	if (role != ROLE_SHELL || !arguments)
		return NULL;
	for (size_t at = 0; at < size_bytes;) {
		const char *word = arguments + at;
		size_t length = strnlen(word, size_bytes - at);
		bool is_first = at == 0;
		at += length + 1;
		if (is_next) {
			*ret_bytes = length;
			return word;
		}
		is_next = !is_first && word[0] == '-' && length > 1 && word[1] != '-' &&
			  word[length - 1] == 'c';
	}
	return NULL;
}

void typed_words(int role, const char *arguments, size_t size_bytes, const char *path,
		 char *ret_text, size_t capacity)
{
	size_t used = 0, length = 0;
	const char *script = typed_script(role, arguments, size_bytes, &length);

	ret_text[0] = '\0';
	if (script) {
		used = length < capacity ? length : capacity - 1;
		memcpy(ret_text, script, used);
		ret_text[used] = '\0';
	}
	for (size_t at = 0; !script && arguments && at < size_bytes && used + 1 < capacity;) {
		const char *word = arguments + at;
		length = strnlen(word, size_bytes - at);
		at += length + 1;
		used += (size_t)snprintf(ret_text + used, capacity - used, "%s%.*s",
					 used ? " " : "", (int)length, word);
	}
	if (!ret_text[0])
		(void)snprintf(ret_text, capacity, "%s", path ? path : "?");
}

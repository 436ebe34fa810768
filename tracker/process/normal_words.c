/* Words of a normal form: see normal_words.h. */
#include "tracker/process/normal_words.h"

#include <string.h>

void normal_words_add(struct normal_words *words, const char *bytes, size_t count)
{
	if (words->overflow || count > words->capacity - words->length) {
		words->overflow = true;
		return;
	}
	memcpy(words->bytes + words->length, bytes, count);
	words->length += count;
}

void normal_words_finish(struct normal_words *words)
{
	normal_words_add(words, "", 1);
}

void normal_words_write(struct normal_words *words, const char *word)
{
	normal_words_add(words, word, strlen(word) + 1);
}

void normal_words_path(struct normal_words *words, const char *path)
{
	size_t first = words->length;
	bool is_absolute = path[0] == '/';

	/* Two slashes at the beginning may be another place (POSIX, 4.13). */
	if (path[0] == '/' && path[1] == '/') {
		normal_words_write(words, path);
		return;
	}
	for (const char *at = path; *at;) {
		size_t length = strcspn(at, "/");
		bool is_last = !at[length];
		if (length == 0 || (length == 1 && at[0] == '.' && !is_last)) {
			at += length + 1;
			continue;
		}
		if (is_absolute && words->length == first)
			normal_words_add(words, "/", 1);
		normal_words_add(words, at, length);
		if (is_last)
			break;
		normal_words_add(words, "/", 1);
		at += length + 1;
	}
	if (words->length == first)
		normal_words_add(words, is_absolute ? "/" : ".", *path ? 1 : 0);
	normal_words_finish(words);
}

const char *normal_digits(const char *text)
{
	size_t length = strspn(text, "0123456789");

	if (!length || text[length])
		return NULL;
	while (text[0] == '0' && text[1])
		text++;
	return text;
}

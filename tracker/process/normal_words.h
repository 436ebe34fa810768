/* Words of a normal form, one behind the other: see normal_form.h.  Pure functions. */
#ifndef SEEN_TRACKER_NORMAL_WORDS_H
#define SEEN_TRACKER_NORMAL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct normal_words {
	char *bytes;
	size_t length, capacity;
	bool overflow;
};

/* normal_words_add(): bytes of the word that is being written.  normal_words_finish(): it ends. */
void normal_words_add(struct normal_words *words, const char *bytes, size_t count);
void normal_words_finish(struct normal_words *words);

/* normal_words_write(): a whole word. */
void normal_words_write(struct normal_words *words, const char *word);

/* normal_words_path(): a word that is a path, without `./`, `/.` and doubled slashes; what it leads
 * to is the same.  A slash at its end stays. */
void normal_words_path(struct normal_words *words, const char *path);

/* normal_digits(): where a number begins behind zeros that mean nothing; NULL: it is no number. */
const char *normal_digits(const char *text);

#endif

/*
 * The nearest name to a misspelt word: restricted Damerau-Levenshtein distance over three rows.
 */
#include "config/nearest.h"

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	size_t rows[3][NEAREST_WORD_BYTES_MAX + 1];

	if (a_length > NEAREST_WORD_BYTES_MAX || b_length > NEAREST_WORD_BYTES_MAX)
		return NEAREST_WORD_BYTES_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3],
		       *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t cost = a[i - 1] != b[j - 1];

			row[j] = smaller(above[j - 1] + cost, smaller(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
	size_t length = strlen(word);
	size_t limit = length <= 5 ? 1 : length / 3;
	size_t least = limit + 1;
	const char *nearest = NULL;

	if (length > NEAREST_WORD_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t distance = names[i] ? nearest_distance(word, names[i]) : least;

		/* an edit of every byte is no likeness: "x" is not a misspelt "q" */
		if (distance < least && distance < length) {
			nearest = names[i];
			least = distance;
		}
	}
	return nearest;
}

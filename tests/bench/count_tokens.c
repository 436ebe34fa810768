/*
 * Tokens of texts by our own estimate (cli/base/tokens.h), printed as one number.
 *
 * usage: count_tokens FILE
 *
 * FILE holds texts, each behind a line with the number of its bytes.  Each is counted by itself, as a model is given them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/tokens.h"

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	unsigned long long count = 0;
	size_t size_bytes;
	int found;

	if (!file) {
		(void)fprintf(stderr, "usage: count_tokens FILE\n");
		return 2;
	}
	while ((found = fscanf(file, "%zu", &size_bytes)) == 1) {
		char *text = malloc(size_bytes + 1);
		if (!text || fgetc(file) != '\n' ||
		    fread(text, 1, size_bytes, file) != size_bytes) {
			(void)fprintf(stderr, "count_tokens: %s: cut short\n", argv[1]);
			return 1;
		}
		count += tokens_estimate(text, size_bytes);
		free(text);
	}
	if (found != EOF || ferror(file)) {
		(void)fprintf(stderr, "count_tokens: %s: not a number\n", argv[1]);
		return 1;
	}
	(void)printf("%llu\n", count);
	return fclose(file) == 0 ? 0 : 1;
}

/*
 * A harness of a parser: one function of bytes, as libFuzzer calls it.
 *
 * In a build for fuzzing (preset `fuzz`, clang) libFuzzer has the main function.  In any other one fuzz_main.c
 * has it: it calls the harness with each file of its corpus, and with mutations of these.
 */
#ifndef SEEN_TESTS_FUZZ_HARNESS_H
#define SEEN_TESTS_FUZZ_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The harness.  data: `size` bytes, not ended by NUL, not to be changed.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* fuzz_holds(): a property that holds for every input; where it does not, that is a finding. */
#define fuzz_holds(condition) \
	do { \
		if (!(condition)) { \
			(void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
				      #condition); \
			abort(); \
		} \
	} while (0)

/* fuzz_text(): a copy of bytes that ends in a NUL, in memory of exactly that size; the caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	fuzz_holds(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* fuzz_cut(): takes a part off the front: what stands before the first NUL.  Returns its size; *data and *size
 * become what is behind that NUL, or empty. */
static inline size_t fuzz_cut(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
	size_t part = end ? (size_t)(end - *data) : *size;
	size_t behind = end ? part + 1 : part;

	*data += behind;
	*size -= behind;
	return part;
}

/* fuzz_file(): a file in memory with these bytes.  ret_path: its path, 64 bytes.  Returns its descriptor, which
 * the caller closes. */
int fuzz_file(const uint8_t *data, size_t size, char *ret_path);

#endif

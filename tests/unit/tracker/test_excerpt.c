/* excerpt.h: a cut is never inside a character, wherever it is asked for. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/path/excerpt.h"

/* One character of each length, the first and the last of that length among them; and bytes that are part of none. */
static const char *const PIECES[] = {
	"a",
	"\x7f",
	"\xc2\x80",
	"\xdf\xbf",
	"\xe0\xa0\x80",
	"\xef\xbf\xbf",
	"\xed\x9f\xbf",
	"\xf0\x90\x80\x80",
	"\xf4\x8f\xbf\xbf",
	"\xf0\x9f\x98\x80",
	"\n",
};
static const char *const NONE[] = {
	"\x80", "\xbf", "\xc0", "\xc1", "\xf5", "\xff",
};
enum {
	PIECE_COUNT = sizeof(PIECES) / sizeof(PIECES[0]),
	NONE_COUNT = sizeof(NONE) / sizeof(NONE[0])
};

Test(excerpt, ascii_is_cut_at_the_number)
{
	uint64_t characters;
	cr_assert_eq(excerpt_bytes("abcdef", 6, 4, &characters), 4);
	cr_assert_eq(characters, 4);
	cr_assert_eq(excerpt_bytes("abcdef", 6, 6, &characters), 6);
	cr_assert_eq(excerpt_bytes("abcdef", 6, 7, &characters), 6);
	cr_assert_eq(characters, 6);
	cr_assert_eq(excerpt_bytes("abcdef", 6, 0, &characters), 0);
	cr_assert_eq(characters, 0);
	cr_assert_eq(excerpt_bytes("", 0, 9, NULL), 0);
	cr_assert_eq(excerpt_bytes(NULL, 0, 9, NULL), 0);
	cr_assert_eq(excerpt_bytes("a\0b", 3, 2, NULL), 2, "NUL is a character");
}

Test(excerpt, each_cut_of_each_mixture)
{
	char text[64];
	size_t ends[16];

	for (int a = 0; a < PIECE_COUNT; a++) {
		for (int b = 0; b < PIECE_COUNT; b++) {
			for (int c = 0; c < PIECE_COUNT; c++) {
				const char *parts[] = { PIECES[a], PIECES[b], PIECES[c] };
				size_t size = 0;
				for (int i = 0; i < 3; i++) {
					memcpy(text + size, parts[i], strlen(parts[i]));
					size += strlen(parts[i]);
					ends[i] = size;
				}
				for (uint64_t n = 1; n <= 3; n++)
					cr_assert_eq(excerpt_bytes(text, size, n, NULL),
						     ends[n - 1], "%d %d %d at %d", a, b, c,
						     (int)n);
			}
		}
	}
}

Test(excerpt, a_byte_that_is_none_is_a_character)
{
	uint64_t characters;
	for (int i = 0; i < NONE_COUNT; i++) {
		char text[] = { 'a', NONE[i][0], 'b' };
		cr_assert_eq(excerpt_bytes(text, 3, 2, &characters), 2, "%d", i);
		cr_assert_eq(characters, 2);
		cr_assert_eq(excerpt_bytes(text, 3, 9, &characters), 3);
		cr_assert_eq(characters, 3);
	}
	/* Surrogates, too long forms, beyond the last: each byte by itself. */
	cr_assert_eq(excerpt_bytes("\xed\xa0\x80", 3, 1, NULL), 1);
	cr_assert_eq(excerpt_bytes("\xe0\x80\x80", 3, 1, NULL), 1);
	cr_assert_eq(excerpt_bytes("\xf4\x90\x80\x80", 4, 1, NULL), 1);
	cr_assert_eq(excerpt_bytes("\xe2\x82x", 3, 2, NULL), 2);
}

/* The text ends inside a sequence: nothing behind it is read. */
Test(excerpt, cut_by_the_end)
{
	for (int i = 0; i < PIECE_COUNT; i++) {
		size_t length = strlen(PIECES[i]);
		for (size_t part = 1; part < length; part++) {
			char *text = malloc(part); /* for AddressSanitizer */
			uint64_t characters;
			cr_assert_not_null(text);
			memcpy(text, PIECES[i], part);
			cr_assert_eq(excerpt_bytes(text, part, 9, &characters), part);
			cr_assert_eq(characters, part);
			cr_assert_eq(excerpt_whole(text, part), 0, "it may go on");
			free(text);
		}
		cr_assert_eq(excerpt_whole(PIECES[i], length), length);
	}
}

Test(excerpt, a_piece_is_whole)
{
	cr_assert_eq(excerpt_whole("", 0), 0);
	cr_assert_eq(excerpt_whole("ab\xe2\x82\xac", 5), 5);
	cr_assert_eq(excerpt_whole("ab\xe2\x82\xac", 4), 2);
	cr_assert_eq(excerpt_whole("ab\xe2\x82\xac", 3), 2);
	cr_assert_eq(excerpt_whole("ab\x80\x80\x80\x80", 6), 6, "they continue nothing");
	cr_assert_eq(excerpt_whole("ab\xf4", 3), 2);
	cr_assert_eq(excerpt_whole("ab\xf5", 3), 3, "none begins so");
	cr_assert_eq(excerpt_whole("ab\xc1", 3), 3, "none begins so");
}

/* Whatever the bytes: what is cut off and what stays are characters of the whole. */
Test(excerpt, random_bytes)
{
	unsigned char text[40];

	srand(7);
	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)rand() % sizeof(text);
		for (size_t i = 0; i < size; i++)
			text[i] = (unsigned char)(rand() % 3 ? 0x80 + rand() % 0x80
							     : rand() % 0x80);
		uint64_t all, first, rest;
		cr_assert_eq(excerpt_bytes(text, size, UINT64_MAX, &all), size);
		uint64_t wanted = size ? (uint64_t)rand() % size : 0;
		size_t at = excerpt_bytes(text, size, wanted, &first);
		(void)excerpt_bytes(text + at, size - at, UINT64_MAX, &rest);
		cr_assert_eq(first + rest, all);
	}
}

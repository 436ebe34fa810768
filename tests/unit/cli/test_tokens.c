/* tokens.h: what each kind of run costs, and that the cuts do not matter. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/base/tokens.h"

static uint64_t tokens_of(const char *text)
{
	return tokens_estimate(text, strlen(text));
}

/* Quarters of a token of a text, seen by repeating it: nothing in it may grow together with itself. */
static uint64_t quarters_of(const char *text)
{
	struct tokens tokens = { 0 };
	for (int i = 0; i < 4; i++)
		tokens_add(&tokens, text, strlen(text));
	return tokens_count(&tokens);
}

Test(tokens, nothing_is_no_token)
{
	cr_assert_eq(tokens_estimate(NULL, 0), 0);
	cr_assert_eq(tokens_estimate("text", 0), 0);
	cr_assert_eq(tokens_of(" "), 0, "one space goes with what follows");
}

Test(tokens, words)
{
	cr_assert_eq(tokens_of("a"), 1);
	cr_assert_eq(tokens_of("A"), 1);
	cr_assert_eq(tokens_of("function"), 1, "8 letters");
	cr_assert_eq(tokens_of("functions"), 2, "1.25, rounded up");
	cr_assert_eq(tokens_of("functionality"), 3, "13 letters: 2.25");
	cr_assert_eq(tokens_of("one two three"), 3);
	cr_assert_eq(tokens_of("camelCaseName"), 3, "cut before each capital");
	cr_assert_eq(tokens_of("HTTPServer"), 2, "10 letters: 1.5");
	cr_assert_eq(tokens_of("Word"), 1);
	cr_assert_eq(tokens_of("aB"), 2);
}

Test(tokens, capitals)
{
	cr_assert_eq(quarters_of("AB "), 3);
	cr_assert_eq(quarters_of("ABCD "), 3);
	cr_assert_eq(quarters_of("ABCDE "), 6);
	cr_assert_eq(quarters_of("A "), 4, "one is a word");
}

Test(tokens, digits)
{
	cr_assert_eq(quarters_of("1 "), 5);
	cr_assert_eq(quarters_of("123 "), 5);
	cr_assert_eq(quarters_of("1234 "), 10);
}

Test(tokens, punctuation)
{
	cr_assert_eq(quarters_of("; "), 4);
	cr_assert_eq(quarters_of("());} "), 5, "5 bytes");
	cr_assert_eq(quarters_of("()); "), 4);
	cr_assert_eq(quarters_of("a_"), 8, "a word and an underscore");
	cr_assert_eq(quarters_of("\x01 "), 4, "a control character");
	cr_assert_eq(tokens_estimate("\0\0\0\0\0", 5), 2, "NUL counts, too");
}

Test(tokens, white_space)
{
	cr_assert_eq(quarters_of("a  "), 8, "two spaces");
	cr_assert_eq(quarters_of("a                "), 8, "any number of them");
	cr_assert_eq(quarters_of("a\t"), 8);
	cr_assert_eq(quarters_of("a\n"), 7);
	cr_assert_eq(quarters_of("a\r\n\r\n\t   "), 7, "a line's end, empty lines, indentation");
	cr_assert_eq(quarters_of("a  \n"), 11, "spaces before it are none of it");
}

Test(tokens, beyond_ascii)
{
	cr_assert_eq(quarters_of("\xc3\xa4"), 3, "a umlaut");
	cr_assert_eq(quarters_of("\xe2\x86\x92"), 8, "an arrow");
	cr_assert_eq(quarters_of("\xe6\x97\xa5"), 5, "a Chinese character");
	cr_assert_eq(quarters_of("\xf0\x9f\x98\x80"), 8, "a face");
	cr_assert_eq(quarters_of("x\xc3\xa4y "), 11, "the word is cut there");
	cr_assert_eq(quarters_of("\x80"), 4, "continues nothing");
	cr_assert_eq(quarters_of("\xc3\xa4\xa4"), 7, "one too many");
	cr_assert_eq(quarters_of("\xe2 \xa4"), 12, "not after a space");
}

/* A line of a real program, counted by hand. */
Test(tokens, a_line)
{
	/* tab 4; return 4; "(" 4; bytes 4; + 4; BYTES 6, _ 4, PER 3, _ 4, TOKEN 6; - 4; 1 5; ")" 4; / 4; BYTES ... TOKEN 23; ";" 4; end 3. */
	cr_assert_eq(tokens_of("\treturn (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;\n"), 23,
		     "90 quarters");
}

Test(tokens, cuts_do_not_matter)
{
	static const char TEXT[] = "int  camelCase_ABCDE = 12345;\r\n\t x\xc3\xa4y \xe2\x86\x92 "
				   "\xf0\x9f\x98\x80\x80 HTTPServer ...... \n\n";
	const size_t size = sizeof(TEXT) - 1;
	const uint64_t whole = tokens_estimate(TEXT, size);
	for (size_t first = 0; first <= size; first++) {
		for (size_t second = first; second <= size; second++) {
			struct tokens tokens = { 0 };
			tokens_add(&tokens, TEXT, first);
			(void)tokens_count(&tokens);
			tokens_add(&tokens, TEXT + first, second - first);
			tokens_add(&tokens, TEXT + second, size - second);
			cr_assert_eq(tokens_count(&tokens), whole, "cut at %zu and %zu", first,
				     second);
		}
	}
}

Test(tokens, of_bytes)
{
	cr_assert_eq(tokens_of_bytes(0), 0);
	cr_assert_eq(tokens_of_bytes(1), 1);
	cr_assert_eq(tokens_of_bytes(3), 1);
	cr_assert_eq(tokens_of_bytes(4), 2);
	cr_assert_eq(tokens_of_bytes(7), 2);
	cr_assert_eq(tokens_of_bytes(8), 3);
	cr_assert_eq(tokens_of_bytes(7000), 2000);
	cr_assert_eq(tokens_of_bytes(UINT64_MAX), 5270498306774157605u, "no overflow");
}

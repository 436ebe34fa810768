/* proofs.h: what still is the same text. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/agents/proofs.h"

static bool holds(const char *text, const char *part)
{
	return proofs_text_holds(text, strlen(text), part, strlen(part));
}

Test(proofs, what_agents_change)
{
	cr_assert(holds("one\ntwo", "one\ntwo\n"), "the last newline");
	cr_assert(holds("one\ntwo\n\n", "one\ntwo"));
	cr_assert(holds("one\r\ntwo\r\n", "one\ntwo\n"), "a terminal's");
	cr_assert(holds("one\ntwo", "one\r\ntwo\r\n"));
	cr_assert(holds("one\ntwo", "\n  \none\ntwo"), "blank lines at the beginning");
	cr_assert(holds("  one\ntwo", "\n  one\ntwo"));
	cr_assert_not(holds("one\ntwo", "  one\ntwo"), "indentation");
	cr_assert(holds("x\xef\xbf\xbdy", "x\xffy"), "no UTF-8");
	cr_assert(holds("x\xef\xbf\xbdy", "x\xff\xfe\xe2\x82y"));
	cr_assert(holds("x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy", "x\xff\xfey"));
	cr_assert_not(holds("x\xef\xbf\xbdy", "xy"));
	cr_assert_not(holds("xy", "x\xffy"));
	cr_assert(holds("\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80\n"));
}

Test(proofs, around_it)
{
	cr_assert(holds("Wall time: 0\nOutput:\none\ntwo\n", "one\ntwo\n"));
	cr_assert(holds("one\ntwo\n\nCommand exited with code 1", "one\ntwo\n"));
	/* What is short is found in many places. */
	cr_assert(holds("0\n1\n2\n", "1\n"));
	cr_assert_not(holds("10\n11\n12\n", "1\n"));
	cr_assert_not(holds("one two", "one"));
	cr_assert_not(holds("", "x"));
	cr_assert_not(holds("x", ""), "nothing is not found");
	cr_assert_not(holds("x", "\n\n"));
}

Test(proofs, what_was_cut)
{
	cr_assert_not(holds("one\ntwo\n[Showing lines 1-2 of 3]", "one\ntwo\nthree\n"));
	cr_assert_not(holds("two\nthree\n", "one\ntwo\nthree\n"));
	cr_assert_not(holds("one\n...\nthree\n", "one\ntwo\nthree\n"));
	cr_assert_not(holds("one\ntwo \nthree\n", "one\ntwo\nthree\n"));
}

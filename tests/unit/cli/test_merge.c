/* merge.h: conflicts are counted, whatever marks the texts have of their own. */
#include <criterion/criterion.h>

#include "cli/base/git2.h"
#include "cli/undo/merge.h"
#include "support.h"

static size_t conflicts_of(const char *base, const char *current, const char *theirs, int error)
{
	const struct merge_text texts[] = { { (char *)(uintptr_t)base, strlen(base) },
					    { (char *)(uintptr_t)current, strlen(current) },
					    { (char *)(uintptr_t)theirs, strlen(theirs) } };
	struct merge_text merged = { .size = 0 };
	size_t conflicts = 99;

	cr_assert_eq(
		merge_texts(&texts[0], &texts[1], &texts[2], "now", "then", &merged, &conflicts),
		error);
	free(merged.bytes);
	return conflicts;
}

Test(merge, counts_conflicts)
{
	if (!git2_load())
		cr_skip("no libgit2");
	cr_assert_eq(conflicts_of("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", 0), 1);
	cr_assert_eq(
		conflicts_of("a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nb\n", "a\n1\n2\n3\n4\nB\n", 0),
		0);
	/* lines as long as a mark, and marks, are text */
	cr_assert_eq(conflicts_of("1234567\nb\n", "1234567\nB\n", "1234567\nC\n", 0), 1);
	cr_assert_eq(conflicts_of("<<<<<<<\nb\n12345678\n", "<<<<<<<\nB\n12345678\n",
				  "<<<<<<<\nC\n12345678\n", 0),
		     1);
	cr_assert_eq(
		conflicts_of("a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n", "x\n1\n2\n3\n4\ny\n", 0),
		2);
}

/* error_name.h: the names are libc's own. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/base/error_name.h"

Test(error_name, as_libc_has_them)
{
#if !__GLIBC_PREREQ(2, 32)
	cr_skip_test("this libc has no strerrorname_np");
#else
	for (int error = -1; error < 4096; error++) {
		const char *name = error_name(error), *libc = strerrorname_np(error);
		if (error <= 0) {
			cr_assert_null(name, "%d", error);
			continue;
		}
		cr_assert((name == NULL) == (libc == NULL), "%d", error);
		cr_assert(!name || strcmp(name, libc) == 0, "%d: %s, not %s", error, name, libc);
	}
	cr_assert_str_eq(error_name(2), "ENOENT");
#endif
}

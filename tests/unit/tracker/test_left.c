/* left.h: by which names git has its index. */
#include <criterion/criterion.h>

#include "tracker/content/left.h"
#include "tracker/content/pack.h"

Test(left, the_index_of_a_git_directory_is_one)
{
	static const char *const PATHS[] = {
		"/w/.git/index",
		"/w/.git/index.lock",
		"/w/store.git/index.lock",
		"/w/.git/worktrees/there/index.lock",
		"/w/.git/modules/lib/sub/index",
		"/w/.git/modules/lib.git/index",
		"/w/.git/modules/lib/worktrees/there/index",
	};

	for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
		cr_assert(left_is_git_index(PATHS[i]), "%s", PATHS[i]);
		cr_assert_gt(left_bytes_max(PATHS[i]), PACK_INLINE_BYTES_MAX);
	}
}

Test(left, another_file_of_that_name_is_none)
{
	static const char *const PATHS[] = {
		"/index",
		"/w/index",
		"/w/index.lock",
		"/w/node_modules/left-pad/index",
		"/w/.github/index",
		"/w/.git/index.js",
		"/w/.git/myindex",
		"/w/.git/refs/heads/index",
		"/w/.git/refs/heads/index.lock",
		"/w/.git/objects/index",
		"/w/.git/worktrees/index",
		"",
		"index",
	};

	for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
		cr_assert_not(left_is_git_index(PATHS[i]), "%s", PATHS[i]);
		cr_assert_eq(left_bytes_max(PATHS[i]), PACK_INLINE_BYTES_MAX);
	}
}

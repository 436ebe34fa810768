/*
 * libgit2's three-way merge of texts, loaded when it is needed.  Each release of libgit2 has a name
 * of its own; these functions and their structures are the same in 1.1 to 1.9, which are tried.
 */
#ifndef SEEN_CLI_GIT2_H
#define SEEN_CLI_GIT2_H

#include <git2.h>

#define GIT2_FUNCTIONS(FUNCTION) \
	FUNCTION(libgit2_init) \
	FUNCTION(libgit2_shutdown) \
	FUNCTION(merge_file) \
	FUNCTION(merge_file_result_free)

/* git_NAME() as a member each. */
struct git2 {
#define GIT2_MEMBER(name) __typeof__(git_##name) *name;
	GIT2_FUNCTIONS(GIT2_MEMBER)
#undef GIT2_MEMBER
};

/* git2_load(): until the program ends.  NULL: it is not there; dlerror(3) says why. */
const struct git2 *git2_load(void);

/* git2_name(): what a person is asked to install; static. */
const char *git2_name(void);

#endif

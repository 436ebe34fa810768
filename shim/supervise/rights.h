/*
 * What a process may do to files, as far as the kernel shows it: by its users, groups, capabilities, user namespace and
 * the label that a security module gave it.  Landlock shows nothing.
 */
#ifndef SEEN_SUPERVISE_RIGHTS_H
#define SEEN_SUPERVISE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RIGHTS_GROUPS_MAX = 256 };

/* Numbers are those of this process's user namespace (proc(5), status). */
struct rights {
	uint32_t users[4], groups[4]; /* real, effective, saved, for files */
	uint64_t capabilities;        /* effective; they hold in its own user namespace */
	uint32_t more[RIGHTS_GROUPS_MAX];
	unsigned more_count;
};

/* rights_read(): of a thread.  Returns 0 or a negative errno: it is gone, or has too many groups.
 * rights_equal(), rights_have_same_numbers(): in all; in users and groups. */
int rights_read(pid_t tid, struct rights *ret_rights);
bool rights_equal(const struct rights *a, const struct rights *b);
bool rights_have_same_numbers(const struct rights *a, const struct rights *b);

/* rights_numbers_are_all(): does this process's user namespace have a number for each user?  Else one number may stand
 * for several. */
bool rights_numbers_are_all(void);

/* rights_share_user_namespace(), rights_share_label(): with this process. */
bool rights_share_user_namespace(pid_t pid);
bool rights_share_label(pid_t pid);

/* rights_are_own(): may the process open what this one may, but for Landlock? */
bool rights_are_own(pid_t pid);

#endif

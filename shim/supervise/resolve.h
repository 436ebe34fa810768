/*
 * Finding what another process names: through its own root, directories and descriptors, with
 * nothing opened that others would notice.
 */
#ifndef SEEN_SUPERVISE_RESOLVE_H
#define SEEN_SUPERVISE_RESOLVE_H

#include "shim/supervise/target.h"

/* What a trapped call names. */
struct named {
	pid_t tid;
	int directory;    /* that `path` is relative to, or AT_FDCWD */
	const char *path; /* as given */
	const char *
		base; /* what a relative path begins at, as the supervisor names it; NULL: not known or not needed */
	const char *normal; /* absolute and normalized; NULL: not known */
};

/* resolve_name(): finds a file by a name of the process's.  No magic links: what those stand for
 * depends on who follows them.
 *
 * Returns a descriptor (O_PATH) or a negative errno. */
int resolve_name(const struct target *target, const struct named *named, bool follows);

/* resolve_parent(): the directory that the last name of a path is in.  ret_base: that name, NAME_MAX + 1 bytes.
 * Returns a descriptor (O_PATH) or a negative errno; -EINVAL where the path ends in no name of a file.
 * resolve_is_visible(): is the path that the kernel knows what was found by one that leads there from here, too?
 * Other processes may have other mounts. */
int resolve_parent(const struct target *target, const struct named *named, char *ret_base);
bool resolve_is_visible(const struct target *target, int found);

/* resolve_identify(): the path of a file as the kernel knows it, behind all symbolic links and,
 * where `follows`, behind one that the name itself is; of a file that is not there, as the kernel
 * knows its directory.  False where it cannot tell. */
bool resolve_identify(const struct target *target, const struct named *named, bool follows,
		      char *ret_path, size_t capacity);

/* resolve_open(): opens a plain file that was found, for reading, and closes `found`.  A lease of
 * others is not waited for (fcntl(2)).  Returns a descriptor; -EINVAL for what is no plain file; a
 * negative errno. */
int resolve_open(int found);

#endif

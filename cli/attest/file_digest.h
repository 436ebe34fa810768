/* SHA-256 of files, for attestations. */
#ifndef SEEN_CLI_FILE_DIGEST_H
#define SEEN_CLI_FILE_DIGEST_H

#include <sys/stat.h>

#include "cli/undo/place.h"

enum { FILE_DIGEST_BYTES = 65 }; /* hexadecimal digits, NUL counted */

/* file_digest(): of all that can be read from a descriptor.
 *
 * ret_digest: FILE_DIGEST_BYTES long.  Returns 0 or the errors of read(2). */
int file_digest(int fd, char *ret_digest);

/* file_digest_at(): of what is at a path now: the content of a regular file, the target of a symbolic
 * link.  No symbolic link on the way is followed.
 *
 * path: absolute, normalized.  ret_stat: as it was before it was read, and is behind that.
 * Returns 0; -ENOENT, also where a directory on the way is none; -EMEDIUMTYPE: it is neither a file nor
 * a link; -EAGAIN: it changed meanwhile; -ELOOP: a symbolic link is on the way; errors of openat(2),
 * read(2). */
int file_digest_at(struct places *places, const char *path, char *ret_digest,
		   struct stat *ret_stat);

#endif

/* Copying the bytes of an open file into another. */
#ifndef SEEN_CLI_FILE_COPY_H
#define SEEN_CLI_FILE_COPY_H

#include <stdint.h>

/* file_copy(): makes the content of one file that of another one, from offset 0 on, and sets its
 * size.  Blocks are shared where the file system can; holes stay holes, and so do pages of zeroes.
 *
 * size_bytes: how many there are to copy; fewer is -EAGAIN.  Offsets of both stay.  Returns 0 or a
 * negative errno. */
int file_copy(int from, int to, uint64_t size_bytes);

/* file_copy_into(): the same for a file that is written in place: it is as it was where there is no room. */
int file_copy_into(int from, int to, uint64_t size_bytes);

/* file_copy_attributes(): gives an open file the extended attributes of another one, access control
 * lists with them; what is not permitted is left out.  Not the capabilities of programs. */
void file_copy_attributes(int from, int to);

#endif

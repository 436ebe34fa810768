/* Files that a scope knows by being shown them. */
#ifndef SEEN_SUPERVISE_SHOWN_H
#define SEEN_SUPERVISE_SHOWN_H

#include "shim/supervise/resolve.h"

/* shown_note_read(): an agent, or a reader that prints what is in its files, is about to read a
 * file: its scope knows it then.  Others' reads are not noted. */
void shown_note_read(const struct supervision *supervision, struct target *target,
		     const struct named *named);

#endif

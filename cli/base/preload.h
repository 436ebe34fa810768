/*
 * LD_PRELOAD of this process, for a command that is about to be started (ld.so(8)).
 */
#ifndef SEEN_CLI_PRELOAD_H
#define SEEN_CLI_PRELOAD_H

/* preload_add(): puts a library first, once; behind AddressSanitizer's runtime, which must be the
 * first.
 * library: its path, without blanks and colons.  Returns 0; -ENOMEM. */
int preload_add(const char *library);

/* preload_remove(): takes a library out that preload_add() put there.  Returns 0; -ENOMEM. */
int preload_remove(const char *library);

#endif

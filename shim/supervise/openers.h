/*
 * Processes that opened a file.  One that has handed its descriptor on, and has ended, may be forgotten.
 *
 * Under a lock of the caller's.
 */
#ifndef SEEN_SUPERVISE_OPENERS_H
#define SEEN_SUPERVISE_OPENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. */
struct openers {
	uint32_t *pids;
	size_t count;
};

/* openers_note(): another one, or one of them again.  openers_have(): has one of them a descriptor for that file yet?
 * writes: one that can write.  openers_free(): leaves none. */
void openers_note(struct openers *openers, uint32_t pid);
bool openers_have(const struct openers *openers, uint64_t dev, uint64_t ino, bool writes);
void openers_free(struct openers *openers);

#endif

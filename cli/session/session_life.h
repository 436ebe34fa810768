/* Do processes of a session live? */
#ifndef SEEN_CLI_SESSION_LIFE_H
#define SEEN_CLI_SESSION_LIFE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/segment/segment.h"

enum session_life {
	SESSION_EMPTY, /* none of its processes lives */
	/* some may: of another PID namespace, where they cannot be looked for, or zombies */
	SESSION_UNSURE,
	SESSION_LIVED_IN, /* one lives, or was started and may start others */
};

/* session_life(): do processes of a session live?  Reads only; inspects each in /proc. */
enum session_life session_life(const struct segment *segment);

/* session_read_boot_id(): the kernel's id of this boot; "" where it has none. */
void session_read_boot_id(char *ret_text, size_t capacity);

/* session_is_of_this_boot(): are the times of a segment, and the processes in it, of this boot? */
bool session_is_of_this_boot(const struct segment *segment);

#endif

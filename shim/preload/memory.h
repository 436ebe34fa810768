/* Is the memory there that a caller passed?  The kernel is asked, without a signal. */
#ifndef SEEN_SHIM_MEMORY_H
#define SEEN_SHIM_MEMORY_H

#include <stdbool.h>

/* launch_is_readable(): may the kernel read 8 bytes there?  launch_is_byte(): one, and so all up to
 * the end of its page? */
bool launch_is_readable(const void *address);
bool launch_is_byte(const void *address);

/* launch_is_text(): may it read a path there, up to its end?  Asks once a page. */
bool launch_is_text(const char *path);

#endif

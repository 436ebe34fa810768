/* What the keys that move do.  A pure function. */
#ifndef SEEN_CLI_SCREEN_SCROLL_H
#define SEEN_CLI_SCREEN_SCROLL_H

#include <stddef.h>
#include <stdint.h>

/* screen_scroll(): moves a place in a list by a key (enum screen_key, screen.h): arrows, j and k by
 * one, Page Up, Page Down and the space bar by a page, Home, End, g and G to its ends; by other keys
 * not.
 *
 * page: entries that are shown at once.  last: the largest place; one that is beyond becomes it. */
void screen_scroll(size_t *place, size_t last, size_t page, uint32_t key);

#endif

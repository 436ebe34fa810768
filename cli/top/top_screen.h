/*
 * The terminal of `seen top`: taken, given back whatever happens, and asked for keys.  See
 * top_model.h.
 *
 * There is one; ncurses has its state.  ^C, SIGTERM, SIGHUP, SIGQUIT and a terminal that hangs up
 * end the wait for keys; a suspended program gives the terminal back until it goes on; what would
 * kill the program at once restores the terminal first.
 */
#ifndef SEEN_CLI_TOP_SCREEN_H
#define SEEN_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* What top_screen_wait() returns beside keys (top_display.h). */
enum { TOP_WAIT_NOTHING = -1, TOP_WAIT_RESIZED = -2, TOP_WAIT_END = -3 };

/* top_screen_open(): takes the terminal.
 *
 * Returns 0; -ENOTTY when standard input or output is none; -ENXIO when TERM names no terminal that
 * can be drawn on. */
int top_screen_open(void);

/* top_screen_close(): gives it back.  Accepts one that was not opened. */
void top_screen_close(void);

/* top_screen_wait(): waits for a key for at most so long.
 *
 * Returns it (top_display.h); NOTHING; RESIZED: all has to be drawn anew; END: a signal or a key
 * asks the program to end. */
int32_t top_screen_wait(int timeout_ms);

/* top_screen_signal(): the signal that asked for the end; 0: none, the terminal hung up. */
int top_screen_signal(void);

/* top_screen_is_utf8(): does the locale say that the terminal takes UTF-8? */
bool top_screen_is_utf8(void);

#endif

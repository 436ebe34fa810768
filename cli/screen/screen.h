/*
 * The terminal of `seen top` and `seen undo`: taken, given back whatever happens, and asked for
 * keys.
 *
 * There is one; ncurses has its state.  ^C, SIGTERM, SIGHUP, SIGQUIT and a terminal that hangs up
 * end the wait for keys; a suspended program gives the terminal back until it goes on; what would
 * kill the program at once restores the terminal first.
 */
#ifndef SEEN_CLI_SCREEN_H
#define SEEN_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* A character's code point, or one of these. */
enum screen_key {
	SCREEN_KEY_UP = 0x110000,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_TAB,
	SCREEN_KEY_BACK_TAB,
	SCREEN_KEY_ENTER,
	SCREEN_KEY_ESCAPE,
	SCREEN_KEY_BACKSPACE,
	SCREEN_KEY_OTHER, /* means nothing here */
};

/* What screen_wait() returns beside keys. */
enum { SCREEN_WAIT_NOTHING = -1, SCREEN_WAIT_RESIZED = -2, SCREEN_WAIT_END = -3 };

/* screen_open(): takes the terminal.
 *
 * Returns 0; -ENOTTY when standard input or output is none; -ENXIO when TERM names no terminal that
 * can be drawn on. */
int screen_open(void);

/* screen_close(): gives it back.  Accepts one that was not opened. */
void screen_close(void);

/* screen_wait(): waits for a key for at most so long.
 *
 * Returns it (top_display.h); NOTHING; RESIZED: all has to be drawn anew; END: a signal or a key
 * asks the program to end. */
int32_t screen_wait(int timeout_ms);

/* screen_signal(): the signal that asked for the end; 0: none, the terminal hung up. */
int screen_signal(void);

/* screen_exit(): behind screen_close(): ends the program as the signal that asked for the end would
 * have ended it, so that its sender's wait(2) reports it.  Returns where there was none, or ^C, which
 * is a way to quit. */
void screen_exit(void);

/* screen_is_utf8(): does the locale say that the terminal takes UTF-8? */
bool screen_is_utf8(void);

#endif

/*
 * The terminal that `seen run` is at: as it was found where the command was killed, and the last
 * lines on it.
 *
 * A shell restores the terminal's modes after a program that a signal ended.  Between it and the
 * command there is `seen run`, so that is its business.
 */
#ifndef SEEN_CLI_TERMINAL_H
#define SEEN_CLI_TERMINAL_H

/* terminal_note(): remembers the modes of the terminal that standard error, output or input is. */
void terminal_note(void);

/* terminal_restore(): puts them back, unless other programs have the terminal now. */
void terminal_restore(void);

/* terminal_start_lines(): from now on what goes to stderr begins each line at its left edge, erases
 * what is on it, and ends it for a terminal in raw mode too; it begins on a line of its own.  Does
 * nothing where stderr is no terminal that can. */
void terminal_start_lines(void);

#endif

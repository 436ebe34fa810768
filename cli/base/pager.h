/*
 * A pager before standard output, where that is a terminal: the one that git would start.
 */
#ifndef SEEN_CLI_PAGER_H
#define SEEN_CLI_PAGER_H

#include <stdbool.h>

/* pager_start(): from here on standard output goes through a pager: GIT_PAGER, git's core.pager
 * (of the user and the system, not of the current repository), PAGER, or less, with LESS=FRX and
 * LV=-c unless they are set.
 *
 * Nothing is started where standard output is no terminal, TERM is dumb, or the pager is "cat" or
 * empty.  Styles stay as of a terminal (text_style_keep()). */
void pager_start(void);

/* pager_finish(): flushes standard output and waits for the pager.  Without one, nothing. */
void pager_finish(void);

#endif

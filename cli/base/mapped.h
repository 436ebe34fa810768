/*
 * Files that this program has mapped, and that others may cut short: a session's segment and
 * journal.
 *
 * Who touches a page of a mapping that the file has no more gets SIGBUS.  A check of the length
 * before does not help: it may be cut between both.  So there is a handler.  It ends the program
 * with a line and EXIT_CODE_BAD_SESSION; `seen run`, whose command must not end with it, goes on
 * with zeroes in the page's place, which all readers of a session take for damage.
 *
 * In this program alone: the library has no signal handlers, and a process that it is in dies there
 * (docs/limits.md).
 */
#ifndef SEEN_CLI_MAPPED_H
#define SEEN_CLI_MAPPED_H

#include <stdbool.h>

/* mapped_init(): installs the handler.  Once, by main(). */
void mapped_init(void);

/* mapped_at_end(): what is done before the program ends so; async-signal-safe. */
void mapped_at_end(void (*undo)(void));

/* mapped_go_on(): from now on the program goes on with zeroes, and so do its forks.  SIGBUS must
 * not be blocked. */
void mapped_go_on(void);

/* mapped_was_cut(): was there such a page since mapped_go_on()? */
bool mapped_was_cut(void);

/* mapped_take_sent(): did a process send SIGBUS by kill(2) since the last call?  Only after
 * mapped_go_on(); before, it ends the program. */
bool mapped_take_sent(void);

/* mapped_leave(): SIGBUS as it was inherited: for a child that becomes another program. */
void mapped_leave(void);

#endif

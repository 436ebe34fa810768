/* The meeting with the supervisor, if there is one: shim/supervise/hello.h. */
#ifndef SEEN_SHIM_HELLO_H
#define SEEN_SHIM_HELLO_H

/* hello_say(): says hello to the supervisor of the session, if it has one.  Returns enum hello_answer; 0: there is none.
 * hello_ticket(): the value of SEEN_P that it gave this program; NULL: none.  hello_known(): `shim` says now who this is, in a copy that
 * fork made too. */
int hello_say(void);
const char *hello_ticket(void);
void hello_known(void);

#endif

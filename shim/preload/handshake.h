/* The meeting with the supervisor, if there is one: shim/supervise/handshake.h. */
#ifndef SEEN_SHIM_HANDSHAKE_H
#define SEEN_SHIM_HANDSHAKE_H

/* handshake_send(): sends the handshake to the supervisor of the session, if it has one.  Returns
 * enum handshake_answer; 0: there is none.
 * handshake_ticket(): the value of SEEN_P that it gave this program; NULL: none.
 * handshake_known(): `shim` says now who this is, in a copy that fork made too. */
int handshake_send(void);
const char *handshake_ticket(void);
void handshake_known(void);

#endif

/*
 * How the preloaded library and the supervisor meet in one process.
 *
 * The library sends its handshake once, when it starts: openat(AT_FDCWD, &handshake, 0, 0, 0, mark
 * + 1), with the session's mark.
 * The filter hands that call to the supervisor, which reads the structure and answers with enum
 * handshake_answer.  Where there is no supervisor the kernel sees an empty path: ENOENT.  From then
 * on the supervisor leaves to the library what libc does, told by where the call comes from, and
 * sees what the program does past libc.
 */
#ifndef SEEN_SUPERVISE_HANDSHAKE_H
#define SEEN_SUPERVISE_HANDSHAKE_H

#include <stdint.h>

#include "tracker/process/process.h"
#include "tracker/process/ticket.h"

enum { HANDSHAKE_LIBC, HANDSHAKE_LOADER, HANDSHAKE_LIBRARY, HANDSHAKE_CODE_RANGES };

struct handshake {
	char empty_path[8]; /* all zero: what the kernel takes this for, without a supervisor */
	uint64_t size_bytes;
	/* Code whose calls are the library's to see: libc, the loader, the library itself.
	 * Addresses in the process. */
	struct {
		uint64_t from, to;
	} code[HANDSHAKE_CODE_RANGES];
	/* Filled in later, inspected when a call comes from elsewhere. */
	struct process_ref process;
	uint64_t record; /* number of the process's START or FORK record; 0: none */
	/* Written by the supervisor before it answers: the ticket for this program, where it was
	 * the one to announce it; else empty. */
	char ticket[TICKET_BYTES];
};

enum handshake_answer {
	HANDSHAKE_ATTACH = 1, /* the library sees this process; the supervisor what goes past it */
	HANDSHAKE_STAY_OFF =
		2, /* the supervisor sees it alone: its numbers of processes mean nothing in there */
};

#endif

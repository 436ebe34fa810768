/*
 * The scopes of a session, for people: listed, and chosen by id or name.
 */
#ifndef SEEN_CLI_SCOPES_H
#define SEEN_CLI_SCOPES_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

enum { SCOPES_ID_BYTES = 17 }; /* 16 hexadecimal digits, NUL counted */

/* A consistent copy of what a scope's slot tells. */
struct scope_row {
	uint64_t id;
	char id_text[SCOPES_ID_BYTES];
	char name[40]; /* data of others */
	uint32_t pid;  /* of its agent, or of the root where the agent is external; 0: none */
	uint64_t requests;
	uint64_t bytes_given;
	uint64_t created_realtime_ns;
};

/* scopes_list(): every scope on record, oldest first.
 *
 * ret_scopes: a new array that the caller frees.  Returns how many there are, or -ENOMEM. */
int scopes_list(const struct segment *segment, struct scope_row **ret_scopes);

/* scopes_choose(): the scope that a person means: its 16 digits, or its name if only one has it.
 *
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK and the id, or another. */
int scopes_choose(const struct segment *segment, const char *text, uint64_t *ret_id);

/* scopes_default(): the scope that a command is about when none is named: that of the agent whose
 * command it is, else SEEN_SCOPE's, else the only agent's, else that of the session.  It has an
 * epoch, unless no slot could be had.  context: of ancestry_context(), all zero where that found
 * none. */
uint64_t scopes_default(const struct segment *segment, const struct context *context);

#endif

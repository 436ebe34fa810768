/*
 * Scopes: the context windows that deliveries belong to.  A scope belongs to one agent process, to
 * a fork of it (prefork workers: each has a conversation of its own), or to a name (SEEN_SCOPE)
 * where an orchestrator tells conversations apart, or, with an external agent, to the session.  It
 * counts requests and the bytes given, which is what the window is measured in, and has an epoch:
 * deliveries of another epoch do not count.
 *
 * All functions are lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_SCOPE_H
#define SEEN_TRACKER_SCOPE_H

#include <stdbool.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* scope_id_of(): the scope's identity.
 *
 * agent_serial: serial of the agent's process slot, 0 when the agent is external.  name:
 * SEEN_SCOPE, or NULL.  Never 0. */
uint64_t scope_id_of(uint64_t agent_serial, const char *name);

/* scope_serial_of_fork(): what stands for the agent's serial in the identity of a fork of it that
 * holds a conversation of its own.
 *
 * start_ns: when the fork began, as the kernel tells: pids are given anew. */
uint64_t scope_serial_of_fork(uint64_t agent_serial, uint32_t pid, uint64_t start_ns);

/* scope_find(): the slot of a scope, or NULL.  The slot is shared: read it by slot_read() of
 * SCOPE_CHECKED_BYTES and its counters by atomic loads. */
struct scope_slot *scope_find(const struct segment *segment, uint64_t id);

/* scope_claim(): finds a scope or makes it, in a free slot, that of an agent's helper that was given nothing
 * and has ended, or of the scope unused for longest.
 *
 * context: of what claims it: tells whether a new scope is interactive, and so begins mute; NULL:
 * it is not.  name: for people, may be NULL.  Returns NULL when no slot could be had (the event is
 * lost, nothing else). */
struct scope_slot *scope_claim(const struct segment *segment, uint64_t id,
			       const struct context *context, uint32_t anchor_pid, uint32_t profile,
			       const char *name);

/* What a scope itself counted. */
struct scope_counts {
	uint64_t requests, bytes_given;
};

/* scope_counts(): the counters of a slot go on rising when it is given to another scope.  copy: of
 * the slot, by slot_read(). */
struct scope_counts scope_counts(const struct scope_slot *slot, const struct scope_slot *copy);

/* scope_head(): the scope that stands for all of an agent's work: of a named scope that of its
 * agent's process, of a process of the agent's own program that was started for one command
 * (codex's sandbox) that of the agent.  0 for a scope that is not known. */
uint64_t scope_head(const struct segment *segment, uint64_t id);

/* scope_set_head(): says it.  Not done where the slot is held by others. */
void scope_set_head(const struct segment *segment, uint64_t id, uint64_t head);

/* scope_agent(): the name and the process of a scope's agent.
 *
 * ret_name: NUL-ended data of others.  Returns false for a scope that is not known. */
bool scope_agent(const struct segment *segment, uint64_t id, char ret_name[SCOPE_NAME_BYTES],
		 uint32_t *ret_pid);

/* scope_request(): counts one request.  Returns its number in the scope, from 1; 0 without a
 * scope. */
uint64_t scope_request(const struct segment *segment, uint64_t id);

/* scope_next_request(): the number that the next request will have; 0 without a scope. */
uint64_t scope_next_request(const struct segment *segment, uint64_t id);

/* scope_epoch(): the scope's epoch; 0 when the scope is not known, or holds several conversations
 * now. */
uint64_t scope_epoch(const struct segment *segment, uint64_t id);

/* scope_state(): the same, and its flags (enum scope_flags; 0 for a scope that is not known). */
uint64_t scope_state(const struct segment *segment, uint64_t id, uint32_t *ret_flags);

/* scope_profile(): profile of the scope's agent: index into settings.profiles + 1; 0: none, or the
 * scope is not known. */
uint32_t scope_profile(const struct segment *segment, uint64_t id);

/* scope_new_epoch(): forgets everything the scope was given.  Returns 0 or -ENOENT. */
int scope_new_epoch(const struct segment *segment, uint64_t id);

/* What is reported of the conversations in an agent's process, which cannot be told apart from
 * below. */
enum scope_conversations {
	SCOPE_SUB_AGENT_BEGINS,
	SCOPE_SUB_AGENT_ENDS,
	SCOPE_ALONE, /* there is one conversation, however many were reported to have begun */
};

/* scope_converse(): notes it, and forgets everything the scope was given.  While a sub-agent that
 * began has not ended, what is given counts for no scope (scope_epoch() is 0).  Returns 0 or
 * -ENOENT. */
int scope_converse(const struct segment *segment, uint64_t id, enum scope_conversations said);

/* scope_sub_agents(): how many sub-agents are reported.  0 for a scope that is not known. */
uint32_t scope_sub_agents(const struct segment *segment, uint64_t id);

/* scope_flags(): what was found out about it (enum scope_flags); 0 for a scope that is not
 * known. */
uint32_t scope_flags(const struct segment *segment, uint64_t id);

/* scope_set_flags(): sets those of `mask` to what they are in `flags`.  Returns 0; -ENOENT; -EBUSY
 * when other writers held the slot. */
int scope_set_flags(const struct segment *segment, uint64_t id, uint32_t mask, uint32_t flags);

#endif

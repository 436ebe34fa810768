/*
 * Tool calls that wait for their results, and which have them.
 */
#ifndef SEEN_CLI_TRANSCRIPT_PENDING_H
#define SEEN_CLI_TRANSCRIPT_PENDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tool calls that wait for their results, by the calls' ids. */
struct pending_calls {
	struct pending_call {
		uint64_t id; /* 0: free */
		char *name;
		json_t *arguments;
		bool is_text; /* `name` is a command line of SWE-agent's shell */
	} * calls;
	size_t capacity, count;
};

/* pending_add(): takes a reference to arguments (NULL: none).  Returns 0 or -ENOMEM.
 * pending_remove(): removes it; returns false when there is none of that id; pending_done() what it
 * took.  pending_free(): all that wait. */
int pending_add(struct pending_calls *calls, uint64_t id, const char *name, const json_t *arguments,
		bool is_text);
bool pending_remove(struct pending_calls *calls, uint64_t id, struct pending_call *ret_call);
void pending_done(struct pending_call *call);
void pending_free(struct pending_calls *calls);

/* pending_has(): does one of that id wait? */
bool pending_has(const struct pending_calls *calls, uint64_t id);

/* A set of ids, open-addressed; zero at first. */
struct id_set {
	uint64_t *ids;
	size_t count, capacity;
};

/* id_set_add(): returns 1 when the id is new, 0 when it was there, or -ENOMEM. */
int id_set_add(struct id_set *set, uint64_t id);
void id_set_free(struct id_set *set);

#endif

/*
 * What sessions touched, as a policy: few places, each with all below it, by what was done there.
 *
 * A place is as large as what varies from run to run: the workspace, the temporary directory, a cache, an
 * agent's directory, /usr.  Elsewhere a write makes its directory a place, a read two components of its path.
 */
#ifndef SEEN_CLI_LEARN_LEARNED_H
#define SEEN_CLI_LEARN_LEARNED_H

#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "config/config.h"

/* What was done. */
enum learned_use { LEARNED_READ, LEARNED_WRITE, LEARNED_EXEC, LEARNED_USES };

/* Where, in the order in which it is listed: what a reader has to decide about first. */
enum learned_kind {
	LEARNED_ELSEWHERE,
	LEARNED_HOME,
	LEARNED_CACHE,
	LEARNED_SCRATCH,
	LEARNED_SYSTEM,
	LEARNED_WORKSPACE,
	LEARNED_KINDS,
};

struct learned_place {
	char *glob; /* as a rule's: ".", "~/.npm", "$TMPDIR", "/usr" */
	char *path; /* absolute; NULL: the glob means no single one */
	enum learned_kind kind;
	uint64_t accesses;
};

struct learned {
	struct learned_place *places[LEARNED_USES];
	size_t counts[LEARNED_USES], capacities[LEARNED_USES];
	char *workspace;   /* of the sessions; NULL: not known */
	const char *home;  /* borrowed; NULL: none */
	char *scratch;     /* $TMPDIR; NULL: not set */
	void *directories; /* tsearch(3): those that were touched */
	size_t directory_count;
	uint64_t accesses;
	uint64_t unobserved; /* processes of which nothing is known */
	size_t sessions;
};

/* learned_init(): with nothing learned.  learned_destroy() it.  Returns 0 or -ENOMEM. */
int learned_init(const struct config *config, struct learned *ret_learned);
void learned_destroy(struct learned *learned);

/* learned_read(): adds what a journal has.
 *
 * Returns 0; -EXDEV: it is of another workspace than those before; as events_open(). */
int learned_read(struct learned *learned, const char *journal);

/* learned_sort(): by kind, then those with the fewest accesses first. */
void learned_sort(struct learned *learned);

#endif

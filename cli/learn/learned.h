/*
 * What sessions touched, as a policy: few places, each with all below it, by what was done there.
 *
 * A place is as large as what varies from run to run: the workspace, the temporary directory, a cache, an
 * agent's directory, /usr.  Elsewhere a write makes its directory a place, a read two components of its path.
 */
#ifndef SEEN_CLI_LEARN_LEARNED_H
#define SEEN_CLI_LEARN_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "config/config.h"
#include "config/ini.h"

/* What was done.  LEARNED_LIST: to list the names in a directory that holds the home directory or the
 * workspace, of which a place to read would allow all. */
enum learned_use { LEARNED_READ, LEARNED_LIST, LEARNED_WRITE, LEARNED_EXEC, LEARNED_USES };

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
	char *real_home;   /* its canonical path, where that is another one; else NULL */
	char *scratch;     /* $TMPDIR; NULL: not set, or the home directory is below it */
	void *directories; /* tsearch(3): those that were touched */
	size_t directory_count;
	uint64_t accesses;
	uint64_t unobserved; /* processes of which nothing is known */
	uint64_t missing;    /* records that are damaged, or were not written */
	char *left_out; /* the first directory that would allow too much, was opened or changed itself; NULL: none */
	void *wide; /* tsearch(3): all of these */
	size_t wide_count;
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

/* learned_is_wide(): would a place of this path allow all of the home directory, or more than the workspace?
 * bytes: of the path, those that the place has. */
bool learned_is_wide(const struct learned *learned, const char *path, size_t bytes);

/* The bytes of a place's glob: a line of a seen.ini holds it, behind `except = `. */
enum { LEARNED_GLOB_BYTES_MAX = INI_LINE_BYTES_MAX - 9 };

/* learned_glob(): a path as a rule's glob; of a longer one the beginning, and all that begins so.
 * prefix: what stands for its first `skipped` bytes; NULL: nothing.  is_pattern: a `*` follows.
 *
 * Returns NULL: no memory. */
char *learned_glob(const char *prefix, const char *path, size_t skipped, size_t bytes,
		   bool is_pattern);

#endif

/*
 * Finds, before the command starts, the files that are protected: those that a rule denies to be read, and
 * those of the set `secrets`; and what is read-only in a writable workspace: what the set `ci` and
 * agents' `settings` speak of.
 */
#ifndef SEEN_CLI_CONFINE_SEARCH_H
#define SEEN_CLI_CONFINE_SEARCH_H

#include "cli/confine/confinement.h"
#include "config/config.h"

struct confine_search;

/* confine_search_new(): what is to be found, in which directories.
 *
 * roots: canonical, ended by NULL, borrowed.  NULL: no memory, or the confinement's problem says why. */
struct confine_search *confine_search_new(const struct config *config,
					  struct confinement *confinement, char *const roots[]);
void confine_search_free(struct confine_search *search);

/* confine_search_walk(): adds what is found to the confinement.  A symbolic link is followed where it is
 * named like a protected file, or leads to a directory that is not walked by its own name.
 *
 * Returns 0; -EPERM: the confinement's problem says why; -ENOMEM. */
int confine_search_walk(struct confine_search *search);

/* confine_search_absolute(): the whole paths that rules for protected files name, wherever they
 * are.  As confine_search_walk(). */
int confine_search_absolute(struct confine_search *search);

#endif

/*
 * Other names of protected files, under which they would be readable all the same: where the file
 * system is mounted a second time, and hard links.
 */
#ifndef SEEN_CLI_CONFINE_ALIASES_H
#define SEEN_CLI_CONFINE_ALIASES_H

#include "cli/confine/confinement.h"

/* confine_alias_mounts(): adds what other mounts show of the confinement's unreadable places
 * (/proc/self/mountinfo, proc(5)).  Returns 0 or -ENOMEM. */
int confine_alias_mounts(struct confinement *confinement);

/* confine_alias_links(): adds the other names of unreadable files that have several.
 *
 * roots: the directories that are searched, ended by NULL.  Returns 0; -EPERM: one has a name that
 * was not found, and the confinement's problem says so; -ENOMEM. */
int confine_alias_links(struct confinement *confinement, char *const roots[]);

#endif

/*
 * The files that rules keep from programs, found by the rules' globs and followed as files come and go
 * (tracker/guard/protected.h).
 *
 * Looked for in the workspace; below the beginning of a glob that is a path, up to its first `*`; and,
 * for globs of names, in the home directory itself.  What lies elsewhere is known by the path that the
 * kernel has for it, not by its other names.
 *
 * Nothing is done where no rule denies to read or write what some path names.
 */
#ifndef SEEN_CLI_PROTECT_H
#define SEEN_CLI_PROTECT_H

#include "tracker/segment/segment.h"

struct protect;

/* protect_start(): finds the files that are there, before the command is started.  A line is printed
 * where not all could be scanned.
 *
 * segment: borrowed until protect_finish().  Returns NULL where there is nothing to do, or no memory: the
 * functions below accept that. */
struct protect *protect_start(const struct segment *segment);

/* protect_tick(): takes what came since. */
void protect_tick(struct protect *protect);

/* protect_finish(): the run is over. */
void protect_finish(struct protect *protect);

/* protect_find_open(): a descriptor of this process that is open for a file which a rule denies to read:
 * its number, and the rule's index; -1: there is none.  Such a descriptor is handed on to the command, by
 * which it would be read without being opened.
 * ret_path: SEGMENT_PATH_BYTES; of the file. */
int protect_find_open(const struct segment *segment, uint32_t *ret_rule, char *ret_path);

#endif

/*
 * Which version an agent is of.  Its profile's limits were measured with one ([agent NAME]
 * measured), and holds by half for another one.  No agent is asked: its version is in the package
 * that its program or script lies in (package.json), or in the name of a directory above it, or of
 * the program itself.
 *
 * `seen run` calls this at every turn of the loop in which it waits.
 */
#ifndef SEEN_CLI_AGENT_VERSION_H
#define SEEN_CLI_AGENT_VERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/segment/segment.h"

/* agent_versions_tick(): finds out about scopes that are new, and marks those that are of the
 * version measured (SCOPE_VERSION). */
void agent_versions_tick(const struct segment *segment);

/* agent_version_is(): does a program file belong to this version?
 *
 * path: absolute, symbolic links followed.  version: also with something behind a hyphen, as
 * packages for one platform have it. */
bool agent_version_is(const char *path, const char *version);

enum { AGENT_VERSION_BYTES = 64 };

/* agent_version_find(): the version of the package that a program file lies in.
 *
 * path: as above.  ret_version: AGENT_VERSION_BYTES long.  Returns false where no package.json above
 * it has a name and a version, or that is longer. */
bool agent_version_find(const char *path, char *ret_version);

#endif

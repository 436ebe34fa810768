/*
 * What a session's packs hold (tracker/content/pack.h), read into rows (versions.h).  For versions.c.
 */
#ifndef SEEN_CLI_VERSIONS_PACK_H
#define SEEN_CLI_VERSIONS_PACK_H

#include "cli/undo/versions.h"

/* versions_pack_read(): adds the contents of regular files that packs hold.  Of links and shared copies the version
 * is not on record: these are read.
 *
 * directory: of the packs; NULL: there is none.  session: name of its session.
 * Returns as versions_store_read(). */
int versions_pack_read(const char *directory, const char *session, struct versions *versions);

/* versions_pack_open(): opens the content that a row of packs stands for.  Returns as pack_content_open(). */
int versions_pack_open(const char *directory, const struct versions_row *row);

/* versions_pack_left(): is a file as the session's processes left it, by their last record of that name?
 *
 * directory: of the packs; NULL: there is none.  path: absolute. */
bool versions_pack_left(const char *directory, const char *path, const struct stat *stat);

#endif

/*
 * One content store, read into rows (versions.h): from its directory and its index; and the orders
 * of rows.  For versions.c, which unites the stores of a workspace.
 */
#ifndef SEEN_CLI_VERSIONS_STORE_H
#define SEEN_CLI_VERSIONS_STORE_H

#include "cli/undo/versions.h"

/* versions_store_read(): adds what a store holds.
 *
 * directory: path of the store; NULL: there is none.  session: name of its session.
 * versions: versions_free() it, also after an error: then a part may have been added.
 * A line of the index that is broken is skipped; the first one is named on stderr.
 * Returns 0; -ENOENT: there is no store; -ENOMEM; an error of session_open_directory(). */
int versions_store_read(const char *directory, const char *session, struct versions *versions);

/* versions_add(): a new row, the last; versions_add_store(): a new store, likewise; texts: copied.  NULL: no
 * memory. */
struct versions_row *versions_add(struct versions *versions);
struct versions_store *versions_add_store(struct versions *versions, const char *directory,
					  const char *session);

/* versions_unite(): one row for each path and version, the youngest; in the order of
 * versions_by_time().  What was kept before modes were may have none. */
void versions_unite(struct versions *versions);

/* versions_sort(): puts rows in an order, as qsort(3). */
void versions_sort(struct versions *versions, int (*order)(const void *, const void *));

/* versions_by_path(), versions_by_time(): orders of rows: those without a path first; the newest
 * first. */
int versions_by_path(const void *a, const void *b);
int versions_by_time(const void *a, const void *b);

#endif

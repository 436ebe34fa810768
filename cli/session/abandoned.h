/*
 * What killed processes left in a content store.
 */
#ifndef SEEN_CLI_ABANDONED_H
#define SEEN_CLI_ABANDONED_H

/* abandoned_remove(): removes the copies that killed processes left unfinished.  directory: of the
 * store.  Returns 0 or the errors of session_open_directory(). */
int abandoned_remove(const char *directory);

#endif

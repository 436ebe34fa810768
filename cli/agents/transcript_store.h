/*
 * A transcript that is an SQLite database (transcript_rows.h), followed while its agent writes to
 * it.  Each session is a conversation.
 *
 * It is read for the few milliseconds of one reading, after which it is closed.  What cannot be
 * read at once (busy, being recovered) is read later.
 */
#ifndef SEEN_CLI_TRANSCRIPT_STORE_H
#define SEEN_CLI_TRANSCRIPT_STORE_H

#include "cli/agents/conversations.h"

struct transcript_store;

/* transcript_store_new(): of agents of these profiles (bits), with nothing read yet.  NULL: no
 * memory.
 *
 * conversations: borrowed until transcript_store_free(), which accepts NULL.  since_ns:
 * CLOCK_REALTIME; what was written before is old. */
struct transcript_store *transcript_store_new(struct conversations *conversations,
					      uint64_t profiles, uint64_t since_ns);
void transcript_store_free(struct transcript_store *store);

/* transcript_store_read(): tells the conversations what is new in the database, or other than it was.
 * What cannot be read now has to be read again. */
void transcript_store_read(struct transcript_store *store, const char *path);

#endif

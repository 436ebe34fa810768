/* An agent's in-process reads, counted, and those of a whitelisted program, answered. */
#ifndef SEEN_FOLLOW_OWN_H
#define SEEN_FOLLOW_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct open_facts;
struct iovec;

/* in_process_opened(), in_process_read(), in_process_closing(): an agent's in-process reads.
 * ret_facts: all zero before. */
void in_process_opened(int fd, int directory, const char *path, struct open_facts *ret_facts);
void in_process_read(int fd, ssize_t count);

/* in_process_was_read(): as in_process_read(), where it is known what was read to where, and may be
 * answered.
 *
 * parts: the caller's memory, as the call was given it.  offset: that the bytes were read at;
 * OWN_OFFSET: the descriptor's own, which is behind them now.  count: what the call returned.
 * Returns what it is to return: `count`, or the bytes of a notice that stand in the caller's memory
 * instead. */
enum { OWN_OFFSET = -1 };
ssize_t in_process_was_read(int fd, const struct iovec *parts, int part_count, off_t offset,
			    ssize_t count);

/* in_process_stream_was_read(): the same for a stream's bytes, which stand at this offset of its
 * file; negative: it is not known. */
size_t in_process_stream_was_read(int fd, void *bytes, off_t offset, size_t count);

/* in_process_start(): a whitelisted program of that name begins. */
void in_process_start(const char *name);

/* in_process_follows(): is this a descriptor whose reads may be answered? */
bool in_process_follows(int fd);

/* in_process_asked(): a whitelisted process learned that it may access a file.  writes: for
 * writing, too. */
void in_process_asked(int directory, const char *path, bool writes);

void in_process_closing(int fd);
void in_process_closing_many(unsigned first, unsigned last); /* both ends included */

/* in_process_stream_closing(): a stream over the descriptor is about to be closed: how far it read
 * tells its offset. */
void in_process_stream_closing(int fd);

/* in_process_finish(): the agent ends by exit(): the same for streams that it left open. */
void in_process_finish(void);

#endif

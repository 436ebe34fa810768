/*
 * The beginning of a text: so many characters of it, cut between two.
 */
#ifndef SEEN_TRACKER_EXCERPT_H
#define SEEN_TRACKER_EXCERPT_H

#include <stddef.h>
#include <stdint.h>

/* excerpt_bytes(): how many of a text's first bytes are its first characters.
 *
 * A character is a valid UTF-8 sequence (RFC 3629), or a byte that is part of none.  text:
 * size_bytes bytes, NUL among them; a sequence that its end cuts is bytes that are part of none.
 * ret_characters: how many there are in what is returned, at most max_characters; NULL: of no
 * interest.
 * Async-signal-safe; no system call. */
size_t excerpt_bytes(const void *text, size_t size_bytes, uint64_t max_characters,
		     uint64_t *ret_characters);

/* excerpt_whole(): the same of a piece of a text that goes on behind it: how many bytes of the
 * piece are not a sequence that its end cuts.  At most three less than size_bytes. */
size_t excerpt_whole(const void *piece, size_t size_bytes);

#endif

/*
 * Compactions: what a line of a transcript says when the conversation was cut short, or went back
 * ([agent NAME] compaction).
 */
#ifndef SEEN_CLI_COMPACTIONS_H
#define SEEN_CLI_COMPACTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* compactions_line_matches(): does a line of a transcript say what a profile's `compaction`
 * describes?
 *
 * line: length bytes, without the newline.  markers: words divided by white space, one of which
 * must hold; a word is conditions divided by commas, all of which must hold; a condition is
 * `member.member=text`, or `member.member` for one that is there and not null.
 * What is quoted in a member of another name, or deeper, does not count.  A line that is no JSON
 * object matches nothing.
 * begins: the line is one of the first two of the agent's first conversation in a run: words that
 * begin with `+` do not count there. */
bool compactions_line_matches(const char *line, size_t length, const char *markers, bool begins);

#endif

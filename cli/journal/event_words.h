/*
 * Words for the numbers that records hold: what seen/log/1 has as text, and what people read.
 *
 * Each returns static text; NULL for a number that has no word: a record of a later version, or a
 * damaged one.
 */
#ifndef SEEN_CLI_EVENT_WORDS_H
#define SEEN_CLI_EVENT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_flag {
	uint32_t bits; /* 0: this machine has no such flag */
	const char *name;
	const char *brief; /* for people; NULL: of no interest to them */
};

/* event_open_flags(), event_map_flags(): those of OPEN beside O_ACCMODE, and those of MAP.  One
 * that includes others comes before them: a caller that names flags takes each off. */
const struct event_flag *event_open_flags(size_t *ret_count);
const struct event_flag *event_map_flags(size_t *ret_count);

/* event_access_name(): what O_ACCMODE of an OPEN's flags says.  brief: "r", else "O_RDONLY". 
 * Never NULL. */
const char *event_access_name(uint32_t flags, bool brief);

/* enum decision, enum reason */
const char *event_decision_name(unsigned decision);
const char *event_reason_name(unsigned reason);

/* enum guard_verdict, enum guard_reason */
const char *event_verdict_name(unsigned verdict);
const char *event_guard_reason_name(unsigned reason);

/* enum contents_reason */
const char *event_kept_reason_name(unsigned reason);

/* flags of INSTRUCTED, CHANGED, METADATA; file type in those of CREATE */
const char *event_instructed_name(uint32_t flags);
const char *event_change_name(uint32_t flags);
const char *event_metadata_kind(uint32_t kind);
const char *event_create_kind(uint32_t mode);

/* event_error_name(): "ENOENT".  ret_text: EVENT_ERROR_BYTES, for a number that has no name. 
 * Returns it, or static text. */
enum { EVENT_ERROR_BYTES = 32 };
const char *event_error_name(int error, char *ret_text);

#endif

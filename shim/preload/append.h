/*
 * Who makes a record, and its way into the journal, for record.c and descriptors.c.
 *
 * Async-signal-safe; no system call but one gettid in each thread and one getpid after each vfork.
 */
#ifndef SEEN_SHIM_APPEND_H
#define SEEN_SHIM_APPEND_H

#include <string.h>

#include "shim/call/encode.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"

/* Number of this thread; 0: not asked yet. */
extern __thread pid_t append_thread HIDDEN;

/* append_is_known_thread(): has this thread been here before, and is it nothing special? */
static inline bool append_is_known_thread(void)
{
	return __builtin_expect(!shim_vforked.called && append_thread, 1);
}

static inline bool append_may_grow(void)
{
	return !shim.sandboxed;
}

/* append_sign(): fills in who makes a record. */
void append_sign_first(struct journal_record *record) __attribute__((noinline, cold));
static inline void append_sign(struct journal_record *record)
{
	record->process = shim.record;
	if (append_is_known_thread())
		record->tid = (uint32_t)append_thread;
	else
		append_sign_first(record);
}

/* append_record(): fills in who makes a record, and appends it.  Returns its number, 0: there is no
 * room. */
static inline uint32_t append_record(struct journal_record *record, const void *details,
				     size_t detail_bytes)
{
	append_sign(record);
	if (detail_bytes)
		record->marks |= JOURNAL_DETAILS;
	return journal_write(&shim.journal, record, details, detail_bytes, append_may_grow());
}

/* append_text(): number of the text of a path; one that is cut is marked so. */
static inline uint32_t append_text(const char *text, uint16_t *marks)
{
	size_t length = strnlen(text, SEGMENT_PATH_BYTES);

	if (length == SEGMENT_PATH_BYTES)
		*marks |= JOURNAL_CUT;
	return journal_text(&shim.journal, text, length, append_may_grow());
}

/* append_encoder(): this process and thread, for the records that both mechanisms write. */
struct encoder append_encoder(void);

#endif

/* The journal: see journal.h; journal_create.c makes one, journal_map.c maps it, journal_grow.c
 * makes it longer. */
#include "tracker/journal/journal.h"

#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_units.h"
#include "tracker/sys/sys.h"
#include "tracker/sys/ticks.h"

enum { RESERVE_ATTEMPTS = 8 };

/* The check value: of where a record lies, what it is, and all bytes behind its head. */
static inline uint32_t check_of(uint64_t number, const struct journal_head *head, const void *body)
{
	const size_t one = JOURNAL_UNIT_BYTES - sizeof(*head);
	uint64_t seed = number ^ ((uint64_t)head->op << 56 | (uint64_t)head->units << 48 |
				  (uint64_t)head->error << 32);
	uint64_t hash;
	/* Most are of one unit: of a length that the compiler knows, the hash is a handful of
	 * instructions. */
	if (head->op == JOURNAL_ABANDONED)
		hash = XXH3_64bits_withSeed(body, 0, seed); /* its writer may still be at it */
	else if (head->units == 1)
		hash = XXH3_64bits_withSeed(body, one, seed);
	else
		hash = XXH3_64bits_withSeed(
			body, (size_t)head->units * JOURNAL_UNIT_BYTES - sizeof(*head), seed);
	return (uint32_t)(hash ^ (hash >> 32));
}

/* ---- writing ---- */

void journal_lost(const struct journal *journal)
{
	(void)__atomic_fetch_add(&journal->header->lost, 1, __ATOMIC_RELAXED);
}

/* Do so many units from `next` on lie below a limit?  `next` may be anything: it is read from the
 * file. */
static bool fits(uint64_t next, uint64_t units, uint64_t limit)
{
	return next <= limit && units <= limit - next;
}

/* Where a record of these units lies as things are; NULL where there is no room for it, or none
 * that this view has. */
static inline unsigned char *provided_at(const struct journal *journal, uint64_t number,
					 uint64_t units)
{
	return fits(number, units, limit_of(journal)) ? unit_at(journal, number) : NULL;
}

/* Numbers that a record may have. */
static bool is_number(uint64_t number)
{
	return number >= JOURNAL_UNITS_FIRST && number <= UINT32_MAX;
}

/* Sees to it that a word, which is read now and written right after, is fetched from another
 * processor once for both. */
static inline void fetch_to_write(uint64_t *word)
{
#if defined(__x86_64__)
	__asm__ volatile(
		"prefetchw %0"
		:
		: "m"(*word)); /* gcc has it for newer processors alone; older ones let it pass */
#else
	__builtin_prefetch(word, 1);
#endif
}

/* Takes units where there may be no room yet.  taken: number of those that were taken already, and
 * are not provided; 0: none were. */
static __attribute__((noinline)) uint64_t reserve_slowly(struct journal *journal, uint64_t units,
							 bool may_grow, uint64_t taken,
							 unsigned char **ret_unit)
{
	uint64_t *next_at = &journal->header->next;

	for (int attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++, taken = 0) {
		if (!taken) {
			uint64_t next = __atomic_load_n(next_at, __ATOMIC_RELAXED);
			if (!is_number(next))
				break; /* damaged */
			if (!provided_at(journal, next, units) &&
			    (!may_grow || !journal_provide(journal, next, next + units)))
				break;
			taken = __atomic_fetch_add(next_at, units, __ATOMIC_RELAXED);
		}
		if (!is_number(taken))
			continue;
		/* Others may have taken the rest meanwhile; what is beyond stays a gap if there is
		 * no more. */
		*ret_unit = provided_at(journal, taken, units);
		if (!*ret_unit && may_grow && journal_provide(journal, taken, taken + units))
			*ret_unit = provided_at(journal, taken, units);
		if (*ret_unit)
			return taken;
	}
	journal_lost(journal);
	return 0;
}

/* Takes units; returns the number of the first, 0 when there is no room.  ret_unit: where it
 * lies. */
static inline uint64_t reserve(struct journal *journal, uint64_t units, bool may_grow,
			       unsigned char **ret_unit)
{
	uint64_t *next_at = &journal->header->next, number = 0;

	fetch_to_write(next_at);
	uint64_t next = __atomic_load_n(next_at, __ATOMIC_RELAXED);
	if (is_number(next) && provided_at(journal, next, units)) {
		number = __atomic_fetch_add(next_at, units, __ATOMIC_RELAXED);
		*ret_unit = is_number(number) ? provided_at(journal, number, units) : NULL;
		if (*ret_unit)
			return number;
	}
	return reserve_slowly(journal, units, may_grow, number, ret_unit);
}

/* Publishes a record whose body is in place: from then on it counts. */
static inline bool publish(const struct journal *journal, unsigned char *unit, uint64_t expected,
			   const struct journal_head *head)
{
	if (__atomic_compare_exchange_n(word_in(unit), &expected, word_of(head), false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal); /* it took so long that it was taken for dead */
	return false;
}

/* A record of several units says how many before they are filled: a reader that passes a dead
 * writer's must not take its bytes for records. */
static bool start_filling(const struct journal *journal, unsigned char *unit, uint64_t units,
			  uint64_t *ret_word)
{
	struct journal_head head = { .op = JOURNAL_FILLING, .units = (uint8_t)units };
	uint64_t expected = 0;

	*ret_word = word_of(&head);
	if (__atomic_compare_exchange_n(word_in(unit), &expected, *ret_word, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal);
	return false;
}

uint32_t journal_write(struct journal *journal, struct journal_record *record, const void *details,
		       size_t detail_bytes, bool may_grow)
{
	uint64_t units = 1 + detail_bytes / JOURNAL_UNIT_BYTES, word = 0;
	const size_t head_bytes = sizeof(record->head);
	unsigned char *unit;

	uint64_t number = reserve(journal, units, may_grow, &unit);
	if (!number || (units > 1 && !start_filling(journal, unit, units, &word)))
		return 0;
	if (!record->time_realtime_ns)
		record->time_realtime_ns = journal->by_ticks ? ticks_realtime_ns()
							     : sys_realtime_ns();
	record->head.units = (uint8_t)units;
	memcpy(unit + head_bytes, (const unsigned char *)record + head_bytes,
	       sizeof(*record) - head_bytes);
	if (detail_bytes)
		memcpy(unit + sizeof(*record), details, detail_bytes);
	record->head.check = check_of(number, &record->head, unit + head_bytes);
	return publish(journal, unit, word, &record->head) ? (uint32_t)number : 0;
}

/* The bytes of a text, or NULL when the number is none's. */
static inline const char *text_at(const struct journal *journal, uint64_t number,
				  size_t *ret_size_bytes)
{
	unsigned char *unit = number >= JOURNAL_UNITS_FIRST ? provided_at(journal, number, 1)
							    : NULL;
	if (!unit)
		return NULL;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	if (head.op != JOURNAL_TEXT || !head.units ||
	    !fits(number, head.units, limit_of(journal)) ||
	    head.error + sizeof(head) > (size_t)head.units * JOURNAL_UNIT_BYTES)
		return NULL;
	*ret_size_bytes = head.error;
	return (const char *)unit + sizeof(head);
}

/* Is this the number of a text with these bytes? */
static inline bool is_text(const struct journal *journal, uint64_t number, const void *bytes,
			   size_t size_bytes)
{
	size_t length;
	const char *text = text_at(journal, number, &length);
	return text && length == size_bytes && memcmp(text, bytes, size_bytes) == 0;
}

uint32_t journal_text(struct journal *journal, const void *bytes, size_t size_bytes, bool may_grow)
{
	struct journal_head head = { .op = JOURNAL_TEXT };
	unsigned char *unit;
	uint64_t word = 0;

	if (size_bytes > JOURNAL_TEXT_BYTES_MAX)
		size_bytes = JOURNAL_TEXT_BYTES_MAX;
	uint64_t hash = XXH3_64bits(bytes, size_bytes);
	uint64_t *known = &journal->known[hash % JOURNAL_KNOWN_TEXTS];
	uint64_t last = __atomic_load_n(known, __ATOMIC_ACQUIRE);
	if (last >> 32 == hash >> 32 && is_text(journal, last & UINT32_MAX, bytes, size_bytes))
		return (uint32_t)last;

	uint64_t units = (sizeof(head) + size_bytes + JOURNAL_UNIT_BYTES - 1) / JOURNAL_UNIT_BYTES;
	uint64_t number = reserve(journal, units, may_grow, &unit);
	if (!number || (units > 1 && !start_filling(journal, unit, units, &word)))
		return 0;
	memcpy(unit + sizeof(head), bytes, size_bytes);
	head.units = (uint8_t)units;
	head.error = (uint16_t)size_bytes;
	head.check = check_of(number, &head, unit + sizeof(head));
	if (!publish(journal, unit, word, &head))
		return 0;
	__atomic_store_n(known, (hash >> 32) << 32 | number, __ATOMIC_RELEASE);
	return (uint32_t)number;
}

/* ---- reading ---- */

void journal_drop(const struct journal *journal, uint64_t number)
{
	uint64_t to = number / JOURNAL_UNITS_PER_PAGE * JOURNAL_UNITS_PER_PAGE;

	if (to > JOURNAL_UNITS_FIRST && to <= journal->mapped_units && !journal->window_units)
		(void)sys_call3(SYS_madvise, (long)unit_at(journal, JOURNAL_UNITS_FIRST),
				(long)((to - JOURNAL_UNITS_FIRST) * JOURNAL_UNIT_BYTES),
				MADV_DONTNEED);
}

uint64_t journal_end_unit(const struct journal *journal)
{
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_ACQUIRE);
	uint64_t limit = limit_of(journal);
	return next < limit ? next : limit;
}

/* Where a record of so many units lies, if it is inside what this view can read, else NULL. */
static inline unsigned char *inside_at(const struct journal *journal, uint64_t number,
				       uint64_t units)
{
	return units > 0 && number >= JOURNAL_UNITS_FIRST ? provided_at(journal, number, units)
							  : NULL;
}

/* Does it lie inside the file?  A view may have the first units of a record, and not the last. */
static bool lies_in_file(const struct journal *journal, uint64_t number, uint64_t units)
{
	return units > 0 &&
	       fits(number, units, __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE));
}

const char *journal_bytes(const struct journal *journal, uint32_t number, size_t *ret_size_bytes)
{
	return text_at(journal, number, ret_size_bytes);
}

uint64_t journal_behind_undone(const struct journal *journal, uint64_t number)
{
	unsigned char *unit = inside_at(journal, number, 1);
	if (!unit)
		return number + 1;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	if (head.op == JOURNAL_FILLING)
		return number + (lies_in_file(journal, number, head.units) ? head.units : 1);
	return head.op == JOURNAL_NONE ? number + 1 : number;
}

enum journal_found journal_next(const struct journal *journal, uint64_t *number,
				struct journal_entry *ret_entry)
{
	const size_t details_max = sizeof(*ret_entry) - offsetof(struct journal_entry, process);
	uint64_t at = *number;

	unsigned char *unit = at < journal_end_unit(journal) && at >= JOURNAL_UNITS_FIRST
				      ? unit_at(journal, at)
				      : NULL;
	if (!unit)
		return JOURNAL_FOUND_END;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	ret_entry->number = at;
	if (head.op == JOURNAL_NONE || head.op == JOURNAL_FILLING)
		return JOURNAL_FOUND_UNDONE;
	bool inside = inside_at(journal, at, head.units) != NULL;
	if (!inside && lies_in_file(journal, at, head.units))
		return JOURNAL_FOUND_END; /* of this view */
	*number = at + (inside ? head.units : 1);
	if (!inside || head.check != check_of(at, &head, unit + sizeof(head)))
		return JOURNAL_FOUND_DAMAGED;
	size_t details = ((size_t)head.units - 1) * JOURNAL_UNIT_BYTES;
	if (details > details_max)
		details = details_max;
	bool has_call = head.op != JOURNAL_TEXT && head.op != JOURNAL_ABANDONED;
	ret_entry->record.head = head;
	if (has_call)
		memcpy((unsigned char *)&ret_entry->record + sizeof(head), unit + sizeof(head),
		       sizeof(ret_entry->record) - sizeof(head));
	else
		memset((unsigned char *)&ret_entry->record + sizeof(head), 0,
		       sizeof(ret_entry->record) - sizeof(head));
	memset(&ret_entry->process, 0, details_max);
	if (has_call && details)
		memcpy(&ret_entry->process, unit + JOURNAL_UNIT_BYTES, details);
	return JOURNAL_FOUND_RECORD;
}

bool journal_abandon(const struct journal *journal, uint64_t number)
{
	unsigned char *unit = inside_at(journal, number, 1);
	if (!unit)
		return false;
	uint64_t word = __atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE);
	struct journal_head head = head_of(word);

	if (head.op != JOURNAL_NONE && head.op != JOURNAL_FILLING)
		return false;
	if (!lies_in_file(journal, number, head.units))
		head.units = 1;
	head.op = JOURNAL_ABANDONED;
	head.error = 0;
	head.check = check_of(number, &head, NULL);
	return __atomic_compare_exchange_n(word_in(unit), &word, word_of(&head), false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Announced commands: see announced.h. */
#include "tracker/process/announced.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/process/scope.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum { LENGTH_BITS = 16, WORD_BYTES_MAX = 16384 };

/* A tool that never ended, since its user refused it, is not asked for any more. */
static const uint64_t ANNOUNCED_NS = 600 * UINT64_C(1000000000);

/* What stands for a command in a slot: its hash and its length; never 0.  Another scope's is another
 * word: a slot may be given to that. */
static uint64_t word_of(uint64_t scope_id, const char *command, size_t length)
{
	return XXH3_64bits_withSeed(command, length, scope_id) << LENGTH_BITS | length;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Without blanks at both ends.  Returns 0 for none, and for one that is too long. */
static uint64_t word_of_text(uint64_t scope_id, const char *command)
{
	while (is_blank(*command))
		command++;
	size_t length = strlen(command);
	while (length && is_blank(command[length - 1]))
		length--;
	return length && length <= ANNOUNCED_BYTES_MAX ? word_of(scope_id, command, length) : 0;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool replace(uint64_t *at, uint64_t before, uint64_t now)
{
	return __atomic_compare_exchange_n(at, &before, now, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

void announced_add(const struct segment *segment, uint64_t scope_id, const char *command)
{
	struct scope_slot *scope = scope_find(segment, scope_id);
	uint64_t word = word_of_text(scope_id, command);
	struct scope_announced *place = NULL;

	if (!scope || !word)
		return;
	for (unsigned i = 0; i < SCOPE_ANNOUNCED; i++) {
		struct scope_announced *at = &scope->announced[i];
		if (!load(&at->command)) {
			place = at;
			break;
		}
		if (!place || load(&at->time_ns) < load(&place->time_ns))
			place = at;
	}
	/* Another hook that takes the same place at the same time: one of the two is announced. */
	uint64_t before = load(&place->command);
	if (before && !replace(&place->command, before, 0))
		return;
	__atomic_store_n(&place->capture_id, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&place->time_ns, sys_boottime_ns(), __ATOMIC_RELEASE);
	(void)replace(&place->command, 0, word);
}

void announced_finish(const struct segment *segment, uint64_t scope_id, const char *command)
{
	struct scope_slot *scope = scope_find(segment, scope_id);
	uint64_t word = word_of_text(scope_id, command);

	/* Of two that are the same the one that was run. */
	for (unsigned pass = 0; scope && word && pass < 2; pass++)
		for (unsigned i = 0; i < SCOPE_ANNOUNCED; i++) {
			struct scope_announced *at = &scope->announced[i];
			if (load(&at->command) == word && (pass || load(&at->capture_id)) &&
			    replace(&at->command, word, 0))
				return;
		}
}

void announced_clear(const struct segment *segment, uint64_t scope_id)
{
	struct scope_slot *scope = scope_find(segment, scope_id);

	for (unsigned i = 0; scope && i < SCOPE_ANNOUNCED; i++)
		__atomic_store_n(&scope->announced[i].command, 0, __ATOMIC_RELEASE);
}

/* ---- shells ---- */

/* Does a command end in front of this byte, or begin behind it, in a shell's words? */
static bool is_boundary(char byte)
{
	return !byte || strchr(";\n'\"(){}&|<>", byte);
}

static bool stands_alone(const char *word, const char *begin, size_t length)
{
	const char *before = begin, *behind = begin + length;

	while (before > word && is_blank(before[-1]) && before[-1] != '\n')
		before--;
	while (is_blank(*behind) && *behind != '\n')
		behind++;
	return (before == word || is_boundary(before[-1])) && is_boundary(*behind);
}

static bool holds(uint64_t scope_id, const char *word, size_t word_length, uint64_t announced)
{
	size_t length = announced & ((1u << LENGTH_BITS) - 1);

	for (size_t at = 0; at + length <= word_length; at++)
		if (stands_alone(word, word + at, length) &&
		    word_of(scope_id, word + at, length) == announced)
			return true;
	return false;
}

static bool is_of_now(const struct scope_announced *announced)
{
	return sys_boottime_ns() - load(&announced->time_ns) < ANNOUNCED_NS;
}

void announced_claim(const struct segment *segment, uint64_t scope_id, uint64_t capture_id,
		     char *const argv[])
{
	struct scope_slot *scope = scope_find(segment, scope_id);

	for (unsigned i = 0; scope && i < SCOPE_ANNOUNCED; i++) {
		struct scope_announced *at = &scope->announced[i];
		uint64_t announced = load(&at->command);
		if (!announced || load(&at->capture_id) || !is_of_now(at))
			continue;
		for (unsigned k = 1; argv[0] && argv[k]; k++) {
			size_t length = strnlen(argv[k], WORD_BYTES_MAX);
			if (length < WORD_BYTES_MAX &&
			    holds(scope_id, argv[k], length, announced) &&
			    replace(&at->capture_id, 0, capture_id))
				return;
		}
	}
}

bool announced_is(const struct segment *segment, uint64_t scope_id, uint64_t capture_id)
{
	const struct scope_slot *scope = scope_find(segment, scope_id);

	for (unsigned i = 0; scope && capture_id && i < SCOPE_ANNOUNCED; i++)
		if (load(&scope->announced[i].capture_id) == capture_id &&
		    load(&scope->announced[i].command) && is_of_now(&scope->announced[i]))
			return true;
	return false;
}

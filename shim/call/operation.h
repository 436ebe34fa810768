/*
 * What a call that programs make means, for both mechanisms: one table of operations
 * (operations.def), and which system calls do them (system_calls.def).  shim/preload/hooks.def names
 * the functions of libc's that do.
 *
 * Constant data without relocations and pure functions: for any context.
 */
#ifndef SEEN_SHIM_OPERATION_H
#define SEEN_SHIM_OPERATION_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/sys/numbers.h"

/* What opens, and calls about two names, may ask the rules: call_rules(). */
enum {
	RULE_OF_NAMES = RULE_WRITE | RULE_CREATE | RULE_DELETE | RULE_RENAME | RULE_LINK,
	RULE_OF_OPENS = RULE_READ | RULE_WRITE | RULE_CREATE | RULE_LIST,
	RULE_OF_NEW = RULE_READ | RULE_WRITE | RULE_CREATE,
};

enum operation {
#define OPERATION(name, family, record, rules, stations, reason) OPERATION_##name,
#include "shim/call/operations.def"
#undef OPERATION
	OPERATION_COUNT,
};

enum call_family {
	FAMILY_NAMES,
	FAMILY_LISTS,
	FAMILY_OPENS,
	FAMILY_DESCRIPTORS,
	FAMILY_DATA,
	FAMILY_METADATA,
	FAMILY_PROCESSES,
};

/* What a call passes, in this order: RULES and GUARD before it is made, the others behind it. */
enum call_station {
	STATION_RULES = 1,
	STATION_GUARD = 2,
	STATION_OBSERVE = 4,
	STATION_JOURNAL = 8,
	STATION_KEEP = 16,
};

struct operation_row {
	uint8_t family;   /* enum call_family */
	uint8_t record;   /* enum journal_op; JOURNAL_NONE: more than one kind */
	uint8_t stations; /* enum call_station */
	uint32_t rules;   /* enum rule_op, with RULE_ONLY_NEW; 0: by its flags, or none */
};

/* Here, and not in operation.c: where the operation is a constant, so is what is read of its row. */
static const struct operation_row OPERATIONS[OPERATION_COUNT] = {
#define NO_STATION 0
#define RULES STATION_RULES
#define GUARD STATION_GUARD
#define OBSERVE STATION_OBSERVE
#define JOURNAL STATION_JOURNAL
#define KEEP STATION_KEEP
#define OPERATION(name, family, record, rules, stations, reason) \
	{ FAMILY_##family, JOURNAL_##record, stations, rules },
#include "shim/call/operations.def"
#undef OPERATION
#undef NO_STATION
#undef RULES
#undef GUARD
#undef OBSERVE
#undef JOURNAL
#undef KEEP
};

/* operation_row(): the row of an operation. */
static inline __attribute__((always_inline)) struct operation_row operation_row(
	enum operation operation)
{
#if defined(__clang_analyzer__) /* it does not look into the table */
	switch (operation) {
#define NO_STATION 0
#define RULES STATION_RULES
#define GUARD STATION_GUARD
#define KEEP STATION_KEEP
#define OBSERVE STATION_OBSERVE
#define JOURNAL STATION_JOURNAL
#define OPERATION(name, family, record, rules, stations, reason) \
	case OPERATION_##name: \
		return (struct operation_row){ FAMILY_##family, JOURNAL_##record, stations, rules };
#include "shim/call/operations.def"
#undef OPERATION
#undef NO_STATION
#undef RULES
#undef GUARD
#undef KEEP
#undef OBSERVE
#undef JOURNAL
	default:
		break;
	}
#endif
	return OPERATIONS[operation];
}

/* operation_is_of_data(): does it move or change the bytes of a descriptor's file? */
static inline __attribute__((always_inline)) bool operation_is_of_data(enum operation operation)
{
	return operation_row(operation).family == FAMILY_DATA && !operation_row(operation).rules;
}

/* operation_is_of_names(): does it change what names stand for? */
static inline __attribute__((always_inline)) bool operation_is_of_names(enum operation operation)
{
	const struct operation_row row = operation_row(operation);

	return (row.family == FAMILY_NAMES || row.family == FAMILY_DATA) && row.rules;
}

/* operation_is_of_list(): does it list a directory, or end that? */
static inline __attribute__((always_inline)) bool operation_is_of_list(enum operation operation)
{
	return operation_row(operation).family == FAMILY_LISTS;
}

/* operation_is_of_descriptor(): does it close a descriptor, copy or lock it? */
static inline __attribute__((always_inline)) bool operation_is_of_descriptor(
	enum operation operation)
{
	return operation_row(operation).family == FAMILY_DESCRIPTORS;
}

/* operation_is_of_open(): does it open a file, or name one that will be? */
static inline __attribute__((always_inline)) bool operation_is_of_open(enum operation operation)
{
	return operation_row(operation).record == JOURNAL_OPEN;
}

enum system_call_trap {
	TRAP_NEVER,
	TRAP_ALWAYS,
	TRAP_BY_FLAGS, /* of open(2) */
	TRAP_DENIED,   /* answered ENOSYS */
	TRAP_STRICTLY, /* likewise, where the filter is strict */
};

enum { NO_PLACE = -1 };

/* A system call: places of its arguments, NO_PLACE where it has none. */
struct system_call {
	uint16_t number;
	uint8_t operation; /* enum operation */
	uint8_t trap;      /* enum system_call_trap */
	int8_t directory, path, other_directory, other_path, flags;
	uint32_t more_flags;
};

enum system_call_index {
#define SYSTEM_CALL(name, ...) SYSTEM_CALL_##name,
#define SYSTEM_CALL_BY(name, ...) SYSTEM_CALL_##name,
#include "shim/call/system_calls.def"
#undef SYSTEM_CALL
#undef SYSTEM_CALL_BY
	SYSTEM_CALL_COUNT,
};

extern const struct system_call SYSTEM_CALLS[SYSTEM_CALL_COUNT];

/* system_call_find(): what the call of that number means; NULL: nothing here. */
const struct system_call *system_call_find(long number);

/* system_call_flags(): its flags, or mode, as they were given.  arguments: six.  Of openat2(2) they
 * are in memory: not asked here. */
static inline uint32_t system_call_flags(const struct system_call *call, const void *arguments)
{
	const uint64_t *words = arguments;
	return call->more_flags | (call->flags == NO_PLACE ? 0 : (uint32_t)words[call->flags]);
}

#endif

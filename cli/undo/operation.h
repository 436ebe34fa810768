/*
 * Operations: each `seen undo` and `seen redo` that changed something, on disk beside the packs.
 *
 * 	UNDO/op-00000001/plan              what is to be done, item by item, and how far it is
 * 	UNDO/op-00000001/00000000.part     what it changed, as packs (tracker/content/pack.h)
 *
 * A plan is written and synced before anything is done.  It is a struct operation_head, its items,
 * and their texts.
 */
#ifndef SEEN_CLI_OPERATION_H
#define SEEN_CLI_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPERATION_MAGIC UINT64_C(0x316f646e6e656573) /* "seenndo1" */
#define OPERATION_PLAN "plan"

enum { OPERATION_NAME_BYTES = 16, OPERATION_MAX = 99999999 };

enum operation_kind { OPERATION_UNDO = 1, OPERATION_REDO };

enum operation_state {
	OPERATION_STARTED = 1, /* `seen undo --continue` finishes it */
	OPERATION_DONE,
	OPERATION_PARTLY, /* what was skipped or failed is left */
};

struct operation_head {
	uint64_t magic;
	uint64_t check; /* XXH3-64 of the head behind `redone_by`, the items but their state, the texts */
	/* not under the check: */
	uint32_t state;     /* enum operation_state */
	uint32_t redone_by; /* number of the redo that took it back; 0: none */
	/* under it: */
	uint32_t number;
	uint32_t kind; /* enum operation_kind */
	uint64_t time_ns;
	uint64_t behind_place; /* in the session's packs: it came behind all records before this */
	uint64_t from_place, from_time_ns; /* what it took back: records from there on */
	uint32_t step;                     /* and of this step alone; 0: of all */
	uint32_t reverses;                 /* redo: the number of the undo */
	uint32_t flags;                    /* enum operation_flags */
	uint32_t item_count;
	uint64_t text_bytes;
};

enum operation_flags {
	OPERATION_TIMES = 1, /* modification times come back, too */
	OPERATION_FORCE = 2,
	OPERATION_PATHS = 4, /* it was about some paths alone */
	OPERATION_INCOMPLETE =
		16, /* some paths of its step were left: it is PARTLY when it is done */
	OPERATION_NO_REDO =
		8, /* nothing is to be redone: all was left, or git's objects and logs alone came back */
	OPERATION_STEP = 32, /* one step was asked for: that of the record at from_place */
};

/* operation_name(): "op-00000001".  ret_name: OPERATION_NAME_BYTES. */
void operation_name(uint32_t number, char *ret_name);

/* operation_set(): sets its state, or which redo took it back. */
int operation_set_state(int directory, uint32_t number, enum operation_state state);
int operation_set_redone(int directory, uint32_t number, uint32_t redone_by);

/* operation_heads(): the heads of the operations that have a plan, as they stand, in their order.  A damaged plan is left out.
 *
 * directory: descriptor of the session's undo records.  ret_heads: free() them.  ret_next: the number of the next operation,
 * behind each that has a directory: whatever is in it is not written over; NULL: not asked for.  Returns 0 or a negative errno, as where one
 * plan cannot be read: what it did would count as never done. */
int operation_heads(int directory, struct operation_head **ret_heads, size_t *ret_count,
		    uint32_t *ret_next);

#endif

/*
 * Which undo records `seen undo` and `seen redo` mean.
 *
 * What an undo took back, and was not redone, counts as never done: `--last` twice takes two steps
 * back, and `--since` does not do again what was undone before its point.  Where all that came behind
 * a point is meant, the range has no selection, and gives exactly the state before the point.  Else
 * records are selected by their step, and what later ones changed is a conflict.
 */
#ifndef SEEN_CLI_UNDO_RANGE_H
#define SEEN_CLI_UNDO_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/operation.h"
#include "cli/undo/step.h"
#include "cli/undo/step_point.h"
#include "cli/undo/tree_change.h"

struct undo_ranges {
	const struct steps *steps;
	const struct tree_records *records;
	struct operation_head *heads; /* of the operations, in their order */
	size_t head_count;
	uint32_t next; /* the number of the next operation */
	bool *passed;  /* by the number of a step: undo_range_pass() */
	bool *apart;   /* of each of the heads: of a step before the range of undo_range_since() */
	/* of undo_range_step(), _redo(): */
	uint32_t step;
	uint32_t operation;
};

/* undo_ranges_read(): reads the operations of a session.
 *
 * directory: descriptor of its undo records.  ret_ranges: undo_ranges_free() it, in any case; the
 * ranges below borrow it.  Returns 0 or a negative errno. */
int undo_ranges_read(const struct steps *steps, const struct tree_records *records, int directory,
		     struct undo_ranges *ret_ranges);
void undo_ranges_free(struct undo_ranges *ranges);

/* undo_range_unfinished(): the number of an operation that was interrupted; 0: none. */
uint32_t undo_range_unfinished(const struct undo_ranges *ranges);

/* undo_range_step_of(): the one step that an operation is about; 0: more, or not known. */
uint32_t undo_range_step_of(const struct undo_ranges *ranges, const struct operation_head *head);

/* What `--last` means. */
struct undo_last {
	uint32_t step; /* 0: none */
	uint32_t left; /* a later step that an undo left, whole or in part; 0: none */
	bool is_stepless; /* what was changed last, and is not undone, is of no step: the journal lacks it */
};

/* undo_range_last(): the last step that changed something, also below one of the paths (absolute,
 * ended by NULL; NULL: anywhere), and that no undo was about.  That a sandbox's own mount points were removed is no
 * change. */
struct undo_last undo_range_last(const struct undo_ranges *ranges, char *const *paths);

/* undo_range_pass(): a step left all as it was: from now on it counts as undone. */
void undo_range_pass(struct undo_ranges *ranges, uint32_t step);

/* undo_range_undone(): marks the steps of which every change was undone, and not redone.  is_undone:
 * by number, all false. */
void undo_range_undone(const struct undo_ranges *ranges, bool *is_undone);

/* undo_range_all(): all, but that a sandbox's own mount points were removed.  undo_range_step(): one step.
 * undo_range_since(): all from a point on.  undo_range_redo(): the last undo that was not redone; false: there is none. */
void undo_range_all(struct undo_ranges *ranges, struct tree_range *ret_range);
void undo_range_step(struct undo_ranges *ranges, uint32_t step, struct tree_range *ret_range);
void undo_range_since(struct undo_ranges *ranges, const struct step_point *point,
		      struct tree_range *ret_range);
bool undo_range_redo(struct undo_ranges *ranges, struct tree_range *ret_range);

#endif

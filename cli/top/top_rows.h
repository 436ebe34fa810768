/*
 * Which rows `seen top` shows of what it knows, and in what order.  See top_model.h.
 */
#ifndef SEEN_CLI_TOP_ROWS_H
#define SEEN_CLI_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/top/top_model.h"

enum top_file_order {
	TOP_FILES_RECENT,
	TOP_FILES_BYTES,
	TOP_FILES_REPEATS,
	TOP_FILES_WRITES,
	TOP_FILES_ORDERS,
};

enum top_process_order {
	/* as they started each other: those that run, and those that ended last */
	TOP_PROCESSES_TREE,
	TOP_PROCESSES_RECENT,
	TOP_PROCESSES_READS,
	TOP_PROCESSES_WRITES,
	TOP_PROCESSES_RATE,
	TOP_PROCESSES_ORDERS,
};

/* How long a process that ended stays in the tree, by the journal's own times. */
enum { TOP_TREE_ENDED_S = 10, TOP_TREE_DEPTH_MAX = 32 };

/* A process in its place. */
struct top_branch {
	const struct top_process *process;
	int depth;     /* 0: no program that is shown started it, or it is no tree */
	bool is_last;  /* of those that one process started */
	uint64_t open; /* bit d: of those that stand at depth d above it, one more follows below */
};

/* What is shown now.  Pointers are valid until the model takes another event. */
struct top_rows {
	const struct top_file **files;
	struct top_branch *branches;
	const struct top_note **notes; /* the newest first */
	size_t file_count, branch_count, note_count;
	size_t files_hidden; /* of other directories than the workspace */
	size_t capacity;     /* of each array */
};

/* What is asked for. */
struct top_wish {
	enum top_file_order file_order;
	enum top_process_order process_order;
	bool is_workspace_only; /* files: those of the workspace, if it is known */
	const char *filter; /* what a row must hold, ASCII letters in either case; "": anything */
};

/* top_rows_files(), top_rows_processes(), top_rows_notes(): fill in one of the three.  rows: all
 * zero before the first call; top_rows_free() it.
 * Return 0 or -ENOMEM, the rows are as they were then. */
int top_rows_files(const struct top_model *model, const struct top_wish *wish,
		   struct top_rows *rows);
int top_rows_processes(const struct top_model *model, const struct top_wish *wish,
		       struct top_rows *rows);
int top_rows_notes(const struct top_model *model, const struct top_wish *wish,
		   struct top_rows *rows);
void top_rows_free(struct top_rows *rows);

#endif

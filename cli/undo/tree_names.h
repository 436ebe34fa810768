/*
 * A tree of names at a point of the past, over what is there at the walk's beginning: the walk of
 * tree_walk.h takes it from there backwards.
 *
 * A name without a node is as it was at the beginning.  A node has what is known of its name at the
 * point that the walk has reached, and where that thing is at the beginning (`current`).
 */
#ifndef SEEN_CLI_TREE_NAMES_H
#define SEEN_CLI_TREE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/tree_memory.h"
#include "cli/undo/tree_record.h"

/* What several names of one inode share, and what the session left of it. */
struct tree_inode {
	struct tree_inode *next;
	uint64_t dev, ino;
	int64_t creation_ns;        /* 0: not known */
	struct tree_object *object; /* its state at the walk's point; NULL: as at the beginning */
	const struct pack_state *left; /* how the session left it; NULL: not known */
	bool is_exact;                 /* `left` has the ctime, too: it is of an AFTER record */
	bool is_linked;                /* an undo gave it another name later: that set ctime */
	const struct tree_record *left_content; /* an AFTER with the content of `left`; NULL: none */
	const struct tree_record *
		closed; /* the next later record of a writer that has, or had, it open: AFTER, OPEN, CONTENT that
			 * is SHARED; NULL: none since its content was kept */
	struct tree_node
		*edited; /* tree_between.c: `external`, unless an older record says otherwise */
	const struct pack_state *edited_at,
		*edited_found;            /* as it was left; and found at its name next */
	bool edited_written_on;           /* left by a call that closes no writer */
	const struct tree_record *unseen; /* tree_unseen.h; NULL: none */
	bool changed;                     /* a record without an AFTER behind it changed it */
	bool other;                       /* a later record that is not selected changed it */
	struct tree_inode *later;         /* that an undo and its redo made of it; NULL: none */
};

enum tree_bytes {
	TREE_BYTES_CURRENT, /* as at the beginning */
	TREE_BYTES_RECORD,  /* as the record holds them, or says why not */
};

/* The state of a thing at the walk's point. */
struct tree_object {
	struct pack_state state;
	enum tree_bytes bytes;
	const struct tree_record *record;        /* BYTES_RECORD */
	const struct tree_attribute *attributes; /* that differ */
	struct tree_inode *inode;
};

enum tree_state {
	TREE_INHERITS, /* what is at `current` */
	TREE_ABSENT,
	TREE_OBJECT,
};

enum tree_current {
	TREE_CURRENT_BELOW, /* its name, below its parent's */
	TREE_CURRENT_AT,    /* a path of its own */
	TREE_CURRENT_NONE,  /* nowhere */
};

struct tree_node {
	struct tree_node *parent, *child, *next, *previous; /* children: a list */
	struct tree_node *chain;                            /* of the table */
	const char *name;
	const char *current_path; /* CURRENT_AT */
	struct tree_object *object;
	struct tree_inode *inode; /* that the session left at `current`; NULL: not known */
	struct tree_inode *
		anew; /* that an undo or redo made here, as records that were passed tell; NULL: none */
	int64_t after_ns; /* ctime of the AFTER record that `inode` is from; 0: another one */
	/* What the next later record found by this name, if it is of this count of walk.moves. */
	const struct pack_state *found;
	uint64_t found_moves;
	uint64_t hash;
	uint64_t boundary;                    /* of the record about it that the walk met last */
	uint64_t first_time_ns, last_time_ns; /* of the records that changed it */
	uint32_t process;                     /* of the last */
	uint32_t records;
	uint32_t metadata; /* bits of 1 << enum pack_metadata: METADATA records */
	uint8_t state;     /* enum tree_state */
	uint8_t current;   /* enum tree_current */
	bool touched;      /* a selected record is about it */
	bool other;        /* a later record that is not selected is about it */
	bool conflict;
	bool taken; /* it was renamed, and a later record that is not selected is about the name it had */
	bool external; /* an external program changed it behind the walk's point */
	bool crosses;  /* a selected record is about it before an external program did */
	bool moved;    /* since `left`: a rename sets ctime */
	bool bytes;    /* the bytes changed, or the thing itself */
};

struct tree_names {
	struct tree_memory *memory;
	struct tree_node *root;
	struct tree_node **table; /* by parent and name */
	size_t mask, count;
};

/* tree_names_init(): Returns 0 or -ENOMEM.  tree_names_destroy(): not the memory. */
int tree_names_init(struct tree_names *names, struct tree_memory *memory);
void tree_names_destroy(struct tree_names *names);

/* tree_names_find(): the node of a path, absolute; NULL: it has none.
 * tree_names_nearest(): the deepest node on the way to it; ret_rest: what is left of the path, ""
 * or without a slash before it. */
struct tree_node *tree_names_find(const struct tree_names *names, const char *path);
struct tree_node *tree_names_nearest(const struct tree_names *names, const char *path,
				     const char **ret_rest);

/* tree_names_get(): the same, made where it has none, with those above it.  NULL: no memory. */
struct tree_node *tree_names_get(struct tree_names *names, const char *path);

/* tree_names_detach(): takes a node with all below it out of the tree.  tree_names_attach(): puts it
 * in as `path`, where there must be none.  Returns 0 or -ENOMEM. */
void tree_names_detach(struct tree_names *names, struct tree_node *node);
int tree_names_attach(struct tree_names *names, struct tree_node *node, const char *path);

/* tree_node_path(): its path at the walk's point.  tree_node_current(): where what it is is at the
 * beginning; false: nowhere.
 *
 * ret_path: capacity bytes.  Return false also where the path does not fit. */
bool tree_node_path(const struct tree_node *node, char *ret_path, size_t capacity);
bool tree_node_current(const struct tree_node *node, char *ret_path, size_t capacity);

/* tree_names_current(): tree_node_current() of a path that need not have a node. */
bool tree_names_current(const struct tree_names *names, const char *path, char *ret_path,
			size_t capacity);

/* tree_names_next(): the node behind one in the order of parents first; NULL at the end. */
struct tree_node *tree_names_next(const struct tree_node *node);

#endif

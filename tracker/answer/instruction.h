/*
 * Instruction files (AGENTS.md and similar): which ones apply to a path, and which of them a scope
 * was given.
 *
 * Those that apply are in the directories from the workspace's root down to the path's own, root
 * first, by the names of [context] files, in that order.  A file is what (dev, ino) say: under two
 * names, or by a link, it is one.  It is given once in each version and epoch; no window ends that,
 * since instructions are not asked for again.
 *
 * Where `seen run` keeps an index of them, that tells in which directories to look.  It is a hint:
 * what is given is always read from the file at that moment.
 *
 * All functions are lock-free, async-signal-safe, and hold no descriptor when they return unless
 * they say so.
 */
#ifndef SEEN_TRACKER_INSTRUCTION_H
#define SEEN_TRACKER_INSTRUCTION_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/answer/delivery.h"
#include "tracker/segment/segment.h"

enum {
	INSTRUCTION_BYTES_MAX = 65536,   /* a longer file is no instruction for a model */
	INSTRUCTION_HEADER_BYTES = 8192, /* of its header line, NUL counted */
};

/* instruction_is_named(): has a path the name of an instruction file, and is it in the workspace
 * and not excluded ([paths] exclude, [watch] exclude)?  path: absolute, normalized. */
bool instruction_is_named(const struct segment *segment, const char *path);

/* instruction_is_excluded(): does [paths] or [watch] exclude name it, or a directory above it?
 * path: absolute, normalized. */
bool instruction_is_excluded(const struct segment *segment, const char *path);

/* The places where instruction files for a path may be. */
struct instruction_walk {
	const char *path; /* borrowed */
	/* of the directory that is inspected; 0: the root of the file system */
	size_t directory_bytes;
	const char *name; /* last one returned for this directory; NULL: none yet */
	unsigned number;  /* of the next name */
	uint64_t names;   /* that are there, as far as is known */
	bool is_directory, by_index, ended;
};

/* instruction_walk_init(): for a path.
 *
 * path: absolute, normalized, borrowed; one that is not in the workspace has none.  is_directory:
 * instructions of its own directory apply to it.
 * by_index: places of which the index knows that there is nothing are left out. */
void instruction_walk_init(const struct segment *segment, const char *path, bool is_directory,
			   bool by_index, struct instruction_walk *ret_walk);

/* instruction_walk_next(): the next place: ret_path, capacity bytes.  Excluded ones, and what does
 * not fit, are left out.  Returns false at the end. */
bool instruction_walk_next(const struct segment *segment, struct instruction_walk *walk,
			   char *ret_path, size_t capacity);

/* instruction_open(): opens one to read.
 *
 * A symbolic link is followed as long as it stays in the workspace and leads to nothing that is
 * excluded: what lies elsewhere is not meant for the model.
 * Returns a descriptor, close-on-exec; -ENOENT; -EXDEV where it leads out of the workspace or to
 * what is excluded; -EINVAL for what is no regular file; -EFBIG beyond INSTRUCTION_BYTES_MAX;
 * errors of open(2). */
int instruction_open(const struct segment *segment, const char *path, struct stat *ret_stat);

/* instruction_header(): the line that an instruction file is given under, `[Loaded from DIR/NAME]`
 * and a newline: DIR is relative to the workspace, `.` for its root; control characters are
 * escaped.
 * Returns its length, or -ENAMETOOLONG. */
int instruction_header(const struct segment *segment, const char *path, char *ret_text,
		       size_t capacity);

/* instruction_is_given(): was the scope given this file in this version, in the moment's epoch, by
 * a command that kept to `limits`? */
bool instruction_is_given(const struct segment *segment, const struct moment *moment, uint64_t dev,
			  uint64_t ino, const struct version *version,
			  const struct output_limits *limits);

/* instruction_record(): it was.  moment: when its printing began; its command_id is not 0.  Returns
 * 0; -ENOENT without a scope; -ENOSPC (counted as lost). */
int instruction_record(const struct segment *segment, const struct moment *moment, uint64_t dev,
		       uint64_t ino, const struct version *version);

/* instruction_forget(): it is to be given again in whatever version, in one scope or, for 0, in
 * all.  Returns how often it had been given. */
unsigned instruction_forget(const struct segment *segment, uint64_t scope_id, uint64_t dev,
			    uint64_t ino);

/* instruction_names_bit(): the bit of a name in the index; 0: it is no instruction file's. */
uint64_t instruction_names_bit(const struct segment *segment, const char *name);

/* instruction_index_set(): what a directory holds, by instruction_names_bit().  For the program.
 *
 * directory: absolute, normalized.  Returns 0, or -ENOSPC: then the index must not be renewed any
 * more. */
int instruction_index_set(const struct segment *segment, const char *directory, uint64_t names);

/* instruction_index_renew(): the index is complete for `for_ns` from now on; 0: it is not. */
void instruction_index_renew(const struct segment *segment, uint64_t for_ns);

#endif

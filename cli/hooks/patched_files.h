/*
 * The files that a patch of the form "*** Begin Patch" names, as apply_patch of codex, cline
 * and opencode takes it.
 */
#ifndef SEEN_CLI_PATCHED_FILES_H
#define SEEN_CLI_PATCHED_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/hooks/adapter.h"

/* A file that the patch is about to change. */
struct patched_file {
	char name[PATH_MAX]; /* absolute, or from the directory */
	enum hook_tool_kind kind;
};

/* patched_files_at(): the file of that number, from 0.  Returns false where there is none. */
bool patched_files_at(const char *patch, size_t index, struct patched_file *ret_file);

#endif

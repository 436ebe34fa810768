/*
 * The files that a patch of the form "*** Begin Patch" names, as apply_patch of codex and cline
 * takes it.
 */
#ifndef SEEN_CLI_PATCHED_FILES_H
#define SEEN_CLI_PATCHED_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/hooks/adapter.h"

/* patched_files_at(): the file of that number, from 0.  Returns false where there is none. */
bool patched_files_at(const char *patch, size_t index, struct hook_edit *ret_edit);

#endif

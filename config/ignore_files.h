/*
 * Agents' ignore files (.cursorignore, .clineignore, .aiexclude ...), at the workspace's root: what they
 * name is not for the model.  Each becomes rules: [rule ignore.cursorignore], with the action that
 * [rules] ignore_files says.
 *
 * The form is gitignore(5)'s: the last pattern that matches decides, and what is below an excluded
 * directory cannot be included again.  A rule's `except` wins over its `path`, so a pattern behind an
 * including one begins another rule: each `except` holds for what stands before it.
 */
#ifndef SEEN_CONFIG_IGNORE_FILES_H
#define SEEN_CONFIG_IGNORE_FILES_H

#include "config/config.h"

/* The bytes of a rule's glob at most. */
enum { IGNORE_FILES_GLOB_BYTES = 512 };

/* ignore_files_glob(): one line of such a file, as a rule's glob.
 *
 * line: without its newline.  ret_glob: IGNORE_FILES_GLOB_BYTES.  ret_includes: it begins with `!`.
 * False: the line means nothing (a comment, too long, no UTF-8). */
bool ignore_files_glob(const char *line, char *ret_glob, bool *ret_includes);

/* ignore_files_read(): adds the rules of all such files of the workspace.  What there is no room for,
 * and a file that cannot be read, is the config's warning: no file of a workspace can stop a run.
 *
 * Returns 0 or -ENOMEM. */
int ignore_files_read(struct config *config);

#endif

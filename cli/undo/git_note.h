/*
 * The lines that agents wrote of a commit, as a note in the Git AI Standard v3.0.0 (authorship/3.0.0):
 * https://github.com/git-ai-project/git-ai, specs/git_ai_standard_v3.0.0.md.
 *
 * Lines that the commit brought, and no other, of files that are on disk as in the commit.  A line has the
 * session's agent only where a step of that agent wrote it.  All other lines are left out: to the standard
 * they are untracked.  That a person wrote a line is never stated, since an external program may be anything.
 */
#ifndef SEEN_CLI_GIT_NOTE_H
#define SEEN_CLI_GIT_NOTE_H

#include <stdio.h>

#include "cli/undo/undo_session.h"

/* git_note_write(): of HEAD, of the repository that the workspace is in.
 *
 * Says on stderr what is wrong, and which files are left out and why.  Returns an exit code. */
int git_note_write(FILE *file, const struct undo_session *session);

#endif

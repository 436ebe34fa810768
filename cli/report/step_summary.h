/*
 * The summary of a step of GitHub Actions: the file that $GITHUB_STEP_SUMMARY names, Markdown, of
 * which GitHub takes 1 MiB a step and nothing of a longer one.
 */
#ifndef SEEN_CLI_STEP_SUMMARY_H
#define SEEN_CLI_STEP_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

enum { STEP_SUMMARY_BYTES_MAX = 1 << 20 };

/* step_summary_add(): appends a text to the file, whole or not at all.
 *
 * text: lines, length bytes.  Where it would be too long with what is there, it is cut behind a
 * line, and a last line says so.
 * Returns an exit code; but for EXIT_CODE_OK, and where something was cut, it says on stderr why:
 * EXIT_CODE_USAGE where the variable is not set, EXIT_CODE_OUTPUT where nothing could be added. */
int step_summary_add(const char *text, size_t length);

#endif

/*
 * A list of files in one line of text for the model: "a.c (+3 -1, by another program), b.c (deleted)".
 */
#ifndef SEEN_CLI_HOOKS_HOOK_LIST_H
#define SEEN_CLI_HOOKS_HOOK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tracker/segment/segment.h"

enum { HOOK_LIST_MAX = 20 }; /* so many files are named, the rest is counted */

struct hook_list {
	FILE *out; /* owned by the caller */
	const char *head;
	size_t count;
};

/* hook_list_add(): adds one, behind the head where it is the first.
 *
 * path: absolute, or below the workspace; bytes of others.  words: details, "" for none.  Returns
 * whether it is named. */
bool hook_list_add(struct hook_list *list, const struct segment *segment, const char *path,
		   const char *words);

/* hook_list_finish(): ends the line, where there is one. */
void hook_list_finish(const struct hook_list *list);

#endif

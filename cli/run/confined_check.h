/*
 * What a confined run checks before it begins (confined.h): each protected file is out of reach.  The list is written by
 * `seen run`, and read by the run inside.
 */
#ifndef SEEN_CLI_CONFINED_CHECK_H
#define SEEN_CLI_CONFINED_CHECK_H

#include <stdbool.h>

#include "cli/confine/confinement.h"
#include "config/config.h"

struct confined_list {
	const struct confinement *confinement;
	enum confine_set set;
	bool by_landlock; /* else another file stands in place of a protected one */
};

/* confined_write_list(): writes it to a file in memory.  Returns its descriptor, with FD_CLOEXEC, or a negative
 * errno. */
int confined_write_list(const struct confined_list *list);

/* confined_check_list(): reads the list, and checks each file of it.
 *
 * list: its descriptor, closed by this.  ret_text: CONFINED_TEXT_BYTES: what is confined.
 * False with a line: something is in reach that ought not to be. */
bool confined_check_list(int list, char *ret_text);

#endif

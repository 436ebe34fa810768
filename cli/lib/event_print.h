/*
 * Events as text: a line for people, a line of JSON for programs (seen/log/1: docs/journal.md, config/data/log.schema.json).
 */
#ifndef SEEN_CLI_EVENT_PRINT_H
#define SEEN_CLI_EVENT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/lib/events.h"

/* event_print_head(): the table's first line. */
void event_print_head(FILE *file);

/* event_print_line(): one line of the table.
 *
 * workspace: paths below it are shown as what follows it; NULL: not known.  A path whose folder is not known begins with "?/".
 * Bytes of others never reach the terminal as they are: path_escape(). */
void event_print_line(FILE *file, const struct event *event, const char *workspace);

/* event_print_json(): one line, one object.  Returns 0 or -ENOMEM; what `file` says of errors is the caller's to ask. */
int event_print_json(FILE *file, const struct event *event);

/* event_decision_name(): the word for an enum decision; NULL for a number that is none. */
const char *event_decision_name(unsigned decision);

#endif

/*
 * Events as text: a line for people, a line of JSON for programs (seen/log/1: docs/journal.md,
 * config/data/schema/log.schema.json).
 */
#ifndef SEEN_CLI_EVENT_PRINT_H
#define SEEN_CLI_EVENT_PRINT_H

#include <stdio.h>

#include "cli/journal/events.h"

/* event_print_head(): the table's first line. */
void event_print_head(FILE *file);

/* event_print_line(): one line of the table.
 *
 * workspace: paths below it are shown as what follows it; NULL: not known.  A path whose directory
 * is not known begins with "?/". Bytes of others never reach the terminal as they are:
 * path_escape(). */
void event_print_line(FILE *file, const struct event *event, const char *workspace);

/* event_print_subject(): the part of that line that is the path or name which the event is
 * about. */
void event_print_subject(FILE *file, const struct event *event, const char *workspace);

/* event_print_json(): one line, one object.
 *
 * journal: nonce of the journal, hexadecimal digits: for collectors of the events of many, where a
 * record's number is no name by itself.  NULL: not printed. Returns 0 or -ENOMEM; the caller checks
 * the errors of `file`. */
int event_print_json(FILE *file, const char *journal, const struct event *event);

#endif

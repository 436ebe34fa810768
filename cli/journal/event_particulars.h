/*
 * What people are shown of an event behind its path.  Bytes of others never reach the terminal as
 * they are.
 */
#ifndef SEEN_CLI_EVENT_PARTICULARS_H
#define SEEN_CLI_EVENT_PARTICULARS_H

#include <stdio.h>

#include "cli/journal/events.h"

/* event_particulars_show(): prints an event's details beside its path, two spaces before it,
 * perhaps nothing.
 *
 * workspace: paths below it are shown as what follows it; NULL: not known. */
void event_particulars_show(FILE *file, const struct event *event, const char *workspace);

/* event_name_show(): a name that an event has: resolved, or as the call got it; each NULL where
 * it is not known.  One whose directory is not known begins with "?/". */
void event_name_show(FILE *file, const char *resolved, const char *given, const char *workspace);

/* event_safe(): path_escape() into memory of its own, until the next call. */
const char *event_safe(const char *bytes);

#endif

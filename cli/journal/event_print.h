/*
 * Events as text: a line for people, a line of JSON for programs (seen/log/1: docs/journal.md, config/data/schema/log.schema.json).
 */
#ifndef SEEN_CLI_EVENT_PRINT_H
#define SEEN_CLI_EVENT_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/journal/events.h"

/* event_print_head(): the table's first line. */
void event_print_head(FILE *file);

/* event_print_line(): one line of the table.
 *
 * workspace: paths below it are shown as what follows it; NULL: not known.  A path whose folder is not known begins with "?/".
 * Bytes of others never reach the terminal as they are: path_escape(). */
void event_print_line(FILE *file, const struct event *event, const char *workspace);

/* event_print_subject(), event_print_details(): the parts of that line: the path or name that the event is about; and what else there is
 * to say of it, two spaces before it, perhaps nothing. */
void event_print_subject(FILE *file, const struct event *event, const char *workspace);
void event_print_details(FILE *file, const struct event *event, const char *workspace);

/* event_print_json(): one line, one object.
 *
 * journal: nonce of the journal, hexadecimal digits: for whoever collects the events of many, where a record's number is no name by
 * itself.  NULL: not told.  Returns 0 or -ENOMEM; what `file` says of errors is the caller's to ask. */
int event_print_json(FILE *file, const char *journal, const struct event *event);

/* Who takes the members of an event, one after the other: the first member of a struct that knows what to do with them.
 * Names are static texts; other texts are valid for the call. */
struct event_members {
	/* Takes the reference to value; NULL: there was no memory for it. */
	void (*put)(struct event_members *members, const char *name, json_t *value);
	/* Faster, for what most members are.  Where they are NULL, put() is told.  bytes: of others, or a word; NULL: null. */
	void (*put_text)(struct event_members *members, const char *name, const char *bytes);
	void (*put_number)(struct event_members *members, const char *name, int64_t number);
};

/* event_print_common(): tells the members that each event has, in the words and the order of seen/log/1: number, time ..., source. */
void event_print_common(struct event_members *members, const struct event *event);

/* event_print_members(): tells what an event of this op has beside these: path, directory, resolved ...  None of EVENT_DAMAGED. */
void event_print_members(struct event_members *members, const struct event *event);

/* event_error_name(): "ENOENT".  ret_text: EVENT_ERROR_BYTES, for a number that has no name.  Returns it, or static text. */
enum { EVENT_ERROR_BYTES = 32 };
const char *event_error_name(int error, char *ret_text);

/* event_decision_name(): the word for an enum decision; NULL for a number that is none. */
const char *event_decision_name(unsigned decision);

/* The same for an enum guard_verdict, an enum guard_reason, and the flags of CHANGED. */
const char *event_verdict_name(unsigned verdict);
const char *event_guard_reason_name(unsigned reason);
const char *event_change_name(uint32_t flags);

#endif

/*
 * An event as JSON for programs: the members of seen/log/1 (docs/journal.md), each declared once in
 * members.def.
 */
#ifndef SEEN_CLI_EVENT_MEMBERS_H
#define SEEN_CLI_EVENT_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/journal/events.h"

/* Who takes the members of an event, one after the other: the first member of a struct that
 * knows what to do with them. Names are static texts; other texts are valid for the call. */
struct event_members {
	/* Takes the reference to value; NULL: there was no memory for it. */
	void (*set)(struct event_members *members, const char *name, json_t *value);
	/* Faster, for what most members are.  Where they are NULL, set() is called.  bytes: of
	 * others, or a word; NULL: null. */
	void (*set_text)(struct event_members *members, const char *name, const char *bytes);
	void (*set_number)(struct event_members *members, const char *name, int64_t number);
};

/* event_members_common(): the members that each event has, in the order of seen/log/1: number,
 * time ..., source. */
void event_members_common(struct event_members *members, const struct event *event);

/* event_members_own(): what an event of this op has beside these: path, directory, resolved ... 
 * None of EVENT_DAMAGED. */
void event_members_own(struct event_members *members, const struct event *event);

#endif

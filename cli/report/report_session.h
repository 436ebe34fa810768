/*
 * What the session itself made of events: conflicts, savings, rules, runs and coverage.
 */
#ifndef SEEN_CLI_REPORT_SESSION_H
#define SEEN_CLI_REPORT_SESSION_H

#include "cli/report/report_rows.h"

/* report_session_add(): adds an event's conflicts, savings, rules, runs and coverage.
 * report_session_finish(): behind the last. */
void report_session_add(struct report_gather *gather, const struct event *event);
void report_session_finish(struct report *report);

#endif

/*
 * Tickets: what a program finds its slot by, `SEEN_P=pid:slot:serial` in its environment.  Agents
 * save an environment once and restore it for every command: a ticket is judged, not believed.
 */
#ifndef SEEN_TRACKER_TICKET_H
#define SEEN_TRACKER_TICKET_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/process/process_slot.h"
#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

#define TICKET_VARIABLE "SEEN_P"

enum { TICKET_BYTES = 64 }; /* of `SEEN_P=...`, NUL counted */

/* What the slot is that a ticket names: own (announced for the subject), parent's (it is the
 * parent's, or that of an ancestor behind unobserved ones), or void. */
enum ticket_kind { TICKET_VOID, TICKET_OWN, TICKET_PARENT };

/* ticket_write(): pid: of the process that announces; process: the announced slot.  ret_ticket:
 * TICKET_BYTES, `SEEN_P=...` ended by NUL. */
void ticket_write(uint32_t pid, struct process_ref process, char *ret_ticket);

/* ticket_parse(): reads the value of SEEN_P.  False: it is damaged. */
bool ticket_parse(const char *ticket, uint64_t *ret_pid, struct process_ref *ret_process);

/* ticket_find(): reads the slot that a ticket names, and judges it.  ret_copy: its content, unless
 * it is void. */
enum ticket_kind ticket_find(const struct segment *segment, struct subject subject,
			     struct process_ref named, struct process_slot *ret_copy);

/* ticket_search(): finds the slot that a lost ticket would have named: the latest one that is the
 * subject's own, else its parent's.  ret_process, ret_copy: set unless the result is void. */
enum ticket_kind ticket_search(const struct segment *segment, struct subject subject,
			       struct process_ref *ret_process, struct process_slot *ret_copy);

#endif

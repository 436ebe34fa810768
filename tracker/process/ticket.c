/* Tickets: see ticket.h. */
#include "tracker/process/ticket.h"

#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/process/ancestors.h"
#include "tracker/process/kernel_status.h"

void ticket_write(uint32_t pid, struct process_ref process, char *ret_ticket)
{
	static const char NAME[] = TICKET_VARIABLE "=";
	char *at = ret_ticket;
	memcpy(at, NAME, sizeof(NAME) - 1);
	at = decimal_write(at + sizeof(NAME) - 1, pid);
	*at++ = ':';
	at = decimal_write(at, process.index);
	*at++ = ':';
	at = decimal_write(at, process.serial);
	*at = '\0';
}

bool ticket_parse(const char *ticket, uint64_t *ret_pid, struct process_ref *ret_process)
{
	struct process_ref process;
	if (!(ticket = decimal_parse(ticket, ret_pid)) || *ticket++ != ':' ||
	    !(ticket = decimal_parse(ticket, &process.index)) || *ticket++ != ':' ||
	    !(ticket = decimal_parse(ticket, &process.serial)) || *ticket != '\0')
		return false;
	*ret_process = process;
	return true;
}

/* Judges the slot that a ticket names: own (announced for the subject), parent's (it is the
 * parent's, or that of an ancestor behind unobserved ones), or void. */
static enum ticket_kind ticket_judge(const struct segment *segment, struct subject subject,
				     const struct process_slot *slot)
{
	uint32_t self = subject_pid(subject), parent = subject_parent(subject);

	/* Another PID namespace numbers its processes anew: equal numbers there mean nothing.  It
	 * is only told where it matters: an answer asks process_anchor_alive() first. */
	if (slot->state == PROCESS_ANNOUNCED) {
		if (slot->pid == self || (slot->pid == 0 && parent && slot->spawner_pid == parent))
			return TICKET_OWN;
	} else if (slot->state != PROCESS_ATTACHED) {
		return TICKET_VOID;
	}
	uint32_t holder = slot->pid ? slot->pid : slot->spawner_pid;
	if (holder == self)
		return TICKET_VOID; /* left over from an image that was replaced without our knowing */
	return (parent && holder == parent) || ancestors_nearest_is(segment, subject, holder)
		       ? TICKET_PARENT
		       : TICKET_VOID;
}

enum ticket_kind ticket_find(const struct segment *segment, struct subject subject,
			     struct process_ref named, struct process_slot *ret_copy)
{
	struct process_slot *slot = named.serial ? process_slot_at(segment, named.index) : NULL;
	/* It will be written to: one page fault instead of two. */
	if (slot && !subject.pid)
		(void)__atomic_fetch_or(&slot->record, 0, __ATOMIC_RELAXED);
	if (!slot || !slot_read(slot, ret_copy, PROCESS_CHECKED_BYTES) ||
	    ret_copy->serial != named.serial)
		return TICKET_VOID;
	return ticket_judge(segment, subject, ret_copy);
}

enum ticket_kind ticket_search(const struct segment *segment, struct subject subject,
			       struct process_ref *ret_process, struct process_slot *ret_copy)
{
	enum ticket_kind best = TICKET_VOID;
	uint32_t self = subject_pid(subject), parent = subject_parent(subject);
	uint32_t pid_ns = process_pid_ns();

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		const struct process_slot *slot = process_slot_at(segment, i);
		uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_RELAXED);
		struct process_slot copy;
		if ((pid != self && pid != parent && pid != 0) ||
		    !slot_read(slot, &copy, PROCESS_CHECKED_BYTES) || !copy.serial || !pid_ns ||
		    copy.context.process_ns != pid_ns)
			continue;
		enum ticket_kind kind = pid == parent || pid == self || copy.spawner_pid == parent
						? ticket_judge(segment, subject, &copy)
						: TICKET_VOID;
		bool better = kind == TICKET_OWN ? best != TICKET_OWN
						 : kind == TICKET_PARENT && best == TICKET_VOID;
		if (!better &&
		    (kind != best || kind == TICKET_VOID || copy.time_ns < ret_copy->time_ns))
			continue;
		best = kind;
		*ret_process = (struct process_ref){ i, copy.serial };
		*ret_copy = copy;
	}
	return best;
}

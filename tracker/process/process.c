/* Processes: see process.h. */
#include "tracker/process/process.h"

#include <string.h>

#include "tracker/process/kernel_status.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

struct process_ref process_announce(const struct segment *segment, struct subject subject,
				    const struct context *starter, struct process_ref self,
				    pid_t pid, const char *executable, char *const argv[],
				    char *ret_ticket)
{
	struct process_ref process = { 0, 0 };
	struct process_slot copy;
	struct invocation invocation;
	struct process_slot *slot = process_slot_claim(segment, &copy, &process.index);

	segment_count(segment, COUNTER_processes_announced, 1);
	ret_ticket[0] = '\0';
	if (!slot)
		return process;
	process.serial = segment_serial(segment);
	role_invocation(segment, executable, argv, &invocation);

	uint32_t spawner = subject_pid(subject);
	copy.serial = process.serial;
	copy.pid = (uint32_t)pid;
	copy.spawner_pid = spawner;
	copy.state = PROCESS_ANNOUNCED;
	copy.starter_role = starter->role;
	copy.starter_index = self.serial ? self.index : UINT64_MAX;
	copy.time_ns = sys_boottime_ns();
	copy.context = *starter;
	copy.context.flags &= ~(uint32_t)CONTEXT_OWN_FLAGS;
	/* Until the program itself says what it is, what it resembles; a child of an unobserved
	 * program goes by this. */
	copy.context.role = invocation.role;
	copy.context.profile = invocation.role == ROLE_AGENT ? invocation.profile
							     : starter->profile;
	memcpy(copy.name, invocation.name, sizeof(copy.name));
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	ticket_write(spawner, process, ret_ticket);
	return process;
}

void process_set_pid(const struct segment *segment, struct process_ref process, pid_t pid)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);
	if (!slot)
		return;
	if (copy.pid == 0) {
		copy.pid = (uint32_t)pid;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	} else {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
	}
}

void process_renumber(const struct segment *segment, struct process_ref process, pid_t pid)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);
	if (!slot)
		return;
	copy.pid = (uint32_t)pid;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
}

static void set_state(const struct segment *segment, struct process_ref process,
		      enum process_state state)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);
	if (!slot)
		return;
	copy.state = state;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
}

void process_withdraw(const struct segment *segment, struct process_ref process)
{
	segment_count(segment, COUNTER_processes_withdrawn, 1);
	set_state(segment, process, PROCESS_FREE);
}

bool process_read(const struct segment *segment, uint64_t index, struct process_slot *ret_process)
{
	const struct process_slot *slot = process_slot_at(segment, index);
	if (!slot || !slot_read(slot, ret_process, PROCESS_CHECKED_BYTES))
		return false;
	for (int i = 0; i < PROCESS_COUNTS; i++)
		ret_process->counts[i] = __atomic_load_n(&slot->counts[i], __ATOMIC_RELAXED);
	ret_process->record = __atomic_load_n(&slot->record, __ATOMIC_RELAXED);
	ret_process->mechanism = __atomic_load_n(&slot->mechanism, __ATOMIC_RELAXED);
	return true;
}

uint64_t *process_counts(const struct segment *segment, struct process_ref process)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	return slot ? slot->counts : NULL;
}

void process_count(const struct segment *segment, struct process_ref process,
		   enum process_count count)
{
	uint64_t *counts = process_counts(segment, process);
	if (counts)
		(void)__atomic_fetch_add(&counts[count], 1, __ATOMIC_RELAXED);
}

void process_set_record(const struct segment *segment, struct process_ref process, uint32_t number)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->record, number, __ATOMIC_RELAXED);
}

uint32_t process_record(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? process_slot_at(segment, process.index)
							 : NULL;
	return slot ? __atomic_load_n(&slot->record, __ATOMIC_RELAXED) : 0;
}

void process_set_writes(const struct segment *segment, struct process_ref process, uint64_t key)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->writes, key, __ATOMIC_RELAXED);
}

uint64_t process_writes(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? process_slot_at(segment, process.index)
							 : NULL;
	return slot ? __atomic_load_n(&slot->writes, __ATOMIC_RELAXED) : 0;
}

void process_set_keeps(const struct segment *segment, struct process_ref process, uint32_t keeps)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->keeps, (uint16_t)keeps, __ATOMIC_RELAXED);
}

uint32_t process_keeps(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? process_slot_at(segment, process.index)
							 : NULL;
	return slot ? __atomic_load_n(&slot->keeps, __ATOMIC_RELAXED) : 0;
}

void process_set_mechanism(const struct segment *segment, struct process_ref process,
			   enum mechanism mechanism)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->mechanism, (uint16_t)mechanism, __ATOMIC_RELAXED);
}

uint32_t process_mechanism(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? process_slot_at(segment, process.index)
							 : NULL;
	return slot ? __atomic_load_n(&slot->mechanism, __ATOMIC_RELAXED) : 0;
}

void process_exit(const struct segment *segment, struct process_ref process)
{
	set_state(segment, process, PROCESS_EXITED);
}

static void set_flag(const struct segment *segment, struct process_ref process, uint32_t flag)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);
	if (!slot)
		return;
	copy.context.flags |= flag;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
}

void process_ended_before_calls(const struct segment *segment, struct process_ref process)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);

	if (!slot)
		return;
	if (copy.state != PROCESS_ANNOUNCED) {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
		return;
	}
	copy.state = PROCESS_EXITED;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	segment_count(segment, COUNTER_processes_supervised, 1);
}

void process_note_partial(const struct segment *segment, struct process_ref process)
{
	set_flag(segment, process, CONTEXT_PARTIAL);
}

void process_note_past_libc(const struct segment *segment, struct process_ref process)
{
	set_flag(segment, process, CONTEXT_PAST_LIBC);
}

bool process_is_partly_observed(const struct process_slot *process)
{
	uint32_t flags = process->context.flags;

	if (process->state != PROCESS_ATTACHED && process->state != PROCESS_EXITED)
		return false;
	return (flags & CONTEXT_PARTIAL) ||
	       ((flags & CONTEXT_PAST_LIBC) && !(flags & CONTEXT_SUPERVISED));
}

void process_note_supervised(const struct segment *segment, struct process_ref process)
{
	set_flag(segment, process, CONTEXT_SUPERVISED);
}

/* Is it as it was read, still?  What stands in its slot for another program tells nothing of it. */
static bool is_announced_still(const struct segment *segment, uint64_t index,
			       const struct process_slot *process)
{
	struct process_slot now;

	return !process_read(segment, index, &now) || now.serial != process->serial ||
	       now.state == PROCESS_ANNOUNCED;
}

bool process_is_unobserved(const struct segment *segment, uint64_t index,
			   const struct process_slot *process, uint64_t now_ns,
			   uint64_t patience_ns)
{
	return process->state == PROCESS_ANNOUNCED &&
	       (now_ns - process->time_ns >= patience_ns || process_is_gone(process)) &&
	       is_announced_still(segment, index, process);
}

bool process_next(const struct segment *segment, uint64_t *index, struct process_slot *ret_process)
{
	for (uint64_t used = segment_processes_used(segment); *index < used;) {
		const struct process_slot *slot = process_slot_at(segment, (*index)++);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		if ((state == PROCESS_ANNOUNCED || state == PROCESS_ATTACHED) &&
		    slot_read(slot, ret_process, PROCESS_CHECKED_BYTES))
			return true;
	}
	return false;
}

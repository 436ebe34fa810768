/* Ancestors: see ancestors.h. */
#include "tracker/process/ancestors.h"

#include "tracker/process/capture.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process_slot.h"

enum { ANCESTORS_MAX = 64 }; /* levels of /proc walked */

bool process_anchor_alive(struct subject subject, const struct context *context, uint32_t shell_pid)
{
	return process_anchor_alive_in(subject, context, shell_pid, 0);
}

bool process_anchor_alive_in(struct subject subject, const struct context *context,
			     uint32_t shell_pid, uint64_t pid_ns)
{
	uint32_t anchor = context->anchor_pid;
	uint32_t pid = subject_pid(subject);

	if (!anchor || !context->pid_ns || (pid_ns ? pid_ns : process_pid_ns()) != context->pid_ns)
		return false;
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		if (pid == shell_pid)
			shell_pid = 0; /* passed */
		if (pid == anchor)
			return shell_pid == 0;
		pid = level == 0 ? subject_parent(subject) : process_parent_of(pid);
	}
	return false;
}

bool ancestors_are_agents_own(struct subject subject, const struct context *context,
			      uint32_t *ret_fork, struct kernel_status *ret_status)
{
	struct identity agent, between;
	uint32_t pid = subject_parent(subject), fork = 0;

	*ret_fork = 0;
	if (pid == context->anchor_pid)
		return true;
	if (!kernel_executable_of(context->anchor_pid, &agent))
		return false;
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		struct kernel_status status;
		if (pid == context->anchor_pid) {
			*ret_fork = fork;
			return true;
		}
		if (!kernel_executable_of(pid, &between) || !identity_equal(&between, &agent) ||
		    !kernel_status_of(pid, &status))
			return false;
		if (status.is_fork && !fork) {
			fork = pid;
			*ret_status = status;
		}
		pid = process_parent_of(pid);
	}
	return false;
}

/* Is any slot of a living process one of this pid? */
static bool is_registered(const struct segment *segment, uint32_t pid)
{
	for (uint64_t i = 0, used = process_slots_used(segment); i < used; i++) {
		const struct process_slot *slot = process_slot_at(segment, i);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		if (__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) == pid &&
		    state == PROCESS_ATTACHED)
			return true;
	}
	return false;
}

bool ancestors_nearest_is(const struct segment *segment, struct subject subject, uint32_t pid)
{
	uint32_t at = subject_parent(subject);
	for (int level = 0; level < ANCESTORS_MAX && at > 0; level++) {
		if (at == pid)
			return true;
		if (is_registered(segment, at))
			return false;
		at = process_parent_of(at);
	}
	return false;
}

bool ancestors_have_registered(const struct segment *segment, struct subject subject)
{
	uint32_t at = subject_parent(subject);
	for (int level = 0; level < ANCESTORS_MAX && at > 0; level++) {
		if (is_registered(segment, at))
			return true;
		at = process_parent_of(at);
	}
	return false;
}

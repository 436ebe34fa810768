/* Ancestors: see ancestors.h. */
#include "tracker/process/ancestors.h"

#include "tracker/process/identity.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/launcher.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/role.h"

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

/* What a process of the session runs now. */
static bool find_slot(const struct segment *segment, uint32_t pid, struct process_slot *ret_slot)
{
	uint32_t pid_ns = process_pid_ns();
	bool found = false;

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		const struct process_slot *slot = process_slot_at(segment, i);
		struct process_slot copy;
		if (__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != pid ||
		    !slot_read(slot, &copy, PROCESS_CHECKED_BYTES) || copy.pid != pid ||
		    copy.state != PROCESS_ATTACHED || copy.context.process_ns != pid_ns ||
		    (found && copy.time_ns < ret_slot->time_ns))
			continue;
		*ret_slot = copy;
		found = true;
	}
	return found;
}

/* Is a process another start of the agent's executable, or a fork of it?  Of an interpreter's, only one that runs an
 * agent. */
static bool is_agents_own(const struct segment *segment, uint32_t pid, const struct identity *agent)
{
	struct identity image;
	struct process_slot slot;

	return kernel_executable_of(pid, &image) && identity_equal(&image, agent) &&
	       (!find_slot(segment, pid, &slot) || slot.context.role == ROLE_AGENT);
}

/* Does a process that lies between an agent and the subject pass that one's command on?  It has the subject's output as
 * its own, and it either has the subject's command line as the end of its own one (bwrap ... -- bash -c CMD), or the
 * subject is in a sandbox that the agent is not in. */
static bool passes_on(uint32_t pid, struct subject subject, const struct identity *output,
		      uint32_t agent)
{
	struct stat stat;

	if (subject_stat((struct subject){ pid }, 1, &stat) < 0)
		return false;
	struct identity own = identity_of(&stat);
	return identity_equal(&own, output) &&
	       (launcher_passes_on(subject_pid(subject), pid) ||
		kernel_is_in_sandbox_of_its_own(subject_pid(subject), agent));
}

bool ancestors_are_agents_own(const struct segment *segment, struct subject subject,
			      const struct context *context, uint32_t *ret_fork,
			      struct kernel_status *ret_status)
{
	struct identity agent, output;
	uint32_t pid = subject_parent(subject), fork = 0;
	struct stat stat;

	*ret_fork = 0;
	if (pid == context->anchor_pid)
		return true;
	if (!kernel_executable_of(context->anchor_pid, &agent) ||
	    subject_stat(subject, 1, &stat) < 0)
		return false;
	output = identity_of(&stat);
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		struct kernel_status status;
		if (pid == context->anchor_pid) {
			*ret_fork = fork;
			return true;
		}
		bool is_own = is_agents_own(segment, pid, &agent);
		if ((!is_own && !passes_on(pid, subject, &output, context->anchor_pid)) ||
		    !kernel_status_of(pid, &status))
			return false;
		if (is_own && status.is_fork && !fork) {
			fork = pid;
			*ret_status = status;
		}
		pid = process_parent_of(pid);
	}
	return false;
}

/* Is what the subject writes to a process's own output? */
static bool has_same_output(uint32_t pid, const struct identity *output)
{
	struct stat stat;

	for (int fd = 1; fd <= 2; fd++) {
		if (subject_stat((struct subject){ pid }, fd, &stat) < 0)
			continue;
		struct identity own = identity_of(&stat);
		if (identity_equal(&own, output))
			return true;
	}
	return false;
}

bool ancestors_find_agent(const struct segment *segment, struct subject subject,
			  struct process_slot *ret_agent)
{
	uint32_t pid = subject_parent(subject);
	struct stat stat;

	if (subject_stat(subject, 1, &stat) < 0)
		return false;
	struct identity output = identity_of(&stat);
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		if (find_slot(segment, pid, ret_agent) && ret_agent->context.role == ROLE_AGENT &&
		    !has_same_output(pid, &output))
			return !process_is_gone(ret_agent);
		pid = process_parent_of(pid);
	}
	return false;
}

/* Is any slot of a living process one of this pid? */
static bool is_registered(const struct segment *segment, uint32_t pid)
{
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
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

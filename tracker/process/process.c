/* Processes: see process.h. */
#include "tracker/process/process.h"

#include <errno.h>
#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/sys/sys.h"

enum {
	PROBES = 64,             /* slots inspected to find a free one */
	LIVENESS_CHECKS_MAX = 8, /* times that claim() asks the kernel whether a process lives */
	ANCESTORS_MAX = 64,      /* levels of /proc walked */
};

/* What a process does not hand on. */
enum { OWN_FLAGS = CONTEXT_PARTIAL | CONTEXT_SUPERVISED | CONTEXT_UNKNOWN };

static struct process_slot *slot_at(const struct segment *segment, uint64_t index)
{
	return segment_slot(segment, TABLE_PROCESSES, index);
}

/* Whose slots may not be taken, in the order in which claim() gives way. */
enum hold {
	HOLD_ALL,    /* of every process that has not ended */
	HOLD_NEEDED, /* of those on which others depend */
	HOLD_LIVE,   /* of those that live: asked of the kernel, a few times at most */
	HOLD_NONE,
};

static bool is_held(const struct process_slot *slot, enum hold hold, int *checks)
{
	struct process_slot copy;
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);

	if (state == PROCESS_FREE || state == PROCESS_EXITED || hold == HOLD_NONE)
		return false;
	if (hold == HOLD_ALL)
		return true;
	uint32_t role = __atomic_load_n(&slot->context.role, __ATOMIC_RELAXED);
	if (role != ROLE_AGENT && role != ROLE_SHELL)
		return false;
	if (hold == HOLD_NEEDED || --*checks < 0)
		return true;
	return slot_read(slot, &copy, PROCESS_CHECKED_BYTES) && !process_is_gone(&copy);
}

/* The slot of a program that has ended is given to another: its counts become the session's.  Not
 * when it ends: that would be a page more that it touches, and one that all write to
 * (segment_counter()). */
static void add_counts(const struct segment *segment, struct process_slot *slot)
{
	static const enum counter TOTALS[PROCESS_COUNTS] = { COUNTER_opens, COUNTER_opens_write,
							     COUNTER_listings, COUNTER_changes };
	for (int i = 0; i < PROCESS_COUNTS; i++) {
		uint64_t count = __atomic_exchange_n(&slot->counts[i], 0, __ATOMIC_RELAXED);
		if (count)
			segment_count(segment, TOTALS[i], count);
	}
}

/* Takes a slot: a free one, else one of a process that nothing hangs on (a killed tool's, say,
 * which could not give it back). */
static struct process_slot *claim(const struct segment *segment, struct process_slot *ret_copy,
				  uint64_t *ret_index)
{
	uint64_t start = __atomic_fetch_add(&segment->header->next_process, 1, __ATOMIC_RELAXED);

	int checks = LIVENESS_CHECKS_MAX;
	for (enum hold hold = HOLD_ALL; hold <= HOLD_LIVE; hold++) {
		for (uint64_t probe = 0; probe < PROBES; probe++) {
			uint64_t index = (start + probe) % segment->capacity[TABLE_PROCESSES];
			struct process_slot *slot = slot_at(segment, index);
			if (is_held(slot, hold, &checks) ||
			    !slot_acquire(slot, ret_copy, PROCESS_CHECKED_BYTES))
				continue;
			if (is_held(ret_copy, hold == HOLD_LIVE ? HOLD_NONE : hold, &checks)) {
				slot_abandon(slot, ret_copy, PROCESS_CHECKED_BYTES);
				continue;
			}
			add_counts(segment, slot);
			if (ret_copy->state == PROCESS_ATTACHED ||
			    ret_copy->state == PROCESS_EXITED)
				segment_count(segment, COUNTER_processes_attached, 1);
			__atomic_store_n(&slot->writes, 0, __ATOMIC_RELAXED);
			if (ret_copy->state == PROCESS_ANNOUNCED)
				segment_count(segment, COUNTER_processes_displaced, 1);
			*ret_index = index;
			return slot;
		}
	}
	segment_count(segment, COUNTER_lost_processes, 1);
	return NULL;
}

static struct process_slot *start_slot(const struct segment *segment, struct process_ref process,
				       struct process_slot *ret_copy)
{
	struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	if (!slot || !slot_acquire(slot, ret_copy, PROCESS_CHECKED_BYTES))
		return NULL;
	if (ret_copy->serial == process.serial)
		return slot;
	slot_abandon(slot, ret_copy, PROCESS_CHECKED_BYTES);
	return NULL;
}

static void ticket_write(uint32_t pid, struct process_ref process, char *ret_ticket)
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

static bool ticket_parse(const char *ticket, uint64_t *ret_pid, struct process_ref *ret_process)
{
	struct process_ref process;
	if (!(ticket = decimal_parse(ticket, ret_pid)) || *ticket++ != ':' ||
	    !(ticket = decimal_parse(ticket, &process.index)) || *ticket++ != ':' ||
	    !(ticket = decimal_parse(ticket, &process.serial)) || *ticket != '\0')
		return false;
	*ret_process = process;
	return true;
}

struct process_ref process_announce(const struct segment *segment, struct subject subject,
				    const struct context *starter, struct process_ref self,
				    pid_t pid, const char *executable, char *const argv[],
				    char *ret_ticket)
{
	struct process_ref process = { 0, 0 };
	struct process_slot copy;
	struct invocation invocation;
	struct process_slot *slot = claim(segment, &copy, &process.index);

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
	copy.context.flags &= ~(uint32_t)OWN_FLAGS;
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
	struct process_slot *slot = start_slot(segment, process, &copy);
	if (!slot)
		return;
	if (copy.pid == 0) {
		copy.pid = (uint32_t)pid;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	} else {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
	}
}

static void set_state(const struct segment *segment, struct process_ref process,
		      enum process_state state)
{
	struct process_slot copy;
	struct process_slot *slot = start_slot(segment, process, &copy);
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
	const struct process_slot *slot = slot_at(segment, index);
	if (!slot || !slot_read(slot, ret_process, PROCESS_CHECKED_BYTES))
		return false;
	for (int i = 0; i < PROCESS_COUNTS; i++)
		ret_process->counts[i] = __atomic_load_n(&slot->counts[i], __ATOMIC_RELAXED);
	ret_process->record = __atomic_load_n(&slot->record, __ATOMIC_RELAXED);
	return true;
}

uint64_t *process_counts(const struct segment *segment, struct process_ref process)
{
	struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	return slot ? slot->counts : NULL;
}

void process_count(const struct segment *segment, struct process_ref process,
		   enum process_count count)
{
	uint64_t *counts = process_counts(segment, process);
	if (counts)
		(void)__atomic_fetch_add(&counts[count], 1, __ATOMIC_RELAXED);
}

void process_set_record(const struct segment *segment, struct process_ref process, uint64_t number)
{
	struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->record, number, __ATOMIC_RELAXED);
}

uint64_t process_record(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	return slot ? __atomic_load_n(&slot->record, __ATOMIC_RELAXED) : 0;
}

void process_set_writes(const struct segment *segment, struct process_ref process, uint64_t key)
{
	struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	if (slot)
		__atomic_store_n(&slot->writes, key, __ATOMIC_RELAXED);
}

uint64_t process_writes(const struct segment *segment, struct process_ref process)
{
	const struct process_slot *slot = process.serial ? slot_at(segment, process.index) : NULL;
	return slot ? __atomic_load_n(&slot->writes, __ATOMIC_RELAXED) : 0;
}

void process_exit(const struct segment *segment, struct process_ref process)
{
	set_state(segment, process, PROCESS_EXITED);
}

static void set_flag(const struct segment *segment, struct process_ref process, uint32_t flag)
{
	struct process_slot copy;
	struct process_slot *slot = start_slot(segment, process, &copy);
	if (!slot)
		return;
	copy.context.flags |= flag;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
}

void process_ended_before_calls(const struct segment *segment, struct process_ref process)
{
	struct process_slot copy;
	struct process_slot *slot = start_slot(segment, process, &copy);

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

void process_note_supervised(const struct segment *segment, struct process_ref process)
{
	set_flag(segment, process, CONTEXT_SUPERVISED);
}

uint64_t process_pid_ns(void)
{
	struct stat stat;
	return sys_stat("/proc/self/ns/pid", &stat) == 0 ? stat.st_ino : 0;
}

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

/* A run among those of the session: its pid, and a serial. */
static uint32_t run_pid(uint64_t run)
{
	return (uint32_t)(run >> 32);
}

static uint32_t run_flags(uint64_t run)
{
	return (uint32_t)(run & 0xffff) << CONTEXT_RUN_SHIFT;
}

/* Has the process ended?  Where that is hidden it has not. */
static bool is_ended(uint32_t pid)
{
	char path[PROC_PATH_BYTES];
	struct stat stat;

	proc_path(pid, "", path);
	return sys_stat(path, &stat) == -ENOENT && sys_stat("/proc/self", &stat) == 0;
}

uint32_t process_begin_run(const struct segment *segment)
{
	uint64_t serial = segment_serial(segment) % 0xffff + 1;
	uint64_t run = (uint64_t)sys_getpid() << 32 | serial;

	for (int i = 0; i < SEGMENT_RUNS; i++) {
		uint64_t *slot = &segment->header->runs[i];
		uint64_t other = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if ((!other || is_ended(run_pid(other))) &&
		    __atomic_compare_exchange_n(slot, &other, run, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return run_flags(run);
	}
	return 0;
}

void process_end_run(const struct segment *segment, uint32_t run)
{
	for (int i = 0; run && i < SEGMENT_RUNS; i++) {
		uint64_t *slot = &segment->header->runs[i];
		uint64_t other = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (run_pid(other) == (uint32_t)sys_getpid() && run_flags(other) == run)
			__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	}
}

bool process_run_lives(const struct segment *segment, const struct context *context)
{
	uint32_t run = context->flags >> CONTEXT_RUN_SHIFT << CONTEXT_RUN_SHIFT;

	for (int i = 0; run && i < SEGMENT_RUNS; i++) {
		uint64_t other = __atomic_load_n(&segment->header->runs[i], __ATOMIC_ACQUIRE);
		if (other && run_flags(other) == run)
			return !is_ended(run_pid(other));
	}
	return !run;
}

/* What program file a process runs (proc(5), exe).  False where the kernel does not tell. */
static bool executable_of(uint32_t pid, struct identity *ret_identity)
{
	char path[PROC_PATH_BYTES];
	struct stat stat;
	proc_path(pid, "exe", path);
	if (sys_stat(path, &stat) < 0)
		return false;
	*ret_identity = identity_of(&stat);
	return true;
}

bool process_same_image(uint32_t pid, uint32_t other_pid)
{
	struct identity one, other;
	return executable_of(pid, &one) && executable_of(other_pid, &other) &&
	       identity_equal(&one, &other);
}

/* What the kernel reports about a process (proc(5), stat). */
struct kernel_status {
	uint64_t start_ns; /* since boot, in ticks of 10 ms */
	bool is_fork;      /* it runs the image that it was forked with (PF_FORKNOEXEC) */
};

/* False for one that has ended, and where the kernel does not tell. */
static bool status_of(uint32_t pid, struct kernel_status *ret_status)
{
	enum { FLAGS = 9, THREADS = 20, START = 22, FORK_NO_EXEC = 0x40 };
	char path[PROC_PATH_BYTES], text[1024];
	uint64_t flags = 0, threads, ticks;

	proc_path(pid, "stat", path);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *at = strrchr(text, ')');
	bool is_dead = at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
	for (int field = 3; at; field++) {
		if ((at = strchr(at + 1, ' ')) == NULL)
			return false;
		if (field == FLAGS)
			(void)decimal_parse(at + 1, &flags);
		/* Dead, and not waited for: other threads may go on without the first. */
		if (field == THREADS && is_dead && decimal_parse(at + 1, &threads) && threads <= 1)
			return false;
		if (field == START)
			break;
	}
	if (!at || !decimal_parse(at + 1, &ticks))
		return false;
	*ret_status = (struct kernel_status){ ticks * 10000000u, (flags & FORK_NO_EXEC) != 0 };
	return true;
}

/* Are all processes between the agent and the subject the agent's own: forks of it, or other starts
 * of its executable (its sandbox's helper)?  Anything else that lies between, a server it started
 * say, has this shell for itself.
 *
 * ret_fork: the nearest of them that is a fork, and holds a conversation of its own; 0: none. */
static bool is_started_by_agent(struct subject subject, const struct context *context,
				uint32_t *ret_fork, struct kernel_status *ret_status)
{
	struct identity agent, between;
	uint32_t pid = subject_parent(subject), fork = 0;

	*ret_fork = 0;
	if (pid == context->anchor_pid)
		return true;
	if (!executable_of(context->anchor_pid, &agent))
		return false;
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		struct kernel_status status;
		if (pid == context->anchor_pid) {
			*ret_fork = fork;
			return true;
		}
		if (!executable_of(pid, &between) || !identity_equal(&between, &agent) ||
		    !status_of(pid, &status))
			return false;
		if (status.is_fork && !fork) {
			fork = pid;
			*ret_status = status;
		}
		pid = process_parent_of(pid);
	}
	return false;
}

bool process_is_gone(const struct process_slot *process)
{
	if (process->pid == 0 || process->context.pid_ns != process_pid_ns())
		return false;
	struct kernel_status status;
	/* Started after it was announced (a fork comes before the announcement, a spawn shortly
	 * behind it): another process with the same number. */
	return !status_of(process->pid, &status) ||
	       status.start_ns > process->time_ns + 2000000000u;
}

bool process_is_unobserved(const struct process_slot *process, uint64_t now_ns,
			   uint64_t patience_ns)
{
	return process->state == PROCESS_ANNOUNCED &&
	       (now_ns - process->time_ns >= patience_ns || process_is_gone(process));
}

/* How many slots from the first were ever used. */
static uint64_t used_slots(const struct segment *segment)
{
	uint64_t reached = __atomic_load_n(&segment->header->next_process, __ATOMIC_RELAXED) +
			   PROBES;
	uint64_t capacity = segment->capacity[TABLE_PROCESSES];
	return reached < capacity ? reached : capacity;
}

bool process_next(const struct segment *segment, uint64_t *index, struct process_slot *ret_process)
{
	for (uint64_t used = used_slots(segment); *index < used;) {
		const struct process_slot *slot = slot_at(segment, (*index)++);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		if ((state == PROCESS_ANNOUNCED || state == PROCESS_ATTACHED) &&
		    slot_read(slot, ret_process, PROCESS_CHECKED_BYTES))
			return true;
	}
	return false;
}

/* Is any slot of a living process one of this pid? */
static bool is_registered(const struct segment *segment, uint32_t pid)
{
	for (uint64_t i = 0, used = used_slots(segment); i < used; i++) {
		const struct process_slot *slot = slot_at(segment, i);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		if (__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) == pid &&
		    state == PROCESS_ATTACHED)
			return true;
	}
	return false;
}

/* Is a registered process the parent, or an ancestor with none but unobserved ones between? */
static bool is_nearest_registered(const struct segment *segment, struct subject subject,
				  uint32_t pid)
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

/* Does any ancestor belong to the session?  Then a process without a ticket lost it: no new
 * root. */
static bool has_registered_ancestor(const struct segment *segment, struct subject subject)
{
	uint32_t at = subject_parent(subject);
	for (int level = 0; level < ANCESTORS_MAX && at > 0; level++) {
		if (is_registered(segment, at))
			return true;
		at = process_parent_of(at);
	}
	return false;
}

enum ticket_kind { TICKET_VOID, TICKET_OWN, TICKET_PARENT };

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
	return (parent && holder == parent) || is_nearest_registered(segment, subject, holder)
		       ? TICKET_PARENT
		       : TICKET_VOID;
}

/* Reads the slot that a ticket names, and judges it. */
static enum ticket_kind ticket_find(const struct segment *segment, struct subject subject,
				    struct process_ref named, struct process_slot *ret_copy)
{
	struct process_slot *slot = named.serial ? slot_at(segment, named.index) : NULL;
	/* It will be written to: one page fault instead of two. */
	if (slot && !subject.pid)
		(void)__atomic_fetch_or(&slot->record, 0, __ATOMIC_RELAXED);
	if (!slot || !slot_read(slot, ret_copy, PROCESS_CHECKED_BYTES) ||
	    ret_copy->serial != named.serial)
		return TICKET_VOID;
	return ticket_judge(segment, subject, ret_copy);
}

/* Finds the slot that a lost ticket would have named: the latest one that is the subject's own,
 * else its parent's. */
static enum ticket_kind ticket_search(const struct segment *segment, struct subject subject,
				      struct process_ref *ret_process,
				      struct process_slot *ret_copy)
{
	enum ticket_kind best = TICKET_VOID;
	uint32_t self = subject_pid(subject), parent = subject_parent(subject);
	uint64_t pid_ns = process_pid_ns();

	for (uint64_t i = 0, used = used_slots(segment); i < used; i++) {
		const struct process_slot *slot = slot_at(segment, i);
		uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_RELAXED);
		struct process_slot copy;
		if ((pid != self && pid != parent && pid != 0) ||
		    !slot_read(slot, &copy, PROCESS_CHECKED_BYTES) || !copy.serial || !pid_ns ||
		    copy.context.pid_ns != pid_ns)
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

/* Where a descriptor leads.  False where the kernel does not tell. */
static bool identify_output(struct subject subject, int fd, struct identity *ret_identity)
{
	struct stat stat;
	int error = subject_stat(subject, fd, &stat);

	if (error == -ENOENT || error == -EBADF)
		*ret_identity = (struct identity){ 0, 0, 0 }; /* closed: nothing can equal it */
	else if (error < 0)
		return false;
	else
		*ret_identity = identity_of(&stat);
	return true;
}

/* The agent's own outputs as the kernel shows them, for an agent that is not observed itself. */
static bool identify_outputs(uint32_t pid, struct identity ret_outputs[2])
{
	for (int i = 0; i < 2; i++)
		if (!identify_output((struct subject){ pid }, 1 + i, &ret_outputs[i]))
			return false;
	return true;
}

/* From here on, what hangs below this process belongs to an agent with that slot.  pid 0, serial 0
 * or pid_ns 0, where one of them is not known: nothing below it will be answered. */
static void enter_agent(struct context *context, uint32_t pid, uint64_t pid_ns, uint64_t serial,
			uint32_t profile)
{
	context->flags |= CONTEXT_AGENT;
	context->flags &= ~(uint32_t)(CONTEXT_EXTERNAL_AGENT | CONTEXT_EXTERNAL_DECLARED |
				      CONTEXT_AGENT_OUT | CONTEXT_ROOT | CONTEXT_FORK |
				      CONTEXT_TAKEN);
	context->scope_id = 0;
	context->capture_id = 0;
	context->pid_ns = pid_ns;
	context->anchor_pid = serial ? pid : 0;
	context->profile = profile;
	context->agent_serial = serial;
}

/* The head of the scopes of an agent (scope_head()). */
static uint64_t own_head(const struct segment *segment, uint64_t agent_serial)
{
	uint64_t own = scope_id_of(agent_serial, NULL);
	uint64_t head = scope_head(segment, own);
	return head ? head : own;
}

bool process_start(uint32_t pid, uint64_t *ret_start_ns)
{
	struct kernel_status status;

	if (!status_of(pid, &status))
		return false;
	*ret_start_ns = status.start_ns;
	return true;
}

/* A fork of the agent that holds a conversation of its own. */
struct agent_fork {
	uint32_t pid; /* 0: none */
	struct kernel_status status;
};

/* Finds the scope that a capture taken now belongs to, and makes it known. */
static void enter_scope(const struct segment *segment, struct context *context,
			const char *agent_name, const char *scope_name,
			const struct agent_fork *fork)
{
	uint64_t serial = context->flags & CONTEXT_EXTERNAL_AGENT ? 0 : context->agent_serial;
	uint64_t id = scope_id_of(
		fork->pid ? scope_serial_of_fork(serial, fork->pid, fork->status.start_ns) : serial,
		scope_name);
	if (!serial && !(context->flags & CONTEXT_EXTERNAL_AGENT))
		return; /* an agent without a slot has nothing that would tell its scope from another's */
	const char *name = scope_name                                ? scope_name
			   : context->flags & CONTEXT_EXTERNAL_AGENT ? "session"
								     : agent_name;
	uint32_t pid = fork->pid ? fork->pid : context->anchor_pid;
	context->scope_id = scope_claim(segment, id, context, pid, context->profile, name) ? id : 0;
	if (fork->pid)
		context->flags |= CONTEXT_FORK;
	if ((scope_name || fork->pid) && context->scope_id)
		scope_set_head(segment, id, own_head(segment, serial));
}

/* The head of the agent that started this one as a helper of its own program, a compiled one (codex
 * --codex-run-as-...); 0: none.
 * A script that starts itself again may be another conversation. */
static uint64_t head_of_helper(const struct segment *segment, const struct process_slot *from,
			       enum ticket_kind kind, const struct invocation *invocation)
{
	struct process_slot agent = *from;
	const struct process_slot *slot = slot_at(segment, from->starter_index);

	if (invocation->scripted)
		return 0;
	if (kind == TICKET_OWN && (!slot || !slot_read(slot, &agent, PROCESS_CHECKED_BYTES)))
		return 0;
	/* The slot of one that attached later was given anew. */
	if (agent.context.role != ROLE_AGENT || agent.time_ns > from->time_ns ||
	    agent.context.profile != invocation->profile ||
	    (!invocation->profile &&
	     strncmp(agent.name, invocation->name, sizeof(agent.name)) != 0))
		return 0;
	return own_head(segment, agent.context.agent_serial);
}

/* What an agent reads by itself is its scope's, also before it starts a shell. */
static void claim_own_scope(const struct segment *segment, const struct context *context,
			    uint64_t head, const char *agent_name, const char *scope_name)
{
	uint64_t id = scope_id_of(context->agent_serial, scope_name);

	if (!context->agent_serial)
		return;
	(void)scope_claim(segment, id, context, context->anchor_pid, context->profile, agent_name);
	if (head || scope_name)
		scope_set_head(segment, id, head ? head : scope_id_of(context->agent_serial, NULL));
}

/* The root of a run or of a command: records its output, and with the agent outside takes it as the
 * capture. */
static void enter_root(const struct segment *segment, struct subject subject,
		       const struct invocation *invocation, const char *scope_name, uint32_t pid,
		       struct context *context)
{
	context->flags &= ~(uint32_t)CONTEXT_ROOT;
	if (identify_output(subject, 1, &context->root_out))
		context->flags |= CONTEXT_ROOT_OUT;
	if (!(context->flags & CONTEXT_EXTERNAL_AGENT) || invocation->role == ROLE_AGENT)
		return;
	context->anchor_pid = pid;
	enter_scope(segment, context, NULL, scope_name, &(struct agent_fork){ 0 });
	context->capture_id = capture_claim(segment, subject, context,
					    !invocation->runs_command &&
						    invocation->role == ROLE_SHELL);
}

static bool stdin_is_terminal(struct subject subject)
{
	char buffer[64]; /* struct termios of the kernel: 36 bytes */
	enum { TCGETS_REQUEST = 0x5401 };
	struct stat stat;

	if (subject.pid)
		return subject_stat(subject, 0, &stat) == 0 && is_terminal_device(&stat);
	return sys_call3(SYS_ioctl, 0, TCGETS_REQUEST, (long)buffer) == 0;
}

/* A process without a ticket that no registered process started: `LD_PRELOAD=... SEEN_SESSION=...
 * CMD`. */
static bool become_root(const struct segment *segment, struct subject subject,
			const struct invocation *invocation, enum session_agent_is agent_is,
			struct context *context)
{
	if (has_registered_ancestor(segment, subject))
		return false;
	bool said = agent_is != SESSION_AGENT_IS_AUTO;
	if (!said)
		agent_is = (enum session_agent_is)segment->settings->session_agent_is;
	bool external = agent_is == SESSION_AGENT_IS_OUTSIDE ||
			(agent_is == SESSION_AGENT_IS_AUTO &&
			 role_root_is_external(invocation, stdin_is_terminal(subject)));
	context->flags = CONTEXT_ATTACHED | CONTEXT_ROOT;
	context->pid_ns = process_pid_ns();
	if (external)
		context->flags |= CONTEXT_EXTERNAL_AGENT;
	if (agent_is == SESSION_AGENT_IS_OUTSIDE)
		context->flags |= CONTEXT_EXTERNAL_DECLARED;
	return true;
}

/* A shell that the agent started: its descriptor 1 is the capture. */
static void enter_shell(const struct segment *segment, struct subject subject,
			const struct process_slot *starter, enum ticket_kind kind,
			const struct invocation *invocation, const char *scope_name,
			struct context *context)
{
	/* In another PID namespace the agent's number may be another process's; so it may when the
	 * agent was killed and an environment of its time is still in use. */
	if (!context->anchor_pid || !context->pid_ns || process_pid_ns() != context->pid_ns ||
	    (kind == TICKET_PARENT && process_is_gone(starter)))
		return;
	/* As they are now: agents connect their own to something else, too. */
	if (!identify_outputs(context->anchor_pid, context->agent_out))
		return;
	context->flags |= CONTEXT_AGENT_OUT;
	struct agent_fork fork;
	if (!is_started_by_agent(subject, context, &fork.pid, &fork.status))
		return;
	struct process_slot agent = *starter;
	if (kind == TICKET_OWN) {
		const struct process_slot *slot = slot_at(segment, starter->starter_index);
		if (!slot || !slot_read(slot, &agent, PROCESS_CHECKED_BYTES))
			memcpy(agent.name, "agent", sizeof("agent"));
	}
	enter_scope(segment, context, agent.name, scope_name, &fork);
	context->capture_id = capture_claim(segment, subject, context, !invocation->runs_command);
}

/* Does a program that may be an agent take this shell's output?  Inspects one descriptor, for a
 * shell without an agent above it alone. */
static bool is_taken_by_unknown(const struct segment *segment, struct subject subject,
				const struct process_slot *from, enum ticket_kind kind,
				const struct context *context)
{
	struct process_slot starter = *from;
	const struct process_slot *slot = slot_at(segment, from->starter_index);
	struct stat stat;

	if (kind == TICKET_OWN && (!slot || !slot_read(slot, &starter, PROCESS_CHECKED_BYTES)))
		return false;
	if (!(starter.context.flags & CONTEXT_UNKNOWN) || starter.time_ns > from->time_ns ||
	    subject_stat(subject, 1, &stat) < 0 ||
	    (!S_ISFIFO(stat.st_mode) && !S_ISSOCK(stat.st_mode)))
		return false;
	struct identity output = identity_of(&stat);
	return !identity_equal(&output, &context->root_out);
}

/* Counts what cannot be answered, and why: a run says it at its end. */
static void count_unanswered(const struct segment *segment, uint32_t role, uint32_t starter_role,
			     const struct context *context)
{
	bool shows = role == ROLE_VIEWER || role == ROLE_READER;

	if (shows && (context->flags & CONTEXT_TAKEN))
		segment_count(segment, COUNTER_viewers_without_agent, 1);
	if (role == ROLE_VIEWER && starter_role == ROLE_AGENT && (context->flags & CONTEXT_AGENT))
		segment_count(segment, COUNTER_viewers_without_shell, 1);
}

/* The program that announced this one stood in the same process: its image is no more. */
static void replace_image(const struct segment *segment, const struct process_slot *announced,
			  uint32_t self)
{
	struct process_slot copy;
	struct process_slot *slot = slot_at(segment, announced->starter_index);

	if (announced->spawner_pid != self) /* another process started this one */
		return;
	if (!slot || __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != self ||
	    !slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES))
		return;
	if (copy.pid == self && copy.serial != announced->serial &&
	    copy.state == PROCESS_ATTACHED) {
		copy.state = PROCESS_EXITED;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	} else {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
	}
}

/* The starter was an agent that stood in the same process, and was itself started by an agent: a
 * helper of that one's, which sets something up and becomes the command (codex
 * --codex-run-as-process-setup).  The command is the other agent's.  Returns whether that is so. */
static bool find_agent_behind_helper(const struct segment *segment, struct subject subject,
				     const struct process_slot *announced,
				     struct context *ret_context)
{
	struct process_slot helper, agent;
	uint32_t parent = subject_parent(subject);
	const struct process_slot *slot = slot_at(segment, announced->starter_index);

	if (!slot || !slot_read(slot, &helper, PROCESS_CHECKED_BYTES) ||
	    helper.pid != subject_pid(subject))
		return false;
	slot = slot_at(segment, helper.starter_index);
	if (!slot || !slot_read(slot, &agent, PROCESS_CHECKED_BYTES) || !parent ||
	    agent.pid != parent || agent.state != PROCESS_ATTACHED ||
	    agent.context.role != ROLE_AGENT || process_is_gone(&agent))
		return false;
	*ret_context = agent.context;
	ret_context->flags &= ~(uint32_t)CONTEXT_ROOT;
	return true;
}

/* A process that takes its place in the tree. */
struct arrival {
	struct subject subject;
	uint32_t pid;
	bool is_supervised;    /* inspected by another, the library is not in it */
	bool may_be_root;      /* where it has no place: nothing says that it had one */
	enum ticket_kind kind; /* of the slot found */
	struct process_ref found;
	struct process_slot from; /* its content, unless it is void */
};

/* process_attach(), past the question how the slot is found. */
static struct process_ref arrive(const struct segment *segment, const struct arrival *arrival,
				 const struct invocation *invocation, const char *scope_name,
				 enum session_agent_is agent_is, struct context *ret_context)
{
	struct process_ref process = { 0, 0 };
	struct context context = { 0 };
	const struct process_slot *from = &arrival->from;
	struct subject subject = arrival->subject;
	enum ticket_kind kind = arrival->kind;
	uint32_t starter_role = ROLE_TOOL; /* of the program that started this one */
	bool is_unattached = false;

	if (kind == TICKET_VOID) {
		is_unattached = !arrival->may_be_root ||
				!become_root(segment, subject, invocation, agent_is, &context);
	} else if (kind == TICKET_OWN) {
		process = arrival->found;
		context = from->context;
		starter_role = from->starter_role;
		if (starter_role == ROLE_AGENT && invocation->role != ROLE_AGENT)
			(void)find_agent_behind_helper(segment, subject, from, &context);
		replace_image(segment, from, arrival->pid);
	} else {
		context = from->context;
		context.flags &= ~(uint32_t)CONTEXT_ROOT;
		starter_role = from->context.role;
		/* The parent is an agent that is not observed: only the run's root can vouch that
		 * its number means the same here. */
		if (from->state == PROCESS_ANNOUNCED && starter_role == ROLE_AGENT)
			enter_agent(&context, from->pid, from->context.pid_ns, from->serial,
				    from->context.profile);
	}

	struct process_slot copy;
	struct process_slot *slot = start_slot(segment, process, &copy);
	if (!slot) {
		slot = claim(segment, &copy, &process.index);
		process.serial = slot ? segment_serial(segment) : 0;
	}

	/* A script of the workspace that has an agent's name, run by an agent, is what that agent
	 * works on. */
	uint32_t role = invocation->role;
	if (role == ROLE_AGENT && invocation->local && (context.flags & CONTEXT_AGENT))
		role = ROLE_TOOL;
	context.role = role;
	context.flags &= ~(uint32_t)OWN_FLAGS;
	if (arrival->is_supervised)
		context.flags |= CONTEXT_SUPERVISED;
	if (context.flags & CONTEXT_ROOT)
		enter_root(segment, subject, invocation, scope_name, arrival->pid, &context);
	if (role == ROLE_AGENT && (context.flags & CONTEXT_ATTACHED)) {
		uint64_t head = starter_role == ROLE_AGENT
					? head_of_helper(segment, from, kind, invocation)
					: 0;
		enter_agent(&context, arrival->pid, process_pid_ns(), process.serial,
			    invocation->profile);
		claim_own_scope(segment, &context, head, invocation->name, scope_name);
		if (identify_output(subject, 1, &context.agent_out[0]) &&
		    identify_output(subject, 2, &context.agent_out[1]))
			context.flags |= CONTEXT_AGENT_OUT;
	} else if (invocation->role == ROLE_SHELL && starter_role == ROLE_AGENT &&
		   (context.flags & CONTEXT_AGENT)) {
		enter_shell(segment, subject, from, kind, invocation, scope_name, &context);
	} else if (role == ROLE_SHELL && starter_role == ROLE_TOOL && kind != TICKET_VOID &&
		   !(context.flags & (CONTEXT_AGENT | CONTEXT_EXTERNAL_AGENT)) &&
		   is_taken_by_unknown(segment, subject, from, kind, &context)) {
		context.flags |= CONTEXT_TAKEN;
	}
	if (invocation->unknown && (context.flags & CONTEXT_ATTACHED))
		context.flags |= CONTEXT_UNKNOWN;
	count_unanswered(segment, role, starter_role, &context);

	/* below an unattached one, too: process_release() can tell that */
	if (arrival->is_supervised)
		is_unattached = !(context.flags & CONTEXT_ATTACHED);
	if (is_unattached)
		segment_count(segment, COUNTER_processes_unattached, 1);
	if (!slot)
		segment_count(segment, COUNTER_processes_attached, 1);
	if (slot) {
		copy.serial = process.serial;
		copy.pid = arrival->pid;
		if (kind != TICKET_OWN) {
			copy.spawner_pid = subject_parent(subject);
			copy.starter_role = starter_role;
			copy.starter_index = UINT64_MAX;
		}
		copy.state = PROCESS_ATTACHED;
		copy.time_ns = sys_boottime_ns();
		copy.context = context;
		memcpy(copy.name, invocation->name, sizeof(copy.name));
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	}
	*ret_context = context;
	return process;
}

struct process_ref process_attach(const struct segment *segment, struct subject subject,
				  const char *ticket, bool scrubbed,
				  const struct invocation *invocation, const char *scope_name,
				  enum session_agent_is agent_is, struct context *ret_context)
{
	struct arrival arrival = { .subject = subject,
				   .pid = subject_pid(subject),
				   .may_be_root = !ticket && !scrubbed,
				   .kind = TICKET_VOID };
	uint64_t pid;

	if (ticket && ticket_parse(ticket, &pid, &arrival.found))
		arrival.kind = ticket_find(segment, subject, arrival.found, &arrival.from);
	else if (!ticket && scrubbed)
		arrival.kind = ticket_search(segment, subject, &arrival.found, &arrival.from);
	return arrive(segment, &arrival, invocation, scope_name, agent_is, ret_context);
}

bool process_find_announced(const struct segment *segment, struct subject subject,
			    struct process_ref *ret_process, struct process_slot *ret_slot)
{
	struct process_ref process;
	struct process_slot slot;

	if (ticket_search(segment, subject, &process, &slot) != TICKET_OWN)
		return false;
	*ret_process = process;
	*ret_slot = slot;
	return true;
}

struct process_ref process_adopt(const struct segment *segment, struct subject subject,
				 struct process_ref announced, const struct invocation *invocation,
				 const char *scope_name, struct context *ret_context)
{
	struct arrival arrival = { .subject = subject,
				   .pid = subject_pid(subject),
				   .is_supervised = true,
				   .found = announced };

	arrival.kind = announced.serial
			       ? ticket_find(segment, subject, announced, &arrival.from)
			       : ticket_search(segment, subject, &arrival.found, &arrival.from);
	segment_count(segment, COUNTER_processes_supervised, 1);
	return arrive(segment, &arrival, invocation, scope_name, SESSION_AGENT_IS_AUTO,
		      ret_context);
}

void process_release(const struct segment *segment, struct process_ref process,
		     const struct context *announced_context)
{
	struct process_slot copy;
	struct process_slot *slot = start_slot(segment, process, &copy);

	if (!slot)
		return;
	if (copy.state != PROCESS_ATTACHED || !(copy.context.flags & CONTEXT_SUPERVISED)) {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
		return;
	}
	bool is_unattached = !(copy.context.flags & CONTEXT_ATTACHED);
	copy.state = announced_context ? PROCESS_ANNOUNCED : PROCESS_FREE;
	if (announced_context)
		copy.context = *announced_context;
	else
		add_counts(segment, slot);
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	segment_count(segment, COUNTER_processes_supervised, (uint64_t)-1);
	if (is_unattached)
		segment_count(segment, COUNTER_processes_unattached, (uint64_t)-1);
}

/* Scopes: see scope.h. */
#include "tracker/process/scope.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/process/kernel_status.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum { PROBES = 32 };

uint64_t scope_id_of(uint64_t agent_serial, const char *name)
{
	uint64_t id = XXH3_64bits_withSeed(name ? name : "", name ? strlen(name) : 0, agent_serial);
	return id ? id : 1;
}

uint64_t scope_serial_of_fork(uint64_t agent_serial, uint32_t pid, uint64_t start_ns)
{
	uint64_t fork[] = { pid, start_ns };
	return XXH3_64bits_withSeed(fork, sizeof(fork), agent_serial);
}

static struct scope_slot *slot_at(const struct segment *segment, uint64_t id, unsigned probe)
{
	return segment_slot(segment, TABLE_SCOPES, (id + probe) % segment->capacity[TABLE_SCOPES]);
}

struct scope_slot *scope_find(const struct segment *segment, uint64_t id)
{
	for (unsigned probe = 0; id && probe < PROBES; probe++) {
		struct scope_slot *slot = slot_at(segment, id, probe);
		uint64_t found = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		struct scope_slot copy;
		if (found == id && slot_read(slot, &copy, SCOPE_CHECKED_BYTES) && copy.id == id)
			return slot;
		if (found == 0)
			break;
	}
	return NULL;
}

/* Is standard input of the agent a terminal?  Asked by its name: /dev/tty is one too. */
static bool is_at_terminal(uint32_t pid)
{
	static const char PTS[] = "/dev/pts/", TTY[] = "/dev/tty";
	char link[64];

	return pid && subject_link((struct subject){ pid }, 0, link, sizeof(link)) > 0 &&
	       (strncmp(link, PTS, sizeof(PTS) - 1) == 0 ||
		strncmp(link, TTY, sizeof(TTY) - 1) == 0);
}

/* The flags that a scope begins with.  An interactive one is mute until the run has found what
 * reports its conversations: there is no moment at which something counts before that. */
static uint32_t initial_flags(const struct context *context, uint32_t anchor_pid, uint32_t profile)
{
	enum context_run run = CONTEXT_RUN_NONE;

	if (context)
		run = (context->flags & CONTEXT_RUN_KIND) >> CONTEXT_RUN_KIND_SHIFT;
	if (run != CONTEXT_RUN_INTERACTIVE && !(run == CONTEXT_RUN_EXTERNAL && profile) &&
	    !(context && profile && is_at_terminal(anchor_pid)))
		return 0;
	return SCOPE_INTERACTIVE | (run == CONTEXT_RUN_NONE ? 0 : (uint32_t)SCOPE_MUTE);
}

static uint64_t above(uint64_t count, uint64_t before)
{
	return count > before ? count - before : 0; /* the slots may be damaged */
}

struct scope_counts scope_counts(const struct scope_slot *slot, const struct scope_slot *copy)
{
	return (struct scope_counts){
		.requests = above(__atomic_load_n(&slot->requests, __ATOMIC_RELAXED),
				  copy->requests_before),
		.bytes_given = above(__atomic_load_n(&slot->bytes_given, __ATOMIC_RELAXED),
				     copy->bytes_before),
	};
}

/* A scope of an agent's helper that was given nothing is of no use once that has ended.  pid_ns: the caller's: a process of
 * another one cannot be judged. */
static bool is_of_no_use(const struct scope_slot *slot, uint32_t pid_ns)
{
	struct scope_slot copy;

	return slot_read(slot, &copy, SCOPE_CHECKED_BYTES) && copy.head_id &&
	       copy.head_id != copy.id && scope_counts(slot, &copy).requests == 0 &&
	       copy.anchor_pid && copy.pid_ns && copy.pid_ns == pid_ns &&
	       sys_call3(SYS_kill, (long)copy.anchor_pid, 0, 0) == -ESRCH;
}

/* The slot for a scope that has none. */
static struct scope_slot *choose_slot(const struct segment *segment, uint64_t id)
{
	struct scope_slot *chosen = NULL;
	uint64_t chosen_ns = 0;

	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct scope_slot *slot = slot_at(segment, id, probe);
		if (__atomic_load_n(&slot->id, __ATOMIC_RELAXED) == 0)
			return slot;
	}
	uint32_t pid_ns = process_pid_ns();
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct scope_slot *slot = slot_at(segment, id, probe);
		uint64_t last_ns = __atomic_load_n(&slot->last_ns, __ATOMIC_RELAXED);
		if (is_of_no_use(slot, pid_ns))
			return slot;
		if (chosen && last_ns >= chosen_ns)
			continue;
		chosen = slot;
		chosen_ns = last_ns;
	}
	return chosen;
}

struct scope_slot *scope_claim(const struct segment *segment, uint64_t id,
			       const struct context *context, uint32_t anchor_pid, uint32_t profile,
			       const char *name)
{
	struct scope_slot *slot = scope_find(segment, id);
	struct scope_slot copy;

	if (slot)
		return slot;
	uint32_t flags = initial_flags(context, anchor_pid, profile);
	slot = choose_slot(segment, id);
	if (!slot || !slot_acquire(slot, &copy, SCOPE_CHECKED_BYTES))
		return NULL;
	if (copy.id == id) {
		slot_abandon(slot, &copy, SCOPE_CHECKED_BYTES);
		return slot;
	}
	copy.id = id;
	copy.epoch = segment_serial(segment);
	copy.anchor_pid = anchor_pid;
	copy.profile = profile;
	copy.created_realtime_ns = sys_realtime_ns();
	copy.sub_agents = 0;
	copy.flags = flags;
	copy.head_id = id;
	copy.requests_before = __atomic_load_n(&slot->requests, __ATOMIC_RELAXED);
	copy.bytes_before = __atomic_load_n(&slot->bytes_given, __ATOMIC_RELAXED);
	copy.pid_ns = context ? context->pid_ns : 0;
	memset(copy.name, 0, sizeof(copy.name));
	if (name)
		memcpy(copy.name, name, strnlen(name, sizeof(copy.name) - 1));
	__atomic_store_n(&slot->last_ns, sys_boottime_ns(), __ATOMIC_RELAXED);
	(void)segment_use(segment, TABLE_SCOPES,
			  slot); /* which has its blocks from the beginning */
	slot_commit(slot, &copy, SCOPE_CHECKED_BYTES);
	return slot;
}

uint64_t scope_request(const struct segment *segment, uint64_t id)
{
	struct scope_slot *slot = scope_find(segment, id);
	if (!slot)
		return 0;
	__atomic_store_n(&slot->last_ns, sys_boottime_ns(), __ATOMIC_RELAXED);
	return __atomic_add_fetch(&slot->requests, 1, __ATOMIC_RELAXED);
}

uint64_t scope_next_request(const struct segment *segment, uint64_t id)
{
	const struct scope_slot *slot = scope_find(segment, id);
	return slot ? __atomic_load_n(&slot->requests, __ATOMIC_RELAXED) + 1 : 0;
}

/* A consistent copy of a scope's slot. */
static bool read_scope(const struct segment *segment, uint64_t id, struct scope_slot *ret_copy)
{
	struct scope_slot *slot = scope_find(segment, id);
	return slot && slot_read(slot, ret_copy, SCOPE_CHECKED_BYTES) && ret_copy->id == id;
}

uint64_t scope_head(const struct segment *segment, uint64_t id)
{
	struct scope_slot copy;
	return read_scope(segment, id, &copy) ? copy.head_id : 0;
}

void scope_set_head(const struct segment *segment, uint64_t id, uint64_t head)
{
	struct scope_slot *slot = scope_find(segment, id);
	struct scope_slot copy;

	if (!slot || !slot_acquire(slot, &copy, SCOPE_CHECKED_BYTES))
		return;
	if (copy.id != id || copy.head_id == head) {
		slot_abandon(slot, &copy, SCOPE_CHECKED_BYTES);
		return;
	}
	copy.head_id = head;
	slot_commit(slot, &copy, SCOPE_CHECKED_BYTES);
}

bool scope_agent(const struct segment *segment, uint64_t id, char ret_name[SCOPE_NAME_BYTES],
		 uint32_t *ret_pid)
{
	struct scope_slot copy;
	if (!read_scope(segment, id, &copy))
		return false;
	memcpy(ret_name, copy.name, SCOPE_NAME_BYTES);
	ret_name[SCOPE_NAME_BYTES - 1] = '\0';
	*ret_pid = copy.anchor_pid;
	return true;
}

uint64_t scope_state(const struct segment *segment, uint64_t id, uint32_t *ret_flags)
{
	struct scope_slot copy;
	bool is_known = read_scope(segment, id, &copy);
	*ret_flags = is_known ? copy.flags : 0;
	return is_known && !copy.sub_agents ? copy.epoch : 0;
}

uint64_t scope_epoch(const struct segment *segment, uint64_t id)
{
	uint32_t flags;
	return scope_state(segment, id, &flags);
}

uint32_t scope_profile(const struct segment *segment, uint64_t id)
{
	struct scope_slot copy;
	return read_scope(segment, id, &copy) ? copy.profile : 0;
}

uint32_t scope_sub_agents(const struct segment *segment, uint64_t id)
{
	struct scope_slot copy;
	return read_scope(segment, id, &copy) ? copy.sub_agents : 0;
}

uint32_t scope_flags(const struct segment *segment, uint64_t id)
{
	struct scope_slot copy;
	return read_scope(segment, id, &copy) ? copy.flags : 0;
}

int scope_set_flags(const struct segment *segment, uint64_t id, uint32_t mask, uint32_t flags)
{
	struct scope_slot *slot = scope_find(segment, id);
	struct scope_slot copy;

	if (!slot)
		return -ENOENT;
	if (!slot_acquire_surely(slot, &copy, SCOPE_CHECKED_BYTES))
		return -EBUSY;
	uint32_t changed = (copy.flags & ~mask) | (flags & mask);
	if (copy.id != id || copy.flags == changed) {
		bool is_it = copy.id == id;
		slot_abandon(slot, &copy, SCOPE_CHECKED_BYTES);
		return is_it ? 0 : -ENOENT;
	}
	copy.flags = changed;
	slot_commit(slot, &copy, SCOPE_CHECKED_BYTES);
	return 0;
}

/* Begins a new epoch.  said: NULL: nothing of its conversations. */
static int start_scope_epoch(const struct segment *segment, uint64_t id,
			     const enum scope_conversations *said)
{
	struct scope_slot *slot = scope_find(segment, id);
	struct scope_slot copy;

	if (!slot || !slot_acquire(slot, &copy, SCOPE_CHECKED_BYTES))
		return -ENOENT;
	if (copy.id != id) {
		slot_abandon(slot, &copy, SCOPE_CHECKED_BYTES);
		return -ENOENT;
	}
	copy.epoch = segment_serial(segment);
	if (said && *said == SCOPE_SUB_AGENT_BEGINS && copy.sub_agents < UINT32_MAX)
		copy.sub_agents++;
	else if (said && *said == SCOPE_SUB_AGENT_ENDS && copy.sub_agents)
		copy.sub_agents--;
	else if (said && *said == SCOPE_ALONE)
		copy.sub_agents = 0;
	slot_commit(slot, &copy, SCOPE_CHECKED_BYTES);
	return 0;
}

/* The same for the scopes of which this one is the head: what an agent reports about itself may
 * concern any fork of it. */
static int start_epoch(const struct segment *segment, uint64_t id,
		       const enum scope_conversations *said)
{
	struct scope_slot own, copy;

	/* An external agent has no forks: each of its named scopes is of another process, and has
	 * its own conversation. */
	bool has_forks = id != scope_id_of(0, NULL) && read_scope(segment, id, &own);

	/* A named scope has the same process. */
	for (uint64_t i = 0; has_forks && i < segment->capacity[TABLE_SCOPES]; i++)
		if (slot_read(segment_slot(segment, TABLE_SCOPES, i), &copy, SCOPE_CHECKED_BYTES) &&
		    copy.id && copy.id != id && copy.head_id == id &&
		    copy.anchor_pid != own.anchor_pid)
			(void)start_scope_epoch(segment, copy.id, said);
	return start_scope_epoch(segment, id, said);
}

int scope_new_epoch(const struct segment *segment, uint64_t id)
{
	return start_epoch(segment, id, NULL);
}

int scope_converse(const struct segment *segment, uint64_t id, enum scope_conversations said)
{
	return start_epoch(segment, id, &said);
}

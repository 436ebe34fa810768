/* Captures and commands: see capture.h. */
#include "tracker/capture.h"

#include <errno.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tracker/path.h"
#include "tracker/sys.h"

enum {
	STDOUT = 1,
	/* Linux's list of devices (admin-guide/devices.txt): terminals */
	MAJOR_TTY = 4,
	MAJOR_TTY_ALIAS = 5,
	MAJOR_PTY_SLAVE_FIRST = 136,
	MAJOR_PTY_SLAVE_LAST = 143,
};

static const uint64_t PAUSE_NS = 1000000000u; /* between two commands of a long-lived shell */

struct identity identity_of(const struct stat *stat)
{
	return (struct identity){ stat->st_dev, stat->st_ino, stat->st_rdev };
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->rdev == b->rdev;
}

static bool is_terminal_device(const struct stat *stat)
{
	unsigned device = major(stat->st_rdev);
	return S_ISCHR(stat->st_mode) && (device == MAJOR_TTY || device == MAJOR_TTY_ALIAS ||
					  (device >= MAJOR_PTY_SLAVE_FIRST && device <= MAJOR_PTY_SLAVE_LAST));
}

/* When the file of a descriptor was made (statx(2)), 0 where the file system does not say. */
static uint64_t birth_ns(int fd)
{
	struct statx statx;
	memset(&statx, 0, sizeof(statx));
	long error = sys_call6(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BTIME, (long)&statx, 0);
	if (error < 0 || !(statx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)statx.stx_btime.tv_sec * 1000000000u + statx.stx_btime.tv_nsec;
}

/* A spool file: opened O_APPEND, still linked, of known age, outside the workspace.  Its path is
 * asked of the kernel (proc(5)); without /proc it is none. */
static bool is_spool(const struct segment *segment, const struct stat *stat)
{
	char path[SEGMENT_PATH_BYTES];
	int flags = sys_fcntl(STDOUT, F_GETFL, 0);

	if (flags < 0 || !(flags & O_APPEND) || stat->st_nlink == 0 || birth_ns(STDOUT) == 0)
		return false;
	ssize_t length = sys_readlink("/proc/self/fd/1", path, sizeof(path) - 1);
	if (length <= 0 || (size_t)length >= sizeof(path) - 1)
		return false;
	path[length] = '\0';
	return path[0] == '/' && !path_in_workspace(segment, path);
}

/* What kind of capture this output may be, 0: none. */
static uint32_t capture_kind(const struct segment *segment, const struct context *context, const struct stat *stat)
{
	bool outside = context->flags & CONTEXT_OUTSIDE;
	bool said = context->flags & CONTEXT_OUTSIDE_SAID;

	if (is_terminal_device(stat))
		return CAPTURE_TERMINAL;
	if (S_ISFIFO(stat->st_mode))
		return !outside || said ? CAPTURE_PIPE : 0;
	if (S_ISSOCK(stat->st_mode))
		return !outside || said ? CAPTURE_SOCKET : 0;
	if (S_ISREG(stat->st_mode) && !outside && is_spool(segment, stat))
		return CAPTURE_FILE;
	return 0;
}

static struct capture_slot *capture_at(const struct segment *segment, uint64_t id)
{
	return segment_slot(segment, TABLE_CAPTURES, id % segment->capacity[TABLE_CAPTURES]);
}

static bool capture_read(const struct segment *segment, uint64_t id, struct capture_slot *ret_copy)
{
	return id && slot_read(capture_at(segment, id), ret_copy, CAPTURE_CHECKED_BYTES) && ret_copy->id == id;
}

uint64_t capture_claim(const struct segment *segment, const struct context *context, bool long_lived)
{
	struct stat stat;
	struct capture_slot copy;

	if (sys_fstat(STDOUT, &stat) < 0)
		return 0;
	struct identity identity = identity_of(&stat);
	if (!(context->flags & CONTEXT_OUTSIDE)) {
		/* Not knowing what the agent's own output is, a shell that inherited it cannot be told apart. */
		if (!(context->flags & CONTEXT_AGENT_OUT) || identity_equal(&identity, &context->agent_out[0]) ||
		    identity_equal(&identity, &context->agent_out[1]))
			return 0;
		if (!(context->flags & CONTEXT_ROOT_OUT) || identity_equal(&identity, &context->root_out))
			return 0;
	}
	uint32_t kind = capture_kind(segment, context, &stat);
	if (!kind)
		return 0;

	uint64_t id = __atomic_fetch_add(&segment->header->next_capture, 1, __ATOMIC_RELAXED);
	struct capture_slot *slot = capture_at(segment, id);
	if (id == 0 || !slot_begin(slot, &copy, CAPTURE_CHECKED_BYTES))
		return 0;
	copy.id = id;
	copy.identity = identity;
	copy.birth_ns = kind == CAPTURE_FILE ? birth_ns(STDOUT) : 0;
	copy.scope_id = context->scope_id;
	copy.kind = kind;
	copy.long_lived = long_lived;
	__atomic_store_n(&slot->command_id, 0, __ATOMIC_RELAXED);
	slot_commit(slot, &copy, CAPTURE_CHECKED_BYTES);
	return id;
}

bool capture_is_sink(const struct segment *segment, uint64_t capture_id)
{
	struct capture_slot copy;
	struct stat stat;

	if (!capture_read(segment, capture_id, &copy) || sys_fstat(STDOUT, &stat) < 0)
		return false;
	struct identity identity = identity_of(&stat);
	if (!identity_equal(&identity, &copy.identity))
		return false;
	return copy.kind != CAPTURE_FILE || (copy.birth_ns == birth_ns(STDOUT) && is_spool(segment, &stat));
}

static struct command_slot *command_at(const struct segment *segment, uint64_t id)
{
	return segment_slot(segment, TABLE_COMMANDS, id % segment->capacity[TABLE_COMMANDS]);
}

static uint64_t command_new(const struct segment *segment, uint64_t now_ns)
{
	uint64_t id = __atomic_fetch_add(&segment->header->next_command, 1, __ATOMIC_RELAXED);
	struct command_slot *slot = command_at(segment, id);

	__atomic_store_n(&slot->id, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->bytes, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->last_ns, now_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->id, id, __ATOMIC_SEQ_CST);
	return id;
}

uint64_t capture_command(const struct segment *segment, uint64_t capture_id)
{
	struct capture_slot copy;
	if (!capture_read(segment, capture_id, &copy))
		return 0;

	uint64_t *current_at = &capture_at(segment, capture_id)->command_id;
	uint64_t current = __atomic_load_n(current_at, __ATOMIC_ACQUIRE);
	uint64_t now_ns = sys_boottime_ns();
	for (;;) {
		if (current) {
			struct command_slot *slot = command_at(segment, current);
			bool known = __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE) == current;
			uint64_t last_ns = __atomic_load_n(&slot->last_ns, __ATOMIC_RELAXED);
			/* A command that was pushed out of the table began too long ago to go on with, except
			 * that nobody can say what it sent: one id 0 then, which nothing is delivered to. */
			if (!known && !copy.long_lived)
				return 0;
			if (known && (!copy.long_lived || now_ns < last_ns + PAUSE_NS)) {
				__atomic_store_n(&slot->last_ns, now_ns, __ATOMIC_RELAXED);
				return current;
			}
		}
		uint64_t made = command_new(segment, now_ns);
		if (__atomic_compare_exchange_n(current_at, &current, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return made;
	}
}

void command_add(const struct segment *segment, uint64_t command_id, uint64_t bytes)
{
	if (!command_id)
		return;
	struct command_slot *slot = command_at(segment, command_id);
	/* Added to whichever command has the slot by now: too much for that one is the safe side. */
	(void)__atomic_fetch_add(&slot->bytes, bytes, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->last_ns, sys_boottime_ns(), __ATOMIC_RELAXED);
}

bool command_within(const struct segment *segment, uint64_t command_id, uint64_t limit_bytes)
{
	if (!command_id)
		return false;
	struct command_slot *slot = command_at(segment, command_id);
	return __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) == command_id &&
	       __atomic_load_n(&slot->bytes, __ATOMIC_SEQ_CST) <= limit_bytes &&
	       __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) == command_id;
}


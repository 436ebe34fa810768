/* Captures and commands: see capture.h. */
#include "tracker/process/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tracker/path/glob.h"
#include "tracker/process/identity.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	STDOUT = 1,
	STDERR = 2,
	MAJOR_TTY = 4,  /* as those in capture.h */
	PROOF_BITS = 3, /* of command_slot's `proof` */
};

static const uint64_t PAUSE_NS = 1000000000u; /* between two commands of a long-lived shell */

bool is_terminal_device(const struct stat *stat)
{
	unsigned device = major(stat->st_rdev);
	/* not 5: /dev/tty is another name of a terminal that may be the agent's own */
	return S_ISCHR(stat->st_mode) && (device == MAJOR_TTY || (device >= MAJOR_PTY_SLAVE_FIRST &&
								  device <= MAJOR_PTY_SLAVE_LAST));
}

/* Do the globs of an agent's profile name a path as one of its spool files? */
static bool is_named_spool(const struct segment *segment, uint32_t profile, const char *path)
{
	const struct settings *settings = segment->settings;
	const char *pattern = NULL;

	if (profile == 0 || profile > SETTINGS_PROFILES_MAX || profile > settings->profile_count)
		return false;
	while ((pattern = segment_text(segment, settings->profiles[profile - 1].spool, pattern)))
		if (path_covers(pattern, path, false))
			return true;
	return false;
}

/* A spool file: one that the agent's profile names, opened O_APPEND, with one name, of known age,
 * outside the workspace.  Its path is asked of the kernel (proc(5)); without /proc it is none. */
static bool is_spool(const struct segment *segment, struct subject subject, uint32_t profile,
		     const struct stat *stat)
{
	char path[SEGMENT_PATH_BYTES];
	int flags = subject_flags(subject, STDOUT);

	if (flags < 0 || !(flags & O_APPEND) || stat->st_nlink != 1 ||
	    subject_creation_ns(subject, STDOUT) == 0)
		return false;
	return subject_link(subject, STDOUT, path, sizeof(path)) > 0 && path[0] == '/' &&
	       !path_in_workspace(segment, path) && is_named_spool(segment, profile, path);
}

/* A FIFO with a name may be opened by anyone, at any time. */
static bool is_nameless(struct subject subject)
{
	static const char PIPE[] = "pipe:[";
	char link[64];

	/* One that does not fit is a path. */
	return subject_link(subject, STDOUT, link, sizeof(link)) > 0 &&
	       strncmp(link, PIPE, sizeof(PIPE) - 1) == 0;
}

/* What kind of capture this output may be, 0: none. */
static uint32_t capture_kind(const struct segment *segment, struct subject subject,
			     const struct context *context, const struct stat *stat)
{
	bool external = context->flags & CONTEXT_EXTERNAL_AGENT;
	bool said = context->flags & CONTEXT_EXTERNAL_DECLARED;

	if (is_terminal_device(stat))
		return CAPTURE_TERMINAL;
	if (S_ISFIFO(stat->st_mode))
		return (external ? said : is_nameless(subject)) ? CAPTURE_PIPE : 0;
	if (S_ISSOCK(stat->st_mode))
		return !external || said ? CAPTURE_SOCKET : 0;
	if (!S_ISREG(stat->st_mode) || external)
		return 0;
	if (stat->st_nlink == 0)
		return CAPTURE_UNLINKED;
	return is_spool(segment, subject, context->profile, stat) ? CAPTURE_FILE : 0;
}

bool capture_concerns(const struct context *context, uint32_t role)
{
	return context->capture_id ? role == ROLE_VIEWER || role == ROLE_READER
				   : role == ROLE_SHELL && (context->flags & CONTEXT_AGENT);
}

static bool is_file(uint32_t kind)
{
	return kind == CAPTURE_FILE || kind == CAPTURE_UNLINKED;
}

static struct capture_slot *capture_at(const struct segment *segment, uint64_t id)
{
	return segment_slot(segment, TABLE_CAPTURES, id % segment->capacity[TABLE_CAPTURES]);
}

bool capture_find(const struct segment *segment, uint64_t id, struct capture_slot *ret_copy)
{
	return id && slot_read(capture_at(segment, id), ret_copy, CAPTURE_CHECKED_BYTES) &&
	       ret_copy->id == id;
}

uint64_t capture_claim(const struct segment *segment, struct subject subject,
		       const struct context *context, bool long_lived)
{
	struct stat stat, errors;
	struct capture_slot copy;
	uint64_t written;

	if (subject_stat(subject, STDOUT, &stat) < 0)
		return 0;
	struct identity identity = identity_of(&stat);
	if (!(context->flags & CONTEXT_EXTERNAL_AGENT)) {
		/* Not knowing what the agent's own output is, a shell that inherited it cannot be
		 * told apart. */
		if (!(context->flags & CONTEXT_AGENT_OUT) ||
		    identity_equal(&identity, &context->agent_out[0]) ||
		    identity_equal(&identity, &context->agent_out[1]))
			return 0;
		if (!(context->flags & CONTEXT_ROOT_OUT) ||
		    identity_equal(&identity, &context->root_out))
			return 0;
	}
	uint32_t kind = capture_kind(segment, subject, context, &stat);
	if (!kind)
		return 0;

	uint64_t id = __atomic_fetch_add(&segment->header->next_capture, 1, __ATOMIC_RELAXED);
	struct capture_slot *slot = capture_at(segment, id);
	if (id == 0 || !slot_acquire(slot, &copy, CAPTURE_CHECKED_BYTES))
		return 0;
	copy.id = id;
	copy.identity = identity;
	copy.creation_ns = is_file(kind) ? subject_creation_ns(subject, STDOUT) : 0;
	copy.scope_id = context->scope_id;
	copy.kind = kind;
	copy.long_lived = long_lived;
	copy.shell_pid = subject_pid(subject);
	copy.measured = process_bytes_written(copy.shell_pid, &written);
	copy.start_bytes = (uint64_t)stat.st_size;
	copy.errors = subject_stat(subject, STDERR, &errors) == 0 ? identity_of(&errors)
								  : (struct identity){ 0, 0, 0 };
	__atomic_store_n(&slot->command_id, 0, __ATOMIC_RELAXED);
	slot_commit(slot, &copy, CAPTURE_CHECKED_BYTES);
	return id;
}

bool capture_is_sink(const struct segment *segment, struct subject subject, uint64_t capture_id)
{
	struct capture_slot copy;
	struct stat stat;

	if (!capture_find(segment, capture_id, &copy) || subject_stat(subject, STDOUT, &stat) < 0)
		return false;
	struct identity identity = identity_of(&stat);
	if (!identity_equal(&identity, &copy.identity))
		return false;
	if (!is_file(copy.kind))
		return true;
	if (copy.creation_ns != subject_creation_ns(subject, STDOUT))
		return false;
	return copy.kind == CAPTURE_UNLINKED
		       ? stat.st_nlink == 0
		       : is_spool(segment, subject, scope_profile(segment, copy.scope_id), &stat);
}

bool capture_is_errors(const struct segment *segment, const struct context *context,
		       const struct stat *stat)
{
	struct capture_slot copy;
	struct identity identity = identity_of(stat);

	if (!capture_find(segment, context->capture_id, &copy) || !copy.errors.ino ||
	    !identity_equal(&identity, &copy.errors))
		return false;
	/* A file may be kept for its content; no process reads a device that is no terminal. */
	if ((S_ISREG(stat->st_mode) && !identity_equal(&identity, &copy.identity)) ||
	    (S_ISCHR(stat->st_mode) && !is_terminal_device(stat)))
		return false;
	/* Not what the agent or the run print on by themselves. */
	return !(context->flags & CONTEXT_AGENT_OUT) ||
	       (!identity_equal(&identity, &context->agent_out[0]) &&
		!identity_equal(&identity, &context->agent_out[1]));
}

uint32_t capture_shell(const struct segment *segment, uint64_t capture_id)
{
	struct capture_slot copy;
	return capture_find(segment, capture_id, &copy) ? copy.shell_pid : 0;
}

static struct command_slot *command_at(const struct segment *segment, uint64_t id)
{
	return segment_slot(segment, TABLE_COMMANDS, id % segment->capacity[TABLE_COMMANDS]);
}

static uint64_t command_new(const struct segment *segment, bool measured, uint64_t base_bytes,
			    uint64_t now_ns)
{
	uint64_t id = __atomic_fetch_add(&segment->header->next_command, 1, __ATOMIC_RELAXED);
	struct command_slot *slot = command_at(segment, id);

	__atomic_store_n(&slot->id, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->bytes, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->last_ns, now_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->base_bytes, base_bytes, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->total_bytes, COMMAND_OPEN, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->measured, measured, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->running, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->proof, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->lines, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->longest, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->open_bytes, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->senders, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->id, id, __ATOMIC_SEQ_CST);
	return id;
}

static void command_close(const struct segment *segment, uint64_t id, uint64_t total_bytes)
{
	struct command_slot *slot = command_at(segment, id);
	if (__atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) == id)
		__atomic_store_n(&slot->total_bytes, total_bytes, __ATOMIC_SEQ_CST);
}

uint64_t capture_command(const struct segment *segment, uint64_t capture_id)
{
	struct capture_slot copy;
	if (!capture_find(segment, capture_id, &copy))
		return 0;

	uint64_t *current_at = &capture_at(segment, capture_id)->command_id;
	uint64_t current = __atomic_load_n(current_at, __ATOMIC_ACQUIRE);
	uint64_t now_ns = sys_boottime_ns(), written = 0;
	for (;;) {
		struct command_slot *slot = current ? command_at(segment, current) : NULL;
		bool known = slot && __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE) == current;
		/* A command that was pushed out of the table: what it sent is not known. */
		if (slot && !known && !copy.long_lived)
			return 0;
		if (known &&
		    (!copy.long_lived ||
		     now_ns < __atomic_load_n(&slot->last_ns, __ATOMIC_RELAXED) + PAUSE_NS)) {
			__atomic_store_n(&slot->last_ns, now_ns, __ATOMIC_RELAXED);
			return current;
		}
		bool measured = copy.measured && (!copy.long_lived ||
						  process_bytes_written(copy.shell_pid, &written));
		uint64_t made = command_new(segment, measured, written, now_ns);
		uint64_t before = current;
		if (!__atomic_compare_exchange_n(current_at, &current, made, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		if (known && measured)
			command_close(segment, before,
				      written -
					      __atomic_load_n(&slot->base_bytes, __ATOMIC_RELAXED));
		return made;
	}
}

void capture_finish(const struct segment *segment, struct subject subject, uint64_t capture_id)
{
	struct capture_slot copy;
	struct stat stat;
	uint64_t total;

	if (!capture_find(segment, capture_id, &copy) || !copy.measured)
		return;
	uint64_t id = __atomic_load_n(&capture_at(segment, capture_id)->command_id,
				      __ATOMIC_ACQUIRE);
	if (!id)
		return; /* no request: nothing hangs on it */
	struct identity identity = { 0, 0, 0 };
	if (is_file(copy.kind) && subject_stat(subject, STDOUT, &stat) == 0)
		identity = identity_of(&stat);
	if (is_file(copy.kind) && identity_equal(&identity, &copy.identity))
		total = (uint64_t)stat.st_size - copy.start_bytes;
	else if (process_bytes_written(subject_pid(subject), &total))
		total -= __atomic_load_n(&command_at(segment, id)->base_bytes, __ATOMIC_RELAXED);
	else
		return;
	command_close(segment, id, total);
}

void command_reader(const struct segment *segment, uint64_t command_id, int change)
{
	if (command_id)
		(void)__atomic_fetch_add(&command_at(segment, command_id)->running,
					 (uint64_t)(int64_t)change, __ATOMIC_SEQ_CST);
}

static void add(uint64_t *word, uint64_t more)
{
	if (more)
		(void)__atomic_fetch_add(word, more, __ATOMIC_SEQ_CST);
}

/* To whichever command has the slot by now: too much for that one is the safe side. */
void command_add(const struct segment *segment, uint64_t command_id, const struct shape *before,
		 const struct shape *now)
{
	const struct shape none = { 0 };

	if (!command_id)
		return;
	struct command_slot *slot = command_at(segment, command_id);
	if (!before)
		before = &none;
	/* Lines first: who reads the bytes finds what they are cut into. */
	add(&slot->senders, before == &none);
	add(&slot->lines, shape_lines(now) - shape_lines(before));
	add(&slot->open_bytes, now->open_bytes - before->open_bytes);
	uint64_t longest = __atomic_load_n(&slot->longest, __ATOMIC_RELAXED);
	while (longest < now->longest &&
	       !__atomic_compare_exchange_n(&slot->longest, &longest, now->longest, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	add(&slot->bytes, now->bytes - before->bytes);
	__atomic_store_n(&slot->last_ns, sys_boottime_ns(), __ATOMIC_RELAXED);
}

void command_remove(const struct segment *segment, uint64_t command_id, const struct shape *shape)
{
	if (!command_id)
		return;
	struct command_slot *slot = command_at(segment, command_id);
	add(&slot->bytes, 0 - shape->bytes);
	add(&slot->lines, 0 - shape_lines(shape));
	add(&slot->open_bytes, 0 - shape->open_bytes);
	add(&slot->senders, 0 - UINT64_C(1));
}

void command_aside(const struct segment *segment, uint64_t command_id, uint64_t bytes)
{
	if (command_id)
		add(&command_at(segment, command_id)->base_bytes, bytes);
}

/* What a long-lived shell wrote before the command is left out already, and when it wrote aside is not known. */
uint64_t capture_aside(const struct segment *segment, uint64_t capture_id, uint64_t bytes)
{
	struct capture_slot copy;
	uint64_t id = bytes && capture_find(segment, capture_id, &copy) && !copy.long_lived
			      ? capture_command(segment, capture_id)
			      : 0;

	command_aside(segment, id, bytes);
	return id;
}

/* Copies a command's words; false when the slot is another's. */
static bool command_read(const struct segment *segment, uint64_t id, struct command_slot *ret_copy)
{
	struct command_slot *slot = id ? command_at(segment, id) : NULL;
	if (!slot || __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) != id)
		return false;
	ret_copy->bytes = __atomic_load_n(&slot->bytes, __ATOMIC_SEQ_CST);
	ret_copy->base_bytes = __atomic_load_n(&slot->base_bytes, __ATOMIC_SEQ_CST);
	ret_copy->total_bytes = __atomic_load_n(&slot->total_bytes, __ATOMIC_SEQ_CST);
	ret_copy->measured = __atomic_load_n(&slot->measured, __ATOMIC_SEQ_CST);
	ret_copy->running = __atomic_load_n(&slot->running, __ATOMIC_SEQ_CST);
	ret_copy->lines = __atomic_load_n(&slot->lines, __ATOMIC_SEQ_CST);
	ret_copy->longest = __atomic_load_n(&slot->longest, __ATOMIC_SEQ_CST);
	ret_copy->open_bytes = __atomic_load_n(&slot->open_bytes, __ATOMIC_SEQ_CST);
	ret_copy->senders = __atomic_load_n(&slot->senders, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) == id;
}

/* Did what viewers and readers sent keep to the limits, and `total_bytes` with what others
 * wrote? */
static bool is_within(const struct command_slot *command, uint64_t total_bytes,
		      const struct output_limits *limits)
{
	uint64_t others = total_bytes > command->bytes ? total_bytes - command->bytes : 0;
	/* One line may begin where another sender left off. */
	uint64_t joined = others + (command->senders > 1 ? command->open_bytes : 0);

	return command->bytes + others <= limits->bytes &&
	       command->lines + others <= limits->lines &&
	       command->longest + joined <= limits->line_bytes;
}

bool command_within(const struct segment *segment, uint64_t command_id,
		    const struct output_limits *limits)
{
	struct command_slot copy;
	return command_read(segment, command_id, &copy) && copy.running == 0 &&
	       (!copy.measured || copy.total_bytes != COMMAND_OPEN) &&
	       is_within(&copy, copy.measured ? copy.total_bytes : 0, limits);
}

bool command_within_so_far(const struct segment *segment, uint64_t capture_id, uint64_t command_id,
			   const struct output_limits *limits)
{
	struct command_slot copy;
	uint64_t written;

	if (!command_read(segment, command_id, &copy) || !is_within(&copy, 0, limits))
		return false;
	if (!copy.measured)
		return true;
	return process_bytes_written(capture_shell(segment, capture_id), &written) &&
	       is_within(&copy, written - copy.base_bytes, limits);
}

int command_prove(const struct segment *segment, uint64_t command_id, enum proof proof)
{
	struct command_slot *slot = command_id ? command_at(segment, command_id) : NULL;

	if (!slot || __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) != command_id)
		return -ENOENT;
	/* The id goes with it: should another command get the slot right now, it is no proof of
	 * that one. */
	__atomic_store_n(&slot->proof, command_id << PROOF_BITS | (uint64_t)proof,
			 __ATOMIC_SEQ_CST);
	return 0;
}

enum proof command_proof(const struct segment *segment, uint64_t command_id)
{
	const struct command_slot *slot = command_id ? command_at(segment, command_id) : NULL;
	uint64_t word = slot ? __atomic_load_n(&slot->proof, __ATOMIC_SEQ_CST) : 0;

	if (!slot || word >> PROOF_BITS != (command_id << PROOF_BITS) >> PROOF_BITS ||
	    __atomic_load_n(&slot->id, __ATOMIC_SEQ_CST) != command_id)
		return PROOF_NONE;
	return (enum proof)(word & ((1u << PROOF_BITS) - 1));
}

bool command_bytes(const struct segment *segment, uint64_t command_id, uint64_t *ret_bytes)
{
	struct command_slot copy;

	if (!command_read(segment, command_id, &copy))
		return false;
	*ret_bytes = copy.bytes;
	return true;
}

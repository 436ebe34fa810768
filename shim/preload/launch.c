/*
 * A program about to be started: it is announced to the session, and the copy of the environment
 * that it gets holds its ticket, the session's directory in place of its name, and our library, if
 * a program had taken that out.  For a program that could not load the library (another
 * architecture, musl) it is taken out, so that the loader prints nothing; also for one that would
 * not start below it (AddressSanitizer).
 * The caller's own environment stays as it is.
 *
 * Where the caller scrubbed its environment (`env -i`), only LD_PRELOAD is put back: the child
 * finds the session by its ancestors and its place by its pid (attach.c).
 *
 * This runs between fork or vfork and exec: only the stack and the segment are written to.
 */
#include "shim/preload/launch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/follow/guarded.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/memory.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/start/request.h"
#include "tracker/process/capture.h"
#include "tracker/process/image.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

extern char **environ;

#define PRELOAD "LD_PRELOAD="
#define SESSION "SEEN_SESSION="

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Does a value of SEEN_SESSION mean the session that this process belongs to? */
static bool is_our_session(const char *value)
{
	return strcmp(value, shim.session + sizeof(SESSION) - 1) == 0 ||
	       strcmp(value, shim.segment.header->name) == 0;
}

/* Memory for an environment's array that is too large for a stack.  It belongs to a thread, told by
 * its thread pointer, which a child between vfork and exec has from its parent: when that child has
 * become another program, the parent's thread may take it again. */
enum {
	LARGE_ARRAYS = 12, /* memory of a library counts, too (setrlimit(2), RLIMIT_DATA) */
	LARGE_VARIABLES = 900,
};

static struct large {
	uintptr_t owner; /* 0: free */
	bool in_work;    /* being filled: a signal handler that starts a program does not get it */
} larges[LARGE_ARRAYS + 1];
static char *large_arrays[LARGE_ARRAYS][LARGE_VARIABLES + LAUNCH_VARIABLES_MORE];
static char *largest_array[LAUNCH_VARIABLES_MAX + LAUNCH_VARIABLES_MORE]; /* of the last one */

static char **array_of(const struct large *large)
{
	return large < larges + LARGE_ARRAYS ? large_arrays[large - larges] : largest_array;
}

/* gcc has the builtin for x86 since 11. */
static uintptr_t thread_pointer(void)
{
#if defined(__x86_64__)
	uintptr_t self;
	__asm__("movq %%fs:0, %0" : "=r"(self));
	return self;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

static struct large *large_acquire(int variables)
{
	uintptr_t self = thread_pointer();

	for (int i = variables > LARGE_VARIABLES ? LARGE_ARRAYS : 0; i <= LARGE_ARRAYS; i++) {
		uintptr_t owner = 0;
		if ((__atomic_compare_exchange_n(&larges[i].owner, &owner, self, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
		     owner == self) &&
		    !__atomic_exchange_n(&larges[i].in_work, true, __ATOMIC_ACQUIRE))
			return &larges[i];
	}
	return NULL;
}

void launch_resumed(void)
{
	uintptr_t self = thread_pointer();

	for (int i = 0; i <= LARGE_ARRAYS; i++)
		if (__atomic_load_n(&larges[i].owner, __ATOMIC_RELAXED) == self &&
		    !__atomic_load_n(&larges[i].in_work, __ATOMIC_RELAXED))
			__atomic_store_n(&larges[i].owner, 0, __ATOMIC_RELEASE);
}

void launch_reset(void)
{
	for (int i = 0; i <= LARGE_ARRAYS; i++) {
		larges[i].owner = 0;
		larges[i].in_work = false;
	}
}

/* Could that be an address of a program at all?  Without asking the kernel for each. */
static bool is_plausible(const void *address)
{
	return (uintptr_t)address >= 4096 && (uintptr_t)address < UINT64_C(0x7ffffffff000);
}

/* Would the library, in a program that starts here, find what it needs of the session? */
static bool reaches_session(void)
{
	static const char SEGMENT[] = "/segment";
	const char *directory = shim.session + sizeof(SESSION) - 1;
	size_t length = strlen(directory);
	char *path = scratch_acquire();
	int fd = -EMFILE;

	if (path && length + sizeof(SEGMENT) <= SEGMENT_PATH_BYTES) {
		memcpy(path, directory, length);
		memcpy(path + length, SEGMENT, sizeof(SEGMENT));
		fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
	}
	scratch_release(path);
	if (fd >= 0)
		(void)sys_close(fd);
	return fd != -EROFS && fd != -EACCES && fd != -EPERM && fd != -ENOENT && fd != -ENOTDIR;
}

void launch_measure(struct launch *ret_launch, struct program_place place, char *const argv[],
		    char *const environment[])
{
	const char *preload = "";
	int count = 0;

	ret_launch->place = place;
	ret_launch->announces = false;
	ret_launch->variables = -1;
	ret_launch->large = NULL;
	ret_launch->file = (struct program_file){ IMAGE_UNKNOWN, false };
	ret_launch->lacks_library = ret_launch->is_out_of_reach = false;
	ret_launch->is_kept_from_agent = false;
	ret_launch->ticket[0] = '\0';
	if (!shim.on || shim.sandboxed)
		return;
	reader_untrackable();
	/* What a wrong pointer would do must be done by the kernel: the first of each are tried. */
	if (!place.path || !launch_is_text(place.path) ||
	    (argv && (!launch_is_readable(argv) || (argv[0] && !launch_is_byte(argv[0])))) ||
	    (environment && (!launch_is_readable(environment) ||
			     (environment[0] && !launch_is_byte(environment[0])))))
		return;
	ret_launch->announces = true;
	ret_launch->is_out_of_reach = !shim.supervised && !reaches_session();
	ret_launch->file = program_classify(place);
	for (; environment && environment[count]; count++) {
		if (count == LAUNCH_VARIABLES_MAX || !is_plausible(environment[count]))
			return;
		if (begins_with(environment[count], SESSION) &&
		    !is_our_session(environment[count] + sizeof(SESSION) - 1))
			return;
		if (begins_with(environment[count], PRELOAD))
			preload = environment[count] + sizeof(PRELOAD) - 1;
	}
	if (count > LAUNCH_VARIABLES_STACK && !(ret_launch->large = large_acquire(count)) &&
	    count > LAUNCH_VARIABLES_STACK_MAX)
		return;
	ret_launch->variables = count;
	ret_launch->preload_bytes = sizeof(PRELOAD) + strlen(shim.library) + 1 + strlen(preload) +
				    1;
}

/* Finds our library in a value of LD_PRELOAD (ld.so(8): separated by spaces or colons).  Returns
 * where it begins, or NULL. */
static const char *find_library(const char *value)
{
	size_t length = strlen(shim.library);
	for (const char *at = value; *at;) {
		size_t word = strcspn(at, ": ");
		if (word == length && memcmp(at, shim.library, length) == 0)
			return at;
		at += word;
		at += strspn(at, ": ");
	}
	return NULL;
}

/* LD_PRELOAD= with our library, which is not in `value`: first, but behind a sanitizer's that must
 * be.  False when it does not fit. */
static bool add_library(const char *value, char *ret_entry, size_t capacity)
{
	size_t library = strlen(shim.library), rest = strlen(value);
	const char *sanitizer = image_find_sanitizer(value);

	if (library == 0 || sizeof(PRELOAD) + library + 1 + rest > capacity)
		return false;
	size_t before = sanitizer ? (size_t)(sanitizer - value) + strcspn(sanitizer, ": ") : 0;
	char *at = ret_entry;
	memcpy(at, PRELOAD, sizeof(PRELOAD) - 1);
	at += sizeof(PRELOAD) - 1;
	memcpy(at, value, before);
	at += before;
	if (before)
		*at++ = ':';
	memcpy(at, shim.library, library);
	at += library;
	if (rest && !before)
		*at++ = ':';
	memcpy(at, value + before, rest - before + 1);
	return true;
}

/* LD_PRELOAD= without our library, which begins at `found` in `value`.  False when it does not
 * fit. */
static bool remove_library(const char *value, const char *found, char *ret_entry, size_t capacity)
{
	const char *behind = found + strlen(shim.library);
	size_t before = (size_t)(found - value);

	behind += strspn(behind, ": ");
	if (sizeof(PRELOAD) + strlen(value) > capacity)
		return false;
	char *at = ret_entry;
	memcpy(at, PRELOAD, sizeof(PRELOAD) - 1);
	at += sizeof(PRELOAD) - 1;
	memcpy(at, value, before);
	memcpy(at + before, behind, strlen(behind) + 1);
	return true;
}

/* LD_PRELOAD= with our library, at `found` in `value`, moved behind a sanitizer's that must be
 * first.  False when there is nothing to move, or no room. */
static bool move_library_back(const char *value, const char *found, char *ret_entry,
			      size_t capacity)
{
	const char *sanitizer = image_find_sanitizer(found);

	if (!sanitizer || !remove_library(value, found, ret_entry, capacity))
		return false;
	size_t library = strlen(shim.library), length = strlen(ret_entry);
	if (length + 1 + library >= capacity)
		return false;
	ret_entry[length] = ':';
	memcpy(ret_entry + length + 1, shim.library, library + 1);
	return true;
}

/* Is the library where the loader will look for it?  In a chroot it is not there: the loader would
 * say so. */
static bool has_library(void)
{
	return sys_call6(SYS_faccessat, AT_FDCWD, (long)shim.library, F_OK, 0, 0, 0) >= 0;
}

/* A program as it was announced.  False where it could not be. */
static bool read_announced(struct process_ref process, struct process_slot *ret_slot)
{
	return process_read(&shim.segment, process.index, ret_slot) &&
	       ret_slot->serial == process.serial;
}

/* Does a program show its agent content, or is it a shell whose output may be the agent's, while the kernel keeps from it
 * who reads that?  It does in another namespace of users than the agent's; and numbers of processes mean others in
 * another one of theirs.  becomes: the caller becomes that program, and has its outputs. */
static bool is_kept_from_agent(struct process_ref process, bool becomes)
{
	struct process_slot slot;
	char path[PROC_PATH_BYTES];
	struct stat stat;

	if (!read_announced(process, &slot))
		return false;
	const struct context *context = &slot.context;
	if (!capture_concerns(context, context->role) || !context->anchor_pid || !context->pid_ns)
		return false;
	bool is_kept = context->process_ns != context->pid_ns;
	if (!is_kept) {
		proc_path(context->anchor_pid, "ns/user", path);
		int error = sys_stat(path, &stat);
		is_kept = error == -EACCES || error == -EPERM;
	}
	return is_kept && (!becomes || !context->capture_id ||
			   capture_is_sink(&shim.segment, SUBJECT_SELF, context->capture_id));
}

void launch_announce(struct launch *launch, pid_t pid, char *const argv[])
{
	/* Arguments as the kernel will read them, and their places: a word may lie where nothing
	 * is. */
	char *joined = scratch_acquire(), *places = scratch_acquire();
	char **words = (char **)(void *)places;
	const char *executable = launch->place.path[0] ? launch->place.path : "fexecve";
	char *const none[] = { NULL };
	size_t used = 0, count = 0;
	bool cut = false;

	if (joined && places) {
		used = record_join(argv, true, joined, SEGMENT_PATH_BYTES, &cut);
		for (size_t at = 0; at < used && count < SEGMENT_PATH_BYTES / sizeof(*words) - 1;
		     at += strlen(joined + at) + 1)
			words[count++] = joined + at;
		words[count] = NULL;
	}
	launch->process = process_announce(&shim.segment, SUBJECT_SELF, &shim.request.context,
					   shim.process, pid, executable, count ? words : none,
					   launch->ticket);
	launch->is_kept_from_agent = !shim.supervised &&
				     is_kept_from_agent(launch->process, pid != 0);
	record_exec(launch->place.directory, launch->place.path, joined, used, cut, launch->process,
		    pid);
	if (keep_any())
		process_set_keeps(&shim.segment, launch->process, keep_files_handed_on(pid != 0));
	if (pid && shim.guards)
		process_set_writes(&shim.segment, launch->process, guarded_key());
	guarded_started();
	bool ends_program = pid == shim.pid && shim.ends_capture && !shim.is_fork;
	launch->aside_bytes = ends_program ? sys_aside_bytes : 0;
	launch->command_id = capture_aside(&shim.segment, shim.request.context.capture_id,
					   launch->aside_bytes);
	scratch_release(joined);
	scratch_release(places);
}

char *const *launch_environment(struct launch *launch, char *const environment[],
				char **stack_array, char *preload)
{
	char **array = launch->large ? array_of(launch->large) : stack_array;
	const char *given = NULL;
	bool has_session = false;
	int kept = 0;

	for (int i = 0; i < launch->variables; i++) {
		char *entry = environment[i];
		if (begins_with(entry, TICKET_VARIABLE "="))
			continue;
		if (begins_with(entry, PRELOAD) && !given) {
			given = entry + sizeof(PRELOAD) - 1;
			continue;
		}
		if (begins_with(entry, SESSION)) {
			has_session = true;
			entry = shim.session; /* a name was looked up once */
		}
		array[kept++] = entry;
	}
	if (has_session && launch->ticket[0])
		array[kept++] = launch->ticket;

	const char *found = given ? find_library(given) : NULL;
	bool is_there = has_library();
	bool loads = is_there && image_loads_library(launch->file.kind);
	launch->lacks_library = shim.library[0] && !is_there &&
				launch->file.kind == IMAGE_PRELOADABLE;
	if (found ? !loads && remove_library(given, found, preload, launch->preload_bytes)
		  : loads && add_library(given ? given : "", preload, launch->preload_bytes)) {
		if (preload[sizeof(PRELOAD) -
			    1]) /* ours was the only one: as if there had been none */
			array[kept++] = preload;
	} else if (given) {
		array[kept++] = (char *)given - (sizeof(PRELOAD) - 1);
		if (found && move_library_back(given, found, preload, launch->preload_bytes))
			array[kept - 1] = preload;
	}
	array[kept] = NULL;
	if (launch->large)
		__atomic_store_n(&launch->large->in_work, false, __ATOMIC_RELEASE);
	return array;
}

/* May the program lose the right to gain privileges?  An agent may, and what one reads with: a
 * viewer, a reader (rg), by its name and arguments. */
static bool may_drop(struct process_ref process)
{
	struct process_slot slot;

	if (shim.segment.settings->session_privileges == SESSION_PRIVILEGES_DROP)
		return true;
	return read_announced(process, &slot) && role_is_of_agent((int)slot.context.role) &&
	       slot.context.role != ROLE_SHELL;
}

static enum mechanism supervise(const struct launch *launch)
{
	const struct request_start start = {
		.directory = shim.session + sizeof(SESSION) - 1,
		.run = shim.request.context.flags >> CONTEXT_RUN_SHIFT,
		.process = launch->process,
		.may_drop = may_drop(launch->process),
	};

	if (launch->file.kind == IMAGE_FOREIGN)
		return MECHANISM_FOREIGN;
	if (launch->file.gains_privileges)
		return MECHANISM_PRIVILEGED;
	return start.run ? request_supervision(&start) : MECHANISM_NO_SOCKET;
}

bool launch_wants_supervisor(const struct launch *launch)
{
	return launch->announces && !shim.supervised &&
	       (image_needs_supervisor(launch->file.kind) || launch->file.kind == IMAGE_FOREIGN ||
		launch->lacks_library || launch->is_out_of_reach || launch->is_kept_from_agent);
}

void launch_note_spawned(const struct launch *launch)
{
	if (launch_wants_supervisor(launch))
		process_set_mechanism(&shim.segment, launch->process, MECHANISM_SPAWNED);
}

void launch_supervise(const struct launch *launch)
{
	if (launch_wants_supervisor(launch))
		process_set_mechanism(&shim.segment, launch->process, supervise(launch));
}

void launch_done(const struct launch *launch, pid_t pid, int error)
{
	if (!launch->announces)
		return;
	if (!pid)
		record_exec_failed(launch->process.serial, error);
	command_aside(&shim.segment, launch->command_id, 0 - launch->aside_bytes);
	if (launch->large)
		__atomic_store_n(&launch->large->owner, 0, __ATOMIC_RELEASE);
	if (pid)
		process_set_pid(&shim.segment, launch->process, pid);
	else
		process_withdraw(&shim.segment, launch->process);
}

static const char *own_preload(void)
{
	for (char **entry = environ; entry && *entry; entry++)
		if (begins_with(*entry, PRELOAD))
			return *entry + sizeof(PRELOAD) - 1;
	return "";
}

bool launch_repairs_command(void)
{
	const char *preload = own_preload();
	/* within single quotes in a shell's command: nothing that would end them */
	return shim.on && shim.library[0] && !find_library(preload) && !strchr(preload, '\'') &&
	       !strchr(shim.library, '\'') && strlen(preload) < 1000;
}

void launch_command(const char *command, char *ret_command, size_t capacity)
{
	char *at = ret_command;

	memcpy(at, "export ", 7);
	if (!add_library(own_preload(), at + 7, capacity - strlen(command) - 16)) {
		memcpy(ret_command, command, strlen(command) + 1);
		return;
	}
	/* export LD_PRELOAD=... becomes export LD_PRELOAD='...' */
	char *value = at + 7 + sizeof(PRELOAD) - 1;
	size_t length = strlen(value);
	memmove(value + 1, value, length);
	*value = '\'';
	at = value + 1 + length;
	memcpy(at, "'; ", 3);
	memcpy(at + 3, command, strlen(command) + 1);
}

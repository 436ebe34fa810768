/* What a process runs: from the call of exec until another program is in its place; see target.h. */
#include "shim/supervise/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/supervise/handshake.h"
#include "shim/supervise/keeping.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/message.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rights.h"
#include "shim/supervise/table.h"
#include "shim/supervise/viewer.h"
#include "tracker/content/baseline.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/attach.h"
#include "tracker/process/capture.h"
#include "tracker/process/hook_command.h"
#include "tracker/process/identity.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/package.h"
#include "tracker/sys/sys.h"

enum {
	WORDS_MAX = 512, /* of a command line that is inspected */
	WORDS_BYTES = 16384,
};

struct image target_image(struct target *target)
{
	if (!target->image.stack)
		target->image = proc_image(target->pid);
	return target->image;
}

void target_refresh_root(const struct targets *targets, struct target *target)
{
	char root[SEGMENT_PATH_BYTES];

	target->root_changes = false;
	free(target->root);
	target->root = NULL;
	if (proc_link(target->pid, "root", root, sizeof(root)) < 0)
		return;
	if (strcmp(root, "/") == 0)
		root[0] = '\0';
	if (root[0] || proc_mount_ns(target->pid) != targets->mount_ns)
		target->root = strdup(root);
}

static bool is_inside(const struct code_range *range, uint64_t code)
{
	return code >= range->from && code < range->to;
}

bool target_is_library_code(const struct target *target, uint64_t code)
{
	for (int i = 0; i < CODE_RANGES; i++)
		if (is_inside(&target->code[i], code))
			return true;
	return false;
}

/* The library is inside, and sent no handshake to this supervisor. */
void target_join_library(struct target *target, const struct mapped *mapped)
{
	target->way = WAY_LIBRARY;
	target->root_changes = true;
	target->code[0] = mapped->libc;
	target->code[1] = mapped->loader;
	target->code[2] = mapped->library;
}

static void start_image(struct target *target)
{
	viewed_free(target->views);
	target->views = NULL;
	target->exec_called = false;
	target->way = WAY_STARTING;
	target->is_fork = target->reported = false;
	target->record = 0;
	target->handshake = 0;
	target->request = (struct request){ .subject = { (uint32_t)target->pid } };
	memset(target->code, 0, sizeof(target->code));
	target->loader = target->library = (struct code_range){ 0, 0 };
}

/* It called exec: did another program come of it? */
static bool begins_image(struct target *target)
{
	struct image image = proc_image(target->pid);

	if (proc_image_equal(&image, &target->start.image))
		return false;
	start_image(target);
	target->image = image;
	return true;
}

/* Value of NAME in what /proc/PID/environ holds, or NULL. */
static const char *variable(const char *environment, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment, *end = environment + bytes; at < end;
	     at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

bool target_is_elsewhere(const struct target *target)
{
	struct identity namespace = proc_file(target->pid, "ns/pid");
	return namespace.ino != process_pid_ns();
}

/* The library of the one who started it announced it as well, by a ticket in its environment:
 * no process will take that over. */
static void withdraw_other(const struct segment *segment, const char *environment, size_t bytes)
{
	const char *ticket = environment ? variable(environment, bytes, TICKET_VARIABLE) : NULL;
	struct process_ref other;
	struct process_slot slot;

	if (ticket && sscanf(ticket, "%*u:%lu:%lu", &other.index, &other.serial) == 2 &&
	    process_read(segment, other.index, &slot) && slot.serial == other.serial &&
	    slot.state == PROCESS_ANNOUNCED)
		process_withdraw(segment, other);
}

/* A program as /proc shows it. */
struct command {
	char executable[SEGMENT_PATH_BYTES];
	char text[WORDS_BYTES]; /* its words, each ended by NUL */
	size_t bytes;
	char *words[WORDS_MAX + 1];
	bool is_cut; /* there are more words than these */
};

static void read_command(pid_t pid, struct command *ret_command)
{
	char link[64];
	int count = 0;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	ssize_t length = sys_readlink(link, ret_command->executable,
				      sizeof(ret_command->executable) - 1);
	ret_command->executable[length > 0 ? length : 0] = '\0';
	ssize_t bytes = proc_read(pid, "cmdline", ret_command->text, sizeof(ret_command->text));
	ret_command->bytes = bytes > 0 ? (size_t)bytes : 0;
	for (size_t at = 0; at < ret_command->bytes && count < WORDS_MAX;
	     at += strlen(ret_command->text + at) + 1)
		ret_command->words[count++] = ret_command->text + at;
	ret_command->words[count] = NULL;
	ret_command->is_cut = ret_command->bytes >= sizeof(ret_command->text) - 1 ||
			      count == WORDS_MAX;
}

static void classify(const struct segment *segment, const struct command *command,
		     struct target *target)
{
	struct invocation *invocation = &target->invocation;

	role_invocation(segment, command->executable, command->words, invocation);
	package_complete(segment, (struct subject){ (uint32_t)target->pid }, command->executable,
			 invocation);
	target->rules_known = false;
	/* What was not inspected may be an option: then it is known of no program what it does. */
	if (command->is_cut && (invocation->role == ROLE_VIEWER || invocation->role == ROLE_READER))
		invocation->role = ROLE_TOOL;
}

/* Is anything given to the program by its environment? */
static bool has_variables(const struct target *target)
{
	uint32_t role = target->invocation.role;

	return role == ROLE_SHELL || role == ROLE_AGENT ||
	       (target->start.context.flags & CONTEXT_ROOT) || target->start.announced_elsewhere;
}

/* What the library of its starter announced: to give it back if the library shows up here too. */
static void find_announced(const struct segment *segment, struct target *target)
{
	struct start *start = &target->start;
	struct process_slot announced;

	if (!start->announced.serial &&
	    process_find_announced(segment, target->request.subject, &start->announced, &announced))
		start->context = announced.context;
}

/* Takes the program's place in the session. */
static void join_session(const struct segment *segment, struct target *target)
{
	size_t bytes = 0;
	char *environment = has_variables(target) ? proc_read_whole(target->pid, "environ", &bytes)
						  : NULL;
	const char *scope = environment ? variable(environment, bytes, "SEEN_SCOPE") : NULL;
	struct start *start = &target->start;

	if (scope && !*scope)
		scope = NULL;
	find_announced(segment, target);
	target->process = process_adopt(segment, target->request.subject, start->announced,
					&target->invocation, scope, &target->request.context);
	target->scope_id = baseline_scope(&target->request.context, scope);
	if (start->announced_elsewhere)
		withdraw_other(segment, environment, bytes);
	free(environment);
}

/* Where descriptor 1 leads.  The files of a process that is not dumpable are root's in /proc (proc(5)): who may trace
 * it, as the owner of its user namespace may, takes a copy of the descriptor for that moment. */
static struct identity output_of(const struct target *target)
{
	enum { STDOUT = 1 };
	struct identity output = proc_file(target->pid, "fd/1");
	struct stat stat;

	if (output.ino)
		return output;
	int fd = (int)sys_call3(SYS_pidfd_getfd, target->descriptor, STDOUT, 0);
	if (fd < 0)
		return output;
	if (sys_fstat(fd, &stat) == 0)
		output = identity_of(&stat);
	(void)sys_close(fd);
	return output;
}

/* A capture is what was descriptor 1 when the shell was started: it may have put another there
 * before its first call. */
static void leave_other_capture(struct target *target)
{
	struct context *context = &target->request.context;
	struct identity output = output_of(target);

	if (context->capture_id != target->start.context.capture_id &&
	    !identity_equal(&output, &target->start.output))
		context->capture_id = 0;
}

/* Learns what the new program is. */
static void adopt(const struct targets *targets, struct target *target)
{
	const struct supervision *supervision = targets->supervision;
	const struct segment *segment = supervision->segment;
	struct command command;

	read_command(target->pid, &command);
	classify(segment, &command, target);
	join_session(segment, target);
	leave_other_capture(target);
	keeping_starts(supervision, target);
	target->way = WAY_SUPERVISED;
	target->reported = true;
	target_refresh_root(targets, target);
	record_started(supervision, target, command.executable, command.text, command.bytes);
	target->request.is_viewer = false;
	if (target->invocation.ignored)
		return;
	if (unreported_any(segment) && !hook_command_among(command.words))
		message_unreported(supervision, target);
	uint32_t role = target->request.context.role;
	target->request.is_viewer = role == ROLE_VIEWER;
	if (role == ROLE_VIEWER || role == ROLE_READER)
		request_init(segment, &target->request, target->invocation.probes);
}

bool target_is_loading(const struct target *target, uint64_t code)
{
	return target->way == WAY_STARTING && !target->exec_called &&
	       (is_inside(&target->loader, code) || is_inside(&target->library, code));
}

bool target_complete(struct targets *targets, struct target *target, uint64_t code, bool ends)
{
	if (target->exec_called)
		(void)begins_image(target);
	if (target->way != WAY_STARTING)
		return true;
	if (code && !ends) {
		/* The loader's own calls, and those of the library before its handshake, are not
		 * the program's. */
		if (target_is_loading(target, code))
			return false;
		struct mapped mapped;
		proc_maps(target->pid, &mapped);
		target->loader = mapped.loader;
		target->library = mapped.library;
		if (target_is_loading(target, code))
			return false;
	}
	adopt(targets, target);
	return true;
}

bool target_is_complete(const struct target *target)
{
	return !target->exec_called && target->way != WAY_STARTING && target->reported;
}

bool target_is_sure(const struct targets *targets, const struct target *target,
		    uint64_t received_ns)
{
	return target->way == WAY_SUPERVISED && target_is_complete(target) &&
	       sys_clock_ns(CLOCK_MONOTONIC) - received_ns < targets->sure_ns;
}

void target_returned(struct targets *targets, struct target *target, pid_t tid)
{
	if (!target->exec_called || target->start.tid != tid || begins_image(target))
		return;
	if (target->start.announced_here) {
		record_start_failed(targets->supervision, target, tid);
		process_withdraw(targets->supervision->segment, target->start.announced);
	}
	target->exec_called = false;
	/* It asked to be supervised for a program that could not be started, and goes on. */
	if (target->way == WAY_BEFORE_EXEC) {
		struct mapped mapped;
		proc_maps(target->pid, &mapped);
		target_join_library(target, &mapped);
	}
}

void target_start(struct targets *targets, struct target *target, pid_t tid, bool announce,
		  const char *path, const char *words, size_t words_bytes)
{
	const struct supervision *supervision = targets->supervision;
	char *array[WORDS_MAX + 1];
	size_t count = 0;

	/* Called again by the same thread: what it called before could not be started. */
	if (target->exec_called && target->start.announced_here) {
		record_start_failed(supervision, target, tid);
		process_withdraw(supervision->segment, target->start.announced);
	}
	if (target->way == WAY_BEFORE_EXEC) {
		target->start.announced = target->process;
		target->start.context = target->request.context;
		target->start.announced_here = false;
	} else {
		target->start = (struct start){ .context = target->request.context };
	}
	if (announce && target->way != WAY_BEFORE_EXEC) {
		for (size_t at = 0; at < words_bytes && count < WORDS_MAX;
		     at += strlen(words + at) + 1)
			array[count++] = (char *)(uintptr_t)words + at;
		array[count] = NULL;
		target->start.announced = process_announce(
			supervision->segment, target->request.subject, &target->request.context,
			target->process, target->pid, path, array, target->start.ticket);
		target->start.announced_here = true;
	}
	target->start.tid = tid;
	target->start.image = target_image(target);
	target->start.output = output_of(target);
	target->exec_called = true;
}

/* Does a program show its agent content, or is it a shell that may, from another user namespace?  There the library may not
 * ask who reads it.  Other programs keep the library, which sets the environment of what they start. */
static bool is_kept_from_agent(const struct segment *segment, struct target *target)
{
	const struct context *context = &target->start.context;
	struct command command;

	if (rights_share_user_namespace(target->pid))
		return false;
	find_announced(segment, target);
	if (!target->start.announced.serial || !context->anchor_pid ||
	    context->pid_ns != process_pid_ns())
		return false;
	struct identity own = proc_file(target->pid, "ns/user");
	struct identity agents = proc_file((pid_t)context->anchor_pid, "ns/user");
	if (!own.ino || !agents.ino || own.ino == agents.ino)
		return false;
	read_command(target->pid, &command);
	classify(segment, &command, target);
	return capture_concerns(context, target->invocation.role) &&
	       (!context->capture_id ||
		capture_is_sink(segment, target->request.subject, context->capture_id));
}

bool target_library(struct targets *targets, struct target *target, uint64_t handshake)
{
	const struct segment *segment = targets->supervision->segment;
	struct handshake said;

	if (target->exec_called)
		(void)begins_image(target);
	if (memory_read(target->pid, handshake, &said, sizeof(said)) != sizeof(said) ||
	    said.size_bytes != sizeof(said))
		return true;
	/* The numbers that the library sees are not those that others know; or it may not ask. */
	if (target_is_elsewhere(target) || is_kept_from_agent(segment, target))
		return false;
	if (target->way == WAY_SUPERVISED && !target->is_fork) {
		request_cancel(segment, &target->request);
		process_release(segment, target->process,
				target->start.announced.serial ? &target->start.context : NULL);
	}
	/* The one who started it could not hand it a ticket. */
	if (target->start.announced_here && target->start.ticket[0])
		(void)memory_write(target->pid, handshake + offsetof(struct handshake, ticket),
				   target->start.ticket, sizeof(target->start.ticket));
	target->way = WAY_LIBRARY;
	target->is_fork = false;
	target->rules_known = false;
	target->root_changes = true; /* not asked for yet */
	target->handshake = handshake;
	for (int i = 0; i < CODE_RANGES; i++)
		target->code[i] = (struct code_range){ said.code[i].from, said.code[i].to };
	return true;
}

void target_inspect_library(struct targets *targets, struct target *target)
{
	const struct segment *segment = targets->supervision->segment;
	struct process_slot slot;
	struct handshake said;

	target->request.subject.pid = (uint32_t)target->pid;
	if (!target->handshake ||
	    memory_read(target->pid, target->handshake, &said, sizeof(said)) != sizeof(said))
		return;
	target->record = said.record;
	if (said.process.serial && process_read(segment, said.process.index, &slot) &&
	    slot.serial == said.process.serial) {
		target->process = said.process;
		target->request.context = slot.context;
		target->request.context.process_ns = process_pid_ns(); /* as target->pid is */
		memcpy(target->invocation.name, slot.name, sizeof(slot.name));
	}
}

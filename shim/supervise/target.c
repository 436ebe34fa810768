/* The processes below the filter: see target.h. */
#include "shim/supervise/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shim/supervise/guarded.h"
#include "shim/supervise/handshake.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/message.h"
#include "shim/supervise/record.h"
#include "shim/supervise/viewer.h"
#include "tracker/content/baseline.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/attach.h"
#include "tracker/process/capture.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/package.h"
#include "tracker/process/scope.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

enum {
	BUCKETS = 4096,
	WRITING_MAX =
		256, /* processes whose writes are inspected again by themselves; of more at their next call */
	SOON_NS = 10000000,
	ANCESTORS_MAX = 64,
	WORDS_MAX = 512, /* of a command line that is inspected */
	WORDS_BYTES = 16384,
	CHILDREN_MAX = 256,
	EVENTS_AT_ONCE = 64,
	SURE_NS = 20000000,
	NUMBERS_MIN = 32768,  /* of processes, the least that one can be sure with */
	THREADS_KNOWN = 1024, /* of all processes; a power of two */
};

/* A thread that is not its process's first, whose process was asked for. */
struct thread {
	pid_t tid, pid;
	uint64_t checked_ns; /* when that was so */
};

struct targets {
	const struct supervision *supervision;
	uint64_t sure_ns; /* for as long a number stands for what it stood for */
	int ended;        /* epoll over the processes */
	uint64_t mount_ns;
	pthread_mutex_t lock; /* for the table, and users of its entries */
	/* one is made at a time: two threads of a process may call at once */
	pthread_mutex_t making;
	/* out of the table, not in use: to be destroyed without the lock */
	struct target *dead;
	struct target *buckets[BUCKETS];
	struct thread threads[THREADS_KNOWN]; /* under the lock, by the thread's number */
	int timer;                            /* when to hash the results of writes */
	pid_t writing[WRITING_MAX];
	int writing_count;
};

/* ---- the table ---- */

static struct target **bucket_of(struct targets *targets, pid_t pid)
{
	return &targets->buckets[(unsigned)pid % BUCKETS];
}

/* With the table's lock held. */
static struct target *find(struct targets *targets, pid_t pid)
{
	for (struct target *target = *bucket_of(targets, pid); target; target = target->next)
		if (target->pid == pid)
			return target;
	return NULL;
}

static void destroy(struct target *target)
{
	viewed_free(target->views);
	guarded_free(target->writes);
	free(target->directory);
	free(target->root);
	if (target->descriptor >= 0)
		(void)close(target->descriptor);
	(void)pthread_mutex_destroy(&target->lock);
	free(target);
}

/* With the table's lock held: no thread finds it any more; its holder keeps it. */
static void remove_target(struct targets *targets, struct target *target)
{
	struct target **at = bucket_of(targets, target->pid);

	while (*at && *at != target)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = target->next;
	target->gone = true;
	(void)epoll_ctl(targets->ended, EPOLL_CTL_DEL, target->descriptor, NULL);
	if (target->users == 0) {
		target->next = targets->dead;
		targets->dead = target;
	}
}

/* It called exec, and its program then nothing that is inspected: it was seen all the same. */
static void finish_without_call(const struct segment *segment, const struct target *target)
{
	struct process_ref announced = target->start.announced;
	struct process_slot slot;

	if (!announced.serial &&
	    !process_find_announced(segment, target->request.subject, &announced, &slot))
		return;
	process_ended_before_calls(segment, announced);
}

/* Lets go of the table's lock, and destroys what is to be: closing a file may take as long as its
 * file system likes. */
static void unlock(struct targets *targets)
{
	struct target *dead = targets->dead, *next;

	targets->dead = NULL;
	(void)pthread_mutex_unlock(&targets->lock);
	for (; dead; dead = next) {
		next = dead->next;
		if (dead->exec_called || dead->way == WAY_STARTING)
			finish_without_call(targets->supervision->segment, dead);
		destroy(dead);
	}
}

/* For how long is a number of a process not another's?  They are given one after the other, and
 * there are as many as /proc/sys/kernel/pid_max says (proc(5)): of some ten thousands SURE_NS is a
 * small part of the time that it takes.  Of fewer, always look. */
static uint64_t read_numbers(void)
{
	char text[32];
	ssize_t length = sys_read_file("/proc/sys/kernel/pid_max", text, sizeof(text));

	return length > 0 && strtol(text, NULL, 10) >= NUMBERS_MIN ? SURE_NS : 0;
}

/* Has the process ended?  Then its number may be another's, but not at once. */
static bool has_ended(const struct targets *targets, struct target *target)
{
	struct pollfd ended = { target->descriptor, POLLIN, 0 };
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

	if (now_ns - target->checked_ns < targets->sure_ns)
		return false;
	target->checked_ns = now_ns;
	return poll(&ended, 1, 0) != 0;
}

static struct target *acquire(struct targets *targets, pid_t pid)
{
	(void)pthread_mutex_lock(&targets->lock);
	struct target *target = find(targets, pid);
	if (target && has_ended(targets, target)) {
		remove_target(targets, target);
		target = NULL;
	}
	if (target)
		target->users++;
	unlock(targets);
	return target;
}

static void release(struct targets *targets, struct target *target)
{
	(void)pthread_mutex_lock(&targets->lock);
	if (--target->users == 0 && target->gone) {
		target->next = targets->dead;
		targets->dead = target;
	}
	unlock(targets);
}

void target_release(struct targets *targets, struct target *target)
{
	(void)pthread_mutex_unlock(&target->lock);
	release(targets, target);
}

void targets_sweep(struct targets *targets)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count;

	while ((count = epoll_wait(targets->ended, events, EVENTS_AT_ONCE, 0)) > 0) {
		(void)pthread_mutex_lock(&targets->lock);
		for (int i = 0; i < count; i++) {
			struct target *target = find(targets, (pid_t)events[i].data.u32);
			if (target) {
				target->checked_ns = 0;
				if (has_ended(targets, target))
					remove_target(targets, target);
			}
		}
		unlock(targets);
	}
}

int targets_timer(const struct targets *targets)
{
	return targets->timer;
}

void targets_note_writing(struct targets *targets, pid_t pid)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = SOON_NS } };
	bool known = false;

	(void)pthread_mutex_lock(&targets->lock);
	for (int i = 0; i < targets->writing_count; i++)
		known = known || targets->writing[i] == pid;
	if (!known && targets->writing_count < WRITING_MAX)
		targets->writing[targets->writing_count++] = pid;
	(void)timerfd_settime(targets->timer, 0, &soon, NULL);
	(void)pthread_mutex_unlock(&targets->lock);
}

pid_t targets_next_writing(struct targets *targets)
{
	(void)pthread_mutex_lock(&targets->lock);
	pid_t pid = targets->writing_count ? targets->writing[--targets->writing_count] : 0;
	(void)pthread_mutex_unlock(&targets->lock);
	return pid;
}

/* ---- what /proc says ---- */

static ssize_t read_proc(pid_t pid, const char *name, char *ret_text, size_t capacity)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return sys_read_file(path, ret_text, capacity);
}

/* The same of what one read returns, in less than there is room for. */
static ssize_t read_proc_at_once(pid_t pid, const char *name, char *ret_text, size_t capacity)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	ssize_t got = sys_read(fd, ret_text, capacity - 1);
	(void)sys_close(fd);
	ret_text[got > 0 ? got : 0] = '\0';
	return got;
}

static bool find_number(const char *text, const char *name, pid_t *ret_number)
{
	const char *at = strstr(text, name);
	if (!at)
		return false;
	*ret_number = (pid_t)strtol(at + strlen(name), NULL, 10);
	return true;
}

/* The process of a thread, and that one's parent (proc(5), status). */
static bool inspect_thread(pid_t tid, pid_t *ret_pid, pid_t *ret_parent)
{
	char text[1024];

	return read_proc_at_once(tid, "status", text, sizeof(text)) > 0 &&
	       find_number(text, "\nTgid:", ret_pid) && find_number(text, "\nPPid:", ret_parent);
}

/* Where its stack begins (proc(5), stat, field 28): another image has another. */
static uint64_t stack_of(pid_t pid)
{
	char text[1024];

	if (read_proc_at_once(pid, "stat", text, sizeof(text)) <= 0)
		return 0;
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static struct identity file_of(pid_t pid, const char *name)
{
	char path[64];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return sys_stat(path, &stat) == 0 ? identity_of(&stat) : (struct identity){ 0, 0, 0 };
}

static struct image inspect_image(pid_t pid)
{
	return (struct image){ stack_of(pid), file_of(pid, "exe") };
}

static bool image_equal(const struct image *a, const struct image *b)
{
	return a->stack == b->stack && identity_equal(&a->file, &b->file);
}

static struct image image_of(struct target *target)
{
	if (!target->image.stack)
		target->image = inspect_image(target->pid);
	return target->image;
}

static uint64_t mount_ns_of(pid_t pid)
{
	return file_of(pid, "ns/mnt").ino;
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
	if (root[0] || mount_ns_of(target->pid) != targets->mount_ns)
		target->root = strdup(root);
}

/* Ranges of code in a process, by the files that are mapped (proc(5), maps). */
struct mapped {
	struct code_range libc, loader, library;
};

static void widen(struct code_range *range, uint64_t from, uint64_t to)
{
	if (!range->to || from < range->from)
		range->from = from;
	if (to > range->to)
		range->to = to;
}

static void read_maps(pid_t pid, struct mapped *ret_mapped)
{
	char path[64], line[SEGMENT_PATH_BYTES + 128];

	*ret_mapped = (struct mapped){ 0 };
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to;
		char *name = strrchr(line, '/');
		if (!name || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (strncmp(name, "/ld-linux", 9) == 0)
			widen(&ret_mapped->loader, from, to);
		else if (strcmp(name, "/libc.so.6") == 0)
			widen(&ret_mapped->libc, from, to);
		else if (strcmp(name, "/libseen.so") == 0)
			widen(&ret_mapped->library, from, to);
	}
	(void)fclose(file);
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
static void be_with_library(struct target *target, const struct mapped *mapped)
{
	target->way = WAY_LIBRARY;
	target->root_changes = true;
	target->code[0] = mapped->libc;
	target->code[1] = mapped->loader;
	target->code[2] = mapped->library;
}

/* ---- a program starts ---- */

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
	struct image image = inspect_image(target->pid);

	if (image_equal(&image, &target->start.image))
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

/* All of a file in /proc, ended by NUL; NULL: not to be had.  The caller frees it. */
static char *read_whole(pid_t pid, const char *name, size_t *ret_bytes)
{
	enum { CHUNK = 16384, MAX = 4 << 20 };
	char path[64], *bytes = NULL;
	size_t used = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	for (;;) {
		char *more = realloc(bytes, used + CHUNK + 1);
		if (!more)
			break;
		bytes = more;
		ssize_t got = sys_read(fd, bytes + used, CHUNK);
		if (got <= 0)
			break;
		used += (size_t)got;
		if (used >= MAX)
			break;
	}
	(void)sys_close(fd);
	if (bytes)
		bytes[used] = '\0';
	*ret_bytes = used;
	return bytes;
}

bool target_is_elsewhere(const struct target *target)
{
	struct identity namespace = file_of(target->pid, "ns/pid");
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

/* Learns what the new program is, and takes its place in the session. */
static void adopt(const struct targets *targets, struct target *target)
{
	const struct segment *segment = targets->supervision->segment;
	char executable[SEGMENT_PATH_BYTES], link[64], text[WORDS_BYTES];
	char *words[WORDS_MAX + 1];
	int count = 0;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->pid);
	ssize_t length = sys_readlink(link, executable, sizeof(executable) - 1);
	executable[length > 0 ? length : 0] = '\0';
	ssize_t bytes = read_proc(target->pid, "cmdline", text, sizeof(text));
	for (ssize_t at = 0; at < bytes && count < WORDS_MAX; at += (ssize_t)strlen(text + at) + 1)
		words[count++] = text + at;
	words[count] = NULL;
	role_invocation(segment, executable, words, &target->invocation);
	package_complete(segment, (struct subject){ (uint32_t)target->pid }, executable,
			 &target->invocation);
	target->rules_known = false;
	/* What was not inspected may be an option: then it is known of no program what it does. */
	if ((bytes >= (ssize_t)sizeof(text) - 1 || count == WORDS_MAX) &&
	    (target->invocation.role == ROLE_VIEWER || target->invocation.role == ROLE_READER))
		target->invocation.role = ROLE_TOOL;

	/* Only these get anything by their environment. */
	size_t environment_bytes = 0;
	char *environment = NULL;
	uint32_t role = target->invocation.role;
	if (role == ROLE_SHELL || role == ROLE_AGENT ||
	    (target->start.context.flags & CONTEXT_ROOT) || target->start.announced_elsewhere)
		environment = read_whole(target->pid, "environ", &environment_bytes);
	const char *scope = environment ? variable(environment, environment_bytes, "SEEN_SCOPE")
					: NULL;
	struct context *context = &target->request.context;
	struct process_slot announced;
	/* What the library of its starter announced: to give it back if the library shows up here
	 * too. */
	if (!target->start.announced.serial &&
	    process_find_announced(segment, target->request.subject, &target->start.announced,
				   &announced))
		target->start.context = announced.context;
	target->process = process_adopt(segment, target->request.subject, target->start.announced,
					&target->invocation, scope && *scope ? scope : NULL,
					context);
	target->scope_id = baseline_scope(context, scope && *scope ? scope : NULL);
	if (target->start.announced_elsewhere)
		withdraw_other(segment, environment, environment_bytes);
	free(environment);
	/* A capture is what was descriptor 1 when the shell was started: it may have put another
	 * there before its first call. */
	struct identity output = file_of(target->pid, "fd/1");
	if (context->capture_id != target->start.context.capture_id &&
	    !identity_equal(&output, &target->start.output))
		context->capture_id = 0;
	target->way = WAY_SUPERVISED;
	target->reported = true;
	target_refresh_root(targets, target);
	record_started(targets->supervision, target, executable, text,
		       bytes > 0 ? (size_t)bytes : 0);
	if (!target->invocation.ignored && unreported_any(segment))
		message_unreported(targets->supervision, target);
	target->request.is_viewer = context->role == ROLE_VIEWER && !target->invocation.ignored;
	if (!target->invocation.ignored &&
	    (context->role == ROLE_VIEWER || context->role == ROLE_READER))
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
		read_maps(target->pid, &mapped);
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
		read_maps(target->pid, &mapped);
		be_with_library(target, &mapped);
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
	target->start.image = image_of(target);
	target->start.output = file_of(target->pid, "fd/1");
	target->exec_called = true;
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
	/* The numbers that the library sees are not those that others know. */
	if (target_is_elsewhere(target))
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
		memcpy(target->invocation.name, slot.name, sizeof(slot.name));
	}
}

/* ---- making one ---- */

/* Is the process a copy of what the other one runs now?  A copy has its stack where the other has
 * it; what was started since has another.  Its parent may have become another program meanwhile, or
 * be one that took it over. */
static bool is_copy_of(struct target *target, struct target *ancestor)
{
	const struct image own = image_of(target), other = image_of(ancestor);
	return own.stack && image_equal(&own, &other);
}

static void start_orphan(const struct targets *targets, struct target *target);

/* A process of which it is not known what it belongs to: it and all below it is recorded, and never
 * answered. */
static void start_stranger(const struct targets *targets, struct target *target)
{
	start_orphan(targets, target);
	if (target->way != WAY_STARTING)
		return;
	target->way = WAY_SUPERVISED;
	target->is_fork = true;
	target->invocation.role = ROLE_TOOL;
	target->request.context = (struct context){ .role = ROLE_TOOL, .pid_ns = process_pid_ns() };
	target_refresh_root(targets, target);
}

/* What its nearest known ancestor is, that a process is which made no call yet. */
static bool copy_ancestor(struct targets *targets, struct target *target, pid_t parent)
{
	for (int level = 0; level < ANCESTORS_MAX && parent > 1; level++) {
		struct target *known = acquire(targets, parent);
		if (!known) {
			pid_t same;
			if (!inspect_thread(parent, &same, &parent))
				return false;
			continue;
		}
		(void)pthread_mutex_lock(&known->lock);
		(void)target_complete(targets, known, 0, false);
		if (!is_copy_of(target, known)) {
			target_release(targets, known);
			start_stranger(targets, target);
			return true;
		}
		target->way = known->way;
		target->is_fork = true;
		target->confined = known->confined;
		target->has_library = known->has_library;
		target->no_new_privs = known->no_new_privs;
		target->invocation = known->invocation;
		target->rules = known->rules;
		target->rules_known = known->rules_known;
		target->request = known->request;
		target->request.subject.pid = (uint32_t)target->pid;
		target->request.is_viewer = false;
		target->request.number = 0;
		target->request.command_id = 0;
		target->process = known->process;
		target->record = known->record;
		target->handshake = known->handshake;
		memcpy(target->code, known->code, sizeof(target->code));
		target->root = known->root ? strdup(known->root) : NULL;
		target->root_changes = known->root_changes;
		target_release(targets, known);
		return true;
	}
	return false;
}

/* A process whose starter is not known.  It may be a copy of one with the library inside. */
static void start_orphan(const struct targets *targets, struct target *target)
{
	struct mapped mapped = { .library = { 0, 0 } };

	target->way = WAY_STARTING;
	target->reported = true;
	target->confined = true; /* for all that is known */
	if (targets->supervision->has_library)
		read_maps(target->pid, &mapped);
	if (mapped.library.to)
		be_with_library(target, &mapped);
}

static struct target *make(struct targets *targets, pid_t pid, pid_t parent)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	(void)pthread_mutex_init(&target->lock, NULL);
	target->pid = pid;
	target->request.subject.pid = (uint32_t)pid;
	target->descriptor = (int)sys_call3(SYS_pidfd_open, pid, 0, 0);
	if (target->descriptor < 0) {
		destroy(target);
		return NULL;
	}
	if (parent && !copy_ancestor(targets, target, parent))
		start_orphan(targets, target);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)pid };
	(void)pthread_mutex_lock(&targets->lock);
	(void)epoll_ctl(targets->ended, EPOLL_CTL_ADD, target->descriptor, &event);
	target->next = *bucket_of(targets, pid);
	*bucket_of(targets, pid) = target;
	target->users = 1;
	(void)pthread_mutex_unlock(&targets->lock);
	return target;
}

/* Is the thread one of that process? */
static bool has_thread(pid_t pid, pid_t tid)
{
	char path[64];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return sys_stat(path, &stat) == 0;
}

/* The process of this number, made if it is new. */
static struct target *find_or_make(struct targets *targets, pid_t pid, pid_t parent)
{
	struct target *target = acquire(targets, pid);

	if (target)
		return target;
	(void)pthread_mutex_lock(&targets->making);
	target = acquire(targets, pid);
	if (!target)
		target = make(targets, pid, parent);
	(void)pthread_mutex_unlock(&targets->making);
	return target;
}

static struct thread *thread_of(struct targets *targets, pid_t tid)
{
	return &targets->threads[(unsigned)tid % THREADS_KNOWN];
}

static void know_thread(struct targets *targets, pid_t tid, pid_t pid)
{
	(void)pthread_mutex_lock(&targets->lock);
	*thread_of(targets, tid) = (struct thread){ tid, pid, sys_clock_ns(CLOCK_MONOTONIC) };
	(void)pthread_mutex_unlock(&targets->lock);
}

/* The process of a thread that is known.  Its number is not another's at once, as with
 * processes. */
static struct target *acquire_by_thread(struct targets *targets, pid_t tid)
{
	(void)pthread_mutex_lock(&targets->lock);
	const struct thread known = *thread_of(targets, tid);
	(void)pthread_mutex_unlock(&targets->lock);
	struct target *target = known.tid == tid ? acquire(targets, known.pid) : NULL;

	if (!target || sys_clock_ns(CLOCK_MONOTONIC) - known.checked_ns < targets->sure_ns)
		return target;
	if (has_thread(known.pid, tid)) {
		know_thread(targets, tid, known.pid);
		return target;
	}
	release(targets, target);
	return NULL;
}

static struct target *acquire_known(struct targets *targets, pid_t tid)
{
	struct target *target = acquire(targets, tid);
	return target ? target : acquire_by_thread(targets, tid);
}

struct target *target_find(struct targets *targets, pid_t tid)
{
	struct target *target = acquire_known(targets, tid);

	if (target && pthread_mutex_trylock(&target->lock) != 0) {
		release(targets, target);
		target = NULL;
	}
	return target;
}

struct target *target_acquire(struct targets *targets, pid_t tid)
{
	struct target *target = acquire_known(targets, tid);
	pid_t pid, parent;

	if (!target) {
		if (!inspect_thread(tid, &pid, &parent))
			return NULL;
		target = find_or_make(targets, pid, parent);
		if (target && pid != tid && !has_thread(pid, tid)) {
			release(targets, target);
			target = NULL;
		} else if (target && pid != tid) {
			know_thread(targets, tid, pid);
		}
	}
	if (target)
		(void)pthread_mutex_lock(&target->lock);
	return target;
}

/* The children that one thread of it started (proc(5), task/TID/children). */
static void meet_children_of(struct targets *targets, pid_t pid, const char *tid)
{
	char name[64], text[4096];
	int count = 0;

	(void)snprintf(name, sizeof(name), "task/%.20s/children", tid);
	if (read_proc(pid, name, text, sizeof(text)) <= 0)
		return;
	for (char *at = text, *end; count < CHILDREN_MAX; at = end, count++) {
		pid_t child_pid = (pid_t)strtol(at, &end, 10);
		if (end == at || child_pid <= 0)
			break;
		struct target *child = find_or_make(targets, child_pid, pid);
		if (child)
			release(targets, child);
	}
}

void target_meet_children(struct targets *targets, struct target *target)
{
	enum { LINKS_OF_ONE = 3 }; /* of the directory: two, and one for each thread */
	char path[64];
	const struct dirent *entry;
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)target->pid);
	if (sys_stat(path, &stat) == 0 && stat.st_nlink == LINKS_OF_ONE) {
		(void)snprintf(path, sizeof(path), "%d", (int)target->pid);
		(void)pthread_mutex_unlock(&target->lock);
		meet_children_of(targets, target->pid, path);
		(void)pthread_mutex_lock(&target->lock);
		return;
	}
	DIR *threads = opendir(path);
	if (!threads)
		return;
	/* They inspect this one, which is to be let go of meanwhile. */
	(void)pthread_mutex_unlock(&target->lock);
	while ((entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			meet_children_of(targets, target->pid, entry->d_name);
	(void)closedir(threads);
	(void)pthread_mutex_lock(&target->lock);
}

struct targets *targets_make(const struct supervision *supervision)
{
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets)
		return NULL;
	targets->supervision = supervision;
	targets->sure_ns = read_numbers();
	targets->mount_ns = mount_ns_of(getpid());
	(void)pthread_mutex_init(&targets->lock, NULL);
	(void)pthread_mutex_init(&targets->making, NULL);
	targets->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	targets->ended = epoll_create1(EPOLL_CLOEXEC);
	if (targets->ended < 0 || targets->timer < 0) {
		if (targets->ended >= 0)
			(void)close(targets->ended);
		if (targets->timer >= 0)
			(void)close(targets->timer);
		free(targets);
		return NULL;
	}
	return targets;
}

int targets_enter(struct targets *targets, const struct supervise_root *root)
{
	(void)pthread_mutex_lock(&targets->making);
	struct target *target = acquire(targets, root->pid);
	if (!target)
		target = make(targets, root->pid, 0);
	(void)pthread_mutex_unlock(&targets->making);
	if (!target)
		return -ESRCH;
	(void)pthread_mutex_lock(&target->lock);
	target->way = WAY_BEFORE_EXEC;
	target->reported = true;
	target->exec_called = false;
	target->has_library = root->has_library;
	target->no_new_privs = root->no_new_privs;
	target->process = root->process;
	target->request.context = root->context;
	target_release(targets, target);
	return 0;
}

int targets_descriptor(const struct targets *targets)
{
	return targets->ended;
}

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
#include "shim/supervise/kept_call.h"
#include "shim/supervise/program.h"
#include "shim/supervise/table.h"
#include "shim/supervise/twin.h"
#include "shim/supervise/viewer.h"
#include "tracker/process/attach.h"
#include "tracker/process/kernel_status.h"
#include "tracker/sys/sys.h"

enum {
	SOON_NS = 10000000,
	ANCESTORS_MAX = 64,
	CHILDREN_MAX = 256,
	EVENTS_AT_ONCE = 64,
	SURE_NS = 20000000,
	NUMBERS_MIN = 32768, /* of processes, the least that one can be sure with */
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
	kept_call_free(target->kept);
	domain_release(target->domain);
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
		kept_call_complete(targets->supervision, dead, 0);
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

/* ---- making one ---- */

/* Is the process a copy of what the other one runs now?  A copy has its stack where the other has
 * it; what was started since has another.  Its parent may have become another program meanwhile, or
 * be one that took it over. */
static bool is_copy_of(struct target *target, struct target *ancestor)
{
	const struct image own = target_image(target), other = target_image(ancestor);
	return own.stack && proc_image_equal(&own, &other);
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
	uint32_t pid_ns = process_pid_ns();
	target->request.context = (struct context){ .role = ROLE_TOOL,
						    .pid_ns = pid_ns,
						    .process_ns = pid_ns };
	target_refresh_root(targets, target);
}

/* What its nearest known ancestor is, that a process is which made no call yet. */
static bool copy_ancestor(struct targets *targets, struct target *target, pid_t parent)
{
	for (int level = 0; level < ANCESTORS_MAX && parent > 1; level++) {
		struct target *known = acquire(targets, parent);
		if (!known) {
			pid_t same;
			if (!proc_thread(parent, &same, &parent))
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
		target->domain = domain_share(known->domain);
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
		proc_maps(target->pid, &mapped);
	if (mapped.library.to)
		target_join_library(target, &mapped);
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
		if (!proc_thread(tid, &pid, &parent))
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

void target_confine(struct target *target, int ruleset)
{
	struct domain *domain = target->confined
					? NULL
					: domain_enter(target->domain, target->descriptor, ruleset);

	target->confined = !domain;
	domain_release(target->domain);
	target->domain = domain;
}

/* The children that one thread of it started (proc(5), task/TID/children). */
static void meet_children_of(struct targets *targets, pid_t pid, const char *tid)
{
	char name[64], text[4096];
	int count = 0;

	(void)snprintf(name, sizeof(name), "task/%.20s/children", tid);
	if (proc_read(pid, name, text, sizeof(text)) <= 0)
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
	targets->mount_ns = proc_mount_ns(getpid());
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
	target->confined = target->confined || root->is_confined;
	target->process = root->process;
	target->request.context = root->context;
	target_release(targets, target);
	return 0;
}

int targets_descriptor(const struct targets *targets)
{
	return targets->ended;
}

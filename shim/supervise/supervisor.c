/*
 * The threads that answer.
 *
 * The kernel writes each call into memory that the guardian shares: when the supervisor dies,
 * however that happens, the guardian knows which calls were taken and not answered, and lets them
 * and all later ones pass.  Otherwise they would wait for ever.
 *
 * Below a run's first filter there is one listener, and a thread waits in it.  Where programs become
 * supervised at their exec there are many, and it waits for all of them first.
 */
#include "shim/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/start/filter.h"
#include "shim/supervise/call.h"
#include "shim/supervise/guarded.h"
#include "shim/supervise/guardian.h"
#include "shim/supervise/kept_call.h"
#include "shim/supervise/notify.h"
#include "shim/supervise/reception.h"
#include "shim/supervise/target.h"
#include "shim/supervise/written.h"
#include "tracker/process/kernel_status.h"
#include "tracker/sys/sys.h"

enum {
	THREADS = 4,
	TENDED_MAX = 64, /* events, before the caller of supervise_tend() goes on */
	STACK_BYTES = 1 << 20,
	TRIAL_STACK_BYTES = 1 << 16,
	NO_WAIT_NS = 1500, /* a thread that was put to sleep and woken again takes longer */
};

struct supervisor {
	pthread_mutex_t lead; /* of the one thread that waits for calls */
	struct supervision supervision;
	struct targets *targets;
	struct received *received;
	uint64_t mark;
	int listener; /* the one that there is; -1: they are in `calls` */
	int calls;    /* epoll over many listeners; -1 */
	int listener_count;
	int events;                  /* epoll: processes that ended, and the listener's end */
	int ended;                   /* eventfd: one of many listeners has ended; -1 */
	int queue;                   /* of the guardian; -1: not started */
	pid_t between;               /* its starter, until start_threads() */
	struct reception *reception; /* NULL: none asks */
	size_t call_bytes;
	/* threads that answer at a time what each could answer one after the other */
	int abreast_max;
	int abreast;    /* ... besides the one that leads */
	bool has_ended; /* all below the one listener */
	int filters;    /* that this process is below */
	bool is_broken; /* it could not be woken */
};

struct worker {
	struct supervisor *supervisor;
	struct received *received;
};

/* A call that a thread answers. */
struct answering {
	struct exchange exchange; /* first: it is what others see of this */
	struct supervisor *supervisor;
};

static void let_others_lead(struct exchange *exchange)
{
	struct answering *answering = (struct answering *)(void *)exchange;
	(void)pthread_mutex_unlock(&answering->supervisor->lead);
}

/* More calls wait: may another thread take them, while this one answers?  It needs a processor of
 * its own, and so do those whose calls these are: where there are two, one thread is faster.  True:
 * until `abreast` is taken back. */
static bool goes_abreast(struct supervisor *supervisor)
{
	if (__atomic_fetch_add(&supervisor->abreast, 1, __ATOMIC_RELAXED) + 1 <
	    supervisor->abreast_max)
		return true;
	(void)__atomic_fetch_sub(&supervisor->abreast, 1, __ATOMIC_RELAXED);
	return false;
}

/* A listener's last process has ended.  Another thread that still answers for one of these finds a
 * descriptor that is closed, or one where the call's number is unknown. */
static void drop_listener(struct supervisor *supervisor, int listener)
{
	const uint64_t one = 1;

	(void)epoll_ctl(supervisor->calls, EPOLL_CTL_DEL, listener, NULL);
	(void)close(listener);
	(void)__atomic_fetch_sub(&supervisor->listener_count, 1, __ATOMIC_RELAXED);
	(void)!write(supervisor->ended, &one, sizeof(one));
}

/* Takes the next call of one listener.  False at its end. */
static bool receive_from(int listener, struct received *received, size_t call_bytes)
{
	for (;;) {
		int error = notify_receive(listener, received, call_bytes);
		struct pollfd poll_for = { listener, POLLIN, 0 };
		if (error == 0)
			return true;
		if (error != -EINTR && error != -ENOENT) /* ENOENT: killed meanwhile */
			return false;
		if (error == -ENOENT && poll(&poll_for, 1, 0) == 1 &&
		    (poll_for.revents & (POLLHUP | POLLERR)) && !(poll_for.revents & POLLIN))
			return false;
	}
}

/* Takes the next call of any listener: one thread at a time, so that what is there stays there.
 * False when none will come. */
static bool receive_call(struct supervisor *supervisor, struct received *received,
			 int *ret_listener)
{
	struct epoll_event event;

	*ret_listener = supervisor->listener;
	if (supervisor->calls < 0)
		return receive_from(supervisor->listener, received, supervisor->call_bytes);
	for (;;) {
		int count = epoll_wait(supervisor->calls, &event, 1, -1);
		if (count < 0 && errno != EINTR)
			return false;
		if (count != 1)
			continue;
		*ret_listener = event.data.fd;
		if (!(event.events & EPOLLIN))
			drop_listener(supervisor, event.data.fd);
		else if (notify_receive(event.data.fd, received, supervisor->call_bytes) == 0)
			return true;
	}
}

/* One thread at a time waits for calls, and answers those that need no more than an inspection by
 * itself:
 * to wake another would take longer than the answer.  Before what takes longer, and when calls are
 * there before they are waited for, the next one leads. */
static void *work(void *data)
{
	const struct worker worker = *(const struct worker *)data;
	struct supervisor *supervisor = worker.supervisor;
	const struct seccomp_notif *call = (const void *)worker.received->call;
	struct answering answering = {
		.exchange = { .note_slow = let_others_lead },
		.supervisor = supervisor,
	};
	struct exchange *exchange = &answering.exchange;
	uint32_t last_pid = 0;

	free(data);
	(void)pthread_mutex_lock(&supervisor->lead);

	for (;;) {
		uint64_t since_ns = sys_clock_ns(CLOCK_MONOTONIC);
		if (!receive_call(supervisor, worker.received, &exchange->listener))
			break;
		exchange->call = call;
		exchange->received_ns = sys_clock_ns(CLOCK_MONOTONIC);
		exchange->is_long = false;
		/* The one that was just answered may have run before this thread went on, and
		 * called again: no other thread waits. */
		bool is_abreast = call->pid != last_pid &&
				  exchange->received_ns - since_ns < NO_WAIT_NS &&
				  goes_abreast(supervisor);
		if (is_abreast)
			exchange_note_slow(exchange);
		last_pid = call->pid;
		struct verdict verdict = call_judge(supervisor->targets, &supervisor->supervision,
						    supervisor->mark, exchange);
		notify_answer(exchange->listener, call->id, verdict);
		if (is_abreast)
			(void)__atomic_fetch_sub(&supervisor->abreast, 1, __ATOMIC_RELAXED);
		if (exchange->is_long)
			(void)pthread_mutex_lock(&supervisor->lead);
	}
	(void)pthread_mutex_unlock(&supervisor->lead);
	return NULL;
}

/* ---- the outside ---- */

uint64_t supervise_mark(const struct segment *segment)
{
	uint64_t *at = &segment->header->supervise_mark;
	uint64_t mark = __atomic_load_n(at, __ATOMIC_ACQUIRE), made = 0;

	if (mark)
		return mark;
	if (getrandom(&made, sizeof(made), 0) != sizeof(made))
		return 0;
	/* Even, and of both halves none that a call would have by itself. */
	made = (made & ~UINT64_C(1)) | (UINT64_C(1) << 62) | 2;
	return __atomic_compare_exchange_n(at, &mark, made, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE)
		       ? made
		       : mark;
}

/* In a process of its own, which may have this one's memory. */
static int try_listener(void *unused)
{
	size_t call_bytes;
	bool promised;

	(void)unused;
	/* Here too: a filter that forbids seccomp(2) may kill for it. */
	int error = notify_read_sizes(&call_bytes);
	int listener = error < 0 ? error : filter_install(0, false, &promised);
	int failed = listener < 0 ? -listener : 0;
	/* Adding and answering in one step came with 5.14: before, the flag is not known. */
	struct seccomp_notif_addfd add = { .id = 1, .flags = SECCOMP_ADDFD_FLAG_SEND };
	if (!failed && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno == EINVAL)
		failed = ENOSYS;
	/* exit_group is trapped, and no supervisor is there to answer. */
	(void)sys_call3(SYS_exit, failed, 0, 0);
	return failed;
}

int supervise_supported(void)
{
	char *stack = mmap(NULL, TRIAL_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;

	if (stack == MAP_FAILED)
		return -EAGAIN;
	/* A copy of this process would take longer than all that is asked.  But a filter may kill for the question, and
	 * before Linux 5.16 that ends all who share the memory (zap_threads() of fs/coredump.c). */
	int shared = request_count_filters() == 0 ? CLONE_VM | CLONE_VFORK : 0;
	/* Its end is no SIGCHLD: where that is ignored, the kernel would not tell how it ended. */
	pid_t child = clone(try_listener, stack + TRIAL_STACK_BYTES, shared, NULL);
	(void)munmap(stack, TRIAL_STACK_BYTES);
	if (child < 0)
		return -EAGAIN;
	while (waitpid(child, &status, __WALL) < 0)
		if (errno != EINTR)
			return -EAGAIN;
	if (!WIFEXITED(status)) /* killed: so does policy speak */
		return -EPERM;
	return WEXITSTATUS(status) == EINVAL ? -ENOSYS : -WEXITSTATUS(status);
}

/* Each process below is held by a descriptor. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_threads(struct supervisor *supervisor)
{
	pthread_attr_t attributes;
	int started = 0;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 0; i < THREADS; i++) {
		struct worker *worker = malloc(sizeof(*worker));
		pthread_t thread;
		if (!worker)
			break;
		*worker = (struct worker){ supervisor, &supervisor->received[i] };
		if (pthread_create(&thread, &attributes, work, worker) == 0)
			started++;
		else
			free(worker);
	}
	(void)pthread_attr_destroy(&attributes);
	guardian_started(supervisor->between);
	return started ? 0 : -EAGAIN;
}

static int add_event(const struct supervisor *supervisor, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(supervisor->events, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Makes what a supervisor is, asleep: no thread, no guardian. */
static int make(const struct supervision *supervision, struct supervisor **ret_supervisor)
{
	struct supervisor *supervisor = calloc(1, sizeof(*supervisor));
	cpu_set_t processors;

	if (!supervisor)
		return -ENOMEM;
	(void)pthread_mutex_init(&supervisor->lead, NULL);
	supervisor->supervision = *supervision;
	supervisor->listener = supervisor->calls = supervisor->ended = supervisor->queue = -1;
	supervisor->abreast_max = THREADS; /* on more than a set has room for */
	if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
		supervisor->abreast_max = CPU_COUNT(&processors) / 2;
	supervisor->events = epoll_create1(EPOLL_CLOEXEC);
	*ret_supervisor = supervisor;
	return supervisor->events < 0 ? -errno : 0;
}

/* Begins to answer: the guardian and the threads. */
static int wake(struct supervisor *supervisor)
{
	int error = notify_read_sizes(&supervisor->call_bytes);

	if (error < 0)
		return error;
	raise_limit();
	supervisor->mark = supervisor->supervision.has_library
				   ? supervise_mark(supervisor->supervision.segment)
				   : 0;
	supervisor->received = mmap(NULL, THREADS * sizeof(*supervisor->received),
				    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (supervisor->received == MAP_FAILED)
		return -ENOMEM;
	supervisor->targets = targets_make(&supervisor->supervision);
	if (!supervisor->targets)
		return -ENOMEM;
	error = add_event(supervisor, targets_descriptor(supervisor->targets), EPOLLIN);
	if (error == 0)
		error = add_event(supervisor, targets_timer(supervisor->targets), EPOLLIN);
	if (error == 0 && written_descriptor() >= 0)
		error = add_event(supervisor, written_descriptor(), EPOLLIN);
	if (error == 0)
		error = guardian_start(supervisor->received, THREADS, supervisor->call_bytes,
				       &supervisor->queue, &supervisor->between);
	return error;
}

/* Where the kernel has it: the one that waits goes on where the other stopped. */
static void set_synchronous(int listener)
{
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int supervise_start(int listener, const struct supervise_root *root,
		    const struct supervision *supervision, struct supervisor **ret_supervisor)
{
	struct supervisor *supervisor = NULL;

	int error = make(supervision, &supervisor);
	if (error == 0)
		error = wake(supervisor);
	if (error == 0)
		error = add_event(supervisor, listener, 0);
	if (error == 0)
		error = targets_enter(supervisor->targets, root);
	if (error == 0)
		error = guardian_hold(supervisor->queue, GUARDIAN_LISTENER, listener);
	if (error == 0) {
		set_synchronous(listener);
		supervisor->listener = listener;
		error = start_threads(supervisor);
	}
	if (error == 0)
		*ret_supervisor = supervisor;
	else /* what was made goes with the process, which has nothing else to do */
		(void)close(listener);
	return error;
}

/* ---- programs that become supervised at their exec ---- */

static bool is_ready(void *data, struct request_ready *ret_ready)
{
	struct supervisor *supervisor = data;

	if (supervisor->queue < 0 && !supervisor->is_broken) {
		supervisor->filters = request_count_filters();
		supervisor->is_broken = supervisor->filters < 0 || wake(supervisor) < 0 ||
					start_threads(supervisor) < 0;
	}
	ret_ready->mark = supervisor->mark;
	ret_ready->filters = (uint32_t)supervisor->filters;
	return !supervisor->is_broken && __atomic_load_n(&supervisor->listener_count,
							 __ATOMIC_RELAXED) < GUARDIAN_LISTENERS_MAX;
}

static int hold_connection(void *data, int connection)
{
	const struct supervisor *supervisor = data;

	return guardian_hold(supervisor->queue, GUARDIAN_CONNECTION, connection);
}

static bool is_in_other_namespace(pid_t pid)
{
	char path[64];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return sys_stat(path, &stat) == 0 && stat.st_ino != process_pid_ns();
}

/* What a program reports about itself is believed where it was announced so.  In another PID namespace it
 * was announced by another number. */
static void believe(const struct segment *segment, struct supervise_root *root)
{
	const struct process_ref announced = root->process;
	struct process_slot slot;

	root->process = (struct process_ref){ 0, 0 };
	if (!process_read(segment, announced.index, &slot) || slot.serial != announced.serial ||
	    slot.state != PROCESS_ANNOUNCED)
		return;
	if (slot.pid != (uint32_t)root->pid) {
		if (slot.pid && !is_in_other_namespace(root->pid))
			return;
		process_renumber(segment, announced, root->pid);
	}
	root->process = announced;
	root->context = slot.context;
}

static void admit(void *data, const struct arrival_request *arrival)
{
	struct supervisor *supervisor = data;
	struct supervise_root root = { .pid = arrival->pid,
				       .process = arrival->message.process,
				       .no_new_privs = arrival->message.no_new_privs,
				       .has_library = !arrival->message.is_run_root,
				       .is_confined = arrival->is_confined };

	(void)guardian_hold(supervisor->queue, GUARDIAN_LISTENER, arrival->listener);
	set_synchronous(arrival->listener);
	believe(supervisor->supervision.segment, &root);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = arrival->listener };
	(void)targets_enter(supervisor->targets, &root);
	(void)__atomic_fetch_add(&supervisor->listener_count, 1, __ATOMIC_RELAXED);
	if (epoll_ctl(supervisor->calls, EPOLL_CTL_ADD, arrival->listener, &event) == 0)
		return;
	/* The guardian lets all pass, in the end; until then no call of it is answered. */
	(void)__atomic_fetch_sub(&supervisor->listener_count, 1, __ATOMIC_RELAXED);
	(void)close(arrival->listener);
}

int supervise_bind(const char *directory, uint32_t run, int *ret_socket)
{
	return reception_bind(directory, run, ret_socket);
}

int supervise_at_exec(int socket, uint32_t run, const struct supervision *supervision,
		      struct supervisor **ret_supervisor)
{
	struct supervisor *supervisor = NULL;

	int error = make(supervision, &supervisor);
	if (error < 0)
		return error;
	*ret_supervisor = supervisor;
	if (socket < 0)
		return 0;
	const struct reception_owner owner = { is_ready, hold_connection, admit, supervisor };
	supervisor->calls = epoll_create1(EPOLL_CLOEXEC);
	supervisor->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (supervisor->calls < 0 || supervisor->ended < 0)
		return -errno;
	error = reception_open(socket, supervision->directory, run, supervision->command, &owner,
			       &supervisor->reception);
	if (error == 0)
		error = add_event(supervisor, reception_descriptor(supervisor->reception), EPOLLIN);
	return error == 0 ? add_event(supervisor, supervisor->ended, EPOLLIN) : error;
}

void supervise_refuse(struct supervisor *supervisor)
{
	if (supervisor->reception)
		reception_refuse(supervisor->reception);
}

int supervise_descriptor(const struct supervisor *supervisor)
{
	return supervisor->events;
}

/* guarded_complete() for all processes of which that is due (targets_note_writing()); clears the
 * timer. */
static void guarded_complete_all(const struct supervision *supervision, struct targets *targets)
{
	enum { AT_ONCE_MAX = 64, NO_PROCESS = -1 };
	pid_t again[AT_ONCE_MAX], pid;
	int count = 0;
	uint64_t expired;

	(void)sys_read(targets_timer(targets), &expired, sizeof(expired));
	while (count < AT_ONCE_MAX && (pid = targets_next_writing(targets)) != 0) {
		struct target *target = target_find(targets, pid);
		if (target) {
			guarded_complete(supervision, target, NO_PROCESS);
			kept_call_complete(supervision, target, NO_THREAD);
		}
		/* One that is held by another thread makes a call: that inspects, too. */
		if (target && ((target->writes && guarded_are_young(target->writes)) ||
			       kept_call_are_young(target->kept)))
			again[count++] = pid;
		if (target)
			target_release(targets, target);
	}
	for (int i = 0; i < count; i++)
		targets_note_writing(targets, again[i]);
}

static bool has_processes(struct supervisor *supervisor)
{
	if (supervisor->listener >= 0)
		return !supervisor->has_ended;
	return __atomic_load_n(&supervisor->listener_count, __ATOMIC_RELAXED) > 0 ||
	       (supervisor->reception && reception_waits(supervisor->reception));
}

bool supervise_tend(struct supervisor *supervisor)
{
	struct epoll_event event;
	uint64_t count;

	/* Not for as long as there is something: programs may ask faster than that, and the caller has
	 * other things to wait for. */
	for (int i = 0; i < TENDED_MAX && epoll_wait(supervisor->events, &event, 1, 0) > 0; i++) {
		int fd = event.data.fd;
		if (fd == supervisor->listener) {
			(void)epoll_ctl(supervisor->events, EPOLL_CTL_DEL, fd, NULL);
			supervisor->has_ended = true;
		} else if (fd == supervisor->ended)
			(void)!read(fd, &count, sizeof(count));
		else if (supervisor->reception && fd == reception_descriptor(supervisor->reception))
			reception_tend(supervisor->reception);
		else if (fd == written_descriptor())
			written_tend(supervisor->supervision.segment);
		else if (fd == targets_timer(supervisor->targets))
			guarded_complete_all(&supervisor->supervision, supervisor->targets);
		else
			targets_sweep(supervisor->targets);
	}
	if (has_processes(supervisor))
		return true;
	if (supervisor->targets) {
		targets_sweep(supervisor->targets);
		written_finish(supervisor->supervision.segment);
	}
	return false;
}

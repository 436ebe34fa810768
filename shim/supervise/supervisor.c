/*
 * The threads that answer, and the guardian.
 *
 * The kernel writes each call into memory that the guardian shares: when the supervisor dies,
 * however that happens, the guardian knows which calls were taken and not answered, and lets them
 * and all later ones pass.  Otherwise they would wait for ever.
 */
#include "shim/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/supervise/call.h"
#include "shim/supervise/filter.h"
#include "shim/supervise/guarded.h"
#include "shim/supervise/target.h"
#include "tracker/sys/sys.h"

enum {
	THREADS = 4,
	NOTIF_BYTES = 512, /* room for a notification of a later kernel */
	STACK_BYTES = 1 << 20,
	NO_WAIT_NS = 1500, /* a thread that was put to sleep and woken again takes longer */
};

/* A call that a thread has taken.  Shared with the guardian. */
struct received {
	_Alignas(64) unsigned char call[NOTIF_BYTES]; /* struct seccomp_notif; id 0: none */
};

struct supervisor {
	pthread_mutex_t lead; /* of the one thread that waits for calls */
	struct supervision supervision;
	struct targets *targets;
	struct received *received;
	uint64_t mark;
	int listener;
	int events; /* epoll: processes that ended, and the listener's end */
	size_t call_bytes;
	/* threads that answer at a time what each could answer one after the other */
	int abreast_max;
	int abreast; /* ... besides the one that leads */
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

/* ---- answers ---- */

static int read_sizes(size_t *ret_call)
{
	struct seccomp_notif_sizes sizes;
	long error = sys_call3(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, (long)&sizes);

	if (error < 0) /* EINVAL: not known to this kernel */
		return error == -EINVAL ? -ENOSYS : (int)error;
	if (sizes.seccomp_notif > NOTIF_BYTES || sizes.seccomp_notif_resp > NOTIF_BYTES)
		return -ENOSYS;
	*ret_call = sizes.seccomp_notif;
	return 0;
}

/* A call that was answered already, or whose process was killed, is no error. */
static void answer(int listener, uint64_t id, struct verdict verdict)
{
	_Alignas(8) unsigned char bytes[NOTIF_BYTES];
	struct seccomp_notif_resp *response = (struct seccomp_notif_resp *)(void *)bytes;

	memset(bytes, 0, sizeof(bytes));
	response->id = id;
	switch (verdict.kind) {
	case VERDICT_ANSWERED:
		return;
	case VERDICT_PASS:
		response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case VERDICT_FAIL:
		response->error = (int32_t)verdict.value;
		break;
	case VERDICT_RETURN:
		response->val = verdict.value;
		break;
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

/* Takes the next call.  False at the end. */
static bool receive_call(int listener, struct received *received, size_t call_bytes)
{
	for (;;) {
		memset(received->call, 0, call_bytes); /* the kernel requires it */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, received->call) == 0)
			return true;
		if (errno != EINTR && errno != ENOENT) /* ENOENT: killed meanwhile */
			return false;
		struct pollfd poll_for = { listener, POLLIN, 0 };
		if (errno == ENOENT && poll(&poll_for, 1, 0) == 1 &&
		    (poll_for.revents & (POLLHUP | POLLERR)) && !(poll_for.revents & POLLIN))
			return false;
	}
}

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
		.exchange = { .listener = supervisor->listener, .note_slow = let_others_lead },
		.supervisor = supervisor,
	};
	struct exchange *exchange = &answering.exchange;
	uint32_t last_pid = 0;

	free(data);
	(void)pthread_mutex_lock(&supervisor->lead);

	for (;;) {
		uint64_t since_ns = sys_clock_ns(CLOCK_MONOTONIC);
		if (!receive_call(supervisor->listener, worker.received, supervisor->call_bytes))
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
		answer(supervisor->listener, call->id, verdict);
		if (is_abreast)
			(void)__atomic_fetch_sub(&supervisor->abreast, 1, __ATOMIC_RELAXED);
		if (exchange->is_long)
			(void)pthread_mutex_lock(&supervisor->lead);
	}
	(void)pthread_mutex_unlock(&supervisor->lead);
	return NULL;
}

/* ---- the guardian ---- */

enum { GUARD_LISTENER, GUARD_LIFELINE }; /* its descriptors */

/* Keeps nothing of its parent but what it needs; belongs to no terminal. */
static void become_guardian(int listener, int lifeline)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	(void)setsid();
	(void)!chdir("/");
	(void)prctl(PR_SET_NAME, "seen-guardian");
	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &action, NULL);
	/* To 0 and 1, above which all is closed; first out of each other's way. */
	int high_listener = fcntl(listener, F_DUPFD, 2),
	    high_lifeline = fcntl(lifeline, F_DUPFD, 2);
	(void)dup2(high_listener, GUARD_LISTENER);
	(void)dup2(high_lifeline, GUARD_LIFELINE);
	(void)close_range(GUARD_LIFELINE + 1, ~0U, 0);
}

_Noreturn static void guard(struct received *received, size_t call_bytes)
{
	struct pollfd wait[2] = { { GUARD_LIFELINE, POLLIN, 0 }, { GUARD_LISTENER, 0, 0 } };
	const struct verdict pass = { VERDICT_PASS, 0 };

	/* No process writes to the lifeline: it ends with the supervisor. */
	while (!wait[0].revents) {
		if (poll(wait, 2, -1) < 0)
			continue;
		if (wait[1].revents & (POLLHUP | POLLERR))
			_exit(0);
	}
	for (int i = 0; i < THREADS; i++) {
		const struct seccomp_notif *call = (const void *)received[i].call;
		if (call->id)
			answer(GUARD_LISTENER, call->id, pass);
	}
	for (;;) {
		struct pollfd next = { GUARD_LISTENER, POLLIN, 0 };
		if (poll(&next, 1, -1) < 0)
			continue;
		if (next.revents & POLLIN) {
			const struct seccomp_notif *call = (const void *)received->call;
			memset(received->call, 0, call_bytes);
			if (ioctl(GUARD_LISTENER, SECCOMP_IOCTL_NOTIF_RECV, received->call) == 0)
				answer(GUARD_LISTENER, call->id, pass);
		} else if (next.revents) {
			_exit(0);
		}
	}
}

static int start_guardian(struct supervisor *supervisor)
{
	int lifeline[2];

	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return -errno;
	pid_t guardian = fork();
	if (guardian == 0) {
		(void)close(lifeline[1]);
		/* A child of a child, which no process has to wait for. */
		if (fork() != 0)
			_exit(0);
		become_guardian(supervisor->listener, lifeline[0]);
		guard(supervisor->received, supervisor->call_bytes);
	}
	(void)close(lifeline[0]);
	if (guardian < 0) {
		int error = -errno;
		(void)close(lifeline[1]);
		return error;
	}
	while (waitpid(guardian, NULL, 0) < 0 && errno == EINTR)
		;
	return 0; /* lifeline[1] stays open for as long as this process lives */
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

int supervise_supported(void)
{
	size_t call_bytes;
	int status;

	pid_t child = fork();
	if (child == 0) {
		bool promised;
		/* Here too: a filter that forbids seccomp(2) may kill for it. */
		int error = read_sizes(&call_bytes);
		int listener = error < 0 ? error : filter_install(0, &promised);
		int failed = listener < 0 ? -listener : 0;
		/* Adding and answering in one step came with 5.14: before, the flag is not
		 * known. */
		struct seccomp_notif_addfd add = { .id = 1, .flags = SECCOMP_ADDFD_FLAG_SEND };
		if (!failed && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 &&
		    errno == EINVAL)
			failed = ENOSYS;
		/* exit_group is trapped, and no supervisor is there to answer. */
		(void)sys_call3(SYS_exit, failed, 0, 0);
	}
	if (child < 0)
		return -EAGAIN;
	while (waitpid(child, &status, 0) < 0)
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
	return started ? 0 : -EAGAIN;
}

int supervise_start(int listener, const struct supervision *supervision,
		    struct supervisor **ret_supervisor)
{
	struct supervisor *supervisor = calloc(1, sizeof(*supervisor));
	int error = -ENOMEM;

	if (!supervisor)
		goto failed;
	raise_limit();
	(void)pthread_mutex_init(&supervisor->lead, NULL);
	supervisor->supervision = *supervision;
	supervisor->listener = listener;
	cpu_set_t processors;
	supervisor->abreast_max = THREADS; /* on more than a set has room for */
	if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
		supervisor->abreast_max = CPU_COUNT(&processors) / 2;
	supervisor->mark = supervision->has_library ? supervise_mark(supervision->segment) : 0;
	error = read_sizes(&supervisor->call_bytes);
	if (error < 0)
		goto failed;
	error = -ENOMEM;
	supervisor->received = mmap(NULL, THREADS * sizeof(*supervisor->received),
				    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (supervisor->received == MAP_FAILED)
		goto failed;
	supervisor->targets = targets_make(&supervisor->supervision);
	if (!supervisor->targets)
		goto failed;
	supervisor->events = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ended = { .events = EPOLLIN, .data.fd = -1 };
	struct epoll_event writes = { .events = EPOLLIN,
				      .data.fd = targets_timer(supervisor->targets) };
	struct epoll_event all_ended = { .events = 0, .data.fd = listener };
	if (supervisor->events < 0 ||
	    epoll_ctl(supervisor->events, EPOLL_CTL_ADD, targets_descriptor(supervisor->targets),
		      &ended) < 0 ||
	    epoll_ctl(supervisor->events, EPOLL_CTL_ADD, writes.data.fd, &writes) < 0 ||
	    epoll_ctl(supervisor->events, EPOLL_CTL_ADD, listener, &all_ended) < 0)
		goto failed;
	/* Where the kernel has it: the one that waits goes on where the other stopped. */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	error = start_guardian(supervisor);
	if (error == 0)
		error = start_threads(supervisor);
	if (error < 0)
		goto failed;
	*ret_supervisor = supervisor;
	return 0;
failed:
	/* What was made goes with the process, which has nothing else to do. */
	(void)close(listener);
	return error;
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
		if (target)
			guarded_complete(supervision, target, NO_PROCESS);
		/* One that is held by another thread makes a call: that inspects, too. */
		if (target && target->writes && guarded_are_young(target->writes))
			again[count++] = pid;
		if (target)
			target_release(targets, target);
	}
	for (int i = 0; i < count; i++)
		targets_note_writing(targets, again[i]);
}

bool supervise_tend(struct supervisor *supervisor)
{
	struct epoll_event event;
	bool live_process = true;

	while (epoll_wait(supervisor->events, &event, 1, 0) > 0) {
		if (event.data.fd == supervisor->listener)
			live_process = false;
		else if (event.data.fd == targets_timer(supervisor->targets))
			guarded_complete_all(&supervisor->supervision, supervisor->targets);
		else
			targets_sweep(supervisor->targets);
		if (!live_process)
			break;
	}
	return live_process;
}

/* cli/run/aside.h: what is done aside is done, also where the system has but one process left for it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/aside.h"
#include "support.h"

enum { NOBODY = 65534, WAIT_MS = 30000 };

/* What the process that does the work tells. */
struct outcome {
	pid_t worker, parent;
	bool left, done;
};

static struct outcome *outcome;
static bool is_last;

/* The process between has no other one to be had: root has no such limit. */
static void be_the_last(void)
{
	const struct rlimit none = { 0, 0 };

	if (!is_last)
		return;
	must(setrlimit(RLIMIT_NPROC, &none) == 0);
	must(geteuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

static void leave(void *data)
{
	((struct outcome *)data)->left = true;
}

static void work(void *data)
{
	struct outcome *mine = data;

	mine->worker = getpid();
	mine->parent = getppid();
	__atomic_store_n(&mine->done, mine->left, __ATOMIC_RELEASE);
}

static void do_aside(void)
{
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	must(outcome != MAP_FAILED);
	must(pthread_atfork(NULL, NULL, be_the_last) == 0);
	cr_assert(aside(leave, work, outcome));
	for (unsigned ms = 0; ms < WAIT_MS && !__atomic_load_n(&outcome->done, __ATOMIC_ACQUIRE);
	     ms++)
		must(usleep(1000) == 0);
	cr_assert(outcome->done, "it is not done");
}

Test(aside, no_process_waits_for_what_does_it, .timeout = 60)
{
	do_aside();
	cr_assert_neq(waitpid(outcome->worker, NULL, 0), outcome->worker);
}

Test(aside, done_by_the_process_between_where_there_is_no_other, .timeout = 60)
{
	is_last = true;
	do_aside();
	cr_assert_eq(outcome->parent, getpid());
	cr_assert_eq(waitpid(outcome->worker, NULL, 0), outcome->worker);
}

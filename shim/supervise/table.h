/* The table of processes, for the files that hold it: target.c, and program.c, which reads what is
 * constant of it. */
#ifndef SEEN_SUPERVISE_TABLE_H
#define SEEN_SUPERVISE_TABLE_H

#include "shim/supervise/target.h"

enum {
	BUCKETS = 4096,
	WRITING_MAX =
		256, /* processes whose writes are inspected again by themselves; of more at their next call */
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

#endif

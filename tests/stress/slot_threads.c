/*
 * The slot protocol with threads, which ThreadSanitizer can watch: readers and writers on a few
 * slots, among them writers that die inside and ones that sleep inside until the slot was taken
 * over.  Every copy that slot_read() accepts must be one that some writer committed whole.
 *
 * TSan does not model fences.  Bodies are read and written by relaxed atomics and sequence numbers
 * by acquire and release, so there is nothing for it to report.
 *
 *	slot_threads [SECONDS]	default: 3
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tracker/segment/slot.h"

enum { SLOTS = 3, WORDS = 15, WRITERS = 4, READERS = 4 };

struct record {
	struct slot_head head;
	uint64_t words[WORDS];
};

static struct record slots[SLOTS];
static atomic_bool stop;
static atomic_ulong reads, refused, torn, writes, lost, deaths;

/* All words of a record follow from the first. */
static uint64_t word(uint64_t first, int i)
{
	return (first + (uint64_t)i) * 0x9e3779b97f4a7c15u;
}

static bool is_whole(const struct record *copy)
{
	bool zero = true, whole = true;
	for (int i = 1; i < WORDS; i++) {
		zero = zero && copy->words[i] == 0;
		whole = whole && copy->words[i] == word(copy->words[0], i);
	}
	return whole || (zero && copy->words[0] == 0);
}

static void *writer(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;
	struct record copy;

	while (!atomic_load(&stop)) {
		struct record *slot = &slots[(unsigned)rand_r(&seed) % SLOTS];
		if (!slot_acquire(slot, &copy, sizeof(copy))) {
			atomic_fetch_add(&lost, 1);
			continue;
		}
		if (!is_whole(&copy))
			atomic_fetch_add(&torn, 1);
		int what = rand_r(&seed) % 2000;
		if (what == 0) { /* dies */
			atomic_fetch_add(&deaths, 1);
			continue;
		}
		uint64_t first = (uint64_t)rand_r(&seed) + 1;
		copy.words[0] = first;
		for (int i = 1; i < WORDS; i++)
			copy.words[i] = word(first, i);
		if (what == 1) /* sleeps: another writer takes the slot over */
			usleep(2000);
		if (what % 16 == 2)
			slot_abandon(slot, &copy, sizeof(copy));
		else
			slot_commit(slot, &copy, sizeof(copy));
		atomic_fetch_add(&writes, 1);
	}
	return NULL;
}

static void *reader(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;
	struct record copy;

	while (!atomic_load(&stop)) {
		if (!slot_read(&slots[(unsigned)rand_r(&seed) % SLOTS], &copy, sizeof(copy)))
			atomic_fetch_add(&refused, 1);
		else if (!is_whole(&copy))
			atomic_fetch_add(&torn, 1);
		else
			atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WRITERS + READERS];
	struct record copy;
	int bad = 0;

	for (int i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&threads[i], NULL, i < WRITERS ? writer : reader,
				   (void *)(uintptr_t)(i + 1)) != 0)
			return 1;
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 3);
	atomic_store(&stop, true);
	for (int i = 0; i < WRITERS + READERS; i++)
		(void)pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++) { /* none is unusable for ever */
		bool held = slot_acquire(&slots[i], &copy, sizeof(copy));
		if (held)
			slot_commit(&slots[i], &copy, sizeof(copy));
		bad += !held || !slot_read(&slots[i], &copy, sizeof(copy));
	}
	printf("slot_threads: %lu reads, %lu refused, %lu writes, %lu given up, %lu deaths, %lu "
	       "torn, %d unusable\n",
	       atomic_load(&reads), atomic_load(&refused), atomic_load(&writes), atomic_load(&lost),
	       atomic_load(&deaths), atomic_load(&torn), bad);
	return atomic_load(&torn) || bad || !atomic_load(&reads) || !atomic_load(&writes) ? 1 : 0;
}

/* The watcher: see watch.h. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/instruction_index.h"
#include "cli/run/watch_directories.h"
#include "cli/run/watch_holder.h"
#include "cli/run/watch_judge.h"
#include "cli/run/watch_state.h"
#include "tracker/sys/sys.h"

enum {
	TURN_MS = 20,          /* while something is to be inspected soon */
	IDLE_MS = 200,         /* else */
	WATCHED_MS = 10000,    /* a run that was stopped so long watches no more */
	CHECKS_MS = 20,        /* checks of one turn take so long at most, or one check */
	LAST_CHECKS_MS = 2000, /* those of a turn at the end of the run */
	LAST_ROUNDS = 4,       /* such turns, at most so far apart: */
	LAST_PAUSE_MS = 100,
};

/* Inspects what has been left alone long enough, and, when the run is over, at all that is to be
 * inspected. */
static void check_turn(struct watch *watch, enum phase phase)
{
	uint64_t start_ns = sys_boottime_ns(), now_ns = start_ns;
	uint64_t most_ns = (phase == PHASE_RUNS ? CHECKS_MS : LAST_CHECKS_MS) * MILLISECOND_NS;
	size_t first = watch->inspect_next;

	watch->pending = 0;
	for (size_t i = 0; i < watch->file_count; i++) {
		size_t index = (first + i) % watch->file_count;
		struct file *file = watch->files[index];
		if (file->due_ns && (phase != PHASE_RUNS || file->due_ns <= start_ns) &&
		    now_ns - start_ns < most_ns) {
			judge(watch, file, phase);
			now_ns = sys_boottime_ns();
			watch->inspect_next = index + 1;
		}
		watch->pending += file->due_ns != 0;
	}
	holders_note(watch);
	for (size_t i = watch->fresh_count ? watch->file_count : 0; i-- > 0;)
		if (watch->files[i]->fresh && !watch->files[i]->due_ns)
			file_forget(watch, i);
}

struct watch *watch_start(const struct session *session, struct journal *journal, bool quiet)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->session = session;
	watch->segment = &session->segment;
	watch->journal = journal;
	watch->quiet = quiet;
	watch->fd = -1;
	watch->instructions = instruction_index_start(watch->segment);
	watch->quiet_ns = watch->segment->settings->watch_quiet_ms * MILLISECOND_NS;
	return watch;
}

void watch_leave_out(struct watch *watch, pid_t pid)
{
	if (watch)
		watch->left_out = pid;
}

/* Is any file on record? */
static bool is_anything_tracked(const struct watch *watch)
{
	return __atomic_load_n(&watch->segment->header->files_changed, __ATOMIC_RELAXED) != 0;
}

static unsigned check_due(struct watch *watch)
{
	if (!is_anything_tracked(watch))
		return IDLE_MS;
	/* All of it at the first time: the files of a session that is resumed are inspected at
	 * once. */
	directories_scan(watch, !watch->files_changed);
	if (!watch->file_count)
		return watch->scan_at ? TURN_MS : IDLE_MS;
	judge_note_unobserved(watch);
	directories_events(watch);
	check_turn(watch, PHASE_RUNS);
	return watch->pending || watch->scan_at || watch->is_busy ? TURN_MS : IDLE_MS;
}

/* A reader of a file need not report changes by others for so long.  0: has to again. */
static void promise(const struct watch *watch, uint64_t for_ms)
{
	bool watches = watch->segment->settings->watch_mode != WATCH_MODE_OFF && for_ms;

	__atomic_store_n(&watch->segment->header->watched_until_ns,
			 watches ? sys_boottime_ns() + for_ms * MILLISECOND_NS : 0,
			 __ATOMIC_RELAXED);
}

unsigned watch_tick(struct watch *watch)
{
	if (!watch)
		return IDLE_MS;
	unsigned instructions_ms = instruction_index_tick(watch->instructions);
	unsigned files_ms = check_due(watch);
	promise(watch, WATCHED_MS);
	return files_ms < instructions_ms ? files_ms : instructions_ms;
}

int watch_descriptor(const struct watch *watch)
{
	/* While something is open, or much comes, what comes is read at every turn: to wake this
	 * process for each write of a build takes the writer longer than the write. */
	return watch && !watch->pending && !watch->is_busy ? watch->fd : -1;
}

/* What is to be inspected again is, a few times; what is not reported by then is reported as it
 * is. */
static void check_last(struct watch *watch)
{
	uint64_t pause_ns = LAST_PAUSE_MS * MILLISECOND_NS;
	struct timespec pause = { .tv_nsec = (long)(watch->quiet_ns < pause_ns ? watch->quiet_ns
									       : pause_ns) };

	directories_scan(watch, true);
	for (int round = 0; round <= LAST_ROUNDS; round++) {
		directories_events(watch);
		check_turn(watch, round < LAST_ROUNDS ? PHASE_ENDS : PHASE_LAST);
		if (!watch->pending)
			break;
		(void)nanosleep(&pause, NULL);
	}
}

void watch_finish(struct watch *watch)
{
	if (!watch)
		return;
	promise(watch, 0);
	if (is_anything_tracked(watch))
		check_last(watch);
	if (watch->fd >= 0)
		(void)close(watch->fd);
	instruction_index_finish(watch->instructions);
	directories_free(watch);
	free(watch->live_process.items);
	free(watch->open_files.items);
	partly_free(&watch->partly);
	free(watch);
}

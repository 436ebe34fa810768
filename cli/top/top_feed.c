/* The feed of `seen top`: see top_feed.h. */
#include "cli/top/top_feed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/session/counts.h"
#include "cli/session/session_life.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	EVENTS_PER_UPDATE = 64, /* at the clock */
	UNDONE_MS = 100,        /* what a record is waited for that its writer has begun */
	UPDATE_MS = 500,
	BEHIND_S = 3, /* how long it is reported that something was passed over */
};

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS UINT64_C(1000000)

int top_feed_open(const struct session *session, const char *journal, struct top_feed *ret_feed)
{
	const char *workspace = NULL;
	struct top_feed feed = { .session = session, .pid_ns = process_pid_ns() };

	if (journal) {
		int error = events_open(journal, true, &feed.events);
		if (error < 0)
			return error;
		workspace = events_workspace(feed.events);
		feed.first = events_position(feed.events);
	}
	if (top_model_new(workspace, &feed.model) < 0) {
		events_close(feed.events);
		return -ENOMEM;
	}
	*ret_feed = feed;
	return 0;
}

void top_feed_close(struct top_feed *feed)
{
	events_close(feed->events);
	top_model_free(feed->model);
	*feed = (struct top_feed){ .session = NULL };
}

/* ---- the journal ---- */

/* Passes over what cannot be read in time. */
static void keep_up(struct top_feed *feed)
{
	uint64_t end = events_end_unit(feed->events), at = events_position(feed->events);

	if (end - at <= (uint64_t)(feed->caught_up ? TOP_AHEAD : TOP_AHEAD_FIRST))
		return;
	uint64_t keep = feed->caught_up ? TOP_KEEP : TOP_AHEAD_FIRST / 2;
	uint64_t skipped = events_skip(feed->events, end - keep);
	feed->skipped_bytes += skipped * JOURNAL_UNIT_BYTES;
	feed->is_behind = feed->caught_up;
	feed->behind_ns = sys_boottime_ns();
	if (!feed->caught_up)
		feed->first = events_position(feed->events);
}

/* A record that is not done is waited for, once for all that are begun.  Returns false: come
 * again. */
static bool pass_undone(struct top_feed *feed, uint64_t now_ns)
{
	if (events_position(feed->events) >= feed->waited_for) {
		feed->waited_for = events_end_unit(feed->events);
		feed->waited_since_ns = now_ns;
	}
	if (now_ns - feed->waited_since_ns < UNDONE_MS * MS_NS)
		return false;
	events_pass(feed->events);
	return true;
}

bool top_feed_read(struct top_feed *feed, uint64_t budget_ns)
{
	uint64_t begin_ns = sys_boottime_ns(), now_ns = begin_ns;
	struct event event;
	bool more = true;

	if (!feed->events)
		return false;
	keep_up(feed);
	for (unsigned i = 1; more && now_ns - begin_ns < budget_ns; i++) {
		switch (events_next(feed->events, &event)) {
		case EVENTS_EVENT:
			top_model_add(feed->model, &event);
			break;
		case EVENTS_UNDONE:
			more = pass_undone(feed, now_ns);
			break;
		case EVENTS_END:
			more = false;
			feed->caught_up = true;
			break;
		}
		if (i % EVENTS_PER_UPDATE == 0)
			now_ns = sys_boottime_ns();
	}
	uint64_t end = events_end_unit(feed->events), at = events_position(feed->events);
	feed->ahead = end > at ? end - at : 0;
	return more;
}

int top_feed_progress(const struct top_feed *feed)
{
	if (feed->caught_up || !feed->events)
		return 100;
	uint64_t done = events_position(feed->events) - feed->first;
	return (int)(done * 100 / (done + feed->ahead + 1));
}

/* ---- the segment ---- */

/* Adds a name to the list of those that are shown, unless it is there. */
static void add_name(struct top_feed *feed, const char *name)
{
	size_t length = strlen(feed->unobserved_names), name_length = strlen(name);
	const char *at = feed->unobserved_names;

	if (!name_length)
		return;
	while ((at = strstr(at, name)) != NULL) {
		bool begins = at == feed->unobserved_names || at[-1] == ' ';
		if (begins && (at[name_length] == '\0' || at[name_length] == ','))
			return;
		at++;
	}
	if (length + name_length + 3 <= sizeof(feed->unobserved_names))
		(void)snprintf(feed->unobserved_names + length,
			       sizeof(feed->unobserved_names) - length, "%s%s", length ? ", " : "",
			       name);
}

static void inspect_process(struct top_feed *feed, uint64_t index, struct process_slot *process,
			    uint64_t now_ns)
{
	if (!process_is_unobserved(&feed->session->segment, index, process, now_ns,
				   PROCESS_STARTS_NS))
		return;
	feed->unobserved++;
	process->name[sizeof(process->name) - 1] = '\0';
	add_name(feed, process->name);
}

static void read_segment(struct top_feed *feed, uint64_t now_ns)
{
	const struct segment *segment = &feed->session->segment;
	struct process_slot process;

	counts_compute(segment, NULL, 0, feed->counters);
	feed->unobserved = feed->counters[COUNTER_processes_displaced];
	feed->unobserved_names[0] = '\0';
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++)
		if (process_read(segment, i, &process) && process.state != PROCESS_FREE)
			inspect_process(feed, i, &process, now_ns);
}

/* A process that was ended by a signal says nothing. */
static void find_gone(struct top_feed *feed)
{
	struct top_model *model = feed->model;

	for (struct top_process *process = model->newest_process.older;
	     process != &model->newest_process; process = process->older) {
		if (process->life != TOP_RUNS)
			continue;
		bool is_near = feed->pid_ns && process->pid_ns == feed->pid_ns;
		if (feed->life == SESSION_EMPTY ||
		    (is_near && kill((pid_t)process->pid, 0) < 0 && errno == ESRCH))
			top_model_gone(model, process);
	}
}

static bool is_removed(const struct session *session)
{
	char path[SEGMENT_PATH_BYTES + 16];
	(void)snprintf(path, sizeof(path), "%s/segment", session->directory);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

static void rate(struct top_feed *feed, uint64_t elapsed_ns)
{
	uint64_t reads = top_feed_reads(feed), writes = top_feed_writes(feed);
	uint64_t events = feed->model->events;

	/* Counts of a process that is just ending may be missing for a moment. */
	feed->rates.reads = top_rate(feed->rates.reads,
				     reads > feed->rated_reads ? reads - feed->rated_reads : 0,
				     elapsed_ns);
	feed->rates.writes = top_rate(feed->rates.writes,
				      writes > feed->rated_writes ? writes - feed->rated_writes : 0,
				      elapsed_ns);
	feed->rates.events = top_rate(feed->rates.events, events - feed->rated_events, elapsed_ns);
	feed->rated_reads = reads;
	feed->rated_writes = writes;
	feed->rated_events = events;
	top_model_rate(feed->model, elapsed_ns);
}

static void keep_history(struct top_feed *feed, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - feed->history_ns;
	uint64_t seconds = elapsed_ns / SECOND_NS;

	if (seconds == 0)
		return;
	double now = (double)(feed->model->events - feed->history_events) * 1e9 /
		     (double)elapsed_ns;
	for (uint64_t i = 0; i < seconds && i < TOP_HISTORY; i++) {
		memmove(feed->history + 1, feed->history,
			(TOP_HISTORY - 1) * sizeof(feed->history[0]));
		feed->history[0] = now;
		feed->history_count += feed->history_count < TOP_HISTORY;
	}
	feed->history_ns = now_ns;
	feed->history_events = feed->model->events;
}

bool top_feed_update(struct top_feed *feed)
{
	uint64_t now_ns = sys_boottime_ns();
	bool is_first = feed->updated_ns == 0;

	if (!is_first && now_ns - feed->updated_ns < UPDATE_MS * MS_NS)
		return false;
	read_segment(feed, now_ns);
	feed->life = session_life(&feed->session->segment);
	feed->is_removed = is_removed(feed->session);
	if (feed->is_behind && now_ns - feed->behind_ns > BEHIND_S * SECOND_NS)
		feed->is_behind = false;
	/* What was there before is no rate. */
	if (is_first || !feed->caught_up) {
		top_feed_reset_rates(feed);
	} else {
		rate(feed, now_ns - feed->updated_ns);
		keep_history(feed, now_ns);
		find_gone(feed);
	}
	feed->updated_ns = now_ns;
	return true;
}

void top_feed_reset_rates(struct top_feed *feed)
{
	feed->rates = (struct top_rates){ 0 };
	feed->rated_events = feed->history_events = feed->model->events;
	feed->rated_reads = top_feed_reads(feed);
	feed->rated_writes = top_feed_writes(feed);
	feed->history_count = 0;
	feed->history_ns = sys_boottime_ns();
	top_model_reset_rates(feed->model);
}

uint64_t top_feed_reads(const struct top_feed *feed)
{
	return feed->counters[COUNTER_opens];
}

uint64_t top_feed_writes(const struct top_feed *feed)
{
	return feed->counters[COUNTER_opens_write] + feed->counters[COUNTER_changes];
}

uint64_t top_feed_lost(const struct top_feed *feed)
{
	return feed->events ? events_counts(feed->events).lost : 0;
}

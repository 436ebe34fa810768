/* Coverage: see coverage.h. */
#include "cli/session/coverage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/session/process_image.h"
#include "tracker/path/path.h"
#include "tracker/process/image.h"
#include "tracker/process/mechanism.h"
#include "tracker/process/process.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

/* What there is against a program, as the journal and `seen status` have it. */
static const char *const REASONS[OBSTACLE_COUNT] = {
	[OBSTACLE_FOREIGN] = "foreign architecture",
	[OBSTACLE_STATIC] = "static",
	[OBSTACLE_MUSL] = "linked with musl",
	[OBSTACLE_LIBC] = "not linked with glibc",
	[OBSTACLE_SANITIZER] = "built with AddressSanitizer",
};

/* Why the library is not in a program, told by its file; of a script, by its last interpreter. */
static const char *reason_of(const char *path)
{
	struct executable chain[EXECUTABLE_CHAIN_MAX];
	char missing[PATH_MAX];
	int count = executable_chain(path, chain, missing);

	if (count <= 0)
		return "its file cannot be inspected";
	const struct executable *last = &chain[count - 1];
	enum executable_obstacle obstacle = executable_obstacle(last);
	if (last->setuid || last->setgid || last->capabilities)
		return "setuid";
	if (last->kind == EXECUTABLE_OTHER)
		return "no program that is known";
	if (last->kind == EXECUTABLE_SCRIPT)
		return "a script without an interpreter";
	if (obstacle == OBSTACLE_STATIC && image_is_race_detector(path))
		return "valgrind's detector of races";
	if (obstacle != OBSTACLE_NONE && obstacle < OBSTACLE_GO)
		return REASONS[obstacle];
	/* It could have loaded the library, and attached. */
	return "environment scrubbed, or the session out of its reach";
}

/* reason, plainly: as in struct coverage_program. */
static void add(struct coverage *coverage, const char *name, const struct coverage_program *found)
{
	struct coverage_program *program = coverage->programs;
	struct coverage_program *end = program + coverage->program_count;

	while (program < end &&
	       (strcmp(program->name, name) != 0 || program->reason != found->reason ||
		program->plainly != found->plainly))
		program++;
	if (program == end) {
		if (coverage->program_count == COVERAGE_PROGRAMS_MAX)
			return;
		coverage->program_count++;
		*program = *found;
		program->count = 0;
		(void)snprintf(program->name, sizeof(program->name), "%s", name);
	}
	program->count += found->count;
}

/* What was found out about a program's file: the same few are started again and again. */
struct reason_cache {
	struct {
		char path[PATH_MAX];
		const char *reason;
	} files[COVERAGE_PROGRAMS_MAX];
	int count;
	struct image_cache images;
};

static const char *find_reason(struct reason_cache *known, const char *path)
{
	for (int i = 0; i < known->count; i++)
		if (strcmp(known->files[i].path, path) == 0)
			return known->files[i].reason;
	const char *reason = reason_of(path);
	if (known->count < COVERAGE_PROGRAMS_MAX) {
		(void)snprintf(known->files[known->count].path, PATH_MAX, "%s", path);
		known->files[known->count++].reason = reason;
	}
	return reason;
}

/* Was it started so lately that it may not have begun? */
static bool is_beginning(const struct segment *segment, uint64_t index,
			 const struct process_slot *process)
{
	return process->state == PROCESS_ANNOUNCED &&
	       !process_is_unobserved(segment, index, process, sys_boottime_ns(),
				      PROCESS_STARTS_NS);
}

static void add_processes(const struct segment *segment, const struct journal *journal,
			  uint64_t since_ns, struct coverage *coverage)
{
	static struct reason_cache known; /* to fill it with zeroes would take longer than the rest */

	known.count = 0;
	known.images.count = 0;
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		struct process_slot process;
		char path[PATH_MAX];
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.time_ns < since_ns || is_beginning(segment, i, &process))
			continue;
		process.name[sizeof(process.name) - 1] = '\0';
		struct coverage_program found = { .plainly = mechanism_reason(process.mechanism),
						  .count = 1 };
		if (process.state == PROCESS_ANNOUNCED) {
			process_image_path(journal, &process, path);
			coverage->unobserved++;
			found.reason = path[0] ? find_reason(&known, path) : "not known";
			add(coverage, process.name, &found);
			continue;
		}
		const char *reason = process_past_libc(journal, &process, &known.images);
		if (!reason && (process.context.flags & CONTEXT_PARTIAL))
			reason = "io_uring, aio or strict seccomp";
		if (reason) {
			coverage->partial++;
			found.reason = reason;
			found.partly = true;
			add(coverage, process.name, &found);
		}
	}
}

void coverage_compute(const struct segment *segment, const struct journal *journal,
		      const uint64_t *counters, uint64_t since_ns, struct coverage *ret_coverage)
{
	struct coverage coverage = { 0 };

	coverage.unattached = counters[COUNTER_processes_unattached];
	coverage.supervised = counters[COUNTER_processes_supervised];
	if (counters[COUNTER_processes_attached] > coverage.unattached)
		coverage.observed = counters[COUNTER_processes_attached] - coverage.unattached;
	coverage.calls_unjudged = counters[COUNTER_calls_unjudged];
	coverage.opens = counters[COUNTER_opens] + counters[COUNTER_opens_write];
	coverage.without_journal = counters[COUNTER_lost_journals];
	if (journal->header) {
		coverage.lost_records = __atomic_load_n(&journal->header->lost, __ATOMIC_RELAXED);
		coverage.full_errno = (int)__atomic_load_n(&journal->header->full_errno,
							   __ATOMIC_RELAXED);
	}
	add_processes(segment, journal, since_ns, &coverage);
	uint64_t displaced = counters[COUNTER_processes_displaced];
	if (displaced) {
		coverage.unobserved += displaced;
		add(&coverage, "(others)",
		    &(struct coverage_program){ .reason = "their places in the table were needed",
						.count = (unsigned)displaced });
	}
	*ret_coverage = coverage;
}

void coverage_wait(const struct segment *segment, uint64_t since_ns)
{
	const struct timespec SOON = { .tv_nsec = 5000000 };
	/* what is started from now on is none of the run's */
	uint64_t until_ns = sys_boottime_ns();
	bool waits;

	do {
		waits = false;
		for (uint64_t i = 0; !waits && i < segment_processes_used(segment); i++) {
			struct process_slot process;
			waits = process_read(segment, i, &process) && process.time_ns >= since_ns &&
				process.time_ns <= until_ns && is_beginning(segment, i, &process);
		}
		if (waits)
			(void)nanosleep(&SOON, NULL);
	} while (waits);
}

void coverage_note(struct coverage *coverage, const char *name, const char *reason)
{
	coverage->partial++;
	add(coverage, name,
	    &(struct coverage_program){ .reason = reason, .partly = true, .count = 1 });
}

void coverage_record(const struct coverage *coverage, struct journal *journal)
{
	for (int i = 0; i < coverage->program_count; i++) {
		const struct coverage_program *program = &coverage->programs[i];
		char reason[COVERAGE_REASON_BYTES];
		struct journal_record record = journal_blank(JOURNAL_UNOBSERVED);
		record.path = journal_text(journal, program->name, strlen(program->name), true);
		coverage_reason(program, reason);
		record.other_path = journal_text(journal, reason, strlen(reason), true);
		record.flags = program->partly ? JOURNAL_UNOBSERVED_PARTLY : 0;
		record.count = program->count;
		(void)journal_write(journal, &record, NULL, 0, true);
	}
	struct journal_coverage details = {
		.observed = coverage->observed,
		.unobserved = coverage->unobserved,
		.partial = coverage->partial,
		.unattached = coverage->unattached,
		.opens = coverage->opens,
		.lost = coverage->lost_records,
		.without_journal = coverage->without_journal,
	};
	struct journal_record record = journal_blank(JOURNAL_COVERAGE);
	record.marks = JOURNAL_DETAILS;
	(void)journal_write(journal, &record, &details, sizeof(details), true);
}

const char *coverage_reason(const struct coverage_program *program, char *ret_text)
{
	(void)snprintf(ret_text, COVERAGE_REASON_BYTES, "%s%s%s", program->reason,
		       program->plainly ? ", and not supervised: " : "",
		       program->plainly ? program->plainly : "");
	return ret_text;
}

const char *coverage_text(const struct coverage_program *program, char *ret_text)
{
	char name[COVERAGE_NAME_BYTES * 4], reason[COVERAGE_REASON_BYTES];

	coverage_reason(program, reason);
	if (path_escape(program->name, name, sizeof(name)) < 0)
		name[0] = '\0';
	if (program->count > 1)
		(void)snprintf(ret_text, COVERAGE_TEXT_BYTES, "%s: %s (%u times)", name, reason,
			       program->count);
	else
		(void)snprintf(ret_text, COVERAGE_TEXT_BYTES, "%s: %s", name, reason);
	return ret_text;
}

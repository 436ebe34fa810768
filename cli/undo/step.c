/* The steps of a session: see step.h. */
#include "cli/undo/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/journal/journal_reader.h"
#include "cli/journal/typed.h"
#include "cli/session/session_life.h"
#include "cli/undo/step_processes.h"
#include "tracker/process/hook_command.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/role.h"
#include "tracker/process/subject.h"

enum { NS_PER_TICK = 10000000, ANCESTORS_MAX = 64 };

/* A moment at which a command of a run began or ended. */
struct edge {
	uint32_t run;
	uint64_t time_ns;
};

/* An own action: the changes of a run's actors between two edges. */
struct gap {
	uint32_t run;
	uint32_t step; /* its number */
	size_t edge;   /* how many edges lie before it */
};

struct step_table {
	struct step_processes processes;
	struct step_processes_reading *reading; /* NULL: all events are added */
	struct edge *edges;                     /* by run and time */
	size_t edge_count;
	struct gap *gaps; /* by edge and run */
	size_t gap_count;
	uint32_t *numbers; /* of the commands, by their index before they had numbers */
};

/* ---- actors ---- */

static bool is_actor(const struct step_processes *processes, uint32_t row)
{
	return row != STEP_NONE && (processes->rows[row].flags & STEP_PROCESS_ACTOR);
}

/* Marks what an agent was started by, where no other agent is above. */
static void mark_launchers(struct step_processes *processes, uint32_t agent)
{
	struct step_process *rows = processes->rows;
	size_t left = processes->count;
	uint32_t row = rows[agent].parent;

	for (uint32_t above = row; above != STEP_NONE && left; above = rows[above].parent, left--) {
		if (rows[above].role == ROLE_AGENT)
			return;
		if (!(rows[above].flags & STEP_PROCESS_AGENT))
			break; /* an agent above it was replaced by another program: a launcher */
	}
	for (left = processes->count; row != STEP_NONE && left; row = rows[row].parent, left--)
		rows[row].flags |= STEP_PROCESS_LAUNCHER;
}

/* A root that is one command: a shell's -c, or what starts nothing. */
static bool is_one_command(struct journal_reader *journal, const struct step_process *root)
{
	size_t size = 0, length = 0;

	if (!(root->flags & STEP_PROCESS_STARTER))
		return true;
	const char *arguments = journal_reader_bytes(journal, root->arguments, &size);
	return typed_script(root->role, arguments, size, &length) != NULL;
}

/* Is a process an actor?  Its parent's row comes first. */
static bool acts(const struct step_processes *processes, struct journal_reader *journal,
		 const struct step_process *process)
{
	const struct step_process *rows = processes->rows;
	uint32_t parent = process->parent;

	if (process->flags & STEP_PROCESS_LAUNCHER)
		return true;
	if (process->role == ROLE_AGENT && (parent == STEP_NONE || is_actor(processes, parent)))
		return !(process->flags & STEP_PROCESS_BECOMES);
	if (parent == STEP_NONE) /* below an agent: of another PID namespace */
		return !(process->flags & STEP_PROCESS_AGENT) && !is_one_command(journal, process);
	if (!is_actor(processes, parent))
		return false;
	if (process->flags & STEP_PROCESS_FORK)
		return !(process->flags & STEP_PROCESS_BECOMES);
	/* What replaces the run's own program is that. */
	bool is_below_agent = rows[parent].role == ROLE_AGENT &&
			      (process->flags & STEP_PROCESS_AGENT);
	return !is_below_agent && !(rows[parent].flags & STEP_PROCESS_FORK) &&
	       rows[parent].pid == process->pid;
}

static void mark_actors(struct step_processes *processes, struct journal_reader *journal)
{
	for (uint32_t row = 0; row < processes->count; row++)
		if (processes->rows[row].role == ROLE_AGENT &&
		    !(processes->rows[row].flags & STEP_PROCESS_FORK))
			mark_launchers(processes, row);
	/* What a launcher runs before and after the agent is of no interest but for its changes. */
	for (uint32_t row = 0; row < processes->count; row++) {
		struct step_process *process = &processes->rows[row];
		if (process->role != ROLE_AGENT && process->parent != STEP_NONE)
			process->flags |= processes->rows[process->parent].flags &
					  STEP_PROCESS_LAUNCHER;
	}
	for (uint32_t row = 0; row < processes->count; row++)
		if (acts(processes, journal, &processes->rows[row]))
			processes->rows[row].flags |= STEP_PROCESS_ACTOR;
}

/* ---- commands ---- */

static struct step *add_step(struct steps *steps, const struct step_process *process)
{
	struct step *more = steps->steps;

	if ((steps->count & (steps->count - 1)) == 0) {
		size_t wanted = steps->count ? steps->count * 2 : 1;
		more = reallocarray(steps->steps, wanted, sizeof(*more));
		if (!more)
			return NULL;
		steps->steps = more;
	}
	more += steps->count++;
	*more = (struct step){
		.run = process->run,
		.process = process->number,
		.pid = process->pid,
		.by_agent = process->flags & STEP_PROCESS_AGENT,
		.agent_pid = step_processes_agent(&steps->table->processes, process->number),
		.begin_ns = process->start_ns,
	};
	return more;
}

/* What was typed for a command.  Where the first program is no shell and is replaced by one (env,
 * nice), that one's words. */
static char *text_of(struct journal_reader *journal, const struct step_process *process)
{
	char arguments[STEP_TEXT_BYTES], path[STEP_TEXT_BYTES], text[STEP_TEXT_BYTES];
	size_t size = 0, length = 0;
	const char *bytes = journal_reader_bytes(journal, process->arguments, &size);

	size = bytes && size < sizeof(arguments) ? size : bytes ? sizeof(arguments) : 0;
	if (size)
		memcpy(arguments, bytes, size);
	bytes = journal_reader_bytes(journal, process->path, &length);
	length = bytes && length < sizeof(path) ? length : bytes ? sizeof(path) - 1 : 0;
	if (length)
		memcpy(path, bytes, length);
	path[length] = '\0';
	typed_words(process->role, size ? arguments : NULL, size, length ? path : NULL, text,
		    sizeof(text));
	return strdup(text);
}

static bool has_script(struct journal_reader *journal, const struct step_process *process)
{
	size_t size = 0, length;
	const char *arguments = journal_reader_bytes(journal, process->arguments, &size);
	return typed_script(process->role, arguments, size, &length) != NULL;
}

/* A process of a command that is known already. */
static int join_command(struct steps *steps, struct journal_reader *journal,
			struct step_process *process, uint32_t index)
{
	struct step *step = &steps->steps[index];
	struct step_process *rows = steps->table->processes.rows;
	struct step_process *first =
		&rows[step_processes_find(&steps->table->processes, step->process)];

	process->step = index;
	if (process->last_ns > step->last_ns)
		step->last_ns = process->last_ns;
	if (process->pid != step->pid || process->pid_ns != first->pid_ns)
		return 0;
	/* Its first process, or another program in it. */
	step->end_ns = process->end_ns;
	step->has_status = process->flags & STEP_PROCESS_STATUS;
	step->status = process->status;
	bool is_script = has_script(journal, process);
	bool is_first_program = process == first || &rows[process->parent] == first;
	if ((is_first_program && !first->arguments) ||
	    (!(first->flags & STEP_PROCESS_SCRIPT) && is_script) || !step->text) {
		free(step->text);
		step->text = text_of(journal, process);
		first->flags |= is_script ? STEP_PROCESS_SCRIPT : 0u;
	}
	return step->text ? 0 : -ENOMEM;
}

/* Is it what an agent runs as a hook of ours? */
static bool is_hook(struct journal_reader *journal, const struct step_process *process)
{
	char script[STEP_TEXT_BYTES];
	size_t size = 0, length = 0;
	const char *arguments = journal_reader_bytes(journal, process->arguments, &size);
	const char *found = typed_script(process->role, arguments, size, &length);

	if (!found || length >= sizeof(script))
		return false;
	memcpy(script, found, length);
	script[length] = '\0';
	return hook_command_is(script);
}

/* A copy of an agent becomes the shell of a hook only in its next row. */
static void find_hooks(struct step_processes *processes, struct journal_reader *journal)
{
	for (uint32_t row = 0; row < processes->count; row++) {
		const struct step_process *process = &processes->rows[row];
		struct step_process *copy = process->parent == STEP_NONE
						    ? NULL
						    : &processes->rows[process->parent];
		if (copy && copy->flags & STEP_PROCESS_BECOMES && copy->pid == process->pid &&
		    is_hook(journal, process))
			copy->flags |= STEP_PROCESS_HOOK;
	}
}

static int find_commands(struct steps *steps, struct journal_reader *journal)
{
	struct step_processes *processes = &steps->table->processes;
	int error = 0;

	find_hooks(processes, journal);
	for (uint32_t row = 0; row < processes->count && error == 0; row++) {
		struct step_process *process = &processes->rows[row];
		uint32_t parent = process->parent;
		if (!process->run && parent != STEP_NONE)
			process->run = processes->rows[parent].run;
		if (process->flags & STEP_PROCESS_ACTOR)
			continue;
		bool is_new = parent == STEP_NONE || is_actor(processes, parent);
		if (is_new && (process->flags & STEP_PROCESS_HOOK || is_hook(journal, process)))
			continue;
		uint32_t index = is_new ? (uint32_t)steps->count : processes->rows[parent].step;
		if (is_new && !add_step(steps, process))
			return -ENOMEM;
		if (index != STEP_NONE)
			error = join_command(steps, journal, process, index);
	}
	return error;
}

/* ---- own actions ---- */

static int by_run_and_time(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;

	if (left->run != right->run)
		return left->run < right->run ? -1 : 1;
	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static void add_edge(struct step_table *table, uint32_t run, uint64_t time_ns)
{
	if (time_ns)
		table->edges[table->edge_count++] = (struct edge){ run, time_ns };
}

/* Tool calls end an own action as commands do: in the run that began last before them. */
static void add_call_edges(struct step_table *table)
{
	const struct step_processes *processes = &table->processes;
	size_t row = 0;

	for (size_t i = 0; i < processes->calls.count; i++) {
		const struct step_call *call = &processes->calls.calls[i];
		while (row + 1 < processes->count &&
		       processes->rows[row + 1].start_ns <= call->begin_ns)
			row++;
		uint32_t run = processes->count ? processes->rows[row].run : 0;
		add_edge(table, run, call->begin_ns);
		add_edge(table, run, call->end_ns);
	}
}

static int find_edges(struct step_table *table, const struct steps *steps)
{
	table->edges = calloc(2 * (steps->count + table->processes.calls.count) + 1,
			      sizeof(*table->edges));
	if (!table->edges)
		return -ENOMEM;
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->steps[i];
		add_edge(table, step->run, step->begin_ns);
		add_edge(table, step->run, step->end_ns);
	}
	add_call_edges(table);
	if (table->edge_count)
		qsort(table->edges, table->edge_count, sizeof(*table->edges), by_run_and_time);
	return 0;
}

/* How many edges are of an earlier run, or of this one and not later. */
static size_t edges_before(const struct step_table *table, uint32_t run, uint64_t time_ns)
{
	const struct edge key = { run, time_ns };
	size_t low = 0, high = table->edge_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (by_run_and_time(&table->edges[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int by_edge(const void *a, const void *b)
{
	const struct gap *left = a, *right = b;

	if (left->edge != right->edge)
		return left->edge < right->edge ? -1 : 1;
	return (left->run > right->run) - (left->run < right->run);
}

/* The actor's program: of a copy that of what was copied. */
static const struct step_process *program_of(const struct step_processes *processes, uint32_t row)
{
	size_t left = processes->count;

	while ((processes->rows[row].flags & STEP_PROCESS_FORK) &&
	       processes->rows[row].parent != STEP_NONE && left--)
		row = processes->rows[row].parent;
	return &processes->rows[row];
}

static int by_time(const void *a, const void *b)
{
	const struct step_change *left = a, *right = b;
	return (left->first_ns > right->first_ns) - (left->first_ns < right->first_ns);
}

static int find_own_actions(struct steps *steps, struct journal_reader *journal)
{
	struct step_table *table = steps->table;
	struct step_processes *processes = &table->processes;

	if (processes->change_count)
		qsort(processes->changes, processes->change_count, sizeof(*processes->changes),
		      by_time);
	table->gaps = calloc(processes->change_count + 1, sizeof(*table->gaps));
	if (!table->gaps)
		return -ENOMEM;
	for (size_t i = 0; i < processes->change_count; i++) {
		const struct step_change *change = &processes->changes[i];
		if (!is_actor(processes, change->process))
			continue;
		const struct step_process *process = &processes->rows[change->process];
		struct gap gap = { process->run, 0,
				   edges_before(table, process->run, change->first_ns) };
		struct gap *found = NULL;
		/* Those of a run come by time; of all runs a few go on at once. */
		for (size_t back = table->gap_count; back > 0 && !found; back--)
			if (by_edge(&table->gaps[back - 1], &gap) == 0)
				found = &table->gaps[back - 1];
			else if (table->gaps[back - 1].run == gap.run)
				break;
		struct step *step = found ? &steps->steps[found->step] : add_step(steps, process);
		if (!step)
			return -ENOMEM;
		if (!found) {
			gap.step = (uint32_t)(steps->count - 1);
			table->gaps[table->gap_count++] = gap;
			step->kind = STEP_OWN;
			step->begin_ns = change->first_ns;
			step->text = text_of(journal, program_of(processes, change->process));
		}
		if (!step->text)
			return -ENOMEM;
		if (change->last_ns > step->end_ns)
			step->end_ns = step->last_ns = change->last_ns;
	}
	return 0;
}

/* ---- numbers ---- */

static int by_beginning(const void *a, const void *b)
{
	const struct step *left = a, *right = b;

	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	/* What an actor did before it started a command has the lower record. */
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

/* The tracker's numbers of runs become 1, 2 ..., in the order in which they began. */
static int number_runs(struct steps *steps)
{
	struct step_processes *processes = &steps->table->processes;
	uint32_t last = 0, *ranks = calloc(1 << 16, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < processes->count; i++) {
		uint32_t *rank = &ranks[processes->rows[i].run & 0xffff];
		if (processes->rows[i].run && !*rank)
			*rank = ++last;
		processes->rows[i].run = *rank;
	}
	free(ranks);
	return 0;
}

static int number_steps(struct steps *steps)
{
	struct step_table *table = steps->table;

	table->numbers = calloc(steps->count + 1, sizeof(*table->numbers));
	if (!table->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < steps->count; i++)
		steps->steps[i].number = (uint32_t)i;
	if (steps->count)
		qsort(steps->steps, steps->count, sizeof(*steps->steps), by_beginning);
	for (size_t i = 0; i < steps->count; i++) {
		table->numbers[steps->steps[i].number] = (uint32_t)i + 1;
		steps->steps[i].number = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < table->gap_count; i++)
		table->gaps[i].step = table->numbers[table->gaps[i].step];
	if (table->gap_count)
		qsort(table->gaps, table->gap_count, sizeof(*table->gaps), by_edge);
	return 0;
}

/* ---- the whole ---- */

static int derive(struct steps *steps, const char *path)
{
	struct journal_reader *journal = calloc(1, sizeof(*journal));
	int error = journal ? journal_reader_open(path, journal) : -ENOMEM;

	if (error == 0) {
		mark_actors(&steps->table->processes, journal);
		error = number_runs(steps);
	}
	if (error == 0)
		error = find_commands(steps, journal);
	if (error == 0)
		error = find_edges(steps->table, steps);
	if (error == 0)
		error = find_own_actions(steps, journal);
	if (error == 0)
		error = number_steps(steps);
	if (error == 0)
		step_calls_assign(&steps->table->processes.calls, steps->steps, steps->count);
	if (journal)
		journal_reader_close(journal);
	free(journal);
	return error;
}

int steps_start(struct steps *ret_steps)
{
	*ret_steps = (struct steps){ .steps = NULL };
	ret_steps->table = calloc(1, sizeof(*ret_steps->table));
	return ret_steps->table
		       ? step_processes_start(STEP_PROCESSES_MAX, &ret_steps->table->processes,
					      &ret_steps->table->reading)
		       : -ENOMEM;
}

void steps_add(struct steps *steps, const struct event *event)
{
	step_processes_add(steps->table->reading, event);
}

int steps_finish(struct steps *steps, const struct events *events, const char *journal,
		 const char *undo)
{
	struct step_processes *processes = &steps->table->processes;
	int error = step_processes_finish(steps->table->reading, events);

	steps->table->reading = NULL;
	steps->processes_left_out = processes->left_out;
	steps->lost_records = processes->lost_records;
	steps->begin_ns = events_header(events)->created_realtime_ns;
	steps->has_journal = error == 0;
	if (error == 0 && undo)
		error = step_processes_add_records(processes, undo);
	if (error == 0)
		error = derive(steps, journal);
	return error == -ENOENT ? 0 : error;
}

static int read_events(const char *journal, const char *undo, struct steps *steps)
{
	struct events *events;
	struct event event;
	int error = events_open(journal, false, &events);

	if (error < 0)
		return error;
	for (enum events_found found; (found = events_next(events, &event)) != EVENTS_END;)
		if (found == EVENTS_UNDONE)
			events_pass(events);
		else
			steps_add(steps, &event);
	error = steps_finish(steps, events, journal, undo);
	if (error == 0)
		error = events_error(events);
	events_close(events);
	return error;
}

int steps_read(const char *journal, const char *undo, struct steps *ret_steps)
{
	int error = steps_start(ret_steps);

	if (error == 0 && journal)
		error = read_events(journal, undo, ret_steps);
	return error == -ENOENT ? 0 : error;
}

void steps_free(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		free(steps->steps[i].text);
	free(steps->steps);
	if (steps->table) {
		(void)step_processes_finish(steps->table->reading, NULL);
		step_processes_free(&steps->table->processes);
		free(steps->table->edges);
		free(steps->table->gaps);
		free(steps->table->numbers);
		free(steps->table);
	}
	*steps = (struct steps){ .steps = NULL };
}

/* ---- questions ---- */

const struct step *steps_numbered(const struct steps *steps, uint32_t number)
{
	return number && number <= steps->count ? &steps->steps[number - 1] : NULL;
}

const struct step *steps_of_change(const struct steps *steps, uint32_t process, uint64_t time_ns)
{
	const struct step_table *table = steps->table;
	uint32_t row = step_processes_find(&table->processes, process);

	if (row == STEP_NONE)
		return NULL;
	const struct step_process *found = &table->processes.rows[row];
	if (found->step != STEP_NONE)
		return steps_numbered(steps, table->numbers[found->step]);
	if (!(found->flags & STEP_PROCESS_ACTOR))
		return NULL;
	const struct gap key = { found->run, 0, edges_before(table, found->run, time_ns) };
	const struct gap *gap = bsearch(&key, table->gaps, table->gap_count, sizeof(key), by_edge);
	return gap ? steps_numbered(steps, gap->step) : NULL;
}

uint64_t steps_process_last(const struct steps *steps, uint32_t process)
{
	uint32_t row = step_processes_find(&steps->table->processes, process);

	return row == STEP_NONE ? 0 : steps->table->processes.rows[row].last_ns;
}

bool steps_is_mount_point(const struct steps *steps, uint32_t process, const char *path,
			  uint64_t creation_ns, uint64_t removed_ns)
{
	return step_processes_made_below(&steps->table->processes, process, path, creation_ns,
					 removed_ns);
}

/* Is a process of the journal, of this PID namespace, still that one?  Another one with
 * its pid began later. */
static bool is_alive(const struct step_process *process)
{
	struct timespec realtime, boottime;
	uint64_t since_boot_ns;

	if (process->end_ns || !process_start(process->pid, &since_boot_ns))
		return false;
	(void)clock_gettime(CLOCK_REALTIME, &realtime);
	(void)clock_gettime(CLOCK_BOOTTIME, &boottime);
	int64_t boot_ns = (realtime.tv_sec - boottime.tv_sec) * INT64_C(1000000000) +
			  (realtime.tv_nsec - boottime.tv_nsec);
	return boot_ns + (int64_t)since_boot_ns <= (int64_t)process->start_ns + 2 * NS_PER_TICK;
}

const struct step *steps_of_caller(const struct steps *steps)
{
	const struct step_processes *processes = &steps->table->processes;
	uint64_t pid_ns = process_pid_ns();
	uint32_t pid = (uint32_t)getpid();

	for (int level = 0; level < ANCESTORS_MAX && pid > 1; level++) {
		for (size_t i = processes->count; i > 0; i--) {
			const struct step_process *process = &processes->rows[i - 1];
			if (process->pid != pid || process->pid_ns != pid_ns || !is_alive(process))
				continue;
			if (process->step == STEP_NONE)
				return NULL;
			return steps_numbered(steps, steps->table->numbers[process->step]);
		}
		pid = process_parent_of(pid);
	}
	return NULL;
}

void steps_running(const struct steps *steps, const struct session *session, bool *ret_running)
{
	const struct step_table *table = steps->table;
	uint64_t pid_ns = process_pid_ns();

	memset(ret_running, 0, steps->count * sizeof(*ret_running));
	if (!session->segment.header || !session_is_of_this_boot(&session->segment))
		return;
	for (size_t i = 0; i < table->processes.count; i++) {
		const struct step_process *process = &table->processes.rows[i];
		bool *running = process->step == STEP_NONE
					? NULL
					: &ret_running[table->numbers[process->step] - 1];
		if (running && !*running && process->pid_ns == pid_ns && is_alive(process))
			*running = true;
	}
}

bool steps_has_process(const struct steps *steps, uint32_t pid)
{
	const struct step_processes *processes = &steps->table->processes;
	uint64_t pid_ns = process_pid_ns();

	for (size_t i = processes->count; i > 0; i--) {
		const struct step_process *process = &processes->rows[i - 1];
		if (process->pid == pid && process->pid_ns == pid_ns && is_alive(process))
			return true;
	}
	return false;
}

const struct step_calls *steps_calls(const struct steps *steps)
{
	return &steps->table->processes.calls;
}

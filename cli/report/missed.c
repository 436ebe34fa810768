/* Instruction files that no scope was given: see missed.h. */
#include "cli/report/missed.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/answer/instruction.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"

/* A directory in which files were touched. */
struct touched {
	const char *path; /* owned; first: the tree is ordered by it */
	char *example;
	uint64_t touches;
	struct touched *next;
};

/* An instruction file that was given. */
struct recorded_file {
	const char *path;  /* owned; first */
	uint64_t dev, ino; /* when it was given; 0: not known */
};

/* One that applies. */
struct applying {
	struct missed_row row;
	uint64_t dev, ino; /* one file by two names is one */
};

struct missed_search {
	const struct segment *segment;
	void *touched, *known; /* tsearch(3), by path */
	size_t directory_count, known_count;
	struct touched *first, **last; /* the same, as they came */
	struct applying *applying;
	size_t applying_count;
	bool no_memory, is_cut;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The item of a path in a tree of `count`, made where there is none.  NULL: no memory, or too
 * many. */
static void *item_of(struct missed_search *search, void **tree, size_t *count, const char *path,
		     size_t bytes, bool *ret_is_new)
{
	void *node = tfind(&path, tree, by_path);

	*ret_is_new = !node;
	if (node)
		return *(void **)node;
	if (*count == MISSED_PATHS_MAX) {
		search->is_cut = true;
		return NULL;
	}
	(*count)++;
	char *copy = strdup(path);
	void *item = copy ? calloc(1, bytes) : NULL;
	if (item) {
		*(char **)item = copy; /* its first member */
		if (tsearch(item, tree, by_path))
			return item;
	}
	free(item);
	free(copy);
	search->no_memory = true;
	return NULL;
}

static void note_touched(struct missed_search *search, const char *path)
{
	char directory[SEGMENT_PATH_BYTES];
	const char *base = path_base(path);
	size_t bytes = (size_t)(base - path);
	bool is_new;

	if (!path_is_tracked(search->segment, path) || bytes < 1 || bytes >= sizeof(directory))
		return;
	memcpy(directory, path, bytes);
	directory[bytes > 1 ? bytes - 1 : 1] = '\0';
	struct touched *touched = item_of(search, &search->touched, &search->directory_count,
					  directory, sizeof(*touched), &is_new);
	if (!touched)
		return;
	touched->touches++;
	if (!is_new)
		return;
	touched->example = strdup(path);
	*search->last = touched;
	search->last = &touched->next;
	search->no_memory = search->no_memory || !touched->example;
}

static void note_known(struct missed_search *search, const struct event *event)
{
	bool is_new;
	struct recorded_file *known = item_of(search, &search->known, &search->known_count,
					      event->resolved, sizeof(*known), &is_new);
	if (!known)
		return;
	if (event->op != JOURNAL_OPEN && (event->entry->record.marks & JOURNAL_DETAILS)) {
		known->dev = event->entry->details.dev;
		known->ino = event->entry->details.ino;
	}
}

void missed_add(struct missed_search *search, const struct event *event)
{
	if (event->error || !event->resolved || event->op == EVENT_DAMAGED)
		return;
	bool is_named = instruction_is_named(search->segment, event->resolved);
	/* What the agent reads itself it loads for its model. */
	bool is_read = event->op == JOURNAL_OPEN && event->role == ROLE_AGENT &&
		       (event->entry->record.flags & O_ACCMODE) != O_WRONLY;
	if (is_named && (event->op == JOURNAL_INSTRUCTED || event->op == JOURNAL_GIVEN || is_read))
		note_known(search, event);
	if (!(op_info(event->op)->traits & OP_WORK) ||
	    (!role_is_of_agent(event->role) && !source_is_session(event->source)))
		return;
	/* Looking for instructions is no work that they are for. */
	if (!is_named)
		note_touched(search, event->resolved);
	if (event->other_resolved && !instruction_is_named(search->segment, event->other_resolved))
		note_touched(search, event->other_resolved);
}

/* The one that is that file, or a new one.  NULL: no memory. */
static struct applying *applying_of(struct missed_search *search, const char *path,
				    const struct stat *stat, const char *example)
{
	for (size_t i = 0; i < search->applying_count; i++)
		if (search->applying[i].dev == stat->st_dev &&
		    search->applying[i].ino == stat->st_ino)
			return &search->applying[i];
	struct applying *more = reallocarray(search->applying, search->applying_count + 1,
					     sizeof(*more));
	if (more) {
		search->applying = more;
		more += search->applying_count++;
		*more = (struct applying){ .row = { .path = strdup(path),
						    .example = strdup(example ? example : "") },
					   .dev = stat->st_dev,
					   .ino = stat->st_ino };
	}
	search->no_memory = search->no_memory || !more || !more->row.path || !more->row.example;
	return more;
}

static void apply(struct missed_search *search, const struct touched *directory)
{
	char place[SEGMENT_PATH_BYTES];
	struct instruction_walk walk;
	struct stat stat;

	instruction_walk_init(search->segment, directory->path, true, false, &walk);
	while (instruction_walk_next(search->segment, &walk, place, sizeof(place))) {
		int fd = instruction_open(search->segment, place, &stat);
		if (fd < 0)
			continue;
		(void)close(fd);
		struct applying *applying = applying_of(search, place, &stat, directory->example);
		if (applying)
			applying->row.touches += directory->touches;
	}
}

/* What twalk(3) asks of each; it hands over no argument, and twalk_r(3) is in glibc alone, since 2.30. */
static struct question {
	const struct applying *applying;
	bool is_given;
} question;

static void ask(const void *node, VISIT visit, int depth)
{
	const struct recorded_file *known = *(const struct recorded_file *const *)node;

	(void)depth;
	if (visit != postorder && visit != leaf)
		return;
	bool is_it = strcmp(known->path, question.applying->row.path) == 0 ||
		     (known->ino && known->ino == question.applying->ino &&
		      known->dev == question.applying->dev);
	question.is_given = question.is_given || is_it;
}

/* Was one given, by whichever name? */
static bool is_given(const struct missed_search *search, const struct applying *applying)
{
	question = (struct question){ .applying = applying };
	twalk(search->known, ask);
	return question.is_given;
}

static int row_by_path(const void *a, const void *b)
{
	return strcmp(((const struct missed_row *)a)->path, ((const struct missed_row *)b)->path);
}

/* Takes the rows out of those that apply. */
static void answer(struct missed_search *search, struct missed *missed)
{
	missed->applied = search->applying_count;
	missed->is_cut = search->is_cut;
	missed->rows = calloc(search->applying_count + 1, sizeof(*missed->rows));
	search->no_memory = search->no_memory || !missed->rows;
	for (size_t i = 0; i < search->applying_count; i++) {
		struct missed_row *row = &search->applying[i].row;
		if (is_given(search, &search->applying[i]) || search->no_memory) {
			free(row->path);
			free(row->example);
			continue;
		}
		missed->rows[missed->count++] = *row;
	}
	if (missed->rows && missed->count)
		qsort(missed->rows, missed->count, sizeof(*missed->rows), row_by_path);
}

static void free_touched(void *item)
{
	struct touched *touched = item;
	free((void *)(uintptr_t)touched->path);
	free(touched->example);
	free(touched);
}

static void free_known(void *item)
{
	struct recorded_file *known = item;
	free((void *)(uintptr_t)known->path);
	free(known);
}

struct missed_search *missed_new(const struct segment *segment)
{
	struct missed_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->segment = segment;
	search->last = &search->first;
	return search;
}

int missed_answer(struct missed_search *search, struct missed *ret_missed)
{
	*ret_missed = (struct missed){ .rows = NULL };
	if (!search)
		return -ENOMEM;
	for (const struct touched *directory = search->first; directory;
	     directory = directory->next)
		apply(search, directory);
	answer(search, ret_missed);
	bool no_memory = search->no_memory;
	tdestroy(search->touched, free_touched);
	tdestroy(search->known, free_known);
	free(search->applying);
	free(search);
	return no_memory ? -ENOMEM : 0;
}

void missed_free(struct missed *missed)
{
	for (size_t i = 0; i < missed->count; i++) {
		free(missed->rows[i].path);
		free(missed->rows[i].example);
	}
	free(missed->rows);
}

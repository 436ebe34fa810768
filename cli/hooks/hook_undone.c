/* What was undone, and what could be: see hook_undone.h. */
#include "cli/hooks/hook_undone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/hooks/hook_list.h"
#include "cli/undo/diff_pair.h"
#include "cli/undo/step_changes.h"
#include "cli/undo/undo_range.h"
#include "tracker/path/path.h"
#include "tracker/process/hook_command.h"
#include "tracker/segment/workspace.h"

/* Reading the steps takes 2 s for 64 MiB. */
enum { JOURNAL_BYTES_MAX = 8 << 20 };

static const char *workspace_of(const struct segment *segment)
{
	return segment_text(segment, segment->settings->paths_workspace, NULL);
}

/* ---- what was undone ---- */

/* The last one that is complete; 0: there is none.  False: it is not known. */
static bool find_last(const char *undo, uint32_t *ret_number)
{
	struct operation_head *heads = NULL;
	size_t count = 0;
	int directory = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_number = 0;
	if (directory < 0)
		return errno == ENOENT;
	bool is_known = operation_heads(directory, &heads, &count, NULL) == 0;
	for (size_t i = 0; i < count; i++)
		if (heads[i].state != OPERATION_STARTED)
			*ret_number = heads[i].number;
	free(heads);
	(void)close(directory);
	return is_known;
}

static enum tree_selection select_operations(const struct tree_record *record, void *data)
{
	(void)data;
	return record->operation ? TREE_SELECTED : TREE_NEUTRAL;
}

static void describe(const struct tree_records *records, const struct diff_file *file,
		     char *ret_words, size_t capacity)
{
	struct diff_pair pair;

	if (!file->new || !file->old) {
		(void)snprintf(ret_words, capacity, "%s", file->old ? "removed" : "is there again");
		return;
	}
	ret_words[0] = '\0';
	if (diff_pair_read(records, file, &pair) == 0 && !pair.pair.is_binary)
		(void)snprintf(ret_words, capacity, "+%zu -%zu", pair.pair.added,
			       pair.pair.removed);
	diff_pair_free(&pair);
}

/* The model knows of the change: it is not reported again as one by another program. */
static void note_announced(const struct hook_agent *agent, const struct hook_input *input,
			   struct hook_record *record, const char *path)
{
	struct content content = { .lines = 0 };

	for (size_t i = 0; i < record->count; i++) {
		struct hook_record_file *known = &record->files[i];
		if (strcmp(path_relative(agent->segment, known->path), path) != 0)
			continue;
		int fd = open(known->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) < 0)
			content = (struct content){ .lines = 0 };
		if (fd >= 0)
			(void)close(fd);
		hook_record_announced(agent, input, known->path, &content.version);
		known->is_announced = true;
		known->announced = content.version;
	}
}

static void write_set(const struct hook_agent *agent, const struct hook_input *input,
		      struct hook_record *record, const struct tree_records *records,
		      const struct diff_set *set, FILE *out)
{
	struct hook_list list = { .out = out,
				  .head = "changed by `seen undo` since you left them: " };
	char words[64];

	for (size_t i = 0; i < set->count; i++) {
		const struct diff_file *file = &set->files[i];
		const char *path = file->new ? file->new_path : file->old_path;
		if (file->change->conflict)
			continue;
		describe(records, file, words, sizeof(words));
		if (hook_list_add(&list, agent->segment, path, words))
			note_announced(agent, input, record, path);
	}
	hook_list_finish(&list);
}

void hook_undone_start(const struct hook_agent *agent, const struct hook_input *input,
		       struct hook_record *record)
{
	const char *undo = segment_undo(agent->segment);

	if (!undo || record->has_undo || !find_last(undo, &record->undo))
		return;
	record->has_undo = true;
	hook_record_undo(agent, input, record->undo);
}

void hook_undone_write(const struct hook_agent *agent, const struct hook_input *input,
		       struct hook_record *record, FILE *out)
{
	const char *undo = segment_undo(agent->segment);
	uint32_t last;
	const struct diff_filter filter = { .workspace = workspace_of(agent->segment),
					    .is_open = true,
					    .omits_git = true };
	struct tree_records records;
	struct tree_changes changes = { .count = 0 };
	struct diff_set set = { .files = NULL };

	hook_undone_start(agent, input, record);
	if (!undo || !record->has_undo || !find_last(undo, &last) || last <= record->undo)
		return;
	const struct tree_range range = { .from_operation = record->undo + 1,
					  .select = select_operations };
	hook_record_undo(agent, input, last);
	if (tree_records_read(undo, &records) == 0 &&
	    tree_changes_read(&records, &range, &changes) == 0 &&
	    diff_set_make(&changes, &records, &filter, &set) == 0)
		write_set(agent, input, record, &records, &set, out);
	diff_set_free(&set);
	tree_changes_free(&changes);
	tree_records_close(&records);
}

/* ---- what could be ---- */

struct failed {
	const struct hook_agent *agent;
	FILE *out;
	bool *undone; /* by the number of a step */
};

/* A command that failed: its words, and what it had changed. */
static int write_step(const struct tree_records *records, const struct step *step,
		      struct diff_set *set, void *data)
{
	struct failed *failed = data;
	struct hook_list list = { .out = failed->out, .head = " and had changed " };
	/* As the agent's model wrote it: the agent may put words of its own before it. */
	const char *command = step->call && step->call->input ? step->call->input : step->text;
	char text[STEP_TEXT_BYTES * 4 + 1], status[48] = "";

	(void)records;
	if (!set->count || failed->undone[step->number] || (step->has_status && !step->status) ||
	    path_escape(command, text, sizeof(text)) < 0)
		return 0;
	if (step->has_status)
		(void)snprintf(status, sizeof(status), " (exit status %u)", step->status);
	(void)fprintf(failed->out, "`%.80s` failed%s", text, status);
	for (size_t i = 0; i < set->count; i++)
		(void)hook_list_add(
			&list, failed->agent->segment,
			set->files[i].new ? set->files[i].new_path : set->files[i].old_path, "");
	(void)fprintf(failed->out, ": `seen undo --step %u` takes that back\n", step->number);
	return 0;
}

static void write_steps(const struct hook_agent *agent, const struct steps *steps,
			const struct tree_records *records, int directory, const char *call,
			FILE *out)
{
	struct failed failed = { .agent = agent, .out = out };
	struct step_changes_visit visit = { .records = records,
					    .steps = steps,
					    .workspace = workspace_of(agent->segment),
					    .omits_git = true,
					    .visit = write_step,
					    .data = &failed };
	struct undo_ranges ranges;

	failed.undone = calloc(steps->count + 1, sizeof(*failed.undone));
	if (failed.undone && undo_ranges_read(steps, records, directory, &ranges) == 0) {
		undo_range_undone(&ranges, failed.undone);
		for (size_t i = steps->count; i > 0 && !visit.only; i--) {
			const struct step *step = &steps->steps[i - 1];
			if (step->kind != STEP_COMMAND || !step->call || !step->call->call ||
			    strcmp(step->call->call, call) != 0 || hook_command_is(step->text))
				continue;
			visit.only = step->number;
			(void)step_changes_visit(&visit);
		}
		undo_ranges_free(&ranges);
	}
	free(failed.undone);
}

void hook_failed_write(const struct hook_agent *agent, const struct hook_input *input,
		       const struct hook_record *record, FILE *out)
{
	const char *undo = segment_undo(agent->segment), *path = segment_journal(agent->segment);
	struct tree_records records;
	struct steps steps;
	struct stat stat_;

	if (!record->failed)
		return;
	hook_record_failed(agent, input, record->failed, true);
	int directory = undo ? open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory < 0)
		return;
	if (path && stat(path, &stat_) == 0 &&
	    (uint64_t)stat_.st_blocks * 512 <= JOURNAL_BYTES_MAX) {
		if (steps_read(path, undo, &steps) == 0 && tree_records_read(undo, &records) == 0) {
			write_steps(agent, &steps, &records, directory, record->failed, out);
			tree_records_close(&records);
		}
		steps_free(&steps);
	}
	(void)close(directory);
}

/* Printing the story of a session: see story_print.h. */
#include "cli/undo/story_print.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"

enum {
	FILES_SHOWN = 8, /* of a step among others */
	INDENT = 22,     /* columns before a command */
};

static bool is_shown(const struct story_step *step, const struct story_wish *wish)
{
	if (wish->only)
		return step->step->number == wish->only;
	return !wish->changed_only || step->count || step->lost_count;
}

/* ---- cells ---- */

const char *story_status(const struct story_step *step, char ret_text[STORY_WORD_BYTES])
{
	if (step->step->kind == STEP_OWN)
		return "own";
	if (step->step->has_status) {
		(void)snprintf(ret_text, STORY_WORD_BYTES, "%u", step->step->status);
		return ret_text;
	}
	return step->is_running ? "runs" : "-";
}

/* The beginning of a text, which tells more of a command than its end.  columns: 0: all of it. */
static const char *beginning(const char *text, size_t columns, char *ret_text, size_t capacity)
{
	size_t length = 0, count = 0, cut = 0;

	if (!columns)
		return text;
	for (; text[length] && length + 4 < capacity && count <= columns; length++) {
		count += ((unsigned char)text[length] & 0xc0) != 0x80;
		if (count <= columns - 3)
			cut = length + 1;
	}
	if (!text[length] && count <= columns)
		return text;
	(void)snprintf(ret_text, capacity, "%.*s...", (int)cut, text);
	return ret_text;
}

static void name_command(struct sheet *sheet, const char *text)
{
	char part[STEP_TEXT_BYTES + 8];
	size_t room = sheet->columns > INDENT + 12 ? sheet->columns - INDENT : 12;

	sheet_cell_name(sheet, beginning(text, sheet->columns ? room : 0, part, sizeof(part)));
}

void story_lines(uint64_t added, uint64_t removed, char ret_text[STORY_WORD_BYTES])
{
	ret_text[0] = '\0';
	if (added && removed)
		(void)snprintf(ret_text, STORY_WORD_BYTES, "+%llu -%llu", (unsigned long long)added,
			       (unsigned long long)removed);
	else if (added)
		(void)snprintf(ret_text, STORY_WORD_BYTES, "+%llu", (unsigned long long)added);
	else if (removed)
		(void)snprintf(ret_text, STORY_WORD_BYTES, "-%llu", (unsigned long long)removed);
}

/* "+1 -2", "binary", "" */
static const char *lines_of(const struct story_file *file, char ret_text[STORY_WORD_BYTES])
{
	ret_text[0] = '\0';
	if (file->is_binary)
		(void)snprintf(ret_text, STORY_WORD_BYTES, "binary");
	else if (file->has_lines)
		story_lines(file->added, file->removed, ret_text);
	return ret_text;
}

/* ---- for a terminal ---- */

static void start_line(struct sheet *sheet)
{
	sheet_cell(sheet, "");
	sheet_cell(sheet, "");
	sheet_cell(sheet, "");
	sheet_cell(sheet, "");
}

static void print_file(struct sheet *sheet, const struct story_file *file)
{
	char lines[STORY_WORD_BYTES];

	start_line(sheet);
	sheet_print(sheet, "%-8s%9s  ", story_change_name(file->change), lines_of(file, lines));
	if (file->old_path) {
		char both[2 * PATH_MAX + sizeof(" -> ")];
		(void)snprintf(both, sizeof(both), "%s -> %s", file->old_path, file->path);
		sheet_name(sheet, both);
	} else {
		sheet_name(sheet, file->path);
	}
	if (file->note)
		sheet_print(sheet, " (%s)", file->note);
	sheet_finish(sheet);
}

const char *story_text(const struct step *step, char ret_text[STEP_TEXT_BYTES])
{
	if (step->kind != STEP_OWN || !step->call || !step->call->tool)
		return step->text;
	(void)snprintf(ret_text, STEP_TEXT_BYTES, "%s%s%s", step->call->tool,
		       step->call->input ? " " : "", step->call->input ? step->call->input : "");
	return ret_text;
}

/* The prompt that the steps below belong to, and its name for --since. */
static void print_prompt(struct sheet *sheet, const struct step_call *prompt)
{
	char number[STORY_WORD_BYTES], *words = NULL;

	(void)snprintf(number, sizeof(number), "p%u", prompt->number);
	sheet_cell(sheet, number);
	sheet_cell(sheet, "");
	sheet_cell(sheet, "");
	if (asprintf(&words, "> %s", prompt->input ? prompt->input : "") >= 0)
		name_command(sheet, words);
	free(words);
	sheet_finish(sheet);
}

static void print_step(struct sheet *sheet, const struct story_step *step,
		       const struct story_wish *wish)
{
	char number[STORY_WORD_BYTES], hours[CLOCK_WORD_BYTES], status[STORY_WORD_BYTES],
		text[STEP_TEXT_BYTES];
	size_t shown = wish->only || step->count <= FILES_SHOWN + 1 ? step->count : FILES_SHOWN;

	(void)snprintf(number, sizeof(number), "%u", step->step->number);
	sheet_cell(sheet, number);
	sheet_cell(sheet, clock_hours(step->step->begin_ns, hours));
	sheet_cell(sheet, story_status(step, status));
	name_command(sheet, story_text(step->step, text));
	sheet_finish(sheet);
	for (size_t i = 0; i < shown; i++)
		print_file(sheet, &step->files[i]);
	if (shown < step->count) {
		start_line(sheet);
		sheet_print(sheet, "and %zu more: seen story --step %u", step->count - shown,
			    step->step->number);
		sheet_finish(sheet);
	}
	for (size_t i = 0; i < step->lost_count; i++) {
		start_line(sheet);
		sheet_warn(sheet);
		sheet_print(sheet, "cannot be undone: ");
		sheet_calm(sheet);
		sheet_name(sheet, step->lost[i].path);
		sheet_finish(sheet);
		start_line(sheet);
		sheet_print(sheet, "  ");
		sheet_name(sheet, step->lost[i].why);
		sheet_finish(sheet);
	}
}

void story_print(const struct story *story, const struct story_wish *wish, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "STEP", 4 }, { "TIME", -8 }, { "EXIT", 4 }, { "COMMAND", 0 }
	};
	char zone[CLOCK_WORD_BYTES], day[CLOCK_WORD_BYTES], last_day[CLOCK_WORD_BYTES] = "";
	const struct step_call *prompt = NULL;

	for (size_t i = 0; i < story->count; i++) {
		const struct story_step *step = &story->steps[i];
		if (!is_shown(step, wish))
			continue;
		if (strcmp(clock_day(step->step->begin_ns, day), last_day) != 0) {
			sheet_print(sheet, "%s, %s", day, clock_zone(step->step->begin_ns, zone));
			sheet_finish(sheet);
			sheet_table(sheet, TABLE, sizeof(TABLE) / sizeof(TABLE[0]));
			memcpy(last_day, day, sizeof(day));
		}
		if (step->step->prompt && step->step->prompt != prompt)
			print_prompt(sheet, step->step->prompt);
		prompt = step->step->prompt ? step->step->prompt : prompt;
		print_step(sheet, step, wish);
	}
}

/* ---- for a report ---- */

/* What cannot be undone, and why. */
static void print_lost(const struct story *story, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "STEP", 4 },
						     { "CANNOT BE UNDONE", -24 },
						     { "WHY", 0 } };
	char number[STORY_WORD_BYTES];
	size_t count = 0;

	for (size_t i = 0; i < story->count; i++) {
		const struct story_step *step = &story->steps[i];
		for (size_t j = 0; j < step->lost_count; j++) {
			if (count++ == 0)
				sheet_table(sheet, TABLE, sizeof(TABLE) / sizeof(TABLE[0]));
			if (count > top)
				continue;
			(void)snprintf(number, sizeof(number), "%u", step->step->number);
			sheet_cell(sheet, number);
			sheet_cell_name(sheet, step->lost[j].path);
			sheet_cell(sheet, step->lost[j].why);
			sheet_finish(sheet);
		}
	}
	if (count > top)
		sheet_note(sheet, "and %zu more: `seen story`", count - top);
}

void story_print_table(const struct story *story, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "STEP", 4 },    { "TIME", -8 },
						     { "EXIT", 4 },    { "MADE", 4 },
						     { "CHANGED", 7 }, { "REMOVED", 7 },
						     { "LINES", 10 },  { "COMMAND", 0 } };
	char gaps[STORY_GAPS_BYTES];
	char number[STORY_WORD_BYTES], hours[CLOCK_WORD_BYTES], status[STORY_WORD_BYTES];

	sheet_table(sheet, TABLE, sizeof(TABLE) / sizeof(TABLE[0]));
	for (size_t i = 0; i < story->count; i++) {
		const struct story_step *step = &story->steps[i];
		if (i >= top)
			continue;
		(void)snprintf(number, sizeof(number), "%u", step->step->number);
		sheet_cell(sheet, number);
		sheet_cell(sheet, clock_hours(step->step->begin_ns, hours));
		sheet_cell(sheet, story_status(step, status));
		sheet_cell_count(sheet, step->changes[STORY_MADE]);
		sheet_cell_count(sheet,
				 step->changes[STORY_CHANGED] + step->changes[STORY_RENAMED]);
		sheet_cell_count(sheet, step->changes[STORY_REMOVED]);
		(void)snprintf(number, sizeof(number), "+%llu -%llu",
			       (unsigned long long)step->added, (unsigned long long)step->removed);
		sheet_cell(sheet, number);
		sheet_cell_name(sheet, step->step->text);
		sheet_finish(sheet);
	}
	if (story->count > top)
		sheet_note(sheet, "and %zu more step%s", story->count - top,
			   text_plural(story->count - top));
	print_lost(story, top, sheet);
	if (story_gaps(story, gaps)[0])
		sheet_note(sheet, "%s", gaps);
}

/* ---- for programs ---- */

static json_t *file_json(const struct story_file *file)
{
	json_t *object = json_object();
	bool has = file->has_lines;

	(void)json_object_set_new(object, "path", text_json(file->path));
	(void)json_object_set_new(object, "old_path",
				  file->old_path ? text_json(file->old_path) : json_null());
	(void)json_object_set_new(object, "change", json_string(story_change_name(file->change)));
	(void)json_object_set_new(object, "added",
				  has ? json_integer((json_int_t)file->added) : json_null());
	(void)json_object_set_new(object, "removed",
				  has ? json_integer((json_int_t)file->removed) : json_null());
	(void)json_object_set_new(object, "binary", json_boolean(file->is_binary));
	(void)json_object_set_new(object, "note", file->note ? text_json(file->note) : json_null());
	return object;
}

json_t *story_call_json(const struct step *step)
{
	const struct step_call *call = step->call;
	const struct step_call *prompt = step->prompt;
	json_t *object = call || prompt ? json_object() : json_null();
	const struct {
		const char *name, *text;
	} members[] = {
		{ "id", call ? call->call : NULL },
		{ "tool", call ? call->tool : NULL },
		{ "input", call ? call->input : NULL },
		{ "conversation", call ? call->conversation : NULL },
		{ "prompt", prompt && prompt->prompt ? prompt->prompt
			    : call                   ? call->prompt
						     : NULL },
		{ "prompt_text", prompt ? prompt->input : NULL },
	};

	for (size_t i = 0; json_is_object(object) && i < sizeof(members) / sizeof(members[0]); i++)
		(void)json_object_set_new(object, members[i].name,
					  members[i].text ? text_json(members[i].text)
							  : json_null());
	if (json_is_object(object))
		(void)json_object_set_new(object, "prompt_number",
					  prompt ? json_integer(prompt->number) : json_null());
	return object;
}

static json_t *step_json(const struct story_step *row)
{
	const struct step *step = row->step;
	json_t *object = json_object(), *files = json_array(), *lost = json_array();

	(void)json_object_set_new(object, "number", json_integer(step->number));
	(void)json_object_set_new(object, "kind",
				  json_string(step->kind == STEP_OWN ? "own_action" : "command"));
	(void)json_object_set_new(object, "run", step->run ? json_integer(step->run) : json_null());
	(void)json_object_set_new(object, "by_agent", json_boolean(step->by_agent));
	(void)json_object_set_new(object, "pid", json_integer(step->pid));
	(void)json_object_set_new(object, "time", text_json_time(step->begin_ns));
	(void)json_object_set_new(object, "end", text_json_time(step->end_ns));
	(void)json_object_set_new(object, "running", json_boolean(row->is_running));
	(void)json_object_set_new(object, "command", text_json(step->text));
	(void)json_object_set_new(object, "tool_call", story_call_json(step));
	(void)json_object_set_new(object, "status",
				  step->has_status ? json_integer(step->status) : json_null());
	(void)json_object_set_new(object, "added", json_integer((json_int_t)row->added));
	(void)json_object_set_new(object, "removed", json_integer((json_int_t)row->removed));
	for (size_t i = 0; i < row->count; i++)
		(void)json_array_append_new(files, file_json(&row->files[i]));
	for (size_t i = 0; i < row->lost_count; i++) {
		json_t *item = json_object();
		(void)json_object_set_new(item, "path", text_json(row->lost[i].path));
		(void)json_object_set_new(item, "why", text_json(row->lost[i].why));
		(void)json_array_append_new(lost, item);
	}
	(void)json_object_set_new(object, "files", files);
	(void)json_object_set_new(object, "cannot_be_undone", lost);
	return object;
}

json_t *story_json(const struct story *story, const struct story_wish *wish)
{
	json_t *steps = json_array();

	for (size_t i = 0; i < story->count; i++)
		if (is_shown(&story->steps[i], wish))
			(void)json_array_append_new(steps, step_json(&story->steps[i]));
	return steps;
}

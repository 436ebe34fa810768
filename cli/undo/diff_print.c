/* Printing what changed: see diff_print.h. */
#include "cli/undo/diff_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/undo/diff_pair.h"

enum { NAME_COLUMNS_MIN = 10, GRAPH_COLUMNS_MIN = 6 };

/* ---- reading ---- */

/* Returns 0; -ENOMEM; 1: there is no difference, or the content cannot be had, which is noted. */
static int read_pair(const struct tree_records *records, struct diff_set *set,
		     const struct diff_file *file, struct diff_pair *ret_pair)
{
	int error = diff_pair_read(records, file, ret_pair);

	if (error == 0 && patch_differs(&ret_pair->pair))
		return 0;
	diff_pair_free(ret_pair);
	if (error == 0 || error == -ENOMEM)
		return error == 0 ? 1 : error;
	const char *why = error == -EBADMSG ? "what was kept of it is damaged"
			  : error == -EFBIG ? "it is too large for a patch"
					    : strerror(-error);
	message("%s: not in the patch: %s", file->new_path, why);
	error = diff_set_omit(set, DIFF_UNKNOWN, file->new_path, "content not known: %s", why);
	return error < 0 ? error : 1;
}

/* Calls a function for each file that differs.  Returns 0, -ENOMEM, or what it returned. */
static int visit_pairs(const struct tree_records *records, struct diff_set *set,
		       int (*visit)(const struct diff_file *file, const struct patch_pair *pair,
				    void *data),
		       void *data)
{
	int error = 0;

	for (size_t i = 0; i < set->count && error >= 0; i++) {
		struct diff_pair pair;
		error = read_pair(records, set, &set->files[i], &pair);
		if (error != 0)
			continue;
		error = visit(&set->files[i], &pair.pair, data);
		diff_pair_free(&pair);
	}
	return error < 0 ? error : 0;
}

bool diff_print_is_whole(const struct diff_set *set)
{
	for (size_t i = 0; i < set->omitted_count; i++)
		if (set->omitted[i].why == DIFF_UNKNOWN)
			return false;
	return true;
}

/* ---- the patch ---- */

static void print_omitted(FILE *file, const struct diff_set *set, const char *mark)
{
	if (!set->omitted_count)
		return;
	(void)fprintf(file, "%sWhat a patch cannot carry:\n", mark);
	for (size_t i = 0; i < set->omitted_count; i++) {
		(void)fprintf(file, "%s  ", mark);
		patch_name_write(file, "", set->omitted[i].path);
		(void)fprintf(file, ": %s\n", set->omitted[i].text);
	}
}

struct patch_output {
	FILE *file;
	const struct patch_style *style;
};

static int write_pair(const struct diff_file *file, const struct patch_pair *pair, void *data)
{
	const struct patch_output *output = data;

	(void)file;
	(void)patch_write(output->file, pair, output->style);
	return 0;
}

int diff_print_patch(FILE *file, const struct tree_records *records, struct diff_set *set,
		     const struct patch_style *style)
{
	struct patch_output output = { file, style };

	print_omitted(file, set, "# ");
	return visit_pairs(records, set, write_pair, &output);
}

/* ---- the table ---- */

struct row {
	char *name;
	size_t old_size, new_size;
	uint64_t removed, added;
	bool is_binary;
};

/* "NAME", or "OLD => NEW". */
static char *name_of(const struct diff_file *file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = memory_stream_open(&text, &size);

	if (!stream)
		return NULL;
	if (strcmp(file->old_path, file->new_path) != 0) {
		patch_name_write(stream, "", file->old_path);
		(void)fputs(" => ", stream);
	}
	patch_name_write(stream, "", file->new_path);
	return fclose(stream) == 0 ? text : NULL;
}

struct rows {
	struct row *rows;
	size_t count;
};

static int add_row(const struct diff_file *file, const struct patch_pair *pair, void *data)
{
	struct rows *rows = data;
	struct row *row = &rows->rows[rows->count];

	*row = (struct row){ name_of(file), pair->old.size, pair->new.size,
			     pair->removed, pair->added,    pair->is_binary };
	rows->count += row->name != NULL;
	return row->name ? 0 : -ENOMEM;
}

/* As many of the graph's columns as there are lines, or, where they do not fit, their part of
 * them. */
static unsigned scaled(uint64_t lines, uint64_t most, unsigned columns)
{
	if (most <= columns)
		return (unsigned)lines;
	return lines ? 1 + (unsigned)(lines * (columns - 1) / most) : 0;
}

static void print_graph(FILE *file, const struct row *row, uint64_t most, unsigned columns,
			const struct patch_style *style)
{
	uint64_t lines = row->added + row->removed;
	unsigned all = scaled(lines, most, columns);
	unsigned added = lines ? (unsigned)((row->added * all + lines / 2) / lines) : 0;

	if (row->added && row->removed && all >= 2)
		added = added < 1 ? 1 : added >= all ? all - 1 : added;
	if (added) {
		(void)fputs(style->hunks.added, file);
		for (unsigned i = 0; i < added; i++)
			(void)fputc('+', file);
		(void)fputs(style->hunks.off, file);
	}
	if (all > added) {
		(void)fputs(style->hunks.removed, file);
		for (unsigned i = added; i < all; i++)
			(void)fputc('-', file);
		(void)fputs(style->hunks.off, file);
	}
}

static void print_sums(FILE *file, size_t count, uint64_t added, uint64_t removed)
{
	if (!count)
		return;
	(void)fprintf(file, " %zu file%s changed", count, text_plural(count));
	if (added || !removed)
		(void)fprintf(file, ", %llu insertion%s(+)", (unsigned long long)added,
			      text_plural(added));
	if (removed || !added)
		(void)fprintf(file, ", %llu deletion%s(-)", (unsigned long long)removed,
			      text_plural(removed));
	(void)fputc('\n', file);
}

static void print_rows(FILE *file, const struct row *rows, size_t count,
		       const struct patch_style *style, unsigned columns)
{
	uint64_t most = 0, added = 0, removed = 0;
	int name_width = 0, number_width;
	char digits[TEXT_NUMBER_BYTES];
	bool has_binary = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t lines = rows[i].added + rows[i].removed;
		int length = (int)strlen(rows[i].name);
		most = lines > most ? lines : most;
		name_width = length > name_width ? length : name_width;
		added += rows[i].added;
		removed += rows[i].removed;
		has_binary = has_binary || rows[i].is_binary;
	}
	number_width = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)most);
	number_width = has_binary && number_width < 3 ? 3 : number_width;
	int rest = (int)columns - number_width - GRAPH_COLUMNS_MIN - 5;
	rest = rest < NAME_COLUMNS_MIN ? NAME_COLUMNS_MIN : rest;
	name_width = name_width > rest ? rest : name_width;
	rest = (int)columns - name_width - number_width - 5;
	for (size_t i = 0; i < count; i++) {
		int length = (int)strlen(rows[i].name);
		bool is_cut = length > name_width;
		(void)fprintf(file, " %s%-*s |", is_cut ? "..." : "", name_width - (is_cut ? 3 : 0),
			      rows[i].name + (is_cut ? length - name_width + 3 : 0));
		if (rows[i].is_binary) {
			(void)fprintf(file, " %*s %zu -> %zu bytes\n", number_width, "Bin",
				      rows[i].old_size, rows[i].new_size);
			continue;
		}
		(void)fprintf(file, " %*llu%s", number_width,
			      (unsigned long long)rows[i].added + rows[i].removed,
			      rows[i].added + rows[i].removed ? " " : "");
		print_graph(file, &rows[i], most,
			    rest > GRAPH_COLUMNS_MIN ? (unsigned)rest : GRAPH_COLUMNS_MIN, style);
		(void)fputc('\n', file);
	}
	print_sums(file, count, added, removed);
}

int diff_print_stat(FILE *file, const struct tree_records *records, struct diff_set *set,
		    const struct patch_style *style, unsigned columns)
{
	struct rows rows = { calloc(set->count + 1, sizeof(*rows.rows)), 0 };

	if (!rows.rows)
		return -ENOMEM;
	int error = visit_pairs(records, set, add_row, &rows);
	if (error == 0) {
		print_rows(file, rows.rows, rows.count, style, columns);
		print_omitted(file, set, " ");
	}
	for (size_t i = 0; i < rows.count; i++)
		free(rows.rows[i].name);
	free(rows.rows);
	return error;
}

/* ---- JSON ---- */

static json_t *mode_of(const struct tree_entry *entry)
{
	char text[16];

	if (!entry)
		return json_null();
	(void)snprintf(text, sizeof(text), "%06o", entry->mode);
	return json_string(text);
}

static json_t *object_of(const struct diff_file *file, const struct patch_pair *pair)
{
	bool is_renamed = strcmp(file->old_path, file->new_path) != 0;
	json_t *object = json_object();

	(void)json_object_set_new(object, "path", text_json(file->new_path));
	(void)json_object_set_new(object, "old_path",
				  is_renamed ? text_json(file->old_path) : json_null());
	(void)json_object_set_new(object, "status",
				  json_string(!file->old   ? "made"
					      : !file->new ? "removed"
					      : is_renamed ? "renamed"
							   : "changed"));
	(void)json_object_set_new(object, "old_mode", mode_of(file->old));
	(void)json_object_set_new(object, "new_mode", mode_of(file->new));
	(void)json_object_set_new(object, "binary", json_boolean(pair->is_binary));
	(void)json_object_set_new(object, "added", json_integer((json_int_t)pair->added));
	(void)json_object_set_new(object, "removed", json_integer((json_int_t)pair->removed));
	return object;
}

static int add_object(const struct diff_file *file, const struct patch_pair *pair, void *data)
{
	(void)json_array_append_new(data, object_of(file, pair));
	return 0;
}

int diff_print_json(json_t *document, const struct tree_records *records, struct diff_set *set)
{
	json_t *files = json_array(), *omitted = json_array();
	int error = visit_pairs(records, set, add_object, files);

	if (error < 0) {
		json_decref(files);
		json_decref(omitted);
		return error;
	}
	for (size_t i = 0; i < set->omitted_count; i++) {
		json_t *object = json_object();
		(void)json_object_set_new(object, "path", text_json(set->omitted[i].path));
		(void)json_object_set_new(object, "what",
					  json_string(diff_omission_name(set->omitted[i].why)));
		(void)json_object_set_new(object, "text", text_json(set->omitted[i].text));
		(void)json_array_append_new(omitted, object);
	}
	(void)json_object_set_new(document, "files", files);
	(void)json_object_set_new(document, "not_carried", omitted);
	return 0;
}

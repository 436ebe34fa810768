/* What comes first in a report: see report.h. */
#include "cli/report/report_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report_rows.h"

/* Of a file, what an order goes by: the first number, where that is equal the second. */
struct weight {
	uint64_t first, second;
};

static struct weight weight_of(const struct report *report, const struct report_file *file,
			       enum report_order order)
{
	const struct report_work *work = &file->work;
	bool is_elsewhere = order == REPORT_ELSEWHERE_BY_WRITTEN ||
			    order == REPORT_ELSEWHERE_BY_READ;

	if (is_elsewhere ? !report->workspace || file->in_workspace || report_is_nowhere(file->path)
			 : report->workspace && !file->in_workspace)
		return (struct weight){ 0, 0 };
	switch (order) {
	case REPORT_BY_REPEATS:
		return (struct weight){ file->repeats, file->repeats ? work->opens_read : 0 };
	case REPORT_BY_READ:
	case REPORT_ELSEWHERE_BY_READ:
		return (struct weight){ work->bytes_read, work->opens_read };
	case REPORT_BY_WRITTEN:
	case REPORT_ELSEWHERE_BY_WRITTEN:
		break;
	}
	return (struct weight){ work->bytes_written, work->opens_write + work->changes };
}

struct ranked {
	const void *row;
	const char *name; /* NULL: by `number` */
	uint64_t number;
	struct weight weight;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The heavier one first. */
static int compare(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;
	int order = compare_numbers(right->weight.first, left->weight.first);

	if (order == 0)
		order = compare_numbers(right->weight.second, left->weight.second);
	if (order == 0 && left->name)
		order = strcmp(left->name, right->name);
	return order ? order : compare_numbers(left->number, right->number);
}

/* Keeps those that have a weight, the heaviest first.  rows: an array of pointers.  Frees `all`. */
static int64_t answer(struct ranked *all, size_t count, size_t top, void *rows)
{
	qsort(all, count, sizeof(*all), compare);
	for (size_t i = 0; i < count && i < top; i++)
		memcpy((char *)rows + i * sizeof(all[i].row), &all[i].row, sizeof(all[i].row));
	free(all);
	return (int64_t)count;
}

int64_t report_files_by(const struct report *report, enum report_order order, size_t top,
			const struct report_file **ret_rows)
{
	struct ranked *all = calloc(report->file_count + 1, sizeof(*all));
	size_t count = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < report->file_count; i++) {
		const struct report_file *file = &report->files[i];
		struct weight weight = weight_of(report, file, order);
		if (weight.first || weight.second)
			all[count++] = (struct ranked){ .row = file,
							.name = file->path,
							.weight = weight };
	}
	return answer(all, count, top, ret_rows);
}

static struct weight weight_of_work(const struct report_work *work)
{
	return (struct weight){ work->bytes_read + work->bytes_written,
				work->opens_read + work->opens_write + work->changes +
					work->listings };
}

int64_t report_processes_by_work(const struct report *report, size_t top,
				 const struct report_process **ret_rows)
{
	struct ranked *all = calloc(report->process_count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < report->process_count; i++)
		all[i] = (struct ranked){ .row = &report->processes[i],
					  .number = report->processes[i].number,
					  .weight = weight_of_work(&report->processes[i].work) };
	return answer(all, report->process_count, top, ret_rows);
}

int64_t report_programs_by_work(const struct report *report, size_t top,
				const struct report_program **ret_rows)
{
	struct ranked *all = calloc(report->program_count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < report->program_count; i++)
		all[i] = (struct ranked){ .row = &report->programs[i],
					  .name = report->programs[i].path,
					  .weight = weight_of_work(&report->programs[i].work) };
	return answer(all, report->program_count, top, ret_rows);
}

/* Events as text: see event_print.h. */
#include "cli/journal/event_print.h"

#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "cli/journal/event_filter.h"
#include "cli/journal/event_members.h"
#include "cli/journal/event_particulars.h"
#include "cli/journal/event_words.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"

/* ---- for programs ---- */

/* A line of JSON in the making.  Its members are written as they come: an object that holds them
 * all first costs three times as much as everything else. */
struct line {
	struct event_members members;
	struct json_out out;
};

static void write_in_line(struct event_members *members, const char *name, json_t *value)
{
	json_out_value(&((struct line *)members)->out, name, value);
}

static void write_text_in_line(struct event_members *members, const char *name, const char *bytes)
{
	if (bytes)
		json_out_text(&((struct line *)members)->out, name, bytes);
	else
		write_in_line(members, name, json_null());
}

static void write_number_in_line(struct event_members *members, const char *name, int64_t number)
{
	json_out_number(&((struct line *)members)->out, name, (uint64_t)number);
}

int event_print_json(FILE *file, const char *journal, const struct event *event)
{
	struct line line = { .members = { .set = write_in_line,
					  .set_text = write_text_in_line,
					  .set_number = write_number_in_line },
			     .out = { .file = file } };

	json_out_init(&line.out, NULL, '{');
	json_out_word(&line.out, "schema", "seen/log/1");
	if (journal)
		json_out_text(&line.out, "journal", journal);
	event_members_common(&line.members, event);
	event_members_own(&line.members, event);
	json_out_finish(&line.out, '}');
	int error = json_out_line(&line.out);
	return ferror(file) ? 0 : error;
}

/* ---- for people ---- */

/* Is it about a path, perhaps one that is not known? */
static bool has_path(const struct event *event)
{
	if (op_info(event->op)->traits & OP_NO_SUBJECT || event->op == EVENT_DAMAGED)
		return false;
	return event->op != JOURNAL_FORGOTTEN || event->path;
}

/* A program's name, that is no path: known by it, or to be found through PATH. */
static const char *name_alone(const struct event *event)
{
	if (event->op == JOURNAL_EXEC && event->path && !strchr(event->path, '/'))
		return event->path;
	return event->program;
}

void event_print_head(FILE *file)
{
	(void)fprintf(file, "%s%-*s  %7s  %-6s  %-11s  %-6s  %s%s\n", text_style(file, "1"),
		      clock_stamp_columns(), "TIME", "PID", "ROLE", "OP", "RESULT", "PATH",
		      text_style(file, "0"));
}

void event_print_subject(FILE *file, const struct event *event, const char *workspace)
{
	if (event->op == EVENT_DAMAGED)
		(void)fprintf(file, "record %llu", (unsigned long long)event->number);
	else if (event->op == JOURNAL_FORGOTTEN && !event->path)
		(void)fputs("everything", file);
	if (name_alone(event))
		(void)fputs(event_safe(name_alone(event)), file);
	else if (event->op == JOURNAL_COVERAGE)
		(void)fputs(event->other ? event_safe(event->other) : "run", file);
	else if (has_path(event))
		event_name_show(file, event->resolved, event->path, workspace);
	else if (event->executable)
		(void)fputs(event_safe(path_base(event->executable)), file);
}

void event_print_line(FILE *file, const struct event *event, const char *workspace)
{
	static int columns; /* of the first field; 0: not known yet */
	char time[TEXT_TIME_BYTES], pid[16] = "-", number[EVENT_ERROR_BYTES];
	const char *name = event_op_name(event->op);
	bool failed = event->error || event->op == EVENT_DAMAGED;

	if (!columns)
		columns = clock_stamp_columns();
	(void)clock_stamp(event->time_realtime_ns, time);
	if (event->pid)
		(void)snprintf(pid, sizeof(pid), "%u", event->pid);
	(void)fprintf(file, "%-*s  %7s  %-6s  %-11s  %s%-6s%s  ", columns, time[0] ? time : "-",
		      pid, event->role >= 0 ? role_name((uint32_t)event->role) : "-",
		      name ? name : "?", failed ? text_style(file, "33") : "",
		      event->error                 ? event_error_name(event->error, number)
		      : event->op == EVENT_DAMAGED ? "-"
		      : event->attempted           ? "tried"
						   : "ok",
		      failed ? text_style(file, "0") : "");
	event_print_subject(file, event, workspace);
	event_particulars_show(file, event, workspace);
	(void)fputc('\n', file);
}

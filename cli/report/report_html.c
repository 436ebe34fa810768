/* The page of a report: see report_html.h. */
#include "cli/report/report_html.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/error_name.h"
#include "cli/base/memory_stream.h"
#include "cli/base/text.h"
#include "cli/journal/events.h"
#include "cli/report/report_html_blame.h"
#include "cli/report/report_html_events.h"
#include "cli/report/report_page_data.h"
#include "cli/undo/diff_print.h"
#include "cli/undo/step_changes.h"
#include "tracker/process/role.h"

enum { ERRORS_MAX = 134, DIGEST_BYTES = BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) };

struct page_piece {
	const char *bytes;
	unsigned long size;
};

#define PART(name) \
	{ \
		report_page_##name, report_page_##name##_bytes \
	}

static const struct page_piece STYLE[] = { PART(page_css) };
/* Each uses those before it. */
static const struct page_piece SCRIPT[] = {
	PART(base_js),  PART(data_js),     PART(lanes_js),   PART(timeline_js),
	PART(moves_js), PART(table_js),    PART(details_js), PART(steps_js),
	PART(blame_js), PART(sections_js), PART(page_js),
};

enum {
	DIFF_BYTES_MAX = 1 << 18, /* of one step, in the page */
	DIFFS_BYTES_MAX = 1 << 22,
	STYLE_PARTS = sizeof(STYLE) / sizeof(STYLE[0]),
	SCRIPT_PARTS = sizeof(SCRIPT) / sizeof(SCRIPT[0]),
};

/* What the policy calls an element with that content: the digest of all bytes between its tags. */
static void write_digest(FILE *file, const struct page_piece *parts, int count)
{
	unsigned char digest[SHA256_DIGEST_SIZE];
	char text[DIGEST_BYTES];
	struct sha256_ctx context;

	sha256_init(&context);
	for (int i = 0; i < count; i++)
		sha256_update(&context, parts[i].size, (const unsigned char *)parts[i].bytes);
	sha256_digest(&context, sizeof(digest), digest);
	base64_encode_raw(text, sizeof(digest), digest);
	(void)fprintf(file, "'sha256-%.*s'", DIGEST_BYTES, text);
}

static void write_pieces(FILE *file, const struct page_piece *parts, int count)
{
	for (int i = 0; i < count; i++)
		(void)fwrite(parts[i].bytes, 1, parts[i].size, file);
}

/* ---- data ---- */

/* JSON in which nothing can end the element that it stands in; all beyond ASCII is escaped by
 * jansson. */
static int write_json_bytes(const char *bytes, size_t size, void *file)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&')
			(void)fprintf(file, "\\u%04x", (unsigned)bytes[i]);
		else
			(void)putc_unlocked(bytes[i], file);
	}
	return 0;
}

static bool write_json(FILE *file, const char *id, const json_t *json)
{
	(void)fprintf(file, "<script type=\"application/json\" id=\"%s\">", id);
	int error = json_dump_callback(json, write_json_bytes, file,
				       JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);
	(void)fputs("</script>\n", file);
	return error == 0;
}

/* The words for the numbers that the events hold, and how many there are. */
static json_t *words(const struct packed_counts *counts)
{
	json_t *object = json_object(), *ops = json_array(), *roles = json_array();
	json_t *errors = json_array();

	for (unsigned op = 0; op < EVENT_OP_COUNT; op++) {
		const char *name = event_op_name(op);
		(void)json_array_append_new(ops, json_string(name ? name : ""));
	}
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		(void)json_array_append_new(roles, json_string(role_name(role)));
	for (int error = 0; error < ERRORS_MAX; error++) {
		const char *name = error_name(error);
		(void)json_array_append_new(errors, json_string(name ? name : ""));
	}
	(void)json_object_set_new(object, "ops", ops);
	(void)json_object_set_new(object, "roles", roles);
	(void)json_object_set_new(object, "errors", errors);
	(void)json_object_set_new(object, "events", json_integer((json_int_t)counts->events));
	(void)json_object_set_new(object, "left_out", json_integer((json_int_t)counts->left_out));
	(void)json_object_set_new(object, "first_ms",
				  json_real((double)counts->first_realtime_ns / 1e6));
	return object;
}

/* What the page is made of. */
struct page_content {
	const struct report *report;
	const json_t *document;
	const char *journal;
};

/* The document without the rows that are among what is packed.  A new reference. */
static json_t *lean(const json_t *document)
{
	static const char *const PACKED[] = { "files", "processes" };
	static const char *const SUMS[] = { "count", "left_out" };
	json_t *copy = json_copy((json_t *)(uintptr_t)document);

	for (size_t i = 0; i < sizeof(PACKED) / sizeof(PACKED[0]); i++) {
		const json_t *whole = json_object_get(document, PACKED[i]);
		json_t *sums = json_object();
		for (size_t j = 0; j < sizeof(SUMS) / sizeof(SUMS[0]); j++)
			(void)json_object_set(sums, SUMS[j], json_object_get(whole, SUMS[j]));
		(void)json_object_set_new(copy, PACKED[i], sums);
	}
	return copy;
}

/* A member for each step of the document, by its number; the page holds so much of them. */
struct diffs {
	json_t *members;
	bool *wanted; /* by the number of a step */
	size_t left;
};

/* What fits of a text, whole lines, and a line that says so where it is not all.  NULL: no
 * memory. */
static char *cut(const char *text, size_t size, size_t most, uint32_t step)
{
	const char *end = size <= most ? text + size : most ? memrchr(text, '\n', most) : NULL;
	int shown = end ? (int)(end - text) : 0;
	char *both = NULL;

	if (size <= most)
		return strdup(text);
	return asprintf(&both, "%.*s%s# the rest of it: seen diff --step %u\n", shown, text,
			shown ? "\n" : "", step) < 0
		       ? NULL
		       : both;
}

static int add_diff(const struct tree_records *records, const struct step *step,
		    struct diff_set *set, void *data)
{
	struct diffs *diffs = data;
	size_t most = diffs->left < DIFF_BYTES_MAX ? diffs->left : DIFF_BYTES_MAX, size = 0;
	char *text = NULL, *shown, number[16];

	if (!diffs->wanted[step->number])
		return 0;
	FILE *file = memory_stream_open(&text, &size);
	int error = file ? diff_print_patch(file, records, set, &PATCH_PLAIN) : -ENOMEM;
	if (file && fclose(file) != 0)
		error = -ENOMEM;
	if (error == 0 && text && size) {
		shown = cut(text, size, most, step->number);
		diffs->left -= size < most ? size : most;
		(void)snprintf(number, sizeof(number), "%u", step->number);
		(void)json_object_set_new(diffs->members, number, shown ? text_json(shown) : NULL);
		error = shown ? 0 : -ENOMEM;
		free(shown);
	}
	free(text);
	return error;
}

static int add_diffs(const struct report *report, const json_t *document, json_t *members)
{
	const json_t *rows = json_object_get(json_object_get(document, "steps"), "rows");
	struct diffs diffs = { .members = members, .left = DIFFS_BYTES_MAX };
	const struct step_changes_visit visit = { .records = &report->story.records,
						  .steps = &report->steps,
						  .workspace = report->workspace,
						  .visit = add_diff,
						  .data = &diffs };
	const json_t *row;
	size_t index;

	diffs.wanted = calloc(report->steps.count + 1, sizeof(*diffs.wanted));
	if (!diffs.wanted)
		return -ENOMEM;
	json_array_foreach((json_t *)(uintptr_t)rows, index, row)
	{
		size_t step = (size_t)json_integer_value(json_object_get(row, "number"));
		if (step <= report->steps.count)
			diffs.wanted[step] = true;
	}
	int error = json_array_size(rows) ? step_changes_visit(&visit) : 0;
	free(diffs.wanted);
	return error;
}

static int write_data(FILE *file, const struct page_content *content)
{
	struct packed_counts counts;
	int error = packed_write(file, content->report, content->journal, PACKED_EVENTS_MAX,
				 &counts);

	if (error < 0)
		return error;
	json_t *object = words(&counts), *document = lean(content->document);
	json_t *diffs = json_object();
	error = add_diffs(content->report, document, diffs);
	json_t *blame = report_html_blame(content->report);
	bool whole = write_json(file, "words", object) && write_json(file, "report", document) &&
		     write_json(file, "diffs", diffs) && blame && write_json(file, "blame", blame);
	json_decref(object);
	json_decref(document);
	json_decref(diffs);
	json_decref(blame);
	return error < 0 ? error : whole ? 0 : -ENOMEM;
}

/* ---- the page ---- */

static int write_marked(FILE *file, const char *mark, size_t length,
			const struct page_content *content)
{
	int error = 0;

	if (length == 6 && memcmp(mark, "POLICY", length) == 0) {
		(void)fputs("default-src 'none'; base-uri 'none'; form-action 'none'; style-src ",
			    file);
		write_digest(file, STYLE, STYLE_PARTS);
		(void)fputs("; script-src ", file);
		write_digest(file, SCRIPT, SCRIPT_PARTS);
	} else if (length == 5 && memcmp(mark, "STYLE", length) == 0) {
		write_pieces(file, STYLE, STYLE_PARTS);
	} else if (length == 6 && memcmp(mark, "SCRIPT", length) == 0) {
		write_pieces(file, SCRIPT, SCRIPT_PARTS);
	} else {
		error = write_data(file, content);
	}
	return error;
}

int report_html_write(FILE *file, const struct report *report, const json_t *document,
		      const char *journal)
{
	const struct page_content content = { report, document, journal };
	const char *at = report_page_page_html, *mark;
	int error = 0;

	while (error == 0 && (mark = strchr(at, '@'))) {
		const char *end = strchr(mark + 1, '@');
		(void)fwrite(at, 1, (size_t)(mark - at), file);
		error = write_marked(file, mark + 1, (size_t)(end - mark - 1), &content);
		at = end + 1;
	}
	if (error == 0)
		(void)fputs(at, file);
	return error;
}

/* undo_report.h: each sentence about a plan, and what of it was done. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "cli/base/exit_code.h"
#include "cli/undo/undo_report.h"
#include "support.h"

static struct undo_run run;
static struct undo_request request;
static struct schedule_line lines[8];
static struct schedule_left left[60];
static char output[20000];

static void init(void)
{
	request = (struct undo_request){ .kind = OPERATION_UNDO };
	memset(&run, 0, sizeof(run));
	run.request = &request;
	run.directory = -1;
	(void)strcpy(run.session.workspace, "/w");
	run.report.lines = lines;
	run.report.left = left;
}

static void finish(void)
{
	schedule_free(&run.schedule);
}

TestSuite(undo_report, .init = init, .fini = finish);

static const char *plan_text(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	must(file);
	undo_report_plan(&run, file);
	must(fclose(file) == 0 && size < sizeof(output));
	memcpy(output, text, size + 1);
	free(text);
	return output;
}

/* What was written to stderr by now. */
static const char *messages(void)
{
	FILE *file = cr_get_redirected_stderr();
	size_t size = fread(output, 1, sizeof(output) - 1, file);

	output[size] = '\0';
	return output;
}

static void add_line(enum schedule_verb verb, const char *path, const char *from)
{
	lines[run.report.line_count++] = (struct schedule_line){ .verb = verb,
								 .path = path,
								 .from = from };
}

static void add_left(enum schedule_reason reason, enum tree_lost lost)
{
	left[run.report.left_count++] = (struct schedule_left){ "/w/f", reason, lost };
}

static void add_item(enum schedule_kind kind, const char *path, enum schedule_state state)
{
	struct schedule_item *item = schedule_add(&run.schedule, kind, path, "/w/.seen-undo.1/0",
						  NULL);

	must(item);
	item->state = (uint8_t)state;
}

static bool has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at && (at == text || at[-1] == '\n' || at[-1] == ' ') && at[strlen(line)] == '\n';
}

/* ---- tests ---- */

Test(undo_report, a_plan_tells_what_would_be_done_and_what_is_left)
{
	add_left(SCHEDULE_EXTERNAL, TREE_NOT_LOST);
	add_line(SCHEDULE_VERB_RESTORE, "/w/a\n", NULL);
	add_line(SCHEDULE_VERB_REMOVE, "/w/d", NULL);
	lines[1].directory = true;
	add_line(SCHEDULE_VERB_RENAME, "/w/old", "/w/new");
	add_line(SCHEDULE_VERB_META, "/w/m", NULL);
	add_line(SCHEDULE_VERB_MERGE, "/w/both", NULL);
	lines[4].conflicts = 1;
	add_line(SCHEDULE_VERB_MERGE, "/elsewhere/both", NULL);
	lines[5].conflicts = 2;
	add_line(SCHEDULE_VERB_APPEND, "/w/.git/logs/HEAD", NULL);
	cr_assert_str_eq(plan_text(), "f is left as it is: an external program changed it since\n"
				      "would restore a\\n\n"
				      "would remove d/\n"
				      "would rename new to old\n"
				      "would reset the mode or time of m\n"
				      "would merge both, 1 conflict marked\n"
				      "would merge /elsewhere/both, 2 conflicts marked\n"
				      "would append to .git/logs/HEAD\n");
}

Test(undo_report, another_plan_has_another_digest)
{
	uint64_t digest, same, other;

	add_line(SCHEDULE_VERB_RESTORE, "/w/a", NULL);
	cr_assert_eq(undo_report_digest(&run, &digest), 0);
	cr_assert_eq(undo_report_digest(&run, &same), 0);
	lines[0].verb = SCHEDULE_VERB_REMOVE;
	cr_assert_eq(undo_report_digest(&run, &other), 0);
	cr_assert(digest && digest == same && other && other != digest);
}

Test(undo_report, each_reason_has_a_sentence_and_a_status)
{
	static const struct {
		enum schedule_reason reason;
		int code;
	} CASES[] = {
		{ SCHEDULE_EXTERNAL, EXIT_CODE_CONFLICT },
		{ SCHEDULE_UNSEEN, EXIT_CODE_CONFLICT },
		{ SCHEDULE_OWNER, EXIT_CODE_CONFLICT },
		{ SCHEDULE_CONFLICT, EXIT_CODE_CONFLICT },
		{ SCHEDULE_OCCUPIED, EXIT_CODE_CONFLICT },
		{ SCHEDULE_LOST, EXIT_CODE_PARTLY },
		{ SCHEDULE_DAMAGED, EXIT_CODE_PARTLY },
		{ SCHEDULE_NO_OBJECT, EXIT_CODE_PARTLY },
		{ SCHEDULE_NO_OBJECTS, EXIT_CODE_PARTLY },
		{ SCHEDULE_NO_SHARED, EXIT_CODE_PARTLY },
		{ SCHEDULE_UNIT, EXIT_CODE_OK },
		{ SCHEDULE_WITHIN, EXIT_CODE_OK },
	};
	char sentences[20][200];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		run.report.left_count = 0;
		add_left(CASES[i].reason, TREE_NO_ROOM);
		cr_assert_eq(undo_report_code(&run, NULL), CASES[i].code, "%zu", i);
		(void)snprintf(sentences[count++], sizeof(sentences[0]), "%s", plan_text());
	}
	run.report.left_count = 0;
	add_left(SCHEDULE_LOST, TREE_NOT_LOST);
	(void)snprintf(sentences[count++], sizeof(sentences[0]), "%s", plan_text());
	cr_assert_str_eq(sentences[count - 1], "f is left as it is: what it was is not known\n");
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) /* the one of a ref, and all objects */
			cr_assert(strcmp(sentences[i], sentences[j]) != 0 ||
					  (CASES[j].reason == SCHEDULE_NO_OBJECT &&
					   CASES[i].reason == SCHEDULE_NO_OBJECTS),
				  "%s", sentences[i]);
}

Test(undo_report, what_is_left_because_of_others_comes_last_and_a_long_list_is_cut)
{
	cr_redirect_stderr();
	add_left(SCHEDULE_WITHIN, TREE_NOT_LOST);
	add_left(SCHEDULE_OCCUPIED, TREE_NOT_LOST);
	undo_report_left(&run);
	cr_assert(strstr(messages(), "has its place") < strstr(output, "something in it"), "%s",
		  output);
	while (run.report.left_count < 53)
		add_left(SCHEDULE_EXTERNAL, TREE_NOT_LOST);
	run.records.damaged = 2;
	run.records.dropped_parts = 1;
	run.unrecorded = 1;
	undo_report_left(&run);
	cr_assert(has(messages(), "and 3 more; --json lists all"), "%s", output);
	cr_assert(strstr(output, "2 undo records of this session are damaged"), "%s", output);
	cr_assert(strstr(output, "the oldest undo records went for want of room"), "%s", output);
	cr_assert(strstr(output, "before 1 change could not be put on record"), "%s", output);
}

/* Items stand in the order in which they are done, lines in that of their paths. */
Test(undo_report, what_was_not_done_is_not_reported_as_done)
{
	static const char *const PATHS[] = { "/w/a", "/w/b", "/w/c", "/w/d", "/w/e", "/w/f" };

	for (size_t i = 0; i < 6; i++)
		add_line(SCHEDULE_VERB_RESTORE, PATHS[i], NULL);
	lines[1].verb = SCHEDULE_VERB_RENAME;
	lines[1].from = "/w/z";
	lines[2].verb = SCHEDULE_VERB_META;
	add_item(SCHEDULE_STAGE, "/w/z", SCHEDULE_FAILED);
	add_item(SCHEDULE_SWAP, "/w/f", SCHEDULE_SKIPPED);
	add_item(SCHEDULE_PUT, "/w/d", SCHEDULE_FAILED);
	add_item(SCHEDULE_PUT, "/w/e", SCHEDULE_DONE);
	add_item(SCHEDULE_SWAP, "/w/a", SCHEDULE_SKIPPED);
	add_item(SCHEDULE_META, "/w/e", SCHEDULE_FAILED); /* its content is there */
	add_item(SCHEDULE_ATTRIBUTE, "/w/c", SCHEDULE_FAILED);
	cr_assert_eq(undo_report_complete(&run), 0);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(lines[i].is_left, i != 4, "%s", PATHS[i]);
}

Test(undo_report, each_failure_has_a_sentence)
{
	int errors[] = { -EBUSY,  -ENOTEMPTY, -ENODATA, -EBADMSG, -ELOOP, -ESTALE,
			 -ENOSPC, -ENOENT,    -ENOENT,  -EEXIST,  -EPERM };
	struct apply_result result = { .errors = errors };

	cr_redirect_stderr();
	for (size_t i = 0; i < 7; i++)
		add_item(SCHEDULE_SWAP, "/w/f", SCHEDULE_FAILED);
	add_item(SCHEDULE_PUT, "/w/put", SCHEDULE_FAILED);
	add_item(SCHEDULE_REMOVE, "/w/remove", SCHEDULE_FAILED);
	add_item(SCHEDULE_STAGE, "/w/stage", SCHEDULE_FAILED);
	add_item(SCHEDULE_META, "/w/meta", SCHEDULE_FAILED);
	undo_report_failed(&run.schedule, &result, run.session.workspace);
	static const char *const WANTED[] = {
		"f is left as it is: it changed meanwhile",
		"f is left as it is: there are files in it that this does not take back",
		"f is left as it is: its content is not kept any more",
		"f is left as it is: its kept content is damaged",
		"f is left as it is: a symbolic link is on the way",
		"f is left as it is: it changed more than once meanwhile; a file .seen-undo.* "
		"beside it has "
		"the first change",
		"f is left as it is: No space left on device",
		"put does not come back: the directory that it was in is not there; make it, and "
		"undo again",
		"remove is left as it is: No such file or directory",
		"stage is now .seen-undo.1/0: File exists",
		"meta: its permissions, owner, time or attributes are left as they are: Operation "
		"not permitted",
	};
	(void)messages();
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		cr_assert(has(output, WANTED[i]), "%s\n%s", WANTED[i], output);
}

Test(undo_report, the_status_tells_the_worst)
{
	struct apply_result result = { .failed = 1 };

	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_OK);
	cr_assert_eq(undo_report_code(&run, &result), EXIT_CODE_PARTLY);
	result.skipped = 1;
	cr_assert_eq(undo_report_code(&run, &result), EXIT_CODE_CONFLICT);
	add_line(SCHEDULE_VERB_MERGE, "/w/both", NULL);
	lines[0].conflicts = 1;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_CONFLICT);
	lines[0].conflicts = 0;
	run.unrecorded = 1;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_PARTLY);
	run.step = 1; /* that one may be whole */
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_OK);
}

Test(undo_report, records_that_went_matter_to_what_began_with_them)
{
	struct tree_record records[] = { { .place = 4, .operation = 1 },
					 { .place = 8 },
					 { .place = 16 } };

	run.records.dropped_parts = 1;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_PARTLY); /* none is left */
	run.records.records = records;
	run.records.count = 3;
	run.schedule.head.from_place = 16;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_OK);
	run.schedule.head.from_place = 8;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_PARTLY);
	run.schedule.head.kind = OPERATION_REDO;
	cr_assert_eq(undo_report_code(&run, NULL), EXIT_CODE_OK);
}

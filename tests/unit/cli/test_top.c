/* top_model.h, top_rows.h, top_feed.h, top_display.h: what `seen top` knows, which of it is shown, how much is read at a time. */
#include "top_case.h"

TestSuite(top, .init = init, .fini = finish);

/* ---- writing ---- */

static void given(uint32_t process, const char *name, uint64_t version)
{
	struct journal_record record = blank(JOURNAL_GIVEN, process, name);
	struct journal_details details = { .after = { version, 1, 100 } };
	record.marks = JOURNAL_DETAILS;
	must(journal_write(&journal, &record, &details, sizeof(details), true));
}

/* ---- reading ---- */

/* The rows' names, one after the other. */
static const char *files(struct top_wish wish)
{
	static char names[256];

	wish.filter = wish.filter ? wish.filter : "";
	must(top_rows_files(model, &wish, &rows) == 0);
	names[0] = '\0';
	for (size_t i = 0; i < rows.file_count; i++)
		(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			       i ? " " : "", rows.files[i]->path);
	return names;
}

/* ---- files ---- */

Test(top, files_by_what_was_opened)
{
	uint32_t process = start(100, 1);
	open_file(process, "a", O_RDONLY, 0);
	open_file(process, "a", O_RDONLY, 0);
	open_file(process, "a", O_RDWR, 0);
	open_file(process, "a", O_RDONLY | O_TRUNC, 0);
	open_file(process, "a", O_RDONLY, ENOENT);
	open_file(process, "a", O_RDONLY | O_PATH, 0);
	open_file(process, "folder", O_RDONLY | O_DIRECTORY, 0);
	open_file(process, "missing", O_RDONLY, ENOENT);
	open_file(process, "/etc/b", O_RDONLY, 0);
	read_all();
	cr_assert_eq(file("/w/a")->reads, 2);
	cr_assert_eq(file("/w/a")->writes, 2);
	cr_assert(file("/w/a")->is_workspace);
	cr_assert_not(file("/etc/b")->is_workspace);
	cr_assert_null(file("/w/folder"));
	cr_assert_null(file("/w/missing"));
	cr_assert_eq(process_of(100)->reads, 3);
	cr_assert_eq(process_of(100)->writes, 2);
	cr_assert_eq(process_of(100)->events, 10);
}

Test(top, bytes_are_counted_once)
{
	uint32_t process = start(100, 1), other = start(200, 1);
	amount(JOURNAL_READ, process, "a", 3, 10);
	amount(JOURNAL_READ, process, "b", 4, 5);
	amount(JOURNAL_READ, other, "a", 3, 1);
	amount(JOURNAL_READ_TOTAL, process, "a", 3, 100); /* its first 10 are part of it */
	amount(JOURNAL_READ_TOTAL, process, "a", 3,
	       7); /* another one, whose first one was not reported */
	read_all();
	cr_assert_eq(file("/w/a")->bytes, 10 + 1 + 90 + 7);
	cr_assert_eq(file("/w/b")->bytes, 5);
}

Test(top, names_that_change)
{
	uint32_t process = start(100, 1);
	struct journal_record record = blank(JOURNAL_RENAME, process, "old");
	record.other_path = text("new");
	record.fd = AT_FDCWD;
	record.amount = text("/w");
	append(record);
	record = blank(JOURNAL_CREATE, process, "folder");
	record.flags = S_IFDIR | 0755;
	append(record);
	append(blank(JOURNAL_DELETE, process, "gone"));
	open_file(process, "gone", O_WRONLY | O_CREAT, 0);
	record = blank(JOURNAL_DELETE, process, "other");
	append(record);
	read_all();
	cr_assert(file("/w/old")->flags & TOP_FILE_DELETED);
	cr_assert_eq(file("/w/new")->flags, TOP_FILE_WRITTEN);
	cr_assert_eq(file("/w/gone")->flags, TOP_FILE_WRITTEN, "made again");
	cr_assert(file("/w/other")->flags & TOP_FILE_DELETED);
	cr_assert_null(file("/w/folder"));
	cr_assert_eq(process_of(100)->writes, 4);
}

Test(top, repeats)
{
	uint32_t process = start(100, 1);
	given(process, "a", 5);
	given(process, "a", 5);
	given(process, "a", 6);
	given(process, "a", 6);
	given(process, "b", 5);
	amount(JOURNAL_NOTICE, process, "a", -1, 1000);
	read_all();
	cr_assert_eq(file("/w/a")->repeats, 3);
	cr_assert_eq(file("/w/a")->notices, 1);
	cr_assert_eq(file("/w/a")->bytes_saved, 1000);
	cr_assert_eq(file("/w/b")->repeats, 0);
}

Test(top, what_is_said_of_a_file)
{
	uint32_t process = start(100, 1);
	struct journal_record record = blank(JOURNAL_GUARDED, process, "conflict");
	record.head.error = ESTALE;
	record.decision = GUARD_DENY;
	record.reason = GUARD_STALE;
	record.flags = JOURNAL_GUARDED_KEPT;
	append(record);
	record = blank(JOURNAL_CHANGED, 0, "outside");
	record.decision = SOURCE_USER;
	append(record);
	record = blank(JOURNAL_RULED, process, "/w/.env");
	record.flags = RULE_READ;
	record.head.error = EACCES;
	record.decision = RULE_ACTION_DENY;
	record.other_path = text("secrets");
	append(record);
	record.path = text("/w/logged");
	record.head.error = 0;
	record.decision = RULE_ACTION_LOG;
	append(record);
	read_all();
	cr_assert(file("/w/conflict")->flags & TOP_FILE_CONFLICT);
	cr_assert_eq(file("/w/conflict")->writes, 0);
	cr_assert(file("/w/outside")->flags & TOP_FILE_EXTERNAL);
	cr_assert(file("/w/.env")->flags & TOP_FILE_RULED);
	cr_assert_not(file("/w/logged")->flags & TOP_FILE_RULED);
	cr_assert_eq(model->note_count, 4);
	cr_assert_str_eq(top_model_note(model, 0)->text, "denied: stale, kept");
	cr_assert_str_eq(top_model_note(model, 1)->text, "changed: user_edited");
	cr_assert_str_eq(top_model_note(model, 2)->text, "read deny: secrets");
	cr_assert(top_model_note(model, 0)->is_grave && top_model_note(model, 2)->is_grave);
	cr_assert_not(top_model_note(model, 1)->is_grave || top_model_note(model, 3)->is_grave);
	/* Read again: the agent knows. */
	given(process, "outside", 5);
	read_all();
	cr_assert_not(file("/w/outside")->flags & TOP_FILE_EXTERNAL);
}

Test(top, files_are_bounded)
{
	uint32_t process = start(100, 1);
	char name[32];

	for (int i = 0; i < TOP_FILES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "/w/%d", i);
		open_file(process, name, O_RDONLY, 0);
	}
	open_file(process, "/w/0", O_RDONLY, 0); /* touched again: 1 is the one to go */
	open_file(process, "/w/more", O_RDONLY, 0);
	read_all();
	cr_assert_eq(model->file_count, TOP_FILES_MAX);
	cr_assert_eq(model->files_dropped, 1);
	cr_assert_not_null(file("/w/0"));
	cr_assert_null(file("/w/1"));
	cr_assert_not_null(file("/w/2"));
	cr_assert_not_null(file("/w/more"));
}

Test(top, orders_of_files)
{
	uint32_t process = start(100, 1);
	open_file(process, "a", O_RDONLY, 0);
	amount(JOURNAL_READ, process, "a", 3, 10);
	now_ns += SECOND;
	open_file(process, "b", O_WRONLY, 0);
	now_ns += SECOND;
	given(process, "c", 1);
	given(process, "c", 1);
	now_ns += SECOND;
	open_file(process, "/etc/Dd", O_RDONLY, 0);
	read_all();
	cr_assert_str_eq(files((struct top_wish){ .file_order = TOP_FILES_RECENT }),
			 "/etc/Dd /w/c /w/b /w/a");
	cr_assert_str_eq(files((struct top_wish){ .file_order = TOP_FILES_BYTES }),
			 "/w/a /etc/Dd /w/c /w/b");
	cr_assert_str_eq(files((struct top_wish){ .file_order = TOP_FILES_REPEATS }),
			 "/w/c /etc/Dd /w/b /w/a");
	cr_assert_str_eq(files((struct top_wish){ .file_order = TOP_FILES_WRITES }),
			 "/w/b /etc/Dd /w/c /w/a");
	cr_assert_str_eq(files((struct top_wish){ .is_workspace_only = true }), "/w/c /w/b /w/a");
	cr_assert_eq(rows.files_hidden, 1);
	cr_assert_str_eq(files((struct top_wish){ .filter = "dD" }), "/etc/Dd");
	cr_assert_str_eq(files((struct top_wish){ .filter = "x" }), "");
}

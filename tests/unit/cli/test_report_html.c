/* report_html.h, report_html_events.h: what a page holds of a journal, that no name ends an element, and what is left out. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/report/report_html.h"
#include "cli/report/report_html_events.h"
#include "journal_file.h"
#include "tracker/process/role.h"

#define HOSTILE "</script><script>alert(1)//\xff"

static struct report report;
static char *page;
static size_t page_bytes;

static void init(void)
{
	journal_file_open(HOSTILE);
}

static void finish(void)
{
	report_free(&report);
	free(page);
	journal_file_close();
}

TestSuite(report_html, .init = init, .fini = finish);

static void append_open(const char *name)
{
	struct journal_record record = journal_blank(JOURNAL_OPEN);
	record.path = journal_text(&journal, name, strlen(name), true);
	must(journal_write(&journal, &record, NULL, 0, true));
}

static unsigned count(const char *text)
{
	unsigned found = 0;
	for (const char *at = page; (at = strstr(at, text)); at++)
		found++;
	return found;
}

static struct packed_counts pack(uint64_t events_max)
{
	struct packed_counts counts;
	FILE *file = open_memstream(&page, &page_bytes);

	must(report_gather(path, NULL, NULL, NULL, &report) == 0);
	cr_assert_eq(packed_write(file, &report, path, events_max, &counts), 0);
	(void)fclose(file);
	return counts;
}

Test(report_html, nothing)
{
	struct packed_counts counts = pack(PACKED_EVENTS_MAX);
	cr_assert_eq(counts.events, 0);
	cr_assert_eq(counts.first_realtime_ns, 0);
	cr_assert_str_empty(page);
}

Test(report_html, events_beyond_the_limit_are_counted)
{
	for (int i = 0; i < 10; i++)
		append_open("/w/a");
	struct packed_counts counts = pack(7);
	cr_assert_eq(counts.events, 7);
	cr_assert_eq(counts.left_out, 3);
	cr_assert_gt(counts.first_realtime_ns, 0);
}

/* A journal grows while its page is open. */
Test(report_html, what_came_after_the_report_is_not_in_it)
{
	struct packed_counts counts;

	append_open("/w/a");
	must(report_gather(path, NULL, NULL, NULL, &report) == 0);
	append_open("/w/b");
	FILE *file = open_memstream(&page, &page_bytes);
	cr_assert_eq(packed_write(file, &report, path, PACKED_EVENTS_MAX, &counts), 0);
	(void)fclose(file);
	cr_assert_eq(counts.events, 1);
	cr_assert_eq(counts.left_out, 0);
}

/* A name in base64 takes four thirds of its bytes, and is written once, whatever refers to it. */
Test(report_html, texts_are_written_once)
{
	static char name[3001];

	memset(name, 'x', 3000);
	memcpy(name, "/w/", 3);
	for (int i = 0; i < 1000; i++)
		append_open(name);
	(void)pack(PACKED_EVENTS_MAX);
	cr_assert_geq(page_bytes, 4000);
	cr_assert_leq(page_bytes, 4000 + 1000 * 12);
	cr_assert_eq(count("class=\"texts\""), 1);
}

/* More than an element holds, in steps that go down, too. */
Test(report_html, many_elements)
{
	char name[300];

	for (int i = 0; i < 1500; i++) {
		(void)snprintf(name, sizeof(name), "/w/%d-%0200d", i * 7919 % 1500, i);
		append_open(name);
		append_open("/w/again");
	}
	struct packed_counts counts = pack(PACKED_EVENTS_MAX);
	cr_assert_eq(counts.events, 3000);
	cr_assert_geq(count("class=\"texts\""), 2);
	cr_assert_eq(count("<script"), count("</script>"));
}

Test(report_html, no_name_ends_an_element)
{
	append_open("/w/" HOSTILE);
	must(report_gather(path, NULL, NULL, NULL, &report) == 0);
	json_t *document = json_pack("{s:s, s:s}", "session", "</script><!--&\xe2\x80\xa8", "files",
				     "none");
	FILE *file = open_memstream(&page, &page_bytes);
	cr_assert_eq(report_html_write(file, &report, document, path), 0);
	(void)fclose(file);
	json_decref(document);
	cr_assert_eq(count("<script"), count("</script>"));
	cr_assert_eq(count("alert(1)"), 0);
	cr_assert_eq(count("\\u003c/script\\u003e\\u003c!--\\u0026\\u2028"), 1);
	cr_assert_eq(count("@POLICY@") + count("@STYLE@") + count("@DATA@") + count("@SCRIPT@"), 0);
}

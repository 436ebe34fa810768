/* metadata.h: what becomes of a session's table of files in task_metadata.json. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <jansson.h>
#include <sys/resource.h>

#include "cli/run/metadata.h"
#include "cli/session/store.h"
#include "support.h"
#include "tracker/sys/sys.h"

static struct world world;
static struct session session;
static uint64_t now_ns; /* of the next interaction */

static void start(void)
{
	world_open(&world, NULL);
	session = (struct session){ .segment = world.segment };
	(void)snprintf(session.name, sizeof(session.name), "test");
	(void)snprintf(session.directory, sizeof(session.directory), "%s", world.root);
	/* in the past, as everything is that is on record */
	now_ns = sys_realtime_ns() - UINT64_C(3600000000000);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(metadata, .init = start, .fini = stop);

static const char *file_path_of(const char *name)
{
	static char path[512];
	(void)snprintf(path, sizeof(path), "%s/%s", world.root, name);
	return path;
}

struct happening {
	enum source source;
	uint64_t time_ns;
};

static void change(struct file_slot *file, const void *data)
{
	const struct happening *happening = data;
	switch (happening->source) {
	case SOURCE_READ:
		file->agent_read_realtime_ns = happening->time_ns;
		break;
	case SOURCE_AGENT:
		file->agent_edit_realtime_ns = file->last_edit_realtime_ns = happening->time_ns;
		break;
	case SOURCE_TOOL:
		file->last_edit_realtime_ns = happening->time_ns;
		break;
	case SOURCE_MENTIONED:
		file->mention_realtime_ns = happening->time_ns;
		break;
	default:
		file->user_edit_realtime_ns = happening->time_ns;
		break;
	}
	file->source = (uint32_t)happening->source;
}

/* It happens a second after what happened before.  Returns when, in milliseconds. */
static json_int_t happen(const char *name, enum source source)
{
	now_ns += 1000000000;
	struct happening happening = { source, now_ns };
	cr_assert_neq(
		file_update(&world.segment, world_path(&world, name), NULL, change, &happening), 0);
	return (json_int_t)(now_ns / 1000000);
}

static void keep(void)
{
	metadata_open(&session);
	metadata_close(true);
}

static json_t *load(void)
{
	json_error_t error;
	json_t *document = json_load_file(file_path_of(METADATA_NAME), 0, &error);
	cr_assert(document, "%s", error.text);
	cr_assert_str_eq(json_string_value(json_object_get(document, "schema")),
			 "seen/task_metadata/1");
	cr_assert_str_eq(json_string_value(json_object_get(document, "session")), "test");
	return document;
}

/* The entries of one path as "source state read edit user; ...", dates as seconds since `zero_ms`, "-" for null. */
static const char *entries(const char *path, json_int_t zero_ms)
{
	static const char *const DATES[] = { "agent_read_date", "agent_edit_date",
					     "user_edit_date" };
	static char text[4096];
	json_t *document = load(), *entry;
	size_t i, used = 0;

	text[0] = '\0';
	json_array_foreach(json_object_get(document, "files_in_context"), i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "path")), path) != 0)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
					 used ? "; " : "",
					 json_string_value(json_object_get(entry, "record_source")),
					 json_string_value(json_object_get(entry, "record_state")));
		for (int date = 0; date < 3; date++) {
			const json_t *value = json_object_get(entry, DATES[date]);
			if (json_is_null(value))
				used += (size_t)snprintf(text + used, sizeof(text) - used, " -");
			else
				used += (size_t)snprintf(
					text + used, sizeof(text) - used, " %ld",
					(long)((json_integer_value(value) - zero_ms) / 1000));
		}
	}
	json_decref(document);
	return text;
}

Test(metadata, empty_at_first)
{
	keep();
	json_t *document = load();
	cr_assert_eq(json_array_size(json_object_get(document, "files_in_context")), 0);
	cr_assert(json_is_null(json_object_get(document, "recorded_until")));
	json_decref(document);
}

Test(metadata, every_interaction_makes_the_one_before_stale)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	metadata_open(&session);
	(void)happen("f", SOURCE_READ);
	metadata_tick();
	usleep(60000);
	(void)happen("f", SOURCE_AGENT);
	metadata_tick();
	usleep(60000);
	(void)happen("f", SOURCE_TOOL);
	metadata_tick();
	usleep(60000);
	(void)happen("f", SOURCE_UNATTRIBUTED);
	metadata_tick();
	usleep(60000);
	(void)happen("f", SOURCE_READ);
	metadata_tick();
	usleep(60000);
	(void)happen("f", SOURCE_USER);
	(void)happen("f", SOURCE_MENTIONED);
	metadata_close(true);
	cr_assert_str_eq(entries("f", zero), "read_tool stale 1 - -; agent_edited stale 1 2 -; "
					     "tool_edited stale 1 2 -; user_edited stale 1 2 4; "
					     "read_tool stale 5 2 -; user_edited stale 5 2 6; "
					     "file_mentioned active 7 2 -");
}

Test(metadata, reads_of_one_burst_are_one)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	metadata_open(&session);
	(void)happen("f", SOURCE_READ);
	for (int i = 0; i < 3; i++) {
		metadata_tick();
		usleep(60000);
		now_ns -= UINT64_C(750000000);
		(void)happen("f", SOURCE_READ);
	}
	metadata_tick();
	usleep(60000);
	now_ns -= UINT64_C(749000000);
	(void)happen("f", SOURCE_READ);
	metadata_close(true);
	/* the last of three that lie 250 ms apart, and one after 251 */
	cr_assert_str_eq(entries("f", zero), "read_tool stale 1 - -; read_tool active 2 - -");
}

Test(metadata, what_happened_between_two_scans_is_in_order_of_time)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_READ);
	(void)happen("f", SOURCE_USER);
	(void)happen("f", SOURCE_AGENT);
	(void)happen("g", SOURCE_MENTIONED);
	(void)happen("g", SOURCE_USER);
	(void)happen("g", SOURCE_READ);
	keep();
	cr_assert_str_eq(entries("f", zero), "read_tool stale 1 - -; user_edited stale 1 - 2; "
					     "agent_edited active 1 3 2");
	cr_assert_str_eq(entries("g", zero), "file_mentioned stale 4 - -; "
					     "user_edited stale 4 - 5; read_tool active 6 - -");
}

Test(metadata, what_the_agent_has_nothing_to_do_with_is_no_context)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("out.o", SOURCE_TOOL);
	(void)happen("notes", SOURCE_USER);
	(void)happen("seen", SOURCE_TOOL);
	(void)happen("seen", SOURCE_READ);
	keep();
	cr_assert_str_eq(entries("out.o", zero), "");
	cr_assert_str_eq(entries("notes", zero), "");
	cr_assert_str_eq(entries("seen", zero), "read_tool active 4 - -");
}

static void write_begins(struct file_slot *file, const void *data)
{
	(void)data;
	file->writer = 7;
}

static void write_ends(struct file_slot *file, const void *data)
{
	change(file, data);
	file->writer = 0;
}

Test(metadata, a_write_in_work_is_one_edit)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	const char *path = world_path(&world, "f");
	(void)happen("f", SOURCE_AGENT);
	uint64_t key = file_update(&world.segment, path, NULL, write_begins, NULL);
	metadata_open(&session);
	metadata_tick();
	usleep(60000);
	struct happening end = { SOURCE_AGENT, now_ns += 1000000000 };
	cr_assert_eq(file_change_known(&world.segment, key, write_ends, &end), 0);
	metadata_tick();
	metadata_close(true);
	cr_assert_str_eq(entries("f", zero), "agent_edited active - 2 -");
}

Test(metadata, a_writer_that_never_ends_is_an_edit_when_the_run_is_over)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_AGENT);
	(void)file_update(&world.segment, world_path(&world, "f"), NULL, write_begins, NULL);
	keep();
	cr_assert_str_eq(entries("f", zero), "agent_edited active - 1 -");
}

Test(metadata, taken_up_again)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_READ);
	(void)happen("g", SOURCE_AGENT);
	(void)happen("g", SOURCE_TOOL);
	keep();
	struct stat before, after;
	cr_assert_eq(stat(file_path_of(METADATA_NAME), &before), 0);
	keep();
	cr_assert_eq(stat(file_path_of(METADATA_NAME), &after), 0);
	cr_assert_eq(before.st_ino, after.st_ino, "nothing happened: nothing is written");
	(void)happen("f", SOURCE_AGENT);
	keep();
	cr_assert_str_eq(entries("f", zero), "read_tool stale 1 - -; agent_edited active 1 4 -");
	cr_assert_str_eq(entries("g", zero), "agent_edited stale - 2 -; tool_edited active - 2 -");
}

Test(metadata, old_entries_stay_when_the_table_is_lost)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_READ);
	keep();
	memset(segment_slot(&world.segment, TABLE_FILES, 0), 0,
	       world.segment.capacity[TABLE_FILES] * sizeof(struct file_slot));
	(void)happen("g", SOURCE_READ);
	keep();
	cr_assert_str_eq(entries("f", zero), "read_tool active 1 - -");
	cr_assert_str_eq(entries("g", zero), "read_tool active 2 - -");
}

Test(metadata, stale_entries_are_bounded_the_youngest_stay)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	for (int i = 0; i < 20; i++) {
		(void)happen("f", SOURCE_READ);
		keep();
	}
	const char *text = entries("f", zero);
	cr_assert(strncmp(text, "read_tool stale 12 - -; ", 24) == 0, "%s", text);
	cr_assert(strstr(text, "read_tool active 20 - -"), "%s", text);
	int count = 0;
	for (const char *at = text; (at = strstr(at, "read_tool")); at++)
		count++;
	cr_assert_eq(count, METADATA_STALE_MAX + 1);
}

Test(metadata, many_files)
{
	char name[64];
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "d/file %d", i);
		(void)happen(name, SOURCE_READ);
	}
	keep();
	keep();
	json_t *document = load();
	cr_assert_eq(json_array_size(json_object_get(document, "files_in_context")), 3000);
	json_decref(document);
}

Test(metadata, unusual_names)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	static const char *const NAMES[] = { "bad\xff", "new\nline", "back\\slash", "quote\"",
					     "\xe8\xaa\x9e" };
	static const char *const SHOWN[] = { "bad\\xff", "new\nline", "back\\\\slash", "quote\"",
					     "\xe8\xaa\x9e" };
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 5; i++)
			(void)happen(NAMES[i], SOURCE_READ);
		keep();
	}
	for (size_t i = 0; i < 5; i++) {
		char expected[96];
		(void)snprintf(expected, sizeof(expected),
			       "read_tool stale %zu - -; read_tool active %zu - -", i + 1, i + 6);
		cr_assert_str_eq(entries(SHOWN[i], zero), expected);
	}
}

static int count_aside(void)
{
	int count = 0;
	DIR *directory = opendir(world.root);
	must(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += strncmp(entry->d_name, METADATA_NAME ".aside-", 25) == 0;
	must(closedir(directory) == 0);
	return count;
}

Test(metadata, damaged_or_foreign_is_set_aside)
{
#define HEAD "{\"schema\":\"seen/task_metadata/1\",\"session\":\"test\",\"recorded_until\":null,"
#define ENTRY(dates) \
	HEAD "\"files_in_context\":[{\"path\":\"x\",\"record_state\":\"active\"," \
	     "\"record_source\":\"read_tool\"," dates "}]}"
	static const char *const BAD[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"\xff\xfe",
		"{\"files_in_context\":[]}",
		"{\"schema\":\"other\",\"session\":\"test\",\"recorded_until\":null,\"files_in_"
		"context\":[]}",
		"{\"schema\":\"seen/task_metadata/"
		"1\",\"session\":\"another\",\"recorded_until\":null,\"files_in_context\":[]}",
		HEAD "\"files_in_context\":{}}",
		HEAD "\"files_in_context\":[1]}",
		HEAD "\"files_in_context\":[{\"path\":\"x\"}]}",
		ENTRY("\"agent_read_date\":\"x\",\"agent_edit_date\":null,\"user_edit_date\":null"),
		ENTRY("\"agent_read_date\":-1,\"agent_edit_date\":null,\"user_edit_date\":null"),
		ENTRY("\"agent_read_date\":9223372036854775807,\"agent_edit_date\":null,\"user_"
		      "edit_date\":null"),
		ENTRY("\"agent_read_date\":null,\"agent_edit_date\":null"),
	};
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_READ);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		write_path(file_path_of(METADATA_NAME), BAD[i], strlen(BAD[i]));
		keep();
		cr_assert_eq(count_aside(), (int)i + 1, "%s", BAD[i]);
		cr_assert_str_eq(entries("f", zero), "read_tool active 1 - -", "%s", BAD[i]);
		usleep(2000); /* names are by the millisecond */
	}
	static const char GOOD[] = ENTRY("\"agent_read_date\":5,\"agent_edit_date\":null,"
					 "\"user_edit_date\":null");
	int before = count_aside();
	write_path(file_path_of(METADATA_NAME), GOOD, strlen(GOOD));
	keep();
	cr_assert_eq(count_aside(), before);
	cr_assert_str_eq(entries("x", 0), "read_tool active 0 - -");
}

Test(metadata, a_link_is_not_followed)
{
	write_path(world_path(&world, "precious"), "x", 1);
	cr_assert_eq(symlink(world_path(&world, "precious"), file_path_of(METADATA_NAME)), 0);
	keep();
	cr_assert_eq(count_aside(), 1);
	struct stat stat_;
	cr_assert_eq(lstat(file_path_of(METADATA_NAME), &stat_), 0);
	cr_assert(S_ISREG(stat_.st_mode));
	cr_assert_eq(stat_.st_mode & 0777, 0600);
	cr_assert_eq(lstat(world_path(&world, "precious"), &stat_), 0);
	cr_assert_eq(stat_.st_size, 1);
}

static int without_room(void *data)
{
	struct rlimit limit = { 256, 256 };
	(void)data;
	must(freopen("/dev/null", "w", stderr) != NULL);
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	metadata_open(&session);
	usleep(60000);
	metadata_tick();
	metadata_close(true);
	return 0;
}

Test(metadata, without_room_the_last_one_stays)
{
	json_int_t zero = (json_int_t)(now_ns / 1000000);
	(void)happen("f", SOURCE_READ);
	keep();
	(void)happen("f", SOURCE_AGENT);
	cr_assert_eq(in_child(without_room, NULL), 0);
	cr_assert_str_eq(entries("f", zero), "read_tool active 1 - -");
	cr_assert_neq(access(file_path_of(METADATA_NAME ".new"), F_OK), 0);
	keep(); /* there is room again */
	cr_assert_str_eq(entries("f", zero), "read_tool stale 1 - -; agent_edited active 1 2 -");
}

static int while_another_writes(void *data)
{
	(void)data;
	(void)happen("f", SOURCE_AGENT);
	metadata_open(&session);
	metadata_tick();
	metadata_close(true);
	return 0;
}

Test(metadata, one_of_several_runs_writes)
{
	struct stat before, after;
	(void)happen("f", SOURCE_READ);
	metadata_open(&session);
	metadata_tick();
	cr_assert_eq(stat(file_path_of(METADATA_NAME), &before), 0);
	cr_assert_eq(in_child(while_another_writes, NULL), 0);
	cr_assert_eq(stat(file_path_of(METADATA_NAME), &after), 0);
	cr_assert_eq(before.st_ino, after.st_ino);
	metadata_close(true);
	json_t *document = load();
	cr_assert_eq(json_array_size(json_object_get(document, "files_in_context")), 2);
	json_decref(document);
}

Test(metadata, written_at_most_once_a_second)
{
	struct stat first, second;
	(void)happen("f", SOURCE_READ);
	metadata_open(&session);
	metadata_tick();
	cr_assert_eq(stat(file_path_of(METADATA_NAME), &first), 0);
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	second = first;
	while (second.st_ino == first.st_ino) {
		(void)happen("f", SOURCE_READ);
		metadata_tick();
		usleep(20000);
		cr_assert_eq(stat(file_path_of(METADATA_NAME), &second), 0);
		cr_assert_lt(sys_clock_ns(CLOCK_MONOTONIC) - begin_ns, UINT64_C(20000000000));
	}
	cr_assert_geq(sys_clock_ns(CLOCK_MONOTONIC) - begin_ns, UINT64_C(900000000));
	metadata_close(true);
}

Test(metadata, a_tick_without_news_is_cheap)
{
	(void)happen("f", SOURCE_READ);
	metadata_open(&session);
	metadata_tick();
	usleep(60000);
	metadata_tick();
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 100000; i++)
		metadata_tick();
	uint64_t quiet_ns = (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 100000;
	metadata_close(true);
	printf("a tick: %lu ns without news\n", (unsigned long)quiet_ns);
	cr_assert_lt(quiet_ns, 2000);
}

Test(metadata, closed_twice_or_never_opened)
{
	metadata_close(true);
	metadata_tick();
	keep();
	metadata_close(true);
}

/* instruction.h: which files apply to a path, in which order, and what a scope was given of them. */
#include <criterion/criterion.h>

#include "failing_calls.h"
#include "tracker/answer/instruction.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static struct world world;
static uint64_t scope, command;
static const struct version VERSION = { 1, 2, 3 }, OTHER = { 4, 5, 3 };
static const uint64_t LIMIT = 24000;

static void start(void)
{
	world_open(&world, "context.files=", "context.files=AGENTS.md agents.md doc/RULES.md",
		   "paths.exclude=secret *.gen.md", NULL);
	scope = world_scope(&world, "a");
	command = world_command(&world);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(instruction, .init = start, .fini = stop);

/* ---- places ---- */

/* All places of a walk, below the workspace, joined by spaces. */
static const char *places(const char *path, bool is_directory, bool by_index)
{
	static char text[8192];
	char place[SEGMENT_PATH_BYTES];
	struct instruction_walk walk;

	text[0] = '\0';
	instruction_walk_init(&world.segment, path, is_directory, by_index, &walk);
	while (instruction_walk_next(&world.segment, &walk, place, sizeof(place))) {
		cr_assert(path_in_workspace(&world.segment, place), "%s", place);
		(void)strcat(strcat(text, text[0] ? " " : ""),
			     path_relative(&world.segment, place));
	}
	cr_assert(!instruction_walk_next(&world.segment, &walk, place, sizeof(place)));
	return text;
}

static const char *places_of(const char *name, bool is_directory, bool by_index)
{
	return places(world_path(&world, name), is_directory, by_index);
}

Test(instruction, root_first_and_names_as_configured)
{
	cr_expect_str_eq(places_of("f", false, false), "AGENTS.md agents.md doc/RULES.md");
	cr_expect_str_eq(places_of("a/b/f", false, false),
			 "AGENTS.md agents.md doc/RULES.md "
			 "a/AGENTS.md a/agents.md a/doc/RULES.md "
			 "a/b/AGENTS.md a/b/agents.md a/b/doc/RULES.md");
}

Test(instruction, a_directory_has_its_own)
{
	cr_expect_str_eq(places_of("a", true, false), "AGENTS.md agents.md doc/RULES.md "
						      "a/AGENTS.md a/agents.md a/doc/RULES.md");
	cr_expect_str_eq(places(world.workspace, true, false), "AGENTS.md agents.md doc/RULES.md");
	cr_expect_str_eq(places(world.workspace, false, false), "");
}

Test(instruction, nothing_beyond_the_workspace)
{
	char beside[128];

	(void)snprintf(beside, sizeof(beside), "%sx/f", world.workspace);
	cr_expect_str_eq(places(beside, false, false), "");
	cr_expect_str_eq(places("/etc/passwd", false, false), "");
	cr_expect_str_eq(places("/", true, false), "");
}

Test(instruction, of_a_workspace_that_is_everything)
{
	struct world all;
	char place[SEGMENT_PATH_BYTES];
	struct instruction_walk walk;

	world_open(&all, "context.files=", "context.files=A", "paths.exclude=", "paths.workspace=/",
		   NULL);
	instruction_walk_init(&all.segment, "/e/f", false, false, &walk);
	cr_assert(instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	cr_expect_str_eq(place, "/A");
	cr_assert(instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	cr_expect_str_eq(place, "/e/A");
	cr_assert(!instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	instruction_walk_init(&all.segment, "/", true, false, &walk);
	cr_assert(instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	cr_expect_str_eq(place, "/A");
	cr_assert(!instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	/* by the index, too */
	cr_assert_eq(
		instruction_index_set(&all.segment, "/", instruction_names_bit(&all.segment, "A")),
		0);
	instruction_index_renew(&all.segment, UINT64_C(60000000000));
	instruction_walk_init(&all.segment, "/e/f", false, true, &walk);
	cr_assert(instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	cr_expect_str_eq(place, "/A");
	cr_assert(!instruction_walk_next(&all.segment, &walk, place, sizeof(place)));
	world_close(&all);
}

Test(instruction, what_is_excluded_is_left_out)
{
	cr_expect_str_eq(places_of("secret/a/f", false, false), "AGENTS.md agents.md doc/RULES.md");
	cr_expect_str_eq(places_of("a/node_modules/b/f", false, false),
			 "AGENTS.md agents.md doc/RULES.md a/AGENTS.md a/agents.md a/doc/RULES.md");
	cr_expect_str_eq(places_of(".git/f", false, false), "AGENTS.md agents.md doc/RULES.md");
	cr_expect_str_eq(places_of("dist/f", false, false), "AGENTS.md agents.md doc/RULES.md");
}

Test(instruction, by_the_index_alone_while_it_is_valid)
{
	const struct segment *segment = &world.segment;

	cr_assert_eq(instruction_index_set(segment, world_path(&world, "a"),
					   instruction_names_bit(segment, "agents.md")),
		     0);
	/* not said to be complete: every place */
	cr_expect_str_eq(places_of("a/f", false, true), places_of("a/f", false, false));
	instruction_index_renew(segment, UINT64_C(60000000000));
	/* a name with a directory in it is in no index */
	cr_expect_str_eq(places_of("a/f", false, true), "doc/RULES.md a/agents.md a/doc/RULES.md");
	cr_assert_eq(instruction_index_set(segment, world_path(&world, "a"), 0), 0);
	cr_expect_str_eq(places_of("a/f", false, true), "doc/RULES.md a/doc/RULES.md");
	instruction_index_renew(segment, 1);
	while (sys_boottime_ns() < segment->header->instructions_until_ns)
		;
	cr_expect_str_eq(places_of("a/f", false, true), places_of("a/f", false, false));
	instruction_index_renew(segment, UINT64_C(60000000000));
	instruction_index_renew(segment, 0);
	cr_expect_str_eq(places_of("a/f", false, true), places_of("a/f", false, false));
}

Test(instruction, a_full_index_says_so)
{
	char name[32];
	int error = 0;
	unsigned directories = 0;

	for (; error == 0 && directories < 100000; directories++) {
		(void)snprintf(name, sizeof(name), "%u", directories);
		error = instruction_index_set(&world.segment, world_path(&world, name), 1);
	}
	cr_expect_eq(error, -ENOSPC);
	cr_expect_gt(directories, 1000);
	/* what holds none needs no place */
	cr_expect_eq(instruction_index_set(&world.segment, world_path(&world, "none"), 0), 0);
}

Test(instruction, names)
{
	const struct segment *segment = &world.segment;

	cr_expect(instruction_is_named(segment, world_path(&world, "AGENTS.md")));
	cr_expect(instruction_is_named(segment, world_path(&world, "a/agents.md")));
	cr_expect(instruction_is_named(segment, world_path(&world, "a/doc/RULES.md")));
	cr_expect(!instruction_is_named(segment, world_path(&world, "a/RULES.md")));
	cr_expect(!instruction_is_named(segment, world_path(&world, "a/xAGENTS.md")));
	cr_expect(!instruction_is_named(segment, world_path(&world, "Agents.md")));
	cr_expect(!instruction_is_named(segment, world_path(&world, "secret/AGENTS.md")));
	cr_expect(!instruction_is_named(segment, "/elsewhere/AGENTS.md"));
	cr_expect_eq(instruction_names_bit(segment, "AGENTS.md"), 1);
	cr_expect_eq(instruction_names_bit(segment, "agents.md"), 2);
	cr_expect_eq(instruction_names_bit(segment, "README.md"), 0);
}

Test(instruction, header)
{
	char text[256];

	cr_expect_eq(instruction_header(&world.segment, world_path(&world, "AGENTS.md"), text,
					sizeof(text)),
		     (int)strlen("[Loaded from ./AGENTS.md]\n"));
	cr_expect_str_eq(text, "[Loaded from ./AGENTS.md]\n");
	(void)instruction_header(&world.segment, world_path(&world, "a\nb\x1b[m/AGENTS.md"), text,
				 sizeof(text));
	cr_expect_str_eq(text, "[Loaded from a\\nb\\x1b[m/AGENTS.md]\n");
	for (size_t capacity = 0; capacity < sizeof("[Loaded from ./AGENTS.md]\n"); capacity++)
		cr_expect_eq(instruction_header(&world.segment, world_path(&world, "AGENTS.md"),
						text, capacity),
			     -ENAMETOOLONG);
}

Test(instruction, opens_what_lies_in_the_workspace)
{
	const struct segment *segment = &world.segment;
	struct stat stat;
	const char *path = world_path(&world, "AGENTS.md");
	char elsewhere[96];

	cr_expect_eq(instruction_open(segment, path, &stat), -ENOENT);
	world_fill(&world, "AGENTS.md", INSTRUCTION_BYTES_MAX, 1);
	int fd = instruction_open(segment, path, &stat);
	cr_assert_geq(fd, 0);
	cr_expect_eq(stat.st_size, INSTRUCTION_BYTES_MAX);
	(void)close(fd);
	world_fill(&world, "AGENTS.md", INSTRUCTION_BYTES_MAX + 1, 1);
	cr_expect_eq(instruction_open(segment, path, &stat), -EFBIG);

	const char *link = world_path(&world, "agents.md");
	world_fill(&world, "real", 100, 1);
	cr_assert_eq(symlink("real", link), 0);
	fd = instruction_open(segment, link, &stat);
	cr_expect_geq(fd, 0);
	(void)close(fd);
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/out", world.root);
	write_path(elsewhere, "secret", 6);
	(void)unlink(link);
	cr_assert_eq(symlink(elsewhere, link), 0);
	cr_expect_eq(instruction_open(segment, link, &stat), -EXDEV);
	(void)unlink(link);
	cr_assert_eq(mkdir(world_path(&world, "secret"), 0700), 0);
	world_fill(&world, "secret/s", 100, 1);
	cr_assert_eq(symlink("secret/s", link), 0);
	cr_expect_eq(instruction_open(segment, link, &stat), -EXDEV);
	(void)unlink(link);
	cr_assert_eq(symlink("agents.md", link), 0);
	cr_expect_eq(instruction_open(segment, link, &stat), -ELOOP);
	(void)unlink(link);
	cr_assert_eq(mkfifo(link, 0600), 0);
	cr_expect_eq(instruction_open(segment, link, &stat), -EINVAL);
	(void)unlink(link);
	cr_assert_eq(mkdir(link, 0700), 0);
	cr_expect_eq(instruction_open(segment, link, &stat), -EINVAL);
}

/* ---- what was given ---- */

static struct moment now(void)
{
	return moment_now(&world.segment, scope, 1, 0, command);
}

static bool is_given(const struct moment *moment, uint64_t ino, const struct version *version)
{
	return instruction_is_given(&world.segment, moment, 5, ino, version, BYTES(LIMIT));
}

static void finish_command(uint64_t bytes)
{
	struct command_slot *slot = segment_slot(&world.segment, TABLE_COMMANDS,
						 command % world.segment.capacity[TABLE_COMMANDS]);
	slot->total_bytes = bytes;
	slot->measured = 1;
}

Test(instruction, given_once_per_file_version_and_epoch)
{
	struct moment moment = now();

	cr_expect(!is_given(&moment, 9, &VERSION));
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), 0);
	cr_expect(is_given(&moment, 9, &VERSION));
	cr_expect(!is_given(&moment, 9, &OTHER));
	cr_expect(!is_given(&moment, 8, &VERSION));
	cr_expect(!instruction_is_given(&world.segment, &moment, 6, 9, &VERSION, BYTES(LIMIT)));
	/* another version does not take the first one's place */
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &OTHER), 0);
	cr_expect(is_given(&moment, 9, &VERSION) && is_given(&moment, 9, &OTHER));
	cr_expect_eq(segment_counter(&world.segment, COUNTER_instructions_given), 2);
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &OTHER), 0);
	cr_expect_eq(segment_counter(&world.segment, COUNTER_instructions_given), 2);
	/* nor is it another scope's */
	uint64_t other_scope = world_scope(&world, "b");
	struct moment other = moment_now(&world.segment, other_scope, 1, 0, command);
	cr_expect(!is_given(&other, 9, &VERSION));
}

Test(instruction, no_window_ends_it)
{
	struct moment moment = now();

	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), 0);
	moment.request += 1000000;
	moment.bytes_given += UINT64_C(1) << 40;
	moment.time_ns += UINT64_C(1) << 60;
	cr_expect(is_given(&moment, 9, &VERSION));
}

Test(instruction, epochs)
{
	struct moment moment = now();

	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), 0);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	moment = now();
	cr_expect(!is_given(&moment, 9, &VERSION));
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), 0);
	cr_expect(is_given(&moment, 9, &VERSION));
	cr_expect_eq(segment_counter(&world.segment, COUNTER_instructions_given), 2);
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	moment = now();
	cr_expect(!is_given(&moment, 9, &VERSION));
}

Test(instruction, what_was_begun_in_an_old_epoch_does_not_count)
{
	struct moment before = now();

	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	cr_assert_eq(instruction_record(&world.segment, &before, 5, 9, &VERSION), 0);
	struct moment moment = now();
	cr_expect(!is_given(&moment, 9, &VERSION));
}

Test(instruction, invalidated_in_each_version)
{
	struct moment moment = now();
	uint64_t other_scope = world_scope(&world, "b");
	struct moment other = moment_now(&world.segment, other_scope, 1, 0, command);

	(void)instruction_record(&world.segment, &moment, 5, 9, &VERSION);
	(void)instruction_record(&world.segment, &moment, 5, 9, &OTHER);
	(void)instruction_record(&world.segment, &moment, 5, 8, &VERSION);
	(void)instruction_record(&world.segment, &other, 5, 9, &VERSION);
	cr_expect_eq(instruction_forget(&world.segment, scope, 5, 9), 2);
	cr_expect_eq(instruction_forget(&world.segment, scope, 5, 9), 0);
	cr_expect(!is_given(&moment, 9, &VERSION) && !is_given(&moment, 9, &OTHER));
	cr_expect(is_given(&moment, 8, &VERSION) && is_given(&other, 9, &VERSION));
	cr_expect_eq(instruction_forget(&world.segment, 0, 5, 9), 1);
	cr_expect(!is_given(&other, 9, &VERSION));
	(void)instruction_record(&world.segment, &moment, 5, 9, &VERSION);
	cr_expect(is_given(&moment, 9, &VERSION));
}

Test(instruction, of_no_scope)
{
	struct moment moment = moment_now(&world.segment, 12345, 1, 0, command);

	cr_expect_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), -ENOENT);
	cr_expect(!is_given(&moment, 9, &VERSION));
}

Test(instruction, counts_only_where_the_command_kept_to_its_limit)
{
	struct moment moment = now();

	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 9, &VERSION), 0);
	struct moment later = moment;
	later.command_id = world_command(&world);
	finish_command(LIMIT + 1);
	cr_expect(!is_given(&later, 9, &VERSION));
	finish_command(LIMIT);
	cr_expect(is_given(&later, 9, &VERSION));
	/* that is settled: other commands may take the slot */
	finish_command(LIMIT + 1);
	cr_expect(is_given(&later, 9, &VERSION));
}

Test(instruction, a_full_table_gives_again_and_loses_nothing_else)
{
	struct moment moment = now();

	for (uint64_t ino = 1; ino <= 20000; ino++) {
		moment.time_ns++;
		cr_assert_eq(instruction_record(&world.segment, &moment, 5, ino, &VERSION), 0);
		cr_assert(is_given(&moment, ino, &VERSION));
	}
	cr_expect(!is_given(&moment, 1, &VERSION));
}

Test(instruction, reading_one_whole_gives_it)
{
	struct stat stat;
	struct content content;

	world_fill(&world, "AGENTS.md", 900, 1);
	world_fill(&world, "OTHER.md", 900, 2);
	(void)world_cat(&world, scope, "AGENTS.md");
	(void)world_cat(&world, scope, "OTHER.md");
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "OTHER.md" : "AGENTS.md";
		int fd = open(world_path(&world, name), O_RDONLY);
		cr_assert(fstat(fd, &stat) == 0 &&
			  content_of_descriptor(fd, UINT64_MAX, &content) == 0);
		struct moment moment = now();
		moment.command_id = world.segment.header->next_command - 2 + (uint64_t)i;
		cr_expect_eq(instruction_is_given(&world.segment, &moment, stat.st_dev, stat.st_ino,
						  &content.version, BYTES(LIMIT)),
			     i == 0);
		(void)close(fd);
	}
	cr_expect_eq(tracker_forget(&world.segment, scope, world_path(&world, "AGENTS.md")), 0);
	cr_expect_eq(segment_counter(&world.segment, COUNTER_instructions_given), 1);
}

Test(instruction, invalidated_by_path)
{
	struct stat file;
	struct moment moment = now();

	world_fill(&world, "AGENTS.md", 900, 1);
	cr_assert_eq(stat(world_path(&world, "AGENTS.md"), &file), 0);
	cr_expect_eq(tracker_forget(&world.segment, 0, world_path(&world, "AGENTS.md")), -ENOENT);
	(void)instruction_record(&world.segment, &moment, file.st_dev, file.st_ino, &VERSION);
	cr_expect_eq(tracker_forget(&world.segment, 0, world_path(&world, "AGENTS.md")), 0);
	cr_expect(!instruction_is_given(&world.segment, &moment, file.st_dev, file.st_ino, &VERSION,
					BYTES(LIMIT)));
}

/* ---- what does not fit, and what is another's ---- */

Test(instruction, places_that_do_not_fit)
{
	const char *path = world_path(&world, "a/b");
	char place[SEGMENT_PATH_BYTES];
	size_t root = strlen(world.workspace);

	for (size_t capacity = 0; capacity < root + 20; capacity++) {
		struct instruction_walk walk;
		instruction_walk_init(&world.segment, path, true, false, &walk);
		while (instruction_walk_next(&world.segment, &walk, place, capacity))
			cr_assert_lt(strlen(place), capacity);
	}
}

Test(instruction, headers_that_do_not_fit)
{
	const char *path = world_path(&world, "a/AGENTS.md");
	char text[100];
	int length = instruction_header(&world.segment, path, text, sizeof(text));

	cr_assert_eq((size_t)length, strlen(text));
	for (size_t capacity = 0; capacity <= (size_t)length; capacity++)
		cr_assert_eq(instruction_header(&world.segment, path, text, capacity),
			     -ENAMETOOLONG);
}

/* A name behind no slash is no file's of the workspace; one that only ends alike is another. */
Test(instruction, named_files)
{
	cr_assert(instruction_is_named(&world.segment, world_path(&world, "AGENTS.md")));
	cr_assert(!instruction_is_named(&world.segment, world_path(&world, "xAGENTS.md")));
	cr_assert(!instruction_is_named(&world.segment, world_path(&world, "AGENTS.mdx")));
	cr_assert(!instruction_is_named(&world.segment, "AGENTS.md"));
	cr_assert(!instruction_is_named(&world.segment, "/elsewhere/AGENTS.md"));
}

/* Each file, version, conversation and scope for itself. */
Test(instruction, whose)
{
	uint64_t other = world_scope(&world, "b");
	struct moment moment = moment_now(&world.segment, scope, 1, 0, command);
	struct moment of_other = moment_now(&world.segment, other, 1, 0, command);
	struct output_limits limits = *BYTES(LIMIT);

#define GIVEN(moment, dev, ino, version) \
	instruction_is_given(&world.segment, &(moment), dev, ino, &(version), &limits)
	cr_assert_eq(instruction_record(&world.segment, &moment, 1, 2, &VERSION), 0);
	cr_assert(GIVEN(moment, 1, 2, VERSION));
	cr_assert(!GIVEN(moment, 1, 3, VERSION));
	cr_assert(!GIVEN(moment, 2, 2, VERSION));
	cr_assert(!GIVEN(moment, 1, 2, OTHER));
	cr_assert(!GIVEN(of_other, 1, 2, VERSION));
	/* Given again: counted once; in another epoch: twice. */
	uint64_t counted = segment_counter(&world.segment, COUNTER_instructions_given);
	cr_assert_eq(instruction_record(&world.segment, &moment, 1, 2, &VERSION), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_instructions_given), counted);
	moment.session_epoch++;
	cr_assert(!GIVEN(moment, 1, 2, VERSION));
	cr_assert_eq(instruction_record(&world.segment, &moment, 1, 2, &VERSION), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_instructions_given), counted + 1);
	moment.scope_epoch++;
	cr_assert(!GIVEN(moment, 1, 2, VERSION));
	/* Forgotten by its number on its device, in its scope. */
	cr_assert_eq(instruction_forget(&world.segment, other, 1, 2), 0);
	cr_assert_eq(instruction_forget(&world.segment, scope, 2, 2), 0);
	cr_assert_eq(instruction_forget(&world.segment, scope, 1, 3), 0);
	cr_assert_eq(instruction_forget(&world.segment, scope, 1, 2), 1);
	moment.scope_epoch--;
	cr_assert(!GIVEN(moment, 1, 2, VERSION));
	/* Without a scope nothing is on record. */
	moment.scope_id = 0;
	cr_assert_eq(instruction_record(&world.segment, &moment, 1, 2, &VERSION), -ENOSPC);
	moment.scope_epoch = 0;
	cr_assert_eq(instruction_record(&world.segment, &moment, 1, 2, &VERSION), -ENOENT);
	cr_assert(!GIVEN(moment, 1, 2, VERSION));
#undef GIVEN
}

/* Whatever the last character takes. */
Test(instruction, headers_as_long_as_they_are)
{
	static const char *const NAMES[] = { "AGENTS.md", "AGENTS.md\x01", "AGENTS.md\n" };
	char text[200], cut[200];

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		const char *path = world_path(&world, NAMES[i]);
		int length = instruction_header(&world.segment, path, text, sizeof(text));
		cr_assert_gt(length, 0);
		for (size_t capacity = 0; capacity < sizeof(cut); capacity++) {
			int got = instruction_header(&world.segment, path, cut, capacity);
			cr_assert(got == -ENAMETOOLONG
					  ? capacity < (size_t)length + 5
					  : capacity > (size_t)length && strcmp(cut, text) == 0);
		}
	}
}

/* Where a slot has another file's name for this one's: as two whose hashes are the same. */
Test(instruction, of_another_file_with_the_same_hash)
{
	struct moment moment = now();
	struct instruction_slot *slot = NULL, copy;

	must(instruction_record(&world.segment, &moment, 5, 6, &VERSION) == 0);
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_INSTRUCTIONS]; i++)
		if (((struct instruction_slot *)segment_slot(&world.segment, TABLE_INSTRUCTIONS, i))
			    ->ino == 6)
			slot = segment_slot(&world.segment, TABLE_INSTRUCTIONS, i);
	cr_assert_not_null(slot);
	for (int i = 0; i < 4; i++) {
		cr_assert(instruction_is_given(&world.segment, &moment, 5, 6, &VERSION,
					       BYTES(LIMIT)));
		must(slot_acquire(slot, &copy, sizeof(copy)));
		struct instruction_slot other = copy;
		other.dev += i == 0;
		other.ino += i == 1;
		other.version = i == 2 ? OTHER : VERSION;
		other.command_id = i == 3 ? 0 : other.command_id;
		slot_commit(slot, &other, sizeof(other));
		cr_assert_not(instruction_is_given(&world.segment, &moment, 5, 6, &VERSION,
						   BYTES(LIMIT)));
		must(slot_acquire(slot, &other, sizeof(other)));
		copy.head = other.head;
		slot_commit(slot, &copy, sizeof(copy));
	}
}

static int open_refused(void *data)
{
	struct stat stat;

	refuse_calls(*(const int *)data, EIO);
	return -instruction_open(&world.segment, world_path(&world, "AGENTS.md"), &stat);
}

/* Where the kernel does not say what was opened, it is not read. */
Test(instruction, that_cannot_be_asked_about)
{
	static const int CALLS[] = { SYS_fstat, SYS_readlink, SYS_readlinkat };

	world_fill(&world, "AGENTS.md", 100, 1);
	cr_assert_eq(in_child(open_refused, (void *)(uintptr_t)&CALLS[0]), EINVAL);
	cr_assert(in_child(open_refused, (void *)(uintptr_t)&CALLS[1]) == EXDEV ||
		  in_child(open_refused, (void *)(uintptr_t)&CALLS[2]) == EXDEV);
}

static void damage(uint64_t dev, uint64_t ino)
{
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_INSTRUCTIONS]; i++) {
		struct instruction_slot *slot = segment_slot(&world.segment, TABLE_INSTRUCTIONS, i);
		slot->head.check ^= slot->scope_id && slot->dev == dev && slot->ino == ino;
	}
}

/* What is damaged was given to no model: there is nothing to be forgotten, and what has its place is left alone. */
Test(instruction, invalidated_where_it_is_damaged)
{
	static const uint64_t FILES[][2] = { { 5, 6 }, { 0, 6 }, { 0, 0 } };
	struct moment moment = now();

	for (size_t i = 0; i < 3; i++) {
		uint64_t dev = FILES[i][0], ino = FILES[i][1];
		must(instruction_record(&world.segment, &moment, dev, ino, &VERSION) == 0);
		damage(dev, ino);
		cr_assert_eq(instruction_forget(&world.segment, scope, dev, ino), 0);
		damage(dev, ino); /* it is as it was */
		cr_assert_eq(instruction_forget(&world.segment, scope, dev, ino), 1);
	}
}

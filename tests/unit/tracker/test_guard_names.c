/* guard.h: files that others write, other names of a file, and what a write leaves on record. */
#include "guard_case.h"
#include "tracker/sys/chunk.h"

TestSuite(guard_names, .init = start, .fini = stop);

/* ---- other agents ---- */

static uint64_t other;

/* An agent of scope "b", its own head, and the writer's scope: both live. */
static void start_two(void)
{
	start();
	other = world_scope(&world, "b");
	scope_set_head(&world.segment, scope, scope);
	scope_set_head(&world.segment, other, other);
}

TestSuite(guard_two, .init = start_two, .fini = stop);

static void write_by(uint64_t scope_id, const char *name, unsigned seed, uint32_t knows)
{
	struct guard_writer by = writer;

	by.scope_id = scope_id;
	by.serial = scope_id == scope ? 5 : 6;
	world_fill(&world, name, 100, seed);
	record_file(name);
	struct version version = version_now(name);
	guard_finish_write(&world.segment, &by, key_of_file(name), &version, knows);
}

Test(guard_two, another_agents_change_of_what_this_one_knows)
{
	struct guard_answer answer;
	char line[256];

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	write_by(other, "f", 2, GUARD_KNEW);
	writer.scope_id = 0; /* without a scope nothing is another's */
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	writer.scope_id = scope;
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	cr_assert_eq(answer.changer, other);
	cr_assert_gt(guard_format_message(&world.segment, &answer, world_path(&world, "f"), line,
					  sizeof(line)),
		     0);
	char wanted[64];
	(void)snprintf(wanted, sizeof(wanted), "seen: f: b (pid %d) changed it", (int)getpid());
	cr_assert(strncmp(line, wanted, strlen(wanted)) == 0, "%s", line);
	/* By one that did not know what it replaced. */
	world_fill(&world, "f", 100, 3);
	write_by(other, "f", 4, 0);
	cr_assert_eq(check("f", GUARD_REPLACES).changer, other);
	/* And where the writer has no scope, nothing is another's. */
	writer.scope_id = 0;
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
}

Test(guard_two, another_agents_file_that_this_one_never_read)
{
	write_by(other, "f", 1, GUARD_KNEW);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	/* The same agent's, by another scope of it. */
	world_fill(&world, "g", 100, 1);
	deliver_to(scope, "g");
	scope_set_head(&world.segment, other, scope);
	write_by(other, "g", 2, GUARD_KNEW);
	ASSERT_PASSES(check("g", GUARD_REPLACES), GUARD_FRESH);
	world_fill(&world, "g", 100, 3);
	write_by(other, "g", 4, 0);
	cr_assert_eq(check("g", GUARD_REPLACES).changer, 0, "its own agent's");
	world_fill(&world, "g", 100, 5);
	cr_assert_eq(check("g", GUARD_REPLACES).changer, 0, "of no scope on record");
}

/* ---- messages ---- */

static const char *message(const struct guard_answer *answer, const char *name, size_t capacity)
{
	static char line[512];

	must(capacity <= sizeof(line));
	size_t bytes = guard_format_message(&world.segment, answer, name, line, capacity);
	if (bytes == 0)
		return "";
	cr_assert(bytes == strlen(line) && line[bytes - 1] == '\n', "%zu of %zu", bytes, capacity);
	return line;
}

Test(guard_two, messages)
{
	struct guard_answer answer = { .verdict = GUARD_PASS, .reason = GUARD_STALE };
	const char *file = world_path(&world, "f");

	cr_assert_str_eq(message(&answer, file, 512), "");
	answer.verdict = GUARD_WARN;
	cr_assert_str_eq(message(&answer, file, 1), "");
	cr_assert_str_eq(message(&answer, file, 8), "", "its name has no room");
	cr_assert_str_eq(message(&answer, file, 512),
			 "seen: f: another program changed it since it was read, and this "
			 "overwrites that\n");
	answer.kept = true;
	answer.before = (struct version){ .low = 1, .high = 2, .size_bytes = 3 };
	cr_assert(strstr(message(&answer, file, 512), "; what it held is kept: seen restore f "));
	answer.changer = other;
	cr_assert(strstr(message(&answer, file, 512), ": b (pid "));
	answer.changer = 12345; /* a scope that is on record no more */
	cr_assert(strstr(message(&answer, file, 512), ": another agent changed it"));
	answer.verdict = GUARD_DENY;
	cr_assert_str_eq(message(&answer, file, 512),
			 "seen: f: not overwritten: another agent changed it since it was read; "
			 "read it again first\n");
	answer.reason = GUARD_UNREAD;
	cr_assert_str_eq(message(&answer, file, 512),
			 "seen: f: not overwritten: it was never read; read it first\n");
	answer.verdict = GUARD_WARN;
	answer.kept = false;
	cr_assert_str_eq(message(&answer, file, 512),
			 "seen: f: overwritten though it was never read\n");
	answer.reason = GUARD_NOTICE;
	cr_assert_str_eq(
		message(&answer, file, 512),
		"seen: f: not written: it is a notice of seen, and no content of a file\n");
	/* A name that leaves no room for the agent's. */
	answer.reason = GUARD_STALE;
	answer.changer = other;
	for (size_t capacity = 2; capacity < 64; capacity++)
		(void)message(&answer, world_path(&world, "f"), capacity);
}

/* ---- writes that have begun ---- */

static bool is_version(struct version version, const struct version *other_version)
{
	return version_equal(&version, other_version);
}

Test(guard_names, unfinished)
{
	struct guard_answer answer = { .knows = GUARD_KNEW | GUARD_WHOLE };
	uint32_t knows;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	answer.file_key = key_of_file("f");
	guard_start_write(&world.segment, &writer, world_path(&world, "f"), &answer);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 5);
	cr_assert_eq(knows, GUARD_KNEW | GUARD_WHOLE);
	world_fill(&world, "f", 50, 2);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNFINISHED);
	cr_assert_eq(check("f", GUARD_REPLACES).knows, GUARD_KNEW | GUARD_WHOLE);
	cr_assert_eq(check("f", GUARD_WRITES).knows, GUARD_KNEW);
	answer.knows = 0;
	guard_start_write(&world.segment, &writer, "", &answer);
	cr_assert_eq(check("f", GUARD_WRITES).knows, 0);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 5);
	cr_assert_eq(knows, 0);
	cr_assert_eq(guard_unfinished(&world.segment, key_of_file("none"), &knows), 0);
	/* Another process's cancelling and finishing is not this one's. */
	writer.serial = 6;
	guard_cancel(&world.segment, &writer, answer.file_key);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 5);
	struct version version = version_now("f");
	guard_finish_write(&world.segment, &writer, answer.file_key, &version, 0);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 5);
	writer.serial = 5;
	guard_cancel(&world.segment, &writer, answer.file_key);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 0);
	guard_start_write(&world.segment, &writer, "", &answer);
	guard_finish_write(&world.segment, &writer, answer.file_key, &version, 0);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 0);
	/* One without a slot of the table stands for no process, and any ends it. */
	writer.serial = 0;
	guard_start_write(&world.segment, &writer, "", &answer);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), UINT64_MAX);
	writer.serial = 9;
	guard_finish_write(&world.segment, &writer, answer.file_key, &version, 0);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 0);
	writer.serial = 5;
	guard_start_write(&world.segment, &writer, "", &answer);
	writer.serial = 0;
	guard_finish_write(&world.segment, &writer, answer.file_key, &version, 0);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 0);
	writer.serial = 5;
	guard_start_write(&world.segment, &writer, "", &answer);
	writer.serial = 0;
	guard_cancel(&world.segment, &writer, answer.file_key);
	cr_assert_eq(guard_unfinished(&world.segment, answer.file_key, &knows), 0);
}

Test(guard_names, a_write_puts_a_new_file_on_record)
{
	struct guard_answer answer = { .knows = GUARD_KNEW | GUARD_WHOLE };
	struct file_slot file;

	answer.file_key = key_of_file("new");
	guard_start_write(&world.segment, &writer, "", &answer);
	cr_assert_eq(file_find(&world.segment, answer.file_key, &file), -ENOENT);
	guard_start_write(&world.segment, &writer, world_path(&world, "new"), &answer);
	cr_assert_eq(slot_of("new").writer, 5);
	/* It moves the scope's baseline, which it has now. */
	world_fill(&world, "new", 100, 1);
	struct version version = version_now("new"), baseline;
	guard_finish_write(&world.segment, &writer, answer.file_key, &version, answer.knows);
	cr_assert(baseline_of(&world.segment, scope, answer.file_key, &baseline));
	cr_assert(version_equal(&baseline, &version));
	cr_assert(is_version(slot_of("new").written, &version));
}

Test(guard_names, baselines_move_with_what_was_known)
{
	struct version first, second, baseline;
	uint64_t key = key_of_file("f");

	world_fill(&world, "f", 100, 1);
	record_file("f");
	first = version_now("f");
	/* Some of what was there is left, and the scope never knew it: nor does it now. */
	guard_finish_write(&world.segment, &writer, key, &first, GUARD_KNEW);
	cr_assert(!baseline_of(&world.segment, scope, key, &baseline));
	deliver_to(scope, "f");
	world_fill(&world, "f", 100, 2);
	second = version_now("f");
	guard_finish_write(&world.segment, &writer, key, &second, 0);
	cr_assert(baseline_of(&world.segment, scope, key, &baseline));
	cr_assert(version_equal(&baseline, &first), "what it replaced was not known");
	cr_assert(is_version(slot_of("f").external, &second));
	guard_finish_write(&world.segment, &writer, key, &second, GUARD_KNEW);
	cr_assert(baseline_of(&world.segment, scope, key, &baseline));
	cr_assert(version_equal(&baseline, &second));
	/* Removed: what the agent knew is not moved, and the file is known to be gone. */
	guard_finish_write(&world.segment, &writer, key, &(struct version){ 0 },
			   GUARD_KNEW | GUARD_WHOLE);
	cr_assert(baseline_of(&world.segment, scope, key, &baseline));
	cr_assert(version_equal(&baseline, &second));
	cr_assert(slot_of("f").flags & FILE_REMOVED);
	/* A writer without a scope moves none. */
	writer.scope_id = 0;
	guard_finish_write(&world.segment, &writer, key, &first, GUARD_KNEW | GUARD_WHOLE);
	cr_assert(!(slot_of("f").flags & FILE_REMOVED));
	cr_assert(is_version(slot_of("f").written, &first));
}

/* ---- one file, many names ---- */

static bool find_link(const char *name, char *ret_path)
{
	struct stat now;
	must(stat(world_path(&world, name), &now) == 0);
	return guard_find_link(&world.segment, AT_FDCWD, world_path(&world, name), &now, ret_path);
}

Test(guard_names, another_name)
{
	char path[SEGMENT_PATH_BYTES];

	world_fill(&world, "f", 100, 1);
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	cr_assert(!find_link("g", path), "not on record");
	record_file("f");
	cr_assert(!find_link("g", path), "no baseline");
	deliver_to(scope, "f");
	cr_assert(find_link("g", path));
	cr_assert_str_eq(path, world_path(&world, "f"));
	world_fill(&world, "f", 100, 2);
	struct guard_answer answer = check("g", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	cr_assert_eq(answer.file_key, key_of_file("f"));
	/* Taking one of two names away leaves the file. */
	answer = check("g", GUARD_UNNAMES);
	ASSERT_PASSES(answer, GUARD_UNCONCERNED);
	cr_assert_eq(answer.file_key, key_of_file("g"));
	must(unlink(world_path(&world, "f")) == 0);
	ASSERT_ANSWER(check("g", GUARD_UNNAMES), GUARD_STALE, GUARD_WARN, 0);
}

Test(guard_names, a_renamed_file)
{
	char path[SEGMENT_PATH_BYTES];

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	must(rename(world_path(&world, "f"), world_path(&world, "g")) == 0);
	cr_assert(find_link("g", path), "it was there when it was read");
	/* Another file stands in its place, and is known by its own number. */
	world_fill(&world, "f", 100, 2);
	cr_assert(find_link("g", path));
	record_file("f");
	cr_assert(!find_link("g", path), "the name leads to what was read since");
	cr_assert_eq(check("g", GUARD_REPLACES).file_key, key_of_file("g"));
}

static struct inode_slot *inode_slot_of(const char *name)
{
	struct inode_slot *slot;
	struct stat now;

	must(stat(world_path(&world, name), &now) == 0);
	for (uint64_t i = 0; (slot = segment_slot(&world.segment, TABLE_INODES, i)); i++)
		if (slot->ino == now.st_ino)
			break;
	must(slot);
	return slot;
}

/* Both are known by numbers of their own, and the renamed one was read last. */
Test(guard_names, a_renamed_file_that_is_read_again)
{
	char path[SEGMENT_PATH_BYTES];

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	must(rename(world_path(&world, "f"), world_path(&world, "g")) == 0);
	world_fill(&world, "f", 100, 2);
	record_file("f");
	inode_slot_of("g")->found_realtime_ns = sys_realtime_ns() + 1000000000;
	cr_assert(find_link("g", path));
	/* The name leads to another file system now. */
	must(unlink(world_path(&world, "f")) == 0);
	must(symlink("/proc/version", world_path(&world, "f")) == 0);
	cr_assert(find_link("g", path));
}

static void without_path(struct file_slot *file, const void *data)
{
	(void)data;
	file->path_bytes = 0;
}

/* What is damaged, or was given to another file meanwhile, is no other name. */
Test(guard_names, a_record_that_is_damaged)
{
	char path[SEGMENT_PATH_BYTES], *chunks[64];
	size_t held = 0;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	while (held < 64 && (chunks[held] = chunk_acquire()))
		held++;
	cr_assert(find_link("g", path), "its number alone is known");
	while (held > 0)
		chunk_release(chunks[--held]);
	must(file_change_known(&world.segment, key_of_file("f"), without_path, NULL) == 0);
	cr_assert(!find_link("g", path));
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_FILES]; i++)
		memset(segment_slot(&world.segment, TABLE_FILES, i), 0, sizeof(struct file_slot));
	cr_assert(!find_link("g", path));
}

Test(guard_names, a_file_that_the_session_removed)
{
	char path[SEGMENT_PATH_BYTES];

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	must(unlink(world_path(&world, "f")) == 0);
	guard_finish_write(&world.segment, &writer, key_of_file("f"), &(struct version){ 0 }, 0);
	cr_assert(!find_link("g", path));
}

/* The number of a removed file is given anew: one that was made since is another file. */
Test(guard_names, a_number_given_anew)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat now;

	world_fill(&world, "g", 100, 1);
	must(stat(world_path(&world, "g"), &now) == 0);
	struct stamp stamp = stamp_of(&now);
	struct version version = version_now("g");
	must(file_update(&world.segment, world_path(&world, "f"), &stamp, NULL, NULL) != 0);
	baseline_given(&world.segment, scope, key_of_file("f"), &version);
	cr_assert(find_link("g", path), "it may be the file that was f");
	/* The same, read before it was made. */
	struct inode_slot *slot = inode_slot_of("g");
	slot->found_realtime_ns = 1;
	cr_assert(!find_link("g", path));
	/* Nor where the file system does not tell when it was made. */
	slot->found_realtime_ns = UINT64_MAX - 1;
	cr_assert(find_link("g", path));
	cr_assert(!guard_find_link(&world.segment, AT_FDCWD, "/no/such", &now, path));
	cr_assert(!guard_find_link(&world.segment, AT_FDCWD, "/proc/version", &now, path));
}

/* ---- notices in files ---- */

Test(guard_names, a_notice_is_found)
{
	static char bytes[3 * CHUNK_BYTES];
	const char *nonce = world.segment.header->nonce;
	size_t length = strlen(nonce);
	bool has_nonce;
	struct version version;
	char *chunks[64];
	size_t held = 0;

	cr_assert(guard_has_nonce(&world.segment, nonce, length));
	cr_assert(!guard_has_nonce(&world.segment, nonce, length - 1));
	for (int taken = 0; taken < 2; taken++) {
		for (size_t at = CHUNK_BYTES - 64; at < CHUNK_BYTES + 8; at++) {
			memset(bytes, 'x', sizeof(bytes));
			memcpy(bytes + at, nonce, length);
			write_path(world_path(&world, "f"), bytes, sizeof(bytes));
			int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
			struct version now = version_now("f");
			cr_assert_eq(guard_scan(&world.segment, fd, &version, &has_nonce), 0);
			cr_assert(has_nonce, "at %zu", at);
			cr_assert(version_equal(&version, &now));
			must(close(fd) == 0);
		}
		/* Once more, with all memory for chunks in use. */
		while (!taken && held < 64 && (chunks[held] = chunk_acquire()))
			held++;
	}
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	world.settings->content_max_file_bytes = sizeof(bytes) - 1;
	cr_assert_eq(guard_scan(&world.segment, fd, &version, &has_nonce), -EFBIG);
	must(close(fd) == 0);
	fd = open(world.workspace, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(guard_scan(&world.segment, fd, &version, &has_nonce), -EISDIR);
	must(close(fd) == 0);
	while (held > 0)
		chunk_release(chunks[--held]);
}

Test(guard_names, a_session_without_a_nonce)
{
	world.segment.header->nonce[0] = '\0';
	cr_assert(!guard_has_nonce(&world.segment, "", 0));
	cr_assert(!guard_has_nonce(&world.segment, "abc", 3));
}

Test(guard_names, a_stored_notice_is_reported_once)
{
	struct guard_answer answer;
	struct version before = { .low = 1, .size_bytes = 5 };

	world_fill(&world, "f", 100, 1);
	cr_assert(!guard_stored_notice(&world.segment, key_of_file("f"), &before, &answer));
	record_file("f");
	cr_assert(guard_stored_notice(&world.segment, key_of_file("f"), &before, &answer));
	ASSERT_ANSWER(answer, GUARD_NOTICE, GUARD_WARN, 0);
	cr_assert(version_equal(&answer.before, &before));
	cr_assert_eq(answer.file_key, key_of_file("f"));
	cr_assert(!guard_stored_notice(&world.segment, key_of_file("f"), &before, &answer));
	cr_assert_eq(counter(COUNTER_notices_stored), 1);
}

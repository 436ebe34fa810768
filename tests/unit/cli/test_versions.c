/* versions.h, versions_store.h, versions_pack.h: what is kept of files, from an index, a directory and packs. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "cli/base/exit_code.h"
#include "cli/undo/place.h"
#include "cli/undo/versions.h"
#include "cli/undo/versions_pack.h"
#include "cli/undo/versions_store.h"
#include "support.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_write.h"

static struct world world;
static struct versions versions;
static const struct versions_row *row;
static char output[4096];

static void init(void)
{
	world_open(&world, "undo.reserve=0", NULL);
	versions = (struct versions){ .workspace = strdup(world.workspace) };
	must(versions.workspace);
}

static void finish(void)
{
	versions_free(&versions);
	world_close(&world);
}

TestSuite(versions, .init = init, .fini = finish);

static const char *messages(void)
{
	FILE *file = cr_get_redirected_stderr();
	size_t size = fread(output, 1, sizeof(output) - 1, file);

	output[size] = '\0';
	return output;
}

/* Keeps a content in the store; its name there. */
static const char *keep(const char *bytes)
{
	static char name[CONTENTS_NAME_BYTES];
	char path[200];
	struct version version = version_of_bytes(bytes, strlen(bytes));

	contents_name(&version, name);
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, name);
	write_path(path, bytes, strlen(bytes));
	return name;
}

/* The next line of the index. */
static void index_line(uint64_t time_ns, const char *name, const char *rest)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, CONTENTS_INDEX);
	FILE *file = fopen(path, "a");
	must(file);
	(void)fprintf(file, "%llu %s %s", (unsigned long long)time_ns, name, rest);
	must(fclose(file) == 0);
}

static void read_store(void)
{
	cr_assert_eq(versions_store_read(world.contents, "test", &versions), 0);
	versions_unite(&versions);
}

static void add_row(const char *path, const char *bytes, uint64_t time_ns, mode_t mode)
{
	struct versions_row *added = versions_add(&versions);

	must(added && versions_add_store(&versions, "/nowhere", "test"));
	added->version = version_of_bytes(bytes, strlen(bytes));
	added->realtime_ns = time_ns;
	added->mode = mode;
	added->path = path ? strdup(path) : NULL;
}

/* The first digits of a content's version. */
static const char *digits_of(const char *bytes, size_t count)
{
	static char name[CONTENTS_NAME_BYTES];
	struct version version = version_of_bytes(bytes, strlen(bytes));

	contents_name(&version, name);
	name[count] = '\0';
	return name;
}

/* ---- a store ---- */

Test(versions, the_newest_come_first)
{
	index_line(20, keep("two"), "destroyed 0644 /w/f\n");
	index_line(10, keep("one"), "destroyed /w/f\n");
	index_line(40, keep("two"), "destroyed /w/f\n"); /* again, by an older form of the line */
	index_line(30, keep("three"), "given 0600 /w/e\n");
	read_store();
	cr_assert_eq(versions.count, 3);
	static const uint64_t TIMES[] = { 40, 30, 10 };
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(versions.rows[i].realtime_ns, TIMES[i]);
	cr_assert_eq(versions.rows[0].mode, 0644);
	cr_assert_str_eq(versions.rows[1].path, "/w/e");
	cr_assert_eq(versions.rows[2].mode, VERSIONS_NO_MODE);
}

Test(versions, names_are_taken_back_from_their_escapes)
{
	static const struct {
		const char *line, *path;
	} CASES[] = {
		{ "destroyed /w/\\x1b[31m\n", "/w/\x1b[31m" },
		{ "destroyed /w/\\xff\\x01\n", "/w/\xff\x01" },
		{ "destroyed /w/a\\nb\\tc\\rd\\\\e\n", "/w/a\nb\tc\rd\\e" },
		{ "destroyed /w/a b\n", "/w/a b" },
		/* none of these was made of a name */
		{ "destroyed /w/\\x00\n", NULL },
		{ "destroyed /w/\\x0\n", NULL },
		{ "destroyed /w/\\xg0\n", NULL },
		{ "destroyed /w/\\xF0\n", NULL },
		{ "destroyed /w/\\q\n", NULL },
		{ "destroyed /w/\\\n", NULL },
		{ "destroyed w/f\n", NULL },
		{ "taken /w/f\n", NULL },
		{ "destroyed\n", NULL },
		{ "destroyed /w/f", NULL }, /* its writer was killed */
	};
	char path[200];

	cr_redirect_stderr();
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, CONTENTS_INDEX);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		(void)unlink(path);
		index_line(10, keep("one"), CASES[i].line);
		read_store();
		cr_assert_eq(versions.count, 1, "%zu", i);
		cr_assert_eq(!versions.rows[0].path, !CASES[i].path, "%zu", i);
		if (CASES[i].path)
			cr_assert_str_eq(versions.rows[0].path, CASES[i].path);
		versions_free(&versions);
	}
	cr_assert(strstr(messages(), "/index:1: no line of an index, skipped\n"), "%s", output);
	cr_assert(
		strstr(output, "/index:1: no line of an index, skipped (its writer was killed)\n"),
		"%s", output);
}

Test(versions, what_is_not_there_is_no_version)
{
	char path[200];

	index_line(10, "00000000000000000000000000000000-3", "destroyed /w/f\n");
	(void)snprintf(path, sizeof(path), "%s/11111111111111111111111111111111-5", world.contents);
	write_path(path, "1234", 4); /* shorter than its name says */
	(void)snprintf(path, sizeof(path), "%s/README", world.contents);
	write_path(path, "1234", 4);
	read_store();
	cr_assert_eq(versions.count, 0);
	cr_assert_eq(versions_store_read(NULL, "test", &versions), -ENOENT);
	cr_assert_eq(versions_store_read("/nonexistent", "test", &versions), -ENOENT);
	cr_assert_eq(versions_pack_read(NULL, "test", &versions), -ENOENT);
	cr_assert_eq(versions_pack_read("/nonexistent", "test", &versions), -ENOENT);
}

/* ---- choosing ---- */

Test(versions, a_version_is_named_by_its_first_digits)
{
	char upper[40];

	cr_redirect_stderr();
	add_row("/w/f", "one", 1, 0644);
	add_row("/w/f", "two", 2, 0644);
	add_row("/w/g", "three", 3, 0644);
	add_row("/w/h", "three", 3, 0644);
	add_row(NULL, "four", 4, VERSIONS_NO_MODE);
	cr_assert_eq(versions_choose(&versions, "/w/f", digits_of("one", 12), &row), EXIT_CODE_OK);
	cr_assert(row == &versions.rows[0]);
	cr_assert_eq(versions_choose(&versions, NULL, digits_of("two", 32), &row), EXIT_CODE_OK);
	cr_assert(row == &versions.rows[1]);
	(void)snprintf(upper, sizeof(upper), "%s", digits_of("two", 20));
	for (char *at = upper; *at; at++)
		*at = (char)(*at >= 'a' ? *at - 'a' + 'A' : *at);
	cr_assert_eq(versions_choose(&versions, "/w/f", upper, &row), EXIT_CODE_OK);
	cr_assert(row == &versions.rows[1]);
	/* another file's, for this path */
	cr_assert_eq(versions_choose(&versions, "/w/f", digits_of("three", 8), &row), EXIT_CODE_OK);
	cr_assert(version_equal(&row->version, &versions.rows[2].version));

	cr_assert_eq(versions_choose(&versions, NULL, digits_of("three", 8), &row),
		     EXIT_CODE_USAGE);
	cr_assert_eq(versions_choose(&versions, NULL, digits_of("four", 8), &row), EXIT_CODE_USAGE);
	cr_assert_eq(versions_choose(&versions, NULL, digits_of("one", 3), &row), EXIT_CODE_USAGE);
	cr_assert_eq(versions_choose(&versions, "/w/f", "", &row), EXIT_CODE_USAGE);
	cr_assert_eq(versions_choose(&versions, "/w/f", "12x4", &row), EXIT_CODE_USAGE);
	cr_assert_eq(versions_choose(&versions, "/w/f", digits_of("five", 8), &row),
		     EXIT_CODE_NOTHING);
	static const char *const WANTED[] = {
		": more than one file had that content, /w/g and /w/h: say which, before the "
		"version\n",
		": it is not known which file that was: say where it is to go: `seen restore PATH ",
		": without a path a version takes four digits at least\n",
		": no version: those are the hexadecimal digits that `seen versions` shows, or the "
		"first of them\n",
		"12x4: no version: ",
		": no such version is kept; `seen versions` lists them\n",
	};
	(void)messages();
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		cr_assert(strstr(output, WANTED[i]), "%s\n%s", WANTED[i], output);
}

Test(versions, digits_that_several_begin_with_are_too_few)
{
	char bytes[32], digits[2] = "";
	bool is_first[16] = { false };

	cr_redirect_stderr();
	for (int i = 0; !digits[0]; i++) { /* two that have the first digit in common */
		(void)snprintf(bytes, sizeof(bytes), "content %d", i);
		add_row("/w/f", bytes, 1, 0644);
		int digit = (int)strtol(digits_of(bytes, 1), NULL, 16);
		if (is_first[digit])
			digits[0] = "0123456789abcdef"[digit];
		is_first[digit] = true;
	}
	cr_assert_eq(versions_choose(&versions, "/w/f", digits, &row), EXIT_CODE_USAGE);
	cr_assert(strstr(messages(), ": more than one version begins so: give more digits\n"));
}

Test(versions, a_path_is_found_from_the_workspace_on)
{
	char path[SEGMENT_PATH_BYTES], below[200];

	(void)snprintf(below, sizeof(below), "%s/d/f", world.workspace);
	add_row(below, "one", 1, 0644);
	cr_assert_eq(versions_path(&versions, "d/f", path, sizeof(path)), 0);
	cr_assert_str_eq(path, below);
	cr_assert_eq(versions_path(&versions, "d/g", path, sizeof(path)), 0);
	cr_assert_str_neq(path, below);
	cr_assert_str_eq(versions_name(&versions, below), "d/f");
	cr_assert_str_eq(versions_name(&versions, "/elsewhere"), "/elsewhere");
	cr_assert_str_eq(versions_name(&versions, world.workspace), world.workspace);
	versions.workspace[1] = '\0'; /* "/" */
	cr_assert_str_eq(versions_name(&versions, "/etc/f"), "etc/f");
	cr_assert(versions_is_digits(&versions, "abcd"));
	cr_assert_not(versions_is_digits(&versions, "abc"));
	cr_assert_not(versions_is_digits(&versions, "wxyz"));
}

Test(versions, what_is_on_disk_is_marked)
{
	write_path(world_path(&world, "f"), "two", 3);
	add_row(world_path(&world, "f"), "one", 1, 0644);
	add_row(world_path(&world, "f"), "two", 2, 0644);
	add_row(world_path(&world, "f"), "three", 3, 0644);
	add_row(world_path(&world, "gone"), "two", 4, 0644);
	add_row(NULL, "two", 5, VERSIONS_NO_MODE);
	versions_compare(&versions);
	for (size_t i = 0; i < versions.count; i++)
		cr_assert_eq(versions.rows[i].on_disk, versions.rows[i].realtime_ns == 2);
	cr_assert_eq(versions.rows[0].realtime_ns, 5); /* the newest first again */
	struct version version = version_of_bytes("two", 3), other = version_of_bytes("ten", 3);
	cr_assert(versions_has(&versions, &version));
	cr_assert_not(versions_has(&versions, &other));
}

/* ---- packs ---- */

static void pack(enum pack_kind kind, const char *path, uint32_t flags, enum pack_held held,
		 const struct pack_state *before)
{
	struct pack_note note = { .kind = kind, .path = path, .flags = flags, .before = *before };

	must(pack_write(&world.segment, &note, held, "bytes", held == PACK_INLINE ? 5 : 0) !=
	     PACK_NO_PLACE);
}

Test(versions, packs_hold_versions_of_files_alone)
{
	static const struct pack_state FILE_WAS = { .mode = S_IFREG | 0640, .size_bytes = 5 },
				       LINK_WAS = { .mode = S_IFLNK | 0777, .size_bytes = 5 };

	pack(PACK_REMOVED, "/w/removed", 0, PACK_INLINE, &FILE_WAS);
	pack(PACK_REPLACED, "/w/replaced", 0, PACK_INLINE, &FILE_WAS);
	pack(PACK_CONTENT, "/w/changed", 0, PACK_INLINE, &FILE_WAS);
	pack(PACK_REMOVED, "/w/link", 0, PACK_INLINE, &LINK_WAS);
	pack(PACK_METADATA, "/w/attribute", 0, PACK_INLINE, &FILE_WAS);
	pack(PACK_CONTENT, "/w/nameless", PACK_NO_NAME, PACK_INLINE, &FILE_WAS);
	pack(PACK_REMOVED, "/w/cut", PACK_CUT, PACK_INLINE, &FILE_WAS);
	pack(PACK_REMOVED, "/w/lost", 0, PACK_NOT_KEPT, &FILE_WAS);
	pack(PACK_AFTER, "/w/after", 0, PACK_INLINE, &FILE_WAS);
	cr_assert_eq(versions_pack_read(world.undo, "test", &versions), 0);
	cr_assert_eq(versions.count, 3);
	static const char *const PATHS[] = { "/w/removed", "/w/replaced", "/w/changed" };
	for (size_t i = 0; i < 3; i++) {
		char bytes[8] = "";
		cr_assert_str_eq(versions.rows[i].path, PATHS[i]);
		cr_assert_eq(versions.rows[i].mode, 0640);
		int fd = versions_open(&versions, &versions.rows[i]);
		cr_assert_geq(fd, 0);
		cr_assert_eq(read(fd, bytes, sizeof(bytes)), 5);
		cr_assert_str_eq(bytes, "bytes");
		(void)close(fd);
	}
}

Test(versions, a_file_is_as_the_session_left_it_by_its_last_record_alone)
{
	const char *path = world_path(&world, "f");
	struct pack_state state;
	struct stat stat;

	write_path(path, "text", 4);
	must(place_inspect(AT_FDCWD, path, &state) == 0 && lstat(path, &stat) == 0);
	cr_assert_not(versions_pack_left(world.undo, path, &stat)); /* there is none */
	cr_assert_not(versions_pack_left(NULL, path, &stat));
	cr_assert_not(versions_pack_left("/nonexistent", path, &stat));
	pack(PACK_AFTER, path, 0, PACK_NOT_TAKEN, &state);
	pack(PACK_AFTER, "/w/other", PACK_SHARED, PACK_NOT_TAKEN, &state);
	cr_assert(versions_pack_left(world.undo, path, &stat));
	struct stat other = stat;
	other.st_size++;
	cr_assert_not(versions_pack_left(world.undo, path, &other));
	other = stat;
	other.st_mtim.tv_nsec ^= 1;
	cr_assert_not(versions_pack_left(world.undo, path, &other));
	other = stat;
	other.st_ctim.tv_nsec ^= 1;
	cr_assert_not(versions_pack_left(world.undo, path, &other));
	other = stat;
	other.st_ino++;
	cr_assert_not(versions_pack_left(world.undo, path, &other));
	pack(PACK_AFTER, path, PACK_SHARED, PACK_NOT_TAKEN,
	     &state); /* another one may write to it */
	cr_assert_not(versions_pack_left(world.undo, path, &stat));
	pack(PACK_AFTER, path, 0, PACK_NOT_TAKEN, &state);
	cr_assert(versions_pack_left(world.undo, path, &stat));
	pack(PACK_CONTENT, path, 0, PACK_NOT_KEPT,
	     &state); /* a change whose end is not on record */
	cr_assert_not(versions_pack_left(world.undo, path, &stat));
}

/*
 * patch.h: what is written, `git apply` takes, and `patch -p1` where it is text: over random trees, each gives exactly
 * the tree after.  6 trees, 300 with SEEN_LONG.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "cli/undo/patch.h"
#include "cli/undo/patch_binary.h"
#include "support.h"

enum { FILES = 14, ROUNDS = 6, ROUNDS_LONG = 300, BYTES_MAX = 200000 };

struct file {
	uint32_t mode; /* 0: it is not there */
	char *bytes;
	size_t size;
};

static struct file old[FILES], new[FILES];
static int renamed_from[FILES]; /* -1: it was not */
static uint64_t seed;
static bool is_text; /* patch(1) takes it */
static char top[64];

static const char *const NAMES[FILES] = {
	"plain",         "with space", "dir/inner", "dir/other",   "dir/deep/er",
	"tab\there",     "quo\"te",    "new\nline", "back\\slash", "\xc3\xa4 utf",
	"bytes\xff\x01", "-dash",      "sp/a ce/x", "e=@{~}!#",
};

static uint32_t chance(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

/* ---- trees ---- */

static void set(struct file *file, uint32_t mode, size_t capacity)
{
	free(file->bytes);
	*file = (struct file){ mode, calloc(1, capacity + 1), 0 };
	must(file->bytes != NULL);
}

static void fill_text(struct file *file, uint32_t lines)
{
	for (uint32_t i = 0; i < lines; i++)
		file->size += (size_t)sprintf(file->bytes + file->size, "%s line %u%s\n",
					      chance(9) ? "a" : "\\ -+@\xff", chance(90),
					      chance(6) ? "" : "\r");
	if (file->size && chance(4) == 0)
		file->size--;
}

static void fill_binary(struct file *file, size_t size)
{
	for (; file->size < size; file->size++)
		file->bytes[file->size] = (char)chance(256);
	file->bytes[0] = '\0';
}

static void make(struct file *file)
{
	uint32_t kind = chance(is_text ? 6 : 8);

	set(file, kind == 5 ? S_IFLNK | 0777 : S_IFREG | (chance(4) ? 0644 : 0755), BYTES_MAX);
	if (kind == 5)
		file->size = (size_t)sprintf(file->bytes, "to/somewhere %u", chance(1000));
	else if (kind > 5)
		fill_binary(file, 1 + chance(kind == 6 ? 300 : 140000));
	else if (kind > 0)
		fill_text(file, chance(60));
}

/* Some lines are others. */
static void edit(const struct file *from, struct file *file)
{
	set(file, from->mode, BYTES_MAX);
	for (size_t at = 0; at < from->size;) {
		const char *newline = memchr(from->bytes + at, '\n', from->size - at);
		size_t end = newline ? (size_t)(newline - from->bytes) + 1 : from->size;
		if (chance(12) == 0)
			file->size += (size_t)sprintf(file->bytes + file->size, "new %u\n",
						      chance(1000));
		if (chance(12)) {
			memcpy(file->bytes + file->size, from->bytes + at, end - at);
			file->size += end - at;
		}
		at = end;
	}
}

static void copy(const struct file *from, struct file *file)
{
	set(file, from->mode, BYTES_MAX);
	memcpy(file->bytes, from->bytes, from->size);
	file->size = from->size;
}

static void make_trees(void)
{
	for (int i = 0; i < FILES; i++) {
		renamed_from[i] = -1;
		set(&old[i], 0, 0);
		set(&new[i], 0, 0);
		if (chance(4))
			make(&old[i]);
	}
	for (int i = 0; i < FILES; i++) {
		uint32_t what = chance(7);
		bool is_link = S_ISLNK(old[i].mode);
		if (!old[i].mode) {
			if (what < 3)
				make(&new[i]);
		} else if (what < 2) {
			copy(&old[i], &new[i]);
			if (!is_link && what == 1)
				new[i].mode ^= 0111;
		} else if (what < 5) {
			edit(&old[i], &new[i]);
			if (is_link) /* an empty target is none */
				new[i].size = (size_t)sprintf(new[i].bytes, "elsewhere");
		}
	}
	for (int i = 0; i < FILES; i++) {
		int from = (int)chance(FILES);
		if (old[i].mode || new[i].mode || !old[from].mode || new[from].mode ||
		    S_ISLNK(old[from].mode))
			continue;
		bool is_taken = false;
		for (int j = 0; j < FILES; j++)
			is_taken = is_taken || renamed_from[j] == from;
		if (is_taken)
			continue;
		renamed_from[i] = from;
		chance(2) ? edit(&old[from], &new[i]) : copy(&old[from], &new[i]);
	}
}

static void make_directories(const char *path)
{
	char copy_of[256];
	(void)snprintf(copy_of, sizeof(copy_of), "%s", path);
	for (char *at = copy_of + strlen(top) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)mkdir(copy_of, 0755);
	}
}

static const char *place(int i)
{
	static char path[256];
	(void)snprintf(path, sizeof(path), "%s/tree/%s", top, NAMES[i]);
	return path;
}

static void write_tree(const struct file *files)
{
	for (int i = 0; i < FILES; i++) {
		const char *path = place(i);
		make_directories(path);
		if (S_ISLNK(files[i].mode)) {
			must(symlink(files[i].bytes, path) == 0);
		} else if (files[i].mode) {
			write_path(path, files[i].bytes, files[i].size);
			must(chmod(path, files[i].mode & 0777) == 0);
		}
	}
}

static void check_tree(const struct file *files, const char *tool)
{
	static char bytes[BYTES_MAX];

	for (int i = 0; i < FILES; i++) {
		struct stat stat = { .st_mode = 0 };
		const char *path = place(i);
		ssize_t size = 0;
		(void)lstat(path, &stat);
		cr_assert_eq(patch_mode(stat.st_mode),
			     files[i].mode ? patch_mode(files[i].mode) : 0,
			     "%s, seed %lu: mode %o of %s", tool, seed, stat.st_mode, NAMES[i]);
		if (S_ISLNK(stat.st_mode)) {
			size = readlink(path, bytes, sizeof(bytes));
		} else if (stat.st_mode) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			size = read(fd, bytes, sizeof(bytes));
			must(close(fd) == 0);
		}
		cr_assert(size == (ssize_t)files[i].size &&
				  memcmp(bytes, files[i].bytes, files[i].size) == 0,
			  "%s: bytes of %s", tool, NAMES[i]);
	}
}

/* ---- the patch ---- */

static void write_pair(FILE *file, const struct file *from, int from_name, const struct file *to,
		       int to_name)
{
	struct patch_side sides[2] = {
		{ NAMES[from_name], from->mode, from->bytes, from->size },
		{ NAMES[to_name], to->mode, to->bytes, to->size },
	};
	struct patch_pair pair;

	cr_assert_eq(patch_pair_make(&sides[0], &sides[1], &pair), 0);
	(void)patch_write(file, &pair, &PATCH_PLAIN);
	patch_pair_free(&pair);
}

static void write_all(bool is_reversed)
{
	char path[96];
	(void)snprintf(path, sizeof(path), "%s/patch", top);
	FILE *file = fopen(path, "we");

	must(file != NULL);
	(void)fputs("# What a patch cannot carry.\n", file);
	for (int i = 0; i < FILES; i++) {
		bool moved = false;
		int from = renamed_from[i] >= 0 ? renamed_from[i] : i;
		for (int j = 0; j < FILES; j++)
			moved = moved || renamed_from[j] == i;
		if (moved)
			continue;
		if (is_reversed)
			write_pair(file, &new[i], i, &old[from], from);
		else
			write_pair(file, &old[from], from, &new[i], i);
	}
	must(fclose(file) == 0);
}

static int tool(const char *command)
{
	char line[256];
	(void)snprintf(line, sizeof(line), "cd %s/tree && %s >../output 2>&1", top, command);
	return system(line); /* NOLINT(cert-env33-c): a test */
}

static void remake(const struct file *files)
{
	char path[96];
	(void)snprintf(path, sizeof(path), "%s/tree", top);
	(void)nftw(path, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	must(mkdir(path, 0755) == 0);
	write_tree(files);
}

static void apply(const char *command)
{
	write_all(false);
	remake(old);
	cr_assert_eq(tool(command), 0, "%s, in %s", command, top);
	check_tree(new, command);
}

static void run_rounds(bool text_alone, const char *command, const char *reverse)
{
	(void)umask(022);
	(void)setenv("GIT_CEILING_DIRECTORIES", "/", 1);
	(void)snprintf(top, sizeof(top), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(top) != NULL);
	is_text = text_alone;
	for (uint64_t round = 0; round < (getenv("SEEN_LONG") ? ROUNDS_LONG : ROUNDS); round++) {
		seed = round + 1;
		make_trees();
		bool differs = false;
		for (int i = 0; i < FILES; i++)
			differs = differs || old[i].mode != new[i].mode ||
				  old[i].size != new[i].size ||
				  memcmp(old[i].bytes, new[i].bytes, old[i].size) != 0;
		if (!differs)
			continue;
		apply(command);
		cr_assert_eq(tool(reverse), 0, "%s, in %s", reverse, top);
		check_tree(old, reverse);
	}
	(void)nftw(top, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

Test(patch, git_applies_it)
{
	if (access("/usr/bin/git", X_OK) != 0)
		cr_skip_test("no git");
	run_rounds(false, "git apply --whitespace=nowarn ../patch",
		   "git apply -R --whitespace=nowarn ../patch");
}

Test(patch, patch_applies_what_is_text)
{
	if (access("/usr/bin/patch", X_OK) != 0)
		cr_skip_test("no patch(1)");
	run_rounds(true, "patch -p1 -s -f --binary <../patch",
		   "patch -R -p1 -s -f --binary <../patch");
}

/* ---- details ---- */

static char *written(struct patch_side old_side, struct patch_side new_side)
{
	static char text[4096];
	struct patch_pair pair;
	FILE *file = fmemopen(text, sizeof(text), "w");

	must(file != NULL);
	cr_assert_eq(patch_pair_make(&old_side, &new_side, &pair), 0);
	text[0] = '\0';
	(void)patch_write(file, &pair, &PATCH_PLAIN);
	patch_pair_free(&pair);
	must(fclose(file) == 0);
	return text;
}

Test(patch, has_git_s_headers)
{
	struct patch_side gone = { "f", 0, NULL, 0 }, empty = { "f", S_IFREG | 0600, NULL, 0 };
	struct patch_side tool_file = { "f", S_IFREG | 0755, NULL, 0 };
	struct patch_side text = { "f", S_IFREG | 0644, "a\nb", 3 };
	struct patch_side other = { "g h", S_IFREG | 0644, "a\nb\n", 4 };

	cr_assert_str_eq(written(empty, empty), "");
	cr_assert_str_eq(
		written(gone, empty),
		"diff --git a/f b/f\nnew file mode 100644\nindex 0000000000..e69de29bb2\n");
	cr_assert_str_eq(written(empty, tool_file),
			 "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
	cr_assert_str_eq(
		written(text, gone),
		"diff --git a/f b/f\ndeleted file mode 100644\nindex 0a207c060e..0000000000\n"
		"--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n");
	cr_assert_str_eq(
		written(text, other),
		"diff --git a/f \"b/g h\"\nsimilarity index 50%\nrename from f\nrename to g h\n"
		"index 0a207c060e..422c2b7ab3 100644\n--- a/f\n+++ b/g h\t\n@@ -1,2 +1,2 @@\n"
		" a\n-b\n\\ No newline at end of file\n+b\n");
}

Test(patch, names_a_content_as_git_does)
{
	char id[PATCH_ID_BYTES];
	patch_id("", 0, id);
	cr_assert_str_eq(id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
	patch_id("hello\n", 6, id);
	cr_assert_str_eq(id, "ce013625030ba8dba906f756967f9e9ca394464a");
}

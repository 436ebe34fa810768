/* Patches in git's format: see patch.h. */
#include "cli/undo/patch.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/undo/patch_binary.h"

enum { ID_SHOWN = 10 };

static const char EMPTY[] = "";

const struct patch_style PATCH_PLAIN = { "", { "", "", "", "" } };
const struct patch_style PATCH_COLOURED = { "\033[1m",
					    { "\033[36m", "\033[31m", "\033[32m", "\033[m" } };

/* ---- names ---- */

static bool is_plain(const char *name, char lowest)
{
	for (; *name; name++)
		if (*name < lowest || *name > '~' || *name == '"' || *name == '\\')
			return false;
	return true;
}

/* lowest: of the characters that need no quotes. */
static void write_name(FILE *file, const char *prefix, const char *name, char lowest)
{
	static const char ESCAPED[] = "\a\b\t\n\v\f\r\"\\", LETTERS[] = "abtnvfr\"\\";

	if (is_plain(name, lowest)) {
		(void)fprintf(file, "%s%s", prefix, name);
		return;
	}
	(void)fprintf(file, "\"%s", prefix);
	for (; *name; name++) {
		const char *escaped = strchr(ESCAPED, *name);
		if (escaped)
			(void)fprintf(file, "\\%c", LETTERS[escaped - ESCAPED]);
		else if (*name < ' ' || *name > '~')
			(void)fprintf(file, "\\%03o", (unsigned char)*name);
		else
			(void)fputc(*name, file);
	}
	(void)fputc('"', file);
}

void patch_name_write(FILE *file, const char *prefix, const char *name)
{
	write_name(file, prefix, name, ' ');
}

/* "PREFIX a/NAME": behind a name with a space a tab, by which patch(1) finds its end. */
static void write_label(FILE *file, const char *head, const char *prefix, const char *name,
			const struct patch_style *style)
{
	(void)fprintf(file, "%s%s", style->meta, head);
	if (name)
		patch_name_write(file, prefix, name);
	else
		(void)fputs("/dev/null", file);
	(void)fprintf(file, "%s%s\n", name && is_plain(name, ' ') && strchr(name, ' ') ? "\t" : "",
		      style->hunks.off);
}

/* ---- making ---- */

uint32_t patch_mode(uint32_t mode)
{
	if (S_ISREG(mode))
		return mode & S_IXUSR ? 0100755 : 0100644;
	return S_ISLNK(mode) ? 0120000 : 0;
}

int patch_pair_make(const struct patch_side *old, const struct patch_side *new,
		    struct patch_pair *ret_pair)
{
	*ret_pair = (struct patch_pair){ .old = *old, .new = *new, .similarity = 100 };
	if (!ret_pair->old.bytes)
		ret_pair->old.bytes = EMPTY;
	if (!ret_pair->new.bytes)
		ret_pair->new.bytes = EMPTY;
	/* A NUL anywhere: patch(1) has none in its lines. */
	ret_pair->is_binary = memchr(ret_pair->old.bytes, '\0', old->size) ||
			      memchr(ret_pair->new.bytes, '\0', new->size);
	if (ret_pair->is_binary) {
		size_t larger = old->size > new->size ? old->size : new->size;
		bool is_same = old->size ==
			       new->size &&memcmp(ret_pair->old.bytes, ret_pair->new.bytes,
						  larger) == 0;
		ret_pair->similarity = is_same ? 100 : 0;
		return 0;
	}
	int error = line_script_make(ret_pair->old.bytes, old->size, ret_pair->new.bytes, new->size,
				     &ret_pair->script);
	if (error < 0)
		return error;
	ret_pair->removed = ret_pair->script.removed;
	ret_pair->added = ret_pair->script.added;
	ret_pair->similarity = hunks_similarity(&ret_pair->script);
	return 0;
}

void patch_pair_free(struct patch_pair *pair)
{
	line_script_free(&pair->script);
}

/* ---- writing ---- */

static void write_modes(FILE *file, const struct patch_pair *pair, const struct patch_style *style)
{
	uint32_t old = patch_mode(pair->old.mode), new = patch_mode(pair->new.mode);
	const char *meta = style->meta, *off = style->hunks.off;

	if (!old)
		(void)fprintf(file, "%snew file mode %06o%s\n", meta, new, off);
	else if (!new)
		(void)fprintf(file, "%sdeleted file mode %06o%s\n", meta, old, off);
	else if (old != new)
		(void)fprintf(file, "%sold mode %06o%s\n%snew mode %06o%s\n", meta, old, off, meta,
			      new, off);
}

static void write_rename(FILE *file, const struct patch_pair *pair, const struct patch_style *style)
{
	const char *meta = style->meta, *off = style->hunks.off;

	(void)fprintf(file, "%ssimilarity index %u%%%s\n%srename from ", meta, pair->similarity,
		      off, meta);
	patch_name_write(file, "", pair->old.path);
	(void)fprintf(file, "%s\n%srename to ", off, meta);
	patch_name_write(file, "", pair->new.path);
	(void)fprintf(file, "%s\n", off);
}

/* The names of both contents: whole where `git apply` needs them. */
static void write_index(FILE *file, const struct patch_pair *pair, const struct patch_style *style)
{
	char old[PATCH_ID_BYTES], new[PATCH_ID_BYTES];
	uint32_t mode = patch_mode(pair->old.mode);
	int digits = pair->is_binary ? PATCH_ID_BYTES - 1 : ID_SHOWN;

	memset(old, '0', sizeof(old));
	memset(new, '0', sizeof(new));
	if (pair->old.mode)
		patch_id(pair->old.bytes, pair->old.size, old);
	if (pair->new.mode)
		patch_id(pair->new.bytes, pair->new.size, new);
	(void)fprintf(file, "%sindex %.*s..%.*s", style->meta, digits, old, digits, new);
	if (mode && mode == patch_mode(pair->new.mode))
		(void)fprintf(file, " %06o", mode);
	(void)fprintf(file, "%s\n", style->hunks.off);
}

bool patch_differs(const struct patch_pair *pair)
{
	return patch_mode(pair->old.mode) != patch_mode(pair->new.mode) ||
	       pair->similarity != 100 || strcmp(pair->old.path, pair->new.path) != 0;
}

bool patch_write(FILE *file, const struct patch_pair *pair, const struct patch_style *style)
{
	bool is_rename = strcmp(pair->old.path, pair->new.path) != 0;
	bool is_same = pair->similarity == 100;

	if (!patch_differs(pair))
		return false;
	(void)fprintf(file, "%sdiff --git ", style->meta);
	/* Names with a space in quotes, which git does not need: patch(1) has no other place to find
	 * the name of an empty file. */
	write_name(file, "a/", pair->old.path, '!');
	(void)fputc(' ', file);
	write_name(file, "b/", pair->new.path, '!');
	(void)fprintf(file, "%s\n", style->hunks.off);
	write_modes(file, pair, style);
	if (is_rename)
		write_rename(file, pair, style);
	if (is_same && pair->old.mode && pair->new.mode)
		return true;
	write_index(file, pair, style);
	if (pair->is_binary) {
		patch_binary_write(file, pair->old.bytes, pair->old.size, pair->new.bytes,
				   pair->new.size);
	} else if (pair->old.size || pair->new.size) {
		write_label(file, "--- ", "a/", pair->old.mode ? pair->old.path : NULL, style);
		write_label(file, "+++ ", "b/", pair->new.mode ? pair->new.path : NULL, style);
		hunks_write(file, &pair->script, &style->hunks);
	}
	return true;
}

/* Three-way merges: see merge.h. */
#include "cli/undo/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/git2.h"

static bool is_text(const struct merge_text *text)
{
	return !text->size || !memchr(text->bytes, '\0', text->size);
}

static git_merge_file_input input_of(const struct merge_text *text)
{
	return (git_merge_file_input){ .version = GIT_MERGE_FILE_INPUT_VERSION,
				       .ptr = text->bytes ? text->bytes : "",
				       .size = text->size };
}

/* Lines that begin with the mark that a conflict begins with, and its label. */
static size_t count_marks(const char *bytes, size_t size, const char *label)
{
	static const char MARK[] = "<<<<<<< ";
	size_t count = 0, length = strlen(label);

	for (const char *at = bytes, *end = bytes + size; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line = newline ? (size_t)(newline - at) : (size_t)(end - at);
		count += line >= sizeof(MARK) - 1 + length &&
			 memcmp(at, MARK, sizeof(MARK) - 1) == 0 &&
			 memcmp(at + sizeof(MARK) - 1, label, length) == 0;
		at += line + 1;
	}
	return count;
}

int merge_texts(const struct merge_text *base, const struct merge_text *current,
		const struct merge_text *theirs, const char *current_label,
		const char *theirs_label, struct merge_text *ret_merged, size_t *ret_conflicts)
{
	const struct git2 *git2 = git2_load();
	git_merge_file_options options = { .version = GIT_MERGE_FILE_OPTIONS_VERSION };
	git_merge_file_result result = { .automergeable = 0 };

	if (!is_text(base) || !is_text(current) || !is_text(theirs))
		return -EINVAL;
	if (!git2)
		return -ENOSYS;
	const git_merge_file_input inputs[] = { input_of(base), input_of(current),
						input_of(theirs) };
	options.ancestor_label = "";
	options.our_label = current_label;
	options.their_label = theirs_label;
	if (git2->merge_file(&result, &inputs[0], &inputs[1], &inputs[2], &options) < 0)
		return -EIO;
	char *bytes = malloc(result.len + 1);
	if (bytes) {
		if (result.len)
			memcpy(bytes, result.ptr, result.len);
		bytes[result.len] = '\0';
		*ret_merged = (struct merge_text){ bytes, result.len };
		size_t marks = count_marks(bytes, result.len, current_label);
		*ret_conflicts = marks || result.automergeable ? marks : 1;
	}
	git2->merge_file_result_free(&result);
	return bytes ? 0 : -ENOMEM;
}

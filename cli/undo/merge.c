/* Three-way merges: see merge.h. */
#include "cli/undo/merge.h"

#include <errno.h>
#include <limits.h>
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

/* The longest run of the character that a conflict's first mark is made of. */
static size_t longest_mark(const char *bytes, size_t size)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < size; i++) {
		run = bytes[i] == '<' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static size_t count_marks(const char *bytes, size_t size, size_t mark)
{
	size_t count = 0;

	for (const char *at = bytes, *end = bytes + size; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line = newline ? (size_t)(newline - at) : (size_t)(end - at), run = 0;
		while (run < line && at[run] == '<')
			run++;
		count += run == mark;
		at += line + 1;
	}
	return count;
}

/* Conflicts of texts that cannot be merged without.  The texts may have such marks of their own, so they are merged
 * once more with longer ones. */
static size_t count_conflicts(const struct git2 *git2, const git_merge_file_input inputs[3],
			      git_merge_file_options options)
{
	git_merge_file_result result = { .automergeable = 0 };
	size_t mark = GIT_MERGE_CONFLICT_MARKER_SIZE - 1, count = 0;

	for (int i = 0; i < 3; i++) {
		size_t longest = longest_mark(inputs[i].ptr, inputs[i].size);
		mark = longest > mark ? longest : mark;
	}
	options.marker_size = (unsigned short)++mark;
	if (mark <= USHRT_MAX &&
	    git2->merge_file(&result, &inputs[0], &inputs[1], &inputs[2], &options) == 0)
		count = count_marks(result.ptr, result.len, mark);
	git2->merge_file_result_free(&result);
	return count ? count : 1;
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
		ret_merged->bytes = bytes;
		ret_merged->size = result.len;
		*ret_conflicts = result.automergeable ? 0 : count_conflicts(git2, inputs, options);
	}
	git2->merge_file_result_free(&result);
	return bytes ? 0 : -ENOMEM;
}

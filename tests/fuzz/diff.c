/* Diffs: a line script accounts for both texts; a unified diff is read to its end. */
#include "fuzz_harness.h"

#include "cli/files/line_script.h"
#include "cli/files/unified.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data;
	size_t left = size, old_bytes = fuzz_cut(&at, &left);
	const char *old = (const char *)data, *new = (const char *)at;
	size_t new_bytes = fuzz_cut(&at, &left);
	struct line_script script;

	if (line_script_make(old, old_bytes, new, new_bytes, &script) == 0) {
		size_t removed = 0, added = 0, i = 0, j = 0;
		for (size_t k = 0; k < script.old.count; k++)
			removed += script.old.changed[k];
		for (size_t k = 0; k < script.new.count; k++)
			added += script.new.changed[k];
		fuzz_holds(removed == script.removed && added == script.added);
		/* the lines that stay are the same in both, in their order */
		for (;;) {
			while (i < script.old.count && script.old.changed[i])
				i++;
			while (j < script.new.count && script.new.changed[j])
				j++;
			if (i == script.old.count || j == script.new.count)
				break;
			size_t bytes = script.old.starts[i + 1] - script.old.starts[i];
			fuzz_holds(bytes == script.new.starts[j + 1] - script.new.starts[j]);
			fuzz_holds(!memcmp(old + script.old.starts[i], new + script.new.starts[j],
					   bytes));
			i++;
			j++;
		}
		fuzz_holds(i == script.old.count && j == script.new.count);
	}
	line_script_free(&script);
	(void)unified_leads_to(old, old_bytes, (const char *)at, left, new, new_bytes);
	return 0;
}

/* Commands: a line of a shell taken apart, and a command's normal form, which is its own normal form. */
#include "fuzz_harness.h"

#include "cli/replay/command_line.h"
#include "tracker/process/normal_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct normal_facts FACTS = { false, NULL, NULL };
	struct command_line line;
	char *text = fuzz_text(data, size), form[4096];

	if (command_line_parse(text, "/d", &line) == 0) {
		fuzz_holds(line.count <= COMMAND_LINE_COMMANDS_MAX);
		for (size_t i = 0; i < line.count; i++) {
			char **words = line.commands[i];
			if (!words || !words[0])
				continue;
			size_t bytes = normal_form(words[0], words, &FACTS, form, sizeof(form));
			fuzz_holds(bytes <= sizeof(form) && (!bytes || !form[bytes - 1]));
		}
	}
	command_line_free(&line);
	free(text);
	return 0;
}

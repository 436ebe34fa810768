/* What an agent tells its hook: the first byte chooses the agent. */
#include "fuzz_harness.h"

#include <unistd.h>

#include "cli/hooks/hook_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const AGENTS[] = { "claude", "codex",    "gemini", "cline",
					      "pi",     "opencode", "qwen" };
	struct hook_input input;
	char path[64];

	if (!size)
		return 0;
	const struct hook_adapter *adapter = hook_adapter_find(
		AGENTS[data[0] % (sizeof(AGENTS) / sizeof(AGENTS[0]))]);
	fuzz_holds(adapter);
	int fd = fuzz_file(data + 1, size - 1, path);
	fuzz_holds(dup2(fd, 0) == 0);
	(void)close(fd);
	if (hook_input_read(adapter, &input)) {
		uint64_t first, count;
		if (input.known_tool && input.known_tool->kind == HOOK_TOOL_READ)
			hook_input_lines(&input, &first, &count);
		fuzz_holds(memchr(input.path, '\0', sizeof(input.path)));
		fuzz_holds(!input.path[0] || input.path[0] == '/');
	}
	hook_input_free(&input);
	return 0;
}

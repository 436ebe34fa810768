/* transcript_entry.h: lines as agents wrote them (2.1.197, 0.73.1, 0.169.0, 0.61.0), shortened. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/agents/transcript_entry.h"

static struct entry parse(const char *line)
{
	struct entry entry;
	entry_parse(line, strlen(line), &entry);
	return entry;
}

static uint64_t id(const char *text)
{
	return entry_hash(text, strlen(text));
}

static void expect_body(const struct entry_result *result, const char *body)
{
	cr_assert_eq(result->body_length, strlen(body), "%.*s", (int)result->body_length,
		     result->text + result->body);
	cr_assert_arr_eq(result->text + result->body, body, strlen(body));
}

Test(transcript_entry, claude)
{
	struct entry entry = parse(
		"{\"parentUuid\":null,\"isSidechain\":false,\"promptId\":\"p\",\"type\":\"user\","
		"\"message\":{\"role\":\"user\",\"content\":\"Do it.\"},\"uuid\":\"f90a\","
		"\"timestamp\":\"2026-11-23T08:45:02.452Z\",\"cwd\":\"/"
		"ws\",\"sessionId\":\"e047\"}");
	cr_assert(entry.is_known && entry.is_step && entry.is_prompt && !entry.is_side);
	cr_assert(!entry.is_list && entry.says_end);
	cr_assert_eq(entry.state, ENTRY_ASKED);
	cr_assert_eq(entry.id, id("f90a"));
	cr_assert_eq(entry.parent, 0);
	cr_assert_str_eq(entry.directory, "/ws");
	cr_assert_eq(entry.time_ns, UINT64_C(1795423502452000000));
	entry_done(&entry);

	entry = parse(
		"{\"parentUuid\":\"f90a\",\"isSidechain\":false,\"message\":{\"type\":\"message\","
		"\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"so\"},"
		"{\"type\":\"tool_use\",\"id\":\"toolu_8\",\"name\":\"Bash\",\"input\":{"
		"\"command\":\"cat A.py\",\"description\":\"run\"}},{\"type\":\"tool_use\","
		"\"id\":\"toolu_9\",\"name\":\"Task\",\"input\":{\"prompt\":\"look in /path\","
		"\"path\":\"/x\",\"subagent_type\":\"general-purpose\"}}],\"stop_reason\":"
		"\"tool_use\",\"context_management\":null},\"type\":\"assistant\",\"uuid\":"
		"\"6c74\"}");
	cr_assert_eq(entry.parent, id("f90a"));
	cr_assert_eq(entry.call_count, 2);
	cr_assert_eq(entry.calls[0].id, id("toolu_8"));
	cr_assert(entry.calls[0].is_plain);
	cr_assert_not(entry.calls[1].is_plain, "a task for another agent");
	cr_assert_eq(entry.state, ENTRY_ANSWERED);
	cr_assert_not(entry.cleared);
	entry_done(&entry);

	entry = parse(
		"{\"parentUuid\":\"6c74\",\"isSidechain\":false,\"type\":\"user\",\"message\":{"
		"\"role\":\"user\",\"content\":[{\"tool_use_id\":\"toolu_8\",\"type\":"
		"\"tool_result\",\"content\":\"value = 1\\nend\",\"is_error\":false}]},\"uuid\":"
		"\"53a1\",\"toolUseResult\":{\"stdout\":\"value = 1\\nend\"},"
		"\"sourceToolAssistantUUID\":\"6c74\"}");
	cr_assert_not(entry.is_prompt);
	cr_assert_eq(entry.result_count, 1);
	cr_assert_eq(entry.results[0].call, id("toolu_8"));
	cr_assert_eq(entry.holder, id("6c74"));
	expect_body(&entry.results[0], "value = 1\nend");
	cr_assert_eq(entry.state, ENTRY_ASKED);
	entry_done(&entry);

	entry = parse("{\"parentUuid\":\"4fc9\",\"isSidechain\":true,\"message\":{\"content\":[{"
		      "\"type\":\"text\",\"text\":\"done\"}],\"stop_reason\":\"end_turn\","
		      "\"context_management\":{\"applied_edits\":[{\"type\":"
		      "\"clear_tool_uses_20250919\"}]}},\"type\":\"assistant\",\"uuid\":\"92e8\"}");
	cr_assert(entry.is_side && entry.cleared);
	cr_assert_eq(entry.state, ENTRY_ENDED);
	entry_done(&entry);
}

Test(transcript_entry, claude_what_is_no_prompt)
{
	static const char *const CONTENTS[] = {
		"\"<command-name>/clear</command-name>\"",
		"\"<local-command-stdout></local-command-stdout>\"",
		"[{\"type\":\"text\",\"text\":\"[Request interrupted by user]\"}]",
	};
	char line[512];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(
			line, sizeof(line),
			"{\"parentUuid\":\"a\",\"type\":\"user\",\"message\":{\"role\":\"user\","
			"\"content\":%s},\"uuid\":\"b\"}",
			CONTENTS[i]);
		struct entry entry = parse(line);
		cr_assert(entry.is_step);
		cr_assert_not(entry.is_prompt, "%s", line);
		cr_assert_eq(entry.state, i == 2 ? ENTRY_ENDED : ENTRY_SAME);
		entry_done(&entry);
	}
	struct entry entry = parse(
		"{\"type\":\"last-prompt\",\"lastPrompt\":\"x\",\"leafUuid\":\"c\","
		"\"sessionId\":\"e\"}");
	cr_assert(entry.is_known && !entry.is_step);
	entry_done(&entry);
	entry = parse(
		"{\"parentUuid\":\"a\",\"type\":\"system\",\"subtype\":\"turn_duration\",\"uuid\":"
		"\"b\"}");
	cr_assert_eq(entry.state, ENTRY_ENDED);
	entry_done(&entry);
}

Test(transcript_entry, pi)
{
	struct entry entry = parse(
		"{\"type\":\"session\",\"version\":3,\"id\":\"01a2\",\"timestamp\":"
		"\"2026-11-23T08:45:00.386Z\",\"cwd\":\"/ws\"}");
	cr_assert(entry.is_known && !entry.is_step);
	cr_assert_str_eq(entry.directory, "/ws");
	entry_done(&entry);

	entry = parse(
		"{\"type\":\"message\",\"id\":\"3b80\",\"parentId\":\"7d86\",\"message\":{\"role\":"
		"\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"call_b\",\"name\":"
		"\"bash\",\"arguments\":{\"command\":\"cat A.py\"}}],\"stopReason\":\"toolUse\"}}");
	cr_assert_eq(entry.id, id("3b80"));
	cr_assert_eq(entry.parent, id("7d86"));
	cr_assert(entry.call_count == 1 && entry.calls[0].is_plain);
	entry_done(&entry);

	entry = parse(
		"{\"type\":\"message\",\"id\":\"429d\",\"parentId\":\"3b80\",\"message\":{\"role\":"
		"\"toolResult\",\"toolCallId\":\"call_b\",\"toolName\":\"bash\",\"content\":[{"
		"\"type\":\"text\",\"text\":\"one\\n\"},{\"type\":\"image\",\"data\":\"x\"},{"
		"\"type\":\"text\",\"text\":\"two\\n\"}],\"isError\":false}}");
	cr_assert_eq(entry.results[0].call, id("call_b"));
	expect_body(&entry.results[0], "one\ntwo\n");
	entry_done(&entry);

	entry = parse("{\"type\":\"message\",\"id\":\"1\",\"parentId\":\"2\",\"message\":{\"role\":"
		      "\"assistant\",\"content\":[],\"stopReason\":\"aborted\"}}");
	cr_assert_eq(entry.state, ENTRY_ENDED);
	entry_done(&entry);

	/* What the user ran, with and without the model's knowledge. */
	for (int excluded = 0; excluded < 2; excluded++) {
		entry = parse(
			excluded ? "{\"type\":\"message\",\"id\":\"1\",\"parentId\":\"2\","
				   "\"message\":{\"role\":\"bashExecution\",\"output\":\"x\","
				   "\"excludeFromContext\":true}}"
				 : "{\"type\":\"message\",\"id\":\"1\",\"parentId\":\"2\","
				   "\"message\":{\"role\":\"bashExecution\",\"output\":\"x\"}}");
		cr_assert_eq(entry.result_count, excluded ? 0 : 1);
		cr_assert_eq(entry.state, ENTRY_SAME);
		entry_done(&entry);
	}
}

Test(transcript_entry, codex)
{
	struct entry entry = parse(
		"{\"timestamp\":\"2026-11-23T08:45:04.165Z\",\"type\":\"session_meta\","
		"\"payload\":{\"id\":\"01a2\",\"cwd\":\"/ws\",\"source\":{\"subagent\":"
		"{\"thread_spawn\":{}}}}}");
	cr_assert(entry.is_known && entry.is_list && entry.is_side);
	cr_assert_str_eq(entry.directory, "/ws");
	entry_done(&entry);

	entry = parse(
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":"
		"\"exec_command\",\"arguments\":\"{\\\"cmd\\\": \\\"cat A.py\\\"}\",\"call_id\":"
		"\"call_3\"}}");
	cr_assert(entry.call_count == 1 && entry.calls[0].is_plain);
	cr_assert_eq(entry.calls[0].id, id("call_3"));
	entry_done(&entry);

	entry = parse(
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":"
		"\"spawn_agent\",\"arguments\":\"{\\\"message\\\": \\\"go\\\"}\",\"call_id\":"
		"\"call_4\"}}");
	cr_assert(entry.call_count == 1 && !entry.calls[0].is_plain);
	entry_done(&entry);

	entry = parse(
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call_output\","
		"\"call_id\":\"call_3\",\"output\":\"Chunk ID: 4a2d5c\\nWall time: 0.0 seconds\\n"
		"Process exited with code 0\\nOriginal token count: 2\\nOutput:\\nx\\r\\ny\\n\"}}");
	cr_assert_eq(entry.results[0].call, id("call_3"));
	expect_body(&entry.results[0], "x\r\ny\n");
	entry_done(&entry);

	entry = parse("{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}");
	cr_assert(entry.is_prompt && !entry.is_step);
	entry_done(&entry);
	entry = parse("{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_complete\"}}");
	cr_assert_eq(entry.state, ENTRY_ENDED);
	entry_done(&entry);
	entry = parse("{\"type\":\"compacted\",\"payload\":{\"message\":\"\"}}");
	cr_assert(entry.begins);
	entry_done(&entry);
}

Test(transcript_entry, gemini)
{
	struct entry entry = parse("{\"sessionId\":\"4e23\",\"projectHash\":\"534b\",\"kind\":"
				   "\"subagent\"}");
	cr_assert(entry.is_known && entry.is_side && !entry.is_step);
	entry_done(&entry);

	entry = parse(
		"{\"id\":\"16f1\",\"timestamp\":\"2026-11-23T08:45:07.686Z\",\"type\":\"user\","
		"\"content\":[{\"functionResponse\":{\"id\":\"run_0\",\"name\":"
		"\"run_shell_command\",\"response\":{\"output\":\"<untrusted_context>\\nOutput: "
		"x\\ny\\nExit Code: 1\\nProcess Group PGID: 17503\\n</untrusted_context>\"}}}]}");
	cr_assert(entry.is_step && !entry.is_prompt);
	cr_assert_eq(entry.results[0].call, id("run_0"));
	expect_body(&entry.results[0], "x\ny");
	entry_done(&entry);

	entry = parse("{\"id\":\"fd98\",\"timestamp\":\"x\",\"type\":\"gemini\",\"content\":\"\"}");
	cr_assert_eq(entry.state, ENTRY_ANSWERED);
	cr_assert_eq(entry.time_ns, 0);
	entry_done(&entry);

	entry = parse("{\"$set\":{\"messages\":[{\"id\":\"a\",\"type\":\"user\",\"content\":[{"
		      "\"functionResponse\":{\"id\":\"run_0\",\"response\":{\"output\":"
		      "\"<tool_output_masked>\"}}}]}]}}");
	cr_assert(entry.begins && entry.is_step);
	cr_assert_eq(entry.result_count, 1);
	entry_done(&entry);
	entry = parse("{\"$rewindTo\":\"4b16\"}");
	cr_assert_eq(entry.back_to, id("4b16"));
	entry_done(&entry);
}

Test(transcript_entry, anything_else)
{
	static const char *const LINES[] = { "",
					     "{",
					     "[]",
					     "{}",
					     "null",
					     "{\"type\":\"user\"}",
					     "{\"id\":\"a\",\"parentId\":3}",
					     "{\"payload\":{}}",
					     "{\"type\":\"message\",\"payload\":[]}",
					     "{\"id\":\"a\",\"type\":\"user\"}",
					     "{\"type\":\"user\",\"message\":\"\xff\"}" };
	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
		struct entry entry = parse(LINES[i]);
		cr_assert_not(entry.is_known, "%s", LINES[i]);
		entry_done(&entry);
	}
	/* Members of other types than are expected. */
	static const char *const UNUSUAL[] = {
		"{\"parentUuid\":1,\"type\":\"user\",\"message\":[],\"uuid\":{}}",
		"{\"parentUuid\":null,\"type\":\"assistant\",\"message\":{\"content\":[1,[],null,{"
		"\"type\":\"tool_use\"}],\"stop_reason\":7}}",
		"{\"parentUuid\":null,\"type\":\"user\",\"message\":{\"content\":[{\"type\":"
		"\"tool_result\",\"tool_use_id\":3,\"content\":[{\"text\":1},2]}]}}",
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call_output\","
		"\"output\":"
		"{\"content\":[3]}}}",
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"arguments\":"
		"\"{\"}}",
		"{\"$set\":{\"messages\":[{\"type\":\"user\",\"content\":[{\"functionResponse\":1}]"
		"}]}}",
	};
	for (size_t i = 0; i < sizeof(UNUSUAL) / sizeof(UNUSUAL[0]); i++) {
		struct entry entry = parse(UNUSUAL[i]);
		cr_assert(entry.is_known, "%s", UNUSUAL[i]);
		entry_done(&entry);
	}
}

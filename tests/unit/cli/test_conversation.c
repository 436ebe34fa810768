/* conversation.h: which results are on the branch, and when it is known what comes next. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/agents/conversation.h"

static struct conversation *conversation;
static const uint64_t SETTLED_NS = (uint64_t)CONVERSATION_SETTLES_MS * 1000000;

static void start(void)
{
	conversation = conversation_new();
}

static void stop(void)
{
	conversation_free(conversation);
}

static uint64_t hash(const char *text)
{
	return entry_hash(text, strlen(text));
}

static bool parse_at(uint64_t now_ns, const char *line)
{
	struct entry entry;

	entry_parse(line, strlen(line), &entry);
	cr_assert(entry.is_known, "%s", line);
	bool moved = conversation_add(conversation, &entry, now_ns);
	entry_done(&entry);
	return moved;
}

static bool parse(const char *line)
{
	return parse_at(1000, line);
}

/* pi's lines. */
static bool prompt(const char *id, const char *parent)
{
	char line[512];
	(void)snprintf(
		line, sizeof(line),
		"{\"type\":\"message\",\"id\":\"%s\",\"parentId\":%s%s%s,\"message\":{\"role\":"
		"\"user\",\"content\":\"x\"}}",
		id, parent ? "\"" : "", parent ? parent : "null", parent ? "\"" : "");
	return parse(line);
}

static bool call(const char *id, const char *parent, const char *name, const char *arguments)
{
	char line[512];
	(void)snprintf(
		line, sizeof(line),
		"{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"%s\",\"message\":{\"role\":"
		"\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"%s\",\"arguments\":{"
		"%s}}],\"stopReason\":\"toolUse\"}}",
		id, parent, name, arguments);
	return parse(line);
}

static bool result(const char *id, const char *parent, const char *name)
{
	char line[512];
	(void)snprintf(
		line, sizeof(line),
		"{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"%s\",\"message\":{\"role\":"
		"\"toolResult\",\"toolCallId\":\"%s\",\"content\":\"text\"}}",
		id, parent, name);
	return parse(line);
}

static bool done(const char *id, const char *parent)
{
	char line[512];
	(void)snprintf(
		line, sizeof(line),
		"{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"%s\",\"message\":{\"role\":"
		"\"assistant\",\"content\":[],\"stopReason\":\"stop\"}}",
		id, parent);
	return parse(line);
}

static bool has(const char *name)
{
	return conversation_has(conversation, hash(name), hash("text"));
}

static bool is_certain(uint64_t now_ns)
{
	uint64_t due_ns;
	return conversation_is_certain(conversation, now_ns, &due_ns);
}

static const char COMMAND[] = "\"command\":\"cat f\"", TASK[] = "\"task\":\"look\"";

/* u1 c1 r1 d1, and from there on */
static void one_turn(void)
{
	cr_assert_not(prompt("u1", NULL));
	cr_assert_not(call("c1", "u1", "one", COMMAND));
	cr_assert_not(result("r1", "c1", "one"));
	cr_assert_not(done("d1", "r1"));
}

Test(conversation, goes_on, .init = start, .fini = stop)
{
	cr_assert_not(conversation_is_reported(conversation));
	one_turn();
	cr_assert(conversation_is_reported(conversation));
	cr_assert(has("one"));
	cr_assert_not(has("two"));
	cr_assert_not(conversation_has(conversation, hash("one"), hash("masked")));
	cr_assert_not(prompt("u2", "d1"));
	cr_assert(has("one"));
}

Test(conversation, goes_back_and_comes_back, .init = start, .fini = stop)
{
	one_turn();
	cr_assert_not(prompt("u2", "d1"));
	(void)call("c2", "u2", "two", COMMAND);
	(void)result("r2", "c2", "two");
	(void)done("d2", "r2");
	cr_assert(prompt("u3", "d1"), "another branch");
	cr_assert(has("one") && !has("two"));
	cr_assert(prompt("u4", NULL), "from the beginning");
	cr_assert(!has("one") && !has("two"));
	cr_assert(prompt("u5", "d2"));
	cr_assert(has("one") && has("two"));
	cr_assert(prompt("u6", "u1"), "before the result");
	cr_assert(!has("one") && !has("two"));
	cr_assert(prompt("u7", "nobody"));
	cr_assert(!has("one") && !has("two"));
}

/* Claude Code's results of parallel calls are leaves; those of a call that is on the branch are too. */
Test(conversation, parallel_calls, .init = start, .fini = stop)
{
	static const char *const LINES[] = {
		"{\"parentUuid\":null,\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":"
		"\"x\"}}",
		"{\"parentUuid\":\"u\",\"type\":\"assistant\",\"uuid\":\"a1\",\"message\":{"
		"\"content\":[{"
		"\"type\":\"tool_use\",\"id\":\"one\",\"input\":{\"command\":\"x\"}}]}}",
		"{\"parentUuid\":\"a1\",\"type\":\"assistant\",\"uuid\":\"a2\",\"message\":{"
		"\"content\":"
		"[{\"type\":\"tool_use\",\"id\":\"two\",\"input\":{\"command\":\"x\"}}]}}",
		"{\"parentUuid\":\"a1\",\"type\":\"user\",\"uuid\":\"r1\","
		"\"sourceToolAssistantUUID\":"
		"\"a1\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
		"\"one\","
		"\"content\":\"text\"}]}}",
		"{\"parentUuid\":\"a2\",\"type\":\"user\",\"uuid\":\"r2\","
		"\"sourceToolAssistantUUID\":"
		"\"a2\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
		"\"two\","
		"\"content\":\"text\"}]}}",
	};
	for (size_t i = 0; i < 5; i++) {
		cr_assert_not(parse(LINES[i]), "no prompt: %zu", i);
		cr_assert_eq(is_certain(1000), i == 1 || i == 2 || i == 3, "%zu", i);
	}
	cr_assert(has("one") && has("two"));
}

Test(conversation, what_comes_next, .init = start, .fini = stop)
{
	cr_assert_not(is_certain(UINT64_MAX));
	(void)prompt("u1", NULL);
	cr_assert_not(is_certain(1000));
	cr_assert_not(is_certain(1000 + SETTLED_NS - 1));
	cr_assert(is_certain(1000 + SETTLED_NS));
	(void)call("c1", "u1", "one", COMMAND);
	cr_assert(is_certain(1000), "a command of its own");
	(void)result("r1", "c1", "one");
	cr_assert_not(is_certain(1000));
	cr_assert(is_certain(1000 + SETTLED_NS));
	(void)call("c2", "r1", "two", TASK);
	cr_assert_not(is_certain(UINT64_MAX), "another agent's commands");
	(void)result("r2", "c2", "two");
	cr_assert(is_certain(1000 + SETTLED_NS));
	(void)done("d1", "r2");
	cr_assert_not(is_certain(UINT64_MAX), "the user's turn: where it goes on is not known");
	cr_assert_not(conversation_is_live(conversation));
}

Test(conversation, lists, .init = start, .fini = stop)
{
	(void)parse("{\"sessionId\":\"s\",\"projectHash\":\"p\",\"kind\":\"main\"}");
	cr_assert_not(conversation_is_reported(conversation));
	(void)parse("{\"id\":\"u1\",\"type\":\"user\",\"content\":[{\"text\":\"x\"}]}");
	(void)parse("{\"id\":\"g1\",\"type\":\"gemini\",\"content\":\"\"}");
	cr_assert(is_certain(1000), "it may have called");
	(void)parse("{\"id\":\"g1\",\"type\":\"gemini\",\"content\":\"\",\"toolCalls\":[{\"id\":"
		    "\"one\"}]}");
	(void)parse("{\"id\":\"r1\",\"type\":\"user\",\"content\":[{\"functionResponse\":{\"id\":"
		    "\"one\","
		    "\"response\":{\"output\":\"text\"}}}]}");
	cr_assert(has("one"));
	(void)parse("{\"id\":\"u2\",\"type\":\"user\",\"content\":[{\"text\":\"y\"}]}");
	cr_assert(has("one"));
	cr_assert(parse("{\"$rewindTo\":\"g1\"}"));
	cr_assert_not(has("one"));
	(void)parse("{\"id\":\"u3\",\"type\":\"user\",\"content\":[{\"text\":\"z\"}]}");
	cr_assert_not(has("one"));
	/* The history as it is now: one result as it was, one masked. */
	cr_assert(
		parse("{\"$set\":{\"messages\":[{\"id\":\"r1\",\"type\":\"user\",\"content\":[{"
		      "\"functionResponse\":{\"id\":\"one\",\"response\":{\"output\":\"text\"}}},{"
		      "\"functionResponse\":{\"id\":\"two\",\"response\":{\"output\":\"masked\"}}}"
		      "]}]}}"));
	cr_assert(has("one") && !has("two"));
	cr_assert(parse("{\"$rewindTo\":\"unknown\"}"));
	cr_assert_not(has("one"));
}

Test(conversation, long_ones, .init = start, .fini = stop)
{
	enum { TURNS = 3000 };
	char id[16], before[16], name[16];

	for (int i = 0; i < TURNS; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		(void)snprintf(before, sizeof(before), "%d", i - 1);
		(void)snprintf(name, sizeof(name), "n%d", i);
		cr_assert_not(result(id, before, name));
	}
	cr_assert(has("n0") && has("n2999"));
	cr_assert(prompt("u", "10"));
	cr_assert(has("n0") && has("n10") && !has("n11") && !has("n2999"));
}

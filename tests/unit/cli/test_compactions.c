/* compactions.h: which lines of a transcript tell that a conversation was cut short. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/agents/compactions.h"

static const char CLAUDE[] =
	"type=system,subtype=compact_boundary type=system,subtype=microcompact_boundary";

static bool says(const char *line, const char *markers)
{
	return compactions_line_matches(line, strlen(line), markers, false);
}

Test(compactions, what_agents_write)
{
	cr_assert(says("{\"parentUuid\":null,\"type\":\"system\",\"subtype\":\"compact_boundary\","
		       "\"content\":"
		       "\"Conversation compacted\",\"compactMetadata\":{\"trigger\":\"auto\"}}",
		       CLAUDE));
	cr_assert(says("{\"subtype\":\"microcompact_boundary\",\"type\":\"system\"}", CLAUDE));
	cr_assert(
		says("{\"timestamp\":\"x\",\"type\":\"compacted\",\"payload\":{\"message\":\"\"}}",
		     "type=compacted type=event_msg,payload.type=context_compacted"));
	cr_assert(says("{\"type\":\"event_msg\",\"payload\":{\"type\":\"context_compacted\"}}",
		       "type=compacted type=event_msg,payload.type=context_compacted"));
	cr_assert(says("{\"$set\":{\"messages\":[],\"lastUpdated\":\"x\"}}",
		       "$set.messages $rewindTo"));
	cr_assert(says("{\"$rewindTo\":\"id\"}", "$set.messages $rewindTo"));
	cr_assert(says("{\"type\":\"compaction\",\"id\":\"1\"}",
		       "type=compaction type=branch_summary"));
}

Test(compactions, every_condition_of_a_word_and_any_word)
{
	cr_assert_not(says("{\"type\":\"system\",\"subtype\":\"init\"}", CLAUDE));
	cr_assert_not(says("{\"type\":\"user\",\"subtype\":\"compact_boundary\"}", CLAUDE));
	cr_assert_not(says("{\"type\":\"system\",\"subtype\":\"compact_boundary2\"}", CLAUDE));
	cr_assert_not(says("{\"type\":\"system\",\"subtype\":\"compact\"}", CLAUDE));
	cr_assert_not(says("{\"$set\":{\"lastUpdated\":\"messages\"}}", "$set.messages $rewindTo"));
	cr_assert_not(says("{\"$rewindTo\":null}", "$rewindTo"));
	cr_assert(says("{\"a\":0}", "a"));
	cr_assert(says("{\"a\":\"\"}", "a="));
	cr_assert_not(says("{\"a\":1}", "a=1"));
	cr_assert(says("{\"a\":{\"b\":{\"c\":\"d\"}}}", " \t x=y \n a.b.c=d "));
	cr_assert_not(says("{\"a\":{\"b\":[{\"c\":\"d\"}]}}", "a.b.c=d"));
	cr_assert_not(says("{\"a\":\"d\"}", ""));
	cr_assert_not(says("{\"a\":\"d\"}", ","));
	cr_assert_not(says("{\"a\":\"d\"}", "."));
	cr_assert_not(says("{\"a\":\"d\"}", "=d"));
}

/* A transcript holds what tools printed: another transcript, perhaps. */
Test(compactions, what_is_quoted_does_not_count)
{
	cr_assert_not(says("{\"type\":\"user\",\"message\":{\"content\":\"{\\\"type\\\":"
			   "\\\"system\\\",\\\"subtype\\\":"
			   "\\\"compact_boundary\\\"}\"}}",
			   CLAUDE));
	cr_assert_not(says("{\"type\":\"system\",\"toolUseResult\":{\"type\":\"system\","
			   "\"subtype\":\"compact_boundary\"}}",
			   CLAUDE));
	cr_assert_not(says("{\"x\":[{\"type\":\"compacted\"}],\"type\":\"response_item\"}",
			   "type=compacted"));
	cr_assert_not(says("[{\"type\":\"compacted\"}]", "type=compacted"));
	cr_assert_not(says("\"type\\\":\\\"compacted\"", "type=compacted"));
}

Test(compactions, what_is_no_object)
{
	static const char *const LINES[] = { "",
					     "{",
					     "{\"type\":\"compacted\"",
					     "{\"type\":\"compacted\"}}",
					     "{\"type\":\"compacted\"} x",
					     "type=compacted",
					     "\"compacted\"",
					     "null compacted" };
	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++)
		cr_assert_not(says(LINES[i], "type=compacted"), "%s", LINES[i]);
	cr_assert_not(
		compactions_line_matches("{\"type\":\"compacted\"}", 10, "type=compacted", false));
	cr_assert(says(" {\"type\" : \"compacted\", \"n\": 123456789012345678901234567890, "
		       "\"z\":\"\\u0000\"} ",
		       "type=compacted"));
}

Test(compactions, what_begins_a_conversation)
{
	static const char LINE[] = "{\"$set\":{\"messages\":[]}}";
	static const size_t LENGTH = sizeof(LINE) - 1;

	cr_assert(compactions_line_matches(LINE, LENGTH, "+$set.messages", false));
	cr_assert_not(compactions_line_matches(LINE, LENGTH, "+$set.messages", true));
	cr_assert(compactions_line_matches(LINE, LENGTH, "$set.messages", true));
	cr_assert(compactions_line_matches(LINE, LENGTH, "+$set.messages $set", true));
	cr_assert_not(compactions_line_matches(LINE, LENGTH, "+", false));
}

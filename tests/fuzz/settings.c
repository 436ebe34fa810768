/* An agent's settings: hooks put in and taken out again leave every byte as it was. */
#include "fuzz_harness.h"

#include "cli/agents/hooks_document.h"

static const char WANTED[] =
	"{\"hooks\":{\"PreCompact\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"seen forget "
	"--hook PreCompact >/dev/null 2>&1 || :\"}]}],"
	"\"SessionStart\":[{\"matcher\":\"startup|clear\",\"hooks\":[{\"type\":\"command\","
	"\"command\":\"seen forget --hook SessionStart >/dev/null 2>&1 || :\"}]}]}}";

/* What a document is refused for before anything is put in: hooks that are no lists. */
static bool may_be_edited(const json_t *document, json_t *wanted)
{
	json_t *hooks = json_object_get(document, "hooks"), *there;
	const char *event;

	if (!json_is_object(document) || (hooks && !json_is_object(hooks)))
		return false;
	json_object_foreach(hooks, event,
			    there) if (json_object_get(json_object_get(wanted, "hooks"), event) &&
				       !json_is_array(there)) return false;
	return hooks_document_state(document, wanted) == HOOKS_ABSENT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *wanted = json_loads(WANTED, 0, NULL);
	struct json_text text = { .bytes = fuzz_text(data, size), .length = size };
	char fault[256];
	int line;
	json_t *document = json_edit_check(&text, &line, fault, sizeof(fault));

	fuzz_holds(wanted);
	if (may_be_edited(document, wanted) && hooks_document_insert(&text, wanted) == 0) {
		struct json_text again = { .bytes = fuzz_text((uint8_t *)text.bytes, text.length),
					   .length = text.length };
		json_t *now = json_edit_check(&again, &line, fault, sizeof(fault));
		fuzz_holds(now && hooks_document_state(now, wanted) == HOOKS_INSTALLED);
		json_decref(now);
		json_edit_free(&again);
		fuzz_holds(hooks_document_remove(&text) == 0);
		fuzz_holds(text.length == size && memcmp(text.bytes, data, size) == 0);
	}
	json_decref(document);
	json_edit_free(&text);
	json_decref(wanted);
	return 0;
}

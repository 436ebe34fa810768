/* Commands about one session: see session_command.h. */
#include "cli/session/session_command.h"

#include <stdio.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/scopes.h"
#include "cli/session/session_find.h"
#include "tracker/segment/segment.h"

int session_command_parse(const struct session_command *command, int argc, char **argv,
			  struct parsed *parsed, char ***ret_words, int *ret_code)
{
	if (options_parse(command->options, argc, argv, parsed, ret_code) < 0)
		return -1;
	unsigned count = (unsigned)(argc - parsed->first_word);
	const char *wrong = count < command->words_min || count > command->words_max
				    ? command->words_wrong
			    : command->refuse ? command->refuse(argv + parsed->first_word)
					      : NULL;
	*ret_words = argv + parsed->first_word;
	if (!wrong)
		return options_load(parsed, ret_code);
	message("%s", wrong);
	*ret_code = EXIT_CODE_USAGE;
	return -1;
}

int session_command(const struct session_command *command, int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	char **words;
	int code;

	if (session_command_parse(command, argc, argv, &parsed, &words, &code) == 0) {
		code = session_find(parsed.config, *command->name, &session);
		if (code == EXIT_CODE_OK) {
			code = command->act(&session, words);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}

json_t *session_document_scope(uint64_t scope_id)
{
	char id[SCOPES_ID_BYTES];

	(void)snprintf(id, sizeof(id), "%016llx", (unsigned long long)scope_id);
	return scope_id ? json_string(id) : json_null();
}

json_t *session_document(const struct session *session, const char *schema)
{
	json_t *document = json_object();
	const char *root = segment_text(&session->segment,
					session->segment.settings->paths_workspace, NULL);

	(void)json_object_set_new(document, "schema", json_string(schema));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	return document;
}

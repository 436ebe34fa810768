/*
 * `seen sessions`: the sessions on disk, the one used last first.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/store.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

static bool json;

static const struct option_spec SPECS[] = {
	{ "--json", NULL, "a JSON document, seen/sessions/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "sessions [OPTION...]",
	.summary = "Lists the sessions on disk, the one used last first: state, bytes, time since "
		   "its last use, and the workspace.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* ---- for programs ---- */

static json_t *json_directory(const struct store *store, const struct store_session *session,
			      enum store_place place)
{
	char path[SEGMENT_PATH_BYTES];

	if (!session->in[place] ||
	    session_path(path, sizeof(path), store->directories[place].path, session->name) < 0)
		return json_null();
	return text_json(path);
}

static json_t *json_row(const struct store *store, const struct store_session *session)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "name", text_json(session->name));
	(void)json_object_set_new(object, "state", json_string(store_state_name(session->state)));
	(void)json_object_set_new(object, "problem",
				  session->problem ? json_string(session_explain(session->problem))
						   : json_null());
	(void)json_object_set_new(object, "bytes", json_integer((json_int_t)session->size_bytes));
	(void)json_object_set_new(object, "created", text_json_time(session->created_realtime_ns));
	(void)json_object_set_new(object, "last_used", text_json_time(session->used_realtime_ns));
	(void)json_object_set_new(object, "workspace",
				  session->workspace ? text_json(session->workspace) : json_null());
	(void)json_object_set_new(object, "runtime_folder",
				  json_directory(store, session, STORE_RUNTIME));
	(void)json_object_set_new(object, "state_folder",
				  json_directory(store, session, STORE_STATE));
	return object;
}

static int print_json(const struct store *store)
{
	json_t *document = json_object(), *sessions = json_array();
	uint64_t bytes = 0;

	for (size_t i = 0; i < store->count; i++) {
		(void)json_array_append_new(sessions, json_row(store, &store->sessions[i]));
		bytes += store->sessions[i].size_bytes;
	}
	(void)json_object_set_new(document, "schema", json_string("seen/sessions/1"));
	(void)json_object_set_new(document, "bytes", json_integer((json_int_t)bytes));
	(void)json_object_set_new(document, "sessions", sessions);
	return text_json_print(document);
}

/* ---- for people ---- */

static const char *color_of(enum store_state state)
{
	return state == STORE_LIVE ? "32" : state == STORE_ENDED ? "0" : "33";
}

static void print_table(const struct store *store)
{
	uint64_t now = sys_realtime_ns();

	if (!store->count)
		return;
	(void)printf("%s%-24s  %-13s  %13s  %9s  %s%s\n", text_style(stdout, "1"), "SESSION",
		     "STATE", "BYTES", "LAST USED", "WORKSPACE", text_style(stdout, "0"));
	for (size_t i = 0; i < store->count; i++) {
		const struct store_session *session = &store->sessions[i];
		char bytes[TEXT_NUMBER_BYTES], age[STORE_AGE_BYTES] = "-";
		char workspace[SEGMENT_PATH_BYTES * 4];
		if (session->used_realtime_ns)
			(void)store_age(session->used_realtime_ns, now, age);
		if (path_escape(session->workspace ? session->workspace : "-", workspace,
				sizeof(workspace)) < 0)
			(void)snprintf(workspace, sizeof(workspace), "-");
		(void)printf("%-24s  %s%-13s%s  %13s  %9s  %s\n", session->name,
			     text_style(stdout, color_of(session->state)),
			     store_state_name(session->state), text_style(stdout, "0"),
			     text_number(session->size_bytes, bytes), age, workspace);
	}
}

/* ---- the command ---- */

static int list(const struct config *config)
{
	struct store store;
	int code = EXIT_CODE_OK;
	int error = store_open(config, &store);

	if (error == 0 && json)
		error = print_json(&store);
	else if (error == 0)
		print_table(&store);
	if (error < 0) {
		message("%s", error == -ENOMEM ? "out of memory" : strerror(-error));
		code = EXIT_CODE_OUTPUT;
	} else if (!store_is_readable(&store)) {
		code = EXIT_CODE_PARTLY;
	} else if (!store.count) {
		message("no sessions yet: begin one with `seen run -- COMMAND`");
		code = EXIT_CODE_NOTHING;
	}
	store_close(&store);
	return code;
}

int cmd_sessions(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc) {
		message("sessions takes no words: %s", argv[parsed.first_word]);
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = list(parsed.config);
	}
	options_done(&parsed);
	return code;
}

/*
 * `seen hooks`: has agents tell when their conversation is another one, or shorter than it was:
 * lists, installs and removes what they run then (lib/hooks.h).  It inspects no session.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agents/hooks.h"
#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "config/nearest.h"

static bool json, print, project, user, forget_only;

static const struct option_spec SPECS[] = {
	{ "--print", NULL, "with install: print what goes where, and write nothing", &print, NULL },
	{ "--forget-only", NULL,
	  "with install: hooks that tell what ends a conversation, and none that answers",
	  &forget_only, NULL },
	{ "--user", NULL, "the user's own settings; the default", &user, NULL },
	{ "--project", NULL, "the settings of the current directory, for all who work in it",
	  &project, NULL },
	{ "--json", NULL, "the list as a JSON document, seen/hooks/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "hooks [OPTION...] [install AGENT | remove AGENT]",
	.summary = "Lists the agents that have hooks for `seen`, and whether they are installed. "
		   "install adds them to the agent's settings, remove takes them out. All other "
		   "text of these settings stays, byte for byte.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

static const char *state_word(const struct hooks_place *place)
{
	static const char *const WORDS[] = { [HOOKS_ABSENT] = "not installed",
					     [HOOKS_INSTALLED] = "installed",
					     [HOOKS_OTHER] = "of another version, or in part",
					     [HOOKS_UNKNOWN] = "unknown" };
	return place->is_off && place->state == HOOKS_INSTALLED ? "installed, but switched off"
								: WORDS[place->state];
}

/* Is the agent on this machine, as far as PATH tells? */
static bool is_here(const struct hooks_agent *agent)
{
	char path[PATH_MAX];
	return executable_find(agent->name, path, sizeof(path)) == 0 ||
	       (agent->alias && executable_find(agent->alias, path, sizeof(path)) == 0);
}

/* ---- the list ---- */

static void print_row(const struct hooks_agent *agent, const struct hooks_place *place)
{
	bool good = place->state == HOOKS_INSTALLED && !place->is_off;

	(void)printf("%-13s %-5s %s%-31s%s %s\n", agent->name, is_here(agent) ? "yes" : "no",
		     good ? text_style(stdout, "32") : "", state_word(place),
		     good ? text_style(stdout, "0") : "", place->path[0] ? place->path : "-");
	if (place->fault[0])
		(void)printf("  %s\n", place->fault);
}

static json_t *json_row(const struct hooks_agent *agent, const struct hooks_place *place)
{
	static const char *const WORDS[] = { [HOOKS_ABSENT] = "absent",
					     [HOOKS_INSTALLED] = "installed",
					     [HOOKS_OTHER] = "other",
					     [HOOKS_UNKNOWN] = "unknown" };
	json_t *row = json_object();

	(void)json_object_set_new(row, "agent", json_string(agent->name));
	(void)json_object_set_new(row, "on_path", json_boolean(is_here(agent)));
	(void)json_object_set_new(row, "file",
				  place->path[0] ? text_json(place->path) : json_null());
	(void)json_object_set_new(row, "state", json_string(WORDS[place->state]));
	(void)json_object_set_new(row, "switched_off", json_boolean(place->is_off));
	(void)json_object_set_new(row, "fault",
				  place->fault[0] ? text_json(place->fault) : json_null());
	(void)json_object_set_new(row, "tried",
				  agent->tried ? json_string(agent->tried) : json_null());
	return row;
}

static int list(void)
{
	json_t *rows = json_array();

	if (!json)
		(void)printf("%s%-13s %-5s %-31s %s%s\n", text_style(stdout, "1"), "AGENT", "HERE",
			     "HOOKS", "FILE", text_style(stdout, "0"));
	for (size_t i = 0; i < hooks_count(); i++) {
		struct hooks_place place;
		hooks_inspect(hooks_at(i), project ? "" : NULL, &place);
		if (json)
			(void)json_array_append_new(rows, json_row(hooks_at(i), &place));
		else
			print_row(hooks_at(i), &place);
	}
	if (!json) {
		json_decref(rows);
		return EXIT_CODE_OK;
	}
	json_t *document = json_object();
	(void)json_object_set_new(document, "schema", json_string("seen/hooks/1"));
	(void)json_object_set_new(document, "agents", rows);
	if (text_json_print(document) < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return EXIT_CODE_OK;
}

/* ---- install, remove ---- */

static int unknown_agent(const char *word)
{
	const char **names = calloc(2 * hooks_count(), sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; names && i < hooks_count(); i++) {
		names[count++] = hooks_at(i)->name;
		names[count++] = hooks_at(i)->alias;
	}
	const char *nearest = names ? nearest_name(word, names, count) : NULL;
	if (nearest)
		message("there are no hooks for '%s'; did you mean '%s'?", word, nearest);
	else
		message("there are no hooks for '%s'; `seen hooks` lists the agents that there are "
			"some for",
			word);
	free(names);
	return EXIT_CODE_USAGE;
}

static int failed(const struct hooks_place *place, int error)
{
	message("%s; nothing was changed", place->fault);
	return error == -EEXIST ? EXIT_CODE_CONFLICT : EXIT_CODE_OUTPUT;
}

static enum hooks_kind kind(void)
{
	return forget_only ? HOOKS_FORGET : HOOKS_ANSWER;
}

static int show(const struct hooks_agent *agent, const struct hooks_place *place)
{
	char *text = hooks_text(agent, kind());

	if (!text) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	(void)printf("%s%s (%s):\n%s", place->path[0] ? place->path : "-",
		     agent->form == HOOKS_MERGED && place->exists ? ", beside what is in it" : "",
		     state_word(place), text);
	free(text);
	if (place->fault[0])
		message("%s", place->fault);
	return EXIT_CODE_OK;
}

static int install(const struct hooks_agent *agent)
{
	struct hooks_place place;

	hooks_inspect(agent, project ? "" : NULL, &place);
	if (print)
		return show(agent, &place);
	hooks_warn(agent, &place);
	int done = hooks_install(agent, &place, kind());
	if (done < 0)
		return failed(&place, done);
	(void)printf("%s: %s in %s\n", agent->name,
		     done ? "hooks installed" : "hooks are installed already", place.path);
	if (agent->note && done)
		(void)printf("%s\n", agent->note);
	return EXIT_CODE_OK;
}

static int remove_hooks(const struct hooks_agent *agent)
{
	struct hooks_place place;

	hooks_inspect(agent, project ? "" : NULL, &place);
	int done = hooks_remove(agent, &place);
	if (done < 0)
		return failed(&place, done);
	if (done == 0) {
		message("%s: no hooks of seen's in %s", agent->name, place.path);
		return EXIT_CODE_NOTHING;
	}
	(void)printf("%s: hooks removed from %s\n", agent->name, place.path);
	return EXIT_CODE_OK;
}

static int act(char **words, int count)
{
	bool installs = strcmp(words[0], "install") == 0;

	if (!installs && strcmp(words[0], "remove") != 0) {
		message("hooks install, or hooks remove: not '%s'", words[0]);
		return EXIT_CODE_USAGE;
	}
	if (count != 2 || json || ((print || forget_only) && !installs)) {
		message(count != 2 ? "hooks %s which agent? One; `seen hooks` lists them"
				   : "hooks %s AGENT does not take that option",
			words[0]);
		return EXIT_CODE_USAGE;
	}
	const struct hooks_agent *agent = hooks_find(words[1]);
	if (!agent)
		return unknown_agent(words[1]);
	return installs ? install(agent) : remove_hooks(agent);
}

int cmd_hooks(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		if (user && project) {
			message("--user and --project are two places; name one");
			code = EXIT_CODE_USAGE;
		} else if (parsed.first_word < argc) {
			code = act(argv + parsed.first_word, argc - parsed.first_word);
		} else if (print || forget_only) {
			message("%s goes with install AGENT", print ? "--print" : "--forget-only");
			code = EXIT_CODE_USAGE;
		} else {
			code = list();
		}
	}
	options_done(&parsed);
	return code;
}

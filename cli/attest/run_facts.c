/* Facts of a session's runs: see run_facts.h. */
#include "cli/attest/run_facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/agent_version.h"
#include "cli/base/text.h"
#include "cli/journal/events.h"
#include "cli/journal/fact.h"
#include "tracker/process/role.h"

/* Adds an object to an array, unless an equal one is there.  Takes the reference. */
static void add_once(json_t *array, json_t *object)
{
	size_t i;
	json_t *other;

	json_array_foreach(array, i, other)
	{
		if (json_equal(other, object)) {
			json_decref(object);
			return;
		}
	}
	(void)json_array_append_new(array, object);
}

static void add_rule(json_t *rules, const char *text)
{
	size_t name = strcspn(text, " "), action = strcspn(text + name + (text[name] != 0), " ");
	char word[2 * PATH_MAX];
	json_t *rule = json_object();

	(void)snprintf(word, sizeof(word), "%.*s", (int)name, text);
	(void)json_object_set_new(rule, "name", text_json(word));
	(void)snprintf(word, sizeof(word), "%.*s", (int)action, text + name + (text[name] != 0));
	(void)json_object_set_new(rule, "action", text_json(word));
	(void)json_object_set_new(rule, "text", text_json(text));
	add_once(rules, rule);
}

static void set_commit(char *commit, const char *value)
{
	(void)snprintf(commit, GIT_DIRECTORY_COMMIT_BYTES, "%s", value ? value : "");
}

static void add_fact(struct run_facts *facts, const struct event *event, bool *is_first)
{
	switch (event->entry->record.flags) {
	case FACT_COMMIT_BEFORE:
		if (*is_first)
			set_commit(facts->commit_before, event->other);
		*is_first = false;
		break;
	case FACT_COMMIT_AFTER:
		set_commit(facts->commit_after, event->other);
		break;
	case FACT_RULE:
		if (event->other)
			add_rule(facts->rules, event->other);
		break;
	case FACT_STATUS:
		(void)json_array_append_new(
			facts->statuses,
			event->other ? json_integer(strtol(event->other, NULL, 10)) : json_null());
		break;
	default: /* of a later version */
		break;
	}
}

/* The first argument of an interpreter that is no option. */
static const char *script_of(const struct event *event)
{
	size_t at = event->other ? strlen(event->other) + 1 : 0;

	while (at && at < event->other_bytes && event->other[at] == '-')
		at += strlen(event->other + at) + 1;
	return at && at < event->other_bytes && event->other[at] == '/' ? event->other + at : NULL;
}

static void add_agent(json_t *agents, const struct event *event)
{
	const char *executable = event->resolved ? event->resolved : event->path;
	const char *script = script_of(event);
	char real[PATH_MAX], version[AGENT_VERSION_BYTES];
	json_t *agent = json_object();

	if (script && !(realpath(script, real) && agent_version_find(real, version)))
		script = NULL;
	bool is_known = script || (executable && agent_version_find(executable, version));
	(void)json_object_set_new(agent, "executable",
				  executable ? text_json(executable) : json_null());
	(void)json_object_set_new(agent, "script", script ? text_json(real) : json_null());
	(void)json_object_set_new(agent, "version", is_known ? text_json(version) : json_null());
	add_once(agents, agent);
}

int run_facts_read(const char *journal, struct run_facts *ret_facts)
{
	struct events *events;
	struct event event;
	bool is_first = true;

	*ret_facts = (struct run_facts){ .rules = json_array(),
					 .statuses = json_array(),
					 .agents = json_array() };
	if (!ret_facts->rules || !ret_facts->statuses || !ret_facts->agents)
		return -ENOMEM;
	int error = events_open(journal, false, &events);
	if (error < 0)
		return error;
	for (enum events_found found; (found = events_next(events, &event)) != EVENTS_END;) {
		if (found == EVENTS_UNDONE)
			events_pass(events);
		else if (event.entry && event.op == JOURNAL_FACT)
			add_fact(ret_facts, &event, &is_first);
		else if (event.entry && event.op == JOURNAL_START && event.role == ROLE_AGENT)
			add_agent(ret_facts->agents, &event);
	}
	events_close(events);
	return 0;
}

void run_facts_free(struct run_facts *facts)
{
	json_decref(facts->rules);
	json_decref(facts->statuses);
	json_decref(facts->agents);
}

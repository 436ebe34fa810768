/* Facts of a session's runs: see run_facts.h. */
#include "cli/attest/run_facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/agent_version.h"
#include "cli/base/text.h"
#include "cli/journal/event_class.h"
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

/* Returns 0 or -ENOMEM. */
static int add_status(struct run_facts *facts, const struct event *event)
{
	struct run_status *more = realloc(facts->statuses,
					  (facts->status_count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	facts->statuses = more;
	more[facts->status_count++] = (struct run_status){
		.time_ns = event->time_realtime_ns,
		.status = event->other ? strtol(event->other, NULL, 10) : 0,
	};
	return 0;
}

/* Words of a command, of the announcement that begins a run. */
static void add_run(json_t *runs, const struct event *event)
{
	json_t *run = json_object(), *words = json_array();

	for (size_t at = 0; event->other && at < event->other_bytes;
	     at += strlen(event->other + at) + 1)
		(void)json_array_append_new(words, text_json(event->other + at));
	(void)json_object_set_new(run, "command", words);
	(void)json_object_set_new(run, "command_cut", json_boolean(event->cut));
	(void)json_object_set_new(run, "began", text_json_time(event->time_realtime_ns));
	(void)json_array_append_new(runs, run);
}

static bool has_reads(const char *level)
{
	return level && (strcmp(level, "all") == 0 || strcmp(level, "workspace") == 0);
}

static int add_fact(struct run_facts *facts, const struct event *event, bool *is_first)
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
		return add_status(facts, event);
	case FACT_LEVEL:
		facts->records_reads = facts->records_reads && has_reads(event->other);
		break;
	case FACT_EXCLUDE:
		facts->records_reads = false;
		break;
	default: /* of a later version */
		break;
	}
	return 0;
}

/* The first absolute path among an interpreter's arguments that is not an option's value, as far as
 * that is known: what follows an option may be one. */
static const char *script_of(const struct event *event)
{
	const char *words = event->other, *previous = "";
	size_t at = words ? strlen(words) + 1 : 0;

	for (; words && at < event->other_bytes; at += strlen(words + at) + 1) {
		if (words[at] == '/' && (previous[0] != '-' || strchr(previous, '=')))
			return words + at;
		previous = words + at;
	}
	return NULL;
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
					 .runs = json_array(),
					 .agents = json_array(),
					 .records_reads = true };
	if (!ret_facts->rules || !ret_facts->runs || !ret_facts->agents)
		return -ENOMEM;
	int error = events_open(journal, false, &events);
	if (error < 0)
		return error;
	for (enum events_found found;
	     error == 0 && (found = events_next(events, &event)) != EVENTS_END;) {
		if (found == EVENTS_UNDONE)
			events_pass(events);
		else if (event.entry && event.op == JOURNAL_FACT)
			error = add_fact(ret_facts, &event, &is_first);
		else if (event.entry && event_begins_run(&event))
			add_run(ret_facts->runs, &event);
		else if (event.entry && event.op == JOURNAL_START && event.role == ROLE_AGENT)
			add_agent(ret_facts->agents, &event);
	}
	if (error == 0)
		error = events_error(events);
	events_close(events);
	return error;
}

void run_facts_free(struct run_facts *facts)
{
	json_decref(facts->rules);
	json_decref(facts->runs);
	free(facts->statuses);
	json_decref(facts->agents);
}

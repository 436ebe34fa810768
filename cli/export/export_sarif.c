/*
 * Export as SARIF 2.1.0 (OASIS): one document of findings, for code scanning.
 *
 * Written as the events come: the results stand first, the rules that they name and the runs that
 * they are of behind them.  Of each finding the first occurrence is a result, since alerts are what
 * is looked for, not events; how often it came again is counted.  GitHub takes 25,000 results of a
 * run, and refuses a document with more: the rest is left out, and said.  The least grave end
 * earlier, so that there is room for those that matter.
 *
 * Every result has a place, which GitHub asks for: the file; of what is about none, the record of
 * the journal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/export/export_map.h"
#include "cli/journal/event_filter.h"

enum {
	RESULTS_MAX = 25000,
	NOTES_MAX = 20000, /* of them, of the lowest severity */
	KNOWN = 1
		<< 16, /* findings that are remembered, by their fingerprints; older ones make room */
	RUNS_MAX = 64,   /* that are reported, the last ones */
	RULES_MAX = 128, /* further rules of the configuration share a line */
	RULE_BYTES = 64,
	FINGERPRINT_BYTES = 17,
};

/* level of a result. */
static const char *const LEVELS[EVENT_SEVERITY_COUNT] = { "none", "note", "warning", "error" };

/* A line of tool.driver.rules. */
struct rule {
	enum event_finding finding;
	/* of a rule of the configuration, bytes of others; "": that of the finding */
	char name[RULE_BYTES];
};

/* A program that a run began with. */
struct run {
	uint64_t announced; /* number of its EXEC */
	uint64_t process;   /* of its START; 0: not yet */
	uint64_t begin_ns, end_ns;
	uint64_t status;
	uint32_t pid;
	bool ended;
};

struct sarif {
	struct export_map map;
	uint64_t known[KNOWN];
	uint64_t results, notes;
	uint64_t repeated; /* findings that are in the document already */
	uint64_t omitted;  /* for which there was no room */
	struct rule rules[RULES_MAX + EVENT_FINDING_COUNT]; /* that results name */
	size_t rule_count;
	struct run runs[RUNS_MAX];
	uint64_t run_count; /* the last ones are in `runs` */
	/* The result that is written, the rule, the run. */
	uint64_t fingerprint;
	size_t rule_place;
	const struct run *run;
	bool is_last; /* run */
	size_t next;  /* of rules, of runs: how many are written */
	char uri[3 * EXPORT_TEXT_BYTES];
};

static const struct export_field HEAD[] = {
	MAP_WORD("$schema", "https://json.schemastore.org/sarif-2.1.0.json"),
	MAP_WORD("version", "2.1.0"),
	MAP_DONE,
};

static int start(struct export *export)
{
	int error = export_map_new(export, sizeof(struct sarif), export->file);
	struct export_map *map = export->own;

	if (error < 0)
		return error;
	json_out_init(&map->out, NULL, '{');
	export_map_write(map, HEAD);
	json_out_init(&map->out, "runs", '[');
	json_out_init(&map->out, NULL, '{');
	json_out_init(&map->out, "results", '[');
	return 0;
}

/* ---- places ---- */

/* RFC 3986: a path's bytes as they are, or by their numbers.  A colon too: before the first slash
 * it would end a scheme. */
static const char *uri_of(struct sarif *sarif, const char *before, const char *path)
{
	char *at = stpcpy(sarif->uri, before), *finish = sarif->uri + sizeof(sarif->uri) - 4;

	for (; *path && at < finish; path++) {
		unsigned char byte = (unsigned char)*path;
		if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		    (byte >= '0' && byte <= '9') || strchr("-._~/", byte))
			*at++ = (char)byte;
		else
			at += sprintf(at, "%%%02X", byte);
	}
	*at = '\0';
	return sarif->uri;
}

static bool has_known_file(const struct export_map *map)
{
	return map->class.about == EVENT_ABOUT_FILE && export_path(map->event) != NULL;
}

OWN_WHEN(is_of_known_file, has_known_file(map))

/* The path of its file below the workspace; NULL: it is not known, or lies elsewhere. */
static const char *path_below(const struct export_map *map)
{
	return has_known_file(map) && map->event->resolved
		       ? event_path_below(map->export->facts.workspace, map->event->resolved, false)
		       : NULL;
}

static const char *place_of(struct export_map *map)
{
	struct sarif *sarif = (struct sarif *)map;
	const char *below = path_below(map);

	if (below)
		return uri_of(sarif, "", below[0] ? below : "./");
	if (!has_known_file(map))
		return "journal";
	return map->event->resolved ? uri_of(sarif, "file://", map->event->resolved)
				    : uri_of(sarif, "", map->event->path);
}

OWN_VALUE(uri, WORD, place_of(map))

/* What its URI is relative to: a directory that is not known, where the path is. */
static const char *base_of(struct export_map *map)
{
	if (!has_known_file(map))
		return "SESSION";
	return path_below(map) ? "%SRCROOT%" : map->event->resolved ? NULL : "FOLDER";
}

OWN_VALUE(uri_base, WORD, base_of(map))

OWN_VALUE(byte_offset, NUMBER, event->number *JOURNAL_UNIT_BYTES)
OWN_WHEN(is_of_record, !has_known_file(map))

/* ---- results ---- */

static const char *verdict_of(const struct event_class *class)
{
	return class->prevented                    ? "refused"
	       : class->outcome == EVENT_FAILED    ? "failed"
	       : class->outcome == EVENT_SUCCEEDED ? "done"
						   : "let pass";
}

/* What makes two findings the same, in this run and in others: not when, nor by which process. */
static uint64_t fingerprint_of(struct sarif *sarif, const struct event *event,
			       const struct event_class *class)
{
	const char *program = export_program(event), *name = export_name(event);
	bool is_process = class->about == EVENT_ABOUT_PROCESS;
	uint64_t number = class->finding == EVENT_FINDING_DAMAGED ? event->number : 0;

	(void)snprintf(sarif->map.text, sizeof(sarif->map.text), "%s\n%s\n%s\n%s\n%s\n%llu",
		       event_finding_id(class->finding), class->rule ? class->rule : "",
		       verdict_of(class), program && !is_process ? program : "", name ? name : "",
		       (unsigned long long)number);
	uint64_t fingerprint = XXH3_64bits(sarif->map.text, strlen(sarif->map.text));
	return fingerprint ? fingerprint : 1;
}

/* Is it to be a result? */
static bool collect(struct sarif *sarif, const struct event_class *class, uint64_t fingerprint)
{
	bool is_note = class->severity <= EVENT_SEVERITY_LOW;
	uint64_t *known = &sarif->known[fingerprint % KNOWN];

	if (*known == fingerprint) {
		sarif->repeated++;
		return false;
	}
	*known = fingerprint;
	if (sarif->results == RESULTS_MAX || (is_note && sarif->notes == NOTES_MAX)) {
		sarif->omitted++;
		return false;
	}
	sarif->results++;
	sarif->notes += is_note;
	return true;
}

/* The place of an event's rule among those that are reported at the end. */
static size_t place_of_rule(struct sarif *sarif, const struct event_class *class)
{
	const char *name = class->rule && strlen(class->rule) < RULE_BYTES ? class->rule : "";

	for (size_t i = 0; i < sarif->rule_count; i++)
		if (sarif->rules[i].finding == class->finding &&
		    strcmp(sarif->rules[i].name, name) == 0)
			return i;
	if (name[0] && sarif->rule_count >= RULES_MAX) {
		struct event_class unnamed = { .finding = class->finding };
		return place_of_rule(sarif, &unnamed);
	}
	struct rule *rule = &sarif->rules[sarif->rule_count];
	rule->finding = class->finding;
	(void)strcpy(rule->name, name);
	return sarif->rule_count++;
}

/* "stale-write"; of a rule of the configuration, "rule-hit/NAME". */
static const char *rule_id_of(struct export_map *map)
{
	struct sarif *sarif = (struct sarif *)map;
	const struct rule *rule = &sarif->rules[sarif->rule_place];

	(void)snprintf(map->text, sizeof(map->text), "%s%s%s", event_finding_id(rule->finding),
		       rule->name[0] ? "/" : "", rule->name);
	return map->text;
}

OWN_VALUE(rule_id, TEXT, rule_id_of(map))

OWN_VALUE(rule_index, NUMBER, ((struct sarif *)map)->rule_place)
OWN_VALUE(level, WORD, LEVELS[map->class.severity])

/* PROGRAM: TITLE: NAME (refused, ERROR) */
static const char *message_of(struct export_map *map)
{
	const struct event *event = map->event;
	const struct event_class *class = &map->class;
	const char *name = export_name(event);
	const char *program = class->about == EVENT_ABOUT_FILE ? export_program(event) : NULL;
	const char *verdict = class->prevented ? "refused" : "";
	char number[EVENT_ERROR_BYTES];
	const char *error = event->error ? event_error_name(event->error, number) : "";
	bool has_more = verdict[0] || error[0];

	(void)snprintf(map->text, sizeof(map->text), "%s%s%s%s%s%s%s%s%s%s%s%s",
		       program ? program : "", program ? ": " : "",
		       event_finding_title(class->finding), class->rule ? ", " : "",
		       class->rule ? class->rule : "", name ? ": " : "", name ? name : "",
		       has_more ? " (" : "", verdict, verdict[0] && error[0] ? ", " : "", error,
		       has_more ? ")" : "");
	return map->text;
}

OWN_VALUE(result_message, TEXT, message_of(map))

static const char *fingerprint_word(struct export_map *map)
{
	(void)snprintf(map->word, sizeof(map->word), "%016llx",
		       (unsigned long long)((struct sarif *)map)->fingerprint);
	return map->word;
}

OWN_VALUE(fingerprint, WORD, fingerprint_word(map))

/* clang-format off */
static const struct export_field RESULT[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("ruleId", rule_id),
	MAP_FIELD("ruleIndex", rule_index),
	MAP_FIELD("level", level),
	MAP_ONE("message", MAP_FIELD("text", result_message)),
	MAP_ARRAY("locations"),
		MAP_OBJECT(NULL),
			MAP_OBJECT("physicalLocation"),
				MAP_OBJECT("artifactLocation"),
					MAP_FIELD("uri", uri),
					MAP_FIELD("uriBaseId", uri_base),
				MAP_END,
				MAP_OBJECT("region"),
					/* viewers ask for a line */
					MAP_NUMBER_IF("startLine", 1, is_of_known_file),
					MAP_FIELD_IF("byteOffset", byte_offset, is_of_record),
					MAP_NUMBER_IF("byteLength", JOURNAL_UNIT_BYTES, is_of_record),
				MAP_END,
			MAP_END,
		MAP_END,
	MAP_END,
	MAP_ONE("partialFingerprints", MAP_FIELD("seenFinding/v1", fingerprint)),
	MAP_OBJECT("properties"),
		MAP_FIELD("id", id),
		MAP_FIELD("number", number),
		MAP_FIELD("time", own_timestamp),
		MAP_FIELD("pid", pid),
		MAP_FIELD("executable", executable),
		MAP_FIELD("seen", rest),
	MAP_END,
	MAP_END,
	MAP_DONE,
};

/* clang-format on */

/* ---- runs ---- */

static struct run *find_run(struct sarif *sarif, const struct event *event)
{
	for (size_t i = 0; i < RUNS_MAX; i++) {
		struct run *run = &sarif->runs[i];
		if (run->announced &&
		    (event->op == JOURNAL_START ? run->announced == event->exec
						: run->process && run->process == event->process))
			return run;
	}
	return NULL;
}

static void follow_run(struct sarif *sarif, const struct event *event)
{
	struct run *run;

	switch (event->op) {
	case JOURNAL_EXEC:
		if (event_begins_run(event)) {
			run = &sarif->runs[sarif->run_count++ % RUNS_MAX];
			*run = (struct run){ .announced = event->number,
					     .begin_ns = event->time_realtime_ns };
		}
		break;
	case JOURNAL_START:
		run = event->exec ? find_run(sarif, event) : NULL;
		if (run) {
			run->process = event->number;
			run->pid = event->pid;
		}
		break;
	case JOURNAL_EXIT:
		run = find_run(sarif, event);
		if (run) {
			run->ended = true;
			run->end_ns = event->time_realtime_ns;
			run->status = event->entry->record.amount;
		}
		break;
	default:
		break;
	}
}

static int write_event(struct export *export, const struct event *event)
{
	struct sarif *sarif = export->own;
	struct export_map *map = &sarif->map;

	export_map_event(map, event);
	follow_run(sarif, event);
	if (map->class.finding) {
		sarif->fingerprint = fingerprint_of(sarif, event, &map->class);
		if (collect(sarif, &map->class, sarif->fingerprint)) {
			sarif->rule_place = place_of_rule(sarif, &map->class);
			export_map_write(map, RESULT);
		}
	}
	return map->out.incomplete ? -ENOMEM : 0;
}

/* ---- the end ---- */

static bool next_rule(struct export_map *map)
{
	struct sarif *sarif = (struct sarif *)map;

	if (sarif->next == sarif->rule_count) {
		sarif->next = 0;
		return false;
	}
	enum event_finding finding = sarif->rules[sarif->next].finding;
	sarif->rule_place = sarif->next++;
	map->class = (struct event_class){ .finding = finding,
					   .severity = event_finding_severity(finding) };
	return true;
}

/* Of the runs that are reported; one of which nothing is known where there was none. */
static bool next_run(struct export_map *map)
{
	struct sarif *sarif = (struct sarif *)map;
	uint64_t count = sarif->run_count ? sarif->run_count : 1;
	uint64_t place = (count > RUNS_MAX ? count - RUNS_MAX : 0) + sarif->next;

	if (place == count)
		return false;
	sarif->next++;
	sarif->run = &sarif->runs[place % RUNS_MAX];
	sarif->is_last = place + 1 == count;
	return true;
}

/* SARIF has times with at most three digits behind the second in its examples, and any number in
 * its text. */
static const char *time_of(uint64_t realtime_ns, char *ret_word)
{
	return text_time(realtime_ns, ret_word)[0] ? ret_word : NULL;
}

static const char *omitted_text(struct export_map *map)
{
	(void)snprintf(
		map->text, sizeof(map->text),
		"%llu further findings are left out: more results than %d, or notes than %d, "
		"would not be taken.",
		(unsigned long long)((struct sarif *)map)->omitted, RESULTS_MAX, NOTES_MAX);
	return map->text;
}

static const char *workspace_uri(struct export_map *map)
{
	const char *workspace = map->export->facts.workspace;

	if (!workspace)
		return NULL;
	(void)snprintf(map->text, sizeof(map->text), "%s/", workspace);
	return uri_of((struct sarif *)map, "file://", map->text);
}

static const char *automation_id(struct export_map *map)
{
	(void)snprintf(map->text, sizeof(map->text), "seen/%s", map->export->facts.session);
	return map->text;
}

OWN_VALUE(finding_name, WORD, event_finding_name(map->class.finding))
OWN_VALUE(yes, BOOLEAN, true)
OWN_VALUE(run_begin, WORD, time_of(((struct sarif *)map)->run->begin_ns, map->word))
OWN_VALUE(run_end, WORD, time_of(((struct sarif *)map)->run->end_ns, map->word))
OWN_VALUE(run_pid, KNOWN, ((struct sarif *)map)->run->pid)
OWN_VALUE(run_status, NUMBER, ((struct sarif *)map)->run->status)
OWN_VALUE(omitted_text, WORD, omitted_text(map))
OWN_VALUE(workspace_uri, WORD, workspace_uri(map))
OWN_VALUE(automation_id, TEXT, automation_id(map))
OWN_VALUE(results, NUMBER, ((struct sarif *)map)->results)
OWN_VALUE(repeated, NUMBER, ((struct sarif *)map)->repeated)
OWN_VALUE(omitted, NUMBER, ((struct sarif *)map)->omitted)
OWN_WHEN(run_ended, ((const struct sarif *)map)->run->ended)
OWN_WHEN(has_omitted, ((const struct sarif *)map)->is_last && ((const struct sarif *)map)->omitted)

/* clang-format off */
static const struct export_field RULE[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("id", rule_id),
	MAP_FIELD("name", finding_name),
	MAP_ONE("shortDescription", MAP_FIELD("text", finding_title)),
	MAP_ONE("fullDescription", MAP_FIELD("text", finding_text)),
	MAP_ONE("help", MAP_FIELD("text", finding_text)),
	MAP_ONE("defaultConfiguration", MAP_FIELD("level", level)),
	MAP_OBJECT("properties"),
		MAP_ARRAY("tags"), MAP_WORD(NULL, "audit"), MAP_END,
	MAP_END,
	MAP_END,
	MAP_DONE,
};

static const struct export_field INVOCATION[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("executionSuccessful", yes),
	MAP_FIELD("startTimeUtc", run_begin),
	MAP_FIELD("endTimeUtc", run_end),
	MAP_FIELD("processId", run_pid),
	MAP_FIELD_IF("exitCode", run_status, run_ended),
	MAP_ARRAY_IF("toolExecutionNotifications", has_omitted),
		MAP_OBJECT(NULL),
			MAP_WORD("level", "warning"),
			MAP_ONE("message", MAP_FIELD("text", omitted_text)),
		MAP_END,
	MAP_END,
	MAP_END,
	MAP_DONE,
};

static const struct export_field BEHIND_RESULTS[] = {
	MAP_OBJECT("tool"),
		MAP_OBJECT("driver"),
			MAP_WORD("name", "seen"),
			MAP_WORD("semanticVersion", SEEN_VERSION),
			MAP_WORD("version", SEEN_VERSION),
			MAP_ARRAY("rules"), MAP_ROWS(RULE, next_rule), MAP_END,
		MAP_END,
	MAP_END,
	MAP_ARRAY("invocations"), MAP_ROWS(INVOCATION, next_run), MAP_END,
	MAP_OBJECT("originalUriBaseIds"),
		MAP_OBJECT("%SRCROOT%"),
			MAP_FIELD("uri", workspace_uri),
			MAP_ONE("description", MAP_WORD("text", "The workspace of the session.")),
		MAP_END,
		MAP_OBJECT("SESSION"), MAP_ONE("description", MAP_WORD("text", "The directory of the session's journal.")), MAP_END,
		MAP_OBJECT("FOLDER"), MAP_ONE("description", MAP_WORD("text", "A directory that is not known.")), MAP_END,
	MAP_END,
	MAP_ONE("automationDetails", MAP_FIELD("id", automation_id)),
	MAP_OBJECT("properties"),
		MAP_FIELD("journal", journal),
		MAP_FIELD("results", results),
		MAP_FIELD("repeated", repeated),
		MAP_FIELD("omitted", omitted),
	MAP_END,
	MAP_DONE,
};

/* clang-format on */

static int finish(struct export *export)
{
	static const char CLOSED[] = "}]}";
	struct export_map *map = export->own;

	json_out_finish(&map->out, ']'); /* results */
	export_map_write(map, BEHIND_RESULTS);
	for (const char *bracket = CLOSED; *bracket; bracket++)
		json_out_finish(&map->out, *bracket);
	return json_out_line(&map->out);
}

const struct export_format export_sarif = {
	.name = "sarif",
	.kind = EXPORT_DOCUMENT,
	.start = start,
	.event = write_event,
	.finish = finish,
	.close = export_map_free,
};

/* How far all of it reaches: see doctor_reach.h. */
#include "cli/run/doctor_reach.h"

#include <limits.h>
#include <stdio.h>

#include "cli/agents/hooks.h"
#include "config/rules.h"
#include "config/value.h"
#include "tracker/path/path.h"

/* What an agent's own hooks say, and what its transcript does.  agent: NULL: there are no hooks for
 * it. */
static void check_hooks_of(struct doctor *doctor, const char *name, const struct hooks_agent *agent)
{
	const struct config_profile *profile = config_profile_find(doctor->config, name);
	bool tells = profile && profile->values[PROFILE_OPTION_TRANSCRIPT].text[0];
	const char *transcript = tells ? "; its transcript reports its conversations, as soon as "
					 "it is written"
				       : "; nothing reports its conversations: at a terminal it "
					 "gets no answers";
	struct hooks_place place;

	if (!agent) {
		doctor_add(doctor, LEVEL_OK, "hooks", NULL, "%s: none are known%s", name,
			   transcript);
		return;
	}
	hooks_inspect(agent, config_workspace(doctor->config), &place);
	if (place.state != HOOKS_INSTALLED)
		hooks_inspect(agent, NULL, &place);
	if (place.state == HOOKS_UNKNOWN)
		doctor_add(doctor, LEVEL_WARN, "hooks", "what the line says", "%s: %s%s", name,
			   place.fault, transcript);
	else if (place.state != HOOKS_INSTALLED)
		doctor_add(doctor, LEVEL_WARN, "hooks", agent->remedy, "%s: %s in %s%s",
			   agent->name,
			   place.state == HOOKS_OTHER ? "of another version, or in part"
						      : "not installed",
			   place.path, transcript);
	else if (place.is_off)
		doctor_add(doctor, LEVEL_WARN, "hooks", "take \"disableAllHooks\" out of that file",
			   "%s: installed in %s, which switches all hooks off", agent->name,
			   place.path);
	else
		doctor_add(doctor, LEVEL_OK, "hooks", NULL, "%s: installed in %s%s%s", agent->name,
			   place.path, agent->note ? "; " : "", agent->note ? agent->note : "");
}

void doctor_check_hooks(struct doctor *doctor)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < hooks_count(); i++)
		if (executable_find(hooks_at(i)->name, path, sizeof(path)) == 0)
			check_hooks_of(doctor, hooks_at(i)->name, hooks_at(i));
}

void doctor_check_hooks_of(struct doctor *doctor, const char *name)
{
	check_hooks_of(doctor, name, hooks_find(name));
}

void doctor_check_sandbox(struct doctor *doctor, const char *name)
{
	const struct config_profile *profile = config_profile_find(doctor->config, name);
	const struct via *via = &doctor->program.via;
	const char *sandbox = profile ? profile->values[PROFILE_OPTION_SANDBOX].text : "";
	bool has_supervisor = via->ways != SESSION_VIA_PRELOAD ||
			      (via->at_exec && !doctor->supervisor.error);

	if (!sandbox[0])
		return;
	if (has_supervisor)
		doctor_add(doctor, LEVEL_OK, "sandbox", NULL,
			   "%s's own (%s): the supervisor answers there, and guards", name,
			   sandbox);
	else
		doctor_add(doctor, LEVEL_WARN, "sandbox",
			   doctor->supervisor.error ? "what the line on the supervisor says"
						    : "say --via auto",
			   "%s's own (%s): by the library alone repeats are not answered there, "
			   "nor stale writes guarded",
			   name, sandbox);
}

void doctor_check_guard(struct doctor *doctor)
{
	const struct program *program = &doctor->program;
	const struct executable *last = doctor_last(program);
	const char *name = path_base(last->path);
	bool library = program->via.ways != SESSION_VIA_SUPERVISE && !via_obstacle(last) &&
		       !last->setuid && !last->setgid && !last->capabilities;

	if (config_number(doctor->config, OPTION_session_mode) == SESSION_MODE_OFF)
		return;
	if (program->supervised && library)
		doctor_add(doctor, LEVEL_OK, "guard", NULL,
			   "opens for writing, renames, links, truncations and removals by every "
			   "program "
			   "are checked before they are made; stores through a mapping are not");
	else if (program->supervised)
		doctor_add(
			doctor, LEVEL_OK, "guard", NULL,
			"opens for writing, renames, links, truncations and removals by every "
			"program "
			"are checked before they are made; a notice that %s itself writes into a "
			"file in place is not refused",
			name);
	else if (library)
		doctor_add(doctor, LEVEL_OK, "guard", NULL,
			   "what programs do through libc is checked before it is done: opens for "
			   "writing, renames, links, truncations, removals, writes of a notice; "
			   "stores "
			   "through a mapping and programs without the library are not");
	else
		doctor_add(doctor, LEVEL_WARN, "guard",
			   "say --via both, where a supervisor is possible",
			   "%s's own writes are not guarded, since the library does not see them; "
			   "those "
			   "of programs that it starts through a shell are",
			   name);
}

void doctor_check_rules(struct doctor *doctor)
{
	const struct program *program = &doctor->program;
	const struct executable *last = program->found ? doctor_last(program) : NULL;
	const char *obstacle = last ? via_obstacle(last) : NULL;
	char names[DETAIL_BYTES / 8];
	size_t used = 0;
	int count = 0;

	names[0] = '\0';
	for (size_t i = 0; i < config_rule_count(doctor->config); i++) {
		const struct config_rule *rule = config_rule_at(doctor->config, i);
		if (!config_rule_is_in_force(doctor->config, rule))
			continue;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s (%s)",
						 count ? ", " : "", rule->name,
						 rule->values[RULE_OPTION_ACTION].text);
		count++;
	}
	if (!count || config_number(doctor->config, OPTION_session_mode) == SESSION_MODE_OFF)
		return;
	if (last && !obstacle && (last->setuid || last->setgid || last->capabilities))
		obstacle = "it gains privileges";
	if (last && obstacle && !program->supervised)
		doctor_add(doctor, LEVEL_WARN, "rules",
			   doctor->supervisor.error ? "what the line on the supervisor says"
						    : "say --via both",
			   "%d in force, but not for %s itself (%s): %s", count,
			   path_base(last->path), obstacle, names);
	else if (program->via.ways == SESSION_VIA_SUPERVISE)
		doctor_add(doctor, LEVEL_OK, "rules", NULL,
			   "%d in force, for every program below the supervisor, but for list and "
			   "metadata: %s",
			   count, names);
	else if (program->via.ways == SESSION_VIA_BOTH)
		doctor_add(doctor, LEVEL_OK, "rules", NULL,
			   "%d in force, for every program below the supervisor: %s", count, names);
	else
		doctor_add(doctor, LEVEL_OK, "rules", NULL,
			   "%d in force, for programs that the library is in; for static ones, Go, "
			   "Bun "
			   "and "
			   "musl with --via both: %s",
			   count, names);
}

/* COMMAND: see doctor_program.h. */
#include "cli/run/doctor_program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/doctor_reach.h"
#include "cli/run/doctor_trial.h"
#include "cli/run/elder.h"
#include "shim/supervise/supervisor.h"
#include "tracker/answer/limits.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

const char *doctor_libc_name(enum executable_libc libc)
{
	static const char *const NAMES[] = { "none", "glibc", "musl", "another libc" };
	return NAMES[libc];
}

const char *doctor_kind_name(enum executable_kind kind)
{
	static const char *const NAMES[] = { "dynamic", "static", "script", "other" };
	return NAMES[kind];
}

const char *doctor_runtime_name(enum executable_runtime runtime)
{
	static const char *const NAMES[] = { "", "Go", "Bun" };
	return NAMES[runtime];
}

/* By which mechanism the program is seen. */
static void check_via(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	const struct executable *last = doctor_last(program);
	struct via *via = &program->via;

	via_choose(doctor->config, doctor->command, via_has_library(), supervise_supported, via);
	/* It does not know the calls of other architectures. */
	program->supervised = (via->ways != SESSION_VIA_PRELOAD ||
			       (via->at_exec && !doctor->supervisor.error)) &&
			      (last->kind == EXECUTABLE_STATIC ||
			       last->kind == EXECUTABLE_DYNAMIC) &&
			      last->native;
	if (via->note)
		doctor_add(doctor, LEVEL_WARN, "via",
			   via->ways == SESSION_VIA_PRELOAD ? "what the line on the supervisor "
							      "says; or none, with --via preload"
							    : "say --via preload",
			   "%s (%s): %s", via_name(via->ways), via->reason, via->note);
	else
		doctor_add(doctor, LEVEL_OK, "via", NULL, "%s: %s%s", via_name(via->ways),
			   via->reason,
			   via->at_exec && via->ways == SESSION_VIA_PRELOAD &&
					   !doctor->supervisor.error
				   ? "; what it does not see gets a supervisor when it is started"
				   : "");
	if (via_denying_rule(doctor->config) && via->weakness)
		doctor_add(
			doctor, LEVEL_FAIL, "rules",
			"say --via both where a supervisor can be had, or --best-effort",
			"[rule %s] (deny) would not hold, and the command would not be started: %s",
			via_denying_rule(doctor->config)->name, via->weakness);
	else if (via->refusal)
		doctor_add(doctor, LEVEL_FAIL, "rules", "run it as the user it changes to",
			   "[rule %s] would not hold, and the command would not be started: %s",
			   via->rule->name, via->refusal);
	if (via->ways != SESSION_VIA_PRELOAD && via_drops_privileges())
		doctor_add(doctor, LEVEL_WARN, "sudo",
			   "run what needs sudo outside of it; or say --via preload, which leaves "
			   "sudo "
			   "alone and sees "
			   "less",
			   "sudo, su and other setuid programs that it starts get no privileges: "
			   "below "
			   "the supervisor no_new_privs is set, unless root runs it");
}

static void check_kind(struct doctor *doctor)
{
	const struct executable *last = doctor_last(&doctor->program);

	for (int i = 0;
	     i < doctor->program.count && doctor->program.chain[i].kind == EXECUTABLE_SCRIPT; i++)
		doctor_add(doctor, LEVEL_OK, "script", NULL, "%s, run by %s%s%s",
			   doctor->program.chain[i].path, doctor->program.chain[i].interpreter,
			   doctor->program.chain[i].line[0] ? "" : " (it names no ",
			   doctor->program.chain[i].line[0] ? "" : "interpreter)");
	if (last->kind == EXECUTABLE_DYNAMIC && !last->native)
		doctor_add(doctor, LEVEL_FAIL, "executable",
			   "use a build for this machine's architecture",
			   "%s: %u-bit %s: the library is for another architecture and cannot be "
			   "inside "
			   "it",
			   last->path, last->bits, last->machine);
	else if (doctor->program.supervised && last->kind == EXECUTABLE_DYNAMIC &&
		 last->libc != LIBC_GLIBC)
		doctor_add(
			doctor, LEVEL_OK, "executable", NULL,
			"%s: %u-bit %s, dynamic, %s (%s): not for the library, but the supervisor",
			last->path, last->bits, last->machine, doctor_libc_name(last->libc),
			last->loader);
	else if (doctor->program.supervised && last->kind == EXECUTABLE_STATIC)
		doctor_add(doctor, LEVEL_OK, "executable", NULL,
			   "%s: %u-bit %s, static: not for the library, but the supervisor",
			   last->path, last->bits, last->machine);
	else if (last->kind == EXECUTABLE_DYNAMIC && last->libc != LIBC_GLIBC)
		doctor_add(doctor, LEVEL_WARN, "executable",
			   "use a build for glibc, if there is one",
			   "%s: %u-bit %s, dynamic, %s (%s); the library is for glibc", last->path,
			   last->bits, last->machine, doctor_libc_name(last->libc), last->loader);
	else if (last->kind == EXECUTABLE_DYNAMIC)
		doctor_add(doctor, LEVEL_OK, "executable", NULL, "%s: %u-bit %s, dynamic, %s",
			   last->path, last->bits, last->machine, doctor_libc_name(last->libc));
	else if (last->kind == EXECUTABLE_STATIC)
		doctor_add(
			doctor, LEVEL_WARN, "executable",
			"none needed for commands; to see its own file access too, use a dynamic "
			"build, if there is one",
			"%s: %u-bit %s, static: the library cannot be inside it and its own file "
			"access is not seen; "
			"commands it starts through a shell are",
			last->path, last->bits, last->machine);
	else
		doctor_add(doctor, LEVEL_FAIL, "executable", "name the program itself",
			   "%s is neither an ELF file nor a script, or its interpreters form a "
			   "chain that "
			   "is too long",
			   last->path);
	if ((last->kind != EXECUTABLE_DYNAMIC || last->libc != LIBC_GLIBC) &&
	    !doctor->program.supervised)
		doctor->program.unseen = true;
}

static void check_privileges(struct doctor *doctor)
{
	const struct executable *last = doctor_last(&doctor->program);

	if (!last->setuid && !last->setgid && !last->capabilities)
		return;
	doctor_add(
		doctor, LEVEL_WARN, "privileges",
		"run it as the user it changes to, inside the session",
		"%s%s%s: the dynamic loader ignores the library when it gains privileges; what it "
		"starts is not seen either",
		last->setuid ? "set-user-ID" : "",
		last->setgid ? (last->setuid ? ", set-group-ID" : "set-group-ID") : "",
		last->capabilities ? (last->setuid || last->setgid ? ", file capabilities"
								   : "file capabilities")
				   : "");
	doctor->unseen = true;
}

static void check_runtime(struct doctor *doctor)
{
	const struct executable *last = doctor_last(&doctor->program);

	if (!last->runtime || last->kind != EXECUTABLE_DYNAMIC)
		return;
	if (doctor->program.supervised) {
		doctor_add(doctor, LEVEL_OK, "run time", NULL,
			   "%s: it starts with the library, but makes its own system calls: the "
			   "supervisor observes those",
			   doctor_runtime_name(last->runtime));
		return;
	}
	doctor_add(
		doctor, LEVEL_WARN, "run time",
		"none needed for commands; its in-process reads are given in full, as without seen",
		"%s: it starts with the library, but makes its own system calls: its own file "
		"access "
		"is not seen; commands "
		"it starts through a shell are",
		doctor_runtime_name(last->runtime));
	doctor->program.unseen = true;
}

/* What of a command's output is taken for given, in words. */
static void describe_limits(const struct segment *segment, const struct settings_profile *profile,
			    char *ret_text, size_t capacity)
{
	struct output_limits limits = limits_of_profile(segment, profile, true);
	const char *measured = profile ? segment_text(segment, profile->measured, NULL) : NULL;
	char lines[64] = "", line[64] = "", version[64] = "";

	if (limits.lines != UINT64_MAX)
		(void)snprintf(lines, sizeof(lines), " and %" PRIu64 " lines", limits.lines);
	if (limits.line_bytes != UINT64_MAX)
		(void)snprintf(line, sizeof(line), ", no line over %" PRIu64, limits.line_bytes);
	if (measured && strcmp(measured, "*") != 0)
		(void)snprintf(version, sizeof(version), " with %.40s, half for others", measured);
	(void)snprintf(ret_text, capacity,
		       "commands up to %" PRIu64 " bytes%s%s count as given (%s%s)", limits.bytes,
		       lines, line, limits.is_measured ? "measured" : "never measured", version);
}

static void check_role(struct doctor *doctor)
{
	char limits[256];
	struct program *program = &doctor->program;
	const struct segment *segment = &doctor->probe.session.segment;
	char **words = executable_words(program->chain, program->count, doctor->words);

	if (!words)
		return;
	role_invocation(segment, doctor_last(program)->path, words, &program->invocation);
	free(words);
	const struct invocation *invocation = &program->invocation;
	if (invocation->ignored)
		doctor_add(doctor, LEVEL_OK, "role", NULL, "%s (%s), ignored by [processes] ignore",
			   role_name(invocation->role), invocation->name);
	else if (invocation->role != ROLE_AGENT)
		doctor_add(doctor, LEVEL_OK, "role", NULL, "%s (%s)%s", role_name(invocation->role),
			   invocation->name,
			   invocation->role == ROLE_TOOL
				   ? "; if it talks to a model, say so: --agent NAME"
				   : "");
	else if (invocation->profile) {
		const struct settings_profile *profile =
			&segment->settings->profiles[invocation->profile - 1];
		const char *name = segment_text(segment, profile->name, NULL);
		const char *tested = segment_text(segment, profile->tested, NULL);
		(void)snprintf(program->profile, sizeof(program->profile), "%s", name ? name : "");
		(void)snprintf(program->tested, sizeof(program->tested), "%s",
			       tested ? tested : "generic");
		bool generic = strcmp(program->tested, "generic") == 0;
		describe_limits(segment, profile, limits, sizeof(limits));
		doctor_add(doctor, LEVEL_OK, "role", NULL, "agent (%s), %s%s; %s", invocation->name,
			   generic ? "not tested: conservative profile"
				   : "profile tested with version ",
			   generic ? "" : program->tested, limits);
	} else {
		(void)snprintf(program->tested, sizeof(program->tested), "generic");
		uint64_t other = segment->settings->generic_profile;
		describe_limits(segment, other ? &segment->settings->profiles[other - 1] : NULL,
				limits, sizeof(limits));
		doctor_add(doctor, LEVEL_OK, "role", NULL, "agent (%s), no profile of its own; %s",
			   invocation->name, limits);
	}
}

/* An agent of the same name that is there already may do this one's work. */
static void check_elder(struct doctor *doctor, const struct segment *segment)
{
	const struct invocation *agent = &doctor->program.invocation;
	pid_t pid = agent->role == ROLE_AGENT ? elder_find(segment, agent, sys_boottime_ns()) : 0;

	const char *direct = elder_without_daemon(agent->name);
	if (!pid && direct && agent->role == ROLE_AGENT)
		doctor_add(doctor, LEVEL_OK, "daemon", NULL,
			   "none runs; at a terminal %s hands its work to one, which goes on when "
			   "the run "
			   "has ended: `%s` has none",
			   agent->name, direct);
	if (pid)
		doctor_add(
			doctor, LEVEL_WARN, "daemon", elder_remedy(agent->name),
			"%s (pid %d) is running and takes connections: what is handed to it is not "
			"observed",
			agent->name, (int)pid);
}

/* Which program it is that COMMAND starts in the end. */
static void check_launchers(struct doctor *doctor)
{
	struct launch *launch = &doctor->program.launch;
	char names[DETAIL_BYTES / 8];
	size_t used = 0;

	doctor->words = doctor->command;
	if (!doctor->probe_is_open ||
	    launch_follow(&doctor->probe.session.segment, doctor->command, launch) < 0)
		return;
	doctor->words = launch->words;
	for (int i = 0; i < launch->name_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 launch->names[i]);
	if (launch->name_count)
		doctor_add(doctor, LEVEL_OK, "launcher", NULL, "%s starts %s", names,
			   launch->words[0]);
	if (launch->unclear[0])
		doctor_add(doctor, LEVEL_WARN, "launcher",
			   "ask `seen doctor` about the program that it starts",
			   "what %s starts is not known without running it", launch->unclear);
}

void doctor_check_program(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	char missing[PATH_MAX];

	check_launchers(doctor);
	int count = executable_chain(doctor->words[0], program->chain, missing);

	if (count < 0) {
		doctor_add(doctor, LEVEL_FAIL, "program",
			   count == -ENOENT ? "install it, or give its path"
					    : "make it executable and readable",
			   "%s: %s", missing, strerror(-count));
		return;
	}
	program->found = true;
	program->count = count;
	if (strchr(doctor->words[0], '/') == NULL || count > 1)
		doctor_add(doctor, LEVEL_OK, "program", NULL, "%s is %s", doctor->words[0],
			   program->chain[0].path);
	check_via(doctor);
	check_kind(doctor);
	check_privileges(doctor);
	check_runtime(doctor);
	doctor_check_guard(doctor);
	if (doctor->probe_is_open) {
		check_role(doctor);
		check_elder(doctor, &doctor->probe.session.segment);
		if (program->invocation.role == ROLE_AGENT)
			doctor_check_hooks_of(doctor, program->invocation.name);
		doctor_check_sandbox(doctor, program->profile);
		doctor_check_start(doctor);
	}
	doctor->unseen = doctor->unseen || program->unseen;
}
